"""Let libraries and programs that import TensorFlow run on this package.

After `install()`, `import tensorflow` gives this package in the process: its public names,
`tensorflow.compat.v1` and `v2`, `tensorflow.keras` (Keras from PyPI), and those names of
`tensorflow.python` that libraries use. `import keras` gives Keras on this engine too, unless
`KERAS_BACKEND` in the environment names a backend other than TensorFlow. A name that is not there is an
`ImportError` or `AttributeError` that says so. A program that is not to be changed runs with

    python -m penstock.as_tensorflow program.py arguments
    python -m penstock.as_tensorflow -m module arguments

The modules have no objects of their own: `tensorflow.Tensor` is `penstock.Tensor`, so `isinstance` and
pickles are the same under both names. `tf_keras` means `tensorflow.keras` too: Keras 2 is made of
TensorFlow's inner parts. `tensorflow.__version__` is the version whose names these are.

>>> import penstock as tf
>>> with tf.as_tensorflow.installed():
...     import tensorflow
>>> tensorflow.Tensor is tf.Tensor
True
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from penstock.as_tensorflow._finder import KERAS_BACKEND, Finder, NamesModule, choose_keras_backend

__all__ = ["install", "installed", "uninstall"]


def _finder() -> Finder | None:
    return next((finder for finder in sys.meta_path if isinstance(finder, Finder)), None)


def install() -> None:
    """Let `import tensorflow` mean this package, from now on and in the whole process.

    Does nothing where it is so already.

    Raises:
        RuntimeError: where TensorFlow itself has been imported.

    >>> import penstock as tf
    >>> tf.as_tensorflow.install()
    >>> import tensorflow.compat.v2
    >>> tensorflow.compat.v2.reduce_sum([1, 2]).numpy()
    np.int32(3)
    >>> tf.as_tensorflow.uninstall()
    """
    if _finder() is not None:
        return
    loaded = sys.modules.get("tensorflow")
    if loaded is not None and not isinstance(loaded, NamesModule):
        raise RuntimeError(
            f"TensorFlow itself is loaded, from {getattr(loaded, '__file__', None)}: call "
            "penstock.as_tensorflow.install() before anything imports tensorflow, or start the program with "
            "'python -m penstock.as_tensorflow'"
        )
    sys.meta_path.insert(0, Finder(os.environ.get(KERAS_BACKEND)))
    choose_keras_backend()


def uninstall() -> None:
    """Let `import tensorflow` mean what it meant before `install`.

    Modules that imported it before keep what they have.

    >>> import penstock as tf
    >>> tf.as_tensorflow.uninstall()
    """
    finder = _finder()
    if finder is None:
        return
    sys.meta_path.remove(finder)
    if "keras" in sys.modules:
        return  # it loads more of its modules by this name
    if finder.keras_backend is None:
        os.environ.pop(KERAS_BACKEND, None)
    else:
        os.environ[KERAS_BACKEND] = finder.keras_backend
    for name in [name for name, module in sys.modules.items() if isinstance(module, NamesModule)]:
        del sys.modules[name]


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Let `import tensorflow` mean this package within a block.

    Returns:
        A context manager. Where it is so already, the block changes nothing.

    Raises:
        RuntimeError: where TensorFlow itself has been imported.

    >>> import penstock as tf
    >>> with tf.as_tensorflow.installed():
    ...     import tensorflow.python.util.nest as nest
    >>> nest.flatten([1, (2, 3)])
    [1, 2, 3]
    """
    before = _finder()
    install()
    try:
        yield
    finally:
        if before is None:
            uninstall()
