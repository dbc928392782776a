//! Shared test machinery of the engine: file tests, random graphs, and when two results are the same.
//!
//! A file test is a graph in its text form with the outcome that it must have:
//!
//! ```text
//! test run
//! args f32[2] [1,2], f32[] 3
//! func @main(%0: f32[2], %1: f32[]) -> f32[2] {
//!   %2 = mul %0, %1
//!   return %2
//! }
//! ---
//! f32[2] [3,6]
//! ```
//!
//! The head names what is done ([`Kind`]) and gives its options; a line `---` separates the outcome.
//! A failure is an outcome too: `error: InvalidArgument: …`. With `BLESS=1` in the environment the
//! outcomes are written anew.

mod compare;
mod diff;
mod file;
mod hosts;
mod idioms;
mod kinds;
mod random;
mod recorder;

pub use compare::{same_function, same_tensor};
pub use diff::diff;
pub use file::{TestFile, run_directory};
pub use hosts::hosts;
pub use kinds::{Kind, Trace, agree, arguments, run_tiers, run_tiers_with, show, trace};
pub use random::{RandomGraph, RandomOptions, random_graph, random_graphs};
pub use recorder::Recorder;
