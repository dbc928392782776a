//! Operators that read and write files.

use penstock_data::{Bytes, DType, Error, Result, Tensor};
use penstock_ir::{
    ArgType, Batch, Call, Cost, Cpu, Cuda, Effect, Elements, Fails, Fold, Jvp, OpDef, Rows, Sample, Type, Vjp, arg_of,
};

use crate::operands::require_rank;
use crate::samples::strings;
use crate::util::{PROMISE, none, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&READ_FILE, &WRITE_FILE];

const ON_HOST: Cuda = Cuda::HostFallback("files are the host's");
/// A file that is empty, and stays so.
const NOTHING: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// The string that operand `index` is.
fn scalar<'a>(call: &Call<'a>, index: usize, name: &str) -> Result<&'a Bytes> {
    match (call.inputs[index].rank(), call.inputs[index].strings()) {
        (0, [text]) => Ok(text),
        (rank, _) => Err(Error::invalid(format!("expected a scalar, got rank {rank}")).argument(name)),
    }
}

/// What a file holds.
pub static READ_FILE: OpDef = OpDef {
    name: "read_file",
    tf_name: "ReadFile",
    doc: "The content of the file `filename`, a string scalar.\n\n\
          It keeps its place among all that reads and writes files. Paths with a scheme, such as `ram://`, are read by a host that \
          knows it.\n\nErrors: `NotFound` where there is none; `FailedPrecondition` where it cannot be read.",
    dtypes: &[],
    operands: &[arg_of("filename", ArgType::Fixed(DType::Str))],
    attrs: &[],
    effects: &[Effect::Files],
    infer: |cx| {
        require_rank(cx, 0, 0, "filename")?;
        one(Type::scalar(DType::Str))
    },
    cpu: Cpu::Kernel(|call| {
        let content = call.env.read_file(scalar(call, 0, "filename")?)?;
        call.set(0, Tensor::from_strings(&[], vec![content])?);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("files are read one by one"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(10000.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("it reads a file"),
    promise: PROMISE,
    samples: || vec![Sample::new(vec![strings(&[], &[NOTHING])])],
};

/// Makes a file.
pub static WRITE_FILE: OpDef = OpDef {
    name: "write_file",
    tf_name: "WriteFile",
    doc: "Makes the file `filename` hold `contents`, both string scalars, in directories that are made where they are absent.\n\n\
          It keeps its place among all that reads and writes files. Paths with a scheme, such as `ram://`, are written by a host that \
          knows it.\n\nErrors: `FailedPrecondition` where it cannot be written.",
    dtypes: &[],
    operands: &[arg_of("filename", ArgType::Fixed(DType::Str)), arg_of("contents", ArgType::Fixed(DType::Str))],
    attrs: &[],
    effects: &[Effect::Files],
    infer: |cx| {
        require_rank(cx, 0, 0, "filename")?;
        require_rank(cx, 1, 0, "contents")?;
        none()
    },
    cpu: Cpu::Kernel(|call| {
        let (filename, contents) = (scalar(call, 0, "filename")?, scalar(call, 1, "contents")?);
        call.env.write_file(filename, contents)
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("files are written one by one"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(10000.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("it writes a file"),
    promise: PROMISE,
    samples: || vec![Sample::new(vec![strings(&[], &[NOTHING]), strings(&[], &["content"])])],
};
