//! Which dtype two dtypes promote to, by the array API standard.

use crate::DType;

impl DType {
    /// The dtype that can hold the values of both, within a kind: integers, and floating-point numbers real and
    /// complex. `None` for two kinds, and for `uint64` with a signed integer.
    ///
    /// Source: <https://data-apis.org/array-api/latest/API_specification/type_promotion.html>. The standard knows
    /// no floats of 16 bits; they promote to `float32` where they meet each other.
    pub fn promote(self, other: DType) -> Option<DType> {
        let (a, b) = (self, other);
        if a == b {
            return Some(a);
        }
        let (small, large) = if a.size() <= b.size() { (a, b) } else { (b, a) };
        if a.is_integer() && b.is_integer() {
            return match (a.is_unsigned(), b.is_unsigned()) {
                (x, y) if x == y => Some(large),
                _ if small.is_unsigned() && small.size() < large.size() => Some(large),
                _ => match large.size() {
                    1 => Some(DType::I16),
                    2 => Some(DType::I32),
                    4 => Some(DType::I64),
                    _ => None,
                },
            };
        }
        let inexact = |d: DType| d.is_float() || d.is_complex();
        if !inexact(a) || !inexact(b) {
            return None;
        }
        let double = |d: DType| matches!(d, DType::F64 | DType::C128);
        Some(match (a.is_complex() || b.is_complex(), double(a) || double(b)) {
            (true, true) => DType::C128,
            (true, false) => DType::C64,
            (false, true) => DType::F64,
            (false, false) => DType::F32,
        })
    }

    /// The complex dtype of a floating-point one's precision: itself for a complex dtype.
    pub fn complex(self) -> DType {
        if matches!(self, DType::F64 | DType::C128) { DType::C128 } else { DType::C64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    #[test]
    fn integers_of_two_signs_meet_in_the_next_signed_one() {
        for (a, b, due) in [
            (I8, U8, Some(I16)),
            (I16, U8, Some(I16)),
            (I8, U16, Some(I32)),
            (U32, I8, Some(I64)),
            (U32, I64, Some(I64)),
            (U64, I64, None),
            (U64, U8, Some(U64)),
        ] {
            assert_eq!((a.promote(b), b.promote(a)), (due, due), "{a:?} {b:?}");
        }
    }

    #[test]
    fn floats_widen_to_hold_both_and_kinds_do_not_mix() {
        for (a, b, due) in [
            (F32, F64, Some(F64)),
            (F64, C64, Some(C128)),
            (F32, C64, Some(C64)),
            (F16, Bf16, Some(F32)),
            (I32, F32, None),
            (Bool, I8, None),
        ] {
            assert_eq!((a.promote(b), b.promote(a)), (due, due), "{a:?} {b:?}");
        }
    }
}
