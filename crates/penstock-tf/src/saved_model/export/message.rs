//! The messages of a SavedModel, as bytes.

use penstock_codec::tensor_proto;
use penstock_data::{DType, Shape, Tensor};
use penstock_wire::{put_bytes, put_message, put_number, put_text, put_varint};

/// The number of a dtype; that of a resource for what is a variable.
pub(super) fn dtype_number(dtype: DType) -> u64 {
    match dtype {
        DType::Resource => 20,
        DType::Variant => 21,
        other => crate::dtype_number(other).unwrap_or(0),
    }
}

/// An attribute of a node.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Bool(bool),
    Int(i64),
    Text(Vec<u8>),
    Type(DType),
    Types(Vec<DType>),
    Ints(Vec<i64>),
    Shape(Shape),
    Shapes(Vec<Shape>),
    Tensor(Tensor),
    Func(String),
    Funcs(Vec<String>),
}

impl From<bool> for Value {
    fn from(v: bool) -> Value {
        Value::Bool(v)
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Value {
        Value::Int(v)
    }
}

impl From<&str> for Value {
    fn from(v: &str) -> Value {
        Value::Text(v.as_bytes().to_vec())
    }
}

impl From<DType> for Value {
    fn from(v: DType) -> Value {
        Value::Type(v)
    }
}

impl From<Vec<i64>> for Value {
    fn from(v: Vec<i64>) -> Value {
        Value::Ints(v)
    }
}

/// A node of a graph.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) op: String,
    pub(super) inputs: Vec<String>,
    pub(super) attrs: Vec<(String, Value)>,
}

/// A function: its arguments and results by name, and the nodes that they come from.
pub(super) struct Def {
    pub(super) name: String,
    pub(super) args: Vec<(String, DType)>,
    pub(super) results: Vec<(String, DType, String)>,
    pub(super) nodes: Vec<Node>,
    /// The node behind which all effects are done.
    pub(super) effect: Option<String>,
}

pub(super) fn put_shape(out: &mut Vec<u8>, field: u64, shape: &Shape) {
    put_message(out, field, |out| match shape.dims() {
        None => put_number(out, 3, 1),
        Some(dims) => {
            for dim in dims {
                let size = dim.known().map_or(-1, |n| n as i64);
                put_message(out, 2, |out| put_number(out, 1, size as u64));
            }
        }
    });
}

pub(super) fn put_tensor(out: &mut Vec<u8>, field: u64, tensor: &Tensor) {
    put_message(out, field, |out| tensor_proto::put_tensor(out, tensor));
}

/// The bytes of numbers one behind the other, as a field of many numbers has them.
fn packed(values: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut out = Vec::new();
    values.for_each(|v| put_varint(&mut out, v));
    out
}

/// A number that is one of several kinds of value: it is written where it is 0, too.
pub(super) fn put_chosen(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

fn put_function(out: &mut Vec<u8>, field: u64, name: &str) {
    put_message(out, field, |out| put_text(out, 1, name));
}

pub(super) fn put_value(out: &mut Vec<u8>, field: u64, value: &Value) {
    put_message(out, field, |out| match value {
        Value::Text(text) => put_bytes(out, 2, text),
        Value::Int(v) => put_chosen(out, 3, *v as u64),
        Value::Bool(v) => put_chosen(out, 5, u64::from(*v)),
        Value::Type(dtype) => put_number(out, 6, dtype_number(*dtype)),
        Value::Shape(shape) => put_shape(out, 7, shape),
        Value::Tensor(tensor) => put_tensor(out, 8, tensor),
        Value::Func(name) => put_function(out, 10, name),
        Value::Ints(values) => {
            put_message(out, 1, |out| put_bytes(out, 3, &packed(values.iter().map(|&v| v as u64))));
        }
        Value::Types(types) => {
            put_message(out, 1, |out| put_bytes(out, 6, &packed(types.iter().map(|&d| dtype_number(d)))));
        }
        Value::Shapes(shapes) => put_message(out, 1, |out| shapes.iter().for_each(|shape| put_shape(out, 7, shape))),
        Value::Funcs(names) => put_message(out, 1, |out| names.iter().for_each(|name| put_function(out, 9, name))),
    });
}

pub(super) fn put_node(out: &mut Vec<u8>, field: u64, node: &Node) {
    put_message(out, field, |out| {
        put_text(out, 1, &node.name);
        put_text(out, 2, &node.op);
        node.inputs.iter().for_each(|input| put_text(out, 3, input));
        for (name, value) in &node.attrs {
            put_message(out, 5, |out| {
                put_text(out, 1, name);
                put_value(out, 2, value);
            });
        }
    });
}

fn put_pair(out: &mut Vec<u8>, field: u64, key: &str, value: &str) {
    put_message(out, field, |out| {
        put_text(out, 1, key);
        put_text(out, 2, value);
    });
}

impl Def {
    pub(super) fn put(&self, out: &mut Vec<u8>, field: u64) {
        put_message(out, field, |out| {
            put_message(out, 1, |out| {
                put_text(out, 1, &self.name);
                let mut ports = |field: u64, name: &str, dtype: DType| {
                    put_message(out, field, |out| {
                        put_text(out, 1, name);
                        put_number(out, 3, dtype_number(dtype));
                    });
                };
                self.args.iter().for_each(|(name, dtype)| ports(2, name, *dtype));
                self.results.iter().for_each(|(name, dtype, _)| ports(3, name, *dtype));
                if let Some(effect) = &self.effect {
                    put_number(out, 17, 1);
                    put_text(out, 20, effect);
                }
            });
            self.nodes.iter().for_each(|node| put_node(out, 3, node));
            self.results.iter().for_each(|(name, _, source)| put_pair(out, 4, name, source));
            if let Some(effect) = &self.effect {
                put_pair(out, 6, effect, effect);
            }
        });
    }
}
