//! Kernels made for one instruction, once its plan is made: what depends on types, attributes and constant operands alone is
//! worked out then, not at each run.

#![expect(unsafe_code, reason = "copies between tensors whose types are known ahead")]

use penstock_data::{Dims, Tensor, num_elements};
use penstock_ir::{ArgType, Attrs, Call, Cpu, Known, NoEnv, OpDef, Resolved, Type};
use penstock_kernels::places::{Run, copy_runs};

use crate::{array, diagonals, gather, joining, linalg, packed, part, shape_ops, slicing, sorting};

/// Makes the kernel of an instruction: of its operator, attributes, operands and the types of its results. `None` where nothing
/// is gained over the operator's own.
pub type Resolver = fn(&'static OpDef, &Attrs, &[Known<'_>], &[Type]) -> Option<Resolved>;

/// The resolver of an operator that has one.
pub fn resolver_of(op: &OpDef) -> Option<Resolver> {
    RESOLVERS.iter().find(|(known, _)| known.is(op)).map(|&(_, resolver)| resolver)
}

/// Operators and what resolves them.
static RESOLVERS: &[(&OpDef, Resolver)] = &[
    (&shape_ops::TRANSPOSE, moved),
    (&shape_ops::BROADCAST_TO, moved),
    (&shape_ops::TILE, moved),
    (&shape_ops::REVERSE, moved),
    (&shape_ops::PAD, moved),
    (&joining::CONCAT, moved),
    (&joining::STACK, moved),
    (&joining::UNSTACK, moved),
    (&joining::SPLIT, moved),
    (&slicing::STRIDED_SLICE, moved),
    (&slicing::STRIDED_SLICE_GRAD, moved),
    (&slicing::SLICE, moved),
    (&slicing::SLICE_GRAD, moved),
    (&diagonals::BAND_PART, moved),
    (&diagonals::DIAG_PART, moved),
    (&diagonals::SET_DIAG, moved),
    (&array::FILL, moved),
    (&array::ZEROS_LIKE, moved),
    (&array::ONE_HOT, moved),
    (&gather::GATHER, moved),
    (&gather::GATHER_ND, moved),
    (&part::PART, moved),
    (&sorting::TAKE_ALONG_AXIS, moved),
    (&linalg::MATMUL, packed::product),
];

/// The most bytes of a result that is made by moves of known places; larger ones are better made by loops, or shared.
const MOVED_BYTES: usize = 1024;
/// The most runs that a result is made of.
const MOVED_RUNS: usize = 64;

/// A result that is put together from runs of bytes of the operands, and zeros.
struct Moved {
    dims: Dims,
    /// How many bytes are filled with zeros first.
    zeros: usize,
    runs: Box<[Run]>,
}

/// Resolves an operator that moves the elements of its operands of the first dtype variable, and does nothing else with them. Where
/// they go is found by its own kernel, which moves the numbers of the elements instead; 0 stands for zeros.
fn moved(op: &'static OpDef, attrs: &Attrs, operands: &[Known<'_>], results: &[Type]) -> Option<Resolved> {
    let Cpu::Kernel(kernel) = op.cpu else { return None };
    let dtype = results.first()?.dtype();
    let size = dtype.size();
    let small = |ty: &Type| ty.shape().num_elements().is_some_and(|n| n * size <= MOVED_BYTES);
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
            let end = next + i64::try_from(num_elements(&dims)?).ok().filter(|&n| n <= 1 << 16)?;
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
    kernel(&mut Call { inputs: &inputs, attrs, outputs: &mut outputs, env: &NoEnv }).ok()?;
    let made: Option<Vec<Moved>> = outputs.iter().map(|out| Moved::of(out, &firsts, size)).collect();
    let made = made?;
    Some(Resolved::new(move |call| {
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
    }))
}

impl Moved {
    /// The runs that a result consists of, by the numbers of its elements; `None` where they are too many.
    fn of(numbers: &Tensor, firsts: &[(usize, i64)], size: usize) -> Option<Moved> {
        let mut runs: Vec<Run> = Vec::new();
        let numbers_of = numbers.as_slice::<i64>();
        for (at, &number) in numbers_of.iter().enumerate().filter(|&(_, &number)| number > 0) {
            let &(operand, first) = firsts.iter().rfind(|&&(_, first)| first <= number)?;
            let place = |n: usize| u32::try_from(n * size).ok();
            let run = Run {
                operand: operand as u32,
                from: place((number - first) as usize)?,
                to: place(at)?,
                bytes: size as u32,
            };
            match runs.last_mut() {
                Some(last)
                    if last.operand == run.operand
                        && last.from + last.bytes == run.from
                        && last.to + last.bytes == run.to =>
                {
                    last.bytes += run.bytes;
                }
                _ => runs.push(run),
            }
        }
        let zeros = if numbers_of.contains(&0) { numbers_of.len() * size } else { 0 };
        (runs.len() <= MOVED_RUNS).then(|| Moved { dims: numbers.dims().into(), zeros, runs: runs.into() })
    }
}
