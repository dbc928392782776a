"""A debugger that goes through traced functions, and debug information in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock._runtime.lazy_names import lazily as _lazily
from penstock._runtime.public_names import publish as _publish
from penstock.debugging._dump import (
    DebugEventsWriter as DebugEventsWriter,
    disable_dump_debug_info as disable_dump_debug_info,
    enable_dump_debug_info as enable_dump_debug_info,
)

if TYPE_CHECKING:
    from penstock.autograph._debugger import Debugger as Debugger, step as step

__all__ = ["DebugEventsWriter", "Debugger", "disable_dump_debug_info", "enable_dump_debug_info", "step"]

# They are above this module, and Python's debugger is slow to load.
__getattr__ = _lazily(__name__, {"Debugger": "autograph._debugger", "step": "autograph._debugger"})

_publish(__name__)
