"""What may still change."""

import importlib
from typing import TYPE_CHECKING

from penstock._core import (
    float4_e2m1fn as float4_e2m1fn,
    float8_e4m3b11fnuz as float8_e4m3b11fnuz,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    int2 as int2,
    int4 as int4,
    uint2 as uint2,
    uint4 as uint4,
)
from penstock._runtime.dispatch import (
    dispatch_for_api as dispatch_for_api,
    dispatch_for_binary_elementwise_apis as dispatch_for_binary_elementwise_apis,
    dispatch_for_binary_elementwise_assert_apis as dispatch_for_binary_elementwise_assert_apis,
    dispatch_for_unary_elementwise_apis as dispatch_for_unary_elementwise_apis,
    unregister_dispatch_for as unregister_dispatch_for,
)
from penstock._runtime.public_names import publish as _publish, settle as _settle
from penstock.experimental import dlpack as dlpack

__all__ = [
    "BatchableExtensionType",
    "DynamicRaggedShape",
    "ExtensionType",
    "ExtensionTypeBatchEncoder",
    "ExtensionTypeSpec",
    "Optional",
    "RowPartition",
    "StructuredTensor",
    "async_clear_error",
    "async_scope",
    "dispatch_for_api",
    "dispatch_for_binary_elementwise_apis",
    "dispatch_for_binary_elementwise_assert_apis",
    "dispatch_for_unary_elementwise_apis",
    "dlpack",
    "enable_strict_mode",
    "extension_type",
    "float4_e2m1fn",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "function_executor_type",
    "int2",
    "int4",
    "numpy",
    "onnx",
    "uint2",
    "uint4",
    "unregister_dispatch_for",
]

_WHERE = {
    "BatchableExtensionType": "penstock._values.batchable",
    "DynamicRaggedShape": "penstock._values.dynamic_ragged_shape",
    "ExtensionType": "penstock._values.extension_type",
    "ExtensionTypeBatchEncoder": "penstock._values.batchable",
    "ExtensionTypeSpec": "penstock._values.extension_type",
    "Optional": "penstock._values.optional",
    "RowPartition": "penstock._values.row_partition",
    "StructuredTensor": "penstock._values.structured_tensor",
    "async_clear_error": "penstock.experimental._execution",
    "async_scope": "penstock.experimental._execution",
    "enable_strict_mode": "penstock.experimental._execution",
    "function_executor_type": "penstock.experimental._execution",
}

if TYPE_CHECKING:
    from penstock import onnx as onnx
    from penstock._values.batchable import (
        BatchableExtensionType as BatchableExtensionType,
        ExtensionTypeBatchEncoder as ExtensionTypeBatchEncoder,
    )
    from penstock._values.dynamic_ragged_shape import DynamicRaggedShape as DynamicRaggedShape
    from penstock._values.extension_type import (
        ExtensionType as ExtensionType,
        ExtensionTypeSpec as ExtensionTypeSpec,
    )
    from penstock._values.optional import Optional as Optional
    from penstock._values.row_partition import RowPartition as RowPartition
    from penstock._values.structured_tensor import StructuredTensor as StructuredTensor
    from penstock.experimental import extension_type as extension_type, numpy as numpy
    from penstock.experimental._execution import (
        async_clear_error as async_clear_error,
        async_scope as async_scope,
        enable_strict_mode as enable_strict_mode,
        function_executor_type as function_executor_type,
    )
else:

    def __getattr__(name: str) -> object:
        # Start-up does without these; programs in files, which `onnx` is for, know of everything.
        if name in _WHERE:
            value = getattr(importlib.import_module(_WHERE[name]), name)
            _settle(value, __name__)
            return value
        if name == "numpy":
            return importlib.import_module("penstock.experimental.numpy")
        if name == "onnx":
            return importlib.import_module("penstock.onnx")
        if name == "extension_type":
            return importlib.import_module("penstock.experimental.extension_type")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_publish(__name__)
