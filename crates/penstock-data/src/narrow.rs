//! Numbers of 8 bits and fewer that are stored and converted, and not computed with.
//!
//! Each takes one byte, whatever number of bits it has: TensorFlow and NumPy keep them so in memory. The floats are those of
//! OCP's specifications of 8 bits (`e4m3fn`, `e5m2`), of the microscaling formats (`e2m1fn`) and those without infinities and
//! negative zero (`fnuz`, Noune et al., 2022, "8-bit Numerical Formats for Deep Neural Networks").

use std::fmt;

use crate::DType;

/// How the byte of a narrow element is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NarrowFormat {
    /// A floating-point number of a sign, an exponent and a mantissa.
    Float(FloatFormat),
    /// An integer in the low bits, in two's complement where it is signed.
    Int {
        /// How many bits it has.
        bits: u32,
        /// Whether the highest of them is a sign.
        signed: bool,
    },
}

/// The layout of a narrow floating-point number. Above the mantissa lies the exponent, above that the sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatFormat {
    /// Bits of the mantissa.
    mantissa: u32,
    /// What is subtracted from the exponent that is stored.
    bias: i32,
    /// The bit of the sign.
    sign: u8,
    /// The magnitude of the greatest finite number.
    max: u8,
    /// What a magnitude that is too large becomes.
    overflow: u8,
    /// What stands for NaN.
    nan: u8,
    /// Whether there is a negative zero.
    negative_zero: bool,
}

const E4M3FN: FloatFormat =
    FloatFormat { mantissa: 3, bias: 7, sign: 0x80, max: 0x7e, overflow: 0x7f, nan: 0x7f, negative_zero: true };

/// The formats of the narrow dtypes, from the discriminant of [`DType::F8E4M3Fn`] on.
const FORMATS: [NarrowFormat; 10] = [
    NarrowFormat::Float(E4M3FN),
    NarrowFormat::Float(FloatFormat { max: 0x7b, overflow: 0x7c, nan: 0x7e, mantissa: 2, bias: 15, ..E4M3FN }),
    NarrowFormat::Float(FloatFormat { bias: 8, ..WITHOUT_NEGATIVE_ZERO }),
    NarrowFormat::Float(FloatFormat { bias: 11, ..WITHOUT_NEGATIVE_ZERO }),
    NarrowFormat::Float(FloatFormat { mantissa: 2, bias: 16, ..WITHOUT_NEGATIVE_ZERO }),
    NarrowFormat::Float(FloatFormat {
        mantissa: 1,
        bias: 1,
        sign: 0x8,
        max: 0x7,
        overflow: 0x7,
        nan: 0x8,
        negative_zero: true,
    }),
    NarrowFormat::Int { bits: 4, signed: true },
    NarrowFormat::Int { bits: 4, signed: false },
    NarrowFormat::Int { bits: 2, signed: true },
    NarrowFormat::Int { bits: 2, signed: false },
];

/// The code of negative zero stands for NaN. There is no other NaN, and there are no infinities.
const WITHOUT_NEGATIVE_ZERO: FloatFormat =
    FloatFormat { max: 0x7f, overflow: 0x80, nan: 0x80, negative_zero: false, ..E4M3FN };

impl FloatFormat {
    const fn decode(self, byte: u8) -> f32 {
        let (negative, magnitude) = (byte & self.sign != 0, byte & (self.sign - 1));
        let nothing = magnitude == 0 && negative;
        if nothing && !self.negative_zero {
            return f32::NAN;
        }
        let value = if magnitude > self.max {
            if magnitude == self.overflow && self.overflow != self.nan { f32::INFINITY } else { f32::NAN }
        } else {
            let (exponent, fraction) = ((magnitude >> self.mantissa) as i32, magnitude & ((1 << self.mantissa) - 1));
            // Numbers whose stored exponent is 0 have no leading one, and the quantum of those of exponent 1.
            let (quanta, exponent) =
                if exponent == 0 { (fraction, 1) } else { (fraction + (1 << self.mantissa), exponent) };
            quanta as f32 * power_of_two(exponent - self.bias - self.mantissa as i32)
        };
        if negative { -value } else { value }
    }

    /// Rounds to the nearest, ties to even.
    fn encode(self, value: f32) -> u8 {
        if value.is_nan() {
            return self.nan | if value.is_sign_negative() && self.negative_zero { self.sign } else { 0 };
        }
        // The exponent of the number, but that of the smallest normal number for those below.
        let (magnitude, least) = (value.abs(), 1 - self.bias);
        let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(least);
        let quantum = power_of_two(exponent - self.mantissa as i32);
        let quanta = if magnitude.is_finite() { (magnitude / quantum).round_ties_even() as u32 } else { 0 };
        // A quantum more than the mantissa holds carries into the exponent, as it should.
        let code = (((exponent - least) as u32) << self.mantissa).saturating_add(quanta);
        let fits = magnitude.is_finite() && code <= u32::from(self.max);
        let code = if fits { code as u8 } else { self.overflow };
        let signed = value.is_sign_negative() && (code != 0 || self.negative_zero);
        code | if signed { self.sign } else { 0 }
    }
}

/// 2 to the power of `exponent`, which is one of normal numbers.
const fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

impl NarrowFormat {
    /// The format of a dtype, where it is narrow.
    pub const fn of(dtype: DType) -> Option<NarrowFormat> {
        match dtype.is_narrow() {
            true => Some(FORMATS[dtype as usize - DType::F8E4M3Fn as usize]),
            false => None,
        }
    }

    /// The number that a byte stands for. Bits above those of the format do not count.
    pub const fn decode(self, byte: u8) -> f32 {
        match self {
            NarrowFormat::Float(format) => format.decode(byte),
            NarrowFormat::Int { bits, signed } => {
                let unused = 8 - bits;
                let high = byte << unused;
                if signed { ((high as i8) >> unused) as f32 } else { (high >> unused) as f32 }
            }
        }
    }

    /// The byte of a number. Floats round to the nearest, ties to even; what is too large becomes infinite, else NaN, else the greatest
    /// number, whichever the format has. Integers drop the fraction and are clamped; NaN gives 0.
    pub fn encode(self, value: f32) -> u8 {
        match self {
            NarrowFormat::Float(format) => format.encode(value),
            NarrowFormat::Int { bits, signed } => {
                let (low, high) =
                    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
                // Of NaN and of what is too large `as` makes 0 and the limits.
                self.wrap(i64::from((value as i32).clamp(low, high)))
            }
        }
    }

    /// The byte of an integer: of an integer format the low bits, and the nearest number of a floating-point one.
    pub fn wrap(self, value: i64) -> u8 {
        match self {
            NarrowFormat::Float(format) => format.encode(value as f32),
            // The other bits of the byte are 0 for negative numbers too, as `ml_dtypes` stores them.
            NarrowFormat::Int { bits, .. } => value as u8 & (u8::MAX >> (8 - bits)),
        }
    }
}

/// Rounds to `f32` so that a second rounding to a narrower type is as good as a single one: an
/// inexact result has its lowest bit set.
#[inline(always)]
pub fn round_to_odd(v: f64) -> f32 {
    let nearest = v as f32;
    let back = f64::from(nearest);
    let bits = nearest.to_bits();
    // Step towards `v` if rounding went away from zero, then mark the inexact result.
    let toward = if back.abs() > v.abs() { bits.wrapping_sub(1) } else { bits };
    let inexact = back != v && nearest.is_finite() && !v.is_nan();
    f32::from_bits(if inexact { toward | 1 } else { bits })
}

/// One element of a narrow dtype, which is given by its discriminant.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Narrow<const D: u8>(u8);

// SAFETY: a `u8`, of which every value is one.
#[expect(unsafe_code, reason = "bytemuck derives neither for a type with a parameter that no bytes depend on")]
unsafe impl<const D: u8> bytemuck::Zeroable for Narrow<D> {}
// SAFETY: as above, with the layout of `u8`.
#[expect(unsafe_code, reason = "bytemuck derives neither for a type with a parameter that no bytes depend on")]
unsafe impl<const D: u8> bytemuck::Pod for Narrow<D> {}

impl<const D: u8> Narrow<D> {
    /// How its byte is read.
    pub const FORMAT: NarrowFormat = FORMATS[D as usize - DType::F8E4M3Fn as usize];

    /// The values of all bytes.
    const VALUES: [f32; 256] = {
        let mut values = [0.0; 256];
        let mut byte = 0;
        while byte < 256 {
            values[byte] = Self::FORMAT.decode(byte as u8);
            byte += 1;
        }
        values
    };

    /// The element of a byte.
    #[inline]
    pub const fn from_byte(byte: u8) -> Self {
        Narrow(byte)
    }

    /// The byte.
    #[inline]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The number, which `f32` holds exactly.
    #[inline]
    pub fn to_f32(self) -> f32 {
        Self::VALUES[usize::from(self.0)]
    }

    /// The nearest number, as [`NarrowFormat::encode`] finds it.
    #[inline]
    pub fn from_f32(value: f32) -> Self {
        Narrow(Self::FORMAT.encode(value))
    }

    /// The same, rounded once.
    #[inline]
    pub fn from_f64(value: f64) -> Self {
        Self::from_f32(match Self::FORMAT {
            NarrowFormat::Float(_) => round_to_odd(value),
            NarrowFormat::Int { .. } => value.trunc() as f32,
        })
    }
}

impl<const D: u8> PartialEq for Narrow<D> {
    fn eq(&self, other: &Self) -> bool {
        self.to_f32() == other.to_f32()
    }
}

impl<const D: u8> fmt::Debug for Narrow<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_f32().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DTypeSet;

    fn formats() -> impl Iterator<Item = (DType, NarrowFormat)> {
        DTypeSet::NARROW.iter().map(|d| (d, NarrowFormat::of(d).expect("a format")))
    }

    #[test]
    fn every_number_converts_to_itself() {
        for (dtype, format) in formats() {
            let bits = match format {
                NarrowFormat::Int { bits, .. } => bits,
                NarrowFormat::Float(float) => float.sign.trailing_zeros() + 1,
            };
            for byte in 0..=u8::MAX >> (8 - bits) {
                let value = format.decode(byte);
                let back = format.encode(value);
                assert!(value.is_nan() || format.decode(back) == value, "{dtype} {byte:#x} is {value}, then {back:#x}");
            }
        }
    }

    #[test]
    fn what_lies_between_two_numbers_becomes_the_nearer_or_the_even_one() {
        for (dtype, format) in formats() {
            let NarrowFormat::Float(float) = format else { continue };
            for code in 0..float.max {
                let (low, high) = (format.decode(code), format.decode(code + 1));
                let middle = (low + high) / 2.0;
                let even = code + code % 2;
                assert_eq!(format.encode(middle), even, "{dtype}: {middle} between {low} and {high}");
                assert_eq!(format.encode(middle.next_down()), code, "{dtype}: below {middle}");
                assert_eq!(format.encode(middle.next_up()), code + 1, "{dtype}: above {middle}");
                let minus = format.encode(-middle);
                assert_eq!(format.decode(minus), -format.decode(even), "{dtype}: -{middle}");
            }
        }
    }

    #[test]
    fn the_greatest_numbers_and_what_is_beyond_are_those_of_the_specifications() {
        let max = |d: DType| match NarrowFormat::of(d) {
            Some(format @ NarrowFormat::Float(float)) => format.decode(float.max),
            _ => panic!("{d} is no float"),
        };
        let far = |d: DType| NarrowFormat::of(d).map(|f| f.decode(f.encode(1e9))).expect("a format");
        assert_eq!((max(DType::F8E4M3Fn), far(DType::F8E4M3Fn).is_nan()), (448.0, true));
        assert_eq!((max(DType::F8E5M2), far(DType::F8E5M2)), (57344.0, f32::INFINITY));
        assert_eq!((max(DType::F8E4M3Fnuz), far(DType::F8E4M3Fnuz).is_nan()), (240.0, true));
        assert_eq!((max(DType::F8E4M3B11Fnuz), far(DType::F8E4M3B11Fnuz).is_nan()), (30.0, true));
        assert_eq!((max(DType::F8E5M2Fnuz), far(DType::F8E5M2Fnuz).is_nan()), (57344.0, true));
        assert_eq!((max(DType::F4E2M1Fn), far(DType::F4E2M1Fn)), (6.0, 6.0));
    }

    #[test]
    fn integers_wrap_where_integers_become_them_and_are_clamped_where_floats_do() {
        let [i4, u4, i2, u2] =
            [DType::I4, DType::U4, DType::I2, DType::U2].map(|d| NarrowFormat::of(d).expect("a format"));
        assert_eq!([i4.wrap(7), i4.wrap(8), i4.wrap(-9), i4.wrap(16)].map(|b| i4.decode(b)), [7.0, -8.0, 7.0, 0.0]);
        assert_eq!([u4.wrap(15), u4.wrap(17), u4.wrap(-1)].map(|b| u4.decode(b)), [15.0, 1.0, 15.0]);
        assert_eq!([i2.wrap(1), i2.wrap(2), u2.wrap(5)], [1, 2, 1]);
        assert_eq!([i4.encode(99.0), i4.encode(-99.0), i4.encode(-2.9)].map(|b| i4.decode(b)), [7.0, -8.0, -2.0]);
        assert_eq!([u4.encode(-3.0), u4.encode(1e20), u4.encode(f32::NAN)], [0, 15, 0]);
        assert_eq!(u2.encode(f32::INFINITY), 3);
        // As an `f32` it would be 3.
        assert_eq!(Narrow::<{ DType::U4 as u8 }>::from_f64(3.0f64.next_down()).byte(), 2);
    }
}
