//! A call.

use std::io::Write;
use std::path::Path;

use crate::arguments::{Arguments, Failure};
use crate::files::load;
use crate::{npy, show, values};

/// `penstock run FILE [FUNCTION] NAME=VALUE…`.
pub(crate) fn run(mut arguments: Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let path = arguments.due("the file")?;
    let program = load(&path, arguments.flag("files"), arguments.number("threads")?.unwrap_or(0))?;
    let function = show::function(&program, arguments.plain().as_deref())?;
    let given = values::given(&mut arguments, &function)?;
    let results = function.run(&values::args(&given))?;
    let names: Vec<&str> = function.outputs().map(|(name, _)| name).collect();
    match arguments.option("outputs").map(Path::new) {
        None => {
            for (name, result) in names.iter().zip(&results) {
                crate::put(out, &format!("{name}: {}\n", penstock::print_tensor(result, None)))?;
            }
        }
        Some(path) if path.extension().is_some_and(|e| e == "npz") => {
            npy::save_archive(path, &names.into_iter().zip(&results).collect::<Vec<_>>())?;
        }
        Some(path) => match &results[..] {
            [only] => npy::save(path, only)?,
            more => {
                let message = format!("{} results go to an .npz, not to {}", more.len(), path.display());
                return Err(Failure::Usage(message));
            }
        },
    }
    if let Some(path) = arguments.option("save") {
        program.save(path)?;
    }
    Ok(())
}
