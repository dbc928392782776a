"""Types of what public functions take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from penstock._core import Tensor, _Variable

__all__ = ["SupportsArray", "SupportsTensor", "TensorLike"]


class SupportsArray(Protocol):
    """What converts to a NumPy array: arrays, NumPy's scalars, tensors of other frameworks."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


class SupportsTensor(Protocol):
    """What converts itself to a tensor."""

    def __tf_tensor__(self, *args: Any, **kwargs: Any) -> Tensor: ...


TensorLike: TypeAlias = (
    "Tensor | _Variable | complex | str | bytes | SupportsArray | SupportsTensor | Sequence[TensorLike]"
)
