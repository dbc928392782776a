//! Native code for the Penstock dataflow engine.
//!
//! A scalar region holds elementwise instructions on rank-0 tensors, and `cond`, `switch` and `while` over such
//! regions. [`Source::read`] takes it out of a graph, [`Native::compile`] makes machine code of it with Cranelift, one
//! module a region, and [`Native::run`] runs that on memory of the caller.
//!
//! The code gives bit for bit what the elementwise kernels give: the commonest operators have instructions of their
//! own (`emit.rs`), the others call their kernel on one element.
//!
//! [`vector`] is apart from that: loops over contiguous elements, assembled for the vectors of x86.

//!
//! Without the feature `cranelift` no region is compiled, and the vectors stay: that is for programs which are to be small.

#![cfg_attr(not(feature = "cranelift"), allow(dead_code, reason = "what regions are read for is not there"))]

#[cfg(not(feature = "cranelift"))]
mod absent;
mod arrays;
#[cfg(feature = "cranelift")]
mod compile;
#[cfg(feature = "cranelift")]
mod emit;
#[cfg(feature = "cranelift")]
mod ranges;
#[cfg(feature = "cranelift")]
mod residues;
mod source;
pub mod vector;
mod work;

#[cfg(not(feature = "cranelift"))]
pub use absent::Native;
#[cfg(feature = "cranelift")]
pub use compile::Native;
use penstock_data::Error;
pub use source::{ArrayResult, Source};

/// Why a run stopped.
pub enum Stop {
    /// The operator with this origin was given an operand that it rejects.
    Fault(u32),
    /// The host wanted it.
    Host(Error),
}
