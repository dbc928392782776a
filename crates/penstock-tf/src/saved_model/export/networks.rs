//! Convolutions, pooling and other parts of networks.

use std::slice::from_ref;

use penstock_data::{DType as D, Result};

use super::graph::{Cx, Edge, Items};
use super::message::Value;
use super::ops::{one, refused};

pub(super) fn handler(name: &str) -> Option<fn(&mut Cx<'_, '_, '_>) -> Items> {
    Some(match name {
        "bias_add" => |cx| {
            let inputs = cx.all()?;
            let op = if cx.rank(0)? >= 2 && inputs[0].dtype.is_float() { "BiasAdd" } else { "AddV2" };
            one(cx.node(op, &inputs, vec![])?)
        },
        "softmax" => |cx| softmax(cx, "Softmax"),
        "log_softmax" => |cx| softmax(cx, "LogSoftmax"),
        "conv" => conv,
        "conv_input_grad" => conv_input_grad,
        "conv_filter_grad" => conv_filter_grad,
        "max_pool" => |cx| {
            let x = cx.x(0)?;
            pool(cx, x, &["MaxPool", "MaxPool3D"])
        },
        "avg_pool" => |cx| {
            let x = cx.x(0)?;
            pool(cx, x, &["AvgPool", "AvgPool3D"])
        },
        "max_pool_grad" => max_pool_grad,
        "avg_pool_grad" => |cx| {
            let (sizes, grad) = (cx.x(0)?, cx.x(1)?);
            if cx.rank(1)? != 4 {
                return refused("the gradient of pooling over other than two dimensions");
            }
            let sizes = cx.cast(&sizes, D::I32)?;
            let attrs = window(cx, 4, false)?;
            one(cx.node("AvgPoolGrad", &[sizes, grad], attrs)?)
        },
        _ => return None,
    })
}

/// TensorFlow's softmax is along the last axis.
fn softmax(cx: &mut Cx<'_, '_, '_>, op: &str) -> Items {
    let (x, axis) = (cx.x(0)?, cx.data.attrs.int(0));
    if axis == -1 {
        return one(cx.node(op, &[x], vec![])?);
    }
    let rank = cx.rank(0)?;
    let place = (if axis < 0 { axis + rank as i64 } else { axis }) as usize;
    let mut perm: Vec<i64> = (0..rank as i64).collect();
    perm.swap(place, rank - 1);
    let perm = cx.ints(&perm)?;
    let moved = cx.node("Transpose", &[x, perm.clone()], vec![])?;
    let made = cx.node(op, &[moved], vec![])?;
    one(cx.node("Transpose", &[made, perm], vec![])?)
}

fn attr(cx: &Cx<'_, '_, '_>, name: &str) -> Option<Vec<i64>> {
    let index = cx.data.op.attr_index(name)?;
    cx.data.attrs.opt_ints(index).map(<[i64]>::to_vec)
}

/// A list with an element for each dimension, of one for each spatial dimension.
fn whole(list: Option<Vec<i64>>, rank: usize) -> Vec<i64> {
    let inner = list.unwrap_or_else(|| vec![1; rank - 2]);
    // A sequence is an image of one row.
    let front = vec![1; rank.max(4) - 1 - inner.len()];
    front.into_iter().chain(inner).chain([1]).collect()
}

/// Strides, windows or dilations, and padding.
fn window(cx: &Cx<'_, '_, '_>, rank: usize, convolves: bool) -> Result<Vec<(&'static str, Value)>> {
    let padding = cx.data.op.attr_index("padding").map_or("VALID", |i| cx.data.attrs.str(i));
    let mut attrs = vec![("strides", whole(attr(cx, "strides"), rank).into()), ("padding", padding.into())];
    match convolves {
        true => attrs.push(("dilations", whole(attr(cx, "dilations"), rank).into())),
        false => attrs.push(("ksize", whole(attr(cx, "ksize"), rank).into())),
    }
    if padding == "EXPLICIT" {
        let inner = attr(cx, "explicit_paddings").unwrap_or_default();
        if rank > 4 || !convolves && cx.data.op.name.starts_with("avg") {
            return refused("padding that is given");
        }
        let front = vec![0; 2 * (rank.max(4) - 1) - inner.len()];
        attrs.push(("explicit_paddings", front.into_iter().chain(inner).chain([0, 0]).collect::<Vec<_>>().into()));
    }
    Ok(attrs)
}

/// The images with a row more, where they are sequences.
fn images(cx: &mut Cx<'_, '_, '_>, x: Edge, rank: usize, axis: i64) -> Result<Edge> {
    if rank != 3 {
        return Ok(x);
    }
    let axis = cx.int(axis)?;
    cx.node("ExpandDims", &[x, axis], vec![])
}

fn sequences(cx: &mut Cx<'_, '_, '_>, y: Edge, rank: usize) -> Items {
    if rank != 3 {
        return one(y);
    }
    one(cx.node("Squeeze", &[y], vec![("squeeze_dims", vec![1].into())])?)
}

/// How many channels of the input a filter sees, and how many there are.
fn channels(cx: &Cx<'_, '_, '_>, input: usize, filters: usize) -> (Option<usize>, Option<usize>) {
    let at = |i: usize, from_end: usize| {
        let dims = cx.ty(i).shape().dims()?;
        dims[dims.len().checked_sub(from_end)?].known()
    };
    (at(filters, 2), at(input, 1))
}

fn conv(cx: &mut Cx<'_, '_, '_>) -> Items {
    let rank = cx.rank(1)?;
    let (x, filters) = (cx.x(0)?, cx.x(1)?);
    let (x, filters) = (images(cx, x, rank, 1)?, images(cx, filters, rank, 0)?);
    let attrs = window(cx, rank, true)?;
    let (seen, there) = channels(cx, 0, 1);
    let grouped = seen.zip(there).is_some_and(|(seen, there)| seen != there);
    let op = match rank {
        3 | 4 if grouped && seen == Some(1) => {
            let dims: Option<Vec<i64>> = cx.ty(1).shape().dims().and_then(|dims| {
                let all: Option<Vec<usize>> = dims.iter().map(|d| d.known()).collect();
                let all: Vec<i64> = all?.into_iter().map(|d| d as i64).collect();
                let (own, each) = (there? as i64, *all.last()? / there? as i64);
                let front = if rank == 3 { vec![1, all[0]] } else { vec![all[0], all[1]] };
                Some(front.into_iter().chain([own, each]).collect())
            });
            let Some(dims) = dims else { return refused("filters whose shape is not known") };
            let dims = cx.ints(&dims)?;
            let filters = cx.node("Reshape", &[filters, dims], vec![])?;
            let y = cx.node("DepthwiseConv2dNative", &[x, filters], attrs)?;
            return sequences(cx, y, rank);
        }
        _ if grouped => return refused("groups of channels"),
        3 | 4 => "Conv2D",
        _ => "Conv3D",
    };
    let y = cx.node(op, &[x, filters], attrs)?;
    sequences(cx, y, rank)
}

fn conv_input_grad(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (sizes, filters, dy) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let rank = cx.rank(1)?;
    let op = match rank {
        4 => "Conv2DBackpropInput",
        5 => "Conv3DBackpropInputV2",
        _ => return refused("the transpose of a convolution of sequences"),
    };
    let out = cx.out(0).shape().dims().and_then(|dims| dims.last()?.known());
    if channels(cx, 1, 1).0 != out {
        return refused("groups of channels");
    }
    let (sizes, attrs) = (cx.cast(&sizes, D::I32)?, window(cx, rank, true)?);
    one(cx.node(op, &[sizes, filters, dy], attrs)?)
}

fn conv_filter_grad(cx: &mut Cx<'_, '_, '_>) -> Items {
    let (x, sizes, dy) = (cx.x(0)?, cx.x(1)?, cx.x(2)?);
    let rank = cx.rank(0)?;
    let op = match rank {
        4 => "Conv2DBackpropFilter",
        5 => "Conv3DBackpropFilterV2",
        _ => return refused("the gradient of a convolution of sequences"),
    };
    let due = cx.out(0).shape().dims().and_then(|dims| dims[dims.len() - 2].known());
    let own = cx.ty(0).shape().dims().and_then(|dims| dims.last()?.known());
    if due.is_none() || due != own {
        return refused("groups of channels");
    }
    let (sizes, attrs) = (cx.cast(&sizes, D::I32)?, window(cx, rank, true)?);
    one(cx.node(op, &[x, sizes, dy], attrs)?)
}

fn pool(cx: &mut Cx<'_, '_, '_>, x: Edge, ops: &[&str; 2]) -> Items {
    let rank = cx.rank(0)?;
    let x = images(cx, x, rank, 1)?;
    let attrs = window(cx, rank, false)?;
    let y = cx.node(if rank == 5 { ops[1] } else { ops[0] }, &[x], attrs)?;
    sequences(cx, y, rank)
}

fn max_pool_grad(cx: &mut Cx<'_, '_, '_>) -> Items {
    if cx.rank(0)? != 4 {
        return refused("the gradient of pooling over other than two dimensions");
    }
    let (x, grad) = (cx.x(0)?, cx.x(1)?);
    let attrs = window(cx, 4, false)?;
    let y = cx.node("MaxPool", from_ref(&x), attrs.clone())?;
    one(cx.node("MaxPoolGrad", &[x, y, grad], attrs)?)
}
