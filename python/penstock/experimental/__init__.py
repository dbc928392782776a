"""What may still change."""

from typing import TYPE_CHECKING

from penstock._runtime.dispatch import (
    dispatch_for_api as dispatch_for_api,
    dispatch_for_binary_elementwise_apis as dispatch_for_binary_elementwise_apis,
    dispatch_for_binary_elementwise_assert_apis as dispatch_for_binary_elementwise_assert_apis,
    dispatch_for_unary_elementwise_apis as dispatch_for_unary_elementwise_apis,
    unregister_dispatch_for as unregister_dispatch_for,
)
from penstock._runtime.public_names import publish as _publish
from penstock.experimental import dlpack as dlpack

__all__ = [
    "DynamicRaggedShape",
    "ExtensionType",
    "Optional",
    "RowPartition",
    "dispatch_for_api",
    "dispatch_for_binary_elementwise_apis",
    "dispatch_for_binary_elementwise_assert_apis",
    "dispatch_for_unary_elementwise_apis",
    "dlpack",
    "onnx",
    "unregister_dispatch_for",
]

if TYPE_CHECKING:
    from penstock import onnx as onnx
    from penstock._values.dynamic_ragged_shape import DynamicRaggedShape as DynamicRaggedShape
    from penstock._values.extension_type import ExtensionType as ExtensionType
    from penstock._values.optional import Optional as Optional
    from penstock._values.row_partition import RowPartition as RowPartition
else:

    def __getattr__(name: str) -> object:
        if name == "DynamicRaggedShape":
            from penstock._values.dynamic_ragged_shape import DynamicRaggedShape  # start-up does without it

            return DynamicRaggedShape
        if name == "ExtensionType":
            from penstock._values.extension_type import ExtensionType  # start-up does without it

            return ExtensionType
        if name == "Optional":
            from penstock._values.optional import Optional  # start-up does without it

            return Optional
        if name == "RowPartition":
            from penstock._values.row_partition import RowPartition  # start-up does without it

            return RowPartition
        if name == "onnx":
            # It is above: programs in files know of everything.
            from penstock import onnx

            return onnx
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_publish(__name__)
