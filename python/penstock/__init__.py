"""Penstock: Python functions as dataflow graphs, run by an engine in Rust. Names follow TensorFlow 2."""

from penstock import _core, _layer, errors, nest, raw_ops
from penstock._control import (
    case as case,
    cond as cond,
    control_dependencies as control_dependencies,
    group as group,
    init_scope as init_scope,
    switch_case as switch_case,
    while_loop as while_loop,
)
from penstock._conversion import (
    constant as constant,
    convert_to_tensor as convert_to_tensor,
    is_tensor as is_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from penstock._core import DType as DType, Tensor as Tensor
from penstock._function import function as function
from penstock._shape import TensorShape as TensorShape
from penstock._spec import (
    TensorSpec as TensorSpec,
    TypeSpec as TypeSpec,
    type_spec_from_value as type_spec_from_value,
)
from penstock._tape import (
    GradientTape as GradientTape,
    UnconnectedGradients as UnconnectedGradients,
    custom_gradient as custom_gradient,
)
from penstock._variable import Variable as Variable, variable_creator_scope as variable_creator_scope

_layer.install()

bool = _core.bool
int8, int16, int32, int64 = _core.int8, _core.int16, _core.int32, _core.int64
uint8, uint16, uint32, uint64 = _core.uint8, _core.uint16, _core.uint32, _core.uint64
float16 = half = _core.float16
bfloat16 = _core.bfloat16
float32 = _core.float32
float64 = double = _core.float64
complex64, complex128 = _core.complex64, _core.complex128
string = _core.string
newaxis = None

__version__ = _core.__version__
