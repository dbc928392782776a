//! TensorFlow's files. A checkpoint is a bundle of tensors by key, in `<prefix>.index` and `<prefix>.data-00000-of-00001`:
//! [`BundleReader`] and [`BundleWriter`]. Under one key is the [`ObjectGraph`], which says what owned the tensors.
//!
//! A SavedModel becomes a program, [`load_saved_model`], and a program a SavedModel, [`save_saved_model`].
//!
//! What is read is not trusted: every length is checked against the bytes there are before memory is taken, and every
//! tensor against its checksum.

mod bundle;
mod object_graph;
mod saved_model;
mod slices;
mod table;

pub use bundle::{BundleReader, BundleWriter, Entry, dtype_number};
pub use object_graph::{Attribute, Node, OBJECT_GRAPH_KEY, ObjectGraph, Slot};
pub use saved_model::{
    LoadOptions, SavedModel, function_library, load_saved_model, load_saved_model_with, parse_saved_model,
    save_saved_model, saved_model_operators,
};

use penstock_data::{Error, Result};
use penstock_wire::Field;

/// The checksum as TensorFlow stores it: so that the checksum of bytes that hold checksums is a good one.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// What is wrong with a section of a file.
fn damaged(section: &str, what: impl std::fmt::Display) -> Error {
    Error::data_loss(format!("the file is damaged: {section}: {what}"))
}

/// Calls `visit` with each field of a message of a section.
fn fields<'a>(section: &str, bytes: &'a [u8], visit: impl FnMut(u64, Field<'a>) -> Result<()>) -> Result<()> {
    penstock_wire::fields(bytes, |what| damaged(section, what), visit)
}
