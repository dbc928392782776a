//! Programs into files.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{Function, Locations, PrintOptions, print_functions};

use crate::arrays::Arrays;
use crate::container::{header, layout};
use crate::manifest::{CaptureEntry, FORMAT, FunctionEntry, Manifest, VariableEntry, operators, version};
use crate::program::{Capture, Program, guard};
use crate::{FORMAT_TEXT, MANIFEST_TEXT, PROGRAM_TEXT};

/// Constants of more bytes than this stand beside the text, not in it.
const INLINE: usize = 64;

/// How a program is saved.
#[derive(Clone, Copy, Debug)]
pub struct SaveOptions {
    /// What is kept of the places in the source where instructions were written. By default the names of files, without
    /// their directories.
    pub locations: Locations,
}

impl Default for SaveOptions {
    fn default() -> SaveOptions {
        SaveOptions { locations: Locations::Names }
    }
}

impl Program {
    /// The bytes of a file that holds the program, with the values that its variables have now. Equal programs give
    /// equal bytes.
    ///
    /// # Errors
    /// `FailedPrecondition` for what cannot be saved: a list of tensors, or what the optimiser has made.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_bytes_with(SaveOptions::default())
    }

    /// As [`Program::to_bytes`], by these options.
    ///
    /// # Errors
    /// As [`Program::to_bytes`].
    pub fn to_bytes_with(&self, options: SaveOptions) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.encode(options)?.write(&mut out).map_err(|e| Error::internal(e.to_string()))?;
        Ok(out)
    }

    /// Writes the program to a file, as a whole or not at all: whoever reads the path meanwhile, or after a crash, finds
    /// what was there before or the whole program.
    ///
    /// # Errors
    /// As [`Program::to_bytes`]; `NotFound` where the directory is not there; `FailedPrecondition` where the file cannot
    /// be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, SaveOptions::default())
    }

    /// As [`Program::save`], by these options.
    ///
    /// # Errors
    /// As [`Program::save`].
    pub fn save_with(&self, path: impl AsRef<Path>, options: SaveOptions) -> Result<()> {
        let (path, encoded) = (path.as_ref(), self.encode(options)?);
        replace(path, &|file| encoded.write(file)).map_err(|e| {
            let message = format!("cannot save the program to {}: {e}", path.display());
            match e.kind() {
                std::io::ErrorKind::NotFound => Error::not_found(message),
                _ => Error::precondition(message),
            }
        })
    }

    fn encode(&self, options: SaveOptions) -> Result<Encoded> {
        guard(|| self.encoded(options))
    }

    fn encoded(&self, options: SaveOptions) -> Result<Encoded> {
        let mut arrays = Arrays::default();
        let functions: Vec<Arc<Function>> = self.shared.functions.iter().map(|f| f.function.clone()).collect();
        let operators = operators(&functions);
        if let Some(made) = operators.values().find(|op| crate::is_made_by_optimiser(op)) {
            return Err(Error::precondition("is made by the optimiser, and cannot be saved").in_op(made.name));
        }
        let mut failed = None;
        let options = PrintOptions { locs: options.locations, elide: None };
        let mut sink = |tensor: &Tensor| {
            if tensor.dtype() == DType::Variant {
                failed = Some(Error::precondition("a constant that is a list of tensors cannot be saved"));
                return None;
            }
            let strings = if tensor.dtype() == DType::Str { tensor.strings() } else { &[] };
            let bytes = tensor.byte_len() + strings.iter().map(|s| s.len()).sum::<usize>();
            if bytes <= INLINE && tensor.table().is_none() {
                return None;
            }
            arrays.constant(tensor).map_err(|e| failed = Some(e)).ok()
        };
        let (text, names) = print_functions(&functions, &options, &mut sink)?;
        if let Some(error) = failed {
            return Err(error);
        }
        let mut entries = Vec::new();
        for (entry, graph) in self.shared.functions.iter().zip(names) {
            let captures = entry.captures.iter().map(|capture| {
                Ok(match capture {
                    Capture::Variable(i) => CaptureEntry::Variable(*i),
                    Capture::Constant(t) => CaptureEntry::Constant(arrays.constant(t)?),
                })
            });
            let captures = captures.collect::<Result<_>>()?;
            let (inputs, outputs) = (entry.inputs.clone(), entry.outputs.clone());
            entries.push(FunctionEntry { name: entry.name.clone(), graph, inputs, outputs, captures });
        }
        let mut variables = Vec::new();
        for (i, v) in self.variables.iter().enumerate() {
            let (name, dtype, shape) = (v.variable.name(), v.variable.dtype(), v.variable.shape());
            let mut value = None;
            if v.variable.is_initialized() {
                let key = format!("variables/{i}/{name}");
                arrays.push(key.clone(), &v.variable.read()?)?;
                value = Some(key);
            }
            let (dtype, shape) = (dtype.name().to_owned(), VariableEntry::dims(shape));
            variables.push(VariableEntry { name: name.to_owned(), dtype, shape, trainable: v.trainable, value });
        }
        let manifest = Manifest {
            producer: format!("penstock {}", env!("CARGO_PKG_VERSION")),
            min_reader: FORMAT,
            operators: operators.keys().map(|&name| (name.to_owned(), version(name))).collect(),
            functions: entries,
            signatures: self.shared.signatures.clone(),
            variables,
            checksums: arrays.list.iter().map(|a| (a.key.clone(), a.crc)).collect(),
        };
        let manifest = serde_json::to_string(&manifest).map_err(|e| Error::internal(e.to_string()))?;
        let format = FORMAT.to_string();
        let mut texts = vec![(FORMAT_TEXT, &*format), (MANIFEST_TEXT, &*manifest), (PROGRAM_TEXT, &*text)];
        texts.extend(self.shared.texts.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        let lengths: Vec<usize> = arrays.list.iter().map(|a| a.len()).collect();
        let order = layout(&lengths);
        let described: Vec<_> = order
            .iter()
            .map(|&i| (arrays.list[i].key.clone(), arrays.list[i].dtype, arrays.list[i].shape.clone(), lengths[i]))
            .collect();
        Ok(Encoded { header: header(&texts, &described)?, arrays, order })
    }
}

/// A program ready to be written.
struct Encoded {
    header: Vec<u8>,
    arrays: Arrays,
    /// The order of the arrays in the file.
    order: Vec<usize>,
}

impl Encoded {
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(&self.header)?;
        self.order.iter().try_for_each(|&i| self.arrays.list[i].write(out))
    }
}

/// Puts bytes in the place of what is at `path`, atomically: a reader finds the old or the new file, after a crash too.
///
/// # Errors
/// What the file system says.
pub fn replace_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    replace(path, &|file| file.write_all(bytes))
}

/// Puts a file in the place of what is at `path`, at once: a new file beside it is written, brought to the disk, and renamed.
fn replace(path: &Path, write: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> std::io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or(std::io::ErrorKind::InvalidFilename)?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let temporary = directory.join(temporary);
    let written = || {
        let mut file =
            BufWriter::with_capacity(1 << 16, OpenOptions::new().write(true).create_new(true).open(&temporary)?);
        write(&mut file)?;
        file.into_inner()?.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    written().inspect_err(|_| drop(std::fs::remove_file(&temporary)))?;
    // The name is on the disk with the directory, where directories can be opened.
    File::open(directory).and_then(|d| d.sync_all()).or(Ok(()))
}
