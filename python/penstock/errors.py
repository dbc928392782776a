"""The exceptions of the engine, by TensorFlow's names.

Each derives from `OpError`, and from the Python builtin that a user would catch for the same fault.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OK",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DTypeError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InaccessibleTensorError",
    "IndexOutOfBoundsError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
]

# The numbers of the faults, as `error_code` has them.
OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """A failed operation.

    It is made of a message and the name of an operator or, as in TensorFlow, of `(node_def, op, message)`,
    where `node_def` is ignored.

    Attributes:
        message: what went wrong.
        op: the name of the operator at fault, or None.

    >>> import penstock as tf
    >>> try:
    ...     tf.reshape([1, 2, 3], [2, 2])
    ... except tf.errors.OpError as error:
    ...     error.error_code == tf.errors.INVALID_ARGUMENT
    True
    """

    error_code = UNKNOWN

    def __init__(self, *args: Any, message: str = "", op: Any = None, node_def: Any = None) -> None:
        match args:
            case (_, op, message, *_):
                pass
            case (_, op) if message:
                pass
            case (message, op):
                pass
            case (_,) if message:
                pass
            case (message,):
                pass
        super().__init__(message)
        self.message = message
        self.op: str | None = getattr(op, "name", op)


class CancelledError(OpError):
    """The operation was cancelled."""

    error_code = CANCELLED


class UnknownError(OpError):
    """A fault of unknown kind."""

    error_code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """An argument has a value, shape or rank that the operation does not take.

    >>> import penstock as tf
    >>> try:
    ...     tf.reshape([1, 2, 3], [2, 2])
    ... except tf.errors.InvalidArgumentError as error:
    ...     isinstance(error, ValueError)
    True
    """

    error_code = INVALID_ARGUMENT


class DTypeError(InvalidArgumentError, TypeError):
    """An argument has a dtype that the operation does not take."""


class IndexOutOfBoundsError(InvalidArgumentError, IndexError):
    """An index is outside its dimension."""


class DeadlineExceededError(OpError, TimeoutError):
    """A deadline passed."""

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError, LookupError):
    """Something named does not exist."""

    error_code = NOT_FOUND


class AlreadyExistsError(OpError):
    """Something exists that was to be created."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError, PermissionError):
    """The caller may not do this."""

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(OpError, MemoryError):
    """Memory or another resource is used up."""

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError, RuntimeError):
    """The state is not one in which the operation may run: a variable without a value, say."""

    error_code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The operation was given up, typically after a conflict."""

    error_code = ABORTED


class OutOfRangeError(OpError, IndexError):
    """An index or position is outside its range, or an iterator is at its end."""

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError, NotImplementedError):
    """The combination of arguments is not supported."""

    error_code = UNIMPLEMENTED


class InaccessibleTensorError(OpError, TypeError, ValueError):
    """A symbolic tensor is used outside of the function, or the branch or loop, in which it was made."""

    error_code = INVALID_ARGUMENT


class InternalError(OpError, RuntimeError):
    """A defect of the engine."""

    error_code = INTERNAL


class UnavailableError(OpError):
    """A service is unavailable."""

    error_code = UNAVAILABLE


class DataLossError(OpError):
    """Data are lost or corrupt."""

    error_code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The caller is not authenticated."""

    error_code = UNAUTHENTICATED


class OperatorNotAllowedInGraphError(TypeError):
    """Python needs the value of a tensor that has none while its function is traced."""


_BY_CLASS: dict[str, type[Exception]] = {
    "InvalidArgument": InvalidArgumentError,
    "DType": DTypeError,
    "IndexOutOfBounds": IndexOutOfBoundsError,
    "OutOfScope": InaccessibleTensorError,
    "OutOfRange": OutOfRangeError,
    "NotFound": NotFoundError,
    "FailedPrecondition": FailedPreconditionError,
    "Unimplemented": UnimplementedError,
    "ResourceExhausted": ResourceExhaustedError,
    "Cancelled": CancelledError,
    "Unavailable": UnavailableError,
    "Unknown": UnknownError,
    "Internal": InternalError,
}
