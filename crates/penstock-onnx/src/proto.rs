//! The messages of `onnx.proto`, as far as graphs are made of them. They borrow from the bytes of the file: tensors stay
//! encoded until they are asked for.

use penstock_data::{Error, Result};
use penstock_wire::{Field, take_varint};

/// Graphs nest at most so deep.
const MAX_NESTING: usize = 64;

/// Messages take at most so many times the memory of their bytes, beyond the allowance.
const GROWTH: usize = 4;
const ALLOWANCE: usize = 16 << 20;

pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the ONNX model is damaged: {what}"))
}

/// A model.
#[derive(Debug, Default)]
pub(crate) struct Model<'a> {
    pub(crate) opsets: Vec<(&'a str, i64)>,
    pub(crate) graph: Graph<'a>,
    pub(crate) functions: Vec<Function<'a>>,
}

/// A function of the model's own, which nodes call by domain and name.
#[derive(Debug, Default)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) opsets: Vec<(&'a str, i64)>,
    pub(crate) defaults: Vec<Attribute<'a>>,
}

#[derive(Debug, Default)]
pub(crate) struct Graph<'a> {
    pub(crate) name: &'a str,
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) initializers: Vec<Tensor<'a>>,
    pub(crate) sparse_initializers: Vec<SparseTensor<'a>>,
    pub(crate) inputs: Vec<ValueInfo<'a>>,
    pub(crate) outputs: Vec<ValueInfo<'a>>,
}

#[derive(Debug, Default)]
pub(crate) struct Node<'a> {
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) op: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

#[derive(Debug, Default)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    /// The attribute of the function around that it stands for.
    pub(crate) refers_to: &'a str,
    pub(crate) value: AttributeValue<'a>,
}

#[derive(Debug, Default)]
pub(crate) enum AttributeValue<'a> {
    #[default]
    None,
    Float(f32),
    Int(i64),
    Bytes(&'a [u8]),
    Tensor(Tensor<'a>),
    Sparse(Box<SparseTensor<'a>>),
    Graph(Box<Graph<'a>>),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<&'a [u8]>),
    /// Lists of tensors or graphs, and types, which no operator here takes.
    Other,
}

/// A tensor, still encoded: see `tensor.rs`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'a str,
    pub(crate) dims: Vec<i64>,
    pub(crate) dtype: u64,
    pub(crate) body: &'a [u8],
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SparseTensor<'a> {
    pub(crate) values: Tensor<'a>,
    pub(crate) indices: Tensor<'a>,
    pub(crate) dims: Vec<i64>,
}

#[derive(Debug, Default)]
pub(crate) struct ValueInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) ty: ValueType<'a>,
}

#[derive(Debug, Default)]
pub(crate) enum ValueType<'a> {
    /// Nothing is said.
    #[default]
    Unknown,
    Tensor(u64, Option<Vec<Extent<'a>>>),
    Sequence(Box<ValueType<'a>>),
    Optional(Box<ValueType<'a>>),
    /// Maps and sparse tensors.
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent<'a> {
    Known(usize),
    Named(&'a str),
    Unknown,
}

/// Reads messages, and counts the memory that they take.
struct Reader {
    left: usize,
    depth: usize,
}

/// The model in these bytes.
pub(crate) fn model(bytes: &[u8]) -> Result<Model<'_>> {
    let mut reader = Reader { left: bytes.len().saturating_mul(GROWTH).saturating_add(ALLOWANCE), depth: 0 };
    let mut model = Model::default();
    let mut has_graph = false;
    fields(bytes, |number, field| {
        match number {
            7 => {
                has_graph = true;
                model.graph = reader.graph(field.bytes())?;
            }
            8 => reader.push(&mut model.opsets, opset(field.bytes())?)?,
            25 => {
                let function = reader.function(field.bytes())?;
                reader.push(&mut model.functions, function)?;
            }
            _ => {}
        }
        Ok(())
    })?;
    match has_graph {
        true => Ok(model),
        false => Err(damaged("there is no graph in it")),
    }
}

/// A tensor in a file of its own, as the test data of ONNX are.
pub(crate) fn lone_tensor(bytes: &[u8]) -> Result<Tensor<'_>> {
    Reader { left: bytes.len().saturating_mul(GROWTH).saturating_add(ALLOWANCE), depth: 0 }.tensor(bytes)
}

pub(crate) fn fields<'a>(bytes: &'a [u8], visit: impl FnMut(u64, Field<'a>) -> Result<()>) -> Result<()> {
    penstock_wire::fields(bytes, |what| damaged(what), visit)
}

pub(crate) fn text<'a>(field: Field<'a>) -> Result<&'a str> {
    field.text().map_err(damaged)
}

fn opset(bytes: &[u8]) -> Result<(&str, i64)> {
    let (mut domain, mut version) = ("", 0);
    fields(bytes, |number, field| {
        match number {
            1 => domain = text(field)?,
            2 => version = field.number() as i64,
            _ => {}
        }
        Ok(())
    })?;
    Ok((if domain == "ai.onnx" { "" } else { domain }, version))
}

impl Reader {
    fn charge(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| damaged("it has far more parts than bytes"))?;
        Ok(())
    }

    fn push<T>(&mut self, list: &mut Vec<T>, item: T) -> Result<()> {
        self.charge(std::mem::size_of::<T>())?;
        list.push(item);
        Ok(())
    }

    /// Numbers, packed or one by one.
    fn ints(&mut self, list: &mut Vec<i64>, field: Field<'_>) -> Result<()> {
        match field {
            Field::Number(n) => self.push(list, n as i64),
            field => {
                let mut bytes = field.bytes();
                while !bytes.is_empty() {
                    let n = take_varint(&mut bytes).ok_or_else(|| damaged("a list of numbers ends too early"))?;
                    self.push(list, n as i64)?;
                }
                Ok(())
            }
        }
    }

    fn floats(&mut self, list: &mut Vec<f32>, field: Field<'_>) -> Result<()> {
        match field {
            Field::Fixed32(bits) => self.push(list, f32::from_bits(bits)),
            field => {
                let (numbers, rest) = field.bytes().as_chunks::<4>();
                if !rest.is_empty() {
                    return Err(damaged("a list of floats ends too early"));
                }
                numbers.iter().try_for_each(|&n| self.push(list, f32::from_le_bytes(n)))
            }
        }
    }

    fn function<'a>(&mut self, bytes: &'a [u8]) -> Result<Function<'a>> {
        let mut function = Function::default();
        fields(bytes, |number, field| {
            match number {
                1 => function.name = text(field)?,
                4 => self.push(&mut function.inputs, text(field)?)?,
                5 => self.push(&mut function.outputs, text(field)?)?,
                7 => {
                    let node = self.node(field.bytes())?;
                    self.push(&mut function.nodes, node)?;
                }
                9 => self.push(&mut function.opsets, opset(field.bytes())?)?,
                10 => function.domain = text(field)?,
                11 => {
                    let attribute = self.attribute(field.bytes())?;
                    self.push(&mut function.defaults, attribute)?;
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(function)
    }

    fn graph<'a>(&mut self, bytes: &'a [u8]) -> Result<Graph<'a>> {
        if self.depth == MAX_NESTING {
            return Err(damaged(format_args!("graphs nest more than {MAX_NESTING} deep")));
        }
        self.depth += 1;
        let mut graph = Graph::default();
        fields(bytes, |number, field| {
            let bytes = field.bytes();
            match number {
                1 => {
                    let node = self.node(bytes)?;
                    self.push(&mut graph.nodes, node)?;
                }
                2 => graph.name = text(field)?,
                5 => {
                    let tensor = self.tensor(bytes)?;
                    self.push(&mut graph.initializers, tensor)?;
                }
                11 => {
                    let info = self.value_info(bytes)?;
                    self.push(&mut graph.inputs, info)?;
                }
                12 => {
                    let info = self.value_info(bytes)?;
                    self.push(&mut graph.outputs, info)?;
                }
                15 => {
                    let tensor = self.sparse(bytes)?;
                    self.push(&mut graph.sparse_initializers, tensor)?;
                }
                _ => {}
            }
            Ok(())
        })?;
        self.depth -= 1;
        Ok(graph)
    }

    fn node<'a>(&mut self, bytes: &'a [u8]) -> Result<Node<'a>> {
        let mut node = Node::default();
        fields(bytes, |number, field| {
            match number {
                1 => self.push(&mut node.inputs, text(field)?)?,
                2 => self.push(&mut node.outputs, text(field)?)?,
                3 => node.name = text(field)?,
                4 => node.op = text(field)?,
                5 => {
                    let attribute = self.attribute(field.bytes())?;
                    self.push(&mut node.attributes, attribute)?;
                }
                7 => node.domain = text(field)?,
                _ => {}
            }
            Ok(())
        })?;
        if node.domain == "ai.onnx" {
            node.domain = "";
        }
        Ok(node)
    }

    fn attribute<'a>(&mut self, bytes: &'a [u8]) -> Result<Attribute<'a>> {
        let mut attribute = Attribute::default();
        let mut kind = 0;
        let (mut float, mut int, mut bytes_value): (f32, i64, &[u8]) = (0.0, 0, &[]);
        let (mut floats, mut ints, mut strings) = (Vec::new(), Vec::new(), Vec::new());
        let mut other = AttributeValue::None;
        fields(bytes, |number, field| {
            match number {
                1 => attribute.name = text(field)?,
                2 => {
                    if let Field::Fixed32(bits) = field {
                        float = f32::from_bits(bits);
                    }
                }
                3 => int = field.number() as i64,
                4 => bytes_value = field.bytes(),
                5 => other = AttributeValue::Tensor(self.tensor(field.bytes())?),
                6 => {
                    self.charge(std::mem::size_of::<Graph<'_>>())?;
                    other = AttributeValue::Graph(Box::new(self.graph(field.bytes())?));
                }
                7 => self.floats(&mut floats, field)?,
                8 => self.ints(&mut ints, field)?,
                9 => self.push(&mut strings, field.bytes())?,
                20 => kind = field.number(),
                21 => attribute.refers_to = text(field)?,
                22 => {
                    self.charge(std::mem::size_of::<SparseTensor<'_>>())?;
                    other = AttributeValue::Sparse(Box::new(self.sparse(field.bytes())?));
                }
                _ => {}
            }
            Ok(())
        })?;
        // Files of the first versions do not say the kind.
        if kind == 0 && matches!(other, AttributeValue::None) {
            kind = match () {
                () if !floats.is_empty() => 6,
                () if !ints.is_empty() => 7,
                () if !strings.is_empty() => 8,
                () if !bytes_value.is_empty() => 3,
                () if float != 0.0 => 1,
                () => 2,
            };
        }
        attribute.value = match kind {
            1 => AttributeValue::Float(float),
            2 => AttributeValue::Int(int),
            3 => AttributeValue::Bytes(bytes_value),
            6 => AttributeValue::Floats(floats),
            7 => AttributeValue::Ints(ints),
            8 => AttributeValue::Strings(strings),
            0 | 4 | 5 | 11 => other,
            _ => AttributeValue::Other,
        };
        Ok(attribute)
    }

    fn tensor<'a>(&mut self, bytes: &'a [u8]) -> Result<Tensor<'a>> {
        let mut tensor = Tensor { body: bytes, ..Tensor::default() };
        fields(bytes, |number, field| {
            match number {
                1 => self.ints(&mut tensor.dims, field)?,
                2 => tensor.dtype = field.number(),
                8 => tensor.name = text(field)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(tensor)
    }

    fn sparse<'a>(&mut self, bytes: &'a [u8]) -> Result<SparseTensor<'a>> {
        let mut sparse = SparseTensor::default();
        fields(bytes, |number, field| {
            match number {
                1 => sparse.values = self.tensor(field.bytes())?,
                2 => sparse.indices = self.tensor(field.bytes())?,
                3 => self.ints(&mut sparse.dims, field)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(sparse)
    }

    fn value_info<'a>(&mut self, bytes: &'a [u8]) -> Result<ValueInfo<'a>> {
        let mut info = ValueInfo::default();
        fields(bytes, |number, field| {
            match number {
                1 => info.name = text(field)?,
                2 => info.ty = self.value_type(field.bytes(), 0)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(info)
    }

    fn value_type<'a>(&mut self, bytes: &'a [u8], depth: usize) -> Result<ValueType<'a>> {
        if depth > MAX_NESTING {
            return Err(damaged("types nest too deep"));
        }
        let mut ty = ValueType::Unknown;
        fields(bytes, |number, field| {
            ty = match number {
                1 => self.tensor_type(field.bytes())?,
                4 | 9 => {
                    self.charge(std::mem::size_of::<ValueType<'_>>())?;
                    let mut of = ValueType::Unknown;
                    fields(field.bytes(), |number, field| {
                        if number == 1 {
                            of = self.value_type(field.bytes(), depth + 1)?;
                        }
                        Ok(())
                    })?;
                    if number == 4 { ValueType::Sequence(Box::new(of)) } else { ValueType::Optional(Box::new(of)) }
                }
                5 | 7 | 8 => ValueType::Other,
                _ => return Ok(()),
            };
            Ok(())
        })?;
        Ok(ty)
    }

    fn tensor_type<'a>(&mut self, bytes: &'a [u8]) -> Result<ValueType<'a>> {
        let (mut dtype, mut extents) = (0, None);
        fields(bytes, |number, field| {
            match number {
                1 => dtype = field.number(),
                2 => {
                    let mut list = Vec::new();
                    fields(field.bytes(), |number, field| {
                        if number == 1 {
                            let extent = extent(field.bytes())?;
                            self.push(&mut list, extent)?;
                        }
                        Ok(())
                    })?;
                    extents = Some(list);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(ValueType::Tensor(dtype, extents))
    }
}

fn extent(bytes: &[u8]) -> Result<Extent<'_>> {
    let mut extent = Extent::Unknown;
    fields(bytes, |number, field| {
        match number {
            1 => extent = usize::try_from(field.number() as i64).map_or(Extent::Unknown, Extent::Known),
            2 => {
                // Some writers have a question mark where there is no name.
                extent = match text(field)? {
                    "" | "?" => Extent::Unknown,
                    name => Extent::Named(name),
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(extent)
}
