//! Which device runs an operation, and how it runs it.
//!
//! A wish for a device ([`set_wish`]) decides; else the device of the first operand that is on one; else the host. A device runs the
//! elementwise operators for which it has code, and does the work on whole tensors of those that say [`Cuda::Kernels`]. The host
//! runs the others, and what they compute comes to the device where that was wished for.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use penstock_data::{Bytes, DType, Dims, INLINE_BYTES, Loc, Result, Shape, Tensor, num_elements, use_devices};
use penstock_ir::{
    Attrs, Builder, Cpu, Cuda, DeviceKernels, ElementFn, Env, Fails, Group, OpDef, OpSet, Profiler, Type,
};
use penstock_kernels::broadcast_dims;
use penstock_ops::Ops;
use penstock_ops::control::CONST;
use penstock_passes::evaluate::{Outputs, compute, infer};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::device::{Device, DeviceKind, Program, devices};
use crate::eager::on_host;
use crate::variable::Arg;

thread_local! {
    static WISH: RefCell<Option<Arc<dyn Device>>> = const { RefCell::new(None) };
}

/// Has the operations of this thread run on a device, the CPU for example, from now on; with `None`, on the device of their
/// operands. Gives the wish before.
pub fn set_wish(device: Option<Arc<dyn Device>>) -> Option<Arc<dyn Device>> {
    if device.as_ref().is_some_and(|d| d.kind() != DeviceKind::Cpu) {
        use_devices();
    }
    WISH.replace(device)
}

/// The device that [`set_wish`] named last on this thread.
pub fn wish() -> Option<Arc<dyn Device>> {
    WISH.with_borrow(Clone::clone)
}

/// A device of this name, where it is not the host.
fn named(name: &str) -> Option<Arc<dyn Device>> {
    devices().into_iter().find(|d| d.kind() != DeviceKind::Cpu && d.name() == name)
}

/// The device that a tensor is on; `None` for the host.
pub(crate) fn device_of(tensor: &Tensor) -> Option<Arc<dyn Device>> {
    tensor.remote().and_then(|memory| named(memory.device()))
}

/// The device that runs an operation on these tensors; `None` for the host.
pub(crate) fn device_for<'t>(tensors: impl IntoIterator<Item = &'t Tensor>) -> Option<Arc<dyn Device>> {
    match wish() {
        Some(device) => (device.kind() != DeviceKind::Cpu).then_some(device),
        None => tensors.into_iter().find_map(device_of),
    }
}

/// The device that runs a function on these arguments; `None` for the host.
pub(crate) fn device_for_args(args: &[Arg]) -> Option<Arc<dyn Device>> {
    let values: SmallVec<[Tensor; 4]> = args
        .iter()
        .filter_map(|arg| match arg {
            Arg::Tensor(t) => Some(t.clone()),
            Arg::Variable(v) => v.read().ok(),
        })
        .collect();
    device_for(&values)
}

/// Puts a tensor where it is wished for: the same one on the device of [`wish`], or on the host.
///
/// # Errors
/// As [`Device::upload`].
pub fn placed(tensor: &Tensor) -> Result<Tensor> {
    match wish() {
        Some(device) => device.upload(tensor),
        None => Ok(tensor.clone()),
    }
}

/// Runs one operator on a device, or on the host where the device has no code for it.
#[cold]
pub(crate) fn run(
    device: &Arc<dyn Device>,
    op: &'static OpDef,
    inputs: &[&Tensor],
    attrs: &Attrs,
    env: &dyn Env,
) -> Result<Outputs> {
    if let Some(dims) = elementwise_dims(op, inputs) {
        let types = infer(op, attrs, inputs)?;
        if let Some(program) = program_of(device, op, attrs, Loc::UNKNOWN, inputs.iter().map(|t| t.dtype()), &types) {
            return program.launch(inputs, &dims);
        }
    }
    if let Some(results) = run_kernels(device, op, inputs, attrs, env)? {
        return Ok(results);
    }
    run_on_host(op, inputs, attrs, env)?.iter().map(placed).collect()
}

/// Bytes of a tensor of the host from which on it is worth while to copy it to a device.
pub(crate) const WORTH_A_COPY: usize = 4096;

/// Runs one operator by its kernel for the host, which has the device do the work on whole tensors; `None` for other operators,
/// and for a few elements of the host.
pub(crate) fn run_kernels(
    device: &Arc<dyn Device>,
    op: &'static OpDef,
    inputs: &[&Tensor],
    attrs: &Attrs,
    env: &dyn Env,
) -> Result<Option<Outputs>> {
    let Some(kernels) = device.kernels().filter(|_| matches!(op.cuda, Cuda::Kernels)) else { return Ok(None) };
    let types = infer(op, attrs, inputs)?;
    let made = types.iter().any(|ty| ty.shape().num_elements().is_some_and(|n| n * ty.dtype().size() >= WORTH_A_COPY));
    if !made && inputs.iter().all(|t| t.remote().is_none() && t.byte_len() < WORTH_A_COPY) {
        return Ok(None);
    }
    let mut results = Outputs::new();
    #[expect(unsafe_code, reason = "runs a kernel on checked operands")]
    // SAFETY: the types were inferred above.
    unsafe {
        compute(op, attrs, inputs, &types, &mut results, &OnDevice { device, kernels, env })?;
    }
    Ok(Some(results))
}

/// The surroundings of a kernel that a device works for.
struct OnDevice<'a> {
    device: &'a Arc<dyn Device>,
    kernels: &'a dyn DeviceKernels,
    env: &'a dyn Env,
}

impl Env for OnDevice<'_> {
    fn kernels(&self) -> Option<&dyn DeviceKernels> {
        Some(self.kernels)
    }

    fn elementwise(&self, function: ElementFn, dtype: DType, inputs: &[&Tensor]) -> Result<Option<Tensor>> {
        let shapes: SmallVec<[&[usize]; 4]> = inputs.iter().map(|t| t.dims()).collect();
        let Some(op) = operator(function).filter(|op| has_code(op)) else { return Ok(None) };
        let Some(dims) = broadcast_dims(&shapes) else { return Ok(None) };
        let to = [("dtype", dtype.into())];
        let attrs = op.attributes(if op.attrs.is_empty() { &[] } else { &to })?;
        let types = infer(op, &attrs, &inputs[..op.operands.len().min(inputs.len())])?;
        let Some(program) = program_of(self.device, op, &attrs, Loc::UNKNOWN, inputs.iter().map(|t| t.dtype()), &types)
        else {
            return Ok(None);
        };
        Ok(program.launch(inputs, &dims)?.into_iter().next())
    }

    fn read_file(&self, path: &[u8]) -> Result<Bytes> {
        self.env.read_file(path)
    }

    fn write_file(&self, path: &[u8], contents: &[u8]) -> Result<()> {
        self.env.write_file(path, contents)
    }

    fn draw(&self, blocks: u64) -> Result<(u64, u128)> {
        self.env.draw(blocks)
    }

    fn profiler(&self) -> Option<&dyn Profiler> {
        self.env.profiler()
    }

    fn poll(&self) -> Result<()> {
        self.env.poll()
    }

    fn group(&self, name: &str) -> Result<Arc<dyn Group>> {
        self.env.group(name)
    }

    fn run_long(&self, work: &mut (dyn FnMut() + Send)) {
        self.env.run_long(work);
    }
}

/// The operator that computes a function element by element, and has its name.
fn operator(function: ElementFn) -> Option<&'static OpDef> {
    let name = match function {
        ElementFn::Unary(function) => function.name(),
        ElementFn::Binary(function) => function.name(),
        ElementFn::Cast => "cast",
        ElementFn::Select => "select",
    };
    Ops.find(name).filter(|op| op.function() == Some(function))
}

/// Runs one operator on the host, wherever its operands are.
pub(crate) fn run_on_host(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs, env: &dyn Env) -> Result<Outputs> {
    let host = inputs.iter().map(|t| t.on_host()).collect::<Result<SmallVec<[Tensor; 4]>>>()?;
    on_host(op, &host.iter().collect::<SmallVec<[&Tensor; 4]>>(), attrs, env)
}

/// The extents of the result of an elementwise operator that a device may run; `None` for another one, and for a few elements of
/// the host.
fn elementwise_dims(op: &OpDef, inputs: &[&Tensor]) -> Option<Dims> {
    if inputs.is_empty() || !has_code(op) {
        return None;
    }
    let shapes: SmallVec<[&[usize]; 4]> = inputs.iter().map(|t| t.dims()).collect();
    let dims = broadcast_dims(&shapes)?;
    // At least a byte for each element.
    let is_worth_it =
        num_elements(&dims).is_some_and(|n| n > INLINE_BYTES) || inputs.iter().any(|t| t.remote().is_some());
    is_worth_it.then(|| dims.iter().copied().collect())
}

/// Whether a device may have code for an operator by itself.
pub(crate) fn has_code(op: &OpDef) -> bool {
    matches!(op.cpu, Cpu::Elementwise(_)) && matches!(op.cuda, Cuda::Formula(..) | Cuda::Elementwise(_))
}

/// What programs are kept by, besides the attributes: the device, the operator and the dtypes.
type Key = (usize, usize, SmallVec<[DType; 4]>);

/// Programs of one operator each; `None` where the device has no code.
type Programs = FxHashMap<Key, Vec<(Attrs, Loc, Option<Arc<dyn Program>>)>>;

/// The program of one instruction on operands of these dtypes, whatever their shapes; `None` where the device has no code for it. Operands
/// beyond those of the operator are joined to the result, one after the other. What fails for some elements has a program for each
/// place in the source, which its error names.
pub(crate) fn program_of(
    device: &Arc<dyn Device>,
    op: &'static OpDef,
    attrs: &Attrs,
    loc: Loc,
    dtypes: impl Iterator<Item = DType>,
    results: &[Type],
) -> Option<Arc<dyn Program>> {
    static PROGRAMS: Mutex<Option<Programs>> = Mutex::new(None);
    let key: Key = (device.index(), std::ptr::from_ref(op) as usize, dtypes.collect());
    let may_fail = match op.fails {
        Fails::Never | Fails::OnShapes => false,
        Fails::OnIntegers => key.2.iter().any(|dtype| dtype.is_integer()),
        Fails::OnOperands(_) | Fails::OnValues => true,
    };
    let loc = if may_fail { loc } else { Loc::UNKNOWN };
    let find = |programs: &Option<Programs>| {
        let known = programs.as_ref()?.get(&key)?;
        known.iter().find(|(a, at, _)| a == attrs && *at == loc).map(|(_, _, program)| program.clone())
    };
    if let Some(known) = find(&PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner)) {
        return known;
    }
    // Outside of the lock: a fork must not find it held for long.
    let program = compiled(device, op, attrs, loc, &key.2, results);
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    programs.get_or_insert_default().entry(key).or_default().push((attrs.clone(), loc, program.clone()));
    program
}

fn compiled(
    device: &Arc<dyn Device>,
    op: &'static OpDef,
    attrs: &Attrs,
    loc: Loc,
    dtypes: &[DType],
    results: &[Type],
) -> Option<Arc<dyn Program>> {
    let mut builder = Builder::new(&CONST);
    builder.set_loc(loc);
    let operands: SmallVec<[_; 4]> =
        dtypes.iter().map(|&d| builder.input(Type::tensor(d, Shape::UNRANKED), None)).collect();
    let (own, more) = operands.split_at(op.operands.len().min(operands.len()));
    let inst = builder.inst(op, own, attrs.clone(), &[]).ok()?;
    let mut values: SmallVec<[_; 2]> = builder.results(inst).iter().copied().collect();
    for &next in more {
        let joined = builder.inst(op, &[values[0], next], attrs.clone(), &[]).ok()?;
        values[0] = builder.results(joined)[0];
    }
    let graph = builder.finish(&values).ok()?;
    let same = values.iter().zip(results).all(|(&v, ty)| graph.ty(v).dtype() == ty.dtype());
    if same { device.compile(&graph, graph.body()).ok() } else { None }
}
