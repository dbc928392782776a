//! Data sets without an interpreter: sources, and stages that take rows from another one.
//!
//! A [`Stage`] is asked for its next rows, which are one element or columns of several. Stages that only compute run on the
//! thread that asks; [`Ahead`] asks on a thread of its own, before anybody needs the rows. What a host adds, such as functions
//! of its own and stages in its language, comes in by [`Function`], [`Open`] and further implementations of [`Stage`].

mod ahead;
mod batch;
mod files;
mod groups;
mod interleave;
mod map;
mod padded;
mod pool;
mod reduce;
mod rows;
mod shuffle;
mod sources;
mod stages;
mod twister;
mod unique;
mod windows;

pub use ahead::{Ahead, Begin, Gate};
pub use batch::Batch;
pub use files::{Files, Format, Refuse};
pub use groups::{Groups, OpenWindow, WindowSize};
pub use interleave::{AtOnce, FlatMap, Interleave, Next, Open};
pub use map::{Filter, Function, Map};
pub use padded::{PaddedBatch, Padding};
pub use reduce::{Batches, Given, Pads};
pub use rows::{Leaves, Reader, Rows};
pub use shuffle::Shuffle;
pub use sources::{AtHand, Numbers, Slices};
pub use stages::{Skip, Take};
pub use unique::Unique;
pub use windows::{WindowBatches, WindowRows, Windows};

use penstock_data::Result;

/// How much memory rows that nobody has asked for may take.
pub const CHUNK_BYTES: usize = 1 << 20;

/// A stage that was opened, at its next row.
pub trait Stage: Send {
    /// The next rows, at most `limit` of them and at least one; `None` at the end. After an error it may be called again.
    ///
    /// # Errors
    /// Those of the element that comes next.
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>>;
    /// Whether an error came of opening the stage, so that there is nothing behind it.
    fn is_unopened(&self) -> bool {
        false
    }
}

/// A stage of any kind.
pub type Pull = Box<dyn Stage>;
