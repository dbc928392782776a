"""Types of what public functions take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias, TypeVar

from penstock._core import DType, Tensor, _Variable

if TYPE_CHECKING:
    import os

    import numpy as np

    from penstock._types.shape import TensorShape
    from penstock._types.specs import TypeSpec

__all__ = [
    "AxisLike",
    "BoolLike",
    "DTypeLike",
    "IntLike",
    "Nested",
    "PaddingLike",
    "PathLike",
    "ShapeLike",
    "SizesLike",
    "SpecLike",
    "SupportsArray",
    "SupportsTensor",
    "TensorLike",
    "TensorOrVariable",
    "WindowLike",
]

_Leaf = TypeVar("_Leaf")


class SupportsArray(Protocol):
    """What converts to a NumPy array: arrays, NumPy's scalars, tensors of other frameworks."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


class SupportsTensor(Protocol):
    """What converts itself to a tensor."""

    def __tf_tensor__(self, *args: Any, **kwargs: Any) -> Tensor: ...


TensorOrVariable: TypeAlias = Tensor | _Variable
"""What has a gradient and a place in a graph."""

TensorLike: TypeAlias = (
    "Tensor | _Variable | complex | str | bytes | SupportsArray | SupportsTensor | Sequence[TensorLike]"
)
"""What converts to a tensor."""

DTypeLike: TypeAlias = "DType | str | type[Any] | np.dtype[Any]"
"""What converts to a dtype: one, its name, a type of Python or NumPy."""

ShapeLike: TypeAlias = "TensorShape | Iterable[int | None] | int | None"
"""What converts to a static shape: `None` for an unknown size, or an unknown shape."""

SizesLike: TypeAlias = "TensorShape | TensorLike"
"""What converts to the sizes of a tensor when the graph runs: integers, among them scalar tensors."""

AxisLike: TypeAlias = "TensorLike | None"
"""One dimension, or several; all of them for `None`."""

SpecLike: TypeAlias = "TypeSpec | DTypeLike"
"""What says of a value which type it has: a specification, or the dtype of a tensor of any shape."""

Nested: TypeAlias = "_Leaf | Sequence[Nested[_Leaf]] | Mapping[Any, Nested[_Leaf]]"
"""A value, or a list, tuple or dict of such, to any depth."""

IntLike: TypeAlias = "SupportsIndex | TensorOrVariable"
"""An integer: a Python or NumPy one, or an integer scalar tensor."""

WindowLike: TypeAlias = "IntLike | Sequence[IntLike] | SupportsArray"
"""Extents or steps of windows: one for all spatial dimensions, one each, or one for every dimension."""

PaddingLike: TypeAlias = "str | Sequence[Sequence[IntLike]] | SupportsArray"
"""What surrounds images: `"SAME"`, `"VALID"`, or a pair of sizes for every dimension."""

BoolLike: TypeAlias = "bool | TensorOrVariable"
"""A truth value: one of Python, or a boolean scalar tensor."""

PathLike: TypeAlias = "str | os.PathLike[str] | Tensor"
"""The name of a file or directory: a string, a path, a string scalar tensor."""
