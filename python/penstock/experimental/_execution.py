"""How operations run: what TensorFlow lets a program choose, and is settled here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from penstock._runtime import strict_mode
from penstock._types.argument_names import expect

__all__ = ["async_clear_error", "async_scope", "enable_strict_mode", "function_executor_type"]


@contextlib.contextmanager
def async_scope() -> Iterator[None]:
    """Group operations that may run after their calls return, and wait for them at the end.

    Here each call ends when its operation is done or has failed, so an error is raised where it arises, and
    there is nothing to wait for.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> with tf.experimental.async_scope():
    ...     total = tf.constant(1) + tf.constant(2)
    >>> int(total)
    3
    """
    yield


def async_clear_error() -> None:
    """Remove the operations of an `async_scope` that wait behind an error: here none ever wait.

    >>> import penstock as tf
    >>> tf.experimental.async_clear_error()
    """


def enable_strict_mode() -> None:
    """Make it a `RuntimeError` to use what a library has marked as deprecated, in place of a warning.

    That is what the decorators of `tensorflow.python.util.deprecation` mark, which programs find under the
    name `tensorflow`; nothing of this package is deprecated.

    >>> import penstock as tf
    >>> tf.experimental.enable_strict_mode()  # doctest: +SKIP
    """
    strict_mode.enable()


@contextlib.contextmanager
def function_executor_type(executor_type: str | None) -> Iterator[None]:
    """Choose the executor of traced functions: there is one, so the name has no effect.

    Args:
        executor_type: the name of an executor, or None.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> with tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
    ...     doubled = tf.function(lambda x: x * 2)(tf.constant(2))
    >>> int(doubled)
    4
    """
    expect(executor_type, (str, type(None)), "executor_type", "a text or None")
    yield
