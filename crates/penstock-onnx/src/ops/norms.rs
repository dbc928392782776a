//! Normalisation, losses, and dropout.

use penstock_data::{DType, Error, Result};
use penstock_ir::Value;

use super::Entry;
use crate::cx::{Cx, Outputs, one};

pub(super) const OPS: &[Entry] = &[
    ("BatchNormalization", 1, batch_norm),
    ("Dropout", 1, dropout),
    ("GroupNormalization", 18, group_norm),
    ("InstanceNormalization", 1, instance_norm),
    ("LayerNormalization", 17, layer_norm),
    ("LpNormalization", 1, lp_norm),
    ("MeanVarianceNormalization", 9, mean_variance_norm),
    ("NegativeLogLikelihoodLoss", 12, likelihood_loss),
    ("RMSNormalization", 23, rms_norm),
    ("SoftmaxCrossEntropyLoss", 12, cross_entropy_loss),
];

/// A vector of one element for each channel, for an operand of rank `rank`.
fn per_channel(cx: &mut Cx<'_, '_>, x: Value, rank: usize) -> Result<Value> {
    cx.trailing(x, rank.saturating_sub(2))
}

/// The scale and the offset of constants are computed at once.
fn batch_norm(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let (scale, offset, mean, variance) = (cx.x(1)?, cx.x(2)?, cx.x(3)?, cx.x(4)?);
    let (rank, dtype) = (cx.rank(x)?, cx.dtype(x));
    let epsilon = cx.float("epsilon", 1e-5);
    if cx.flag("training_mode", false) {
        let axes: Vec<usize> = std::iter::once(0).chain(2..rank).collect();
        let (now, spread) = moments(cx, x, &axes)?;
        let flat = |cx: &mut Cx<'_, '_>, v: Value| cx.reshape_known(v, &[-1]);
        let (batch_mean, batch_variance) = (flat(cx, now)?, flat(cx, spread)?);
        let momentum = cx.float("momentum", 0.9);
        let mut running = Vec::new();
        for (kept, new) in [(mean, batch_mean), (variance, batch_variance)] {
            let new = cx.cast(new, cx.dtype(kept))?;
            let (kept, new) = (cx.with("mul", kept, momentum)?, cx.with("mul", new, 1.0 - momentum)?);
            running.push(cx.bin("add", kept, new)?);
        }
        let y = scaled(cx, x, batch_mean, batch_variance, scale, offset, epsilon)?;
        return Ok(vec![y.into(), running[0].into(), running[1].into()]);
    }
    let mut parts = [scale, offset, mean, variance];
    for part in &mut parts {
        *part = cx.cast(*part, dtype)?;
    }
    let [scale, offset, mean, variance] = parts;
    one(scaled(cx, x, mean, variance, scale, offset, epsilon)?)
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + offset` by channels, as one product and one sum.
fn scaled(
    cx: &mut Cx<'_, '_>,
    x: Value,
    mean: Value,
    variance: Value,
    scale: Value,
    offset: Value,
    epsilon: f64,
) -> Result<Value> {
    let rank = cx.rank(x)?;
    let spread = cx.with("add", variance, epsilon)?;
    let deviation = cx.un("sqrt", spread)?;
    let factor = cx.bin("div", scale, deviation)?;
    let shift = cx.bin("mul", mean, factor)?;
    let shift = cx.bin("sub", offset, shift)?;
    let (factor, shift) = (per_channel(cx, factor, rank)?, per_channel(cx, shift, rank)?);
    let y = cx.bin("mul", x, factor)?;
    cx.bin("add", y, shift)
}

/// The mean and the variance, with the axes kept.
fn moments(cx: &mut Cx<'_, '_>, x: Value, axes: &[usize]) -> Result<(Value, Value)> {
    let mean = cx.reduce("reduce_mean", x, axes, true)?;
    let square = cx.bin("squared_difference", x, mean)?;
    Ok((mean, cx.reduce("reduce_mean", square, axes, true)?))
}

/// The operand with mean 0 and variance 1 over axes; with `1 / sqrt(variance + epsilon)` and the mean.
fn standardised(cx: &mut Cx<'_, '_>, x: Value, axes: &[usize], epsilon: f64) -> Result<(Value, Value, Value)> {
    let (mean, variance) = moments(cx, x, axes)?;
    let spread = cx.with("add", variance, epsilon)?;
    let inverse = cx.un("rsqrt", spread)?;
    let centred = cx.bin("sub", x, mean)?;
    Ok((cx.bin("mul", centred, inverse)?, mean, inverse))
}

/// The dtype that a node computes in.
fn stash(cx: &Cx<'_, '_>, x: Value) -> Result<DType> {
    match cx.dtype_attr("stash_type")? {
        Some(dtype) => Ok(dtype),
        None if cx.dtype(x) == DType::F64 => Ok(DType::F64),
        None => Ok(DType::F32),
    }
}

fn instance_norm(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, scale, offset) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let rank = cx.rank(x)?;
    let axes: Vec<usize> = (2..rank).collect();
    let (y, _, _) = standardised(cx, x, &axes, cx.float("epsilon", 1e-5))?;
    let (scale, offset) = (per_channel(cx, scale, rank)?, per_channel(cx, offset, rank)?);
    let y = cx.bin("mul", y, scale)?;
    one(cx.bin("add", y, offset)?)
}

fn layer_norm(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, scale) = (cx.x(0)?, cx.x(1)?);
    let (rank, dtype) = (cx.rank(x)?, cx.dtype(x));
    let axis = cx.axis(cx.int("axis", -1), rank)?;
    let wide = stash(cx, x)?;
    let wide_x = cx.cast(x, wide)?;
    let axes: Vec<usize> = (axis..rank).collect();
    let (y, mean, inverse) = standardised(cx, wide_x, &axes, cx.float("epsilon", 1e-5))?;
    let y = cx.cast(y, dtype)?;
    let mut y = cx.bin("mul", y, scale)?;
    if let Some(offset) = cx.opt(2) {
        y = cx.bin("add", y, offset)?;
    }
    Ok(vec![y.into(), mean.into(), inverse.into()])
}

fn rms_norm(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, scale) = (cx.x(0)?, cx.x(1)?);
    let (rank, dtype) = (cx.rank(x)?, cx.dtype(x));
    let axis = cx.axis(cx.int("axis", -1), rank)?;
    let axes: Vec<usize> = (axis..rank).collect();
    let wide = stash(cx, x)?;
    let x = cx.cast(x, wide)?;
    let square = cx.un("square", x)?;
    let mean = cx.reduce("reduce_mean", square, &axes, true)?;
    let spread = cx.with("add", mean, cx.float("epsilon", 1e-5))?;
    let inverse = cx.un("rsqrt", spread)?;
    let y = cx.bin("mul", x, inverse)?;
    let y = cx.cast(y, dtype)?;
    let scale = cx.cast(scale, dtype)?;
    one(cx.bin("mul", y, scale)?)
}

/// Scale and offset have one element for each channel from version 21 on, before for each group.
fn group_norm(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, scale, offset) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let (sizes, dtype) = (cx.sizes(x)?, cx.dtype(x));
    let groups = cx.int("num_groups", 1);
    let channels = cx.known_extent(x, 1)? as i64;
    if groups < 1 || channels % groups != 0 {
        return Err(Error::invalid(format!("{channels} channels are no {groups} groups")));
    }
    let mut split = vec![sizes[0], groups.into(), (channels / groups).into()];
    split.extend_from_slice(&sizes[2..]);
    let wide = stash(cx, x)?;
    let grouped = cx.cast(x, wide)?;
    let grouped = cx.reshape(grouped, &split)?;
    let axes: Vec<usize> = (2..split.len()).collect();
    let (y, _, _) = standardised(cx, grouped, &axes, cx.float("epsilon", 1e-5))?;
    let mut y = cx.cast(y, dtype)?;
    let by_group = cx.version < 21;
    let rank = if by_group { split.len() } else { sizes.len() };
    if !by_group {
        y = cx.reshape(y, &sizes)?;
    }
    let (scale, offset) = (per_channel(cx, scale, rank)?, per_channel(cx, offset, rank)?);
    y = cx.bin("mul", y, scale)?;
    y = cx.bin("add", y, offset)?;
    one(if by_group { cx.reshape(y, &sizes)? } else { y })
}

fn mean_variance_norm(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let rank = cx.rank(x)?;
    let axes = cx.ints("axes").unwrap_or_else(|| vec![0, 2, 3]);
    let axes: Vec<usize> = axes.iter().map(|&a| cx.axis(a, rank)).collect::<Result<_>>()?;
    let (mean, variance) = moments(cx, x, &axes)?;
    let deviation = cx.un("sqrt", variance)?;
    let deviation = cx.with("add", deviation, 1e-9)?;
    let centred = cx.bin("sub", x, mean)?;
    one(cx.bin("div", centred, deviation)?)
}

fn lp_norm(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let rank = cx.rank(x)?;
    let axis = cx.axis(cx.int("axis", -1), rank)?;
    let size = match cx.int("p", 2) {
        1 => {
            let x = cx.un("abs", x)?;
            cx.reduce("reduce_sum", x, &[axis], true)?
        }
        _ => {
            let square = cx.un("square", x)?;
            let sum = cx.reduce("reduce_sum", square, &[axis], true)?;
            cx.un("sqrt", sum)?
        }
    };
    one(cx.bin("divide_no_nan", x, size)?)
}

/// What is dropped is drawn at run time; without training nothing is.
fn dropout(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let training = match cx.opt(2) {
        Some(training) => cx.known_flag(training)?,
        None => false,
    };
    let ratio = match cx.opt(1) {
        Some(ratio) => Some(cx.cast(ratio, cx.dtype(x))?),
        None => None,
    };
    if !training {
        let ones = cx.un("ones_like", x)?;
        let mask = cx.cast(ones, DType::Bool)?;
        // Before version 10 the mask is of the dtype of the operand.
        return Ok(vec![x.into(), if cx.version < 10 { ones.into() } else { mask.into() }]);
    }
    let ratio = match ratio {
        Some(ratio) => ratio,
        None => cx.like(x, 0.5)?,
    };
    let shape = cx.shape(x)?;
    let drawn = cx.op("random_uniform", &[shape], &[("dtype", cx.dtype(x).into())])?;
    let mask = cx.bin("greater_equal", drawn, ratio)?;
    let one = cx.like(x, 1.0)?;
    let kept = cx.bin("sub", one, ratio)?;
    let y = cx.bin("divide_no_nan", x, kept)?;
    let zeros = cx.un("zeros_like", x)?;
    Ok(vec![cx.select(mask, y, zeros)?.into(), mask.into()])
}

/// Minus the scores of the labels, weighted; `scores` has the classes at axis 1.
fn loss_of(cx: &mut Cx<'_, '_>, scores: Value, labels: Value, weights: Option<Value>) -> Result<Value> {
    let labels = cx.cast(labels, DType::I64)?;
    let ignored = match cx.opt_int("ignore_index") {
        Some(index) => {
            let index = cx.i64(index);
            Some(cx.bin("equal", labels, index)?)
        }
        None => None,
    };
    let zeros = cx.un("zeros_like", labels)?;
    let picked = match ignored {
        Some(ignored) => cx.select(ignored, zeros, labels)?,
        None => labels,
    };
    let at = cx.expand(picked, 1)?;
    let score = cx.op("take_along_axis", &[scores, at], &[("axis", 1i64.into())])?;
    let score = cx.op("squeeze", &[score], &[("axes", vec![1].into())])?;
    let mut loss = cx.un("neg", score)?;
    let mut share = match weights {
        Some(weights) => Some(cx.bin("gather", weights, picked)?),
        None => None,
    };
    if let Some(ignored) = ignored {
        let nothing = cx.un("zeros_like", loss)?;
        let whole = match share {
            Some(share) => share,
            None => cx.un("ones_like", loss)?,
        };
        share = Some(cx.select(ignored, nothing, whole)?);
    }
    if let Some(share) = share {
        loss = cx.bin("mul", loss, share)?;
    }
    match (cx.text("reduction", "mean")?, share) {
        ("none", _) => Ok(loss),
        ("sum", _) => cx.op("reduce_sum", &[loss], &[]),
        (_, Some(share)) => {
            let (sum, whole) = (cx.op("reduce_sum", &[loss], &[])?, cx.op("reduce_sum", &[share], &[])?);
            cx.bin("div", sum, whole)
        }
        (_, None) => cx.op("reduce_mean", &[loss], &[]),
    }
}

fn likelihood_loss(cx: &mut Cx<'_, '_>) -> Outputs {
    let (scores, labels) = (cx.x(0)?, cx.x(1)?);
    let weights = cx.opt(2);
    one(loss_of(cx, scores, labels, weights)?)
}

fn cross_entropy_loss(cx: &mut Cx<'_, '_>) -> Outputs {
    let (scores, labels) = (cx.x(0)?, cx.x(1)?);
    let logs = cx.op("log_softmax", &[scores], &[("axis", 1i64.into())])?;
    let weights = cx.opt(2);
    Ok(vec![loss_of(cx, logs, labels, weights)?.into(), logs.into()])
}
