//! Stages that call a function for each element: many elements at once where that is possible, else one by one.

use std::sync::Arc;

use penstock_data::{Error, Result, Tensor};

use crate::ahead::goes_on;
use crate::rows::Leaves;
use crate::{CHUNK_BYTES, Pull, Rows, Stage};

/// The least number of elements for which a function runs once for all. Below it, it runs for each element.
const FEW: usize = 4;

/// A function of the tensors of an element.
pub trait Function: Send + Sync {
    /// The leaves of the result for the leaves of an element.
    ///
    /// # Errors
    /// Those of the function.
    fn call(&self, leaves: &[Option<Tensor>]) -> Result<Leaves>;

    /// The columns of the results for columns of elements.
    ///
    /// # Errors
    /// Those of the function, and where it cannot run so.
    fn of_columns(&self, columns: &[Option<Tensor>]) -> Result<Leaves>;

    /// Whether nobody sees when it runs, and for what, and it can run for many elements at once.
    fn is_pure(&self) -> bool;
}

/// A function on its way over rows.
pub(crate) struct EachRow {
    function: Arc<dyn Function>,
    together: bool,
    /// How many rows at once: results may be larger than what they are made of.
    most: usize,
    /// Rows that are done one by one, the next of them, and whether one has failed.
    rows: Option<Rows>,
    at: usize,
    failed: bool,
}

impl EachRow {
    pub(crate) fn new(function: Arc<dyn Function>) -> EachRow {
        let together = function.is_pure();
        EachRow { function, together, most: 1, rows: None, at: 0, failed: false }
    }

    /// The next rows and what the function gives for them; `None` at the end.
    pub(crate) fn next(&mut self, source: &mut Pull, limit: usize) -> Result<Option<(Rows, Rows)>> {
        goes_on()?;
        if let Some(rows) = self.rows.take() {
            return self.next_of(rows).map(Some);
        }
        let Some(rows) = source.pull(if self.together { limit.min(self.most) } else { limit })? else {
            return Ok(None);
        };
        if !rows.stacked {
            let out = self.single(&rows.columns)?;
            return Ok(Some((rows, out)));
        }
        if self.together
            && rows.count >= FEW
            && let Ok(columns) = self.function.of_columns(&rows.columns)
        {
            let out = Rows::stacked(rows.count, columns);
            self.grow(&out);
            return Ok(Some((rows, out)));
        }
        (self.at, self.failed) = (0, !self.together || rows.count < FEW);
        self.next_of(rows).map(Some)
    }

    fn single(&mut self, leaves: &[Option<Tensor>]) -> Result<Rows> {
        let out = Rows::one(self.function.call(leaves)?);
        if self.together && self.most == 1 {
            self.grow(&out);
        }
        Ok(out)
    }

    fn grow(&mut self, out: &Rows) {
        self.most = (8 * out.count).max(16).min(8 * CHUNK_BYTES / out.bytes_each()).max(1);
    }

    /// The next element of rows that are done one by one.
    fn next_of(&mut self, rows: Rows) -> Result<(Rows, Rows)> {
        let leaves = rows.at(self.at)?;
        self.at += 1;
        if self.at < rows.count {
            self.rows = Some(rows);
        }
        let out = self.single(&leaves).inspect_err(|_| self.failed = true)?;
        if self.rows.is_none() && !self.failed {
            // Each can be done, but not all of them together: their results differ in shape.
            self.together = false;
        }
        Ok((Rows::one(leaves), out))
    }
}

/// The results of a function.
pub struct Map {
    source: Pull,
    each: EachRow,
}

impl Map {
    /// What a function gives for the elements of a stage.
    pub fn new(source: Pull, function: Arc<dyn Function>) -> Map {
        Map { source, each: EachRow::new(function) }
    }
}

impl Stage for Map {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        Ok(self.each.next(&mut self.source, limit)?.map(|(_, out)| out))
    }
}

/// The elements for which a function gives true.
pub struct Filter {
    source: Pull,
    each: EachRow,
}

impl Filter {
    /// The elements of a stage for which a function gives a scalar that is true.
    pub fn new(source: Pull, predicate: Arc<dyn Function>) -> Filter {
        Filter { source, each: EachRow::new(predicate) }
    }
}

impl Stage for Filter {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        while let Some((rows, flags)) = self.each.next(&mut self.source, limit)? {
            let Some(Some(flags)) = flags.columns.first() else {
                return Err(Error::internal("a predicate gave no tensor"));
            };
            let flags = flags.on_host()?;
            let kept: Vec<i64> =
                flags.bytes().iter().enumerate().filter_map(|(i, &flag)| (flag != 0).then_some(i as i64)).collect();
            if kept.len() == rows.count {
                return Ok(Some(rows));
            }
            if !kept.is_empty() {
                return rows.taken(&kept).map(Some);
            }
        }
        Ok(None)
    }
}
