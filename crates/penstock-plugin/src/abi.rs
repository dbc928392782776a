//! The interface of `include/penstock_plugin.h`, which is its documentation; a test compares the two.

use std::ffi::{c_char, c_void};

/// The most dimensions of a tensor.
pub const MAX_RANK: usize = 32;
/// The room for the reason of a failure.
pub const MAX_MESSAGE: usize = 1024;
/// The flag of an operator that does more than compute its results.
pub const STATEFUL: u64 = 1;

/// What is known of a tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// TensorFlow's number of the dtype.
    pub dtype: i32,
    /// The number of dimensions, -1 where it is not known.
    pub rank: i32,
    /// The sizes, of which the first `rank` count; -1 for one that is not known.
    pub sizes: [i64; MAX_RANK],
}

/// Where a function that fails writes the reason.
#[repr(C)]
pub struct Error {
    /// UTF-8 that ends with a zero.
    pub message: [u8; MAX_MESSAGE],
}

/// Says what the results are.
pub type Types =
    unsafe extern "C" fn(data: *mut c_void, inputs: *const Type, outputs: *mut Type, error: *mut Error) -> i32;

/// Computes the results.
pub type Run = unsafe extern "C" fn(
    data: *mut c_void,
    input_types: *const Type,
    inputs: *const *const c_void,
    output_types: *const Type,
    outputs: *const *mut c_void,
    error: *mut Error,
) -> i32;

/// An operator.
#[repr(C)]
#[derive(Debug)]
pub struct Operator {
    /// What it is called.
    pub name: *const c_char,
    /// What it does, or null.
    pub doc: *const c_char,
    /// The names of the inputs, and a null at the end.
    pub inputs: *const *const c_char,
    /// The names of the outputs, and a null at the end.
    pub outputs: *const *const c_char,
    /// The name of the operator that computes its gradients, or null.
    pub gradient: *const c_char,
    /// [`STATEFUL`], or 0.
    pub flags: u64,
    /// Says what the results are.
    pub types: Types,
    /// Computes the results.
    pub run: Run,
    /// What both are given.
    pub data: *mut c_void,
}

/// What a library has.
#[repr(C)]
#[derive(Debug)]
pub struct Library {
    /// The first operator.
    pub operators: *const Operator,
    /// How many there are.
    pub len: usize,
}
