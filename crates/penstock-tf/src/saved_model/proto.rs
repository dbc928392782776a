//! The messages of a SavedModel, as far as they are read. Everything borrows from the bytes of the file: a message is read
//! when it is needed, so that what nobody calls costs nothing.

use std::collections::BTreeMap;

use penstock_codec::tensor_proto::{elements, of_content, repeated};
use penstock_data::{DType, Dim, Error, Result, Shape, Tensor};
use penstock_wire::{Field, take_varint};

use crate::bundle::dtype_of;
use crate::damaged;
use crate::fields;

/// The section that errors name.
pub(super) const SECTION: &str = "saved_model.pb";

/// TensorFlow's number of variants: lists of tensors.
const VARIANT: u64 = 21;

/// Calls `visit` with each field of a message.
fn each<'a>(bytes: &'a [u8], visit: impl FnMut(u64, Field<'a>) -> Result<()>) -> Result<()> {
    fields(SECTION, bytes, visit)
}

/// The text of a field.
fn text(field: Field<'_>) -> Result<&str> {
    field.text().map_err(|e| damaged(SECTION, e))
}

/// The last field of a number, as messages have it where a field stands once.
fn last(bytes: &[u8], number: u64) -> Result<Option<Field<'_>>> {
    let mut found = None;
    each(bytes, |n, field| {
        if n == number {
            found = Some(field);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The bytes of a field that stands once; none where it is missing.
fn part(bytes: &[u8], number: u64) -> Result<&[u8]> {
    Ok(last(bytes, number)?.map_or(&[], Field::bytes))
}

/// All fields of a number, within `budget`.
fn parts<'a>(bytes: &'a [u8], number: u64, budget: &mut Budget) -> Result<Vec<&'a [u8]>> {
    let mut found = Vec::new();
    each(bytes, |n, field| {
        if n == number {
            budget.take(size_of::<&[u8]>())?;
            found.push(field.bytes());
        }
        Ok(())
    })?;
    Ok(found)
}

/// The memory that reading may take: a file of many empty messages would else take many times its size.
pub(super) struct Budget(usize);

impl Budget {
    /// For a file of so many bytes.
    pub(super) fn of(size: usize) -> Budget {
        Budget(size.saturating_mul(2).saturating_add(4096))
    }

    /// Takes so many bytes, twice over as vectors grow by doubling.
    ///
    /// # Errors
    /// `ResourceExhausted` where they are not left.
    pub(super) fn take(&mut self, bytes: usize) -> Result<()> {
        self.0 = self
            .0
            .checked_sub(bytes)
            .ok_or_else(|| Error::exhausted(format!("{SECTION}: it holds more parts than a file of its size")))?;
        Ok(())
    }
}

/// A graph with what belongs to it: `MetaGraphDef`.
pub(super) struct MetaGraph<'a> {
    /// The nodes of the graph outside of functions.
    pub(super) nodes: Vec<&'a [u8]>,
    /// Functions by name.
    pub(super) functions: BTreeMap<&'a str, &'a [u8]>,
    /// Signatures by name.
    pub(super) signatures: BTreeMap<&'a str, &'a [u8]>,
    /// Collections by name.
    pub(super) collections: BTreeMap<&'a str, &'a [u8]>,
    /// The functions that are gradients, by the name that a node has of its own.
    pub(super) gradients: BTreeMap<&'a str, &'a str>,
    /// The names of the files of assets.
    pub(super) assets: Vec<(&'a str, &'a str)>,
    /// The objects; none in models of TensorFlow 1.
    pub(super) objects: Vec<SavedObject<'a>>,
    /// What functions take and give, by name.
    pub(super) concrete: BTreeMap<&'a str, Concrete<'a>>,
    /// The tags.
    pub(super) tags: Vec<&'a str>,
}

/// Entries of a map from texts to messages.
fn map_entry(bytes: &[u8]) -> Result<(&str, &[u8])> {
    let key = last(bytes, 1)?.map_or(Ok(""), text)?;
    Ok((key, part(bytes, 2)?))
}

/// The graphs of a file.
///
/// # Errors
/// `InvalidArgument` for bytes that are no SavedModel; `ResourceExhausted` for one that is made to take memory.
pub(super) fn meta_graphs<'a>(bytes: &'a [u8], budget: &mut Budget) -> Result<Vec<MetaGraph<'a>>> {
    let graphs = parts(bytes, 2, budget)?;
    graphs.into_iter().map(|graph| MetaGraph::parse(graph, budget)).collect()
}

impl<'a> MetaGraph<'a> {
    fn parse(bytes: &'a [u8], budget: &mut Budget) -> Result<MetaGraph<'a>> {
        let mut out = MetaGraph {
            nodes: Vec::new(),
            functions: BTreeMap::new(),
            signatures: BTreeMap::new(),
            collections: BTreeMap::new(),
            gradients: BTreeMap::new(),
            assets: Vec::new(),
            objects: Vec::new(),
            concrete: BTreeMap::new(),
            tags: Vec::new(),
        };
        each(bytes, |number, field| {
            let inner = field.bytes();
            match number {
                1 => each(inner, |number, field| {
                    if number == 4 {
                        budget.take(size_of::<&str>())?;
                        out.tags.push(text(field)?);
                    }
                    Ok(())
                })?,
                2 => out.graph(inner, budget)?,
                4 | 5 => {
                    budget.take(size_of::<(&str, &[u8])>())?;
                    let (key, value) = map_entry(inner)?;
                    let map = if number == 4 { &mut out.collections } else { &mut out.signatures };
                    map.insert(key, value);
                }
                6 => {
                    budget.take(size_of::<(&str, &str)>())?;
                    out.assets.push(asset(inner)?);
                }
                7 => out.object_graph(inner, budget)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn graph(&mut self, bytes: &'a [u8], budget: &mut Budget) -> Result<()> {
        self.nodes = parts(bytes, 1, budget)?;
        let library = part(bytes, 2)?;
        for gradient in parts(library, 3, budget)? {
            budget.take(size_of::<(&str, &str)>())?;
            let name = last(gradient, 2)?.map_or(Ok(""), text)?;
            self.gradients.insert(name, last(gradient, 1)?.map_or(Ok(""), text)?);
        }
        for function in parts(library, 1, budget)? {
            budget.take(size_of::<(&str, &[u8])>())?;
            let name = last(part(function, 1)?, 1)?.map_or(Ok(""), text)?;
            self.functions.insert(name, function);
        }
        Ok(())
    }

    fn object_graph(&mut self, bytes: &'a [u8], budget: &mut Budget) -> Result<()> {
        for object in parts(bytes, 1, budget)? {
            budget.take(size_of::<SavedObject<'_>>())?;
            self.objects.push(SavedObject::parse(object, budget)?);
        }
        for entry in parts(bytes, 2, budget)? {
            budget.take(size_of::<(&str, Concrete<'_>)>())?;
            let (name, bytes) = map_entry(entry)?;
            let concrete =
                Concrete { bound: ints_of(bytes, 2, budget)?, input: part(bytes, 3)?, output: part(bytes, 4)? };
            self.concrete.insert(name, concrete);
        }
        let count = self.objects.len() as u64;
        let inside = self.objects.iter().all(|o| o.children.iter().all(|(_, id)| *id < count))
            && self.concrete.values().all(|c| c.bound.iter().all(|&id| u64::try_from(id).is_ok_and(|id| id < count)));
        if inside { Ok(()) } else { Err(damaged(SECTION, "an object owns one that does not exist")) }
    }
}

/// Integers of a field, packed or one by one.
fn ints_of(bytes: &[u8], number: u64, budget: &mut Budget) -> Result<Vec<i64>> {
    let mut out = Vec::new();
    each(bytes, |n, field| {
        if n == number {
            numbers(field, |value| {
                budget.take(size_of::<i64>())?;
                out.push(value as i64);
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(out)
}

/// The numbers of a repeated field: one, or packed ones.
fn numbers(field: Field<'_>, mut visit: impl FnMut(u64) -> Result<()>) -> Result<()> {
    match field {
        Field::Number(n) => visit(n),
        Field::Bytes(mut bytes) => {
            while !bytes.is_empty() {
                visit(take_varint(&mut bytes).ok_or_else(|| damaged(SECTION, "a list of numbers ends too early"))?)?;
            }
            Ok(())
        }
        Field::Fixed32(_) | Field::Fixed64(_) => Err(damaged(SECTION, "a number is of another kind")),
    }
}

/// What a function that objects own takes and gives.
pub(super) struct Concrete<'a> {
    /// The objects that it takes besides its arguments.
    pub(super) bound: Vec<i64>,
    /// The arguments: `(args, kwargs)`.
    pub(super) input: &'a [u8],
    /// The results.
    pub(super) output: &'a [u8],
}

/// An object: `SavedObject`.
pub(super) struct SavedObject<'a> {
    /// What it owns, by name.
    pub(super) children: Vec<(&'a str, u64)>,
    /// What it is.
    pub(super) kind: Kind<'a>,
}

/// What an object is.
pub(super) enum Kind<'a> {
    /// An object of Python, of a kind that has a name.
    User(&'a str),
    /// A file, by its number.
    Asset(u64),
    /// A function: the names of its traces, and `FunctionSpec`.
    Function(Vec<&'a str>, &'a [u8]),
    /// A variable.
    Variable(SavedVariable<'a>),
    /// A trace: its name, the names of its arguments, and `FunctionSpec`.
    Bare(&'a str, &'a [u8]),
    /// A constant, which a node of the graph has.
    Constant(&'a str),
    /// A resource that functions make.
    Resource,
    /// A value inside of a function, by its name there.
    Captured(&'a str),
    /// Something else.
    Other,
}

/// A variable: `SavedVariable`.
pub(super) struct SavedVariable<'a> {
    pub(super) dtype: u64,
    pub(super) shape: &'a [u8],
    pub(super) trainable: bool,
    pub(super) name: &'a str,
}

impl<'a> SavedObject<'a> {
    fn parse(bytes: &'a [u8], budget: &mut Budget) -> Result<SavedObject<'a>> {
        let mut out = SavedObject { children: Vec::new(), kind: Kind::Other };
        each(bytes, |number, field| {
            let inner = field.bytes();
            match number {
                1 => {
                    budget.take(size_of::<(&str, u64)>())?;
                    let id = last(inner, 1)?.map_or(0, Field::number);
                    out.children.push((last(inner, 2)?.map_or(Ok(""), text)?, id));
                }
                4 => out.kind = Kind::User(last(inner, 1)?.map_or(Ok(""), text)?),
                5 => out.kind = Kind::Asset(last(inner, 1)?.map_or(0, Field::number)),
                6 => {
                    let mut names = Vec::new();
                    each(inner, |number, field| {
                        if number == 1 {
                            budget.take(size_of::<&str>())?;
                            names.push(text(field)?);
                        }
                        Ok(())
                    })?;
                    out.kind = Kind::Function(names, part(inner, 2)?);
                }
                7 => {
                    let number = |n| Ok(last(inner, n)?.map_or(0, Field::number));
                    out.kind = Kind::Variable(SavedVariable {
                        dtype: number(1)?,
                        shape: part(inner, 2)?,
                        trainable: number(3)? != 0,
                        name: last(inner, 6)?.map_or(Ok(""), text)?,
                    });
                }
                8 => {
                    let name = last(inner, 1)?.map_or(Ok(""), text)?;
                    out.kind = Kind::Bare(name, part(inner, 4)?);
                }
                9 => out.kind = Kind::Constant(last(inner, 1)?.map_or(Ok(""), text)?),
                10 => out.kind = Kind::Resource,
                12 => out.kind = Kind::Captured(last(inner, 1)?.map_or(Ok(""), text)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(out)
    }
}

/// A node: `NodeDef`.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) op: &'a str,
    bytes: &'a [u8],
}

impl<'a> Node<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Node<'a>> {
        let mut out = Node { name: "", op: "", bytes };
        each(bytes, |number, field| {
            match number {
                1 => out.name = text(field)?,
                2 => out.op = text(field)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The values that it takes, then `^node` for the nodes that it waits for.
    pub(super) fn inputs(&self) -> Result<Vec<&'a str>> {
        let mut out = Vec::new();
        each(self.bytes, |number, field| {
            if number == 3 {
                out.push(text(field)?);
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// An attribute; `None` where it is not written, and has its default then.
    pub(super) fn attr(&self, name: &str) -> Result<Option<Attribute<'a>>> {
        let mut found = None;
        each(self.bytes, |number, field| {
            if number == 5 {
                let (key, value) = map_entry(field.bytes())?;
                if key == name {
                    found = Some(Attribute(value));
                }
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// The value of an attribute: `AttrValue`.
#[derive(Clone, Copy)]
pub(super) struct Attribute<'a>(&'a [u8]);

impl<'a> Attribute<'a> {
    pub(super) fn int(self) -> Result<i64> {
        Ok(last(self.0, 3)?.map_or(0, Field::number) as i64)
    }

    pub(super) fn float(self) -> Result<f32> {
        Ok(match last(self.0, 4)? {
            Some(Field::Fixed32(bits)) => f32::from_bits(bits),
            _ => 0.0,
        })
    }

    pub(super) fn flag(self) -> Result<bool> {
        Ok(last(self.0, 5)?.map_or(0, Field::number) != 0)
    }

    pub(super) fn str(self) -> Result<&'a str> {
        last(self.0, 2)?.map_or(Ok(""), text)
    }

    pub(super) fn dtype(self) -> Result<u64> {
        Ok(last(self.0, 6)?.map_or(0, Field::number))
    }

    pub(super) fn shape(self) -> Result<Shape> {
        shape(part(self.0, 7)?)
    }

    /// A constant.
    pub(super) fn tensor(self) -> Result<Constant> {
        constant(part(self.0, 8)?)
    }

    /// The name of a function.
    pub(super) fn function(self) -> Result<&'a str> {
        last(part(self.0, 10)?, 1)?.map_or(Ok(""), text)
    }

    /// The texts of a list.
    pub(super) fn strings(self) -> Result<Vec<&'a str>> {
        let mut out = Vec::new();
        each(part(self.0, 1)?, |number, field| {
            if number == 2 {
                out.push(text(field)?);
            }
            Ok(())
        })?;
        Ok(out)
    }

    pub(super) fn functions(self) -> Result<Vec<&'a str>> {
        let mut out = Vec::new();
        each(part(self.0, 1)?, |number, field| {
            if number == 9 {
                out.push(last(field.bytes(), 1)?.map_or(Ok(""), text)?);
            }
            Ok(())
        })?;
        Ok(out)
    }

    pub(super) fn ints(self) -> Result<Vec<i64>> {
        let list = part(self.0, 1)?;
        ints_of(list, 3, &mut Budget(list.len().saturating_mul(8)))
    }

    /// The shapes of a list.
    pub(super) fn shapes(self) -> Result<Vec<Shape>> {
        let mut out = Vec::new();
        each(part(self.0, 1)?, |number, field| {
            if number == 7 {
                out.push(shape(field.bytes())?);
            }
            Ok(())
        })?;
        Ok(out)
    }
}

/// The shape of a `TensorShapeProto`.
pub(super) fn shape(bytes: &[u8]) -> Result<Shape> {
    let (mut dims, mut unknown) = (Vec::new(), false);
    each(bytes, |number, field| {
        match number {
            2 => {
                penstock_data::check_rank(dims.len() + 1)?;
                let size = last(field.bytes(), 1)?.map_or(0, Field::number) as i64;
                dims.push(usize::try_from(size).map_or(Dim::Unknown, Dim::Known));
            }
            3 => unknown = field.number() != 0,
            _ => {}
        }
        Ok(())
    })?;
    Ok(if unknown { Shape::UNRANKED } else { Shape::new(dims) })
}

/// The value of a `TensorProto`.
pub(super) enum Constant {
    /// An array.
    Array(Tensor),
    /// An element, and the extents of an array of which it is every element: a few bytes may stand for a large array, which
    /// is made when it is needed.
    Splat(Tensor, Vec<i64>),
}

fn constant(bytes: &[u8]) -> Result<Constant> {
    let (mut number, mut dims, mut content): (u64, &[u8], &[u8]) = (0, &[], &[]);
    each(bytes, |n, field| {
        match n {
            1 => number = field.number(),
            2 => dims = field.bytes(),
            4 => content = field.bytes(),
            _ => {}
        }
        Ok(())
    })?;
    let dtype = dtype(number)?;
    let dims = shape(dims)?;
    let dims = dims.extents().ok_or_else(|| damaged(SECTION, "a constant has no shape"))?;
    let count = penstock_data::num_elements(&dims).ok_or_else(|| damaged(SECTION, "a constant is too large"))?;
    if !content.is_empty() {
        return of_content(dtype, &dims, content)
            .unwrap_or_else(|| Err(damaged(SECTION, "a constant has another size than its shape")))
            .map(Constant::Array);
    }
    let found = elements(bytes, dtype, &|why| damaged(SECTION, why))?;
    let given = found.len();
    if given > count {
        return Err(damaged(SECTION, "a constant has more elements than its shape"));
    }
    if given == count {
        return Ok(Constant::Array(found.reshaped(&dims)?));
    }
    if given <= 1 {
        let element = repeated(&found, &[], 1)?;
        let dims = dims.iter().map(|&d| d as i64).collect();
        return Ok(Constant::Splat(element, dims));
    }
    // The rest of the elements are as the last one: a file may say so of somewhat more than it holds.
    if count > given.saturating_mul(64).saturating_add(4096) {
        return Err(Error::exhausted(format!("{SECTION}: a constant of {count} elements, of which it holds {given}")));
    }
    repeated(&found, &dims, count).map(Constant::Array)
}

/// The dtype of TensorFlow's number.
///
/// # Errors
/// `Unimplemented` for one that there is not here.
pub(super) fn dtype(number: u64) -> Result<DType> {
    // References of TensorFlow 1 are the dtype plus 100.
    let number = if number > 100 { number - 100 } else { number };
    if number == VARIANT {
        return Ok(DType::Variant);
    }
    dtype_of(number).ok_or_else(|| Error::unimplemented(format!("TensorFlow's dtype {number}")))
}

/// A function: `FunctionDef`.
pub(super) struct FunctionDef<'a> {
    pub(super) name: &'a str,
    /// The arguments: name and dtype.
    pub(super) args: Vec<(&'a str, u64)>,
    /// The names of the results.
    pub(super) outputs: Vec<&'a str>,
    pub(super) nodes: Vec<Node<'a>>,
    /// The value that each result is.
    pub(super) returned: BTreeMap<&'a str, &'a str>,
    /// The nodes that run whatever the results need.
    pub(super) kept: Vec<&'a str>,
}

impl<'a> FunctionDef<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<FunctionDef<'a>> {
        let mut out = FunctionDef {
            name: "",
            args: Vec::new(),
            outputs: Vec::new(),
            nodes: Vec::new(),
            returned: BTreeMap::new(),
            kept: Vec::new(),
        };
        let mut budget = Budget::of(bytes.len());
        each(bytes, |number, field| {
            let inner = field.bytes();
            match number {
                1 => each(inner, |number, field| {
                    match number {
                        1 => out.name = text(field)?,
                        2 | 3 => {
                            budget.take(size_of::<(&str, u64)>())?;
                            let name = last(field.bytes(), 1)?.map_or(Ok(""), text)?;
                            match number {
                                2 => out.args.push((name, last(field.bytes(), 3)?.map_or(0, Field::number))),
                                _ => out.outputs.push(name),
                            }
                        }
                        _ => {}
                    }
                    Ok(())
                })?,
                3 => {
                    budget.take(size_of::<Node<'_>>())?;
                    out.nodes.push(Node::parse(inner)?);
                }
                4 | 6 => {
                    budget.take(size_of::<(&str, &str)>())?;
                    let key = last(inner, 1)?.map_or(Ok(""), text)?;
                    let value = last(inner, 2)?.map_or(Ok(""), text)?;
                    match number {
                        4 => drop(out.returned.insert(key, value)),
                        _ => out.kept.push(value),
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(out)
    }
}

/// A `StructuredValue`: nested arguments and results.
pub(super) enum Structured<'a> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'a str),
    DType(u64),
    Shape(Shape),
    /// Name, shape and dtype.
    Tensor(&'a str, Shape, u64),
    /// `RaggedTensorSpec`: shape, dtype, ragged rank, dtype of the splits.
    Ragged(Shape, u64, i64, u64),
    List(Vec<Structured<'a>>),
    Tuple(Vec<Structured<'a>>),
    Dict(BTreeMap<&'a str, Structured<'a>>),
    Named(&'a str, Vec<(&'a str, Structured<'a>)>),
    /// A type that there is not here, by name.
    Other(&'a str),
}

/// Nests go at most so deep.
const DEEPEST: usize = 64;

impl<'a> Structured<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Structured<'a>> {
        Structured::at(bytes, DEEPEST, &mut Budget(bytes.len().saturating_mul(16).saturating_add(4096)))
    }

    fn at(bytes: &'a [u8], depth: usize, budget: &mut Budget) -> Result<Structured<'a>> {
        let depth = depth.checked_sub(1).ok_or_else(|| damaged(SECTION, "arguments nest too deep"))?;
        let mut out = Structured::None;
        each(bytes, |number, field| {
            budget.take(size_of::<Structured<'_>>())?;
            let inner = field.bytes();
            let mut items = |number| -> Result<Vec<Structured<'a>>> {
                parts(inner, number, budget)?.into_iter().map(|item| Structured::at(item, depth, budget)).collect()
            };
            out = match number {
                1 => Structured::None,
                11 => match field {
                    Field::Fixed64(bits) => Structured::Float(f64::from_bits(bits)),
                    _ => return Err(damaged(SECTION, "a number is of another kind")),
                },
                12 => {
                    let zigzag = field.number();
                    Structured::Int((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
                }
                13 => Structured::Str(text(field)?),
                14 => Structured::Bool(field.number() != 0),
                31 => Structured::Shape(shape(inner)?),
                32 => Structured::DType(field.number()),
                33 | 35 => {
                    let name = last(inner, 1)?.map_or(Ok(""), text)?;
                    Structured::Tensor(name, shape(part(inner, 2)?)?, last(inner, 3)?.map_or(0, Field::number))
                }
                34 => Structured::type_spec(inner, depth, budget)?,
                51 => Structured::List(items(1)?),
                52 => Structured::Tuple(items(1)?),
                53 => {
                    let mut dict = BTreeMap::new();
                    for entry in parts(inner, 1, budget)? {
                        let (key, value) = map_entry(entry)?;
                        dict.insert(key, Structured::at(value, depth, budget)?);
                    }
                    Structured::Dict(dict)
                }
                54 => {
                    let name = last(inner, 1)?.map_or(Ok(""), text)?;
                    let mut pairs = Vec::new();
                    for entry in parts(inner, 2, budget)? {
                        let (key, value) = map_entry(entry)?;
                        pairs.push((key, Structured::at(value, depth, budget)?));
                    }
                    Structured::Named(name, pairs)
                }
                _ => Structured::Other("value of a later release"),
            };
            Ok(())
        })?;
        Ok(out)
    }

    fn type_spec(bytes: &'a [u8], depth: usize, budget: &mut Budget) -> Result<Structured<'a>> {
        let name = last(bytes, 3)?.map_or(Ok(""), text)?;
        let state = Structured::at(part(bytes, 2)?, depth, budget)?;
        // `TypeSpecProto.RAGGED_TENSOR_SPEC`.
        if last(bytes, 1)?.map_or(0, Field::number) == 3
            && let Structured::Tuple(parts) = state
            && let [
                Structured::Shape(shape),
                Structured::DType(dtype),
                Structured::Int(rank),
                Structured::DType(splits),
            ] = parts.as_slice()
        {
            return Ok(Structured::Ragged(shape.clone(), *dtype, *rank, *splits));
        }
        Ok(Structured::Other(name))
    }

    /// The entry of a named tuple.
    pub(super) fn field(&self, name: &str) -> Option<&Structured<'a>> {
        match self {
            Structured::Named(_, pairs) => pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The items of a list or tuple.
    pub(super) fn items(&self) -> &[Structured<'a>] {
        match self {
            Structured::List(items) | Structured::Tuple(items) => items,
            _ => &[],
        }
    }
}

/// `FunctionSpec`: `FullArgSpec`, whether the first argument is the object, and the signature.
pub(super) fn function_spec(bytes: &[u8]) -> Result<(Structured<'_>, bool, Structured<'_>)> {
    let method = last(bytes, 2)?.map_or(0, Field::number) != 0;
    Ok((Structured::parse(part(bytes, 1)?)?, method, Structured::parse(part(bytes, 5)?)?))
}

/// `SignatureDef`: inputs and outputs, `(key, name of the value, dtype, shape)`.
pub(super) type Port<'a> = (&'a str, &'a str, u64, Shape);

pub(super) fn signature(bytes: &[u8]) -> Result<(Vec<Port<'_>>, Vec<Port<'_>>)> {
    let (mut inputs, mut outputs) = (BTreeMap::new(), BTreeMap::new());
    each(bytes, |number, field| {
        if number == 1 || number == 2 {
            let (key, info) = map_entry(field.bytes())?;
            let name = last(info, 1)?.map_or(Ok(""), text)?;
            let port = (key, name, last(info, 2)?.map_or(0, Field::number), shape(part(info, 3)?)?);
            if number == 1 { &mut inputs } else { &mut outputs }.insert(key, port);
        }
        Ok(())
    })?;
    Ok((inputs.into_values().collect(), outputs.into_values().collect()))
}

/// The entries of a collection of messages or texts: `CollectionDef`.
pub(super) fn collection(bytes: &[u8]) -> Result<Vec<&[u8]>> {
    let mut budget = Budget::of(bytes.len());
    Ok([parts(part(bytes, 1)?, 1, &mut budget)?, parts(part(bytes, 2)?, 1, &mut budget)?].concat())
}

/// The assets of a collection, each wrapped in `Any`: the tensor that holds the path, and the name of the file.
pub(super) fn asset_collection(bytes: &[u8]) -> Result<Vec<(&str, &str)>> {
    let mut budget = Budget::of(bytes.len());
    let wrapped = parts(part(bytes, 5)?, 1, &mut budget)?;
    wrapped.into_iter().map(|any| asset(part(any, 2)?)).collect()
}

/// `AssetFileDef`: the tensor that holds the path, and the name of the file.
fn asset(bytes: &[u8]) -> Result<(&str, &str)> {
    let tensor = last(part(bytes, 1)?, 1)?.map_or(Ok(""), text)?;
    Ok((tensor, last(bytes, 2)?.map_or(Ok(""), text)?))
}

/// The name of a variable in a collection: of `VariableDef`, without the place of its output.
pub(super) fn variable_name(bytes: &[u8]) -> Result<&str> {
    let name = last(bytes, 1)?.map_or(Ok(""), text)?;
    Ok(name.split(':').next().unwrap_or(name))
}
