//! Test files: a head, a graph, and the outcome that it must have.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use penstock_data::{Error, Result, Tensor};
use penstock_ir::parse_tensors;

use crate::diff::diff;
use crate::kinds::Kind;

const SEPARATOR: &str = "---";

/// A test file, taken apart.
#[derive(Clone, PartialEq, Debug)]
pub struct TestFile {
    /// What is done.
    pub kind: Kind,
    /// The options on the line of the kind: `name=value`.
    pub options: Vec<(String, String)>,
    /// The arguments of each run, one `args` line each.
    pub args: Vec<Vec<Tensor>>,
    /// The graph. The head is left out, but its lines are counted, so that positions are those of the file.
    pub text: String,
    /// The outcome; `None` where there is none yet.
    pub expected: Option<String>,
}

impl TestFile {
    /// Takes a file apart.
    ///
    /// # Errors
    /// `InvalidArgument` for a head that is not understood.
    pub fn parse(source: &str) -> Result<TestFile> {
        let (input, expected) = match source.split_once(&format!("\n{SEPARATOR}\n")) {
            Some((input, expected)) => (input, Some(expected.trim_end().to_string())),
            None => (source, None),
        };
        let mut lines = input.lines();
        let first = lines.next().unwrap_or_default();
        let mut words = first.split_whitespace();
        if words.next() != Some("test") {
            return Err(Error::invalid(format!("expected 'test <kind>' in the first line, found {first:?}")));
        }
        let kind = Kind::from_name(words.next().unwrap_or_default())?;
        let options = words
            .map(|word| {
                let pair = word.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
                pair.ok_or_else(|| Error::invalid(format!("expected an option 'name=value', found {word:?}")))
            })
            .collect::<Result<_>>()?;
        let mut args = Vec::new();
        let mut text = String::from("\n");
        for line in lines {
            if let Some(list) = line.strip_prefix("args") {
                args.push(parse_tensors(list)?);
                text.push('\n');
            } else {
                text.push_str(line);
                text.push('\n');
            }
        }
        Ok(TestFile { kind, options, args, text, expected })
    }

    /// The value of an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// What comes out, be it an error.
    pub fn outcome(&self) -> String {
        let outcome = match catch_unwind(AssertUnwindSafe(|| self.kind.run(self))) {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => describe(&error),
            Err(_) => "panic".to_string(),
        };
        outcome.trim_end().to_string()
    }
}

/// `error: InvalidArgument: message (at file.py:3)`
pub(crate) fn describe(error: &Error) -> String {
    let at = error.loc().map(|loc| format!(" (at {loc})")).unwrap_or_default();
    format!("error: {:?}: {error}{at}", error.class())
}

/// Runs every `.pst` file under a directory, and writes the outcomes anew where `BLESS=1`, unless the
/// outcome is an `Internal` error or a panic.
///
/// # Panics
/// With a diff of each file whose outcome is another, or where there is no file.
pub fn run_directory(directory: &Path) {
    let bless = std::env::var("BLESS").is_ok_and(|v| v == "1");
    let mut paths = Vec::new();
    collect(directory, &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "there are no tests in {}", directory.display());
    let mut report = String::new();
    for path in &paths {
        if let Err(failure) = run_file(path, bless) {
            let _ = writeln!(report, "{}:\n{failure}", path.display());
        }
    }
    assert!(report.is_empty(), "\n{report}BLESS=1 accepts what came out\n");
}

fn collect(directory: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "pst") {
            out.push(path);
        }
    }
}

fn run_file(path: &Path, bless: bool) -> Result<(), String> {
    let source = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let file = TestFile::parse(&source).map_err(|e| e.to_string())?;
    let outcome = file.outcome();
    if outcome == "panic" {
        return Err("it panics".to_string());
    }
    if file.expected.as_deref() == Some(outcome.as_str()) {
        return Ok(());
    }
    // A defect of the engine is never what is expected.
    if !bless || outcome.starts_with("error: Internal") {
        return Err(diff(file.expected.as_deref().unwrap_or_default(), &outcome));
    }
    let input = source.split(&format!("\n{SEPARATOR}\n")).next().unwrap_or_default().trim_end();
    std::fs::write(path, format!("{input}\n{SEPARATOR}\n{outcome}\n")).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_apart() {
        let file =
            TestFile::parse("test run a=b\nargs i32[] 1, i32[] 2\n# x\nfunc @main() { return }\n---\nok\n").unwrap();
        assert_eq!(file.kind, Kind::Run);
        assert_eq!(file.option("a"), Some("b"));
        assert_eq!(file.args, [[Tensor::from(1i32), Tensor::from(2i32)]]);
        assert_eq!(file.text, "\n\n# x\nfunc @main() { return }\n");
        assert_eq!(file.expected.as_deref(), Some("ok"));
    }

    #[test]
    fn a_wrong_head_is_refused() {
        for head in ["", "tests run", "test", "test what", "test run x", "test run\nargs f32[]"] {
            assert!(TestFile::parse(head).is_err(), "{head}");
        }
    }
}
