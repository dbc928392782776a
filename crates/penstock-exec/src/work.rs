//! How long an operator takes, roughly: whether it is worth a thread of its own.

use penstock_data::{Dims, Tensor};
use penstock_ir::{Attrs, CostCx, OpDef, Type};
use smallvec::SmallVec;

/// Operands and results of no more elements than this are no work.
const SMALL: usize = 512;

/// Whether a step is worth a thread of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Weight {
    /// It is over in a microsecond or two; what is not is timed, so that a long run polls in time.
    Brief,
    /// It is not, but it is not heavy.
    Middling,
    /// It is offloaded.
    Heavy,
    /// That depends on sizes which the run will know.
    Unknown,
}

impl Weight {
    /// That of an operator on values of these types, where what takes `heavy` nanoseconds is.
    pub(crate) fn of(op: &OpDef, attrs: &Attrs, ins: &[Type], outs: &[Type], heavy: f64) -> Weight {
        match nanoseconds(op, attrs, ins, outs) {
            None => Weight::Unknown,
            Some(ns) if ns >= heavy => Weight::Heavy,
            Some(_) => Weight::Middling,
        }
    }
}

/// Whether an operator on these tensors is heavy. Results whose sizes only the kernel finds out count as operands do. Host
/// code is not: it runs on the thread that asked for it.
pub(crate) fn is_heavy_on(op: &OpDef, attrs: &Attrs, inputs: &[&Tensor], outs: &[Type], heavy: f64) -> bool {
    let small = inputs.iter().map(|t| t.len()).sum::<usize>() <= SMALL
        && outs.iter().all(|ty| ty.shape().num_elements().is_some_and(|n| n <= SMALL));
    if small || attrs.hosts().next().is_some() {
        return false;
    }
    let ins: SmallVec<[Type; 4]> = inputs.iter().map(|t| Type::of(t)).collect();
    let outs = if outs.iter().all(|ty| ty.shape().is_static()) { outs } else { &ins };
    Weight::of(op, attrs, &ins, outs, heavy) == Weight::Heavy
}

/// Whether a loop is heavy: its elements times the nanoseconds of each reach `heavy`.
#[inline]
pub(crate) fn is_heavy(elements: usize, ns: f64, heavy: f64) -> bool {
    elements as f64 * ns >= heavy
}

/// Estimated nanoseconds of an operator on one thread; `None` where a size is not known.
pub(crate) fn nanoseconds(op: &OpDef, attrs: &Attrs, ins: &[Type], outs: &[Type]) -> Option<f64> {
    let extents = |types: &[Type]| types.iter().map(|t| t.shape().extents()).collect::<Option<Vec<Dims>>>();
    let (dtype, ins, outs) = (ins.first().map(Type::dtype), extents(ins)?, extents(outs)?);
    Some(op.cost.nanoseconds(&CostCx { dtype, ins: &ins, outs: &outs, attrs }))
}

#[cfg(test)]
mod tests {
    use penstock_data::{DType, Shape};
    use penstock_ir::OpSet;
    use penstock_passes::Thresholds;

    use super::*;

    fn weight(name: &str, ins: &[&[usize]], outs: &[&[usize]]) -> Weight {
        let types =
            |list: &[&[usize]]| list.iter().map(|d| Type::tensor(DType::F32, Shape::known(d))).collect::<Vec<_>>();
        let heavy = Thresholds::DEFAULT.heavy_ns;
        Weight::of(penstock_ops::Ops.find(name).unwrap(), &Attrs::EMPTY, &types(ins), &types(outs), heavy)
    }

    #[test]
    fn what_takes_longer_than_its_elements_is_heavy_at_smaller_sizes() {
        let square: &[usize] = &[1000, 1000];
        assert_eq!(weight("add", &[square, square], &[square]), Weight::Middling);
        assert_eq!(weight("matmul", &[square, square], &[square]), Weight::Heavy);
        assert_eq!(weight("singular_values", &[square], &[&[1000]]), Weight::Heavy);
        assert_eq!(weight("sort", &[square], &[square]), Weight::Heavy);
        assert_eq!(weight("conv", &[&[1, 200, 200, 64], &[3, 3, 64, 64]], &[&[1, 200, 200, 64]]), Weight::Heavy);
        assert_eq!(weight("reduce_sum", &[&[30_000_000]], &[&[]]), Weight::Heavy);
        assert_eq!(weight("matmul", &[&[4000, 2], &[2, 100]], &[&[4000, 100]]), Weight::Middling);
        assert_eq!(weight("matmul", &[&[0, 0], &[0, 5]], &[&[0, 5]]), Weight::Middling);
    }

    #[test]
    fn sizes_that_are_not_known_leave_it_open() {
        let op = penstock_ops::Ops.find("neg").unwrap();
        let ty = Type::tensor(DType::F32, Shape::UNRANKED);
        assert_eq!(
            Weight::of(op, &Attrs::EMPTY, std::slice::from_ref(&ty), std::slice::from_ref(&ty), 0.0),
            Weight::Unknown
        );
    }
}
