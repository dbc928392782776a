//! From nodes to code: registers are given in one pass, as the instructions are written.
//!
//! The body of a loop is a straight line, so the value whose next use is farthest is the one to put aside. What lies in memory
//! anyway (operands, constants) is not put aside but read again. Which registers there are and what instructions look like is the
//! matter of an [`Emitter`].

use smallvec::SmallVec;

use super::op::{Elem, Make};
use super::select::{Builder, Id, Node, Spot, What};

/// Where a value is. What was loaded or put aside may be in a register as well.
#[derive(Clone, Copy, Default)]
pub(super) struct Location {
    pub(super) register: Option<u8>,
    pub(super) slot: Option<u32>,
}

/// The code of one machine.
pub(super) trait Emitter: Sized {
    /// How many registers there are for vectors, and for masks.
    fn registers(&self) -> [usize; 2];
    /// The instructions of an operation.
    fn make(allocator: &mut Allocator<'_, Self>, at: Id, make: Make, elem: Elem);
    /// Writes a vector.
    fn store(allocator: &mut Allocator<'_, Self>, spot: Spot, elem: Elem, register: u8);
    /// Puts a value that is in no register into one.
    fn fill(allocator: &mut Allocator<'_, Self>, id: Id, register: u8);
    /// Moves between a register and a place on the stack.
    fn stack(allocator: &mut Allocator<'_, Self>, elem: Elem, register: u8, slot: u32, stores: bool);
    /// The code around the loop's body, which is there; `None` where it is too large.
    fn finish(allocator: Allocator<'_, Self>, pointers: usize) -> Option<Emitted>;
}

pub(super) struct Allocator<'a, E> {
    pub(super) builder: &'a Builder,
    pub(super) nodes: &'a [Node],
    pub(super) code: E,
    pub(super) places: Vec<Location>,
    /// The nodes that use each, last first.
    pub(super) uses: Vec<SmallVec<[u32; 4]>>,
    /// What registers hold: those of vectors, and those of masks where there are any.
    pub(super) files: [Vec<Option<Id>>; 2],
    /// Registers of the present instruction, by file.
    pub(super) pinned: [u32; 2],
    pub(super) slots: u32,
    free_slots: Vec<u32>,
    /// Places that the present instruction still reads.
    ended_slots: Vec<u32>,
    /// Where constants lie, from the start of the code.
    pub(super) constants: Vec<(Elem, u64)>,
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
pub(super) fn emit<E: Emitter>(builder: &Builder, pointers: usize, code: E) -> Option<Emitted> {
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
    let files = code.registers().map(|count| vec![None; count]);
    let mut allocator = Allocator {
        builder,
        nodes,
        code,
        places: vec![Location::default(); nodes.len()],
        uses,
        files,
        pinned: [0; 2],
        slots: 0,
        free_slots: Vec::new(),
        ended_slots: Vec::new(),
        constants,
    };
    for at in 0..nodes.len() {
        allocator.node(at as u32);
    }
    E::finish(allocator, pointers)
}

fn operands_of(node: &Node) -> SmallVec<[Id; 4]> {
    match node.what {
        What::Make(make) => operands_of_make(&make),
        What::Store(_, value) => SmallVec::from_slice(&[value]),
        _ => SmallVec::new(),
    }
}

/// Each operand once.
fn operands_of_make(make: &Make) -> SmallVec<[Id; 4]> {
    let mut found: SmallVec<[Id; 4]> = SmallVec::new();
    for id in [make.a, Some(make.b), make.addend, make.mask].into_iter().flatten() {
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

impl<E: Emitter> Allocator<'_, E> {
    fn node(&mut self, at: u32) {
        let Node { what, elem } = self.nodes[at as usize];
        match what {
            // Loaded where they are used.
            What::Load(_) | What::Splat(_) | What::Const(_) => {}
            What::Store(spot, value) => {
                let register = self.in_register(value);
                E::store(self, spot, elem, register);
                self.used(at, value);
            }
            What::Make(make) => E::make(self, at, make, elem),
        }
        self.pinned = [0; 2];
        self.free_slots.append(&mut self.ended_slots);
    }

    /// Whether a value is in a mask register.
    pub(super) fn file(&self, id: Id) -> usize {
        self.file_of(self.nodes[id as usize].elem)
    }

    pub(super) fn file_of(&self, elem: Elem) -> usize {
        usize::from(elem == Elem::Mask && !self.files[1].is_empty())
    }

    /// Keeps the operands that are in registers there until the instruction is made.
    pub(super) fn pin(&mut self, make: &Make) {
        for id in operands_of_make(make) {
            if let Some(r) = self.places[id as usize].register {
                self.pinned[self.file(id)] |= 1 << r;
            }
        }
    }

    /// Counts the use of every operand.
    pub(super) fn used_by(&mut self, at: u32, make: &Make) {
        operands_of_make(make).iter().for_each(|&id| self.used(at, id));
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
                self.files[file][register as usize] = None;
            }
            self.ended_slots.extend(place.slot);
        }
    }

    /// The register of a value that the present instruction is the last to use.
    pub(super) fn ending(&self, id: Id) -> Option<u8> {
        self.places[id as usize].register.filter(|_| self.uses[id as usize].len() == 1)
    }

    /// Notes that a node's result is in a register.
    pub(super) fn give(&mut self, at: Id, register: u8) {
        if !self.uses[at as usize].is_empty() {
            let file = self.file(at);
            self.files[file][register as usize] = Some(at);
            self.places[at as usize].register = Some(register);
        }
    }

    /// A register with nothing in it, for the present instruction.
    pub(super) fn take(&mut self, file: usize) -> u8 {
        // The first mask register cannot mask.
        let first = usize::from(file == 1);
        let holders = &self.files[file];
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
        self.files[file][register] = None;
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
        E::stack(self, node.elem, register, slot, true);
    }

    /// The register of a value, which is loaded if it is in none.
    pub(super) fn in_register(&mut self, id: Id) -> u8 {
        let file = self.file(id);
        let place = self.places[id as usize];
        if let Some(register) = place.register {
            self.pinned[file] |= 1 << register;
            return register;
        }
        let register = self.take(file);
        self.pinned[file] |= 1 << register;
        self.files[file][register as usize] = Some(id);
        E::fill(self, id, register);
        self.places[id as usize].register = Some(register);
        register
    }
}
