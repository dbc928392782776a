//! Triangles and diagonals of matrices.

use penstock_data::{DType, DTypeSet, Dim, Error, Result, Shape, Tensor};
use penstock_ir::{
    AttrDef, AttrDefault, AttrKind, Batch, BoxCopy, ByPlace, Call, CopyDim, Cost, Cpu, Cuda, DTypeVar, Elements, Fails,
    Fold, Jvp, OpDef, Rest, Rows, Sample, Type, Vjp, arg,
};
use smallvec::{SmallVec, smallvec};

use crate::grad::rule;
use crate::linalg::matrices;
use crate::moves;
use crate::samples::{DISTINCT, EDGES, LINE, tensor};
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&BAND_PART, &DIAG_PART, &SET_DIAG];

const DTYPES: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::PLAIN)];

/// Matrices with zeros outside of a band.
pub static BAND_PART: OpDef = OpDef {
    name: "matrix_band_part",
    tf_name: "MatrixBandPart",
    doc: "Each matrix with zeros outside of `lower` diagonals below the main one and `upper` above it; all are kept where the number is \
          negative.\n\n\
          `x` has shape `[..., m, n]`, as has the result.\n\nErrors: `InvalidArgument` for rank below 2.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[
        AttrDef::new("lower", AttrKind::Int, AttrDefault::Int(-1)),
        AttrDef::new("upper", AttrKind::Int, AttrDefault::Int(-1)),
    ],
    effects: &[],
    infer: |cx| {
        matrices(cx.shape(0), "x")?;
        one(cx.inputs[0].clone())
    },
    cpu: Cpu::Kernel(run_band_part),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let band = [("lower", t.attrs.int(0).into()), ("upper", t.attrs.int(1).into())];
            smallvec![t.needed[0].then(|| t.g().emit(&BAND_PART, &[], &band))]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let x = |d, dims: &[usize], lower: i64, upper: i64| {
            Sample::new(vec![tensor(d, dims, DISTINCT)]).with("lower", lower).with("upper", upper)
        };
        let mut out: Vec<Sample> = DTypeSet::PLAIN.iter().map(|d| x(d, &[2, 3, 4], 0, 1)).collect();
        for (dims, lower, upper) in
            [(&[4, 3][..], -1, 0), (&[3, 4], 1, -1), (&[3, 3], 0, 0), (&[2, 0, 3], 0, 0), (&[1, 1], 7, 7)]
        {
            out.push(x(DType::F64, dims, lower, upper));
        }
        out.push(Sample::new(vec![tensor(DType::F32, &[3, 3], EDGES)]).with("lower", 0i64));
        out
    },
};

/// The extents of known matrices: how many there are, rows and columns.
fn extents(x: &Tensor) -> (usize, usize, usize) {
    let (batch, &[m, n]) = x.dims().split_last_chunk::<2>().expect("inference has checked the rank");
    (batch.iter().product(), m, n)
}

/// From one element of a main diagonal to the next: in the matrix, and by itself.
fn steps_of(n: usize) -> [isize; 2] {
    [n as isize + 1, 1]
}

fn run_band_part(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let (count, m, n) = extents(x);
    let size = x.dtype().size();
    let width = |index| usize::try_from(call.attrs.int(index)).unwrap_or(usize::MAX);
    let (lower, upper) = (width(0), width(1));
    if moves::by_place(call, &ByPlace::Band { x, lower, upper }, x.dtype(), x.dims())? {
        return Ok(());
    }
    call.out(0, x.dtype(), x.dims())?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let rows = call.outputs[0].bytes_mut().chunks_exact_mut(n * size).zip(x.bytes().chunks_exact(n * size));
    for (r, (to, from)) in rows.take(count * m).enumerate() {
        let i = r % m;
        let first = i.saturating_sub(lower).min(n);
        let end = i.saturating_add(upper).saturating_add(1).clamp(first, n);
        to[..first * size].fill(0);
        to[first * size..end * size].copy_from_slice(&from[first * size..end * size]);
        to[end * size..].fill(0);
    }
    Ok(())
}

/// Main diagonals.
pub static DIAG_PART: OpDef = OpDef {
    name: "matrix_diag_part",
    tf_name: "MatrixDiagPart",
    doc: "The main diagonal of each matrix.\n\n\
          `x` of shape `[..., m, n]` gives `[..., min(m, n)]`.\n\nErrors: `InvalidArgument` for rank below 2.",
    dtypes: DTYPES,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(Type::tensor(cx.dtype(0), diagonals(cx.shape(0))?)),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let (count, m, n) = extents(x);
        let (size, length) = (x.dtype().size(), m.min(n));
        let mut dims: SmallVec<[usize; 4]> = x.dims()[..x.rank() - 2].into();
        dims.push(length);
        let copies = || {
            let [from, to] = steps_of(n);
            let dims = SmallVec::from_slice(&[
                CopyDim { extent: count, from: (m * n) as isize, to: length as isize },
                CopyDim { extent: length, from, to },
            ]);
            [BoxCopy { source: x, from: 0, to: 0, dims }]
        };
        if moves::by_device(call, 0, (x.dtype(), &dims), Rest::None, copies)? {
            return Ok(());
        }
        call.out(0, x.dtype(), &dims)?;
        let to = call.outputs[0].bytes_mut();
        for i in 0..count * length {
            let at = (i / length * m * n + i % length * (n + 1)) * size;
            to[i * size..][..size].copy_from_slice(&x.bytes()[at..][..size]);
        }
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            smallvec![t.needed[0].then(|| t.x(0).then(&crate::array::ZEROS_LIKE).emit(&SET_DIAG, &[t.g()], &[]))]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let x = |d, dims: &[usize]| Sample::new(vec![tensor(d, dims, DISTINCT)]);
        let mut out: Vec<Sample> = DTypeSet::PLAIN.iter().map(|d| x(d, &[2, 3, 3])).collect();
        out.extend([&[4, 3][..], &[2, 5], &[2, 0, 3], &[1, 1], &[0, 2, 2]].map(|dims| x(DType::F64, dims)));
        out
    },
};

/// The shape of the diagonals of matrices.
fn diagonals(shape: &Shape) -> Result<Shape> {
    let Some((batch, m, n)) = matrices(shape, "x")? else { return Ok(Shape::UNRANKED) };
    let length = match (m, n) {
        (Dim::Known(m), Dim::Known(n)) => Dim::Known(m.min(n)),
        (Dim::Known(0), _) | (_, Dim::Known(0)) => Dim::Known(0),
        _ => m.join(n),
    };
    Ok(Shape::new(batch.iter().copied().chain([length])))
}

/// Matrices with another main diagonal.
pub static SET_DIAG: OpDef = OpDef {
    name: "matrix_set_diag",
    tf_name: "MatrixSetDiag",
    doc: "Each matrix with another main diagonal.\n\n\
          `x` of shape `[..., m, n]` and `diagonal` of shape `[..., min(m, n)]` give the shape of `x`.\n\n\
          Errors: `InvalidArgument` where the shapes do not fit.",
    dtypes: DTYPES,
    operands: &[arg("x"), arg("diagonal")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let due = diagonals(cx.shape(0))?;
        if !due.compatible(cx.shape(1)) {
            return Err(Error::invalid(format!("expected shape {due}, got {}", cx.shape(1))).argument("diagonal"));
        }
        one(cx.inputs[0].clone())
    },
    cpu: Cpu::Kernel(|call| {
        let (x, diagonal) = (call.inputs[0], call.inputs[1]);
        let (count, m, n) = extents(x);
        let (size, length) = (x.dtype().size(), m.min(n));
        let due = diagonals(&Shape::known(x.dims()))?;
        if due.extents().as_deref() != Some(diagonal.dims()) {
            return Err(Error::invalid(format!("expected shape {due}, got {:?}", diagonal.dims())).argument("diagonal"));
        }
        let copies = || {
            let [to, from] = steps_of(n);
            let dims = SmallVec::from_slice(&[
                CopyDim { extent: count, from: length as isize, to: (m * n) as isize },
                CopyDim { extent: length, from, to },
            ]);
            [BoxCopy::whole(x, 0), BoxCopy { source: diagonal, from: 0, to: 0, dims }]
        };
        if moves::by_device(call, 0, (x.dtype(), x.dims()), Rest::None, copies)? {
            return Ok(());
        }
        call.out(0, x.dtype(), x.dims())?;
        let to = call.outputs[0].bytes_mut();
        to.copy_from_slice(x.bytes());
        for i in 0..count * length {
            let at = (i / length * m * n + i % length * (n + 1)) * size;
            to[at..][..size].copy_from_slice(&diagonal.bytes()[i * size..][..size]);
        }
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let g = t.g();
            smallvec![
                t.needed[0].then(|| g.emit(&SET_DIAG, &[t.x(1).then(&crate::array::ZEROS_LIKE)], &[])),
                t.needed[1].then(|| g.then(&DIAG_PART)),
            ]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let pair =
            |d, x: &[usize], diagonal: &[usize]| Sample::new(vec![tensor(d, x, DISTINCT), tensor(d, diagonal, LINE)]);
        let mut out: Vec<Sample> = DTypeSet::PLAIN.iter().map(|d| pair(d, &[2, 3, 3], &[2, 3])).collect();
        for (x, diagonal) in
            [(&[4, 3][..], &[3][..]), (&[2, 5], &[2]), (&[2, 0, 3], &[2, 0]), (&[1, 1], &[1]), (&[0, 2, 2], &[0, 2])]
        {
            out.push(pair(DType::F64, x, diagonal));
        }
        out
    },
};
