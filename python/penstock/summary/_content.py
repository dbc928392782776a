"""What summaries hold: histograms, encoded images and sound, made of eager tensors when they are written."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from penstock import _core, math

__all__ = ["as_bytes", "audio_content", "histogram_content", "image_content", "png", "wav"]


def histogram_content(data: _core.Tensor, buckets: int) -> _core.Tensor:
    """Buckets of equal widths between the extremes: `[buckets, 3]` of their ends and counts, `float64`.

    Where all values are equal, the last bucket has them all. What is not finite is in no bucket.
    """
    import numpy as np  # start-up does without it

    values = np.asarray(data.numpy(), np.float64).ravel()
    values = values[np.isfinite(values)]
    table = np.zeros((buckets, 3))
    if values.size and buckets:
        low, high = values.min(), values.max()
        width = (high - low) / buckets
        if width > 0:
            places = np.minimum(np.floor((values - low) / width), buckets - 1).astype(np.int64)
            edges = np.linspace(low, high, buckets + 1)
            table[:, 0], table[:, 1] = edges[:-1], edges[1:]
            table[:, 2] = np.bincount(places, minlength=buckets)
        else:
            table[:, :2] = low
            table[-1, 2] = values.size
    return _core._to_tensor(table)


def as_bytes(images: _core.Tensor) -> _core.Tensor:
    """Images as `uint8`: floating-point ones from 0 to 1, integers over the range of their dtype."""
    dtype = images.dtype
    if dtype.is_floating:
        return math.saturate_cast(images * 255.5, _core.uint8)
    if dtype.is_integer and dtype != _core.uint8:
        # From the highest value to 255: both are powers of two less one.
        return math.saturate_cast(images // ((int(dtype.max) + 1) // 256 or 1), _core.uint8)
    return math.cast(images, _core.uint8)


def png(pixels: Any) -> bytes:
    """An array `[height, width, channels]` of `uint8`, with 1 to 4 channels, as a file of PNG."""
    import numpy as np  # start-up does without it

    height, width, channels = pixels.shape
    # Every row behind the number of its filter: the difference to the row above it, which packs well.
    above = np.vstack([np.zeros((1, width * channels), np.uint8), pixels.reshape(height, -1)[:-1]])
    rows = np.empty((height, 1 + width * channels), np.uint8)
    rows[:, 0] = 2
    rows[:, 1:] = pixels.reshape(height, -1) - above
    color = (0, 4, 2, 6)[channels - 1]
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )


def image_content(data: _core.Tensor, max_outputs: int) -> _core.Tensor:
    """The width and height of images, and each as a file of PNG: a vector of strings."""
    import numpy as np  # start-up does without it

    images = data.numpy()
    _, height, width, channels = images.shape
    if not 1 <= channels <= 4:
        raise ValueError(f"argument 'data' must have images of 1 to 4 channels, got {channels}")
    return _strings([str(width), str(height), *(png(np.ascontiguousarray(i)) for i in images[:max_outputs])])


def wav(samples: Any, rate: int) -> bytes:
    """An array `[frames, channels]` of numbers from -1 to 1 as a file of WAV with 16 bits a sample."""
    import numpy as np  # start-up does without it

    scaled = np.asarray(samples, np.float32) * np.float32(32768)
    rounded = np.clip(np.trunc(scaled + np.copysign(np.float32(0.5), scaled)), -32768, 32767)
    data: bytes = rounded.astype("<i2").tobytes()
    channels = samples.shape[1]
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    head = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data))
    return b"RIFF" + struct.pack("<I", len(head) + len(data)) + head + data


def audio_content(data: _core.Tensor, rate: _core.Tensor, max_outputs: int) -> _core.Tensor:
    """Each clip as a file of WAV, with an empty label: `[clips, 2]` of strings."""
    clips = [wav(clip, int(rate)) for clip in data.numpy()[:max_outputs]]
    import numpy as np  # start-up does without it

    table = np.empty((len(clips), 2), object)
    table[:, 0], table[:, 1] = clips, b""
    return _core._to_tensor(table, dtype=_core.string)


def _strings(values: list[str | bytes]) -> _core.Tensor:
    return _core._to_tensor([v.encode() if isinstance(v, str) else v for v in values], dtype=_core.string)
