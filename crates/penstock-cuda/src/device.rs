//! A CUDA device: its memory, its stream, its kernels and their launches.

#![expect(unsafe_code, reason = "driver calls on memory and kernels of this device")]

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::{CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr, result, sys};
use cudarc::nvrtc::Ptx;
use penstock_data::{DType, Error, Loc, Result, Tensor, num_elements};
use penstock_exec::{Device, DeviceKind, DeviceTensor, Memory};
use penstock_ir::{Graph, Region};
use penstock_kernels::Fault;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::driver::{DeviceInfo, driver, failure, list};
use crate::kernel::{BLOCK, Kernel, Variant};
use crate::layout::Layout;
use crate::nvrtc::Nvrtc;
use crate::program::Program;

/// Checked launches between two looks at the fault word.
const MAX_SITES: usize = 1 << 16;

/// The threads that a multiprocessor holds at a time.
const RESIDENT_THREADS: u32 = 2048;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A CUDA device. It is opened when memory or code is first asked of it.
pub struct CudaDevice {
    info: DeviceInfo,
    opened: OnceLock<Result<Arc<Opened>>>,
}

/// The data of a tensor: memory of the driver's pool, aligned to 256 bytes, freed in the order of the stream.
struct CudaMemory(CudaSlice<u8>);

/// What a checked step is, for the message of its fault.
#[derive(Clone, Copy, PartialEq)]
struct Site {
    op: &'static str,
    loc: Loc,
}

/// The word in which kernels leave the number of the first fault, and what the numbers stand for.
struct Faults {
    word: CudaSlice<u32>,
    pending: Vec<Site>,
}

/// An open device with one stream, on which everything happens in the order of the calls.
struct Opened {
    info: DeviceInfo,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// By text. The architecture is the device's, so that text alone tells kernels apart.
    kernels: Mutex<FxHashMap<String, Arc<Loaded>>>,
    faults: Mutex<Faults>,
}

/// A kernel that is loaded on a device.
struct Loaded {
    kernel: Kernel,
    function: CudaFunction,
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
        let sites = program.steps.iter().filter(|s| s.checked).map(|s| Site { op: s.op, loc: s.loc }).collect();
        Ok(CudaProgram { device: self.opened()?.clone(), sites, program, variants: Mutex::default() })
    }

    /// The milliseconds that the device takes for what `queue` queues.
    ///
    /// # Errors
    /// Those of `queue`, and of the driver.
    pub fn time(&self, queue: impl FnOnce() -> Result<()>) -> Result<f32> {
        let device = self.opened()?;
        let event = || -> Result<CudaEvent> {
            device.stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).map_err(failure)
        };
        let start = event()?;
        queue()?;
        let end = event()?;
        start.elapsed_ms(&end).map_err(failure)
    }

    fn opened(&self) -> Result<&Arc<Opened>> {
        self.opened.get_or_init(|| Opened::new(&self.info).map(Arc::new)).as_ref().map_err(Clone::clone)
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

    fn memory(&self) -> Option<Memory> {
        let (free, total) = self.opened().ok()?.context.mem_get_info().ok()?;
        Some(Memory { total: total as u64, free: free as u64 })
    }

    fn allocate(&self, dtype: DType, dims: &[usize]) -> Result<DeviceTensor> {
        let memory = self.opened()?.allocate(dtype, dims)?;
        Ok(DeviceTensor::new(dtype, dims, Box::new(CudaMemory(memory))))
    }

    fn upload(&self, tensor: &Tensor) -> Result<DeviceTensor> {
        let device = self.opened()?;
        let mut memory = device.allocate(tensor.dtype(), tensor.dims())?;
        if !tensor.is_empty() {
            device.stream.memcpy_htod(tensor.bytes(), &mut memory).map_err(failure)?;
        }
        Ok(DeviceTensor::new(tensor.dtype(), tensor.dims(), Box::new(CudaMemory(memory))))
    }

    fn download(&self, tensor: &DeviceTensor) -> Result<Tensor> {
        let device = self.opened()?;
        device.check_faults(&mut lock(&device.faults))?;
        let mut out = Tensor::empty(tensor.dtype(), tensor.dims())?;
        if !out.is_empty() {
            let from = device.memory_of(tensor)?.slice(..out.byte_len());
            device.stream.memcpy_dtoh(&from, out.bytes_mut()).map_err(failure)?;
            device.stream.synchronize().map_err(failure)?;
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
        let device = self.opened()?;
        device.check_faults(&mut lock(&device.faults))?;
        device.stream.synchronize().map_err(failure)
    }
}

impl Opened {
    fn new(info: &DeviceInfo) -> Result<Opened> {
        let context = CudaContext::new(info.ordinal).map_err(failure)?;
        // SAFETY: events keep the order between streams; everything here happens on one stream.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failure)?;
        keep_pool(&context);
        let word = stream.clone_htod(&[u32::MAX]).map_err(failure)?;
        let faults = Mutex::new(Faults { word, pending: Vec::new() });
        Ok(Opened { info: info.clone(), context, stream, kernels: Mutex::default(), faults })
    }

    fn allocate(&self, dtype: DType, dims: &[usize]) -> Result<CudaSlice<u8>> {
        if dtype.size() == 0 {
            return Err(Error::dtype("strings and lists are kept on the host"));
        }
        let bytes = num_elements(dims).and_then(|n| n.checked_mul(dtype.size())).filter(|&n| n <= self.info.memory);
        let bytes = bytes.ok_or_else(|| {
            Error::exhausted(format!(
                "a {} tensor of shape {dims:?} exceeds the memory of GPU {}",
                dtype.tf_name(),
                self.info.ordinal
            ))
        })?;
        // SAFETY: any bytes are valid elements, and nothing relies on their values before they are written.
        unsafe { self.stream.alloc::<u8>(bytes.max(1)) }.map_err(failure)
    }

    /// The data of a tensor of this device.
    fn memory_of<'t>(&self, tensor: &'t DeviceTensor) -> Result<&'t CudaSlice<u8>> {
        let CudaMemory(memory) = tensor.memory()?;
        if memory.context().cu_ctx() != self.context.cu_ctx() {
            return Err(Error::invalid(format!("the tensor is not on GPU {}", self.info.ordinal)));
        }
        Ok(memory)
    }

    /// Looks at the fault word, where a checked kernel may have written to it.
    fn check_faults(&self, faults: &mut Faults) -> Result<()> {
        if faults.pending.is_empty() {
            return Ok(());
        }
        let mut word = [u32::MAX];
        self.stream.memcpy_dtoh(&faults.word, &mut word).map_err(failure)?;
        self.stream.synchronize().map_err(failure)?;
        let sites = std::mem::take(&mut faults.pending);
        if word[0] == u32::MAX {
            return Ok(());
        }
        self.stream.memcpy_htod(&[u32::MAX], &mut faults.word).map_err(failure)?;
        Err(match sites.get(word[0] as usize) {
            Some(site) => Error::invalid(Fault::of(site.op).to_string()).in_op(site.op).at(site.loc),
            None => Error::internal("a kernel reported a fault that it does not have"),
        })
    }

    /// Compiles and loads a kernel, or finds it among those loaded before.
    fn load(&self, kernel: Kernel) -> Result<Arc<Loaded>> {
        if let Some(found) = lock(&self.kernels).get(&kernel.text) {
            return Ok(found.clone());
        }
        // Outside the lock: compiling takes long. Who comes second drops its own.
        let image = Nvrtc::get()?.compile(&kernel.source(), self.info.arch)?;
        let module = self.context.load_module(Ptx::from_binary(image.bytes().to_vec())).map_err(failure)?;
        let function = module.load_function(&kernel.name).map_err(failure)?;
        let text = kernel.text.clone();
        Ok(lock(&self.kernels).entry(text).or_insert_with(|| Arc::new(Loaded { kernel, function })).clone())
    }
}

/// A [`Program`] on a device: one kernel for each way in which its operands lie.
pub struct CudaProgram {
    device: Arc<Opened>,
    program: Program,
    sites: Vec<Site>,
    variants: Mutex<FxHashMap<Variant, Arc<Loaded>>>,
}

impl CudaProgram {
    fn loaded(&self, layout: &Layout) -> Result<Arc<Loaded>> {
        // Tensors start where their memory starts.
        let variant = Variant::new(&self.program, layout, true);
        if let Some(found) = lock(&self.variants).get(&variant) {
            return Ok(found.clone());
        }
        let loaded = self.device.load(Kernel::new(&self.program, variant.clone(), &self.program.name()))?;
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
    /// Queues a run; the inputs broadcast to the extents of the outputs. A division of an integer by
    /// zero is reported by [`Device::download`] or [`Device::synchronize`].
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
        let address = |t: &DeviceTensor| device.memory_of(t).map(|m| m.device_ptr(&device.stream).0);
        let to = outputs.iter().map(address).collect::<Result<SmallVec<[u64; 4]>>>()?;
        let from = inputs.iter().map(|t| address(t)).collect::<Result<SmallVec<[u64; 4]>>>()?;
        let loaded = self.loaded(&layout)?;

        let mut faults = lock(&device.faults);
        if faults.pending.len() + self.sites.len() > MAX_SITES {
            device.check_faults(&mut faults)?;
        }
        let fault = (faults.word.device_ptr(&device.stream).0, faults.pending.len() as u32);
        let args = loaded.kernel.arguments(&layout, &to, &from, fault);
        let mut pointers: SmallVec<[*mut std::ffi::c_void; 12]> = args.iter().map(|a| a.as_ptr()).collect();
        let blocks = loaded.kernel.grid(layout.len, device.info.multiprocessors * (RESIDENT_THREADS / BLOCK));
        device.context.bind_to_thread().map_err(failure)?;
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
        faults.pending.extend_from_slice(&self.sites);
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Keeps freed memory in the driver's pool instead of giving it back at each synchronisation.
fn keep_pool(context: &CudaContext) {
    let mut pool = std::ptr::null_mut();
    let mut keep = u64::MAX;
    // SAFETY: both write or read through valid pointers; a device without pools reports an error, which
    // leaves the default.
    unsafe {
        if sys::cuDeviceGetDefaultMemPool(&mut pool, context.cu_device()) == sys::CUresult::CUDA_SUCCESS {
            let attribute = sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            sys::cuMemPoolSetAttribute(pool, attribute, std::ptr::from_mut(&mut keep).cast());
        }
    }
}
