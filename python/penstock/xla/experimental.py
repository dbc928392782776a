"""`tf.xla.experimental`: what asks for compilation, which the engine does unasked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock import _core, nest
from penstock._function.function import function

__all__ = ["compile", "jit_scope"]


def compile(computation: Callable[..., Any], inputs: Sequence[Any] | None = None) -> Any:
    """Run a function in a graph.

    Args:
        computation: the function.
        inputs: its arguments; tensors and what can be tensors, or nests of them.

    Returns:
        What the function gives, a tensor alone as a list of one; None for None.

    Raises:
        TypeError: where `computation` cannot be called, or `inputs` is no list.

    >>> import penstock as tf
    >>> (y,) = tf.xla.experimental.compile(lambda x: 2.0 * x, [3.0])
    >>> float(y)
    6.0
    """
    if not callable(computation):
        raise TypeError(f"argument 'computation' must be a function, got {computation!r}")
    if not isinstance(inputs, list | tuple | None):
        raise TypeError(f"argument 'inputs' must be a list, got {inputs!r}")
    given = nest.map_structure(_core._to_tensor, list(inputs or []))
    found = computation(*given) if _core._is_tracing() else function(computation, autograph=False)(*given)
    return [found] if isinstance(found, _core.Tensor) else found


@contextmanager
def jit_scope(
    compile_ops: bool | Callable[..., bool] = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Ask for compilation of the operations within it; they are compiled as others are.

    Args:
        compile_ops: accepted and ignored.
        separate_compiled_gradients: accepted and ignored.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> with tf.xla.experimental.jit_scope():
    ...     y = tf.constant(2.0) * 3.0
    >>> float(y)
    6.0
    """
    yield
