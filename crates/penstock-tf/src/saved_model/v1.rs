//! Models of TensorFlow 1: one graph, of which each signature is the part between its inputs and its outputs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use penstock_data::{Error, Result, Shape, Table, Tensor};
use penstock_exec::Variable;
use penstock_format::{Capture, ProgramBuilder};
use penstock_ir::{Function, Type, Value};
use serde_json::{Value as Json, json};

use super::listed;
use super::lower::{Library, Lowering, Resource, Val, order};
use super::proto::{self, MetaGraph, Node, dtype};
use super::table::lookup::{fills_table, makes_table};
use super::tables::{self, Recording, TableType};
use crate::BundleReader;

/// Operators that are variables of the graph.
fn is_variable(op: &str) -> bool {
    matches!(op, "VarHandleOp" | "VariableV2" | "Variable")
}

/// Adds the signatures of a graph without objects to a program.
pub(super) fn import<'a>(
    mut graph: MetaGraph<'a>,
    bundle: Option<&BundleReader>,
    directory: Option<&Path>,
    files: bool,
    builder: &mut ProgramBuilder,
) -> Result<BTreeMap<String, String>> {
    let library = Library::new(std::mem::take(&mut graph.functions), files);
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
    let fills = fills(&graph, &nodes)?;
    tables(&nodes, &fills, bundle, &library, &assets(&graph, directory)?, &mut resources, &mut handles, builder)?;
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

/// A file: the name of the node that holds its path, its path below the directory, and its bytes.
type Asset<'a> = (&'a str, String, Arc<[u8]>);

/// The most tables of a graph: each is looked for in the whole graph.
const MOST_TABLES: usize = 1000;

/// The files of a model, by the names of the nodes that hold their paths, with the paths below the directory.
fn assets<'a>(graph: &MetaGraph<'a>, directory: Option<&Path>) -> Result<Vec<Asset<'a>>> {
    let mut named = graph.assets.clone();
    if let Some(bytes) = graph.collections.get("saved_model_assets") {
        named.extend(proto::asset_collection(bytes)?);
    }
    let file = |(tensor, name): (&'a str, &'a str)| {
        let path = format!("{}/{name}", tables::ASSETS);
        let node = tensor.split(':').next().unwrap_or(tensor);
        Some((node, path.clone(), tables::asset(directory, &path).ok()?))
    };
    Ok(named.into_iter().filter_map(file).collect())
}

/// Collections and signatures that name what runs when a model is loaded.
const BEGINNINGS: [&str; 5] =
    ["saved_model_main_op", "legacy_init_op", "saved_model_legacy_init_op", "main_op", "__saved_model_init_op"];

/// The nodes that fill tables: those that do nothing else, and those that insert when the model is loaded.
fn fills<'a>(graph: &MetaGraph<'a>, nodes: &[Node<'a>]) -> Result<Vec<Node<'a>>> {
    let mut roots = Vec::new();
    for name in BEGINNINGS {
        if let Some(bytes) = graph.collections.get(name) {
            roots.extend(proto::collection(bytes)?.into_iter().filter_map(|name| std::str::from_utf8(name).ok()));
        }
        if let Some(bytes) = graph.signatures.get(name) {
            roots.extend(proto::signature(bytes)?.1.into_iter().map(|(_, source, ..)| source));
        }
    }
    // One that is damaged, or a loop of TensorFlow 1, inserts nothing.
    let begins = order(nodes, roots.into_iter(), &|_| false).unwrap_or_default();
    let inserts = |place: usize| nodes[place].op.starts_with("LookupTableInsert") && begins.contains(&place);
    // What comes from the checkpoint is read where the table is made.
    let restored: HashSet<&str> = nodes.iter().filter(|node| node.op == "RestoreV2").map(|node| node.name).collect();
    let mut found = Vec::new();
    for (i, node) in nodes.iter().enumerate().filter(|(i, node)| fills_table(node.op) || inserts(*i)) {
        let keys = node.inputs()?.get(1).and_then(|input| input.split(':').next());
        if !keys.is_some_and(|keys| restored.contains(keys)) {
            found.push(nodes[i]);
        }
    }
    Ok(found)
}

/// Adds the tables that nodes make and other nodes fill.
fn tables<'a>(
    nodes: &[Node<'a>],
    fills: &[Node<'a>],
    bundle: Option<&BundleReader>,
    library: &Library<'a>,
    assets: &[Asset<'a>],
    resources: &mut Vec<Resource>,
    handles: &mut HashMap<&'a str, usize>,
    builder: &mut ProgramBuilder,
) -> Result<()> {
    let mut found = Vec::new();
    if nodes.iter().filter(|node| makes_table(node.op)).count() + fills.len() > MOST_TABLES {
        return Err(Error::exhausted(format!("more than {MOST_TABLES} nodes that make or fill tables")));
    }
    for node in nodes.iter().filter(|node| makes_table(node.op)) {
        let made = recorded(node, nodes, library, &[], resources, handles).and_then(|r| {
            r.made.into_iter().next().ok_or_else(|| Error::unimplemented("what makes it makes no table"))
        });
        handles.insert(node.name, resources.len());
        let held = |ty: &TableType| -> Result<Table> {
            let (keys, values) = (format!("{}-keys", node.name), format!("{}-values", node.name));
            let saved = |bundle: &&BundleReader| bundle.entries().any(|(key, _)| key == keys);
            match bundle.filter(saved) {
                Some(bundle) => ty.restored(&bundle.read(&keys)?, &bundle.read(&values)?),
                None => Ok(ty.empty()),
            }
        };
        found.push((resources.len(), made.as_ref().ok().map(held).transpose()?));
        resources.push(match made {
            Ok(ty) => Resource::Table(0, ty),
            Err(error) => Resource::absent("a table", &error),
        });
    }
    for node in fills {
        let filled = recorded(node, nodes, library, assets, resources, handles).and_then(|r| {
            for (place, keys, values) in r.filled {
                let Some((_, Some(table))) = found.iter_mut().find(|(p, _)| *p == place) else { continue };
                match fills_table(node.op) {
                    true => table.insert_unique(&keys, &values)?,
                    false => table.insert(&keys, &values)?,
                }
            }
            Ok(())
        });
        let table = node.inputs()?.first().and_then(|input| handles.get(input.split(':').next()?));
        if let (Err(error), Some(&place)) = (filled, table) {
            resources[place] = Resource::absent("a table", &error);
        }
    }
    let mut left = tables::MOST_DEFAULT_BYTES;
    for (place, table) in found {
        if let (Some(table), Resource::Table(_, ty)) = (table, resources[place].clone()) {
            resources[place] = tables::hold(table, ty, &mut left, builder)?.0;
        }
    }
    Ok(())
}

/// What a node does with tables.
fn recorded<'a>(
    node: &Node<'a>,
    nodes: &[Node<'a>],
    library: &Library<'a>,
    assets: &[Asset<'a>],
    resources: &[Resource],
    handles: &HashMap<&'a str, usize>,
) -> Result<Recording> {
    let mut lowering = Lowering::new(library, resources);
    let mut given: HashMap<&str, Vec<Val>> = handles.iter().map(|(name, &r)| (*name, vec![Val::Resource(r)])).collect();
    let mut recording = Recording::default();
    for (name, path, bytes) in assets {
        let text = lowering.builder.constant(Tensor::from_strings(&[], vec![path.as_bytes().into()])?);
        given.insert(name, vec![Val::Tensor(text)]);
        recording.files.push((path.clone(), bytes.clone()));
    }
    let is_given = |name: &str| given.contains_key(name);
    let live = order(nodes, std::iter::once(node.name), &is_given)?;
    let live: Vec<Node<'a>> = live.into_iter().map(|i| nodes[i]).collect();
    lowering.tables = Some(recording);
    lowering.nodes(&live, given)?;
    lowering.tables.take().ok_or_else(|| Error::internal("what was recorded is lost"))
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
                    "VariableV2" | "Variable" => {
                        let variable = lowering.variable(handle)?;
                        Val::Tensor(lowering.emit("read_variable", &[variable], &[])?[0])
                    }
                    _ => Val::Resource(handle),
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
            if let Some(number) = self.resources.get(*resource).and_then(Resource::number) {
                captures.push(Capture::Variable(number));
                if trainable.get(number) == Some(&true) {
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
