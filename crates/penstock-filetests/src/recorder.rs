//! Surroundings of a run whose effects can be compared.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use penstock_data::Result;
use penstock_ir::{Activity, Detail, Env, Profiler, Span};

/// Records what is printed, and draws random numbers from one fixed stream.
#[derive(Debug, Default)]
pub struct Recorder {
    printed: Mutex<String>,
    drawn: Mutex<u128>,
    steps: Option<Mutex<BTreeMap<&'static str, usize>>>,
}

impl Recorder {
    /// One that counts the steps of plans, too.
    pub fn counting() -> Recorder {
        Recorder { steps: Some(Mutex::default()), ..Recorder::default() }
    }

    /// How many steps of each kind ran.
    pub fn steps(&self) -> BTreeMap<&'static str, usize> {
        self.steps.as_ref().map(|s| s.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap_or_default()
    }

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

    fn profiler(&self) -> Option<&dyn Profiler> {
        self.steps.as_ref().map(|_| self as &dyn Profiler)
    }
}

impl Profiler for Recorder {
    fn detail(&self) -> Detail {
        Detail::All
    }

    fn ended(&self, span: &Span<'_>) {
        if let Some(steps) = &self.steps
            && span.activity == Activity::Operator
        {
            *steps.lock().unwrap_or_else(PoisonError::into_inner).entry(span.kind).or_default() += 1;
        }
    }
}
