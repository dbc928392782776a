//! An open device: its context, its stream, its memory and its loaded kernels.

#![expect(unsafe_code, reason = "driver calls on memory and kernels of this device")]

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::{Debug, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
#[cfg(unix)]
use std::sync::{
    Once,
    atomic::{AtomicU32, Ordering},
};

use cudarc::driver::{CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, DriverError, result, sys};
use cudarc::nvrtc::Ptx;
use penstock_data::{DType, Error, Result, Tensor, num_elements};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::driver::{DeviceInfo, failure, version};
use crate::faults::Words;
use crate::kernel::{BLOCK, Kernel, PRELUDE, TILES, Variant};
use crate::layout::Layout;
use crate::memory::{self, First, Memory, Pool};
use crate::nvrtc::Nvrtc;
use crate::parts::Parts;
use crate::program::Program;
use crate::queue::Queue;
use crate::store;

/// What a convolution takes beside its operands and results.
const PATCH_BYTES: usize = 1 << 30;

/// The threads that a multiprocessor holds at a time.
const RESIDENT_THREADS: u32 = 2048;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open device with one stream, on which everything happens in the order of the calls.
pub(crate) struct Opened {
    pub(crate) info: DeviceInfo,
    /// Its TensorFlow name.
    pub(crate) name: String,
    pub(crate) context: Arc<CudaContext>,
    /// Where everything runs. What is handed to it goes through the queue.
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) queue: Queue,
    pub(crate) pool: Pool,
    /// How often this process was forked from another one when it opened the device; a later one cannot use it.
    forks: u32,
    /// By text. The architecture is the device's, so that text alone tells kernels apart.
    kernels: Mutex<FxHashMap<String, Arc<Loaded>>>,
    /// Kernels on whole tensors, by what they are compiled for.
    functions: Mutex<FxHashMap<String, CudaFunction>>,
    /// The texts of what was loaded, by handle: loops of few elements are made of them.
    sources: Mutex<FxHashMap<usize, Source>>,
    pub(crate) parts: Mutex<Parts>,
    /// The most bytes of patches that a convolution makes at a time.
    pub(crate) patch_bytes: AtomicUsize,
    /// Whether small loops are one kernel.
    pub(crate) small_loops: AtomicBool,
    pub(crate) blas: Library,
    pub(crate) lt: Library,
    pub(crate) dnn: Library,
    pub(crate) loops: Library,
    /// What is being copied to the device, which is kept until it is there.
    uploads: Mutex<VecDeque<(CudaEvent, Tensor)>>,
    pub(crate) words: Mutex<Words>,
    /// Where the counters are that kernels find at 0 and leave so.
    counters: OnceLock<u64>,
}

/// What is opened on the device when it is asked for, such as somebody else's library.
#[derive(Default)]
pub(crate) struct Library(OnceLock<Box<dyn Any + Send + Sync>>);

impl Library {
    /// What it is: as `open` has it at the first call.
    ///
    /// # Panics
    /// Where the first call had another type.
    pub(crate) fn get<T: Any + Send + Sync>(&self, open: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(|| Box::new(open())).downcast_ref().expect("one type for each library")
    }
}

/// How often this process, and those that it comes from, were forked since the first call. To ask the system for the process's number takes
/// longer than what is done with the device.
#[cfg(unix)]
fn forks() -> u32 {
    static FORKS: AtomicU32 = AtomicU32::new(0);
    static COUNTED: Once = Once::new();
    unsafe extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    COUNTED.call_once(|| {
        // SAFETY: the function touches nothing but a number. Where it is not taken, forks are not seen.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(count)) };
    });
    FORKS.load(Ordering::Relaxed)
}

#[cfg(not(unix))]
fn forks() -> u32 {
    0
}

/// The text of a kernel, without the [`PRELUDE`].
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
}

/// A kernel that is loaded on a device.
pub(crate) struct Loaded {
    pub(crate) kernel: Kernel,
    pub(crate) function: CudaFunction,
}

impl Opened {
    /// The device, which is opened once in a process.
    pub(crate) fn get(info: &DeviceInfo) -> Result<Arc<Opened>> {
        static OPENED: Mutex<Vec<Arc<Opened>>> = Mutex::new(Vec::new());
        let mut opened = lock(&OPENED);
        if let Some(found) = opened.iter().find(|d| d.info.ordinal == info.ordinal) {
            return Ok(found.clone());
        }
        let device = Arc::new(Opened::new(info)?);
        opened.push(device.clone());
        Ok(device)
    }

    fn new(info: &DeviceInfo) -> Result<Opened> {
        let context = CudaContext::new(info.ordinal).map_err(failure)?;
        // SAFETY: events keep the order between streams; everything here happens on one stream.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failure)?;
        let capture = context.new_stream().map_err(failure)?;
        if let Some(pool) = memory::pool(&context) {
            memory::keep_freed(pool);
        }
        Ok(Opened {
            info: info.clone(),
            name: format!("/device:GPU:{}", info.ordinal),
            context,
            stream,
            queue: Queue::new(capture),
            pool: Pool::new(),
            forks: forks(),
            kernels: Mutex::default(),
            functions: Mutex::default(),
            sources: Mutex::default(),
            parts: Mutex::default(),
            patch_bytes: AtomicUsize::new(PATCH_BYTES),
            small_loops: AtomicBool::new(true),
            blas: Library::default(),
            lt: Library::default(),
            dnn: Library::default(),
            loops: Library::default(),
            uploads: Mutex::default(),
            words: Mutex::default(),
            counters: OnceLock::new(),
        })
    }

    /// Makes the device the calling thread's.
    ///
    /// # Errors
    /// `FailedPrecondition` in a process that was forked from the one that opened the device.
    pub(crate) fn ready(&self) -> Result<()> {
        if !self.is_of_this_process() {
            return Err(Error::precondition(format!(
                "this process was forked from one that uses GPU {}, and cannot use it: start processes by 'spawn'",
                self.info.ordinal
            )));
        }
        self.context.bind_to_thread().map_err(failure)
    }

    /// Whether this process opened the device, and not one that it was forked from.
    pub(crate) fn is_of_this_process(&self) -> bool {
        forks() == self.forks
    }

    /// How many blocks of threads it runs at a time.
    pub(crate) fn resident_blocks(&self) -> u32 {
        self.info.multiprocessors.saturating_mul(RESIDENT_THREADS / BLOCK)
    }

    pub(crate) fn allocate(self: &Arc<Self>, dtype: DType, dims: &[usize]) -> Result<Memory> {
        self.allocate_for(First::Command, dtype, dims)
    }

    pub(crate) fn allocate_for(self: &Arc<Self>, first: First, dtype: DType, dims: &[usize]) -> Result<Memory> {
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
        self.pool.take(self, bytes, first).map_err(|e| match e.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                let free = self.context.mem_get_info().map_or(0, |(free, _)| free);
                Error::exhausted(format!(
                    "out of memory on GPU {}: a {} tensor of shape {dims:?} takes {bytes} bytes, {free} are free",
                    self.info.ordinal,
                    dtype.tf_name()
                ))
            }
            _ => failure(e),
        })
    }

    /// Allocates at least `bytes` bytes. Their contents are unspecified until a command writes them.
    pub(crate) fn memory(self: &Arc<Self>, bytes: usize) -> Result<Memory, DriverError> {
        self.pool.take(self, bytes, First::Command)
    }

    /// The address of [`TILES`] counters, which a kernel finds at 0 and leaves so.
    pub(crate) fn counters(self: &Arc<Self>) -> Result<u64> {
        if let Some(&address) = self.counters.get() {
            return Ok(address);
        }
        let memory = self.filled(TILES, 0)?;
        let address = memory.address;
        // Of two threads, the second lets go of its own. The device is never closed.
        if self.counters.set(address).is_ok() {
            std::mem::forget(memory);
        }
        Ok(self.counters.get().copied().unwrap_or(address))
    }

    /// Memory that is filled with one word before any command that still waits.
    pub(crate) fn filled(self: &Arc<Self>, count: usize, word: u32) -> Result<Memory> {
        let memory = self.pool.take(self, count * size_of::<u32>(), First::Copy).map_err(failure)?;
        self.queue.ahead(self, |stream| {
            // SAFETY: the memory has as many words, and no command that is held back uses it.
            unsafe { sys::cuMemsetD32Async(memory.address, word, count, stream) }.result()
        })?;
        Ok(memory)
    }

    /// Memory to which a copy of a tensor's elements is queued. The tensor is kept until they are there: where its memory is
    /// pinned, the driver reads it later.
    pub(crate) fn copy_in(self: &Arc<Self>, tensor: &Tensor) -> Result<Memory> {
        let to = self.allocate_for(First::Copy, tensor.dtype(), tensor.dims())?;
        if tensor.is_empty() {
            return Ok(to);
        }
        let event = self.queue.ahead(self, |stream| {
            // SAFETY: the memory has as many bytes, and no command that is held back uses it; the source is kept below, and never changes.
            unsafe { result::memcpy_htod_async(to.address, tensor.bytes(), stream) }?;
            self.stream.record_event(None)
        })?;
        self.keep(event, tensor);
        Ok(to)
    }

    /// Keeps what is copied to the device until the copy's end, and lets go of what has come.
    pub(crate) fn keep(&self, copied: CudaEvent, tensor: &Tensor) {
        let mut come: SmallVec<[Tensor; 4]> = SmallVec::new();
        let mut uploads = lock(&self.uploads);
        while uploads.front().is_some_and(|(event, _)| event.is_complete()) {
            come.extend(uploads.pop_front().map(|(_, tensor)| tensor));
        }
        uploads.push_back((copied, tensor.clone()));
        drop(uploads);
        // Outside of the lock: their memory may be another device's.
    }

    /// Compiles and loads kernels that are not loaded yet, all as one program, since a call of the compiler takes
    /// long whatever it compiles.
    pub(crate) fn load_all(&self, kernels: impl IntoIterator<Item = Kernel>) -> Result<()> {
        let mut missing: FxHashMap<String, Kernel> = FxHashMap::default();
        {
            let loaded = lock(&self.kernels);
            let new = kernels.into_iter().filter(|k| !loaded.contains_key(&k.text));
            missing.extend(new.map(|k| (k.text.clone(), k)));
        }
        if missing.is_empty() {
            return Ok(());
        }
        // Outside the lock. Of two threads that load the same, the second drops its own.
        let mut kernels: Vec<&Kernel> = missing.values().collect();
        kernels.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        let module = self.module(Kernel::source_of(kernels))?;
        for (text, kernel) in missing {
            let function = module.load_function(&kernel.name).map_err(failure)?;
            self.keep_source(&function, &kernel.name, &Kernel::text_of([&kernel]));
            lock(&self.kernels).entry(text).or_insert_with(|| Arc::new(Loaded { kernel, function }));
        }
        Ok(())
    }

    /// The code of kernels, of which this is the source: that of an earlier process, or compiled now.
    fn module(&self, source: String) -> Result<Arc<CudaModule>> {
        let nvrtc = Nvrtc::get()?;
        let driver = version()? / 1000;
        if nvrtc.version().0 as i32 > driver {
            return Err(Error::precondition(format!(
                "NVRTC {}.{} makes code for newer drivers than this one, of CUDA {driver}: pip install \
                 nvidia-cuda-nvrtc-cu{driver}, or install a newer driver",
                nvrtc.version().0,
                nvrtc.version().1
            )));
        }
        let load = |image: Vec<u8>| self.context.load_module(Ptx::from_binary(image));
        if let Some(module) = store::find(nvrtc, &source, self.info.arch).and_then(|image| load(image).ok()) {
            return Ok(module);
        }
        let image = nvrtc.compile(&source, self.info.arch)?;
        store::keep(nvrtc, &source, self.info.arch, image.bytes());
        load(image.bytes().to_vec()).map_err(failure)
    }

    /// The kernel `name` of a text, behind the [`PRELUDE`].
    pub(crate) fn compile(&self, text: &str, name: &str) -> Result<CudaFunction> {
        let function = self.module(format!("{PRELUDE}\n{text}"))?.load_function(name).map_err(failure)?;
        self.keep_source(&function, name, text);
        Ok(function)
    }

    fn keep_source(&self, function: &CudaFunction, name: &str, text: &str) {
        let source = Source { name: name.into(), text: text.into() };
        lock(&self.sources).insert(function.cu_function() as usize, source);
    }

    /// The text of a kernel that was loaded.
    pub(crate) fn source(&self, function: sys::CUfunction) -> Option<Source> {
        lock(&self.sources).get(&(function as usize)).cloned()
    }

    /// The kernel `name` of a text that `key` decides, loaded now where it was not before.
    pub(crate) fn function(
        &self,
        family: &str,
        name: &str,
        key: impl Debug,
        text: impl FnOnce() -> String,
    ) -> Result<CudaFunction> {
        // As long as nearly all are, so that it is allocated once.
        let mut text_of_key = String::with_capacity(128);
        let _ = write!(text_of_key, "{family} {name} {key:?}");
        let key = text_of_key;
        if let Some(found) = lock(&self.functions).get(&key) {
            return Ok(found.clone());
        }
        // Outside the lock. Of two threads that load the same, the second drops its own.
        let function = self.compile(&text(), name)?;
        Ok(lock(&self.functions).entry(key).or_insert(function).clone())
    }

    /// A kernel, loaded now where it was not before.
    pub(crate) fn load(&self, kernel: Kernel) -> Result<Arc<Loaded>> {
        let text = kernel.text.clone();
        self.load_all([kernel])?;
        lock(&self.kernels).get(&text).cloned().ok_or_else(|| Error::internal("a kernel is not loaded"))
    }
}

/// The kernel of a program for a layout of operands that start where their memory does.
pub(crate) fn kernel_of(program: &Program, layout: &Layout) -> Kernel {
    let variant = Variant::new(program, layout, true);
    let name = program.name();
    // Kernels of one source need names of their own.
    let mut hasher = FxHasher::default();
    Kernel::new(program, variant.clone(), &name).text.hash(&mut hasher);
    Kernel::new(program, variant, &format!("{name}_{:016x}", hasher.finish()))
}
