"""The operators of the engine, one callable each, named and documented as they are declared in Rust.

Operands come by position or keyword, attributes by keyword: `raw_ops.matmul(a, b, transpose_b=True)`.
The signatures are in `raw_ops.pyi`, which is generated from the declarations.

TensorFlow's operators are here by their own names, with keywords only: `raw_ops.MatMul(a=a, b=b)`.
"""

from penstock import _core

_OPS = _core._ops()
globals().update(_OPS)

__all__ = sorted(_OPS)


def __getattr__(name: str) -> object:
    if name[:1].isupper():
        from penstock import _nodes  # which is above this in the package

        found = _nodes.function(name)
        if found is not None:
            globals()[name] = found
            return found
    raise AttributeError(f"module 'penstock.raw_ops' has no attribute '{name}'")


def __dir__() -> list[str]:
    from penstock import _nodes  # which is above this in the package

    return sorted({*globals(), *_nodes.names()})
