//! Values that are other values seen otherwise: slices, what is padded, and what only adds, drops or turns dimensions. A group
//! reads the elements where they lie, so that they need not be copied first.

use penstock_ir::{Graph, Inst, Rows, Value};
use penstock_ops::shape_ops::{paddings, permutation};
use smallvec::SmallVec;

/// One dimension of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// Its size.
    pub extent: usize,
    /// The elements of the base between neighbours; anything where the size is 1.
    pub step: isize,
    /// The first index of an element of the base, and the end of those: the others are of the padding.
    pub inside: (usize, usize),
}

impl Line {
    /// A line without padding.
    pub fn whole(extent: usize, step: isize) -> Line {
        Line { extent, step, inside: (0, extent) }
    }

    /// Whether there is no padding.
    pub fn is_whole(&self) -> bool {
        self.inside == (0, self.extent)
    }

    /// The line that walks `outer` and this one, as the outer one and the inner one of two loops.
    pub fn within(self, outer: Line) -> Option<Line> {
        let n = self.extent;
        let even = self.is_whole() && outer.step == self.step * n as isize;
        let inside = (outer.inside.0 * n, outer.inside.1 * n);
        even.then_some(Line { extent: n * outer.extent, step: self.step, inside })
    }
}

/// The elements of a value as elements of another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Whose elements they are.
    pub base: Value,
    /// The place of the element at index 0, in elements, which is before the base where that index is of the padding.
    pub offset: isize,
    /// The dimensions.
    pub lines: SmallVec<[Line; 4]>,
    /// A constant with the element of the padding; there is none where all lines are whole.
    pub fill: Option<Value>,
}

impl View {
    /// Where the elements of a value lie; `None` where its extents are not known.
    pub fn of(graph: &Graph, value: Value) -> Option<View> {
        if let Some(view) = graph.def_inst(value).and_then(|inst| seen(graph, inst)) {
            return Some(view);
        }
        let dims = graph.ty(value).shape().extents()?;
        let mut step = 1;
        let mut lines: SmallVec<[Line; 4]> = dims.iter().map(|&d| Line::whole(d, 1)).collect();
        for line in lines.iter_mut().rev() {
            line.step = step;
            step *= line.extent as isize;
        }
        Some(View { base: value, offset: 0, lines, fill: None })
    }
}

/// Whether an instruction only says which elements of its first operand its result has, in an order in which neighbours are
/// read one after the other.
pub(crate) fn is_view(graph: &Graph, inst: Inst) -> bool {
    seen(graph, inst).is_some()
}

/// The view that an instruction gives of its operand, seen through what that is a view of.
fn seen(graph: &Graph, inst: Inst) -> Option<View> {
    let data = &graph.insts[inst];
    if !matches!(data.op.rows, Rows::Box(_) | Rows::Padded | Rows::Transposed | Rows::Same) {
        return None;
    }
    let from = graph.ty(data.operands[0]).shape().extents()?;
    let to = graph.ty(data.results[0]).shape().extents().filter(|dims| !dims.contains(&0))?;
    let mut view = View::of(graph, data.operands[0])?;
    let lines = &mut view.lines;
    // A region has copies of these.
    let constants = data.operands[1..].iter().map(|&v| graph.constant(v)).collect::<Option<SmallVec<[_; 3]>>>()?;
    match data.op.rows {
        Rows::Box(box_of) => {
            let cuts = box_of(&from, &constants, &data.attrs)?;
            for (line, (begin, step, count)) in lines.iter_mut().zip(cuts) {
                view.offset += begin as isize * line.step;
                let inside = if line.is_whole() {
                    (0, count)
                } else if step == 1 {
                    (line.inside.0.saturating_sub(begin), line.inside.1.saturating_sub(begin).min(count))
                } else {
                    return None;
                };
                *line = Line { extent: count, step: line.step * step, inside };
            }
        }
        Rows::Padded => {
            let [widths, fill] = constants[..] else {
                return None;
            };
            let (before, after) = paddings(widths, from.len()).ok()?;
            let same = |v| graph.constant(v).is_some_and(|other| other == fill);
            if view.fill.is_some_and(|v| !same(v)) {
                return None;
            }
            for ((line, before), after) in lines.iter_mut().zip(before).zip(after) {
                view.offset -= before as isize * line.step;
                line.extent = line.extent.checked_add(before)?.checked_add(after)?;
                line.inside = (line.inside.0 + before, line.inside.1 + before);
            }
            view.fill = Some(data.operands[2]);
        }
        Rows::Transposed => {
            let order = permutation(data.attrs.opt_ints(0), lines.len()).ok()?;
            *lines = order.iter().map(|&p| lines[p]).collect();
        }
        _ => {}
    }
    if lines.iter().any(|line| line.inside.0 >= line.inside.1) {
        return None;
    }
    if lines.iter().all(Line::is_whole) {
        view.fill = None;
    }
    // Dimensions of size 1 come and go; the others keep their order.
    let mut left = std::mem::take(lines).into_iter().filter(|line| line.extent != 1);
    for &size in &to {
        view.lines.push(if size == 1 { Line::whole(1, 0) } else { left.next().filter(|line| line.extent == size)? });
    }
    let inner = view.lines.iter().rfind(|line| line.extent != 1);
    (left.next().is_none() && inner.is_none_or(|line| line.step == 1)).then_some(view)
}
