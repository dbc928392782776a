//! The rule of an operator, applied to an instruction.

use penstock_data::Result;
use penstock_ir::{Batch, BatchCx, BatchRule, Example, Inst, Type};
use smallvec::SmallVec;

use super::{Batcher, Outs};

impl Batcher<'_> {
    /// Batches an instruction some operand of which is mapped, or which draws random numbers; `None` stands for "by a loop".
    pub(super) fn rule(&mut self, inst: Inst) -> Result<Option<Outs>> {
        let data = &self.source.insts[inst];
        let made = match data.op.batch {
            Batch::Broadcast => self.apply(inst, broadcast)?,
            Batch::Rule(rule) => self.apply(inst, rule)?,
            Batch::Same(rule) => {
                let Some(outs) = self.apply(inst, rule)? else { return Ok(None) };
                for (&value, &out) in data.results.iter().zip(&outs) {
                    self.set(value, out, false)?;
                }
                Some(Outs::new())
            }
            Batch::Loop(_) | Batch::Structural => None,
        };
        Ok(made)
    }

    fn apply(&mut self, inst: Inst, rule: BatchRule) -> Result<Option<Outs>> {
        let data = &self.source.insts[inst];
        let inputs: SmallVec<[Example; 4]> = data.operands.iter().map(|&v| self.became(v)).collect();
        let results: SmallVec<[Type; 2]> = data.results.iter().map(|&v| self.source.ty(v).clone()).collect();
        let (op, attrs) = (data.op.0, &data.attrs);
        rule(&mut BatchCx { examples: self.examples(), op, attrs, inputs: &inputs, results: &results })
    }
}

/// An operator whose operands broadcast.
fn broadcast(cx: &mut BatchCx<'_>) -> Result<Option<Outs>> {
    // One operand needs no alignment.
    if cx.inputs.len() == 1 {
        return cx.again(&cx.values(), cx.attrs.clone());
    }
    let Some(rank) = cx.inputs.iter().map(Example::rank).try_fold(0, |most, rank| Some(rank?.max(most))) else {
        return Ok(None);
    };
    let mut operands: SmallVec<[_; 4]> = SmallVec::new();
    for i in 0..cx.inputs.len() {
        let Some(operand) = cx.aligned(i, rank)? else { return Ok(None) };
        operands.push(operand);
    }
    cx.again(&operands, cx.attrs.clone())
}
