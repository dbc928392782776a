//! Tensors: a dtype, extents, and shared row-major data.

#![expect(unsafe_code, reason = "typed views of raw storage; see the SAFETY comments")]

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::buffer::{Buffer, SharedBuffer};
use crate::dtype::{Bool8, DType, Element};
use crate::error::{Error, Result};
use crate::list::List;
use crate::memory;
use crate::remote::{HostCopy, Remote, RemoteBuffer};
use crate::shape::{Dims, check_rank, num_elements, product_of};
use crate::table::Table;
use crate::with_dtype;

/// One element of a string tensor.
pub type Bytes = Arc<[u8]>;

/// Tensors of at most this many bytes carry their data inline.
pub const INLINE_BYTES: usize = 16;

/// A dense, row-major, immutable array. Cloning shares the data.
pub struct Tensor {
    dims: Dims,
    dtype: DType,
    storage: Storage,
}

#[derive(Clone)]
enum Storage {
    /// At most [`INLINE_BYTES`] bytes, in the tensor itself.
    Inline([u64; 2]),
    /// `buffer[offset..]`; the offset is a multiple of the element size.
    Shared { buffer: SharedBuffer, offset: usize },
    /// In the memory of a device: more bytes than are kept inline.
    Remote(Arc<RemoteBuffer>),
    /// The elements of a string tensor.
    Str(Arc<[Bytes]>),
    /// The list that a `variant` scalar is.
    List(Arc<List>),
    /// The table that a `resource` scalar is.
    Table(Arc<Table>),
}

/// The bytes that `dims` elements of `dtype` take.
///
/// # Errors
/// `InvalidArgument` for too many dimensions, `ResourceExhausted` where the product of the extents and the size that are
/// not 0 overflows.
fn byte_len(dtype: DType, dims: &[usize]) -> Result<usize> {
    check_rank(dims.len())?;
    let product = product_of(dims.iter().copied().chain([dtype.size().max(1)])).ok_or_else(|| {
        Error::exhausted(format!("a {} tensor of shape {dims:?} is too large to address", dtype.tf_name()))
    })?;
    Ok(if dims.contains(&0) { 0 } else { product })
}

/// Whether elements of a dtype may lie there.
fn is_aligned(start: *const u8, dtype: DType) -> bool {
    let align = with_dtype!(plain, dtype, T => align_of::<T>(), else 1);
    (start as usize).is_multiple_of(align)
}

impl Clone for Tensor {
    #[inline]
    fn clone(&self) -> Tensor {
        // `from_slice` copies the extents at once; `SmallVec::clone` goes one by one.
        Tensor { dims: Dims::from_slice(&self.dims), dtype: self.dtype, storage: self.storage.clone() }
    }
}

impl Default for Tensor {
    /// The `f32` scalar 0.
    fn default() -> Tensor {
        Tensor { dims: Dims::new(), dtype: DType::F32, storage: Storage::Inline([0; 2]) }
    }
}

impl Tensor {
    /// A tensor of unspecified contents (empty strings for `str`, an empty list for `variant`), to be written through
    /// [`Tensor::as_mut_ptr`].
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had, `InvalidArgument` for a `variant` that is no scalar, and for
    /// `resource`, of which there are no tensors.
    pub fn empty(dtype: DType, dims: &[usize]) -> Result<Tensor> {
        let bytes = byte_len(dtype, dims)?;
        let storage = if dtype == DType::Str {
            Storage::Str(memory::shared(memory::filled(Bytes::from([]), bytes)?)?)
        } else if dtype == DType::Variant {
            if !dims.is_empty() {
                return Err(Error::invalid(format!("a list is a scalar, not of shape {dims:?}")));
            }
            Storage::List(Arc::default())
        } else if dtype == DType::Resource {
            return Err(Error::invalid("there are no tensors of dtype resource"));
        } else if bytes <= INLINE_BYTES {
            Storage::Inline([0; 2])
        } else {
            Storage::Shared { buffer: SharedBuffer::new(Buffer::new(bytes)?), offset: 0 }
        };
        Ok(Tensor { dims: Dims::from_slice(dims), dtype, storage })
    }

    /// A tensor of zeros (empty strings for `str`, an empty list for `variant`).
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    pub fn zeros(dtype: DType, dims: &[usize]) -> Result<Tensor> {
        let mut t = Tensor::empty(dtype, dims)?;
        if let Some(ptr) = t.as_mut_ptr() {
            // SAFETY: `ptr` is the start of `byte_len` writable bytes.
            unsafe { ptr.write_bytes(0, t.byte_len()) };
        }
        Ok(t)
    }

    /// A rank-0 tensor.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        let mut words = [0u64; 2];
        bytemuck::bytes_of_mut(&mut words)[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        Tensor { dims: Dims::new(), dtype: T::DTYPE, storage: Storage::Inline(words) }
    }

    /// A tensor of the given extents and elements.
    ///
    /// # Errors
    /// `InvalidArgument` where the number of elements does not fit the extents.
    pub fn from_slice<T: Element>(dims: &[usize], values: &[T]) -> Result<Tensor> {
        if num_elements(dims) != Some(values.len()) {
            return Err(Error::invalid(format!("{} values do not fill shape {dims:?}", values.len())));
        }
        let mut t = Tensor::empty(T::DTYPE, dims)?;
        t.as_mut_slice::<T>().copy_from_slice(values);
        Ok(t)
    }

    /// A vector.
    ///
    /// # Panics
    /// Where the memory cannot be had.
    pub fn vector<T: Element>(values: &[T]) -> Tensor {
        Tensor::from_slice(&[values.len()], values).expect("memory for a vector")
    }

    /// A string tensor.
    ///
    /// # Errors
    /// `InvalidArgument` where the number of elements does not fit the extents; `ResourceExhausted` where the memory cannot
    /// be had.
    pub fn from_strings(dims: &[usize], values: Vec<Bytes>) -> Result<Tensor> {
        check_rank(dims.len())?;
        if num_elements(dims) != Some(values.len()) {
            return Err(Error::invalid(format!("{} strings do not fill shape {dims:?}", values.len())));
        }
        Ok(Tensor { dims: dims.into(), dtype: DType::Str, storage: Storage::Str(memory::shared(values)?) })
    }

    /// A `variant` scalar: a list.
    pub fn from_list(list: List) -> Tensor {
        Tensor { dims: Dims::new(), dtype: DType::Variant, storage: Storage::List(Arc::new(list)) }
    }

    /// The list that a `variant` scalar is.
    #[inline]
    pub fn list(&self) -> Option<&List> {
        match &self.storage {
            Storage::List(list) => Some(list),
            _ => None,
        }
    }

    /// The list in a variant tensor that nobody else holds.
    pub(crate) fn unshared_list(&mut self) -> Option<&mut List> {
        match &mut self.storage {
            Storage::List(list) => Arc::get_mut(list),
            _ => None,
        }
    }

    /// The list that a `variant` scalar is, for changing it. Where somebody else sees it, it is copied first; the
    /// elements are shared all the same.
    #[inline]
    pub fn list_mut(&mut self) -> Option<&mut List> {
        match &mut self.storage {
            Storage::List(list) => Some(Arc::make_mut(list)),
            _ => None,
        }
    }

    /// A `resource` scalar: a hash table.
    pub fn from_table(table: Table) -> Tensor {
        Tensor { dims: Dims::new(), dtype: DType::Resource, storage: Storage::Table(Arc::new(table)) }
    }

    /// The table that a `resource` scalar is.
    #[inline]
    pub fn table(&self) -> Option<&Table> {
        match &self.storage {
            Storage::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The table that a `resource` scalar is, for changing it. Where somebody else sees it, it is copied first.
    #[inline]
    pub fn table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.storage {
            Storage::Table(table) => Some(Arc::make_mut(table)),
            _ => None,
        }
    }

    /// A tensor over the memory of a buffer, without a copy.
    ///
    /// # Errors
    /// `InvalidArgument` where the buffer is too short, or not aligned to its elements.
    pub fn from_buffer(dtype: DType, dims: &[usize], buffer: Buffer) -> Result<Tensor> {
        let bytes = byte_len(dtype, dims)?;
        if dtype.size() == 0 || buffer.capacity() < bytes {
            return Err(Error::invalid(format!(
                "a buffer of {} bytes does not hold a {dtype} tensor of shape {dims:?}",
                buffer.capacity()
            )));
        }
        if !is_aligned(buffer.as_ptr(), dtype) {
            return Err(Error::invalid(format!("the buffer is not aligned to elements of {dtype}")));
        }
        let storage = Storage::Shared { buffer: SharedBuffer::new(buffer), offset: 0 };
        Ok(Tensor { dims: dims.into(), dtype, storage })
    }

    /// A tensor over the memory of a device.
    ///
    /// # Errors
    /// `DType` for strings and lists.
    pub fn on_device(dtype: DType, dims: &[usize], memory: Box<dyn Remote>) -> Result<Tensor> {
        let bytes = byte_len(dtype, dims)?;
        if dtype.size() == 0 {
            return Err(Error::dtype(format!("{} tensors are kept on the host", dtype.tf_name())));
        }
        Ok(Tensor { dims: dims.into(), dtype, storage: Storage::Remote(RemoteBuffer::new(memory, bytes)) })
    }

    /// The same tensor over the memory of a device, to which its elements were copied. What does not lie in a buffer, such as
    /// a few elements or strings, is left where it is.
    pub fn mirrored(&self, memory: Box<dyn Remote>) -> Tensor {
        let Storage::Shared { buffer, offset } = &self.storage else { return self.clone() };
        let host = HostCopy { buffer: buffer.clone(), offset: *offset };
        let remote = match self.is_own() {
            true => RemoteBuffer::mirror(memory, self.byte_len(), host),
            // What somebody else may write is not read again.
            false => RemoteBuffer::new(memory, self.byte_len()),
        };
        let storage = Storage::Remote(remote);
        Tensor { dims: self.dims.clone(), dtype: self.dtype, storage }
    }

    /// Whether the elements lie in a buffer of the host, and so may be copied to a device to stay there.
    pub fn is_in_buffer(&self) -> bool {
        matches!(self.storage, Storage::Shared { .. })
    }

    /// Whether the elements can be read on the host at once, without a copy from elsewhere.
    pub fn is_at_hand(&self) -> bool {
        match &self.storage {
            Storage::Remote(remote) => remote.has_host(),
            _ => true,
        }
    }

    /// The memory of a device in which the elements lie; `None` where that is the host's.
    #[inline]
    pub fn remote(&self) -> Option<&dyn Remote> {
        match &self.storage {
            Storage::Remote(buffer) => Some(buffer.memory()),
            _ => None,
        }
    }

    /// Waits until it is known whether the work that computes the elements has rejected something. On the host that is known.
    ///
    /// # Errors
    /// What that work has rejected; those of the device.
    pub fn settle(&self) -> Result<()> {
        self.remote().map_or(Ok(()), Remote::settle)
    }

    /// The same tensor in the memory of the host. The copy is made once. What reads elements without asking for it, such as
    /// [`Tensor::as_ptr`], makes the copy too, but unwinds the stack where that fails, as [`Error::unwind`] does.
    ///
    /// # Errors
    /// What the work that computes the elements has rejected; those of the device; `ResourceExhausted`.
    pub fn on_host(&self) -> Result<Tensor> {
        let Storage::Remote(remote) = &self.storage else { return Ok(self.clone()) };
        let HostCopy { buffer, offset } = remote.host()?.clone();
        let storage = Storage::Shared { buffer, offset };
        Ok(Tensor { dims: self.dims.clone(), dtype: self.dtype, storage })
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents, outermost first.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// The bytes of the elements; 0 for strings and lists.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.len() * self.dtype.size()
    }

    /// The start of the elements. Of no use for strings and lists.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        match &self.storage {
            Storage::Inline(words) => words.as_ptr().cast(),
            // SAFETY: the offset lies inside the buffer by construction.
            Storage::Shared { buffer, offset } => unsafe { buffer.as_ptr().add(*offset) },
            Storage::Remote(remote) => {
                let HostCopy { buffer, offset } = remote.host_or_unwind();
                // SAFETY: the offset lies inside the buffer by construction.
                unsafe { buffer.as_ptr().add(*offset) }
            }
            Storage::Str(_) | Storage::List(_) | Storage::Table(_) => {
                std::ptr::NonNull::<u64>::dangling().as_ptr().cast()
            }
        }
    }

    /// The start of the elements for writing, where this tensor is the only one that sees them.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> Option<*mut u8> {
        match &mut self.storage {
            Storage::Inline(words) => Some(words.as_mut_ptr().cast()),
            Storage::Shared { buffer, offset } => {
                // SAFETY: the offset lies inside the buffer by construction.
                buffer.as_mut_ptr().map(|start| unsafe { start.add(*offset) })
            }
            Storage::Remote(_) | Storage::Str(_) | Storage::List(_) | Storage::Table(_) => None,
        }
    }

    /// The raw bytes of the elements; empty for strings, lists and tables.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `as_ptr` starts `byte_len` initialised bytes, which nobody writes while `self` is shared.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.byte_len()) }
    }

    /// The raw bytes of the elements for writing; empty for strings, lists and tables.
    ///
    /// # Panics
    /// Where somebody else sees the data.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.byte_len();
        if len == 0 {
            return &mut [];
        }
        let ptr = self.as_mut_ptr().expect("a tensor is written by its only owner");
        // SAFETY: `ptr` starts `len` initialised bytes that only `self` sees, and any bytes are valid elements.
        unsafe { std::slice::from_raw_parts_mut(ptr, len) }
    }

    /// The elements.
    ///
    /// # Panics
    /// Where `T` is not the element type.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> &[T] {
        assert_eq!(self.dtype, T::DTYPE, "a {} tensor read as {}", self.dtype, T::DTYPE);
        // SAFETY: `as_ptr` starts `len` initialised elements, which nobody writes while `self` is shared; storage is aligned for its
        // dtype, which is `T`'s, and any bytes are a valid `T: Pod`.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), self.len()) }
    }

    /// The elements for writing.
    ///
    /// # Panics
    /// Where `T` is not the element type, or somebody else sees the data.
    #[inline]
    pub fn as_mut_slice<T: Element>(&mut self) -> &mut [T] {
        assert_eq!(self.dtype, T::DTYPE, "a {} tensor written as {}", self.dtype, T::DTYPE);
        let len = self.len();
        let ptr = self.as_mut_ptr().expect("a tensor is written by its only owner");
        // SAFETY: `ptr` starts `len` initialised elements that only `self` sees, aligned for the dtype, which is `T`'s.
        unsafe { std::slice::from_raw_parts_mut(ptr.cast(), len) }
    }

    /// The elements of a string tensor; empty for other dtypes.
    #[inline]
    pub fn strings(&self) -> &[Bytes] {
        match &self.storage {
            Storage::Str(values) => values,
            _ => &[],
        }
    }

    /// The only element, where there is exactly one and `T` is its type.
    #[inline]
    pub fn item<T: Element>(&self) -> Option<T> {
        (self.dtype == T::DTYPE && self.len() == 1).then(|| self.as_slice::<T>()[0])
    }

    /// The elements of a `bool` or integer tensor as `i64` (a `u64` above `i64::MAX` wraps).
    ///
    /// # Errors
    /// `DType` for other dtypes.
    pub fn to_ints(&self) -> Result<SmallVec<[i64; 6]>> {
        if self.dtype == DType::Bool {
            return Ok(self.as_slice::<Bool8>().iter().map(|b| b.get() as i64).collect());
        }
        #[allow(clippy::unnecessary_cast, reason = "the element type is a macro parameter")]
        let ints = with_dtype!(integer, self.dtype, T => self.as_slice::<T>().iter().map(|&v| v as i64).collect(),
            else return Err(Error::dtype(format!("expected integers, got {}", self.dtype.tf_name()))));
        Ok(ints)
    }

    /// The same elements under other extents of the same count.
    ///
    /// # Errors
    /// `InvalidArgument` where the counts differ, or there are too many dimensions.
    pub fn reshaped(&self, dims: &[usize]) -> Result<Tensor> {
        byte_len(self.dtype, dims)?;
        if num_elements(dims) != Some(self.len()) {
            return Err(Error::invalid(format!(
                "cannot reshape {} elements of shape {:?} to {dims:?}",
                self.len(),
                self.dims
            )));
        }
        Ok(Tensor { dims: dims.into(), dtype: self.dtype, storage: self.storage.clone() })
    }

    /// Gives the tensor other extents of the same number of elements.
    ///
    /// # Errors
    /// As [`Tensor::reshaped`].
    #[inline]
    pub fn reshape(&mut self, dims: &[usize]) -> Result<()> {
        if num_elements(dims) != Some(self.len()) || self.is_empty() {
            *self = self.reshaped(dims)?;
            return Ok(());
        }
        check_rank(dims.len())?;
        self.dims.clear();
        self.dims.extend_from_slice(dims);
        Ok(())
    }

    /// The same bits as elements of another dtype of the same size. They are copied where they lie in memory of somebody else
    /// that is not aligned for it.
    ///
    /// # Errors
    /// `DType` where the sizes differ; `ResourceExhausted` where the memory of a copy cannot be had.
    pub fn bitcast(&self, dtype: DType) -> Result<Tensor> {
        if dtype.size() != self.dtype.size() || dtype.size() == 0 {
            return Err(Error::dtype(format!("{} and {} differ in size", self.dtype.tf_name(), dtype.tf_name())));
        }
        // Memory of a device, and the copy of it, are aligned for every dtype.
        let aligned = if self.remote().is_some() || is_aligned(self.as_ptr(), dtype) {
            self.clone()
        } else {
            self.to_owned_memory()?
        };
        Ok(Tensor { dtype, ..aligned })
    }

    /// Rows `start .. start + count` of the outermost dimension, sharing the data where it is not inline.
    ///
    /// # Errors
    /// `OutOfRange` where the rows are not there; `InvalidArgument` for a scalar.
    pub fn rows(&self, start: usize, count: usize) -> Result<Tensor> {
        let Some((&outer, inner)) = self.dims.split_first() else {
            return Err(Error::invalid("a scalar has no rows"));
        };
        if start.checked_add(count).is_none_or(|end| end > outer) {
            return Err(Error::out_of_range(format!("rows {start}..{start}+{count} of {outer}")));
        }
        let row: usize = inner.iter().product();
        let mut dims: Dims = self.dims.clone();
        dims[0] = count;
        let storage = match &self.storage {
            Storage::Str(values) => Storage::Str(memory::shared(memory::collected(
                values[start * row..(start + count) * row].iter().cloned(),
            )?)?),
            Storage::Remote(_) => return self.on_host()?.rows(start, count),
            Storage::Shared { buffer, offset } if count * row * self.dtype.size() > INLINE_BYTES => {
                Storage::Shared { buffer: buffer.clone(), offset: offset + start * row * self.dtype.size() }
            }
            _ => {
                let size = self.dtype.size();
                let mut words = [0u64; 2];
                let bytes = &self.bytes()[start * row * size..(start + count) * row * size];
                bytemuck::bytes_of_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
                Storage::Inline(words)
            }
        };
        Ok(Tensor { dims, dtype: self.dtype, storage })
    }

    /// Tensors of one dtype and shape along a new first dimension, where their data lie one behind the other in one buffer,
    /// which the result shares.
    pub fn stacked_in_place<'a>(mut parts: impl ExactSizeIterator<Item = &'a Tensor>) -> Option<Tensor> {
        let count = parts.len();
        let first = parts.next()?;
        let Storage::Shared { buffer, offset: start } = &first.storage else { return None };
        let bytes = first.byte_len();
        let follows = |(i, part): (usize, &Tensor)| match &part.storage {
            Storage::Shared { buffer: own, offset } => {
                own.is(buffer)
                    && *offset == start + (i + 1) * bytes
                    && part.dtype == first.dtype
                    && part.dims == first.dims
            }
            _ => false,
        };
        if !parts.enumerate().all(follows) {
            return None;
        }
        let dims: Dims = std::iter::once(count).chain(first.dims.iter().copied()).collect();
        byte_len(first.dtype, &dims).ok()?;
        Some(Tensor { dims, dtype: first.dtype, storage: first.storage.clone() })
    }

    /// Makes `self` a tensor of this dtype and these extents with unspecified contents, and returns
    /// its start for writing. Memory that `self` owns alone is kept where it suffices.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    #[inline]
    pub fn prepare(&mut self, dtype: DType, dims: &[usize]) -> Result<*mut u8> {
        // Extents are few: a call that compares memory takes longer.
        let same = |own: &[usize]| own.len() == dims.len() && own.iter().zip(dims).all(|(a, b)| a == b);
        if self.dtype != dtype || !same(&self.dims) {
            self.retype(dtype, dims)?;
        }
        if let Some(ptr) = self.as_mut_ptr() {
            return Ok(ptr);
        }
        *self = Tensor::empty(dtype, dims)?;
        Ok(self.as_mut_ptr().unwrap_or(std::ptr::null_mut()))
    }

    /// Gives `self` another dtype and other extents, keeping its buffer where that may be written and suffices.
    #[cold]
    fn retype(&mut self, dtype: DType, dims: &[usize]) -> Result<()> {
        let bytes = byte_len(dtype, dims)?;
        let keep = match &mut self.storage {
            Storage::Shared { buffer, offset: 0 } => {
                dtype.size() > 0 && bytes > INLINE_BYTES && buffer.suits(bytes) && buffer.as_mut_ptr().is_some()
            }
            Storage::Inline(_) => dtype.size() > 0 && bytes <= INLINE_BYTES,
            _ => false,
        };
        if keep {
            self.dtype = dtype;
            self.dims.clear();
            self.dims.extend_from_slice(dims);
            Ok(())
        } else {
            *self = Tensor::empty(dtype, dims)?;
            Ok(())
        }
    }

    /// Makes `self` what `source` is where both are inline and of one type: the quick case of an assignment. False where
    /// they are not, and nothing has happened.
    #[inline]
    pub fn set_inline(&mut self, source: &Tensor) -> bool {
        if let (Storage::Inline(to), Storage::Inline(from)) = (&mut self.storage, &source.storage)
            && self.dtype == source.dtype
            && self.dims == source.dims
        {
            *to = *from;
            return true;
        }
        false
    }

    /// The same tensor in memory that it shares with nobody: a copy, but of strings and of what is inline.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    pub fn to_owned_memory(&self) -> Result<Tensor> {
        match &self.storage {
            Storage::Shared { .. } | Storage::Remote(_) => {
                let host = self.on_host()?;
                let mut copy = Tensor::empty(self.dtype, &self.dims)?;
                copy.bytes_mut().copy_from_slice(host.bytes());
                Ok(copy)
            }
            _ => Ok(self.clone()),
        }
    }

    /// Whether the elements stay as they are: they do not lie in memory that a host or another library has lent, and may write.
    pub fn is_own(&self) -> bool {
        match &self.storage {
            Storage::Shared { buffer, .. } => buffer.is_pooled(),
            Storage::Remote(remote) => remote.memory().is_own(),
            _ => true,
        }
    }

    /// The same tensor in other memory of the device that it is on; itself, where that is the host.
    ///
    /// # Errors
    /// As [`Remote::duplicate`].
    pub fn duplicated(&self) -> Result<Tensor> {
        match &self.storage {
            Storage::Remote(remote) => {
                let bytes = self.byte_len();
                let storage = Storage::Remote(RemoteBuffer::new(remote.memory().duplicate(bytes)?, bytes));
                Ok(Tensor { dims: self.dims.clone(), dtype: self.dtype, storage })
            }
            _ => Ok(self.clone()),
        }
    }

    /// Whether both are the same elements in the same memory, which is seen without a look at them. Small tensors never are.
    pub fn is_same(&self, other: &Tensor) -> bool {
        let starts = [self, other].map(|t| if let Storage::Shared { offset, .. } = t.storage { offset } else { 0 });
        self.dtype == other.dtype && self.dims == other.dims && starts[0] == starts[1] && self.shares_data(other)
    }

    /// Whether both lie in the same memory, be it in parts of it that differ.
    pub fn shares_data(&self, other: &Tensor) -> bool {
        match (&self.storage, &other.storage) {
            (Storage::Shared { buffer: a, .. }, Storage::Shared { buffer: b, .. }) => a.is(b),
            (Storage::Remote(a), Storage::Remote(b)) => Arc::ptr_eq(a, b),
            (Storage::Str(a), Storage::Str(b)) => Arc::ptr_eq(a, b),
            (Storage::List(a), Storage::List(b)) => Arc::ptr_eq(a, b),
            (Storage::Table(a), Storage::Table(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl PartialEq for Tensor {
    /// Equality of dtype, extents and bits: a NaN equals itself, `0.0` and `-0.0` differ.
    fn eq(&self, other: &Tensor) -> bool {
        self.dtype == other.dtype
            && self.dims == other.dims
            && self.strings() == other.strings()
            && self.list() == other.list()
            && self.table() == other.table()
            && self.bytes() == other.bytes()
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        write!(f, "{}{:?} ", self.dtype, self.dims.as_slice())?;
        if self.dtype == DType::Str {
            return f
                .debug_list()
                .entries(self.strings().iter().take(SHOWN).map(|s| String::from_utf8_lossy(s)))
                .finish();
        }
        if let Some(list) = self.list() {
            write!(f, "{} of {} elements ", list.dtype().map_or("none", DType::name), list.len())?;
            return f.debug_map().entries(list.elements().into_iter().take(SHOWN)).finish();
        }
        if let Some(table) = self.table() {
            return table.fmt(f);
        }
        fn write<T: Element>(f: &mut fmt::Formatter<'_>, tensor: &Tensor) -> fmt::Result {
            f.debug_list().entries(tensor.as_slice::<T>().iter().take(SHOWN)).finish()
        }
        with_dtype!(plain, self.dtype, T => write::<T>(f, self),
            else with_dtype!(narrow, self.dtype, T => write::<T>(f, self), else Ok(())))?;
        if self.len() > SHOWN { f.write_str("…") } else { Ok(()) }
    }
}

macro_rules! scalar_from {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Tensor {
            fn from(value: $ty) -> Tensor {
                Tensor::scalar(value)
            }
        }
    )*};
}
scalar_from!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl From<bool> for Tensor {
    fn from(value: bool) -> Tensor {
        Tensor::scalar(Bool8::new(value))
    }
}

impl From<&str> for Tensor {
    fn from(value: &str) -> Tensor {
        Tensor { dims: Dims::new(), dtype: DType::Str, storage: Storage::Str([Bytes::from(value.as_bytes())].into()) }
    }
}

#[cfg(test)]
mod tests;
