//! Models of ONNX. [`Model::load`] reads one; [`Model::program`] makes it a program of the engine; [`Model::run`] makes the
//! programs that a call needs, and runs them. [`export`] and [`save`] write a function of a program as a model.
//!
//! A model is not trusted: its bytes are checked before memory is taken, graphs and calls nest within limits, and data
//! outside of the file are read from the model's directory alone.
//!
//! Some operators need to know while the graph is made what is an operand in ONNX, such as axes. Constants are computed
//! while a model is read, so that nearly all of them are known. Where one comes from an input of the model, a program is
//! made for each value of that input; where it comes from an extent that the model does not say, for the extents of the
//! inputs.

mod cx;
mod export;
mod import;
mod model;
mod ops;
mod proto;
mod tensor;

pub use export::{ExportOptions, export, exported_operators, save};
pub use model::{Model, Options, Port, tensor_from_bytes};
