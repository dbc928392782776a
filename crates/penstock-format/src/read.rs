//! Programs out of files.

#![expect(unsafe_code, reason = "whoever maps a file warrants that nobody changes it")]

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use penstock_data::{Error, Result};
use penstock_exec::Variable;
use penstock_ir::{Attrs, Function, HostRef, OpDef, OpSet, Resolvers, parse_functions};
use penstock_ops::{Ops, OpsAndFiles};

use crate::arrays::Loaded;
use crate::container::{damaged, in_section, read_header};
use crate::manifest::{CaptureEntry, FORMAT, FunctionEntry, Manifest, VariableEntry, version};
use crate::mapped::Mapped;
use crate::program::{Capture, Entry, Program, ProgramBuilder, each_graph, guard};
use crate::{FORMAT_TEXT, MANIFEST_TEXT, PROGRAM_TEXT};

/// How large a program may be that is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The bytes of the file.
    pub bytes: u64,
    /// The instructions of all graphs.
    pub instructions: usize,
    /// How deep regions may nest. What the parser takes at all bounds it too.
    pub nesting: usize,
}

impl Limits {
    /// No limit but those of the machine and of the parser.
    pub const NONE: Limits = Limits { bytes: u64::MAX, instructions: usize::MAX, nesting: usize::MAX };
}

/// Loads programs, within limits and with what it allows them to reach. By default there are no limits, and a program may
/// reach neither files nor host code: it is code of whoever wrote it.
#[derive(Clone, Debug)]
pub struct Loader {
    limits: Limits,
    files: bool,
    hosts: Vec<HostRef>,
    threads: usize,
}

impl Default for Loader {
    fn default() -> Loader {
        Loader { limits: Limits::NONE, files: false, hosts: Vec::new(), threads: 0 }
    }
}

impl Loader {
    /// A loader without limits, whose programs may reach neither files nor host code.
    pub fn new() -> Loader {
        Loader::default()
    }

    /// How large a program may be.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Loader {
        Loader { limits, ..self }
    }

    /// Whether a program may read and write files, by `read_file`, `write_file`, and `print` with a stream `file://<path>`.
    #[must_use]
    pub fn files(self, files: bool) -> Loader {
        Loader { files, ..self }
    }

    /// How many threads a run may use, the calling one included; 0 stands for no limit.
    #[must_use]
    pub fn threads(self, threads: usize) -> Loader {
        Loader { threads, ..self }
    }

    /// Loads a file, which is read as a whole: what happens to it later does not matter.
    ///
    /// # Errors
    /// `NotFound` where it is not there; as [`Loader::from_bytes`].
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Program> {
        let (file, size) = open(path.as_ref())?;
        self.read(&mut BufReader::with_capacity(1 << 16, file), size)
    }

    /// Loads a file whose weights stay where they are, mapped into memory: they are read when a run first uses them, and
    /// processes that map one file share them. Their checksums are not looked at, that of the header is.
    ///
    /// # Safety
    /// Nobody changes or shortens the file as long as the program, one of its forks or one of its tensors lives. A file that
    /// is replaced by renaming another to its place, as [`Program::save`] does, is not changed.
    ///
    /// # Errors
    /// As [`Loader::load`].
    pub unsafe fn load_mapped(&self, path: impl AsRef<Path>) -> Result<Program> {
        let (file, size) = open(path.as_ref())?;
        self.allow(size)?;
        // SAFETY: the caller warrants that the file is not changed while a tensor keeps it mapped.
        let mapped = unsafe { Mapped::open(&file) };
        let file = mapped.map_err(|e| unread(path.as_ref(), &e))?;
        guard(|| self.decode(&mut file.bytes(), file.bytes().len() as u64, Some(&file)))
    }

    /// Loads what [`Program::to_bytes`] gave.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no program, was changed, or holds what this release does not know: the message names
    /// the section; `FailedPrecondition` for a program that reaches what it may not, or is of a later format;
    /// `ResourceExhausted` for one beyond the limits. Never panics on any bytes.
    pub fn from_bytes(&self, mut bytes: &[u8]) -> Result<Program> {
        let size = bytes.len() as u64;
        self.read(&mut bytes, size)
    }

    fn allow(&self, size: u64) -> Result<()> {
        if size > self.limits.bytes {
            return Err(Error::exhausted(format!("a program of {size} bytes, allowed are {}", self.limits.bytes)));
        }
        Ok(())
    }

    fn read(&self, source: &mut dyn Read, size: u64) -> Result<Program> {
        self.allow(size)?;
        guard(|| self.decode(source, size, None))
    }

    /// A program of `size` bytes, whose arrays stay in `mapped`, where that is given, else are read from `source`.
    fn decode(&self, source: &mut dyn Read, size: u64, mapped: Option<&Mapped>) -> Result<Program> {
        let mut header = read_header(source, size)?;
        let mut text = |name: &str| header.texts.remove(name).ok_or_else(|| damaged(name, "is missing"));
        let format: u32 = text(FORMAT_TEXT)?.parse().map_err(|_| damaged(FORMAT_TEXT, "is no number"))?;
        let (manifest, program) = (text(MANIFEST_TEXT)?, text(PROGRAM_TEXT)?);
        if format == 0 {
            return Err(damaged(FORMAT_TEXT, "is no format"));
        }
        let manifest: Manifest = serde_json::from_str(&manifest).map_err(|e| {
            let damage = damaged(MANIFEST_TEXT, &e);
            if format > FORMAT { later(format) } else { damage }
        })?;
        if manifest.min_reader > FORMAT {
            return Err(later(format));
        }
        known(&manifest)?;
        let arrays = match mapped {
            Some(file) => Loaded::mapped(file, header.data, &header.arrays)?,
            None => Loaded::read(source, &header.arrays, &manifest.checksums)?,
        };
        let functions = self.parse(&program, &arrays)?;
        self.assemble(manifest, &functions, &arrays, header.texts).map_err(|e| in_section(MANIFEST_TEXT, &e))
    }

    /// The functions of the text form, by their names in it.
    fn parse(&self, text: &str, arrays: &Loaded) -> Result<HashMap<String, Arc<Function>>> {
        if text.is_empty() {
            return Ok(HashMap::new());
        }
        let ops = Admitted { files: self.files };
        let hosts = |name: &str| self.hosts.iter().find(|h| h.0.name() == name).cloned();
        let constants = |key: &str| arrays.tensor(key).ok();
        let resolvers = Resolvers { hosts: &hosts, constants: &constants };
        let functions = parse_functions(text, &ops, resolvers).map_err(|e| in_section(PROGRAM_TEXT, &e))?;
        let (mut instructions, mut depth) = (0, 0);
        each_graph(&functions, |graph| {
            instructions += graph.insts.len();
            depth = depth.max(graph.depth());
        });
        for (what, got, limit) in
            [("instructions", instructions, self.limits.instructions), ("nested regions", depth, self.limits.nesting)]
        {
            if got > limit {
                return Err(Error::exhausted(format!("a program of {got} {what}, allowed are {limit}")));
            }
        }
        Ok(functions.into_iter().map(|f| (f.name().to_owned(), f)).collect())
    }

    fn assemble(
        &self,
        manifest: Manifest,
        functions: &HashMap<String, Arc<Function>>,
        arrays: &Loaded,
        texts: BTreeMap<String, String>,
    ) -> Result<Program> {
        let mut builder = ProgramBuilder::default();
        for entry in &manifest.variables {
            builder.variable(variable(entry, arrays)?, entry.trainable);
        }
        for entry in manifest.functions {
            builder.entry(function(entry, functions, arrays)?);
        }
        for (name, index) in manifest.signatures {
            builder.signature(&name, index);
        }
        for (name, text) in texts {
            builder.text(&name, &text);
        }
        Ok(builder.finish()?.with_threads(self.threads))
    }
}

#[cold]
fn unread(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("cannot load the program {}: {error}", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(message),
        _ => Error::precondition(message),
    }
}

/// A file and its size.
fn open(path: &Path) -> Result<(File, u64)> {
    let file = File::open(path).map_err(|e| unread(path, &e))?;
    let about = file.metadata().map_err(|e| unread(path, &e))?;
    if !about.is_file() {
        return Err(Error::precondition(format!("cannot load the program {}: it is no file", path.display())));
    }
    Ok((file, about.len()))
}

impl Program {
    /// Loads a file: as [`Loader::load`], without limits.
    ///
    /// # Errors
    /// As [`Loader::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Program> {
        Loader::new().load(path)
    }

    /// Loads what [`Program::to_bytes`] gave: as [`Loader::from_bytes`], without limits.
    ///
    /// # Errors
    /// As [`Loader::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Program> {
        Loader::new().from_bytes(bytes)
    }
}

#[cold]
fn later(format: u32) -> Error {
    Error::precondition(format!(
        "the program is of format {format}, this release of Penstock ({}) reads formats up to {FORMAT}; a later one is needed",
        env!("CARGO_PKG_VERSION")
    ))
}

/// Checks that this release has all operators of a program; the error lists those that it has not.
fn known(manifest: &Manifest) -> Result<()> {
    let has = |name: &str, due: u32| Ops.find(name).is_some() && due <= version(name);
    let missing = manifest.operators.iter().filter(|(name, due)| !has(name, **due));
    let missing: Vec<String> = missing.map(|(name, due)| format!("{name} (version {due})")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(damaged(
        MANIFEST_TEXT,
        format_args!(
            "this release of Penstock ({}) has not the operators {}, which {} had",
            env!("CARGO_PKG_VERSION"),
            missing.join(", "),
            manifest.producer
        ),
    ))
}

/// The operators that a program may hold.
struct Admitted {
    files: bool,
}

impl OpSet for Admitted {
    fn find(&self, name: &str) -> Option<&'static OpDef> {
        Ops.find(name).filter(|op| !crate::is_made_by_optimiser(op))
    }

    fn admit(&self, op: &'static OpDef, attrs: &Attrs) -> Result<()> {
        if self.files { OpsAndFiles.admit(op, attrs) } else { Ops.admit(op, attrs) }
    }
}

fn variable(entry: &VariableEntry, arrays: &Loaded) -> Result<Arc<Variable>> {
    let wrong = |what: &str| Error::invalid(format!("variable '{}': {what}", entry.name));
    let dtype = entry.dtype().ok_or_else(|| wrong("its dtype is not known"))?;
    let value = entry.value.as_deref().map(|key| arrays.tensor(key)).transpose()?;
    Variable::new(&entry.name, dtype, entry.shape(), value)
}

fn function(entry: FunctionEntry, functions: &HashMap<String, Arc<Function>>, arrays: &Loaded) -> Result<Entry> {
    let FunctionEntry { name, graph, inputs, outputs, captures } = entry;
    let found = functions.get(&graph).ok_or_else(|| Error::invalid(format!("there is no function @{graph}")))?;
    let capture = |capture| {
        Ok(match capture {
            CaptureEntry::Variable(i) => Capture::Variable(i),
            CaptureEntry::Constant(key) => Capture::Constant(arrays.tensor(&key)?),
        })
    };
    let captures = captures.into_iter().map(capture).collect::<Result<Vec<Capture>>>()?;
    Ok(Entry { name, function: found.clone(), inputs, outputs, captures })
}
