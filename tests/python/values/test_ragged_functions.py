"""Public functions of ragged tensors, beside lists: elementwise, reductions, choice, and dispatch."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf

SOME = settings(max_examples=15, deadline=None)
ROWS = st.lists(st.lists(st.integers(-5, 5), max_size=4), min_size=1, max_size=4)
NESTED = st.lists(ROWS, min_size=1, max_size=3)


def ragged(rows, depth=1, dtype=tf.int32):
    return tf.ragged.constant(rows, dtype, ragged_rank=depth)


def in_graph(function, *arguments):
    """What a function makes of arguments whose rows its trace does not know."""
    specs = [
        tf.RaggedTensorSpec([None] * x.shape.rank, x.dtype, x.ragged_rank)
        if isinstance(x, tf.RaggedTensor)
        else tf.TensorSpec([None] * x.shape.rank, x.dtype)
        for x in arguments
    ]
    return tf.function(function, input_signature=specs)(*arguments)


@SOME
@given(ROWS, st.data())
def test_operands_broadcast_dimension_by_dimension(rows, data):
    x = ragged(rows)
    other = [[data.draw(st.integers(-5, 5)) for _ in row] for row in rows]
    want = [[a * 10 + b for a, b in zip(r, s, strict=True)] for r, s in zip(rows, other, strict=True)]
    assert (x * 10 + ragged(other)).to_list() == want
    assert in_graph(lambda a, b: a * 10 + b, x, ragged(other)).to_list() == want
    column = [[data.draw(st.integers(-5, 5))] for _ in rows]
    want = [[a - c[0] for a in r] for r, c in zip(rows, column, strict=True)]
    for second in (tf.constant(column), ragged(column)):
        assert tf.subtract(x, second).to_list() == want
        assert (second - x).to_list() == [[-a for a in r] for r in want]
        assert in_graph(tf.subtract, x, second).to_list() == want
    single = data.draw(st.lists(st.integers(-5, 5), max_size=4))
    if single:
        assert (tf.constant([[7]]) + ragged([single])).to_list() == [[7 + b for b in single]]
        # One row is repeated for each row of the other, if all are of its length.
        many = tf.constant([single] * 3) + ragged([single])
        assert many.to_list() == [[2 * b for b in single]] * 3


def test_dimensions_of_other_ranks_broadcast():
    x = tf.ragged.constant([[[1, 2], [3]], [[4]]])
    assert (x + tf.constant([[[10]], [[20]]])).to_list() == [[[11, 12], [13]], [[24]]]
    assert (x + tf.ragged.constant([[[10], [20]], [[30]]])).to_list() == [[[11, 12], [23]], [[34]]]
    assert in_graph(tf.add, x, tf.ragged.constant([[[10], [20]], [[30]]])).to_list() == [
        [[11, 12], [23]],
        [[34]],
    ]
    inner = tf.RaggedTensor.from_row_lengths([[1, 2], [3, 4], [5, 6]], [2, 1])
    assert (inner * [10, 100]).to_list() == [[[10, 200], [30, 400]], [[50, 600]]]
    assert (inner * tf.constant([[[2, 2]], [[3, 3]]])).to_list() == [[[2, 4], [6, 8]], [[15, 18]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="broadcast"):
        tf.ragged.constant([[1, 2], [3]]) + tf.ragged.constant([[1, 2, 3], [3]])
    with pytest.raises(TypeError):
        tf.ragged.constant([[1]]) + tf.ragged.constant([[1.0]])


def test_functions_of_one_operand_and_comparisons():
    x = tf.ragged.constant([[-1.5, 2.0], [], [0.0]])
    assert tf.abs(x).to_list() == [[1.5, 2.0], [], [0.0]]
    assert tf.nn.relu(x).to_list() == [[0.0, 2.0], [], [0.0]]
    assert tf.cast(x, tf.int32).to_list() == [[-1, 2], [], [0]]
    assert tf.clip_by_value(x, -1, 1).to_list() == [[-1.0, 1.0], [], [0.0]]
    assert tf.zeros_like(x).to_list() == [[0, 0], [], [0]]
    assert (-x).to_list() == [[1.5, -2.0], [], [-0.0]]
    assert (x > 0).to_list() == [[False, True], [], [False]]
    assert (x == x).to_list() == [[True, True], [], [True]]
    assert (x**2 / 2 % 3 // 1).to_list() == [[1.0, 2.0], [], [0.0]]
    assert tf.where(x > 0, x, 0.0).to_list() == [[0.0, 2.0], [], [0.0]]
    assert tf.where(x > 0).numpy().tolist() == [[0, 1]]
    assert tf.strings.join([tf.ragged.constant([["a"], ["b", "c"]]), "!"]).to_list() == [
        [b"a!"],
        [b"b!", b"c!"],
    ]
    assert tf.add_n([x, x]).to_list() == (x + x).to_list()
    tf.debugging.assert_equal(x, x)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.debugging.assert_equal(x, x + 1.0)


REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all}


@SOME
@given(ROWS, st.sampled_from(sorted(REDUCTIONS)), st.booleans())
def test_reductions_of_rows(rows, kind, keepdims):
    reduce, wanted = getattr(tf, f"reduce_{kind}"), REDUCTIONS[kind]
    truth = kind in ("any", "all")
    x = ragged(rows, 1, tf.int32) > 0 if truth else ragged(rows)
    rows = [[v > 0 for v in row] for row in rows] if truth else rows
    least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    empty = {"sum": 0, "prod": 1, "max": least, "min": most, "any": False, "all": True}[kind]
    want = [wanted(row) if row else empty for row in rows]
    for run in (lambda f, *a: f(*a), in_graph):
        made = run(lambda x: reduce(x, axis=1, keepdims=keepdims), x)
        made = made.to_tensor() if isinstance(made, tf.RaggedTensor) else made
        assert made.numpy().tolist() == ([[v] for v in want] if keepdims else want)
    if not keepdims:
        width = max(map(len, rows))
        columns = [[row[j] for row in rows if j < len(row)] for j in range(width)]
        assert reduce(x, axis=0).numpy().tolist() == [wanted(c) for c in columns]
        flat = [v for row in rows for v in row]
        assert reduce(x).numpy() == (wanted(flat) if flat else empty)


@SOME
@given(NESTED)
def test_reductions_of_nested_rows(rows):
    x = ragged(rows, 2)
    assert tf.reduce_sum(x, axis=2).to_list() == [[sum(inner) for inner in row] for row in rows]
    assert tf.reduce_sum(x, axis=-1).to_list() == [[sum(inner) for inner in row] for row in rows]
    assert tf.reduce_sum(x, axis=[1, 2]).numpy().tolist() == [sum(map(sum, row)) for row in rows]
    summed = tf.reduce_sum(x, axis=1).to_list()
    for made, row in zip(summed, rows, strict=True):
        width = max(map(len, row))
        assert made == [sum(inner[j] for inner in row if j < len(inner)) for j in range(width)]
    assert int(tf.reduce_sum(x)) == sum(v for row in rows for inner in row for v in inner)


def test_means_and_what_is_made_of_them():
    rows = [[1.0, 2.0, 6.0], [4.0], [-1.0, 1.0]]
    x = tf.ragged.constant(rows)
    np.testing.assert_allclose(tf.reduce_mean(x, 1).numpy(), [np.mean(r) for r in rows], rtol=1e-6)
    np.testing.assert_allclose(tf.math.reduce_variance(x, 1).numpy(), [np.var(r) for r in rows], rtol=1e-6)
    np.testing.assert_allclose(tf.math.reduce_std(x, 1).numpy(), [np.std(r) for r in rows], rtol=1e-6)
    want = [np.log(np.sum(np.exp(r))) for r in rows]
    np.testing.assert_allclose(tf.reduce_logsumexp(x, 1).numpy(), want, rtol=1e-6)
    assert float(tf.reduce_logsumexp(x * 0 + 1000.0)) == pytest.approx(1000 + np.log(6))
    made = tf.nn.softmax(x)
    np.testing.assert_allclose(made[0].numpy(), np.exp(rows[0]) / np.sum(np.exp(rows[0])), rtol=1e-6)
    assert np.isnan(tf.reduce_mean(tf.ragged.constant([[1.0], []]), 1).numpy()[1])
    total = tf.math.segment_sum(tf.ragged.constant([[1, 2], [3], [4, 5, 6]]), [0, 0, 1])
    assert total.to_list() == [[4, 2], [4, 5, 6]]


@SOME
@given(ROWS, ROWS)
def test_ragged_tensors_are_put_together(a, b):
    x, y = ragged(a), ragged(b)
    assert tf.concat([x, y], axis=0).to_list() == a + b
    assert in_graph(lambda x, y: tf.concat([x, y], 0), x, y).to_list() == a + b
    assert tf.stack([x, y]).to_list() == [a, b]
    assert tf.ragged.stack([x, y, x]).to_list() == [a, b, a]
    n = min(len(a), len(b))
    x, y = ragged(a[:n]), ragged(b[:n])
    want = [r + s for r, s in zip(a[:n], b[:n], strict=True)]
    assert tf.concat([x, y], axis=1).to_list() == want
    assert in_graph(lambda x, y: tf.concat([x, y], -1), x, y).to_list() == want
    assert tf.stack([x, y], axis=1).to_list() == [[r, s] for r, s in zip(a[:n], b[:n], strict=True)]
    assert tf.tile(x, [2, 3]).to_list() == [row * 3 for row in a[:n]] * 2
    assert tf.reverse(x, [0, 1]).to_list() == [row[::-1] for row in a[:n]][::-1]
    assert tf.expand_dims(x, 0).to_list() == [a[:n]]
    assert tf.expand_dims(x, 1).to_list() == [[row] for row in a[:n]]
    assert tf.expand_dims(x, -1).to_list() == [[[v] for v in row] for row in a[:n]]
    assert tf.squeeze(tf.expand_dims(x, 1), 1).to_list() == a[:n]
    assert int(tf.size(x)) == sum(map(len, a[:n]))
    assert int(tf.rank(x)) == 2


@SOME
@given(ROWS, st.data())
def test_rows_and_values_are_chosen(rows, data):
    x = ragged(rows)
    numbers = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=4))
    assert tf.gather(x, tf.constant(numbers, tf.int64)).to_list() == [rows[i] for i in numbers]
    assert tf.gather(x, ragged([numbers, []])).to_list() == [[rows[i] for i in numbers], []]
    assert tf.gather(tf.range(4) * 10, ragged([[3, 0], []])).to_list() == [[30, 0], []]
    each = [[data.draw(st.integers(0, len(r) - 1)) for _ in range(2)] if r else [] for r in rows]
    want = [[r[i] for i in chosen] for r, chosen in zip(rows, each, strict=True)]
    assert tf.gather(x, ragged(each), axis=1, batch_dims=1).to_list() == want
    assert in_graph(lambda x, i: tf.gather(x, i, batch_dims=1), x, ragged(each)).to_list() == want
    keep = [[data.draw(st.booleans()) for _ in r] for r in rows]
    mask = tf.ragged.constant(keep, tf.bool, ragged_rank=1)
    want = [[v for v, k in zip(r, ks, strict=True) if k] for r, ks in zip(rows, keep, strict=True)]
    assert tf.ragged.boolean_mask(x, mask).to_list() == want
    assert tf.boolean_mask(x, [i % 2 == 0 for i in range(len(rows))]).to_list() == rows[::2]
    start, stop = (data.draw(st.integers(-5, 5) | st.none()) for _ in range(2))
    step = data.draw(st.sampled_from([1, 2, 3, -1, -2]))
    assert x[:, start:stop:step].to_list() == [r[start:stop:step] for r in rows]
    assert x[..., :1].to_list() == [r[:1] for r in rows]
    assert x[tf.newaxis].to_list() == [rows]
    assert x[:, tf.newaxis].to_list() == [[r] for r in rows]
    assert [row.numpy().tolist() for row in x] == rows


@SOME
@given(NESTED)
def test_dimensions_are_merged_and_made_sparse(rows):
    x = ragged(rows, 2)
    assert x.merge_dims(0, 1).to_list() == [inner for row in rows for inner in row]
    assert x.merge_dims(1, 2).to_list() == [[v for inner in row for v in inner] for row in rows]
    assert x.merge_dims(0, 2).numpy().tolist() == [v for row in rows for inner in row for v in inner]
    sparse = x.to_sparse()
    np.testing.assert_array_equal(tf.sparse.to_dense(sparse).numpy(), x.to_tensor().numpy())
    flat = x.merge_dims(0, 1)
    back = tf.RaggedTensor.from_sparse(flat.to_sparse())
    assert back.to_list() == flat.to_list()
    uniform = tf.RaggedTensor.from_row_lengths(tf.reshape(tf.range(12), [3, 2, 2]), [2, 1])
    assert uniform.merge_dims(1, 2).to_list()[0] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert uniform.merge_dims(2, 3).to_list()[1] == [[8, 9, 10, 11]]
    np.testing.assert_array_equal(
        tf.sparse.to_dense(uniform.to_sparse()).numpy(), uniform.to_tensor().numpy()
    )


def test_functions_that_make_ragged_tensors():
    assert tf.ragged.range([2, 0, 3]).to_list() == [[0, 1], [], [0, 1, 2]]
    assert tf.ragged.range([0.0, 1.0], [1.0, 0.0], [0.5, -0.5]).to_list() == [[0.0, 0.5], [1.0, 0.5]]
    assert tf.ragged.range(0, [1, 3], 2, tf.int64).dtype == tf.int64
    with pytest.raises(tf.errors.InvalidArgumentError, match="deltas"):
        tf.ragged.range([1], [2], 0)
    made = tf.ragged.stack_dynamic_partitions(tf.ragged.constant([[1], [2, 3], []]), [1, 0, 1], 3)
    assert made.to_list() == [[[2, 3]], [[1], []], []]
    with pytest.raises(tf.errors.InvalidArgumentError, match="partitions"):
        tf.ragged.stack_dynamic_partitions([1, 2], [0, 2], 2)
    assert tf.ragged.stack([[1, 2, 3], [4]], axis=0).to_list() == [[1, 2, 3], [4]]
    assert tf.one_hot(tf.ragged.constant([[0], [1, 0]]), 2).to_list() == [[[1, 0]], [[0, 1], [1, 0]]]
    table = tf.constant([[1.0], [2.0]])
    assert tf.nn.embedding_lookup(table, tf.ragged.constant([[1], [0, 1]])).to_list() == [[[2]], [[1], [2]]]


def test_gradients_go_through_rows():
    values = tf.constant([1.0, 2.0, 3.0])

    def loss(values):
        x = tf.RaggedTensor.from_row_lengths(values, [2, 1])
        means = tf.reduce_mean(x, axis=1, keepdims=True)
        return tf.reduce_sum((x - means) ** 2)

    with tf.GradientTape() as tape:
        tape.watch(values)
        y = loss(values)
    np.testing.assert_allclose(tape.gradient(y, values).numpy(), [-1.0, 1.0, 0.0], atol=1e-6)


def test_other_classes_take_functions_over():
    class Masked(tf.experimental.ExtensionType):
        values: tf.Tensor
        mask: tf.Tensor

    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api_func, x):
        return Masked(api_func(x.values), x.mask)

    @tf.experimental.dispatch_for_binary_elementwise_apis(Masked, Masked)
    def binary(api_func, x, y):
        return Masked(api_func(x.values, y.values), x.mask & y.mask)

    @tf.experimental.dispatch_for_api(tf.concat, {"values": list[Masked]})
    def concat(values, axis, name=None):
        return Masked(tf.concat([v.values for v in values], axis), tf.concat([v.mask for v in values], axis))

    # A function of several operations, which are within a scope of names.
    @tf.experimental.dispatch_for_api(tf.linspace, {"start": Masked})
    def linspace(start, stop, num, name=None, axis=0):
        return Masked(tf.linspace(start.values, stop, num, name, axis), start.mask)

    x = Masked([1.0, -2.0], [True, False])
    assert tf.linspace(x, 0.0, 3).values.shape == [3, 2]
    assert tf.abs(x).values.numpy().tolist() == [1, 2]
    assert tf.nn.leaky_relu(x, alpha=0.5).values.numpy().tolist() == [1, -1]
    assert tf.add(x, x).mask.numpy().tolist() == [True, False]
    assert tf.concat([x, x], axis=0).values.shape == [4]
    assert tf.function(lambda x: tf.sin(x))(x).values.shape == [2]
    with pytest.raises(TypeError):
        tf.add(x, 1.0)
    for target in (unary, binary, concat, linspace):
        tf.experimental.unregister_dispatch_for(target)
    with pytest.raises(TypeError):
        tf.abs(x)
    with pytest.raises(ValueError, match="not registered"):
        tf.experimental.unregister_dispatch_for(unary)
    with pytest.raises(ValueError, match="'signatures'"):
        tf.experimental.dispatch_for_api(tf.abs, {"y": Masked})(unary)


def test_what_takes_over_a_function_may_leave_out_its_name():
    class Masked(tf.experimental.ExtensionType):
        values: tf.Tensor

    @tf.experimental.dispatch_for_api(tf.abs)
    def magnitude(x: Masked):
        return Masked(tf.abs(x.values))

    @tf.experimental.dispatch_for_api(tf.linspace, {"start": Masked})
    def linspace(start, stop, num, axis=0):
        return Masked(tf.linspace(start.values, stop, num, axis=axis))

    x = Masked([1.0, -2.0])
    for made in (tf.abs(x), tf.abs(x, name="mine"), tf.abs(x=x, name=None)):
        assert made.values.numpy().tolist() == [1, 2]
    assert tf.linspace(x, 0.0, 3, "mine", 1).values.shape == [2, 3]
    named = tf.function(lambda x: tf.abs(x, name="mine")).get_concrete_function(x)
    assert any(op.name.startswith("mine/") for op in named.graph.get_operations())

    for function in (lambda y: y, lambda x, axis: x, lambda x, name, axis: x):
        with pytest.raises(ValueError, match="must be those of abs, which are x, name, got"):
            tf.experimental.dispatch_for_api(tf.abs, {"x": Masked})(function)
    tf.experimental.dispatch_for_api(tf.abs, {"x": Masked})(lambda *args, **kwargs: x)
    for target in (magnitude, linspace):
        tf.experimental.unregister_dispatch_for(target)


def test_sparse_tensors_keep_their_zeros():
    x = tf.sparse.from_dense([[0.0, -2.0], [3.0, 0.0]])
    assert tf.sparse.to_dense(tf.abs(x)).numpy().tolist() == [[0, 2], [3, 0]]
    assert tf.cast(x, tf.int32).dtype == tf.int32
    assert tf.sparse.to_dense(tf.nn.relu(x)).numpy().tolist() == [[0, 0], [3, 0]]
    assert tf.shape(x).numpy().tolist() == [2, 2]
    assert (int(tf.rank(x)), int(tf.size(x))) == (2, 4)
    assert tf.expand_dims(x, 0).shape == [1, 2, 2]
    with pytest.raises(TypeError):
        tf.cos(x)


def test_ragged_tensors_in_loops_and_gradients():
    x = tf.ragged.constant([[1, 2, 3], [4], []])

    @tf.function
    def doubled(x):
        for _ in tf.range(2):
            x = tf.concat([x, x], 1)
        return x

    assert doubled(x).to_list() == [[1, 2, 3] * 4, [4] * 4, []]

    @tf.function
    def longest(x):
        most = 0
        for i, row in enumerate(x):
            if tf.size(row) > most:
                most = tf.size(row) + 0 * i
        return most

    assert int(longest(x)) == 3
    assert (
        int(
            tf.function(
                longest.python_function, input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)]
            )(x)
        )
        == 3
    )
    y = tf.ragged.constant([[1.0, 2.0], [3.0]])
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = y * y
    gradient = tape.gradient(z, {"y": y})["y"]
    assert gradient.to_list() == [[2.0, 4.0], [6.0]]
    s = tf.sparse.from_dense([[0.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(s)
        z = tf.sparse.reduce_sum(s) ** 2
    assert tape.gradient(z, s).values.numpy().tolist() == [6.0]


def test_map_fn_over_rows():
    x = tf.ragged.constant([[1, 2, 3], [4], []])
    sums = tf.map_fn(tf.reduce_sum, x, fn_output_signature=tf.int32)
    assert sums.numpy().tolist() == [6, 4, 0]
    for run in (lambda f: f(x), lambda f: in_graph(f, x)):
        assert run(lambda x: tf.map_fn(lambda row: row * 2, x)).to_list() == [[2, 4, 6], [8], []]
    rows = tf.RaggedTensorSpec([None], tf.int32)
    made = tf.map_fn(tf.range, tf.constant([2, 0, 3]), fn_output_signature=rows)
    assert made.to_list() == [[0, 1], [], [0, 1, 2]]
    nested = tf.ragged.constant([[[1], [2, 3]], [[]]])
    inner = tf.RaggedTensorSpec([None, None], tf.int32)
    assert tf.map_fn(lambda v: v + 1, nested, fn_output_signature=inner).to_list() == [[[2], [3, 4]], [[]]]
    assert tf.map_fn(lambda v: v, tf.ragged.constant([], tf.int32, ragged_rank=1)).to_list() == []
    sparse = tf.sparse.from_dense([[0, 1], [2, 3]])
    assert tf.map_fn(tf.sparse.reduce_sum, sparse, fn_output_signature=tf.int32).numpy().tolist() == [1, 5]
    with pytest.raises(TypeError, match="scalar"):
        tf.map_fn(tf.reduce_sum, x)


def test_products_and_joined_strings_of_rows():
    a = tf.RaggedTensor.from_row_lengths([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1, 2])
    b = tf.ones([2, 2, 3])
    assert tf.matmul(a, b).to_list() == [[[3.0] * 3], [[7.0] * 3, [11.0] * 3]]
    assert tf.matmul(b[:, :1, :2], a, transpose_b=True).to_list() == [[[3.0]], [[7.0, 11.0]]]
    words = tf.ragged.constant([["a", "b"], [], ["c"]])
    assert tf.strings.reduce_join(words, axis=1, separator="-").numpy().tolist() == [b"a-b", b"", b"c"]
    assert tf.strings.reduce_join(words, axis=1, keepdims=True).numpy().tolist() == [[b"ab"], [b""], [b"c"]]
