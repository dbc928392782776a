"""Operators that draw random numbers, and that quantize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import penstock as tf
from penstock._ops.sobol import sobol_sample

__all__ = ["NODES"]


def _seed(seed: int, seed2: int) -> int | None:
    """One seed of two; none where both are 0."""
    return None if seed == seed2 == 0 else seed * 0x9E3779B1 + seed2 & 0x7FFFFFFF


def _sampler(function: Callable[..., Any]) -> Callable[..., Any]:
    def sample(
        classes: Any, num_true: int, num_sampled: int, unique: bool, limit: int, *seeds: int
    ) -> list[Any]:
        return list(function(classes, num_true, num_sampled, unique, limit, seed=_seed(*seeds)))

    return sample


def _fixed(
    classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    limit: int,
    file: str,
    distortion: float,
    reserved: int,
    shards: int,
    shard: int,
    unigrams: Any,
    *seeds: int,
) -> list[Any]:
    return list(
        tf.random.fixed_unigram_candidate_sampler(
            classes,
            num_true,
            num_sampled,
            unique,
            limit,
            file,
            distortion,
            reserved,
            shards,
            shard,
            unigrams,
            _seed(*seeds),
        )
    )


def _fake_per_channel(inputs: Any, low: Any, high: Any, bits: int, narrow: bool) -> Any:
    return tf.quantization.fake_quant_with_min_max_vars_per_channel(inputs, low, high, bits, narrow)


def _axis(axis: int) -> int | None:
    return None if axis < 0 else axis


def _around(
    input: Any, low: Any, high: Any, signed: bool, bits: Any, given: bool, mode: str, narrow: bool, axis: int
) -> Any:
    return tf.quantization.quantize_and_dequantize_v2(
        input, low, high, signed, bits, given, mode, narrow_range=narrow, axis=_axis(axis)
    )


def _around_v3(
    input: Any, low: Any, high: Any, bits: Any, signed: bool, given: bool, narrow: bool, axis: int
) -> Any:
    number = int(tf.get_static_value(bits))
    return _around(input, low, high, signed, number, given, "HALF_TO_EVEN", narrow, axis)


def _around_v1(input: Any, signed: bool, bits: int, given: bool, low: float, high: float) -> Any:
    return _around(
        input,
        tf.cast(low, input.dtype),
        tf.cast(high, input.dtype),
        signed,
        bits,
        given,
        "HALF_TO_EVEN",
        False,
        -1,
    )


def _around_grad(gradients: Any, input: Any, low: Any, high: Any, axis: int) -> tuple[Any, Any, Any]:
    if axis >= 0:
        shape = [-1 if i == axis else 1 for i in range(input.shape.rank)]
        low, high = tf.reshape(low, shape), tf.reshape(high, shape)
    within = (input >= low) & (input <= high)
    zeros = tf.zeros_like(low)
    flat = tf.reshape(zeros, [-1]) if axis >= 0 else zeros
    return tf.where(within, gradients, tf.zeros_like(gradients)), flat, flat


def _quantized(
    input: Any, low: Any, high: Any, T: Any, mode: str, round_mode: str, narrow: bool, axis: int, least: float
) -> Any:
    return list(
        tf.quantization.quantize(
            input,
            low,
            high,
            T,
            mode,
            round_mode,
            narrow_range=narrow,
            axis=_axis(axis),
            ensure_minimum_range=least,
        )
    )


def _dequantized(input: Any, low: Any, high: Any, mode: str, narrow: bool, axis: int, dtype: Any) -> Any:
    return tf.quantization.dequantize(
        input, low, high, mode, axis=_axis(axis), narrow_range=narrow, dtype=dtype
    )


def _bounds(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: list(function(*given))


def _index_shuffle(index: Any, seed: Any, most: Any, rounds: int) -> Any:
    return tf.random_index_shuffle(index, seed, most, rounds)


def _gamma(shape: Any, alpha: Any, seed: int, seed2: int) -> Any:
    return tf.random.gamma(shape, alpha, dtype=alpha.dtype, seed=_seed(seed, seed2))


def _poisson(shape: Any, rate: Any, seed: int, seed2: int, dtype: Any = None) -> Any:
    return tf.random.poisson(shape, rate, dtype or rate.dtype, seed=_seed(seed, seed2))


def _box(
    size: Any, boxes: Any, seed: int, seed2: int, least: Any, aspect: Any, area: Any, tries: int, whole: bool
) -> list[Any]:
    return list(
        tf.image.sample_distorted_bounding_box(
            size, boxes, _seed(seed, seed2) or 0, least, aspect, area, tries, whole
        )
    )


def _box_v2(
    size: Any, boxes: Any, least: Any, seed: int, seed2: int, aspect: Any, area: Any, tries: int, whole: bool
) -> list[Any]:
    return _box(size, boxes, seed, seed2, least, aspect, area, tries, whole)


def _box_stateless(
    size: Any, boxes: Any, least: Any, seed: Any, aspect: Any, area: Any, tries: int, whole: bool
) -> list[Any]:
    return list(
        tf.image.stateless_sample_distorted_bounding_box(size, boxes, seed, least, aspect, area, tries, whole)
    )


NODES: Final[dict[str, Callable[..., Any]]] = {
    "AllCandidateSampler": lambda classes, num_true, num_sampled, unique, *seeds: list(
        tf.random.all_candidate_sampler(classes, num_true, num_sampled, unique, _seed(*seeds))
    ),
    "ComputeAccidentalHits": lambda classes, sampled, num_true, *seeds: list(
        tf.nn.compute_accidental_hits(classes, sampled, num_true)
    ),
    "FixedUnigramCandidateSampler": _fixed,
    "LearnedUnigramCandidateSampler": _sampler(tf.random.learned_unigram_candidate_sampler),
    "LogUniformCandidateSampler": _sampler(tf.random.log_uniform_candidate_sampler),
    "ThreadUnsafeUnigramCandidateSampler": _sampler(tf.random.learned_unigram_candidate_sampler),
    "UniformCandidateSampler": _sampler(tf.random.uniform_candidate_sampler),
    "Dequantize": _dequantized,
    "FakeQuantWithMinMaxArgs": tf.quantization.fake_quant_with_min_max_args,
    "FakeQuantWithMinMaxArgsGradient": tf.quantization.fake_quant_with_min_max_args_gradient,
    "FakeQuantWithMinMaxVars": tf.quantization.fake_quant_with_min_max_vars,
    "FakeQuantWithMinMaxVarsGradient": _bounds(tf.quantization.fake_quant_with_min_max_vars_gradient),
    "FakeQuantWithMinMaxVarsPerChannel": _fake_per_channel,
    "FakeQuantWithMinMaxVarsPerChannelGradient": _bounds(
        tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient
    ),
    "Multinomial": lambda logits, count, seed, seed2, dtype: tf.random.categorical(
        logits, count, dtype, _seed(seed, seed2)
    ),
    "QuantizeAndDequantize": _around_v1,
    "QuantizeAndDequantizeV2": _around,
    "QuantizeAndDequantizeV3": _around_v3,
    "QuantizeAndDequantizeV4": _around,
    "QuantizeAndDequantizeV4Grad": _around_grad,
    "QuantizeV2": _quantized,
    "QuantizedConcat": lambda concat_dim, values, lows, highs: list(
        tf.quantization.quantized_concat(concat_dim, values, lows, highs)
    ),
    "RandomGamma": _gamma,
    "RandomIndexShuffle": _index_shuffle,
    "RandomPoisson": _poisson,
    "RandomPoissonV2": _poisson,
    "RandomShuffle": lambda value, seed, seed2: tf.random.shuffle(value, _seed(seed, seed2)),
    "RandomStandardNormal": lambda shape, dtype, seed, seed2: tf.random.normal(
        shape, dtype=dtype, seed=_seed(seed, seed2)
    ),
    "RandomUniform": lambda shape, dtype, seed, seed2: tf.random.uniform(
        shape, dtype=dtype, seed=_seed(seed, seed2)
    ),
    "RandomUniformInt": lambda shape, low, high, seed, seed2: tf.random.uniform(
        shape, low, high, low.dtype, _seed(seed, seed2)
    ),
    "SampleDistortedBoundingBox": _box,
    "SampleDistortedBoundingBoxV2": _box_v2,
    "SobolSample": lambda dim, count, skip, dtype: sobol_sample(dim, count, skip, dtype),
    "StatelessMultinomial": lambda logits, count, seed, dtype: tf.random.stateless_categorical(
        logits, count, seed, dtype
    ),
    "StatelessParameterizedTruncatedNormal": tf.random.stateless_parameterized_truncated_normal,
    "StatelessRandomBinomial": tf.random.stateless_binomial,
    "StatelessRandomGammaV2": lambda shape, seed, alpha: tf.random.stateless_gamma(
        shape, seed, alpha, dtype=alpha.dtype
    ),
    "StatelessRandomNormal": lambda shape, seed, dtype: tf.random.stateless_normal(shape, seed, dtype=dtype),
    "StatelessRandomPoisson": tf.random.stateless_poisson,
    "StatelessRandomUniform": lambda shape, seed, dtype: tf.random.stateless_uniform(
        shape, seed, dtype=dtype
    ),
    "StatelessRandomUniformFullInt": lambda shape, seed, dtype: tf.random.stateless_uniform(
        shape, seed, None, None, dtype
    ),
    "StatelessRandomUniformInt": lambda shape, seed, low, high: tf.random.stateless_uniform(
        shape, seed, low, high, low.dtype
    ),
    "StatelessSampleDistortedBoundingBox": _box_stateless,
    "StatelessTruncatedNormal": lambda shape, seed, dtype: tf.random.stateless_truncated_normal(
        shape, seed, dtype=dtype
    ),
    "TruncatedNormal": lambda shape, dtype, seed, seed2: tf.random.truncated_normal(
        shape, dtype=dtype, seed=_seed(seed, seed2)
    ),
}
