//! The surroundings of a run for hosts that have none of their own.

use penstock_data::Result;
use penstock_ir::{Env, Stream};

/// Prints to the process's streams, draws from a stream of its own, and is never interrupted.
#[derive(Debug)]
pub struct StdEnv {
    random: Stream,
}

impl StdEnv {
    /// With the stateful generator at the start of the stream of `seed`.
    pub const fn new(seed: u64) -> StdEnv {
        StdEnv { random: Stream::new(seed) }
    }

    /// Puts the stateful generator at the start of the stream of `seed`.
    pub fn set_seed(&self, seed: u64) {
        self.random.restart(seed);
    }
}

impl Default for StdEnv {
    fn default() -> StdEnv {
        StdEnv::new(0)
    }
}

impl Env for StdEnv {
    fn draw(&self, blocks: u64) -> Result<(u64, u128)> {
        Ok(self.random.draw(blocks))
    }
}
