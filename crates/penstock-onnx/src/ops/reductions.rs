//! Reductions, running reductions, order, and matrix products.

use penstock_data::{DType, Error, Result};
use penstock_ir::Value;

use super::Entry;
use crate::cx::{Cx, Outputs, Size, one};

pub(super) const OPS: &[Entry] = &[
    ("ArgMax", 1, arg_extreme),
    ("ArgMin", 1, arg_extreme),
    ("CumProd", 26, cumulative),
    ("CumSum", 11, cumulative),
    ("Det", 11, det),
    ("Einsum", 12, einsum),
    ("Gemm", 1, gemm),
    ("Hardmax", 1, hardmax),
    ("LogSoftmax", 1, softmax),
    ("MatMul", 1, matmul),
    ("ReduceL1", 1, reduce),
    ("ReduceL2", 1, reduce),
    ("ReduceLogSum", 1, reduce),
    ("ReduceLogSumExp", 1, reduce),
    ("ReduceMax", 1, reduce),
    ("ReduceMean", 1, reduce),
    ("ReduceMin", 1, reduce),
    ("ReduceProd", 1, reduce),
    ("ReduceSum", 1, reduce),
    ("ReduceSumSquare", 1, reduce),
    ("Softmax", 1, softmax),
    ("TopK", 1, top_k),
];

fn reduce(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let axes = cx.ints_at(1, "axes")?.unwrap_or_default();
    let keepdims = cx.flag("keepdims", true);
    if axes.is_empty() && cx.flag("noop_with_empty_axes", false) {
        return one(per_element(cx, x)?);
    }
    let rank = cx.rank(x)?;
    let axes: Vec<usize> = match axes.is_empty() {
        true => (0..rank).collect(),
        false => axes.iter().map(|&a| cx.axis(a, rank)).collect::<Result<_>>()?,
    };
    let bool_extreme = cx.dtype(x) == DType::Bool;
    let y = match cx.node.op {
        "ReduceMax" if bool_extreme => cx.reduce("reduce_any", x, &axes, keepdims)?,
        "ReduceMin" if bool_extreme => cx.reduce("reduce_all", x, &axes, keepdims)?,
        "ReduceMax" => cx.reduce("reduce_max", x, &axes, keepdims)?,
        "ReduceMin" => cx.reduce("reduce_min", x, &axes, keepdims)?,
        "ReduceMean" => cx.reduce("reduce_mean", x, &axes, keepdims)?,
        "ReduceProd" => cx.reduce("reduce_prod", x, &axes, keepdims)?,
        "ReduceLogSumExp" if cx.dtype(x).is_float() => cx.reduce("reduce_logsumexp", x, &axes, keepdims)?,
        name => {
            let terms = match name {
                "ReduceL1" => cx.un("abs", x)?,
                "ReduceL2" | "ReduceSumSquare" => cx.un("square", x)?,
                "ReduceLogSumExp" => cx.un("exp", x)?,
                _ => x,
            };
            let sum = cx.reduce("reduce_sum", terms, &axes, keepdims)?;
            match name {
                "ReduceL2" => rounded(cx, "sqrt", sum)?,
                "ReduceLogSum" | "ReduceLogSumExp" => rounded(cx, "log", sum)?,
                _ => sum,
            }
        }
    };
    one(y)
}

/// What a reduction over no axes makes of each element.
fn per_element(cx: &mut Cx<'_, '_>, x: Value) -> Result<Value> {
    match cx.node.op {
        "ReduceL1" | "ReduceL2" => cx.un("abs", x),
        "ReduceSumSquare" => cx.un("square", x),
        "ReduceLogSum" => rounded(cx, "log", x),
        _ => Ok(x),
    }
}

/// A function of floats, of integers too: the result is cut off.
fn rounded(cx: &mut Cx<'_, '_>, name: &str, x: Value) -> Result<Value> {
    let dtype = cx.dtype(x);
    let float = if dtype.is_float() { x } else { cx.cast(x, DType::F64)? };
    let y = cx.un(name, float)?;
    cx.cast(y, dtype)
}

fn arg_extreme(cx: &mut Cx<'_, '_>) -> Outputs {
    let mut x = cx.x(0)?;
    let rank = cx.rank(x)?;
    let axis = cx.axis(cx.int("axis", 0), rank)?;
    let name = if cx.node.op == "ArgMax" { "argmax" } else { "argmin" };
    let last = cx.flag("select_last_index", false);
    if last {
        x = cx.op("reverse", &[x], &[("axes", vec![axis as i64].into())])?;
    }
    let mut y = cx.op(name, &[x], &[("axis", (axis as i64).into()), ("dtype", DType::I64.into())])?;
    if last {
        let extent = cx.extent(x, axis)?;
        let extent = cx.size(extent);
        let end = cx.with("sub", extent, 1.0)?;
        y = cx.bin("sub", end, y)?;
    }
    one(if cx.flag("keepdims", true) { cx.expand(y, axis as i64)? } else { y })
}

fn cumulative(cx: &mut Cx<'_, '_>) -> Outputs {
    let (x, axis) = (cx.x(0)?, cx.x(1)?);
    let axis = *cx.known_ints(axis)?.first().ok_or_else(|| Error::invalid("there is no axis"))?;
    let name = if cx.node.op == "CumSum" { "cumsum" } else { "cumprod" };
    let (exclusive, reverse) = (cx.flag("exclusive", false), cx.flag("reverse", false));
    one(cx.op(name, &[x], &[("axis", axis.into()), ("exclusive", exclusive.into()), ("reverse", reverse.into())])?)
}

fn top_k(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let rank = cx.rank(x)?;
    let axis = cx.axis(cx.int("axis", -1), rank)?;
    let k = match cx.opt(1) {
        Some(k) => cx.pick(k, 0)?,
        None => cx.i64(cx.int("k", 0)),
    };
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(axis, rank - 1);
    let mut last = cx.transpose(x, &perm)?;
    let largest = cx.flag("largest", true);
    let dtype = cx.dtype(x);
    // The least are the greatest of what is in the opposite order: complements, as the least integer has no negative.
    let opposite = if dtype.is_integer() { "invert" } else { "neg" };
    if !largest {
        last = cx.un(opposite, last)?;
    }
    let found = cx.ops("top_k", &[last, k], &[("dtype", DType::I64.into())])?;
    let mut values = found[0];
    if !largest {
        values = cx.un(opposite, values)?;
    }
    Ok(vec![cx.transpose(values, &perm)?.into(), cx.transpose(found[1], &perm)?.into()])
}

/// Along one axis from version 13 on; before, over all from `axis` on at once.
fn softmax(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let name = if cx.node.op == "Softmax" { "softmax" } else { "log_softmax" };
    one(along_axis(cx, x, |cx, x, axis| cx.op(name, &[x], &[("axis", axis.into())]))?)
}

fn along_axis(
    cx: &mut Cx<'_, '_>,
    x: Value,
    apply: impl FnOnce(&mut Cx<'_, '_>, Value, i64) -> Result<Value>,
) -> Result<Value> {
    if cx.version >= 13 {
        let axis = cx.int("axis", -1);
        return apply(cx, x, axis);
    }
    let rank = cx.rank(x)?;
    let axis = cx.int("axis", 1);
    let axis = if axis == rank as i64 { rank } else { cx.axis(axis, rank)? };
    let sizes = cx.sizes(x)?;
    let rows = cx.product(&sizes[..axis])?;
    let columns = cx.product(&sizes[axis..])?;
    let flat = cx.reshape(x, &[rows, columns])?;
    let y = apply(cx, flat, 1)?;
    cx.reshape(y, &sizes)
}

fn hardmax(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    let y = along_axis(cx, x, |cx, x, axis| {
        let best = cx.op("argmax", &[x], &[("axis", axis.into()), ("dtype", DType::I64.into())])?;
        let rank = cx.rank(x)?;
        let axis = cx.axis(axis, rank)?;
        let depth = cx.extent(x, axis)?;
        let (depth, on, off) = (cx.size(depth), cx.like(x, 1.0)?, cx.like(x, 0.0)?);
        let at = if axis + 1 == rank { -1 } else { axis as i64 };
        cx.op("one_hot", &[best, depth, on, off], &[("axis", at.into())])
    })?;
    one(y)
}

/// NumPy's product: vectors are rows and columns.
pub(super) fn product(cx: &mut Cx<'_, '_>, a: Value, b: Value) -> Result<Value> {
    let (rows, columns) = (cx.rank(a)? == 1, cx.rank(b)? == 1);
    let a = if rows { cx.expand(a, 0)? } else { a };
    let b = if columns { cx.expand(b, -1)? } else { b };
    let mut y = cx.bin("matmul", a, b)?;
    if rows {
        y = cx.op("squeeze", &[y], &[("axes", vec![-2].into())])?;
    }
    if columns {
        y = cx.op("squeeze", &[y], &[("axes", vec![-1].into())])?;
    }
    Ok(y)
}

fn matmul(cx: &mut Cx<'_, '_>) -> Outputs {
    let (a, b) = (cx.x(0)?, cx.x(1)?);
    one(product(cx, a, b)?)
}

fn gemm(cx: &mut Cx<'_, '_>) -> Outputs {
    let (a, b) = (cx.x(0)?, cx.x(1)?);
    let (ta, tb) = (cx.flag("transA", false), cx.flag("transB", false));
    let mut y = cx.op("matmul", &[a, b], &[("transpose_a", ta.into()), ("transpose_b", tb.into())])?;
    let (alpha, beta) = (cx.float("alpha", 1.0), cx.float("beta", 1.0));
    if alpha != 1.0 {
        y = cx.with("mul", y, alpha)?;
    }
    if let Some(mut c) = cx.opt(2) {
        if beta != 1.0 {
            c = cx.with("mul", c, beta)?;
        }
        y = cx.bin("add", y, c)?;
    }
    one(y)
}

fn det(cx: &mut Cx<'_, '_>) -> Outputs {
    let x = cx.x(0)?;
    one(cx.un("matrix_determinant", x)?)
}

/// Sums of products: each operand is brought to the order of all labels, one product after the other is summed over the
/// labels that nothing after it has.
fn einsum(cx: &mut Cx<'_, '_>) -> Outputs {
    let equation: String = cx.text("equation", "")?.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let operands = cx.all()?;
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != operands.len() {
        return Err(Error::invalid(format!("the equation has {} terms for {} operands", terms.len(), operands.len())));
    }
    // Dimensions under an ellipsis are labelled from the last: '\u{1}' is the last of them.
    let mut hidden = 0;
    for (term, &x) in terms.iter().zip(&operands) {
        if term.contains("...") {
            let named = term.len() - 3;
            let rank = cx.rank(x)?;
            hidden = hidden.max(rank.checked_sub(named).ok_or_else(|| Error::invalid("a term has too many labels"))?);
        }
    }
    let ellipsis = |count: usize| (1..=count as u32).rev().filter_map(char::from_u32).collect::<String>();
    let mut labels = Vec::new();
    for (term, &x) in terms.iter().zip(&operands) {
        let count = if term.contains("...") { cx.rank(x)? + 3 - term.len() } else { 0 };
        let full: Vec<char> = term.replace("...", &ellipsis(count)).chars().collect();
        if full.len() != cx.rank(x)? {
            return Err(Error::invalid(format!("the term '{term}' does not fit an operand of rank {}", cx.rank(x)?)));
        }
        labels.push(full);
    }
    let result: Vec<char> = match right {
        Some(right) => right.replace("...", &ellipsis(hidden)).chars().collect(),
        None => {
            let all: Vec<char> = labels.iter().flatten().copied().collect();
            let mut once: Vec<char> =
                all.iter().copied().filter(|c| *c as u32 > 32 && all.iter().filter(|d| *d == c).count() == 1).collect();
            once.sort_unstable();
            ellipsis(hidden).chars().chain(once).collect()
        }
    };
    let mut operands: Vec<(Value, Vec<char>)> = operands.into_iter().zip(labels).collect();
    for (x, term) in &mut operands {
        diagonals(cx, x, term)?;
    }
    let (mut total, mut have) = operands.remove(0);
    loop {
        let later: Vec<char> = operands.iter().flat_map(|(_, l)| l).chain(&result).copied().collect();
        let spent: Vec<usize> = (0..have.len()).filter(|&i| !later.contains(&have[i])).collect();
        if !spent.is_empty() {
            total = cx.reduce("reduce_sum", total, &spent, false)?;
            have.retain(|c| later.contains(c));
        }
        if operands.is_empty() {
            break;
        }
        let (next, term) = operands.remove(0);
        let later: Vec<char> = operands.iter().flat_map(|(_, l)| l).chain(&result).copied().collect();
        (total, have) = contract(cx, (total, have), (next, term), &later)?;
    }
    let perm: Option<Vec<usize>> = result.iter().map(|c| have.iter().position(|d| d == c)).collect();
    let perm = perm.ok_or_else(|| Error::invalid("the result has a label that no operand has"))?;
    if perm.len() != have.len() {
        return Err(Error::invalid("the result has a label twice"));
    }
    one(cx.transpose(total, &perm)?)
}

/// Takes the diagonal where a label stands twice in a term.
fn diagonals(cx: &mut Cx<'_, '_>, x: &mut Value, term: &mut Vec<char>) -> Result<()> {
    while let Some(second) = (0..term.len()).find(|&i| term[..i].contains(&term[i])) {
        let label = term[second];
        let first = term.iter().position(|c| *c == label).unwrap_or(0);
        let mut perm: Vec<usize> = (0..term.len()).filter(|&i| i != first && i != second).collect();
        perm.extend([first, second]);
        let moved = cx.transpose(*x, &perm)?;
        *x = cx.un("matrix_diag_part", moved)?;
        *term = perm[..perm.len() - 1].iter().map(|&i| term[i]).collect();
    }
    Ok(())
}

/// The product of two terms, summed over the labels that both have and nothing later: a matrix product.
fn contract(
    cx: &mut Cx<'_, '_>,
    (a, la): (Value, Vec<char>),
    (b, lb): (Value, Vec<char>),
    later: &[char],
) -> Result<(Value, Vec<char>)> {
    let shared: Vec<char> = la.iter().copied().filter(|c| lb.contains(c)).collect();
    let (batch, summed): (Vec<char>, Vec<char>) = shared.iter().copied().partition(|c| later.contains(c));
    let only = |l: &[char], other: &[char]| l.iter().copied().filter(|c| !other.contains(c)).collect::<Vec<_>>();
    let (rows, columns) = (only(&la, &lb), only(&lb, &la));
    let order = |l: &[char], groups: [&[char]; 3]| -> Vec<usize> {
        groups.concat().iter().filter_map(|c| l.iter().position(|d| d == c)).collect()
    };
    let a = cx.transpose(a, &order(&la, [&batch, &rows, &summed]))?;
    let b = cx.transpose(b, &order(&lb, [&batch, &summed, &columns]))?;
    let (sa, sb) = (cx.sizes(a)?, cx.sizes(b)?);
    let (n, m, k) = (batch.len(), rows.len(), summed.len());
    // One-sized batch dimensions of either operand are repeated by the product.
    let flat = |cx: &mut Cx<'_, '_>, sizes: &[Size]| cx.product(sizes);
    let mut left = sa[..n].to_vec();
    left.extend([flat(cx, &sa[n..n + m])?, flat(cx, &sa[n + m..])?]);
    let mut right = sb[..n].to_vec();
    right.extend([flat(cx, &sb[n..n + k])?, flat(cx, &sb[n + k..])?]);
    let (left, right) = (cx.reshape(a, &left)?, cx.reshape(b, &right)?);
    let y = cx.bin("matmul", left, right)?;
    let mut sizes: Vec<Size> = (0..n).map(|i| cx.extent(y, i)).collect::<Result<_>>()?;
    sizes.extend_from_slice(&sa[n..n + m]);
    sizes.extend_from_slice(&sb[n + k..]);
    let y = cx.reshape(y, &sizes)?;
    Ok((y, [batch, rows, columns].concat()))
}
