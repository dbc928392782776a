"""What array code needs beyond operators and slices, under one set of names for every framework.

The kernels of `pyhpc` and `npbench` are written once against these names. Slicing, arithmetic and comparisons
are spelled alike everywhere; what is not is here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Pads = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Arrays:
    """The functions of one framework.

    Attributes:
        pad: Adds zeros around an array: `pad(x, [(before, after), …])`.
        stack: Puts arrays side by side along a new last axis.
        join: Puts arrays one behind the other along the last axis.
        floor_at: The larger of an array and a number.
        ceil_at: The smaller of an array and a number.
    """

    sqrt: Callable[[Any], Any]
    log: Callable[[Any], Any]
    exp: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    abs: Callable[[Any], Any]
    where: Callable[[Any, Any, Any], Any]
    maximum: Callable[[Any, Any], Any]
    pad: Callable[[Any, Pads], Any]
    stack: Callable[[Sequence[Any]], Any]
    join: Callable[[Sequence[Any]], Any]
    reshape: Callable[[Any, Sequence[int]], Any]
    arange: Callable[[int], Any]
    floor_at: Callable[[Any, float], Any]
    ceil_at: Callable[[Any, float], Any]


def of_numpy(np: Any) -> Arrays:
    """NumPy, or what has its names, such as `jax.numpy`."""
    return Arrays(
        sqrt=np.sqrt,
        log=np.log,
        exp=np.exp,
        tanh=np.tanh,
        abs=np.abs,
        where=np.where,
        maximum=np.maximum,
        pad=np.pad,
        stack=lambda parts: np.stack(parts, axis=-1),
        join=lambda parts: np.concatenate(parts, axis=-1),
        reshape=np.reshape,
        arange=np.arange,
        floor_at=np.maximum,
        ceil_at=np.minimum,
    )


def of_torch(torch: Any) -> Arrays:
    """PyTorch."""

    def pad(x: Any, widths: Pads) -> Any:
        flat = [width for pair in reversed(list(widths)) for width in pair]
        return torch.nn.functional.pad(x, flat)

    return Arrays(
        sqrt=torch.sqrt,
        log=torch.log,
        exp=torch.exp,
        tanh=torch.tanh,
        abs=torch.abs,
        where=torch.where,
        maximum=torch.maximum,
        pad=pad,
        stack=lambda parts: torch.stack(parts, dim=-1),
        join=lambda parts: torch.cat(parts, dim=-1),
        reshape=torch.reshape,
        arange=torch.arange,
        floor_at=lambda x, least: torch.clamp(x, min=least),
        ceil_at=lambda x, most: torch.clamp(x, max=most),
    )


def of_tensorflow(tf: Any) -> Arrays:
    """TensorFlow, or Penstock."""
    return Arrays(
        sqrt=tf.sqrt,
        log=tf.math.log,
        exp=tf.exp,
        tanh=tf.tanh,
        abs=tf.abs,
        where=tf.where,
        maximum=tf.maximum,
        pad=tf.pad,
        stack=lambda parts: tf.stack(parts, axis=-1),
        join=lambda parts: tf.concat(parts, axis=-1),
        reshape=tf.reshape,
        arange=tf.range,
        floor_at=tf.maximum,
        ceil_at=tf.minimum,
    )
