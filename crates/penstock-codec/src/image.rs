//! Images of every format: which it is, what a reader takes, and the dtype of the result.

use penstock_data::{DType, Dims, Error, Result, Tensor, memory};

use crate::options::Decoded;
pub use crate::options::{JpegOptions, Options, Reader};
use crate::{bmp, damaged, jpeg_header};

/// The format of an image, by its first bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
    /// GIF.
    Gif,
    /// BMP.
    Bmp,
    /// WebP.
    Webp,
    /// JPEG XL.
    Jxl,
}

impl Format {
    /// The format of contents.
    pub fn of(contents: &[u8]) -> Option<Format> {
        match contents {
            [0xff, 0xd8, 0xff, ..] => Some(Format::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Format::Png),
            [b'G', b'I', b'F', b'8', ..] => Some(Format::Gif),
            [b'B', b'M', ..] => Some(Format::Bmp),
            // Alone, or in a container.
            [0xff, 0x0a, ..] | [0, 0, 0, 12, b'J', b'X', b'L', b' ', b'\r', b'\n', 0x87, b'\n', ..] => {
                Some(Format::Jxl)
            }
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', _, ..] => Some(Format::Webp),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Jpeg => "JPEG",
            Format::Png => "PNG",
            Format::Gif => "GIF",
            Format::Bmp => "BMP",
            Format::Webp => "WebP",
            Format::Jxl => "JPEG XL",
        }
    }
}

/// Reads an image.
///
/// # Errors
/// `InvalidArgument` for contents that are no image, damaged, or not of a format that the reader takes, and for options that
/// do not fit the format; `ResourceExhausted` where memory cannot be had.
pub fn decode(contents: &[u8], options: &Options) -> Result<Tensor> {
    if contents.is_empty() {
        return Err(damaged("must not be empty"));
    }
    let Some(format) = Format::of(contents) else {
        return Err(damaged("is no image of a known format, which are JPEG, JPEG XL, PNG, GIF, BMP and WebP"));
    };
    check_reader(format, options.reader)?;
    check_options(format, options)?;
    let decoded = read(contents, format, options)?;
    shaped(converted(decoded.samples, format, options.dtype)?, options.reader)
}

/// Whether a reader takes a format.
fn check_reader(format: Format, reader: Reader) -> Result<()> {
    let due = match (reader, format) {
        (Reader::Any { .. }, _)
        | (Reader::Png | Reader::Jpeg | Reader::Gif, Format::Png | Format::Jpeg | Format::Gif)
        | (Reader::CropJpeg(_), Format::Jpeg)
        | (Reader::Bmp, Format::Bmp)
        | (Reader::Webp, Format::Webp)
        | (Reader::Jxl, Format::Jxl) => return Ok(()),
        (Reader::Png | Reader::Jpeg | Reader::Gif, _) => "a PNG, a JPEG or a GIF",
        (Reader::CropJpeg(_), _) => "a JPEG",
        (Reader::Bmp, _) => "a BMP",
        (Reader::Webp, _) => "a WebP",
        (Reader::Jxl, _) => "a JPEG XL",
    };
    Err(damaged(format!("must be {due}, got a {}; decode_image reads every format", format.name())))
}

fn check_options(format: Format, options: &Options) -> Result<()> {
    let allowed: &[usize] = match format {
        Format::Jpeg => &[0, 1, 3],
        Format::Png | Format::Jxl => &[0, 1, 3, 4],
        Format::Gif => &[0, 3],
        Format::Bmp | Format::Webp => &[0, 3, 4],
    };
    if !allowed.contains(&options.channels) {
        let message = format!("a {} is not read with {} channels", format.name(), options.channels);
        return Err(Error::invalid(message).argument("channels"));
    }
    if matches!(format, Format::Webp | Format::Jxl) && options.dtype != DType::U8 {
        return Err(Error::invalid(format!("a {} is read as uint8 only", format.name())).argument("dtype"));
    }
    Ok(())
}

#[cfg(feature = "images")]
fn read(contents: &[u8], format: Format, options: &Options) -> Result<Decoded> {
    match format {
        Format::Png => crate::png::read(contents, options.channels, options.dtype != DType::U8),
        Format::Jpeg => crate::jpeg::read(contents, options),
        Format::Gif => {
            let all = !matches!(options.reader, Reader::Any { expand_animations: false });
            crate::gif::read(contents, all)
        }
        Format::Bmp => bmp::read(contents, options.channels),
        Format::Jxl => crate::jxl::read(contents, options.channels),
        Format::Webp => {
            let all = !matches!(options.reader, Reader::Any { expand_animations: false });
            crate::webp::read(contents, options.channels, all)
        }
    }
}

#[cfg(not(feature = "images"))]
fn read(contents: &[u8], format: Format, options: &Options) -> Result<Decoded> {
    match format {
        Format::Bmp => bmp::read(contents, options.channels),
        _ => Err(absent()),
    }
}

#[cfg(not(feature = "images"))]
fn absent() -> Error {
    Error::unimplemented("this program is built without formats of images, the feature 'images' of Penstock")
}

/// The samples in a dtype: integers are scaled by a power of two, floats go from 0 to 1.
fn converted(samples: Tensor, format: Format, dtype: DType) -> Result<Tensor> {
    let dims = Dims::from_slice(samples.dims());
    match (samples.dtype(), dtype) {
        (a, b) if a == b => Ok(samples),
        (DType::U8, DType::U16) => {
            // A PNG of 8 bits has the whole range of 16.
            let scale = if format == Format::Png { 257 } else { 256 };
            let wide = samples.as_slice::<u8>().iter().map(|&x| u16::from(x) * scale);
            Tensor::from_slice(&dims, &memory::collected(wide)?)
        }
        (DType::U8, _) => {
            let scaled = samples.as_slice::<u8>().iter().map(|&x| f32::from(x) * (1.0 / 255.0));
            Tensor::from_slice(&dims, &memory::collected(scaled)?)
        }
        _ => {
            let scaled = samples.as_slice::<u16>().iter().map(|&x| f32::from(x) * (1.0 / 65535.0));
            Tensor::from_slice(&dims, &memory::collected(scaled)?)
        }
    }
}

/// The samples in the rank that a reader gives.
fn shaped(mut samples: Tensor, reader: Reader) -> Result<Tensor> {
    let dims = Dims::from_slice(samples.dims());
    let wanted = match reader {
        Reader::Png | Reader::Jpeg | Reader::CropJpeg(_) | Reader::Bmp | Reader::Jxl => 3,
        Reader::Gif | Reader::Webp => 4,
        Reader::Any { .. } => dims.len(),
    };
    match (&dims[..], wanted) {
        ([n, height, width, channels], 3) => {
            if *n != 1 {
                return Err(damaged(format!("has {n} frames; decode_gif and decode_image read animations")));
            }
            samples.reshape(&[*height, *width, *channels])?;
        }
        ([height, width, channels], 4) => samples.reshape(&[1, *height, *width, *channels])?,
        _ => {}
    }
    Ok(samples)
}

/// The height, the width and the number of channels of a JPEG.
///
/// # Errors
/// `InvalidArgument` for contents that are no JPEG.
pub fn jpeg_shape(contents: &[u8]) -> Result<[usize; 3]> {
    let header = jpeg_header::read(contents)?;
    Ok([header.height, header.width, header.components.min(3)])
}

/// Writes an image of `u8` as a JPEG.
///
/// # Errors
/// `InvalidArgument` for a size, a number of channels or a description that a JPEG cannot have.
#[cfg(feature = "images")]
pub fn encode_jpeg(image: &[u8], dims: [usize; 3], options: &JpegOptions<'_>) -> Result<Vec<u8>> {
    crate::jpeg::write(image, dims, options)
}

/// Writes an image as a PNG, of 8 bits, or of 16 whose high byte comes first.
///
/// # Errors
/// `InvalidArgument` for a size or a number of channels that a PNG cannot have.
#[cfg(feature = "images")]
pub fn encode_png(image: &[u8], dims: [usize; 3], wide: bool, compression: i64) -> Result<Vec<u8>> {
    crate::png::write(image, dims, wide, compression)
}

/// Writes an image of `u8` as a JPEG.
///
/// # Errors
/// `Unimplemented`: this program has no formats of images.
#[cfg(not(feature = "images"))]
pub fn encode_jpeg(_: &[u8], _: [usize; 3], _: &JpegOptions<'_>) -> Result<Vec<u8>> {
    Err(absent())
}

/// Writes an image as a PNG.
///
/// # Errors
/// `Unimplemented`: this program has no formats of images.
#[cfg(not(feature = "images"))]
pub fn encode_png(_: &[u8], _: [usize; 3], _: bool, _: i64) -> Result<Vec<u8>> {
    Err(absent())
}
