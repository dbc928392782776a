//! Fused elementwise programs: a straight line of loops run tile by tile, so that what passes
//! between them stays in the first-level cache.

#![expect(unsafe_code, reason = "runs loops over raw memory")]

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use crate::loops::{Fault, Lane, LoopFn};
use crate::pool::{Shared, grain, parallel_for, threads};

/// Bytes of temporaries: half of a small first-level cache.
const TEMPS: usize = 24 * 1024;
/// The longest and the shortest tile, in elements.
const MAX_TILE: usize = 4096;
const MIN_TILE: usize = 64;
/// The most operands of an instruction.
const MAX_OPERANDS: usize = 4;
/// Estimated time of one instruction on one element.
const NS_PER_OP: f64 = 0.15;

/// A value of a program under construction: an input, a constant or a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileReg(u32);

enum Def {
    Input(usize),
    Constant(usize),
    Result,
}

struct BuildOp {
    f: LoopFn,
    operands: SmallVec<[TileReg; 3]>,
    size: usize,
}

/// Collects the inputs, instructions and outputs of a [`TileProgram`].
#[derive(Default)]
pub struct TileBuilder {
    defs: Vec<Def>,
    sizes: Vec<usize>,
    inputs: usize,
    constants: Vec<[u8; 16]>,
    ops: Vec<BuildOp>,
    outputs: Vec<TileReg>,
}

impl TileBuilder {
    fn push(&mut self, def: Def, size: usize) -> TileReg {
        self.defs.push(def);
        self.sizes.push(size);
        TileReg(self.defs.len() as u32 - 1)
    }

    /// The next input, of elements of `size` bytes.
    pub fn input(&mut self, size: usize) -> TileReg {
        self.inputs += 1;
        self.push(Def::Input(self.inputs - 1), size)
    }

    /// One value for all elements, of at most 16 bytes.
    pub fn constant(&mut self, value: &[u8]) -> TileReg {
        let mut bytes = [0; 16];
        bytes[..value.len()].copy_from_slice(value);
        self.constants.push(bytes);
        self.push(Def::Constant(self.constants.len() - 1), value.len())
    }

    /// An instruction whose result has elements of `size` bytes.
    ///
    /// # Safety
    /// `f` is a loop of as many operands as given (at most 4), of their element sizes, with results of `size` bytes.
    pub unsafe fn op(&mut self, f: LoopFn, operands: &[TileReg], size: usize) -> TileReg {
        assert!(operands.len() <= MAX_OPERANDS && operands.iter().all(|r| (r.0 as usize) < self.defs.len()));
        self.ops.push(BuildOp { f, operands: SmallVec::from_slice(operands), size });
        self.push(Def::Result, size)
    }

    /// Makes `reg` the next output.
    pub fn output(&mut self, reg: TileReg) {
        assert!((reg.0 as usize) < self.defs.len());
        self.outputs.push(reg);
    }

    /// Assigns places by liveness. An instruction whose result is not used is dropped.
    pub fn build(self) -> TileProgram {
        // The last use of every register; outputs live to the end.
        let end = self.ops.len();
        let mut last: Vec<Option<usize>> = vec![None; self.defs.len()];
        for r in &self.outputs {
            last[r.0 as usize] = Some(end);
        }
        let result_of: Vec<usize> = (0..self.defs.len()).filter(|&r| matches!(self.defs[r], Def::Result)).collect();
        let mut used = vec![false; end];
        for i in (0..end).rev() {
            used[i] = last[result_of[i]].is_some();
            if used[i] {
                for r in &self.ops[i].operands {
                    let l = &mut last[r.0 as usize];
                    *l = Some(l.map_or(i, |l| l.max(i)));
                }
            }
        }
        // Slots are handed out and freed in order; one freed at an instruction is free for the next,
        // so that no loop runs in place.
        let mut place: Vec<Place> = self
            .defs
            .iter()
            .map(|d| match d {
                Def::Input(i) => Place::Input(*i),
                Def::Constant(i) => Place::Constant(*i),
                Def::Result => Place::Slot(usize::MAX),
            })
            .collect();
        let mut free: Vec<usize> = Vec::new();
        let mut slots = 0;
        let mut widest = 1;
        let mut steps = Vec::new();
        for i in (0..end).filter(|&i| used[i]) {
            let op = &self.ops[i];
            let slot = free.pop().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            widest = widest.max(op.size);
            place[result_of[i]] = Place::Slot(slot);
            let output = self.outputs.iter().position(|r| r.0 as usize == result_of[i]);
            steps.push(Step {
                f: op.f,
                operands: op
                    .operands
                    .iter()
                    .map(|r| Operand {
                        place: place[r.0 as usize],
                        size: self.sizes[r.0 as usize],
                        output: self.outputs.iter().position(|o| o == r),
                    })
                    .collect(),
                slot,
                output,
            });
            let mut freed: SmallVec<[usize; 4]> = SmallVec::new();
            for r in &op.operands {
                if let (Place::Slot(s), Some(l)) = (place[r.0 as usize], last[r.0 as usize])
                    && l == i
                    && !freed.contains(&s)
                {
                    freed.push(s);
                }
            }
            free.extend(freed);
        }
        // Inputs that are outputs get a place too, for when outputs replace inputs.
        for r in &self.outputs {
            if matches!(self.defs[r.0 as usize], Def::Input(_)) {
                widest = widest.max(self.sizes[r.0 as usize]);
            }
        }
        let mut stages = slots;
        let outputs = self
            .outputs
            .iter()
            .enumerate()
            .map(|(j, r)| {
                let passed = matches!(self.defs[r.0 as usize], Def::Input(_));
                stages += usize::from(passed);
                let first = self.outputs.iter().position(|o| o == r) == Some(j);
                let direct = first && matches!(self.defs[r.0 as usize], Def::Result);
                Output {
                    operand: Operand {
                        place: place[r.0 as usize],
                        size: self.sizes[r.0 as usize],
                        output: self.outputs.iter().position(|o| o == r).filter(|&o| o != j),
                    },
                    direct,
                    stage: passed.then(|| stages - 1),
                }
            })
            .collect();
        let slots = stages;
        let tile = TEMPS / (slots.max(1) * widest);
        let tile = tile.clamp(MIN_TILE, MAX_TILE) / MIN_TILE * MIN_TILE;
        let input_sizes =
            (0..self.defs.len()).filter(|&r| matches!(self.defs[r], Def::Input(_))).map(|r| self.sizes[r]).collect();
        TileProgram { steps, outputs, constants: self.constants, input_sizes, slots, widest, tile }
    }
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Input(usize),
    Constant(usize),
    Slot(usize),
}

#[derive(Debug)]
struct Operand {
    place: Place,
    size: usize,
    /// The output that holds the same value when outputs are written directly.
    output: Option<usize>,
}

#[derive(Debug)]
struct Step {
    f: LoopFn,
    operands: SmallVec<[Operand; 3]>,
    slot: usize,
    /// The output that the result is, if any.
    output: Option<usize>,
}

#[derive(Debug)]
struct Output {
    operand: Operand,
    /// Whether the instruction that computes it can write to it.
    direct: bool,
    /// The slot of an input that is passed through, used when outputs replace inputs.
    stage: Option<usize>,
}

/// A straight line of elementwise loops over inputs of one length.
#[derive(Debug)]
pub struct TileProgram {
    steps: Vec<Step>,
    outputs: SmallVec<[Output; 2]>,
    constants: Vec<[u8; 16]>,
    input_sizes: SmallVec<[usize; 8]>,
    slots: usize,
    widest: usize,
    tile: usize,
}

#[repr(C, align(64))]
struct Temps([MaybeUninit<u8>; TEMPS]);

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([MaybeUninit<u8>; 64]);

#[repr(C, align(16))]
struct Constant([u8; 16]);

impl TileProgram {
    /// An empty program to add to.
    pub fn builder() -> TileBuilder {
        TileBuilder::default()
    }

    /// The number of inputs that [`TileProgram::run`] takes.
    pub fn inputs(&self) -> usize {
        self.input_sizes.len()
    }

    /// The number of outputs that [`TileProgram::run`] writes.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// The elements that are computed at a time.
    pub fn tile(&self) -> usize {
        self.tile
    }

    /// Computes `n` elements of every output. The result does not depend on the size of the tiles
    /// or on the number of threads. When a fault is reported, some outputs are not written.
    ///
    /// # Safety
    /// There are as many lanes and outputs as the program was built with; lanes are aligned and readable for
    /// `n` elements (one if fixed), outputs aligned and writable for `n`. An output may be equal to an
    /// advancing input of the same element size; else outputs overlap neither inputs nor each other.
    pub unsafe fn run(&self, n: usize, ins: &[Lane], outs: &[*mut u8]) -> Result<(), Fault> {
        assert!(ins.len() == self.input_sizes.len() && outs.len() == self.outputs.len());
        let work = grain(NS_PER_OP * self.steps.len().max(1) as f64);
        if n / 2 < work || n <= self.tile || threads() == 1 {
            // SAFETY: the same contract.
            return unsafe { self.run_serial(n, ins, outs) };
        }
        let lanes: SmallVec<[(Shared<u8>, usize); 8]> =
            ins.iter().map(|l| (Shared(l.ptr.cast_mut()), l.step)).collect();
        let shared: SmallVec<[Shared<u8>; 4]> = outs.iter().map(|&o| Shared(o)).collect();
        let failed = AtomicBool::new(false);
        let tiles = n.div_ceil(self.tile);
        parallel_for(tiles, work.div_ceil(self.tile), |range| {
            let (from, to) = (range.start * self.tile, n.min(range.end * self.tile));
            // SAFETY: `from` is below `n`.
            let ins: SmallVec<[Lane; 8]> =
                lanes.iter().map(|&(p, step)| unsafe { Lane { ptr: p.get(), step }.at(from) }).collect();
            let outs: SmallVec<[*mut u8; 4]> = shared
                .iter()
                .zip(&self.outputs)
                // SAFETY: `from` is below `n`, for which the output is writable.
                .map(|(p, o)| unsafe { p.get().add(from * o.operand.size) })
                .collect();
            // SAFETY: the same contract on a part of the elements; parts are disjoint.
            if unsafe { self.run_serial(to - from, &ins, &outs) }.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
        });
        if failed.load(Ordering::Relaxed) { Err(Fault::DivideByZero) } else { Ok(()) }
    }

    /// # Safety
    /// As for [`TileProgram::run`].
    unsafe fn run_serial(&self, n: usize, ins: &[Lane], outs: &[*mut u8]) -> Result<(), Fault> {
        let in_place = outs.iter().any(|&o| ins.iter().any(|l| std::ptr::eq(l.ptr, o)));
        let tile = self.tile.min(n.next_multiple_of(MIN_TILE));
        let needed = self.slots * tile * self.widest;
        if n <= 16 && self.slots * MIN_TILE * self.widest <= 4096 {
            let mut temps = [Line([MaybeUninit::uninit(); 64]); 64];
            // SAFETY: the same contract; `temps` holds `slots` tiles of `MIN_TILE` elements.
            return unsafe { self.run_tiles(n, ins, outs, MIN_TILE, temps.as_mut_ptr().cast(), in_place) };
        }
        if needed <= TEMPS {
            let mut temps = Temps([MaybeUninit::uninit(); TEMPS]);
            // SAFETY: the same contract; `temps` holds `slots` tiles.
            unsafe { self.run_tiles(n, ins, outs, tile, temps.0.as_mut_ptr().cast(), in_place) }
        } else {
            let mut temps: Vec<Line> = Vec::with_capacity(needed.div_ceil(64));
            // SAFETY: the same contract; `temps` has room for `slots` tiles.
            unsafe { self.run_tiles(n, ins, outs, tile, temps.as_mut_ptr().cast(), in_place) }
        }
    }

    /// Runs the program over tiles of `tile` elements. With `buffered`, outputs are computed in
    /// temporaries and copied at the end of a tile, because they are also inputs.
    ///
    /// # Safety
    /// As for [`TileProgram::run`]; `temps` is writable for `slots * tile * widest` bytes and
    /// aligned to 64.
    unsafe fn run_tiles(
        &self,
        n: usize,
        ins: &[Lane],
        outs: &[*mut u8],
        tile: usize,
        temps: *mut u8,
        buffered: bool,
    ) -> Result<(), Fault> {
        let stride = tile * self.widest;
        let constants: SmallVec<[Constant; 8]> = self.constants.iter().map(|&c| Constant(c)).collect();
        let mut start = 0;
        while start < n {
            let len = tile.min(n - start);
            let lane = |operand: &Operand| match (operand.place, operand.output) {
                // SAFETY: `start < n`, for which lanes are readable.
                (Place::Input(i), _) => unsafe { ins[i].at(start) },
                (Place::Constant(i), _) => Lane::fixed(constants[i].0.as_ptr()),
                (Place::Slot(_), Some(o)) if !buffered => {
                    // SAFETY: `start < n`, for which outputs are writable; it was written before.
                    Lane::new(unsafe { outs[o].add(start * operand.size) }, operand.size)
                }
                // SAFETY: there are `slots` strides of temporaries.
                (Place::Slot(s), _) => Lane::new(unsafe { temps.add(s * stride) }, operand.size),
            };
            for step in &self.steps {
                let mut lanes = [Lane::fixed(std::ptr::null()); MAX_OPERANDS];
                for (l, operand) in lanes.iter_mut().zip(&step.operands) {
                    *l = lane(operand);
                }
                let out = match step.output {
                    // SAFETY: `start < n`, for which outputs are writable.
                    Some(o) if !buffered => unsafe { outs[o].add(start * self.outputs[o].operand.size) },
                    // SAFETY: there are `slots` strides of temporaries.
                    _ => unsafe { temps.add(step.slot * stride) },
                };
                // SAFETY: `op` was promised that the loop takes these operands; the places are
                // readable and writable for `len` elements, and the result's place is no operand's.
                unsafe { (step.f)(len, &lanes[..step.operands.len()], out)? };
            }
            if buffered {
                // Save the inputs that are passed through before any output replaces them.
                for output in &self.outputs {
                    if let Some(slot) = output.stage {
                        // SAFETY: there are `slots` strides of temporaries, of `len` elements at least.
                        unsafe { copy_lane(lane(&output.operand), temps.add(slot * stride), len, output.operand.size) };
                    }
                }
            }
            for (output, &out) in self.outputs.iter().zip(outs) {
                if output.direct && !buffered {
                    continue;
                }
                let size = output.operand.size;
                let src = match output.stage {
                    // SAFETY: there are `slots` strides of temporaries.
                    Some(slot) if buffered => Lane::new(unsafe { temps.add(slot * stride) }, size),
                    _ => lane(&output.operand),
                };
                // SAFETY: the operand is readable and the output writable for `len` elements.
                unsafe { copy_lane(src, out.add(start * size), len, size) };
            }
            start += len;
        }
        Ok(())
    }
}

/// Copies `n` elements of `size` bytes from a lane.
///
/// # Safety
/// The lane is readable and `dst` writable for `n` elements.
unsafe fn copy_lane(src: Lane, dst: *mut u8, n: usize, size: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if src.step == 0 {
            (0..n).for_each(|i| src.ptr.copy_to(dst.add(i * size), size));
        } else {
            src.ptr.copy_to(dst, n * size);
        }
    }
}

#[cfg(test)]
mod tests {
    use penstock_data::DType;

    use super::*;
    use crate::{Binary, Unary, binary, unary};

    fn program() -> TileProgram {
        let d = DType::F32;
        let mut b = TileProgram::builder();
        let (x, y) = (b.input(4), b.input(4));
        let two = b.constant(&2f32.to_ne_bytes());
        // SAFETY: loops of f32 operands and results, of as many operands as given.
        unsafe {
            let e = b.op(unary(Unary::Exp, d).unwrap(), &[x], 4);
            let s = b.op(binary(Binary::Add, d).unwrap(), &[e, y], 4);
            let _unused = b.op(binary(Binary::Mul, d).unwrap(), &[s, s], 4);
            let t = b.op(binary(Binary::Mul, d).unwrap(), &[s, two], 4);
            let u = b.op(binary(Binary::Sub, d).unwrap(), &[t, e], 4);
            b.output(u);
            b.output(s);
            b.output(x);
            b.output(u);
        }
        b.build()
    }

    #[test]
    fn agrees_with_the_formula_for_any_length() {
        let p = program();
        for n in [0, 1, 2, 63, 64, 65, 1000, 5000, 400_000] {
            let x: Vec<f32> = (0..n).map(|i| (i % 77) as f32 * 0.1 - 3.0).collect();
            let y = 1.5f32;
            let mut outs = vec![vec![0f32; n]; 4];
            let ptrs: Vec<*mut u8> = outs.iter_mut().map(|o| o.as_mut_ptr().cast()).collect();
            let ins = [Lane::new(x.as_ptr().cast(), 4), Lane::fixed((&raw const y).cast())];
            // SAFETY: inputs and outputs of `n` elements.
            unsafe { p.run(n, &ins, &ptrs).unwrap() };
            for i in 0..n {
                let e = crate::math::Math::exp(x[i]);
                let s = e + y;
                assert_eq!([outs[0][i], outs[1][i], outs[2][i], outs[3][i]], [s * 2.0 - e, s, x[i], s * 2.0 - e]);
            }
        }
    }

    #[test]
    fn outputs_may_replace_inputs() {
        let p = program();
        let n = 9000;
        let x: Vec<f32> = (0..n).map(|i| (i % 77) as f32 * 0.1 - 3.0).collect();
        let (mut a, mut b) = (x.clone(), x.clone());
        let (mut c, mut d) = (vec![0f32; n], vec![0f32; n]);
        let ins = [Lane::new(a.as_ptr().cast(), 4), Lane::new(b.as_ptr().cast(), 4)];
        let outs = [a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), c.as_mut_ptr().cast(), d.as_mut_ptr().cast()];
        // SAFETY: inputs and outputs of `n` elements; two outputs are inputs.
        unsafe { p.run(n, &ins, &outs).unwrap() };
        for i in 0..n {
            let e = crate::math::Math::exp(x[i]);
            let s = e + x[i];
            assert_eq!([a[i], b[i], c[i], d[i]], [s * 2.0 - e, s, x[i], s * 2.0 - e]);
        }
    }
}
