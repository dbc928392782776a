"""Errors of the operating system as those that programs for TensorFlow expect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from penstock import errors

__all__ = ["engine_errors"]


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Turn errors of the operating system into those of the engine."""
    try:
        yield
    except FileNotFoundError as error:
        raise errors.NotFoundError(None, None, str(error)) from error
    except FileExistsError as error:
        raise errors.AlreadyExistsError(None, None, str(error)) from error
    except PermissionError as error:
        raise errors.PermissionDeniedError(None, None, str(error)) from error
    except OSError as error:
        raise errors.FailedPreconditionError(None, None, str(error)) from error
