"""Gradient tapes and custom gradients."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock import _core, nest, raw_ops

__all__ = ["GradientTape", "UnconnectedGradients", "custom_gradient"]


class UnconnectedGradients(enum.Enum):
    """What the gradient of a source is that no target depends on."""

    NONE = "none"
    ZERO = "zero"


class GradientTape:
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

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._tape = _core._Tape(persistent, watch_accessed_variables)
        self._recording = False
        self._used = False

    def __enter__(self) -> GradientTape:
        if self._recording:
            raise ValueError("the tape is already recording")
        self._tape.push()
        self._recording = True
        return self

    def __exit__(self, *exc: object) -> None:
        if self._recording:
            self._tape.pop()
            self._recording = False

    def watch(self, tensor: Any) -> None:
        """Watches a tensor, a variable, or each of a nest of them.

        Raises:
            TypeError: for something else.
        """
        for item in nest.flatten(tensor):
            if not isinstance(item, _core.Tensor | _core._Variable):
                raise TypeError(
                    f"argument 'tensor' must be a tensor or a variable, got {type(item).__name__}"
                )
            self._tape.watch(item)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Within it, the tape does not record.

        Raises:
            RuntimeError: where the tape is not recording.
        """
        if not self._recording:
            raise RuntimeError("the tape is not recording")
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def reset(self) -> None:
        """Forgets all that was recorded and watched."""
        self._tape.reset()
        self._used = False

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of the sum of `target` in respect of each source.

        Args:
            target: a tensor or a nest of them.
            sources: a tensor or variable, or a nest of them.
            output_gradients: a cotangent for each target; ones by default.
            unconnected_gradients: what a source gets that no target depends on: `"none"` or `"zero"`.

        Returns:
            A tensor, `None` or zeros for each source, in the structure of `sources`.

        Raises:
            RuntimeError: for a second call on a tape that is not persistent.
            LookupError: where an operator on the way has no gradient.
        """
        if self._used and not self._persistent:
            raise RuntimeError(
                "GradientTape.gradient can only be called once on non-persistent tapes; "
                "make it with persistent=True"
            )
        unconnected = UnconnectedGradients(unconnected_gradients)
        if self._recording and not self._persistent:
            self.__exit__()
        self._used = True
        targets = [_tensor_target(t) for t in nest.flatten(target)]
        flat = nest.flatten(sources)
        for source in flat:
            if not isinstance(source, _core.Tensor | _core._Variable):
                raise TypeError(
                    f"argument 'sources' must hold tensors or variables, got {type(source).__name__}"
                )
        seeds = [None] * len(targets) if output_gradients is None else list(nest.flatten(output_gradients))
        if len(seeds) != len(targets):
            raise ValueError(
                f"argument 'output_gradients' has {len(seeds)} entries for {len(targets)} targets"
            )
        grads: list[Any] = self._tape.gradient(targets, flat, seeds)
        if unconnected is UnconnectedGradients.ZERO:
            grads = [
                raw_ops.zeros_like(source) if grad is None else grad
                for grad, source in zip(grads, flat, strict=True)
            ]
        return nest.pack_sequence_as(sources, grads)


def _tensor_target(target: Any) -> Any:
    if isinstance(target, _core.Tensor | _core._Variable):
        return target
    return _core._convert(target)


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Gives a function a gradient of its own.

    Args:
        f: called with the arguments; returns `(outputs, grad)`, where `grad(*output_gradients)` returns
            the gradient of each argument that is a tensor.

    Returns:
        A function that returns the outputs.

    >>> import penstock as tf
    >>> @tf.custom_gradient
    ... def clipped(x):
    ...     return x, lambda dy: tf.clip_by_value(dy, -1.0, 1.0)
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inputs = [
            a if isinstance(a, _core.Tensor | _core._Variable) else _core._convert(a)
            for a in nest.flatten(args)
        ]
        with _core._NoTapes():
            result, grad = f(*nest.pack_sequence_as(args, inputs), **kwargs)
        outputs = [raw_ops.identity(t) for t in nest.flatten(result)]

        def backward(grads: Sequence[Any]) -> list[Any]:
            filled = [raw_ops.zeros_like(o) if g is None else g for g, o in zip(grads, outputs, strict=True)]
            found = nest.flatten(grad(*filled))
            if len(found) != len(inputs):
                raise ValueError(
                    f"the gradient function of {f.__name__} returned {len(found)} values "
                    f"for {len(inputs)} arguments"
                )
            return found

        if _core._is_tracing():
            outputs = _core._with_gradient(outputs, inputs, backward)
        else:
            _core._record_custom(inputs, outputs, backward)
        return nest.pack_sequence_as(result, outputs)

    return wrapper
