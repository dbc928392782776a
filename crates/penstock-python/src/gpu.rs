//! Arrays in the memory of a GPU: what DLPack needs of devices, and `__cuda_array_interface__`.

#![expect(unsafe_code, reason = "other libraries say by numbers where their memory is")]

use std::sync::Arc;

use penstock_data::{Class, DType, Dims, Error, Place, Tensor};
use penstock_exec::{Borrowed, Device, Exchange};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::array::{self, Kept};
use crate::dlpack::{self, DL_CUDA, Sharing};
use crate::errors::{self, OrPy, described, has_attribute};

/// The legacy default stream.
pub(crate) const LEGACY: u64 = 1;

/// The interface of arrays that name memory of a GPU.
const INTERFACE: &str = "__cuda_array_interface__";

/// The device of a number; opened when something is first asked of it.
pub(crate) fn device(place: Place) -> PyResult<Arc<dyn Device>> {
    penstock_cuda::register_devices();
    penstock_exec::device_at(place)
        .ok_or_else(|| PyBufferError::new_err(format!("the array is on GPU {}, which is not there", place.index)))
}

fn exchange(device: &Arc<dyn Device>) -> PyResult<&dyn Exchange> {
    device.exchange().ok_or_else(|| PyBufferError::new_err("the device shares no memory with other libraries"))
}

/// The stream that a producer of this device is to have wait.
pub(crate) fn stream(py: Python<'_>, place: Place) -> PyResult<u64> {
    let device = device(place)?;
    exchange(&device)?.stream().or_py(py)
}

/// The stream that is to wait, of argument `stream` of `__dlpack__`; `None` where none is.
pub(crate) fn stream_of(stream: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let Some(stream) = stream else { return Ok(Some(LEGACY)) };
    let number: i64 = stream.extract().map_err(|_| {
        PyTypeError::new_err(format!("argument 'stream' must be None or an integer, got {}", described(stream)))
    })?;
    match u64::try_from(number) {
        Err(_) if number == -1 => Ok(None),
        Ok(handle) if handle != 0 => Ok(Some(handle)),
        _ => Err(PyValueError::new_err(format!(
            "argument 'stream' must be None, -1, 1 or 2 for the default streams, or a handle above, got {number}"
        ))),
    }
}

/// As [`Exchange::borrow`], after what is queued on `stream`.
///
/// # Safety
/// As there.
pub(crate) unsafe fn borrow(
    py: Python<'_>,
    device: &Arc<dyn Device>,
    dtype: DType,
    dims: &Dims,
    memory: Borrowed,
    stream: Option<u64>,
) -> PyResult<Tensor> {
    py.detach(|| {
        let exchange = device.exchange().ok_or_else(|| Error::internal("the device shares no memory"))?;
        if let Some(stream) = stream {
            exchange.wait_for(stream)?;
        }
        // SAFETY: the caller's promise.
        unsafe { exchange.borrow(dtype, dims, memory) }
    })
    .map_err(|e| match e.class() {
        Class::InvalidArgument => PyBufferError::new_err(e.message().to_owned()),
        _ => errors::to_py(py, &e),
    })
}

/// The tensor of an object whose memory is a GPU's, by `__dlpack__` or `__cuda_array_interface__`, in memory of its own: who else has the
/// object's may write it. `None` for other objects.
pub(crate) fn from_array(value: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if array::is_builtin(value) || array::is_numpy(value) {
        return Ok(None);
    }
    if has_attribute(value, pyo3::intern!(value.py(), "__dlpack__"))
        && let Ok(Some(place)) = dlpack::place_of_object(value)
        && place.kind == DL_CUDA
    {
        return dlpack::from_object(value, Some(place), Sharing::Sole).map(Some);
    }
    if let Ok(Some(interface)) = value.getattr_opt(pyo3::intern!(value.py(), "__cuda_array_interface__"))
        && let Ok(interface) = interface.cast::<PyDict>()
    {
        return from_interface(value, interface).map(Some);
    }
    Ok(None)
}

/// The tensor of an array by what its interface says.
fn from_interface(value: &Bound<'_, PyAny>, interface: &Bound<'_, PyDict>) -> PyResult<Tensor> {
    let py = value.py();
    let wrong = |what: String| PyBufferError::new_err(format!("{INTERFACE}: {what}"));
    let given = |name: &str| -> PyResult<Bound<'_, PyAny>> {
        interface.get_item(name)?.ok_or_else(|| wrong(format!("it has no {name:?}")))
    };
    let known = |name: &str| Ok::<_, PyErr>(interface.get_item(name)?.filter(|v| !v.is_none()));
    if known("mask")?.is_some() {
        return Err(wrong("arrays with masks are not supported".to_owned()));
    }
    let text: String = given("typestr")?.extract()?;
    let dtype = dtype_of(&text).ok_or_else(|| wrong(format!("dtype {text:?} is not supported")))?;
    let extents: Vec<i64> = given("shape")?.extract()?;
    let dims: Dims = (extents.iter().map(|&d| usize::try_from(d)).collect::<Result<_, _>>())
        .map_err(|_| wrong(format!("its extents are {extents:?}")))?;
    let (address, _): (u64, Bound<'_, PyAny>) = given("data")?.extract()?;
    let strides: Option<Vec<i64>> = known("strides")?.map(|s| s.extract()).transpose()?;
    if !dlpack::is_addressable(&extents, strides.as_deref(), dtype.size()) {
        return Err(wrong(format!("its extents are {extents:?} and its strides {strides:?}")));
    }
    if dims.contains(&0) {
        return Tensor::empty(dtype, &dims).or_py(py);
    }
    // From version 3 on the array says whom to wait for.
    let version: i64 = given("version")?.extract()?;
    let stream = match known("stream")? {
        Some(stream) => stream_of(Some(&stream)).map_err(|_| wrong(format!("its stream is {}", described(&stream))))?,
        None => (version < 3).then_some(LEGACY),
    };
    let device =
        device_of(py, address)?.ok_or_else(|| wrong(format!("there is no GPU with memory at {address:#x}")))?;
    let owner = Box::new(Kept::new(value.clone().unbind()));
    let memory = Borrowed { address, strides: strides.map(|s| s.into_iter().collect()), owner, copy: true };
    // SAFETY: the array's elements are where its interface says, as long as it is kept; this waits for its stream, and copies.
    unsafe { borrow(py, &device, dtype, &dims, memory, stream) }
}

/// The GPU that has memory at an address.
fn device_of(py: Python<'_>, address: u64) -> PyResult<Option<Arc<dyn Device>>> {
    penstock_cuda::register_devices();
    for device in penstock_exec::devices() {
        if let Some(exchange) = device.exchange()
            && exchange.holds(address).or_py(py)?
        {
            return Ok(Some(device));
        }
    }
    Ok(None)
}

/// `__cuda_array_interface__` of a tensor.
///
/// # Errors
/// `AttributeError` where it is not on a GPU, or its dtype has no name there; what the work that computes it has rejected.
pub(crate) fn interface<'py>(py: Python<'py>, tensor: Option<&Tensor>) -> PyResult<Bound<'py, PyDict>> {
    let none = |why: &str| PyAttributeError::new_err(format!("'Tensor' object has no attribute '{INTERFACE}': {why}"));
    let tensor = tensor.ok_or_else(|| none("it is symbolic"))?;
    let place = dlpack::place_of(tensor);
    let memory = tensor.remote().filter(|_| place.kind == DL_CUDA).ok_or_else(|| none("it is not on a GPU"))?;
    let dtype = typestr(tensor.dtype()).ok_or_else(|| none("its dtype has no name there"))?;
    let device = device(place)?;
    let exchange = exchange(&device)?;
    let address = py.detach(|| memory.lend(None)).or_py(py)?;
    let interface = PyDict::new(py);
    interface.set_item("shape", PyTuple::new(py, tensor.dims())?)?;
    interface.set_item("typestr", dtype)?;
    interface.set_item("data", (address, true))?;
    interface.set_item("strides", py.None())?;
    interface.set_item("stream", exchange.stream().or_py(py)?)?;
    interface.set_item("version", 3)?;
    Ok(interface)
}

/// The name of a dtype by NumPy's array interface.
fn typestr(dtype: DType) -> Option<String> {
    let kind = match dtype {
        DType::Str | DType::Variant | DType::Resource | DType::Bf16 => return None,
        d if d.is_narrow() => return None,
        DType::Bool => 'b',
        d if d.is_unsigned() => 'u',
        d if d.is_integer() => 'i',
        d if d.is_float() => 'f',
        _ => 'c',
    };
    let order = match (dtype.size(), cfg!(target_endian = "little")) {
        (1, _) => '|',
        (_, true) => '<',
        (_, false) => '>',
    };
    Some(format!("{order}{kind}{}", dtype.size()))
}

fn dtype_of(text: &str) -> Option<DType> {
    penstock_data::ALL_DTYPES.into_iter().find(|&d| {
        typestr(d).is_some_and(|own| own == text || (d.size() == 1 && own.strip_prefix('|') == text.get(1..)))
    })
}
