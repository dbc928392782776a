//! From TensorFlow's functions to graphs: nodes in the order of what they need, each by its entry of the table. Functions that
//! are called are copied in, so that types and constants reach into them.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::rc::Rc;

use penstock_data::{Class, DType, Error, Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Builder, Function, OpDef, OpSet, Region, Type, Value};
use penstock_ops::Ops;

use super::proto::{Constant, FunctionDef, Node, dtype};
use super::table;
use super::tables::{Recording, TableType};
use crate::damaged;

/// Calls nest at most so deep.
const DEEPEST: usize = 64;
/// A program has at most so many instructions: calls are copied in, so that a short file could stand for very many.
const MOST_INSTRUCTIONS: usize = 2_000_000;
/// A constant is computed from at most so many instructions.
const MOST_FOLDED: usize = 64;

/// A value of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Val {
    /// A tensor, or a list of tensors.
    Tensor(Value),
    /// An object that functions share, by its number.
    Resource(usize),
}

/// The functions of a file.
pub(super) struct Library<'a> {
    bytes: BTreeMap<&'a str, &'a [u8]>,
    read: RefCell<HashMap<&'a str, Rc<FunctionDef<'a>>>>,
    instructions: Cell<usize>,
    /// Whether functions may read and write files.
    files: bool,
    /// Gradients that nodes have of their own, by name.
    pub(super) gradients: HashMap<&'a str, Gradient<'a>>,
}

/// A gradient that a node has of its own: a function of the cotangents of its outputs.
pub(super) struct Gradient<'a> {
    pub(super) function: &'a str,
    /// What it takes besides.
    pub(super) extras: Vec<Extra<'a>>,
    /// For each input of the node the output of the function that is its cotangent, or -1.
    pub(super) places: Vec<i64>,
}

/// What a gradient takes besides cotangents.
pub(super) enum Extra<'a> {
    Resource(usize),
    Constant(Tensor),
    /// A value of the function that the node is in, by its name.
    Value(&'a str),
}

impl<'a> Library<'a> {
    pub(super) fn new(bytes: BTreeMap<&'a str, &'a [u8]>, files: bool) -> Library<'a> {
        let gradients = HashMap::new();
        Library { bytes, read: RefCell::default(), instructions: Cell::new(0), files, gradients }
    }

    /// The function of a name.
    ///
    /// # Errors
    /// `InvalidArgument` where there is none, or it is damaged.
    pub(super) fn function(&self, name: &str) -> Result<Rc<FunctionDef<'a>>> {
        if let Some(found) = self.read.borrow().get(name) {
            return Ok(found.clone());
        }
        let (&key, bytes) = self
            .bytes
            .get_key_value(name)
            .ok_or_else(|| damaged(super::proto::SECTION, format_args!("there is no function '{name}'")))?;
        let parsed = Rc::new(FunctionDef::parse(bytes)?);
        self.read.borrow_mut().insert(key, parsed.clone());
        Ok(parsed)
    }

    /// Counts an instruction that is made.
    fn count(&self) -> Result<()> {
        self.instructions.set(self.instructions.get() + 1);
        match self.instructions.get() > MOST_INSTRUCTIONS {
            true => Err(Error::exhausted(format!("its functions are more than {MOST_INSTRUCTIONS} instructions"))),
            false => Ok(()),
        }
    }

    /// As [`Library::missing`], of a function.
    pub(super) fn missing_of(&self, name: &str) -> Result<BTreeMap<String, usize>> {
        let function = self.function(name)?;
        let nodes: Vec<Node<'a>> = live(&function)?.into_iter().map(|i| function.nodes[i]).collect();
        self.missing(&nodes)
    }

    /// The operators that nodes and all that they call need and that have no entry, with how many nodes need each.
    ///
    /// # Errors
    /// As [`Library::function`].
    pub(super) fn missing(&self, nodes: &[Node<'a>]) -> Result<BTreeMap<String, usize>> {
        let (mut found, mut seen) = (BTreeMap::new(), BTreeSet::new());
        let mut due: Vec<Rc<FunctionDef<'a>>> = Vec::new();
        let mut look = |nodes: &[Node<'a>], due: &mut Vec<Rc<FunctionDef<'a>>>| -> Result<()> {
            for node in nodes {
                match table::find(node.op) {
                    None => *found.entry(node.op.to_owned()).or_insert(0) += 1,
                    Some(_) => {
                        for callee in callees(node)? {
                            if seen.insert(callee) {
                                due.push(self.function(callee)?);
                            }
                        }
                    }
                }
            }
            Ok(())
        };
        look(nodes, &mut due)?;
        while let Some(function) = due.pop() {
            let live = live(&function)?;
            let nodes: Vec<Node<'a>> = live.into_iter().map(|i| function.nodes[i]).collect();
            look(&nodes, &mut due)?;
        }
        Ok(found)
    }
}

/// The functions that a node calls.
fn callees<'a>(node: &Node<'a>) -> Result<Vec<&'a str>> {
    let mut out = Vec::new();
    for name in table::callees(node.op) {
        match node.attr(name)? {
            Some(attr) if *name == "branches" => out.extend(attr.functions()?),
            Some(attr) => out.push(attr.function()?),
            None => {}
        }
    }
    Ok(out)
}

/// The node that a name of an input is of, the name of its output, and the place there.
fn reference(input: &str) -> (&str, Option<&str>, usize) {
    let mut parts = input.split(':');
    let node = parts.next().unwrap_or("");
    match (parts.next(), parts.next()) {
        (Some(output), Some(index)) => (node, Some(output), index.parse().unwrap_or(usize::MAX)),
        (Some(index), None) => (node, None, index.parse().unwrap_or(usize::MAX)),
        _ => (node, None, 0),
    }
}

/// The numbers of the nodes that the results and effects of a function need, each behind those that it needs itself.
pub(super) fn live(function: &FunctionDef<'_>) -> Result<Vec<usize>> {
    let roots = function.returned.values().chain(&function.kept).copied();
    order(&function.nodes, roots, &|name| function.args.iter().any(|(arg, _)| *arg == name))
}

/// The numbers of the nodes that `roots` need, each behind those that it needs itself, else as they stand.
pub(super) fn order<'n>(
    nodes: &[Node<'_>],
    roots: impl Iterator<Item = &'n str>,
    is_given: &dyn Fn(&str) -> bool,
) -> Result<Vec<usize>> {
    let numbers: HashMap<&str, usize> = nodes.iter().enumerate().map(|(i, node)| (node.name, i)).collect();
    let number = |input: &str| -> Result<Option<usize>> {
        let name = reference(input.trim_start_matches('^')).0;
        match numbers.get(name) {
            _ if is_given(name) => Ok(None),
            Some(&i) => Ok(Some(i)),
            None => Err(damaged(super::proto::SECTION, format_args!("there is no node '{name}'"))),
        }
    };
    let mut needs: HashMap<usize, BTreeSet<usize>> = HashMap::new();
    let mut due: Vec<usize> = Vec::new();
    for root in roots {
        due.extend(number(root)?);
    }
    while let Some(i) = due.pop() {
        if needs.contains_key(&i) {
            continue;
        }
        let mut needed = BTreeSet::new();
        for input in nodes[i].inputs()? {
            needed.extend(number(input)?);
        }
        due.extend(&needed);
        needs.insert(i, needed);
    }
    let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut left: HashMap<usize, usize> = HashMap::new();
    let mut ready = BinaryHeap::new();
    for (&i, needed) in &needs {
        left.insert(i, needed.len());
        for &n in needed {
            users.entry(n).or_default().push(i);
        }
        if needed.is_empty() {
            ready.push(Reverse(i));
        }
    }
    let mut out = Vec::new();
    while let Some(Reverse(i)) = ready.pop() {
        out.push(i);
        for &user in users.get(&i).into_iter().flatten() {
            let count = left.get_mut(&user).ok_or_else(|| Error::internal("a node without a count"))?;
            *count -= 1;
            if *count == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    match out.len() == needs.len() {
        true => Ok(out),
        false => {
            let stuck: BTreeSet<&str> = needs.keys().filter(|i| !out.contains(i)).map(|&i| nodes[i].op).collect();
            let stuck: Vec<&str> = stuck.into_iter().collect();
            Err(Error::unimplemented(format!(
                "a graph with a cycle, as loops of TensorFlow 1 are, of the operators {}",
                stuck.join(", ")
            )))
        }
    }
}

/// What an object that functions share is for a graph.
#[derive(Clone, Debug)]
pub(super) enum Resource {
    /// A variable, by its number in the program.
    Variable(usize, Type),
    /// A table, by the number of the variable that holds it.
    Table(usize, TableType),
    /// One that functions here do not have: the error of taking it.
    Unknown(Error),
}

impl Resource {
    /// One that could not be made: what was missing is missing still, and all else is not supported.
    pub(super) fn absent(what: &str, error: &Error) -> Resource {
        let class = if error.class() == Class::NotFound { Class::NotFound } else { Class::Unimplemented };
        Resource::Unknown(Error::new(class, format!("takes {what} that is not here: {error}")))
    }

    /// The number of its variable.
    pub(super) fn number(&self) -> Option<usize> {
        match self {
            Resource::Variable(number, _) | Resource::Table(number, _) => Some(*number),
            Resource::Unknown(_) => None,
        }
    }
}

/// A graph that is made of nodes.
pub(super) struct Lowering<'x, 'a> {
    pub(super) builder: Builder,
    pub(super) library: &'x Library<'a>,
    /// The objects that functions share, by number.
    pub(super) resources: &'x [Resource],
    /// The inputs that are such objects, in their order.
    pub(super) captured: Vec<(usize, Value)>,
    /// Where tables are made and filled, of functions that are read for this alone.
    pub(super) tables: Option<Recording>,
    depth: usize,
}

impl<'x, 'a> Lowering<'x, 'a> {
    pub(super) fn new(library: &'x Library<'a>, resources: &'x [Resource]) -> Lowering<'x, 'a> {
        let builder = Builder::new(&penstock_ops::control::CONST);
        Lowering { builder, library, resources, captured: Vec::new(), tables: None, depth: 0 }
    }

    /// The results of a function.
    ///
    /// # Errors
    /// `Unimplemented` for what cannot be expressed here; `InvalidArgument` for a function that is damaged.
    pub(super) fn call(&mut self, name: &str, args: &[Val]) -> Result<Vec<Val>> {
        let function = self.library.function(name)?;
        if args.len() != function.args.len() {
            let text = format!("'{}' takes {} values, got {}", function.name, function.args.len(), args.len());
            return Err(damaged(super::proto::SECTION, text));
        }
        if self.depth >= DEEPEST {
            return Err(Error::unimplemented(format!("calls that nest more than {DEEPEST} deep, or recursion")));
        }
        penstock_ir::stack::check(0)?;
        let given: HashMap<&str, Vec<Val>> =
            function.args.iter().zip(args).map(|((name, _), &val)| (*name, vec![val])).collect();
        self.depth += 1;
        let nodes: Vec<Node<'a>> = live(&function)?.into_iter().map(|i| function.nodes[i]).collect();
        let values = self.nodes(&nodes, given);
        self.depth -= 1;
        let values = values?;
        let results = function.outputs.iter().map(|output| {
            let source = function.returned.get(output);
            let source = source.ok_or_else(|| damaged(super::proto::SECTION, "a function gives no value"))?;
            resolve(&values, &function.nodes, source)
        });
        results.collect()
    }

    /// The values of nodes, which are in the order of what they need.
    pub(super) fn nodes<'n>(
        &mut self,
        nodes: &[Node<'n>],
        given: HashMap<&'n str, Vec<Val>>,
    ) -> Result<HashMap<&'n str, Vec<Val>>>
    where
        'a: 'n,
    {
        let mut values = given;
        for node in nodes {
            if values.contains_key(node.name) {
                continue;
            }
            let named = |error: Error| {
                Error::new(error.class(), format!("node '{}' of the operator {}: {error}", node.name, node.op))
            };
            let inputs = node.inputs()?;
            let inputs: Vec<Val> = inputs
                .iter()
                .filter(|input| !input.starts_with('^'))
                .map(|input| resolve(&values, nodes, input))
                .collect::<Result<_>>()
                .map_err(named)?;
            let entry = table::find(node.op);
            let entry = entry.ok_or_else(|| Error::unimplemented(format!("the operator {}", node.op)))?;
            let mut cx = Cx { lowering: self, node: *node, inputs };
            let made = (entry.lower)(&mut cx, entry).map_err(named)?;
            let made = self.ranked(node, made).map_err(named)?;
            let made = match node.attr("_gradient_op_type").map_err(named)? {
                Some(attr) => self.with_gradient(attr.str()?, made, &values).map_err(named)?,
                None => made,
            };
            values.insert(node.name, made);
        }
        Ok(values)
    }

    /// The values of a node: where the rank of one is not known, but was when the node was made, that is checked when it runs.
    fn ranked(&mut self, node: &Node<'_>, mut made: Vec<Val>) -> Result<Vec<Val>> {
        let unknown = |builder: &Builder, val: &Val| match val {
            Val::Tensor(v) => {
                let ty = builder.graph().ty(*v);
                ty.shape().rank().is_none() && ty.dtype() != DType::Variant
            }
            Val::Resource(_) => false,
        };
        if made.iter().any(|val| unknown(&self.builder, val))
            && let Some(shapes) = node.attr("_output_shapes")?
        {
            for (val, shape) in made.iter_mut().zip(shapes.shapes()?) {
                if let Val::Tensor(v) = *val
                    && unknown(&self.builder, val)
                    && shape.rank().is_some()
                {
                    *val = Val::Tensor(self.emit("ensure_shape", &[v], &[("shape", shape.into())])?[0]);
                }
            }
        }
        Ok(made)
    }

    /// The values of a node with a gradient of its own. Where that is not saved, to differentiate them is an error.
    fn with_gradient(&mut self, name: &str, made: Vec<Val>, values: &HashMap<&str, Vec<Val>>) -> Result<Vec<Val>> {
        let library = self.library;
        let tensors: Vec<Value> = made
            .iter()
            .filter_map(|val| match val {
                Val::Tensor(v) => Some(*v),
                Val::Resource(_) => None,
            })
            .collect();
        let gradient = library.gradients.get(name).filter(|g| g.places.len() == made.len());
        let mut inner = Lowering::new(library, self.resources);
        inner.depth = self.depth + 1;
        let ty = |lowering: &Self, v: Value| {
            let ty = lowering.builder.graph().ty(v);
            ty.with_shape(ty.shape().erased())
        };
        let differentiable = |lowering: &Self, v: &Value| lowering.builder.graph().ty(*v).dtype().is_differentiable();
        let flowing: Vec<Value> = tensors.iter().copied().filter(|v| differentiable(self, v)).collect();
        let cotangents: Vec<Value> = flowing.iter().map(|&v| inner.builder.input(ty(self, v), None)).collect();
        let (mut rest, places, outputs): (Vec<Value>, Vec<i64>, Vec<Value>);
        rest = Vec::new();
        match gradient.filter(|_| tensors.len() == made.len()) {
            Some(gradient) => {
                let (mut args, mut next) = (Vec::new(), cotangents.iter());
                for &v in &tensors {
                    args.push(Val::Tensor(match differentiable(self, &v) {
                        true => *next.next().ok_or_else(|| Error::internal("a cotangent is missing"))?,
                        false => {
                            rest.push(v);
                            let same = inner.builder.input(ty(self, v), None);
                            inner.emit("zeros_like", &[same], &[])?[0]
                        }
                    }));
                }
                for extra in &gradient.extras {
                    args.push(match extra {
                        Extra::Constant(tensor) => Val::Tensor(inner.builder.constant(tensor.clone())),
                        Extra::Resource(r) => {
                            let outer = self.variable(*r)?;
                            if !inner.captured.iter().any(|(known, _)| known == r) {
                                rest.push(outer);
                                let same = inner.builder.input(self.builder.graph().ty(outer).clone(), None);
                                inner.captured.push((*r, same));
                            }
                            Val::Resource(*r)
                        }
                        Extra::Value(name) => match resolve(values, &[], name)? {
                            Val::Resource(r) => Val::Resource(r),
                            Val::Tensor(outer) => {
                                rest.push(outer);
                                Val::Tensor(inner.builder.input(ty(self, outer), None))
                            }
                        },
                    });
                }
                let known = inner.captured.len();
                let results = inner.call(gradient.function, &args)?;
                let results = results.iter().map(|val| match val {
                    Val::Tensor(v) => Ok(*v),
                    Val::Resource(_) => Err(Error::unimplemented("a gradient that is no tensor")),
                });
                outputs = results.collect::<Result<_>>()?;
                if inner.captured.len() != known {
                    return Err(Error::unimplemented("a gradient that takes other variables"));
                }
                places = gradient.places.clone();
            }
            None => {
                let no = inner.builder.constant(Tensor::from(false));
                let message = "the model was saved without the gradient of a tf.custom_gradient";
                inner.emit("assert", &[no], &[("message", message.into())])?;
                outputs = cotangents;
                let place = |v: &Value| flowing.iter().position(|f| f == v).map_or(-1, |i| i as i64);
                places = tensors.iter().map(place).collect();
            }
        }
        let graph = inner.builder.finish(&outputs)?;
        let function = std::sync::Arc::new(Function::new(name, graph));
        let operands: Vec<Value> = tensors.iter().chain(&tensors).copied().chain(rest).collect();
        let attrs = [
            ("func", penstock_ir::FuncRef::new(function).into()),
            ("outputs", Attr::Int(tensors.len() as i64)),
            ("places", places.into()),
        ];
        let mut results = self.emit("with_gradient", &operands, &attrs)?.into_iter();
        Ok(made
            .into_iter()
            .map(|val| match val {
                Val::Tensor(v) => Val::Tensor(results.next().unwrap_or(v)),
                Val::Resource(_) => val,
            })
            .collect())
    }

    /// Adds an instruction.
    pub(super) fn emit(&mut self, op: &str, operands: &[Value], named: &[(&str, Attr)]) -> Result<Vec<Value>> {
        self.library.count()?;
        let op = find(op)?;
        let attrs = op.attributes(named)?;
        if !self.library.files && Ops.admit(op, &attrs).is_err() {
            return Err(Error::precondition(
                "reads or writes files, which only a load with allow_files=True lets it do",
            ));
        }
        let inst = self.builder.inst(op, operands, attrs, &[])?;
        Ok(self.builder.results(inst).to_vec())
    }

    /// Adds an instruction with regions.
    pub(super) fn control(&mut self, op: &str, operands: &[Value], regions: &[Region]) -> Result<Vec<Value>> {
        self.library.count()?;
        let inst = self.builder.inst(find(op)?, operands, Attrs::EMPTY, regions)?;
        Ok(self.builder.results(inst).to_vec())
    }

    /// The input that is a variable, which becomes one where it was none yet.
    pub(super) fn variable(&mut self, resource: usize) -> Result<Value> {
        if let Some((_, value)) = self.captured.iter().find(|(r, _)| *r == resource) {
            return Ok(*value);
        }
        let ty = match self.resources.get(resource) {
            Some(Resource::Variable(_, ty)) => ty.clone(),
            Some(Resource::Table(..)) => Type::Variable(DType::Resource, Shape::scalar()),
            Some(Resource::Unknown(error)) => return Err(error.clone()),
            None => return Err(Error::unimplemented("takes a table that it makes")),
        };
        let value = self.builder.input(ty, None);
        self.captured.push((resource, value));
        Ok(value)
    }

    /// What the table that an object is takes and gives.
    pub(super) fn table_type(&self, resource: usize) -> Result<TableType> {
        match self.resources.get(resource) {
            Some(Resource::Table(_, ty)) => Ok(ty.clone()),
            Some(Resource::Unknown(error)) => Err(error.clone()),
            _ => Err(Error::unimplemented("takes an object that is no table")),
        }
    }

    /// The value of what is computed from constants alone.
    ///
    /// # Errors
    /// `None` where it is not; what the instructions report.
    pub(super) fn known(&self, value: Value) -> Option<Tensor> {
        self.folded(value, &mut MOST_FOLDED.clone())
    }

    fn folded(&self, value: Value, fuel: &mut usize) -> Option<Tensor> {
        let graph = self.builder.graph();
        if let Some(tensor) = graph.constant(value) {
            return Some(tensor.clone());
        }
        *fuel = fuel.checked_sub(1)?;
        let data = graph.insts.get(graph.def_inst(value)?)?;
        if !data.op.0.is_pure() || !data.regions.is_empty() || data.attrs.0.iter().any(|a| matches!(a, Attr::Func(_))) {
            return None;
        }
        let position = data.results.iter().position(|&r| r == value)?;
        let operands = match (data.op.name, graph.ty(*data.operands.first()?)) {
            // The shape of a value is known where that is not.
            ("shape" | "size" | "rank", ty) if ty.shape().is_static() => {
                let extents = ty.shape().extents()?;
                if penstock_data::num_elements(&extents)? > MOST_FOLDED * 1024 {
                    let dims: Vec<i64> = extents.iter().map(|&d| d as i64).collect();
                    return match (data.op.name, graph.ty(value).dtype()) {
                        ("shape", DType::I64) => Some(Tensor::vector(&dims)),
                        ("shape", DType::I32) => {
                            Some(Tensor::vector(&dims.iter().map(|&d| d as i32).collect::<Vec<_>>()))
                        }
                        ("rank", _) => Some(Tensor::from(dims.len() as i32)),
                        _ => None,
                    };
                }
                vec![Tensor::zeros(ty.dtype(), &extents).ok()?]
            }
            _ => data.operands.iter().map(|&v| self.folded(v, fuel)).collect::<Option<Vec<_>>>()?,
        };
        let mut alone = Builder::new(&penstock_ops::control::CONST);
        let operands: Vec<Value> = operands.into_iter().map(|t| alone.constant(t)).collect();
        let inst = alone.inst(data.op.0, &operands, data.attrs.clone(), &[]).ok()?;
        let result = alone.results(inst)[position];
        if alone.graph().ty(result).shape().num_elements().is_none_or(|n| n > MOST_FOLDED * 1024) {
            return None;
        }
        let graph = alone.finish(&[result]).ok()?;
        let function = std::sync::Arc::new(Function::new("folded", graph));
        let made =
            penstock_exec::executable(&function, &penstock_ir::NoEnv).ok()?.run(&[], &penstock_ir::NoEnv).ok()?;
        made.into_iter().next()
    }
}

/// The operator of a name.
fn find(op: &str) -> Result<&'static OpDef> {
    Ops.find(op).ok_or_else(|| Error::unimplemented(format!("the operator {op}")))
}

/// The value that an input refers to.
fn resolve(values: &HashMap<&str, Vec<Val>>, nodes: &[Node<'_>], input: &str) -> Result<Val> {
    let (name, output, index) = reference(input);
    let lost = || damaged(super::proto::SECTION, format_args!("there is no value '{input}'"));
    let made = values.get(name).ok_or_else(lost)?;
    let first = match output {
        None => 0,
        Some(output) => nodes
            .iter()
            .find(|node| node.name == name)
            .and_then(|node| table::find(node.op))
            .map_or(0, |entry| entry.outputs.iter().position(|o| *o == output).unwrap_or(0)),
    };
    made.get(first.saturating_add(index)).copied().ok_or_else(lost)
}

/// What an entry of the table sees of a node.
pub(super) struct Cx<'y, 'x, 'a, 'n> {
    pub(super) lowering: &'y mut Lowering<'x, 'a>,
    pub(super) node: Node<'n>,
    pub(super) inputs: Vec<Val>,
}

impl Cx<'_, '_, '_, '_> {
    /// The tensor that is an input.
    pub(super) fn tensor(&self, index: usize) -> Result<Value> {
        match self.inputs.get(index) {
            Some(Val::Tensor(v)) => Ok(*v),
            Some(Val::Resource(_)) => Err(Error::unimplemented(format!("input {index} is no tensor"))),
            None => Err(damaged(super::proto::SECTION, format_args!("there is no input {index}"))),
        }
    }

    pub(super) fn tensors(&self) -> Result<Vec<Value>> {
        (0..self.inputs.len()).map(|i| self.tensor(i)).collect()
    }

    /// The object that is an input.
    pub(super) fn resource(&self, index: usize) -> Result<usize> {
        match self.inputs.get(index) {
            Some(Val::Resource(r)) => Ok(*r),
            _ => Err(Error::unimplemented(format!("input {index} is no object that functions share"))),
        }
    }

    pub(super) fn variable(&mut self, index: usize) -> Result<Value> {
        let resource = self.resource(index)?;
        self.lowering.variable(resource)
    }

    /// The variable that holds the table that is an input, and what that takes and gives.
    pub(super) fn table(&mut self, index: usize) -> Result<(Value, TableType)> {
        let resource = self.resource(index)?;
        let ty = self.lowering.table_type(resource)?;
        Ok((self.lowering.variable(resource)?, ty))
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.lowering.builder.graph().ty(value).clone()
    }

    pub(super) fn shape(&self, value: Value) -> Shape {
        self.ty(value).shape().clone()
    }

    pub(super) fn dtype_of(&self, value: Value) -> DType {
        self.ty(value).dtype()
    }

    /// The rank of a value.
    ///
    /// # Errors
    /// `Unimplemented` where it is not known.
    pub(super) fn rank(&self, value: Value) -> Result<usize> {
        self.shape(value).rank().ok_or_else(|| Error::unimplemented("the rank of its input is not known"))
    }

    /// Adds an instruction, and gives its first result.
    pub(super) fn op(&mut self, op: &str, operands: &[Value], named: &[(&str, Attr)]) -> Result<Value> {
        let made = self.lowering.emit(op, operands, named)?;
        made.first().copied().ok_or_else(|| Error::internal(format!("'{op}' gives nothing")))
    }

    pub(super) fn ops(&mut self, op: &str, operands: &[Value], named: &[(&str, Attr)]) -> Result<Vec<Value>> {
        self.lowering.emit(op, operands, named)
    }

    pub(super) fn constant(&mut self, tensor: Tensor) -> Value {
        self.lowering.builder.constant(tensor)
    }

    pub(super) fn ints(&mut self, values: &[i64]) -> Value {
        self.constant(Tensor::vector(values))
    }

    /// A scalar of a dtype.
    pub(super) fn scalar(&mut self, value: f64, dtype: DType) -> Result<Value> {
        let wide = self.constant(Tensor::from(value));
        let value = match dtype {
            DType::F64 => return Ok(wide),
            _ => self.op("cast", &[wide], &[("dtype", dtype.into())])?,
        };
        Ok(match self.lowering.known(value) {
            Some(tensor) => self.constant(tensor),
            None => value,
        })
    }

    /// The integers that an input is.
    ///
    /// # Errors
    /// `Unimplemented` where they are not constants.
    pub(super) fn const_ints(&self, index: usize) -> Result<Vec<i64>> {
        let value = self.tensor(index)?;
        let tensor = self.lowering.known(value).ok_or_else(|| {
            Error::unimplemented(format!("input {index} must be a constant, and is computed while the function runs"))
        })?;
        Ok(tensor.to_ints()?.to_vec())
    }

    pub(super) fn const_int(&self, index: usize) -> Result<i64> {
        match self.const_ints(index)?.as_slice() {
            [one] => Ok(*one),
            other => Err(damaged(super::proto::SECTION, format_args!("input {index} has {} elements", other.len()))),
        }
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        self.node.attr(name)?.map_or(Ok(default), |a| a.flag())
    }

    pub(super) fn int(&self, name: &str, default: i64) -> Result<i64> {
        self.node.attr(name)?.map_or(Ok(default), |a| a.int())
    }

    pub(super) fn float(&self, name: &str, default: f32) -> Result<f32> {
        self.node.attr(name)?.map_or(Ok(default), |a| a.float())
    }

    pub(super) fn text(&self, name: &str, default: &'static str) -> Result<&str> {
        self.node.attr(name)?.map_or(Ok(default), |a| a.str())
    }

    pub(super) fn list(&self, name: &str) -> Result<Vec<i64>> {
        self.node.attr(name)?.map_or(Ok(Vec::new()), |a| a.ints())
    }

    pub(super) fn dtype(&self, name: &str, default: DType) -> Result<DType> {
        match self.node.attr(name)? {
            Some(attr) => dtype(attr.dtype()?),
            None => Ok(default),
        }
    }

    /// The constant that is an attribute.
    pub(super) fn value(&mut self) -> Result<Value> {
        let attr = self.node.attr("value")?;
        let attr = attr.ok_or_else(|| damaged(super::proto::SECTION, "a constant has no value"))?;
        match attr.tensor()? {
            Constant::Array(tensor) => Ok(self.constant(tensor)),
            Constant::Splat(element, dims) => {
                let small = dims.iter().try_fold(1i64, |n, d| n.checked_mul(*d)).is_some_and(|n| n <= 1024);
                let dims = self.ints(&dims);
                let element = self.constant(element);
                let full = self.op("fill", &[dims, element], &[])?;
                match self.lowering.known(full).filter(|_| small) {
                    Some(tensor) => Ok(self.constant(tensor)),
                    None => Ok(full),
                }
            }
        }
    }
}
