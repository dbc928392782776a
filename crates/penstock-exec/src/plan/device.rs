//! Steps that a device runs.

#![expect(unsafe_code, reason = "registers are read and written by number")]

use std::sync::Arc;

use penstock_data::{Error, INLINE_BYTES, Result, Tensor};
use penstock_ir::{Attrs, Env, OpDef, Product, Type};
use penstock_ops::linalg::MATMUL;
use penstock_passes::evaluate::{Outputs, check_promise, extents_of, infer};
use smallvec::SmallVec;

use super::frame::{Reg, Regs};
use crate::device::{Device, Program, Run};
use crate::placement::{WORTH_A_COPY, device_of, run_kernels, run_on_host};
use crate::variable::{Arg, Variable, is_any_twice, update_all, variable};

/// What a device runs.
pub(crate) enum Work {
    /// Programs that do not depend on each other.
    Programs(Vec<Part>),
    /// An operator whose kernel has the device do the work on whole tensors.
    Operator(&'static OpDef, Attrs),
    /// A product of matrices, to each row of which the last operand is added.
    Biased(Biased),
}

/// A product of matrices with a bias.
pub(crate) struct Biased {
    /// The attributes of the product.
    pub(super) attrs: Attrs,
    /// Whether what is negative becomes 0.
    pub(super) relu: bool,
    /// What is done to the product, where the device does not do it all at once,
    pub(super) rest: Arc<dyn Program>,
    /// and whether the bias is its first operand.
    pub(super) bias_first: bool,
}

/// A program of a step: elementwise instructions on operands that broadcast to the extents of its results.
pub(crate) struct Part {
    pub(super) program: Arc<dyn Program>,
    /// How many of the step's operands and results, which follow those of the part before, are its own.
    pub(super) ins: usize,
    pub(super) outs: usize,
    /// The variable whose value is the last operand, and becomes the last result.
    pub(super) variable: Option<usize>,
}

/// Some work of a device.
pub(crate) struct DeviceStep {
    pub(super) device: Arc<dyn Device>,
    pub(super) work: Work,
    pub(super) ins: SmallVec<[Reg; 8]>,
    pub(super) outs: SmallVec<[Reg; 2]>,
    pub(super) types: SmallVec<[Type; 1]>,
}

impl DeviceStep {
    /// The variables that it changes.
    pub(super) fn variables(&self) -> impl Iterator<Item = usize> {
        let parts: &[Part] = if let Work::Programs(parts) = &self.work { parts } else { &[] };
        parts.iter().filter_map(|part| part.variable)
    }

    /// Queues the work. Operands on the host come to the device, and stay there for the steps that read them later: a
    /// register then holds the same tensor in another place. An operator's small operands, such as extents, stay on the host.
    ///
    /// # Safety
    /// The registers are there, and nobody else uses them meanwhile.
    pub(super) unsafe fn run(&self, regs: Regs, args: &[Arg], env: &dyn Env) -> Result<()> {
        let least = if matches!(self.work, Work::Programs(_)) { 0 } else { WORTH_A_COPY };
        for &reg in &self.ins {
            // SAFETY: the caller's promise; this is the only reference.
            let operand = unsafe { regs.get_mut(reg) };
            if operand.is_in_buffer() && operand.byte_len() >= least {
                *operand = self.device.upload(operand)?;
            }
        }
        // SAFETY: the caller's promise; nothing is written before the results are there.
        let inputs: SmallVec<[&Tensor; 6]> = unsafe { regs.list(&self.ins) };
        let results = match &self.work {
            Work::Programs(parts) => self.run_programs(parts, &inputs, args)?,
            Work::Biased(biased) => self.run_biased(biased, &inputs, env)?,
            Work::Operator(op, attrs) => match run_kernels(&self.device, op, &inputs, attrs, env)? {
                Some(results) => results,
                None => run_on_host(op, &inputs, attrs, env)?,
            },
        };
        for (i, ((&out, ty), result)) in self.outs.iter().zip(&self.types).zip(results).enumerate() {
            check_promise(i, &result, ty)?;
            // SAFETY: the caller's promise; the operands are read no more.
            unsafe { *regs.get_mut(out) = result };
        }
        Ok(())
    }

    /// Queues a product, to each row of which the last operand is added.
    fn run_biased(&self, work: &Biased, inputs: &[&Tensor], env: &dyn Env) -> Result<Outputs> {
        let attrs = &work.attrs;
        let &[a, b, bias] = inputs else { return Err(Error::internal("a product has two operands")) };
        let types = infer(&MATMUL, attrs, &[a, b])?;
        let dims = types[0].shape().extents().ok_or_else(|| Error::internal("an extent is not known"))?;
        // Where they are adjoint, real numbers are transposed.
        let [a_transposed, b_transposed] = [0, 1].map(|i| attrs.flag(i) || attrs.flag(2 + i));
        let (batch, &[m, n]) = dims.split_last_chunk::<2>().ok_or_else(|| Error::internal("a product of rank 1"))?;
        let k = a.dims()[a.rank() - if a_transposed { 2 } else { 1 }];
        let product = Product { a, b, a_transposed, b_transposed, batch: batch.into(), m, k, n, dtype: a.dtype() };
        if let Some(made) = self.device.biased_product(&product, bias, work.relu, &dims)? {
            return Ok(Outputs::from_iter([made]));
        }
        let made = match run_kernels(&self.device, &MATMUL, &[a, b], attrs, env)? {
            Some(made) => made,
            None => run_on_host(&MATMUL, &[a, b], attrs, env)?,
        };
        let operands = if work.bias_first { [bias, &made[0]] } else { [&made[0], bias] };
        work.rest.launch(&operands, &extents_of(&operands)?)
    }

    /// Queues programs; gives the results but for those that are variables' values now.
    fn run_programs(&self, parts: &[Part], inputs: &[&Tensor], args: &[Arg]) -> Result<Outputs> {
        let variables = parts.iter().filter_map(|part| part.variable);
        let variables =
            variables.map(|i| variable(args, i).map(|v| &**v)).collect::<Result<SmallVec<[&Variable; 8]>>>()?;
        if is_any_twice(&variables) {
            // One argument may be another one, too. What is changed twice is changed one time after the other.
            let (mut from, mut results) = (0, Outputs::new());
            for part in parts {
                let own = part.variable.map(|i| variable(args, i)).transpose()?;
                let own: SmallVec<[&Variable; 1]> = own.into_iter().map(|v| &**v).collect();
                results.extend(self.update(std::slice::from_ref(part), &inputs[from..from + part.ins], &own)?);
                from += part.ins;
            }
            return Ok(results);
        }
        self.update(parts, inputs, &variables)
    }

    /// Queues programs that change these variables, each of which is another.
    fn update(&self, parts: &[Part], inputs: &[&Tensor], variables: &[&Variable]) -> Result<Outputs> {
        let (results, replaced) = update_all(variables, |values| {
            let (results, next) = {
                let now: SmallVec<[&Tensor; 8]> = values.iter().map(|value| &**value).collect();
                self.launch(parts, inputs, &now)?
            };
            let replaced: Vec<Tensor> =
                values.iter_mut().zip(next).map(|(value, next)| std::mem::replace(&mut **value, next)).collect();
            Ok((results, replaced))
        })?;
        drop(replaced); // outside of the locks
        Ok(results)
    }

    /// Queues programs; gives the results, and the next values of the variables that have these.
    fn launch(&self, parts: &[Part], inputs: &[&Tensor], values: &[&Tensor]) -> Result<(Outputs, Vec<Tensor>)> {
        let (mut rest, mut values_of) = (inputs, values.iter().copied());
        let mut operands: SmallVec<[SmallVec<[&Tensor; 6]>; 1]> = SmallVec::new();
        for part in parts {
            let (own, others) = rest.split_at(part.ins);
            let value = part.variable.and_then(|_| values_of.next());
            operands.push(own.iter().copied().chain(value).collect());
            rest = others;
        }
        let mut runs: SmallVec<[Run<'_>; 1]> = SmallVec::new();
        for (part, inputs) in parts.iter().zip(&operands) {
            runs.push(Run { program: &*part.program, inputs, dims: extents_of(inputs)? });
        }
        let (mut results, mut next) = (Outputs::new(), Vec::new());
        for (part, mut own) in parts.iter().zip(self.device.launch_all(&runs)?) {
            next.extend(own.drain(part.outs.min(own.len())..));
            results.extend(own);
        }
        // A variable stays where it is, but for few elements.
        for (value, next) in values.iter().zip(&mut next) {
            if value.byte_len() > INLINE_BYTES && device_of(value).is_none() {
                *next = next.on_host()?;
            }
        }
        Ok((results, next))
    }
}
