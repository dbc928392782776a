//! Products of matrices, convolutions, pooling and losses. ONNX has the channels first.

use penstock_data::{DType, Error, Result};

use super::arrays::slice;
use super::cx::{Cx, Handler, Items, X, one, working};
use super::message::Value;

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "matmul" => matmul,
        "matmul_int32" => |cx| {
            let (a, b) = (cx.x(0)?, cx.x(1)?);
            let a = turned(cx, &a, cx.attrs().flag(0))?;
            let b = turned(cx, &b, cx.attrs().flag(1))?;
            one(cx.raw("MatMulInteger", &[&a, &b], vec![], DType::I32))
        },
        "matrix_determinant" => |cx| {
            let x = cx.x(0)?;
            one(cx.math("Det", &[&x])?)
        },
        "softmax" => |cx| softmax(cx, "Softmax"),
        "log_softmax" => |cx| softmax(cx, "LogSoftmax"),
        "softmax_cross_entropy" => softmax_cross_entropy,
        "sparse_softmax_cross_entropy" => sparse_softmax_cross_entropy,
        "conv" => conv,
        "conv_input_grad" => conv_input_grad,
        "conv_filter_grad" => conv_filter_grad,
        "max_pool" => |cx| pool(cx, "MaxPool"),
        "avg_pool" => |cx| pool(cx, "AveragePool"),
        "random_uniform" => |cx| random(cx, "RandomUniformLike"),
        "random_normal" => |cx| random(cx, "RandomNormalLike"),
        _ => return None,
    })
}

/// The matrices with rows and columns exchanged, if asked for.
fn turned(cx: &mut Cx<'_, '_>, x: &X, exchange: bool) -> Result<X> {
    if !exchange {
        return Ok(x.clone());
    }
    let mut perm: Vec<usize> = (0..x.rank()?).collect();
    let last = perm.len().saturating_sub(1);
    if last == 0 {
        return Err(Error::invalid("needs matrices"));
    }
    perm.swap(last - 1, last);
    Ok(cx.transpose(x, &perm))
}

fn matmul(cx: &mut Cx<'_, '_>) -> Items {
    let (a, b) = (cx.x(0)?, cx.x(1)?);
    if a.dtype.is_complex() {
        return Err(Error::unimplemented("MatMul of ONNX does not take complex numbers"));
    }
    let flags: Vec<bool> = (0..4).map(|i| cx.attrs().flag(i)).collect();
    let (a, b) = (turned(cx, &a, flags[0] || flags[2])?, turned(cx, &b, flags[1] || flags[3])?);
    one(cx.math("MatMul", &[&a, &b])?)
}

fn softmax_of(cx: &mut Cx<'_, '_>, op: &'static str, x: &X, axis: i64) -> Result<X> {
    cx.math_with(op, &[x], 0, vec![("axis", axis.into())])
}

fn softmax(cx: &mut Cx<'_, '_>, op: &'static str) -> Items {
    let (x, axis) = (cx.x(0)?, cx.attrs().int(0));
    one(softmax_of(cx, op, &x, axis)?)
}

fn softmax_cross_entropy(cx: &mut Cx<'_, '_>) -> Items {
    let (logits, labels) = (cx.x(0)?, cx.x(1)?);
    let logs = softmax_of(cx, "LogSoftmax", &logits, -1)?;
    let terms = cx.math("Mul", &[&labels, &logs])?;
    let sum = cx.reduce("ReduceSum", &terms, Some(&[-1]), false)?;
    let loss = cx.math("Neg", &[&sum])?;
    let shares = softmax_of(cx, "Softmax", &logits, -1)?;
    let slope = cx.math("Sub", &[&shares, &labels])?;
    Ok(vec![loss.into(), slope.into()])
}

fn sparse_softmax_cross_entropy(cx: &mut Cx<'_, '_>) -> Items {
    let (logits, labels) = (cx.x(0)?, cx.x(1)?);
    let labels = cx.index(&labels);
    let logs = softmax_of(cx, "LogSoftmax", &logits, -1)?;
    let at = cx.unsqueeze(&labels, &[-1]);
    let found = cx.raw("GatherElements", &[&logs, &at], vec![("axis", (-1i64).into())], logits.dtype);
    let found = cx.squeeze(&found, &[-1]);
    let loss = cx.math("Neg", &[&found])?;
    let shares = softmax_of(cx, "Softmax", &logits, -1)?;
    let classes = cx.extent(&logits, logits.rank()? - 1);
    let classes = cx.element(&classes);
    let places = cx.iota(&classes);
    let hit = cx.test("Equal", &[&at, &places])?;
    let hit = cx.cast(&hit, logits.dtype);
    let slope = cx.math("Sub", &[&shares, &hit])?;
    Ok(vec![loss.into(), slope.into()])
}

fn channels_first(cx: &mut Cx<'_, '_>, x: &X) -> Result<X> {
    let rank = x.rank()?;
    let perm: Vec<usize> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
    Ok(cx.transpose(x, &perm))
}

/// The result of a node on images of this rank, with the channels behind.
fn channels_last(cx: &mut Cx<'_, '_>, x: &X, rank: usize) -> X {
    let perm: Vec<usize> = std::iter::once(0).chain(2..rank).chain([1]).collect();
    cx.transpose(x, &perm)
}

/// The extents of dimensions that have to be known.
fn known(x: &X, axes: std::ops::Range<usize>, what: &str) -> Result<Vec<i64>> {
    let dims = x.shape.dims().unwrap_or(&[]);
    let found: Option<Vec<i64>> = axes.map(|i| dims.get(i)?.known().map(|n| n as i64)).collect();
    found.ok_or_else(|| Error::unimplemented(format!("{what} have to be known")))
}

/// The attributes of a window that moves over `spatial` dimensions, which ONNX has too.
struct Windows {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// The zeros before and after each dimension; `None` for `SAME`.
    pads: Option<Vec<(i64, i64)>>,
}

impl Windows {
    fn of(cx: &Cx<'_, '_>, spatial: usize, dilated: bool) -> Windows {
        let attrs = cx.attrs();
        let list = |index: usize| attrs.opt_ints(index).map_or_else(|| vec![1; spatial], <[i64]>::to_vec);
        let pads = match attrs.str(1) {
            "SAME" => None,
            "EXPLICIT" => {
                let pads = attrs.opt_ints(2).unwrap_or(&[]);
                Some(pads.chunks_exact(2).map(|p| (p[0], p[1])).collect())
            }
            _ => Some(vec![(0, 0); spatial]),
        };
        Windows { strides: list(0), dilations: if dilated { list(3) } else { vec![1; spatial] }, pads }
    }

    /// The zeros around images of these extents.
    fn pads_for(&self, extents: &[i64], window: &[i64]) -> Vec<(i64, i64)> {
        if let Some(pads) = &self.pads {
            return pads.clone();
        }
        let total = |i: usize| {
            let reach = (window[i] - 1) * self.dilations[i] + 1;
            let outputs = (extents[i] + self.strides[i] - 1) / self.strides[i];
            ((outputs - 1) * self.strides[i] + reach - extents[i]).max(0)
        };
        (0..window.len()).map(|i| (total(i) / 2, total(i) - total(i) / 2)).collect()
    }

    fn attrs(&self, window: &[i64]) -> Vec<(&'static str, Value)> {
        let mut out = vec![("kernel_shape", window.to_vec().into()), ("strides", self.strides.clone().into())];
        match &self.pads {
            None => out.push(("auto_pad", "SAME_UPPER".into())),
            Some(pads) => out.push(("pads", flat(pads).into())),
        }
        out
    }
}

/// The numbers before, then those after.
fn flat(pads: &[(i64, i64)]) -> Vec<i64> {
    pads.iter().map(|p| p.0).chain(pads.iter().map(|p| p.1)).collect()
}

fn conv(cx: &mut Cx<'_, '_>) -> Items {
    let (x, filters) = (cx.x(0)?, cx.x(1)?);
    let rank = x.rank()?;
    let spatial = rank - 2;
    let sizes = known(&filters, 0..spatial + 1, "the extents of filters")?;
    let channels = known(&x, rank - 1..rank, "the channels of images")?[0];
    let windows = Windows::of(cx, spatial, true);
    let image = channels_first(cx, &x)?;
    let perm: Vec<usize> = [spatial + 1, spatial].into_iter().chain(0..spatial).collect();
    let filters = cx.transpose(&filters, &perm);
    let mut attrs = windows.attrs(&sizes[..spatial]);
    attrs.push(("dilations", windows.dilations.clone().into()));
    attrs.push(("group", (channels / sizes[spatial].max(1)).into()));
    let y = cx.math_with("Conv", &[&image, &filters], 0, attrs)?;
    one(channels_last(cx, &y, rank))
}

/// A transposed convolution; what the strides leave open of the extents is padding of the output.
fn conv_input_grad(cx: &mut Cx<'_, '_>) -> Items {
    let (filters, dy) = (cx.x(1)?, cx.x(2)?);
    let rank = dy.rank()?;
    let spatial = rank - 2;
    let sizes = known(&filters, 0..spatial + 1, "the extents of filters")?;
    let input = X::named("".into(), cx.out(0));
    let extents = known(&input, 1..spatial + 1, "the extents of a transposed convolution")?;
    let outputs = known(&dy, 1..spatial + 1, "the extents of images")?;
    let channels = known(&input, rank - 1..rank, "the channels of images")?[0];
    let windows = Windows::of(cx, spatial, true);
    let pads = windows.pads_for(&extents, &sizes[..spatial]);
    let open: Vec<i64> = (0..spatial)
        .map(|i| {
            let reach = (sizes[i] - 1) * windows.dilations[i] + 1;
            extents[i] - (windows.strides[i] * (outputs[i] - 1) + reach - pads[i].0 - pads[i].1)
        })
        .collect();
    let image = channels_first(cx, &dy)?;
    let perm: Vec<usize> = [spatial + 1, spatial].into_iter().chain(0..spatial).collect();
    let filters = cx.transpose(&filters, &perm);
    // What the windows do not reach is more than the padding of ONNX where it is no less than a stride.
    let fits = open.iter().zip(&windows.strides).zip(&windows.dilations).all(|((o, s), d)| o < s.max(d));
    let padding = if fits { open.clone() } else { vec![0; spatial] };
    let attrs = vec![
        ("kernel_shape", sizes[..spatial].to_vec().into()),
        ("strides", windows.strides.clone().into()),
        ("dilations", windows.dilations.clone().into()),
        ("pads", flat(&pads).into()),
        ("output_padding", padding.into()),
        ("group", (channels / sizes[spatial].max(1)).into()),
    ];
    let mut y = cx.math_with("ConvTranspose", &[&image, &filters], 0, attrs)?;
    if !fits {
        let amounts = [vec![0; rank + 2], open].concat();
        let zero = cx.like(&y, 0.0);
        y = cx.raw("Pad", &[&y, &X::ints(&amounts), &zero], vec![("mode", "constant".into())], y.dtype);
    }
    one(channels_last(cx, &y, rank))
}

/// A convolution of images and cotangents, each with batch and channels exchanged.
fn conv_filter_grad(cx: &mut Cx<'_, '_>) -> Items {
    let (x, dy) = (cx.x(0)?, cx.x(2)?);
    let rank = x.rank()?;
    let spatial = rank - 2;
    let filters = X::named("".into(), cx.out(0));
    let sizes = known(&filters, 0..spatial + 1, "the extents of filters")?;
    let channels = known(&x, rank - 1..rank, "the channels of images")?[0];
    if channels != sizes[spatial] {
        return Err(Error::unimplemented("the gradient of the filters of groups"));
    }
    if [&x, &dy].iter().any(|x| x.shape.num_elements() == Some(0)) {
        let shape = cx.out(0).shape().extents().ok_or_else(|| Error::unimplemented("the extents of filters"))?;
        return one(X::constant(penstock_data::Tensor::zeros(x.dtype, &shape)?));
    }
    let windows = Windows::of(cx, spatial, true);
    let extents = known(&x, 1..spatial + 1, "the extents of images")?;
    let pads = windows.pads_for(&extents, &sizes[..spatial]);
    let perm: Vec<usize> = std::iter::once(rank - 1).chain([0]).chain(1..rank - 1).collect();
    let (image, window) = (cx.transpose(&x, &perm), cx.transpose(&dy, &perm));
    let attrs = vec![
        ("strides", windows.dilations.clone().into()),
        ("dilations", windows.strides.clone().into()),
        ("pads", flat(&pads).into()),
        ("kernel_shape", known(&dy, 1..spatial + 1, "the extents of images")?.into()),
    ];
    let y = cx.math_with("Conv", &[&image, &window], 0, attrs)?;
    let axes: Vec<i64> = (2..rank as i64).collect();
    let zeros = X::ints(&vec![0; spatial]);
    let y = slice(cx, &y, &zeros, &X::ints(&sizes[..spatial]), &axes, &X::ints(&vec![1; spatial]));
    let back: Vec<usize> = (2..rank).chain([0, 1]).collect();
    one(cx.transpose(&y, &back))
}

fn pool(cx: &mut Cx<'_, '_>, op: &'static str) -> Items {
    let x = cx.x(0)?;
    let rank = x.rank()?;
    working(op, x.dtype)?;
    let windows = Windows::of(cx, rank - 2, false);
    let attrs = windows.attrs(cx.attrs().ints(3));
    let image = channels_first(cx, &x)?;
    let y = cx.math_with(op, &[&image], 0, attrs)?;
    one(channels_last(cx, &y, rank))
}

/// Other numbers of the same distribution.
fn random(cx: &mut Cx<'_, '_>, op: &'static str) -> Items {
    let (shape, dtype) = (cx.x(0)?, cx.attrs().dtype(0));
    let due = if dtype == DType::Bf16 { DType::F32 } else { dtype };
    let like = super::arrays::zeros(cx, &shape, due);
    let y = cx.raw(op, &[&like], vec![("dtype", due.into())], due);
    one(cx.cast(&y, dtype))
}
