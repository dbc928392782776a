"""Calls of operators of sparse and ragged tensors, and of variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from raw_cases.calls import Op, Var, f32, i32, i64, ramp


def sparse() -> Iterator[tuple[str, dict[str, Any]]]:
    """Operators of sparse and ragged tensors, and of sets."""
    indices, values, shape = i64([0, 1], [1, 0], [1, 2]), f32(1, 2, 3), i64(2, 3)
    others = i64([0, 1], [0, 2], [1, 0]), f32(4, -5, 6), i64(2, 3)
    both = {"a_indices": indices, "a_values": values, "a_shape": shape}
    both |= {"b_indices": others[0], "b_values": others[1], "b_shape": others[2]}
    yield "SparseAdd", both | {"thresh": 0.0}
    yield "SparseSparseMaximum", both
    yield "SparseSparseMinimum", both
    yield (
        "SparseAddGrad",
        {
            "backprop_val_grad": f32(1, 2, 3, 4),
            "a_indices": indices,
            "b_indices": others[0],
            "sum_indices": i64([0, 1], [0, 2], [1, 0], [1, 2]),
        },
    )
    yield (
        "SparseConcat",
        {
            "indices": [indices, others[0]],
            "values": [values, others[1]],
            "shapes": [shape] * 2,
            "concat_dim": 1,
        },
    )
    sp = {"sp_indices": indices, "sp_values": values, "sp_shape": shape}
    for kind in ("Add", "Div", "Mul"):
        for dense in (ramp(2, 3, low=1, high=2), f32(1, 2, 3)):
            yield f"SparseDenseCwise{kind}", sp | {"dense": dense}
    yield "SparseSoftmax", sp
    gap = {
        "indices": i64([0, 1], [2, 0], [2, 2]),
        "values": values,
        "dense_shape": i64(4, 3),
        "default_value": 9.0,
    }
    yield "SparseFillEmptyRows", gap
    yield "SparseFillEmptyRowsGrad", {"reverse_index_map": i64(0, 2, 3), "grad_values": f32(1, 2, 3, 4, 5)}
    for kind in ("Max", "Sum"):
        reduced = {"input_indices": indices, "input_values": values, "input_shape": shape}
        for keep in (False, True):
            yield f"SparseReduce{kind}", reduced | {"reduction_axes": [1], "keep_dims": keep}
        yield f"SparseReduce{kind}Sparse", reduced | {"reduction_axes": [0]}
    yield (
        "SparseReorder",
        {"input_indices": indices[::-1].copy(), "input_values": values, "input_shape": shape},
    )
    yield "SparseReshape", {"input_indices": indices, "input_shape": shape, "new_shape": i64(3, -1)}
    plain = {"indices": indices, "values": values, "shape": shape}
    yield "SparseSlice", plain | {"start": i64(0, 1), "size": i64(2, 2)}
    yield (
        "SparseSliceGrad",
        {
            "backprop_val_grad": f32(5, 6),
            "input_indices": indices,
            "input_start": i64(0, 1),
            "output_indices": i64([0, 0], [1, 1]),
        },
    )
    yield "SparseSplit", plain | {"split_dim": 1, "num_split": 2}
    dense = {"a_indices": indices, "a_values": values, "a_shape": shape}
    yield "SparseTensorDenseAdd", dense | {"b": ramp(2, 3)}
    yield "SparseTensorDenseMatMul", dense | {"b": ramp(3, 2)}
    yield "SparseTensorDenseMatMul", dense | {"b": ramp(2, 2), "adjoint_a": True}
    yield (
        "SparseToDense",
        {"sparse_indices": indices, "output_shape": shape, "sparse_values": values, "default_value": 7.0},
    )
    counted = {"weights": f32(), "binary_output": False}
    yield "DenseCountSparseOutput", counted | {"values": i32([1, 1, 3], [0, 0, 2])}
    yield (
        "SparseCountSparseOutput",
        counted | {"indices": indices, "values": i32(1, 2, 2), "dense_shape": shape},
    )
    yield "RaggedCountSparseOutput", counted | {"splits": i64(0, 2, 3), "values": i32(1, 1, 3)}
    a, b = i32([1, 2, 3], [4, 4, 5]), i32([2, 3, 3], [5, 6, 7])
    for operation in ("a-b", "b-a", "intersection", "union"):
        yield "DenseToDenseSetOperation", {"set1": a, "set2": b, "set_operation": operation}
        second = {
            "set2_indices": i64([0, 0], [0, 1], [1, 0]),
            "set2_values": i32(2, 3, 5),
            "set2_shape": i64(2, 2),
        }
        yield "DenseToSparseSetOperation", {"set1": a, "set_operation": operation, **second}
        first = {key.replace("2", "1"): value for key, value in second.items()}
        yield "SparseToSparseSetOperation", {**first, **second, "set_operation": operation}
    yield (
        "SetSize",
        {"set_indices": i64([0, 0], [0, 1], [1, 0]), "set_values": i32(2, 2, 5), "set_shape": i64(2, 2)},
    )
    yield (
        "EditDistance",
        {
            "hypothesis_indices": i64([0, 0], [0, 1]),
            "hypothesis_values": i32(1, 2),
            "hypothesis_shape": i64(1, 2),
            "truth_indices": i64([0, 0], [0, 1], [0, 2]),
            "truth_values": i32(1, 3, 2),
            "truth_shape": i64(1, 3),
        },
    )
    yield "RaggedRange", {"starts": i32(0, 5), "limits": i32(3, 3), "deltas": i32(1, -1)}
    splits, flat = i64(0, 2, 2, 3), f32(1, 2, 3)
    yield (
        "RaggedGather",
        {
            "params_nested_splits": [splits],
            "params_dense_values": flat,
            "indices": i32(2, 0),
            "OUTPUT_RAGGED_RANK": 1,
        },
    )
    yield "RaggedTensorToSparse", {"rt_nested_splits": [splits], "rt_dense_values": flat}
    yield (
        "RaggedTensorToTensor",
        {
            "shape": i64(-1, -1),
            "values": flat,
            "default_value": 9.0,
            "row_partition_tensors": [splits],
            "row_partition_types": ["ROW_SPLITS"],
        },
    )
    yield (
        "RaggedTensorToTensor",
        {
            "shape": i64(4, -1),
            "values": flat,
            "default_value": 9.0,
            "row_partition_tensors": [i64(3)[0], i64(0, 0, 2)],
            "row_partition_types": ["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
        },
    )
    yield (
        "RaggedFillEmptyRows",
        {"value_rowids": i64(0, 2), "values": f32(1, 2), "nrows": i64(3)[0], "default_value": 9.0},
    )
    yield "RaggedFillEmptyRowsGrad", {"reverse_index_map": i64(0, 2), "grad_values": f32(1, 2, 3)}
    crossed = {
        "indices": [i64([0, 0], [1, 0])] * 2,
        "values": [np.array(["a", "b"], object), np.array(["c", "d"], object)],
        "shapes": [i64(2, 1)] * 2,
        "dense_inputs": [],
    }
    yield "SparseCrossV2", crossed | {"sep": "_X_"}
    yield (
        "DeserializeSparse",
        {
            "serialized_sparse": Op(
                "SerializeSparse", {"sparse_indices": indices, "sparse_values": values, "sparse_shape": shape}
            ),
            "dtype": "float32",
        },
    )
    yield (
        "DeserializeManySparse",
        {
            "serialized_sparse": Op(
                "SerializeManySparse",
                {"sparse_indices": indices, "sparse_values": values, "sparse_shape": shape},
            ),
            "dtype": "float32",
        },
    )


def state() -> Iterator[tuple[str, dict[str, Any]]]:
    """Operators of variables, and lists of tensors."""

    def var() -> Var:
        return Var(f32(1, -2, 3))

    for name in ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"):
        yield name, {"resource": var(), "value": f32(4, 5, 6)}
    yield "ReadVariableOp", {"resource": var(), "dtype": "float32"}
    yield "VariableShape", {"input": var()}
    yield "ResourceGather", {"resource": var(), "indices": i32(2, 0), "dtype": "float32"}
    yield "ResourceGatherNd", {"resource": var(), "indices": i32([2], [0]), "dtype": "float32"}
    for kind in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update"):
        yield f"ResourceScatter{kind}", {"resource": var(), "indices": i32(2, 0), "updates": f32(2, -4)}
        yield (
            f"ResourceScatter{kind}",
            {"resource": Var(ramp(3, 2)), "indices": i32(1), "updates": f32([2, -4])},
        )
    for kind in ("Add", "Max", "Min", "Sub", "Update"):
        yield f"ResourceScatterNd{kind}", {"ref": var(), "indices": i32([2], [0]), "updates": f32(2, -4)}
    yield (
        "ResourceStridedSliceAssign",
        {"ref": var(), "begin": i32(1), "end": i32(3), "strides": i32(1), "value": f32(8, 9)},
    )
    yield "ResourceCountUpTo", {"resource": Var(np.int32(3)), "limit": 5, "T": "int32"}
    grad = {"grad": f32(0.5, -1, 2)}
    slots = {"accum": Var(f32(0.1, 0.2, 0.3))}
    decay = {"beta1": 0.9, "beta2": 0.99, "epsilon": 1e-3, "lr": 0.1}
    means = {"m": Var(f32(0.1, -0.2, 0.3)), "v": Var(f32(0.4, 0.5, 0.6))}
    powers = {"beta1_power": 0.81, "beta2_power": 0.98}
    rms = {
        "ms": Var(f32(1, 1.5, 2)),
        "mom": Var(f32(0.1, -0.1, 0)),
        "lr": 0.1,
        "rho": 0.9,
        "momentum": 0.5,
        "epsilon": 1e-3,
    }
    penalties = {"l1": 0.1, "l2": 0.2}
    sums = {"gradient_accumulator": Var(f32(1, -2, 0.1)), "gradient_squared_accumulator": Var(f32(1, 2, 3))}
    ftrl = {
        "accum": Var(f32(0.1, 0.2, 0.3)),
        "linear": Var(f32(0.5, -0.5, 0)),
        "lr": 0.1,
        **penalties,
        "lr_power": -0.5,
    }
    steps: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
        "AdaMax": ({**means, "beta1_power": 0.81, **decay}, {}, False),
        "Adadelta": (
            {**slots, "accum_update": Var(f32(0.3, 0.2, 0.1)), "lr": 0.1, "rho": 0.9, "epsilon": 1e-3},
            {},
            True,
        ),
        "Adagrad": ({**slots, "lr": 0.1}, {"update_slots": False}, True),
        "AdagradDA": ({**sums, "lr": 0.1, **penalties, "global_step": 3}, {}, True),
        "AdagradV2": ({**slots, "lr": 0.1, "epsilon": 1e-3}, {"update_slots": False}, True),
        "Adam": ({**means, **powers, **decay}, {"use_nesterov": True}, False),
        "AdamWithAmsgrad": ({**means, "vhat": Var(f32(0.1, 0.9, 0.6)), **powers, **decay}, {}, False),
        "AddSign": ({"m": means["m"], "lr": 0.1, "alpha": 1.0, "sign_decay": 0.9, "beta": 0.8}, {}, False),
        "CenteredRMSProp": ({"mg": Var(f32(0.1, 0.2, 0.3)), **rms}, {}, True),
        "Ftrl": (ftrl, {"multiply_linear_by_lr": True}, True),
        "FtrlV2": ({**ftrl, "l2_shrinkage": 0.1}, {"multiply_linear_by_lr": True}, True),
        "KerasMomentum": ({**slots, "lr": 0.1, "momentum": 0.9}, {"use_nesterov": True}, True),
        "Momentum": ({**slots, "lr": 0.1, "momentum": 0.9}, {"use_nesterov": True}, True),
        "PowerSign": (
            {"m": means["m"], "lr": 0.1, "logbase": 1.0, "sign_decay": 0.9, "beta": 0.8},
            {},
            False,
        ),
        "ProximalAdagrad": ({**slots, "lr": 0.1, **penalties}, {}, True),
        "RMSProp": (rms, {}, True),
    }
    for name, (given, more, rows) in steps.items():
        for options in ({}, more) if more else ({},):
            yield f"ResourceApply{name}", {"var": var(), **given, **grad, **options}
            if rows:
                yield (
                    f"ResourceSparseApply{name}",
                    {"var": var(), **given, "grad": f32(0.5, -1), "indices": i32(2, 0), **options},
                )
    yield (
        "ResourceSparseApplyMomentum",
        {
            "var": var(),
            "accum": slots["accum"],
            "lr": 0.1,
            "momentum": 0.9,
            "grad": f32(0.5, -1),
            "indices": i32(1, 1),
        },
    )
    yield "ResourceApplyGradientDescent", {"var": var(), "alpha": 0.1, "delta": f32(1, 2, 3)}
    yield (
        "ResourceApplyProximalGradientDescent",
        {"var": var(), "alpha": 0.1, **penalties, "delta": f32(1, 2, 3)},
    )
    listed = Op("TensorListFromTensor", {"tensor": ramp(3, 2), "element_shape": i32(2)})
    shape = {"input_handle": listed, "element_shape": i32(2), "element_dtype": "float32"}
    yield "TensorListStack", shape
    yield "TensorListGather", shape | {"indices": i32(2, 0)}
    yield "TensorListGetItem", shape | {"index": 1}
    yield "TensorListLength", {"input_handle": listed}
    yield "Identity", {"input": Op("TensorListPopBack", shape, 1)}
    for made in (
        Op("TensorListPushBack", {"input_handle": listed, "tensor": f32(7, 8)}),
        Op("TensorListSetItem", {"input_handle": listed, "index": 1, "item": f32(7, 8)}),
        Op(
            "TensorListScatterV2",
            {"tensor": ramp(2, 2), "indices": i32(1, 0), "element_shape": i32(2), "num_elements": 2},
        ),
        Op(
            "TensorListScatterIntoExistingList",
            {"input_handle": listed, "tensor": ramp(2, 2), "indices": i32(2, 0)},
        ),
        Op("TensorListPopBack", shape, 0),
        Op("TensorListResize", {"input_handle": listed, "size": 2}),
    ):
        yield "TensorListStack", shape | {"input_handle": made}
    yield (
        "TensorListConcatV2",
        {
            "input_handle": Op(
                "TensorListSplit", {"tensor": ramp(4, 2), "element_shape": i32(-1, 2), "lengths": i64(1, 3)}
            ),
            "element_shape": i32(-1, 2),
            "leading_dims": i64(),
            "element_dtype": "float32",
        },
    )
