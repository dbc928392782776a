//! Arrays for the samples of operators that move elements.

use penstock_data::{DType, Tensor};
use penstock_ir::Sample;

use crate::samples::{LINE, strings, tensor};

/// A vector of `i32`.
pub(crate) fn i32s(values: &[i32]) -> Tensor {
    Tensor::vector(values)
}

/// A vector of `i64`.
pub(crate) fn i64s(values: &[i64]) -> Tensor {
    Tensor::vector(values)
}

/// An array of `i32`.
pub(crate) fn i32_array(dims: &[usize], values: &[i32]) -> Tensor {
    Tensor::from_slice(dims, values).expect("the values fill the extents")
}

/// An array of `f64`.
pub(crate) fn f64s(dims: &[usize]) -> Tensor {
    tensor(DType::F64, dims, LINE)
}

/// A tensor of each kind of dtype, by size of the elements and by what they are.
pub(crate) fn kinds(dims: &[usize]) -> Vec<Tensor> {
    use DType::{Bool, C128, F16, F32, F64, I8, I64};
    let mut out: Vec<Tensor> = [F64, F32, F16, I8, I64, Bool, C128].map(|d| tensor(d, dims, LINE)).into();
    let words = ["", "a", "bc", "d\0e", "\u{e9}", "fgh"];
    let list: Vec<&str> = words.into_iter().cycle().take(dims.iter().product()).collect();
    out.push(strings(dims, &list));
    out
}

/// A sample of each kind of first operand, with the same other operands.
pub(crate) fn each_kind(dims: &[usize], rest: &[Tensor]) -> Vec<Sample> {
    let with = |x| Sample::new(std::iter::once(x).chain(rest.iter().cloned()).collect());
    kinds(dims).into_iter().map(with).collect()
}
