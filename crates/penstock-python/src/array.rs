//! Tensors and arrays: the buffer protocol and NumPy, without a copy where ownership allows.

#![expect(unsafe_code, reason = "raw memory crosses the border here; see the SAFETY comments")]

use std::ffi::{CStr, c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use penstock_data::{Buffer, Bytes, DType, Dims, Tensor};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyFloat, PyInt, PyList, PySlice, PyString, PyTuple};

use crate::dtype::numpy_dtype;
use crate::errors::OrPy;
use crate::exit;
use crate::tensor::PyTensor;

/// Whether C's `long` has 64 bits: NumPy takes it for `int64` then, and shows `long long` as another dtype.
const LONG_IS_64: bool = size_of::<std::ffi::c_long>() == 8;

/// The format of the buffer protocol for a dtype; bfloat16 has none and shows its bits.
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
        DType::U16 | DType::Bf16 => c"H",
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
        DType::Str | DType::Variant | DType::Resource => c"O",
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
    (has_buffer && value.hasattr("dtype").unwrap_or(false))
        || value.hasattr("__array_interface__").unwrap_or(false)
        || value.hasattr("__array__").unwrap_or(false)
}

/// Whether the value is of a class of Python's own that is no array, the commonest; attributes that are not there are
/// slow to ask for.
fn is_builtin(value: &Bound<'_, PyAny>) -> bool {
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
}

/// The tensor of an array; `None` where the value is none.
///
/// Memory that is contiguous, aligned and read-only is borrowed; other memory is copied, since a
/// tensor never changes.
pub(crate) fn from_array(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Tensor>> {
    if !is_array(value) {
        return Ok(None);
    }
    let py = value.py();
    let array = match value.hasattr("dtype")? && value.hasattr("strides")? {
        true => value.clone(),
        false => py.import("numpy")?.getattr("asarray")?.call1((value,))?,
    };
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let tensor = match kind.as_str() {
        "O" | "S" | "U" | "T" => from_objects(&array, dtype)?,
        // The name of a dtype is slow to get: only where the kind leaves it open.
        "V" if array.getattr("dtype")?.getattr("name")?.extract::<String>()? == "bfloat16" => {
            let bits = array.call_method1("view", ("uint16",))?;
            from_buffer(&bits)?.bitcast(DType::Bf16).or_py(py)?
        }
        _ => from_buffer(&array)?,
    };
    match dtype {
        Some(d) if d != tensor.dtype() => cast(py, tensor, d).map(Some),
        _ => Ok(Some(tensor)),
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
    let op = crate::ops::find("cast");
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

fn from_buffer(array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = array.py();
    let dims: Dims = array.getattr("shape")?.extract::<Vec<usize>>()?.into();
    let dtype = array.getattr("dtype")?;
    let mut array = array.clone();
    if !dtype.getattr("isnative")?.extract::<bool>()? {
        array = array.call_method1("astype", (dtype.call_method1("newbyteorder", ("=",))?,))?;
    }
    if dims.is_empty() {
        // Views of rank 0 have no list of extents, which the interpreter's interface does not take.
        array = array.call_method1("reshape", (1,))?;
    }
    let buffer = match PyUntypedBuffer::get(&array) {
        Ok(b) if b.is_c_contiguous() => b,
        _ => PyUntypedBuffer::get(&py.import("numpy")?.getattr("ascontiguousarray")?.call1((&array,))?)?,
    };
    let format = buffer.format().to_str().unwrap_or("").to_owned();
    let dtype = dtype_of(&format, buffer.item_size()).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "arrays of dtype {} cannot become tensors",
            array.getattr("dtype").map(|d| d.to_string()).unwrap_or(format)
        ))
    })?;
    let bytes = buffer.len_bytes();
    let start = buffer.buf_ptr().cast::<u8>();
    if buffer.readonly()
        && never_written(&array)
        && bytes > 64
        && (start as usize).is_multiple_of(dtype.size())
        && let Some(start) = NonNull::new(start)
    {
        // SAFETY: the buffer view keeps the memory alive and in place until it is dropped, and nobody
        // writes it.
        let memory = unsafe { Buffer::external(start, bytes, Box::new(HeldBuffer::new(buffer))) };
        return Tensor::from_buffer(dtype, &dims, Arc::new(memory)).or_py(py);
    }
    let mut tensor = Tensor::empty(dtype, &dims).or_py(py)?;
    if bytes > 0 {
        let to = tensor.as_mut_ptr().ok_or_else(|| PyBufferError::new_err("no memory to copy to"))?;
        // SAFETY: both are `bytes` long, and the new tensor is nobody else's.
        unsafe { ptr::copy_nonoverlapping(start, to, bytes) };
    }
    Ok(tensor)
}

/// The tensor over the memory of a NumPy array that nobody else holds: contiguous, of this dtype, and owned by the array or
/// by an array that only its views hold. `None` where that is not so. The caller gives the array up.
pub(crate) fn adopt(array: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Option<Tensor>> {
    let py = array.py();
    // SAFETY: the objects are alive.
    let held = |object: &Bound<'_, PyAny>, by: isize| unsafe { ffi::Py_REFCNT(object.as_ptr()) } as isize == by;
    if dtype == DType::Str || dtype == DType::Bf16 {
        return Ok(None);
    }
    let class = py.import("numpy")?.getattr("ndarray")?;
    if !array.get_type().is(&class) {
        return Ok(None);
    }
    let mut owner = array.getattr("base")?;
    if let Some(tensor) = viewed(array, &owner, dtype)? {
        return Ok(Some(tensor));
    }
    if !held(array, 1) {
        return Ok(None);
    }
    if owner.is_none() {
        if !array.getattr("flags")?.getattr("owndata")?.is_truthy()? {
            return Ok(None);
        }
    } else {
        // A view holds its base once, and we do.
        loop {
            if !owner.get_type().is(&class) || !held(&owner, 2) {
                return Ok(None);
            }
            let base = owner.getattr("base")?;
            if base.is_none() {
                break;
            }
            owner = base;
        }
        if !owner.getattr("flags")?.getattr("owndata")?.is_truthy()? {
            return Ok(None);
        }
    }
    let Ok(buffer) = PyUntypedBuffer::get(array) else { return Ok(None) };
    let start = buffer.buf_ptr().cast::<u8>();
    let matches = dtype_of(&buffer.format().to_string_lossy(), buffer.item_size()) == Some(dtype);
    // Small results are copied: quicker than holding an object.
    if !matches
        || !buffer.is_c_contiguous()
        || buffer.len_bytes() <= 64
        || !(start as usize).is_multiple_of(dtype.size())
    {
        return Ok(None);
    }
    let dims: Dims = array.getattr("shape")?.extract::<Vec<usize>>()?.into();
    let Some(start) = NonNull::new(start) else { return Ok(None) };
    let bytes = buffer.len_bytes();
    // SAFETY: the buffer view keeps the memory alive and in place until it is dropped. Nobody else can reach the array or
    // what owns its memory, and the caller gives the array up, so nobody writes it.
    let memory = unsafe { Buffer::external(start, bytes, Box::new(HeldBuffer::new(buffer))) };
    Tensor::from_buffer(dtype, &dims, Arc::new(memory)).or_py(py).map(Some)
}

/// The tensor of which an array of this dtype is a view, where it shows all of its elements in order.
fn viewed(array: &Bound<'_, PyAny>, base: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Option<Tensor>> {
    let Ok(view) = base.cast::<pyo3::types::PyMemoryView>() else { return Ok(None) };
    let object = view.getattr("obj")?;
    let Some(tensor) = object.cast::<PyTensor>().ok().and_then(|t| t.get().var.tensor()) else { return Ok(None) };
    let Ok(buffer) = PyUntypedBuffer::get(array) else { return Ok(None) };
    let whole = buffer.buf_ptr().cast_const().cast::<u8>() == tensor.as_ptr()
        && buffer.len_bytes() == tensor.byte_len()
        && buffer.is_c_contiguous()
        && tensor.dtype() == dtype
        && dtype_of(&buffer.format().to_string_lossy(), buffer.item_size()) == Some(dtype);
    if !whole {
        return Ok(None);
    }
    let dims: Dims = array.getattr("shape")?.extract::<Vec<usize>>()?.into();
    tensor.reshaped(&dims).or_py(array.py()).map(Some)
}

/// Whether nobody else can write a read-only array's memory: it is the array's own, or that of an object
/// which is read-only itself, a tensor's view or `bytes`.
fn never_written(array: &Bound<'_, PyAny>) -> bool {
    array.getattr("base").is_ok_and(|base| {
        base.is_none()
            || base.is_instance_of::<pyo3::types::PyBytes>()
            || base
                .cast::<pyo3::types::PyMemoryView>()
                .is_ok_and(|view| view.getattr("readonly").and_then(|r| r.is_truthy()).unwrap_or(false))
    })
}

/// A buffer view held from any thread; dropping it attaches to the interpreter, unless that is about to end.
struct HeldBuffer(ManuallyDrop<PyUntypedBuffer>);

impl HeldBuffer {
    fn new(buffer: PyUntypedBuffer) -> HeldBuffer {
        HeldBuffer(ManuallyDrop::new(buffer))
    }
}

impl Drop for HeldBuffer {
    fn drop(&mut self) {
        let Some(_stay) = exit::enter_to_drop() else { return };
        // SAFETY: nobody uses it after this.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

// SAFETY: the view is only held and dropped; `PyUntypedBuffer` attaches to the interpreter for its drop.
unsafe impl Send for HeldBuffer {}
// SAFETY: as above; nothing is reached through a shared reference.
unsafe impl Sync for HeldBuffer {}

/// The NumPy array of a tensor: a read-only view of its memory; strings become an array of `bytes`.
pub(crate) fn to_numpy<'py>(tensor: &Bound<'py, PyTensor>, value: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let py = tensor.py();
    if value.dtype() == DType::Variant {
        return Err(PyTypeError::new_err(crate::tensor::LIST_HAS_NO_VALUE));
    }
    let numpy = py.import("numpy")?;
    if value.dtype() == DType::Str {
        let items = PyList::new(py, value.strings().iter().map(|s| crate::convert::bytes_object(py, s)))?;
        let flat = numpy.getattr("empty")?.call1((value.len(), "O"))?;
        flat.set_item(pyo3::types::PySlice::full(py), items)?;
        return flat.call_method1("reshape", (value.dims().to_vec(),));
    }
    let array = numpy.getattr("asarray")?.call1((tensor,))?;
    if value.dtype() == DType::Bf16 {
        return array.call_method1("view", (numpy_dtype(py, DType::Bf16)?,));
    }
    Ok(array)
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
    if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
        return Err(PyBufferError::new_err("tensors are immutable: their memory is read-only"));
    }
    if value.dtype().size() == 0 {
        return Err(PyBufferError::new_err("tensors of strings and lists have no flat memory"));
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
