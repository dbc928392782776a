//! Integers with a scale and a zero point.

use penstock_data::{DType, Error, Result};
use penstock_ir::Value;

use super::Entry;
use super::reductions::product;
use super::windows::convolution;
use crate::cx::{Cx, Outputs, one};

pub(super) const OPS: &[Entry] = &[
    ("ConvInteger", 10, conv_integer),
    ("DequantizeLinear", 10, dequantize),
    ("DynamicQuantizeLinear", 11, dynamic_quantize),
    ("MatMulInteger", 10, matmul_integer),
    ("QLinearConv", 10, qlinear_conv),
    ("QLinearMatMul", 10, qlinear_matmul),
    ("QuantizeLinear", 10, quantize),
];

/// A scale or a zero point for an operand: a scalar, a vector along `axis`, or one for each block of it.
fn aligned(cx: &mut Cx<'_, '_>, part: Value, x: Value) -> Result<Value> {
    let (rank, own) = (cx.rank(x)?, cx.rank(part)?);
    if own == 0 || (own == 1 && cx.dims(part)?[0].known() == Some(1)) {
        return cx.reshape_known(part, &[]);
    }
    let axis = cx.axis(cx.int("axis", 1), rank)?;
    let block = cx.int("block_size", 0);
    if own == 1 && block == 0 {
        return cx.trailing(part, rank - 1 - axis);
    }
    if block < 1 || own != rank {
        return Err(Error::invalid("the scale has another rank than the operand"));
    }
    // Each entry stands for a block; the last block may be cut off.
    let extent = cx.extent(x, axis)?;
    let steps = cx.range(extent)?;
    let at = cx.with("floordiv", steps, block as f64)?;
    cx.op("gather", &[part, at], &[("axis", (axis as i64).into())])
}

/// The range of an integer dtype of 8 or 16 bits.
fn range(dtype: DType) -> Result<(f64, f64)> {
    Ok(match dtype {
        DType::I8 => (-128.0, 127.0),
        DType::U8 => (0.0, 255.0),
        DType::I16 => (-32768.0, 32767.0),
        DType::U16 => (0.0, 65535.0),
        DType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        other => return Err(Error::unimplemented(format!("quantisation to {other} is not supported"))),
    })
}

/// Rounded, moved by the zero point, and within the range of a dtype.
fn saturated(cx: &mut Cx<'_, '_>, x: Value, zero: Option<Value>, dtype: DType) -> Result<Value> {
    let mut y = cx.un("rint", x)?;
    if let Some(zero) = zero {
        let zero = cx.cast(zero, cx.dtype(y))?;
        y = cx.bin("add", y, zero)?;
    }
    let (low, high) = range(dtype)?;
    let y = cx.with("maximum", y, low)?;
    let y = cx.with("minimum", y, high)?;
    cx.cast(y, dtype)
}

fn quantize(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, scale) = (cx.x(0)?, cx.x(1)?);
    let dtype = match (cx.opt(2), cx.dtype_attr("output_dtype")?) {
        (Some(zero), _) => cx.dtype(zero),
        (None, Some(dtype)) => dtype,
        (None, None) => DType::U8,
    };
    let scale = aligned(cx, scale, x)?;
    let zero = match cx.opt(2) {
        Some(zero) => Some(aligned(cx, zero, x)?),
        None => None,
    };
    let wide =
        cx.dtype_attr("precision")?.unwrap_or(if cx.dtype(scale).is_float() { cx.dtype(scale) } else { DType::F32 });
    // Sixteen bits hold no zero point and quotient at once.
    let wide = if wide.size() < 4 { DType::F32 } else { wide };
    let (x, scale) = (cx.cast(x, wide)?, cx.cast(scale, wide)?);
    let quotient = cx.bin("div", x, scale)?;
    one(saturated(cx, quotient, zero, dtype)?)
}

fn dequantize(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, scale) = (cx.x(0)?, cx.x(1)?);
    let dtype = cx.dtype_attr("output_dtype")?.unwrap_or(cx.dtype(scale));
    let scale = aligned(cx, scale, x)?;
    let mut y = cx.cast(x, DType::I32)?;
    if let Some(zero) = cx.opt(2) {
        let zero = aligned(cx, zero, x)?;
        let zero = cx.cast(zero, DType::I32)?;
        y = cx.bin("sub", y, zero)?;
    }
    let wide = if cx.dtype(scale).size() < 4 { DType::F32 } else { cx.dtype(scale) };
    let (y, scale) = (cx.cast(y, wide)?, cx.cast(scale, wide)?);
    let y = cx.bin("mul", y, scale)?;
    one(cx.cast(y, dtype)?)
}

fn dynamic_quantize(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let (low, high) = (cx.op("reduce_min", &[x], &[])?, cx.op("reduce_max", &[x], &[])?);
    let (low, high) = (cx.with("minimum", low, 0.0)?, cx.with("maximum", high, 0.0)?);
    let width = cx.bin("sub", high, low)?;
    let scale = cx.with("div", width, 255.0)?;
    let zero = cx.bin("divide_no_nan", low, scale)?;
    let zero = cx.un("neg", zero)?;
    let zero = saturated(cx, zero, None, DType::U8)?;
    let quotient = cx.bin("divide_no_nan", x, scale)?;
    let y = saturated(cx, quotient, Some(zero), DType::U8)?;
    Ok(vec![y.into(), scale.into(), zero.into()])
}

/// An integer operand without its zero point, as `f64`: sums of products of bytes are exact there.
fn centred(cx: &mut Cx<'_, '_>, x: Value, zero: Option<Value>, column: bool) -> Result<Value> {
    let x = cx.cast(x, DType::F64)?;
    let Some(mut zero) = zero else { return Ok(x) };
    zero = cx.cast(zero, DType::F64)?;
    // One for each row.
    if column && cx.rank(zero)? == 1 && cx.rank(x)? > 1 {
        zero = cx.expand(zero, -1)?;
    }
    cx.bin("sub", x, zero)
}

fn matmul_integer(cx: &mut Cx<'_, '_>) -> Outputs {
    let (a, b) = (cx.x(0)?, cx.x(1)?);
    let (zero_a, zero_b) = (cx.opt(2), cx.opt(3));
    let (a, b) = (centred(cx, a, zero_a, true)?, centred(cx, b, zero_b, false)?);
    let y = product(cx, a, b)?;
    one(cx.cast(y, DType::I32)?)
}

fn qlinear_matmul(cx: &mut Cx<'_, '_>) -> Outputs {
    let xs = cx.all()?;
    let [a, scale_a, zero_a, b, scale_b, zero_b, scale_y, zero_y] = xs[..] else {
        return Err(Error::invalid("the operands are eight"));
    };
    let dtype = cx.dtype(zero_y);
    let (a, b) = (centred(cx, a, Some(zero_a), true)?, centred(cx, b, Some(zero_b), false)?);
    let y = product(cx, a, b)?;
    let mut scales = [scale_a, scale_b, scale_y];
    for scale in &mut scales {
        *scale = cx.cast(*scale, DType::F64)?;
    }
    if cx.rank(scales[0])? == 1 && cx.rank(y)? > 1 {
        scales[0] = cx.expand(scales[0], -1)?;
    }
    let scale = cx.bin("mul", scales[0], scales[1])?;
    let scale = cx.bin("div", scale, scales[2])?;
    let y = cx.bin("mul", y, scale)?;
    one(saturated(cx, y, Some(zero_y), dtype)?)
}

fn filters_centred(cx: &mut Cx<'_, '_>, w: Value, zero: Option<Value>) -> Result<Value> {
    let w = cx.cast(w, DType::F64)?;
    let Some(zero) = zero else { return Ok(w) };
    let zero = cx.cast(zero, DType::F64)?;
    let zero = match cx.rank(zero)? {
        0 => zero,
        _ => {
            let rank = cx.rank(w)?;
            cx.trailing(zero, rank - 1)?
        }
    };
    cx.bin("sub", w, zero)
}

fn first(cx: &mut Cx<'_, '_>, y: Value) -> Result<Value> {
    let rank = cx.rank(y)?;
    let perm: Vec<usize> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
    cx.transpose(y, &perm)
}

fn conv_integer(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, w) = (cx.x(0)?, cx.x(1)?);
    let (zero_x, zero_w) = (cx.opt(2), cx.opt(3));
    let (x, w) = (centred(cx, x, zero_x, false)?, filters_centred(cx, w, zero_w)?);
    let y = convolution(cx, x, w)?;
    let y = first(cx, y)?;
    one(cx.cast(y, DType::I32)?)
}

fn qlinear_conv(cx: &mut Cx<'_, '_>) -> Outputs {
    let xs: Vec<Value> = (0..8).map(|i| cx.x(i)).collect::<Result<_>>()?;
    let dtype = cx.dtype(xs[7]);
    let (x, w) = (centred(cx, xs[0], Some(xs[2]), false)?, filters_centred(cx, xs[3], Some(xs[5]))?);
    let mut y = convolution(cx, x, w)?;
    if let Some(bias) = cx.opt(8) {
        let bias = cx.cast(bias, DType::F64)?;
        y = cx.op("bias_add", &[y, bias], &[])?;
    }
    let mut scales = [xs[1], xs[4], xs[6]];
    for scale in &mut scales {
        *scale = cx.cast(*scale, DType::F64)?;
    }
    // The channels are last: a scale for each of them is aligned.
    let scale = cx.bin("mul", scales[0], scales[1])?;
    let scale = cx.bin("div", scale, scales[2])?;
    let y = cx.bin("mul", y, scale)?;
    let y = saturated(cx, y, Some(xs[7]), dtype)?;
    one(first(cx, y)?)
}
