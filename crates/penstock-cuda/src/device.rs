//! A CUDA device, and the launches of its programs.

#![expect(unsafe_code, reason = "driver calls on memory and kernels of this device")]

use std::any::Any;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaEvent, result, sys};
use penstock_data::{DType, Error, Place, Remote, Result, Tensor};
use penstock_exec::{Device, DeviceKind, Exchange, Looper, Outputs, Recorder, Run};
use penstock_ir::{DeviceKernels, Graph, Product, Region};
use smallvec::SmallVec;

use crate::combined::{Member, Together};
use crate::driver::{DeviceInfo, driver, failure, list};
use crate::exchange;
use crate::faults::{self, Faults, Origins, Site};
use crate::kernel::{TILES, Variant};
use crate::laid::{Laid, Ways};
use crate::layout::Layout;
use crate::loops::CudaLooper;
use crate::memory::Memory;
use crate::opened::{Opened, kernel_of};
use crate::parts::PartId;
use crate::program::{Output, Program};
use crate::queue::{Command, Launch, Recording};
use crate::remote;
pub(crate) use crate::remote::{CudaMemory, data};
use crate::whole::{self, Dnn};

/// A CUDA device. It is opened when memory or code is first asked of it.
pub struct CudaDevice {
    info: DeviceInfo,
    opened: OnceLock<Result<Arc<Opened>>>,
}

impl Remote for CudaMemory {
    fn fetch(&self, to: &mut [u8]) -> Result<()> {
        let device = &self.memory.device;
        faults::check(&self.origins, device)?;
        if to.is_empty() {
            return Ok(());
        }
        if to.len() > self.memory.bytes {
            return Err(Error::internal("a tensor has more bytes than its memory"));
        }
        device.queue.behind(device, |stream| {
            // SAFETY: the memory has as many bytes; the target is read when the stream is through.
            unsafe { result::memcpy_dtoh_async(to, self.memory.address, stream) }
        })?;
        device.stream.synchronize().map_err(failure)
    }

    fn settle(&self) -> Result<()> {
        faults::check(&self.origins, &self.memory.device)
    }

    fn device(&self) -> &str {
        &self.memory.device.name
    }

    fn place(&self) -> Option<Place> {
        Some(exchange::place(&self.memory.device))
    }

    fn lend(&self, stream: Option<u64>) -> Result<u64> {
        exchange::lend(self, stream)
    }

    fn duplicate(&self, bytes: usize) -> Result<Box<dyn Remote>> {
        exchange::duplicate(self, bytes)
    }

    fn is_own(&self) -> bool {
        exchange::is_own(self)
    }
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
        let device = self.ready()?.clone();
        Ok(CudaProgram { device, sites: sites.into(), program, ways: Ways::default() })
    }

    /// Compiles the kernels of several programs, each for a layout of its operands, in one go.
    ///
    /// # Errors
    /// Those of opening the device, and of the compiler.
    pub fn compile_all<'p>(&self, programs: impl IntoIterator<Item = (&'p Program, Layout)>) -> Result<()> {
        self.ready()?.load_all(programs.into_iter().map(|(program, mut layout)| {
            layout.columns = program.columns();
            kernel_of(program, &layout)
        }))
    }

    /// Sets the most bytes of patches that a convolution makes at a time; 1 GiB at first.
    ///
    /// # Errors
    /// Those of opening the device.
    pub fn set_patch_bytes(&self, bytes: usize) -> Result<()> {
        self.opened()?.patch_bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Whether small loops are one kernel, as they are at first, where that is estimated to be faster than a conditional node: for measurements
    /// of both, on loops that did not run yet.
    ///
    /// # Errors
    /// Those of opening the device.
    pub fn set_small_loops(&self, used: bool) -> Result<()> {
        self.opened()?.small_loops.store(used, Ordering::Relaxed);
        Ok(())
    }

    /// Whether memory that is freed is kept for what is allocated next, as it is at first. Where it is not, each block goes back to the
    /// driver, and commands that repeat are not made graphs: for those who look for errors.
    ///
    /// # Errors
    /// Those of opening the device, and of the driver.
    pub fn set_keeps_memory(&self, keeps: bool) -> Result<()> {
        let device = self.ready()?;
        device.pool.set_keeps(device, keeps).map_err(failure)
    }

    /// Lets convolutions be computed by cuDNN, where it is installed, or by products of patches; by cuDNN at first.
    ///
    /// # Errors
    /// Those of opening the device.
    pub fn set_uses_cudnn(&self, used: bool) -> Result<()> {
        Dnn::set_used(self.ready()?, used);
        Ok(())
    }

    /// Which cuDNN there is, and how each convolution so far was computed, a line each: for reports.
    ///
    /// # Errors
    /// Those of opening the device.
    pub fn convolutions(&self) -> Result<Vec<String>> {
        Ok(Dnn::report(self.ready()?))
    }

    /// The milliseconds that the device takes for what `queue` queues.
    ///
    /// # Errors
    /// Those of `queue`, and of the driver.
    pub fn time(&self, queue: impl FnOnce() -> Result<()>) -> Result<f32> {
        let device = self.ready()?;
        let event = || -> Result<CudaEvent> {
            device.queue.behind(device, |_| device.stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)))
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
    pub(crate) fn ready(&self) -> Result<&Arc<Opened>> {
        let device = self.opened()?;
        device.ready()?;
        Ok(device)
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
        let device = self.ready().ok()?;
        let (free, total) = device.context.mem_get_info().ok()?;
        Some(penstock_exec::Memory { total: total as u64, free: (free + device.pool.kept()) as u64 })
    }

    fn upload(&self, tensor: &Tensor) -> Result<Tensor> {
        let device = self.ready()?;
        if is_here(device, tensor) {
            return Ok(tensor.clone());
        }
        if let Some(copied) = remote::from_peer(device, tensor)? {
            return Tensor::on_device(tensor.dtype(), tensor.dims(), Box::new(copied));
        }
        let host = tensor.on_host()?;
        if !host.is_in_buffer() {
            return Ok(host);
        }
        let memory = device.copy_in(&host)?;
        Ok(host.mirrored(Box::new(CudaMemory { memory, origins: Origins::new() })))
    }

    fn compile(&self, graph: &Graph, region: Region) -> Result<Arc<dyn penstock_exec::Program>> {
        let (program, inputs) = Program::of_region(graph, region)?;
        if inputs.len() != graph.regions[region].params.len() {
            return Err(Error::unimplemented("a region that uses values from outside it"));
        }
        Ok(Arc::new(self.prepare(program)?))
    }

    fn launch_all(&self, runs: &[Run<'_>]) -> Result<Vec<Outputs>> {
        let device = self.ready()?;
        let programs = runs.iter().map(|run| own(device, run.program)).collect::<Result<Vec<&CudaProgram>>>()?;
        let prepared = runs.iter().zip(&programs).map(|(run, program)| program.prepare(run.inputs, &run.dims));
        let prepared = prepared.collect::<Result<Vec<_>>>()?;
        let mut together = Together::default();
        for (program, run) in programs.iter().zip(&prepared) {
            let part = if runs.len() > 1 { program.part(&run.laid) } else { None };
            let is_taken =
                part.is_some_and(|part| together.add(part, Member { laid: &run.laid, to: &run.to, from: &run.from }));
            if !is_taken {
                program.queue(run)?;
            }
        }
        // SAFETY: each layout was made of the tensors' own extents, whose elements their memory, on this device, holds; the results have
        // memory of their own for the extents of the layout. All of it is freed in the order of the queue, and so after this launch.
        unsafe { together.queue(device) }?;
        let runs = runs.iter().zip(programs).zip(prepared);
        runs.map(|((run, program), ready)| program.results(ready, &run.dims)).collect()
    }

    fn kernels(&self) -> Option<&dyn DeviceKernels> {
        Some(self)
    }

    fn has_biased_products(&self, dtype: DType) -> bool {
        whole::has_biased_products(dtype)
    }

    fn biased_product(
        &self,
        product: &Product<'_>,
        bias: &Tensor,
        relu: bool,
        dims: &[usize],
    ) -> Result<Option<Tensor>> {
        let device = self.ready()?;
        if bias.dims() != [product.n] || bias.dtype() != product.a.dtype() {
            return Ok(None);
        }
        // SAFETY: the sizes of a product are those of its operands; the vector has an element for each column.
        unsafe { whole::biased(device, product, bias, relu, dims) }
    }

    fn looper(&self) -> Option<Arc<dyn Looper>> {
        Some(Arc::new(CudaLooper::new(self.ready().ok()?.clone())))
    }

    fn exchange(&self) -> Option<&dyn Exchange> {
        Some(self)
    }

    fn synchronize(&self) -> Result<()> {
        let device = self.ready()?;
        device.queue.wait(device)
    }

    fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        Some(Arc::new(CudaRecorder { device: self.ready().ok()?.clone(), recording: Arc::default() }))
    }
}

/// A program that this device compiled.
fn own<'p>(device: &Arc<Opened>, program: &'p dyn penstock_exec::Program) -> Result<&'p CudaProgram> {
    let own = program.as_any().downcast_ref::<CudaProgram>().filter(|own| Arc::ptr_eq(&own.device, device));
    own.ok_or_else(|| Error::internal("a program of another device"))
}

/// Whether a tensor is on the device.
fn is_here(device: &Arc<Opened>, tensor: &Tensor) -> bool {
    data(device, tensor).is_some()
}

/// The bytes of a tensor on the host that has one element, of at most a word.
fn element(tensor: &Tensor) -> Option<u64> {
    if tensor.len() != 1 || tensor.remote().is_some() {
        return None;
    }
    let (bytes, mut word) = (tensor.bytes(), [0; size_of::<u64>()]);
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_ne_bytes(word))
}

/// The recorder of a plan's runs.
struct CudaRecorder {
    device: Arc<Opened>,
    recording: Arc<Recording>,
}

impl Recorder for CudaRecorder {
    fn begin(&self) -> bool {
        self.device.ready().is_ok() && self.device.queue.open(&self.device, &self.recording)
    }

    fn point(&self, point: u32) -> Result<()> {
        self.device.queue.point(&self.device, point)
    }

    fn end(&self) -> Result<()> {
        self.device.ready()?;
        self.device.queue.close(&self.device)
    }
}

/// A [`Program`] on a device: one kernel for each way in which its operands lie.
pub struct CudaProgram {
    device: Arc<Opened>,
    program: Program,
    sites: Arc<[Site]>,
    ways: Ways,
}

/// A run of a program that is about to be queued.
struct Prepared<'t> {
    laid: Arc<Laid>,
    results: SmallVec<[Memory; 4]>,
    /// Where the results and the operands are, or of operands that are arguments themselves the bytes.
    to: SmallVec<[u64; 4]>,
    from: SmallVec<[u64; 4]>,
    sources: SmallVec<[&'t Origins; 4]>,
    faults: Option<Arc<Faults>>,
    /// Memory of what was elsewhere lives until the launch is queued, and is freed in the order of the queue.
    _copies: SmallVec<[Memory; 4]>,
}

impl CudaProgram {
    /// What the program is as a part of a kernel of several; `None` where it is a kernel of its own.
    fn part(&self, laid: &Laid) -> Option<PartId> {
        let is_own = !self.sites.is_empty() || self.program.columns().is_some() || laid.layout.len == 0;
        (!is_own).then(|| self.ways.part(&self.device, &self.program, laid))
    }

    fn check_dtypes(&self, inputs: &[&Tensor]) -> Result<()> {
        if inputs.iter().map(|t| t.dtype()).eq(self.program.inputs.iter().copied()) {
            return Ok(());
        }
        let got: Vec<DType> = inputs.iter().map(|t| t.dtype()).collect();
        Err(Error::invalid(format!("the program computes of {:?}, not of {got:?}", self.program.inputs)))
    }

    /// Finds out where the operands of a run are, and allocates its results.
    fn prepare<'t>(&self, inputs: &[&'t Tensor], dims: &[usize]) -> Result<Prepared<'t>> {
        let device = &self.device;
        self.check_dtypes(inputs)?;
        device.ready()?;
        let faults = if self.sites.is_empty() { None } else { Some(Faults::new(device, &self.sites)?) };
        let mut copies: SmallVec<[Memory; 4]> = SmallVec::new();
        let mut sources: SmallVec<[&Origins; 4]> = SmallVec::new();
        let mut from: SmallVec<[u64; 4]> = SmallVec::new();
        let mut operands: SmallVec<[(&Tensor, bool); 4]> = SmallVec::new();
        for &tensor in inputs {
            let word = element(tensor);
            operands.push((tensor, word.is_some()));
            if let Some(word) = word {
                from.push(word);
            } else if let Some(data) = data(device, tensor) {
                sources.push(&data.origins);
                from.push(data.memory.address);
            } else {
                let (copy, origins) = remote::bring(device, tensor)?;
                from.push(copy.address);
                copies.push(copy);
                sources.extend(origins);
            }
        }
        let laid = self.ways.of(device, &self.program, dims, &operands)?;
        let extents = |output| extents_of(output, dims);
        let results = self.program.outputs.iter().map(|o| device.allocate(o.dtype, extents(o)));
        let results = results.collect::<Result<SmallVec<[Memory; 4]>>>()?;
        let to = results.iter().map(|memory| memory.address).collect();
        Ok(Prepared { laid, results, to, from, sources, faults, _copies: copies })
    }

    /// Memory for the sums of tiles of rows, for each result that is sums over rows; `None` where there is one tile, whose sums the result
    /// is. It is freed in the order of the queue.
    fn tables(&self, variant: &Variant, layout: &Layout) -> Result<SmallVec<[Option<Memory>; 2]>> {
        let (Some([down, across]), Some(columns)) = (variant.tiles(layout), layout.columns) else {
            return Ok(SmallVec::new());
        };
        if down > 1 && across > TILES {
            return Err(Error::internal("sums of more columns than there are counters"));
        }
        let outputs = self.program.outputs.iter().filter(|o| o.columns.is_some());
        outputs
            .map(|output| {
                // Sums of 16-bit floats are single-precision ones.
                let bytes = down * columns * output.dtype.size().max(size_of::<f32>());
                (down > 1).then(|| self.device.memory(bytes).map_err(failure)).transpose()
            })
            .collect()
    }

    /// Queues a run by itself.
    fn queue(&self, run: &Prepared<'_>) -> Result<()> {
        let laid = &*run.laid;
        let layout = &laid.layout;
        if layout.len == 0 {
            return Ok(());
        }
        let device = &self.device;
        let loaded = self.ways.loaded(device, &self.program, laid)?;
        let word = run.faults.as_ref().map_or(0, |faults| faults.address());
        let tables = self.tables(&laid.variant, layout)?;
        let at: SmallVec<[u64; 2]> = tables.iter().map(|t| t.as_ref().map_or(0, |memory| memory.address)).collect();
        let counters = if at.iter().any(|&table| table != 0) { device.counters()? } else { 0 };
        let mut launch = Launch::new(loaded.function.cu_function(), laid.blocks, []).moving(laid.bytes);
        laid.variant.addresses(&run.to, &run.from).for_each(|arg| launch.push(&arg));
        laid.extents.iter().for_each(|arg| launch.push(arg));
        loaded.kernel.rest(layout, (word, 0), (&at, counters)).iter().for_each(|arg| launch.push(arg));
        let command = Command::Launch(launch);
        // SAFETY: the arguments are those of the kernel's signature, which was generated for the variant of this layout. The layout
        // was made of the tensors' own extents, whose elements their memory, on this device, holds; the results have memory for
        // the extents of the layout. All of it is freed in the order of the queue, and so after this launch.
        unsafe { device.queue.push(device, command) }
    }

    /// The results of a run that was queued.
    fn results(&self, run: Prepared<'_>, dims: &[usize]) -> Result<Outputs> {
        let origins = faults::joined(run.sources.iter().copied(), run.faults.as_ref());
        let outputs = self.program.outputs.iter();
        outputs
            .zip(run.results)
            .map(|(output, memory)| {
                let dims = extents_of(output, dims);
                Tensor::on_device(output.dtype, dims, Box::new(CudaMemory { memory, origins: origins.clone() }))
            })
            .collect()
    }
}

/// The extents of a result over an index space.
fn extents_of<'o>(output: &'o Output, dims: &'o [usize]) -> &'o [usize] {
    output.columns.as_deref().unwrap_or(dims)
}

impl penstock_exec::Program for CudaProgram {
    /// Queues a run; the inputs broadcast to the extents. What it rejects, a division of an integer by zero for example, is
    /// reported by [`Tensor::on_host`] of a result, or of what was computed of one.
    fn launch(&self, inputs: &[&Tensor], dims: &[usize]) -> Result<Outputs> {
        let run = self.prepare(inputs, dims)?;
        self.queue(&run)?;
        self.results(run, dims)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
