"""Accumulators of gradients: several threads add to one, and one of them takes the mean."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core
from penstock._control.flow import group
from penstock._ops.casts import cast
from penstock._runtime import v1_graph_state
from penstock._runtime.host_calls import py_function
from penstock._runtime.scope import named
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec
from penstock._values.indexed_slices import IndexedSlices
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike

__all__ = ["ConditionalAccumulator", "ConditionalAccumulatorBase", "SparseConditionalAccumulator"]

_REDUCTIONS = ("MEAN", "SUM")
_INT32, _INT64 = _core.int32, _core.int64

_shared: weakref.WeakValueDictionary[str, _Sum] = weakref.WeakValueDictionary()
_sharing = threading.Lock()


class _Sum:
    """The sum of gradients since one was taken, for all threads."""

    def __init__(self, name: str, what: tuple[Any, ...]) -> None:
        self.name, self.what = name, what
        self._changed = threading.Condition()
        self._step = 0
        self._count = 0
        self._sum: Any = None

    def add(self, step: int, gradient: Any, add: Callable[[Any, Any], Any]) -> None:
        """Add a gradient, unless it is of a step before the present one."""
        with self._changed:
            if step < self._step:
                return
            self._sum = gradient if self._count == 0 else add(self._sum, gradient)
            self._count += 1
            self._changed.notify_all()

    def take(self, required: int) -> tuple[Any, int]:
        """Wait for so many gradients; give their sum and their number, and begin the next step."""
        if required < 1:
            raise InvalidArgumentError(f"argument 'num_required' must be at least 1, got {required}")
        with self._changed:
            self._changed.wait_for(lambda: self._count >= required)
            taken = self._sum, self._count
            self._sum, self._count = None, 0
            self._step += 1
            return taken

    def count(self) -> int:
        """The number of gradients since one was taken."""
        with self._changed:
            return self._count

    def begin(self, step: int) -> None:
        """Make a step the present one. Steps do not go back."""
        with self._changed:
            self._step = max(self._step, step)


def _found(shared_name: str | None, name: str, what: tuple[Any, ...]) -> _Sum:
    if shared_name is None:
        graph = v1_graph_state.current()
        return _Sum("" if graph is None else graph.unique_name(name), what)
    with _sharing:
        found = _shared.get(shared_name)
        if found is None:
            found = _shared[shared_name] = _Sum(shared_name, what)
        if found.what != what:
            raise InvalidArgumentError(
                f"argument 'shared_name': the accumulator {shared_name!r} has another dtype, shape or "
                "reduction"
            )
        return found


class SparseGradient(NamedTuple):
    """Slices of a tensor.

    Attributes:
        indices: the numbers of the rows.
        values: the rows.
        shape: the shape of the whole tensor.
    """

    indices: Any
    values: Any
    shape: Any


class ConditionalAccumulatorBase:
    """What all accumulators do.

    An accumulator lives outside of graphs. What takes a gradient waits for as many as it requires, and lets
    other threads run meanwhile. Gradients of a step before the present one are left out.

    Args:
        dtype: the dtype of gradients.
        shape: their shape; None where it is not known.
        accumulator_ref: what stands for the accumulator.

    >>> import penstock as tf
    >>> accumulator = tf.compat.v1.ConditionalAccumulator(tf.float32)
    >>> isinstance(accumulator, tf.compat.v1.ConditionalAccumulatorBase)
    True
    """

    # How the names of its operators begin.
    _operator = "ResourceAccumulator"

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Any) -> None:
        self._dtype = _core.DType(dtype)
        self._shape = TensorShape(shape)
        self._sum: _Sum = accumulator_ref

    @property
    def accumulator_ref(self) -> Any:
        """What stands for the accumulator."""
        return self._sum

    @property
    def name(self) -> str:
        """Its name."""
        return self._sum.name

    @property
    def dtype(self) -> _core.DType:
        """The dtype of gradients."""
        return self._dtype

    def _call(
        self, function: Callable[..., Any], inputs: Sequence[Any], specs: list[TensorSpec], name: str
    ) -> Any:
        """Run a function of tensors: at once, or each time that the graph runs, by a node of a name."""
        if not _core._is_tracing():
            return function(*inputs)
        made = py_function(function, list(inputs), specs)
        named(made[0], name)
        return made

    def _done(self, function: Callable[..., None], inputs: Sequence[Any], name: str) -> Any:
        def run(*values: Any) -> list[Any]:
            function(*values)
            return [_core._to_tensor(0)]

        made = self._call(run, inputs, [TensorSpec([], _INT32)], f"{name}/run")
        return group(*made, name=name) if _core._is_tracing() else None

    def num_accumulated(self, name: str | None = None) -> _core.Tensor:
        """Count the gradients since one was taken.

        Args:
            name: the name of its node in a graph.

        Returns:
            A scalar of `int32`.

        >>> import penstock as tf
        >>> accumulator = tf.compat.v1.ConditionalAccumulator(tf.float32)
        >>> accumulator.apply_grad(1.0)
        >>> int(accumulator.num_accumulated())
        1
        """
        made = self._call(
            lambda: [_core._to_tensor(self._sum.count())],
            [],
            [TensorSpec([], _INT32)],
            name or f"{self.name}_NumAccumulated",
        )
        return made[0]  # type: ignore[no-any-return]

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> Any:
        """Make a step the present one: gradients of those before it are left out from now on.

        Args:
            new_global_step: the number of the step; one before the present one has no effect.
            name: the name of its node in a graph.

        Returns:
            None; in a graph an operation.

        >>> import penstock as tf
        >>> accumulator = tf.compat.v1.ConditionalAccumulator(tf.float32)
        >>> accumulator.set_global_step(2)
        >>> accumulator.apply_grad(1.0, local_step=1)
        >>> int(accumulator.num_accumulated())
        0
        """
        step = _core._to_tensor(new_global_step, _INT64)
        name = name or f"{self._operator}SetGlobalStep"
        return self._done(lambda step: self._sum.begin(int(step.numpy())), [step], name)

    @staticmethod
    def _reduction(reduction_type: str) -> str:
        if reduction_type not in _REDUCTIONS:
            raise ValueError(f"argument 'reduction_type' must be 'MEAN' or 'SUM', got {reduction_type!r}")
        return reduction_type


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients that are tensors.

    Args:
        dtype: their dtype.
        shape: their shape; None where it is not known.
        shared_name: accumulators of one name are the same one.
        name: a name for people.
        reduction_type: `"MEAN"`, or `"SUM"`.

    Raises:
        ValueError: for another reduction.
        InvalidArgumentError: where another accumulator of that name has another dtype, shape or reduction.

    >>> import penstock as tf
    >>> accumulator = tf.compat.v1.ConditionalAccumulator(tf.float32, shape=[2])
    >>> accumulator.apply_grad([1.0, 2.0])
    >>> accumulator.apply_grad([3.0, 4.0])
    >>> accumulator.take_grad(2).numpy()
    array([2., 3.], dtype=float32)
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        self._mean = self._reduction(reduction_type) == "MEAN"
        what = (type(self), _core.DType(dtype).name, str(TensorShape(shape)), reduction_type)
        super().__init__(dtype, shape, _found(shared_name, name, what))

    def apply_grad(self, grad: TensorLike, local_step: TensorLike = 0, name: str | None = None) -> Any:
        """Add a gradient.

        Args:
            grad: the gradient.
            local_step: the number of the step that it is of.
            name: the name of its node in a graph.

        Returns:
            None; in a graph an operation.

        Raises:
            ValueError: for a gradient of another shape.
        """
        given = _core._to_tensor(grad, self._dtype)
        if not given.shape.is_compatible_with(self._shape):
            raise ValueError(f"argument 'grad' must be of shape {self._shape}, got {given.shape}")

        def apply(gradient: Any, step: Any) -> None:
            self._sum.add(int(step.numpy()), gradient, self._added)

        name = name or f"{self._operator}ApplyGradient"
        return self._done(apply, [given, _core._to_tensor(local_step, _INT64)], name)

    @staticmethod
    def _added(total: Any, gradient: Any) -> Any:
        if total.shape != gradient.shape:
            raise InvalidArgumentError(
                f"argument 'grad' must be of shape {total.shape}, as those before it, got {gradient.shape}"
            )
        return total + gradient

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> _core.Tensor:
        """Take the mean, or the sum, of all gradients, once there are enough. The next step begins.

        Args:
            num_required: how many gradients there must be.
            name: the name of its node in a graph.

        Returns:
            A tensor like the gradients.

        Raises:
            InvalidArgumentError: for a number below 1.
        """

        def take(required: Any) -> list[Any]:
            total, count = self._sum.take(int(required.numpy()))
            return [total / _core._to_tensor(count, self._dtype) if self._mean else total]

        made = self._call(
            take,
            [_core._to_tensor(num_required, _INT32)],
            [TensorSpec(self._shape, self._dtype)],
            name or f"{self._operator}TakeGradient",
        )
        return made[0]  # type: ignore[no-any-return]


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients that are slices of a tensor.

    Args:
        dtype: the dtype of the slices.
        shape: the shape of the whole tensor; None where it is not known.
        shared_name: accumulators of one name are the same one.
        name: a name for people.
        reduction_type: `"MEAN"`: of each row, over the gradients that have it; or `"SUM"`.

    Raises:
        ValueError: for another reduction.
        InvalidArgumentError: where another accumulator of that name has another dtype, shape or reduction.

    >>> import penstock as tf
    >>> accumulator = tf.compat.v1.SparseConditionalAccumulator(tf.float32, shape=[3, 1])
    >>> accumulator.apply_grad([0, 2], [[1.0], [2.0]])
    >>> accumulator.apply_grad([2], [[4.0]])
    >>> slices = accumulator.take_indexed_slices_grad(2)
    >>> slices.indices.numpy().tolist(), slices.values.numpy().tolist()
    ([0, 2], [[1.0], [3.0]])
    """

    _operator = "SparseAccumulator"

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        self._mean = self._reduction(reduction_type) == "MEAN"
        what = (type(self), _core.DType(dtype).name, str(TensorShape(shape)), reduction_type)
        super().__init__(dtype, shape, _found(shared_name, name, what))

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: TensorLike = 0, name: str | None = None
    ) -> Any:
        """Add a gradient.

        Args:
            grad: the slices.
            local_step: the number of the step that they are of.
            name: the name of its node in a graph.

        Returns:
            None; in a graph an operation.
        """
        places = cast(grad.indices, _INT64)
        return self.apply_grad(places, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: TensorLike,
        grad_values: TensorLike,
        grad_shape: TensorLike | None = None,
        local_step: TensorLike = 0,
        name: str | None = None,
    ) -> Any:
        """Add a gradient.

        Args:
            grad_indices: the numbers of the rows.
            grad_values: the rows.
            grad_shape: the shape of the whole tensor.
            local_step: the number of the step that they are of.
            name: the name of its node in a graph.

        Returns:
            None; in a graph an operation.

        Raises:
            InvalidArgumentError: for rows of another shape, or of another number than that of their indices.
        """
        rows = _core._to_tensor(grad_values, self._dtype)
        places = _core._to_tensor(grad_indices, _INT64)
        whole = _core._to_tensor([] if grad_shape is None else grad_shape, _INT64)

        def apply(places: Any, rows: Any, whole: Any, step: Any) -> None:
            if rows.shape[0] != places.shape[0]:
                raise InvalidArgumentError(
                    f"argument 'grad_values' must have {places.shape[0]} rows, as 'grad_indices' has, got "
                    f"{rows.shape[0]}"
                )
            extents = whole.numpy().tolist() or [None, *rows.shape[1:]]
            if not TensorShape(extents).is_compatible_with(self._shape):
                raise InvalidArgumentError(
                    f"argument 'grad_shape' must be {self._shape}, got {TensorShape(extents)}"
                )
            found: dict[int, tuple[Any, int]] = {}
            for i, place in enumerate(places.numpy().tolist()):
                found[place] = (found[place][0] + rows[i] if place in found else rows[i], 1)
            self._sum.add(int(step.numpy()), (found, tuple(extents)), self._added)

        name = name or f"{self._operator}ApplyGradient"
        return self._done(apply, [places, rows, whole, _core._to_tensor(local_step, _INT64)], name)

    @staticmethod
    def _added(total: Any, gradient: Any) -> Any:
        rows, extents = dict(total[0]), total[1]
        for place, (row, count) in gradient[0].items():
            before = rows.get(place)
            rows[place] = (row, count) if before is None else (before[0] + row, before[1] + count)
        return rows, extents

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> SparseGradient:
        """Take the mean, or the sum, of all gradients, once there are enough. The next step begins.

        Args:
            num_required: how many gradients there must be.
            name: the name of its node in a graph.

        Returns:
            The numbers of the rows in ascending order, the rows, and the shape of the whole tensor, with -1
            for what is not known.

        Raises:
            InvalidArgumentError: for a number below 1.
        """

        def take(required: Any) -> list[Any]:
            (rows, extents), _ = self._sum.take(int(required.numpy()))
            places = sorted(rows)
            values = [
                row / _core._to_tensor(count, self._dtype) if self._mean else row
                for row, count in (rows[place] for place in places)
            ]
            whole = extents if self._shape.rank is None else self._shape.as_list()
            shape = [-1 if size is None else size for size in whole]
            return [
                _core._to_tensor(places, _INT64),
                _core._to_tensor(values, self._dtype),
                _core._to_tensor(shape, _INT64),
            ]

        rank = self._shape.rank
        rows = TensorShape(None if rank is None else [None, *self._shape[1:]])
        specs = [TensorSpec([None], _INT64), TensorSpec(rows, self._dtype), TensorSpec([rank], _INT64)]
        required = _core._to_tensor(num_required, _INT32)
        found = self._call(take, [required], specs, name or f"{self._operator}TakeGradient")
        return SparseGradient(*found)

    def take_indexed_slices_grad(self, num_required: TensorLike, name: str | None = None) -> IndexedSlices:
        """Do as `take_grad`.

        Args:
            num_required: how many gradients there must be.
            name: the name of its node in a graph.

        Returns:
            The slices.

        Raises:
            InvalidArgumentError: for a number below 1.
        """
        places, rows, shape = self.take_grad(num_required, name)
        return IndexedSlices(rows, places, shape)
