//! Running a plan: a walk over its steps.

#![expect(unsafe_code, reason = "registers are read and written by number; loops run over raw memory")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use penstock_data::{Bool8, Error, Result, Tensor};
use penstock_ir::{Call, Env, OutTypes, Profiled, Profiler, Type};
use penstock_kernels::{Lane, broadcast_dims, elementwise_flat};
use penstock_passes::evaluate::{broadcast_loop, broken_promise, check_promise, check_result, fault, infer};
use smallvec::SmallVec;

use super::slab::SlabStep;
use super::step::{BroadcastStep, FusedStep, KernelStep, LoopStep, Reg, Step, UpdateStep, WriteStep};
use super::strip::StripStep;
use super::{Frame, Kind, Plan, calls};
use crate::variable::{Arg, Variable};
use crate::work::{Weight, is_heavy, is_heavy_on};
use crate::{offload, state};

/// Nanoseconds of estimated work between two polls of the host.
const POLL_EVERY: i64 = 2_000_000;
/// Nanoseconds that a brief kernel counts for.
const BRIEF_NS: i64 = 1_000;

impl Plan {
    /// Runs the plan on arguments that were checked against its input types.
    pub(crate) fn run(self: &Arc<Self>, args: &[Arg], env: &dyn Env) -> Result<SmallVec<[Tensor; 2]>> {
        let mut outputs = SmallVec::new();
        self.run_frame(self.enter(args)?, args, env, &mut outputs)?;
        Ok(outputs)
    }

    /// A frame that holds the arguments.
    pub(super) fn enter(&self, args: &[Arg]) -> Result<Box<Frame>> {
        let mut frame = self.take_frame()?;
        for &(reg, index) in &self.arguments {
            if let Arg::Tensor(tensor) = &args[index] {
                frame.regs[reg as usize] = tensor.clone();
            }
        }
        Ok(frame)
    }

    /// As [`Plan::run`], but takes the tensors that it reads out of `args`, and adds the results to `outputs`.
    #[inline]
    pub(crate) fn run_taking(
        self: &Arc<Self>,
        args: &mut [Arg],
        env: &dyn Env,
        outputs: &mut SmallVec<[Tensor; 2]>,
    ) -> Result<()> {
        let mut frame = self.take_frame()?;
        for &(reg, index) in &self.arguments {
            if let Arg::Tensor(tensor) = &mut args[index] {
                std::mem::swap(&mut frame.regs[reg as usize], tensor);
            }
        }
        self.run_frame(frame, args, env, outputs)
    }

    /// Runs the plan on a frame that holds the arguments.
    fn run_frame(
        self: &Arc<Self>,
        mut frame: Box<Frame>,
        args: &[Arg],
        env: &dyn Env,
        outputs: &mut SmallVec<[Tensor; 2]>,
    ) -> Result<()> {
        let mut at = 0;
        // A frame that a panic or an error leaves behind is dropped, never used again.
        let walked = catch_unwind(AssertUnwindSafe(|| self.walk(&mut frame, args, env, &mut at)));
        let called = walked
            .unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))
            .map_err(|e| self.locate(e, at, &frame.rounds))?;
        if called {
            return calls::run(self, frame, args, at, env, outputs);
        }
        self.leave(frame, outputs);
        Ok(())
    }

    /// Adds the results that a finished run has left in its frame.
    #[inline]
    pub(super) fn leave(&self, mut frame: Box<Frame>, outputs: &mut SmallVec<[Tensor; 2]>) {
        for out in &self.outputs {
            let reg = &mut frame.regs[out.reg as usize];
            outputs.push(if out.take { std::mem::take(reg) } else { reg.clone() });
        }
        self.keep_frame(frame);
    }

    /// The error of step `at`, with its operator and place.
    #[cold]
    pub(super) fn locate(&self, error: Error, at: usize, rounds: &[u64]) -> Error {
        // A loop's steps end with its jump back; those of the loops around it follow.
        let around = self.steps.iter().enumerate().skip(at).filter_map(|(end, step)| match step {
            Step::Back { target, number, .. } if (*target as usize..=end).contains(&at) => Some(*number as usize),
            _ => None,
        });
        let mut rounds: Vec<u64> = around.map(|number| rounds[number] + 1).collect();
        rounds.reverse();
        let error = error.in_rounds(&rounds);
        match self.origins.get(at) {
            // What a callee made known stays.
            Some((_, loc)) if error.loc().is_some() && matches!(self.steps.get(at), Some(Step::Call(_))) => {
                error.called_at(*loc)
            }
            Some((op, loc)) => error.in_op(op).at(*loc),
            None => error,
        }
    }

    #[inline]
    fn take_frame(&self) -> Result<Box<Frame>> {
        match self.frames.take() {
            Some(mut frame) => {
                if self.loops > 0 {
                    frame.rounds.fill(0);
                }
                Ok(frame)
            }
            None => self.make_frame(),
        }
    }

    fn make_frame(&self) -> Result<Box<Frame>> {
        let mut regs = self
            .kinds
            .iter()
            .map(|kind| match kind {
                Kind::Inline(dtype, dims) => Tensor::zeros(*dtype, dims),
                _ => Ok(Tensor::default()),
            })
            .collect::<Result<Box<[Tensor]>>>()?;
        for (reg, value) in &self.constants {
            regs[*reg as usize] = value.clone();
        }
        Ok(Box::new(Frame { regs, rounds: vec![0; self.loops].into() }))
    }

    #[inline]
    fn keep_frame(&self, mut frame: Box<Frame>) {
        for &(reg, _) in &self.arguments {
            frame.regs[reg as usize] = Tensor::default();
        }
        for &reg in &self.sweep {
            let reg = &mut frame.regs[reg as usize];
            if reg.as_mut_ptr().is_none() {
                *reg = Tensor::default();
            }
        }
        if self.planned_bytes > self.thresholds.kept_bytes {
            for (reg, kind) in frame.regs.iter_mut().zip(&self.kinds) {
                if matches!(kind, Kind::Bytes(_) | Kind::Any) {
                    *reg = Tensor::default();
                }
            }
        }
        self.frames.put(frame);
    }

    /// Runs the steps from number `at` on; `at` is the number of the one that runs. True where that is a call, which the
    /// caller of this makes before it goes on behind it; false at the end.
    pub(super) fn walk(
        self: &Arc<Self>,
        frame: &mut Frame,
        args: &[Arg],
        env: &dyn Env,
        at: &mut usize,
    ) -> Result<bool> {
        match env.profiler() {
            None => self.walk_noting(frame, args, env, at, ()),
            Some(profiler) => self.walk_noting(frame, args, env, at, Clock { profiler, began: Instant::now() }),
        }
    }

    /// [`Plan::walk`], compiled for runs that are profiled and for those that are not.
    fn walk_noting(
        self: &Arc<Self>,
        frame: &mut Frame,
        args: &[Arg],
        env: &dyn Env,
        at: &mut usize,
        mut note: impl Note,
    ) -> Result<bool> {
        let Frame { regs: own, rounds } = frame;
        assert_eq!(own.len(), self.kinds.len());
        let mut regs = Regs(own.as_mut_ptr());
        let mut budget = POLL_EVERY;
        let mut pc = *at;
        while let Some(step) = self.steps.get(pc) {
            *at = pc;
            pc += 1;
            // SAFETY of `regs.get` and `regs.get_mut` below: the plan was checked to name only registers
            // that are there, and they are not used but here, and in a step that runs apart while this waits. No step writes a register that it reads, but for
            // elementwise ones, which go through `run_loop` and `scalar2`.
            match step {
                Step::Scalar2 { f, ins, out } => {
                    // SAFETY: as said above; these registers hold one element of the loop's dtypes.
                    unsafe { scalar2(*f, regs, *ins, *out)? };
                }
                Step::Loop(s) => {
                    if s.long {
                        if s.heavy {
                            regs = self.run_apart(*at, own, env)?;
                        } else {
                            // SAFETY: as said above; lowering made the step from the types of its operands.
                            unsafe { run_loop(s, regs)? };
                        }
                        budget -= s.n as i64;
                        poll(&mut budget, env)?;
                    } else {
                        // SAFETY: as above.
                        unsafe { run_loop(s, regs)? };
                    }
                }
                Step::Broadcast(s) => {
                    if let Some(few) = &s.few {
                        // SAFETY: as said above; lowering made it from the types of the operands.
                        unsafe { few.run(s, regs)? };
                    // SAFETY: as said above.
                    } else if unsafe { is_heavy_broadcast(s, regs, self.thresholds.heavy_ns) } {
                        regs = self.run_apart(*at, own, env)?;
                    } else {
                        // SAFETY: as said above.
                        unsafe { run_broadcast(s, regs)? };
                    }
                }
                Step::Fused(s) => {
                    budget -= s.elements;
                    poll(&mut budget, env)?;
                    if s.heavy {
                        regs = self.run_apart(*at, own, env)?;
                    } else {
                        // SAFETY: as said above.
                        unsafe { run_fused(s, regs)? };
                    }
                }
                Step::Strip(s) => {
                    budget -= i64::try_from(s.nanoseconds).unwrap_or(POLL_EVERY);
                    poll(&mut budget, env)?;
                    if s.heavy {
                        regs = self.run_apart(*at, own, env)?;
                    } else {
                        // SAFETY: as said above.
                        unsafe { run_strip(s, regs)? };
                    }
                }
                Step::Slab(s) => {
                    budget -= i64::try_from(s.nanoseconds).unwrap_or(POLL_EVERY);
                    poll(&mut budget, env)?;
                    if s.heavy {
                        regs = self.run_apart(*at, own, env)?;
                    } else {
                        // SAFETY: as said above.
                        unsafe { run_slab(s, regs)? };
                    }
                }
                Step::Concurrent(s) => {
                    budget -= i64::try_from(s.nanoseconds).unwrap_or(POLL_EVERY);
                    poll(&mut budget, env)?;
                    if s.heavy {
                        regs = self.run_apart(*at, own, env)?;
                    } else {
                        // SAFETY: as said above.
                        unsafe { s.run(regs)? };
                    }
                }
                Step::RowLoop(s) => {
                    // SAFETY: as said above.
                    if !unsafe { s.run(regs, env)? } {
                        continue;
                    }
                    pc = s.target as usize;
                }
                Step::Native(s) => {
                    // SAFETY: as said above; lowering made the step of scalars and arrays.
                    if !unsafe { s.run(regs, env)? } {
                        continue;
                    }
                    pc = s.target as usize;
                }
                Step::Kernel(s) => {
                    if s.weight == Weight::Brief {
                        budget -= BRIEF_NS;
                        // SAFETY: as said above.
                        unsafe {
                            infer_kernel(s, regs)?;
                            run_kernel(s, regs, env)?;
                        }
                    } else {
                        let start = Instant::now();
                        // SAFETY: as said above.
                        let types = unsafe { infer_kernel(s, regs)? };
                        // SAFETY: as said above.
                        if unsafe { is_heavy_kernel(s, types, regs, self.thresholds.heavy_ns) } {
                            regs = self.run_apart(*at, own, env)?;
                        } else {
                            // SAFETY: as said above.
                            unsafe { run_kernel(s, regs, env)? };
                        }
                        budget -= i64::try_from(start.elapsed().as_nanos()).unwrap_or(POLL_EVERY);
                    }
                    poll(&mut budget, env)?;
                }
                Step::Reshape(s) => {
                    // SAFETY: as said above.
                    unsafe { regs.get_mut(s.reg) }.reshape(&s.dims)?;
                }
                Step::Read(s) => {
                    // SAFETY: as said above.
                    let out = unsafe { regs.get_mut(s.out) };
                    variable(args, s.variable)?.read_into(out)?;
                    check_promise(0, out, &s.ty)?;
                }
                Step::Write(s) => {
                    // SAFETY: as said above.
                    budget -= unsafe { write(s, regs, args, env)? };
                    poll(&mut budget, env)?;
                }
                Step::Update(s) => {
                    // SAFETY: as said above.
                    budget -= unsafe { update(s, regs, args, env)? };
                    poll(&mut budget, env)?;
                }
                Step::Window(s) => {
                    budget -= s.elements;
                    poll(&mut budget, env)?;
                    // SAFETY: as said above; the registers that are read are left out.
                    unsafe { release(&s.release, &s.ins, regs) };
                    // SAFETY: as said above.
                    let ins = unsafe { regs.list(&s.ins) };
                    state::update_window(variable(args, s.variable)?, &s.program, &ins)?;
                }
                Step::Call(_) => return Ok(true),
                Step::Branch { pred, target } => {
                    // SAFETY: as said above.
                    let pred = unsafe { regs.get(*pred) };
                    if !predicate(pred)? {
                        pc = *target as usize;
                    }
                }
                Step::Switch { index, targets } => {
                    // SAFETY: as said above.
                    let index = unsafe { regs.get(*index) }.item::<i32>();
                    let index = index.ok_or_else(|| Error::invalid("the index must be a scalar"))?;
                    let last = targets.len() - 1;
                    pc = targets[usize::try_from(index).map_or(last, |i| i.min(last))] as usize;
                }
                Step::Jump(target) => pc = *target as usize,
                Step::Back { target, cost, inner, number } => {
                    pc = *target as usize;
                    rounds[*inner as usize..*number as usize].fill(0);
                    rounds[*number as usize] += 1;
                    budget -= i64::from(*cost);
                    poll(&mut budget, env)?;
                }
                Step::Copy { from, out } => {
                    // SAFETY: as said above; a copy is never to the same register.
                    unsafe { *regs.get_mut(*out) = regs.get(*from).clone() };
                }
                Step::Swap(a, b) => {
                    // SAFETY: as said above; the two registers differ.
                    unsafe { std::mem::swap(regs.get_mut(*a), regs.get_mut(*b)) };
                }
                Step::Moves(_) => return Err(Error::internal("moves were not put in order")),
            }
            note.ended(self, *at);
        }
        Ok(false)
    }

    /// Runs a heavy step apart: the registers go to the thread that does it, and come back with its results.
    #[cold]
    fn run_apart(self: &Arc<Self>, at: usize, regs: &mut Box<[Tensor]>, env: &dyn Env) -> Result<Regs> {
        let (plan, mut own) = (self.clone(), std::mem::take(regs));
        let step = move |env: &dyn Env| -> Result<Box<[Tensor]>> {
            let at_hand = Regs(own.as_mut_ptr());
            match &plan.steps[at] {
                // SAFETY: the registers are those of a frame of the plan, as in `walk`, and nobody else has them.
                Step::Loop(s) => unsafe { run_loop(s, at_hand) },
                // SAFETY: as above.
                Step::Broadcast(s) => unsafe { run_broadcast(s, at_hand) },
                // SAFETY: as above.
                Step::Fused(s) => unsafe { run_fused(s, at_hand) },
                // SAFETY: as above.
                Step::Strip(s) => unsafe { run_strip(s, at_hand) },
                // SAFETY: as above.
                Step::Slab(s) => unsafe { run_slab(s, at_hand) },
                // SAFETY: as above.
                Step::Concurrent(s) => unsafe { s.run(at_hand) },
                // SAFETY: as above.
                Step::Kernel(s) => unsafe { run_kernel(s, at_hand, env) },
                _ => Err(Error::internal("the step does not run apart")),
            }?;
            Ok(own)
        };
        *regs = offload::run(env, step)??;
        Ok(Regs(regs.as_mut_ptr()))
    }
}

/// Who is told that steps have ended.
trait Note {
    fn ended(&mut self, plan: &Plan, at: usize);
}

/// Nobody.
impl Note for () {
    #[inline(always)]
    fn ended(&mut self, _: &Plan, _: usize) {}
}

struct Clock<'a> {
    profiler: &'a dyn Profiler,
    /// When the present step began.
    began: Instant,
}

impl Note for Clock<'_> {
    fn ended(&mut self, plan: &Plan, at: usize) {
        let (op, loc) = plan.origins[at];
        if let Some(kind) = plan.steps[at].kind() {
            self.profiler.step(&Profiled::since(self.began, op, loc, kind));
        }
        self.began = Instant::now();
    }
}

/// Whether operands that broadcast give so many elements that the step runs apart.
///
/// # Safety
/// The registers are there.
unsafe fn is_heavy_broadcast(s: &BroadcastStep, regs: Regs, heavy: f64) -> bool {
    // SAFETY: the caller's promise.
    let ins = unsafe { regs.list(&s.ins) };
    let most = ins.iter().fold(1usize, |n, t| n.saturating_mul(t.len()));
    is_heavy(most, s.ns, heavy) && {
        let shapes: SmallVec<[&[usize]; 6]> = ins.iter().map(|t| t.dims()).collect();
        broadcast_dims(&shapes).is_some_and(|dims| is_heavy(dims.iter().product(), s.ns, heavy))
    }
}

/// Whether a kernel, whose results have these types where they were inferred now, takes so long that it runs apart.
///
/// # Safety
/// The registers are there.
unsafe fn is_heavy_kernel(s: &KernelStep, inferred: Option<OutTypes>, regs: Regs, heavy: f64) -> bool {
    if s.weight != Weight::Unknown {
        return s.weight == Weight::Heavy;
    }
    // SAFETY: the caller's promise.
    let inputs = unsafe { regs.list(&s.ins) };
    is_heavy_on(s.op, &s.attrs, &inputs, inferred.as_deref().unwrap_or(&s.types), heavy)
}

/// Infers the types of the results from the operands, where the plan could not see them all.
///
/// # Safety
/// The registers are there.
#[inline]
unsafe fn infer_kernel(s: &KernelStep, regs: Regs) -> Result<Option<OutTypes>> {
    if !s.infer {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let mut all = unsafe { regs.list(&s.ins) };
    if s.update {
        // SAFETY: the caller's promise; nothing is written yet.
        all.insert(0, unsafe { regs.get(s.outs[0]) });
    }
    infer(s.op, &s.attrs, &all).map(Some)
}

/// # Safety
/// The registers are there, and the step writes none that it reads.
unsafe fn run_broadcast(s: &BroadcastStep, regs: Regs) -> Result<()> {
    // SAFETY: the caller's promise.
    let (ins, out) = unsafe { (regs.list(&s.ins), regs.get_mut(s.out)) };
    // SAFETY: the loop was looked up for the dtypes of the operands and of the result.
    unsafe { broadcast_loop(s.f, s.dtype, &ins, out)? };
    check_promise(0, out, &s.ty)
}

/// # Safety
/// The registers are there, and the step writes none that it reads.
unsafe fn run_fused(s: &FusedStep, regs: Regs) -> Result<()> {
    // SAFETY: the caller's promise.
    let ins = unsafe { regs.list(&s.ins) };
    match s.outs[..] {
        // SAFETY: the caller's promise.
        [out] => s.program.run(&ins, std::slice::from_mut(unsafe { regs.get_mut(out) })),
        // SAFETY: the caller's promise.
        _ => unsafe { with_outs(regs, &s.outs, |outs| s.program.run(&ins, outs)) },
    }
}

/// # Safety
/// The registers are there, and the step writes none that it reads.
unsafe fn run_strip(s: &StripStep, regs: Regs) -> Result<()> {
    // SAFETY: the caller's promise.
    let ins = unsafe { regs.list(&s.ins) };
    // SAFETY: the caller's promise.
    unsafe { with_outs(regs, &s.outs, |outs| s.run(&ins, outs)) }
}

/// # Safety
/// The registers are there, and the step writes none that it reads.
unsafe fn run_slab(s: &SlabStep, regs: Regs) -> Result<()> {
    // SAFETY: the caller's promise.
    let ins = unsafe { regs.list(&s.ins) };
    // SAFETY: the caller's promise.
    unsafe { with_outs(regs, &s.outs, |outs| s.run(&ins, outs)) }
}

/// The registers of a frame, by number.
#[derive(Clone, Copy)]
pub(super) struct Regs(*mut Tensor);

// SAFETY: an address alone: whoever goes through it promises that nobody else uses what it reaches.
unsafe impl Sync for Regs {}

impl Regs {
    /// # Safety
    /// The register is there, and nobody writes it while the result is in use.
    #[inline(always)]
    pub(super) unsafe fn get<'a>(self, reg: Reg) -> &'a Tensor {
        // SAFETY: the caller's promise.
        unsafe { &*self.0.add(reg as usize) }
    }

    /// # Safety
    /// The register is there, and nobody else uses it while the result is in use.
    #[inline(always)]
    pub(super) unsafe fn get_mut<'a>(self, reg: Reg) -> &'a mut Tensor {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0.add(reg as usize) }
    }

    /// # Safety
    /// As for [`Regs::get`].
    #[inline(always)]
    pub(super) unsafe fn list<'a>(self, regs: &[Reg]) -> SmallVec<[&'a Tensor; 6]> {
        let mut list = SmallVec::new();
        for &r in regs {
            // SAFETY: the caller's promise.
            list.push(unsafe { self.get(r) });
        }
        list
    }
}

/// Lets the host stop the run where the time between two polls is spent.
#[inline(always)]
fn poll(budget: &mut i64, env: &dyn Env) -> Result<()> {
    if *budget < 0 {
        *budget = POLL_EVERY;
        env.poll()?;
    }
    Ok(())
}

#[inline(always)]
fn predicate(tensor: &Tensor) -> Result<bool> {
    tensor.item::<Bool8>().map(Bool8::get).ok_or_else(|| Error::invalid("the predicate must be a scalar"))
}

/// # Safety
/// The registers are there and hold one inline element each, of the dtypes of the loop `f`.
#[inline(always)]
unsafe fn scalar2(f: penstock_kernels::LoopFn, regs: Regs, ins: [Reg; 2], out: Reg) -> Result<()> {
    // SAFETY: the caller's promise.
    let to = unsafe { scalar_mut(regs, out)? };
    let lane = |r: Reg| {
        // An operand in the place of the result is read through the pointer that is written to.
        // SAFETY: the caller's promise; another register is not borrowed for writing.
        Lane::fixed(if r == out { to } else { unsafe { regs.get(r) }.as_ptr() })
    };
    let lanes = [lane(ins[0]), lane(ins[1])];
    // SAFETY: one element of each lane is readable; loops read a single element before they write it.
    unsafe { f(1, &lanes, to) }.map_err(fault)
}

/// Where to write the one element of a register.
///
/// # Safety
/// The register is there, nobody else uses it now, and it holds one inline element.
#[inline(always)]
pub(super) unsafe fn scalar_mut(regs: Regs, reg: Reg) -> Result<*mut u8> {
    // SAFETY: the caller's promise; the borrow ends here.
    let tensor = unsafe { regs.get_mut(reg) };
    match tensor.as_mut_ptr() {
        Some(to) => Ok(to),
        None => owned(tensor),
    }
}

/// Gives a small tensor that a kernel or a host made a view of other memory its own.
#[cold]
fn owned(tensor: &mut Tensor) -> Result<*mut u8> {
    let mut copy = Tensor::empty(tensor.dtype(), tensor.dims())?;
    let to = copy.as_mut_ptr().ok_or_else(|| Error::internal("a fresh tensor is shared"))?;
    let bytes = tensor.bytes();
    // SAFETY: a fresh tensor of the same type has as many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    *tensor = copy;
    tensor.as_mut_ptr().ok_or_else(|| Error::internal("a fresh tensor is shared"))
}

/// # Safety
/// The registers are there, and hold tensors of the types that the step was made from.
#[inline(always)]
unsafe fn run_loop(s: &LoopStep, regs: Regs) -> Result<()> {
    let mut lanes = [Lane::fixed(std::ptr::null()); 4];
    let lanes = &mut lanes[..s.ins.len()];
    for (lane, &(reg, step)) in lanes.iter_mut().zip(&s.ins) {
        if reg != s.out {
            // SAFETY: the caller's promise.
            *lane = Lane { ptr: unsafe { regs.get(reg) }.as_ptr(), step: step as usize };
        }
    }
    // SAFETY: the caller's promise; the operands that are other registers are not written.
    let out = unsafe { regs.get_mut(s.out) };
    let in_place = s.ins.iter().any(|i| i.0 == s.out);
    let ptr = if s.inline || in_place { out.as_mut_ptr() } else { Some(out.prepare(s.dtype, &s.dims)?) };
    // An operand in the place of the result whose memory somebody else holds too: it stays as it is.
    let mut fresh = Tensor::default();
    let (to, from) = match ptr {
        Some(to) => (to, to.cast_const()),
        None => (fresh.prepare(s.dtype, &s.dims)?, out.as_ptr()),
    };
    for (lane, &(reg, step)) in lanes.iter_mut().zip(&s.ins) {
        if reg == s.out {
            *lane = Lane { ptr: from, step: step as usize };
        }
    }
    // SAFETY: every operand has `n` elements of the loop's dtype, or one and the step 0, by the types that
    // lowering saw and that were checked when the values were made; `to` is `n` elements that have one owner, which is
    // an operand only where that advances with the result.
    unsafe { elementwise_flat(s.f, s.n, lanes, to, s.dtype.size()) }.map_err(fault)?;
    if ptr.is_none() {
        *out = fresh;
    } else if in_place && !s.inline && (out.dtype() != s.dtype || out.dims() != s.dims.as_slice()) {
        // The operand had the size of the result, but another dtype.
        let view = std::mem::take(out).bitcast(s.dtype)?;
        *out = view;
    }
    Ok(())
}

/// Runs a kernel on operands that were checked.
///
/// # Safety
/// The registers are there, and the step writes none that it reads.
#[inline(never)]
pub(super) unsafe fn run_kernel(s: &KernelStep, regs: Regs, env: &dyn Env) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match s.ins[..] {
            [a] => run_kernel_on(s, &[regs.get(a)], regs, env),
            [a, b] => run_kernel_on(s, &[regs.get(a), regs.get(b)], regs, env),
            _ => run_kernel_on(s, &regs.list(&s.ins), regs, env),
        }
    }
}

/// # Safety
/// As for [`run_kernel`]; these are the operands.
#[inline(always)]
unsafe fn run_kernel_on(s: &KernelStep, inputs: &[&Tensor], regs: Regs, env: &dyn Env) -> Result<()> {
    let run = |outputs: &mut [Tensor]| {
        let mut call = Call { inputs, attrs: &s.attrs, outputs, env };
        if let Some(resolved) = &s.resolved {
            // SAFETY: lowering made it from the types of the operands, which were checked when they were made.
            unsafe { resolved.run(&mut call)? };
            debug_assert!(check_results(call.outputs, &s.types).is_ok());
            return Ok(());
        }
        (s.run)(&mut call)?;
        check_results(call.outputs, &s.types).or_else(|error| match s.update {
            true => Err(error),
            false => broken_promise(s.op, &s.attrs, inputs, call.outputs, &s.types),
        })
    };
    match s.outs[..] {
        // SAFETY: the caller's promise.
        [out] => run(std::slice::from_mut(unsafe { regs.get_mut(out) })),
        // SAFETY: the caller's promise.
        _ => unsafe { with_outs(regs, &s.outs, run) },
    }
}

fn check_results(results: &[Tensor], types: &[Type]) -> Result<()> {
    results.iter().zip(types).enumerate().try_for_each(|(i, (result, ty))| check_result(i, result, ty))
}

/// Tensors that are out of their registers for a while.
struct Taken<'a> {
    regs: Regs,
    outs: &'a [Reg],
    tensors: SmallVec<[Tensor; 4]>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // SAFETY: as many tensors as registers, which go back without being dropped; what the registers hold is their old bits.
        unsafe {
            self.tensors.set_len(0);
            for (i, &r) in self.outs.iter().enumerate() {
                std::ptr::copy_nonoverlapping(self.tensors.as_ptr().add(i), self.regs.0.add(r as usize), 1);
            }
        }
    }
}

/// Runs `f` on registers that do not lie side by side.
///
/// # Safety
/// The registers are there, differ, and nobody else uses them.
unsafe fn with_outs(regs: Regs, outs: &[Reg], f: impl FnOnce(&mut [Tensor]) -> Result<()>) -> Result<()> {
    // They go back where `f` panics, too.
    let mut taken = Taken { regs, outs, tensors: SmallVec::with_capacity(outs.len()) };
    for &r in outs {
        // SAFETY: the caller's promise; nobody reads the register before the tensor is back.
        taken.tensors.push(unsafe { regs.0.add(r as usize).read() });
    }
    f(&mut taken.tensors)
}

fn variable(args: &[Arg], index: usize) -> Result<&Arc<Variable>> {
    match args.get(index) {
        Some(Arg::Variable(v)) => Ok(v),
        _ => Err(Error::internal("an argument is not a variable")),
    }
}

/// Gives an estimate of the nanoseconds that it took.
///
/// # Safety
/// The registers are there.
unsafe fn write(s: &WriteStep, regs: Regs, args: &[Arg], env: &dyn Env) -> Result<i64> {
    let variable = variable(args, s.variable)?;
    // SAFETY: the caller's promise.
    let value = unsafe { regs.get(s.value) };
    let Some(f) = s.f else { return variable.assign_from(value).map(|()| 0) };
    // SAFETY: the caller's promise; the register that is read is left out.
    unsafe { release(&s.release, &[s.value], regs) };
    state::update(variable, f, value, env)?;
    Ok(value.len() as i64)
}

/// Lets go of memory that dead registers share, but for those that are still read.
///
/// # Safety
/// The registers are there, and nobody uses those of `dead` that are not among `read`.
unsafe fn release(dead: &[Reg], read: &[Reg], regs: Regs) {
    for &reg in dead.iter().filter(|r| !read.contains(r)) {
        // SAFETY: the caller's promise.
        let reg = unsafe { regs.get_mut(reg) };
        if reg.as_mut_ptr().is_none() {
            *reg = Tensor::default();
        }
    }
}

/// Gives an estimate of the nanoseconds that it took.
///
/// # Safety
/// The registers are there, and the step writes none that it reads.
unsafe fn update(s: &UpdateStep, regs: Regs, args: &[Arg], env: &dyn Env) -> Result<i64> {
    let variable = variable(args, s.variable)?;
    // SAFETY: the caller's promise; what is read is left out.
    unsafe { release(&s.release, &s.ins, regs) };
    // SAFETY: the caller's promise.
    let inputs = unsafe { regs.list(&s.ins) };
    let ns = inputs.iter().map(|t| t.len() as i64).sum();
    let results = state::update_part(variable, s.run, &inputs, s.outs.len(), &s.attrs, env)?;
    for (&out, result) in s.outs.iter().zip(results) {
        // SAFETY: the caller's promise.
        unsafe { *regs.get_mut(out) = result };
    }
    Ok(ns)
}
