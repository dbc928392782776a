//! GIF, by the `gif` crate. Frames lie on what the frame before left: where one does not reach, or is transparent, that is seen.

use std::num::NonZeroU64;

use gif::{ColorOutput, DecodeOptions, DisposalMethod, MemoryLimit};
use penstock_data::{Error, Result, Tensor, memory};

use crate::damaged;
use crate::options::{Decoded, check_size};

/// How many pixels a byte may stand for: the longest string of a table by the shortest code for it.
const PIXELS_PER_BYTE: usize = 4096;

fn broken(e: gif::DecodingError) -> Error {
    damaged(format!("a GIF is damaged: {e}"))
}

/// Reads all frames, or the first as an image of rank 3.
pub(crate) fn read(contents: &[u8], all: bool) -> Result<Decoded> {
    let most = (contents.len() as u64 + 64) * PIXELS_PER_BYTE as u64;
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(MemoryLimit::Bytes(NonZeroU64::new(most).unwrap_or(NonZeroU64::MIN)));
    let mut decoder = options.read_info(contents).map_err(broken)?;
    let (width, height) = (decoder.width() as usize, decoder.height() as usize);
    check_size(height, width, 3, contents.len(), PIXELS_PER_BYTE)?;
    let size = height * width * 3;
    let mut frames: Vec<u8> = Vec::new();
    let mut canvas = memory::filled(0, size)?;
    while let Some(frame) = decoder.read_next_frame().map_err(broken)? {
        let count = frames.len() / size + 1;
        check_size(height.saturating_mul(count), width, 3, usize::MAX >> 16, 1)?;
        let before = if frame.dispose == DisposalMethod::Previous {
            Some(memory::collected(canvas.iter().copied())?)
        } else {
            None
        };
        let (left, top) = (frame.left as usize, frame.top as usize);
        let (columns, rows) = (frame.width as usize, frame.height as usize);
        let (dispose, transparent, pixels) = (frame.dispose, frame.transparent, frame.buffer.clone());
        let palette = decoder.palette().map_err(broken)?;
        let seen = columns.min(width.saturating_sub(left));
        let lines = pixels.chunks_exact(columns.max(1)).take(rows.min(height.saturating_sub(top)));
        for (i, line) in lines.enumerate() {
            for (j, &index) in line[..seen].iter().enumerate() {
                if Some(index) == transparent {
                    continue;
                }
                let color = palette.get(usize::from(index) * 3..).and_then(|p| p.first_chunk::<3>());
                let color = color.ok_or_else(|| damaged("a GIF has a colour that its table has not"))?;
                let at = ((top + i) * width + left + j) * 3;
                canvas[at..at + 3].copy_from_slice(color);
            }
        }
        memory::reserve(&mut frames, size)?;
        frames.extend_from_slice(&canvas);
        if !all {
            break;
        }
        match (dispose, before) {
            (DisposalMethod::Background, _) => {
                for i in top..(top + rows).min(height) {
                    canvas[(i * width + left.min(width)) * 3..][..seen * 3].fill(0);
                }
            }
            (_, Some(before)) => canvas = before,
            _ => {}
        }
    }
    let count = frames.len() / size;
    if count == 0 {
        return Err(damaged("a GIF has no frame"));
    }
    let samples = if all {
        Tensor::from_slice(&[count, height, width, 3], &frames)?
    } else {
        Tensor::from_slice(&[height, width, 3], &frames)?
    };
    Ok(Decoded { samples })
}
