"""Data sets in traced functions: a loop over one is a loop of the graph."""

import numpy as np
import pytest
from support.data_cases import INT, i64, numbers

import penstock as tf

Dataset = tf.data.Dataset


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


def test_functions_that_run_eagerly_give_the_same():
    tf.config.run_functions_eagerly(True)
    try:
        assert int(tf.function(broken)(numbers(9))) == 15
    finally:
        tf.config.run_functions_eagerly(False)
