//! Fused regions on the CPU: tile by tile, so that what passes between the instructions stays in
//! the first-level cache.

#![expect(unsafe_code, reason = "runs resolved loops over tiles of raw memory")]

use std::cell::RefCell;
use std::sync::Mutex;

use penstock_data::{ALIGNMENT, DType, Error, Result, Tensor, num_elements};
use penstock_ir::{Cpu, Def, Graph, Region};
use penstock_kernels::pool::parallel_for;
use penstock_kernels::{Fault, Lane, LoopFn};
use penstock_passes::evaluate::{fault, resolve};
use smallvec::SmallVec;

/// Bytes of temporaries of one tile: half of a first-level data cache.
const SCRATCH: usize = 24 << 10;
/// The least and the most elements of a tile.
const TILE: std::ops::RangeInclusive<usize> = 256..=4096;
/// The most operands of an instruction.
const ARITY: usize = 4;
/// Elements from which tiles are spread over threads, and the least that a thread is given.
const SPLIT: usize = 1 << 17;
const PIECE: usize = 1 << 15;

/// Where an instruction of the program reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Input(u16),
    Output(u16),
    /// Temporary memory, by slot, of elements of that many bytes.
    Temp(u16, u8),
}

struct Op {
    f: LoopFn,
    ins: SmallVec<[Place; ARITY]>,
    out: Place,
}

/// A fused region, resolved to loops over tiles.
pub(crate) struct TileProgram {
    inputs: Vec<DType>,
    outputs: Vec<DType>,
    ops: Vec<Op>,
    temps: usize,
    /// Elements of a tile.
    tile: usize,
    /// Bytes of one temporary.
    slot: usize,
}

impl TileProgram {
    /// Resolves the region of a `fused` instruction.
    ///
    /// # Errors
    /// `Internal` where the region holds anything but elementwise instructions on its own values.
    pub(crate) fn new(graph: &Graph, region: Region) -> Result<TileProgram> {
        let data = &graph.regions[region];
        let dtype = |v| graph.ty(v).dtype();
        let mut program = TileProgram {
            inputs: data.params.iter().map(|&v| dtype(v)).collect(),
            outputs: data.results.iter().map(|&v| dtype(v)).collect(),
            ops: Vec::with_capacity(data.insts.len()),
            temps: 0,
            tile: 0,
            slot: 0,
        };
        let mut places: rustc_hash::FxHashMap<_, _> =
            data.params.iter().enumerate().map(|(i, &v)| (v, Place::Input(i as u16))).collect();
        let mut last_use: rustc_hash::FxHashMap<_, usize> = rustc_hash::FxHashMap::default();
        for (i, &inst) in data.insts.iter().enumerate() {
            last_use.extend(graph.insts[inst].operands.iter().map(|&v| (v, i)));
        }
        let mut free: Vec<u16> = Vec::new();
        let mut widest = 1;
        for (i, &inst) in data.insts.iter().enumerate() {
            let op = &graph.insts[inst];
            let (Cpu::Elementwise(lookup), [result]) = (op.op.cpu, &op.results[..]) else {
                return Err(Error::internal(format!("'{}' is in a fused region", op.op.name)));
            };
            let ins: SmallVec<[Place; ARITY]> = op
                .operands
                .iter()
                .map(|v| {
                    places.get(v).copied().ok_or_else(|| Error::internal("a fused region uses a value from outside"))
                })
                .collect::<Result<_>>()?;
            if ins.len() > ARITY {
                return Err(Error::internal(format!("'{}' has more than {ARITY} operands", op.op.name)));
            }
            let f = resolve(lookup, op.operands.iter().map(|&v| dtype(v)), &op.attrs)?;
            let out = match data.results.iter().position(|v| v == result) {
                Some(k) => Place::Output(k as u16),
                None => {
                    let slot = free.pop().unwrap_or_else(|| {
                        program.temps += 1;
                        program.temps as u16 - 1
                    });
                    Place::Temp(slot, dtype(*result).size() as u8)
                }
            };
            // The slots of dead operands are given back after the result has one, so that no
            // instruction writes where it reads.
            for (k, v) in op.operands.iter().enumerate() {
                if let Place::Temp(slot, _) = ins[k]
                    && last_use.get(v) == Some(&i)
                    && !ins[..k].contains(&ins[k])
                {
                    free.push(slot);
                }
            }
            widest = widest.max(dtype(*result).size());
            places.insert(*result, out);
            program.ops.push(Op { f, ins, out });
        }
        for (k, v) in data.results.iter().enumerate() {
            let made =
                matches!(graph.values[*v].def, Def::Result(..)) && places.get(v) == Some(&Place::Output(k as u16));
            if !made {
                return Err(Error::internal("a fused region gives a value twice, or one that it does not make"));
            }
        }
        program.tile = (SCRATCH / (widest * program.temps.max(1))).clamp(*TILE.start(), *TILE.end()) & !63;
        program.slot = program.tile * widest;
        Ok(program)
    }

    /// Runs the program: `outputs` become tensors of extents `dims`, their memory used again where it may be.
    ///
    /// # Errors
    /// `InvalidArgument` for inputs that are not those of the program and for a division by zero; `ResourceExhausted`.
    pub(crate) fn run(&self, dims: &[usize], inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<()> {
        let n = num_elements(dims).ok_or_else(|| Error::exhausted(format!("shape {dims:?} is too large")))?;
        if inputs.len() != self.inputs.len() || outputs.len() != self.outputs.len() {
            return Err(Error::invalid("inputs or outputs are missing"));
        }
        let mut ins: SmallVec<[Lane; 8]> = SmallVec::new();
        for (t, &dtype) in inputs.iter().zip(&self.inputs) {
            if t.dtype() != dtype || (t.len() != 1 && t.dims() != dims) {
                return Err(Error::invalid(format!("expected {dtype}{dims:?}, got {}{:?}", t.dtype(), t.dims())));
            }
            ins.push(if t.len() == 1 { Lane::fixed(t.as_ptr()) } else { Lane::new(t.as_ptr(), dtype.size()) });
        }
        let mut outs: SmallVec<[(*mut u8, usize); 4]> = SmallVec::new();
        for (t, &dtype) in outputs.iter_mut().zip(&self.outputs) {
            outs.push((t.prepare(dtype, dims)?, dtype.size()));
        }
        if n == 0 {
            return Ok(());
        }
        let memory = Memory { ins: &ins, outs: &outs };
        if n < SPLIT {
            // SAFETY: the lanes and outputs were just made for `n` elements of the program's dtypes; each
            // output has one owner, so none overlaps an input or another output.
            return unsafe { self.range(&memory, 0, n) }.map_err(fault);
        }
        let failed: Mutex<Option<Fault>> = Mutex::new(None);
        let memory = &memory;
        parallel_for(n.div_ceil(self.tile), PIECE.div_ceil(self.tile), |tiles| {
            let (start, end) = (tiles.start * self.tile, (tiles.end * self.tile).min(n));
            // SAFETY: as above; the ranges of different calls are disjoint.
            if let Err(fault) = unsafe { self.range(memory, start, end) }
                && let Ok(mut failed) = failed.lock()
            {
                *failed = Some(fault);
            }
        });
        failed.into_inner().ok().flatten().map_or(Ok(()), |f| Err(fault(f)))
    }

    /// Computes elements `start .. end`.
    ///
    /// # Safety
    /// `memory` has the lanes and outputs of the program, for at least `end` elements; nobody else
    /// touches these elements of the outputs, which overlap no lane.
    unsafe fn range(&self, memory: &Memory<'_>, start: usize, end: usize) -> Result<(), Fault> {
        thread_local! {
            static SPARE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let mut scratch = SPARE.take();
        scratch.resize(scratch.len().max(self.temps * self.slot + ALIGNMENT), 0);
        let skew = scratch.as_ptr().align_offset(ALIGNMENT);
        // SAFETY: the vector is ALIGNMENT bytes longer than the slots.
        let temps = unsafe { scratch.as_mut_ptr().add(skew) };
        let mut result = Ok(());
        let mut at = start;
        while at < end && result.is_ok() {
            let len = self.tile.min(end - at);
            // SAFETY: the caller's contract, for elements inside `start .. end`; `temps` has `self.temps` slots.
            result = unsafe { self.tile(memory, temps, at, len) };
            at += len;
        }
        SPARE.set(scratch);
        result
    }

    /// Computes elements `at .. at + len` of one tile.
    ///
    /// # Safety
    /// As for [`TileProgram::range`]; `temps` starts `self.temps` slots of `self.slot` bytes, and `len` is at most
    /// `self.tile`.
    #[inline]
    unsafe fn tile(&self, memory: &Memory<'_>, temps: *mut u8, at: usize, len: usize) -> Result<(), Fault> {
        let mut lanes = [Lane::fixed(temps); ARITY];
        for op in &self.ops {
            for (lane, place) in lanes.iter_mut().zip(&op.ins) {
                *lane = match *place {
                    // SAFETY: the lane has more than `at` elements.
                    Place::Input(i) => unsafe { memory.ins[i as usize].at(at) },
                    Place::Output(i) => {
                        let (ptr, size) = memory.outs[i as usize];
                        // SAFETY: the output has more than `at` elements.
                        Lane::new(unsafe { ptr.add(at * size) }, size)
                    }
                    Place::Temp(slot, size) => {
                        // SAFETY: the slot is one of `self.temps`.
                        Lane::new(unsafe { temps.add(slot as usize * self.slot) }, size as usize)
                    }
                };
            }
            let out = match op.out {
                Place::Output(i) => {
                    let (ptr, size) = memory.outs[i as usize];
                    // SAFETY: the output has more than `at` elements.
                    unsafe { ptr.add(at * size) }
                }
                // SAFETY: the slot is one of `self.temps`.
                Place::Temp(slot, _) => unsafe { temps.add(slot as usize * self.slot) },
                Place::Input(_) => return Ok(()),
            };
            // SAFETY: every lane has `len` elements of the dtype that the loop was resolved for (an
            // instruction reads a slot only after the one that made its operand has filled it), and no
            // lane overlaps `out`: a slot is given to a result while its operands still hold theirs.
            unsafe { (op.f)(len, &lanes[..op.ins.len()], out)? };
        }
        Ok(())
    }
}

/// Where a run of a program reads and writes.
struct Memory<'a> {
    ins: &'a [Lane],
    outs: &'a [(*mut u8, usize)],
}

// SAFETY: the pointers are those of tensors that outlive the run; threads read the inputs and write
// disjoint ranges of the outputs.
unsafe impl Sync for Memory<'_> {}
