"""Penstock: Python functions as dataflow graphs, run by an engine in Rust. Names follow TensorFlow 2."""

import os as _os
import typing as _typing

try:
    __import__("penstock._core")
except ImportError as _error:
    raise ImportError(
        f"the engine of Penstock cannot be loaded: {_error}. In a checkout `make build` makes it; otherwise "
        "install the package anew: pip install --force-reinstall penstock-engine",
        name="penstock._core",
    ) from None

from penstock import (
    _core,
    _hooks,
    _keras_import,
    autodiff as autodiff,
    errors as errors,
    linalg as linalg,
    math as math,
    nest as nest,
    raw_ops as raw_ops,
)
from penstock._autodiff.custom_gradient import (
    custom_gradient as custom_gradient,
    grad_pass_through as grad_pass_through,
    recompute_grad as recompute_grad,
)
from penstock._autodiff.custom_op import CustomOp as CustomOp, custom_op as custom_op
from penstock._autodiff.gradients import (
    AggregationMethod as AggregationMethod,
    gradients as gradients,
    hessians as hessians,
)
from penstock._autodiff.op_library import load_library as load_library, load_op_library as load_op_library
from penstock._autodiff.registered import RegisterGradient as RegisterGradient, no_gradient as no_gradient
from penstock._autodiff.tape import (
    GradientTape as GradientTape,
    UnconnectedGradients as UnconnectedGradients,
)
from penstock._control.flow import (
    case as case,
    cond as cond,
    control_dependencies as control_dependencies,
    group as group,
    init_scope as init_scope,
    switch_case as switch_case,
    while_loop as while_loop,
)
from penstock._control.functional import (
    foldl as foldl,
    foldr as foldr,
    map_fn as map_fn,
    scan as scan,
    vectorized_map as vectorized_map,
)
from penstock._core import DType as DType, Program as Program, Tensor as Tensor
from penstock._function.function import function as function
from penstock._ops.arrangement import (
    concat as concat,
    pad as pad,
    repeat as repeat,
    reverse as reverse,
    roll as roll,
    split as split,
    stack as stack,
    tile as tile,
    transpose as transpose,
    unstack as unstack,
)
from penstock._ops.clipping import (
    clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm,
)
from penstock._ops.creation import (
    bitcast as bitcast,
    eye as eye,
    fill as fill,
    linspace as linspace,
    meshgrid as meshgrid,
    one_hot as one_hot,
    ones as ones,
    ones_like as ones_like,
    range as range,
    sequence_mask as sequence_mask,
    zeros as zeros,
    zeros_like as zeros_like,
)
from penstock._ops.indexing import (
    boolean_mask as boolean_mask,
    dynamic_partition as dynamic_partition,
    dynamic_stitch as dynamic_stitch,
    gather as gather,
    gather_nd as gather_nd,
    scatter_nd as scatter_nd,
    slice as slice,
    strided_slice as strided_slice,
    tensor_scatter_nd_add as tensor_scatter_nd_add,
    tensor_scatter_nd_max as tensor_scatter_nd_max,
    tensor_scatter_nd_min as tensor_scatter_nd_min,
    tensor_scatter_nd_sub as tensor_scatter_nd_sub,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
    where as where,
)
from penstock._ops.shapes import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
    broadcast_static_shape as broadcast_static_shape,
    broadcast_to as broadcast_to,
    ensure_shape as ensure_shape,
    expand_dims as expand_dims,
    identity as identity,
    identity_n as identity_n,
    rank as rank,
    required_space_to_batch_paddings as required_space_to_batch_paddings,
    reshape as reshape,
    shape as shape,
    shape_n as shape_n,
    size as size,
    squeeze as squeeze,
    stop_gradient as stop_gradient,
    tuple as tuple,
)
from penstock._ops.sorting import (
    argsort as argsort,
    searchsorted as searchsorted,
    sort as sort,
    unique as unique,
    unique_with_counts as unique_with_counts,
)
from penstock._ops.text import as_string as as_string
from penstock._runtime import einops_backend as _einops_backend
from penstock._runtime.conversion import (
    constant as constant,
    convert_to_tensor as convert_to_tensor,
    is_tensor as is_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from penstock._runtime.host_calls import (
    numpy_function as numpy_function,
    py_function as py_function,
)
from penstock._runtime.print import (
    Assert as Assert,
    get_logger as get_logger,
    print as print,
)
from penstock._runtime.public_names import publish as _publish, settle as _settle
from penstock._runtime.scope import (
    device as device,
    executing_eagerly as executing_eagerly,
    get_current_name_scope as get_current_name_scope,
    get_static_value as get_static_value,
    inside_function as inside_function,
    is_symbolic_tensor as is_symbolic_tensor,
    name_scope as name_scope,
    no_op as no_op,
    timestamp as timestamp,
)
from penstock._types.dtype_names import as_dtype as as_dtype
from penstock._types.shape import TensorShape as TensorShape
from penstock._types.specs import (
    TensorSpec as TensorSpec,
    TypeSpec as TypeSpec,
    type_spec_from_value as type_spec_from_value,
)
from penstock._values.indexed_slices import (
    IndexedSlices as IndexedSlices,
    IndexedSlicesSpec as IndexedSlicesSpec,
)
from penstock._values.module import (
    Module as Module,
)
from penstock._values.tensor_array import (
    TensorArray as TensorArray,
    TensorArraySpec as TensorArraySpec,
)
from penstock._values.variable import (
    Variable as Variable,
    VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
    variable_creator_scope as variable_creator_scope,
)
from penstock.linalg import (
    einsum as einsum,
    matmul as matmul,
    norm as norm,
    tensordot as tensordot,
)
from penstock.math import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    add as add,
    add_n as add_n,
    argmax as argmax,
    argmin as argmin,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cast as cast,
    clip_by_value as clip_by_value,
    complex as complex,
    cos as cos,
    cosh as cosh,
    cumsum as cumsum,
    divide as divide,
    equal as equal,
    exp as exp,
    floor as floor,
    greater as greater,
    greater_equal as greater_equal,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    negative as negative,
    not_equal as not_equal,
    pow as pow,
    realdiv as realdiv,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
    round as round,
    saturate_cast as saturate_cast,
    scalar_mul as scalar_mul,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    truediv as truediv,
    truncatediv as truncatediv,
    truncatemod as truncatemod,
)

_hooks.install()
_einops_backend.install()
_publish(__name__)

bool: _core.DType = _core.bool
int8: _core.DType = _core.int8
int16: _core.DType = _core.int16
int32: _core.DType = _core.int32
int64: _core.DType = _core.int64
uint8: _core.DType = _core.uint8
uint16: _core.DType = _core.uint16
uint32: _core.DType = _core.uint32
uint64: _core.DType = _core.uint64
float16: _core.DType = _core.float16
half: _core.DType = _core.float16
bfloat16: _core.DType = _core.bfloat16
float32: _core.DType = _core.float32
float64: _core.DType = _core.float64
double: _core.DType = _core.float64
complex64: _core.DType = _core.complex64
complex128: _core.DType = _core.complex128
string: _core.DType = _core.string
variant: _core.DType = _core.variant
resource: _core.DType = _core.resource
# Quantized types are the integers that they are made of.
qint8: _core.DType = int8
qint16: _core.DType = int16
qint32: _core.DType = int32
quint8: _core.DType = uint8
quint16: _core.DType = uint16
newaxis = None

__version__ = _core.__version__

# Namespaces that are imported when they are first used, and names that live in one of them.
_NAMESPACES = {
    "array_api",
    "as_tensorflow",
    "audio",
    "autograph",
    "bitwise",
    "compat",
    "config",
    "data",
    "debugging",
    "distribute",
    "dtypes",
    "experimental",
    "feature_column",
    "graph_util",
    "image",
    "initializers",
    "io",
    "lookup",
    "nn",
    "onnx",
    "optimizers",
    "profiler",
    "quantization",
    "queue",
    "ragged",
    "random",
    "saved_model",
    "sets",
    "signal",
    "sparse",
    "strings",
    "summary",
    "sysconfig",
    "test",
    "train",
    "types",
    "version",
    "xla",
}
# Keras, which is a package of its own and is loaded when it is first used, and what is found in it.
_KERAS = {"keras": "", "losses": "losses", "metrics": "metrics"}
_ELSEWHERE = {
    "CriticalSection": "_values.critical_section",
    "DeviceSpec": "_runtime.device_spec",
    "Graph": "compat.v1",
    "NoneTensorSpec": "_types.none_spec",
    "Operation": "compat.v1",
    "OptionalSpec": "_values.optional",
    "RaggedTensor": "_values.ragged",
    "RaggedTensorSpec": "_values.ragged",
    "SparseTensor": "_values.sparse",
    "SparseTensorSpec": "_values.sparse",
    "approx_top_k": "_ops.layouts",
    "assert_equal": "debugging",
    "assert_greater": "debugging",
    "assert_less": "debugging",
    "assert_rank": "debugging",
    "batch_to_space": "_ops.space_batch",
    "check_pinned": "_nodes.public",
    "constant_initializer": "initializers",
    "conv": "_nodes.public",
    "conv2d_backprop_filter_v2": "_nodes.public",
    "conv2d_backprop_input_v2": "_nodes.public",
    "edit_distance": "_ops.sparse_distance",
    "eig": "linalg",
    "eigvals": "linalg",
    "extract_volume_patches": "_ops.layouts",
    "fftnd": "_nodes.public",
    "fingerprint": "_ops.fingerprints",
    "guarantee_const": "_ops.layouts",
    "histogram_fixed_width": "_ops.layouts",
    "histogram_fixed_width_bins": "_ops.layouts",
    "ifftnd": "_nodes.public",
    "import_graph_def": "graph_util",
    "irfftnd": "_nodes.public",
    "make_ndarray": "_ops.tensor_protos",
    "make_tensor_proto": "_ops.tensor_protos",
    "matrix_square_root": "_ops.matrix_functions",
    "nondifferentiable_batch_function": "_function.batching",
    "ones_initializer": "initializers",
    "parallel_stack": "_ops.layouts",
    "ragged_fill_empty_rows": "_ops.ragged_fill",
    "ragged_fill_empty_rows_grad": "_ops.ragged_fill",
    "random_index_shuffle": "_ops.random_more",
    "random_normal_initializer": "initializers",
    "random_uniform_initializer": "initializers",
    "reverse_sequence": "_ops.layouts",
    "rfftnd": "_nodes.public",
    "space_to_batch": "_ops.space_batch",
    "space_to_batch_nd": "_ops.space_batch",
    "unravel_index": "_ops.layouts",
    "zeros_initializer": "initializers",
}


if _typing.TYPE_CHECKING:
    from penstock import (
        array_api as array_api,
        as_tensorflow as as_tensorflow,
        audio as audio,
        autograph as autograph,
        bitwise as bitwise,
        compat as compat,
        config as config,
        data as data,
        debugging as debugging,
        distribute as distribute,
        dtypes as dtypes,
        experimental as experimental,
        feature_column as feature_column,
        graph_util as graph_util,
        image as image,
        initializers as initializers,
        io as io,
        keras as keras,
        lookup as lookup,
        nn as nn,
        onnx as onnx,
        optimizers as optimizers,
        profiler as profiler,
        quantization as quantization,
        queue as queue,
        ragged as ragged,
        random as random,
        saved_model as saved_model,
        sets as sets,
        signal as signal,
        sparse as sparse,
        strings as strings,
        summary as summary,
        train as train,
        types as types,
    )
    from penstock._function.batching import (
        nondifferentiable_batch_function as nondifferentiable_batch_function,
    )
    from penstock._nodes.public import (
        check_pinned as check_pinned,
        conv as conv,
        conv2d_backprop_filter_v2 as conv2d_backprop_filter_v2,
        conv2d_backprop_input_v2 as conv2d_backprop_input_v2,
        fftnd as fftnd,
        ifftnd as ifftnd,
        irfftnd as irfftnd,
        rfftnd as rfftnd,
    )
    from penstock._ops.fingerprints import fingerprint as fingerprint
    from penstock._ops.layouts import (
        approx_top_k as approx_top_k,
        extract_volume_patches as extract_volume_patches,
        guarantee_const as guarantee_const,
        histogram_fixed_width as histogram_fixed_width,
        histogram_fixed_width_bins as histogram_fixed_width_bins,
        parallel_stack as parallel_stack,
        reverse_sequence as reverse_sequence,
        unravel_index as unravel_index,
    )
    from penstock._ops.matrix_functions import matrix_square_root as matrix_square_root
    from penstock._ops.ragged_fill import (
        ragged_fill_empty_rows as ragged_fill_empty_rows,
        ragged_fill_empty_rows_grad as ragged_fill_empty_rows_grad,
    )
    from penstock._ops.random_more import random_index_shuffle as random_index_shuffle
    from penstock._ops.space_batch import (
        batch_to_space as batch_to_space,
        space_to_batch as space_to_batch,
        space_to_batch_nd as space_to_batch_nd,
    )
    from penstock._ops.sparse_distance import edit_distance as edit_distance
    from penstock._ops.tensor_protos import (
        make_ndarray as make_ndarray,
        make_tensor_proto as make_tensor_proto,
    )
    from penstock._runtime.device_spec import (
        DeviceSpec as DeviceSpec,
    )
    from penstock._types.none_spec import NoneTensorSpec as NoneTensorSpec
    from penstock._types.ragged_spec import RaggedTensorSpec as RaggedTensorSpec
    from penstock._types.sparse_spec import SparseTensorSpec as SparseTensorSpec
    from penstock._values.critical_section import (
        CriticalSection as CriticalSection,
    )
    from penstock._values.optional import OptionalSpec as OptionalSpec
    from penstock._values.ragged import RaggedTensor as RaggedTensor
    from penstock._values.sparse import SparseTensor as SparseTensor
    from penstock.compat.v1 import Graph as Graph, Operation as Operation
    from penstock.debugging import (
        assert_equal as assert_equal,
        assert_greater as assert_greater,
        assert_less as assert_less,
        assert_rank as assert_rank,
    )
    from penstock.graph_util import import_graph_def as import_graph_def
    from penstock.initializers import (
        constant_initializer as constant_initializer,
        ones_initializer as ones_initializer,
        random_normal_initializer as random_normal_initializer,
        random_uniform_initializer as random_uniform_initializer,
        zeros_initializer as zeros_initializer,
    )
    from penstock.linalg import (
        eig as eig,
        eigvals as eigvals,
    )
else:

    def __getattr__(name: str) -> object:
        import importlib  # no name of this module

        if name in _NAMESPACES:
            return importlib.import_module(f"penstock.{name}")
        if name in _ELSEWHERE:
            value = globals()[name] = getattr(importlib.import_module(f"penstock.{_ELSEWHERE[name]}"), name)
            if _ELSEWHERE[name].startswith("_") and getattr(value, "__name__", None) == name:
                _settle(value, "penstock")
            return value
        if name in _KERAS:
            try:
                keras = importlib.import_module("penstock.keras")
            except ModuleNotFoundError as error:
                raise AttributeError(f"module 'penstock' has no attribute {name!r}: {error}") from None
            return getattr(keras, _KERAS[name]) if _KERAS[name] else keras
        text = f"module 'penstock' has no attribute {name!r}"
        # Asked for in front of each import of a private module; what tells of names loads much.
        if name.startswith("_"):
            raise AttributeError(text)
        from penstock._runtime.absent_names import hint  # start-up does without it

        where = hint(name)
        raise AttributeError(f"{text}: {where}" if where else text)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMESPACES, *_KERAS, *_ELSEWHERE})


if any(name.startswith("PENSTOCK_") for name in _os.environ):
    from penstock._runtime.settings import warn_of_settings as _warn_of_settings

    _warn_of_settings()

_keras_import.watch()
