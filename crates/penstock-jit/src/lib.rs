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

mod arrays;
mod compile;
mod emit;
mod ranges;
mod residues;
mod source;
pub mod vector;
mod work;

pub use compile::{Native, Stop};
pub use source::{ArrayResult, Source};
