//! What is drawn of a graph.

use penstock_data::Loc;
use penstock_ir::{Cpu, Graph, Inst, Region, Structure, Value, print_attributes};
use rustc_hash::FxHashMap;

use crate::cluster::clustered;
use crate::shapes::Shapes;

/// A block of more nodes than this is folded,
const MANY: usize = 300;
/// to no fewer than this, if it is by names or lines.
const FEW: usize = 10;
/// Up to how many scopes of a name nodes are folded by.
const SCOPES: usize = 6;
/// The most characters of what is said of a node.
const DETAIL: usize = 60;
/// The most elements of a constant that are shown.
const ELEMENTS: usize = 4;

/// A graph that is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The instructions that run together, each list with what runs them: they are drawn as one node with a block.
    pub steps: &'a [(String, Vec<Inst>)],
}

impl<'a> Picture<'a> {
    /// A graph of which nothing is known but itself.
    pub fn of(graph: &'a Graph) -> Picture<'a> {
        Picture { graph, steps: &[] }
    }
}

/// What a node stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A parameter of the block.
    Input,
    /// A value from around the block.
    Outer,
    /// An instruction.
    Operator,
    /// A constant.
    Constant,
    /// Several instructions, folded.
    Group,
    /// Instructions that run together.
    Step,
    /// The results of the block.
    Results,
}

impl Kind {
    /// Its name, a class of the page's style.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Input => "input",
            Kind::Outer => "outer",
            Kind::Operator => "operator",
            Kind::Constant => "constant",
            Kind::Group => "group",
            Kind::Step => "step",
            Kind::Results => "results",
        }
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it stands for.
    pub kind: Kind,
    /// The operator, or the name of a value.
    pub label: String,
    /// The attributes, or the type of a value.
    pub detail: String,
    /// Where it was written.
    pub loc: Loc,
    /// The name of its first result, with its scopes; empty where it has none.
    pub name: String,
    /// Where the shape of each result comes from.
    pub shapes: Vec<String>,
    /// The regions of an instruction, or what runs together.
    pub blocks: Vec<Block>,
}

/// A value that a node uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The node that makes it.
    pub from: usize,
    /// The node that uses it.
    pub to: usize,
    /// Its type.
    pub ty: String,
}

/// The nodes of a region. Each comes before those that use it.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The values that they use.
    pub edges: Vec<Edge>,
    /// The values from around the block that it uses, with their nodes.
    pub(crate) outer: Vec<(Value, usize)>,
}

impl Block {
    /// The nodes of a graph.
    pub fn of(picture: Picture<'_>) -> Block {
        let numbered =
            picture.steps.iter().zip(0..).flat_map(|((_, insts), step)| insts.iter().map(move |&i| (i, step)));
        let drawn = Drawn { picture, shapes: Shapes::of(picture.graph), steps: numbered.collect() };
        Block::of_region(&drawn, picture.graph.body())
    }

    fn of_region(drawn: &Drawn<'_>, region: Region) -> Block {
        let graph = drawn.picture.graph;
        let mut maker = Maker { drawn, graph, block: Block::default(), nodes: FxHashMap::default(), steps: Vec::new() };
        let data = &graph.regions[region];
        for &param in &data.params {
            let node = Node { kind: Kind::Input, ..maker.node_of_value(param) };
            let number = maker.add(node);
            maker.nodes.insert(param, number);
        }
        for &inst in &data.insts {
            maker.instruction(inst);
        }
        if !data.results.is_empty() {
            let label = if region == graph.body() { "return" } else { "yield" }.to_owned();
            let results = Node { kind: Kind::Results, label, ..Node::empty() };
            let number = maker.add(results);
            data.results.iter().for_each(|&value| maker.edge(value, number));
        }
        clustered(maker.block, &maker.steps, drawn.picture.steps).folded()
    }

    /// The same with fewer nodes, where they are many.
    pub(crate) fn folded(self) -> Block {
        if self.nodes.len() <= MANY {
            return self;
        }
        // Names or lines that leave next to nothing say nothing; parameters of the block do not count.
        let fits = |block: &Block| {
            let count = block.nodes.iter().filter(|node| node.kind != Kind::Input).count();
            (FEW..=MANY).contains(&count)
        };
        // What people have named says the most: by as many scopes of the names as leave few enough nodes.
        let by_scopes = (1..=SCOPES).rev().map(|depth| self.clone().fold_by(|node| scopes_of(&node.name, depth)));
        let by_line = || self.clone().fold_by(|node| (!node.loc.is_unknown()).then(|| node.loc.to_string()));
        if let Some(found) = by_scopes.chain(std::iter::once_with(by_line)).find(fits) {
            return found.without_own_inputs();
        }
        let (each, mut number) = (self.nodes.len().div_ceil(MANY / 2), 0);
        self.fold_by(|_| {
            number += 1;
            Some(((number - 1) / each).to_string())
        })
        .without_own_inputs()
    }

    /// The same without the parameters that one folded node alone uses, such as the weights of a layer: it tells how many.
    fn without_own_inputs(mut self) -> Block {
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            users[edge.from].push(edge.to);
        }
        let is_own = |i: usize| {
            self.nodes[i].kind == Kind::Input
                && users[i]
                    .first()
                    .is_some_and(|&user| self.nodes[user].kind == Kind::Group && users[i].iter().all(|&u| u == user))
        };
        let own: Vec<bool> = (0..self.nodes.len()).map(is_own).collect();
        if own.iter().filter(|&&is| is).count() < FEW {
            return self;
        }
        let mut taken = vec![0_usize; self.nodes.len()];
        for i in (0..self.nodes.len()).filter(|&i| own[i]) {
            taken[users[i][0]] += 1;
        }
        for (node, count) in self.nodes.iter_mut().zip(&taken).filter(|(_, count)| **count > 0) {
            node.detail = format!("{}, {count} parameter{}", node.detail, if *count == 1 { "" } else { "s" });
        }
        let mut next = 0;
        let numbers: Vec<Option<usize>> = own
            .iter()
            .map(|&is| {
                (!is).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        let renumbered = |Edge { from, to, ty }: Edge| Some(Edge { from: numbers[from]?, to: numbers[to]?, ty });
        self.edges = self.edges.into_iter().filter_map(renumbered).collect();
        self.outer = self.outer.into_iter().filter_map(|(value, node)| Some((value, numbers[node]?))).collect();
        let mut kept = own.iter().map(|is| !is);
        self.nodes.retain(|_| kept.next().unwrap_or(true));
        self
    }

    /// Makes one node of each row of nodes that follow one another and have a key in common. What follows one another in the order
    /// of the program can be run as a whole, so that no circle comes about.
    fn fold_by(self, mut key: impl FnMut(&Node) -> Option<String>) -> Block {
        let mut folded = Block::default();
        // The new number of each node, and the key of the last new one, with how many it stands for.
        let mut numbers = Vec::with_capacity(self.nodes.len());
        let mut open: Option<(String, usize)> = None;
        for node in self.nodes {
            let own = matches!(node.kind, Kind::Operator | Kind::Constant | Kind::Group | Kind::Step)
                .then(|| key(&node))
                .flatten();
            // A constant that has no key stands for what comes before.
            let own = if node.kind == Kind::Constant {
                own.or_else(|| open.as_ref().map(|(key, _)| key.clone()))
            } else {
                own
            };
            match (&mut open, own) {
                (Some((last, count)), Some(own)) if *last == own => {
                    *count += 1;
                    if let Some(group) = folded.nodes.last_mut() {
                        *group = group.joined(node, last, *count);
                    }
                }
                (_, own) => {
                    open = own.map(|own| (own, 1));
                    folded.nodes.push(node);
                }
            }
            numbers.push(folded.nodes.len() - 1);
        }
        for Edge { from, to, ty } in self.edges {
            let edge = Edge { from: numbers[from], to: numbers[to], ty };
            if edge.from != edge.to && !folded.edges.contains(&edge) {
                folded.edges.push(edge);
            }
        }
        folded.outer = self.outer.into_iter().map(|(value, node)| (value, numbers[node])).collect();
        folded
    }
}

/// The first `depth` scopes of a name, or all of them where there are fewer; `None` for a name without scopes.
fn scopes_of(name: &str, depth: usize) -> Option<String> {
    let (scopes, _) = name.rsplit_once('/')?;
    Some(scopes.split('/').take(depth).collect::<Vec<_>>().join("/"))
}

impl Node {
    pub(crate) fn empty() -> Node {
        Node {
            kind: Kind::Operator,
            label: String::new(),
            detail: String::new(),
            loc: Loc::UNKNOWN,
            name: String::new(),
            shapes: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// This and another one, of `count` that have a key in common.
    fn joined(&self, other: Node, key: &str, count: usize) -> Node {
        let is_scope = self.name.strip_prefix(key).is_some_and(|rest| rest.starts_with('/'));
        let both = || format!("{} … {}", first_of(&self.label), other.label);
        let label = if is_scope { key.to_owned() } else { shortened(&both()) };
        let blocks = self.blocks.iter().cloned().chain(other.blocks).collect();
        Node {
            kind: Kind::Group,
            label,
            detail: format!("{count} operators"),
            shapes: Vec::new(),
            blocks,
            ..self.clone()
        }
    }
}

/// The first label of a group.
fn first_of(label: &str) -> &str {
    label.split(" … ").next().unwrap_or(label)
}

/// The text, cut to [`DETAIL`] characters.
fn shortened(text: &str) -> String {
    if text.chars().count() <= DETAIL {
        return text.to_owned();
    }
    text.chars().take(DETAIL - 1).chain(['…']).collect()
}

/// A picture with what is known of its graph.
struct Drawn<'a> {
    picture: Picture<'a>,
    shapes: Shapes<'a>,
    /// The step that runs an instruction.
    steps: FxHashMap<Inst, usize>,
}

struct Maker<'a> {
    drawn: &'a Drawn<'a>,
    graph: &'a Graph,
    block: Block,
    nodes: FxHashMap<Value, usize>,
    /// For each node, the step that runs it together with others.
    steps: Vec<Option<usize>>,
}

impl Maker<'_> {
    fn add(&mut self, node: Node) -> usize {
        self.block.nodes.push(node);
        self.steps.push(None);
        self.block.nodes.len() - 1
    }

    fn node_of_value(&self, value: Value) -> Node {
        let named = self.graph.names.get(&value).filter(|n| !n.is_empty());
        let label = named.map_or_else(|| value.to_string(), |n| n.to_string());
        let shapes = self.drawn.shapes.text(value).into_iter().collect();
        Node { label, detail: shortened(&self.graph.ty(value).to_string()), shapes, ..Node::empty() }
    }

    /// The node of a value: of one from around the block it is made here.
    fn node(&mut self, value: Value) -> usize {
        if let Some(&node) = self.nodes.get(&value) {
            return node;
        }
        let node = Node { kind: Kind::Outer, ..self.node_of_value(value) };
        let number = self.add(node);
        self.nodes.insert(value, number);
        self.block.outer.push((value, number));
        number
    }

    fn edge(&mut self, value: Value, to: usize) {
        let from = self.node(value);
        let edge = Edge { from, to, ty: shortened(&self.graph.ty(value).to_string()) };
        if !self.block.edges.contains(&edge) {
            self.block.edges.push(edge);
        }
    }

    fn instruction(&mut self, inst: Inst) {
        let data = &self.graph.insts[inst];
        let blocks: Vec<Block> = data.regions.iter().map(|&r| Block::of_region(self.drawn, r)).collect();
        let mut used: Vec<Value> = data.operands.to_vec();
        used.extend(blocks.iter().flat_map(|block| block.outer.iter().map(|&(value, _)| value)));
        // Those from around this block come before the node.
        for &value in &used {
            self.node(value);
        }
        let is_constant = data.op.name == "const";
        let detail = shortened(&print_attributes(data, Some(ELEMENTS)));
        let named = data.results.first().and_then(|v| self.graph.names.get(v));
        let runs_together = matches!(data.op.cpu, Cpu::Executor(Structure::Body));
        let node = Node {
            kind: if is_constant {
                Kind::Constant
            } else if runs_together {
                Kind::Step
            } else {
                Kind::Operator
            },
            label: if is_constant { detail.trim_start_matches("value=").to_owned() } else { data.op.name.to_owned() },
            detail: if is_constant { String::new() } else { detail },
            loc: self.graph.locs.get(inst).copied().unwrap_or_default(),
            name: named.map(|n| n.to_string()).unwrap_or_default(),
            shapes: data.results.iter().filter_map(|&v| self.drawn.shapes.text(v)).collect(),
            blocks,
        };
        let number = self.add(node);
        self.steps[number] = self.drawn.steps.get(&inst).copied();
        used.iter().for_each(|&value| self.edge(value, number));
        for &result in &data.results {
            self.nodes.insert(result, number);
        }
    }
}
