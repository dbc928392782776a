"""Tensors in `einops`, which finds the backends of frameworks by their classes.

`einops` takes every subclass of its `AbstractBackend` for one. The class is made when `einops` is there: at
once, or when the program imports it, since importing Penstock imports no other package.
"""

from __future__ import annotations

import sys
from typing import Any

_MODULE = "einops._backends"


class _WhenImported:
    """A finder of modules that finds none, but acts after `einops` was imported by the others."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The module's own spec, with a loader that registers the backend too."""
        if name != _MODULE:
            return None
        import importlib.util  # start-up does without it

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader = spec.loader
            run = loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                _register(module)

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Makes the backend, now or when `einops` is imported."""
    if _MODULE in sys.modules:
        _register(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _WhenImported())


def _register(backends: Any) -> None:
    import penstock as tf  # whole by then

    class PenstockBackend(backends.AbstractBackend):  # type: ignore[misc]
        """Tensors and variables, eager and symbolic; unknown sizes are tensors."""

        framework_name = "penstock"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, tf.Tensor | tf.Variable)

        def from_numpy(self, x: Any) -> tf.Tensor:
            return tf.convert_to_tensor(x)

        def to_numpy(self, x: Any) -> Any:
            return x.numpy()

        def arange(self, start: Any, stop: Any) -> tf.Tensor:
            return tf.range(start, stop)

        def shape(self, x: Any) -> Any:
            static = x.shape.as_list()
            if None not in static:
                return tuple(static)
            dynamic = tf.unstack(tf.shape(x), len(static))
            sizes = (d if s is None else s for s, d in zip(static, dynamic, strict=True))
            return backends.HashableTuple(tuple(sizes))

        def reduce(self, x: Any, operation: str, axes: Any) -> Any:
            return getattr(tf, f"reduce_{operation}")(x, axis=axes)

        def reshape(self, x: Any, shape: Any) -> tf.Tensor:
            return tf.reshape(x, list(shape))

        def transpose(self, x: Any, axes: Any) -> tf.Tensor:
            return tf.transpose(x, axes)

        def stack_on_zeroth_dimension(self, tensors: list[Any]) -> tf.Tensor:
            return tf.stack(tensors)

        def tile(self, x: Any, repeats: Any) -> tf.Tensor:
            return tf.tile(x, list(repeats))

        def concat(self, tensors: Any, axis: int) -> tf.Tensor:
            return tf.concat(list(tensors), axis)

        def add_axis(self, x: Any, new_position: int) -> tf.Tensor:
            return tf.expand_dims(x, new_position)

        def is_float_type(self, x: Any) -> bool:
            return bool(x.dtype.is_floating or x.dtype.is_complex)

        def einsum(self, pattern: str, *x: Any) -> tf.Tensor:
            return tf.einsum(pattern, *x)

    # `einops` finds the class among the subclasses; this keeps it alive.
    backends._penstock_backend = PenstockBackend
