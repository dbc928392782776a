//! Branches, loops, sequences and optionals.
//!
//! A sequence is a list. What is known of its elements travels beside it, see [`Item::List`].

use penstock_data::{Class, DType, Dim, Error, Result, Shape, Tensor};
use penstock_ir::{Attr, Region, Type, Value};
use penstock_ops::control::{COND, WHILE};
use penstock_ops::list::LIST_NEW;

use super::Entry;
use crate::cx::{Cx, Item, Outputs, Size, one};

pub(super) const OPS: &[Entry] = &[
    ("ConcatFromSequence", 11, concat_from_sequence),
    ("If", 1, branch),
    ("Loop", 1, repeat),
    ("Optional", 15, optional),
    ("OptionalGetElement", 15, optional),
    ("OptionalHasElement", 15, has_element),
    ("Scan", 8, scan),
    ("SequenceAt", 11, sequence_at),
    ("SequenceConstruct", 11, sequence_construct),
    ("SequenceEmpty", 11, sequence_empty),
    ("SequenceErase", 11, sequence_erase),
    ("SequenceInsert", 11, sequence_insert),
    ("SequenceLength", 11, sequence_length),
    ("SequenceMap", 17, sequence_map),
    ("SplitToSequence", 11, split_to_sequence),
];

/// The values of items, and what they are without their values.
fn apart(items: Vec<Item>) -> Result<(Vec<Value>, Vec<Item>)> {
    let value = |item: &Item| match item {
        Item::Tensor(v) | Item::List { value: v, .. } => Ok(*v),
        Item::None => Err(Error::unimplemented("an optional without a value leaves a graph")),
    };
    Ok((items.iter().map(value).collect::<Result<_>>()?, items))
}

/// Items of the same kinds with other values.
fn together(kinds: &[Item], values: &[Value]) -> Vec<Item> {
    let one = |(kind, &value): (&Item, &Value)| match kind {
        Item::List { dtype, shape, .. } => Item::List { value, dtype: *dtype, shape: shape.clone() },
        _ => Item::Tensor(value),
    };
    kinds.iter().zip(values).map(one).collect()
}

/// What is known of the elements of a list that is one or the other.
fn joined(a: &Item, b: &Item) -> Item {
    match (a, b) {
        (Item::List { value, dtype, shape }, Item::List { shape: other, .. }) => {
            Item::List { value: *value, dtype: *dtype, shape: shape.join(other) }
        }
        _ => a.clone(),
    }
}

/// A graph of the node in a region of its own.
fn arm(cx: &mut Cx<'_, '_>, name: &str, fault: Option<&Error>) -> Result<(Region, Vec<Item>)> {
    let graph = cx.subgraph(name)?;
    let mut kinds = Vec::new();
    let region = cx.region(vec![], |cx, _| {
        if let Some(fault) = fault {
            let never = cx.constant(Tensor::from(false));
            cx.ops("assert", &[never], &[("message", fault.message().into())])?;
        }
        let items = cx.importer.subgraph(graph, vec![])?;
        let (values, items) = apart(items)?;
        kinds = items;
        Ok(values)
    })?;
    Ok((region, kinds))
}

/// A constant condition takes one branch alone. A branch that cannot be for the inputs given, as its shapes do not fit, is
/// an error when it is taken.
fn branch(cx: &mut Cx<'_, '_>) -> Outputs {
    let condition = cx.x(0)?;
    let condition = cx.reshape_known(condition, &[])?;
    if let Some(known) = cx.constant_of(condition) {
        let name = if known.bytes() == [0] { "else_branch" } else { "then_branch" };
        let graph = cx.subgraph(name)?;
        return cx.importer.subgraph(graph, vec![]);
    }
    let (names, mut arms) = (["then_branch", "else_branch"], Vec::new());
    for name in names {
        arms.push(match arm(cx, name, None) {
            Err(error) if !matches!(error.class(), Class::InvalidArgument | Class::DType) => return Err(error),
            made => made,
        });
    }
    // In the place of what cannot be stands the error, and what gives results of the same types.
    if let Some(wrong) = arms.iter().position(Result::is_err).filter(|&i| arms[1 - i].is_ok()) {
        let fault = arms[wrong].as_ref().err().cloned();
        arms[wrong] = arm(cx, names[1 - wrong], fault.as_ref());
    }
    let [then, otherwise] = <[_; 2]>::try_from(arms).map_err(|_| Error::internal("a condition has two branches"))?;
    let ((then, kinds), (otherwise, others)) = (then?, otherwise?);
    let kinds: Vec<Item> = kinds.iter().zip(&others).map(|(a, b)| joined(a, b)).collect();
    let results = cx.inst(&COND, &[condition], &[], &[then, otherwise])?;
    Ok(together(&kinds, &results))
}

/// A type that a loop variable keeps: with no shape where it may change.
fn loosened(ty: &Type) -> Type {
    ty.with_shape(Shape::UNRANKED)
}

/// An empty list to push elements to.
fn empty_list(cx: &mut Cx<'_, '_>) -> Result<Value> {
    let zero = cx.i64(0);
    cx.op("list_new", &[zero], &[])
}

/// The elements of a list of one shape along a new first dimension.
fn stacked(cx: &mut Cx<'_, '_>, list: Value, ty: &Type) -> Result<Value> {
    let shape = match ty.shape().dims() {
        Some(dims) => {
            let dims: Vec<i64> = dims.iter().map(|d| d.known().map_or(-1, |n| n as i64)).collect();
            cx.i64s(&dims)
        }
        None => cx.i64(-1),
    };
    cx.op("list_stack", &[list, shape], &[("dtype", Attr::DType(ty.dtype()))])
}

/// A loop with variables and lists of what each round gives. The types of the variables are those of their first values
/// where the body keeps them, else without shapes.
struct Loop {
    /// The variables behind the loop's own.
    kinds: Vec<Item>,
    /// The types of what a round adds to each list.
    rows: Vec<Type>,
    results: Vec<Value>,
}

/// Builds a loop: `state` are the values before, the first of them the index; `go` says whether there is a next round, and
/// `body` gives the next variables, as many as `state` has, and the rows.
fn run_loop<'i, 'm>(
    cx: &mut Cx<'i, 'm>,
    own: &[Value],
    state: Vec<Item>,
    lists: usize,
    go: impl Fn(&mut Cx<'i, 'm>, &[Value]) -> Result<Value>,
    body: impl Fn(&mut Cx<'i, 'm>, &[Value], Vec<Item>) -> Result<(Vec<Value>, Vec<Item>, Vec<Value>)>,
) -> Result<Loop> {
    let (values, mut kinds) = apart(state)?;
    let mut init = own.to_vec();
    init.extend(&values);
    for _ in 0..lists {
        init.push(empty_list(cx)?);
    }
    let mut types: Vec<Type> = init.iter().map(|&v| cx.ty(v).clone()).collect();
    // A round may change a shape, or what is known of a list: then it is built again with less said.
    for attempt in 0.. {
        let mut rows = Vec::new();
        let mut next_kinds = Vec::new();
        let attempted = cx.region(types.clone(), |cx, params| {
            let items = together(&kinds, &params[own.len()..own.len() + values.len()]);
            let (next_own, next, scanned) = body(cx, &params[..own.len()], items)?;
            let (next, found) = apart(next)?;
            next_kinds = found;
            rows = scanned.iter().map(|&v| cx.ty(v).clone()).collect();
            let mut results = next_own;
            results.extend(next);
            for (&list, &row) in params[own.len() + values.len()..].iter().zip(&scanned) {
                results.push(cx.op("list_push", &[list, row], &[])?);
            }
            Ok(results)
        })?;
        let given = cx.importer.builder.graph().signature_of(attempted).results;
        let mut fits = given.len() == types.len();
        for (i, (due, got)) in types.clone().iter().zip(&given).enumerate() {
            if due.dtype() == got.dtype() && !got.shape().is_subtype_of(due.shape()) {
                types[i] = match attempt {
                    0 => due.with_shape(due.shape().join(&got.shape().erased()).erased()),
                    _ => loosened(due),
                };
                fits = false;
            }
        }
        for (kind, next) in kinds.iter_mut().zip(&next_kinds) {
            let wider = joined(kind, next);
            if let (Item::List { shape, .. }, Item::List { shape: was, .. }) = (&wider, &*kind)
                && shape != was
            {
                fits = false;
            }
            *kind = wider;
        }
        if fits || attempt == 3 {
            let condition = cx.region(types.clone(), |cx, params| Ok(vec![go(cx, params)?]))?;
            let results = cx.inst(&WHILE, &init, &[], &[condition, attempted])?;
            return Ok(Loop { kinds, rows, results });
        }
    }
    Err(Error::internal("the types of a loop do not settle"))
}

/// `Loop`: at most so many iterations, while a condition holds.
fn repeat(cx: &mut Cx<'_, '_>) -> Outputs {
    let graph = cx.subgraph("body")?;
    let limit = match cx.opt(0) {
        Some(limit) => cx.reshape_known(limit, &[])?,
        None => cx.i64(i64::MAX),
    };
    let condition = match cx.opt(1) {
        Some(condition) => cx.reshape_known(condition, &[])?,
        None => cx.constant(true.into()),
    };
    let state: Vec<Item> = cx.inputs.get(2..).unwrap_or(&[]).to_vec();
    let variables = state.len();
    let lists =
        graph.outputs.len().checked_sub(variables + 1).ok_or_else(|| Error::invalid("the body has too few outputs"))?;
    let index = cx.i64(0);
    let done = run_loop(
        cx,
        &[index, condition],
        state,
        lists,
        |cx, params| {
            let more = cx.bin("less", params[0], limit)?;
            cx.bin("logical_and", more, params[1])
        },
        |cx, own, items| {
            let mut inputs = vec![Item::Tensor(own[0]), Item::Tensor(own[1])];
            inputs.extend(items);
            let mut outputs = cx.importer.subgraph(graph, inputs)?;
            let scanned = outputs.split_off(variables + 1);
            let next = outputs.split_off(1);
            let (condition, _) = apart(outputs)?;
            let condition = cx.reshape_known(condition[0], &[])?;
            let index = cx.with("add", own[0], 1.0)?;
            Ok((vec![index, condition], next, apart(scanned)?.0))
        },
    )?;
    let mut outputs = together(&done.kinds, &done.results[2..2 + variables]);
    for (&list, ty) in done.results[2 + variables..].iter().zip(&done.rows) {
        outputs.push(stacked(cx, list, ty)?.into());
    }
    Ok(outputs)
}

/// `Scan`: a round for each entry of the scanned inputs. In version 8 there is a batch in front of everything.
fn scan(cx: &mut Cx<'_, '_>) -> Outputs {
    let graph = cx.subgraph("body")?;
    let count = cx.int("num_scan_inputs", 1) as usize;
    let batched = cx.version < 9;
    let operands: Vec<Item> = cx.inputs[usize::from(batched)..].to_vec();
    let variables =
        operands.len().checked_sub(count).ok_or_else(|| Error::invalid("there are fewer inputs than are scanned"))?;
    let lists =
        graph.outputs.len().checked_sub(variables).ok_or_else(|| Error::invalid("the body has too few outputs"))?;
    let list = |cx: &Cx<'_, '_>, name: &str, len: usize| cx.ints(name).unwrap_or_else(|| vec![0; len]);
    let (input_axes, output_axes) = (list(cx, "scan_input_axes", count), list(cx, "scan_output_axes", lists));
    let name = if batched { "directions" } else { "scan_input_directions" };
    let (directions, out_directions) = (list(cx, name, count), list(cx, "scan_output_directions", lists));
    let mut state = operands[..variables].to_vec();
    let scanned = apart(operands[variables..].to_vec())?.0;
    if batched {
        return Err(Error::unimplemented("scans of version 8, which have a batch in front, are not supported"));
    }
    let mut rows = Vec::new();
    for (i, &x) in scanned.iter().enumerate() {
        let rank = cx.rank(x)?;
        let axis = cx.axis(input_axes[i], rank)?;
        let perm: Vec<usize> = std::iter::once(axis).chain((0..rank).filter(|&a| a != axis)).collect();
        let x = cx.transpose(x, &perm)?;
        rows.push(match directions[i] {
            0 => x,
            _ => cx.op("reverse", &[x], &[("axes", vec![0].into())])?,
        });
    }
    let first = *rows.first().ok_or_else(|| Error::invalid("nothing is scanned"))?;
    let iterations = cx.extent(first, 0)?;
    let iterations = cx.size(iterations);
    let index = cx.i64(0);
    let done = run_loop(
        cx,
        &[index],
        std::mem::take(&mut state),
        lists,
        |cx, params| cx.bin("less", params[0], iterations),
        |cx, own, mut items| {
            for &row in &rows {
                items.push(cx.bin("gather", row, own[0])?.into());
            }
            let mut outputs = cx.importer.subgraph(graph, items)?;
            let scanned = outputs.split_off(variables);
            let index = cx.with("add", own[0], 1.0)?;
            Ok((vec![index], outputs, apart(scanned)?.0))
        },
    )?;
    let mut outputs = together(&done.kinds, &done.results[1..1 + variables]);
    for (i, (&list, ty)) in done.results[1 + variables..].iter().zip(&done.rows).enumerate() {
        let mut y = stacked(cx, list, ty)?;
        if out_directions[i] != 0 {
            y = cx.op("reverse", &[y], &[("axes", vec![0].into())])?;
        }
        let rank = cx.rank(y)?;
        let axis = cx.axis(output_axes[i], rank)?;
        let mut perm: Vec<usize> = (1..rank).collect();
        perm.insert(axis, 0);
        outputs.push(cx.transpose(y, &perm)?.into());
    }
    Ok(outputs)
}

/// The sequence that is operand `index`.
fn sequence(cx: &Cx<'_, '_>, index: usize) -> Result<(Value, DType, Shape)> {
    match cx.inputs.get(index) {
        Some(Item::List { value, dtype, shape }) => Ok((*value, *dtype, shape.clone())),
        _ => Err(Error::invalid(format!("operand {index} is no sequence"))),
    }
}

fn sequence_empty(cx: &mut Cx<'_, '_>) -> Outputs {
    let dtype = cx.dtype_attr("dtype")?.unwrap_or(DType::F32);
    let value = empty_list(cx)?;
    // Nothing is known of what will be in it.
    Ok(vec![Item::List { value, dtype, shape: Shape::UNRANKED }])
}

fn sequence_construct(cx: &mut Cx<'_, '_>) -> Outputs {
    let values = cx.all()?;
    let first = *values.first().ok_or_else(|| Error::invalid("there is no operand"))?;
    let (dtype, mut shape) = (cx.dtype(first), cx.ty(first).shape().clone());
    let mut list = empty_list(cx)?;
    for value in values {
        shape = shape.join(cx.ty(value).shape());
        list = cx.op("list_push", &[list, value], &[])?;
    }
    Ok(vec![Item::List { value: list, dtype, shape }])
}

fn length(cx: &mut Cx<'_, '_>, list: Value) -> Result<Value> {
    cx.op("list_length", &[list], &[("dtype", DType::I64.into())])
}

fn sequence_length(cx: &mut Cx<'_, '_>) -> Outputs {
    let (list, _, _) = sequence(cx, 0)?;
    one(length(cx, list)?)
}

/// A position from the front.
fn position(cx: &mut Cx<'_, '_>, at: Value, list: Value) -> Result<Value> {
    let at = cx.cast(at, DType::I64)?;
    let at = cx.reshape_known(at, &[])?;
    let (zero, length) = (cx.i64(0), length(cx, list)?);
    let (negative, from_end) = (cx.bin("less", at, zero)?, cx.bin("add", at, length)?);
    cx.select(negative, from_end, at)
}

fn element(cx: &mut Cx<'_, '_>, list: Value, at: Value, dtype: DType, shape: &Shape) -> Result<Value> {
    let any = match shape.dims() {
        Some(dims) => {
            let dims: Vec<i64> = dims.iter().map(|d| d.known().map_or(-1, |n| n as i64)).collect();
            cx.i64s(&dims)
        }
        None => cx.i64(-1),
    };
    cx.op("list_get", &[list, at, any], &[("dtype", dtype.into())])
}

fn sequence_at(cx: &mut Cx<'_, '_>) -> Outputs {
    let (list, dtype, shape) = sequence(cx, 0)?;
    let at = cx.x(1)?;
    let at = position(cx, at, list)?;
    one(element(cx, list, at, dtype, &shape)?)
}

/// The list with a gap or without an element: the others are written to a new one.
fn moved(
    cx: &mut Cx<'_, '_>,
    list: Value,
    (dtype, shape): (DType, &Shape),
    count: Value,
    from: impl Fn(&mut Cx<'_, '_>, Value) -> Result<(Value, Option<Value>)>,
    instead: Option<Value>,
) -> Result<Value> {
    let start = empty_list(cx)?;
    let types = [cx.ty(start).clone()];
    let done = cx.count_loop(count, &[start], &types, |cx, i, state| {
        let (at, replaced) = from(cx, i)?;
        let value = match (replaced, instead) {
            (Some(replaced), Some(instead)) => {
                let there = cx.region(vec![], |_, _| Ok(vec![instead]))?;
                let other = cx.region(vec![], |cx, _| Ok(vec![element(cx, list, at, dtype, shape)?]))?;
                cx.inst(&COND, &[replaced], &[], &[there, other])?[0]
            }
            _ => element(cx, list, at, dtype, shape)?,
        };
        Ok(vec![cx.op("list_push", &[state[0], value], &[])?])
    })?;
    Ok(done[0])
}

fn sequence_insert(cx: &mut Cx<'_, '_>) -> Outputs {
    let (list, _, shape) = sequence(cx, 0)?;
    let value = cx.x(1)?;
    let dtype = cx.dtype(value);
    let known = cx.ty(value).shape().clone();
    let Some(at) = cx.opt(2) else {
        let empty = cx.importer.builder.graph().def_inst(list).is_some_and(|inst| {
            let op = cx.importer.builder.graph().insts[inst].op;
            op.is(&LIST_NEW)
        });
        let shape = if empty { known } else { shape.join(&known) };
        return Ok(vec![Item::List { value: cx.op("list_push", &[list, value], &[])?, dtype, shape }]);
    };
    let at = position(cx, at, list)?;
    let shape = shape.join(&known);
    let count = length(cx, list)?;
    let count = cx.with("add", count, 1.0)?;
    let from = |cx: &mut Cx<'_, '_>, i: Value| {
        let (here, behind) = (cx.bin("equal", i, at)?, cx.bin("greater", i, at)?);
        let before = cx.with("sub", i, 1.0)?;
        Ok((cx.select(behind, before, i)?, Some(here)))
    };
    let value = moved(cx, list, (dtype, &shape), count, from, Some(value))?;
    Ok(vec![Item::List { value, dtype, shape }])
}

fn sequence_erase(cx: &mut Cx<'_, '_>) -> Outputs {
    let (list, dtype, shape) = sequence(cx, 0)?;
    let at = match cx.opt(1) {
        Some(at) => at,
        None => cx.i64(-1),
    };
    let at = position(cx, at, list)?;
    let count = length(cx, list)?;
    let count = cx.with("sub", count, 1.0)?;
    let from = |cx: &mut Cx<'_, '_>, i: Value| {
        let behind = cx.bin("greater_equal", i, at)?;
        let next = cx.with("add", i, 1.0)?;
        Ok((cx.select(behind, next, i)?, None))
    };
    let value = moved(cx, list, (dtype, &shape), count, from, None)?;
    Ok(vec![Item::List { value, dtype, shape }])
}

fn concat_from_sequence(cx: &mut Cx<'_, '_>) -> Outputs {
    let (list, dtype, shape) = sequence(cx, 0)?;
    let axis = cx.int("axis", 0);
    if cx.flag("new_axis", false) {
        let y = stacked(cx, list, &Type::tensor(dtype, shape))?;
        if axis == 0 {
            return one(y);
        }
        let rank = cx.rank(y)?;
        let axis = cx.axis(axis, rank)?;
        let mut perm: Vec<usize> = (1..rank).collect();
        perm.insert(axis, 0);
        return one(cx.transpose(y, &perm)?);
    }
    let rank = shape.rank().ok_or_else(|| Error::unimplemented("nothing is known of the elements of the sequence"))?;
    let axis = cx.axis(axis, rank)?;
    // The axis in front: the elements are added to one another there.
    let perm: Vec<usize> = std::iter::once(axis).chain((0..rank).filter(|&a| a != axis)).collect();
    let count = length(cx, list)?;
    let zero = cx.i64(0);
    let first = element(cx, list, zero, dtype, &shape)?;
    let first = cx.transpose(first, &perm)?;
    let mut dims = cx.dims(first)?;
    dims[0] = Dim::Unknown;
    let types = [Type::tensor(dtype, Shape::new(dims))];
    let rest = cx.with("sub", count, 1.0)?;
    let done = cx.count_loop(rest, &[first], &types, |cx, i, state| {
        let at = cx.with("add", i, 1.0)?;
        let next = element(cx, list, at, dtype, &shape)?;
        let next = cx.transpose(next, &perm)?;
        Ok(vec![cx.op("concat", &[state[0], next], &[("axis", 0i64.into())])?])
    })?;
    let mut back: Vec<usize> = (1..rank).collect();
    back.insert(axis, 0);
    one(cx.transpose(done[0], &back)?)
}

fn split_to_sequence(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let (rank, dtype) = (cx.rank(x)?, cx.dtype(x));
    let axis = cx.axis(cx.int("axis", 0), rank)?;
    let extent = cx.extent(x, axis)?;
    let sizes = match cx.opt(1) {
        None => None,
        Some(sizes) if cx.rank(sizes)? == 0 => {
            // Pieces of one size, the last may be smaller.
            let size = *cx.known_ints(sizes)?.first().unwrap_or(&1);
            let total = cx.known_extent(x, axis)? as i64;
            let list: Vec<i64> = (0..total).step_by(size.max(1) as usize).map(|at| size.min(total - at)).collect();
            Some(cx.i64s(&list))
        }
        Some(sizes) => Some(cx.cast(sizes, DType::I64)?),
    };
    let squeezes = sizes.is_none() && !cx.flag("keepdims", true);
    let count = match sizes {
        Some(sizes) => cx.extent(sizes, 0)?,
        None => extent,
    };
    let count = cx.size(count);
    let (ends, ones) = match sizes {
        Some(sizes) => (Some(cx.op("cumsum", &[sizes], &[])?), sizes),
        None => (None, count),
    };
    let start = empty_list(cx)?;
    let types = [cx.ty(start).clone()];
    let done = cx.count_loop(count, &[start], &types, |cx, i, state| {
        let piece = if squeezes {
            cx.op("gather", &[x, i], &[("axis", (axis as i64).into())])?
        } else {
            let (begin, end) = match ends {
                Some(ends) => {
                    let (end, size) = (cx.bin("gather", ends, i)?, cx.bin("gather", ones, i)?);
                    (cx.bin("sub", end, size)?, end)
                }
                None => (i, cx.with("add", i, 1.0)?),
            };
            cx.slice(x, axis, Size::Value(begin), Some(Size::Value(end)))?
        };
        Ok(vec![cx.op("list_push", &[state[0], piece], &[])?])
    })?;
    let mut dims: Vec<Dim> = cx.dims(x)?.iter().map(|d| d.known().map_or(Dim::Unknown, Dim::Known)).collect();
    if squeezes {
        dims.remove(axis);
    } else {
        dims[axis] = if sizes.is_none() { Dim::Known(1) } else { Dim::Unknown };
    }
    Ok(vec![Item::List { value: done[0], dtype, shape: Shape::new(dims) }])
}

/// A round for each element, with the elements of the other sequences at its place and the tensors as they are.
fn sequence_map(cx: &mut Cx<'_, '_>) -> Outputs {
    let graph = cx.subgraph("body")?;
    let operands = cx.inputs.clone();
    let (first, _, _) = sequence(cx, 0)?;
    let count = length(cx, first)?;
    let index = cx.i64(0);
    let lists = graph.outputs.len();
    let done = run_loop(
        cx,
        &[index],
        vec![],
        lists,
        |cx, params| cx.bin("less", params[0], count),
        |cx, own, _| {
            let mut inputs = Vec::new();
            for item in &operands {
                inputs.push(match item {
                    Item::List { value, dtype, shape } => element(cx, *value, own[0], *dtype, shape)?.into(),
                    other => other.clone(),
                });
            }
            let outputs = cx.importer.subgraph(graph, inputs)?;
            let index = cx.with("add", own[0], 1.0)?;
            Ok((vec![index], vec![], apart(outputs)?.0))
        },
    )?;
    let items = done.results[1..].iter().zip(&done.rows);
    Ok(items.map(|(&value, ty)| Item::List { value, dtype: ty.dtype(), shape: ty.shape().erased() }).collect())
}

/// An optional is its value, or nothing: whether it is there is known while the graph is made.
fn optional(cx: &mut Cx<'_, '_>) -> Outputs {
    match cx.inputs.first() {
        Some(item) => Ok(vec![item.clone()]),
        None => Ok(vec![Item::None]),
    }
}

fn has_element(cx: &mut Cx<'_, '_>) -> Outputs {
    let there = !matches!(cx.inputs.first(), None | Some(Item::None));
    one(cx.constant(there.into()))
}
