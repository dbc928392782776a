//! Eigenvalues and eigenvectors of matrices that need not be Hermitian.

use penstock_data::{DType, Error, Result, Shape, Tensor};
use penstock_ir::{Batch, Cost, Cpu, Elements, Fails, Fold, InferCx, Jvp, OpDef, Rows, Sample, Type, Vjp, arg};
use penstock_linalg::{MATRIX_DTYPES, Matrix};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::compare::EQUAL;
use crate::decompositions::reciprocal_differences;
use crate::diagonals::{DIAG_PART, SET_DIAG};
use crate::grad::{Ex, Tape, rule};
use crate::linalg::{adjoint, adjoint_times, squares, times};
use crate::reduce::REDUCE_MIN;
use crate::samples::{DISTINCT, tensor};
use crate::solves::{DTYPES, ON_HOST, SOLVE, each, parts, square_extents, with_scalar};
use crate::unary::{ABS, REAL};
use crate::util::PROMISE;

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&EIG, &EIGVALS];

/// The types of the eigenvalues and of the eigenvectors.
fn infer(cx: &InferCx<'_>) -> Result<[Type; 2]> {
    let shape =
        squares(cx.shape(0), "x")?.map_or(Shape::UNRANKED, |(batch, n)| Shape::new(batch.iter().copied().chain([n])));
    let dtype = cx.dtype(0).complex();
    Ok([Type::tensor(dtype, shape), Type::tensor(dtype, cx.shape(0).clone())])
}

/// The extents of the eigenvalues.
fn values_dims(x: &Tensor) -> &[usize] {
    &x.dims()[..x.rank() - 1]
}

/// Eigenvalues and eigenvectors.
pub static EIG: OpDef = OpDef {
    name: "eig",
    tf_name: "Eig",
    doc: "Eigenvalues and eigenvectors of square matrices: `x v = v diag(e)`.\n\n\
          `x` of shape `[..., n, n]` gives `e` of `[..., n]`, in the order in which they are found, and `v` of \
          `[..., n, n]`, whose columns have length 1; both are complex. Of each column the first element that is at \
          least half as great as the greatest is positive. The derivative takes this factor of absolute value 1 for \
          constant; it is infinite or NaN where eigenvalues are equal.\n\n\
          Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(infer(cx)?.into_iter().collect()),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        squares(&Shape::known(x.dims()), "x")?;
        let (count, n) = square_extents(x);
        call.out(0, x.dtype().complex(), values_dims(x))?;
        call.out(1, x.dtype().complex(), x.dims())?;
        if call.gives_nothing() {
            return Ok(());
        }
        let [e, v, ..] = call.outputs else { return Err(Error::internal("there are two results")) };
        with_scalar!(x.dtype(), T => {
            let a = x.as_slice::<T>();
            let e = parts(e.as_mut_slice::<<T as Matrix>::Complex>(), count);
            let places = e.zip(parts(v.as_mut_slice::<<T as Matrix>::Complex>(), count));
            each(places, 25.0 * (n * n * n) as f64, |i, (e, v)| T::eig(n, &a[i * n * n..][..n * n], e, Some(v)))
        })
    }),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![eig_grad(t)])),
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| 5.0 * cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || samples(false),
};

/// Boeddeker et al., "On the computation of complex-valued gradients with application to statistically optimum
/// beamforming" (2017), equation 4.77.
fn eig_grad<'t>(t: &'t Tape<'_>) -> Option<Ex<'t>> {
    if !t.needed[0] {
        return None;
    }
    let (x, e, v) = (t.x(0), t.y(0), t.y(1));
    let inner = t.grad(1).map(|g| {
        let within = adjoint_times(v, g);
        // What would change the lengths of the vectors.
        let along = within.then(&DIAG_PART).then(&REAL).cast(v.dtype()).expand_dims(-2);
        reciprocal_differences(e).conj() * (within - adjoint_times(v, v) * along)
    });
    let inner = match (inner, t.grad(0)) {
        (inner, None) => inner?,
        (None, Some(g)) => diagonal(g, v),
        (Some(inner), Some(g)) => inner.emit(&SET_DIAG, &[g], &[]),
    };
    Some(in_basis(v, inner, x.dtype()))
}

/// The matrices with these diagonals, of the shape of `like`.
fn diagonal<'t>(of: Ex<'t>, like: Ex<'t>) -> Ex<'t> {
    like.then(&crate::array::ZEROS_LIKE).emit(&SET_DIAG, &[of], &[])
}

/// `v^-H inner v^H`, as the cotangent of matrices of a dtype.
fn in_basis<'t>(v: Ex<'t>, inner: Ex<'t>, dtype: DType) -> Ex<'t> {
    let whole = v.emit(&SOLVE, &[times(inner, adjoint(v))], &[("adjoint", true.into())]);
    if dtype.is_complex() { whole } else { whole.then(&REAL) }
}

/// Eigenvalues.
pub static EIGVALS: OpDef = OpDef {
    name: "eigvals",
    tf_name: "Eigvals",
    doc: "The eigenvalues of square matrices, in the order in which they are found.\n\n\
          `x` of shape `[..., n, n]` gives `[..., n]`, complex.\n\n\
          Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(infer(cx)?.into_iter().take(1).collect()),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        squares(&Shape::known(x.dims()), "x")?;
        let (count, n) = square_extents(x);
        call.out(0, x.dtype().complex(), values_dims(x))?;
        if call.gives_nothing() {
            return Ok(());
        }
        with_scalar!(x.dtype(), T => {
            let (a, out) = (x.as_slice::<T>(), &mut call.outputs[0]);
            let places = parts(out.as_mut_slice::<<T as Matrix>::Complex>(), count);
            each(places, 10.0 * (n * n * n) as f64, |i, e| T::eig(n, &a[i * n * n..][..n * n], e, None))
        })
    }),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            smallvec![t.needed[0].then(|| {
                let [e, v] = t.x(0).emit_all::<2>(&EIG);
                in_basis(v, diagonal(matched(t.y(0), t.g(), e), v), t.x(0).dtype())
            })]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| 5.0 * cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || samples(true),
};

/// The cotangents `g` of the eigenvalues `from`, for the same eigenvalues in the order of `to`: that may be another one,
/// since they are found together with vectors. A cotangent is shared by equal eigenvalues.
fn matched<'t>(from: Ex<'t>, g: Ex<'t>, to: Ex<'t>) -> Ex<'t> {
    let apart = (from.expand_dims(-1) - to.expand_dims(-2)).then(&ABS);
    let nearest = apart.emit(&REDUCE_MIN, &[], &[("axes", [-1i64][..].into()), ("keepdims", true.into())]);
    let is_nearest = apart.is(&EQUAL, nearest).cast(apart.dtype());
    let shares = is_nearest / is_nearest.sum(&[-1], true);
    (shares.cast(g.dtype()) * g.expand_dims(-1)).sum(&[-2], false)
}

/// Matrices with distinct eigenvalues: real ones for real matrices, and if `any` others too.
fn samples(any: bool) -> Vec<Sample> {
    let complex = |d, dims: &[usize]| Sample::new(vec![tensor(d, dims, DISTINCT)]);
    // A positive diagonal times a positive definite matrix has positive eigenvalues.
    let real = |d, dims: &[usize]| {
        let n = dims[dims.len() - 1].max(1);
        let element = |i: usize| {
            let (at, row, column) = (i / (n * n), i / n % n, i % n);
            let off = 1.0 / (1.0 + (row + column + at) as f64);
            (1.0 + 0.5 * row as f64) * if row == column { 3.0 + (row + at) as f64 } else { off }
        };
        let values: SmallVec<[f64; 16]> = (0..dims.iter().product::<usize>().max(1)).map(element).collect();
        Sample::new(vec![tensor(d, dims, &values)])
    };
    let made = |d: DType, dims: &[usize]| if d.is_complex() { complex(d, dims) } else { real(d, dims) };
    let mut out: Vec<Sample> = MATRIX_DTYPES.iter().map(|d| made(d, &[3, 3])).collect();
    out.extend([&[1, 1][..], &[2, 2, 2], &[0, 0], &[2, 0, 0], &[0, 2, 2]].map(|dims| real(DType::F64, dims)));
    if any {
        let turn = tensor(DType::F64, &[2, 2], &[1.0, -2.0, 3.0, 0.5]);
        out.push(Sample::new(vec![turn]));
        out.push(complex(DType::F64, &[4, 4]));
    }
    out
}
