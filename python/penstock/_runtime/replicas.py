"""What optimizers need to know of strategies of distribution, which know optimizers."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = ["take_step"]

# Within a replica of a strategy that has several: adds up a list of gradients of all replicas, and calls
# with them what takes a step; where replicas share variables, once for all of them.
take_step: ContextVar[Callable[[list[Any], Callable[[list[Any]], Any]], Any] | None] = ContextVar(
    "penstock_step", default=None
)
