//! The functions, called as C calls them, and the header against what is here.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use penstock::{ALL_DTYPES, parse};

use super::*;
use crate::tensors::CODES;

const HEADER: &str = include_str!("../include/penstock.h");

fn program(text: &str) -> *mut ps_program {
    let mut builder = Program::builder();
    builder.function("f", parse(text).unwrap().function().clone(), &["x"], &["y"], Vec::new());
    let bytes = builder.finish().unwrap().to_bytes().unwrap();
    let mut program = null_mut();
    // SAFETY: the bytes live as long as the call.
    let status = unsafe { ps_program_from_bytes(bytes.as_ptr().cast(), bytes.len(), 1, &mut program, null_mut()) };
    assert_eq!(status, 0);
    program
}

fn main_of(program: *const ps_program) -> *mut ps_function {
    let mut function = null_mut();
    // SAFETY: a program that lives.
    assert_eq!(unsafe { ps_program_function(program, null(), &mut function, null_mut()) }, 0);
    function
}

/// The status of a call, and what its error says.
fn failed(call: impl FnOnce(*mut *mut ps_error) -> ps_status) -> (ps_status, String) {
    let mut error = null_mut();
    let status = call(&mut error);
    // SAFETY: an error that the call gave, or null, which is freed once.
    unsafe {
        let message = CStr::from_ptr(ps_error_message(error)).to_str().unwrap().to_owned();
        assert_eq!(ps_error_code(error), status);
        ps_error_free(error);
        (status, message)
    }
}

const F32: ps_dtype = ps_dtype { code: 2, bits: 32, lanes: 1 };

fn tensor(data: &mut [f32], shape: &[i64]) -> ps_tensor {
    ps_tensor { data: data.as_mut_ptr().cast(), shape: shape.as_ptr(), ndim: shape.len() as i32, dtype: F32 }
}

#[test]
fn the_header_declares_every_function_and_number() {
    let sources = include_str!("lib.rs");
    let declared: Vec<&str> = sources
        .lines()
        .filter_map(|line| line.strip_prefix("    fn ps_")?.split_once('('))
        .map(|(name, _)| name)
        .collect();
    assert!(declared.len() > 20);
    for name in &declared {
        assert_eq!(HEADER.matches(&format!("ps_{name}(")).count(), 1, "ps_{name}");
    }
    let in_header =
        HEADER.lines().filter(|l| l.contains("ps_") && l.contains('(') && !l.trim_start().starts_with(['*', '/']));
    assert_eq!(in_header.count(), declared.len());
    let defines = |name: &str, value: String| assert!(HEADER.contains(&format!("#define {name} {value}\n")), "{name}");
    defines("PS_ABI_VERSION", ABI_VERSION.to_string());
    STATUSES.iter().enumerate().for_each(|(i, (name, _))| defines(name, (i + 1).to_string()));
    CODES.iter().for_each(|(name, code)| defines(name, code.to_string()));
}

#[test]
fn every_dtype_has_a_code_and_comes_back() {
    for dtype in ALL_DTYPES.iter().copied() {
        let code = code_of(dtype);
        match code.code {
            255 => assert!(dtype_of(code).is_err()),
            _ => assert_eq!(dtype_of(code).unwrap(), dtype),
        }
    }
}

#[test]
fn a_run_gives_results_that_outlive_function_and_program() {
    let program = program("func @f(%x: f32[s0,2]) -> f32[s0,2] {\n %y = add %x, %x\n return %y\n}");
    let function = main_of(program);
    let (mut x, shape) = ([1.0, 2.0, 3.0, 4.0], [2, 2]);
    let (mut results, mut out) = (null_mut(), tensor(&mut [], &[]));
    // SAFETY: handles that were given, and memory of this function.
    unsafe {
        let mut port = std::mem::zeroed::<ps_port>();
        assert_eq!(ps_function_input(function, 0, &mut port, null_mut()), 0);
        assert_eq!((CStr::from_ptr(port.name), port.ndim, port.dtype), (c"x", 2, F32));
        assert_eq!(slice::from_raw_parts(port.shape, 2), [-1, 2]);
        assert_eq!(ps_run(function, &tensor(&mut x, &shape), 1, &mut results, null_mut()), 0);
        ps_function_free(function);
        ps_program_free(program);
        assert_eq!(ps_results_len(results), 1);
        assert_eq!(ps_results_get(results, 0, &mut out, null_mut()), 0);
        assert_eq!((out.ndim, slice::from_raw_parts(out.shape, 2)), (2, &[2, 2][..]));
        assert_eq!(slice::from_raw_parts(out.data.cast::<f32>(), 4), [2.0, 4.0, 6.0, 8.0]);
        let (status, message) = failed(|e| ps_results_get(results, 1, &mut out, e));
        assert_eq!((status, message.contains("there are 1")), (2, true));
        ps_results_free(results);
    }
}

#[test]
fn outputs_of_another_shape_are_left_as_they_were() {
    let program = program("func @f(%x: f32[s0]) -> f32[s0] {\n %y = add %x, %x\n return %y\n}");
    let function = main_of(program);
    let (mut x, mut y) = ([1.0, 2.0], [7.0; 3]);
    // SAFETY: handles that were given, and memory of this function.
    unsafe {
        let input = tensor(&mut x, &[2]);
        let (status, message) = failed(|e| ps_run_into(function, &input, 1, &tensor(&mut y, &[3]), 1, e));
        assert_eq!((status, y), (1, [7.0; 3]));
        assert!(message.contains("outputs[0]"), "{message}");
        // The same memory for both.
        assert_eq!(ps_run_into(function, &input, 1, &input, 1, null_mut()), 0);
        ps_function_free(function);
        ps_program_free(program);
    }
    assert_eq!(x, [2.0, 4.0]);
}

#[test]
fn what_is_wrong_is_an_error_that_names_it() {
    let program = program("func @f(%x: f32[2]) -> f32[2] {\n return %x\n}");
    let function = main_of(program);
    let (mut x, mut results) = ([1.0, 2.0], null_mut());
    let mut run = |t: ps_tensor| {
        // SAFETY: a handle that was given, and tensors of this function, which are checked before their memory is read.
        failed(|e| unsafe { ps_run(function, &t, 1, &mut results, e) })
    };
    let good = tensor(&mut x, &[2]);
    for (bad, status, part) in [
        (ps_tensor { dtype: ps_dtype { bits: 33, ..F32 }, ..good }, 7, "33 bits"),
        (ps_tensor { data: null_mut(), ..good }, 1, "NULL"),
        (ps_tensor { shape: null(), ..good }, 1, "shape"),
        (ps_tensor { ndim: -1, ..good }, 1, "ndim"),
        (ps_tensor { shape: [-1].as_ptr(), ..good }, 1, "[-1]"),
        (ps_tensor { shape: [i64::MAX].as_ptr(), ..good }, 4, "more than there can be"),
        (ps_tensor { shape: [1].as_ptr(), ..good }, 1, "f32[2]"),
    ] {
        let (got, message) = run(bad);
        assert!(got == status && message.contains(part), "{got} {message}");
    }
    let path = CString::new("/nowhere/at all.penstock").unwrap();
    let mut none = null_mut();
    // SAFETY: handles that were given or null, and texts that live.
    unsafe {
        assert_eq!(failed(|e| ps_program_load(path.as_ptr(), 0, &mut none, e)).0, 2);
        assert_eq!(failed(|e| ps_program_load(null(), 0, &mut none, e)).0, 1);
        assert_eq!(failed(|e| ps_program_load(c"\xff".as_ptr(), 0, &mut none, e)).0, 1);
        assert_eq!(failed(|e| ps_program_from_bytes(c"abc".as_ptr().cast(), 3, 0, &mut none, e)).0, 1);
        assert!(none.is_null());
        assert_eq!(failed(|e| ps_run(null(), null(), 0, &mut results, e)).0, 1);
        assert_eq!(failed(|e| ps_run(function, null(), 0, &mut results, e)).0, 1);
        ps_error_free(null_mut());
        ps_program_free(null_mut());
        ps_function_free(function);
        ps_program_free(program);
    }
}
