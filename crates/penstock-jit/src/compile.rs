//! From a scalar region to machine code.

#![expect(unsafe_code, reason = "calls generated code, which calls back")]

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    AbiParam, BlockArg, InstBuilder, MemFlagsData, SigRef, Signature, StackSlotData, StackSlotKind, Value,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, ModuleError, default_libcall_names};
use penstock_data::{Error, Result};
use penstock_ir::Env;
use penstock_kernels::{Lane, LoopFn};
use smallvec::SmallVec;

use crate::emit::{Application, constant, divides, emit, type_of};
use crate::source::{Block, Id, Node, Source};

/// Nanoseconds of estimated work between two polls of the host.
const POLL_EVERY: i64 = 2_000_000;
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
}

/// Why a run stopped.
pub enum Stop {
    /// The operator with this origin was given an operand that it rejects.
    Fault(u32),
    /// The host wanted it.
    Host(Error),
}

/// What the code passes to [`poll`].
struct Host<'a> {
    env: &'a dyn Env,
    error: Option<Error>,
}

// SAFETY: the module is not touched between compilation and drop, and its code has no state.
unsafe impl Send for Native {}
// SAFETY: as above.
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
    /// `Unimplemented` where Cranelift knows no code for this machine; `Internal` for what it rejects.
    pub fn compile(source: &Source) -> Result<Native> {
        let mut module = JITModule::new(builder()?);
        let mut cx = module.make_context();
        let pointer = AbiParam::new(I64);
        cx.func.signature.params.extend([pointer; 3]);
        cx.func.signature.returns.push(AbiParam::new(I64));
        let mut memory = FunctionBuilderContext::new();
        Compiler::new(FunctionBuilder::new(&mut cx.func, &mut memory), source, &module)
            .run(source, module.target_config())?;
        match define(&mut module, &mut cx) {
            Ok(code) => {
                // SAFETY: the function was compiled with the signature of `Entry`, in the same calling convention.
                let entry = unsafe { std::mem::transmute::<*const u8, Entry>(code) };
                Ok(Native { entry, module: ManuallyDrop::new(module) })
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
    /// `ins` points to one readable scalar for each parameter of the source, and `outs` to room for one for each
    /// result, all of their dtypes and aligned. An output may be the place of an input.
    pub unsafe fn run(&self, ins: &[*const u8], outs: &[*mut u8], env: &dyn Env) -> Result<(), Stop> {
        let mut host = Host { env, error: None };
        // SAFETY: the caller's promise; the code reads all inputs first and writes outputs last.
        let code = unsafe { (self.entry)(ins.as_ptr(), outs.as_ptr(), &raw mut host) };
        match (code, host.error) {
            (DONE, _) => Ok(()),
            (STOPPED, error) => Err(Stop::Host(error.unwrap_or_else(|| Error::internal("stopped for no reason")))),
            (origin, _) => Err(Stop::Fault((origin - 1) as u32)),
        }
    }
}

/// Makes the function's code executable, and gives its address.
fn define(module: &mut JITModule, cx: &mut Context) -> Result<*const u8> {
    let refused = |e: ModuleError| Error::internal(format!("no code for a scalar region: {e}"));
    let id = module.declare_function("region", Linkage::Local, &cx.func.signature).map_err(refused)?;
    module.define_function(id, cx).map_err(refused)?;
    module.finalize_definitions().map_err(refused)?;
    Ok(module.get_finalized_function(id))
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

/// Lets the host look whether to stop: 0 to go on.
unsafe extern "C" fn poll(host: *mut Host<'_>) -> i64 {
    // SAFETY: `Native::run` passes it, and uses it only afterwards.
    let host = unsafe { &mut *host };
    let polled = catch_unwind(AssertUnwindSafe(|| host.env.poll()));
    match polled.unwrap_or_else(|_| Err(Error::internal("the host's poll panicked"))) {
        Ok(()) => DONE,
        Err(error) => {
            host.error = Some(error);
            STOPPED
        }
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
    host: Value,
    ins: Value,
    outs: Value,
    poll: SigRef,
    call_loop: SigRef,
}

impl<'a> Compiler<'a> {
    fn new(mut b: FunctionBuilder<'a>, source: &'a Source, module: &JITModule) -> Compiler<'a> {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let [ins, outs, host] = *b.block_params(entry) else { unreachable!("the entry has three parameters") };
        let mut signature = |count: usize| {
            let mut s = Signature::new(module.isa().default_call_conv());
            s.params.extend(std::iter::repeat_n(AbiParam::new(I64), count));
            s.returns.push(AbiParam::new(I64));
            b.import_signature(s)
        };
        let (poll, call_loop) = (signature(1), signature(4));
        let budget = b.declare_var(I64);
        let full = b.ins().iconst(I64, POLL_EVERY);
        b.def_var(budget, full);
        let count = source.dtypes.len();
        let (values, constants) = (vec![None; count], vec![None; count]);
        Compiler { b, source, values, constants, budget, host, ins, outs, poll, call_loop }
    }

    fn run(mut self, source: &Source, config: TargetFrontendConfig) -> Result<()> {
        for (k, &param) in source.params.iter().enumerate() {
            let at = self.b.ins().load(I64, MemFlagsData::trusted(), self.ins, 8 * k as i32);
            let value = self.load(param, at)?;
            self.values[param as usize] = Some(value);
        }
        let results = self.block(&source.body)?;
        for (k, &value) in results.iter().enumerate() {
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
            Node::Op { name, f, ins, out, origin } => {
                let value = self.op(name, *f, ins, *out, *origin)?;
                self.values[*out as usize] = Some(value);
                Ok(())
            }
            Node::If { condition, arms: [yes, no], outs } => {
                let condition = self.value(*condition)?;
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

    fn repeat(&mut self, init: &[Id], variables: &[Id], condition: &Block, body: &Block) -> Result<()> {
        let first = self.list(init)?;
        let head = self.join(variables)?;
        self.jump(head, &first);
        self.enter(head, variables);
        let go = self.block(condition)?;
        let &[go] = &go[..] else { return Err(Error::internal("a condition gives one scalar")) };
        let [round, after] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(go, round, &[], after, &[]);
        self.b.switch_to_block(round);
        let next = self.block(body)?;
        // The variables are those of the head again: the body may have rounds of its own.
        let left = self.b.use_var(self.budget);
        let cost = i64::from(condition.cost() + body.cost()).max(1);
        let left = self.b.ins().iadd_imm_s(left, -cost);
        let [ask, back] = [self.b.create_block(), self.b.create_block()];
        self.b.def_var(self.budget, left);
        let spent = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
        self.b.ins().brif(spent, ask, &[], back, &[]);
        self.b.switch_to_block(back);
        self.jump(head, &next);
        self.b.switch_to_block(ask);
        self.b.set_cold_block(ask);
        let f = self.b.ins().iconst(I64, poll as *const () as i64);
        let call = self.b.ins().call_indirect(self.poll, f, &[self.host]);
        let said = self.b.inst_results(call)[0];
        self.return_unless_zero(said);
        let full = self.b.ins().iconst(I64, POLL_EVERY);
        self.b.def_var(self.budget, full);
        self.jump(head, &next);
        self.b.switch_to_block(after);
        let params: SmallVec<[Value; 8]> = self.b.block_params(head).iter().copied().collect();
        for (&v, value) in variables.iter().zip(params) {
            self.values[v as usize] = Some(value);
        }
        Ok(())
    }

    /// Returns `code` unless it is 0; goes on in a new block.
    fn return_unless_zero(&mut self, code: Value) {
        let [stop, on] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(code, stop, &[], on, &[]);
        self.b.switch_to_block(stop);
        self.b.set_cold_block(stop);
        self.b.ins().return_(&[code]);
        self.b.switch_to_block(on);
    }

    /// Returns the number of the origin where `failed`, a boolean.
    fn fail_if(&mut self, failed: Value, origin: u32) {
        let (zero, code) = (self.b.ins().iconst(I64, 0), self.b.ins().iconst(I64, i64::from(origin) + 1));
        let code = self.b.ins().select(failed, code, zero);
        self.return_unless_zero(code);
    }

    fn op(&mut self, name: &'static str, f: LoopFn, ins: &[Id], out: Id, origin: u32) -> Result<Value> {
        let from: SmallVec<[_; 3]> = ins.iter().map(|&id| self.source.dtypes[id as usize]).collect();
        let to = self.source.dtypes[out as usize];
        let args = self.list(ins)?;
        let known = ins.get(1).and_then(|&id| self.constants[id as usize]);
        if divides(name, from[0]) && known.is_none_or(|c| c == 0) {
            let zero = self.b.ins().icmp_imm_s(IntCC::Equal, args[1], 0);
            self.fail_if(zero, origin);
        }
        let application = Application { name, from: &from, to, ins: &args, constant: known };
        match emit(&mut self.b, &application) {
            Some(value) => Ok(value),
            None => self.call(f, &args, out, origin),
        }
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
