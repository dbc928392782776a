//! A program as a SavedModel that TensorFlow loads.
//!
//! Functions are written as they were traced, each with the functions that it calls, in the library of the graph; branches and
//! loops are functions, too. Objects become a graph of objects, variables a checkpoint. The graph itself, which TensorFlow Serving
//! runs, calls the functions of the signatures.

mod graph;
mod lists;
mod message;
mod networks;
mod objects;
mod operators;
mod ops;
mod structured;
mod tables;

use std::path::Path;

use penstock_data::{Class, DType, Error, Result, Shape, Tensor};
use penstock_format::{Program, replace_file};
use penstock_wire::{put_message, put_number, put_text};

use super::{FILE, VARIABLES};
use crate::{BundleWriter, OBJECT_GRAPH_KEY};
use message::{Node, Value, dtype_number, put_node, put_shape};
use objects::Objects;

/// The version of TensorFlow whose operators are written, and that of its graphs.
const VERSION: &str = "2.21.0";
const PRODUCER: u64 = 1882;

/// The node that fills tables, and the signature by which that is found.
const INITIALISED: &str = "tables_filled";
const INIT_OP: &str = "__saved_model_init_op";

/// The operators of the engine that a SavedModel can be written of, in part at least.
pub fn saved_model_operators() -> impl Iterator<Item = &'static str> {
    penstock_ops::all().map(|op| op.name).filter(|name| ops::is_known(name))
}

/// Writes a program to a directory as a SavedModel of TensorFlow. Files of assets are not copied.
///
/// # Errors
/// `Unimplemented` for what has no counterpart in TensorFlow: it names all of it, with the places. `FailedPrecondition` and
/// `NotFound` for files that cannot be written, and for variables without a value.
pub fn save_saved_model(program: &Program, directory: impl AsRef<Path>) -> Result<()> {
    let directory = directory.as_ref();
    let objects = Objects::of(program)?;
    if !objects.exporter.refused.is_empty() {
        return Err(refusal(&objects));
    }
    let (keys, graph) = objects.checkpoint();
    let variables = directory.join(VARIABLES);
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |e: std::io::Error| {
            let text = format!("cannot write {path}: {e}");
            match e.kind() {
                std::io::ErrorKind::NotFound => Error::not_found(text),
                _ => Error::new(Class::FailedPrecondition, text),
            }
        }
    };
    let folder = variables.parent().unwrap_or(directory);
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    let mut bundle = BundleWriter::create(&variables)?;
    for (number, key) in &keys {
        bundle.add(key, &program.variables()[*number].variable.read()?)?;
    }
    let held = Tensor::from_strings(&[], vec![graph.to_bytes().into()])?;
    bundle.add(OBJECT_GRAPH_KEY, &held)?;
    bundle.finish()?;
    let bytes = saved_model(program, &objects, &keys);
    let path = directory.join(FILE);
    replace_file(&path, &bytes).map_err(failed(&path))
}

/// Writes a function of a program, by its number, with those that it calls: gives its name, and a `FunctionDefLibrary` as bytes.
/// Its nodes have the names of its graph. Of a graph of which a session runs parts (`in_parts`), no node waits for another but where
/// it takes what that one makes.
///
/// # Errors
/// `Unimplemented` for what has no counterpart in TensorFlow: it names all of it, with the places. `OutOfRange` where there is no such
/// function.
pub fn function_library(program: &Program, number: usize, in_parts: bool) -> Result<(String, Vec<u8>)> {
    let (objects, name) = Objects::of_function(program, number, in_parts)?;
    if !objects.exporter.refused.is_empty() {
        return Err(refusal(&objects));
    }
    let mut out = Vec::new();
    objects.exporter.functions.iter().for_each(|def| def.put(&mut out, 1));
    Ok((name, out))
}

/// An error that names all that is in the way.
fn refusal(objects: &Objects<'_>) -> Error {
    let mut text = "the program cannot be written as a SavedModel of TensorFlow:".to_owned();
    for (reason, places) in &objects.exporter.refused {
        text.push_str(&format!("\n  {reason}"));
        for place in places.iter().filter(|p| !p.is_unknown()) {
            text.push_str(&format!("\n    {place}"));
        }
    }
    let first = objects.exporter.refused.values().flatten().find(|p| !p.is_unknown());
    let error = Error::unimplemented(text);
    first.map_or(error.clone(), |&loc| error.at(loc))
}

/// The bytes of the file.
fn saved_model(program: &Program, objects: &Objects<'_>, keys: &[(usize, String)]) -> Vec<u8> {
    let (nodes, calls) = main_graph(program, objects, keys);
    let mut out = Vec::new();
    put_number(&mut out, 1, 1);
    put_message(&mut out, 2, |out| {
        put_message(out, 1, |out| {
            put_text(out, 4, "serve");
            put_text(out, 5, VERSION);
            put_number(out, 7, 1);
        });
        put_message(out, 2, |out| {
            nodes.iter().for_each(|node| put_node(out, 1, node));
            put_message(out, 2, |out| objects.exporter.functions.iter().for_each(|def| def.put(out, 1)));
            put_message(out, 4, |out| put_number(out, 1, PRODUCER));
        });
        if !keys.is_empty() {
            put_message(out, 3, |out| {
                put_text(out, 1, "saver_filename:0");
                put_text(out, 2, "saver_saved:0");
                put_text(out, 3, "saver_restored");
                put_number(out, 7, 2);
            });
        }
        for call in &calls {
            put_message(out, 5, |out| {
                put_text(out, 1, &call.key);
                put_message(out, 2, |out| {
                    call.inputs.iter().for_each(|port| port.put(out, 1));
                    call.outputs.iter().for_each(|port| port.put(out, 2));
                    put_text(out, 3, "tensorflow/serving/predict");
                });
            });
        }
        if !objects.tables.is_empty() {
            put_message(out, 5, |out| {
                put_text(out, 1, INIT_OP);
                put_message(out, 2, |out| {
                    put_message(out, 2, |out| {
                        put_text(out, 1, INIT_OP);
                        put_message(out, 2, |out| put_text(out, 1, INITIALISED));
                    });
                });
            });
        }
        for (i, (_, file)) in objects.assets.iter().enumerate() {
            put_message(out, 6, |out| {
                put_message(out, 1, |out| put_text(out, 1, &format!("asset_path_{i}:0")));
                put_text(out, 2, file);
            });
        }
        objects.put(out, 7);
    });
    out
}

/// A tensor of the graph that a signature takes or gives.
struct Place {
    key: String,
    tensor: String,
    dtype: DType,
    shape: Shape,
}

impl Place {
    fn put(&self, out: &mut Vec<u8>, field: u64) {
        put_message(out, field, |out| {
            put_text(out, 1, &self.key);
            put_message(out, 2, |out| {
                put_text(out, 1, &self.tensor);
                put_number(out, 2, dtype_number(self.dtype));
                put_shape(out, 3, &self.shape);
            });
        });
    }
}

struct Call {
    key: String,
    inputs: Vec<Place>,
    outputs: Vec<Place>,
}

fn node(name: &str, op: &str, inputs: Vec<String>, attrs: Vec<(&str, Value)>) -> Node {
    let attrs = attrs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Node { name: name.to_owned(), op: op.to_owned(), inputs, attrs }
}

fn constant(name: &str, tensor: Tensor) -> Node {
    let dtype = tensor.dtype();
    node(name, "Const", vec![], vec![("value", Value::Tensor(tensor)), ("dtype", dtype.into())])
}

fn texts(dims: &[usize], values: impl Iterator<Item = String>) -> Tensor {
    let bytes = values.map(|text| text.into_bytes().into()).collect();
    Tensor::from_strings(dims, bytes).unwrap_or_else(|_| Tensor::from(0i32))
}

/// The nodes of the graph, and the signatures in it.
fn main_graph(program: &Program, objects: &Objects<'_>, keys: &[(usize, String)]) -> (Vec<Node>, Vec<Call>) {
    let mut nodes = Vec::new();
    let handle = |number: usize| match objects.assets.iter().position(|(v, _)| *v == number) {
        Some(i) => format!("asset_path_{i}"),
        None => match objects.tables.iter().find(|table| table.number == number) {
            Some(table) => table.name(),
            None => format!("variable_{number}"),
        },
    };
    let filled = objects.tables.iter().map(|table| format!("^{}", table.in_graph(&mut nodes))).collect();
    nodes.push(node(INITIALISED, "NoOp", filled, vec![]));
    for (number, _) in keys {
        let variable = &program.variables()[*number].variable;
        let ty = variable.ty();
        let attrs = vec![
            ("dtype", ty.dtype().into()),
            ("shape", Value::Shape(ty.shape().erased())),
            ("shared_name", (&*handle(*number)).into()),
        ];
        nodes.push(node(&handle(*number), "VarHandleOp", vec![], attrs));
    }
    for (i, (_, file)) in objects.assets.iter().enumerate() {
        nodes.push(constant(&format!("asset_path_{i}"), texts(&[], std::iter::once(format!("assets/{file}")))));
    }
    let mut calls = Vec::new();
    for (n, signature) in objects.signatures.iter().enumerate() {
        let function = &objects.concrete[signature.function];
        let (mut inputs, mut types, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        for (i, leaf) in signature.inputs.iter().enumerate() {
            let name = format!("signature_{n}_input_{i}");
            let attrs = vec![("dtype", leaf.dtype.into()), ("shape", Value::Shape(leaf.shape.clone()))];
            nodes.push(node(&name, "Placeholder", vec![], attrs));
            types.push(leaf.dtype);
            inputs.push(place(&leaf.name, format!("{name}:0"), leaf));
            taken.push(name);
        }
        for &number in &function.captures {
            let path = objects.assets.iter().any(|(v, _)| *v == number);
            types.push(if path { DType::Str } else { DType::Resource });
            taken.push(handle(number));
        }
        let name = format!("signature_{n}");
        let attrs = vec![
            ("f", Value::Func(function.name.clone())),
            ("Tin", Value::Types(types)),
            ("Tout", Value::Types(signature.outputs.iter().map(|leaf| leaf.dtype).collect())),
        ];
        nodes.push(node(&name, "StatefulPartitionedCall", taken, attrs));
        let outputs = signature
            .outputs
            .iter()
            .enumerate()
            .map(|(i, leaf)| place(&leaf.name, format!("{name}:{i}"), leaf))
            .collect();
        calls.push(Call { key: signature.key.clone(), inputs, outputs });
    }
    if !keys.is_empty() {
        saver(program, keys, handle, &mut nodes);
    }
    (nodes, calls)
}

fn place(key: &str, tensor: String, leaf: &structured::Leaf) -> Place {
    Place { key: key.to_owned(), tensor, dtype: leaf.dtype, shape: leaf.shape.clone() }
}

/// The nodes that save and restore variables.
fn saver(program: &Program, keys: &[(usize, String)], handle: impl Fn(usize) -> String, nodes: &mut Vec<Node>) {
    let scalar = Value::Shape(Shape::scalar());
    nodes.push(node("saver_filename", "Placeholder", vec![], vec![("dtype", DType::Str.into()), ("shape", scalar)]));
    nodes.push(constant("saver_keys", texts(&[keys.len()], keys.iter().map(|(_, key)| key.clone()))));
    nodes.push(constant("saver_slices", texts(&[keys.len()], keys.iter().map(|_| String::new()))));
    let types: Vec<DType> = keys.iter().map(|(n, _)| program.variables()[*n].variable.ty().dtype()).collect();
    let front = || vec!["saver_filename".to_owned(), "saver_keys".to_owned(), "saver_slices".to_owned()];
    let (mut saved, mut restored) = (front(), Vec::new());
    let attrs = || vec![("dtypes", Value::Types(types.clone()))];
    nodes.push(node("saver_restore", "RestoreV2", front(), attrs()));
    for (i, ((number, _), dtype)) in keys.iter().zip(&types).enumerate() {
        let (read, write) = (format!("saver_read_{i}"), format!("saver_write_{i}"));
        nodes.push(node(&read, "ReadVariableOp", vec![handle(*number)], vec![("dtype", (*dtype).into())]));
        let inputs = vec![handle(*number), format!("saver_restore:{i}")];
        nodes.push(node(&write, "AssignVariableOp", inputs, vec![("dtype", (*dtype).into())]));
        saved.push(read);
        restored.push(format!("^{write}"));
    }
    nodes.push(node("saver_save", "SaveV2", saved, attrs()));
    let inputs = vec!["saver_filename".to_owned(), "^saver_save".to_owned()];
    nodes.push(node("saver_saved", "Identity", inputs, vec![("T", DType::Str.into())]));
    nodes.push(node("saver_restored", "NoOp", restored, vec![]));
}
