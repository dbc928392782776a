//! Counts of numbers, and runs of texts.

use penstock_data::{DType as D, Error, Result, Tensor};
use penstock_ir::Value;

use super::{Cx, Entry, Val, made, made_many, one, refused, tensors};

pub(super) static OPS: &[Entry] = &[
    made("Bincount", dense),
    made("DenseBincount", dense),
    made("RaggedBincount", ragged),
    made_many("StringNGrams", &["ngrams", "ngrams_splits"], runs),
];

fn cast(cx: &mut Cx<'_, '_, '_, '_>, value: Value, dtype: D) -> Result<Value> {
    cx.op("cast", &[value], &[("dtype", dtype.into())])
}

fn number(cx: &mut Cx<'_, '_, '_, '_>, value: i64) -> Value {
    cx.constant(Tensor::from(value))
}

/// The numbers from 0 to `count`.
fn range(cx: &mut Cx<'_, '_, '_, '_>, count: Value) -> Result<Value> {
    let (zero, step) = (number(cx, 0), number(cx, 1));
    cx.op("range", &[zero, count, step], &[])
}

fn size(cx: &mut Cx<'_, '_, '_, '_>, value: Value) -> Result<Value> {
    cx.op("size", &[value], &[("dtype", D::I64.into())])
}

/// In one vector, or in each row of a matrix.
fn dense(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let x = cx.tensor(0)?;
    let x = cast(cx, x, D::I64)?;
    let flat = cx.ints(&[-1]);
    let values = cx.op("reshape", &[x, flat], &[])?;
    if cx.rank(x)? < 2 {
        return counted(cx, values, None, 1);
    }
    let shape = cx.op("shape", &[x], &[("dtype", D::I64.into())])?;
    let zero = number(cx, 0);
    let height = cx.op("gather", &[shape, zero], &[])?;
    let rows = range(cx, height)?;
    let rows = cx.op("expand_dims", &[rows], &[("axis", 1i64.into())])?;
    let zeros = cx.op("zeros_like", &[x], &[])?;
    let rows = cx.op("add", &[zeros, rows], &[])?;
    let rows = cx.op("reshape", &[rows, flat], &[])?;
    counted(cx, values, Some((rows, height)), 1)
}

/// In rows of different lengths.
fn ragged(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (splits, values) = (cx.tensor(0)?, cx.tensor(1)?);
    let (splits, values) = (cast(cx, splits, D::I64)?, cast(cx, values, D::I64)?);
    let (length, count) = (size(cx, splits)?, size(cx, values)?);
    let one_ = number(cx, 1);
    let height = cx.op("sub", &[length, one_], &[])?;
    let all = range(cx, count)?;
    let found = cx.op("searchsorted", &[splits, all], &[("right", true.into()), ("dtype", D::I64.into())])?;
    let rows = cx.op("sub", &[found, one_], &[])?;
    counted(cx, values, Some((rows, height)), 2)
}

/// How often each number below a size occurs, or the sum of its weights: in all elements, or in each row where there are `rows`.
/// `sizes` is the number of the input that is the size; the weights are the next input.
fn counted(cx: &mut Cx<'_, '_, '_, '_>, values: Value, rows: Option<(Value, Value)>, sizes: usize) -> Result<Vec<Val>> {
    let (width, weights) = (cx.tensor(sizes)?, cx.tensor(sizes + 1)?);
    let (dtype, binary) = (cx.dtype_of(weights), cx.flag("binary_output", false)?);
    let width = cast(cx, width, D::I64)?;
    let inside = cx.op("less", &[values, width], &[])?;
    let (mut places, mut total) = (values, width);
    if let Some((rows, height)) = rows {
        let starts = cx.op("mul", &[rows, width], &[])?;
        places = cx.op("add", &[starts, values], &[])?;
        total = cx.op("mul", &[height, width], &[])?;
    }
    let nowhere = number(cx, -1);
    let places = cx.op("select", &[inside, places, nowhere], &[])?;
    let data = if binary || cx.shape(weights).num_elements() == Some(0) {
        let ones = cx.op("ones_like", &[values], &[])?;
        cast(cx, ones, dtype)?
    } else {
        let flat = cx.ints(&[-1]);
        cx.op("reshape", &[weights, flat], &[])?
    };
    let mut sums = cx.op("unsorted_segment_sum", &[data, places, total], &[])?;
    if binary {
        let most = cx.scalar(1.0, dtype)?;
        sums = cx.op("minimum", &[sums, most], &[])?;
    }
    if let Some((_, height)) = rows {
        let dims = cx.op("stack", &[height, width], &[])?;
        sums = cx.op("reshape", &[sums, dims], &[])?;
    }
    one(sums)
}

/// Neighbours in rows of texts, joined.
fn runs(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (texts, splits) = (cx.tensor(0)?, cx.tensor(1)?);
    let (widths, separator) = (cx.list("ngram_widths")?, cx.text("separator", "")?.to_owned());
    if cx.flag("preserve_short_sequences", false)? {
        return refused("runs of texts where short rows stay whole");
    }
    if cx.int("pad_width", 0)? != 0 && widths.iter().any(|&n| n != 1) {
        return refused("runs of texts with padding");
    }
    let dtype = cx.dtype_of(splits);
    let splits = cast(cx, splits, D::I64)?;
    let (length, one_, none) = (size(cx, splits)?, number(cx, 1), number(cx, 0));
    let height = cx.op("sub", &[length, one_], &[])?;
    let height = cx.op("expand_dims", &[height], &[("axis", 0i64.into())])?;
    let (first, second) = (cx.ints(&[0]), cx.ints(&[1]));
    let starts = cx.op("slice", &[splits, first, height], &[])?;
    let ends = cx.op("slice", &[splits, second, height], &[])?;
    let lengths = cx.op("sub", &[ends, starts], &[])?;
    let (mut joined, mut rows, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for &width in &widths {
        let less = number(cx, width.saturating_sub(1));
        let count = cx.op("sub", &[lengths, less], &[])?;
        let count = cx.op("maximum", &[count, none], &[])?;
        let bounds = cx.op("cumsum", &[count], &[])?;
        let total = cx.op("reduce_sum", &[count], &[])?;
        let all = range(cx, total)?;
        let row = cx.op("searchsorted", &[bounds, all], &[("right", true.into()), ("dtype", D::I64.into())])?;
        let before = cx.op("cumsum", &[count], &[("exclusive", true.into())])?;
        let shift = cx.op("sub", &[starts, before], &[])?;
        let shift = cx.op("gather", &[shift, row], &[])?;
        let at = cx.op("add", &[all, shift], &[])?;
        let mut parts = Vec::new();
        for k in 0..width.clamp(0, MOST_JOINED) {
            let k = number(cx, k);
            let place = cx.op("add", &[at, k], &[])?;
            parts.push(cx.op("gather", &[texts, place], &[])?);
        }
        joined.push(match parts[..] {
            [] => return refused("runs of no texts"),
            _ if width > MOST_JOINED => return refused(format!("runs of more than {MOST_JOINED} texts")),
            [only] => only,
            _ => cx.op("string_join", &parts, &[("separator", (&*separator).into())])?,
        });
        rows.push(row);
        counts.push(count);
    }
    let (Some(&(mut made)), Some(&(mut total))) = (joined.first(), counts.first()) else {
        return Err(Error::invalid("there are no widths of runs"));
    };
    if joined.len() > 1 {
        let all = cx.op("concat", &joined, &[("axis", 0i64.into())])?;
        let rows = cx.op("concat", &rows, &[("axis", 0i64.into())])?;
        // The runs of one row stay in their order.
        let order = cx.op("argsort", &[rows], &[])?;
        made = cx.op("gather", &[all, order], &[])?;
        for &count in &counts[1..] {
            total = cx.op("add", &[total, count], &[])?;
        }
    }
    let ends = cx.op("cumsum", &[total], &[])?;
    let bounds = cx.op("concat", &[first, ends], &[("axis", 0i64.into())])?;
    let bounds = cast(cx, bounds, dtype)?;
    tensors(vec![made, bounds])
}

/// The most texts of a run.
const MOST_JOINED: i64 = 64;
