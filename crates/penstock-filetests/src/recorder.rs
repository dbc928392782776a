//! Surroundings of a run whose effects can be compared.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use penstock_data::Result;
use penstock_ir::Env;

/// Records what is printed, and draws random numbers from one fixed stream.
#[derive(Debug, Default)]
pub struct Recorder {
    printed: Mutex<String>,
    drawn: Mutex<u128>,
}

impl Recorder {
    /// What was printed: `stdout: text` for each text, with its line ends escaped.
    pub fn printed(&self) -> String {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Env for Recorder {
    fn print(&self, stream: &str, text: &str) -> Result<()> {
        crate::hosts::note(format_args!("{stream}: {}", text.escape_debug()));
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(printed, "{stream}: {}", text.escape_debug());
        Ok(())
    }

    fn draw(&self, blocks: u64) -> Result<(u64, u128)> {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *drawn;
        *drawn = first.wrapping_add(u128::from(blocks));
        Ok((42, first))
    }

    fn poll(&self) -> Result<()> {
        Ok(())
    }
}
