"""Notices the import of Keras, and makes this package its backend where `KERAS_BACKEND` says so by then."""

from __future__ import annotations

import os
import sys

__all__ = ["watch"]


class _Watch:
    """A finder that finds nothing."""

    @staticmethod
    def find_spec(fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "keras" and os.environ.get("KERAS_BACKEND") == "penstock":
            from penstock import _keras_hook  # loads what most programs never need

            _keras_hook.install()


def watch() -> None:
    """Put the finder in front of the others, once."""
    if _Watch not in sys.meta_path:
        sys.meta_path.insert(0, _Watch)
