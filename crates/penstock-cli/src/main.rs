//! The command `penstock`: shows, runs, converts and times programs.

mod arguments;
mod bench;
mod files;
mod npy;
mod run;
mod show;
mod values;

use std::process::ExitCode;

use arguments::{Arguments, Failure};
use penstock::Reserve;

const HELP: &str = "\
penstock shows, runs, converts and times programs of the Penstock engine.

usage: penstock COMMAND FILE [ARGUMENTS]

  info FILE                       functions with their inputs and outputs, signatures, variables, operators
  print FILE [FUNCTION]           graphs in the text form, as traced; --optimized: as they run
  run FILE [FUNCTION] NAME=VALUE… a call. VALUE is a number, a list as [[1,2],[3,4]], a text in quotes, or @FILE.npy
      --inputs FILE.npz           inputs by their names in the archive
      -o, --outputs FILE          where results go: an .npz, or an .npy where there is one; by default they are printed
      --save FILE                 save the program with the variables as they are after the call
  bench FILE [FUNCTION] [NAME=VALUE…]  times of calls; inputs that are not given are made up
      --size NAME=N               an extent that is not known, such as s0
      --runs N                    how many calls (default: as many as go in a second)
  convert FROM TO                 FROM is a .penstock, a text (.pst), an .onnx or a SavedModel directory, TO one of the first three
      --to tensorflow             TO is a directory that TensorFlow reads
  verify FILE                     load the program, and check it and all its checksums
  help, version

  --threads N                     a run uses at most N threads
  --files                         the program may read and write files, and print to them

A program is a .penstock file, or whatever else `convert` reads. FUNCTION may be left out where there is one signature or function.

The exit status is 0, 1 where the program or a call of it fails, and 2 for a command that is not understood.
";

#[global_allocator]
static ALLOCATOR: Reserve = Reserve;

fn main() -> ExitCode {
    Reserve::fill();
    let mut arguments = std::env::args_os().skip(1).map(|a| a.into_string());
    let all = arguments.by_ref().collect::<Result<Vec<String>, _>>();
    let done = match all {
        Ok(all) => command(all),
        Err(a) => Err(Failure::Usage(format!("{} is no text", a.display()))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprintln!("penstock: {message}\nSee `penstock help`.");
            ExitCode::from(2)
        }
        Err(Failure::Program(error)) => {
            eprintln!("penstock: {}", described(&error));
            ExitCode::FAILURE
        }
        // Who reads the output wants no more of it.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Output(error)) => {
            eprintln!("penstock: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An error with its operator and place.
fn described(error: &penstock::Error) -> String {
    let place = error.loc().map(|loc| format!("{loc}: ")).unwrap_or_default();
    let op = error.op().map(|op| format!("{op}: ")).unwrap_or_default();
    format!("{place}{op}{error}")
}

fn command(all: Vec<String>) -> Result<(), Failure> {
    let mut all = all.into_iter();
    let Some(name) = all.next() else { return Err(Failure::Usage("no command".into())) };
    let rest = all.collect();
    let mut out = std::io::stdout().lock();
    match name.as_str() {
        "help" | "-h" | "--help" => put(&mut out, HELP),
        "version" | "-V" | "--version" => put(&mut out, &format!("penstock {}\n", env!("CARGO_PKG_VERSION"))),
        "info" => show::info(Arguments::read(rest, &[], &["files"])?, &mut out),
        "print" => show::print(Arguments::read(rest, &[], &["files", "optimized"])?, &mut out),
        "run" => run::run(Arguments::read(rest, &["inputs", "outputs", "save", "threads"], &["files"])?, &mut out),
        "bench" => bench::bench(Arguments::read(rest, &["inputs", "runs", "size", "threads"], &["files"])?, &mut out),
        "convert" => files::convert(Arguments::read(rest, &["to"], &["files"])?),
        "verify" => files::verify(Arguments::read(rest, &[], &["files"])?, &mut out),
        other => Err(Failure::Usage(format!("there is no command '{other}'"))),
    }
}

/// Writes a text.
fn put(out: &mut dyn std::io::Write, text: &str) -> Result<(), Failure> {
    out.write_all(text.as_bytes()).map_err(Failure::Output)
}
