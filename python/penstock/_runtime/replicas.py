"""What optimizers need to know of strategies of distribution, which know optimizers."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = ["add_up"]

# Adds up a list of gradients of all replicas, within a replica of a strategy that has several.
add_up: ContextVar[Callable[[list[Any]], list[Any]] | None] = ContextVar("penstock_gradients", default=None)
