//! The stage that shuffles.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use penstock_data::{Error, Result};
use penstock_trace::host;

use crate::ahead::goes_on;
use crate::pool::{PIECE, Pool, is_of_memory};
use crate::twister::Twister;
use crate::{Pull, Rows, Stage};

/// After how long the host is told that the buffer is being filled.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most rows that a stage is asked for.
const MOST: usize = isize::MAX as usize;

/// The elements in an order that is drawn from a buffer of the next ones.
pub struct Shuffle {
    source: Pull,
    draws: Twister,
    /// How many elements are drawn from, and how the user says it.
    size: usize,
    said: String,
    pool: Pool,
    /// The places in the pool of what is drawn from, and of elements that are read already and come into it next.
    order: Vec<usize>,
    ahead: VecDeque<usize>,
    ended: bool,
    error: Option<Error>,
}

impl Shuffle {
    /// Draws from a buffer of the next `size` elements, at least 1, or of all elements for `None`, in an order that `seed` fixes. `said`
    /// is the size as the user gave it.
    pub fn new(source: Pull, seed: u64, size: Option<usize>, said: String) -> Shuffle {
        Shuffle {
            source,
            draws: Twister::new(seed),
            size: size.unwrap_or(usize::MAX),
            said,
            pool: Pool::new(PIECE),
            order: Vec::new(),
            ahead: VecDeque::new(),
            ended: false,
            error: None,
        }
    }

    /// Sets the size in bytes of the pieces of memory that elements are kept in.
    #[must_use]
    pub fn in_pieces(self, bytes: usize) -> Shuffle {
        Shuffle { pool: Pool::new(bytes), ..self }
    }

    /// Reads what the next `limit` elements are drawn from, but the last of them only.
    fn fill(&mut self, limit: usize) -> Result<()> {
        let mut due: Option<Instant> = None;
        while !self.ended && self.error.is_none() {
            self.move_up();
            let more = if self.pool.is_stacked() { limit - 1 } else { 0 };
            let held = self.order.len() + self.ahead.len();
            let wanted = self.size.saturating_add(more).saturating_sub(held);
            if wanted == 0 {
                return Ok(());
            }
            goes_on()?;
            self.tell(&mut due)?;
            let rows = match self.source.pull(wanted.min(MOST)) {
                Ok(Some(rows)) => rows,
                Ok(None) => {
                    self.ended = true;
                    return Ok(());
                }
                Err(error) => {
                    self.error = Some(error);
                    return Ok(());
                }
            };
            let ahead = &mut self.ahead;
            self.error = self.pool.put(&rows, |at| ahead.push_back(at)).err().map(|error| {
                if !is_of_memory(&error) {
                    return error;
                }
                let message =
                    format!("is {}, there is no memory for more than {} elements", self.said, self.order.len());
                Error::exhausted(message).in_op("shuffle").argument("buffer_size")
            });
        }
        Ok(())
    }

    /// Has elements that were read come into the buffer, where there is room.
    fn move_up(&mut self) {
        let room = self.size - self.order.len();
        self.order.extend(self.ahead.drain(..room.min(self.ahead.len())));
    }

    /// Tells the host that the buffer is being filled, where that takes long.
    fn tell(&self, due: &mut Option<Instant>) -> Result<()> {
        let now = Instant::now();
        if *due.get_or_insert(now + PATIENCE) > now {
            return Ok(());
        }
        *due = Some(now + PATIENCE);
        let of = if self.size == usize::MAX { String::new() } else { format!(" of {}", self.said) };
        let text = format!("Filling up shuffle buffer (this may take a while): {}{of}\n", self.order.len());
        host().print("log:warning", &text)
    }
}

impl Stage for Shuffle {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        self.fill(limit)?;
        let most = if self.pool.is_stacked() { limit } else { 1 };
        let mut out = Vec::new();
        while out.len() < most {
            self.move_up();
            if self.order.len() < self.size && self.error.is_some() {
                match self.error.take() {
                    Some(error) if out.is_empty() => return Err(error),
                    waits => self.error = waits,
                }
                break;
            }
            if self.order.is_empty() {
                break;
            }
            let at = (self.draws.draw() * self.order.len() as f64) as usize;
            out.push(self.order.swap_remove(at));
        }
        if out.is_empty() { Ok(None) } else { self.pool.get(&out).map(Some) }
    }
}
