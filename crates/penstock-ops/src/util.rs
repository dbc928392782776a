//! What many declarations share.

use penstock_data::{Error, Result};
use penstock_ir::{Cuda, OutTypes, Promise, Type};

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

/// That the operators of this crate are as they are declared.
// SAFETY: tests run each of them on its samples, and random programs of them: inference against evaluation, rows that are made some
// at a time and known elements against the reference interpreter, effects against reordered runs, CUDA source against the CPU.
#[expect(unsafe_code, reason = "the operators of this crate are trusted")]
pub(crate) const PROMISE: Promise = unsafe { Promise::new() };

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
    /// The fact of the operator.
    pub(crate) const fn fact(self) -> Cuda {
        match self {
            OnCuda::Formula => Cuda::Formula(None),
            OnCuda::Or(text) => Cuda::Formula(Some(text)),
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
