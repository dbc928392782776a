//! Operators that work element by element.

use penstock_data::{DType, Error, Result};
use penstock_ir::{Attr, Value};

use super::Entry;
use crate::cx::{Cx, Outputs, one};

/// The unary operators that are one of the engine's.
const UNARY: &[(&str, &str)] = &[
    ("Abs", "abs"),
    ("Acos", "acos"),
    ("Acosh", "acosh"),
    ("Asin", "asin"),
    ("Asinh", "asinh"),
    ("Atan", "atan"),
    ("Atanh", "atanh"),
    ("BitwiseNot", "invert"),
    ("Ceil", "ceil"),
    ("Cos", "cos"),
    ("Cosh", "cosh"),
    ("Erf", "erf"),
    ("Exp", "exp"),
    ("Floor", "floor"),
    ("IsNaN", "is_nan"),
    ("Log", "log"),
    ("Neg", "neg"),
    ("Not", "logical_not"),
    ("Reciprocal", "reciprocal"),
    ("Relu", "relu"),
    ("Round", "rint"),
    ("Sigmoid", "sigmoid"),
    ("Sign", "sign"),
    ("Sin", "sin"),
    ("Sinh", "sinh"),
    ("Softplus", "softplus"),
    ("Softsign", "softsign"),
    ("Sqrt", "sqrt"),
    ("Tan", "tan"),
    ("Tanh", "tanh"),
];

/// The binary operators that are one of the engine's.
const BINARY: &[(&str, &str)] = &[
    ("Add", "add"),
    ("And", "logical_and"),
    ("BitwiseAnd", "bitwise_and"),
    ("BitwiseOr", "bitwise_or"),
    ("BitwiseXor", "bitwise_xor"),
    ("Greater", "greater"),
    ("GreaterOrEqual", "greater_equal"),
    ("Less", "less"),
    ("LessOrEqual", "less_equal"),
    ("Mul", "mul"),
    ("Or", "logical_or"),
    ("Sub", "sub"),
    ("Xor", "logical_xor"),
];

pub(super) const OPS: &[Entry] = &[
    ("Abs", 1, unary),
    ("Acos", 7, unary),
    ("Acosh", 9, unary),
    ("Add", 1, binary),
    ("And", 1, binary),
    ("Asin", 7, unary),
    ("Asinh", 9, unary),
    ("Atan", 7, unary),
    ("Atanh", 9, unary),
    ("BitShift", 11, bit_shift),
    ("BitwiseAnd", 18, binary),
    ("BitwiseNot", 18, unary),
    ("BitwiseOr", 18, binary),
    ("BitwiseXor", 18, binary),
    ("BitCast", 26, bit_cast),
    ("Cast", 1, cast),
    ("CastLike", 15, cast_like),
    ("Ceil", 1, unary),
    ("Celu", 12, celu),
    ("Clip", 1, clip),
    ("Cos", 7, unary),
    ("Cosh", 9, unary),
    ("Div", 1, div),
    ("Elu", 1, elu),
    ("Equal", 1, equal),
    ("Erf", 9, unary),
    ("Exp", 1, unary),
    ("Floor", 1, unary),
    ("Gelu", 20, gelu),
    ("Greater", 1, binary),
    ("GreaterOrEqual", 12, binary),
    ("HardSigmoid", 1, hard_sigmoid),
    ("HardSwish", 14, hard_swish),
    ("Identity", 1, identity),
    ("IsInf", 10, is_inf),
    ("IsNaN", 9, unary),
    ("LeakyRelu", 1, leaky_relu),
    ("Less", 1, binary),
    ("LessOrEqual", 12, binary),
    ("Log", 1, unary),
    ("Max", 1, variadic),
    ("Mean", 1, variadic),
    ("Min", 1, variadic),
    ("Mish", 18, mish),
    ("Mod", 10, modulo),
    ("Mul", 1, binary),
    ("Neg", 1, unary),
    ("Not", 1, unary),
    ("Or", 1, binary),
    ("PRelu", 1, prelu),
    ("Pow", 1, pow),
    ("Reciprocal", 1, unary),
    ("Relu", 1, unary),
    ("Round", 11, unary),
    ("Selu", 1, selu),
    ("Shrink", 9, shrink),
    ("Sigmoid", 1, unary),
    ("Sign", 9, unary),
    ("Sin", 7, unary),
    ("Sinh", 9, unary),
    ("Softplus", 1, unary),
    ("Softsign", 1, unary),
    ("Sqrt", 1, unary),
    ("Sub", 1, binary),
    ("Sum", 1, variadic),
    ("SwiGLU", 1, swiglu),
    ("Swish", 24, swish),
    ("Tan", 7, unary),
    ("Tanh", 1, unary),
    ("ThresholdedRelu", 1, thresholded_relu),
    ("Where", 9, select),
    ("Xor", 1, binary),
];

fn renamed(table: &[(&str, &'static str)], name: &str) -> Result<&'static str> {
    let found = table.iter().find(|(onnx, _)| *onnx == name).map(|(_, op)| *op);
    found.ok_or_else(|| Error::internal(format!("{name} has no name here")))
}

fn unary(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    one(cx.un(renamed(UNARY, cx.node.op)?, x)?)
}

/// Both operands of a binary operator. Before version 7 the second is broadcast only if the node says so, from `axis` on.
fn operands(cx: &mut Cx<'_, '_>) -> Result<(Value, Value)> {
    let (x, mut y) = (cx.x(0)?, cx.x(1)?);
    if cx.version < 7
        && let Some(axis) = cx.opt_int("axis")
    {
        let (rank, part) = (cx.rank(x)?, cx.rank(y)?);
        let axis = cx.axis(axis, rank.max(1))?;
        y = cx.trailing(y, rank.saturating_sub(axis + part))?;
    }
    Ok((x, y))
}

fn binary(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, y) = operands(cx)?;
    one(cx.bin(renamed(BINARY, cx.node.op)?, x, y)?)
}

fn div(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, y) = operands(cx)?;
    let name = if cx.dtype(x).is_integer() { "truncatediv" } else { "div" };
    one(cx.bin(name, x, y)?)
}

fn equal(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, y) = operands(cx)?;
    let name = if cx.dtype(x) == DType::Str { "string_equal" } else { "equal" };
    one(cx.bin(name, x, y)?)
}

/// The exponent may have another dtype: the result has that of the base.
fn pow(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, y) = operands(cx)?;
    let (base, exponent) = (cx.dtype(x), cx.dtype(y));
    let common = match (base.is_integer(), exponent.is_integer()) {
        (true, false) => exponent,
        _ => base,
    };
    let (x, y) = (cx.cast(x, common)?, cx.cast(y, common)?);
    let power = cx.bin("pow", x, y)?;
    one(cx.cast(power, base)?)
}

fn modulo(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, y) = (cx.x(0)?, cx.x(1)?);
    one(cx.bin(if cx.flag("fmod", false) { "truncatemod" } else { "floormod" }, x, y)?)
}

fn bit_shift(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, mut y) = (cx.x(0)?, cx.x(1)?);
    let dtype = cx.dtype(y);
    if !dtype.is_unsigned() {
        // A negative number of bits is taken for a great one.
        let (zero, all) = (cx.like(y, 0.0)?, cx.like(y, 8.0 * dtype.size() as f64)?);
        let negative = cx.bin("less", y, zero)?;
        y = cx.select(negative, all, y)?;
    }
    let name = match cx.text("direction", "")? {
        "LEFT" => "left_shift",
        "RIGHT" => "right_shift",
        other => return Err(Error::invalid(format!("'{other}' is no direction"))),
    };
    one(cx.bin(name, x, y)?)
}

fn bit_cast(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let dtype = cx.dtype_attr("to")?.ok_or_else(|| Error::invalid("attribute 'to' is missing"))?;
    if cx.dtype(x).size() != dtype.size() {
        return Err(Error::invalid(format!("{} and {dtype} are of different sizes", cx.dtype(x))));
    }
    // Booleans are bytes: 0 and 1.
    let x = if cx.dtype(x) == DType::Bool { cx.cast(x, DType::U8)? } else { x };
    if dtype == DType::Bool {
        let bits = if cx.dtype(x) == DType::U8 { x } else { cx.op("bitcast", &[x], &[("dtype", DType::U8.into())])? };
        return one(cx.cast(bits, DType::Bool)?);
    }
    one(if cx.dtype(x) == dtype { x } else { cx.op("bitcast", &[x], &[("dtype", dtype.into())])? })
}

fn variadic(cx: &mut Cx<'_, '_>) -> Outputs {
    let values = cx.all()?;
    let name = match cx.node.op {
        "Max" => "maximum",
        "Min" => "minimum",
        _ => "add",
    };
    let (&first, rest) = values.split_first().ok_or_else(|| Error::invalid("there is no operand"))?;
    let mut total = first;
    for &value in rest {
        total = cx.bin(name, total, value)?;
    }
    if cx.node.op == "Mean" {
        total = cx.with("div", total, values.len() as f64)?;
    }
    one(total)
}

fn identity(cx: &mut Cx<'_, '_>) -> Outputs {
    Ok(vec![cx.inputs.first().cloned().ok_or_else(|| Error::invalid("there is no operand"))?])
}

fn select(cx: &mut Cx<'_, '_>) -> Outputs {
    let (condition, x, y) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    one(cx.select(condition, x, y)?)
}

/// A conversion. Floats become integers as in C where they fit; texts are numbers written out.
pub(super) fn convert(cx: &mut Cx<'_, '_>, x: Value, to: DType) -> Result<Value> {
    let from = cx.dtype(x);
    match (from, to) {
        (from, to) if from == to => Ok(x),
        (DType::Str, DType::Bool) => {
            let number = cx.op("string_to_number", &[x], &[("dtype", DType::I64.into())])?;
            cx.cast(number, to)
        }
        (DType::Str, to) => {
            let wide = match to {
                DType::F16 | DType::Bf16 => DType::F32,
                DType::I8 | DType::I16 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => DType::I64,
                other => other,
            };
            let number = cx.op("string_to_number", &[x], &[("dtype", wide.into())])?;
            cx.cast(number, to)
        }
        (from, DType::Str) if from.is_float() => {
            // Seventeen digits are every `f64`, nine every `f32`.
            let digits = if from == DType::F64 { 17i64 } else { 9 };
            cx.op("as_string", &[x], &[("shortest", true.into()), ("precision", digits.into())])
        }
        (_, DType::Str) => cx.op("as_string", &[x], &[]),
        (_, to) => cx.cast(x, to),
    }
}

fn cast(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    // Version 1 has the name of the dtype.
    let to = match cx.attr("to") {
        Some(crate::proto::AttributeValue::Bytes(name)) => {
            let name = std::str::from_utf8(name).unwrap_or("").to_lowercase();
            let name = if name == "float" {
                "float32"
            } else if name == "double" {
                "float64"
            } else {
                &name
            };
            DType::from_name(name).ok_or_else(|| Error::invalid(format!("there is no dtype '{name}'")))?
        }
        _ => cx.dtype_attr("to")?.ok_or_else(|| Error::invalid("attribute 'to' is missing"))?,
    };
    one(convert(cx, x, to)?)
}

fn cast_like(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, to) = (cx.x(0)?, cx.x(1)?);
    let to = cx.dtype(to);
    one(convert(cx, x, to)?)
}

/// Bounds are operands from version 11 on. The upper one wins where they cross.
fn clip(cx: &mut Cx<'_, '_>) -> Outputs {
    let mut x = cx.x(0)?;
    for (index, attr, name) in [(1, "min", "maximum"), (2, "max", "minimum")] {
        let bound = match (cx.opt(index), cx.opt_float(attr).filter(|_| cx.version < 11)) {
            (Some(bound), _) => bound,
            (None, Some(bound)) => cx.like(x, bound)?,
            (None, None) => continue,
        };
        x = cx.bin(name, x, bound)?;
    }
    one(x)
}

/// `x` where it is positive, else `below`.
fn where_positive(cx: &mut Cx<'_, '_>, x: Value, below: Value) -> Result<Value> {
    let zero = cx.like(x, 0.0)?;
    let positive = cx.bin("greater", x, zero)?;
    cx.select(positive, x, below)
}

fn leaky_relu(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let below = cx.with("mul", x, cx.float("alpha", 0.01))?;
    one(where_positive(cx, x, below)?)
}

fn prelu(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, mut slope) = (cx.x(0)?, cx.x(1)?);
    // Before version 7 a vector has one slope for each channel.
    if cx.version < 7 && cx.rank(slope)? == 1 {
        let rank = cx.rank(x)?;
        slope = cx.trailing(slope, rank.saturating_sub(2))?;
    }
    let below = cx.bin("mul", x, slope)?;
    one(where_positive(cx, x, below)?)
}

/// `alpha (e^(x / scale) - 1)`.
fn exponential(cx: &mut Cx<'_, '_>, x: Value, alpha: f64, scale: f64) -> Result<Value> {
    let scaled = if scale == 1.0 { x } else { cx.with("div", x, scale)? };
    let power = cx.un("expm1", scaled)?;
    cx.with("mul", power, alpha)
}

fn elu(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let below = exponential(cx, x, cx.float("alpha", 1.0), 1.0)?;
    one(where_positive(cx, x, below)?)
}

fn celu(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let alpha = cx.float("alpha", 1.0);
    let below = exponential(cx, x, alpha, alpha)?;
    one(where_positive(cx, x, below)?)
}

fn selu(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let below = exponential(cx, x, cx.float("alpha", 1.673_263_192_176_818_8), 1.0)?;
    let y = where_positive(cx, x, below)?;
    one(cx.with("mul", y, cx.float("gamma", 1.050_701_022_148_132_3))?)
}

/// `max(0, min(1, alpha x + beta))`.
pub(super) fn hard_sigmoid_of(cx: &mut Cx<'_, '_>, x: Value, alpha: f64, beta: f64) -> Result<Value> {
    let y = cx.with("mul", x, alpha)?;
    let y = cx.with("add", y, beta)?;
    let y = cx.with("minimum", y, 1.0)?;
    cx.with("maximum", y, 0.0)
}

fn hard_sigmoid(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    one(hard_sigmoid_of(cx, x, cx.float("alpha", 0.2), cx.float("beta", 0.5))?)
}

fn hard_swish(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let gate = hard_sigmoid_of(cx, x, 1.0 / 6.0, 0.5)?;
    one(cx.bin("mul", x, gate)?)
}

fn mish(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let y = cx.un("softplus", x)?;
    let y = cx.un("tanh", y)?;
    one(cx.bin("mul", x, y)?)
}

fn swish_of(cx: &mut Cx<'_, '_>, x: Value, alpha: f64) -> Result<Value> {
    let scaled = if alpha == 1.0 { x } else { cx.with("mul", x, alpha)? };
    let gate = cx.un("sigmoid", scaled)?;
    cx.bin("mul", x, gate)
}

fn swish(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    one(swish_of(cx, x, cx.float("alpha", 1.0))?)
}

fn swiglu(cx: &mut Cx<'_, '_>) -> Outputs {
    let (gate, x) = (cx.x(0)?, cx.x(1)?);
    let gate = swish_of(cx, gate, cx.float("alpha", 1.0))?;
    one(cx.bin("mul", gate, x)?)
}

fn gelu(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let share = match cx.text("approximate", "none")? {
        "tanh" => {
            let cube = cx.bin("mul", x, x)?;
            let cube = cx.bin("mul", cube, x)?;
            let cube = cx.with("mul", cube, 0.044715)?;
            let sum = cx.bin("add", x, cube)?;
            let sum = cx.with("mul", sum, (2.0 / std::f64::consts::PI).sqrt())?;
            cx.un("tanh", sum)?
        }
        _ => {
            let scaled = cx.with("mul", x, std::f64::consts::FRAC_1_SQRT_2)?;
            cx.un("erf", scaled)?
        }
    };
    let share = cx.with("add", share, 1.0)?;
    let half = cx.with("mul", x, 0.5)?;
    one(cx.bin("mul", half, share)?)
}

fn thresholded_relu(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let alpha = cx.like(x, cx.float("alpha", 1.0))?;
    let (above, zero) = (cx.bin("greater", x, alpha)?, cx.like(x, 0.0)?);
    one(cx.select(above, x, zero)?)
}

fn shrink(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let (lambda, bias) = (cx.float("lambd", 0.5), cx.float("bias", 0.0));
    let (low, high) = (cx.like(x, -lambda)?, cx.like(x, lambda)?);
    let (below, above) = (cx.bin("less", x, low)?, cx.bin("greater", x, high)?);
    let (raised, lowered, zero) = (cx.with("add", x, bias)?, cx.with("sub", x, bias)?, cx.like(x, 0.0)?);
    let y = cx.select(above, lowered, zero)?;
    one(cx.select(below, raised, y)?)
}

fn is_inf(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let infinite = cx.un("is_inf", x)?;
    let zero = cx.like(x, 0.0)?;
    let sign = match (cx.flag("detect_negative", true), cx.flag("detect_positive", true)) {
        (true, true) => return one(infinite),
        (true, false) => cx.bin("less", x, zero)?,
        (false, true) => cx.bin("greater", x, zero)?,
        (false, false) => cx.bin("not_equal", zero, zero)?,
    };
    one(cx.op("logical_and", &[infinite, sign], &[] as &[(&str, Attr)])?)
}
