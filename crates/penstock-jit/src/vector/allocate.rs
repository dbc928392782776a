//! From nodes to code: registers are given in one pass, as the instructions are written.
//!
//! The body of a loop is a straight line, so the value whose next use is farthest is the one to put aside. What lies in memory
//! anyway (operands, constants) is not put aside but read again, by the instruction that uses it where that can be.

use penstock_kernels::Level;
use smallvec::SmallVec;

use super::encode::{Assembler, Code, General, Last, Manner, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
use super::select::{Builder, Elem, FromMemory, Id, Make, Node, Spot, What};

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

/// Where a value is. What was loaded or put aside may be in a register as well.
#[derive(Clone, Copy, Default)]
struct Location {
    register: Option<u8>,
    slot: Option<u32>,
}

/// Registers of one kind, and what they hold.
struct File {
    holders: Vec<Option<Id>>,
}

struct Allocator<'a> {
    builder: &'a Builder,
    nodes: &'a [Node],
    asm: Assembler,
    places: Vec<Location>,
    /// The nodes that use each, last first.
    uses: Vec<SmallVec<[u32; 4]>>,
    /// Those of vectors, and of masks where there are any.
    files: [File; 2],
    /// Registers of the present instruction, by file.
    pinned: [u32; 2],
    slots: u32,
    free_slots: Vec<u32>,
    /// Places that the present instruction still reads.
    ended_slots: Vec<u32>,
    /// Where constants lie, from the start of the code.
    constants: Vec<(Elem, u64)>,
}

/// The code of a loop, and the constants in front of it.
pub(super) struct Emitted {
    /// Constants, the loop, and what leads to it.
    pub(super) bytes: Vec<u8>,
    /// Where the function starts.
    pub(super) entry: usize,
}

/// The code for the nodes of `builder`: a function of a table of addresses, of operands and then of results; of a number of
/// elements, which are at least those of one vector; of a number of rows of so many, at least one; and of a table of the bytes from
/// row to row, for each address. The addresses may be changed.
///
/// The last vector ends at the last element, and overlaps the one before it where they do not come out even: what an element
/// gives depends on that element alone, so it may be computed twice.
pub(super) fn emit(builder: &Builder, pointers: usize) -> Emitted {
    let nodes = &builder.nodes[..];
    let mut uses: Vec<SmallVec<[u32; 4]>> = vec![SmallVec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        operands_of(node).iter().for_each(|&id| uses[id as usize].push(at as u32));
    }
    let mut constants: Vec<(Elem, u64)> = Vec::new();
    for node in nodes {
        if let What::Const(bits) = node.what
            && !constants.contains(&(node.elem, bits))
        {
            constants.push((node.elem, bits));
        }
    }
    let registers = if builder.level == Level::V4 { 32 } else { 16 };
    // The first mask register cannot mask.
    let masks = if builder.level == Level::V4 { 8 } else { 0 };
    let mut allocator = Allocator {
        builder,
        nodes,
        asm: Assembler::new(builder.level),
        places: vec![Location::default(); nodes.len()],
        uses,
        files: [File { holders: vec![None; registers] }, File { holders: vec![None; masks] }],
        pinned: [0; 2],
        slots: 0,
        free_slots: Vec::new(),
        ended_slots: Vec::new(),
        constants,
    };
    // Constants are in front of the code, at multiples of their size.
    let before = (allocator.constants.len() * 8).next_multiple_of(64);
    let hoisted = &ADDRESSES[..pointers.min(ADDRESSES.len())];
    for at in 0..nodes.len() {
        allocator.node(at as u32);
    }
    allocator.epilogue(hoisted, pointers);
    let entry = before + allocator.asm.bytes.len();
    allocator.prologue(hoisted);
    let mut bytes = Vec::with_capacity(before + allocator.asm.bytes.len());
    allocator.constants.iter().for_each(|(_, bits)| bytes.extend(bits.to_le_bytes()));
    bytes.resize(before, 0);
    bytes.extend(&allocator.asm.bytes);
    Emitted { bytes, entry }
}

fn operands_of(node: &Node) -> SmallVec<[Id; 3]> {
    let mut found: SmallVec<[Id; 3]> = SmallVec::new();
    match node.what {
        What::Make(make) => {
            for id in [make.a, Some(make.b), make.addend, make.mask].into_iter().flatten() {
                if !found.contains(&id) {
                    found.push(id);
                }
            }
        }
        What::Store(_, value) => found.push(value),
        _ => {}
    }
    found
}

impl Allocator<'_> {
    /// The end of the loop, that of the loop over rows, and that of the function.
    fn epilogue(&mut self, hoisted: &[General], pointers: usize) {
        let lanes = self.builder.stride() as i32;
        let last = kept_at(LAST);
        self.asm.with_constant(0, RAX, lanes);
        // cmp rax, last; on while a whole vector is left.
        self.asm.general(0x3b, RAX, last);
        self.asm.jump_if(6, 0);
        // r11 = the number of elements; where some are left, on with the vector that ends at the last.
        self.asm.general(0x8b, SPARE, last);
        self.asm.with_constant(0, SPARE, lanes);
        self.asm.general(0x3b, RAX, Last::Register(SPARE));
        self.asm.general(0x8b, RAX, last);
        self.asm.jump_if(2, 0);
        // Where another row is left, its addresses; these moves change no flag.
        self.asm.general(0x8b, SPARE, kept_at(ROWS));
        self.asm.with_constant(5, SPARE, 1);
        self.asm.general(0x89, SPARE, kept_at(ROWS));
        let end = self.asm.jump_if_equal();
        self.asm.general(0x8b, SPARE, kept_at(STEPS));
        for k in 0..pointers {
            let step = Last::At { base: SPARE, index: None, offset: 8 * k as i32 };
            match hoisted.get(k) {
                Some(&register) => self.asm.general(0x03, register, step),
                None => {
                    self.asm.general(0x8b, RAX, step);
                    self.asm.general(0x01, RAX, entry_of_table(k));
                }
            }
        }
        // xor eax, eax
        self.asm.bytes.extend([0x31, 0xc0]);
        self.asm.jump(0);
        self.asm.land(end);
        self.asm.general(0x8b, RSP, Last::Register(RBP));
        SAVED.iter().rev().filter(|r| hoisted.contains(r)).for_each(|&r| self.asm.pop(r));
        self.asm.pop(RBP);
        // vzeroupper; ret
        self.asm.bytes.extend([0xc5, 0xf8, 0x77, 0xc3]);
    }

    /// Saves registers, makes the frame, loads addresses, and jumps to the loop, in front of which the code starts.
    fn prologue(&mut self, hoisted: &[General]) {
        self.asm.push(RBP);
        SAVED.iter().filter(|r| hoisted.contains(r)).for_each(|&r| self.asm.push(r));
        // mov rbp, rsp
        self.asm.general(0x8b, RBP, Last::Register(RSP));
        let frame = (self.slots as usize + 2) * SLOT;
        // Each page of a large frame is touched in turn, so that the end of the stack is noticed.
        for below in (PAGE..=frame).step_by(PAGE) {
            self.asm.general(0x89, RBP, Last::At { base: RBP, index: None, offset: -(below as i32) });
        }
        self.asm.with_constant(5, RSP, frame as i32);
        self.asm.with_constant(4, RSP, -(SLOT as i32));
        self.asm.with_constant(5, RSI, self.builder.stride() as i32);
        for (register, place) in [(RSI, LAST), (RDX, ROWS), (RCX, STEPS)] {
            self.asm.general(0x89, register, kept_at(place));
        }
        for (k, &register) in hoisted.iter().enumerate() {
            self.asm.general(0x8b, register, entry_of_table(k));
        }
        // xor eax, eax
        self.asm.bytes.extend([0x31, 0xc0]);
        self.asm.jump(0);
    }

    fn node(&mut self, at: u32) {
        let Node { what, elem } = self.nodes[at as usize];
        match what {
            // Loaded where they are used.
            What::Load(_) | What::Splat(_) | What::Const(_) => {}
            What::Store(spot, value) => {
                let register = self.in_register(value);
                let (code, length) = self.moving(elem, true);
                let last = self.address(spot, true);
                self.asm.vector(code, register, 0, last, Manner { length, ..Manner::default() });
                self.used(at, value);
            }
            What::Make(make) => self.make(at, make, elem),
        }
        self.pinned = [0; 2];
        self.free_slots.append(&mut self.ended_slots);
    }

    fn make(&mut self, at: u32, make: Make, elem: Elem) {
        if let (Some(a), Some(addend)) = (make.a, make.addend) {
            return self.fused(at, make, [a, make.b], addend);
        }
        let mut make = make;
        // What is in memory goes to the end, where an instruction can read it.
        if make.commutes
            && let Some(a) = make.a
            && self.places[a as usize].register.is_none()
            && self.places[make.b as usize].register.is_some()
        {
            (make.a, make.b) = (Some(make.b), a);
        }
        // What is in registers stays there until the instruction is made.
        for id in [make.a, Some(make.b), make.mask].into_iter().flatten() {
            if let Some(r) = self.places[id as usize].register {
                self.pinned[self.file(id)] |= 1 << r;
            }
        }
        let a = make.a.map(|a| self.in_register(a));
        let mask = make.mask.map(|k| self.in_register(k));
        let (last, repeats) = self.last(&make);
        let ids = [make.a, Some(make.b), make.mask];
        for (i, id) in ids.iter().enumerate() {
            if let Some(id) = id
                && !ids[..i].contains(&Some(*id))
            {
                self.used(at, *id);
            }
        }
        // The result may have the register of an operand, which was put aside if it is used again.
        self.pinned = [0; 2];
        let file = usize::from(elem == Elem::Mask && self.builder.level == Level::V4);
        let result = self.take(file);
        if !self.uses[at as usize].is_empty() {
            self.files[file].holders[result as usize] = Some(at);
            self.places[at as usize].register = Some(result);
        }
        let mut manner =
            Manner { length: make.length, repeats, mask: 0, zeroes: make.zeroes, immediate: make.immediate };
        match (self.builder.level, mask) {
            (Level::V4, Some(k)) => manner.mask = k,
            // Behind VEX prefixes a fourth register is named by a byte.
            (_, Some(k)) => manner.immediate = Some(k << 4),
            _ => {}
        }
        if make.reversed {
            let Last::Register(b) = last else { unreachable!("a reversed instruction reads a register") };
            self.asm.vector(make.code, b, 0, Last::Register(result), manner);
        } else if file == 1 && self.is_logic(&make) {
            self.asm.vex(make.code, result, a.unwrap_or(0), last, manner);
        } else {
            self.asm.vector(make.code, result, a.unwrap_or(0), last, manner);
        }
    }

    /// A product and an addend, one of which is overwritten: an operand in a register that nothing else needs, else a copy.
    ///
    /// The forms are named for the order of the operands, of which the first is overwritten and the third may lie in memory: 213 is
    /// `second * first + third`, 132 `first * third + second`, 231 `second * third + first`.
    fn fused(&mut self, at: u32, make: Make, factors: [Id; 2], addend: Id) {
        let ids = [factors[0], factors[1], addend];
        for id in ids {
            if let Some(r) = self.places[id as usize].register {
                self.pinned[0] |= 1 << r;
            }
        }
        let [x, y] = factors;
        let held = |this: &Self, id: Id| this.places[id as usize].register;
        let ending = |this: &Self, id: Id| held(this, id).filter(|_| this.uses[id as usize].len() == 1);
        let factor = ending(self, x).map(|r| (r, y)).or(ending(self, y).map(|r| (r, x)));
        let (register, number, second, third) = match factor {
            Some((register, other)) if held(self, addend).is_some() && held(self, other).is_none() => {
                (register, make.code.number - 0x10, addend, other)
            }
            Some((register, other)) => (register, make.code.number, other, addend),
            None => {
                let register = ending(self, addend).unwrap_or_else(|| {
                    let register = self.take(0);
                    self.pinned[0] |= 1 << register;
                    self.fill(addend, register);
                    register
                });
                let (second, third) = if held(self, x).is_some() { (x, y) } else { (y, x) };
                (register, make.code.number + 0x10, second, third)
            }
        };
        let second = self.in_register(second);
        let (last, repeats) = self.last(&Make { b: third, ..make });
        for (i, id) in ids.iter().enumerate() {
            if !ids[..i].contains(id) {
                self.used(at, *id);
            }
        }
        if !self.uses[at as usize].is_empty() {
            self.files[0].holders[register as usize] = Some(at);
            self.places[at as usize].register = Some(register);
        }
        let code = Code { number, ..make.code };
        let manner = Manner { length: make.length, repeats, ..Manner::default() };
        self.asm.vector(code, register, second, last, manner);
    }

    /// Whether an operation is one on mask registers alone.
    fn is_logic(&self, make: &Make) -> bool {
        self.nodes[make.b as usize].elem == Elem::Mask
    }

    fn file(&self, id: Id) -> usize {
        usize::from(self.nodes[id as usize].elem == Elem::Mask && self.builder.level == Level::V4)
    }

    /// The last operand of an instruction, and whether it is one element that is repeated.
    fn last(&mut self, make: &Make) -> (Last, bool) {
        let place = self.places[make.b as usize];
        let again = self.uses[make.b as usize].len() > 1;
        if let Some(register) = place.register {
            return (Last::Register(register), false);
        }
        let Node { what, elem } = self.nodes[make.b as usize];
        // Another use is worth a register that nothing else needs.
        let room = again && self.files[self.file(make.b)].holders.iter().any(Option::is_none);
        let found = match (make.memory, what, place.slot) {
            _ if room => None,
            (FromMemory::Whole | FromMemory::Any, _, Some(slot)) if elem != Elem::Byte => Some((slot_at(slot), false)),
            (FromMemory::Whole | FromMemory::Any, What::Load(spot), _) => Some((self.address(spot, true), false)),
            (FromMemory::Any, What::Splat(spot), _) => Some((self.address(spot, false), true)),
            (FromMemory::Any, What::Const(bits), _) => Some((self.constant_at(elem, bits), true)),
            _ => None,
        };
        found.unwrap_or_else(|| (Last::Register(self.in_register(make.b)), false))
    }

    /// Counts a use; what has no other leaves its register.
    fn used(&mut self, at: u32, id: Id) {
        let uses = &mut self.uses[id as usize];
        debug_assert_eq!(uses.last(), Some(&at), "uses are counted in order");
        uses.pop();
        if uses.is_empty() {
            let file = self.file(id);
            let place = std::mem::take(&mut self.places[id as usize]);
            if let Some(register) = place.register {
                self.files[file].holders[register as usize] = None;
            }
            self.ended_slots.extend(place.slot);
        }
    }

    /// A register with nothing in it, for the present instruction.
    fn take(&mut self, file: usize) -> u8 {
        let first = usize::from(file == 1);
        let holders = &self.files[file].holders;
        let pinned = self.pinned[file];
        let usable = (first..holders.len()).filter(|&r| pinned & 1 << r == 0);
        let next = |r: usize| match holders[r] {
            None => u32::MAX,
            Some(id) => self.uses[id as usize].last().copied().unwrap_or(u32::MAX - 1),
        };
        let register = usable.max_by_key(|&r| (next(r), usize::MAX - r)).unwrap_or(first);
        if let Some(id) = holders[register] {
            self.put_aside(id, register as u8);
        }
        self.files[file].holders[register] = None;
        register as u8
    }

    /// Takes a value out of its register; what was computed goes to the stack, once.
    fn put_aside(&mut self, id: Id, register: u8) {
        self.places[id as usize].register = None;
        let node = self.nodes[id as usize];
        if !matches!(node.what, What::Make(_)) || self.places[id as usize].slot.is_some() {
            return;
        }
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.places[id as usize].slot = Some(slot);
        self.stack(node.elem, register, slot, true);
    }

    /// Moves between a register and a place on the stack.
    fn stack(&mut self, elem: Elem, register: u8, slot: u32, stores: bool) {
        if elem == Elem::Mask && self.builder.level == Level::V4 {
            let code = Code::new(0, 1, 0x90 + u8::from(stores), false);
            self.asm.vex(code, register, 0, slot_at(slot), Manner::default());
            return;
        }
        let code = Code::new(0, 1, 0x10 + u8::from(stores), false);
        let length = self.builder.length(elem);
        self.asm.vector(code, register, 0, slot_at(slot), Manner { length, ..Manner::default() });
    }

    /// The register of a value, which is loaded if it is in none.
    fn in_register(&mut self, id: Id) -> u8 {
        let file = self.file(id);
        let place = self.places[id as usize];
        if let Some(register) = place.register {
            self.pinned[file] |= 1 << register;
            return register;
        }
        let register = self.take(file);
        self.pinned[file] |= 1 << register;
        self.files[file].holders[register as usize] = Some(id);
        self.fill(id, register);
        self.places[id as usize].register = Some(register);
        register
    }

    /// Puts a value into a register.
    fn fill(&mut self, id: Id, register: u8) {
        let place = self.places[id as usize];
        let Node { what, elem } = self.nodes[id as usize];
        let manner = Manner { length: self.builder.length(elem), ..Manner::default() };
        if let Some(from) = place.register {
            self.asm.vector(Code::new(0, 1, 0x28, false), register, 0, Last::Register(from), manner);
            return;
        }
        match (what, place.slot) {
            (_, Some(slot)) => self.stack(elem, register, slot, false),
            (What::Load(spot), _) => {
                let (code, length) = self.moving(elem, false);
                let last = self.address(spot, true);
                self.asm.vector(code, register, 0, last, Manner { length, ..manner });
            }
            (What::Splat(spot), _) => {
                let last = self.address(spot, false);
                self.asm.vector(repeating(self.builder.size(elem)), register, 0, last, manner);
            }
            (What::Const(bits), _) => {
                let last = self.constant_at(elem, bits);
                let size = if elem == Elem::Byte { 8 } else { self.builder.size(elem) };
                self.asm.vector(repeating(size), register, 0, last, manner);
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
            (_, stores) => (Code::new(0, 1, 0x10 + u8::from(stores), false), self.builder.length(elem)),
        }
    }

    /// Where the elements of a place lie: those at the present index if it moves.
    fn address(&mut self, spot: Spot, moves: bool) -> Last {
        let Spot { number, pitch, offset } = spot;
        let mut base = ADDRESSES.get(number as usize).copied().unwrap_or_else(|| {
            self.asm.general(0x8b, SPARE, entry_of_table(number as usize));
            SPARE
        });
        if !moves {
            return Last::At { base, index: None, offset };
        }
        // An index is multiplied by 8 at most: lea r11, [base + 8 rax] goes the first half of the way for larger elements.
        if pitch > 8 {
            self.asm.general(0x8d, SPARE, Last::At { base, index: Some((RAX, 3)), offset: 0 });
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
