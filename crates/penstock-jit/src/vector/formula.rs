//! Formulas of kernels, in operations of the machine.
//!
//! A formula of `f32` may compute in `f64`, of which as many elements may take two vectors: its steps of that width are then made
//! twice, for the first and for the second half of the elements.

use penstock_kernels::Formula;
use penstock_kernels::formula::{Kind, Primitive, Step};
use penstock_kernels::{Level, formula};
use smallvec::SmallVec;

use super::encode::Code;
use super::select::{Builder, Elem, FromMemory, Id, Logic, Make, Order, What};

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

fn elem_of(kind: Kind) -> Elem {
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
                kind => self.is_double(elem_of(kind)),
            });
        }
        let made = [vec![None; steps.len()], vec![None; steps.len()]];
        let mut lowering = Lowering { steps, ins, double, made };
        let last = steps.len() as formula::Id - 1;
        let result = self.lower(&mut lowering, last, 0)?;
        let elem = elem_of(steps.last()?.kind);
        // What other instructions take says what it is.
        Some(if self.elem(result) == elem { result } else { self.bits_as(elem, 0xeb, result, result) })
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
        let elem = elem_of(step.kind);
        let wide = elem.is_wide();
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
        let arithmetic = |float: u8, integers: [u8; 2]| {
            if elem.is_float() { Code::float(float, wide) } else { Code::new(1, 1, integers[usize::from(wide)], wide) }
        };
        Some(match (step.primitive, &ins[..]) {
            (Primitive::Add, &[x, y]) => self.two_as(elem, arithmetic(0x58, [0xfe, 0xd4]), x, y, true),
            (Primitive::Sub, &[x, y]) => self.two_as(elem, arithmetic(0x5c, [0xfa, 0xfb]), x, y, false),
            (Primitive::Mul, &[x, y]) => self.two_as(elem, Code::float(0x59, wide), x, y, true),
            (Primitive::Div, &[x, y]) => self.two_as(elem, Code::float(0x5e, wide), x, y, false),
            (Primitive::Neg, &[x]) => self.neg(elem, x),
            (Primitive::Abs, &[x]) => self.abs(elem, x),
            (Primitive::Copysign, &[x, y]) => self.copysign(elem, x, y),
            (Primitive::Sqrt, &[x]) => self.sqrt_as(elem, x),
            (Primitive::Round, &[x]) => self.round(elem, x, 0),
            (Primitive::Floor, &[x]) => self.round(elem, x, 1),
            (Primitive::Ceil, &[x]) => self.round(elem, x, 2),
            (Primitive::Trunc, &[x]) => self.round(elem, x, 3),
            (Primitive::And, &[x, y]) => self.bits_as(elem, 0xdb, x, y),
            (Primitive::Xor, &[x, y]) => self.bits_as(elem, 0xef, x, y),
            (Primitive::ShiftLeft(by), &[x]) => self.shift(elem, 0x47, x, by),
            (Primitive::ShiftRight(by), &[x]) => self.shift(elem, 0x45, x, by),
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
                self.compare_as(elem_of(l.step(a).kind), None, order, x, y)
            }
            _ => return None,
        })
    }

    /// Shifts by a vector of the same number: the operation that takes a byte has another form.
    fn shift(&mut self, elem: Elem, number: u8, x: Id, by: u8) -> Id {
        let by = self.integer(elem, i64::from(by));
        self.two_as(elem, Code::new(1, 2, number, elem.is_wide()).with_vex_wide(), x, by, false)
    }

    /// A fused multiplication and addition; where a factor or the addend is negated, by an operation that does so itself.
    fn fused(&mut self, l: &mut Lowering<'_>, elem: Elem, of: [formula::Id; 3], half: usize) -> Option<Id> {
        let ([mut a, mut b, mut c], mut number) = (of, 0xa8);
        for factor in [&mut a, &mut b] {
            if let Some(of) = l.negated(*factor) {
                *factor = of;
                // A8 adds to a product, AC to a negated one.
                number ^= 4;
            }
        }
        if let Some(of) = l.negated(c) {
            c = of;
            // AA and AE subtract.
            number ^= 2;
        }
        let (a, b, c) = (self.lower(l, a, half)?, self.lower(l, b, half)?, self.lower(l, c, half)?);
        let make = self.one(Code::new(1, 2, number, elem.is_wide()).with_vex_wide(), b, elem, self.length(elem));
        Some(self.make(Make { a: Some(a), addend: Some(c), ..make }, elem))
    }

    /// The first of two values where a mask is true, else the second.
    fn choose(&mut self, l: &mut Lowering<'_>, elem: Elem, of: [formula::Id; 3], half: usize) -> Option<Id> {
        let [mask, x, y] = of;
        if let (Some((Order::Less, pair)), Primitive::Less) = (l.comparison(mask), l.step(mask).primitive) {
            // The machine's `min` and `max` give the second where either is NaN or both are 0.
            let number = if pair == [x, y] { Some(0x5d) } else { (pair == [y, x]).then_some(0x5f) };
            if let Some(number) = number {
                let (x, y) = (self.lower(l, x, half)?, self.lower(l, y, half)?);
                return Some(self.two_as(elem, Code::float(number, elem.is_wide()), x, y, false));
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
        let elem = elem_of(l.step(a).kind);
        let (a, b) = (self.lower(l, a, half)?, self.lower(l, b, half)?);
        Some(self.compare_as(elem, mask, order, a, b))
    }

    fn logic(&mut self, l: &mut Lowering<'_>, step: Step, half: usize) -> Option<Id> {
        let [a, b, _] = step.ins;
        let logic = match step.primitive {
            Primitive::Not => return self.inverse(l, a, half),
            Primitive::And => {
                // The comparison of floats can have the other mask.
                for (first, second) in [(a, b), (b, a)] {
                    if let Some((order, of)) = l.comparison(second)
                        && l.made[half][second as usize].is_none()
                        && elem_of(l.step(of[0]).kind).is_float()
                    {
                        let mask = self.lower(l, first, half)?;
                        return self.comparison(l, Some(mask), order, of, half);
                    }
                }
                Logic::And
            }
            Primitive::Or => Logic::Or,
            _ => Logic::Xor,
        };
        let (a, b) = (self.lower(l, a, half)?, self.lower(l, b, half)?);
        Some(self.mask_two(logic, a, b))
    }

    /// A float of one size from the other.
    fn convert(&mut self, l: &mut Lowering<'_>, elem: Elem, from: formula::Id, half: usize) -> Option<Id> {
        let narrows = elem == Elem::F32;
        if !self.is_double(Elem::F64) {
            let x = self.lower(l, from, 0)?;
            return Some(self.convert_vector(x, narrows));
        }
        let v4 = self.level == Level::V4;
        if narrows {
            let (low, high) = (self.lower(l, from, 0)?, self.lower(l, from, 1)?);
            let (low, high) = (self.convert_vector(low, true), self.convert_vector(high, true));
            let code = Code::new(1, 3, if v4 { 0x1a } else { 0x18 }, v4);
            let make = self.one(code, high, elem, self.length(elem));
            return Some(self.make(Make { a: Some(low), immediate: Some(1), memory: FromMemory::Never, ..make }, elem));
        }
        let x = self.lower(l, from, 0)?;
        let repeats = matches!(self.nodes[x as usize].what, What::Splat(_) | What::Const(_));
        if half == 0 || repeats {
            return Some(self.convert_vector(x, false));
        }
        let code = Code::new(1, 3, if v4 { 0x1b } else { 0x19 }, v4);
        let make = self.one(code, x, Elem::F32, self.length(Elem::F32));
        let high = self.make(Make { immediate: Some(1), reversed: true, memory: FromMemory::Never, ..make }, Elem::F32);
        Some(self.convert_vector(high, false))
    }

    /// A vector of `f64`, as `f32` in its first half, or the other way.
    fn convert_vector(&mut self, x: Id, narrows: bool) -> Id {
        let (code, elem) =
            if narrows { (Code::float(0x5a, true), Elem::F32) } else { (Code::float(0x5a, false), Elem::F64) };
        let make = self.one(code, x, elem, self.length(Elem::F64));
        self.make(make, elem)
    }
}
