//! What a handler works with: the node, its operands, and short ways to build instructions.
//!
//! Instructions on constants are computed at once, so that axes, sizes and whole computations of shapes are constants
//! wherever they can be.

use penstock_data::{DType, Dim, Error, Result, Shape, Tensor};
use penstock_exec::{StdEnv, eager};
use penstock_ir::{Attr, Attrs, Def, Element, GraphValues, InferCx, KnownValues, OpDef, OpSet, Region, Type, Value};
use penstock_ops::Ops;
use penstock_ops::array::{RANK, SHAPE, SIZE};
use smallvec::SmallVec;

use crate::import::Importer;
use crate::proto::{AttributeValue, Graph, Node};

/// What is computed while a model is read is at most so great, or as great as its operands.
const FOLDED_BYTES: usize = 1 << 20;

static ENV: StdEnv = StdEnv::new(0);

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// An operand that is left out, or an optional without a value.
    None,
    /// A tensor.
    Tensor(Value),
    /// A sequence: a list with what is known of its elements.
    List { value: Value, dtype: DType, shape: Shape },
}

impl From<Value> for Item {
    fn from(value: Value) -> Item {
        Item::Tensor(value)
    }
}

/// The result of a handler.
pub(crate) type Outputs = Result<Vec<Item>>;

/// A handler: emits the instructions of a node.
pub(crate) type Handler = for<'i, 'm> fn(&mut Cx<'i, 'm>) -> Outputs;

/// One tensor as the outputs.
pub(crate) fn one(value: Value) -> Outputs {
    Ok(vec![value.into()])
}

pub(crate) struct Cx<'i, 'm> {
    pub(crate) importer: &'i mut Importer<'m>,
    pub(crate) node: &'m Node<'m>,
    pub(crate) inputs: Vec<Item>,
    /// The version of the operator set.
    pub(crate) version: i64,
}

/// Constant operands.
struct Constants<'a>(&'a [&'a Tensor]);

impl KnownValues for Constants<'_> {
    fn constant(&self, index: usize) -> Option<Tensor> {
        self.0.get(index).map(|&t| t.clone())
    }
}

/// A size: known, or computed at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    Known(i64),
    Value(Value),
}

impl From<i64> for Size {
    fn from(n: i64) -> Size {
        Size::Known(n)
    }
}

impl<'m> Cx<'_, 'm> {
    // --- operands and attributes ---

    /// Operand `index`, which must be there.
    pub(crate) fn x(&self, index: usize) -> Result<Value> {
        match self.inputs.get(index) {
            Some(Item::Tensor(value)) => Ok(*value),
            Some(Item::List { .. }) => Err(Error::invalid(format!("operand {index} is a sequence"))),
            _ => Err(Error::invalid(format!("operand {index} is missing"))),
        }
    }

    pub(crate) fn opt(&self, index: usize) -> Option<Value> {
        match self.inputs.get(index) {
            Some(Item::Tensor(value)) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn all(&self) -> Result<Vec<Value>> {
        (0..self.inputs.len()).map(|i| self.x(i)).collect()
    }

    /// Whether output `index` is asked for.
    pub(crate) fn wants(&self, index: usize) -> bool {
        self.node.outputs.get(index).is_some_and(|name| !name.is_empty())
    }

    pub(crate) fn attr(&self, name: &str) -> Option<&'m AttributeValue<'m>> {
        self.importer.attribute(self.node, name)
    }

    pub(crate) fn int(&self, name: &str, default: i64) -> i64 {
        self.opt_int(name).unwrap_or(default)
    }

    pub(crate) fn opt_int(&self, name: &str) -> Option<i64> {
        match self.attr(name) {
            Some(AttributeValue::Int(n)) => Some(*n),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, name: &str, default: bool) -> bool {
        self.int(name, default.into()) != 0
    }

    pub(crate) fn float(&self, name: &str, default: f64) -> f64 {
        self.opt_float(name).unwrap_or(default)
    }

    pub(crate) fn opt_float(&self, name: &str) -> Option<f64> {
        match self.attr(name) {
            // The shortest decimal that is this float: 0.1 as a double, not what lies next to it.
            Some(AttributeValue::Float(x)) => Some(x.to_string().parse().unwrap_or(f64::from(*x))),
            Some(AttributeValue::Int(n)) => Some(*n as f64),
            _ => None,
        }
    }

    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        match self.attr(name) {
            Some(AttributeValue::Ints(list)) => Some(list.clone()),
            _ => None,
        }
    }

    pub(crate) fn floats(&self, name: &str) -> Option<Vec<f32>> {
        match self.attr(name) {
            Some(AttributeValue::Floats(list)) => Some(list.clone()),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str, default: &'m str) -> Result<&'m str> {
        match self.attr(name) {
            Some(AttributeValue::Bytes(bytes)) => {
                std::str::from_utf8(bytes).map_err(|_| Error::invalid(format!("attribute '{name}' is no UTF-8")))
            }
            _ => Ok(default),
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Option<&'m [&'m [u8]]> {
        match self.attr(name) {
            Some(AttributeValue::Strings(list)) => Some(list),
            _ => None,
        }
    }

    pub(crate) fn subgraph(&self, name: &str) -> Result<&'m Graph<'m>> {
        match self.attr(name) {
            Some(AttributeValue::Graph(graph)) => Ok(graph),
            _ => Err(Error::invalid(format!("attribute '{name}' is missing"))),
        }
    }

    /// The dtype that attribute `name` says.
    pub(crate) fn dtype_attr(&self, name: &str) -> Result<Option<DType>> {
        self.opt_int(name).map(|n| crate::tensor::dtype(n as u64)).transpose()
    }

    // --- types ---

    pub(crate) fn ty(&self, value: Value) -> &Type {
        self.importer.builder.graph().ty(value)
    }

    pub(crate) fn dtype(&self, value: Value) -> DType {
        self.ty(value).dtype()
    }

    pub(crate) fn dims(&mut self, value: Value) -> Result<Vec<Dim>> {
        match self.ty(value).shape().dims() {
            Some(dims) => Ok(dims.to_vec()),
            None => {
                self.importer.wanted.shapes = true;
                Err(Error::precondition("the number of dimensions of an operand has to be known"))
            }
        }
    }

    pub(crate) fn rank(&mut self, value: Value) -> Result<usize> {
        Ok(self.dims(value)?.len())
    }

    /// An extent that has to be known while the graph is made.
    pub(crate) fn known_extent(&mut self, value: Value, axis: usize) -> Result<usize> {
        match self.dims(value)?.get(axis).and_then(|d| d.known()) {
            Some(n) => Ok(n),
            None => {
                self.importer.wanted.shapes = true;
                Err(Error::precondition(format!("the extent of an operand along axis {axis} has to be known")))
            }
        }
    }

    /// An axis from the front.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let from_front = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(from_front)
            .ok()
            .filter(|&a| a < rank)
            .ok_or_else(|| Error::invalid(format!("axis {axis} is out of range for rank {rank}")))
    }

    // --- constants ---

    pub(crate) fn constant(&mut self, value: Tensor) -> Value {
        self.importer.builder.constant(value)
    }

    pub(crate) fn i64s(&mut self, values: &[i64]) -> Value {
        self.constant(Tensor::vector(values))
    }

    pub(crate) fn i64(&mut self, value: i64) -> Value {
        self.constant(Tensor::from(value))
    }

    /// A scalar of a dtype.
    pub(crate) fn scalar(&mut self, dtype: DType, value: f64) -> Result<Value> {
        let value = self.constant(Tensor::from(value));
        self.cast(value, dtype)
    }

    /// A scalar of the dtype of a value.
    pub(crate) fn like(&mut self, value: Value, number: f64) -> Result<Value> {
        self.scalar(self.dtype(value), number)
    }

    /// The value of a constant, if it is one.
    pub(crate) fn constant_of(&self, value: Value) -> Option<&Tensor> {
        self.importer.builder.graph().constant(value)
    }

    /// The value of what has to be known while the graph is made. Inputs that it is computed from become wanted.
    pub(crate) fn known(&mut self, value: Value) -> Result<Tensor> {
        if let Some(tensor) = self.constant_of(value) {
            return Ok(tensor.clone());
        }
        let graph = self.importer.builder.graph();
        let (mut due, mut seen) = (vec![value], std::collections::HashSet::new());
        let (mut inputs, mut shapes, mut fixed) = (Vec::new(), false, true);
        while let Some(value) = due.pop() {
            if !seen.insert(value) {
                continue;
            }
            if let Some(&index) = self.importer.inputs.get(&value) {
                inputs.push(index);
                continue;
            }
            match graph.values[value].def {
                Def::Param(_) => fixed = false,
                Def::Result(inst, _) => {
                    let data = &graph.insts[inst];
                    fixed &= data.op.is_pure() && data.regions.is_empty();
                    if [&SHAPE, &SIZE, &RANK].iter().any(|op| data.op.is(op)) {
                        shapes = true;
                    } else {
                        due.extend(&data.operands);
                    }
                }
            }
        }
        if fixed {
            self.importer.wanted.values.extend(inputs);
            self.importer.wanted.shapes |= shapes;
        }
        Err(Error::precondition("an operand has to be constant, and is computed at run time"))
    }

    /// The integers of what has to be known.
    pub(crate) fn known_ints(&mut self, value: Value) -> Result<Vec<i64>> {
        Ok(self.known(value)?.to_ints()?.to_vec())
    }

    /// A flag that has to be known.
    pub(crate) fn known_flag(&mut self, value: Value) -> Result<bool> {
        Ok(self.known(value)?.bytes().iter().any(|&b| b != 0))
    }

    /// What is known of an integer.
    pub(crate) fn element(&self, value: Value) -> Element {
        let values = GraphValues { graph: self.importer.builder.graph(), operands: &[value] };
        values.elements(0).and_then(|e| e.first().copied()).unwrap_or(Element::UNKNOWN)
    }

    /// Integers from an operand, or from the attribute that earlier versions have.
    pub(crate) fn ints_at(&mut self, index: usize, name: &str) -> Result<Option<Vec<i64>>> {
        match self.opt(index) {
            Some(value) => self.known_ints(value).map(Some),
            None => Ok(self.ints(name)),
        }
    }

    // --- instructions ---

    /// An instruction with one result.
    pub(crate) fn op(&mut self, name: &str, operands: &[Value], attrs: &[(&str, Attr)]) -> Result<Value> {
        Ok(self.ops(name, operands, attrs)?[0])
    }

    /// An instruction.
    pub(crate) fn ops(
        &mut self,
        name: &str,
        operands: &[Value],
        named: &[(&str, Attr)],
    ) -> Result<SmallVec<[Value; 1]>> {
        let op = Ops.find(name).ok_or_else(|| Error::internal(format!("there is no operator {name}")))?;
        let attrs = op.attributes(named)?;
        if let Some(values) = self.fold(op, operands, &attrs) {
            return Ok(values.into_iter().map(|t| self.constant(t)).collect());
        }
        let inst = self.importer.builder.inst(op, operands, attrs, &[])?;
        Ok(self.importer.builder.results(inst).into())
    }

    /// The results of a pure instruction on constants, and of a shape that is known.
    fn fold(&self, op: &'static OpDef, operands: &[Value], attrs: &Attrs) -> Option<Vec<Tensor>> {
        let graph = self.importer.builder.graph();
        if op.is(&SHAPE) {
            let extents = graph.ty(operands[0]).shape().extents()?;
            let extents: Vec<i64> = extents.iter().map(|&n| n as i64).collect();
            return Some(vec![Tensor::vector(&extents)]).filter(|_| attrs.dtype(0) == DType::I64);
        }
        let constants: Vec<&Tensor> = operands.iter().map(|&v| graph.constant(v)).collect::<Option<_>>()?;
        if constants.is_empty() || !op.is_pure() || attrs.0.iter().any(|a| matches!(a, Attr::Func(_) | Attr::Host(_))) {
            return None;
        }
        let types: Vec<Type> = constants.iter().map(|t| Type::of(t)).collect();
        let known = Constants(&constants);
        let results = op.infer_types(&InferCx { inputs: &types, attrs, regions: &[], values: &known }).ok()?;
        let given: usize = constants.iter().map(|t| t.byte_len()).sum();
        let mut made = 0usize;
        for ty in &results {
            made = made.checked_add(ty.shape().num_elements()?.checked_mul(ty.dtype().size().max(1))?)?;
            if ty.dtype() == DType::Variant {
                return None;
            }
        }
        if made > FOLDED_BYTES.max(given) {
            return None;
        }
        eager(op, &constants, attrs, &ENV).ok().map(|t| t.into_iter().collect())
    }

    /// An instruction with regions.
    pub(crate) fn inst(
        &mut self,
        op: &'static OpDef,
        operands: &[Value],
        named: &[(&str, Attr)],
        regions: &[Region],
    ) -> Result<Vec<Value>> {
        let attrs = op.attributes(named)?;
        let inst = self.importer.builder.inst(op, operands, attrs, regions)?;
        Ok(self.importer.builder.results(inst).to_vec())
    }

    /// A region that `body` fills.
    pub(crate) fn region(
        &mut self,
        params: Vec<Type>,
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Region> {
        let region = self.importer.builder.begin_region(params);
        let params = self.importer.builder.params(region);
        match body(self, &params) {
            Ok(results) => self.importer.builder.end_region(&results),
            Err(error) => {
                self.importer.builder.abandon_region();
                Err(error)
            }
        }
    }

    /// A loop from 0 up to `count`: `body` gets the index, an `i64`, and the variables.
    pub(crate) fn count_loop(
        &mut self,
        count: Value,
        init: &[Value],
        types: &[Type],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let zero = self.i64(0);
        let mut params = vec![Type::scalar(DType::I64)];
        params.extend_from_slice(types);
        let cond = self.region(params.clone(), |cx, p| Ok(vec![cx.op("less", &[p[0], count], &[])?]))?;
        let body = self.region(params, |cx, p| {
            let one = cx.i64(1);
            let mut next = vec![cx.op("add", &[p[0], one], &[])?];
            next.extend(body(cx, p[0], &p[1..])?);
            Ok(next)
        })?;
        let mut operands = vec![zero];
        operands.extend_from_slice(init);
        Ok(self.inst(&penstock_ops::control::WHILE, &operands, &[], &[cond, body])?.split_off(1))
    }

    pub(crate) fn bin(&mut self, name: &str, x: Value, y: Value) -> Result<Value> {
        self.op(name, &[x, y], &[])
    }

    pub(crate) fn un(&mut self, name: &str, x: Value) -> Result<Value> {
        self.op(name, &[x], &[])
    }

    /// `name` of a value and a number.
    pub(crate) fn with(&mut self, name: &str, x: Value, number: f64) -> Result<Value> {
        let y = self.like(x, number)?;
        self.bin(name, x, y)
    }

    pub(crate) fn cast(&mut self, x: Value, dtype: DType) -> Result<Value> {
        if self.dtype(x) == dtype { Ok(x) } else { self.op("cast", &[x], &[("dtype", Attr::DType(dtype))]) }
    }

    pub(crate) fn select(&mut self, condition: Value, x: Value, y: Value) -> Result<Value> {
        let name = if self.dtype(x) == DType::Str { "string_select" } else { "select" };
        self.op(name, &[condition, x, y], &[])
    }

    pub(crate) fn transpose(&mut self, x: Value, perm: &[usize]) -> Result<Value> {
        if perm.iter().enumerate().all(|(i, &p)| i == p) {
            return Ok(x);
        }
        self.op("transpose", &[x], &[("perm", ints(perm.iter().map(|&p| p as i64)))])
    }

    /// The extents, as an `i64` vector.
    pub(crate) fn shape(&mut self, x: Value) -> Result<Value> {
        self.op("shape", &[x], &[("dtype", Attr::DType(DType::I64))])
    }

    /// One extent.
    pub(crate) fn extent(&mut self, x: Value, axis: usize) -> Result<Size> {
        if let Some(n) = self.dims(x)?.get(axis).and_then(|d| d.known()) {
            return Ok(Size::Known(n as i64));
        }
        let shape = self.shape(x)?;
        Ok(Size::Value(self.pick(shape, axis as i64)?))
    }

    /// All extents.
    pub(crate) fn sizes(&mut self, x: Value) -> Result<Vec<Size>> {
        (0..self.rank(x)?).map(|axis| self.extent(x, axis)).collect()
    }

    /// The entry `index` along the first dimension.
    pub(crate) fn pick(&mut self, x: Value, index: i64) -> Result<Value> {
        let (begin, end, one) = (self.i64s(&[index]), self.i64s(&[index + 1]), self.i64s(&[1]));
        self.op("strided_slice", &[x, begin, end, one], &[("shrink_axis_mask", 1i64.into())])
    }

    /// A size as an `i64` scalar.
    pub(crate) fn size(&mut self, size: Size) -> Value {
        match size {
            Size::Known(n) => self.i64(n),
            Size::Value(v) => v,
        }
    }

    /// Sizes as an `i64` vector.
    pub(crate) fn vector(&mut self, sizes: &[Size]) -> Result<Value> {
        let known: Option<Vec<i64>> = sizes
            .iter()
            .map(|s| match s {
                Size::Known(n) => Some(*n),
                Size::Value(_) => None,
            })
            .collect();
        if let Some(known) = known {
            return Ok(self.i64s(&known));
        }
        let parts: Vec<Value> = sizes.iter().map(|&s| self.size(s)).collect();
        self.op("stack", &parts, &[])
    }

    /// The product of sizes.
    pub(crate) fn product(&mut self, sizes: &[Size]) -> Result<Size> {
        let mut known = 1i64;
        let mut value = None;
        for size in sizes {
            match *size {
                Size::Known(n) => known = known.saturating_mul(n),
                Size::Value(v) => {
                    value = Some(match value {
                        Some(w) => self.bin("mul", w, v)?,
                        None => v,
                    });
                }
            }
        }
        Ok(match value {
            None => Size::Known(known),
            Some(v) if known == 1 => Size::Value(v),
            Some(v) => {
                let known = self.i64(known);
                Size::Value(self.bin("mul", v, known)?)
            }
        })
    }

    pub(crate) fn reshape(&mut self, x: Value, sizes: &[Size]) -> Result<Value> {
        let shape = self.vector(sizes)?;
        self.bin("reshape", x, shape)
    }

    pub(crate) fn reshape_known(&mut self, x: Value, sizes: &[i64]) -> Result<Value> {
        let shape = self.i64s(sizes);
        self.bin("reshape", x, shape)
    }

    pub(crate) fn broadcast(&mut self, x: Value, sizes: &[Size]) -> Result<Value> {
        let shape = self.vector(sizes)?;
        self.bin("broadcast_to", x, shape)
    }

    /// `x` with dimensions of size 1 inserted.
    pub(crate) fn expand(&mut self, x: Value, axis: i64) -> Result<Value> {
        self.op("expand_dims", &[x], &[("axis", axis.into())])
    }

    /// `x` with so many dimensions of size 1 behind.
    pub(crate) fn trailing(&mut self, mut x: Value, count: usize) -> Result<Value> {
        for _ in 0..count {
            x = self.expand(x, -1)?;
        }
        Ok(x)
    }

    /// The mask of a strided slice that has its first entries open.
    pub(crate) fn open_entries(count: usize) -> Result<i64> {
        let most = i64::BITS as usize - 2;
        if count > most {
            return Err(Error::unimplemented(format!(
                "slices along an axis behind the first {most} are not supported"
            )));
        }
        Ok((1 << count) - 1)
    }

    /// The part from `begin` up to `end` along an axis, with a step. The end may be open.
    pub(crate) fn slice(&mut self, x: Value, axis: usize, begin: Size, end: Option<Size>) -> Result<Value> {
        let (begin, open) = (self.vector(&[begin])?, end.is_none());
        let end = self.vector(&[end.unwrap_or(Size::Known(0))])?;
        let mut zeros = vec![0i64; axis];
        let front = self.i64s(&zeros);
        let (begin, end) = match axis {
            0 => (begin, end),
            _ => (
                self.op("concat", &[front, begin], &[("axis", 0i64.into())])?,
                self.op("concat", &[front, end], &[("axis", 0i64.into())])?,
            ),
        };
        zeros.push(0);
        let ones = self.i64s(&vec![1; axis + 1]);
        let front = Self::open_entries(axis)?;
        let attrs = [("begin_mask", front.into()), ("end_mask", (front | i64::from(open) << axis).into())];
        self.op("strided_slice", &[x, begin, end, ones], &attrs)
    }

    pub(crate) fn concat(&mut self, parts: &[Value], axis: usize) -> Result<Value> {
        match parts {
            [one] => Ok(*one),
            parts => self.op("concat", parts, &[("axis", (axis as i64).into())]),
        }
    }

    pub(crate) fn reduce(&mut self, name: &str, x: Value, axes: &[usize], keepdims: bool) -> Result<Value> {
        self.op(name, &[x], &[("axes", ints(axes.iter().map(|&a| a as i64))), ("keepdims", keepdims.into())])
    }

    pub(crate) fn range(&mut self, count: Size) -> Result<Value> {
        let (start, limit, delta) = (self.i64(0), self.size(count), self.i64(1));
        self.op("range", &[start, limit, delta], &[])
    }

    /// An array of one value.
    pub(crate) fn fill(&mut self, sizes: &[Size], value: Value) -> Result<Value> {
        let shape = self.vector(sizes)?;
        self.bin("fill", shape, value)
    }
}

/// A list of integers as an attribute.
pub(crate) fn ints(values: impl IntoIterator<Item = i64>) -> Attr {
    Attr::Ints(values.into_iter().collect())
}
