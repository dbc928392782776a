//! What kernels need to know of element types: how floats of any width widen to the type they are
//! computed in, and integer arithmetic that wraps.

use penstock_data::{Element, bf16, f16};

use crate::algebra::Whole;
use crate::arch::Level;
use crate::math::Math;

/// A real floating-point element and the type that it is computed in.
pub(crate) trait Real: Element {
    /// `f32` for 16-bit floats, itself otherwise.
    type Wide: Math + Element;
    /// The least finite value.
    const LOWEST: Self;
    fn widen(self) -> Self::Wide;
    /// Rounds to nearest, ties to even.
    fn narrow(wide: Self::Wide) -> Self;
}

impl Real for f32 {
    type Wide = f32;
    const LOWEST: f32 = f32::MIN;
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
    #[inline(always)]
    fn narrow(wide: f32) -> f32 {
        wide
    }
}

impl Real for f64 {
    type Wide = f64;
    const LOWEST: f64 = f64::MIN;
    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(wide: f64) -> f64 {
        wide
    }
}

impl Real for f16 {
    type Wide = f32;
    const LOWEST: f16 = f16::MIN;
    #[inline(always)]
    fn widen(self) -> f32 {
        const EXPONENT: u32 = 0x7c00 << 13;
        let bits = u32::from(self.to_bits());
        let shifted = (bits & 0x7fff) << 13;
        let exponent = shifted & EXPONENT;
        let normal = shifted + (112 << 23);
        let special = normal + (112 << 23);
        let subnormal = (f32::from_bits(normal + (1 << 23)) - f32::from_bits(113 << 23)).to_bits();
        let magnitude = if exponent == EXPONENT {
            special
        } else if exponent == 0 {
            subnormal
        } else {
            normal
        };
        f32::from_bits(magnitude | (bits & 0x8000) << 16)
    }
    #[inline(always)]
    fn narrow(wide: f32) -> f16 {
        const OVERFLOW: u32 = 143 << 23;
        const SUBNORMAL_MAGIC: u32 = 126 << 23;
        let bits = wide.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let special = if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
        let subnormal =
            (f32::from_bits(magnitude) + f32::from_bits(SUBNORMAL_MAGIC)).to_bits().wrapping_sub(SUBNORMAL_MAGIC);
        let odd = magnitude >> 13 & 1;
        let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
        let half = if magnitude >= OVERFLOW {
            special
        } else if magnitude < 113 << 23 {
            subnormal
        } else {
            normal
        };
        f16::from_bits((half | bits >> 16 & 0x8000) as u16)
    }
}

impl Real for bf16 {
    type Wide = f32;
    const LOWEST: bf16 = bf16::MIN;
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
    #[inline(always)]
    fn narrow(wide: f32) -> bf16 {
        let bits = wide.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        let quiet = bits >> 16 | 0x40;
        bf16::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { quiet } else { rounded } as u16)
    }
}

/// An integer element; arithmetic wraps.
pub(crate) trait Int: Element + Ord {
    /// The signed type of this width, for what does not depend on the sign.
    type Signed: Int;
    /// The best instruction set for which loops have a copy: programs count and index in `i32` and `i64`.
    const LEVEL: Level;
    const ZERO: Self;
    const ONE: Self;
    const LOWEST: Self;
    const HIGHEST: Self;
    const BITS: u32;
    const SIGNED: bool;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    /// Quotient rounded to zero; `b` is not zero.
    fn quot(self, b: Self) -> Self;
    /// Remainder with the sign of `self`; `b` is not zero.
    fn rem(self, b: Self) -> Self;
    fn not(self) -> Self;
    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    /// Shifts by `by < BITS`.
    fn shl(self, by: u32) -> Self;
    /// Shifts by `by < BITS`, copying the sign of signed types.
    fn shr(self, by: u32) -> Self;
    fn to_i64(self) -> i64;
    /// Keeps the low bits.
    fn from_i64(v: i64) -> Self;
    /// The value clamped to 0 ..= BITS.
    fn shift_amount(self) -> u32;
}

macro_rules! ints {
    ($($ty:ident $signed:ident $level:ident),*) => {$(
        impl Int for $ty {
            type Signed = $signed;
            const LEVEL: Level = Level::$level;
            const ZERO: $ty = 0;
            const ONE: $ty = 1;
            const LOWEST: $ty = $ty::MIN;
            const HIGHEST: $ty = $ty::MAX;
            const BITS: u32 = $ty::BITS;
            #[allow(unused_comparisons)]
            const SIGNED: bool = $ty::MIN != 0;
            #[inline(always)]
            fn add(self, b: $ty) -> $ty { self.wrapping_add(b) }
            #[inline(always)]
            fn sub(self, b: $ty) -> $ty { self.wrapping_sub(b) }
            #[inline(always)]
            fn mul(self, b: $ty) -> $ty { self.wrapping_mul(b) }
            #[inline(always)]
            fn quot(self, b: $ty) -> $ty { if b == 0 { 0 } else { self.wrapping_div(b) } }
            #[inline(always)]
            fn rem(self, b: $ty) -> $ty { if b == 0 { 0 } else { self.wrapping_rem(b) } }
            #[inline(always)]
            fn not(self) -> $ty { !self }
            #[inline(always)]
            fn and(self, b: $ty) -> $ty { self & b }
            #[inline(always)]
            fn or(self, b: $ty) -> $ty { self | b }
            #[inline(always)]
            fn xor(self, b: $ty) -> $ty { self ^ b }
            #[inline(always)]
            fn shl(self, by: u32) -> $ty { self.wrapping_shl(by) }
            #[inline(always)]
            fn shr(self, by: u32) -> $ty { self.wrapping_shr(by) }
            #[inline(always)]
            fn to_i64(self) -> i64 { self as i64 }
            #[inline(always)]
            fn from_i64(v: i64) -> $ty { v as $ty }
            #[inline(always)]
            fn shift_amount(self) -> u32 {
                #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
                let amount = if self < 0 { 0 } else if self >= $ty::BITS as $ty { $ty::BITS } else { self as u32 };
                amount
            }
        }
    )*};
}

ints! {
    i8 i8 V3, i16 i16 V3, i32 i32 V4, i64 i64 V4,
    u8 i8 V3, u16 i16 V3, u32 i32 V3, u64 i64 V3
}

impl<T: Int> Whole for T {
    type Mask = bool;
    #[inline(always)]
    fn of(v: i64) -> T {
        T::from_i64(v)
    }
    #[inline(always)]
    fn add(self, b: T) -> T {
        Int::add(self, b)
    }
    #[inline(always)]
    fn sub(self, b: T) -> T {
        Int::sub(self, b)
    }
    #[inline(always)]
    fn mul(self, b: T) -> T {
        Int::mul(self, b)
    }
    #[inline(always)]
    fn and(self, b: T) -> T {
        Int::and(self, b)
    }
    #[inline(always)]
    fn or(self, b: T) -> T {
        Int::or(self, b)
    }
    #[inline(always)]
    fn xor(self, b: T) -> T {
        Int::xor(self, b)
    }
    #[inline(always)]
    fn not(self) -> T {
        Int::not(self)
    }
    #[inline(always)]
    fn lt(self, b: T) -> bool {
        self < b
    }
    #[inline(always)]
    fn eq(self, b: T) -> bool {
        self == b
    }
    #[inline(always)]
    fn select(mask: bool, a: T, b: T) -> T {
        if mask { a } else { b }
    }
}
