"""Names of older versions."""

from penstock.compat import v1 as v1

__all__ = ["v1"]
