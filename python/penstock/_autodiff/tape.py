"""Gradient tapes."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock import _core, nest, raw_ops
from penstock._values import variable
from penstock._values.indexed_slices import IndexedSlices, from_pieces

if TYPE_CHECKING:
    from penstock._types.aliases import Nested, TensorLike, TensorOrVariable

__all__ = [
    "GradientTape",
    "UnconnectedGradients",
    "as_dense",
    "behind_handle",
    "check_seed",
    "flat_sources",
    "is_differentiable",
    "one_hot_rows",
    "warn_of_dtype",
    "zeros_of",
]


class UnconnectedGradients(enum.Enum):
    """What the gradient of a source is that no target depends on.

    >>> UnconnectedGradients.ZERO.value
    'zero'
    """

    NONE = "none"
    ZERO = "zero"


class GradientTape(_core._Tape):
    """Records operations within its context, and differentiates what it recorded.

    Trainable variables are watched when they are read; other tensors by `watch`. Tapes nest: the
    gradients that an inner tape computes are recorded by the outer ones.

    Args:
        persistent: whether `gradient` may be called more than once.
        watch_accessed_variables: whether trainable variables are watched when they are read.

    >>> import penstock as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x).numpy()
    np.float32(6.0)
    """

    def watch(self, tensor: Nested[TensorOrVariable]) -> None:
        """Watch a tensor, a variable, or each of a nest of them; warn of what cannot have a gradient.

        Args:
            tensor: the tensor, variable, or nest of them.

        Raises:
            ValueError: for something else.

        >>> import penstock as tf
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.gradient(y, x).numpy()
        np.float32(6.0)
        """
        if self._watch(tensor):
            return
        for item in map(behind_handle, nest.flatten(tensor)):
            if self._watch(item):
                continue
            if not isinstance(item, _core.Tensor | _core._Variable):
                raise ValueError(
                    f"Passed in object {item!r} of type {type(item).__name__!r}, "
                    "not tf.Tensor or tf.Variable or ExtensionType."
                )
            warn_of_dtype("a watched tensor", item.dtype)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Let the tape not record within it.

        Returns:
            A context manager.

        Raises:
            RuntimeError: where the tape is not recording.

        >>> import penstock as tf
        >>> v = tf.Variable(3.0)
        >>> with tf.GradientTape() as tape:
        ...     with tape.stop_recording():
        ...         y = v * v
        >>> tape.gradient(y, v) is None
        True
        """
        if not self._recording:
            raise RuntimeError("Tape is not recording.")
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def watched_variables(self) -> tuple[Any, ...]:
        """List the variables that it watches, in the order in which they came to be watched.

        Returns:
            The variables.

        >>> import penstock as tf
        >>> v = tf.Variable(3.0, name="v")
        >>> with tf.GradientTape() as tape:
        ...     y = v * v
        >>> [watched.name for watched in tape.watched_variables()]
        ['v:0']
        """
        found = map(variable.find, self._variables())
        return tuple(v for v in found if v is not None)

    def gradient(
        self,
        target: Nested[TensorOrVariable],
        sources: Nested[TensorOrVariable],
        output_gradients: Nested[TensorLike | None] | None = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Compute the gradient of the sum of `target` by each source.

        Where all are None and a target is of integers, say, which have no gradient, there is a warning.

        Args:
            target: a tensor or a nest of them.
            sources: a tensor or variable, or a nest of them.
            output_gradients: a cotangent for each target; ones by default.
            unconnected_gradients: what a source gets that no target depends on: `"none"` or `"zero"`.

        Returns:
            A tensor, `IndexedSlices`, `None` or zeros for each source, in the structure of `sources`.

        Raises:
            RuntimeError: for a second call on a tape that is not persistent, and for a tape that was never
                entered.
            TypeError: for a source that is neither tensor nor variable, and for `output_gradients` of another
                dtype than the targets.
            ValueError: where `output_gradients` do not fit the targets.
            LookupError: where an operator on the way has no gradient.

        >>> import penstock as tf
        >>> x, w = tf.Variable(3.0), tf.Variable(2.0)
        >>> with tf.GradientTape() as tape:
        ...     y = w * x * x
        >>> {name: float(slope) for name, slope in tape.gradient(y, {"x": x, "w": w}).items()}
        {'x': 12.0, 'w': 9.0}
        """
        if (
            output_gradients is None
            and unconnected_gradients is UnconnectedGradients.NONE
            and isinstance(target, _core.Tensor)
            and isinstance(sources, _core.Tensor | _core._Variable)
        ):
            grad = self._gradient_of(target, sources)
            if grad is None:
                warn_of_dtype("argument 'target'", target.dtype)
            return from_pieces(grad, sources) if isinstance(grad, list) else grad
        if target is None:
            raise TypeError("argument 'target' must be a tensor, a variable or a nest of them, got None")
        unconnected = UnconnectedGradients(unconnected_gradients)
        flat = flat_sources(sources)
        targets = [self._target(behind_handle(t)) for t in nest.flatten(target)]
        seeds = [None] * len(targets) if output_gradients is None else list(nest.flatten(output_gradients))
        seeds = list(map(behind_handle, seeds))
        if len(seeds) != len(targets):
            raise ValueError(
                f"argument 'output_gradients' has {len(seeds)} entries for {len(targets)} targets"
            )
        for seed, t in zip(seeds, targets, strict=True):
            check_seed(seed, t)
        self._use("gradient")
        found: list[Any] = []
        for source, grad in zip(flat, self._gradients(targets, flat, seeds), strict=True):
            if isinstance(grad, list):
                found.append(from_pieces(grad, source))
            elif grad is None and unconnected is UnconnectedGradients.ZERO:
                found.append(zeros_of(source))
            else:
                found.append(grad)
        if all(grad is None for grad in found):
            for t in targets:
                warn_of_dtype("argument 'target'", t.dtype)
        return nest.pack_sequence_as(sources, list(map(_as_source, nest.flatten(sources), found)))

    def _target(self, target: Any) -> Any:
        """The tensor that is differentiated; a variable is read, which the tape sees."""
        if isinstance(target, _core.Tensor):
            return target
        if not isinstance(target, _core._Variable):
            return _core._to_tensor(target)
        if self._recording:
            return target.read_value()
        with self:
            return target.read_value()

    def _only_target(self, target: Any) -> Any:
        if nest.is_nested(target):
            raise TypeError(f"argument 'target' must be one tensor, got a {type(target).__name__}")
        value = self._target(target)
        if not is_differentiable(value.dtype):
            raise TypeError(f"argument 'target' must be floating point or complex, got {value.dtype.name}")
        return value

    def jacobian(
        self,
        target: TensorOrVariable,
        sources: Nested[TensorOrVariable],
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Compute the derivative of each element of `target` by each element of each source.

        Args:
            target: a tensor.
            sources: a tensor or variable, or a nest of them.
            unconnected_gradients: what a source gets on which `target` does not depend: `"none"` or `"zero"`.
            parallel_iterations: accepted and ignored.
            experimental_use_pfor: whether one backward pass carries all elements at once; else a loop runs
                one for each, which takes less memory.

        Returns:
            A tensor of shape `target.shape + source.shape`, None or zeros for each source, in the structure
            of `sources`.

        Raises:
            RuntimeError: for a second use of a tape that is not persistent, and for a loop outside of a
                traced function with such a tape.
            LookupError: where an operator on the way has no gradient.

        >>> import penstock as tf
        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.jacobian(y, x).numpy().tolist()
        [[2.0, 0.0], [0.0, 4.0]]
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        flat = flat_sources(sources)
        value = self._only_target(target)
        self._check_loop(experimental_use_pfor)
        self._use("jacobian")
        rows = self._rows(value, flat, one_hot_rows(value), not experimental_use_pfor)
        found: list[Any] = []
        for source, row in zip(flat, rows, strict=True):
            shape = raw_ops.concat([raw_ops.shape(value), _shape(source)], axis=0)
            if row is not None:
                found.append(raw_ops.reshape(row, shape))
            elif unconnected is UnconnectedGradients.ZERO:
                found.append(raw_ops.fill(shape, _core._to_tensor(0, source.dtype)))
            else:
                found.append(None)
        return nest.pack_sequence_as(sources, found)

    def batch_jacobian(
        self,
        target: TensorOrVariable,
        source: TensorOrVariable,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> _core.Tensor:
        """Compute the derivative of each example of `target` by that example of `source`.

        Row `i` of `target` is taken to depend on row `i` of `source` alone.

        Args:
            target: a tensor of shape `[b, y1, ...]`.
            source: a tensor of shape `[b, x1, ...]`.
            unconnected_gradients: `"none"` or `"zero"`, which both give zeros where `target` does not depend
                on `source`.
            parallel_iterations: accepted and ignored.
            experimental_use_pfor: as for `jacobian`.

        Returns:
            A tensor of shape `[b, y1, ..., x1, ...]`.

        Raises:
            ValueError: where the first dimensions are known to differ, or one has a rank below 2.
            RuntimeError: as for `jacobian`.

        >>> import penstock as tf
        >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.batch_jacobian(y, x).numpy()[1].tolist()
        [[6.0, 0.0], [0.0, 8.0]]
        """
        UnconnectedGradients(unconnected_gradients)
        (given,) = flat_sources([source])
        value = self._only_target(target)
        for name, shape in (("target", value.shape), ("source", given.shape)):
            if shape.rank is None or shape.rank < 2:
                raise ValueError(
                    f"Shape {shape} must have rank at least 2: that of argument '{name}', which must be known"
                )
        if not value.shape[:1].is_compatible_with(given.shape[:1]):
            raise ValueError(
                f"Need first dimension of target shape ({value.shape}) and source shape ({given.shape}) "
                "to match."
            )
        self._check_loop(experimental_use_pfor)
        self._use("batch_jacobian")
        extents = raw_ops.shape(value)
        batch, inner = _first(extents), _rest(extents)
        n = raw_ops.reduce_prod(inner)
        # Seed j has a one for element j of every example: [n, b, y1, ...].
        unit = _identity_rows(n, value.dtype)
        unit = raw_ops.reshape(unit, raw_ops.concat([_vector(n), _vector(1), _vector(n)], axis=0))
        wide = raw_ops.broadcast_to(unit, raw_ops.concat([_vector(n), batch, _vector(n)], axis=0))
        seeds = raw_ops.reshape(wide, raw_ops.concat([_vector(n), extents], axis=0))
        (rows,) = self._rows(value, [given], seeds, not experimental_use_pfor)
        shape = raw_ops.concat([extents, _rest(_shape(given))], axis=0)
        if rows is not None:
            perm = [1, 0, *range(2, given.shape.rank + 1)]
            return raw_ops.reshape(raw_ops.transpose(rows, perm=perm), shape)
        return raw_ops.fill(shape, _core._to_tensor(0, given.dtype))

    def _check_loop(self, vectorised: bool) -> None:
        if not vectorised and not self._persistent and not _core._is_tracing():
            raise RuntimeError(
                "with experimental_use_pfor=False a tape outside of a traced function must be made with "
                "persistent=True"
            )


def _as_source(source: Any, gradient: Any) -> Any:
    """The gradient of a source, in its rows or places where it is ragged or sparse."""
    if gradient is None or not hasattr(type(source), "_with_gradient"):
        return gradient
    return source._with_gradient(_core._to_tensor(gradient))


def behind_handle(source: Any) -> Any:
    """What of an object has a gradient.

    The variable of an object that holds one as its `handle`, as Keras's do; the values of a ragged or sparse
    tensor; else the object itself.
    """
    if isinstance(source, _core.Tensor | _core._Variable):
        return source
    if hasattr(type(source), "_with_gradient"):
        return source._differentiable
    handle = getattr(source, "handle", None)
    return handle if isinstance(handle, _core._Variable) else source


def flat_sources(sources: Any, argument: str = "sources") -> list[Any]:
    """The tensors and variables of a nest of them, the argument of this name."""
    flat = [behind_handle(source) for source in nest.flatten(sources)]
    for source in flat:
        if not isinstance(source, _core.Tensor | _core._Variable):
            raise TypeError(
                f"argument '{argument}' must hold tensors or variables, got {type(source).__name__}"
            )
    return flat


def check_seed(seed: Any, target: Any, argument: str = "output_gradients") -> None:
    """Refuses a cotangent, an element of the argument of this name, that does not fit its target."""
    if not isinstance(seed, _core.Tensor | _core._Variable | IndexedSlices):
        return
    if not target.shape.is_compatible_with(seed.shape):
        raise ValueError(f"argument '{argument}' has shape {seed.shape} for a target of shape {target.shape}")
    if seed.dtype != target.dtype:
        raise TypeError(
            f"argument '{argument}' has dtype {seed.dtype.name} for a target of dtype {target.dtype.name}"
        )


def is_differentiable(dtype: Any) -> bool:
    """Whether values of a dtype have gradients."""
    return bool(dtype.is_floating or dtype.is_complex)


def warn_of_dtype(what: str, dtype: Any) -> None:
    """Warns the caller of the caller where a dtype has no gradients."""
    if not is_differentiable(dtype):
        warnings.warn(
            f"{what} must be floating point or complex to have a gradient, got {dtype.name}", stacklevel=3
        )


def as_dense(grad: Any) -> Any:
    """A gradient as a tensor."""
    return _core._to_tensor(grad)


def zeros_of(source: Any) -> Any:
    """Zeros of the shape and dtype of a tensor or variable."""
    return raw_ops.zeros_like(source)


def _shape(source: Any) -> Any:
    return raw_ops.shape(source.read_value() if isinstance(source, _core._Variable) else source)


def _vector(value: Any) -> Any:
    return raw_ops.reshape(_core._to_tensor(value, _core.int32), _core._to_tensor([1], _core.int32))


def _first(extents: Any) -> Any:
    return raw_ops.slice(extents, _vector(0), _vector(1))


def _rest(extents: Any) -> Any:
    return raw_ops.slice(extents, _vector(1), _vector(-1))


def _identity_rows(n: Any, dtype: Any) -> Any:
    one, zero = _core._to_tensor(1, dtype), _core._to_tensor(0, dtype)
    count = _core._to_tensor(n, _core.int32)
    return raw_ops.one_hot(
        raw_ops.range(_core._to_tensor(0, _core.int32), count, _core._to_tensor(1, _core.int32)),
        count,
        one,
        zero,
    )


def one_hot_rows(target: Any) -> Any:
    """For each element of a tensor one of its shape that is 1 there and 0 elsewhere, stacked."""
    n = raw_ops.size(target)
    rows = _identity_rows(n, target.dtype)
    return raw_ops.reshape(rows, raw_ops.concat([_vector(n), raw_ops.shape(target)], axis=0))
