//! Memory that other libraries of the process share with the device.
//!
//! Work of others is on other streams, so events keep the order: the reader's stream waits for what computes the elements.

#![expect(unsafe_code, reason = "driver calls on streams and memory of others")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::{DriverError, result, sys};
use penstock_data::{DType, Dims, Error, MAX_RANK, Place, Remote, Result, Tensor};
use penstock_exec::{Borrowed, Exchange};
use penstock_ir::CopyDim;
use smallvec::SmallVec;

use crate::device::CudaDevice;
use crate::driver::failure;
use crate::faults::{self, Origins};
use crate::memory::{Memory, Others};
use crate::opened::Opened;
use crate::remote::CudaMemory;
use crate::whole::copy;

/// CUDA among DLPack's kinds of devices.
const CUDA: i32 = 2;

/// The bytes that the addresses of operands are multiples of, at the least.
const ALIGNMENT: u64 = 16;

/// The device as other libraries know it.
pub(crate) fn place(device: &Opened) -> Place {
    Place { kind: CUDA, index: device.info.ordinal as i32 }
}

/// As [`Remote::lend`].
pub(crate) fn lend(data: &CudaMemory, stream: Option<u64>) -> Result<u64> {
    let device = &data.memory.device;
    faults::check(&data.origins, device)?;
    data.memory.others.lent.store(true, Ordering::Release);
    if let Some(stream) = stream {
        let lent = device.queue.behind(device, |own| Ok(order(device, own, stream as sys::CUstream)))?;
        lent.map_err(|e| stream_failure(device, stream, e))?;
    }
    Ok(data.memory.address)
}

/// As [`Remote::duplicate`].
pub(crate) fn duplicate(data: &CudaMemory, bytes: usize) -> Result<Box<dyn Remote>> {
    let device = &data.memory.device;
    device.ready()?;
    let memory = device.allocate(DType::U8, &[bytes])?;
    if bytes > 0 {
        device.queue.behind(device, |stream| {
            // SAFETY: both have as many bytes, and are freed in the order of the queue.
            unsafe { result::memcpy_dtod_async(memory.address, data.memory.address, bytes, stream) }
        })?;
    }
    Ok(Box::new(CudaMemory { memory, origins: data.origins.clone() }))
}

/// Whether the memory is the device's own.
pub(crate) fn is_own(data: &CudaMemory) -> bool {
    data.memory.others.owner.is_none()
}

/// Has what is queued on the second stream from now on wait for what is queued on the first.
fn order(device: &Opened, first: sys::CUstream, second: sys::CUstream) -> Result<(), DriverError> {
    if first == second {
        return Ok(());
    }
    let event = device.context.new_event(None)?;
    // SAFETY: the event is of this device's context, and outlives what is queued, since the driver keeps it. A handle of a stream is
    // the caller's, or stands for a default stream.
    unsafe {
        result::event::record(event.cu_event(), first)?;
        result::stream::wait_event(second, event.cu_event(), sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
    }
}

fn stream_failure(device: &Opened, stream: u64, error: DriverError) -> Error {
    use sys::CUresult as Code;
    match error.0 {
        Code::CUDA_ERROR_INVALID_HANDLE | Code::CUDA_ERROR_INVALID_CONTEXT | Code::CUDA_ERROR_CONTEXT_IS_DESTROYED => {
            Error::invalid(format!("{stream} is no stream that GPU {} can be ordered with", device.info.ordinal))
        }
        _ => failure(error),
    }
}

impl Exchange for CudaDevice {
    fn place(&self) -> Place {
        Place { kind: CUDA, index: self.info().ordinal as i32 }
    }

    fn stream(&self) -> Result<u64> {
        Ok(self.ready()?.stream.cu_stream() as u64)
    }

    fn wait_for(&self, stream: u64) -> Result<()> {
        let device = self.ready()?;
        // What is held back, and comes after it then, can wait as well.
        let waited = device.queue.ahead(device, |own| Ok(order(device, stream as sys::CUstream, own)))?;
        waited.map_err(|e| stream_failure(device, stream, e))
    }

    fn holds(&self, address: u64) -> Result<bool> {
        Ok(holds(self.ready()?, address))
    }

    unsafe fn borrow(&self, dtype: DType, dims: &Dims, memory: Borrowed) -> Result<Tensor> {
        let device = self.ready()?;
        if dims.len() > MAX_RANK || dims.contains(&0) || dtype.size() == 0 {
            return Tensor::empty(dtype, dims);
        }
        if !holds(device, memory.address) {
            let (address, ordinal) = (memory.address, device.info.ordinal);
            return Err(Error::invalid(format!("there is no memory of GPU {ordinal} at {address:#x}")));
        }
        let strides = memory.strides.filter(|strides| !is_row_major(dtype, dims, strides));
        let others = Others { lent: AtomicBool::new(false), owner: Some(memory.owner) };
        if strides.is_none() && !memory.copy && memory.address.is_multiple_of(ALIGNMENT) {
            let bytes = dims.iter().product::<usize>() * dtype.size();
            let memory = Memory { device: device.clone(), address: memory.address, bytes, others };
            return Tensor::on_device(dtype, dims, Box::new(CudaMemory { memory, origins: Origins::new() }));
        }
        // Given back behind the copy.
        let source = Memory { device: device.clone(), address: memory.address, bytes: dtype.size(), others };
        let strides = strides.unwrap_or_else(|| row_major(dtype, dims));
        // SAFETY: the caller's promise: there is an element at every place that the strides lead to.
        let memory = unsafe { gathered(device, dtype, dims, &source, &strides) }?;
        Tensor::on_device(dtype, dims, Box::new(CudaMemory { memory, origins: Origins::new() }))
    }
}

/// Whether an address is of memory of this device.
fn holds(device: &Opened, address: u64) -> bool {
    use sys::CUpointer_attribute as Attribute;
    let ask = |attribute| {
        let mut value = 0i32;
        // SAFETY: both attributes are numbers of 32 bits; any address may be asked about.
        let code = unsafe { sys::cuPointerGetAttribute((&raw mut value).cast(), attribute, address) };
        (code == sys::CUresult::CUDA_SUCCESS).then_some(value)
    };
    ask(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE) == Some(sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as i32)
        && ask(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) == Some(device.info.ordinal as i32)
}

/// Bytes from one element to the next in each dimension of row-major elements.
fn row_major(dtype: DType, dims: &[usize]) -> SmallVec<[i64; 6]> {
    let mut step = dtype.size() as i64;
    let mut strides: SmallVec<[i64; 6]> = SmallVec::new();
    for &dim in dims.iter().rev() {
        strides.push(step);
        step = step.wrapping_mul(dim as i64);
    }
    strides.reverse();
    strides
}

fn is_row_major(dtype: DType, dims: &[usize], strides: &[i64]) -> bool {
    let due = row_major(dtype, dims);
    dims.iter().zip(strides).zip(&due).all(|((&dim, &stride), &due)| dim <= 1 || stride == due)
}

/// Memory to which a copy of strided elements is queued, in row-major order.
///
/// # Safety
/// There is an element of the device at every place that the strides lead to from the source's address; no extent is 0.
unsafe fn gathered(
    device: &Arc<Opened>,
    dtype: DType,
    dims: &[usize],
    source: &Memory,
    strides: &[i64],
) -> Result<Memory> {
    let to = device.allocate(dtype, dims)?;
    let size = dtype.size();
    let far = |&(&dim, &stride): &(&usize, &i64)| dim > 1 && stride.unsigned_abs() % size as u64 != 0;
    let odd = !source.address.is_multiple_of(size as u64) || dims.iter().zip(strides).any(|pair| far(&pair));
    // What does not lie at multiples of its size is copied byte by byte.
    let unit = if odd { 1 } else { size };
    let inner = row_major(dtype, dims);
    let mut copied: SmallVec<[CopyDim; 6]> = (dims.iter().zip(strides).zip(&inner))
        .map(|((&extent, &from), &to)| CopyDim {
            extent,
            from: if extent > 1 { from as isize / unit as isize } else { 0 },
            to: to as isize / unit as isize,
        })
        .collect();
    if odd {
        copied.push(CopyDim { extent: size, from: 1, to: 1 });
    }
    let reach = |d: &CopyDim| (d.extent as isize - 1) * d.from;
    let below: isize = copied.iter().map(|d| reach(d).min(0)).sum();
    let above: isize = copied.iter().map(|d| reach(d).max(0)).sum();
    // The copy starts at an aligned address, so that it can tell what is.
    let lowest = source.address.wrapping_add_signed(below as i64 * unit as i64);
    let start = lowest / ALIGNMENT * ALIGNMENT;
    let first = (source.address - start) as usize / unit;
    let (to_len, from_len) = (to.bytes / unit, first + above as usize + 1);
    // SAFETY: by contract; of the memory in front of the lowest element nothing is read.
    unsafe { copy(device, unit, to.address, to_len, start, from_len, &copied, (first, 0)) }?;
    Ok(to)
}
