//! The declaration of an operator: one [`OpDef`] says all that the engine knows about it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use penstock_data::{DType, DTypeSet, Dims, Error, Result, Shape, Tensor};
use penstock_kernels::{Binary, Fault};
use smallvec::SmallVec;

use crate::attr::{Attr, AttrDef, Attrs};
use crate::batch::Batch;
use crate::element_fn::ElementFn;
use crate::entities::Value;
use crate::env::Env;
use crate::facts::{Cuda, Effect, Fails, Fold, Jvp};
use crate::known::{Element, KnownValues};
use crate::promise::Promise;
use crate::types::Type;

/// The types of an instruction's results.
pub type OutTypes = SmallVec<[Type; 1]>;

/// An operator.
///
/// What runs graphs reads and writes memory by what is said here, so a declaration needs a [`Promise`], which only unsafe code can
/// make. Kernels of safe code are host functions ([`HostFn`](crate::HostFn)), whose results are checked.
pub struct OpDef {
    /// The name in the text form: `matmul`.
    pub name: &'static str,
    /// The name of the GraphDef node: `MatMul`.
    pub tf_name: &'static str,
    /// What it computes: shapes, dtypes, errors, source. The first line is a summary.
    pub doc: &'static str,
    /// The dtype variables that `operands` refer to, with what each may be.
    pub dtypes: &'static [DTypeVar],
    /// The operands.
    pub operands: &'static [ArgDef],
    /// The attributes.
    pub attrs: &'static [AttrDef],
    /// What it reads and writes beside its operands and results. Operators with regions or a callee
    /// have, in addition, the effects of those.
    pub effects: &'static [Effect],
    /// The types of the results.
    pub infer: fn(&InferCx<'_>) -> Result<OutTypes>,
    /// How it runs on the CPU.
    pub cpu: Cpu,
    /// How it runs on CUDA.
    pub cuda: Cuda,
    /// Its reverse-mode derivative.
    pub vjp: Vjp,
    /// How forward mode gets tangents.
    pub jvp: Jvp,
    /// How many examples are computed at once.
    pub batch: Batch,
    /// Which rows of the operands some rows of the results need.
    pub rows: Rows,
    /// What is known of the elements of results.
    pub elements: Elements,
    /// How long it takes.
    pub cost: Cost,
    /// Whether it may fail on operands of the shapes that inference accepted.
    pub fails: Fails,
    /// Makes a kernel for an instruction, where a plan gains by that.
    pub resolve: Option<Resolver>,
    /// Whether an instruction with constant operands may be replaced by its value.
    pub fold: Fold,
    /// That the fields agree with each other.
    pub promise: Promise,
    /// Operands and attributes on which every shared test runs the operator.
    pub samples: fn() -> Vec<Sample>,
}

/// Makes the kernel of an instruction: of its operator, attributes, operands and the types of its results. `None` where nothing
/// is gained over the operator's own.
///
/// # Safety
/// [`OpDef::infer_types`] gives results of these types for attributes and operands that are so known.
pub type Resolver = unsafe fn(&'static OpDef, &Attrs, &[Known<'_>], &[Type]) -> Option<Resolved>;

/// How many nanoseconds an operator takes on one thread, roughly.
#[derive(Clone, Copy)]
pub enum Cost {
    /// So many for each element of what it reads or writes, whichever is more.
    Element(f64),
    /// As computed from the extents.
    Of(fn(&CostCx<'_>) -> f64),
    /// As computed from the extents; all threads share the work at no loss, so nothing is gained by running it beside others.
    Shared(fn(&CostCx<'_>) -> f64),
}

/// An instruction whose extents are known, for a [`Cost`].
#[derive(Clone, Copy)]
pub struct CostCx<'a> {
    /// The dtype of the first operand.
    pub dtype: Option<DType>,
    /// The extents of the operands,
    pub ins: &'a [Dims],
    /// and of the results.
    pub outs: &'a [Dims],
    /// The attributes.
    pub attrs: &'a Attrs,
}

impl CostCx<'_> {
    /// The number of elements of a tensor.
    pub fn elements(dims: &Dims) -> f64 {
        dims.iter().map(|&n| n as f64).product()
    }

    /// The elements of all operands.
    pub fn read(&self) -> f64 {
        self.ins.iter().map(CostCx::elements).sum()
    }

    /// The elements of all results.
    pub fn written(&self) -> f64 {
        self.outs.iter().map(CostCx::elements).sum()
    }

    /// The lesser extent of a matrix, the first operand.
    pub fn lesser_extent(&self) -> f64 {
        match self.ins[0][..] {
            [.., m, n] => m.min(n) as f64,
            _ => 1.0,
        }
    }
}

impl Cost {
    /// Estimated nanoseconds of an instruction.
    pub fn nanoseconds(self, cx: &CostCx<'_>) -> f64 {
        match self {
            Cost::Element(ns) => ns * cx.read().max(cx.written()),
            Cost::Of(cost) | Cost::Shared(cost) => cost(cx),
        }
    }

    /// Estimated nanoseconds of an element of what is read or written, whichever is more.
    pub fn per_element(self) -> f64 {
        match self {
            Cost::Element(ns) => ns,
            Cost::Of(_) | Cost::Shared(_) => 1.0,
        }
    }
}

impl OpDef {
    /// Whether both are the same operator.
    #[inline]
    pub fn is(&self, other: &OpDef) -> bool {
        std::ptr::eq(self, other)
    }

    /// Whether it computes element by element and its operands broadcast, each to the extents of the result.
    pub fn broadcasts(&self) -> bool {
        matches!((self.cpu, self.batch), (Cpu::Elementwise(_), Batch::Broadcast))
    }

    /// The function of elements that it computes, where it computes element by element.
    pub fn function(&self) -> Option<ElementFn> {
        if let Cpu::Elementwise(function) = self.cpu { Some(function) } else { None }
    }

    /// What it reports of elements that it does not take, where it computes element by element.
    pub fn fault(&self) -> Fault {
        match self.cpu {
            Cpu::Elementwise(ElementFn::Binary(Binary::Pow)) => Fault::NegativePower,
            _ => Fault::DivideByZero,
        }
    }

    /// Whether its result is its first attribute.
    #[inline]
    pub fn is_constant(&self) -> bool {
        matches!(self.cpu, Cpu::Executor(Structure::Constant))
    }

    /// Whether it touches nothing but its operands and results.
    pub fn is_pure(&self) -> bool {
        self.effects.is_empty()
    }

    /// The index of an attribute.
    pub fn attr_index(&self, name: &str) -> Option<usize> {
        self.attrs.iter().position(|a| a.name == name)
    }

    /// Attributes from named values, with defaults filled in.
    ///
    /// # Errors
    /// `InvalidArgument` naming the attribute.
    pub fn attributes(&'static self, named: &[(&str, Attr)]) -> Result<Attrs> {
        Attrs::build(self.attrs, named).map_err(|e| e.in_op(self.name))
    }

    /// The declaration of operand `index`, counting each operand of a variadic one.
    pub fn operand(&self, index: usize) -> Option<&ArgDef> {
        self.operands.get(index).or_else(|| self.operands.last().filter(|a| a.variadic))
    }

    /// Checks the number of operands and their dtypes against the declaration.
    ///
    /// # Errors
    /// `InvalidArgument` for the number or a variable where a tensor is due, `DType` for a dtype; each names the operand.
    pub fn check_operands(&'static self, types: &[Type]) -> Result<()> {
        let variadic = self.operands.last().is_some_and(|a| a.variadic);
        let least = self.operands.len() - variadic as usize;
        if types.len() < least || (types.len() > least && !variadic) {
            return Err(Error::invalid(format!(
                "takes {}{least} operand(s), got {}",
                if variadic { "at least " } else { "" },
                types.len()
            ))
            .in_op(self.name));
        }
        let mut bound: SmallVec<[Option<(DType, usize)>; 4]> = SmallVec::from_elem(None, self.dtypes.len());
        for (i, ty) in types.iter().enumerate() {
            let Some(arg) = self.operand(i) else { continue };
            self.check_operand(arg, i, ty, &mut bound)
                .map_err(|e| e.argument(self.operand_label(i)).in_op(self.name))?;
        }
        Ok(())
    }

    /// The types of the results: checks the operands, infers, and checks that tensors of the types can be. A panic, which
    /// is a defect of the operator, is an error.
    ///
    /// # Errors
    /// What the declaration and inference report; `ResourceExhausted` for a type of more elements than can be addressed,
    /// `InvalidArgument` for one of too many dimensions.
    pub fn infer_types(&'static self, cx: &InferCx<'_>) -> Result<OutTypes> {
        self.check_operands(cx.inputs)?;
        cx.inputs.iter().try_for_each(Type::check)?;
        let types = catch_unwind(AssertUnwindSafe(|| (self.infer)(cx)))
            .unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))?;
        types.iter().try_for_each(Type::check)?;
        Ok(types)
    }

    /// The name of operand `index`, with its position in a variadic list.
    fn operand_label(&self, index: usize) -> String {
        match self.operand(index) {
            Some(arg) if arg.variadic => format!("{}[{}]", arg.name, index + 1 - self.operands.len()),
            Some(arg) => arg.name.to_string(),
            None => format!("#{index}"),
        }
    }

    fn check_operand(
        &self,
        arg: &ArgDef,
        index: usize,
        ty: &Type,
        bound: &mut SmallVec<[Option<(DType, usize)>; 4]>,
    ) -> Result<()> {
        let dtype = ty.dtype();
        if matches!(arg.ty, ArgType::Variable) != ty.is_variable() && !matches!(arg.ty, ArgType::Anything) {
            let (due, got) = if ty.is_variable() { ("tensor", "variable") } else { ("variable", "tensor") };
            return Err(Error::invalid(format!("expected a {due}, got a {got}")));
        }
        match arg.ty {
            ArgType::Fixed(due) if due != dtype => {
                Err(Error::dtype(format!("expected dtype {}, got {}", due.tf_name(), dtype.tf_name())))
            }
            ArgType::In(set) if !set.contains(dtype) => {
                Err(Error::dtype(format!("dtype {} is not supported; expected one of: {set}", dtype.tf_name())))
            }
            ArgType::Var(v) => {
                let set = self.dtypes[v as usize].set;
                if let Some((due, first)) = bound[v as usize]
                    && due != dtype
                {
                    return Err(Error::dtype(format!(
                        "has dtype {}, but argument '{}' has dtype {}; dtypes are never converted implicitly, use cast",
                        dtype.tf_name(),
                        self.operand_label(first),
                        due.tf_name()
                    )));
                }
                bound[v as usize] = Some((dtype, bound[v as usize].map_or(index, |b| b.1)));
                if set.contains(dtype) {
                    Ok(())
                } else {
                    Err(Error::dtype(format!("dtype {} is not supported; expected one of: {set}", dtype.tf_name())))
                }
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for OpDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A dtype variable of an operator: operands that name it have the same dtype.
#[derive(Clone, Copy, Debug)]
pub struct DTypeVar {
    /// Its name in docs: `T`.
    pub name: &'static str,
    /// What it may be.
    pub set: DTypeSet,
}

impl DTypeVar {
    /// A variable.
    pub const fn new(name: &'static str, set: DTypeSet) -> DTypeVar {
        DTypeVar { name, set }
    }
}

/// The declaration of an operand.
#[derive(Clone, Copy, Debug)]
pub struct ArgDef {
    /// Its name as a keyword and in errors.
    pub name: &'static str,
    /// What it may be.
    pub ty: ArgType,
    /// Whether it stands for any number of operands; only the last may.
    pub variadic: bool,
}

/// What an operand may be.
#[derive(Clone, Copy, Debug)]
pub enum ArgType {
    /// A tensor of the dtype that a variable of the operator stands for, by index in [`OpDef::dtypes`].
    Var(u8),
    /// A tensor of one dtype.
    Fixed(DType),
    /// A tensor of one of these dtypes, whatever the other operands are.
    In(DTypeSet),
    /// A variable.
    Variable,
    /// A tensor of any dtype or a variable.
    Anything,
}

/// An operand of the operator's first dtype variable.
pub const fn arg(name: &'static str) -> ArgDef {
    ArgDef { name, ty: ArgType::Var(0), variadic: false }
}

/// An operand of a given type.
pub const fn arg_of(name: &'static str, ty: ArgType) -> ArgDef {
    ArgDef { name, ty, variadic: false }
}

/// Any number of operands of a given type.
pub const fn args_of(name: &'static str, ty: ArgType) -> ArgDef {
    ArgDef { name, ty, variadic: true }
}

/// What inference knows of an instruction.
pub struct InferCx<'a> {
    /// The types of the operands.
    pub inputs: &'a [Type],
    /// The attributes.
    pub attrs: &'a Attrs,
    /// The parameter and result types of each region, and of the callee.
    pub regions: &'a [Signature],
    /// What is known of the operands' values.
    pub values: &'a dyn KnownValues,
}

/// The types of a region's or a function's parameters and results.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Signature {
    /// The parameters.
    pub params: Vec<Type>,
    /// The results.
    pub results: Vec<Type>,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "({}) -> ({})", list(&self.params), list(&self.results))
    }
}

impl InferCx<'_> {
    /// The dtype of operand `index`.
    pub fn dtype(&self, index: usize) -> DType {
        self.inputs[index].dtype()
    }

    /// The shape of operand `index`.
    pub fn shape(&self, index: usize) -> &Shape {
        self.inputs[index].shape()
    }
}

/// A kernel over whole tensors. It relies on what inference has checked, so that only unsafe code can run one:
///
/// ```compile_fail,E0133
/// # use penstock_data::Result;
/// # use penstock_ir::{Call, Kernel};
/// fn run(kernel: Kernel, call: &mut Call<'_>) -> Result<()> {
///     kernel(call)
/// }
/// ```
///
/// # Safety
/// [`OpDef::infer_types`] accepts the operands and attributes of the call, which has a slot for each result. For [`Cpu::Variable`] it
/// is enough that [`OpDef::check_operands`] does: such a kernel checks extents itself, since those of a variable may change.
pub type Kernel = unsafe fn(&mut Call<'_>) -> Result<()>;

/// How an operator runs on the CPU.
#[derive(Clone, Copy)]
pub enum Cpu {
    /// Element by element over broadcast operands, by a function of elements. Such operators fuse.
    Elementwise(ElementFn),
    /// By a kernel over whole tensors.
    Kernel(Kernel),
    /// By a kernel that makes result 0 of operand 0 in its place. When it starts, that operand is in the place of the
    /// result, and [`Call::inputs`] are the operands after it.
    Update(Kernel),
    /// By a kernel that changes a part of a variable, operand 0, in place. [`Call::inputs`] are the variable's value and the operands
    /// after it.
    Variable(Kernel),
    /// By the executor itself, which knows the operator.
    Executor(Structure),
}

/// How the results of an operator that the executor runs depend on its regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// It is a constant, which is its first attribute.
    Constant,
    /// It has none: reads of variables.
    Plain,
    /// One of the regions runs: result `k` is its result `k`.
    Branches,
    /// Region 0 tests and region 1 iterates: result `k` is variable `k`, which starts as operand `k`.
    Loop,
    /// Its only region runs on the operands.
    Body,
    /// A function runs that is an attribute.
    Call,
}

/// Which rows of its operands some rows of the results need, in the order of the elements: whether a pipeline can make the results some
/// rows at a time.
#[derive(Clone, Copy)]
pub enum Rows {
    /// Each element needs the elements of the operands that meet it.
    Elementwise,
    /// As the instructions of its region do.
    Region,
    /// The same rows of operand 0, and the matrices of operand 1 by which they are multiplied.
    Product,
    /// The same rows of all operands, which are joined along this attribute's axis.
    Joined(usize),
    /// The same rows of operand 0, which is cut along this attribute's axis.
    Parted(usize),
    /// The same lines along this attribute's axis of operand 0.
    Line(usize),
    /// The same elements of operand 0 in the same order.
    Same,
    /// Operand 0 with its dimensions in another order.
    Transposed,
    /// Operand 0 with a constant around it.
    Padded,
    /// A box of operand 0, which this tells.
    Box(BoxOf),
    /// The same images, which are outermost indices, of these operands, and all of the others.
    Images(&'static [usize]),
    /// All operands, whichever rows are made.
    All,
}

/// For each dimension of an array what an instruction takes of it: the first index, the step and the number of indices.
pub type Cuts = SmallVec<[(usize, isize, usize); 4]>;

/// What an instruction takes of an array of some extents, of its constant operands behind the array and of its attributes; `None` for
/// what it would refuse.
pub type BoxOf = fn(&[usize], &[&Tensor], &Attrs) -> Option<Cuts>;

/// What is known of the elements of an operator's results where they may be extents: of integer vectors and scalars, and of the lengths
/// of lists.
#[derive(Clone, Copy)]
pub enum Elements {
    /// Nothing, but for what its [`Structure`] tells.
    Unknown,
    /// Those of result `k` are those of this operand.
    Operand(fn(&Attrs, usize) -> Option<usize>),
    /// Those of its result are given by a rule.
    Rule(fn(&ElementsCx<'_>) -> Option<SmallVec<[Element; 4]>>),
}

/// What the rule of [`Elements`] works with.
pub struct ElementsCx<'a> {
    /// The types of the operands.
    pub inputs: &'a [&'a Type],
    /// The type of the result.
    pub result: &'a Type,
    /// The attributes.
    pub attrs: &'a Attrs,
    /// What is known of the operands' values.
    pub values: &'a dyn KnownValues,
}

/// The reverse-mode derivative of an operator.
#[derive(Clone, Copy)]
pub enum Vjp {
    /// A rule that emits the cotangents of the operands.
    Rule(fn(&mut VjpCx<'_>) -> Result<Cotangents>),
    /// The derivative is zero wherever it exists: no cotangent reaches the operands.
    Zero,
    /// There is none; asking for one is an error with this reason.
    NonDifferentiable(&'static str),
    /// The autodiff crate transforms it: control flow, calls, variables.
    Structural,
}

/// A cotangent for each operand; `None` where none flows.
pub type Cotangents = SmallVec<[Option<Value>; 2]>;

/// What a [`Vjp::Rule`] works with.
pub struct VjpCx<'a> {
    /// Where it emits instructions: a graph, or the eager executor.
    pub emit: &'a mut dyn Emitter,
    /// The operators that it emits.
    pub ops: &'static RuleOps,
    /// The attributes of the instruction.
    pub attrs: &'a Attrs,
    /// Its operands.
    pub inputs: &'a [Value],
    /// Its results.
    pub outputs: &'a [Value],
    /// The cotangent of each result; `None` where none flows. At least one is there.
    pub grads: &'a [Option<Value>],
    /// Whether each operand's cotangent is of use.
    pub needed: &'a [bool],
}

/// The operators of which derivatives and batched instructions are made. The declaration of an operator names its rules, and its rules
/// emit other operators: they find them here, so that the files that declare operators need not know each other.
pub struct RuleOps {
    /// `add`
    pub add: &'static OpDef,
    /// `broadcast_to`
    pub broadcast_to: &'static OpDef,
    /// `cast`
    pub cast: &'static OpDef,
    /// `complex`
    pub complex: &'static OpDef,
    /// `concat`
    pub concat: &'static OpDef,
    /// `conj`
    pub conj: &'static OpDef,
    /// `cumprod`
    pub cumprod: &'static OpDef,
    /// `div`
    pub div: &'static OpDef,
    /// `divide_no_nan`
    pub divide_no_nan: &'static OpDef,
    /// `equal`
    pub equal: &'static OpDef,
    /// `exp`
    pub exp: &'static OpDef,
    /// `expand_dims`
    pub expand_dims: &'static OpDef,
    /// `floor`
    pub floor: &'static OpDef,
    /// `floordiv`
    pub floordiv: &'static OpDef,
    /// `greater`
    pub greater: &'static OpDef,
    /// `greater_equal`
    pub greater_equal: &'static OpDef,
    /// `imag`
    pub imag: &'static OpDef,
    /// `is_finite`
    pub is_finite: &'static OpDef,
    /// `less`
    pub less: &'static OpDef,
    /// `less_equal`
    pub less_equal: &'static OpDef,
    /// `list_new`
    pub list_new: &'static OpDef,
    /// `log`
    pub log: &'static OpDef,
    /// `maximum`
    pub maximum: &'static OpDef,
    /// `mul`
    pub mul: &'static OpDef,
    /// `multiply_no_nan`
    pub multiply_no_nan: &'static OpDef,
    /// `neg`
    pub neg: &'static OpDef,
    /// `not_equal`
    pub not_equal: &'static OpDef,
    /// `polygamma`
    pub polygamma: &'static OpDef,
    /// `range`
    pub range: &'static OpDef,
    /// `read_variable`
    pub read_variable: &'static OpDef,
    /// `real`
    pub real: &'static OpDef,
    /// `reduce_all`
    pub reduce_all: &'static OpDef,
    /// `reduce_prod`
    pub reduce_prod: &'static OpDef,
    /// `reduce_sum`
    pub reduce_sum: &'static OpDef,
    /// `reshape`
    pub reshape: &'static OpDef,
    /// `select`
    pub select: &'static OpDef,
    /// `shape`
    pub shape: &'static OpDef,
    /// `size`
    pub size: &'static OpDef,
    /// `slice`
    pub slice: &'static OpDef,
    /// `stack`
    pub stack: &'static OpDef,
    /// `strided_slice`
    pub strided_slice: &'static OpDef,
    /// `sub`
    pub sub: &'static OpDef,
    /// `sum_to_shape`
    pub sum_to_shape: &'static OpDef,
    /// `transpose`
    pub transpose: &'static OpDef,
    /// `trunc`
    pub trunc: &'static OpDef,
    /// `zeros_like`
    pub zeros_like: &'static OpDef,
}

/// Where rules emit instructions.
///
/// In a graph it adds them; eagerly it executes them. Values are ids in the emitter's own space.
pub trait Emitter {
    /// Emits an instruction with complete attributes.
    ///
    /// # Errors
    /// Whatever inference or, eagerly, execution reports.
    fn emit_attrs(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<SmallVec<[Value; 1]>>;

    /// A constant.
    ///
    /// # Errors
    /// Whatever inference reports.
    fn constant(&mut self, value: Tensor) -> Result<Value>;

    /// The type of a value; exact where it is executed eagerly.
    fn type_of(&self, value: Value) -> Type;

    /// The value, where it is known now.
    fn known(&self, value: Value) -> Option<Tensor>;
}

impl dyn Emitter + '_ {
    /// Emits an instruction with named attributes and gives its only result.
    ///
    /// # Errors
    /// As [`Emitter::emit_attrs`]; `InvalidArgument` for an operator without results.
    pub fn emit(&mut self, op: &'static OpDef, operands: &[Value], named: &[(&str, Attr)]) -> Result<Value> {
        let results = self.emit_all(op, operands, named)?;
        results.first().copied().ok_or_else(|| Error::invalid("gives no result").in_op(op.name))
    }

    /// Emits an instruction with named attributes and gives all its results.
    ///
    /// # Errors
    /// As [`Emitter::emit_attrs`].
    pub fn emit_all(
        &mut self,
        op: &'static OpDef,
        operands: &[Value],
        named: &[(&str, Attr)],
    ) -> Result<SmallVec<[Value; 1]>> {
        let attrs = op.attributes(named)?;
        self.emit_attrs(op, operands, attrs)
    }
}

/// One run of a kernel.
pub struct Call<'a> {
    /// The operands.
    pub inputs: &'a [&'a Tensor],
    /// The attributes.
    pub attrs: &'a Attrs,
    /// Where the results go. A slot may hold memory of an earlier run: [`Call::out`] reuses it.
    pub outputs: &'a mut [Tensor],
    /// What surrounds the run.
    pub env: &'a dyn Env,
}

impl Call<'_> {
    /// Makes result `index` a tensor of this dtype and these extents, and gives its start for writing.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    #[inline]
    pub fn out(&mut self, index: usize, dtype: DType, dims: &[usize]) -> Result<*mut u8> {
        self.outputs[index].prepare(dtype, dims)
    }

    /// Whether no result has an element, so that nothing is left to do where operands were checked.
    pub fn gives_nothing(&self) -> bool {
        self.outputs.iter().all(|out| out.is_empty())
    }

    /// Makes result `index` this tensor.
    pub fn set(&mut self, index: usize, tensor: Tensor) {
        self.outputs[index] = tensor;
    }
}

/// What a plan knows of an operand before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its type, whose shape may be unknown in part.
    pub ty: &'a Type,
    /// Its value, where that is constant.
    pub value: Option<&'a Tensor>,
    /// Whether it is likely to be the same tensor in each run: a constant, or what a function took from outside.
    pub lasting: bool,
}

impl Known<'_> {
    /// Its extents, where all are known.
    pub fn extents(&self) -> Option<Dims> {
        self.ty.shape().extents()
    }
}

/// What a [`Resolved`] kernel runs.
type ResolvedFn = dyn Fn(&mut Call<'_>) -> Result<()> + Send + Sync;

/// A kernel made for what is known of an instruction, [`Known`] operands and attributes: it does what the operator's own does,
/// the same bit for bit but for the rounding of sums of floats, and makes results of the inferred types.
pub struct Resolved(Box<ResolvedFn>);

impl Resolved {
    /// A kernel that may rely on what [`Resolved::run`] promises.
    ///
    /// # Safety
    /// Where that holds, the kernel reads and writes no memory but that of its operands and results, and its results are of the
    /// types that the instruction has. Nothing checks them.
    #[expect(unsafe_code, reason = "kernels that trust their operands")]
    pub unsafe fn new(run: impl Fn(&mut Call<'_>) -> Result<()> + Send + Sync + 'static) -> Resolved {
        Resolved(Box::new(run))
    }

    /// Runs the kernel.
    ///
    /// # Errors
    /// What the operator's own kernel reports for these operands.
    ///
    /// # Safety
    /// The operands are of the types, and have the values, that the kernel was made for; there is a slot for each result.
    #[inline(always)]
    #[expect(unsafe_code, reason = "kernels that trust their operands; nothing unsafe is done here")]
    pub unsafe fn run(&self, call: &mut Call<'_>) -> Result<()> {
        (self.0)(call)
    }
}

impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("resolved")
    }
}

/// Operands and attributes to try an operator on.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The operands.
    pub inputs: Vec<Tensor>,
    /// Attributes that differ from their default.
    pub attrs: Vec<(&'static str, Attr)>,
}

impl Sample {
    /// A sample without attributes.
    pub fn new(inputs: Vec<Tensor>) -> Sample {
        Sample { inputs, attrs: Vec::new() }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Attr>) -> Sample {
        self.attrs.push((name, value.into()));
        self
    }
}

/// A set of operators to look names up in.
pub trait OpSet {
    /// The operator of a name.
    fn find(&self, name: &str) -> Option<&'static OpDef>;

    /// Whether a text may hold an instruction of this operator with these attributes: one that reaches out of the process
    /// may be refused.
    ///
    /// # Errors
    /// Why it may not, naming the attribute.
    fn admit(&self, op: &'static OpDef, attrs: &Attrs) -> Result<()> {
        let _ = (op, attrs);
        Ok(())
    }
}
