//! Parts of arrays, by positions.

use penstock_data::{DType, Error, Result};
use penstock_ir::Value;

use super::Entry;
use crate::cx::{Cx, Outputs, Size, one};

pub(super) const OPS: &[Entry] = &[
    ("Compress", 9, compress),
    ("Gather", 1, gather),
    ("GatherElements", 11, gather_elements),
    ("GatherND", 11, gather_nd),
    ("NonZero", 9, non_zero),
    ("Scatter", 9, scatter_elements),
    ("ScatterElements", 11, scatter_elements),
    ("ScatterND", 11, scatter_nd),
    ("Slice", 1, slice),
    ("TensorScatter", 24, tensor_scatter),
    ("Unique", 11, unique),
];

/// Starts, ends, axes and steps are attributes before version 10. Axes have to be known, the others need not be.
fn slice(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let rank = cx.rank(x)?;
    let (starts, ends) = match (cx.opt(1), cx.opt(2)) {
        (Some(starts), Some(ends)) => (starts, ends),
        _ => {
            let (starts, ends) = (cx.ints("starts").unwrap_or_default(), cx.ints("ends").unwrap_or_default());
            (cx.i64s(&starts), cx.i64s(&ends))
        }
    };
    let axes = cx.ints_at(3, "axes")?;
    let count = cx.known_extent(starts, 0)?;
    let axes: Vec<usize> = match axes {
        Some(axes) => axes.iter().map(|&a| cx.axis(a, rank)).collect::<Result<_>>()?,
        None => (0..count).collect(),
    };
    if axes.len() != count || axes.iter().any(|&a| a >= rank) {
        return Err(Error::invalid("there are other numbers of starts and of axes"));
    }
    let steps = match cx.opt(4) {
        Some(steps) => Some(cx.cast(steps, DType::I64)?),
        None => None,
    };
    let (starts, ends) = (cx.cast(starts, DType::I64)?, cx.cast(ends, DType::I64)?);
    // One entry for each dimension up to the last: those that have none are open on both sides.
    let width = axes.iter().max().map_or(0, |&a| a + 1);
    let (mut begin, mut end, mut strides) =
        (vec![Size::Known(0); width], vec![Size::Known(0); width], vec![Size::Known(1); width]);
    let mut open = Cx::open_entries(width)?;
    for (i, &axis) in axes.iter().enumerate() {
        let pick = |cx: &mut Cx<'_, '_>, list: Value| -> Result<Size> {
            let value = cx.pick(list, i as i64)?;
            Ok(cx.constant_of(value).and_then(|t| t.item::<i64>()).map_or(Size::Value(value), Size::Known))
        };
        begin[axis] = pick(cx, starts)?;
        end[axis] = pick(cx, ends)?;
        if let Some(steps) = steps {
            strides[axis] = pick(cx, steps)?;
        }
        open &= !(1 << axis);
    }
    let (begin, end, strides) = (cx.vector(&begin)?, cx.vector(&end)?, cx.vector(&strides)?);
    let masks = [("begin_mask", open.into()), ("end_mask", open.into())];
    one(cx.op("strided_slice", &[x, begin, end, strides], &masks)?)
}

/// Indices with the negative ones counted from the end of an extent.
fn wrapped(cx: &mut Cx<'_, '_>, indices: Value, extent: Size) -> Result<Value> {
    let indices = cx.cast(indices, DType::I64)?;
    if let Some(known) = cx.constant_of(indices)
        && known.to_ints()?.iter().all(|&i| i >= 0)
    {
        return Ok(indices);
    }
    let (zero, extent) = (cx.i64(0), cx.size(extent));
    let (negative, from_end) = (cx.bin("less", indices, zero)?, cx.bin("add", indices, extent)?);
    cx.select(negative, from_end, indices)
}

fn gather(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, indices) = (cx.x(0)?, cx.x(1)?);
    let rank = cx.rank(x)?;
    let axis = cx.axis(cx.int("axis", 0), rank)?;
    let extent = cx.extent(x, axis)?;
    // One constant index of a vector is a slice, which shapes are followed through.
    if rank == 1
        && let Some(known) = cx.constant_of(indices)
        && let ([], Some(&index)) = (known.dims(), known.to_ints()?.first())
    {
        let index = match (index, extent) {
            (index, Size::Known(n)) if index < 0 => index + n,
            (index, _) => index,
        };
        if index >= 0 {
            return one(cx.pick(x, index)?);
        }
    }
    let indices = wrapped(cx, indices, extent)?;
    one(cx.op("gather", &[x, indices], &[("axis", (axis as i64).into())])?)
}

/// For each element of `indices` its position in all dimensions, `axis` replaced by the index: `[.., rank]`.
fn positions(cx: &mut Cx<'_, '_>, indices: Value, axis: usize) -> Result<Value> {
    let sizes = cx.sizes(indices)?;
    let rank = sizes.len();
    let mut parts = Vec::with_capacity(rank);
    for i in 0..rank {
        parts.push(match i == axis {
            true => indices,
            false => {
                let steps = cx.range(sizes[i])?;
                let steps = cx.trailing(steps, rank - 1 - i)?;
                cx.broadcast(steps, &sizes)?
            }
        });
    }
    cx.op("stack", &parts, &[("axis", (-1i64).into())])
}

fn gather_elements(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, indices) = (cx.x(0)?, cx.x(1)?);
    let rank = cx.rank(x)?;
    let axis = cx.axis(cx.int("axis", 0), rank)?;
    let extent = cx.extent(x, axis)?;
    let indices = wrapped(cx, indices, extent)?;
    let (dx, di) = (cx.dims(x)?, cx.dims(indices)?);
    if (0..rank).all(|i| i == axis || (dx[i] == di[i] && dx[i] != penstock_data::Dim::Unknown)) {
        return one(cx.op("take_along_axis", &[x, indices], &[("axis", (axis as i64).into())])?);
    }
    let at = positions(cx, indices, axis)?;
    one(cx.bin("gather_nd", x, at)?)
}

/// Positions with negative ones counted from the end, for an operand of these extents.
fn wrapped_positions(cx: &mut Cx<'_, '_>, x: Value, indices: Value, first: usize) -> Result<Value> {
    let last = cx.rank(indices)?.checked_sub(1).ok_or_else(|| Error::invalid("the indices are a scalar"))?;
    let depth = cx.known_extent(indices, last)?;
    let extents = cx.shape(x)?;
    let extents = cx.slice(extents, 0, (first as i64).into(), Some(((first + depth) as i64).into()))?;
    wrapped(cx, indices, Size::Value(extents))
}

fn gather_nd(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, indices) = (cx.x(0)?, cx.x(1)?);
    let batch = cx.int("batch_dims", 0) as usize;
    let mut indices = wrapped_positions(cx, x, indices, batch)?;
    if batch > 0 {
        // The positions in the dimensions of the batch come first.
        let mut sizes = cx.sizes(indices)?;
        let rank = sizes.len();
        if batch >= rank {
            return Err(Error::invalid("the indices have no dimensions behind those of the batch"));
        }
        sizes[rank - 1] = Size::Known(1);
        let mut parts = Vec::new();
        for i in 0..batch {
            let steps = cx.range(sizes[i])?;
            let steps = cx.trailing(steps, rank - 1 - i)?;
            parts.push(cx.broadcast(steps, &sizes)?);
        }
        parts.push(indices);
        indices = cx.concat(&parts, rank - 1)?;
    }
    one(cx.bin("gather_nd", x, indices)?)
}

/// Writes `updates` at positions, by what the attribute `reduction` says.
fn scatter(cx: &mut Cx<'_, '_>, x: Value, at: Value, updates: Value) -> Result<Value> {
    let name = match cx.text("reduction", "none")? {
        "none" => "tensor_scatter_nd_update",
        "add" => "tensor_scatter_nd_add",
        "max" => "tensor_scatter_nd_max",
        "min" => "tensor_scatter_nd_min",
        "mul" => return scatter_products(cx, x, at, updates),
        other => return Err(Error::invalid(format!("there is no reduction '{other}'"))),
    };
    cx.op(name, &[x, at, updates], &[])
}

/// Products at positions: the updates of each place are multiplied by segments, then `x` by those.
fn scatter_products(cx: &mut Cx<'_, '_>, x: Value, at: Value, updates: Value) -> Result<Value> {
    let depth = cx.rank(at)?;
    let used = cx.known_extent(at, depth - 1)?;
    let sizes = cx.sizes(x)?;
    let Some(indexed) = sizes.get(..used) else {
        return Err(Error::invalid(format!("indices of {used} dimensions for data of {}", sizes.len())));
    };
    let mut linear = cx.i64(0);
    for (i, &extent) in indexed.iter().enumerate() {
        let extent = cx.size(extent);
        linear = cx.bin("mul", linear, extent)?;
        let index = cx.i64(i as i64);
        let part = cx.op("gather", &[at, index], &[("axis", ((depth - 1) as i64).into())])?;
        linear = cx.bin("add", linear, part)?;
    }
    let count = cx.product(indexed)?;
    let count = cx.size(count);
    let products = cx.op("unsorted_segment_prod", &[updates, linear, count], &[])?;
    let products = cx.reshape(products, &sizes)?;
    cx.bin("mul", x, products)
}

fn scatter_elements(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, indices, updates) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let rank = cx.rank(x)?;
    let axis = cx.axis(cx.int("axis", 0), rank)?;
    let extent = cx.extent(x, axis)?;
    let indices = wrapped(cx, indices, extent)?;
    let at = positions(cx, indices, axis)?;
    one(scatter(cx, x, at, updates)?)
}

fn scatter_nd(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, indices, updates) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let at = wrapped_positions(cx, x, indices, 0)?;
    one(scatter(cx, x, at, updates)?)
}

fn non_zero(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let at = cx.un("where_indices", x)?;
    one(cx.transpose(at, &[1, 0])?)
}

fn compress(cx: &mut Cx<'_, '_>) -> Outputs {
    let (mut x, condition) = (cx.x(0)?, cx.x(1)?);
    let axis = match cx.opt_int("axis") {
        Some(axis) => {
            let rank = cx.rank(x)?;
            cx.axis(axis, rank)?
        }
        None => {
            x = cx.reshape_known(x, &[-1])?;
            0
        }
    };
    let at = cx.un("where_indices", condition)?;
    let at = cx.op("squeeze", &[at], &[("axes", vec![1].into())])?;
    one(cx.op("gather", &[x, at], &[("axis", (axis as i64).into())])?)
}

/// Writes a piece of a cache at a position of each row, on a ring where `mode` says so.
fn tensor_scatter(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, update) = (cx.x(0)?, cx.x(1)?);
    let rank = cx.rank(x)?;
    let axis = cx.axis(cx.int("axis", -2), rank)?;
    if axis == 0 {
        return Err(Error::invalid("the axis is that of the batch"));
    }
    let sizes = cx.sizes(update)?;
    let mut at = cx.range(sizes[axis])?;
    if let Some(start) = cx.opt(2) {
        let start = cx.expand(start, 1)?;
        at = cx.bin("add", start, at)?;
    }
    if cx.text("mode", "linear")? == "circular" {
        let extent = cx.extent(x, axis)?;
        let extent = cx.size(extent);
        at = cx.bin("floormod", at, extent)?;
    }
    // `[batch, 1.., steps, 1..]`, then as `update`.
    let mut shape = vec![Size::Known(1); rank];
    shape[axis] = sizes[axis];
    if cx.rank(at)? == 2 {
        shape[0] = sizes[0];
    }
    let at = cx.reshape(at, &shape)?;
    let at = cx.broadcast(at, &sizes)?;
    let at = positions(cx, at, axis)?;
    one(cx.op("tensor_scatter_nd_update", &[x, at, update], &[])?)
}

/// Of a vector, or of slices along an axis, which are compared element by element.
fn unique(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let axis = match cx.opt_int("axis") {
        Some(axis) => {
            let rank = cx.rank(x)?;
            Some(cx.axis(axis, rank)?)
        }
        None => None,
    };
    let sorted = cx.flag("sorted", true);
    let (rows, keys) = match axis {
        None => {
            let flat = cx.reshape_known(x, &[-1])?;
            (flat, flat)
        }
        Some(axis) => {
            let rank = cx.rank(x)?;
            let mut perm: Vec<usize> = (0..rank).collect();
            perm.remove(axis);
            perm.insert(0, axis);
            let rows = cx.transpose(x, &perm)?;
            let keys = row_ranks(cx, rows)?;
            (rows, keys)
        }
    };
    let found = cx.ops("unique", &[keys], &[("dtype", DType::I64.into())])?;
    let (values, inverse, counts) = (found[0], found[1], found[2]);
    // Where each value occurs first.
    let steps = cx.extent(keys, 0)?;
    let steps = cx.range(steps)?;
    let count = cx.extent(values, 0)?;
    let count = cx.size(count);
    let first = cx.op("unsorted_segment_min", &[steps, inverse, count], &[])?;
    let (first, inverse, counts) = match sorted {
        false => (first, inverse, counts),
        true => {
            let order = cx.op("argsort", &[values], &[("dtype", DType::I64.into())])?;
            let places = cx.op("argsort", &[order], &[("dtype", DType::I64.into())])?;
            (cx.bin("gather", first, order)?, cx.bin("gather", places, inverse)?, cx.bin("gather", counts, order)?)
        }
    };
    let mut y = cx.bin("gather", rows, first)?;
    if let Some(axis) = axis {
        let rank = cx.rank(y)?;
        let mut perm: Vec<usize> = (1..rank).collect();
        perm.insert(axis, 0);
        y = cx.transpose(y, &perm)?;
    }
    Ok(vec![y.into(), first.into(), inverse.into(), counts.into()])
}

/// A number for each row that is as great as the row is in lexicographic order, and the same for equal rows.
fn row_ranks(cx: &mut Cx<'_, '_>, rows: Value) -> Result<Value> {
    let flat = cx.extent(rows, 0)?;
    let flat = cx.reshape(rows, &[flat, Size::Known(-1)])?;
    let width = cx.known_extent(flat, 1)?;
    let count = cx.extent(flat, 0)?;
    let count = cx.size(count);
    let mut ranks = cx.un("zeros_like", count)?;
    for column in 0..width {
        let at = cx.i64(column as i64);
        let values = cx.op("gather", &[flat, at], &[("axis", 1i64.into())])?;
        let sorted = cx.op("sort", &[values], &[])?;
        let place = cx.op("searchsorted", &[sorted, values], &[("dtype", DType::I64.into())])?;
        let shifted = cx.bin("mul", ranks, count)?;
        let combined = cx.bin("add", shifted, place)?;
        // Ranks stay below the number of rows, so that nothing overflows.
        let sorted = cx.op("sort", &[combined], &[])?;
        ranks = match cx.rank(combined)? {
            1 => cx.op("searchsorted", &[sorted, combined], &[("dtype", DType::I64.into())])?,
            _ => combined,
        };
    }
    Ok(ranks)
}
