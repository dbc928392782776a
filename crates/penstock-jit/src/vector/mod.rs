//! Machine code for elementwise operators over contiguous elements: loops that keep what passes between operators in
//! vector registers.
//!
//! Cranelift has vectors of 16 bytes alone and no loops over them, so these loops are assembled here, for AVX2, AVX-512 and
//! the vectors of aarch64. `formula.rs` makes operations of the formulas of kernels, `operators.rs` and `complex.rs` say which
//! ones the operators without a formula are made of, `select.rs` builds them, `op.rs` lists them, `allocate.rs` gives them
//! registers. What instructions look like is in `x86` and `aarch64`.

#![expect(unsafe_code, reason = "makes memory executable and calls what is there")]

mod aarch64;
mod allocate;
mod complex;
mod executable;
mod formula;
mod op;
mod operators;
mod select;
mod x86;

use std::sync::OnceLock;

use penstock_data::DType;
use penstock_ir::ElementFn;
use penstock_kernels::{Level, level};
use smallvec::SmallVec;

use executable::Executable;
use select::{Builder, elem_of};

/// A kind of machine that there is code for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// AVX2 and FMA: x86-64-v3.
    Avx2,
    /// AVX-512: x86-64-v4.
    Avx512,
    /// The vectors that every aarch64 has.
    Neon,
}

impl Machine {
    /// Those whose code runs here, the best last. `PENSTOCK_SIMD=base` in the environment leaves none.
    pub fn all() -> &'static [Machine] {
        if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
            return if is_wanted() { &[Machine::Neon] } else { &[] };
        }
        match level() {
            Level::Base => &[],
            Level::V3 => &[Machine::Avx2],
            Level::V4 => &[Machine::Avx2, Machine::Avx512],
        }
    }

    /// The present one; `None` where there is no code for it.
    pub fn present() -> Option<Machine> {
        Machine::all().last().copied()
    }

    /// Bytes of a vector.
    pub fn vector(self) -> usize {
        match self {
            Machine::Avx2 => 32,
            Machine::Avx512 => 64,
            Machine::Neon => 16,
        }
    }
}

/// What an instruction takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// Elements of an operand of the region.
    Operand(u16),
    /// What an instruction before made.
    Made(u16),
}

/// A function of elements, applied.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// What it computes.
    pub function: ElementFn,
    /// The dtype of what it gives.
    pub to: DType,
    /// What it takes.
    pub ins: SmallVec<[Term; 3]>,
}

/// What a region reads.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// The dtype of its elements.
    pub dtype: DType,
    /// Whether it has one element for all.
    pub fixed: bool,
}

/// Instructions that run as one loop.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// What they read.
    pub operands: Vec<Operand>,
    /// In an order in which each follows those whose results it takes.
    pub insts: Vec<Instruction>,
    /// The instructions whose results are written.
    pub results: Vec<u16>,
    /// Whether there are only few elements to run it on.
    pub is_small: bool,
}

/// A table of addresses, numbers of elements and of rows, and a table of the bytes from row to row.
#[cfg(target_arch = "x86_64")]
type Entry = unsafe extern "sysv64" fn(*mut *mut u8, usize, usize, *const isize);
/// The same elsewhere.
#[cfg(not(target_arch = "x86_64"))]
type Entry = unsafe extern "C" fn(*mut *mut u8, usize, usize, *const isize);

/// The compiled loop of a [`Region`].
pub struct VectorLoop {
    entry: Entry,
    /// Elements of an iteration.
    lanes: usize,
    /// The bytes of an element of each operand and result, 0 for operands of one element.
    steps: SmallVec<[u8; 16]>,
    /// Operands; the others are results.
    operands: usize,
    instructions: usize,
    _code: Executable,
}

/// Whether [`VectorLoop::compile`] takes an operator on operands of the dtypes `from`, in a region whose widest elements, or parts of
/// such, have `widest` bytes.
pub fn supports(machine: Machine, widest: usize, inst: &Instruction, from: &[DType]) -> bool {
    matches!(widest, 4 | 8) && operators::supports(machine, widest, inst, from)
}

/// The bytes of as many elements as an iteration takes, at most: four vectors, and those of complex numbers are two each.
const VECTOR: usize = 512;

impl VectorLoop {
    /// Compiles a region for a machine, which is one of [`Machine::all`].
    ///
    /// `None` for a region with instructions that are not supported, for one whose code would be too large, and where memory cannot
    /// be made executable.
    pub fn compile(region: &Region, machine: Machine, widest: usize) -> Option<VectorLoop> {
        if !Machine::all().contains(&machine) {
            return None;
        }
        let mut builder = Builder::new(machine, widest);
        builder.region(region)?;
        let mut steps: SmallVec<[u8; 16]> = SmallVec::new();
        for operand in &region.operands {
            steps.push(if operand.fixed { 0 } else { operand.dtype.size() as u8 });
        }
        steps.extend(region.results.iter().map(|&r| region.insts[r as usize].to.size() as u8));
        let instructions = builder.nodes.len();
        let emitted = match machine {
            Machine::Neon => allocate::emit(&builder, steps.len(), aarch64::Aarch64::default()),
            _ => allocate::emit(&builder, steps.len(), x86::X86::new(machine)),
        }?;
        let code = Executable::new(&emitted.bytes)?;
        // SAFETY: the code at `entry` is a whole function of this signature, in this calling convention, and `code` keeps it
        // where it is.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(code.start().add(emitted.entry)) };
        Some(VectorLoop {
            entry,
            lanes: builder.stride(),
            steps,
            operands: region.operands.len(),
            instructions,
            _code: code,
        })
    }

    /// About how many times as long it takes for an element as copying one does: by what it reads and writes, and by the
    /// instructions of the machine for a vector.
    pub fn cost(&self) -> f64 {
        self.steps.len() as f64 / 4.0 + self.instructions as f64 / (1.5 * self.lanes as f64)
    }

    /// Computes `rows` rows of `n` elements of all results. The addresses in `table` may be others after that.
    ///
    /// # Safety
    /// `table` has an address for each operand and then for each result, and no others: of `n` readable elements, or of one for an operand
    /// with one, and of `n` writable ones; `steps` has as many numbers of bytes, and where an address is moved by them for each further
    /// row, the same holds there. What is written overlaps nothing else.
    #[inline]
    pub unsafe fn run(&self, table: &mut [*mut u8], n: usize, rows: usize, steps: &[isize]) {
        debug_assert_eq!(table.len(), self.steps.len());
        debug_assert!(rows < 2 || table.len() == steps.len());
        if n >= self.lanes && rows > 0 {
            // SAFETY: the caller's contract; the code touches whole vectors of the `n` elements of each row.
            unsafe { (self.entry)(table.as_mut_ptr(), n, rows, steps.as_ptr()) }
        } else if n > 0 {
            for row in 0..rows {
                // SAFETY: the caller's contract.
                unsafe { self.partial(table, n) };
                if row + 1 < rows {
                    table.iter_mut().zip(steps).for_each(|(at, &step)| *at = at.wrapping_offset(step));
                }
            }
        }
    }

    /// Computes fewer elements than an iteration takes, by way of whole vectors.
    ///
    /// # Safety
    /// As for [`VectorLoop::run`].
    #[cold]
    unsafe fn partial(&self, table: &[*mut u8], n: usize) {
        #[repr(C, align(64))]
        #[derive(Clone)]
        struct Vector([u8; VECTOR]);
        let mut vectors: SmallVec<[Vector; 16]> = SmallVec::from_elem(Vector([0; VECTOR]), table.len());
        let mut whole: SmallVec<[*mut u8; 16]> = SmallVec::new();
        for (k, ((vector, &at), &step)) in vectors.iter_mut().zip(table).zip(&self.steps).enumerate() {
            if step == 0 {
                whole.push(at);
                continue;
            }
            if k < self.operands {
                // SAFETY: the operand has `n` elements of `step` bytes, fewer than a vector.
                unsafe { std::ptr::copy_nonoverlapping(at, vector.0.as_mut_ptr(), n * step as usize) };
            }
            whole.push(vector.0.as_mut_ptr());
        }
        // SAFETY: each address is of a vector's elements, or of the one of an operand; results have vectors of their own.
        unsafe { (self.entry)(whole.as_mut_ptr(), self.lanes, 1, std::ptr::null()) };
        for k in self.operands..table.len() {
            // SAFETY: the result has room for `n` elements of its size.
            unsafe { std::ptr::copy_nonoverlapping(whole[k], table[k], n * self.steps[k] as usize) };
        }
    }
}

/// Whether the environment asks for more than what every processor of its kind does: only there is a level to ask on x86.
fn is_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("PENSTOCK_SIMD").is_none_or(|simd| simd != "base"))
}

/// Bytes of the elements that vector loops have of a dtype: a complex number has two.
pub fn element_size(dtype: DType) -> Option<usize> {
    elem_of(dtype).map(|_| dtype.real().size())
}
