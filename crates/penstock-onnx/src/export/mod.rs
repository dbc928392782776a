//! From a function of a program to a model of ONNX.
//!
//! The graph is written as it was traced, with what can be computed from constants computed. Each operator has a handler, which
//! emits one node or several; what has none is refused, all of it at once, with the places where it was written.

mod arrays;
mod control;
mod cx;
mod elementwise;
mod indexing;
mod lists;
mod message;
mod networks;
mod reductions;

use std::collections::HashSet;
use std::path::Path;

use penstock_data::{Error, Loc, Result};
use penstock_format::{Capture, ProgramFunction};
use penstock_ir::Type;

use crate::tensor::number_of;

use cx::{Cx, Exporter, Handler, Item, X, one, port};
use message::{Beside, Graph, Name, Node, Value};

/// The version of the operator set that is written, and that of the format that has it.
const OPSET: i64 = 21;
const IR: u64 = 10;

/// Weights of more bytes go beside the model: a message of protocol buffers is less than 2 GiB.
const GREATEST: usize = (1 << 31) - (1 << 26);

/// How a function is written.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Whether weights go to a file beside the model, `<name>.data`. They do in any case where the model would be greater
    /// than the format allows.
    pub weights_beside: bool,
}

/// The handler of an operator.
fn handler(name: &str) -> Option<Handler> {
    if name == "read_variable" {
        return Some(|cx: &mut Cx<'_, '_>| one(cx.x(0)?));
    }
    let areas = [
        elementwise::handler,
        arrays::handler,
        indexing::handler,
        reductions::handler,
        networks::handler,
        lists::handler,
    ];
    areas.iter().find_map(|area| area(name))
}

/// The operators of the engine that a model can be written of, in part at least.
pub fn exported_operators() -> impl Iterator<Item = &'static str> {
    const CONTROL: [&str; 7] = ["const", "cond", "switch", "while", "call", "with_gradient", "assert"];
    penstock_ops::all().map(|op| op.name).filter(|name| CONTROL.contains(name) || handler(name).is_some())
}

/// The bytes of a model of a function: its arguments are the inputs, its results the outputs, by their names. Variables become
/// initialisers with the values that they have now.
///
/// # Errors
/// `Unimplemented` for what has no counterpart in ONNX: it names all of it, with the places; `FailedPrecondition` for a variable
/// without a value; `ResourceExhausted` for weights that a single file does not hold, see [`save`].
///
/// ```
/// use std::sync::Arc;
///
/// use penstock_data::Tensor;
/// use penstock_format::Program;
/// use penstock_ir::parse_function;
///
/// # fn main() -> penstock_data::Result<()> {
/// let text = "func @double(%x: f32[s0]) -> f32[s0] { %y = add %x, %x return %y }";
/// let double = parse_function(text, &penstock_ops::Ops, &penstock_ir::no_hosts)?;
/// let mut program = Program::builder();
/// program.function("double", Arc::new(Arc::into_inner(double).unwrap()), &["x"], &["y"], vec![]);
/// let bytes = penstock_onnx::export(&program.finish()?.function("double")?)?;
///
/// let model = penstock_onnx::Model::from_bytes(&bytes)?;
/// let outputs = model.run(&[Tensor::vector(&[1.0f32, 2.0])])?;
/// assert_eq!(outputs[0].as_slice::<f32>(), [2.0, 4.0]);
/// # Ok(())
/// # }
/// ```
pub fn export(function: &ProgramFunction) -> Result<Vec<u8>> {
    let graph = graph_of(function)?;
    if weights(&graph) > GREATEST {
        let text = "the weights take more than 2 GiB, which a single file of ONNX does not hold: write them beside it";
        return Err(Error::new(penstock_data::Class::ResourceExhausted, text));
    }
    Ok(message::model(&graph, OPSET, IR, None))
}

/// Writes the model of a function to a file, and its weights to `<name>.data` beside it where that is asked for or needed.
///
/// # Errors
/// As [`export`]; `FailedPrecondition` and `NotFound` for a file that cannot be written.
pub fn save(function: &ProgramFunction, path: impl AsRef<Path>, options: &ExportOptions) -> Result<()> {
    let (path, graph) = (path.as_ref(), graph_of(function)?);
    let failed = |e: std::io::Error| {
        let text = format!("cannot write '{}': {e}", path.display());
        match e.kind() {
            std::io::ErrorKind::NotFound => Error::not_found(text),
            _ => Error::precondition(text),
        }
    };
    if !options.weights_beside && weights(&graph) <= GREATEST {
        let bytes = message::model(&graph, OPSET, IR, None);
        return penstock_format::replace_file(path, &bytes).map_err(failed);
    }
    let name = path.file_name().and_then(|n| n.to_str());
    let name = name.ok_or_else(|| Error::invalid("the name of the file is no text").argument("path"))?;
    let mut beside = Beside { location: format!("{name}.data"), bytes: Vec::new() };
    let bytes = message::model(&graph, OPSET, IR, Some(&mut beside));
    penstock_format::replace_file(&path.with_file_name(&beside.location), &beside.bytes).map_err(failed)?;
    penstock_format::replace_file(path, &bytes).map_err(failed)
}

fn weights(graph: &Graph) -> usize {
    graph.initializers.iter().map(|(_, tensor)| tensor.byte_len()).sum()
}

fn graph_of(function: &ProgramFunction) -> Result<Graph> {
    let mut exporter = Exporter::default();
    exporter.open_block();
    let (mut operands, mut inputs) = (Vec::new(), Vec::new());
    for (name, ty) in function.inputs() {
        if number_of(ty.dtype()) == 0 || ty.is_variable() {
            exporter.refuse(format!("the input '{name}' is {ty}"), Loc::UNKNOWN);
        }
        let name = exporter.name(name);
        operands.push(Item::Tensor(X::named(name.clone(), ty)));
        inputs.push(port(name, ty));
    }
    let wanted: Vec<(Name, &Type)> = function.outputs().map(|(name, ty)| (exporter.name(name), ty)).collect();
    for capture in function.captures() {
        operands.push(match capture {
            Capture::Constant(value) => X::constant(value.clone()).into(),
            Capture::Variable(number) => {
                let variable = &function.program().variables()[*number].variable;
                let value = variable.read()?;
                match number_of(value.dtype()) {
                    0 => {
                        exporter
                            .refuse(format!("the variable '{}' is {}", variable.name(), variable.ty()), Loc::UNKNOWN);
                        Item::Refused
                    }
                    _ => {
                        let name = exporter.name(if variable.name().is_empty() { "variable" } else { variable.name() });
                        let ty = Type::of(&value);
                        exporter.initializers.push((name.clone(), value));
                        X::named(name, &ty).into()
                    }
                }
            }
        });
    }
    let results = control::inline(&mut exporter, function.function(), operands, Loc::UNKNOWN);
    let results = results.map_err(|e| Error::new(e.class(), format!("'{}': {}", function.name(), e.message())))?;
    let mut outputs = Vec::new();
    for (item, (name, ty)) in results.iter().zip(&wanted) {
        match item {
            Item::Tensor(x) => {
                let taken = vec![exporter.input(x)];
                exporter.push(Node { op: "Identity", inputs: taken, outputs: vec![name.clone()], attrs: vec![] });
                outputs.push(port(name.clone(), ty));
            }
            Item::List(_) => exporter.refuse(format!("the output '{name}' is a list"), Loc::UNKNOWN),
            Item::Refused => {}
        }
    }
    if !exporter.refused.is_empty() {
        return Err(refusal(function.name(), &exporter));
    }
    let nodes = exporter.close_block();
    let initializers = std::mem::take(&mut exporter.initializers);
    let mut graph = Graph { name: function.name().to_owned(), nodes, inputs, outputs, initializers };
    let mut used = HashSet::new();
    prune(&mut graph, &mut used);
    graph.initializers.retain(|(name, _)| used.contains(name));
    Ok(graph)
}

/// An error that names all that is in the way.
fn refusal(function: &str, exporter: &Exporter) -> Error {
    let mut text = format!("'{function}' cannot be written as a model of ONNX:");
    for (reason, places) in &exporter.refused {
        text.push_str(&format!("\n  {reason}"));
        for place in places.iter().filter(|p| !p.is_unknown()) {
            text.push_str(&format!("\n    {place}"));
        }
    }
    let first = exporter.refused.values().flatten().find(|p| !p.is_unknown());
    let error = Error::unimplemented(text);
    first.map_or(error.clone(), |&loc| error.at(loc))
}

/// Drops the nodes that no output needs; `used` are the names that something takes.
fn prune(graph: &mut Graph, used: &mut HashSet<Name>) {
    used.extend(graph.outputs.iter().map(|port| port.name.clone()));
    let mut kept = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        if !node.outputs.iter().any(|name| used.contains(name)) {
            continue;
        }
        used.extend(node.inputs.iter().cloned());
        for (_, value) in &mut node.attrs {
            if let Value::Graph(graph) = value {
                prune(graph, used);
            }
        }
        kept.push(node);
    }
    kept.reverse();
    graph.nodes = kept;
}
