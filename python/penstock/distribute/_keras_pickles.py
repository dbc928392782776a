"""Objects of Keras as they go to other processes: with their attributes, and not as files."""

from __future__ import annotations

import copyreg
import importlib
import sys
from typing import Any

__all__ = ["load", "reduced", "used"]


def used() -> bool:
    """Whether this program uses Keras on this backend."""
    return "keras_penstock" in sys.modules


def load() -> None:
    """Loads Keras on this backend, before something of it is unpickled."""
    importlib.import_module("penstock.keras")


def reduced(value: Any) -> Any:
    """How an object of Keras is pickled, as `__reduce__` says it; None for anything else.

    Keras itself writes a file with copies of the weights. Here the variables stay those that they are.
    """
    if not used():
        return None
    from keras.src.optimizers.base_optimizer import BaseOptimizer  # loaded by then
    from keras.src.saving.keras_saveable import KerasSaveable  # loaded by then
    from keras.src.utils.tracking import TrackedDict, TrackedList, TrackedSet  # loaded by then

    if isinstance(value, BaseOptimizer):
        state = vars(value)
        return copyreg.__newobj__, (type(value),), state, None, None, _restore  # type: ignore[attr-defined]
    if isinstance(value, KerasSaveable):
        return copyreg.__newobj__, (type(value),), vars(value)  # type: ignore[attr-defined]
    if isinstance(value, TrackedDict | TrackedList | TrackedSet):
        items = dict(value) if isinstance(value, dict) else list(value)
        made = copyreg.__newobj__, (type(value),)  # type: ignore[attr-defined]
        return *made, (vars(value), items), None, None, _fill
    return None


def _restore(optimizer: Any, state: dict[str, Any]) -> None:
    """Gives an optimizer its attributes. It knows its variables by their identities."""
    vars(optimizer).update(state)
    known = getattr(optimizer, "_trainable_variables", None) or []
    optimizer._trainable_variables_indices = {optimizer._var_key(v): k for k, v in enumerate(known)}


def _fill(container: Any, state: tuple[dict[str, Any], Any]) -> None:
    """Gives a container its attributes, then its items, without those who follow changes of it."""
    attributes, items = state
    vars(container).update(attributes)
    kind: Any = next(base for base in (dict, list, set) if isinstance(container, base))
    (kind.extend if kind is list else kind.update)(container, items)
