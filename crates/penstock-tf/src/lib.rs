//! TensorFlow's files. A checkpoint is a bundle of tensors by key, in `<prefix>.index` and `<prefix>.data-00000-of-00001`:
//! [`BundleReader`] and [`BundleWriter`]. Under one key is the [`ObjectGraph`], which says what owned the tensors.
//!
//! What is read is not trusted: every length is checked against the bytes there are before memory is taken, and every
//! tensor against its checksum.

mod bundle;
mod object_graph;
mod slices;
mod table;
mod wire;

pub use bundle::{BundleReader, BundleWriter, Entry};
pub use object_graph::{Attribute, Node, OBJECT_GRAPH_KEY, ObjectGraph, Slot};

use penstock_data::Error;

/// The checksum as TensorFlow stores it: so that the checksum of bytes that hold checksums is a good one.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// What is wrong with a section of a file.
fn damaged(section: &str, what: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the checkpoint is damaged: {section}: {what}"))
}
