//! Operators that read and write at indices, sort, and work on segments.

use penstock_data::{DType, Error, Result, Shape};

use super::arrays::{add_at, slice, zeros};
use super::cx::{Cx, Handler, Items, X, one, working};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "gather" => |cx| {
            let (x, indices) = (cx.x(0)?, cx.x(1)?);
            one(gather(cx, &x, &indices)?)
        },
        "gather_grad" => |cx| {
            let (shape, indices, dy) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
            let dy = without_dropped(cx, &dy, &indices)?;
            let zeros = zeros(cx, &shape, dy.dtype);
            add_at(cx, &zeros, &dy, |cx, places| gather(cx, places, &indices))
        },
        "gather_accumulate" => |cx| {
            let (x, indices, dy) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
            let dy = without_dropped(cx, &dy, &indices)?;
            add_at(cx, &x, &dy, |cx, places| gather(cx, places, &indices))
        },
        "gather_nd" => |cx| {
            let (x, indices) = (cx.x(0)?, cx.x(1)?);
            let indices = cx.index(&indices);
            one(cx.raw("GatherND", &[&x, &indices], vec![], x.dtype))
        },
        "scatter_nd" => |cx| {
            let (indices, updates, shape) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
            let zeros = zeros(cx, &shape, updates.dtype);
            one(scatter(cx, &zeros, &indices, &updates, "add")?)
        },
        "tensor_scatter_nd_update" => |cx| scattered(cx, "none"),
        "tensor_scatter_nd_add" => |cx| scattered(cx, "add"),
        "tensor_scatter_nd_max" => |cx| scattered(cx, "max"),
        "tensor_scatter_nd_min" => |cx| scattered(cx, "min"),
        "tensor_scatter_nd_sub" => |cx| {
            let (x, indices, updates) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
            let zero = cx.like(&updates, 0.0);
            let negative = cx.math("Sub", &[&zero, &updates])?;
            one(scatter(cx, &x, &indices, &negative, "add")?)
        },
        "where_indices" => |cx| {
            let x = cx.x(0)?;
            if x.rank()? == 0 {
                return Err(Error::unimplemented("the positions in a scalar have no node in ONNX"));
            }
            let found = cx.raw("NonZero", &[&x], vec![], DType::I64);
            one(cx.transpose(&found, &[1, 0]))
        },
        "one_hot" => one_hot,
        "take_along_axis" => |cx| {
            let (x, indices, axis) = (cx.x(0)?, cx.x(1)?, cx.attrs().int(0));
            one(cx.raw("GatherElements", &[&x, &indices], vec![("axis", axis.into())], x.dtype))
        },
        "scatter_along_axis" => |cx| {
            let (shape, indices, updates, axis) = (cx.x(0)?, cx.x(1)?, cx.x(2)?, cx.attrs().int(0));
            numbers_only(&updates)?;
            let zeros = zeros(cx, &shape, updates.dtype);
            let attrs = vec![("axis", axis.into()), ("reduction", "add".into())];
            one(cx.raw("ScatterElements", &[&zeros, &indices, &updates], attrs, updates.dtype))
        },
        "sort" => |cx| {
            let (x, axis, descending) = (cx.x(0)?, cx.attrs().int(0), cx.attrs().flag(1));
            one(sorted(cx, &x, None, axis, descending)?.0)
        },
        "argsort" => |cx| {
            let (x, axis, descending) = (cx.x(0)?, cx.attrs().int(0), cx.attrs().flag(1));
            let (_, places) = sorted(cx, &x, None, axis, descending)?;
            let dtype = cx.attrs().dtype(2);
            one(cx.cast(&places, dtype))
        },
        "top_k" => |cx| {
            let (x, k, dtype) = (cx.x(0)?, cx.x(1)?, cx.attrs().dtype(0));
            let (values, places) = sorted(cx, &x, Some(&k), -1, true)?;
            Ok(vec![values.into(), cx.cast(&places, dtype).into()])
        },
        "unique" => unique,
        "searchsorted" => searchsorted,
        "bincount" => bincount,
        "unsorted_segment_sum" => |cx| unsorted(cx, "add"),
        "unsorted_segment_prod" => |cx| unsorted(cx, "mul"),
        "unsorted_segment_max" => |cx| unsorted(cx, "max"),
        "unsorted_segment_min" => |cx| unsorted(cx, "min"),
        "unsorted_segment_mean" => |cx| unsorted(cx, "mean"),
        "segment_sum" => |cx| in_order(cx, "add"),
        "segment_prod" => |cx| in_order(cx, "mul"),
        "segment_max" => |cx| in_order(cx, "max"),
        "segment_min" => |cx| in_order(cx, "min"),
        "segment_mean" => |cx| in_order(cx, "mean"),
        _ => return None,
    })
}

fn numbers_only(x: &X) -> Result<()> {
    match x.dtype.is_numeric() && !x.dtype.is_complex() {
        true => Ok(()),
        false => Err(Error::unimplemented("there is no sum of such elements in ONNX")),
    }
}

/// As the instruction reads `x` at `indices`.
fn gather(cx: &mut Cx<'_, '_>, x: &X, indices: &X) -> Result<X> {
    let (axis, batch) = (cx.attrs().int(0), cx.attrs().int(1));
    let drops = cx.attrs().flag(2);
    let mut at = indices.clone();
    let negative = match drops {
        true => {
            let zero = cx.like(indices, 0.0);
            let negative = cx.test("Less", &[indices, &zero])?;
            at = cx.select(&negative, &zero, indices);
            Some(negative)
        }
        false => None,
    };
    let y = if batch == 0 {
        cx.gather(x, &at, axis)
    } else {
        let from_front = cx.axis(axis, x.rank()?)?;
        if from_front as i64 != batch {
            return Err(Error::unimplemented("a gather whose axis is not the first behind its batch"));
        }
        let at = cx.index(&at);
        let at = cx.unsqueeze(&at, &[-1]);
        cx.raw("GatherND", &[x, &at], vec![("batch_dims", batch.into())], x.dtype)
    };
    let Some(negative) = negative else { return Ok(y) };
    let negative = spread(cx, &negative, x.rank()?)?;
    let zero = cx.like(&y, 0.0);
    Ok(cx.select(&negative, &zero, &y))
}

/// A flag for each entry of what is gathered from `rank` dimensions, in front of those that an entry has.
fn spread(cx: &mut Cx<'_, '_>, flags: &X, rank: usize) -> Result<X> {
    let entry = rank - 1 - cx.axis(cx.attrs().int(0), rank)?;
    let axes: Vec<i64> = (0..entry as i64).map(|i| -1 - i).collect();
    Ok(if entry == 0 { flags.clone() } else { cx.unsqueeze(flags, &axes) })
}

/// `dy` with zeros for the entries that the instruction drops.
fn without_dropped(cx: &mut Cx<'_, '_>, dy: &X, indices: &X) -> Result<X> {
    if !cx.attrs().flag(2) {
        return Ok(dy.clone());
    }
    let zero = cx.like(indices, 0.0);
    let negative = cx.test("Less", &[indices, &zero])?;
    let negative = spread(cx, &negative, cx.out(0).shape().rank().map_or_else(|| dy.rank(), Ok)?)?;
    let zero = cx.like(dy, 0.0);
    let shape = dy.shape.clone();
    let mut kept = cx.select(&negative, &zero, dy);
    kept.shape = shape;
    Ok(kept)
}

fn scatter(cx: &mut Cx<'_, '_>, x: &X, indices: &X, updates: &X, reduction: &'static str) -> Result<X> {
    if reduction != "none" {
        numbers_only(updates)?;
    }
    let indices = cx.index(indices);
    Ok(cx.raw("ScatterND", &[x, &indices, updates], vec![("reduction", reduction.into())], x.dtype))
}

fn scattered(cx: &mut Cx<'_, '_>, reduction: &'static str) -> Items {
    let (x, indices, updates) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    one(scatter(cx, &x, &indices, &updates, reduction)?)
}

/// Compares with the positions, as `OneHot` of ONNX counts negative indices from the end.
fn one_hot(cx: &mut Cx<'_, '_>) -> Items {
    let (indices, depth, on, off) = (cx.x(0)?, cx.x(1)?, cx.x(2)?, cx.x(3)?);
    let axis = cx.attrs().int(0);
    let indices = cx.index(&indices);
    let depth = cx.index(&depth);
    let mut places = cx.iota(&depth);
    if axis != -1 {
        let rank = indices.rank()?;
        let behind = rank - cx.axis(axis, rank + 1)?;
        if behind > 0 {
            places = cx.unsqueeze(&places, &(1..=behind as i64).collect::<Vec<_>>());
        }
    }
    let rows = cx.unsqueeze(&indices, &[axis]);
    let hit = cx.test("Equal", &[&rows, &places])?;
    one(cx.select(&hit, &on, &off))
}

/// The greatest or least elements along an axis, all or so many, and their positions in `int64`.
fn sorted(cx: &mut Cx<'_, '_>, x: &X, count: Option<&X>, axis: i64, descending: bool) -> Result<(X, X)> {
    let count = match count {
        Some(count) => {
            let count = cx.index(count);
            match count.known_ints() {
                Some(known) => X::ints(&known),
                None => cx.raw("Reshape", &[&count, &X::ints(&[1])], vec![], DType::I64),
            }
        }
        None => {
            let from_front = cx.axis(axis, x.rank()?)?;
            cx.extent(x, from_front)
        }
    };
    let due = working("TopK", x.dtype)?;
    let wide = cx.cast(x, due);
    let attrs = vec![("axis", axis.into()), ("largest", descending.into()), ("sorted", 1i64.into())];
    let [values, places] = <[X; 2]>::try_from(cx.many("TopK", &[&wide, &count], attrs, &[due, DType::I64]))
        .map_err(|_| Error::internal("a node lost its results"))?;
    Ok((cx.cast(&values, x.dtype), places))
}

fn unique(cx: &mut Cx<'_, '_>) -> Items {
    let (x, dtype) = (cx.x(0)?, cx.attrs().dtype(0));
    if x.dtype.is_complex() {
        return Err(Error::unimplemented("the distinct elements of complex numbers have no node in ONNX"));
    }
    let due = working("Unique", x.dtype).unwrap_or(x.dtype);
    let wide = cx.cast(&x, due);
    let out = cx.many("Unique", &[&wide], vec![("sorted", 0i64.into())], &[due, DType::I64, DType::I64, DType::I64]);
    let (values, places, counts) = (cx.cast(&out[0], x.dtype), cx.cast(&out[2], dtype), cx.cast(&out[3], dtype));
    Ok(vec![values.into(), places.into(), counts.into()])
}

/// Counts the elements below each value, or not above it.
fn searchsorted(cx: &mut Cx<'_, '_>) -> Items {
    let (sequence, values) = (cx.x(0)?, cx.x(1)?);
    let (right, dtype) = (cx.attrs().flag(0), cx.attrs().dtype(1));
    let (rows, values) = (cx.unsqueeze(&sequence, &[-2]), cx.unsqueeze(&values, &[-1]));
    let mut below = cx.test(if right { "LessOrEqual" } else { "Less" }, &[&rows, &values])?;
    if sequence.dtype.is_float() {
        // NaN is above every number.
        let mut above = cx.test("IsNaN", &[&values])?;
        if !right {
            let same = cx.test("IsNaN", &[&rows])?;
            let other = cx.math("Not", &[&same])?;
            above = cx.math("And", &[&above, &other])?;
        }
        below = cx.math("Or", &[&below, &above])?;
    }
    let ones = cx.cast(&below, DType::I64);
    let count = cx.reduce("ReduceSum", &ones, Some(&[-1]), false)?;
    one(cx.cast(&count, dtype))
}

/// Sums flags for each integer up to the greatest.
fn bincount(cx: &mut Cx<'_, '_>) -> Items {
    let (x, least, most) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let rows = cx.attrs().flag(0);
    let (x, least, most) = (cx.index(&x), cx.index(&least), cx.index(&most));
    // A number below all, so that there is a greatest.
    let flat = cx.flat(&x);
    let all = cx.concat(&[&flat, &X::ints(&[-1])], 0);
    let greatest = cx.reduce("ReduceMax", &all, None, false)?;
    let size = cx.with("Add", &greatest, 1.0)?;
    let size = cx.math("Max", &[&size, &least])?;
    let bounded = cx.math("Min", &[&size, &most])?;
    let open = cx.test("Less", &[&most, &X::int(0)])?;
    let size = cx.select(&open, &size, &bounded);
    let bins = cx.iota(&size);
    let values = if rows { x } else { flat };
    let values = cx.unsqueeze(&values, &[-1]);
    let hit = cx.test("Equal", &[&values, &bins])?;
    let ones = cx.cast(&hit, DType::I64);
    one(cx.reduce("ReduceSum", &ones, Some(&[if rows { 1 } else { 0 }]), false)?)
}

/// What a segment without entries has.
fn neutral(dtype: DType, reduction: &str) -> f64 {
    let (low, high) = match dtype {
        DType::F16 => (-65504.0, 65504.0),
        DType::Bf16 => (f64::from(-f32::from_bits(0x7f7f_0000)), f64::from(f32::from_bits(0x7f7f_0000))),
        DType::F32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
        DType::F64 => (f64::MIN, f64::MAX),
        _ if dtype.is_unsigned() => (0.0, 256f64.powi(dtype.size() as i32) - 1.0),
        _ => {
            let half = 256f64.powi(dtype.size() as i32) / 2.0;
            (-half, half - 1.0)
        }
    };
    match reduction {
        "mul" => 1.0,
        "max" => low,
        "min" => high,
        _ => 0.0,
    }
}

/// Reduces entries by id: `data` has the dimensions of `ids` in front. Negative ids go to a row behind all, which is cut off.
fn segments(cx: &mut Cx<'_, '_>, data: &X, ids: &X, count: &X, reduction: &'static str) -> Result<X> {
    numbers_only(data)?;
    if matches!(reduction, "max" | "min") && data.dtype.is_integer() && data.dtype.size() == 8 {
        return Err(Error::unimplemented("the extremes of segments of 64-bit integers"));
    }
    let (ids_rank, rank) = (ids.rank()?, data.rank()?);
    let (ids, count) = (cx.index(ids), cx.index(count));
    let ids = cx.flat(&ids);
    let mut entry = Vec::new();
    for axis in ids_rank..rank {
        entry.push(cx.extent(data, axis));
    }
    let rows = [vec![X::ints(&[-1])], entry.clone()].concat();
    let total = cx.raw("Size", &[&ids], vec![], DType::I64);
    let total = cx.raw("Reshape", &[&total, &X::ints(&[1])], vec![], DType::I64);
    let shape = [vec![total], rows[1..].to_vec()].concat();
    let shape = cx.joined(&shape);
    let values = cx.reshape(data, &shape);
    let count = match count.known_ints() {
        Some(known) => X::ints(&known),
        None => cx.raw("Reshape", &[&count, &X::ints(&[1])], vec![], DType::I64),
    };
    let negative = cx.test("Less", &[&ids, &X::int(0)])?;
    let ids = cx.select(&negative, &count, &ids);
    let more = cx.with("Add", &count, 1.0)?;
    let shape = cx.joined(&[vec![more], entry].concat());
    let fold = if reduction == "mean" { "add" } else { reduction };
    let start = cx.like(data, neutral(data.dtype, reduction));
    let start = cx.fill(&shape, &start);
    let at = cx.unsqueeze(&ids, &[-1]);
    let mut y = scatter(cx, &start, &at, &values, fold)?;
    if reduction == "mean" {
        let one_each = cx.like(data, 1.0);
        let shape = cx.shape(&values);
        let ones = cx.fill(&shape, &one_each);
        let number = scatter(cx, &start, &at, &ones, "add")?;
        let some = cx.math("Max", &[&number, &one_each])?;
        y = cx.math("Div", &[&y, &some])?;
    }
    Ok(slice(cx, &y, &X::ints(&[0]), &count, &[0], &X::ints(&[1])))
}

fn unsorted(cx: &mut Cx<'_, '_>, reduction: &'static str) -> Items {
    let (data, ids, count) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    one(segments(cx, &data, &ids, &count, reduction)?)
}

/// Segments up to the greatest id; one without entries is 0 but for products.
fn in_order(cx: &mut Cx<'_, '_>, reduction: &'static str) -> Items {
    let (data, ids) = (cx.x(0)?, cx.x(1)?);
    let wide = cx.index(&ids);
    let all = cx.concat(&[&wide, &X::ints(&[-1])], 0);
    let last = cx.reduce("ReduceMax", &all, None, false)?;
    let count = cx.with("Add", &last, 1.0)?;
    let y = segments(cx, &data, &ids, &count, reduction)?;
    if !matches!(reduction, "max" | "min") {
        return one(y);
    }
    let (ones, zero) = (cx.like(&data, 1.0), cx.like(&data, 0.0));
    let shape = cx.shape(&data);
    let mut ones = cx.fill(&shape, &ones);
    ones.shape = Shape::of_rank(data.rank()?)?;
    let number = segments(cx, &ones, &ids, &count, "add")?;
    let none = cx.test("Equal", &[&number, &zero])?;
    one(cx.select(&none, &zero, &y))
}
