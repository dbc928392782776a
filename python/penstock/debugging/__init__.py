"""Assertions about values, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import _core, raw_ops
from penstock._runtime.arguments import integer, named
from penstock._runtime.debug_switches import (
    disable_traceback_filtering as disable_traceback_filtering,
    enable_traceback_filtering as enable_traceback_filtering,
    get_log_device_placement as get_log_device_placement,
    is_traceback_filtering_enabled as is_traceback_filtering_enabled,
    set_log_device_placement as set_log_device_placement,
)
from penstock._runtime.dispatch import dispatched
from penstock._runtime.print import Assert as Assert, check as _check, showing
from penstock._runtime.public_names import publish as _publish

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, TensorLike
    from penstock.debugging import experimental as experimental

# What describes a shape: an entry for each dimension, or one for a vector.
_Shape: TypeAlias = "Iterable[Any] | int | str | None"

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "check_numerics",
    "disable_check_numerics",
    "disable_traceback_filtering",
    "enable_check_numerics",
    "enable_traceback_filtering",
    "experimental",
    "get_log_device_placement",
    "is_numeric_tensor",
    "is_traceback_filtering_enabled",
    "set_log_device_placement",
]


def _prefix(message: str | None) -> str:
    return f"{message} " if message else ""


def _check_pair(
    x: TensorLike,
    y: TensorLike,
    symbol: str,
    compare: Callable[[_core.Tensor, _core.Tensor], _core.Tensor],
    message: str | None,
    summarize: int | None,
) -> None:
    """The check that a comparison holds for all pairs of elements."""
    text = f"{_prefix(message)}Condition x {symbol} y did not hold element-wise."

    def check(a: _core.Tensor, b: _core.Tensor) -> None:
        _check(raw_ops.reduce_all(compare(a, b)), ["x:", a, "y:", b], text, summarize)

    _check_known(check, *_core._operands(x, y))


def _check_known(check: Callable[..., None], *tensors: _core.Tensor) -> None:
    """Makes a check of tensors; where a trace knows their values, what does not hold is an error at once."""
    known = [_core._known_value(tensor) for tensor in tensors] if _core._is_tracing() else [None]
    if not any(value is None for value in known):
        with showing(None), _core._Outside():
            check(*known)
    check(*tensors)


def _equal(a: _core.Tensor, b: _core.Tensor) -> _core.Tensor:
    return (raw_ops.string_equal if a.dtype == _core.string else raw_ops.equal)(a, b)


def _not_equal(a: _core.Tensor, b: _core.Tensor) -> _core.Tensor:
    return raw_ops.logical_not(_equal(a, b))


@dispatched
def assert_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Check that `x == y` for all elements, which broadcast; in a traced function each time that it runs.

    Args:
        x: a tensor.
        y: a tensor of the same dtype.
        message: what the error says first.
        summarize: how many elements of each to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_equal([1, 2], [1, 2])
    """
    _check_pair(x, y, "==", _equal, message, summarize)


@dispatched
def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Check that `x != y` for all elements, which broadcast; in a traced function each time that it runs.

    Args:
        x: a tensor.
        y: a tensor of the same dtype.
        summarize: how many elements of each to show, 3 by default.
        message: what the error says first.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_none_equal(1, 2)
    """
    _check_pair(x, y, "!=", _not_equal, message, summarize)


@dispatched
def assert_less(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Check that `x < y` for all elements, which broadcast; in a traced function each time that it runs.

    Args:
        x: a tensor.
        y: a tensor of the same dtype.
        message: what the error says first.
        summarize: how many elements of each to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_less(1, 2)
    """
    _check_pair(x, y, "<", raw_ops.less, message, summarize)


@dispatched
def assert_less_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Check that `x <= y` for all elements, which broadcast; in a traced function each time that it runs.

    Args:
        x: a tensor.
        y: a tensor of the same dtype.
        message: what the error says first.
        summarize: how many elements of each to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_less_equal(1, 2)
    """
    _check_pair(x, y, "<=", raw_ops.less_equal, message, summarize)


@dispatched
def assert_greater(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Check that `x > y` for all elements, which broadcast; in a traced function each time that it runs.

    Args:
        x: a tensor.
        y: a tensor of the same dtype.
        message: what the error says first.
        summarize: how many elements of each to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_greater(2, 1)
    """
    _check_pair(x, y, ">", raw_ops.greater, message, summarize)


@dispatched
def assert_greater_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Check that `x >= y` for all elements, which broadcast; in a traced function each time that it runs.

    Args:
        x: a tensor.
        y: a tensor of the same dtype.
        message: what the error says first.
        summarize: how many elements of each to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_greater_equal(2, 1)
    """
    _check_pair(x, y, ">=", raw_ops.greater_equal, message, summarize)


def _check_sign(
    x: TensorLike,
    symbol: str,
    compare: Callable[[_core.Tensor, _core.Tensor], _core.Tensor],
    message: str | None,
    summarize: int | None,
) -> None:
    """The check that a comparison with 0 holds for all elements."""
    text = f"{_prefix(message)}Condition x {symbol} 0 did not hold element-wise."

    def check(a: _core.Tensor) -> None:
        _check(raw_ops.reduce_all(compare(a, raw_ops.zeros_like(a))), ["x:", a], text, summarize)

    _check_known(check, _core._to_tensor(x))


def assert_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Check that `x < 0` for all elements; in a traced function each time that it runs.

    Args:
        x: a numeric tensor.
        message: what the error says first.
        summarize: how many elements to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_negative(-1.5)
    """
    _check_sign(x, "<", raw_ops.less, message, summarize)


def assert_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Check that `x > 0` for all elements; in a traced function each time that it runs.

    Args:
        x: a numeric tensor.
        message: what the error says first.
        summarize: how many elements to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_positive(1.5)
    """
    _check_sign(x, ">", raw_ops.greater, message, summarize)


def assert_non_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Check that `x >= 0` for all elements; in a traced function each time that it runs.

    Args:
        x: a numeric tensor.
        message: what the error says first.
        summarize: how many elements to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_non_negative(1.5)
    """
    _check_sign(x, ">=", raw_ops.greater_equal, message, summarize)


def assert_non_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Check that `x <= 0` for all elements; in a traced function each time that it runs.

    Args:
        x: a numeric tensor.
        message: what the error says first.
        summarize: how many elements to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_non_positive(-1.5)
    """
    _check_sign(x, "<=", raw_ops.less_equal, message, summarize)


_EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


@dispatched
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Check that `|x - y| <= atol + rtol * |y|` for all elements.

    Args:
        x: floating point or complex.
        y: a tensor of the same dtype.
        rtol: the relative tolerance, by default ten times the dtype's precision.
        atol: the absolute tolerance, by default the same.
        message: what the error says first.
        summarize: how many elements of each to show, 3 by default.
        name: accepted; a check has no result to name.

    Raises:
        InvalidArgumentError: where it does not hold.

    >>> import penstock as tf
    >>> tf.debugging.assert_near([1.0], [1.0 + 1e-7])
    """
    x = _core._to_tensor(x)
    y = _core._to_tensor_hinted(y, x.dtype)
    distance, size = raw_ops.abs(x - y), raw_ops.abs(y)
    default = 10 * _EPSILONS.get(distance.dtype.name, 0.0)
    rtol = _core._to_tensor_hinted(default if rtol is None else rtol, distance.dtype)
    atol = _core._to_tensor_hinted(default if atol is None else atol, distance.dtype)
    holds = raw_ops.reduce_all(distance <= atol + rtol * size)
    _check(holds, ["x:", x, "y:", y], f"{_prefix(message)}x and y are not equal to tolerance.", summarize)


# --- ranks and shapes ---


def _assert_rank(
    x: Any, ranks: Iterable[Any], message: str | None, what: str, fits: Callable[[Any, Any], Any]
) -> None:
    x = _core._to_tensor(x)
    wanted = [integer(rank, "rank") for rank in ranks]
    static = x.shape.rank
    if static is not None:
        if not any(fits(static, rank) for rank in wanted):
            raise ValueError(
                f"{_prefix(message)}Tensor must have rank {what}.  Received rank {static}, shape {x.shape}"
            )
        return
    rank = raw_ops.rank(x)
    holds = raw_ops.reduce_any(raw_ops.stack([_core._to_tensor(fits(rank, r)) for r in wanted]))
    _check(holds, ["rank:", rank], f"{_prefix(message)}Tensor must have rank {what}.", None)


@dispatched
def assert_rank(x: TensorLike, rank: IntLike, message: str | None = None, name: str | None = None) -> None:
    """Check that a tensor has a number of dimensions.

    Args:
        x: a tensor.
        rank: the rank that it must have.
        message: what the error says first.
        name: accepted; a check has no result to name.

    Raises:
        ValueError: where the rank is known and another.
        InvalidArgumentError: where it turns out to be another when a traced function runs.

    >>> import penstock as tf
    >>> tf.debugging.assert_rank([[1, 2]], 2)
    """
    _assert_rank(x, [rank], message, str(rank), _is)


def _is(a: Any, b: int) -> Any:
    return raw_ops.equal(a, b) if isinstance(a, _core.Tensor) else a == b


@dispatched
def assert_rank_at_least(
    x: TensorLike, rank: IntLike, message: str | None = None, name: str | None = None
) -> None:
    """Check that a tensor has a number of dimensions or more.

    Args:
        x: a tensor.
        rank: the least rank.
        message: what the error says first.
        name: accepted; a check has no result to name.

    Raises:
        ValueError: where the rank is known and lower.
        InvalidArgumentError: where it turns out to be lower when a traced function runs.

    >>> import penstock as tf
    >>> tf.debugging.assert_rank_at_least([[1, 2]], 1)
    """
    _assert_rank(x, [rank], message, f"at least {rank}", lambda a, b: a >= b)


@dispatched
def assert_rank_in(
    x: TensorLike, ranks: Iterable[IntLike], message: str | None = None, name: str | None = None
) -> None:
    """Check that the number of dimensions of a tensor is one of several.

    Args:
        x: a tensor.
        ranks: the ranks that are allowed.
        message: what the error says first.
        name: accepted; a check has no result to name.

    Raises:
        ValueError: where the rank is known and another.
        InvalidArgumentError: where it turns out to be another when a traced function runs.

    >>> import penstock as tf
    >>> tf.debugging.assert_rank_in([[1, 2]], [1, 2])
    """
    ranks = list(ranks)
    _assert_rank(x, ranks, message, f"in {ranks}", _is)


def assert_scalar(tensor: TensorLike, message: str | None = None, name: str | None = None) -> _core.Tensor:
    """Check that a tensor has no dimensions.

    Args:
        tensor: a tensor.
        message: what the error says first.
        name: a name for the result in a graph.

    Returns:
        The tensor.

    Raises:
        ValueError: where the rank is known and another.
        InvalidArgumentError: where it turns out to be another when a traced function runs.

    >>> import penstock as tf
    >>> tf.debugging.assert_scalar(3).numpy()
    np.int32(3)
    """
    x = _core._to_tensor(tensor)
    assert_rank(x, 0, message)
    return named(x, name)


def assert_shapes(
    shapes: Mapping[Any, _Shape] | Iterable[tuple[TensorLike, _Shape]],
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Check that tensors have the shapes that are described, and that sizes of one name are the same.

    Args:
        shapes: a dict, or a list of pairs, of tensors and descriptions: a sequence with an int, a name or
            None (for any size) for each dimension; `...` or `"*"` first or last stands for any dimensions; a
            single entry that is no sequence describes a vector; an empty one a scalar.
        data: values to show in errors when a traced function runs.
        summarize: how many elements of each to show, 3 by default.
        message: what the error says first.
        name: accepted; a check has no result to name.

    Raises:
        ValueError: where what is known contradicts the description.
        InvalidArgumentError: where it turns out to when a traced function runs.

    >>> import penstock as tf
    >>> tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("N", 3)), (tf.zeros([2]), ("N",))])
    """
    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    sizes: dict[str, Any] = {}
    for x, description in pairs:
        x = x.deref() if isinstance(x, _core.Reference) else x
        x = _core._to_tensor(x)
        for what, wanted, found in _dimensions(x, description, message):
            expected = wanted
            if isinstance(wanted, str):
                expected = sizes.setdefault(wanted, found)
            if isinstance(expected, int) and isinstance(found, int):
                if expected != found:
                    raise ValueError(
                        f"{_prefix(message)}{what} of shape {x.shape} must be {expected} ({wanted!r})"
                    )
            else:
                text = f"{_prefix(message)}{what} must be {wanted!r}."
                _check(
                    raw_ops.equal(expected, found),
                    [*(data or []), "expected:", expected, "found:", found],
                    text,
                    summarize,
                )


def _dimensions(x: _core.Tensor, description: Any, message: str | None) -> list[tuple[str, Any, Any]]:
    """What is described of each dimension, and its size."""
    if isinstance(description, str) or not hasattr(description, "__iter__"):
        description = (
            list(description) if isinstance(description, str) and len(description) > 1 else [description]
        )
    entries = list(description)
    open_start = bool(entries) and entries[0] in (..., "*")
    open_end = bool(entries) and entries[-1] in (..., "*") and not (open_start and len(entries) == 1)
    entries = entries[open_start : len(entries) - open_end]
    if open_start or open_end:
        assert_rank_at_least(x, len(entries), message)
    else:
        assert_rank(x, len(entries), message)
    found = []
    for i, wanted in enumerate(entries):
        place = i - len(entries) if open_start else i
        if wanted is None or wanted == ".":
            continue
        wanted = wanted if isinstance(wanted, str) else int(wanted)
        static = x.shape[place] if x.shape.rank is not None else None
        found.append((f"dimension {place}", wanted, raw_ops.shape(x)[place] if static is None else static))
    return found


# --- dtypes ---


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """Check that a tensor has a dtype.

    Args:
        tensor: a tensor.
        tf_type: the dtype that it must have.
        message: what the error says first.
        name: accepted; a check has no result to name.

    Raises:
        TypeError: for another dtype.

    >>> import penstock as tf
    >>> tf.debugging.assert_type([1, 2], 'int32')
    """
    tensor, wanted = _core._to_tensor(tensor), _core.DType(tf_type)
    if tensor.dtype != wanted:
        raise TypeError(
            f"{_prefix(message)}argument 'tensor' must be of dtype {wanted.name}, got {tensor.dtype.name}"
        )


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Check that a tensor holds integers.

    Args:
        x: a tensor.
        message: what the error says first.
        name: accepted; a check has no result to name.

    Raises:
        TypeError: for a tensor of another dtype.

    >>> import penstock as tf
    >>> tf.debugging.assert_integer([1, 2])
    """
    x = _core._to_tensor(x)
    if not x.dtype.is_integer:
        raise TypeError(f"{_prefix(message)}argument 'x' must hold integers, got {x.dtype.name}")


@dispatched
def assert_same_float_dtype(
    tensors: Iterable[TensorLike | None] | None = None, dtype: DTypeLike | None = None
) -> _core.DType:
    """Check that all tensors have one floating-point dtype.

    Args:
        tensors: a sequence; `None` entries are left out.
        dtype: the dtype that they must have; by default that of the first, or `float32` where there is none.

    Returns:
        The dtype.

    Raises:
        ValueError: where they differ, or the dtype is not floating point.

    >>> import penstock as tf
    >>> tf.debugging.assert_same_float_dtype([[1.0], [2.0]])
    tf.float32
    """
    wanted = None if dtype is None else _core.DType(dtype)
    for tensor in () if tensors is None else tensors:
        if tensor is None:
            continue
        # Whatever has a dtype counts by it, such as a distribution.
        own = _core.DType(tensor.dtype) if hasattr(tensor, "dtype") else _core._to_tensor(tensor).dtype
        if wanted is None:
            wanted = own
        elif own != wanted:
            raise ValueError(f"argument 'tensors' must all be of dtype {wanted.name}, got {own.name}")
    if wanted is None:
        return _core.float32
    if not wanted.is_floating:
        raise ValueError(f"expected a floating point dtype, got {wanted.name}")
    return wanted


def is_numeric_tensor(tensor: object) -> bool:
    """Tell whether a value is a tensor of numbers.

    Args:
        tensor: anything.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.debugging.is_numeric_tensor(tf.constant([1, 2])), tf.debugging.is_numeric_tensor('text')
    (True, False)
    """
    if not isinstance(tensor, _core.Tensor | _core._Variable):
        return False
    return bool(tensor.dtype.is_integer or tensor.dtype.is_floating or tensor.dtype.is_complex)


@dispatched
def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> _core.Tensor:
    """Check that no element is infinite or NaN.

    Args:
        tensor: a floating-point tensor.
        message: what the error says first.
        name: a name for the result in a graph.

    Returns:
        A tensor of the same value.

    Raises:
        InvalidArgumentError: where one is, with the message.

    >>> import penstock as tf
    >>> tf.debugging.check_numerics([1.0, 2.0], 'not finite').numpy()
    array([1., 2.], dtype=float32)
    """
    return raw_ops.check_numerics(tensor, message=message, name=name)


@dispatched
def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> _core.Tensor:
    """Check that no element is infinite or NaN, as `check_numerics` does.

    Args:
        x: a floating-point tensor.
        message: what the error says first.
        name: a name for the result in a graph.

    Returns:
        A tensor of the same value.

    Raises:
        InvalidArgumentError: where an element is infinite or NaN.

    >>> import penstock as tf
    >>> tf.debugging.assert_all_finite([1.0, 2.0], 'not finite').numpy()
    array([1., 2.], dtype=float32)
    """
    return check_numerics(x, message, name=name)


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Let every operation check that its real and complex results are finite, in traced functions too.

    A result that is not raises an error with the operation, its line in the program and the place of the
    first such element. Functions that are traced already check from their next call on; all run more slowly
    meanwhile.

    Args:
        stack_height_limit: accepted and ignored.
        path_length_limit: accepted and ignored.

    >>> import penstock as tf
    >>> tf.debugging.enable_check_numerics()
    >>> try:
    ...     tf.math.log(tf.constant([1.0, 0.0]))
    ... except tf.errors.InvalidArgumentError as error:
    ...     print(error)
    check_numerics: the result of log : Tensor had Inf values, the first at [1]
    >>> tf.debugging.disable_check_numerics()
    """
    _core._set_check_numerics(True)


def disable_check_numerics() -> None:
    """Stop what `enable_check_numerics` started.

    >>> import penstock as tf
    >>> tf.debugging.disable_check_numerics()
    """
    _core._set_check_numerics(False)


# --- tracebacks ---


def assert_proper_iterable(values: object) -> None:
    """Check that a value is a container of several, rather than a single one that Python can go through.

    Args:
        values: a list, a tuple, a dict or another iterable.

    Raises:
        TypeError: for a tensor, an array, a text, or what is no iterable.

    >>> import penstock as tf
    >>> tf.debugging.assert_proper_iterable([tf.constant(1), tf.constant(2)])
    >>> tf.debugging.assert_proper_iterable("ab")
    Traceback (most recent call last):
    TypeError: argument 'values' must be a container of several values, got 'ab'
    """
    single = isinstance(values, _core.Tensor | _core._Variable | str | bytes) or hasattr(values, "_type_spec")
    if single or hasattr(values, "__array__") or not isinstance(values, Iterable):
        raise TypeError(f"argument 'values' must be a container of several values, got {values!r}")


def __getattr__(name: str) -> object:
    if name == "experimental":
        import importlib  # no name of this module

        # Few programs ask for it, and it is slow to load.
        return importlib.import_module("penstock.debugging.experimental")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_publish(__name__)
