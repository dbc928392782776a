//! What a device runs of a graph, as steps.

use std::sync::Arc;

use penstock_data::{Loc, Result};
use penstock_ir::{Cuda, Inst, InstData, Region, Type, Value};
use penstock_ops::RULE_OPS;
use penstock_ops::fused::{FUSED, NATIVE};
use penstock_ops::linalg::MATMUL;
use penstock_ops::unary::RELU;
use penstock_passes::summed_columns;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::{Lowerer, Values, kind_of};
use crate::device::{Device, Looper, Program};
use crate::placement;
use crate::plan::Kind;
use crate::plan::device::{self, Biased, DeviceStep, Work};
use crate::plan::device_loop::Question;
use crate::plan::frame::Reg;
use crate::plan::horizontal::{self, Runs};
use crate::plan::step::Step;

impl Lowerer<'_> {
    /// What the device does for an instruction, where the values of `more` are there, too: not what it has no code for, and not what is a
    /// few elements of the host, which are worth no copy.
    pub(super) fn device_runs(&self, data: &InstData, more: &FxHashSet<Value>) -> Runs {
        let is_small = |v: &Value| matches!(kind_of(self.graph.ty(*v)), Kind::Inline(..));
        let is_there = data.operands.iter().any(|v| self.there.contains(v) || more.contains(v));
        if matches!(data.op.cuda, Cuda::Kernels) && self.reshaped(data).is_none() {
            let all = data.operands.iter().chain(&data.results).all(is_small);
            return if is_there || !all { Runs::Operator } else { Runs::Not };
        }
        let is_worth_it = !data.operands.is_empty() && (is_there || !data.results.iter().any(is_small));
        // Scalars are the host's, but for those that are made of what is there.
        let is_group = data.op.is(&FUSED) || data.op.is(&NATIVE) && is_there && self.is_straight(data);
        if !is_worth_it || !is_group && !placement::has_code(data.op.0) {
            return Runs::Not;
        }
        let sums = |region: &Region| {
            let insts = &self.graph.regions[*region].insts;
            insts.iter().any(|&i| summed_columns(self.graph, i).is_some())
        };
        if data.regions.iter().any(sums) { Runs::Alone } else { Runs::Program }
    }

    /// Whether a group of scalar instructions is elementwise ones alone.
    fn is_straight(&self, data: &InstData) -> bool {
        let graph = self.graph;
        let is_scalar = |v: &Value| graph.ty(*v).shape().rank() == Some(0);
        let has_code = |&i: &Inst| graph.insts[i].op.0.is_constant() || placement::has_code(graph.insts[i].op.0);
        data.operands.iter().chain(&data.results).all(is_scalar)
            && data.regions.iter().all(|&region| graph.regions[region].insts.iter().all(has_code))
    }

    /// Lowers a product of matrices with the vector that is soon added to it, and ReLU of the sum, where nothing else reads the product, as one
    /// step of a device that does all at once; gives the rest.
    fn biased_product<'i>(&mut self, device: &Arc<dyn Device>, insts: &'i [Inst]) -> Result<Option<&'i [Inst]>> {
        /// How many instructions may come between the two.
        const BETWEEN: usize = 8;
        let graph = self.graph;
        let data = &graph.insts[insts[0]];
        if !data.op.is(&MATMUL) || self.pipelines.uses(data.results[0]) != 1 {
            return Ok(None);
        }
        let (product, ty) = (data.results[0], graph.ty(data.results[0]));
        let reads = |&i: &Inst| graph.insts[i].operands.contains(&product);
        let Some(at) = insts.iter().take(BETWEEN + 2).position(reads) else { return Ok(None) };
        let sum = &graph.insts[insts[at]];
        let relu = self.is_relu_of_sum(sum);
        if !relu && !sum.op.is(RULE_OPS.add) {
            return Ok(None);
        }
        let bias_first = sum.operands[0] != product;
        let bias = sum.operands[usize::from(!bias_first)];
        let columns = ty.shape().dims().and_then(|dims| dims.last()).and_then(|n| n.known());
        let is_vector =
            graph.ty(bias).shape().extents().is_some_and(|dims| matches!(dims[..], [n] if Some(n) == columns));
        if !is_vector
            || !device.has_biased_products(ty.dtype())
            || self.device_runs(data, &FxHashSet::default()) != Runs::Operator
        {
            return Ok(None);
        }
        let rest = if relu {
            device.compile(graph, sum.regions[0]).ok()
        } else {
            let types: SmallVec<[Type; 1]> = sum.results.iter().map(|&v| graph.ty(v).clone()).collect();
            let dtypes = [ty.dtype(), ty.dtype()].into_iter();
            placement::program_of(device, sum.op.0, &sum.attrs, Loc::UNKNOWN, dtypes, &types)
        };
        let Some(rest) = rest else { return Ok(None) };
        self.list(&insts[1..at])?;
        self.origin = (data.op.name, graph.locs[insts[0]]);
        let ins = self.regs(&[data.operands[0], data.operands[1], bias])?;
        let work = Biased { attrs: data.attrs.clone(), relu, rest, bias_first };
        self.device_step(device, Work::Biased(work), &ins, &sum.results.clone());
        Ok(Some(&insts[at + 1..]))
    }

    /// Whether a group is ReLU of the sum of its two operands, and nothing else.
    fn is_relu_of_sum(&self, data: &InstData) -> bool {
        let graph = self.graph;
        if !data.op.is(&FUSED) || data.operands.len() != 2 {
            return false;
        }
        let region = &graph.regions[data.regions[0]];
        let &[sum, relu] = &region.insts[..] else { return false };
        let (sum, relu) = (&graph.insts[sum], &graph.insts[relu]);
        sum.op.is(RULE_OPS.add)
            && relu.op.is(&RELU)
            && sum.operands[..] == region.params[..]
            && relu.operands[..] == sum.results[..]
            && region.results[..] == relu.results[..]
    }

    /// Lowers the first of `insts` as a step of a device, where it runs that, and gives the rest: with the programs that follow and do not
    /// depend on each other.
    pub(super) fn on_device<'i>(&mut self, device: &Arc<dyn Device>, insts: &'i [Inst]) -> Result<Option<&'i [Inst]>> {
        let graph = self.graph;
        let data = &graph.insts[insts[0]];
        if let Some(rest) = self.biased_product(device, insts)? {
            return Ok(Some(rest));
        }
        if self.device_runs(data, &FxHashSet::default()) == Runs::Operator {
            self.origin = (data.op.name, graph.locs[insts[0]]);
            let (ins, outs) = (self.regs(&data.operands)?, data.results.clone());
            self.device_step(device, Work::Operator(data.op.0, data.attrs.clone()), &ins, &outs);
            return Ok(Some(&insts[1..]));
        }
        let found = {
            let runs = |data: &InstData, more: &FxHashSet<Value>| self.device_runs(data, more);
            let (is_there, uses) = (|v| self.there.contains(&v), |v| self.pipelines.uses(v));
            horizontal::find(graph, insts, &runs, &is_there, &uses)
        };
        let Some(found) = found else { return Ok(None) };
        self.list(&found.before)?;
        let (mut parts, mut alone) = (Vec::new(), Vec::new());
        let (mut ins, mut outs): (SmallVec<[Reg; 4]>, SmallVec<[Value; 1]>) = (SmallVec::new(), SmallVec::new());
        for part in found.parts {
            let Some((program, operands, results)) = self.program(device, part) else {
                alone.extend(part.insts());
                continue;
            };
            let variable = part.update.map(|update| self.variable(graph.insts[update].operands[0])).transpose()?;
            parts.push(device::Part { program, ins: operands.len(), outs: results.len(), variable });
            ins.extend(self.regs(&operands)?);
            outs.extend(results);
            if parts.len() == 1 {
                let first = part.insts().next().unwrap_or(insts[0]);
                self.origin = (graph.insts[first].op.name, graph.locs[first]);
            }
        }
        if !parts.is_empty() {
            self.device_step(device, Work::Programs(parts), &ins, &outs);
        }
        // What the device has no code for after all.
        alone.into_iter().try_for_each(|inst| self.one(inst))?;
        self.list(&found.behind)?;
        Ok(Some(&insts[found.taken..]))
    }

    /// The program of a part of a step, its operands and its results, but for a variable's value; `None` where the device has no code for it.
    fn program(&self, device: &Arc<dyn Device>, part: horizontal::Part) -> Option<(Arc<dyn Program>, Values, Values)> {
        let Some(update) = part.update else {
            let inst = part.work?;
            let data = &self.graph.insts[inst];
            let values = |list: &[Value]| Values::from_slice(list);
            let program = if data.op.is(&FUSED) || data.op.is(&NATIVE) {
                device.compile(self.graph, data.regions[0]).ok()
            } else {
                let results: SmallVec<[Type; 1]> = data.results.iter().map(|&v| self.graph.ty(v).clone()).collect();
                let dtypes = data.operands.iter().map(|&v| self.graph.ty(v).dtype());
                placement::program_of(device, data.op.0, &data.attrs, self.graph.locs[inst], dtypes, &results)
            };
            return program.map(|program| (program, values(&data.operands), values(&data.results)));
        };
        let computed = horizontal::with_update(self.graph, part.work, update).ok()?;
        let program = device.compile(&computed.graph, computed.graph.body()).ok()?;
        Some((program, computed.operands, computed.results))
    }

    fn device_step(&mut self, device: &Arc<dyn Device>, work: Work, ins: &[Reg], results: &[Value]) {
        let types = results.iter().map(|&v| self.graph.ty(v).clone()).collect();
        // Where they are few elements, too, they come to the host only when it reads them.
        let outs = results.iter().map(|&v| self.define_as(v, Kind::Any)).collect();
        self.there.extend(results);
        let ins = ins.iter().copied().collect();
        self.push(Step::Device(Box::new(DeviceStep { device: device.clone(), work, ins, outs, types })));
    }

    /// Whether a value surely has so few elements that the host may read them.
    pub(super) fn is_few(&self, value: Value) -> bool {
        let ty = self.graph.ty(value);
        ty.shape().num_elements().is_some_and(|n| n * ty.dtype().size() < placement::WORTH_A_COPY)
    }

    /// Makes room for the step that has the device run a loop, where nothing in it needs the host, and its condition is computed there or an
    /// iteration is little work. All variables are there then.
    pub(super) fn device_loop(&mut self, data: &InstData) -> Option<(u32, Arc<dyn Looper>)> {
        let looper = self.device.filter(|_| self.allows("device_loops"))?.looper()?;
        let graph = self.graph;
        let question = Question {
            graph,
            runs: &|data, more| self.device_runs(data, more),
            is_reshape: &|data| self.reshaped(data).is_some(),
            is_there: &|value| self.there.contains(&value),
            kind: &|value| kind_of(graph.ty(value)),
        };
        if !question.is_for_device(data) {
            return None;
        }
        self.there.extend(data.regions.iter().flat_map(|&region| graph.regions[region].params.iter()));
        self.there.extend(&data.results);
        Some((self.push(Step::Jump(self.here() + 1)), looper))
    }
}
