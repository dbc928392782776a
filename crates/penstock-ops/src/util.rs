//! What many declarations share.

use penstock_data::{DType, Error, Result};
use penstock_ir::{Cuda, OutTypes, Type};
use penstock_kernels::Formula;

/// The default of a fact of a table, or what its row gives.
macro_rules! given {
    ($default:expr) => {
        $default
    };
    ($default:expr, $given:expr) => {
        $given
    };
}
pub(crate) use given;

/// How an operator of a table runs on CUDA.
pub(crate) enum OnCuda {
    /// As its formula.
    Formula,
    /// As its formula, and for dtypes without one as this expression.
    Or(&'static str),
    /// On the host, for this reason.
    Host(&'static str),
}

impl OnCuda {
    /// The fact of an operator with these formulas.
    pub(crate) const fn of(self, formula: fn(DType) -> Option<&'static Formula>) -> Cuda {
        match self {
            OnCuda::Formula => Cuda::Formula(formula, None),
            OnCuda::Or(text) => Cuda::Formula(formula, Some(text)),
            OnCuda::Host(reason) => Cuda::HostFallback(reason),
        }
    }
}

/// One result.
pub fn one(ty: Type) -> Result<OutTypes> {
    Ok(OutTypes::from_iter([ty]))
}

/// No result.
pub fn none() -> Result<OutTypes> {
    Ok(OutTypes::new())
}

/// `axis` of a tensor of `rank` dimensions, counted from the end where negative, as an index.
///
/// # Errors
/// `InvalidArgument` where it is not in `-rank .. rank`.
pub fn normalize_axis(axis: i64, rank: usize, argument: &str) -> Result<usize> {
    let index = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(index).ok().filter(|&i| i < rank).ok_or_else(|| {
        Error::invalid(format!("axis {axis} is out of range for a tensor of {rank} dimension(s)")).argument(argument)
    })
}

/// The number of elements before an axis, along it, and after it.
pub(crate) fn around(dims: &[usize], axis: usize) -> (usize, usize, usize) {
    (dims[..axis].iter().product(), dims[axis], dims[axis + 1..].iter().product())
}
