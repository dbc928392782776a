//! From a model to a graph: nodes in their order, each by the handler that [`ops::handler`] finds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use penstock_data::{DType, Dim, Error, Result, Shape, Symbol, Tensor};
use penstock_ir::{Builder, Type, Value, Verified};
use penstock_ops::control::CONST;

use crate::cx::{Cx, Item};
use crate::ops;
use crate::proto::{self, AttributeValue, Extent, ValueType};
use crate::tensor::{self, Files, decode, dtype};

/// Calls of a model's functions nest at most so deep.
const MAX_CALLS: usize = 64;

/// What an input is made for.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    /// Values of this type.
    Type(Type),
    /// This value: the input stays, and is not read.
    Value(Tensor),
}

/// What has to be known of the inputs before a graph can be made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// The inputs whose values have to be known, by index.
    pub(crate) values: BTreeSet<usize>,
    /// Whether the extents of all inputs have to be known.
    pub(crate) shapes: bool,
}

/// A finished import.
pub(crate) struct Imported {
    pub(crate) graph: Verified,
    /// The initialisers that became variables, as inputs behind those of the model.
    pub(crate) variables: Vec<(String, Tensor)>,
}

/// The decoded initialisers by the place of their bytes: imports of one model share them.
pub(crate) type Weights = HashMap<usize, Tensor>;

/// The functions of a model by domain and name.
type Functions<'m> = HashMap<(&'m str, &'m str), &'m proto::Function<'m>>;

pub(crate) struct Importer<'m> {
    pub(crate) builder: Builder,
    scopes: Vec<HashMap<&'m str, Item>>,
    /// The inputs of the graph by their values.
    pub(crate) inputs: HashMap<Value, usize>,
    pub(crate) wanted: Wanted,
    pub(crate) files: &'m Files<'m>,
    functions: Functions<'m>,
    opsets: &'m [(&'m str, i64)],
    /// The attributes of the call of the function around.
    arguments: HashMap<&'m str, &'m AttributeValue<'m>>,
    calls: usize,
    weights: &'m mut Weights,
}

/// The main inputs of a model: those that no initialiser gives.
pub(crate) fn main_inputs<'a, 'm>(model: &'a proto::Model<'m>) -> impl Iterator<Item = &'a proto::ValueInfo<'m>> {
    let initial: BTreeSet<&str> = model.graph.initializers.iter().map(|t| t.name).collect();
    model.graph.inputs.iter().filter(move |info| !initial.contains(info.name))
}

/// The type of a value of the model; extents of one name get one symbol.
pub(crate) fn type_of<'m>(ty: &ValueType<'m>, names: &mut BTreeMap<&'m str, u32>, next: &mut u32) -> Result<Type> {
    match ty {
        ValueType::Tensor(number, extents) => {
            let dtype = dtype(*number)?;
            let Some(extents) = extents else { return Ok(Type::tensor(dtype, Shape::UNRANKED)) };
            let mut fresh = || {
                *next += 1;
                *next - 1
            };
            let mut dim = |extent: &Extent<'m>| match extent {
                Extent::Known(n) => Dim::Known(*n),
                Extent::Named(name) => Dim::Sym(Symbol(*names.entry(name).or_insert_with(&mut fresh))),
                Extent::Unknown => Dim::Sym(Symbol(fresh())),
            };
            Ok(Type::tensor(dtype, Shape::new(extents.iter().map(&mut dim).collect::<Vec<_>>())))
        }
        ValueType::Sequence(_) => Ok(Type::scalar(DType::Variant)),
        ValueType::Optional(of) => type_of(of, names, next),
        ValueType::Unknown | ValueType::Other => {
            Err(Error::unimplemented("inputs that are maps or sparse tensors are not supported"))
        }
    }
}

/// What the elements of a sequence are.
fn element_of(ty: &ValueType<'_>) -> Result<(DType, Shape)> {
    match ty {
        ValueType::Tensor(number, extents) => {
            let known = |e: &Extent<'_>| match e {
                Extent::Known(n) => Dim::Known(*n),
                _ => Dim::Unknown,
            };
            let shape = extents.as_ref().map_or(Shape::UNRANKED, |e| Shape::new(e.iter().map(known)));
            Ok((dtype(*number)?, shape))
        }
        _ => Err(Error::unimplemented("sequences of what is no tensor are not supported")),
    }
}

/// Makes the graph of a model for what is given of its inputs. `as_variables` says whether the initialisers of floating
/// point become variables. Where more has to be known of the inputs, the second result says what.
pub(crate) fn import<'m>(
    model: &'m proto::Model<'m>,
    given: &[Given],
    as_variables: bool,
    files: &'m Files<'m>,
    weights: &'m mut Weights,
) -> (Result<Imported>, Wanted) {
    let mut importer = Importer {
        builder: Builder::new(&CONST),
        scopes: vec![HashMap::new()],
        inputs: HashMap::new(),
        wanted: Wanted::default(),
        files,
        functions: model.functions.iter().map(|f| ((f.domain, f.name), f)).collect(),
        opsets: &model.opsets,
        arguments: HashMap::new(),
        calls: 0,
        weights,
    };
    let imported = importer.model(model, given, as_variables).and_then(|(outputs, variables)| {
        let builder = std::mem::replace(&mut importer.builder, Builder::new(&CONST));
        Ok(Imported { graph: builder.finish(&outputs)?, variables })
    });
    (imported, importer.wanted)
}

/// The operators of a model that there is no handler for, with how many nodes have each; those of regions too.
pub(crate) fn missing(model: &proto::Model<'_>) -> BTreeMap<String, usize> {
    fn visit<'a>(
        nodes: &[proto::Node<'a>],
        opsets: &[(&str, i64)],
        functions: &Functions<'_>,
        found: &mut BTreeMap<String, usize>,
    ) {
        for node in nodes {
            let version = opsets.iter().find(|(d, _)| *d == node.domain).map_or(0, |(_, v)| *v);
            let known = ops::handler(node.domain, node.op, version).is_some()
                || functions.contains_key(&(node.domain, node.op));
            if !known {
                let domain = if node.domain.is_empty() { "ai.onnx" } else { node.domain };
                *found.entry(format!("{domain}.{} (version {version})", node.op)).or_insert(0) += 1;
            }
            for attribute in &node.attributes {
                if let AttributeValue::Graph(graph) = &attribute.value {
                    visit(&graph.nodes, opsets, functions, found);
                }
            }
        }
    }
    let functions = model.functions.iter().map(|f| ((f.domain, f.name), f)).collect();
    let mut found = BTreeMap::new();
    visit(&model.graph.nodes, &model.opsets, &functions, &mut found);
    model.functions.iter().for_each(|f| visit(&f.nodes, &f.opsets, &functions, &mut found));
    found
}

impl<'m> Importer<'m> {
    fn model(
        &mut self,
        model: &'m proto::Model<'m>,
        given: &[Given],
        as_variables: bool,
    ) -> Result<(Vec<Value>, Vec<(String, Tensor)>)> {
        for (i, (info, given)) in main_inputs(model).zip(given).enumerate() {
            let ty = match given {
                Given::Type(ty) => ty.clone(),
                Given::Value(tensor) => Type::of(tensor),
            };
            let input = self.builder.input(ty, Some(info.name));
            self.inputs.insert(input, i);
            let item = match (given, &info.ty) {
                (Given::Value(tensor), _) => Item::Tensor(self.builder.constant(tensor.clone())),
                (_, ValueType::Sequence(of)) => {
                    let (dtype, shape) = element_of(of)?;
                    Item::List { value: input, dtype, shape }
                }
                _ => Item::Tensor(input),
            };
            self.define(info.name, item)?;
        }
        let mut variables = Vec::new();
        let mut cells = Vec::new();
        if as_variables {
            for proto in model.graph.initializers.iter().filter(|t| !t.name.is_empty()) {
                let value = self.weight(proto)?;
                if value.dtype().is_differentiable() {
                    let ty = Type::Variable(value.dtype(), Shape::known(value.dims()));
                    cells.push((proto.name, self.builder.input(ty, Some(proto.name))));
                    variables.push((proto.name.to_owned(), value));
                }
            }
        }
        for (name, cell) in cells {
            let value = self.builder.emit(&penstock_ops::state::READ_VARIABLE, &[cell], &[])?[0];
            self.define(name, Item::Tensor(value))?;
        }
        let outputs = self.graph(&model.graph)?;
        let outputs = outputs.iter().zip(&model.graph.outputs).map(|(item, info)| match item {
            Item::Tensor(v) => Ok(*v),
            Item::List { value, .. } => Ok(*value),
            Item::None => Err(Error::unimplemented(format!("output '{}' is an optional without a value", info.name))),
        });
        Ok((outputs.collect::<Result<_>>()?, variables))
    }

    /// An initialiser, decoded once.
    fn weight(&mut self, proto: &proto::Tensor<'m>) -> Result<Tensor> {
        let place = proto.body.as_ptr() as usize;
        if let Some(value) = self.weights.get(&place) {
            return Ok(value.clone());
        }
        let value = decode(proto, self.files)?;
        self.weights.insert(place, value.clone());
        Ok(value)
    }

    /// Initialisers and nodes of a graph in the scope at hand; gives its outputs.
    fn graph(&mut self, graph: &'m proto::Graph<'m>) -> Result<Vec<Item>> {
        let defined = |scopes: &[HashMap<&str, Item>], name: &str| scopes.last().is_some_and(|s| s.contains_key(name));
        for proto in &graph.initializers {
            if !defined(&self.scopes, proto.name) {
                let value = self.weight(proto)?;
                let value = self.builder.constant(value);
                self.define(proto.name, Item::Tensor(value))?;
            }
        }
        for sparse in &graph.sparse_initializers {
            let value = tensor::dense(sparse, self.files)?;
            let value = self.builder.constant(value);
            self.define(sparse.values.name, Item::Tensor(value))?;
        }
        self.nodes(&graph.nodes)?;
        graph.outputs.iter().map(|info| self.find(info.name)).collect()
    }

    fn nodes(&mut self, nodes: &'m [proto::Node<'m>]) -> Result<()> {
        for node in nodes {
            let outputs = self.node(node).map_err(|e| {
                let name = if node.name.is_empty() { node.outputs.first().unwrap_or(&"") } else { &node.name };
                Error::new(e.class(), format!("{} '{name}': {e}", node.op))
            })?;
            for (&name, item) in node.outputs.iter().zip(outputs) {
                if !name.is_empty() {
                    self.define(name, item)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn version(&self, domain: &str) -> i64 {
        self.opsets.iter().find(|(d, _)| *d == domain).map_or(1, |(_, v)| *v)
    }

    fn node(&mut self, node: &'m proto::Node<'m>) -> Result<Vec<Item>> {
        let inputs: Vec<Item> = node.inputs.iter().map(|name| self.find(name)).collect::<Result<_>>()?;
        if let Some(&function) = self.functions.get(&(node.domain, node.op)) {
            return self.call(function, node, inputs);
        }
        let version = self.version(node.domain);
        let handler = ops::handler(node.domain, node.op, version)
            .ok_or_else(|| Error::unimplemented("there is no such operator"))?;
        handler(&mut Cx { importer: self, node, inputs, version })
    }

    /// The attribute of a node, or of the call around where the node refers to one.
    pub(crate) fn attribute(&self, node: &'m proto::Node<'m>, name: &str) -> Option<&'m AttributeValue<'m>> {
        let attribute = node.attributes.iter().find(|a| a.name == name)?;
        match attribute.refers_to {
            "" => Some(&attribute.value),
            refers_to => self.arguments.get(refers_to).copied(),
        }
    }

    fn call(
        &mut self,
        function: &'m proto::Function<'m>,
        node: &'m proto::Node<'m>,
        inputs: Vec<Item>,
    ) -> Result<Vec<Item>> {
        if self.calls == MAX_CALLS {
            return Err(Error::invalid("functions call each other too deep"));
        }
        let mut arguments: HashMap<&str, &AttributeValue<'_>> =
            function.defaults.iter().map(|a| (a.name, &a.value)).collect();
        for attribute in &node.attributes {
            if let Some(value) = self.attribute(node, attribute.name) {
                arguments.insert(attribute.name, value);
            }
        }
        let mut scope: HashMap<&str, Item> = function.inputs.iter().map(|&name| (name, Item::None)).collect();
        scope.extend(function.inputs.iter().copied().zip(inputs));
        // A function sees nothing of what is around its call.
        let outer = (
            std::mem::replace(&mut self.scopes, vec![scope]),
            std::mem::replace(&mut self.arguments, arguments),
            std::mem::replace(&mut self.opsets, &function.opsets),
        );
        self.calls += 1;
        let outputs = self
            .nodes(&function.nodes)
            .and_then(|()| function.outputs.iter().map(|name| self.find(name)).collect::<Result<Vec<_>>>());
        self.calls -= 1;
        (self.scopes, self.arguments, self.opsets) = outer;
        outputs
    }

    pub(crate) fn define(&mut self, name: &'m str, item: Item) -> Result<()> {
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        match scope.insert(name, item) {
            None => Ok(()),
            Some(_) => Err(Error::invalid(format!("the name '{name}' stands for two values"))),
        }
    }

    pub(crate) fn find(&self, name: &str) -> Result<Item> {
        if name.is_empty() {
            return Ok(Item::None);
        }
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        found.cloned().ok_or_else(|| Error::invalid(format!("there is no value '{name}'")))
    }

    /// The outputs of a graph that is an attribute, within an open region; its inputs are `inputs`.
    pub(crate) fn subgraph(&mut self, graph: &'m proto::Graph<'m>, inputs: Vec<Item>) -> Result<Vec<Item>> {
        if inputs.len() != graph.inputs.len() {
            let due = graph.inputs.len();
            return Err(Error::invalid(format!("its graph takes {due} inputs, there are {}", inputs.len())));
        }
        self.scopes.push(graph.inputs.iter().map(|info| info.name).zip(inputs).collect());
        let outputs = self.graph(graph);
        self.scopes.pop();
        outputs
    }
}
