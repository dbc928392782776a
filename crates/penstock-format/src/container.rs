//! The container: one file that is a valid safetensors file, with checksums.
//!
//! ```text
//! file    = length header data
//! length  = u64, little endian: the bytes of the header
//! header  = a JSON object, padded with spaces so that the data starts at a multiple of 64 bytes:
//!           {"__metadata__":{"penstock.crc32c":"xxxxxxxx","<name>":"<text>",…},
//!            "<key>":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},…}
//! data    = the bytes of the tensors, little endian, row-major, without gaps
//! ```
//!
//! The checksum stands first, so the bytes up to it are the same in every file. It is the CRC-32C of length and header, with
//! zeros in place of its own eight digits. The checksum of each tensor stands in the manifest, which is a text of the
//! header. So a file in which any byte was changed is refused.
//!
//! Tensors of larger alignment come first: each starts at a multiple of the largest power of two, up to 64, that divides its size.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::io::Read;

use penstock_data::{DType, Error, Result, memory};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

/// The name of the text that is the checksum.
const CHECKSUM_TEXT: &str = "penstock.crc32c";
/// How every file goes on after its length.
const PREFIX: &str = r#"{"__metadata__":{"penstock.crc32c":""#;
/// The digits of the checksum, which follow.
const DIGITS: usize = 8;
/// What the data is aligned to.
const ALIGNMENT: usize = 64;
const LENGTH: usize = 8;

/// An array of the file: what its bytes are.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Stored {
    /// The name of safetensors for the elements.
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    /// Where the bytes start, from the start of the data.
    pub(crate) start: usize,
    /// Where they end.
    pub(crate) end: usize,
}

/// The elements that arrays of a file may have: safetensors' names, and their dtypes here. Of narrow dtypes it has two whose elements
/// take a byte each; the others have names of their own, which other programs may not know.
pub(crate) const DTYPES: [(&str, DType); 24] = [
    ("BOOL", DType::Bool),
    ("I8", DType::I8),
    ("I16", DType::I16),
    ("I32", DType::I32),
    ("I64", DType::I64),
    ("U8", DType::U8),
    ("U16", DType::U16),
    ("U32", DType::U32),
    ("U64", DType::U64),
    ("F16", DType::F16),
    ("BF16", DType::Bf16),
    ("F32", DType::F32),
    ("F64", DType::F64),
    ("C64", DType::C64),
    ("F8_E4M3", DType::F8E4M3Fn),
    ("F8_E5M2", DType::F8E5M2),
    ("F8_E4M3FNUZ", DType::F8E4M3Fnuz),
    ("F8_E4M3B11FNUZ", DType::F8E4M3B11Fnuz),
    ("F8_E5M2FNUZ", DType::F8E5M2Fnuz),
    ("F4_E2M1FN", DType::F4E2M1Fn),
    ("I4", DType::I4),
    ("U4", DType::U4),
    ("I2", DType::I2),
    ("U2", DType::U2),
];

/// The header of a file.
#[derive(Debug)]
pub(crate) struct Header {
    /// The texts, by name.
    pub(crate) texts: BTreeMap<String, String>,
    /// The arrays by key.
    pub(crate) arrays: BTreeMap<String, Stored>,
    /// Where the data starts in the file.
    pub(crate) data: usize,
}

#[cold]
pub(crate) fn damaged(section: &str, what: impl fmt::Display) -> Error {
    Error::invalid(format!("section '{section}' of the program: {what}"))
}

/// An error of reading a section, with its name.
#[cold]
pub(crate) fn in_section(section: &str, error: &Error) -> Error {
    Error::new(error.class(), format!("section '{section}' of the program: {error}"))
}

#[cold]
pub(crate) fn unread(section: &str, error: &std::io::Error) -> Error {
    Error::precondition(format!("section '{section}' of the program cannot be read: {error}"))
}

/// The length of an array in bytes; `None` where its dtype is not known or its size has no number.
fn byte_len(dtype: &str, shape: &[usize]) -> Option<usize> {
    let (_, dtype) = DTYPES.iter().find(|(name, _)| *name == dtype)?;
    shape.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d))
}

/// The checksum of a header, with zeros in place of its own digits.
fn checksum(length: &[u8; LENGTH], header: &[u8]) -> u32 {
    let (before, rest) = header.split_at(PREFIX.len());
    let crc = crc32c::crc32c_append(crc32c::crc32c(length), before);
    crc32c::crc32c_append(crc32c::crc32c_append(crc, &[b'0'; DIGITS]), &rest[DIGITS..])
}

/// The order of arrays in a file, given their lengths: by alignment, else as they come.
pub(crate) fn layout(lengths: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    // An empty array is as aligned as any.
    order.sort_by_key(|&i| std::cmp::Reverse(lengths[i].trailing_zeros().min(ALIGNMENT.trailing_zeros())));
    order
}

/// Length and header of a file with these texts and these arrays, in the order of their data.
pub(crate) fn header(texts: &[(&str, &str)], arrays: &[(String, &'static str, Vec<usize>, usize)]) -> Result<Vec<u8>> {
    let json = |text: &str| serde_json::to_string(text).map_err(|e| Error::internal(e.to_string()));
    let mut out = format!("{PREFIX}{}\"", "0".repeat(DIGITS));
    for (name, text) in texts {
        out += &format!(",{}:{}", json(name)?, json(text)?);
    }
    out.push('}');
    let mut at = 0;
    for (key, dtype, shape, len) in arrays {
        let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
        let end = at + len;
        out += &format!(
            ",{}:{{\"dtype\":\"{dtype}\",\"shape\":[{}],\"data_offsets\":[{at},{end}]}}",
            json(key)?,
            shape.join(",")
        );
        at = end;
    }
    out.push('}');
    let padded = (LENGTH + out.len()).next_multiple_of(ALIGNMENT) - LENGTH;
    out.extend(std::iter::repeat_n(' ', padded - out.len()));
    let length = (out.len() as u64).to_le_bytes();
    let crc = format!("{:08x}", checksum(&length, out.as_bytes()));
    out.replace_range(PREFIX.len()..PREFIX.len() + DIGITS, &crc);
    Ok([&length, out.as_bytes()].concat())
}

/// Reads the header of a file of `size` bytes, and leaves `source` at the data. Takes no more memory than a few times the header.
///
/// # Errors
/// `InvalidArgument` for what is no such file, or was changed.
pub(crate) fn read_header(source: &mut dyn Read, size: u64) -> Result<Header> {
    let bytes = read_checked(source, size)?;
    let Parsed { texts, arrays } =
        serde_json::from_slice(&bytes).map_err(|e| damaged("header", format_args!("not as it should be: {e}")))?;
    let mut header = Header { texts, arrays, data: LENGTH + bytes.len() };
    header.texts.remove(CHECKSUM_TEXT);
    let data = size - (LENGTH + bytes.len()) as u64;
    check_arrays(&header.arrays, data)?;
    Ok(header)
}

/// The bytes of the header, of which the checksum is right.
fn read_checked(source: &mut dyn Read, size: u64) -> Result<Vec<u8>> {
    let not_one = || damaged("header", "this is no Penstock program");
    let mut length = [0; LENGTH];
    if size < (LENGTH + PREFIX.len() + DIGITS) as u64 {
        return Err(not_one());
    }
    source.read_exact(&mut length).map_err(|e| unread("header", &e))?;
    let len = u64::from_le_bytes(length);
    let short = len < (PREFIX.len() + DIGITS) as u64;
    let Some(len) = usize::try_from(len).ok().filter(|_| !short && len <= size - LENGTH as u64) else {
        return Err(not_one());
    };
    // What is no program at all is refused before memory is taken for its header.
    let mut prefix = [0; PREFIX.len() + DIGITS];
    source.read_exact(&mut prefix).map_err(|e| unread("header", &e))?;
    if !prefix.starts_with(PREFIX.as_bytes()) {
        return Err(not_one());
    }
    let mut bytes = memory::filled(0, len)?;
    bytes[..prefix.len()].copy_from_slice(&prefix);
    source.read_exact(&mut bytes[prefix.len()..]).map_err(|e| unread("header", &e))?;
    if format!("{:08x}", checksum(&length, &bytes)).as_bytes() != &prefix[PREFIX.len()..] {
        return Err(damaged("header", "the checksum does not fit: the file was changed or is incomplete"));
    }
    Ok(bytes)
}

/// Checks that the arrays lie one behind the other, and fill the data.
fn check_arrays(arrays: &BTreeMap<String, Stored>, data: u64) -> Result<()> {
    let mut all: Vec<(&String, &Stored)> = arrays.iter().collect();
    all.sort_by_key(|(_, s)| (s.start, s.end));
    let mut at = 0;
    for (key, stored) in all {
        if byte_len(&stored.dtype, &stored.shape) != stored.end.checked_sub(stored.start) || stored.start != at {
            return Err(damaged(
                key,
                format_args!(
                    "an array {}{:?} at bytes {} to {}, which does not fit",
                    stored.dtype, stored.shape, stored.start, stored.end
                ),
            ));
        }
        at = stored.end;
    }
    if at as u64 != data {
        return Err(damaged("header", format_args!("tells of {at} bytes of data, there are {data}")));
    }
    Ok(())
}

/// A header as it is parsed. A name that stands twice is refused.
struct Parsed {
    texts: BTreeMap<String, String>,
    arrays: BTreeMap<String, Stored>,
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Parsed, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Parsed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the header of a safetensors file")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parsed, A::Error> {
                let (mut texts, mut arrays) = (None, BTreeMap::new());
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        if texts.replace(map.next_value::<Once<String>>()?.0).is_some() {
                            return Err(A::Error::custom("__metadata__ stands twice"));
                        }
                        continue;
                    }
                    let Entry::Vacant(place) = arrays.entry(name) else {
                        return Err(A::Error::custom("an array stands twice"));
                    };
                    let Array { dtype, shape, data_offsets: (start, end) } = map.next_value()?;
                    place.insert(Stored { dtype, shape, start, end });
                }
                Ok(Parsed { texts: texts.unwrap_or_default(), arrays })
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Array {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// A map in which no key stands twice.
pub(crate) struct Once<T>(pub(crate) BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Once<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Once<T>, D::Error> {
        struct Entries<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Once<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Once<T>, A::Error> {
                let mut found = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    if found.insert(key, map.next_value()?).is_some() {
                        return Err(A::Error::custom("a name stands twice"));
                    }
                }
                Ok(Once(found))
            }
        }
        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}
