//! Running a plan: a walk over its steps.

#![expect(unsafe_code, reason = "registers are read and written by number; loops run over raw memory")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use penstock_data::{Bool8, Error, Reserve, Result, Tensor};
use penstock_ir::{Detail, Env, Profiler};
use penstock_kernels::{Lane, broadcast_dims, elementwise_flat};
use penstock_passes::evaluate::{broadcast_loop, check_promise, fault};
use smallvec::SmallVec;

use super::frame::{Reg, Regs, scalar_mut};
use super::kernel::{infer_kernel, is_heavy_kernel, run_kernel, with_outs};
use super::pipeline::Pipeline;
use super::step::{AssignStep, BroadcastStep, Change, FusedStep, LoopStep, Step};
use super::telling::{Clock, Note};
use super::walk::{Halt, POLL_EVERY, Place};
use super::{Frame, Kind, Plan, calls};
use crate::device::Recorder;
use crate::variable::{Arg, variable};
use crate::work::{Weight, is_heavy};
use crate::{offload, state};

/// Nanoseconds that a brief kernel counts for.
const BRIEF_NS: i64 = 1_000;
/// Nanoseconds that a launch counts for.
const DEVICE_NS: i64 = 10_000;

impl Plan {
    /// Runs the plan on arguments that were checked against its input types, and tells the profiler of its steps, where there is one.
    pub(crate) fn run(
        self: &Arc<Self>,
        args: &[Arg],
        env: &dyn Env,
        profiler: Option<&dyn Profiler>,
    ) -> Result<SmallVec<[Tensor; 2]>> {
        let mut outputs = SmallVec::new();
        self.run_frame(self.enter(args)?, args, env, profiler, &mut outputs)?;
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

    /// As [`Plan::run`], but tells nobody, takes the tensors that it reads out of `args`, and adds the results to `outputs`.
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
        self.run_frame(frame, args, env, None, outputs)
    }

    /// Runs the plan on a frame that holds the arguments.
    fn run_frame(
        self: &Arc<Self>,
        mut frame: Box<Frame>,
        args: &[Arg],
        env: &dyn Env,
        profiler: Option<&dyn Profiler>,
        outputs: &mut SmallVec<[Tensor; 2]>,
    ) -> Result<()> {
        let recorded = Recorded::new(self.recorder.as_deref());
        let mut place = Place::new(0);
        // A frame that a panic or an error leaves behind is dropped, never used again.
        let walked = catch_unwind(AssertUnwindSafe(|| self.walk(&mut frame, args, env, profiler, &mut place)));
        let halt = walked
            .unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))
            .map_err(|e| self.locate(e, place.at, &frame.iterations))?;
        if halt == Halt::Call {
            calls::run(self, frame, args, place.at, env, profiler, outputs)?;
        } else {
            self.leave(frame, outputs);
        }
        recorded.end()
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
    pub(super) fn locate(&self, error: Error, at: usize, iterations: &[u64]) -> Error {
        // A loop's steps end with its jump back; those of the loops around it follow.
        let around = self.steps.iter().enumerate().skip(at).filter_map(|(end, step)| match step {
            Step::Back { target, number, .. } if (*target as usize..=end).contains(&at) => Some(*number as usize),
            _ => None,
        });
        let mut iterations: Vec<u64> = around.map(|number| iterations[number] + 1).collect();
        iterations.reverse();
        let error = error.in_iterations(&iterations);
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
                    frame.iterations.fill(0);
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
        Ok(Box::new(Frame { regs, iterations: vec![0; self.loops].into() }))
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
        if self.recorder.is_some() {
            // The next run then finds the same blocks free, and gets the same addresses.
            for (reg, kind) in frame.regs.iter_mut().zip(&self.kinds).filter(|(reg, _)| reg.remote().is_some()) {
                match kind {
                    Kind::Constant => {}
                    // Steps rely on the type of what is in the register.
                    Kind::Inline(dtype, dims) => match Tensor::zeros(*dtype, dims) {
                        Ok(zeros) => *reg = zeros,
                        Err(_) => return,
                    },
                    _ => *reg = Tensor::default(),
                }
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

    /// Runs the steps from a place on, to the end or a call.
    pub(super) fn walk(
        self: &Arc<Self>,
        frame: &mut Frame,
        args: &[Arg],
        env: &dyn Env,
        profiler: Option<&dyn Profiler>,
        place: &mut Place,
    ) -> Result<Halt> {
        let steps = self.steps.len();
        let Some(profiler) = profiler.filter(|profiler| profiler.detail() != Detail::Functions) else {
            return self.walk_noting(frame, args, env, place, steps, &mut ());
        };
        let mut clock = Clock::new(profiler, self);
        let walked = loop {
            let walked = match clock.counted() {
                None => self.walk_noting(frame, args, env, place, steps, &mut clock),
                Some(mut counted) => {
                    let walked = self.walk_noting(frame, args, env, place, counted.end(), &mut counted);
                    clock.resume(self, counted, &walked);
                    walked
                }
            };
            match walked {
                Ok(Halt::Turn) => {}
                Ok(Halt::End) if place.at < steps => {}
                walked => break walked,
            }
        };
        clock.stop(self, place.at, &walked);
        walked
    }

    /// [`Plan::walk`] up to step `end`, compiled for each kind of those that are told of steps.
    pub(super) fn walk_noting(
        self: &Arc<Self>,
        frame: &mut Frame,
        args: &[Arg],
        env: &dyn Env,
        place: &mut Place,
        end: usize,
        note: &mut impl Note,
    ) -> Result<Halt> {
        let Frame { regs: own, iterations } = frame;
        assert_eq!(own.len(), self.kinds.len());
        let mut regs = Regs::of(own);
        Reserve::check()?;
        let Place { at, budget: left } = place;
        let mut budget = *left;
        let mut pc = *at;
        while pc < end
            && let Some(step) = self.steps.get(pc)
        {
            *at = pc;
            pc += 1;
            note.begins(self, *at);
            // The registers of a step are there: `registers::finish` has checked that, and the frame has as many as the plan. Nobody
            // else uses them during the walk, but the thread that a step is handed to, for which this waits. No step writes a register
            // that it reads, but for elementwise ones, which go through `run_loop` and `scalar2`.
            match step {
                Step::Scalar2 { f, ins, out } => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them; these registers hold one element of the loop's dtypes.
                    unsafe { scalar2(*f, regs, *ins, *out)? };
                }
                Step::Loop(s) => {
                    if s.long {
                        if s.heavy {
                            regs = self.run_offloaded(*at, own, env)?;
                        } else {
                            // SAFETY: the registers were checked by `finish`, and this walk alone uses them; lowering made the step from the types of its operands.
                            unsafe { run_loop(s, regs)? };
                        }
                        budget -= s.n as i64;
                        poll(&mut budget, env)?;
                    } else {
                        // SAFETY: the registers were checked by `finish`, and this walk alone uses them; lowering made the step from the types of its operands.
                        unsafe { run_loop(s, regs)? };
                    }
                }
                Step::Broadcast(s) => {
                    if let Some(small) = &s.small {
                        // SAFETY: the registers were checked by `finish`, and this walk alone uses them; lowering made it from the types of the operands.
                        unsafe { small.run(s.f, s.dtype, &s.ins, s.out, regs)? };
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                    } else if unsafe { is_heavy_broadcast(s, regs, self.thresholds.heavy_ns) } {
                        regs = self.run_offloaded(*at, own, env)?;
                    } else {
                        // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                        unsafe { run_broadcast(s, regs)? };
                    }
                }
                Step::Fused(s) => {
                    budget -= s.elements;
                    poll(&mut budget, env)?;
                    if s.heavy {
                        regs = self.run_offloaded(*at, own, env)?;
                    } else {
                        // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                        unsafe { run_fused(s, regs)? };
                    }
                }
                Step::Pipeline(s) => {
                    budget -= i64::try_from(s.nanoseconds).unwrap_or(POLL_EVERY);
                    poll(&mut budget, env)?;
                    if s.heavy {
                        regs = self.run_offloaded(*at, own, env)?;
                    } else {
                        // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                        unsafe { run_pipeline(s, regs)? };
                    }
                }
                Step::Concurrent(s) => {
                    budget -= i64::try_from(s.nanoseconds).unwrap_or(POLL_EVERY);
                    poll(&mut budget, env)?;
                    if s.heavy {
                        regs = self.run_offloaded(*at, own, env)?;
                    } else {
                        // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                        unsafe { s.run(regs)? };
                    }
                }
                Step::RowLoop(s) => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                    if !unsafe { s.run(regs, env)? } {
                        continue;
                    }
                    pc = s.target as usize;
                }
                Step::DeviceLoop(s) => {
                    let mut whole = Frame { regs: std::mem::take(own), iterations: std::mem::take(iterations) };
                    let done = s.run(self, &mut whole, args, env);
                    (*own, *iterations) = (whole.regs, whole.iterations);
                    regs = Regs::of(own);
                    if !done? {
                        continue;
                    }
                    pc = s.target as usize;
                }
                Step::Native(s) => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them; lowering made the step of scalars and arrays.
                    if !unsafe { s.run(regs, env)? } {
                        continue;
                    }
                    pc = s.target as usize;
                }
                Step::Kernel(s) => {
                    if s.weight == Weight::Brief {
                        budget -= BRIEF_NS;
                        // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                        unsafe {
                            infer_kernel(s, regs)?;
                            run_kernel(s, regs, env)?;
                        }
                    } else {
                        let start = Instant::now();
                        // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                        let types = unsafe { infer_kernel(s, regs)? };
                        // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                        if unsafe { is_heavy_kernel(s, types, regs, self.thresholds.heavy_ns) } {
                            regs = self.run_offloaded(*at, own, env)?;
                        } else {
                            // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                            unsafe { run_kernel(s, regs, env)? };
                        }
                        budget -= i64::try_from(start.elapsed().as_nanos()).unwrap_or(POLL_EVERY);
                    }
                    poll(&mut budget, env)?;
                }
                Step::Device(s) => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                    unsafe { s.run(regs, args, env)? };
                    budget -= DEVICE_NS;
                    poll(&mut budget, env)?;
                }
                Step::Reshape(s) => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                    unsafe { regs.get_mut(s.reg) }.reshape(&s.dims)?;
                }
                Step::Read(s) => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                    let out = unsafe { regs.get_mut(s.out) };
                    variable(args, s.variable)?.read_into(out)?;
                    check_promise(0, out, &s.ty)?;
                }
                Step::Assign(s) => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                    budget -= unsafe { assign(s, regs, args, env)? };
                    poll(&mut budget, env)?;
                }
                Step::Call(_) => {
                    self.pass(pc)?;
                    *left = budget;
                    return Ok(Halt::Call);
                }
                Step::Branch { pred, target } => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                    let pred = unsafe { regs.get(*pred) };
                    if !predicate(pred)? {
                        pc = *target as usize;
                    }
                }
                Step::Switch { index, targets } => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them.
                    let index = unsafe { regs.get(*index) }.item::<i32>();
                    let index = index.ok_or_else(|| Error::invalid("the index must be a scalar"))?;
                    let last = targets.len() - 1;
                    pc = targets[usize::try_from(index).map_or(last, |i| i.min(last))] as usize;
                }
                Step::Jump(target) => pc = *target as usize,
                Step::Back { target, cost, inner, number } => {
                    pc = *target as usize;
                    let goes_on = note.repeats(self, *at, pc, *number as usize);
                    iterations[*inner as usize..*number as usize].fill(0);
                    iterations[*number as usize] += 1;
                    self.pass(pc)?;
                    budget -= i64::from(*cost);
                    poll(&mut budget, env)?;
                    if !goes_on {
                        (*at, *left) = (pc, budget);
                        return Ok(Halt::Turn);
                    }
                }
                Step::Copy { from, out } => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them; a copy is never to the same register.
                    unsafe { *regs.get_mut(*out) = regs.get(*from).clone() };
                }
                Step::Swap(a, b) => {
                    // SAFETY: the registers were checked by `finish`, and this walk alone uses them; the two registers differ.
                    unsafe { std::mem::swap(regs.get_mut(*a), regs.get_mut(*b)) };
                }
                Step::Moves(_) => return Err(Error::internal("moves were not put in order")),
            }
            note.ended(self, *at);
        }
        (*at, *left) = (pc, budget);
        Ok(Halt::End)
    }

    /// Tells the recorder of a device that the run comes to a step.
    #[inline]
    fn pass(&self, pc: usize) -> Result<()> {
        self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.point(pc as u32))
    }

    /// Offloads a heavy step: the registers go to the thread that does it, and come back with its results.
    #[cold]
    fn run_offloaded(self: &Arc<Self>, at: usize, regs: &mut Box<[Tensor]>, env: &dyn Env) -> Result<Regs> {
        let (plan, mut own) = (self.clone(), std::mem::take(regs));
        let step = move |env: &dyn Env| -> Result<Box<[Tensor]>> {
            let at_hand = Regs::of(&mut own);
            match &plan.steps[at] {
                // SAFETY: the registers are those of a frame of the plan, which nobody else has: they were taken out of it.
                Step::Loop(s) => unsafe { run_loop(s, at_hand) },
                // SAFETY: the registers are those of a frame of the plan, which nobody else has.
                Step::Broadcast(s) => unsafe { run_broadcast(s, at_hand) },
                // SAFETY: the registers are those of a frame of the plan, which nobody else has.
                Step::Fused(s) => unsafe { run_fused(s, at_hand) },
                // SAFETY: the registers are those of a frame of the plan, which nobody else has.
                Step::Pipeline(s) => unsafe { run_pipeline(s, at_hand) },
                // SAFETY: the registers are those of a frame of the plan, which nobody else has.
                Step::Concurrent(s) => unsafe { s.run(at_hand) },
                // SAFETY: the registers are those of a frame of the plan, which nobody else has.
                Step::Kernel(s) => unsafe { run_kernel(s, at_hand, env) },
                _ => Err(Error::internal("the step is not offloaded")),
            }?;
            Ok(own)
        };
        *regs = offload::run(env, step)??;
        Ok(Regs::of(regs))
    }
}

/// A run that the recorder of a device is told of, to its end, whatever ends it.
struct Recorded<'a>(Option<&'a dyn Recorder>);

impl<'a> Recorded<'a> {
    #[inline]
    fn new(recorder: Option<&'a dyn Recorder>) -> Recorded<'a> {
        Recorded(recorder.filter(|r| r.begin()))
    }

    #[inline]
    fn end(mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Recorder::end)
    }
}

impl Drop for Recorded<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(recorder) = self.0.take() {
            // The error that ends the run comes first.
            let _ = recorder.end();
        }
    }
}

/// Whether operands that broadcast give so many elements that the step is offloaded.
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
unsafe fn run_pipeline(s: &Pipeline, regs: Regs) -> Result<()> {
    // SAFETY: the caller's promise.
    let ins = unsafe { regs.list(&s.ins) };
    // SAFETY: the caller's promise.
    unsafe { with_outs(regs, &s.outs, |outs| s.run(&ins, outs)) }
}

/// Lets the host stop the run where the time between two polls is spent.
#[inline(always)]
fn poll(budget: &mut i64, env: &dyn Env) -> Result<()> {
    if *budget < 0 {
        *budget = POLL_EVERY;
        Reserve::check()?;
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

/// Gives an estimate of the nanoseconds that it took.
///
/// # Safety
/// The registers are there, and the step writes none that it reads.
unsafe fn assign(s: &AssignStep, regs: Regs, args: &[Arg], env: &dyn Env) -> Result<i64> {
    let variable = variable(args, s.variable)?;
    if !matches!(s.change, Change::Value) {
        // SAFETY: the caller's promise; what is read is left out.
        unsafe { release(&s.release, &s.ins, regs) };
    }
    // SAFETY: the caller's promise.
    let (operand, inputs) = unsafe { (|| regs.get(s.ins[0]), || regs.list(&s.ins)) };
    match &s.change {
        Change::Value => variable.assign_from(operand()).map(|()| 0),
        Change::By(kind, f) => {
            let operand = operand();
            state::update(variable, *kind, *f, operand, env).map(|()| operand.len() as i64)
        }
        Change::Part { run, attrs, outs, types } => {
            let inputs = inputs();
            let ns = inputs.iter().map(|t| t.len() as i64).sum();
            // SAFETY: the graph was verified, and arguments and results are of its types.
            let results = unsafe { state::update_part(variable, *run, &inputs, outs.len(), attrs, env) }?;
            for (i, ((&out, ty), result)) in outs.iter().zip(types).zip(results).enumerate() {
                check_promise(i, &result, ty)?;
                // SAFETY: the caller's promise.
                unsafe { *regs.get_mut(out) = result };
            }
            Ok(ns)
        }
        Change::Window { program, elements } => {
            state::update_window(variable, program, &inputs())?;
            Ok(*elements)
        }
    }
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
