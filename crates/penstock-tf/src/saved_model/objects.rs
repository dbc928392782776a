//! The objects of a SavedModel: what owns variables and functions. They become the text that `tf.saved_model.load` makes
//! Python's objects from.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use penstock_data::{Class, DType, Error, Result, Shape, Table, Tensor};
use penstock_exec::Variable;
use penstock_format::{Capture, ProgramBuilder};
use penstock_ir::{Function, Type, Value};
use serde_json::{Value as Json, json};

use super::listed;
use super::lower::{Extra, Gradient, Library, Lowering, Resource, Val};
use super::proto::{self, Attribute, Concrete, Kind, MetaGraph, Node, Structured, dtype};
use super::tables::{self, ASSETS, Recording, TableType};
use crate::{BundleReader, OBJECT_GRAPH_KEY, ObjectGraph};

/// The text of a program that describes its objects.
const OBJECTS: &str = "objects";

/// Children of objects that are TensorFlow's own bookkeeping.
fn is_internal(name: &str) -> bool {
    name == "signatures" || name.starts_with("keras_api") || name.starts_with("_self_saveable")
}

/// An object that functions take besides their arguments.
#[derive(Clone)]
enum Bound {
    Resource(usize),
    Constant(Tensor),
    /// A file: the number of the variable that holds its path.
    Asset(usize),
    Unknown(&'static str),
}

struct Import<'x, 'a> {
    graph: &'x MetaGraph<'a>,
    library: &'x Library<'a>,
    bound: Vec<Bound>,
    resources: &'x [Resource],
    /// The numbers of the variables in the program, by object.
    variables: BTreeMap<usize, usize>,
    /// The tables, by object, as the text has them.
    tables: BTreeMap<usize, Json>,
    trainable: Vec<bool>,
    refused: BTreeMap<String, String>,
    nodes: Vec<Json>,
    numbers: HashMap<usize, usize>,
}

/// Adds the functions of a graph with objects to a program.
pub(super) fn import<'a>(
    mut graph: MetaGraph<'a>,
    bundle: Option<&BundleReader>,
    directory: Option<&Path>,
    files: bool,
    builder: &mut ProgramBuilder,
) -> Result<BTreeMap<String, String>> {
    let mut library = Library::new(std::mem::take(&mut graph.functions), files);
    let keys = match bundle {
        Some(bundle) => checkpoint_keys(&graph, bundle)?,
        None => HashMap::new(),
    };
    let mut resources = Vec::new();
    let (mut bound, mut variables, mut trainable) = (Vec::new(), BTreeMap::new(), Vec::new());
    let constants = constants(&graph)?;
    for (id, object) in graph.objects.iter().enumerate() {
        bound.push(match &object.kind {
            Kind::Variable(saved) => {
                let (dtype, shape) = (dtype(saved.dtype)?, proto::shape(saved.shape)?);
                let value = match (keys.get(&(id, VALUE)), bundle) {
                    (Some(key), Some(bundle)) => Some(bundle.read(key)?),
                    _ => None,
                };
                let name = if saved.name.is_empty() { "Variable" } else { saved.name };
                let variable = Variable::new(name, dtype, shape.clone(), value)?;
                resources.push(Resource::Variable(
                    builder.variable(variable, saved.trainable),
                    Type::Variable(dtype, shape),
                ));
                trainable.push(saved.trainable);
                variables.insert(id, trainable.len() - 1);
                Bound::Resource(resources.len() - 1)
            }
            Kind::Asset(number) => {
                let path = asset_path(&graph, *number)?;
                let path = Tensor::from_strings(&[], vec![path.into_bytes().into()])?;
                let variable = Variable::new("asset", DType::Str, Shape::scalar(), Some(path))?;
                let ty = variable.ty();
                resources.push(Resource::Variable(builder.variable(variable, false), ty));
                trainable.push(false);
                variables.insert(id, trainable.len() - 1);
                Bound::Asset(resources.len() - 1)
            }
            Kind::Constant(name) => match constants.get(name) {
                Some(tensor) => Bound::Constant(tensor.clone()),
                None => Bound::Unknown("a constant that the graph does not have"),
            },
            Kind::Resource => {
                resources.push(Resource::Unknown(Error::unimplemented("takes a resource that has not been made yet")));
                Bound::Resource(resources.len() - 1)
            }
            _ => Bound::Unknown("an object that is no tensor, variable or resource"),
        });
    }
    let place = Place { graph: &graph, library: &library, bundle, directory, keys: &keys };
    let tables = place.tables(&bound, &mut resources, builder)?;
    library.gradients = gradients(&graph, &bound)?;
    let mut import = Import {
        graph: &graph,
        library: &library,
        bound,
        resources: &resources,
        variables,
        tables,
        trainable,
        refused: BTreeMap::new(),
        nodes: Vec::new(),
        numbers: HashMap::new(),
    };
    import.object(0, builder, 0)?;
    let signatures = import.signatures(builder)?;
    let text = json!({"nodes": import.nodes, "signatures": signatures});
    builder.text(OBJECTS, &text.to_string());
    Ok(import.refused)
}

/// The gradients that nodes have of their own, as far as all that they take is known.
fn gradients<'a>(graph: &MetaGraph<'a>, bound: &[Bound]) -> Result<HashMap<&'a str, Gradient<'a>>> {
    let mut out = HashMap::new();
    for (&name, &function) in &graph.gradients {
        let Some(concrete) = graph.concrete.get(function) else { continue };
        let extras = concrete.bound.iter().map(|&id| match (&graph.objects[id as usize].kind, &bound[id as usize]) {
            (Kind::Captured(value), _) => Some(Extra::Value(value)),
            (_, Bound::Resource(r)) => Some(Extra::Resource(*r)),
            (_, Bound::Constant(tensor)) => Some(Extra::Constant(tensor.clone())),
            _ => None,
        });
        let Some(extras) = extras.collect::<Option<Vec<_>>>() else { continue };
        let mut next = -1;
        let output = Structured::parse(concrete.output)?;
        let places = output.items().iter().map(|item| match item {
            Structured::None => -1,
            _ => {
                next += 1;
                next
            }
        });
        out.insert(name, Gradient { function, extras, places: places.collect() });
    }
    Ok(out)
}

/// The path of a file below the directory.
fn asset_path(graph: &MetaGraph<'_>, number: u64) -> Result<String> {
    let place = usize::try_from(number).ok().and_then(|i| graph.assets.get(i));
    let name = place.map(|(_, name)| *name).unwrap_or_default();
    match name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
        true => Err(crate::damaged(proto::SECTION, "an asset has no name")),
        false => Ok(format!("{ASSETS}/{name}")),
    }
}

/// What tables are made of.
struct Place<'x, 'a> {
    graph: &'x MetaGraph<'a>,
    library: &'x Library<'a>,
    bundle: Option<&'x BundleReader>,
    directory: Option<&'x Path>,
    keys: &'x Keys,
}

impl Place<'_, '_> {
    /// Makes the tables among the resources, and gives them as the text has them.
    fn tables(
        &self,
        bound: &[Bound],
        resources: &mut [Resource],
        builder: &mut ProgramBuilder,
    ) -> Result<BTreeMap<usize, Json>> {
        let (mut out, mut left) = (BTreeMap::new(), tables::MOST_DEFAULT_BYTES);
        for (id, object) in self.graph.objects.iter().enumerate() {
            let (Kind::Resource, Bound::Resource(resource)) = (&object.kind, &bound[id]) else { continue };
            let made = self.table(id, *resource, bound, resources);
            let held = made.and_then(|(table, ty)| tables::hold(table, ty, &mut left, builder));
            resources[*resource] = match held {
                Ok((held, json)) => {
                    out.insert(id, json);
                    held
                }
                Err(error) => Resource::absent("a table or another resource", &error),
            };
        }
        Ok(out)
    }

    /// What is in a table when the model is loaded.
    fn table(&self, id: usize, place: usize, bound: &[Bound], all: &mut [Resource]) -> Result<(Table, TableType)> {
        let mut made = self.recorded(id, "_create_resource", bound, all)?.made;
        let ty = made.pop().filter(|_| made.is_empty());
        let ty = ty.ok_or_else(|| Error::unimplemented("what makes it makes no table"))?;
        all[place] = Resource::Table(0, ty.clone());
        let mut table = ty.empty();
        for (resource, keys, values) in self.recorded(id, "_initialize", bound, all)?.filled {
            if resource == place {
                table.insert_unique(&keys, &values)?;
            }
        }
        if let (Some(key), Some(bundle)) = (self.keys.get(&(id, TABLE)), self.bundle) {
            let read = |part: &str| bundle.read(&format!("{key}-{part}"));
            table = ty.restored(&read("keys")?, &read("values")?)?;
        }
        Ok((table, ty))
    }

    /// What a function that an object owns does with tables.
    fn recorded(&self, id: usize, child: &str, bound: &[Bound], resources: &[Resource]) -> Result<Recording> {
        let children = &self.graph.objects[id].children;
        let kind =
            children.iter().find(|(name, _)| *name == child).map(|(_, id)| &self.graph.objects[*id as usize].kind);
        let name = match kind {
            Some(Kind::Function(names, _)) => names.first().copied(),
            Some(Kind::Bare(name, _)) => Some(*name),
            _ => None,
        };
        let Some((name, concrete)) = name.and_then(|name| Some((name, self.graph.concrete.get(name)?))) else {
            return Ok(Recording::default());
        };
        let mut lowering = Lowering::new(self.library, resources);
        let mut recording = Recording::default();
        let mut args = Vec::new();
        for &id in &concrete.bound {
            args.push(match (&bound[id as usize], &self.graph.objects[id as usize].kind) {
                (Bound::Resource(r), _) => Val::Resource(*r),
                (Bound::Constant(tensor), _) => Val::Tensor(lowering.builder.constant(tensor.clone())),
                (Bound::Asset(_), Kind::Asset(number)) => {
                    let path = asset_path(self.graph, *number)?;
                    let text = Tensor::from_strings(&[], vec![path.as_bytes().into()])?;
                    recording.files.push((path.clone(), tables::asset(self.directory, &path)?));
                    Val::Tensor(lowering.builder.constant(text))
                }
                _ => return Err(Error::unimplemented("what fills it takes an object that is no tensor")),
            });
        }
        lowering.tables = Some(recording);
        lowering.call(name, &args)?;
        lowering.tables.take().ok_or_else(|| Error::internal("what was recorded is lost"))
    }
}

/// What a variable is called in the graph of a checkpoint, and what a table is.
const VALUE: &str = "VARIABLE_VALUE";
const TABLE: &str = "table";

/// Keys of a checkpoint, by object and by what they are of it.
type Keys = HashMap<(usize, &'static str), String>;

/// The keys of the values of objects: the objects of the checkpoint have the same names for what they own.
fn checkpoint_keys(graph: &MetaGraph<'_>, bundle: &BundleReader) -> Result<Keys> {
    let held = bundle.read(OBJECT_GRAPH_KEY)?;
    let bytes = held.strings().first().ok_or_else(|| crate::damaged("variables", "there is no graph of objects"))?;
    let saved = ObjectGraph::parse(bytes)?;
    let mut keys = HashMap::new();
    let mut seen = HashMap::new();
    let mut due = vec![(0usize, 0usize)];
    while let Some((object, node)) = due.pop() {
        let Some(found) = saved.nodes.get(node) else { continue };
        if seen.insert(object, node).is_some() {
            continue;
        }
        for name in [VALUE, TABLE] {
            if let Some(value) = found.attributes.iter().find(|a| a.name == name) {
                keys.insert((object, name), value.key.clone());
            }
        }
        let names: HashMap<&str, u64> = found.children.iter().map(|(id, name)| (name.as_str(), *id)).collect();
        for (name, child) in &graph.objects[object].children {
            if let Some(&id) = names.get(name) {
                due.push((*child as usize, id as usize));
            }
        }
    }
    Ok(keys)
}

/// The bytes of all constants of objects that a file gives by one element: it must not take much memory to say so little.
const MOST_SPLAT_BYTES: usize = 1 << 22;

/// The constants that objects are, by the nodes of the graph that hold them.
fn constants<'a>(graph: &MetaGraph<'a>) -> Result<HashMap<&'a str, Tensor>> {
    let named = graph.objects.iter().filter_map(|o| match o.kind {
        Kind::Constant(name) => Some(name),
        _ => None,
    });
    let named: HashSet<&str> = named.collect();
    let (mut out, mut left) = (HashMap::new(), MOST_SPLAT_BYTES);
    for bytes in graph.nodes.iter().filter(|_| !named.is_empty()) {
        let node = Node::parse(bytes)?;
        if node.op != "Const" || !named.contains(node.name) {
            continue;
        }
        let tensor = match node.attr("value")?.map(Attribute::tensor).transpose()? {
            Some(proto::Constant::Array(tensor)) => Some(tensor),
            Some(proto::Constant::Splat(element, dims)) => splat(&element, &dims, &mut left)?,
            None => None,
        };
        out.extend(tensor.map(|tensor| (node.name, tensor)));
    }
    Ok(out)
}

/// An array of which every element is the same, where it takes no more bytes than are `left`.
fn splat(element: &Tensor, dims: &[i64], left: &mut usize) -> Result<Option<Tensor>> {
    let dims = dims.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<usize>>>();
    let Some(dims) = dims.filter(|_| element.dtype().size() > 0) else { return Ok(None) };
    let bytes = dims.iter().try_fold(element.dtype().size(), |n, &d| n.checked_mul(d));
    let Some(rest) = bytes.and_then(|bytes| left.checked_sub(bytes)) else { return Ok(None) };
    *left = rest;
    let mut tensor = Tensor::empty(element.dtype(), &dims)?;
    tensor.bytes_mut().chunks_exact_mut(element.dtype().size()).for_each(|to| to.copy_from_slice(element.bytes()));
    Ok(Some(tensor))
}

/// A function of the program, as the text describes it.
struct Made {
    number: usize,
    trainable: Vec<usize>,
}

/// Objects own each other at most so deep.
const DEEPEST: usize = 200;

impl Import<'_, '_> {
    /// The number of an object in the text.
    fn object(&mut self, id: usize, builder: &mut ProgramBuilder, depth: usize) -> Result<usize> {
        if let Some(&number) = self.numbers.get(&id) {
            return Ok(number);
        }
        if depth > DEEPEST {
            return Err(Error::unimplemented(format!("objects that own each other more than {DEEPEST} deep")));
        }
        let number = self.nodes.len();
        self.numbers.insert(id, number);
        self.nodes.push(Json::Null);
        let graph = self.graph;
        let object = &graph.objects[id];
        let node = match &object.kind {
            Kind::Variable(_) => json!({"kind": "variable", "variable": self.variables[&id]}),
            Kind::Asset(_) => {
                let variable = self.variables[&id];
                let Kind::Asset(i) = object.kind else { return Err(Error::internal("an asset is none")) };
                json!({"kind": "asset", "variable": variable, "path": asset_path(graph, i)?})
            }
            Kind::Resource => self.tables.get(&id).cloned().ok_or_else(|| {
                crate::damaged(proto::SECTION, "the first object is a resource that is no table which is known")
            })?,
            Kind::Function(names, spec) => self.function(names, spec, "function", builder)?,
            Kind::Bare(name, spec) => self.function(std::slice::from_ref(name), spec, "concrete", builder)?,
            Kind::User(kind) => {
                let mut children = Vec::new();
                for (name, child) in &object.children {
                    let child = *child as usize;
                    if is_internal(name) || !self.is_kept(child) {
                        continue;
                    }
                    let number = self.object(child, builder, depth + 1)?;
                    children.push((*name, number));
                }
                container(kind, children)
            }
            _ => json!({"kind": "object", "children": []}),
        };
        self.nodes[number] = node;
        Ok(number)
    }

    /// Whether an object is one that Python has.
    fn is_kept(&self, id: usize) -> bool {
        match &self.graph.objects[id].kind {
            Kind::User(kind) => *kind != "signature_map",
            Kind::Bare(name, _) => self.graph.concrete.contains_key(name),
            Kind::Function(..) | Kind::Variable(_) | Kind::Asset(_) => true,
            Kind::Resource => self.tables.contains_key(&id),
            _ => false,
        }
    }

    fn function(&mut self, names: &[&str], spec: &[u8], kind: &str, builder: &mut ProgramBuilder) -> Result<Json> {
        let (full, method, signature) = proto::function_spec(spec)?;
        let parameters = parameters(&full, method)?;
        let order: Vec<String> = parameters.iter().filter_map(|p| p[0].as_str().map(str::to_owned)).collect();
        let mut traces = Vec::new();
        let graph = self.graph;
        let (mut reasons, mut missing) = (Vec::new(), true);
        for &name in names {
            let Some(concrete) = graph.concrete.get(name) else { continue };
            match self.trace(name, concrete, &order, builder) {
                Ok(trace) => traces.push(trace),
                Err(error) => {
                    missing &= error.class() == Class::NotFound;
                    reasons.push(error.message().to_owned());
                    self.refused.insert(name.to_owned(), error.to_string());
                }
            }
        }
        reasons.dedup();
        let shown = names.first().map_or("function", |name| name.trim_start_matches("__inference_"));
        let shown = shown.rsplit_once('_').map_or(shown, |(front, _)| front);
        let kind = if traces.is_empty() { "function" } else { kind };
        let specs = match signature {
            Structured::None | Structured::Other(_) => Json::Null,
            given => encode(&as_list(given))?,
        };
        Ok(json!({
            "kind": kind, "name": shown, "parameters": parameters, "signature": specs, "traces": traces,
            "refused": reasons, "missing": missing && !reasons.is_empty(),
        }))
    }

    /// A trace that Python calls.
    fn trace(
        &mut self,
        name: &str,
        concrete: &Concrete<'_>,
        order: &[String],
        builder: &mut ProgramBuilder,
    ) -> Result<Json> {
        let input = Structured::parse(concrete.input)?;
        let output = Structured::parse(concrete.output)?;
        let [args, kwargs] = input.items() else {
            return Err(crate::damaged(proto::SECTION, "a function does not say what it takes"));
        };
        let Structured::Dict(kwargs) = kwargs else {
            return Err(crate::damaged(proto::SECTION, "arguments by name are no dict"));
        };
        let mut leaves = Vec::new();
        leaves_of(args, &mut leaves)?;
        // TensorFlow has arguments by name in the order of their names, Python here in that of the parameters.
        let mut place = leaves.len();
        let mut named: Vec<(&str, &Structured<'_>, usize, Vec<Leaf>)> = Vec::new();
        for (key, value) in kwargs {
            let mut inner = Vec::new();
            leaves_of(value, &mut inner)?;
            let first = place;
            place += inner.len();
            named.push((key, value, first, inner));
        }
        named.sort_by_key(|(key, ..)| order.iter().position(|name| name == key).unwrap_or(usize::MAX));
        let mut positions: Vec<usize> = (0..leaves.len()).collect();
        for (_, _, first, inner) in &named {
            positions.extend(*first..first + inner.len());
            leaves.extend(inner.iter().cloned());
        }
        let mut results = Vec::new();
        leaves_of(&output, &mut results)?;
        let outputs: Vec<String> = (0..results.len()).map(|i| format!("output_{i}")).collect();
        let made = self.graph_of(name, concrete, &leaves, &positions, &outputs, builder)?;
        let args: Vec<Json> = args.items().iter().map(encode).collect::<Result<_>>()?;
        let kwargs: Vec<Json> =
            named.iter().map(|(key, value, ..)| Ok(json!([key, encode(value)?]))).collect::<Result<_>>()?;
        Ok(json!({
            "function": made.number, "args": args, "kwargs": kwargs, "result": encode(&output)?,
            "trainable": made.trainable, "pinned": [],
        }))
    }

    /// The functions that programs outside call.
    fn signatures(&mut self, builder: &mut ProgramBuilder) -> Result<Json> {
        let mut out = serde_json::Map::new();
        let graph = self.graph;
        let root = &graph.objects[0];
        let Some((_, map)) = root.children.iter().find(|(name, _)| *name == "signatures") else {
            return Ok(Json::Object(out));
        };
        for (key, child) in &graph.objects[*map as usize].children {
            let Kind::Bare(name, _) = &graph.objects[*child as usize].kind else { continue };
            let Some(concrete) = graph.concrete.get(name) else { continue };
            match self.signature(key, name, concrete, builder) {
                Ok(made) => drop(out.insert((*key).to_owned(), made)),
                Err(error) => drop(self.refused.insert(format!("signature '{key}'"), error.to_string())),
            }
        }
        Ok(Json::Object(out))
    }

    fn signature(
        &mut self,
        key: &str,
        name: &str,
        concrete: &Concrete<'_>,
        builder: &mut ProgramBuilder,
    ) -> Result<Json> {
        let (input, output) = (Structured::parse(concrete.input)?, Structured::parse(concrete.output)?);
        let by_name = |value: &Structured<'_>, what: &str| -> Result<Vec<(String, Leaf)>> {
            let Structured::Dict(fields) = value else {
                return Err(Error::unimplemented(format!("a signature whose {what} have no names")));
            };
            let leaf = |(name, value): (&&str, &Structured<'_>)| {
                let mut leaves = Vec::new();
                leaves_of(value, &mut leaves)?;
                match leaves.pop().filter(|_| leaves.is_empty()) {
                    Some(leaf) => Ok(((*name).to_owned(), leaf)),
                    None => Err(Error::unimplemented(format!("a signature whose '{name}' is no tensor"))),
                }
            };
            fields.iter().map(leaf).collect()
        };
        let (inputs, outputs) = match input.items() {
            [args, kwargs] if args.items().is_empty() => (by_name(kwargs, "inputs")?, by_name(&output, "outputs")?),
            _ => return Err(Error::unimplemented("a signature that takes arguments by position")),
        };
        let leaves: Vec<Leaf> = inputs.iter().map(|(name, leaf)| Leaf { name: name.clone(), ..leaf.clone() }).collect();
        let positions: Vec<usize> = (0..leaves.len()).collect();
        let names: Vec<String> = outputs.iter().map(|(name, _)| name.clone()).collect();
        let made = self.graph_of(name, concrete, &leaves, &positions, &names, builder)?;
        builder.signature(key, made.number);
        let specs = |ports: &[(String, Leaf)]| -> Vec<Json> {
            ports.iter().map(|(name, leaf)| json!([name, leaf.json(name)])).collect()
        };
        Ok(json!({
            "function": made.number, "inputs": specs(&inputs), "outputs": specs(&outputs),
            "trainable": made.trainable,
        }))
    }

    /// Adds the graph of a function to the program.
    fn graph_of(
        &mut self,
        name: &str,
        concrete: &Concrete<'_>,
        leaves: &[Leaf],
        positions: &[usize],
        outputs: &[String],
        builder: &mut ProgramBuilder,
    ) -> Result<Made> {
        let function = self.library.function(name)?;
        let missing = self.library.missing_of(name)?;
        if !missing.is_empty() {
            return Err(Error::unimplemented(listed(&missing)));
        }
        if function.args.len() != leaves.len() + concrete.bound.len() {
            return Err(crate::damaged(proto::SECTION, format_args!("'{name}' takes other arguments than it says")));
        }
        let mut lowering = Lowering::new(self.library, self.resources);
        let mut args = vec![None; leaves.len()];
        let mut names: Vec<String> = Vec::new();
        for (leaf, &position) in leaves.iter().zip(positions) {
            let shape = lowering.builder.symbolic(&leaf.shape);
            let mut input = leaf.name.clone();
            if input.is_empty() || names.contains(&input) {
                input = format!("{}_{}", function.args[position].0, names.len());
            }
            let value = lowering.builder.input(Type::tensor(leaf.dtype, shape), Some(&input));
            names.push(input);
            args[position] = Some(Val::Tensor(value));
        }
        let mut args: Vec<Val> =
            args.into_iter().collect::<Option<_>>().ok_or_else(|| Error::internal("an argument is missing"))?;
        for &id in &concrete.bound {
            args.push(match &self.bound[id as usize] {
                Bound::Resource(r) => Val::Resource(*r),
                Bound::Constant(tensor) => Val::Tensor(lowering.builder.constant(tensor.clone())),
                Bound::Asset(r) => {
                    let variable = lowering.variable(*r)?;
                    Val::Tensor(lowering.emit("read_variable", &[variable], &[])?[0])
                }
                Bound::Unknown(what) => return Err(Error::unimplemented(format!("takes {what}"))),
            });
        }
        let results = lowering.call(name, &args)?;
        let results: Vec<Value> = results
            .iter()
            .map(|val| match val {
                Val::Tensor(v) => Ok(*v),
                Val::Resource(_) => Err(Error::unimplemented("gives an object that is no tensor")),
            })
            .collect::<Result<_>>()?;
        if results.len() != outputs.len() {
            return Err(crate::damaged(proto::SECTION, format_args!("'{name}' gives other results than it says")));
        }
        let captured = std::mem::take(&mut lowering.captured);
        let graph = lowering.builder.finish(&results)?;
        let mut captures = Vec::new();
        let mut trainable = Vec::new();
        for (i, (resource, _)) in captured.iter().enumerate() {
            if let Some(number) = self.resources.get(*resource).and_then(Resource::number) {
                captures.push(Capture::Variable(number));
                if self.trainable.get(number) == Some(&true) {
                    trainable.push(names.len() + i);
                }
            }
        }
        let function = std::sync::Arc::new(Function::new(name, graph));
        let (inputs, outputs): (Vec<&str>, Vec<&str>) =
            (names.iter().map(String::as_str).collect(), outputs.iter().map(String::as_str).collect());
        Ok(Made { number: builder.function(name, function, &inputs, &outputs, captures), trainable })
    }
}

/// An object of Python, a list, a tuple or a dict.
fn container(kind: &str, children: Vec<(&str, usize)>) -> Json {
    let item = |number: &usize| json!({"node": number});
    match kind {
        "trackable_list_wrapper" | "trackable_tuple_wrapper" => {
            let mut items: Vec<(usize, usize)> =
                children.iter().filter_map(|(name, number)| Some((name.parse().ok()?, *number))).collect();
            items.sort_unstable();
            let items: Vec<Json> = items.iter().map(|(_, number)| item(number)).collect();
            let kind = if kind == "trackable_list_wrapper" { "list" } else { "tuple" };
            json!({"kind": kind, "items": items})
        }
        "trackable_dict_wrapper" => {
            let items: Vec<Json> = children.iter().map(|(name, number)| json!([name, item(number)])).collect();
            json!({"kind": "dict", "items": items})
        }
        _ => json!({"kind": "object", "children": children}),
    }
}

/// `[name, kind]` of each parameter, with its default where it has one.
fn parameters(full: &Structured<'_>, method: bool) -> Result<Vec<Json>> {
    let list = |name: &str| full.field(name).map(Structured::items).unwrap_or(&[]);
    let text = |value: &Structured<'_>| match value {
        Structured::Str(text) => Some((*text).to_owned()),
        _ => None,
    };
    let mut out = Vec::new();
    let args: Vec<String> = list("args").iter().filter_map(text).skip(usize::from(method)).collect();
    let defaults = list("defaults");
    let plain = args.len().saturating_sub(defaults.len());
    for (i, name) in args.iter().enumerate() {
        out.push(match i.checked_sub(plain).and_then(|i| defaults.get(i)) {
            Some(default) => json!([name, 1, encode(default)?]),
            None => json!([name, 1]),
        });
    }
    if let Some(name) = full.field("varargs").and_then(text) {
        out.push(json!([name, 2]));
    }
    let by_name = match full.field("kwonlydefaults") {
        Some(Structured::Dict(fields)) => Some(fields),
        _ => None,
    };
    for name in list("kwonlyargs").iter().filter_map(text) {
        out.push(match by_name.and_then(|fields| fields.get(&*name)) {
            Some(default) => json!([name, 3, encode(default)?]),
            None => json!([name, 3]),
        });
    }
    if let Some(name) = full.field("varkw").and_then(text) {
        out.push(json!([name, 4]));
    }
    Ok(out)
}

/// A tensor among arguments or results.
#[derive(Clone)]
struct Leaf {
    name: String,
    dtype: DType,
    shape: Shape,
}

impl Leaf {
    fn json(&self, name: &str) -> Json {
        json!({"tensor": [self.dtype.tf_name(), extents(&self.shape), name]})
    }
}

/// Lists of tensors in the order of TensorFlow's walk.
fn leaves_of(value: &Structured<'_>, out: &mut Vec<Leaf>) -> Result<()> {
    match value {
        Structured::Tensor(name, shape, number) => {
            out.push(Leaf { name: (*name).to_owned(), dtype: dtype(*number)?, shape: shape.clone() });
        }
        Structured::Ragged(shape, number, rank, splits) => {
            // The values, then the splits from outside in.
            let rank = usize::try_from(*rank).unwrap_or(0).min(penstock_data::MAX_RANK);
            let inner = shape.dims().map(|dims| {
                let rest = dims.get(rank + 1..).unwrap_or(&[]);
                Shape::new(std::iter::once(penstock_data::Dim::Unknown).chain(rest.iter().copied()))
            });
            let values = inner.unwrap_or(Shape::UNRANKED);
            out.push(Leaf { name: String::new(), dtype: dtype(*number)?, shape: values });
            for _ in 0..rank {
                let shape = Shape::new([penstock_data::Dim::Unknown]);
                out.push(Leaf { name: String::new(), dtype: dtype(*splits)?, shape });
            }
        }
        Structured::List(items) | Structured::Tuple(items) => items.iter().try_for_each(|v| leaves_of(v, out))?,
        Structured::Dict(fields) => fields.values().try_for_each(|v| leaves_of(v, out))?,
        Structured::Named(_, pairs) => pairs.iter().try_for_each(|(_, v)| leaves_of(v, out))?,
        Structured::Other(name) => return Err(Error::unimplemented(format!("an argument or result that is a {name}"))),
        _ => {}
    }
    Ok(())
}

fn extents(shape: &Shape) -> Json {
    match shape.dims() {
        None => Json::Null,
        Some(dims) => dims.iter().map(|d| d.known().map_or(Json::Null, Json::from)).collect(),
    }
}

fn as_list(value: Structured<'_>) -> Structured<'_> {
    match value {
        Structured::Tuple(items) => Structured::List(items),
        other => other,
    }
}

/// A nest, as the text has it.
fn encode(value: &Structured<'_>) -> Result<Json> {
    let all = |items: &[Structured<'_>]| items.iter().map(encode).collect::<Result<Vec<Json>>>();
    Ok(match value {
        Structured::None => Json::Null,
        Structured::Bool(b) => json!(b),
        Structured::Int(i) => json!(i),
        Structured::Float(f) => json!({"float": hexadecimal(*f)}),
        Structured::Str(text) => json!(text),
        Structured::DType(number) => json!({"dtype": dtype(*number)?.tf_name()}),
        Structured::Shape(shape) => json!({"shape": extents(shape)}),
        Structured::Tensor(name, shape, number) => {
            let name = if name.is_empty() { Json::Null } else { json!(name) };
            json!({"tensor": [dtype(*number)?.tf_name(), extents(shape), name]})
        }
        Structured::Ragged(shape, number, rank, splits) => {
            json!({"ragged": [dtype(*number)?.tf_name(), extents(shape), rank, dtype(*splits)?.tf_name()]})
        }
        Structured::List(items) => json!({"list": all(items)?}),
        Structured::Tuple(items) => json!({"tuple": all(items)?}),
        Structured::Dict(fields) => {
            let pairs: Vec<Json> =
                fields.iter().map(|(key, value)| Ok(json!([key, encode(value)?]))).collect::<Result<_>>()?;
            json!({"dict": pairs})
        }
        Structured::Named(name, pairs) => {
            let pairs: Vec<Json> =
                pairs.iter().map(|(key, value)| Ok(json!([key, encode(value)?]))).collect::<Result<_>>()?;
            json!({"named": [name, pairs]})
        }
        Structured::Other(name) => return Err(Error::unimplemented(format!("an argument that is a {name}"))),
    })
}

/// A number as Python's `float.hex` writes it.
fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let (sign, exponent, mantissa) = (bits >> 63, (bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    let sign = if sign == 1 { "-" } else { "" };
    match exponent {
        0x7ff if mantissa != 0 => "nan".to_owned(),
        0x7ff => format!("{sign}inf"),
        0 => format!("{sign}0x0.{mantissa:013x}p-1022"),
        _ => format!("{sign}0x1.{mantissa:013x}p{:+}", exponent as i64 - 1023),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_stands_for_a_small_array_of_it() {
        let mut left = 100;
        let made = splat(&Tensor::from(2.5f32), &[2, 3], &mut left).unwrap().unwrap();
        assert_eq!((made.dims(), made.as_slice::<f32>(), left), (&[2, 3][..], &[2.5f32; 6][..], 76));
        for dims in [&[20i64, 1][..], &[-1], &[i64::MAX, i64::MAX]] {
            assert!(splat(&Tensor::from(2.5f32), dims, &mut left).unwrap().is_none());
        }
        assert_eq!(left, 76);
    }
}
