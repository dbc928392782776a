//! Devices: where buffers live and fused regions run.
//!
//! The executor drives a graph from the host. What it asks of a device is memory, copies, and
//! programs made of `fused` instructions; whatever a device cannot run stays on the CPU.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use penstock_data::{DType, Dims, Error, Result, Tensor};
use penstock_ir::{Graph, Region};

/// The kind of a device, as in its TensorFlow name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeviceKind {
    /// The host's processors.
    Cpu,
    /// A graphics processor.
    Gpu,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceKind::Cpu => "CPU",
            DeviceKind::Gpu => "GPU",
        })
    }
}

/// Memory of a device, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// What is free now.
    pub free: u64,
}

/// A place that holds tensors and runs fused regions.
///
/// Work is queued in the order of the calls; [`Device::download`] and [`Device::synchronize`] wait for it.
pub trait Device: Send + Sync {
    /// The kind.
    fn kind(&self) -> DeviceKind;

    /// The number among the devices of its kind.
    fn index(&self) -> usize;

    /// What the hardware calls itself.
    fn description(&self) -> String;

    /// The memory; `None` where it is not known.
    fn memory(&self) -> Option<Memory>;

    /// A tensor of unspecified contents.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    fn allocate(&self, dtype: DType, dims: &[usize]) -> Result<DeviceTensor>;

    /// Copies a tensor to the device.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had; `DType` for what the device cannot hold.
    fn upload(&self, tensor: &Tensor) -> Result<DeviceTensor>;

    /// Copies a tensor to the host.
    ///
    /// # Errors
    /// `ResourceExhausted`; what the work that computed it has rejected.
    fn download(&self, tensor: &DeviceTensor) -> Result<Tensor>;

    /// Makes a program of the region of a `fused` instruction: elementwise instructions over parameters that have
    /// the shape of the results, or a single element.
    ///
    /// # Errors
    /// `Unimplemented` where the device has no code for an instruction.
    fn compile(&self, graph: &Graph, region: Region) -> Result<Arc<dyn Program>>;

    /// Waits until all queued work is done.
    ///
    /// # Errors
    /// That of a device that is out of order. What work has rejected is an error of the tensors that come from it.
    fn synchronize(&self) -> Result<()>;
}

impl dyn Device + '_ {
    /// The TensorFlow name: `/device:GPU:0`.
    pub fn name(&self) -> String {
        format!("/device:{}:{}", self.kind(), self.index())
    }
}

/// A compiled fused region.
pub trait Program: Send + Sync {
    /// Queues a run. The outputs have the extents of the results and overlap no input.
    ///
    /// # Errors
    /// `InvalidArgument` where inputs or outputs are not those that the program was compiled for, or are another device's.
    fn launch(&self, inputs: &[&DeviceTensor], outputs: &mut [DeviceTensor]) -> Result<()>;

    /// For the crate that made it: access to what it is.
    fn as_any(&self) -> &dyn Any;
}

/// A tensor in a device's memory.
pub struct DeviceTensor {
    dtype: DType,
    dims: Dims,
    memory: Box<dyn Any + Send + Sync>,
}

impl DeviceTensor {
    /// A tensor whose data the device keeps in `memory`.
    pub fn new(dtype: DType, dims: &[usize], memory: Box<dyn Any + Send + Sync>) -> DeviceTensor {
        DeviceTensor { dtype, dims: dims.into(), memory }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// The data, where it is of the kind that the caller's device makes.
    ///
    /// # Errors
    /// `InvalidArgument` where it is another device's.
    pub fn memory<T: Any>(&self) -> Result<&T> {
        self.memory.downcast_ref().ok_or_else(|| Error::invalid("the tensor is on another device"))
    }

    /// The data for writing.
    ///
    /// # Errors
    /// As [`DeviceTensor::memory`].
    pub fn memory_mut<T: Any>(&mut self) -> Result<&mut T> {
        self.memory.downcast_mut().ok_or_else(|| Error::invalid("the tensor is on another device"))
    }
}

impl fmt::Debug for DeviceTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?} on a device", self.dtype, self.dims.as_slice())
    }
}

fn registered() -> &'static RwLock<Vec<Arc<dyn Device>>> {
    static DEVICES: OnceLock<RwLock<Vec<Arc<dyn Device>>>> = OnceLock::new();
    DEVICES.get_or_init(|| RwLock::new(vec![cpu()]))
}

/// The CPU.
pub fn cpu() -> Arc<dyn Device> {
    static CPU: OnceLock<Arc<dyn Device>> = OnceLock::new();
    CPU.get_or_init(|| Arc::new(crate::cpu::CpuDevice)).clone()
}

/// Every device: the CPU, then those that were registered.
pub fn devices() -> Vec<Arc<dyn Device>> {
    registered().read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Adds a device, unless there is one of its kind and index.
pub fn register(device: Arc<dyn Device>) {
    let mut list = registered().write().unwrap_or_else(PoisonError::into_inner);
    if !list.iter().any(|d| d.kind() == device.kind() && d.index() == device.index()) {
        list.push(device);
    }
}
