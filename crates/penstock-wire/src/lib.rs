//! The wire format of protocol buffers: fields by number. Messages are read by hand, as few of their fields matter.
//!
//! Nothing is copied while a message is read, and no length is believed before the bytes are there. Readers of messages
//! within messages bound the nesting themselves.

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    /// A number of variable length: integers, enums and booleans.
    Number(u64),
    /// Bytes: texts, messages and packed lists.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
    /// Eight bytes.
    Fixed64(u64),
}

impl<'a> Field<'a> {
    /// The number, or 0 where it is another field: messages of later releases may have changed it.
    pub fn number(self) -> u64 {
        match self {
            Field::Number(n) => n,
            _ => 0,
        }
    }

    /// The bytes, or none where it is another field.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Field::Bytes(b) => b,
            _ => &[],
        }
    }

    /// The text.
    ///
    /// # Errors
    /// For bytes that are no UTF-8.
    pub fn text(self) -> Result<&'a str, std::str::Utf8Error> {
        std::str::from_utf8(self.bytes())
    }
}

/// A number of variable length from the front of `bytes`.
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
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
pub fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(usize::try_from(count).ok()?)?;
    *bytes = rest;
    Some(front)
}

/// Calls `visit` with the number and the value of each field.
///
/// # Errors
/// What `damaged` makes of the reason, for bytes that are no message; what `visit` says.
pub fn fields<'a, E>(
    mut bytes: &'a [u8],
    damaged: impl Fn(&str) -> E,
    mut visit: impl FnMut(u64, Field<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let cut = || damaged("a message ends too early, or is none");
    while !bytes.is_empty() {
        let tag = take_varint(&mut bytes).ok_or_else(cut)?;
        let field = match tag & 7 {
            0 => Field::Number(take_varint(&mut bytes).ok_or_else(cut)?),
            1 => {
                let eight = take(&mut bytes, 8).and_then(|b| <[u8; 8]>::try_from(b).ok()).ok_or_else(cut)?;
                Field::Fixed64(u64::from_le_bytes(eight))
            }
            2 => {
                let length = take_varint(&mut bytes).ok_or_else(cut)?;
                Field::Bytes(take(&mut bytes, length).ok_or_else(cut)?)
            }
            5 => {
                let four = take(&mut bytes, 4).and_then(|b| <[u8; 4]>::try_from(b).ok()).ok_or_else(cut)?;
                Field::Fixed32(u32::from_le_bytes(four))
            }
            other => return Err(damaged(&format!("there are no fields of kind {other}"))),
        };
        visit(tag >> 3, field)?;
    }
    Ok(())
}

/// Appends a number of variable length.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A number; none where it is 0, as messages leave out what is the default.
pub fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    if value != 0 {
        put_varint(out, field << 3);
        put_varint(out, value);
    }
}

/// Bytes, empty ones too.
pub fn put_bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// A text; none where it is empty.
pub fn put_text(out: &mut Vec<u8>, field: u64, value: &str) {
    if !value.is_empty() {
        put_bytes(out, field, value.as_bytes());
    }
}

/// Four bytes; none where they are 0.
pub fn put_fixed32(out: &mut Vec<u8>, field: u64, value: u32) {
    if value != 0 {
        put_varint(out, field << 3 | 5);
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// A message made by `write`.
pub fn put_message(out: &mut Vec<u8>, field: u64, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    put_bytes(out, field, &inner);
}
