//! Tensors of ONNX as tensors of the engine.

use std::path::{Component, Path};

use penstock_data::{Bool8, Bytes, DType, Error, Result, Tensor, num_elements};
use penstock_wire::{Field, take_varint};

use crate::proto::{self, damaged, fields, text};

/// ONNX's number of each dtype that the engine has.
const DTYPES: [(u64, DType); 16] = [
    (1, DType::F32),
    (2, DType::U8),
    (3, DType::I8),
    (4, DType::U16),
    (5, DType::I16),
    (6, DType::I32),
    (7, DType::I64),
    (8, DType::Str),
    (9, DType::Bool),
    (10, DType::F16),
    (11, DType::F64),
    (12, DType::U32),
    (13, DType::U64),
    (14, DType::C64),
    (15, DType::C128),
    (16, DType::Bf16),
];

/// The names of the dtypes that the engine does not have, by number from 17.
const MISSING: [&str; 10] = [
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
    "uint2",
    "int2",
];

/// The dtype of a number.
pub(crate) fn dtype(number: u64) -> Result<DType> {
    DTYPES.iter().find(|(n, _)| *n == number).map(|(_, d)| *d).ok_or_else(|| {
        let name = usize::try_from(number).ok().and_then(|n| MISSING.get(n.checked_sub(17)?));
        match name {
            Some(name) => Error::unimplemented(format!("the dtype {name} of ONNX is not supported")),
            None => damaged(format_args!("there is no dtype {number}")),
        }
    })
}

/// The number of a dtype: 0 for one that only the engine has.
pub(crate) fn number_of(dtype: DType) -> u64 {
    DTYPES.iter().find(|(_, d)| *d == dtype).map_or(0, |(n, _)| *n)
}

/// Where tensors may lie beside the model.
pub(crate) struct Files<'a> {
    /// The model's directory; `None` for a model that was not read from a file.
    pub(crate) directory: Option<&'a Path>,
}

/// Where a tensor's data lie, as far as that is said.
#[derive(Default)]
struct External<'a> {
    location: &'a str,
    offset: u64,
    length: Option<u64>,
}

/// Decodes a tensor. No memory is taken before the sizes are checked against the bytes there are.
pub(crate) fn decode(proto: &proto::Tensor<'_>, files: &Files<'_>) -> Result<Tensor> {
    decode_at(proto, files).map_err(|e| Error::new(e.class(), format!("tensor '{}': {}", proto.name, e.message())))
}

fn decode_at(proto: &proto::Tensor<'_>, files: &Files<'_>) -> Result<Tensor> {
    let dtype = dtype(proto.dtype)?;
    let dims = extents(&proto.dims)?;
    let count = num_elements(&dims).ok_or_else(|| damaged("its extents are too great"))?;
    let (mut raw, mut is_external): (Option<&[u8]>, bool) = (None, false);
    let mut external = External::default();
    fields(proto.body, |number, field| {
        match number {
            9 => raw = Some(field.bytes()),
            13 => external.entry(field.bytes())?,
            14 => is_external = field.number() == 1,
            _ => {}
        }
        Ok(())
    })?;
    if dtype == DType::Str {
        return strings(proto, &dims, count);
    }
    let read;
    if is_external {
        read = external.read(files, count.checked_mul(dtype.size()))?;
        raw = Some(&read);
    }
    let Some(raw) = raw else { return numbers(proto, dtype, &dims, count) };
    if count.checked_mul(dtype.size()) != Some(raw.len()) {
        return Err(damaged(format_args!("{} bytes do not fill {dtype}{dims:?}", raw.len())));
    }
    if dtype == DType::Bool {
        // Whatever is not 0 is true.
        let values: Vec<Bool8> = raw.iter().map(|&b| Bool8::new(b != 0)).collect();
        return Tensor::from_slice(&dims, &values);
    }
    let mut tensor = Tensor::empty(dtype, &dims)?;
    tensor.bytes_mut().copy_from_slice(raw);
    Ok(tensor)
}

pub(crate) fn extents(dims: &[i64]) -> Result<Vec<usize>> {
    dims.iter().map(|&d| usize::try_from(d).map_err(|_| damaged("an extent is negative"))).collect()
}

fn strings(proto: &proto::Tensor<'_>, dims: &[usize], count: usize) -> Result<Tensor> {
    let mut found = 0usize;
    fields(proto.body, |number, _| {
        found += usize::from(number == 6);
        Ok(())
    })?;
    if found != count {
        return Err(damaged(format_args!("{found} strings do not fill the shape {dims:?}")));
    }
    let mut values: Vec<Bytes> = Vec::with_capacity(count);
    fields(proto.body, |number, field| {
        if number == 6 {
            values.push(field.bytes().into());
        }
        Ok(())
    })?;
    Tensor::from_strings(dims, values)
}

/// A tensor whose numbers are in the field of their kind, packed or one by one.
fn numbers(proto: &proto::Tensor<'_>, dtype: DType, dims: &[usize], count: usize) -> Result<Tensor> {
    let due = match dtype {
        DType::F32 | DType::C64 => 4,
        DType::I64 => 7,
        DType::F64 | DType::C128 => 10,
        DType::U32 | DType::U64 => 11,
        _ => 5,
    };
    // A number takes a byte at least.
    if count > proto.body.len() {
        return Err(damaged(format_args!("its data do not fill {dtype}{dims:?}")));
    }
    let mut tensor = Tensor::zeros(dtype, dims)?;
    let (size, is_varint) = (dtype.size(), matches!(due, 5 | 7 | 11));
    let width = if due == 4 { 4 } else { 8 };
    let bytes = tensor.bytes_mut();
    let mut at = 0;
    let mut put = |number: &[u8]| {
        let place = bytes.get_mut(at..at + number.len()).ok_or_else(|| damaged("it has too many elements"))?;
        place.copy_from_slice(number);
        at += number.len();
        Ok(())
    };
    let bool_or = |n: u64| if dtype == DType::Bool { u64::from(n != 0) } else { n };
    fields(proto.body, |number, field| {
        if number != due {
            return Ok(());
        }
        match field {
            Field::Number(n) if is_varint => put(&bool_or(n).to_le_bytes()[..size]),
            Field::Fixed32(bits) if width == 4 => put(&bits.to_le_bytes()),
            Field::Fixed64(bits) => put(&bits.to_le_bytes()),
            Field::Bytes(mut packed) if is_varint => {
                while !packed.is_empty() {
                    let n = take_varint(&mut packed).ok_or_else(|| damaged("a number is cut off"))?;
                    put(&bool_or(n).to_le_bytes()[..size])?;
                }
                Ok(())
            }
            Field::Bytes(packed) if packed.len() % width == 0 => put(packed),
            _ => Err(damaged("its data are of another kind")),
        }
    })?;
    match at == bytes.len() {
        true => Ok(tensor),
        false => Err(damaged(format_args!("its data do not fill {dtype}{dims:?}"))),
    }
}

impl<'a> External<'a> {
    fn entry(&mut self, bytes: &'a [u8]) -> Result<()> {
        let (mut key, mut value) = ("", "");
        fields(bytes, |number, field| {
            match number {
                1 => key = text(field)?,
                2 => value = text(field)?,
                _ => {}
            }
            Ok(())
        })?;
        let number = || value.parse::<u64>().map_err(|_| damaged(format_args!("'{value}' is no {key}")));
        match key {
            "location" => self.location = value,
            "offset" => self.offset = number()?,
            "length" => self.length = Some(number()?),
            _ => {}
        }
        Ok(())
    }

    /// Reads the data from a file in the model's directory, and from nowhere else: a link to another place is none.
    fn read(&self, files: &Files<'_>, due: Option<usize>) -> Result<Vec<u8>> {
        use std::io::{Read, Seek, SeekFrom};
        let wrong = |what: &str| Error::precondition(format!("data in the file '{}': {what}", self.location));
        let directory = files.directory.ok_or_else(|| wrong("the model was not read from a directory"))?;
        let relative = Path::new(self.location);
        let inside = relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        if self.location.is_empty() || !inside {
            return Err(wrong("it is not in the model's directory"));
        }
        let failed = |e: std::io::Error| wrong(&e.kind().to_string());
        let root = directory.canonicalize().map_err(failed)?;
        let path = directory.join(relative).canonicalize().map_err(failed)?;
        if !path.starts_with(&root) {
            return Err(wrong("it is not in the model's directory"));
        }
        let due = due.ok_or_else(|| damaged("its extents are too great"))? as u64;
        if self.length.is_some_and(|length| length != due) {
            return Err(wrong("its length is not that of the tensor"));
        }
        let mut file = std::fs::File::open(&path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() || self.offset.checked_add(due).is_none_or(|end| end > meta.len()) {
            return Err(wrong("it is too short"));
        }
        file.seek(SeekFrom::Start(self.offset)).map_err(failed)?;
        let mut bytes = vec![0; due as usize];
        file.read_exact(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }
}

/// A sparse tensor with its zeros.
pub(crate) fn dense(sparse: &proto::SparseTensor<'_>, files: &Files<'_>) -> Result<Tensor> {
    let (values, indices) = (decode(&sparse.values, files)?, decode(&sparse.indices, files)?.to_ints()?);
    let dims = extents(&sparse.dims)?;
    let count = num_elements(&dims).ok_or_else(|| damaged("its extents are too great"))?;
    let size = values.dtype().size();
    if values.rank() != 1 || size == 0 {
        return Err(damaged("a sparse tensor has no vector of numbers"));
    }
    let linear = indices.len() == values.len();
    if !linear && Some(indices.len()) != values.len().checked_mul(dims.len()) {
        return Err(damaged("a sparse tensor has another number of indices"));
    }
    let mut out = Tensor::zeros(values.dtype(), &dims)?;
    for i in 0..values.len() {
        let at = match linear {
            true => usize::try_from(indices[i]).ok(),
            false => dims.iter().zip(&indices[i * dims.len()..]).try_fold(0, |at, (&extent, &index)| {
                let index = usize::try_from(index).ok().filter(|&index| index < extent)?;
                Some(at * extent + index)
            }),
        };
        let at =
            at.filter(|&at| at < count).ok_or_else(|| damaged("a sparse tensor has an index that is not there"))?;
        out.bytes_mut()[at * size..][..size].copy_from_slice(&values.bytes()[i * size..][..size]);
    }
    Ok(out)
}
