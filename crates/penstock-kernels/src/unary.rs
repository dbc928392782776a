//! Loops of the operators of one operand.

use std::marker::PhantomData;

use num_complex::Complex;
use penstock_data::{Bool8, C64, C128, DType, Element, bf16, f16, with_dtype};

use crate::arch::Level;
use crate::complex;
use crate::formula::{Formula, Kept, record};
use crate::loops::{LoopFn, Map1, half1, loop1};
use crate::math::{Functions, Math};
use crate::num::{Int, Real};
use crate::ops::Unary;

/// Operators on floats that are computed element by element.
const SCALAR: &[Unary] = &[Unary::Lgamma, Unary::Digamma];
/// Operators on floats whose function is not accurate for all operands.
const RARE: &[Unary] = &[Unary::Sin, Unary::Cos, Unary::Tan];

const fn listed(list: &[Unary], op: u8) -> bool {
    let mut i = 0;
    while i < list.len() {
        if list[i] as u8 == op {
            return true;
        }
        i += 1;
    }
    false
}

/// The function of an operator on floats.
#[inline(always)]
fn function<const OP: u8, M: Functions>(x: M) -> M {
    match const { Unary::ALL[OP as usize] } {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sign => {
            let sign = M::select(x.gt(M::ZERO), M::ONE, -M::ONE);
            let sign = M::select(x.eq(M::ZERO), M::ZERO, sign);
            M::select(x.is_nan(), x, sign)
        }
        Unary::Square => x * x,
        Unary::Sqrt => x.sqrt(),
        Unary::Rsqrt => M::ONE / x.sqrt(),
        Unary::Reciprocal => M::ONE / x,
        Unary::Exp => x.exp(),
        Unary::Expm1 => x.expm1(),
        Unary::Log => x.log(),
        Unary::Log1p => x.log1p(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tan => x.tan(),
        Unary::Asin => x.asin(),
        Unary::Acos => x.acos(),
        Unary::Atan => x.atan(),
        Unary::Sinh => x.sinh(),
        Unary::Cosh => x.cosh(),
        Unary::Tanh => x.tanh(),
        Unary::Asinh => x.asinh(),
        Unary::Acosh => x.acosh(),
        Unary::Atanh => x.atanh(),
        Unary::Sigmoid => x.sigmoid(),
        Unary::Softplus => x.softplus(),
        Unary::Relu => M::select(x.le(M::ZERO), M::ZERO, x),
        Unary::Relu6 => {
            let low = M::select(x.le(M::ZERO), M::ZERO, x);
            let six = M::of(6.0);
            M::select(low.gt(six), six, low)
        }
        Unary::Elu => M::select(x.lt(M::ZERO), x.expm1(), x),
        Unary::Selu => {
            let below = M::of(1.758_099_340_847_376_6) * x.expm1();
            let above = M::of(1.050_700_987_355_480_5) * x;
            M::select(x.lt(M::ZERO), below, above)
        }
        Unary::Step => M::select(x.gt(M::ZERO), M::ONE, M::ZERO),
        Unary::Softsign => x / (M::ONE + x.abs()),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round | Unary::Rint => x.round_even(),
        Unary::Trunc => x.trunc(),
        Unary::Erf => x.erf(),
        Unary::Erfc => x.erfc(),
        Unary::Erfinv => x.erfinv(),
        Unary::Ndtri => x.ndtri(),
        _ => unreachable!(),
    }
}

/// Whether a float is of a class.
#[inline(always)]
fn classify<const OP: u8, M: Functions>(x: M) -> M::Mask {
    match const { Unary::ALL[OP as usize] } {
        Unary::IsNan => x.is_nan(),
        Unary::IsInf => x.abs().eq(M::INFINITY),
        _ => x.is_finite(),
    }
}

struct Float<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Real> Map1 for Float<OP, T> {
    type A = T;
    type R = T;
    const LEVEL: Level = if listed(SCALAR, OP) { Level::Base } else { Level::V4 };
    const RARE: bool = listed(RARE, OP);
    #[inline(always)]
    fn eval(a: T) -> T {
        let x = a.widen();
        T::narrow(match const { Unary::ALL[OP as usize] } {
            Unary::Lgamma => x.lgamma(),
            Unary::Digamma => x.digamma(),
            _ => function::<OP, T::Wide>(x),
        })
    }
    #[inline(always)]
    fn rare(a: T) -> bool {
        Self::RARE && a.widen().trig_rare()
    }
    #[inline(never)]
    fn eval_rare(a: T) -> T {
        T::narrow(match const { Unary::ALL[OP as usize] } {
            Unary::Sin => a.widen().sin_rare(),
            Unary::Cos => a.widen().cos_rare(),
            _ => a.widen().tan_rare(),
        })
    }
}

struct Classify<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Real> Map1 for Classify<OP, T> {
    type A = T;
    type R = Bool8;
    const LEVEL: Level = Level::V4;
    #[inline(always)]
    fn eval(a: T) -> Bool8 {
        Bool8::new(classify::<OP, T::Wide>(a.widen()))
    }
}

struct Integer<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Int> Map1 for Integer<OP, T> {
    type A = T;
    type R = T;
    const LEVEL: Level = T::LEVEL;
    #[inline(always)]
    fn eval(x: T) -> T {
        match const { Unary::ALL[OP as usize] } {
            Unary::Neg => T::ZERO.sub(x),
            Unary::Abs => {
                if x < T::ZERO {
                    T::ZERO.sub(x)
                } else {
                    x
                }
            }
            Unary::Sign => {
                let positive = if x > T::ZERO { T::ONE } else { T::ZERO };
                if x < T::ZERO { T::ZERO.sub(T::ONE) } else { positive }
            }
            Unary::Square => x.mul(x),
            Unary::Relu => x.max(T::ZERO),
            Unary::Relu6 => x.max(T::ZERO).min(T::from_i64(6)),
            Unary::Round => x,
            Unary::BitNot => x.not(),
            _ => unreachable!(),
        }
    }
}

struct Not;

impl Map1 for Not {
    type A = Bool8;
    type R = Bool8;
    const LEVEL: Level = Level::V4;
    #[inline(always)]
    fn eval(x: Bool8) -> Bool8 {
        Bool8::new(!x.get())
    }
}

struct Cplx<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: complex::Part> Map1 for Cplx<OP, T> {
    type A = Complex<T>;
    type R = Complex<T>;
    const LEVEL: Level = if listed(&[Unary::Neg, Unary::Square, Unary::Conj, Unary::Sign, Unary::Reciprocal], OP) {
        Level::V3
    } else {
        Level::Base
    };
    #[inline(always)]
    fn eval(z: Complex<T>) -> Complex<T> {
        match const { Unary::ALL[OP as usize] } {
            Unary::Neg => -z,
            Unary::Sign => complex::sign(z),
            Unary::Square => z * z,
            Unary::Reciprocal => complex::div(T::one().into(), z),
            Unary::Conj => z.conj(),
            Unary::Sqrt => T::in_f64(z, complex::sqrt),
            Unary::Rsqrt => T::in_f64(z, |z| complex::div(1.0.into(), complex::sqrt(z))),
            Unary::Exp => T::in_f64(z, complex::exp),
            Unary::Expm1 => T::in_f64(z, complex::expm1),
            Unary::Log => T::in_f64(z, complex::log),
            Unary::Log1p => T::in_f64(z, complex::log1p),
            Unary::Sin => T::in_f64(z, complex::sin),
            Unary::Cos => T::in_f64(z, complex::cos),
            Unary::Tan => T::in_f64(z, complex::tan),
            Unary::Asin => T::in_f64(z, complex::asin),
            Unary::Acos => T::in_f64(z, complex::acos),
            Unary::Atan => T::in_f64(z, complex::atan),
            Unary::Sinh => T::in_f64(z, complex::sinh),
            Unary::Cosh => T::in_f64(z, complex::cosh),
            Unary::Tanh => T::in_f64(z, complex::tanh),
            Unary::Asinh => T::in_f64(z, complex::asinh),
            Unary::Acosh => T::in_f64(z, complex::acosh),
            Unary::Atanh => T::in_f64(z, complex::atanh),
            Unary::Sigmoid => T::in_f64(z, complex::sigmoid),
            _ => unreachable!(),
        }
    }
}

struct CplxPart<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: complex::Part> Map1 for CplxPart<OP, T> {
    type A = Complex<T>;
    type R = T;
    const LEVEL: Level = Level::V3;
    #[inline(always)]
    fn eval(z: Complex<T>) -> T {
        match const { Unary::ALL[OP as usize] } {
            Unary::Abs => T::norm(z),
            Unary::Real => z.re,
            Unary::Imag => z.im,
            _ => T::phase(z),
        }
    }
}

/// The loop of an operator among those that are listed by what maps their elements: `direct` those of a type, or those of
/// a 16-bit float by way of `f32`.
macro_rules! table {
    ($how:tt, $op:expr; $($map:ident<$ty:ty>: $($name:ident)*;)*) => {
        match $op {
            $($(Unary::$name => Some(table!(@ $how $map<{ Unary::$name as u8 }, $ty>)),)*)*
            _ => None,
        }
    };
    (@ direct $map:ty) => { loop1::<$map>() };
    (@ formula $map:ty) => { <$map>::formula() };
    (@ (half $half:ty) $map:ty) => { half1::<$half, $map>() };
}

/// [`table`] of the operators of a few instructions, in any width.
macro_rules! short_table {
    ($how:tt, $op:expr, $ty:ty) => {
        table! { $how, $op;
            Float<$ty>: Neg Abs Sign Square Sqrt Rsqrt Reciprocal Relu Relu6 Step Softsign Floor Ceil Round Rint Trunc;
            Classify<$ty>: IsNan IsInf IsFinite;
        }
    };
}

/// [`table`] of the operators that are long.
macro_rules! long_table {
    ($how:tt, $op:expr, $ty:ty) => {
        table! { $how, $op;
            Float<$ty>: Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh
                Sigmoid Softplus Elu Selu Erf Erfc Lgamma Digamma Erfinv Ndtri;
        }
    };
}

fn float_loop<T: Real>(op: Unary) -> Option<LoopFn> {
    long_table!(direct, op, T).or_else(|| short_table!(direct, op, T))
}

fn half_loop<T: Real<Wide = f32>>(op: Unary) -> Option<LoopFn> {
    long_table!((half T), op, f32).or_else(|| short_table!(direct, op, T))
}

fn integer_loop<T: Int>(op: Unary) -> Option<LoopFn> {
    table! { direct, op; Integer<T>: Abs Sign Relu Relu6 Round; Integer<T::Signed>: Neg Square BitNot; }
}

fn complex_loop<T: complex::Part>(op: Unary) -> Option<LoopFn>
where
    Complex<T>: Element,
{
    table! { direct, op;
        Cplx<T>: Neg Sign Square Sqrt Rsqrt Reciprocal Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan
            Sinh Cosh Tanh Asinh Acosh Atanh Sigmoid Conj;
        CplxPart<T>: Abs Real Imag Angle;
    }
}

/// The loop of `op` on elements of `dtype`; none if the operator does not take them.
pub fn unary(op: Unary, dtype: DType) -> Option<LoopFn> {
    match dtype {
        DType::Bool => (op == Unary::LogicalNot).then(loop1::<Not>),
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
                let whole = !listed(SCALAR, OP) && !listed(RARE, OP);
                whole.then(|| record::<$ty, $ty, 1>(|[x]| function::<OP, _>(x)))
            }
        }
        impl<const OP: u8> Classify<OP, $ty> {
            fn formula() -> Option<Formula> {
                Some(record::<$ty, bool, 1>(|[x]| classify::<OP, _>(x)))
            }
        }
        fn $find(op: Unary) -> Option<Formula> {
            long_table!(formula, op, $ty).or_else(|| short_table!(formula, op, $ty)).flatten()
        }
    )*};
}

formulas! {
    f32 formula32;
    f64 formula64;
}

/// The formula of `op` on elements of `dtype`; none for other dtypes than `f32` and `f64`, and for operators that are no formula.
pub fn unary_formula(op: Unary, dtype: DType) -> Option<&'static Formula> {
    static KEPT: Kept<{ Unary::ALL.len() }> = Kept::new();
    KEPT.get(op as usize, dtype, || match dtype {
        DType::F32 => formula32(op),
        _ => formula64(op),
    })
}

const _: () = assert!(size_of::<C64>() == 8 && size_of::<C128>() == 16);
