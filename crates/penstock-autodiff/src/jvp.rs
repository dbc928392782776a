//! Forward mode of one instruction: the tangents of its results from those of its operands.
//!
//! No operator has a jvp rule of its own. It follows from the operator itself or from its vjp rule, as [`Jvp`] says, cheapest first: an
//! operator that is linear in some operands is applied to their tangents; the Jacobian of an
//! elementwise operator on real numbers is diagonal, and so is its own transpose; any other rule, a
//! linear map of the cotangents, is recorded and transposed by reverse mode (the "double vjp").

use std::rc::Rc;

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{Attr, Attrs, Cotangents, Emitter, FuncRef, Jvp, OpDef, Type, Value, Vjp};
use penstock_ops::{array, binary, control, host, shape_ops, state};
use smallvec::SmallVec;

use crate::function::{Residual, vjp_function};
use crate::reverse::{Grads, Pass, Path, Step};
use crate::rules;

/// Emits the tangents of an instruction's results; `None` where there is none.
///
/// `tangents` holds, for each operand, its tangent, of the operand's dtype and shape. The instruction
/// has no regions and is no call: those are transformed, not ruled.
///
/// # Errors
/// `NotFound` for an operator without derivative, and whatever the emitter reports.
pub(crate) fn jvp(
    emit: &mut dyn Emitter,
    op: &'static OpDef,
    attrs: &Attrs,
    inputs: &[Value],
    outputs: &[Value],
    tangents: &[Option<Value>],
) -> Result<Cotangents> {
    let none = || Cotangents::from_elem(None, outputs.len());
    match op.vjp {
        Vjp::Zero => return Ok(none()),
        Vjp::NonDifferentiable(reason) => {
            return Err(Error::not_found(format!("has no gradient: {reason}")).in_op(op.name));
        }
        Vjp::Structural if op.is(&state::READ_VARIABLE) => return Ok(tangents.into()),
        Vjp::Structural => return Err(Error::internal("its derivative is not made by a rule").in_op(op.name)),
        Vjp::Rule(_) => {}
    }
    let carries: SmallVec<[bool; 2]> = outputs.iter().map(|&v| rules::carries(&emit.type_of(v))).collect();
    if !carries.contains(&true) || tangents.iter().all(Option::is_none) {
        return Ok(none());
    }
    let complex = inputs.iter().chain(outputs).any(|&v| emit.type_of(v).dtype().is_complex());
    let mut call = Forward { emit, op, attrs, inputs, outputs, tangents };
    let made = match op.jvp {
        Jvp::Linear(operands) => call.linear(operands),
        Jvp::AllLinear => {
            let carrying = |i: &usize| rules::carries(&call.emit.type_of(inputs[*i]));
            let all: SmallVec<[usize; 4]> = (0..inputs.len()).filter(carrying).collect();
            call.linear(&all)
        }
        Jvp::Bilinear => call.bilinear(),
        Jvp::Elementwise if !complex => call.diagonal(),
        Jvp::Elementwise | Jvp::FromVjp => call.transposed(),
        Jvp::Host => call.host(),
    };
    let made = made.map_err(|e| e.in_op(op.name))?;
    Ok(made.into_iter().zip(carries).map(|(t, carries)| t.filter(|_| carries)).collect())
}

struct Forward<'a> {
    emit: &'a mut dyn Emitter,
    op: &'static OpDef,
    attrs: &'a Attrs,
    inputs: &'a [Value],
    outputs: &'a [Value],
    tangents: &'a [Option<Value>],
}

impl Forward<'_> {
    fn apply(&mut self, operands: &[Value]) -> Result<Cotangents> {
        let results = self.emit.emit_attrs(self.op, operands, self.attrs.clone())?;
        Ok(results.into_iter().map(Some).collect())
    }

    /// The operator itself on tangents; an operand of the group that has none counts as zero.
    fn linear(&mut self, group: &[usize]) -> Result<Cotangents> {
        let mut operands: SmallVec<[Value; 4]> = self.inputs.into();
        for &i in group {
            operands[i] = match self.tangents[i] {
                Some(tangent) => tangent,
                None => rules::zeros(self.emit, self.inputs[i])?,
            };
        }
        self.apply(&operands)
    }

    fn bilinear(&mut self) -> Result<Cotangents> {
        let mut sum: Option<Value> = None;
        for i in 0..2 {
            let Some(tangent) = self.tangents[i] else { continue };
            let mut operands: SmallVec<[Value; 4]> = self.inputs.into();
            operands[i] = tangent;
            let term = self.emit.emit_attrs(self.op, &operands, self.attrs.clone())?[0];
            sum = Some(sum.map_or(Ok(term), |sum| rules::add(self.emit, sum, term))?);
        }
        Ok(Cotangents::from_elem(sum, 1))
    }

    /// The vjp rule with a tangent for the cotangent, for one operand at a time.
    fn diagonal(&mut self) -> Result<Cotangents> {
        let mut sum: Option<Value> = None;
        for (i, tangent) in self.tangents.iter().enumerate() {
            let Some(tangent) = *tangent else { continue };
            let mut operands: SmallVec<[Value; 4]> = self.inputs.into();
            // The rule adds up what broadcasting repeats: here every operand has the result's shape.
            operands[i] = self.spread(operands[i])?;
            let tangent = self.spread(tangent)?;
            let mut needed: SmallVec<[bool; 4]> = SmallVec::from_elem(false, operands.len());
            needed[i] = true;
            let found =
                rules::apply(self.emit, self.op, self.attrs, &operands, self.outputs, &[Some(tangent)], &needed)?;
            let Some(term) = found[i] else { continue };
            sum = Some(sum.map_or(Ok(term), |sum| rules::add(self.emit, sum, term))?);
        }
        Ok(Cotangents::from_elem(sum, 1))
    }

    /// A value broadcast to the shape of the result.
    fn spread(&mut self, value: Value) -> Result<Value> {
        let (from, to) = (self.emit.type_of(value), self.emit.type_of(self.outputs[0]));
        if from.shape() == to.shape() && !has_unknown(&from) {
            return Ok(value);
        }
        let shape = match to.shape().extents() {
            Some(dims) => {
                self.emit.constant(Tensor::vector(&dims.iter().map(|&d| d as i64).collect::<SmallVec<[i64; 6]>>()))?
            }
            None => self.emit.emit(&array::SHAPE, &[self.outputs[0]], &[("dtype", DType::I64.into())])?,
        };
        self.emit.emit(&shape_ops::BROADCAST_TO, &[value, shape], &[])
    }

    /// The transpose of the rule: its cotangents are linear in those of the results, whatever these are.
    fn transposed(&mut self) -> Result<Cotangents> {
        let mut seeds: SmallVec<[Option<Value>; 2]> = SmallVec::new();
        for &y in self.outputs {
            // A linear map has the same transpose everywhere. It is taken at ones: a rule that adds logarithms of
            // cotangents has no derivative at zeros.
            let dtype = self.emit.type_of(y).dtype();
            seeds.push(match dtype {
                d if d.is_differentiable() => Some(rules::ones(self.emit, y)?),
                d if d.carries_cotangents() => Some(rules::zeros(self.emit, y)?),
                _ => None,
            });
        }
        let needed: SmallVec<[bool; 4]> = self.tangents.iter().map(Option::is_some).collect();
        let mut recorder = Recorder { emit: self.emit, steps: Vec::new() };
        let cotangents = rules::apply(&mut recorder, self.op, self.attrs, self.inputs, self.outputs, &seeds, &needed)?;
        let steps = std::mem::take(&mut recorder.steps);
        let pairs: Vec<(Value, Value)> =
            cotangents.iter().zip(self.tangents).filter_map(|(c, t)| Some(((*c)?, (*t)?))).collect();
        let targets: Vec<Value> = pairs.iter().map(|p| p.0).collect();
        let sources: Vec<Value> = seeds.iter().flatten().copied().collect();
        let path = Path::new(steps.into_iter(), &targets, &sources)?;
        let pairs = pairs.into_iter().filter(|(target, _)| path.reaches(*target)).collect::<Vec<_>>();
        let mut found = path.run(&mut Transposer(self.emit), pairs)?.into_iter();
        Ok(seeds.iter().map(|seed| seed.and_then(|_| found.next().flatten())).collect())
    }

    /// What [`Jvp::transposed`] comes to, without a call of the derivative itself: it would run for nothing.
    fn host(&mut self) -> Result<Cotangents> {
        let (inputs, tangents) = (self.inputs, self.tangents);
        let smooth: Vec<bool> = self.outputs.iter().map(|&y| rules::carries(&self.emit.type_of(y))).collect();
        let given: Vec<bool> = tangents.iter().map(Option::is_some).collect();
        let count = smooth.iter().filter(|s| **s).count();
        let of_seeds: Vec<bool> = (0..inputs.len() + count).map(|i| i >= inputs.len()).collect();
        let gradient = self.attrs.host(0).derivative(&given, &smooth)?;
        let forward = gradient.derivative(&of_seeds, &vec![true; tangents.iter().flatten().count()])?;
        let (mut operands, mut outs) = (inputs.to_vec(), Vec::new());
        for (&y, _) in self.outputs.iter().zip(&smooth).filter(|(_, s)| **s) {
            operands.push(rules::ones(self.emit, y)?);
            outs.push(self.emit.type_of(y));
        }
        operands.extend(tangents.iter().flatten());
        let named = [("func", forward.into()), ("outs", outs.into()), ("stateful", self.attrs.flag(2).into())];
        let mut found = self.emit.emit_all(&host::HOST_CALL, &operands, &named)?.into_iter();
        Ok(smooth.iter().map(|&smooth| if smooth { found.next() } else { None }).collect())
    }
}

fn has_unknown(ty: &Type) -> bool {
    ty.shape().dims().is_none_or(|dims| dims.contains(&penstock_data::Dim::Unknown))
}

/// An emitter that remembers what it emits.
struct Recorder<'a> {
    emit: &'a mut dyn Emitter,
    steps: Vec<Rc<Applied>>,
}

/// An instruction that a rule emitted.
struct Applied {
    op: &'static OpDef,
    attrs: Attrs,
    inputs: SmallVec<[Value; 3]>,
    outputs: SmallVec<[Value; 1]>,
    /// Which of inputs and outputs carry cotangents.
    carries: SmallVec<[bool; 4]>,
}

impl Step for Rc<Applied> {
    type Key = Value;
    fn inputs(&self) -> impl Iterator<Item = Option<Value>> {
        self.inputs.iter().zip(&self.carries).map(|(v, carries)| carries.then_some(*v))
    }
    fn outputs(&self) -> impl Iterator<Item = Option<Value>> {
        self.outputs.iter().zip(&self.carries[self.inputs.len()..]).map(|(v, carries)| carries.then_some(*v))
    }
}

impl Emitter for Recorder<'_> {
    fn emit_attrs(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<SmallVec<[Value; 1]>> {
        let outputs = self.emit.emit_attrs(op, operands, attrs.clone())?;
        if rules::takes_part(op) {
            let carries = operands.iter().chain(&outputs).map(|&v| rules::carries(&self.emit.type_of(v))).collect();
            self.steps.push(Rc::new(Applied { op, attrs, inputs: operands.into(), outputs: outputs.clone(), carries }));
        }
        Ok(outputs)
    }

    fn constant(&mut self, value: Tensor) -> Result<Value> {
        self.emit.constant(value)
    }

    fn type_of(&self, value: Value) -> Type {
        self.emit.type_of(value)
    }

    fn known(&self, value: Value) -> Option<Tensor> {
        self.emit.known(value)
    }
}

/// Reverse mode over what a rule emitted.
struct Transposer<'a>(&'a mut dyn Emitter);

impl Transposer<'_> {
    /// The derivative of a call: what it needs of the run of the callee is computed anew.
    fn call(&mut self, step: &Applied, grads: &Grads<Value>, needed: &[bool]) -> Result<Grads<Value>> {
        let flowing: Vec<bool> = grads.iter().map(Option::is_some).collect();
        let callee = &step.attrs.func(0).get()?;
        let pair = vjp_function(callee, needed, &flowing)?;
        let Some(backward) = &pair.backward else { return Ok(Grads::from_elem(None, needed.len())) };
        let func = |f: &std::sync::Arc<penstock_ir::Function>| [("func", Attr::Func(FuncRef::called(f)))];
        let kept = if pair.residuals.iter().any(|r| matches!(r, Residual::Output(_))) {
            self.0.emit_all(&control::CALL, &step.inputs, &func(pair.forward(callee)))?
        } else {
            SmallVec::new()
        };
        let mut operands: Vec<Value> = pair
            .residuals
            .iter()
            .map(|r| match *r {
                Residual::Input(i) => step.inputs[i],
                Residual::Output(i) => kept[i],
            })
            .collect();
        operands.extend(grads.iter().flatten());
        let found = self.0.emit_all(&control::CALL, &operands, &func(backward))?;
        Ok(pair.grads.iter().map(|g| g.map(|k| found[k])).collect())
    }
}

impl Pass<Rc<Applied>> for Transposer<'_> {
    type Grad = Value;

    fn differentiate(&mut self, step: &Rc<Applied>, grads: Grads<Value>, needed: &[bool]) -> Result<Grads<Value>> {
        if step.op.is(&control::CALL) {
            return self.call(step, &grads, needed);
        }
        rules::apply(self.0, step.op, &step.attrs, &step.inputs, &step.outputs, &grads, needed)
    }

    fn add(&mut self, a: &Value, b: &Value) -> Result<Value> {
        self.0.emit(&binary::ADD, &[*a, *b], &[])
    }
}

#[cfg(test)]
mod tests {
    use penstock_ir::Cpu;

    use super::*;

    #[test]
    fn a_form_fits_the_operands_of_its_operator() {
        let mut linear = 0;
        for op in penstock_ops::all().filter(|op| matches!(op.vjp, Vjp::Rule(_))) {
            match op.jvp {
                Jvp::Linear(group) => {
                    linear += 1;
                    assert!(group.iter().all(|&i| op.operand(i).is_some()), "{}: {group:?}", op.name);
                }
                Jvp::Bilinear => assert_eq!(op.operands.len(), 2, "{}", op.name),
                Jvp::Elementwise => assert!(matches!(op.cpu, Cpu::Elementwise(_)), "{}", op.name),
                Jvp::AllLinear | Jvp::FromVjp | Jvp::Host => {}
            }
        }
        assert!(linear > 25);
    }
}
