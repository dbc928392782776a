//! Kernels made for one instruction, once its plan is made: what depends on types, attributes and constant operands alone is
//! worked out then, not at each run.

#![expect(unsafe_code, reason = "copies between tensors whose types are known ahead")]

use std::slice;

use penstock_data::{DType, DTypeSet, Dims, Tensor, num_elements};
use penstock_ir::{ArgType, Attrs, Call, Cpu, Known, NoEnv, OpDef, Resolved, Type};
use penstock_kernels::byte_copies::{MOST_BYTES, Runs, copy_rows_at, copy_runs, runs_of};
use penstock_kernels::gather::Indices;

use crate::util::{around, normalize_axis};

/// The most elements of an operand that are numbered, which takes some nanoseconds each.
const NUMBERED: i64 = 4096;

/// A result that is put together from runs of bytes of the operands, and zeros.
struct Moved {
    dims: Dims,
    /// How many bytes are filled with zeros first.
    zeros: usize,
    runs: Runs,
}

/// Resolves an operator that moves the elements of its operands of the first dtype variable, and does nothing else with them. Where
/// they go is found by its own kernel, which moves the numbers of the elements instead; 0 stands for zeros.
pub(crate) fn moved(op: &'static OpDef, attrs: &Attrs, operands: &[Known<'_>], results: &[Type]) -> Option<Resolved> {
    let Cpu::Kernel(kernel) = op.cpu else { return None };
    let dtype = results.first()?.dtype();
    let size = dtype.size();
    let small = |ty: &Type| ty.shape().num_elements().is_some_and(|n| n * size <= MOST_BYTES);
    if size == 0 || !results.iter().all(small) {
        return None;
    }
    let mut numbered: Vec<Tensor> = Vec::with_capacity(operands.len());
    // The operands that are moved, with the number of the first element of each.
    let mut firsts: Vec<(usize, i64)> = Vec::new();
    let mut next = 1;
    for (i, operand) in operands.iter().enumerate() {
        numbered.push(if matches!(op.operand(i)?.ty, ArgType::Var(0)) {
            let dims = operand.extents()?;
            let end = next + i64::try_from(num_elements(&dims)?).ok().filter(|&n| n <= NUMBERED)?;
            firsts.push((i, next));
            let numbers: Vec<i64> = (next..end).collect();
            next = end;
            Tensor::from_slice(&dims, &numbers).ok()?
        } else {
            operand.value?.clone()
        });
    }
    let inputs: Vec<&Tensor> = numbered.iter().collect();
    let mut outputs = vec![Tensor::default(); results.len()];
    // Operands that it refuses are refused at each run.
    // SAFETY: inference accepted operands of these extents, and a kernel that only moves elements takes those of any dtype.
    unsafe { kernel(&mut Call { inputs: &inputs, attrs, outputs: &mut outputs, env: &NoEnv }).ok()? };
    let made = |out: &Tensor| {
        let numbers = out.as_slice::<i64>();
        let zeros = if numbers.contains(&0) { numbers.len() * size } else { 0 };
        Some(Moved { dims: out.dims().into(), zeros, runs: runs_of(numbers, &firsts, size)? })
    };
    let made = outputs.iter().map(made).collect::<Option<Vec<Moved>>>()?;
    let run = move |call: &mut Call<'_>| {
        for (i, result) in made.iter().enumerate() {
            let out = call.out(i, dtype, &result.dims)?;
            // SAFETY: the operands have the extents that they had among the numbers, whose kernel found the runs in them;
            // the result has the extents of the one that was read, and memory of its own.
            unsafe {
                if result.zeros > 0 {
                    out.write_bytes(0, result.zeros);
                }
                copy_runs(&result.runs, |operand| call.inputs[operand].as_ptr(), out);
            }
        }
        Ok(())
    };
    // SAFETY: the kernel relies on the types of the operands, and on the values of constant ones, that it was made for; it makes each
    // result of the dtype and extents that this was given.
    Some(unsafe { Resolved::new(run) })
}

/// The axis of a gather without a batch that refuses every negative index.
fn lone_axis(attrs: &Attrs, params: usize) -> Option<usize> {
    let plain = attrs.int(1) == 0 && !attrs.flag(2);
    normalize_axis(attrs.int(0), params, "axis").ok().filter(|_| plain)
}

/// Resolves a gather of a few elements: by constant indices as what moves elements to known places, by others without a batch as copies of
/// rows of known sizes.
pub(crate) fn gathered(
    op: &'static OpDef,
    attrs: &Attrs,
    operands: &[Known<'_>],
    results: &[Type],
) -> Option<Resolved> {
    if let Some(resolved) = moved(op, attrs, operands, results) {
        return Some(resolved);
    }
    let ([params, indices], [result]) = (operands, results) else { return None };
    let (dims, made) = (params.extents()?, result.shape().extents()?);
    let (axis, count) = (lone_axis(attrs, dims.len())?, indices.ty.shape().num_elements()?);
    let (outer, n, inner) = around(&dims, axis);
    let (dtype, bytes) = (result.dtype(), inner * result.dtype().size());
    if !(1..=MOST_BYTES).contains(&(outer * count * bytes)) {
        return None;
    }
    let (Cpu::Kernel(own), wide) = (op.cpu, indices.ty.dtype() == DType::I64) else { return None };
    let run = move |call: &mut Call<'_>| {
        let out = call.out(0, dtype, &made)?;
        let (from, indices) = (call.inputs[0].as_ptr(), call.inputs[1].as_ptr());
        // SAFETY: the operands have these extents and the indices their dtype, by their types; the result, which has memory of its
        // own, has a row for each index of each block.
        let found = unsafe {
            if wide {
                copy_rows_at(from, [outer, n, bytes], slice::from_raw_parts(indices.cast::<i64>(), count), out)
            } else {
                copy_rows_at(from, [outer, n, bytes], slice::from_raw_parts(indices.cast::<i32>(), count), out)
            }
        };
        // The operator's own kernel says which index is wrong.
        if found {
            return Ok(());
        }
        // SAFETY: the operands are those that it would have run on.
        unsafe { own(call) }
    };
    // SAFETY: the kernel relies on the types of the operands, and on the values of constant ones, that it was made for; it makes each
    // result of the dtype and extents that this was given.
    Some(unsafe { Resolved::new(run) })
}

/// Resolves rows with one element that differs: constant ones as what moves elements, others as a kernel of known sizes.
pub(crate) fn one_hot(op: &'static OpDef, attrs: &Attrs, operands: &[Known<'_>], results: &[Type]) -> Option<Resolved> {
    if let Some(resolved) = moved(op, attrs, operands, results) {
        return Some(resolved);
    }
    let ([indices, ..], [result]) = (operands, results) else { return None };
    let (before, made, dtype) = (indices.extents()?, result.shape().extents()?, result.dtype());
    let axis = normalize_axis(attrs.int(0), made.len(), "axis").ok()?;
    let (outer, depth, inner) = around(&made, axis);
    let (size, count, of) = (dtype.size(), num_elements(&before)?, indices.ty.dtype());
    if !(1..=MOST_BYTES).contains(&(outer * depth * inner * size)) || !DTypeSet::INDEX.contains(of) {
        return None;
    }
    let run = move |call: &mut Call<'_>| {
        let out = call.out(0, dtype, &made)?;
        let [indices, _, on, off] = [0, 1, 2, 3].map(|i| call.inputs[i].as_ptr());
        let indices = Indices { ptr: indices, dtype: of, count };
        // SAFETY: the operands have these extents and dtypes, by their types; the result, which has memory of its own, has `depth`
        // elements for each index.
        unsafe { penstock_kernels::gather::one_hot(size, indices, outer, depth, inner, on, off, out) };
        Ok(())
    };
    // SAFETY: the kernel relies on the types of the operands, and on the values of constant ones, that it was made for; it makes each
    // result of the dtype and extents that this was given.
    Some(unsafe { Resolved::new(run) })
}
