"""What summaries of TensorFlow 1 hold, made of arrays when a session runs them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock._runtime.protos import Event, Summary
from penstock._types.argument_names import path_of
from penstock.errors import InvalidArgumentError
from penstock.summary import _reading
from penstock.summary._content import png, wav

if TYPE_CHECKING:
    import os

__all__ = ["clips", "distribution", "images", "joined", "number", "summary_iterator"]

Values = list[dict[str, Any]]


def number(tag: str, array: Any) -> Values:
    if array.size != 1:
        raise ValueError(f"argument 'tensor' must be a number, got shape {array.shape}")
    return [{"tag": tag, "simple_value": float(array.item())}]


@functools.lru_cache(1)
def _limits() -> Any:
    """The ends of buckets: powers of 1.1 of both signs, and 0 and the greatest number."""
    import numpy as np  # start-up does without it

    ends, value = [], 1e-12
    while value < 1e20:
        ends.append(value)
        value *= 1.1
    ends.append(sys.float_info.max)
    return np.array([-end for end in reversed(ends)] + [0.0] + ends)


def distribution(tag: str, array: Any) -> Values:
    import numpy as np  # start-up does without it

    values = np.asarray(array, np.float64).ravel()
    if not np.isfinite(values).all():
        what = "Nan" if np.isnan(values).any() else "Infinity"
        raise InvalidArgumentError(f"{what} in summary histogram for: {tag}")
    limits = _limits()
    counts = np.bincount(np.searchsorted(limits, values, side="right"), minlength=len(limits))
    ends: list[float] = []
    found: list[float] = []
    place = 0
    while place < len(limits):
        # Of buckets that are empty, one behind another, the last stands for all.
        while counts[place] == 0 and place + 1 < len(limits) and counts[place + 1] == 0:
            place += 1
        ends.append(float(limits[place]))
        found.append(float(counts[place]))
        place += 1
    histogram = {
        "min": float(values.min()) if values.size else sys.float_info.max,
        "max": float(values.max()) if values.size else -sys.float_info.max,
        "num": float(values.size),
        "sum": float(values.sum()),
        "sum_squares": float((values * values).sum()),
        "bucket_limit": ends,
        "bucket": found,
    }
    return [{"tag": tag, "histo": histogram}]


def _numbered(tag: str, kind: str, most: int, place: int) -> str:
    return f"{tag}/{kind}/{place}" if most > 1 else f"{tag}/{kind}"


def images(tag: str, array: Any, most: int) -> Values:
    if array.ndim != 4 or array.shape[3] not in (1, 3, 4):
        raise InvalidArgumentError(
            f"argument 'tensor' must be 4-D with last dim 1, 3, or 4, not {list(array.shape)}"
        )
    found = []
    for place, pixels in enumerate(array[:most]):
        height, width, channels = pixels.shape
        encoded = png(pixels if pixels.dtype == "uint8" else _visible(pixels))
        picture = {
            "height": height,
            "width": width,
            "colorspace": channels,
            "encoded_image_string": encoded,
        }
        found.append({"tag": _numbered(tag, "image", most, place), "image": picture})
    return found


def _visible(pixels: Any) -> Any:
    """Numbers as `uint8`: from 0 to the greatest, or around 128; a pixel that is not finite is red."""
    import numpy as np  # start-up does without it

    values = np.asarray(pixels, np.float32)
    finite = np.isfinite(values).all(-1)
    seen = values[finite]
    low, high = (seen.min(), seen.max()) if seen.size else (0.0, 0.0)
    if low < 0:
        greatest = max(abs(low), abs(high))
        scale, offset = (np.float32(127.0) / greatest if greatest >= 1e-6 else 0.0), 128.0
    else:
        scale, offset = (np.float32(255.0) / high if high >= 1e-6 else 0.0), 0.0
    made = np.zeros(values.shape, np.uint8)
    made[finite] = (seen * np.float32(scale) + np.float32(offset)).astype(np.uint8)
    made[~finite] = np.array([255, 0, 0, 255], np.uint8)[: values.shape[-1]]
    return made


def clips(tag: str, array: Any, rate: float, most: int) -> Values:
    if array.ndim not in (2, 3):
        raise InvalidArgumentError(f"argument 'tensor' must be 2-D or 3-D, got shape {array.shape}")
    found = []
    for place, samples in enumerate(array[:most]):
        clip = samples if samples.ndim == 2 else samples[:, None]
        sound = {
            "sample_rate": rate,
            "num_channels": clip.shape[1],
            "length_frames": clip.shape[0],
            "encoded_audio_string": wav(clip, int(rate)),
            "content_type": "audio/wav",
        }
        found.append({"tag": _numbered(tag, "audio", most, place), "audio": sound})
    return found


def joined(*messages: Any) -> bytes:
    """The message of all values of messages."""
    values: list[Any] = []
    for message in messages:
        for content in getattr(message, "ravel", lambda message=message: [message])():
            values.extend(Summary.FromString(content).value)
    tags = [value.tag for value in values]
    for tag in tags:
        if tags.count(tag) > 1:
            raise InvalidArgumentError(f"Duplicate tag {tag} found in summary inputs")
    return Summary(value=values).SerializeToString()


def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Read an event file.

    Args:
        path: the file, as `tf.summary.create_file_writer` or another writer for TensorBoard made it.

    Returns:
        An iterator over its events, which are `tf.compat.v1.Event` messages; `tf.make_ndarray` makes an array
        of the tensor of a summary.

    Raises:
        NotFoundError: where there is no such file.
        DataLossError: for another kind of file, and where it ends within an event, after those before.

    >>> import glob, tempfile
    >>> import penstock as tf
    >>> logs = tempfile.mkdtemp()
    >>> with tf.summary.create_file_writer(logs).as_default():
    ...     for step in range(3):
    ...         _ = tf.summary.scalar("loss", 1.0 / (step + 1), step=step)
    >>> [file] = glob.glob(f"{logs}/events*")
    >>> for event in tf.compat.v1.train.summary_iterator(file):
    ...     for value in event.summary.value:
    ...         print(event.step, value.tag, round(float(tf.make_ndarray(value.tensor)), 2))
    0 loss 1.0
    1 loss 0.5
    2 loss 0.33
    """
    return _reading.events(path_of(path, "path"))
