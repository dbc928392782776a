//! Programs out of files of several kinds, and into them.

use std::io::Write;
use std::path::Path;

use penstock::{Error, Loader, ParseOptions, PrintOptions, Program, Result};

use crate::arguments::{Arguments, Failure};

fn ends_with(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

/// The program of a file, whatever its kind.
pub(crate) fn load(path: &str, files: bool, threads: usize) -> Result<Program> {
    let path = Path::new(path);
    let program = if path.is_dir() {
        saved_model(path)
    } else if ends_with(path, "onnx") {
        onnx(path)
    } else if ends_with(path, "pst") {
        text(path, files)
    } else {
        Loader::new().files(files).load(path)
    };
    Ok(program?.with_threads(threads))
}

/// The program of the main function of a text. Inputs and outputs without names are numbered.
fn text(path: &Path, files: bool) -> Result<Program> {
    let read = std::fs::read_to_string(path).map_err(|e| unread(path, &e))?;
    let function = ParseOptions::new().files(files).parse(&read).map_err(|e| {
        let placed = Error::new(e.class(), format!("{}:{}", path.display(), e.message()));
        e.loc().map_or(placed.clone(), |loc| placed.at(loc))
    })?;
    if function.inputs().any(|(_, ty)| ty.is_variable()) {
        let message = format!("{}: a text has no variables, and its function takes some", path.display());
        return Err(Error::precondition(message));
    }
    let named = |(i, name): (usize, Option<&str>)| name.map_or_else(|| format!("input_{i}"), str::to_owned);
    let inputs: Vec<String> = function.inputs().map(|(name, _)| name).enumerate().map(named).collect();
    let outputs: Vec<String> = (0..function.signature().results.len()).map(|i| format!("output_{i}")).collect();
    let mut builder = Program::builder();
    let graph = function.function().clone();
    let [inputs, outputs] = [&inputs, &outputs].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
    builder.function(function.name(), graph, &inputs, &outputs, Vec::new());
    builder.finish()
}

#[cfg(feature = "onnx")]
fn onnx(path: &Path) -> Result<Program> {
    penstock_onnx::Model::load(path)?.program(&penstock_onnx::Options::default())
}

#[cfg(not(feature = "onnx"))]
fn onnx(path: &Path) -> Result<Program> {
    Err(Error::unimplemented(format!("{}: this command is built without the feature 'onnx'", path.display())))
}

#[cfg(feature = "tf")]
fn saved_model(path: &Path) -> Result<Program> {
    let own = path.join("saved_model.penstock");
    if own.is_file() {
        return Program::load(own);
    }
    let model = penstock_tf::load_saved_model(path)?;
    for (name, why) in &model.refused {
        eprintln!("penstock: left out '{name}': {why}");
    }
    Ok(model.program)
}

#[cfg(not(feature = "tf"))]
fn saved_model(path: &Path) -> Result<Program> {
    let own = path.join("saved_model.penstock");
    if own.is_file() {
        return Program::load(own);
    }
    Err(Error::unimplemented(format!("{}: this command is built without the feature 'tf'", path.display())))
}

/// The error of a file that cannot be read.
pub(crate) fn unread(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("cannot read {}: {error}", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(message),
        _ => Error::precondition(message),
    }
}

/// The error of a file that cannot be written.
pub(crate) fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::precondition(format!("cannot write {}: {error}", path.display()))
}

/// `penstock convert FROM TO`.
pub(crate) fn convert(mut arguments: Arguments) -> Result<(), Failure> {
    let (from, to) = (arguments.due("the file to convert")?, arguments.due("the file to write")?);
    arguments.end()?;
    let to = Path::new(&to);
    let kinds = ["penstock", "pst", "onnx"];
    let wanted = match arguments.option("to") {
        None => kinds.into_iter().find(|kind| ends_with(to, kind)),
        Some("tensorflow") => Some("tensorflow"),
        Some(other) => return Err(Failure::Usage(format!("--to {other} is unknown; there is 'tensorflow'"))),
    };
    let Some(wanted) = wanted else {
        let message = format!(
            "{} is neither a .penstock nor a .pst nor an .onnx; a directory is written with --to tensorflow",
            to.display()
        );
        return Err(Failure::Usage(message));
    };
    let program = load(&from, arguments.flag("files"), 0)?;
    match wanted {
        "penstock" => Ok(program.save(to)?),
        "onnx" => Ok(to_onnx(&program, to)?),
        "tensorflow" => Ok(to_tensorflow(&program, Path::new(&from), to)?),
        _ => to_text(&program, to),
    }
}

fn to_text(program: &Program, to: &Path) -> Result<(), Failure> {
    let function = program.default_function()?;
    if !function.captures().is_empty() {
        let message = format!("'{}' takes variables or constants from outside, which a text has not", function.name());
        return Err(Error::precondition(message).into());
    }
    let text = penstock::print_function(function.function(), &PrintOptions::default());
    std::fs::write(to, text).map_err(|e| unwritten(to, &e).into())
}

/// The default function as a model of ONNX.
#[cfg(feature = "onnx")]
fn to_onnx(program: &Program, to: &Path) -> Result<()> {
    penstock_onnx::save(&program.default_function()?, to, &penstock_onnx::ExportOptions::default())
}

#[cfg(not(feature = "onnx"))]
fn to_onnx(_: &Program, to: &Path) -> Result<()> {
    Err(Error::unimplemented(format!("{}: this command is built without the feature 'onnx'", to.display())))
}

/// A SavedModel, with the files that belong to the program.
#[cfg(feature = "tf")]
fn to_tensorflow(program: &Program, from: &Path, to: &Path) -> Result<()> {
    penstock_tf::save_saved_model(program, to)?;
    let (source, target) = (from.join("assets"), to.join("assets"));
    let Ok(files) = std::fs::read_dir(&source) else { return Ok(()) };
    std::fs::create_dir_all(&target).map_err(|e| unwritten(&target, &e))?;
    for file in files.flatten().filter(|file| file.path().is_file()) {
        std::fs::copy(file.path(), target.join(file.file_name())).map_err(|e| unwritten(&target, &e))?;
    }
    Ok(())
}

#[cfg(not(feature = "tf"))]
fn to_tensorflow(_: &Program, _: &Path, to: &Path) -> Result<()> {
    Err(Error::unimplemented(format!("{}: this command is built without the feature 'tf'", to.display())))
}

/// `penstock verify FILE`.
pub(crate) fn verify(mut arguments: Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let path = arguments.due("the file")?;
    arguments.end()?;
    let program = load(&path, arguments.flag("files"), 0)?;
    for i in 0..program.functions().len() {
        program.at(i)?.warm_up()?;
    }
    crate::put(out, &format!("{path}: whole, {} functions are ready to run\n", program.functions().len()))
}
