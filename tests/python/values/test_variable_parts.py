"""Parts of variables: reads and writes of entries and slices, in place."""

import gc
import inspect
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import penstock as tf
from penstock import _core

RUNS = [lambda f: f, tf.function]


def slices(indices, values):
    return SimpleNamespace(indices=indices, values=values)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("add", [[1, 2], [13, 24], [5, 6]]),
        ("sub", [[1, 2], [-7, -16], [5, 6]]),
        ("mul", [[1, 2], [48, 384], [5, 6]]),
        ("div", [[1, 2], [3 / 16, 4 / 96], [5, 6]]),
        ("max", [[1, 2], [8, 12], [5, 6]]),
        ("min", [[1, 2], [2, 4], [5, 6]]),
        ("update", [[1, 2], [8, 12], [5, 6]]),
    ],
)
def test_scatter(run, mode, expected):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    # Entries that come twice are changed twice, in order.
    delta = slices([1, 1], [[2.0, 8.0], [8.0, 12.0]])
    result = run(lambda: getattr(v, f"scatter_{mode}")(delta))()
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    np.testing.assert_allclose(v, expected, rtol=1e-6)


@pytest.mark.parametrize("run", RUNS)
def test_scatter_nd(run):
    for mode, expected in [
        ("add", [11, 2, 23]),
        ("sub", [-9, 2, -17]),
        ("max", [10, 2, 20]),
        ("min", [1, 2, 3]),
    ]:
        v = tf.Variable([1.0, 2.0, 3.0])
        run(lambda v=v, mode=mode: getattr(v, f"scatter_nd_{mode}")([[0], [2]], [10.0, 20.0]))()
        assert v.numpy().tolist() == expected
    m = tf.Variable(tf.zeros([2, 3], tf.int32))
    run(lambda: m.scatter_nd_update([[0, 2], [1, 0]], [7, 8]))()
    assert m.numpy().tolist() == [[0, 0, 7], [8, 0, 0]]
    run(lambda: m.scatter_nd_update(tf.zeros([0, 2], tf.int32), tf.zeros([0], tf.int32)))()
    run(lambda: m.scatter_nd_update(tf.zeros([1, 0], tf.int32), [[[1, 1, 1], [2, 2, 2]]]))()
    assert m.numpy().tolist() == [[1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize("run", RUNS)
def test_batch_scatter_sparse_reads_and_gather(run):
    v = tf.Variable(tf.reshape(tf.range(12), [2, 3, 2]))
    run(lambda: v.batch_scatter_update(slices([[0], [2]], [[[-1, -1]], [[-2, -2]]])))()
    assert v.numpy().tolist() == [[[-1, -1], [2, 3], [4, 5]], [[6, 7], [8, 9], [-2, -2]]]
    assert run(lambda: v.sparse_read([1]))().numpy().tolist() == [[[6, 7], [8, 9], [-2, -2]]]
    assert run(lambda: v.gather_nd([[1, 2], [0, 0]]))().numpy().tolist() == [[-2, -2], [-1, -1]]


def test_a_scalar_is_scattered_to_whole_entries():
    v = tf.Variable(tf.ones([3, 2]))
    v.scatter_update(slices([0, 2], 5.0))
    assert v.numpy().tolist() == [[5, 5], [1, 1], [5, 5]]


def test_a_sparse_read_is_differentiable():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v.sparse_read([0, 0, 2]) ** 2)
    assert tf.convert_to_tensor(tape.gradient(y, v)).numpy().tolist() == [4.0, 0.0, 6.0]


def assignment(v, key, value):
    return lambda: v[key].assign(value)


@pytest.mark.parametrize("run", RUNS)
def test_slices_are_assigned(run):
    cases = [
        (np.s_[1], (4,)),
        (np.s_[-1, 2], ()),
        (np.s_[:, 1:3], (3, 2)),
        (np.s_[::-1, ::2], (3, 2)),
        (np.s_[..., 0], (3,)),
        (np.s_[None, 0], (1, 4)),
        (np.s_[5:], (0, 4)),
        (np.s_[:], (3, 4)),
    ]
    for key, shape in cases:
        v = tf.Variable(np.zeros((3, 4), np.float32))
        value = 1 + np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
        expected = np.zeros((3, 4), np.float32)
        expected[key] = value
        result = run(assignment(v, key, value))()
        np.testing.assert_array_equal(v, expected)
        np.testing.assert_array_equal(result, expected)


def test_a_slice_with_tensors_as_bounds():
    v = tf.Variable(tf.zeros([5]))

    @tf.function
    def f(i):
        v[i : i + 2].assign([1.0, 2.0])
        return v.read_value()

    assert f(tf.constant(1)).numpy().tolist() == [0, 1, 2, 0, 0]
    assert f(tf.constant(3)).numpy().tolist() == [0, 1, 2, 1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice"):
        f(tf.constant(4))


def test_a_slice_of_a_variable_is_a_tensor():
    v = tf.Variable([1.0, 2.0])
    assert isinstance(v[0], tf.Tensor)
    assert (v[0] + v[1]).numpy() == 3.0
    assert float(v[1]) == 2.0
    part = v[:1]
    v[:1].assign([9.0])
    assert part.numpy().tolist() == [1.0]


def test_writes_to_parts_keep_the_order_of_the_program():
    v = tf.Variable([0, 0, 0])

    @tf.function
    def f(n):
        a = v[1] + 0
        for i in tf.range(n):
            v[i % 3].assign(v[i % 3] + i)
            v.scatter_nd_add([[i % 3]], [100])
        b = v.read_value()
        v.assign([0, 0, 0])
        return a, b

    for _ in range(2):
        a, b = f(tf.constant(4))
        assert int(a) == 0
        assert b.numpy().tolist() == [203, 101, 102]


def test_reads_are_snapshots_of_writes_to_parts():
    v = tf.Variable(tf.zeros([100]))
    before = v.read_value()
    view = before.numpy()
    v.scatter_nd_update([[3]], [1.0])
    v[4].assign(2.0)
    assert before.numpy().sum() == view.sum() == 0
    assert v.numpy()[3:5].tolist() == [1.0, 2.0]


def test_a_write_to_one_row_copies_nothing():
    v = tf.Variable(tf.zeros([1000, 1000]))
    row = tf.ones([1000])

    def step():
        v[7].assign(row)
        v.scatter_nd_add([[8]], [row])
        v.scatter_update(slices([9], tf.reshape(row, [1, 1000])))

    traced = tf.function(step)
    for run in (step, traced):
        run()
        place = v.numpy().__array_interface__["data"][0]
        before = _core._taken_bytes()
        for _ in range(5):
            run()
        # The steps make small tensors only.
        assert _core._taken_bytes() - before < 1_000_000
        assert v.numpy().__array_interface__["data"][0] == place
    assert float(tf.reduce_sum(v)) == 1000 + 12 * 1000 + 1000


@pytest.mark.parametrize("run", RUNS)
def test_a_refused_write_leaves_the_value_as_it_was(run):
    v = tf.Variable([1.0, 2.0, 3.0])
    for write, match in [
        (lambda: v.scatter_nd_add([[0], [3]], [1.0, 1.0]), "index into shape"),
        (lambda: v.scatter_add(slices([0, -1], [1.0, 1.0])), "index into shape"),
        (lambda: v.scatter_nd_add([[0]], [1.0, 2.0]), "updates"),
        (lambda: v[:2].assign([1.0, 2.0, 3.0]), "does not broadcast"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            run(write)()
        assert v.numpy().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match="IndexedSlices"):
        v.scatter_add([1.0])
    with pytest.raises(TypeError, match="float32"):
        v[0].assign(tf.constant(1))
    with pytest.raises(TypeError, match="div"):
        tf.Variable([1]).scatter_div(slices([0], [1]))


def test_other_names_of_variables():
    v = tf.Variable(3, name="count")
    assert v.handle is v.handle
    assert bool(v.is_initialized())
    assert [int(v.count_up_to(5)), int(v.count_up_to(5))] == [3, 4]
    with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of"):
        v.count_up_to(5)
    with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of"):
        tf.function(lambda: v.count_up_to(5))()
    assert int(v) == 5
    v.load(8)
    assert v.eval() == 8
    assert v.initialized_value().numpy() == 8
    with tf.name_scope("a"), tf.name_scope("b"):
        assert tf.Variable(1.0, name="v").name == "a/b/v:0"
        assert tf.Variable(1.0).name == "a/b/Variable:0"
    w = tf.Variable(1.0, synchronization="auto", aggregation="mean", trainable=False)
    assert (w.synchronization, w.aggregation, w.initializer) == ("auto", "mean", None)


def test_a_value_that_does_not_fit_a_slice_is_refused_with_the_name_of_the_variable():
    v = tf.Variable(tf.zeros([4, 4]), name="grid")
    for assign in (
        lambda: v[:3, :2].assign(tf.ones([4])),
        tf.function(lambda: v[:3, :2].assign(tf.ones([4]))),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"assign: .*'grid'.*\[4\].*\[3,2\]"):
            assign()
    assert not v.numpy().any()


def test_what_is_assigned_to_a_slice_broadcasts():
    def write(v, row, number):
        v[1:].assign(row)
        v[:, 0].assign(number)

    for run in (write, tf.function(write)):
        v = tf.Variable(tf.zeros([3, 2]))
        run(v, tf.constant([1.0, 2.0]), tf.constant(5.0))
        assert v.numpy().tolist() == [[5, 0], [5, 2], [5, 2]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        v[:2].assign([1.0, 2.0, 3.0])
    v = tf.Variable([1.0, 2.0, 3.0], shape=[None])

    @tf.function
    def fill(x):
        v[1:].assign(x)

    fill(tf.constant(7.0))
    v.assign([0.0] * 5)
    fill(tf.constant(7.0))
    assert v.numpy().tolist() == [0, 7, 7, 7, 7]


def test_a_part_of_a_larger_variable_is_told_as_checkpoints_tell_it():
    part = tf.Variable.SaveSliceInfo(full_name="w", full_shape=[4, 6], var_offset=[2, 0], var_shape=[2, 6])
    assert (part.full_name, part.spec) == ("w", "4 6 2,2:0,6")
    assert tf.Variable.SaveSliceInfo().spec == ""


def test_a_part_of_a_variable_is_collected_with_what_holds_it_in_a_cycle():
    class Holder:
        pass

    holder = Holder()
    holder.variable = tf.Variable([1.0, 2.0])
    holder.parts = [holder.variable[:1] for _ in range(3)]
    holder.itself = holder
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def test_places_of_parts_are_read_from_texts_and_messages():
    info = tf.Variable.SaveSliceInfo
    place = info("w", [4, 6], [2, 0], [2, 6])
    read = info.from_spec(place.spec)
    assert (read.full_shape, read.var_offset, read.var_shape) == ([4, 6], [2, 0], [2, 6])
    read = info(save_slice_info_def=place, import_scope="net")
    assert vars(read) == {**vars(place), "full_name": "net/w"}
    for wrong in ("4 6", "4 2,2:0,6", "4 6 2,2:x,6", "4 6 2:0"):
        with pytest.raises(ValueError, match="argument 'spec'"):
            info.from_spec(wrong)


def test_the_signature_of_variables_is_that_of_their_constructor():
    assert list(inspect.signature(tf.Variable).parameters)[:5] == [
        "initial_value",
        "trainable",
        "validate_shape",
        "caching_device",
        "name",
    ]
