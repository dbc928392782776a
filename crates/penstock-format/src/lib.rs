//! Programs in files: functions with names, the variables and constants that they work on, and what programs outside need
//! to know to call them. No Python is needed to save, load or run one.
//!
//! A [`Program`] is put together by a [`ProgramBuilder`], or loaded, by [`Program::load`] or within limits by a [`Loader`].
//! The file is a valid safetensors file, see `container.rs`: other programs can read the weights. Its texts are
//!
//! | name | what it is |
//! |---|---|
//! | `penstock.crc32c` | the checksum of the header |
//! | `penstock.format` | the number of the format |
//! | `penstock.manifest` | functions, signatures, variables, operators with their versions, checksums of the arrays: JSON |
//! | `penstock.program` | the graphs as they were traced, in the text form of `penstock-ir`; a constant of more than 64 bytes is an array |
//! | others | the writer's own, see [`Program::text`] |
//!
//! A program that is loaded is not trusted: it reaches no host code, and no file unless [`Loader::files`] allows it. A file
//! is read as a whole, unless [`Loader::load_mapped`] maps it into memory: that is for files that nobody changes.

mod arrays;
mod container;
mod manifest;
mod mapped;
mod program;
mod read;
mod write;

pub use program::{Capture, Program, ProgramBuilder, ProgramFunction, ProgramVariable};
pub use read::{Limits, Loader};
pub use write::{SaveOptions, replace_file};

/// The names of the texts of a file.
const FORMAT_TEXT: &str = "penstock.format";
const MANIFEST_TEXT: &str = "penstock.manifest";
const PROGRAM_TEXT: &str = "penstock.program";

/// Whether the optimiser alone makes instructions of an operator: programs hold graphs as they were traced.
fn is_made_by_optimiser(op: &penstock_ir::OpDef) -> bool {
    penstock_ops::fused::OPS.iter().any(|made| made.is(op))
}
