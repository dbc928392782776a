//! What has no rule: the instruction is repeated for each example, by a loop.

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{Attrs, Inst, Region, Type, Value, effects_of, with_lead};
use penstock_ops::{array, binary, compare, control, gather, shape_ops};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Batcher, Outs};

impl Batcher<'_> {
    /// Repeats an instruction for each example and collects the results.
    pub(super) fn repeat(&mut self, inst: Inst) -> Result<()> {
        let source = self.source;
        let results = source.insts[inst].results.to_vec();
        let mapped = self.used(inst).into_iter().filter(|&v| self.is_mapped(v));
        if results.iter().copied().chain(mapped).any(|v| super::is_list(source.ty(v))) {
            return Err(Error::unimplemented("lists that differ between the examples cannot be made one by one"));
        }
        for &result in &results {
            super::check_mapped(source.ty(result))?;
        }
        let known = results.iter().all(|&r| source.ty(r).shape().is_static());
        let zero = self.b.constant(Tensor::scalar(0i64));
        let mut start: Outs = Outs::new();
        if known {
            for &r in &results {
                let ty = source.ty(r);
                let element = self.b.constant(Tensor::zeros(ty.dtype(), &[])?);
                let dims: SmallVec<[i64; 6]> =
                    ty.shape().extents().unwrap_or_default().iter().map(|&d| d as i64).collect();
                let dims = self.ints(&dims);
                let dims = self.leading(dims)?;
                start.push(self.emit(&array::FILL, &[dims, element], &[])?);
            }
        } else {
            start = self.first_results(inst, zero)?;
        }
        for (&r, &buffer) in results.iter().zip(&start) {
            let shape = with_lead(source.ty(r), self.lead).shape().clone();
            self.b.refine(buffer, &shape)?;
        }
        let operands: Vec<Value> = std::iter::once(zero).chain(start).collect();
        let types: Vec<Type> = operands.iter().map(|&v| self.b.graph().ty(v).clone()).collect();

        let test = self.b.begin_region(types.iter().cloned());
        let i = self.b.params(test)[0];
        let more = self.emit(&compare::LESS, &[i, self.count], &[])?;
        self.b.end_region(&[more])?;

        let body = self.b.begin_region(types);
        let made = self.step(inst, body);
        let body = match made.and_then(|results| self.b.end_region(&results)) {
            Ok(region) => region,
            Err(e) => {
                self.b.abandon_region();
                return Err(e);
            }
        };
        let made = self.b.inst(&control::WHILE, &operands, Attrs::EMPTY, &[test, body])?;
        let outs: Outs = self.b.results(made)[1..].into();
        self.note(inst, &outs)
    }

    /// One repetition, in its region: example `i`, whose results are written into the buffers.
    fn step(&mut self, inst: Inst, body: Region) -> Result<Vec<Value>> {
        let params = self.b.params(body);
        let i = params[0];
        let results = self.example(inst, i, false)?;
        let one = self.b.constant(Tensor::scalar(1i64));
        let place = self.ints(&[1, 1]);
        let place = self.emit(&shape_ops::RESHAPE, &[i, place], &[])?;
        let mut next = vec![self.emit(&binary::ADD, &[i, one], &[])?];
        for (&buffer, &result) in params[1..].iter().zip(&results) {
            let row = self.emit(&shape_ops::EXPAND_DIMS, &[result], &[("axis", 0i64.into())])?;
            next.push(self.emit(&gather::TENSOR_SCATTER_UPDATE, &[buffer, place, row], &[])?);
        }
        Ok(next)
    }

    /// The instruction on example `i`. With `or_zeros` an `i` of -1 takes zeros.
    fn example(&mut self, inst: Inst, i: Value, or_zeros: bool) -> Result<Outs> {
        let source = self.source;
        let mut map: FxHashMap<Value, Value> = FxHashMap::default();
        for v in self.used(inst) {
            let new = self.map[&v];
            let one = if self.is_mapped(v) {
                let one = self.emit(&gather::GATHER, &[new, i], &[("drop_negative", or_zeros.into())])?;
                self.b.refine(one, source.ty(v).shape())?;
                one
            } else {
                new
            };
            map.insert(v, one);
        }
        let copy = self.b.copy_inst(source, inst, &mut map)?;
        Ok(self.b.results(copy).into())
    }

    /// The results for the first example, repeated for all: buffers where the sizes are not known.
    fn first_results(&mut self, inst: Inst, zero: Value) -> Result<Outs> {
        if effects_of(self.source, inst).acts() {
            return Err(Error::unimplemented(
                "has effects and results of unknown size, so that it cannot be repeated for each example",
            ));
        }
        // Where there is no example, the shapes are those that zeros give.
        let one = self.b.constant(Tensor::scalar(1i64));
        let last = self.emit(&binary::SUB, &[self.count, one], &[])?;
        let first = self.emit(&binary::MINIMUM, &[last, zero], &[])?;
        debug_assert_eq!(self.b.graph().ty(first).dtype(), DType::I64);
        let results = self.example(inst, first, true)?;
        let mut buffers = Outs::new();
        for result in results {
            let shape = self.extents(result)?;
            let shape = self.leading(shape)?;
            buffers.push(self.emit(&shape_ops::BROADCAST_TO, &[result, shape], &[])?);
        }
        Ok(buffers)
    }
}
