//! CPU kernels on raw, contiguous, row-major memory.
//!
//! Kernels know dtypes and pointers, not tensors or graphs. Nearly all `unsafe` code of the project
//! is here; each function's contract says what memory it reads and writes.

#![allow(
    clippy::needless_range_loop,
    clippy::excessive_precision,
    reason = "one index over several arrays is the form that vectorises; coefficients are as published"
)]

mod algebra;
#[cfg(target_arch = "x86_64")]
mod amx;
mod arch;
mod binary;
mod broadcast;
pub mod byte_copies;
mod cast;
mod channel_tile;
mod complex;
pub mod conv;
mod conv_index;
pub mod copy;
pub mod cost;
mod depthwise;
pub mod elimination;
mod erf;
pub mod few_product;
mod few_rows;
mod filter_grad;
pub mod fold;
pub mod formula;
mod gamma;
pub mod gather;
mod geometry;
mod greatest;
mod hyperbolic;
mod integer_tile;
mod inverse;
pub mod logsumexp;
mod loops;
mod math;
mod math32;
mod math64;
pub mod matmul;
mod num;
mod pack;
mod padded_rows;
pub mod pool;
pub mod pooling;
pub mod positions;
mod power;
mod product;
pub mod product_i8;
pub mod random;
pub mod random_shapes;
mod reduce;
mod register_tile;
pub mod right;
pub mod rows;
mod scan;
pub mod segment;
pub mod softmax;
pub mod sort;
mod sort_keys;
mod special;
pub mod stack;
mod thread_pool;
mod trig;
mod unary;
#[cfg(target_arch = "x86_64")]
mod vector_sort;

pub use arch::{Level, level};
pub use binary::{Binary, binary, binary_dtypes, binary_formula, binary_output, binary_parts};
pub use broadcast::{broadcast_dims, elementwise, elementwise_flat};
pub use cast::{cast, select};
pub use formula::Formula;
pub use loops::{Fault, Lane, LoopFn};
pub use matmul::{matmul, matmul_batched};
pub use random::{Philox, TRIES, unit64};
pub use reduce::{Reduce, reduce, reduce_dtypes};
pub use scan::{ARG_REDUCE_DTYPES, CUMULATIVE_DTYPES, Cumulative, arg_reduce, cumulative, recurrence};
pub use unary::{Unary, unary, unary_dtypes, unary_formula, unary_output, unary_parts};
