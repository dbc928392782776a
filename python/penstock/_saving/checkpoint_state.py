"""The file `checkpoint` of a directory: which checkpoints there are, and which is the latest."""

from __future__ import annotations

import codecs
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock._types.argument_names import path_of
from penstock.errors import NotFoundError

__all__ = ["CheckpointState", "checkpoints_iterator", "get_checkpoint_state", "latest_checkpoint", "record"]

FILE = "checkpoint"


@dataclass
class CheckpointState:
    """What the file says.

    Attributes:
        model_checkpoint_path: the latest checkpoint.
        all_model_checkpoint_paths: all of them, the oldest first.
        all_model_checkpoint_timestamps: when each was written, in seconds.
        last_preserved_timestamp: when one was last kept for good.
    """

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float = 0.0


def _text(state: CheckpointState) -> str:
    def quoted(path: str) -> str:
        escaped = path.encode().decode("latin-1").encode("unicode_escape").decode().replace('"', '\\"')
        return f'"{escaped}"'

    lines = [f"model_checkpoint_path: {quoted(state.model_checkpoint_path)}"]
    lines += [f"all_model_checkpoint_paths: {quoted(path)}" for path in state.all_model_checkpoint_paths]
    lines += [f"all_model_checkpoint_timestamps: {when!r}" for when in state.all_model_checkpoint_timestamps]
    if state.last_preserved_timestamp:
        lines.append(f"last_preserved_timestamp: {state.last_preserved_timestamp!r}")
    return "".join(f"{line}\n" for line in lines)


def _parsed(text: str) -> CheckpointState:
    state = CheckpointState()
    for name, quoted, number in re.findall(
        r'^\s*(\w+):\s*(?:"((?:[^"\\]|\\.)*)"|([-+.\w]+))\s*$', text, re.MULTILINE
    ):
        if name == "all_model_checkpoint_timestamps":
            state.all_model_checkpoint_timestamps.append(float(number))
        elif name == "last_preserved_timestamp":
            state.last_preserved_timestamp = float(number)
        elif name in ("model_checkpoint_path", "all_model_checkpoint_paths"):
            path = codecs.escape_decode(quoted.encode())[0].decode()
            if name == "model_checkpoint_path":
                state.model_checkpoint_path = path
            else:
                state.all_model_checkpoint_paths.append(path)
    return state


def record(
    directory: Path,
    latest: str,
    paths: Sequence[str],
    times: Sequence[float] | None = None,
    preserved: float = 0.0,
    name: str | None = None,
) -> None:
    """Writes the file, as a whole or not at all, with paths as they are seen from the directory."""

    def seen(path: str) -> str:
        found = Path(path)
        return found.name if found.parent == directory else str(found)

    times = [time.time()] * len(paths) if times is None else times
    state = CheckpointState(seen(latest), [seen(path) for path in paths], list(times), preserved)
    target = directory / (name or FILE)
    temporary = directory / f".{target.name}.{os.getpid()}.tmp"
    temporary.write_text(_text(state), encoding="utf-8")
    temporary.replace(target)


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """Read which checkpoints a directory has.

    Args:
        checkpoint_dir: the directory.
        latest_filename: the name of the file that says it, by default `checkpoint`.

    Returns:
        What it says, with whole paths; None where there is no such file.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> directory = tempfile.mkdtemp()
    >>> _ = tf.train.Checkpoint(v=tf.Variable(1.0)).save(os.path.join(directory, "ckpt"))
    >>> os.path.basename(tf.train.get_checkpoint_state(directory).model_checkpoint_path)
    'ckpt-1'
    """
    directory = Path(path_of(checkpoint_dir, "checkpoint_dir"))
    try:
        text = (directory / (latest_filename or FILE)).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    state = _parsed(text)
    if not state.model_checkpoint_path:
        return None
    state.model_checkpoint_path = str(directory / state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [str(directory / path) for path in state.all_model_checkpoint_paths]
    return state


def exists(path: str) -> bool:
    """Whether there is a checkpoint of a path."""
    return Path(f"{path}.index").is_file()


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """Find the latest checkpoint of a directory.

    Args:
        checkpoint_dir: the directory.
        latest_filename: the name of the file that says it, by default `checkpoint`.

    Returns:
        Its path, for `Checkpoint.restore`; None where there is none.

    >>> import tempfile
    >>> import penstock as tf
    >>> tf.train.latest_checkpoint(tempfile.mkdtemp()) is None
    True
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    return state.model_checkpoint_path if state is not None and exists(state.model_checkpoint_path) else None


def checkpoints_iterator(
    checkpoint_dir: str | os.PathLike[str],
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Iterate over the checkpoints of a directory as they are written, always on with the latest.

    Args:
        checkpoint_dir: the directory.
        min_interval_secs: the least time between two.
        timeout: how long to wait for a new one, in seconds; None for ever.
        timeout_fn: a function that is called when the time is over: where it gives true, there is no more.

    Yields:
        The path of a new checkpoint.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> directory = tempfile.mkdtemp()
    >>> _ = tf.train.Checkpoint(v=tf.Variable(1.0)).save(os.path.join(directory, "ckpt"))
    >>> [os.path.basename(path) for path in tf.train.checkpoints_iterator(directory, timeout=0)]
    ['ckpt-1']
    """
    last = None
    while True:
        path = _newer(checkpoint_dir, last, timeout)
        if path is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        start = time.monotonic()
        last = path
        yield path
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - start)))


def _newer(directory: str | os.PathLike[str], last: str | None, timeout: float | None) -> str | None:
    """The latest checkpoint once it is another; None where the time is over."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        path = latest_checkpoint(directory)
        if path is not None and path != last:
            return path
        pause = 0.5 if end is None else min(0.5, end - time.monotonic())
        if pause <= 0:
            return None
        time.sleep(pause)


def remove(path: str) -> None:
    """Removes the files of a checkpoint, the index first: without it there is none."""
    prefix = Path(path)
    prefix.with_name(f"{prefix.name}.index").unlink(missing_ok=True)
    prefix.with_name(f"{prefix.name}.meta").unlink(missing_ok=True)
    for data in prefix.parent.glob(f"{_literal(prefix.name)}.data-?????-of-?????"):
        data.unlink(missing_ok=True)


def _literal(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def resolve(path: str | os.PathLike[str]) -> str:
    """The path of a checkpoint: of a directory, its latest.

    Raises:
        NotFoundError: where there is none.
    """
    text = path_of(path, "path")
    if not Path(text).is_dir():
        return text
    found = latest_checkpoint(text)
    if found is None:
        raise NotFoundError(f"the directory {text} has no checkpoint")
    return found
