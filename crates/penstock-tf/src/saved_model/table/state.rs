//! Variables.

use penstock_data::{DType as D, Result};
use penstock_ir::Attr;

use super::{Cx, Entry, Val, made, one};

pub(super) static OPS: &[Entry] = &[
    made("ReadVariableOp", |cx, _| {
        let variable = cx.variable(0)?;
        one(cx.op("read_variable", &[variable], &[])?)
    }),
    made("AssignVariableOp", |cx, _| assign(cx, "assign")),
    made("AssignAddVariableOp", |cx, _| assign(cx, "assign_add")),
    made("AssignSubVariableOp", |cx, _| assign(cx, "assign_sub")),
    made("ResourceCountUpTo", |cx, _| {
        let (variable, limit) = (cx.variable(0)?, cx.int("limit", 0)?);
        one(cx.op("count_up_to", &[variable], &[("limit", limit.into())])?)
    }),
    made("DisableCopyOnRead", |_, _| Ok(Vec::new())),
    made("VariableShape", |cx, _| {
        let (variable, dtype) = (cx.variable(0)?, cx.dtype("out_type", D::I32)?);
        let value = cx.op("read_variable", &[variable], &[])?;
        one(cx.op("shape", &[value], &[("dtype", dtype.into())])?)
    }),
    made("VarIsInitializedOp", |cx, _| {
        let yes = cx.constant(penstock_data::Tensor::from(true));
        one(yes)
    }),
    made("ResourceGather", |cx, _| {
        let (variable, indices) = (cx.variable(0)?, cx.tensor(1)?);
        let value = cx.op("read_variable", &[variable], &[])?;
        let batch = cx.int("batch_dims", 0)?;
        one(cx.op("gather", &[value, indices], &[("axis", batch.into()), ("batch_dims", batch.into())])?)
    }),
    made("ResourceGatherNd", |cx, _| {
        let (variable, indices) = (cx.variable(0)?, cx.tensor(1)?);
        let value = cx.op("read_variable", &[variable], &[])?;
        one(cx.op("gather_nd", &[value, indices], &[])?)
    }),
    made("ResourceScatterUpdate", |cx, _| scatter(cx, "update", true)),
    made("ResourceScatterAdd", |cx, _| scatter(cx, "add", true)),
    made("ResourceScatterSub", |cx, _| scatter(cx, "sub", true)),
    made("ResourceScatterNdUpdate", |cx, _| scatter(cx, "update", false)),
    made("ResourceScatterNdAdd", |cx, _| scatter(cx, "add", false)),
    made("ResourceScatterNdSub", |cx, _| scatter(cx, "sub", false)),
];

fn assign(cx: &mut Cx<'_, '_, '_, '_>, op: &str) -> Result<Vec<Val>> {
    let (variable, value) = (cx.variable(0)?, cx.tensor(1)?);
    cx.ops(op, &[variable, value], &[])?;
    Ok(Vec::new())
}

/// Writes rows; an index of rows is made one of elements by another axis.
fn scatter(cx: &mut Cx<'_, '_, '_, '_>, mode: &str, rows: bool) -> Result<Vec<Val>> {
    let (variable, mut indices, updates) = (cx.variable(0)?, cx.tensor(1)?, cx.tensor(2)?);
    if rows {
        indices = cx.op("expand_dims", &[indices], &[("axis", (-1i64).into())])?;
    }
    cx.ops("scatter_variable", &[variable, indices, updates], &[("mode", Attr::from(mode))])?;
    Ok(Vec::new())
}
