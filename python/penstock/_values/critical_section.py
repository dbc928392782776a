"""Functions that do not run beside each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock import _core, nest

__all__ = ["CriticalSection"]


class CriticalSection:
    """A lock around functions.

    A graph runs operations with effects in the order of the program, so within one call nothing else is
    needed. The lock keeps apart what several threads execute eagerly.

    Args:
        name: a name for messages.
        shared_name: accepted and ignored.
        critical_section_def: accepted and ignored.
        import_scope: accepted and ignored.

    >>> import penstock as tf
    >>> section, v = tf.CriticalSection(), tf.Variable(0)
    >>> int(section.execute(lambda: v.assign_add(1)))
    1
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: object = None,
        import_scope: str | None = None,
    ) -> None:
        self._name = name or "critical_section"
        self._lock = threading.Lock()
        self._holder: int | None = None

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Call a function while no other thread executes one here.

        Args:
            fn: a function without arguments.
            exclusive_resource_access: accepted; the order of effects is that of the program.
            name: accepted; what the function does has names of its own.

        Returns:
            What it returns, with tensors in place of numbers and arrays.

        Raises:
            ValueError: where the function executes another one in the same section.

        >>> import penstock as tf
        >>> tf.CriticalSection().execute(lambda: 3)
        <tf.Tensor: shape=(), dtype=int32, numpy=3>
        """
        if self._holder == threading.get_ident():
            raise ValueError(f"the critical section '{self._name}' is executed within itself")
        if _core._is_tracing():
            return self._held(fn)
        with self._lock:
            return self._held(fn)

    def _held(self, fn: Callable[[], Any]) -> Any:
        self._holder = threading.get_ident()
        try:
            return nest.map_structure(_as_tensor, fn())
        finally:
            self._holder = None


def _as_tensor(value: Any) -> Any:
    """Numbers, text and arrays as tensors; variables, composites and None as they are."""
    plain = isinstance(value, bool | int | float | complex | str | bytes) or hasattr(
        value, "__array_interface__"
    )
    return _core._to_tensor(value) if plain else value
