//! SavedModels of TensorFlow: directories with `saved_model.pb`, the values of variables, and files of assets.
//!
//! [`load_saved_model`] gives a program as `penstock-format` has them: its functions are those that the objects own, with a
//! text `objects` that describes these, as `tf.saved_model.save` writes it; its signatures are those of the SavedModel.
//!
//! A file is not trusted: memory is taken by what it holds, nothing but the files of the directory is opened, functions read and
//! write files only where [`LoadOptions`] allow it, and graphs are built by the builder, which checks each instruction.

mod export;
mod lower;
mod objects;
mod proto;
mod table;
mod tables;
mod v1;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use penstock_data::{Error, Result};
use penstock_format::Program;

pub use export::{function_library, save_saved_model, saved_model_operators};

use crate::BundleReader;

/// The file that a directory must have.
const FILE: &str = "saved_model.pb";
/// The prefix of the values of variables.
const VARIABLES: &str = "variables/variables";
/// A file is at most so large, which TensorFlow's own limit is.
const LARGEST: u64 = 1 << 31;

/// What a directory held.
pub struct SavedModel {
    /// The functions that could be converted.
    pub program: Program,
    /// Why others could not, by name: what they need that there is not here.
    pub refused: BTreeMap<String, String>,
}

/// What a SavedModel may do.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    /// Whether its functions may read and write files.
    pub files: bool,
}

/// Loads a SavedModel of TensorFlow.
///
/// The graph with the tag `serve` is taken, or the first one. Functions that need an operator that there is not here are left
/// out, with the reason.
///
/// # Errors
/// `NotFound` where there is none; `InvalidArgument` for one that is damaged; `ResourceExhausted` for one that would take
/// more memory than its size allows.
pub fn load_saved_model(directory: impl AsRef<Path>) -> Result<SavedModel> {
    load_saved_model_with(directory, LoadOptions::default())
}

/// As [`load_saved_model`], with what its functions may do besides.
///
/// # Errors
/// As there.
pub fn load_saved_model_with(directory: impl AsRef<Path>, options: LoadOptions) -> Result<SavedModel> {
    let directory = directory.as_ref();
    let path = directory.join(FILE);
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(format!("{}: there is no SavedModel", directory.display())),
        _ => Error::invalid(format!("{}: {e}", path.display())),
    };
    let mut file = File::open(&path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    if size > LARGEST {
        return Err(Error::exhausted(format!("{}: {size} bytes, more than {LARGEST}", path.display())));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(size).read_to_end(&mut bytes).map_err(failed)?;
    let prefix = directory.join(VARIABLES);
    let bundle = match prefix.with_extension("index").exists() {
        true => Some(BundleReader::open(&prefix)?),
        false => None,
    };
    parse(&bytes, bundle.as_ref(), Some(directory), options.files)
}

/// The functions of the bytes of `saved_model.pb`, with the values of variables. Tables that are filled from files are not
/// there.
///
/// # Errors
/// As [`load_saved_model`].
pub fn parse_saved_model(bytes: &[u8], bundle: Option<&BundleReader>) -> Result<SavedModel> {
    parse(bytes, bundle, None, false)
}

fn parse(bytes: &[u8], bundle: Option<&BundleReader>, directory: Option<&Path>, files: bool) -> Result<SavedModel> {
    let mut budget = proto::Budget::of(bytes.len());
    let mut graphs = proto::meta_graphs(bytes, &mut budget)?;
    let serving = graphs.iter().position(|graph| graph.tags.contains(&"serve")).unwrap_or(0);
    if graphs.is_empty() {
        return Err(crate::damaged(proto::SECTION, "it holds no graph"));
    }
    let graph = graphs.swap_remove(serving);
    let mut builder = Program::builder();
    let refused = match graph.objects.is_empty() {
        true => v1::import(graph, bundle, directory, files, &mut builder)?,
        false => objects::import(graph, bundle, directory, files, &mut builder)?,
    };
    Ok(SavedModel { program: builder.finish()?, refused })
}

/// The operators that are missing, for a message.
fn listed(missing: &BTreeMap<String, usize>) -> String {
    let names: Vec<String> = missing.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    format!("TensorFlow's operators that there are not here, with how many nodes need each: {}", names.join(", "))
}
