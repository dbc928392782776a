//! How an operator is mapped over many examples, and what its rule works with.

use penstock_data::{DType, Dim, Error, Result, Shape, Tensor};
use smallvec::{SmallVec, smallvec};

use crate::attr::{Attr, Attrs};
use crate::entities::Value;
use crate::op::{Emitter, OpDef, RuleOps};
use crate::types::Type;

/// How many examples of an instruction are computed at once. What differs between them has a new leading axis.
#[derive(Clone, Copy)]
pub enum Batch {
    /// By the operator itself: its operands broadcast, once dimensions of size 1 give them one rank.
    Broadcast,
    /// By a rule.
    Rule(BatchRule),
    /// By a rule whose results are the same for every example.
    Same(BatchRule),
    /// One example after the other, for this reason.
    Loop(&'static str),
    /// The autodiff crate transforms it: control flow and calls.
    Structural,
}

/// Emits an instruction for many examples and gives its results, all with the leading axis; `None` where it has no form for these
/// operands, so that the examples go one after the other.
pub type BatchRule = fn(&mut BatchCx<'_>) -> Result<Option<BatchResults>>;

/// The results of a batched instruction.
pub type BatchResults = SmallVec<[Value; 1]>;

/// What a [`BatchRule`] works with.
pub struct BatchCx<'a> {
    /// The graph of all examples.
    pub examples: Examples<'a>,
    /// The operator.
    pub op: &'static OpDef,
    /// Its attributes.
    pub attrs: &'a Attrs,
    /// Its operands.
    pub inputs: &'a [Example],
    /// The types of its results, of one example.
    pub results: &'a [Type],
}

/// An operand of a batched instruction.
#[derive(Clone, Debug)]
pub struct Example {
    /// What it became in the graph of all examples.
    pub value: Value,
    /// Whether it has the leading axis; else it is the same for every example.
    pub mapped: bool,
    /// The type of one example.
    pub ty: Type,
}

impl Example {
    /// The rank of one example.
    pub fn rank(&self) -> Option<usize> {
        self.ty.shape().rank()
    }

    /// The number of elements of one example that is a vector.
    pub fn length(&self) -> Option<usize> {
        self.ty.shape().extents().and_then(|dims| dims.first().copied())
    }
}

impl BatchCx<'_> {
    /// Whether the first operand alone differs between the examples.
    pub fn only_first(&self) -> bool {
        self.only(0)
    }

    /// Whether operand `index` alone differs between the examples.
    pub fn only(&self, index: usize) -> bool {
        self.inputs.iter().enumerate().all(|(i, input)| input.mapped == (i == index))
    }

    /// The operands as they are.
    pub fn values(&self) -> SmallVec<[Value; 4]> {
        self.inputs.iter().map(|input| input.value).collect()
    }

    /// The operator itself of these operands.
    ///
    /// # Errors
    /// Those of inference.
    pub fn again(&mut self, operands: &[Value], attrs: Attrs) -> Result<Option<BatchResults>> {
        self.examples.emit_attrs(self.op, operands, attrs).map(Some)
    }

    /// Operand `index` with the leading axis in any case.
    ///
    /// # Errors
    /// Those of inference, and where a list has no such form.
    pub fn full(&mut self, index: usize) -> Result<Value> {
        self.examples.full(&self.inputs[index])
    }

    /// All operands with the leading axis.
    ///
    /// # Errors
    /// As [`BatchCx::full`].
    pub fn all_full(&mut self) -> Result<SmallVec<[Value; 4]>> {
        self.inputs.iter().map(|input| self.examples.full(input)).collect()
    }

    /// Operand `index` for broadcasting with values whose examples have rank `rank`; `None` where its own is not known.
    ///
    /// # Errors
    /// Those of inference.
    pub fn aligned(&mut self, index: usize, rank: usize) -> Result<Option<Value>> {
        self.examples.aligned(&self.inputs[index], rank)
    }
}

/// A graph that grows.
pub trait GraphEmitter: Emitter {
    /// Notes what is known of the shape of a value.
    ///
    /// # Errors
    /// `InvalidArgument` where that contradicts what is known.
    fn refine(&mut self, value: Value, shape: &Shape) -> Result<()>;

    /// The instruction whose result a value is: its operator, operands and attributes.
    fn definition(&self, value: Value) -> Option<(&'static OpDef, &[Value], &Attrs)>;
}

/// A graph under construction in which many examples are computed at once.
pub struct Examples<'a> {
    /// The graph.
    pub emit: &'a mut dyn GraphEmitter,
    /// The operators that rules emit.
    pub ops: &'static RuleOps,
    /// The size of the leading axis in types.
    pub lead: Dim,
    /// The number of examples, as an `i64` vector of one element.
    pub extent: Value,
    /// The number of examples, as an `i64` scalar.
    pub count: Value,
}

impl Examples<'_> {
    /// Emits an instruction with complete attributes.
    ///
    /// # Errors
    /// Those of inference.
    pub fn emit_attrs(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<BatchResults> {
        self.emit.emit_attrs(op, operands, attrs)
    }

    /// Emits an instruction and gives its first result.
    ///
    /// # Errors
    /// Those of inference.
    pub fn emit(&mut self, op: &'static OpDef, operands: &[Value], named: &[(&str, Attr)]) -> Result<Value> {
        let attrs = op.attributes(named)?;
        Ok(self.emit.emit_attrs(op, operands, attrs)?[0])
    }

    /// The type of a value of the graph.
    pub fn ty(&self, value: Value) -> Type {
        self.emit.type_of(value)
    }

    /// As [`Examples::emit`], as the only result of a rule.
    ///
    /// # Errors
    /// Those of inference.
    pub fn one(&mut self, op: &'static OpDef, operands: &[Value]) -> Result<Option<BatchResults>> {
        let out = self.emit(op, operands, &[])?;
        Ok(Some(smallvec![out]))
    }

    /// A constant vector.
    ///
    /// # Errors
    /// Those of inference.
    pub fn ints(&mut self, values: &[i64]) -> Result<Value> {
        self.emit.constant(Tensor::vector(values))
    }

    /// Integers as `i64`.
    ///
    /// # Errors
    /// Those of inference.
    pub fn wide(&mut self, value: Value) -> Result<Value> {
        if self.ty(value).dtype() == DType::I64 {
            return Ok(value);
        }
        if let Some(known) = self.emit.known(value) {
            let ints = known.to_ints()?;
            return self.emit.constant(Tensor::from_slice(known.dims(), &ints)?);
        }
        self.emit(self.ops.cast, &[value], &[("dtype", DType::I64.into())])
    }

    /// A vector of integers with others before it.
    ///
    /// # Errors
    /// Those of inference.
    pub fn prepend(&mut self, first: &[i64], rest: Value) -> Result<Value> {
        let rest = self.wide(rest)?;
        if let Some(known) = self.emit.known(rest) {
            let all: Vec<i64> = first.iter().copied().chain(known.to_ints()?).collect();
            return self.ints(&all);
        }
        let first = self.ints(first)?;
        self.emit(self.ops.concat, &[first, rest], &[("axis", 0i64.into())])
    }

    /// A vector of extents with the number of examples before it.
    ///
    /// # Errors
    /// Those of inference.
    pub fn leading(&mut self, extents: Value) -> Result<Value> {
        let rest = self.wide(extents)?;
        if self.ty(rest).shape().extents().is_some_and(|n| n[..] == [0]) {
            return Ok(self.extent);
        }
        self.emit(self.ops.concat, &[self.extent, rest], &[("axis", 0i64.into())])
    }

    /// The extents of a value of the graph as an `i64` vector: a constant where all are known.
    ///
    /// # Errors
    /// Those of inference.
    pub fn extents(&mut self, value: Value) -> Result<Value> {
        let ty = self.ty(value);
        if let Some(dims) = ty.shape().extents() {
            return self.ints(&dims.iter().map(|&d| d as i64).collect::<SmallVec<[i64; 6]>>());
        }
        let value = if ty.is_variable() { self.emit(self.ops.read_variable, &[value], &[])? } else { value };
        self.emit(self.ops.shape, &[value], &[("dtype", DType::I64.into())])
    }

    /// The extents of one example of an operand.
    ///
    /// # Errors
    /// Those of inference.
    pub fn example_extents(&mut self, input: &Example) -> Result<Value> {
        if let Some(dims) = input.ty.shape().extents() {
            return self.ints(&dims.iter().map(|&d| d as i64).collect::<SmallVec<[i64; 6]>>());
        }
        let all = self.extents(input.value)?;
        if !input.mapped {
            return Ok(all);
        }
        let (begin, size) = (self.ints(&[1])?, self.ints(&[-1])?);
        self.emit(self.ops.slice, &[all, begin, size], &[])
    }

    /// A value with the leading axis in any case.
    ///
    /// # Errors
    /// Those of inference; `Unimplemented` for a list that is the same for every example, unless it was made here.
    pub fn full(&mut self, input: &Example) -> Result<Value> {
        let new = input.value;
        if input.mapped {
            return Ok(new);
        }
        if input.ty.dtype() == DType::Variant {
            return self.full_list(new);
        }
        let shape = self.extents(new)?;
        let shape = self.leading(shape)?;
        let wide = self.emit(self.ops.broadcast_to, &[new, shape], &[])?;
        let shape = with_lead(&self.ty(new), self.lead).shape().clone();
        self.emit.refine(wide, &shape)?;
        Ok(wide)
    }

    /// A list of the graph that is the same for every example, with the leading axis in each element.
    fn full_list(&mut self, list: Value) -> Result<Value> {
        let made = self.emit.definition(list).filter(|(op, ..)| op.is(self.ops.list_new));
        let Some((_, operands, attrs)) = made else {
            return Err(Error::unimplemented("a list that is the same for every example becomes one that is not"));
        };
        let (operands, mut attrs) = (SmallVec::<[Value; 1]>::from(operands), attrs.clone());
        if let Attr::Shape(shape) = &attrs.0[1] {
            let dims = shape.dims().map(|dims| std::iter::once(self.lead).chain(dims.iter().copied()));
            let shape = dims.map_or(Shape::UNRANKED, |dims| Shape::new(dims).erased());
            attrs.0[1] = Attr::Shape(shape);
        }
        Ok(self.emit_attrs(self.ops.list_new, &operands, attrs)?[0])
    }

    /// A value for broadcasting with values whose examples have rank `rank`: dimensions of size 1 stand between the leading axis and
    /// the others where it has fewer. `None` where its own rank is not known.
    ///
    /// # Errors
    /// Those of inference.
    pub fn aligned(&mut self, input: &Example, rank: usize) -> Result<Option<Value>> {
        let mut new = input.value;
        if !input.mapped {
            return Ok(Some(new));
        }
        let Some(own) = input.rank() else { return Ok(None) };
        for _ in own..rank {
            new = self.emit(self.ops.expand_dims, &[new], &[("axis", 1i64.into())])?;
        }
        Ok(Some(new))
    }
}

/// The type of many examples of this type. That of a list is the same: its elements have the axis.
pub fn with_lead(ty: &Type, lead: Dim) -> Type {
    if ty.dtype() == DType::Variant {
        return ty.clone();
    }
    let shape =
        ty.shape().dims().map_or(Shape::UNRANKED, |dims| Shape::new(std::iter::once(lead).chain(dims.iter().copied())));
    Type::tensor(ty.dtype(), shape)
}
