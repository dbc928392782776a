//! DLPack: tensors that share memory with other libraries, <https://dmlc.github.io/dlpack/latest/c_api.html>.

#![expect(unsafe_code, reason = "the protocol hands over raw pointers; see the SAFETY comments")]

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

use penstock_data::{Buffer, DType, Dims, Place, Tensor};
use penstock_exec::Borrowed;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::errors::{OrPy, described};
use crate::gpu;

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
    fn flags(&self) -> u64;
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
    fn flags(&self) -> u64 {
        0
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
    fn flags(&self) -> u64 {
        self.flags
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
pub(crate) const DL_CUDA: i32 = 2;

/// The CPU as DLPack numbers it.
pub(crate) const CPU: Place = Place { kind: DL_CPU, index: 0 };

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
        // DLPack's codes of 8-bit floats; it counts elements of fewer bits otherwise.
        DType::F8E4M3B11Fnuz => (9, 8),
        DType::F8E4M3Fn => (10, 8),
        DType::F8E4M3Fnuz => (11, 8),
        DType::F8E5M2 => (12, 8),
        DType::F8E5M2Fnuz => (13, 8),
        d if d.is_narrow() => return None,
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

/// What a consumer asks of a capsule.
pub(crate) struct Request {
    /// Whether it knows version 1.
    versioned: bool,
    /// Where the memory is to be, where it says so.
    place: Option<Place>,
    copy: Option<bool>,
}

impl Request {
    /// The arguments of `__dlpack__`.
    pub(crate) fn new(
        max_version: Option<&Bound<'_, PyAny>>,
        dl_device: Option<&Bound<'_, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Request> {
        let versioned = match max_version.filter(|v| !v.is_none()) {
            Some(version) => version.extract::<(u32, u32)>()?.0 >= 1,
            None => false,
        };
        let place = match dl_device.filter(|d| !d.is_none()) {
            Some(device) => {
                let (kind, index) = device.extract()?;
                Some(Place { kind, index })
            }
            None => None,
        };
        Ok(Request { versioned, place, copy })
    }

    /// Whether the capsule is to hold a copy. Only version 1 tells the consumer that shared memory is read-only, so version 0 is a copy
    /// unless that is forbidden.
    fn copies(&self) -> PyResult<bool> {
        if !self.versioned && self.copy == Some(false) {
            return Err(PyBufferError::new_err(
                "DLPack below version 1 cannot say that memory is read-only, as that of a tensor is: argument 'copy' must not be \
                 False, or 'max_version' must be (1, 0) or above",
            ));
        }
        Ok(self.copy == Some(true) || !self.versioned)
    }

    fn export<'py>(&self, py: Python<'py>, tensor: Tensor, at: At, copied: bool) -> PyResult<Bound<'py, PyAny>> {
        let flags = if copied { IS_COPIED } else { READ_ONLY };
        if self.versioned {
            export::<DlManagedTensorVersioned>(py, tensor, at, flags)
        } else {
            export::<DlManagedTensor>(py, tensor, at, flags)
        }
    }
}

/// Where the elements of an exported tensor are.
struct At {
    place: Place,
    /// `None` for the host's copy, of which the tensor knows.
    address: Option<u64>,
}

/// A DLPack capsule that shares a tensor's memory or holds a copy of it.
pub(crate) fn to_dlpack<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    stream: Option<&Bound<'py, PyAny>>,
    request: &Request,
) -> PyResult<Bound<'py, PyAny>> {
    let here = place_of(tensor);
    let wanted = request.place.unwrap_or(here);
    if wanted != here && wanted != CPU {
        let or = if here == CPU { String::new() } else { format!(", or {}, the tensor's", shown(here)) };
        return Err(PyBufferError::new_err(format!(
            "argument 'dl_device' must be (1, 0), the CPU{or}, got {}",
            shown(wanted)
        )));
    }
    let stream = stream.filter(|s| !s.is_none());
    if here == CPU {
        if stream.is_some() {
            return Err(PyValueError::new_err("argument 'stream' must be None: the CPU has no streams"));
        }
        return to_host_capsule(py, tensor, request);
    }
    let stream = gpu::stream_of(stream)?;
    if wanted == CPU {
        if request.copy == Some(false) {
            return Err(PyBufferError::new_err("a tensor on a GPU is copied to the CPU, but argument 'copy' is False"));
        }
        let host = py.detach(|| tensor.on_host()).or_py(py)?;
        return to_host_capsule(py, &host, request);
    }
    let copies = request.copies()?;
    let lent = py.detach(|| {
        let tensor = if copies { tensor.duplicated()? } else { tensor.clone() };
        let address = tensor.remote().map(|memory| memory.lend(stream)).transpose()?;
        Ok((tensor, address))
    });
    let (tensor, address) = lent.or_py(py)?;
    request.export(py, tensor, At { place: here, address }, copies)
}

fn to_host_capsule<'py>(py: Python<'py>, tensor: &Tensor, request: &Request) -> PyResult<Bound<'py, PyAny>> {
    let copies = request.copies()?;
    let tensor = if copies { copied(py, tensor)? } else { tensor.clone() };
    request.export(py, tensor, At { place: CPU, address: None }, copies)
}

/// The device whose memory a capsule of a tensor shows.
pub(crate) fn place_of(tensor: &Tensor) -> Place {
    tensor.remote().and_then(|memory| memory.place()).unwrap_or(CPU)
}

fn shown(place: Place) -> String {
    format!("({}, {})", place.kind, place.index)
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

fn export<M: Managed>(py: Python<'_>, tensor: Tensor, at: At, flags: u64) -> PyResult<Bound<'_, PyAny>> {
    let (code, bits) = dl_dtype(tensor.dtype())
        .ok_or_else(|| PyBufferError::new_err(format!("DLPack has no dtype {}", tensor.dtype().tf_name())))?;
    let shape: Vec<i64> = tensor.dims().iter().map(|&d| d as i64).collect();
    // The box gives tensors that are stored inline an address; the pointers are taken inside of it.
    let leaked = Box::into_raw(Box::new(Exported {
        managed: M::new(
            DlTensor {
                data: ptr::null_mut(),
                device: DlDevice { device_type: at.place.kind, device_id: at.place.index },
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
        let shape = (*leaked).shape.as_mut_ptr();
        let data = match at.address {
            Some(address) => address as *mut c_void,
            None => (*leaked).tensor.as_ptr().cast_mut().cast(),
        };
        (*leaked).managed.tensor().shape = shape;
        (*leaked).managed.tensor().data = data;
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

/// The device that an object with `__dlpack_device__` is on; `None` where it does not say so.
pub(crate) fn place_of_object(value: &Bound<'_, PyAny>) -> PyResult<Option<Place>> {
    match value.getattr_opt(pyo3::intern!(value.py(), "__dlpack_device__"))? {
        Some(method) => {
            let said = method.call0()?;
            let (kind, index) = said.extract().map_err(|_| {
                PyTypeError::new_err(format!("__dlpack_device__() must give two integers, got {}", described(&said)))
            })?;
            Ok(Some(Place { kind, index }))
        }
        None => Ok(None),
    }
}

/// Whether a tensor of somebody's elements may share their memory.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sharing {
    /// The caller says that nobody writes it any more.
    Asked,
    /// Where it is nobody else's.
    Sole,
}

/// The tensor of a DLPack capsule, or of an object with `__dlpack__`, that shares the memory where it can.
pub(crate) fn from_dlpack(value: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    match value.hasattr("__dlpack__")? {
        true => from_object(value, place_of_object(value)?, Sharing::Asked),
        false => from_capsule(value.clone(), true, Sharing::Asked),
    }
}

/// The tensor of an object with `__dlpack__` that is on this device.
pub(crate) fn from_object(value: &Bound<'_, PyAny>, place: Option<Place>, sharing: Sharing) -> PyResult<Tensor> {
    let py = value.py();
    let stream = match place.filter(|place| place.kind == DL_CUDA) {
        Some(place) => Some(gpu::stream(py, place)?),
        None => None,
    };
    let asked = PyDict::new(py);
    if let Some(stream) = stream {
        asked.set_item("stream", stream)?;
    }
    let all = asked.copy()?;
    all.set_item("max_version", (1, 0))?;
    let given = match value.call_method("__dlpack__", (), Some(&all)) {
        // Producers from before version 1 do not know the argument.
        Err(e) if e.is_instance_of::<PyTypeError>(py) => value.call_method("__dlpack__", (), Some(&asked)),
        given => given,
    };
    from_capsule(given?, stream.is_none(), sharing)
}

/// The tensor of a capsule. One that was made without a word of the consumer's stream is ready on the legacy default stream.
fn from_capsule(capsule: Bound<'_, PyAny>, by_default: bool, sharing: Sharing) -> PyResult<Tensor> {
    let capsule = capsule
        .cast_into::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("expected a DLPack capsule or an object with __dlpack__"))?;
    match import::<DlManagedTensorVersioned>(&capsule, by_default, sharing)? {
        Some(tensor) => Ok(tensor),
        None => import::<DlManagedTensor>(&capsule, by_default, sharing)?
            .ok_or_else(|| PyValueError::new_err("the DLPack capsule was consumed already, or is none")),
    }
}

/// What a capsule says of its elements, checked as far as it can be.
struct Described {
    dtype: DType,
    dims: Dims,
    count: usize,
    /// In elements; `None` for elements in row-major order without gaps.
    strides: Option<Vec<i64>>,
    place: Place,
    /// The first element in the producer's memory.
    start: *mut u8,
}

impl Described {
    /// # Safety
    /// The tensor is that of a valid capsule.
    unsafe fn new(t: &DlTensor) -> PyResult<Described> {
        let place = Place { kind: t.device.device_type, index: t.device.device_id };
        if place.kind != DL_CPU && place.kind != DL_CUDA {
            return Err(PyBufferError::new_err(format!(
                "the DLPack tensor is on device type {}, neither in CPU memory nor on a CUDA device",
                place.kind
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
            let strides =
                (!t.strides.is_null() && rank > 0).then(|| std::slice::from_raw_parts(t.strides, rank).to_vec());
            (shape, strides)
        };
        let dims: Dims = (extents.iter().map(|&d| usize::try_from(d)).collect::<Result<_, _>>())
            .map_err(|_| broken(&format!("its extents are {extents:?}")))?;
        let size = dtype.size();
        let count = if dims.contains(&0) { 0 } else { span(extents.iter().copied(), size).unwrap_or(usize::MAX) };
        if count > isize::MAX as usize / size {
            return Err(broken(&format!("its extents are {extents:?}")));
        }
        let strides = strides.filter(|strides| !is_dense(&dims, strides));
        if count > 0
            && let Some(strides) = &strides
            && !in_reach(extents, strides, size)
        {
            return Err(broken(&format!("its strides are {strides:?}")));
        }
        let offset = usize::try_from(t.byte_offset).ok().filter(|&o| o <= isize::MAX as usize - count * size);
        let offset = offset.ok_or_else(|| broken(&format!("its byte offset is {}", t.byte_offset)))?;
        if count > 0 && t.data.is_null() {
            return Err(broken("it has no memory"));
        }
        let start = t.data.cast::<u8>().wrapping_add(offset);
        Ok(Described { dtype, dims, count, strides, place, start })
    }

    /// The tensor of elements on the host.
    fn on_host<M: Managed>(self, py: Python<'_>, owner: Imported<M>) -> PyResult<Tensor> {
        let Described { dtype, dims, count, strides, start, .. } = self;
        let size = dtype.size();
        if strides.is_none()
            && count * size > 64
            && (start as usize).is_multiple_of(size)
            && let Some(start) = NonNull::new(start)
        {
            // SAFETY: the memory lives until the owner's deleter runs. DLPack shares it by design: the
            // producer is asked not to write to it any more.
            let memory = unsafe { Buffer::external(start, count * size, Box::new(owner)) };
            return Tensor::from_buffer(dtype, &dims, memory).or_py(py);
        }
        let mut tensor = Tensor::empty(dtype, &dims).or_py(py)?;
        let to = tensor.as_mut_ptr().ok_or_else(|| PyBufferError::new_err("no memory to copy to"))?;
        for i in 0..count {
            let from = match &strides {
                Some(strides) => offset_of(i, &dims, strides),
                None => i as i64,
            };
            // SAFETY: element `from` lies in the producer's memory by its extents and strides, element
            // `i` in the new tensor.
            unsafe { ptr::copy_nonoverlapping(start.offset(from as isize * size as isize), to.add(i * size), size) };
        }
        drop(owner);
        Ok(tensor)
    }
}

/// The tensor of a capsule of this form; `None` for one of another name.
fn import<M: Managed>(capsule: &Bound<'_, PyCapsule>, by_default: bool, sharing: Sharing) -> PyResult<Option<Tensor>> {
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
    let (given, flags) = unsafe { (Described::new((*managed.as_ptr()).tensor())?, (*managed.as_ptr()).flags()) };
    let device = match given.place.kind {
        DL_CUDA => Some(gpu::device(given.place)?),
        _ => None,
    };
    // SAFETY: renaming marks the capsule as consumed, so that its destructor leaves the memory to us.
    unsafe {
        ffi::PyCapsule_SetName(capsule.as_ptr(), M::NAMES[1].as_ptr());
    }
    let owner = Imported(managed);
    let Some(device) = device else { return given.on_host(py, owner).map(Some) };
    let size = given.dtype.size() as i64;
    let memory = Borrowed {
        address: given.start as u64,
        // In reach of each other, so their products are numbers.
        strides: given.strides.map(|strides| strides.iter().map(|&s| s.wrapping_mul(size)).collect()),
        owner: Box::new(owner),
        copy: sharing == Sharing::Sole && flags & IS_COPIED == 0,
    };
    // SAFETY: the producer's elements are where it says, for as long as it is not told that they are not needed. It was given the
    // stream to have wait, or this waits for the default one. What may be written is copied, unless the caller was asked for more.
    unsafe { gpu::borrow(py, &device, given.dtype, &given.dims, memory, by_default.then_some(gpu::LEGACY)) }.map(Some)
}

/// The number of elements, where their bytes can be counted.
fn span(extents: impl Iterator<Item = i64>, size: usize) -> Option<usize> {
    let count = extents.into_iter().try_fold(1usize, |n, d| n.checked_mul(usize::try_from(d).ok()?))?;
    count.checked_mul(size).map(|_| count)
}

/// Whether the memory range of an array fits the address space, gaps between strided elements included.
pub(crate) fn is_addressable(extents: &[i64], strides: Option<&[i64]>, size: usize) -> bool {
    if extents.contains(&0) {
        return true;
    }
    let count = span(extents.iter().copied(), size).is_some_and(|count| count <= isize::MAX as usize / size);
    let reach = |s: &[i64]| s.len() == extents.len() && in_reach(extents, s, 1);
    count && extents.len() <= MOST_DIMS && strides.is_none_or(reach)
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
