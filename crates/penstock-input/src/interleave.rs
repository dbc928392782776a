//! Stages that read what a function opens for each element.

use std::collections::VecDeque;
use std::sync::Arc;

use penstock_data::{Error, Result};

use crate::ahead::{Ahead, Begin, Gate, goes_on};
use crate::rows::{Leaves, Reader};
use crate::{Pull, Rows, Stage};

/// Opens the data set of an element.
pub type Open = Arc<dyn Fn(Leaves) -> Result<Pull> + Send + Sync>;

/// How the data sets of an interleaving are read by threads.
pub struct AtOnce {
    /// How many threads compute at once. As many are begun ahead of their turn.
    pub count: usize,
    /// Prepares the thread of one.
    pub begin: Box<dyn Fn() -> Begin + Send>,
}

/// A stage that could not be opened.
struct Failing(Error);

impl Stage for Failing {
    fn pull(&mut self, _: usize) -> Result<Option<Rows>> {
        Err(self.0.clone())
    }

    fn is_unopened(&self) -> bool {
        true
    }
}

/// The elements of data sets, a block from each of a few in turn.
pub struct Interleave {
    read: Reader,
    open: Open,
    cycle: Vec<Option<Pull>>,
    block: usize,
    at_once: Option<(AtOnce, Arc<Gate>)>,
    /// Those that threads have begun with before it is their turn.
    begun: VecDeque<Pull>,
    place: usize,
    left: usize,
    ended: bool,
}

impl Interleave {
    /// Of the data sets that are opened for the elements of a stage `cycle` at a time, and `block` elements of each in turn;
    /// both at least 1.
    pub fn new(source: Pull, open: Open, cycle: usize, block: usize, at_once: Option<AtOnce>) -> Interleave {
        let at_once = at_once.map(|at_once| {
            let gate = Arc::new(Gate::new(at_once.count.max(1)));
            (at_once, gate)
        });
        Interleave {
            read: Reader::new(source),
            open,
            cycle: (0..cycle).map(|_| None).collect(),
            block,
            at_once,
            begun: VecDeque::new(),
            place: 0,
            left: block,
            ended: false,
        }
    }

    /// The next data set, opened.
    fn following(&mut self) -> Result<Option<Pull>> {
        let Some((at_once, gate)) = &self.at_once else {
            let leaves = self.read.read()?;
            self.ended = leaves.is_none();
            return leaves.map(|leaves| (self.open)(leaves)).transpose();
        };
        while self.begun.len() <= at_once.count && !self.ended {
            match self.read.read() {
                Err(error) => {
                    self.begun.push_back(Box::new(Failing(error)));
                    break;
                }
                Ok(None) => self.ended = true,
                Ok(Some(leaves)) => {
                    let open = self.open.clone();
                    let begin = (at_once.begin)();
                    let mut ahead = Ahead::new(move || open(leaves), self.block, Some(gate.clone()), begin);
                    ahead.start()?;
                    self.begun.push_back(Box::new(ahead));
                }
            }
        }
        Ok(self.begun.pop_front())
    }

    fn step(&mut self) {
        (self.place, self.left) = ((self.place + 1) % self.cycle.len(), self.block);
    }
}

impl Stage for Interleave {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        loop {
            goes_on()?;
            let place = self.place;
            if self.cycle[place].is_none() && (!self.begun.is_empty() || !self.ended) {
                self.cycle[place] = self.following()?;
                if self.cycle[place].is_none() {
                    continue;
                }
            }
            let Some(stage) = &mut self.cycle[place] else {
                if self.cycle.iter().all(Option::is_none) {
                    return Ok(None);
                }
                self.step();
                continue;
            };
            match stage.pull(limit.min(self.left)) {
                Err(error) => {
                    if stage.is_unopened() {
                        self.cycle[place] = None;
                    }
                    return Err(error);
                }
                Ok(Some(rows)) => {
                    self.left -= rows.count;
                    if self.left == 0 {
                        self.step();
                    }
                    return Ok(Some(rows));
                }
                Ok(None) => {
                    self.cycle[place] = None;
                    self.step();
                }
            }
        }
    }
}

/// Opens the data set that comes next; `None` at the end.
pub type Next = Box<dyn FnMut() -> Result<Option<Pull>> + Send>;

/// The elements of data sets, one set after the other.
pub struct FlatMap {
    next: Next,
    stage: Option<Pull>,
}

impl FlatMap {
    /// Of the data sets that come one after the other.
    pub fn of(next: Next) -> FlatMap {
        FlatMap { next, stage: None }
    }

    /// Of the data sets that are opened for the elements of a stage.
    pub fn new(source: Pull, open: Open) -> FlatMap {
        let mut read = Reader::new(source);
        FlatMap::of(Box::new(move || read.read()?.map(|leaves| open(leaves)).transpose()))
    }
}

impl Stage for FlatMap {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        loop {
            goes_on()?;
            let stage = match &mut self.stage {
                Some(stage) => stage,
                None => {
                    let Some(stage) = (self.next)()? else { return Ok(None) };
                    self.stage.insert(stage)
                }
            };
            if let Some(rows) = stage.pull(limit)? {
                return Ok(Some(rows));
            }
            self.stage = None;
        }
    }
}
