//! Texts, and random numbers.

use penstock_data::{DType, Error, Tensor};

use super::Entry;
use crate::cx::{Cx, Outputs, Size, one};

pub(super) const OPS: &[Entry] = &[
    ("Bernoulli", 15, bernoulli),
    ("RandomNormal", 1, random),
    ("RandomNormalLike", 1, random),
    ("RandomUniform", 1, random),
    ("RandomUniformLike", 1, random),
    ("RegexFullMatch", 20, regex_full_match),
    ("StringConcat", 20, string_concat),
    ("StringNormalizer", 10, string_normalizer),
    ("StringSplit", 20, string_split),
];

fn string_concat(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, y) = (cx.x(0)?, cx.x(1)?);
    one(cx.bin("string_add", x, y)?)
}

fn regex_full_match(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let pattern = cx.text("pattern", "")?;
    one(cx.op("regex_full_match", &[x], &[("pattern", pattern.into())])?)
}

/// The pieces of each text along a new dimension, empty texts behind those of the shorter rows, and how many there are.
fn string_split(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let delimiter = cx.text("delimiter", "")?;
    let most = cx.int("maxsplit", -1);
    let mut sizes = cx.sizes(x)?;
    let flat = cx.reshape_known(x, &[-1])?;
    let split = cx.ops("string_split", &[flat], &[("sep", delimiter.into()), ("maxsplit", most.into())])?;
    let (pieces, splits) = (split[0], split[1]);
    let begins = cx.slice(splits, 0, Size::Known(0), Some(Size::Known(-1)))?;
    let ends = cx.slice(splits, 0, Size::Known(1), None)?;
    let counts = cx.bin("sub", ends, begins)?;
    // At least 0, which is the width where there are no rows.
    let zero = cx.i64s(&[0]);
    let all = cx.concat(&[counts, zero], 0)?;
    let width = Size::Value(cx.reduce("reduce_max", all, &[0], false)?);
    let columns = cx.range(width)?;
    let (firsts, limits) = (cx.expand(begins, 1)?, cx.expand(counts, 1)?);
    let (places, taken) = (cx.bin("add", firsts, columns)?, cx.bin("less", columns, limits)?);
    // Behind the pieces stands the empty text.
    let behind = cx.extent(pieces, 0)?;
    let behind = cx.size(behind);
    let empty = cx.constant(Tensor::from_strings(&[1], vec![Vec::new().into()])?);
    let pieces = cx.concat(&[pieces, empty], 0)?;
    let places = cx.select(taken, places, behind)?;
    let rows = cx.op("gather", &[pieces, places], &[("axis", 0i64.into())])?;
    let counts = cx.reshape(counts, &sizes)?;
    sizes.push(width);
    Ok(vec![cx.reshape(rows, &sizes)?.into(), counts.into()])
}

/// Drops stop words, and changes the case. Where nothing is left there is one empty text.
fn string_normalizer(cx: &mut Cx<'_, '_>) -> Outputs {
    let mut x = cx.x(0)?;
    let case = match cx.text("case_change_action", "NONE")? {
        "LOWER" => Some("string_lower"),
        "UPPER" => Some("string_upper"),
        _ => None,
    };
    let words: Vec<penstock_data::Bytes> = match cx.texts("stopwords") {
        Some(list) => list.iter().map(|&s| s.into()).collect(),
        None => Vec::new(),
    };
    if !words.is_empty() {
        let rank = cx.rank(x)?;
        let axis = rank.checked_sub(1).ok_or_else(|| Error::invalid("the operand is a scalar"))?;
        let sensitive = cx.flag("is_case_sensitive", false);
        let fold = [("encoding", "utf-8".into())];
        let words = cx.constant(Tensor::from_strings(&[words.len()], words)?);
        let row = cx.reshape_known(x, &[-1])?;
        let (row, words) = match sensitive {
            true => (row, words),
            false => (cx.op("string_lower", &[row], &fold)?, cx.op("string_lower", &[words], &fold)?),
        };
        let row = cx.expand(row, 1)?;
        let same = cx.bin("string_equal", row, words)?;
        let stops = cx.reduce("reduce_any", same, &[1], false)?;
        let keeps = cx.un("logical_not", stops)?;
        let at = cx.un("where_indices", keeps)?;
        let at = cx.op("squeeze", &[at], &[("axes", vec![1].into())])?;
        let kept = cx.op("gather", &[x, at], &[("axis", (axis as i64).into())])?;
        // One empty text more where there is none.
        let left = cx.extent(at, 0)?;
        let left = cx.size(left);
        let zero = cx.i64(0);
        let none = cx.bin("equal", left, zero)?;
        let more = cx.cast(none, DType::I64)?;
        let mut paddings = vec![zero; 2 * rank];
        paddings[2 * axis + 1] = more;
        let paddings = cx.op("stack", &paddings, &[])?;
        let paddings = cx.reshape_known(paddings, &[rank as i64, 2])?;
        let empty = cx.constant(Tensor::from(""));
        x = cx.op("pad", &[kept, paddings, empty], &[])?;
    }
    one(match case {
        Some(name) => cx.op(name, &[x], &[("encoding", "utf-8".into())])?,
        None => x,
    })
}

/// Each run draws anew; with a seed the numbers are the same in each.
fn random(cx: &mut Cx<'_, '_>) -> Outputs {
    let (shape, like) = match cx.opt(0) {
        Some(x) => (cx.shape(x)?, Some(cx.dtype(x)).filter(|d| d.is_float())),
        None => {
            let shape = cx.ints("shape").unwrap_or_default();
            (cx.i64s(&shape), None)
        }
    };
    let dtype = cx.dtype_attr("dtype")?.or(like).unwrap_or(DType::F32);
    let normal = cx.node.op.starts_with("RandomNormal");
    let name = if normal { "normal" } else { "uniform" };
    let drawn = match cx.opt_float("seed") {
        Some(seed) => {
            let seed = cx.i64s(&[i64::from((seed as f32).to_bits()), 0]);
            cx.op(&format!("stateless_random_{name}"), &[shape, seed], &[("dtype", dtype.into())])?
        }
        None => cx.op(&format!("random_{name}"), &[shape], &[("dtype", dtype.into())])?,
    };
    let (scale, offset) = match normal {
        true => (cx.float("scale", 1.0), cx.float("mean", 0.0)),
        false => (cx.float("high", 1.0) - cx.float("low", 0.0), cx.float("low", 0.0)),
    };
    let y = cx.with("mul", drawn, scale)?;
    one(cx.with("add", y, offset)?)
}

fn bernoulli(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let dtype = cx.dtype_attr("dtype")?.unwrap_or(cx.dtype(x));
    let shape = cx.shape(x)?;
    let drawn = cx.op("random_uniform", &[shape], &[("dtype", cx.dtype(x).into())])?;
    let y = cx.bin("less", drawn, x)?;
    one(cx.cast(y, dtype)?)
}
