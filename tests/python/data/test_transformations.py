"""Data sets outside of graphs: what each transformation gives, lazily, in order, and after errors."""

import dataclasses
import gc
import weakref

import numpy as np
import pytest
from support.data_cases import BEHAVIOUR, INT, LENGTHS, asked, listed, numbers, plain

import penstock as tf

Dataset = tf.data.Dataset


@pytest.mark.parametrize("name", BEHAVIOUR)
def test_elements(name):
    dataset, expected = BEHAVIOUR[name]
    assert listed(dataset) == expected
    # Every iterator starts anew.
    assert listed(dataset) == expected


@pytest.mark.parametrize("name", BEHAVIOUR)
def test_elements_meet_the_specification(name):
    dataset, _ = BEHAVIOUR[name]
    spec = dataset.element_spec
    for element in dataset:
        tf.nest.assert_same_structure(spec, element)
        leaves = zip(tf.nest.flatten(spec), tf.nest.flatten(element), strict=True)
        assert all(s.is_compatible_with(x) for s, x in leaves)


@pytest.mark.parametrize("name", BEHAVIOUR)
def test_the_cardinality_is_the_number_of_elements_where_it_is_known(name):
    dataset, expected = BEHAVIOUR[name]
    size = int(dataset.cardinality())
    assert size in (len(expected), tf.data.UNKNOWN_CARDINALITY)
    if size >= 0:
        assert len(dataset) == size
    assert bool(dataset)


@pytest.mark.parametrize(
    ("dataset", "size"),
    [
        (numbers(5).repeat(), tf.data.INFINITE_CARDINALITY),
        (numbers(0).repeat(), 0),
        (Dataset.counter().skip(3).batch(2), tf.data.INFINITE_CARDINALITY),
        (Dataset.counter().take(3), 3),
        (Dataset.zip(Dataset.counter(), numbers(4)), 4),
        (numbers(4).concatenate(Dataset.counter()), tf.data.INFINITE_CARDINALITY),
        (numbers(10).window(3, 2, 2), 5),
        (numbers(10).window(3, 2, 2, True), 3),
        (numbers(10).shard(4, 1), 3),
        (numbers(10).filter(lambda x: x > 3), tf.data.UNKNOWN_CARDINALITY),
        (numbers(7).batch(3).batch(2, drop_remainder=True), 1),
    ],
)
def test_cardinalities(dataset, size):
    assert int(dataset.cardinality()) == size
    assert int(tf.data.experimental.cardinality(dataset)) == size
    if size == tf.data.INFINITE_CARDINALITY:
        with pytest.raises(TypeError, match="infinite"):
            len(dataset)
    elif size == tf.data.UNKNOWN_CARDINALITY:
        with pytest.raises(TypeError, match="unknown"):
            len(dataset)


@pytest.mark.parametrize(
    ("dataset", "spec"),
    [
        (numbers(5).batch(2), tf.TensorSpec([None], tf.int64)),
        (numbers(5).batch(2, drop_remainder=True), tf.TensorSpec([2], tf.int64)),
        (LENGTHS, tf.TensorSpec([None], tf.int64)),
        (LENGTHS.padded_batch(2), tf.TensorSpec([None, None], tf.int64)),
        (LENGTHS.padded_batch(2, [7]), tf.TensorSpec([None, 7], tf.int64)),
        (LENGTHS.ragged_batch(2), tf.RaggedTensorSpec([None, None], tf.int64, 1)),
        (numbers(3).window(2), tf.data.DatasetSpec(INT)),
        (numbers(3).enumerate(), (INT, INT)),
        (
            Dataset.from_tensors([1]).concatenate(Dataset.from_tensors([1, 2])),
            tf.TensorSpec([None], tf.int32),
        ),
    ],
)
def test_specifications(dataset, spec):
    assert dataset.element_spec == spec
    assert tf.data.DatasetSpec(spec).is_compatible_with(dataset)


# Laziness.


def test_nothing_is_asked_of_a_generator_before_it_is_needed():
    dataset, seen = asked()
    iterator = iter(dataset.map(lambda x: x + 1).take(3))
    assert seen == []
    assert int(next(iterator)) == 1
    assert seen == [0]
    assert [int(x) for x in iterator] == [2, 3]
    assert seen == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "count", "expected"),
    [
        (lambda ds: ds.batch(3), 1, 3),
        (lambda ds: ds.filter(lambda x: x > 2), 1, 4),
        (lambda ds: ds.shuffle(4, seed=1), 1, 4),
        (lambda ds: ds.shuffle(4, seed=1), 2, 5),
        (lambda ds: ds.enumerate(), 2, 2),
        (lambda ds: Dataset.zip(ds, numbers(100)), 2, 2),
        (lambda ds: Dataset.zip(numbers(100), ds), 20, 10),
        (lambda ds: ds.concatenate(numbers(3)), 1, 1),
        (lambda ds: ds.window(3, 1), 1, 3),
        (lambda ds: ds.skip(2), 1, 3),
        (lambda ds: ds.cache(), 2, 2),
        (lambda ds: ds.repeat(), 11, 11),
        (lambda ds: ds.prefetch(1).take(2), 2, 2),
        (lambda ds: ds.take_while(lambda x: x < 1), 2, 2),
        (lambda ds: ds.batch(2).unbatch(), 1, 2),
        (lambda ds: ds.scan(np.int64(0), lambda s, x: (s, x)), 2, 2),
        (lambda ds: ds.flat_map(lambda x: Dataset.from_tensors(x).repeat(2)), 2, 1),
        (lambda ds: ds.shard(2, 1), 1, 2),
    ],
)
def test_a_stage_asks_for_as_little_as_it_needs(change, count, expected):
    dataset, seen = asked()
    iterator = iter(change(dataset))
    for _ in range(count):
        next(iterator, None)
    assert len(seen) == expected


def test_effects_of_a_function_come_once_for_each_element_that_is_asked_for(capfd):
    made = []

    def show(x):
        made.append(x)
        tf.print("at", x)
        return x

    dataset = numbers(100).map(show)
    assert len(made) == 1
    iterator = iter(dataset)
    for _ in range(3):
        next(iterator)
    assert capfd.readouterr().err.split("\n")[:-1] == ["at 0", "at 1", "at 2"]
    assert len(made) == 1


def test_a_function_sees_the_variables_as_they_are_when_an_element_is_asked_for():
    offset = tf.Variable(0, dtype=tf.int64)
    iterator = iter(numbers(100).map(lambda x: x + offset))
    assert int(next(iterator)) == 0
    offset.assign(10)
    assert int(next(iterator)) == 11
    total = tf.Variable(0, dtype=tf.int64)
    for _ in numbers(5).map(lambda x: total.assign_add(x)):
        pass
    assert int(total) == 10


def test_random_numbers_differ_from_element_to_element():
    drawn = listed(numbers(40).map(lambda x: tf.random.uniform([])))
    assert len(set(drawn)) == 40


# Errors.


def failing(x):
    if x % 4 == 3:
        raise KeyError(f"bad {int(x)}")
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.py_function(failing, [x], tf.int64),
        lambda x: (tf.debugging.assert_none_equal(x % 4, np.int64(3)), x)[1],
    ],
    ids=["host", "graph"],
)
def test_an_error_comes_in_place_of_its_element(function):
    iterator = iter(numbers(30).map(function))
    found = []
    while True:
        try:
            found.append(int(next(iterator)))
        except StopIteration:
            break
        except (KeyError, tf.errors.InvalidArgumentError):
            found.append("error")
    assert found == ["error" if i % 4 == 3 else i for i in range(30)]
    kept = [i for i in range(30) if i % 4 != 3]
    assert listed(numbers(30).map(function).ignore_errors()) == kept


def test_a_batch_is_lost_with_an_element_of_it():
    dataset = numbers(12).map(lambda x: tf.py_function(failing, [x], tf.int64)).batch(2).ignore_errors()
    assert listed(dataset) == [[0, 1], [4, 5], [8, 9]]


def test_an_error_in_a_generator_comes_after_what_it_gave():
    def make():
        yield 1
        raise LookupError("no more")

    iterator = iter(Dataset.from_generator(make, output_signature=tf.TensorSpec([], tf.int32)))
    assert int(next(iterator)) == 1
    with pytest.raises(LookupError, match="no more"):
        next(iterator)
    assert next(iterator, None) is None


@pytest.mark.parametrize(
    ("value", "spec", "message"),
    [
        ([1, 2], tf.TensorSpec([], tf.int32), "shape"),
        ("x", tf.TensorSpec([], tf.int32), "int32"),
        ((1, 2, 3), (tf.TensorSpec([], tf.int32),) * 2, "tuple of 2"),
        (3, {"a": tf.TensorSpec([], tf.int32)}, "mapping"),
    ],
)
def test_a_generator_must_keep_to_its_signature(value, spec, message):
    dataset = Dataset.from_generator(lambda: [value], output_signature=spec)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        next(iter(dataset))


def test_generators_take_arguments_and_the_older_kind_of_signature():
    def make(stop, word):
        for i in range(stop):
            yield i, [word] * i

    dataset = Dataset.from_generator(make, (tf.int32, tf.string), ([], [None]), args=(2, "x"))
    assert listed(dataset) == [(0, []), (1, [b"x"])]
    assert dataset.element_spec == (tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.string))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: numbers(3).batch(0), tf.errors.InvalidArgumentError, "batch_size"),
        (lambda: numbers(3).batch(1.5), TypeError, "batch_size"),
        (lambda: numbers(3).shuffle(0), tf.errors.InvalidArgumentError, "buffer_size"),
        (lambda: numbers(3).prefetch(-2), tf.errors.InvalidArgumentError, "buffer_size"),
        (lambda: numbers(3).take("x"), TypeError, "count"),
        (lambda: numbers(3).shard(2, 2), tf.errors.InvalidArgumentError, "index"),
        (lambda: numbers(3).window(2, 0), tf.errors.InvalidArgumentError, "shift"),
        (lambda: numbers(3).map(3), TypeError, "map_func"),
        (lambda: numbers(3).map(lambda x: object()), TypeError, "map_func"),
        (lambda: numbers(3).filter(lambda x: x), TypeError, "predicate"),
        # As in TensorFlow.
        (lambda: numbers(3).filter(lambda x: x), ValueError, "predicate"),
        (lambda: numbers(3).take_while(lambda x: x), ValueError, "predicate"),
        (lambda: numbers(3).flat_map(lambda x: x), TypeError, "map_func"),
        (lambda: numbers(3).apply(lambda ds: 3), TypeError, "transformation_func"),
        (lambda: numbers(3).unbatch(), ValueError, "one dimension"),
        (lambda: numbers(3).concatenate(Dataset.from_tensors("x")), TypeError, "one type"),
        (lambda: numbers(3).concatenate(3), TypeError, "dataset"),
        (lambda: numbers(3).with_options(3), TypeError, "options"),
        (lambda: numbers(3).padded_batch(2, [1]), ValueError, "padded_shapes"),
        (lambda: numbers(3).scan(0, lambda s, x: s), tf.errors.InvalidArgumentError, "scan_func"),
        (lambda: numbers(3).scan(0, lambda s, x: (x, s)), TypeError, "scan_func"),
        (lambda: numbers(3).reduce("a", lambda s, x: x), TypeError, "reduce_func"),
        (lambda: Dataset.range(), TypeError, "1 to 3"),
        (lambda: Dataset.range(1, 2, 0), tf.errors.InvalidArgumentError, "step"),
        (lambda: Dataset.from_tensor_slices(3), ValueError, "one dimension"),
        (lambda: Dataset.from_tensor_slices(([1, 2], [1])), ValueError, "one first dimension"),
        (lambda: Dataset.from_tensors(object()), TypeError, "tensors"),
        (lambda: Dataset.from_generator(3, tf.int32), TypeError, "generator"),
        (lambda: Dataset.from_generator(list), TypeError, "output_signature"),
        (lambda: Dataset.zip([numbers(2)]), TypeError, "list"),
        (lambda: Dataset.zip(), TypeError, "datasets"),
        (lambda: Dataset.zip(3), TypeError, "Dataset"),
        (lambda: Dataset.list_files("/nothing/here*"), tf.errors.InvalidArgumentError, "file_pattern"),
        (lambda: Dataset.sample_from_datasets([numbers(2)], [1.0, 2.0]), ValueError, "weights"),
        (lambda: Dataset.choose_from_datasets([], numbers(2)), ValueError, "datasets"),
        (lambda: numbers(3).group_by_window(lambda x: x, lambda k, w: w), ValueError, "window_size"),
        (lambda: LENGTHS.bucket_by_sequence_length(len, [3], [2]), ValueError, "bucket_batch_sizes"),
        (lambda: numbers(0).get_single_element(), tf.errors.InvalidArgumentError, "empty"),
        (lambda: numbers(2).get_single_element(), tf.errors.InvalidArgumentError, "more than one"),
        (lambda: listed(LENGTHS.batch(2)), tf.errors.InvalidArgumentError, "different shapes"),
        (lambda: listed(LENGTHS.padded_batch(2, [1])), tf.errors.DataLossError, "cannot pad"),
        (lambda: tf.data.Options().nonsense, AttributeError, "nonsense"),
        (lambda: setattr(tf.data.Options(), "nonsense", 1), AttributeError, "nonsense"),
    ],
)
def test_bad_arguments_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_asserted_cardinalities_are_believed_and_checked():
    odd = numbers(40).filter(lambda x: x % 2 == 1)
    right = odd.apply(tf.data.experimental.assert_cardinality(20))
    assert len(right) == 20
    assert len(listed(right)) == 20
    for said, found in ((30, "only 20"), (7, "more")):
        iterator = iter(odd.apply(tf.data.experimental.assert_cardinality(said)))
        assert [int(next(iterator)) for _ in range(min(said, 20))] == list(range(1, 40, 2))[:said]
        with pytest.raises(tf.errors.FailedPreconditionError, match=found):
            next(iterator)
        assert next(iterator, None) is None


# Order.


@pytest.mark.parametrize("size", [1, 2, 7, 100, 1000])
def test_shuffling_keeps_the_elements_and_draws_from_the_buffer(size):
    found = listed(numbers(300).shuffle(size, seed=3))
    assert sorted(found) == list(range(300))
    # Nothing comes before it is in the buffer.
    assert all(value < place + size for place, value in enumerate(found))
    assert (found == list(range(300))) == (size == 1)


def test_the_order_is_that_of_the_seed():
    fixed = numbers(50).shuffle(50, seed=7, reshuffle_each_iteration=False)
    assert listed(fixed) == listed(fixed)
    again = numbers(50).shuffle(50, seed=7)
    first, second = listed(again), listed(again)
    assert first != second
    other = numbers(50).shuffle(50, seed=7)
    assert [listed(other), listed(other)] == [first, second]
    assert listed(numbers(50).shuffle(50, seed=8)) != first
    epochs = listed(numbers(50).shuffle(50, seed=7).repeat(2))
    assert [epochs[:50], epochs[50:]] == [first, second]


def test_the_global_seed_fixes_the_order():
    def order():
        tf.random.set_seed(5)
        return listed(numbers(30).shuffle(30)), listed(Dataset.random().take(3))

    assert order() == order()


@pytest.mark.parametrize("size", [1, 4, 64])
def test_the_order_does_not_depend_on_how_elements_come(size):
    def make():
        yield from range(150)

    one_by_one = Dataset.from_generator(make, output_signature=INT)
    assert listed(numbers(150).shuffle(size, seed=2)) == listed(one_by_one.shuffle(size, seed=2))


def test_shuffling_elements_of_several_shapes():
    parts = numbers(40).batch(3).shuffle(5, seed=1)
    assert sorted(x for batch in listed(parts) for x in batch) == list(range(40))


def test_sampling_follows_the_weights():
    sets = [Dataset.from_tensors(i).repeat() for i in range(3)]
    counts = np.bincount(
        listed(Dataset.sample_from_datasets(sets, [0.5, 0.0, 0.5], seed=1).take(400)), minlength=3
    )
    assert counts[1] == 0
    assert 150 < counts[0] < 250
    rest = Dataset.sample_from_datasets([numbers(3), numbers(10, 14)], seed=1)
    assert sorted(listed(rest)) == [0, 1, 2, 10, 11, 12, 13]


@pytest.mark.parametrize("initial", [[0.9, 0.1], None])
def test_resampling_gives_the_classes_as_often_as_asked(initial):
    rare = numbers(4000).map(lambda x: tf.cast(x % 10 == 0, tf.int32))
    found = listed(rare.rejection_resample(lambda c: c, [0.5, 0.5], initial, seed=1))
    assert all(number == element for number, element in found)
    assert 600 < len(found) < 1000
    assert 0.4 < np.mean([number for number, _ in found]) < 0.6
    with pytest.raises(tf.errors.InvalidArgumentError, match="class_func"):
        listed(numbers(3).rejection_resample(lambda x: x, [0.5, 0.5]))
    with pytest.raises(ValueError, match="initial_dist"):
        numbers(3).rejection_resample(lambda x: x, [0.5, 0.5], [1.0])


def test_random_numbers_are_those_of_the_seed():
    assert listed(Dataset.random(3).take(100)) == listed(Dataset.random(3).take(100))
    assert listed(Dataset.random(3).take(5)) != listed(Dataset.random(4).take(5))
    several = Dataset.random(3, rerandomize_each_iteration=True)
    assert listed(several.take(5)) != listed(several.take(5))
    assert all(0 <= x < 2**32 for x in listed(Dataset.random(3).take(100)))


# Iterators, reductions, the rest.


def test_iterators():
    iterator = iter(numbers(3))
    assert isinstance(iterator, tf.data.Iterator)
    assert iter(iterator) is iterator
    assert iterator.element_spec == INT
    assert int(iterator.get_next()) == 0
    present = iterator.get_next_as_optional()
    assert int(present.get_value()) == 1
    assert [int(x) for x in iterator] == [2]
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    with pytest.raises(StopIteration):
        next(iterator)
    assert not iterator.get_next_as_optional().has_value()


def test_numpy_iterators():
    dataset = Dataset.from_tensor_slices({"a": [[1, 2]], "b": (["x"],)})
    found = next(dataset.as_numpy_iterator())
    assert isinstance(found["a"], np.ndarray)
    assert found["a"].tolist() == [1, 2]
    assert found["b"] == (b"x",)
    windows = [list(w) for w in numbers(3).window(2).as_numpy_iterator()]
    assert windows == [[0, 1], [2]]


@pytest.mark.parametrize("chunks", [numbers(200), numbers(200).filter(lambda x: x >= 0)])
def test_reductions(chunks):
    total = chunks.reduce((np.int64(0), np.int64(1)), lambda s, x: (s[0] + x, tf.maximum(s[1], x)))
    assert plain(total) == (19900, 199)
    joined = chunks.take(3).reduce(np.zeros([0], np.int64), lambda s, x: tf.concat([s, [x]], 0))
    assert plain(joined) == [0, 1, 2]
    assert int(numbers(0).reduce(5, lambda s, x: s)) == 5


def test_cached_elements_are_computed_once():
    dataset, seen = asked(20)
    cached = dataset.map(lambda x: x * 2).cache()
    expected = [2 * i for i in range(20)]
    assert listed(cached.take(3)) == expected[:3]
    seen.clear()
    assert listed(cached) == expected
    assert listed(cached) == expected
    assert listed(cached.batch(8))[2] == expected[16:]
    assert seen == list(range(20))


def test_options_are_kept_through_transformations():
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 3
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    dataset = numbers(3).with_options(options).map(lambda x: x)
    assert dataset.options() == options
    more = tf.data.Options()
    more.deterministic = True
    found = dataset.with_options(more).options()
    assert found.deterministic is True
    assert found.threading.private_threadpool_size == 3


def test_files_are_listed(tmp_path):
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).touch()
    found = listed(Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False))
    assert [name.decode().rpartition("/")[2] for name in found] == ["a.txt", "b.txt"]
    assert sorted(listed(Dataset.list_files([str(tmp_path / "*")]))) == sorted(
        str(p).encode() for p in tmp_path.iterdir()
    )


def test_data_sets_are_described():
    assert repr(numbers(3)) == f"<_RangeDataset element_spec={INT!r}>"
    assert repr(numbers(3).map(lambda x: x)).startswith("<_MapDataset")
    assert numbers(3).take(1, name="few").name == "few"


def test_functions_that_are_traced_already_can_be_given():
    double = tf.function(lambda x: x * 2)
    assert listed(numbers(40).map(double)) == [2 * i for i in range(40)]
    assert listed(numbers(3).map(tf.square)) == [0, 1, 4]
    assert listed(Dataset.from_tensors("a").map(tf.strings.length)) == [1]


def test_large_elements_are_not_computed_ahead_in_great_numbers():
    # Rows of a megabyte: each of them is a chunk of its own.
    iterator = iter(numbers(10**6).map(lambda x: tf.fill([2**17], x)))
    for i in range(8):
        assert int(next(iterator)[0]) == i


def test_a_data_set_is_freed_with_its_last_reference():
    class Big:
        pass

    def make():
        big = Big()

        def generator():
            yield id(big)

        return Dataset.from_generator(generator, output_signature=INT).map(lambda x: x + 1), weakref.ref(big)

    dataset, big = make()
    listed(dataset)
    assert big() is not None
    del dataset
    gc.collect()
    assert big() is None


def test_gradients_pass_through_functions_applied_to_elements():
    weight = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        total = tf.constant(0.0)
        for x in Dataset.from_tensor_slices([1.0, 2.0]).batch(1):
            total += tf.reduce_sum(x * weight)
    assert float(tape.gradient(total, weight)) == 3.0


def test_objects_of_dataclasses_are_no_elements():
    kind = dataclasses.make_dataclass("Kind", ["a", "b"])
    for make in (tf.data.Dataset.from_tensors, lambda x: tf.data.Dataset.range(2).map(lambda _: x)):
        with pytest.raises(TypeError, match="must be tensors, or nests of what can be tensors"):
            make(kind(1, tf.constant(2)))


def sampled(weights, count=6, **how):
    sets = [Dataset.from_tensors(np.int64(i)).repeat() for i in range(3)]
    return listed(Dataset.sample_from_datasets(sets, weights, **how).take(count))


def test_data_sets_without_a_chance_are_not_read():
    assert sampled([0.0, 0.0, 0.0]) == []
    assert sampled([0.0, 1.0, 0.0]) == [1] * 6
    endless = Dataset.from_tensors(np.int64(9)).repeat()
    assert listed(Dataset.sample_from_datasets([numbers(3), endless], [1.0, 0.0])) == [0, 1, 2]
    assert listed(Dataset.sample_from_datasets([numbers(3)], [0.0])) == []


def test_each_element_has_weights_of_its_own_where_a_data_set_gives_them():
    weights = Dataset.from_tensors([1.0, 0.0, 0.0]).repeat(2)
    weights = weights.concatenate(Dataset.from_tensors([0.0, 0.0, 2.0]).repeat(2))
    assert sampled(weights) == [0, 0, 2, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="weights"):
        sampled(Dataset.from_tensors([0.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="weights"):
        sampled(Dataset.from_tensors([1.0, 0.0]))
    with pytest.raises(ValueError, match="weights"):
        sampled([[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="weights"):
        sampled([1.0, float("nan"), 1.0])

    @tf.function
    def total(weights):
        sets = [numbers(5).map(lambda x: x * 0 + 1), numbers(5).map(lambda x: x * 0 + 10)]
        s = tf.constant(0, tf.int64)
        for x in Dataset.sample_from_datasets(sets, weights).take(3):
            s += x
        return s

    assert (int(total(tf.constant([1.0, 0.0]))), int(total(tf.constant([0.0, 3.0])))) == (3, 30)


@pytest.mark.parametrize("seed", [None, 3])
def test_iterations_have_the_same_choices_unless_others_are_asked_for(seed):
    sets = [numbers(50), numbers(100, 150)]
    same = Dataset.sample_from_datasets(sets, seed=seed)
    assert listed(same) == listed(same)
    other = Dataset.sample_from_datasets(sets, seed=seed, rerandomize_each_iteration=True)
    assert listed(other) != listed(other)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([2, 0, 1], [[0, 1], [], [2], [3, 4], []]),
        ([0, 2], [[], [0, 1], [], [2, 3], [], [4]]),
        ([5, 0], [[0, 1, 2, 3, 4], []]),
        (tf.constant([4, 1]), [[0, 1, 2, 3], [4]]),
        (tf.constant(3, tf.int64), [[0, 1, 2], [3, 4]]),
    ],
)
def test_batches_of_changing_sizes_may_have_no_rows(sizes, expected):
    found = numbers(5).batch(2).rebatch(sizes)
    assert listed(found) == expected
    assert found.element_spec == tf.TensorSpec([None], tf.int64)


def test_batches_of_no_rows_come_without_end():
    assert listed(numbers(5).batch(2).rebatch(0).take(4)) == [[]] * 4
    assert listed(numbers(2).batch(2).rebatch([0, 0]).take(3)) == [[]] * 3
    words = Dataset.from_tensors((["a"], tf.zeros([1, 2], tf.bfloat16), tf.ragged.constant([[1, 2]])))
    word, number, ragged = next(iter(words.rebatch(0)))
    assert (word.shape, number.shape, ragged.to_list()) == ((0,), (0, 2), [])
    for sizes in (-1, [1, -1], []):
        with pytest.raises(tf.errors.InvalidArgumentError, match="batch_size"):
            numbers(2).batch(2).rebatch(sizes)


def test_a_buffer_of_unknown_size_has_all_elements():
    some = numbers(200).filter(lambda x: x % 2 == 0)
    found = listed(some.shuffle(some.cardinality(), seed=1))
    assert found == listed(some.shuffle(100, seed=1))
    assert sorted(found) == list(range(0, 200, 2))
    assert sorted(listed(some.shuffle(tf.data.UNKNOWN_CARDINALITY).repeat(2))) == sorted(found * 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no end"):
        listed(numbers(3).repeat().shuffle(tf.data.UNKNOWN_CARDINALITY))
    for size in (0, tf.data.INFINITE_CARDINALITY):
        with pytest.raises(tf.errors.InvalidArgumentError, match="buffer_size"):
            numbers(3).shuffle(size)


def test_the_order_does_not_depend_on_how_elements_are_stored(monkeypatch):
    def rows():
        return Dataset.from_tensor_slices((tf.range(300), tf.strings.as_string(tf.range(300))))

    expected = listed(rows().shuffle(70, seed=2))
    monkeypatch.setattr("penstock.data._shuffling._PIECE", 160)
    assert listed(rows().shuffle(70, seed=2)) == expected


def test_a_source_gives_no_more_at_once_than_is_cheap():
    for dataset in (numbers(10**12), Dataset.random(1), Dataset.counter()):
        rows = dataset._open()(10**12)
        assert rows.bytes_each() * rows.count <= 1 << 20


@pytest.mark.parametrize(
    ("state", "function"),
    [
        ((0, 0), lambda s, x: (s[0],)),
        (0, lambda s, x: (s, s)),
        (0, lambda s, x: [s, s]),
        (0, lambda s, x: {"a": s}),
        ({"a": 0}, lambda s, x: {"b": s["a"]}),
        ((0, (0, 0)), lambda s, x: (s[0], s[0])),
    ],
)
def test_a_state_keeps_its_structure(state, function):
    with pytest.raises(tf.errors.InvalidArgumentError, match="state that argument 'reduce_func' gives"):
        numbers(3).reduce(state, function)
    with pytest.raises(tf.errors.InvalidArgumentError, match="state that argument 'scan_func' gives"):
        numbers(3).scan(state, lambda s, x: (function(s, x), x))


def test_a_state_may_change_its_sizes():
    def longer(s, x):
        return tf.concat([s, [x]], 0)

    empty = np.zeros([0], np.int64)
    assert numbers(3).reduce(empty, longer).numpy().tolist() == [0, 1, 2]
    sizes = numbers(3).scan(empty, lambda s, x: (longer(s, x), tf.size(s)))
    assert listed(sizes) == [0, 1, 2]
    assert numbers(3).reduce([1, 2], lambda s, x: s + 1).numpy().tolist() == [4, 5]


def test_functions_may_give_numbers_of_python():
    found = numbers(5).group_by_window(lambda x: 0, lambda key, w: w.batch(3), 3)
    assert listed(found) == [[0, 1, 2], [3, 4]]
    found = numbers(5).group_by_window(
        lambda x: np.int64(0), lambda key, w: w.batch(3), window_size_func=lambda key: 2
    )
    assert listed(found) == [[0, 1], [2, 3], [4]]
    assert float(numbers(3).reduce(0.5, lambda s, x: 1)) == 1.0
    for key in (0.0, tf.constant(0), True):
        with pytest.raises(TypeError, match="key_func"):
            numbers(5).group_by_window(lambda x, key=key: key, lambda key, w: w, 3)


def ending(x):
    if x == 2:
        raise StopIteration("it is done")
    return x


@pytest.mark.parametrize("call", [tf.py_function, tf.numpy_function])
@pytest.mark.parametrize(
    "use",
    [
        lambda call: numbers(5).map(call),
        lambda call: numbers(5).map(call, num_parallel_calls=2),
        lambda call: numbers(5).filter(lambda x: call(x) >= 0),
        lambda call: numbers(5).take_while(lambda x: call(x) >= 0),
        lambda call: numbers(5).scan(0, lambda s, x: (s, call(x))),
        lambda call: numbers(5).flat_map(lambda x: Dataset.from_tensors(call(x))),
        lambda call: numbers(5).interleave(lambda x: Dataset.from_tensors(x).map(call)),
        lambda call: numbers(5).group_by_window(call, lambda key, w: w, 1),
        lambda call: numbers(5).map(call).prefetch(2),
    ],
)
def test_what_ends_an_iteration_of_a_callback_does_not_end_that_of_the_data_set(call, use):
    dataset = use(lambda x: tf.ensure_shape(call(ending, [x], tf.int64), []))
    with pytest.raises(tf.errors.InvalidArgumentError, match="StopIteration: it is done") as caught:
        listed(dataset)
    assert isinstance(caught.value.__cause__.__cause__, StopIteration)


def test_what_ends_an_iteration_of_a_callback_is_out_of_range_elsewhere():
    with pytest.raises(tf.errors.OutOfRangeError, match="it is done"):
        tf.py_function(ending, [2], tf.int64)

    @tf.function
    def called(x):
        return tf.numpy_function(ending, [x], tf.int64)

    with pytest.raises(tf.errors.OutOfRangeError, match="it is done"):
        sum(int(called(tf.constant(2))) for _ in range(3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="it is done"):
        numbers(5).reduce(np.int64(0), lambda s, x: tf.py_function(ending, [x], tf.int64))
    over = iter(numbers(2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="OutOfRangeError"):
        listed(numbers(5).map(lambda x: over.get_next()))


def test_interleaving_goes_through_as_many_data_sets_as_there_are_processors():
    def repeated(x):
        return Dataset.from_tensors(x).repeat(2)

    from penstock.data._threads import processors

    expected = listed(numbers(40).interleave(repeated, cycle_length=processors()))
    assert listed(numbers(40).interleave(repeated)) == expected
    assert listed(numbers(40).interleave(repeated, cycle_length=tf.data.AUTOTUNE)) == expected
    with pytest.raises(tf.errors.InvalidArgumentError, match="cycle_length"):
        numbers(3).interleave(repeated, cycle_length=0)


def test_elements_are_had_by_their_numbers():
    at = tf.data.experimental.at
    shuffled = numbers(10).shuffle(4)
    assert sorted(int(at(shuffled, i)) for i in range(10)) == list(range(10))
    doubled = numbers(5).map(lambda x: x * 2).prefetch(2)
    assert [int(at(doubled, i)) for i in (3, 0)] == [6, 0]
    assert plain(at(numbers(5).batch(2), 2)) == [4]
    assert int(at(numbers(10**9).map(lambda x: x + 1), 10**9 - 1)) == 10**9
    for dataset, index, error in (
        (doubled, 5, tf.errors.OutOfRangeError),
        (doubled, -1, tf.errors.OutOfRangeError),
        (numbers(5).filter(lambda x: x > 2), 0, tf.errors.UnimplementedError),
        (numbers(5).repeat(), 0, tf.errors.FailedPreconditionError),
        (doubled, 0.5, TypeError),
    ):
        with pytest.raises(error):
            at(dataset, index)


@pytest.mark.parametrize("seed", [None, 4])
@pytest.mark.parametrize("count", [0, 7, 25, 40])
def test_an_iterator_goes_on_where_it_was(seed, count):
    dataset = numbers(20).shuffle(20, seed=seed).repeat(2).prefetch(2)
    iterator = dataset.as_numpy_iterator()
    for _ in range(count):
        next(iterator)
    state = iterator.save()
    rest = [int(x) for x in iterator]
    assert len(rest) == 40 - count
    iterator.restore(state)
    assert [int(x) for x in iterator] == rest
    with pytest.raises(tf.errors.InvalidArgumentError, match="state"):
        iterator.restore("nonsense")


def test_the_class_is_no_constructor():
    with pytest.raises(TypeError, match="made by static methods"):
        tf.data.Dataset(tf.constant(1), [], [], tf.TensorSpec([]))


def test_a_program_may_give_a_data_set_attributes():
    dataset = numbers(3)
    dataset.class_names = ["a", "b"]
    assert dataset.class_names == ["a", "b"]
    assert not hasattr(dataset.batch(2), "class_names")


def test_rows_of_ragged_tensors_are_stacked_to_ragged_tensors():
    ds = Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3], []]))
    assert ds.element_spec == tf.RaggedTensorSpec([None], tf.int32, 0)
    assert [row.numpy().tolist() for row in ds] == [[1], [2, 3], []]
    batched = ds.batch(2)
    assert batched.element_spec == tf.RaggedTensorSpec([None, None], tf.int32, 1)
    assert [b.to_list() for b in batched] == [[[1], [2, 3]], [[]]]
    assert [b.to_list() for b in batched.unbatch().batch(3)] == [[[1], [2, 3], []]]
    assert [b.to_list() for b in batched.rebatch([1, 2])] == [[[1]], [[2, 3], []]]
    assert [int(n) for n in ds.map(tf.size)] == [1, 2, 0]
    assert ds.map(lambda row: row * 2).element_spec == tf.TensorSpec([None], tf.int32)
    assert [p.numpy().tolist() for p in ds.padded_batch(3)] == [[[1, 0], [2, 3], [0, 0]]]


@pytest.mark.parametrize("made", [iter, Dataset.as_numpy_iterator])
def test_an_iterator_has_a_method_for_the_next_element(made):
    elements = made(Dataset.range(2))
    assert [int(elements.next()), int(elements.next())] == [0, 1]
    with pytest.raises(StopIteration):
        elements.next()
