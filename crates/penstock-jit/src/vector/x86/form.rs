//! The instruction of x86 that each operation is.

use super::super::Machine;
use super::super::op::{Elem, Make, Op, Order};
use super::super::select::Builder;
use super::encode::{Code, Length};

/// How the last operand of an instruction may lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FromMemory {
    Never,
    /// As many elements as the operation takes.
    Whole,
    /// Those, or one that is repeated.
    Any,
}

/// An instruction without its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// Of a fused multiplication and addition the form 213.
    pub(super) code: Code,
    pub(super) length: Length,
    pub(super) immediate: Option<u8>,
    pub(super) memory: FromMemory,
    /// Whether the result is the last operand of the instruction, and `b` the first.
    pub(super) reversed: bool,
}

/// The length of vectors of as many elements; of those that take two vectors, that of each.
pub(super) fn length(builder: &Builder, elem: Elem) -> Length {
    match (builder.lanes * builder.size(elem)).min(builder.machine.vector()) {
        64 => 2,
        32 => 1,
        _ => 0,
    }
}

/// The predicate of a comparison of floats.
fn of_floats(order: Order) -> u8 {
    match order {
        Order::Equal => 0,
        Order::NotEqual => 4,
        Order::Less => 1,
        Order::LessEqual => 2,
        Order::Greater => 0xe,
        Order::GreaterEqual => 0xd,
        Order::Ordered => 7,
        Order::NotLess => 5,
        Order::NotLessEqual => 6,
    }
}

/// The predicate of a comparison of integers behind EVEX prefixes.
fn of_integers(order: Order) -> u8 {
    match order {
        Order::Equal | Order::Ordered => 0,
        Order::NotEqual => 4,
        Order::Less => 1,
        Order::LessEqual => 2,
        Order::Greater | Order::NotLessEqual => 6,
        Order::GreaterEqual | Order::NotLess => 5,
    }
}

/// The instruction of an operation that gives `elem`.
pub(super) fn form(builder: &Builder, make: &Make, elem: Elem) -> Form {
    let v4 = builder.machine == Machine::Avx512;
    let on = make.on;
    let (wide, float) = (on.is_wide(), on.is_float());
    let any = if v4 { FromMemory::Any } else { FromMemory::Whole };
    let usual = |code| Form { code, length: length(builder, on), immediate: None, memory: any, reversed: false };
    let arithmetic =
        |of_floats: u8, of_integers: Code| usual(if float { Code::float(of_floats, wide) } else { of_integers });
    let never = |form| Form { memory: FromMemory::Never, ..form };
    let by_width = |number: u8, of_wide: u8| Code::new(1, 1, if wide { of_wide } else { number }, wide);
    let bits = |vectors: u8, masks: u8| match on {
        Elem::Mask if v4 => Form { length: 1, ..never(usual(Code::new(0, 1, masks, false))) },
        Elem::Byte => never(usual(Code::new(1, 1, vectors, false))),
        _ => usual(Code::new(1, 1, vectors, wide)),
    };
    match make.op {
        Op::Add => arithmetic(0x58, by_width(0xfe, 0xd4)),
        Op::Sub => arithmetic(0x5c, by_width(0xfa, 0xfb)),
        Op::Mul => arithmetic(0x59, Code::new(1, 2, 0x40, wide)),
        Op::Div => usual(Code::float(0x5e, wide)),
        Op::Min => arithmetic(0x5d, Code::new(1, 2, 0x39, wide)),
        Op::Max => arithmetic(0x5f, Code::new(1, 2, 0x3d, wide)),
        Op::MulAdd { negates_product, negates_addend } => {
            // A8 adds to a product, AC to a negated one; AA and AE subtract.
            let number = 0xa8 + 4 * u8::from(negates_product) + 2 * u8::from(negates_addend);
            usual(Code::new(1, 2, number, wide).with_vex_wide())
        }
        Op::Sqrt => usual(Code::float(0x51, wide)),
        // 8 keeps it from raising a flag.
        Op::Round(how) => Form { immediate: Some(8 | how as u8), ..usual(Code::new(1, 3, 8 + u8::from(wide), wide)) },
        Op::Abs => usual(Code::new(1, 2, 0x1e + u8::from(wide), wide)),
        Op::And => bits(0xdb, 0x41),
        Op::Or => bits(0xeb, 0x45),
        Op::Xor => bits(0xef, 0x47),
        Op::Not => Form { length: 0, ..never(usual(Code::new(0, 1, 0x44, false))) },
        Op::ShiftLeft => usual(Code::new(1, 2, 0x47, wide).with_vex_wide()),
        Op::ShiftRight => usual(Code::new(1, 2, 0x46, wide).with_vex_wide()),
        Op::ShiftRightLogical => usual(Code::new(1, 2, 0x45, wide).with_vex_wide()),
        Op::Compare(order) if float => Form { immediate: Some(of_floats(order)), ..usual(Code::float(0xc2, wide)) },
        Op::Compare(order) if v4 => Form { immediate: Some(of_integers(order)), ..usual(Code::new(1, 3, 0x1f, wide)) },
        Op::Compare(order) => usual(match (order, wide) {
            (Order::Equal, true) => Code::new(1, 2, 0x29, false),
            (Order::Equal, false) => Code::new(1, 1, 0x76, false),
            (_, true) => Code::new(1, 2, 0x37, false),
            (_, false) => Code::new(1, 1, 0x66, false),
        }),
        Op::Blend if v4 => usual(Code::new(1, 2, if float { 0x65 } else { 0x64 }, wide)),
        Op::Blend => usual(Code::new(1, 3, 0x4a + u8::from(builder.size(on) == 8), false)),
        Op::Keep if on == Elem::Byte => never(usual(Code::new(3, 1, 0x6f, false))),
        Op::Keep => Form { memory: FromMemory::Whole, ..usual(Code::float(0x10, wide)) },
        Op::MaskOfBytes if v4 => Form { length: 0, ..never(usual(Code::new(1, 2, 0x26, false))) },
        Op::MaskOfBytes => {
            let number = if builder.size(Elem::Mask) == 8 { 0x32 } else { 0x31 };
            Form { length: 1, ..never(usual(Code::new(1, 2, number, false))) }
        }
        Op::Convert => convert(builder, on, elem, any),
        Op::HighHalf => {
            let code = match elem {
                Elem::Byte => Code::new(1, 3, 0x39, false),
                _ if v4 => Code::new(1, 3, 0x1b, true),
                _ => Code::new(1, 3, 0x19, false),
            };
            Form { immediate: Some(1), reversed: true, ..never(usual(code)) }
        }
        Op::JoinHalves => {
            Form { immediate: Some(1), ..never(usual(Code::new(1, 3, if v4 { 0x1a } else { 0x18 }, v4))) }
        }
        Op::Shuffle(s) => {
            let memory = if s.from_memory { FromMemory::Whole } else { FromMemory::Never };
            Form { length: s.length, immediate: s.immediate, memory, ..usual(s.code) }
        }
        Op::Neg
        | Op::ShiftLeftBy(_)
        | Op::ShiftRightLogicalBy(_)
        | Op::BytesOfMask
        | Op::Narrow
        | Op::WidenHigh
        | Op::Even
        | Op::Odd
        | Op::ZipLow
        | Op::ZipHigh => unreachable!("an operation of aarch64"),
    }
}

fn convert(builder: &Builder, from: Elem, to: Elem, any: FromMemory) -> Form {
    use Elem::{F32, F64, I32, I64};
    let (code, memory, reversed) = match (from, to) {
        (F32, F64) => (Code::new(0, 1, 0x5a, false), any, false),
        (F64, F32) => (Code::new(1, 1, 0x5a, true), any, false),
        (I32, F32) => (Code::new(0, 1, 0x5b, false), any, false),
        (I32, F64) => (Code::new(2, 1, 0xe6, false), any, false),
        (F32, I32) => (Code::new(2, 1, 0x5b, false), any, false),
        (I64, F32) => (Code::new(0, 1, 0x5b, true), any, false),
        (I64, F64) => (Code::new(2, 1, 0xe6, true), any, false),
        (F64, I32) => (Code::new(1, 1, 0xe6, true), any, false),
        (I32, I64) => (Code::new(1, 2, 0x25, false), FromMemory::Whole, false),
        (I64, I32) => (Code::new(2, 2, 0x35, false), FromMemory::Never, true),
        _ => (Code::new(1, 1, 0x7a, from == F64), any, false),
    };
    // How long the longer of the two is.
    Form { code, length: length(builder, from).max(length(builder, to)), immediate: None, memory, reversed }
}
