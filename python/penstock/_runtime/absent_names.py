"""Where to look for a name of TensorFlow's that the package does not have."""

from __future__ import annotations

import importlib

__all__ = ["hint"]

_KERAS = "Keras is a package of its own, which runs on this one: pip install penstock-engine[keras]"
_IN_KERAS = f"it is Keras's: tf.keras.NAME. {_KERAS}"
_LATER = "it is TensorFlow's and not there yet; 'python -m penstock.api_report --missing' lists such names"

_WHERE = {
    **{name: _IN_KERAS.replace("NAME", name) for name in ("layers", "models", "applications", "callbacks")},
    "contrib": "TensorFlow 1 had it; its parts were packages of their own",
    "app": "TensorFlow 1 had it: it is absl.app, or tf.compat.v1.app",
    "flags": "TensorFlow 1 had it: it is absl.flags, or tf.compat.v1.flags",
    "logging": "TensorFlow 1 had it: tf.get_logger() gives the logger of the logging module",
    "estimator": "TensorFlow has it no longer",
    "py_func": "it is tf.numpy_function or tf.py_function",
    "python": "it holds TensorFlow's own parts; the public names are here",
}


def hint(name: str) -> str:
    """What `tf.name` is or where it is, behind a statement that it is absent; else an empty text.

    >>> hint("py_func")
    'it is tf.numpy_function or tf.py_function'
    """
    from penstock._api_names import reason, symbols  # start-up does without it

    if name in _WHERE:
        return _WHERE[name]
    if name in vars(importlib.import_module("penstock.compat.v1")):
        return f"it is a name of TensorFlow 1: tf.compat.v1.{name}"
    if (why := reason(name)) is not None:
        return (
            f"it is {why}"
            if why.startswith("a ")
            else f"TensorFlow has it {why}"
            if why.startswith("for ")
            else why
        )
    return _LATER if any(path.partition(".")[0] == name for path in symbols()) else ""
