//! The wire format of protocol buffers: fields by number. Messages are read by hand, as they have few fields.

use penstock_data::Result;

use crate::damaged;

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field<'a> {
    /// A number of variable length: integers, enums and booleans.
    Number(u64),
    /// Bytes: texts, messages and packed lists.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
    /// Eight bytes, which no message here has.
    Fixed64,
}

impl<'a> Field<'a> {
    /// The number, or 0 where it is another field: messages of later releases may have changed it.
    pub(crate) fn number(self) -> u64 {
        match self {
            Field::Number(n) => n,
            _ => 0,
        }
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Field::Bytes(b) => b,
            _ => &[],
        }
    }

    /// The text.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that are no UTF-8.
    pub(crate) fn text(self, section: &str) -> Result<String> {
        let text = std::str::from_utf8(self.bytes()).map_err(|e| damaged(section, e))?;
        Ok(text.to_owned())
    }
}

/// A number of variable length from the front of `bytes`.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        // The tenth byte holds the last bit.
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes the first `count` bytes away, or gives `None` where there are fewer.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(usize::try_from(count).ok()?)?;
    *bytes = rest;
    Some(front)
}

/// Calls `visit` with the number and the value of each field.
///
/// # Errors
/// `InvalidArgument` for bytes that are no message; what `visit` says.
pub(crate) fn fields<'a>(
    section: &str,
    mut bytes: &'a [u8],
    mut visit: impl FnMut(u64, Field<'a>) -> Result<()>,
) -> Result<()> {
    let cut = || damaged(section, "a message ends too early, or is none");
    while !bytes.is_empty() {
        let tag = take_varint(&mut bytes).ok_or_else(cut)?;
        let field = match tag & 7 {
            0 => Field::Number(take_varint(&mut bytes).ok_or_else(cut)?),
            1 => take(&mut bytes, 8).map(|_| Field::Fixed64).ok_or_else(cut)?,
            2 => {
                let length = take_varint(&mut bytes).ok_or_else(cut)?;
                Field::Bytes(take(&mut bytes, length).ok_or_else(cut)?)
            }
            5 => {
                let four = take(&mut bytes, 4).and_then(|b| <[u8; 4]>::try_from(b).ok()).ok_or_else(cut)?;
                Field::Fixed32(u32::from_le_bytes(four))
            }
            other => return Err(damaged(section, format_args!("there are no fields of kind {other}"))),
        };
        visit(tag >> 3, field)?;
    }
    Ok(())
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A number; none where it is 0, as messages leave out what is the default.
pub(crate) fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    if value != 0 {
        put_varint(out, field << 3);
        put_varint(out, value);
    }
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// A text; none where it is empty.
pub(crate) fn put_text(out: &mut Vec<u8>, field: u64, value: &str) {
    if !value.is_empty() {
        put_bytes(out, field, value.as_bytes());
    }
}

pub(crate) fn put_fixed32(out: &mut Vec<u8>, field: u64, value: u32) {
    if value != 0 {
        put_varint(out, field << 3 | 5);
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// A message made by `write`.
pub(crate) fn put_message(out: &mut Vec<u8>, field: u64, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    put_bytes(out, field, &inner);
}
