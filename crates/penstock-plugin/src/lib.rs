#![doc = include_str!("../README.md")]

pub mod abi;
mod export;
mod operator;
mod tensor_type;
#[cfg(test)]
mod tests;
mod view;

#[doc(hidden)]
pub use export::Exports;
pub use operator::{Description, Operator};
pub use tensor_type::{DType, TensorType};
pub use view::{Bf16Bits, Element, F16Bits, View, ViewMut};

/// Writes the function by which `tf.load_op_library` finds the operators of a library; once in a library.
///
/// It takes expressions whose values are operators: `export_operators![First, Second::new()]`.
#[macro_export]
macro_rules! export_operators {
    ($($operator:expr),+ $(,)?) => {
        #[allow(unsafe_code, reason = "the name has to be what it is")]
        #[unsafe(no_mangle)]
        extern "C" fn penstock_operators_v1() -> *const $crate::abi::Library {
            static EXPORTS: $crate::Exports = $crate::Exports::new();
            EXPORTS.library(|| vec![$(Box::new($operator) as Box<dyn $crate::Operator>),+])
        }
    };
}
