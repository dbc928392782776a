"""The variables `PENSTOCK_…` of the environment, and what values of theirs have no effect."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["SETTINGS", "warn_of_settings", "without_effect"]

_PATH: Final = "the path of a file or a folder"

# The variables, with their values where others go unnoticed. Wrong ones of the rest are errors where they are
# needed first.
SETTINGS: Final = {
    "CUBLAS": _PATH,
    "CUDA_CACHE": None,
    "CUDA_DRIVER": _PATH,
    "CUDA_GRAPHS": "'1' or '0'",
    "CUDNN": _PATH,
    "FUEL": None,
    "NVRTC": _PATH,
    "PASSES": None,
    "SIMD": "'base', 'v3' or 'v4'",
    "THREADS": "a positive number, such as '2'",
    "THRESHOLDS": None,
    "VERIFY": "'1' or '0'",
}


def without_effect() -> list[str]:
    """What is wrong with each variable whose value the engine cannot use, and passes over."""
    found = []
    for name, wanted in SETTINGS.items():
        value = os.environ.get(f"PENSTOCK_{name}")
        if wanted is None or value is None:
            continue
        if wanted is _PATH:
            # Without a separator it may be a name that the system finds, and nothing is no library.
            if os.sep in value and not os.path.exists(value):  # noqa: PTH110 -- pathlib is slow to import
                found.append(f"PENSTOCK_{name} is '{value}', and there is no such file or folder")
            continue
        if name == "THREADS":
            right = value.isascii() and value.isdigit() and int(value) > 0
        else:
            right = f"'{value}'" in wanted
        if not right:
            found.append(f"PENSTOCK_{name} is '{value}', and not {wanted}: it has no effect")
    return found


def warn_of_settings() -> None:
    """Warns of variables whose values have no effect; nothing else tells of them."""
    for text in without_effect():
        import warnings  # few programs come here

        warnings.warn(text, RuntimeWarning, stacklevel=3)
