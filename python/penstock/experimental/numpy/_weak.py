"""Weak tensors: what is made of Python's numbers in the modes "all" and "safe".

A weak tensor is a tensor with a mark. Its dtype was inferred, and gives way to that of another operand.
Functions of one array keep the mark, and those of two arrays give a weak result where both are. Whatever
else makes a tensor makes one without the mark. In a traced function arguments have none.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from penstock import _core, nest, raw_ops
from penstock._core import Tensor
from penstock._values.variable import Variable
from penstock.errors import DTypeError
from penstock.experimental.numpy import _promotion as promotion
from penstock.experimental.numpy._arrays import convert

_PYTHON = (bool, int, float, complex, list, tuple)

# Functions of one array, by the modules of the package that show them.
_OF_ONE = {
    "": """
        abs acos acosh asin asinh atan atanh clip_by_value cos cosh exp expand_dims floor identity negative
        ones_like reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum reshape round
        sigmoid sign sin sinh sqrt square squeeze stop_gradient tan tanh transpose zeros_like
    """,
    "math": """
        abs acos acosh angle asin asinh atan atanh ceil conj cos cosh digamma erf erfc erfcinv erfinv exp
        expm1 floor imag lgamma log log1p log_sigmoid ndtri negative real reciprocal reciprocal_no_nan
        reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std
        reduce_sum reduce_variance rint round rsqrt sigmoid sign sin sinh softplus sqrt square tan tanh
        bessel_i0 bessel_i0e bessel_i1 bessel_i1e
    """,
    "math.special": """
        bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1
        bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence
    """,
    "bitwise": "invert",
    "debugging": "check_numerics",
    "linalg": "diag diag_part matrix_transpose tensor_diag_part trace",
    "nn": """
        depth_to_space elu gelu leaky_relu log_softmax relu6 relu selu softsign space_to_depth silu swish
    """,
    "image": """
        adjust_brightness adjust_gamma extract_patches random_brightness stateless_random_brightness
    """,
    "experimental.numpy": """
        abs absolute amax amin angle arange arccos arccosh arcsin arcsinh arctan arctanh around array
        asanyarray asarray ascontiguousarray average bitwise_not cbrt ceil conj conjugate copy cos cosh
        cumprod cumsum deg2rad diag diagflat diagonal diff empty_like exp exp2 expand_dims expm1 fabs fix
        flatten flip fliplr flipud floor full_like imag log log10 log1p log2 max mean min moveaxis nanmean
        negative ones_like positive prod rad2deg ravel real reciprocal repeat reshape rot90 round signbit
        sin sinc sinh sort sqrt square squeeze std sum swapaxes tan tanh trace transpose triu vander var
        zeros_like
    """,
}
# Functions of two arrays.
_OF_TWO = {
    "": "add divide matmul maximum minimum multiply pow realdiv subtract truncatediv truncatemod",
    "math": """
        add divide divide_no_nan floordiv floormod maximum minimum mod multiply multiply_no_nan pow subtract
        truediv
    """,
    "linalg": "matmul",
    "experimental.numpy": "matmul",
}
_COMPARED = ("maximum", "minimum")


def marked(made: Any) -> Any:
    """A result as a weak one: a tensor, or several."""
    if isinstance(made, Tensor):
        if made.dtype in promotion.WEAK:
            made._weak = True  # type: ignore[attr-defined]
        return made
    return nest.map_structure(marked, made) if isinstance(made, list | tuple) else made


def _fresh(x: Tensor) -> Tensor:
    """A tensor of its own, which a mark does not share with others."""
    copied: Tensor = raw_ops.identity(x)
    return copied


def following(function: Callable[..., Any], x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function of one array gives, weak where the array is, or is made of Python's numbers."""
    if not promotion.settings.lattice or (isinstance(x, Tensor) and not promotion.is_weak(x)):
        return function(x, *args, **kwargs)
    if not isinstance(x, (Tensor, *_PYTHON)):
        return function(x, *args, **kwargs)
    try:
        kind = promotion.kind_of(x)
    except TypeError:
        return function(x, *args, **kwargs)
    made = function(convert(x, kind.dtype), *args, **kwargs)
    return marked(made) if kind.weak else made


def _of_one(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = list(inspect.signature(function).parameters)
    dtype = parameters.index("dtype") if "dtype" in parameters else len(parameters)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = len(args) > dtype or kwargs.get("dtype") is not None
        if not promotion.settings.lattice or given:
            return function(*args, **kwargs)
        if args:
            return following(function, args[0], args[1:], kwargs)
        rest = {name: value for name, value in kwargs.items() if name != parameters[0]}
        return following(function, kwargs[parameters[0]], (), rest)

    return call


def _of_two(function: Callable[..., Any]) -> Callable[..., Any]:
    first, second, *_ = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not promotion.settings.lattice:
            return function(*args, **kwargs)
        given = {**dict(zip((first, second), args, strict=False)), **kwargs}
        x, y = given.pop(first), given.pop(second)
        try:
            kind = promotion.kind_of(x, y)
            pair = convert(x, kind.dtype), convert(y, kind.dtype)
        except (TypeError, ValueError):
            if isinstance(x, (Tensor, *_PYTHON)) and isinstance(y, (Tensor, *_PYTHON)):
                raise
            # Ragged and sparse tensors promote nothing.
            return function(*args, **kwargs)
        made = function(*pair, *args[2:], **given)
        return marked(made) if kind.weak and function.__name__ not in _COMPARED else made

    return call


def _constant(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(function)
    def constant(value: Any, dtype: Any = None, shape: Any = None, name: Any = "Const") -> Tensor:
        if not promotion.settings.lattice:
            return function(value, dtype, shape, name)
        if isinstance(value, Tensor):
            if dtype is not None:
                promotion.kind_of(value, _core.DType(dtype))
                return function(convert(value, _core.DType(dtype)), dtype, shape, name)
            made = function(_fresh(value), None, shape, name)
            return marked(made) if promotion.is_weak(value) else made
        if dtype is not None or not isinstance(value, _PYTHON):
            return function(value, dtype, shape, name)
        kind = promotion.kind_of(value)
        made = function(value, kind.dtype, shape, name)
        return marked(made) if kind.weak else made

    return constant


def _assignment(name: str) -> Callable[..., Any]:
    """An assignment to a variable that converts the value, where that promotes to the variable's dtype."""
    native = getattr(Variable, name)

    @functools.wraps(native)
    def assign(self: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        if promotion.settings.lattice and isinstance(value, (Tensor, *_PYTHON)):
            dtype = promotion.kind_of(self, value).dtype
            if dtype != self.dtype:
                raise DTypeError(
                    f"{name}: argument 'value' promotes with the variable to {dtype.name}, but a variable "
                    f"keeps its dtype, {self.dtype.name}; convert the value with tf.cast"
                )
            value = convert(value, dtype)
        return native(self, value, *args, **kwargs)

    return assign


def _module(name: str) -> Any:
    return importlib.import_module(f"penstock.{name}" if name else "penstock")


@functools.cache
def install() -> None:
    """Lets the functions that know of weak tensors do so, once."""
    made: dict[Any, Any] = {}
    for table, wrap in ((_OF_ONE, _of_one), (_OF_TWO, _of_two)):
        for place, names in table.items():
            module = _module(place)
            for name in names.split():
                function = getattr(module, name)
                if function not in made.values():
                    setattr(module, name, made.setdefault(function, wrap(function)))
    package = _module("")
    package.constant = _constant(package.constant)
    for name in ("assign", "assign_add", "assign_sub"):
        setattr(Variable, name, _assignment(name))
