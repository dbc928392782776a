"""Keras 3 from PyPI on this engine.

The module has the names of `keras`, with the additions that `tf.keras` has in TensorFlow. Keras is not part
of this package: `pip install penstock-engine[keras]`. It chooses its backend once, when it is first imported
in a process. So this module is to be imported before `keras`, or Python started with `KERAS_BACKEND=penstock`
in the environment.

>>> import penstock as tf
>>> model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(2)])
>>> model(tf.ones([4, 3])).shape
TensorShape([4, 2])
"""

from __future__ import annotations

import importlib.util
import os

from penstock import _keras_hook

os.environ["KERAS_BACKEND"] = _keras_hook.BACKEND
_keras_hook.install()

try:
    _keras = importlib.import_module("keras._tf_keras.keras")
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "keras":
        raise
    raise ModuleNotFoundError(
        "penstock.keras is Keras from PyPI, which is not installed: pip install penstock-engine[keras]",
        name="keras",
    ) from None

__all__ = [name for name in dir(_keras) if not name.startswith("_")]


def __getattr__(name: str) -> object:
    if not hasattr(_keras, name) and importlib.util.find_spec(f"{_keras.__name__}.{name}"):
        # Some of its modules are loaded only when they are imported.
        return importlib.import_module(f"{_keras.__name__}.{name}")
    return getattr(_keras, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_keras)})
