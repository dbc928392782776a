//! The stage that batches windows: elements that follow each other.

use std::collections::VecDeque;
use std::mem;

use penstock_data::Result;

use crate::ahead::goes_on;
use crate::batch::{alike, batches, split, stack};
use crate::rows::{Growth, joined};
use crate::{CHUNK_BYTES, FlatMap, Pull, Rows, Stage};

/// Which elements the windows of a stage have.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// How many elements a window has, at least 1.
    pub size: usize,
    /// How many elements the next window begins behind it, at least 1.
    pub shift: usize,
    /// How far apart the elements of a window are, at least 1.
    pub stride: usize,
    /// Whether windows that are smaller are left out.
    pub drop: bool,
}

impl Windows {
    /// How many elements a window spans.
    fn reach(&self) -> usize {
        (self.size - 1).saturating_mul(self.stride).saturating_add(1)
    }
}

/// The windows of the elements of a stage.
pub struct WindowRows {
    source: Pull,
    windows: Windows,
    /// Which leaves of the elements windows have; `None` for all.
    leaves: Option<Vec<usize>>,
    /// What was read, where in it the next window begins, and how many elements there are from there on.
    held: Vec<Rows>,
    start: usize,
    count: usize,
    /// How many elements in front of the next window were not read yet.
    skipped: usize,
    ended: bool,
    growth: Growth,
}

impl WindowRows {
    /// Windows of the elements of a stage.
    pub fn new(source: Pull, windows: Windows) -> WindowRows {
        WindowRows {
            source,
            windows,
            leaves: None,
            held: Vec::new(),
            start: 0,
            count: 0,
            skipped: 0,
            ended: false,
            growth: Growth::default(),
        }
    }

    /// The elements of the next window; `None` at the end.
    ///
    /// # Errors
    /// Those of the stage.
    pub fn window(&mut self) -> Result<Option<Vec<Rows>>> {
        let ahead = self.growth.limit();
        if !self.fill(|missing| missing.max(ahead))? {
            return Ok(None);
        }
        self.taken().map(Some)
    }

    /// The elements of what becomes of each window, one after the other.
    pub fn flat_map(mut self, mut open: impl FnMut(Vec<Rows>) -> Result<Pull> + Send + 'static) -> FlatMap {
        FlatMap::of(Box::new(move || self.window()?.map(&mut open).transpose()))
    }

    /// Reads until there is a whole window, or the source ends. Gives whether there are elements of a window. `wanted` gives the number of
    /// elements to ask for, from the number that is missing. It may be more only if nobody can see how far the source was read.
    fn fill(&mut self, wanted: impl Fn(usize) -> usize) -> Result<bool> {
        let reach = self.windows.reach();
        while !self.ended && self.count < reach {
            goes_on()?;
            match self.source.pull(wanted(reach - self.count).min(isize::MAX as usize))? {
                None => self.ended = true,
                Some(rows) => {
                    self.growth.saw(&rows);
                    if rows.count <= self.skipped {
                        self.skipped -= rows.count;
                        continue;
                    }
                    let skipped = mem::take(&mut self.skipped);
                    self.count += rows.count - skipped;
                    self.start += skipped;
                    self.held.push(self.chosen(rows));
                }
            }
        }
        Ok(self.count > 0 && (!self.windows.drop || self.is_whole()))
    }

    /// Whether the next window has all its elements.
    fn is_whole(&self) -> bool {
        self.count >= self.windows.reach()
    }

    /// Elements with the leaves that windows have.
    fn chosen(&self, rows: Rows) -> Rows {
        let Some(leaves) = &self.leaves else { return rows };
        let columns = leaves.iter().map(|&i| rows.columns[i].clone()).collect();
        Rows { columns, ..rows }
    }

    /// Goes on to the window that is `count` windows behind.
    fn step(&mut self, count: usize) {
        let shift = self.windows.shift.saturating_mul(count);
        let past = shift.min(self.count);
        self.start += past;
        self.count -= past;
        self.skipped += shift - past;
        while self.held.first().is_some_and(|rows| rows.count <= self.start) {
            self.start -= self.held.remove(0).count;
        }
    }

    /// Takes the next window, whole or not.
    fn taken(&mut self) -> Result<Vec<Rows>> {
        let span = self.count.min(self.windows.reach());
        let mut at = self.start;
        let (end, mut before) = (self.start + span, 0);
        let mut window = Vec::new();
        for rows in &self.held {
            let stop = end.min(before + rows.count);
            let indices: Vec<i64> = (at..stop).step_by(self.windows.stride).map(|i| (i - before) as i64).collect();
            if let Some(&last) = indices.last() {
                let part = match self.windows.stride {
                    1 => rows.part(at - before, stop - before),
                    _ => rows.taken(&indices),
                };
                window.push(part?);
                at = last as usize + before + self.windows.stride;
            }
            before += rows.count;
        }
        self.step(1);
        Ok(window)
    }
}

/// The elements of windows, batched window by window.
pub struct WindowBatches {
    rows: WindowRows,
    /// How many elements a batch has, and whether a last one of a window that is smaller is left out.
    size: usize,
    drop: bool,
    /// Batches of windows that were taken already.
    made: VecDeque<Result<Rows>>,
}

impl WindowBatches {
    /// Batches of `size` elements of each window of a stage, at least 1, with these of their leaves.
    pub fn new(source: Pull, windows: Windows, size: usize, drop: bool, leaves: Vec<usize>) -> WindowBatches {
        let rows = WindowRows { leaves: Some(leaves), ..WindowRows::new(source, windows) };
        WindowBatches { rows, size, drop, made: VecDeque::new() }
    }

    /// How many batches of one size whole windows have each, and how many elements each of these has; `None` where they differ.
    fn regular(&self) -> Option<(usize, usize)> {
        let elements = self.rows.windows.size;
        let whole = elements / self.size;
        match (whole, elements % self.size, self.drop) {
            (0, _, false) => Some((1, elements)),
            (_, 0, _) | (_, _, true) => Some((whole, self.size)),
            _ => None,
        }
    }

    /// Takes up to `limit` whole windows of columns at once.
    fn take_many(&mut self, limit: usize, each: usize, size: usize) -> Result<()> {
        let run = &mut self.rows;
        let Windows { shift, stride, .. } = run.windows;
        let held = mem::take(&mut run.held);
        let (_, rest) = split(held, mem::take(&mut run.start))?;
        let rows = joined(&rest)?;
        let most = (CHUNK_BYTES / rows.bytes_each() / run.windows.size).max(1);
        let count = ((run.count - run.windows.reach()) / shift + 1).min(limit).min(most);
        let indices: Vec<i64> =
            (0..count).flat_map(|window| (0..each * size).map(move |i| (window * shift + i * stride) as i64)).collect();
        if each > 0 {
            let found = rows.gathered(&indices).and_then(|columns| batches(columns, count * each, size));
            self.made.push_back(found);
        }
        run.held = vec![rows];
        run.step(count);
        Ok(())
    }

    /// Takes the next window, whole or not.
    fn take_one(&mut self) -> Result<()> {
        let mut window = self.rows.taken()?;
        while !window.is_empty() {
            let left: usize = window.iter().map(|rows| rows.count).sum();
            if left < self.size && self.drop {
                break;
            }
            let (batch, rest) = split(window, self.size.min(left))?;
            self.made.push_back(stack(&batch).map(Rows::one));
            window = rest;
        }
        Ok(())
    }
}

impl Stage for WindowBatches {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        while self.made.is_empty() {
            let more = (limit - 1).saturating_mul(self.rows.windows.shift);
            if !self.rows.fill(|missing| more.saturating_add(missing))? {
                return Ok(None);
            }
            match self.regular().filter(|_| self.rows.is_whole() && alike(&self.rows.held)) {
                Some((each, size)) => self.take_many(limit.div_ceil(each.max(1)), each, size)?,
                None => self.take_one()?,
            }
        }
        match self.made.pop_front().transpose()? {
            Some(rows) if rows.count > limit => {
                self.made.push_front(rows.part(limit, rows.count));
                rows.part(0, limit).map(Some)
            }
            found => Ok(found),
        }
    }
}
