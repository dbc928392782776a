//! Differentiation, and mapping over an axis, for the Penstock dataflow engine.
//!
//! An operator's derivative is one rule ([`penstock_ir::Vjp`]) written against an emitter.
//!
//! - A [`Tape`] applies rules to what was recorded, through a [`Dispatcher`] that executes them.
//! - [`gradients_in`] applies them to the instructions of a graph under construction.
//! - [`vjp_function`] makes of a function one that keeps what its derivative needs, and the derivative.
//!
//! Forward mode follows from the same rules: an [`Accumulator`] keeps the tangents of what is computed,
//! [`tangents_of`] gives those of one operation, and [`jvp_function`] makes of a function one that
//! carries them along. [`batch_function`] makes of a function one that maps it over a leading axis.
//!
//! All three ways of reverse mode give graphs or runs that can be differentiated in turn. To call a function under
//! several tapes, call [`VjpPair::forward`] under all but the innermost, and record on that
//! one, with [`Tape::record_custom`], a call of `backward`.

mod accumulator;
mod batch;
mod forward;
mod function;
mod graph;
mod jvp;
mod repeat;
mod reverse;
mod rows;
mod rules;
mod segments;
mod sums;
mod tape;

pub use accumulator::Accumulator;
pub use batch::{Batched, batch_by_loop, batch_function};
pub use forward::{JvpFunction, jvp_function};
pub use function::{Residual, VjpPair, vjp_function};
pub use graph::{Influence, Request, captures, gradients_in};
pub use rows::{ByRows, Given, by_rows, row_pieces};
pub use tape::{Backward, CustomVjp, Dispatcher, Grad, Handle, Rows, RowsVjp, Tape, tangents_of};
