//! Code for AVX2 and AVX-512.
//!
//! Instructions read their last operand from memory where that saves a load.

mod encode;
mod form;
mod shuffle;

use super::Machine;
use super::allocate::{Allocator, Emitted, Emitter};
use super::op::{Elem, Make, Op};
use super::select::{Id, Node, Spot, What};
use encode::{Assembler, Code, General, Last, Manner, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
use form::{FromMemory, form, length};
pub(super) use shuffle::Shuffle;

/// Registers that hold the addresses of the first operands and results; the others' are read where they are used.
const ADDRESSES: [General; 11] = [RCX, RDX, 8, 9, 10, RBX, 12, 13, 14, 15, RSI];
/// Those among them that belong to the caller.
const SAVED: [General; 5] = [RBX, 12, 13, 14, 15];
/// The register for an address that is read where it is used.
const SPARE: General = 11;
/// Bytes of a place on the stack.
const SLOT: usize = 64;
/// What is kept at the end of the stack, below the places for values: the index at which the last vector starts, how many rows are
/// left, and where the bytes from row to row are.
const LAST: i32 = 0;
const ROWS: i32 = 8;
const STEPS: i32 = 16;
/// Bytes below the stack that the end of a stack is sure to have.
const PAGE: usize = 4096;

/// Instructions of x86.
pub(super) struct X86 {
    asm: Assembler,
    machine: Machine,
}

impl X86 {
    pub(super) fn new(machine: Machine) -> X86 {
        X86 { asm: Assembler::new(machine), machine }
    }
}

impl Emitter for X86 {
    fn registers(&self) -> [usize; 2] {
        if self.machine == Machine::Avx512 { [32, 8] } else { [16, 0] }
    }

    fn make(allocator: &mut Allocator<'_, X86>, at: Id, make: Make, elem: Elem) {
        allocator.make(at, make, elem);
    }

    fn store(allocator: &mut Allocator<'_, X86>, spot: Spot, elem: Elem, register: u8) {
        let (code, length) = allocator.moving(elem, true);
        let last = allocator.address(spot, true);
        allocator.code.asm.vector(code, register, 0, last, Manner { length, ..Manner::default() });
    }

    fn fill(allocator: &mut Allocator<'_, X86>, id: Id, register: u8) {
        allocator.fill(id, register);
    }

    fn stack(allocator: &mut Allocator<'_, X86>, elem: Elem, register: u8, slot: u32, stores: bool) {
        allocator.stack(elem, register, slot, stores);
    }

    fn finish(mut allocator: Allocator<'_, X86>, pointers: usize) -> Option<Emitted> {
        // Constants are in front of the code, at multiples of their size.
        let before = (allocator.constants.len() * 8).next_multiple_of(64);
        let hoisted = &ADDRESSES[..pointers.min(ADDRESSES.len())];
        allocator.epilogue(hoisted, pointers);
        let entry = before + allocator.code.asm.bytes.len();
        allocator.prologue(hoisted);
        let mut bytes = Vec::with_capacity(before + allocator.code.asm.bytes.len());
        allocator.constants.iter().for_each(|(_, bits)| bytes.extend(bits.to_le_bytes()));
        bytes.resize(before, 0);
        bytes.extend(&allocator.code.asm.bytes);
        Some(Emitted { bytes, entry })
    }
}

impl Allocator<'_, X86> {
    /// The end of the loop, that of the loop over rows, and that of the function.
    fn epilogue(&mut self, hoisted: &[General], pointers: usize) {
        let lanes = self.builder.stride() as i32;
        let last = kept_at(LAST);
        self.code.asm.with_constant(0, RAX, lanes);
        // cmp rax, last; on while a whole vector is left.
        self.code.asm.general(0x3b, RAX, last);
        self.code.asm.jump_if(6, 0);
        // r11 = the number of elements; where some are left, on with the vector that ends at the last.
        self.code.asm.general(0x8b, SPARE, last);
        self.code.asm.with_constant(0, SPARE, lanes);
        self.code.asm.general(0x3b, RAX, Last::Register(SPARE));
        self.code.asm.general(0x8b, RAX, last);
        self.code.asm.jump_if(2, 0);
        // Where another row is left, its addresses; these moves change no flag.
        self.code.asm.general(0x8b, SPARE, kept_at(ROWS));
        self.code.asm.with_constant(5, SPARE, 1);
        self.code.asm.general(0x89, SPARE, kept_at(ROWS));
        let end = self.code.asm.jump_if_equal();
        self.code.asm.general(0x8b, SPARE, kept_at(STEPS));
        for k in 0..pointers {
            let step = Last::At { base: SPARE, index: None, offset: 8 * k as i32 };
            match hoisted.get(k) {
                Some(&register) => self.code.asm.general(0x03, register, step),
                None => {
                    self.code.asm.general(0x8b, RAX, step);
                    self.code.asm.general(0x01, RAX, entry_of_table(k));
                }
            }
        }
        // xor eax, eax
        self.code.asm.bytes.extend([0x31, 0xc0]);
        self.code.asm.jump(0);
        self.code.asm.land(end);
        self.code.asm.general(0x8b, RSP, Last::Register(RBP));
        SAVED.iter().rev().filter(|r| hoisted.contains(r)).for_each(|&r| self.code.asm.pop(r));
        self.code.asm.pop(RBP);
        // vzeroupper; ret
        self.code.asm.bytes.extend([0xc5, 0xf8, 0x77, 0xc3]);
    }

    /// Saves registers, makes the frame, loads addresses, and jumps to the loop, in front of which the code starts.
    fn prologue(&mut self, hoisted: &[General]) {
        self.code.asm.push(RBP);
        SAVED.iter().filter(|r| hoisted.contains(r)).for_each(|&r| self.code.asm.push(r));
        // mov rbp, rsp
        self.code.asm.general(0x8b, RBP, Last::Register(RSP));
        let frame = (self.slots as usize + 2) * SLOT;
        // Each page of a large frame is touched in turn, so that the end of the stack is noticed.
        for below in (PAGE..=frame).step_by(PAGE) {
            self.code.asm.general(0x89, RBP, Last::At { base: RBP, index: None, offset: -(below as i32) });
        }
        self.code.asm.with_constant(5, RSP, frame as i32);
        self.code.asm.with_constant(4, RSP, -(SLOT as i32));
        self.code.asm.with_constant(5, RSI, self.builder.stride() as i32);
        for (register, place) in [(RSI, LAST), (RDX, ROWS), (RCX, STEPS)] {
            self.code.asm.general(0x89, register, kept_at(place));
        }
        for (k, &register) in hoisted.iter().enumerate() {
            self.code.asm.general(0x8b, register, entry_of_table(k));
        }
        // xor eax, eax
        self.code.asm.bytes.extend([0x31, 0xc0]);
        self.code.asm.jump(0);
    }

    fn make(&mut self, at: u32, make: Make, elem: Elem) {
        if let (Some(a), Some(addend)) = (make.a, make.addend) {
            return self.fused(at, make, [a, make.b], addend);
        }
        let form = form(self.builder, &make, elem);
        let mut make = make;
        // What is in memory goes to the end, where an instruction can read it.
        if make.op.commutes(make.on)
            && let Some(a) = make.a
            && self.places[a as usize].register.is_none()
            && self.places[make.b as usize].register.is_some()
        {
            (make.a, make.b) = (Some(make.b), a);
        }
        self.pin(&make);
        let a = make.a.map(|a| self.in_register(a));
        let mask = make.mask.map(|k| self.in_register(k));
        let (last, repeats) = self.last(make.b, form.memory);
        self.used_by(at, &make);
        // The result may have the register of an operand, which was put aside if it is used again.
        self.pinned = [0; 2];
        let file = self.file_of(elem);
        let result = self.take(file);
        self.give(at, result);
        let zeroes = make.op == Op::Keep;
        let mut manner = Manner { length: form.length, repeats, mask: 0, zeroes, immediate: form.immediate };
        match (self.builder.machine, mask) {
            (Machine::Avx512, Some(k)) => manner.mask = k,
            // Behind VEX prefixes a fourth register is named by a byte.
            (_, Some(k)) => manner.immediate = Some(k << 4),
            _ => {}
        }
        if form.reversed {
            let Last::Register(b) = last else { unreachable!("a reversed instruction reads a register") };
            self.code.asm.vector(form.code, b, 0, Last::Register(result), manner);
        } else if file == 1 && make.on == Elem::Mask {
            // One on mask registers alone.
            self.code.asm.vex(form.code, result, a.unwrap_or(0), last, manner);
        } else {
            self.code.asm.vector(form.code, result, a.unwrap_or(0), last, manner);
        }
    }

    /// A product and an addend, one of which is overwritten: an operand in a register that nothing else needs, else a copy.
    ///
    /// The forms are named for the order of the operands, of which the first is overwritten and the third may lie in memory: 213 is
    /// `second * first + third`, 132 `first * third + second`, 231 `second * third + first`.
    fn fused(&mut self, at: u32, make: Make, factors: [Id; 2], addend: Id) {
        let form = form(self.builder, &make, make.on);
        self.pin(&make);
        let [x, y] = factors;
        let held = |this: &Self, id: Id| this.places[id as usize].register;
        let factor = self.ending(x).map(|r| (r, y)).or(self.ending(y).map(|r| (r, x)));
        let (register, number, second, third) = match factor {
            Some((register, other)) if held(self, addend).is_some() && held(self, other).is_none() => {
                (register, form.code.number - 0x10, addend, other)
            }
            Some((register, other)) => (register, form.code.number, other, addend),
            None => {
                let register = self.ending(addend).unwrap_or_else(|| {
                    let register = self.take(0);
                    self.pinned[0] |= 1 << register;
                    self.fill(addend, register);
                    register
                });
                let (second, third) = if held(self, x).is_some() { (x, y) } else { (y, x) };
                (register, form.code.number + 0x10, second, third)
            }
        };
        let second = self.in_register(second);
        let (last, repeats) = self.last(third, form.memory);
        self.used_by(at, &make);
        self.give(at, register);
        let code = Code { number, ..form.code };
        let manner = Manner { length: form.length, repeats, ..Manner::default() };
        self.code.asm.vector(code, register, second, last, manner);
    }

    /// The last operand of an instruction, and whether it is one element that is repeated.
    fn last(&mut self, b: Id, memory: FromMemory) -> (Last, bool) {
        let place = self.places[b as usize];
        let again = self.uses[b as usize].len() > 1;
        if let Some(register) = place.register {
            return (Last::Register(register), false);
        }
        let Node { what, elem } = self.nodes[b as usize];
        // Another use is worth a register that nothing else needs.
        let room = again && self.files[self.file(b)].iter().any(Option::is_none);
        let found = match (memory, what, place.slot) {
            _ if room => None,
            (FromMemory::Whole | FromMemory::Any, _, Some(slot)) if elem != Elem::Byte => Some((slot_at(slot), false)),
            (FromMemory::Whole | FromMemory::Any, What::Load(spot), _) => Some((self.address(spot, true), false)),
            (FromMemory::Any, What::Splat(spot), _) => Some((self.address(spot, false), true)),
            (FromMemory::Any, What::Const(bits), _) => Some((self.constant_at(elem, bits), true)),
            _ => None,
        };
        found.unwrap_or_else(|| (Last::Register(self.in_register(b)), false))
    }

    /// Moves between a register and a place on the stack.
    fn stack(&mut self, elem: Elem, register: u8, slot: u32, stores: bool) {
        if elem == Elem::Mask && self.builder.machine == Machine::Avx512 {
            let code = Code::new(0, 1, 0x90 + u8::from(stores), false);
            self.code.asm.vex(code, register, 0, slot_at(slot), Manner::default());
            return;
        }
        let code = Code::new(0, 1, 0x10 + u8::from(stores), false);
        let length = length(self.builder, elem);
        self.code.asm.vector(code, register, 0, slot_at(slot), Manner { length, ..Manner::default() });
    }

    /// Puts a value into a register.
    fn fill(&mut self, id: Id, register: u8) {
        let place = self.places[id as usize];
        let Node { what, elem } = self.nodes[id as usize];
        let manner = Manner { length: length(self.builder, elem), ..Manner::default() };
        if let Some(from) = place.register {
            self.code.asm.vector(Code::new(0, 1, 0x28, false), register, 0, Last::Register(from), manner);
            return;
        }
        match (what, place.slot) {
            (_, Some(slot)) => self.stack(elem, register, slot, false),
            (What::Load(spot), _) => {
                let (code, length) = self.moving(elem, false);
                let last = self.address(spot, true);
                self.code.asm.vector(code, register, 0, last, Manner { length, ..manner });
            }
            (What::Splat(spot), _) => {
                let last = self.address(spot, false);
                self.code.asm.vector(repeating(self.builder.size(elem)), register, 0, last, manner);
            }
            (What::Const(bits), _) => {
                let last = self.constant_at(elem, bits);
                let size = if elem == Elem::Byte { 8 } else { self.builder.size(elem) };
                self.code.asm.vector(repeating(size), register, 0, last, manner);
            }
            _ => unreachable!("a value is used before it is made"),
        }
    }

    /// How a vector of elements is moved between a register and an operand.
    fn moving(&self, elem: Elem, stores: bool) -> (Code, u8) {
        match (self.builder.lanes * self.builder.size(elem), stores) {
            (4, false) => (Code::new(1, 1, 0x6e, false), 0),
            (4, true) => (Code::new(1, 1, 0x7e, false), 0),
            (8, false) => (Code::new(2, 1, 0x7e, true), 0),
            (8, true) => (Code::new(1, 1, 0xd6, true), 0),
            (_, stores) => (Code::new(0, 1, 0x10 + u8::from(stores), false), length(self.builder, elem)),
        }
    }

    /// Where the elements of a place lie: those at the present index if it moves.
    fn address(&mut self, spot: Spot, moves: bool) -> Last {
        let Spot { number, pitch, offset } = spot;
        let mut base = ADDRESSES.get(number as usize).copied().unwrap_or_else(|| {
            self.code.asm.general(0x8b, SPARE, entry_of_table(number as usize));
            SPARE
        });
        if !moves {
            return Last::At { base, index: None, offset };
        }
        // An index is multiplied by 8 at most: lea r11, [base + 8 rax] goes the first half of the way for larger elements.
        if pitch > 8 {
            self.code.asm.general(0x8d, SPARE, Last::At { base, index: Some((RAX, 3)), offset: 0 });
            base = SPARE;
        }
        Last::At { base, index: Some((RAX, pitch.min(8).trailing_zeros() as u8)), offset }
    }

    fn constant_at(&self, elem: Elem, bits: u64) -> Last {
        let k = self.constants.iter().position(|&c| c == (elem, bits)).unwrap_or(0);
        let before = (self.constants.len() * 8).next_multiple_of(64);
        Last::Fixed(8 * k as i32 - before as i32)
    }
}

fn entry_of_table(k: usize) -> Last {
    Last::At { base: RDI, index: None, offset: 8 * k as i32 }
}

/// A place on the stack for a value.
fn slot_at(slot: u32) -> Last {
    Last::At { base: RSP, index: None, offset: (slot + 1) as i32 * SLOT as i32 }
}

/// The place of [`LAST`], [`ROWS`] or [`STEPS`].
fn kept_at(offset: i32) -> Last {
    Last::At { base: RSP, index: None, offset }
}

/// The operation that repeats an element of memory.
fn repeating(size: usize) -> Code {
    match size {
        1 => Code::new(1, 2, 0x78, false),
        4 => Code::new(1, 2, 0x58, false),
        _ => Code::new(1, 2, 0x59, true),
    }
}
