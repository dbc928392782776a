//! Element types.

use std::fmt;

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;

use crate::narrow::Narrow;

/// `Complex<f32>`, the element type of [`DType::C64`].
pub type C64 = Complex<f32>;
/// `Complex<f64>`, the element type of [`DType::C128`].
pub type C128 = Complex<f64>;

/// The element type of a tensor.
///
/// The discriminants are stable: they index tables and travel in generated code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool = 0,
    /// Signed 8-bit integer.
    I8 = 1,
    /// Signed 16-bit integer.
    I16 = 2,
    /// Signed 32-bit integer.
    I32 = 3,
    /// Signed 64-bit integer.
    I64 = 4,
    /// Unsigned 8-bit integer.
    U8 = 5,
    /// Unsigned 16-bit integer.
    U16 = 6,
    /// Unsigned 32-bit integer.
    U32 = 7,
    /// Unsigned 64-bit integer.
    U64 = 8,
    /// IEEE 754 half precision.
    F16 = 9,
    /// bfloat16: the upper half of an `f32`.
    Bf16 = 10,
    /// IEEE 754 single precision.
    F32 = 11,
    /// IEEE 754 double precision.
    F64 = 12,
    /// A pair of `f32`.
    C64 = 13,
    /// A pair of `f64`.
    C128 = 14,
    /// A byte string of any length.
    Str = 15,
    /// A list of tensors; always a scalar.
    Variant = 16,
    /// A handle of a variable or another resource. It names what programs may ask for; no tensor is of it.
    Resource = 17,
    /// 8 bits, 4 of exponent, 3 of mantissa, without infinities: one of the narrow dtypes, which are stored and converted, and not computed with.
    F8E4M3Fn = 18,
    /// 8 bits, 5 of exponent, 2 of mantissa; narrow.
    F8E5M2 = 19,
    /// 8 bits, 4 of exponent, 3 of mantissa, without infinities and negative zero; narrow.
    F8E4M3Fnuz = 20,
    /// 8 bits, 4 of exponent with a bias of 11, 3 of mantissa, without infinities and negative zero; narrow.
    F8E4M3B11Fnuz = 21,
    /// 8 bits, 5 of exponent, 2 of mantissa, without infinities and negative zero; narrow.
    F8E5M2Fnuz = 22,
    /// 4 bits, 2 of exponent, 1 of mantissa, without infinities and NaN; narrow.
    F4E2M1Fn = 23,
    /// Signed 4-bit integer; narrow.
    I4 = 24,
    /// Unsigned 4-bit integer; narrow.
    U4 = 25,
    /// Signed 2-bit integer; narrow.
    I2 = 26,
    /// Unsigned 2-bit integer; narrow.
    U2 = 27,
}

/// Every dtype, in the order of the discriminants.
pub const ALL_DTYPES: [DType; 28] = {
    use DType::*;
    [
        Bool,
        I8,
        I16,
        I32,
        I64,
        U8,
        U16,
        U32,
        U64,
        F16,
        Bf16,
        F32,
        F64,
        C64,
        C128,
        Str,
        Variant,
        Resource,
        F8E4M3Fn,
        F8E5M2,
        F8E4M3Fnuz,
        F8E4M3B11Fnuz,
        F8E5M2Fnuz,
        F4E2M1Fn,
        I4,
        U4,
        I2,
        U2,
    ]
};

/// `(short name of the text form, TensorFlow's name, NumPy's name)` by discriminant.
const NAMES: [(&str, &str, &str); 28] = [
    ("bool", "bool", "bool"),
    ("i8", "int8", "int8"),
    ("i16", "int16", "int16"),
    ("i32", "int32", "int32"),
    ("i64", "int64", "int64"),
    ("u8", "uint8", "uint8"),
    ("u16", "uint16", "uint16"),
    ("u32", "uint32", "uint32"),
    ("u64", "uint64", "uint64"),
    ("f16", "float16", "float16"),
    ("bf16", "bfloat16", "bfloat16"),
    ("f32", "float32", "float32"),
    ("f64", "float64", "float64"),
    ("c64", "complex64", "complex64"),
    ("c128", "complex128", "complex128"),
    ("str", "string", "object"),
    ("variant", "variant", "object"),
    ("resource", "resource", "object"),
    ("f8e4m3fn", "float8_e4m3fn", "float8_e4m3fn"),
    ("f8e5m2", "float8_e5m2", "float8_e5m2"),
    ("f8e4m3fnuz", "float8_e4m3fnuz", "float8_e4m3fnuz"),
    ("f8e4m3b11fnuz", "float8_e4m3b11fnuz", "float8_e4m3b11fnuz"),
    ("f8e5m2fnuz", "float8_e5m2fnuz", "float8_e5m2fnuz"),
    ("f4e2m1fn", "float4_e2m1fn", "float4_e2m1fn"),
    ("i4", "int4", "int4"),
    ("u4", "uint4", "uint4"),
    ("i2", "int2", "int2"),
    ("u2", "uint2", "uint2"),
];

impl DType {
    /// Bytes of one element; 0 for [`DType::Str`], [`DType::Variant`] and [`DType::Resource`], whose elements are not stored
    /// in a flat buffer.
    #[inline]
    pub const fn size(self) -> usize {
        const SIZES: [u8; 18] = [1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 0, 0, 0];
        if self.is_narrow() { 1 } else { SIZES[self as usize] as usize }
    }

    /// The name in the text form of graphs: `f32`, `i64`, `str`.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize].0
    }

    /// TensorFlow's name: `float32`, `int64`, `string`.
    pub const fn tf_name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// NumPy's name: as TensorFlow's, but `object` for strings and lists. Those of `bfloat16` and of narrow dtypes are in the package
    /// `ml_dtypes`.
    pub const fn numpy_name(self) -> &'static str {
        NAMES[self as usize].2
    }

    /// The dtype of a text-form or TensorFlow name.
    pub fn from_name(name: &str) -> Option<DType> {
        ALL_DTYPES.into_iter().find(|d| d.name() == name || d.tf_name() == name)
    }

    /// The dtype of a discriminant.
    pub fn from_index(index: u8) -> Option<DType> {
        ALL_DTYPES.get(index as usize).copied()
    }

    /// Stored and converted, and not computed with: floats and integers of 8 bits and fewer that are not those of a machine. Each takes a
    /// byte. None is an integer, a float or numeric by the other predicates, which say what is computed with.
    pub const fn is_narrow(self) -> bool {
        self as u8 >= DType::F8E4M3Fn as u8
    }

    /// Signed or unsigned integer; `bool` is not one.
    pub const fn is_integer(self) -> bool {
        self as u8 >= DType::I8 as u8 && self as u8 <= DType::U64 as u8
    }

    /// Unsigned integer.
    pub const fn is_unsigned(self) -> bool {
        self as u8 >= DType::U8 as u8 && self as u8 <= DType::U64 as u8
    }

    /// Real floating point, of any width.
    pub const fn is_float(self) -> bool {
        self as u8 >= DType::F16 as u8 && self as u8 <= DType::F64 as u8
    }

    /// `c64` or `c128`.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C64 | DType::C128)
    }

    /// Floating point or complex: the dtypes that gradients are of.
    pub const fn is_differentiable(self) -> bool {
        self.is_float() || self.is_complex()
    }

    /// Whether values of this dtype have cotangents: what is differentiable, and lists, which may hold it.
    pub const fn carries_cotangents(self) -> bool {
        self.is_differentiable() || matches!(self, DType::Variant)
    }

    /// Integer, floating point or complex.
    pub const fn is_numeric(self) -> bool {
        self.is_integer() || self.is_float() || self.is_complex()
    }

    /// The dtype of the real part: `f32` for `c64`, itself for a real dtype.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of dtypes, as a bit mask: what an operator accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DTypeSet(u32);

impl DTypeSet {
    /// No dtype.
    pub const NONE: DTypeSet = DTypeSet(0);
    /// Every dtype of arrays: all but lists and resources.
    pub const ANY: DTypeSet = DTypeSet(0xffff).or(DTypeSet::NARROW);
    /// Every dtype of tensors: all but resources.
    pub const ALL: DTypeSet = DTypeSet(0x1ffff).or(DTypeSet::NARROW);
    /// What is stored and converted, and not computed with ([`DType::is_narrow`]).
    pub const NARROW: DTypeSet = DTypeSet(0xffc0000);
    /// Narrow floating point of 8 bits.
    pub const FLOAT8: DTypeSet = DTypeSet(0x7c0000);
    /// Lists only.
    pub const VARIANT: DTypeSet = DTypeSet::of(&[DType::Variant]);
    /// Booleans only.
    pub const BOOL: DTypeSet = DTypeSet::of(&[DType::Bool]);
    /// Signed and unsigned integers.
    pub const INTEGER: DTypeSet = DTypeSet(0x1fe);
    /// Real floating point.
    pub const FLOAT: DTypeSet = DTypeSet(0x1e00);
    /// Real floating point of 4 and 8 bytes.
    pub const WIDE_FLOAT: DTypeSet = DTypeSet::of(&[DType::F32, DType::F64]);
    /// Complex.
    pub const COMPLEX: DTypeSet = DTypeSet(0x6000);
    /// Real floating point and complex.
    pub const INEXACT: DTypeSet = DTypeSet(0x7e00);
    /// Integer and real floating point: what can be ordered.
    pub const REAL: DTypeSet = DTypeSet(0x1ffe);
    /// Integer, floating point and complex.
    pub const NUMERIC: DTypeSet = DTypeSet(0x7ffe);
    /// Booleans and numbers: everything in a flat buffer that is computed with.
    pub const PLAIN: DTypeSet = DTypeSet(0x7fff);
    /// Everything in a flat buffer.
    pub const FLAT: DTypeSet = DTypeSet::PLAIN.or(DTypeSet::NARROW);
    /// Strings only.
    pub const STR: DTypeSet = DTypeSet::of(&[DType::Str]);
    /// The two index dtypes, `i32` and `i64`.
    pub const INDEX: DTypeSet = DTypeSet::of(&[DType::I32, DType::I64]);

    /// The set of the listed dtypes.
    pub const fn of(list: &[DType]) -> DTypeSet {
        let mut bits = 0;
        let mut i = 0;
        while i < list.len() {
            bits |= 1 << list[i] as u32;
            i += 1;
        }
        DTypeSet(bits)
    }

    /// The union of two sets.
    pub const fn or(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 | other.0)
    }

    /// Whether `dtype` is in the set.
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 >> dtype as u32 & 1 == 1
    }

    /// The members, in the order of the discriminants.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        ALL_DTYPES.into_iter().filter(move |&d| self.contains(d))
    }
}

impl fmt::Display for DTypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            f.write_str(d.tf_name())?;
        }
        Ok(())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is stored as the elements of a tensor.
///
/// Sealed: a type's bytes are reinterpreted as this dtype, which is sound for exactly these types.
/// `bool` is not `Pod`; boolean tensors are accessed as [`Bool8`].
pub trait Element: Pod + Send + Sync + fmt::Debug + PartialEq + sealed::Sealed {
    /// The dtype whose elements are of this type.
    const DTYPE: DType;
}

/// One boolean element: a byte that is 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Bool8(u8);

impl Bool8 {
    /// The element of a `bool`.
    #[inline]
    pub const fn new(value: bool) -> Bool8 {
        Bool8(value as u8)
    }

    /// The value; any non-zero byte is true.
    #[inline]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl fmt::Debug for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident),* $(,)?) => {$(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements! {
    Bool8 => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => Bf16, f32 => F32, f64 => F64, C64 => C64, C128 => C128,
}

impl<const D: u8> sealed::Sealed for Narrow<D> {}
impl<const D: u8> Element for Narrow<D> {
    const DTYPE: DType = ALL_DTYPES[D as usize];
}

/// Runs `$body` with `$T` bound to the element type of a runtime dtype, for the dtypes of one
/// family (`plain`, `narrow`, `numeric`, `real`, `integer`, `float`, `inexact`, `complex`); any other dtype
/// takes the `else` arm.
///
/// ```
/// use penstock_data::{DType, with_dtype};
/// let bytes = with_dtype!(numeric, DType::F64, T => std::mem::size_of::<T>(), else 0);
/// assert_eq!(bytes, 8);
/// ```
#[macro_export]
macro_rules! with_dtype {
    (@arm $dtype:expr, $T:ident, $body:expr, $other:expr; $($variant:ident = $ty:ty),*) => {
        match $dtype {
            $($crate::DType::$variant => { type $T = $ty; $body })*
            #[allow(unreachable_patterns)]
            _ => $other,
        }
    };
    (plain, $d:expr, $T:ident => $body:expr, else $o:expr) => {
        $crate::with_dtype!(@arm $d, $T, $body, $o; Bool = $crate::Bool8, I8 = i8, I16 = i16, I32 = i32, I64 = i64,
            U8 = u8, U16 = u16, U32 = u32, U64 = u64, F16 = $crate::f16, Bf16 = $crate::bf16, F32 = f32, F64 = f64,
            C64 = $crate::C64, C128 = $crate::C128)
    };
    (narrow, $d:expr, $T:ident => $body:expr, else $o:expr) => {
        $crate::with_dtype!(@arm $d, $T, $body, $o; F8E4M3Fn = $crate::Narrow<18>, F8E5M2 = $crate::Narrow<19>,
            F8E4M3Fnuz = $crate::Narrow<20>, F8E4M3B11Fnuz = $crate::Narrow<21>, F8E5M2Fnuz = $crate::Narrow<22>,
            F4E2M1Fn = $crate::Narrow<23>, I4 = $crate::Narrow<24>, U4 = $crate::Narrow<25>, I2 = $crate::Narrow<26>,
            U2 = $crate::Narrow<27>)
    };
    (numeric, $d:expr, $T:ident => $body:expr, else $o:expr) => {
        $crate::with_dtype!(@arm $d, $T, $body, $o; I8 = i8, I16 = i16, I32 = i32, I64 = i64,
            U8 = u8, U16 = u16, U32 = u32, U64 = u64, F16 = $crate::f16, Bf16 = $crate::bf16, F32 = f32, F64 = f64,
            C64 = $crate::C64, C128 = $crate::C128)
    };
    (real, $d:expr, $T:ident => $body:expr, else $o:expr) => {
        $crate::with_dtype!(@arm $d, $T, $body, $o; I8 = i8, I16 = i16, I32 = i32, I64 = i64,
            U8 = u8, U16 = u16, U32 = u32, U64 = u64, F16 = $crate::f16, Bf16 = $crate::bf16, F32 = f32, F64 = f64)
    };
    (integer, $d:expr, $T:ident => $body:expr, else $o:expr) => {
        $crate::with_dtype!(@arm $d, $T, $body, $o; I8 = i8, I16 = i16, I32 = i32, I64 = i64,
            U8 = u8, U16 = u16, U32 = u32, U64 = u64)
    };
    (float, $d:expr, $T:ident => $body:expr, else $o:expr) => {
        $crate::with_dtype!(@arm $d, $T, $body, $o; F16 = $crate::f16, Bf16 = $crate::bf16, F32 = f32, F64 = f64)
    };
    (inexact, $d:expr, $T:ident => $body:expr, else $o:expr) => {
        $crate::with_dtype!(@arm $d, $T, $body, $o; F16 = $crate::f16, Bf16 = $crate::bf16, F32 = f32, F64 = f64,
            C64 = $crate::C64, C128 = $crate::C128)
    };
    (complex, $d:expr, $T:ident => $body:expr, else $o:expr) => {
        $crate::with_dtype!(@arm $d, $T, $body, $o; C64 = $crate::C64, C128 = $crate::C128)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discriminants_index_the_tables() {
        for (i, d) in ALL_DTYPES.into_iter().enumerate() {
            assert_eq!(d as usize, i);
            assert_eq!(DType::from_index(i as u8), Some(d));
            assert_eq!(DType::from_name(d.name()), Some(d));
            assert_eq!(DType::from_name(d.tf_name()), Some(d));
        }
        assert_eq!(DType::from_index(28), None);
    }

    #[test]
    fn element_sizes_agree_with_dtype_sizes() {
        for d in DTypeSet::PLAIN.iter() {
            let size = with_dtype!(plain, d, T => std::mem::size_of::<T>(), else unreachable!());
            assert_eq!(size, d.size(), "{d}");
        }
        for d in DTypeSet::NARROW.iter() {
            let of =
                with_dtype!(narrow, d, T => (<T as Element>::DTYPE, std::mem::size_of::<T>()), else unreachable!());
            assert_eq!(of, (d, d.size()), "{d}");
        }
    }

    #[test]
    fn named_sets_agree_with_the_predicates() {
        for d in ALL_DTYPES {
            assert_eq!(DTypeSet::INTEGER.contains(d), d.is_integer(), "{d}");
            assert_eq!(DTypeSet::FLOAT.contains(d), d.is_float(), "{d}");
            assert_eq!(DTypeSet::COMPLEX.contains(d), d.is_complex(), "{d}");
            assert_eq!(DTypeSet::INEXACT.contains(d), d.is_differentiable(), "{d}");
            assert_eq!(DTypeSet::NUMERIC.contains(d), d.is_numeric(), "{d}");
            assert_eq!(DTypeSet::FLAT.contains(d), d.size() > 0, "{d}");
            assert_eq!(DTypeSet::NARROW.contains(d), d.is_narrow(), "{d}");
            assert_eq!(DTypeSet::FLOAT8.contains(d), d.tf_name().starts_with("float8"), "{d}");
            assert_eq!(DTypeSet::ANY.contains(d), !matches!(d, DType::Variant | DType::Resource), "{d}");
            assert_eq!(DTypeSet::ALL.contains(d), d != DType::Resource, "{d}");
        }
    }
}
