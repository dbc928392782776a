//! The algebra that elementwise functions are written over.
//!
//! A function of floats is generic over [`Algebra`], one of integers over [`Whole`], one of truth values over [`Mask`]. With numbers it is the body of the loops of every instruction set; with
//! [`Traced`](crate::formula::Traced) values, which record what is done with them, it gives a [`Formula`](crate::Formula), from
//! which code generators make their instructions. Every primitive is exact or rounded once, so all ways give the same bits.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// What comparisons give.
pub(crate) trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

/// The bits of a float, as an integer that wraps.
pub(crate) trait Word: Copy {
    type Mask: Mask;
    /// Keeps the low bits.
    fn of(v: i64) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn and(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    /// Shifts by fewer bits than there are.
    fn shl(self, by: u32) -> Self;
    /// Shifts by fewer bits than there are; 0 follows.
    fn shr(self, by: u32) -> Self;
    fn eq(self, b: Self) -> Self::Mask;
    /// Whether greater, as signed integers.
    fn gt(self, b: Self) -> Self::Mask;
}

/// A float: a number of 4 or 8 bytes, or the record of one.
pub(crate) trait Algebra:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    type Mask: Mask;
    type Word: Word<Mask = Self::Mask>;
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    /// The greatest finite value.
    const MAX: Self;
    /// The least positive normal value.
    const MIN_POSITIVE: Self;
    /// Bits behind the exponent.
    const DIGITS: u32;
    /// What the exponent's bits are of 1.
    const BIAS: i64;
    /// Added to an integer below a quarter of it, it has that integer in its low bits.
    const MAGIC: f64;
    /// The bits of √½.
    const SQRT_HALF: i64;
    fn of(v: f64) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    /// `self * b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn round_even(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn lt(self, b: Self) -> Self::Mask;
    fn le(self, b: Self) -> Self::Mask;
    fn eq(self, b: Self) -> Self::Mask;
    fn ne(self, b: Self) -> Self::Mask;
    /// `a` where the mask is true, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    fn bits(self) -> Self::Word;
    fn from_bits(bits: Self::Word) -> Self;

    #[inline(always)]
    fn of32(v: f32) -> Self {
        Self::of(f64::from(v))
    }
    #[inline(always)]
    fn gt(self, b: Self) -> Self::Mask {
        Algebra::lt(b, self)
    }
    #[inline(always)]
    fn ge(self, b: Self) -> Self::Mask {
        Algebra::le(b, self)
    }
    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        Algebra::ne(self, self)
    }
    #[inline(always)]
    fn is_finite(self) -> Self::Mask {
        Algebra::lt(self.abs(), Self::INFINITY)
    }
    /// The greater operand, NaN if either is; the first of equal ones (so of -0 and 0).
    #[inline(always)]
    fn max_nan(self, b: Self) -> Self {
        Self::select(!Algebra::ge(self, b) & Algebra::eq(self, self), b, self)
    }
    /// The lesser operand, NaN if either is; the first of equal ones (so of -0 and 0).
    #[inline(always)]
    fn min_nan(self, b: Self) -> Self {
        Self::select(!Algebra::le(self, b) & Algebra::eq(self, self), b, self)
    }
}

/// A float of 4 bytes.
pub(crate) trait Single: Algebra {
    type Wide: Double<Narrow = Self>;
    fn to_double(self) -> Self::Wide;
}

/// A float of 8 bytes.
pub(crate) trait Double: Algebra {
    type Narrow: Single<Wide = Self>;
    fn to_single(self) -> Self::Narrow;
}

/// An integer of any width that wraps: a number, or the record of one.
pub(crate) trait Whole: Copy {
    type Mask: Mask;
    fn of(v: i64) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    fn not(self) -> Self;
    fn lt(self, b: Self) -> Self::Mask;
    fn eq(self, b: Self) -> Self::Mask;
    /// `a` where the mask is true, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
}

impl Mask for bool {}

macro_rules! numbers {
    ($($float:ident $word:ident $unsigned:ident $digits:literal $magic:literal $sqrt_half:literal;)*) => {$(
        impl Word for $word {
            type Mask = bool;
            #[inline(always)]
            fn of(v: i64) -> $word { v as $word }
            #[inline(always)]
            fn add(self, b: $word) -> $word { self.wrapping_add(b) }
            #[inline(always)]
            fn sub(self, b: $word) -> $word { self.wrapping_sub(b) }
            #[inline(always)]
            fn and(self, b: $word) -> $word { self & b }
            #[inline(always)]
            fn xor(self, b: $word) -> $word { self ^ b }
            #[inline(always)]
            fn shl(self, by: u32) -> $word { self.wrapping_shl(by) }
            #[inline(always)]
            fn shr(self, by: u32) -> $word { (self as $unsigned).wrapping_shr(by) as $word }
            #[inline(always)]
            fn eq(self, b: $word) -> bool { self == b }
            #[inline(always)]
            fn gt(self, b: $word) -> bool { self > b }
        }
        impl Algebra for $float {
            type Mask = bool;
            type Word = $word;
            const ZERO: $float = 0.0;
            const ONE: $float = 1.0;
            const INFINITY: $float = $float::INFINITY;
            const MAX: $float = $float::MAX;
            const MIN_POSITIVE: $float = $float::MIN_POSITIVE;
            const DIGITS: u32 = $digits;
            const BIAS: i64 = $float::MAX_EXP as i64 - 1;
            const MAGIC: f64 = $magic;
            const SQRT_HALF: i64 = $sqrt_half;
            #[inline(always)]
            fn of(v: f64) -> $float { v as $float }
            #[inline(always)]
            fn abs(self) -> $float { $float::abs(self) }
            #[inline(always)]
            fn sqrt(self) -> $float { $float::sqrt(self) }
            #[inline(always)]
            fn mul_add(self, b: $float, c: $float) -> $float { $float::mul_add(self, b, c) }
            #[inline(always)]
            fn floor(self) -> $float { $float::floor(self) }
            #[inline(always)]
            fn ceil(self) -> $float { $float::ceil(self) }
            #[inline(always)]
            fn trunc(self) -> $float { $float::trunc(self) }
            #[inline(always)]
            fn round_even(self) -> $float { $float::round_ties_even(self) }
            #[inline(always)]
            fn copysign(self, sign: $float) -> $float { $float::copysign(self, sign) }
            #[inline(always)]
            fn lt(self, b: $float) -> bool { self < b }
            #[inline(always)]
            fn le(self, b: $float) -> bool { self <= b }
            #[inline(always)]
            fn eq(self, b: $float) -> bool { self == b }
            #[inline(always)]
            fn ne(self, b: $float) -> bool { self != b }
            #[inline(always)]
            fn select(mask: bool, a: $float, b: $float) -> $float { if mask { a } else { b } }
            #[inline(always)]
            fn bits(self) -> $word { self.to_bits() as $word }
            #[inline(always)]
            fn from_bits(bits: $word) -> $float { $float::from_bits(bits as $unsigned) }
        }
    )*};
}

numbers! {
    f32 i32 u32 23 12_582_912.0 0x3f35_04f3;
    f64 i64 u64 52 6_755_399_441_055_744.0 0x3fe6_a09e_667f_3bcd;
}

impl Single for f32 {
    type Wide = f64;
    #[inline(always)]
    fn to_double(self) -> f64 {
        f64::from(self)
    }
}

impl Double for f64 {
    type Narrow = f32;
    #[inline(always)]
    fn to_single(self) -> f32 {
        self as f32
    }
}

/// A polynomial whose coefficients are listed from the highest degree down.
#[inline(always)]
pub(crate) fn horner32<A: Single, const N: usize>(x: A, coefficients: [f32; N]) -> A {
    let mut acc = A::of32(coefficients[0]);
    let mut i = 1;
    while i < N {
        acc = acc.mul_add(x, A::of32(coefficients[i]));
        i += 1;
    }
    acc
}

/// A polynomial whose coefficients are listed from the highest degree down.
#[inline(always)]
pub(crate) fn horner<A: Double, const N: usize>(x: A, coefficients: [f64; N]) -> A {
    let mut acc = A::of(coefficients[0]);
    let mut i = 1;
    while i < N {
        acc = acc.mul_add(x, A::of(coefficients[i]));
        i += 1;
    }
    acc
}

/// 2^`k`, for the exponents of normal numbers.
#[inline(always)]
pub(crate) fn power_of_two<A: Algebra>(k: A::Word) -> A {
    A::from_bits(k.add(A::Word::of(A::BIAS)).shl(A::DIGITS))
}

/// `p` times 2^`k` in two factors, so that neither leaves the normal range. |k| < 2048.
#[inline(always)]
pub(crate) fn scaled<A: Algebra>(p: A, k: A::Word) -> A {
    // Half of a number that is not negative: shifts bring 0.
    const UP: i64 = 1024;
    let half = k.add(A::Word::of(2 * UP)).shr(1);
    let power = |k: A::Word, more: i64| A::from_bits(k.add(A::Word::of(A::BIAS + more)).shl(A::DIGITS));
    p * power(half, -UP) * power(k.sub(half), UP)
}

/// `k` and `m` of a positive normal number, which is 2^k m with √½ <= m <= √2.
#[inline(always)]
pub(crate) fn split<A: Algebra>(x: A) -> (A, A) {
    let one = A::BIAS << A::DIGITS;
    let bits = x.bits().add(A::Word::of(one - A::SQRT_HALF));
    let shifted = bits.shr(A::DIGITS).add(A::of(A::MAGIC).bits());
    let k = A::from_bits(shifted) - A::of(A::MAGIC + A::BIAS as f64);
    let m = A::from_bits(bits.and(A::Word::of((1 << A::DIGITS) - 1)).add(A::Word::of(A::SQRT_HALF)));
    (k, m)
}
