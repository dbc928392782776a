//! The border, from the other side.

#![expect(unsafe_code, reason = "calls as the engine makes them; see the SAFETY comments")]

use std::ffi::{CStr, c_void};
use std::ptr;

use super::*;

/// Twice the vector `x`, and whether its elements are positive; it fails and panics on request.
struct Double;

impl Operator for Double {
    fn description(&self) -> Description {
        Description::new("double", "Twice.\0cut")
            .inputs(&["x"])
            .outputs(&["y", "positive"])
            .gradient("slope")
            .stateful()
    }

    fn types(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, String> {
        assert!(inputs[0].rank() != Some(2), "no matrices");
        Ok(vec![inputs[0].clone(), inputs[0].with_dtype(DType::Bool)])
    }

    fn run(&self, inputs: &[View<'_>], outputs: &mut [ViewMut<'_>]) -> Result<(), String> {
        let x = inputs[0].as_slice::<f32>()?;
        let [y, positive] = outputs else { unreachable!() };
        for ((y, positive), x) in y.as_mut_slice()?.iter_mut().zip(positive.as_mut_slice()?).zip(x) {
            if x.is_nan() {
                return Err("ü".repeat(abi::MAX_MESSAGE));
            }
            (*y, *positive) = (2.0 * x, *x > 0.0);
        }
        Ok(())
    }
}

struct Nameless;

impl Operator for Nameless {
    fn description(&self) -> Description {
        panic!("it has no description")
    }

    fn types(&self, _: &[TensorType]) -> Result<Vec<TensorType>, String> {
        unreachable!()
    }

    fn run(&self, _: &[View<'_>], _: &mut [ViewMut<'_>]) -> Result<(), String> {
        unreachable!()
    }
}

export_operators![Double];

fn double() -> &'static abi::Operator {
    // SAFETY: a library has one operator here, and stays.
    unsafe { &*(*penstock_operators_v1()).operators }
}

fn text(text: *const std::ffi::c_char) -> &'static str {
    // SAFETY: texts of operators end with a zero, and stay.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap()
}

fn no_error() -> abi::Error {
    abi::Error { message: [0; abi::MAX_MESSAGE] }
}

fn said(error: &abi::Error) -> &str {
    CStr::from_bytes_until_nul(&error.message).unwrap().to_str().unwrap()
}

/// What the operator says of the types of its results.
fn types(input: &TensorType) -> Result<Vec<TensorType>, String> {
    let unset = abi::Type { dtype: 0, rank: -1, sizes: [-1; abi::MAX_RANK] };
    let (input, mut outputs, mut error) = (input.to_abi()?, [unset; 2], no_error());
    // SAFETY: there is a type for each input and output.
    let status = unsafe { (double().types)(double().data, &input, outputs.as_mut_ptr(), &mut error) };
    if status == 0 { outputs.iter().map(TensorType::from_abi).collect() } else { Err(said(&error).to_owned()) }
}

/// Runs the operator on a vector, whose elements may begin some bytes later.
fn run(x: &[f32], shift: usize) -> Result<(Vec<f32>, Vec<bool>), String> {
    let ty = TensorType::new(DType::F32, [Some(x.len() - shift.min(1))]);
    let (input, mut error) = (ty.to_abi()?, no_error());
    let outputs = [ty.to_abi()?, ty.with_dtype(DType::Bool).to_abi()?];
    let (mut y, mut positive) = (vec![0.0f32; x.len()], vec![false; x.len()]);
    let places: [*mut c_void; 2] = [y.as_mut_ptr().cast(), positive.as_mut_ptr().cast()];
    let elements: *const c_void = x.as_ptr().cast::<u8>().wrapping_add(shift).cast();
    // SAFETY: there is memory as the types say.
    let status =
        unsafe { (double().run)(double().data, &input, &elements, outputs.as_ptr(), places.as_ptr(), &mut error) };
    if status == 0 { Ok((y, positive)) } else { Err(said(&error).to_owned()) }
}

#[test]
fn an_operator_describes_itself() {
    let op = double();
    assert_eq!(
        (text(op.name), text(op.doc), text(op.gradient), op.flags),
        ("double", "Twice.", "slope", abi::STATEFUL)
    );
    // SAFETY: there are one name and two, and a null at the end of each.
    unsafe {
        assert_eq!((text(*op.inputs), *op.inputs.add(1)), ("x", ptr::null()));
        assert_eq!((text(*op.outputs), text(*op.outputs.add(1)), *op.outputs.add(2)), ("y", "positive", ptr::null()));
    }
    assert!(ptr::eq(op, double()), "the same each time");
    assert!(Exports::new().library(|| vec![Box::new(Nameless)]).is_null());
}

#[test]
fn types_may_be_known_in_part() {
    for ty in [TensorType::new(DType::F64, [None, Some(3), None]), TensorType::of_any_shape(DType::C64)] {
        assert_eq!(types(&ty).unwrap(), [ty.clone(), ty.with_dtype(DType::Bool)]);
    }
    assert_eq!(types(&TensorType::new(DType::F32, [None; 2])).unwrap_err(), "it panicked: no matrices");
    let long = TensorType::new(DType::F32, vec![Some(1); abi::MAX_RANK + 1]);
    assert_eq!(long.to_abi().unwrap_err(), "a result has 33 dimensions, at most 32 can be");
    assert_eq!(TensorType::new(DType::F32, [None, Some(2)]).to_string(), "float32[?, 2]");
}

#[test]
fn a_kernel_reads_and_writes_memory_of_the_caller() {
    assert_eq!(run(&[1.0, -2.0], 0), Ok((vec![2.0, -4.0], vec![true, false])));
    assert_eq!(run(&[], 0), Ok((vec![], vec![])));
}

#[test]
fn what_a_kernel_says_is_cut_between_characters() {
    let message = run(&[f32::NAN], 0).unwrap_err();
    assert_eq!(message, "ü".repeat((abi::MAX_MESSAGE - 1) / 2));
}

#[test]
fn memory_is_seen_as_what_it_is() {
    let bytes = [0u8, 1, 2, 0];
    let view = |dtype| View::new("x", dtype, vec![], &bytes);
    assert_eq!(view(DType::F32).as_slice::<i32>().unwrap_err(), "the input 'x' is float32, and is used as int32");
    assert_eq!(view(DType::Bool).as_slice::<bool>().unwrap_err(), "the input 'x' holds a bool that is neither 0 nor 1");
    assert_eq!(view(DType::U8).as_slice::<u8>().unwrap(), bytes);
    assert_eq!(run(&[1.0, 2.0], 1).unwrap_err(), "the input 'x' is not aligned");
}

#[test]
fn the_header_says_the_same() {
    let header = include_str!("../include/penstock_plugin.h");
    let number = |name: &str| -> i64 {
        let line = header.lines().find(|line| line.starts_with(&format!("#define PENSTOCK_{name} ")));
        line.and_then(|line| line.split_whitespace().nth(2)).unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
    };
    assert_eq!(number("MAX_RANK"), abi::MAX_RANK as i64);
    assert_eq!(number("MAX_MESSAGE"), abi::MAX_MESSAGE as i64);
    assert_eq!(number("STATEFUL"), abi::STATEFUL as i64);
    for dtype in DType::ALL {
        assert_eq!(number(&dtype.name().to_uppercase()), i64::from(dtype.code()));
        assert_eq!(DType::from_code(dtype.code()), Some(*dtype));
    }
}
