//! Systems of linear equations, inverses and determinants.

use std::sync::Mutex;

use penstock_data::{DType, Error, Result, Shape, Tensor, memory};
use penstock_ir::{
    AttrDef, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, InferCx, Jvp, OpDef, OutTypes, Rows,
    Sample, Type, Vjp, arg,
};
use penstock_kernels::pool::{grain, parallel_for};
use penstock_linalg::{Failure, MATRIX_DTYPES, Matrix};
use smallvec::{SmallVec, smallvec};

use crate::binary::broadcast;
use crate::diagonals::BAND_PART;
use crate::grad::{Ex, rule};
use crate::linalg::{adjoint, adjoint_times, batch_of, squares, times_adjoint};
use crate::samples::{DISTINCT, LINE, tensor};
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&TRIANGULAR_SOLVE, &SOLVE, &INVERSE, &DET, &SLOGDET];

pub(crate) const ON_HOST: Cuda = Cuda::HostFallback("linear algebra is done on the host");
pub(crate) const DTYPES: &[DTypeVar] = &[DTypeVar::new("T", MATRIX_DTYPES)];

/// Runs a kernel with the element type of a dtype of matrices.
macro_rules! with_scalar {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::C64 => {
                type $T = penstock_data::C64;
                $body
            }
            _ => {
                type $T = penstock_data::C128;
                $body
            }
        }
    };
}
pub(crate) use with_scalar;

/// `count` equal parts of a slice.
pub(crate) fn parts<T>(slice: &mut [T], count: usize) -> Parts<'_, T> {
    let size = slice.len().checked_div(count).unwrap_or(0);
    Parts { rest: slice, size, count }
}

/// What [`parts`] gives.
pub(crate) struct Parts<'a, T> {
    rest: &'a mut [T],
    size: usize,
    count: usize,
}

impl<'a, T> Iterator for Parts<'a, T> {
    type Item = &'a mut [T];

    fn next(&mut self) -> Option<&'a mut [T]> {
        self.count = self.count.checked_sub(1)?;
        let (part, rest) = std::mem::take(&mut self.rest).split_at_mut(self.size);
        self.rest = rest;
        Some(part)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

/// Runs `f` for each matrix with what it writes to, on several threads where that is worth it. `flops` estimates one.
///
/// # Errors
/// That of the first matrix for which there is one.
pub(crate) fn each<W: Send>(
    places: impl Iterator<Item = W>,
    flops: f64,
    f: impl Fn(usize, &mut W) -> std::result::Result<(), Failure> + Sync,
) -> Result<()> {
    let places: Vec<Mutex<W>> = memory::collected(places.map(Mutex::new))?;
    let failed = Mutex::new(None::<(usize, Failure)>);
    parallel_for(places.len(), grain(300.0 + flops / 4.0), |range| {
        for i in range {
            // No other thread takes this place; a poisoned lock would mean a panic that ends the run anyway.
            let mut place = places[i].lock().unwrap_or_else(|e| e.into_inner());
            if let Err(failure) = f(i, &mut place) {
                let mut first = failed.lock().unwrap_or_else(|e| e.into_inner());
                if first.is_none_or(|(at, _)| i < at) {
                    *first = Some((i, failure));
                }
                return;
            }
        }
    });
    match failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
        None => Ok(()),
        Some((index, failure)) => Err(error(failure, index, places.len())),
    }
}

fn error(failure: Failure, index: usize, count: usize) -> Error {
    let which = if count == 1 { String::new() } else { format!(", matrix {index} of the batch") };
    Error::invalid(match failure {
        Failure::Singular => format!("Input matrix{which} is not invertible"),
        Failure::NoConvergence => {
            format!("the decomposition was not successful: the input matrix{which} might not be valid")
        }
    })
}

/// The extents of known square matrices: how many there are, and their rows.
pub(crate) fn square_extents(x: &Tensor) -> (usize, usize) {
    let (batch, &[_, n]) = x.dims().split_last_chunk::<2>().expect("inference has checked the rank");
    (batch.iter().product(), n)
}

/// The shape of the solution of systems of equations.
fn infer_solve(cx: &InferCx<'_>) -> Result<OutTypes> {
    one(Type::tensor(cx.dtype(0), solution(cx.shape(0), cx.shape(1))?))
}

fn solution(matrix: &Shape, rhs: &Shape) -> Result<Shape> {
    let (a, b) = (squares(matrix, "matrix")?, crate::linalg::matrices(rhs, "rhs")?);
    let (Some((a_batch, n)), Some((b_batch, rows, k))) = (a, b) else { return Ok(Shape::UNRANKED) };
    let Some(n) = n.merge(rows) else {
        return Err(Error::invalid(format!("expected {n} rows, as matrix of shape {matrix} has, got shape {rhs}"))
            .argument("rhs"));
    };
    let batch = broadcast(&[&Shape::new(a_batch.iter().copied()), &Shape::new(b_batch.iter().copied())])?;
    Ok(match batch.dims() {
        Some(batch) => batch_of(batch, n, k),
        None => Shape::UNRANKED,
    })
}

/// Which of the matrices of an operand of batch dimensions `own` goes with each index of `batch`.
fn sources(batch: &[usize], own: &[usize]) -> Result<Vec<usize>> {
    let count = batch.iter().product();
    let lead = batch.len() - own.len();
    memory::collected((0..count).map(|mut i| {
        let (mut source, mut stride) = (0, 1);
        for d in (0..own.len()).rev() {
            let at = i % batch[lead + d];
            i /= batch[lead + d];
            source += if own[d] == 1 { 0 } else { at * stride };
            stride *= own[d];
        }
        source
    }))
}

/// Runs a kernel that replaces right-hand sides by solutions.
fn run_solve(call: &mut Call<'_>, f: fn(&mut Call<'_>, &Systems<'_>) -> Result<()>) -> Result<()> {
    let (a, b) = (call.inputs[0], call.inputs[1]);
    let shape = solution(&Shape::known(a.dims()), &Shape::known(b.dims()))?;
    let dims = shape.extents().ok_or_else(|| Error::internal("an extent is not known"))?;
    let (batch, &[n, k]) = dims.split_last_chunk::<2>().expect("a shape of matrices");
    call.out(0, a.dtype(), &dims)?;
    if call.gives_nothing() {
        return Ok(());
    }
    let (of_a, of_b) = (sources(batch, &a.dims()[..a.rank() - 2])?, sources(batch, &b.dims()[..b.rank() - 2])?);
    let size = n * k * a.dtype().size();
    let to = call.outputs[0].bytes_mut();
    for (i, &source) in of_b.iter().enumerate() {
        to[i * size..][..size].copy_from_slice(&b.bytes()[source * size..][..size]);
    }
    f(call, &Systems { a, of_a: &of_a, n, k })
}

/// Systems of equations of which the result holds the right-hand sides.
struct Systems<'a> {
    a: &'a Tensor,
    /// The matrix of each system.
    of_a: &'a [usize],
    n: usize,
    k: usize,
}

impl Systems<'_> {
    fn solve<T: Matrix>(
        &self,
        out: &mut Tensor,
        f: impl Fn(&[T], &mut [T]) -> std::result::Result<(), Failure> + Sync,
    ) -> Result<()> {
        let (a, n) = (self.a.as_slice::<T>(), self.n);
        let flops = (n * n * (n + self.k)) as f64;
        each(parts(out.as_mut_slice::<T>(), self.of_a.len()), flops, |i, x| f(&a[self.of_a[i] * n * n..][..n * n], x))
    }
}

/// The cotangent of the matrix of a system, from the solution and the cotangent of the right-hand side.
fn matrix_grad<'t>(x: Ex<'t>, of_rhs: Ex<'t>, is_adjoint: bool) -> Ex<'t> {
    -if is_adjoint { times_adjoint(x, of_rhs) } else { times_adjoint(of_rhs, x) }
}

const LOWER_ADJOINT: &[AttrDef] = &[AttrDef::flag("lower", true), AttrDef::flag("adjoint", false)];

/// The solution of triangular systems.
pub static TRIANGULAR_SOLVE: OpDef = OpDef {
    name: "triangular_solve",
    tf_name: "MatrixTriangularSolve",
    doc: "The solution `x` of `matrix x = rhs` for triangular matrices, by substitution.\n\n\
          `matrix` of shape `[..., n, n]`, of which the lower triangle is read, or the upper if not `lower`, and \
          `rhs` of shape `[..., n, k]` give `[..., n, k]`; the dimensions before broadcast. With `adjoint` the matrix \
          is transposed and conjugated. A 0 in the diagonal divides like any number.\n\n\
          Errors: `InvalidArgument` for shapes that do not fit.",
    dtypes: DTYPES,
    operands: &[arg("matrix"), arg("rhs")],
    attrs: LOWER_ADJOINT,
    effects: &[],
    infer: infer_solve,
    cpu: Cpu::Kernel(|call| {
        run_solve(call, |call, s| {
            let (lower, adjoint) = (call.attrs.flag(0), call.attrs.flag(1));
            with_scalar!(s.a.dtype(), T => s.solve::<T>(&mut call.outputs[0], |a, x| {
                T::triangular_solve(s.n, s.k, a, lower, adjoint, x);
                Ok(())
            }))
        })
    }),
    cuda: ON_HOST,
    // Giles, "An extended collection of matrix derivative results" (2008), section 2.2.4, on a triangle.
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (a, b, x) = (t.x(0), t.x(1), t.y(0));
            let (lower, is_adjoint) = (t.attrs.flag(0), t.attrs.flag(1));
            let of_rhs = triangular_solve(a, t.g(), lower, !is_adjoint);
            let of_matrix = t.needed[0].then(|| {
                let (below, above) = if lower { (-1i64, 0i64) } else { (0, -1) };
                let band = [("lower", below.into()), ("upper", above.into())];
                matrix_grad(x, of_rhs, is_adjoint).emit(&BAND_PART, &[], &band).unbroadcast(a)
            });
            smallvec![of_matrix, t.needed[1].then(|| of_rhs.unbroadcast(b))]
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
        let mut out = Vec::new();
        for sample in solve_samples() {
            for lower in [true, false] {
                out.push(sample.clone().with("lower", lower));
            }
        }
        out
    },
};

/// Emits [`TRIANGULAR_SOLVE`].
pub(crate) fn triangular_solve<'t>(a: Ex<'t>, b: Ex<'t>, lower: bool, adjoint: bool) -> Ex<'t> {
    a.emit(&TRIANGULAR_SOLVE, &[b], &[("lower", lower.into()), ("adjoint", adjoint.into())])
}

/// The solution of systems.
pub static SOLVE: OpDef = OpDef {
    name: "matrix_solve",
    tf_name: "MatrixSolve",
    doc: "The solution `x` of `matrix x = rhs`, by elimination with partial pivoting.\n\n\
          `matrix` of shape `[..., n, n]` and `rhs` of shape `[..., n, k]` give `[..., n, k]`; the dimensions before \
          broadcast. With `adjoint` the matrix is transposed and conjugated.\n\n\
          Errors: `InvalidArgument` for shapes that do not fit and for a singular matrix.",
    dtypes: DTYPES,
    operands: &[arg("matrix"), arg("rhs")],
    attrs: &[AttrDef::flag("adjoint", false)],
    effects: &[],
    infer: infer_solve,
    cpu: Cpu::Kernel(|call| {
        run_solve(call, |call, s| {
            let adjoint = call.attrs.flag(0);
            with_scalar!(s.a.dtype(), T => s.solve::<T>(&mut call.outputs[0], |a, x| {
                T::solve(s.n, s.k, a, adjoint, x)
            }))
        })
    }),
    cuda: ON_HOST,
    // Giles (2008), section 2.2.4.
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (a, b, x) = (t.x(0), t.x(1), t.y(0));
            let is_adjoint = t.attrs.flag(0);
            let of_rhs = a.emit(&SOLVE, &[t.g()], &[("adjoint", (!is_adjoint).into())]);
            smallvec![
                t.needed[0].then(|| matrix_grad(x, of_rhs, is_adjoint).unbroadcast(a)),
                t.needed[1].then(|| of_rhs.unbroadcast(b)),
            ]
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
    samples: solve_samples,
};

/// Matrices far from singular: what `tensor` makes, and 5 more along the diagonal.
pub(crate) fn regular(dtype: DType, dims: &[usize]) -> Tensor {
    let (_, &[m, n]) = dims.split_last_chunk::<2>().expect("extents of matrices");
    let count = dims.iter().product::<usize>();
    let on = |i: usize| if i / n.max(1) % m.max(1) == i % n.max(1) { 5.0 } else { 0.0 };
    let values: Vec<f64> = (0..count).map(|i| DISTINCT[i % DISTINCT.len()] / 2.0 + on(i)).collect();
    tensor(dtype, dims, if values.is_empty() { DISTINCT } else { &values })
}

fn solve_samples() -> Vec<Sample> {
    let pair = |d, a: &[usize], b: &[usize]| Sample::new(vec![regular(d, a), tensor(d, b, LINE)]);
    let mut out: Vec<Sample> = MATRIX_DTYPES.iter().map(|d| pair(d, &[3, 3], &[3, 2])).collect();
    for (a, b) in [
        (&[1, 1][..], &[1, 1][..]),
        (&[2, 2, 2], &[2, 2, 1]),
        (&[2, 2], &[3, 2, 1]),
        (&[2, 1, 2, 2], &[3, 2, 1]),
        (&[0, 0], &[0, 2]),
        (&[2, 2], &[2, 0]),
        (&[0, 2, 2], &[0, 2, 1]),
    ] {
        out.push(pair(DType::F64, a, b));
    }
    out.push(pair(DType::F64, &[3, 3], &[3, 1]).with("adjoint", true));
    out.push(pair(DType::C128, &[2, 2], &[2, 2]).with("adjoint", true));
    out
}

/// Inverses.
pub static INVERSE: OpDef = OpDef {
    name: "matrix_inverse",
    tf_name: "MatrixInverse",
    doc: "The inverse of each matrix, by elimination with partial pivoting.\n\n\
          `x` has shape `[..., n, n]`, as has the result.\n\n\
          Errors: `InvalidArgument` for matrices that are not square, and for a singular one.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        squares(cx.shape(0), "x")?;
        one(cx.inputs[0].clone())
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
            each(parts(out.as_mut_slice::<T>(), count), 2.0 * (n * n * n) as f64, |i, to| {
                T::inverse(n, &a[i * n * n..][..n * n], to)
            })
        })
    }),
    cuda: ON_HOST,
    // Giles (2008), section 2.2.3.
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| smallvec![t.needed[0].then(|| -times_adjoint(adjoint_times(t.y(0), t.g()), t.y(0)))])
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
    samples: square_samples,
};

pub(crate) fn square_samples() -> Vec<Sample> {
    let mut out: Vec<Sample> = MATRIX_DTYPES.iter().map(|d| Sample::new(vec![regular(d, &[3, 3])])).collect();
    for dims in [&[1, 1][..], &[2, 2, 2], &[0, 0], &[2, 0, 0], &[0, 2, 2]] {
        out.push(Sample::new(vec![regular(DType::F64, dims)]));
    }
    // Rows have to change places.
    out.push(Sample::new(vec![tensor(DType::F64, &[3, 3], &[0.0, 2.0, 0.5, 1.0, 0.25, -1.0, 0.5, 0.5, 3.0])]));
    out
}

/// One number for each matrix.
fn infer_numbers(cx: &InferCx<'_>) -> Result<Shape> {
    Ok(squares(cx.shape(0), "x")?.map_or(Shape::UNRANKED, |(batch, _)| Shape::new(batch.iter().copied())))
}

/// `x` with two dimensions of size 1 behind it.
fn over_matrices(x: Ex<'_>) -> Ex<'_> {
    x.expand_dims(-1).expand_dims(-1)
}

/// Determinants.
pub static DET: OpDef = OpDef {
    name: "matrix_determinant",
    tf_name: "MatrixDeterminant",
    doc: "The determinant of each matrix, by elimination with partial pivoting; 1 for a matrix without elements.\n\n\
          `x` of shape `[..., n, n]` gives `[...]`. The derivative is an error where the matrix is singular.\n\n\
          Errors: `InvalidArgument` for matrices that are not square.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(Type::tensor(cx.dtype(0), infer_numbers(cx)?)),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        squares(&Shape::known(x.dims()), "x")?;
        let (count, n) = square_extents(x);
        call.out(0, x.dtype(), &x.dims()[..x.rank() - 2])?;
        with_scalar!(x.dtype(), T => {
            let (a, out) = (x.as_slice::<T>(), &mut call.outputs[0]);
            each(parts(out.as_mut_slice::<T>(), count), (n * n * n) as f64, |i, to| {
                to[0] = T::det(n, &a[i * n * n..][..n * n]);
                Ok(())
            })
        })
    }),
    cuda: ON_HOST,
    // Giles (2008), section 2.2.4.
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let inverse = t.x(0).then(&INVERSE);
            smallvec![t.needed[0].then(|| over_matrices(t.g() * t.y(0).conj()) * adjoint(inverse))]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| 0.1 * cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: square_samples,
};

/// Signs and logarithms of determinants.
pub static SLOGDET: OpDef = OpDef {
    name: "log_matrix_determinant",
    tf_name: "LogMatrixDeterminant",
    doc: "The determinant of each matrix as a number of absolute value 1 (or 0) and the logarithm of its absolute value, which does not overflow.\n\n\
          `x` of shape `[..., n, n]` gives `sign` and `log_abs_determinant`, both of the dtype of `x` and of shape \
          `[...]`; 0 and minus infinity for a singular matrix. The derivative is an error there.\n\n\
          Errors: `InvalidArgument` for matrices that are not square.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let ty = Type::tensor(cx.dtype(0), infer_numbers(cx)?);
        Ok(smallvec![ty.clone(), ty])
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        squares(&Shape::known(x.dims()), "x")?;
        let (count, n) = square_extents(x);
        let dims: SmallVec<[usize; 4]> = x.dims()[..x.rank() - 2].into();
        call.out(0, x.dtype(), &dims)?;
        call.out(1, x.dtype(), &dims)?;
        with_scalar!(x.dtype(), T => {
            let a = x.as_slice::<T>();
            let [sign, log, ..] = call.outputs else { return Err(Error::internal("there are two results")) };
            let places = parts(sign.as_mut_slice::<T>(), count).zip(parts(log.as_mut_slice::<T>(), count));
            each(places, (n * n * n) as f64, |i, (sign, log)| {
                let (s, l) = T::slogdet(n, &a[i * n * n..][..n * n]);
                (sign[0], log[0]) = (s, T::from_magnitude(l));
                Ok(())
            })
        })
    }),
    cuda: ON_HOST,
    // From d log(det x) = tr(x^-1 dx): the real part moves the logarithm, the imaginary part turns the sign.
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            if !t.needed[0] {
                return smallvec![None];
            }
            let is_complex = t.x(0).dtype().is_complex();
            // The logarithm is real, so the imaginary part of its cotangent says nothing.
            let of_log = t.grad(1).map(|g| if is_complex { (g + g.conj()) * 0.5 } else { g });
            let of_sign = t.grad(0).filter(|_| is_complex).map(|g| {
                let turned = g.conj() * t.y(0);
                (turned.conj() - turned) * 0.5
            });
            let factor = match (of_log, of_sign) {
                (Some(log), Some(sign)) => log + sign,
                (Some(g), None) | (None, Some(g)) => g,
                (None, None) => return smallvec![None],
            };
            smallvec![Some(over_matrices(factor) * adjoint(t.x(0).then(&INVERSE)))]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(|cx| 0.1 * cx.read() * cx.lesser_extent()),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: square_samples,
};
