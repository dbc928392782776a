//! Constants, shapes, and the order of elements.

use penstock_data::{DType, Dim, Error, Result, Tensor};
use penstock_ir::{Element, Value};

use super::Entry;
use crate::cx::{Cx, Item, Outputs, Size, one};
use crate::proto::AttributeValue;
use crate::tensor::{decode, dense};

pub(super) const OPS: &[Entry] = &[
    ("CenterCropPad", 18, center_crop_pad),
    ("Concat", 1, concat),
    ("Constant", 1, constant),
    ("ConstantOfShape", 9, constant_of_shape),
    ("DepthToSpace", 1, depth_to_space),
    ("Expand", 8, expand),
    ("EyeLike", 9, eye_like),
    ("Flatten", 1, flatten),
    ("OneHot", 9, one_hot),
    ("Pad", 1, pad),
    ("Range", 11, range),
    ("Reshape", 1, reshape),
    ("ReverseSequence", 10, reverse_sequence),
    ("Shape", 1, shape),
    ("Size", 1, size),
    ("SpaceToDepth", 1, space_to_depth),
    ("Split", 1, split),
    ("Squeeze", 1, squeeze),
    ("Tile", 6, tile),
    ("Transpose", 1, transpose),
    ("Trilu", 14, trilu),
    ("Unsqueeze", 1, unsqueeze),
];

fn constant(cx: &mut Cx<'_, '_>) -> Outputs {
    let names = [
        "value",
        "value_float",
        "value_floats",
        "value_int",
        "value_ints",
        "value_string",
        "value_strings",
        "sparse_value",
    ];
    let found = names.iter().find_map(|name| cx.attr(name));
    let value = match found {
        Some(AttributeValue::Tensor(proto)) => decode(proto, cx.importer.files)?,
        Some(AttributeValue::Sparse(proto)) => dense(proto, cx.importer.files)?,
        Some(AttributeValue::Float(x)) => Tensor::from(*x),
        Some(AttributeValue::Floats(list)) => Tensor::vector(list),
        Some(AttributeValue::Int(n)) => Tensor::from(*n),
        Some(AttributeValue::Ints(list)) => Tensor::vector(list),
        Some(AttributeValue::Bytes(text)) => Tensor::from_strings(&[], vec![(*text).into()])?,
        Some(AttributeValue::Strings(list)) => {
            Tensor::from_strings(&[list.len()], list.iter().map(|&s| s.into()).collect())?
        }
        _ => return Err(Error::invalid("it has no value")),
    };
    one(cx.constant(value))
}

fn constant_of_shape(cx: &mut Cx<'_, '_>) -> Outputs {
    let shape = cx.x(0)?;
    let value = match cx.attr("value") {
        Some(AttributeValue::Tensor(proto)) => decode(proto, cx.importer.files)?.reshaped(&[])?,
        _ => Tensor::from(0f32),
    };
    let value = cx.constant(value);
    one(cx.bin("fill", shape, value)?)
}

fn shape(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let shape = cx.shape(x)?;
    if cx.opt_int("start").is_none() && cx.opt_int("end").is_none() {
        return one(shape);
    }
    let rank = cx.rank(x)? as i64;
    let clamp = |n: i64| (if n < 0 { n + rank } else { n }).clamp(0, rank);
    let start = clamp(cx.int("start", 0));
    let end = clamp(cx.int("end", rank)).max(start);
    one(cx.slice(shape, 0, start.into(), Some(end.into()))?)
}

fn size(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let shape = cx.shape(x)?;
    one(cx.op("reduce_prod", &[shape], &[])?)
}

/// A 0 keeps the extent, unless `allowzero` says that it is one.
fn reshape(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let shape = match cx.opt(1) {
        Some(shape) => shape,
        None => {
            let shape = cx.ints("shape").unwrap_or_default();
            cx.i64s(&shape)
        }
    };
    if cx.flag("allowzero", false) {
        return one(cx.bin("reshape", x, shape)?);
    }
    if let Some(sizes) = cx.constant_of(shape).cloned() {
        let sizes = sizes.to_ints()?;
        let sizes: Vec<Size> = sizes
            .iter()
            .enumerate()
            .map(|(i, &n)| if n == 0 { cx.extent(x, i) } else { Ok(Size::Known(n)) })
            .collect::<Result<_>>()?;
        return one(cx.reshape(x, &sizes)?);
    }
    // Extents of what is computed: where one is 0, that of `x` at its place.
    let (count, known) = (cx.known_extent(shape, 0)?, cx.ty(x).shape().rank());
    // Where the rank is not known: all extents, and zeros behind them.
    let extents = match known {
        Some(_) => None,
        None => {
            let (all, none) = (cx.shape(x)?, cx.i64s(&vec![0; count]));
            Some(cx.concat(&[all, none], 0)?)
        }
    };
    let kept = |cx: &mut Cx<'_, '_>, i: usize| match extents {
        Some(extents) => Ok(Size::Value(cx.pick(extents, i as i64)?)),
        None => cx.extent(x, i),
    };
    let sizes: Vec<Size> = (0..count)
        .map(|i| {
            let n = cx.pick(shape, i as i64)?;
            if known.is_some_and(|rank| i >= rank) {
                return Ok(Size::Value(n));
            }
            match (cx.constant_of(n).and_then(Tensor::item::<i64>), cx.element(n)) {
                (Some(0), _) | (_, Element::Extent(Dim::Known(0))) => return kept(cx, i),
                (Some(n), _) => return Ok(Size::Known(n)),
                (_, Element::UNKNOWN) => {}
                // What is known as an extent, or as negative, is no request to keep one.
                _ => return Ok(Size::Value(n)),
            }
            let (zero, extent) = (cx.i64(0), kept(cx, i)?);
            let (keeps, extent) = (cx.bin("equal", n, zero)?, cx.size(extent));
            Ok(Size::Value(cx.select(keeps, extent, n)?))
        })
        .collect::<Result<_>>()?;
    one(cx.reshape(x, &sizes)?)
}

fn flatten(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let (sizes, axis) = (cx.sizes(x)?, cx.int("axis", 1));
    let axis = if axis == sizes.len() as i64 { sizes.len() } else { cx.axis(axis, sizes.len())? };
    let (rows, columns) = (cx.product(&sizes[..axis])?, cx.product(&sizes[axis..])?);
    one(cx.reshape(x, &[rows, columns])?)
}

fn squeeze(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    match cx.ints_at(1, "axes")? {
        Some(axes) if axes.is_empty() => one(x),
        Some(axes) => one(cx.op("squeeze", &[x], &[("axes", axes.into())])?),
        None => {
            let dims = cx.dims(x)?;
            let axes: Vec<i64> = (0..dims.len() as i64).filter(|&i| dims[i as usize].known() == Some(1)).collect();
            one(if axes.is_empty() { x } else { cx.op("squeeze", &[x], &[("axes", axes.into())])? })
        }
    }
}

fn unsqueeze(cx: &mut Cx<'_, '_>) -> Outputs {
    let mut x = cx.x(0)?;
    let axes = cx.ints_at(1, "axes")?.ok_or_else(|| Error::invalid("there are no axes"))?;
    let rank = cx.rank(x)? + axes.len();
    let mut axes: Vec<usize> = axes.iter().map(|&a| cx.axis(a, rank)).collect::<Result<_>>()?;
    axes.sort_unstable();
    for axis in axes {
        x = cx.expand(x, axis as i64)?;
    }
    one(x)
}

fn transpose(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let perm = match cx.ints("perm") {
        Some(perm) => perm,
        None => (0..cx.rank(x)? as i64).rev().collect(),
    };
    one(cx.op("transpose", &[x], &[("perm", perm.into())])?)
}

fn concat(cx: &mut Cx<'_, '_>) -> Outputs {
    let values = cx.all()?;
    let axis = cx.int("axis", 1);
    one(cx.op("concat", &values, &[("axis", axis.into())])?)
}

fn split(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let rank = cx.rank(x)?;
    let axis = cx.axis(cx.int("axis", 0), rank)?;
    let sizes = match cx.ints_at(1, "split")? {
        Some(sizes) => sizes,
        None => {
            let (total, parts) =
                (cx.known_extent(x, axis)?, cx.int("num_outputs", cx.node.outputs.len() as i64).max(1));
            // The last part may be smaller.
            let part = total.div_ceil(parts as usize);
            (0..parts as usize).map(|i| total.saturating_sub(i * part).min(part) as i64).collect()
        }
    };
    let parts = cx.ops("split", &[x], &[("axis", (axis as i64).into()), ("sizes", sizes.into())])?;
    Ok(parts.into_iter().map(Item::Tensor).collect())
}

fn expand(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, shape) = (cx.x(0)?, cx.x(1)?);
    let rank = cx.rank(x)?;
    // The shape is broadcast with that of `x`: a 1 keeps the extent.
    if let Some(to) = cx.constant_of(shape).cloned() {
        let to = to.to_ints()?;
        let full = rank.max(to.len());
        let sizes: Vec<Size> = (0..full)
            .map(|i| {
                let from_x = (i + rank).checked_sub(full);
                let from_shape = (i + to.len()).checked_sub(full).map_or(1, |k| to[k]);
                match from_x {
                    Some(axis) if from_shape == 1 => cx.extent(x, axis),
                    _ => Ok(Size::Known(from_shape)),
                }
            })
            .collect::<Result<_>>()?;
        return one(cx.broadcast(x, &sizes)?);
    }
    let count = cx.known_extent(shape, 0)?;
    let full = rank.max(count);
    let mut sizes = Vec::with_capacity(full);
    for i in 0..full {
        let from_x = (i + rank).checked_sub(full).map(|axis| cx.extent(x, axis)).transpose()?;
        let from_shape = (i + count).checked_sub(full).map(|k| cx.pick(shape, k as i64)).transpose()?;
        sizes.push(match (from_x, from_shape) {
            (None | Some(Size::Known(1)), Some(n)) => Size::Value(n),
            (Some(extent), None) => extent,
            (Some(extent), Some(n)) => {
                let extent = cx.size(extent);
                let one = cx.i64(1);
                let keeps = cx.bin("equal", n, one)?;
                Size::Value(cx.select(keeps, extent, n)?)
            }
            (None, None) => Size::Known(1),
        });
    }
    one(cx.broadcast(x, &sizes)?)
}

fn tile(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, repeats) = (cx.x(0)?, cx.x(1)?);
    one(cx.bin("tile", x, repeats)?)
}

fn range(cx: &mut Cx<'_, '_>) -> Outputs {
    let mut bounds = [cx.x(0)?, cx.x(1)?, cx.x(2)?];
    for bound in &mut bounds {
        if cx.rank(*bound)? == 1 {
            *bound = cx.pick(*bound, 0)?;
        }
    }
    // A step away from the limit gives nothing.
    let [start, limit, delta] = bounds;
    let zero = cx.like(delta, 0.0)?;
    let (ahead, distance) = (cx.bin("greater", delta, zero)?, cx.bin("less", limit, start)?);
    let away = cx.bin("equal", ahead, distance)?;
    let limit = cx.select(away, start, limit)?;
    one(cx.op("range", &[start, limit, delta], &[])?)
}

fn one_hot(cx: &mut Cx<'_, '_>) -> Outputs {
    let (mut indices, depth, values) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let depth = match cx.rank(depth)? {
        0 => depth,
        _ => cx.pick(depth, 0)?,
    };
    let depth = cx.cast(depth, DType::I64)?;
    indices = cx.cast(indices, DType::I64)?;
    // Negative indices count from the end.
    let zero = cx.i64(0);
    let (negative, wrapped) = (cx.bin("less", indices, zero)?, cx.bin("add", indices, depth)?);
    indices = cx.select(negative, wrapped, indices)?;
    let (off, on) = (cx.pick(values, 0)?, cx.pick(values, 1)?);
    let rank = cx.rank(indices)? as i64;
    let axis = cx.int("axis", -1);
    let axis = if axis < 0 { axis + rank + 1 } else { axis };
    let axis = if axis == rank { -1 } else { axis };
    one(cx.op("one_hot", &[indices, depth, on, off], &[("axis", axis.into())])?)
}

fn eye_like(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let dtype = cx.dtype_attr("dtype")?.unwrap_or(cx.dtype(x));
    let k = cx.int("k", 0);
    let (rows, columns) = (cx.extent(x, 0)?, cx.extent(x, 1)?);
    let (rows, columns) = (cx.range(rows)?, cx.range(columns)?);
    let k = cx.i64(k);
    let rows = cx.bin("add", rows, k)?;
    let rows = cx.expand(rows, 1)?;
    let on = cx.bin("equal", rows, columns)?;
    one(cx.cast(on, dtype)?)
}

fn trilu(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let rank = cx.rank(x)?;
    if rank < 2 {
        return Err(Error::invalid("the operand is no matrix"));
    }
    let k = match cx.opt(1) {
        Some(k) => {
            let k = cx.cast(k, DType::I64)?;
            cx.reshape_known(k, &[])?
        }
        None => cx.i64(0),
    };
    let (rows, columns) = (cx.extent(x, rank - 2)?, cx.extent(x, rank - 1)?);
    let (rows, columns) = (cx.range(rows)?, cx.range(columns)?);
    let rows = cx.bin("add", rows, k)?;
    let rows = cx.expand(rows, 1)?;
    let name = if cx.flag("upper", true) { "greater_equal" } else { "less_equal" };
    let keeps = cx.bin(name, columns, rows)?;
    let zeros = cx.un("zeros_like", x)?;
    one(cx.select(keeps, x, zeros)?)
}

/// The image whose pixels are blocks of channels: `perm` over `[n, .., h, .., w, ..]`.
fn depth_to_space(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let block = cx.int("blocksize", 1).max(1);
    let [n, c, h, w] = four(cx, x)?;
    let Size::Known(c) = c else { return Err(Error::invalid("the number of channels has to be known")) };
    let (out, b) = (Size::Known(c / (block * block)), Size::Known(block));
    let x = match cx.text("mode", "DCR")? {
        "CRD" => {
            let x = cx.reshape(x, &[n, out, b, b, h, w])?;
            cx.transpose(x, &[0, 1, 4, 2, 5, 3])?
        }
        _ => {
            let x = cx.reshape(x, &[n, b, b, out, h, w])?;
            cx.transpose(x, &[0, 3, 4, 1, 5, 2])?
        }
    };
    let (h, w) = (cx.product(&[h, b])?, cx.product(&[w, b])?);
    one(cx.reshape(x, &[n, out, h, w])?)
}

fn space_to_depth(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let block = cx.int("blocksize", 1).max(1);
    let [n, c, _, _] = four(cx, x)?;
    let (h, w) = (cx.known_extent(x, 2)? as i64 / block, cx.known_extent(x, 3)? as i64 / block);
    let b = Size::Known(block);
    let x = cx.reshape(x, &[n, c, h.into(), b, w.into(), b])?;
    let x = match cx.text("mode", "DCR")? {
        "CRD" => cx.transpose(x, &[0, 1, 3, 5, 2, 4])?,
        _ => cx.transpose(x, &[0, 3, 5, 1, 2, 4])?,
    };
    let c = cx.product(&[b, b, c])?;
    one(cx.reshape(x, &[n, c, h.into(), w.into()])?)
}

fn four(cx: &mut Cx<'_, '_>, x: Value) -> Result<[Size; 4]> {
    let sizes = cx.sizes(x)?;
    sizes.try_into().map_err(|_| Error::invalid("the operand is no batch of images"))
}

fn reverse_sequence(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, lengths) = (cx.x(0)?, cx.x(1)?);
    let (batch, time) = (cx.int("batch_axis", 1) as usize, cx.int("time_axis", 0) as usize);
    let rank = cx.rank(x)?;
    if batch.max(time) != 1 || batch == time || rank < 2 {
        return Err(Error::invalid("the axes of batch and time are 0 and 1"));
    }
    one(reversed(cx, x, lengths, batch == 0)?)
}

/// The first `lengths[b]` entries of each row of the batch in the opposite order. The time is the other of the first two
/// axes.
pub(super) fn reversed(cx: &mut Cx<'_, '_>, x: Value, lengths: Value, batch_first: bool) -> Result<Value> {
    let rank = cx.rank(x)?;
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(0, 1);
    let x = if batch_first { x } else { cx.transpose(x, &perm)? };
    let steps = cx.extent(x, 1)?;
    let steps = cx.range(steps)?;
    let lengths = cx.cast(lengths, DType::I64)?;
    let lengths = cx.expand(lengths, 1)?;
    let mirrored = cx.bin("sub", lengths, steps)?;
    let mirrored = cx.with("sub", mirrored, 1.0)?;
    let inside = cx.bin("less", steps, lengths)?;
    let at = cx.select(inside, mirrored, steps)?;
    let y = cx.op("gather", &[x, at], &[("axis", 1i64.into()), ("batch_dims", 1i64.into())])?;
    if batch_first { Ok(y) } else { cx.transpose(y, &perm) }
}

/// Padding by a constant, or by elements at other places: those are picked along each axis.
fn pad(cx: &mut Cx<'_, '_>) -> Outputs {
    let mut x = cx.x(0)?;
    let rank = cx.rank(x)?;
    let name = if cx.version < 2 { "paddings" } else { "pads" };
    let value = match (cx.opt(2), cx.opt_float("value")) {
        (Some(value), _) => cx.reshape_known(value, &[])?,
        (None, Some(value)) if cx.version < 11 => cx.like(x, value)?,
        _ if cx.dtype(x) == DType::Str => cx.constant(Tensor::from("")),
        _ => cx.like(x, 0.0)?,
    };
    let axes: Vec<usize> = match cx.opt(3) {
        Some(axes) => {
            let axes = cx.known_ints(axes)?;
            axes.iter().map(|&a| cx.axis(a, rank)).collect::<Result<_>>()?
        }
        None => (0..rank).collect(),
    };
    let mode = cx.text("mode", "constant")?;
    let known = match cx.opt(1) {
        // The order of the amounts alone matters where they are computed.
        Some(pads) if cx.constant_of(pads).is_none() && mode == "constant" && axes.len() == rank => {
            let pads = cx.cast(pads, DType::I64)?;
            let pads = cx.reshape_known(pads, &[2, rank as i64])?;
            let pads = cx.transpose(pads, &[1, 0])?;
            let zero = cx.i64(0);
            let (grown, cut) = (cx.bin("maximum", pads, zero)?, cx.bin("minimum", pads, zero)?);
            let padded = cx.op("pad", &[x, grown, value], &[])?;
            let (before, after) = (cx.un("neg", cut)?, cx.shape(padded)?);
            let (before, behind) = (cx.slice(before, 1, 0.into(), Some(1.into()))?, cx.slice(cut, 1, 1.into(), None)?);
            let before = cx.reshape_known(before, &[rank as i64])?;
            let behind = cx.reshape_known(behind, &[rank as i64])?;
            let size = cx.bin("sub", after, before)?;
            let size = cx.bin("add", size, behind)?;
            return one(cx.op("slice", &[padded, before, size], &[])?);
        }
        Some(pads) => cx.known_ints(pads)?,
        None => cx.ints(name).unwrap_or_default(),
    };
    if known.len() != 2 * axes.len() {
        return Err(Error::invalid(format!("there are {} amounts for {} axes", known.len(), axes.len())));
    }
    let mut amounts = vec![(0, 0); rank];
    for (i, &axis) in axes.iter().enumerate() {
        amounts[axis] = (known[i], known[axes.len() + i]);
    }
    if mode == "constant" {
        return one(pad_by(cx, x, &amounts, value)?);
    }
    for (axis, &(before, after)) in amounts.iter().enumerate() {
        if (before, after) != (0, 0) {
            x = pad_from_inside(cx, x, axis, before, after, mode)?;
        }
    }
    one(x)
}

/// Pads each dimension by a value; negative amounts cut off.
pub(super) fn pad_by(cx: &mut Cx<'_, '_>, mut x: Value, amounts: &[(i64, i64)], value: Value) -> Result<Value> {
    for (axis, &(before, after)) in amounts.iter().enumerate() {
        if before < 0 || after < 0 {
            let end = if after < 0 { Some(Size::Known(after)) } else { None };
            x = cx.slice(x, axis, (-before).max(0).into(), end)?;
        }
    }
    if amounts.iter().all(|&(before, after)| before <= 0 && after <= 0) {
        return Ok(x);
    }
    let flat: Vec<i64> = amounts.iter().flat_map(|&(before, after)| [before.max(0), after.max(0)]).collect();
    let paddings = cx.constant(Tensor::from_slice(&[amounts.len(), 2], &flat)?);
    cx.op("pad", &[x, paddings, value], &[])
}

fn pad_from_inside(cx: &mut Cx<'_, '_>, x: Value, axis: usize, before: i64, after: i64, mode: &str) -> Result<Value> {
    let extent = cx.extent(x, axis)?;
    let extent = cx.size(extent);
    let total = cx.with("add", extent, (before + after) as f64)?;
    let steps = cx.range(Size::Value(total))?;
    let at = cx.with("sub", steps, before as f64)?;
    let last = cx.with("sub", extent, 1.0)?;
    let at = match mode {
        "edge" => {
            let at = cx.with("maximum", at, 0.0)?;
            cx.bin("minimum", at, last)?
        }
        "wrap" => cx.bin("floormod", at, extent)?,
        "reflect" => {
            // A wave of period `2 (n - 1)`.
            let period = cx.with("mul", last, 2.0)?;
            let period = cx.with("maximum", period, 1.0)?;
            let at = cx.bin("floormod", at, period)?;
            let back = cx.bin("sub", period, at)?;
            cx.bin("minimum", at, back)?
        }
        other => return Err(Error::unimplemented(format!("padding of mode '{other}' is not supported"))),
    };
    cx.op("gather", &[x, at], &[("axis", (axis as i64).into())])
}

fn center_crop_pad(cx: &mut Cx<'_, '_>) -> Outputs {
    let (mut x, shape) = (cx.x(0)?, cx.x(1)?);
    let rank = cx.rank(x)?;
    let axes: Vec<usize> = match cx.ints("axes") {
        Some(axes) => axes.iter().map(|&a| cx.axis(a, rank)).collect::<Result<_>>()?,
        None => (0..rank).collect(),
    };
    let due = cx.known_ints(shape)?;
    if due.len() != axes.len() {
        return Err(Error::invalid("the shape has another number of extents than there are axes"));
    }
    let mut amounts = vec![(0, 0); rank];
    for (&axis, &due) in axes.iter().zip(&due) {
        let have = cx.known_extent(x, axis)? as i64;
        if have > due {
            let begin = (have - due) / 2;
            x = cx.slice(x, axis, begin.into(), Some((begin + due).into()))?;
        } else {
            amounts[axis] = ((due - have) / 2, due - have - (due - have) / 2);
        }
    }
    let zero = if cx.dtype(x) == DType::Str { cx.constant(Tensor::from("")) } else { cx.like(x, 0.0)? };
    one(pad_by(cx, x, &amounts, zero)?)
}
