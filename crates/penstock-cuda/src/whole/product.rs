//! Products of matrices: by cuBLAS where it is installed and has the dtype, else by a kernel of our own.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{BoxCopy, CopyDim, Product, Rest};
use smallvec::SmallVec;

use super::blas::Blas;
use super::copy::moved;
use super::lt;
use super::{INDICES, Operands, Width, at_least_one, launch};
use crate::kernel::{Arg, BLOCK};
use crate::opened::Opened;
use crate::program::{compute_type, storage_type};

/// The side of a tile.
const TILE: usize = 64;

/// A batch dimension: its extent, and the elements from one matrix to the next in the result and in both operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchDim {
    pub(super) extent: usize,
    pub(super) c: usize,
    pub(super) a: usize,
    pub(super) b: usize,
}

impl BatchDim {
    pub(super) const ONE: BatchDim = BatchDim { extent: 1, c: 0, a: 0, b: 0 };
}

/// Matrices to multiply, by rows: `c` of `m` by `n` is the sum over `k` of `a` times `b`.
pub(super) struct Matrices {
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) n: usize,
    /// Elements from row to row, as they are stored, of the result and of both operands.
    pub(super) rows: [usize; 3],
    /// Whether the operands are stored transposed.
    pub(super) transposed: [bool; 2],
    pub(super) batch: SmallVec<[BatchDim; 6]>,
    /// The dtype of the operands.
    pub(super) dtype: DType,
    /// That of the result: the same, or `float32` for 16-bit floats, `int32` for 8-bit integers.
    pub(super) out: DType,
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn matmul(device: &Arc<Opened>, product: &Product<'_>, dims: &[usize]) -> Result<Option<Tensor>> {
    // SAFETY: the caller's promise.
    unsafe { product_of(device, product, None, dims) }
}

/// A product, to each row of which a vector is added, and of which nothing negative is kept with `relu`; `None` where there is no library that
/// does it all at once.
///
/// # Safety
/// As for [`matmul`]; the vector has an element for each column.
pub(crate) unsafe fn biased(
    device: &Arc<Opened>,
    product: &Product<'_>,
    bias: &Tensor,
    relu: bool,
    dims: &[usize],
) -> Result<Option<Tensor>> {
    // SAFETY: the caller's promise.
    unsafe { product_of(device, product, Some((bias, relu)), dims) }
}

/// # Safety
/// As for [`matmul`] and [`biased`].
unsafe fn product_of(
    device: &Arc<Opened>,
    product: &Product<'_>,
    bias: Option<(&Tensor, bool)>,
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let Product { m, k, n, a_transposed, b_transposed, dtype, .. } = *product;
    if storage_type(dtype).is_none() || dims.contains(&0) || k == 0 {
        return Ok(None);
    }
    if dtype != product.a.dtype() {
        // SAFETY: the caller's promise.
        return unsafe { product_of_bytes(device, product, dims) };
    }
    let memory = device.allocate(dtype, dims)?;
    let mut operands = Operands::new(device);
    let (a, b) = (operands.address(product.a)?, operands.address(product.b)?);
    let matrices = Matrices {
        m,
        k,
        n,
        rows: [n, if a_transposed { m } else { k }, if b_transposed { k } else { n }],
        transposed: [a_transposed, b_transposed],
        batch: batch_dims(product),
        dtype,
        out: dtype,
    };
    let at = [memory.address, a, b];
    match bias {
        // SAFETY: the addresses are of memory of this device for the matrices of the result and of the operands.
        None => unsafe { multiply(device, &matrices, at) }?,
        Some((bias, relu)) => {
            let bias = operands.address(bias)?;
            // SAFETY: as above; the caller's promise of the vector.
            if !unsafe { lt::biased_product(device, &matrices, at, bias, relu) }? {
                return Ok(None);
            }
        }
    }
    operands.result(dtype, dims, memory).map(Some)
}

/// A product of 8-bit integers in `int32`; `None` where no library takes it.
///
/// # Safety
/// As for [`matmul`].
unsafe fn product_of_bytes(device: &Arc<Opened>, product: &Product<'_>, dims: &[usize]) -> Result<Option<Tensor>> {
    let Product { a, b, m, k, n, dtype, .. } = *product;
    let matrices = Matrices {
        m,
        k,
        n,
        rows: [n, k, k],
        // The library takes operands whose rows and columns are what is multiplied and added up.
        transposed: [false, true],
        batch: batch_dims(product),
        dtype: a.dtype(),
        out: dtype,
    };
    if b.dtype() != a.dtype() || !lt::takes_bytes(device, &matrices) {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let turned = unsafe {
        let a = product.a_transposed.then(|| transposed(device, a, [k, m])).transpose()?;
        (a, (!product.b_transposed).then(|| transposed(device, b, [k, n])).transpose()?)
    };
    let mut operands = Operands::new(device);
    let at = [operands.address(turned.0.as_ref().unwrap_or(a))?, operands.address(turned.1.as_ref().unwrap_or(b))?];
    let memory = device.allocate(dtype, dims)?;
    // SAFETY: the addresses are of memory of this device for the matrices of the result and of the operands.
    let is_queued = unsafe { lt::product(device, &matrices, [memory.address, at[0], at[1]]) }?;
    if is_queued { operands.result(dtype, dims, memory).map(Some) } else { Ok(None) }
}

/// Copies of the matrices of a tensor, transposed.
///
/// # Safety
/// The last dimensions of the tensor are `rows` and `columns`, and not 0.
unsafe fn transposed(device: &Arc<Opened>, x: &Tensor, [rows, columns]: [usize; 2]) -> Result<Tensor> {
    let dim = |extent: usize, from: usize, to: usize| CopyDim { extent, from: from as isize, to: to as isize };
    let (size, leading) = (rows * columns, &x.dims()[..x.rank() - 2]);
    let dims = SmallVec::from_slice(&[dim(x.len() / size, size, size), dim(rows, columns, 1), dim(columns, 1, rows)]);
    let all = BoxCopy { source: x, from: 0, to: 0, dims };
    let extents = [leading, &[columns, rows]].concat();
    // SAFETY: the copy takes each element of the tensor to another place of as many.
    let made = unsafe { moved(device, x.dtype(), &extents, Rest::None, &[all]) }?;
    made.ok_or_else(|| Error::internal("numbers were not copied"))
}

/// The batch dimensions, merged where all step through two as through one.
fn batch_dims(product: &Product<'_>) -> SmallVec<[BatchDim; 6]> {
    let steps = |own: &[usize], matrix: usize| {
        let mut step = matrix;
        let mut out: SmallVec<[usize; 6]> = SmallVec::from_elem(0, product.batch.len());
        for (at, &extent) in out.iter_mut().rev().zip(own.iter().rev()) {
            *at = if extent == 1 { 0 } else { step };
            step *= extent;
        }
        out
    };
    let leading = |tensor: &Tensor| SmallVec::<[usize; 6]>::from(&tensor.dims()[..tensor.rank() - 2]);
    let (a, b) = (steps(&leading(product.a), product.m * product.k), steps(&leading(product.b), product.k * product.n));
    let c = steps(&product.batch, product.m * product.n);
    let mut out: SmallVec<[BatchDim; 6]> = SmallVec::new();
    for (i, &extent) in product.batch.iter().enumerate().rev().filter(|(_, e)| **e != 1) {
        let dim = BatchDim { extent, c: c[i], a: a[i], b: b[i] };
        match out.last_mut() {
            Some(inner)
                if [(dim.a, inner.a), (dim.b, inner.b), (dim.c, inner.c)]
                    .iter()
                    .all(|(outer, step)| *outer == step * inner.extent) =>
            {
                inner.extent *= extent;
            }
            _ => out.push(dim),
        }
    }
    out.reverse();
    out
}

/// Queues a product.
///
/// # Safety
/// The addresses are of memory of this device for the matrices of the result and of the operands.
pub(super) unsafe fn multiply(device: &Arc<Opened>, matrices: &Matrices, at: [u64; 3]) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { if Blas::product(device, matrices, at)? { Ok(()) } else { own_product(device, matrices, at) } }
}

/// Queues the kernel.
///
/// # Safety
/// As for [`multiply`].
unsafe fn own_product(device: &Arc<Opened>, matrices: &Matrices, [c, a, b]: [u64; 3]) -> Result<()> {
    let Matrices { m, k, n, rows: [c_row, a_row, b_row], transposed: [a_transposed, b_transposed], .. } = *matrices;
    let name = |dtype: DType| storage_type(dtype).unwrap_or("f32");
    let (stored, made) = (name(matrices.dtype), name(matrices.out));
    let computed = compute_type(matrices.dtype).unwrap_or("f32");
    let batch = at_least_one(matrices.batch.clone(), BatchDim::ONE);
    let batches: usize = batch.iter().map(|d| d.extent).product();
    let last = |step: fn(&BatchDim) -> usize| batch.iter().map(|d| (d.extent - 1) * step(d)).sum::<usize>();
    let (a_rows, b_rows) = (if a_transposed { k } else { m }, if b_transposed { n } else { k });
    let reach = [last(|d| d.c) + m * c_row, last(|d| d.a) + a_rows * a_row, last(|d| d.b) + b_rows * b_row];
    let width = Width::of(reach.into_iter().max().unwrap_or(0));
    let rank = batch.len();
    let function = device.function("product", "penstock_product", (stored, made, rank, width.name()), || {
        let own = include_str!("product.cuh");
        let index = width.name();
        format!(
            "typedef {index} I;\ntypedef {stored} E;\ntypedef {made} R;\ntypedef {computed} A;\n#define RANK {rank}\n{INDICES}{own}"
        )
    })?;
    let (a_row, a_step) = if a_transposed { (1, a_row) } else { (a_row, 1) };
    let (b_step, b_column) = if b_transposed { (1, b_row) } else { (b_row, 1) };
    let mut args = vec![Arg::Pointer(c), Arg::Pointer(a), Arg::Pointer(b)];
    args.extend([m, n, k, c_row, a_row, a_step, b_step, b_column, batches].map(|v| width.number(v)));
    let list = |of: fn(&BatchDim) -> usize| width.list(batch.iter().map(|d| of(d) as isize));
    args.extend([list(|d| d.extent), list(|d| d.c), list(|d| d.a), list(|d| d.b)]);
    let tiles = batches * m.div_ceil(TILE) * n.div_ceil(TILE);
    // SAFETY: the arguments are those of the kernel; the caller's promise.
    unsafe { launch(device, &function, tiles.saturating_mul(BLOCK as usize), &args) }
}
