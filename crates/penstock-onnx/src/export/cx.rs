//! What a handler works with: the instruction, its operands, and short ways to build nodes.

use std::collections::{BTreeMap, HashMap, HashSet};

use penstock_data::{DType, DTypeSet, Error, Loc, Result, Shape, Tensor};
use penstock_exec::{StdEnv, eager};
use penstock_ir::{Attrs, Graph, InstData, Type};

use super::lists::List;
use super::message::{self, Name, Node, Port, Value};

/// What is computed while a model is written is at most so great.
const FOLDED_BYTES: usize = 1 << 20;

static ENV: StdEnv = StdEnv::new(0);

/// A tensor of the model, or a constant that becomes one where a node takes it.
#[derive(Clone, Debug)]
pub(crate) struct X {
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
    /// The value, where it is a constant.
    pub(crate) known: Option<Tensor>,
    name: Option<Name>,
}

impl X {
    pub(crate) fn constant(value: Tensor) -> X {
        X { dtype: value.dtype(), shape: Shape::known(value.dims()), known: Some(value), name: None }
    }

    pub(crate) fn named(name: Name, ty: &Type) -> X {
        X { dtype: ty.dtype(), shape: ty.shape().clone(), known: None, name: Some(name) }
    }

    pub(crate) fn ints(values: &[i64]) -> X {
        X::constant(Tensor::vector(values))
    }

    pub(crate) fn int(value: i64) -> X {
        X::constant(Tensor::from(value))
    }

    /// The number of dimensions.
    ///
    /// # Errors
    /// `Unimplemented` where it is not known.
    pub(crate) fn rank(&self) -> Result<usize> {
        self.shape.rank().ok_or_else(|| Error::unimplemented("the rank of an operand is not known"))
    }

    /// The integers of a constant.
    pub(crate) fn known_ints(&self) -> Option<Vec<i64>> {
        Some(self.known.as_ref()?.to_ints().ok()?.to_vec())
    }

    /// The same value, of which more is known.
    pub(crate) fn of(mut self, ty: &Type) -> X {
        if self.known.is_none() {
            self.shape = ty.shape().clone();
        }
        self
    }
}

/// What a value of the graph is in the model.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Tensor(X),
    List(List),
    /// What an instruction gives that cannot be written.
    Refused,
}

impl From<X> for Item {
    fn from(x: X) -> Item {
        Item::Tensor(x)
    }
}

pub(crate) type Items = Result<Vec<Item>>;

/// A handler: emits the nodes of an instruction, and gives what its results are.
pub(crate) type Handler = fn(&mut Cx<'_, '_>) -> Items;

/// One tensor as the results.
pub(crate) fn one(x: X) -> Items {
    Ok(vec![x.into()])
}

/// A model that is written.
#[derive(Default)]
pub(crate) struct Exporter {
    /// The nodes of the graphs that are open, the innermost last.
    blocks: Vec<Vec<Node>>,
    pub(crate) initializers: Vec<(Name, Tensor)>,
    /// Small constants by dtype, shape and bytes.
    constants: HashMap<(DType, Vec<usize>, Vec<u8>), Name>,
    names: HashSet<Name>,
    count: usize,
    /// What cannot be written: each reason with the places.
    pub(crate) refused: BTreeMap<String, Vec<Loc>>,
    /// The functions that are being inlined.
    pub(crate) open: Vec<*const penstock_ir::Function>,
}

impl Exporter {
    /// A name that no other value has; `wanted` where it is free.
    pub(crate) fn name(&mut self, wanted: &str) -> Name {
        let mut name: Name = wanted.into();
        while name.is_empty() || !self.names.insert(name.clone()) {
            self.count += 1;
            let front = if wanted.is_empty() { "v" } else { wanted };
            name = format!("{front}_{}", self.count).into();
        }
        name
    }

    /// The name by which nodes take a tensor.
    pub(crate) fn input(&mut self, x: &X) -> Name {
        if let Some(name) = &x.name {
            return name.clone();
        }
        let Some(value) = &x.known else { return "".into() };
        let key = (value.byte_len() <= 64 && value.dtype() != DType::Str)
            .then(|| (value.dtype(), value.dims().to_vec(), value.bytes().to_vec()));
        if let Some(name) = key.as_ref().and_then(|key| self.constants.get(key)) {
            return name.clone();
        }
        let name = self.name("");
        self.initializers.push((name.clone(), value.clone()));
        if let Some(key) = key {
            self.constants.insert(key, name.clone());
        }
        name
    }

    pub(crate) fn push(&mut self, node: Node) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(node);
        }
    }

    /// Begins the nodes of a graph of their own.
    pub(crate) fn open_block(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Goes on with nodes that [`Exporter::close_block`] gave.
    pub(crate) fn resume_block(&mut self, nodes: Vec<Node>) {
        self.blocks.push(nodes);
    }

    /// The nodes since [`Exporter::open_block`].
    pub(crate) fn close_block(&mut self) -> Vec<Node> {
        self.blocks.pop().unwrap_or_default()
    }

    pub(crate) fn refuse(&mut self, reason: String, loc: Loc) {
        let places = self.refused.entry(reason).or_default();
        if !places.contains(&loc) {
            places.push(loc);
        }
    }

    /// A node with one result.
    pub(crate) fn node(&mut self, op: &'static str, inputs: &[&X], attrs: Vec<(&'static str, Value)>, ty: Type) -> X {
        let inputs = inputs.iter().map(|x| self.input(x)).collect();
        let out = self.name("");
        self.push(Node { op, inputs, outputs: vec![out.clone()], attrs });
        X::named(out, &ty)
    }
}

/// The dtypes of the first operand that an operator of ONNX takes, those of operator set 21.
fn dtypes_of(op: &str) -> DTypeSet {
    use DType::{Bf16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    const PLAIN_FLOAT: DTypeSet = DTypeSet::of(&[F16, F32, F64]);
    const SIGNED: DTypeSet = DTypeSet::of(&[I8, I16, I32, I64, Bf16, F16, F32, F64]);
    const WIDE: DTypeSet = DTypeSet::of(&[U32, U64, I32, I64, Bf16, F16, F32, F64]);
    const UNSIGNED: DTypeSet = DTypeSet::of(&[U8, U16, U32, U64]);
    match op {
        "Acos" | "Acosh" | "Asin" | "Asinh" | "Atan" | "Atanh" | "Cos" | "Cosh" | "Sin" | "Sinh" | "Tan" | "Elu"
        | "Selu" | "Softsign" | "Softplus" | "Round" | "Det" | "AveragePool" | "Conv" | "ConvTranspose" => PLAIN_FLOAT,
        "Exp" | "Log" | "Sqrt" | "Reciprocal" | "Sigmoid" | "Tanh" | "Floor" | "Ceil" | "IsNaN" | "IsInf"
        | "Softmax" | "LogSoftmax" => DTypeSet::FLOAT,
        "Neg" | "Relu" => SIGNED,
        "ReduceSum" | "ReduceProd" | "ReduceMean" | "ReduceLogSumExp" | "MatMul" | "CumSum" => WIDE,
        "ReduceMax" | "ReduceMin" => WIDE.or(DTypeSet::of(&[U8, I8, Bool])),
        "Pow" => DTypeSet::of(&[I32, I64, Bf16, F16, F32, F64]),
        "TopK" => DTypeSet::of(&[U8, U16, U32, U64, I8, I16, I32, I64, F16, F32, F64]),
        "Range" => DTypeSet::of(&[F32, F64, I16, I32, I64]),
        // Of the dtypes that ONNX allows those that implementations have.
        "Unique" => DTypeSet::of(&[F32, F64, I8, I64]).or(DTypeSet::STR),
        "MaxPool" => DTypeSet::of(&[F16, F32, F64, I8, U8]),
        "BitShift" => UNSIGNED,
        "BitwiseNot" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" => DTypeSet::INTEGER,
        "Equal" => DTypeSet::REAL.or(DTypeSet::BOOL).or(DTypeSet::STR),
        "Not" | "And" | "Or" | "Xor" => DTypeSet::BOOL,
        "Add" | "Sub" | "Mul" | "Div" | "Abs" | "Sign" | "Mod" | "Max" | "Min" | "Erf" | "Less" | "LessOrEqual"
        | "Greater" | "GreaterOrEqual" | "ArgMax" | "ArgMin" => DTypeSet::REAL,
        _ => DTypeSet::PLAIN.or(DTypeSet::STR),
    }
}

/// The dtypes that hold all values of a dtype, from the narrowest on.
fn wider(dtype: DType) -> &'static [DType] {
    use DType::{Bf16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32};
    match dtype {
        Bf16 | F16 => &[F32, F64],
        F32 => &[F64],
        I8 | U8 => &[I16, I32, I64],
        I16 | U16 => &[I32, I64],
        I32 | U32 => &[I64],
        Bool => &[U8, I32],
        _ => &[],
    }
}

/// The dtype in which an operator works on operands of `dtype`.
///
/// # Errors
/// `Unimplemented` where there is none.
pub(crate) fn working(op: &str, dtype: DType) -> Result<DType> {
    let allowed = dtypes_of(op);
    let found = std::iter::once(&dtype).chain(wider(dtype)).find(|&&d| allowed.contains(d));
    found
        .copied()
        .ok_or_else(|| Error::unimplemented(format!("{op} of ONNX does not take the dtype {}", dtype.tf_name())))
}

pub(crate) struct Cx<'a, 'g> {
    pub(crate) exporter: &'a mut Exporter,
    pub(crate) graph: &'g Graph,
    pub(crate) data: &'g InstData,
    pub(crate) operands: Vec<Item>,
}

impl<'g> Cx<'_, 'g> {
    // --- operands and attributes ---

    pub(crate) fn attrs(&self) -> &'g Attrs {
        &self.data.attrs
    }

    /// Operand `index`, a tensor.
    pub(crate) fn x(&self, index: usize) -> Result<X> {
        match self.operands.get(index) {
            Some(Item::Tensor(x)) => Ok(x.clone()),
            _ => Err(Error::unimplemented("a list in place of a tensor cannot be written")),
        }
    }

    pub(crate) fn all(&self) -> Result<Vec<X>> {
        (0..self.operands.len()).map(|i| self.x(i)).collect()
    }

    /// The type of a result.
    pub(crate) fn out(&self, index: usize) -> &'g Type {
        self.graph.ty(self.data.results[index])
    }

    /// An axis from the front.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let from_front = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(from_front).map_err(|_| Error::invalid(format!("axis {axis} is out of range")))
    }

    // --- nodes ---

    /// A node whose result is of a dtype, whatever it takes.
    pub(crate) fn raw(
        &mut self,
        op: &'static str,
        inputs: &[&X],
        attrs: Vec<(&'static str, Value)>,
        dtype: DType,
    ) -> X {
        self.exporter.node(op, inputs, attrs, Type::tensor(dtype, Shape::UNRANKED))
    }

    /// A node with several results, of these dtypes.
    pub(crate) fn many(
        &mut self,
        op: &'static str,
        inputs: &[&X],
        attrs: Vec<(&'static str, Value)>,
        dtypes: &[DType],
    ) -> Vec<X> {
        let inputs = inputs.iter().map(|x| self.exporter.input(x)).collect();
        let outputs: Vec<Name> = dtypes.iter().map(|_| self.exporter.name("")).collect();
        self.exporter.push(Node { op, inputs, outputs: outputs.clone(), attrs });
        let named = |(name, &dtype)| X::named(name, &Type::tensor(dtype, Shape::UNRANKED));
        outputs.into_iter().zip(dtypes).map(named).collect()
    }

    /// A node whose operands and result are of one dtype, by way of a wider one where the operator does not take it.
    pub(crate) fn math(&mut self, op: &'static str, inputs: &[&X]) -> Result<X> {
        self.math_with(op, inputs, 0, vec![])
    }

    /// As [`Cx::math`], with attributes and `others` operands behind that are of other dtypes.
    pub(crate) fn math_with(
        &mut self,
        op: &'static str,
        inputs: &[&X],
        others: usize,
        attrs: Vec<(&'static str, Value)>,
    ) -> Result<X> {
        let dtype = inputs[0].dtype;
        let due = working(op, dtype)?;
        let (own, rest) = inputs.split_at(inputs.len() - others);
        let own: Vec<X> = own.iter().map(|x| self.cast(x, due)).collect();
        let all: Vec<&X> = own.iter().chain(rest.iter().copied()).collect();
        let y = self.raw(op, &all, attrs, due);
        let mut y = self.cast(&y, dtype);
        // Elementwise operators keep a shape that all operands have.
        if others == 0 && inputs.iter().all(|x| x.shape == inputs[0].shape) {
            y.shape = inputs[0].shape.clone();
        }
        Ok(y)
    }

    /// A node that compares operands of one dtype.
    pub(crate) fn test(&mut self, op: &'static str, inputs: &[&X]) -> Result<X> {
        let due = working(op, inputs[0].dtype)?;
        let inputs: Vec<X> = inputs.iter().map(|x| self.cast(x, due)).collect();
        Ok(self.raw(op, &inputs.iter().collect::<Vec<_>>(), vec![], DType::Bool))
    }

    pub(crate) fn cast(&mut self, x: &X, dtype: DType) -> X {
        if x.dtype == dtype {
            return x.clone();
        }
        let op = &penstock_ops::cast::CAST;
        if let Some(known) = &x.known
            && let Ok(attrs) = op.attributes(&[("dtype", dtype.into())])
            && let Ok(cast) = eager(op, &[known], &attrs, &ENV)
        {
            return X::constant(cast[0].clone());
        }
        let mut y = self.raw("Cast", &[x], vec![("to", dtype.into())], dtype);
        y.shape = x.shape.clone();
        y
    }

    pub(crate) fn select(&mut self, condition: &X, x: &X, y: &X) -> X {
        self.raw("Where", &[condition, x, y], vec![], x.dtype)
    }

    /// A scalar of a dtype.
    pub(crate) fn scalar(&mut self, dtype: DType, value: f64) -> X {
        match dtype {
            DType::Str => X::constant(Tensor::from_strings(&[], vec![b"".as_slice().into()]).unwrap_or(value.into())),
            _ => self.cast(&X::constant(Tensor::from(value)), dtype),
        }
    }

    /// A scalar of the dtype of a tensor.
    pub(crate) fn like(&mut self, x: &X, value: f64) -> X {
        self.scalar(x.dtype, value)
    }

    /// `op` of a tensor and a number.
    pub(crate) fn with(&mut self, op: &'static str, x: &X, value: f64) -> Result<X> {
        let y = self.like(x, value);
        self.math(op, &[x, &y])
    }

    /// A vector of sizes or indices, in `int64`.
    pub(crate) fn index(&mut self, x: &X) -> X {
        self.cast(x, DType::I64)
    }

    /// The extents, an `int64` vector.
    pub(crate) fn shape(&mut self, x: &X) -> X {
        match x.shape.extents() {
            Some(extents) => X::ints(&extents.iter().map(|&n| n as i64).collect::<Vec<_>>()),
            None => self.raw("Shape", &[x], vec![], DType::I64),
        }
    }

    /// One extent, an `int64` vector of one element. The axis is from the front.
    pub(crate) fn extent(&mut self, x: &X, axis: usize) -> X {
        match x.shape.dims().and_then(|dims| dims.get(axis)?.known()) {
            Some(n) => X::ints(&[n as i64]),
            None => {
                let (start, end) = ((axis as i64).into(), (axis as i64 + 1).into());
                self.raw("Shape", &[x], vec![("start", start), ("end", end)], DType::I64)
            }
        }
    }

    /// Vectors of `int64` one after the other.
    pub(crate) fn joined(&mut self, parts: &[X]) -> X {
        let known: Option<Vec<Vec<i64>>> = parts.iter().map(X::known_ints).collect();
        match known {
            Some(known) => X::ints(&known.concat()),
            None => self.raw("Concat", &parts.iter().collect::<Vec<_>>(), vec![("axis", 0i64.into())], DType::I64),
        }
    }

    pub(crate) fn reshape(&mut self, x: &X, shape: &X) -> X {
        self.raw("Reshape", &[x, shape], vec![("allowzero", 1i64.into())], x.dtype)
    }

    /// All elements in a row.
    pub(crate) fn flat(&mut self, x: &X) -> X {
        let mut y = self.raw("Reshape", &[x, &X::ints(&[-1])], vec![], x.dtype);
        y.shape = Shape::new([penstock_data::Dim::Unknown]);
        y
    }

    pub(crate) fn unsqueeze(&mut self, x: &X, axes: &[i64]) -> X {
        self.raw("Unsqueeze", &[x, &X::ints(axes)], vec![], x.dtype)
    }

    pub(crate) fn squeeze(&mut self, x: &X, axes: &[i64]) -> X {
        self.raw("Squeeze", &[x, &X::ints(axes)], vec![], x.dtype)
    }

    pub(crate) fn transpose(&mut self, x: &X, perm: &[usize]) -> X {
        if perm.iter().enumerate().all(|(i, &p)| i == p) {
            return x.clone();
        }
        let list: Vec<i64> = perm.iter().map(|&p| p as i64).collect();
        let op = &penstock_ops::shape_ops::TRANSPOSE;
        if let Some(known) = &x.known
            && let Ok(attrs) = op.attributes(&[("perm", list.as_slice().into())])
            && let Ok(moved) = eager(op, &[known], &attrs, &ENV)
        {
            return X::constant(moved[0].clone());
        }
        let mut y = self.raw("Transpose", &[x], vec![("perm", list.into())], x.dtype);
        if let Some(dims) = x.shape.dims() {
            y.shape = Shape::new(perm.iter().map(|&p| dims[p]));
        }
        y
    }

    /// An array of one value.
    pub(crate) fn fill(&mut self, shape: &X, value: &X) -> X {
        self.raw("Expand", &[value, shape], vec![], value.dtype)
    }

    pub(crate) fn concat(&mut self, parts: &[&X], axis: i64) -> X {
        match parts {
            [one] => (*one).clone(),
            parts => self.raw("Concat", parts, vec![("axis", axis.into())], parts[0].dtype),
        }
    }

    pub(crate) fn gather(&mut self, x: &X, indices: &X, axis: i64) -> X {
        self.raw("Gather", &[x, indices], vec![("axis", axis.into())], x.dtype)
    }

    /// Reduces axes, which may be none.
    pub(crate) fn reduce(&mut self, op: &'static str, x: &X, axes: Option<&[i64]>, keepdims: bool) -> Result<X> {
        let attrs = vec![("keepdims", keepdims.into())];
        match axes {
            Some([]) => Ok(x.clone()),
            Some(axes) => self.math_with(op, &[x, &X::ints(axes)], 1, attrs),
            None => self.math_with(op, &[x], 0, attrs),
        }
    }

    /// The numbers from 0 up to an `int64` scalar.
    pub(crate) fn iota(&mut self, count: &X) -> X {
        self.raw("Range", &[&X::int(0), count, &X::int(1)], vec![], DType::I64)
    }

    /// The only element of a vector as a scalar.
    pub(crate) fn element(&mut self, x: &X) -> X {
        match x.known_ints() {
            Some(known) if known.len() == 1 => X::int(known[0]),
            _ => {
                let mut y = self.raw("Reshape", &[x, &X::ints(&[])], vec![], x.dtype);
                y.shape = Shape::scalar();
                y
            }
        }
    }

    /// The results of an instruction on constants.
    pub(crate) fn fold(&self) -> Option<Vec<Item>> {
        let op = self.data.op.0;
        let known: Vec<&Tensor> = self
            .operands
            .iter()
            .map(|item| match item {
                Item::Tensor(x) => x.known.as_ref(),
                _ => None,
            })
            .collect::<Option<_>>()?;
        if known.is_empty() || !op.is_pure() || !self.data.regions.is_empty() {
            return None;
        }
        let given: usize = known.iter().map(|t| t.byte_len()).sum();
        let mut made = 0usize;
        for (i, _) in self.data.results.iter().enumerate() {
            let ty = self.out(i);
            if ty.dtype() == DType::Variant || ty.dtype() == DType::Resource {
                return None;
            }
            made = made.checked_add(ty.shape().num_elements()?.checked_mul(ty.dtype().size().max(1))?)?;
        }
        if made > FOLDED_BYTES.max(given) {
            return None;
        }
        let results = eager(op, &known, &self.data.attrs, &ENV).ok()?;
        Some(results.into_iter().map(|t| X::constant(t).into()).collect())
    }
}

/// What is said of a tensor that a graph takes or gives.
pub(crate) fn port(name: Name, ty: &Type) -> Port {
    Port { name, dtype: ty.dtype(), shape: ty.shape().clone(), is_sequence: false }
}

/// What is said of one within a loop or branch, where symbols of sizes mean nothing.
pub(crate) fn inner_port(name: Name, ty: &Type) -> Port {
    Port { shape: ty.shape().erased(), ..port(name, ty) }
}

/// A graph that is an attribute.
pub(crate) fn body(exporter: &mut Exporter, nodes: Vec<Node>, inputs: Vec<Port>, outputs: Vec<Port>) -> Value {
    let name = exporter.name("body").to_string();
    message::Graph { name, nodes, inputs, outputs, initializers: vec![] }.into()
}
