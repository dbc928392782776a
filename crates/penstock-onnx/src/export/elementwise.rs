//! Operators that work element by element.

use penstock_data::{DType, Error, Result};

use super::cx::{Cx, Handler, Items, X, one};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "abs" => |cx| same(cx, "Abs"),
        "sign" => |cx| same(cx, "Sign"),
        "sqrt" => |cx| same(cx, "Sqrt"),
        "reciprocal" => |cx| same(cx, "Reciprocal"),
        "exp" => |cx| same(cx, "Exp"),
        "log" => |cx| same(cx, "Log"),
        "sin" => |cx| same(cx, "Sin"),
        "cos" => |cx| same(cx, "Cos"),
        "tan" => |cx| same(cx, "Tan"),
        "asin" => |cx| same(cx, "Asin"),
        "acos" => |cx| same(cx, "Acos"),
        "atan" => |cx| same(cx, "Atan"),
        "sinh" => |cx| same(cx, "Sinh"),
        "cosh" => |cx| same(cx, "Cosh"),
        "tanh" => |cx| same(cx, "Tanh"),
        "asinh" => |cx| same(cx, "Asinh"),
        "acosh" => |cx| same(cx, "Acosh"),
        "atanh" => |cx| same(cx, "Atanh"),
        "sigmoid" => |cx| same(cx, "Sigmoid"),
        "softplus" => |cx| same(cx, "Softplus"),
        "elu" => |cx| same(cx, "Elu"),
        "selu" => selu,
        "softsign" => |cx| same(cx, "Softsign"),
        "floor" => |cx| same(cx, "Floor"),
        "ceil" => |cx| same(cx, "Ceil"),
        "rint" => |cx| same(cx, "Round"),
        "erf" => |cx| same(cx, "Erf"),
        "invert" => |cx| same(cx, "BitwiseNot"),
        "logical_not" => |cx| same(cx, "Not"),
        "add" | "bias_add" => |cx| same(cx, "Add"),
        "sub" => |cx| same(cx, "Sub"),
        "mul" => |cx| same(cx, "Mul"),
        "div" => |cx| same(cx, "Div"),
        "maximum" => |cx| same(cx, "Max"),
        "minimum" => |cx| same(cx, "Min"),
        "bitwise_and" => |cx| same(cx, "BitwiseAnd"),
        "bitwise_or" => |cx| same(cx, "BitwiseOr"),
        "bitwise_xor" => |cx| same(cx, "BitwiseXor"),
        "logical_and" => |cx| same(cx, "And"),
        "logical_or" => |cx| same(cx, "Or"),
        "logical_xor" => |cx| same(cx, "Xor"),
        "is_nan" => |cx| compared(cx, "IsNaN"),
        "is_inf" => |cx| compared(cx, "IsInf"),
        "equal" | "string_equal" => |cx| compared(cx, "Equal"),
        "less" => |cx| compared(cx, "Less"),
        "less_equal" => |cx| compared(cx, "LessOrEqual"),
        "greater" => |cx| compared(cx, "Greater"),
        "greater_equal" => |cx| compared(cx, "GreaterOrEqual"),
        "not_equal" | "string_not_equal" => not_equal,
        "is_finite" => is_finite,
        "neg" => neg,
        "square" => square,
        "rsqrt" => rsqrt,
        "expm1" => expm1,
        "log1p" => log1p,
        "relu" => relu,
        "relu6" => relu6,
        "step" => step,
        "round" => round,
        "trunc" => |cx| {
            let x = cx.x(0)?;
            one(trunc(cx, &x)?)
        },
        "floordiv" => floordiv,
        "floormod" => floormod,
        "truncatediv" => truncatediv,
        "truncatemod" => truncatemod,
        "pow" => |cx| same(cx, "Pow"),
        "atan2" => atan2,
        "squared_difference" => squared_difference,
        "divide_no_nan" => |cx| unless_zero(cx, 1, |cx, x, y| cx.math("Div", &[x, y])),
        "multiply_no_nan" => |cx| unless_zero(cx, 1, |cx, x, y| cx.math("Mul", &[x, y])),
        "xdivy" => |cx| unless_zero(cx, 0, |cx, x, y| cx.math("Div", &[x, y])),
        "xlogy" => |cx| {
            unless_zero(cx, 0, |cx, x, y| {
                let log = cx.math("Log", &[y])?;
                cx.math("Mul", &[x, &log])
            })
        },
        "left_shift" => |cx| shift(cx, "LEFT"),
        "right_shift" => |cx| shift(cx, "RIGHT"),
        "add_n" => add_n,
        "select" | "string_select" => select,
        "string_add" => |cx| {
            let (x, y) = (cx.x(0)?, cx.x(1)?);
            one(cx.raw("StringConcat", &[&x, &y], vec![], DType::Str))
        },
        "string_join" => string_join,
        "regex_full_match" => |cx| {
            let (x, pattern) = (cx.x(0)?, cx.attrs().str(0));
            one(cx.raw("RegexFullMatch", &[&x], vec![("pattern", pattern.into())], DType::Bool))
        },
        "string_to_number" => |cx| {
            let (x, dtype) = (cx.x(0)?, cx.attrs().dtype(0));
            one(cx.cast(&x, dtype))
        },
        "cast" => cast,
        _ => return None,
    })
}

/// An operator of ONNX on all operands.
fn same(cx: &mut Cx<'_, '_>, op: &'static str) -> Items {
    let operands = cx.all()?;
    one(cx.math(op, &operands.iter().collect::<Vec<_>>())?)
}

fn compared(cx: &mut Cx<'_, '_>, op: &'static str) -> Items {
    let operands = cx.all()?;
    one(cx.test(op, &operands.iter().collect::<Vec<_>>())?)
}

fn not_equal(cx: &mut Cx<'_, '_>) -> Items {
    let equal = cx.test("Equal", &[&cx.x(0)?, &cx.x(1)?])?;
    one(cx.math("Not", &[&equal])?)
}

fn is_finite(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    let (nan, inf) = (cx.test("IsNaN", &[&x])?, cx.test("IsInf", &[&x])?);
    let either = cx.math("Or", &[&nan, &inf])?;
    one(cx.math("Not", &[&either])?)
}

fn neg(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    if x.dtype.is_unsigned() {
        let zero = cx.like(&x, 0.0);
        return one(cx.math("Sub", &[&zero, &x])?);
    }
    one(cx.math("Neg", &[&x])?)
}

fn square(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    one(cx.math("Mul", &[&x, &x])?)
}

fn rsqrt(cx: &mut Cx<'_, '_>) -> Items {
    let root = cx.math("Sqrt", &[&cx.x(0)?])?;
    one(cx.math("Reciprocal", &[&root])?)
}

/// `tanh(x / 2) (e^x + 1)`, which is accurate near 0.
fn expm1(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    let half = cx.with("Mul", &x, 0.5)?;
    let (tanh, exp) = (cx.math("Tanh", &[&half])?, cx.math("Exp", &[&x])?);
    let sum = cx.with("Add", &exp, 1.0)?;
    one(cx.math("Mul", &[&tanh, &sum])?)
}

/// `2 atanh(x / (2 + x))` near 0, where the logarithm of the sum is not accurate.
fn log1p(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    let (abs, half) = (cx.math("Abs", &[&x])?, cx.like(&x, 0.5));
    let near = cx.test("Less", &[&abs, &half])?;
    let below = cx.with("Add", &x, 2.0)?;
    let ratio = cx.math("Div", &[&x, &below])?;
    let atanh = cx.math("Atanh", &[&ratio])?;
    let (small, sum) = (cx.math("Add", &[&atanh, &atanh])?, cx.with("Add", &x, 1.0)?);
    let log = cx.math("Log", &[&sum])?;
    one(cx.select(&near, &small, &log))
}

fn relu(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    if x.dtype.is_unsigned() {
        return one(x);
    }
    one(cx.math("Relu", &[&x])?)
}

fn relu6(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    let low = if x.dtype.is_unsigned() { x } else { cx.math("Relu", &[&x])? };
    one(cx.with("Min", &low, 6.0)?)
}

/// The constants of ONNX are those of `float32`.
fn selu(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    if x.dtype != DType::F64 {
        return one(cx.math("Selu", &[&x])?);
    }
    const SCALE: f64 = 1.050_700_987_355_480_5;
    const ALPHA: f64 = 1.673_263_242_354_377_2;
    let (elu, zero) = (cx.math("Elu", &[&x])?, cx.like(&x, 0.0));
    let negative = cx.test("Less", &[&x, &zero])?;
    let (low, high) = (cx.with("Mul", &elu, SCALE * ALPHA)?, cx.with("Mul", &x, SCALE)?);
    one(cx.select(&negative, &low, &high))
}

fn step(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    let zero = cx.like(&x, 0.0);
    let positive = cx.test("Greater", &[&x, &zero])?;
    one(cx.cast(&positive, x.dtype))
}

fn round(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    if x.dtype.is_integer() { one(x) } else { one(cx.math("Round", &[&x])?) }
}

fn trunc(cx: &mut Cx<'_, '_>, x: &X) -> Result<X> {
    let (floor, ceil) = (cx.math("Floor", &[x])?, cx.math("Ceil", &[x])?);
    let zero = cx.like(x, 0.0);
    let negative = cx.test("Less", &[x, &zero])?;
    Ok(cx.select(&negative, &ceil, &floor))
}

/// The remainder with the sign of the dividend, and whether it is not 0 and has another sign than the divisor.
fn remainder(cx: &mut Cx<'_, '_>, x: &X, y: &X) -> Result<(X, X)> {
    let zero = cx.like(x, 0.0);
    let rest = cx.math_with("Mod", &[x, y], 0, vec![("fmod", 1i64.into())])?;
    let none = cx.test("Equal", &[&rest, &zero])?;
    let (low, below) = (cx.test("Less", &[&rest, &zero])?, cx.test("Less", &[y, &zero])?);
    let (some, other) = (cx.math("Not", &[&none])?, cx.math("Xor", &[&low, &below])?);
    Ok((rest, cx.math("And", &[&some, &other])?))
}

fn floordiv(cx: &mut Cx<'_, '_>) -> Items {
    let (x, y) = (cx.x(0)?, cx.x(1)?);
    if x.dtype.is_unsigned() {
        return one(cx.math("Div", &[&x, &y])?);
    }
    let (rest, adjust) = remainder(cx, &x, &y)?;
    let adjust = cx.cast(&adjust, x.dtype);
    if x.dtype.is_integer() {
        let quotient = cx.math("Div", &[&x, &y])?;
        return one(cx.math("Sub", &[&quotient, &adjust])?);
    }
    // The quotient of what divides evenly; that of a zero or an infinity as it is.
    let even = cx.math("Sub", &[&x, &rest])?;
    let quotient = cx.math("Div", &[&even, &y])?;
    let lower = cx.math("Sub", &[&quotient, &adjust])?;
    let exact = cx.math("Round", &[&lower])?;
    let ratio = cx.math("Div", &[&x, &y])?;
    // A quotient of 0 has the sign of the ratio.
    let zero = cx.like(&x, 0.0);
    let (none, signed) = (cx.test("Equal", &[&exact, &zero])?, cx.math("Mul", &[&ratio, &zero])?);
    let exact = cx.select(&none, &signed, &exact);
    let plain = cx.math("Floor", &[&ratio])?;
    let (nan, infinite) = (cx.test("IsNaN", &[&rest])?, cx.test("IsInf", &[&y])?);
    let plainly = cx.math("Or", &[&nan, &infinite])?;
    one(cx.select(&plainly, &plain, &exact))
}

fn floormod(cx: &mut Cx<'_, '_>) -> Items {
    let (x, y) = (cx.x(0)?, cx.x(1)?);
    if x.dtype.is_integer() {
        return one(cx.math("Mod", &[&x, &y])?);
    }
    let (rest, adjust) = remainder(cx, &x, &y)?;
    let sum = cx.math("Add", &[&rest, &y])?;
    one(cx.select(&adjust, &sum, &rest))
}

fn truncatediv(cx: &mut Cx<'_, '_>) -> Items {
    let (x, y) = (cx.x(0)?, cx.x(1)?);
    let quotient = cx.math("Div", &[&x, &y])?;
    if x.dtype.is_integer() { one(quotient) } else { one(trunc(cx, &quotient)?) }
}

fn truncatemod(cx: &mut Cx<'_, '_>) -> Items {
    let (x, y) = (cx.x(0)?, cx.x(1)?);
    one(cx.math_with("Mod", &[&x, &y], 0, vec![("fmod", 1i64.into())])?)
}

/// Whether a number is negative, a zero too.
fn sign_bit(cx: &mut Cx<'_, '_>, x: &X) -> Result<X> {
    let zero = cx.like(x, 0.0);
    let (is_zero, inverse) = (cx.test("Equal", &[x, &zero])?, cx.math("Reciprocal", &[x])?);
    let signed = cx.select(&is_zero, &inverse, x);
    cx.test("Less", &[&signed, &zero])
}

/// The angle in the first quadrant, mirrored by the signs.
fn atan2(cx: &mut Cx<'_, '_>) -> Items {
    let (y, x) = (cx.x(0)?, cx.x(1)?);
    let (zero, pi) = (cx.like(&x, 0.0), cx.like(&x, std::f64::consts::PI));
    let (below, left) = (sign_bit(cx, &y)?, sign_bit(cx, &x)?);
    // Two infinities count as two equal numbers.
    let (endless_y, endless_x) = (cx.test("IsInf", &[&y])?, cx.test("IsInf", &[&x])?);
    let endless = cx.math("And", &[&endless_y, &endless_x])?;
    let one_ = cx.like(&x, 1.0);
    let (abs_y, abs_x) = (cx.math("Abs", &[&y])?, cx.math("Abs", &[&x])?);
    let ratio = cx.math("Div", &[&abs_y, &abs_x])?;
    let ratio = cx.select(&endless, &one_, &ratio);
    let (no_y, no_x) = (cx.test("Equal", &[&y, &zero])?, cx.test("Equal", &[&x, &zero])?);
    let origin = cx.math("And", &[&no_y, &no_x])?;
    let ratio = cx.select(&origin, &zero, &ratio);
    let angle = cx.math("Atan", &[&ratio])?;
    let mirrored = cx.math("Sub", &[&pi, &angle])?;
    let angle = cx.select(&left, &mirrored, &angle);
    let negative = cx.math("Neg", &[&angle])?;
    one(cx.select(&below, &negative, &angle))
}

fn squared_difference(cx: &mut Cx<'_, '_>) -> Items {
    let difference = cx.math("Sub", &[&cx.x(0)?, &cx.x(1)?])?;
    one(cx.math("Mul", &[&difference, &difference])?)
}

/// What `of` gives, but 0 where operand `index` is 0.
fn unless_zero(cx: &mut Cx<'_, '_>, index: usize, of: impl FnOnce(&mut Cx<'_, '_>, &X, &X) -> Result<X>) -> Items {
    let (x, y) = (cx.x(0)?, cx.x(1)?);
    let zero = cx.like(&x, 0.0);
    let is_zero = cx.test("Equal", &[if index == 0 { &x } else { &y }, &zero])?;
    let value = of(cx, &x, &y)?;
    one(cx.select(&is_zero, &zero, &value))
}

/// Shifts of ONNX are of unsigned integers, by less than their width.
fn shift(cx: &mut Cx<'_, '_>, direction: &'static str) -> Items {
    let (x, y) = (cx.x(0)?, cx.x(1)?);
    let unsigned = match x.dtype {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 => DType::U64,
        other => other,
    };
    let (zero, width) = (cx.like(&y, 0.0), cx.like(&y, 8.0 * x.dtype.size() as f64));
    let by = cx.math("Max", &[&y, &zero])?;
    let beyond = cx.test("GreaterOrEqual", &[&by, &width])?;
    let by = cx.cast(&by, unsigned);
    let nothing = cx.scalar(unsigned, 0.0);
    let by = cx.select(&beyond, &nothing, &by);
    let is_right = direction == "RIGHT";
    // A negative number is shifted to the right as the complement of what is not negative.
    let negative = match is_right && x.dtype != unsigned {
        true => Some(cx.test("Less", &[&x, &zero])?),
        false => None,
    };
    let start = match &negative {
        Some(negative) => {
            let complement = cx.math("BitwiseNot", &[&x])?;
            cx.select(negative, &complement, &x)
        }
        None => x.clone(),
    };
    let start = cx.cast(&start, unsigned);
    let shifted = cx.raw("BitShift", &[&start, &by], vec![("direction", direction.into())], unsigned);
    let shifted = cx.select(&beyond, &nothing, &shifted);
    let shifted = cx.cast(&shifted, x.dtype);
    match negative {
        Some(negative) => {
            let complement = cx.math("BitwiseNot", &[&shifted])?;
            one(cx.select(&negative, &complement, &shifted))
        }
        None => one(shifted),
    }
}

fn add_n(cx: &mut Cx<'_, '_>) -> Items {
    let operands = cx.all()?;
    let (first, rest) = operands.split_first().ok_or_else(|| Error::invalid("there is no operand"))?;
    let mut sum = first.clone();
    for x in rest {
        sum = cx.math("Add", &[&sum, x])?;
    }
    one(sum)
}

fn select(cx: &mut Cx<'_, '_>) -> Items {
    let (condition, x, y) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    one(cx.select(&condition, &x, &y))
}

fn string_join(cx: &mut Cx<'_, '_>) -> Items {
    let operands = cx.all()?;
    let separator = cx.attrs().str(0).as_bytes();
    let (first, rest) = operands.split_first().ok_or_else(|| Error::invalid("there is no operand"))?;
    let mut joined = first.clone();
    for x in rest {
        if !separator.is_empty() {
            let between = X::constant(penstock_data::Tensor::from_strings(&[], vec![separator.into()])?);
            joined = cx.raw("StringConcat", &[&joined, &between], vec![], DType::Str);
        }
        joined = cx.raw("StringConcat", &[&joined, x], vec![], DType::Str);
    }
    one(joined)
}

/// A cast of ONNX from a number to a flag, an integer or a float is ours, but for numbers that an integer does not hold.
fn cast(cx: &mut Cx<'_, '_>) -> Items {
    let (x, dtype) = (cx.x(0)?, cx.attrs().dtype(0));
    if x.dtype.is_complex() || dtype.is_complex() {
        return Err(Error::unimplemented("casts of complex numbers have no node in ONNX"));
    }
    one(cx.cast(&x, dtype))
}
