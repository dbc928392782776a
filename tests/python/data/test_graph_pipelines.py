"""Data sets that graphs make, hand on and let go."""

import gc

import numpy as np
import pytest
from support.data_cases import INT, i64, listed, numbers

import penstock as tf

Dataset = tf.data.Dataset


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
