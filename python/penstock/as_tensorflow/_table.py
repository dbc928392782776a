"""Which modules of TensorFlow there are, and what each of them consists of.

Modules that are not listed have the names of the module of this package in the same place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["FOREIGN", "MODULES", "Names"]

_OURS: Final = "penstock.as_tensorflow"
_INSIDE: Final = f"{_OURS}._inside"


class Names(NamedTuple):
    """The names of a module.

    Attributes:
        of: Modules that all of whose names are taken; the first that has one gives it.
        here: For other names, and before those: `module:attribute`, which says what they mean.
    """

    of: tuple[str, ...] = ()
    here: Mapping[str, str] = {}


def _from(module: str, *names: str, **renamed: str) -> dict[str, str]:
    """Names of a module, or under other names there."""
    return {name: f"{module}:{renamed.get(name, name)}" for name in (*names, *renamed)}


_VERSION: Final = {"__version__": f"{_OURS}._version:VERSION"}
_COMPOSITE: Final = _from("penstock._types.specs", CompositeTensor="Composite")

# What `import tensorflow.NAME` gives where it is not `penstock.NAME`.
_PUBLIC: Final[dict[str, Names]] = {
    "tensorflow": Names(("penstock",), _VERSION),
    "tensorflow.version": Names((f"{_OURS}._version", "penstock.version")),
    "tensorflow.compat": Names(("penstock.compat",)),
    "tensorflow.compat.v1": Names(("penstock.compat.v1",), _VERSION),
    "tensorflow.compat.v2": Names(("penstock",), _VERSION),
    "tensorflow.compat.v2.compat": Names(("penstock.compat",)),
    "tensorflow.raw_ops": Names(("penstock.raw_ops",)),
    "tensorflow.compat.v1.raw_ops": Names(("penstock.raw_ops",)),
    "tensorflow.__internal__": Names(
        (),
        {
            **_COMPOSITE,
            **_from("penstock", "TypeSpec"),
        },
    ),
    "tensorflow.__internal__.nest": Names((f"{_OURS}._nest", "penstock.nest")),
    "tf_keras": Names(("penstock.keras",)),
    "tf_keras.__internal__": Names(),
    "tf_keras.__internal__.utils": Names((), _from(_INSIDE, "register_symbolic_tensor_type")),
    "tf_keras.api": Names(),
    "tf_keras.api._v1": Names(),
    "tf_keras.api._v1.keras": Names(("penstock.keras",)),
    "tf_keras.api._v1.keras.__internal__": Names(),
    "tf_keras.api._v1.keras.__internal__.legacy": Names(),
    "tf_keras.api._v1.keras.__internal__.legacy.layers": Names(("penstock.keras.layers",)),
}

_EMPTY: Final = Names()

# What libraries import from the inside of TensorFlow's AutoGraph, and use in rare cases. Below these modules
# each name is there: one in capitals as a class that nothing can be made of, another one as a module of such.
FOREIGN: Final = (
    "tensorflow.python.autograph.converters",
    "tensorflow.python.autograph.core",
    "tensorflow.python.autograph.pyct",
)

# The inner modules of TensorFlow that libraries import from.
_INNER: Final[dict[str, Names]] = {
    "tensorflow.python": _EMPTY,
    "tensorflow.python.autograph": _EMPTY,
    "tensorflow.python.data": _EMPTY,
    "tensorflow.python.data.ops": _EMPTY,
    "tensorflow.python.eager": _EMPTY,
    "tensorflow.python.framework": _EMPTY,
    "tensorflow.python.keras": _EMPTY,
    "tensorflow.python.ops": _EMPTY,
    "tensorflow.python.ops.linalg": Names(("penstock.linalg",)),
    "tensorflow.python.ops.parallel_for": Names((), _from("penstock", "vectorized_map")),
    "tensorflow.python.platform": _EMPTY,
    "tensorflow.python.trackable": _EMPTY,
    "tensorflow.python.trackable.data_structures": Names(
        (), _from(_INSIDE, "TrackableDataStructure", "sticky_attribute_assignment")
    ),
    "tensorflow.python.util": _EMPTY,
    "tensorflow.python.data.ops.dataset_ops": Names(
        (), {**_from("penstock.data", "Dataset", DatasetV2="Dataset")}
    ),
    "tensorflow.python.data.ops.iterator_ops": Names((), _from("penstock.data._iterator", "OwnedIterator")),
    "tensorflow.python.eager.backprop": Names((), _from("penstock", "GradientTape")),
    "tensorflow.python.eager.context": Names(
        (), {**_from("penstock", "executing_eagerly"), **_from(_INSIDE, "Context", "context")}
    ),
    "tensorflow.python.eager.def_function": Names((), _from("penstock", "function")),
    "tensorflow.python.framework.composite_tensor": Names((), _COMPOSITE),
    "tensorflow.python.framework.constant_op": Names((), _from("penstock", "constant")),
    "tensorflow.python.framework.dtypes": Names(("penstock.dtypes", "penstock")),
    "tensorflow.python.framework.errors": Names(("penstock.errors",)),
    "tensorflow.python.framework.errors_impl": Names(("penstock.errors",)),
    "tensorflow.python.framework.indexed_slices": Names(
        (), _from("penstock", "IndexedSlices", "IndexedSlicesSpec")
    ),
    "tensorflow.python.framework.ops": Names(
        (),
        {
            **_from(
                "penstock", "Tensor", "IndexedSlices", "control_dependencies", "convert_to_tensor", "device"
            ),
            **_from("penstock", "init_scope", "name_scope", "register_tensor_conversion_function", "Graph"),
            **_from("penstock", "Operation", RegisterGradient="RegisterGradient", EagerTensor="Tensor"),
            **_from("penstock.compat.v1", "GraphKeys", "executing_eagerly_outside_functions"),
            **_from("penstock.compat.v1", "get_collection", "get_default_graph", "add_to_collection"),
            **_from("penstock", NotDifferentiable="no_gradient", no_gradient="no_gradient"),
            **_from(_INSIDE, "convert_to_tensor_or_composite"),
            **_COMPOSITE,
        },
    ),
    "tensorflow.python.framework.sparse_tensor": Names(
        (), _from("penstock", "SparseTensor", "SparseTensorSpec")
    ),
    "tensorflow.python.framework.tensor": Names((), _from("penstock", "Tensor", "TensorSpec")),
    "tensorflow.python.framework.tensor_shape": Names(
        (),
        {
            **_from("penstock", "TensorShape", TensorShapeV2="TensorShape", as_shape="TensorShape"),
            **_from("penstock.compat.v1", "Dimension", "dimension_at_index", "dimension_value"),
        },
    ),
    "tensorflow.python.framework.tensor_spec": Names(
        (), {**_from("penstock", "TensorSpec"), **_from(_INSIDE, "DenseSpec")}
    ),
    "tensorflow.python.framework.tensor_util": Names(
        (),
        {
            **_from("penstock", "is_tensor", "make_ndarray", "make_tensor_proto"),
            **_from("penstock", constant_value="get_static_value", is_tf_type="is_tensor"),
            **_from("penstock", try_evaluate_constant="get_static_value"),
            **_from(_INSIDE, constant_value_as_shape="shape_of_constant"),
        },
    ),
    "tensorflow.python.framework.test_util": Names(("penstock.test",)),
    "tensorflow.python.framework.type_spec": Names(
        (),
        {
            **_from("penstock", "TypeSpec", "type_spec_from_value"),
            **_from(_INSIDE, "BatchableTypeSpec"),
        },
    ),
    "tensorflow.python.framework.type_spec_registry": Names(
        (),
        _from(
            _INSIDE,
            "get_name",
            "lookup",
            "register",
            _NAME_TO_TYPE_SPEC="names_of_specs",
            _TYPE_SPEC_TO_NAME="specs_with_names",
        ),
    ),
    "tensorflow.python.ops.array_ops": Names(
        ("penstock", "penstock.linalg"),
        {**_from(_INSIDE, "prevent_gradient"), **_from("penstock", where_v2="where")},
    ),
    "tensorflow.python.ops.check_ops": Names(("penstock.debugging",)),
    "tensorflow.python.ops.control_flow_case": Names(
        (), {**_from("penstock", "case", "switch_case"), **_from(_INSIDE, _case_helper="case_of_bools")}
    ),
    "tensorflow.python.ops.control_flow_ops": Names((), _from("penstock", "group", "no_op", "tuple", "case")),
    "tensorflow.python.ops.control_flow_util": Names(
        (),
        _from(_INSIDE, ENABLE_CONTROL_FLOW_V2="CONTROL_FLOW_V2", GraphOrParentsInXlaContext="in_xla_context"),
    ),
    "tensorflow.python.ops.gradients_impl": Names((), _from("penstock", "gradients", "hessians")),
    "tensorflow.python.ops.init_ops": Names(("penstock.initializers",)),
    "tensorflow.python.ops.linalg.linear_operator_addition": Names((), _from(_INSIDE, "add_operators")),
    "tensorflow.python.ops.linalg.linear_operator": Names(
        (), {**_from("penstock.linalg", "LinearOperator"), **_from(_INSIDE, "make_composite_tensor")}
    ),
    "tensorflow.python.ops.linalg_ops": Names(("penstock.linalg",)),
    "tensorflow.python.ops.math_ops": Names(("penstock.math", "penstock")),
    "tensorflow.python.ops.nn_ops": Names(("penstock.nn",)),
    "tensorflow.python.ops.parallel_for.control_flow_ops": Names(
        (), {**_from("penstock", "vectorized_map"), **_from(_INSIDE, "pfor")}
    ),
    "tensorflow.python.ops.random_ops": Names(
        ("penstock.random", "penstock.raw_ops"), _from(_INSIDE, "parameterized_truncated_normal")
    ),
    "tensorflow.python.ops.resource_variable_ops": Names(
        (),
        {
            **_from("penstock", ResourceVariable="Variable", BaseResourceVariable="Variable"),
            **_from("penstock._types.specs", "VariableSpec"),
            **_from(_INSIDE, "is_resource_variable"),
        },
    ),
    "tensorflow.python.ops.tensor_array_ops": Names((), _from("penstock", "TensorArray", "TensorArraySpec")),
    "tensorflow.python.ops.variables": Names((), _from("penstock", "Variable", VariableV1="Variable")),
    "tensorflow.python.platform.test": Names(("penstock.test",)),
    "tensorflow.python.platform.tf_logging": Names(("penstock.compat.v1.logging",)),
    "tensorflow.python.util.deprecation": Names((f"{_OURS}._deprecation",)),
    "tensorflow.python.util.nest": Names((f"{_OURS}._nest", "penstock.nest")),
    "tensorflow.python.util.object_identity": Names((), _from(_INSIDE, "Reference")),
    "tensorflow.python.util.tf_inspect": Names(
        ("inspect",), {"_inspect": "inspect", **_from(_INSIDE, "getfullargspec")}
    ),
    "tensorflow.python.util.variable_utils": Names((), _from(_INSIDE, "convert_variables_to_tensors")),
}

# `tensorflow.compat.v2` is `tensorflow` itself.
_SECOND: Final[dict[str, Names]] = {
    name.replace("tensorflow.", "tensorflow.compat.v2.", 1): names
    for name, names in _PUBLIC.items()
    if name.startswith("tensorflow.") and not name.startswith("tensorflow.compat")
}

MODULES: Final[dict[str, Names]] = {**_PUBLIC, **_SECOND, **_INNER}
