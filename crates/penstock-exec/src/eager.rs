//! One operator at a time, now.

#![expect(unsafe_code, reason = "runs resolved loops over checked operands")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use penstock_data::{DType, DTypeSet, Error, Result, Tensor, devices_in_use};
use penstock_ir::{Attr, Attrs, Cpu, ElementFn, Env, OpDef, OutTypes};
use penstock_kernels::{Lane, LoopFn, broadcast_dims, elementwise_flat};
use penstock_ops::array::CHECK_NUMERICS;
use penstock_passes::Thresholds;
use penstock_passes::evaluate::{Outputs, broadcast_loop, compute, fault, infer, resolve};
use smallvec::SmallVec;

use crate::executable::{checks_numerics, executable};
use crate::variable::Arg;
use crate::work::{is_heavy, is_heavy_on};
use crate::{offload, placement, state};

/// Runs one operator on tensors.
///
/// # Errors
/// What the operator reports, naming it; `Unimplemented` for operators with regions or variables.
#[inline]
pub fn eager(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs, env: &dyn Env) -> Result<Outputs> {
    if checks_numerics() {
        return checked(op, inputs, attrs, env);
    }
    if devices_in_use() {
        return on_wished_device(op, inputs, attrs, env);
    }
    on_host(op, inputs, attrs, env)
}

/// Runs one operator where [`placement`] says.
#[cold]
fn on_wished_device(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs, env: &dyn Env) -> Result<Outputs> {
    let run = || match placement::device_for(inputs.iter().copied()) {
        Some(device) => placement::run(&device, op, inputs, attrs, env),
        None => placement::run_on_host(op, inputs, attrs, env),
    };
    guard(op, run).map_err(|e| e.in_op(op.name))
}

/// Runs one operator on tensors of the host.
#[inline]
pub(crate) fn on_host(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs, env: &dyn Env) -> Result<Outputs> {
    if let Cpu::Elementwise(function) = op.cpu
        && attrs.0.is_empty()
        && matches!(inputs.len(), 1..=CACHED)
    {
        return match guard(op, || elementwise(op, function, inputs, env)) {
            Ok(out) => Ok(SmallVec::from_buf([out])),
            Err(e) => Err(e.in_op(op.name)),
        };
    }
    general(op, inputs, attrs, env)
}

/// Runs one operator, and checks that its floating point results are finite.
#[cold]
fn checked(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs, env: &dyn Env) -> Result<Outputs> {
    let outputs = general(op, inputs, attrs, env)?;
    for (i, out) in outputs.iter().enumerate().filter(|(_, t)| DTypeSet::INEXACT.contains(t.dtype())) {
        let message = penstock_passes::check::describe(op.name, i, outputs.len());
        let attrs = CHECK_NUMERICS.attributes(&[("message", message.as_str().into())])?;
        general(&CHECK_NUMERICS, &[out], &attrs, env)?;
    }
    Ok(outputs)
}

#[inline(never)]
fn general(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs, env: &dyn Env) -> Result<Outputs> {
    let result = guard(op, || {
        let types = infer(op, attrs, inputs)?;
        if is_heavy_on(op, attrs, inputs, &types, Thresholds::DEFAULT.heavy_ns) {
            // SAFETY: the types were inferred above.
            return unsafe { compute_offloaded(op, inputs, attrs, types, env) };
        }
        let mut outputs = Outputs::new();
        // SAFETY: the types were inferred above.
        unsafe { compute(op, attrs, inputs, &types, &mut outputs, env)? };
        Ok(outputs)
    });
    result.map_err(|e| e.in_op(op.name))
}

/// Offloads an operator with results of these types, while the host may let others run.
///
/// # Safety
/// As for [`compute`].
#[cold]
unsafe fn compute_offloaded(
    op: &'static OpDef,
    inputs: &[&Tensor],
    attrs: &Attrs,
    types: OutTypes,
    env: &dyn Env,
) -> Result<Outputs> {
    let own: Vec<Tensor> = inputs.iter().map(|&t| t.clone()).collect();
    let attrs = attrs.clone();
    let mut work = Some(move |env: &dyn Env| {
        let inputs: SmallVec<[&Tensor; 4]> = own.iter().collect();
        let mut outputs = Outputs::new();
        // SAFETY: the caller's promise.
        unsafe { compute(op, &attrs, &inputs, &types, &mut outputs, env) }.map(|()| outputs)
    });
    let mut result = None;
    env.run_long(&mut || result = work.take().map(|work| offload::run(env, work)));
    result.unwrap_or_else(|| Err(Error::internal("the host did not run the work")))?
}

/// As [`compute_offloaded`], for an elementwise operator without attributes.
#[cold]
fn elementwise_offloaded(op: &'static OpDef, inputs: &[&Tensor], env: &dyn Env) -> Result<Tensor> {
    let types = infer(op, &Attrs::EMPTY, inputs)?;
    // SAFETY: the types were inferred above.
    let mut results = unsafe { compute_offloaded(op, inputs, &Attrs::EMPTY, types, env)? };
    Ok(results.remove(0))
}

/// Runs one operator on tensors and variables; it may be an access to a variable or a call.
///
/// # Errors
/// As [`eager`].
pub fn eager_args(op: &'static OpDef, args: &[Arg], attrs: &Attrs, env: &dyn Env) -> Result<Outputs> {
    let is_call = matches!(attrs.0.first(), Some(Attr::Func(_))) && matches!(op.cpu, Cpu::Executor(_));
    if is_call {
        let callee = executable(&attrs.func(0).get()?, env)?;
        return Ok(callee.run(args, env)?.into_iter().collect());
    }
    if args.iter().all(|a| a.tensor().is_some()) {
        let inputs: SmallVec<[&Tensor; 4]> = args.iter().filter_map(Arg::tensor).collect();
        return eager(op, &inputs, attrs, env);
    }
    guard(op, || {
        let types: SmallVec<[_; 4]> = args.iter().map(Arg::ty).collect();
        op.check_operands(&types)?;
        // SAFETY: they were checked above.
        unsafe { state::access(op, attrs, args, env) }
    })
    .map_err(|e| e.in_op(op.name))
}

/// Turns a panic into an error.
pub(crate) fn guard<T>(op: &'static OpDef, f: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a panic leaves half done is dropped with it, or is a register of a frame that is not used again.
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(Error::of_panic(&*panic).in_op(op.name)))
}

/// Elementwise operators on no more elements than this are not heavy.
const LONG: usize = 1 << 14;
/// The most operands of an operator whose loop is remembered.
const CACHED: usize = 3;
/// The number of remembered loops, a power of two.
const ENTRIES: usize = 64;

/// A loop that was looked up: for an operator without attributes and for dtypes of its operands.
#[derive(Clone, Copy)]
struct Entry {
    op: Option<&'static OpDef>,
    dtypes: u32,
    f: Option<LoopFn>,
    result: DType,
}

thread_local! {
    static LOOPS: [Cell<Entry>; ENTRIES] = const {
        [const { Cell::new(Entry { op: None, dtypes: 0, f: None, result: DType::Bool }) }; ENTRIES]
    };
}

/// Runs an elementwise operator without attributes on at most [`CACHED`] operands.
fn elementwise(op: &'static OpDef, function: ElementFn, inputs: &[&Tensor], env: &dyn Env) -> Result<Tensor> {
    let dtypes = inputs.iter().fold(1u32, |key, t| key << 8 | t.dtype() as u32);
    let slot = ((std::ptr::from_ref(op) as usize >> 4) ^ (dtypes as usize).wrapping_mul(0x9e37)) % ENTRIES;
    let entry = LOOPS.with(|loops| loops[slot].get());
    let (f, result) = match entry {
        Entry { op: Some(cached), dtypes: d, f: Some(f), result } if op.is(cached) && d == dtypes => (f, result),
        _ => {
            let result = infer(op, &Attrs::EMPTY, inputs)?[0].dtype();
            let f = resolve(function, inputs.iter().map(|t| t.dtype()), result)?;
            LOOPS.with(|loops| loops[slot].set(Entry { op: Some(op), dtypes, f: Some(f), result }));
            (f, result)
        }
    };
    let dims = inputs[0].dims();
    if inputs[1..].iter().any(|t| t.dims() != dims) {
        let most = inputs.iter().fold(1usize, |n, t| n.saturating_mul(t.len()));
        if most > LONG {
            let shapes: SmallVec<[&[usize]; CACHED]> = inputs.iter().map(|t| t.dims()).collect();
            if broadcast_dims(&shapes).is_some_and(|dims| {
                is_heavy(dims.iter().product(), op.cost.per_element(), Thresholds::DEFAULT.heavy_ns)
            }) {
                return elementwise_offloaded(op, inputs, env);
            }
        }
        let mut out = Tensor::default();
        // SAFETY: `f` is the operator's loop for these dtypes, `result` the dtype of its result.
        unsafe { broadcast_loop(f, result, inputs, &mut out)? };
        return Ok(out);
    }
    let mut out = Tensor::empty(result, dims)?;
    let n = out.len();
    if n > LONG && is_heavy(n, op.cost.per_element(), Thresholds::DEFAULT.heavy_ns) {
        return elementwise_offloaded(op, inputs, env);
    }
    let ptr = out.as_mut_ptr().ok_or_else(|| Error::internal("a fresh tensor is shared"))?;
    let mut lanes = [Lane::fixed(ptr); CACHED];
    for (lane, t) in lanes.iter_mut().zip(inputs) {
        *lane = Lane::new(t.as_ptr(), t.dtype().size());
    }
    // SAFETY: `f` is the operator's loop for these dtypes, `result` the dtype of its result; each operand has the `n` elements of the result, which is fresh memory.
    unsafe { elementwise_flat(f, n, &lanes[..inputs.len()], ptr, result.size()) }.map_err(fault)?;
    Ok(out)
}
