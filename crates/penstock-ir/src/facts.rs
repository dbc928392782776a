//! Facts of operators that are plain choices.

/// Something that an operator touches beside its operands and results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Reads the variable that is this operand.
    Read(u8),
    /// Writes the variable that is this operand.
    Write(u8),
    /// Writes to a stream that people read.
    Print,
    /// Reads or writes files.
    Files,
    /// Draws from the stateful random generator.
    Random,
    /// Fails on purpose: nothing that follows in program order may be observed before it.
    Assert,
    /// Runs host code, which may do any of the above.
    Host,
    /// Starts something that other processes start too, in the same order.
    Collective,
    /// Waits for other processes, and fails where they fail: whatever acts, but for other collectives, stays behind it.
    Await,
}

/// How the tangents of an operator's results come about. An operator that is not differentiable says so by its [`Vjp`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jvp {
    /// The results are linear in these operands taken together: the operator itself, of the tangents.
    Linear(&'static [usize]),
    /// The results are linear in all operands that can carry tangents, taken together.
    AllLinear,
    /// The result is linear in each of the first two operands, taken by itself.
    Bilinear,
    /// Each element of the result depends on the elements of the operands that meet it alone, so for real numbers the reverse rule of
    /// the tangents is the forward one.
    Elementwise,
    /// By transposing the reverse rule, which is linear in the cotangents.
    FromVjp,
    /// By transposing the derivative of host code, which is host code too.
    Host,
}

/// Whether an operator may fail, memory aside, on operands that inference accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fails {
    /// It does not.
    Never,
    /// It does for some elements, where these are integers: a division by zero, a negative exponent.
    OnIntegers,
    /// It does where extents that inference did not know, or values that tell extents, do not fit.
    OnShapes,
    /// As [`Fails::OnShapes`], and for some values of these operands; inference has checked those that are constant.
    OnOperands(&'static [usize]),
    /// It does for some values, whatever their extents.
    OnValues,
}

/// How an operator runs on CUDA.
#[derive(Clone, Copy)]
pub enum Cuda {
    /// As the formula of its [`ElementFn`](crate::ElementFn) for the dtype of its first operand; where there is none, as this text
    /// of [`Cuda::Elementwise`], if any.
    Formula(Option<&'static str>),
    /// An expression of CUDA C++ over `{0}`, `{1}`, …, one element each; `{T}` is the type in which the
    /// first operand's elements are computed, `{R}` the result's, `{S}` the type in which the result is
    /// stored. The CUDA crate documents types and functions. Such operators fuse.
    Elementwise(&'static str),
    /// By its kernel for the host, which has the work on whole tensors done by [`Env::kernels`](crate::Env::kernels), or shares an
    /// operand's memory, wherever that is.
    Kernels,
    /// A region of elementwise instructions, compiled as a whole.
    Region,
    /// The value is computed on the host, for this reason.
    HostFallback(&'static str),
}

/// Whether constant operands make an instruction a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// Yes: the CPU kernel computes the value.
    Evaluate,
    /// No, for this reason.
    Never(&'static str),
}
