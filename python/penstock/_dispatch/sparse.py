"""Public functions of sparse tensors: those that leave 0 as it is, and those on whole tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, math, nn, raw_ops
from penstock._ops import shapes, sparse_layout
from penstock._runtime.dispatch import dispatch_for_api
from penstock._values.sparse import SparseTensor

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike

__all__: list[str] = []

_OF_ZERO = """
    abs angle asin asinh atan atanh cast ceil conj erf erfinv expm1 floor imag is_inf is_nan log1p
    negative real rint round saturate_cast sign sin sinh softsign sqrt square tan tanh
"""


def _register(api: Callable[..., Any]) -> None:
    parameter = next(iter(inspect.signature(api).parameters))

    def on_values(*args: Any, **kwargs: Any) -> Any:
        x = args[0] if args else kwargs.pop(parameter)
        return x.with_values(api(x.values, *args[1:], **kwargs))

    dispatch_for_api(api, {parameter: SparseTensor})(on_values)


for _name in _OF_ZERO.split():
    _register(getattr(math, _name))
for _name in ("elu", "gelu", "leaky_relu", "relu", "relu6", "selu", "silu"):
    _register(getattr(nn, _name))
_register(shapes.identity)


@dispatch_for_api(shapes.shape, {"input": SparseTensor})
def _shape(input: SparseTensor, out_type: DTypeLike = _core.int32, name: str | None = None) -> Any:
    return raw_ops.cast(input.dense_shape, dtype=_core.DType(out_type))


@dispatch_for_api(shapes.size, {"input": SparseTensor})
def _size(input: SparseTensor, out_type: DTypeLike = _core.int32, name: str | None = None) -> Any:
    return raw_ops.cast(raw_ops.reduce_prod(input.dense_shape), dtype=_core.DType(out_type))


@dispatch_for_api(shapes.rank, {"input": SparseTensor})
def _rank(input: SparseTensor, name: str | None = None) -> Any:
    return raw_ops.size(input.dense_shape)


@dispatch_for_api(shapes.expand_dims, {"input": SparseTensor})
def _expand_dims(input: SparseTensor, axis: int, name: str | None = None) -> Any:
    return sparse_layout.expand_dims(input, axis)
