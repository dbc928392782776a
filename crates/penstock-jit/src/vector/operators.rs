//! The operators of real numbers, integers and booleans, in operations of the machine.
//!
//! Each gives what its kernel gives, bit for bit: see `penstock_kernels::{unary, binary, cast, select}`.

use penstock_data::DType;
use penstock_ir::ElementFn;
use penstock_kernels::{Binary, Formula, Level, Unary};
use smallvec::SmallVec;

use super::Instruction;
use super::encode::Code;
use super::select::{Builder, Elem, FromMemory, Id, Logic, Make, Order, Value, What};

impl Builder {
    /// An operator; `None` where it has no operations of its own, or none of this width.
    pub(super) fn apply(&mut self, inst: &Instruction, ins: &[Value]) -> Option<Value> {
        let to = Elem::of(inst.to)?;
        let elem_of = |value: &Value| match *value {
            Value::One(id) | Value::Parts(id, _) => self.elem(id),
        };
        if !self.fits(to) || !ins.iter().all(|value| self.fits(elem_of(value))) {
            return None;
        }
        let ones: Option<SmallVec<[Id; 3]>> =
            ins.iter().map(|value| if let Value::One(id) = value { Some(*id) } else { None }).collect();
        match ones {
            Some(ones) if !inst.to.is_complex() => self.real(inst.function, to, &ones).map(Value::One),
            _ => self.complex(inst.function, to, inst.to.is_complex(), ins),
        }
    }

    fn real(&mut self, function: ElementFn, to: Elem, ins: &[Id]) -> Option<Id> {
        let elem = self.elem(*ins.first()?);
        match (function, ins) {
            (ElementFn::Cast, &[x]) => self.cast(x, to),
            (ElementFn::Select, &[c, x, y]) if to == Elem::Mask => {
                let (chosen, other) = (self.mask_two(Logic::And, c, x), self.mask_not(c));
                let other = self.mask_two(Logic::And, other, y);
                Some(self.mask_two(Logic::Or, chosen, other))
            }
            (ElementFn::Select, &[c, x, y]) => Some(self.blend(c, y, x)),
            (ElementFn::Unary(op), &[x]) if elem == Elem::Mask => (op == Unary::LogicalNot).then(|| self.mask_not(x)),
            (ElementFn::Binary(op), &[x, y]) if elem == Elem::Mask => Some(match op {
                Binary::LogicalAnd => self.mask_two(Logic::And, x, y),
                Binary::LogicalOr => self.mask_two(Logic::Or, x, y),
                Binary::LogicalXor | Binary::NotEqual => self.mask_two(Logic::Xor, x, y),
                Binary::Equal => {
                    let differ = self.mask_two(Logic::Xor, x, y);
                    self.mask_not(differ)
                }
                _ => return None,
            }),
            (function, ins) if elem.is_float() => self.formula(formula_of(function, elem)?, ins),
            (ElementFn::Unary(op), &[x]) => self.integer1(op, x),
            (ElementFn::Binary(op), &[x, y]) => self.integer2(op, x, y),
            _ => None,
        }
    }

    fn integer1(&mut self, op: Unary, x: Id) -> Option<Id> {
        let elem = self.elem(x);
        Some(match op {
            Unary::Neg => {
                let zero = self.integer(elem, 0);
                self.integer2(Binary::Sub, zero, x)?
            }
            Unary::Abs if self.level == Level::V4 || elem == Elem::I32 => {
                let code = Code::new(1, 2, 0x1e + u8::from(elem.is_wide()), elem.is_wide());
                let make = self.one(code, x, elem, self.length(elem));
                self.make(make, elem)
            }
            Unary::Square => self.integer2(Binary::Mul, x, x)?,
            Unary::BitNot => {
                let ones = self.integer(elem, -1);
                self.bits(0xef, x, ones)
            }
            Unary::Relu => {
                let zero = self.integer(elem, 0);
                self.integer2(Binary::Max, x, zero)?
            }
            Unary::Round => x,
            _ => return None,
        })
    }

    fn integer2(&mut self, op: Binary, x: Id, y: Id) -> Option<Id> {
        if let Some(order) = Order::of(op) {
            return Some(self.compare(order, x, y));
        }
        let elem = self.elem(x);
        let (v4, wide) = (self.level == Level::V4, elem.is_wide());
        Some(match op {
            Binary::Add => self.integer_two(1, if wide { 0xd4 } else { 0xfe }, x, y, true),
            Binary::Sub => self.integer_two(1, if wide { 0xfb } else { 0xfa }, x, y, false),
            Binary::Mul if v4 || !wide => self.integer_two(2, 0x40, x, y, true),
            Binary::SquaredDifference => {
                let d = self.integer2(Binary::Sub, x, y)?;
                self.integer2(Binary::Mul, d, d)?
            }
            Binary::Min | Binary::Max if v4 || !wide => {
                self.integer_two(2, if op == Binary::Min { 0x39 } else { 0x3d }, x, y, true)
            }
            Binary::Min | Binary::Max => {
                let order = if op == Binary::Min { Order::Greater } else { Order::Less };
                let second = self.compare(order, x, y);
                self.blend(second, x, y)
            }
            Binary::BitAnd => self.bits(0xdb, x, y),
            Binary::BitOr => self.bits(0xeb, x, y),
            Binary::BitXor => self.bits(0xef, x, y),
            Binary::Shl | Binary::Shr if v4 || !wide || op == Binary::Shl => {
                // Amounts are of no sign for the machine, which knows what the full width and more give.
                let zero = self.integer(elem, 0);
                let by = self.integer2(Binary::Max, y, zero)?;
                let code = Code::new(1, 2, if op == Binary::Shl { 0x47 } else { 0x46 }, wide).with_vex_wide();
                self.two(code, x, by, false)
            }
            _ => return None,
        })
    }

    pub(super) fn cast(&mut self, x: Id, to: Elem) -> Option<Id> {
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
                self.make(Make { memory: FromMemory::Whole, ..make }, to)
            }
            (I64, I32) => {
                let make = self.one(Code::new(2, 2, 0x35, false), x, to, length);
                self.make(Make { memory: FromMemory::Never, reversed: true, ..make }, to)
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

/// The formula of a function on floats.
fn formula_of(function: ElementFn, elem: Elem) -> Option<&'static Formula> {
    function.formula(if elem == Elem::F64 { DType::F64 } else { DType::F32 })
}

/// Whether an operator has operations of its own beside elements of at most `widest` bytes.
pub(super) fn supports(level: Level, widest: usize, inst: &Instruction, from: &[DType]) -> bool {
    let mut builder = Builder::new(level, widest);
    // Every formula can be built: none is, to find out.
    let elems: Option<SmallVec<[Elem; 4]>> =
        from.iter().map(|&d| Elem::of(d).filter(|e| !d.is_complex() && e.is_float())).collect();
    if let Some(&[elem, ..]) = elems.as_deref()
        && !matches!(inst.function, ElementFn::Cast | ElementFn::Binary(Binary::Complex))
    {
        return builder.fits(elem) && Elem::of(inst.to).is_some() && formula_of(inst.function, elem).is_some();
    }
    let operand = |&dtype: &DType| {
        let elem = Elem::of(dtype)?;
        let mut part = || builder.node(What::Const(0), elem);
        Some(if dtype.is_complex() { Value::Parts(part(), part()) } else { Value::One(part()) })
    };
    let ins: Option<SmallVec<[Value; 4]>> = from.iter().map(operand).collect();
    ins.is_some_and(|ins| ins.len() <= 3 && builder.apply(inst, &ins).is_some())
}
