//! Calls, branches and loops. What functions share, such as variables, is seen from inside, so that only tensors are passed.

use penstock_data::{DType as D, Error, Result, Shape};
use penstock_ir::{Region, Type, Value};

use super::{Cx, Entry, Val, made, refused};
use crate::saved_model::lower::Lowering;

pub(super) static OPS: &[Entry] = &[
    made("NoOp", |_, _| Ok(Vec::new())),
    made("ControlTrigger", |_, _| Ok(Vec::new())),
    made("PartitionedCall", call),
    made("StatefulPartitionedCall", call),
    made("If", branch),
    made("StatelessIf", branch),
    made("Case", case),
    made("StatelessCase", case),
    made("While", repeat),
    made("StatelessWhile", repeat),
    made("LoopCond", |cx, _| Ok(cx.inputs.clone())),
    made("Assert", |cx, _| {
        let operands = cx.tensors()?;
        cx.ops("assert", &operands, &[])?;
        Ok(Vec::new())
    }),
];

fn function<'n>(cx: &Cx<'_, '_, '_, 'n>, name: &str) -> Result<&'n str> {
    let attr = cx.node.attr(name)?;
    attr.ok_or_else(|| Error::invalid(format!("the attribute '{name}' is missing")))?.function()
}

fn call(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let name = function(cx, "f")?;
    cx.lowering.call(name, &cx.inputs)
}

/// What holds of numbers: that they are not 0.
fn truth(lowering: &mut Lowering<'_, '_>, value: Value) -> Result<Value> {
    let ty = lowering.builder.graph().ty(value).clone();
    if ty.dtype() == D::Bool {
        return Ok(value);
    }
    if !ty.dtype().is_numeric() {
        return refused(format!("a condition of dtype {}", ty.dtype()));
    }
    let zero = lowering.emit("zeros_like", &[value], &[])?[0];
    Ok(lowering.emit("not_equal", &[value, zero], &[])?[0])
}

/// A region that is a function of values around it, with which of its results are no tensors.
fn region(cx: &mut Cx<'_, '_, '_, '_>, name: &str, args: &[Val]) -> Result<(Region, Vec<Val>)> {
    cx.lowering.builder.begin_region([]);
    let made = cx.lowering.call(name, args).and_then(|results| {
        let tensors: Vec<Value> = results.iter().filter_map(tensor).collect();
        Ok((cx.lowering.builder.end_region(&tensors)?, results))
    });
    if made.is_err() {
        cx.lowering.builder.abandon_region();
    }
    made
}

fn tensor(val: &Val) -> Option<Value> {
    match val {
        Val::Tensor(v) => Some(*v),
        Val::Resource(_) => None,
    }
}

/// The results of regions, where what all of them give that is no tensor stays what it is.
fn joined(regions: &[(Region, Vec<Val>)], results: Vec<Value>) -> Result<Vec<Val>> {
    let mut results = results.into_iter();
    let (_, first) = &regions[0];
    let join = first.iter().enumerate().map(|(i, val)| match val {
        Val::Tensor(_) => Ok(Val::Tensor(results.next().ok_or_else(|| Error::internal("a result is missing"))?)),
        Val::Resource(_) if regions.iter().all(|(_, vals)| vals.get(i) == Some(val)) => Ok(*val),
        Val::Resource(_) => refused("branches that give different objects"),
    });
    join.collect()
}

fn branch(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let condition = cx.tensor(0)?;
    let condition = truth(cx.lowering, condition)?;
    let args = cx.inputs[1..].to_vec();
    let mut regions = Vec::new();
    for name in ["then_branch", "else_branch"] {
        let name = function(cx, name)?;
        regions.push(region(cx, name, &args)?);
    }
    let ids: Vec<Region> = regions.iter().map(|(r, _)| *r).collect();
    let results = cx.lowering.control("cond", &[condition], &ids)?;
    joined(&regions, results)
}

fn case(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let index = cx.tensor(0)?;
    let args = cx.inputs[1..].to_vec();
    let names = cx.node.attr("branches")?;
    let names = names.map_or(Ok(Vec::new()), |a| a.functions())?;
    let regions = names.into_iter().map(|name| region(cx, name, &args)).collect::<Result<Vec<_>>>()?;
    if regions.is_empty() {
        return Err(Error::invalid("there are no branches"));
    }
    let ids: Vec<Region> = regions.iter().map(|(r, _)| *r).collect();
    let results = cx.lowering.control("switch", &[index], &ids)?;
    joined(&regions, results)
}

/// A loop over the tensors among its values. Their types are what they start as, widened until the body keeps to them.
fn repeat(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (condition, body) = (function(cx, "cond")?, function(cx, "body")?);
    let start: Vec<Value> = cx.inputs.iter().filter_map(tensor).collect();
    let mut types: Vec<Type> = start.iter().map(|&v| cx.ty(v).with_shape(cx.shape(v).erased())).collect();
    let given = cx.inputs.clone();
    let values = |params: &[Value]| -> Vec<Val> {
        let mut params = params.iter();
        let next = given.iter().map(|val| match val {
            Val::Tensor(_) => params.next().map_or(*val, |&p| Val::Tensor(p)),
            Val::Resource(_) => *val,
        });
        next.collect()
    };
    // Each turn makes a type wider, of which there are as many ways as dimensions.
    let turns = 2 + types.iter().map(|ty| ty.shape().rank().map_or(0, |r| r + 1)).sum::<usize>();
    for _ in 0..turns.min(64) {
        let inside = cx.lowering.builder.begin_region(types.iter().cloned());
        let params = cx.lowering.builder.params(inside);
        let next = cx.lowering.call(body, &values(&params)).and_then(|results| {
            let kept = results.len() == given.len()
                && results.iter().zip(&given).all(|(now, was)| matches!(was, Val::Tensor(_)) || now == was);
            if kept { Ok(results) } else { refused("a loop whose body gives other objects than it takes") }
        });
        let results: Vec<Value> = match next {
            Ok(results) => results.iter().filter_map(tensor).collect(),
            Err(error) => {
                cx.lowering.builder.abandon_region();
                return Err(error);
            }
        };
        let wider: Vec<Type> =
            types.iter().zip(&results).map(|(ty, &v)| ty.with_shape(widened(ty.shape(), cx.ty(v).shape()))).collect();
        if wider != types {
            cx.lowering.builder.abandon_region();
            types = wider;
            continue;
        }
        let inside = cx.lowering.builder.end_region(&results)?;
        let test = cx.lowering.builder.begin_region(types.iter().cloned());
        let params = cx.lowering.builder.params(test);
        let holds = cx.lowering.call(condition, &values(&params)).and_then(|results| {
            let holds = results.first().and_then(tensor);
            truth(cx.lowering, holds.ok_or_else(|| Error::invalid("a condition gives no tensor"))?)
        });
        let test = match holds.and_then(|holds| cx.lowering.builder.end_region(&[holds])) {
            Ok(test) => test,
            Err(error) => {
                cx.lowering.builder.abandon_region();
                return Err(error);
            }
        };
        let made = cx.lowering.control("while", &start, &[test, inside])?;
        return Ok(values(&made));
    }
    refused("a loop whose values keep changing their shapes")
}

/// The shape that holds both, without the names of dimensions.
fn widened(a: &Shape, b: &Shape) -> Shape {
    if b.is_subtype_of(a) { a.clone() } else { a.join(b).erased() }
}
