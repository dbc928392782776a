//! Comparisons of magnitudes of complex numbers with constants become comparisons of their squares, so that nobody takes a root.
//!
//! Squares, roots and conversions are monotone as they are rounded, so for each bound there is a least sum of squares whose root is
//! not below it. Neither overflow of a square nor underflow matters, as bounds are far from where that happens.

use penstock_data::{DType, Result, Tensor};
use penstock_ir::{Attr, Attrs, Graph, Inst, OpDef, OpRef, Region, Type, Value};
use penstock_ops::binary::ADD;
use penstock_ops::cast::CAST;
use penstock_ops::compare::{GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, LOGICAL_OR};
use penstock_ops::control::CONST;
use penstock_ops::unary::{ABS, IMAG, IS_INF, REAL, SQUARE};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

use crate::Cx;
use crate::edit::{regions, unlisted};
use crate::uses::Uses;

/// The most bounds of one comparison.
const MOST: usize = 1024;
/// The least and the greatest bound.
const LEAST: f64 = 1e-130;
const GREATEST: f64 = 1e140;

/// A comparison with the magnitude of `z`.
struct Compared {
    z: Value,
    /// Whether it holds below the bounds.
    below: bool,
    /// Sums of squares that are the least of those above, or equal to, the bounds.
    bounds: Tensor,
}

pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut some = false;
    graph.visit(&mut |_, _, data| some |= data.op.is(&ABS) && graph.ty(data.operands[0]).dtype().is_complex());
    if !some {
        return Ok(());
    }
    let uses = Uses::of(graph);
    // Where something else needs the magnitude, there is a root to take anyway.
    let compares = |user: &Option<Inst>| user.is_some_and(|user| comparison(graph, user).is_some());
    let alone = |(compared, magnitude)| uses.users(magnitude).iter().all(compares).then_some(compared);
    let mut found: Vec<(Region, Inst, Compared)> = Vec::new();
    for region in regions(graph) {
        let insts = &graph.regions[region].insts;
        found.extend(insts.iter().filter_map(|&i| Some((region, i, alone(comparison(graph, i)?)?))));
    }
    let mut before: FxHashMap<Inst, Vec<Inst>> = FxHashMap::default();
    let mut changed: FxHashSet<Region> = FxHashSet::default();
    for (region, inst, compared) in found {
        if !cx.spend() {
            break;
        }
        before.insert(inst, rewrite(graph, region, inst, compared)?);
        changed.insert(region);
    }
    for region in changed {
        let insts = std::mem::take(&mut graph.regions[region].insts);
        let listed = insts.into_iter().flat_map(|i| before.remove(&i).unwrap_or_default().into_iter().chain([i]));
        graph.regions[region].insts = listed.collect();
    }
    Ok(())
}

/// A comparison of a magnitude with constants, and the magnitude.
fn comparison(graph: &Graph, inst: Inst) -> Option<(Compared, Value)> {
    let data = &graph.insts[inst];
    // Whether it holds below, and for the bound itself, of operands in this order.
    let orders = [
        (&LESS, (true, false)),
        (&LESS_EQUAL, (true, true)),
        (&GREATER, (false, false)),
        (&GREATER_EQUAL, (false, true)),
    ];
    let (below, at) = orders.into_iter().find(|(op, _)| data.op.is(op))?.1;
    let (side, magnitude) = (0..2).find_map(|side| {
        let made = &graph.insts[graph.def_inst(data.operands[side])?];
        (made.op.is(&ABS)).then_some((side, made))
    })?;
    let z = magnitude.operands[0];
    let dtype = graph.ty(z).dtype();
    let constant = graph.constant(data.operands[1 - side])?;
    if !dtype.is_complex() || constant.is_empty() || constant.len() > MOST {
        return None;
    }
    let below = below == (side == 0);
    // Below a bound that counts itself is below the next number.
    let beyond = below == at;
    let bound = |&bound: &f64| {
        let root = |sum: f64| if dtype == DType::C64 { f64::from(sum.sqrt() as f32) } else { sum.sqrt() };
        let above = |sum: f64| if beyond { root(sum) > bound } else { root(sum) >= bound };
        (LEAST..=GREATEST).contains(&bound).then(|| least(above))
    };
    let bounds: Vec<f64> = match constant.dtype() {
        DType::F32 => constant.as_slice::<f32>().iter().map(|&b| bound(&f64::from(b))).collect::<Option<_>>()?,
        DType::F64 => constant.as_slice::<f64>().iter().map(bound).collect::<Option<_>>()?,
        _ => return None,
    };
    let bounds = Tensor::from_slice(constant.dims(), &bounds).ok()?;
    Some((Compared { z, below, bounds }, data.operands[side]))
}

/// The least number that is `above`, as all greater ones are.
fn least(above: impl Fn(f64) -> bool) -> f64 {
    // Positive floats are in the order of their bits.
    let (mut low, mut high) = (0, 1e300f64.to_bits());
    while low < high {
        let middle = low.midpoint(high);
        if above(f64::from_bits(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    f64::from_bits(low)
}

/// Makes a comparison one of squares; gives the instructions in front of it.
fn rewrite(graph: &mut Graph, region: Region, inst: Inst, compared: Compared) -> Result<Vec<Inst>> {
    let Compared { z, below, bounds } = compared;
    let (shape, loc) = (graph.ty(z).shape().clone(), graph.locs[inst]);
    let part = graph.ty(z).dtype().real();
    let mut listed = Vec::new();
    let mut emit = |graph: &mut Graph, op: &'static OpDef, operands: &[Value], attrs: Attrs, ty: Type| {
        let (made, value) = unlisted(graph, region, op, operands, attrs, ty, loc);
        listed.push(made);
        value
    };
    let of_parts = |dtype: DType| Type::tensor(dtype, shape.clone());
    let to_f64 = Attrs::build(CAST.attrs, &[("dtype", Attr::DType(DType::F64))])?;
    let ty = Type::of(&bounds);
    let bounds = emit(graph, &CONST, &[], Attrs(smallvec![Attr::Tensor(bounds)]), ty);
    let mut squares = Vec::with_capacity(2);
    let mut infinite = Vec::with_capacity(2);
    for op in [&REAL, &IMAG] {
        let mut x = emit(graph, op, &[z], Attrs::EMPTY, of_parts(part));
        if part != DType::F64 {
            x = emit(graph, &CAST, &[x], to_f64.clone(), of_parts(DType::F64));
        }
        squares.push(emit(graph, &SQUARE, &[x], Attrs::EMPTY, of_parts(DType::F64)));
        if !below {
            infinite.push(emit(graph, &IS_INF, &[x], Attrs::EMPTY, of_parts(DType::Bool)));
        }
    }
    let sum = emit(graph, &ADD, &squares, Attrs::EMPTY, of_parts(DType::F64));
    let (op, operands) = if below {
        (&LESS, smallvec![sum, bounds])
    } else {
        // The magnitude is infinite where a part is, be the other NaN.
        let beyond = emit(graph, &LOGICAL_OR, &infinite, Attrs::EMPTY, of_parts(DType::Bool));
        let result = graph.ty(graph.insts[inst].results[0]).clone();
        let above = emit(graph, &GREATER_EQUAL, &[sum, bounds], Attrs::EMPTY, result);
        (&LOGICAL_OR, smallvec![above, beyond])
    };
    let data = &mut graph.insts[inst];
    (data.op, data.operands) = (OpRef(op), operands);
    Ok(listed)
}
