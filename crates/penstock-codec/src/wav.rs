//! WAV of 16 bits a sample.

use penstock_data::{DType, Error, Result, Tensor, memory};

use crate::{bytes_at, damaged};

/// Chunks that may stand before that of the format.
const BEFORE: &[&[u8; 4]] = &[b"JUNK", b"bext", b"iXML", b"qlty", b"mext", b"levl", b"link", b"axml"];
const BYTES: usize = 2;
const HEADER: usize = 44;

fn early() -> Error {
    damaged("a WAV ends too early")
}

/// What a WAV says of itself, and its samples.
struct Sound<'a> {
    channels: usize,
    rate: u32,
    data: &'a [u8],
}

fn chunk(contents: &[u8], at: usize) -> Result<([u8; 4], u32)> {
    let name = bytes_at(contents, at).ok_or_else(early)?;
    let size = bytes_at(contents, at + 4).map(u32::from_le_bytes).ok_or_else(early)?;
    Ok((name, size))
}

fn parts(contents: &[u8]) -> Result<Sound<'_>> {
    if !contents.starts_with(b"RIFF") || contents.get(8..12) != Some(b"WAVE") {
        return Err(damaged("is no WAV"));
    }
    let mut at = 12;
    let size = loop {
        let (name, size) = chunk(contents, at)?;
        at += 8;
        if &name == b"fmt " {
            break size as usize;
        }
        if !BEFORE.contains(&&name) {
            return Err(damaged(format!("a WAV has a part '{}' before its format", name.escape_ascii())));
        }
        at = at.checked_add(size as usize).ok_or_else(early)?;
    };
    if size != 16 && size != 18 {
        return Err(damaged(format!("the format of a WAV must have 16 or 18 bytes, got {size}")));
    }
    let short = |offset| bytes_at(contents, at + offset).map(u16::from_le_bytes).ok_or_else(early);
    let long = |offset| bytes_at(contents, at + offset).map(u32::from_le_bytes).ok_or_else(early);
    let (coding, channels, rate, per_second, per_frame, bits) =
        (short(0)?, short(2)?, long(4)?, long(8)?, short(12)?, short(14)?);
    if coding != 1 {
        return Err(damaged(format!("a WAV must be of coding 1 (PCM), got {coding}")));
    }
    if channels == 0 {
        return Err(damaged("a WAV has no channels"));
    }
    if bits != 16 {
        return Err(damaged(format!("a WAV must have 16 bits a sample, got {bits}")));
    }
    let due = usize::from(channels) * BYTES;
    if usize::from(per_frame) != due {
        return Err(damaged(format!("a WAV of {channels} channels must have {due} bytes a frame, got {per_frame}")));
    }
    let due = u32::from(per_frame).wrapping_mul(rate);
    if per_second != due {
        return Err(damaged(format!("a WAV must have {due} bytes a second, got {per_second}")));
    }
    at += size;
    let mut data: Option<&[u8]> = None;
    while at < contents.len() {
        let (name, size) = chunk(contents, at)?;
        at += 8;
        if size > i32::MAX as u32 {
            return Err(damaged(format!("a part of a WAV has {size} bytes, which is too many")));
        }
        if &name == b"data" {
            if data.is_some() {
                return Err(damaged("a WAV has its data twice"));
            }
            // A frame that is cut off is not read.
            let whole = size as usize / usize::from(per_frame) * usize::from(per_frame);
            data = Some(contents.get(at..at + whole).ok_or_else(early)?);
            at += whole;
            continue;
        }
        at += size as usize;
    }
    let data = data.ok_or_else(|| damaged("a WAV has no data"))?;
    Ok(Sound { channels: channels.into(), rate, data })
}

/// Reads samples from -1 to 1, `f32` of shape `[samples, channels]`, and the number of samples a second.
///
/// Where more channels are wanted than there are, the last is repeated; where more samples are, zeros follow.
///
/// # Errors
/// `InvalidArgument` for contents that are no WAV of 16 bits; `ResourceExhausted` where memory cannot be had.
pub fn decode(contents: &[u8], channels: Option<usize>, samples: Option<usize>) -> Result<(Tensor, i32)> {
    let sound = parts(contents)?;
    let frame = sound.channels * BYTES;
    let (channels, count) = (channels.unwrap_or(sound.channels), samples.unwrap_or(sound.data.len() / frame));
    let rate = i32::from_le_bytes(sound.rate.to_le_bytes());
    let mut audio = Tensor::zeros(DType::F32, &[count, channels])?;
    if channels == 0 {
        return Ok((audio, rate));
    }
    let frames = sound.data.chunks_exact(frame);
    for (frame, out) in frames.zip(audio.as_mut_slice::<f32>().chunks_exact_mut(channels)) {
        for (c, out) in out.iter_mut().enumerate() {
            let at = c.min(sound.channels - 1) * BYTES;
            *out = f32::from(i16::from_le_bytes([frame[at], frame[at + 1]])) / 32768.0;
        }
    }
    Ok((audio, rate))
}

/// Writes samples of shape `[samples, channels]` as a WAV of 16 bits. What is beyond -1 and 1 is cut off.
///
/// # Errors
/// `InvalidArgument` for a rate or a number of channels or samples that a WAV cannot have.
pub fn encode(audio: &[f32], channels: usize, rate: i64) -> Result<Vec<u8>> {
    let wrong = |message: String, argument: &str| Err(Error::invalid(message).argument(argument));
    let Some(rate) = u32::try_from(rate).ok().filter(|&rate| rate > 0) else {
        return wrong(format!("must be positive, got {rate}"), "sample_rate");
    };
    let Some(count) = u16::try_from(channels).ok().filter(|&n| n > 0) else {
        return wrong(format!("a WAV has 1 to 65535 channels, got {channels}"), "audio");
    };
    let Some(size) = u32::try_from(audio.len() * BYTES).ok().filter(|n| n.checked_add(HEADER as u32).is_some()) else {
        return wrong(format!("a WAV does not hold {} samples", audio.len()), "audio");
    };
    let mut out: Vec<u8> = memory::with_room(HEADER + audio.len() * BYTES)?;
    let per_frame = u32::from(count) * BYTES as u32;
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&(size + HEADER as u32 - 8).to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16u32.to_le_bytes());
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&rate.to_le_bytes());
    out.extend_from_slice(&per_frame.wrapping_mul(rate).to_le_bytes());
    out.extend_from_slice(&(per_frame as u16).to_le_bytes());
    out.extend_from_slice(&16u16.to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&size.to_le_bytes());
    // The conversion to integers cuts off, and makes 0 of NaN.
    out.extend(audio.iter().flat_map(|&x| ((x * 32768.0).round() as i16).to_le_bytes()));
    Ok(out)
}
