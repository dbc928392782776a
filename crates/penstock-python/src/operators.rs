//! The operators that this crate uses itself: those behind Python's syntax, and others by name.

use std::sync::LazyLock;

use penstock_data::DType;
use penstock_ir::{OpDef, OpSet};
use penstock_trace as trace;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::tensor::wrap;

/// The operator of a name that the engine itself declares.
///
/// # Panics
/// Where there is none: a defect of the binding.
pub(crate) fn find(name: &str) -> &'static OpDef {
    penstock_ops::Ops.find(name).unwrap_or_else(|| panic!("no operator is called {name}"))
}

macro_rules! operators {
    ($($name:ident),* $(,)?) => {
        /// The operators behind Python's syntax.
        pub(crate) struct Operators { $(pub(crate) $name: &'static OpDef),* }

        static OPERATORS: LazyLock<Operators> = LazyLock::new(|| Operators { $($name: find(stringify!($name))),* });
    };
}

operators! {
    add, string_add, sub, mul, div, floordiv, floormod, pow, matmul, neg, square, abs, invert,
    logical_and, logical_or, logical_xor, logical_not, bitwise_and, bitwise_or, bitwise_xor,
    left_shift, right_shift,
    equal, not_equal, string_equal, string_not_equal, less, less_equal, greater, greater_equal,
    cast, strided_slice, stack, transpose,
}

/// The table.
#[inline]
pub(crate) fn operators() -> &'static Operators {
    &OPERATORS
}

impl Operators {
    pub(crate) fn add_for(&self, dtype: DType) -> &'static OpDef {
        if dtype == DType::Str { self.string_add } else { self.add }
    }
    pub(crate) fn equal_for(&self, dtype: DType) -> &'static OpDef {
        if dtype == DType::Str { self.string_equal } else { self.equal }
    }
    pub(crate) fn not_equal_for(&self, dtype: DType) -> &'static OpDef {
        if dtype == DType::Str { self.string_not_equal } else { self.not_equal }
    }
}

/// One tensor for one result, `None` for none, a tuple for several.
pub(crate) fn wrap_outs(py: Python<'_>, mut outs: trace::Outs) -> PyResult<Py<PyAny>> {
    match outs.len() {
        0 => Ok(py.None()),
        1 => Ok(wrap(py, outs.remove(0))?.into_any().unbind()),
        _ => {
            let items = outs.into_iter().map(|v| wrap(py, v)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyTuple::new(py, items)?.into_any().unbind())
        }
    }
}
