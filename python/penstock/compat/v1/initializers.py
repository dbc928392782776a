"""`tf.initializers` of TensorFlow 1: first values, of a dtype of their own, and what sets variables."""

from __future__ import annotations

import inspect
from typing import Any, Final

from penstock import _core, initializers, random, raw_ops
from penstock.compat.v1._legacy import tables_initializer as tables_initializer
from penstock.compat.v1._variables import (
    global_variables_initializer as global_variables,
    local_variables_initializer as local_variables,
    variables_initializer as variables,
)
from penstock.initializers import (
    HeNormal as he_normal,
    HeUniform as he_uniform,
    LecunNormal as lecun_normal,
    LecunUniform as lecun_uniform,
)

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]

_ANY: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD
_DTYPE: Final = inspect.Parameter("dtype", _ANY, default=_core.float32)


def _with_dtype(base: Any, label: str, what: str, **defaults: Any) -> Any:
    """A class of initializers of version 2, which takes a dtype behind the other arguments.

    Args:
        base: the class.
        label: its name.
        what: what it makes.
        **defaults: what its arguments are by default, where that is another than in version 2.
    """
    own = list(inspect.signature(base).parameters.values())
    own = [p.replace(default=defaults.get(p.name, p.default), kind=_ANY) for p in own]
    signature = inspect.Signature([*own, _DTYPE])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{label}() {error}") from None
        bound.apply_defaults()
        dtype = bound.arguments.pop("dtype")
        base.__init__(self, **bound.arguments)
        self.dtype = _core.DType(dtype)

    def __call__(self: Any, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return base.__call__(self, shape, self.dtype if dtype is None else dtype)

    def get_config(self: Any) -> dict[str, Any]:
        config: dict[str, Any] = base.get_config(self)
        return {**config, "dtype": self.dtype.name}

    __call__.__doc__ = "Make the tensor; of the dtype of the initializer where none is given."
    get_config.__doc__ = "Give the arguments that make an equal one."
    space = {
        "__init__": __init__,
        "__call__": __call__,
        "get_config": get_config,
        "__signature__": signature,
        "__module__": __name__,
        "__qualname__": label,
        "__doc__": f"""{what}

    Its arguments are those of `tf.initializers.{base.__name__}`, and `dtype`, the element type where
    none is given to the call.

    >>> import penstock as tf
    >>> tf.compat.v1.initializers.{label}(dtype=tf.float64)([2, 2]).dtype
    tf.float64
    """,
    }
    return type(label, (base,), space)


zeros = _with_dtype(initializers.Zeros, "zeros", "Zeros.")
ones = _with_dtype(initializers.Ones, "ones", "Ones.")
random_normal = _with_dtype(
    initializers.RandomNormal, "random_normal", "Numbers of a normal distribution.", stddev=1.0
)
truncated_normal = _with_dtype(
    initializers.TruncatedNormal,
    "truncated_normal",
    "Numbers of a normal distribution without its tails.",
    stddev=1.0,
)
variance_scaling = _with_dtype(
    initializers.VarianceScaling, "variance_scaling", "Numbers whose variance follows the shape."
)
glorot_uniform = _with_dtype(initializers.GlorotUniform, "glorot_uniform", "Glorot's uniform numbers.")
glorot_normal = _with_dtype(initializers.GlorotNormal, "glorot_normal", "Glorot's normal numbers.")
orthogonal = _with_dtype(initializers.Orthogonal, "orthogonal", "Orthogonal matrices.")
identity = _with_dtype(initializers.Identity, "identity", "The matrix of identity.")


class random_uniform(initializers.Initializer):
    """Numbers of equal probability between two bounds.

    Args:
        minval: the lower bound.
        maxval: the upper bound, which does not occur; by default 1, for integers it must be given.
        seed: where the numbers start.
        dtype: the element type where none is given to the call, floating or an integer.

    >>> import penstock as tf
    >>> tf.compat.v1.initializers.random_uniform(3, 4, dtype=tf.int32)([2]).numpy().tolist()
    [3, 3]
    """

    def __init__(
        self, minval: Any = 0.0, maxval: Any = None, seed: int | None = None, dtype: Any = _core.float32
    ) -> None:
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, _core.DType(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None, **_: Any) -> _core.Tensor:
        """Make the tensor; of the dtype of the initializer where none is given."""
        kind = self.dtype if dtype is None else _core.DType(dtype)
        return random.uniform(shape, self.minval, self.maxval, kind, self.seed)

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make an equal one."""
        return {**super().get_config(), "dtype": self.dtype.name}


class constant(initializers.Initializer):
    """Given values.

    Args:
        value: a number, or the elements in order; where there are fewer than the shape has, the last one
            stands for the rest.
        dtype: the element type where none is given to the call.
        verify_shape: whether the value must have the shape that is asked for.

    Raises:
        TypeError: from the call, for a value of another shape with `verify_shape`.

    >>> import penstock as tf
    >>> tf.compat.v1.initializers.constant([1, 2, 3])([2, 2], tf.int32).numpy().tolist()
    [[1, 2], [3, 3]]
    """

    def __init__(self, value: Any = 0, dtype: Any = _core.float32, verify_shape: bool = False) -> None:
        self.value, self.dtype, self._verify = value, _core.DType(dtype), verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: Any = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
        **_: Any,
    ) -> _core.Tensor:
        """Make the tensor; of the dtype of the initializer where none is given."""
        found = _core._to_tensor(self.value, self.dtype if dtype is None else _core.DType(dtype))
        if shape is None:
            return found
        sizes = [int(size) for size in shape]
        if self._verify if verify_shape is None else verify_shape:
            if found.shape.as_list() != sizes:
                raise TypeError(f"the value must have the shape {tuple(sizes)}, got {found.shape}")
            return found
        whole, count = 1, raw_ops.size(found)
        for size in sizes:
            whole *= size
        if whole < (known := found.shape.num_elements() or 0):
            raise ValueError(f"too many elements for the shape {tuple(sizes)}: {known}")
        places = raw_ops.minimum(raw_ops.range(0, whole, 1), count - 1)
        filled: _core.Tensor = raw_ops.reshape(raw_ops.gather(raw_ops.reshape(found, [-1]), places), sizes)
        return filled

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make an equal one."""
        return {"value": self.value, "dtype": self.dtype.name}


class uniform_unit_scaling(initializers.Initializer):
    """Uniform numbers that keep the scale of what a layer is given.

    Args:
        factor: what the bounds are multiplied by.
        seed: where the numbers start.
        dtype: the element type where none is given to the call.

    >>> import penstock as tf
    >>> x = tf.compat.v1.initializers.uniform_unit_scaling()([3, 4])
    >>> float(tf.reduce_max(tf.abs(x))) <= 1.0
    True
    """

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = _core.float32) -> None:
        self.factor, self.seed, self.dtype = factor, seed, _core.DType(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None, **_: Any) -> _core.Tensor:
        """Make the tensor; of the dtype of the initializer where none is given."""
        whole = 1.0
        for size in list(shape)[:-1]:
            whole *= float(size)
        bound = (3.0 / max(whole, 1.0)) ** 0.5 * self.factor
        kind = self.dtype if dtype is None else _core.DType(dtype)
        return random.uniform(list(shape), -bound, bound, kind, self.seed)

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make an equal one."""
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}
