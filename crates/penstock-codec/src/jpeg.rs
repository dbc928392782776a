//! JPEG, by `zune-jpeg` and `jpeg-encoder`. Sequential images whose components come one after the other are read by
//! `jpeg-decoder`: the other mistakes their colours where these are kept for several pixels.

use jpeg_encoder::{ChromaSubsamplingMethod, ColorType, Encoder, PixelDensity, PixelDensityUnit, SamplingFactor};
use penstock_data::{Error, Result, Tensor, memory};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::options::{Decoded, JpegOptions, Options, Reader, check_size};
use crate::{damaged, jpeg_header};

/// How many pixels a byte may stand for: each block of 64 takes a bit, and a bit stands for at most 16 blocks.
const PIXELS_PER_BYTE: usize = 1024;

pub(crate) fn read(contents: &[u8], options: &Options) -> Result<Decoded> {
    let header = jpeg_header::read(contents)?;
    let channels = match options.channels {
        0 => header.components.min(3),
        given => given,
    };
    check_size(header.height, header.width, channels, contents.len(), PIXELS_PER_BYTE)?;
    if !options.recover && !jpeg_header::has_end(contents) {
        return Err(damaged("a JPEG ends early; see try_recover_truncated"));
    }
    let window = window(&header, options)?;
    if header.separate {
        return finished(read_separate(contents, &header, channels, 1)?, channels, window, options);
    }
    // The mean of a block is its lowest frequency. Smaller images of half a block or a quarter are means as well, which their
    // lowest frequencies alone are not.
    if options.ratio == 8 && header.components < 4 && !options.recover {
        let samples = read_separate(contents, &header, channels, options.ratio)?;
        if samples.dims()[..2] == [header.height, header.width].map(|n| n.div_ceil(options.ratio)) {
            return finished(samples, channels, window, &Options { ratio: 1, ..*options });
        }
    }
    let needed = window.map_or(header.height, |[top, _, rows, _]| {
        // Colours are spread from one block of rows to the next.
        (top + rows).next_multiple_of(header.block) + header.block
    });
    let mut shortened = Vec::new();
    let (contents, header) = if header.sequential && options.ratio == 1 && needed < header.height {
        memory::reserve(&mut shortened, contents.len())?;
        shortened.extend_from_slice(contents);
        shortened[header.place..][..2].copy_from_slice(&(needed as u16).to_be_bytes());
        (&*shortened, jpeg_header::Header { height: needed, ..header })
    } else {
        (contents, header)
    };
    let space = if channels == 1 { ColorSpace::Luma } else { ColorSpace::RGB };
    let settings = DecoderOptions::default()
        .set_max_width(header.width)
        .set_max_height(header.height)
        .set_strict_mode(false)
        .jpeg_set_out_colorspace(space);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(contents), settings);
    let broken = |e: zune_jpeg::errors::DecodeErrors| damaged(format!("a JPEG is damaged: {e:?}"));
    decoder.decode_headers().map_err(broken)?;
    let dims = [header.height, header.width, channels];
    if decoder.output_buffer_size() != Some(dims.iter().product()) {
        return Err(damaged("a JPEG tells two sizes, or colours that it does not have"));
    }
    let mut samples = Decoded::room(&dims)?;
    decoder.decode_into(samples.as_mut_slice::<u8>()).map_err(broken)?;
    finished(samples, channels, window, options)
}

/// The samples made smaller and cut to the part that is wanted.
fn finished(mut samples: Tensor, channels: usize, window: Option<[usize; 4]>, options: &Options) -> Result<Decoded> {
    if options.ratio != 1 {
        let dims = [samples.dims()[0], samples.dims()[1], channels];
        samples = reduced(&samples, dims, options.ratio)?;
    }
    match window {
        Some(window) => Ok(Decoded { samples: cropped(&samples, window)? }),
        None => Ok(Decoded { samples }),
    }
}

/// Reads an image whose components come one after the other, or makes it smaller by a ratio while it is read.
fn read_separate(contents: &[u8], header: &jpeg_header::Header, channels: usize, ratio: usize) -> Result<Tensor> {
    let broken = |e: jpeg_decoder::Error| damaged(format!("a JPEG is damaged: {e}"));
    let mut decoder = jpeg_decoder::Decoder::new(contents);
    decoder.read_info().map_err(broken)?;
    decoder.set_max_decoding_buffer_size(header.height * header.width * header.components);
    let wanted = [header.width, header.height].map(|n| n.div_ceil(ratio) as u16);
    let (width, height) = decoder.scale(wanted[0], wanted[1]).map_err(broken)?;
    let (width, height) = (usize::from(width), usize::from(height));
    let pixels = height * width;
    let found = decoder.decode().map_err(broken)?;
    if header.components == 4 || found.len() != pixels * header.components {
        return Err(damaged(
            "a JPEG tells two sizes, or colours that are not read from components one after the other",
        ));
    }
    let mut samples = Decoded::room(&[height, width, channels])?;
    let out = samples.as_mut_slice::<u8>().chunks_exact_mut(channels);
    for (pixel, out) in found.chunks_exact(header.components).zip(out) {
        match *pixel {
            [grey] => out.fill(grey),
            [r, g, b] if channels == 1 => {
                let [r, g, b] = [r, g, b].map(u32::from);
                out[0] = ((19595 * r + 38470 * g + 7471 * b + (1 << 15)) >> 16) as u8;
            }
            _ => out.copy_from_slice(pixel),
        }
    }
    Ok(samples)
}

/// The part that is wanted, checked against the size.
fn window(header: &jpeg_header::Header, options: &Options) -> Result<Option<[usize; 4]>> {
    let Reader::CropJpeg(wanted) = options.reader else { return Ok(None) };
    let (height, width) = (header.height.div_ceil(options.ratio), header.width.div_ceil(options.ratio));
    let fits = |from: i64, count: i64, size: usize| {
        let (from, count) = (usize::try_from(from).ok()?, usize::try_from(count).ok().filter(|&n| n > 0)?);
        (from.checked_add(count)? <= size).then_some((from, count))
    };
    let [top, left, rows, columns] = wanted;
    let (vertical, horizontal) = (fits(top, rows, height), fits(left, columns, width));
    let (Some((top, rows)), Some((left, columns))) = (vertical, horizontal) else {
        let message = format!("{wanted:?} is no part of an image of {height} by {width} pixels");
        return Err(Error::invalid(message).argument("crop_window"));
    };
    Ok(Some([top, left, rows, columns]))
}

/// Means of squares of `ratio` pixels.
fn reduced(image: &Tensor, [height, width, channels]: [usize; 3], ratio: usize) -> Result<Tensor> {
    let dims = [height.div_ceil(ratio), width.div_ceil(ratio), channels];
    let mut samples = Decoded::room(&dims)?;
    let pixels = image.as_slice::<u8>();
    let lines = pixels.chunks(width * channels * ratio);
    for (lines, out) in lines.zip(samples.as_mut_slice::<u8>().chunks_exact_mut(dims[1] * channels)) {
        for (j, out) in out.chunks_exact_mut(channels).enumerate() {
            let (from, to) = (j * ratio, ((j + 1) * ratio).min(width));
            for (c, out) in out.iter_mut().enumerate() {
                let rows = lines.chunks_exact(width * channels);
                let count = (rows.len() * (to - from)) as u32;
                let sum: u32 = rows.flat_map(|row| (from..to).map(|x| u32::from(row[x * channels + c]))).sum();
                *out = ((sum + count / 2) / count) as u8;
            }
        }
    }
    Ok(samples)
}

fn cropped(image: &Tensor, [top, left, rows, columns]: [usize; 4]) -> Result<Tensor> {
    let &[_, width, channels] = image.dims() else { return Err(Error::internal("an image has three dimensions")) };
    let mut samples = Decoded::room(&[rows, columns, channels])?;
    let lines = image.as_slice::<u8>().chunks_exact(width * channels).skip(top);
    for (line, out) in lines.zip(samples.as_mut_slice::<u8>().chunks_exact_mut(columns * channels)) {
        out.copy_from_slice(&line[left * channels..][..columns * channels]);
    }
    Ok(samples)
}

/// What a description is headed by.
const XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";

pub(crate) fn write(image: &[u8], dims: [usize; 3], options: &JpegOptions<'_>) -> Result<Vec<u8>> {
    let [height, width, channels] = dims;
    let wrong = |message: String| Error::invalid(message).argument("image");
    let color = match channels {
        1 => ColorType::Luma,
        3 => ColorType::Rgb,
        _ => return Err(wrong(format!("a JPEG has 1 or 3 channels, got {channels}"))),
    };
    let side = |n: usize| u16::try_from(n).ok().filter(|&n| n > 0);
    let (Some(rows), Some(columns)) = (side(height), side(width)) else {
        return Err(wrong(format!("a JPEG has 1 to 65535 rows and columns, got {height} by {width} pixels")));
    };
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, options.quality.clamp(1, 100) as u8);
    let sampling = if options.chroma_downsampling { SamplingFactor::R_4_2_0 } else { SamplingFactor::R_4_4_4 };
    encoder.set_sampling_factor(sampling);
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    encoder.set_progressive(options.progressive);
    encoder.set_optimized_huffman_tables(options.optimize_size || options.progressive);
    let unit = if options.centimetres { PixelDensityUnit::Centimeters } else { PixelDensityUnit::Inches };
    encoder.set_density(PixelDensity { density: (options.density[0], options.density[1]), unit });
    if !options.xmp.is_empty() {
        let named = |e: jpeg_encoder::EncodingError| Error::invalid(e.to_string()).argument("xmp_metadata");
        encoder.add_app_segment(1, [XMP, options.xmp.as_bytes()].concat()).map_err(named)?;
    }
    encoder.encode(image, columns, rows, color).map_err(|e| wrong(e.to_string()))?;
    Ok(out)
}
