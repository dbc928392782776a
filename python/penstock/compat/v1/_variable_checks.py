"""Which variables of a graph have values, and variables in parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import name_scope, named, scoped
from penstock._types.shape import TensorShape
from penstock.compat.v1._variables import get_variable, global_variables, local_variables, variable_scope

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike
    from penstock._values.variable import Variable

__all__ = [
    "assert_variables_initialized",
    "batch_scatter_update",
    "create_partitioned_variables",
    "fixed_size_partitioner",
    "is_variable_initialized",
    "min_max_variable_partitioner",
    "report_uninitialized_variables",
    "variable_axis_size_partitioner",
]


def is_variable_initialized(variable: Variable) -> _core.Tensor:
    """Tell whether a variable has a value.

    Args:
        variable: the variable.

    Returns:
        A `bool` scalar; in a graph it says of each run of a session whether the variable had a value there
        when the run began.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     v = tf.compat.v1.get_variable("v", [2])
    ...     there = tf.compat.v1.is_variable_initialized(v)
    ...     before = session.run(there)
    ...     session.run(v.initializer)
    ...     bool(before), bool(session.run(there))
    (False, True)
    """
    return variable.is_initialized()


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> _core.Tensor:
    """List the names of variables that have no value.

    Args:
        var_list: the variables; by default the global and the local ones of the graph.
        name: a scope for the names of its operations in a graph.

    Returns:
        A vector of strings; in a graph it says what was so when a run of a session began.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     v = tf.compat.v1.get_variable("v", [2])
    ...     session.run(tf.compat.v1.report_uninitialized_variables()).tolist()
    [b'v']
    """
    variables = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    with name_scope(name):
        names = _core._to_tensor([v.name.partition(":")[0] for v in variables], _core.string)
        if not variables:
            return named(names, "Const")
        absent = raw_ops.logical_not(raw_ops.stack([is_variable_initialized(v) for v in variables]))
        places = raw_ops.where_indices(absent)
        return raw_ops.gather_nd(names, places)


def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Any:
    """Make an operation that fails where a variable has no value.

    Args:
        var_list: the variables; by default the global and the local ones of the graph.

    Returns:
        The operation, which raises a FailedPreconditionError that names one of them; None outside of a graph,
        where they have values, and where there are no variables.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     v = tf.compat.v1.get_variable("v", [2])
    ...     check = tf.compat.v1.assert_variables_initialized()
    ...     session.run(v.initializer)
    ...     session.run(check) is None
    True
    """
    variables = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    start = v1_graph_state.mark()
    if not variables or start is None:
        return None
    for variable in variables:
        # That reads it, and is not left out.
        variable.assign(variable.read_value())
    return v1_graph_state.operation(start)


@scoped
def batch_scatter_update(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replace slices of each member of a batch, along the last dimension of `indices`.

    Args:
        ref: a variable of shape `[*batch, n, ...]`.
        indices: `[*batch, k]`, which slices.
        updates: `[*batch, k, ...]`, what replaces them.
        use_locking: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        As `Variable.scatter_nd_update`.

    >>> import penstock as tf
    >>> v = tf.Variable([[1, 2, 3], [4, 5, 6]])
    >>> _ = tf.compat.v1.batch_scatter_update(v, [[0], [2]], [[7], [8]])
    >>> v.numpy().tolist()
    [[7, 2, 3], [4, 5, 8]]
    """
    places = _core._to_tensor(indices)
    extents = raw_ops.shape(places, dtype=places.dtype)
    rank = len(places.shape)
    columns = []
    for axis in range(rank - 1):
        numbers = raw_ops.range(
            _core._to_tensor(0, places.dtype), extents[axis], _core._to_tensor(1, places.dtype)
        )
        columns.append(
            raw_ops.broadcast_to(
                raw_ops.reshape(numbers, [-1 if k == axis else 1 for k in range(rank)]), extents
            )
        )
    return ref.scatter_nd_update(raw_ops.stack([*columns, places], axis=rank), updates)


# --- variables in parts ---

_Partitioner = Callable[..., list[int]]


def _parts_of(shape: Any, axis: int, count: int) -> list[int]:
    return [count if k == axis else 1 for k in range(len(shape))]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> _Partitioner:
    """Make a function that cuts variables into a number of parts along a dimension.

    Args:
        num_shards: the number of parts, at most the extent of the dimension.
        axis: the dimension.

    Returns:
        A function of `shape` and `dtype`, which gives the number of parts in each dimension.

    >>> import penstock as tf
    >>> tf.compat.v1.fixed_size_partitioner(3)(shape=tf.TensorShape([10, 4]), dtype=tf.float32)
    [3, 1]
    """

    def partition(shape: Any, **settings: Any) -> list[int]:
        extents = TensorShape(shape).as_list()
        return _parts_of(extents, axis, min(num_shards, extents[axis] or 1))

    return partition


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> _Partitioner:
    """Make a function that cuts variables into parts of at most a number of bytes.

    Args:
        max_shard_bytes: the number of bytes; a part has at least one slice.
        axis: the dimension that is cut.
        bytes_per_string_element: what a string counts.
        max_shards: the greatest number of parts.

    Returns:
        A function of `shape` and `dtype`, which gives the number of parts in each dimension.

    Raises:
        ValueError: where a number is not positive.

    >>> import penstock as tf
    >>> tf.compat.v1.variable_axis_size_partitioner(64)(shape=tf.TensorShape([10, 4]), dtype=tf.float32)
    [3, 1]
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1 or (max_shards is not None and max_shards < 1):
        raise ValueError("numbers of bytes and of parts must be positive")

    def partition(shape: Any, dtype: DTypeLike, **settings: Any) -> list[int]:
        extents = TensorShape(shape).as_list()
        element = _bytes(dtype, bytes_per_string_element)
        length: int = extents[axis] or 1
        slice_bytes = math.prod(n or 1 for n in extents) // length * element
        slices = max(1, max_shard_bytes // slice_bytes) if slice_bytes else length
        count = math.ceil(length / slices)
        return _parts_of(extents, axis, count if max_shards is None else min(count, max_shards))

    return partition


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> _Partitioner:
    """Make a function that cuts variables into as many parts as have at least a number of bytes.

    Args:
        max_partitions: the greatest number of parts.
        axis: the dimension that is cut.
        min_slice_size: the number of bytes.
        bytes_per_string_element: what a string counts.

    Returns:
        A function of `shape` and `dtype`, which gives the number of parts in each dimension.

    >>> import penstock as tf
    >>> cut = tf.compat.v1.min_max_variable_partitioner(4, 0, 16)
    >>> cut(shape=tf.TensorShape([10, 4]), dtype=tf.float32)
    [4, 1]
    """

    def partition(shape: Any, dtype: DTypeLike, **settings: Any) -> list[int]:
        extents = TensorShape(shape).as_list()
        whole = math.prod(n or 1 for n in extents) * _bytes(dtype, bytes_per_string_element)
        count = max(1, min(math.ceil(whole / min_slice_size), max_partitions, extents[axis] or 1))
        return _parts_of(extents, axis, count)

    return partition


def _bytes(dtype: DTypeLike, of_string: int) -> int:
    kind = _core.DType(dtype)
    return of_string if kind == _core.string else int(kind.size)


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: Any,
    dtype: DTypeLike = _core.float32,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """Make variables that are the parts of a tensor along a dimension.

    Args:
        shape: the extents of the whole.
        slicing: the number of parts in each dimension; more than one in one of them at most.
        initializer: makes the first value of each part; or the value of the whole.
        dtype: the element type.
        trainable: whether tapes watch them.
        collections: the collections of the graph that they are added to.
        name: the scope of their names, by default `PartitionedVariable`.
        reuse: whether the variables must be there already.

    Returns:
        The variables, in the order of the parts.

    Raises:
        ValueError: for lists of different lengths, parts in several dimensions, or more parts than elements.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default():
    ...     parts = v1.create_partitioned_variables([5, 2], [2, 1], v1.zeros_initializer())
    ...     [(part.name, part.shape.as_list()) for part in parts]
    [('PartitionedVariable/part_0:0', [3, 2]), ('PartitionedVariable/part_1:0', [2, 2])]
    """
    if len(shape) != len(slicing):
        raise ValueError(
            f"arguments 'shape' and 'slicing' must be of one length, got {len(shape)} and {len(slicing)}"
        )
    if any(not 1 <= count <= size for count, size in zip(slicing, shape, strict=True)):
        raise ValueError(f"argument 'slicing' must be positive, and at most 'shape', got {list(slicing)}")
    cut = [axis for axis, count in enumerate(slicing) if count > 1]
    if len(cut) > 1:
        raise ValueError(f"argument 'slicing' must cut one dimension, got {list(slicing)}")
    axis = cut[0] if cut else 0
    count = slicing[axis] if shape else 1
    least, longer = divmod(shape[axis], count) if shape else (0, 0)
    made, start = [], 0
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        for number in range(count):
            size = least + (number < longer)
            extents = [size if k == axis else n for k, n in enumerate(shape)]
            first = initializer
            if not callable(initializer):
                begin = [start if k == axis else 0 for k in range(len(shape))]
                first = raw_ops.slice(_core._to_tensor(initializer, dtype), begin, extents)
            made.append(
                get_variable(
                    f"part_{number}",
                    extents if callable(first) else None,
                    dtype,
                    first,
                    trainable=trainable,
                    collections=collections,
                )
            )
            start += size
    return made
