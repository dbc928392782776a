"""What convolutions and pooling share: their arguments, and the order of dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import extents, integer, named, product, sizes
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import WindowLike

CHANNELS_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
CHANNELS_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def is_channels_first(data_format: str | None, axes: int) -> bool:
    """Whether channels come before the spatial dimensions.

    Raises:
        ValueError: for a format that is none of those for so many spatial dimensions.
    """
    if data_format is None or data_format == CHANNELS_LAST[axes]:
        return False
    if data_format == CHANNELS_FIRST[axes]:
        return True
    raise InvalidArgumentError(
        f"argument 'data_format' must be {CHANNELS_LAST[axes]!r} or {CHANNELS_FIRST[axes]!r}, "
        f"got {data_format!r}"
    )


def spatial(value: Any, axes: int, channels_first: bool, argument: str) -> list[int]:
    """An argument with a value for each spatial dimension: one for all, one each, or one for every dimension.

    Raises:
        ValueError: for another number of values, or one other than 1 for batch or channels.
    """
    if isinstance(value, int) or not hasattr(value, "__len__"):
        return [integer(value, argument)] * axes
    if len(value) not in (1, axes, axes + 2):
        raise InvalidArgumentError(
            f"argument '{argument}' must have 1, {axes} or {axes + 2} values, got {value!r}"
        )
    values = [integer(v, argument) for v in value]
    if len(values) == 1:
        return values * axes
    if len(values) == axes:
        return values
    channels = 1 if channels_first else -1
    if values[0] != 1 or values[channels] != 1:
        raise InvalidArgumentError(
            f"argument '{argument}' must be 1 for the batch and for channels, got {values} "
            f"with channels {'second' if channels_first else 'last'}"
        )
    return values[2:] if channels_first else values[1:-1]


def window_attributes(padding: Any, strides: WindowLike, axes: int, channels_first: bool) -> dict[str, Any]:
    """The attributes that every operator with windows has.

    Raises:
        ValueError: for explicit paddings of another form, and for the word `"EXPLICIT"`.
    """
    attributes: dict[str, Any] = {"strides": spatial(strides, axes, channels_first, "strides")}
    if isinstance(padding, str):
        if padding == "EXPLICIT":
            raise InvalidArgumentError(
                "argument 'padding' must be 'SAME', 'VALID' or the list of explicit paddings"
            )
        return {**attributes, "padding": padding}
    try:
        pairs = [[integer(size, "padding") for size in pair] for pair in padding]
    except TypeError:
        pairs = []
    if len(pairs) != axes + 2 or any(len(pair) != 2 for pair in pairs):
        raise InvalidArgumentError(
            f"argument 'padding' must be 'SAME', 'VALID' or {axes + 2} pairs of sizes, got {padding!r}"
        )
    inner = pairs[2:] if channels_first else pairs[1:-1]
    if pairs[0] != [0, 0] or pairs[1 if channels_first else -1] != [0, 0]:
        raise InvalidArgumentError(
            f"argument 'padding' must be 0 for the batch and for channels, got {padding!r}"
        )
    return {
        **attributes,
        "padding": "EXPLICIT",
        "explicit_paddings": [size for pair in inner for size in pair],
    }


def channels_last(x: _core.Tensor, axes: int) -> _core.Tensor:
    """Images of channels first with their channels last."""
    return raw_ops.transpose(x, perm=[0, *range(2, axes + 2), 1])


def channels_first(x: _core.Tensor, axes: int) -> _core.Tensor:
    """Images of channels last with their channels first."""
    return raw_ops.transpose(x, perm=[0, axes + 1, *range(1, axes + 1)])


def one_batch(x: _core.Tensor, axes: int) -> tuple[_core.Tensor, list[Any] | None]:
    """The images with one dimension for the batch, and the sizes that it stands for unless it is one."""
    rank = x.shape.rank
    if rank is None or rank <= axes + 2:
        return x, None
    every = sizes(x)
    batch, image = every[: rank - axes - 1], every[rank - axes - 1 :]
    return raw_ops.reshape(x, extents([product(batch), *image])), batch


def on_images(
    operator: Callable[..., _core.Tensor],
    x: _core.Tensor,
    *operands: _core.Tensor,
    axes: int,
    channels_second: bool,
    name: str | None,
    **attributes: Any,
) -> _core.Tensor:
    """What an operator makes of images with one batch and channels last, in the layout that they have."""
    x, batch = one_batch(x, axes)
    if batch is None and not channels_second:
        return operator(x, *operands, name=name, **attributes)
    y = operator(channels_last(x, axes) if channels_second else x, *operands, **attributes)
    y = channels_first(y, axes) if channels_second else y
    return named(y if batch is None else raw_ops.reshape(y, extents([*batch, *sizes(y)[1:]])), name)
