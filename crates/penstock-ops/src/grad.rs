//! How derivative rules are written: as arithmetic on expressions, each of which emits an instruction.
//!
//! A rule such as `g * (1.0 - y * y)` reads as its formula. The first error is kept and reported at
//! the end; nothing is emitted after it.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use penstock_data::{DType, Dim, Error, Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Cotangents, Emitter, OpDef, RuleOps, Type, Value, VjpCx};
use smallvec::{SmallVec, smallvec};

/// The cotangents that a rule gives, one for each operand.
pub(crate) type Grads<'t> = SmallVec<[Option<Ex<'t>>; 2]>;

/// An instruction under differentiation, and where its rule emits.
pub(crate) struct Tape<'a> {
    emit: RefCell<&'a mut dyn Emitter>,
    /// The operators that it emits.
    ops: &'static RuleOps,
    error: RefCell<Option<Error>>,
    /// The attributes of the instruction.
    pub(crate) attrs: &'a Attrs,
    /// Whether each operand's cotangent is of use.
    pub(crate) needed: &'a [bool],
    inputs: &'a [Value],
    outputs: &'a [Value],
    grads: &'a [Option<Value>],
}

/// A tape without its lifetime, so that expressions carry only one.
trait Record {
    fn ops(&self) -> &'static RuleOps;
    fn emit(&self, op: &'static OpDef, operands: &[Value], named: &[(&str, Attr)]) -> SmallVec<[Value; 1]>;
    fn constant(&self, value: Tensor) -> Value;
    fn type_of(&self, value: Value) -> Type;
    fn known(&self, value: Value) -> Option<Tensor>;
    fn fail(&self, error: Error);
}

impl Tape<'_> {
    /// Stands for every result once an error is kept.
    fn nothing(&self) -> SmallVec<[Value; 1]> {
        SmallVec::from_elem(self.outputs[0], 4)
    }
}

impl Record for Tape<'_> {
    fn ops(&self) -> &'static RuleOps {
        self.ops
    }

    fn emit(&self, op: &'static OpDef, operands: &[Value], named: &[(&str, Attr)]) -> SmallVec<[Value; 1]> {
        if self.error.borrow().is_some() {
            return self.nothing();
        }
        self.emit.borrow_mut().emit_all(op, operands, named).unwrap_or_else(|e| {
            self.fail(e);
            self.nothing()
        })
    }

    fn constant(&self, value: Tensor) -> Value {
        if self.error.borrow().is_some() {
            return self.outputs[0];
        }
        self.emit.borrow_mut().constant(value).unwrap_or_else(|e| {
            self.fail(e);
            self.outputs[0]
        })
    }

    fn type_of(&self, value: Value) -> Type {
        let ty = self.emit.borrow().type_of(value);
        // What stands for a result that there is not has a shape that says nothing.
        if self.error.borrow().is_some() { Type::tensor(ty.dtype(), Shape::UNRANKED) } else { ty }
    }

    fn known(&self, value: Value) -> Option<Tensor> {
        self.emit.borrow().known(value)
    }

    fn fail(&self, error: Error) {
        self.error.borrow_mut().get_or_insert(error);
    }
}

impl<'a> Tape<'a> {
    /// Operand `index`.
    pub(crate) fn x(&self, index: usize) -> Ex<'_> {
        Ex { tape: self, value: self.inputs[index] }
    }

    /// Result `index`.
    pub(crate) fn y(&self, index: usize) -> Ex<'_> {
        Ex { tape: self, value: self.outputs[index] }
    }

    /// The cotangent of result `index`.
    pub(crate) fn grad(&self, index: usize) -> Option<Ex<'_>> {
        self.grads[index].map(|value| Ex { tape: self, value })
    }

    /// The cotangent of the only result.
    pub(crate) fn g(&self) -> Ex<'_> {
        Ex { tape: self, value: self.grads[0].unwrap_or(self.outputs[0]) }
    }

    /// The number of operands.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }
}

/// Runs a rule.
pub(crate) fn rule(cx: &mut VjpCx<'_>, f: impl for<'t> FnOnce(&'t Tape<'_>) -> Grads<'t>) -> Result<Cotangents> {
    let tape = Tape {
        emit: RefCell::new(&mut *cx.emit),
        ops: cx.ops,
        error: RefCell::new(None),
        attrs: cx.attrs,
        needed: cx.needed,
        inputs: cx.inputs,
        outputs: cx.outputs,
        grads: cx.grads,
    };
    let grads = f(&tape).iter().map(|g| g.map(|ex| ex.value)).collect();
    match tape.error.into_inner() {
        Some(error) => Err(error),
        None => Ok(grads),
    }
}

/// Runs the rule of an operator of one operand: the operand's cotangent from the result's, the
/// operand and the result.
pub(crate) fn unary_rule(cx: &mut VjpCx<'_>, f: for<'t> fn(Ex<'t>, Ex<'t>, Ex<'t>) -> Ex<'t>) -> Result<Cotangents> {
    rule(cx, |t| smallvec![t.needed[0].then(|| f(t.g(), t.x(0), t.y(0)))])
}

/// The cotangent of one of two operands from the result's, the operands and the result.
pub(crate) type Partial = for<'t> fn(Ex<'t>, Ex<'t>, Ex<'t>, Ex<'t>) -> Ex<'t>;

/// Runs the rule of an operator of two broadcast operands.
pub(crate) fn binary_rule(cx: &mut VjpCx<'_>, fx: Partial, fy: Partial) -> Result<Cotangents> {
    rule(cx, |t| {
        let (g, x, y, z) = (t.g(), t.x(0), t.x(1), t.y(0));
        smallvec![
            t.needed[0].then(|| fx(g, x, y, z).unbroadcast(x)),
            t.needed[1].then(|| fy(g, x, y, z).unbroadcast(y)),
        ]
    })
}

/// A value in a rule.
#[derive(Clone, Copy)]
pub(crate) struct Ex<'t> {
    tape: &'t dyn Record,
    value: Value,
}

impl<'t> Ex<'t> {
    /// The operators that rules emit.
    pub(crate) fn ops(self) -> &'static RuleOps {
        self.tape.ops()
    }

    /// An instruction with one result.
    pub(crate) fn emit(self, op: &'static OpDef, rest: &[Ex<'t>], named: &[(&str, Attr)]) -> Ex<'t> {
        let mut operands: SmallVec<[Value; 4]> = smallvec![self.value];
        operands.extend(rest.iter().map(|e| e.value));
        Ex { tape: self.tape, value: self.tape.emit(op, &operands, named)[0] }
    }

    /// The results of an instruction of one operand without attributes.
    pub(crate) fn emit_all<const N: usize>(self, op: &'static OpDef) -> [Ex<'t>; N] {
        let values = self.tape.emit(op, &[self.value], &[]);
        std::array::from_fn(|i| Ex { tape: self.tape, value: values[i] })
    }

    /// An instruction of one operand without attributes.
    pub(crate) fn then(self, op: &'static OpDef) -> Ex<'t> {
        self.emit(op, &[], &[])
    }

    /// A constant for use with this value.
    pub(crate) fn constant(self, value: Tensor) -> Ex<'t> {
        Ex { tape: self.tape, value: self.tape.constant(value) }
    }

    /// A scalar constant of this value's dtype.
    pub(crate) fn number(self, value: f64) -> Ex<'t> {
        self.constant(number(self.dtype(), value))
    }

    /// The value, where it is known now.
    pub(crate) fn known(self) -> Option<Tensor> {
        self.tape.known(self.value)
    }

    /// The value, where it is a known real scalar.
    pub(crate) fn known_scalar(self) -> Option<f64> {
        let t = self.known().filter(|t| t.rank() == 0)?;
        match t.dtype() {
            DType::F16 => t.item::<penstock_data::f16>().map(f64::from),
            DType::Bf16 => t.item::<penstock_data::bf16>().map(f64::from),
            DType::F32 => t.item::<f32>().map(f64::from),
            DType::F64 => t.item::<f64>(),
            _ => None,
        }
    }

    pub(crate) fn dtype(self) -> DType {
        self.tape.type_of(self.value).dtype()
    }

    pub(crate) fn shape(self) -> Shape {
        self.tape.type_of(self.value).shape().clone()
    }

    /// Reports a rule that cannot go on.
    pub(crate) fn fail(self, error: Error) -> Ex<'t> {
        self.tape.fail(error);
        self
    }

    /// The conjugate of a complex value; a real one is its own.
    pub(crate) fn conj(self) -> Ex<'t> {
        if self.dtype().is_complex() { self.then(self.ops().conj) } else { self }
    }

    /// The value as another dtype, where it is not that already.
    pub(crate) fn cast(self, dtype: DType) -> Ex<'t> {
        if self.dtype() == dtype { self } else { self.emit(self.ops().cast, &[], &[("dtype", dtype.into())]) }
    }

    /// `f` of the value as at least `f32`, as the dtype of the value.
    pub(crate) fn wide(self, f: impl FnOnce(Ex<'t>) -> Ex<'t>) -> Ex<'t> {
        let dtype = self.dtype();
        f(self.cast(if dtype.size() < 4 { DType::F32 } else { dtype })).cast(dtype)
    }

    /// `self` where `condition` holds, else `other`.
    pub(crate) fn or(self, condition: Ex<'t>, other: Ex<'t>) -> Ex<'t> {
        condition.emit(self.ops().select, &[self, other], &[])
    }

    /// `self` where `condition` holds, else 0.
    pub(crate) fn only_if(self, condition: Ex<'t>) -> Ex<'t> {
        self.or(condition, self.number(0.0))
    }

    /// A comparison.
    pub(crate) fn is(self, comparison: &'static OpDef, other: Ex<'t>) -> Ex<'t> {
        self.emit(comparison, &[other], &[])
    }

    /// A comparison with a number.
    pub(crate) fn is_number(self, comparison: &'static OpDef, other: f64) -> Ex<'t> {
        self.is(comparison, self.number(other))
    }

    /// The sum over axes.
    pub(crate) fn sum(self, axes: &[i64], keepdims: bool) -> Ex<'t> {
        self.emit(self.ops().reduce_sum, &[], &[("axes", axes.into()), ("keepdims", keepdims.into())])
    }

    /// The extents as an `i64` vector: a constant where all are known.
    pub(crate) fn extents(self) -> Ex<'t> {
        match self.shape().extents() {
            Some(dims) => self.constant(Tensor::vector(&dims.iter().map(|&d| d as i64).collect::<Vec<_>>())),
            None => self.emit(self.ops().shape, &[], &[("dtype", DType::I64.into())]),
        }
    }

    /// An `i64` scalar constant.
    pub(crate) fn int(self, value: i64) -> Ex<'t> {
        self.constant(Tensor::from(value))
    }

    /// The same elements with a dimension of size 1 put in.
    pub(crate) fn expand_dims(self, axis: i64) -> Ex<'t> {
        self.emit(self.ops().expand_dims, &[], &[("axis", axis.into())])
    }

    /// The same elements under these extents.
    pub(crate) fn reshape(self, dims: &[usize]) -> Ex<'t> {
        if self.shape().extents().as_deref() == Some(dims) {
            return self;
        }
        let dims: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
        self.emit(self.ops().reshape, &[self.constant(Tensor::vector(&dims))], &[])
    }

    /// The same elements under the extents of `like`, which has as many.
    pub(crate) fn reshape_as(self, like: Ex<'t>) -> Ex<'t> {
        let (from, to) = (self.shape(), like.shape());
        if from == to && from.is_static() { self } else { self.emit(self.ops().reshape, &[like.extents()], &[]) }
    }

    /// The value broadcast to the shape of `like`.
    pub(crate) fn broadcast_as(self, like: Ex<'t>) -> Ex<'t> {
        if certainly_equal(&self.shape(), &like.shape()) {
            self
        } else {
            self.emit(self.ops().broadcast_to, &[like.extents()], &[])
        }
    }

    /// The sum over what broadcasting `operand` to the shape of `self` repeated: a value of the
    /// shape of `operand`. Nothing is emitted where nothing was repeated.
    pub(crate) fn unbroadcast(self, operand: Ex<'t>) -> Ex<'t> {
        let (from, to) = (self.shape(), operand.shape());
        match repeated(&from, &to) {
            Some(axes) => {
                let lead = from.rank().unwrap_or(0) - to.rank().unwrap_or(0);
                let (leading, inner): (Vec<i64>, Vec<i64>) = axes.iter().partition(|&&a| a < lead as i64);
                let mut out = self;
                if !leading.is_empty() {
                    out = out.sum(&leading, false);
                }
                if !inner.is_empty() {
                    let inner: Vec<i64> = inner.iter().map(|a| a - lead as i64).collect();
                    out = out.sum(&inner, true);
                }
                out
            }
            None => self.emit(self.ops().sum_to_shape, &[operand.extents()], &[]),
        }
    }
}

/// Whether two shapes are the same whatever the unknown sizes are.
fn certainly_equal(a: &Shape, b: &Shape) -> bool {
    a == b && a.dims().is_some_and(|d| !d.contains(&Dim::Unknown))
}

/// The axes of `from` over which a value of shape `to` was repeated to give shape `from`; `None`
/// where that cannot be told.
fn repeated(from: &Shape, to: &Shape) -> Option<SmallVec<[i64; 4]>> {
    let (from, to) = (from.dims()?, to.dims()?);
    let lead = from.len().checked_sub(to.len())?;
    let mut axes: SmallVec<[i64; 4]> = (0..lead as i64).collect();
    for (i, (&f, &t)) in from[lead..].iter().zip(to).enumerate() {
        match (f, t) {
            (Dim::Known(1), _) => {}
            (_, Dim::Known(1)) => axes.push((lead + i) as i64),
            // A size other than 1 is not repeated.
            (_, Dim::Known(_)) => {}
            (Dim::Sym(a), Dim::Sym(b)) if a == b => {}
            _ => return None,
        }
    }
    Some(axes)
}

/// A scalar of a numeric dtype or `bool`.
pub(crate) fn number(dtype: DType, value: f64) -> Tensor {
    crate::samples::tensor(dtype, &[], &[value])
}

impl Neg for Ex<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.then(self.ops().neg)
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait for Ex<'_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.emit(self.ops().$method, &[other], &[])
            }
        }
        impl $trait<f64> for Ex<'_> {
            type Output = Self;
            fn $method(self, other: f64) -> Self {
                self.emit(self.ops().$method, &[self.number(other)], &[])
            }
        }
        impl<'t> $trait<Ex<'t>> for f64 {
            type Output = Ex<'t>;
            fn $method(self, other: Ex<'t>) -> Ex<'t> {
                other.number(self).emit(other.ops().$method, &[other], &[])
            }
        }
    )*};
}

arithmetic!(Add add, Sub sub, Mul mul, Div div);

#[cfg(test)]
mod tests {
    use penstock_data::Symbol;

    use super::*;

    #[test]
    fn repeated_axes_are_those_that_broadcasting_added() {
        let shape = |dims: &[Dim]| Shape::new(dims.iter().copied());
        let (k, s0, s1) = (Dim::Known, Dim::Sym(Symbol(0)), Dim::Sym(Symbol(1)));
        let axes = |from: &[Dim], to: &[Dim]| repeated(&shape(from), &shape(to)).map(|a| a.to_vec());
        assert_eq!(axes(&[k(2), k(3)], &[k(2), k(3)]), Some(vec![]));
        assert_eq!(axes(&[k(2), k(3)], &[k(3)]), Some(vec![0]));
        assert_eq!(axes(&[k(2), k(3)], &[k(1)]), Some(vec![0, 1]));
        assert_eq!(axes(&[s0, k(3)], &[s0, k(1)]), Some(vec![1]));
        assert_eq!(axes(&[s0, k(3)], &[k(3)]), Some(vec![0]));
        assert_eq!(axes(&[s0], &[s1]), None);
        assert_eq!(axes(&[Dim::Unknown], &[Dim::Unknown]), None);
        assert_eq!(axes(&[Dim::Unknown], &[k(4)]), Some(vec![]));
        assert_eq!(repeated(&Shape::UNRANKED, &Shape::scalar()), None);
    }
}
