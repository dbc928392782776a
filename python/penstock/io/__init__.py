"""Files."""

from penstock.io import gfile as gfile

__all__ = ["gfile"]
