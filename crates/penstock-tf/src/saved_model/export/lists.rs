//! Lists of tensors.

use penstock_data::{DType as D, Error, Result, Shape};
use penstock_ir::{Attr, InstData};

use super::graph::{Cx, Edge, Items};
use super::message::Value;
use super::ops::{one, refused, several};

pub(super) fn handler(name: &str) -> Option<fn(&mut Cx<'_, '_, '_>) -> Items> {
    Some(match name {
        "list_new" => new,
        "list_from_tensor" => |cx| {
            let x = cx.x(0)?;
            let inner = cx.ty(0).shape().dims().map(|dims| Shape::new(dims[1..].iter().copied()));
            let shape = shape_of(cx, inner.as_ref())?;
            one(cx.node("TensorListFromTensor", &[x, shape], vec![])?)
        },
        "list_length" => |cx| {
            let (x, dtype) = (cx.x(0)?, cx.out(0).dtype());
            let length = cx.node("TensorListLength", &[x], vec![])?;
            one(cx.cast(&length, dtype)?)
        },
        "list_get" => |cx| {
            let (list, index, shape, dtype) = (cx.x(0)?, index(cx)?, cx.x(2)?, cx.out(0).dtype());
            let op = if cx.rank(1)? == 0 { "TensorListGetItem" } else { "TensorListGather" };
            one(cx.node(op, &[list, index, shape], vec![("element_dtype", dtype.into())])?)
        },
        "list_set" => |cx| {
            let (list, index, values, grow) = (cx.x(0)?, index(cx)?, cx.x(2)?, cx.data.attrs.flag(0));
            if cx.rank(1)? == 0 {
                let attrs = vec![("resize_if_index_out_of_bounds", grow.into())];
                return one(cx.node("TensorListSetItem", &[list, index, values], attrs)?);
            }
            one(cx.node("TensorListScatterIntoExistingList", &[list, values, index], vec![])?)
        },
        "list_push" => |cx| {
            let inputs = cx.all()?;
            one(cx.node("TensorListPushBack", &inputs, vec![])?)
        },
        "list_pop" => |cx| {
            let (inputs, dtype) = (cx.all()?, cx.data.attrs.dtype(0));
            several(cx.many("TensorListPopBack", &inputs, vec![("element_dtype", dtype.into())])?)
        },
        "list_resize" => |cx| {
            let (list, length) = (cx.x(0)?, cx.x(1)?);
            let length = cx.cast(&length, D::I32)?;
            one(cx.node("TensorListResize", &[list, length], vec![])?)
        },
        "list_stack" => |cx| {
            let (list, shape, dtype) = (cx.x(0)?, cx.x(1)?, cx.data.attrs.dtype(0));
            let count = cx.data.attrs.opt_int(1).unwrap_or(-1);
            let attrs = vec![("element_dtype", dtype.into()), ("num_elements", count.into())];
            one(cx.node("TensorListStack", &[list, shape], attrs)?)
        },
        "list_concat" => |cx| {
            let (shape, dtype) = (cx.x(2)?, cx.data.attrs.dtype(0));
            one(concat(cx, shape, dtype)?[0].clone())
        },
        "list_lengths" => |cx| {
            let (shape, dtype) = (cx.x(1)?, dtype(cx)?);
            one(concat(cx, shape, dtype)?[1].clone())
        },
        "list_split" => |cx| {
            let (x, lengths) = (cx.x(0)?, cx.x(1)?);
            let (shape, lengths) = (shape_of(cx, None)?, cx.cast(&lengths, D::I64)?);
            one(cx.node("TensorListSplit", &[x, shape, lengths], vec![])?)
        },
        _ => return None,
    })
}

fn index(cx: &mut Cx<'_, '_, '_>) -> Result<Edge> {
    let index = cx.x(1)?;
    cx.cast(&index, D::I32)
}

/// A shape with -1 for what is not known.
fn shape_of(cx: &mut Cx<'_, '_, '_>, shape: Option<&Shape>) -> Result<Edge> {
    match shape.and_then(Shape::dims) {
        None => cx.int(-1),
        Some(dims) => {
            let sizes: Vec<i64> = dims.iter().map(|dim| dim.known().map_or(-1, |n| n as i64)).collect();
            cx.ints(&sizes)
        }
    }
}

fn concat(cx: &mut Cx<'_, '_, '_>, shape: Edge, dtype: D) -> Result<Vec<Edge>> {
    let (list, none) = (cx.x(0)?, cx.constant(&penstock_data::Tensor::vector::<i64>(&[]))?);
    cx.many("TensorListConcatV2", &[list, shape, none], vec![("element_dtype", dtype.into())])
}

/// The dtype that elements of lists have in the graph: TensorFlow asks for it where a list begins.
fn dtype(cx: &Cx<'_, '_, '_>) -> Result<D> {
    let graph = cx.frame.graph;
    let mut found: Vec<D> = Vec::new();
    let mut note = |data: &InstData| {
        let dtype = match data.op.name {
            "list_set" | "list_push" => data.operands.last().map(|&v| graph.ty(v).dtype()),
            "list_get" | "list_pop" | "list_stack" | "list_concat" => data.attrs.0.iter().find_map(|attr| match attr {
                Attr::DType(dtype) => Some(*dtype),
                _ => None,
            }),
            _ => None,
        };
        found.extend(dtype.filter(|d| !found.contains(d)).into_iter().collect::<Vec<_>>());
    };
    graph.visit(&mut |_, _, data| note(data));
    match found[..] {
        [dtype] => Ok(dtype),
        _ => refused("the dtype of its elements is not known"),
    }
}

fn new(cx: &mut Cx<'_, '_, '_>) -> Items {
    let dtype = match cx.data.attrs.opt_dtype(0) {
        Some(dtype) => dtype,
        None => dtype(cx)?,
    };
    let shape = match &cx.data.attrs.0[1] {
        Attr::Shape(shape) => Some(shape.clone()),
        Attr::None => None,
        _ => return Err(Error::internal("the shape of elements is no shape")),
    };
    let shape = shape_of(cx, shape.as_ref())?;
    let attrs = vec![("element_dtype", Value::Type(dtype))];
    if cx.known(0).is_some_and(|t| t.to_ints().is_ok_and(|n| *n == [0])) {
        let most = cx.int(-1)?;
        return one(cx.node("EmptyTensorList", &[shape, most], attrs)?);
    }
    let length = cx.x(0)?;
    let length = cx.cast(&length, D::I32)?;
    one(cx.node("TensorListReserve", &[shape, length], attrs)?)
}
