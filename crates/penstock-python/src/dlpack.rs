//! DLPack: tensors that share memory with other libraries, <https://dmlc.github.io/dlpack/latest/c_api.html>.

#![expect(unsafe_code, reason = "the protocol hands over raw pointers; see the SAFETY comments")]

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

use penstock_data::{Buffer, DType, Dims, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::errors::OrPy;

#[repr(C)]
struct DlDevice {
    device_type: i32,
    device_id: i32,
}

#[repr(C)]
struct DlDataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    ndim: i32,
    dtype: DlDataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// What a capsule of version 0 holds: it cannot say that memory is read-only.
#[repr(C)]
struct DlManagedTensor {
    dl_tensor: DlTensor,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

/// What a capsule of version 1 holds.
#[repr(C)]
struct DlManagedTensorVersioned {
    major: u32,
    minor: u32,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedTensorVersioned)>,
    flags: u64,
    dl_tensor: DlTensor,
}

const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

/// The two forms of a managed tensor.
trait Managed: Sized + 'static {
    /// The capsule's name before and after it is consumed.
    const NAMES: [&'static CStr; 2];
    /// The version of the layout, where the form says it.
    fn major(&self) -> Option<u32>;
    fn new(dl_tensor: DlTensor, flags: u64) -> Self;
    fn tensor(&mut self) -> &mut DlTensor;
    fn context(&mut self) -> &mut *mut c_void;
    /// # Safety
    /// `managed` is live and is not used afterwards.
    unsafe fn delete(managed: NonNull<Self>);
}

impl Managed for DlManagedTensor {
    const NAMES: [&'static CStr; 2] = [c"dltensor", c"used_dltensor"];

    fn major(&self) -> Option<u32> {
        None
    }

    fn new(dl_tensor: DlTensor, _flags: u64) -> Self {
        DlManagedTensor { dl_tensor, manager_ctx: ptr::null_mut(), deleter: Some(delete_exported) }
    }
    fn tensor(&mut self) -> &mut DlTensor {
        &mut self.dl_tensor
    }
    fn context(&mut self) -> &mut *mut c_void {
        &mut self.manager_ctx
    }
    unsafe fn delete(managed: NonNull<Self>) {
        // SAFETY: by contract; the deleter is the producer's.
        unsafe {
            if let Some(delete) = managed.as_ref().deleter {
                delete(managed.as_ptr());
            }
        }
    }
}

impl Managed for DlManagedTensorVersioned {
    const NAMES: [&'static CStr; 2] = [c"dltensor_versioned", c"used_dltensor_versioned"];

    fn major(&self) -> Option<u32> {
        Some(self.major)
    }

    fn new(dl_tensor: DlTensor, flags: u64) -> Self {
        DlManagedTensorVersioned {
            major: MAJOR,
            minor: 0,
            manager_ctx: ptr::null_mut(),
            deleter: Some(delete_exported),
            flags,
            dl_tensor,
        }
    }
    fn tensor(&mut self) -> &mut DlTensor {
        &mut self.dl_tensor
    }
    fn context(&mut self) -> &mut *mut c_void {
        &mut self.manager_ctx
    }
    unsafe fn delete(managed: NonNull<Self>) {
        // SAFETY: by contract; the deleter is the producer's.
        unsafe {
            if let Some(delete) = managed.as_ref().deleter {
                delete(managed.as_ptr());
            }
        }
    }
}

const DL_CPU: i32 = 1;

/// The version of the layout that is understood.
const MAJOR: u32 = 1;

/// More dimensions than any library's arrays have.
const MOST_DIMS: usize = 1024;

/// The type code and bits of DLPack.
fn dl_dtype(dtype: DType) -> Option<(u8, u8)> {
    let bits = (dtype.size() * 8) as u8;
    Some(match dtype {
        DType::Bool => (6, 8),
        DType::Bf16 => (4, 16),
        DType::Str | DType::Variant | DType::Resource => return None,
        d if d.is_unsigned() => (1, bits),
        d if d.is_integer() => (0, bits),
        d if d.is_float() => (2, bits),
        _ => (5, bits),
    })
}

/// What an exported capsule keeps alive.
struct Exported<M> {
    managed: M,
    shape: Vec<i64>,
    tensor: Tensor,
}

unsafe extern "C" fn delete_exported<M: Managed>(managed: *mut M) {
    if !managed.is_null() {
        // SAFETY: the context is the `Exported` that `export` leaked; the consumer calls this once.
        drop(unsafe { Box::from_raw((*(*managed).context()).cast::<Exported<M>>()) });
    }
}

unsafe extern "C" fn delete_capsule<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: called by the interpreter on a live capsule; one that was consumed bears another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAMES[0].as_ptr()) != 0 {
            delete_exported::<M>(ffi::PyCapsule_GetPointer(capsule, M::NAMES[0].as_ptr()).cast());
        }
    }
}

/// A DLPack capsule, of version 1 or 0, that shares a tensor's memory or holds a copy of it.
///
/// Only version 1 tells the consumer that shared memory is read-only, so version 0 is a copy unless that is forbidden.
pub(crate) fn to_dlpack<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    versioned: bool,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    if !versioned && copy == Some(false) {
        return Err(PyBufferError::new_err(
            "DLPack below version 1 cannot say that memory is read-only, as that of a tensor is: argument 'copy' must not be \
             False, or 'max_version' must be (1, 0) or above",
        ));
    }
    let copy = copy == Some(true) || !versioned;
    let tensor = if copy { copied(py, tensor)? } else { tensor.clone() };
    let flags = if copy { IS_COPIED } else { READ_ONLY };
    if versioned {
        export::<DlManagedTensorVersioned>(py, tensor, flags)
    } else {
        export::<DlManagedTensor>(py, tensor, flags)
    }
}

/// The tensor in memory of its own.
fn copied(py: Python<'_>, tensor: &Tensor) -> PyResult<Tensor> {
    if tensor.dtype() == DType::Str {
        return Ok(tensor.clone());
    }
    let mut copy = Tensor::empty(tensor.dtype(), tensor.dims()).or_py(py)?;
    let to = copy.as_mut_ptr().ok_or_else(|| PyBufferError::new_err("no memory to copy to"))?;
    // SAFETY: both have the dtype and extents of `tensor`, and the new one is nobody else's.
    unsafe { ptr::copy_nonoverlapping(tensor.as_ptr(), to, tensor.byte_len()) };
    Ok(copy)
}

fn export<M: Managed>(py: Python<'_>, tensor: Tensor, flags: u64) -> PyResult<Bound<'_, PyAny>> {
    let (code, bits) = dl_dtype(tensor.dtype())
        .ok_or_else(|| PyBufferError::new_err(format!("DLPack has no dtype {}", tensor.dtype().tf_name())))?;
    let shape: Vec<i64> = tensor.dims().iter().map(|&d| d as i64).collect();
    // The box gives tensors that are stored inline an address; the pointers are taken inside of it.
    let leaked = Box::into_raw(Box::new(Exported {
        managed: M::new(
            DlTensor {
                data: ptr::null_mut(),
                device: DlDevice { device_type: DL_CPU, device_id: 0 },
                ndim: tensor.rank() as i32,
                dtype: DlDataType { code, bits, lanes: 1 },
                shape: ptr::null_mut(),
                strides: ptr::null_mut(),
                byte_offset: 0,
            },
            flags,
        ),
        shape,
        tensor,
    }));
    // SAFETY: the capsule owns `leaked` until it is consumed; the destructor frees it exactly once.
    unsafe {
        let (shape, data) = ((*leaked).shape.as_mut_ptr(), (*leaked).tensor.as_ptr().cast_mut());
        (*leaked).managed.tensor().shape = shape;
        (*leaked).managed.tensor().data = data.cast();
        *(*leaked).managed.context() = leaked.cast();
        let capsule =
            ffi::PyCapsule_New((&raw mut (*leaked).managed).cast(), M::NAMES[0].as_ptr(), Some(delete_capsule::<M>));
        if capsule.is_null() {
            drop(Box::from_raw(leaked));
            return Err(PyErr::fetch(py));
        }
        Ok(Bound::from_owned_ptr(py, capsule))
    }
}

/// A consumed capsule: its producer's deleter runs when the last tensor of it is gone.
struct Imported<M: Managed>(NonNull<M>);

// SAFETY: the pointer is only handed to the producer's deleter, which DLPack requires to be callable
// from any thread.
unsafe impl<M: Managed> Send for Imported<M> {}
// SAFETY: nothing is reached through a shared reference: the pointer is only handed to the deleter.
unsafe impl<M: Managed> Sync for Imported<M> {}

impl<M: Managed> Drop for Imported<M> {
    fn drop(&mut self) {
        // Producers in Python release references in their deleters.
        let Some(_stay) = crate::exit::enter_to_drop() else { return };
        Python::attach(|_| {
            // SAFETY: the capsule was consumed once, so this is the only call of the deleter.
            unsafe { M::delete(self.0) }
        });
    }
}

/// The tensor of a DLPack capsule, or of an object with `__dlpack__`.
pub(crate) fn from_dlpack(value: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = value.py();
    let capsule = if value.hasattr("__dlpack__")? {
        let kwargs = PyDict::new(py);
        kwargs.set_item("max_version", (1, 0))?;
        match value.call_method("__dlpack__", (), Some(&kwargs)) {
            // Producers from before version 1 do not know the argument.
            Err(e) if e.is_instance_of::<PyTypeError>(py) => value.call_method0("__dlpack__")?,
            given => given?,
        }
    } else {
        value.clone()
    };
    let capsule = capsule
        .cast_into::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("expected a DLPack capsule or an object with __dlpack__"))?;
    match import::<DlManagedTensorVersioned>(&capsule)? {
        Some(tensor) => Ok(tensor),
        None => import::<DlManagedTensor>(&capsule)?
            .ok_or_else(|| PyValueError::new_err("the DLPack capsule was consumed already, or is none")),
    }
}

/// The tensor of a capsule of this form; `None` for one of another name.
fn import<M: Managed>(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<Tensor>> {
    let py = capsule.py();
    // SAFETY: the capsule is live and checked to bear the name that DLPack gives unconsumed ones.
    let managed = unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), M::NAMES[0].as_ptr()) == 0 {
            return Ok(None);
        }
        ffi::PyCapsule_GetPointer(capsule.as_ptr(), M::NAMES[0].as_ptr()).cast::<M>()
    };
    let Some(managed) = NonNull::new(managed) else { return Err(PyValueError::new_err("the DLPack capsule is empty")) };
    // SAFETY: a valid capsule holds a valid managed tensor; its version lies in front of what a version may change.
    if let Some(major) = unsafe { (*managed.as_ptr()).major() }
        && major != MAJOR
    {
        return Err(PyBufferError::new_err(format!(
            "the DLPack tensor is of version {major}, only version {MAJOR} is understood"
        )));
    }
    // SAFETY: a valid capsule holds a valid managed tensor, whose version is understood.
    let t = unsafe { (*managed.as_ptr()).tensor() };
    if t.device.device_type != DL_CPU {
        return Err(PyBufferError::new_err(format!(
            "the DLPack tensor is on device type {}, not in CPU memory",
            t.device.device_type
        )));
    }
    let dtype = penstock_data::ALL_DTYPES
        .into_iter()
        .find(|&d| t.dtype.lanes == 1 && dl_dtype(d) == Some((t.dtype.code, t.dtype.bits)))
        .ok_or_else(|| {
            PyBufferError::new_err(format!(
                "DLPack dtype code {} of {} bits is not supported",
                t.dtype.code, t.dtype.bits
            ))
        })?;
    let broken = |what: &str| PyBufferError::new_err(format!("the DLPack tensor is broken: {what}"));
    let rank = usize::try_from(t.ndim).ok().filter(|&rank| rank <= MOST_DIMS);
    let rank = rank.ok_or_else(|| broken(&format!("it has {} dimensions", t.ndim)))?;
    if rank > 0 && t.shape.is_null() {
        return Err(broken("it has no extents"));
    }
    // SAFETY: DLPack gives `ndim` extents, and as many strides or none.
    let (extents, strides) = unsafe {
        let shape: &[i64] = if rank == 0 { &[] } else { std::slice::from_raw_parts(t.shape, rank) };
        let strides = (!t.strides.is_null() && rank > 0).then(|| std::slice::from_raw_parts(t.strides, rank).to_vec());
        (shape, strides)
    };
    let dims: Dims = (extents.iter().map(|&d| usize::try_from(d)).collect::<Result<_, _>>())
        .map_err(|_| broken(&format!("its extents are {extents:?}")))?;
    let size = dtype.size();
    let count = if dims.contains(&0) { 0 } else { span(extents.iter().copied(), size).unwrap_or(usize::MAX) };
    if count > isize::MAX as usize / size {
        return Err(broken(&format!("its extents are {extents:?}")));
    }
    let dense = strides.as_ref().is_none_or(|s| is_dense(&dims, s));
    if count > 0 && !dense && !strides.as_ref().is_some_and(|s| in_reach(extents, s, size)) {
        return Err(broken(&format!("its strides are {:?}", strides.unwrap_or_default())));
    }
    let offset = usize::try_from(t.byte_offset).ok().filter(|&o| o <= isize::MAX as usize - count * size);
    let offset = offset.ok_or_else(|| broken(&format!("its byte offset is {}", t.byte_offset)))?;
    if count > 0 && t.data.is_null() {
        return Err(broken("it has no memory"));
    }
    // The offset of the first element in the producer's memory.
    let start = t.data.cast::<u8>().wrapping_add(offset);
    // SAFETY: renaming marks the capsule as consumed, so that its destructor leaves the memory to us.
    unsafe {
        ffi::PyCapsule_SetName(capsule.as_ptr(), M::NAMES[1].as_ptr());
    }
    let owner = Imported(managed);
    if dense
        && count * size > 64
        && (start as usize).is_multiple_of(size)
        && let Some(start) = NonNull::new(start)
    {
        // SAFETY: the memory lives until the owner's deleter runs. DLPack shares it by design: the
        // producer is asked not to write to it any more.
        let memory = unsafe { Buffer::external(start, count * size, Box::new(owner)) };
        return Tensor::from_buffer(dtype, &dims, memory).map(Some).or_py(py);
    }
    let mut tensor = Tensor::empty(dtype, &dims).or_py(py)?;
    let to = tensor.as_mut_ptr().ok_or_else(|| PyBufferError::new_err("no memory to copy to"))?;
    for i in 0..count {
        let from = match (&strides, dense) {
            (Some(strides), false) => offset_of(i, &dims, strides),
            _ => i as i64,
        };
        // SAFETY: element `from` lies in the producer's memory by its extents and strides, element
        // `i` in the new tensor.
        unsafe { ptr::copy_nonoverlapping(start.offset(from as isize * size as isize), to.add(i * size), size) };
    }
    drop(owner);
    Ok(Some(tensor))
}

/// The number of elements, where their bytes can be counted.
fn span(extents: impl Iterator<Item = i64>, size: usize) -> Option<usize> {
    let count = extents.into_iter().try_fold(1usize, |n, d| n.checked_mul(usize::try_from(d).ok()?))?;
    count.checked_mul(size).map(|_| count)
}

/// Whether strides lead from the first element to all others by distances in bytes that there are.
fn in_reach(extents: &[i64], strides: &[i64], size: usize) -> bool {
    let distance = |(&d, &s): (&i64, &i64)| i128::from(d - 1) * i128::from(s).abs() * size as i128;
    extents.iter().zip(strides).map(distance).sum::<i128>() <= isize::MAX as i128
}

fn is_dense(dims: &[usize], strides: &[i64]) -> bool {
    let mut due = 1i64;
    dims.iter().zip(strides).rev().all(|(&d, &s)| {
        let fits = d <= 1 || s == due;
        due = due.wrapping_mul(d as i64);
        fits
    })
}

fn offset_of(mut index: usize, dims: &[usize], strides: &[i64]) -> i64 {
    let mut offset = 0;
    for (&d, &s) in dims.iter().zip(strides).rev() {
        offset += (index % d) as i64 * s;
        index /= d;
    }
    offset
}
