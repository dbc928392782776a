//! Loads a program and runs it once on zeros: `cargo run -p penstock-engine --example run FILE`. With the profile `small` it is
//! about as small as a program with the engine gets, see `tools/program_sizes.py`.

use std::time::Instant;

use penstock::{Arg, Dim, Error, Program, Result, Tensor, Type};

/// The tensor of zeros of a type, with 1 for extents that are not known.
fn zeros(ty: &Type) -> Result<Tensor> {
    let dims = ty.shape().dims().ok_or_else(|| Error::invalid("an input of unknown rank"))?;
    let dims: Vec<usize> = dims.iter().map(|d| if let Dim::Known(n) = d { *n } else { 1 }).collect();
    Tensor::zeros(ty.dtype(), &dims)
}

fn run(path: &str) -> Result<()> {
    let began = Instant::now();
    let program = Program::load(path)?;
    let loaded = began.elapsed();
    let function = program.default_function()?;
    let inputs: Vec<(&str, Arg)> =
        function.inputs().map(|(name, ty)| Ok((name, Arg::Tensor(zeros(ty)?)))).collect::<Result<_>>()?;
    let results = function.run(&inputs)?;
    for ((name, _), result) in function.outputs().zip(&results) {
        println!("{name}: {} {:?}", result.dtype(), result.dims());
    }
    println!("loaded in {loaded:.1?}, ran after {:.1?}", began.elapsed());
    Ok(())
}

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: run FILE");
        std::process::exit(2);
    };
    if let Err(error) = run(&path) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
