//! Loops of the operators of two operands.

use std::marker::PhantomData;

use num_complex::Complex;
use penstock_data::{Bool8, DType, DTypeSet, Element, bf16, f16, with_dtype};

use crate::algebra::{Algebra, Mask, Whole, Word};
use crate::arch::Level;
use crate::complex;
use crate::formula::{AnyInt, Formula, Kept, KeptParts, record, record_parts};
use crate::loops::{Fault, LoopFn, Map2, half2, loop2};
use crate::math::{Functions, Math};
use crate::num::{Int, Real};

const fn listed(list: &[Binary], op: u8) -> bool {
    let mut i = 0;
    while i < list.len() {
        if list[i] as u8 == op {
            return true;
        }
        i += 1;
    }
    false
}

/// Operators on floats that go through scalar functions in any width.
const SCALAR: &[Binary] = &[
    Binary::FloorDiv,
    Binary::FloorMod,
    Binary::TruncMod,
    Binary::Zeta,
    Binary::Polygamma,
    Binary::GammaSlope,
    Binary::Igamma,
    Binary::Igammac,
];

const DIVISIONS: &[Binary] = &[Binary::FloorDiv, Binary::FloorMod, Binary::TruncDiv, Binary::TruncMod];

/// NumPy's `floor_divide`, but for infinities, of and by which it is the floor of the quotient.
fn floor_div<M: Math>(a: M, b: M) -> M {
    if b == M::ZERO || !a.is_finite() || !b.is_finite() {
        return (a / b).floor();
    }
    let rem = a % b;
    let mut quotient = (a - rem) / b;
    if rem != M::ZERO && (b < M::ZERO) != (rem < M::ZERO) {
        quotient = quotient - M::ONE;
    }
    if quotient == M::ZERO {
        return M::ZERO.copysign(a / b);
    }
    let floor = quotient.floor();
    if quotient - floor > M::of(0.5) { floor + M::ONE } else { floor }
}

/// NumPy's `remainder`.
fn floor_mod<M: Math>(a: M, b: M) -> M {
    let rem = a % b;
    if b == M::ZERO || rem.is_nan() {
        return rem;
    }
    if rem == M::ZERO {
        return M::ZERO.copysign(b);
    }
    if (b < M::ZERO) != (rem < M::ZERO) { rem + b } else { rem }
}

/// The next value after `x` towards `y`: `y` where they are equal, NaN where either is.
#[inline(always)]
fn next_after<A: Algebra>(x: A, y: A) -> A {
    let (bits, one) = (x.bits(), A::Word::of(1));
    let away = A::from_bits(bits.add(one));
    let towards_0 = A::from_bits(bits.sub(one));
    let grows = !(x.lt(y) ^ A::ZERO.lt(x));
    let stepped = A::select(grows, away, towards_0);
    let stepped = A::select(x.eq(A::ZERO), A::from_bits(one).copysign(y), stepped);
    let next = A::select(x.eq(y), y, stepped);
    A::select(x.is_nan() | y.is_nan(), x + y, next)
}

/// Declares the operators: what each computes, its name, the dtypes that it takes, how its loops on floats are made and, where it has one,
/// its function of floats.
///
/// Loops are `short` (of a few instructions, in any width), `long` (those of 16-bit floats are those of `f32` on widened pieces), `wide` (of
/// no 16-bit floats), `compare` floats, or are `other`.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident $text:literal $dtypes:ident $loops:ident $(|$a:ident, $b:ident| $function:expr)?;)*) => {
        /// An operator of two operands of one dtype. Floats of 16 bits are computed in `f32` and rounded once.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Binary {
            $($(#[$doc])* $name,)*
        }

        impl Binary {
            /// Every operator, in the order of the discriminants.
            pub const ALL: &[Binary] = &[$(Binary::$name),*];

            /// The name, in snake case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Binary::$name => $text,)*
                }
            }
        }

        /// The operand dtypes that `op` takes.
        pub const fn binary_dtypes(op: Binary) -> DTypeSet {
            match op {
                $(Binary::$name => DTypeSet::$dtypes,)*
            }
        }

        /// The function of an operator on floats.
        #[inline(always)]
        fn function<const OP: u8, M: Functions>(a: M, b: M) -> M {
            match const { Binary::ALL[OP as usize] } {
                $($(Binary::$name => {
                    let ($a, $b) = (a, b);
                    $function
                })?)*
                _ => unreachable!(),
            }
        }

        fn listed_loop<T: Real>(op: Binary) -> Option<LoopFn> {
            match op {
                $(Binary::$name => of_floats!($loops direct $name T),)*
            }
        }

        fn half_loop<T: Real<Wide = f32>>(op: Binary) -> Option<LoopFn> {
            match op {
                $(Binary::$name => of_floats!($loops half $name T),)*
            }
        }

        fn formula32(op: Binary) -> Option<Formula> {
            match op {
                $(Binary::$name => of_floats!($loops formula $name f32),)*
            }
        }

        fn formula64(op: Binary) -> Option<Formula> {
            match op {
                $(Binary::$name => of_floats!($loops formula $name f64),)*
            }
        }
    };
}

/// The loop of an operator on floats, or its formula.
macro_rules! of_floats {
    (compare direct $name:ident $ty:ty) => {
        Some(loop2::<FloatCompare<{ Binary::$name as u8 }, $ty>>())
    };
    (compare half $name:ident $ty:ty) => {
        Some(loop2::<FloatCompare<{ Binary::$name as u8 }, $ty>>())
    };
    (compare formula $name:ident $ty:ty) => {
        FloatCompare::<{ Binary::$name as u8 }, $ty>::formula()
    };
    (other $how:ident $name:ident $ty:ty) => {
        None
    };
    (wide half $name:ident $ty:ty) => {
        None
    };
    (long half $name:ident $ty:ty) => {
        Some(half2::<$ty, Float<{ Binary::$name as u8 }, f32>>())
    };
    ($loops:ident formula $name:ident $ty:ty) => {
        Float::<{ Binary::$name as u8 }, $ty>::formula()
    };
    ($loops:ident $how:ident $name:ident $ty:ty) => {
        Some(loop2::<Float<{ Binary::$name as u8 }, $ty>>())
    };
}

operators! {
    /// `x + y`; wraps on integers.
    Add "add" NUMERIC short |a, b| a + b;
    /// `x - y`; wraps on integers.
    Sub "sub" NUMERIC short |a, b| a - b;
    /// `x * y`; wraps on integers.
    Mul "mul" NUMERIC short |a, b| a * b;
    /// True division, of floats and complex.
    Div "div" INEXACT short |a, b| a / b;
    /// Quotient rounded to negative infinity, with NumPy's edge cases. Integers: error if `y` is 0.
    FloorDiv "floor_div" REAL long;
    /// Remainder with the sign of `y`, as in Python. Integers: error if `y` is 0.
    FloorMod "floor_mod" REAL long;
    /// Quotient rounded to zero. Integers: error if `y` is 0.
    TruncDiv "trunc_div" REAL short |a, b| (a / b).trunc();
    /// Remainder with the sign of `x`, as in C. Integers: error if `y` is 0.
    TruncMod "trunc_mod" REAL long;
    /// `x` to the `y`. Integers wrap; error if `y` is negative.
    Pow "pow" NUMERIC long |a, b| a.pow(b);
    /// The greater; NaN if either is; the first of equal operands (so of -0 and 0).
    Max "max" REAL short |a, b| a.max_nan(b);
    /// The lesser; NaN if either is; the first of equal operands (so of -0 and 0).
    Min "min" REAL short |a, b| a.min_nan(b);
    /// Angle of the point (`y`, `x`), the first operand being the ordinate.
    Atan2 "atan2" FLOAT long |a, b| a.atan2(b);
    /// `(x - y)^2`; `|x - y|^2` for complex.
    SquaredDifference "squared_difference" NUMERIC short |a, b| (a - b) * (a - b);
    /// `x / y`, but 0 if `y` is 0.
    DivNoNan "div_no_nan" INEXACT short |a, b| M::select(b.eq(M::ZERO), M::ZERO, a / b);
    /// `x * y`, but 0 if `y` is 0.
    MulNoNan "mul_no_nan" INEXACT short |a, b| M::select(b.eq(M::ZERO), M::ZERO, a * b);
    /// `x * log y`, but 0 if `x` is 0.
    Xlogy "xlogy" INEXACT long |a, b| M::select(a.eq(M::ZERO), M::ZERO, a * b.log());
    /// `x / y`, but 0 if `x` is 0.
    Xdivy "xdivy" INEXACT short |a, b| M::select(a.eq(M::ZERO), M::ZERO, a / b);
    /// The next value after `x` towards `y`.
    NextAfter "next_after" WIDE_FLOAT wide |a, b| next_after(a, b);
    /// The Hurwitz zeta function of order `x` at `y`.
    Zeta "zeta" WIDE_FLOAT other;
    /// The derivative of order `x + 1` of the logarithm of the gamma function at `y`.
    Polygamma "polygamma" WIDE_FLOAT other;
    /// How a number `y` of the gamma distribution of shape `x` moves with the shape.
    GammaSlope "gamma_slope" FLOAT long;
    /// The lower regularised incomplete gamma function of shape `x` at `y`.
    Igamma "igamma" FLOAT long;
    /// The upper regularised incomplete gamma function of shape `x` at `y`.
    Igammac "igammac" FLOAT long;
    /// `and` of booleans.
    LogicalAnd "logical_and" BOOL other;
    /// `or` of booleans.
    LogicalOr "logical_or" BOOL other;
    /// Exclusive `or` of booleans.
    LogicalXor "logical_xor" BOOL other;
    /// Bitwise `and` of integers.
    BitAnd "bit_and" INTEGER other;
    /// Bitwise `or` of integers.
    BitOr "bit_or" INTEGER other;
    /// Bitwise exclusive `or` of integers.
    BitXor "bit_xor" INTEGER other;
    /// Left shift. The amount is clamped to 0 ..= width; a full width gives 0.
    Shl "shl" INTEGER other;
    /// Right shift, arithmetic for signed integers. The amount is clamped to 0 ..= width; a full
    /// width gives 0, or -1 of a negative number.
    Shr "shr" INTEGER other;
    /// `x == y`.
    Equal "equal" PLAIN compare;
    /// `x != y`.
    NotEqual "not_equal" PLAIN compare;
    /// `x < y`.
    Less "less" REAL compare;
    /// `x <= y`.
    LessEqual "less_equal" REAL compare;
    /// `x > y`.
    Greater "greater" REAL compare;
    /// `x >= y`.
    GreaterEqual "greater_equal" REAL compare;
    /// The complex number of a real and an imaginary part.
    Complex "complex" WIDE_FLOAT other;
}

impl Binary {
    /// Whether the operator is a comparison, whose result is boolean.
    pub const fn is_comparison(self) -> bool {
        self as u8 >= Binary::Equal as u8 && self as u8 <= Binary::GreaterEqual as u8
    }
}

/// The dtype of the result of `op` on operands of `dtype`.
pub fn binary_output(op: Binary, dtype: DType) -> DType {
    match op {
        _ if op.is_comparison() => DType::Bool,
        Binary::Complex if dtype == DType::F32 => DType::C64,
        Binary::Complex => DType::C128,
        _ => dtype,
    }
}

pub(crate) struct Float<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Real> Map2 for Float<OP, T> {
    type A = T;
    type B = T;
    type R = T;
    const LEVEL: Level = if listed(SCALAR, OP) { Level::Base } else { Level::V4 };
    #[inline(always)]
    fn eval(a: T, b: T) -> T {
        let (a, b) = (a.widen(), b.widen());
        T::narrow(match const { Binary::ALL[OP as usize] } {
            Binary::FloorDiv => floor_div(a, b),
            Binary::FloorMod => floor_mod(a, b),
            Binary::TruncMod => a % b,
            Binary::Zeta => a.zeta(b),
            Binary::Polygamma => a.polygamma(b),
            Binary::GammaSlope => a.gamma_slope(b),
            Binary::Igamma => a.incomplete_gamma(b).0,
            Binary::Igammac => a.incomplete_gamma(b).1,
            _ => function::<OP, T::Wide>(a, b),
        })
    }
}

/// How two floats compare.
#[inline(always)]
fn compare<const OP: u8, M: Functions>(a: M, b: M) -> M::Mask {
    match const { Binary::ALL[OP as usize] } {
        Binary::Equal => a.eq(b),
        Binary::NotEqual => a.ne(b),
        Binary::Less => a.lt(b),
        Binary::LessEqual => a.le(b),
        Binary::Greater => a.gt(b),
        _ => a.ge(b),
    }
}

struct FloatCompare<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Real> Map2 for FloatCompare<OP, T> {
    type A = T;
    type B = T;
    type R = Bool8;
    const LEVEL: Level = Level::V4;
    #[inline(always)]
    fn eval(a: T, b: T) -> Bool8 {
        Bool8::new(compare::<OP, T::Wide>(a.widen(), b.widen()))
    }
}

/// The function of an operator on integers.
#[inline(always)]
fn whole<const OP: u8, W: Whole>(a: W, b: W) -> W {
    match const { Binary::ALL[OP as usize] } {
        Binary::Add => a.add(b),
        Binary::Sub => a.sub(b),
        Binary::Mul => a.mul(b),
        Binary::Max => W::select(a.lt(b), b, a),
        Binary::Min => W::select(b.lt(a), b, a),
        Binary::SquaredDifference => a.sub(b).mul(a.sub(b)),
        Binary::BitAnd => a.and(b),
        Binary::BitOr => a.or(b),
        Binary::BitXor => a.xor(b),
        _ => unreachable!(),
    }
}

/// How two integers compare.
#[inline(always)]
fn whole_compare<const OP: u8, W: Whole>(a: W, b: W) -> W::Mask {
    match const { Binary::ALL[OP as usize] } {
        Binary::Equal => a.eq(b),
        Binary::NotEqual => !a.eq(b),
        Binary::Less => a.lt(b),
        Binary::LessEqual => !b.lt(a),
        Binary::Greater => b.lt(a),
        _ => !a.lt(b),
    }
}

/// The function of an operator on truth values.
#[inline(always)]
fn logical<const OP: u8, M: Mask>(a: M, b: M) -> M {
    match const { Binary::ALL[OP as usize] } {
        Binary::LogicalAnd => a & b,
        Binary::LogicalOr => a | b,
        Binary::LogicalXor | Binary::NotEqual => a ^ b,
        _ => !(a ^ b),
    }
}

/// `x` to the `n`, which is not negative, wrapping.
fn integer_pow<T: Int>(x: T, n: T) -> T {
    let (mut result, mut base, mut n) = (T::ONE, x, n);
    while n != T::ZERO {
        if n.and(T::ONE) == T::ONE {
            result = result.mul(base);
        }
        base = base.mul(base);
        n = n.shr(1);
    }
    result
}

pub(crate) struct Integer<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Int> Map2 for Integer<OP, T> {
    type A = T;
    type B = T;
    type R = T;
    const LEVEL: Level = if Self::CHECKED || OP == Binary::Pow as u8 { Level::Base } else { T::LEVEL };
    const CHECKED: bool = listed(DIVISIONS, OP) || (OP == Binary::Pow as u8 && T::SIGNED);
    const FAULT: Fault = if OP == Binary::Pow as u8 { Fault::NegativePower } else { Fault::DivideByZero };
    #[inline(always)]
    fn fault(b: T) -> bool {
        if OP == Binary::Pow as u8 { b < T::ZERO } else { b == T::ZERO }
    }
    #[inline(always)]
    fn eval(a: T, b: T) -> T {
        match const { Binary::ALL[OP as usize] } {
            Binary::TruncDiv => a.quot(b),
            Binary::TruncMod => a.rem(b),
            Binary::FloorDiv => {
                let (q, r) = (a.quot(b), a.rem(b));
                let adjust = T::SIGNED && r != T::ZERO && (r < T::ZERO) != (b < T::ZERO);
                if adjust { q.sub(T::ONE) } else { q }
            }
            Binary::FloorMod => {
                let r = a.rem(b);
                let adjust = T::SIGNED && r != T::ZERO && (r < T::ZERO) != (b < T::ZERO);
                if adjust { r.add(b) } else { r }
            }
            Binary::Pow => integer_pow(a, b),
            Binary::Shl => {
                let by = b.shift_amount();
                let shifted = a.shl(by);
                if by >= T::BITS { T::ZERO } else { shifted }
            }
            Binary::Shr => {
                let by = b.shift_amount();
                let full = if T::SIGNED { a.shr(T::BITS - 1) } else { T::ZERO };
                let shifted = a.shr(by);
                if by >= T::BITS { full } else { shifted }
            }
            _ => whole::<OP, T>(a, b),
        }
    }
}

struct IntegerCompare<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Int> Map2 for IntegerCompare<OP, T> {
    type A = T;
    type B = T;
    type R = Bool8;
    const LEVEL: Level = T::LEVEL;
    #[inline(always)]
    fn eval(a: T, b: T) -> Bool8 {
        Bool8::new(whole_compare::<OP, T>(a, b))
    }
}

struct Logical<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8> Map2 for Logical<OP, Bool8> {
    type A = Bool8;
    type B = Bool8;
    type R = Bool8;
    const LEVEL: Level = Level::V4;
    #[inline(always)]
    fn eval(a: Bool8, b: Bool8) -> Bool8 {
        Bool8::new(logical::<OP, _>(a.get(), b.get()))
    }
}

pub(crate) struct Cplx<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: complex::Part> Map2 for Cplx<OP, T> {
    type A = Complex<T>;
    type B = Complex<T>;
    type R = Complex<T>;
    const LEVEL: Level = if listed(&[Binary::Pow, Binary::Xlogy], OP) { Level::Base } else { Level::V3 };
    #[inline(always)]
    fn eval(a: Complex<T>, b: Complex<T>) -> Complex<T> {
        match const { Binary::ALL[OP as usize] } {
            Binary::Pow => T::in_f64_2(a, b, complex::pow),
            Binary::Xlogy => {
                if a == complex::zero() {
                    complex::zero()
                } else {
                    a * T::in_f64(b, complex::log)
                }
            }
            _ => complex_function::<OP, T>(a, b),
        }
    }
}

/// The function of an operator on complex numbers.
#[inline(always)]
fn complex_function<const OP: u8, A: Algebra>(a: Complex<A>, b: Complex<A>) -> Complex<A> {
    let unless_zero =
        |of: Complex<A>, value| complex::select(complex::is_equal(of, complex::zero()), complex::zero(), value);
    match const { Binary::ALL[OP as usize] } {
        Binary::Add => complex::add(a, b),
        Binary::Sub => complex::sub(a, b),
        Binary::Mul => complex::mul(a, b),
        Binary::Div => complex::div(a, b),
        Binary::SquaredDifference => {
            let Complex { re, im } = complex::sub(a, b);
            Complex { re: re * re + im * im, im: A::ZERO }
        }
        Binary::DivNoNan => unless_zero(b, complex::div(a, b)),
        Binary::MulNoNan => unless_zero(b, complex::mul(a, b)),
        Binary::Xdivy => unless_zero(a, complex::div(a, b)),
        _ => unreachable!(),
    }
}

/// Whether two complex numbers are equal, or not.
#[inline(always)]
fn complex_compare<const OP: u8, A: Algebra>(a: Complex<A>, b: Complex<A>) -> A::Mask {
    let equal = complex::is_equal(a, b);
    if OP == Binary::Equal as u8 { equal } else { !equal }
}

struct CplxCompare<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: complex::Part> Map2 for CplxCompare<OP, T> {
    type A = Complex<T>;
    type B = Complex<T>;
    type R = Bool8;
    const LEVEL: Level = Level::V3;
    #[inline(always)]
    fn eval(a: Complex<T>, b: Complex<T>) -> Bool8 {
        Bool8::new(complex_compare::<OP, T>(a, b))
    }
}

struct MakeComplex<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: complex::Part> Map2 for MakeComplex<OP, T> {
    type A = T;
    type B = T;
    type R = Complex<T>;
    const LEVEL: Level = Level::V3;
    #[inline(always)]
    fn eval(a: T, b: T) -> Complex<T> {
        Complex::new(a, b)
    }
}

/// The loop of an operator among those that are listed by what maps their elements, or its formula.
macro_rules! table {
    ($how:tt, $op:expr; $($map:ident<$ty:ty>: $($name:ident)*;)*) => {
        match $op {
            $($(Binary::$name => Some(table!(@ $how $map<{ Binary::$name as u8 }, $ty>)),)*)*
            _ => None,
        }
    };
    (@ direct $map:ty) => { loop2::<$map>() };
    (@ formula $map:ty) => { <$map>::formula() };
}

fn float_loop<T: Real + complex::Part>(op: Binary) -> Option<LoopFn> {
    table! { direct, op; MakeComplex<T>: Complex; Float<T>: Zeta Polygamma; }.or_else(|| listed_loop::<T>(op))
}

/// [`table`] of the operators on integers that have a formula.
macro_rules! integer_table {
    ($how:tt, $op:expr, $ty:ty, $signed:ty) => {
        table! { $how, $op;
            Integer<$ty>: Max Min;
            Integer<$signed>: Add Sub Mul SquaredDifference BitAnd BitOr BitXor;
            IntegerCompare<$ty>: Less LessEqual Greater GreaterEqual;
            IntegerCompare<$signed>: Equal NotEqual;
        }
    };
}

fn integer_loop<T: Int>(op: Binary) -> Option<LoopFn> {
    table! { direct, op; Integer<T>: FloorDiv FloorMod TruncDiv TruncMod Pow Shl Shr; }
        .or_else(|| integer_table!(direct, op, T, T::Signed))
}

/// [`table`] of the operators on truth values.
macro_rules! boolean_table {
    ($how:tt, $op:expr) => {
        table! { $how, $op; Logical<Bool8>: LogicalAnd LogicalOr LogicalXor Equal NotEqual; }
    };
}

fn boolean_loop(op: Binary) -> Option<LoopFn> {
    boolean_table!(direct, op)
}

fn complex_loop<T: complex::Part>(op: Binary) -> Option<LoopFn>
where
    Complex<T>: Element,
{
    table! { direct, op;
        Cplx<T>: Add Sub Mul Div Pow SquaredDifference DivNoNan MulNoNan Xlogy Xdivy;
        CplxCompare<T>: Equal NotEqual;
    }
}

/// The loop of `op` on two operands of `dtype`; none if the operator does not take them.
pub fn binary(op: Binary, dtype: DType) -> Option<LoopFn> {
    match dtype {
        DType::Bool => boolean_loop(op),
        DType::F16 => half_loop::<f16>(op),
        DType::Bf16 => half_loop::<bf16>(op),
        DType::F32 => float_loop::<f32>(op),
        DType::F64 => float_loop::<f64>(op),
        DType::C64 => complex_loop::<f32>(op),
        DType::C128 => complex_loop::<f64>(op),
        _ => with_dtype!(integer, dtype, T => integer_loop::<T>(op), else None),
    }
}

macro_rules! formulas {
    ($($ty:ident)*) => {$(
        impl<const OP: u8> Float<OP, $ty> {
            fn formula() -> Option<Formula> {
                (!listed(SCALAR, OP)).then(|| record::<$ty, $ty, 2>(|[a, b]| function::<OP, _>(a, b)))
            }
        }
        impl<const OP: u8> FloatCompare<OP, $ty> {
            fn formula() -> Option<Formula> {
                Some(record::<$ty, bool, 2>(|[a, b]| compare::<OP, _>(a, b)))
            }
        }
        impl<const OP: u8> Cplx<OP, $ty> {
            fn formula() -> Vec<Formula> {
                record_parts::<$ty, $ty, 4, 2>(|[re, im, x, y]| {
                    let z = complex_function::<OP, _>(Complex { re, im }, Complex { re: x, im: y });
                    [z.re, z.im]
                })
            }
        }
        impl<const OP: u8> CplxCompare<OP, $ty> {
            fn formula() -> Vec<Formula> {
                record_parts::<$ty, bool, 4, 1>(|[re, im, x, y]| {
                    [complex_compare::<OP, _>(Complex { re, im }, Complex { re: x, im: y })]
                })
            }
        }
        impl<const OP: u8> MakeComplex<OP, $ty> {
            fn formula() -> Vec<Formula> {
                record_parts::<$ty, $ty, 2, 2>(|parts| parts)
            }
        }
    )*};
}

formulas!(f32 f64);

impl<const OP: u8> Integer<OP, AnyInt> {
    fn formula() -> Formula {
        record::<AnyInt, AnyInt, 2>(|[a, b]| whole::<OP, _>(a, b))
    }
}

impl<const OP: u8> IntegerCompare<OP, AnyInt> {
    fn formula() -> Formula {
        record::<AnyInt, bool, 2>(|[a, b]| whole_compare::<OP, _>(a, b))
    }
}

impl<const OP: u8> Logical<OP, Bool8> {
    fn formula() -> Formula {
        record::<bool, bool, 2>(|[a, b]| logical::<OP, _>(a, b))
    }
}

/// The formula of `op` on elements of `dtype`; none for complex numbers and 16-bit floats, and for operators that are no formula.
pub fn binary_formula(op: Binary, dtype: DType) -> Option<&'static Formula> {
    static KEPT: Kept<{ Binary::ALL.len() }> = Kept::new();
    KEPT.get(op as usize, dtype, || match dtype {
        DType::F32 => formula32(op),
        DType::F64 => formula64(op),
        DType::Bool => boolean_table!(formula, op),
        _ => integer_table!(formula, op, AnyInt, AnyInt),
    })
}

macro_rules! parts_table {
    ($op:expr, $ty:ty) => {
        table! { formula, $op;
            Cplx<$ty>: Add Sub Mul Div SquaredDifference DivNoNan MulNoNan Xdivy;
            CplxCompare<$ty>: Equal NotEqual;
            MakeComplex<$ty>: Complex;
        }
    };
}

/// The formulas of the parts of what `op` gives on complex numbers: of a complex number both, else one. Operand `2 k + p` of a formula is
/// part `p` of operand `k`. Those of [`Binary::Complex`], of floats, are the operands. None for operators that have no such formulas.
pub fn binary_parts(op: Binary, dtype: DType) -> Option<&'static [Formula]> {
    static KEPT: KeptParts<{ Binary::ALL.len() }> = KeptParts::new();
    if dtype.is_complex() == (op == Binary::Complex) || !DTypeSet::INEXACT.contains(dtype) || dtype.size() < 4 {
        return None;
    }
    let part = dtype.real();
    KEPT.get(op as usize, part, || if part == DType::F64 { parts_table!(op, f64) } else { parts_table!(op, f32) })
}
