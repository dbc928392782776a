//! Computing one instruction from values at hand: what constant folding, eager execution and the
//! reference interpreter share.

use penstock_data::{DType, Error, Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Call, Cpu, ElementFn, Env, InferCx, OpDef, OutTypes, Type};
use penstock_kernels::{Fault, LoopFn, broadcast_dims, elementwise};
use smallvec::SmallVec;

/// The results of one instruction.
pub type Outputs = SmallVec<[Tensor; 1]>;

/// Checks operands that are all at hand, and gives the types of the results.
///
/// # Errors
/// What the operator's declaration and inference report.
pub fn infer(op: &'static OpDef, attrs: &Attrs, inputs: &[&Tensor]) -> Result<OutTypes> {
    let types: SmallVec<[Type; 4]> = inputs.iter().map(|t| Type::of(t)).collect();
    op.infer_types(&InferCx { inputs: &types, attrs, regions: &[], values: &inputs })
}

/// Runs an operator without regions on operands that are at hand, after checking them.
/// `outputs` may hold tensors of an earlier run, whose memory is used again.
///
/// # Errors
/// What inference and the kernel report, naming the operator; `Internal` for an operator that only
/// the executor runs, and for a kernel whose results are not of the inferred types.
pub fn evaluate(
    op: &'static OpDef,
    attrs: &Attrs,
    inputs: &[&Tensor],
    outputs: &mut Outputs,
    env: &dyn Env,
) -> Result<()> {
    let types = infer(op, attrs, inputs).map_err(|e| e.in_op(op.name))?;
    #[expect(unsafe_code, reason = "runs a kernel on checked operands")]
    // SAFETY: the types were inferred right above.
    let computed = unsafe { compute(op, attrs, inputs, &types, outputs, env) };
    computed.map_err(|e| e.in_op(op.name))
}

/// As [`evaluate`], with operands that were checked and results that [`infer`] gave these types.
///
/// # Errors
/// What the kernel reports; `Internal` as there.
///
/// # Safety
/// [`infer`] gave these types for these operands and attributes.
#[expect(unsafe_code, reason = "kernels and loops on checked operands")]
pub unsafe fn compute(
    op: &'static OpDef,
    attrs: &Attrs,
    inputs: &[&Tensor],
    types: &[Type],
    outputs: &mut Outputs,
    env: &dyn Env,
) -> Result<()> {
    outputs.resize_with(types.len(), Tensor::default);
    match op.cpu {
        Cpu::Elementwise(function) => {
            let f = resolve(function, inputs.iter().map(|t| t.dtype()), types[0].dtype())?;
            // SAFETY: the loop is the one for these dtypes.
            unsafe {
                broadcast_loop(f, types[0].dtype(), inputs, &mut outputs[0])?;
            }
        }
        // SAFETY: the caller's promise; there are as many results as types.
        Cpu::Kernel(kernel) => unsafe { kernel(&mut Call { inputs, attrs, outputs, env })? },
        Cpu::Update(kernel) => {
            outputs[0] = inputs[0].clone();
            // SAFETY: as above; the first operand is in the place of the result.
            unsafe { kernel(&mut Call { inputs: &inputs[1..], attrs, outputs, env })? };
        }
        Cpu::Variable(_) => return Err(Error::internal("changes a variable")),
        Cpu::Executor(_) => match attrs.0.first() {
            Some(Attr::Tensor(value)) if op.is_constant() => outputs[0] = value.clone(),
            _ => return Err(Error::internal("runs in a graph only")),
        },
    }
    for (i, (tensor, ty)) in outputs.iter().zip(types).enumerate() {
        check_result(i, tensor, ty)?;
    }
    Ok(())
}

/// The loop of an elementwise operator for operands of the dtypes `from` and a result of `to`.
///
/// # Errors
/// `DType` where there is none.
pub fn resolve(function: ElementFn, from: impl Iterator<Item = DType>, to: DType) -> Result<LoopFn> {
    let from: SmallVec<[DType; 4]> = from.collect();
    function.kernel(&from, to).ok_or_else(|| {
        let names: Vec<&str> = from.iter().map(|d| d.tf_name()).collect();
        Error::dtype(format!("not supported for dtype {}", names.join(", ")))
    })
}

/// Checks a kernel's result against its inferred type: what follows relies on it.
///
/// # Errors
/// `Internal` where they differ.
pub fn check_result(index: usize, tensor: &Tensor, ty: &Type) -> Result<()> {
    if fits(tensor, ty) {
        return Ok(());
    }
    let got = Type::of(tensor);
    Err(Error::internal(format!("result {index} is {got}, inferred was {ty}")))
}

/// Checks a result whose type a program may have narrowed beyond what is inferred, by `set_shape` say.
///
/// # Errors
/// `InvalidArgument` for another shape than promised, `Internal` for another dtype.
pub fn check_promise(index: usize, tensor: &Tensor, ty: &Type) -> Result<()> {
    if fits(tensor, ty) {
        return Ok(());
    }
    if tensor.dtype() != ty.dtype() {
        return check_result(index, tensor, ty);
    }
    let (promised, got) = (ty.shape().erased(), Shape::known(tensor.dims()));
    Err(Error::invalid(format!(
        "result {index} has shape {got}, but the program promised the shape {promised} for it, by set_shape or a declared type"
    )))
}

fn fits(tensor: &Tensor, ty: &Type) -> bool {
    let shape = ty.shape().dims().is_none_or(|dims| {
        dims.len() == tensor.rank() && dims.iter().zip(tensor.dims()).all(|(d, &n)| d.known().is_none_or(|k| k == n))
    });
    shape && tensor.dtype() == ty.dtype()
}

/// The error of an instruction one of whose results has not the type that the graph says: that of a promise, where it has the
/// type that inference gives.
#[cold]
pub fn broken_promise(
    op: &'static OpDef,
    attrs: &Attrs,
    inputs: &[&Tensor],
    results: &[Tensor],
    types: &[Type],
) -> Result<()> {
    let inferred = infer(op, attrs, inputs)?;
    for (i, (tensor, ty)) in results.iter().zip(types).enumerate() {
        inferred.get(i).map_or(Ok(()), |inferred| check_result(i, tensor, inferred))?;
        check_promise(i, tensor, ty)?;
    }
    Ok(())
}

/// The extents to which operands broadcast.
///
/// # Errors
/// `InvalidArgument` for shapes that do not match.
pub fn extents_of(inputs: &[&Tensor]) -> Result<SmallVec<[usize; 6]>> {
    let shapes: SmallVec<[&[usize]; 4]> = inputs.iter().map(|t| t.dims()).collect();
    broadcast_dims(&shapes).ok_or_else(|| {
        let shapes: Vec<String> = inputs.iter().map(|t| Shape::known(t.dims()).to_string()).collect();
        Error::invalid(format!("Incompatible shapes: {}, which do not broadcast", shapes.join(" vs. ")))
    })
}

/// Runs a loop over operands that broadcast against each other, into `out`.
///
/// # Errors
/// `InvalidArgument` for shapes that do not match and for operands that the loop rejects; `ResourceExhausted`.
///
/// # Safety
/// `f` is a loop for operands of these dtypes, none of them `str`, and a result of `dtype`.
#[expect(unsafe_code, reason = "calls a loop over raw memory")]
pub unsafe fn broadcast_loop(f: LoopFn, dtype: DType, inputs: &[&Tensor], out: &mut Tensor) -> Result<()> {
    let dims = extents_of(inputs)?;
    let ptr = out.prepare(dtype, &dims)?;
    let ins: SmallVec<[(*const u8, &[usize], usize); 4]> =
        inputs.iter().map(|t| (t.as_ptr(), t.dims(), t.dtype().size())).collect();
    // SAFETY: the caller vouches for the loop; the inputs are whole tensors whose shapes broadcast to
    // `dims`; `out` has these extents, is written by its only owner, and so overlaps no input.
    unsafe { elementwise(f, &dims, ptr, dtype.size(), &ins) }.map_err(fault)
}

/// The error of a loop's fault.
#[cold]
pub fn fault(fault: Fault) -> Error {
    Error::invalid(fault.to_string())
}
