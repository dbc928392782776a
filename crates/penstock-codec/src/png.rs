//! PNG, by the `png` crate.

use std::io::Cursor;

use penstock_data::{DType, Error, Result, Tensor};
use png::{BitDepth, ColorType, Decoder, DeflateCompression, Encoder, Filter, Transformations};

use crate::damaged;
use crate::options::{Decoded, check_size};

/// How many bytes a byte may stand for: no deflated stream has a higher ratio.
const BYTES_PER_BYTE: usize = 1032;
/// The most pixels of an image, and of one side.
const PIXELS: usize = 1 << 29;
const SIDE: usize = 1 << 27;

fn broken(e: png::DecodingError) -> Error {
    damaged(format!("a PNG is damaged: {e}"))
}

/// Reads samples of 8 bits, or where `wide` of what the file has.
pub(crate) fn read(contents: &[u8], channels: usize, wide: bool) -> Result<Decoded> {
    let mut decoder = Decoder::new(Cursor::new(contents));
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::EXPAND);
    let info = decoder.read_header_info().map_err(broken)?;
    let (height, width) = (info.height as usize, info.width as usize);
    if height >= SIDE || width >= SIDE || height.saturating_mul(width) >= PIXELS {
        return Err(damaged(format!("an image of {height} by {width} pixels is too large")));
    }
    let line = info.raw_row_length();
    if line.saturating_mul(height) > contents.len().saturating_mul(BYTES_PER_BYTE) {
        return Err(damaged(format!("{} bytes do not hold an image of {height} by {width} pixels", contents.len())));
    }
    let mut reader = decoder.read_info().map_err(broken)?;
    let kept = reader.info().color_type;
    let (color, depth) = reader.output_color_type();
    let from = color.samples();
    // What a transparent colour makes of an image counts where opacity is wanted, and for palettes.
    let to = match (channels, kept) {
        (0, ColorType::Indexed) => from,
        (0, _) => kept.samples(),
        (given, _) => given,
    };
    let bytes = if depth == BitDepth::Sixteen { 2 } else { 1 };
    check_size(height, width, from.max(to) * bytes, usize::MAX >> 16, 1)?;
    let (size, row) = (reader.output_buffer_size(), width * from * bytes);
    if size != row.checked_mul(height) {
        return Err(damaged("a PNG is of two sizes"));
    }
    let mut raw = Decoded::room(&[height * row])?;
    reader.next_frame(raw.as_mut_slice::<u8>()).map_err(broken)?;
    reader.finish().map_err(broken)?;
    let dims = [height, width, to];
    if bytes == 1 {
        if from == to {
            raw.reshape(&dims)?;
            return Ok(Decoded { samples: raw });
        }
        let mut samples = Decoded::room(&dims)?;
        let pixels = raw.as_slice::<u8>().chunks_exact(from);
        for (pixel, out) in pixels.zip(samples.as_mut_slice::<u8>().chunks_exact_mut(to)) {
            convert(pixel.iter().map(|&x| x.into()), u8::MAX.into(), 0, |c, x| out[c] = x as u8, to);
        }
        return Ok(Decoded { samples });
    }
    let mut samples = Tensor::empty(if wide { DType::U16 } else { DType::U8 }, &dims)?;
    if wide && from == to {
        let pairs = raw.as_slice::<u8>().as_chunks::<2>().0;
        for (pair, out) in pairs.iter().zip(samples.as_mut_slice::<u16>()) {
            *out = u16::from_be_bytes(*pair);
        }
        return Ok(Decoded { samples });
    }
    let pixels = raw.as_slice::<u8>().chunks_exact(2 * from);
    let parts = |pixel: &'_ [u8]| -> [u32; 4] {
        let mut parts = [0; 4];
        for (part, pair) in parts.iter_mut().zip(pixel.chunks_exact(2)) {
            *part = u16::from_be_bytes([pair[0], pair[1]]).into();
        }
        parts
    };
    let (opaque, half) = (u16::MAX.into(), 1 << 14);
    if wide {
        for (pixel, out) in pixels.zip(samples.as_mut_slice::<u16>().chunks_exact_mut(to)) {
            convert(parts(pixel).into_iter().take(from), opaque, half, |c, x| out[c] = x as u16, to);
        }
    } else {
        for (pixel, out) in pixels.zip(samples.as_mut_slice::<u8>().chunks_exact_mut(to)) {
            convert(parts(pixel).into_iter().take(from), opaque, half, |c, x| out[c] = (x >> 8) as u8, to);
        }
    }
    Ok(Decoded { samples })
}

/// Gives a pixel in `to` channels, sample by sample. Colours become grey by the weights of BT.601 in 15 bits.
fn convert(
    pixel: impl ExactSizeIterator<Item = u32>,
    opaque: u32,
    round: u32,
    mut put: impl FnMut(usize, u32),
    to: usize,
) {
    let from = pixel.len();
    let mut parts = [0; 4];
    for (part, x) in parts.iter_mut().zip(pixel) {
        *part = x;
    }
    let alpha = if matches!(from, 2 | 4) { parts[from - 1] } else { opaque };
    match (from >= 3, to >= 3) {
        (true, false) => {
            let [r, g, b, _] = parts;
            let grey = if r == g && g == b { r } else { (9798 * r + 19235 * g + 3735 * b + round) >> 15 };
            put(0, grey);
        }
        (false, true) => (0..3).for_each(|c| put(c, parts[0])),
        (_, colours) => (0..if colours { 3 } else { 1 }).for_each(|c| put(c, parts[c])),
    }
    if matches!(to, 2 | 4) {
        put(to - 1, alpha);
    }
}

pub(crate) fn write(image: &[u8], dims: [usize; 3], wide: bool, compression: i64) -> Result<Vec<u8>> {
    let [height, width, channels] = dims;
    let wrong = |message: String| Error::invalid(message).argument("image");
    let color = match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        4 => ColorType::Rgba,
        _ => return Err(wrong(format!("a PNG has 1 to 4 channels, got {channels}"))),
    };
    let side = |n: usize| u32::try_from(n).ok().filter(|&n| n > 0 && n < 1 << 31);
    let (Some(rows), Some(columns)) = (side(height), side(width)) else {
        return Err(wrong(format!("a PNG of {height} by {width} pixels cannot be")));
    };
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, columns, rows);
    encoder.set_color(color);
    encoder.set_depth(if wide { BitDepth::Sixteen } else { BitDepth::Eight });
    let level = match compression {
        0 => DeflateCompression::NoCompression,
        1..=9 => DeflateCompression::Level(compression as u8),
        _ => DeflateCompression::Level(6),
    };
    encoder.set_deflate_compression(level);
    encoder.set_filter(Filter::Adaptive);
    let failed = |e: png::EncodingError| wrong(e.to_string());
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(image).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(out)
}
