//! Convolutions by cuDNN, found when it is first needed.
//!
//! A [`Plan`] is a convolution of one geometry, made ready: descriptors, algorithm and bytes of working memory. It is made once, and run
//! often. What cuDNN does not take has none, and is computed by products of patches.

#![expect(unsafe_code, reason = "calls into a library that is loaded at run time")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cudarc::driver::CudaStream;
use libloading::Library;
use penstock_data::{Class, DType, Error, Result};
use penstock_ir::{Convolution, CopyDim};
use penstock_kernels::conv::{Axis, Geometry};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::blas::Blas;
use super::copy::{copy, zero};
use super::table;
use crate::memory::Memory;
use crate::nvrtc::{NamedFile, library_files};
use crate::opened::{Opened, lock};
use crate::queue::Command;

/// The environment variable that names the library's file, or the folder that it is in; empty for none.
pub const CUDNN_VARIABLE: &str = "PENSTOCK_CUDNN";

#[cfg(windows)]
const NAMES: &[&str] = &["cudnn64_9.dll"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcudnn.so.9", "libcudnn.so"];

/// The folders of `site-packages` in which NVIDIA's wheels put the library.
const WHEEL_FOLDERS: &[&str] = &["nvidia/cudnn/lib", "nvidia/cudnn/bin"];

static FILE: NamedFile = NamedFile::new();

/// Names the library's file, where [`CUDNN_VARIABLE`] does not. Of use until the library is first needed.
pub fn set_cudnn(file: impl Into<PathBuf>) {
    FILE.set(file.into());
}

/// The number that `cudnnGetVersion` gives for version 9.0, whose status codes these are.
const OLDEST: usize = 90_000;
/// The most bytes of working memory of a convolution.
const WORKSPACE_MOST: usize = 1 << 30;
/// Geometries that are remembered; beyond that all are forgotten, and made ready anew.
const REMEMBERED: usize = 4096;

type Handle = *mut c_void;
type Status = c_int;

/// `cudnnMathType_t`: the library's choice, matrix units for 16-bit floats, and full precision.
const DEFAULT_MATH: c_int = 0;
const TENSOR_OP_MATH: c_int = 1;
const FMA_MATH: c_int = 3;
/// `cudnnTensorFormat_t`: channels last.
const NHWC: c_int = 1;
/// `cudnnConvolutionMode_t`: the filter is not flipped.
const CROSS_CORRELATION: c_int = 1;
/// `cudnnDeterminism_t`.
const DETERMINISTIC: c_int = 1;

/// `cudnnDataType_t` of elements and of sums, and `cudnnMathType_t`.
fn types(dtype: DType) -> Option<(c_int, c_int, c_int)> {
    const FLOAT: c_int = 0;
    const DOUBLE: c_int = 1;
    Some(match dtype {
        DType::F32 => (FLOAT, FLOAT, FMA_MATH),
        DType::F64 => (DOUBLE, DOUBLE, DEFAULT_MATH),
        DType::F16 => (2, FLOAT, TENSOR_OP_MATH),
        DType::Bf16 => (9, FLOAT, TENSOR_OP_MATH),
        _ => return None,
    })
}

/// `cudnnConvolution…AlgoPerf_t`, which is the same for the three.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Choice {
    algorithm: c_int,
    status: Status,
    time: f32,
    memory: usize,
    determinism: c_int,
    math: c_int,
    reserved: [c_int; 3],
}

/// The functions of one kind of convolution: of operands `a` and `b`, in the order of [`Convolution`], and of the result.
#[derive(Clone, Copy)]
struct Calls {
    choices: unsafe extern "C" fn(
        Handle,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        c_int,
        *mut c_int,
        *mut Choice,
    ) -> Status,
    workspace:
        unsafe extern "C" fn(Handle, *mut c_void, *mut c_void, *mut c_void, *mut c_void, c_int, *mut usize) -> Status,
    run: unsafe extern "C" fn(
        Handle,
        *const c_void,
        *mut c_void,
        *const c_void,
        *mut c_void,
        *const c_void,
        *mut c_void,
        c_int,
        *mut c_void,
        usize,
        *const c_void,
        *mut c_void,
        *mut c_void,
    ) -> Status,
    /// The number of algorithms.
    most: usize,
    /// Those that add up products of the elements, however they order them. The others go by transforms, whose rounding is that of the
    /// largest elements around, and whose infinities spread.
    exact: &'static [c_int],
}

type Create = unsafe extern "C" fn(*mut *mut c_void) -> Status;
type Destroy = unsafe extern "C" fn(*mut c_void) -> Status;

struct Functions {
    create: Create,
    set_stream: unsafe extern "C" fn(Handle, *mut c_void) -> Status,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    tensors: (Create, Destroy),
    filters: (Create, Destroy),
    convolutions: (Create, Destroy),
    set_tensor: unsafe extern "C" fn(*mut c_void, c_int, c_int, *const c_int, *const c_int) -> Status,
    set_filter: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *const c_int) -> Status,
    set_convolution:
        unsafe extern "C" fn(*mut c_void, c_int, *const c_int, *const c_int, *const c_int, c_int, c_int) -> Status,
    set_groups: unsafe extern "C" fn(*mut c_void, c_int) -> Status,
    set_math: unsafe extern "C" fn(*mut c_void, c_int) -> Status,
    forward: Calls,
    input_grad: Calls,
    filter_grad: Calls,
    version: usize,
    path: PathBuf,
    /// Kept loaded.
    _library: Library,
}

impl Functions {
    /// The library; `None` where it is not installed.
    fn get() -> Option<&'static Functions> {
        static FOUND: OnceLock<Option<Functions>> = OnceLock::new();
        FOUND.get_or_init(Functions::find).as_ref()
    }

    fn find() -> Option<Functions> {
        if std::env::var_os(CUDNN_VARIABLE).is_some_and(|v| v.is_empty()) {
            return None;
        }
        // It uses cuBLAS, and finds it where that is loaded.
        Blas::load();
        let files = FILE.files(CUDNN_VARIABLE).unwrap_or_else(|| library_files(CUDNN_VARIABLE, WHEEL_FOLDERS, NAMES));
        files.into_iter().find_map(|path| {
            // SAFETY: NVIDIA's library; loading it has no effect beyond its own initialisation.
            let library = unsafe { Library::new(&path) }.ok()?;
            // SAFETY: the library has cuDNN's name, and is kept loaded beside its functions.
            unsafe { Functions::of(library, path) }
        })
    }

    /// # Safety
    /// `library` is cuDNN.
    unsafe fn of(library: Library, path: PathBuf) -> Option<Functions> {
        // SAFETY: the types are those of cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h of cuDNN 9, and of 8 for the version; the library is
        // kept loaded.
        unsafe {
            let version: unsafe extern "C" fn() -> usize = *library.get(b"cudnnGetVersion\0").ok()?;
            let version = version();
            if version < OLDEST {
                return None;
            }
            Some(Functions {
                create: *library.get(b"cudnnCreate\0").ok()?,
                set_stream: *library.get(b"cudnnSetStream\0").ok()?,
                error_string: *library.get(b"cudnnGetErrorString\0").ok()?,
                tensors: (
                    *library.get(b"cudnnCreateTensorDescriptor\0").ok()?,
                    *library.get(b"cudnnDestroyTensorDescriptor\0").ok()?,
                ),
                filters: (
                    *library.get(b"cudnnCreateFilterDescriptor\0").ok()?,
                    *library.get(b"cudnnDestroyFilterDescriptor\0").ok()?,
                ),
                convolutions: (
                    *library.get(b"cudnnCreateConvolutionDescriptor\0").ok()?,
                    *library.get(b"cudnnDestroyConvolutionDescriptor\0").ok()?,
                ),
                set_tensor: *library.get(b"cudnnSetTensorNdDescriptor\0").ok()?,
                set_filter: *library.get(b"cudnnSetFilterNdDescriptor\0").ok()?,
                set_convolution: *library.get(b"cudnnSetConvolutionNdDescriptor\0").ok()?,
                set_groups: *library.get(b"cudnnSetConvolutionGroupCount\0").ok()?,
                set_math: *library.get(b"cudnnSetConvolutionMathType\0").ok()?,
                forward: Calls {
                    choices: *library.get(b"cudnnGetConvolutionForwardAlgorithm_v7\0").ok()?,
                    workspace: *library.get(b"cudnnGetConvolutionForwardWorkspaceSize\0").ok()?,
                    run: *library.get(b"cudnnConvolutionForward\0").ok()?,
                    most: 8,
                    exact: &[0, 1, 2, 3],
                },
                input_grad: Calls {
                    choices: *library.get(b"cudnnGetConvolutionBackwardDataAlgorithm_v7\0").ok()?,
                    workspace: *library.get(b"cudnnGetConvolutionBackwardDataWorkspaceSize\0").ok()?,
                    run: *library.get(b"cudnnConvolutionBackwardData\0").ok()?,
                    most: 6,
                    exact: &[0, 1],
                },
                filter_grad: Calls {
                    choices: *library.get(b"cudnnGetConvolutionBackwardFilterAlgorithm_v7\0").ok()?,
                    workspace: *library.get(b"cudnnGetConvolutionBackwardFilterWorkspaceSize\0").ok()?,
                    run: *library.get(b"cudnnConvolutionBackwardFilter\0").ok()?,
                    most: 7,
                    exact: &[0, 1, 3],
                },
                version,
                path,
                _library: library,
            })
        }
    }

    fn calls(&self, kind: Convolution) -> &Calls {
        match kind {
            Convolution::Forward => &self.forward,
            Convolution::InputGrad => &self.input_grad,
            Convolution::FilterGrad => &self.filter_grad,
        }
    }

    fn text(&self, status: Status) -> String {
        // SAFETY: gives a static string for any number.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) };
        format!("{} ({status})", text.to_string_lossy())
    }

    fn error(&self, status: Status) -> Error {
        const DEVICE_ALLOCATION_FAILED: Status = 4004;
        let text =
            format!("cuDNN: {}; without it, where {CUDNN_VARIABLE} is empty, products compute", self.text(status));
        if status == DEVICE_ALLOCATION_FAILED { Error::exhausted(text) } else { Error::internal(text) }
    }

    fn check(&self, status: Status) -> Result<()> {
        if status == 0 { Ok(()) } else { Err(self.error(status)) }
    }
}

/// Whether the library does not take a convolution: statuses of the thousand `NOT_SUPPORTED`.
fn is_unsupported(status: Status) -> bool {
    status / 1000 == 3
}

/// Whether the library refuses a description: as unsupported, or as one that it has no meaning for.
fn is_refused(status: Status) -> bool {
    is_unsupported(status) || status / 1000 == 2
}

/// The library on one device.
pub(crate) struct Dnn {
    functions: &'static Functions,
    /// With the stream on which everything runs. Calls that share it come one after the other.
    handle: Mutex<Pointer>,
    /// With the one that captures.
    captures: Mutex<Pointer>,
    plans: Mutex<FxHashMap<Key, Prepared>>,
    is_used: AtomicBool,
}

struct Pointer(Handle);

// SAFETY: a handle may be used by any thread, one at a time.
unsafe impl Send for Pointer {}

/// What a plan is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    kind: Convolution,
    dtype: DType,
    geometry: Geometry,
}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Geometry { batch, axes, groups, in_channels, out_channels } = self.geometry;
        (self.kind as u8, self.dtype, batch, groups, in_channels, out_channels).hash(state);
        axes.map(|a| [a.input, a.window, a.output, a.stride, a.dilation, a.before]).hash(state);
    }
}

#[derive(Clone)]
enum Prepared {
    Plan(Arc<Plan>),
    /// Not by the library, for this reason.
    Patches(String),
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Geometry { batch, axes, groups, in_channels, out_channels } = self.geometry;
        write!(
            f,
            "{:?} {} batch {batch} groups {groups} channels {in_channels} {out_channels}",
            self.kind, self.dtype
        )?;
        for a in axes.iter().filter(|&&a| a != Axis::NONE) {
            let Axis { input, window, output, stride, dilation, before } = a;
            write!(f, " [{input} by {window} to {output}, stride {stride}, dilation {dilation}, {before} before]")?;
        }
        Ok(())
    }
}

impl Dnn {
    /// The library on a device; `None` where it is not installed, or does not start.
    fn on(device: &Arc<Opened>) -> Option<&Dnn> {
        device.dnn.get_or_init(|| Functions::get().and_then(|functions| Dnn::open(device, functions).ok())).as_ref()
    }

    fn open(device: &Arc<Opened>, functions: &'static Functions) -> Result<Dnn> {
        let handle = |stream: &CudaStream| -> Result<Mutex<Pointer>> {
            let mut handle = std::ptr::null_mut();
            // SAFETY: the device is the calling thread's; the stream lives as long as the device, which is never closed.
            unsafe {
                functions.check((functions.create)(&mut handle))?;
                functions.check((functions.set_stream)(handle, stream.cu_stream().cast()))?;
            }
            Ok(Mutex::new(Pointer(handle)))
        };
        Ok(Dnn {
            functions,
            handle: handle(&device.stream)?,
            captures: handle(device.queue.capture())?,
            plans: Mutex::default(),
            is_used: AtomicBool::new(true),
        })
    }

    /// Lets convolutions go by the library, or without it.
    pub(crate) fn set_used(device: &Arc<Opened>, used: bool) {
        if let Some(dnn) = Dnn::on(device) {
            dnn.is_used.store(used, Ordering::Relaxed);
        }
    }

    /// The version and the file of the library, and what was decided for each geometry, one a line.
    pub(crate) fn report(device: &Arc<Opened>) -> Vec<String> {
        let Some(dnn) = Dnn::on(device) else { return vec!["no cuDNN".to_string()] };
        let Functions { version, path, .. } = dnn.functions;
        let mut lines: Vec<String> = lock(&dnn.plans)
            .iter()
            .map(|(key, prepared)| match prepared {
                Prepared::Plan(plan) => {
                    let Plan { algorithm, math, workspace, .. } = **plan;
                    format!("{key}: algorithm {algorithm}, math {math}, {workspace} bytes")
                }
                Prepared::Patches(reason) => format!("{key}: patches, {reason}"),
            })
            .collect();
        lines.sort_unstable();
        lines.insert(0, format!("cuDNN {version}: {}", path.display()));
        lines
    }

    /// What was decided for a convolution, now where it was not before.
    fn prepared(&self, key: Key) -> Result<Prepared> {
        if let Some(found) = lock(&self.plans).get(&key) {
            return Ok(found.clone());
        }
        // Outside the lock. Of two threads that decide the same, the second drops its own.
        let prepared = match Plan::new(self, key)? {
            Ok(plan) => Prepared::Plan(Arc::new(plan)),
            Err(reason) => Prepared::Patches(reason),
        };
        let mut plans = lock(&self.plans);
        if plans.len() >= REMEMBERED {
            plans.clear();
        }
        Ok(plans.entry(key).or_insert(prepared).clone())
    }
}

/// A descriptor of the library, destroyed with this value.
struct Descriptor {
    at: *mut c_void,
    destroy: Destroy,
}

// SAFETY: a descriptor is not changed after it was made, and the library reads it from any thread.
unsafe impl Send for Descriptor {}
// SAFETY: as above.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    fn new((create, destroy): (Create, Destroy)) -> Result<Descriptor, Status> {
        let mut at = std::ptr::null_mut();
        // SAFETY: writes one pointer.
        match unsafe { create(&mut at) } {
            0 => Ok(Descriptor { at, destroy }),
            status => Err(status),
        }
    }

    /// A tensor of these extents, in the order batch, channels, pixels, with the channels last in memory.
    fn tensor(functions: &Functions, element: c_int, dims: &[c_int]) -> Result<Descriptor, Status> {
        let made = Descriptor::new(functions.tensors)?;
        let mut steps: SmallVec<[c_int; 5]> = smallvec![1; dims.len()];
        let mut step = dims[1];
        for (at, extent) in steps.iter_mut().zip(dims).skip(2).rev() {
            *at = step;
            step *= extent;
        }
        steps[0] = step;
        let rank = dims.len() as c_int;
        // SAFETY: both lists have that many entries.
        done(unsafe { (functions.set_tensor)(made.at, element, rank, dims.as_ptr(), steps.as_ptr()) })?;
        Ok(made)
    }

    /// A filter of these extents, in the order results, channels, window, with the channels last in memory.
    fn filter(functions: &Functions, element: c_int, dims: &[c_int]) -> Result<Descriptor, Status> {
        let made = Descriptor::new(functions.filters)?;
        // SAFETY: the list has that many entries.
        done(unsafe { (functions.set_filter)(made.at, element, NHWC, dims.len() as c_int, dims.as_ptr()) })?;
        Ok(made)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by the library, and is destroyed once.
        unsafe { (self.destroy)(self.at) };
    }
}

fn done(status: Status) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(status) }
}

/// How the library, whose padding is the same on both sides, takes one dimension of the images.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fit {
    /// What the library pads with on either side.
    pad: usize,
    /// The extent of the images that it is given,
    input: usize,
    /// in which the images begin here.
    before: usize,
}

impl Fit {
    /// `None` where no padding gives the extent of the result.
    fn of(a: &Axis) -> Option<Fit> {
        let span = (a.window - 1) * a.dilation + 1;
        let output = |padded: usize| padded.checked_sub(span).map(|rest| rest / a.stride + 1);
        if output(a.input + 2 * a.before) == Some(a.output) {
            return Some(Fit { pad: a.before, input: a.input, before: 0 });
        }
        // The images are padded before.
        let input = (a.before + a.input).max((a.output - 1) * a.stride + span);
        (output(input) == Some(a.output)).then_some(Fit { pad: 0, input, before: a.before })
    }
}

/// A convolution of one geometry that is ready to run.
struct Plan {
    a: Descriptor,
    b: Descriptor,
    result: Descriptor,
    convolution: Descriptor,
    calls: Calls,
    algorithm: c_int,
    math: c_int,
    /// Bytes of working memory.
    workspace: usize,
    /// Whether sums are in double precision.
    is_double: bool,
    /// Of each dimension that there is.
    fits: SmallVec<[Fit; 3]>,
}

impl Plan {
    /// Decides how the library computes a convolution; the reason where it does not.
    fn new(dnn: &Dnn, key: Key) -> Result<Result<Plan, String>> {
        let functions = dnn.functions;
        match Plan::of(dnn, key) {
            Ok(plan) => Ok(plan),
            Err(status) if is_refused(status) => Ok(Err(functions.text(status))),
            Err(status) => Err(functions.error(status)),
        }
    }

    fn of(dnn: &Dnn, key: Key) -> Result<Result<Plan, String>, Status> {
        let Key { kind, dtype, geometry: g } = key;
        let Some((element, sum, math)) = types(dtype) else { return Ok(Err("its dtype".to_string())) };
        let axes = &g.axes[spatial(&g)..];
        let Some(fits) = axes.iter().map(Fit::of).collect::<Option<SmallVec<[Fit; 3]>>>() else {
            return Ok(Err("its padding".to_string()));
        };
        let images = |pixels: &[usize], channels: usize| narrow([&[g.batch, channels], pixels].concat());
        let list = |of: fn(&Axis) -> usize| axes.iter().map(of).collect::<Vec<_>>();
        let inputs: Vec<usize> = fits.iter().map(|f| f.input).collect();
        let extents = (
            images(&inputs, g.groups * g.in_channels),
            images(&list(|a| a.output), g.groups * g.out_channels),
            narrow([&[g.groups * g.out_channels, g.in_channels], &list(|a| a.window)[..]].concat()),
            narrow(fits.iter().map(|f| f.pad).collect()),
            narrow(list(|a| a.stride)),
            narrow(list(|a| a.dilation)),
        );
        let (Some(x), Some(y), Some(filter), Some(pads), Some(strides), Some(dilations)) = extents else {
            return Ok(Err("its size".to_string()));
        };
        let f = dnn.functions;
        let x = Descriptor::tensor(f, element, &x)?;
        let y = Descriptor::tensor(f, element, &y)?;
        let filter = Descriptor::filter(f, element, &filter)?;
        let convolution = Descriptor::new(f.convolutions)?;
        let rank = axes.len() as c_int;
        // SAFETY: the lists have that many entries.
        unsafe {
            done((f.set_convolution)(
                convolution.at,
                rank,
                pads.as_ptr(),
                strides.as_ptr(),
                dilations.as_ptr(),
                CROSS_CORRELATION,
                sum,
            ))?;
            done((f.set_groups)(convolution.at, g.groups as c_int))?;
            done((f.set_math)(convolution.at, math))?;
        }
        let (a, b, result) = match kind {
            Convolution::Forward => (x, filter, y),
            Convolution::InputGrad => (filter, y, x),
            Convolution::FilterGrad => (x, y, filter),
        };
        let calls = *f.calls(kind);
        let is_double = dtype == DType::F64;
        let mut plan = Plan { a, b, result, convolution, calls, algorithm: 0, math, workspace: 0, is_double, fits };
        Ok(match plan.choose(dnn, dtype)? {
            None => Ok(plan),
            Some(reason) => Err(reason),
        })
    }

    /// Takes the first of the library's proposals that gives the same bits each time, by sums of products; the reason where there is none.
    fn choose(&mut self, dnn: &Dnn, dtype: DType) -> Result<Option<String>, Status> {
        let f = dnn.functions;
        let handle = lock(&dnn.handle);
        let mut choices = [Choice::default(); 16];
        let most = self.calls.most;
        let mut count = 0;
        let (a, b, convolution, result) = (self.a.at, self.b.at, self.convolution.at, self.result.at);
        // SAFETY: the list has room for as many.
        done(unsafe {
            (self.calls.choices)(handle.0, a, b, convolution, result, most as c_int, &mut count, choices.as_mut_ptr())
        })?;
        let mut refused = Vec::new();
        for choice in &choices[..usize::try_from(count).unwrap_or(0).min(most)] {
            let Choice { algorithm, status, determinism, .. } = *choice;
            let mut refuse = |why: &str| refused.push(format!("algorithm {algorithm}: {why}"));
            if status != 0 {
                refuse(&f.text(status));
                continue;
            }
            if determinism != DETERMINISTIC || !self.calls.exact.contains(&algorithm) {
                refuse("other bits or by transforms");
                continue;
            }
            // The proposals for 16-bit floats differ in what multiplies.
            if matches!(dtype, DType::F16 | DType::Bf16) {
                self.math = choice.math;
            }
            let mut bytes = 0;
            // SAFETY: the size is written to `bytes`.
            let status = unsafe {
                done((f.set_math)(convolution, self.math))?;
                (self.calls.workspace)(handle.0, a, b, convolution, result, algorithm, &mut bytes)
            };
            match status {
                0 if bytes <= WORKSPACE_MOST => {
                    (self.algorithm, self.workspace) = (algorithm, bytes);
                    return Ok(None);
                }
                0 => refuse("working memory"),
                status if is_refused(status) => refuse(&f.text(status)),
                status => return Err(status),
            }
        }
        Ok(Some(refused.join("; ")))
    }

    /// Hands the convolution to the stream of a handle: allocates nothing, and waits for nothing.
    ///
    /// # Safety
    /// The addresses are of memory of the handle's device, of the result and of both operands as they are described, and of as many bytes
    /// of working memory as the plan asks for.
    unsafe fn run(&self, handle: &Mutex<Pointer>, [result, a, b]: [u64; 3], workspace: u64) -> Status {
        let (one_f32, zero_f32, one_f64, zero_f64) = (1f32, 0f32, 1f64, 0f64);
        let scales: [*const c_void; 2] = if self.is_double {
            [std::ptr::from_ref(&one_f64).cast(), std::ptr::from_ref(&zero_f64).cast()]
        } else {
            [std::ptr::from_ref(&one_f32).cast(), std::ptr::from_ref(&zero_f32).cast()]
        };
        let handle = lock(handle);
        // SAFETY: the caller's promise; the factors are read by the call.
        unsafe {
            (self.calls.run)(
                handle.0,
                scales[0],
                self.a.at,
                a as *const c_void,
                self.b.at,
                b as *const c_void,
                self.convolution.at,
                self.algorithm,
                workspace as *mut c_void,
                self.workspace,
                scales[1],
                self.result.at,
                result as *mut c_void,
            )
        }
    }
}

/// A convolution by a plan: where its result, its operands and its working memory are.
#[derive(Clone)]
pub(crate) struct Convolve {
    plan: Arc<Plan>,
    at: [u64; 3],
    workspace: u64,
}

impl PartialEq for Convolve {
    fn eq(&self, other: &Convolve) -> bool {
        Arc::ptr_eq(&self.plan, &other.plan) && self.at == other.at && self.workspace == other.workspace
    }
}

impl Convolve {
    /// Hands it to a stream of the device: the one on which everything runs, or the one that captures.
    ///
    /// # Errors
    /// `Unimplemented` where the library does not take it.
    ///
    /// # Safety
    /// The addresses are of memory of this device, as the plan describes it.
    pub(crate) unsafe fn run(&self, device: &Opened, captures: bool) -> Result<()> {
        let dnn = device.dnn.get().and_then(Option::as_ref).ok_or_else(|| Error::internal("cuDNN is not open"))?;
        let handle = if captures { &dnn.captures } else { &dnn.handle };
        // SAFETY: the caller's promise.
        let status = unsafe { self.plan.run(handle, self.at, self.workspace) };
        if is_unsupported(status) {
            return Err(Error::unimplemented(dnn.functions.text(status)));
        }
        dnn.functions.check(status)
    }
}

/// The first spatial dimension that the library is given: it takes two, or three.
fn spatial(g: &Geometry) -> usize {
    usize::from(g.axes[0] == Axis::NONE)
}

/// Extents as the library has them; `None` where they, or their product, take more than 32 bits.
fn narrow(extents: Vec<usize>) -> Option<SmallVec<[c_int; 5]>> {
    extents.iter().try_fold(1usize, |n, &e| n.checked_mul(e.max(1))).filter(|&n| n <= super::NARROW_LIMIT)?;
    extents.into_iter().map(|e| c_int::try_from(e).ok()).collect()
}

/// Queues a convolution; `false` where the library is missing, or does not take it.
///
/// # Safety
/// The addresses are of memory of this device: of the result, and of both operands in the order of [`Convolution`], by the geometry. No
/// extent is 0.
pub(super) unsafe fn convolve(
    device: &Arc<Opened>,
    kind: Convolution,
    dtype: DType,
    g: &Geometry,
    [result, a, b]: [u64; 3],
) -> Result<bool> {
    let Some(dnn) = Dnn::on(device).filter(|dnn| dnn.is_used.load(Ordering::Relaxed)) else { return Ok(false) };
    let key = Key { kind, dtype, geometry: *g };
    let Prepared::Plan(plan) = dnn.prepared(key)? else { return Ok(false) };
    let size = dtype.size();
    let filter = Filter::new(g, size);
    let images = Images::new(g, size, &plan.fits);
    let workspace = if plan.workspace == 0 { None } else { Some(table(device, plan.workspace, 1)?) };
    let at_start = |memory: &Memory| memory.address;
    let run = |at: [u64; 3]| {
        let convolve = Convolve { plan: plan.clone(), at, workspace: workspace.as_ref().map_or(0, at_start) };
        // SAFETY: the caller's promise. The copies have the extents that the plan describes, and are freed behind the work.
        unsafe { device.queue.push(device, Command::Convolve(convolve)) }
    };
    // SAFETY: the caller's promise.
    let queued = unsafe {
        match kind {
            Convolution::Forward => {
                let (x, filter) = (images.padded(device, a)?, filter.turned(device, b)?);
                run([result, x.as_ref().map_or(a, at_start), filter.address])
            }
            Convolution::InputGrad => {
                let (dx, filter) = (images.room(device)?, filter.turned(device, a)?);
                run([dx.as_ref().map_or(result, at_start), filter.address, b]).and_then(|()| match &dx {
                    Some(dx) => images.cut(device, dx.address, result),
                    None => Ok(()),
                })
            }
            Convolution::FilterGrad => {
                let (x, turned) = (images.padded(device, a)?, filter.room(device)?);
                run([turned.address, x.as_ref().map_or(a, at_start), b])
                    .and_then(|()| filter.turn_back(device, turned.address, result))
            }
        }
    };
    match queued {
        Err(e) if e.class() == Class::Unimplemented => {
            lock(&dnn.plans).insert(key, Prepared::Patches(e.message().to_string()));
            Ok(false)
        }
        queued => queued.map(|()| true),
    }
}

/// A filter, whose results come last here, and first in the library.
struct Filter {
    /// Elements of the window and channels,
    rows: usize,
    /// and results.
    columns: usize,
    size: usize,
}

impl Filter {
    fn new(g: &Geometry, size: usize) -> Filter {
        let window: usize = g.axes.iter().map(|a| a.window).product();
        Filter { rows: window * g.in_channels, columns: g.groups * g.out_channels, size }
    }

    fn room(&self, device: &Arc<Opened>) -> Result<Memory> {
        table(device, self.rows * self.columns, self.size)
    }

    /// # Safety
    /// The address is of the filter's memory.
    unsafe fn turned(&self, device: &Arc<Opened>, from: u64) -> Result<Memory> {
        let to = self.room(device)?;
        // SAFETY: both have as many elements.
        unsafe { transpose(device, self.size, to.address, from, [self.rows, self.columns]) }?;
        Ok(to)
    }

    /// # Safety
    /// The addresses are of memory for the filter.
    unsafe fn turn_back(&self, device: &Arc<Opened>, from: u64, to: u64) -> Result<()> {
        // SAFETY: both have as many elements.
        unsafe { transpose(device, self.size, to, from, [self.columns, self.rows]) }
    }
}

/// Queues the transposition of a matrix.
///
/// # Safety
/// Both addresses are of memory of this device for the matrix.
unsafe fn transpose(device: &Arc<Opened>, size: usize, to: u64, from: u64, [rows, columns]: [usize; 2]) -> Result<()> {
    let len = rows * columns;
    let dims = [
        CopyDim { extent: rows, from: columns as isize, to: 1 },
        CopyDim { extent: columns, from: 1, to: rows as isize },
    ];
    // SAFETY: the caller's promise; the copy stays within.
    unsafe { copy(device, size, to, len, from, len, &dims, (0, 0)) }
}

/// Images, and those that the library is given, which may be padded.
struct Images {
    /// Extents of the images and of the padded ones, and where the images begin in them.
    dims: [usize; 5],
    padded: [usize; 5],
    before: [usize; 5],
    size: usize,
}

impl Images {
    fn new(g: &Geometry, size: usize, fits: &[Fit]) -> Images {
        let all = |pixels: [usize; 3]| [g.batch, pixels[0], pixels[1], pixels[2], g.groups * g.in_channels];
        let dims = all(g.axes.map(|a| a.input));
        let (mut padded, mut before) = (dims, [0; 5]);
        let first = 1 + spatial(g);
        for (i, fit) in fits.iter().enumerate() {
            (padded[first + i], before[first + i]) = (fit.input, fit.before);
        }
        Images { dims, padded, before, size }
    }

    /// Memory for padded images; `None` where they are the images.
    fn room(&self, device: &Arc<Opened>) -> Result<Option<Memory>> {
        if self.dims == self.padded {
            return Ok(None);
        }
        table(device, self.padded.iter().product(), self.size).map(Some)
    }

    /// Padded images; `None` where they are the images.
    ///
    /// # Safety
    /// The address is of the images' memory.
    unsafe fn padded(&self, device: &Arc<Opened>, from: u64) -> Result<Option<Memory>> {
        let Some(to) = self.room(device)? else { return Ok(None) };
        let len: usize = self.padded.iter().product();
        // SAFETY: the memory has as many bytes, and the images lie within the padded ones.
        unsafe {
            zero(device, to.address, len * self.size)?;
            let dims = self.box_of(|own, padded| (own, padded));
            let own = self.dims.iter().product();
            copy(device, self.size, to.address, len, from, own, &dims, (0, self.start()))?;
        }
        Ok(Some(to))
    }

    /// Queues the copy of the images out of padded ones.
    ///
    /// # Safety
    /// The addresses are of memory for padded images, and for the images.
    unsafe fn cut(&self, device: &Arc<Opened>, from: u64, to: u64) -> Result<()> {
        let dims = self.box_of(|own, padded| (padded, own));
        let (len, own) = (self.padded.iter().product(), self.dims.iter().product());
        // SAFETY: the images lie within the padded ones.
        unsafe { copy(device, self.size, to, own, from, len, &dims, (self.start(), 0)) }
    }

    /// The images as a box, with steps from those in the images and in the padded ones.
    fn box_of(&self, sides: fn(usize, usize) -> (usize, usize)) -> [CopyDim; 5] {
        let (own, padded) = (steps(&self.dims), steps(&self.padded));
        std::array::from_fn(|i| {
            let (from, to) = sides(own[i], padded[i]);
            CopyDim { extent: self.dims[i], from: from as isize, to: to as isize }
        })
    }

    /// The element of the padded images at which the images begin.
    fn start(&self) -> usize {
        self.before.iter().zip(steps(&self.padded)).map(|(at, step)| at * step).sum()
    }
}

/// Elements from one entry of each dimension to the next.
fn steps(dims: &[usize; 5]) -> [usize; 5] {
    let mut out = [1; 5];
    for i in (0..4).rev() {
        out[i] = out[i + 1] * dims[i + 1];
    }
    out
}
