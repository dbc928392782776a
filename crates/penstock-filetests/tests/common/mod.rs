//! What several tests share.

use penstock_data::{C64, C128, DType, Tensor, with_dtype};

/// The elements as real numbers.
#[expect(clippy::useless_conversion, reason = "one of the dtypes is that of the result")]
pub(crate) fn parts(t: &Tensor) -> Vec<f64> {
    match t.dtype() {
        DType::C64 => t.as_slice::<C64>().iter().flat_map(|z| [f64::from(z.re), f64::from(z.im)]).collect(),
        DType::C128 => t.as_slice::<C128>().iter().flat_map(|z| [z.re, z.im]).collect(),
        _ => with_dtype!(float, t.dtype(), T => t.as_slice::<T>().iter().map(|&v| f64::from(v)).collect(), else vec![]),
    }
}
