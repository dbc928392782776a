//! The code of `docs/embedding.md`: it compiles, runs, and is what the guide shows.

use std::path::Path;
use std::sync::Arc;

use penstock::{
    ConcreteFunction, DType, Function, Limits, Loader, Operators, Place, Program, Result, Shape, Tensor, Type, builder,
};

/// Saves a program whose function `serve` gives `softmax(x w)`.
fn save_model(path: &Path) {
    let mut g = builder();
    let x = g.input(Type::tensor(DType::F32, Shape::known(&[2, 784])), Some("x"));
    let w = g.constant(Tensor::zeros(DType::F32, &[784, 10]).unwrap());
    let scores = g.matmul(x, w).unwrap();
    let out = g.softmax(scores).unwrap();
    let function = Arc::new(Function::new("serve", g.finish(&[out]).unwrap()));
    let mut program = Program::builder();
    let number = program.function("serve", function, &["x"], &["probabilities"], Vec::new());
    program.signature("serving_default", number);
    program.finish().unwrap().save(path).unwrap();
}

fn serve(path: &Path, pixels: Vec<f32>) -> Result<Vec<f32>> {
    std::fs::copy(path, "model.penstock").unwrap();
    let program = Program::load("model.penstock")?;
    std::fs::remove_file("model.penstock").unwrap();
    let serve = program.default_function()?;
    serve.warm_up()?;
    let x = Tensor::from_slice(&[2, 784], &pixels)?;
    let out = serve.run(&[("x", x.into())])?;
    let probabilities: &[f32] = out[0].as_slice();

    let mut buffer = [0.0f32; 20];
    let inputs = &[("x", Tensor::from_slice(&[2, 784], &pixels)?.into())];
    serve.run_into(inputs, &mut [Place::new(&[2, 10], &mut buffer)?])?;
    assert_eq!(buffer, probabilities);
    Ok(probabilities.to_vec())
}

fn of_others(path: &Path) -> Result<Program> {
    let limits = Limits { bytes: 1 << 30, instructions: 100_000, nesting: 64 };
    let program = Loader::new().limits(limits).threads(2).load(path)?;
    Ok(program)
}

fn graph() -> Result<Tensor> {
    let mut g = builder();
    let x = g.input(Type::tensor(DType::F32, Shape::known(&[3])), Some("x"));
    let w = g.constant(Tensor::scalar(2.0f32));
    let scaled = g.mul(x, w)?;
    let total = g.reduce_sum(scaled)?;
    let f = ConcreteFunction::new("f", g.finish(&[total])?)?;
    Ok(f.run(&[&Tensor::vector(&[1.0f32, 2.0, 3.0])])?.remove(0))
}

#[test]
fn a_program_is_loaded_and_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("serve.penstock");
    save_model(&path);
    assert_eq!(serve(&path, vec![1.0; 2 * 784]).unwrap(), [0.1f32; 20]);
    assert_eq!(of_others(&path).unwrap().functions().collect::<Vec<_>>(), ["serve"]);
}

#[test]
fn a_graph_is_made() {
    assert_eq!(graph().unwrap(), Tensor::scalar(12.0f32));
}

#[test]
fn the_guide_shows_this_code() {
    let this: Vec<&str> = include_str!("guide.rs").lines().map(str::trim).collect();
    let guide = include_str!("../../../docs/embedding.md");
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 3);
    let code = |line: &'static str| line.split("//").next().unwrap().trim();
    for line in blocks.iter().flat_map(|block| block.lines()).map(code) {
        assert!(this.contains(&line) || line.starts_with("use penstock::"), "no test runs: {line}");
    }
}
