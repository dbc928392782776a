"""Strategies of several replicas in one process."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import _core, config, nest
from penstock._autodiff.custom_gradient import custom_gradient
from penstock._control.flow import converted
from penstock._function.function import Function, function
from penstock._ops.arrangement import concat, split
from penstock._ops.casts import cast
from penstock._ops.reductions import reduce_sum
from penstock._ops.shapes import shape
from penstock._runtime.arguments import integer
from penstock._runtime.scope import device
from penstock._types.argument_names import expect
from penstock._values.variable import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    variable_creator_scope,
)
from penstock.data import Dataset
from penstock.distribute import _context
from penstock.distribute._cross_device import CrossDeviceOps
from penstock.distribute._input import InputContext, InputReplicationMode, rows_of
from penstock.distribute._replica_threads import here, run_all
from penstock.distribute._strategy import Strategy, StrategyExtended, check_device
from penstock.distribute._values import PerReplica, in_order, local, of_replica, reduced, regrouped
from penstock.distribute._variables import SyncOnReadVariable, combine_assigned

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, Nested, TensorLike
    from penstock.distribute._input import InputOptions, RunOptions
    from penstock.distribute._strategy import ReduceOp

__all__ = ["CentralStorageStrategy", "MirroredStrategy", "ReplicasHere"]

_R = TypeVar("_R")


class _Extended(StrategyExtended):
    """What a strategy of several replicas in one process offers to those who write training loops."""

    _strategy: ReplicasHere

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return self._strategy._parameter_devices

    def update(
        self,
        var: Variable,
        fn: Callable[..., _R],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        copies = getattr(var, "values", (var,))
        results = []
        for number, copy in enumerate(copies):
            own_args, own_kwargs = of_replica(number, (args, kwargs or {}))
            results.append(fn(copy, *own_args, **own_kwargs))
        return results[0] if len(results) == 1 else regrouped(results)


class ReplicasHere(Strategy):
    """The base of strategies whose replicas share a process: threads that take turns.

    Args:
        devices: where the replicas run.
        parameter_devices: where variables are.
        cross_device_ops: what combines values.
    """

    def __init__(
        self, devices: Sequence[str], parameter_devices: Sequence[str], cross_device_ops: object = None
    ) -> None:
        expect(cross_device_ops, (CrossDeviceOps, type(None)), "cross_device_ops", "a CrossDeviceOps")
        self._cross = cross_device_ops if isinstance(cross_device_ops, CrossDeviceOps) else CrossDeviceOps()
        for name in (*devices, *parameter_devices):
            check_device(name)
        self._compute_devices, self._parameter_devices = tuple(devices), tuple(parameter_devices)
        # Functions that run replicas within a `tf.function`, by it and its object.
        self._functions: dict[tuple[int, int], tuple[Any, Callable[..., Any]]] = {}
        super().__init__(_Extended(self))

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return len(self._compute_devices)

    def _devices(self) -> tuple[str, ...]:
        return self._compute_devices

    def _devices_of(self, replica: int) -> tuple[str, ...]:
        return (self._compute_devices[replica],)

    @property
    def _is_alone(self) -> bool:
        return len(self._compute_devices) == 1

    # --- running ---

    def run(
        self,
        fn: Callable[..., _R],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> Any:
        """Call a function in every replica, each with its part of the arguments.

        Replicas take turns: one runs until it ends, or needs the values of the others. A `tf.function` has
        one graph for all of them.

        Args:
            fn: a function, often a step of a training loop.
            args: its arguments; of what has a value for each replica it gets its own.
            kwargs: its keyword arguments.
            options: accepted and ignored.

        Returns:
            What it returns: with several replicas, a nest with the values of all.

        Raises:
            TypeError: for arguments that are no tuple or list.
            RuntimeError: where the replicas do not combine values at the same places.

        >>> import penstock as tf
        >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
        >>> float(strategy.run(tf.square, args=(3.0,)))
        9.0
        """
        if self._is_alone:
            return super().run(fn, args, kwargs, options)
        if not isinstance(args, tuple | list):
            raise TypeError(f"argument 'args' must be a tuple, got {args!r}")
        if isinstance(fn, Function | _core._BoundFunction):
            return self._traced(fn)(tuple(args), kwargs or {})
        return self._run_each(converted(fn), tuple(args), kwargs or {})

    def _traced(self, fn: Any) -> Callable[..., Any]:
        """A function whose graph has the work of all replicas, where each would call a `tf.function`."""
        inner, instance = (fn.__func__, fn.__self__) if isinstance(fn, _core._BoundFunction) else (fn, None)
        key = id(inner), id(instance)
        if key not in self._functions:
            python_function = inner.python_function
            if instance is not None:
                python_function = types.MethodType(python_function, instance)
            if inner._autograph:
                from penstock.autograph._calls import callee  # start-up does without it

                python_function = callee(python_function)
            run = functools.partial(self._run_each, python_function)
            # It keeps what its key names alive.
            self._functions[key] = (
                fn,
                function(run, autograph=False, reduce_retracing=inner._options["reduce_retracing"]),
            )
        return self._functions[key][1]

    def _run_each(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def work(number: int) -> Any:
            own_args, own_kwargs = of_replica(number, (args, kwargs))
            with _context.entered(self, number), device(self._compute_devices[number]):
                return fn(*own_args, **own_kwargs)

        # Variables that all replicas make are those of the first one.
        made: list[Variable] = []
        counts = [0] * self.num_replicas_in_sync

        def make(create: Callable[..., Any], **given: Any) -> Any:
            replica = here()
            if replica is None:
                return self._noted(self._variable(create, given))
            counts[replica.number] += 1
            if counts[replica.number] > len(made):
                made.append(self._noted(self._variable(create, given)))
            return made[counts[replica.number] - 1]

        works = [functools.partial(work, number) for number in range(self.num_replicas_in_sync)]
        with variable_creator_scope(make):
            return regrouped(run_all(works, self._between))

    def _noted(self, variable: Any) -> Any:
        self._extended._made[id(variable)] = variable
        return variable

    def _between(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function gives that is called between the replicas."""
        with _context.entered(self, None), device(self._parameter_devices[0]):
            return function(self, *args, **kwargs)

    def _merged(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        replica = here()
        if self._is_alone or replica is None:
            return super()._merged(function, args, kwargs)
        return replica.merge(function, args, kwargs)

    # --- combining ---

    @property
    def _step(self) -> Callable[[list[Any], Callable[[list[Any]], Any]], Any] | None:
        if self._is_alone:
            return None

        def step(gradients: list[Any], take: Callable[[list[Any]], Any]) -> Any:
            def once(strategy: ReplicasHere, of_all: list[Any]) -> Any:
                return take([strategy._over_replicas("SUM", gradient) for gradient in of_all])

            return self._merged(once, (gradients,), {})

        return step

    def _over_replicas(self, name: str, value: Any) -> Any:
        """A value of all replicas, combined."""
        parts: Sequence[Any]
        if isinstance(value, PerReplica | SyncOnReadVariable):
            parts = value.values
        elif isinstance(value, _core._Variable):
            parts = [value] * self.num_replicas_in_sync
        elif name == "MEAN" or (isinstance(value, int | float) and value == 0):
            return _context._tensor(value)
        else:
            raise ValueError(
                f"argument 'value': a sum over replicas is of values that each has of its own, got {value!r}"
            )
        with device(self._parameter_devices[0]):
            return self._cross._combined(name, parts)

    def _combined(self, name: str, value: Any, options: Any = None) -> Any:
        if self._is_alone:
            return super()._combined(name, value, options)
        if _context.within() is None:
            return nest.map_structure(lambda x: self._over_replicas(name, x), value)
        leaves = nest.flatten(value)

        def between(strategy: ReplicasHere, of_all: list[Any]) -> list[Any]:
            return [strategy._over_replicas(name, x) for x in of_all]

        def differentiable(*xs: Any) -> tuple[Any, Callable[..., Any]]:
            def gradient(*dys: Any) -> Any:
                _check_in_replica()
                return self._combined(name, list(dys))

            return self._merged(between, (list(xs),), {}), gradient

        tensors = in_order(leaves) if leaves else []
        if all(isinstance(x, _core.Tensor) for x in tensors):
            found = custom_gradient(differentiable)(*tensors) if tensors else []
        else:
            found = self._merged(between, (tensors,), {})
        return nest.pack_sequence_as(value, found)

    def _gathered(self, value: Any, axis: IntLike) -> Any:
        if self._is_alone:
            return super()._gathered(value, axis)
        along = integer(axis, "axis")

        def joined(strategy: ReplicasHere, x: Any) -> Any:
            if not isinstance(x, PerReplica):
                raise ValueError(
                    f"argument 'value': values are joined that replicas have each of its own, got {x!r}"
                )
            parts = in_order(x.values)
            if any(part.shape.rank == 0 for part in parts):
                raise ValueError("argument 'value' must have a dimension to be joined along; it has scalars")
            return concat(parts, along)

        if _context.within() is None:
            return nest.map_structure(lambda x: joined(self, x), value)

        def differentiable(x: Any) -> tuple[Any, Callable[..., Any]]:
            def gradient(dy: Any) -> Any:
                replica = _check_in_replica()
                total = self._combined("SUM", dy)
                sizes = self._gathered(shape(x)[along : along + 1] if along >= 0 else shape(x)[along:][:1], 0)
                return split(total, sizes, along, num=self.num_replicas_in_sync)[replica]

            return self._merged(joined, (x,), {}), gradient

        return nest.map_structure(lambda x: custom_gradient(differentiable)(_context._tensor(x)), value)

    def reduce(self, reduce_op: ReduceOp | str, value: Nested[TensorLike], axis: IntLike | None) -> Any:
        """Combine the values of all replicas, and their elements along a dimension.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or their names.
            value: what `run` returned.
            axis: the dimension; None to combine replicas alone. The mean is then that of all elements, of
                which replicas may have different numbers.

        Returns:
            A nest of tensors.

        Raises:
            ValueError: for another `reduce_op`, and for the sum of what is the same for all replicas.
            RuntimeError: within a replica.

        >>> import penstock as tf
        >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
        >>> float(strategy.reduce("SUM", tf.constant([1.0, 2.0]), axis=0))
        3.0
        """
        if self._is_alone:
            return super().reduce(reduce_op, value, axis)
        name = _context._reduction(reduce_op)
        if _context.within() is not None:
            raise RuntimeError(
                "reduce is called between replicas; within one, call all_reduce of its context"
            )
        if axis is None:
            return self._combined(name, value)
        along = integer(axis, "axis")

        def whole(x: Any) -> Any:
            parts = in_order(x.values) if isinstance(x, PerReplica) else [_context._tensor(x)]
            total = reduced("SUM", [reduce_sum(part, along) for part in parts])
            if name == "SUM":
                return total
            return total / cast(reduced("SUM", [shape(part)[along] for part in parts]), total.dtype)

        return nest.map_structure(whole, value)

    def experimental_local_results(self, value: object) -> tuple[Any, ...]:
        """List the values of the replicas of this process.

        Args:
            value: what `run` returned, or a variable.

        Returns:
            A tuple with a value for each replica; of what they share, with one.

        >>> import penstock as tf
        >>> tf.distribute.MirroredStrategy(["CPU:0"]).experimental_local_results(3)
        (3,)
        """
        if isinstance(value, SyncOnReadVariable):
            return value.values
        if isinstance(value, _core._Variable):
            return (value,) * self.num_replicas_in_sync
        return local(value, self.num_replicas_in_sync)

    # --- variables ---

    def _variable(self, create: Callable[..., Variable], kwargs: dict[str, Any]) -> Any:
        if self._is_alone:
            return create(**kwargs)
        if kwargs["synchronization"] == VariableSynchronization.NONE:
            # There is one of it, which replicas change one after the other.
            return create(**kwargs)
        if kwargs["synchronization"] == VariableSynchronization.ON_READ:
            first = create(**kwargs)
            with _core._Outside():
                copies = [
                    create(**{**kwargs, "initial_value": first.value()}) for _ in self._compute_devices[1:]
                ]
            return SyncOnReadVariable(self, [first, *copies], kwargs["aggregation"])
        variable = create(**kwargs)
        combine_assigned(variable, self)
        return variable

    def _of_first(self, values: Sequence[Variable]) -> Any:
        return values[0].value()

    def _of_all(self, name: str, values: Sequence[Variable]) -> Any:
        return reduced(name, [variable.value() for variable in values])

    def _assigned(self, variable: Variable, assign: Callable[[Any], Any], value: Any) -> Any:
        how = variable.aggregation

        def once(strategy: ReplicasHere, of_all: Any) -> Any:
            if isinstance(of_all, PerReplica):
                first = how == VariableAggregation.ONLY_FIRST_REPLICA
                of_all = of_all.values[0] if first else strategy._over_replicas(how.name, of_all)
            return assign(of_all)

        if _context.within() is None:
            return once(self, value)
        if how == VariableAggregation.NONE:
            raise ValueError(
                "You must specify an aggregation method to update a MirroredVariable in Replica Context. You "
                "can do so by passing an explicit value for argument `aggregation` to tf.Variable(..). e.g. "
                "`tf.Variable(..., aggregation=tf.VariableAggregation.SUM)`"
            )
        found = self._merged(once, (_core._to_tensor_hinted(value, variable.dtype),), {})
        return found if found is None or _core._is_tracing() else variable

    # --- data ---

    def experimental_distribute_dataset(
        self, dataset: Dataset[Any], options: InputOptions | None = None
    ) -> Dataset[Any]:
        """Divide the batches of a data set among the replicas.

        Args:
            dataset: a data set of batches.
            options: accepted; nothing depends on it.

        Returns:
            A data set whose elements have a part of the batch for each replica.

        Raises:
            ValueError: for elements that are no batches.

        >>> import penstock as tf
        >>> batches = tf.data.Dataset.range(4).batch(2)
        >>> len(tf.distribute.MirroredStrategy(["CPU:0"]).experimental_distribute_dataset(batches))
        2
        """
        if self._is_alone:
            return dataset
        count = self.num_replicas_in_sync

        def parts(x: Any) -> PerReplica:
            return PerReplica([rows_of(x, number, count) for number in range(count)])

        return dataset.map(_on_elements(dataset, lambda element: nest.map_structure(parts, element)))

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Dataset[Any]], options: InputOptions | None = None
    ) -> Dataset[Any]:
        """Make the data set of all replicas by a function.

        Args:
            dataset_fn: called with an `InputContext`; returns a data set of batches for one replica.
            options: `InputOptions`; with `experimental_replication_mode` as `PER_REPLICA` the function is
                called for each replica, and makes its data set.

        Returns:
            A data set, each element of which has a batch for each replica; where batches run out, some have
            no rows.

        >>> import penstock as tf
        >>> def make(context):
        ...     return tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2))
        >>> len(tf.distribute.MirroredStrategy(["CPU:0"]).distribute_datasets_from_function(make))
        2
        """
        count = self.num_replicas_in_sync
        mode = getattr(options, "experimental_replication_mode", InputReplicationMode.PER_WORKER)
        if mode == InputReplicationMode.PER_REPLICA and not self._is_alone:
            each = [dataset_fn(InputContext(count, number, count)) for number in range(count)]
            return Dataset.zip(tuple(each)).map(lambda *values: regrouped(values))
        dataset = dataset_fn(InputContext(1, 0, count))
        if self._is_alone:
            return dataset

        def without_rows(element: Any) -> Any:
            return nest.map_structure(lambda x: x[:0] if x.shape.rank != 0 else x, element)

        def together(*window: Any) -> Dataset[Any]:
            each = Dataset.zip(tuple(nest.flatten(window))).map(
                lambda *leaves: nest.pack_sequence_as(window, leaves)
            )
            if len(window) == 1 and not isinstance(dataset.element_spec, tuple):
                each = nest.flatten(window)[0] if not nest.is_nested(window[0]) else each.map(lambda x: x)
            empty = each.take(1).map(_on_elements(each, without_rows))
            parts = [each.skip(number).take(1).concatenate(empty).take(1) for number in range(count)]
            return Dataset.zip(tuple(parts)).map(lambda *values: regrouped(values))

        return dataset.window(count).flat_map(together)

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        """Make the value of each replica by a function.

        Args:
            value_fn: called with a context that has `replica_id_in_sync_group` and `num_replicas_in_sync`.

        Returns:
            A value for each replica; with one replica, its value.

        >>> import penstock as tf
        >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
        >>> strategy.experimental_distribute_values_from_function(lambda c: c.replica_id_in_sync_group)
        0
        """
        count = self.num_replicas_in_sync
        values = [value_fn(_context.ValueContext(number, count)) for number in range(count)]
        return values[0] if self._is_alone else PerReplica(values)


def _on_elements(dataset: Dataset[Any], function: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of elements, as `Dataset.map` calls it: with the parts of a tuple as arguments."""
    if isinstance(dataset.element_spec, tuple):
        return lambda *element: function(element)
    return function


def _check_in_replica() -> int:
    """The number of the replica that asks for a gradient.

    Raises:
        RuntimeError: between replicas.
    """
    replica = here()
    if replica is None:
        raise RuntimeError(
            "the gradient of a value that replicas combine is computed within them: open the tape in the "
            "function that strategy.run calls"
        )
    return replica.number


class MirroredStrategy(ReplicasHere):
    """A strategy whose replicas, one on each device of this process, have the same variables.

    Replicas take turns within `run`. Each computes its part of a batch; where an optimizer applies gradients,
    those of all are added up and the step is taken once. So a training with several replicas is that of one
    with the whole batch. Variables that are made in the scope are there once: replicas read the same memory.
    With `synchronization=tf.VariableSynchronization.ON_READ` each replica has its own, and what is read
    between replicas is their sum or mean.

    Args:
        devices: the devices, such as `["/GPU:0"]`, or several logical ones of one CPU; by default, and where
            it is empty, all GPUs, or the first CPU.
        cross_device_ops: a `CrossDeviceOps`, by default one that adds up on the first device.

    Raises:
        ValueError: for something that names no device, and for devices that are named twice.
        TypeError: for another `cross_device_ops`.

    >>> import penstock as tf
    >>> cpu = tf.config.list_physical_devices("CPU")[0]
    >>> tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    >>> def numbered():
    ...     return tf.distribute.get_replica_context().replica_id_in_sync_group + tf.constant(1)
    >>> int(strategy.reduce("SUM", strategy.run(numbered), axis=None))
    3
    >>> tf.config.set_logical_device_configuration(cpu, None)
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: object = None) -> None:
        if not devices:
            gpus = config.list_logical_devices("GPU")
            devices = [found.name for found in gpus or config.list_logical_devices("CPU")[:1]]
        names = _each_once(devices, "devices")
        super().__init__(names, names, cross_device_ops)


class CentralStorageStrategy(ReplicasHere):
    """A strategy whose variables are on one device, and whose replicas compute on others.

    Otherwise it is as `MirroredStrategy`.

    Args:
        compute_devices: the devices of the replicas; by default all GPUs, or the first CPU.
        parameter_device: the device of the variables; by default the CPU, or with one GPU that.

    Raises:
        ValueError: for something that names no device, and for devices that are named twice.

    >>> import penstock as tf
    >>> strategy = tf.distribute.experimental.CentralStorageStrategy(["CPU:0"], "CPU:0")
    >>> strategy.extended.parameter_devices
    ('CPU:0',)
    """

    def __init__(
        self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None
    ) -> None:
        if not compute_devices:
            gpus = config.list_logical_devices("GPU")
            compute_devices = [found.name for found in gpus or config.list_logical_devices("CPU")[:1]]
        names = _each_once(compute_devices, "compute_devices")
        if parameter_device is None:
            parameter_device = names[0] if len(names) == 1 else config.list_logical_devices("CPU")[0].name
        super().__init__(names, [parameter_device])


def _each_once(devices: str | Sequence[str], argument: str) -> list[str]:
    names = [devices] if isinstance(devices, str) else list(devices)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"argument '{argument}' must name devices, each of them once, got {names}")
    return names
