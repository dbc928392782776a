//! Work on whole tensors: copies, reductions, products.
//!
//! Each kind has a text of its own, with the types and ranks that it is compiled for in front.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

mod blas;
mod compact;
mod conv;
mod copy;
mod counts;
mod dnn;
mod fold;
mod gather;
mod lt;
mod place;
mod pool;
mod product;
mod random;
mod rows;
mod scan;
mod select;
mod update;

pub use blas::CUBLAS_VARIABLE;
pub(crate) use copy::copy;
pub(crate) use dnn::Dnn;
pub use dnn::{CUDNN_VARIABLE, set_cudnn};
pub(crate) use lt::has_biased_products;
pub use lt::set_cublaslt;
pub(crate) use product::biased;

use std::sync::Arc;

use cudarc::driver::{CudaFunction, result};
use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{BoxCopy, ByPlace, Convolution, DeviceKernels, Draw, Pooling, Product, Rest, Scan, Selection};
use penstock_kernels::conv::Geometry;
use penstock_kernels::pooling::Windows;
use penstock_kernels::segment::Empty;
use penstock_kernels::sort::Side;
use penstock_kernels::{Binary, Philox, Reduce};
use smallvec::SmallVec;

use crate::device::{CudaDevice, CudaMemory, data};
use crate::driver::failure;
use crate::faults::{self, Origins};
use crate::kernel::{Arg, BLOCK};
use crate::memory::Memory;
use crate::opened::Opened;
use crate::queue::{Command, Launch};
use crate::remote;
use fold::Fold;

const INDICES: &str = include_str!("indices.cuh");

/// The most elements of anything that is indexed in 32 bits.
const NARROW_LIMIT: usize = i32::MAX as usize;

impl DeviceKernels for CudaDevice {
    unsafe fn moved(
        &self,
        dtype: DType,
        dims: &[usize],
        rest: Rest<'_>,
        copies: &[BoxCopy<'_>],
    ) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { copy::moved(self.ready()?, dtype, dims, rest, copies) }
    }

    unsafe fn reduce(&self, op: Reduce, x: &Tensor, marked: &[bool], dims: &[usize]) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { fold::reduce(self.ready()?, Fold::Of(op), x, marked, dims) }
    }

    unsafe fn count_nonzero(&self, x: &Tensor, marked: &[bool], dims: &[usize]) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { fold::reduce(self.ready()?, Fold::Nonzero, x, marked, dims) }
    }

    unsafe fn matmul(&self, product: &Product<'_>, dims: &[usize]) -> Result<Option<Tensor>> {
        if product.a.dtype().is_complex() {
            return Ok(None);
        }
        // SAFETY: the caller's promise.
        unsafe { product::matmul(self.ready()?, product, dims) }
    }

    unsafe fn logsumexp(&self, x: &Tensor, extents: [usize; 3], dims: &[usize]) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { rows::logsumexp(self.ready()?, x, extents, dims) }
    }

    unsafe fn softmax(&self, log: bool, x: &Tensor, n: usize) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { rows::softmax(self.ready()?, log, x, n) }
    }

    unsafe fn cross_entropy(&self, logits: &Tensor, labels: &Tensor, n: usize) -> Result<Option<[Tensor; 2]>> {
        // SAFETY: the caller's promise.
        unsafe { rows::cross_entropy(self.ready()?, logits, labels, n) }
    }

    unsafe fn gather(
        &self,
        x: &Tensor,
        indices: &Tensor,
        blocks: [usize; 4],
        dims: &[usize],
    ) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { gather::gather(self.ready()?, x, indices, blocks, dims) }
    }

    unsafe fn reduce_groups(
        &self,
        op: Reduce,
        x: &Tensor,
        groups: [&Tensor; 2],
        blocks: [usize; 4],
        dims: &[usize],
    ) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { fold::groups(self.ready()?, op, x, groups, blocks, dims) }
    }

    unsafe fn reduce_segments(
        &self,
        how: (Reduce, Empty),
        x: &Tensor,
        offsets: &Tensor,
        sizes: [usize; 2],
        dims: &[usize],
    ) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { counts::segments(self.ready()?, how, x, offsets, sizes, dims) }
    }

    unsafe fn descent(&self, x: &Tensor) -> Result<Option<(Option<usize>, i64)>> {
        // SAFETY: the caller's promise.
        unsafe { counts::descent(self.ready()?, x) }
    }

    unsafe fn count_values(&self, x: &Tensor, n: usize, length: usize, dims: &[usize]) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { counts::values(self.ready()?, x, n, length, dims) }
    }

    unsafe fn nonzero(&self, x: &Tensor) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { compact::nonzero(self.ready()?, x) }
    }

    unsafe fn unique(&self, x: &Tensor, positions: DType) -> Result<Option<[Tensor; 3]>> {
        // SAFETY: the caller's promise.
        unsafe { compact::unique(self.ready()?, x, positions) }
    }

    unsafe fn update_rows(
        &self,
        op: Option<Binary>,
        x: &Tensor,
        updates: &Tensor,
        order: [&Tensor; 2],
        width: usize,
    ) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { update::rows(self.ready()?, op, x, updates, order, width) }
    }

    unsafe fn convolution(
        &self,
        kind: Convolution,
        geometry: &Geometry,
        operands: [&Tensor; 2],
        dims: &[usize],
    ) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { conv::convolution(self.ready()?, kind, geometry, operands, dims) }
    }

    unsafe fn pool(
        &self,
        kind: Pooling,
        windows: &Windows,
        operands: &[&Tensor],
        dims: &[usize],
    ) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { pool::pool(self.ready()?, kind, windows, operands, dims) }
    }

    unsafe fn random(&self, draw: Draw, stream: Philox, dtype: DType, dims: &[usize]) -> Result<Option<Tensor>> {
        random::random(self.ready()?, draw, stream, dtype, dims)
    }

    unsafe fn scan(&self, scan: &Scan, operands: &[&Tensor]) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { scan::scan(self.ready()?, scan, operands) }
    }

    unsafe fn select(
        &self,
        selection: &Selection,
        x: &Tensor,
        dims: &[usize],
    ) -> Result<Option<SmallVec<[Tensor; 2]>>> {
        // SAFETY: the caller's promise.
        unsafe { select::select(self.ready()?, selection, x, dims) }
    }

    unsafe fn search(
        &self,
        side: Side,
        sorted: &Tensor,
        n: usize,
        values: &Tensor,
        dtype: DType,
    ) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { select::search(self.ready()?, side, sorted, n, values, dtype) }
    }

    unsafe fn by_place(&self, what: &ByPlace<'_>, dtype: DType, dims: &[usize]) -> Result<Option<Tensor>> {
        // SAFETY: the caller's promise.
        unsafe { place::by_place(self.ready()?, what, dtype, dims) }
    }
}

/// The operands of some work, each in the memory of the device. Those that lay elsewhere are copied there, and freed behind the work.
struct Operands<'t> {
    device: &'t Arc<Opened>,
    copies: SmallVec<[Memory; 2]>,
    origins: SmallVec<[&'t Origins; 2]>,
}

impl<'t> Operands<'t> {
    fn new(device: &'t Arc<Opened>) -> Operands<'t> {
        Operands { device, copies: SmallVec::new(), origins: SmallVec::new() }
    }

    /// Where a tensor is.
    fn address(&mut self, tensor: &'t Tensor) -> Result<u64> {
        if let Some(data) = data(self.device, tensor) {
            self.origins.push(&data.origins);
            return Ok(data.memory.address);
        }
        let (copy, origins) = remote::bring(self.device, tensor)?;
        let address = copy.address;
        self.copies.push(copy);
        self.origins.extend(origins);
        Ok(address)
    }

    /// One of the tensors that the work made.
    fn made(&self, dtype: DType, dims: &[usize], memory: Memory) -> Result<Tensor> {
        let origins = faults::joined(self.origins.iter().copied(), None);
        Tensor::on_device(dtype, dims, Box::new(CudaMemory { memory, origins }))
    }

    /// The tensor that the work made.
    fn result(self, dtype: DType, dims: &[usize], memory: Memory) -> Result<Tensor> {
        self.made(dtype, dims, memory)
    }
}

/// The width of indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Width {
    Narrow,
    Wide,
}

impl Width {
    /// The width of indices below `most`.
    fn of(most: usize) -> Width {
        if most > NARROW_LIMIT { Width::Wide } else { Width::Narrow }
    }

    fn name(self) -> &'static str {
        match self {
            Width::Narrow => "penstock_index32",
            Width::Wide => "penstock_index64",
        }
    }

    fn number(self, value: usize) -> Arg {
        match self {
            Width::Narrow => Arg::U32(value as u32),
            Width::Wide => Arg::U64(value as u64),
        }
    }

    /// Extents, or steps, of which negative ones wrap.
    fn list(self, values: impl Iterator<Item = isize>) -> Arg {
        match self {
            Width::Narrow => Arg::List32(values.map(|v| v as u32).collect()),
            Width::Wide => Arg::List64(values.map(|v| v as u64).collect()),
        }
    }
}

/// Dimensions of an index space, with steps; at least one.
fn at_least_one<T: Copy>(mut dims: SmallVec<[T; 6]>, unit: T) -> SmallVec<[T; 6]> {
    if dims.is_empty() {
        dims.push(unit);
    }
    dims
}

/// Queues a kernel for `threads` threads, in blocks of [`BLOCK`]. The number of blocks is bounded by a few waves of what the device runs
/// at a time: beyond that each thread loops.
///
/// # Safety
/// The arguments are those of the kernel, and name memory of this device for all that it reads and writes.
unsafe fn launch(device: &Opened, function: &CudaFunction, threads: usize, args: &[Arg]) -> Result<()> {
    // SAFETY: the caller's promise; kernels are loaded for good.
    unsafe { device.queue.push(device, Command::Launch(sized(device, function, threads, args))) }
}

/// As [`launch`], for a kernel whose time is decided by the number of bytes that it reads and writes.
///
/// # Safety
/// As for [`launch`].
unsafe fn launch_moving(
    device: &Opened,
    function: &CudaFunction,
    threads: usize,
    args: &[Arg],
    bytes: usize,
) -> Result<()> {
    let launch = sized(device, function, threads, args).moving(bytes);
    // SAFETY: the caller's promise; kernels are loaded for good.
    unsafe { device.queue.push(device, Command::Launch(launch)) }
}

fn sized(device: &Opened, function: &CudaFunction, threads: usize, args: &[Arg]) -> Launch {
    /// Waves of blocks after which threads loop instead.
    const WAVES: u32 = 8;
    let most = device.resident_blocks().saturating_mul(WAVES).max(1);
    let blocks = u32::try_from(threads.div_ceil(BLOCK as usize)).unwrap_or(u32::MAX).clamp(1, most);
    Launch::new(function.cu_function(), blocks, args)
}

/// Copies bytes of the device, and waits for them.
///
/// # Safety
/// The address is of memory of this device for as many bytes.
unsafe fn read_back(device: &Arc<Opened>, from: u64, to: &mut [u8]) -> Result<()> {
    device.queue.behind(device, |stream| {
        // SAFETY: the caller's promise; the target is read when the stream is through.
        unsafe { result::memcpy_dtoh_async(to, from, stream) }
    })?;
    device.stream.synchronize().map_err(failure)
}

/// Working memory for `count` elements of `size` bytes.
fn table(device: &Arc<Opened>, count: usize, size: usize) -> Result<Memory> {
    let bytes = count.checked_mul(size).ok_or_else(|| Error::exhausted("a reduction of too many elements"))?;
    device.memory(bytes.max(1)).map_err(failure)
}
