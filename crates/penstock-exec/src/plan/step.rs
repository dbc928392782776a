//! The steps of a plan.

use std::fmt;

use penstock_data::{DType, Dims, Tensor};
use penstock_ir::{Attrs, Cost, Effect, FuncRef, Kernel, OpDef, Resolved, Type};
use penstock_kernels::{Binary, LoopFn};
use smallvec::SmallVec;

use super::concurrent::ConcurrentStep;
use super::device::DeviceStep;
use super::device_loop::DeviceLoop;
use super::frame::Reg;
use super::native::NativeStep;
use super::pipeline::{Pipeline, RowLoop};
use super::small_broadcast::SmallBroadcast;
use crate::tile::TileProgram;
use crate::work::Weight;

/// How steps work, by the names that a profile has.
pub const STEP_KINDS: [&str; 16] = [
    "scalar",
    "loop",
    "broadcast",
    "fused",
    "pipeline",
    "rows",
    "native",
    "kernel",
    "resolved",
    "callback",
    "concurrent",
    "read",
    "write",
    "update",
    "window",
    "device",
];

/// One step. Registers are values while a graph is lowered, and registers of the frame in a plan.
pub(crate) enum Step {
    /// An elementwise operator of two operands, all tensors of one element in their registers.
    Scalar2 { f: LoopFn, ins: [Reg; 2], out: Reg },
    /// An elementwise operator on operands of the result's shape, or of one element.
    Loop(Box<LoopStep>),
    /// An elementwise operator on operands that broadcast.
    Broadcast(Box<BroadcastStep>),
    /// A fused region.
    Fused(Box<FusedStep>),
    /// Products, fused regions, moves and whatever else takes rows to rows, some rows at a time.
    Pipeline(Box<Pipeline>),
    /// All iterations of the loop whose steps follow, some rows at a time; goes on behind the loop.
    RowLoop(Box<RowLoop>),
    /// The machine code of a group of scalar instructions.
    Native(Box<NativeStep>),
    /// A kernel over whole tensors.
    Kernel(Box<KernelStep>),
    /// Kernels that do not depend on each other.
    Concurrent(Box<ConcurrentStep>),
    /// A program of a device.
    Device(Box<DeviceStep>),
    /// All iterations of the loop whose steps follow, on a device; goes on behind the loop.
    DeviceLoop(Box<DeviceLoop>),
    /// Gives the tensor in a register other extents.
    Reshape(Box<ReshapeStep>),
    /// Reads a variable, an argument of the run.
    Read(Box<ReadStep>),
    /// Writes a variable, an argument of the run, or changes it in place.
    Assign(Box<AssignStep>),
    /// Runs another function.
    Call(Box<CallStep>),
    /// Goes on where the scalar is false.
    Branch { pred: Reg, target: u32 },
    /// Goes on at the target of an index; outside of the list, at the last.
    Switch { index: Reg, targets: Box<[u32]> },
    /// Goes on elsewhere.
    Jump(u32),
    /// Goes back to the head of loop `number`, whose body takes about `cost` nanoseconds and holds the loops from
    /// number `inner` on.
    Back { target: u32, cost: u32, inner: u32, number: u32 },
    /// Assigns all at once; only while registers are being assigned.
    Moves(Vec<(Reg, Reg)>),
    /// `out` becomes what `from` is.
    Copy { from: Reg, out: Reg },
    /// Two registers exchange what they hold.
    Swap(Reg, Reg),
}

pub(crate) struct LoopStep {
    pub(crate) f: LoopFn,
    pub(crate) n: usize,
    /// Registers, and the bytes between elements.
    pub(crate) ins: SmallVec<[(Reg, u32); 3]>,
    pub(crate) out: Reg,
    pub(crate) dtype: DType,
    pub(crate) dims: Dims,
    /// Whether the result lies in its register, which has its type at all times.
    pub(crate) inline: bool,
    /// Whether the result may take the place of an operand: of single elements, and of many bytes. In between, two buffers in
    /// the cache are quicker, as a loop over its own operand passes through a buffer of its own.
    pub(crate) in_place: bool,
    /// Whether it counts as work, at a nanosecond for each element; shorter ones only count in the cost of a loop around them.
    pub(crate) long: bool,
    /// Whether it is offloaded.
    pub(crate) heavy: bool,
}

pub(crate) struct BroadcastStep {
    pub(crate) f: LoopFn,
    /// Estimated nanoseconds of an element.
    pub(crate) ns: f64,
    pub(crate) dtype: DType,
    pub(crate) ins: SmallVec<[Reg; 4]>,
    pub(crate) out: Reg,
    pub(crate) ty: Type,
    /// How it runs where all extents are known and the elements are few.
    pub(crate) small: Option<SmallBroadcast>,
}

pub(crate) struct FusedStep {
    pub(crate) program: TileProgram,
    /// Elements that it works on.
    pub(crate) elements: i64,
    /// Whether it is offloaded.
    pub(crate) heavy: bool,
    pub(crate) ins: SmallVec<[Reg; 8]>,
    pub(crate) outs: SmallVec<[Reg; 2]>,
}

pub(crate) struct KernelStep {
    pub(crate) op: &'static OpDef,
    pub(crate) run: Kernel,
    /// The kernel that was made for the operands, which runs in place of the operator's own.
    pub(crate) resolved: Option<Resolved>,
    pub(crate) attrs: Attrs,
    pub(crate) ins: SmallVec<[Reg; 4]>,
    pub(crate) outs: SmallVec<[Reg; 2]>,
    pub(crate) types: SmallVec<[Type; 1]>,
    /// Whether inference goes by what only a run knows, types or values, and so has to look at each run.
    pub(crate) infer: bool,
    /// Whether the register of the first result holds the first operand, which is not among `ins`: the kernel changes it.
    pub(crate) update: bool,
    /// Whether it is timed, and whether it is offloaded.
    pub(crate) weight: Weight,
}

pub(crate) struct ReshapeStep {
    pub(crate) reg: Reg,
    pub(crate) dims: Dims,
}

pub(crate) struct ReadStep {
    /// The position of the variable among the arguments.
    pub(crate) variable: usize,
    pub(crate) out: Reg,
    pub(crate) ty: Type,
}

pub(crate) struct AssignStep {
    /// The position of the variable among the arguments.
    pub(crate) variable: usize,
    pub(crate) ins: SmallVec<[Reg; 8]>,
    /// Dead registers that may share the variable's memory.
    pub(crate) release: Vec<Reg>,
    pub(crate) change: Change,
}

/// What becomes of a variable.
pub(crate) enum Change {
    /// Its value is replaced,
    Value,
    /// or changed by arithmetic, with its loop,
    By(Binary, LoopFn),
    /// or a kernel changes a part of it, and has results of these types;
    Part { run: Kernel, attrs: Attrs, outs: SmallVec<[Reg; 2]>, types: SmallVec<[Type; 1]> },
    /// or a part of it becomes the result of a fused region, of so many elements, where it is made.
    Window { program: TileProgram, elements: i64 },
}

impl AssignStep {
    /// The registers that it writes.
    fn outs(&mut self) -> &mut [Reg] {
        if let Change::Part { outs, .. } = &mut self.change { outs } else { &mut [] }
    }
}

pub(crate) struct CallStep {
    pub(crate) function: FuncRef,
    pub(crate) args: Vec<CallArg>,
    pub(crate) outs: SmallVec<[Reg; 2]>,
    pub(crate) types: SmallVec<[Type; 1]>,
}

/// An argument of a call.
#[derive(Clone, Copy)]
pub(crate) enum CallArg {
    /// What a register holds.
    Reg(Reg),
    /// A variable, by its position among the arguments of the run.
    Variable(usize),
}

/// What a step does with a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Reads it before it writes anything to it: the result may take its place.
    Read,
    /// Reads it until it is done.
    ReadLate,
    /// Writes it.
    Write,
}

impl Step {
    /// Calls `visit` on each register that the step names.
    pub(crate) fn registers(&mut self, visit: &mut impl FnMut(&mut Reg, Role)) {
        use Role::{Read, ReadLate, Write};
        match self {
            Step::Scalar2 { ins, out, .. } => {
                ins.iter_mut().for_each(|r| visit(r, Read));
                visit(out, Write);
            }
            Step::Loop(s) => {
                let size = s.dtype.size();
                for (r, step) in &mut s.ins {
                    // A loop can write over an operand that it walks at the pace of the result.
                    visit(r, if s.in_place && *step as usize == size { Read } else { ReadLate });
                }
                visit(&mut s.out, Write);
            }
            Step::Broadcast(s) => {
                s.ins.iter_mut().for_each(|r| visit(r, ReadLate));
                visit(&mut s.out, Write);
            }
            Step::Fused(s) => {
                s.ins.iter_mut().for_each(|r| visit(r, ReadLate));
                s.outs.iter_mut().for_each(|r| visit(r, Write));
            }
            Step::Pipeline(s) => {
                s.ins.iter_mut().for_each(|r| visit(r, ReadLate));
                s.outs.iter_mut().for_each(|r| visit(r, Write));
            }
            // Where it changes the loop variables, they are not read in front of the loop any more.
            Step::RowLoop(s) => s.ins.iter_mut().chain(&mut s.variables).for_each(|r| visit(r, ReadLate)),
            Step::Native(s) => {
                s.ins.iter_mut().for_each(|r| visit(r, ReadLate));
                s.outs.iter_mut().for_each(|r| visit(r, Write));
            }
            Step::Kernel(s) => {
                s.ins.iter_mut().for_each(|r| visit(r, ReadLate));
                s.outs.iter_mut().for_each(|r| visit(r, Write));
            }
            Step::Concurrent(s) => {
                for (kernel, ..) in &mut s.kernels {
                    kernel.ins.iter_mut().for_each(|r| visit(r, ReadLate));
                    kernel.outs.iter_mut().for_each(|r| visit(r, Write));
                }
            }
            Step::Device(s) => {
                s.ins.iter_mut().for_each(|r| visit(r, ReadLate));
                s.outs.iter_mut().for_each(|r| visit(r, Write));
            }
            // It changes the loop variables, which are not read in front of the loop any more.
            Step::DeviceLoop(s) => {
                s.variables.iter_mut().chain(std::iter::once(&mut s.pred)).for_each(|r| visit(r, ReadLate));
            }
            // It reads what the step before has moved there, so that nothing comes in between.
            Step::Reshape(s) => visit(&mut s.reg, Write),
            Step::Read(s) => visit(&mut s.out, Write),
            Step::Assign(s) => {
                s.ins.iter_mut().for_each(|r| visit(r, ReadLate));
                s.outs().iter_mut().for_each(|r| visit(r, Write));
            }
            Step::Call(s) => {
                for arg in &mut s.args {
                    if let CallArg::Reg(r) = arg {
                        visit(r, ReadLate);
                    }
                }
                s.outs.iter_mut().for_each(|r| visit(r, Write));
            }
            Step::Branch { pred, .. } => visit(pred, ReadLate),
            Step::Switch { index, .. } => visit(index, ReadLate),
            Step::Jump(_) | Step::Back { .. } => {}
            Step::Moves(moves) => {
                moves.iter_mut().for_each(|(from, _)| visit(from, Read));
                moves.iter_mut().for_each(|(_, to)| visit(to, Write));
            }
            Step::Copy { from, out } => {
                visit(from, Read);
                visit(out, Write);
            }
            Step::Swap(a, b) => {
                visit(a, Write);
                visit(b, Write);
            }
        }
    }

    /// Calls `visit` on each step number that the step names.
    pub(crate) fn targets(&mut self, visit: &mut impl FnMut(&mut u32)) {
        match self {
            Step::Branch { target, .. } | Step::Jump(target) | Step::Back { target, .. } => visit(target),
            Step::Switch { targets, .. } => targets.iter_mut().for_each(visit),
            Step::Native(s) => visit(&mut s.target),
            Step::RowLoop(s) => visit(&mut s.target),
            Step::DeviceLoop(s) => {
                [&mut s.head, &mut s.exit, &mut s.back, &mut s.target].into_iter().for_each(visit);
            }
            _ => {}
        }
    }

    /// The variable that the step changes in place, and the list of registers that may share its memory.
    pub(crate) fn release(&mut self) -> Option<(usize, &mut Vec<Reg>)> {
        if let Step::Assign(s) = self { Some((s.variable, &mut s.release)) } else { None }
    }

    /// How a step works, for a profile; `None` for what only moves control and registers.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        Some(match self {
            Step::Scalar2 { .. } => "scalar",
            Step::Loop(_) => "loop",
            Step::Broadcast(_) => "broadcast",
            Step::Fused(_) => "fused",
            Step::Pipeline(_) => "pipeline",
            Step::RowLoop(_) => "rows",
            Step::Native(_) => "native",
            Step::Kernel(s) if s.resolved.is_some() => "resolved",
            Step::Kernel(s) if s.op.effects.contains(&Effect::Host) => "callback",
            Step::Kernel(_) => "kernel",
            Step::Concurrent(_) => "concurrent",
            Step::Read(_) => "read",
            Step::Assign(s) => match s.change {
                Change::Value | Change::By(..) => "write",
                Change::Part { .. } => "update",
                Change::Window { .. } => "window",
            },
            Step::Device(_) | Step::DeviceLoop(_) => "device",
            Step::Reshape(_) | Step::Call(_) | Step::Branch { .. } | Step::Switch { .. } | Step::Jump(_) => {
                return None;
            }
            Step::Back { .. } | Step::Moves(_) | Step::Copy { .. } | Step::Swap(..) => return None,
        })
    }

    /// Whether it is known to take so little time that to read the clock takes as long.
    pub(crate) fn is_brief(&self) -> bool {
        const BRIEF_NS: u64 = 200;
        match self {
            // These may be loops, or run over all of a variable.
            Step::RowLoop(_) | Step::Native(_) | Step::Assign(_) => false,
            _ => self.cost().is_some_and(|ns| ns < BRIEF_NS),
        }
    }

    /// Whether the results may share memory with operands, or with what outlives the run.
    pub(crate) fn may_share(&self) -> bool {
        matches!(
            self,
            Step::Kernel(_)
                | Step::Concurrent(_)
                | Step::Device(_)
                | Step::Read(_)
                | Step::Call(_)
                | Step::Copy { .. }
                | Step::Moves(_)
        )
    }

    /// Estimated nanoseconds, jumps aside; `None` where nothing can be said.
    pub(crate) fn cost(&self) -> Option<u64> {
        let bytes = |ty: &Type| ty.shape().num_elements().map(|n| (n * ty.dtype().size().max(16)) as u64);
        Some(match self {
            Step::Scalar2 { .. } => 8,
            Step::Loop(s) => 10 + (s.n * s.dtype.size()) as u64 / 4,
            Step::Broadcast(s) => 30 + bytes(&s.ty)? / 2,
            Step::Fused(s) => s.program.nanoseconds(),
            Step::Pipeline(s) => s.nanoseconds,
            Step::Concurrent(s) => s.nanoseconds,
            // Host code says nothing of its time; the engine's part is short.
            Step::Kernel(s) if s.op.effects.contains(&Effect::Host) => 200,
            Step::Kernel(s) => {
                let out = s.types.iter().map(bytes).sum::<Option<u64>>()?;
                // Products and convolutions do more to each element than others do.
                let per_byte = if matches!(s.op.cost, Cost::Shared(_)) { 16 } else { 1 };
                200 + out * per_byte
            }
            // The device says nothing of its time.
            Step::Call(_) | Step::Device(_) | Step::DeviceLoop(_) => return None,
            Step::Read(_) => 50,
            Step::Assign(s) => match &s.change {
                Change::Value | Change::By(..) => 50,
                Change::Part { .. } => 200,
                Change::Window { program, .. } => program.nanoseconds(),
            },
            _ => 4,
        })
    }
}

/// What a call passes, for a listing.
impl fmt::Debug for CallArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallArg::Reg(r) => write!(f, "r{r}"),
            CallArg::Variable(i) => write!(f, "v{i}"),
        }
    }
}

struct Regs<'a>(&'a [Reg]);

impl fmt::Debug for Regs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, r) in self.0.iter().enumerate() {
            write!(f, "{}r{r}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Scalar2 { ins, out, .. } => write!(f, "r{out} = scalar {:?}", Regs(ins)),
            Step::Loop(s) => {
                let ins: Vec<Reg> = s.ins.iter().map(|i| i.0).collect();
                write!(f, "r{} = loop {:?} x{}", s.out, Regs(&ins), s.n)
            }
            Step::Broadcast(s) => write!(f, "r{} = broadcast {:?}", s.out, Regs(&s.ins)),
            Step::Fused(s) => write!(f, "{:?} = fused {:?}", Regs(&s.outs), Regs(&s.ins)),
            Step::Pipeline(s) => write!(f, "{:?} = pipeline {:?}, {}", Regs(&s.outs), Regs(&s.ins), s.summary()),
            Step::RowLoop(s) => {
                write!(f, "{:?} by rows of {:?}, goto {} when done", Regs(&s.variables), Regs(&s.ins), s.target)
            }
            Step::Native(s) => {
                write!(f, "{:?} = native {:?}, goto {} if compiled", Regs(&s.outs), Regs(&s.ins), s.target)
            }
            Step::Kernel(s) => {
                let resolved = if s.resolved.is_some() { ", resolved" } else { "" };
                write!(f, "{:?} = kernel {:?}{resolved}", Regs(&s.outs), Regs(&s.ins))
            }
            Step::Concurrent(s) => {
                f.write_str("concurrent")?;
                let mut kernels = s.kernels.iter().map(|(k, ..)| (Regs(&k.outs), Regs(&k.ins)));
                kernels.try_for_each(|(outs, ins)| write!(f, "; {outs:?} = kernel {ins:?}"))
            }
            Step::Device(s) => {
                write!(f, "{:?} = {} {:?}", Regs(&s.outs), s.device.name(), Regs(&s.ins))?;
                s.variables().try_for_each(|variable| write!(f, ", update v{variable}"))
            }
            Step::DeviceLoop(s) => {
                write!(f, "{:?} by the device while r{}, goto {} when done", Regs(&s.variables), s.pred, s.target)
            }
            Step::Reshape(s) => write!(f, "r{} reshaped to {:?}", s.reg, s.dims.as_slice()),
            Step::Read(s) => write!(f, "r{} = read v{}", s.out, s.variable),
            Step::Assign(s) => match &s.change {
                Change::Value => write!(f, "write v{}, {:?}", s.variable, Regs(&s.ins)),
                Change::By(..) => write!(f, "update v{}, {:?}", s.variable, Regs(&s.ins)),
                Change::Part { outs, .. } => {
                    write!(f, "{:?} = update v{}, {:?}", Regs(outs), s.variable, Regs(&s.ins))
                }
                Change::Window { .. } => write!(f, "part of v{} = fused {:?}", s.variable, Regs(&s.ins)),
            },
            Step::Call(s) => write!(f, "{:?} = call {:?} {:?}", Regs(&s.outs), s.function, s.args),
            Step::Branch { pred, target } => write!(f, "unless r{pred} goto {target}"),
            Step::Switch { index, targets } => write!(f, "switch r{index} {targets:?}"),
            Step::Jump(target) => write!(f, "goto {target}"),
            Step::Back { target, .. } => write!(f, "loop {target}"),
            Step::Moves(moves) => write!(f, "moves {moves:?}"),
            Step::Copy { from, out } => write!(f, "r{out} = r{from}"),
            Step::Swap(a, b) => write!(f, "r{a} <-> r{b}"),
        }
    }
}

/// The tensors of a lowered graph that are known ahead.
pub(crate) type Constants = Vec<(Reg, Tensor)>;
