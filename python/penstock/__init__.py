"""Penstock: Python functions as dataflow graphs, run by an engine in Rust. Names follow TensorFlow 2."""

from penstock import (
    _core,
    _einops,
    _layer,
)
from penstock import (
    autodiff as autodiff,
)
from penstock import (
    errors as errors,
)
from penstock import (
    linalg as linalg,
)
from penstock import (
    math as math,
)
from penstock import (
    nest as nest,
)
from penstock import (
    raw_ops as raw_ops,
)
from penstock._array import (
    as_string as as_string,
)
from penstock._array import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
)
from penstock._array import (
    broadcast_static_shape as broadcast_static_shape,
)
from penstock._array import (
    broadcast_to as broadcast_to,
)
from penstock._array import (
    concat as concat,
)
from penstock._array import (
    ensure_shape as ensure_shape,
)
from penstock._array import (
    expand_dims as expand_dims,
)
from penstock._array import (
    identity as identity,
)
from penstock._array import (
    identity_n as identity_n,
)
from penstock._array import (
    pad as pad,
)
from penstock._array import (
    rank as rank,
)
from penstock._array import (
    repeat as repeat,
)
from penstock._array import (
    reshape as reshape,
)
from penstock._array import (
    reverse as reverse,
)
from penstock._array import (
    roll as roll,
)
from penstock._array import (
    shape as shape,
)
from penstock._array import (
    shape_n as shape_n,
)
from penstock._array import (
    size as size,
)
from penstock._array import (
    split as split,
)
from penstock._array import (
    squeeze as squeeze,
)
from penstock._array import (
    stack as stack,
)
from penstock._array import (
    stop_gradient as stop_gradient,
)
from penstock._array import (
    tile as tile,
)
from penstock._array import (
    transpose as transpose,
)
from penstock._array import (
    tuple as tuple,
)
from penstock._array import (
    unstack as unstack,
)
from penstock._clip import (
    clip_by_global_norm as clip_by_global_norm,
)
from penstock._clip import (
    clip_by_norm as clip_by_norm,
)
from penstock._control import (
    case as case,
)
from penstock._control import (
    cond as cond,
)
from penstock._control import (
    control_dependencies as control_dependencies,
)
from penstock._control import (
    group as group,
)
from penstock._control import (
    init_scope as init_scope,
)
from penstock._control import (
    switch_case as switch_case,
)
from penstock._control import (
    while_loop as while_loop,
)
from penstock._conversion import (
    constant as constant,
)
from penstock._conversion import (
    convert_to_tensor as convert_to_tensor,
)
from penstock._conversion import (
    is_tensor as is_tensor,
)
from penstock._conversion import (
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from penstock._core import DType as DType
from penstock._core import Tensor as Tensor
from penstock._custom_gradient import (
    custom_gradient as custom_gradient,
)
from penstock._custom_gradient import (
    grad_pass_through as grad_pass_through,
)
from penstock._custom_gradient import (
    recompute_grad as recompute_grad,
)
from penstock._function import function as function
from penstock._functional import (
    foldl as foldl,
)
from penstock._functional import (
    foldr as foldr,
)
from penstock._functional import (
    map_fn as map_fn,
)
from penstock._functional import (
    scan as scan,
)
from penstock._functional import (
    vectorized_map as vectorized_map,
)
from penstock._gradients import (
    AggregationMethod as AggregationMethod,
)
from penstock._gradients import (
    gradients as gradients,
)
from penstock._gradients import (
    hessians as hessians,
)
from penstock._host import (
    numpy_function as numpy_function,
)
from penstock._host import (
    py_function as py_function,
)
from penstock._indexed_slices import IndexedSlices as IndexedSlices
from penstock._indexed_slices import IndexedSlicesSpec as IndexedSlicesSpec
from penstock._indexing import (
    boolean_mask as boolean_mask,
)
from penstock._indexing import (
    dynamic_partition as dynamic_partition,
)
from penstock._indexing import (
    dynamic_stitch as dynamic_stitch,
)
from penstock._indexing import (
    gather as gather,
)
from penstock._indexing import (
    gather_nd as gather_nd,
)
from penstock._indexing import (
    scatter_nd as scatter_nd,
)
from penstock._indexing import (
    slice as slice,
)
from penstock._indexing import (
    strided_slice as strided_slice,
)
from penstock._indexing import (
    tensor_scatter_nd_add as tensor_scatter_nd_add,
)
from penstock._indexing import (
    tensor_scatter_nd_max as tensor_scatter_nd_max,
)
from penstock._indexing import (
    tensor_scatter_nd_min as tensor_scatter_nd_min,
)
from penstock._indexing import (
    tensor_scatter_nd_sub as tensor_scatter_nd_sub,
)
from penstock._indexing import (
    tensor_scatter_nd_update as tensor_scatter_nd_update,
)
from penstock._indexing import (
    where as where,
)
from penstock._making import (
    bitcast as bitcast,
)
from penstock._making import (
    eye as eye,
)
from penstock._making import (
    fill as fill,
)
from penstock._making import (
    linspace as linspace,
)
from penstock._making import (
    meshgrid as meshgrid,
)
from penstock._making import (
    one_hot as one_hot,
)
from penstock._making import (
    ones as ones,
)
from penstock._making import (
    ones_like as ones_like,
)
from penstock._making import (
    range as range,
)
from penstock._making import (
    sequence_mask as sequence_mask,
)
from penstock._making import (
    zeros as zeros,
)
from penstock._making import (
    zeros_like as zeros_like,
)
from penstock._module import (
    Module as Module,
)
from penstock._print import (
    Assert as Assert,
)
from penstock._print import (
    print as print,
)
from penstock._registered import RegisterGradient as RegisterGradient
from penstock._registered import no_gradient as no_gradient
from penstock._scope import (
    device as device,
)
from penstock._scope import (
    executing_eagerly as executing_eagerly,
)
from penstock._scope import (
    get_static_value as get_static_value,
)
from penstock._scope import (
    inside_function as inside_function,
)
from penstock._scope import (
    is_symbolic_tensor as is_symbolic_tensor,
)
from penstock._scope import (
    name_scope as name_scope,
)
from penstock._scope import (
    no_op as no_op,
)
from penstock._scope import (
    timestamp as timestamp,
)
from penstock._shape import TensorShape as TensorShape
from penstock._sorting import (
    argsort as argsort,
)
from penstock._sorting import (
    searchsorted as searchsorted,
)
from penstock._sorting import (
    sort as sort,
)
from penstock._sorting import (
    unique as unique,
)
from penstock._sorting import (
    unique_with_counts as unique_with_counts,
)
from penstock._spec import (
    TensorSpec as TensorSpec,
)
from penstock._spec import (
    TypeSpec as TypeSpec,
)
from penstock._spec import (
    type_spec_from_value as type_spec_from_value,
)
from penstock._tape import (
    GradientTape as GradientTape,
)
from penstock._tape import (
    UnconnectedGradients as UnconnectedGradients,
)
from penstock._tensor_array import (
    TensorArray as TensorArray,
)
from penstock._tensor_array import (
    TensorArraySpec as TensorArraySpec,
)
from penstock._variable import Variable as Variable
from penstock._variable import VariableAggregation as VariableAggregation
from penstock._variable import VariableSynchronization as VariableSynchronization
from penstock._variable import variable_creator_scope as variable_creator_scope
from penstock.linalg import (
    einsum as einsum,
)
from penstock.linalg import (
    matmul as matmul,
)
from penstock.linalg import (
    norm as norm,
)
from penstock.linalg import (
    tensordot as tensordot,
)
from penstock.math import (
    abs as abs,
)
from penstock.math import (
    acos as acos,
)
from penstock.math import (
    acosh as acosh,
)
from penstock.math import (
    add as add,
)
from penstock.math import (
    add_n as add_n,
)
from penstock.math import (
    argmax as argmax,
)
from penstock.math import (
    argmin as argmin,
)
from penstock.math import (
    asin as asin,
)
from penstock.math import (
    asinh as asinh,
)
from penstock.math import (
    atan as atan,
)
from penstock.math import (
    atan2 as atan2,
)
from penstock.math import (
    atanh as atanh,
)
from penstock.math import (
    cast as cast,
)
from penstock.math import (
    clip_by_value as clip_by_value,
)
from penstock.math import (
    complex as complex,
)
from penstock.math import (
    cos as cos,
)
from penstock.math import (
    cosh as cosh,
)
from penstock.math import (
    cumsum as cumsum,
)
from penstock.math import (
    divide as divide,
)
from penstock.math import (
    equal as equal,
)
from penstock.math import (
    exp as exp,
)
from penstock.math import (
    floor as floor,
)
from penstock.math import (
    greater as greater,
)
from penstock.math import (
    greater_equal as greater_equal,
)
from penstock.math import (
    less as less,
)
from penstock.math import (
    less_equal as less_equal,
)
from penstock.math import (
    logical_and as logical_and,
)
from penstock.math import (
    logical_not as logical_not,
)
from penstock.math import (
    logical_or as logical_or,
)
from penstock.math import (
    maximum as maximum,
)
from penstock.math import (
    minimum as minimum,
)
from penstock.math import (
    multiply as multiply,
)
from penstock.math import (
    negative as negative,
)
from penstock.math import (
    not_equal as not_equal,
)
from penstock.math import (
    pow as pow,
)
from penstock.math import (
    realdiv as realdiv,
)
from penstock.math import (
    reduce_all as reduce_all,
)
from penstock.math import (
    reduce_any as reduce_any,
)
from penstock.math import (
    reduce_logsumexp as reduce_logsumexp,
)
from penstock.math import (
    reduce_max as reduce_max,
)
from penstock.math import (
    reduce_mean as reduce_mean,
)
from penstock.math import (
    reduce_min as reduce_min,
)
from penstock.math import (
    reduce_prod as reduce_prod,
)
from penstock.math import (
    reduce_sum as reduce_sum,
)
from penstock.math import (
    round as round,
)
from penstock.math import (
    saturate_cast as saturate_cast,
)
from penstock.math import (
    sigmoid as sigmoid,
)
from penstock.math import (
    sign as sign,
)
from penstock.math import (
    sin as sin,
)
from penstock.math import (
    sinh as sinh,
)
from penstock.math import (
    sqrt as sqrt,
)
from penstock.math import (
    square as square,
)
from penstock.math import (
    subtract as subtract,
)
from penstock.math import (
    tan as tan,
)
from penstock.math import (
    tanh as tanh,
)
from penstock.math import (
    truediv as truediv,
)
from penstock.math import (
    truncatediv as truncatediv,
)
from penstock.math import (
    truncatemod as truncatemod,
)

_layer.install()
_einops.install()

as_dtype = DType
bool = _core.bool
int8, int16, int32, int64 = _core.int8, _core.int16, _core.int32, _core.int64
uint8, uint16, uint32, uint64 = _core.uint8, _core.uint16, _core.uint32, _core.uint64
float16 = half = _core.float16
bfloat16 = _core.bfloat16
float32 = _core.float32
float64 = double = _core.float64
complex64, complex128 = _core.complex64, _core.complex128
string = _core.string
variant = _core.variant
resource = _core.resource
newaxis = None

__version__ = _core.__version__

# Namespaces that are imported when they are first used, and names that live in one of them.
_NAMESPACES = {
    "array_api",
    "autograph",
    "bitwise",
    "compat",
    "config",
    "debugging",
    "experimental",
    "initializers",
    "nn",
    "optimizers",
    "ragged",
    "random",
    "signal",
    "strings",
    "types",
}
_ELSEWHERE = {
    "Graph": "compat.v1",
    "Operation": "compat.v1",
    "OptionalSpec": "_optional",
    "RaggedTensor": "_ragged",
    "RaggedTensorSpec": "_ragged",
    "constant_initializer": "initializers",
    "ones_initializer": "initializers",
    "random_normal_initializer": "initializers",
    "random_uniform_initializer": "initializers",
    "zeros_initializer": "initializers",
}


def __getattr__(name: str) -> object:
    import importlib

    if name in _NAMESPACES:
        return importlib.import_module(f"penstock.{name}")
    if name in _ELSEWHERE:
        value = globals()[name] = getattr(importlib.import_module(f"penstock.{_ELSEWHERE[name]}"), name)
        return value
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMESPACES, *_ELSEWHERE})
