//! Networks: convolutions, pooling, normalisation, activations, resizing, and sums of products.

use penstock_data::{DType as D, Error, Result, Tensor};
use penstock_ir::{Attr, Value};

use super::{Cx, Entry, Val, made, made_many, many, one, op, refused, tensors};

const NORM: &[&str] = &["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"];

pub(super) static OPS: &[Entry] = &[
    op("Softplus", "softplus", &[]),
    op("Relu", "relu", &[]),
    op("Relu6", "relu6", &[]),
    op("Elu", "elu", &[]),
    op("Selu", "selu", &[]),
    op("Softsign", "softsign", &[]),
    op("Softmax", "softmax", &[]),
    op("LogSoftmax", "log_softmax", &[]),
    many("SoftmaxCrossEntropyWithLogits", "softmax_cross_entropy", &["loss", "backprop"], &[]),
    many("SparseSoftmaxCrossEntropyWithLogits", "sparse_softmax_cross_entropy", &["loss", "backprop"], &[]),
    made("LeakyRelu", |cx, _| {
        let (x, alpha) = (cx.tensor(0)?, cx.float("alpha", 0.2)?);
        let dtype = cx.dtype_of(x);
        let (zero, alpha) = (cx.scalar(0.0, dtype)?, cx.scalar(f64::from(alpha), dtype)?);
        let (positive, slope) = (cx.op("greater", &[x, zero], &[])?, cx.op("mul", &[x, alpha], &[])?);
        one(cx.op("select", &[positive, x, slope], &[])?)
    }),
    made("BiasAdd", |cx, _| {
        let (x, bias) = (cx.tensor(0)?, cx.tensor(1)?);
        if cx.text("data_format", "NHWC")? == "NHWC" {
            return one(cx.op("bias_add", &[x, bias], &[])?);
        }
        let mut bias = bias;
        for _ in 2..cx.rank(x)? {
            bias = cx.op("expand_dims", &[bias], &[("axis", (-1i64).into())])?;
        }
        one(cx.op("add", &[x, bias], &[])?)
    }),
    op("BiasAddV1", "bias_add", &[]),
    made("Conv2D", |cx, _| convolution(cx, false)),
    made("Conv3D", |cx, _| convolution(cx, false)),
    made("DepthwiseConv2dNative", |cx, _| convolution(cx, true)),
    made("Conv2DBackpropInput", transposed_convolution),
    made("Conv3DBackpropInputV2", transposed_convolution),
    made("MaxPool", |cx, _| pooling(cx, "max_pool")),
    made("MaxPool3D", |cx, _| pooling(cx, "max_pool")),
    made("AvgPool", |cx, _| pooling(cx, "avg_pool")),
    made("AvgPool3D", |cx, _| pooling(cx, "avg_pool")),
    made_many("FusedBatchNorm", NORM, batch_norm),
    made_many("FusedBatchNormV2", NORM, batch_norm),
    made_many("FusedBatchNormV3", NORM, batch_norm),
    made("ResizeNearestNeighbor", |cx, _| resize(cx, false)),
    made("ResizeBilinear", |cx, _| resize(cx, true)),
    made("InTopKV2", |cx, _| {
        let (scores, targets, k) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let places = cx.op("expand_dims", &[targets], &[("axis", (-1i64).into())])?;
        let own = cx.op("take_along_axis", &[scores, places], &[("axis", (-1i64).into())])?;
        let above = cx.op("greater", &[scores, own], &[])?;
        let above = cx.op("cast", &[above], &[("dtype", D::I64.into())])?;
        let above = cx.op("reduce_sum", &[above], &[("axes", vec![-1i64].into())])?;
        let k = cx.op("cast", &[k], &[("dtype", D::I64.into())])?;
        one(cx.op("less", &[above, k], &[])?)
    }),
];

/// Where channels are: behind the spatial dimensions, or in front of them.
struct Layout {
    first: bool,
    rank: usize,
}

impl Layout {
    fn of(cx: &Cx<'_, '_, '_, '_>, rank: usize) -> Result<Layout> {
        let format = cx.text("data_format", "")?;
        Ok(Layout { first: matches!(format, "NCHW" | "NCDHW"), rank })
    }

    /// The entries of a list for the spatial dimensions; none where the list is empty.
    fn spatial(&self, list: &[i64]) -> Vec<i64> {
        let from = if self.first { 2 } else { 1 };
        list.get(from..from + self.rank - 2).unwrap_or(&[]).to_vec()
    }

    /// Channels to the end.
    fn last(&self, cx: &mut Cx<'_, '_, '_, '_>, x: Value) -> Result<Value> {
        if !self.first {
            return Ok(x);
        }
        let perm: Vec<i64> = std::iter::once(0).chain(2..self.rank as i64).chain([1]).collect();
        cx.op("transpose", &[x], &[("perm", perm.into())])
    }

    /// And back.
    fn back(&self, cx: &mut Cx<'_, '_, '_, '_>, x: Value) -> Result<Value> {
        if !self.first {
            return Ok(x);
        }
        let perm: Vec<i64> = [0, self.rank as i64 - 1].into_iter().chain(1..self.rank as i64 - 1).collect();
        cx.op("transpose", &[x], &[("perm", perm.into())])
    }
}

fn list_or_none(list: Vec<i64>) -> Attr {
    if list.is_empty() { Attr::None } else { list.into() }
}

/// Strides and padding, as convolutions and pooling have them.
fn window(cx: &Cx<'_, '_, '_, '_>, layout: &Layout) -> Result<Vec<(&'static str, Attr)>> {
    let padding = cx.text("padding", "VALID")?;
    let explicit = cx.list("explicit_paddings")?;
    let from = if layout.first { 4 } else { 2 };
    let explicit = explicit.get(from..from + 2 * (layout.rank - 2)).unwrap_or(&[]).to_vec();
    Ok(vec![
        ("strides", list_or_none(layout.spatial(&cx.list("strides")?))),
        ("padding", padding.into()),
        ("explicit_paddings", if padding == "EXPLICIT" { list_or_none(explicit) } else { Attr::None }),
    ])
}

fn convolution(cx: &mut Cx<'_, '_, '_, '_>, depthwise: bool) -> Result<Vec<Val>> {
    let (x, mut filters) = (cx.tensor(0)?, cx.tensor(1)?);
    let layout = Layout::of(cx, cx.rank(filters)?)?;
    let mut attrs = window(cx, &layout)?;
    attrs.push(("dilations", list_or_none(layout.spatial(&cx.list("dilations")?))));
    if depthwise {
        let [h, w, channels, each] = cx.shape(filters).extents().map_or(vec![], |dims| dims.to_vec())[..] else {
            return refused("filters whose shape is not known");
        };
        let dims = cx.ints(&[h as i64, w as i64, 1, (channels * each) as i64]);
        filters = cx.op("reshape", &[filters, dims], &[])?;
    }
    let x = layout.last(cx, x)?;
    let y = cx.op("conv", &[x, filters], &attrs)?;
    one(layout.back(cx, y)?)
}

fn transposed_convolution(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (sizes, filters, x) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let layout = Layout::of(cx, cx.rank(filters)?)?;
    if layout.first {
        return refused("channels first");
    }
    let mut attrs = window(cx, &layout)?;
    attrs.push(("dilations", list_or_none(layout.spatial(&cx.list("dilations")?))));
    one(cx.op("conv_input_grad", &[sizes, filters, x], &attrs)?)
}

fn pooling(cx: &mut Cx<'_, '_, '_, '_>, op: &str) -> Result<Vec<Val>> {
    let x = cx.tensor(0)?;
    let ksize = cx.list("ksize")?;
    let layout = Layout::of(cx, ksize.len())?;
    if layout.rank < 3 {
        return Err(Error::invalid("expected windows of at least one dimension"));
    }
    let mut attrs = window(cx, &layout)?;
    attrs.push(("ksize", layout.spatial(&ksize).into()));
    let x = layout.last(cx, x)?;
    let y = cx.op(op, &[x], &attrs)?;
    one(layout.back(cx, y)?)
}

/// `y`, mean, variance and what a gradient would need. In training the mean and variance are those of the batch, where the
/// variance that is given out is that of a sample.
fn batch_norm(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (input, scale, offset) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let dtype = cx.dtype_of(scale);
    let given = cx.dtype_of(input);
    let rank = cx.rank(input)?;
    let layout = Layout::of(cx, rank)?;
    let mut x = layout.last(cx, input)?;
    if given != dtype {
        x = cx.op("cast", &[x], &[("dtype", dtype.into())])?;
    }
    let epsilon = cx.scalar(f64::from(cx.float("epsilon", 1e-4)?), dtype)?;
    let (mean, variance, moving) = if cx.flag("is_training", true)? {
        let axes: Vec<i64> = (0..rank as i64 - 1).collect();
        let mean = cx.op("reduce_mean", &[x], &[("axes", axes.clone().into())])?;
        let squares = cx.op("squared_difference", &[x, mean], &[])?;
        let variance = cx.op("reduce_mean", &[squares], &[("axes", axes.into())])?;
        let (all, channels) = (cx.op("size", &[x], &[])?, cx.op("size", &[mean], &[])?);
        let count = cx.op("floordiv", &[all, channels], &[])?;
        let count = cx.op("cast", &[count], &[("dtype", dtype.into())])?;
        let one_ = cx.scalar(1.0, dtype)?;
        let less = cx.op("sub", &[count, one_], &[])?;
        let less = cx.op("maximum", &[less, one_], &[])?;
        let ratio = cx.op("div", &[count, less], &[])?;
        (mean, variance, cx.op("mul", &[variance, ratio], &[])?)
    } else {
        let (mean, variance) = (cx.tensor(3)?, cx.tensor(4)?);
        (mean, variance, variance)
    };
    let (mut moving_mean, mut moving_variance) = (mean, moving);
    let factor = cx.float("exponential_avg_factor", 1.0)?;
    if cx.flag("is_training", true)? && factor != 1.0 {
        let share = cx.scalar(f64::from(factor), dtype)?;
        for (new, index) in [(&mut moving_mean, 3), (&mut moving_variance, 4)] {
            let old = cx.tensor(index)?;
            let step = cx.op("sub", &[*new, old], &[])?;
            let step = cx.op("mul", &[step, share], &[])?;
            *new = cx.op("add", &[old, step], &[])?;
        }
    }
    let shifted = cx.op("add", &[variance, epsilon], &[])?;
    let inverse = cx.op("rsqrt", &[shifted], &[])?;
    let factor = cx.op("mul", &[inverse, scale], &[])?;
    let centred = cx.op("sub", &[x, mean], &[])?;
    let scaled = cx.op("mul", &[centred, factor], &[])?;
    let mut y = cx.op("add", &[scaled, offset], &[])?;
    if given != dtype {
        y = cx.op("cast", &[y], &[("dtype", given.into())])?;
    }
    let y = layout.back(cx, y)?;
    tensors(vec![y, moving_mean, moving_variance, mean, variance, variance])
}

/// Rows and columns of images at computed places: the nearest, or a mix of the two around.
fn resize(cx: &mut Cx<'_, '_, '_, '_>, bilinear: bool) -> Result<Vec<Val>> {
    let (mut x, sizes) = (cx.tensor(0)?, cx.const_ints(1)?);
    let (corners, centres) = (cx.flag("align_corners", false)?, cx.flag("half_pixel_centers", false)?);
    let dims = cx.shape(x);
    if bilinear {
        x = cx.op("cast", &[x], &[("dtype", D::F32.into())])?;
    }
    let [height, width] = sizes[..] else { return Err(Error::invalid("expected a height and a width")) };
    for (axis, out) in [(1, height), (2, width)] {
        if !(1..=1 << 24).contains(&out) {
            return Err(Error::invalid(format!("cannot resize to {out}")));
        }
        let Some(n) = dims.dims().and_then(|dims| dims.get(axis)?.known()) else {
            x = resize_unknown(cx, x, axis, out, bilinear)?;
            continue;
        };
        if n == 0 {
            return Err(Error::invalid(format!("cannot resize {n} to {out}")));
        }
        let scale = match corners && out > 1 {
            true => (n as f32 - 1.0) / (out as f32 - 1.0),
            false => n as f32 / out as f32,
        };
        let place = |i: i64| match centres {
            true if bilinear => (i as f32 + 0.5) * scale - 0.5,
            true => (i as f32 + 0.5) * scale,
            false => i as f32 * scale,
        };
        let within = |v: f32| (v as i64).clamp(0, n as i64 - 1);
        let at: Attr = Attr::Int(axis as i64);
        if !bilinear {
            let nearest = |i| within(if corners { place(i).round() } else { place(i).floor() });
            let indices: Vec<i64> = (0..out).map(nearest).collect();
            let indices = cx.ints(&indices);
            x = cx.op("gather", &[x, indices], &[("axis", at)])?;
            continue;
        }
        let low: Vec<i64> = (0..out).map(|i| within(place(i).floor())).collect();
        let high: Vec<i64> = (0..out).map(|i| within(place(i).floor() + 1.0)).collect();
        let share: Vec<f32> = (0..out).map(|i| place(i) - place(i).floor()).collect();
        let lengths: &[usize] = if axis == 1 { &[share.len(), 1, 1] } else { &[share.len(), 1] };
        let share = cx.constant(Tensor::vector(&share).reshaped(lengths)?);
        let (low, high) = (cx.ints(&low), cx.ints(&high));
        let low = cx.op("gather", &[x, low], &[("axis", at.clone())])?;
        let high = cx.op("gather", &[x, high], &[("axis", at)])?;
        let step = cx.op("sub", &[high, low], &[])?;
        let step = cx.op("mul", &[step, share], &[])?;
        x = cx.op("add", &[low, step], &[])?;
    }
    one(x)
}

/// As [`resize`], along one axis whose extent is known when it runs.
fn resize_unknown(cx: &mut Cx<'_, '_, '_, '_>, x: Value, axis: usize, out: i64, bilinear: bool) -> Result<Value> {
    let (corners, centres) = (cx.flag("align_corners", false)?, cx.flag("half_pixel_centers", false)?);
    let at: Attr = Attr::Int(axis as i64);
    let (shape, index) = (cx.op("shape", &[x], &[("dtype", D::I64.into())])?, cx.ints(&[axis as i64]));
    let n = cx.op("gather", &[shape, index], &[("axis", Attr::Int(0))])?;
    let n = cx.op("cast", &[n], &[("dtype", D::F32.into())])?;
    let number = |cx: &mut Cx<'_, '_, '_, '_>, value: f32| cx.constant(Tensor::vector(&[value]));
    let (zero, half, one) = (number(cx, 0.0), number(cx, 0.5), number(cx, 1.0));
    let last = cx.op("sub", &[n, one], &[])?;
    let scale = match corners && out > 1 {
        true => {
            let steps = number(cx, out as f32 - 1.0);
            cx.op("div", &[last, steps], &[])?
        }
        false => {
            let steps = number(cx, out as f32);
            cx.op("div", &[n, steps], &[])?
        }
    };
    let shift = if centres { 0.5 } else { 0.0 };
    let places: Vec<f32> = (0..out).map(|i| i as f32 + shift).collect();
    let places = cx.constant(Tensor::vector(&places));
    let mut place = cx.op("mul", &[places, scale], &[])?;
    if centres && bilinear {
        place = cx.op("sub", &[place, half], &[])?;
    }
    if corners && !bilinear {
        place = cx.op("add", &[place, half], &[])?;
    }
    let floor = cx.op("floor", &[place], &[])?;
    let row = |cx: &mut Cx<'_, '_, '_, '_>, place: Value| -> Result<Value> {
        let place = cx.op("maximum", &[place, zero], &[])?;
        let place = cx.op("minimum", &[place, last], &[])?;
        let place = cx.op("cast", &[place], &[("dtype", D::I64.into())])?;
        cx.op("gather", &[x, place], &[("axis", at.clone())])
    };
    let low = row(cx, floor)?;
    if !bilinear {
        return Ok(low);
    }
    let next = cx.op("add", &[floor, one], &[])?;
    let high = row(cx, next)?;
    let share = cx.op("sub", &[place, floor], &[])?;
    let lengths = cx.ints(if axis == 1 { &[-1, 1, 1] } else { &[-1, 1] });
    let share = cx.op("reshape", &[share, lengths], &[])?;
    let step = cx.op("sub", &[high, low], &[])?;
    let step = cx.op("mul", &[step, share], &[])?;
    cx.op("add", &[low, step], &[])
}

/// A sum of products by the letters of its axes, one operand after the other: axes that only one operand has and the result
/// has not are summed first, those of both become the axes of a matrix product.
pub(super) fn einsum(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let equation = cx.text("equation", "")?.replace(' ', "");
    let (left, result) = equation.split_once("->").ok_or_else(|| Error::invalid("the equation has no '->'"))?;
    let mut operands: Vec<(Value, Vec<char>)> = Vec::new();
    // Axes of `...` count from the end: each becomes a letter of its own.
    let stand_in = |i: usize| char::from_u32(0xe000 + i as u32).unwrap_or('?');
    let mut widest = 0;
    for (i, labels) in left.split(',').enumerate() {
        let x = cx.tensor(i)?;
        let rank = cx.rank(x)?;
        let mut letters = Vec::new();
        let named = labels.chars().filter(|c| *c != '.').count();
        let extra = rank.checked_sub(named).ok_or_else(|| Error::invalid("more letters than axes"))?;
        let mut rest = labels;
        while let Some(c) = rest.chars().next() {
            if let Some(behind) = rest.strip_prefix("...") {
                widest = widest.max(extra);
                letters.extend((0..extra).rev().map(stand_in));
                rest = behind;
            } else {
                letters.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        let mut seen = letters.clone();
        seen.sort_unstable();
        seen.dedup();
        if letters.len() != rank || seen.len() != rank {
            return refused(format!("the equation '{equation}', where a letter stands twice in one operand"));
        }
        operands.push((x, letters));
    }
    if operands.len() != cx.inputs.len() {
        return Err(Error::invalid(format!("the equation '{equation}' is of another number of operands")));
    }
    let mut out: Vec<char> = Vec::new();
    let mut rest = result;
    while let Some(c) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("...") {
            out.extend((0..widest).rev().map(stand_in));
            rest = behind;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    operands.reverse();
    let mut done = operands.pop().ok_or_else(|| Error::invalid("no operands"))?;
    while let Some(next) = operands.pop() {
        let needed: Vec<char> =
            operands.iter().flat_map(|(_, l)| l.iter().copied()).chain(out.iter().copied()).collect();
        done = product(cx, done, next, &needed)?;
    }
    let done = summed(cx, done, &out)?;
    one(arranged(cx, done, &out)?)
}

type Lettered = (Value, Vec<char>);

/// The sum over the axes that nothing needs.
fn summed(cx: &mut Cx<'_, '_, '_, '_>, (x, letters): Lettered, needed: &[char]) -> Result<Lettered> {
    let axes: Vec<i64> = (0..letters.len()).filter(|&i| !needed.contains(&letters[i])).map(|i| i as i64).collect();
    if axes.is_empty() {
        return Ok((x, letters));
    }
    let x = cx.op("reduce_sum", &[x], &[("axes", axes.into())])?;
    Ok((x, letters.into_iter().filter(|l| needed.contains(l)).collect()))
}

/// The axes in the order of letters.
fn arranged(cx: &mut Cx<'_, '_, '_, '_>, (x, letters): Lettered, order: &[char]) -> Result<Value> {
    let perm: Option<Vec<i64>> = order.iter().map(|l| letters.iter().position(|m| m == l).map(|i| i as i64)).collect();
    let perm = perm.filter(|p| p.len() == letters.len());
    let perm = perm.ok_or_else(|| Error::unimplemented("an equation whose result has other letters"))?;
    match perm.is_sorted() {
        true => Ok(x),
        false => cx.op("transpose", &[x], &[("perm", perm.into())]),
    }
}

fn product(cx: &mut Cx<'_, '_, '_, '_>, a: Lettered, b: Lettered, needed: &[char]) -> Result<Lettered> {
    let keep = |other: &[char]| needed.iter().chain(other).copied().collect::<Vec<char>>();
    let (for_a, for_b) = (keep(&b.1), keep(&a.1));
    let (a, b) = (summed(cx, a, &for_a)?, summed(cx, b, &for_b)?);
    let both: Vec<char> = a.1.iter().copied().filter(|l| b.1.contains(l)).collect();
    let (batch, inner): (Vec<char>, Vec<char>) = both.iter().partition(|l| needed.contains(l));
    let rows: Vec<char> = a.1.iter().copied().filter(|l| !both.contains(l)).collect();
    let columns: Vec<char> = b.1.iter().copied().filter(|l| !both.contains(l)).collect();
    let (order_a, order_b) = ([&*batch, &rows, &inner].concat(), [&*batch, &inner, &columns].concat());
    let (x, y) = (arranged(cx, a, &order_a)?, arranged(cx, b, &order_b)?);
    let letters = [&*batch, &rows, &columns].concat();
    if rows.len() == 1 && inner.len() == 1 && columns.len() == 1 && batch.is_empty() {
        return Ok((cx.op("matmul", &[x, y], &[])?, letters));
    }
    // Axes of one group become one axis, and come apart again behind the product.
    let (x_dims, y_dims) = (dims_of(cx, x)?, dims_of(cx, y)?);
    let (nb, nr, ni) = (batch.len(), rows.len(), inner.len());
    let merge = |cx: &mut Cx<'_, '_, '_, '_>, dims: &[Value]| -> Result<Value> {
        let mut out = cx.constant(Tensor::from(1i64));
        for &dim in dims {
            out = cx.op("mul", &[out, dim], &[])?;
        }
        Ok(out)
    };
    let (m, k, n) = (merge(cx, &x_dims[nb..nb + nr])?, merge(cx, &x_dims[nb + nr..])?, merge(cx, &y_dims[nb + ni..])?);
    let shape_x: Vec<Value> = x_dims[..nb].iter().copied().chain([m, k]).collect();
    let shape_y: Vec<Value> = y_dims[..nb].iter().copied().chain([k, n]).collect();
    let (x, y) = (shaped(cx, x, &shape_x)?, shaped(cx, y, &shape_y)?);
    let z = cx.op("matmul", &[x, y], &[])?;
    // An axis of length 1 of one operand takes the length of the other.
    let mut shape: Vec<Value> = Vec::new();
    for (&a, &b) in x_dims[..nb].iter().zip(&y_dims[..nb]) {
        shape.push(cx.op("maximum", &[a, b], &[])?);
    }
    shape.extend(&x_dims[nb..nb + nr]);
    shape.extend(&y_dims[nb + ni..]);
    Ok((shaped(cx, z, &shape)?, letters))
}

/// The extents, as scalars: constants where they are known.
fn dims_of(cx: &mut Cx<'_, '_, '_, '_>, x: Value) -> Result<Vec<Value>> {
    let dims = cx.shape(x);
    let dims = dims.dims().unwrap_or(&[]);
    if dims.is_empty() {
        return Ok(Vec::new());
    }
    let shape = cx.op("shape", &[x], &[("dtype", D::I64.into())])?;
    let parts = cx.ops("unstack", &[shape], &[("num", Attr::Int(dims.len() as i64))])?;
    let one_of =
        |(part, dim): (Value, &penstock_data::Dim)| dim.known().map_or(part, |n| cx.constant(Tensor::from(n as i64)));
    Ok(parts.into_iter().zip(dims).map(one_of).collect())
}

fn shaped(cx: &mut Cx<'_, '_, '_, '_>, x: Value, dims: &[Value]) -> Result<Value> {
    let shape = match dims {
        [] => cx.constant(Tensor::from_slice::<i64>(&[0], &[])?),
        _ => cx.op("stack", dims, &[])?,
    };
    let shape = match cx.lowering.known(shape) {
        Some(tensor) => cx.constant(tensor),
        None => shape,
    };
    cx.op("reshape", &[x, shape], &[])
}
