//! The operators of `docs/custom_operators.md`: systems of equations with a tridiagonal matrix, and running maxima.

use std::ops::{Div, Mul, Neg, Sub};

use penstock_plugin::{DType, Description, Element, Operator, TensorType, View, ViewMut, export_operators};

trait Float: Element + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self> {}

impl Float for f32 {}
impl Float for f64 {}

/// The solution of a system whose matrix has these diagonals.
fn solve<T: Float>(below: &[T], diagonal: &[T], above: &[T], right: &[T]) -> Vec<T> {
    let (mut d, mut x) = (diagonal.to_vec(), right.to_vec());
    let n = x.len();
    for i in 1..n {
        let factor = below[i - 1] / d[i - 1];
        d[i] = d[i] - factor * above[i - 1];
        x[i] = x[i] - factor * x[i - 1];
    }
    for i in (0..n).rev() {
        let known = if i + 1 < n { x[i] - above[i] * x[i + 1] } else { x[i] };
        x[i] = known / d[i];
    }
    x
}

struct SolveTridiagonal;

impl SolveTridiagonal {
    fn compute<T: Float>(inputs: &[View], outputs: &mut [ViewMut]) -> Result<(), String> {
        let (below, diagonal) = (inputs[0].as_slice::<T>()?, inputs[1].as_slice()?);
        let (above, right) = (inputs[2].as_slice()?, inputs[3].as_slice()?);
        outputs[0].as_mut_slice()?.copy_from_slice(&solve(below, diagonal, above, right));
        Ok(())
    }
}

impl Operator for SolveTridiagonal {
    fn description(&self) -> Description {
        Description::new("solve_tridiagonal", "Solves a system of equations whose matrix has three diagonals.")
            .inputs(&["below", "diagonal", "above", "right"])
            .outputs(&["x"])
            .gradient("solve_tridiagonal_gradient")
    }

    fn types(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, String> {
        check_system(inputs)?;
        Ok(vec![inputs[3].clone()]) // the result is as the right side
    }

    fn run(&self, inputs: &[View], outputs: &mut [ViewMut]) -> Result<(), String> {
        match outputs[0].dtype() {
            DType::F32 => Self::compute::<f32>(inputs, outputs),
            _ => Self::compute::<f64>(inputs, outputs),
        }
    }
}

/// Whether the inputs are diagonals of one matrix and a right side, as far as that is known.
fn check_system(inputs: &[TensorType]) -> Result<(), String> {
    let dtype = inputs[3].dtype;
    if !matches!(dtype, DType::F32 | DType::F64) || inputs.iter().any(|input| input.dtype != dtype) {
        return Err(format!(
            "all inputs must be float32, or all float64, got {}, {}, {}, {}",
            inputs[0].dtype, inputs[1].dtype, inputs[2].dtype, dtype
        ));
    }
    if inputs.iter().any(|input| input.rank().is_some_and(|rank| rank != 1)) {
        return Err(format!(
            "all inputs must be vectors, got {}, {}, {}, {}",
            inputs[0], inputs[1], inputs[2], inputs[3]
        ));
    }
    let Some(n) = inputs[1].size(0) else { return Ok(()) };
    for (input, due) in inputs.iter().zip([n.saturating_sub(1), n, n.saturating_sub(1), n]) {
        if input.size(0).is_some_and(|size| size != due) {
            return Err(format!("a diagonal of {n} elements needs {due} of the others, got {input}"));
        }
    }
    Ok(())
}

/// Of A x = b: the gradient of b solves the transposed system, that of A is minus its product with x.
struct SolveTridiagonalGradient;

impl SolveTridiagonalGradient {
    fn compute<T: Float>(inputs: &[View], outputs: &mut [ViewMut]) -> Result<(), String> {
        let (below, diagonal) = (inputs[0].as_slice::<T>()?, inputs[1].as_slice()?);
        let (above, x, dx) = (inputs[2].as_slice()?, inputs[4].as_slice::<T>()?, inputs[5].as_slice()?);
        let db = solve(above, diagonal, below, dx);
        for (i, slope) in outputs[0].as_mut_slice()?.iter_mut().enumerate() {
            *slope = -(db[i + 1] * x[i]);
        }
        for (i, slope) in outputs[1].as_mut_slice()?.iter_mut().enumerate() {
            *slope = -(db[i] * x[i]);
        }
        for (i, slope) in outputs[2].as_mut_slice()?.iter_mut().enumerate() {
            *slope = -(db[i] * x[i + 1]);
        }
        outputs[3].as_mut_slice()?.copy_from_slice(&db);
        Ok(())
    }
}

impl Operator for SolveTridiagonalGradient {
    fn description(&self) -> Description {
        Description::new("solve_tridiagonal_gradient", "The gradients of solve_tridiagonal.")
            .inputs(&["below", "diagonal", "above", "right", "x", "dx"])
            .outputs(&["below", "diagonal", "above", "right"]) // the names of the inputs of solve_tridiagonal
    }

    fn types(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, String> {
        Ok(inputs[..4].to_vec())
    }

    fn run(&self, inputs: &[View], outputs: &mut [ViewMut]) -> Result<(), String> {
        match outputs[0].dtype() {
            DType::F32 => Self::compute::<f32>(inputs, outputs),
            _ => Self::compute::<f64>(inputs, outputs),
        }
    }
}

/// The greatest of the elements so far, along the last axis, and where it is.
struct RunningMaximum;

impl Operator for RunningMaximum {
    fn description(&self) -> Description {
        Description::new("running_maximum", "Finds the greatest of the elements so far, along the last axis.")
            .inputs(&["x"])
            .outputs(&["maximum", "index"])
    }

    fn types(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, String> {
        match (inputs[0].dtype, inputs[0].rank()) {
            (DType::I32, Some(0)) => Err("x must have an axis, got a number".to_owned()),
            (DType::I32, _) => Ok(vec![inputs[0].clone(), inputs[0].with_dtype(DType::I64)]),
            (dtype, _) => Err(format!("x must be int32, got {dtype}")),
        }
    }

    fn run(&self, inputs: &[View], outputs: &mut [ViewMut]) -> Result<(), String> {
        let [maximum, index] = outputs else { unreachable!("it has two results") };
        let row = inputs[0].shape()[inputs[0].shape().len() - 1].max(1);
        let rows = inputs[0].as_slice::<i32>()?.chunks(row);
        let results = maximum.as_mut_slice::<i32>()?.chunks_mut(row).zip(index.as_mut_slice::<i64>()?.chunks_mut(row));
        for (x, (maximum, index)) in rows.zip(results) {
            let mut at = 0;
            for i in 0..x.len() {
                at = if x[i] > x[at] { i } else { at };
                (maximum[i], index[i]) = (x[at], at as i64);
            }
        }
        Ok(())
    }
}

export_operators![SolveTridiagonal, SolveTridiagonalGradient, RunningMaximum];
