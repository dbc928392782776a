//! What images of every format share: how they are read and written, their samples, and how large they may be.

use penstock_data::{DType, Result, Tensor};

use crate::damaged;

/// What reads an image: each takes other formats, and gives other shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// A PNG, a JPEG or a GIF of one frame: rank 3.
    Png,
    /// The same, with what is said of JPEGs.
    Jpeg,
    /// A part of a JPEG, by its top, left edge, height and width: rank 3.
    CropJpeg([i64; 4]),
    /// A GIF, a PNG or a JPEG: rank 4.
    Gif,
    /// A BMP: rank 3.
    Bmp,
    /// A WebP: rank 4.
    Webp,
    /// A JPEG XL: rank 3.
    Jxl,
    /// Any format: rank 4 for GIF and WebP where frames are wanted, else 3.
    Any {
        /// Whether all frames are read.
        expand_animations: bool,
    },
}

/// How an image is read.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What reads it.
    pub reader: Reader,
    /// The number of channels: 0 for that of the image, 1 for grey, 3 for colours, 4 for colours and opacity.
    pub channels: usize,
    /// The dtype of the result: `u8`, `u16` or `f32`.
    pub dtype: DType,
    /// By what a JPEG is made smaller: 1, 2, 4 or 8.
    pub ratio: usize,
    /// Whether a JPEG that ends early is filled up.
    pub recover: bool,
}

/// How a JPEG is written.
#[derive(Clone, Debug)]
pub struct JpegOptions<'a> {
    /// From 0 to 100.
    pub quality: i64,
    /// Whether it gets clearer with what is read of it.
    pub progressive: bool,
    /// Whether it takes the time to be smaller.
    pub optimize_size: bool,
    /// Whether colours are kept for four pixels together.
    pub chroma_downsampling: bool,
    /// Whether the density is in pixels by centimetre, not by inch.
    pub centimetres: bool,
    /// The horizontal and the vertical density.
    pub density: [u16; 2],
    /// A description in XMP.
    pub xmp: &'a str,
}

/// Samples of an image as they come out of a format.
pub(crate) struct Decoded {
    /// `[height, width, channels]`, or `[frames, height, width, channels]`, of `u8` or `u16`.
    pub(crate) samples: Tensor,
}

impl Decoded {
    /// Room for an image of `u8`, to be written.
    pub(crate) fn room(dims: &[usize]) -> Result<Tensor> {
        Tensor::empty(DType::U8, dims)
    }
}

/// The largest number of bytes of an image.
const MOST: usize = i32::MAX as usize;

/// Checks the size that a header tells against what the contents can hold: at most `per_byte` pixels for each of their bytes.
///
/// # Errors
/// `InvalidArgument` for an image without pixels, or with more.
pub(crate) fn check_size(height: usize, width: usize, channels: usize, length: usize, per_byte: usize) -> Result<()> {
    if height == 0 || width == 0 {
        return Err(damaged(format!("an image of {height} by {width} pixels has none")));
    }
    let pixels = height.checked_mul(width);
    let bytes = pixels.and_then(|n| n.checked_mul(channels)).filter(|&n| n <= MOST);
    if bytes.is_none() {
        return Err(damaged(format!("an image of {height} by {width} pixels is too large")));
    }
    if pixels > length.checked_add(64).and_then(|n| n.checked_mul(per_byte)) {
        return Err(damaged(format!("{length} bytes do not hold an image of {height} by {width} pixels")));
    }
    Ok(())
}
