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
    "convert_to_tensor": "value dtype name preferred_dtype>dtype_hint dtype_hint",
    "gather_nd": "params indices name batch_dims bad_indices_policy",
    "hessians": "ys xs name colocate_gradients_with_ops! gate_gradients aggregation_method",
    "image.crop_and_resize": (
        "image boxes box_ind>box_indices crop_size method extrapolation_value name box_indices"
    ),
    "image.draw_bounding_boxes": "images boxes name colors",
    "io.serialize_many_sparse": "sp_input name out_type",
    "io.serialize_sparse": "sp_input name out_type",
    "math.in_top_k": "predictions targets k name",
    "nn.avg_pool2d": _POOL,
    "nn.batch_norm_with_global_normalization": (
        "t>input m>mean v>variance beta gamma variance_epsilon scale_after_normalization name "
        "input mean variance"
    ),
    "nn.conv3d_transpose": (
        "value>input filter>filters output_shape strides padding data_format name input filters dilations"
    ),
    "nn.crelu": "features name axis",
    "nn.depth_to_space": "input block_size name data_format",
    "nn.fractional_avg_pool": "value pooling_ratio pseudo_random overlapping deterministic! seed seed2! name",
    "nn.fractional_max_pool": "value pooling_ratio pseudo_random overlapping deterministic! seed seed2! name",
    "nn.in_top_k": "predictions targets k name",
    "nn.max_pool_with_argmax": (
        "input ksize strides padding data_format Targmax>output_dtype name output_dtype "
        "include_batch_in_index"
    ),
    "nn.space_to_depth": "input block_size name data_format",
    "nn.sufficient_statistics": "x axes shift keep_dims>keepdims name keepdims",
    "nn.weighted_moments": "x axes frequency_weights name keep_dims>keepdims keepdims",
    "tuple": "tensors name control_inputs",
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

_CHECKS: Final = (
    *("equal", "greater", "greater_equal", "less", "less_equal", "near", "none_equal"),
    *("negative", "non_negative", "non_positive", "positive", "rank", "rank_at_least", "rank_in", "scalar"),
)
_RECORDS: Final = {
    "TFRecordCompressionType": "compat.v1.TFRecordCompressionType",
    "tf_record_iterator": "compat.v1.tf_record_iterator",
}

# Modules that have such functions, besides those that are files here.
MODULES: Final = ("io", "linalg", "math", "strings")

# Names of modules that version 2 has elsewhere, with the same parameters in the same order.
NAMES: Final[dict[str, dict[str, str]]] = {
    "debugging": {
        **{name: f"math.{name}" for name in ("is_finite", "is_inf", "is_nan")},
        **{name: f"math.{name}" for name in ("is_non_decreasing", "is_strictly_increasing")},
        **{f"assert_{name}": f"compat.v1.assert_{name}" for name in _CHECKS},
        "assert_all_finite": "compat.v1.verify_tensor_all_finite",
    },
    "dtypes": {"as_string": "strings.as_string"},
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
    "io": {
        **{name: f"queue.{name}" for name in ("PaddingFIFOQueue", "PriorityQueue", "QueueBase")},
        "RandomShuffleQueue": "queue.RandomShuffleQueue",
        **{name: f"compat.v1.{name}" for name in ("decode_csv", "decode_raw")},
        **{name: f"compat.v1.{name}" for name in ("parse_example", "parse_single_example")},
        **_RECORDS,
    },
    "linalg": {"transpose": "linalg.matrix_transpose"},
    "manip": {
        "batch_to_space_nd": "batch_to_space",
        "space_to_batch_nd": "space_to_batch",
        "gather_nd": "compat.v1.gather_nd",
        **{name: name for name in ("reshape", "reverse", "roll", "scatter_nd", "tile")},
    },
    "math": {
        "bincount": "compat.v1.bincount",
        "count_nonzero": "compat.v1.count_nonzero",
    },
    "python_io": {
        "TFRecordOptions": "io.TFRecordOptions",
        "TFRecordWriter": "io.TFRecordWriter",
        **_RECORDS,
    },
    "random": {
        "multinomial": "compat.v1.multinomial",
        "poisson": "compat.v1.random_poisson",
        "set_random_seed": "compat.v1.set_random_seed",
    },
    "sets": {f"set_{name}": f"sets.{name}" for name in ("difference", "intersection", "size", "union")},
    "sparse": {
        "matmul": "sparse.sparse_dense_matmul",
        **{
            name: f"compat.v1.sparse_{name}"
            for name in (
                *("add", "concat", "merge", "placeholder", "reduce_max", "reduce_max_sparse", "reduce_sum"),
                *("reduce_sum_sparse", "segment_mean", "segment_sqrt_n", "segment_sum", "split"),
            )
        },
    },
    "spectral": {
        name: f"signal.{name}"
        for name in (
            *("dct", "fft", "fft2d", "fft3d", "idct", "ifft", "ifft2d", "ifft3d"),
            *("irfft", "irfft2d", "irfft3d", "rfft", "rfft2d", "rfft3d"),
        )
    },
    "strings": {
        "split": "compat.v1._functions.strings_split",
        "to_hash_bucket": "compat.v1.string_to_hash_bucket",
        "to_number": "compat.v1.string_to_number",
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
