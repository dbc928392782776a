//! Formulas: elementwise functions as straight lines of primitives, for those who generate code.
//!
//! A formula is recorded by running the function of a kernel on [`Traced`] values, so it is the kernel's own definition.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};
use std::sync::OnceLock;

use penstock_data::DType;

use crate::algebra::{Algebra, Double, Mask, Single, Whole, Word};

/// The number of a step.
pub type Id = u32;

/// What a step gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A float of 4 bytes.
    F32,
    /// A float of 8 bytes.
    F64,
    /// An integer of 4 bytes, which wraps.
    I32,
    /// An integer of 8 bytes, which wraps.
    I64,
    /// An integer of the operands' dtype, which wraps.
    Int,
    /// A truth value.
    Mask,
}

/// A primitive. Its operands are of the kind of its result, unless it says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Primitive {
    /// The operand of this number.
    Operand(u8),
    /// These bits; of a mask 0 or 1.
    Constant(u64),
    /// Of floats and integers.
    Add,
    /// Of floats and integers.
    Sub,
    /// Of floats and integers of the operands' dtype.
    Mul,
    /// Of floats.
    Div,
    /// `x * y + z` of floats, rounded once.
    MulAdd,
    /// Of a float: its sign changes.
    Neg,
    /// Of a float: its sign is cleared.
    Abs,
    /// A float of the second's sign.
    Copysign,
    /// Of a float.
    Sqrt,
    /// The greatest whole float that is not above.
    Floor,
    /// The least whole float that is not below.
    Ceil,
    /// The whole float next towards 0.
    Trunc,
    /// The nearest whole float, the even one of two.
    Round,
    /// A mask of two floats, false of NaN, or integers of the operands' dtype.
    Less,
    /// A mask of two floats: false of NaN.
    LessEqual,
    /// A mask of two floats or integers: false of NaN.
    Equal,
    /// A mask of two floats: true of NaN.
    NotEqual,
    /// A mask of two integers with signs.
    Greater,
    /// Of masks or integers.
    And,
    /// Of masks or integers.
    Or,
    /// Of masks or integers.
    Xor,
    /// Of a mask or an integer.
    Not,
    /// Of a mask and two others of one kind: the first where it is true, else the second.
    Select,
    /// Of an integer, by less than its width.
    ShiftLeft(u8),
    /// Of an integer, by less than its width; zeros follow.
    ShiftRight(u8),
    /// The bits of a float as an integer of its size, or the other way.
    Bits,
    /// A float of one size from that of the other, rounded to nearest, ties to even.
    Convert,
}

/// A primitive, applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// What is done.
    pub primitive: Primitive,
    /// What it gives.
    pub kind: Kind,
    /// What it takes; those beyond the number of its operands are 0.
    pub ins: [Id; 3],
}

impl Step {
    /// The steps that it takes the results of.
    pub fn operands(&self) -> &[Id] {
        use Primitive::*;
        let n = match self.primitive {
            Operand(_) | Constant(_) => 0,
            Neg | Abs | Sqrt | Floor | Ceil | Trunc | Round | Not | ShiftLeft(_) | ShiftRight(_) | Bits | Convert => 1,
            MulAdd | Select => 3,
            _ => 2,
        };
        &self.ins[..n]
    }
}

/// An elementwise function as a straight line of steps, each behind those that it takes the results of. The last is the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Formula {
    /// The steps, all of which the result needs.
    pub steps: Vec<Step>,
}

impl Formula {
    /// Whether it computes in a width that its operands do not have.
    pub fn is_mixed(&self) -> bool {
        self.steps.iter().any(|step| step.primitive == Primitive::Convert)
    }
}

/// Steps, while a function is recorded.
#[derive(Default)]
pub(crate) struct Recorder {
    steps: RefCell<Vec<Step>>,
}

impl Recorder {
    /// The step, which is made if there is none like it.
    fn step(&self, primitive: Primitive, kind: Kind, operands: &[Id]) -> Id {
        let mut ins = [0; 3];
        ins[..operands.len()].copy_from_slice(operands);
        let step = Step { primitive, kind, ins };
        let mut steps = self.steps.borrow_mut();
        let at = steps.iter().position(|s| *s == step).unwrap_or_else(|| {
            steps.push(step);
            steps.len() - 1
        });
        at as Id
    }

    /// The formula of a step, of what that needs.
    fn finish(self, result: Id) -> Formula {
        let steps = self.steps.into_inner();
        let mut needed = vec![false; steps.len()];
        needed[result as usize] = true;
        for (at, step) in steps.iter().enumerate().rev().filter(|(at, _)| *at <= result as usize) {
            if needed[at] {
                step.operands().iter().for_each(|&id| needed[id as usize] = true);
            }
        }
        let mut numbers = vec![0; steps.len()];
        let mut kept: Vec<Step> = Vec::new();
        for (at, mut step) in steps.into_iter().enumerate().filter(|(at, _)| needed[*at]) {
            let count = step.operands().len();
            step.ins[..count].iter_mut().for_each(|id| *id = numbers[*id as usize]);
            numbers[at] = kept.len() as Id;
            kept.push(step);
        }
        Formula { steps: kept }
    }
}

/// A number as formulas have it.
pub(crate) trait Number: Copy {
    const KIND: Kind;
    fn raw(self) -> u64;
}

macro_rules! kinds {
    ($($ty:ident $kind:ident $v:ident $raw:expr;)*) => {$(
        impl Number for $ty {
            const KIND: Kind = Kind::$kind;
            fn raw(self) -> u64 {
                let $v = self;
                $raw
            }
        }
    )*};
}

kinds! {
    f32 F32 v u64::from(v.to_bits());
    f64 F64 v v.to_bits();
    i32 I32 v u64::from(v as u32);
    i64 I64 v v as u64;
    bool Mask v u64::from(v);
}

/// A number that is known, or the record of one.
#[derive(Clone, Copy)]
pub(crate) enum Traced<'r, K> {
    Known(K),
    Made(&'r Recorder, Id),
}

use Traced::{Known, Made};

impl<'r, K: Number> Traced<'r, K> {
    fn recorder(self) -> Option<&'r Recorder> {
        if let Made(recorder, _) = self { Some(recorder) } else { None }
    }

    fn id(self, recorder: &Recorder) -> Id {
        match self {
            Known(value) => recorder.step(Primitive::Constant(value.raw()), K::KIND, &[]),
            Made(_, id) => id,
        }
    }

    /// Applies a primitive of one operand.
    fn one<R: Number>(self, primitive: Primitive, known: impl Fn(K) -> R) -> Traced<'r, R> {
        match self {
            Known(value) => Known(known(value)),
            Made(recorder, id) => Made(recorder, recorder.step(primitive, R::KIND, &[id])),
        }
    }

    /// Applies a primitive of two operands.
    fn two<R: Number>(self, b: Self, primitive: Primitive, known: impl Fn(K, K) -> R) -> Traced<'r, R> {
        match (self, b) {
            (Known(a), Known(b)) => Known(known(a, b)),
            (Made(recorder, _), _) | (_, Made(recorder, _)) => {
                let ids = [self.id(recorder), b.id(recorder)];
                Made(recorder, recorder.step(primitive, R::KIND, &ids))
            }
        }
    }
}

macro_rules! operators {
    ($($bound:ident: $($op:ident $method:ident)*;)*) => {$($(
        impl<'r, K: $bound + Number + $op<Output = K>> $op for Traced<'r, K> {
            type Output = Self;
            fn $method(self, b: Self) -> Self {
                self.two(b, Primitive::$op, $op::$method)
            }
        }
    )*)*};
}

operators! {
    Algebra: Add add Sub sub Div div;
}

impl<K: Algebra<Mask = bool> + Number> Mul for Traced<'_, K> {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        match (self, b) {
            (Known(one), other) | (other, Known(one)) if Algebra::eq(one, K::ONE) => other,
            _ => self.two(b, Primitive::Mul, Mul::mul),
        }
    }
}

impl<K: Algebra + Number> Neg for Traced<'_, K> {
    type Output = Self;
    fn neg(self) -> Self {
        self.one(Primitive::Neg, Neg::neg)
    }
}

type TracedMask<'r> = Traced<'r, bool>;

macro_rules! mask_operators {
    ($($op:ident $method:ident $primitive:ident)*) => {$(
        impl $op for TracedMask<'_> {
            type Output = Self;
            fn $method(self, b: Self) -> Self {
                self.two(b, Primitive::$primitive, $op::$method)
            }
        }
    )*};
}

mask_operators! { BitAnd bitand And BitOr bitor Or BitXor bitxor Xor }

impl Not for TracedMask<'_> {
    type Output = Self;
    fn not(self) -> Self {
        self.one(Primitive::Not, Not::not)
    }
}

impl Mask for TracedMask<'_> {}

impl<'r, K: Word<Mask = bool> + Number> Word for Traced<'r, K> {
    type Mask = TracedMask<'r>;
    fn of(v: i64) -> Self {
        Known(K::of(v))
    }
    fn add(self, b: Self) -> Self {
        match b {
            Known(b) if b.raw() == 0 => self,
            _ => self.two(b, Primitive::Add, K::add),
        }
    }
    fn sub(self, b: Self) -> Self {
        self.two(b, Primitive::Sub, K::sub)
    }
    fn and(self, b: Self) -> Self {
        self.two(b, Primitive::And, K::and)
    }
    fn xor(self, b: Self) -> Self {
        self.two(b, Primitive::Xor, K::xor)
    }
    fn shl(self, by: u32) -> Self {
        self.one(Primitive::ShiftLeft(by as u8), |v| v.shl(by))
    }
    fn shr(self, by: u32) -> Self {
        self.one(Primitive::ShiftRight(by as u8), |v| v.shr(by))
    }
    fn eq(self, b: Self) -> Self::Mask {
        self.two(b, Primitive::Equal, K::eq)
    }
    fn gt(self, b: Self) -> Self::Mask {
        self.two(b, Primitive::Greater, K::gt)
    }
}

impl<'r, K> Algebra for Traced<'r, K>
where
    K: Algebra<Mask = bool> + Number,
    K::Word: Number,
{
    type Mask = TracedMask<'r>;
    type Word = Traced<'r, K::Word>;
    const ZERO: Self = Known(K::ZERO);
    const ONE: Self = Known(K::ONE);
    const INFINITY: Self = Known(K::INFINITY);
    const MAX: Self = Known(K::MAX);
    const MIN_POSITIVE: Self = Known(K::MIN_POSITIVE);
    const DIGITS: u32 = K::DIGITS;
    const BIAS: i64 = K::BIAS;
    const MAGIC: f64 = K::MAGIC;
    const SQRT_HALF: i64 = K::SQRT_HALF;
    fn of(v: f64) -> Self {
        Known(K::of(v))
    }
    fn abs(self) -> Self {
        self.one(Primitive::Abs, K::abs)
    }
    fn sqrt(self) -> Self {
        self.one(Primitive::Sqrt, K::sqrt)
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        if let (Known(a), Known(b), Known(c)) = (self, b, c) {
            return Known(a.mul_add(b, c));
        }
        let Some(recorder) = self.recorder().or(b.recorder()).or(c.recorder()) else { unreachable!() };
        let ids = [self.id(recorder), b.id(recorder), c.id(recorder)];
        Made(recorder, recorder.step(Primitive::MulAdd, K::KIND, &ids))
    }
    fn floor(self) -> Self {
        self.one(Primitive::Floor, K::floor)
    }
    fn ceil(self) -> Self {
        self.one(Primitive::Ceil, K::ceil)
    }
    fn trunc(self) -> Self {
        self.one(Primitive::Trunc, K::trunc)
    }
    fn round_even(self) -> Self {
        self.one(Primitive::Round, K::round_even)
    }
    fn copysign(self, sign: Self) -> Self {
        self.two(sign, Primitive::Copysign, K::copysign)
    }
    fn lt(self, b: Self) -> Self::Mask {
        self.two(b, Primitive::Less, K::lt)
    }
    fn le(self, b: Self) -> Self::Mask {
        self.two(b, Primitive::LessEqual, K::le)
    }
    fn eq(self, b: Self) -> Self::Mask {
        self.two(b, Primitive::Equal, K::eq)
    }
    fn ne(self, b: Self) -> Self::Mask {
        self.two(b, Primitive::NotEqual, K::ne)
    }
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
        match mask {
            Known(true) => a,
            Known(false) => b,
            Made(recorder, mask) => {
                let ids = [mask, a.id(recorder), b.id(recorder)];
                Made(recorder, recorder.step(Primitive::Select, K::KIND, &ids))
            }
        }
    }
    fn bits(self) -> Self::Word {
        self.one(Primitive::Bits, K::bits)
    }
    fn from_bits(bits: Self::Word) -> Self {
        bits.one(Primitive::Bits, K::from_bits)
    }
}

/// An integer of any dtype. What is done with integers does not depend on their width and sign.
#[derive(Clone, Copy)]
pub(crate) struct AnyInt(i64);

impl Number for AnyInt {
    const KIND: Kind = Kind::Int;
    fn raw(self) -> u64 {
        self.0 as u64
    }
}

impl<'r> Traced<'r, AnyInt> {
    /// Applies a primitive, also to what is known: the result depends on the dtype.
    fn apply<R: Number>(recorder: &'r Recorder, primitive: Primitive, operands: &[Id]) -> Traced<'r, R> {
        Made(recorder, recorder.step(primitive, R::KIND, operands))
    }

    fn with<R: Number>(self, b: Self, primitive: Primitive) -> Traced<'r, R> {
        let Some(recorder) = self.recorder().or(b.recorder()) else { unreachable!("one operand is not a constant") };
        Self::apply(recorder, primitive, &[self.id(recorder), b.id(recorder)])
    }
}

impl<'r> Whole for Traced<'r, AnyInt> {
    type Mask = TracedMask<'r>;
    fn of(v: i64) -> Self {
        Known(AnyInt(v))
    }
    fn add(self, b: Self) -> Self {
        self.with(b, Primitive::Add)
    }
    fn sub(self, b: Self) -> Self {
        self.with(b, Primitive::Sub)
    }
    fn mul(self, b: Self) -> Self {
        self.with(b, Primitive::Mul)
    }
    fn and(self, b: Self) -> Self {
        self.with(b, Primitive::And)
    }
    fn or(self, b: Self) -> Self {
        self.with(b, Primitive::Or)
    }
    fn xor(self, b: Self) -> Self {
        self.with(b, Primitive::Xor)
    }
    fn not(self) -> Self {
        let Some(recorder) = self.recorder() else { unreachable!("the operand is not a constant") };
        Self::apply(recorder, Primitive::Not, &[self.id(recorder)])
    }
    fn lt(self, b: Self) -> TracedMask<'r> {
        self.with(b, Primitive::Less)
    }
    fn eq(self, b: Self) -> TracedMask<'r> {
        self.with(b, Primitive::Equal)
    }
    fn select(mask: TracedMask<'r>, a: Self, b: Self) -> Self {
        match mask {
            Known(true) => a,
            Known(false) => b,
            Made(recorder, mask) => Self::apply(recorder, Primitive::Select, &[mask, a.id(recorder), b.id(recorder)]),
        }
    }
}

impl<'r> Single for Traced<'r, f32> {
    type Wide = Traced<'r, f64>;
    fn to_double(self) -> Traced<'r, f64> {
        self.one(Primitive::Convert, f64::from)
    }
}

impl<'r> Double for Traced<'r, f64> {
    type Narrow = Traced<'r, f32>;
    fn to_single(self) -> Traced<'r, f32> {
        self.one(Primitive::Convert, |v| v as f32)
    }
}

/// The formula of a function of `N` operands.
pub(crate) fn record<K: Number, R: Number, const N: usize>(
    f: impl for<'r> Fn([Traced<'r, K>; N]) -> Traced<'r, R>,
) -> Formula {
    let recorder = Recorder::default();
    let operand = |i| Made(&recorder, recorder.step(Primitive::Operand(i as u8), K::KIND, &[]));
    let result = f(std::array::from_fn(operand)).id(&recorder);
    recorder.finish(result)
}

/// The formulas of the parts of what a function of `N` numbers gives.
pub(crate) fn record_parts<K: Number, R: Number, const N: usize, const M: usize>(
    f: impl for<'r> Fn([Traced<'r, K>; N]) -> [Traced<'r, R>; M],
) -> Vec<Formula> {
    (0..M).map(|part| record::<K, R, N>(|operands| f(operands)[part])).collect()
}

/// The formulas of `N` operators on, or to, complex numbers of both widths, a list each.
pub(crate) struct KeptParts<const N: usize>([[OnceLock<Option<Vec<Formula>>>; 2]; N]);

impl<const N: usize> KeptParts<N> {
    pub(crate) const fn new() -> KeptParts<N> {
        KeptParts([const { [const { OnceLock::new() }; 2] }; N])
    }

    /// Those of an operator of parts of a dtype: `float32` or `float64`.
    pub(crate) fn get(&self, op: usize, part: DType, record: impl Fn() -> Option<Vec<Formula>>) -> Option<&[Formula]> {
        self.0[op][usize::from(part == DType::F64)].get_or_init(record).as_deref()
    }
}

/// The formulas of `N` operators on floats of both widths, integers and truth values, each recorded when it is first asked for.
pub(crate) struct Kept<const N: usize>([[OnceLock<Option<Formula>>; 4]; N]);

impl<const N: usize> Kept<N> {
    pub(crate) const fn new() -> Kept<N> {
        Kept([const { [const { OnceLock::new() }; 4] }; N])
    }

    /// That of an operator; none for other dtypes.
    pub(crate) fn get(&self, op: usize, dtype: DType, record: impl Fn() -> Option<Formula>) -> Option<&Formula> {
        let kind = match dtype {
            DType::F32 => 0,
            DType::F64 => 1,
            _ if dtype.is_integer() => 2,
            DType::Bool => 3,
            _ => return None,
        };
        self.0[op][kind].get_or_init(record).as_ref()
    }
}
