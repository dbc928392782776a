//! The C interface of the engine. `include/penstock.h` is its documentation; a test compares it with what is here.
//!
//! Every function that can fail runs in [`tried`], which makes an error of a panic: nothing unwinds into C. Handles are boxes:
//! C holds the address, and gives it back once to be freed.

#![expect(unsafe_code, reason = "memory and handles of C; see the SAFETY comments")]
#![expect(non_camel_case_types, reason = "the names of the header")]

mod tensors;

use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;

use penstock::{Arg, Class, Error, Loader, Place, Program, ProgramFunction, Result, Tensor, Type};
use tensors::{code_of, dtype_of, extents};
pub use tensors::{ps_dtype, ps_port, ps_tensor};

/// The version of the interface.
const ABI_VERSION: u32 = 1;

/// How a call ended.
pub type ps_status = i32;

/// The statuses beside 0, with the header's names for them; what has no class of its own is the last.
pub const STATUSES: [(&str, &[Class]); 10] = [
    ("PS_INVALID_ARGUMENT", &[Class::InvalidArgument]),
    ("PS_NOT_FOUND", &[Class::NotFound]),
    ("PS_FAILED_PRECONDITION", &[Class::FailedPrecondition]),
    ("PS_RESOURCE_EXHAUSTED", &[Class::ResourceExhausted]),
    ("PS_UNIMPLEMENTED", &[Class::Unimplemented]),
    ("PS_CANCELLED", &[Class::Cancelled]),
    ("PS_WRONG_DTYPE", &[Class::DType]),
    ("PS_OUT_OF_BOUNDS", &[Class::IndexOutOfBounds, Class::OutOfRange]),
    ("PS_INTERNAL", &[Class::Internal]),
    ("PS_OTHER", &[]),
];

/// An error.
pub struct ps_error {
    code: ps_status,
    message: CString,
}

/// A program.
pub struct ps_program(Program);

/// A function, with what is told of its ports.
pub struct ps_function {
    function: ProgramFunction,
    name: CString,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

struct Port {
    name: CString,
    shape: Option<Vec<i64>>,
    dtype: ps_dtype,
}

/// The results of a run, with their extents.
pub struct ps_results(Vec<(Tensor, Vec<i64>)>);

/// A text for C. What follows a zero in it is cut off.
fn text(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

fn ports<'a>(ports: impl Iterator<Item = (&'a str, &'a Type)>) -> Vec<Port> {
    ports.map(|(name, ty)| Port { name: text(name), shape: extents(ty.shape()), dtype: code_of(ty.dtype()) }).collect()
}

/// Runs a call, and gives its status; the error goes to `error`, where that is not null.
///
/// # Safety
/// `error` is null or may be written.
unsafe fn tried(error: *mut *mut ps_error, call: impl FnOnce() -> Result<()>) -> ps_status {
    // What a panic leaves half done is not seen: results are written at the end of a call.
    let done = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(Error::of_panic(&*panic)));
    let Err(failure) = done else { return 0 };
    let found = STATUSES.iter().position(|(_, classes)| classes.contains(&failure.class()));
    let code = found.unwrap_or(STATUSES.len() - 1) as ps_status + 1;
    if !error.is_null() {
        let op = failure.op().map(|op| format!("{op}: ")).unwrap_or_default();
        let message = text(&format!("{op}{failure}"));
        // SAFETY: it is not null, and the caller warrants that it may be written.
        unsafe { error.write(Box::into_raw(Box::new(ps_error { code, message }))) };
    }
    code
}

fn null(what: &str) -> Error {
    Error::invalid("is NULL").argument(what)
}

/// What a pointer points to.
///
/// # Safety
/// It is null, or points to a value that lives and is not written to as long as the result is used.
unsafe fn seen<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: the caller warrants it.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// An array of C.
///
/// # Safety
/// `len` is 0, or `pointer` is null or points to so many values that live and are not written to as long as the result is used.
unsafe fn array<'a, T>(pointer: *const T, len: usize, what: &str) -> Result<&'a [T]> {
    match (len, pointer.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(null(what)),
        // SAFETY: it is not null, and the caller warrants the rest.
        _ => Ok(unsafe { slice::from_raw_parts(pointer, len) }),
    }
}

/// A text of C.
///
/// # Safety
/// It is null, or points to a text that ends with a zero and lives as long as the result is used.
unsafe fn words<'a>(pointer: *const c_char, what: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: it is not null, and the caller warrants the rest.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| Error::invalid("is not UTF-8").argument(what))
}

/// Gives a value to C.
///
/// # Safety
/// `place` is null or may be written.
unsafe fn give<T>(place: *mut T, what: &str, value: impl FnOnce() -> Result<T>) -> Result<()> {
    if place.is_null() {
        return Err(null(what));
    }
    let value = value()?;
    // SAFETY: it is not null, and the caller warrants that it may be written.
    unsafe { place.write(value) };
    Ok(())
}

/// Frees a handle, where it is one.
///
/// # Safety
/// It is null, or was made by `Box::into_raw` and is not used from now on.
unsafe fn freed<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it is not null, and the caller warrants the rest. What dropping panics with is dropped too.
        let owned = unsafe { Box::from_raw(handle) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(owned)));
    }
}

fn boxed<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Declares functions that C calls, whose safety is what the header says of handles and memory.
macro_rules! exported {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As `penstock.h` says: handles are such as this library gave and were not freed, pointers are null where that is
        /// allowed, or point to what their types say.
        // SAFETY: no other symbol of a program has this name, which starts with the prefix of this library.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? $body
    )*};
}

exported! {
    /// The version of this interface.
    fn ps_abi_version() -> u32 {
        ABI_VERSION
    }

    /// The status of an error; 0 for none.
    fn ps_error_code(error: *const ps_error) -> ps_status {
        // SAFETY: a handle or null.
        unsafe { error.as_ref() }.map_or(0, |e| e.code)
    }

    /// The words of an error; empty for none.
    fn ps_error_message(error: *const ps_error) -> *const c_char {
        // SAFETY: a handle or null.
        unsafe { error.as_ref() }.map_or(c"".as_ptr(), |e| e.message.as_ptr())
    }

    /// Frees an error.
    fn ps_error_free(error: *mut ps_error) {
        // SAFETY: a handle that was given by `boxed`, or null.
        unsafe { freed(error) }
    }

    /// Loads a program from a file.
    fn ps_program_load(
        path: *const c_char, threads: usize, program: *mut *mut ps_program, error: *mut *mut ps_error,
    ) -> ps_status {
        // SAFETY: a text, and places for results, by the header.
        unsafe {
            tried(error, || {
                let path = words(path, "path")?;
                give(program, "program", || Ok(boxed(ps_program(Loader::new().threads(threads).load(path)?))))
            })
        }
    }

    /// Loads a program from memory.
    fn ps_program_from_bytes(
        bytes: *const c_void, size: usize, threads: usize, program: *mut *mut ps_program, error: *mut *mut ps_error,
    ) -> ps_status {
        // SAFETY: `size` bytes at `bytes`, and places for results, by the header.
        unsafe {
            tried(error, || {
                let bytes = array(bytes.cast::<u8>(), size, "bytes")?;
                give(program, "program", || Ok(boxed(ps_program(Loader::new().threads(threads).from_bytes(bytes)?))))
            })
        }
    }

    /// The same functions over variables of their own.
    fn ps_program_fork(program: *const ps_program, fork: *mut *mut ps_program, error: *mut *mut ps_error) -> ps_status {
        // SAFETY: a handle, and places for results, by the header.
        unsafe {
            tried(error, || {
                let program = seen(program, "program")?;
                give(fork, "fork", || Ok(boxed(ps_program(program.0.fork()?))))
            })
        }
    }

    /// Saves a program.
    fn ps_program_save(program: *const ps_program, path: *const c_char, error: *mut *mut ps_error) -> ps_status {
        // SAFETY: a handle, a text, and a place for an error, by the header.
        unsafe { tried(error, || seen(program, "program")?.0.save(words(path, "path")?)) }
    }

    /// Frees a program.
    fn ps_program_free(program: *mut ps_program) {
        // SAFETY: a handle that was given by `boxed`, or null.
        unsafe { freed(program) }
    }

    /// A function by name, or the one that needs none.
    fn ps_program_function(
        program: *const ps_program, name: *const c_char, function: *mut *mut ps_function, error: *mut *mut ps_error,
    ) -> ps_status {
        // SAFETY: a handle, a text or null, and places for results, by the header.
        unsafe {
            tried(error, || {
                let program = &seen(program, "program")?.0;
                let found = match name.is_null() {
                    true => program.default_function()?,
                    false => program.function(words(name, "name")?)?,
                };
                let (name, inputs, outputs) = (text(found.name()), ports(found.inputs()), ports(found.outputs()));
                give(function, "function", || Ok(boxed(ps_function { function: found, name, inputs, outputs })))
            })
        }
    }

    /// The name of a function; empty for null.
    fn ps_function_name(function: *const ps_function) -> *const c_char {
        // SAFETY: a handle or null.
        unsafe { function.as_ref() }.map_or(c"".as_ptr(), |f| f.name.as_ptr())
    }

    /// The number of inputs.
    fn ps_function_inputs(function: *const ps_function) -> usize {
        // SAFETY: a handle or null.
        unsafe { function.as_ref() }.map_or(0, |f| f.inputs.len())
    }

    /// The number of outputs.
    fn ps_function_outputs(function: *const ps_function) -> usize {
        // SAFETY: a handle or null.
        unsafe { function.as_ref() }.map_or(0, |f| f.outputs.len())
    }

    /// An input.
    fn ps_function_input(
        function: *const ps_function, index: usize, port: *mut ps_port, error: *mut *mut ps_error,
    ) -> ps_status {
        // SAFETY: a handle and places for results, by the header.
        unsafe { tried(error, || tell(&seen(function, "function")?.inputs, index, port)) }
    }

    /// An output.
    fn ps_function_output(
        function: *const ps_function, index: usize, port: *mut ps_port, error: *mut *mut ps_error,
    ) -> ps_status {
        // SAFETY: a handle and places for results, by the header.
        unsafe { tried(error, || tell(&seen(function, "function")?.outputs, index, port)) }
    }

    /// Frees a function.
    fn ps_function_free(function: *mut ps_function) {
        // SAFETY: a handle that was given by `boxed`, or null.
        unsafe { freed(function) }
    }

    /// Runs a function.
    fn ps_run(
        function: *const ps_function, inputs: *const ps_tensor, inputs_len: usize, results: *mut *mut ps_results,
        error: *mut *mut ps_error,
    ) -> ps_status {
        // SAFETY: a handle, `inputs_len` tensors whose memory is as they say, and places for results, by the header.
        unsafe {
            tried(error, || {
                let function = seen(function, "function")?;
                let inputs = array(inputs, inputs_len, "inputs")?;
                give(results, "results", || {
                    let out = run(function, inputs)?;
                    let extents = |t: &Tensor| t.dims().iter().map(|&d| d as i64).collect();
                    Ok(boxed(ps_results(out.into_iter().map(|t| { let dims = extents(&t); (t, dims) }).collect())))
                })
            })
        }
    }

    /// Runs a function into memory of the caller.
    fn ps_run_into(
        function: *const ps_function, inputs: *const ps_tensor, inputs_len: usize, outputs: *const ps_tensor,
        outputs_len: usize, error: *mut *mut ps_error,
    ) -> ps_status {
        // SAFETY: a handle, tensors whose memory is as they say and, of the outputs, may be written, by the header.
        unsafe {
            tried(error, || {
                let function = seen(function, "function")?;
                let inputs = array(inputs, inputs_len, "inputs")?;
                let outputs = array(outputs, outputs_len, "outputs")?;
                let results = run(function, inputs)?;
                let place = |(i, t): (usize, &ps_tensor)| t.place().map_err(|e| e.argument(format!("outputs[{i}]")));
                let mut places = outputs.iter().enumerate().map(place).collect::<Result<Vec<Place<'_>>>>()?;
                Place::write_all(&mut places, &results)
            })
        }
    }

    /// The number of results; 0 for null.
    fn ps_results_len(results: *const ps_results) -> usize {
        // SAFETY: a handle or null.
        unsafe { results.as_ref() }.map_or(0, |r| r.0.len())
    }

    /// A result.
    fn ps_results_get(
        results: *const ps_results, index: usize, tensor: *mut ps_tensor, error: *mut *mut ps_error,
    ) -> ps_status {
        // SAFETY: a handle and places for results, by the header.
        unsafe {
            tried(error, || {
                let all = &seen(results, "results")?.0;
                let (result, shape) = all.get(index).ok_or_else(|| beyond(index, all.len()))?;
                give(tensor, "tensor", || {
                    let dtype = code_of(result.dtype());
                    dtype_of(dtype)?;
                    let data = result.bytes().as_ptr().cast_mut().cast::<c_void>();
                    Ok(ps_tensor { data, shape: shape.as_ptr(), ndim: shape.len() as i32, dtype })
                })
            })
        }
    }

    /// Frees results.
    fn ps_results_free(results: *mut ps_results) {
        // SAFETY: a handle that was given by `boxed`, or null.
        unsafe { freed(results) }
    }
}

fn beyond(index: usize, len: usize) -> Error {
    Error::not_found(format!("there is no number {index}, there are {len}")).argument("index")
}

/// Tells of a port.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn tell(ports: &[Port], index: usize, to: *mut ps_port) -> Result<()> {
    let port = ports.get(index).ok_or_else(|| beyond(index, ports.len()))?;
    let shape = port.shape.as_ref().map_or(ptr::null(), |s| s.as_ptr());
    let ndim = port.shape.as_ref().map_or(-1, |s| s.len() as i32);
    // SAFETY: the caller warrants it.
    unsafe { give(to, "port", || Ok(ps_port { name: port.name.as_ptr(), shape, ndim, dtype: port.dtype })) }
}

/// Runs a function on copies of tensors.
///
/// # Safety
/// The memory of each is as it says.
unsafe fn run(function: &ps_function, inputs: &[ps_tensor]) -> Result<Vec<Tensor>> {
    let (due, got) = (function.inputs.len(), inputs.len());
    if due != got {
        return Err(Error::invalid(format!("the function takes {due} tensors, got {got}")).argument("inputs"));
    }
    let arg = |(i, t): (usize, &ps_tensor)| {
        // SAFETY: the caller warrants it.
        unsafe { t.tensor() }.map(Arg::Tensor).map_err(|e| e.argument(format!("inputs[{i}]")))
    };
    let args = inputs.iter().enumerate().map(arg).collect::<Result<Vec<Arg>>>()?;
    function.function.run_in(&args, penstock::std_env())
}

#[cfg(test)]
mod tests;
