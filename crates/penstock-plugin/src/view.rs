//! The memory of tensors: typed slices, checked against the dtype.

#![expect(unsafe_code, reason = "bytes as elements; see the SAFETY comments")]

use crate::tensor_type::DType;

mod sealed {
    /// Types whose every pattern of bits is a value, and `bool`, whose bytes are checked.
    pub trait Plain {}
}

/// What elements are in Rust.
pub trait Element: sealed::Plain + Copy + Send + Sync + 'static {
    /// Their dtype.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident),+ $(,)?) => {
        $(
            impl sealed::Plain for $ty {}
            impl Element for $ty {
                const DTYPE: DType = DType::$dtype;
            }
        )+
    };
}

/// The bits of a number of half precision, for a crate that computes with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16Bits(pub u16);

/// The bits of a `bfloat16`, which are the upper half of those of an `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16Bits(pub u16);

// Complex numbers are the real part, then the imaginary part.
elements! {
    f32 => F32, f64 => F64, F16Bits => F16, Bf16Bits => Bf16,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    bool => Bool, [f32; 2] => C64, [f64; 2] => C128,
}

/// Why memory cannot be seen as elements, if so.
fn refusal<T: Element>(what: &str, dtype: DType, bytes: &[u8]) -> Result<(), String> {
    if T::DTYPE != dtype {
        return Err(format!("{what} is {dtype}, and is used as {}", T::DTYPE));
    }
    if dtype == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
        return Err(format!("{what} holds a bool that is neither 0 nor 1"));
    }
    // SAFETY: any bytes are values of T, or, of bool, have been checked.
    let (before, _, after) = unsafe { bytes.align_to::<T>() };
    if before.is_empty() && after.is_empty() { Ok(()) } else { Err(format!("{what} is not aligned")) }
}

/// An input: its elements are row-major.
#[derive(Clone, Debug)]
pub struct View<'a> {
    name: &'a str,
    dtype: DType,
    shape: Vec<usize>,
    bytes: &'a [u8],
}

impl<'a> View<'a> {
    pub(crate) fn new(name: &'a str, dtype: DType, shape: Vec<usize>, bytes: &'a [u8]) -> View<'a> {
        View { name, dtype, shape, bytes }
    }

    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its sizes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements.
    ///
    /// # Errors
    /// Where they have another dtype.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T], String> {
        refusal::<T>(&format!("the input '{}'", self.name), self.dtype, self.bytes)?;
        // SAFETY: any bytes are values of T, or, of bool, have been checked.
        Ok(unsafe { self.bytes.align_to::<T>() }.1)
    }

    /// The elements of any dtype as bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// An output, to be written: its elements are row-major, and zero at first.
#[derive(Debug)]
pub struct ViewMut<'a> {
    name: &'a str,
    dtype: DType,
    shape: Vec<usize>,
    bytes: &'a mut [u8],
}

impl<'a> ViewMut<'a> {
    pub(crate) fn new(name: &'a str, dtype: DType, shape: Vec<usize>, bytes: &'a mut [u8]) -> ViewMut<'a> {
        ViewMut { name, dtype, shape, bytes }
    }

    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its sizes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements.
    ///
    /// # Errors
    /// Where they have another dtype.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], String> {
        refusal::<T>(&format!("the output '{}'", self.name), self.dtype, self.bytes)?;
        // SAFETY: any bytes are values of T, or, of bool, have been checked; and any T has bytes that are initialised.
        Ok(unsafe { self.bytes.align_to_mut::<T>() }.1)
    }

    /// The elements of any dtype as bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}
