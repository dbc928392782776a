//! Sources of elements that are at hand, or computed.

use std::collections::VecDeque;

use penstock_data::{DType, Result, Tensor};
use penstock_ops::cast;
use penstock_trace::Var;

use crate::rows::{Leaves, operation};
use crate::{CHUNK_BYTES, Rows, Stage};

/// Numbers with equal steps between them.
pub struct Numbers {
    next: i64,
    step: i64,
    /// How many are left; `None` where there is no end.
    left: Option<u64>,
    dtype: DType,
}

impl Numbers {
    /// Counts from `start` in steps of `step`. There are `count` numbers, or no end where it is `None`.
    pub fn new(start: i64, step: i64, count: Option<u64>, dtype: DType) -> Numbers {
        Numbers { next: start, step, left: count, dtype }
    }
}

impl Stage for Numbers {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        let most = limit.min(CHUNK_BYTES / 8);
        let count = self.left.map_or(most, |left| usize::try_from(left).map_or(most, |left| left.min(most)));
        if count == 0 {
            return Ok(None);
        }
        let values: Vec<i64> = (0..count as i64).map(|i| self.next.wrapping_add(i.wrapping_mul(self.step))).collect();
        let mut column = Tensor::vector(&values);
        if self.dtype != DType::I64 {
            column = operation(&cast::CAST, &[Var::eager(column)], &[("dtype", self.dtype.into())])?;
        }
        self.next = self.next.wrapping_add((count as i64).wrapping_mul(self.step));
        self.left = self.left.map(|left| left - count as u64);
        Ok(Some(Rows::stacked(count, vec![Some(column)])))
    }
}

/// The rows of tensors.
pub struct Slices {
    whole: Rows,
    at: usize,
}

impl Slices {
    /// Gives the rows of columns. Every column has `count` rows.
    pub fn new(count: usize, columns: Leaves) -> Slices {
        Slices { whole: Rows::stacked(count, columns), at: 0 }
    }
}

impl Stage for Slices {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        let start = self.at;
        if start >= self.whole.count {
            return Ok(None);
        }
        self.at = self.whole.count.min(start.saturating_add(limit));
        self.whole.part(start, self.at).map(Some)
    }
}

/// Elements at hand.
pub struct AtHand {
    rows: VecDeque<Rows>,
}

impl AtHand {
    /// Gives these elements. There may be none, but no rows of no elements.
    pub fn new(rows: Vec<Rows>) -> AtHand {
        AtHand { rows: rows.into() }
    }
}

impl Stage for AtHand {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        let Some(rows) = self.rows.pop_front() else { return Ok(None) };
        if rows.count <= limit {
            return Ok(Some(rows));
        }
        self.rows.push_front(rows.part(limit, rows.count)?);
        rows.part(0, limit).map(Some)
    }
}
