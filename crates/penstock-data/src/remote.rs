//! Elements that lie in the memory of a device.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::buffer::{Buffer, SharedBuffer};
use crate::error::{Error, Result};

/// Whether devices other than the host are in use in this process.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Says that devices other than the host may be used from now on.
pub fn use_devices() {
    IN_USE.store(true, Ordering::Relaxed);
}

/// Whether [`use_devices`] was called, as it is for the first tensor on a device: a quick question before others.
#[inline]
pub fn devices_in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}

/// A device as DLPack numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The kind of device: 2 for CUDA.
    pub kind: i32,
    /// The number among the devices of its kind.
    pub index: i32,
}

/// Memory of a device that holds the elements of a tensor. Like those of all tensors, they do not change.
pub trait Remote: Any + Send + Sync {
    /// Copies the elements to the host, and waits for the work that computes them. `to` has as many bytes as they have.
    ///
    /// # Errors
    /// What that work has rejected; those of the device.
    fn fetch(&self, to: &mut [u8]) -> Result<()>;

    /// Waits for the work that computes the elements, where it can reject something, and for nothing else.
    ///
    /// # Errors
    /// What that work has rejected; those of the device.
    fn settle(&self) -> Result<()> {
        Ok(())
    }

    /// The device's TensorFlow name, such as `/device:GPU:0`.
    fn device(&self) -> &str;

    /// The device as other libraries of the process know it; `None` where they cannot read its memory.
    fn place(&self) -> Option<Place> {
        None
    }

    /// Lends the elements to another library of the process, which reads them as long as the tensor is kept: their address.
    /// The library's stream, a handle of the driver, waits for the work that computes them; without a stream nothing waits.
    /// Work that can reject something is waited for here.
    ///
    /// # Errors
    /// `Unimplemented` where there is no [`Remote::place`]; what that work has rejected; `InvalidArgument` for a handle that the
    /// driver refuses; those of the device.
    fn lend(&self, _stream: Option<u64>) -> Result<u64> {
        Err(Error::unimplemented(format!("other libraries cannot read the memory of {}", self.device())))
    }

    /// The first `bytes` bytes in memory of their own on the same device.
    ///
    /// # Errors
    /// `Unimplemented` where there is no [`Remote::place`]; `ResourceExhausted`; those of the device.
    fn duplicate(&self, _bytes: usize) -> Result<Box<dyn Remote>> {
        Err(Error::unimplemented(format!("the memory of {} is not copied there", self.device())))
    }

    /// Whether the elements stay as they are: the memory is not another library's, which may write it.
    fn is_own(&self) -> bool {
        true
    }
}

/// Elements on the host: `buffer[offset..]`.
#[derive(Clone)]
pub(crate) struct HostCopy {
    pub(crate) buffer: SharedBuffer,
    pub(crate) offset: usize,
}

/// Memory of a device, and the same elements on the host: those that were copied to the device, or else a copy that is made
/// once, where it is first asked for.
pub(crate) struct RemoteBuffer {
    memory: Box<dyn Remote>,
    bytes: usize,
    host: OnceLock<Result<HostCopy>>,
}

impl RemoteBuffer {
    pub(crate) fn new(memory: Box<dyn Remote>, bytes: usize) -> Arc<RemoteBuffer> {
        use_devices();
        Arc::new(RemoteBuffer { memory, bytes, host: OnceLock::new() })
    }

    /// Memory whose elements are those of `host`.
    pub(crate) fn mirror(memory: Box<dyn Remote>, bytes: usize, host: HostCopy) -> Arc<RemoteBuffer> {
        use_devices();
        Arc::new(RemoteBuffer { memory, bytes, host: OnceLock::from(Ok(host)) })
    }

    pub(crate) fn memory(&self) -> &dyn Remote {
        &*self.memory
    }

    /// Whether the elements are on the host, too.
    pub(crate) fn has_host(&self) -> bool {
        matches!(self.host.get(), Some(Ok(_)))
    }

    /// The elements on the host.
    ///
    /// # Errors
    /// `ResourceExhausted` where there is no memory for them; as [`Remote::fetch`].
    pub(crate) fn host(&self) -> Result<&HostCopy> {
        self.host.get_or_init(|| self.copied()).as_ref().map_err(Clone::clone)
    }

    /// The elements on the host.
    ///
    /// # Panics
    /// Where they cannot be had, with the error, as [`crate::Error::unwind`] does.
    pub(crate) fn host_or_unwind(&self) -> &HostCopy {
        self.host().unwrap_or_else(|error| error.unwind())
    }

    fn copied(&self) -> Result<HostCopy> {
        let mut buffer = Buffer::new(self.bytes)?;
        self.memory.fetch(&mut buffer.bytes_mut()[..self.bytes])?;
        Ok(HostCopy { buffer: SharedBuffer::new(buffer), offset: 0 })
    }
}
