//! A small eager evaluator, so that operators are tested without an executor.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(unsafe_code, reason = "runs elementwise loops on the memory of tensors")]

use std::collections::HashMap;

use penstock_data::{Error, Result, Shape, Tensor};
use penstock_ir::{
    Attr, Attrs, Call, Cpu, Emitter, Entity, Env, InferCx, NoValues, OpDef, OpSet, OutTypes, Signature, Type, Value,
    Vjp, VjpCx,
};
use penstock_ops::Ops;
use smallvec::SmallVec;

/// An operator by name.
pub(crate) fn op(name: &str) -> &'static OpDef {
    Ops.find(name).unwrap_or_else(|| panic!("there is no operator {name}"))
}

/// Surroundings in which nothing is heard and every draw is the same.
pub(crate) struct Quiet;

impl Env for Quiet {
    fn print(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }
    fn draw(&self, _: u64) -> Result<(u64, u128)> {
        Ok((7, 0))
    }
    fn poll(&self) -> Result<()> {
        Ok(())
    }
}

/// What inference says of operands of these types; `values` are the operands where inference may see them.
pub(crate) fn infer(op: &'static OpDef, types: &[Type], attrs: &Attrs, values: Option<&[&Tensor]>) -> Result<OutTypes> {
    op.check_operands(types)?;
    let regions: [Signature; 0] = [];
    match values {
        Some(values) => (op.infer)(&InferCx { inputs: types, attrs, regions: &regions, values: &values }),
        None => (op.infer)(&InferCx { inputs: types, attrs, regions: &regions, values: &NoValues }),
    }
}

/// Runs an operator into `outputs`, which may be those of an earlier run.
pub(crate) fn run_into(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs, outputs: &mut Vec<Tensor>) -> Result<()> {
    let types: Vec<Type> = inputs.iter().map(|t| Type::of(t)).collect();
    let inferred = infer(op, &types, attrs, Some(inputs))?;
    outputs.resize(inferred.len(), Tensor::default());
    match op.cpu {
        Cpu::Executor(_) | Cpu::Variable(_) => return Err(Error::unimplemented("needs an executor")),
        // SAFETY: the results were inferred above.
        Cpu::Kernel(kernel) => unsafe { kernel(&mut Call { inputs, attrs, outputs, env: &Quiet })? },
        Cpu::Update(kernel) => {
            outputs[0] = inputs[0].clone();
            // SAFETY: as above; the first operand is in the place of the result.
            unsafe { kernel(&mut Call { inputs: &inputs[1..], attrs, outputs, env: &Quiet })? };
        }
        Cpu::Elementwise(function) => {
            let dtypes: Vec<_> = inputs.iter().map(|t| t.dtype()).collect();
            let f = function
                .kernel(&dtypes, inferred[0].dtype())
                .ok_or_else(|| Error::dtype(format!("there is no loop for {dtypes:?}")))?;
            let shapes: Vec<_> = inputs.iter().map(|t| t.dims()).collect();
            let dims = penstock_kernels::broadcast_dims(&shapes).ok_or_else(|| Error::invalid("shapes"))?;
            let dtype = inferred[0].dtype();
            let out = outputs[0].prepare(dtype, &dims)?;
            let lanes: Vec<_> = inputs.iter().map(|t| (t.as_ptr(), t.dims(), t.dtype().size())).collect();
            // SAFETY: the loop is the operator's for these dtypes; `out` holds `dims` elements of its result's dtype.
            unsafe { penstock_kernels::elementwise(f, &dims, out, dtype.size(), &lanes) }
                .map_err(|_| Error::invalid("division by zero"))?;
        }
    }
    for (k, (out, ty)) in outputs.iter().zip(&inferred).enumerate() {
        assert!(Type::of(out).is_subtype_of(ty), "{}: result {k} is {}, inferred as {ty}", op.name, Type::of(out));
    }
    Ok(())
}

/// Runs an operator.
pub(crate) fn run(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs) -> Result<Vec<Tensor>> {
    let mut outputs = Vec::new();
    run_into(op, inputs, attrs, &mut outputs)?;
    Ok(outputs)
}

/// Runs an operator of one result with named attributes.
pub(crate) fn eval(name: &str, inputs: &[&Tensor], attrs: &[(&str, Attr)]) -> Result<Tensor> {
    let op = op(name);
    run(op, inputs, &op.attributes(attrs)?).map(|mut out| out.remove(0))
}

/// How much of the types of values a rule is told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Sight {
    /// Everything, values too.
    Values,
    /// Exact types.
    Types,
    /// Ranks, but no sizes.
    Ranks,
    /// Dtypes only.
    Nothing,
}

/// Executes what rules emit, and remembers it.
pub(crate) struct Eager {
    pub(crate) values: Vec<Tensor>,
    pub(crate) tape: Vec<Step>,
    pub(crate) sight: Sight,
}

/// One instruction that was executed.
#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) op: &'static OpDef,
    pub(crate) operands: Vec<Value>,
    pub(crate) attrs: Attrs,
    pub(crate) results: Vec<Value>,
}

impl Eager {
    pub(crate) fn new(sight: Sight) -> Eager {
        Eager { values: Vec::new(), tape: Vec::new(), sight }
    }

    pub(crate) fn add(&mut self, tensor: Tensor) -> Value {
        self.values.push(tensor);
        Value::new(self.values.len() - 1)
    }

    pub(crate) fn get(&self, value: Value) -> &Tensor {
        &self.values[value.index()]
    }

    /// The cotangents of `wanted` for the cotangents `seeds` of some values, through all steps so far.
    pub(crate) fn backward(&mut self, seeds: &[(Value, Value)], wanted: &[Value]) -> Result<Vec<Option<Value>>> {
        let mut grads: HashMap<Value, Value> = seeds.iter().copied().collect();
        for step in self.tape.clone().into_iter().rev() {
            let outer: Vec<Option<Value>> = step.results.iter().map(|r| grads.get(r).copied()).collect();
            if outer.iter().all(Option::is_none) {
                continue;
            }
            let needed: Vec<bool> = step.operands.iter().map(|&v| self.get(v).dtype().is_differentiable()).collect();
            for (operand, grad) in step.operands.iter().zip(self.vjp(&step, &outer, &needed)?) {
                let Some(grad) = grad else { continue };
                let sum = match grads.get(operand) {
                    Some(&sofar) => (self as &mut dyn Emitter).emit(op("add"), &[sofar, grad], &[])?,
                    None => grad,
                };
                grads.insert(*operand, sum);
            }
        }
        Ok(wanted.iter().map(|v| grads.get(v).copied()).collect())
    }

    /// The cotangents of a step's operands, by its operator's rule.
    pub(crate) fn vjp(&mut self, step: &Step, grads: &[Option<Value>], needed: &[bool]) -> Result<Vec<Option<Value>>> {
        if !needed.contains(&true) {
            return Ok(vec![None; step.operands.len()]);
        }
        let rule = match step.op.vjp {
            Vjp::Rule(rule) => rule,
            Vjp::Zero => return Ok(vec![None; step.operands.len()]),
            Vjp::NonDifferentiable(reason) => return Err(Error::unimplemented(reason)),
            Vjp::Structural => return Err(Error::unimplemented("structural")),
        };
        let out = rule(&mut VjpCx {
            emit: self,
            ops: &penstock_ops::RULE_OPS,
            attrs: &step.attrs,
            inputs: &step.operands,
            outputs: &step.results,
            grads,
            needed,
        })?;
        assert_eq!(out.len(), step.operands.len(), "{}: a cotangent for each operand", step.op.name);
        for (i, (grad, &operand)) in out.iter().zip(&step.operands).enumerate() {
            let Some(grad) = grad else { continue };
            assert!(needed[i], "{}: operand {i} needs no cotangent", step.op.name);
            let (grad, operand) = (Type::of(self.get(*grad)), Type::of(self.get(operand)));
            assert_eq!(grad, operand, "{}: the type of the cotangent of operand {i}", step.op.name);
        }
        Ok(out.into_vec())
    }
}

impl Emitter for Eager {
    fn emit_attrs(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<SmallVec<[Value; 1]>> {
        let inputs: Vec<&Tensor> = operands.iter().map(|&v| self.get(v)).collect();
        let outputs = run(op, &inputs, &attrs).map_err(|e| e.in_op(op.name))?;
        let results: SmallVec<[Value; 1]> = outputs.into_iter().map(|t| self.add(t)).collect();
        self.tape.push(Step { op, operands: operands.into(), attrs, results: results.to_vec() });
        Ok(results)
    }

    fn constant(&mut self, value: Tensor) -> Result<Value> {
        Ok(self.add(value))
    }

    fn type_of(&self, value: Value) -> Type {
        let exact = Type::of(self.get(value));
        match self.sight {
            Sight::Values | Sight::Types => exact,
            Sight::Ranks => exact.with_shape(Shape::of_rank(self.get(value).rank()).unwrap()),
            Sight::Nothing => exact.with_shape(Shape::UNRANKED),
        }
    }

    fn known(&self, value: Value) -> Option<Tensor> {
        (self.sight == Sight::Values).then(|| self.get(value).clone())
    }
}
