"""Operations on the bits of integers."""

from penstock._wrap import binary as _binary, unary as _unary

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

bitwise_and, bitwise_or, bitwise_xor = map(_binary, ("bitwise_and", "bitwise_or", "bitwise_xor"))
left_shift, right_shift = map(_binary, ("left_shift", "right_shift"))
invert = _unary("invert")
