//! From a scalar region to machine code.

#![expect(unsafe_code, reason = "calls generated code, which calls back")]

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    AbiParam, BlockArg, FuncRef, InstBuilder, MemFlagsData, SigRef, Signature, StackSlotData, StackSlotKind, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};
use penstock_data::{DType, Error, Result};
use penstock_ir::{ElementFn, Env};
use penstock_kernels::{Binary, Lane, LoopFn, stack};
use smallvec::SmallVec;

use crate::Stop;
use crate::emit::{Application, brief, constant, divides, emit, type_of};
use crate::ranges::{Range, Ranges, is_whole};
use crate::residues::Residues;
use crate::source::{ArrayResult, Block, Id, Node, Source, Take};
use crate::work::{Layout, Place, Slot, Spare, Work, copy_bytes, run_work};

/// Nanoseconds of estimated work between two polls of the host.
const POLL_EVERY: i64 = 2_000_000;
/// The most operators of a condition that is made twice, in front of its loop and at the end of each iteration.
const MAX_ROTATED: u32 = 16;
/// The most nanoseconds of two arms that both run, rather than one of them behind a jump.
const MAX_SPECULATED: u32 = 4;
/// What Cranelift takes of a stack, in levels of a walk through nested blocks.
const LEVELS_OF_CRANELIFT: usize = 16;
/// The code returns this when all went well,
const DONE: i64 = 0;
/// this when the host wants it to stop, and else 1 more than the origin of the operator that failed.
const STOPPED: i64 = -1;

/// Inputs, outputs, host.
type Entry = unsafe extern "C" fn(*const *const u8, *const *mut u8, *mut Host<'_>) -> i64;

/// Machine code of a scalar region.
pub struct Native {
    entry: Entry,
    module: ManuallyDrop<JITModule>,
    layout: Arc<Layout>,
    /// What the code points to.
    _works: Arc<Vec<Work>>,
    results: Vec<ArrayResult>,
    spare: Spare,
}

/// What the code passes to [`poll`], and where its arrays are.
#[repr(C)]
struct Host<'a> {
    /// [`DONE`], or [`STOPPED`] after a poll that ends the run.
    said: i64,
    /// The address of each place.
    table: *mut *const u8,
    /// The memory that places have of their own.
    memory: *mut u8,
    env: &'a dyn Env,
    error: Option<Error>,
}

// SAFETY: the module is not touched between compilation and drop, and its code has no state.
unsafe impl Send for Native {}
// SAFETY: the module is not touched between compilation and drop, and its code has no state.
unsafe impl Sync for Native {}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: taken once; nobody runs the code, since a run borrows `self`.
        unsafe { ManuallyDrop::take(&mut self.module).free_memory() };
    }
}

impl Native {
    /// Compiles a region.
    ///
    /// # Errors
    /// `Unimplemented` where Cranelift knows no code for this machine; `Internal` for what it rejects;
    /// `ResourceExhausted` where there is no stack for it.
    pub fn compile(source: &Source) -> Result<Native> {
        stack::with_room(source.depth + LEVELS_OF_CRANELIFT, || Native::compile_here(source))?
    }

    fn compile_here(source: &Source) -> Result<Native> {
        let mut module = JITModule::new(builder()?);
        let mut cx = module.make_context();
        let mut memory = FunctionBuilderContext::new();
        match region(&mut module, &mut cx, &mut memory, source) {
            Ok(code) => {
                // SAFETY: the function was compiled with the signature of `Entry`, in the same calling convention.
                let entry = unsafe { std::mem::transmute::<*const u8, Entry>(code) };
                Ok(Native {
                    entry,
                    module: ManuallyDrop::new(module),
                    layout: source.layout.clone(),
                    _works: source.works.clone(),
                    results: source.array_results.clone(),
                    spare: Spare::default(),
                })
            }
            Err(error) => {
                // SAFETY: nothing of it was given away.
                unsafe { module.free_memory() };
                Err(error)
            }
        }
    }

    /// Runs the code.
    ///
    /// # Errors
    /// What it stopped at; outputs are not written then.
    ///
    /// # Safety
    /// `ins` points to one readable scalar for each parameter of the source, or to the elements of the array that it is, and
    /// `outs` to room for each result, all of their dtypes and aligned. An output may be the place of an input that is a scalar,
    /// where there are no results that are arrays.
    pub unsafe fn run(&self, ins: &[*const u8], outs: &[*mut u8], env: &dyn Env) -> Result<(), Stop> {
        let arrays = self.layout.has_own() || !self.results.is_empty();
        let mut memory = arrays.then(|| self.spare.take(&self.layout));
        let (table, start) = memory.as_mut().map_or((std::ptr::null_mut(), std::ptr::null_mut()), |memory| {
            (memory.table(&self.layout, ins), memory.start())
        });
        let mut host = Host { said: DONE, table, memory: start, env, error: None };
        // SAFETY: the caller's promise; the code writes outputs last.
        let code = unsafe { (self.entry)(ins.as_ptr(), outs.as_ptr(), &raw mut host) };
        let done = match (code, host.error) {
            (DONE, _) => Ok(()),
            (STOPPED, error) => Err(Stop::Host(error.unwrap_or_else(|| Error::internal("stopped for no reason")))),
            (origin, _) => Err(Stop::Fault((origin - 1) as u32)),
        };
        if let Some(memory) = memory {
            for result in self.results.iter().filter(|_| done.is_ok()) {
                let bytes = result.dims.iter().product::<usize>() * result.dtype.size();
                // SAFETY: the code has left the result there; the caller has made room for it.
                unsafe { memory.at(result.place).copy_to_nonoverlapping(outs[result.position], bytes) };
            }
            self.spare.put(memory);
        }
        done
    }
}

/// Makes a region's code executable, and gives its address.
fn region(
    module: &mut JITModule,
    cx: &mut Context,
    memory: &mut FunctionBuilderContext,
    source: &Source,
) -> Result<*const u8> {
    let poll = if source.has_loop() { Some(poll_quietly(module, cx, memory)?) } else { None };
    cx.func.signature.params.extend([AbiParam::new(I64); 3]);
    cx.func.signature.returns.push(AbiParam::new(I64));
    let poll = poll.map(|id| module.declare_func_in_func(id, &mut cx.func));
    if let Some(poll) = poll {
        // Functions of a module have pages of their own, which may be further apart than a near call reaches: where a process has
        // reserved terabytes, as drivers of GPUs do, pages lie wherever there is a hole.
        cx.func.dfg.ext_funcs[poll].colocated = false;
    }
    let config = module.target_config();
    Compiler::new(FunctionBuilder::new(&mut cx.func, memory), source, module, poll).run(source, config)?;
    let id = define(module, cx, "region")?;
    module.finalize_definitions().map_err(refused)?;
    Ok(module.get_finalized_function(id))
}

/// A function that calls [`poll`] and changes no register, so that the call costs a loop nothing that makes none.
fn poll_quietly(module: &mut JITModule, cx: &mut Context, memory: &mut FunctionBuilderContext) -> Result<FuncId> {
    cx.func.signature.call_conv = CallConv::PreserveAll;
    cx.func.signature.params.push(AbiParam::new(I64));
    let mut called = Signature::new(module.isa().default_call_conv());
    called.params.push(AbiParam::new(I64));
    let mut b = FunctionBuilder::new(&mut cx.func, memory);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let (called, host) = (b.import_signature(called), b.block_params(entry)[0]);
    let f = b.ins().iconst(I64, poll as *const () as i64);
    b.ins().call_indirect(called, f, &[host]);
    b.ins().return_(&[]);
    b.finalize(module.target_config());
    define(module, cx, "poll")
}

/// Compiles the function in `cx`, and clears that for another one.
fn define(module: &mut JITModule, cx: &mut Context, name: &str) -> Result<FuncId> {
    let id = module.declare_function(name, Linkage::Local, &cx.func.signature).map_err(refused)?;
    module.define_function(id, cx).map_err(refused)?;
    module.clear_context(cx);
    Ok(id)
}

fn refused(e: ModuleError) -> Error {
    Error::internal(format!("no code for a scalar region: {e}"))
}

fn builder() -> Result<JITBuilder> {
    let mut flags = settings::builder();
    let speed = flags.set("opt_level", "speed").and_then(|()| flags.set("is_pic", "false"));
    speed.map_err(|e| Error::internal(e.to_string()))?;
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    flags.set("enable_verifier", verify).map_err(|e| Error::internal(e.to_string()))?;
    let isa = cranelift_native::builder().map_err(Error::unimplemented)?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(|e| Error::unimplemented(e.to_string()))?;
    if isa.pointer_type() != I64 {
        return Err(Error::unimplemented("native code is for machines of 64 bits"));
    }
    Ok(JITBuilder::with_isa(isa, default_libcall_names()))
}

/// Lets the host look whether to stop, and notes what it said.
unsafe extern "C" fn poll(host: *mut Host<'_>) {
    // SAFETY: `Native::run` passes it, and uses it only afterwards.
    let host = unsafe { &mut *host };
    let polled = catch_unwind(AssertUnwindSafe(|| host.env.poll()));
    if let Err(error) = polled.unwrap_or_else(|_| Err(Error::internal("the host's poll panicked"))) {
        host.error = Some(error);
        host.said = STOPPED;
    }
}

/// Runs an elementwise loop over one element: 0 where it went well.
///
/// # Safety
/// `f` is a [`LoopFn`]; the others are as it wants them for one element.
unsafe extern "C" fn call_loop(f: *const (), lanes: *const Lane, count: usize, out: *mut u8) -> i64 {
    // SAFETY: the caller's promise.
    let done = unsafe {
        let f = std::mem::transmute::<*const (), LoopFn>(f);
        f(1, std::slice::from_raw_parts(lanes, count), out)
    };
    i64::from(done.is_err())
}

struct Compiler<'a> {
    b: FunctionBuilder<'a>,
    source: &'a Source,
    /// The scalars in scope, by number.
    values: Vec<Option<Value>>,
    /// Those that are constants.
    constants: Vec<Option<u64>>,
    /// Nanoseconds to the next poll.
    budget: Variable,
    /// The address of each place, and the memory that places have of their own.
    arrays: [Value; 2],
    host: Value,
    ins: Value,
    outs: Value,
    /// What loops call; there where the region has any.
    poll: Option<FuncRef>,
    call_loop: SigRef,
    call_work: SigRef,
    call_copy: SigRef,
    ranges: Ranges,
    residues: Residues,
}

impl<'a> Compiler<'a> {
    fn new(mut b: FunctionBuilder<'a>, source: &'a Source, module: &JITModule, poll: Option<FuncRef>) -> Compiler<'a> {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let [ins, outs, host] = *b.block_params(entry) else { unreachable!("the entry has three parameters") };
        let mut signature = Signature::new(module.isa().default_call_conv());
        signature.params.extend([AbiParam::new(I64); 4]);
        signature.returns.push(AbiParam::new(I64));
        let call_loop = b.import_signature(signature.clone());
        signature.params.truncate(2);
        let call_work = b.import_signature(signature.clone());
        signature.params.push(AbiParam::new(I64));
        signature.returns.clear();
        let call_copy = b.import_signature(signature);
        let mut field = |offset: usize| b.ins().load(I64, MemFlagsData::trusted(), host, offset as i32);
        let arrays = [field(std::mem::offset_of!(Host<'_>, table)), field(std::mem::offset_of!(Host<'_>, memory))];
        let budget = b.declare_var(I64);
        let full = b.ins().iconst(I64, POLL_EVERY);
        b.def_var(budget, full);
        let count = source.dtypes.len();
        let (values, constants) = (vec![None; count], vec![None; count]);
        let ranges = Ranges::of(source);
        let residues = Residues::of(source, &ranges);
        Compiler {
            b,
            source,
            values,
            constants,
            budget,
            arrays,
            host,
            ins,
            outs,
            poll,
            call_loop,
            call_work,
            call_copy,
            ranges,
            residues,
        }
    }

    fn run(mut self, source: &Source, config: TargetFrontendConfig) -> Result<()> {
        for (k, &param) in source.params.iter().enumerate() {
            let at = self.b.ins().load(I64, MemFlagsData::trusted(), self.ins, 8 * k as i32);
            let value = if source.arrays[k] { at } else { self.load(param, at)? };
            self.values[param as usize] = Some(value);
        }
        let results = self.block(&source.body)?;
        for (&k, &value) in source.scalar_results.iter().zip(&results) {
            let at = self.b.ins().load(I64, MemFlagsData::trusted(), self.outs, 8 * k as i32);
            self.b.ins().store(MemFlagsData::trusted(), value, at, 0);
        }
        let done = self.b.ins().iconst(I64, DONE);
        self.b.ins().return_(&[done]);
        self.b.seal_all_blocks();
        self.b.finalize(config);
        Ok(())
    }

    fn load(&mut self, id: Id, at: Value) -> Result<Value> {
        let ty = self.ty(id)?;
        Ok(self.b.ins().load(ty, MemFlagsData::trusted(), at, 0))
    }

    fn ty(&self, id: Id) -> Result<cranelift_codegen::ir::Type> {
        let dtype = self.source.dtypes[id as usize];
        type_of(dtype).ok_or_else(|| Error::internal(format!("no register for {dtype}")))
    }

    fn value(&self, id: Id) -> Result<Value> {
        self.values[id as usize].ok_or_else(|| Error::internal("a scalar is used before it is made"))
    }

    fn list(&self, ids: &[Id]) -> Result<SmallVec<[Value; 8]>> {
        ids.iter().map(|&id| self.value(id)).collect()
    }

    fn block(&mut self, block: &Block) -> Result<SmallVec<[Value; 8]>> {
        block.nodes.iter().try_for_each(|node| self.node(node))?;
        self.list(&block.results)
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        match node {
            Node::Const { out, bits } => {
                let value = constant(&mut self.b, self.source.dtypes[*out as usize], *bits);
                self.values[*out as usize] = value;
                self.constants[*out as usize] = Some(*bits);
                Ok(())
            }
            Node::Op { out, .. } if self.residues.is_unused(*out) => Ok(()),
            Node::Op { function, f, ins, out, origin } => {
                let value = self.op(*function, *f, ins, *out, *origin)?;
                self.values[*out as usize] = Some(value);
                Ok(())
            }
            Node::Element { .. } => self.element(node),
            Node::Store { array, len, index, value, bytes, origin } => {
                let at = self.index(*index, *len as i64, false, self.ranges.operand(*origin, 0), *origin)?;
                let start = self.address(*array)?;
                let offset = self.b.ins().imul_imm_s(at, *bytes as i64);
                let to = self.b.ins().iadd(start, offset);
                if self.source.is_array[*value as usize] {
                    let from = self.address(*value)?;
                    self.copy(from, to, *bytes);
                } else {
                    let value = self.value(*value)?;
                    self.b.ins().store(MemFlagsData::trusted(), value, to, 0);
                }
                Ok(())
            }
            Node::Work { work, ins, out, origin, .. } => self.work(*work, ins, *out, *origin),
            Node::If { condition, arms: [yes, no], outs } => {
                let condition = self.value(*condition)?;
                if self.speculates([yes, no], outs) {
                    let (yes, no) = (self.block(yes)?, self.block(no)?);
                    for (&out, (yes, no)) in outs.iter().zip(yes.into_iter().zip(no)) {
                        let value = if yes == no { yes } else { self.b.ins().select(condition, yes, no) };
                        self.values[out as usize] = Some(value);
                    }
                    return Ok(());
                }
                let [then, other] = [self.b.create_block(), self.b.create_block()];
                self.b.ins().brif(condition, then, &[], other, &[]);
                let join = self.join(outs)?;
                self.arm(then, yes, join)?;
                self.arm(other, no, join)?;
                self.enter(join, outs);
                Ok(())
            }
            Node::Switch { index, arms, outs } => {
                let index = self.value(*index)?;
                let join = self.join(outs)?;
                for (k, arm) in arms.iter().enumerate() {
                    let here = self.b.create_block();
                    if k + 1 == arms.len() {
                        self.b.ins().jump(here, &[]);
                        self.arm(here, arm, join)?;
                    } else {
                        let next = self.b.create_block();
                        let hit = self.b.ins().icmp_imm_s(IntCC::Equal, index, k as i64);
                        self.b.ins().brif(hit, here, &[], next, &[]);
                        self.arm(here, arm, join)?;
                        self.b.switch_to_block(next);
                    }
                }
                self.enter(join, outs);
                Ok(())
            }
            Node::Loop { init, variables, condition, body } => self.repeat(init, variables, condition, body),
        }
    }

    /// A block that takes these scalars.
    fn join(&mut self, outs: &[Id]) -> Result<cranelift_codegen::ir::Block> {
        let block = self.b.create_block();
        for &out in outs {
            let ty = self.ty(out)?;
            self.b.append_block_param(block, ty);
        }
        Ok(block)
    }

    fn enter(&mut self, block: cranelift_codegen::ir::Block, outs: &[Id]) {
        self.b.switch_to_block(block);
        for (k, &out) in outs.iter().enumerate() {
            self.values[out as usize] = Some(self.b.block_params(block)[k]);
        }
    }

    fn arm(&mut self, at: cranelift_codegen::ir::Block, arm: &Block, join: cranelift_codegen::ir::Block) -> Result<()> {
        self.b.switch_to_block(at);
        let results = self.block(arm)?;
        self.jump(join, &results);
        Ok(())
    }

    fn jump(&mut self, to: cranelift_codegen::ir::Block, values: &[Value]) {
        let args: SmallVec<[BlockArg; 8]> = values.iter().map(|&v| v.into()).collect();
        self.b.ins().jump(to, &args);
    }

    /// Whether two arms are computed both: where that is brief, cannot fail and has whole numbers for results, which
    /// a machine selects without a jump.
    fn speculates(&self, arms: [&Block; 2], outs: &[Id]) -> bool {
        let cost = |block: &Block| {
            block.nodes.iter().try_fold(0, |sum, node| match node {
                Node::Const { .. } => Some(sum),
                Node::Op { out, .. } if self.residues.is_unused(*out) => Some(sum),
                Node::Op { function, ins, out, .. } => {
                    let whole = ins.iter().chain([out]).all(|&id| is_whole(self.source.dtypes[id as usize]));
                    let constant = ins.get(1).and_then(|&id| self.constant(block, id));
                    whole.then(|| brief(*function, constant)).flatten().map(|cost| sum + cost)
                }
                _ => None,
            })
        };
        let costs = arms.map(cost).into_iter().sum::<Option<u32>>();
        let whole = outs.iter().all(|&out| is_whole(self.source.dtypes[out as usize]));
        whole && costs.is_some_and(|cost| cost + outs.len() as u32 <= MAX_SPECULATED)
    }

    /// A constant that was made, or that a block makes.
    fn constant(&self, block: &Block, id: Id) -> Option<u64> {
        let own = block.nodes.iter().find_map(|node| match node {
            Node::Const { out, bits } if *out == id => Some(*bits),
            _ => None,
        });
        own.or(self.constants[id as usize])
    }

    fn repeat(&mut self, init: &[Id], variables: &[Id], condition: &Block, body: &Block) -> Result<()> {
        let first = self.list(init)?;
        let [iteration, after] = [self.join(variables)?, self.join(variables)?];
        if condition.cost() <= MAX_ROTATED && !condition.has_loop() {
            self.test(condition, variables, &first, iteration, after)?;
            self.enter(iteration, variables);
            let next = self.block(body)?;
            self.poll(condition.cost() + body.cost())?;
            self.test(condition, variables, &next, iteration, after)?;
        } else {
            let head = self.join(variables)?;
            self.jump(head, &first);
            self.enter(head, variables);
            let now = self.list(variables)?;
            self.test(condition, variables, &now, iteration, after)?;
            self.enter(iteration, variables);
            let next = self.block(body)?;
            self.poll(condition.cost() + body.cost())?;
            self.jump(head, &next);
        }
        self.enter(after, variables);
        Ok(())
    }

    /// Goes on in `iteration` or in `after`, as the condition on variables of these values says.
    fn test(
        &mut self,
        condition: &Block,
        variables: &[Id],
        values: &[Value],
        iteration: cranelift_codegen::ir::Block,
        after: cranelift_codegen::ir::Block,
    ) -> Result<()> {
        for (&v, &value) in variables.iter().zip(values) {
            self.values[v as usize] = Some(value);
        }
        let go = self.block(condition)?;
        let &[go] = &go[..] else { return Err(Error::internal("a condition gives one scalar")) };
        let args: SmallVec<[BlockArg; 8]> = values.iter().map(|&v| v.into()).collect();
        self.b.ins().brif(go, iteration, &args, after, &args);
        Ok(())
    }

    /// Asks the host, where the time between two polls is spent after an iteration that costs so much.
    fn poll(&mut self, cost: u32) -> Result<()> {
        let poll = self.poll.ok_or_else(|| Error::internal("a loop that was not announced"))?;
        let left = self.b.use_var(self.budget);
        let left = self.b.ins().iadd_imm_s(left, -i64::from(cost.max(1)));
        self.b.def_var(self.budget, left);
        let [ask, on] = [self.b.create_block(), self.b.create_block()];
        let spent = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
        self.b.ins().brif(spent, ask, &[], on, &[]);
        self.b.switch_to_block(ask);
        self.b.set_cold_block(ask);
        self.b.ins().call(poll, &[self.host]);
        let said =
            self.b.ins().load(I64, MemFlagsData::trusted(), self.host, std::mem::offset_of!(Host<'_>, said) as i32);
        let resumed = self.return_unless_zero(said);
        self.b.set_cold_block(resumed);
        let full = self.b.ins().iconst(I64, POLL_EVERY);
        self.b.def_var(self.budget, full);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
        Ok(())
    }

    /// Returns `code` unless it is 0; goes on in a new block, which it gives.
    fn return_unless_zero(&mut self, code: Value) -> cranelift_codegen::ir::Block {
        let [stop, on] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(code, stop, &[], on, &[]);
        self.b.switch_to_block(stop);
        self.b.set_cold_block(stop);
        self.b.ins().return_(&[code]);
        self.b.switch_to_block(on);
        on
    }

    /// Returns the number of the origin where `failed` is not 0.
    fn fail_if(&mut self, failed: Value, origin: u32) {
        let [stop, on] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(failed, stop, &[], on, &[]);
        self.b.switch_to_block(stop);
        self.b.set_cold_block(stop);
        let code = self.b.ins().iconst(I64, i64::from(origin) + 1);
        self.b.ins().return_(&[code]);
        self.b.switch_to_block(on);
    }

    fn op(&mut self, function: ElementFn, f: LoopFn, ins: &[Id], out: Id, origin: u32) -> Result<Value> {
        if let Some(test) = self.residues.test(origin) {
            let x = self.value(test.x)?;
            return Ok(test.emit(&mut self.b, x));
        }
        let from: SmallVec<[_; 3]> = ins.iter().map(|&id| self.source.dtypes[id as usize]).collect();
        let to = self.source.dtypes[out as usize];
        let args = self.list(ins)?;
        let mut known = ins.get(1).and_then(|&id| self.constants[id as usize]);
        let mut operands = args.clone();
        if function == ElementFn::Binary(Binary::Mul) && known.is_none() && is_whole(from[0]) {
            known = self.constants[ins[0] as usize];
            operands.swap(0, usize::from(known.is_some()));
        }
        let ranges = [0, 1].map(|k| self.ranges.operand(origin, k));
        let application = Application { function, from: &from, to, ins: &operands, constant: known, ranges };
        if divides(function, from[0]) {
            if known.is_none() && application.may_be_of_either_sign() {
                return self.divide_by_signs(application, origin);
            }
            self.fail_if_zero(args[1], ranges[1], origin);
        }
        match emit(&mut self.b, &application) {
            Some(value) => Ok(value),
            None => self.call(f, &args, out, origin),
        }
    }

    /// Returns the number of the origin where a divisor that lies in `known` is 0.
    fn fail_if_zero(&mut self, divisor: Value, known: Range, origin: u32) {
        if known.contains(0) {
            let zero = self.b.ins().icmp_imm_s(IntCC::Equal, divisor, 0);
            self.fail_if(zero, origin);
        }
    }

    /// A division whose operands are mostly not negative, for all that is known: the test that tells so also finds a divisor of 0,
    /// and saves what corrects the sign.
    fn divide_by_signs(&mut self, mut application: Application<'_>, origin: u32) -> Result<Value> {
        let none = || Error::internal("a division without code");
        let (&[x, y], signed) = (application.ins, application.ranges) else { return Err(none()) };
        let join = self.b.create_block();
        let ty = type_of(application.to).ok_or_else(|| Error::internal("no register for an integer"))?;
        let quotient = self.b.append_block_param(join, ty);
        let other = self.b.create_block();
        self.b.set_cold_block(other);
        for (value, known, least) in [(y, &signed[1], 1), (x, &signed[0], 0)] {
            if known.low < least {
                let on = self.b.create_block();
                let large = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, value, least as i64);
                self.b.ins().brif(large, on, &[], other, &[]);
                self.b.switch_to_block(on);
            }
        }
        application.ranges = [signed[0].from(0), signed[1].from(1)];
        let found = emit(&mut self.b, &application).ok_or_else(none)?;
        self.jump(join, &[found]);
        self.b.switch_to_block(other);
        self.fail_if_zero(y, signed[1], origin);
        self.b.current_block().into_iter().for_each(|block| self.b.set_cold_block(block));
        application.ranges = signed;
        let found = emit(&mut self.b, &application).ok_or_else(none)?;
        self.jump(join, &[found]);
        self.b.switch_to_block(join);
        Ok(quotient)
    }

    /// Where a place is.
    fn place(&mut self, place: Place) -> Value {
        let [table, memory] = self.arrays;
        match self.source.layout.slots[place as usize] {
            Slot::Own(line) => self.b.ins().iadd_imm_s(memory, Layout::offset(line) as i64),
            _ => self.b.ins().load(I64, MemFlagsData::trusted(), table, 8 * place as i32),
        }
    }

    /// Where an array is.
    fn address(&mut self, array: Id) -> Result<Value> {
        match (self.values[array as usize], self.source.places[array as usize]) {
            (Some(address), _) => Ok(address),
            (None, Some(place)) => Ok(self.place(place)),
            (None, None) => Err(Error::internal("an array has no place")),
        }
    }

    fn copy(&mut self, from: Value, to: Value, bytes: usize) {
        let bytes = self.b.ins().iconst(I64, bytes as i64);
        let callee = self.b.ins().iconst(I64, copy_bytes as *const () as i64);
        self.b.ins().call_indirect(self.call_copy, callee, &[from, to, bytes]);
    }

    /// Work, for which scalars are put where it reads them.
    fn work(&mut self, work: usize, ins: &[Id], out: Option<Id>, origin: u32) -> Result<()> {
        let place = |id: Id| {
            let place = self.source.places[id as usize];
            place.ok_or_else(|| Error::internal("a scalar that work reads has no place"))
        };
        let scalars: SmallVec<[(Id, Place); 3]> = (ins.iter().filter(|&&id| !self.source.is_array[id as usize]))
            .map(|&id| Ok((id, place(id)?)))
            .collect::<Result<_>>()?;
        let made = out.map(place).transpose()?;
        for (id, place) in scalars {
            let (value, to) = (self.value(id)?, self.place(place));
            self.b.ins().store(MemFlagsData::trusted(), value, to, 0);
        }
        let what = self.b.ins().iconst(I64, std::ptr::from_ref(&self.source.works[work]) as i64);
        let callee = self.b.ins().iconst(I64, run_work as *const () as i64);
        let call = self.b.ins().call_indirect(self.call_work, callee, &[what, self.arrays[0]]);
        let failed = self.b.inst_results(call)[0];
        self.fail_if(failed, origin);
        if let (Some(out), Some(place)) = (out, made) {
            let from = self.place(place);
            self.values[out as usize] = Some(self.load(out, from)?);
        }
        Ok(())
    }

    /// An index of a dimension, as a word, which is tested.
    fn index(&mut self, index: Id, extent: i64, wraps: bool, known: Range, origin: u32) -> Result<Value> {
        let mut i = self.value(index)?;
        if self.source.dtypes[index as usize] == DType::I32 {
            i = self.b.ins().sextend(I64, i);
        }
        if wraps && known.low < 0 {
            let negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, i, 0);
            let from_end = self.b.ins().iadd_imm_s(i, extent);
            i = self.b.ins().select(negative, from_end, i);
        }
        if known.low < 0 || known.high >= i128::from(extent) {
            let outside = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, i, extent);
            self.fail_if(outside, origin);
        }
        Ok(i)
    }

    /// What an array has at indices.
    fn element(&mut self, node: &Node) -> Result<()> {
        let Node::Element { array, extents, indices, wraps, take, out, origin } = node else {
            return Err(Error::internal("is no element"));
        };
        let mut at = None;
        for (k, (&index, &extent)) in indices.iter().zip(extents).enumerate() {
            let extent = extent as i64;
            let known = if k < 2 { self.ranges.operand(*origin, k) } else { Range::of(DType::I64) };
            let i = self.index(index, extent, *wraps, known, *origin)?;
            at = Some(match at {
                Some(before) => {
                    let row = self.b.ins().imul_imm_s(before, extent);
                    self.b.ins().iadd(row, i)
                }
                None => i,
            });
        }
        let mut place = self.address(*array)?;
        let bytes = match take {
            Take::Scalar => self.ty(*out)?.bytes() as usize,
            Take::Part(bytes) | Take::Copy(bytes) => *bytes,
        };
        if let Some(at) = at {
            let offset = self.b.ins().imul_imm_s(at, bytes as i64);
            place = self.b.ins().iadd(place, offset);
        }
        match (take, self.source.places[*out as usize]) {
            (Take::Scalar, _) => self.values[*out as usize] = Some(self.load(*out, place)?),
            (Take::Part(_), Some(part)) => {
                self.values[*out as usize] = Some(place);
                self.b.ins().store(MemFlagsData::trusted(), place, self.arrays[0], 8 * part as i32);
            }
            (Take::Copy(_), Some(own)) => {
                let to = self.place(own);
                self.copy(place, to, bytes);
            }
            _ => return Err(Error::internal("an array has no place")),
        }
        Ok(())
    }

    /// The operator's kernel on one element, through memory.
    fn call(&mut self, f: LoopFn, args: &[Value], out: Id, origin: u32) -> Result<Value> {
        const LANE: i32 = size_of::<Lane>() as i32;
        let ty = self.ty(out)?;
        let mut slot = |bytes: usize| {
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes as u32, 3);
            self.b.create_sized_stack_slot(data)
        };
        let (cells, lanes) = (slot(8 * (args.len() + 1)), slot(LANE as usize * args.len()));
        let zero = self.b.ins().iconst(I64, 0);
        for (k, &arg) in args.iter().enumerate() {
            self.b.ins().stack_store(I64, arg, cells, 8 * k as i32);
            let at = self.b.ins().stack_addr(I64, cells, 8 * k as i32);
            let lane = LANE * k as i32;
            self.b.ins().stack_store(I64, at, lanes, lane + std::mem::offset_of!(Lane, ptr) as i32);
            self.b.ins().stack_store(I64, zero, lanes, lane + std::mem::offset_of!(Lane, step) as i32);
        }
        let result = self.b.ins().stack_addr(I64, cells, 8 * args.len() as i32);
        let lanes = self.b.ins().stack_addr(I64, lanes, 0);
        let (f, count) = (self.b.ins().iconst(I64, f as *const () as i64), self.b.ins().iconst(I64, args.len() as i64));
        let callee = self.b.ins().iconst(I64, call_loop as *const () as i64);
        let call = self.b.ins().call_indirect(self.call_loop, callee, &[f, lanes, count, result]);
        let failed = self.b.inst_results(call)[0];
        self.fail_if(failed, origin);
        Ok(self.b.ins().stack_load(I64, ty, cells, 8 * args.len() as i32))
    }
}
