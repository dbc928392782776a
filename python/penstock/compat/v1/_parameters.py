"""Functions of TensorFlow 1 that version 2 has under the same names, with other parameters.

A table has the parameters of version 1 in their order: `old>new` stands for one that has another name now,
`name!` for one that has no effect.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from operator import attrgetter
from types import ModuleType
from typing import Any, Final

__all__ = ["MODULES", "NAMES", "PARAMETERS", "old_function", "old_module"]

_REDUCTION: Final = "input_tensor axis keepdims name reduction_indices>axis keep_dims>keepdims"
_POOL: Final = "value>input ksize strides padding data_format name input"

_MATH: Final = {
    **dict.fromkeys(
        ("reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min"),
        _REDUCTION,
    ),
    **dict.fromkeys(("reduce_prod", "reduce_sum"), _REDUCTION),
    **dict.fromkeys(("argmax", "argmin"), "input axis name dimension>axis output_type"),
}
_NORM: Final = "tensor ord axis keepdims name keep_dims>keepdims"
_SOFTMAX: Final = "logits axis name dim>axis"
_CONFUSION: Final = "labels predictions num_classes dtype name weights"
_JOIN: Final = "inputs axis keep_dims>keepdims separator name reduction_indices>axis keepdims"

# By the paths of the functions below `penstock`.
PARAMETERS: Final[dict[str, str]] = {
    **_MATH,
    **{f"math.{name}": text for name, text in _MATH.items()},
    "boolean_mask": "tensor mask name axis",
    "cond": "pred true_fn false_fn strict! name fn1>true_fn fn2>false_fn",
    "constant": "value dtype shape name verify_shape!",
    "expand_dims": "input axis name dim>axis",
    "gather": "params indices validate_indices name axis batch_dims",
    "linalg.norm": _NORM,
    "math.confusion_matrix": _CONFUSION,
    "math.l2_normalize": "x axis epsilon name dim>axis",
    "math.log_softmax": _SOFTMAX,
    "math.softmax": _SOFTMAX,
    "nn.avg_pool": _POOL,
    "nn.conv1d": "value>input filters stride padding use_cudnn_on_gpu! data_format name input dilations",
    "nn.conv2d": "input filter>filters strides padding use_cudnn_on_gpu! data_format dilations name filters",
    "nn.conv2d_transpose": (
        "value>input filter>filters output_shape strides padding data_format name input filters dilations"
    ),
    "nn.conv3d": "input filter>filters strides padding data_format dilations name filters",
    "nn.convolution": (
        "input filter>filters padding strides dilation_rate>dilations name data_format filters dilations"
    ),
    "nn.depthwise_conv2d": "input filter strides padding rate>dilations name data_format dilations",
    "nn.l2_normalize": "x axis epsilon name dim>axis",
    "nn.log_softmax": _SOFTMAX,
    "nn.max_pool": _POOL,
    "nn.moments": "x axes shift name keep_dims>keepdims keepdims",
    "nn.pool": (
        "input window_shape pooling_type padding dilation_rate>dilations strides name data_format dilations"
    ),
    "nn.separable_conv2d": (
        "input depthwise_filter pointwise_filter strides padding rate>dilations name data_format dilations"
    ),
    "nn.softmax": _SOFTMAX,
    "nn.weighted_cross_entropy_with_logits": "labels logits pos_weight name targets>labels",
    "norm": _NORM,
    "ones_like": "tensor>input dtype name optimize!",
    "pad": "tensor paddings mode name constant_values",
    "reverse_sequence": ("input seq_lengths seq_axis batch_axis name seq_dim>seq_axis batch_dim>batch_axis"),
    "shape": "input name out_type",
    "size": "input name out_type",
    "squeeze": "input axis name squeeze_dims>axis",
    "strings.length": "input name unit",
    "strings.reduce_join": _JOIN,
    "strings.substr": "input pos len name unit",
    "transpose": "a perm name conjugate",
    "zeros_like": "tensor>input dtype name optimize!",
}

# Modules that have such functions, besides those that are files here.
MODULES: Final = ("linalg", "math", "strings")

# Names of modules that version 2 has elsewhere, with the same parameters in the same order.
NAMES: Final[dict[str, dict[str, str]]] = {
    "gfile": {
        "Copy": "io.gfile.copy",
        "DeleteRecursively": "io.gfile.rmtree",
        "Exists": "io.gfile.exists",
        "FastGFile": "io.gfile.GFile",
        "GFile": "io.gfile.GFile",
        "Glob": "io.gfile.glob",
        "IsDirectory": "io.gfile.isdir",
        "ListDirectory": "io.gfile.listdir",
        "MakeDirs": "io.gfile.makedirs",
        "MkDir": "io.gfile.mkdir",
        "Open": "io.gfile.GFile",
        "Remove": "io.gfile.remove",
        "Rename": "io.gfile.rename",
        "Stat": "io.gfile.stat",
        "Walk": "io.gfile.walk",
    },
    "python_io": {"TFRecordOptions": "io.TFRecordOptions", "TFRecordWriter": "io.TFRecordWriter"},
    "random": {"set_random_seed": "compat.v1.set_random_seed"},
    "spectral": {
        name: f"signal.{name}"
        for name in ("dct", "fft", "fft2d", "fft3d", "idct", "ifft", "ifft2d", "ifft3d", "irfft", "rfft")
    },
}


@functools.cache
def old_function(path: str) -> Callable[..., Any]:
    """The function of a path below `penstock`, with the parameters of version 1.

    A parameter that is None has the default of version 2.
    """
    import penstock  # which is above this in the package

    function: Callable[..., Any] = attrgetter(path)(penstock)
    defaults = inspect.signature(function).parameters
    renamed, without_effect = dict[str, str](), set[str]()
    parameters = []
    for text in PARAMETERS[path].split():
        name, _, new = text.rstrip("!").partition(">")
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None))
        renamed[name] = new or name
        if text.endswith("!"):
            without_effect.add(name)
    signature = inspect.Signature(parameters)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{function.__name__}() {error}") from None
        found: dict[str, Any] = {}
        for name, value in given.items():
            new = renamed[name]
            if name in without_effect:
                continue
            if value is None and defaults[new].default is not inspect.Parameter.empty:
                continue
            if new in found:
                raise ValueError(f"{function.__name__}() takes '{name}' or '{new}', not both")
            found[new] = value
        return function(**found)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


class _OldModule(ModuleType):
    """A module of version 2 whose functions have the parameters of version 1."""

    def __getattr__(self, name: str) -> Any:
        import penstock  # which is above this in the package

        own = self.__name__.rpartition(".")[2]
        path = NAMES.get(own, {}).get(name, f"{own}.{name}")
        if path in PARAMETERS:
            return old_function(path)
        if not hasattr(penstock, path.partition(".")[0]):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return attrgetter(path)(penstock)

    def __dir__(self) -> list[str]:
        import penstock  # which is above this in the package

        own = self.__name__.rpartition(".")[2]
        return sorted({*(dir(getattr(penstock, own)) if hasattr(penstock, own) else ()), *NAMES.get(own, {})})


@functools.cache
def old_module(name: str) -> ModuleType:
    """A module of version 2 whose functions have the parameters of version 1."""
    made = _OldModule(f"penstock.compat.v1.{name}", f"`tf.{name}` with the parameters of TensorFlow 1.")
    # Who has it may import it by its name.
    return sys.modules.setdefault(made.__name__, made)
