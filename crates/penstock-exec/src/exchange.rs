//! Memory of devices that other libraries of the process share with the engine.

#![expect(unsafe_code, reason = "memory of others is described by numbers")]

use std::any::Any;
use std::sync::Arc;

use penstock_data::{DType, Dims, Place, Result, Tensor};
use smallvec::SmallVec;

use crate::device::{Device, devices};

/// Memory of a device that another library holds the elements of an array in.
pub struct Borrowed {
    /// Where the first element is.
    pub address: u64,
    /// Bytes from one element to the next in each dimension; `None` for elements in row-major order without gaps.
    pub strides: Option<SmallVec<[i64; 6]>>,
    /// Keeps the memory. It is dropped, on any thread, when the device is through with what was queued.
    pub owner: Box<dyn Any + Send + Sync>,
    /// Whether the elements are copied in any case: somebody may write them.
    pub copy: bool,
}

/// A device that shares memory with other libraries of the process.
///
/// Streams are handles of the driver. Those that stand for the default streams are the driver's too: 1 and 2 on CUDA.
pub trait Exchange {
    /// The device as the others know it.
    fn place(&self) -> Place;

    /// The stream that is to wait for a library's work before the library hands memory over.
    ///
    /// # Errors
    /// Those of opening the device.
    fn stream(&self) -> Result<u64>;

    /// Has everything that is queued from now on wait for what another library has queued on its stream so far.
    ///
    /// # Errors
    /// `InvalidArgument` for a handle that the driver refuses; those of the device.
    fn wait_for(&self, stream: u64) -> Result<()>;

    /// Whether an address is of memory of this device.
    ///
    /// # Errors
    /// Those of opening the device.
    fn holds(&self, address: u64) -> Result<bool>;

    /// A tensor of another library's elements: over its memory, where they are in row-major order and aligned as the device's
    /// own memory is; else of a copy on the device.
    ///
    /// # Errors
    /// `InvalidArgument` for memory that is not this device's; `ResourceExhausted`; those of the device.
    ///
    /// # Safety
    /// The memory holds an element at every place that the extents and strides lead to, computed by work that [`Exchange::stream`]
    /// waits for, as long as the owner lives; nobody writes it, unless it is copied, and then until the copy is done.
    unsafe fn borrow(&self, dtype: DType, dims: &Dims, memory: Borrowed) -> Result<Tensor>;
}

/// The device that other libraries know by this number.
pub fn device_at(place: Place) -> Option<Arc<dyn Device>> {
    devices().into_iter().find(|d| d.exchange().is_some_and(|exchange| exchange.place() == place))
}
