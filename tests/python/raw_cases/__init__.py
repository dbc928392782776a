"""Calls of TensorFlow's operators; `tools/peers/tensorflow_node_results.py` records what TensorFlow gives."""

from __future__ import annotations

from typing import Any

from raw_cases.arrays import arrays, matrices
from raw_cases.calls import Var, f32, flat, given, i32, i64, plain, ramp, results
from raw_cases.images import images, texts
from raw_cases.networks import networks, quantized
from raw_cases.numbers import elementwise, reductions
from raw_cases.parts import sparse, state

__all__ = ["Var", "cases", "drawn", "flat", "given", "plain", "results"]

AREAS = (elementwise, reductions, arrays, matrices, networks, images, quantized, texts, sparse, state)


def cases() -> dict[str, tuple[str, dict[str, Any]]]:
    """Calls by names: the operator with its arguments."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    counts: dict[str, int] = {}
    for area in AREAS:
        for name, arguments in area():
            counts[name] = counts.get(name, -1) + 1
            found[f"{name}-{counts[name]}"] = (name, arguments)
    return found


def drawn() -> dict[str, dict[str, Any]]:
    """Calls of operators that draw numbers, of which shapes and dtypes agree."""
    candidates = {"true_classes": i64([1, 2]), "num_true": 2, "num_sampled": 3, "unique": True}
    shape = {"shape": [2, 3]}
    seed = {"seed": i32(1, 2)}
    return {
        "AllCandidateSampler": candidates,
        "LearnedUnigramCandidateSampler": candidates | {"range_max": 5},
        "LogUniformCandidateSampler": candidates | {"range_max": 5},
        "UniformCandidateSampler": candidates | {"range_max": 5},
        "ThreadUnsafeUnigramCandidateSampler": candidates | {"range_max": 5},
        "FixedUnigramCandidateSampler": candidates | {"range_max": 3, "unigrams": [1.0, 2.0, 3.0]},
        "Multinomial": {"logits": ramp(2, 3), "num_samples": 4},
        "RandomGamma": {"shape": [2], "alpha": f32(1, 2)},
        "RandomPoisson": {"shape": [2], "rate": f32(1, 2)},
        "RandomPoissonV2": {"shape": [2], "rate": f32(1, 2)},
        "RandomShuffle": {"value": ramp(4)},
        "RandomStandardNormal": shape | {"dtype": "float32"},
        "RandomUniform": shape | {"dtype": "float64", "seed": 3},
        "RandomUniformInt": shape | {"minval": 0, "maxval": 9},
        "TruncatedNormal": shape | {"dtype": "float32"},
        "StatelessMultinomial": {"logits": ramp(2, 3), "num_samples": 4, **seed},
        "StatelessRandomBinomial": shape | seed | {"counts": f32(9)[0], "probs": f32(0.5)[0]},
        "StatelessRandomGammaV2": {"shape": [2], **seed, "alpha": f32(1, 2)},
        "StatelessRandomNormal": shape | seed,
        "StatelessRandomPoisson": {"shape": [2], **seed, "lam": f32(1, 2), "dtype": "int32"},
        "StatelessRandomUniform": shape | seed,
        "StatelessRandomUniformFullInt": shape | seed | {"dtype": "int32"},
        "StatelessRandomUniformInt": shape | seed | {"minval": 0, "maxval": 9},
        "StatelessTruncatedNormal": shape | seed,
        "StatelessParameterizedTruncatedNormal": shape
        | seed
        | {"means": f32(0)[0], "stddevs": f32(1)[0], "minvals": f32(-1)[0], "maxvals": f32(1)[0]},
    }
