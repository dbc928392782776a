//! The library: its file, its functions for convolutions, its descriptors.

use std::error::Error as _;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;
use penstock_data::{DType, Error, Result};
use penstock_ir::Convolution;
use smallvec::{SmallVec, smallvec};

use super::super::blas::Blas;
use crate::nvrtc::{NamedFile, library_files};

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

pub(super) type Handle = *mut c_void;
pub(super) type Status = c_int;

/// `cudnnMathType_t`: the library's choice, matrix units for 16-bit floats, and full precision.
const DEFAULT_MATH: c_int = 0;
const TENSOR_OP_MATH: c_int = 1;
const FMA_MATH: c_int = 3;
/// `cudnnTensorFormat_t`: channels last.
const NHWC: c_int = 1;
/// `cudnnConvolutionMode_t`: the filter is not flipped.
pub(super) const CROSS_CORRELATION: c_int = 1;
/// `cudnnDeterminism_t`.
pub(super) const DETERMINISTIC: c_int = 1;

/// `cudnnDataType_t` of elements and of sums, and `cudnnMathType_t`.
pub(super) fn types(dtype: DType) -> Option<(c_int, c_int, c_int)> {
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
pub(super) struct Choice {
    pub(super) algorithm: c_int,
    pub(super) status: Status,
    time: f32,
    memory: usize,
    pub(super) determinism: c_int,
    pub(super) math: c_int,
    reserved: [c_int; 3],
}

/// The functions of one kind of convolution: of operands `a` and `b`, in the order of [`Convolution`], and of the result.
#[derive(Clone, Copy)]
pub(super) struct Calls {
    pub(super) choices: unsafe extern "C" fn(
        Handle,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        c_int,
        *mut c_int,
        *mut Choice,
    ) -> Status,
    pub(super) workspace:
        unsafe extern "C" fn(Handle, *mut c_void, *mut c_void, *mut c_void, *mut c_void, c_int, *mut usize) -> Status,
    pub(super) run: unsafe extern "C" fn(
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
    pub(super) most: usize,
    /// Those that add up products of the elements, however they order them. The others go by transforms, whose rounding is that of the
    /// largest elements around, and whose infinities spread.
    pub(super) exact: &'static [c_int],
}

type Create = unsafe extern "C" fn(*mut *mut c_void) -> Status;
type Destroy = unsafe extern "C" fn(*mut c_void) -> Status;

pub(super) struct Functions {
    pub(super) create: Create,
    pub(super) set_stream: unsafe extern "C" fn(Handle, *mut c_void) -> Status,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    tensors: (Create, Destroy),
    filters: (Create, Destroy),
    pub(super) convolutions: (Create, Destroy),
    set_tensor: unsafe extern "C" fn(*mut c_void, c_int, c_int, *const c_int, *const c_int) -> Status,
    set_filter: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *const c_int) -> Status,
    pub(super) set_convolution:
        unsafe extern "C" fn(*mut c_void, c_int, *const c_int, *const c_int, *const c_int, c_int, c_int) -> Status,
    pub(super) set_groups: unsafe extern "C" fn(*mut c_void, c_int) -> Status,
    pub(super) set_math: unsafe extern "C" fn(*mut c_void, c_int) -> Status,
    forward: Calls,
    input_grad: Calls,
    filter_grad: Calls,
    pub(super) version: usize,
    pub(super) path: PathBuf,
    /// Kept loaded.
    _library: Library,
}

impl Functions {
    /// The library; the places that were tried, and why, where it is not installed.
    pub(super) fn get() -> Result<&'static Functions, &'static String> {
        static FOUND: OnceLock<Result<Functions, String>> = OnceLock::new();
        FOUND.get_or_init(Functions::find).as_ref()
    }

    fn find() -> Result<Functions, String> {
        if std::env::var_os(CUDNN_VARIABLE).is_some_and(|v| v.is_empty()) {
            return Err(format!("{CUDNN_VARIABLE} is empty"));
        }
        // It uses cuBLAS, and finds it where that is loaded.
        Blas::load();
        let files = FILE.files(CUDNN_VARIABLE).unwrap_or_else(|| library_files(CUDNN_VARIABLE, WHEEL_FOLDERS, NAMES));
        let mut tried = Vec::new();
        for path in files {
            // SAFETY: NVIDIA's library, which is kept loaded beside its functions; loading it has no effect beyond its own initialisation.
            match unsafe { Library::new(&path).and_then(|library| Functions::of(library, path.clone())) } {
                Ok(functions) if functions.version >= OLDEST => return Ok(functions),
                Ok(functions) => tried.push(format!("{}: version {}", path.display(), functions.version)),
                Err(error) => {
                    let why = error.source().map(|source| format!(": {source}")).unwrap_or_default();
                    tried.push(format!("{}: {error}{why}", path.display()));
                }
            }
        }
        Err(tried.join("; "))
    }

    /// # Safety
    /// `library` is cuDNN.
    unsafe fn of(library: Library, path: PathBuf) -> Result<Functions, libloading::Error> {
        // SAFETY: the types are those of cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h of cuDNN 9, and of 8 for the version; the library is
        // kept loaded.
        unsafe {
            let version: unsafe extern "C" fn() -> usize = *library.get(b"cudnnGetVersion\0")?;
            Ok(Functions {
                create: *library.get(b"cudnnCreate\0")?,
                set_stream: *library.get(b"cudnnSetStream\0")?,
                error_string: *library.get(b"cudnnGetErrorString\0")?,
                tensors: (
                    *library.get(b"cudnnCreateTensorDescriptor\0")?,
                    *library.get(b"cudnnDestroyTensorDescriptor\0")?,
                ),
                filters: (
                    *library.get(b"cudnnCreateFilterDescriptor\0")?,
                    *library.get(b"cudnnDestroyFilterDescriptor\0")?,
                ),
                convolutions: (
                    *library.get(b"cudnnCreateConvolutionDescriptor\0")?,
                    *library.get(b"cudnnDestroyConvolutionDescriptor\0")?,
                ),
                set_tensor: *library.get(b"cudnnSetTensorNdDescriptor\0")?,
                set_filter: *library.get(b"cudnnSetFilterNdDescriptor\0")?,
                set_convolution: *library.get(b"cudnnSetConvolutionNdDescriptor\0")?,
                set_groups: *library.get(b"cudnnSetConvolutionGroupCount\0")?,
                set_math: *library.get(b"cudnnSetConvolutionMathType\0")?,
                forward: Calls {
                    choices: *library.get(b"cudnnGetConvolutionForwardAlgorithm_v7\0")?,
                    workspace: *library.get(b"cudnnGetConvolutionForwardWorkspaceSize\0")?,
                    run: *library.get(b"cudnnConvolutionForward\0")?,
                    most: 8,
                    exact: &[0, 1, 2, 3],
                },
                input_grad: Calls {
                    choices: *library.get(b"cudnnGetConvolutionBackwardDataAlgorithm_v7\0")?,
                    workspace: *library.get(b"cudnnGetConvolutionBackwardDataWorkspaceSize\0")?,
                    run: *library.get(b"cudnnConvolutionBackwardData\0")?,
                    most: 6,
                    exact: &[0, 1],
                },
                filter_grad: Calls {
                    choices: *library.get(b"cudnnGetConvolutionBackwardFilterAlgorithm_v7\0")?,
                    workspace: *library.get(b"cudnnGetConvolutionBackwardFilterWorkspaceSize\0")?,
                    run: *library.get(b"cudnnConvolutionBackwardFilter\0")?,
                    most: 7,
                    exact: &[0, 1, 3],
                },
                version: version(),
                path,
                _library: library,
            })
        }
    }

    pub(super) fn calls(&self, kind: Convolution) -> &Calls {
        match kind {
            Convolution::Forward => &self.forward,
            Convolution::InputGrad => &self.input_grad,
            Convolution::FilterGrad => &self.filter_grad,
        }
    }

    pub(super) fn text(&self, status: Status) -> String {
        // SAFETY: gives a static string for any number.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) };
        format!("{} ({status})", text.to_string_lossy())
    }

    pub(super) fn error(&self, status: Status) -> Error {
        const DEVICE_ALLOCATION_FAILED: Status = 4004;
        let text =
            format!("cuDNN: {}; without it, where {CUDNN_VARIABLE} is empty, products compute", self.text(status));
        if status == DEVICE_ALLOCATION_FAILED { Error::exhausted(text) } else { Error::internal(text) }
    }

    pub(super) fn check(&self, status: Status) -> Result<()> {
        if status == 0 { Ok(()) } else { Err(self.error(status)) }
    }
}

/// Whether the library does not take a convolution: statuses of the thousand `NOT_SUPPORTED`.
pub(super) fn is_unsupported(status: Status) -> bool {
    status / 1000 == 3
}

/// Whether the library refuses a description: as unsupported, or as one that it has no meaning for.
pub(super) fn is_refused(status: Status) -> bool {
    is_unsupported(status) || status / 1000 == 2
}
/// A descriptor of the library, destroyed with this value.
pub(super) struct Descriptor {
    pub(super) at: *mut c_void,
    destroy: Destroy,
}

// SAFETY: a descriptor is not changed after it was made, and the library reads it from any thread.
unsafe impl Send for Descriptor {}
// SAFETY: as above.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    pub(super) fn new((create, destroy): (Create, Destroy)) -> Result<Descriptor, Status> {
        let mut at = std::ptr::null_mut();
        // SAFETY: writes one pointer.
        match unsafe { create(&mut at) } {
            0 => Ok(Descriptor { at, destroy }),
            status => Err(status),
        }
    }

    /// A tensor of these extents, in the order batch, channels, pixels, with the channels last in memory.
    pub(super) fn tensor(functions: &Functions, element: c_int, dims: &[c_int]) -> Result<Descriptor, Status> {
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
    pub(super) fn filter(functions: &Functions, element: c_int, dims: &[c_int]) -> Result<Descriptor, Status> {
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

pub(super) fn done(status: Status) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(status) }
}
