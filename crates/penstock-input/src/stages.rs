//! Stages that pass on some of the rows.

use penstock_data::Result;

use crate::ahead::goes_on;
use crate::{CHUNK_BYTES, Pull, Rows, Stage};

/// The first elements.
pub struct Take {
    source: Pull,
    left: usize,
}

impl Take {
    /// At most `count` elements of a stage.
    pub fn new(source: Pull, count: usize) -> Take {
        Take { source, left: count }
    }
}

impl Stage for Take {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        if self.left == 0 {
            return Ok(None);
        }
        let rows = self.source.pull(limit.min(self.left))?;
        self.left -= rows.as_ref().map_or(0, |rows| rows.count);
        Ok(rows)
    }
}

/// What comes after the first elements.
pub struct Skip {
    source: Pull,
    left: usize,
    most: usize,
}

impl Skip {
    /// What a stage gives after `count` elements.
    pub fn new(source: Pull, count: usize) -> Skip {
        Skip { source, left: count, most: 16 }
    }
}

impl Stage for Skip {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        while self.left > 0 {
            goes_on()?;
            let Some(rows) = self.source.pull(self.left.min(self.most))? else { return Ok(None) };
            self.left -= rows.count;
            self.most = (CHUNK_BYTES / rows.bytes_each()).max(1);
        }
        self.source.pull(limit)
    }
}
