//! The operators of complex numbers, as operations on vectors of real and of imaginary parts.
//!
//! FromMemory has the parts of a number side by side; they are taken apart where they are loaded and joined where they are stored.
//! Each operator gives what its kernel gives, bit for bit: see `penstock_kernels::complex`.

use penstock_ir::ElementFn;
use penstock_kernels::{Binary, Level, Unary};

use super::encode::Code;
use super::select::{Builder, Elem, FromMemory, Id, Logic, Make, Order, Spot, Value, What};

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
        // The pieces of 16 bytes at even places, and those at odd ones; of both what is at even places, and at odd ones.
        let (even, odd) = self.pieces(a, b, Some(0x88), Some(0xdd));
        let (re, im) = if part.is_wide() { (0x00, 0xff) } else { (0x88, 0xdd) };
        let shuffle = Code::float(0xc6, part.is_wide());
        Value::Parts(self.shuffle(shuffle, even, odd, Some(re)), self.shuffle(shuffle, even, odd, Some(im)))
    }

    /// Stores parts in turn.
    pub(super) fn store_parts(&mut self, number: u16, re: Id, im: Id) {
        let part = self.elem(re);
        let wide = part.is_wide();
        let low = self.shuffle(Code::float(0x14, wide), re, im, None);
        let high = self.shuffle(Code::float(0x15, wide), re, im, None);
        let (mut first, mut second) = self.pieces(low, high, Some(0x44), Some(0xee));
        if self.length(part) == 2 {
            // Two pieces of one, then two of the other: those in the middle change places.
            first = self.pieces(first, first, Some(0xd8), None).0;
            second = self.pieces(second, second, Some(0xd8), None).0;
        }
        let spot = self.spot(number, 2 * self.size(part));
        self.node(What::Store(spot, first), part);
        let next = Spot { offset: spot.offset + (self.lanes * self.size(part)) as i32, ..spot };
        self.node(What::Store(next, second), part);
    }

    /// Two vectors of pieces of 16 bytes of `a` and `b`: those that `first` and `second` name where a vector has four, two of `a`
    /// and then two of `b`; where it has two, one of each.
    fn pieces(&mut self, a: Id, b: Id, first: Option<u8>, second: Option<u8>) -> (Id, Id) {
        let four = self.length(self.elem(a)) == 2;
        let (code, halves) = match self.level {
            Level::V4 => (Code::new(1, 3, 0x23, true), [0, 3]),
            _ => (Code::new(1, 3, 0x06, false), [0x20, 0x31]),
        };
        let [first, second] = if four { [first, second] } else { halves.map(Some) };
        let made = self.shuffle(code, a, b, first);
        (made, if second.is_some() { self.shuffle(code, a, b, second) } else { made })
    }

    fn shuffle(&mut self, code: Code, a: Id, b: Id, immediate: Option<u8>) -> Id {
        let elem = self.elem(a);
        let make = self.one(code, b, elem, self.length(elem));
        self.make(Make { a: Some(a), immediate, memory: FromMemory::Whole, ..make }, elem)
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
        self.float_two(0x58, a, b, true)
    }

    fn sub(&mut self, a: Id, b: Id) -> Id {
        self.float_two(0x5c, a, b, false)
    }

    fn mul(&mut self, a: Id, b: Id) -> Id {
        self.float_two(0x59, a, b, true)
    }

    fn div(&mut self, a: Id, b: Id) -> Id {
        self.float_two(0x5e, a, b, false)
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
            if self.level != Level::V4 || self.lanes > 8 {
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
            let great = self.mask_two(Logic::Or, great, other);
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
        let beyond = self.mask_two(Logic::Or, beyond, other);
        Some(self.blend(beyond, norm, infinity))
    }

    fn root_of_squares(&mut self, a: Id, b: Id) -> Id {
        let (a, b) = (self.mul(a, a), self.mul(b, b));
        let sum = self.add(a, b);
        self.sqrt(sum)
    }
}
