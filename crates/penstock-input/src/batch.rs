//! The stage that puts elements together.

use std::mem;

use penstock_data::{Error, Result};

use crate::ahead::goes_on;
use crate::rows::{Leaves, joined};
use crate::{Pull, Rows, Stage};

/// Stacks a fixed number of elements into one batch.
pub struct Batch {
    source: Pull,
    size: usize,
    /// Whether a last batch that is smaller is left out.
    drop: bool,
    held: Vec<Rows>,
    count: usize,
}

impl Batch {
    /// Batches of `size` elements of a stage, at least 1.
    pub fn new(source: Pull, size: usize, drop: bool) -> Batch {
        Batch { source, size, drop, held: Vec::new(), count: 0 }
    }

    fn forget(&mut self) -> Vec<Rows> {
        self.count = 0;
        mem::take(&mut self.held)
    }
}

impl Stage for Batch {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        while self.count < self.size {
            goes_on()?;
            let wanted = self.size.saturating_mul(limit) - self.count;
            // What was gathered is lost with an element that cannot be computed.
            match self.source.pull(wanted).inspect_err(|_| drop(self.forget()))? {
                Some(rows) => {
                    self.count += rows.count;
                    self.held.push(rows);
                }
                None => {
                    let rest = self.forget();
                    if rest.is_empty() || self.drop {
                        return Ok(None);
                    }
                    return stack(&rest).map(|leaves| Some(Rows::one(leaves)));
                }
            }
        }
        let whole = if alike(&self.held) { limit.min(self.count / self.size) } else { 1 };
        let (parts, rest) = split(mem::take(&mut self.held), whole * self.size)?;
        self.held = rest;
        self.count -= whole * self.size;
        batches(stack(&parts)?, whole, self.size).map(Some)
    }
}

/// Whether all elements are columns of tensors of the same shapes.
pub(crate) fn alike(parts: &[Rows]) -> bool {
    parts.iter().all(|p| p.stacked) && parts.iter().skip(1).all(|p| p.extents() == parts[0].extents())
}

/// The first `count` elements, and the rest.
pub(crate) fn split(parts: Vec<Rows>, mut count: usize) -> Result<(Vec<Rows>, Vec<Rows>)> {
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for rows in parts {
        let here = rows.count.min(count);
        count -= here;
        if here > 0 {
            first.push(rows.part(0, here)?);
        }
        if here < rows.count {
            rest.push(rows.part(here, rows.count)?);
        }
    }
    Ok((first, rest))
}

/// Elements, each of which is `size` rows of these columns: one as its leaves.
pub(crate) fn batches(columns: Leaves, count: usize, size: usize) -> Result<Rows> {
    if count == 1 {
        return Ok(Rows::one(columns));
    }
    let apart = |c: penstock_data::Tensor| {
        let dims: Vec<usize> = [count, size].into_iter().chain(c.dims()[1..].iter().copied()).collect();
        c.reshaped(&dims)
    };
    let columns = columns.into_iter().map(|c| c.map(apart).transpose());
    Ok(Rows::stacked(count, columns.collect::<Result<_>>()?))
}

/// The leaves of all these elements, stacked.
pub(crate) fn stack(parts: &[Rows]) -> Result<Leaves> {
    for pair in parts.windows(2) {
        for (i, both) in pair[0].extents().into_iter().zip(pair[1].extents()).enumerate() {
            if let (Some(a), Some(b)) = both
                && a != b
            {
                return Err(Error::invalid(format!(
                    "batch: tensors of different shapes cannot be stacked: component {i} has shape {:?} in the first element \
                     and {:?} in another one; use padded_batch or ragged_batch",
                    a.1, b.1
                )));
            }
        }
    }
    joined(parts).map(|rows| rows.columns)
}
