//! Tensors in memory of C.

use std::ffi::{c_char, c_void};
use std::slice;

use penstock::{DType, Error, Place, Result, Shape, Tensor};

/// Elements, as in DLPack.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ps_dtype {
    /// The kind.
    pub code: u8,
    /// The bits of an element.
    pub bits: u8,
    /// 1.
    pub lanes: u16,
}

/// Row-major elements in memory of the caller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ps_tensor {
    /// The first element.
    pub data: *mut c_void,
    /// The extents.
    pub shape: *const i64,
    /// Their number.
    pub ndim: i32,
    /// The elements.
    pub dtype: ps_dtype,
}

/// An input or an output of a function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ps_port {
    /// Its name.
    pub name: *const c_char,
    /// Its extents, -1 for one that is not known.
    pub shape: *const i64,
    /// Their number; -1 where the rank is not known.
    pub ndim: i32,
    /// Its elements.
    pub dtype: ps_dtype,
}

/// The codes of the kinds of elements, with the header's names for them.
#[cfg(test)]
pub(crate) const CODES: [(&str, u8); 7] = [
    ("PS_INT", 0),
    ("PS_UINT", 1),
    ("PS_FLOAT", 2),
    ("PS_BFLOAT", 4),
    ("PS_COMPLEX", 5),
    ("PS_BOOL", 6),
    ("PS_STRING", 255),
];

/// The elements that memory of C can hold: dtype, code and bits.
const DTYPES: [(DType, u8, u8); 15] = [
    (DType::Bool, 6, 8),
    (DType::I8, 0, 8),
    (DType::I16, 0, 16),
    (DType::I32, 0, 32),
    (DType::I64, 0, 64),
    (DType::U8, 1, 8),
    (DType::U16, 1, 16),
    (DType::U32, 1, 32),
    (DType::U64, 1, 64),
    (DType::F16, 2, 16),
    (DType::Bf16, 4, 16),
    (DType::F32, 2, 32),
    (DType::F64, 2, 64),
    (DType::C64, 5, 64),
    (DType::C128, 5, 128),
];

/// The elements of a dtype; `PS_STRING` for what C cannot hold.
pub(crate) fn code_of(dtype: DType) -> ps_dtype {
    let found = DTYPES.iter().find(|(d, ..)| *d == dtype);
    let (code, bits) = found.map_or((255, 0), |(_, code, bits)| (*code, *bits));
    ps_dtype { code, bits, lanes: 1 }
}

/// The dtype of elements.
pub(crate) fn dtype_of(dtype: ps_dtype) -> Result<DType> {
    let found = DTYPES.iter().find(|(_, code, bits)| (*code, *bits) == (dtype.code, dtype.bits) && dtype.lanes == 1);
    found.map(|(d, ..)| *d).ok_or_else(|| {
        let ps_dtype { code, bits, lanes } = dtype;
        Error::dtype(format!("there are no elements of code {code}, {bits} bits and {lanes} lanes in memory"))
    })
}

/// The extents of a shape, where its rank is known.
pub(crate) fn extents(shape: &Shape) -> Option<Vec<i64>> {
    Some(shape.dims()?.iter().map(|d| d.known().map_or(-1, |n| n as i64)).collect())
}

impl ps_tensor {
    /// The dtype, the extents, and how many bytes there are.
    ///
    /// # Safety
    /// `shape` is null, or points to `ndim` numbers.
    unsafe fn layout(&self) -> Result<(DType, Vec<usize>, usize)> {
        let dtype = dtype_of(self.dtype)?;
        let ndim = usize::try_from(self.ndim).map_err(|_| Error::invalid("has a negative ndim"))?;
        // SAFETY: the caller warrants it.
        let shape = unsafe { crate::array(self.shape, ndim, "shape")? };
        let negative = |_| Error::invalid(format!("has the shape {shape:?}, whose extents are not all known"));
        let dims = shape.iter().map(|&d| usize::try_from(d).map_err(negative)).collect::<Result<Vec<usize>>>()?;
        let bytes =
            dims.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d)).filter(|n| isize::try_from(*n).is_ok());
        let bytes =
            bytes.ok_or_else(|| Error::exhausted(format!("has the shape {shape:?}, more than there can be")))?;
        if bytes > 0 && self.data.is_null() {
            return Err(Error::invalid("has NULL for its data"));
        }
        Ok((dtype, dims, bytes))
    }

    /// A copy.
    ///
    /// # Safety
    /// `shape` and `data` point to as much memory as the fields say, which nobody writes to meanwhile.
    pub(crate) unsafe fn tensor(&self) -> Result<Tensor> {
        // SAFETY: the caller warrants it.
        let (dtype, dims, bytes) = unsafe { self.layout()? };
        let mut tensor = Tensor::empty(dtype, &dims)?;
        if bytes > 0 {
            // SAFETY: `data` is not null, and the caller warrants that so many bytes follow.
            tensor.bytes_mut().copy_from_slice(unsafe { slice::from_raw_parts(self.data.cast::<u8>(), bytes) });
        }
        if dtype == DType::Bool && tensor.bytes().iter().any(|b| *b > 1) {
            return Err(Error::invalid("holds a bool that is neither 0 nor 1"));
        }
        Ok(tensor)
    }

    /// The memory as a place for an output.
    ///
    /// # Safety
    /// As [`ps_tensor::tensor`]; the memory may be written, and nothing else uses it as long as the result lives.
    pub(crate) unsafe fn place<'a>(&self) -> Result<Place<'a>> {
        // SAFETY: the caller warrants it.
        let (dtype, dims, bytes) = unsafe { self.layout()? };
        let memory = match bytes {
            0 => &mut [],
            // SAFETY: `data` is not null, and the caller warrants that so many bytes follow, which are only used here.
            _ => unsafe { slice::from_raw_parts_mut(self.data.cast::<u8>(), bytes) },
        };
        Place::of_bytes(dtype, &dims, memory)
    }
}
