"""PyTorch with `torch.compile`."""

from collections.abc import Callable
from typing import Any

import torch
import torch._inductor.config

import cases
from cases import Work, Works
from frameworks import on_torch
from frameworks.on_torch import to_numpy

__all__ = ["DISTRIBUTION", "IMPORT", "to_numpy", "works"]

DISTRIBUTION = "torch"
IMPORT = ""  # measured with PyTorch


def _compiled(function: Callable[..., Any]) -> Any:
    torch._dynamo.reset()
    return torch.compile(function)


def _first_10() -> Work:
    # A first call is none if what was compiled before is found on disk.
    torch._inductor.config.force_disable_caches = True

    def call(x: Any, y: Any) -> Any:
        return _compiled(lambda x, y: on_torch.alternate(x, y, 10))(x, y)

    return Work(call, on_torch.scalars())


def works() -> Works:
    t = on_torch
    return {
        "call_1": lambda: Work(_compiled(t.call_1), t.scalars()[:1]),
        "call_10": lambda: Work(_compiled(t.call_10), t.ten()),
        "first_10": _first_10,
        "chain_scalar": lambda: Work(_compiled(t.chain_scalar), t.scalars(), cases.CHAIN_SCALAR),
        "selu": lambda: Work(_compiled(t.selu), t.array(cases.SMALL)),
        "polynomial": lambda: Work(_compiled(t.polynomial), t.array(cases.LARGE)),
        "black_scholes": lambda: Work(_compiled(t.black_scholes), t.option_arrays()),
        "softmax": lambda: Work(_compiled(t.softmax), t.array(4000, 4000)),
        "mlp_step": lambda: t.mlp_work(_compiled),
    }
