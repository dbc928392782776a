"""When loops of the graph read elements, and the lines that errors of elements show."""

import numpy as np
import pytest
from support.data_cases import INT, i64, numbers

import penstock as tf

Dataset = tf.data.Dataset


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
