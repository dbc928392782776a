//! The header of a JPEG: how large it is, and whether it has an end.

use penstock_data::Result;

use crate::{bytes_at, damaged};

pub(crate) struct Header {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) components: usize,
    /// Whether it is sequential, and its components come one after the other.
    pub(crate) separate: bool,
    /// Whether all of a row of pixels comes before those of the next ones.
    pub(crate) sequential: bool,
    /// Where its height stands.
    pub(crate) place: usize,
    /// How many rows are kept together.
    pub(crate) block: usize,
}

/// Reads the segments up to the first scan.
pub(crate) fn read(contents: &[u8]) -> Result<Header> {
    if !contents.starts_with(&[0xff, 0xd8, 0xff]) {
        return Err(damaged("is no JPEG"));
    }
    let mut at = 2;
    let mut found: Option<Header> = None;
    loop {
        // Between segments there may be anything.
        while contents.get(at).is_some_and(|&b| b != 0xff) {
            at += 1;
        }
        while contents.get(at) == Some(&0xff) {
            at += 1;
        }
        let Some(&marker) = contents.get(at) else { return found.ok_or_else(early) };
        at += 1;
        match marker {
            // Markers without a segment.
            0x00 | 0x01 | 0xd0..=0xd8 => continue,
            0xd9 => return found.ok_or_else(|| damaged("a JPEG tells no size before its data")),
            _ => {}
        }
        let Some(length) = bytes_at(contents, at).map(u16::from_be_bytes) else { return found.ok_or_else(early) };
        let length = length as usize;
        if marker == 0xda {
            let mut header = found.ok_or_else(|| damaged("a JPEG tells no size before its data"))?;
            let scanned = contents.get(at + 2).map_or(0, |&n| usize::from(n));
            header.separate &= scanned < header.components;
            header.sequential &= !header.separate;
            return Ok(header);
        }
        // All starts of frames; 0xc4, 0xc8 and 0xcc are tables.
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let [_, h1, h0, w1, w0, components] = bytes_at(contents, at + 2).ok_or_else(early)?;
            let (height, width) = (u16::from_be_bytes([h1, h0]) as usize, u16::from_be_bytes([w1, w0]) as usize);
            if height == 0 || width == 0 || !matches!(components, 1 | 3 | 4) {
                return Err(damaged(format!("a JPEG of {height} by {width} pixels and {components} channels is none")));
            }
            let separate = matches!(marker, 0xc0 | 0xc1);
            let components = usize::from(components);
            let factors = (0..components).filter_map(|i| contents.get(at + 9 + 3 * i).map(|&b| usize::from(b & 15)));
            let block = 8 * factors.max().unwrap_or(1).max(1);
            found = Some(Header { height, width, components, separate, sequential: separate, place: at + 3, block });
        }
        if length < 2 {
            return Err(damaged("a segment of a JPEG has no length"));
        }
        at += length;
    }
}

fn early() -> penstock_data::Error {
    damaged("a JPEG ends within its header")
}

/// Whether the mark of the end is there.
#[cfg(feature = "images")]
pub(crate) fn has_end(contents: &[u8]) -> bool {
    contents.windows(2).rev().any(|pair| pair == [0xff, 0xd9])
}
