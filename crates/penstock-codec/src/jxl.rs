//! JPEG XL, by the `jxl-oxide` crate.

use std::fmt;

use jxl_oxide::{AllocTracker, JxlImage};
use penstock_data::{Error, Result};

use crate::damaged;
use crate::options::{Decoded, check_size};

/// How many pixels a byte may stand for. An image of one colour takes no bits for a pixel, so this is a choice.
const PIXELS_PER_BYTE: usize = 1 << 14;

/// How many bytes the decoder may take for each pixel: some channels of 32 bits, of a frame and of those that it is made from.
const BYTES_PER_PIXEL: usize = 256;

fn broken(e: impl fmt::Display) -> Error {
    damaged(format!("a JPEG XL is damaged: {e}"))
}

/// Reads an image, of an animation the first frame.
pub(crate) fn read(contents: &[u8], channels: usize) -> Result<Decoded> {
    let most = contents.len().saturating_add(64).saturating_mul(PIXELS_PER_BYTE).min(i32::MAX as usize);
    let tracker = AllocTracker::with_limit(most.saturating_mul(BYTES_PER_PIXEL));
    let image = JxlImage::builder().alloc_tracker(tracker).read(contents).map_err(broken)?;
    let (width, height) = (image.width() as usize, image.height() as usize);
    let format = image.pixel_format();
    let given = format.channels();
    check_size(height, width, given, contents.len(), PIXELS_PER_BYTE)?;
    if format.has_black() {
        return Err(damaged("is a JPEG XL of printing colours, which are not read"));
    }
    if channels != 0 && channels != given {
        let message = format!("must be 0 or {given} for this JPEG XL, got {channels}");
        return Err(Error::invalid(message).argument("channels"));
    }
    if !image.is_loading_done() || image.num_loaded_keyframes() == 0 {
        return Err(broken("it ends too early"));
    }
    let frame = image.render_frame(0).map_err(broken)?;
    let mut pixels = frame.stream();
    if (pixels.height() as usize, pixels.width() as usize, pixels.channels() as usize) != (height, width, given) {
        return Err(broken("its first frame has another size"));
    }
    let mut samples = Decoded::room(&[height, width, given])?;
    let room = samples.as_mut_slice::<u8>();
    match pixels.write_to_buffer(room) == room.len() {
        true => Ok(Decoded { samples }),
        false => Err(broken("its first frame ends too early")),
    }
}
