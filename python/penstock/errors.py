"""The exceptions of the engine, by TensorFlow's names.

Each derives from `OpError`, and from the Python builtin that a user would catch for the same fault.
"""

from __future__ import annotations

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DTypeError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
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


class OpError(Exception):
    """A failed operation.

    Attributes:
        message: what went wrong.
        op: the name of the operator at fault, or None.
    """

    error_code = 2

    def __init__(self, message: str = "", op: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.op = op


class CancelledError(OpError):
    """The operation was cancelled."""

    error_code = 1


class UnknownError(OpError):
    """A fault of unknown kind."""

    error_code = 2


class InvalidArgumentError(OpError, ValueError):
    """An argument has a value, shape or rank that the operation does not take."""

    error_code = 3


class DTypeError(InvalidArgumentError, TypeError):
    """An argument has a dtype that the operation does not take."""


class DeadlineExceededError(OpError, TimeoutError):
    """A deadline passed."""

    error_code = 4


class NotFoundError(OpError, LookupError):
    """Something named does not exist."""

    error_code = 5


class AlreadyExistsError(OpError):
    """Something exists that was to be created."""

    error_code = 6


class PermissionDeniedError(OpError, PermissionError):
    """The caller may not do this."""

    error_code = 7


class ResourceExhaustedError(OpError, MemoryError):
    """Memory or another resource is used up."""

    error_code = 8


class FailedPreconditionError(OpError, RuntimeError):
    """The state is not one in which the operation may run: a variable without a value, say."""

    error_code = 9


class AbortedError(OpError):
    """The operation was given up, typically after a conflict."""

    error_code = 10


class OutOfRangeError(OpError, IndexError):
    """An index or position is outside its range, or an iterator is at its end."""

    error_code = 11


class UnimplementedError(OpError, NotImplementedError):
    """The combination of arguments is not supported."""

    error_code = 12


class InternalError(OpError, RuntimeError):
    """A defect of the engine."""

    error_code = 13


class UnavailableError(OpError):
    """A service is unavailable."""

    error_code = 14


class DataLossError(OpError):
    """Data are lost or corrupt."""

    error_code = 15


class UnauthenticatedError(OpError):
    """The caller is not authenticated."""

    error_code = 16


class OperatorNotAllowedInGraphError(TypeError):
    """Python needs the value of a tensor that has none while its function is traced."""


_BY_CLASS: dict[str, type[Exception]] = {
    "InvalidArgument": InvalidArgumentError,
    "DType": DTypeError,
    "OutOfRange": OutOfRangeError,
    "NotFound": NotFoundError,
    "FailedPrecondition": FailedPreconditionError,
    "Unimplemented": UnimplementedError,
    "ResourceExhausted": ResourceExhaustedError,
    "Cancelled": CancelledError,
    "Unknown": UnknownError,
    "Internal": InternalError,
}
