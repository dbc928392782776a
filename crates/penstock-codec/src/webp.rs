//! WebP, by the `image-webp` crate.

use std::io::Cursor;

use image_webp::{DecodingError, WebPDecoder};
use penstock_data::{Error, Result, Tensor, memory};

use crate::damaged;
use crate::options::{Decoded, check_size};

/// How many pixels a byte may stand for. An image of one colour takes no bits for a pixel, so this is a choice.
const PIXELS_PER_BYTE: usize = 1 << 14;

fn broken(e: DecodingError) -> Error {
    damaged(format!("a WebP is damaged: {e}"))
}

/// Reads all frames, or the first as an image of rank 3.
pub(crate) fn read(contents: &[u8], channels: usize, all: bool) -> Result<Decoded> {
    let mut decoder = WebPDecoder::new(Cursor::new(contents)).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    let (own, animated) = (if decoder.has_alpha() { 4 } else { 3 }, decoder.is_animated());
    check_size(height, width, 4, contents.len(), PIXELS_PER_BYTE)?;
    // Frames of an animation have opacity.
    let given = if animated { 4 } else { own };
    if channels != 0 && channels != given {
        let message = format!("must be 0 or {given} for this WebP, got {channels}");
        return Err(Error::invalid(message).argument("channels"));
    }
    decoder.set_memory_limit(contents.len().saturating_add(64).saturating_mul(4 * PIXELS_PER_BYTE));
    let size = height * width * own;
    if !animated {
        let dims = [1, height, width, own];
        let mut samples = Decoded::room(&dims[usize::from(!all)..])?;
        decoder.read_image(samples.as_mut_slice::<u8>()).map_err(broken)?;
        return Ok(Decoded { samples });
    }
    let mut frame = memory::filled(0, size)?;
    let mut frames: Vec<u8> = Vec::new();
    loop {
        match decoder.read_frame(&mut frame) {
            Ok(_) => {}
            Err(DecodingError::NoMoreFrames) => break,
            Err(e) => return Err(broken(e)),
        }
        let count = frames.len() / (height * width * 4) + 1;
        check_size(height.saturating_mul(count), width, 4, usize::MAX >> 16, 1)?;
        memory::reserve(&mut frames, height * width * 4)?;
        for pixel in frame.chunks_exact(own) {
            frames.extend_from_slice(&pixel[..3]);
            frames.push(pixel.get(3).copied().unwrap_or(u8::MAX));
        }
        if !all {
            break;
        }
    }
    let count = frames.len() / (height * width * 4);
    if count == 0 {
        return Err(damaged("a WebP has no frame"));
    }
    let dims = [count, height, width, 4];
    Ok(Decoded { samples: Tensor::from_slice(if all { &dims } else { &dims[1..] }, &frames)? })
}
