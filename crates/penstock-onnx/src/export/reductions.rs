//! Reductions and scans along axes.

use penstock_data::{DType, Error, Result, Shape};
use penstock_ir::Type;

use super::arrays::slice;
use super::cx::{Cx, Handler, Items, X, body, inner_port, one};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "reduce_sum" => |cx| reduce(cx, "ReduceSum"),
        "reduce_prod" => |cx| reduce(cx, "ReduceProd"),
        "reduce_max" | "reduce_any" => |cx| reduce(cx, "ReduceMax"),
        "reduce_min" | "reduce_all" => |cx| reduce(cx, "ReduceMin"),
        "reduce_mean" => |cx| reduce(cx, "ReduceMean"),
        "reduce_logsumexp" => |cx| reduce(cx, "ReduceLogSumExp"),
        "count_nonzero" => count_nonzero,
        "sum_to_shape" => sum_to_shape,
        "argmax" => |cx| arg(cx, "ArgMax"),
        "argmin" => |cx| arg(cx, "ArgMin"),
        "cumsum" => cumsum,
        "cumprod" => |cx| scanned(cx, 1.0, |cx, sum, x| cx.math("Mul", &[sum, &x[0]])),
        "cumulative_logsumexp" => |cx| {
            let lowest = match cx.x(0)?.dtype {
                DType::F16 => -65504.0,
                DType::Bf16 => f64::from(-f32::from_bits(0x7f7f_0000)),
                DType::F32 => f64::from(f32::MIN),
                _ => f64::MIN,
            };
            scanned(cx, lowest, |cx, sum, x| {
                let (high, low) = (cx.math("Max", &[sum, &x[0]])?, cx.math("Min", &[sum, &x[0]])?);
                let difference = cx.math("Sub", &[&low, &high])?;
                let log = cx.math("Softplus", &[&difference])?;
                cx.math("Add", &[&high, &log])
            })
        },
        "linear_recurrence" => linear_recurrence,
        _ => return None,
    })
}

fn reduce(cx: &mut Cx<'_, '_>, op: &'static str) -> Items {
    let x = cx.x(0)?;
    let (axes, keepdims) = (cx.attrs().opt_ints(0), cx.attrs().flag(1));
    one(cx.reduce(op, &x, axes, keepdims)?)
}

fn count_nonzero(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    let ones = match x.dtype {
        DType::Bool => x,
        _ => {
            let zero = cx.like(&x, 0.0);
            let equal = cx.test("Equal", &[&x, &zero])?;
            cx.math("Not", &[&equal])?
        }
    };
    let ones = cx.cast(&ones, DType::I64);
    let (axes, keepdims) = (cx.attrs().opt_ints(0), cx.attrs().flag(1));
    one(cx.reduce("ReduceSum", &ones, axes, keepdims)?)
}

/// Sums over the axes that `shape` has not, or has with an extent of 1 where `x` has another.
fn sum_to_shape(cx: &mut Cx<'_, '_>) -> Items {
    let (x, shape) = (cx.x(0)?, cx.x(1)?);
    let shape = cx.index(&shape);
    let rank = x.rank()?;
    let due = shape.shape.num_elements().ok_or_else(|| Error::unimplemented("the rank of the sum is not known"))?;
    let ones = X::ints(&vec![1; rank.saturating_sub(due)]);
    let padded = cx.joined(&[ones, shape.clone()]);
    let have = cx.shape(&x);
    let axes = match (padded.known_ints(), have.known_ints()) {
        (Some(due), Some(have)) => {
            X::ints(&(0..rank as i64).filter(|&i| due[i as usize] != have[i as usize]).collect::<Vec<_>>())
        }
        _ => {
            let equal = cx.test("Equal", &[&padded, &have])?;
            let differs = cx.math("Not", &[&equal])?;
            let found = cx.raw("NonZero", &[&differs], vec![], DType::I64);
            cx.flat(&found)
        }
    };
    let attrs = vec![("keepdims", 1i64.into()), ("noop_with_empty_axes", 1i64.into())];
    let sum = cx.math_with("ReduceSum", &[&x, &axes], 1, attrs)?;
    one(cx.reshape(&sum, &shape))
}

fn arg(cx: &mut Cx<'_, '_>, op: &'static str) -> Items {
    let (x, axis, dtype) = (cx.x(0)?, cx.attrs().int(0), cx.attrs().dtype(1));
    super::cx::working(op, x.dtype)?;
    let at = cx.raw(op, &[&x], vec![("axis", axis.into()), ("keepdims", 0i64.into())], DType::I64);
    one(cx.cast(&at, dtype))
}

fn cumsum(cx: &mut Cx<'_, '_>) -> Items {
    let x = cx.x(0)?;
    let (axis, exclusive, reverse) = (cx.attrs().int(0), cx.attrs().flag(1), cx.attrs().flag(2));
    let attrs = vec![("exclusive", exclusive.into()), ("reverse", reverse.into())];
    one(cx.math_with("CumSum", &[&x, &X::int(axis)], 1, attrs)?)
}

/// A `Scan` along the axis of the instruction: `step` combines what there was with the entries at hand.
fn scanned(cx: &mut Cx<'_, '_>, start: f64, step: Step) -> Items {
    let operands = cx.all()?;
    scan_of(cx, operands, start, step)
}

/// `y[i] = factors[i] * y[i - 1] + terms[i]`, with a first factor of 0 that nothing is multiplied with.
fn linear_recurrence(cx: &mut Cx<'_, '_>) -> Items {
    let (factors, terms) = (cx.x(0)?, cx.x(1)?);
    let (axis, reverse) = (cx.attrs().int(0), cx.attrs().flag(2));
    let (begin, end) = if reverse { (-1, i64::MAX) } else { (0, 1) };
    let (rest_begin, rest_end) = if reverse { (0, -1) } else { (1, i64::MAX) };
    let mut part =
        |begin: i64, end: i64| slice(cx, &factors, &X::ints(&[begin]), &X::ints(&[end]), &[axis], &X::ints(&[1]));
    let (first, rest) = (part(begin, end), part(rest_begin, rest_end));
    let (shape, zero) = (cx.shape(&first), cx.like(&factors, 0.0));
    let first = cx.fill(&shape, &zero);
    let parts = if reverse { [&rest, &first] } else { [&first, &rest] };
    let mut kept = cx.concat(&parts, axis);
    kept.shape = factors.shape.clone();
    scan_of(cx, vec![kept, terms], 0.0, |cx, last, x| {
        let grown = cx.math("Mul", &[&x[0], last])?;
        cx.math("Add", &[&grown, &x[1]])
    })
}

/// What there was and the entries at hand, combined.
type Step = fn(&mut Cx<'_, '_>, &X, &[X]) -> Result<X>;

fn scan_of(cx: &mut Cx<'_, '_>, operands: Vec<X>, start: f64, step: Step) -> Items {
    let (axis, exclusive, reverse) = (cx.attrs().int(0), cx.attrs().flag(1), cx.attrs().flag(2));
    let x = operands[0].clone();
    super::cx::working("Add", x.dtype)?;
    let axis = cx.axis(axis, x.rank()?)?;
    // The first sums are of the shape of an entry.
    let mut shape = Vec::new();
    for other in (0..x.rank()?).filter(|&i| i != axis) {
        shape.push(cx.extent(&x, other));
    }
    let shape = if shape.is_empty() { X::ints(&[]) } else { cx.joined(&shape) };
    let start = cx.like(&x, start);
    let start = cx.fill(&shape, &start);
    let ty = Type::tensor(x.dtype, Shape::UNRANKED);
    let names: Vec<_> = (0..=operands.len()).map(|_| cx.exporter.name("")).collect();
    cx.exporter.open_block();
    let params: Vec<X> = names.iter().map(|name| X::named(name.clone(), &ty)).collect();
    let next = step(cx, &params[0], &params[1..]);
    let kept = next.map(|next| {
        // Two outputs of a graph have two names.
        let row = if exclusive { params[0].clone() } else { next.clone() };
        let next = cx.exporter.node("Identity", &[&next], vec![], ty.clone());
        (next, cx.exporter.node("Identity", &[&row], vec![], ty.clone()))
    });
    let nodes = cx.exporter.close_block();
    let (next, row) = kept?;
    let outputs = [next, row].map(|y| inner_port(cx.exporter.input(&y), &ty)).into();
    let inputs = names.into_iter().map(|name| inner_port(name, &ty)).collect();
    let graph = body(cx.exporter, nodes, inputs, outputs);
    let count = operands.len();
    let attrs = vec![
        ("body", graph),
        ("num_scan_inputs", (count as i64).into()),
        ("scan_input_axes", vec![axis as i64; count].into()),
        ("scan_input_directions", vec![i64::from(reverse); count].into()),
        ("scan_output_axes", vec![axis as i64].into()),
        ("scan_output_directions", vec![i64::from(reverse)].into()),
    ];
    let inputs: Vec<&X> = std::iter::once(&start).chain(&operands).collect();
    let mut out = cx.many("Scan", &inputs, attrs, &[x.dtype, x.dtype]);
    one(out.remove(1))
}
