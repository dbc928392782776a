//! What instructions on small arrays are to machine code, which makes their results where it wants to have them.

use penstock_data::{DType, Dims, Tensor};
use penstock_ir::{Cpu, Cuts, Graph, Inst, Rows};
use penstock_kernels::{LoopFn, Reduce};
use penstock_ops::array::FILL;
use penstock_ops::linalg::MATMUL;
use penstock_ops::reduce::reduction_of;
use penstock_ops::util::normalize_axis;
use smallvec::SmallVec;

/// The most multiplications of a product.
const MAX_PRODUCT: usize = 1 << 18;
/// The most pieces of which an instruction moves its operands.
const MAX_PIECES: usize = 64;

/// Bytes that go from one place of operand `operand` to one of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The operand.
    pub operand: usize,
    /// Bytes from its start.
    pub from: usize,
    /// Bytes from the start of the result.
    pub to: usize,
    /// How many.
    pub bytes: usize,
}

/// What an instruction does with the elements of its operands, all types being known.
#[derive(Clone, Debug)]
pub enum Small {
    /// An elementwise loop.
    Map(LoopFn),
    /// A reduction of the marked dimensions.
    Reduce(Reduce, SmallVec<[bool; 4]>),
    /// A product of matrices of `m` by `k` and `k` by `n`, of which some are stored transposed.
    #[expect(missing_docs, reason = "they are named above")]
    Product { m: usize, k: usize, n: usize, transposed: [bool; 2] },
    /// The elements of its first operand.
    Same,
    /// Its last operand, a scalar, everywhere.
    Fill,
    /// Pieces of its operands, for each result.
    Moves(Vec<Vec<Piece>>),
}

/// What an instruction without regions does, where machine code can have it done: all arrays are of numbers and of known
/// extents other than 0, and the results have up to `most` bytes.
pub fn small(graph: &Graph, inst: Inst, most: usize) -> Option<Small> {
    let data = &graph.insts[inst];
    let is_plain = |&v: &_| {
        let ty = graph.ty(v);
        !ty.is_variable() && ty.dtype() <= DType::F64 && ty.shape().num_elements().is_some_and(|n| n > 0)
    };
    if !data.operands.iter().chain(&data.results).all(is_plain) || data.results.is_empty() {
        return None;
    }
    let bytes = |&v: &_| graph.ty(v).shape().num_elements()?.checked_mul(graph.ty(v).dtype().size());
    let fits = |v| bytes(v).is_some_and(|n| n <= most);
    if !data.results.iter().all(fits) {
        return None;
    }
    let dims = |k: usize| graph.ty(data.operands[k]).shape().extents();
    let op = data.op.0;
    if let Cpu::Elementwise(function) = op.cpu {
        let dtypes: SmallVec<[_; 4]> = data.operands.iter().map(|&v| graph.ty(v).dtype()).collect();
        return (1..=4)
            .contains(&dtypes.len())
            .then(|| function.kernel(&dtypes, graph.ty(data.results[0]).dtype()))
            .flatten()
            .map(Small::Map);
    }
    if let Some((how, marked)) = reduction_of(graph, inst) {
        return fits(&data.operands[0]).then_some(Small::Reduce(how, marked));
    }
    if op.is(&MATMUL) {
        let (&[rows, inner], &[_, columns]) = (&dims(0)?[..], &dims(1)?[..]) else { return None };
        let transposed = [data.attrs.flag(0), data.attrs.flag(1)];
        let (m, k) = if transposed[0] { (inner, rows) } else { (rows, inner) };
        let n = if transposed[1] { dims(1)?[0] } else { columns };
        let work = m.checked_mul(k)?.checked_mul(n)?;
        let adjoint = data.attrs.flag(2) || data.attrs.flag(3);
        return (!adjoint && work <= MAX_PRODUCT).then_some(Small::Product { m, k, n, transposed });
    }
    if matches!(op.rows, Rows::Same) {
        let constant = data.operands[1..].iter().all(|&v| graph.constant(v).is_some());
        return (constant && bytes(&data.operands[0]) == bytes(&data.results[0])).then_some(Small::Same);
    }
    if op.is(&FILL) {
        return (graph.constant(data.operands[0]).is_some() && dims(1)?.is_empty()).then_some(Small::Fill);
    }
    moved(graph, inst).map(Small::Moves)
}

/// The pieces of which an instruction that moves elements makes each of its results.
fn moved(graph: &Graph, inst: Inst) -> Option<Vec<Vec<Piece>>> {
    let data = &graph.insts[inst];
    let op = data.op.0;
    let size = graph.ty(*data.results.first()?).dtype().size();
    let dims = graph.ty(*data.operands.first()?).shape().extents()?;
    let whole: Cuts = dims.iter().map(|&n| (0, 1, n)).collect();
    Some(match op.rows {
        Rows::Box(box_of) => {
            let constants: SmallVec<[&Tensor; 3]> =
                data.operands[1..].iter().map(|&v| graph.constant(v)).collect::<Option<_>>()?;
            vec![pieces(&dims, &box_of(&dims, &constants, &data.attrs)?, size)?]
        }
        Rows::Parted(axis) => {
            let axis = normalize_axis(data.attrs.int(axis), dims.len(), "axis").ok()?;
            let mut from = 0;
            let mut part = |&result: &_| {
                let own = graph.ty(result).shape().extents()?;
                // A result without the dimension is one index.
                let count = if own.len() == dims.len() { own[axis] } else { 1 };
                let mut cuts = whole.clone();
                cuts[axis] = (from, 1, count);
                from += count;
                pieces(&dims, &cuts, size)
            };
            data.results.iter().map(&mut part).collect::<Option<_>>()?
        }
        Rows::Joined(axis) => {
            let result = graph.ty(data.results[0]).shape().extents()?;
            let axis = normalize_axis(data.attrs.int(axis), result.len(), "axis").ok()?;
            let row = result[axis..].iter().product::<usize>() * size;
            let (mut all, mut at) = (Vec::new(), 0);
            for (operand, &v) in data.operands.iter().enumerate() {
                let bytes = graph.ty(v).shape().extents()?[axis..].iter().product::<usize>() * size;
                let rows = result[..axis].iter().product::<usize>();
                if all.len() + rows > MAX_PIECES {
                    return None;
                }
                all.extend((0..rows).map(|r| Piece { operand, from: r * bytes, to: r * row + at, bytes }));
                at += bytes;
            }
            vec![all]
        }
        _ => return None,
    })
}

/// The pieces of a part of an array, in order.
fn pieces(dims: &Dims, cuts: &Cuts, size: usize) -> Option<Vec<Piece>> {
    let count = cuts.iter().map(|c| c.2).product::<usize>();
    // Dimensions that are taken as a whole, behind the last that is not, make one run.
    let whole = |d: usize| cuts[d] == (0, 1, dims[d]);
    let split = (0..dims.len()).rev().find(|&d| !whole(d)).unwrap_or(0);
    let run_of_split = cuts.get(split).is_none_or(|c| c.1 == 1);
    let outer = if run_of_split { split } else { split + 1 };
    let run: usize = cuts[outer..].iter().map(|c| c.2).product();
    if count == 0 {
        return Some(Vec::new());
    }
    if count / run > MAX_PIECES {
        return None;
    }
    let strides: Dims = (0..dims.len()).map(|d| dims[d + 1..].iter().product()).collect();
    let at = |mut index: usize| {
        let mut from = cuts.get(outer).map_or(0, |c| c.0 * strides[outer]);
        for d in (0..outer).rev() {
            let (begin, step, n) = cuts[d];
            from += begin.wrapping_add_signed(step * (index % n) as isize) * strides[d];
            index /= n;
        }
        from
    };
    let piece = |r: usize| Piece { operand: 0, from: at(r) * size, to: r * run * size, bytes: run * size };
    Some((0..count / run).map(piece).collect())
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;

    fn spans(dims: &[usize], cuts: Cuts) -> Option<Vec<(usize, usize)>> {
        pieces(&dims.into(), &cuts, 4).map(|all| all.iter().map(|p| (p.from / 4, p.bytes / 4)).collect())
    }

    #[test]
    fn a_part_of_an_array_is_made_of_runs() {
        assert_eq!(spans(&[4, 3], smallvec![(1, 1, 2), (0, 1, 3)]), Some(vec![(3, 6)]));
        assert_eq!(spans(&[4, 3], smallvec![(0, 1, 2), (1, 1, 2)]), Some(vec![(1, 2), (4, 2)]));
        assert_eq!(spans(&[5], smallvec![(4, -2, 3)]), Some(vec![(4, 1), (2, 1), (0, 1)]));
        assert_eq!(spans(&[2, 2, 2], smallvec![(1, -1, 2), (1, 1, 1), (0, 1, 2)]), Some(vec![(6, 2), (2, 2)]));
        assert_eq!(spans(&[], smallvec![]), Some(vec![(0, 1)]));
        assert_eq!(spans(&[3, 0], smallvec![(0, 1, 3), (0, 1, 0)]), Some(vec![]));
        assert_eq!(spans(&[100, 2], smallvec![(0, 1, 100), (0, 1, 1)]), None);
    }
}
