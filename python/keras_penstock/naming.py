"""The name of the backend for modules of Keras that do more where it is TensorFlow's.

This module imports nothing of Keras: the hook puts it into modules that are loaded early.
"""


class _NamedTensorflow:
    """The module `keras.src.backend`, whose function `backend` says "tensorflow"."""

    def __init__(self, module):
        self._module = module

    @staticmethod
    def backend():
        return "tensorflow"

    def __getattr__(self, name):
        return getattr(self._module, name)


def named_tensorflow(module):
    """Give the module `keras.src.backend` under the name of TensorFlow."""
    return _NamedTensorflow(module)
