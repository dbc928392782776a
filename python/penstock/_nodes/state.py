"""Operators of variables, tables, queues and lists of tensors.

A variable, a table or a queue stands for its handle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import penstock as tf
from penstock import raw_ops
from penstock._nodes._parts import V1, ints, static
from penstock._ops import optimizer_steps as steps

__all__ = ["NODES"]

_Step = Callable[..., tuple[Any, ...]]


def _variable(dtype: Any, shape: Any, *names: Any) -> Any:
    if not shape.is_fully_defined():
        raise ValueError(f"argument 'shape' must be known, got {shape}")
    empty = tf.fill(shape, "") if dtype == tf.string else tf.zeros(shape, dtype)
    return tf.Variable(empty, name=names[1] or None)


def _assigned(method: str) -> Callable[..., Any]:
    def assign(resource: Any, value: Any, *options: Any) -> None:
        getattr(resource, method)(value)

    return assign


def _scattered(method: str) -> Callable[..., Any]:
    def scatter(resource: Any, indices: Any, updates: Any) -> None:
        # One value may stand for all rows.
        shape = tf.concat([tf.shape(indices), tf.shape(resource)[1:]], 0)
        getattr(resource, method)(tf.IndexedSlices(tf.broadcast_to(updates, shape), indices))

    return scatter


def _scattered_nd(method: str) -> Callable[..., Any]:
    def scatter(ref: Any, indices: Any, updates: Any, locking: bool, policy: str) -> None:
        getattr(ref, method)(indices, updates)

    return scatter


def _strided(ref: Any, begin: Any, end: Any, strides: Any, value: Any, *masks: int) -> None:
    from penstock._nodes.arrays import NODES as ARRAYS  # which is beside this

    ref.assign(ARRAYS["TensorStridedSliceUpdate"](ref.read_value(), begin, end, strides, value, *masks))


def _count_up(resource: Any, limit: int, T: Any) -> Any:
    before = resource.read_value()
    tf.debugging.assert_less(before, tf.cast(limit, before.dtype), message=f"reached the limit of {limit}")
    resource.assign_add(tf.ones_like(before))
    return before


# The name of a step, with how many variables it changes, and where `use_locking` stands from the end.
_STEPS: Final[dict[str, tuple[_Step, int, int]]] = {
    "AdaMax": (steps.adamax, 3, 1),
    "Adadelta": (steps.adadelta, 3, 1),
    "Adagrad": (steps.adagrad, 2, 2),
    "AdagradDA": (steps.adagrad_da, 3, 1),
    "AdagradV2": (steps.adagrad_v2, 2, 2),
    "Adam": (steps.adam, 3, 2),
    "AdamWithAmsgrad": (steps.adam_with_amsgrad, 4, 1),
    "AddSign": (steps.add_sign, 2, 1),
    "CenteredRMSProp": (steps.centered_rms_prop, 4, 1),
    "Ftrl": (steps.ftrl, 3, 2),
    "FtrlV2": (steps.ftrl_v2, 3, 2),
    "GradientDescent": (steps.gradient_descent, 1, 1),
    "KerasMomentum": (steps.keras_momentum, 2, 2),
    "Momentum": (steps.momentum, 2, 2),
    "PowerSign": (steps.power_sign, 2, 1),
    "ProximalAdagrad": (steps.proximal_adagrad, 2, 1),
    "ProximalGradientDescent": (steps.proximal_gradient_descent, 1, 1),
    "RMSProp": (steps.rms_prop, 3, 1),
}
# Those that there are for some rows, and where the indices stand among the inputs, behind the gradient.
_SPARSE: Final[dict[str, int]] = {
    "Adadelta": 7,
    "Adagrad": 4,
    "AdagradDA": 4,
    "AdagradV2": 5,
    "CenteredRMSProp": 9,
    "Ftrl": 4,
    "FtrlV2": 4,
    "KerasMomentum": 4,
    "Momentum": 4,
    "ProximalAdagrad": 6,
    "ProximalGradientDescent": 5,
    "RMSProp": 8,
}


def _applied(step: _Step, count: int, locking: int) -> Callable[..., None]:
    def apply(*given: Any) -> None:
        variables = given[:count]
        rest = [*given[count : len(given) - locking], *given[len(given) - locking + 1 :]]
        for variable, value in zip(variables, step(*(v.read_value() for v in variables), *rest), strict=True):
            variable.assign(value)

    return apply


def _applied_rows(step: _Step, count: int, locking: int, place: int) -> Callable[..., None]:
    """A step on some rows, one after the other: where a row comes twice, it is stepped twice."""

    def apply(*given: Any) -> None:
        variables, indices = given[:count], given[place]
        rest = [v for i, v in enumerate(given) if i >= count and i not in (place, len(given) - locking)]
        gradient = place - 1 - count

        def one(i: Any) -> list[Any]:
            row = indices[i]
            operands = [tf.gather(v, row) for v in variables]
            options = [o[i] if at == gradient else o for at, o in enumerate(rest)]
            for variable, value in zip(variables, step(*operands, *options), strict=True):
                variable.scatter_nd_update(tf.reshape(row, [1, 1]), value[None])
            return [i + 1]

        tf.while_loop(lambda i: i < tf.size(indices), one, [tf.constant(0)])

    return apply


# Lists of tensors.


def _shape(shape: Any) -> Any:
    """A shape of elements as the engine has it: none known, or -1 for a size that is not."""
    found = ints(shape, "element_shape")
    return tf.TensorShape(None if isinstance(found, int) else [None if n < 0 else n for n in found])


def _dims(shape: Any) -> Any:
    found = tf.reshape(shape, [-1]) if shape.shape.rank else shape
    return tf.cast(found, tf.int32)


def _reserved(shape: Any, count: Any, dtype: Any) -> Any:
    return raw_ops.list_new(count, dtype=dtype, shape=_shape(shape))


def _scattered_list(tensor: Any, indices: Any, shape: Any, count: Any = None) -> Any:
    most = (
        tf.reduce_max(indices) + 1
        if count is None
        else tf.where(count < 0, tf.reduce_max(indices) + 1, count)
    )
    return raw_ops.list_set(raw_ops.list_new(most, dtype=tensor.dtype, shape=_shape(shape)), indices, tensor)


def _concat_list(handle: Any, dtype: Any, shape: Any) -> tuple[Any, Any]:
    dims = (
        tf.constant(-1)
        if shape is None or shape.rank is None
        else [-1 if n is None else n for n in [None, *shape]]
    )
    lengths = raw_ops.list_lengths(handle, dims)
    return raw_ops.list_concat(handle, lengths, dims, dtype=dtype), lengths


def _concat_list_v2(handle: Any, shape: Any, leading: Any, dtype: Any) -> tuple[Any, Any]:
    dims = _dims(shape)
    lengths = raw_ops.list_lengths(handle, dims)
    return raw_ops.list_concat(handle, lengths, dims, dtype=dtype), lengths


def _table(cls: str) -> Callable[..., Any]:
    def make(key_dtype: Any, value_dtype: Any, *options: Any) -> Any:
        return getattr(tf.lookup.experimental, cls)(key_dtype, value_dtype, _nothing(value_dtype, options))

    return make


def _nothing(dtype: Any, options: Sequence[Any]) -> Any:
    """The value of a key that is not there, of the shape that the options of a table hold, if any."""
    empty = "" if dtype == tf.string else 0
    shape = next((option for option in options if isinstance(option, tf.TensorShape)), None)
    with tf.init_scope():
        return tf.fill(shape, tf.constant(empty, dtype)) if shape and shape.rank else empty


def _dense_table(empty_key: Any, deleted_key: Any, value_dtype: Any, *options: Any) -> Any:
    keys = [static(empty_key, "empty_key"), static(deleted_key, "deleted_key")]
    default = _nothing(value_dtype, options)
    return tf.lookup.experimental.DenseHashTable(empty_key.dtype, value_dtype, default, *keys)


def _found(table: Any, keys: Any, default: Any) -> Any:
    return table.lookup(keys, default) if hasattr(table, "insert") else table.lookup(keys)


def _imported(table: Any, keys: Any, values: Any) -> None:
    table.remove(table.export()[0])
    table.insert(keys, values)


def _queue(cls: str) -> Callable[..., Any]:
    def make(types: Any, shapes: Any, capacity: int, *rest: Any) -> Any:
        limit = capacity if capacity >= 0 else 2**31 - 1
        given = [shape if shape.rank is not None else None for shape in shapes] or None
        if cls == "RandomShuffleQueue":
            return tf.queue.RandomShuffleQueue(limit, rest[0], types, given, seed=rest[1] or None)
        return getattr(tf.queue, cls)(limit, types, given)

    return make


def _taken(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


NODES: Final[dict[str, Callable[..., Any]]] = {
    "AssignAddVariableOp": _assigned("assign_add"),
    "AssignSubVariableOp": _assigned("assign_sub"),
    "AssignVariableOp": _assigned("assign"),
    "DestroyResourceOp": lambda resource, ignore: None,
    "DisableCopyOnRead": lambda resource: None,
    "ReadVariableOp": lambda resource, dtype: tf.ensure_shape(resource.read_value(), resource.shape),
    "ResourceCountUpTo": _count_up,
    "ResourceGather": lambda resource, indices, dtype, batch_dims, validate: tf.gather(
        resource, indices, batch_dims=batch_dims
    ),
    "ResourceGatherNd": lambda resource, indices, dtype: tf.gather_nd(resource, indices),
    "ResourceStridedSliceAssign": _strided,
    "VarHandleOp": _variable,
    "VarIsInitializedOp": lambda resource: V1.is_variable_initialized(resource),
    "VariableShape": lambda resource, out_type: tf.shape(resource, out_type),
    **{
        f"ResourceScatter{kind}": _scattered(f"scatter_{kind.lower()}")
        for kind in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update")
    },
    **{
        f"ResourceScatterNd{kind}": _scattered_nd(f"scatter_nd_{kind.lower()}")
        for kind in ("Add", "Max", "Min", "Sub", "Update")
    },
    **{f"ResourceApply{name}": _applied(*step) for name, step in _STEPS.items()},
    **{f"ResourceSparseApply{name}": _applied_rows(*_STEPS[name], place) for name, place in _SPARSE.items()},
    "EmptyTensorList": lambda shape, most, dtype: raw_ops.list_new(0, dtype=dtype, shape=_shape(shape)),
    "TensorListConcat": _concat_list,
    "TensorListConcatV2": _concat_list_v2,
    "TensorListFromTensor": lambda tensor, shape: raw_ops.list_from_tensor(tensor),
    "TensorListGather": lambda handle, indices, shape, dtype: raw_ops.list_get(
        handle, indices, _dims(shape), dtype=dtype
    ),
    "TensorListGetItem": lambda handle, index, shape, dtype: raw_ops.list_get(
        handle, index, _dims(shape), dtype=dtype
    ),
    "TensorListLength": lambda handle: raw_ops.list_length(handle, dtype=tf.int32),
    "TensorListPopBack": lambda handle, shape, dtype: raw_ops.list_pop(handle, _dims(shape), dtype=dtype),
    "TensorListPushBack": raw_ops.list_push,
    "TensorListReserve": _reserved,
    "TensorListResize": raw_ops.list_resize,
    "TensorListScatter": _scattered_list,
    "TensorListScatterIntoExistingList": lambda handle, tensor, indices: raw_ops.list_set(
        handle, indices, tensor
    ),
    "TensorListScatterV2": _scattered_list,
    "TensorListSetItem": lambda handle, index, item, grow: raw_ops.list_set(handle, index, item, grow=grow),
    "TensorListSplit": lambda tensor, shape, lengths: raw_ops.list_split(tensor, lengths),
    "TensorListStack": lambda handle, shape, dtype, count: raw_ops.list_stack(
        handle, _dims(shape), dtype=dtype, num=None if count < 0 else count
    ),
    "AnonymousMutableHashTable": _table("MutableHashTable"),
    "AnonymousMutableHashTableOfTensors": _table("MutableHashTable"),
    "HashTableV2": _table("MutableHashTable"),
    "MutableHashTableV2": _table("MutableHashTable"),
    "MutableDenseHashTableV2": _dense_table,
    "MutableHashTableOfTensorsV2": _table("MutableHashTable"),
    "LookupTableExportV2": lambda table, Tkeys, Tvalues: list(table.export()),
    "LookupTableFindV2": _found,
    "LookupTableImportV2": _imported,
    "LookupTableInsertV2": lambda table, keys, values: table.insert(keys, values),
    "LookupTableRemoveV2": lambda table, keys: table.remove(keys),
    "LookupTableSizeV2": lambda table: table.size(),
    "FIFOQueueV2": _queue("FIFOQueue"),
    "PaddingFIFOQueueV2": _queue("PaddingFIFOQueue"),
    "RandomShuffleQueueV2": _queue("RandomShuffleQueue"),
    "QueueCloseV2": lambda queue, cancel: queue.close(cancel),
    "QueueDequeueManyV2": lambda queue, n, types, timeout: _taken(queue.dequeue_many(n)),
    "QueueDequeueUpToV2": lambda queue, n, types, timeout: _taken(queue.dequeue_up_to(n)),
    "QueueDequeueV2": lambda queue, types, timeout: _taken(queue.dequeue()),
    "QueueEnqueueManyV2": lambda queue, components, timeout: queue.enqueue_many(components),
    "QueueEnqueueV2": lambda queue, components, timeout: queue.enqueue(components),
    "QueueIsClosedV2": lambda queue: queue.is_closed(),
    "QueueSizeV2": lambda queue: queue.size(),
}
