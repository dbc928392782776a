"""Event files are read: those of this package, of TensorFlow, and of others that write for TensorBoard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock._ops.tensor_protos import make_ndarray
from penstock._runtime.protos import Event
from penstock._runtime.records import Reading, opened, records
from penstock.errors import DataLossError

__all__ = ["described", "events", "files_below", "is_event_file"]

# What summaries of TensorFlow 1 hold, by the names of plugins.
_KINDS = {"simple_value": "scalars", "image": "images", "histo": "histograms", "audio": "audio"}


def events(path: str) -> Iterator[Event]:
    """The events of a file, in their order.

    Raises:
        NotFoundError: where there is no such file.
        DataLossError: for another kind of file, and where it ends within an event, behind those before.
    """
    with Reading(path), opened(path, None) as file:
        for record in records(file, path):
            try:
                event = Event.FromString(record)
            except ValueError as error:
                raise DataLossError(f"{path} holds a record that is no event: {error}") from None
            yield event


def is_event_file(path: Path) -> bool:
    """Whether it is named as one."""
    return ".tfevents." in path.name and path.is_file()


def files_below(directory: Path) -> list[Path]:
    """The event files of a directory, and of those below it."""
    return sorted(path for path in directory.rglob("*.tfevents.*") if path.is_file())


class _Series:
    """The summaries of a tag.

    Attributes:
        kind: which plugin shows them.
        steps: their steps.
        last: the latest value, if it is a number.
    """

    def __init__(self) -> None:
        self.kind, self.steps, self.last = "", list[int](), ""

    def add(self, step: int, value: Any) -> None:
        """Count a summary."""
        self.steps.append(step)
        self.kind = value.metadata.plugin_data.plugin_name or self.kind or _kind(value)
        self.last = _number(value)

    def __str__(self) -> str:
        first, final = min(self.steps), max(self.steps)
        steps = f"step {first}" if first == final else f"steps {first} to {final}"
        last = f", {self.last} at last" if self.last else ""
        return f"{self.kind}, {len(self.steps)} at {steps}{last}"


def _kind(value: Any) -> str:
    found = value.WhichOneof("value")
    return _KINDS.get(found, found or "no value")


def _number(value: Any) -> str:
    if value.WhichOneof("value") == "simple_value":
        return f"{value.simple_value:.6g}"
    if value.WhichOneof("value") == "tensor" and not value.tensor.tensor_shape.dim:
        try:
            array = make_ndarray(value.tensor)
        except TypeError:
            return ""
        return f"{array.item():.6g}" if array.ndim == 0 and array.dtype.kind in "fiu" else ""
    return ""


def described(path: Path) -> Iterator[str]:
    """What the event files at a place hold: a line for each series, those of a directory under its name."""
    files = [path] if path.is_file() else files_below(path)
    runs: dict[Path, list[Path]] = {}
    for file in files:
        runs.setdefault(file.parent, []).append(file)
    for run, those in runs.items():
        yield f"run {run.relative_to(path)}" if path.is_dir() else f"events of {path.name}"
        series: dict[str, _Series] = {}
        graphs, notes = 0, []
        for file in those:
            try:
                for event in events(str(file)):
                    graphs += bool(event.graph_def)
                    for value in event.summary.value:
                        series.setdefault(value.tag, _Series()).add(event.step, value)
            except DataLossError as error:
                notes.append(str(error))
        for tag, found in sorted(series.items()):
            yield f"  {tag}: {found}"
        if graphs:
            yield f"  {graphs} graph{'s' * (graphs > 1)}"
        if not series and not graphs:
            yield "  nothing"
        for note in notes:
            yield f"  {note}"
