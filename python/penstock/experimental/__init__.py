"""What may still change."""

from penstock.experimental import dlpack as dlpack

__all__ = ["dlpack"]
