//! From operators to operations of the machine, on as many elements as a vector has.
//!
//! Each operator gives what its kernel gives, bit for bit: see `penstock_kernels::{unary, binary, cast, select}`.

use penstock_data::DType;
use penstock_kernels::Level;
use rustc_hash::FxHashMap;

use super::encode::{Code, Length};
use super::{Instruction, Region, Term};

/// The number of a node.
pub(super) type Id = u32;

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
    pub(super) fn of(dtype: DType) -> Option<Elem> {
        Some(match dtype {
            DType::F32 => Elem::F32,
            DType::F64 => Elem::F64,
            DType::I32 => Elem::I32,
            DType::I64 => Elem::I64,
            DType::Bool => Elem::Mask,
            _ => return None,
        })
    }

    fn is_wide(self) -> bool {
        matches!(self, Elem::F64 | Elem::I64)
    }

    fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64)
    }
}

/// How the last operand of an operation may lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Memory {
    Never,
    /// As many elements as the operation takes.
    Whole,
    /// Those, or one that is repeated.
    Any,
}

/// An operation on vectors or masks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Make {
    pub(super) code: Code,
    pub(super) length: Length,
    pub(super) a: Option<Id>,
    pub(super) b: Id,
    /// Where the result is as of `b`, or 0 or the first operand elsewhere.
    pub(super) mask: Option<Id>,
    pub(super) zeroes: bool,
    pub(super) immediate: Option<u8>,
    pub(super) memory: Memory,
    /// Whether the first two operands may change places.
    pub(super) commutes: bool,
    /// Whether the result is the last operand of the instruction, and `b` the first.
    pub(super) reversed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// Elements of an operand.
    Load(u16),
    /// The one element of an operand.
    Splat(u16),
    /// The bytes of one element.
    Const(u64),
    Make(Make),
    /// Writes a result.
    Store(u16, Id),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) what: What,
    pub(super) elem: Elem,
}

/// A way to compare; those of floats say what they give for NaN.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Whether either is NaN.
    Unordered,
    Ordered,
    /// True of NaN.
    NotLessEqual,
    NotGreaterEqual,
}

impl Order {
    fn named(name: &str) -> Option<Order> {
        Some(match name {
            "equal" => Order::Equal,
            "not_equal" => Order::NotEqual,
            "less" => Order::Less,
            "less_equal" => Order::LessEqual,
            "greater" => Order::Greater,
            "greater_equal" => Order::GreaterEqual,
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
            Order::Unordered => 3,
            Order::Ordered => 7,
            Order::NotLessEqual => 6,
            Order::NotGreaterEqual => 9,
        }
    }

    /// The predicate of a comparison of integers behind EVEX prefixes.
    fn of_integers(self) -> u8 {
        match self {
            Order::Equal | Order::Ordered => 0,
            Order::NotEqual | Order::Unordered => 4,
            Order::Less | Order::NotGreaterEqual => 1,
            Order::LessEqual => 2,
            Order::Greater | Order::NotLessEqual => 6,
            Order::GreaterEqual => 5,
        }
    }
}

/// The nodes of a loop's body.
pub(super) struct Builder {
    pub(super) level: Level,
    /// Elements of a vector.
    pub(super) lanes: usize,
    pub(super) nodes: Vec<Node>,
    constants: FxHashMap<(Elem, u64), Id>,
}

impl Builder {
    /// For elements of at most so many bytes, 4 or 8.
    pub(super) fn new(level: Level, widest: usize) -> Builder {
        let bytes = if level == Level::V4 { 64 } else { 32 };
        Builder { level, lanes: bytes / widest, nodes: Vec::new(), constants: FxHashMap::default() }
    }

    /// The nodes of a region; `None` where it has an operator without operations of its own.
    pub(super) fn region(&mut self, region: &Region) -> Option<()> {
        let mut operands: Vec<Option<Id>> = vec![None; region.operands.len()];
        let mut made: Vec<Id> = Vec::with_capacity(region.insts.len());
        for (number, inst) in region.insts.iter().enumerate() {
            let mut ins = [0; 3];
            for (id, term) in ins.iter_mut().zip(&inst.ins) {
                *id = match *term {
                    Term::Made(k) => made[k as usize],
                    Term::Operand(k) => match operands[k as usize] {
                        Some(id) => id,
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

    fn node(&mut self, what: What, elem: Elem) -> Id {
        self.nodes.push(Node { what, elem });
        self.nodes.len() as Id - 1
    }

    fn elem(&self, id: Id) -> Elem {
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

    /// The length of vectors of as many elements.
    pub(super) fn length(&self, elem: Elem) -> Length {
        match self.lanes * self.size(elem) {
            64 => 2,
            32 => 1,
            _ => 0,
        }
    }

    fn operand(&mut self, k: u16, region: &Region) -> Option<Id> {
        let operand = &region.operands[k as usize];
        let elem = Elem::of(operand.dtype)?;
        let stored = if elem == Elem::Mask { Elem::Byte } else { elem };
        let id = self.node(if operand.fixed { What::Splat(k) } else { What::Load(k) }, stored);
        Some(if elem == Elem::Mask { self.mask_of_bytes(id) } else { id })
    }

    fn store(&mut self, k: u16, value: Id) {
        let elem = self.elem(value);
        let (value, elem) = if elem == Elem::Mask { (self.bytes_of_mask(value), Elem::Byte) } else { (value, elem) };
        self.node(What::Store(k, value), elem);
    }

    fn constant(&mut self, elem: Elem, bits: u64) -> Id {
        if let Some(&id) = self.constants.get(&(elem, bits)) {
            return id;
        }
        let id = self.node(What::Const(bits), elem);
        self.constants.insert((elem, bits), id);
        id
    }

    fn float(&mut self, elem: Elem, value: f32) -> Id {
        let bits = if elem == Elem::F32 { u64::from(value.to_bits()) } else { f64::from(value).to_bits() };
        self.constant(elem, bits)
    }

    fn integer(&mut self, elem: Elem, value: i64) -> Id {
        self.constant(elem, if elem == Elem::I32 { u64::from(value as i32 as u32) } else { value as u64 })
    }

    /// Either kind of number.
    fn number(&mut self, elem: Elem, value: i8) -> Id {
        if elem.is_float() { self.float(elem, f32::from(value)) } else { self.integer(elem, i64::from(value)) }
    }

    fn make(&mut self, make: Make, elem: Elem) -> Id {
        self.node(What::Make(make), elem)
    }

    /// An operation on two operands, which gives elements like theirs.
    fn two(&mut self, code: Code, a: Id, b: Id, commutes: bool) -> Id {
        let elem = self.elem(a);
        let length = self.length(elem);
        let memory = if self.level == Level::V4 { Memory::Any } else { Memory::Whole };
        let make = Make {
            code,
            length,
            a: Some(a),
            b,
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
    fn one(&self, code: Code, b: Id, elem: Elem, length: Length) -> Make {
        let memory = if self.level == Level::V4 { Memory::Any } else { Memory::Whole };
        let memory = if elem == Elem::Mask || self.elem(b) == Elem::Byte { Memory::Never } else { memory };
        Make {
            code,
            length,
            a: None,
            b,
            mask: None,
            zeroes: false,
            immediate: None,
            memory,
            commutes: false,
            reversed: false,
        }
    }

    fn float_two(&mut self, number: u8, a: Id, b: Id, commutes: bool) -> Id {
        self.two(Code::float(number, self.elem(a).is_wide()), a, b, commutes)
    }

    /// An operation on integers whose prefix tells their width.
    fn integer_two(&mut self, map: u8, number: u8, a: Id, b: Id, commutes: bool) -> Id {
        self.two(Code::new(1, map, number, self.elem(a).is_wide()), a, b, commutes)
    }

    fn sqrt(&mut self, x: Id) -> Id {
        let elem = self.elem(x);
        let make = self.one(Code::float(0x51, elem.is_wide()), x, elem, self.length(elem));
        self.make(make, elem)
    }

    /// Rounds: 0 to the nearest, 1 down, 2 up, 3 towards 0; 8 keeps it from raising a flag.
    fn round(&mut self, x: Id, how: u8) -> Id {
        let elem = self.elem(x);
        let code = Code::new(1, 3, 8 + u8::from(elem.is_wide()), elem.is_wide());
        let make = Make { immediate: Some(8 | how), ..self.one(code, x, elem, self.length(elem)) };
        self.make(make, elem)
    }

    /// Bits: 0xdb ands, 0xeb ors, 0xef excludes.
    fn bits(&mut self, number: u8, a: Id, b: Id) -> Id {
        self.integer_two(1, number, a, b, true)
    }

    fn compare(&mut self, order: Order, a: Id, b: Id) -> Id {
        self.compare_where(None, order, a, b)
    }

    /// Compares where a mask is true, and is false elsewhere.
    fn compare_where(&mut self, mask: Option<Id>, order: Order, a: Id, b: Id) -> Id {
        let elem = self.elem(a);
        let wide = elem.is_wide();
        let make = |code, immediate, this: &Builder| Make {
            code,
            length: this.length(elem),
            a: Some(a),
            b,
            mask: if this.level == Level::V4 { mask } else { None },
            zeroes: false,
            immediate,
            memory: if this.level == Level::V4 { Memory::Any } else { Memory::Whole },
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
        // Only `equal` and `greater` are there.
        let equal = if wide { Code::new(1, 2, 0x29, false) } else { Code::new(1, 1, 0x76, false) };
        let greater = if wide { Code::new(1, 2, 0x37, false) } else { Code::new(1, 1, 0x66, false) };
        let (code, swapped, inverted) = match order {
            Order::Equal | Order::Ordered => (equal, false, false),
            Order::NotEqual | Order::Unordered => (equal, false, true),
            Order::Greater | Order::NotLessEqual => (greater, false, false),
            Order::LessEqual => (greater, false, true),
            Order::Less | Order::NotGreaterEqual => (greater, true, false),
            Order::GreaterEqual => (greater, true, true),
        };
        let made = make(code, None, self);
        let made = if swapped { Make { a: Some(b), b: a, ..made } } else { made };
        let made = self.make(made, Elem::Mask);
        if inverted { self.mask_not(made) } else { made }
    }

    /// `b` where the mask is true, else `a`.
    fn blend(&mut self, mask: Id, a: Id, b: Id) -> Id {
        let elem = self.elem(a);
        if self.level == Level::V4 {
            let code = Code::new(1, 2, if elem.is_float() { 0x65 } else { 0x64 }, elem.is_wide());
            let length = self.length(elem);
            let make = Make {
                code,
                length,
                a: Some(a),
                b,
                mask: Some(mask),
                zeroes: false,
                immediate: None,
                memory: Memory::Any,
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
            mask: Some(mask),
            zeroes: false,
            immediate: None,
            memory: Memory::Whole,
            commutes: false,
            reversed: false,
        };
        self.make(make, elem)
    }

    /// `x` where the mask is true, else 0.
    fn keep(&mut self, mask: Id, x: Id) -> Id {
        let elem = self.elem(x);
        if self.level == Level::V4 {
            let code = Code::float(0x10, elem.is_wide());
            let make = self.one(code, x, elem, self.length(elem));
            return self.make(Make { mask: Some(mask), zeroes: true, memory: Memory::Whole, ..make }, elem);
        }
        self.bits(0xdb, x, mask)
    }

    fn mask_two(&mut self, logic: Logic, a: Id, b: Id) -> Id {
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

    fn mask_not(&mut self, mask: Id) -> Id {
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
        let high = self.make(Make { immediate: Some(1), reversed: true, memory: Memory::Never, ..make }, Elem::Byte);
        let pair = |code, a, b, immediate, this: &mut Builder| {
            let make = this.one(code, b, Elem::Byte, 0);
            this.make(Make { a: Some(a), immediate, memory: Memory::Never, ..make }, Elem::Byte)
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

    /// An operator; `None` where it has no operations of its own, or none of this width.
    fn apply(&mut self, inst: &Instruction, ins: &[Id]) -> Option<Id> {
        let to = Elem::of(inst.to)?;
        let elem = self.elem(*ins.first()?);
        // Vectors of AVX2 are whole.
        let fits = |e: Elem, this: &Builder| e == Elem::Mask || this.level == Level::V4 || this.length(e) == 1;
        if !fits(to, self) || !ins.iter().all(|&i| fits(self.elem(i), self)) {
            return None;
        }
        match (inst.name, ins) {
            ("cast", &[x]) => self.cast(x, to),
            ("select", &[c, x, y]) if to == Elem::Mask => {
                let (chosen, other) = (self.mask_two(Logic::And, c, x), self.mask_not(c));
                let other = self.mask_two(Logic::And, other, y);
                Some(self.mask_two(Logic::Or, chosen, other))
            }
            ("select", &[c, x, y]) => Some(self.blend(c, y, x)),
            (name, &[x]) if elem == Elem::Mask => (name == "logical_not").then(|| self.mask_not(x)),
            (name, &[x, y]) if elem == Elem::Mask => Some(match name {
                "logical_and" => self.mask_two(Logic::And, x, y),
                "logical_or" => self.mask_two(Logic::Or, x, y),
                "logical_xor" | "not_equal" => self.mask_two(Logic::Xor, x, y),
                "equal" => {
                    let differ = self.mask_two(Logic::Xor, x, y);
                    self.mask_not(differ)
                }
                _ => return None,
            }),
            (name, &[x]) if elem.is_float() => self.float1(name, x),
            (name, &[x, y]) if elem.is_float() => self.float2(name, x, y),
            (name, &[x]) => self.integer1(name, x),
            (name, &[x, y]) => self.integer2(name, x, y),
            _ => None,
        }
    }

    fn float1(&mut self, name: &str, x: Id) -> Option<Id> {
        let elem = self.elem(x);
        let sign = if elem == Elem::F64 { 1 << 63 } else { 1 << 31 };
        Some(match name {
            "neg" => {
                let sign = self.constant(elem, sign);
                self.bits(0xef, x, sign)
            }
            "abs" => {
                let rest = self.constant(elem, if elem == Elem::F64 { !sign } else { sign - 1 });
                self.bits(0xdb, x, rest)
            }
            "sign" => {
                let (zero, one, minus) = (self.float(elem, 0.0), self.float(elem, 1.0), self.float(elem, -1.0));
                let positive = self.compare(Order::Greater, x, zero);
                let sign = self.blend(positive, minus, one);
                let other = self.compare(Order::NotEqual, x, zero);
                let sign = self.keep(other, sign);
                let nan = self.compare(Order::Unordered, x, x);
                self.blend(nan, sign, x)
            }
            "square" => self.float_two(0x59, x, x, true),
            "sqrt" => self.sqrt(x),
            "rsqrt" => {
                let (one, root) = (self.float(elem, 1.0), self.sqrt(x));
                self.float_two(0x5e, one, root, false)
            }
            "reciprocal" => {
                let one = self.float(elem, 1.0);
                self.float_two(0x5e, one, x, false)
            }
            "relu" | "relu6" => {
                let zero = self.float(elem, 0.0);
                let above = self.compare(Order::NotLessEqual, x, zero);
                let above = self.keep(above, x);
                if name == "relu" {
                    return Some(above);
                }
                let six = self.float(elem, 6.0);
                let more = self.compare(Order::Greater, above, six);
                self.blend(more, above, six)
            }
            "softsign" => {
                let (one, size) = (self.float(elem, 1.0), self.float1("abs", x)?);
                let by = self.float_two(0x58, one, size, true);
                self.float_two(0x5e, x, by, false)
            }
            "round" | "rint" => self.round(x, 0),
            "floor" => self.round(x, 1),
            "ceil" => self.round(x, 2),
            "trunc" => self.round(x, 3),
            "is_nan" => self.compare(Order::Unordered, x, x),
            "is_inf" | "is_finite" => {
                let (size, infinity) = (self.float1("abs", x)?, self.float(elem, f32::INFINITY));
                self.compare(if name == "is_inf" { Order::Equal } else { Order::Less }, size, infinity)
            }
            _ => return None,
        })
    }

    fn float2(&mut self, name: &str, x: Id, y: Id) -> Option<Id> {
        if let Some(order) = Order::named(name) {
            return Some(self.compare(order, x, y));
        }
        Some(match name {
            "add" | "bias_add" => self.float_two(0x58, x, y, true),
            "sub" => self.float_two(0x5c, x, y, false),
            "mul" => self.float_two(0x59, x, y, true),
            "div" => self.float_two(0x5e, x, y, false),
            "squared_difference" => {
                let d = self.float_two(0x5c, x, y, false);
                self.float_two(0x59, d, d, true)
            }
            // The second where it is beyond the first, or NaN; but the first where that is NaN.
            "maximum" | "minimum" => {
                let order = if name == "maximum" { Order::NotGreaterEqual } else { Order::NotLessEqual };
                let beyond = self.compare(order, x, y);
                let second = self.compare_where(Some(beyond), Order::Ordered, x, x);
                self.blend(second, x, y)
            }
            "divide_no_nan" | "multiply_no_nan" | "xdivy" => {
                let made = self.float_two(if name == "multiply_no_nan" { 0x59 } else { 0x5e }, x, y, false);
                let zero = self.float(self.elem(x), 0.0);
                let some = self.compare(Order::NotEqual, if name == "xdivy" { x } else { y }, zero);
                self.keep(some, made)
            }
            _ => return None,
        })
    }

    fn integer1(&mut self, name: &str, x: Id) -> Option<Id> {
        let elem = self.elem(x);
        Some(match name {
            "neg" => {
                let zero = self.integer(elem, 0);
                self.integer2("sub", zero, x)?
            }
            "abs" if self.level == Level::V4 || elem == Elem::I32 => {
                let code = Code::new(1, 2, 0x1e + u8::from(elem.is_wide()), elem.is_wide());
                let make = self.one(code, x, elem, self.length(elem));
                self.make(make, elem)
            }
            "square" => self.integer2("mul", x, x)?,
            "invert" => {
                let ones = self.integer(elem, -1);
                self.bits(0xef, x, ones)
            }
            "relu" => {
                let zero = self.integer(elem, 0);
                self.integer2("maximum", x, zero)?
            }
            "round" => x,
            _ => return None,
        })
    }

    fn integer2(&mut self, name: &str, x: Id, y: Id) -> Option<Id> {
        if let Some(order) = Order::named(name) {
            return Some(self.compare(order, x, y));
        }
        let elem = self.elem(x);
        let (v4, wide) = (self.level == Level::V4, elem.is_wide());
        Some(match name {
            "add" | "bias_add" => self.integer_two(1, if wide { 0xd4 } else { 0xfe }, x, y, true),
            "sub" => self.integer_two(1, if wide { 0xfb } else { 0xfa }, x, y, false),
            "mul" if v4 || !wide => self.integer_two(2, 0x40, x, y, true),
            "squared_difference" => {
                let d = self.integer2("sub", x, y)?;
                self.integer2("mul", d, d)?
            }
            "minimum" | "maximum" if v4 || !wide => {
                self.integer_two(2, if name == "minimum" { 0x39 } else { 0x3d }, x, y, true)
            }
            "minimum" | "maximum" => {
                let order = if name == "minimum" { Order::Greater } else { Order::Less };
                let second = self.compare(order, x, y);
                self.blend(second, x, y)
            }
            "bitwise_and" => self.bits(0xdb, x, y),
            "bitwise_or" => self.bits(0xeb, x, y),
            "bitwise_xor" => self.bits(0xef, x, y),
            "left_shift" | "right_shift" if v4 || !wide || name == "left_shift" => {
                // Amounts are of no sign for the machine, which knows what the full width and more give.
                let zero = self.integer(elem, 0);
                let by = self.integer2("maximum", y, zero)?;
                let code = Code::new(1, 2, if name == "left_shift" { 0x47 } else { 0x46 }, wide).with_vex_wide();
                self.two(code, x, by, false)
            }
            _ => return None,
        })
    }

    fn cast(&mut self, x: Id, to: Elem) -> Option<Id> {
        use Elem::{F32, F64, I32, I64, Mask};
        let from = self.elem(x);
        // How long the longer of the two is.
        let length = self.length(from).max(self.length(to));
        let convert = |prefix, map, number, wide, this: &mut Builder| {
            let make = this.one(Code::new(prefix, map, number, wide), x, to, length);
            this.make(make, to)
        };
        Some(match (from, to) {
            _ if from == to => x,
            (Mask, _) => {
                let one = self.number(to, 1);
                self.keep(x, one)
            }
            (_, Mask) => {
                let zero = self.number(from, 0);
                self.compare(Order::NotEqual, x, zero)
            }
            (F32, F64) => convert(0, 1, 0x5a, false, self),
            (F64, F32) => convert(1, 1, 0x5a, true, self),
            (I32, F32) => convert(0, 1, 0x5b, false, self),
            (I32, F64) => convert(2, 1, 0xe6, false, self),
            (F32, I32) => {
                let whole = convert(2, 1, 0x5b, false, self);
                self.saturated(x, whole)
            }
            // AVX2 has none of the others, and they are of two widths or of integers of 8 bytes.
            _ if self.level != Level::V4 => return None,
            (I64, F32) => convert(0, 1, 0x5b, true, self),
            (I64, F64) => convert(2, 1, 0xe6, true, self),
            (I32, I64) => {
                let make = self.one(Code::new(1, 2, 0x25, false), x, to, length);
                self.make(Make { memory: Memory::Whole, ..make }, to)
            }
            (I64, I32) => {
                let make = self.one(Code::new(2, 2, 0x35, false), x, to, length);
                self.make(Make { memory: Memory::Never, reversed: true, ..make }, to)
            }
            (F64, I32) => {
                let whole = convert(1, 1, 0xe6, true, self);
                self.saturated(x, whole)
            }
            (F32 | F64, I64) => {
                let whole = convert(1, 1, 0x7a, from == F64, self);
                self.saturated(x, whole)
            }
            _ => return None,
        })
    }

    /// What a float converts to, from what the machine makes of it, which is the least integer for what does not fit.
    fn saturated(&mut self, x: Id, whole: Id) -> Id {
        let to = self.elem(whole);
        let (beyond, most) = if to == Elem::I32 { (31, i64::from(i32::MAX)) } else { (63, i64::MAX) };
        let (beyond, most) = (self.float(self.elem(x), 2f32.powi(beyond)), self.integer(to, most));
        let over = self.compare(Order::GreaterEqual, x, beyond);
        let whole = self.blend(over, whole, most);
        let number = self.compare(Order::Ordered, x, x);
        self.keep(number, whole)
    }
}

#[derive(Clone, Copy)]
enum Logic {
    And,
    Or,
    Xor,
}

/// Whether an operator has operations of its own beside elements of at most `widest` bytes.
pub(super) fn supports(level: Level, widest: usize, inst: &Instruction, from: &[DType]) -> bool {
    let mut builder = Builder::new(level, widest);
    let ins: Option<Vec<Id>> =
        from.iter().map(|&d| Elem::of(d).map(|elem| builder.node(What::Const(0), elem))).collect();
    ins.is_some_and(|ins| ins.len() <= 3 && builder.apply(inst, &ins).is_some())
}
