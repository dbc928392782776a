//! Dtypes, and what is known of tensors.

use std::fmt;

use crate::abi::{self, MAX_RANK};

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $code:literal $size:literal;)+) => {
        /// The dtype of elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DType {
            $($(#[$doc])* $variant,)+
        }

        impl DType {
            /// Every dtype that an operator may take.
            pub const ALL: &'static [DType] = &[$(DType::$variant,)+];

            /// What Python calls it.
            pub fn name(self) -> &'static str {
                match self {
                    $(DType::$variant => $name,)+
                }
            }

            /// The bytes of an element.
            pub fn size(self) -> usize {
                match self {
                    $(DType::$variant => $size,)+
                }
            }

            pub(crate) fn code(self) -> i32 {
                match self {
                    $(DType::$variant => $code,)+
                }
            }
        }
    };
}

dtypes! {
    /// Single precision.
    F32 "float32" 1 4;
    /// Double precision.
    F64 "float64" 2 8;
    /// Half precision.
    F16 "float16" 19 2;
    /// The upper half of single precision.
    Bf16 "bfloat16" 14 2;
    /// 8 bits with a sign.
    I8 "int8" 6 1;
    /// 16 bits with a sign.
    I16 "int16" 5 2;
    /// 32 bits with a sign.
    I32 "int32" 3 4;
    /// 64 bits with a sign.
    I64 "int64" 9 8;
    /// 8 bits.
    U8 "uint8" 4 1;
    /// 16 bits.
    U16 "uint16" 17 2;
    /// 32 bits.
    U32 "uint32" 22 4;
    /// 64 bits.
    U64 "uint64" 23 8;
    /// Truth values.
    Bool "bool" 10 1;
    /// Complex numbers of single precision.
    C64 "complex64" 8 8;
    /// Complex numbers of double precision.
    C128 "complex128" 18 16;
}

impl DType {
    pub(crate) fn from_code(code: i32) -> Option<DType> {
        DType::ALL.iter().copied().find(|dtype| dtype.code() == code)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known of a tensor: its dtype, and of its shape what is known before there is a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The dtype of its elements.
    pub dtype: DType,
    /// The size of each dimension, None for one that is not known; None where even their number is not.
    pub shape: Option<Vec<Option<usize>>>,
}

impl TensorType {
    /// A type of these sizes, of which None are not known.
    pub fn new(dtype: DType, sizes: impl IntoIterator<Item = Option<usize>>) -> TensorType {
        TensorType { dtype, shape: Some(sizes.into_iter().collect()) }
    }

    /// A type of a number.
    pub fn scalar(dtype: DType) -> TensorType {
        TensorType::new(dtype, [])
    }

    /// A type of which only the dtype is known.
    pub fn of_any_shape(dtype: DType) -> TensorType {
        TensorType { dtype, shape: None }
    }

    /// The same shape with other elements.
    pub fn with_dtype(&self, dtype: DType) -> TensorType {
        TensorType { dtype, shape: self.shape.clone() }
    }

    /// The number of dimensions, where it is known.
    pub fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(Vec::len)
    }

    /// The size of a dimension, where it is known. There is none beyond the rank.
    pub fn size(&self, axis: usize) -> Option<usize> {
        self.shape.as_ref()?.get(axis).copied().flatten()
    }

    pub(crate) fn from_abi(found: &abi::Type) -> Result<TensorType, String> {
        let dtype =
            DType::from_code(found.dtype).ok_or_else(|| format!("there is no dtype of number {}", found.dtype))?;
        let Ok(rank) = usize::try_from(found.rank) else { return Ok(TensorType::of_any_shape(dtype)) };
        let sizes =
            found.sizes.get(..rank).ok_or_else(|| format!("there are {rank} dimensions, at most {MAX_RANK} can be"))?;
        Ok(TensorType::new(dtype, sizes.iter().map(|size| usize::try_from(*size).ok())))
    }

    pub(crate) fn to_abi(&self) -> Result<abi::Type, String> {
        let mut made = abi::Type { dtype: self.dtype.code(), rank: -1, sizes: [-1; MAX_RANK] };
        let Some(shape) = &self.shape else { return Ok(made) };
        if shape.len() > MAX_RANK {
            return Err(format!("a result has {} dimensions, at most {MAX_RANK} can be", shape.len()));
        }
        made.rank = shape.len() as i32;
        for (place, size) in made.sizes.iter_mut().zip(shape) {
            *place = match size {
                Some(size) => i64::try_from(*size).map_err(|_| format!("a result has a dimension of size {size}"))?,
                None => -1,
            };
        }
        Ok(made)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(shape) = &self.shape else { return write!(f, "{}[..]", self.dtype) };
        let sizes: Vec<String> = shape.iter().map(|size| size.map_or("?".to_owned(), |n| n.to_string())).collect();
        write!(f, "{}[{}]", self.dtype, sizes.join(", "))
    }
}
