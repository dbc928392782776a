"""The operators of the engine, one callable each, named and documented as they are declared in Rust.

Operands come by position or keyword, attributes by keyword: `raw_ops.matmul(a, b, transpose_b=True)`.
The signatures are in `raw_ops.pyi`, which is generated from the declarations.
"""

from penstock import _core

_OPS = _core._ops()
globals().update(_OPS)

__all__ = sorted(_OPS)
