//! Code for aarch64: vectors of 16 bytes, in 32 registers.
//!
//! Masks are vectors, as for AVX2. Instructions have registers alone as operands, and some overwrite one of them.

mod encode;
#[cfg(test)]
mod tests;

use super::allocate::{Allocator, Emitted, Emitter};
use super::op::{Elem, Make, Op, Order, Rounding};
use super::select::{Builder, Id, Spot, What};
use encode::{Assembler, Condition, General, SP, Size, Three, Two, Vector, ZERO};

/// The table of addresses.
const TABLE: General = 0;
/// The index at which the last vector starts.
const LAST: General = 1;
/// How many rows are left.
const ROWS: General = 2;
/// Where the bytes from row to row are.
const STEPS: General = 3;
const INDEX: General = 4;
/// Where constants lie.
const CONSTANTS: General = 5;
/// The present address of an operand or a result.
const PRESENT: General = 16;
const SPARE: General = 17;
/// Registers that hold the addresses of the first operands and results; the others' are read where they are used.
/// Register 18 is the system's.
const ADDRESSES: [General; 20] = [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28];
/// The first of those that belong to the caller, two by two.
const FIRST_SAVED: General = 19;
/// Bytes of a place on the stack, and of a constant.
const SLOT: usize = 16;
/// Bytes below the stack that the end of a stack is sure to have.
const PAGE: usize = 4096;

/// Instructions of aarch64.
#[derive(Default)]
pub(super) struct Aarch64 {
    asm: Assembler,
    /// Whether registers are used of which the caller owns the first halves.
    saves: bool,
    /// The operand or result whose present address is known, and bytes from an element to the next.
    present: Option<(u16, u8)>,
}

impl Aarch64 {
    /// The machine's register for one of the allocator, which takes the first ones first: those that belong to the caller are last.
    fn vector(&mut self, register: u8) -> Vector {
        match register {
            0..8 => register,
            8..24 => register + 8,
            _ => {
                self.saves = true;
                register - 16
            }
        }
    }

    fn address_of(&mut self, number: u16) -> General {
        ADDRESSES.get(number as usize).copied().unwrap_or_else(|| {
            self.asm.load(SPARE, TABLE, 8 * number as usize);
            SPARE
        })
    }

    /// Moves a vector of `bytes` bytes between a register and the present index of an array.
    fn moving(&mut self, spot: Spot, bytes: usize, register: Vector, stores: bool) {
        if self.present != Some((spot.number, spot.pitch)) {
            let base = self.address_of(spot.number);
            self.asm.add_shifted(PRESENT, base, INDEX, spot.pitch.trailing_zeros());
            self.present = Some((spot.number, spot.pitch));
        }
        self.asm.memory(bytes, stores, register, PRESENT, spot.offset as usize);
    }

    fn overwrite(&mut self, code: Three, size: Size, [result, a, b]: [Vector; 3]) {
        self.asm.three(code, size, result, a, b);
    }

    /// The instructions of an operation whose result may have the register of any operand, or of none as [`Place`] says.
    fn make(&mut self, builder: &Builder, make: &Make, result: Vector, a: Vector, b: Vector) {
        let on = make.on;
        let (float, size) = (on.is_float(), size_of(builder, on));
        let double = Size::from(on.is_wide());
        let asm = &mut self.asm;
        let mut either = |of_floats: Three, of_integers: Three| match float {
            true => asm.three(of_floats, double, result, a, b),
            false => asm.three(of_integers, size, result, a, b),
        };
        match make.op {
            Op::Add => either(encode::FADD, encode::ADD),
            Op::Sub => either(encode::FSUB, encode::SUB),
            Op::Mul => either(encode::FMUL, encode::MUL),
            Op::Div => asm.three(encode::FDIV, double, result, a, b),
            Op::Min | Op::Max if float => {
                let (greater, less) = if make.op == Op::Min { (b, a) } else { (a, b) };
                asm.three(encode::FCMGT, double, result, greater, less);
                asm.three(encode::BSL, 0, result, a, b);
            }
            Op::Min => asm.three(encode::SMIN, size, result, a, b),
            Op::Max => asm.three(encode::SMAX, size, result, a, b),
            Op::Sqrt => asm.two(encode::FSQRT, double, result, b),
            Op::Round(how) => {
                let code = match how {
                    Rounding::Nearest => encode::FRINTN,
                    Rounding::Down => encode::FRINTM,
                    Rounding::Up => encode::FRINTP,
                    Rounding::Zero => encode::FRINTZ,
                };
                asm.two(code, double, result, b);
            }
            Op::Neg => asm.two(encode::FNEG, double, result, b),
            Op::Abs if float => asm.two(encode::FABS, double, result, b),
            Op::Abs => asm.two(encode::ABS, size, result, b),
            Op::And => asm.three(encode::AND, 0, result, a, b),
            Op::Or => asm.three(encode::ORR, 0, result, a, b),
            Op::Xor => asm.three(encode::EOR, 0, result, a, b),
            Op::Not => asm.two(encode::NOT, 0, result, b),
            Op::ShiftLeft => asm.three(encode::SSHL, size, result, a, b),
            Op::ShiftRight => {
                asm.two(encode::NEG, size, result, b);
                asm.three(encode::SSHL, size, result, a, result);
            }
            Op::ShiftLeftBy(by) => asm.shift_left(size, result, b, by),
            Op::ShiftRightLogicalBy(by) => asm.shift_right(size, result, b, by),
            Op::Compare(order) => self.compare(order, float, if float { double } else { size }, [result, a, b]),
            Op::Convert => {
                let (code, size) = conversion(on, double);
                asm.two(code, size, result, b);
            }
            Op::MaskOfBytes => {
                asm.widen(0, result, b);
                (1..size_of(builder, Elem::Mask)).for_each(|size| asm.widen(size, result, result));
            }
            Op::BytesOfMask => {
                let mut from = b;
                for size in (0..size).rev() {
                    asm.two(encode::XTN, size, result, from);
                    from = result;
                }
            }
            Op::Narrow => {
                asm.two(encode::FCVTN, 1, result, a);
                asm.two(encode::FCVTN2, 1, result, b);
            }
            Op::WidenHigh => asm.two(encode::FCVTL2, 1, result, b),
            Op::Even => asm.three(encode::UZP1, size, result, a, b),
            Op::Odd => asm.three(encode::UZP2, size, result, a, b),
            Op::ZipLow => asm.three(encode::ZIP1, size, result, a, b),
            Op::ZipHigh => asm.three(encode::ZIP2, size, result, a, b),
            Op::MulAdd { .. } | Op::Blend => unreachable!("an operation that overwrites an operand"),
            Op::ShiftRightLogical | Op::Keep | Op::HighHalf | Op::JoinHalves | Op::Shuffle(_) => {
                unreachable!("an operation of x86")
            }
        }
    }

    fn compare(&mut self, order: Order, float: bool, size: Size, [result, a, b]: [Vector; 3]) {
        let (equal, greater, greater_equal) = match float {
            true => (encode::FCMEQ, encode::FCMGT, encode::FCMGE),
            false => (encode::CMEQ, encode::CMGT, encode::CMGE),
        };
        let (code, swapped, inverted) = match order {
            Order::Equal => (equal, false, false),
            Order::NotEqual => (equal, false, true),
            Order::Greater => (greater, false, false),
            Order::GreaterEqual => (greater_equal, false, false),
            Order::Less => (greater, true, false),
            Order::LessEqual => (greater_equal, true, false),
            Order::NotLess => (greater, true, true),
            Order::NotLessEqual => (greater_equal, true, true),
            Order::Ordered => unreachable!("asked for by conversions of x86"),
        };
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        self.asm.three(code, size, result, a, b);
        if inverted {
            self.asm.two(encode::NOT, 0, result, result);
        }
    }
}

/// The size of elements in a register.
fn size_of(builder: &Builder, elem: Elem) -> Size {
    builder.size(elem).trailing_zeros()
}

/// The instruction that makes numbers of the same size of these, or floats of the other.
fn conversion(from: Elem, double: Size) -> (Two, Size) {
    match from {
        Elem::F32 | Elem::F64 => (encode::FCVTZS, double),
        _ => (encode::SCVTF, double),
    }
}

/// Where the result of an operation may be.
fn is_apart(make: &Make) -> bool {
    match make.op {
        // The first of two instructions writes what the second reads beside an operand.
        Op::Min | Op::Max => make.on.is_float(),
        Op::ShiftRight | Op::Narrow => true,
        _ => false,
    }
}

impl Emitter for Aarch64 {
    fn registers(&self) -> [usize; 2] {
        [32, 0]
    }

    fn make(allocator: &mut Allocator<'_, Aarch64>, at: Id, make: Make, elem: Elem) {
        allocator.pin(&make);
        let b = allocator.in_register(make.b);
        let a = make.a.map_or(b, |a| allocator.in_register(a));
        let builder = allocator.builder;
        match (make.op, make.addend, make.mask) {
            (Op::MulAdd { .. }, Some(addend), _) => allocator.fused(at, &make, [a, b], addend),
            (Op::Blend, _, Some(mask)) => allocator.blend(at, &make, [a, b], mask),
            _ => {
                let apart = is_apart(&make).then(|| allocator.take(0));
                allocator.used_by(at, &make);
                // The result may have the register of an operand, which was put aside if it is used again.
                allocator.pinned = [0; 2];
                let result = apart.unwrap_or_else(|| allocator.take(0));
                allocator.give(at, result);
                let code = &mut allocator.code;
                let [result, a, b] = [result, a, b].map(|r| code.vector(r));
                if make.op == Op::Convert && make.on.is_float() && elem.is_float() {
                    code.asm.two(if elem == Elem::F64 { encode::FCVTL } else { encode::FCVTN }, 1, result, b);
                } else {
                    code.make(builder, &make, result, a, b);
                }
            }
        }
    }

    fn store(allocator: &mut Allocator<'_, Aarch64>, spot: Spot, elem: Elem, register: u8) {
        let bytes = allocator.builder.lanes * allocator.builder.size(elem);
        let register = allocator.code.vector(register);
        allocator.code.moving(spot, bytes, register, true);
    }

    fn fill(allocator: &mut Allocator<'_, Aarch64>, id: Id, register: u8) {
        let node = allocator.nodes[id as usize];
        let builder = allocator.builder;
        if let Some(slot) = allocator.places[id as usize].slot {
            return Aarch64::stack(allocator, node.elem, register, slot, false);
        }
        let code = &mut allocator.code;
        let register = code.vector(register);
        match node.what {
            What::Load(spot) => code.moving(spot, builder.lanes * builder.size(node.elem), register, false),
            What::Splat(spot) => {
                let mut base = code.address_of(spot.number);
                if spot.offset > 0 {
                    code.asm.add(SPARE, base, spot.offset as usize);
                    base = SPARE;
                }
                code.asm.repeat(size_of(builder, node.elem), register, base);
            }
            What::Const(0) => code.asm.clear(register),
            What::Const(bits) => {
                let k = allocator.constants.iter().position(|&c| c == (node.elem, bits)).unwrap_or(0);
                code.asm.memory(16, false, register, CONSTANTS, SLOT * k);
            }
            _ => unreachable!("a value is used before it is made"),
        }
    }

    fn stack(allocator: &mut Allocator<'_, Aarch64>, _: Elem, register: u8, slot: u32, stores: bool) {
        let register = allocator.code.vector(register);
        allocator.code.asm.memory(16, stores, register, SP, SLOT * slot as usize);
    }

    fn finish(mut allocator: Allocator<'_, Aarch64>, pointers: usize) -> Option<Emitted> {
        let before = SLOT * allocator.constants.len();
        let hoisted = &ADDRESSES[..pointers.min(ADDRESSES.len())];
        allocator.epilogue(hoisted, pointers);
        let entry = before + 4 * allocator.code.asm.words.len();
        allocator.prologue(hoisted, before);
        let asm = &allocator.code.asm;
        if asm.overflowed {
            return None;
        }
        let mut bytes = Vec::with_capacity(before + 4 * asm.words.len());
        for &(elem, bits) in &allocator.constants {
            let single = elem != Elem::Byte && allocator.builder.size(elem) == 4;
            let word = if single { bits & 0xffff_ffff | bits << 32 } else { bits };
            bytes.extend([word, word].iter().flat_map(|word| word.to_le_bytes()));
        }
        bytes.extend(asm.words.iter().flat_map(|word| word.to_le_bytes()));
        Some(Emitted { bytes, entry })
    }
}

impl Allocator<'_, Aarch64> {
    /// The register of the first of some operands that nothing else needs, and which it is; else another.
    fn overwritten(&mut self, operands: &[Id]) -> (u8, Option<usize>) {
        let ending = operands.iter().position(|&id| self.ending(id).is_some());
        match ending.and_then(|k| self.ending(operands[k])) {
            Some(register) => (register, ending),
            None => (self.take(0), None),
        }
    }

    /// A product and an addend, which is overwritten.
    fn fused(&mut self, at: Id, make: &Make, [a, b]: [u8; 2], addend: Id) {
        let Op::MulAdd { negates_product, negates_addend } = make.op else { unreachable!("adds to a product") };
        let c = self.in_register(addend);
        // A factor has to be what it was when the addend has changed its sign.
        let is_factor = make.a == Some(addend) || make.b == addend;
        let operands = [addend];
        let (result, _) = self.overwritten(if negates_addend && is_factor { &[] } else { &operands });
        self.used_by(at, make);
        self.give(at, result);
        let code = &mut self.code;
        let [result, a, b, c] = [result, a, b, c].map(|r| code.vector(r));
        let size = Size::from(make.on.is_wide());
        if negates_addend {
            code.asm.two(encode::FNEG, size, result, c);
        } else if result != c {
            code.asm.copy(result, c);
        }
        code.overwrite(if negates_product { encode::FMLS } else { encode::FMLA }, size, [result, a, b]);
    }

    /// `b` where a mask has ones, else `a`: any of the three is overwritten.
    fn blend(&mut self, at: Id, make: &Make, [a, b]: [u8; 2], mask: Id) {
        let m = self.in_register(mask);
        let operands = [mask, make.a.unwrap_or(make.b), make.b];
        let (result, which) = self.overwritten(&operands);
        self.used_by(at, make);
        self.give(at, result);
        let code = &mut self.code;
        let [result, a, b, m] = [result, a, b, m].map(|r| code.vector(r));
        match which {
            Some(1) => code.overwrite(encode::BIT, 0, [result, b, m]),
            Some(2) => code.overwrite(encode::BIF, 0, [result, a, m]),
            which => {
                if which.is_none() {
                    code.asm.copy(result, m);
                }
                code.overwrite(encode::BSL, 0, [result, b, a]);
            }
        }
    }

    /// The end of the loop, that of the loop over rows, and that of the function.
    fn epilogue(&mut self, hoisted: &[General], pointers: usize) {
        let stride = self.builder.stride();
        let (saves, slots) = (self.code.saves, self.slots as usize);
        let asm = &mut self.code.asm;
        asm.add(INDEX, INDEX, stride);
        // On while a whole vector is left.
        asm.compare(INDEX, LAST);
        asm.jump_if(Condition::NotAbove, 0);
        // Where some elements are left, on with the vector that ends at the last.
        asm.add(SPARE, LAST, stride);
        asm.compare(INDEX, SPARE);
        asm.copy_general(INDEX, LAST);
        asm.jump_if(Condition::Below, 0);
        // Where another row is left, its addresses.
        asm.subtract_and_test(ROWS, ROWS, 1);
        let end = asm.words.len();
        asm.jump_if(Condition::Equal, end);
        for k in 0..pointers {
            asm.load(SPARE, STEPS, 8 * k);
            match hoisted.get(k) {
                Some(&register) => asm.add_shifted(register, register, SPARE, 0),
                None => {
                    asm.load(PRESENT, TABLE, 8 * k);
                    asm.add_shifted(PRESENT, PRESENT, SPARE, 0);
                    asm.store(PRESENT, TABLE, 8 * k);
                }
            }
        }
        asm.copy_general(INDEX, ZERO);
        asm.jump(0);
        asm.land(end);
        let frame = slots * SLOT;
        for part in [frame % PAGE, frame - frame % PAGE] {
            if part > 0 {
                asm.add(SP, SP, part);
            }
        }
        if saves {
            [14, 12, 10, 8].iter().for_each(|&r| asm.pop_halves(r, r + 1));
        }
        saved(hoisted).rev().for_each(|r| asm.pop(r, r + 1));
        asm.ret();
    }

    /// Saves registers, makes the frame, loads addresses, and jumps to the loop, in front of which the code starts.
    fn prologue(&mut self, hoisted: &[General], before: usize) {
        let (stride, saves, slots) = (self.builder.stride(), self.code.saves, self.slots as usize);
        let asm = &mut self.code.asm;
        saved(hoisted).for_each(|r| asm.push(r, r + 1));
        if saves {
            [8, 10, 12, 14].iter().for_each(|&r| asm.push_halves(r, r + 1));
        }
        let frame = slots * SLOT;
        // Each page of a large frame is touched in turn, so that the end of the stack is noticed.
        for _ in 0..frame / PAGE {
            asm.subtract(SP, SP, PAGE);
            asm.store(ZERO, SP, 0);
        }
        if !frame.is_multiple_of(PAGE) {
            asm.subtract(SP, SP, frame % PAGE);
        }
        asm.subtract(LAST, LAST, stride);
        asm.address_before(CONSTANTS, before);
        for (k, &register) in hoisted.iter().enumerate() {
            asm.load(register, TABLE, 8 * k);
        }
        asm.copy_general(INDEX, ZERO);
        asm.jump(0);
    }
}

/// The first of each two registers that hold addresses and belong to the caller.
fn saved(hoisted: &[General]) -> impl DoubleEndedIterator<Item = General> {
    let count = hoisted.iter().filter(|&&r| r >= FIRST_SAVED).count().div_ceil(2) as u8;
    (0..count).map(|k| FIRST_SAVED + 2 * k)
}
