//! Decompositions of matrices.

use penstock_data::{DType, Dim, Error, Result, Shape, Tensor, memory};
use penstock_ir::{
    Batch, Call, Cost, Cpu, Elements, Fails, Fold, InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg,
};
use penstock_linalg::{MATRIX_DTYPES, Matrix};
use smallvec::{SmallVec, smallvec};

use crate::array::ONES_LIKE;
use crate::compare::{EQUAL, NOT_EQUAL};
use crate::diagonals::{BAND_PART, DIAG_PART, SET_DIAG};
use crate::grad::{Ex, Tape, rule};
use crate::joining::CONCAT;
use crate::linalg::{adjoint, adjoint_times, batch_of, matrices, squares, times, times_adjoint};
use crate::samples::{DISTINCT, tensor};
use crate::scan::CUMSUM;
use crate::slicing::{SLICE, SLICE_GRAD};
use crate::solves::{DTYPES, ON_HOST, each, parts, square_extents, triangular_solve, with_scalar};
use crate::util::PROMISE;

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&CHOLESKY, &LU, &QR, &QR_FULL, &SVD, &SVD_FULL, &SINGULAR_VALUES, &EIGH, &EIGVALSH];

// --- pieces of rules ---

/// The band of matrices.
fn band(x: Ex<'_>, lower: i64, upper: i64) -> Ex<'_> {
    x.emit(&BAND_PART, &[], &[("lower", lower.into()), ("upper", upper.into())])
}

/// The matrices with their diagonals multiplied by a number.
fn scale_diagonal(x: Ex<'_>, by: f64) -> Ex<'_> {
    x.emit(&SET_DIAG, &[x.then(&DIAG_PART) * by], &[])
}

/// `x` plus its adjoint.
fn plus_adjoint(x: Ex<'_>) -> Ex<'_> {
    x + adjoint(x)
}

/// `x r^-H` for upper triangular `r`.
fn divided<'t>(x: Ex<'t>, r: Ex<'t>) -> Ex<'t> {
    adjoint(triangular_solve(r, adjoint(x), false, false))
}

/// `1 / (v[j] - v[i])` at `[i, j]`, 0 where both are equal.
pub(crate) fn reciprocal_differences(v: Ex<'_>) -> Ex<'_> {
    let difference = v.expand_dims(-2) - v.expand_dims(-1);
    let differs = difference.is_number(&NOT_EQUAL, 0.0);
    (1.0 / difference.or(differs, difference.number(1.0))).only_if(differs)
}

/// Positive definite matrices with distinct eigenvalues.
fn hermitian(dtype: DType, dims: &[usize]) -> Tensor {
    let (_, &[_, n]) = dims.split_last_chunk::<2>().expect("extents of matrices");
    let real = |i: usize| {
        let (at, row, column) = (i / (n * n), i / n % n, i % n);
        if row == column { 3.0 + (row + at) as f64 } else { 1.0 / (1.0 + (row + column + at) as f64) }
    };
    let imaginary = |i: usize| (i / n % n) as f64 * 0.25 - (i % n) as f64 * 0.25;
    let count: usize = dims.iter().product();
    let made = match dtype {
        DType::C64 => {
            let parts = |i| penstock_data::C64::new(real(i) as f32, imaginary(i) as f32);
            Tensor::from_slice(dims, &(0..count).map(parts).collect::<Vec<_>>())
        }
        DType::C128 => {
            let parts = |i| penstock_data::C128::new(real(i), imaginary(i));
            Tensor::from_slice(dims, &(0..count).map(parts).collect::<Vec<_>>())
        }
        _ => {
            let values: Vec<f64> = (0..count).map(real).collect();
            Ok(tensor(dtype, dims, if values.is_empty() { DISTINCT } else { &values }))
        }
    };
    made.expect("as many elements")
}

fn hermitian_samples() -> Vec<Sample> {
    let x = |d, dims: &[usize]| Sample::new(vec![hermitian(d, dims)]);
    let mut out: Vec<Sample> = MATRIX_DTYPES.iter().map(|d| x(d, &[3, 3])).collect();
    out.extend([&[1, 1][..], &[2, 2, 2], &[0, 0], &[2, 0, 0], &[0, 2, 2]].map(|dims| x(DType::F64, dims)));
    out
}

fn rectangles() -> Vec<Sample> {
    let x = |d, dims: &[usize]| Sample::new(vec![tensor(d, dims, DISTINCT)]);
    let mut out: Vec<Sample> = MATRIX_DTYPES.iter().map(|d| x(d, &[3, 2])).collect();
    for dims in [&[3, 3][..], &[2, 3], &[1, 1], &[2, 3, 2], &[0, 2], &[2, 0], &[0, 0], &[0, 2, 3], &[1, 4], &[4, 1]] {
        out.push(x(DType::F64, dims));
    }
    out
}

/// The number of matrices, their rows and their columns.
fn extents(x: &Tensor) -> (usize, usize, usize) {
    let (batch, &[m, n]) = x.dims().split_last_chunk::<2>().expect("inference has checked the rank");
    (batch.iter().product(), m, n)
}

/// The extents of the results for each matrix, behind the dimensions of the batch.
fn dims_of(x: &Tensor, each: &[usize]) -> SmallVec<[usize; 4]> {
    x.dims()[..x.rank() - 2].iter().chain(each).copied().collect()
}

/// The smaller of two sizes.
fn smaller(m: Dim, n: Dim) -> Dim {
    match (m, n) {
        (Dim::Known(m), Dim::Known(n)) => Dim::Known(m.min(n)),
        (Dim::Known(0), _) | (_, Dim::Known(0)) => Dim::Known(0),
        _ => m.join(n),
    }
}

// --- Cholesky ---

/// The Cholesky factor.
pub static CHOLESKY: OpDef = OpDef {
    name: "cholesky",
    tf_name: "Cholesky",
    doc: "The lower triangular `l` with a positive diagonal for which `l l^H` is the matrix.\n\n\
          `x` of shape `[..., n, n]` gives the same shape. Only the lower triangle is read; the cotangent is Hermitian. \
          The factor of a matrix that is not positive definite is NaN.\n\n\
          Errors: `InvalidArgument` for matrices that are not square.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        squares(cx.shape(0), "x")?;
        crate::util::one(cx.inputs[0].clone())
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        squares(&Shape::known(x.dims()), "x")?;
        let (count, n) = square_extents(x);
        call.out(0, x.dtype(), x.dims())?;
        if call.gives_nothing() {
            return Ok(());
        }
        with_scalar!(x.dtype(), T => {
            let (a, out) = (x.as_slice::<T>(), &mut call.outputs[0]);
            each(parts(out.as_mut_slice::<T>(), count), (n * n * n) as f64 / 3.0, |i, to| {
                T::cholesky(n, &a[i * n * n..][..n * n], to);
                Ok(())
            })
        })
    }),
    cuda: ON_HOST,
    // Murray, "Differentiation of the Cholesky decomposition" (2016), equation 10.
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            smallvec![t.needed[0].then(|| {
                let l = t.y(0);
                let p = scale_diagonal(band(adjoint_times(l, t.g()), -1, 0), 0.5);
                let half = triangular_solve(l, p, true, true);
                plus_adjoint(triangular_solve(l, adjoint(half), true, true)) * 0.5
            })]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| 0.1 * cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: hermitian_samples,
};

// --- LU ---

/// Triangular factors with row exchanges.
pub static LU: OpDef = OpDef {
    name: "lu",
    tf_name: "Lu",
    doc: "The triangular factors of each matrix with its rows in another order, by partial pivoting.\n\n\
          `x` of shape `[..., m, n]` gives `lu` of the same shape, which holds the upper factor on and above the \
          diagonal and below it the lower one, whose diagonal is 1, and `p` (`int32`) of shape `[..., m]`: row `i` of \
          the product of the factors is row `p[i]` of `x`. The derivative needs matrices that are known to be square, or whose sizes are known.\n\n\
          Errors: `InvalidArgument` for rank below 2.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let order = matrices(cx.shape(0), "x")?
            .map_or(Shape::UNRANKED, |(batch, m, _)| Shape::new(batch.iter().copied().chain([m])));
        Ok(smallvec![cx.inputs[0].clone(), Type::tensor(DType::I32, order)])
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let (count, m, n) = extents(x);
        call.out(0, x.dtype(), x.dims())?;
        call.out(1, DType::I32, &dims_of(x, &[m]))?;
        if call.gives_nothing() {
            return Ok(());
        }
        let [packed, order, ..] = call.outputs else { return Err(Error::internal("there are two results")) };
        let orders = parts(order.as_mut_slice::<i32>(), count);
        with_scalar!(x.dtype(), T => {
            let a = x.as_slice::<T>();
            let places = parts(packed.as_mut_slice::<T>(), count).zip(orders);
            each(places, (m * n * m.min(n)) as f64, |i, (packed, order)| {
                let mut rows = memory::scratch(0, m);
                T::lu(m, n, &a[i * m * n..][..m * n], packed, &mut rows);
                order.iter_mut().zip(rows).for_each(|(to, row)| *to = row as i32);
                Ok(())
            })
        })
    }),
    cuda: ON_HOST,
    // With p the permutation, p x = l u gives l^-1 p dx u^-1 = l^-1 dl + du u^-1, of which the parts lie below the
    // diagonal and not.
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let Some(g) = t.grad(0).filter(|_| t.needed[0]) else { return smallvec![None] };
            let permuted = match t.x(0).shape().dims() {
                Some(&[.., Dim::Known(m), Dim::Known(n)]) if m > n => tall_lu_grad(t.y(0), g, n),
                Some(&[.., Dim::Known(m), Dim::Known(n)]) if m < n => wide_lu_grad(t.y(0), g, m),
                Some(&[.., m, n]) if m == n && m != Dim::Unknown => square_lu_grad(t.y(0), g),
                _ => {
                    return smallvec![Some(g.fail(Error::unimplemented(
                        "the derivative needs the matrices to be square, or their sizes to be known"
                    )))];
                }
            };
            smallvec![Some(unpermuted(t, permuted))]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| 0.1 * cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = crate::solves::square_samples();
        for dims in [&[2, 3][..], &[3, 2], &[2, 1, 3], &[4, 1], &[0, 2], &[2, 0], &[2, 2, 5]] {
            out.push(Sample::new(vec![tensor(DType::F64, dims, DISTINCT)]));
        }
        out.push(Sample::new(vec![tensor(DType::C128, &[3, 2], DISTINCT)]));
        out.push(Sample::new(vec![tensor(DType::F64, &[2, 3], &[f64::INFINITY, 0.5, 2.0])]));
        out
    },
};

/// What is strictly below the diagonal.
fn strictly_below(x: Ex<'_>) -> Ex<'_> {
    scale_diagonal(band(x, -1, 0), 0.0)
}

/// The triangular factors that square matrices hold.
fn unpacked(packed: Ex<'_>) -> (Ex<'_>, Ex<'_>) {
    let below = band(packed, -1, 0);
    let ones = below.then(&DIAG_PART).then(&ONES_LIKE);
    (below.emit(&SET_DIAG, &[ones], &[]), band(packed, 0, -1))
}

/// The cotangent of `p x`, from the factors and their cotangent.
fn square_lu_grad<'t>(packed: Ex<'t>, g: Ex<'t>) -> Ex<'t> {
    let (l, u) = unpacked(packed);
    let inner = strictly_below(adjoint_times(l, strictly_below(g))) + band(times_adjoint(band(g, 0, -1), u), 0, -1);
    divided(triangular_solve(l, inner, true, true), u)
}

/// The rows of matrices that begin at `from`, or the columns where `axis` is -1: `count` of them, or all where it is -1.
fn stretch(x: Ex<'_>, axis: i64, from: usize, count: i64) -> Ex<'_> {
    let rank = x.shape().rank().unwrap_or(2);
    let at = rank - axis.unsigned_abs() as usize;
    let (mut begin, mut size) = (vec![0i64; rank], vec![-1i64; rank]);
    (begin[at], size[at]) = (from as i64, count);
    x.emit(&SLICE, &[x.constant(Tensor::vector(&begin)), x.constant(Tensor::vector(&size))], &[])
}

/// As [`square_lu_grad`] for more rows than the `n` columns. The rows `l2` of the lower factor beyond those follow from
/// `dx2 = dl2 u + l2 du`.
fn tall_lu_grad<'t>(packed: Ex<'t>, g: Ex<'t>, n: usize) -> Ex<'t> {
    let halves = |x| (stretch(x, -2, 0, n as i64), stretch(x, -2, n, -1));
    let ((square, l2), (first, of_l2)) = (halves(packed), halves(g));
    let of_x2 = divided(of_l2, band(square, 0, -1));
    let of_x1 = square_lu_grad(square, first - band(adjoint_times(l2, of_x2), 0, -1));
    of_x1.emit(&CONCAT, &[of_x2], &[("axis", (-2i64).into())])
}

/// As [`square_lu_grad`] for more columns than the `m` rows. The columns `u2` of the upper factor beyond those follow
/// from `dx2 = dl u2 + l du2`.
fn wide_lu_grad<'t>(packed: Ex<'t>, g: Ex<'t>, m: usize) -> Ex<'t> {
    let halves = |x| (stretch(x, -1, 0, m as i64), stretch(x, -1, m, -1));
    let ((square, u2), (first, of_u2)) = (halves(packed), halves(g));
    let (l, _) = unpacked(square);
    let of_x2 = triangular_solve(l, of_u2, true, true);
    let of_x1 = square_lu_grad(square, first - strictly_below(times_adjoint(of_x2, u2)));
    of_x1.emit(&CONCAT, &[of_x2], &[("axis", (-1i64).into())])
}

/// The rows of `x` in the order that they had before `lu` of `t` permuted them.
fn unpermuted<'t>(t: &'t Tape<'_>, x: Ex<'t>) -> Ex<'t> {
    let order = t.y(1);
    let numbers = order.then(&ONES_LIKE).emit(&CUMSUM, &[], &[("axis", (-1i64).into())]) - 1.0;
    let permutation = order.expand_dims(-1).is(&EQUAL, numbers.expand_dims(-2)).cast(x.dtype());
    adjoint_times(permutation, x)
}

// --- QR ---

fn infer_qr(cx: &InferCx<'_>, full: bool) -> Result<OutTypes> {
    let (q, r) = match matrices(cx.shape(0), "x")? {
        Some((batch, m, n)) => {
            let p = if full { m } else { smaller(m, n) };
            (batch_of(batch, m, p), batch_of(batch, p, n))
        }
        None => (Shape::UNRANKED, Shape::UNRANKED),
    };
    Ok(smallvec![Type::tensor(cx.dtype(0), q), Type::tensor(cx.dtype(0), r)])
}

fn run_qr(call: &mut Call<'_>, full: bool) -> Result<()> {
    let x = call.inputs[0];
    let (count, m, n) = extents(x);
    let p = if full { m } else { m.min(n) };
    call.out(0, x.dtype(), &dims_of(x, &[m, p]))?;
    call.out(1, x.dtype(), &dims_of(x, &[p, n]))?;
    if call.gives_nothing() {
        return Ok(());
    }
    let [q, r, ..] = call.outputs else { return Err(Error::internal("there are two results")) };
    with_scalar!(x.dtype(), T => {
        let a = x.as_slice::<T>();
        let places = parts(q.as_mut_slice::<T>(), count).zip(parts(r.as_mut_slice::<T>(), count));
        each(places, 4.0 * (m * n * p) as f64, |i, (q, r)| {
            T::qr(m, n, full, &a[i * m * n..][..m * n], q, r);
            Ok(())
        })
    })
}

/// Orthonormal columns and an upper triangle.
pub static QR: OpDef = OpDef {
    name: "qr",
    tf_name: "Qr",
    doc: "`q` with orthonormal columns and `r`, upper triangular, with `x = q r`, by Householder reflections.\n\n\
          `x` of shape `[..., m, n]` gives `q` of `[..., m, p]` and `r` of `[..., p, n]`, with `p` the smaller of `m` \
          and `n`.\n\n\
          Errors: `InvalidArgument` for rank below 2.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| infer_qr(cx, false),
    cpu: Cpu::Kernel(|call| run_qr(call, false)),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![qr_grad(t)])),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| 0.1 * cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: rectangles,
};

/// As `qr`, with a square `q`.
pub static QR_FULL: OpDef = OpDef {
    name: "qr_full",
    tf_name: "QrFull",
    doc: "As `qr`, with as many columns of `q` as `x` has rows.\n\n\
          `x` of shape `[..., m, n]` gives `q` of `[..., m, m]` and `r` of `[..., m, n]`.\n\n\
          Errors: `InvalidArgument` for rank below 2.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| infer_qr(cx, true),
    cpu: Cpu::Kernel(|call| run_qr(call, true)),
    cuda: ON_HOST,
    vjp: Vjp::NonDifferentiable("the columns of q beyond those of x are not determined by it"),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| 0.1 * cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: rectangles,
};

/// Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2018), for the first columns, as many
/// as there are rows; the others are `q` times columns of `r`.
fn qr_grad<'t>(t: &'t Tape<'_>) -> Option<Ex<'t>> {
    if !t.needed[0] {
        return None;
    }
    let (x, q, r) = (t.x(0), t.y(0), t.y(1));
    let of_q = t.grad(0).unwrap_or_else(|| q.then(&crate::array::ZEROS_LIKE));
    let of_r = t.grad(1).unwrap_or_else(|| r.then(&crate::array::ZEROS_LIKE));
    let Some(rank) = x.shape().rank() else {
        return Some(x.fail(Error::unimplemented("the derivative needs the rank of the matrices to be known")));
    };
    let is_tall = matches!(x.shape().dims(), Some([.., Dim::Known(m), Dim::Known(n)]) if m >= n);
    if is_tall {
        return Some(tall_qr_grad(q, r, of_q, of_r));
    }
    let begin = x.constant(Tensor::vector(&vec![0i64; rank]));
    // The extents of the first columns of x, and of r.
    let (tall, square) = (q.extents(), times_adjoint(r, r).extents());
    let first = |x: Ex<'t>, size: Ex<'t>| x.emit(&SLICE, &[begin, size], &[]);
    let (first_x, first_r, of_first_r) = (first(x, tall), first(r, square), first(of_r, square));
    let of_q = of_q + times_adjoint(x, of_r) - times_adjoint(first_x, of_first_r);
    let of_first = tall_qr_grad(q, first_r, of_q, of_first_r) - times(q, of_first_r);
    Some(times(q, of_r) + x.extents().emit(&SLICE_GRAD, &[begin, of_first], &[]))
}

/// The cotangent of a matrix with no fewer rows than columns.
fn tall_qr_grad<'t>(q: Ex<'t>, r: Ex<'t>, of_q: Ex<'t>, of_r: Ex<'t>) -> Ex<'t> {
    let m = times_adjoint(r, of_r) - adjoint_times(of_q, q);
    let mirrored = plus_adjoint(scale_diagonal(band(m, -1, 0), 0.5));
    divided(of_q + times(q, mirrored), r)
}

// --- singular values ---

fn infer_svd(cx: &InferCx<'_>, full: bool) -> Result<OutTypes> {
    let (dtype, real) = (cx.dtype(0), cx.dtype(0).real());
    let Some((batch, m, n)) = matrices(cx.shape(0), "x")? else {
        return Ok([real, dtype, dtype].map(|d| Type::tensor(d, Shape::UNRANKED)).into_iter().collect());
    };
    let p = smaller(m, n);
    let (of_u, of_v) = if full { (m, n) } else { (p, p) };
    Ok(smallvec![
        Type::tensor(real, Shape::new(batch.iter().copied().chain([p]))),
        Type::tensor(dtype, batch_of(batch, m, of_u)),
        Type::tensor(dtype, batch_of(batch, n, of_v)),
    ])
}

fn run_svd(call: &mut Call<'_>, full: bool) -> Result<()> {
    let x = call.inputs[0];
    let (count, m, n) = extents(x);
    let p = m.min(n);
    let (of_u, of_v) = if full { (m, n) } else { (p, p) };
    call.out(0, x.dtype().real(), &dims_of(x, &[p]))?;
    call.out(1, x.dtype(), &dims_of(x, &[m, of_u]))?;
    call.out(2, x.dtype(), &dims_of(x, &[n, of_v]))?;
    if call.gives_nothing() {
        return Ok(());
    }
    let [s, u, v, ..] = call.outputs else { return Err(Error::internal("there are three results")) };
    with_scalar!(x.dtype(), T => {
        let a = x.as_slice::<T>();
        let s = parts(s.as_mut_slice::<<T as Matrix>::Magnitude>(), count);
        let vectors = parts(u.as_mut_slice::<T>(), count).zip(parts(v.as_mut_slice::<T>(), count));
        each(s.zip(vectors), 20.0 * (m * n * p) as f64, |i, (s, (u, v))| {
            T::svd(m, n, full, &a[i * m * n..][..m * n], s, Some((u, v)))
        })
    })
}

/// Singular values and vectors.
pub static SVD: OpDef = OpDef {
    name: "svd",
    tf_name: "Svd",
    doc: "Singular values and vectors: `x = u diag(s) v^H` with orthonormal columns of `u` and `v`, and `s` not negative and in descending order.\n\n\
          Of each column of `u` the first element that is at least half as great as the greatest is positive.\n\n\
          `x` of shape `[..., m, n]` gives `s` (real) of `[..., p]`, `u` of `[..., m, p]` and `v` of `[..., n, p]`, \
          with `p` the smaller of `m` and `n`. All is NaN for a matrix with an element that is not finite. The \
          derivative by the vectors takes equal singular values for apart.\n\n\
          Errors: `InvalidArgument` for rank below 2.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| infer_svd(cx, false),
    cpu: Cpu::Kernel(|call| run_svd(call, false)),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![svd_grad(t)])),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: rectangles,
};

/// As `svd`, with square `u` and `v`.
pub static SVD_FULL: OpDef = OpDef {
    name: "svd_full",
    tf_name: "SvdFull",
    doc: "As `svd`, with square `u` and `v`.\n\n\
          `x` of shape `[..., m, n]` gives `s` of `[..., min(m, n)]`, `u` of `[..., m, m]` and `v` of `[..., n, n]`.\n\n\
          Errors: `InvalidArgument` for rank below 2.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| infer_svd(cx, true),
    cpu: Cpu::Kernel(|call| run_svd(call, true)),
    cuda: ON_HOST,
    vjp: Vjp::NonDifferentiable("the vectors beyond those of the singular values are not determined by the matrix"),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: rectangles,
};

/// Singular values.
pub static SINGULAR_VALUES: OpDef = OpDef {
    name: "singular_values",
    tf_name: "SingularValues",
    doc: "The singular values of each matrix in descending order.\n\n\
          `x` of shape `[..., m, n]` gives `[..., min(m, n)]`, real. NaN for a matrix with an element that is not \
          finite.\n\n\
          Errors: `InvalidArgument` for rank below 2.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(infer_svd(cx, false)?.into_iter().take(1).collect()),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let (count, m, n) = extents(x);
        call.out(0, x.dtype().real(), &dims_of(x, &[m.min(n)]))?;
        if call.gives_nothing() {
            return Ok(());
        }
        with_scalar!(x.dtype(), T => {
            let (a, out) = (x.as_slice::<T>(), &mut call.outputs[0]);
            let places = parts(out.as_mut_slice::<<T as Matrix>::Magnitude>(), count);
            each(places, 4.0 * (m * n * m.min(n)) as f64, |i, s| {
                T::svd(m, n, false, &a[i * m * n..][..m * n], s, None)
            })
        })
    }),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            smallvec![t.needed[0].then(|| {
                let [_, u, v] = t.x(0).emit_all::<3>(&SVD);
                times_adjoint(u * t.g().cast(u.dtype()).expand_dims(-2), v)
            })]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: rectangles,
};

/// Wan and Zhang, "Automatic differentiation for complex valued SVD" (2019), equation 8; for real matrices that of
/// Townsend, "Differentiating the singular value decomposition" (2016).
fn svd_grad<'t>(t: &'t Tape<'_>) -> Option<Ex<'t>> {
    if !t.needed[0] {
        return None;
    }
    let (s, u, v) = (t.y(0).cast(t.y(1).dtype()), t.y(1), t.y(2));
    let (rows, columns) = (s.expand_dims(-1), s.expand_dims(-2));
    let apart = reciprocal_differences(s * s);
    let mut inner = t.grad(0).map(|g| {
        let zeros = times(rows, columns).then(&crate::array::ZEROS_LIKE);
        zeros.emit(&SET_DIAG, &[g.cast(u.dtype())], &[])
    });
    let mut outer: Option<Ex<'t>> = None;
    let add = |sum: &mut Option<Ex<'t>>, x: Ex<'t>| *sum = Some(sum.map_or(x, |sum| sum + x));
    if let Some(g) = t.grad(1) {
        let within = adjoint_times(u, g);
        add(&mut inner, plus_adjoint(apart * within) * columns);
        add(&mut outer, times_adjoint((g - times(u, within)) / columns, v));
    }
    if let Some(g) = t.grad(2) {
        let within = adjoint_times(v, g);
        add(&mut inner, plus_adjoint(apart * within) * rows);
        add(&mut outer, times_adjoint(u / columns, g - times(v, within)));
        if u.dtype().is_complex() {
            let turn = within.then(&DIAG_PART);
            let zeros = within.then(&crate::array::ZEROS_LIKE);
            add(&mut inner, zeros.emit(&SET_DIAG, &[(turn.conj() - turn) * 0.5 / s], &[]));
        }
    }
    let inner = inner.map(|inner| times(u, times_adjoint(inner, v)));
    match (inner, outer) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

// --- eigenvalues ---

fn eigenvalues(cx: &InferCx<'_>) -> Result<Type> {
    let shape =
        squares(cx.shape(0), "x")?.map_or(Shape::UNRANKED, |(batch, n)| Shape::new(batch.iter().copied().chain([n])));
    Ok(Type::tensor(cx.dtype(0).real(), shape))
}

/// Eigenvalues and eigenvectors of Hermitian matrices.
pub static EIGH: OpDef = OpDef {
    name: "self_adjoint_eig",
    tf_name: "SelfAdjointEigV2",
    doc: "Eigenvalues and eigenvectors of Hermitian matrices: `x = v diag(e) v^H` with orthonormal columns of `v`, and `e` in ascending order.\n\n\
          Of each column of `v` the first element that is at least half as great as the greatest is positive.\n\n\
          `x` of shape `[..., n, n]`, of which only the lower triangle is read, gives `e` (real) of `[..., n]` and \
          `v` of `[..., n, n]`. The derivative by the vectors takes equal eigenvalues for apart; the cotangent is a \
          lower triangle.\n\n\
          Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(smallvec![eigenvalues(cx)?, cx.inputs[0].clone()]),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        squares(&Shape::known(x.dims()), "x")?;
        let (count, n) = square_extents(x);
        call.out(0, x.dtype().real(), &dims_of(x, &[n]))?;
        call.out(1, x.dtype(), x.dims())?;
        if call.gives_nothing() {
            return Ok(());
        }
        let [e, v, ..] = call.outputs else { return Err(Error::internal("there are two results")) };
        with_scalar!(x.dtype(), T => {
            let a = x.as_slice::<T>();
            let e = parts(e.as_mut_slice::<<T as Matrix>::Magnitude>(), count);
            let places = e.zip(parts(v.as_mut_slice::<T>(), count));
            each(places, 9.0 * (n * n * n) as f64, |i, (e, v)| {
                T::eigh(n, &a[i * n * n..][..n * n], e, Some(v))
            })
        })
    }),
    cuda: ON_HOST,
    // Giles (2008), section 3.1.
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            if !t.needed[0] {
                return smallvec![None];
            }
            let (e, v) = (t.y(0), t.y(1));
            let of_vectors = t.grad(1).map(|g| adjoint_times(v, g) * reciprocal_differences(e.cast(v.dtype())));
            smallvec![eigen_grad(v, t.grad(0), of_vectors)]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: hermitian_samples,
};

/// `v (diag(of_values) + inner) v^H` as the cotangent of what only the lower triangle is read of.
fn eigen_grad<'t>(v: Ex<'t>, of_values: Option<Ex<'t>>, inner: Option<Ex<'t>>) -> Option<Ex<'t>> {
    let whole = match (of_values, inner) {
        (None, None) => return None,
        (None, Some(inner)) => times(v, times_adjoint(inner, v)),
        (Some(g), None) => times_adjoint(v * g.cast(v.dtype()).expand_dims(-2), v),
        (Some(g), Some(inner)) => {
            let inner = inner.emit(&SET_DIAG, &[g.cast(v.dtype())], &[]);
            times(v, times_adjoint(inner, v))
        }
    };
    Some(scale_diagonal(band(plus_adjoint(whole), -1, 0), 0.5))
}

/// Eigenvalues of Hermitian matrices.
pub static EIGVALSH: OpDef = OpDef {
    name: "self_adjoint_eigvals",
    tf_name: "SelfAdjointEigvals",
    doc: "The eigenvalues of Hermitian matrices in ascending order.\n\n\
          `x` of shape `[..., n, n]`, of which only the lower triangle is read, gives `[..., n]`, real.\n\n\
          Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| crate::util::one(eigenvalues(cx)?),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        squares(&Shape::known(x.dims()), "x")?;
        let (count, n) = square_extents(x);
        call.out(0, x.dtype().real(), &dims_of(x, &[n]))?;
        if call.gives_nothing() {
            return Ok(());
        }
        with_scalar!(x.dtype(), T => {
            let (a, out) = (x.as_slice::<T>(), &mut call.outputs[0]);
            let places = parts(out.as_mut_slice::<<T as Matrix>::Magnitude>(), count);
            each(places, 2.0 * (n * n * n) as f64, |i, e| {
                T::eigh(n, &a[i * n * n..][..n * n], e, None)
            })
        })
    }),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            smallvec![t.needed[0].then(|| {
                let [_, v] = t.x(0).emit_all::<2>(&EIGH);
                eigen_grad(v, Some(t.g()), None).unwrap_or(v)
            })]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: hermitian_samples,
};
