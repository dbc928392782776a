//! Loops of the operators of one operand.

use std::marker::PhantomData;

use num_complex::Complex;
use penstock_data::{Bool8, C64, C128, DType, DTypeSet, Element, bf16, f16, with_dtype};

use crate::algebra::{Algebra, Whole};
use crate::arch::Level;
use crate::complex;
use crate::formula::{AnyInt, Formula, Kept, KeptParts, record, record_parts};
use crate::loops::{LoopFn, Map1, half1, loop1};
use crate::math::{Functions, Math};
use crate::num::{Int, Real};

/// Operators on floats whose function is of positive numbers; they have no formula.
const POSITIVE: &[Unary] = &[Unary::Lgamma, Unary::Digamma];
/// Operators on floats whose function is not accurate for huge operands.
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

/// Declares the operators: what each computes, its name, the dtypes that it takes, how its loops on floats are made and, where it has one,
/// its function of a float.
///
/// Loops are `short` (of a few instructions, in any width), `long` (those of 16-bit floats are those of `f32` on widened pieces), of a
/// `class` of floats, or `other`.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident $text:literal $dtypes:ident $loops:ident $(|$x:ident| $function:expr)?;)*) => {
        /// An operator of one operand. Floats of 16 bits are computed in `f32` and rounded once.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Unary {
            $($(#[$doc])* $name,)*
        }

        impl Unary {
            /// Every operator, in the order of the discriminants.
            pub const ALL: &[Unary] = &[$(Unary::$name),*];

            /// The name, in snake case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Unary::$name => $text,)*
                }
            }
        }

        /// The operand dtypes that `op` takes.
        pub const fn unary_dtypes(op: Unary) -> DTypeSet {
            match op {
                $(Unary::$name => DTypeSet::$dtypes,)*
            }
        }

        /// The function of an operator on floats.
        #[inline(always)]
        fn function<const OP: u8, M: Functions>(x: M) -> M {
            match const { Unary::ALL[OP as usize] } {
                $($(Unary::$name => {
                    let $x = x;
                    $function
                })?)*
                _ => unreachable!(),
            }
        }

        fn float_loop<T: Real>(op: Unary) -> Option<LoopFn> {
            match op {
                $(Unary::$name => of_floats!($loops direct $name T),)*
            }
        }

        fn half_loop<T: Real<Wide = f32>>(op: Unary) -> Option<LoopFn> {
            match op {
                $(Unary::$name => of_floats!($loops half $name T),)*
            }
        }

        fn formula32(op: Unary) -> Option<Formula> {
            match op {
                $(Unary::$name => of_floats!($loops formula $name f32),)*
            }
        }

        fn formula64(op: Unary) -> Option<Formula> {
            match op {
                $(Unary::$name => of_floats!($loops formula $name f64),)*
            }
        }
    };
}

/// The loop of an operator on floats, or its formula.
macro_rules! of_floats {
    (class direct $name:ident $ty:ty) => {
        Some(loop1::<Classify<{ Unary::$name as u8 }, $ty>>())
    };
    (class half $name:ident $ty:ty) => {
        Some(loop1::<Classify<{ Unary::$name as u8 }, $ty>>())
    };
    (class formula $name:ident $ty:ty) => {
        Classify::<{ Unary::$name as u8 }, $ty>::formula()
    };
    (other $how:ident $name:ident $ty:ty) => {
        None
    };
    (long half $name:ident $ty:ty) => {
        Some(half1::<$ty, Float<{ Unary::$name as u8 }, f32>>())
    };
    ($loops:ident formula $name:ident $ty:ty) => {
        Float::<{ Unary::$name as u8 }, $ty>::formula()
    };
    ($loops:ident $how:ident $name:ident $ty:ty) => {
        Some(loop1::<Float<{ Unary::$name as u8 }, $ty>>())
    };
}

operators! {
    /// `-x`; wraps on integers.
    Neg "neg" NUMERIC short |x| -x;
    /// Magnitude; wraps on integers (`abs MIN == MIN`), real for complex.
    Abs "abs" NUMERIC short |x| x.abs();
    /// -1, 0 or 1; NaN of NaN; `z / |z|` for complex.
    Sign "sign" NUMERIC short |x| {
        let sign = M::select(x.gt(M::ZERO), M::ONE, -M::ONE);
        let sign = M::select(x.eq(M::ZERO), M::ZERO, sign);
        M::select(x.is_nan(), x, sign)
    };
    /// `x * x`.
    Square "square" NUMERIC short |x| x * x;
    /// Square root.
    Sqrt "sqrt" INEXACT short |x| x.sqrt();
    /// `1 / sqrt x`; infinite at 0.
    Rsqrt "rsqrt" INEXACT short |x| M::ONE / x.sqrt();
    /// `1 / x`.
    Reciprocal "reciprocal" INEXACT short |x| M::ONE / x;
    /// `e^x`.
    Exp "exp" INEXACT long |x| x.exp();
    /// `e^x - 1`.
    Expm1 "expm1" INEXACT long |x| x.expm1();
    /// Natural logarithm.
    Log "log" INEXACT long |x| x.log();
    /// `log(1 + x)`.
    Log1p "log1p" INEXACT long |x| x.log1p();
    /// Sine.
    Sin "sin" INEXACT long |x| x.sin();
    /// Cosine.
    Cos "cos" INEXACT long |x| x.cos();
    /// Tangent.
    Tan "tan" INEXACT long |x| x.tan();
    /// Inverse sine.
    Asin "asin" INEXACT long |x| x.asin();
    /// Inverse cosine.
    Acos "acos" INEXACT long |x| x.acos();
    /// Inverse tangent.
    Atan "atan" INEXACT long |x| x.atan();
    /// Hyperbolic sine.
    Sinh "sinh" INEXACT long |x| x.sinh();
    /// Hyperbolic cosine.
    Cosh "cosh" INEXACT long |x| x.cosh();
    /// Hyperbolic tangent.
    Tanh "tanh" INEXACT long |x| x.tanh();
    /// Inverse hyperbolic sine.
    Asinh "asinh" INEXACT long |x| x.asinh();
    /// Inverse hyperbolic cosine.
    Acosh "acosh" INEXACT long |x| x.acosh();
    /// Inverse hyperbolic tangent.
    Atanh "atanh" INEXACT long |x| x.atanh();
    /// `1 / (1 + e^-x)`.
    Sigmoid "sigmoid" INEXACT long |x| x.sigmoid();
    /// `log(1 + e^x)`.
    Softplus "softplus" FLOAT long |x| x.softplus();
    /// `max(x, 0)`; NaN of NaN, 0 of -0.
    Relu "relu" REAL short |x| M::select(x.le(M::ZERO), M::ZERO, x);
    /// `min(max(x, 0), 6)`; NaN of NaN, 0 of -0.
    Relu6 "relu6" REAL short |x| {
        let low = M::select(x.le(M::ZERO), M::ZERO, x);
        let six = M::of(6.0);
        M::select(low.gt(six), six, low)
    };
    /// 1 of positive numbers, else 0, of NaN too.
    Step "step" FLOAT short |x| M::select(x.gt(M::ZERO), M::ONE, M::ZERO);
    /// `x` if positive, else `e^x - 1`.
    Elu "elu" FLOAT long |x| M::select(x.lt(M::ZERO), x.expm1(), x);
    /// The scaled ELU of Klambauer et al.
    Selu "selu" FLOAT long |x| {
        let below = M::of(1.758_099_340_847_376_6) * x.expm1();
        let above = M::of(1.050_700_987_355_480_5) * x;
        M::select(x.lt(M::ZERO), below, above)
    };
    /// `x / (1 + |x|)`.
    Softsign "softsign" FLOAT short |x| x / (M::ONE + x.abs());
    /// Largest integer not above.
    Floor "floor" FLOAT short |x| x.floor();
    /// Smallest integer not below.
    Ceil "ceil" FLOAT short |x| x.ceil();
    /// Nearest integer, ties to even; identity on integers.
    Round "round" REAL short |x| x.round_even();
    /// The same as [`Unary::Round`].
    Rint "rint" FLOAT short |x| x.round_even();
    /// Nearest integer towards zero.
    Trunc "trunc" FLOAT short |x| x.trunc();
    /// Error function.
    Erf "erf" FLOAT long |x| x.erf();
    /// Complementary error function.
    Erfc "erfc" FLOAT long |x| x.erfc();
    /// Logarithm of the magnitude of the gamma function.
    Lgamma "lgamma" FLOAT long;
    /// Logarithmic derivative of the gamma function.
    Digamma "digamma" FLOAT long;
    /// Inverse of the error function.
    Erfinv "erfinv" FLOAT long |x| x.erfinv();
    /// Quantile of the standard normal distribution.
    Ndtri "ndtri" FLOAT long |x| x.ndtri();
    /// Whether NaN.
    IsNan "is_nan" FLOAT class;
    /// Whether infinite, of either sign.
    IsInf "is_inf" FLOAT class;
    /// Whether neither NaN nor infinite.
    IsFinite "is_finite" FLOAT class;
    /// `not` of a boolean.
    LogicalNot "logical_not" BOOL other;
    /// Complement of every bit of an integer.
    BitNot "bit_not" INTEGER other;
    /// Real part of a complex number.
    Real "real" COMPLEX other;
    /// Imaginary part of a complex number.
    Imag "imag" COMPLEX other;
    /// Complex conjugate.
    Conj "conj" COMPLEX other;
    /// Phase of a complex number, in (-pi, pi].
    Angle "angle" COMPLEX other;
}

/// The dtype of the result of `op` on an operand of `dtype`.
pub fn unary_output(op: Unary, dtype: DType) -> DType {
    match op {
        Unary::IsNan | Unary::IsInf | Unary::IsFinite => DType::Bool,
        Unary::Abs | Unary::Real | Unary::Imag | Unary::Angle => dtype.real(),
        _ => dtype,
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
    const LEVEL: Level = Level::V4;
    const RARE: bool = listed(RARE, OP) || listed(POSITIVE, OP);
    #[inline(always)]
    fn eval(a: T) -> T {
        let x = a.widen();
        T::narrow(match const { Unary::ALL[OP as usize] } {
            Unary::Lgamma => x.lgamma_of_positive(),
            Unary::Digamma => x.digamma_of_positive(),
            _ => function::<OP, T::Wide>(x),
        })
    }
    #[inline(always)]
    fn rare(a: T) -> bool {
        let x = a.widen();
        if listed(POSITIVE, OP) { Algebra::le(x, T::Wide::ZERO) } else { Self::RARE && x.trig_rare() }
    }
    #[inline(never)]
    fn eval_rare(a: T) -> T {
        T::narrow(match const { Unary::ALL[OP as usize] } {
            Unary::Sin => a.widen().sin_rare(),
            Unary::Cos => a.widen().cos_rare(),
            Unary::Lgamma => a.widen().lgamma(),
            Unary::Digamma => a.widen().digamma(),
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

/// The function of an operator on integers.
#[inline(always)]
fn whole<const OP: u8, W: Whole>(x: W) -> W {
    let zero = W::of(0);
    match const { Unary::ALL[OP as usize] } {
        Unary::Neg => zero.sub(x),
        Unary::Abs => W::select(x.lt(zero), zero.sub(x), x),
        Unary::Sign => {
            let positive = W::select(zero.lt(x), W::of(1), zero);
            W::select(x.lt(zero), W::of(-1), positive)
        }
        Unary::Square => x.mul(x),
        Unary::Relu => W::select(x.lt(zero), zero, x),
        Unary::Relu6 => {
            let low = W::select(x.lt(zero), zero, x);
            W::select(W::of(6).lt(low), W::of(6), low)
        }
        Unary::Round => x,
        Unary::BitNot => x.not(),
        _ => unreachable!(),
    }
}

struct Integer<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Int> Map1 for Integer<OP, T> {
    type A = T;
    type R = T;
    const LEVEL: Level = T::LEVEL;
    #[inline(always)]
    fn eval(x: T) -> T {
        whole::<OP, T>(x)
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
            _ => complex_function::<OP, T>(z),
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
        complex_part::<OP, T>(z)
    }
}

/// The function of an operator on complex numbers.
#[inline(always)]
fn complex_function<const OP: u8, M: Functions>(z: Complex<M>) -> Complex<M> {
    match const { Unary::ALL[OP as usize] } {
        Unary::Neg => Complex { re: -z.re, im: -z.im },
        Unary::Sign => complex::sign(z),
        Unary::Square => complex::mul(z, z),
        Unary::Reciprocal => complex::div(Complex { re: M::ONE, im: M::ZERO }, z),
        Unary::Conj => Complex { re: z.re, im: -z.im },
        _ => unreachable!(),
    }
}

/// The function of an operator that gives a number of a complex one.
#[inline(always)]
fn complex_part<const OP: u8, M: Functions>(z: Complex<M>) -> M {
    match const { Unary::ALL[OP as usize] } {
        Unary::Abs => z.re.norm(z.im),
        Unary::Real => z.re,
        Unary::Imag => z.im,
        _ => z.im.atan2(z.re),
    }
}

/// The loop of an operator among those that are listed by what maps their elements, or its formula.
macro_rules! table {
    ($how:tt, $op:expr; $($map:ident<$ty:ty>: $($name:ident)*;)*) => {
        match $op {
            $($(Unary::$name => Some(table!(@ $how $map<{ Unary::$name as u8 }, $ty>)),)*)*
            _ => None,
        }
    };
    (@ direct $map:ty) => { loop1::<$map>() };
    (@ formula $map:ty) => { <$map>::formula() };
}

/// [`table`] of the operators on integers.
macro_rules! integer_table {
    ($how:tt, $op:expr, $ty:ty, $signed:ty) => {
        table! { $how, $op; Integer<$ty>: Abs Sign Relu Relu6 Round; Integer<$signed>: Neg Square BitNot; }
    };
}

fn integer_loop<T: Int>(op: Unary) -> Option<LoopFn> {
    integer_table!(direct, op, T, T::Signed)
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
    ($($ty:ident)*) => {$(
        impl<const OP: u8> Float<OP, $ty> {
            fn formula() -> Option<Formula> {
                let whole = !listed(POSITIVE, OP) && !listed(RARE, OP);
                whole.then(|| record::<$ty, $ty, 1>(|[x]| function::<OP, _>(x)))
            }
        }
        impl<const OP: u8> Classify<OP, $ty> {
            fn formula() -> Option<Formula> {
                Some(record::<$ty, bool, 1>(|[x]| classify::<OP, _>(x)))
            }
        }
        impl<const OP: u8> Cplx<OP, $ty> {
            fn formula() -> Vec<Formula> {
                record_parts::<$ty, $ty, 2, 2>(|[re, im]| {
                    let z = complex_function::<OP, _>(Complex { re, im });
                    [z.re, z.im]
                })
            }
        }
        impl<const OP: u8> CplxPart<OP, $ty> {
            fn formula() -> Vec<Formula> {
                record_parts::<$ty, $ty, 2, 1>(|[re, im]| [complex_part::<OP, _>(Complex { re, im })])
            }
        }
    )*};
}

formulas!(f32 f64);

impl<const OP: u8> Integer<OP, AnyInt> {
    fn formula() -> Formula {
        record::<AnyInt, AnyInt, 1>(|[x]| whole::<OP, _>(x))
    }
}

/// The formula of `op` on elements of `dtype`; none for complex numbers and 16-bit floats, and for operators that are no formula.
pub fn unary_formula(op: Unary, dtype: DType) -> Option<&'static Formula> {
    static KEPT: Kept<{ Unary::ALL.len() }> = Kept::new();
    KEPT.get(op as usize, dtype, || match dtype {
        DType::F32 => formula32(op),
        DType::F64 => formula64(op),
        DType::Bool => (op == Unary::LogicalNot).then(|| record::<bool, bool, 1>(|[x]| !x)),
        _ => integer_table!(formula, op, AnyInt, AnyInt),
    })
}

macro_rules! parts_table {
    ($op:expr, $ty:ty) => {
        table! { formula, $op; Cplx<$ty>: Neg Sign Square Reciprocal Conj; CplxPart<$ty>: Abs Real Imag Angle; }
    };
}

/// The formulas of the parts of what `op` gives on complex numbers: of a complex number both, else one. Operand `p` of a formula is part `p`
/// of the number. None for operators that have no such formulas.
pub fn unary_parts(op: Unary, dtype: DType) -> Option<&'static [Formula]> {
    static KEPT: KeptParts<{ Unary::ALL.len() }> = KeptParts::new();
    if !dtype.is_complex() {
        return None;
    }
    let part = dtype.real();
    KEPT.get(op as usize, part, || if part == DType::F64 { parts_table!(op, f64) } else { parts_table!(op, f32) })
}

const _: () = assert!(size_of::<C64>() == 8 && size_of::<C128>() == 16);
