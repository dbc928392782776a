"""What may still change."""

from typing import Any

from penstock.experimental import dlpack as dlpack

__all__ = ["ExtensionType", "Optional", "dlpack"]


def __getattr__(name: str) -> Any:
    if name == "ExtensionType":
        from penstock._values.extension_type import ExtensionType

        return ExtensionType
    if name == "Optional":
        from penstock._values.optional import Optional

        return Optional
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
