//! What is known of the integers of a region: the intervals that they lie in, by abstract interpretation.
//!
//! A walk computes the interval of each scalar from those of its operands. A variable of a loop has all values that
//! any walk so far has found for it, and a bound that moves goes to the dtype's limit at once, but that a lower one stops at 0 first;
//! walks are repeated until nothing moves, then a few times more to take back what was given away, which one variable after the other
//! may need. So the time is linear in the size of a region, however deep its loops.

use penstock_data::DType;
use penstock_ir::ElementFn;
use penstock_kernels::{Binary, Unary};
use smallvec::SmallVec;

use crate::source::{Block, Id, Node, Source};

/// Walks before every loop variable is given up.
const WALKS: usize = 12;

/// The least and the greatest value that an integer or boolean can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) low: i128,
    pub(crate) high: i128,
}

impl Range {
    fn exactly(value: i128) -> Range {
        Range { low: value, high: value }
    }

    /// All values of a dtype; for one that is neither an integer nor boolean, of no meaning.
    pub(crate) fn of(dtype: DType) -> Range {
        let bits = 8 * dtype.size().clamp(1, 8) as u32;
        match dtype {
            DType::Bool => Range { low: 0, high: 1 },
            d if d.is_unsigned() => Range { low: 0, high: (1 << bits) - 1 },
            _ => Range { low: -(1 << (bits - 1)), high: (1 << (bits - 1)) - 1 },
        }
    }

    /// The values from `least` on, of which there are some.
    pub(crate) fn from(self, least: i128) -> Range {
        Range { low: self.low.max(least), ..self }
    }

    pub(crate) fn contains(self, value: i128) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn within(self, other: Range) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    fn join(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The values of both; where there are none, no run comes here, and anything is true.
    fn meet(self, other: Range) -> Range {
        let both = Range { low: self.low.max(other.low), high: self.high.min(other.high) };
        if both.low <= both.high { both } else { self }
    }

    /// The interval of a function that is monotone in each of its two arguments, from its values at the corners.
    fn corners(self, other: Range, f: impl Fn(i128, i128) -> i128) -> Range {
        let ends = [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
        let ends = ends.map(|(a, b)| f(a, b));
        Range { low: ends.into_iter().fold(i128::MAX, i128::min), high: ends.into_iter().fold(i128::MIN, i128::max) }
    }
}

/// The intervals of the operands of the operators of a region.
pub(crate) struct Ranges {
    operands: Vec<[Range; 2]>,
}

impl Ranges {
    /// Computes them.
    pub(crate) fn of(source: &Source) -> Ranges {
        let mut walk = Walk {
            source,
            definitions: source.definitions(),
            now: source.dtypes.iter().map(|&d| Range::of(d)).collect(),
            variables: vec![None; source.dtypes.len()],
            narrowed: Vec::new(),
            mode: Mode::Widen,
            moved: false,
            operands: vec![[Range::of(DType::I64); 2]; source.origin_count()],
        };
        for k in 0.. {
            walk.mode = if k < WALKS { Mode::Widen } else { Mode::GiveUp };
            walk.moved = false;
            walk.block(&source.body);
            if !walk.moved {
                break;
            }
        }
        for mode in [Mode::Narrow, Mode::Narrow, Mode::Narrow, Mode::Keep] {
            walk.mode = mode;
            walk.block(&source.body);
        }
        Ranges { operands: walk.operands }
    }

    /// The interval of one of the first two operands of the operator with this origin.
    pub(crate) fn operand(&self, origin: u32, k: usize) -> Range {
        self.operands[origin as usize][k]
    }
}

/// What becomes of the interval of a loop variable when an iteration gives another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A bound that moves outward goes to the limit.
    Widen,
    /// It can be anything.
    GiveUp,
    /// It is what the first iteration and the others give: less than before, which was enough.
    Narrow,
    /// It stays.
    Keep,
}

struct Walk<'a> {
    source: &'a Source,
    definitions: Vec<Option<&'a Node>>,
    /// The interval of each scalar, here.
    now: Vec<Range>,
    /// Those of loop variables at the start of every iteration.
    variables: Vec<Option<Range>>,
    /// What was known of scalars before a condition told more.
    narrowed: Vec<(Id, Range)>,
    mode: Mode,
    moved: bool,
    operands: Vec<[Range; 2]>,
}

impl Walk<'_> {
    /// Walks a block; gives the intervals of its results.
    fn block(&mut self, block: &Block) -> SmallVec<[Range; 8]> {
        let mark = self.narrowed.len();
        block.nodes.iter().for_each(|node| self.node(node));
        let results = self.list(&block.results);
        self.forget(mark);
        results
    }

    /// Walks a block that runs only where `condition` is `truth`.
    fn arm(&mut self, condition: Id, truth: bool, block: &Block) -> SmallVec<[Range; 8]> {
        let mark = self.narrowed.len();
        self.assume(condition, truth);
        let results = self.block(block);
        self.forget(mark);
        results
    }

    fn list(&self, ids: &[Id]) -> SmallVec<[Range; 8]> {
        ids.iter().map(|&id| self.now[id as usize]).collect()
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Const { out, bits } => {
                if let Some(value) = whole(self.source.dtypes[*out as usize], *bits) {
                    self.now[*out as usize] = Range::exactly(value);
                }
            }
            Node::Op { function, ins, out, origin, .. } => {
                let operands = self.list(ins);
                for (known, &operand) in self.operands[*origin as usize].iter_mut().zip(&operands) {
                    *known = operand;
                }
                let dtypes = [ins[0], *out].map(|id| self.source.dtypes[id as usize]);
                let all = Range::of(dtypes[1]);
                let given = if is_whole(dtypes[0]) && is_whole(dtypes[1]) {
                    result(*function, dtypes, &operands)
                } else {
                    None
                };
                self.now[*out as usize] = given.filter(|r| r.within(all)).unwrap_or(all);
            }
            Node::Element { indices, out, origin, .. } => {
                for (known, &index) in self.operands[*origin as usize].iter_mut().zip(indices) {
                    *known = self.now[index as usize];
                }
                self.now[*out as usize] = Range::of(self.source.dtypes[*out as usize]);
            }
            Node::Store { index, origin, .. } => self.operands[*origin as usize][0] = self.now[*index as usize],
            Node::Work { out, .. } => {
                if let Some(out) = *out {
                    self.now[out as usize] = Range::of(self.source.dtypes[out as usize]);
                }
            }
            Node::If { condition, arms: [yes, no], outs } => {
                let (yes, no) = (self.arm(*condition, true, yes), self.arm(*condition, false, no));
                for (&out, (a, b)) in outs.iter().zip(yes.into_iter().zip(no)) {
                    self.now[out as usize] = a.join(b);
                }
            }
            Node::Switch { arms, outs, .. } => {
                let arms: SmallVec<[_; 4]> = arms.iter().map(|arm| self.block(arm)).collect();
                for (k, &out) in outs.iter().enumerate() {
                    let joined = arms.iter().map(|results| results[k]).reduce(Range::join);
                    self.now[out as usize] = joined.unwrap_or(Range::of(self.source.dtypes[out as usize]));
                }
            }
            Node::Loop { init, variables, condition, body } => self.repeat(init, variables, condition, body),
        }
    }

    fn repeat(&mut self, init: &[Id], variables: &[Id], condition: &Block, body: &Block) {
        let first = self.list(init);
        for (&v, &range) in variables.iter().zip(&first) {
            self.now[v as usize] = self.widened(v, range);
        }
        self.block(condition);
        let next = self.arm(condition.results[0], true, body);
        for (k, &v) in variables.iter().enumerate() {
            if self.mode == Mode::Narrow {
                self.variables[v as usize] = Some(first[k].join(next[k]));
            }
            self.now[v as usize] = self.widened(v, next[k]);
        }
        self.block(condition);
        self.assume(condition.results[0], false);
    }

    /// The interval of a loop variable that was found to have these values too.
    fn widened(&mut self, variable: Id, found: Range) -> Range {
        let all = Range::of(self.source.dtypes[variable as usize]);
        let old = self.variables[variable as usize];
        let new = match (self.mode, old) {
            (Mode::GiveUp, _) => all,
            (_, None) => found,
            (Mode::Widen, Some(old)) => Range {
                low: match found.low {
                    low if low >= old.low => old.low,
                    0.. => 0,
                    _ => all.low,
                },
                high: if found.high > old.high { all.high } else { old.high },
            },
            (Mode::Narrow | Mode::Keep, Some(old)) => old,
        };
        self.moved |= old != Some(new);
        self.variables[variable as usize] = Some(new);
        new
    }

    /// Takes back what conditions told since the mark.
    fn forget(&mut self, mark: usize) {
        for (id, range) in self.narrowed.drain(mark..).rev() {
            self.now[id as usize] = range;
        }
    }

    fn know(&mut self, id: Id, range: Range) {
        self.narrowed.push((id, self.now[id as usize]));
        self.now[id as usize] = self.now[id as usize].meet(range);
    }

    /// Notes what follows from the truth of a boolean.
    fn assume(&mut self, id: Id, truth: bool) {
        use ElementFn as F;
        let Some(Node::Op { function, ins, .. }) = self.definitions[id as usize] else { return };
        match (*function, truth) {
            (F::Unary(Unary::LogicalNot), _) => return self.assume(ins[0], !truth),
            (F::Binary(Binary::LogicalAnd), true) | (F::Binary(Binary::LogicalOr), false) => {
                self.assume(ins[0], truth);
                return self.assume(ins[1], truth);
            }
            _ => {}
        }
        let &[a, b] = &ins[..] else { return };
        if !is_whole(self.source.dtypes[a as usize]) {
            return;
        }
        let (x, y) = (self.now[a as usize], self.now[b as usize]);
        let below = |bound: i128| Range { low: i128::MIN, high: bound };
        let above = |bound: i128| Range { low: bound, high: i128::MAX };
        let (known_a, known_b) = match (*function, truth) {
            (F::Binary(Binary::Less), true) | (F::Binary(Binary::GreaterEqual), false) => {
                (below(y.high - 1), above(x.low + 1))
            }
            (F::Binary(Binary::LessEqual), true) | (F::Binary(Binary::Greater), false) => (below(y.high), above(x.low)),
            (F::Binary(Binary::Greater), true) | (F::Binary(Binary::LessEqual), false) => {
                (above(y.low + 1), below(x.high - 1))
            }
            (F::Binary(Binary::GreaterEqual), true) | (F::Binary(Binary::Less), false) => (above(y.low), below(x.high)),
            (F::Binary(Binary::Equal), true) | (F::Binary(Binary::NotEqual), false) => (y, x),
            (F::Binary(Binary::NotEqual), true) | (F::Binary(Binary::Equal), false) => (without(x, y), without(y, x)),
            _ => return,
        };
        self.know(a, known_a);
        self.know(b, known_b);
    }
}

/// The values of `x` but for that of `y`, where it has a single one.
fn without(x: Range, y: Range) -> Range {
    let single = y.low == y.high;
    Range { low: x.low + i128::from(single && x.low == y.low), high: x.high - i128::from(single && x.high == y.high) }
}

/// Whether it is an integer or boolean.
pub(crate) fn is_whole(dtype: DType) -> bool {
    dtype.is_integer() || dtype == DType::Bool
}

/// The value of an integer or boolean constant.
pub(crate) fn whole(dtype: DType, bits: u64) -> Option<i128> {
    let shift = 64 - 8 * dtype.size().min(8) as u32;
    is_whole(dtype).then(|| match dtype.is_unsigned() || dtype == DType::Bool {
        true => i128::from(bits << shift >> shift),
        false => i128::from((bits << shift) as i64 >> shift),
    })
}

/// The interval of the exact result of an operator; it holds where it is within the dtype, and nothing wraps.
fn result(function: ElementFn, [from, to]: [DType; 2], ins: &[Range]) -> Option<Range> {
    use ElementFn as F;
    let positive = |r: Range| r.low > 0;
    Some(match (function, ins) {
        (F::Cast, &[x]) if to == DType::Bool && from != DType::Bool => {
            Range { low: i128::from(!x.contains(0)), high: 1 }
        }
        (F::Cast | F::Unary(Unary::Round), &[x]) => x,
        (F::Binary(Binary::Add), &[x, y]) => Range { low: x.low + y.low, high: x.high + y.high },
        (F::Binary(Binary::Sub), &[x, y]) => Range { low: x.low - y.high, high: x.high - y.low },
        (F::Binary(Binary::Mul), &[x, y]) => x.corners(y, i128::saturating_mul),
        (F::Unary(Unary::Neg), &[x]) => Range { low: -x.high, high: -x.low },
        (F::Unary(Unary::Abs), &[x]) if x.low >= 0 => x,
        (F::Unary(Unary::Abs), &[x]) => Range { low: if x.high < 0 { -x.high } else { 0 }, high: x.high.max(-x.low) },
        (F::Unary(Unary::Square), &[x]) => Range { low: 0, high: x.corners(x, i128::saturating_mul).high },
        (F::Binary(Binary::Min), &[x, y]) => Range { low: x.low.min(y.low), high: x.high.min(y.high) },
        (F::Binary(Binary::Max), &[x, y]) => Range { low: x.low.max(y.low), high: x.high.max(y.high) },
        (F::Select, &[_, x, y]) => x.join(y),
        (F::Binary(Binary::FloorDiv), &[x, y]) if positive(y) => x.corners(y, i128::div_euclid),
        (F::Binary(Binary::TruncDiv), &[x, y]) if positive(y) => x.corners(y, |a, b| a / b),
        (F::Binary(Binary::FloorMod | Binary::TruncMod), &[x, y]) if x.low >= 0 && positive(y) => {
            if x.high < y.low {
                x
            } else {
                Range { low: 0, high: x.high.min(y.high - 1) }
            }
        }
        (F::Binary(Binary::FloorMod), &[_, y]) if positive(y) => Range { low: 0, high: y.high - 1 },
        (F::Binary(Binary::TruncMod), &[x, y]) if positive(y) => {
            Range { low: x.low.min(0).max(1 - y.high), high: x.high.max(0).min(y.high - 1) }
        }
        (F::Binary(Binary::BitAnd), &[x, y]) if x.low >= 0 && y.low >= 0 => Range { low: 0, high: x.high.min(y.high) },
        (F::Binary(Binary::BitAnd), &[_, y]) if y.low >= 0 => Range { low: 0, high: y.high },
        (F::Binary(Binary::BitAnd), &[x, _]) if x.low >= 0 => Range { low: 0, high: x.high },
        (F::Binary(Binary::Shr), &[x, y]) if y.low == y.high && (0..8 * from.size() as i128).contains(&y.low) => {
            Range { low: x.low >> y.low, high: x.high >> y.low }
        }
        (F::Binary(Binary::Shl), &[x, y])
            if x.low >= 0 && y.low == y.high && (0..8 * from.size() as i128).contains(&y.low) =>
        {
            Range { low: x.low << y.low, high: x.high << y.low }
        }
        _ => return None,
    })
}
