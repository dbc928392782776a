//! Constants, shapes, slices and rearrangements.

use penstock_data::{DType as D, Error, Result, Tensor};
use penstock_ir::{Attr, Value};

use super::{Cx, Entry, From::*, Val, made, one, op, refused};

const MASKS: &[(&str, super::From)] = &[
    ("begin_mask", Int("begin_mask", 0)),
    ("end_mask", Int("end_mask", 0)),
    ("ellipsis_mask", Int("ellipsis_mask", 0)),
    ("new_axis_mask", Int("new_axis_mask", 0)),
    ("shrink_axis_mask", Int("shrink_axis_mask", 0)),
];

pub(super) static OPS: &[Entry] = &[
    made("Const", |cx, _| {
        let value = cx.value()?;
        one(value)
    }),
    made("Identity", same),
    made("IdentityN", same),
    made("Snapshot", same),
    made("Placeholder", |_, _| refused("a value that is not fed")),
    made("PlaceholderWithDefault", same),
    made("PreventGradient", same),
    op("StopGradient", "stop_gradient", &[]),
    op("EnsureShape", "ensure_shape", &[("shape", Shape("shape"))]),
    op("CheckNumerics", "check_numerics", &[("message", Text("message", ""))]),
    op("CheckNumericsV2", "check_numerics", &[("message", Text("message", ""))]),
    op("Shape", "shape", &[("dtype", DType("out_type", D::I32))]),
    made("ShapeN", |cx, _| {
        let dtype = cx.dtype("out_type", D::I32)?;
        let shapes = cx.tensors()?.into_iter().map(|v| cx.op("shape", &[v], &[("dtype", dtype.into())]));
        Ok(shapes.collect::<Result<Vec<_>>>()?.into_iter().map(Val::Tensor).collect())
    }),
    op("Size", "size", &[("dtype", DType("out_type", D::I32))]),
    op("Rank", "rank", &[]),
    op("Fill", "fill", &[]),
    op("ZerosLike", "zeros_like", &[]),
    op("OnesLike", "ones_like", &[]),
    op("Range", "range", &[]),
    made("LinSpace", |cx, _| {
        let (start, stop, count) = (cx.tensor(0)?, cx.tensor(1)?, cx.const_int(2)?);
        let dtype = cx.dtype_of(start);
        let steps: Vec<f64> = (0..count.clamp(0, 1 << 20)).map(|i| i as f64 / (count - 1).max(1) as f64).collect();
        let steps = cx.constant(Tensor::vector(&steps));
        let (steps, distance) =
            (cx.op("cast", &[steps], &[("dtype", dtype.into())])?, cx.op("sub", &[stop, start], &[])?);
        let way = cx.op("mul", &[steps, distance], &[])?;
        one(cx.op("add", &[way, start], &[])?)
    }),
    op("OneHot", "one_hot", &[("axis", Int("axis", -1))]),
    op("Reshape", "reshape", &[]),
    op("ExpandDims", "expand_dims", &[("axis", InputInt(1))]),
    op("Squeeze", "squeeze", &[("axes", Ints("squeeze_dims"))]),
    op("Transpose", "transpose", &[("perm", InputInts(1))]),
    made("ConjugateTranspose", |cx, _| {
        let (x, perm) = (cx.tensor(0)?, cx.const_ints(1)?);
        let moved = cx.op("transpose", &[x], &[("perm", perm.into())])?;
        one(cx.op("conj", &[moved], &[])?)
    }),
    made("InvertPermutation", |cx, _| {
        let perm = cx.const_ints(0)?;
        let mut inverse = vec![0; perm.len()];
        for (i, &p) in perm.iter().enumerate() {
            let place = usize::try_from(p).ok().and_then(|p| inverse.get_mut(p));
            *place.ok_or_else(|| Error::invalid("is no permutation"))? = i as i32;
        }
        let inverse = cx.constant(Tensor::vector(&inverse));
        one(inverse)
    }),
    op("BroadcastTo", "broadcast_to", &[]),
    made("BroadcastArgs", |cx, _| {
        let (a, b) = (cx.const_ints(0)?, cx.const_ints(1)?);
        let rank = a.len().max(b.len());
        let at = |s: &[i64], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |i| s[i]);
        let dims: Vec<i64> = (0..rank).map(|i| if at(&a, i) == 1 { at(&b, i) } else { at(&a, i) }).collect();
        let dtype = cx.dtype_of(cx.tensor(0)?);
        let dims = cx.ints(&dims);
        one(cx.op("cast", &[dims], &[("dtype", dtype.into())])?)
    }),
    op("Tile", "tile", &[]),
    op("ReverseV2", "reverse", &[("axes", InputInts(1))]),
    made("Pad", |cx, _| {
        let (x, paddings) = (cx.tensor(0)?, cx.tensor(1)?);
        let dtype = cx.dtype_of(x);
        let zero = match dtype {
            D::Str => cx.constant(Tensor::from_strings(&[], vec![(*b"").into()])?),
            _ => cx.constant(Tensor::zeros(dtype, &[])?),
        };
        one(cx.op("pad", &[x, paddings, zero], &[])?)
    }),
    op("PadV2", "pad", &[]),
    made("MirrorPad", mirror_pad),
    op("ConcatV2", "concat", &[("axis", InputInt(-1))]),
    op("Concat", "concat", &[("axis", InputInt(0))]),
    op("Pack", "stack", &[("axis", Int("axis", 0))]),
    op("Unpack", "unstack", &[("num", Int("num", 0)), ("axis", Int("axis", 0))]),
    op("Split", "split", &[("axis", InputInt(0)), ("num", Int("num_split", 1))]),
    made("SplitV", |cx, _| {
        let (x, mut sizes, axis) = (cx.tensor(0)?, cx.const_ints(1)?, cx.const_int(2)?);
        if let Some(open) = sizes.iter().position(|&s| s == -1) {
            let rank = cx.rank(x)? as i64;
            let place = usize::try_from(if axis < 0 { axis + rank } else { axis }).unwrap_or(usize::MAX);
            let size = cx.shape(x).dims().and_then(|dims| dims.get(place)?.known());
            let Some(size) = size else { return refused("a size of -1 along an axis whose size is not known") };
            sizes[open] = size as i64 - sizes.iter().sum::<i64>() - 1;
        }
        super::tensors(cx.ops("split", &[x], &[("sizes", sizes.into()), ("axis", axis.into())])?)
    }),
    op("StridedSlice", "strided_slice", MASKS),
    op("Slice", "slice", &[]),
    made("Gather", |cx, _| {
        let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
        one(cx.op("gather", &[x, indices], &[])?)
    }),
    op("GatherV2", "gather", &[("axis", InputInt(2)), ("batch_dims", Int("batch_dims", 0))]),
    op("GatherNd", "gather_nd", &[]),
    op("ScatterNd", "scatter_nd", &[]),
    op("TensorScatterUpdate", "tensor_scatter_nd_update", &[]),
    op("TensorScatterAdd", "tensor_scatter_nd_add", &[]),
    op("TensorScatterSub", "tensor_scatter_nd_sub", &[]),
    op("TensorScatterMax", "tensor_scatter_nd_max", &[]),
    op("TensorScatterMin", "tensor_scatter_nd_min", &[]),
    op("Where", "where_indices", &[]),
    made("DiagPart", |cx, _| {
        let x = cx.tensor(0)?;
        match cx.rank(x)? {
            2 => one(cx.op("matrix_diag_part", &[x], &[])?),
            rank => refused(format!("the diagonal of a tensor of rank {rank}")),
        }
    }),
    made("SpaceToBatchND", space_to_batch),
    made("BatchToSpaceND", batch_to_space),
    made("SpaceToDepth", |cx, _| depth_and_space(cx, true)),
    made("DepthToSpace", |cx, _| depth_and_space(cx, false)),
    made("RaggedTensorToTensor", ragged_to_dense),
];

fn same(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    Ok(cx.inputs.clone())
}

/// The extents of a value: numbers where they are known, and else scalars that are computed.
fn extents(cx: &mut Cx<'_, '_, '_, '_>, x: Value) -> Result<Vec<Value>> {
    let rank = cx.rank(x)?;
    let shape = cx.op("shape", &[x], &[("dtype", D::I64.into())])?;
    let parts = cx.ops("unstack", &[shape], &[("num", Attr::Int(rank as i64))])?;
    let dims = cx.shape(x);
    let known = dims.dims().unwrap_or(&[]);
    Ok(parts
        .into_iter()
        .zip(known)
        .map(|(part, dim)| dim.known().map_or(part, |n| cx.constant(Tensor::from(n as i64))))
        .collect())
}

fn reshape(cx: &mut Cx<'_, '_, '_, '_>, x: Value, dims: &[Value]) -> Result<Value> {
    let shape = cx.op("stack", dims, &[])?;
    let shape = match cx.lowering.known(shape) {
        Some(tensor) => cx.constant(tensor),
        None => shape,
    };
    cx.op("reshape", &[x, shape], &[])
}

fn number(cx: &mut Cx<'_, '_, '_, '_>, n: i64) -> Value {
    cx.constant(Tensor::from(n))
}

fn times(cx: &mut Cx<'_, '_, '_, '_>, x: Value, n: i64) -> Result<Value> {
    let n = number(cx, n);
    cx.op("mul", &[x, n], &[])
}

fn over(cx: &mut Cx<'_, '_, '_, '_>, x: Value, n: i64) -> Result<Value> {
    let n = number(cx, n);
    cx.op("floordiv", &[x, n], &[])
}

fn permuted(cx: &mut Cx<'_, '_, '_, '_>, x: Value, perm: Vec<usize>) -> Result<Value> {
    let perm: Vec<i64> = perm.into_iter().map(|p| p as i64).collect();
    cx.op("transpose", &[x], &[("perm", perm.into())])
}

fn space_to_batch(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (x, blocks, paddings) = (cx.tensor(0)?, cx.const_ints(1)?, cx.const_ints(2)?);
    let (rank, m) = (cx.rank(x)?, blocks.len());
    if rank < m + 1 || paddings.len() != 2 * m || blocks.iter().any(|&b| b < 1) {
        return Err(Error::invalid("blocks and paddings do not fit the input"));
    }
    let mut all = vec![0, 0];
    all.extend(&paddings);
    all.resize(2 * rank, 0);
    let all = cx.constant(Tensor::vector(&all).reshaped(&[rank, 2])?);
    let zero = cx.constant(Tensor::zeros(cx.dtype_of(x), &[])?);
    let x = cx.op("pad", &[x, all, zero], &[])?;
    let dims = extents(cx, x)?;
    let (mut split, mut merged) = (vec![dims[0]], vec![times(cx, dims[0], blocks.iter().product())?]);
    for (i, &b) in blocks.iter().enumerate() {
        let outer = over(cx, dims[1 + i], b)?;
        let inner = number(cx, b);
        split.extend([outer, inner]);
        merged.push(outer);
    }
    split.extend(&dims[1 + m..]);
    merged.extend(&dims[1 + m..]);
    let mut perm: Vec<usize> = (0..m).map(|i| 2 + 2 * i).collect();
    perm.push(0);
    perm.extend((0..m).map(|i| 1 + 2 * i));
    perm.extend(1 + 2 * m..split.len());
    let x = reshape(cx, x, &split)?;
    let x = permuted(cx, x, perm)?;
    one(reshape(cx, x, &merged)?)
}

fn batch_to_space(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (x, blocks, crops) = (cx.tensor(0)?, cx.const_ints(1)?, cx.const_ints(2)?);
    let (rank, m) = (cx.rank(x)?, blocks.len());
    if rank < m + 1 || crops.len() != 2 * m || blocks.iter().any(|&b| b < 1) {
        return Err(Error::invalid("blocks and crops do not fit the input"));
    }
    let dims = extents(cx, x)?;
    let batch = over(cx, dims[0], blocks.iter().product())?;
    let mut split: Vec<Value> = blocks.iter().map(|&b| number(cx, b)).collect();
    split.push(batch);
    split.extend(&dims[1..]);
    let mut perm = vec![m];
    let mut merged = vec![batch];
    for (i, &b) in blocks.iter().enumerate() {
        perm.extend([m + 1 + i, i]);
        merged.push(times(cx, dims[1 + i], b)?);
    }
    perm.extend(m + 1 + m..split.len());
    merged.extend(&dims[1 + m..]);
    let x = reshape(cx, x, &split)?;
    let x = permuted(cx, x, perm)?;
    let x = reshape(cx, x, &merged)?;
    let mut begin = vec![0; rank];
    let mut sizes = merged.clone();
    for i in 0..m {
        begin[1 + i] = crops[2 * i];
        let cropped = number(cx, crops[2 * i] + crops[2 * i + 1]);
        sizes[1 + i] = cx.op("sub", &[sizes[1 + i], cropped], &[])?;
    }
    let begin = cx.ints(&begin);
    let sizes = cx.op("stack", &sizes, &[])?;
    one(cx.op("slice", &[x, begin, sizes], &[])?)
}

fn depth_and_space(cx: &mut Cx<'_, '_, '_, '_>, to_depth: bool) -> Result<Vec<Val>> {
    if cx.text("data_format", "NHWC")? != "NHWC" {
        return refused("channels first");
    }
    let (x, block) = (cx.tensor(0)?, cx.int("block_size", 2)?);
    let dims = extents(cx, x)?;
    let [batch, height, width, depth] = dims[..] else { return Err(Error::invalid("expected rank 4")) };
    let b = number(cx, block);
    if to_depth {
        let (h, w) = (over(cx, height, block)?, over(cx, width, block)?);
        let x = reshape(cx, x, &[batch, h, b, w, b, depth])?;
        let x = permuted(cx, x, vec![0, 1, 3, 2, 4, 5])?;
        let depth = times(cx, depth, block * block)?;
        one(reshape(cx, x, &[batch, h, w, depth])?)
    } else {
        let depth = over(cx, depth, block * block)?;
        let x = reshape(cx, x, &[batch, height, width, b, b, depth])?;
        let x = permuted(cx, x, vec![0, 1, 3, 2, 4, 5])?;
        let (h, w) = (times(cx, height, block)?, times(cx, width, block)?);
        one(reshape(cx, x, &[batch, h, w, depth])?)
    }
}

/// Reflection is a gather along each axis, where the extents are known.
fn mirror_pad(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (mut x, paddings) = (cx.tensor(0)?, cx.const_ints(1)?);
    let symmetric = i64::from(cx.text("mode", "REFLECT")? == "SYMMETRIC");
    for (axis, pair) in paddings.chunks(2).enumerate() {
        let &[before, after] = pair else { return Err(Error::invalid("paddings come in pairs")) };
        if (before, after) == (0, 0) {
            continue;
        }
        let Some(n) = cx.shape(x).dims().and_then(|dims| dims.get(axis)?.known()) else {
            return refused("reflection along an axis whose size is not known");
        };
        let (n, most) = (n as i64, n as i64 - 1 + symmetric);
        if before.max(after) > most || before.min(after) < 0 {
            return Err(Error::invalid(format!("paddings of {before} and {after} for {n} elements")));
        }
        let low = (0..before).map(|i| before - i - symmetric);
        let high = (0..after).map(|i| n - 2 - i + symmetric);
        let indices: Vec<i64> = low.chain(0..n).chain(high).collect();
        let indices = cx.ints(&indices);
        x = cx.op("gather", &[x, indices], &[("axis", Attr::Int(axis as i64))])?;
    }
    one(x)
}

/// Rows of different lengths, side by side: for one ragged dimension given by splits, lengths or the numbers of rows.
fn ragged_to_dense(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let kinds = cx.node.attr("row_partition_types")?;
    let kinds = kinds.map_or(Ok(Vec::new()), |a| a.strings())?;
    let (shape, values, default) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let int = |cx: &mut Cx<'_, '_, '_, '_>, v| cx.op("cast", &[v], &[("dtype", D::I64.into())]);
    // The row of each value, and the number of rows.
    let (rows, count) = match kinds.as_slice() {
        ["ROW_SPLITS"] => {
            let splits = cx.tensor(3)?;
            let splits = int(cx, splits)?;
            let size = cx.op("size", &[splits], &[("dtype", D::I64.into())])?;
            let one_ = number(cx, 1);
            let count = cx.op("sub", &[size, one_], &[])?;
            let (zero, total) = (number(cx, 0), cx.op("shape", &[values], &[("dtype", D::I64.into())])?);
            let first = cx.op("gather", &[total, zero], &[])?;
            let all = cx.op("range", &[zero, first, one_], &[])?;
            let found = cx.op("searchsorted", &[splits, all], &[("right", true.into()), ("dtype", D::I64.into())])?;
            (cx.op("sub", &[found, one_], &[])?, count)
        }
        ["FIRST_DIM_SIZE", "VALUE_ROWIDS"] => {
            let (count, rows) = (cx.tensor(3)?, cx.tensor(4)?);
            (int(cx, rows)?, int(cx, count)?)
        }
        other => return refused(format!("rows that are partitioned by {other:?}")),
    };
    let (zero, one_) = (number(cx, 0), number(cx, 1));
    let ones = cx.op("ones_like", &[rows], &[])?;
    let lengths = cx.op("unsorted_segment_sum", &[ones, rows, count], &[])?;
    let starts = cx.op("cumsum", &[lengths], &[("exclusive", true.into())])?;
    let size = cx.op("size", &[rows], &[("dtype", D::I64.into())])?;
    let all = cx.op("range", &[zero, size, one_], &[])?;
    let start = cx.op("gather", &[starts, rows], &[])?;
    let columns = cx.op("sub", &[all, start], &[])?;
    let limit = cx.op("reduce_max", &[lengths], &[])?;
    let mut width = cx.op("maximum", &[limit, zero], &[])?;
    let mut height = count;
    // What is asked for stands in place of what there is, where it is known.
    if let Some(asked) = cx.lowering.known(shape).and_then(|t| t.to_ints().ok()) {
        if asked.len() > 1 && asked[0] >= 0 {
            height = number(cx, asked[0]);
        }
        if asked.len() > 1 && asked[1] >= 0 {
            width = number(cx, asked[1]);
        }
    } else if cx.shape(shape).rank() != Some(0) {
        return refused("a shape that is computed while the function runs");
    }
    let (high, wide) = (cx.op("less", &[rows, height], &[])?, cx.op("less", &[columns, width], &[])?);
    let inside = cx.op("logical_and", &[high, wide], &[])?;
    let places = cx.op("where_indices", &[inside], &[])?;
    let places = cx.op("squeeze", &[places], &[("axes", vec![1i64].into())])?;
    let places = cx.op("cast", &[places], &[("dtype", D::I64.into())])?;
    let pairs = cx.op("stack", &[rows, columns], &[("axis", 1i64.into())])?;
    let (pairs, kept) = (cx.op("gather", &[pairs, places], &[])?, cx.op("gather", &[values, places], &[])?);
    let inner = cx.op("shape", &[values], &[("dtype", D::I64.into())])?;
    let (begin, rest) = (cx.ints(&[1]), cx.ints(&[-1]));
    let inner = cx.op("slice", &[inner, begin, rest], &[])?;
    let front = cx.op("stack", &[height, width], &[])?;
    let dims = cx.op("concat", &[front, inner], &[("axis", 0i64.into())])?;
    let empty = match cx.rank(default)? {
        0 => cx.op("fill", &[dims, default], &[])?,
        _ => cx.op("broadcast_to", &[default, dims], &[])?,
    };
    one(cx.op("tensor_scatter_nd_update", &[empty, pairs, kept], &[])?)
}
