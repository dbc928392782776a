"""Assertions about values, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import integer
from penstock._runtime.print import Assert as Assert, check as _check

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
    "is_numeric_tensor",
    "is_traceback_filtering_enabled",
]


def _prefix(message: str | None) -> str:
    return f"{message} " if message else ""


# Operands for which a comparison holds, for the examples.
_HOLDS = {"==": "[1, 2], [1, 2]", "!=": "1, 2", "<": "1, 2", "<=": "1, 2", ">": "2, 1", ">=": "2, 1"}


def _comparison(symbol: str, name: str, what: str, compare: Callable[[Any, Any], Any]) -> Callable[..., None]:
    """The assertion that a comparison holds for all pairs of elements."""

    def function(
        x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        if isinstance(x, _core.Tensor | _core._Variable):
            x = _core._to_tensor(x)
            y = _core._to_tensor_hinted(y, x.dtype)
        else:
            y = _core._to_tensor(y)
            x = _core._to_tensor_hinted(x, y.dtype)
        holds = raw_ops.reduce_all(compare(x, y))
        _check(
            holds,
            ["x:", x, "y:", y],
            f"{_prefix(message)}Condition x {symbol} y did not hold element-wise.",
            summarize,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Raises InvalidArgumentError unless {what} for all elements, which broadcast.

    In a traced function the check is made each time that it runs.

    Args:
        x: a tensor.
        y: a tensor of the same dtype.
        message: what the error says first.
        summarize: how many elements of each to show, 3 by default.
        name: ignored.

    >>> {name}({_HOLDS[symbol]})
    """
    return function


def _equal(x: Any, y: Any) -> Any:
    return (raw_ops.string_equal if x.dtype == _core.string else raw_ops.equal)(x, y)


assert_equal = _comparison("==", "assert_equal", "`x == y`", _equal)
assert_none_equal = _comparison(
    "!=", "assert_none_equal", "`x != y`", lambda x, y: raw_ops.logical_not(_equal(x, y))
)
assert_less = _comparison("<", "assert_less", "`x < y`", raw_ops.less)
assert_less_equal = _comparison("<=", "assert_less_equal", "`x <= y`", raw_ops.less_equal)
assert_greater = _comparison(">", "assert_greater", "`x > y`", raw_ops.greater)
assert_greater_equal = _comparison(">=", "assert_greater_equal", "`x >= y`", raw_ops.greater_equal)


def _sign(symbol: str, name: str, compare: Callable[[Any, Any], Any]) -> Callable[..., None]:
    """The assertion that a comparison with 0 holds for all elements."""

    def function(
        x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        x = _core._to_tensor(x)
        holds = raw_ops.reduce_all(compare(x, raw_ops.zeros_like(x)))
        _check(
            holds,
            ["x:", x],
            f"{_prefix(message)}Condition x {symbol} 0 did not hold element-wise.",
            summarize,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Raises InvalidArgumentError unless `x {symbol} 0` for all elements.

    Args:
        x: a numeric tensor.
        message: what the error says first.
        summarize: how many elements to show, 3 by default.
        name: ignored.

    >>> {name}({-1.5 if "<" in symbol else 1.5})
    """
    return function


assert_negative = _sign("<", "assert_negative", raw_ops.less)
assert_positive = _sign(">", "assert_positive", raw_ops.greater)
assert_non_negative = _sign(">=", "assert_non_negative", raw_ops.greater_equal)
assert_non_positive = _sign("<=", "assert_non_positive", raw_ops.less_equal)

_EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises InvalidArgumentError unless `|x - y| <= atol + rtol * |y|` for all elements.

    Args:
        x: floating point or complex.
        y: a tensor of the same dtype.
        rtol: the relative tolerance, by default ten times the dtype's precision.
        atol: the absolute tolerance, by default the same.
        message: what the error says first.
        summarize: how many elements of each to show, 3 by default.
        name: ignored.

    >>> assert_near([1.0], [1.0 + 1e-7])
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


def assert_rank(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises unless `x` has `rank` dimensions.

    Args:
        x: a tensor.
        rank: the rank that it must have.
        message: what the error says first.
        name: ignored.

    Raises:
        ValueError: where the rank is known and another.
        InvalidArgumentError: where it turns out to be another when a traced function runs.

    >>> assert_rank([[1, 2]], 2)
    """
    _assert_rank(x, [rank], message, str(rank), _is)


def _is(a: Any, b: int) -> Any:
    return raw_ops.equal(a, b) if isinstance(a, _core.Tensor) else a == b


def assert_rank_at_least(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises unless `x` has `rank` dimensions or more; errors as of `assert_rank`.

    Args:
        x: a tensor.
        rank: the least rank.
        message: what the error says first.
        name: ignored.

    Raises:
        ValueError: for a tensor of lower rank.

    >>> assert_rank_at_least([[1, 2]], 1)
    """
    _assert_rank(x, [rank], message, f"at least {rank}", lambda a, b: a >= b)


def assert_rank_in(x: Any, ranks: Iterable[Any], message: str | None = None, name: str | None = None) -> None:
    """Raises unless the number of dimensions of `x` is one of `ranks`; errors as of `assert_rank`.

    Args:
        x: a tensor.
        ranks: the ranks that are allowed.
        message: what the error says first.
        name: ignored.

    Raises:
        ValueError: for a tensor of another rank.

    >>> assert_rank_in([[1, 2]], [1, 2])
    """
    ranks = list(ranks)
    _assert_rank(x, ranks, message, f"in {ranks}", _is)


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> _core.Tensor:
    """The tensor, where it has no dimensions; errors as of `assert_rank`.

    Args:
        tensor: a tensor.
        message: what the error says first.
        name: ignored.

    Raises:
        ValueError: for a tensor of another rank.

    >>> assert_scalar(3).numpy()
    np.int32(3)
    """
    x = _core._to_tensor(tensor)
    assert_rank(x, 0, message)
    return x


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raises unless tensors have the shapes that are described, and sizes of one name are the same.

    Args:
        shapes: a dict, or a list of pairs, of tensors and descriptions: a sequence with an int, a name or
            None (for any size) for each dimension; `...` or `"*"` first or last stands for any dimensions; a
            single entry that is no sequence describes a vector; an empty one a scalar.
        data: values to show in errors when a traced function runs.
        summarize: how many elements of each to show, 3 by default.
        message: what the error says first.
        name: ignored.

    Raises:
        ValueError: where what is known contradicts the description.
        InvalidArgumentError: where it turns out to when a traced function runs.

    >>> import penstock as tf
    >>> tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("N", 3)), (tf.zeros([2]), ("N",))])
    """
    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    named: dict[str, Any] = {}
    for x, description in pairs:
        x = x.deref() if isinstance(x, _core.Reference) else x
        x = _core._to_tensor(x)
        for what, wanted, found in _dimensions(x, description, message):
            expected = wanted
            if isinstance(wanted, str):
                expected = named.setdefault(wanted, found)
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


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises TypeError unless the tensor has the dtype `tf_type`.

    Args:
        tensor: a tensor.
        tf_type: the dtype that it must have.
        message: what the error says first.
        name: ignored.

    Raises:
        TypeError: for another dtype.

    >>> assert_type([1, 2], 'int32')
    """
    tensor, wanted = _core._to_tensor(tensor), _core.DType(tf_type)
    if tensor.dtype != wanted:
        raise TypeError(
            f"{_prefix(message)}argument 'tensor' must be of dtype {wanted.name}, got {tensor.dtype.name}"
        )


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises TypeError unless the tensor holds integers.

    Args:
        x: a tensor.
        message: what the error says first.
        name: ignored.

    Raises:
        TypeError: for a tensor of another dtype.

    >>> assert_integer([1, 2])
    """
    x = _core._to_tensor(x)
    if not x.dtype.is_integer:
        raise TypeError(f"{_prefix(message)}argument 'x' must hold integers, got {x.dtype.name}")


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> _core.DType:
    """The one floating point dtype of all tensors.

    Args:
        tensors: a sequence; `None` entries are left out.
        dtype: the dtype that they must have; by default that of the first, or `float32` where there is none.

    Raises:
        ValueError: where they differ, or the dtype is not floating point.

    >>> assert_same_float_dtype([[1.0], [2.0]])
    tf.float32
    """
    wanted = None if dtype is None else _core.DType(dtype)
    for tensor in tensors or []:
        if tensor is None:
            continue
        own = _core._to_tensor(tensor).dtype
        if wanted is None:
            wanted = own
        elif own != wanted:
            raise ValueError(f"argument 'tensors' must all be of dtype {wanted.name}, got {own.name}")
    if wanted is None:
        return _core.float32
    if not wanted.is_floating:
        raise ValueError(f"expected a floating point dtype, got {wanted.name}")
    return wanted


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers.

    Args:
        tensor: anything.

    >>> import penstock as tf
    >>> is_numeric_tensor(tf.constant([1, 2])), is_numeric_tensor('text')
    (True, False)
    """
    if not isinstance(tensor, _core.Tensor | _core._Variable):
        return False
    return bool(tensor.dtype.is_integer or tensor.dtype.is_floating or tensor.dtype.is_complex)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> _core.Tensor:
    """The tensor, where no element is infinite or NaN.

    Args:
        tensor: a floating-point tensor.
        message: what the error says first.
        name: ignored.

    Raises:
        InvalidArgumentError: where one is, with the message.

    >>> check_numerics([1.0, 2.0], 'not finite').numpy()
    array([1., 2.], dtype=float32)
    """
    return raw_ops.check_numerics(tensor, message=message)


def assert_all_finite(x: Any, message: str, name: str | None = None) -> _core.Tensor:
    """`check_numerics` by another name.

    Args:
        x: a floating-point tensor.
        message: what the error says first.
        name: ignored.

    Raises:
        InvalidArgumentError: where an element is infinite or NaN.

    >>> assert_all_finite([1.0, 2.0], 'not finite').numpy()
    array([1., 2.], dtype=float32)
    """
    return check_numerics(x, message)


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Has every operation check that its real and complex results are finite, in traced functions too.

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
    """Stops what `enable_check_numerics` started.

    >>> disable_check_numerics()
    """
    _core._set_check_numerics(False)


# --- tracebacks ---

_filtering = True


def enable_traceback_filtering() -> None:
    """Asks for tracebacks without the frames of AutoGraph and of the Python layer.

    >>> enable_traceback_filtering()
    >>> is_traceback_filtering_enabled()
    True
    """
    global _filtering
    _filtering = True


def disable_traceback_filtering() -> None:
    """Asks for tracebacks with the frames of the Python layer, as they are.

    >>> disable_traceback_filtering()
    >>> is_traceback_filtering_enabled()
    False
    >>> enable_traceback_filtering()
    """
    global _filtering
    _filtering = False


def is_traceback_filtering_enabled() -> bool:
    """What was asked for last: true at first.

    >>> is_traceback_filtering_enabled()
    True
    """
    return _filtering
