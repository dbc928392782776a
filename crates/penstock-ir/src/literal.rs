//! How numbers, strings and tensors are written in the text form, and read back to the same bits.

use std::fmt::Write;

use penstock_data::{Bool8, C64, C128, Element, Narrow, Tensor, bf16, f16, with_dtype};

/// An element type whose values have an exact notation.
pub(crate) trait Literal: Element {
    /// What an error says was expected.
    const EXPECTED: &'static str;

    /// Appends the shortest notation that reads back to the same bits.
    fn write(self, out: &mut String);

    /// Reads one word of the text; `None` where it is no value of this type.
    fn read(word: &str) -> Option<Self>;
}

macro_rules! integers {
    ($($ty:ty = $expected:literal),* $(,)?) => {$(
        impl Literal for $ty {
            const EXPECTED: &'static str = $expected;

            fn write(self, out: &mut String) {
                let _ = write!(out, "{self}");
            }

            fn read(word: &str) -> Option<$ty> {
                word.parse().ok()
            }
        }
    )*};
}

integers! {
    i8 = "an integer of 8 bits", i16 = "an integer of 16 bits", i32 = "an integer of 32 bits",
    i64 = "an integer of 64 bits", u8 = "an unsigned integer of 8 bits", u16 = "an unsigned integer of 16 bits",
    u32 = "an unsigned integer of 32 bits", u64 = "an unsigned integer of 64 bits",
}

impl Literal for Bool8 {
    const EXPECTED: &'static str = "true or false";

    fn write(self, out: &mut String) {
        out.push_str(if self.get() { "true" } else { "false" });
    }

    fn read(word: &str) -> Option<Bool8> {
        match word {
            "true" => Some(Bool8::new(true)),
            "false" => Some(Bool8::new(false)),
            _ => None,
        }
    }
}

/// `value` without the `.0` of a whole number.
fn write_trimmed(out: &mut String, value: impl std::fmt::Debug) {
    let _ = write!(out, "{value:?}");
    if out.ends_with(".0") {
        out.truncate(out.len() - 2);
    }
}

/// Whether a word is a decimal number, as opposed to the names that Rust's parser also takes.
fn is_decimal(word: &str) -> bool {
    word.strip_prefix('-').unwrap_or(word).starts_with(|c: char| c.is_ascii_digit())
}

macro_rules! floats {
    ($($ty:ty, $bits:ty, $write:expr, $read:expr);* $(;)?) => {$(
        impl Literal for $ty {
            const EXPECTED: &'static str = "a number";

            fn write(self, out: &mut String) {
                let canonical = <$ty>::NAN.to_bits();
                if self.is_nan() && self.to_bits() != canonical {
                    let _ = write!(out, "{:#x}", self.to_bits());
                } else if self.is_nan() {
                    out.push_str("nan");
                } else if self.is_infinite() {
                    out.push_str(if self.is_sign_negative() { "-inf" } else { "inf" });
                } else {
                    let write: fn(&mut String, $ty) = $write;
                    write(out, self);
                }
            }

            fn read(word: &str) -> Option<$ty> {
                match word {
                    "nan" => return Some(<$ty>::NAN),
                    "inf" => return Some(<$ty>::INFINITY),
                    "-inf" => return Some(<$ty>::NEG_INFINITY),
                    _ => {}
                }
                if let Some(digits) = word.strip_prefix("0x") {
                    return <$bits>::from_str_radix(digits, 16).ok().map(<$ty>::from_bits);
                }
                let read: fn(&str) -> Option<$ty> = $read;
                // A number too large for the type would silently become infinite.
                read(word).filter(|v| is_decimal(word) && v.is_finite())
            }
        }
    )*};
}

floats! {
    f32, u32, write_trimmed, |w| w.parse().ok();
    f64, u64, write_trimmed, |w| w.parse().ok();
    f16, u16, write_half, |w| w.parse().ok().map(f16::from_f32);
    bf16, u16, write_half, |w| w.parse().ok().map(bf16::from_f32);
}

/// The fewest digits that read back to the same value of a 16-bit type.
fn write_half<T: Literal + Into<f32>>(out: &mut String, value: T) {
    let exact: f32 = value.into();
    for digits in 0..5 {
        let Ok(short) = format!("{exact:.digits$e}").parse::<f32>() else { break };
        let start = out.len();
        write_trimmed(out, short);
        let same = T::read(&out[start..]).is_some_and(|v| same_bits(v, value));
        if same {
            return;
        }
        out.truncate(start);
    }
    write_trimmed(out, exact);
}

fn same_bits<T: Literal + Into<f32>>(a: T, b: T) -> bool {
    let (a, b): (f32, f32) = (a.into(), b.into());
    a.to_bits() == b.to_bits()
}

/// The number, which reads back to the same byte but where bits that do not count are set, or for one of several NaN.
impl<const D: u8> Literal for Narrow<D> {
    const EXPECTED: &'static str = "a number of the dtype";

    fn write(self, out: &mut String) {
        let value = self.to_f32();
        if value.is_nan() && Self::from_f32(f32::NAN).byte() == self.byte() {
            out.push_str("nan");
        } else if !value.is_nan() && Self::from_f32(value).byte() == self.byte() {
            value.write(out);
        } else {
            let _ = write!(out, "{:#x}", self.byte());
        }
    }

    fn read(word: &str) -> Option<Self> {
        if let Some(digits) = word.strip_prefix("0x") {
            return u8::from_str_radix(digits, 16).ok().map(Self::from_byte);
        }
        let value = f32::read(word)?;
        let element = Self::from_f32(value);
        // A number that the dtype does not have would silently become another.
        (element.to_f32() == value || element.to_f32().is_nan() && value.is_nan()).then_some(element)
    }
}

macro_rules! complex {
    ($($ty:ty, $part:ty);* $(;)?) => {$(
        impl Literal for $ty {
            const EXPECTED: &'static str = "a complex number (re,im)";

            fn write(self, out: &mut String) {
                out.push('(');
                self.re.write(out);
                out.push(',');
                self.im.write(out);
                out.push(')');
            }

            /// Reads `re,im`: the parser takes the parentheses away.
            fn read(word: &str) -> Option<$ty> {
                let (re, im) = word.split_once(',')?;
                Some(<$ty>::new(<$part>::read(re)?, <$part>::read(im)?))
            }
        }
    )*};
}

complex! { C64, f32; C128, f64 }

/// Appends a quoted string; bytes that are not text, and control characters, as `\xNN`.
pub(crate) fn write_string(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                c if c.is_control() => {
                    let mut buffer = [0; 4];
                    write_bytes(out, c.encode_utf8(&mut buffer).as_bytes());
                }
                c => out.push(c),
            }
        }
        write_bytes(out, chunk.invalid());
    }
    out.push('"');
}

fn write_bytes(out: &mut String, bytes: &[u8]) {
    for b in bytes {
        let _ = write!(out, "\\x{b:02x}");
    }
}

/// The bytes that the inside of a quoted string stands for; `None` for a wrong escape.
pub(crate) fn unescape(inside: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let mut taken = 1;
        out.push(match rest.as_bytes().first()? {
            b'"' => b'"',
            b'\\' => b'\\',
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'x' => {
                taken = 3;
                let digits = rest.get(1..3).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
                u8::from_str_radix(digits, 16).ok()?
            }
            _ => return None,
        });
        rest = &rest[taken..];
    }
    out.extend_from_slice(rest.as_bytes());
    Some(out)
}

/// Appends `f32[2] [1,2]`, or `f32[] 1` for a scalar. With `elide`, at most that many elements and `...`. A list, which
/// is never read back, is its elements that are set: `variant[] {0: f32[] 1, 2: f32[] 3} of 4`; a table its keys and their
/// values: `resource[] {str[2] ["a","b"]: i64[2] [1,2]}`.
pub(crate) fn write_tensor(out: &mut String, tensor: &Tensor, elide: Option<usize>) {
    if let Some(list) = tensor.list() {
        out.push_str("variant[] {");
        for (k, (i, element)) in list.elements().into_iter().enumerate() {
            let _ = write!(out, "{}{i}: ", if k > 0 { ", " } else { "" });
            write_tensor(out, element, elide);
        }
        let _ = write!(out, "}} of {}", list.len());
        return;
    }
    if let Some(table) = tensor.table() {
        out.push_str("resource[] {");
        match (table.keys(), table.values()) {
            (Ok(keys), Ok(values)) => {
                write_tensor(out, &keys, elide);
                out.push_str(": ");
                write_tensor(out, &values, elide);
            }
            // No memory for a copy of the rows: what is printed here is not read back.
            _ => out.push_str("..."),
        }
        out.push('}');
        return;
    }
    let _ = write!(out, "{}{} ", tensor.dtype(), penstock_data::Shape::known(tensor.dims()));
    let shown = elide.unwrap_or(usize::MAX).min(tensor.len());
    let scalar = tensor.rank() == 0;
    if !scalar {
        out.push('[');
    }
    for i in 0..shown.max(scalar as usize) {
        if i > 0 {
            out.push(',');
        }
        with_dtype!(plain, tensor.dtype(), T => tensor.as_slice::<T>()[i].write(out),
            else with_dtype!(narrow, tensor.dtype(), T => tensor.as_slice::<T>()[i].write(out),
                else write_string(out, &tensor.strings()[i])));
    }
    if !scalar {
        if shown < tensor.len() {
            out.push_str(if shown > 0 { ",..." } else { "..." });
        }
        out.push(']');
    }
}

#[cfg(test)]
mod tests {
    use penstock_data::{DType, DTypeSet};

    use super::*;

    fn round<T: Literal>(value: T) -> String {
        let mut text = String::new();
        value.write(&mut text);
        let back = T::read(text.trim_matches(['(', ')'])).unwrap_or_else(|| panic!("{text} does not read back"));
        assert_eq!(bytes(&back), bytes(&value), "{text}");
        text
    }

    fn bytes<T: Literal>(v: &T) -> Vec<u8> {
        Tensor::scalar(*v).bytes().to_vec()
    }

    #[test]
    fn every_16_bit_float_round_trips() {
        for bits in 0..=u16::MAX {
            round(f16::from_bits(bits));
            round(bf16::from_bits(bits));
        }
    }

    #[test]
    fn every_narrow_number_round_trips() {
        for byte in 0..=u8::MAX {
            for dtype in DTypeSet::NARROW.iter() {
                with_dtype!(narrow, dtype, T => round(T::from_byte(byte)), else unreachable!("narrow"));
            }
        }
        assert_eq!(round(Narrow::<{ DType::I4 as u8 }>::from_byte(0x9)), "-7");
        assert_eq!(round(Narrow::<{ DType::F8E4M3Fn as u8 }>::from_f32(0.1)), "0.1015625");
        assert_eq!(Narrow::<{ DType::U2 as u8 }>::read("4"), None);
    }

    #[test]
    fn notation_is_the_shortest() {
        assert_eq!(round(f16::from_f32(0.1)), "0.1");
        assert_eq!(round(f16::MAX), "65500");
        assert_eq!(round(bf16::from_f32(2.61)), "2.61");
        assert_eq!(round(0.1f32), "0.1");
        assert_eq!(round(1.0f64), "1");
        assert_eq!(round(-0.0f64), "-0");
        assert_eq!(round(1e-45f32), "1e-45");
        assert_eq!(round(f64::MIN_POSITIVE), "2.2250738585072014e-308");
        assert_eq!(round(f32::NAN), "nan");
        assert_eq!(round(f32::from_bits(0xffc0_0001)), "0xffc00001");
        assert_eq!(round(f64::NEG_INFINITY), "-inf");
        assert_eq!(round(C64::new(-0.0, f32::NAN)), "(-0,nan)");
        assert_eq!(round(u64::MAX), "18446744073709551615");
        assert_eq!(round(i8::MIN), "-128");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(i8::read("128"), None);
        assert_eq!(u8::read("-1"), None);
        assert_eq!(f32::read("1e40"), None);
        assert_eq!(f16::read("70000"), None);
        assert_eq!(f32::read("infinity"), None);
        assert_eq!(f32::read("0x1ffffffff"), None);
        assert_eq!(C64::read("1"), None);
        assert_eq!(Bool8::read("1"), None);
    }

    #[test]
    fn strings_escape_what_is_not_text() {
        let mut out = String::new();
        let bytes = b"a\"\\\n\x00\xffz\xc3\xa9";
        write_string(&mut out, bytes);
        assert_eq!(out, r#""a\"\\\n\x00\xffzé""#);
        assert_eq!(unescape(&out[1..out.len() - 1]).as_deref(), Some(&bytes[..]));
        for wrong in [r"\q", r"\x1", r"\x+1", "\\", r"\xé"] {
            assert_eq!(unescape(wrong), None, "{wrong}");
        }
    }
}
