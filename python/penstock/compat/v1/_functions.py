"""Functions that TensorFlow 1 alone has, or has with other results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, nest, raw_ops
from penstock._control import flow as _flow
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import named, scoped
from penstock._values.indexed_slices import IndexedSlices
from penstock._values.sparse import SparseTensor, SparseTensorValue

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike
    from penstock.compat.v1._operation import Operation

__all__ = [
    "TFRecordCompressionType",
    "add_check_numerics_ops",
    "clip_by_average_norm",
    "convert_to_tensor_or_indexed_slices",
    "convert_to_tensor_or_sparse_tensor",
    "count_up_to",
    "disable_tensor_equality",
    "enable_tensor_equality",
    "setdiff1d",
    "tf_record_iterator",
    "while_loop",
]


class ListDiff(NamedTuple):
    """What one list has that another has not.

    Attributes:
        out: the values, in their order.
        idx: where they are.
    """

    out: Any
    idx: Any


def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: DTypeLike = _core.int32, name: str | None = None
) -> ListDiff:
    """Find the values of one list that another has not.

    Args:
        x: a vector.
        y: a vector of the same dtype, the values to leave out.
        index_dtype: the dtype of the places, `int32` or `int64`.
        name: what it is called in a graph.

    Returns:
        The values `out` in their order, and their places `idx` in `x`.

    >>> import penstock as tf
    >>> out, idx = tf.compat.v1.setdiff1d([1, 2, 3, 2], [2])
    >>> out.numpy().tolist(), idx.numpy().tolist()
    ([1, 3], [0, 2])
    """
    values = _core._to_tensor(x)
    others = _core._to_tensor(y, values.dtype)
    return ListDiff(*raw_ops.ListDiff(x=values, y=others, out_idx=index_dtype, name=name))


@scoped
def strings_split(
    input: TensorLike | None = None,
    sep: str | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Split strings at a separator.

    Args:
        input: strings; a scalar counts as a list of one.
        sep: the separator; by default parts are split at white space, and none are empty.
        maxsplit: the greatest number of splits of a string; -1 for any.
        result_type: `"SparseTensor"` or `"RaggedTensor"`.
        source: the older name of `input`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The parts, in a further dimension of a sparse or a ragged tensor.

    Raises:
        ValueError: for another kind of result, or without strings.

    >>> import penstock as tf
    >>> parts = tf.compat.v1.strings.split(["a b", "c"])
    >>> parts.indices.numpy().tolist(), parts.values.numpy().tolist()
    ([[0, 0], [0, 1], [1, 0]], [b'a', b'b', b'c'])
    """
    from penstock import strings  # loaded when text is split

    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError(
            f"argument 'result_type' must be 'SparseTensor' or 'RaggedTensor', got {result_type!r}"
        )
    if (input is None) == (source is None):
        raise ValueError("argument 'input' must be given, by one of its names")
    text: Any = _core._to_tensor(source if input is None else input)
    if text.shape.rank == 0:
        text = raw_ops.expand_dims(text, axis=0)
    parts: Any = strings.split(text, sep, maxsplit)
    return parts if result_type == "RaggedTensor" else parts.to_sparse()


strings_split.__name__ = strings_split.__qualname__ = "split"


@scoped
def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> _core.Tensor:
    """Scale a tensor so that its norm, divided by the number of its elements, is at most a number.

    Args:
        t: the tensor.
        clip_norm: the number.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor like `t`.

    >>> import penstock as tf
    >>> tf.compat.v1.clip_by_average_norm([3.0, 4.0], 1.0).numpy()
    array([1.2, 1.6], dtype=float32)
    """
    x = _core._to_tensor(t)
    most = _core._to_tensor(clip_norm, x.dtype)
    count = raw_ops.cast(raw_ops.size(x), dtype=x.dtype)
    one = _core._to_tensor(1, x.dtype)
    factor = raw_ops.rsqrt(raw_ops.reduce_sum(x * x)) * count
    return x * most * raw_ops.minimum(factor, one / most)


def convert_to_tensor_or_sparse_tensor(
    value: TensorLike | SparseTensor | SparseTensorValue,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> _core.Tensor | SparseTensor:
    """Make a tensor of a value; of a sparse one a sparse tensor.

    Args:
        value: a sparse tensor or the arrays of one, or anything that can become a tensor.
        dtype: the element type.
        name: accepted and ignored.

    Returns:
        The tensor.

    Raises:
        RuntimeError: where a sparse tensor has another dtype.

    >>> import penstock as tf
    >>> value = tf.compat.v1.SparseTensorValue([[0]], [1.0], [2])
    >>> tf.compat.v1.convert_to_tensor_or_sparse_tensor(value).shape
    TensorShape([2])
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        return _of_dtype(value, dtype)  # type: ignore[no-any-return]
    return _core._to_tensor(value, None if dtype is None else _core.DType(dtype))


def convert_to_tensor_or_indexed_slices(
    value: TensorLike | IndexedSlices, dtype: DTypeLike | None = None, name: str | None = None
) -> _core.Tensor | IndexedSlices:
    """Make a tensor of a value; slices stay what they are.

    Args:
        value: slices, or anything that can become a tensor.
        dtype: the element type.
        name: accepted and ignored.

    Returns:
        The tensor or the slices.

    Raises:
        RuntimeError: where slices have another dtype.

    >>> import penstock as tf
    >>> tf.compat.v1.convert_to_tensor_or_indexed_slices([1.0]).shape
    TensorShape([1])
    """
    if isinstance(value, IndexedSlices):
        return _of_dtype(value, dtype)  # type: ignore[no-any-return]
    return _core._to_tensor(value, None if dtype is None else _core.DType(dtype))


def _of_dtype(value: Any, dtype: Any) -> Any:
    if dtype is not None and _core.DType(dtype) != value.dtype:
        raise RuntimeError(f"argument 'value' must be of {_core.DType(dtype).name}, got {value.dtype.name}")
    return value


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """Add 1 to a variable, an integer scalar below `limit`.

    Args:
        ref: the variable.
        limit: where it ends.
        name: what the result is called in a graph.

    Returns:
        The value before, a scalar.

    Raises:
        OutOfRangeError: where it has reached the limit.

    >>> import penstock as tf
    >>> v = tf.Variable(3)
    >>> int(tf.compat.v1.count_up_to(v, 5)), int(v)
    (3, 4)
    """
    return named(ref.count_up_to(limit), name)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat a function while a condition holds.

    Args:
        cond: tells of the values of the loop whether to go on.
        body: gives of them those after a step.
        loop_vars: the values before the first step, in a list or tuple.
        shape_invariants: for each the shape that all steps have in common.
        parallel_iterations: accepted and ignored.
        back_prop: accepted and ignored.
        swap_memory: accepted and ignored.
        name: a scope for the names of its operations in a graph.
        maximum_iterations: the greatest number of steps.
        return_same_structure: whether a single value stays in its list in a graph.

    Returns:
        The values after the last step; in a graph a single one without the list.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     i = tf.compat.v1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    ...     int(session.run(i))
    3
    """
    found = _flow.while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants=shape_invariants,
        maximum_iterations=maximum_iterations,
        name=name,
    )
    if _core._is_tracing() and not return_same_structure:
        flat = nest.flatten(found)
        return flat[0] if len(flat) == 1 else found
    return found


class TFRecordCompressionType:
    """How files of records are compressed.

    >>> import penstock as tf
    >>> tf.compat.v1.python_io.TFRecordCompressionType.GZIP
    2
    """

    NONE = 0
    ZLIB = 1
    GZIP = 2


def tf_record_iterator(path: str | os.PathLike[str], options: Any = None) -> Iterator[bytes]:
    """Read the records of a file.

    Args:
        path: the path of the file.
        options: a `TFRecordOptions`, a `TFRecordCompressionType` or the name of a compression.

    Yields:
        Each record.

    Raises:
        NotFoundError: where there is no such file.
        DataLossError: where it is damaged.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "records")
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> list(tf.compat.v1.python_io.tf_record_iterator(path))
    [b'one']
    """
    from penstock import data, io  # loaded when files are read

    kind = io.TFRecordOptions(options).compression_type
    with _core._Outside():
        records = iter(data.TFRecordDataset(os.fspath(path), kind))
    while True:
        with _core._Outside():
            try:
                record = next(records)
            except StopIteration:
                return
            content: bytes = record.numpy()
        yield content


def add_check_numerics_ops() -> Operation:
    """Make an operation that checks every tensor of floats that the default graph has so far.

    Returns:
        The operation. Where an element is infinite or NaN, it raises an `InvalidArgumentError` that names the
        tensor.

    Raises:
        RuntimeError: outside of a graph.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
    ...     x = tf.compat.v1.placeholder(tf.float32, [])
    ...     y, check = tf.math.log(x), tf.compat.v1.add_check_numerics_ops()
    ...     float(sess.run([y, check], {x: 1.0})[0])
    0.0
    """
    graph = v1_graph_state.current()
    if graph is None:
        raise RuntimeError("add_check_numerics_ops() checks graphs: use tf.debugging.enable_check_numerics()")
    checks = [
        raw_ops.check_numerics(tensor, message=f"{operation.name}:{place}")
        for operation in graph.get_operations()
        for place, tensor in enumerate(operation.outputs)
        if tensor.dtype.is_floating
    ]
    made: Operation = graph.group(*checks)
    return made


def enable_tensor_equality() -> None:
    """Have `==` and `!=` compare the elements of tensors, as they do unless told otherwise.

    >>> import penstock as tf
    >>> tf.compat.v1.enable_tensor_equality()
    """
    _core._set_tensor_equality(True)


def disable_tensor_equality() -> None:
    """Have `==` and `!=` tell whether tensors are the same one, as in graphs of TensorFlow 1.

    Variables and symbolic tensors may be keys of dictionaries then.

    >>> import penstock as tf
    >>> tf.compat.v1.disable_tensor_equality()
    >>> tf.constant(1) == tf.constant(1)
    False
    >>> tf.compat.v1.enable_tensor_equality()
    """
    _core._set_tensor_equality(False)
