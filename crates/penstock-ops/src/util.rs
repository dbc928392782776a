//! What many declarations share.

use penstock_data::{Error, Result};
use penstock_ir::{OutTypes, Type};

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
