//! Operations of the machine on as many elements as a vector has: the nodes that operators become.

use std::ops::Range;

use penstock_data::DType;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::op::{Elem, Make, Op, Order, Rounding};
use super::{Machine, Region, Term};

/// The number of a node.
pub(super) type Id = u32;

/// What an instruction gives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    One(Id),
    /// The real and the imaginary parts of complex numbers.
    Parts(Id, Id),
}

/// What the elements of a dtype are, or their parts.
pub(super) fn elem_of(dtype: DType) -> Option<Elem> {
    Some(match dtype.real() {
        DType::F32 => Elem::F32,
        DType::F64 => Elem::F64,
        DType::I32 => Elem::I32,
        DType::I64 => Elem::I64,
        DType::Bool => Elem::Mask,
        _ => return None,
    })
}

/// A place among the operands and results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// The operand, or behind those the result.
    pub(super) number: u16,
    /// Bytes from an element to the next.
    pub(super) pitch: u8,
    /// Bytes from where the present element starts.
    pub(super) offset: i32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// As many elements as a vector has.
    Load(Spot),
    /// The one element of an operand, or a part of it.
    Splat(Spot),
    /// The bytes of one element.
    Const(u64),
    Make(Make),
    /// Writes a vector.
    Store(Spot, Id),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) what: What,
    pub(super) elem: Elem,
}

/// The nodes of a loop's body.
pub(super) struct Builder {
    pub(super) machine: Machine,
    /// Elements of a vector.
    pub(super) lanes: usize,
    /// How many vectors an iteration of the loop takes, and which of them is built.
    pub(super) copies: usize,
    copy: usize,
    /// Whether some operation has to wait for many others, so that vectors are best computed side by side.
    pub(super) is_deep: bool,
    pub(super) nodes: Vec<Node>,
    constants: FxHashMap<(Elem, u64), Id>,
    /// What was made, so that nothing is made twice.
    made: FxHashMap<(Make, Elem), Id>,
}

impl Builder {
    /// For elements of at most so many bytes, 4 or 8.
    pub(super) fn new(machine: Machine, widest: usize) -> Builder {
        let (constants, made) = (FxHashMap::default(), FxHashMap::default());
        let lanes = machine.vector() / widest;
        Builder { machine, lanes, copies: 1, copy: 0, is_deep: false, nodes: Vec::new(), constants, made }
    }

    /// Elements that an iteration of the loop takes.
    pub(super) fn stride(&self) -> usize {
        self.lanes * self.copies
    }

    /// The nodes of a region; `None` where it has an operator without operations of its own.
    pub(super) fn region(&mut self, region: &Region) -> Option<()> {
        let mut operands: Vec<Option<Value>> = vec![None; region.operands.len()];
        self.vector_of(region, &mut operands)?;
        if self.is_deep && !region.is_small {
            // More than there are registers for: what is put aside costs less than waiting.
            self.copies = 4;
        }
        let mut starts: SmallVec<[usize; 4]> = smallvec![0];
        for copy in 1..self.copies {
            self.copy = copy;
            starts.push(self.nodes.len());
            let moving = operands.iter_mut().zip(&region.operands).filter(|(_, operand)| !operand.fixed);
            moving.for_each(|(value, _)| *value = None);
            self.vector_of(region, &mut operands)?;
        }
        if self.copies > 1 {
            self.interleave(&starts);
        }
        Some(())
    }

    /// Puts the nodes of several vectors, which start there, in turn, each behind those that it takes.
    fn interleave(&mut self, starts: &[usize]) {
        let nodes = std::mem::take(&mut self.nodes);
        let mut numbers: Vec<Option<Id>> = vec![None; nodes.len()];
        let mut place = |this: &mut Builder, at: usize| {
            let renumber = |id: &mut Id| numbers[*id as usize].map(|number| *id = number);
            let mut node = nodes[at];
            let ready = match &mut node.what {
                What::Make(make) => {
                    let ids = [make.a.as_mut(), Some(&mut make.b), make.addend.as_mut(), make.mask.as_mut()];
                    ids.into_iter().flatten().all(|id| renumber(id).is_some())
                }
                What::Store(_, value) => renumber(value).is_some(),
                _ => true,
            };
            if ready {
                numbers[at] = Some(this.node(node.what, node.elem));
            }
            ready
        };
        let ends = starts[1..].iter().copied().chain([nodes.len()]);
        let mut left: SmallVec<[Range<usize>; 4]> = starts.iter().zip(ends).map(|(&start, end)| start..end).collect();
        // What vectors share is of the first, which waits for nothing.
        while left.iter().any(|range| range.start < range.end) {
            for range in &mut left {
                if range.start < range.end && place(&mut *self, range.start) {
                    range.start += 1;
                }
            }
        }
    }

    /// The place of an element of `pitch` bytes of the present vector.
    pub(super) fn spot(&self, number: u16, pitch: usize) -> Spot {
        Spot { number, pitch: pitch as u8, offset: (self.copy * self.lanes * pitch) as i32 }
    }

    /// The nodes of the present vector; `operands` are those that were read.
    fn vector_of(&mut self, region: &Region, operands: &mut [Option<Value>]) -> Option<()> {
        let mut made: Vec<Value> = Vec::with_capacity(region.insts.len());
        for (number, inst) in region.insts.iter().enumerate() {
            let mut ins = [Value::One(0); 3];
            for (value, term) in ins.iter_mut().zip(&inst.ins) {
                *value = match *term {
                    Term::Made(k) => made[k as usize],
                    Term::Operand(k) => match operands[k as usize] {
                        Some(value) => value,
                        None => *operands[k as usize].insert(self.operand(k, region)?),
                    },
                };
            }
            made.push(self.apply(inst, &ins[..inst.ins.len()])?);
            for (k, _) in region.results.iter().enumerate().filter(|(_, r)| **r as usize == number) {
                self.store((region.operands.len() + k) as u16, made[number]);
            }
        }
        Some(())
    }

    pub(super) fn node(&mut self, what: What, elem: Elem) -> Id {
        self.nodes.push(Node { what, elem });
        self.nodes.len() as Id - 1
    }

    pub(super) fn elem(&self, id: Id) -> Elem {
        self.nodes[id as usize].elem
    }

    /// Bytes of an element in a register or a constant.
    pub(super) fn size(&self, elem: Elem) -> usize {
        match elem {
            Elem::F32 | Elem::I32 => 4,
            Elem::F64 | Elem::I64 => 8,
            Elem::Byte => 1,
            Elem::Mask => self.machine.vector() / self.lanes,
        }
    }

    /// Whether a vector holds these elements, and is whole, as those of all machines but AVX-512 have to be.
    pub(super) fn fits(&self, elem: Elem) -> bool {
        let (bytes, vector) = (self.lanes * self.size(elem), self.machine.vector());
        elem == Elem::Mask || bytes == vector || (self.machine == Machine::Avx512 && bytes < vector)
    }

    /// Whether as many elements take two vectors.
    pub(super) fn is_double(&self, elem: Elem) -> bool {
        self.lanes * self.size(elem) > self.machine.vector()
    }

    fn operand(&mut self, number: u16, region: &Region) -> Option<Value> {
        let operand = &region.operands[number as usize];
        let elem = elem_of(operand.dtype)?;
        let mut spot = self.spot(number, operand.dtype.size());
        if operand.fixed {
            spot.offset = 0;
        }
        if operand.dtype.is_complex() {
            return Some(if operand.fixed { self.splat_parts(spot, elem) } else { self.load_parts(spot, elem) });
        }
        let stored = if elem == Elem::Mask { Elem::Byte } else { elem };
        let id = self.node(if operand.fixed { What::Splat(spot) } else { What::Load(spot) }, stored);
        Some(Value::One(if elem == Elem::Mask { self.mask_of_bytes(id) } else { id }))
    }

    fn store(&mut self, number: u16, value: Value) {
        let value = match value {
            Value::One(value) => value,
            Value::Parts(re, im) => return self.store_parts(number, re, im),
        };
        let elem = self.elem(value);
        let (value, elem) = if elem == Elem::Mask { (self.bytes_of_mask(value), Elem::Byte) } else { (value, elem) };
        let spot = self.spot(number, self.size(elem));
        self.node(What::Store(spot, value), elem);
    }

    pub(super) fn constant(&mut self, elem: Elem, bits: u64) -> Id {
        if let Some(&id) = self.constants.get(&(elem, bits)) {
            return id;
        }
        let id = self.node(What::Const(bits), elem);
        self.constants.insert((elem, bits), id);
        id
    }

    pub(super) fn float(&mut self, elem: Elem, value: f32) -> Id {
        let bits = if elem == Elem::F32 { u64::from(value.to_bits()) } else { f64::from(value).to_bits() };
        self.constant(elem, bits)
    }

    pub(super) fn integer(&mut self, elem: Elem, value: i64) -> Id {
        self.constant(elem, if elem == Elem::I32 { u64::from(value as i32 as u32) } else { value as u64 })
    }

    /// Either kind of number.
    pub(super) fn number(&mut self, elem: Elem, value: i8) -> Id {
        if elem.is_float() { self.float(elem, f32::from(value)) } else { self.integer(elem, i64::from(value)) }
    }

    pub(super) fn make(&mut self, make: Make, elem: Elem) -> Id {
        if let Some(&id) = self.made.get(&(make, elem)) {
            return id;
        }
        let id = self.node(What::Make(make), elem);
        self.made.insert((make, elem), id);
        id
    }

    /// An operation on one operand, which gives elements like it.
    pub(super) fn one(&mut self, op: Op, elem: Elem, x: Id) -> Id {
        self.make(Make::one(op, elem, x), elem)
    }

    /// An operation on two operands, which gives elements like theirs.
    pub(super) fn two(&mut self, op: Op, a: Id, b: Id) -> Id {
        self.two_as(self.elem(a), op, a, b)
    }

    /// An operation on two operands, whose elements are taken for such as it gives.
    pub(super) fn two_as(&mut self, elem: Elem, op: Op, a: Id, b: Id) -> Id {
        self.make(Make::two(op, elem, a, b), elem)
    }

    pub(super) fn sqrt(&mut self, x: Id) -> Id {
        self.one(Op::Sqrt, self.elem(x), x)
    }

    pub(super) fn round(&mut self, elem: Elem, x: Id, how: Rounding) -> Id {
        self.one(Op::Round(how), elem, x)
    }

    /// The bits of a float that are its sign.
    fn sign(&mut self, elem: Elem) -> Id {
        self.constant(elem, if elem.is_wide() { 1 << 63 } else { 1 << 31 })
    }

    pub(super) fn neg(&mut self, elem: Elem, x: Id) -> Id {
        if self.machine == Machine::Neon {
            return self.one(Op::Neg, elem, x);
        }
        let sign = self.sign(elem);
        self.two_as(elem, Op::Xor, x, sign)
    }

    pub(super) fn abs(&mut self, elem: Elem, x: Id) -> Id {
        if self.machine == Machine::Neon {
            return self.one(Op::Abs, elem, x);
        }
        let rest = self.constant(elem, if elem.is_wide() { (1 << 63) - 1 } else { (1 << 31) - 1 });
        self.two_as(elem, Op::And, x, rest)
    }

    /// `x` with the sign of `y`.
    pub(super) fn copysign(&mut self, elem: Elem, x: Id, y: Id) -> Id {
        let (size, sign) = (self.abs(elem, x), self.sign(elem));
        let sign = self.two_as(elem, Op::And, y, sign);
        self.two_as(elem, Op::Or, size, sign)
    }

    pub(super) fn compare(&mut self, order: Order, a: Id, b: Id) -> Id {
        self.compare_where(None, order, a, b)
    }

    /// Compares where a mask is true, and is false elsewhere.
    pub(super) fn compare_where(&mut self, mask: Option<Id>, order: Order, a: Id, b: Id) -> Id {
        self.compare_as(self.elem(a), mask, order, a, b)
    }

    /// Compares what is taken for such elements, where a mask is true, and is false elsewhere.
    pub(super) fn compare_as(&mut self, elem: Elem, mask: Option<Id>, order: Order, a: Id, b: Id) -> Id {
        let make = Make::two(Op::Compare(order), elem, a, b);
        if self.machine == Machine::Avx512 {
            return self.make(Make { mask, ..make }, Elem::Mask);
        }
        let made = if elem.is_float() || self.machine == Machine::Neon {
            self.make(make, Elem::Mask)
        } else {
            self.compare_integers(elem, order, a, b)
        };
        match mask {
            Some(mask) => self.two(Op::And, made, mask),
            None => made,
        }
    }

    /// Compares integers by `equal` and `greater` alone.
    fn compare_integers(&mut self, elem: Elem, order: Order, a: Id, b: Id) -> Id {
        let (order, swapped, inverted) = match order {
            Order::Equal | Order::Ordered => (Order::Equal, false, false),
            Order::NotEqual => (Order::Equal, false, true),
            Order::Greater | Order::NotLessEqual => (Order::Greater, false, false),
            Order::LessEqual => (Order::Greater, false, true),
            Order::Less => (Order::Greater, true, false),
            Order::GreaterEqual | Order::NotLess => (Order::Greater, true, true),
        };
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let made = self.make(Make::two(Op::Compare(order), elem, a, b), Elem::Mask);
        if inverted { self.mask_not(made) } else { made }
    }

    /// `b` where the mask is true, else `a`.
    pub(super) fn blend(&mut self, mask: Id, a: Id, b: Id) -> Id {
        self.blend_as(self.elem(a), mask, a, b)
    }

    pub(super) fn blend_as(&mut self, elem: Elem, mask: Id, a: Id, b: Id) -> Id {
        self.make(Make { mask: Some(mask), ..Make::two(Op::Blend, elem, a, b) }, elem)
    }

    /// `x` where the mask is true, else 0.
    pub(super) fn keep(&mut self, mask: Id, x: Id) -> Id {
        self.keep_as(self.elem(x), mask, x)
    }

    pub(super) fn keep_as(&mut self, elem: Elem, mask: Id, x: Id) -> Id {
        if self.machine == Machine::Avx512 {
            return self.make(Make { mask: Some(mask), ..Make::one(Op::Keep, elem, x) }, elem);
        }
        self.two_as(elem, Op::And, x, mask)
    }

    pub(super) fn mask_not(&mut self, mask: Id) -> Id {
        if self.machine == Machine::Avx2 {
            let ones = self.constant(Elem::Mask, u64::MAX);
            return self.two(Op::Xor, mask, ones);
        }
        self.one(Op::Not, Elem::Mask, mask)
    }

    fn mask_of_bytes(&mut self, bytes: Id) -> Id {
        if self.machine == Machine::Avx512 {
            return self.make(Make::two(Op::MaskOfBytes, Elem::Byte, bytes, bytes), Elem::Mask);
        }
        let made = self.make(Make::one(Op::MaskOfBytes, Elem::Byte, bytes), Elem::Mask);
        // Widened, and compared with 0.
        let elem = if self.size(Elem::Mask) == 8 { Elem::I64 } else { Elem::I32 };
        let zero = self.constant(Elem::Mask, 0);
        self.compare_as(elem, None, Order::Greater, made, zero)
    }

    fn bytes_of_mask(&mut self, mask: Id) -> Id {
        let ones = self.constant(Elem::Byte, 0x0101_0101_0101_0101);
        if self.machine == Machine::Avx512 {
            return self.keep_as(Elem::Byte, mask, ones);
        }
        let bytes = if self.machine == Machine::Neon {
            self.make(Make::one(Op::BytesOfMask, Elem::Mask, mask), Elem::Byte)
        } else {
            self.packed(mask)
        };
        self.two_as(Elem::Byte, Op::And, bytes, ones)
    }
}
