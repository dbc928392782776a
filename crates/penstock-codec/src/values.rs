//! Values that are collected one by one, and become a tensor.

use penstock_data::{Bytes, DType, Error, Result, Tensor, memory};

/// Values of one dtype.
#[derive(Debug)]
pub(crate) enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Str(Vec<Bytes>),
}

/// Runs the same on the values of every dtype.
macro_rules! each {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            Values::F32($v) => $body,
            Values::F64($v) => $body,
            Values::I32($v) => $body,
            Values::I64($v) => $body,
            Values::Str($v) => $body,
        }
    };
}

impl Values {
    /// No values, of a dtype that they may have.
    pub(crate) fn new(dtype: DType) -> Option<Values> {
        Some(match dtype {
            DType::F32 => Values::F32(Vec::new()),
            DType::F64 => Values::F64(Vec::new()),
            DType::I32 => Values::I32(Vec::new()),
            DType::I64 => Values::I64(Vec::new()),
            DType::Str => Values::Str(Vec::new()),
            _ => return None,
        })
    }

    pub(crate) fn dtype(&self) -> DType {
        match self {
            Values::F32(_) => DType::F32,
            Values::F64(_) => DType::F64,
            Values::I32(_) => DType::I32,
            Values::I64(_) => DType::I64,
            Values::Str(_) => DType::Str,
        }
    }

    pub(crate) fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        each!(self, v => v.truncate(len));
    }

    pub(crate) fn reserve(&mut self, more: usize) -> Result<()> {
        each!(self, v => memory::reserve(v, more))
    }

    /// The values of several one after the other.
    pub(crate) fn joined(parts: impl IntoIterator<Item = Values>) -> Result<Values> {
        let mut parts = parts.into_iter();
        let mut all = parts.next().ok_or_else(|| Error::internal("values have at least one part"))?;
        for part in parts {
            all.reserve(part.len())?;
            match (&mut all, part) {
                (Values::F32(all), Values::F32(more)) => all.extend(more),
                (Values::F64(all), Values::F64(more)) => all.extend(more),
                (Values::I32(all), Values::I32(more)) => all.extend(more),
                (Values::I64(all), Values::I64(more)) => all.extend(more),
                (Values::Str(all), Values::Str(more)) => all.extend(more),
                _ => return Err(Error::internal("parts of values have one dtype")),
            }
        }
        Ok(all)
    }

    /// The values as a tensor.
    pub(crate) fn tensor(self, dims: &[usize]) -> Result<Tensor> {
        match self {
            Values::F32(v) => Tensor::from_slice(dims, &v),
            Values::F64(v) => Tensor::from_slice(dims, &v),
            Values::I32(v) => Tensor::from_slice(dims, &v),
            Values::I64(v) => Tensor::from_slice(dims, &v),
            Values::Str(v) => Tensor::from_strings(dims, v),
        }
    }
}
