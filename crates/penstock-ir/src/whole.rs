//! What a device computes of whole tensors.
//!
//! The kernel of an operator checks its operands, works out extents, and then asks for one of a few kinds of work. On the host
//! that is a loop over memory; where [`Env::kernels`](crate::Env::kernels) names a device it is one of the functions below. So an operator
//! is written once, and a device knows kinds of work, not operators.

#![expect(unsafe_code, reason = "what devices do has the contracts of the host's kernels")]

use penstock_data::{DType, Dims, Result, Tensor};
use penstock_kernels::conv::Geometry;
use penstock_kernels::pooling::{AtMax, Windows};
use penstock_kernels::segment::Empty;
use penstock_kernels::sort::{Direction, Rows, Side};
use penstock_kernels::{Binary, Cumulative, Philox, Reduce};
use smallvec::SmallVec;

/// A dimension of a [`BoxCopy`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyDim {
    /// The number of elements.
    pub extent: usize,
    /// Elements from one to the next in the tensor that they come from.
    pub from: isize,
    /// Elements from one to the next in the result.
    pub to: isize,
}

/// Elements of a tensor that go to places of a result.
#[derive(Clone, Debug)]
pub struct BoxCopy<'a> {
    /// Where they come from.
    pub source: &'a Tensor,
    /// The first element there.
    pub from: usize,
    /// The first element in the result.
    pub to: usize,
    /// The dimensions, outermost first.
    pub dims: SmallVec<[CopyDim; 6]>,
}

impl<'a> BoxCopy<'a> {
    /// All of a tensor, in the order of its elements, to the elements of a result from `to` on.
    pub fn whole(source: &'a Tensor, to: usize) -> BoxCopy<'a> {
        let extent = source.len();
        BoxCopy { source, from: 0, to, dims: SmallVec::from_slice(&[CopyDim { extent, from: 1, to: 1 }]) }
    }

    /// Whether the box lies within its source, and its copy within a result of `result` elements.
    pub fn fits(&self, result: usize) -> bool {
        let inside = |first: usize, len: usize, step: fn(&CopyDim) -> isize| {
            let (mut low, mut high) = (first as i128, first as i128);
            for dim in &self.dims {
                let reach = (dim.extent as i128 - 1) * step(dim) as i128;
                low += reach.min(0);
                high += reach.max(0);
            }
            low >= 0 && high < len as i128
        };
        self.dims.iter().any(|d| d.extent == 0)
            || (inside(self.from, self.source.len(), |d| d.from) && inside(self.to, result, |d| d.to))
    }
}

/// What the elements of a result are that no copy reaches.
#[derive(Clone, Copy, Debug)]
pub enum Rest<'a> {
    /// There are none.
    None,
    /// Zeros.
    Zeros,
    /// The only element of this tensor.
    Element(&'a Tensor),
}

/// A product of matrices, or of as many as the batch dimensions say.
#[derive(Clone, Debug)]
pub struct Product<'a> {
    /// The left matrices, `m` by `k`.
    pub a: &'a Tensor,
    /// The right matrices, `k` by `n`.
    pub b: &'a Tensor,
    /// Whether the left matrices are stored transposed.
    pub a_transposed: bool,
    /// Whether the right ones are.
    pub b_transposed: bool,
    /// The batch dimensions of the result, to which those of the operands broadcast.
    pub batch: Dims,
    /// Rows.
    pub m: usize,
    /// Products that an element adds up.
    pub k: usize,
    /// Columns.
    pub n: usize,
    /// The dtype of the result: that of the operands, or `int32` for integers of 8 bits.
    pub dtype: DType,
}

/// Which two arguments a convolution is contracted with, `x`, the filter and `y` being those of [`penstock_kernels::conv`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Convolution {
    /// `y`, of `x` and the filter.
    Forward,
    /// The cotangent of `x`, of the filter and that of `y`.
    InputGrad,
    /// The cotangent of the filter, of `x` and that of `y`.
    FilterGrad,
}

/// What is made of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pooling {
    /// The greatest element of each, of `x`.
    Max,
    /// The mean of each, of `x`.
    Mean,
    /// The cotangent of `x`, of that of the means.
    MeanGrad,
    /// What [`AtMax`] says, of `x` and the values.
    AtMax(AtMax),
}

/// What is drawn of a stream of random numbers, as the functions of [`Philox`] draw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Draw {
    /// Floats uniform in [0, 1).
    Uniform,
    /// Standard normal floats.
    Normal,
    /// Standard normal floats of magnitudes below 2.
    TruncatedNormal,
    /// Integers from `low` on, below `high`; all there are where both are equal.
    Integers {
        /// The least.
        low: i64,
        /// The end.
        high: i64,
    },
}

/// What a scan carries along the middle axis of its extents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Carried {
    /// Sums, products or logarithms, of `x`.
    Running(Cumulative),
    /// `factor * carried + term`, of the factors and the terms.
    Recurrence,
}

/// A scan, as [`penstock_kernels::cumulative`] and [`penstock_kernels::recurrence`] do it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scan {
    /// What is carried.
    pub carried: Carried,
    /// The extents before the axis, of the axis, and after it.
    pub extents: [usize; 3],
    /// Whether an element takes no part in its own result.
    pub exclusive: bool,
    /// Whether it runs from the end.
    pub reverse: bool,
}

/// The first elements of rows in some order, of which equal ones keep theirs.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// The rows.
    pub rows: Rows,
    /// How many of each.
    pub k: usize,
    /// Which come first. NaN is above every number.
    pub direction: Direction,
    /// Whether NaN comes first in an ascending order, too.
    pub nan_first: bool,
    /// Whether the elements are asked for.
    pub elements: bool,
    /// Of which dtype their positions in their rows are, where they are asked for: `int32` or `int64`.
    pub positions: Option<DType>,
}

/// Elements that follow from where they are.
#[derive(Clone, Copy, Debug)]
pub enum ByPlace<'a> {
    /// A band of each matrix around its main diagonal. The elements outside are zeros.
    Band {
        /// The matrices, of the extents of the result.
        x: &'a Tensor,
        /// Diagonals below.
        lower: usize,
        /// Diagonals above.
        upper: usize,
    },
    /// `on` where the place along the middle axis is the index, else `off`.
    OneHot {
        /// An integer for each place of the outer and the inner axes.
        indices: &'a Tensor,
        /// One element.
        on: &'a Tensor,
        /// One element.
        off: &'a Tensor,
        /// The extents: outer, middle and inner.
        extents: [usize; 3],
    },
    /// `start`, then each `step` further, as [`penstock_kernels::gather::range`] has it; one element each, on the host.
    Range {
        /// The first element.
        start: &'a Tensor,
        /// From one to the next.
        step: &'a Tensor,
    },
}

/// The kinds of work on whole tensors that a device does. Each gives a tensor on the device, or `None` where it has no kernel for the
/// dtypes; the host computes it then.
///
/// # Errors
/// Each: `ResourceExhausted` where the memory cannot be had; those of the device.
///
/// # Safety
/// Of each: what the arguments say of extents, places and indices is true of the tensors, as the kernels of the host rely on. Nothing of it
/// is checked again.
#[expect(clippy::missing_safety_doc, reason = "one contract for all, above")]
pub trait DeviceKernels: Sync {
    /// A tensor that is put together from elements of others. Where copies meet, the last one stays.
    unsafe fn moved(
        &self,
        dtype: DType,
        dims: &[usize],
        rest: Rest<'_>,
        copies: &[BoxCopy<'_>],
    ) -> Result<Option<Tensor>>;

    /// A reduction of the marked dimensions of a tensor; `dims` are the extents of the result.
    unsafe fn reduce(&self, op: Reduce, x: &Tensor, marked: &[bool], dims: &[usize]) -> Result<Option<Tensor>>;

    /// The number of elements that are not zero along the marked dimensions of a tensor, `int64`; `dims` are the extents of the result.
    unsafe fn count_nonzero(&self, x: &Tensor, marked: &[bool], dims: &[usize]) -> Result<Option<Tensor>>;

    /// A product of matrices of one dtype, or of integers of 8 bits in `int32`. `dims` are the extents of the result: the batch, the rows and the columns.
    unsafe fn matmul(&self, product: &Product<'_>, dims: &[usize]) -> Result<Option<Tensor>>;

    /// Logarithms of sums of exponentials along the middle of three extents, as [`penstock_kernels::logsumexp::logsumexp`] has them;
    /// `dims` are the extents of the result.
    unsafe fn logsumexp(&self, x: &Tensor, extents: [usize; 3], dims: &[usize]) -> Result<Option<Tensor>>;

    /// Softmax, or its logarithm, of rows of `n` elements.
    unsafe fn softmax(&self, log: bool, x: &Tensor, n: usize) -> Result<Option<Tensor>>;

    /// The cross-entropies of rows of `n` logits, and their derivatives by the logits. The labels are distributions, of the dtype and
    /// the extents of the logits, or the class of each row, as integers that were checked.
    unsafe fn cross_entropy(&self, logits: &Tensor, labels: &Tensor, n: usize) -> Result<Option<[Tensor; 2]>>;

    /// The rows of `x` that indices name, which were checked. `x` is `batches` × `outer` × `n` rows of some bytes, which `blocks` says in
    /// this order; there are as many indices for each batch, and the result has the extents `dims`.
    unsafe fn gather(&self, x: &Tensor, indices: &Tensor, blocks: [usize; 4], dims: &[usize])
    -> Result<Option<Tensor>>;

    /// Reductions of rows in groups. `x` is `batches` × `outer` blocks of rows of `width` elements, the result as many blocks of `n`, which
    /// `blocks` says in this order. Of the groups the first tensor says, for each batch and each of its `n`, where its rows begin in the
    /// second one, which are numbers of rows within a block, and where they end; both are `int32`, and were checked. A group of none gives
    /// what nothing is, but for means, of which it gives 0.
    unsafe fn reduce_groups(
        &self,
        op: Reduce,
        x: &Tensor,
        groups: [&Tensor; 2],
        blocks: [usize; 4],
        dims: &[usize],
    ) -> Result<Option<Tensor>>;

    /// Reductions of rows that lie next to each other. `sizes` are the number of segments and of the elements of a row; the rows of a segment are
    /// those from its own number in `offsets`, which are `int32`, up to the next one. A segment of none gives what is said.
    unsafe fn reduce_segments(
        &self,
        how: (Reduce, Empty),
        x: &Tensor,
        offsets: &Tensor,
        sizes: [usize; 2],
        dims: &[usize],
    ) -> Result<Option<Tensor>>;

    /// The position of the first of some integers that is negative or less than the one before, if any, and the last of them. It waits.
    unsafe fn descent(&self, x: &Tensor) -> Result<Option<(Option<usize>, i64)>>;

    /// How often each integer from 0 to below `length` occurs in each row of `n`, `int64`, of the extents `dims`.
    unsafe fn count_values(&self, x: &Tensor, n: usize, length: usize, dims: &[usize]) -> Result<Option<Tensor>>;

    /// The indices of the elements of an array that are not zero, in their order, a row of `int64` each. It waits for their number.
    unsafe fn nonzero(&self, x: &Tensor) -> Result<Option<Tensor>>;

    /// The distinct elements of a vector, in the order in which they first occur, the position of each element among them, and how often each
    /// occurs; both of the dtype `positions`. Every NaN is distinct. It waits for their number.
    unsafe fn unique(&self, x: &Tensor, positions: DType) -> Result<Option<[Tensor; 3]>>;

    /// `x`, whose rows have `width` elements, with the rows of `updates` combined into some of them: by adding, subtracting, as the greater or the
    /// lesser, or by overwriting where no operator is given. The first tensor of `order`, of integers, says into which row, in ascending order; the
    /// second one, `int32`, which update it is, those of one row in the order in which they are combined.
    unsafe fn update_rows(
        &self,
        op: Option<Binary>,
        x: &Tensor,
        updates: &Tensor,
        order: [&Tensor; 2],
        width: usize,
    ) -> Result<Option<Tensor>>;

    /// A convolution of two operands, in the order in which [`Convolution`] names them. `dims` are the extents of the result.
    unsafe fn convolution(
        &self,
        kind: Convolution,
        geometry: &Geometry,
        operands: [&Tensor; 2],
        dims: &[usize],
    ) -> Result<Option<Tensor>>;

    /// What is made of windows, of the operands that [`Pooling`] names. `dims` are the extents of the result.
    unsafe fn pool(
        &self,
        kind: Pooling,
        windows: &Windows,
        operands: &[&Tensor],
        dims: &[usize],
    ) -> Result<Option<Tensor>>;

    /// Random numbers of a stream.
    unsafe fn random(&self, draw: Draw, stream: Philox, dtype: DType, dims: &[usize]) -> Result<Option<Tensor>>;

    /// A scan of the operands that [`Carried`] names, which are of one dtype and have the extents of the result.
    unsafe fn scan(&self, scan: &Scan, operands: &[&Tensor]) -> Result<Option<Tensor>>;

    /// The first elements of rows, and their positions, as far as they are asked for and in this order. `dims` are the extents of each.
    unsafe fn select(&self, selection: &Selection, x: &Tensor, dims: &[usize])
    -> Result<Option<SmallVec<[Tensor; 2]>>>;

    /// For each of `values`, as many for each row, how many elements of its row of `n` ascending ones are below it, or not above it: what
    /// [`penstock_kernels::sort::search_sorted`] finds, of `dtype`. The result has the extents of `values`.
    unsafe fn search(
        &self,
        side: Side,
        sorted: &Tensor,
        n: usize,
        values: &Tensor,
        dtype: DType,
    ) -> Result<Option<Tensor>>;

    /// Elements that follow from where they are, of a dtype. `dims` are the extents of the result.
    unsafe fn by_place(&self, what: &ByPlace<'_>, dtype: DType, dims: &[usize]) -> Result<Option<Tensor>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(source: &Tensor, from: usize, to: usize, dims: &[(usize, isize, isize)]) -> bool {
        let dims = dims.iter().map(|&(extent, from, to)| CopyDim { extent, from, to }).collect();
        BoxCopy { source, from, to, dims }.fits(6)
    }

    #[test]
    fn a_copy_fits_where_both_ends_of_it_do() {
        let x = Tensor::vector(&[0i32; 6]);
        assert!(BoxCopy::whole(&x, 0).fits(6));
        assert!(!BoxCopy::whole(&x, 1).fits(6));
        // Backwards, repeated, and as columns.
        assert!(copy(&x, 5, 0, &[(6, -1, 1)]));
        assert!(!copy(&x, 4, 0, &[(6, -1, 1)]));
        assert!(copy(&x, 5, 0, &[(6, 0, 1)]));
        assert!(copy(&x, 0, 0, &[(2, 3, 1), (3, 1, 2)]));
        assert!(!copy(&x, 1, 0, &[(2, 3, 1), (3, 1, 2)]));
        assert!(!copy(&x, 0, 1, &[(2, 3, 1), (3, 1, 2)]));
    }

    #[test]
    fn a_copy_of_nothing_fits_anywhere_and_one_of_one_element_where_that_is() {
        let x = Tensor::vector(&[0i32; 6]);
        assert!(copy(&x, 100, 100, &[(0, 1, 1)]));
        assert!(copy(&x, 5, 5, &[]));
        assert!(!copy(&x, 6, 0, &[]));
        assert!(!copy(&x, 0, 6, &[]));
    }
}
