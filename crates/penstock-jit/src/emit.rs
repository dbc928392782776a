//! Instructions for the commonest operators on scalars; each gives what its kernel gives, bit for bit.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use cranelift_frontend::FunctionBuilder;
use penstock_data::DType;
use penstock_ir::ElementFn;
use penstock_kernels::formula::{Kind, Primitive, Step};
use penstock_kernels::{Binary, Unary};
use smallvec::SmallVec;

use crate::ranges::Range;

/// The type of a scalar in a register; none for dtypes that have none.
pub(crate) fn type_of(dtype: DType) -> Option<Type> {
    Some(match dtype {
        DType::Bool | DType::I8 | DType::U8 => I8,
        DType::I16 | DType::U16 | DType::F16 | DType::Bf16 => I16,
        DType::I32 | DType::U32 => I32,
        DType::I64 | DType::U64 => I64,
        DType::F32 => F32,
        DType::F64 => F64,
        _ => return None,
    })
}

/// A constant of a dtype from its bytes.
pub(crate) fn constant(b: &mut FunctionBuilder<'_>, dtype: DType, bits: u64) -> Option<Value> {
    Some(match type_of(dtype)? {
        F32 => b.ins().f32const(Ieee32::with_bits(bits as u32)),
        F64 => b.ins().f64const(Ieee64::with_bits(bits)),
        ty => b.ins().iconst(ty, bits as i64),
    })
}

/// A function of elements applied to scalars.
pub(crate) struct Application<'a> {
    pub(crate) function: ElementFn,
    /// The dtypes of the operands.
    pub(crate) from: &'a [DType],
    /// The dtype of the result.
    pub(crate) to: DType,
    pub(crate) ins: &'a [Value],
    /// The second operand, where it is a constant.
    pub(crate) constant: Option<u64>,
    /// What is known of the first two operands, where they are integers.
    pub(crate) ranges: [Range; 2],
}

impl Application<'_> {
    /// Whether the operands are signed, may be 0 or more and above 0, and may be less.
    pub(crate) fn may_be_of_either_sign(&self) -> bool {
        let [x, y] = self.ranges;
        (x.low < 0 || y.low < 0) && x.high >= 0 && y.high > 0
    }
}

/// Whether the operator is an integer division, which fails where the divisor is 0.
pub(crate) fn divides(function: ElementFn, dtype: DType) -> bool {
    use Binary::{FloorDiv, FloorMod, TruncDiv, TruncMod};
    dtype.is_integer() && matches!(function, ElementFn::Binary(FloorDiv | FloorMod | TruncDiv | TruncMod))
}

/// About how many nanoseconds an operator on whole numbers takes that cannot fail; none for others. `constant` is its
/// second operand.
pub(crate) fn brief(function: ElementFn, constant: Option<u64>) -> Option<u32> {
    let one = match function {
        ElementFn::Cast | ElementFn::Select => true,
        ElementFn::Unary(op) => {
            matches!(op, Unary::Neg | Unary::Abs | Unary::Square | Unary::BitNot | Unary::LogicalNot)
        }
        ElementFn::Binary(op) => match op {
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Min | Binary::Max => true,
            Binary::BitAnd | Binary::BitOr | Binary::BitXor => true,
            Binary::LogicalAnd | Binary::LogicalOr | Binary::LogicalXor => true,
            Binary::Equal | Binary::NotEqual => true,
            Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual => true,
            Binary::Shl | Binary::Shr => constant.is_some_and(|by| by < 8),
            Binary::FloorDiv | Binary::FloorMod => constant.is_some_and(u64::is_power_of_two),
            _ => false,
        },
    };
    one.then_some(1)
}

/// The result, where the operator has instructions of its own. A divisor must not be 0.
pub(crate) fn emit(b: &mut FunctionBuilder<'_>, a: &Application<'_>) -> Option<Value> {
    match (a.function, a.ins) {
        (ElementFn::Cast, &[x]) => cast(b, x, a.from[0], a.to),
        (ElementFn::Select, &[c, x, y]) => Some(b.ins().select(c, x, y)),
        (ElementFn::Unary(op), &[x]) => match a.from[0] {
            DType::Bool => (op == Unary::LogicalNot).then(|| b.ins().bxor_imm_s(x, 1)),
            DType::F32 | DType::F64 => float(b, a),
            d if d.is_integer() => integer1(b, op, x, d),
            _ => None,
        },
        (ElementFn::Binary(op), &[x, y]) => match a.from[0] {
            DType::Bool => boolean2(b, op, x, y),
            DType::F32 | DType::F64 => float(b, a),
            d if d.is_integer() && divides(a.function, d) => divide(b, op, a, x, y),
            d if d.is_integer() => integer2(b, op, x, y, d, a.constant),
            _ => None,
        },
        _ => None,
    }
}

fn boolean2(b: &mut FunctionBuilder<'_>, op: Binary, x: Value, y: Value) -> Option<Value> {
    Some(match op {
        Binary::LogicalAnd => b.ins().band(x, y),
        Binary::LogicalOr => b.ins().bor(x, y),
        Binary::LogicalXor | Binary::NotEqual => b.ins().bxor(x, y),
        Binary::Equal => b.ins().icmp(IntCC::Equal, x, y),
        _ => return None,
    })
}

/// The longest formula, in steps, that is emitted inline. A call of the kernel is as fast as a longer one.
const SHORT: usize = 12;

/// An operator on floats with a short formula.
fn float(b: &mut FunctionBuilder<'_>, a: &Application<'_>) -> Option<Value> {
    let dtype = a.from[0];
    let formula = a.function.formula(dtype).filter(|f| dtype.is_float() && f.steps.len() <= SHORT)?;
    let mut values: SmallVec<[Value; SHORT]> = SmallVec::new();
    for step in &formula.steps {
        let ins: SmallVec<[Value; 3]> = step.operands().iter().map(|&id| values[id as usize]).collect();
        let of = step.operands().first().map_or(step.kind, |&id| formula.steps[id as usize].kind);
        values.push(primitive(b, step, of, &ins, a.ins)?);
    }
    values.last().copied()
}

/// A primitive; `of` is the kind of its first operand.
fn primitive(b: &mut FunctionBuilder<'_>, step: &Step, of: Kind, ins: &[Value], operands: &[Value]) -> Option<Value> {
    let float = matches!(of, Kind::F32 | Kind::F64);
    let ty = match step.kind {
        Kind::F32 => F32,
        Kind::F64 => F64,
        Kind::I32 => I32,
        Kind::I64 => I64,
        Kind::Mask => I8,
        // Integers have instructions of their own.
        Kind::Int => return None,
    };
    Some(match (step.primitive, ins) {
        (Primitive::Operand(k), _) => operands[k as usize],
        (Primitive::Constant(bits), _) => match ty {
            F32 => b.ins().f32const(Ieee32::with_bits(bits as u32)),
            F64 => b.ins().f64const(Ieee64::with_bits(bits)),
            ty => b.ins().iconst(ty, bits as i64),
        },
        (Primitive::Add, &[x, y]) if float => b.ins().fadd(x, y),
        (Primitive::Sub, &[x, y]) if float => b.ins().fsub(x, y),
        (Primitive::Add, &[x, y]) => b.ins().iadd(x, y),
        (Primitive::Sub, &[x, y]) => b.ins().isub(x, y),
        (Primitive::Mul, &[x, y]) => b.ins().fmul(x, y),
        (Primitive::Div, &[x, y]) => b.ins().fdiv(x, y),
        (Primitive::MulAdd, &[x, y, z]) => b.ins().fma(x, y, z),
        (Primitive::Neg, &[x]) => b.ins().fneg(x),
        (Primitive::Abs, &[x]) => b.ins().fabs(x),
        (Primitive::Copysign, &[x, y]) => b.ins().fcopysign(x, y),
        (Primitive::Sqrt, &[x]) => b.ins().sqrt(x),
        (Primitive::Floor, &[x]) => b.ins().floor(x),
        (Primitive::Ceil, &[x]) => b.ins().ceil(x),
        (Primitive::Trunc, &[x]) => b.ins().trunc(x),
        (Primitive::Round, &[x]) => b.ins().nearest(x),
        (Primitive::Less, &[x, y]) => b.ins().fcmp(FloatCC::LessThan, x, y),
        (Primitive::LessEqual, &[x, y]) => b.ins().fcmp(FloatCC::LessThanOrEqual, x, y),
        (Primitive::Equal, &[x, y]) if float => b.ins().fcmp(FloatCC::Equal, x, y),
        (Primitive::NotEqual, &[x, y]) => b.ins().fcmp(FloatCC::NotEqual, x, y),
        (Primitive::Equal, &[x, y]) => b.ins().icmp(IntCC::Equal, x, y),
        (Primitive::Greater, &[x, y]) => b.ins().icmp(IntCC::SignedGreaterThan, x, y),
        (Primitive::And, &[x, y]) => b.ins().band(x, y),
        (Primitive::Or, &[x, y]) => b.ins().bor(x, y),
        (Primitive::Xor, &[x, y]) => b.ins().bxor(x, y),
        (Primitive::Not, &[x]) => b.ins().bxor_imm_s(x, 1),
        (Primitive::Select, &[c, x, y]) => b.ins().select(c, x, y),
        (Primitive::ShiftLeft(by), &[x]) => b.ins().ishl_imm_s(x, i64::from(by)),
        (Primitive::ShiftRight(by), &[x]) => b.ins().ushr_imm_s(x, i64::from(by)),
        (Primitive::Convert, &[x]) if of == Kind::F32 => b.ins().fpromote(ty, x),
        (Primitive::Convert, &[x]) => b.ins().fdemote(ty, x),
        _ => return None,
    })
}

fn float_constant(b: &mut FunctionBuilder<'_>, dtype: DType, value: f32) -> Value {
    if dtype == DType::F32 { b.ins().f32const(value) } else { b.ins().f64const(f64::from(value)) }
}

fn integer1(b: &mut FunctionBuilder<'_>, op: Unary, x: Value, dtype: DType) -> Option<Value> {
    Some(match op {
        Unary::Neg => b.ins().ineg(x),
        Unary::Square => b.ins().imul(x, x),
        Unary::BitNot => b.ins().bnot(x),
        Unary::Round => x,
        Unary::Abs if dtype.is_unsigned() => x,
        Unary::Abs => {
            let (negative, minus) = (b.ins().icmp_imm_s(IntCC::SignedLessThan, x, 0), b.ins().ineg(x));
            b.ins().select(negative, minus, x)
        }
        _ => return None,
    })
}

/// The condition of a comparison on integers.
fn order(op: Binary, unsigned: bool) -> Option<IntCC> {
    use IntCC::*;
    Some(match (op, unsigned) {
        (Binary::Equal, _) => Equal,
        (Binary::NotEqual, _) => NotEqual,
        (Binary::Less, false) => SignedLessThan,
        (Binary::Less, true) => UnsignedLessThan,
        (Binary::LessEqual, false) => SignedLessThanOrEqual,
        (Binary::LessEqual, true) => UnsignedLessThanOrEqual,
        (Binary::Greater, false) => SignedGreaterThan,
        (Binary::Greater, true) => UnsignedGreaterThan,
        (Binary::GreaterEqual, false) => SignedGreaterThanOrEqual,
        (Binary::GreaterEqual, true) => UnsignedGreaterThanOrEqual,
        _ => return None,
    })
}

fn integer2(
    b: &mut FunctionBuilder<'_>,
    op: Binary,
    x: Value,
    y: Value,
    dtype: DType,
    constant: Option<u64>,
) -> Option<Value> {
    let unsigned = dtype.is_unsigned();
    if let Some(how) = order(op, unsigned) {
        return Some(b.ins().icmp(how, x, y));
    }
    let shift = constant.filter(|&by| by < 8 * dtype.size() as u64).map(|by| by as i64);
    Some(match (op, shift) {
        (Binary::Add, _) => b.ins().iadd(x, y),
        (Binary::Sub, _) => b.ins().isub(x, y),
        (Binary::Mul, _) => match constant {
            // One address computation, where a multiplication takes three times as long.
            Some(factor @ (3 | 5 | 9)) if dtype.size() >= 4 => {
                let more = b.ins().ishl_imm_s(x, i64::from(factor.ilog2()));
                b.ins().iadd(x, more)
            }
            _ => b.ins().imul(x, y),
        },
        (Binary::BitAnd, _) => b.ins().band(x, y),
        (Binary::BitOr, _) => b.ins().bor(x, y),
        (Binary::BitXor, _) => b.ins().bxor(x, y),
        (Binary::Shl, Some(by)) => b.ins().ishl_imm_s(x, by),
        (Binary::Shr, Some(by)) if unsigned => b.ins().ushr_imm_s(x, by),
        (Binary::Shr, Some(by)) => b.ins().sshr_imm_s(x, by),
        (Binary::Max | Binary::Min, _) => {
            let how = order(if op == Binary::Max { Binary::Less } else { Binary::Greater }, unsigned)?;
            let second = b.ins().icmp(how, x, y);
            b.ins().select(second, y, x)
        }
        (Binary::SquaredDifference, _) => {
            let d = b.ins().isub(x, y);
            b.ins().imul(d, d)
        }
        _ => return None,
    })
}

/// Quotients and remainders of a divisor that is not 0. `MIN / -1` wraps to `MIN`.
fn divide(b: &mut FunctionBuilder<'_>, op: Binary, a: &Application<'_>, x: Value, y: Value) -> Option<Value> {
    let (dtype, [in_x, in_y]) = (a.from[0], a.ranges);
    let quotient = matches!(op, Binary::FloorDiv | Binary::TruncDiv);
    let floors = matches!(op, Binary::FloorDiv | Binary::FloorMod);
    let ty = type_of(dtype)?;
    // Narrow divisions go through 32 bits, which every machine has.
    let narrow = ty.bits() < 32;
    if in_x.low >= 0 && in_y.low >= 0 {
        let (x, y) = if narrow { (b.ins().uextend(I32, x), b.ins().uextend(I32, y)) } else { (x, y) };
        let reciprocal = a.constant.and_then(|d| reciprocal(in_x.high, d));
        let found = match (reciprocal, a.constant) {
            (Some((factor, shift)), Some(d)) => {
                let wide = if ty == I64 { x } else { b.ins().uextend(I64, x) };
                let product = b.ins().imul_imm_s(wide, factor);
                let shifted = b.ins().ushr_imm_s(product, shift);
                let q = if ty == I64 { shifted } else { b.ins().ireduce(I32, shifted) };
                if quotient {
                    q
                } else {
                    let multiple = b.ins().imul_imm_s(q, d as i64);
                    b.ins().isub(x, multiple)
                }
            }
            _ if quotient => b.ins().udiv(x, y),
            _ => b.ins().urem(x, y),
        };
        return Some(if narrow { b.ins().ireduce(ty, found) } else { found });
    }
    let power = a.constant.filter(|c| c.is_power_of_two() && in_y.low > 0);
    if let (true, Some(power)) = (floors, power) {
        return Some(if quotient {
            b.ins().sshr_imm_s(x, i64::from(power.trailing_zeros()))
        } else {
            b.ins().band_imm_s(x, power as i64 - 1)
        });
    }
    let (x, y) = if narrow { (b.ins().sextend(I32, x), b.ins().sextend(I32, y)) } else { (x, y) };
    let found = if narrow || !quotient || !in_y.contains(-1) || !in_x.contains(Range::of(dtype).low) {
        divide_signed(b, [quotient, floors], x, y, in_y)
    } else {
        // The machine's division traps on `MIN / -1`; a division by -1 is done as one by 1.
        let minus_one = b.ins().icmp_imm_s(IntCC::Equal, y, -1);
        let one = b.ins().iconst(ty, 1);
        let safe = b.ins().select(minus_one, one, y);
        let found = divide_signed(b, [quotient, floors], x, safe, in_y);
        let negated = b.ins().ineg(x);
        b.ins().select(minus_one, negated, found)
    };
    Some(if narrow { b.ins().ireduce(ty, found) } else { found })
}

/// Factor and shift that make quotients by `d` of the numbers up to `high`, `(x * factor) >> shift` in 64 bits; none where `d` is a
/// power of two, which a shift divides by, or numbers are large.
///
/// With `factor = (2^shift + e) / d` that is `x / d + x e / (d 2^shift)`, so it is right where `x e < 2^shift`.
fn reciprocal(high: i128, d: u64) -> Option<(i64, i64)> {
    if d.is_power_of_two() || !(3..1 << 31).contains(&d) || !(0..1 << 31).contains(&high) {
        return None;
    }
    let d = i128::from(d);
    (32..62).find_map(|shift| {
        let factor = ((1i128 << shift) + d - 1) / d;
        let e = factor * d - (1i128 << shift);
        (high * e < 1i128 << shift && factor < 1 << 32).then_some((factor as i64, shift as i64))
    })
}

/// A quotient or a remainder, of a division that floors or truncates, where the machine's division does not trap.
fn divide_signed(b: &mut FunctionBuilder<'_>, [quotient, floors]: [bool; 2], x: Value, y: Value, in_y: Range) -> Value {
    let truncated = if quotient { b.ins().sdiv(x, y) } else { b.ins().srem(x, y) };
    if !floors {
        return truncated;
    }
    let remainder = if quotient {
        let product = b.ins().imul(truncated, y);
        b.ins().isub(x, product)
    } else {
        truncated
    };
    // A remainder of the other sign than the divisor's is one divisor off.
    let off = if in_y.low > 0 {
        b.ins().icmp_imm_s(IntCC::SignedLessThan, remainder, 0)
    } else {
        let signs = b.ins().bxor(remainder, y);
        let differ = b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
        let some = b.ins().icmp_imm_s(IntCC::NotEqual, remainder, 0);
        b.ins().band(differ, some)
    };
    let fixed = if quotient { b.ins().iadd_imm_s(truncated, -1) } else { b.ins().iadd(truncated, y) };
    b.ins().select(off, fixed, truncated)
}

fn cast(b: &mut FunctionBuilder<'_>, x: Value, from: DType, to: DType) -> Option<Value> {
    let (source, target) = (type_of(from)?, type_of(to)?);
    let whole = |d: DType| d.is_integer() || d == DType::Bool;
    let unsigned = from.is_unsigned() || from == DType::Bool;
    if from == to {
        return Some(x);
    }
    if to == DType::Bool {
        return match from {
            DType::F32 | DType::F64 => {
                let zero = float_constant(b, from, 0.0);
                Some(b.ins().fcmp(FloatCC::NotEqual, x, zero))
            }
            d if d.is_integer() => Some(b.ins().icmp_imm_s(IntCC::NotEqual, x, 0)),
            _ => None,
        };
    }
    if whole(from) && to.is_integer() {
        return Some(match source.bits().cmp(&target.bits()) {
            std::cmp::Ordering::Greater => b.ins().ireduce(target, x),
            std::cmp::Ordering::Equal => x,
            std::cmp::Ordering::Less if unsigned => b.ins().uextend(target, x),
            std::cmp::Ordering::Less => b.ins().sextend(target, x),
        });
    }
    match (from, to) {
        (DType::F32, DType::F64) => Some(b.ins().fpromote(F64, x)),
        (DType::F64, DType::F32) => Some(b.ins().fdemote(F32, x)),
        // Saturates, and makes 0 of NaN.
        (DType::F32 | DType::F64, DType::I32 | DType::I64) => Some(b.ins().fcvt_to_sint_sat(target, x)),
        (_, DType::F32 | DType::F64) if whole(from) => {
            let wide = match (source == I64, unsigned) {
                (true, _) => x,
                (false, true) => b.ins().uextend(I64, x),
                (false, false) => b.ins().sextend(I64, x),
            };
            // A narrower source fits 63 bits.
            Some(if from == DType::U64 {
                b.ins().fcvt_from_uint(target, wide)
            } else {
                b.ins().fcvt_from_sint(target, wide)
            })
        }
        _ => None,
    }
}
