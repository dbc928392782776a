//! The operators of real numbers, integers and booleans, in operations of the machine.
//!
//! Each gives what its kernel gives, bit for bit: see `penstock_kernels::{unary, binary, cast, select}`.

use penstock_data::DType;
use penstock_kernels::{Formula, Level};
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
            Some(ones) if !inst.to.is_complex() => self.real(inst.name, to, &ones).map(Value::One),
            _ => self.complex(inst.name, to, inst.to.is_complex(), ins),
        }
    }

    fn real(&mut self, name: &str, to: Elem, ins: &[Id]) -> Option<Id> {
        let elem = self.elem(*ins.first()?);
        match (name, ins) {
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
            (name, ins) if elem.is_float() => self.formula(formula_of(name, elem)?, ins),
            (name, &[x]) => self.integer1(name, x),
            (name, &[x, y]) => self.integer2(name, x, y),
            _ => None,
        }
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

/// The formula of an operator on floats.
fn formula_of(name: &str, elem: Elem) -> Option<&'static Formula> {
    penstock_ops::formula(name, if elem == Elem::F64 { DType::F64 } else { DType::F32 })
}

/// Whether an operator has operations of its own beside elements of at most `widest` bytes.
pub(super) fn supports(level: Level, widest: usize, inst: &Instruction, from: &[DType]) -> bool {
    let mut builder = Builder::new(level, widest);
    // Every formula can be built: none is, to find out.
    let elems: Option<SmallVec<[Elem; 4]>> =
        from.iter().map(|&d| Elem::of(d).filter(|e| !d.is_complex() && e.is_float())).collect();
    if let Some(&[elem, ..]) = elems.as_deref()
        && !matches!(inst.name, "cast" | "complex")
    {
        return builder.fits(elem) && Elem::of(inst.to).is_some() && formula_of(inst.name, elem).is_some();
    }
    let operand = |&dtype: &DType| {
        let elem = Elem::of(dtype)?;
        let mut part = || builder.node(What::Const(0), elem);
        Some(if dtype.is_complex() { Value::Parts(part(), part()) } else { Value::One(part()) })
    };
    let ins: Option<SmallVec<[Value; 4]>> = from.iter().map(operand).collect();
    ins.is_some_and(|ins| ins.len() <= 3 && builder.apply(inst, &ins).is_some())
}
