//! cuBLAS, found when it is first needed.

#![expect(unsafe_code, reason = "calls into a library that is loaded at run time")]

use std::any::Any;
use std::ffi::{c_int, c_longlong, c_void};
use std::sync::{Arc, OnceLock};

use cudarc::driver::CudaStream;
use libloading::Library;
use penstock_data::{DType, Error, Result, settings};

use super::product::{BatchDim, Matrices};
use crate::nvrtc::library_files;
use crate::opened::Opened;
use crate::queue::{Call, Command};

/// The environment variable that names the library's file, or the folder that it is in; empty for none.
pub const CUBLAS_VARIABLE: &str = "PENSTOCK_CUBLAS";

#[cfg(windows)]
const NAMES: &[&str] = &["cublas64_13.dll", "cublas64_12.dll"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcublas.so.13", "libcublas.so.12", "libcublas.so"];

/// The folders of `site-packages` in which NVIDIA's wheels put the library.
pub(super) const WHEEL_FOLDERS: &[&str] =
    &["nvidia/cu13/lib", "nvidia/cu13/bin/x86_64", "nvidia/cublas/lib", "nvidia/cublas/bin"];

/// Bytes of working memory, as the library's manual advises for its newest devices.
const WORKSPACE: usize = 32 << 20;

type Handle = *mut c_void;

/// `cublasStatus_t`.
const SUCCESS: c_int = 0;
/// `cublasOperation_t`: as it is stored, and transposed.
const PLAIN: c_int = 0;
const TRANSPOSED: c_int = 1;
/// `cublasGemmAlgo_t`: the library chooses.
const DEFAULT_ALGORITHM: c_int = -1;

/// `cudaDataType_t` of elements, and `cublasComputeType_t` of sums: in full precision.
fn types(dtype: DType) -> Option<(c_int, c_int)> {
    const COMPUTE_32F: c_int = 68;
    const COMPUTE_64F: c_int = 70;
    Some(match dtype {
        DType::F32 => (0, COMPUTE_32F),
        DType::F64 => (1, COMPUTE_64F),
        DType::F16 => (2, COMPUTE_32F),
        DType::Bf16 => (14, COMPUTE_32F),
        _ => return None,
    })
}

struct Functions {
    create: unsafe extern "C" fn(*mut Handle) -> c_int,
    set_stream: unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
    set_workspace: unsafe extern "C" fn(Handle, *mut c_void, usize) -> c_int,
    product: unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        *const c_void,
        *const c_void,
        c_int,
        c_int,
        c_longlong,
        *const c_void,
        c_int,
        c_int,
        c_longlong,
        *const c_void,
        *mut c_void,
        c_int,
        c_int,
        c_longlong,
        c_int,
        c_int,
        c_int,
    ) -> c_int,
    /// Kept loaded.
    _libraries: Vec<Library>,
}

impl Functions {
    /// The library; `None` where it is not installed.
    fn get() -> Option<&'static Functions> {
        static FOUND: OnceLock<Option<Functions>> = OnceLock::new();
        FOUND.get_or_init(Functions::find).as_ref()
    }

    fn find() -> Option<Functions> {
        if std::env::var_os(CUBLAS_VARIABLE).is_some_and(|v| v.is_empty()) {
            return None;
        }
        let found = library_files(CUBLAS_VARIABLE, WHEEL_FOLDERS, NAMES).into_iter().find_map(|path| {
            // The library needs its other half, which is beside it.
            let beside = path.parent().and_then(|folder| {
                let name = path.file_name()?.to_str()?.replace("cublas", "cublasLt");
                Some(folder.join(name))
            });
            let mut libraries = Vec::new();
            if let Some(file) = beside.filter(|file| file.exists()) {
                // SAFETY: NVIDIA's library; loading it has no effect beyond its own initialisation.
                libraries.push(unsafe { Library::new(file) }.ok()?);
            }
            // SAFETY: NVIDIA's library; loading it has no effect beyond its own initialisation.
            let library = unsafe { Library::new(&path) }.ok()?;
            // SAFETY: the types are those of cublas_v2.h since CUDA 11; the library is kept loaded.
            unsafe {
                let create = *library.get(b"cublasCreate_v2\0").ok()?;
                let set_stream = *library.get(b"cublasSetStream_v2\0").ok()?;
                let set_workspace = *library.get(b"cublasSetWorkspace_v2\0").ok()?;
                let product = *library.get(b"cublasGemmStridedBatchedEx\0").ok()?;
                libraries.push(library);
                Some(Functions { create, set_stream, set_workspace, product, _libraries: libraries })
            }
        });
        let named = std::env::var_os(CUBLAS_VARIABLE);
        if let (None, Some(named)) = (&found, named) {
            settings::warn_of(CUBLAS_VARIABLE, &named, "the path of a cuBLAS that loads");
        }
        found
    }
}

fn check(code: c_int) -> Result<()> {
    match code {
        SUCCESS => Ok(()),
        3 => Err(Error::exhausted("cuBLAS: out of memory on the GPU")),
        _ => Err(Error::internal(format!("cuBLAS: status {code}"))),
    }
}

/// The library on one device.
#[derive(Clone, Copy)]
pub(super) struct Blas {
    functions: &'static Functions,
    /// With the stream on which everything runs.
    runs: Handle,
    /// With the one that captures. Both have the same working memory, since what was captured runs on the other one.
    captures: Handle,
}

// SAFETY: a handle may be used by any thread, one at a time: they are used under the lock of the queue.
unsafe impl Send for Blas {}
// SAFETY: as above.
unsafe impl Sync for Blas {}

impl Blas {
    /// Loads the library, where it is installed.
    pub(super) fn load() {
        Functions::get();
    }

    /// The library on a device; `None` where it is not installed, or does not start.
    fn on(device: &Arc<Opened>) -> Option<Blas> {
        *device.blas.get(|| Functions::get().and_then(|functions| Blas::open(device, functions).ok()))
    }

    fn open(device: &Arc<Opened>, functions: &'static Functions) -> Result<Blas> {
        let workspace = device.memory(WORKSPACE).map_err(crate::driver::failure)?;
        let handle = |stream: &CudaStream| -> Result<Handle> {
            let mut handle = std::ptr::null_mut();
            // SAFETY: the device is the calling thread's; the stream and the memory live as long as the device, which is never closed.
            unsafe {
                check((functions.create)(&mut handle))?;
                check((functions.set_stream)(handle, stream.cu_stream().cast()))?;
                check((functions.set_workspace)(handle, workspace.address as *mut c_void, WORKSPACE))?;
            }
            Ok(handle)
        };
        let (runs, captures) = (handle(&device.stream)?, handle(device.queue.capture())?);
        std::mem::forget(workspace);
        Ok(Blas { functions, runs, captures })
    }

    /// Queues a product; `false` where the library is missing, or does not take it.
    ///
    /// # Safety
    /// The addresses are of memory of this device for the matrices of the result and of the operands.
    pub(super) unsafe fn product(device: &Arc<Opened>, matrices: &Matrices, [c, a, b]: [u64; 3]) -> Result<bool> {
        /// Calls beyond which one kernel for all is better.
        const CALLS: usize = 64;
        let Matrices { m, k, n, rows, transposed, dtype, out, .. } = *matrices;
        let narrow = |v: usize| c_int::try_from(v).ok();
        let (Some(_), Some(_)) = (types(dtype), types(out)) else { return Ok(false) };
        let sizes = [m, k, n, rows[0], rows[1], rows[2]].map(narrow);
        let [Some(m), Some(k), Some(n), Some(c_row), Some(a_row), Some(b_row)] = sizes else { return Ok(false) };
        // The last dimension is the library's batch, the others are walked here.
        let (last, outer) = matrices.batch.split_last().unwrap_or((&BatchDim::ONE, &[]));
        let walks: usize = outer.iter().map(|d| d.extent).product();
        let (Some(count), true) = (narrow(last.extent), walks <= CALLS) else { return Ok(false) };
        let Some(blas) = Blas::on(device) else { return Ok(false) };
        for walk in 0..walks {
            let mut rest = walk;
            let mut at = [0; 3];
            for dim in outer.iter().rev() {
                let i = rest % dim.extent;
                at = [at[0] + i * dim.c, at[1] + i * dim.a, at[2] + i * dim.b];
                rest /= dim.extent;
            }
            let place = |start: u64, at: usize, dtype: DType| start + (at * dtype.size()) as u64;
            let gemm = Gemm {
                blas,
                sizes: [m, k, n],
                rows: [c_row, a_row, b_row],
                transposed,
                at: [place(c, at[0], out), place(a, at[1], dtype), place(b, at[2], dtype)],
                steps: [last.c, last.a, last.b].map(|step| step as c_longlong),
                count,
                dtype,
                out,
            };
            // SAFETY: the caller's promise; the offsets and steps are those of the batch dimensions.
            unsafe { device.queue.push(device, Command::Call(Arc::new(gemm))) }?;
        }
        Ok(true)
    }
}

/// A call of the library: products of `count` matrices by rows, `c` of `m` by `n` being the sum over `k` of `a` times `b`.
struct Gemm {
    blas: Blas,
    /// `m`, `k` and `n`.
    sizes: [c_int; 3],
    /// Elements from row to row of `c`, `a` and `b`,
    rows: [c_int; 3],
    /// whether `a` and `b` are stored transposed,
    transposed: [bool; 2],
    /// where the matrices are,
    at: [u64; 3],
    /// and elements from one to the next.
    steps: [c_longlong; 3],
    count: c_int,
    dtype: DType,
    /// The dtype of `c`.
    out: DType,
}

impl Gemm {
    /// All but the library.
    fn shape(&self) -> impl PartialEq {
        (self.sizes, self.rows, self.transposed, self.at, self.steps, self.count, self.dtype, self.out)
    }
}

impl Call for Gemm {
    unsafe fn run(&self, captures: bool) -> Result<()> {
        let blas = &self.blas;
        let unknown = || Error::internal("cuBLAS has no such dtype");
        let ((element, sum), (made, _)) = types(self.dtype).zip(types(self.out)).ok_or_else(unknown)?;
        let (one_f32, zero_f32, one_f64, zero_f64) = (1f32, 0f32, 1f64, 0f64);
        let scales: [*const c_void; 2] = if self.dtype == DType::F64 {
            [std::ptr::from_ref(&one_f64).cast(), std::ptr::from_ref(&zero_f64).cast()]
        } else {
            [std::ptr::from_ref(&one_f32).cast(), std::ptr::from_ref(&zero_f32).cast()]
        };
        let [a_form, b_form] = self.transposed.map(|transposed| if transposed { TRANSPOSED } else { PLAIN });
        let ([m, k, n], [c_row, a_row, b_row], [c, a, b]) = (self.sizes, self.rows, self.at);
        // The library's matrices are stored by columns, so it is given the transposed product: `c^T = b^T a^T`.
        // SAFETY: the caller's promise.
        check(unsafe {
            (blas.functions.product)(
                if captures { blas.captures } else { blas.runs },
                b_form,
                a_form,
                n,
                m,
                k,
                scales[0],
                b as *const c_void,
                element,
                b_row,
                self.steps[2],
                a as *const c_void,
                element,
                a_row,
                self.steps[1],
                scales[1],
                c as *mut c_void,
                made,
                c_row,
                self.steps[0],
                self.count,
                sum,
                DEFAULT_ALGORITHM,
            )
        })
    }

    fn is_same(&self, other: &dyn Call) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Gemm>().is_some_and(|other| self.shape() == other.shape())
    }
}
