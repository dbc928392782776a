//! Devices: where buffers live and fused regions run.
//!
//! The executor drives a graph from the host. What it asks of a device is memory, copies, and
//! programs made of `fused` instructions; whatever a device cannot run stays on the CPU.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use penstock_data::{DType, Result, Tensor};
use penstock_ir::{DeviceKernels, Graph, Product, Region};
use penstock_passes::evaluate::Outputs;
use smallvec::SmallVec;

use crate::exchange::Exchange;

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
/// Work is queued in the order of the calls; [`Tensor::on_host`] and [`Device::synchronize`] wait for it.
pub trait Device: Send + Sync {
    /// The kind.
    fn kind(&self) -> DeviceKind;

    /// The number among the devices of its kind.
    fn index(&self) -> usize;

    /// What the hardware calls itself.
    fn description(&self) -> String;

    /// The memory; `None` where it is not known.
    fn memory(&self) -> Option<Memory>;

    /// The tensor in the memory of the device: itself, where it is there. What is small enough to lie inline stays on the
    /// host, as do strings, lists and tables.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had; what the work that computes the tensor has rejected.
    fn upload(&self, tensor: &Tensor) -> Result<Tensor>;

    /// Makes a program of a region of elementwise instructions, whose parameters broadcast to the shape of its results, and of sums over rows
    /// of what they make, as [`penstock_passes::summed_columns`] has them.
    ///
    /// # Errors
    /// `Unimplemented` where the device has no code for an instruction.
    fn compile(&self, graph: &Graph, region: Region) -> Result<Arc<dyn Program>>;

    /// Queues runs of programs that this device compiled, none of which depends on another: as one launch, where it can.
    ///
    /// # Errors
    /// As [`Program::launch`].
    fn launch_all(&self, runs: &[Run<'_>]) -> Result<Vec<Outputs>> {
        runs.iter().map(|run| run.program.launch(run.inputs, &run.dims)).collect()
    }

    /// What does the work on whole tensors for operators that say [`Cuda::Kernels`](penstock_ir::Cuda::Kernels); `None` where the host does
    /// it all.
    fn kernels(&self) -> Option<&dyn DeviceKernels>;

    /// Whether there is something that adds a vector to each row of a product of a dtype at once.
    fn has_biased_products(&self, dtype: DType) -> bool {
        let _ = dtype;
        false
    }

    /// A product of extents `dims` whose sizes were checked, with a vector added to each row, and with `relu` 0 in place of what is negative then;
    /// `None` where that is several pieces of work.
    ///
    /// # Errors
    /// As [`Device::upload`].
    fn biased_product(
        &self,
        product: &Product<'_>,
        bias: &Tensor,
        relu: bool,
        dims: &[usize],
    ) -> Result<Option<Tensor>> {
        let _ = (product, bias, relu, dims);
        Ok(None)
    }

    /// A recorder for the runs of a plan; `None` where the device has no use for one.
    fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        None
    }

    /// What runs one loop of a plan, in which nothing needs the host; `None` where the host walks all loops.
    fn looper(&self) -> Option<Arc<dyn Looper>> {
        None
    }

    /// What shares its memory with other libraries of the process; `None` where they know no such device.
    fn exchange(&self) -> Option<&dyn Exchange> {
        None
    }

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

/// Who is told of the runs of a plan, so that work which repeats can be handed to the device as a whole.
pub trait Recorder: Send + Sync {
    /// A run begins on this thread; `false` where another one is told of, and the end of this is not.
    fn begin(&self) -> bool;

    /// The run has come to a point of the plan, such as the end of an iteration, or a call of host code.
    ///
    /// # Errors
    /// Those of the work until here.
    fn point(&self, point: u32) -> Result<()>;

    /// The run that began has ended.
    ///
    /// # Errors
    /// Those of its work.
    fn end(&self) -> Result<()>;
}

/// Who runs all iterations of a loop, without the host between them.
pub trait Looper: Send + Sync {
    /// Runs a loop from the values `first` of its variables on, and gives those after its end. `None` where that cannot be, and nothing has
    /// happened: the host then walks the loop. `poll` is called now and then while the device runs; where it fails, the loop ends, with its
    /// error.
    ///
    /// # Errors
    /// Those of the device, and of `poll`. What an iteration has rejected is an error of the tensors that come from it.
    fn run(
        &self,
        first: &[Tensor],
        round: &mut dyn Round,
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Vec<Tensor>>>;
}

/// One iteration of a loop, to be noted.
pub trait Round {
    /// Queues what computes the condition of these values of the loop's variables, and gives it.
    ///
    /// # Errors
    /// Those of the steps.
    fn condition(&mut self, values: &[Tensor]) -> Result<Tensor>;

    /// Queues the loop's body, on the values that [`Round::condition`] got last, and gives the next ones.
    ///
    /// # Errors
    /// Those of the steps.
    fn body(&mut self) -> Result<Vec<Tensor>>;
}

/// A run of a program, as [`Program::launch`] has it.
pub struct Run<'a> {
    /// The program.
    pub program: &'a dyn Program,
    /// Its operands.
    pub inputs: &'a [&'a Tensor],
    /// The extents of its results.
    pub dims: SmallVec<[usize; 6]>,
}

/// A compiled region.
pub trait Program: Send + Sync {
    /// Queues a run, and gives the results, which have the extents `dims`, but for sums over rows. Inputs that lie elsewhere are copied to the device.
    ///
    /// # Errors
    /// `InvalidArgument` where the inputs are not those that the program was compiled for, or do not broadcast to `dims`;
    /// as [`Device::upload`].
    fn launch(&self, inputs: &[&Tensor], dims: &[usize]) -> Result<Outputs>;

    /// For the crate that made it: access to what it is.
    fn as_any(&self) -> &dyn Any;
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
