//! Operations on as many elements as a vector has, named for what they do: the code of each machine says how.

use penstock_kernels::Binary;

use super::select::Id;
use super::x86::Shuffle;

/// What the elements of a node are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Elem {
    F32,
    F64,
    I32,
    I64,
    /// Booleans as memory has them.
    Byte,
    /// Booleans as the machine has them: a mask register, or vectors of the widest elements with all bits equal.
    Mask,
}

impl Elem {
    pub(super) fn is_wide(self) -> bool {
        matches!(self, Elem::F64 | Elem::I64)
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64)
    }
}

/// An operation. Its operands are those of [`Make`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Op {
    Add,
    Sub,
    /// Of floats, and of integers where the machine has it.
    Mul,
    Div,
    /// `a * b + addend`, rounded once; of the product, or of the addend, the negative.
    MulAdd {
        negates_product: bool,
        negates_addend: bool,
    },
    Sqrt,
    Round(Rounding),
    /// `a` where it is less, else `b`.
    Min,
    /// `a` where it is greater, else `b`.
    Max,
    /// Of floats, on aarch64.
    Neg,
    /// Of integers; of floats on aarch64.
    Abs,
    And,
    Or,
    Xor,
    /// Of masks, but of those of AVX2.
    Not,
    /// By a vector of numbers, none of which is negative.
    ShiftLeft,
    /// The same; the sign follows.
    ShiftRight,
    /// The same; 0 follows.
    ShiftRightLogical,
    /// By one number that is less than the width, on aarch64.
    ShiftLeftBy(u8),
    /// The same; 0 follows.
    ShiftRightLogicalBy(u8),
    /// A mask.
    Compare(Order),
    /// `b` where the mask is true, else `a`.
    Blend,
    /// `b` where the mask is true, else 0; on AVX-512.
    Keep,
    /// Numbers of one kind from those of another.
    Convert,
    /// A mask of the bytes that are not 0, on AVX-512; bytes as elements of a mask's width elsewhere.
    MaskOfBytes,
    /// The lowest byte of each element of a mask, on aarch64.
    BytesOfMask,
    /// The second half of a vector, on x86.
    HighHalf,
    /// The first halves of two vectors, on x86.
    JoinHalves,
    /// `f32` from the vectors `a` and `b` of `f64`, on aarch64.
    Narrow,
    /// `f64` from the second half of a vector of `f32`, on aarch64.
    WidenHigh,
    /// What two vectors have at even places, on aarch64.
    Even,
    /// What two vectors have at odd places, on aarch64.
    Odd,
    /// The elements of the first halves of two vectors in turn, on aarch64.
    ZipLow,
    /// The elements of the second halves of two vectors in turn, on aarch64.
    ZipHigh,
    /// Another order, by an instruction of x86.
    Shuffle(Shuffle),
}

impl Op {
    /// Whether `a` and `b` may change places, in elements `elem`.
    pub(super) fn commutes(self, elem: Elem) -> bool {
        match self {
            Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor => true,
            Op::Compare(order) => matches!(order, Order::Equal | Order::NotEqual),
            // Of floats the second is the result where they are equal, or where either is NaN.
            Op::Min | Op::Max => !elem.is_float(),
            _ => false,
        }
    }
}

/// How a float becomes a whole one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Rounding {
    /// The even one of two.
    Nearest,
    Down,
    Up,
    Zero,
}

/// A way to compare; those of floats say what they give for NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Order {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Whether neither is NaN.
    Ordered,
    /// True of NaN.
    NotLess,
    NotLessEqual,
}

impl Order {
    pub(super) fn of(op: Binary) -> Option<Order> {
        Some(match op {
            Binary::Equal => Order::Equal,
            Binary::NotEqual => Order::NotEqual,
            Binary::Less => Order::Less,
            Binary::LessEqual => Order::LessEqual,
            Binary::Greater => Order::Greater,
            Binary::GreaterEqual => Order::GreaterEqual,
            _ => return None,
        })
    }

    /// True where it is false, of NaN too.
    pub(super) fn inverted(self) -> Option<Order> {
        Some(match self {
            Order::Equal => Order::NotEqual,
            Order::NotEqual => Order::Equal,
            Order::Less => Order::NotLess,
            Order::LessEqual => Order::NotLessEqual,
            Order::NotLess => Order::Less,
            Order::NotLessEqual => Order::LessEqual,
            _ => return None,
        })
    }
}

/// An operation on vectors or masks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Make {
    pub(super) op: Op,
    /// What the operands are taken for.
    pub(super) on: Elem,
    pub(super) a: Option<Id>,
    pub(super) b: Id,
    /// What is added to the product of `a` and `b`.
    pub(super) addend: Option<Id>,
    /// Where [`Op::Blend`] and [`Op::Keep`] give `b`; where a comparison of AVX-512 is made, which is false elsewhere.
    pub(super) mask: Option<Id>,
}

impl Make {
    pub(super) fn one(op: Op, on: Elem, b: Id) -> Make {
        Make { op, on, a: None, b, addend: None, mask: None }
    }

    pub(super) fn two(op: Op, on: Elem, a: Id, b: Id) -> Make {
        Make { a: Some(a), ..Make::one(op, on, b) }
    }
}
