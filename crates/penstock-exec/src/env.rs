//! The surroundings of a run for hosts that have none of their own.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use penstock_data::{Error, Result};
use penstock_ir::Env;

/// Prints to the process's streams, draws from one Philox stream, and is never interrupted.
#[derive(Debug)]
pub struct StdEnv {
    random: Mutex<(u64, u128)>,
}

impl StdEnv {
    /// With the stateful generator at the start of the stream of `seed`.
    pub const fn new(seed: u64) -> StdEnv {
        StdEnv { random: Mutex::new((seed, 0)) }
    }

    /// Puts the stateful generator at the start of the stream of `seed`.
    pub fn set_seed(&self, seed: u64) {
        *self.random.lock().unwrap_or_else(PoisonError::into_inner) = (seed, 0);
    }
}

impl Default for StdEnv {
    fn default() -> StdEnv {
        StdEnv::new(0)
    }
}

impl Env for StdEnv {
    fn print(&self, stream: &str, text: &str) -> Result<()> {
        let written = match stream {
            "stdout" => std::io::stdout().lock().write_all(text.as_bytes()),
            _ => match stream.strip_prefix("file://") {
                Some(path) => std::fs::OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(path)
                    .and_then(|mut file| file.write_all(text.as_bytes())),
                None => std::io::stderr().lock().write_all(text.as_bytes()),
            },
        };
        written.map_err(|e| Error::precondition(format!("cannot write to {stream}: {e}")))
    }

    fn draw(&self, blocks: u64) -> Result<(u64, u128)> {
        let mut state = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.1;
        state.1 = first.wrapping_add(u128::from(blocks));
        Ok((state.0, first))
    }

    fn poll(&self) -> Result<()> {
        Ok(())
    }
}
