//! Tensors as `TensorProto` messages, and back.

use penstock_data::{
    Bytes, C64, C128, DType, Error, NarrowFormat, Result, Tensor, bf16, check_rank, f16, memory, num_elements,
};
use penstock_wire::{Field, fields, put_bytes, put_message, put_number, take_varint};

/// TensorFlow's numbers of dtypes.
const DTYPES: [(u64, DType); 28] = [
    (1, DType::F32),
    (2, DType::F64),
    (3, DType::I32),
    (4, DType::U8),
    (5, DType::I16),
    (6, DType::I8),
    (7, DType::Str),
    (8, DType::C64),
    (9, DType::I64),
    (10, DType::Bool),
    (14, DType::Bf16),
    (17, DType::U16),
    (18, DType::C128),
    (19, DType::F16),
    (20, DType::Resource),
    (21, DType::Variant),
    (22, DType::U32),
    (23, DType::U64),
    (24, DType::F8E5M2),
    (25, DType::F8E4M3Fn),
    (26, DType::F8E4M3Fnuz),
    (27, DType::F8E4M3B11Fnuz),
    (28, DType::F8E5M2Fnuz),
    (29, DType::I4),
    (30, DType::U4),
    (31, DType::I2),
    (32, DType::U2),
    (33, DType::F4E2M1Fn),
];

/// The dtype of TensorFlow's number; `None` for one that no message has values of here.
pub fn dtype_of(number: u64) -> Option<DType> {
    let found = DTYPES.iter().find(|(n, _)| *n == number).map(|(_, dtype)| *dtype);
    found.filter(|dtype| !matches!(dtype, DType::Resource | DType::Variant))
}

/// TensorFlow's number of a dtype.
pub fn dtype_number(dtype: DType) -> Option<u64> {
    DTYPES.iter().find(|(_, known)| *known == dtype).map(|(number, _)| *number)
}

/// Says why bytes are no message.
pub type Damaged<'a> = &'a dyn Fn(&str) -> Error;

/// How many elements a message may stand for that does not hold them: a few bytes shall not take all memory.
const MOST_REPEATED: usize = 1 << 31;

/// Writes the fields of a tensor: numbers as bytes, strings one by one.
pub fn put_tensor(out: &mut Vec<u8>, tensor: &Tensor) {
    put_number(out, 1, dtype_number(tensor.dtype()).unwrap_or(0));
    put_message(out, 2, |out| {
        for &size in tensor.dims() {
            put_message(out, 2, |out| put_number(out, 1, size as u64));
        }
    });
    if tensor.dtype() == DType::Str {
        tensor.strings().iter().for_each(|text| put_bytes(out, 8, text));
    } else if !tensor.is_empty() {
        put_bytes(out, 4, tensor.bytes());
    }
}

/// The tensor that a message is.
///
/// # Errors
/// As `damaged` says for bytes that are no such message; `ResourceExhausted` where there is no memory for it.
pub fn read(bytes: &[u8], damaged: Damaged<'_>) -> Result<Tensor> {
    let (mut number, mut shape, mut content): (u64, &[u8], &[u8]) = (0, &[], &[]);
    fields(bytes, damaged, |n, field| {
        match n {
            1 => number = field.number(),
            2 => shape = field.bytes(),
            4 => content = field.bytes(),
            _ => {}
        }
        Ok(())
    })?;
    let dtype = dtype_of(number).ok_or_else(|| damaged(&format!("it has dtype {number}")))?;
    let dims = extents(shape, damaged)?;
    let count = num_elements(&dims).ok_or_else(|| damaged(&format!("it has shape {dims:?}")))?;
    if !content.is_empty() && dtype != DType::Str {
        return of_content(dtype, &dims, content)
            .unwrap_or_else(|| Err(damaged(&format!("it has {} bytes for shape {dims:?}", content.len()))));
    }
    let found = elements(bytes, dtype, damaged)?;
    if found.len() > count {
        return Err(damaged(&format!("it has {} values for shape {dims:?}", found.len())));
    }
    if found.len() < count && count > MOST_REPEATED {
        return Err(damaged(&format!("it has {} values to repeat for shape {dims:?}", found.len())));
    }
    repeated(&found, &dims, count)
}

fn extents(shape: &[u8], damaged: Damaged<'_>) -> Result<Vec<usize>> {
    let mut dims = Vec::new();
    fields(shape, damaged, |n, field| {
        if n == 2 {
            let mut size = 0;
            fields(field.bytes(), damaged, |n, field| {
                if n == 1 {
                    size = field.number() as i64;
                }
                Ok(())
            })?;
            check_rank(dims.len() + 1)?;
            dims.push(usize::try_from(size).map_err(|_| damaged(&format!("it has an extent of {size}")))?);
        }
        Ok(())
    })?;
    Ok(dims)
}

/// The array of numbers that bytes are; `None` where they are not as many as the shape says, or strings.
pub fn of_content(dtype: DType, dims: &[usize], content: &[u8]) -> Option<Result<Tensor>> {
    let size = num_elements(dims).and_then(|count| count.checked_mul(dtype.size()));
    if dtype == DType::Str || size != Some(content.len()) {
        return None;
    }
    Some(Tensor::empty(dtype, dims).map(|mut tensor| {
        tensor.bytes_mut().copy_from_slice(content);
        if dtype == DType::Bool {
            tensor.bytes_mut().iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        tensor
    }))
}

/// An array of `count` elements, at least as many as a vector has: the last of these stands for those that follow, and zeros or empty
/// strings where there is none.
///
/// # Errors
/// `ResourceExhausted` where there is no memory for it.
pub fn repeated(found: &Tensor, dims: &[usize], count: usize) -> Result<Tensor> {
    if found.len() == count {
        return found.reshaped(dims);
    }
    if found.dtype() == DType::Str {
        let mut all = memory::with_room(count)?;
        all.extend_from_slice(found.strings());
        all.resize(count, found.strings().last().cloned().unwrap_or_default());
        return Tensor::from_strings(dims, all);
    }
    if found.is_empty() {
        return Tensor::zeros(found.dtype(), dims);
    }
    let size = found.dtype().size();
    let mut tensor = Tensor::empty(found.dtype(), dims)?;
    let (front, rest) = tensor.bytes_mut().split_at_mut(found.byte_len());
    front.copy_from_slice(found.bytes());
    let last = &found.bytes()[found.byte_len() - size..];
    for chunk in rest.chunks_exact_mut(size) {
        chunk.copy_from_slice(last);
    }
    Ok(tensor)
}

/// The elements that a message lists, as a vector.
///
/// # Errors
/// As `damaged` says for bytes that are no such message.
pub fn elements(bytes: &[u8], dtype: DType, damaged: Damaged<'_>) -> Result<Tensor> {
    let floats = |number| {
        listed(bytes, number, damaged, |field, out| match field {
            Field::Fixed32(bits) => out.push(f32::from_bits(bits)),
            field => out.extend(field.bytes().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b))),
        })
    };
    let doubles = |number| {
        listed(bytes, number, damaged, |field, out| match field {
            Field::Fixed64(bits) => out.push(f64::from_bits(bits)),
            field => out.extend(field.bytes().as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b))),
        })
    };
    Ok(match dtype {
        DType::F32 => Tensor::vector(&floats(5)?),
        DType::F64 => Tensor::vector(&doubles(6)?),
        DType::I32 => Tensor::vector(&integers(bytes, 7, damaged, |v| v as i32)?),
        DType::I16 => Tensor::vector(&integers(bytes, 7, damaged, |v| v as i16)?),
        DType::I8 => Tensor::vector(&integers(bytes, 7, damaged, |v| v as i8)?),
        DType::U8 => Tensor::vector(&integers(bytes, 7, damaged, |v| v as u8)?),
        DType::U16 => Tensor::vector(&integers(bytes, 7, damaged, |v| v as u16)?),
        DType::I64 => Tensor::vector(&integers(bytes, 10, damaged, |v| v as i64)?),
        DType::U32 => Tensor::vector(&integers(bytes, 16, damaged, |v| v as u32)?),
        DType::U64 => Tensor::vector(&integers(bytes, 17, damaged, |v| v)?),
        DType::F16 => Tensor::vector(&integers(bytes, 13, damaged, |v| f16::from_bits(v as u16))?),
        DType::Bf16 => Tensor::vector(&integers(bytes, 13, damaged, |v| bf16::from_bits(v as u16))?),
        DType::Bool => {
            let flags = integers(bytes, 11, damaged, |v| u8::from(v != 0))?;
            let mut tensor = Tensor::empty(DType::Bool, &[flags.len()])?;
            tensor.bytes_mut().copy_from_slice(&flags);
            tensor
        }
        DType::C64 => {
            let pairs = floats(9)?;
            Tensor::vector(&pairs.as_chunks::<2>().0.iter().map(|[re, im]| C64::new(*re, *im)).collect::<Vec<_>>())
        }
        DType::C128 => {
            let pairs = doubles(12)?;
            Tensor::vector(&pairs.as_chunks::<2>().0.iter().map(|[re, im]| C128::new(*re, *im)).collect::<Vec<_>>())
        }
        DType::Str => {
            let texts = listed(bytes, 8, damaged, |field, out: &mut Vec<Bytes>| out.push(field.bytes().into()))?;
            Tensor::from_strings(&[texts.len()], texts)?
        }
        DType::Variant | DType::Resource => return Err(damaged("a constant is a list of tensors")),
        _ => {
            // Floats are the bytes of one field, integers numbers.
            let bytes = match NarrowFormat::of(dtype) {
                Some(NarrowFormat::Float(_)) => {
                    listed(bytes, 18, damaged, |field, out: &mut Vec<u8>| out.extend_from_slice(field.bytes()))?
                }
                format => integers(bytes, 7, damaged, |v| format.map_or(0, |f| f.wrap(v as i64)))?,
            };
            let mut tensor = Tensor::empty(dtype, &[bytes.len()])?;
            tensor.bytes_mut().copy_from_slice(&bytes);
            tensor
        }
    })
}

/// What `read` adds for each field of a number.
fn listed<T>(
    bytes: &[u8],
    number: u64,
    damaged: Damaged<'_>,
    mut read: impl FnMut(Field<'_>, &mut Vec<T>),
) -> Result<Vec<T>> {
    let mut out = Vec::new();
    fields(bytes, damaged, |n, field| {
        if n == number {
            read(field, &mut out);
        }
        Ok(())
    })?;
    Ok(out)
}

/// The numbers of a field of integers: one by one, or many in one field.
fn integers<T>(bytes: &[u8], number: u64, damaged: Damaged<'_>, of: impl Fn(u64) -> T) -> Result<Vec<T>> {
    let mut out = Vec::new();
    fields(bytes, damaged, |n, field| {
        match field {
            _ if n != number => {}
            Field::Number(v) => out.push(of(v)),
            Field::Bytes(mut packed) => {
                while !packed.is_empty() {
                    let v = take_varint(&mut packed).ok_or_else(|| damaged("a list of numbers ends too early"))?;
                    out.push(of(v));
                }
            }
            Field::Fixed32(_) | Field::Fixed64(_) => return Err(damaged("a number is of another kind")),
        }
        Ok(())
    })?;
    Ok(out)
}
