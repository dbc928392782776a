//! A CUDA device, and the launches of its programs.

#![expect(unsafe_code, reason = "driver calls on memory and kernels of this device")]

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use cudarc::driver::{CudaEvent, result, sys};
use penstock_data::{DType, Error, Result, Tensor};
use penstock_exec::{Device, DeviceKind, DeviceTensor};
use penstock_ir::{Graph, Region};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::driver::{DeviceInfo, driver, failure, list};
use crate::faults::{self, Faults, Origins, Site};
use crate::kernel::{BLOCK, Variant};
use crate::layout::Layout;
use crate::opened::{Loaded, Memory, Opened, kernel_of, lock};
use crate::program::Program;

/// The threads that a multiprocessor holds at a time.
const RESIDENT_THREADS: u32 = 2048;

/// A CUDA device. It is opened when memory or code is first asked of it.
pub struct CudaDevice {
    info: DeviceInfo,
    opened: OnceLock<Result<Arc<Opened>>>,
}

/// The data of a tensor, and the launches that it comes from.
struct CudaMemory {
    memory: Memory,
    origins: Origins,
}

/// The CUDA devices of this machine; none where there is no usable driver.
pub fn devices() -> Vec<CudaDevice> {
    list().into_iter().map(|info| CudaDevice { info, opened: OnceLock::new() }).collect()
}

/// Registers the CUDA devices of this machine with the executor.
pub fn register_devices() {
    for device in devices() {
        penstock_exec::register(Arc::new(device));
    }
}

impl CudaDevice {
    /// Device `ordinal`.
    ///
    /// # Errors
    /// `FailedPrecondition` where there is no usable driver, `NotFound` where there is no such device.
    pub fn new(ordinal: usize) -> Result<CudaDevice> {
        driver()?;
        let mut found = devices();
        let count = found.len();
        if ordinal >= count {
            return Err(Error::not_found(format!("there is no GPU {ordinal}; this machine has {count}")));
        }
        Ok(found.swap_remove(ordinal))
    }

    /// What is known of it without opening it.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Makes a program run on this device.
    ///
    /// # Errors
    /// Those of opening the device.
    pub fn prepare(&self, program: Program) -> Result<CudaProgram> {
        let sites: Vec<Site> =
            program.steps.iter().filter(|s| s.checked).map(|s| Site { op: s.op, loc: s.loc }).collect();
        Ok(CudaProgram { device: self.ready()?.clone(), sites: sites.into(), program, variants: Mutex::default() })
    }

    /// Compiles the kernels of several programs, each for a layout of its operands, in one go.
    ///
    /// # Errors
    /// Those of opening the device, and of the compiler.
    pub fn compile_all<'p>(&self, programs: impl IntoIterator<Item = (&'p Program, Layout)>) -> Result<()> {
        self.ready()?.load_all(programs.into_iter().map(|(program, layout)| kernel_of(program, &layout)))
    }

    /// The milliseconds that the device takes for what `queue` queues.
    ///
    /// # Errors
    /// Those of `queue`, and of the driver.
    pub fn time(&self, queue: impl FnOnce() -> Result<()>) -> Result<f32> {
        let device = self.ready()?;
        let event = || -> Result<CudaEvent> {
            device.stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).map_err(failure)
        };
        let start = event()?;
        queue()?;
        let end = event()?;
        start.elapsed_ms(&end).map_err(failure)
    }

    fn opened(&self) -> Result<&Arc<Opened>> {
        self.opened.get_or_init(|| Opened::get(&self.info)).as_ref().map_err(Clone::clone)
    }

    /// The device, opened and the calling thread's.
    fn ready(&self) -> Result<&Arc<Opened>> {
        let device = self.opened()?;
        device.ready()?;
        Ok(device)
    }

    fn tensor(dtype: DType, dims: &[usize], memory: Memory) -> DeviceTensor {
        DeviceTensor::new(dtype, dims, Box::new(CudaMemory { memory, origins: Origins::new() }))
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU {} ({})", self.info.ordinal, self.info.name)
    }
}

impl Device for CudaDevice {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Gpu
    }

    fn index(&self) -> usize {
        self.info.ordinal
    }

    fn description(&self) -> String {
        let arch = self.info.arch;
        format!("{}, compute capability {}.{}", self.info.name, arch.major, arch.minor)
    }

    fn memory(&self) -> Option<penstock_exec::Memory> {
        let (free, total) = self.ready().ok()?.context.mem_get_info().ok()?;
        Some(penstock_exec::Memory { total: total as u64, free: free as u64 })
    }

    fn allocate(&self, dtype: DType, dims: &[usize]) -> Result<DeviceTensor> {
        Ok(CudaDevice::tensor(dtype, dims, self.ready()?.allocate(dtype, dims)?))
    }

    fn upload(&self, tensor: &Tensor) -> Result<DeviceTensor> {
        let device = self.ready()?;
        let memory = device.allocate(tensor.dtype(), tensor.dims())?;
        if !tensor.is_empty() {
            device.copy_in(tensor, &memory)?;
        }
        Ok(CudaDevice::tensor(tensor.dtype(), tensor.dims(), memory))
    }

    fn download(&self, tensor: &DeviceTensor) -> Result<Tensor> {
        let device = self.ready()?;
        let CudaMemory { memory, origins } = data(device, tensor)?;
        faults::check(origins, device)?;
        let mut out = Tensor::empty(tensor.dtype(), tensor.dims())?;
        if !out.is_empty() {
            let stream = &device.stream;
            // SAFETY: the memory has the bytes of the tensor; the target is read when the stream is through.
            unsafe { result::memcpy_dtoh_async(out.bytes_mut(), memory.address, stream.cu_stream()) }
                .map_err(failure)?;
            stream.synchronize().map_err(failure)?;
        }
        Ok(out)
    }

    fn compile(&self, graph: &Graph, region: Region) -> Result<Arc<dyn penstock_exec::Program>> {
        let (program, inputs) = Program::of_region(graph, region)?;
        if inputs.len() != graph.regions[region].params.len() {
            return Err(Error::unimplemented("a region that uses values from outside it"));
        }
        Ok(Arc::new(self.prepare(program)?))
    }

    fn synchronize(&self) -> Result<()> {
        self.ready()?.stream.synchronize().map_err(failure)
    }
}

/// The data of a tensor of this device.
fn data<'t>(device: &Arc<Opened>, tensor: &'t DeviceTensor) -> Result<&'t CudaMemory> {
    let data: &CudaMemory = tensor.memory()?;
    if !Arc::ptr_eq(&data.memory.device, device) {
        return Err(Error::invalid(format!("the tensor is not on GPU {}", device.info.ordinal)));
    }
    Ok(data)
}

/// A [`Program`] on a device: one kernel for each way in which its operands lie.
pub struct CudaProgram {
    device: Arc<Opened>,
    program: Program,
    sites: Arc<[Site]>,
    variants: Mutex<FxHashMap<Variant, Arc<Loaded>>>,
}

impl CudaProgram {
    fn loaded(&self, layout: &Layout) -> Result<Arc<Loaded>> {
        let variant = Variant::new(&self.program, layout, true);
        if let Some(found) = lock(&self.variants).get(&variant) {
            return Ok(found.clone());
        }
        let loaded = self.device.load(kernel_of(&self.program, layout))?;
        lock(&self.variants).insert(variant, loaded.clone());
        Ok(loaded)
    }

    fn check_dtypes(&self, inputs: &[&DeviceTensor], outputs: &[DeviceTensor]) -> Result<()> {
        let fits = inputs.iter().map(|t| t.dtype()).eq(self.program.inputs.iter().copied())
            && outputs.iter().map(DeviceTensor::dtype).eq(self.program.outputs.iter().map(|o| o.dtype));
        if fits {
            return Ok(());
        }
        let due: Vec<DType> = self.program.outputs.iter().map(|o| o.dtype).collect();
        Err(Error::invalid(format!(
            "the program computes {due:?} from {:?}, got {outputs:?} and {inputs:?}",
            self.program.inputs
        )))
    }
}

impl penstock_exec::Program for CudaProgram {
    /// Queues a run; the inputs broadcast to the extents of the outputs. What it rejects, a division of an integer by zero
    /// for example, is reported by [`Device::download`] of an output, or of what was computed of one.
    fn launch(&self, inputs: &[&DeviceTensor], outputs: &mut [DeviceTensor]) -> Result<()> {
        let device = &self.device;
        self.check_dtypes(inputs, outputs)?;
        let Some(first) = outputs.first() else { return Err(Error::invalid("no output to write")) };
        if outputs.iter().any(|t| t.dims() != first.dims()) {
            return Err(Error::invalid("the outputs of a fused region have one shape"));
        }
        let extents: SmallVec<[&[usize]; 4]> = inputs.iter().map(|t| t.dims()).collect();
        let layout = Layout::new(first.dims(), &extents)?;
        if layout.len == 0 {
            return Ok(());
        }
        device.ready()?;
        let address = |t: &DeviceTensor| data(device, t).map(|d| d.memory.address);
        let to = outputs.iter().map(address).collect::<Result<SmallVec<[u64; 4]>>>()?;
        let from = inputs.iter().map(|t| address(t)).collect::<Result<SmallVec<[u64; 4]>>>()?;
        let loaded = self.loaded(&layout)?;
        let own = if self.sites.is_empty() { None } else { Some(Faults::new(device, &self.sites)?) };
        let word = own.as_ref().map_or(0, |faults| faults.address());
        let args = loaded.kernel.arguments(&layout, &to, &from, (word, 0));
        let mut pointers: SmallVec<[*mut std::ffi::c_void; 12]> = args.iter().map(|a| a.as_ptr()).collect();
        let blocks = loaded.kernel.grid(layout.len, device.info.multiprocessors * (RESIDENT_THREADS / BLOCK));
        // SAFETY: the arguments are those of the kernel's signature, which was generated for the
        // variant of this layout, and live until the call has copied them. The layout was made of the
        // tensors' own extents, whose elements their memory, on this device, holds. That memory is
        // freed in the order of the stream, and so after this launch.
        unsafe {
            result::launch_kernel(
                loaded.function.cu_function(),
                (blocks, 1, 1),
                (BLOCK, 1, 1),
                0,
                device.stream.cu_stream(),
                &mut pointers,
            )
        }
        .map_err(failure)?;
        let sources =
            inputs.iter().map(|t| data(device, t).map(|d| &d.origins)).collect::<Result<SmallVec<[_; 4]>>>()?;
        let origins = faults::joined(sources.into_iter(), own.as_ref());
        for output in outputs {
            output.memory_mut::<CudaMemory>()?.origins = origins.clone();
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
