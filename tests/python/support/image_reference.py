"""Operators on images, written as loops over windows in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
Place = tuple[int, ...]


def dimension(
    n: int, w: int, s: int, d: int, padding: str, explicit: Sequence[int] | None
) -> tuple[int, int]:
    """The extent of the result, and the elements before the input."""
    reach = (w - 1) * d + 1
    if padding == "SAME":
        count = -(-n // s)
        return count, max((count - 1) * s + reach - n, 0) // 2
    before, after = explicit or (0, 0)
    return (n + before + after - reach) // s + 1, before


class Windows:
    """Windows over the spatial dimensions of an input of channels last."""

    def __init__(
        self,
        inputs: Sequence[int],
        window: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        explicit_paddings: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
    ) -> None:
        axes = len(window)
        self.inputs, self.window = list(inputs), list(window)
        self.strides, self.dilations = list(strides or [1] * axes), list(dilations or [1] * axes)
        explicit = explicit_paddings or [0] * (2 * axes)
        found = [
            dimension(n, w, s, d, padding, explicit[2 * i : 2 * i + 2])
            for i, (n, w, s, d) in enumerate(zip(inputs, window, self.strides, self.dilations, strict=True))
        ]
        self.outputs, self.before = [f[0] for f in found], [f[1] for f in found]

    def of(self, output: Place) -> Iterator[tuple[Place, Place]]:
        """The places in the window and in the input that an output sees, without the padding."""
        for tap in itertools.product(*map(range, self.window)):
            at = tuple(
                o * s + t * d - b
                for o, s, t, d, b in zip(output, self.strides, tap, self.dilations, self.before, strict=True)
            )
            if all(0 <= a < n for a, n in zip(at, self.inputs, strict=True)):
                yield tap, at

    def all(self) -> Iterator[tuple[Place, Place, Place]]:
        """Each output with each place that it sees."""
        for output in itertools.product(*map(range, self.outputs)):
            for tap, at in self.of(output):
                yield output, tap, at


def every(place: Place) -> tuple[Any, ...]:
    """The elements of all images at a place."""
    return (slice(None), *place)


def grouped(channels: int, filters: Sequence[int]) -> list[tuple[slice, slice]]:
    """The channels of the input and of the output that belong together."""
    ins, outs = filters[-2], filters[-1]
    groups = channels // ins if ins else 1
    outs //= groups
    return [(slice(g * ins, (g + 1) * ins), slice(g * outs, (g + 1) * outs)) for g in range(groups)]


def conv(x: Array, f: Array, **attributes: Any) -> Array:
    windows = Windows(x.shape[1:-1], f.shape[:-2], **attributes)
    y = np.zeros((x.shape[0], *windows.outputs, f.shape[-1]), x.dtype)
    for output, tap, at in windows.all():
        for ins, outs in grouped(x.shape[-1], f.shape):
            y[every(output)][:, outs] += x[every(at)][:, ins] @ f[tap][:, outs]
    return y


def conv_input_grad(sizes: Array, f: Array, dy: Array, **attributes: Any) -> Array:
    dx = np.zeros(tuple(sizes), f.dtype)
    for output, tap, at in Windows(dx.shape[1:-1], f.shape[:-2], **attributes).all():
        for ins, outs in grouped(dx.shape[-1], f.shape):
            dx[every(at)][:, ins] += dy[every(output)][:, outs] @ f[tap][:, outs].T
    return dx


def conv_filter_grad(x: Array, sizes: Array, dy: Array, **attributes: Any) -> Array:
    df = np.zeros(tuple(sizes), x.dtype)
    for output, tap, at in Windows(x.shape[1:-1], df.shape[:-2], **attributes).all():
        for ins, outs in grouped(x.shape[-1], df.shape):
            df[tap][:, outs] += x[every(at)][:, ins].T @ dy[every(output)][:, outs]
    return df


def avg_pool(x: Array, ksize: Sequence[int], **attributes: Any) -> Array:
    windows = Windows(x.shape[1:-1], ksize, **attributes)
    y = np.zeros((x.shape[0], *windows.outputs, x.shape[-1]), x.dtype)
    for output in itertools.product(*map(range, windows.outputs)):
        seen = [x[every(at)] for _, at in windows.of(output)]
        y[every(output)] = sum(seen) / len(seen)
    return y


def avg_pool_grad(sizes: Array, grad: Array, ksize: Sequence[int], **attributes: Any) -> Array:
    dx = np.zeros(tuple(sizes), grad.dtype)
    windows = Windows(dx.shape[1:-1], ksize, **attributes)
    for output in itertools.product(*map(range, windows.outputs)):
        seen = [at for _, at in windows.of(output)]
        for at in seen:
            dx[every(at)] += grad[every(output)] / len(seen)
    return dx


def places_of_maxima(x: Array, ksize: Sequence[int], **attributes: Any) -> Iterator[tuple[Any, Any]]:
    """The index of each result, and that of its greatest element: the first of equal ones, or of NaN."""
    windows = Windows(x.shape[1:-1], ksize, **attributes)
    for output in itertools.product(*map(range, windows.outputs)):
        seen = [at for _, at in windows.of(output)]
        for n, c in itertools.product(range(x.shape[0]), range(x.shape[-1])):
            values = [x[(n, *at, c)] for at in seen]
            nan = [i for i, v in enumerate(values) if v != v]
            best = nan[0] if nan else max(range(len(values)), key=lambda i: (values[i], -i))
            yield (n, *output, c), (n, *seen[best], c)


def max_pool_take(x: Array, values: Array, ksize: Sequence[int], **attributes: Any) -> Array:
    windows = Windows(x.shape[1:-1], ksize, **attributes)
    y = np.zeros((x.shape[0], *windows.outputs, x.shape[-1]), values.dtype)
    for output, at in places_of_maxima(x, ksize, **attributes):
        y[output] = values[at]
    return y


def max_pool(x: Array, **attributes: Any) -> Array:
    return max_pool_take(x, x, **attributes)


def max_pool_grad(x: Array, grad: Array, **attributes: Any) -> Array:
    dx = np.zeros(x.shape, x.dtype)
    for output, at in places_of_maxima(x, **attributes):
        dx[at] += grad[output]
    return dx


# Operators whose results are sums, which round.
SUMS: dict[str, Callable[..., Array]] = {
    "conv": conv,
    "conv_input_grad": conv_input_grad,
    "conv_filter_grad": conv_filter_grad,
    "avg_pool": avg_pool,
    "avg_pool_grad": avg_pool_grad,
}

# Operators that move elements.
MOVES: dict[str, Callable[..., Array]] = {"max_pool": max_pool, "max_pool_take": max_pool_take}
