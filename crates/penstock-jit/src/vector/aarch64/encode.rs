//! The words of instructions of aarch64: those on vectors of 16 bytes, and those on general registers that loops need.
//!
//! The layouts are those of the Arm Architecture Reference Manual for A-profile, section C4.1.

/// A general register; 31 is the stack pointer or 0, as the instruction has it.
pub(super) type General = u8;
/// A vector register.
pub(super) type Vector = u8;

pub(super) const SP: General = 31;
pub(super) const ZERO: General = 31;

/// An operation on two vectors, or on the result and two: all bits but those that name registers and elements.
#[derive(Clone, Copy)]
pub(super) struct Three(u32);

/// An operation on one vector.
#[derive(Clone, Copy)]
pub(super) struct Two(u32);

/// The size of elements, as most instructions on integers have it: 0 for a byte to 3 for 8 bytes.
pub(super) type Size = u32;

const fn three(unsigned: u32, size: u32, opcode: u32) -> Three {
    Three(0x4e20_0400 | unsigned << 29 | size << 22 | opcode << 11)
}

const fn two(unsigned: u32, size: u32, opcode: u32) -> Two {
    Two(0x4e20_0800 | unsigned << 29 | size << 22 | opcode << 12)
}

const fn permute(opcode: u32) -> Three {
    Three(0x4e00_0800 | opcode << 12)
}

// Of floats: the size is 0 or 1.
pub(super) const FADD: Three = three(0, 0, 0b11010);
pub(super) const FSUB: Three = three(0, 2, 0b11010);
pub(super) const FMUL: Three = three(1, 0, 0b11011);
pub(super) const FDIV: Three = three(1, 0, 0b11111);
/// Adds the product to the result.
pub(super) const FMLA: Three = three(0, 0, 0b11001);
/// Subtracts the product from the result.
pub(super) const FMLS: Three = three(0, 2, 0b11001);
pub(super) const FCMEQ: Three = three(0, 0, 0b11100);
pub(super) const FCMGE: Three = three(1, 0, 0b11100);
pub(super) const FCMGT: Three = three(1, 2, 0b11100);
pub(super) const FABS: Two = two(0, 2, 0b01111);
pub(super) const FNEG: Two = two(1, 2, 0b01111);
pub(super) const FSQRT: Two = two(1, 2, 0b11111);
pub(super) const FRINTN: Two = two(0, 0, 0b11000);
pub(super) const FRINTM: Two = two(0, 0, 0b11001);
pub(super) const FRINTP: Two = two(0, 2, 0b11000);
pub(super) const FRINTZ: Two = two(0, 2, 0b11001);
/// Towards 0; the nearest integer where there is none, and 0 of NaN.
pub(super) const FCVTZS: Two = two(0, 2, 0b11011);
pub(super) const SCVTF: Two = two(0, 0, 0b11101);
/// `f64` from the first half of a vector of `f32`; the size is 1.
pub(super) const FCVTL: Two = Two(two(0, 0, 0b10111).0 & !(1 << 30));
pub(super) const FCVTL2: Two = two(0, 0, 0b10111);
/// `f32` in the first half of the result, and 0 in the second; the size is 1.
pub(super) const FCVTN: Two = Two(two(0, 0, 0b10110).0 & !(1 << 30));
/// The same in the second half; the first stays.
pub(super) const FCVTN2: Two = two(0, 0, 0b10110);

// Of integers: any size.
pub(super) const ADD: Three = three(0, 0, 0b10000);
pub(super) const SUB: Three = three(1, 0, 0b10000);
pub(super) const MUL: Three = three(0, 0, 0b10011);
pub(super) const SMAX: Three = three(0, 0, 0b01100);
pub(super) const SMIN: Three = three(0, 0, 0b01101);
pub(super) const CMGT: Three = three(0, 0, 0b00110);
pub(super) const CMGE: Three = three(0, 0, 0b00111);
pub(super) const CMEQ: Three = three(1, 0, 0b10001);
/// To the left, or to the right by a negative number.
pub(super) const SSHL: Three = three(0, 0, 0b01000);
pub(super) const ABS: Two = two(0, 0, 0b01011);
pub(super) const NEG: Two = two(1, 0, 0b01011);
/// Halves elements, of the size that they get.
pub(super) const XTN: Two = Two(two(0, 0, 0b10010).0 & !(1 << 30));
pub(super) const UZP1: Three = permute(0b001);
pub(super) const UZP2: Three = permute(0b101);
pub(super) const ZIP1: Three = permute(0b011);
pub(super) const ZIP2: Three = permute(0b111);

// Of bits: the size is 0.
pub(super) const AND: Three = three(0, 0, 0b00011);
pub(super) const ORR: Three = three(0, 2, 0b00011);
pub(super) const EOR: Three = three(1, 0, 0b00011);
/// The bits of the first operand where the result has ones, else those of the second.
pub(super) const BSL: Three = three(1, 1, 0b00011);
/// The bits of the first operand where the second has ones; else the result's stay.
pub(super) const BIT: Three = three(1, 2, 0b00011);
/// The bits of the first operand where the second has zeros; else the result's stay.
pub(super) const BIF: Three = three(1, 3, 0b00011);
pub(super) const NOT: Two = two(1, 0, 0b00101);

/// A condition of a branch.
#[derive(Clone, Copy)]
pub(super) enum Condition {
    Equal = 0,
    /// As numbers without a sign.
    Below = 3,
    /// As numbers without a sign.
    NotAbove = 9,
}

/// Code that grows.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    pub(super) words: Vec<u32>,
    /// Whether a number did not fit into its field, so that the code is worth nothing.
    pub(super) overflowed: bool,
}

impl Assembler {
    fn word(&mut self, word: u32) {
        self.words.push(word);
    }

    /// The number as a field of `bits` bits.
    fn field(&mut self, number: usize, bits: u32) -> u32 {
        self.overflowed |= number >> bits != 0;
        number as u32 & ((1 << bits) - 1)
    }

    /// The signed distance between two words, as a field of `bits` bits.
    fn distance(&mut self, from: usize, to: usize, bits: u32) -> u32 {
        let distance = to as i64 - from as i64;
        self.overflowed |= distance >> (bits - 1) != distance >> 63;
        distance as u32 & ((1 << bits) - 1)
    }

    pub(super) fn three(&mut self, code: Three, size: Size, result: Vector, a: Vector, b: Vector) {
        self.word(code.0 | size << 22 | u32::from(b) << 16 | u32::from(a) << 5 | u32::from(result));
    }

    pub(super) fn two(&mut self, code: Two, size: Size, result: Vector, a: Vector) {
        self.word(code.0 | size << 22 | u32::from(a) << 5 | u32::from(result));
    }

    pub(super) fn copy(&mut self, result: Vector, a: Vector) {
        self.three(ORR, 0, result, a, a);
    }

    pub(super) fn clear(&mut self, result: Vector) {
        self.word(0x6f00_e400 | u32::from(result));
    }

    /// Shifts elements of 4 or 8 bytes to the left, by less than their width.
    pub(super) fn shift_left(&mut self, size: Size, result: Vector, a: Vector, by: u8) {
        let field = (8 << size) + u32::from(by);
        self.word(0x4f00_5400 | field << 16 | u32::from(a) << 5 | u32::from(result));
    }

    /// Shifts to the right, by at least 1 and at most the width; 0 follows.
    pub(super) fn shift_right(&mut self, size: Size, result: Vector, a: Vector, by: u8) {
        let field = (16 << size) - u32::from(by);
        self.word(0x6f00_0400 | field << 16 | u32::from(a) << 5 | u32::from(result));
    }

    /// Doubles elements of this size, of the first half; 0 goes before them.
    pub(super) fn widen(&mut self, size: Size, result: Vector, a: Vector) {
        self.word(0x2f00_a400 | (8 << size) << 16 | u32::from(a) << 5 | u32::from(result));
    }

    /// Moves 2, 4, 8 or 16 bytes between a register and the memory `offset` bytes behind `base`. A load clears the rest of the register.
    pub(super) fn memory(&mut self, bytes: usize, stores: bool, register: Vector, base: General, offset: usize) {
        self.overflowed |= !offset.is_multiple_of(bytes);
        let field = self.field(offset / bytes, 12);
        let code = match bytes {
            2 => 0x7d00_0000,
            4 => 0xbd00_0000,
            8 => 0xfd00_0000,
            _ => 0x3d80_0000,
        };
        let loads = u32::from(!stores) << 22;
        self.word(code | loads | field << 10 | u32::from(base) << 5 | u32::from(register));
    }

    /// Loads an element, and repeats it.
    pub(super) fn repeat(&mut self, size: Size, register: Vector, base: General) {
        self.word(0x4d40_c000 | size << 10 | u32::from(base) << 5 | u32::from(register));
    }

    /// Loads a general register from the memory `offset` bytes behind `base`.
    pub(super) fn load(&mut self, register: General, base: General, offset: usize) {
        let field = self.field(offset / 8, 12);
        self.word(0xf940_0000 | field << 10 | u32::from(base) << 5 | u32::from(register));
    }

    /// Stores a general register.
    pub(super) fn store(&mut self, register: General, base: General, offset: usize) {
        let field = self.field(offset / 8, 12);
        self.word(0xf900_0000 | field << 10 | u32::from(base) << 5 | u32::from(register));
    }

    /// `base + number`; 31 is the stack pointer.
    pub(super) fn add(&mut self, result: General, base: General, number: usize) {
        self.with_number(0x9100_0000, result, base, number);
    }

    /// `base - number`; 31 is the stack pointer.
    pub(super) fn subtract(&mut self, result: General, base: General, number: usize) {
        self.with_number(0xd100_0000, result, base, number);
    }

    /// `base - number`, of which the flags are.
    pub(super) fn subtract_and_test(&mut self, result: General, base: General, number: usize) {
        self.with_number(0xf100_0000, result, base, number);
    }

    /// A number below 4096, or a multiple of 4096.
    fn with_number(&mut self, code: u32, result: General, base: General, number: usize) {
        let (number, shifted) = if number.is_multiple_of(4096) { (number / 4096, number > 0) } else { (number, false) };
        let field = self.field(number, 12);
        self.word(code | u32::from(shifted) << 22 | field << 10 | u32::from(base) << 5 | u32::from(result));
    }

    /// `base + (index << shift)`.
    pub(super) fn add_shifted(&mut self, result: General, base: General, index: General, shift: u32) {
        let registers = u32::from(index) << 16 | shift << 10 | u32::from(base) << 5 | u32::from(result);
        self.word(0x8b00_0000 | registers);
    }

    pub(super) fn compare(&mut self, a: General, b: General) {
        self.word(0xeb00_001f | u32::from(b) << 16 | u32::from(a) << 5);
    }

    /// Changes no flag.
    pub(super) fn copy_general(&mut self, result: General, a: General) {
        self.word(0xaa00_03e0 | u32::from(a) << 16 | u32::from(result));
    }

    /// Puts two general registers below the end of the stack.
    pub(super) fn push(&mut self, a: General, b: General) {
        self.word(0xa9bf_03e0 | u32::from(b) << 10 | u32::from(a));
    }

    pub(super) fn pop(&mut self, a: General, b: General) {
        self.word(0xa8c1_03e0 | u32::from(b) << 10 | u32::from(a));
    }

    /// Puts the first halves of two vector registers below the end of the stack.
    pub(super) fn push_halves(&mut self, a: Vector, b: Vector) {
        self.word(0x6dbf_03e0 | u32::from(b) << 10 | u32::from(a));
    }

    pub(super) fn pop_halves(&mut self, a: Vector, b: Vector) {
        self.word(0x6cc1_03e0 | u32::from(b) << 10 | u32::from(a));
    }

    /// Gives a register the address `before` bytes in front of the first word.
    pub(super) fn address_before(&mut self, result: General, before: usize) {
        let distance = self.distance(4 * self.words.len() + before, 0, 21);
        self.word(0x1000_0000 | (distance & 3) << 29 | (distance >> 2) << 5 | u32::from(result));
    }

    pub(super) fn jump(&mut self, target: usize) {
        let distance = self.distance(self.words.len(), target, 26);
        self.word(0x1400_0000 | distance);
    }

    pub(super) fn jump_if(&mut self, condition: Condition, target: usize) {
        let distance = self.distance(self.words.len(), target, 19);
        self.word(0x5400_0000 | distance << 5 | condition as u32);
    }

    /// Makes the jump at a word lead here.
    pub(super) fn land(&mut self, at: usize) {
        let distance = self.distance(at, self.words.len(), 19);
        self.words[at] |= distance << 5;
    }

    pub(super) fn ret(&mut self) {
        self.word(0xd65f_03c0);
    }
}
