//! Tensors to and from `ndarray` arrays.

#![expect(unsafe_code, reason = "a tensor takes over the memory of an array; see the SAFETY comment")]

use std::ptr::NonNull;

use ndarray::{Array, ArrayBase, ArrayView, ArrayViewD, ArrayViewMutD, Data, DataMut, Dimension, IxDyn};
use penstock_data::{
    Bool8, Buffer, Bytes, C64, C128, DType, Element, Error, INLINE_BYTES, Result, Tensor, bf16, f16, num_elements,
};
use penstock_exec::Place;

/// A Rust type that array and tensor have in common: the elements of all plain dtypes, `bool` beside
/// [`Bool8`], and [`Bytes`] for strings. Sealed.
pub trait ArrayElement: repr::Repr {}

pub(crate) mod repr {
    use super::{ArrayViewD, DType, Result, Tensor};

    /// How elements of a type lie in a tensor.
    pub trait Repr: Clone + Send + Sync + 'static {
        /// The dtype whose elements are of this type.
        const DTYPE: DType;

        /// The elements of a tensor of this dtype, in place.
        fn elements(tensor: &Tensor) -> Result<&[Self]>;

        /// A tensor of `dims` that keeps the memory of `values`, whose elements from `first` on are its own.
        fn adopt(dims: &[usize], values: Vec<Self>, first: usize) -> Result<Tensor>;

        /// A tensor with a copy of the elements.
        fn copy(array: ArrayViewD<'_, Self>) -> Result<Tensor>;
    }
}
use repr::Repr;

/// Arrays in and out of tensors.
pub trait TensorExt: Sized {
    /// The tensor of an array of any rank.
    ///
    /// An owned array in row-major order, more than a few bytes large, gives its memory away. Views, arrays that
    /// are shared, and other layouts (transposed, reversed, strided) are copied.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    fn from_array<S, D>(array: ArrayBase<S, D>) -> Result<Self>
    where
        S: Data,
        S::Elem: ArrayElement,
        D: Dimension;

    /// The elements in place, as a view of rank `D`; of any rank where that is `IxDyn`.
    ///
    /// # Errors
    /// `DType` where `T` is not the element type, `InvalidArgument` for another rank, for extents that are too large
    /// for `ndarray`, and where a byte of a `bool` tensor that is viewed as `bool` is neither 0 nor 1.
    fn array_view<T: ArrayElement, D: Dimension>(&self) -> Result<ArrayView<'_, T, D>>;

    /// A copy of the elements as an array that owns them.
    ///
    /// # Errors
    /// As [`TensorExt::array_view`].
    fn to_array<T: ArrayElement, D: Dimension>(&self) -> Result<Array<T, D>> {
        Ok(self.array_view::<T, D>()?.to_owned())
    }
}

impl TensorExt for Tensor {
    fn from_array<S, D>(array: ArrayBase<S, D>) -> Result<Tensor>
    where
        S: Data,
        S::Elem: ArrayElement,
        D: Dimension,
    {
        if !array.is_standard_layout() {
            return S::Elem::copy(array.view().into_dyn());
        }
        match array.try_into_owned_nocopy() {
            Ok(array) => {
                let dims = array.shape().to_vec();
                let (values, first) = array.into_raw_vec_and_offset();
                S::Elem::adopt(&dims, values, first.unwrap_or(0))
            }
            Err(array) => S::Elem::copy(array.view().into_dyn()),
        }
    }

    fn array_view<T: ArrayElement, D: Dimension>(&self) -> Result<ArrayView<'_, T, D>> {
        if self.dtype() != T::DTYPE {
            return Err(Error::dtype(format!(
                "a {} tensor cannot be viewed as {}",
                self.dtype().tf_name(),
                T::DTYPE.tf_name()
            )));
        }
        let view = ArrayViewD::from_shape(IxDyn(self.dims()), T::elements(self)?)
            .map_err(|e| Error::invalid(format!("shape {:?} is none of an array: {e}", self.dims())))?;
        view.into_dimensionality().map_err(|_| {
            let due = D::NDIM.unwrap_or_default();
            Error::invalid(format!("expected rank {due}, got rank {} (shape {:?})", self.rank(), self.dims()))
        })
    }
}

/// The memory of an array, for an output: see [`crate::ConcreteFunction::run_into`].
///
/// # Errors
/// `InvalidArgument` where the array is not in row-major order.
pub fn place<S, D>(array: &mut ArrayBase<S, D>) -> Result<Place<'_>>
where
    S: DataMut,
    S::Elem: Element,
    D: Dimension,
{
    let dims = array.shape().to_vec();
    let elements =
        array.as_slice_mut().ok_or_else(|| Error::invalid("the array of an output is not in row-major order"))?;
    Place::new(&dims, elements)
}

/// Copies an array into a fresh tensor, whose elements `E` have the representation of `T`.
fn copy_plain<T, E: Element>(array: ArrayViewD<'_, T>, element: impl Fn(&T) -> E) -> Result<Tensor> {
    let mut tensor = Tensor::empty(E::DTYPE, array.shape())?;
    let place = ArrayViewMutD::from_shape(array.raw_dim(), tensor.as_mut_slice::<E>())
        .map_err(|e| Error::internal(format!("a tensor of the shape of an array does not take it: {e}")))?;
    ndarray::Zip::from(place).and(array).for_each(|to, from| *to = element(from));
    Ok(tensor)
}

/// A tensor over the memory of `values`, or a copy where that is little.
fn adopt_plain<T: Repr>(dims: &[usize], values: Vec<T>, first: usize) -> Result<Tensor> {
    let end = num_elements(dims).and_then(|count| first.checked_add(count));
    let own = end.and_then(|end| values.get(first..end));
    let own = own.ok_or_else(|| Error::internal("an array has fewer elements than its shape says"))?;
    let bytes = size_of_val(own);
    if bytes <= INLINE_BYTES {
        let array = ArrayViewD::from_shape(dims, own).map_err(|e| Error::internal(e.to_string()))?;
        return T::copy(array);
    }
    let start = NonNull::from(own).cast::<u8>();
    // SAFETY: `start` begins `bytes` initialised bytes on the heap (no plain element has padding), which moving `values`
    // into its box does not move. Nothing writes them: the buffer's owner alone can reach them.
    let buffer = unsafe { Buffer::external(start, bytes, Box::new(values)) };
    Tensor::from_buffer(T::DTYPE, dims, buffer)
}

/// Elements that lie in a tensor as they do in an array: `type as element of the tensor: in place, converted`.
macro_rules! plain {
    ($($ty:ty as $element:ty: $elements:expr, $convert:expr;)*) => {$(
        impl ArrayElement for $ty {}
        impl Repr for $ty {
            const DTYPE: DType = <$element as Element>::DTYPE;

            fn elements(tensor: &Tensor) -> Result<&[$ty]> {
                $elements(tensor)
            }

            fn adopt(dims: &[usize], values: Vec<$ty>, first: usize) -> Result<Tensor> {
                adopt_plain(dims, values, first)
            }

            fn copy(array: ArrayViewD<'_, $ty>) -> Result<Tensor> {
                copy_plain::<$ty, $element>(array, $convert)
            }
        }
    )*};
    ($($ty:ty),*) => { plain! { $($ty as $ty: same, |&x| x;)* } };
}

/// The elements of a tensor of this dtype.
fn same<T: Element>(tensor: &Tensor) -> Result<&[T]> {
    Ok(tensor.as_slice())
}

/// The elements of a `bool` tensor, which may hold any byte.
fn bools(tensor: &Tensor) -> Result<&[bool]> {
    bytemuck::checked::try_cast_slice(tensor.bytes())
        .map_err(|_| Error::invalid("a bool tensor holds a byte that is neither 0 nor 1; view it as Bool8"))
}

plain!(Bool8, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, C64, C128);
plain! { bool as Bool8: bools, |&x| Bool8::new(x); }

impl ArrayElement for Bytes {}
impl Repr for Bytes {
    const DTYPE: DType = DType::Str;

    fn elements(tensor: &Tensor) -> Result<&[Bytes]> {
        Ok(tensor.strings())
    }

    fn adopt(dims: &[usize], mut values: Vec<Bytes>, first: usize) -> Result<Tensor> {
        values.drain(..first);
        values.truncate(num_elements(dims).unwrap_or(usize::MAX));
        Tensor::from_strings(dims, values)
    }

    fn copy(array: ArrayViewD<'_, Bytes>) -> Result<Tensor> {
        Tensor::from_strings(array.shape(), array.iter().cloned().collect::<Vec<_>>())
    }
}
