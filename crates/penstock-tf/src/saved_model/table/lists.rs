//! Lists of tensors, which are what `tf.TensorArray` is in a graph.

use penstock_data::{DType as D, Result, Tensor};
use penstock_ir::Attr;

use super::{Cx, Entry, From::*, made, made_many, one, op};

const ELEMENT: (&str, super::From) = ("dtype", DType("element_dtype", D::F32));

pub(super) static OPS: &[Entry] = &[
    made("TensorListReserve", |cx, _| {
        let (shape, length) = (element_shape(cx, 0)?, cx.tensor(1)?);
        let dtype = cx.dtype("element_dtype", D::F32)?;
        one(cx.op("list_new", &[length], &[("dtype", dtype.into()), ("shape", shape)])?)
    }),
    made("EmptyTensorList", |cx, _| {
        let shape = element_shape(cx, 0)?;
        let dtype = cx.dtype("element_dtype", D::F32)?;
        let none = cx.constant(Tensor::from(0i64));
        one(cx.op("list_new", &[none], &[("dtype", dtype.into()), ("shape", shape)])?)
    }),
    made("TensorListFromTensor", |cx, _| {
        let tensor = cx.tensor(0)?;
        one(cx.op("list_from_tensor", &[tensor], &[])?)
    }),
    made("TensorListLength", |cx, _| {
        let list = cx.tensor(0)?;
        one(cx.op("list_length", &[list], &[("dtype", D::I32.into())])?)
    }),
    op("TensorListGetItem", "list_get", &[ELEMENT]),
    op("TensorListGather", "list_get", &[ELEMENT]),
    made("TensorListSetItem", |cx, _| {
        let (list, index, value) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let grow = cx.flag("resize_if_index_out_of_bounds", false)?;
        one(cx.op("list_set", &[list, index, value], &[("grow", grow.into())])?)
    }),
    made("TensorListScatterIntoExistingList", |cx, _| {
        let (list, values, indices) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        one(cx.op("list_set", &[list, indices, values], &[("grow", true.into())])?)
    }),
    made("TensorListScatterV2", |cx, _| {
        let (values, indices, shape, count) = (cx.tensor(0)?, cx.tensor(1)?, element_shape(cx, 2)?, cx.tensor(3)?);
        let zero = cx.constant(Tensor::from(0i32));
        let count = cx.op("maximum", &[count, zero], &[])?;
        let dtype = cx.dtype_of(values);
        let list = cx.op("list_new", &[count], &[("dtype", dtype.into()), ("shape", shape)])?;
        one(cx.op("list_set", &[list, indices, values], &[("grow", true.into())])?)
    }),
    op("TensorListPushBack", "list_push", &[]),
    Entry { outputs: &["output_handle", "tensor"], ..op("TensorListPopBack", "list_pop", &[ELEMENT]) },
    op("TensorListResize", "list_resize", &[]),
    made("TensorListStack", |cx, _| {
        let (list, shape) = (cx.tensor(0)?, cx.tensor(1)?);
        let dtype = cx.dtype("element_dtype", D::F32)?;
        let num = match cx.int("num_elements", -1)? {
            -1 => Attr::None,
            n => n.into(),
        };
        one(cx.op("list_stack", &[list, shape], &[("dtype", dtype.into()), ("num", num)])?)
    }),
    made_many("TensorListConcatV2", &["tensor", "lengths"], |cx, _| {
        let (list, shape) = (cx.tensor(0)?, cx.tensor(1)?);
        let dtype = cx.dtype("element_dtype", D::F32)?;
        let lengths = cx.op("list_lengths", &[list, shape], &[])?;
        let tensor = cx.op("list_concat", &[list, lengths, shape], &[("dtype", dtype.into())])?;
        super::tensors(vec![tensor, lengths])
    }),
    made("TensorListSplit", |cx, _| {
        let (tensor, lengths) = (cx.tensor(0)?, cx.tensor(2)?);
        one(cx.op("list_split", &[tensor, lengths], &[])?)
    }),
];

/// The shape of elements that an input says, where that is a constant.
fn element_shape(cx: &Cx<'_, '_, '_, '_>, index: usize) -> Result<Attr> {
    let value = cx.tensor(index)?;
    Ok(match cx.lowering.known(value) {
        Some(tensor) if tensor.rank() == 1 => {
            let dims = tensor.to_ints()?;
            let dim = |&d: &i64| usize::try_from(d).map_or(penstock_data::Dim::Unknown, penstock_data::Dim::Known);
            penstock_data::Shape::new(dims.iter().map(dim)).into()
        }
        _ => Attr::None,
    })
}
