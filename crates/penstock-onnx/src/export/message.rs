//! The messages of `onnx.proto` that an export writes.

use std::sync::Arc;

use penstock_data::{DType, Dim, Shape, Tensor};
use penstock_wire::{put_bytes, put_message, put_number, put_text, put_varint};

use crate::tensor::number_of;

/// The name of a value.
pub(crate) type Name = Arc<str>;

/// A node.
pub(crate) struct Node {
    pub(crate) op: &'static str,
    pub(crate) inputs: Vec<Name>,
    pub(crate) outputs: Vec<Name>,
    pub(crate) attrs: Vec<(&'static str, Value)>,
}

/// The value of an attribute.
pub(crate) enum Value {
    Int(i64),
    Text(String),
    Ints(Vec<i64>),
    Graph(Graph),
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Int(n)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Int(b.into())
    }
}

impl From<Vec<i64>> for Value {
    fn from(list: Vec<i64>) -> Value {
        Value::Ints(list)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<DType> for Value {
    fn from(dtype: DType) -> Value {
        Value::Int(number_of(dtype) as i64)
    }
}

impl From<Graph> for Value {
    fn from(graph: Graph) -> Value {
        Value::Graph(graph)
    }
}

/// What is said of an input or output.
pub(crate) struct Port {
    pub(crate) name: Name,
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
    /// Whether it is a sequence of such tensors.
    pub(crate) is_sequence: bool,
}

/// A graph: that of the model, or one that is an attribute.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
    pub(crate) initializers: Vec<(Name, Tensor)>,
}

/// The bytes of tensors beside the model.
#[derive(Default)]
pub(crate) struct Beside {
    /// The name of the file, in the directory of the model.
    pub(crate) location: String,
    pub(crate) bytes: Vec<u8>,
}

/// Tensors of fewer bytes stay in the model.
const KEPT: usize = 1024;
/// Where tensors begin in a file of their own: readers may map it into memory.
const ALIGNED: usize = 4096;

/// The bytes of a model of this operator set.
pub(crate) fn model(graph: &Graph, opset: i64, ir: u64, mut beside: Option<&mut Beside>) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, 1, ir);
    put_text(&mut out, 2, "penstock");
    put_text(&mut out, 3, env!("CARGO_PKG_VERSION"));
    put_message(&mut out, 7, |out| write_graph(out, graph, &mut beside));
    put_message(&mut out, 8, |out| put_number(out, 2, opset as u64));
    out
}

fn write_graph(out: &mut Vec<u8>, graph: &Graph, beside: &mut Option<&mut Beside>) {
    for node in &graph.nodes {
        put_message(out, 1, |out| write_node(out, node, beside));
    }
    put_text(out, 2, &graph.name);
    for (name, tensor) in &graph.initializers {
        put_message(out, 5, |out| write_tensor(out, name, tensor, beside));
    }
    for (field, ports) in [(11, &graph.inputs), (12, &graph.outputs)] {
        for port in ports {
            put_message(out, field, |out| write_port(out, port));
        }
    }
}

fn write_node(out: &mut Vec<u8>, node: &Node, beside: &mut Option<&mut Beside>) {
    // An operand that is left out has an empty name, which must be there.
    node.inputs.iter().for_each(|name| put_bytes(out, 1, name.as_bytes()));
    node.outputs.iter().for_each(|name| put_bytes(out, 2, name.as_bytes()));
    put_text(out, 4, node.op);
    for (name, value) in &node.attrs {
        put_message(out, 5, |out| {
            put_text(out, 1, name);
            let kind = match value {
                Value::Int(n) => {
                    put_varint(out, 3 << 3);
                    put_varint(out, *n as u64);
                    2
                }
                Value::Text(text) => {
                    put_bytes(out, 4, text.as_bytes());
                    3
                }
                Value::Graph(graph) => {
                    put_message(out, 6, |out| write_graph(out, graph, beside));
                    5
                }
                Value::Ints(list) => {
                    for n in list {
                        put_varint(out, 8 << 3);
                        put_varint(out, *n as u64);
                    }
                    7
                }
            };
            put_number(out, 20, kind);
        });
    }
}

fn write_port(out: &mut Vec<u8>, port: &Port) {
    put_text(out, 1, &port.name);
    put_message(out, 2, |out| match port.is_sequence {
        true => put_message(out, 4, |out| put_message(out, 1, |out| write_type(out, port))),
        false => write_type(out, port),
    });
}

fn write_type(out: &mut Vec<u8>, port: &Port) {
    put_message(out, 1, |out| {
        put_number(out, 1, number_of(port.dtype));
        let Some(dims) = port.shape.dims() else { return };
        put_message(out, 2, |out| {
            for dim in dims {
                put_message(out, 1, |out| match dim {
                    Dim::Known(n) => {
                        put_varint(out, 1 << 3);
                        put_varint(out, *n as u64);
                    }
                    Dim::Sym(symbol) => put_text(out, 2, &format!("d{}", symbol.0)),
                    Dim::Unknown => {}
                });
            }
        });
    });
}

fn write_tensor(out: &mut Vec<u8>, name: &str, tensor: &Tensor, beside: &mut Option<&mut Beside>) {
    for &n in tensor.dims() {
        put_varint(out, 1 << 3);
        put_varint(out, n as u64);
    }
    put_number(out, 2, number_of(tensor.dtype()));
    if tensor.dtype() == DType::Str {
        tensor.strings().iter().for_each(|text| put_bytes(out, 6, text));
    }
    put_text(out, 8, name);
    match beside {
        _ if tensor.dtype() == DType::Str => {}
        Some(file) if tensor.byte_len() >= KEPT => {
            file.bytes.resize(file.bytes.len().next_multiple_of(ALIGNED), 0);
            let offset = file.bytes.len();
            file.bytes.extend_from_slice(tensor.bytes());
            let length = tensor.byte_len();
            let entries =
                [("location", file.location.clone()), ("offset", offset.to_string()), ("length", length.to_string())];
            for (key, value) in entries {
                put_message(out, 13, |out| {
                    put_text(out, 1, key);
                    put_text(out, 2, &value);
                });
            }
            put_number(out, 14, 1);
        }
        _ if matches!(tensor.dtype(), DType::C64 | DType::C128) => {
            // Complex numbers have no raw form in other readers: their parts are floats one by one.
            for part in tensor.bytes().chunks_exact(tensor.dtype().size() / 2) {
                let field = if part.len() == 4 { 4 << 3 | 5 } else { 10 << 3 | 1 };
                put_varint(out, field);
                out.extend_from_slice(part);
            }
        }
        _ => put_bytes(out, 9, tensor.bytes()),
    }
}
