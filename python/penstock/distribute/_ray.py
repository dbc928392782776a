"""Ray, where it is installed."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["ray_package"]


def ray_package(purpose: str) -> Any:
    """Ray's package.

    Args:
        purpose: what needs it.

    Raises:
        ImportError: where it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError(f"{purpose} needs Ray: pip install penstock-engine[ray]") from error
