//! What a group of elementwise instructions and reductions works on: rows of columns.
//!
//! All elementwise results of a group have the same extents, of which the last dimensions are *columns* and those before
//! are *rows*. A group reduces columns, so that each row leaves an element (`Over::Columns`), or rows, so that each
//! column leaves one (`Over::Rows`). What reductions of columns leave may be used again in the group, by element a row:
//! this is what softmax and normalisations are made of.

use penstock_data::Dims;
use penstock_ir::{Cpu, Graph, Inst, Value};
use penstock_ops::reduce::reduction_of;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::view::{Line, View};

/// Which dimensions the reductions of a group reduce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// There are none.
    Nothing,
    /// All columns.
    Columns,
    /// The rows from dimension `outer` on; those before stay.
    Rows {
        /// The first dimension that is reduced.
        outer: usize,
    },
}

/// What a value of a group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// An element for each row and column.
    Full,
    /// An element for each row.
    Row,
    /// What a reduction of rows leaves, which only others than the group use.
    Column,
}

/// The rows and columns of a group.
#[derive(Debug)]
pub struct Space {
    /// The extents of elementwise results.
    pub dims: Dims,
    /// What is reduced.
    pub over: Over,
    /// The first dimension of columns.
    pub split: usize,
    /// What the results of the instructions are.
    pub classes: FxHashMap<Value, Class>,
    /// The bytes of a row, where its elements are read again after it was reduced.
    pub row_bytes: Option<usize>,
}

/// Where an operand's elements lie, as elements of what it is a view of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strides {
    /// The element at index 0.
    pub offset: isize,
    /// Dimensions of rows, outermost first, merged where that changes nothing.
    pub rows: SmallVec<[Line; 2]>,
    /// All columns. Neighbours are neighbours in memory or share one element.
    pub columns: Line,
    /// The constant that holds the element of the padding, where there is any.
    pub fill: Option<Value>,
}

impl Space {
    /// The rows and columns of instructions in order, none of which uses a result of a later one; `None` where they do not
    /// fit together.
    pub fn of(graph: &Graph, insts: &[Inst]) -> Option<Space> {
        let dims = insts.iter().map(|&i| work(graph, i)).try_fold(None, |most: Option<Dims>, dims| {
            let dims = dims?;
            let larger = most.as_ref().is_none_or(|m| m.iter().product::<usize>() < dims.iter().product());
            Some(if larger { Some(dims) } else { most })
        })??;
        let mut space = Space { dims, over: Over::Nothing, split: 0, classes: FxHashMap::default(), row_bytes: None };
        for &inst in insts {
            let data = &graph.insts[inst];
            if reduction_of(graph, inst).is_none() {
                continue;
            }
            let (over, split) = space.reduced(graph, inst)?;
            if space.over != Over::Nothing && (space.over, space.split) != (over, split) {
                return None;
            }
            (space.over, space.split) = (over, split);
            space.classes.insert(data.results[0], if over == Over::Columns { Class::Row } else { Class::Column });
        }
        if space.over == Over::Nothing {
            space.split = space.widest_columns(graph, insts)?;
        }
        let mut again = false;
        for &inst in insts {
            let data = &graph.insts[inst];
            let result = data.results[0];
            if space.classes.contains_key(&result) {
                let x = data.operands[0];
                let made = match space.classes.get(&x) {
                    Some(&class) => class == Class::Full,
                    None => space.strides(graph, x).is_some(),
                };
                if !made || graph.ty(x).shape().extents().as_ref() != Some(&space.dims) {
                    return None;
                }
                continue;
            }
            let dims = graph.ty(result).shape().extents()?;
            let class = if dims == space.dims {
                for &v in &data.operands {
                    match space.classes.get(&v) {
                        Some(Class::Full) => {}
                        Some(Class::Row) if space.is_element_a_row(graph, v) => again = true,
                        Some(_) => return None,
                        None => _ = space.strides(graph, v)?,
                    }
                }
                Class::Full
            } else {
                space.row_result(graph, inst, &dims)?
            };
            space.classes.insert(result, class);
        }
        let widest = insts.iter().map(|&i| graph.ty(graph.insts[i].results[0]).dtype().size()).max()?;
        space.row_bytes = again.then(|| space.columns() * widest);
        Some(space)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.dims[..self.split].iter().product()
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.dims[self.split..].iter().product()
    }

    /// Where the elements of an operand lie; `None` where it does not broadcast, or columns do not all advance by one element
    /// or all stand still.
    pub fn strides(&self, graph: &Graph, value: Value) -> Option<Strides> {
        let own = graph.ty(value).shape().extents()?;
        let View { offset, lines, fill, .. } = View::of(graph, value)?;
        let mut rows: SmallVec<[Line; 2]> = SmallVec::new();
        if own.len() > self.dims.len() {
            let single = own.iter().all(|&d| d == 1);
            return single.then_some(Strides { offset, rows, columns: Line::whole(1, 0), fill });
        }
        let lead = self.dims.len() - own.len();
        let mut columns: Option<Line> = None;
        for (d, &extent) in self.dims.iter().enumerate().rev() {
            let line = if d < lead || own[d - lead] == 1 { Line::whole(extent, 0) } else { lines[d - lead] };
            if line.extent != extent {
                return None;
            }
            if extent == 1 {
                continue;
            }
            if d >= self.split {
                columns = Some(match columns {
                    None if line.step == 0 || line.step == 1 => line,
                    None => return None,
                    Some(inner) => inner.within(line)?,
                });
            } else {
                match rows.last_mut().and_then(|inner| Some((inner.within(line)?, inner))) {
                    Some((both, inner)) => *inner = both,
                    None => rows.push(line),
                }
            }
        }
        rows.reverse();
        Some(Strides { offset, rows, columns: columns.unwrap_or(Line::whole(1, 0)), fill })
    }

    /// Whether a value that broadcasts to the elementwise extents has an element for each row, in order.
    fn is_element_a_row(&self, graph: &Graph, value: Value) -> bool {
        self.strides(graph, value).is_some_and(|s| {
            let in_order = match s.rows[..] {
                [] => true,
                [line] => line.step == 1,
                _ => false,
            };
            s.columns.step == 0 && in_order
        })
    }

    /// What an elementwise instruction is whose result is not of the elementwise extents.
    fn row_result(&self, graph: &Graph, inst: Inst, dims: &Dims) -> Option<Class> {
        let same = extents_but_one(dims).eq(extents_but_one(&self.dims[..self.split]));
        let mut of_rows = false;
        for &v in &graph.insts[inst].operands {
            match self.classes.get(&v) {
                Some(Class::Row) => of_rows = true,
                Some(_) => return None,
                None => {}
            }
            let own = graph.ty(v).shape().extents()?;
            let single = own.iter().product::<usize>() == 1;
            if !single && (own != *dims || View::of(graph, v)?.base != v) {
                return None;
            }
        }
        (self.over == Over::Columns && same && of_rows).then_some(Class::Row)
    }

    /// Which dimensions a reduction reduces, and the first dimension of columns.
    fn reduced(&self, graph: &Graph, inst: Inst) -> Option<(Over, usize)> {
        let (_, marked) = reduction_of(graph, inst)?;
        if marked.len() != self.dims.len() || self.dims.contains(&0) {
            return None;
        }
        let wide = |d: &usize| self.dims[*d] != 1;
        let first = (0..marked.len()).filter(wide).find(|&d| marked[d])?;
        let end = (first..marked.len()).filter(wide).find(|&d| !marked[d]).unwrap_or(marked.len());
        if (end..marked.len()).filter(wide).any(|d| marked[d]) {
            return None;
        }
        Some(if end == marked.len() { (Over::Columns, first) } else { (Over::Rows { outer: first }, end) })
    }

    /// The first dimension of columns where nothing is reduced: the most that advance, or stand still, together.
    fn widest_columns(&mut self, graph: &Graph, insts: &[Inst]) -> Option<usize> {
        (0..=self.dims.len()).find(|&split| {
            self.split = split;
            let operands = insts.iter().flat_map(|&i| &graph.insts[i].operands);
            operands.into_iter().all(|&v| self.strides(graph, v).is_some())
        })
    }
}

/// The extents other than 1, which alone tell where elements lie.
fn extents_but_one(dims: &[usize]) -> impl Iterator<Item = usize> {
    dims.iter().copied().filter(|&d| d != 1)
}

/// The extents over which an instruction works: those of its result, or of what it reduces.
pub fn work(graph: &Graph, inst: Inst) -> Option<Dims> {
    let data = &graph.insts[inst];
    let of = if reduction_of(graph, inst).is_some() {
        data.operands[0]
    } else if matches!(data.op.cpu, Cpu::Elementwise(_)) {
        data.results[0]
    } else {
        return None;
    };
    graph.ty(of).shape().extents()
}
