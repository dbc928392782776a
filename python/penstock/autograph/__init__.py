"""AutoGraph: Python control flow in traced functions becomes control flow of the graph.

Whether a statement does is decided each time that it is traced: where the deciding value is a symbolic
tensor it does, and everywhere else it is Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.autograph import experimental as experimental

if TYPE_CHECKING:
    from penstock import _core
    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike
    from penstock.autograph.experimental import Feature

__all__ = [
    "convert",
    "convert_function",
    "experimental",
    "set_element_type",
    "set_verbosity",
    "stack",
    "to_code",
    "to_graph",
    "trace",
]


def _python_function(entity: Any) -> Any:
    function = getattr(entity, "python_function", entity)
    if not callable(function):
        raise TypeError(f"argument 'entity' must be a function, got {entity!r}")
    return function


def convert_function(python_function: Callable[..., Any]) -> Callable[..., Any]:
    """Convert a Python callable into what is traced in its place.

    Args:
        python_function: a function, method, lambda, partial or callable object.

    Returns:
        A function with the same parameters, or the callable itself where its code stays as it is.

    Raises:
        TypeError: for an async function.

    >>> from penstock.autograph import convert_function
    >>> convert_function(lambda x: x + 1)(2)
    3
    """
    from penstock.autograph import _traced  # start-up does without it

    return _traced.convert_function(python_function)


def to_graph(
    entity: Callable[..., Any],
    recursive: bool = True,
    experimental_optional_features: Feature | tuple[Feature, ...] | None = None,
) -> Callable[..., Any]:
    """Convert the control flow of a Python function: make what `tf.function` traces.

    Args:
        entity: a Python function, or one that `tf.function` made.
        recursive: accepted; functions that it calls are converted too.
        experimental_optional_features: accepted and ignored.

    Returns:
        A function with the same parameters.

    Raises:
        TypeError: where it is no function, or cannot be converted.
        ValueError: where its source is not available.

    >>> import penstock as tf
    >>> import textwrap
    >>> callable(tf.autograph.to_graph(textwrap.indent))
    True
    """
    from types import FunctionType  # no name of this module

    from penstock.autograph import _calls, _convert, _source  # start-up does without it

    function = _python_function(entity)
    plain = getattr(function, "__func__", function)
    if isinstance(plain, FunctionType):
        try:
            changed = _convert.converted(plain, strict=True)
        except _source.SourceError as error:
            raise ValueError(f"{plain.__qualname__} cannot be converted: {error}") from None
        if plain is function and changed is not plain:
            return changed  # type: ignore[no-any-return]
    found: Callable[..., Any] = _calls.callee(function)
    return found


def to_code(
    entity: Callable[..., Any],
    recursive: bool = True,
    experimental_optional_features: Feature | tuple[Feature, ...] | None = None,
) -> str:
    """Show what a Python function does once it is converted.

    Jumps are flags. A comment says which variables an `if` sets, and a loop carries, where tensors decide,
    and what else the function changes. The code has the user's names, and runs.

    Args:
        entity: a Python function, or one that `tf.function` made.
        recursive: accepted and ignored.
        experimental_optional_features: accepted and ignored.

    Returns:
        Source, for people to read.

    Raises:
        TypeError: where it is no Python function.
        ValueError: where its source is not available.

    >>> import penstock as tf
    >>> import textwrap
    >>> print(tf.autograph.to_code(textwrap.indent).splitlines()[0])
    def indent(text, prefix, predicate=None):
    """
    from penstock.autograph import _convert, _source  # start-up does without it

    function = _python_function(entity)
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__"):
        raise TypeError(f"argument 'entity' must be a Python function, got {entity!r}")
    try:
        return _convert.source_of(function)
    except _source.SourceError as error:
        raise ValueError(f"{function.__qualname__} cannot be converted: {error}") from None


def convert(
    recursive: bool = True,
    optional_features: Feature | tuple[Feature, ...] | None = None,
    user_requested: bool = True,
) -> Callable[..., Any]:
    """Make a decorator that converts the control flow of a function, to be called while tracing, or eagerly.

    Args:
        recursive: accepted; functions that it calls are converted too.
        optional_features: accepted and ignored.
        user_requested: accepted and ignored.

    Returns:
        A decorator, whose result has the parameters of the function.

    >>> import penstock as tf
    >>> @tf.autograph.to_graph
    ... def sign(x):
    ...     return 1 if x > 0 else -1
    >>> sign(tf.constant(3.0))
    1
    """
    import functools  # no name of this module

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        changed: list[Any] = []

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if not changed:
                changed.append(convert_function(function))
            return changed[0](*args, **kwargs)

        return run

    return decorate


def set_element_type(target: Any, dtype: DTypeLike, shape: ShapeLike = ()) -> Any:
    """Say what a list holds, so that it can grow in a loop of the graph.

    In a converted function `set_element_type(z, dtype)`, as a statement about a local variable, makes `z`
    such a list; elsewhere it does nothing.

    Args:
        target: the list.
        dtype: the dtype of its elements.
        shape: their shape, known in full.

    Returns:
        The list to go on with.

    >>> import penstock as tf
    >>> from penstock.autograph import set_element_type
    >>> @tf.function
    ... def squares(n):
    ...     found = []
    ...     tf.autograph.set_element_type(found, tf.int32)
    ...     for i in tf.range(n):
    ...         found.append(i * i)
    ...     return tf.stack(found)
    >>> squares(tf.constant(4)).numpy()
    array([0, 1, 4, 9], dtype=int32)
    """
    from penstock.autograph import _lists  # start-up does without it

    return _lists.set_element_type(target, dtype, shape)


def stack(
    list_or_tensor: Sequence[TensorLike] | _core.Tensor,
    element_dtype: DTypeLike | None = None,
    strict: bool = True,
) -> Any:
    """Stack the elements of a list along a new first dimension.

    Args:
        list_or_tensor: a list, whose elements have one dtype and shape.
        element_dtype: accepted and ignored.
        strict: accepted and ignored.

    Returns:
        A tensor of shape `[n, ...]`.

    >>> import penstock as tf
    >>> from penstock.autograph import stack
    >>> tf.autograph.stack([1, 2, 3]).numpy()
    array([1, 2, 3], dtype=int32)
    """
    from penstock.autograph import _lists  # start-up does without it

    return _lists.stack(list_or_tensor)


def trace(*args: object) -> None:
    """Print values while a function is traced, once for each trace.

    Args:
        *args: what to print.

    >>> import penstock as tf
    >>> tf.autograph.trace('x is', 3)
    x is 3
    """
    print(*args)


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set how much the conversion logs, to the logger `penstock.autograph`.

    Args:
        level: 0 for nothing but warnings; from 1 on, each function that is converted.
        alsologtostdout: whether messages go to standard output too.

    Raises:
        ValueError: where it is no integer from 0 on.

    >>> import penstock as tf
    >>> tf.autograph.set_verbosity(0)
    """
    if isinstance(level, bool) or not isinstance(level, int) or level < 0:
        raise ValueError(f"argument 'level' must be an integer from 0 on, got {level!r}")
    import logging  # start-up does without it
    import sys  # no name of this module

    class Stdout(logging.StreamHandler):  # type: ignore[type-arg]
        """Writes to what standard output is when it writes."""

        def emit(self, record: logging.LogRecord) -> None:
            self.setStream(sys.stdout)
            super().emit(record)

    logger = logging.getLogger("penstock.autograph")
    logger.setLevel(logging.WARNING if level == 0 else logging.INFO)
    for handler in [h for h in logger.handlers if type(h).__qualname__ == Stdout.__qualname__]:
        logger.removeHandler(handler)
    if alsologtostdout:
        logger.addHandler(Stdout())
