//! The stage that batches elements which have one key.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;

use penstock_data::{DType, Error, Result};

use crate::ahead::goes_on;
use crate::batch::{split, stack};
use crate::map::{EachRow, Function};
use crate::{Pull, Rows, Stage};

/// How many rows keys are computed of at once, where nobody sees that.
const AT_ONCE: usize = 256;

/// Elements by their keys, batched group by group.
pub struct GroupBatches {
    source: Pull,
    keys: EachRow,
    /// How many elements make a group that is taken.
    window: usize,
    /// How many elements a batch has, and whether a last one of a group that is smaller is left out.
    size: usize,
    drop: bool,
    groups: BTreeMap<i64, Group>,
    /// The rows that came last, the keys of those that are in no group yet, and the number of the first of them.
    rows: Option<(Rows, Vec<i64>, usize)>,
    /// Batches of groups that were taken already.
    made: VecDeque<Result<Rows>>,
}

/// The elements of a key.
#[derive(Default)]
struct Group {
    parts: Vec<Rows>,
    /// Which of the rows that came last belong to it, and are in no part yet.
    fresh: Vec<i64>,
    count: usize,
}

impl Group {
    fn settle(&mut self, rows: &Rows) -> Result<()> {
        let fresh = mem::take(&mut self.fresh);
        if !fresh.is_empty() {
            self.parts.push(if fresh.len() == rows.count { rows.clone() } else { rows.taken(&fresh)? });
        }
        Ok(())
    }
}

impl GroupBatches {
    /// Batches of `size` elements of each group of `window` elements of a stage that have one key, which a function gives, both at least
    /// 1. At the end come groups that are smaller, by their keys.
    pub fn new(source: Pull, key: Arc<dyn Function>, window: usize, size: usize, drop: bool) -> GroupBatches {
        GroupBatches {
            source,
            keys: EachRow::new(key),
            window,
            size,
            drop,
            groups: BTreeMap::new(),
            rows: None,
            made: VecDeque::new(),
        }
    }

    /// Has the groups grow by the rows that came last until one is large enough, which is taken; false where no rows are left.
    fn grow(&mut self) -> Result<bool> {
        let Some((rows, keys, at)) = &mut self.rows else { return Ok(false) };
        while let Some(&key) = keys.get(*at) {
            let group = self.groups.entry(key).or_default();
            group.fresh.push(*at as i64);
            group.count += 1;
            *at += 1;
            if group.count >= self.window {
                group.settle(rows)?;
                let group = self.groups.remove(&key).unwrap_or_default();
                self.take(group.parts);
                return Ok(true);
            }
        }
        // The rows themselves are let go of: a few of them may wait for long.
        for group in self.groups.values_mut().filter(|group| !group.fresh.is_empty()) {
            group.settle(rows)?;
        }
        self.rows = None;
        Ok(false)
    }

    /// Makes batches of a group.
    fn take(&mut self, mut parts: Vec<Rows>) {
        loop {
            let left: usize = parts.iter().map(|rows| rows.count).sum();
            if left == 0 || (left < self.size && self.drop) {
                return;
            }
            let (batch, rest) = match split(parts, self.size.min(left)) {
                Ok(both) => both,
                Err(error) => return self.made.push_back(Err(error)),
            };
            self.made.push_back(stack(&batch).map(Rows::one));
            parts = rest;
        }
    }
}

impl Stage for GroupBatches {
    fn pull(&mut self, _: usize) -> Result<Option<Rows>> {
        loop {
            if let Some(made) = self.made.pop_front() {
                return made.map(Some);
            }
            goes_on()?;
            if self.grow()? {
                continue;
            }
            match self.keys.next(&mut self.source, AT_ONCE)? {
                Some((rows, keys)) => {
                    let keys = keys.columns.first().cloned().flatten();
                    let keys = keys.ok_or_else(|| Error::internal("a key is no tensor"))?.on_host()?;
                    if keys.dtype() != DType::I64 || keys.len() != rows.count {
                        return Err(Error::internal("keys are one int64 for each element"));
                    }
                    self.rows = Some((rows, keys.as_slice::<i64>().to_vec(), 0));
                }
                None => match self.groups.pop_first() {
                    Some((_, group)) => self.take(group.parts),
                    None => return Ok(None),
                },
            }
        }
    }
}
