//! Tensors and arrays: the buffer protocol and NumPy, without a copy where ownership allows.

#![expect(unsafe_code, reason = "raw memory crosses the border here; see the SAFETY comments")]

use std::any::Any;
use std::ffi::{CStr, c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use penstock_data::{Bool8, Buffer, Bytes, DType, Dims, NarrowFormat, Tensor, with_dtype};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBytes, PyEllipsis, PyFloat, PyInt, PyList, PyMemoryView, PySlice, PyString, PyTuple, PyType,
};

use crate::dtype::{bits_of, numpy_dtype};
use crate::errors::{OrPy, described, has_attribute};
use crate::exit;
use crate::tensor::{PyTensor, no_value, wrap_eager};

/// Whether C's `long` has 64 bits: NumPy takes it for `int64` then, and shows `long long` as another dtype.
const LONG_IS_64: bool = size_of::<std::ffi::c_long>() == 8;

/// How many dimensions the arrays of every version of NumPy have.
pub(crate) const PLAIN_RANK: usize = 32;

/// The format of the buffer protocol for a dtype that has one.
fn format_of(dtype: DType) -> &'static CStr {
    match dtype {
        DType::Bool => c"?",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 => {
            if LONG_IS_64 {
                c"l"
            } else {
                c"q"
            }
        }
        DType::U8 => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 => {
            if LONG_IS_64 {
                c"L"
            } else {
                c"Q"
            }
        }
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
        _ => c"O",
    }
}

/// The dtype of an array, by the buffer protocol.
pub(crate) fn buffer_dtype(array: &Bound<'_, PyAny>) -> Option<DType> {
    let buffer = PyUntypedBuffer::get(array).ok()?;
    dtype_of(&buffer.format().to_string_lossy(), buffer.item_size())
}

/// The dtype of a native-endian format and item size.
fn dtype_of(format: &str, size: usize) -> Option<DType> {
    let format = format.trim_start_matches(['@', '=', if cfg!(target_endian = "little") { '<' } else { '>' }]);
    Some(match (format, size) {
        ("?", 1) => DType::Bool,
        ("b", 1) => DType::I8,
        ("B", 1) => DType::U8,
        ("h" | "i" | "l" | "q" | "n", _) => match size {
            2 => DType::I16,
            4 => DType::I32,
            8 => DType::I64,
            _ => return None,
        },
        ("H" | "I" | "L" | "Q" | "N", _) => match size {
            2 => DType::U16,
            4 => DType::U32,
            8 => DType::U64,
            _ => return None,
        },
        ("e", 2) => DType::F16,
        ("f", 4) => DType::F32,
        ("d" | "g", 8) => DType::F64,
        ("Zf", 8) => DType::C64,
        ("Zd", 16) => DType::C128,
        _ => return None,
    })
}

/// Whether the value is a NumPy array or scalar, or gives one by `__array__`.
pub(crate) fn is_array(value: &Bound<'_, PyAny>) -> bool {
    if is_builtin(value) {
        return false;
    }
    // SAFETY: the check reads the type of a live object.
    let has_buffer = unsafe { ffi::PyObject_CheckBuffer(value.as_ptr()) != 0 };
    (has_buffer && has_attribute(value, pyo3::intern!(value.py(), "dtype")))
        || has_attribute(value, pyo3::intern!(value.py(), "__array_interface__"))
        || has_attribute(value, pyo3::intern!(value.py(), "__array__"))
}

/// Whether the value is of a class of Python's own that is no array, the commonest; attributes that are not there are
/// slow to ask for.
pub(crate) fn is_builtin(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyList>()
        || value.is_exact_instance_of::<PyTuple>()
        || value.is_exact_instance_of::<PySlice>()
        || value.is_exact_instance_of::<PyEllipsis>()
        || value.is_exact_instance_of::<PyTensor>()
        // A class has the attributes of its instances, not their values.
        || value.is_instance_of::<PyType>()
}

/// NumPy's class of arrays.
fn array_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "numpy", "ndarray")
}

/// Whether the value is an array or a scalar of NumPy's own classes, rather than an object that can become one.
pub(crate) fn is_numpy(value: &Bound<'_, PyAny>) -> bool {
    static SCALAR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = value.py();
    // SAFETY: the check reads the type of a live object.
    let has_buffer = unsafe { ffi::PyObject_CheckBuffer(value.as_ptr()) != 0 };
    has_buffer
        && !is_builtin(value)
        && (array_class(py).is_ok_and(|class| value.get_type().is(class))
            || SCALAR.import(py, "numpy", "generic").and_then(|class| value.is_instance(class)).unwrap_or(false))
}

/// The tensor of an array; `None` where the value is none.
///
/// Memory that nobody can write any more is borrowed; other memory is copied, since a tensor never changes. A read-only
/// array does not suffice: it may be made writable again, and other views of its memory may be writable.
pub(crate) fn from_array(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Tensor>> {
    if !is_array(value) {
        return Ok(None);
    }
    let py = value.py();
    // What a class of its own says of its dtype and shape need not be so; NumPy's own does.
    let array = match value.get_type().is(array_class(py)?) {
        true => value.clone(),
        false => py.import("numpy")?.getattr("asarray")?.call1((value,))?,
    };
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let tensor = match kind.as_str() {
        "O" | "S" | "U" | "T" => from_objects(&array, dtype)?,
        _ => match of_ml_dtypes(&array, &kind)? {
            Some((dtype, bits)) => {
                let bits = array.call_method1("view", (bits.numpy_name(),))?;
                from_buffer(&bits)?.bitcast(dtype).or_py(py)?
            }
            None => from_buffer(&array)?,
        },
    };
    meet(py, tensor, dtype).map(Some)
}

/// The dtype of an array where it is one of those that `ml_dtypes` adds to NumPy, and the integers that its elements are viewed as.
fn of_ml_dtypes(array: &Bound<'_, PyAny>, kind: &str) -> PyResult<Option<(DType, DType)>> {
    // The name of a dtype is slow to get: only where the kind leaves it open.
    let dtype = array.getattr("dtype")?;
    if kind != "V" && (kind != "f" || dtype.getattr("itemsize")?.extract::<usize>()? > 1) {
        return Ok(None);
    }
    let found = DType::from_name(&dtype.getattr("name")?.extract::<String>()?);
    Ok(found.and_then(|dtype| bits_of(dtype).map(|bits| (dtype, bits))))
}

/// The tensor of an array in the dtype that is asked for.
pub(crate) fn meet(py: Python<'_>, tensor: Tensor, dtype: Option<DType>) -> PyResult<Tensor> {
    match dtype {
        Some(d) if d != tensor.dtype() => cast(py, tensor, d),
        _ => Ok(tensor),
    }
}

/// An array that is asked for as another dtype, as `tf.constant(array, dtype)` allows.
fn cast(py: Python<'_>, tensor: Tensor, dtype: DType) -> PyResult<Tensor> {
    if tensor.dtype().size() == 0 || dtype.size() == 0 {
        return Err(PyTypeError::new_err(format!(
            "cannot convert an array of {} to dtype {}",
            tensor.dtype().tf_name(),
            dtype.tf_name()
        )));
    }
    let op = crate::operators::find("cast");
    let attrs = op.attributes(&[("dtype", dtype.into())]).or_py(py)?;
    let mut outs = penstock_exec::eager(op, &[&tensor], &attrs, penstock_trace::host()).or_py(py)?;
    Ok(outs.remove(0))
}

/// An array beside a tensor of dtype `hint`, in that dtype where its kind of number goes there: integers to any
/// number, real numbers to real and complex ones, complex to complex. The dtype of an array is seldom chosen, `float64`
/// and `int64` are NumPy's defaults; that of a tensor rules, as in TensorFlow. Integers must fit.
pub(crate) fn adapt(py: Python<'_>, tensor: Tensor, hint: DType) -> PyResult<Tensor> {
    let from = tensor.dtype();
    if from == hint || !goes(from, hint) {
        return Ok(tensor);
    }
    let adapted = cast(py, tensor.clone(), hint)?;
    let sign_is_lost = || -> PyResult<bool> {
        let signed = match (from.is_unsigned(), hint.is_unsigned()) {
            (false, true) => &tensor,
            (true, false) => &adapted,
            _ => return Ok(false),
        };
        Ok(signed.to_ints().or_py(py)?.iter().any(|&v| v < 0))
    };
    if hint.is_integer() && (sign_is_lost()? || cast(py, adapted.clone(), from)? != tensor) {
        return Err(PyValueError::new_err(format!(
            "an array of {} has elements that are out of range for dtype {}",
            from.tf_name(),
            hint.tf_name()
        )));
    }
    Ok(adapted)
}

/// Whether every kind of number of dtype `from` goes to `to`.
pub(crate) fn goes(from: DType, to: DType) -> bool {
    from == to
        || from.is_integer() && to.is_numeric()
        || from.is_float() && to.is_differentiable()
        || from.is_complex() && to.is_complex()
}

/// An array of objects or texts: a string tensor, or numbers where all objects are.
fn from_objects(array: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let list = array.call_method0("tolist")?;
    match crate::convert::from_python(&list, dtype, None)? {
        Some(t) => {
            // An empty list says nothing of the inner extents; the array does.
            let dims: Vec<usize> = array.getattr("shape")?.extract()?;
            if t.is_empty() && dtype.is_none() {
                Tensor::from_strings(&dims, Vec::<Bytes>::new()).or_py(array.py())
            } else {
                t.reshaped(&dims).or_py(array.py())
            }
        }
        None => Err(PyTypeError::new_err("cannot convert an array of arbitrary objects to a tensor")),
    }
}

/// Whether the elements of a view lie no farther apart than a machine has addresses: NumPy believes what an object says of its
/// memory.
fn reaches_memory(view: &PyUntypedBuffer) -> bool {
    const ADDRESSES: usize = 1 << 47;
    let (dims, strides) = (view.shape(), view.strides());
    let span = dims.iter().zip(strides).map(|(&n, &stride)| stride.unsigned_abs().saturating_mul(n.saturating_sub(1)));
    dims.contains(&0) || span.fold(0, usize::saturating_add) < ADDRESSES
}

/// The tensor of an array of NumPy's own class, whose dtype is none of objects.
fn from_buffer(array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = array.py();
    let dtype = array.getattr("dtype")?;
    let refused = || PyTypeError::new_err(format!("arrays of dtype {} cannot become tensors", described(&dtype)));
    let mut array = array.clone();
    if !dtype.getattr("isnative")?.extract::<bool>()? {
        array = array.call_method1("astype", (dtype.call_method1("newbyteorder", ("=",))?,))?;
    }
    let is_scalar = array.getattr("ndim")?.extract::<usize>()? == 0;
    if is_scalar {
        // Views of rank 0 have no list of extents, which the interpreter's interface does not take.
        array = array.call_method1("reshape", (1,))?;
    }
    let buffer = match PyUntypedBuffer::get(&array).map_err(|_| refused())? {
        b if b.is_c_contiguous() => b,
        b if !reaches_memory(&b) => {
            return Err(PyValueError::new_err("the array's strides lead beyond any memory"));
        }
        _ => PyUntypedBuffer::get(&py.import("numpy")?.getattr("ascontiguousarray")?.call1((&array,))?)?,
    };
    let dtype = dtype_of(&buffer.format().to_string_lossy(), buffer.item_size()).ok_or_else(refused)?;
    let dims: Dims = if is_scalar { Dims::new() } else { buffer.shape().into() };
    if let Some(tensor) = borrow(&array, &buffer, dtype, &dims)? {
        return Ok(tensor);
    }
    let mut tensor = Tensor::empty(dtype, &dims).or_py(py)?;
    if tensor.byte_len() != buffer.len_bytes() {
        return Err(PyBufferError::new_err("the array's buffer does not have the size of its shape"));
    }
    if tensor.byte_len() > 0 {
        let to = tensor.as_mut_ptr().ok_or_else(|| PyBufferError::new_err("no memory to copy to"))?;
        // SAFETY: both have the same length, and the new tensor is nobody else's.
        unsafe { ptr::copy_nonoverlapping(buffer.buf_ptr().cast::<u8>(), to, tensor.byte_len()) };
    }
    Ok(tensor)
}

/// Memory of fewer bytes is copied: quicker than holding an object.
const BORROWED_FROM: usize = 65;

/// Whose memory an array shows, where nobody can write that.
enum Lasting<'py> {
    Bytes(Bound<'py, PyBytes>),
    Tensor(Tensor),
}

/// The `bytes` or the tensor behind an array, whose memory never changes, where it holds all that the buffer shows. It is
/// found by what arrays and views say of themselves, and proven by the addresses.
fn lasting<'py>(array: &Bound<'py, PyAny>, buffer: &PyUntypedBuffer) -> PyResult<Option<Lasting<'py>>> {
    let class = array_class(array.py())?;
    let mut owner = array.clone();
    let found = loop {
        owner = if owner.get_type().is(class) {
            owner.getattr("base")?
        } else if let Ok(view) = owner.cast::<PyMemoryView>() {
            view.getattr("obj")?
        } else if let Ok(bytes) = owner.cast::<PyBytes>() {
            break Lasting::Bytes(bytes.clone());
        } else {
            match owner.cast::<PyTensor>().ok().and_then(|t| t.get().var.tensor()) {
                Some(tensor) => break Lasting::Tensor(tensor.clone()),
                None => return Ok(None),
            }
        };
    };
    let memory = match &found {
        Lasting::Bytes(bytes) => bytes.as_bytes().as_ptr_range(),
        Lasting::Tensor(tensor) => tensor.bytes().as_ptr_range(),
    };
    let start = buffer.buf_ptr().cast_const().cast::<u8>();
    let inside = memory.start <= start && start.addr() + buffer.len_bytes() <= memory.end.addr();
    Ok(inside.then_some(found))
}

/// The tensor over an array's memory, where that never changes, is contiguous and aligned, and large enough to be worth it.
fn borrow(
    array: &Bound<'_, PyAny>,
    buffer: &PyUntypedBuffer,
    dtype: DType,
    dims: &[usize],
) -> PyResult<Option<Tensor>> {
    let start = buffer.buf_ptr().cast::<u8>();
    let bytes = buffer.len_bytes();
    if bytes < BORROWED_FROM || !buffer.is_c_contiguous() || !start.addr().is_multiple_of(dtype.size()) {
        return Ok(None);
    }
    let Some(found) = lasting(array, buffer)? else { return Ok(None) };
    if let Lasting::Tensor(tensor) = &found
        && tensor.as_ptr() == start.cast_const()
        && tensor.byte_len() == bytes
        && tensor.dtype() == dtype
    {
        return tensor.reshaped(dims).or_py(array.py()).map(Some);
    }
    let owner: Box<dyn Any + Send + Sync> = match found {
        Lasting::Bytes(bytes) => Box::new(Kept::new(bytes.unbind())),
        Lasting::Tensor(tensor) => Box::new(tensor),
    };
    let Some(start) = NonNull::new(start) else { return Ok(None) };
    // SAFETY: the memory lies in that of the owner, as `lasting` found, which nobody writes and which stays in place as
    // long as the owner is kept; a tensor of so many bytes has none inside of itself.
    let memory = unsafe { Buffer::external(start, bytes, owner) };
    Tensor::from_buffer(dtype, dims, memory).or_py(array.py()).map(Some)
}

/// The tensor over the memory of a NumPy array that nobody else can reach: contiguous, of this dtype, and owned by the
/// array or by an array that only its views hold; or over memory that never changes. `None` where that is not so. The
/// caller gives the array up.
pub(crate) fn adopt(array: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Option<Tensor>> {
    let py = array.py();
    if dtype == DType::Str || bits_of(dtype).is_some() || is_builtin(array) || !array.get_type().is(array_class(py)?) {
        return Ok(None);
    }
    let Ok(buffer) = PyUntypedBuffer::get(array) else { return Ok(None) };
    if dtype_of(&buffer.format().to_string_lossy(), buffer.item_size()) != Some(dtype) {
        return Ok(None);
    }
    let dims: Dims = buffer.shape().into();
    if let Some(tensor) = borrow(array, &buffer, dtype, &dims)? {
        return Ok(Some(tensor));
    }
    let start = buffer.buf_ptr().cast::<u8>();
    let bytes = buffer.len_bytes();
    if bytes < BORROWED_FROM
        || !buffer.is_c_contiguous()
        || !start.addr().is_multiple_of(dtype.size())
        || !is_ours_alone(array)?
    {
        return Ok(None);
    }
    let Some(start) = NonNull::new(start) else { return Ok(None) };
    // SAFETY: the buffer view keeps the memory alive and in place until it is dropped. Nobody else can reach the array or
    // what owns its memory, and the caller gives the array up, so nobody writes it.
    let memory = unsafe { Buffer::external(start, bytes, Box::new(Kept::new(buffer))) };
    Tensor::from_buffer(dtype, &dims, memory).or_py(py).map(Some)
}

/// Whether nobody but the caller, who has one reference and a view of its buffer, can reach an array or what owns its
/// memory.
fn is_ours_alone(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    static WEAK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = array.py();
    let (class, weak) = (array_class(py)?, WEAK.import(py, "weakref", "getweakrefcount")?);
    let (mut owner, mut due) = (array.clone(), 3);
    // The caller, its view, and this function hold the array; a view of the array holds its base, and we do.
    loop {
        // SAFETY: the object is alive.
        let held = unsafe { ffi::Py_REFCNT(owner.as_ptr()) };
        if !owner.get_type().is(class) || held != due || weak.call1((&owner,))?.is_truthy()? {
            return Ok(false);
        }
        let base = owner.getattr("base")?;
        if base.is_none() {
            return owner.getattr("flags")?.getattr("owndata")?.is_truthy();
        }
        (owner, due) = (base, 2);
    }
}

/// An object of Python's that is kept from any thread; dropping it attaches to the interpreter, unless that is about to end.
pub(crate) struct Kept<T>(ManuallyDrop<T>);

impl<T> Kept<T> {
    pub(crate) fn new(object: T) -> Kept<T> {
        Kept(ManuallyDrop::new(object))
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        let Some(_stay) = exit::enter_to_drop() else { return };
        // SAFETY: nobody uses it after this.
        Python::attach(|_| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}

// SAFETY: the object is only held, and dropped attached to the interpreter.
unsafe impl<T> Send for Kept<T> {}
// SAFETY: the object is only held, and dropped attached to the interpreter; nothing is reached through a shared reference.
unsafe impl<T> Sync for Kept<T> {}

/// The NumPy array of the elements of a tensor in a row.
pub(crate) fn flat<'py>(tensor: &Bound<'py, PyTensor>, value: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let py = tensor.py();
    let row = value.reshaped(&[value.len()]).or_py(py)?;
    to_numpy(&wrap_eager(py, row.clone())?, &row)
}

/// The NumPy array of a tensor: a read-only view of its memory; strings become an array of `bytes`.
pub(crate) fn to_numpy<'py>(tensor: &Bound<'py, PyTensor>, value: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let py = tensor.py();
    if let Some(message) = crate::tensor::no_value(value.dtype()) {
        return Err(PyTypeError::new_err(message));
    }
    if value.rank() > PLAIN_RANK {
        // `asarray` takes what it cannot take at once for a sequence of sequences; `reshape` says how many dimensions there may be.
        return flat(tensor, value)?.call_method1("reshape", (value.dims().to_vec(),));
    }
    let numpy = py.import("numpy")?;
    if value.dtype() == DType::Str {
        let items = PyList::new(py, value.strings().iter().map(|s| crate::convert::bytes_object(py, s)))?;
        let flat = numpy.getattr("empty")?.call1((value.len(), "O"))?;
        flat.set_item(pyo3::types::PySlice::full(py), items)?;
        return flat.call_method1("reshape", (value.dims().to_vec(),));
    }
    if let Some(bits) = bits_of(value.dtype()) {
        let bits = wrap_eager(py, value.bitcast(bits).or_py(py)?)?;
        let array = numpy.getattr("asarray")?.call1((bits,))?;
        return array.call_method1("view", (numpy_dtype(py, value.dtype())?,));
    }
    numpy.getattr("asarray")?.call1((tensor,))
}

/// Fills a view of the buffer protocol with a tensor's memory.
///
/// # Safety
/// `view` is a valid pointer to fill, as the protocol gives it.
pub(crate) unsafe fn get_buffer(
    slf: &Bound<'_, PyTensor>,
    value: &Tensor,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    if view.is_null() {
        return Err(PyBufferError::new_err("the view is null"));
    }
    // SAFETY: `view` is valid by contract; without an object it is none, if what follows fails.
    unsafe { (*view).obj = ptr::null_mut() };
    if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
        return Err(PyBufferError::new_err("tensors are immutable: their memory is read-only"));
    }
    if value.dtype().size() == 0 {
        return Err(PyBufferError::new_err("tensors of strings and lists have no flat memory"));
    }
    if bits_of(value.dtype()).is_some() {
        // Its bits as integers would be taken for its values.
        let name = value.dtype().tf_name();
        return Err(PyBufferError::new_err(format!("the buffer protocol has no format for {name}")));
    }
    let columns_first = flags & ffi::PyBUF_F_CONTIGUOUS == ffi::PyBUF_F_CONTIGUOUS;
    if columns_first && value.dims().iter().filter(|&&d| d != 1).count() > 1 {
        return Err(PyBufferError::new_err("the memory of tensors is row-major, not contiguous in Fortran's order"));
    }
    let rank = value.rank();
    let size = value.dtype().size();
    // Extents, then strides; freed in `release_buffer`.
    let mut layout = vec![0isize; 2 * rank].into_boxed_slice();
    let mut stride = size as isize;
    for i in (0..rank).rev() {
        layout[i] = value.dims()[i] as isize;
        layout[rank + i] = stride;
        stride *= value.dims()[i] as isize;
    }
    let layout = if rank == 0 { ptr::null_mut() } else { Box::into_raw(layout).cast::<isize>() };
    // SAFETY: `view` is valid by contract; the tensor's memory lives as long as `slf`, which the view owns.
    unsafe {
        (*view).obj = slf.clone().into_any().into_ptr();
        (*view).buf = value.as_ptr().cast_mut().cast::<c_void>();
        (*view).len = value.byte_len() as isize;
        (*view).readonly = 1;
        (*view).itemsize = size as isize;
        (*view).format = if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
            format_of(value.dtype()).as_ptr().cast_mut()
        } else {
            ptr::null_mut()
        };
        (*view).ndim = rank as c_int;
        (*view).shape = if flags & ffi::PyBUF_ND == ffi::PyBUF_ND { layout } else { ptr::null_mut() };
        (*view).strides = if flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES && rank > 0 {
            layout.add(rank)
        } else {
            ptr::null_mut()
        };
        (*view).suboffsets = ptr::null_mut();
        (*view).internal = layout.cast();
    }
    Ok(())
}

/// Frees what [`get_buffer`] allocated.
///
/// # Safety
/// `view` was filled by [`get_buffer`] and is released once.
pub(crate) unsafe fn release_buffer(view: *mut ffi::Py_buffer) {
    // SAFETY: by contract; `internal` is the boxed layout of `2 * ndim` numbers, or null for rank 0.
    unsafe {
        let layout = (*view).internal.cast::<isize>();
        if !layout.is_null() {
            drop(Box::from_raw(ptr::slice_from_raw_parts_mut(layout, 2 * (*view).ndim as usize)));
        }
    }
}

/// Element `i` as a Python object.
pub(crate) fn item(py: Python<'_>, t: &Tensor, i: usize) -> PyResult<Py<PyAny>> {
    use penstock_data::{C64, C128, bf16, f16};
    macro_rules! number {
        ($ty:ty) => {
            t.as_slice::<$ty>()[i].into_pyobject(py)?.into_any().unbind()
        };
    }
    Ok(match t.dtype() {
        DType::Bool => t.as_slice::<Bool8>()[i].get().into_pyobject(py)?.to_owned().into_any().unbind(),
        DType::I8 => number!(i8),
        DType::I16 => number!(i16),
        DType::I32 => number!(i32),
        DType::I64 => number!(i64),
        DType::U8 => number!(u8),
        DType::U16 => number!(u16),
        DType::U32 => number!(u32),
        DType::U64 => number!(u64),
        DType::F16 => t.as_slice::<f16>()[i].to_f64().into_pyobject(py)?.into_any().unbind(),
        DType::Bf16 => t.as_slice::<bf16>()[i].to_f64().into_pyobject(py)?.into_any().unbind(),
        DType::F32 => number!(f32),
        DType::F64 => number!(f64),
        DType::C64 => {
            let z = t.as_slice::<C64>()[i];
            pyo3::types::PyComplex::from_doubles(py, z.re.into(), z.im.into()).into_any().unbind()
        }
        DType::C128 => {
            let z = t.as_slice::<C128>()[i];
            pyo3::types::PyComplex::from_doubles(py, z.re, z.im).into_any().unbind()
        }
        DType::Str => crate::convert::bytes_object(py, &t.strings()[i]).into_any().unbind(),
        dtype => with_dtype!(narrow, dtype, T => {
            let value = t.as_slice::<T>()[i].to_f32();
            match T::FORMAT {
                NarrowFormat::Float(_) => f64::from(value).into_pyobject(py)?.into_any().unbind(),
                NarrowFormat::Int { .. } => (value as i64).into_pyobject(py)?.into_any().unbind(),
            }
        }, else return Err(PyTypeError::new_err(no_value(dtype).unwrap_or_default()))),
    })
}
