//! What a program holds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use penstock::{Capture, ConcreteFunction, PrintOptions, Program, ProgramFunction, Type};

use crate::arguments::{Arguments, Failure};
use crate::files::load;

/// The function of a name, or the one that needs none.
pub(crate) fn function(program: &Program, name: Option<&str>) -> Result<ProgramFunction, Failure> {
    Ok(match name {
        Some(name) => program.function(name)?,
        None => program.default_function()?,
    })
}

fn listed<'a>(ports: impl Iterator<Item = (&'a str, &'a Type)>) -> String {
    ports.map(|(name, ty)| format!("{name}: {ty}")).collect::<Vec<_>>().join(", ")
}

/// `penstock info FILE`.
pub(crate) fn info(mut arguments: Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let path = arguments.due("the file")?;
    arguments.end()?;
    let program = load(&path, arguments.flag("files"), 0)?;
    let mut text = format!("{path}\n");
    let signatures: Vec<&str> = program.signatures().collect();
    writeln!(text, "signatures: {}", if signatures.is_empty() { "none".into() } else { signatures.join(", ") }).ok();
    let mut operators: BTreeMap<&str, usize> = BTreeMap::new();
    for i in 0..program.functions().len() {
        let f = program.at(i)?;
        writeln!(text, "function {}({}) -> ({})", f.name(), listed(f.inputs()), listed(f.outputs())).ok();
        if let Some(graph) = f.function().graph() {
            graph.visit(&mut |_, _, data| *operators.entry(data.op.name).or_default() += 1);
        }
        let constants = f.captures().iter().filter(|c| matches!(c, Capture::Constant(_))).count();
        if !f.captures().is_empty() {
            writeln!(text, "  with {} variables and {constants} constants", f.captures().len() - constants).ok();
        }
    }
    let mut bytes = 0;
    for v in program.variables() {
        let size = v.variable.read().map_or(0, |t| t.byte_len());
        let trained = if v.trainable { ", trained" } else { "" };
        writeln!(text, "variable {}: {} ({size} bytes{trained})", v.variable.name(), v.variable.ty()).ok();
        bytes += size;
    }
    writeln!(text, "{} variables of {bytes} bytes", program.variables().len()).ok();
    let counted: Vec<String> = operators.iter().map(|(name, n)| format!("{name} {n}")).collect();
    writeln!(text, "instructions: {}", counted.join(", ")).ok();
    crate::put(out, &text)
}

/// `penstock print FILE [FUNCTION]`.
pub(crate) fn print(mut arguments: Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    /// Elements of a constant that are shown.
    const SHOWN: usize = 16;
    let path = arguments.due("the file")?;
    let name = arguments.plain();
    arguments.end()?;
    let program = load(&path, arguments.flag("files"), 0)?;
    let function = function(&program, name.as_deref())?;
    let options = PrintOptions { elide: Some(SHOWN), ..PrintOptions::default() };
    if arguments.flag("optimized") {
        let made = ConcreteFunction::from_function(function.function().clone())?;
        let graph = made.executable().optimized()?;
        return crate::put(out, &penstock::print_graph(&graph, &options));
    }
    crate::put(out, &penstock::print_function(function.function(), &options))
}
