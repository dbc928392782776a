"""Profiles: where the time of a program goes, by operator, line, function and step."""

from __future__ import annotations

from penstock._runtime.public_names import publish as _publish
from penstock.profiler import experimental as experimental
from penstock.profiler._recording import Recording as Recording, Row as Row, Step as Step, record as record

__all__ = ["Recording", "Row", "Step", "experimental", "record"]

_publish(__name__)
