"""NumPy's rules for the operators, brackets and methods of all tensors."""

from __future__ import annotations

from penstock.experimental.numpy._arrays import public


@public
def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Give tensors NumPy's rules."""
