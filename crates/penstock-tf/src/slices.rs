//! Parts of tensors: what the key of a part is, and where it lies in the whole.

use penstock_data::{Result, Tensor};
use penstock_wire::{put_message, put_number};

use crate::damaged;
use crate::fields;

/// A part of a tensor: where it starts and how long it is in each dimension; all of a dimension where there is no length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part(Vec<(i64, Option<i64>)>);

impl Part {
    /// Of a `TensorSliceProto`.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Part> {
        let mut extents = Vec::new();
        fields("a part of a tensor", bytes, |number, field| {
            if number == 1 {
                let (mut start, mut length) = (0, None);
                fields("a part of a tensor", field.bytes(), |number, field| {
                    match number {
                        1 => start = field.number() as i64,
                        2 => length = Some(field.number() as i64),
                        _ => {}
                    }
                    Ok(())
                })?;
                extents.push((start, length));
            }
            Ok(())
        })?;
        Ok(Part(extents))
    }

    /// `count` rows, from row `start` on, of a tensor of `rank` dimensions.
    pub(crate) fn rows(start: usize, count: usize, rank: usize) -> Part {
        let mut extents = vec![(0, None); rank];
        extents[0] = (start as i64, Some(count as i64));
        Part(extents)
    }

    /// As a `TensorSliceProto`.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        for &(start, length) in &self.0 {
            put_message(out, 1, |out| {
                if let Some(length) = length {
                    put_number(out, 1, start as u64);
                    put_number(out, 2, length as u64);
                }
            });
        }
    }

    /// Where it starts, and its extents, in a tensor of these.
    pub(crate) fn place(&self, dims: &[usize]) -> Result<(Vec<usize>, Vec<usize>)> {
        let wrong = || damaged("a part of a tensor", "it does not lie in the tensor");
        if self.0.len() != dims.len() {
            return Err(wrong());
        }
        let place = |(&(start, length), &dim): (&(i64, Option<i64>), &usize)| {
            let start = usize::try_from(start).ok()?;
            let length = match length {
                Some(length) => usize::try_from(length).ok()?,
                None => dim.checked_sub(start)?,
            };
            (start.checked_add(length)? <= dim).then_some((start, length))
        };
        let places = self.0.iter().zip(dims).map(place).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        Ok(places.into_iter().unzip())
    }

    /// The key of this part of a tensor: texts and numbers written so that their bytes are ordered as they are.
    pub(crate) fn key(&self, name: &str) -> Vec<u8> {
        let mut out = Vec::new();
        put_ordered(&mut out, 0);
        for &byte in name.as_bytes() {
            out.push(byte);
            match byte {
                0 => out.push(0xff),
                0xff => out.push(0),
                _ => {}
            }
        }
        out.extend([0, 1]);
        put_ordered(&mut out, self.0.len() as u64);
        for &(start, length) in &self.0 {
            put_signed(&mut out, start);
            put_signed(&mut out, length.unwrap_or(-1));
        }
        out
    }
}

fn put_ordered(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_be_bytes();
    let skipped = value.leading_zeros() as usize / 8;
    out.push((8 - skipped) as u8);
    out.extend_from_slice(&bytes[skipped..]);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    let magnitude = if value < 0 { !value } else { value };
    let bits = 64 - magnitude.leading_zeros() as usize;
    // As many leading ones as bytes, a zero, and the number; all turned where it is negative.
    let length = bits / 7 + 1;
    let mut bytes = [if value < 0 { 0xff } else { 0 }; 10];
    bytes[2..].copy_from_slice(&value.to_be_bytes());
    let header = [
        [0, 0],
        [0x80, 0],
        [0xc0, 0],
        [0xe0, 0],
        [0xf0, 0],
        [0xf8, 0],
        [0xfc, 0],
        [0xfe, 0],
        [0xff, 0],
        [0xff, 0x80],
        [0xff, 0xc0],
    ][length];
    let start = bytes.len() - length;
    bytes[start] ^= header[0];
    if length > 1 {
        bytes[start + 1] ^= header[1];
    }
    out.extend_from_slice(&bytes[start..]);
}

/// Copies the bytes of a part to its place in those of the whole.
pub(crate) fn copy_part(whole: &mut Tensor, part: &Tensor, starts: &[usize]) {
    let (dims, extents) = (whole.dims().to_vec(), part.dims().to_vec());
    let element = whole.dtype().size();
    if part.is_empty() {
        return;
    }
    if dims.is_empty() {
        whole.bytes_mut().copy_from_slice(part.bytes());
        return;
    }
    let row = extents[extents.len() - 1] * element;
    let (source, target) = (part.bytes(), whole.bytes_mut());
    let mut position = vec![0; dims.len()];
    for line in source.chunks_exact(row) {
        let at = position.iter().zip(starts).zip(&dims).fold(0, |at, ((p, s), d)| at * d + p + s) * element;
        target[at..at + row].copy_from_slice(line);
        for axis in (0..dims.len() - 1).rev() {
            position[axis] += 1;
            if position[axis] < extents[axis] {
                break;
            }
            position[axis] = 0;
        }
    }
}
