//! BMP without compression: 8 bits are grey, 24 and 32 are blue, green, red and opacity.

use penstock_data::Result;

use crate::options::{Decoded, check_size};
use crate::{bytes_at, damaged};

pub(crate) fn read(contents: &[u8], channels: usize) -> Result<Decoded> {
    let int =
        |at| bytes_at(contents, at).map(i32::from_le_bytes).ok_or_else(|| damaged("a BMP ends within its header"));
    let (start, width, height) = (int(10)?, int(18)?, int(22)?);
    let bits = bytes_at(contents, 28).map(u16::from_le_bytes).ok_or_else(|| damaged("a BMP ends within its header"))?;
    let own = match bits {
        8 => 1,
        24 => 3,
        32 => 4,
        _ => return Err(damaged(format!("a BMP of {bits} bits a pixel is not read, but of 8, 24 and 32"))),
    };
    let width = usize::try_from(width).unwrap_or(0);
    let (rows, from_top) = (height.unsigned_abs() as usize, height < 0);
    let channels = if channels == 0 { own } else { channels };
    check_size(rows, width, channels.max(own), contents.len(), 1)?;
    // Rows are filled up to four bytes.
    let row = (own * width).next_multiple_of(4);
    let data = usize::try_from(start).ok().and_then(|start| contents.get(start..)).unwrap_or_default();
    if row.checked_mul(rows) != Some(data.len()) {
        return Err(damaged(format!("a BMP of {rows} rows of {row} bytes has {} bytes behind its header", data.len())));
    }
    let mut samples = Decoded::room(&[rows, width, channels])?;
    let out = samples.as_mut_slice::<u8>();
    let convert = match (own, channels) {
        (1, 1) => line::<1, 1>,
        (1, 3) => line::<1, 3>,
        (1, 4) => line::<1, 4>,
        (3, 1) => line::<3, 1>,
        (3, 3) => line::<3, 3>,
        (3, 4) => line::<3, 4>,
        (4, 1) => line::<4, 1>,
        (4, 3) => line::<4, 3>,
        (4, 4) => line::<4, 4>,
        _ => return Err(damaged(format!("a BMP is not read as {channels} channels"))),
    };
    for (i, out) in out.chunks_exact_mut(width * channels).enumerate() {
        let from = if from_top { i } else { rows - 1 - i };
        convert(&data[from * row..][..own * width], out);
    }
    Ok(Decoded { samples })
}

/// Gives a line of pixels of `OWN` samples in `TO` channels.
fn line<const OWN: usize, const TO: usize>(line: &[u8], out: &mut [u8]) {
    for (pixel, out) in line.as_chunks::<OWN>().0.iter().zip(out.as_chunks_mut::<TO>().0) {
        let rgba = match *pixel.as_slice() {
            [grey] => [grey, grey, grey, u8::MAX],
            [b, g, r] => [r, g, b, u8::MAX],
            [b, g, r, a] => [r, g, b, a],
            _ => [0; 4],
        };
        out.copy_from_slice(&rgba[..TO]);
    }
}
