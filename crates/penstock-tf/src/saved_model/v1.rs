//! Models of TensorFlow 1: one graph, of which each signature is the part between its inputs and its outputs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use penstock_data::{Error, Result, Shape};
use penstock_exec::Variable;
use penstock_format::{Capture, ProgramBuilder};
use penstock_ir::{Function, Type, Value};
use serde_json::{Value as Json, json};

use super::listed;
use super::lower::{Library, Lowering, Resource, Val, order};
use super::proto::{self, MetaGraph, Node, dtype};
use crate::BundleReader;

/// Operators that are variables of the graph.
fn is_variable(op: &str) -> bool {
    matches!(op, "VarHandleOp" | "VariableV2" | "Variable")
}

/// Adds the signatures of a graph without objects to a program.
pub(super) fn import<'a>(
    mut graph: MetaGraph<'a>,
    bundle: Option<&BundleReader>,
    builder: &mut ProgramBuilder,
) -> Result<BTreeMap<String, String>> {
    let library = Library::new(std::mem::take(&mut graph.functions));
    let nodes: Vec<Node<'a>> = graph.nodes.iter().map(|bytes| Node::parse(bytes)).collect::<Result<_>>()?;
    let mut refused = BTreeMap::new();
    let trained = trainable_variables(&graph)?;
    let (mut resources, mut handles, mut trainable) = (Vec::new(), HashMap::new(), Vec::new());
    let entries: HashMap<&str, ()> = bundle.into_iter().flat_map(|b| b.entries().map(|(key, _)| (key, ()))).collect();
    for node in nodes.iter().filter(|node| is_variable(node.op)) {
        let Some(number) = node.attr("dtype")? else { continue };
        let dtype = dtype(number.dtype()?)?;
        let shape = node.attr("shape")?.map_or(Ok(Shape::UNRANKED), |s| s.shape())?;
        let shared = node.attr("shared_name")?.map_or(Ok(""), |s| s.str())?;
        let name = if shared.is_empty() { node.name } else { shared };
        let value = match bundle.filter(|_| entries.contains_key(name)) {
            Some(bundle) => Some(bundle.read(name)?),
            None => None,
        };
        let variable = Variable::new(name, dtype, shape.clone(), value)?;
        let trains = trained.contains(&name);
        resources.push(Resource::Variable(builder.variable(variable, trains), Type::Variable(dtype, shape)));
        trainable.push(trains);
        handles.insert(node.name, resources.len() - 1);
    }
    let variables: Vec<Json> = (0..resources.len()).map(|i| json!({"kind": "variable", "variable": i})).collect();
    let mut signatures = serde_json::Map::new();
    for (key, bytes) in graph.signatures.iter().filter(|(key, _)| !key.starts_with("__saved_model")) {
        let made = Part { nodes: &nodes, library: &library, resources: &resources, handles: &handles };
        match made.signature(key, bytes, &trainable, builder) {
            Ok(made) => drop(signatures.insert((*key).to_owned(), made)),
            Err(error) => drop(refused.insert(format!("signature '{key}'"), error.to_string())),
        }
    }
    let items: Vec<Json> = (0..variables.len()).map(|i| json!({"node": i + 2})).collect();
    let mut all =
        vec![json!({"kind": "object", "children": [["variables", 1]]}), json!({"kind": "list", "items": items})];
    all.extend(variables);
    builder.text("objects", &json!({"nodes": all, "signatures": signatures}).to_string());
    Ok(refused)
}

/// The names of the variables that training changes: the first field of each message of the collection.
fn trainable_variables<'a>(graph: &MetaGraph<'a>) -> Result<Vec<&'a str>> {
    let Some(bytes) = graph.collections.get("trainable_variables") else { return Ok(Vec::new()) };
    let named = proto::collection(bytes)?;
    Ok(named.into_iter().filter_map(|m| proto::variable_name(m).ok()).collect())
}

struct Part<'x, 'a> {
    nodes: &'x [Node<'a>],
    library: &'x Library<'a>,
    resources: &'x [Resource],
    handles: &'x HashMap<&'a str, usize>,
}

impl<'a> Part<'_, 'a> {
    fn signature(&self, key: &str, bytes: &[u8], trainable: &[bool], builder: &mut ProgramBuilder) -> Result<Json> {
        let (inputs, outputs) = proto::signature(bytes)?;
        let mut lowering = Lowering::new(self.library, self.resources);
        let mut values: HashMap<&str, Vec<Val>> = HashMap::new();
        for (name, source, number, shape) in &inputs {
            let (node, place) = source.split_once(':').unwrap_or((source, "0"));
            if place != "0" {
                return Err(Error::unimplemented(format!("the input '{name}', which is no first output of a node")));
            }
            let node = self.nodes.iter().find(|n| n.name == node);
            let node =
                node.ok_or_else(|| crate::damaged(proto::SECTION, format_args!("there is no node '{source}'")))?;
            let shape = lowering.builder.symbolic(shape);
            let value = lowering.builder.input(Type::tensor(dtype(*number)?, shape), Some(name));
            values.insert(node.name, vec![Val::Tensor(value)]);
        }
        let is_given = |name: &str| values.contains_key(name);
        let roots = outputs.iter().map(|(_, source, ..)| *source);
        let live: Vec<Node<'a>> = order(self.nodes, roots, &is_given)?.into_iter().map(|i| self.nodes[i]).collect();
        let lowered: Vec<Node<'a>> = live.iter().copied().filter(|n| !self.handles.contains_key(n.name)).collect();
        let missing = self.library.missing(&lowered)?;
        if !missing.is_empty() {
            return Err(Error::unimplemented(listed(&missing)));
        }
        for node in &live {
            if let Some(&handle) = self.handles.get(node.name) {
                // The old form of a variable is its value.
                let value = match node.op {
                    "VarHandleOp" => Val::Resource(handle),
                    _ => {
                        let variable = lowering.variable(handle)?;
                        Val::Tensor(lowering.emit("read_variable", &[variable], &[])?[0])
                    }
                };
                values.insert(node.name, vec![value]);
            }
        }
        let values = lowering.nodes(&live, values)?;
        let results = outputs.iter().map(|(_, source, ..)| {
            let (node, place) = source.split_once(':').unwrap_or((source, "0"));
            let place: usize = place.parse().unwrap_or(usize::MAX);
            match values.get(node).and_then(|made| made.get(place)) {
                Some(Val::Tensor(v)) => Ok(*v),
                _ => Err(crate::damaged(proto::SECTION, format_args!("there is no value '{source}'"))),
            }
        });
        let results: Vec<Value> = results.collect::<Result<_>>()?;
        let captured = std::mem::take(&mut lowering.captured);
        let graph = lowering.builder.finish(&results)?;
        let (mut captures, mut trains) = (Vec::new(), Vec::new());
        for (i, (resource, _)) in captured.iter().enumerate() {
            if let Some(Resource::Variable(number, _)) = self.resources.get(*resource) {
                captures.push(Capture::Variable(*number));
                if trainable.get(*number) == Some(&true) {
                    trains.push(inputs.len() + i);
                }
            }
        }
        let (takes, gives): (Vec<&str>, Vec<&str>) =
            (inputs.iter().map(|p| p.0).collect(), outputs.iter().map(|p| p.0).collect());
        let function = Arc::new(Function::new(key, graph));
        let types = function.signature().results.clone();
        let number = builder.function(key, function, &takes, &gives, captures);
        builder.signature(key, number);
        let spec = |name: &str, ty: &Type| {
            let dims = ty.shape().dims().map(|dims| dims.iter().map(|d| d.known()).collect::<Vec<_>>());
            json!([name, {"tensor": [ty.dtype().tf_name(), dims, name]}])
        };
        let takes: Vec<Json> = inputs
            .iter()
            .map(|(name, _, number, shape)| Ok(spec(name, &Type::tensor(dtype(*number)?, shape.clone()))))
            .collect::<Result<_>>()?;
        let gives: Vec<Json> = gives.iter().zip(&types).map(|(name, ty)| spec(name, ty)).collect();
        Ok(json!({"function": number, "inputs": takes, "outputs": gives, "trainable": trains}))
    }
}
