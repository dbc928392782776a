//! Boxes in images.

use penstock_data::{DType, Error, Result};
use penstock_ir::Value;

use super::Entry;
use crate::cx::{Cx, Outputs, Size, one};

pub(super) const OPS: &[Entry] = &[("NonMaxSuppression", 10, non_max_suppression)];

/// A scalar that may be left out, and may be a vector of one element.
fn number(cx: &mut Cx<'_, '_>, index: usize, dtype: DType, default: f64) -> Result<Value> {
    match cx.opt(index) {
        Some(value) => {
            let value = cx.reshape_known(value, &[])?;
            cx.cast(value, dtype)
        }
        None => cx.scalar(dtype, default),
    }
}

/// Two opposite corners of each box, from its centre and its size, x and width first.
fn corners(cx: &mut Cx<'_, '_>, boxes: Value) -> Result<Value> {
    let part = |cx: &mut Cx<'_, '_>, from: i64| cx.slice(boxes, 2, Size::Known(from), Some(Size::Known(from + 2)));
    let (centres, sizes) = (part(cx, 0)?, part(cx, 2)?);
    let halves = cx.with("mul", sizes, 0.5)?;
    let (low, high) = (cx.bin("sub", centres, halves)?, cx.bin("add", centres, halves)?);
    cx.concat(&[low, high], 2)
}

/// The kept boxes of each class of each image as rows of image, class and box. The classes of an image are to the engine's
/// operator images of their own, with the same boxes.
fn non_max_suppression(cx: &mut Cx<'_, '_>) -> Outputs {
    let (mut boxes, scores) = (cx.x(0)?, cx.x(1)?);
    if cx.rank(boxes)? != 3 || cx.rank(scores)? != 3 {
        return Err(Error::invalid("boxes and scores have three dimensions"));
    }
    let limit = number(cx, 2, DType::I64, 0.0)?;
    let overlap = number(cx, 3, DType::F32, 0.0)?;
    let least = number(cx, 4, DType::F32, f64::NEG_INFINITY)?;
    let sigma = cx.scalar(DType::F32, 0.0)?;
    // Overlaps are the same for (x, y) as for (y, x).
    if cx.flag("center_point_box", false) {
        boxes = corners(cx, boxes)?;
    }
    let (images, classes, count) = (cx.extent(scores, 0)?, cx.extent(scores, 1)?, cx.extent(scores, 2)?);
    let rows = cx.product(&[images, classes])?;
    let boxes = cx.expand(boxes, 1)?;
    let boxes = cx.broadcast(boxes, &[images, classes, count, Size::Known(4)])?;
    let boxes = cx.reshape(boxes, &[rows, count, Size::Known(4)])?;
    let scores = cx.reshape(scores, &[rows, count])?;
    // The limit may be far above the number of boxes, and the result has room for as many.
    let count = cx.size(count);
    let limit = cx.bin("minimum", limit, count)?;
    let kept = cx.ops("non_max_suppression", &[boxes, scores, limit, overlap, least, sigma], &[])?;
    let (indices, counts) = (kept[0], cx.expand(kept[2], 1)?);
    let places = cx.range(Size::Value(limit))?;
    let counts = cx.cast(counts, DType::I64)?;
    let taken = cx.bin("less", places, counts)?;
    let at = cx.un("where_indices", taken)?;
    let found = cx.op("gather_nd", &[indices, at], &[])?;
    let found = cx.cast(found, DType::I64)?;
    let row = cx.slice(at, 1, Size::Known(0), Some(Size::Known(1)))?;
    let row = cx.reshape_known(row, &[-1])?;
    let classes = cx.size(classes);
    let (image, class) = (cx.bin("floordiv", row, classes)?, cx.bin("floormod", row, classes)?);
    one(cx.op("stack", &[image, class, found], &[("axis", 1i64.into())])?)
}
