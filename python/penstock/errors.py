"""The exceptions of the engine, by TensorFlow's names.

Most derive from `OpError`, and from the Python builtin that a user would catch for the same fault. The first
sentence of each says what has happened, its second paragraph what to do: `docs/errors.md` shows them as a
table.
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
    "ConversionError",
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
    "SignatureError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "UnsetError",
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

    It is made as in TensorFlow, of `(node_def, op, message, error_code)`, its subclasses of `(node_def, op,
    message)`; or of a message alone, with the name of an operator behind it where that is known.

    Args:
        node_def: the node of the graph that failed, or None.
        op: the operation that failed, its name, or None.
        message: what went wrong.
        error_code: the number of the fault.
        *args: a dictionary of details, where there are any.

    Attributes:
        message: what went wrong.
        op: the operation that failed as it was given; of errors of the engine its name, or None.
        node_def: the node as it was given, or None.
        error_code: the number of the fault, such as `tf.errors.NOT_FOUND`.
        experimental_payloads: the details, an empty dictionary where there are none.

    >>> import penstock as tf
    >>> try:
    ...     tf.reshape([1, 2, 3], [2, 2])
    ... except tf.errors.OpError as error:
    ...     error.error_code == tf.errors.INVALID_ARGUMENT
    True
    >>> tf.errors.OpError(None, None, "no such user", tf.errors.NOT_FOUND).error_code
    5
    """

    error_code: int = UNKNOWN

    def __init__(
        self,
        node_def: Any = None,
        op: Any = None,
        message: Any = None,
        error_code: int | None = None,
        *args: Any,
    ) -> None:
        if message is None:
            # A message alone, or before the name of an operator.
            message, node_def = "" if node_def is None else node_def, None
        super().__init__(message)
        self.message = message
        self.op = op
        self.node_def = node_def
        self.experimental_payloads: dict[Any, Any] = args[0] if args else {}
        if error_code is not None:
            self.error_code = error_code


class _Fault(OpError):
    """An error of a class that has a number."""

    def __init__(self, node_def: Any = None, op: Any = None, message: Any = None, *args: Any) -> None:
        super().__init__(node_def, op, message, None, *args)


class CancelledError(_Fault):
    """The operation was cancelled.

    The package raises none; a callback may, and a program in Rust that stops a run does.
    """

    error_code = CANCELLED


class UnknownError(_Fault):
    """A fault that no other class describes, such as a query that a database refuses.

    Read the message, which has the words of who refused.
    """

    error_code = UNKNOWN


class InvalidArgumentError(_Fault, ValueError):
    """An argument has a value, shape or rank that the operation does not take.

    Read which argument, and print its shape: `print(x.shape)`, in a traced function too.

    >>> import penstock as tf
    >>> try:
    ...     tf.reshape([1, 2, 3], [2, 2])
    ... except tf.errors.InvalidArgumentError as error:
    ...     isinstance(error, ValueError)
    True
    """

    error_code = INVALID_ARGUMENT


class DTypeError(InvalidArgumentError, TypeError):
    """An argument has a dtype that the operation does not take.

    Convert with `tf.cast`; make arrays with the dtype that is meant, `np.zeros(3, np.float32)`.
    """


class IndexOutOfBoundsError(InvalidArgumentError, IndexError):
    """An index or a slice is outside its dimension.

    Compare it with `x.shape`. As for lists, the last index is the size minus one.
    """


class DeadlineExceededError(_Fault, TimeoutError):
    """A deadline passed.

    The package raises none; it is there for programs.
    """

    error_code = DEADLINE_EXCEEDED


class NotFoundError(_Fault, LookupError):
    """Something named does not exist: a file, a signature, a gradient of an operator.

    Check the name in the message. For a gradient, `tf.custom_gradient` gives one.
    """

    error_code = NOT_FOUND


class AlreadyExistsError(_Fault):
    """Something exists that was to be created: a file, or a recording of a profile.

    Choose another name, say `overwrite=True`, or end the first one.
    """

    error_code = ALREADY_EXISTS


class PermissionDeniedError(_Fault, PermissionError):
    """The system does not let the process read or write a file.

    Check who owns the file, and its mode.
    """

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(_Fault, MemoryError):
    """Memory or another resource is used up.

    Look for a size that was meant for another dimension, then take smaller batches, or `tf.recompute_grad`.
    The program may catch it and go on.
    """

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_Fault, RuntimeError):
    """Something is not ready for the operation: a variable has no value, or a directory is a file.

    Do first what the message says is missing; give a variable its value.
    """

    error_code = FAILED_PRECONDITION


class AbortedError(_Fault):
    """The operation was given up, typically after a conflict.

    The package raises none; it is there for programs.
    """

    error_code = ABORTED


class OutOfRangeError(_Fault, IndexError):
    """A position is beyond the end: an iterator has no more elements, a `TensorArray` none of that index.

    Use `for` rather than `get_next`, or `next(iterator, None)`; `repeat` makes a data set start again.
    """

    error_code = OUT_OF_RANGE


class UnimplementedError(_Fault, NotImplementedError):
    """The combination of arguments is not supported.

    Do what the message names instead.
    """

    error_code = UNIMPLEMENTED


class InaccessibleTensorError(_Fault, TypeError, ValueError):
    """A symbolic tensor is used outside of the function, or the branch or loop, in which it was made.

    Return it from the function, or assign it to a `tf.Variable`.
    """

    error_code = INVALID_ARGUMENT


class InternalError(_Fault, RuntimeError):
    """A defect of the engine: something happened that its authors thought could not.

    Please report it, with the message and the output of `python -m penstock info`.
    """

    error_code = INTERNAL


class UnavailableError(_Fault):
    """Another process cannot be reached, or has ended.

    Start it again; `tf.distribute.run_steps` goes on by itself from what was saved.
    """

    error_code = UNAVAILABLE


class DataLossError(_Fault):
    """A file of records, of a saved data set or of a checkpoint, or a message, is damaged or of another kind.

    Write or copy it anew.
    """

    error_code = DATA_LOSS


class UnauthenticatedError(_Fault):
    """The caller is not authenticated.

    The package raises none; it is there for programs.
    """

    error_code = UNAUTHENTICATED


class OperatorNotAllowedInGraphError(TypeError):
    """Python needs the value of a tensor that has none while its function is traced.

    Write `if`, `while` and `for` in a function that AutoGraph converts; use functions of `tf` in place of
    Python's.
    """


class SignatureError(TypeError, ValueError):
    """An argument does not match the `input_signature` of a function.

    Pass an argument of that dtype and shape, or have the signature allow it: `None` stands for any size.
    """


class UnsetError(UnboundLocalError, ValueError):
    """A variable or an attribute may have no value after a branch or a loop of the graph that sets it.

    Give it a value in both branches, or before.
    """


class ConversionError(TypeError):
    """AutoGraph cannot convert a function, such as a coroutine.

    Do what the message says, or leave the function to Python: `tf.autograph.experimental.do_not_convert`.
    """


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
    "DataLoss": DataLossError,
    "Unknown": UnknownError,
    "Internal": InternalError,
}
