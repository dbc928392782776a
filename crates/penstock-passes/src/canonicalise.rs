//! Algebraic rules.
//!
//! A rule may only give what every run would have given, bit for bit: with NaN, signed zeros and wrapping integers.

use penstock_data::{DType, Dim, Result, Shape, Tensor, with_dtype};
use penstock_ir::{Attr, Attrs, Graph, Inst, InstData, OpDef, OpRef, Region, Rows, Type, Value};
use penstock_ops::array::{FILL, IDENTITY, RANK, SHAPE, SIZE};
use penstock_ops::binary::{ADD, ADD_N, DIV, MUL, SUB};
use penstock_ops::cast::CAST;
use penstock_ops::control::CONST;
use penstock_ops::reduce::{REDUCE_SUM, SUM_TO_SHAPE, summed};
use penstock_ops::shape_ops::{BROADCAST_TO, RESHAPE, TRANSPOSE, permutation};
use penstock_ops::slicing::{SLICE, STRIDED_SLICE};
use penstock_ops::unary::{CONJ, INVERT, LOGICAL_NOT, NEG};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::Cx;
use crate::edit::{inherit_name, make_constant, regions, unlisted};
use crate::known::sizes;

/// What becomes of an instruction of one result.
enum Rewrite {
    /// The result is this value.
    Value(Value),
    /// The result is this constant.
    Constant(Tensor),
    /// The operands are these.
    Operands(SmallVec<[Value; 3]>),
    /// The result has the elements of the first operand, in their order.
    Reshape,
    /// The result is what another operator makes of the first operand.
    Of(&'static OpDef, Attrs),
}

use Rewrite::{Constant, Of, Operands, Reshape};

type Rule = fn(&Graph, &InstData) -> Option<Rewrite>;

/// `(operator, rule, what it does)`, tried in order.
static RULES: &[(&OpDef, Rule, &str)] = &[
    (&IDENTITY, |g, i| same(g, i, 0), "identity(x) = x"),
    (&CAST, |g, i| same(g, i, 0), "cast to the dtype it has"),
    (&ADD_N, |g, i| (i.operands.len() == 1).then(|| same(g, i, 0)).flatten(), "the sum of one"),
    (&ADD, |g, i| neutral(g, i, true, zero_to_add), "x + 0 of integers, x + -0.0"),
    (&SUB, |g, i| neutral(g, i, false, |t| splat(t, 0, Sign::Positive)), "x - 0"),
    (&MUL, |g, i| neutral(g, i, true, |t| splat(t, 1, Sign::Positive)), "x * 1"),
    (&DIV, |g, i| neutral(g, i, false, |t| splat(t, 1, Sign::Positive)), "x / 1"),
    (&NEG, |g, i| involution(g, i), "-(-x) = x"),
    (&LOGICAL_NOT, |g, i| involution(g, i), "not not x = x"),
    (&INVERT, |g, i| involution(g, i), "~~x = x"),
    (&CONJ, |g, i| involution(g, i), "conj(conj(x)) = x"),
    (&SHAPE, known_sizes, "the shape of a value whose shape is known"),
    (&SIZE, known_sizes, "the size of a value whose shape is known"),
    (&RANK, known_sizes, "the rank of a value whose rank is known"),
    (&RESHAPE, |g, i| exactly_same(g, i), "reshape to the shape it has"),
    (&RESHAPE, through, "reshape of a reshape"),
    (&BROADCAST_TO, |g, i| exactly_same(g, i), "broadcast to the shape it has"),
    (&SUM_TO_SHAPE, |g, i| exactly_same(g, i), "the sum to the shape it has"),
    (&SUM_TO_SHAPE, sum_over_axes, "the sum to a known shape"),
    (&TRANSPOSE, transposed_back, "transpose of a transpose"),
    (&STRIDED_SLICE, whole, "a slice of everything, with other dimensions of size 1"),
    (&SLICE, whole, "a slice of everything"),
];

/// Applies the rules until none does.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
    for region in regions(graph) {
        // Constants, and where they are listed.
        let mut made: FxHashMap<usize, Inst> = FxHashMap::default();
        for i in 0..graph.regions[region].insts.len() {
            let inst = graph.regions[region].insts[i];
            for v in &mut graph.insts[inst].operands {
                while let Some(&new) = replaced.get(v) {
                    *v = new;
                }
            }
            // Each rewrite leaves less to rewrite; the bound is for rules that would undo each other.
            for _ in 0..8 {
                let Some(rewrite) = rewrite(graph, inst) else { break };
                if !cx.spend() {
                    break;
                }
                match rewrite {
                    Rewrite::Value(new) => {
                        let old = graph.insts[inst].results[0];
                        inherit_name(graph, old, new);
                        replaced.insert(old, new);
                        break;
                    }
                    Constant(value) => {
                        make_constant(graph, inst, value);
                        break;
                    }
                    Operands(operands) => graph.insts[inst].operands = operands,
                    Reshape => {
                        made.insert(i, make_reshape(graph, region, inst));
                    }
                    Of(op, attrs) => {
                        let data = &mut graph.insts[inst];
                        data.operands.truncate(1);
                        (data.op, data.attrs) = (OpRef(op), attrs);
                    }
                }
            }
        }
        if !made.is_empty() {
            let insts = std::mem::take(&mut graph.regions[region].insts).into_iter().enumerate();
            graph.regions[region].insts =
                insts.flat_map(|(i, inst)| made.get(&i).copied().into_iter().chain([inst])).collect();
        }
    }
    graph.replace_uses(&replaced);
    Ok(())
}

/// Makes an instruction a `reshape` of its first operand; gives the constant with the extents, for the caller to list.
fn make_reshape(graph: &mut Graph, region: Region, inst: Inst) -> Inst {
    let to = graph.ty(graph.insts[inst].results[0]).shape().extents().unwrap_or_default();
    let dims = Tensor::vector(&to.iter().map(|&d| d as i64).collect::<Vec<_>>());
    let (ty, loc) = (Type::of(&dims), graph.locs[inst]);
    let (constant, value) = unlisted(graph, region, &CONST, &[], Attrs(smallvec![Attr::Tensor(dims)]), ty, loc);
    let data = &mut graph.insts[inst];
    data.operands = smallvec![data.operands[0], value];
    (data.op, data.attrs) = (OpRef(&RESHAPE), Attrs::EMPTY);
    constant
}

fn rewrite(graph: &Graph, inst: Inst) -> Option<Rewrite> {
    let data = &graph.insts[inst];
    if data.results.len() != 1 {
        return None;
    }
    let own = RULES.iter().filter(|(op, ..)| data.op.is(op)).find_map(|(_, rule, _)| rule(graph, data));
    own.or_else(|| unspread(graph, data))
}

/// `f(broadcast_to(x, s), y)` is `f(x, y)` where `f` broadcasts by itself, to the same shape.
fn unspread(graph: &Graph, data: &InstData) -> Option<Rewrite> {
    let to = graph.ty(data.results[0]).shape();
    if !data.op.broadcasts() || data.operands.len() < 2 || to.dims().is_none_or(|dims| dims.contains(&Dim::Unknown)) {
        return None;
    }
    (0..data.operands.len()).find_map(|k| {
        let inner = &graph.insts[graph.def_inst(data.operands[k])?];
        let x = match inner.op.0 {
            op if op.is(&BROADCAST_TO) => inner.operands[0],
            op if op.is(&FILL) => inner.operands[1],
            _ => return None,
        };
        let shapes = data.operands.iter().enumerate().map(|(i, &v)| graph.ty(if i == k { x } else { v }).shape());
        let shape = shapes.into_iter().try_fold(Shape::scalar(), |all, shape| all.broadcast(shape))?;
        let mut operands = data.operands.clone();
        operands[k] = x;
        (shape == *to).then_some(Operands(operands))
    })
}

/// Operand `index`, where nothing is known of the result that is not known of it.
fn same(graph: &Graph, data: &InstData, index: usize) -> Option<Rewrite> {
    let (x, result) = (data.operands[index], data.results[0]);
    (graph.ty(x).is_subtype_of(graph.ty(result)) && !graph.ty(x).is_variable()).then_some(Rewrite::Value(x))
}

/// The first operand, where its shape is surely that of the result.
fn exactly_same(graph: &Graph, data: &InstData) -> Option<Rewrite> {
    let x = data.operands[0];
    equal_types(graph.ty(x), graph.ty(data.results[0])).then_some(Rewrite::Value(x))
}

/// Whether all tensors of the two types have the same shape in one run.
fn equal_types(a: &Type, b: &Type) -> bool {
    a == b && a.shape().dims().is_some_and(|dims| !dims.contains(&Dim::Unknown))
}

/// `x`, where the other operand is a constant that changes nothing and does not widen the shape.
fn neutral(graph: &Graph, data: &InstData, commutes: bool, is: fn(&Tensor) -> bool) -> Option<Rewrite> {
    let sides: &[(usize, usize)] = if commutes { &[(0, 1), (1, 0)] } else { &[(0, 1)] };
    sides.iter().find_map(|&(x, k)| {
        let (x, constant) = (data.operands[x], graph.constant(data.operands[k])?);
        let (from, to) = (graph.ty(x), graph.ty(data.results[0]));
        let keeps_shape = equal_types(from, to) || (constant.rank() == 0 && from.is_subtype_of(to));
        (keeps_shape && from.dtype() == to.dtype() && is(constant)).then_some(Rewrite::Value(x))
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Positive,
    Negative,
}

/// Whether every element is `n`, with the sign that zero has.
fn splat(tensor: &Tensor, n: u8, sign: Sign) -> bool {
    const MOST: usize = 1024;
    if tensor.is_empty() || tensor.len() > MOST {
        return false;
    }
    let n = f64::from(n);
    let wanted = if sign == Sign::Negative { -n } else { n };
    match tensor.dtype() {
        DType::F32 => tensor.as_slice::<f32>().iter().all(|v| f64::from(*v).to_bits() == wanted.to_bits()),
        DType::F64 => tensor.as_slice::<f64>().iter().all(|v| v.to_bits() == wanted.to_bits()),
        #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "the element type is a macro parameter")]
        dtype => with_dtype!(integer, dtype, T => tensor.as_slice::<T>().iter().all(|&v| v as f64 == n), else false),
    }
}

/// What can be added to anything without a change: 0 to integers, but -0.0 to floats, as -0.0 + 0.0 is 0.0.
fn zero_to_add(tensor: &Tensor) -> bool {
    splat(tensor, 0, if tensor.dtype().is_float() { Sign::Negative } else { Sign::Positive })
}

/// `f(f(x))` is `x`.
fn involution(graph: &Graph, data: &InstData) -> Option<Rewrite> {
    let inner = &graph.insts[graph.def_inst(data.operands[0])?];
    let x = *inner.operands.first()?;
    (inner.op == data.op && graph.ty(x).is_subtype_of(graph.ty(data.results[0]))).then_some(Rewrite::Value(x))
}

/// `f(f(x, _), s)` is `f(x, s)`: only the outer `s` counts.
fn through(graph: &Graph, data: &InstData) -> Option<Rewrite> {
    let inner = &graph.insts[graph.def_inst(data.operands[0])?];
    if inner.op != data.op {
        return None;
    }
    let mut operands = data.operands.clone();
    operands[0] = *inner.operands.first()?;
    Some(Operands(operands))
}

fn known_sizes(graph: &Graph, data: &InstData) -> Option<Rewrite> {
    sizes(data.op.0, &data.attrs, graph.ty(data.operands[0])).map(Constant)
}

/// A sum over dimensions that stay, with size 1, or over leading ones that go.
fn sum_over_axes(graph: &Graph, data: &InstData) -> Option<Rewrite> {
    graph.constant(data.operands[1])?;
    let (from, to) = (graph.ty(data.operands[0]).shape().extents()?, graph.ty(data.results[0]).shape().extents()?);
    let (marked, lead) = (summed(&from, &to), from.len() - to.len());
    if lead > 0 && marked[lead..].contains(&true) {
        return None;
    }
    let axes: SmallVec<[i64; 4]> = (0..from.len()).filter(|&i| marked[i]).map(|i| i as i64).collect();
    let attrs = REDUCE_SUM.attributes(&[("axes", axes[..].into()), ("keepdims", (lead == 0).into())]).ok()?;
    Some(Of(&REDUCE_SUM, attrs))
}

/// A slice by constants that takes all elements in their order: of dimensions, at most some of size 1 come and go.
fn whole(graph: &Graph, data: &InstData) -> Option<Rewrite> {
    let dims = graph.ty(data.operands[0]).shape().extents()?;
    graph.ty(data.results[0]).shape().extents()?;
    let constants: SmallVec<[&Tensor; 3]> =
        data.operands[1..].iter().map(|&v| graph.constant(v)).collect::<Option<_>>()?;
    let Rows::Box(box_of) = data.op.rows else { return None };
    let cuts = box_of(&dims, &constants, &data.attrs)?;
    let all = cuts.iter().zip(&dims).all(|(&(_, step, count), &n)| count == n && (step == 1 || n <= 1));
    all.then_some(Reshape)
}

/// Two permutations in a row are one; none where the second undoes the first.
fn transposed_back(graph: &Graph, data: &InstData) -> Option<Rewrite> {
    let perm_of =
        |data: &InstData| permutation(data.attrs.opt_ints(0), graph.ty(data.operands[0]).shape().rank()?).ok();
    let outer = perm_of(data)?;
    if outer.iter().enumerate().all(|(i, &p)| p == i) {
        return same(graph, data, 0);
    }
    let inner = &graph.insts[graph.def_inst(data.operands[0])?];
    if inner.op != data.op {
        return None;
    }
    let first = perm_of(inner)?;
    let undone = outer.iter().enumerate().all(|(i, &p)| first.get(p) == Some(&i));
    let x = *inner.operands.first()?;
    (undone && graph.ty(x).is_subtype_of(graph.ty(data.results[0]))).then_some(Rewrite::Value(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_told_apart_by_sign() {
        assert!(zero_to_add(&Tensor::from(0i32)) && zero_to_add(&Tensor::from(-0.0f32)));
        assert!(!zero_to_add(&Tensor::from(0.0f32)) && !zero_to_add(&Tensor::from(1i32)));
        assert!(splat(&Tensor::vector(&[1.0f64, 1.0]), 1, Sign::Positive));
        assert!(!splat(&Tensor::vector(&[1.0f64, 2.0]), 1, Sign::Positive));
        assert!(!splat(&Tensor::vector::<i32>(&[]), 0, Sign::Positive));
    }
}
