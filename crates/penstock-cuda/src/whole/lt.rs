//! cublasLt, found when it is first needed: products with a vector added to each row, and of 8-bit integers.
//!
//! Of its other epilogues ReLU is used, which passes NaN on (`make gpu-check GPU_STAGES=epilogues`); its GELU is an approximation of its own.

#![expect(unsafe_code, reason = "calls into a library that is loaded at run time")]

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use libloading::Library;
use penstock_data::{DType, Error, Result};

use super::blas::{CUBLAS_VARIABLE, WHEEL_FOLDERS};
use super::product::{BatchDim, Matrices};
use crate::driver::failure;
use crate::nvrtc::library_files;
use crate::opened::{Opened, lock};
use crate::queue::{Call, Command};

#[cfg(windows)]
const NAMES: &[&str] = &["cublasLt64_13.dll", "cublasLt64_12.dll"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"];

/// Bytes of working memory, as the library's manual advises for its newest devices.
const WORKSPACE: usize = 32 << 20;
/// How many shapes of products are kept.
const KEPT: usize = 256;

type Handle = *mut c_void;

/// `cublasStatus_t`.
const SUCCESS: c_int = 0;
/// `cublasLtMatmulDescAttributes_t`.
const TRANSA: c_int = 3;
const TRANSB: c_int = 4;
const EPILOGUE: c_int = 7;
const BIAS_POINTER: c_int = 8;
/// `cublasLtMatrixLayoutAttribute_t`.
const BATCH_COUNT: c_int = 5;
const BATCH_STEP: c_int = 6;
/// `cublasLtMatmulPreferenceAttributes_t`.
const MOST_WORKSPACE: c_int = 1;

/// What is done to a product before it is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Epilogue {
    None,
    /// A vector is added to each row,
    Bias,
    /// and what is negative then becomes 0.
    BiasRelu,
}

impl Epilogue {
    /// `cublasLtEpilogue_t`.
    fn code(self) -> u32 {
        match self {
            Epilogue::None => 1,
            Epilogue::Bias => 4,
            Epilogue::BiasRelu => 6,
        }
    }
}

/// What the library is told of dtypes: `cudaDataType_t` of the operands, of the result and of factors, and `cublasComputeType_t` of sums, in
/// full precision.
struct Types {
    operand: c_int,
    result: c_int,
    factor: c_int,
    sum: c_int,
}

impl Types {
    fn of(dtype: DType) -> Option<Types> {
        const R_32F: c_int = 0;
        const R_64F: c_int = 1;
        const R_16F: c_int = 2;
        const R_8I: c_int = 3;
        const R_32I: c_int = 10;
        const R_16BF: c_int = 14;
        const COMPUTE_32F: c_int = 68;
        const COMPUTE_64F: c_int = 70;
        const COMPUTE_32I: c_int = 72;
        let (operand, result, factor, sum) = match dtype {
            DType::F32 => (R_32F, R_32F, R_32F, COMPUTE_32F),
            DType::F64 => (R_64F, R_64F, R_64F, COMPUTE_64F),
            DType::F16 => (R_16F, R_16F, R_32F, COMPUTE_32F),
            DType::Bf16 => (R_16BF, R_16BF, R_32F, COMPUTE_32F),
            DType::I8 => (R_8I, R_32I, R_32I, COMPUTE_32I),
            _ => return None,
        };
        Some(Types { operand, result, factor, sum })
    }
}

/// Whether the library is installed, and has this dtype.
pub(crate) fn has_biased_products(dtype: DType) -> bool {
    dtype.is_float() && Types::of(dtype).is_some() && Functions::get().is_some()
}

/// `cublasLtMatmulAlgo_t`.
type Algorithm = [u64; 8];

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Default)]
struct Heuristic {
    algorithm: Algorithm,
    workspace: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

type Set = unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> c_int;
type Destroy = unsafe extern "C" fn(Handle) -> c_int;

struct Functions {
    create: unsafe extern "C" fn(*mut Handle) -> c_int,
    create_product: unsafe extern "C" fn(*mut Handle, c_int, c_int) -> c_int,
    set_product: Set,
    destroy_product: Destroy,
    create_layout: unsafe extern "C" fn(*mut Handle, c_int, u64, u64, i64) -> c_int,
    set_layout: Set,
    destroy_layout: Destroy,
    create_preference: unsafe extern "C" fn(*mut Handle) -> c_int,
    set_preference: Set,
    destroy_preference: Destroy,
    choose: unsafe extern "C" fn(
        Handle,
        Handle,
        Handle,
        Handle,
        Handle,
        Handle,
        Handle,
        c_int,
        *mut Heuristic,
        *mut c_int,
    ) -> c_int,
    multiply: unsafe extern "C" fn(
        Handle,
        Handle,
        *const c_void,
        *const c_void,
        Handle,
        *const c_void,
        Handle,
        *const c_void,
        *const c_void,
        Handle,
        *mut c_void,
        Handle,
        *const Algorithm,
        *mut c_void,
        usize,
        *mut c_void,
    ) -> c_int,
    /// Kept loaded.
    _library: Library,
}

static FILE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Names the library's file, where [`CUBLAS_VARIABLE`] says nothing. Of use until the library is first needed.
pub fn set_cublaslt(file: impl Into<PathBuf>) {
    *FILE.lock().unwrap_or_else(PoisonError::into_inner) = Some(file.into());
}

/// The files to try: those beside the cuBLAS that is named, or where that is looked for.
fn files() -> Vec<PathBuf> {
    let named = std::env::var_os(CUBLAS_VARIABLE);
    if named.as_ref().is_some_and(|v| v.is_empty()) {
        return Vec::new();
    }
    if let (None, Some(file)) = (&named, FILE.lock().unwrap_or_else(PoisonError::into_inner).clone()) {
        return vec![file];
    }
    let beside = |path: PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.contains("cublasLt") { path } else { path.with_file_name(name.replace("cublas", "cublasLt")) }
    };
    library_files(CUBLAS_VARIABLE, WHEEL_FOLDERS, NAMES).into_iter().map(beside).collect()
}

impl Functions {
    /// The library; `None` where it is not installed.
    fn get() -> Option<&'static Functions> {
        static FOUND: OnceLock<Option<Functions>> = OnceLock::new();
        FOUND.get_or_init(|| files().into_iter().find_map(Functions::load)).as_ref()
    }

    fn load(path: PathBuf) -> Option<Functions> {
        // SAFETY: NVIDIA's library; loading it has no effect beyond its own initialisation.
        let library = unsafe { Library::new(&path) }.ok()?;
        // SAFETY: the types are those of cublasLt.h since CUDA 12; the library is kept loaded.
        unsafe {
            Some(Functions {
                create: *library.get(b"cublasLtCreate\0").ok()?,
                create_product: *library.get(b"cublasLtMatmulDescCreate\0").ok()?,
                set_product: *library.get(b"cublasLtMatmulDescSetAttribute\0").ok()?,
                destroy_product: *library.get(b"cublasLtMatmulDescDestroy\0").ok()?,
                create_layout: *library.get(b"cublasLtMatrixLayoutCreate\0").ok()?,
                set_layout: *library.get(b"cublasLtMatrixLayoutSetAttribute\0").ok()?,
                destroy_layout: *library.get(b"cublasLtMatrixLayoutDestroy\0").ok()?,
                create_preference: *library.get(b"cublasLtMatmulPreferenceCreate\0").ok()?,
                set_preference: *library.get(b"cublasLtMatmulPreferenceSetAttribute\0").ok()?,
                destroy_preference: *library.get(b"cublasLtMatmulPreferenceDestroy\0").ok()?,
                choose: *library.get(b"cublasLtMatmulAlgoGetHeuristic\0").ok()?,
                multiply: *library.get(b"cublasLtMatmul\0").ok()?,
                _library: library,
            })
        }
    }
}

fn check(code: c_int) -> Result<()> {
    match code {
        SUCCESS => Ok(()),
        _ => Err(Error::internal(format!("cublasLt: status {code}"))),
    }
}

/// The library on one device.
struct Lt {
    functions: &'static Functions,
    handle: Handle,
    workspace: u64,
    /// Products of each shape, the latest last; `None` where the library does not take it.
    plans: Mutex<Vec<(Shape, Option<Arc<Plan>>)>>,
}

// SAFETY: a handle may be used by any thread, and descriptors by one at a time, under the lock of the queue.
unsafe impl Send for Lt {}
// SAFETY: as above.
unsafe impl Sync for Lt {}

/// All of a product but where it is.
#[derive(Clone, Copy, PartialEq)]
struct Shape {
    /// `m`, `k` and `n`.
    sizes: [usize; 3],
    /// Elements from row to row of the result and of both operands.
    rows: [usize; 3],
    transposed: [bool; 2],
    batch: BatchDim,
    /// The dtype of the operands.
    dtype: DType,
    epilogue: Epilogue,
}

/// What the library was told of a product, and what it chose.
struct Plan {
    functions: &'static Functions,
    product: Handle,
    /// Of the result and of both operands.
    layouts: [Handle; 3],
    algorithm: Algorithm,
}

// SAFETY: as for `Lt`.
unsafe impl Send for Plan {}
// SAFETY: as for `Lt`.
unsafe impl Sync for Plan {}

impl Drop for Plan {
    fn drop(&mut self) {
        let functions = self.functions;
        // SAFETY: the descriptors were made by `new`, or are null, and are destroyed once.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                (functions.destroy_layout)(layout);
            }
            if !self.product.is_null() {
                (functions.destroy_product)(self.product);
            }
        }
    }
}

/// Sets an attribute of a descriptor.
///
/// # Safety
/// The descriptor is one of those that the function takes, and the attribute is of this type.
unsafe fn set<T>(function: Set, at: Handle, which: c_int, value: T) -> Result<()> {
    // SAFETY: the caller's promise; the value is copied.
    check(unsafe { function(at, which, std::ptr::from_ref(&value).cast(), size_of::<T>()) })
}

impl Plan {
    /// The plan of products of a shape; an error where the library does not take it.
    fn new(lt: &Lt, shape: &Shape) -> Result<Plan> {
        let functions = lt.functions;
        let types = Types::of(shape.dtype).ok_or_else(|| Error::internal("cublasLt has no such dtype"))?;
        let elements = [types.result, types.operand, types.operand];
        let null = std::ptr::null_mut();
        let mut plan = Plan { functions, product: null, layouts: [null; 3], algorithm: Algorithm::default() };
        let ([m, k, n], [a_transposed, b_transposed]) = (shape.sizes, shape.transposed);
        let turned = |rows, columns, transposed| if transposed { (columns, rows) } else { (rows, columns) };
        // The library's matrices are stored by columns, so it is given the transposed product: `c^T = b^T a^T`.
        let extents = [(m, n), turned(m, k, a_transposed), turned(k, n, b_transposed)];
        let steps = [shape.batch.c, shape.batch.a, shape.batch.b];
        // SAFETY: the calls write a handle each, and take descriptors of their kind, with values of the types that they have.
        unsafe {
            check((functions.create_product)(&mut plan.product, types.sum, types.factor))?;
            set(functions.set_product, plan.product, TRANSA, c_int::from(b_transposed))?;
            set(functions.set_product, plan.product, TRANSB, c_int::from(a_transposed))?;
            set(functions.set_product, plan.product, EPILOGUE, shape.epilogue.code())?;
            if shape.epilogue != Epilogue::None {
                // Any place, which every product sets anew.
                set(functions.set_product, plan.product, BIAS_POINTER, lt.workspace)?;
            }
            for (i, layout) in plan.layouts.iter_mut().enumerate() {
                let ((rows, columns), ld) = (extents[i], shape.rows[i]);
                check((functions.create_layout)(layout, elements[i], columns as u64, rows as u64, ld as i64))?;
                let count = c_int::try_from(shape.batch.extent).map_err(|_| Error::internal("too many matrices"))?;
                set(functions.set_layout, *layout, BATCH_COUNT, count)?;
                set(functions.set_layout, *layout, BATCH_STEP, steps[i] as i64)?;
            }
            let mut preference = null;
            check((functions.create_preference)(&mut preference))?;
            let (mut found, mut count) = (Heuristic::default(), 0);
            let [c, a, b] = plan.layouts;
            let chosen = set(functions.set_preference, preference, MOST_WORKSPACE, WORKSPACE as u64).and_then(|()| {
                check((functions.choose)(lt.handle, plan.product, b, a, c, c, preference, 1, &mut found, &mut count))
            });
            (functions.destroy_preference)(preference);
            chosen?;
            check(found.status)?;
            if count < 1 || found.workspace > WORKSPACE {
                return Err(Error::internal("cublasLt proposes nothing"));
            }
            plan.algorithm = found.algorithm;
        }
        Ok(plan)
    }
}

impl Lt {
    /// The library on a device; `None` where it is not installed, or does not start.
    fn on(device: &Arc<Opened>) -> Option<&Arc<Lt>> {
        device.lt.get(|| Functions::get().and_then(|functions| Lt::open(device, functions).ok()).map(Arc::new)).as_ref()
    }

    fn open(device: &Arc<Opened>, functions: &'static Functions) -> Result<Lt> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the device is the calling thread's; the call writes one handle.
        check(unsafe { (functions.create)(&mut handle) })?;
        let memory = device.memory(WORKSPACE).map_err(failure)?;
        let workspace = memory.address;
        // The device is never closed.
        std::mem::forget(memory);
        Ok(Lt { functions, handle, workspace, plans: Mutex::default() })
    }

    fn plan(&self, shape: &Shape) -> Option<Arc<Plan>> {
        let mut plans = lock(&self.plans);
        if let Some((_, known)) = plans.iter().find(|(known, _)| known == shape) {
            return known.clone();
        }
        let plan = Plan::new(self, shape).ok().map(Arc::new);
        if plans.len() == KEPT {
            plans.remove(0);
        }
        plans.push((*shape, plan.clone()));
        plan
    }
}

/// Queues a product, to each row of which a vector is added, of which nothing negative is kept with `relu`; `false` where the library is
/// missing, or does not take it.
///
/// # Safety
/// The addresses are of memory of this device for the matrices of the result and of the operands, and for an element of each column.
pub(super) unsafe fn biased_product(
    device: &Arc<Opened>,
    matrices: &Matrices,
    at: [u64; 3],
    bias: u64,
    relu: bool,
) -> Result<bool> {
    if matrices.dtype != matrices.out {
        return Ok(false);
    }
    let epilogue = if relu { Epilogue::BiasRelu } else { Epilogue::Bias };
    let Some((lt, plan)) = planned(device, matrices, epilogue) else { return Ok(false) };
    // SAFETY: the caller's promise.
    unsafe { queue(device, lt, plan, matrices.dtype, at, Some(bias)) }
}

/// Whether the library takes a product of 8-bit integers in `int32`.
pub(super) fn takes_bytes(device: &Arc<Opened>, matrices: &Matrices) -> bool {
    // Others it refuses, as its manual says.
    const MULTIPLE: usize = 4;
    let &Matrices { k, n, dtype, out, .. } = matrices;
    let is_taken = (dtype, out) == (DType::I8, DType::I32) && [k, n].iter().all(|size| size.is_multiple_of(MULTIPLE));
    is_taken && planned(device, matrices, Epilogue::None).is_some()
}

/// Queues a product that [`takes_bytes`] holds for; `false` where an operand is not aligned.
///
/// # Safety
/// The addresses are of memory of this device for the matrices of the result and of the operands.
pub(super) unsafe fn product(device: &Arc<Opened>, matrices: &Matrices, at: [u64; 3]) -> Result<bool> {
    let Some((lt, plan)) = planned(device, matrices, Epilogue::None) else { return Ok(false) };
    // SAFETY: the caller's promise.
    unsafe { queue(device, lt, plan, matrices.dtype, at, None) }
}

/// The library, and its plan of a product; `None` where it is missing, or does not take it.
fn planned<'d>(device: &'d Arc<Opened>, matrices: &Matrices, epilogue: Epilogue) -> Option<(&'d Arc<Lt>, Arc<Plan>)> {
    let batch = match matrices.batch[..] {
        [] => BatchDim::ONE,
        [batch] => batch,
        _ => return None,
    };
    let &Matrices { m, k, n, rows, transposed, dtype, .. } = matrices;
    Types::of(dtype)?;
    let lt = Lt::on(device)?;
    let plan = lt.plan(&Shape { sizes: [m, k, n], rows, transposed, batch, dtype, epilogue })?;
    Some((lt, plan))
}

/// # Safety
/// As for [`biased_product`].
unsafe fn queue(
    device: &Arc<Opened>,
    lt: &Arc<Lt>,
    plan: Arc<Plan>,
    dtype: DType,
    at: [u64; 3],
    bias: Option<u64>,
) -> Result<bool> {
    // Proposals are for matrices that are aligned as the device's own memory is.
    const ALIGNMENT: u64 = 256;
    if at.iter().chain(&bias).any(|address| address % ALIGNMENT != 0) {
        return Ok(false);
    }
    let [runs, captures] = [device.stream.cu_stream() as u64, device.queue.capture().cu_stream() as u64];
    let call = Multiply { lt: lt.clone(), plan, runs, captures, at, bias, dtype };
    // SAFETY: the caller's promise.
    unsafe { device.queue.push(device, Command::Call(Arc::new(call))) }?;
    Ok(true)
}

/// A call of the library.
struct Multiply {
    lt: Arc<Lt>,
    plan: Arc<Plan>,
    /// The streams on which everything runs, and on which it is captured.
    runs: u64,
    captures: u64,
    at: [u64; 3],
    bias: Option<u64>,
    /// The dtype of the operands.
    dtype: DType,
}

/// 1 and 0.
fn factors<T>(both: &[T; 2]) -> [*const c_void; 2] {
    [std::ptr::from_ref(&both[0]).cast(), std::ptr::from_ref(&both[1]).cast()]
}

impl Call for Multiply {
    unsafe fn run(&self, captures: bool) -> Result<()> {
        let (lt, plan, functions) = (&self.lt, &self.plan, self.lt.functions);
        let (of_f32, of_f64, of_i32) = ([1f32, 0.0], [1f64, 0.0], [1i32, 0]);
        let factors = match self.dtype {
            DType::F64 => factors(&of_f64),
            DType::I8 => factors(&of_i32),
            _ => factors(&of_f32),
        };
        let ([c, a, b], [of_c, of_a, of_b]) = (self.at, plan.layouts);
        // SAFETY: the caller's promise. The descriptors are used under the lock of the queue alone.
        unsafe {
            if let Some(bias) = self.bias {
                set(functions.set_product, plan.product, BIAS_POINTER, bias)?;
            }
            check((functions.multiply)(
                lt.handle,
                plan.product,
                factors[0],
                b as *const c_void,
                of_b,
                a as *const c_void,
                of_a,
                factors[1],
                c as *const c_void,
                of_c,
                c as *mut c_void,
                of_c,
                &plan.algorithm,
                lt.workspace as *mut c_void,
                WORKSPACE,
                (if captures { self.captures } else { self.runs }) as *mut c_void,
            ))
        }
    }

    fn is_same(&self, other: &dyn Call) -> bool {
        let other: &dyn Any = other;
        other
            .downcast_ref::<Multiply>()
            .is_some_and(|other| Arc::ptr_eq(&self.plan, &other.plan) && (self.at, self.bias) == (other.at, other.bias))
    }
}
