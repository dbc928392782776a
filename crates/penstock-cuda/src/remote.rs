//! The data of tensors on a device, and copies from another device.

#![expect(unsafe_code, reason = "driver calls on memory of this device and others")]

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::{result, sys};
use penstock_data::{Result, Tensor};

use crate::faults::Origins;
use crate::memory::{First, Memory};
use crate::opened::Opened;

/// The data of a tensor, and the launches that it comes from.
pub(crate) struct CudaMemory {
    pub(crate) memory: Memory,
    pub(crate) origins: Origins,
}

/// The data of a tensor of the device; `None` where it lies elsewhere.
pub(crate) fn data<'t>(device: &Arc<Opened>, tensor: &'t Tensor) -> Option<&'t CudaMemory> {
    let memory: &dyn Any = tensor.remote()?;
    memory.downcast_ref::<CudaMemory>().filter(|data| Arc::ptr_eq(&data.memory.device, device))
}

/// Memory to which a copy of a tensor that lies elsewhere is queued, and what it comes from, where that is another device.
pub(crate) fn bring<'t>(device: &Arc<Opened>, tensor: &'t Tensor) -> Result<(Memory, Option<&'t Origins>)> {
    Ok(match (from_peer(device, tensor)?, peer(device, tensor)) {
        (Some(copied), Some(data)) => (copied.memory, Some(&data.origins)),
        _ => (device.copy_in(&tensor.on_host()?)?, None),
    })
}

/// The data of a tensor of another device of this kind.
fn peer<'t>(device: &Arc<Opened>, tensor: &'t Tensor) -> Option<&'t CudaMemory> {
    let memory: &dyn Any = tensor.remote()?;
    memory.downcast_ref::<CudaMemory>().filter(|data| !Arc::ptr_eq(&data.memory.device, device))
}

/// A copy of a tensor of another device of this kind, which does not go by the host; `None` for other tensors. It waits on the device
/// for what makes the tensor, which is kept until it is there.
pub(crate) fn from_peer(device: &Arc<Opened>, tensor: &Tensor) -> Result<Option<CudaMemory>> {
    let Some(data) = peer(device, tensor) else { return Ok(None) };
    let source = &data.memory.device;
    source.ready()?;
    let made = source.queue.behind(source, |_| source.stream.record_event(None))?;
    device.ready()?;
    let memory = device.allocate_for(First::Copy, tensor.dtype(), tensor.dims())?;
    let bytes = tensor.byte_len();
    if bytes > 0 {
        let (to, from) = (device.context.cu_ctx(), source.context.cu_ctx());
        let copied = device.queue.ahead(device, |stream| {
            // SAFETY: each memory is of its context and has as many bytes; no command that is held back uses the target, and the source is
            // kept below. The driver keeps what the stream waits for.
            unsafe {
                let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
                result::stream::wait_event(stream, made.cu_event(), flags)?;
                sys::cuMemcpyPeerAsync(memory.address, to, data.memory.address, from, bytes, stream).result()?;
            }
            device.stream.record_event(None)
        })?;
        device.keep(copied, tensor);
    }
    // The event makes its own context the thread's when it goes.
    drop(made);
    device.ready()?;
    Ok(Some(CudaMemory { memory, origins: data.origins.clone() }))
}
