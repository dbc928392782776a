//! The engine in a Rust program: `cargo run -p penstock-engine --example embed`.

use ndarray::{Array2, ArrayView2, array};
use penstock::{
    ConcreteFunction, DType, Dim, Error, Result, Shape, Tensor, TensorExt, Type, Variable, Verified, builder, host_fn,
    ops,
};

/// A graph traced in Python, by `traced.py`.
const TRACED: &str = include_str!("traced.pst");

/// `softmax(x @ weights + bias)` for any number of rows `x`.
fn dense_layer(inputs: usize, classes: usize) -> Result<Verified> {
    let mut g = builder();
    let rows = Dim::Sym(g.fresh_symbol());
    let f32s = |dims: &[Dim]| Type::tensor(DType::F32, Shape::new(dims.iter().copied()));
    let x = g.input(f32s(&[rows, inputs.into()]), Some("x"));
    let weights = g.input(f32s(&[inputs.into(), classes.into()]), Some("weights"));
    let bias = g.input(f32s(&[classes.into()]), Some("bias"));
    let product = g.emit(&ops::linalg::MATMUL, &[x, weights], &[])?[0];
    let logits = g.emit(&ops::nn::BIAS_ADD, &[product, bias], &[])?[0];
    let probabilities = g.emit(&ops::nn::SOFTMAX, &[logits], &[])?[0];
    g.name(logits, "logits");
    g.finish(&[probabilities])
}

fn build_and_run() -> Result<()> {
    let layer = ConcreteFunction::new("layer", dense_layer(2, 3)?)?;
    println!("A graph, built:\n{layer}");

    let x = array![[1.0f32, 2.0], [0.0, -1.0]];
    let weights: Array2<f32> = array![[0.5, -0.5, 0.0], [0.25, 0.0, -0.25]];
    // This array gives its memory away; those given to `run` itself are copied.
    let weights = Tensor::from_array(weights)?;
    let out = layer.run(&[&x, &weights, &ndarray::Array1::<f32>::zeros(3)])?;
    let probabilities: ArrayView2<f32> = out[0].array_view()?;
    println!("Its outputs:\n{probabilities:.3}\n");
    Ok(())
}

fn run_a_traced_step() -> Result<()> {
    let step = penstock::parse(TRACED)?;
    println!("A training step, traced in Python: {} instructions over", step.graph().len());
    for (name, ty) in step.inputs() {
        println!("  {} {ty}", name.unwrap_or("(captured)"));
    }

    // y = 3 a - 2 b + 1
    let x = Array2::from_shape_fn((64, 2), |(i, j)| ((i * (7 + 4 * j)) % 13) as f32 / 6.0 - 1.0);
    let y = x.dot(&array![[3.0f32], [-2.0]]) + 1.0;
    let (x, y) = (Tensor::from_array(x)?, Tensor::from_array(y)?);
    let weights =
        Variable::new("weights", DType::F32, Shape::known(&[2, 1]), Some(Tensor::zeros(DType::F32, &[2, 1])?))?;
    let bias = Variable::new("bias", DType::F32, Shape::known(&[1]), Some(Tensor::zeros(DType::F32, &[1])?))?;
    for i in 0..=200 {
        let loss = step.run(&[&x, &y, &weights, &bias])?;
        if i % 50 == 0 {
            println!("step {i}: loss {:.5}", loss[0].array_view::<f32, ndarray::Ix0>()?);
        }
    }
    println!("weights {:?}, bias {:?}\n", weights.read()?, bias.read()?);
    Ok(())
}

fn call_back() -> Result<()> {
    let hypotenuse = host_fn("hypotenuse", |sides| match (sides[0].item::<f64>(), sides[1].item()) {
        (Some(a), Some(b)) => Ok(vec![Tensor::from(a.hypot(b))]),
        _ => Err(Error::invalid("hypotenuse takes two numbers")),
    });
    let text = r#"
        func @f(%a: f64[], %b: f64[]) -> f64[] {
          %c = host_call %a, %b {func=host("hypotenuse"), outs=(f64[])}
          return %c
        }"#;
    let f = penstock::parse_with_hosts(text, &[hypotenuse])?;
    println!("Through host code: {:?}", f.run(&[&3.0f64, &4.0f64])?[0]);
    Ok(())
}

fn differentiate() -> Result<()> {
    let mut g = builder();
    let vector = Type::tensor(DType::F64, Shape::known(&[3]));
    let (x, scale) = (g.input(vector, Some("x")), g.input(Type::Variable(DType::F64, Shape::scalar()), Some("scale")));
    let factor = g.emit(&ops::state::READ_VARIABLE, &[scale], &[])?[0];
    let square = g.emit(&ops::unary::SQUARE, &[x], &[])?[0];
    let scaled = g.emit(&ops::binary::MUL, &[square, factor], &[])?[0];
    let loss = g.emit(&ops::reduce::REDUCE_SUM, &[scaled], &[])?[0];
    let f = ConcreteFunction::new("loss", g.finish(&[loss])?)?;

    let scale = Variable::new("scale", DType::F64, Shape::scalar(), Some(Tensor::from(0.5)))?;
    let (outputs, grads) = f.gradients(&[&array![1.0, 2.0, 3.0], &scale], &[0, 1])?;
    println!("loss {:?}, its gradients {:?} and {:?}", outputs[0], grads[0], grads[1]);
    let (_, pullback) = f.vjp(&[&array![1.0, 2.0, 3.0], &scale], &[0])?;
    if let Some(backward) = pullback.function() {
        println!("The derivative by x, as a graph:\n{backward}");
    }
    Ok(())
}

fn main() -> Result<()> {
    build_and_run()?;
    run_a_traced_step()?;
    call_back()?;
    differentiate()
}
