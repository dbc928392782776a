//! Formulas of kernels, in operations of the machine.
//!
//! A formula of `f32` may compute in `f64`, of which as many elements may take two vectors: its steps of that width are then made
//! twice, for the first and for the second half of the elements.

use penstock_kernels::Formula;
use penstock_kernels::formula;
use penstock_kernels::formula::{Kind, Primitive, Step};
use smallvec::SmallVec;

use super::Machine;
use super::op::{Elem, Make, Op, Order, Rounding};
use super::select::{Builder, Id, What};

/// The steps of many vectors of shorter formulas are under way at the same time anyway.
const SHALLOW: usize = 16;

/// A formula while it is built.
struct Lowering<'a> {
    steps: &'a [Step],
    ins: &'a [Id],
    /// The steps whose results take two vectors.
    double: Vec<bool>,
    /// What was made of each step, of those the first and the second half.
    made: [Vec<Option<Id>>; 2],
}

impl Lowering<'_> {
    fn step(&self, id: formula::Id) -> Step {
        self.steps[id as usize]
    }

    /// The comparison that a mask is of, seen through `not`: how, of which steps.
    fn comparison(&self, id: formula::Id) -> Option<(Order, [formula::Id; 2])> {
        let step = self.step(id);
        let [a, b, _] = step.ins;
        let order = match step.primitive {
            Primitive::Less => Order::Less,
            Primitive::LessEqual => Order::LessEqual,
            Primitive::Equal => Order::Equal,
            Primitive::NotEqual => Order::NotEqual,
            Primitive::Greater => Order::Greater,
            Primitive::Not => {
                let (order, of) = self.comparison(a)?;
                return Some((order.inverted()?, of));
            }
            _ => return None,
        };
        Some((order, [a, b]))
    }

    fn constant(&self, id: formula::Id) -> Option<u64> {
        if let Primitive::Constant(bits) = self.step(id).primitive { Some(bits) } else { None }
    }

    /// The operand of a negation.
    fn negated(&self, id: formula::Id) -> Option<formula::Id> {
        let step = self.step(id);
        (step.primitive == Primitive::Neg).then_some(step.ins[0])
    }
}

fn elem_of_kind(kind: Kind) -> Elem {
    match kind {
        Kind::F32 => Elem::F32,
        Kind::F64 => Elem::F64,
        Kind::I32 => Elem::I32,
        Kind::I64 => Elem::I64,
        Kind::Mask => Elem::Mask,
        Kind::Int => unreachable!("only formulas of floats are asked for"),
    }
}

impl Builder {
    /// The value of a formula; `None` where it has the constant of a mask.
    pub(super) fn formula(&mut self, formula: &Formula, ins: &[Id]) -> Option<Id> {
        let steps = &formula.steps[..];
        self.is_deep |= steps.len() > SHALLOW;
        let mut double: Vec<bool> = Vec::with_capacity(steps.len());
        for step in steps {
            double.push(match step.kind {
                Kind::Mask => step.operands().first().is_some_and(|&of| double[of as usize]),
                kind => self.is_double(elem_of_kind(kind)),
            });
        }
        let made = [vec![None; steps.len()], vec![None; steps.len()]];
        let mut lowering = Lowering { steps, ins, double, made };
        let last = steps.len() as formula::Id - 1;
        let result = self.lower(&mut lowering, last, 0)?;
        let elem = elem_of_kind(steps.last()?.kind);
        // What other instructions take says what it is.
        Some(if self.elem(result) == elem { result } else { self.two_as(elem, Op::Or, result, result) })
    }

    /// The value of a step, of the given half of the elements where it takes two vectors.
    fn lower(&mut self, l: &mut Lowering<'_>, id: formula::Id, half: usize) -> Option<Id> {
        let half = if l.double[id as usize] { half } else { 0 };
        if let Some(made) = l.made[half][id as usize] {
            return Some(made);
        }
        let made = self.lower_new(l, l.step(id), half)?;
        l.made[half][id as usize] = Some(made);
        Some(made)
    }

    fn lower_new(&mut self, l: &mut Lowering<'_>, step: Step, half: usize) -> Option<Id> {
        let elem = elem_of_kind(step.kind);
        let [a, b, c] = step.ins;
        match step.primitive {
            Primitive::Operand(k) => return l.ins.get(k as usize).copied(),
            Primitive::Constant(_) if elem == Elem::Mask => return None,
            Primitive::Constant(bits) => return Some(self.constant(elem, bits)),
            Primitive::MulAdd => return self.fused(l, elem, [a, b, c], half),
            Primitive::Select => return self.choose(l, elem, [a, b, c], half),
            Primitive::And | Primitive::Or | Primitive::Xor | Primitive::Not if elem == Elem::Mask => {
                return self.logic(l, step, half);
            }
            Primitive::Convert => return self.convert(l, elem, a, half),
            _ => {}
        }
        let ins: SmallVec<[Id; 3]> =
            step.operands().iter().map(|&id| self.lower(l, id, half)).collect::<Option<_>>()?;
        Some(match (step.primitive, &ins[..]) {
            (Primitive::Add, &[x, y]) => self.two_as(elem, Op::Add, x, y),
            (Primitive::Sub, &[x, y]) => self.two_as(elem, Op::Sub, x, y),
            (Primitive::Mul, &[x, y]) => self.two_as(elem, Op::Mul, x, y),
            (Primitive::Div, &[x, y]) => self.two_as(elem, Op::Div, x, y),
            (Primitive::Neg, &[x]) => self.neg(elem, x),
            (Primitive::Abs, &[x]) => self.abs(elem, x),
            (Primitive::Copysign, &[x, y]) => self.copysign(elem, x, y),
            (Primitive::Sqrt, &[x]) => self.one(Op::Sqrt, elem, x),
            (Primitive::Round, &[x]) => self.round(elem, x, Rounding::Nearest),
            (Primitive::Floor, &[x]) => self.round(elem, x, Rounding::Down),
            (Primitive::Ceil, &[x]) => self.round(elem, x, Rounding::Up),
            (Primitive::Trunc, &[x]) => self.round(elem, x, Rounding::Zero),
            (Primitive::And, &[x, y]) => self.two_as(elem, Op::And, x, y),
            (Primitive::Xor, &[x, y]) => self.two_as(elem, Op::Xor, x, y),
            (Primitive::ShiftLeft(by), &[x]) => self.shift(elem, [Op::ShiftLeftBy(by), Op::ShiftLeft], x, by),
            (Primitive::ShiftRight(by), &[x]) => {
                self.shift(elem, [Op::ShiftRightLogicalBy(by), Op::ShiftRightLogical], x, by)
            }
            // The same register.
            (Primitive::Bits, &[x]) => x,
            (
                Primitive::Less | Primitive::LessEqual | Primitive::Equal | Primitive::NotEqual | Primitive::Greater,
                &[x, y],
            ) => {
                let order = match step.primitive {
                    Primitive::Less => Order::Less,
                    Primitive::LessEqual => Order::LessEqual,
                    Primitive::Equal => Order::Equal,
                    Primitive::NotEqual => Order::NotEqual,
                    _ => Order::Greater,
                };
                self.compare_as(elem_of_kind(l.step(a).kind), None, order, x, y)
            }
            _ => return None,
        })
    }

    /// Shifts by a number, or by a vector of it: on x86 the operation that takes a byte has another form.
    fn shift(&mut self, elem: Elem, [by_number, by_vector]: [Op; 2], x: Id, by: u8) -> Id {
        if self.machine == Machine::Neon {
            return if by > 0 { self.one(by_number, elem, x) } else { x };
        }
        let by = self.integer(elem, i64::from(by));
        self.two_as(elem, by_vector, x, by)
    }

    /// A fused multiplication and addition; where a factor or the addend is negated, by an operation that does so itself.
    fn fused(&mut self, l: &mut Lowering<'_>, elem: Elem, of: [formula::Id; 3], half: usize) -> Option<Id> {
        let ([mut a, mut b, mut c], mut negates_product) = (of, false);
        for factor in [&mut a, &mut b] {
            if let Some(of) = l.negated(*factor) {
                *factor = of;
                negates_product ^= true;
            }
        }
        let negated = l.negated(c);
        c = negated.unwrap_or(c);
        let op = Op::MulAdd { negates_product, negates_addend: negated.is_some() };
        let (a, b, c) = (self.lower(l, a, half)?, self.lower(l, b, half)?, self.lower(l, c, half)?);
        Some(self.make(Make { addend: Some(c), ..Make::two(op, elem, a, b) }, elem))
    }

    /// The first of two values where a mask is true, else the second.
    fn choose(&mut self, l: &mut Lowering<'_>, elem: Elem, of: [formula::Id; 3], half: usize) -> Option<Id> {
        let [mask, x, y] = of;
        if let (Some((Order::Less, pair)), Primitive::Less) = (l.comparison(mask), l.step(mask).primitive) {
            // These give the second where either is NaN or both are 0.
            let op = if pair == [x, y] { Some(Op::Min) } else { (pair == [y, x]).then_some(Op::Max) };
            if let Some(op) = op {
                let (x, y) = (self.lower(l, x, half)?, self.lower(l, y, half)?);
                return Some(self.two_as(elem, op, x, y));
            }
        }
        if l.constant(y) == Some(0) {
            let (x, mask) = (self.lower(l, x, half)?, self.lower(l, mask, half)?);
            return Some(self.keep_as(elem, mask, x));
        }
        if l.constant(x) == Some(0) {
            let (y, mask) = (self.lower(l, y, half)?, self.inverse(l, mask, half)?);
            return Some(self.keep_as(elem, mask, y));
        }
        let (x, y, mask) = (self.lower(l, x, half)?, self.lower(l, y, half)?, self.lower(l, mask, half)?);
        Some(self.blend_as(elem, mask, y, x))
    }

    /// A mask that is true where another is not.
    fn inverse(&mut self, l: &mut Lowering<'_>, mask: formula::Id, half: usize) -> Option<Id> {
        if let Some((order, of)) = l.comparison(mask)
            && let Some(order) = order.inverted()
        {
            return self.comparison(l, None, order, of, half);
        }
        let mask = self.lower(l, mask, half)?;
        Some(self.mask_not(mask))
    }

    fn comparison(
        &mut self,
        l: &mut Lowering<'_>,
        mask: Option<Id>,
        order: Order,
        [a, b]: [formula::Id; 2],
        half: usize,
    ) -> Option<Id> {
        let elem = elem_of_kind(l.step(a).kind);
        let (a, b) = (self.lower(l, a, half)?, self.lower(l, b, half)?);
        Some(self.compare_as(elem, mask, order, a, b))
    }

    fn logic(&mut self, l: &mut Lowering<'_>, step: Step, half: usize) -> Option<Id> {
        let [a, b, _] = step.ins;
        let op = match step.primitive {
            Primitive::Not => return self.inverse(l, a, half),
            Primitive::And => {
                // The comparison of floats can have the other mask.
                for (first, second) in [(a, b), (b, a)] {
                    if let Some((order, of)) = l.comparison(second)
                        && l.made[half][second as usize].is_none()
                        && elem_of_kind(l.step(of[0]).kind).is_float()
                    {
                        let mask = self.lower(l, first, half)?;
                        return self.comparison(l, Some(mask), order, of, half);
                    }
                }
                Op::And
            }
            Primitive::Or => Op::Or,
            _ => Op::Xor,
        };
        let (a, b) = (self.lower(l, a, half)?, self.lower(l, b, half)?);
        Some(self.two(op, a, b))
    }

    /// A float of one size from the other.
    fn convert(&mut self, l: &mut Lowering<'_>, elem: Elem, from: formula::Id, half: usize) -> Option<Id> {
        let narrows = elem == Elem::F32;
        let (wide, single) = (Elem::F64, Elem::F32);
        if !self.is_double(wide) {
            let x = self.lower(l, from, 0)?;
            return Some(self.make(Make::one(Op::Convert, if narrows { wide } else { single }, x), elem));
        }
        if narrows {
            let (low, high) = (self.lower(l, from, 0)?, self.lower(l, from, 1)?);
            if self.machine == Machine::Neon {
                return Some(self.make(Make::two(Op::Narrow, wide, low, high), elem));
            }
            let [low, high] = [low, high].map(|x| self.make(Make::one(Op::Convert, wide, x), single));
            return Some(self.two(Op::JoinHalves, low, high));
        }
        let x = self.lower(l, from, 0)?;
        let repeats = matches!(self.nodes[x as usize].what, What::Splat(_) | What::Const(_));
        if half == 0 || repeats {
            return Some(self.make(Make::one(Op::Convert, single, x), wide));
        }
        if self.machine == Machine::Neon {
            return Some(self.make(Make::one(Op::WidenHigh, single, x), wide));
        }
        let high = self.one(Op::HighHalf, single, x);
        Some(self.make(Make::one(Op::Convert, single, high), wide))
    }
}
