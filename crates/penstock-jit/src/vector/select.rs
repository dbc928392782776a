//! Operations of the machine on as many elements as a vector has: the nodes that operators become.

use std::ops::Range;

use penstock_data::DType;
use penstock_kernels::{Binary, Level};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::encode::{Code, Length};
use super::{Region, Term};

/// The number of a node.
pub(super) type Id = u32;

/// What an instruction gives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    One(Id),
    /// The real and the imaginary parts of complex numbers.
    Parts(Id, Id),
}

/// What the elements of a node are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Elem {
    F32,
    F64,
    I32,
    I64,
    /// Booleans as memory has them.
    Byte,
    /// Booleans as the machine has them: a mask register, or vectors of the widest elements with all bits equal.
    Mask,
}

impl Elem {
    /// Those of a dtype, or their parts.
    pub(super) fn of(dtype: DType) -> Option<Elem> {
        Some(match dtype.real() {
            DType::F32 => Elem::F32,
            DType::F64 => Elem::F64,
            DType::I32 => Elem::I32,
            DType::I64 => Elem::I64,
            DType::Bool => Elem::Mask,
            _ => return None,
        })
    }

    pub(super) fn is_wide(self) -> bool {
        matches!(self, Elem::F64 | Elem::I64)
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64)
    }
}

/// How the last operand of an operation may lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum FromMemory {
    Never,
    /// As many elements as the operation takes.
    Whole,
    /// Those, or one that is repeated.
    Any,
}

/// An operation on vectors or masks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Make {
    pub(super) code: Code,
    pub(super) length: Length,
    pub(super) a: Option<Id>,
    pub(super) b: Id,
    /// What is added to the product of `a` and `b`; the operation's number is then that of its form 213.
    pub(super) addend: Option<Id>,
    /// Where the result is as of `b`, or 0 or the first operand elsewhere.
    pub(super) mask: Option<Id>,
    pub(super) zeroes: bool,
    pub(super) immediate: Option<u8>,
    pub(super) memory: FromMemory,
    /// Whether the first two operands may change places.
    pub(super) commutes: bool,
    /// Whether the result is the last operand of the instruction, and `b` the first.
    pub(super) reversed: bool,
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

/// A way to compare; those of floats say what they give for NaN.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Whether neither is NaN.
    Ordered,
    /// True of NaN.
    NotLess,
    NotLessEqual,
}

impl Order {
    pub(super) fn of(op: Binary) -> Option<Order> {
        Some(match op {
            Binary::Equal => Order::Equal,
            Binary::NotEqual => Order::NotEqual,
            Binary::Less => Order::Less,
            Binary::LessEqual => Order::LessEqual,
            Binary::Greater => Order::Greater,
            Binary::GreaterEqual => Order::GreaterEqual,
            _ => return None,
        })
    }

    /// True where it is false, of NaN too.
    pub(super) fn inverted(self) -> Option<Order> {
        Some(match self {
            Order::Equal => Order::NotEqual,
            Order::NotEqual => Order::Equal,
            Order::Less => Order::NotLess,
            Order::LessEqual => Order::NotLessEqual,
            Order::NotLess => Order::Less,
            Order::NotLessEqual => Order::LessEqual,
            _ => return None,
        })
    }

    /// The predicate of a comparison of floats.
    fn of_floats(self) -> u8 {
        match self {
            Order::Equal => 0,
            Order::NotEqual => 4,
            Order::Less => 1,
            Order::LessEqual => 2,
            Order::Greater => 0xe,
            Order::GreaterEqual => 0xd,
            Order::Ordered => 7,
            Order::NotLess => 5,
            Order::NotLessEqual => 6,
        }
    }

    /// The predicate of a comparison of integers behind EVEX prefixes.
    fn of_integers(self) -> u8 {
        match self {
            Order::Equal | Order::Ordered => 0,
            Order::NotEqual => 4,
            Order::Less => 1,
            Order::LessEqual => 2,
            Order::Greater | Order::NotLessEqual => 6,
            Order::GreaterEqual | Order::NotLess => 5,
        }
    }
}

/// The nodes of a loop's body.
pub(super) struct Builder {
    pub(super) level: Level,
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
    pub(super) fn new(level: Level, widest: usize) -> Builder {
        let bytes = if level == Level::V4 { 64 } else { 32 };
        let (constants, made) = (FxHashMap::default(), FxHashMap::default());
        let lanes = bytes / widest;
        Builder { level, lanes, copies: 1, copy: 0, is_deep: false, nodes: Vec::new(), constants, made }
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
            // The registers bound how many.
            self.copies = if self.level == Level::V4 { 4 } else { 2 };
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
            Elem::Mask => 32 / self.lanes,
        }
    }

    /// Bytes of a whole vector.
    fn vector(&self) -> usize {
        if self.level == Level::V4 { 64 } else { 32 }
    }

    /// The length of vectors of as many elements; of those that take two vectors, that of each.
    pub(super) fn length(&self, elem: Elem) -> Length {
        match (self.lanes * self.size(elem)).min(self.vector()) {
            64 => 2,
            32 => 1,
            _ => 0,
        }
    }

    /// Whether a vector holds these elements, and is whole, as those of AVX2 have to be.
    pub(super) fn fits(&self, elem: Elem) -> bool {
        let bytes = self.lanes * self.size(elem);
        elem == Elem::Mask || bytes == self.vector() || (self.level == Level::V4 && bytes < self.vector())
    }

    /// Whether as many elements take two vectors.
    pub(super) fn is_double(&self, elem: Elem) -> bool {
        self.lanes * self.size(elem) > self.vector()
    }

    fn operand(&mut self, number: u16, region: &Region) -> Option<Value> {
        let operand = &region.operands[number as usize];
        let elem = Elem::of(operand.dtype)?;
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

    /// An operation on two operands, which gives elements like theirs.
    pub(super) fn two(&mut self, code: Code, a: Id, b: Id, commutes: bool) -> Id {
        self.two_as(self.elem(a), code, a, b, commutes)
    }

    /// An operation on two operands, whose elements are taken for such as it gives.
    pub(super) fn two_as(&mut self, elem: Elem, code: Code, a: Id, b: Id, commutes: bool) -> Id {
        let length = self.length(elem);
        let memory = if self.level == Level::V4 { FromMemory::Any } else { FromMemory::Whole };
        let make = Make {
            code,
            length,
            a: Some(a),
            b,
            addend: None,
            mask: None,
            zeroes: false,
            immediate: None,
            memory,
            commutes,
            reversed: false,
        };
        self.make(make, elem)
    }

    /// An operation on one operand.
    pub(super) fn one(&self, code: Code, b: Id, elem: Elem, length: Length) -> Make {
        let memory = if self.level == Level::V4 { FromMemory::Any } else { FromMemory::Whole };
        let memory = if elem == Elem::Mask || self.elem(b) == Elem::Byte { FromMemory::Never } else { memory };
        Make {
            code,
            length,
            a: None,
            b,
            addend: None,
            mask: None,
            zeroes: false,
            immediate: None,
            memory,
            commutes: false,
            reversed: false,
        }
    }

    pub(super) fn float_two(&mut self, number: u8, a: Id, b: Id, commutes: bool) -> Id {
        self.two(Code::float(number, self.elem(a).is_wide()), a, b, commutes)
    }

    /// An operation on integers whose prefix tells their width.
    pub(super) fn integer_two(&mut self, map: u8, number: u8, a: Id, b: Id, commutes: bool) -> Id {
        self.two(Code::new(1, map, number, self.elem(a).is_wide()), a, b, commutes)
    }

    pub(super) fn sqrt(&mut self, x: Id) -> Id {
        self.sqrt_as(self.elem(x), x)
    }

    pub(super) fn sqrt_as(&mut self, elem: Elem, x: Id) -> Id {
        let make = self.one(Code::float(0x51, elem.is_wide()), x, elem, self.length(elem));
        self.make(make, elem)
    }

    /// Rounds: 0 to the nearest, 1 down, 2 up, 3 towards 0; 8 keeps it from raising a flag.
    pub(super) fn round(&mut self, elem: Elem, x: Id, how: u8) -> Id {
        let code = Code::new(1, 3, 8 + u8::from(elem.is_wide()), elem.is_wide());
        let make = Make { immediate: Some(8 | how), ..self.one(code, x, elem, self.length(elem)) };
        self.make(make, elem)
    }

    /// Bits: 0xdb ands, 0xeb ors, 0xef excludes.
    pub(super) fn bits(&mut self, number: u8, a: Id, b: Id) -> Id {
        self.bits_as(self.elem(a), number, a, b)
    }

    pub(super) fn bits_as(&mut self, elem: Elem, number: u8, a: Id, b: Id) -> Id {
        self.two_as(elem, Code::new(1, 1, number, elem.is_wide()), a, b, true)
    }

    /// The bits of a float that are its sign.
    fn sign(&mut self, elem: Elem) -> Id {
        self.constant(elem, if elem.is_wide() { 1 << 63 } else { 1 << 31 })
    }

    pub(super) fn neg(&mut self, elem: Elem, x: Id) -> Id {
        let sign = self.sign(elem);
        self.bits_as(elem, 0xef, x, sign)
    }

    pub(super) fn abs(&mut self, elem: Elem, x: Id) -> Id {
        let rest = self.constant(elem, if elem.is_wide() { (1 << 63) - 1 } else { (1 << 31) - 1 });
        self.bits_as(elem, 0xdb, x, rest)
    }

    /// `x` with the sign of `y`.
    pub(super) fn copysign(&mut self, elem: Elem, x: Id, y: Id) -> Id {
        let (size, sign) = (self.abs(elem, x), self.sign(elem));
        let sign = self.bits_as(elem, 0xdb, y, sign);
        self.bits_as(elem, 0xeb, size, sign)
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
        let wide = elem.is_wide();
        let make = |code, immediate, this: &Builder| Make {
            code,
            length: this.length(elem),
            a: Some(a),
            b,
            addend: None,
            mask: if this.level == Level::V4 { mask } else { None },
            zeroes: false,
            immediate,
            memory: if this.level == Level::V4 { FromMemory::Any } else { FromMemory::Whole },
            commutes: matches!(order, Order::Equal | Order::NotEqual),
            reversed: false,
        };
        if elem.is_float() {
            let made = self.make(make(Code::float(0xc2, wide), Some(order.of_floats()), self), Elem::Mask);
            return match mask {
                Some(mask) if self.level != Level::V4 => self.mask_two(Logic::And, made, mask),
                _ => made,
            };
        }
        if self.level == Level::V4 {
            return self.make(make(Code::new(1, 3, 0x1f, wide), Some(order.of_integers()), self), Elem::Mask);
        }
        debug_assert!(mask.is_none(), "integers are compared everywhere");
        // Only `equal` and `greater` are there.
        let equal = if wide { Code::new(1, 2, 0x29, false) } else { Code::new(1, 1, 0x76, false) };
        let greater = if wide { Code::new(1, 2, 0x37, false) } else { Code::new(1, 1, 0x66, false) };
        let (code, swapped, inverted) = match order {
            Order::Equal | Order::Ordered => (equal, false, false),
            Order::NotEqual => (equal, false, true),
            Order::Greater | Order::NotLessEqual => (greater, false, false),
            Order::LessEqual => (greater, false, true),
            Order::Less => (greater, true, false),
            Order::GreaterEqual | Order::NotLess => (greater, true, true),
        };
        let made = make(code, None, self);
        let made = if swapped { Make { a: Some(b), b: a, ..made } } else { made };
        let made = self.make(made, Elem::Mask);
        if inverted { self.mask_not(made) } else { made }
    }

    /// `b` where the mask is true, else `a`.
    pub(super) fn blend(&mut self, mask: Id, a: Id, b: Id) -> Id {
        self.blend_as(self.elem(a), mask, a, b)
    }

    pub(super) fn blend_as(&mut self, elem: Elem, mask: Id, a: Id, b: Id) -> Id {
        if self.level == Level::V4 {
            let code = Code::new(1, 2, if elem.is_float() { 0x65 } else { 0x64 }, elem.is_wide());
            let length = self.length(elem);
            let make = Make {
                code,
                length,
                a: Some(a),
                b,
                addend: None,
                mask: Some(mask),
                zeroes: false,
                immediate: None,
                memory: FromMemory::Any,
                commutes: false,
                reversed: false,
            };
            return self.make(make, elem);
        }
        let code = Code::new(1, 3, 0x4a + u8::from(self.size(elem) == 8), false);
        let make = Make {
            code,
            length: self.length(elem),
            a: Some(a),
            b,
            addend: None,
            mask: Some(mask),
            zeroes: false,
            immediate: None,
            memory: FromMemory::Whole,
            commutes: false,
            reversed: false,
        };
        self.make(make, elem)
    }

    /// `x` where the mask is true, else 0.
    pub(super) fn keep(&mut self, mask: Id, x: Id) -> Id {
        self.keep_as(self.elem(x), mask, x)
    }

    pub(super) fn keep_as(&mut self, elem: Elem, mask: Id, x: Id) -> Id {
        if self.level == Level::V4 {
            let code = Code::float(0x10, elem.is_wide());
            let make = self.one(code, x, elem, self.length(elem));
            return self.make(Make { mask: Some(mask), zeroes: true, memory: FromMemory::Whole, ..make }, elem);
        }
        self.bits_as(elem, 0xdb, x, mask)
    }

    pub(super) fn mask_two(&mut self, logic: Logic, a: Id, b: Id) -> Id {
        if self.level != Level::V4 {
            let number = match logic {
                Logic::And => 0xdb,
                Logic::Or => 0xeb,
                Logic::Xor => 0xef,
            };
            return self.two(Code::new(1, 1, number, false), a, b, true);
        }
        let number = match logic {
            Logic::And => 0x41,
            Logic::Or => 0x45,
            Logic::Xor => 0x47,
        };
        let make = self.one(Code::new(0, 1, number, false), b, Elem::Mask, 1);
        self.make(Make { a: Some(a), commutes: true, ..make }, Elem::Mask)
    }

    pub(super) fn mask_not(&mut self, mask: Id) -> Id {
        if self.level != Level::V4 {
            let ones = self.constant(Elem::Mask, u64::MAX);
            return self.mask_two(Logic::Xor, mask, ones);
        }
        let make = self.one(Code::new(0, 1, 0x44, false), mask, Elem::Mask, 0);
        self.make(make, Elem::Mask)
    }

    fn mask_of_bytes(&mut self, bytes: Id) -> Id {
        if self.level == Level::V4 {
            let make = self.one(Code::new(1, 2, 0x26, false), bytes, Elem::Mask, 0);
            return self.make(Make { a: Some(bytes), ..make }, Elem::Mask);
        }
        // Widened, and compared with 0.
        let wide = self.size(Elem::Mask) == 8;
        let make = self.one(Code::new(1, 2, if wide { 0x32 } else { 0x31 }, false), bytes, Elem::Mask, 1);
        let widened = self.make(make, Elem::Mask);
        let zero = self.constant(Elem::Mask, 0);
        let code = if wide { Code::new(1, 2, 0x37, false) } else { Code::new(1, 1, 0x66, false) };
        self.two(code, widened, zero, false)
    }

    fn bytes_of_mask(&mut self, mask: Id) -> Id {
        let ones = self.constant(Elem::Byte, 0x0101_0101_0101_0101);
        if self.level == Level::V4 {
            let make = self.one(Code::new(3, 1, 0x6f, false), ones, Elem::Byte, 0);
            return self.make(Make { mask: Some(mask), zeroes: true, ..make }, Elem::Byte);
        }
        let make = self.one(Code::new(1, 3, 0x39, false), mask, Elem::Byte, 1);
        let high =
            self.make(Make { immediate: Some(1), reversed: true, memory: FromMemory::Never, ..make }, Elem::Byte);
        let pair = |code, a, b, immediate, this: &mut Builder| {
            let make = this.one(code, b, Elem::Byte, 0);
            this.make(Make { a: Some(a), immediate, memory: FromMemory::Never, ..make }, Elem::Byte)
        };
        let dwords_to_words = Code::new(1, 1, 0x6b, false);
        let words = if self.size(Elem::Mask) == 8 {
            let dwords = pair(Code::new(0, 1, 0xc6, false), mask, high, Some(0x88), self);
            pair(dwords_to_words, dwords, dwords, None, self)
        } else {
            pair(dwords_to_words, mask, high, None, self)
        };
        let bytes = pair(Code::new(1, 1, 0x63, false), words, words, None, self);
        pair(Code::new(1, 1, 0xdb, false), bytes, ones, None, self)
    }
}

#[derive(Clone, Copy)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
}
