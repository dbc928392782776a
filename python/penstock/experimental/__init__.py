"""What may still change."""

from typing import TYPE_CHECKING

from penstock.experimental import dlpack as dlpack

__all__ = ["ExtensionType", "Optional", "dlpack"]

if TYPE_CHECKING:
    from penstock._values.extension_type import ExtensionType as ExtensionType
    from penstock._values.optional import Optional as Optional
else:

    def __getattr__(name: str) -> object:
        if name == "ExtensionType":
            from penstock._values.extension_type import ExtensionType

            return ExtensionType
        if name == "Optional":
            from penstock._values.optional import Optional

            return Optional
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
