"""Exceptions to the conversion of Python control flow, and options of loops."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, ShapeLike

__all__ = ["Feature", "do_not_convert", "set_loop_options", "unconverted_modules"]


class Feature(enum.Enum):
    """Optional features of the conversion. All are always on; the names are TensorFlow's.

    >>> Feature.ALL.value
    'ALL'
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """List every feature.

        Returns:
            All features.

        >>> import penstock as tf
        >>> tf.autograph.experimental.Feature.ALL in tf.autograph.experimental.Feature.all()
        True
        """
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Feature | Sequence[Feature]) -> tuple[Feature, ...]:
        """List every feature but some.

        Args:
            exclude: a feature, or several.

        Returns:
            The other features.

        >>> import penstock as tf
        >>> feature = tf.autograph.experimental.Feature
        >>> feature.LISTS in feature.all_but(feature.LISTS)
        False
        """
        left_out = exclude if isinstance(exclude, list | tuple | set) else (exclude,)
        return tuple(f for f in cls if f not in left_out)


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Leave the control flow of a function, and of what it calls, to Python when it is traced.

    Args:
        func: the function; without it the result is a decorator.

    Returns:
        A function with the same code, or a method of one; a callable of another kind is marked itself.

    Raises:
        TypeError: where `func` is no Python function, nor an object that can be marked.

    >>> import penstock as tf
    >>> @tf.autograph.experimental.do_not_convert
    ... def plain(x):
    ...     return x + 1
    >>> plain(1)
    2
    """
    if func is None:
        return do_not_convert
    if isinstance(func, MethodType):
        return MethodType(do_not_convert(func.__func__), func.__self__)
    target = func
    if isinstance(func, FunctionType):
        # The function that was given is converted wherever else it is called.
        target = FunctionType(
            func.__code__, func.__globals__, func.__name__, func.__defaults__, func.__closure__
        )
        target.__kwdefaults__ = func.__kwdefaults__
        functools.update_wrapper(target, func)
        del vars(target)["__wrapped__"]
    if not hasattr(target, "__dict__") or isinstance(target, type):
        raise TypeError(f"argument 'func' must be a Python function, got {func!r}")
    vars(target)["_penstock_do_not_convert"] = True
    return target


def set_loop_options(
    parallel_iterations: int | None = None,
    swap_memory: bool | None = None,
    maximum_iterations: IntLike | None = None,
    shape_invariants: list[tuple[Any, ShapeLike]] | None = None,
    checkpoint_every: int | None = None,
) -> None:
    """Set options of the loop in whose body it is called, at its beginning; elsewhere do nothing.

    Args:
        parallel_iterations: accepted and ignored.
        swap_memory: accepted and ignored.
        maximum_iterations: at most this many iterations.
        shape_invariants: pairs of a variable of the loop and the shape that it keeps to, `None` for sizes
            that change.
        checkpoint_every: keep the loop variables for the gradient only at every so many iterations, as
            `tf.while_loop` does.

    >>> import penstock as tf
    >>> total = 0
    >>> for i in range(3):
    ...     tf.autograph.experimental.set_loop_options(maximum_iterations=10)
    ...     total += i
    >>> total
    3
    """


def unconverted_modules(*more: str) -> frozenset[str]:
    """List the modules whose functions are traced as they are, beside the standard library's.

    Every other function that converted code calls is converted, whether it was installed or not.

    Args:
        *more: names of modules or packages to add, from now on. What is in a package counts as well.

    Returns:
        All names.

    Raises:
        TypeError: where a name is no string.

    >>> import penstock as tf
    >>> "numpy" in tf.autograph.experimental.unconverted_modules()
    True
    >>> "my_plots" in tf.autograph.experimental.unconverted_modules("my_plots")
    True
    """
    from penstock.autograph import _convert  # start-up does without it

    if not all(isinstance(name, str) for name in more):
        raise TypeError(f"argument 'more' must be names of modules, got {more!r}")
    if not _convert.unconverted.issuperset(more):
        _convert.unconverted.update(more)
        _convert.forget_decisions()
    return frozenset(_convert.unconverted)
