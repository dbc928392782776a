"""Data sets in traced functions: a loop over one is a loop of the graph, and pipelines are made in graphs."""

import gc

import numpy as np
import pytest

import penstock as tf

Dataset = tf.data.Dataset
INT = tf.TensorSpec([], tf.int64)


def i64(value):
    return tf.constant(value, tf.int64)


def numbers(*args):
    return Dataset.range(*args)


def listed(dataset):
    return [x.numpy().tolist() for x in dataset]


# Loops. Each takes a data set of integers; Python runs it on the same data set.


def summed(ds):
    total = i64(0)
    for x in ds:
        total += x
    return total


def broken(ds):
    total = i64(0)
    for x in ds:
        if x > 5:
            break
        total += x
    return total


def continued(ds):
    total = i64(0)
    for x in ds:
        if x % 2 == 0:
            continue
        total += x
    return total


def returned(ds):
    for x in ds:
        if x * x > 10:
            return x
    return i64(-1)


def with_else(ds):
    found = i64(0)
    for x in ds:
        if x == 4:
            found = x
            break
    else:
        found = i64(-7)
    return found


def numbered(ds):
    total = i64(0)
    for i, x in enumerate(ds, 3):
        total += i * x
    return total


def numbered_and_broken(ds):
    total = i64(0)
    for i, x in enumerate(ds):
        if i == 2:
            break
        total += x
    return total


def paired(ds):
    total = i64(0)
    for a, b in zip(ds, ds.skip(1), strict=False):
        total += a * b
    return total


def paired_with_a_tensor(ds):
    total = i64(0)
    for a, b in zip(ds, tf.constant([5, 7, 9], tf.int64), strict=False):
        total += a * b
    return total


def nested(ds):
    total = i64(0)
    for x in ds:
        for y in ds.take(x):
            if y > 3:
                break
            total += x * y
    return total


def grown(ds):
    out = []
    for x in ds:
        if x != 2:
            out.append(x * x)  # noqa: PERF401 -- the loop is what is tested
    return tf.stack(out) if len(out) else tf.zeros([0], tf.int64)


def comprehended(ds):
    return tf.stack([x + 1 for x in ds if x != 1])


def in_a_branch(ds):
    total = i64(0)
    if tf.reduce_sum(total) == 0:
        for x in ds:
            total += x
    return total


def over_an_iterator(ds):
    it = iter(ds)
    first = next(it)
    total = i64(0)
    for x in it:
        if x == 3:
            break
        total += x
    return first, total, next(it, i64(-1)), next(it, i64(-1))


def last(ds):
    x = i64(-5)
    for x in ds:  # noqa: B007 -- read after the loop
        pass
    return x


LOOPS = [
    summed, broken, continued, returned, with_else, numbered, numbered_and_broken, paired,
    paired_with_a_tensor, nested, grown, comprehended, in_a_branch, over_an_iterator, last,
]  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_a_loop_of_the_graph_is_that_of_python(loop):
    traced = tf.function(loop)
    for n in (4, 9, 1, 2):
        got, expected = traced(numbers(n)), None
        if loop in (grown, comprehended) and n == 1:
            expected = tf.constant([0 if loop is grown else 1], tf.int64)
        else:
            expected = loop(numbers(n))
        tf.nest.map_structure(lambda a, b: np.testing.assert_array_equal(a, b), got, expected)
    # One trace for all data sets of a specification.
    assert traced.experimental_get_tracing_count() == 1
    ds = numbers(6)
    closed = tf.function(lambda: loop(ds)).get_concrete_function()
    tf.nest.map_structure(lambda a, b: np.testing.assert_array_equal(a, b), closed(), loop(numbers(6)))


def test_the_body_is_traced_once_and_runs_for_each_element(capfd):
    seen = []

    @tf.function
    def show(ds):
        for x in ds:
            seen.append(x)
            tf.print(x)

    show(numbers(3))
    show(numbers(0))
    show(numbers(4, 6))
    assert capfd.readouterr().err.split() == ["0", "1", "2", "4", "5"]
    assert len(set(map(id, seen))) == len(seen)
    assert show.experimental_get_tracing_count() == 1


def test_traces_are_by_the_specification():
    traced = tf.function(lambda ds: ds.reduce(0.0, lambda s, x: s + tf.reduce_sum(tf.cast(x, tf.float32))))
    for ds in (numbers(3), numbers(5).map(lambda x: x + 1), numbers(4).batch(2), numbers(4).batch(3)):
        traced(ds)
    assert traced.experimental_get_tracing_count() == 2


def test_an_iterator_is_advanced_by_the_graph():
    step = tf.function(lambda it: next(it) * 10)
    iterator = iter(numbers(4))
    assert [int(step(iterator)), int(next(iterator)), int(step(iterator))] == [0, 1, 20]
    assert step.experimental_get_tracing_count() == 1
    closed = tf.function(lambda: iterator.get_next())
    assert int(closed()) == 3
    with pytest.raises(tf.errors.OutOfRangeError):
        closed()
    with pytest.raises(tf.errors.OutOfRangeError):
        step(iterator)


def test_breaking_leaves_the_rest_to_the_iterator():
    @tf.function
    def first_above(it, least):
        for x in it:
            if x > least:
                break
        return x

    iterator = iter(numbers(10))
    assert int(first_above(iterator, i64(3))) == 4
    assert int(next(iterator)) == 5
    assert int(first_above(iterator, i64(6))) == 7


def test_optional_elements_of_an_iterator():
    @tf.function
    def doubled(it):
        found = it.get_next_as_optional()
        return found.get_value() * 2 if found.has_value() else i64(-1)

    iterator = iter(numbers(2))
    assert [int(doubled(iterator)) for _ in range(3)] == [0, 2, -1]


def test_generators_are_asked_as_the_loop_goes_on():
    seen = []

    def make():
        for i in range(10):
            seen.append(i)
            yield i

    ds = Dataset.from_generator(make, output_signature=INT)

    @tf.function
    def find(ds, wanted):
        for x in ds:
            if x == wanted:
                break

    find(ds, i64(2))
    assert seen == [0, 1, 2]


@pytest.mark.parametrize(
    "element",
    [
        lambda x: (x, {"a": tf.cast(x, tf.float32), "b": tf.fill([x], x)}),
        lambda x: tf.RaggedTensor.from_row_lengths(tf.range(x), [x, 0]),
        lambda x: tf.strings.as_string(x),
        lambda x: tf.experimental.Optional.from_value(x),
    ],
    ids=["nest", "ragged", "string", "optional"],
)
def test_elements_of_all_kinds_reach_the_graph(element):
    @tf.function
    def last(ds):
        count = 0
        for x in ds:
            count += 1
            found = x
        return count, found

    ds = numbers(4).map(element)
    count, found = last(ds)
    assert int(count) == 4
    expected = list(ds)[-1]
    if isinstance(expected, tf.experimental.Optional):
        assert int(found.get_value()) == 3
    else:
        assert repr(found) == repr(expected)


def test_nothing_in_an_element_is_none_in_the_graph():
    @tf.function
    def count(ds):
        total = i64(0)
        for x, nothing in ds:
            if nothing is None:
                total += x
        return total

    assert int(count(numbers(4).map(lambda x: (x, None)))) == 6


def test_windows_in_a_graph():
    @tf.function
    def sums(ds):
        out = []
        for window in ds.window(3, shift=1):
            total = i64(0)
            for x in window:
                total += x
            out.append(total)
        return tf.stack(out)

    assert sums(numbers(5)).numpy().tolist() == [3, 6, 9, 7, 4]


# Pipelines that graphs make.

PIPELINES = {
    "range": lambda n: numbers(n),
    "map": lambda n: numbers(n).map(lambda x: x * n),
    "map twice": lambda n: numbers(n).map(lambda x: x + n).map(lambda x: x * n),
    "filter": lambda n: numbers(40).filter(lambda x: x % n == 1),
    "take and skip": lambda n: numbers(9).skip(n - 3).take(n - 2),
    "repeat": lambda n: numbers(2).repeat(n),
    "shuffle": lambda n: numbers(9).shuffle(n, seed=3),
    "batch": lambda n: numbers(9).batch(n),
    "tensors": lambda n: Dataset.from_tensors(n),
    "slices": lambda n: Dataset.from_tensor_slices(tf.range(n)),
    "slices of a nest": lambda n: Dataset.from_tensor_slices({"a": tf.fill([n, 2], n)}).map(lambda d: d["a"]),
    "flat_map": lambda n: numbers(3).flat_map(lambda x: numbers(n).map(lambda y: x * y + n)),
    "interleave": lambda n: numbers(3).interleave(lambda x: Dataset.from_tensors(x + n).repeat(2), 2),
    "zip": lambda n: Dataset.zip(numbers(n), numbers(5)).map(lambda a, b: a * b),
    "scan": lambda n: numbers(4).scan(n, lambda s, x: (s + x, s)),
    "padded_batch": lambda n: numbers(n).map(lambda x: tf.fill([x], n)).padded_batch(2),
    "group_by_window": lambda n: numbers(9).group_by_window(lambda x: x % n, lambda k, w: w.batch(2), 2),
    "window": lambda n: numbers(6).window(n).flat_map(lambda w: w.batch(9)),
    "enumerate": lambda n: numbers(3).enumerate(n).map(lambda i, x: i + x),
    "cache": lambda n: numbers(n).cache().repeat(2),
    "generator": lambda n: Dataset.from_generator(lambda m: range(m), output_signature=INT, args=(n,)),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_depend_on_tensors_of_the_graph(name):
    make = PIPELINES[name]

    @tf.function
    def collected(n):
        out = tf.TensorArray(tf.int64, 0, dynamic_size=True, infer_shape=False)
        for x in make(n):
            x = tf.reshape(tf.cast(x, tf.int64), [-1])
            out = out.write(out.size(), tf.concat([tf.cast(tf.shape(x), tf.int64), x], 0))
        return out.concat()

    returned = tf.function(make)
    for n in (3, 4, 5):
        expected = listed(make(i64(n)))
        flat = [v for x in expected for v in [np.size(x), *np.ravel(x)]]
        assert collected(i64(n)).numpy().tolist() == flat
        assert listed(returned(i64(n))) == expected
    assert collected.experimental_get_tracing_count() == 1


def test_each_run_makes_its_own_data_set():
    kept = []

    @tf.function
    def make(n):
        return numbers(n).map(lambda x: x + n).cache()

    kept = [make(i64(n)) for n in (2, 3)]
    assert [listed(ds) for ds in kept] == [[2, 3], [3, 4, 5]]
    assert [listed(ds) for ds in kept] == [[2, 3], [3, 4, 5]]


def test_reductions_and_single_elements_in_a_graph():
    @tf.function
    def both(n, ds):
        total = ds.reduce(n, lambda s, x: s * 2 + x * n)
        return total, ds.map(lambda x: x + n).skip(1).take(1).get_single_element(), ds.cardinality()

    for n in (2, 3):
        expected = n
        for x in range(4):
            expected = expected * 2 + x * n
        assert [int(x) for x in both(i64(n), numbers(4))] == [expected, 1 + n, 4]


def test_effects_of_functions_are_in_order_with_the_loop(capfd):
    @tf.function
    def show(ds):
        for x in ds.map(lambda x: (tf.print("made", x), x)[1]):
            tf.print("used", x)

    show(numbers(2))
    assert capfd.readouterr().err.split("\n")[:-1] == ["made 0", "used 0", "made 1", "used 1"]


def test_data_sets_pass_through_branches_and_loops():
    @tf.function
    def chosen(a, b, which):
        ds = a
        if which:
            ds = b
        for _ in tf.range(2):
            ds = ds.map(lambda x: x + 1)
        return ds

    assert listed(chosen(numbers(2), numbers(7, 9), tf.constant(True))) == [9, 10]
    assert listed(chosen(numbers(2), numbers(7, 9), tf.constant(False))) == [2, 3]


def test_data_sets_pass_through_calls():
    @tf.function
    def inner(ds, n):
        return ds.map(lambda x: x * n)

    @tf.function
    def outer(n):
        total = i64(0)
        for x in inner(numbers(n), n):
            total += x
        return total

    assert int(outer(i64(4))) == 24
    assert int(outer(i64(3))) == 9


def test_attributes_and_globals_are_reached():
    class Model:
        def __init__(self):
            self.data = numbers(4)
            self.weight = tf.Variable(2, dtype=tf.int64)

        @tf.function
        def run(self):
            for x in self.data:
                self.weight.assign_add(x)
            return self.weight.read_value()

    model = Model()
    assert [int(model.run()), int(model.run())] == [8, 14]


def test_functions_read_the_variable_that_is_an_argument():
    @tf.function
    def inner(v, n):
        return numbers(n).map(lambda x: x * v).reduce(i64(0), lambda s, x: s + x)

    outer = tf.function(lambda v, n: inner(v, n))
    for function in (inner, outer):
        for value in (2, 5):
            assert int(function(tf.Variable(value, dtype=tf.int64), i64(4))) == 6 * value


def test_gradients_of_a_training_loop():
    weight = tf.Variable(0.0)
    data = Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])).repeat(20)

    @tf.function
    def train():
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.square(weight * x - y)
            weight.assign_sub(0.05 * tape.gradient(loss, weight))

    train()
    assert abs(float(weight) - 2.0) < 1e-3


def test_gradients_of_a_loop_over_elements():
    @tf.function
    def loss(w):
        total = tf.constant(0.0)
        for x in Dataset.from_tensor_slices([1.0, 2.0, 3.0]):
            total += tf.square(w * x)
        return total

    w = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(w)
        value = loss(w)
    assert float(tape.gradient(value, w)) == 2 * 2.0 * 14.0


def test_an_error_in_an_element_leaves_the_loop():
    def check(x):
        if x == 2:
            raise KeyError("two")
        return x

    seen = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def run(ds):
        for x in ds.map(lambda x: tf.py_function(check, [x], tf.int64)):
            seen.assign_add(x + 1)

    with pytest.raises(KeyError, match="two"):
        run(numbers(5))
    assert int(seen) == 3


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        (lambda ds, n: ds.batch(n), "batch_size"),
        (lambda ds, n: ds.shuffle(n), "buffer_size"),
        (lambda ds, n: ds.shard(n, 0), "num_shards"),
        (lambda ds, n: ds.window(2, n).map(lambda w: 1), "shift"),
        (lambda ds, n: ds.padded_batch(n), "batch_size"),
        (lambda ds, n: ds.interleave(numbers, n), "cycle_length"),
        (lambda ds, n: ds.group_by_window(lambda x: x, lambda k, w: w, n), "window_size"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_numbers_that_a_graph_computes_are_checked_when_it_runs(change, argument):
    @tf.function
    def count(n):
        total = 0
        for _ in change(numbers(4), n):
            total += 1
        return total

    assert int(count(i64(1))) > 0
    with pytest.raises(tf.errors.InvalidArgumentError, match=argument):
        count(i64(0))


def test_python_does_not_step_through_a_data_set_while_tracing():
    @tf.function(autograph=False)
    def run(ds):
        for x in ds:
            tf.print(x)

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="AutoGraph"):
        run(numbers(3))
    with pytest.raises(RuntimeError, match="traced"):
        tf.function(lambda ds: ds.as_numpy_iterator())(numbers(3))


def test_functions_that_run_eagerly_give_the_same():
    tf.config.run_functions_eagerly(True)
    try:
        assert int(tf.function(broken)(numbers(9))) == 15
    finally:
        tf.config.run_functions_eagerly(False)


def test_what_graphs_make_is_freed():
    import weakref

    from penstock.data import _handles

    @tf.function
    def run(n):
        total = i64(0)
        for x in numbers(n).map(lambda x: x + n):
            total += x
        return total

    for n in range(5):
        run(i64(n))
    gc.collect()
    before = len(_handles._objects)
    for n in range(50):
        run(i64(n % 7))
    gc.collect()
    assert len(_handles._objects) <= before
    ds = numbers(3)
    tf.function(lambda ds: ds.take(2))(ds)
    dead = weakref.ref(ds)
    del ds
    gc.collect()
    assert dead() is None


def test_specifications_of_data_sets_and_iterators():
    spec = tf.data.DatasetSpec(tf.TensorSpec([None], tf.int64))
    assert spec.is_compatible_with(numbers(4).batch(2, drop_remainder=True))
    assert not spec.is_compatible_with(numbers(4))
    assert tf.data.DatasetSpec(tf.TensorSpec([2], tf.int64)).is_subtype_of(spec)
    assert tf.type_spec_from_value(iter(numbers(3))) == tf.data.IteratorSpec(INT)
    total = tf.function(summed, input_signature=[tf.data.DatasetSpec(INT)])
    assert [int(total(numbers(n))) for n in (3, 5)] == [3, 10]
    with pytest.raises(TypeError, match="element_spec"):
        tf.data.DatasetSpec(3)


# What is read, and when. Each takes a function that makes a generator which notes what it gives.


def to_the_end(make, note):
    for x in make("a", 3):
        note(x)


def left_early(make, note):
    for x in make("a", 6):
        note(x)
        if x == 2:
            break


def left_at_once(make, note):
    for x in make("a", 6):
        note(x)
        return


def the_shorter_first(make, note):
    for x, y in zip(make("a", 2), make("b", 4), strict=False):
        note(x * 10 + y)


def the_shorter_last(make, note):
    for x, y in zip(make("a", 4), make("b", 2), strict=False):
        note(x * 10 + y)


def with_numbers(make, note):
    for i, x in enumerate(make("a", 3)):
        note(x + i)


def within_another(make, note):
    for x in make("a", 2):
        for y in make("b", 2):
            note(x * 10 + y)


def skipping(make, note):
    for x in make("a", 5):
        if x % 2 == 0:
            continue
        note(x)


READING = [
    to_the_end, left_early, left_at_once, the_shorter_first, the_shorter_last, with_numbers, within_another,
    skipping,
]  # fmt: skip


@pytest.mark.parametrize("loop", READING, ids=lambda f: f.__name__)
def test_elements_are_read_when_python_reads_them(loop):
    seen = []

    def generator(name, count):
        for i in range(count):
            seen.append(f"{name}{i}")
            yield i
        seen.append(f"end of {name}")

    def make(name, count):
        return Dataset.from_generator(lambda: generator(name, count), output_signature=INT)

    def in_graph(x):
        tf.py_function(lambda v: seen.append(int(v)), [x], [])

    loop(generator, seen.append)
    expected, seen[:] = list(seen), []
    tf.function(lambda: loop(make, in_graph))()
    assert seen == expected


def test_a_limit_of_iterations_reads_no_more():
    seen = []

    def generator():
        for i in range(5):
            seen.append(i)
            yield i

    @tf.function
    def limited(ds):
        total = i64(0)
        for x in ds:
            tf.autograph.experimental.set_loop_options(maximum_iterations=2)
            total += x
        return total

    assert int(limited(Dataset.from_generator(generator, output_signature=INT))) == 1
    assert seen == [0, 1]


def test_an_error_behind_the_last_element_that_is_wanted_does_not_come_up():
    ds = numbers(40).map(lambda x: 100 // (30 - x))

    @tf.function
    def until(ds, n):
        total = i64(0)
        for i, x in enumerate(ds):
            total += x
            if i == n:
                break
        return total

    assert int(until(ds, tf.constant(29, tf.int64))) == sum(100 // (30 - x) for x in range(30))
    with pytest.raises(tf.errors.InvalidArgumentError):
        until(ds, tf.constant(30, tf.int64))


def test_a_loop_over_data_has_a_gradient():
    @tf.function
    def slope(ds, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            total = tf.constant(0.0)
            for x in ds:
                total += tf.sin(w * x)
        return tape.gradient(total, w)

    values = np.arange(40, dtype=np.float32)
    ds = Dataset.from_tensor_slices(values)
    assert slope(ds, tf.constant(0.5)).numpy() == pytest.approx(
        (np.cos(0.5 * values) * values).sum(), rel=1e-4
    )


def failing(x):
    return 10 // (x - 2)


def raising(x):
    def refuse(value):
        if int(value) == 2:
            raise KeyError("two")
        return value

    return tf.ensure_shape(tf.py_function(refuse, [x], tf.int64), [])


@tf.function
def consumed(ds):
    total = i64(0)
    for x in ds:
        total += x
    return total


@pytest.mark.parametrize("function", [failing, raising])
@pytest.mark.parametrize(
    "use",
    [
        list,
        consumed,
        lambda ds: list(ds.as_numpy_iterator()),
        lambda ds: ds.skip(2).take(1).get_single_element(),
        lambda ds: ds.batch(2).reduce(i64(0), lambda s, x: s + tf.reduce_sum(x)),
        lambda ds: iter(ds.skip(2)).get_next(),
        lambda ds: iter(ds.skip(2)).get_next_as_optional(),
    ],
)
def test_a_traceback_of_a_failing_element_shows_lines_of_the_user_alone(function, use):
    with pytest.raises((tf.errors.InvalidArgumentError, KeyError)) as caught:
        use(numbers(5).map(function))
    files = {str(entry.path) for entry in caught.traceback}
    assert files == {__file__}
    names = [entry.name for entry in caught.traceback]
    assert names[-1] == "refuse" if function is raising else "in failing" in str(caught.value)


def test_a_traceback_of_a_function_of_elements_that_cannot_be_traced_shows_lines_of_the_user_alone():
    ds = numbers(3)
    for use in (
        ds.map,
        ds.filter,
        ds.take_while,
        ds.flat_map,
        ds.interleave,
        lambda f: ds.reduce(i64(0), lambda s, x: f(s)),
        lambda f: ds.scan(i64(0), lambda s, x: f(s)),
        lambda f: ds.group_by_window(f, lambda key, window: window, 2),
    ):
        with pytest.raises(tf.errors.DTypeError) as caught:
            use(lambda x: x + tf.constant(1.0))
        assert {str(entry.path) for entry in caught.traceback} == {__file__}


def test_elements_of_unknown_rank_and_large_ones_are_those_of_python():
    @tf.function
    def summed_up(ds):
        total = tf.constant(0.0)
        for x in ds:
            total += tf.reduce_sum(x)
        return total

    values = [np.float32(1), np.ones([2, 3], np.float32), np.ones([4], np.float32)]
    ds = Dataset.from_generator(lambda: iter(values), output_signature=tf.TensorSpec(None, tf.float32))
    assert summed_up(ds) == 11.0
    assert summed_up(ds.take(0)) == 0.0
    large = Dataset.from_tensor_slices(np.arange(7 * 9000, dtype=np.float32).reshape(7, 9000))
    assert summed_up(large) == pytest.approx(sum(x.numpy().sum() for x in large), rel=1e-5)
    assert summed_up(large.take(0)) == 0.0


def test_a_loop_over_elements_of_unknown_shape_adds_up() -> None:
    pairs = tf.data.Dataset.from_generator(lambda: iter([(1, 2), (3, 4)]), (tf.int32, tf.int32))

    @tf.function
    def total(data, start):
        found, last = start, 0
        for x, y in data:
            if x > 1:
                found += x * y
            last = y
        return found, last

    assert [int(v) for v in total(pairs, 0)] == [12, 4]
    assert [int(v) for v in total(iter(pairs), tf.constant(1))] == [13, 4]

    @tf.function
    def joined(data):
        found = tf.zeros([1], tf.int64)
        for x in data:
            found = tf.concat([found, [x]], axis=0)
        return found

    assert joined(tf.data.Dataset.range(3)).numpy().tolist() == [0, 0, 1, 2]
