//! The objects of a program, with their functions and variables, as TensorFlow's loader makes them anew.

use std::collections::HashMap;

use penstock_data::{DType, Error, Loc, Result};
use penstock_format::{Capture, Program, ProgramFunction};
use penstock_wire::{put_bytes, put_message, put_number, put_text, put_varint};
use serde_json::{Value as Json, json};

use super::graph::{Edge, Exporter, Item};
use super::message::{dtype_number, put_shape};
use super::structured::{Leaf, leaves, order, put_nest};
use super::tables::Held;
use crate::{Attribute, Node, ObjectGraph};

/// An object: what it owns, and what it is.
struct Object {
    children: Vec<(String, usize)>,
    /// The field that says what it is, with its message.
    kind: (u64, Vec<u8>),
    /// The number of the variable of the program that it is.
    variable: Option<usize>,
}

/// A function that TensorFlow calls.
pub(super) struct Concrete {
    pub(super) name: String,
    /// The program's variables behind the arguments.
    pub(super) captures: Vec<usize>,
    message: Vec<u8>,
}

/// A signature: the function, and the tensors that it takes and gives by name.
pub(super) struct Called {
    pub(super) key: String,
    pub(super) function: usize,
    pub(super) inputs: Vec<Leaf>,
    pub(super) outputs: Vec<Leaf>,
}

pub(super) struct Objects<'p> {
    program: &'p Program,
    pub(super) exporter: Exporter,
    objects: Vec<Object>,
    pub(super) concrete: Vec<Concrete>,
    pub(super) signatures: Vec<Called>,
    /// The objects that variables are, by their numbers.
    places: HashMap<usize, usize>,
    /// The variables that hold paths of files, with the files.
    pub(super) assets: Vec<(usize, String)>,
    /// The tables.
    pub(super) tables: Vec<Held>,
}

fn items(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn index(value: &Json) -> Result<usize> {
    let number = value.as_u64().and_then(|n| usize::try_from(n).ok());
    number.ok_or_else(|| Error::invalid("the program's text of objects lacks a number"))
}

fn text(value: &Json) -> &str {
    value.as_str().unwrap_or_default()
}

fn user(identifier: &str) -> (u64, Vec<u8>) {
    let mut out = Vec::new();
    put_text(&mut out, 1, identifier);
    put_message(&mut out, 2, |out| {
        put_number(out, 1, 1);
        put_number(out, 2, 1);
    });
    (4, out)
}

/// A name that arguments of functions may have.
fn argument(name: &str, taken: &[(String, DType)]) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    let front = match plain.chars().next() {
        Some('a'..='z') => plain,
        _ => format!("arg_{plain}"),
    };
    let mut made = front.clone();
    let mut count = 0;
    while taken.iter().any(|(name, _)| *name == made) {
        count += 1;
        made = format!("{front}_{count}");
    }
    made
}

impl<'p> Objects<'p> {
    fn none(program: &'p Program) -> Objects<'p> {
        Objects {
            program,
            exporter: Exporter::default(),
            objects: Vec::new(),
            concrete: Vec::new(),
            signatures: Vec::new(),
            places: HashMap::new(),
            assets: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// No objects, but a function of the program as one of TensorFlow; gives its name.
    pub(super) fn of_function(program: &'p Program, number: usize, in_parts: bool) -> Result<(Objects<'p>, String)> {
        let mut made = Objects::none(program);
        made.exporter.in_parts = in_parts;
        let function = program.at(number)?;
        let order: Vec<usize> = (0..function.inputs().len()).collect();
        let outputs: Vec<(String, usize)> = (0..function.outputs().len()).map(|i| (format!("output_{i}"), i)).collect();
        let (name, _) = made.define(&function, &order, &outputs)?;
        Ok((made, name))
    }

    /// The objects of a program; of one without a text of objects, its signatures alone.
    pub(super) fn of(program: &'p Program) -> Result<Objects<'p>> {
        let described: Json = match program.text("objects") {
            Some(text) => {
                serde_json::from_str(text).map_err(|e| Error::invalid(format!("the text of objects: {e}")))?
            }
            None => json!({"nodes": [{"kind": "object", "children": []}], "signatures": {}}),
        };
        let nodes = items(&described["nodes"]);
        let mut made = Objects::none(program);
        for (number, node) in nodes.iter().enumerate() {
            match text(&node["kind"]) {
                "variable" => drop(made.places.insert(index(&node["variable"])?, number)),
                "table" if node["variable"].is_u64() => drop(made.places.insert(index(&node["variable"])?, number)),
                "asset" => {
                    let (variable, path) = (index(&node["variable"])?, text(&node["path"]));
                    made.places.insert(variable, number);
                    made.assets.push((variable, path.rsplit('/').next().unwrap_or(path).to_owned()));
                }
                _ => {}
            }
        }
        for node in nodes {
            let object = made.object(node)?;
            made.objects.push(object);
        }
        if made.objects.is_empty() {
            made.objects.push(Object { children: vec![], kind: user("_generic_user_object"), variable: None });
        }
        made.call(&described["signatures"])?;
        made.own_the_rest()?;
        Ok(made)
    }

    fn object(&mut self, node: &Json) -> Result<Object> {
        let numbered = |value: &Json| value.get("node").map(index).transpose();
        let (mut children, mut variable) = (Vec::new(), None);
        let kind = match text(&node["kind"]) {
            "variable" => {
                let number = index(&node["variable"])?;
                variable = Some(number);
                (7, self.variable(number)?)
            }
            "asset" => {
                let number = index(&node["variable"])?;
                let place = self.assets.iter().position(|(v, _)| *v == number).unwrap_or(0);
                let mut out = Vec::new();
                put_number(&mut out, 1, place as u64);
                (5, out)
            }
            "function" => self.function(node)?,
            "concrete" => self.bare(node)?,
            kind @ ("list" | "tuple") => {
                let parts = items(&node["items"]);
                for (i, item) in parts.iter().enumerate() {
                    children.extend(numbered(item)?.map(|id| (i.to_string(), id)));
                }
                match (kind, children.len() == parts.len()) {
                    ("list", true) => user("trackable_list_wrapper"),
                    ("tuple", true) => user("trackable_tuple_wrapper"),
                    _ => user("_generic_user_object"),
                }
            }
            "dict" => {
                let parts = items(&node["items"]);
                for part in parts {
                    if let [Json::String(key), value] = items(part) {
                        children.extend(numbered(value)?.map(|id| (key.clone(), id)));
                    }
                }
                user(if children.len() == parts.len() { "trackable_dict_wrapper" } else { "_generic_user_object" })
            }
            // One of numbers has another table within, if any.
            "table" if node["variable"].is_null() => {
                if node["table"].is_u64() {
                    children.push(("table".to_owned(), index(&node["table"])?));
                }
                user("_generic_user_object")
            }
            "table" => {
                let fixed = text(&node["type"]) == "StaticHashTable";
                let unused = node["unused"].as_u64().map(|_| index(&node["unused"])).transpose()?;
                self.table(index(&node["variable"])?, fixed, unused)?
            }
            _ => {
                for child in items(&node["children"]) {
                    if let [name, id] = items(child) {
                        children.push((text(name).to_owned(), index(id)?));
                    }
                }
                user("_generic_user_object")
            }
        };
        Ok(Object { children, kind, variable })
    }

    /// A table, whose functions follow when all objects have their numbers.
    fn table(&mut self, number: usize, fixed: bool, unused: Option<usize>) -> Result<(u64, Vec<u8>)> {
        let made = self.noted("a table", |this| Held::of(this.program, number, fixed, unused))?;
        Ok(match made {
            Some(mut table) => {
                table.functions =
                    ["create", "fill", "destroy"].map(|what| self.exporter.name(&format!("{what}_table")));
                self.exporter.functions.extend(table.definitions());
                self.tables.push(table);
                (10, Vec::new())
            }
            None => user("_generic_user_object"),
        })
    }

    /// Objects for the functions of tables.
    fn own_functions_of_tables(&mut self) -> Result<()> {
        let none = json!({"tuple": [{"tuple": []}, {"dict": []}]});
        for i in 0..self.tables.len() {
            let number = self.tables[i].number;
            let place = self.places[&number];
            let names = self.tables[i].functions.clone();
            let kinds = [("_create_resource", "resource"), ("_initialize", "int32"), ("_destroy_resource", "int32")];
            for (name, (child, result)) in names.into_iter().zip(kinds) {
                let captures = if child == "_initialize" { vec![number] } else { vec![] };
                let mut message = self.bound(&captures);
                put_nest(&mut message, 3, &none)?;
                put_nest(&mut message, 4, &json!({"tensor": [result, [], "unknown"]}))?;
                let mut out = Vec::new();
                put_text(&mut out, 1, &name);
                let mut failed = Ok(());
                put_message(&mut out, 2, |out| failed = specification(out, &[], &Json::Null));
                failed?;
                self.concrete.push(Concrete { name, captures, message });
                let function = self.objects.len();
                self.objects.push(Object { children: vec![], kind: (6, out), variable: None });
                self.objects[place].children.push((child.to_owned(), function));
            }
        }
        Ok(())
    }

    fn variable(&mut self, number: usize) -> Result<Vec<u8>> {
        let found = self.program.variables().get(number).ok_or_else(|| Error::invalid("there is no such variable"))?;
        let ty = found.variable.ty();
        if matches!(ty.dtype(), DType::Variant | DType::Resource) {
            self.exporter.refuse(format!("the variable '{}' is {ty}", found.variable.name()), Loc::UNKNOWN);
        }
        let mut out = Vec::new();
        put_number(&mut out, 1, dtype_number(ty.dtype()));
        put_shape(&mut out, 2, ty.shape());
        put_number(&mut out, 3, u64::from(found.trainable));
        put_text(&mut out, 6, found.variable.name());
        Ok(out)
    }

    // --- functions ---

    fn function(&mut self, node: &Json) -> Result<(u64, Vec<u8>)> {
        let mut out = Vec::new();
        for trace in items(&node["traces"]) {
            if let Some(number) = self.noted(text(&node["name"]), |this| this.trace(node, trace))? {
                put_text(&mut out, 1, &self.concrete[number].name);
            }
        }
        let parameters = items(&node["parameters"]);
        let mut failed = Ok(());
        put_message(&mut out, 2, |out| failed = specification(out, parameters, &node["signature"]));
        failed?;
        Ok((6, out))
    }

    /// A trace that an object owns.
    fn bare(&mut self, node: &Json) -> Result<(u64, Vec<u8>)> {
        let mut out = Vec::new();
        let Some(trace) = items(&node["traces"]).first() else { return Ok(user("_generic_user_object")) };
        let Some(number) = self.noted(text(&node["name"]), |this| this.trace(node, trace))? else {
            return Ok(user("_generic_user_object"));
        };
        put_text(&mut out, 1, &self.concrete[number].name);
        let function = self.program.at(index(&trace["function"])?)?;
        let count = function.inputs().len();
        for (name, _) in function.inputs() {
            put_text(&mut out, 2, name);
        }
        put_number(&mut out, 3, count as u64);
        Ok((8, out))
    }

    /// What `write` makes; what it cannot is noted.
    fn noted<T>(&mut self, name: &str, write: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        match write(self) {
            Ok(made) => Ok(Some(made)),
            Err(error) if error.class() == penstock_data::Class::Unimplemented => {
                self.exporter.refuse(format!("'{name}' {}", error.message()), Loc::UNKNOWN);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn trace(&mut self, node: &Json, trace: &Json) -> Result<usize> {
        let function = self.program.at(index(&trace["function"])?)?;
        let (args, kwargs) = (&trace["args"], items(&trace["kwargs"]));
        let mut found = Vec::new();
        items(args).iter().try_for_each(|item| leaves(item, &mut found))?;
        // TensorFlow has arguments by name in the order of their names, the engine in that of the parameters.
        let mut next = 0;
        let front = items(args).iter().map(|item| order(item, &mut next)).collect::<Result<Vec<_>>>()?;
        let mut named: Vec<(&str, &Json, Vec<usize>)> = Vec::new();
        for pair in kwargs {
            let [name, value] = items(pair) else { return Err(Error::invalid("an argument lacks its name")) };
            leaves(value, &mut found)?;
            named.push((text(name), value, order(value, &mut next)?));
        }
        let fixed = items(&node["parameters"]).iter().filter(|p| p[1].as_u64().is_some_and(|kind| kind < 2)).count();
        let by_name =
            items(&node["parameters"]).iter().filter(|p| named.iter().any(|(n, ..)| *n == text(&p[0]))).count();
        if items(args).len() > fixed && by_name > 0 {
            return Err(Error::unimplemented("takes any number of arguments besides ones by name"));
        }
        named.sort_by_key(|(name, ..)| *name);
        let inputs: Vec<usize> =
            front.into_iter().chain(named.iter().map(|(_, _, places)| places.clone())).flatten().collect();
        let mut results = Vec::new();
        leaves(&trace["result"], &mut results)?;
        let places = order(&trace["result"], &mut 0)?;
        if results.len() != function.outputs().len() || inputs.len() != function.inputs().len() {
            return Err(Error::unimplemented("takes or gives other tensors than it says"));
        }
        let outputs: Vec<(String, usize)> =
            places.into_iter().enumerate().map(|(n, i)| (format!("output_{n}"), i)).collect();
        let (name, captures) = self.define(&function, &inputs, &outputs)?;
        let mut message = self.bound(&captures);
        let by_name: Vec<Json> = named.iter().map(|(name, value, ..)| json!([name, value])).collect();
        put_nest(&mut message, 3, &json!({"tuple": [{"tuple": args}, {"dict": by_name}]}))?;
        put_nest(&mut message, 4, &trace["result"])?;
        self.concrete.push(Concrete { name, captures, message });
        Ok(self.concrete.len() - 1)
    }

    /// Writes a function of the program, with its arguments in an order; gives its name and the variables behind them.
    fn define(
        &mut self,
        function: &ProgramFunction,
        order: &[usize],
        outputs: &[(String, usize)],
    ) -> Result<(String, Vec<usize>)> {
        let inputs: Vec<(&str, DType)> = function.inputs().map(|(name, ty)| (name, ty.dtype())).collect();
        let mut args: Vec<(String, DType)> = Vec::new();
        let mut items = vec![Item::Refused; inputs.len()];
        for &i in order {
            let (name, dtype) = inputs[i];
            let name = argument(name, &args);
            args.push((name.clone(), dtype));
            items[i] = Item::Edge(Edge { text: name, dtype });
        }
        let mut captures = Vec::new();
        for capture in function.captures() {
            match capture {
                Capture::Constant(value) => items.push(Item::Constant(value.clone())),
                Capture::Variable(number) => {
                    let held = self.program.variables()[*number].variable.ty().dtype();
                    let path = self.assets.iter().any(|(v, _)| v == number);
                    let dtype = if path { DType::Str } else { DType::Resource };
                    let name = argument(if path { "asset" } else { "variable" }, &args);
                    args.push((name.clone(), dtype));
                    captures.push(*number);
                    let edge = Edge { text: name, dtype };
                    items.push(if path { Item::Path(edge) } else { Item::Variable(edge, held) });
                }
            }
        }
        let graph = function.function().graph().ok_or_else(|| Error::precondition("the function has no graph"))?;
        let name = self.exporter.define(function.name(), graph, args, &items, outputs)?;
        Ok((name, captures))
    }

    /// The message of a function so far: the objects behind its arguments.
    fn bound(&mut self, captures: &[usize]) -> Vec<u8> {
        let mut packed = Vec::new();
        for &number in captures {
            let place = self.place(number);
            put_varint(&mut packed, place as u64);
        }
        let mut out = Vec::new();
        if !packed.is_empty() {
            put_bytes(&mut out, 2, &packed);
        }
        out
    }

    /// The object that a variable is; one is kept for a variable that no object owns.
    fn place(&mut self, number: usize) -> usize {
        // Their numbers begin behind those of all objects, which are known when they are all made.
        let next = HIDDEN + number;
        *self.places.entry(number).or_insert(next)
    }

    /// Objects for variables that only functions use, which the root owns.
    fn own_the_rest(&mut self) -> Result<()> {
        let mut hidden: Vec<usize> =
            self.places.iter().filter(|(_, place)| **place >= HIDDEN).map(|(n, _)| *n).collect();
        hidden.sort_unstable();
        for number in hidden {
            let is_table = self.program.variables()[number].variable.ty().dtype() == DType::Resource;
            let (kind, variable) = match is_table {
                true => (self.table(number, false, None)?, None),
                false => ((7, self.variable(number)?), Some(number)),
            };
            let place = self.objects.len();
            self.objects.push(Object { children: vec![], kind, variable });
            self.objects[0].children.push((format!("_captured_{number}"), place));
            self.places.insert(number, place);
        }
        self.own_functions_of_tables()?;
        // Now that they are known.
        for i in 0..self.concrete.len() {
            let captures = self.concrete[i].captures.clone();
            if captures.iter().any(|number| !self.assets.iter().any(|(v, _)| v == number)) {
                let mut message = self.bound(&captures);
                let rest = behind_bound(&self.concrete[i].message);
                message.extend_from_slice(rest);
                self.concrete[i].message = message;
            }
        }
        Ok(())
    }

    fn call(&mut self, signatures: &Json) -> Result<()> {
        let map = self.objects.len();
        self.objects.push(Object { children: vec![], kind: user("signature_map"), variable: None });
        let described = signatures.as_object();
        let mut named: Vec<(String, ProgramFunction)> = Vec::new();
        for key in self.program.signatures() {
            named.push((key.to_owned(), self.program.function(key)?));
        }
        // Of a program without objects the only function is what is called, whatever it is named.
        if named.len() < 2 && self.program.text("objects").is_none() {
            named = vec![("serving_default".to_owned(), self.program.default_function()?)];
        }
        for (key, function) in named {
            let spec = described.and_then(|map| map.get(&key));
            self.noted(&key, |this| this.signature(&key, &function, spec, map))?;
        }
        self.objects[0].children.push(("signatures".to_owned(), map));
        Ok(())
    }

    fn signature(&mut self, key: &str, function: &ProgramFunction, spec: Option<&Json>, map: usize) -> Result<()> {
        let ports = |field: &str, found: Vec<(String, Leaf)>| -> Result<Vec<(String, Leaf, usize)>> {
            let given = spec.map(|spec| items(&spec[field])).unwrap_or_default();
            let mut out = Vec::new();
            for (i, (name, leaf)) in found.into_iter().enumerate() {
                match given.get(i).map(items) {
                    Some([name, spec]) => out.push((text(name).to_owned(), Leaf::of(spec)?, i)),
                    _ => out.push((name, leaf, i)),
                }
            }
            out.sort_by(|a, b| a.0.cmp(&b.0));
            for (name, leaf, _) in &mut out {
                leaf.name.clone_from(name);
            }
            Ok(out)
        };
        let leaf = |(name, ty): (&str, &penstock_ir::Type)| {
            let leaf = Leaf { name: name.to_owned(), dtype: ty.dtype(), shape: ty.shape().erased() };
            (name.to_owned(), leaf)
        };
        let inputs = ports("inputs", function.inputs().map(leaf).collect())?;
        let outputs = ports("outputs", function.outputs().map(leaf).collect())?;
        let order: Vec<usize> = inputs.iter().map(|(_, _, i)| *i).collect();
        let results: Vec<(String, usize)> =
            outputs.iter().enumerate().map(|(n, (_, _, i))| (format!("output_{n}"), *i)).collect();
        let (name, captures) = self.define(function, &order, &results)?;
        let nest = |ports: &[(String, Leaf, usize)]| -> Vec<Json> {
            let dims = |leaf: &Leaf| match leaf.shape.dims() {
                None => Json::Null,
                Some(dims) => dims.iter().map(|d| d.known().map_or(Json::Null, Json::from)).collect(),
            };
            let spec = |leaf: &Leaf| json!({"tensor": [leaf.dtype.tf_name(), dims(leaf), leaf.name]});
            ports.iter().map(|(name, leaf, _)| json!([name, spec(leaf)])).collect()
        };
        let mut message = self.bound(&captures);
        put_nest(&mut message, 3, &json!({"tuple": [{"tuple": []}, {"dict": nest(&inputs)}]}))?;
        put_nest(&mut message, 4, &json!({"dict": nest(&outputs)}))?;
        let mut bare = Vec::new();
        put_text(&mut bare, 1, &name);
        inputs.iter().for_each(|(name, ..)| put_text(&mut bare, 2, name));
        self.concrete.push(Concrete { name, captures, message });
        let place = self.objects.len();
        self.objects.push(Object { children: vec![], kind: (8, bare), variable: None });
        self.objects[map].children.push((key.to_owned(), place));
        let leaves = |ports: Vec<(String, Leaf, usize)>| ports.into_iter().map(|(_, leaf, _)| leaf).collect();
        self.signatures.push(Called {
            key: key.to_owned(),
            function: self.concrete.len() - 1,
            inputs: leaves(inputs),
            outputs: leaves(outputs),
        });
        Ok(())
    }

    // --- messages ---

    /// Writes the graph of objects.
    pub(super) fn put(&self, out: &mut Vec<u8>, field: u64) {
        put_message(out, field, |out| {
            for object in &self.objects {
                put_message(out, 1, |out| {
                    for (name, child) in &object.children {
                        put_message(out, 1, |out| {
                            put_number(out, 1, *child as u64);
                            put_text(out, 2, name);
                        });
                    }
                    put_bytes(out, object.kind.0, &object.kind.1);
                });
            }
            for concrete in &self.concrete {
                put_message(out, 2, |out| {
                    put_text(out, 1, &concrete.name);
                    put_bytes(out, 2, &concrete.message);
                });
            }
        });
    }

    /// The keys of variables in the checkpoint, and its graph of objects.
    pub(super) fn checkpoint(&self) -> (Vec<(usize, String)>, ObjectGraph) {
        let mut paths: Vec<Option<String>> = vec![None; self.objects.len()];
        let mut due = vec![0];
        paths[0] = Some(String::new());
        let mut at = 0;
        while let Some(&id) = due.get(at) {
            at += 1;
            for (name, child) in &self.objects[id].children {
                if paths[*child].is_none() {
                    let above = paths[id].as_deref().unwrap_or_default();
                    let name = name.replace('.', "..").replace('/', ".S");
                    paths[*child] = Some(if above.is_empty() { name } else { format!("{above}/{name}") });
                    due.push(*child);
                }
            }
        }
        let (mut keys, mut graph) = (Vec::new(), ObjectGraph::default());
        for (object, path) in self.objects.iter().zip(&paths) {
            let mut node = Node::default();
            node.children.extend(object.children.iter().map(|(name, id)| (*id as u64, name.clone())));
            if let (Some(number), Some(path)) = (object.variable, path) {
                let key = format!("{path}/.ATTRIBUTES/VARIABLE_VALUE");
                let full = self.program.variables()[number].variable.name().to_owned();
                node.attributes.push(Attribute {
                    name: "VARIABLE_VALUE".to_owned(),
                    full_name: full,
                    key: key.clone(),
                });
                keys.push((number, key));
            }
            graph.nodes.push(node);
        }
        (keys, graph)
    }
}

/// Objects that there are not yet have numbers from here on.
const HIDDEN: usize = 1 << 40;

/// A function's message behind the objects that it is bound to.
fn behind_bound(message: &[u8]) -> &[u8] {
    let mut rest = message;
    let Some(tag) = penstock_wire::take_varint(&mut rest) else { return message };
    if tag != 2 << 3 | 2 {
        return message;
    }
    let Some(length) = penstock_wire::take_varint(&mut rest) else { return message };
    rest.get(usize::try_from(length).unwrap_or(usize::MAX)..).unwrap_or_default()
}

/// The parameters of a Python function.
fn specification(out: &mut Vec<u8>, parameters: &[Json], signature: &Json) -> Result<()> {
    let of_kind = |low: u64, high: u64| {
        parameters.iter().filter(move |p| p[1].as_u64().is_some_and(|kind| (low..=high).contains(&kind)))
    };
    let names = |low, high| -> Vec<Json> { of_kind(low, high).map(|p| p[0].clone()).collect() };
    let rest = |kind| of_kind(kind, kind).next().map_or(Json::Null, |p| p[0].clone());
    let defaults: Vec<Json> = of_kind(0, 1).filter_map(|p| p.get(2).cloned()).collect();
    let defaults = if defaults.is_empty() { Json::Null } else { json!({"tuple": defaults}) };
    let by_name: Vec<Json> = of_kind(3, 3).filter_map(|p| Some(json!([p[0], p.get(2)?]))).collect();
    let by_name = if by_name.is_empty() { Json::Null } else { json!({"dict": by_name}) };
    let full = json!({"named": ["FullArgSpec", [
        ["args", {"list": names(0, 1)}], ["varargs", rest(2)], ["varkw", rest(4)], ["defaults", defaults],
        ["kwonlyargs", {"list": names(3, 3)}], ["kwonlydefaults", by_name], ["annotations", {"dict": []}],
    ]]});
    put_nest(out, 1, &full)?;
    let signature = match signature.get("list") {
        Some(specs) => json!({"tuple": specs}),
        None => Json::Null,
    };
    put_nest(out, 5, &signature)
}
