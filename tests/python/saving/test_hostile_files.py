"""Files of every format that were damaged, at random and with a sense for their grammar.

Reading one ends in a program or an error: never in a panic or the end of the process, and not with far
more memory than the file has bytes. `PENSTOCK_MUTATIONS=100000` reads so many of each format, as
`make fuzz-formats` does.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.onnx_programs import PROGRAMS

import penstock as tf
from penstock import _core

COUNT = int(os.environ.get("PENSTOCK_MUTATIONS", "150"))
MODELS = Path(__file__).parent / "models"
GOLDEN = Path(__file__).parents[3] / "crates" / "penstock-tf" / "tests" / "golden"
# What reading may take beside the file: buffers, and what folding constants makes.
ALLOWANCE = 256 << 20
NUMBERS = [0, 1, 2, 3, 7, 64, 255, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1]


def changed(data: bytes, draw: random.Random) -> bytes:
    """A change of bytes: one set, a bit turned, a cut, a piece removed or repeated elsewhere."""
    if not data:
        return data
    at = draw.randrange(len(data))
    end = min(len(data), at + 1 + draw.randrange(32))
    match draw.randrange(6):
        case 0:
            return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
        case 2:
            return data[:at] + bytes([draw.choice([0, 1, 0x7F, 0x80, 0xFF])]) + data[at + 1 :]
        case 3 if draw.random() < 0.25:
            return data[:at]
        case 4:
            return data[:at] + data[end:]
    to = draw.randrange(len(data))
    return data[:to] + data[at:end] + data[to:]


def varint(n: int) -> bytes:
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def fields(data: bytes) -> list[list[int | bytes]] | None:
    """The tag and the value of each field of a message; `None` for what is none."""
    at, out = 0, []

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 63:
                return value

    try:
        while at < len(data):
            tag = number()
            if tag & 7 == 0:
                out.append([tag, number()])
                continue
            size = {1: 8, 5: 4}.get(tag & 7) or (number() if tag & 7 == 2 else -1)
            if size < 0 or at + size > len(data):
                return None
            out.append([tag, data[at : at + size]])
            at += size
    except IndexError:
        return None
    return out


def joined(all_fields: list[list[int | bytes]]) -> bytes:
    out = []
    for tag, value in all_fields:
        assert isinstance(tag, int)
        out.append(varint(tag))
        if isinstance(value, int):
            out.append(varint(value))
        else:
            out.append((varint(len(value)) if tag & 7 == 2 else b"") + value)
    return b"".join(out)


def changed_message(data: bytes, draw: random.Random) -> bytes:
    """A change that leaves lengths right: a field removed, repeated, moved, renumbered, or another value."""
    found = fields(data)
    if not found:
        return changed(data, draw)
    at, other = draw.randrange(len(found)), draw.randrange(len(found))
    tag, value = found[at]
    assert isinstance(tag, int)
    match draw.randrange(10):
        case 0:
            del found[at]
        case 1:
            found.insert(at, list(found[other]))
        case 2:
            found[at], found[other] = found[other], found[at]
        case 3:
            found[at] = [draw.randrange(1, 25) << 3 | tag & 7, value]
        case _ if isinstance(value, int):
            found[at] = [tag, draw.choice(NUMBERS)]
        case _ if tag & 7 == 2:
            found[at] = [tag, changed_message(value, draw)]
        case _:
            found[at] = [tag, (changed(value, draw) + bytes(8))[: len(value)]]
    return joined(found)


def damaged(files: list[bytes], is_message: bool) -> Iterator[bytes]:
    """The same files in every run."""
    draw = random.Random(1)
    for number in range(COUNT):
        data = files[number % len(files)]
        for _ in range(draw.randrange(1, 4)):
            data = changed_message(data, draw) if is_message and draw.random() < 0.5 else changed(data, draw)
        yield data


def containers(directory: Path) -> tuple[list[bytes], bool, Callable[[bytes], object]]:
    names = ["mlp", "loop_with_several_lists", "branches", "strings"]
    traces = {
        name: tf.function(PROGRAMS[name].function).get_concrete_function(*PROGRAMS[name].specs)
        for name in names
    }
    files = [tf.Program.of({name: trace}).to_bytes() for name, trace in traces.items()]
    return files, False, tf.Program.from_bytes


def models_of_onnx(directory: Path) -> tuple[list[bytes], bool, Callable[[bytes], object]]:
    names = [
        "mlp",
        "convnet",
        "lstm",
        "loop_with_several_lists",
        "list_that_grows",
        "branches",
        "switch",
        "strings",
    ]
    files = [tf.onnx.to_bytes(tf.function(PROGRAMS[n].function), PROGRAMS[n].specs) for n in names]
    return files, True, lambda data: _core._OnnxModel.from_bytes(data).program(False, {}, {})


def saved_models(directory: Path) -> tuple[list[bytes], bool, Callable[[bytes], object]]:
    files = []
    for name in (
        "activations",
        "bidirectional",
        "branches",
        "control",
        "table",
        "tables_that_change",
        "tables_v1",
    ):
        path = MODELS / f"{name}.zip"
        with zipfile.ZipFile(path) as archive:
            files += [archive.read(name) for name in archive.namelist() if name.endswith("saved_model.pb")]
            if len(files) == 1:
                archive.extractall(directory)
    place = next(directory.rglob("saved_model.pb"))

    def read(data: bytes) -> object:
        place.write_bytes(data)
        return _core.Program._of_tensorflow(place.parent)

    return files, True, read


def bundles(directory: Path) -> tuple[list[bytes], bool, Callable[[bytes], object]]:
    shutil.copy(GOLDEN / "ck-1.data-00000-of-00001", directory)

    def read(data: bytes) -> None:
        (directory / "ck-1.index").write_bytes(data)
        reader = tf.train.load_checkpoint(str(directory / "ck-1"))
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)

    return [(GOLDEN / "ck-1.index").read_bytes()], False, read


FORMATS = [containers, models_of_onnx, saved_models, bundles]


def check(name: str, directory: Path) -> None:
    """Reads the damaged files of a format in this process, which may take so much memory and no more."""
    files, is_message, read = next(f for f in FORMATS if f.__name__ == name)(directory)
    for data in files:
        read(data)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * 4096 + 4 * max(map(len, files)) + ALLOWANCE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for number, data in enumerate(damaged(files, is_message)):
        (directory / "last").write_bytes(data)
        try:
            read(data)
        except tf.errors.InternalError as error:
            raise AssertionError(f"file {number}: {error}") from error
        except (
            tf.errors.OpError,
            ValueError,
            TypeError,
            KeyError,
            RuntimeError,
            NotImplementedError,
            OSError,
        ):
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of the process is limited")
@pytest.mark.timeout(120 + COUNT / 10)
@pytest.mark.parametrize("name", [f.__name__ for f in FORMATS])
def test_damaged_files_are_errors_or_programs(name, tmp_path):
    # A process of its own, which may end.
    code = (
        f"import pathlib, saving.test_hostile_files as t; t.check({name!r}, pathlib.Path({str(tmp_path)!r}))"
    )
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=60 + COUNT / 10,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr[-3000:]}\nthe file is {tmp_path / 'last'}"
