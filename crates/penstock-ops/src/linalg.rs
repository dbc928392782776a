//! Products of matrices.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use penstock_data::{DType, DTypeSet, Dim, Dims, Error, Result, Shape, Tensor};
use penstock_ir::{
    ArgType, AttrDef, Attrs, Batch, Call, Cost, CostCx, Cpu, Cuda, DTypeVar, ElementFn, Elements, Fails, Fold, InferCx,
    Jvp, Known, OpDef, OutTypes, Product, Resolved, Rows, Sample, Type, Vjp, arg, arg_of,
};
use penstock_kernels::few_product::FewProduct;
use penstock_kernels::matmul::{MATMUL_DTYPES, matmul_batched};
use penstock_kernels::product_i8::{Bytes, bytes_batched};
use penstock_kernels::{Unary, cost};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::binary::broadcast;
use crate::grad::{Ex, rule};
use crate::run::unary_into;
use crate::samples::{DISTINCT, EDGES, LINE, tensor};
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&MATMUL, &MATMUL_INT32];

/// What a product takes.
fn cost_of(cx: &CostCx<'_>) -> f64 {
    let matrix = match cx.ins[0][..] {
        [.., m, n] => m as f64 * n as f64,
        _ => 1.0,
    };
    let rows = match cx.outs[0][..] {
        [.., m, _] => m.max(1) as f64,
        _ => 1.0,
    };
    cost::product(cx.dtype.unwrap_or(DType::F32), cx.written() * matrix / rows)
}

/// The product of matrices.
pub static MATMUL: OpDef = OpDef {
    name: "matmul",
    tf_name: "MatMul",
    doc: "The product of the matrices `a` and `b`, which are the last two dimensions of the operands; the dimensions before \
          them broadcast.\n\n\
          `a` of shape `[..., m, k]` and `b` of shape `[..., k, n]` give `[..., m, n]`; a `k` of 0 gives zeros. `transpose_a` and \
          `transpose_b` say that the operand is stored transposed, `adjoint_a` and `adjoint_b` that it is conjugated as well. \
          Integers wrap; floats of 16 bits accumulate in `float32`.\n\n\
          Errors: `InvalidArgument` for an operand of rank below 2, where the inner sizes differ, where the batch dimensions do \
          not broadcast, and for an operand that is both transposed and adjoint.",
    dtypes: &[DTypeVar::new("T", MATMUL_DTYPES)],
    operands: &[arg("a"), arg("b")],
    attrs: &[
        AttrDef::flag("transpose_a", false),
        AttrDef::flag("transpose_b", false),
        AttrDef::flag("adjoint_a", false),
        AttrDef::flag("adjoint_b", false),
    ],
    effects: &[],
    infer: |cx| infer_product(cx, cx.dtype(0)),
    cpu: Cpu::Kernel(run_matmul),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (g, a, b) = (t.g(), t.x(0), t.x(1));
            let (of_a, of_b) = (View::of(t.attrs, 0), View::of(t.attrs, 1));
            smallvec![
                t.needed[0].then(|| {
                    let da = if of_a.transposed {
                        // (g b^H)^T, or its adjoint.
                        let g = View { transposed: true, conjugated: of_a.conjugated };
                        product(b, of_b.conjugated_if(!of_a.conjugated), t.g(), g)
                    } else {
                        product(g, View::PLAIN, b, of_b.adjoint())
                    };
                    unbatch(da, a)
                }),
                t.needed[1].then(|| {
                    let db = if of_b.transposed {
                        let view = View { transposed: true, conjugated: of_b.conjugated };
                        product(g, view, a, of_a.conjugated_if(!of_b.conjugated))
                    } else {
                        product(a, of_a.adjoint(), g, View::PLAIN)
                    };
                    unbatch(db, b)
                }),
            ]
        })
    }),
    jvp: Jvp::Bilinear,
    batch: Batch::Rule(batch_rules::matmul),
    rows: Rows::Product,
    elements: Elements::Unknown,
    cost: Cost::Shared(cost_of),
    resolve: Some(resolve),
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: matmul_samples,
};

/// The dtypes of 8 bits.
const BYTES: DTypeSet = DTypeSet::of(&[DType::I8, DType::U8]);

/// The product of matrices of 8-bit integers in `int32`.
pub static MATMUL_INT32: OpDef = OpDef {
    name: "matmul_int32",
    tf_name: "BatchMatMulV3",
    doc: "The product of matrices of 8-bit integers, `a` and `b`, in `int32`.\n\n\
          Each operand is `int8` or `uint8`. Shapes and attributes are those of `matmul`; sums that `int32` does not hold wrap.\n\n\
          Errors: `InvalidArgument` for an operand of rank below 2, where the inner sizes differ, and where the batch dimensions do \
          not broadcast.",
    dtypes: &[DTypeVar::new("A", BYTES), DTypeVar::new("B", BYTES)],
    operands: &[arg_of("a", ArgType::Var(0)), arg_of("b", ArgType::Var(1))],
    attrs: &[AttrDef::flag("transpose_a", false), AttrDef::flag("transpose_b", false)],
    effects: &[],
    infer: |cx| infer_product(cx, DType::I32),
    cpu: Cpu::Kernel(run_matmul_int32),
    cuda: Cuda::Kernels,
    vjp: Vjp::NonDifferentiable("integers do not change smoothly"),
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::matmul),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Shared(cost_of),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: matmul_int32_samples,
};

/// How a stored matrix enters a product.
#[derive(Clone, Copy)]
struct View {
    transposed: bool,
    conjugated: bool,
}

impl View {
    const PLAIN: View = View { transposed: false, conjugated: false };

    /// The view of operand `index` of an instruction.
    fn of(attrs: &Attrs, index: usize) -> View {
        let adjoint = is_adjoint(attrs, index);
        View { transposed: adjoint || attrs.flag(index), conjugated: adjoint }
    }

    fn adjoint(self) -> View {
        View { transposed: !self.transposed, conjugated: !self.conjugated }
    }

    fn conjugated_if(self, condition: bool) -> View {
        View { conjugated: self.conjugated != condition, ..self }
    }
}

/// Whether operand `index` is adjoint, which no operand is where the operator has no attribute for it.
fn is_adjoint(attrs: &Attrs, index: usize) -> bool {
    attrs.0.len() > 2 && attrs.flag(2 + index)
}

/// Emits the product of two matrices under views.
fn product<'t>(a: Ex<'t>, of_a: View, b: Ex<'t>, of_b: View) -> Ex<'t> {
    let complex = a.dtype().is_complex();
    let stored = |e: Ex<'t>, v: View| if v.conjugated && !v.transposed { e.conj() } else { e };
    let flags = |v: View| (v.transposed && !(v.conjugated && complex), v.transposed && v.conjugated && complex);
    let ((transpose_a, adjoint_a), (transpose_b, adjoint_b)) = (flags(of_a), flags(of_b));
    stored(a, of_a).emit(
        &MATMUL,
        &[stored(b, of_b)],
        &[
            ("transpose_a", transpose_a.into()),
            ("transpose_b", transpose_b.into()),
            ("adjoint_a", adjoint_a.into()),
            ("adjoint_b", adjoint_b.into()),
        ],
    )
}

/// The sum of `grad` over the batch dimensions along which `operand` was repeated.
fn unbatch<'t>(grad: Ex<'t>, operand: Ex<'t>) -> Ex<'t> {
    if grad.shape().rank() == Some(2) { grad } else { grad.unbroadcast(operand) }
}

/// The batch dimensions, rows and columns of an operand as it enters the product.
fn split<T: Copy>(dims: &[T], view: View) -> Option<(&[T], T, T)> {
    let (batch, &[rows, cols]) = dims.split_last_chunk::<2>()?;
    Some(if view.transposed { (batch, cols, rows) } else { (batch, rows, cols) })
}

/// The batch dimensions of the result, and the sizes `m`, `k` and `n`.
fn plan(a: &[Dim], b: &[Dim], attrs: &Attrs) -> Result<(Shape, Dim, Dim, Dim)> {
    for (name, index) in [("adjoint_a", 0), ("adjoint_b", 1)] {
        if attrs.flag(index) && is_adjoint(attrs, index) {
            return Err(Error::invalid("an operand is transposed or adjoint, not both").argument(name));
        }
    }
    let low = |dims: &[Dim], name| {
        Error::invalid(format!(
            "expected a matrix or a batch of matrices, got shape {}",
            Shape::new(dims.iter().copied())
        ))
        .argument(name)
    };
    let (a_batch, m, k) = split(a, View::of(attrs, 0)).ok_or_else(|| low(a, "a"))?;
    let (b_batch, inner, n) = split(b, View::of(attrs, 1)).ok_or_else(|| low(b, "b"))?;
    let Some(k) = k.merge(inner) else {
        return Err(Error::invalid(format!(
            "Matrix size-incompatible: In[0]: {}, In[1]: {}: {m}x{k} by {inner}x{n}",
            Shape::new(a.iter().copied()),
            Shape::new(b.iter().copied())
        )));
    };
    let (a_batch, b_batch) = (Shape::new(a_batch.iter().copied()), Shape::new(b_batch.iter().copied()));
    Ok((broadcast(&[&a_batch, &b_batch])?, m, k, n))
}

fn infer_product(cx: &InferCx<'_>, dtype: DType) -> Result<OutTypes> {
    let (Some(a), Some(b)) = (cx.shape(0).dims(), cx.shape(1).dims()) else {
        return one(Type::tensor(dtype, Shape::UNRANKED));
    };
    let (batch, m, _, n) = plan(a, b, cx.attrs)?;
    let dims = batch.dims().unwrap_or_default().iter().copied();
    one(Type::tensor(dtype, Shape::new(dims.chain([m, n]))))
}

/// The batch dimensions and sizes of a product of tensors: `(batch, m, k, n)`.
fn sizes(a: &Tensor, b: &Tensor, attrs: &Attrs) -> Result<(Dims, usize, usize, usize)> {
    let views = [View::of(attrs, 0), View::of(attrs, 1)];
    if let (Some(([], m, k)), Some(([], inner, n))) = (split(a.dims(), views[0]), split(b.dims(), views[1]))
        && k == inner
        && views.iter().all(|view| !view.conjugated)
    {
        return Ok((Dims::new(), m, k, n));
    }
    let known = |t: &Tensor| -> SmallVec<[Dim; 4]> { t.dims().iter().map(|&d| Dim::Known(d)).collect() };
    let (batch, m, k, n) = plan(&known(a), &known(b), attrs)?;
    let unknown = || Error::internal("an extent is not known");
    let size = |d: Dim| d.known().ok_or_else(unknown);
    Ok((batch.extents().ok_or_else(unknown)?, size(m)?, size(k)?, size(n)?))
}

/// The sizes of a product whose right operand is one matrix and whose left one is all rows: their number, that of what each adds up, that
/// of the columns, and whether the matrix is stored transposed.
pub(crate) fn right_of(attrs: &Attrs, a: &[usize], b: &[usize]) -> Option<(usize, usize, usize, bool)> {
    let views = [View::of(attrs, 0), View::of(attrs, 1)];
    let ((batch, m, k), ([], inner, n)) = (split(a, views[0])?, split(b, views[1])?) else { return None };
    let rows = batch.iter().product::<usize>() * m;
    (k == inner && !views[0].transposed).then_some((rows, k, n, views[1].transposed))
}

/// The dimensions of a batch of matrices.
fn with_sizes(batch: &[usize], rows: usize, columns: usize) -> Dims {
    let mut dims = Dims::from_slice(batch);
    dims.push(rows);
    dims.push(columns);
    dims
}

fn run_matmul(call: &mut Call<'_>) -> Result<()> {
    let (a, b) = (call.inputs[0], call.inputs[1]);
    let (batch, m, k, n) = sizes(a, b, call.attrs)?;
    let dims = with_sizes(&batch, m, n);
    let dtype = a.dtype();
    let (of_a, of_b) = (View::of(call.attrs, 0), View::of(call.attrs, 1));
    let (mut a_conj, mut b_conj) = (Tensor::default(), Tensor::default());
    let (a, b) = (conjugate(a, of_a, &mut a_conj)?, conjugate(b, of_b, &mut b_conj)?);
    if let Some(device) = call.env.kernels() {
        let (a_transposed, b_transposed) = (of_a.transposed, of_b.transposed);
        let product = Product { a, b, a_transposed, b_transposed, batch: batch.clone(), m, k, n, dtype };
        // SAFETY: `sizes` has checked that the operands hold matrices of these sizes, and that their batch dimensions broadcast.
        if let Some(made) = unsafe { device.matmul(&product, &dims) }? {
            call.set(0, made);
            return Ok(());
        }
    }
    let (a_batch, b_batch) = (&a.dims()[..a.rank() - 2], &b.dims()[..b.rank() - 2]);
    let out = call.out(0, dtype, &dims)?;
    // SAFETY: `plan` has checked that both operands, which are contiguous, of one numeric dtype, hold matrices of these sizes and that
    // their batch dimensions broadcast to `batch`; `out` starts as many matrices of `m` by `n`, and is no operand's memory.
    unsafe {
        matmul_batched(
            dtype,
            &batch,
            a_batch,
            b_batch,
            m,
            k,
            n,
            a.as_ptr(),
            of_a.transposed,
            b.as_ptr(),
            of_b.transposed,
            out,
        );
    }
    Ok(())
}

/// Resolves a product of small matrices, of one right matrix.
pub(crate) fn resolve_product(attrs: &Attrs, operands: &[Known<'_>], results: &[Type]) -> Option<Resolved> {
    let ([a, b], [result]) = (operands, results) else { return None };
    let (of_a, of_b) = (View::of(attrs, 0), View::of(attrs, 1));
    let (a_dims, b_dims, dims) = (a.extents()?, b.extents()?, result.shape().extents()?);
    let ((a_batch, m, k), (b_batch, _, n)) = (split(&a_dims, of_a)?, split(&b_dims, of_b)?);
    let count: usize = a_batch.iter().product();
    // Matrices that lie one below the other are one; a column is its transpose.
    let is_one = b_batch.iter().all(|&d| d == 1) && (count == 1 || !of_a.transposed) && (n == 1 || !of_b.transposed);
    let product = FewProduct::new(a.ty.dtype(), count * m, k, n, of_a.transposed).filter(|_| is_one)?;
    let dtype = result.dtype();
    let run = move |call: &mut Call<'_>| {
        let out = call.out(0, dtype, &dims)?;
        // SAFETY: the operands are matrices of these sizes, by their types, and the result has memory of its own.
        unsafe { product.run(call.inputs[0].as_ptr(), call.inputs[1].as_ptr(), out) };
        Ok(())
    };
    // SAFETY: the kernel relies on the types of the operands, and on the values of constant ones, that it was made for; it makes each
    // result of the dtype and extents that this was given.
    Some(unsafe { Resolved::new(run) })
}

fn run_matmul_int32(call: &mut Call<'_>) -> Result<()> {
    let (a, b) = (call.inputs[0], call.inputs[1]);
    let (batch, m, k, n) = sizes(a, b, call.attrs)?;
    let dims = with_sizes(&batch, m, n);
    if call.env.kernels().is_some() && int32_by_device(call, (&batch, m, k, n), &dims)? {
        return Ok(());
    }
    let (of_a, of_b) = (bytes(a, View::of(call.attrs, 0)), bytes(b, View::of(call.attrs, 1)));
    let out = call.out(0, DType::I32, &dims)?;
    // SAFETY: `sizes` has checked that both operands, which are contiguous and of bytes, hold matrices of these sizes and that
    // their batch dimensions broadcast to `batch`; `out` starts as many matrices of `m` by `n`, and is no operand's memory.
    unsafe { bytes_batched(&batch, m, k, n, of_a, of_b, out.cast()) };
    Ok(())
}

/// Has the device make result 0 the product: of the bytes themselves where it can, else of operands that are converted first; whether it
/// has kernels for it.
fn int32_by_device(
    call: &mut Call<'_>,
    (batch, m, k, n): (&Dims, usize, usize, usize),
    dims: &[usize],
) -> Result<bool> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    let (a, b, dtype) = (call.inputs[0], call.inputs[1], DType::I32);
    let (a_transposed, b_transposed) = (View::of(call.attrs, 0).transposed, View::of(call.attrs, 1).transposed);
    let product = Product { a, b, a_transposed, b_transposed, batch: batch.clone(), m, k, n, dtype };
    // SAFETY: the caller has checked that the operands hold matrices of these sizes, and that their batch dimensions broadcast.
    let mut made = unsafe { device.matmul(&product, dims) }?;
    if made.is_none() {
        let converted = |x: &Tensor| call.env.elementwise(ElementFn::Cast, dtype, &[x]);
        let (Some(a), Some(b)) = (converted(a)?, converted(b)?) else { return Ok(false) };
        // SAFETY: as above.
        made = unsafe { device.matmul(&Product { a: &a, b: &b, ..product }, dims) }?;
    }
    Ok(made.map(|tensor| call.set(0, tensor)).is_some())
}

/// The matrices of a tensor of bytes.
fn bytes(x: &Tensor, view: View) -> Bytes<'_> {
    let (signed, batch) = (x.dtype() == DType::I8, &x.dims()[..x.rank() - 2]);
    Bytes { ptr: x.as_ptr(), signed, transposed: view.transposed, batch }
}

/// `x`, or its conjugate in `place` where the view asks for it and it makes a difference.
fn conjugate<'t>(x: &'t Tensor, view: View, place: &'t mut Tensor) -> Result<&'t Tensor> {
    if !(view.conjugated && x.dtype().is_complex()) {
        return Ok(x);
    }
    unary_into(Unary::Conj, x, place)?;
    Ok(place)
}

fn matmul_samples() -> Vec<Sample> {
    let pair = |d, a: &[usize], b: &[usize]| Sample::new(vec![tensor(d, a, DISTINCT), tensor(d, b, LINE)]);
    let mut out: Vec<Sample> = MATMUL_DTYPES.iter().map(|d| pair(d, &[2, 3], &[3, 4])).collect();
    for (a, b) in [
        (&[1, 1][..], &[1, 1][..]),
        (&[5, 7], &[7, 3]),
        (&[2, 0], &[0, 3]),
        (&[0, 2], &[2, 3]),
        (&[2, 3, 4], &[4, 2]),
        (&[3, 4], &[2, 4, 1]),
        (&[2, 1, 2, 3], &[3, 3, 2]),
        (&[0, 2, 3], &[3, 2]),
        (&[1, 2, 3], &[2, 3, 1]),
    ] {
        out.push(pair(DType::F64, a, b));
    }
    out.push(pair(DType::F16, &[3, 16], &[16, 24]));
    for (a, b, transpose_a, transpose_b) in
        [(&[3, 2], &[3, 4], true, false), (&[2, 3], &[4, 3], false, true), (&[3, 2], &[4, 3], true, true)]
    {
        for (dtype, kind) in
            [(DType::F64, "transpose"), (DType::F64, "adjoint"), (DType::C128, "adjoint"), (DType::C128, "transpose")]
        {
            let (of_a, of_b) =
                if kind == "adjoint" { ("adjoint_a", "adjoint_b") } else { ("transpose_a", "transpose_b") };
            out.push(pair(dtype, a, b).with(of_a, transpose_a).with(of_b, transpose_b));
        }
    }
    out.push(pair(DType::F64, &[2, 4, 2], &[1, 3, 4]).with("transpose_a", true).with("adjoint_b", true));
    out.push(Sample::new(vec![tensor(DType::F32, &[3, 3], EDGES), tensor(DType::F32, &[3, 2], LINE)]));
    out
}

fn matmul_int32_samples() -> Vec<Sample> {
    const BYTES_OF_BOTH_ENDS: &[f64] = &[-128.0, 127.0, 3.0, -1.0, 255.0, 0.0, 77.0];
    let pair = |types: [DType; 2], a: &[usize], b: &[usize]| {
        Sample::new(vec![tensor(types[0], a, BYTES_OF_BOTH_ENDS), tensor(types[1], b, DISTINCT)])
    };
    let (signed, unsigned) = (DType::I8, DType::U8);
    let mut out = Vec::new();
    for types in [[signed, signed], [signed, unsigned], [unsigned, signed], [unsigned, unsigned]] {
        out.push(pair(types, &[2, 3], &[3, 4]));
        out.push(pair(types, &[3, 20, 70], &[70, 17]));
        out.push(pair(types, &[5, 2], &[3, 5]).with("transpose_a", true).with("transpose_b", true));
    }
    for (a, b) in [(&[1, 1][..], &[1, 1][..]), (&[2, 0], &[0, 3]), (&[0, 2], &[2, 3]), (&[2, 1, 2, 3], &[3, 3, 2])] {
        out.push(pair([signed; 2], a, b));
    }
    out.push(pair([signed; 2], &[2, 4, 2], &[1, 3, 4]).with("transpose_a", true).with("transpose_b", true));
    out
}

/// `a b`.
pub(crate) fn times<'t>(a: Ex<'t>, b: Ex<'t>) -> Ex<'t> {
    product(a, View::PLAIN, b, View::PLAIN)
}

/// `a^H b`.
pub(crate) fn adjoint_times<'t>(a: Ex<'t>, b: Ex<'t>) -> Ex<'t> {
    product(a, View::PLAIN.adjoint(), b, View::PLAIN)
}

/// `a b^H`.
pub(crate) fn times_adjoint<'t>(a: Ex<'t>, b: Ex<'t>) -> Ex<'t> {
    product(a, View::PLAIN, b, View::PLAIN.adjoint())
}

/// `a^H`.
pub(crate) fn adjoint(a: Ex<'_>) -> Ex<'_> {
    let Some(rank) = a.shape().rank() else {
        return a.fail(Error::unimplemented("the derivative needs the rank of the matrices to be known"));
    };
    let mut perm: Vec<i64> = (0..rank as i64).collect();
    perm.swap(rank - 2, rank - 1);
    a.emit(a.ops().transpose, &[], &[("perm", perm.into())]).conj()
}

/// The dimensions of a batch and the rows and columns of its matrices; `None` where the rank is not known.
///
/// # Errors
/// `InvalidArgument` for rank below 2.
pub(crate) fn matrices<'s>(shape: &'s Shape, name: &str) -> Result<Option<(&'s [Dim], Dim, Dim)>> {
    let Some(dims) = shape.dims() else { return Ok(None) };
    match split(dims, View::PLAIN) {
        Some(parts) => Ok(Some(parts)),
        None => {
            Err(Error::invalid(format!("expected a matrix or a batch of matrices, got shape {shape}")).argument(name))
        }
    }
}

/// As [`matrices`], for square ones.
///
/// # Errors
/// `InvalidArgument` for rank below 2, and where there are more or fewer rows than columns.
pub(crate) fn squares<'s>(shape: &'s Shape, name: &str) -> Result<Option<(&'s [Dim], Dim)>> {
    let Some((batch, m, n)) = matrices(shape, name)? else { return Ok(None) };
    match m.merge(n) {
        Some(n) => Ok(Some((batch, n))),
        None => Err(Error::invalid(format!("Input matrix must be square: got shape {shape}")).argument(name)),
    }
}

/// Matrices of a batch.
pub(crate) fn batch_of(batch: &[Dim], rows: Dim, columns: Dim) -> Shape {
    Shape::new(batch.iter().copied().chain([rows, columns]))
}

/// Resolves a product that is small, or by a matrix that stays the same.
fn resolve(op: &'static OpDef, attrs: &Attrs, operands: &[Known<'_>], results: &[Type]) -> Option<Resolved> {
    resolve_product(attrs, operands, results).or_else(|| crate::packed::product(op, attrs, operands, results))
}
