//! Reverse-mode differentiation for the Penstock dataflow engine.
//!
//! An operator's derivative is one rule ([`penstock_ir::Vjp`]) written against an emitter.
//!
//! - A [`Tape`] applies rules to what was recorded, through a [`Dispatcher`] that executes them.
//! - [`gradients_in`] applies them to the instructions of a graph under construction.
//! - [`vjp_function`] makes of a function one that keeps what its derivative needs, and the derivative.
//!
//! All three give graphs or runs that can be differentiated in turn. To call a function under
//! several tapes, call `forward` of its [`VjpPair`] under all but the innermost, and record on that
//! one, with [`Tape::record_custom`], a call of `backward`.

mod function;
mod graph;
mod repeat;
mod reverse;
mod rules;
mod tape;

pub use function::{Residual, VjpPair, vjp_function};
pub use graph::{Request, captures, gradients_in};
pub use tape::{Backward, CustomVjp, Dispatcher, Handle, Tape};
