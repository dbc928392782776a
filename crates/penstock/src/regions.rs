//! Instructions with regions, whose regions are closures.

use std::sync::Arc;

use penstock_data::{Error, Result};
use penstock_ir::{Attr, Attrs, Builder, FuncRef, Function, Region, Type, Value};
use penstock_ops::control;
use smallvec::SmallVec;

/// How a loop runs, for [`Regions::while_loop_with`].
///
/// ```
/// let loops = penstock::Loop::new().checkpoint_every(8);
/// # let _ = loops;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Loop {
    types: Option<Vec<Type>>,
    checkpoint_every: Option<i64>,
}

impl Loop {
    /// Loop variables of the types of their first values, of which a derivative keeps every iteration.
    pub fn new() -> Loop {
        Loop::default()
    }

    /// The types of the loop variables, where they are to be wider than those of their first values: a variable that grows
    /// has an unknown extent.
    #[must_use]
    pub fn types(self, types: &[Type]) -> Loop {
        Loop { types: Some(types.to_vec()), ..self }
    }

    /// Keeps the variables of every so manieth iteration alone for a derivative, which runs those in between again.
    #[must_use]
    pub fn checkpoint_every(self, iterations: i64) -> Loop {
        Loop { checkpoint_every: Some(iterations), ..self }
    }
}

/// Control flow of a [`Builder`]. A closure makes each region: it may use all values of around it, and gives the results of
/// the region.
///
/// ```
/// use penstock::{ConcreteFunction, DType, Operators, Regions, Shape, Tensor, Type, builder};
///
/// # fn main() -> penstock::Result<()> {
/// // The number of steps to 1 by halving even numbers, and tripling odd ones and adding 1.
/// let mut g = builder();
/// let n = g.input(Type::tensor(DType::I64, Shape::scalar()), Some("n"));
/// let [zero, one, two, three] = [0i64, 1, 2, 3].map(|i| g.constant(Tensor::from(i)));
/// let end = g.while_loop(
///     &[n, zero],
///     |g, at| g.greater(at[0], one),
///     |g, at| {
///         let odd = g.floormod(at[0], two)?;
///         let odd = g.equal(odd, one)?;
///         let next = g.cond(
///             odd,
///             |g| {
///                 let tripled = g.mul(at[0], three)?;
///                 Ok(vec![g.add(tripled, one)?])
///             },
///             |g| Ok(vec![g.floordiv(at[0], two)?]),
///         )?;
///         Ok(vec![next[0], g.add(at[1], one)?])
///     },
/// )?;
/// let steps = ConcreteFunction::new("steps", g.finish(&[end[1]])?)?;
/// assert_eq!(steps.run(&[&27i64])?[0].item(), Some(111i64));
/// # Ok(())
/// # }
/// ```
pub trait Regions {
    /// Adds one of two regions, by the `bool` scalar `pred`: only that runs. Both give as many values, of the same dtypes.
    ///
    /// # Errors
    /// Those of the closures; `InvalidArgument` or `DType` where the regions do not fit each other.
    fn cond(
        &mut self,
        pred: Value,
        then: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
        otherwise: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>>;

    /// Adds one of `count` regions, by the `int32` scalar `index`; one outside of them takes the last. `branch` is called
    /// with the number of each.
    ///
    /// # Errors
    /// As [`Regions::cond`].
    fn switch(
        &mut self,
        index: Value,
        count: usize,
        branch: impl FnMut(&mut Self, usize) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>>;

    /// Adds a loop that runs while `condition`, of the loop variables, gives true. `body` gives their next values, `init` are
    /// their first, and the results are their last.
    ///
    /// # Errors
    /// Those of the closures; `InvalidArgument` or `DType` where the types of variables change, or the condition gives no `bool`
    /// scalar.
    fn while_loop(
        &mut self,
        init: &[Value],
        condition: impl FnOnce(&mut Self, &[Value]) -> Result<Value>,
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        self.while_loop_with(init, Loop::new(), condition, body)
    }

    /// As [`Regions::while_loop`], with loop variables of other types or fewer checkpoints.
    ///
    /// # Errors
    /// As [`Regions::while_loop`].
    fn while_loop_with(
        &mut self,
        init: &[Value],
        how: Loop,
        condition: impl FnOnce(&mut Self, &[Value]) -> Result<Value>,
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>>;

    /// Calls a function, which may be one that is only declared yet: so a function can call itself.
    ///
    /// # Errors
    /// `InvalidArgument` or `DType` for arguments that do not fit.
    fn call(&mut self, function: &Arc<Function>, args: &[Value]) -> Result<Vec<Value>>;
}

/// A region with parameters that `body` fills. Where that fails nothing stays open.
fn region(
    g: &mut Builder,
    params: &[Type],
    body: impl FnOnce(&mut Builder, &[Value]) -> Result<Vec<Value>>,
) -> Result<Region> {
    let depth = g.depth();
    let opened = g.begin_region(params.iter().cloned());
    let params = g.params(opened);
    let ended = body(g, &params).and_then(|results| match g.depth() == depth + 1 {
        true => g.end_region(&results),
        false => Err(Error::invalid("the closure of a region leaves another open, or closes it")),
    });
    while ended.is_err() && g.depth() > depth {
        g.abandon_region();
    }
    ended
}

/// Adds an instruction with regions, and gives its results.
fn add(
    g: &mut Builder,
    op: &'static penstock_ir::OpDef,
    operands: &[Value],
    attrs: Attrs,
    regions: &[Region],
) -> Result<Vec<Value>> {
    let inst = g.inst(op, operands, attrs, regions)?;
    Ok(g.results(inst).to_vec())
}

impl Regions for Builder {
    fn cond(
        &mut self,
        pred: Value,
        then: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
        otherwise: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let regions = [region(self, &[], |g, _| then(g))?, region(self, &[], |g, _| otherwise(g))?];
        add(self, &control::COND, &[pred], Attrs::default(), &regions)
    }

    fn switch(
        &mut self,
        index: Value,
        count: usize,
        mut branch: impl FnMut(&mut Self, usize) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let regions = (0..count).map(|i| region(self, &[], |g, _| branch(g, i))).collect::<Result<Vec<Region>>>()?;
        add(self, &control::SWITCH, &[index], Attrs::default(), &regions)
    }

    fn while_loop_with(
        &mut self,
        init: &[Value],
        how: Loop,
        condition: impl FnOnce(&mut Self, &[Value]) -> Result<Value>,
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let own = |&v: &Value| {
            let foreign = || Error::invalid(format!("{v} is of another graph")).in_op(control::WHILE.name);
            self.ty(v).cloned().ok_or_else(foreign)
        };
        let own = init.iter().map(own).collect::<Result<Vec<Type>>>()?;
        let types = how.types.unwrap_or(own);
        let condition = region(self, &types, |g, at| Ok(vec![condition(g, at)?]))?;
        let body = region(self, &types, body)?;
        let every = how.checkpoint_every.map_or(Attr::None, Attr::from);
        add(self, &control::WHILE, init, Attrs(SmallVec::from_vec(vec![every])), &[condition, body])
    }

    fn call(&mut self, function: &Arc<Function>, args: &[Value]) -> Result<Vec<Value>> {
        let attrs = Attrs(SmallVec::from_vec(vec![FuncRef::called(function).into()]));
        add(self, &control::CALL, args, attrs, &[])
    }
}
