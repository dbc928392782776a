//! The operators of real numbers, integers and booleans, in operations of the machine.
//!
//! Each gives what its kernel gives, bit for bit: see `penstock_kernels::{unary, binary, cast, select}`.

use penstock_data::DType;
use penstock_ir::ElementFn;
use penstock_kernels::{Binary, Formula, Unary};
use smallvec::SmallVec;

use super::op::{Elem, Make, Op, Order};
use super::select::{Builder, Id, Value, What, elem_of};
use super::{Instruction, Machine};

impl Builder {
    /// An operator; `None` where it has no operations of its own, or none of this width.
    pub(super) fn apply(&mut self, inst: &Instruction, ins: &[Value]) -> Option<Value> {
        let to = elem_of(inst.to)?;
        let elem = |value: &Value| match *value {
            Value::One(id) | Value::Parts(id, _) => self.elem(id),
        };
        if !self.fits(to) || !ins.iter().all(|value| self.fits(elem(value))) {
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
                let (chosen, other) = (self.two(Op::And, c, x), self.mask_not(c));
                let other = self.two(Op::And, other, y);
                Some(self.two(Op::Or, chosen, other))
            }
            (ElementFn::Select, &[c, x, y]) => Some(self.blend(c, y, x)),
            (ElementFn::Unary(op), &[x]) if elem == Elem::Mask => (op == Unary::LogicalNot).then(|| self.mask_not(x)),
            (ElementFn::Binary(op), &[x, y]) if elem == Elem::Mask => Some(match op {
                Binary::LogicalAnd => self.two(Op::And, x, y),
                Binary::LogicalOr => self.two(Op::Or, x, y),
                Binary::LogicalXor | Binary::NotEqual => self.two(Op::Xor, x, y),
                Binary::Equal => {
                    let differ = self.two(Op::Xor, x, y);
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
            Unary::Abs if self.machine != Machine::Avx2 || elem == Elem::I32 => self.one(Op::Abs, elem, x),
            Unary::Square => self.integer2(Binary::Mul, x, x)?,
            Unary::BitNot => {
                let ones = self.integer(elem, -1);
                self.two(Op::Xor, x, ones)
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
        // Some operations on integers of 8 bytes are of AVX-512 alone.
        let all = self.machine == Machine::Avx512 || !elem.is_wide();
        Some(match op {
            Binary::Add => self.two(Op::Add, x, y),
            Binary::Sub => self.two(Op::Sub, x, y),
            Binary::Mul if all => self.two(Op::Mul, x, y),
            Binary::SquaredDifference => {
                let d = self.integer2(Binary::Sub, x, y)?;
                self.integer2(Binary::Mul, d, d)?
            }
            Binary::Min | Binary::Max if all => self.two(if op == Binary::Min { Op::Min } else { Op::Max }, x, y),
            Binary::Min | Binary::Max => {
                let order = if op == Binary::Min { Order::Greater } else { Order::Less };
                let second = self.compare(order, x, y);
                self.blend(second, x, y)
            }
            Binary::BitAnd => self.two(Op::And, x, y),
            Binary::BitOr => self.two(Op::Or, x, y),
            Binary::BitXor => self.two(Op::Xor, x, y),
            Binary::Shl | Binary::Shr if self.machine != Machine::Avx2 || !elem.is_wide() || op == Binary::Shl => {
                // Amounts are of no sign for x86, which knows what the full width and more give.
                let zero = self.integer(elem, 0);
                let mut by = self.integer2(Binary::Max, y, zero)?;
                if self.machine == Machine::Neon {
                    // There the lowest byte of an amount counts, which has a sign.
                    let width = self.integer(elem, 8 * self.size(elem) as i64);
                    by = self.integer2(Binary::Min, by, width)?;
                }
                self.two(if op == Binary::Shl { Op::ShiftLeft } else { Op::ShiftRight }, x, by)
            }
            _ => return None,
        })
    }

    pub(super) fn cast(&mut self, x: Id, to: Elem) -> Option<Id> {
        use Elem::{F32, F64, I32, I64, Mask};
        let from = self.elem(x);
        let machine = self.machine;
        let convert = |this: &mut Builder| this.make(Make::one(Op::Convert, from, x), to);
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
            // Numbers of one size, what is not in the range of integers becomes what `as` makes of it.
            (I32, F32) | (F32, I32) | (I64, F64) | (F64, I64) if machine == Machine::Neon => convert(self),
            _ if machine == Machine::Neon => return None,
            (F32, F64) | (F64, F32) | (I32, F32 | F64) => convert(self),
            (F32, I32) => {
                let whole = convert(self);
                self.saturated(x, whole)
            }
            // AVX2 has none of the others, and they are of two widths or of integers of 8 bytes.
            _ if machine != Machine::Avx512 => return None,
            (I64, F32 | F64 | I32) | (I32, I64) => convert(self),
            (F64, I32) | (F32 | F64, I64) => {
                let whole = convert(self);
                self.saturated(x, whole)
            }
            _ => return None,
        })
    }

    /// What a float converts to, from what x86 makes of it, which is the least integer for what does not fit.
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
pub(super) fn supports(machine: Machine, widest: usize, inst: &Instruction, from: &[DType]) -> bool {
    let mut builder = Builder::new(machine, widest);
    // Every formula can be built: none is, to find out.
    let elems: Option<SmallVec<[Elem; 4]>> =
        from.iter().map(|&d| elem_of(d).filter(|e| !d.is_complex() && e.is_float())).collect();
    if let Some(&[elem, ..]) = elems.as_deref()
        && !matches!(inst.function, ElementFn::Cast | ElementFn::Binary(Binary::Complex))
    {
        return builder.fits(elem) && elem_of(inst.to).is_some() && formula_of(inst.function, elem).is_some();
    }
    let operand = |&dtype: &DType| {
        let elem = elem_of(dtype)?;
        let mut part = || builder.node(What::Const(0), elem);
        Some(if dtype.is_complex() { Value::Parts(part(), part()) } else { Value::One(part()) })
    };
    let ins: Option<SmallVec<[Value; 4]>> = from.iter().map(operand).collect();
    ins.is_some_and(|ins| ins.len() <= 3 && builder.apply(inst, &ins).is_some())
}
