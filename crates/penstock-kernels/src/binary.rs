//! Loops of the operators of two operands.

use std::marker::PhantomData;

use num_complex::Complex;
use penstock_data::{Bool8, DType, Element, bf16, f16, with_dtype};

use crate::arch::Level;
use crate::complex;
use crate::formula::{Formula, Kept, record};
use crate::loops::{Fault, LoopFn, Map2, half2, loop2};
use crate::math::{Functions, Math};
use crate::num::{Int, Real};
use crate::ops::Binary;

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
    Binary::NextAfter,
    Binary::Zeta,
    Binary::Polygamma,
    Binary::GammaSlope,
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

/// The function of an operator on floats.
#[inline(always)]
fn function<const OP: u8, M: Functions>(a: M, b: M) -> M {
    match const { Binary::ALL[OP as usize] } {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::TruncDiv => (a / b).trunc(),
        Binary::Pow => a.pow(b),
        Binary::Max => a.max_nan(b),
        Binary::Min => a.min_nan(b),
        Binary::Atan2 => a.atan2(b),
        Binary::SquaredDifference => (a - b) * (a - b),
        Binary::DivNoNan => M::select(b.eq(M::ZERO), M::ZERO, a / b),
        Binary::MulNoNan => M::select(b.eq(M::ZERO), M::ZERO, a * b),
        Binary::Xlogy => M::select(a.eq(M::ZERO), M::ZERO, a * b.log()),
        Binary::Xdivy => M::select(a.eq(M::ZERO), M::ZERO, a / b),
        _ => unreachable!(),
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
            Binary::NextAfter => a.next_after(b),
            Binary::Zeta => a.zeta(b),
            Binary::Polygamma => a.polygamma(b),
            Binary::GammaSlope => a.gamma_slope(b),
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
            Binary::Add => a.add(b),
            Binary::Sub => a.sub(b),
            Binary::Mul => a.mul(b),
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
            Binary::Max => a.max(b),
            Binary::Min => a.min(b),
            Binary::SquaredDifference => a.sub(b).mul(a.sub(b)),
            Binary::BitAnd => a.and(b),
            Binary::BitOr => a.or(b),
            Binary::BitXor => a.xor(b),
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
            _ => unreachable!(),
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
        Bool8::new(match const { Binary::ALL[OP as usize] } {
            Binary::Equal => a == b,
            Binary::NotEqual => a != b,
            Binary::Less => a < b,
            Binary::LessEqual => a <= b,
            Binary::Greater => a > b,
            _ => a >= b,
        })
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
        let (a, b) = (a.get(), b.get());
        Bool8::new(match const { Binary::ALL[OP as usize] } {
            Binary::LogicalAnd => a & b,
            Binary::LogicalOr => a | b,
            Binary::LogicalXor | Binary::NotEqual => a != b,
            _ => a == b,
        })
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
        let zero = Complex::new(T::zero(), T::zero());
        match const { Binary::ALL[OP as usize] } {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => complex::div(a, b),
            Binary::Pow => T::in_f64_2(a, b, complex::pow),
            Binary::SquaredDifference => Complex::new((a - b).norm_sqr(), T::zero()),
            Binary::DivNoNan => {
                let quotient = complex::div(a, b);
                if b == zero { zero } else { quotient }
            }
            Binary::MulNoNan => {
                let product = a * b;
                if b == zero { zero } else { product }
            }
            Binary::Xlogy => {
                if a == zero {
                    zero
                } else {
                    a * T::in_f64(b, complex::log)
                }
            }
            Binary::Xdivy => {
                let quotient = complex::div(a, b);
                if a == zero { zero } else { quotient }
            }
            _ => unreachable!(),
        }
    }
}

struct CplxCompare<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: complex::Part> Map2 for CplxCompare<OP, T> {
    type A = Complex<T>;
    type B = Complex<T>;
    type R = Bool8;
    const LEVEL: Level = Level::V3;
    #[inline(always)]
    fn eval(a: Complex<T>, b: Complex<T>) -> Bool8 {
        let equal = (a.re == b.re) & (a.im == b.im);
        Bool8::new(equal == (OP == Binary::Equal as u8))
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

/// The loop of an operator among those that are listed by what maps their elements: `direct` those of a type, or those of
/// a 16-bit float by way of `f32`.
macro_rules! table {
    ($how:tt, $op:expr; $($map:ident<$ty:ty>: $($name:ident)*;)*) => {
        match $op {
            $($(Binary::$name => Some(table!(@ $how $map<{ Binary::$name as u8 }, $ty>)),)*)*
            _ => None,
        }
    };
    (@ direct $map:ty) => { loop2::<$map>() };
    (@ formula $map:ty) => { <$map>::formula() };
    (@ (half $half:ty) $map:ty) => { half2::<$half, $map>() };
}

/// [`table`] of the operators of a few instructions, in any width.
macro_rules! short_table {
    ($how:tt, $op:expr, $ty:ty) => {
        table! { $how, $op;
            Float<$ty>: Add Sub Mul Div TruncDiv Max Min SquaredDifference DivNoNan MulNoNan Xdivy;
            FloatCompare<$ty>: Equal NotEqual Less LessEqual Greater GreaterEqual;
        }
    };
}

/// [`table`] of the operators that are long.
macro_rules! long_table {
    ($how:tt, $op:expr, $ty:ty) => {
        table! { $how, $op; Float<$ty>: FloorDiv FloorMod TruncMod Pow Atan2 Xlogy GammaSlope; }
    };
}

fn float_loop<T: Real + complex::Part>(op: Binary) -> Option<LoopFn> {
    table! { direct, op; MakeComplex<T>: Complex; Float<T>: NextAfter Zeta Polygamma; }
        .or_else(|| long_table!(direct, op, T))
        .or_else(|| short_table!(direct, op, T))
}

fn half_loop<T: Real<Wide = f32>>(op: Binary) -> Option<LoopFn> {
    long_table!((half T), op, f32).or_else(|| short_table!(direct, op, T))
}

fn integer_loop<T: Int>(op: Binary) -> Option<LoopFn> {
    table! { direct, op;
        Integer<T>: FloorDiv FloorMod TruncDiv TruncMod Pow Max Min Shl Shr;
        Integer<T::Signed>: Add Sub Mul SquaredDifference BitAnd BitOr BitXor;
        IntegerCompare<T>: Less LessEqual Greater GreaterEqual;
        IntegerCompare<T::Signed>: Equal NotEqual;
    }
}

fn boolean_loop(op: Binary) -> Option<LoopFn> {
    table! { direct, op; Logical<Bool8>: LogicalAnd LogicalOr LogicalXor Equal NotEqual; }
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
    ($($ty:ident $find:ident;)*) => {$(
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
        fn $find(op: Binary) -> Option<Formula> {
            long_table!(formula, op, $ty).or_else(|| short_table!(formula, op, $ty)).flatten()
        }
    )*};
}

formulas! {
    f32 formula32;
    f64 formula64;
}

/// The formula of `op` on elements of `dtype`; none for other dtypes than `f32` and `f64`, and for operators that are no formula.
pub fn binary_formula(op: Binary, dtype: DType) -> Option<&'static Formula> {
    static KEPT: Kept<{ Binary::ALL.len() }> = Kept::new();
    KEPT.get(op as usize, dtype, || match dtype {
        DType::F32 => formula32(op),
        _ => formula64(op),
    })
}
