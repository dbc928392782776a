//! The operators of the engine, each as a node of TensorFlow or several.
//!
//! Where the table of what is read says that an operator of TensorFlow means the same, that is written. The others have a
//! handler here or in a file beside.

use std::slice::from_ref;

use penstock_data::{DType as D, Error, Result, Tensor};
use penstock_ir::Attr;

use super::graph::{Cx, Edge, Item, Items};
use super::message::Value;
use super::{lists, networks};
use crate::saved_model::table::{self, Entry, From};

pub(super) fn one(edge: Edge) -> Items {
    Ok(vec![Item::Edge(edge)])
}

pub(super) fn several(edges: Vec<Edge>) -> Items {
    Ok(edges.into_iter().map(Item::Edge).collect())
}

pub(super) fn refused<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::unimplemented(what))
}

/// Whether an operator of the engine has a node in TensorFlow.
pub(super) fn is_known(op: &str) -> bool {
    const CONTROL: [&str; 6] = ["const", "cond", "switch", "while", "call", "with_gradient"];
    CONTROL.contains(&op) || handler(op).is_some() || table::of_engine(op).is_some()
}

/// Writes an instruction.
pub(super) fn write(cx: &mut Cx<'_, '_, '_>) -> Items {
    let name = cx.data.op.name;
    if let Some(handler) = handler(name) {
        return handler(cx);
    }
    match table::of_engine(name) {
        Some(entry) => direct(cx, entry),
        None => refused("has no node in TensorFlow"),
    }
}

type Handler = fn(&mut Cx<'_, '_, '_>) -> Items;

fn handler(name: &str) -> Option<Handler> {
    let known: Handler = match name {
        "read_variable" => read_variable,
        "assign" => |cx| assign(cx, "AssignVariableOp"),
        "assign_add" => |cx| assign(cx, "AssignAddVariableOp"),
        "assign_sub" => |cx| assign(cx, "AssignSubVariableOp"),
        "scatter_variable" => scatter_variable,
        "count_up_to" => count_up_to,
        "identity" => |cx| same(cx, "Identity", &[]),
        "barrier" => |cx| Ok(cx.operands.clone()),
        "placeholder_with_default" => |cx| {
            let (x, shape) = (cx.x(0)?, cx.data.attrs.shape(0).clone());
            one(cx.node("PlaceholderWithDefault", &[x], vec![("shape", Value::Shape(shape))])?)
        },
        "decode_raw" => decode_raw,
        "table_find" => |cx| same(cx, "LookupTableFindV2", &[]),
        "table_size" => |cx| same(cx, "LookupTableSizeV2", &[]),
        "table_export" => table_export,
        "table_insert" => |cx| assign(cx, "LookupTableInsertV2"),
        "table_remove" => |cx| assign(cx, "LookupTableRemoveV2"),
        "logical_xor" | "string_not_equal" => |cx| same(cx, "NotEqual", &[]),
        "string_equal" => |cx| same(cx, "Equal", &[]),
        "string_add" => |cx| same(cx, "Add", &[]),
        "string_select" => |cx| same(cx, "SelectV2", &[]),
        "abs" => |cx| {
            let complex = cx.ty(0).dtype().is_complex();
            let (x, out) = (cx.x(0)?, cx.out(0).dtype());
            match complex {
                true => one(cx.node("ComplexAbs", &[x], vec![("Tout", out.into())])?),
                false => one(cx.node("Abs", &[x], vec![])?),
            }
        },
        "real" => |cx| part(cx, "Real"),
        "imag" => |cx| part(cx, "Imag"),
        "angle" => |cx| part(cx, "Angle"),
        "complex" => |cx| part(cx, "Complex"),
        "step" => |cx| {
            let (x, dtype) = (cx.x(0)?, cx.ty(0).dtype());
            let zero = cx.number(0.0, dtype)?;
            let above = cx.node("Greater", &[x, zero], vec![])?;
            one(cx.cast(&above, dtype)?)
        },
        // TensorFlow has no kernels for the narrow dtypes.
        "digamma" => |cx| widened(cx, "Digamma"),
        "lgamma" => |cx| widened(cx, "Lgamma"),
        "range" => range,
        "erfinv" => |cx| widened(cx, "Erfinv"),
        "ndtri" => |cx| widened(cx, "Ndtri"),
        "rint" => |cx| widened(cx, "Rint"),
        "round" => |cx| if cx.ty(0).dtype().is_integer() { Ok(cx.operands.clone()) } else { same(cx, "Round", &[]) },
        "trunc" => |cx| {
            let x = cx.x(0)?;
            let (sign, size) = (cx.node("Sign", from_ref(&x), vec![])?, cx.node("Abs", &[x], vec![])?);
            let floor = cx.node("Floor", &[size], vec![])?;
            one(cx.node("Mul", &[sign, floor], vec![])?)
        },
        "reduce_logsumexp" => logsumexp,
        "count_nonzero" => count_nonzero,
        "sum_to_shape" => sum_to_shape,
        "sort" => sort,
        "argsort" => argsort,
        "searchsorted" => searchsorted,
        "unique" => |cx| {
            let (x, dtype) = (cx.x(0)?, cx.data.attrs.dtype(0));
            several(cx.many("UniqueWithCounts", &[x], vec![("out_idx", dtype.into())])?)
        },
        "take_along_axis" => take_along_axis,
        "matmul" => matmul,
        "matrix_diag_part" => |cx| {
            let x = cx.x(0)?;
            let (none, zero) = (cx.int(0)?, cx.number(0.0, x.dtype)?);
            one(cx.node("MatrixDiagPartV3", &[x, none, zero], vec![])?)
        },
        "matrix_set_diag" => |cx| {
            let (x, diagonal, none) = (cx.x(0)?, cx.x(1)?, cx.int(0)?);
            one(cx.node("MatrixSetDiagV3", &[x, diagonal, none], vec![])?)
        },
        "log_matrix_determinant" => |cx| all_of(cx, "LogMatrixDeterminant", vec![]),
        "lu" => |cx| all_of(cx, "Lu", vec![("output_idx_type", D::I32.into())]),
        "qr" => |cx| all_of(cx, "Qr", vec![("full_matrices", false.into())]),
        "qr_full" => |cx| all_of(cx, "Qr", vec![("full_matrices", true.into())]),
        "svd" => |cx| all_of(cx, "Svd", vec![("compute_uv", true.into()), ("full_matrices", false.into())]),
        "svd_full" => |cx| all_of(cx, "Svd", vec![("compute_uv", true.into()), ("full_matrices", true.into())]),
        "singular_values" => |cx| first_of(cx, "Svd", vec![("compute_uv", false.into())]),
        "self_adjoint_eig" => |cx| all_of(cx, "SelfAdjointEigV2", vec![("compute_v", true.into())]),
        "self_adjoint_eigvals" => |cx| first_of(cx, "SelfAdjointEigV2", vec![("compute_v", false.into())]),
        "eig" => |cx| {
            let out = cx.out(0).dtype();
            all_of(cx, "Eig", vec![("compute_v", true.into()), ("Tout", out.into())])
        },
        "eigvals" => |cx| {
            let out = cx.out(0).dtype();
            first_of(cx, "Eig", vec![("compute_v", false.into()), ("Tout", out.into())])
        },
        "fft" => fft,
        "rfft" => rfft,
        "irfft" => irfft,
        "split" => split,
        "concat_offset" => concat_offset,
        "slice_grad" => slice_grad,
        "strided_slice_grad" => strided_slice_grad,
        "gather_grad" => gather_grad,
        "string_reduce_join" => |cx| {
            let x = cx.x(0)?;
            // All axes are joined from the last one on.
            let given = cx.data.attrs.opt_ints(0).map(<[i64]>::to_vec);
            let axes = match (given, cx.ty(0).shape().rank()) {
                (Some(axes), _) => cx.ints(&axes)?,
                (None, Some(rank)) => cx.ints(&(0..rank as i64).rev().collect::<Vec<_>>())?,
                (None, None) => {
                    let (rank, one, end) = (cx.node("Rank", from_ref(&x), vec![])?, cx.int(1)?, cx.int(-1)?);
                    let last = cx.node("Sub", &[rank, one], vec![])?;
                    cx.node("Range", &[last, end.clone(), end], vec![])?
                }
            };
            let (keep, separator) = (cx.data.attrs.flag(1), cx.data.attrs.str(2).to_owned());
            let attrs = vec![("keep_dims", keep.into()), ("separator", (&*separator).into())];
            one(cx.node("ReduceJoin", &[x, axes], attrs)?)
        },
        "string_split" => string_split,
        "string_format" => |cx| {
            let text = formatted(cx, 0, 1)?;
            one(text)
        },
        "print" => print,
        "assert" => assert,
        "timestamp" => |cx| same(cx, "Timestamp", &[]),
        _ => return lists::handler(name).or_else(|| networks::handler(name)),
    };
    Some(known)
}

/// One node for all operands, with the dtypes of attributes as given.
pub(super) fn same(cx: &mut Cx<'_, '_, '_>, op: &str, attrs: &[(&str, D)]) -> Items {
    let inputs = cx.all()?;
    let attrs = attrs.iter().map(|&(name, dtype)| (name, dtype.into())).collect();
    one(cx.node(op, &inputs, attrs)?)
}

/// One node for an operand, by way of `float32` where that is narrow.
fn widened(cx: &mut Cx<'_, '_, '_>, op: &str) -> Items {
    let (x, dtype) = (cx.x(0)?, cx.ty(0).dtype());
    let wide = if dtype.size() < 4 { cx.cast(&x, D::F32)? } else { x };
    let y = cx.node(op, &[wide], vec![])?;
    one(cx.cast(&y, dtype)?)
}

fn all_of(cx: &mut Cx<'_, '_, '_>, op: &str, attrs: Vec<(&str, Value)>) -> Items {
    let inputs = cx.all()?;
    let mut made = cx.many(op, &inputs, attrs)?;
    for (i, edge) in made.iter_mut().enumerate() {
        *edge = real(cx, edge.clone(), i)?;
    }
    several(made)
}

/// What TensorFlow gives as complex numbers and is real here.
fn real(cx: &mut Cx<'_, '_, '_>, edge: Edge, result: usize) -> Result<Edge> {
    match (edge.dtype.is_complex(), cx.out(result).dtype()) {
        (true, due) if due.is_float() => cx.node("Real", &[edge], vec![("Tout", due.into())]),
        _ => Ok(edge),
    }
}

fn first_of(cx: &mut Cx<'_, '_, '_>, op: &str, attrs: Vec<(&str, Value)>) -> Items {
    let inputs = cx.all()?;
    let made = cx.node(op, &inputs, attrs)?;
    one(real(cx, made, 0)?)
}

/// An operator whose result has another dtype than its operands.
fn part(cx: &mut Cx<'_, '_, '_>, op: &str) -> Items {
    let out = cx.out(0).dtype();
    let inputs = cx.all()?;
    // TensorFlow has these for complex numbers alone.
    if op != "Complex" && !inputs[0].dtype.is_complex() {
        return match op {
            "Real" => Ok(cx.operands.clone()),
            _ => refused(format!("{op} of numbers that are not complex")),
        };
    }
    one(cx.node(op, &inputs, vec![("Tout", out.into())])?)
}

/// Writes an operator of the same meaning.
fn direct(cx: &mut Cx<'_, '_, '_>, entry: &Entry) -> Items {
    let op = cx.data.op;
    for (i, def) in op.attrs.iter().enumerate() {
        let said = entry.attrs.iter().any(|(name, _)| *name == def.name);
        let free = said || def.name == "sparse_gradient" || Some(&cx.data.attrs.0[i]) == def.default_value().as_ref();
        let last = def.name == "axis" && cx.rank(0).is_ok_and(|r| cx.data.attrs.0[i] == Attr::Int(r as i64 - 1));
        if !free && !last {
            return refused(format!("{} of TensorFlow has no '{}'", entry.name, def.name));
        }
    }
    let (mut attrs, mut placed): (Vec<(&str, Value)>, Vec<(isize, Edge)>) = (Vec::new(), Vec::new());
    for (name, from) in entry.attrs {
        let index = op.attr_index(name).ok_or_else(|| Error::internal(format!("no attribute {name}")))?;
        let value = cx.data.attrs.0[index].clone();
        match (from, &value) {
            (From::Flag(tf, _), Attr::Bool(v)) => attrs.push((tf, (*v).into())),
            (From::Int(tf, _), Attr::Int(v)) => attrs.push((tf, (*v).into())),
            (From::Int("num", _), Attr::None) => attrs.push(("num", (cx.data.results.len() as i64).into())),
            (From::Text(tf, _), Attr::Str(v)) => attrs.push((tf, (&**v).into())),
            (From::DType(tf, _), Attr::DType(v)) => attrs.push((tf, (*v).into())),
            (From::Ints(tf), Attr::Ints(v)) => attrs.push((tf, v.to_vec().into())),
            (From::Shape(tf), Attr::Shape(v)) => attrs.push((tf, Value::Shape(v.erased()))),
            (From::Ints(_) | From::Shape(_), Attr::None) => {}
            (From::InputInt(i), Attr::Int(v)) => placed.push((*i, cx.int(*v)?)),
            (From::InputInts(i), Attr::Ints(v)) => placed.push((*i, cx.ints(v)?)),
            (From::InputInts(i), Attr::None) => {
                let every = axes(cx, index)?;
                let made = match *name == "perm" {
                    true => {
                        let first = cx.int(0)?;
                        let axis = cx.node("ExpandDims", &[first.clone(), first], vec![])?;
                        cx.node("ReverseV2", &[every, axis], vec![])?
                    }
                    false => every,
                };
                placed.push((*i, made));
            }
            _ => return refused(format!("the attribute '{name}' is {value:?}")),
        }
    }
    let mut inputs = cx.all()?;
    placed.sort_by_key(|(i, _)| *i);
    for (i, edge) in placed {
        let place = if i < 0 { inputs.len() } else { i.unsigned_abs().min(inputs.len()) };
        inputs.insert(place, edge);
    }
    // A dtype that the node names and the operator finds by itself.
    several(cx.many(entry.name, &inputs, attrs)?)
}

/// The axes of an attribute; all of them where it is left out.
pub(super) fn axes(cx: &mut Cx<'_, '_, '_>, attr: usize) -> Result<Edge> {
    if let Some(axes) = cx.data.attrs.opt_ints(attr) {
        let axes = axes.to_vec();
        return cx.ints(&axes);
    }
    if let Some(rank) = cx.ty(0).shape().rank() {
        return cx.ints(&(0..rank as i64).collect::<Vec<_>>());
    }
    let x = cx.x(0)?;
    let (rank, zero, step) = (cx.node("Rank", &[x], vec![])?, cx.int(0)?, cx.int(1)?);
    cx.node("Range", &[zero, rank, step], vec![])
}

// --- variables ---

fn read_variable(cx: &mut Cx<'_, '_, '_>) -> Items {
    match cx.operands[0].clone() {
        Item::Path(edge) => one(edge),
        // What holds a table is the table itself: nothing changes it before what is read is looked up.
        table @ Item::Variable(_, D::Resource) => Ok(vec![table]),
        Item::Variable(edge, dtype) => one(cx.node("ReadVariableOp", &[edge], vec![("dtype", dtype.into())])?),
        _ => Err(Error::internal("what is read is no variable")),
    }
}

fn assign(cx: &mut Cx<'_, '_, '_>, op: &str) -> Items {
    let inputs = cx.all()?;
    cx.many(op, &inputs, vec![])?;
    Ok(vec![])
}

/// Counts in parts: TensorFlow does not load a graph with the operator that it has for this.
fn count_up_to(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (variable, dtype, limit) = (cx.x(0)?, cx.out(0).dtype(), cx.data.attrs.int(0));
    let before = cx.node("ReadVariableOp", from_ref(&variable), vec![("dtype", dtype.into())])?;
    let due = match dtype {
        D::I32 => Tensor::from(i32::try_from(limit).unwrap_or(if limit < 0 { i32::MIN } else { i32::MAX })),
        _ => Tensor::from(limit),
    };
    let due = cx.constant(&due)?;
    let below = cx.node("Less", &[before, due], vec![])?;
    let text = Tensor::from_strings(&[], vec![format!("Reached limit of {limit}").into_bytes().into()])?;
    let text = cx.constant(&text)?;
    cx.many("Assert", &[below, text], vec![("summarize", 3i64.into())])?;
    let step = cx.number(1.0, dtype)?;
    cx.many("AssignAddVariableOp", &[variable.clone(), step.clone()], vec![])?;
    // By way of the value after it: who asks for the value before has the variable counted up.
    let after = cx.node("ReadVariableOp", &[variable], vec![("dtype", dtype.into())])?;
    one(cx.node("Sub", &[after, step], vec![])?)
}

fn table_export(cx: &mut Cx<'_, '_, '_>) -> Items {
    if cx.data.attrs.shape(2).rank() != Some(0) {
        return refused("TensorFlow gives the unused keys, too, of a table whose keys are rows");
    }
    let (table, attrs) = (cx.x(0)?, &cx.data.attrs);
    let attrs = vec![("Tkeys", attrs.dtype(0).into()), ("Tvalues", attrs.dtype(1).into())];
    several(cx.many("LookupTableExportV2", &[table], attrs)?)
}

fn scatter_variable(cx: &mut Cx<'_, '_, '_>) -> Items {
    let mode = cx.data.attrs.str(0);
    let op = match mode {
        "update" => "ResourceScatterNdUpdate",
        "add" => "ResourceScatterNdAdd",
        "sub" => "ResourceScatterNdSub",
        "min" => "ResourceScatterNdMin",
        "max" => "ResourceScatterNdMax",
        other => return refused(format!("'{other}' of slices of a variable")),
    };
    let inputs = cx.all()?;
    cx.many(op, &inputs, vec![])?;
    if cx.data.results.is_empty() {
        return Ok(vec![]);
    }
    let dtype = cx.out(0).dtype();
    one(cx.node("ReadVariableOp", &inputs[..1], vec![("dtype", dtype.into())])?)
}

// --- sums and orders ---

fn logsumexp(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (x, along, keep) = (cx.x(0)?, axes(cx, 0)?, cx.data.attrs.flag(1));
    let most = cx.node("Max", &[x.clone(), along.clone()], vec![("keep_dims", true.into())])?;
    let (finite, zero) =
        (cx.node("IsFinite", from_ref(&most), vec![])?, cx.node("ZerosLike", from_ref(&most), vec![])?);
    let shift = cx.node("SelectV2", &[finite, most, zero], vec![])?;
    let shift = cx.node("StopGradient", &[shift], vec![])?;
    let moved = cx.node("Sub", &[x, shift.clone()], vec![])?;
    let powers = cx.node("Exp", &[moved], vec![])?;
    let sum = cx.node("Sum", &[powers, along.clone()], vec![("keep_dims", keep.into())])?;
    let log = cx.node("Log", &[sum], vec![])?;
    // The shift has one element along these axes.
    let shift = if keep { shift } else { cx.node("Sum", &[shift, along], vec![])? };
    one(cx.node("AddV2", &[log, shift], vec![])?)
}

fn count_nonzero(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (x, along, keep) = (cx.x(0)?, axes(cx, 0)?, cx.data.attrs.flag(1));
    let zero = cx.node("ZerosLike", from_ref(&x), vec![])?;
    let hits = cx.node("NotEqual", &[x, zero], vec![])?;
    let hits = cx.cast(&hits, D::I64)?;
    let count = cx.node("Sum", &[hits, along], vec![("keep_dims", keep.into())])?;
    let dtype = cx.out(0).dtype();
    one(cx.cast(&count, dtype)?)
}

fn sum_to_shape(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (x, shape) = (cx.x(0)?, cx.x(1)?);
    let own = cx.node("Shape", from_ref(&x), vec![("out_type", shape.dtype.into())])?;
    let along = cx.node("BroadcastGradientArgs", &[shape.clone(), own], vec![])?;
    let sum = cx.node("Sum", &[x, along], vec![("keep_dims", true.into())])?;
    one(cx.node("Reshape", &[sum, shape], vec![])?)
}

/// The operand with an axis at the end, and how it comes back.
fn last(cx: &mut Cx<'_, '_, '_>, x: Edge, axis: i64, rank: usize) -> Result<(Edge, Option<Edge>)> {
    let place = if axis < 0 { axis + rank as i64 } else { axis };
    if place == rank as i64 - 1 {
        return Ok((x, None));
    }
    let mut perm: Vec<i64> = (0..rank as i64).collect();
    perm.swap(place as usize, rank - 1);
    let perm = cx.ints(&perm)?;
    Ok((cx.node("Transpose", &[x, perm.clone()], vec![])?, Some(perm)))
}

/// Values in descending order along the last axis, and where they were; in ascending order of what is `turned`.
fn ordered(cx: &mut Cx<'_, '_, '_>, descending: bool) -> Result<(Edge, Edge, Option<Edge>)> {
    let (rank, axis) = (cx.rank(0)?, cx.data.attrs.int(0));
    let x = cx.x(0)?;
    let (x, back) = last(cx, x, axis, rank)?;
    let given = if descending { x } else { turned(cx, x)? };
    let shape = cx.node("Shape", from_ref(&given), vec![("out_type", D::I32.into())])?;
    let (place, axis) = (cx.int(rank as i64 - 1)?, cx.int(0)?);
    let count = cx.node("GatherV2", &[shape, place, axis], vec![])?;
    let found = cx.many("TopKV2", &[given, count], vec![("index_type", D::I32.into())])?;
    let values = if descending { found[0].clone() } else { turned(cx, found[0].clone())? };
    Ok((values, found[1].clone(), back))
}

/// What has the opposite order: of integers without an overflow.
fn turned(cx: &mut Cx<'_, '_, '_>, x: Edge) -> Result<Edge> {
    let op = if x.dtype.is_integer() { "Invert" } else { "Neg" };
    cx.node(op, &[x], vec![])
}

fn moved_back(cx: &mut Cx<'_, '_, '_>, x: Edge, back: Option<Edge>) -> Result<Edge> {
    match back {
        Some(perm) => cx.node("Transpose", &[x, perm], vec![]),
        None => Ok(x),
    }
}

fn sort(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (values, _, back) = ordered(cx, cx.data.attrs.flag(1))?;
    one(moved_back(cx, values, back)?)
}

fn argsort(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (_, places, back) = ordered(cx, cx.data.attrs.flag(1))?;
    let places = moved_back(cx, places, back)?;
    let dtype = cx.out(0).dtype();
    one(cx.cast(&places, dtype)?)
}

/// TensorFlow searches rows of matrices.
fn searchsorted(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (sorted, values) = (cx.x(0)?, cx.x(1)?);
    let (right, dtype) = (cx.data.attrs.flag(0), cx.data.attrs.dtype(1));
    let op = if right { "UpperBound" } else { "LowerBound" };
    let (sorted_rank, values_rank) = (cx.rank(0)?, cx.rank(1)?);
    let attrs = || vec![("out_type", dtype.into())];
    if sorted_rank == 2 && values_rank == 2 {
        return one(cx.node(op, &[sorted, values], attrs())?);
    }
    // Rows, one below the other.
    let width = cx.ty(0).shape().dims().and_then(|dims| dims.last()?.known());
    let flat = match (sorted_rank, width) {
        (1, _) => cx.ints(&[1, -1])?,
        (_, Some(width)) => cx.ints(&[-1, width as i64])?,
        _ => return refused("a search in sequences whose length is not known"),
    };
    let rows = cx.node("Reshape", &[sorted, flat], vec![])?;
    let shape = cx.node("Shape", from_ref(&values), vec![("out_type", D::I32.into())])?;
    let dims = match sorted_rank {
        1 => cx.ints(&[1, -1])?,
        _ => {
            let count = cx.node("Shape", from_ref(&rows), vec![("out_type", D::I32.into())])?;
            let (begin, size, rest) = (cx.ints(&[0])?, cx.ints(&[1])?, cx.ints(&[-1])?);
            let count = cx.node("Slice", &[count, begin, size], vec![])?;
            let axis = cx.int(0)?;
            cx.node("ConcatV2", &[count, rest, axis], vec![])?
        }
    };
    let values = cx.node("Reshape", &[values, dims], vec![])?;
    let found = cx.node(op, &[rows, values], attrs())?;
    one(cx.node("Reshape", &[found, shape], vec![])?)
}

fn take_along_axis(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (rank, axis) = (cx.rank(0)?, cx.data.attrs.int(0));
    if cx.rank(1)? != rank {
        return refused("indices of another rank");
    }
    let place = (if axis < 0 { axis + rank as i64 } else { axis }) as usize;
    let extents = |i: usize| cx.ty(i).shape().dims().map(<[_]>::to_vec).unwrap_or_default();
    let (a, b) = (extents(0), extents(1));
    // Axes that are repeated would have to be written out first.
    let repeated = |i: usize| a[i].known() != b[i].known() && (a[i].known() == Some(1) || b[i].known() == Some(1));
    if (0..rank).any(|i| i != place && repeated(i)) {
        return refused("indices that are repeated along an axis");
    }
    let (x, indices) = (cx.x(0)?, cx.x(1)?);
    let (x, back) = last(cx, x, axis, rank)?;
    let (indices, _) = last(cx, indices, axis, rank)?;
    let end = cx.int(rank as i64 - 1)?;
    let made = cx.node("GatherV2", &[x, indices, end], vec![("batch_dims", (rank as i64 - 1).into())])?;
    one(moved_back(cx, made, back)?)
}

// --- matrices ---

fn matmul(cx: &mut Cx<'_, '_, '_>) -> Items {
    let attrs = &cx.data.attrs;
    let flags: Vec<bool> = ["transpose_a", "transpose_b", "adjoint_a", "adjoint_b"]
        .iter()
        .map(|name| cx.data.op.attr_index(name).is_some_and(|i| attrs.flag(i)))
        .collect();
    let (mut inputs, complex) = (cx.all()?, cx.ty(0).dtype().is_complex());
    if cx.ty(0).shape().rank() == Some(2) && cx.ty(1).shape().rank() == Some(2) {
        let mut turned = [flags[0], flags[1]];
        for i in 0..2 {
            if flags[2 + i] {
                if complex {
                    inputs[i] = cx.node("Conj", &[inputs[i].clone()], vec![])?;
                }
                turned[i] = true;
            }
        }
        let attrs = vec![("transpose_a", turned[0].into()), ("transpose_b", turned[1].into())];
        return one(cx.node("MatMul", &inputs, attrs)?);
    }
    for i in 0..2 {
        if flags[i] && complex {
            inputs[i] = cx.node("Conj", &[inputs[i].clone()], vec![])?;
        }
    }
    let attrs = vec![("adj_x", (flags[0] || flags[2]).into()), ("adj_y", (flags[1] || flags[3]).into())];
    one(cx.node("BatchMatMulV2", &inputs, attrs)?)
}

// --- transforms ---

fn fft(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (inverse, scaled) = (cx.data.attrs.flag(0), cx.data.attrs.flag(1));
    if inverse != scaled {
        return refused("a transform whose scale is not TensorFlow's");
    }
    same(cx, if inverse { "IFFT" } else { "FFT" }, &[])
}

/// The size of the last axis, as a vector.
fn width(cx: &mut Cx<'_, '_, '_>) -> Result<Edge> {
    let x = cx.x(0)?;
    let rank = cx.rank(0)? as i64;
    let shape = cx.node("Shape", &[x], vec![("out_type", D::I32.into())])?;
    let (begin, size) = (cx.ints(&[rank - 1])?, cx.ints(&[1])?);
    cx.node("Slice", &[shape, begin, size], vec![])
}

fn rfft(cx: &mut Cx<'_, '_, '_>) -> Items {
    if cx.data.attrs.flag(0) || cx.data.attrs.flag(1) {
        return refused("a transform whose scale is not TensorFlow's");
    }
    let (x, length, out) = (cx.x(0)?, width(cx)?, cx.out(0).dtype());
    one(cx.node("RFFT", &[x, length], vec![("Tcomplex", out.into())])?)
}

fn irfft(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (scaled, mirrored) = (cx.data.attrs.flag(0), cx.data.attrs.flag(1));
    if !scaled || !mirrored {
        return refused("a transform whose scale is not TensorFlow's");
    }
    let (x, length, out) = (cx.x(0)?, cx.x(1)?, cx.out(0).dtype());
    let (length, axis) = (cx.cast(&length, D::I32)?, cx.int(0)?);
    let length = cx.node("ExpandDims", &[length, axis], vec![])?;
    one(cx.node("IRFFT", &[x, length], vec![("Treal", out.into())])?)
}

// --- parts ---

/// TensorFlow has no ranges of narrow integers.
fn range(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (inputs, dtype) = (cx.all()?, cx.out(0).dtype());
    let wide = if dtype.is_integer() && !matches!(dtype, D::I32 | D::I64) { D::I64 } else { dtype };
    let inputs: Vec<Edge> = inputs.iter().map(|x| cx.cast(x, wide)).collect::<Result<_>>()?;
    let made = cx.node("Range", &inputs, vec![])?;
    one(cx.cast(&made, dtype)?)
}

fn split(cx: &mut Cx<'_, '_, '_>) -> Items {
    let x = cx.x(0)?;
    let index = |name: &str| cx.data.op.attr_index(name).unwrap_or(0);
    let (sizes, axis) = (cx.data.attrs.opt_ints(index("sizes")).map(<[i64]>::to_vec), cx.data.attrs.int(index("axis")));
    let (axis, count) = (cx.int(axis)?, cx.data.results.len() as i64);
    match sizes {
        Some(sizes) => {
            let sizes = cx.ints(&sizes)?;
            several(cx.many("SplitV", &[x, sizes, axis], vec![("num_split", count.into())])?)
        }
        None => several(cx.many("Split", &[axis, x], vec![("num_split", count.into())])?),
    }
}

fn concat_offset(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (axis, shapes) = (cx.int(cx.data.attrs.int(0))?, cx.all()?);
    if let [only] = &shapes[..] {
        return one(cx.node("ZerosLike", from_ref(only), vec![])?);
    }
    let shapes: Vec<Edge> = shapes.iter().map(|s| cx.cast(s, D::I32)).collect::<Result<_>>()?;
    let inputs: Vec<Edge> = std::iter::once(axis).chain(shapes).collect();
    let dtype = cx.out(0).dtype();
    let made = cx.many("ConcatOffset", &inputs, vec![])?;
    several(made.iter().map(|x| cx.cast(x, dtype)).collect::<Result<_>>()?)
}

fn slice_grad(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (shape, begin, dy) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let begin = cx.cast(&begin, shape.dtype)?;
    let own = cx.node("Shape", from_ref(&dy), vec![("out_type", shape.dtype.into())])?;
    let rest = cx.node("Sub", &[shape, begin.clone()], vec![])?;
    let rest = cx.node("Sub", &[rest, own], vec![])?;
    let paddings = cx.node("Pack", &[begin, rest], vec![("axis", 1i64.into())])?;
    one(cx.node("Pad", &[dy, paddings], vec![])?)
}

fn strided_slice_grad(cx: &mut Cx<'_, '_, '_>) -> Items {
    let inputs = cx.all()?;
    let names = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
    let attrs = names.iter().map(|name| {
        let mask = cx.data.op.attr_index(name).map_or(0, |i| cx.data.attrs.int(i));
        (*name, Value::Int(mask))
    });
    let attrs = attrs.collect();
    one(cx.node("StridedSliceGrad", &inputs, attrs)?)
}

fn gather_grad(cx: &mut Cx<'_, '_, '_>) -> Items {
    if (0..3).any(|i| !matches!(cx.data.attrs.0[i], Attr::Int(0) | Attr::Bool(false))) {
        return refused("the gradient of elements along another axis than the first");
    }
    let (shape, indices, dy) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let axis = cx.int(-1)?;
    let places = cx.node("ExpandDims", &[indices.clone(), axis], vec![])?;
    let shape = cx.cast(&shape, indices.dtype)?;
    one(cx.node("ScatterNd", &[places, dy, shape], vec![])?)
}

// --- strings ---

fn decode_raw(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (dtype, little, length) = (cx.data.attrs.dtype(0), cx.data.attrs.flag(1), cx.data.attrs.int(2));
    let mut inputs = vec![cx.x(0)?];
    let attrs = vec![("out_type", dtype.into()), ("little_endian", little.into())];
    if length < 0 {
        return one(cx.node("DecodeRaw", &inputs, attrs)?);
    }
    inputs.push(cx.int(length)?);
    one(cx.node("DecodePaddedRaw", &inputs, attrs)?)
}

/// The pieces, and where rows of them begin: that is how many rows are before each place.
fn string_split(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (sep, most) = (cx.data.attrs.str(0).to_owned(), cx.data.attrs.int(1));
    let (x, flat) = (cx.x(0)?, cx.ints(&[-1])?);
    let x = cx.node("Reshape", &[x, flat], vec![])?;
    let sep = cx.constant(&Tensor::from_strings(&[], vec![sep.into_bytes().into()])?)?;
    let found = cx.many("StringSplitV2", &[x.clone(), sep], vec![("maxsplit", most.into())])?;
    let (first, axis) = (cx.int(0)?, cx.int(1)?);
    let rows = cx.node("GatherV2", &[found[0].clone(), first, axis], vec![])?;
    let (zero, step) = (cx.constant(&0i64.into())?, cx.constant(&1i64.into())?);
    let count = cx.node("Size", &[x], vec![("out_type", D::I64.into())])?;
    let limit = cx.node("AddV2", &[count, step.clone()], vec![])?;
    let all = cx.node("Range", &[zero, limit, step], vec![])?;
    let row = cx.ints(&[1, -1])?;
    let (rows, all) = (cx.node("Reshape", &[rows, row.clone()], vec![])?, cx.node("Reshape", &[all, row], vec![])?);
    let splits = cx.node("LowerBound", &[rows, all], vec![("out_type", D::I64.into())])?;
    let flat = cx.ints(&[-1])?;
    let splits = cx.node("Reshape", &[splits, flat], vec![])?;
    several(vec![found[1].clone(), splits])
}

/// A text with the operands in the places of a template.
fn formatted(cx: &mut Cx<'_, '_, '_>, template: usize, summarize: usize) -> Result<Edge> {
    const MARK: &str = "\u{1}";
    let inputs = cx.all()?;
    let text = match &cx.data.attrs.0[template] {
        Attr::Str(text) => penstock_ops::format::with_placeholders(text, MARK)?,
        _ => vec![MARK; inputs.len()].join(" "),
    };
    let summarize = cx.data.attrs.int(summarize);
    let attrs = vec![("template", (&*text).into()), ("placeholder", MARK.into()), ("summarize", summarize.into())];
    cx.node("StringFormat", &inputs, attrs)
}

fn print(cx: &mut Cx<'_, '_, '_>) -> Items {
    let index = |name: &str| cx.data.op.attr_index(name).unwrap_or(0);
    let (template, summarize) = (index("template"), index("summarize"));
    let stream = cx.data.attrs.str(index("stream")).to_owned();
    let end = cx.data.attrs.str(index("end")).to_owned();
    let text = formatted(cx, template, summarize)?;
    let stream = match stream.strip_prefix("log:") {
        Some(level) => format!("log({level})"),
        None => stream,
    };
    cx.many("PrintV2", &[text], vec![("output_stream", (&*stream).into()), ("end", (&*end).into())])?;
    Ok(vec![])
}

fn assert(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (message, summarize) = (cx.data.attrs.str(0).to_owned(), cx.data.attrs.int(1));
    let mut inputs = cx.all()?;
    let text = Tensor::from_strings(&[], vec![message.into_bytes().into()])?;
    let text = cx.constant(&text)?;
    inputs.insert(1, text);
    cx.many("Assert", &inputs, vec![("summarize", summarize.into())])?;
    Ok(vec![])
}
