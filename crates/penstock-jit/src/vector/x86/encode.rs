//! The bytes of instructions on vectors: those of AVX2 behind VEX prefixes, those of AVX-512 behind EVEX prefixes.
//!
//! Both prefixes name the same operations by the same numbers, so one table of [`Code`]s serves both. The layouts are those of
//! the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, sections 2.3 and 2.7.

use super::super::Machine;

/// An operation: its number, and the table that it is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Code {
    /// 0 for none, 1 for `66`, 2 for `F3`, 3 for `F2`.
    pub(super) prefix: u8,
    /// 1 for `0F`, 2 for `0F38`, 3 for `0F3A`.
    pub(super) map: u8,
    pub(super) number: u8,
    /// The bit `W`: mostly, whether elements have 8 bytes.
    pub(super) wide: bool,
    /// Whether VEX prefixes have the bit too; in most operations it has a meaning behind EVEX prefixes alone.
    pub(super) vex_wide: bool,
}

impl Code {
    pub(super) const fn new(prefix: u8, map: u8, number: u8, wide: bool) -> Code {
        Code { prefix, map, number, wide, vex_wide: false }
    }

    /// An operation on floats, whose prefix says which.
    pub(super) const fn float(number: u8, wide: bool) -> Code {
        Code::new(wide as u8, 1, number, wide)
    }

    /// One whose bit `W` counts behind VEX prefixes as well.
    pub(super) const fn with_vex_wide(self) -> Code {
        Code { vex_wide: self.wide, ..self }
    }
}

/// Bytes of a vector, as prefixes have them: 0 for 16, 1 for 32, 2 for 64.
pub(super) type Length = u8;

/// A general register.
pub(super) type General = u8;

pub(super) const RAX: General = 0;
pub(super) const RCX: General = 1;
pub(super) const RDX: General = 2;
pub(super) const RBX: General = 3;
pub(super) const RSP: General = 4;
pub(super) const RBP: General = 5;
pub(super) const RSI: General = 6;
pub(super) const RDI: General = 7;

/// The last operand of an instruction: a register, or memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Last {
    Register(u8),
    /// At a base, and an index times 2 to the `scale`.
    At {
        base: General,
        index: Option<(General, u8)>,
        offset: i32,
    },
    /// So many bytes from the start of the code, mostly before it.
    Fixed(i32),
}

/// What an instruction has beside its operation and its operands.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Manner {
    pub(super) length: Length,
    /// Repeats one element of memory; EVEX only.
    pub(super) repeats: bool,
    /// The register that masks the result; EVEX only, and 0 for none.
    pub(super) mask: u8,
    /// Whether what is masked out becomes 0.
    pub(super) zeroes: bool,
    /// A byte at the end.
    pub(super) immediate: Option<u8>,
}

/// Code that grows.
#[derive(Debug)]
pub(super) struct Assembler {
    pub(super) bytes: Vec<u8>,
    machine: Machine,
}

impl Assembler {
    pub(super) fn new(machine: Machine) -> Assembler {
        Assembler { bytes: Vec::with_capacity(1024), machine }
    }

    /// An instruction on vectors. `second` is 0 where there is none.
    pub(super) fn vector(&mut self, code: Code, register: u8, second: u8, last: Last, manner: Manner) {
        if self.machine == Machine::Avx512 {
            self.evex(code, register, second, last, manner);
        } else {
            self.vex(code, register, second, last, manner);
        }
    }

    /// An instruction behind an EVEX prefix.
    fn evex(&mut self, code: Code, register: u8, second: u8, last: Last, manner: Manner) {
        let (x, b) = high_bits(last);
        let inverted = |bit: u8, at: u8| (!bit & 1) << at;
        let Manner { length, repeats, mask, zeroes, immediate } = manner;
        self.bytes.extend([
            0x62,
            inverted(register >> 3, 7) | inverted(x, 6) | inverted(b, 5) | inverted(register >> 4, 4) | code.map,
            u8::from(code.wide) << 7 | (!second & 15) << 3 | 4 | code.prefix,
            u8::from(zeroes) << 7 | length << 5 | u8::from(repeats) << 4 | inverted(second >> 4, 3) | mask,
            code.number,
        ]);
        self.operand(register, last, immediate);
    }

    /// An instruction behind a VEX prefix of three bytes: those on 16 registers, and those on masks.
    pub(super) fn vex(&mut self, code: Code, register: u8, second: u8, last: Last, manner: Manner) {
        let (x, b) = high_bits(last);
        let inverted = |bit: u8, at: u8| (!bit & 1) << at;
        self.bytes.extend([
            0xc4,
            inverted(register >> 3, 7) | inverted(x, 6) | inverted(b, 5) | code.map,
            u8::from(code.vex_wide) << 7 | (!second & 15) << 3 | manner.length << 2 | code.prefix,
            code.number,
        ]);
        self.operand(register, last, manner.immediate);
    }

    /// The bytes behind the number of an operation: a register, the last operand, a byte.
    fn operand(&mut self, register: u8, last: Last, immediate: Option<u8>) {
        let register = (register & 7) << 3;
        match last {
            Last::Register(r) => self.bytes.push(0xc0 | register | (r & 7)),
            Last::Fixed(at) => {
                self.bytes.push(register | 5);
                // Counted from the end of the instruction.
                let end = self.bytes.len() + 4 + usize::from(immediate.is_some());
                self.bytes.extend((at - end as i32).to_le_bytes());
            }
            Last::At { base, index, offset } => {
                // Offsets of one byte count vectors behind some prefixes and bytes behind others, but for 0.
                let mode = match offset {
                    0 if base & 7 != RBP => 0,
                    0 => 0x40,
                    _ => 0x80,
                };
                // An index of RSP says that there is none.
                let (index, scale) = index.unwrap_or((RSP, 0));
                self.bytes.extend([mode | register | 4, scale << 6 | (index & 7) << 3 | (base & 7)]);
                match mode {
                    0 => {}
                    0x40 => self.bytes.push(0),
                    _ => self.bytes.extend(offset.to_le_bytes()),
                }
            }
        }
        self.bytes.extend(immediate);
    }

    /// An instruction of general registers of 64 bits.
    pub(super) fn general(&mut self, number: u8, register: General, last: Last) {
        let (x, b) = high_bits(last);
        self.bytes.extend([0x48 | (register >> 3 & 1) << 2 | x << 1 | b, number]);
        self.operand(register, last, None);
    }

    pub(super) fn push(&mut self, register: General) {
        self.bytes.extend([0x40 | register >> 3, 0x50 | (register & 7)]);
    }

    pub(super) fn pop(&mut self, register: General) {
        self.bytes.extend([0x40 | register >> 3, 0x58 | (register & 7)]);
    }

    /// One of the operations that take a constant: 0 adds, 4 ands, 5 subtracts.
    pub(super) fn with_constant(&mut self, operation: u8, register: General, constant: i32) {
        self.bytes.extend([0x48 | register >> 3, 0x81, 0xc0 | operation << 3 | (register & 7)]);
        self.bytes.extend(constant.to_le_bytes());
    }

    pub(super) fn jump(&mut self, target: usize) {
        let end = self.bytes.len() + 5;
        self.bytes.push(0xe9);
        self.bytes.extend((target as i32 - end as i32).to_le_bytes());
    }

    /// Jumps where the last result was 0; to where [`Assembler::land`] is called with what this gives.
    pub(super) fn jump_if_equal(&mut self) -> usize {
        self.bytes.extend([0x0f, 0x84, 0, 0, 0, 0]);
        self.bytes.len()
    }

    /// Makes a jump lead here.
    pub(super) fn land(&mut self, jump: usize) {
        let by = (self.bytes.len() - jump) as i32;
        self.bytes[jump - 4..jump].copy_from_slice(&by.to_le_bytes());
    }

    /// Jumps to `target` where a condition holds: 2 for below, 6 for not above.
    pub(super) fn jump_if(&mut self, condition: u8, target: usize) {
        let end = self.bytes.len() + 6;
        self.bytes.extend([0x0f, 0x80 | condition]);
        self.bytes.extend((target as i32 - end as i32).to_le_bytes());
    }
}

/// The bits of the numbers of the last operand's registers that prefixes have: those of its index, or the fifth one of
/// its register; and those of its base or register.
fn high_bits(last: Last) -> (u8, u8) {
    match last {
        Last::Register(r) => (r >> 4 & 1, r >> 3 & 1),
        Last::At { base, index, .. } => (index.map_or(0, |(i, _)| i >> 3 & 1), base >> 3 & 1),
        Last::Fixed(_) => (0, 0),
    }
}
