"""Files of pictures, made of arrays without either library: what `data_cases.py` has them decode."""

from __future__ import annotations

import struct
import zlib

import numpy as np

__all__ = ["bmp", "gif", "photograph", "png"]

Array = np.ndarray


def photograph(height: int, width: int, channels: int) -> Array:
    """Pixels of smooth areas, edges and some noise, `[height, width, channels]`, `uint8`."""
    rng = np.random.default_rng(height * width + channels)
    y, x = np.mgrid[0:height, 0:width]
    found = np.empty((height, width, channels))
    for channel in range(channels):
        waves = 60 * np.sin(x / (13 + channel)) + 50 * np.cos(y / (17 - channel)) + 20 * np.sin((x + y) / 5)
        found[..., channel] = 128 + waves + 40 * ((x // 24 + y // 32) % 2)
    found += rng.normal(0, 3, found.shape)
    return np.clip(found, 0, 255).astype(np.uint8)


def png(pixels: Array) -> bytes:
    """A PNG file, whose rows have the filters 0 to 4 in turn."""
    height, width, channels = pixels.shape
    step = channels * pixels.dtype.itemsize
    raw = pixels.astype(">u2" if pixels.dtype == np.uint16 else np.uint8).tobytes()
    rows = np.frombuffer(raw, np.uint8).reshape(height, -1).astype(np.int16)
    left = np.pad(rows, ((0, 0), (step, 0)))[:, :-step]
    up = np.pad(rows, ((1, 0), (0, 0)))[:-1]
    corner = np.pad(left, ((1, 0), (0, 0)))[:-1]
    a, b, c = (np.abs(left + up - corner - of) for of in (left, up, corner))
    nearest = np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
    guesses = np.stack([np.zeros_like(rows), left, up, (left + up) // 2, nearest])
    kinds = np.arange(height) % 5
    filtered = (rows - guesses[kinds, np.arange(height)]).astype(np.uint8)
    data = np.concatenate([kinds[:, None].astype(np.uint8), filtered], 1).tobytes()
    colours = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    head = struct.pack(">IIBBBBB", width, height, 8 * pixels.dtype.itemsize, colours, 0, 0, 0)

    def chunk(name: bytes, content: bytes) -> bytes:
        check = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)

    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(data)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def bmp(pixels: Array) -> bytes:
    """A BMP file of three channels."""
    height, width, _ = pixels.shape
    rows = pixels[::-1, :, ::-1].reshape(height, -1)
    content = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4))).tobytes()
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(content), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(content), 0, 0, 54) + head + content


def gif(frames: Array) -> bytes:
    """A GIF file of frames `[count, height, width, 3]`, in 216 colours."""
    _, height, width, _ = frames.shape
    levels = np.arange(0, 256, 51, dtype=np.uint8)
    palette = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), -1).reshape(-1, 3)
    table = np.pad(palette, ((0, 40), (0, 0))).tobytes()
    found = b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0) + table
    for indices in ((frames // 43).astype(int) @ [36, 6, 1]).reshape(len(frames), -1):
        content = _lzw(indices.tolist())
        blocks = (content[at : at + 255] for at in range(0, len(content), 255))
        found += b"\x2c" + struct.pack("<HHHHBB", 0, 0, width, height, 0, 8)
        found += b"".join(bytes([len(block)]) + block for block in blocks) + b"\x00"
    return found + b"\x3b"


def _lzw(values: list[int]) -> bytes:
    """Values of 8 bits, compressed as GIF does it."""
    codes: dict[tuple[int, int], int] = {}
    bits, filled, width, following = 0, 0, 9, 258
    found = bytearray()

    def put(code: int) -> None:
        nonlocal bits, filled
        bits |= code << filled
        filled += width
        while filled >= 8:
            found.append(bits & 255)
            bits >>= 8
            filled -= 8

    put(256)
    before = values[0]
    for value in values[1:]:
        if (before, value) in codes:
            before = codes[before, value]
            continue
        put(before)
        codes[before, value] = following
        following += 1
        if following > 1 << width:
            width += 1
        if following > 4095:
            put(256)
            codes.clear()
            width, following = 9, 258
        before = value
    put(before)
    put(257)
    found.append(bits & 255)
    return bytes(found)
