//! The operators of complex numbers, as operations on vectors of real and of imaginary parts.
//!
//! Memory has the parts of a number side by side; they are taken apart where they are loaded and joined where they are stored.
//! Each operator gives what its kernel gives, bit for bit: see `penstock_kernels::complex`.

use penstock_ir::ElementFn;
use penstock_kernels::{Binary, Unary};

use super::Machine;
use super::op::{Elem, Op, Order};
use super::select::{Builder, Id, Spot, Value, What};

impl Builder {
    /// The parts of the one element of an operand.
    pub(super) fn splat_parts(&mut self, spot: Spot, part: Elem) -> Value {
        let im = Spot { offset: self.size(part) as i32, ..spot };
        Value::Parts(self.node(What::Splat(spot), part), self.node(What::Splat(im), part))
    }

    /// Takes two vectors of parts in turn apart.
    pub(super) fn load_parts(&mut self, spot: Spot, part: Elem) -> Value {
        let next = Spot { offset: spot.offset + (self.lanes * self.size(part)) as i32, ..spot };
        let (a, b) = (self.node(What::Load(spot), part), self.node(What::Load(next), part));
        let (re, im) = self.apart(a, b);
        Value::Parts(re, im)
    }

    /// What two vectors have at even places, and what they have at odd ones.
    fn apart(&mut self, a: Id, b: Id) -> (Id, Id) {
        if self.machine == Machine::Neon {
            (self.two(Op::Even, a, b), self.two(Op::Odd, a, b))
        } else {
            self.shuffled_apart(a, b)
        }
    }

    /// Stores parts in turn.
    pub(super) fn store_parts(&mut self, number: u16, re: Id, im: Id) {
        let part = self.elem(re);
        let (first, second) = if self.machine == Machine::Neon {
            (self.two(Op::ZipLow, re, im), self.two(Op::ZipHigh, re, im))
        } else {
            self.shuffled_together(re, im)
        };
        let spot = self.spot(number, 2 * self.size(part));
        self.node(What::Store(spot, first), part);
        let next = Spot { offset: spot.offset + (self.lanes * self.size(part)) as i32, ..spot };
        self.node(What::Store(next, second), part);
    }

    /// An operator that takes or gives complex numbers; `part` and `complex` say what it gives.
    pub(super) fn complex(&mut self, function: ElementFn, part: Elem, complex: bool, ins: &[Value]) -> Option<Value> {
        use ElementFn as F;
        use Value::{One, Parts};
        Some(match (function, ins) {
            (F::Unary(Unary::Real), &[Parts(re, _)]) => One(re),
            (F::Unary(Unary::Imag), &[Parts(_, im)]) => One(im),
            (F::Binary(Binary::Complex), &[One(re), One(im)]) => Parts(re, im),
            (F::Unary(Unary::Conj), &[Parts(re, im)]) => Parts(re, self.neg(part, im)),
            (F::Unary(Unary::Neg), &[Parts(re, im)]) => Parts(self.neg(part, re), self.neg(part, im)),
            (F::Unary(Unary::Abs), &[Parts(re, im)]) => One(self.norm(re, im)?),
            (F::Unary(Unary::Square), &[Parts(re, im)]) => self.product((re, im), (re, im)),
            (F::Unary(Unary::Reciprocal), &[Parts(re, im)]) => {
                let (one, zero) = (self.float(part, 1.0), self.float(part, 0.0));
                self.quotient((one, zero), (re, im))?
            }
            (F::Binary(Binary::Add), &[Parts(a, b), Parts(c, d)]) => Parts(self.add(a, c), self.add(b, d)),
            (F::Binary(Binary::Sub), &[Parts(a, b), Parts(c, d)]) => Parts(self.sub(a, c), self.sub(b, d)),
            (F::Binary(Binary::Mul), &[Parts(a, b), Parts(c, d)]) => self.product((a, b), (c, d)),
            (F::Binary(Binary::Div), &[Parts(a, b), Parts(c, d)]) => self.quotient((a, b), (c, d))?,
            (F::Binary(Binary::SquaredDifference), &[Parts(a, b), Parts(c, d)]) => {
                let (re, im) = (self.sub(a, c), self.sub(b, d));
                let (re, im) = (self.mul(re, re), self.mul(im, im));
                Parts(self.add(re, im), self.float(part, 0.0))
            }
            (F::Binary(op @ (Binary::Equal | Binary::NotEqual)), &[Parts(a, b), Parts(c, d)]) => {
                let equal = self.compare(Order::Equal, a, c);
                let equal = self.compare_where(Some(equal), Order::Equal, b, d);
                One(if op == Binary::Equal { equal } else { self.mask_not(equal) })
            }
            (F::Select, &[One(mask), Parts(a, b), Parts(c, d)]) => {
                Parts(self.blend(mask, c, a), self.blend(mask, d, b))
            }
            // Whether it is 0 is asked of both parts.
            (F::Cast, &[Parts(..)]) if part == Elem::Mask => return None,
            (F::Cast, &[Parts(re, _)]) if !complex => One(self.cast(re, part)?),
            (F::Cast, &[Parts(re, im)]) => Parts(self.cast(re, part)?, self.cast(im, part)?),
            (F::Cast, &[One(re)]) => Parts(self.cast(re, part)?, self.float(part, 0.0)),
            _ => return None,
        })
    }

    fn add(&mut self, a: Id, b: Id) -> Id {
        self.two(Op::Add, a, b)
    }

    fn sub(&mut self, a: Id, b: Id) -> Id {
        self.two(Op::Sub, a, b)
    }

    fn mul(&mut self, a: Id, b: Id) -> Id {
        self.two(Op::Mul, a, b)
    }

    fn div(&mut self, a: Id, b: Id) -> Id {
        self.two(Op::Div, a, b)
    }

    fn product(&mut self, (a, b): (Id, Id), (c, d): (Id, Id)) -> Value {
        let (straight, turned) = (self.mul(a, c), self.mul(b, d));
        let re = self.sub(straight, turned);
        let (one, other) = (self.mul(a, d), self.mul(b, c));
        Value::Parts(re, self.add(one, other))
    }

    /// Division by Smith's method.
    fn quotient(&mut self, (a, b): (Id, Id), (c, d): (Id, Id)) -> Option<Value> {
        let part = self.elem(c);
        let (one, zero) = (self.float(part, 1.0), self.float(part, 0.0));
        let (re_size, im_size) = (self.abs(part, c), self.abs(part, d));
        let turned = self.compare(Order::Less, re_size, im_size);
        let (greater, less) = (self.blend(turned, c, d), self.blend(turned, d, c));
        let ratio = self.div(less, greater);
        let scale = self.mul(less, ratio);
        let scale = self.add(greater, scale);
        let scale = self.div(one, scale);
        let (straight, across) = (self.mul(a, ratio), self.mul(b, ratio));
        let (upright, sideways) = (self.add(a, across), self.add(straight, b));
        let re = self.blend(turned, upright, sideways);
        let (upright, sideways) = (self.sub(b, straight), self.sub(across, a));
        let im = self.blend(turned, upright, sideways);
        let nought = self.compare(Order::Equal, c, zero);
        let nought = self.compare_where(Some(nought), Order::Equal, d, zero);
        let (re, im) = (self.mul(re, scale), self.mul(im, scale));
        let (re_beyond, im_beyond) = (self.div(a, re_size), self.div(b, re_size));
        Some(Value::Parts(self.blend(nought, re, re_beyond), self.blend(nought, im, im_beyond)))
    }

    /// The magnitude: of parts of `f64` scaled by powers of two, of those of `f32` by way of `f64`.
    fn norm(&mut self, re: Id, im: Id) -> Option<Id> {
        let part = self.elem(re);
        let (a, b) = (self.abs(part, re), self.abs(part, im));
        let infinity = self.float(part, f32::INFINITY);
        let norm = if part == Elem::F32 {
            // Vectors of the wider elements have to be there.
            if self.machine != Machine::Avx512 || self.lanes > 8 {
                return None;
            }
            let (c, d) = (self.cast(re, Elem::F64)?, self.cast(im, Elem::F64)?);
            let norm = self.root_of_squares(c, d);
            self.cast(norm, Elem::F32)?
        } else {
            let constant = |value: f64, this: &mut Builder| this.constant(Elem::F64, value.to_bits());
            let (one, most, least) = (constant(1.0, self), constant(1e150, self), constant(1e-140, self));
            let up = self.constant(Elem::F64, (1023 + 600) << 52);
            let down = self.constant(Elem::F64, (1023 - 600) << 52);
            let (great, other) = (self.compare(Order::Greater, a, most), self.compare(Order::Greater, b, most));
            let great = self.two(Op::Or, great, other);
            let small = self.compare(Order::Less, a, least);
            let small = self.compare_where(Some(small), Order::Less, b, least);
            let choose = |of_great, of_small, this: &mut Builder| {
                let scale = this.blend(great, one, of_great);
                this.blend(small, scale, of_small)
            };
            let (scale, back) = (choose(down, up, self), choose(up, down, self));
            let (c, d) = (self.mul(a, scale), self.mul(b, scale));
            let root = self.root_of_squares(c, d);
            self.mul(root, back)
        };
        let (beyond, other) = (self.compare(Order::Equal, a, infinity), self.compare(Order::Equal, b, infinity));
        let beyond = self.two(Op::Or, beyond, other);
        Some(self.blend(beyond, norm, infinity))
    }

    fn root_of_squares(&mut self, a: Id, b: Id) -> Id {
        let (a, b) = (self.mul(a, a), self.mul(b, b));
        let sum = self.add(a, b);
        self.sqrt(sum)
    }
}
