//! The operators that access variables.

#![expect(unsafe_code, reason = "runs a resolved loop in place")]

use std::sync::Arc;

use penstock_data::{DType, Error, INLINE_BYTES, Loc, Result, Shape, Tensor, devices_in_use};
use penstock_ir::{Attrs, Call, Cpu, Env, Kernel, OpDef, Type};
use penstock_kernels::{Binary, Lane, LoopFn, binary, elementwise_flat};
use penstock_ops::RULE_OPS;
use penstock_ops::state::{ASSIGN, ASSIGN_ADD, ASSIGN_SUB, READ_VARIABLE};
use penstock_ops::updates::{COUNT_UP_TO, RNG_READ_AND_SKIP};
use penstock_passes::Thresholds;
use penstock_passes::evaluate::{Outputs, fault};
use smallvec::{SmallVec, smallvec};

use crate::tile::TileProgram;
use crate::variable::{Arg, Variable};
use crate::work::is_heavy;
use crate::{offload, placement};

/// Estimated nanoseconds of an element that an update changes.
const UPDATE_NS: f64 = 1.0;

/// Runs an operator that accesses a variable, its first operand.
///
/// # Safety
/// [`OpDef::check_operands`] accepts the arguments.
pub(crate) unsafe fn access(op: &'static OpDef, attrs: &Attrs, args: &[Arg], env: &dyn Env) -> Result<Outputs> {
    match args {
        [Arg::Variable(v), rest @ ..] if let Cpu::Variable(run) = op.cpu => {
            let inputs = rest.iter().map(Arg::tensor).collect::<Option<SmallVec<[&Tensor; 4]>>>();
            let inputs = inputs.ok_or_else(|| Error::unimplemented("takes one variable"))?;
            let results = usize::from(op.is(&RNG_READ_AND_SKIP) || op.is(&COUNT_UP_TO));
            // SAFETY: the caller's promise.
            unsafe { update_part(v, run, &inputs, results, attrs, env) }
        }
        [Arg::Variable(v)] if op.is(&READ_VARIABLE) => Ok(smallvec![v.read()?]),
        [Arg::Variable(v), Arg::Tensor(value)] => {
            if op.is(&ASSIGN) {
                v.assign(value.clone())?;
            } else if let Some(kind) = update_kind(op) {
                update(v, kind, update_loop(kind, v.dtype())?, value, env)?;
            } else {
                return Err(Error::unimplemented("does not run on variables"));
            }
            Ok(Outputs::new())
        }
        _ => Err(Error::unimplemented("does not run on variables")),
    }
}

/// Offloads a heavy update, while the host may let others run. It is done as a whole, or not at all, where the host wants
/// the run to stop meanwhile.
fn update_apart<R: Send + 'static>(
    env: &dyn Env,
    work: impl FnOnce(&dyn Env, &dyn Fn() -> Result<()>) -> Result<R> + Send + 'static,
) -> Result<R> {
    let (mut work, mut result) = (Some(work), None);
    env.run_long(&mut || result = work.take().map(|work| offload::run_whole(env, work)));
    result.unwrap_or_else(|| Err(Error::internal("the host did not run the work")))
}

/// Runs a kernel that changes a part of the variable's value, on the value itself where nobody else holds it. Gives its
/// `results` further results.
///
/// # Safety
/// The kernel is a [`Cpu::Variable`], and its operator's declaration accepts the variable, the operands and the attributes.
pub(crate) unsafe fn update_part(
    variable: &Arc<Variable>,
    run: Kernel,
    inputs: &[&Tensor],
    results: usize,
    attrs: &Attrs,
    env: &dyn Env,
) -> Result<Outputs> {
    let elements = inputs.iter().map(|t| t.len()).fold(variable.elements_to_copy(), usize::max);
    if !is_heavy(elements, UPDATE_NS, Thresholds::DEFAULT.heavy_ns) {
        // SAFETY: the caller's promise.
        return unsafe { update_part_now(variable, run, inputs, results, attrs, env, &|| Ok(())) };
    }
    let (variable, attrs) = (variable.clone(), attrs.clone());
    let own: SmallVec<[Tensor; 4]> = inputs.iter().map(|&t| t.clone()).collect();
    update_apart(env, move |env, begin| {
        let inputs: SmallVec<[&Tensor; 4]> = own.iter().collect();
        // SAFETY: the caller's promise.
        unsafe { update_part_now(&variable, run, &inputs, results, &attrs, env, begin) }
    })
}

///
/// # Safety
/// As for [`update_part`].
unsafe fn update_part_now(
    variable: &Variable,
    run: Kernel,
    inputs: &[&Tensor],
    results: usize,
    attrs: &Attrs,
    env: &dyn Env,
    begin: &dyn Fn() -> Result<()>,
) -> Result<Outputs> {
    let (done, shared) = variable.update(|value| {
        begin()?;
        let shared = own(value)?;
        let mut outputs: Outputs = smallvec![std::mem::take(value)];
        outputs.resize_with(1 + results, Tensor::default);
        let mut lent = Lent { home: value, outputs };
        // SAFETY: the caller's promise.
        let done = unsafe { run(&mut Call { inputs, attrs, outputs: &mut lent.outputs, env }) };
        let results: Outputs = lent.outputs.drain(1..).collect();
        Ok((done.map(|()| results), shared))
    })?;
    drop(shared); // outside of the lock, even where the kernel failed
    done
}

/// Runs a program whose result is a part of the variable's value, on the value itself where nobody else holds it.
pub(crate) fn update_window(variable: &Variable, program: &TileProgram, inputs: &[&Tensor]) -> Result<()> {
    let (done, shared) = variable.update(|value| {
        let shared = own(value)?;
        Ok((program.run(inputs, std::slice::from_mut(value)), shared))
    })?;
    drop(shared); // outside of the lock
    done
}

/// The outputs of a kernel of which the first is a variable's value, to which it returns whatever happens.
struct Lent<'a> {
    home: &'a mut Tensor,
    outputs: Outputs,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        *self.home = std::mem::take(&mut self.outputs[0]);
    }
}

/// Makes a tensor the only one that sees its elements. What it was comes back where that had to be copied.
fn own(tensor: &mut Tensor) -> Result<Option<Tensor>> {
    // A table is copied as a whole by who changes it, where that must be.
    if tensor.is_empty() || tensor.as_mut_ptr().is_some() || tensor.table().is_some() {
        return Ok(None);
    }
    let copy = tensor.to_owned_memory()?;
    Ok(Some(std::mem::replace(tensor, copy)))
}

/// The arithmetic of an operator that changes a variable by a value.
pub(crate) fn update_kind(op: &'static OpDef) -> Option<Binary> {
    if op.is(&ASSIGN_ADD) {
        Some(Binary::Add)
    } else if op.is(&ASSIGN_SUB) {
        Some(Binary::Sub)
    } else {
        None
    }
}

/// The loop of that arithmetic for a variable of this dtype.
pub(crate) fn update_loop(kind: Binary, dtype: DType) -> Result<LoopFn> {
    binary(kind, dtype).ok_or_else(|| Error::dtype(format!("dtype {} is not supported", dtype.tf_name())))
}

/// Changes a variable whose value is on a device there, or one of a few elements on the host where the operand is; false where neither
/// is so, or the device has no code for the change, and nothing has happened.
fn update_on_device(variable: &Variable, kind: Binary, operand: &Tensor) -> Result<bool> {
    let value = variable.read()?;
    let dims = value.dims();
    if operand.dtype() != value.dtype() || operand.dims() != dims {
        return Ok(false);
    }
    let few = value.byte_len() <= INLINE_BYTES;
    let Some(device) = placement::device_of(&value).or_else(|| placement::device_of(operand).filter(|_| few)) else {
        return Ok(false);
    };
    let op = if matches!(kind, Binary::Sub) { RULE_OPS.sub } else { RULE_OPS.add };
    let ty = Type::tensor(value.dtype(), Shape::known(dims));
    let dtypes = [value.dtype(); 2].into_iter();
    let Some(program) = placement::program_of(&device, op, &Attrs::EMPTY, Loc::UNKNOWN, dtypes, &[ty]) else {
        return Ok(false);
    };
    let replaced = variable.update(|value| match value.dims() == dims {
        true => Ok(Some(std::mem::replace(value, program.launch(&[&*value, operand], dims)?.remove(0)))),
        false => Ok(None),
    })?;
    Ok(replaced.is_some()) // what was replaced is dropped outside of the lock
}

/// Makes the variable's value `f(value, operand)`, in place where nobody else holds it.
///
/// `f` is the loop of `kind` for the variable's dtype.
pub(crate) fn update(variable: &Arc<Variable>, kind: Binary, f: LoopFn, operand: &Tensor, env: &dyn Env) -> Result<()> {
    if devices_in_use() {
        if update_on_device(variable, kind, operand)? {
            return Ok(());
        }
        return update_on_host(variable, f, &operand.on_host()?, env);
    }
    update_on_host(variable, f, operand, env)
}

fn update_on_host(variable: &Arc<Variable>, f: LoopFn, operand: &Tensor, env: &dyn Env) -> Result<()> {
    if !is_heavy(operand.len(), UPDATE_NS, Thresholds::DEFAULT.heavy_ns) {
        return update_now(variable, f, operand, &|| Ok(()));
    }
    let (variable, operand) = (variable.clone(), operand.clone());
    update_apart(env, move |_, begin| update_now(&variable, f, &operand, begin))
}

fn update_now(variable: &Variable, f: LoopFn, operand: &Tensor, begin: &dyn Fn() -> Result<()>) -> Result<()> {
    if operand.dtype() != variable.dtype() {
        return Err(Error::dtype(format!(
            "the variable has dtype {}, the value {}",
            variable.dtype().tf_name(),
            operand.dtype().tf_name()
        ))
        .argument("value"));
    }
    let replaced = variable.update(|value| {
        begin()?;
        if value.dims() != operand.dims() {
            return Err(Error::invalid(format!(
                "the variable has shape {}, the value {}",
                Shape::known(value.dims()),
                Shape::known(operand.dims())
            ))
            .argument("value"));
        }
        let (n, size) = (value.len(), value.dtype().size());
        let lanes = [Lane::new(value.as_ptr(), size), Lane::new(operand.as_ptr(), size)];
        if let Some(out) = value.as_mut_ptr() {
            // An inline tensor that is both operand and target has moved between the two calls above
            // only if `value` has: it has not, so the first lane starts at `out`.
            let lanes = [Lane::new(out, size), lanes[1]];
            // SAFETY: both lanes have `n` elements of the loop's dtype; `out` is the first of them and
            // has no other owner, so the second lane does not overlap it.
            unsafe { elementwise_flat(f, n, &lanes, out, size) }.map_err(fault)?;
            return Ok(None);
        }
        let mut fresh = Tensor::empty(value.dtype(), value.dims())?;
        let out = fresh.as_mut_ptr().ok_or_else(|| Error::internal("a fresh tensor is shared"))?;
        // SAFETY: both lanes have `n` elements of the loop's dtype, and so has the result, which is fresh memory.
        unsafe { elementwise_flat(f, n, &lanes, out, size) }.map_err(fault)?;
        Ok(Some(std::mem::replace(value, fresh)))
    })?;
    drop(replaced); // outside of the lock
    Ok(())
}
