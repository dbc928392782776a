//! Rows: one or more elements on their way between stages.

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{Attr, OpDef};
use penstock_ops::{gather, joining};
use penstock_trace::{Var, apply, constant};

use crate::{CHUNK_BYTES, Pull};

/// The leaves of an element, or their columns; `None` for those that are no tensors.
pub type Leaves = Vec<Option<Tensor>>;

/// Elements, as the leaves of one or as columns: tensors with a row for each.
#[derive(Clone, Debug)]
pub struct Rows {
    /// How many elements there are.
    pub count: usize,
    /// A column for each leaf, or the leaves of the only element.
    pub columns: Leaves,
    /// Whether these are columns.
    pub stacked: bool,
}

impl Rows {
    /// One element.
    pub fn one(leaves: Leaves) -> Rows {
        Rows { count: 1, columns: leaves, stacked: false }
    }

    /// Elements in columns.
    pub fn stacked(count: usize, columns: Leaves) -> Rows {
        Rows { count, columns, stacked: true }
    }

    /// The elements in columns, the only one too.
    pub(crate) fn in_columns(self) -> Result<Rows> {
        if self.stacked {
            return Ok(self);
        }
        let columns = self.columns.iter().map(|c| c.as_ref().map(as_row).transpose());
        Ok(Rows::stacked(1, columns.collect::<Result<_>>()?))
    }

    /// The leaves of element `i`.
    ///
    /// # Errors
    /// `OutOfRange` where there is none.
    pub fn at(&self, i: usize) -> Result<Leaves> {
        if !self.stacked {
            return Ok(self.columns.clone());
        }
        let row = |c: &Tensor| c.rows(i, 1).and_then(|row| row.reshaped(&c.dims()[1..]));
        self.columns.iter().map(|c| c.as_ref().map(row).transpose()).collect()
    }

    /// The elements from `start` to before `stop`.
    ///
    /// # Errors
    /// `OutOfRange` where they are not there.
    pub fn part(&self, start: usize, stop: usize) -> Result<Rows> {
        if stop - start == self.count {
            return Ok(self.clone());
        }
        if stop - start == 1 {
            return self.at(start).map(Rows::one);
        }
        let columns = self.columns.iter().map(|c| c.as_ref().map(|c| c.rows(start, stop - start)).transpose());
        Ok(Rows::stacked(stop - start, columns.collect::<Result<_>>()?))
    }

    /// Selects elements by their numbers. There must be at least one.
    ///
    /// # Errors
    /// `OutOfRange` where one of them is not there.
    pub fn taken(&self, indices: &[i64]) -> Result<Rows> {
        if let [only] = indices {
            return self.at(usize::try_from(*only).unwrap_or(usize::MAX)).map(Rows::one);
        }
        Ok(Rows::stacked(indices.len(), self.gathered(indices)?))
    }

    /// The columns of elements by their numbers, which may come again. These must be columns.
    ///
    /// # Errors
    /// `OutOfRange` where one of them is not there.
    pub(crate) fn gathered(&self, indices: &[i64]) -> Result<Leaves> {
        let at = constant(Tensor::vector(indices))?;
        let take = |c: &Tensor| operation(&gather::GATHER, &[Var::eager(c.clone()), at.clone()], &[]);
        self.columns.iter().map(|c| c.as_ref().map(take).transpose()).collect()
    }

    /// How many bytes an element has; of strings a guess.
    pub fn bytes_each(&self) -> usize {
        let bytes = |c: &Tensor| c.len() * if c.dtype().size() == 0 { 16 } else { c.dtype().size() };
        (self.columns.iter().flatten().map(bytes).sum::<usize>() / self.count).max(1)
    }

    /// The dtype and the extents of each leaf.
    pub(crate) fn extents(&self) -> Vec<Option<(DType, &[usize])>> {
        let skip = usize::from(self.stacked);
        self.columns.iter().map(|c| c.as_ref().map(|c| (c.dtype(), &c.dims()[skip..]))).collect()
    }
}

/// A leaf as a column of one row.
fn as_row(leaf: &Tensor) -> Result<Tensor> {
    let dims: Vec<usize> = std::iter::once(1).chain(leaf.dims().iter().copied()).collect();
    leaf.reshaped(&dims)
}

/// The only result of an operator.
pub(crate) fn operation(op: &'static OpDef, inputs: &[Var], attrs: &[(&str, Attr)]) -> Result<Tensor> {
    let out = apply(op, inputs, attrs)?.remove(0);
    out.tensor().cloned().ok_or_else(|| Error::internal("an operation of a data set was traced"))
}

/// The elements of several rows of tensors of the same shapes, as columns.
pub(crate) fn joined(parts: &[Rows]) -> Result<Rows> {
    if let [only] = parts
        && only.stacked
    {
        return Ok(only.clone());
    }
    let count = parts.iter().map(|p| p.count).sum();
    let loose = parts.iter().all(|p| !p.stacked);
    let column = |i: usize| -> Result<Option<Tensor>> {
        let pieces = parts.iter().map(|p| {
            let Some(c) = &p.columns[i] else { return Ok(None) };
            if loose || p.stacked {
                return Ok(Some(Var::eager(c.clone())));
            }
            as_row(c).map(|c| Some(Var::eager(c)))
        });
        let Some(pieces) = pieces.collect::<Result<Option<Vec<Var>>>>()? else { return Ok(None) };
        let op = if loose { &joining::STACK } else { &joining::CONCAT };
        operation(op, &pieces, &[("axis", 0i64.into())]).map(Some)
    };
    let width = parts.first().map_or(0, |p| p.columns.len());
    Ok(Rows::stacked(count, (0..width).map(column).collect::<Result<_>>()?))
}

/// How many rows a reader asks for: the first ones one by one, for those who want no more.
const GROWTH: [usize; 7] = [1, 1, 1, 1, 16, 64, 256];

/// How many rows are asked for next.
#[derive(Default)]
pub(crate) struct Growth(usize);

impl Growth {
    pub(crate) fn limit(&self) -> usize {
        GROWTH[self.0.min(GROWTH.len() - 1)]
    }

    /// Goes on behind rows that came of asking for as many.
    pub(crate) fn saw(&mut self, rows: &Rows) {
        let limit = self.limit();
        // Also where one row is all that fits.
        if if rows.stacked { rows.bytes_each() * limit * 4 <= CHUNK_BYTES } else { limit == 1 } {
            self.0 += 1;
        }
    }
}

/// Reads one element after the other, from rows that become longer.
pub struct Reader {
    pull: Pull,
    rows: Option<Rows>,
    at: usize,
    growth: Growth,
}

impl Reader {
    /// A reader of a stage.
    pub fn new(pull: Pull) -> Reader {
        Reader { pull, rows: None, at: 0, growth: Growth::default() }
    }

    /// The leaves of the next element; `None` at the end.
    ///
    /// # Errors
    /// Those of the stage.
    pub fn read(&mut self) -> Result<Option<Leaves>> {
        if self.rows.is_none() {
            self.rows = self.pull.pull(self.growth.limit())?;
            self.at = 0;
            if let Some(rows) = &self.rows {
                self.growth.saw(rows);
            }
        }
        let Some(rows) = &self.rows else { return Ok(None) };
        let (leaves, last) = (rows.at(self.at)?, self.at + 1 == rows.count);
        self.at += 1;
        if last {
            self.rows = None;
        }
        Ok(Some(leaves))
    }
}
