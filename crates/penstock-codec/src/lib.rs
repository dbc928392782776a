//! Images, sound, lines of CSV, and `tf.train.Example` and `TensorProto` messages as tensors, and back.
//!
//! Contents come from anywhere, so nothing that they say is believed: a size in a header is checked against what the rest can
//! hold before memory is taken for it, and damaged contents are errors. There is no `unsafe` code here.
//!
//! PNG, JPEG, JPEG XL, GIF and WebP are read and written by crates; without the feature `images` they are errors. BMP and WAV are small
//! enough to be read here.

mod bmp;
pub mod csv;
pub mod example;
#[cfg(feature = "images")]
mod gif;
pub mod image;
#[cfg(feature = "images")]
mod jpeg;
mod jpeg_header;
#[cfg(feature = "images")]
mod jxl;
mod options;
#[cfg(feature = "images")]
mod png;
pub mod tensor_proto;
mod values;
pub mod wav;
#[cfg(feature = "images")]
mod webp;

use penstock_data::Error;

/// What is wrong with the operand that is read.
fn damaged(message: impl Into<String>) -> Error {
    Error::invalid(message).argument("contents")
}

/// Bytes at a place, or `None` where they end before.
fn bytes_at<const N: usize>(contents: &[u8], at: usize) -> Option<[u8; N]> {
    contents.get(at..)?.first_chunk::<N>().copied()
}
