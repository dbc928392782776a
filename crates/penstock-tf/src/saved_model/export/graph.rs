//! Functions of the engine as functions of TensorFlow. A region becomes a function that takes what it sees from outside;
//! calls stay calls, so that what several functions call is written once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use penstock_data::{DType, Error, Loc, Result, Shape, Tensor};
use penstock_ir::{Function, Graph, Inst, InstData, Region, Type, Value, effects_of_region};
use penstock_ops::node_names::{NodeNames, UniqueNames};

use super::message::{self, Def, Node};
use super::operators::{self, Kind};

/// An output of a node, or an argument of the function at hand.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) text: String,
    pub(super) dtype: DType,
}

/// What a value of the engine is there.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Edge(Edge),
    /// A constant, which is written where it is used.
    Constant(Tensor),
    /// A variable, and what it holds.
    Variable(Edge, DType),
    /// The path of a file, which is a variable here and a tensor there.
    Path(Edge),
    /// What cannot be written, for a reason that was noted.
    Refused,
}

pub(super) type Items = Result<Vec<Item>>;

/// The functions that are written.
#[derive(Default)]
pub(super) struct Exporter {
    pub(super) functions: Vec<Def>,
    names: HashSet<String>,
    called: HashMap<*const Function, (String, Vec<bool>)>,
    open: Vec<*const Function>,
    /// Whether the next function that is written is a graph, whose parts a session runs: nothing in it waits for what has an effect.
    pub(super) in_parts: bool,
    /// What cannot be written: each reason, with the places.
    pub(super) refused: BTreeMap<String, Vec<Loc>>,
}

impl Exporter {
    /// A name that no other function has.
    pub(super) fn name(&mut self, wanted: &str) -> String {
        let plain: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let front = format!("__inference_{plain}");
        let free = (0..).map(|i| format!("{front}_{i}")).find(|name| !self.names.contains(name));
        let name = free.unwrap_or(front);
        self.names.insert(name.clone());
        name
    }

    pub(super) fn refuse(&mut self, reason: String, loc: Loc) {
        let places = self.refused.entry(reason).or_default();
        if !places.contains(&loc) {
            places.push(loc);
        }
    }

    /// Writes a function whose graph takes `items`, which are arguments in the order `args`, by names that it is asked for.
    pub(super) fn define(
        &mut self,
        wanted: &str,
        graph: &Graph,
        args: Vec<(String, DType)>,
        items: &[Item],
        results: &[(String, usize)],
    ) -> Result<String> {
        let titles = Titles::of(graph);
        let mut graph = graph.clone();
        let root = graph.body();
        penstock_ir::drop_dead(&mut graph, &[root], &mut || true);
        let items = graph.inputs().iter().copied().zip(items.iter().cloned()).collect();
        let name = self.name(wanted);
        let in_parts = std::mem::take(&mut self.in_parts);
        let mut frame = Frame::new(self, &graph, &titles, items, Loc::UNKNOWN, args);
        frame.acts = effects_of_region(&graph, root).acts();
        frame.in_parts = in_parts;
        let found = frame.region(root)?;
        let picked: Vec<(String, Item)> = results.iter().map(|(name, i)| (name.clone(), found[*i].clone())).collect();
        frame.finish(&name, &picked)?;
        Ok(name)
    }

    /// The name of a function that another calls.
    fn callee(&mut self, function: &Arc<Function>, items: &[Item]) -> Result<String> {
        let place = Arc::as_ptr(function);
        if self.open.contains(&place) {
            return Err(Error::unimplemented(format!(
                "'{}' calls itself, which functions of a SavedModel cannot",
                function.name()
            )));
        }
        // A path of a file is a tensor where another call passes a variable.
        let paths: Vec<bool> = items.iter().map(|item| matches!(item, Item::Path(_))).collect();
        if let Some((name, known)) = self.called.get(&place)
            && *known == paths
        {
            return Ok(name.clone());
        }
        let graph = function.graph().ok_or_else(|| Error::precondition("the function has no graph"))?;
        let (args, items) = arguments(items, &graph.signature().params);
        let count = graph.outputs().len();
        let results: Vec<(String, usize)> = (0..count).map(|i| (format!("result_{i}"), i)).collect();
        self.open.push(place);
        let name = self.define(function.name(), graph, args, &items, &results);
        self.open.pop();
        let name = name?;
        self.called.insert(place, (name.clone(), paths));
        Ok(name)
    }
}

/// The arguments of a function for operands, and what they are inside.
fn arguments(items: &[Item], types: &[Type]) -> (Vec<(String, DType)>, Vec<Item>) {
    let (mut args, mut inside) = (Vec::new(), Vec::new());
    for (i, (item, ty)) in items.iter().zip(types).enumerate() {
        let name = format!("arg_{i}");
        let edge = |dtype| Edge { text: name.clone(), dtype };
        let (dtype, item) = match item {
            Item::Variable(_, held) => (DType::Resource, Item::Variable(edge(DType::Resource), *held)),
            Item::Path(_) => (DType::Str, Item::Path(edge(DType::Str))),
            Item::Refused => (ty.dtype(), Item::Refused),
            _ => (ty.dtype(), Item::Edge(edge(ty.dtype()))),
        };
        args.push((name, dtype));
        inside.push(item);
    }
    (args, inside)
}

/// What nodes are called: as in the graph that is written.
pub(super) struct Titles {
    of: HashMap<Inst, String>,
    /// Those of what the graph takes, which may be constants.
    inputs: HashMap<Value, String>,
    /// With those of results, so that no other node is called so.
    all: HashSet<String>,
}

impl Titles {
    fn of(graph: &Graph) -> Titles {
        let (names, mut taken) = (NodeNames::of(graph), UniqueNames::default());
        let mut legal = |name: &str| taken.take(&legal_name(name));
        let inputs: HashMap<Value, String> = graph.inputs().iter().map(|&v| (v, legal(names.value(v)))).collect();
        let mut of = HashMap::new();
        graph.visit(&mut |_, inst, _| drop(of.insert(inst, legal(names.node(graph, inst)))));
        let mut all: HashSet<String> = inputs.values().chain(of.values()).cloned().collect();
        all.extend(names.results().iter().map(|name| legal(name)));
        Titles { of, inputs, all }
    }

    /// What the node of a constant is called.
    fn of_constant(&self, graph: &Graph, value: Value) -> Option<&String> {
        graph.def_inst(value).map_or_else(|| self.inputs.get(&value), |inst| self.of.get(&inst))
    }
}

/// A name that nodes of TensorFlow may have.
fn legal_name(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "_>./\\-".contains(c) { c } else { '_' };
    let legal: String = name.chars().map(kept).collect();
    match legal.chars().next() {
        Some(c) if c.is_ascii_alphanumeric() || c == '.' => legal,
        _ => format!("node{legal}"),
    }
}

/// A function of which the instructions are written.
pub(super) struct Frame<'a, 'g> {
    pub(super) exporter: &'a mut Exporter,
    pub(super) graph: &'g Graph,
    titles: &'g Titles,
    items: HashMap<Value, Item>,
    /// Where the function is called.
    caller: Loc,
    args: Vec<(String, DType)>,
    nodes: Vec<Node>,
    /// The outputs of the last node.
    outputs: Vec<Edge>,
    names: HashSet<String>,
    /// Constants that are written already.
    constants: HashMap<Value, Edge>,
    small: HashMap<(DType, Vec<usize>, Vec<u8>), Edge>,
    /// The last node with an effect, where the order of these can be seen.
    effect: Option<String>,
    acts: bool,
    /// Whether no instruction waits for the effects of others ([`Exporter::in_parts`]).
    in_parts: bool,
    /// The operator at hand, which names nodes.
    scope: &'static str,
    /// What the next node is called, where nothing is called so.
    title: Option<&'g String>,
    /// The least number that may be free behind the name of an operator; 0 stands for the name alone.
    numbers: HashMap<&'static str, usize>,
    /// The number of the last node.
    number: Option<(&'static str, usize)>,
}

impl<'a, 'g> Frame<'a, 'g> {
    fn new(
        exporter: &'a mut Exporter,
        graph: &'g Graph,
        titles: &'g Titles,
        items: HashMap<Value, Item>,
        caller: Loc,
        args: Vec<(String, DType)>,
    ) -> Frame<'a, 'g> {
        let names = args.iter().map(|(name, _)| name.clone()).collect();
        Frame {
            exporter,
            graph,
            titles,
            items,
            caller,
            args,
            nodes: Vec::new(),
            outputs: Vec::new(),
            names,
            constants: HashMap::new(),
            small: HashMap::new(),
            effect: None,
            acts: false,
            in_parts: false,
            scope: "value",
            title: None,
            numbers: HashMap::new(),
            number: None,
        }
    }

    /// Writes the instructions of a region; gives its results.
    fn region(&mut self, region: Region) -> Items {
        let graph = self.graph;
        let data = &graph.regions[region];
        for &inst in &data.insts {
            self.inst(inst);
        }
        let result = |&v: &Value| match self.items.get(&v).cloned() {
            Some(item @ Item::Constant(_)) => self.edge(v, &item).map(Item::Edge),
            found => Ok(found.unwrap_or(Item::Refused)),
        };
        data.results.iter().map(result).collect()
    }

    /// Ends the function, and keeps it.
    fn finish(mut self, name: &str, results: &[(String, Item)]) -> Result<()> {
        let mut out = Vec::new();
        for (name, item) in results {
            let (edge, dtype) = match item {
                Item::Edge(edge) if edge.dtype != DType::Resource => (self.identity(edge)?, edge.dtype),
                // A variable that a loop carries is the argument itself.
                Item::Edge(edge) | Item::Variable(edge, _) => (edge.clone(), edge.dtype),
                Item::Path(edge) => (self.identity(edge)?, DType::Str),
                Item::Constant(tensor) => {
                    let edge = self.constant(tensor)?;
                    (self.identity(&edge)?, tensor.dtype())
                }
                Item::Refused => continue,
            };
            out.push((name.clone(), dtype, edge.text));
        }
        let effect = if self.acts && !self.in_parts { self.effect } else { None };
        let def = Def { name: name.to_owned(), args: self.args, results: out, nodes: self.nodes, effect };
        self.exporter.functions.push(def);
        Ok(())
    }

    fn inst(&mut self, inst: Inst) {
        let graph = self.graph;
        let data = &graph.insts[inst];
        let start = self.nodes.len();
        if self.in_parts {
            self.effect = None;
        }
        self.scope = data.op.name;
        let operands: Vec<Item> =
            data.operands.iter().map(|v| self.items.get(v).cloned().unwrap_or(Item::Refused)).collect();
        let made = match data.op.name {
            // What cannot be written was said where it came up.
            _ if operands.iter().any(|item| matches!(item, Item::Refused)) => Ok(vec![]),
            "const" => Ok(vec![Item::Constant(data.attrs.tensor(0).clone())]),
            "cond" => self.branches(data, operands, "If", "StatelessIf"),
            "switch" => self.branches(data, operands, "Case", "StatelessCase"),
            "while" => self.repeat(data, operands),
            "call" => self.call(data, &operands),
            "with_gradient" => Ok(operands[..penstock_ops::control::results_with_gradient(&data.attrs)].to_vec()),
            _ => super::ops::write(&mut Cx { frame: self, data, operands }),
        };
        let mut made = made.unwrap_or_else(|error| {
            let loc = graph.locs[inst].within(self.caller);
            self.exporter.refuse(format!("{}: {}", data.op.name, error.message()), loc);
            vec![]
        });
        if self.nodes.len() > start {
            self.entitle(inst, &mut made);
        }
        for (i, &result) in data.results.iter().enumerate() {
            self.items.insert(result, made.get(i).cloned().unwrap_or(Item::Refused));
        }
    }

    /// Calls the last node, where its outputs are the results of an instruction, as the instruction is called.
    fn entitle(&mut self, inst: Inst, made: &mut [Item]) {
        let (Some(title), Some(node)) = (self.titles.of.get(&inst), self.nodes.last_mut()) else { return };
        let same = made.len() <= self.outputs.len()
            && made
                .iter()
                .zip(&self.outputs)
                .all(|(item, out)| matches!(item, Item::Edge(edge) if edge.text == out.text));
        // Other instructions may have the constant, too.
        if !same || node.op == "Const" || !self.names.insert(title.clone()) {
            return;
        }
        let old = std::mem::replace(&mut node.name, title.clone());
        self.names.remove(&old);
        self.numbers.extend(self.number.take());
        for item in made {
            if let Item::Edge(edge) = item {
                edge.text.replace_range(..old.len(), title);
            }
        }
        if self.effect.as_ref() == Some(&old) {
            self.effect = Some(title.clone());
        }
    }

    // --- nodes ---

    fn node_name(&mut self) -> String {
        self.number = None;
        if let Some(title) = self.title.take()
            && self.names.insert(title.clone())
        {
            return title.clone();
        }
        let front = self.scope;
        let mut number = self.numbers.get(front).copied().unwrap_or(0);
        loop {
            let name = if number == 0 { front.to_owned() } else { format!("{front}_{number}") };
            if !self.titles.all.contains(&name) && self.names.insert(name.clone()) {
                self.numbers.insert(front, number + 1);
                self.number = Some((front, number));
                return name;
            }
            number += 1;
        }
    }

    /// Adds a node; gives its outputs. Attributes that are dtypes and numbers of inputs need not be given.
    pub(super) fn emit(&mut self, op: &str, inputs: &[Edge], attrs: Vec<(&str, message::Value)>) -> Result<Vec<Edge>> {
        let signature = operators::find(op)?;
        let mut attrs: Vec<(String, message::Value)> = attrs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        let single = signature.inputs.iter().filter(|port| port.is_single()).count();
        let spread = inputs.len().saturating_sub(single);
        let mut rest = inputs;
        for port in &signature.inputs {
            let count = if port.is_single() { 1 } else { spread };
            if rest.len() < count {
                return Err(Error::internal(format!("{op} lacks an input")));
            }
            let (own, behind) = rest.split_at(count);
            rest = behind;
            let types: Vec<DType> = own.iter().map(|edge| edge.dtype).collect();
            port.note(&types, &mut attrs)?;
        }
        signature.check(op, &attrs)?;
        let name = self.node_name();
        let mut texts: Vec<String> = inputs.iter().map(|edge| edge.text.clone()).collect();
        // TensorFlow knows no state of a file that is read, which may have been written right before.
        if (signature.stateful || op == "ReadFile") && self.acts {
            texts.extend(self.effect.replace(name.clone()).map(|last| format!("^{last}")));
        }
        let mut outputs = Vec::new();
        for port in &signature.outputs {
            for (i, dtype) in port.dtypes(&attrs)?.into_iter().enumerate() {
                outputs.push(Edge { text: format!("{name}:{}:{i}", port.name), dtype });
            }
        }
        self.nodes.push(Node { name, op: op.to_owned(), inputs: texts, attrs });
        self.outputs.clone_from(&outputs);
        Ok(outputs)
    }

    fn identity(&mut self, edge: &Edge) -> Result<Edge> {
        self.scope = "Identity";
        let made = self.emit("Identity", std::slice::from_ref(edge), vec![])?;
        Ok(made[0].clone())
    }

    /// A node for a constant; small ones that are equal are one.
    pub(super) fn constant(&mut self, tensor: &Tensor) -> Result<Edge> {
        let key = (tensor.dtype() != DType::Str && tensor.dtype().size() > 0 && tensor.byte_len() <= 64)
            .then(|| (tensor.dtype(), tensor.dims().to_vec(), tensor.bytes().to_vec()));
        if let Some(edge) = key.as_ref().and_then(|key| self.small.get(key)) {
            return Ok(edge.clone());
        }
        if tensor.dtype().size() == 0 && tensor.dtype() != DType::Str {
            return Err(Error::unimplemented(format!("a constant of dtype {} cannot be written", tensor.dtype())));
        }
        let scope = std::mem::replace(&mut self.scope, "Const");
        let attrs = vec![("value", message::Value::Tensor(tensor.clone())), ("dtype", tensor.dtype().into())];
        let made = self.emit("Const", &[], attrs)?;
        self.scope = scope;
        if let Some(key) = key {
            self.small.insert(key, made[0].clone());
        }
        Ok(made[0].clone())
    }

    /// The output or argument that a value is.
    fn edge(&mut self, value: Value, item: &Item) -> Result<Edge> {
        match item {
            Item::Edge(edge) | Item::Variable(edge, _) | Item::Path(edge) => Ok(edge.clone()),
            Item::Constant(tensor) => {
                if let Some(edge) = self.constants.get(&value) {
                    return Ok(edge.clone());
                }
                self.title = self.titles.of_constant(self.graph, value);
                let edge = self.constant(tensor);
                self.title = None;
                let edge = edge?;
                self.constants.insert(value, edge.clone());
                Ok(edge)
            }
            Item::Refused => Err(Error::internal("a value that cannot be written is used")),
        }
    }

    fn edges(&mut self, values: &[Value], items: &[Item]) -> Result<Vec<Edge>> {
        values.iter().zip(items).map(|(&v, item)| self.edge(v, item)).collect()
    }

    // --- functions ---

    fn call(&mut self, data: &InstData, operands: &[Item]) -> Items {
        let function = data.attrs.func(0).get()?;
        let name = self.exporter.callee(&function, operands)?;
        let inputs = self.edges(&data.operands, operands)?;
        let types = self.types(&data.results);
        let touches = operands.iter().any(|item| matches!(item, Item::Variable(..)));
        let acts = function.graph().is_some_and(|graph| effects_of_region(graph, graph.body()).acts());
        let op = if touches || acts { "StatefulPartitionedCall" } else { "PartitionedCall" };
        let attrs = vec![("f", message::Value::Func(name)), ("Tout", message::Value::Types(types))];
        Ok(self.emit(op, &inputs, attrs)?.into_iter().map(Item::Edge).collect())
    }

    fn types(&self, values: &[Value]) -> Vec<DType> {
        values.iter().map(|&v| self.graph.ty(v).dtype()).collect()
    }

    fn shapes(&self, values: &[Value]) -> message::Value {
        message::Value::Shapes(values.iter().map(|&v| self.graph.ty(v).shape().erased()).collect())
    }

    /// What regions see from outside, but for constants, which are written in each.
    fn seen(&self, regions: &[Region]) -> Vec<Value> {
        let (mut inside, mut used) = (HashSet::new(), Vec::new());
        let mut due = regions.to_vec();
        while let Some(region) = due.pop() {
            let data = &self.graph.regions[region];
            inside.extend(data.params.iter().copied());
            for &inst in &data.insts {
                let data = &self.graph.insts[inst];
                used.extend(data.operands.iter().copied());
                inside.extend(data.results.iter().copied());
                due.extend(data.regions.iter().copied());
            }
            used.extend(data.results.iter().copied());
        }
        let mut seen = HashSet::new();
        used.retain(|v| {
            !inside.contains(v) && !matches!(self.items.get(v), Some(Item::Constant(_))) && seen.insert(*v)
        });
        used
    }

    /// Writes a region as a function that takes its parameters and `seen`; gives its name.
    fn inner(
        &mut self,
        wanted: &str,
        region: Region,
        seen: &[Value],
        params: &[Item],
        passed: &[usize],
    ) -> Result<String> {
        let values: Vec<Value> = self.graph.regions[region].params.iter().chain(seen).copied().collect();
        let around = seen.iter().map(|v| self.items.get(v).cloned().unwrap_or(Item::Refused));
        let outer: Vec<Item> = params.iter().cloned().chain(around).collect();
        let types: Vec<Type> = values.iter().map(|&v| self.graph.ty(v).clone()).collect();
        let (args, inside) = arguments(&outer, &types);
        let constants = self.items.iter().filter(|(_, item)| matches!(item, Item::Constant(_)));
        let mut items: HashMap<Value, Item> = constants.map(|(&v, item)| (v, item.clone())).collect();
        items.extend(values.iter().copied().zip(inside.iter().cloned()));
        let name = self.exporter.name(wanted);
        let caller = self.caller;
        let mut frame = Frame::new(self.exporter, self.graph, self.titles, items, caller, args);
        frame.acts = effects_of_region(self.graph, region).acts();
        let mut found = frame.region(region)?;
        found.extend(passed.iter().map(|&i| inside[params.len() + i].clone()));
        let named: Vec<(String, Item)> =
            found.into_iter().enumerate().map(|(i, item)| (format!("result_{i}"), item)).collect();
        frame.finish(&name, &named)?;
        Ok(name)
    }

    /// Whether an operator with regions must keep its place among effects.
    fn is_stateful(&self, data: &InstData, seen: &[Value]) -> bool {
        seen.iter().any(|v| matches!(self.items.get(v), Some(Item::Variable(..))))
            || data.regions.iter().any(|&region| effects_of_region(self.graph, region).acts())
    }

    fn branches(&mut self, data: &InstData, operands: Vec<Item>, op: &str, stateless: &str) -> Items {
        let seen = self.seen(&data.regions);
        if self.lacks(&seen) {
            return Ok(vec![]);
        }
        let names: Vec<String> =
            data.regions.iter().map(|&region| self.inner("branch", region, &seen, &[], &[])).collect::<Result<_>>()?;
        let mut inputs = self.edges(&data.operands, &operands)?;
        if op == "Case" && inputs[0].dtype != DType::I32 {
            let attrs = vec![("DstT", DType::I32.into())];
            inputs[0] = self.emit("Cast", &inputs[..1], attrs)?[0].clone();
        }
        let items: Vec<Item> = seen.iter().map(|v| self.items[v].clone()).collect();
        inputs.extend(self.edges(&seen, &items)?);
        let mut attrs = vec![
            ("Tout", message::Value::Types(self.types(&data.results))),
            ("output_shapes", self.shapes(&data.results)),
        ];
        if op == "Case" {
            attrs.push(("branches", message::Value::Funcs(names)));
        } else {
            let mut names = names.into_iter();
            for name in ["then_branch", "else_branch"] {
                attrs.push((name, message::Value::Func(names.next().unwrap_or_default())));
            }
        }
        let op = if self.is_stateful(data, &seen) { op } else { stateless };
        self.scope = if op.ends_with("If") { "cond" } else { "switch" };
        Ok(self.emit(op, &inputs, attrs)?.into_iter().map(Item::Edge).collect())
    }

    fn repeat(&mut self, data: &InstData, operands: Vec<Item>) -> Items {
        let seen = self.seen(&data.regions);
        if self.lacks(&seen) {
            return Ok(vec![]);
        }
        let (cond, body) = (data.regions[0], data.regions[1]);
        // Inside, what a loop carries is not what it starts with.
        let params: Vec<Item> = operands
            .iter()
            .map(|item| match item {
                Item::Constant(tensor) => Item::Edge(Edge { text: String::new(), dtype: tensor.dtype() }),
                other => other.clone(),
            })
            .collect();
        let all: Vec<usize> = (0..seen.len()).collect();
        let condition = self.inner("condition", cond, &seen, &params, &[])?;
        let step = self.inner("body", body, &seen, &params, &all)?;
        let mut inputs = self.edges(&data.operands, &operands)?;
        let items: Vec<Item> = seen.iter().map(|v| self.items[v].clone()).collect();
        inputs.extend(self.edges(&seen, &items)?);
        let mut shapes: Vec<Shape> = data.results.iter().map(|&v| self.graph.ty(v).shape().erased()).collect();
        shapes.extend(seen.iter().zip(&items).map(|(&v, item)| match item {
            Item::Variable(..) => Shape::scalar(),
            _ => self.graph.ty(v).shape().erased(),
        }));
        let attrs = vec![
            ("cond", message::Value::Func(condition)),
            ("body", message::Value::Func(step)),
            ("output_shapes", message::Value::Shapes(shapes)),
        ];
        let op = if self.is_stateful(data, &seen) { "While" } else { "StatelessWhile" };
        self.scope = "while";
        let mut made = self.emit(op, &inputs, attrs)?;
        made.truncate(data.results.len());
        Ok(made.into_iter().map(Item::Edge).collect())
    }

    /// Whether regions see what cannot be written.
    fn lacks(&self, seen: &[Value]) -> bool {
        seen.iter().any(|v| matches!(self.items.get(v), None | Some(Item::Refused)))
    }
}

/// What an operator is written with: the instruction and its operands.
pub(super) struct Cx<'f, 'a, 'g> {
    pub(super) frame: &'f mut Frame<'a, 'g>,
    pub(super) data: &'g InstData,
    pub(super) operands: Vec<Item>,
}

impl Cx<'_, '_, '_> {
    /// Operand `index`, a tensor or a variable.
    pub(super) fn x(&mut self, index: usize) -> Result<Edge> {
        let (value, item) = match (self.data.operands.get(index), self.operands.get(index)) {
            (Some(&value), Some(item)) => (value, item.clone()),
            _ => return Err(Error::internal("an operand is missing")),
        };
        self.frame.edge(value, &item)
    }

    pub(super) fn all(&mut self) -> Result<Vec<Edge>> {
        (0..self.operands.len()).map(|i| self.x(i)).collect()
    }

    /// The type of an operand.
    pub(super) fn ty(&self, index: usize) -> &Type {
        self.frame.graph.ty(self.data.operands[index])
    }

    /// The number of dimensions of an operand.
    ///
    /// # Errors
    /// `Unimplemented` where it is not known.
    pub(super) fn rank(&self, index: usize) -> Result<usize> {
        let rank = self.ty(index).shape().rank();
        rank.ok_or_else(|| Error::unimplemented(format!("the rank of operand {index} is not known")))
    }

    /// The value of an operand that is a constant.
    pub(super) fn known(&self, index: usize) -> Option<&Tensor> {
        match self.operands.get(index) {
            Some(Item::Constant(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// The type of a result.
    pub(super) fn out(&self, index: usize) -> &Type {
        self.frame.graph.ty(self.data.results[index])
    }

    /// The outputs of a node.
    pub(super) fn many(&mut self, op: &str, inputs: &[Edge], attrs: Vec<(&str, message::Value)>) -> Result<Vec<Edge>> {
        self.frame.emit(op, inputs, attrs)
    }

    /// A node with one output.
    pub(super) fn node(&mut self, op: &str, inputs: &[Edge], attrs: Vec<(&str, message::Value)>) -> Result<Edge> {
        let made = self.frame.emit(op, inputs, attrs)?;
        made.into_iter().next().ok_or_else(|| Error::internal(format!("{op} gives nothing")))
    }

    pub(super) fn constant(&mut self, tensor: &Tensor) -> Result<Edge> {
        self.frame.constant(tensor)
    }

    /// A vector of `int32`.
    pub(super) fn ints(&mut self, values: &[i64]) -> Result<Edge> {
        let values: Vec<i32> =
            values.iter().map(|&v| v.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32).collect();
        self.frame.constant(&Tensor::vector(&values))
    }

    /// A scalar of `int32`.
    pub(super) fn int(&mut self, value: i64) -> Result<Edge> {
        self.frame.constant(&Tensor::from(value as i32))
    }

    /// A scalar of a dtype.
    pub(super) fn number(&mut self, value: f64, dtype: DType) -> Result<Edge> {
        let wide = self.frame.constant(&Tensor::from(value))?;
        self.cast(&wide, dtype)
    }

    pub(super) fn cast(&mut self, x: &Edge, dtype: DType) -> Result<Edge> {
        if x.dtype == dtype {
            return Ok(x.clone());
        }
        self.node("Cast", std::slice::from_ref(x), vec![("DstT", dtype.into())])
    }
}

impl Kind {
    /// Whether it is one input or output.
    fn is_one(&self) -> bool {
        matches!(self, Kind::Fixed(_) | Kind::Attr(_))
    }
}

impl operators::Port {
    fn is_single(&self) -> bool {
        self.kind.is_one()
    }
}
