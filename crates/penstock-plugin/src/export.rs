//! Operators as the interface has them.

#![expect(unsafe_code, reason = "memory of the caller; see the SAFETY comments")]

use std::any::Any;
use std::ffi::{CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use crate::abi;
use crate::operator::{Description, Operator};
use crate::tensor_type::TensorType;
use crate::view::{View, ViewMut};

/// The operators of a library, which are made when they are asked for first, and stay.
#[derive(Default)]
pub struct Exports(OnceLock<Option<Shared>>);

struct Shared(&'static abi::Library);

// SAFETY: what the pointers in it lead to is never written again, but for operators, which are `Sync`.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Exports {
    /// No operators yet.
    pub const fn new() -> Exports {
        Exports(OnceLock::new())
    }

    /// What the library has; null where an operator panics when it is asked for its description.
    pub fn library(&self, operators: fn() -> Vec<Box<dyn Operator>>) -> *const abi::Library {
        let made = self.0.get_or_init(|| catch_unwind(|| Shared(exported(operators()))).ok());
        made.as_ref().map_or(ptr::null(), |shared| shared.0)
    }
}

/// An operator with its description: what `data` leads to.
struct Exported {
    operator: Box<dyn Operator>,
    description: Description,
}

/// A value that stays as long as the process.
fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A text that stays; what follows a zero in it is cut off.
fn text(text: &str) -> *const c_char {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default().into_raw()
}

fn texts(texts: &[String]) -> *const *const c_char {
    let all: Vec<_> = texts.iter().map(|t| text(t)).chain([ptr::null()]).collect();
    all.leak().as_ptr()
}

fn exported(operators: Vec<Box<dyn Operator>>) -> &'static abi::Library {
    let entry = |operator: Box<dyn Operator>| {
        let description = operator.description();
        let exported = kept(Exported { operator, description });
        let about = &exported.description;
        abi::Operator {
            name: text(&about.name),
            doc: text(&about.doc),
            inputs: texts(&about.inputs),
            outputs: texts(&about.outputs),
            gradient: about.gradient.as_deref().map_or(ptr::null(), text),
            flags: if about.stateful { abi::STATEFUL } else { 0 },
            types,
            run,
            data: ptr::from_ref(exported).cast_mut().cast(),
        }
    };
    let all = operators.into_iter().map(entry).collect::<Vec<_>>().leak();
    kept(abi::Library { operators: all.as_ptr(), len: all.len() })
}

/// What a panic says.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.map_or_else(|| "it panicked".to_owned(), |text| format!("it panicked: {text}"))
}

/// Makes a status of a result, and an error of a panic: nothing unwinds into the caller.
///
/// # Safety
/// `error` is null or may be written.
unsafe fn tried(error: *mut abi::Error, call: impl FnOnce() -> Result<(), String>) -> i32 {
    // Results that a panic leaves half done are not used.
    let done = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(message_of(&*panic)));
    let Err(message) = done else { return 0 };
    let mut end = message.len().min(abi::MAX_MESSAGE - 1);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    if !error.is_null() {
        let mut room = [0; abi::MAX_MESSAGE];
        room[..end].copy_from_slice(&message.as_bytes()[..end]);
        // SAFETY: it is not null, and the caller warrants that it may be written.
        unsafe { error.write(abi::Error { message: room }) };
    }
    1
}

/// An array of the caller.
///
/// # Safety
/// `len` is 0, or `pointer` is that of `len` values, which nobody writes to while the result is used.
unsafe fn array<'a, T>(pointer: *const T, len: usize) -> &'a [T] {
    // SAFETY: the caller warrants it.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(pointer, len) } }
}

unsafe extern "C" fn types(
    data: *mut c_void,
    inputs: *const abi::Type,
    outputs: *mut abi::Type,
    error: *mut abi::Error,
) -> i32 {
    let call = || {
        // SAFETY: `data` is that of the operator, which `exported` made.
        let Exported { operator, description } = unsafe { &*data.cast::<Exported>() };
        // SAFETY: the caller has a type for each input.
        let inputs = unsafe { array(inputs, description.inputs.len()) };
        let inputs = inputs.iter().map(TensorType::from_abi).collect::<Result<Vec<_>, _>>()?;
        let found = operator.types(&inputs)?;
        let (due, len) = (description.outputs.len(), found.len());
        if len != due {
            return Err(format!("it says the types of {len} results, and has {due}"));
        }
        for (i, ty) in found.iter().enumerate() {
            let ty = ty.to_abi()?;
            // SAFETY: the caller has a place for each output.
            unsafe { outputs.add(i).write(ty) };
        }
        Ok(())
    };
    // SAFETY: the caller warrants that errors may be written.
    unsafe { tried(error, call) }
}

/// The dtype, the sizes and the bytes of a tensor whose type is all known.
fn layout(ty: &abi::Type, name: &str) -> Result<(TensorType, Vec<usize>, usize), String> {
    let ty = TensorType::from_abi(ty)?;
    let sizes = ty.shape.as_ref().and_then(|shape| shape.iter().copied().collect::<Option<Vec<_>>>());
    let sizes = sizes.ok_or_else(|| format!("the sizes of '{name}' are not known when it runs: {ty}"))?;
    let bytes = sizes.iter().try_fold(ty.dtype.size(), |n, size| n.checked_mul(*size));
    let bytes = bytes.filter(|n| isize::try_from(*n).is_ok()).ok_or_else(|| format!("'{name}' is too large: {ty}"))?;
    Ok((ty, sizes, bytes))
}

unsafe extern "C" fn run(
    data: *mut c_void,
    input_types: *const abi::Type,
    inputs: *const *const c_void,
    output_types: *const abi::Type,
    outputs: *const *mut c_void,
    error: *mut abi::Error,
) -> i32 {
    let call = || {
        // SAFETY: `data` is that of the operator, which `exported` made.
        let Exported { operator, description } = unsafe { &*data.cast::<Exported>() };
        let (takes, gives) = (&description.inputs, &description.outputs);
        // SAFETY: the caller has a type for each input.
        let input_types = unsafe { array(input_types, takes.len()) };
        // SAFETY: and memory.
        let inputs = unsafe { array(inputs, takes.len()) };
        let mut views = Vec::with_capacity(takes.len());
        for ((name, ty), place) in takes.iter().zip(input_types).zip(inputs) {
            let (ty, sizes, len) = layout(ty, name)?;
            // SAFETY: the type says how many bytes there are, which the caller does not write to meanwhile.
            views.push(View::new(name, ty.dtype, sizes, unsafe { array(place.cast(), len) }));
        }
        // SAFETY: the caller has a type for each output.
        let output_types = unsafe { array(output_types, gives.len()) };
        // SAFETY: and memory.
        let outputs = unsafe { array(outputs, gives.len()) };
        let mut results = Vec::with_capacity(gives.len());
        for ((name, ty), place) in gives.iter().zip(output_types).zip(outputs) {
            let (ty, sizes, len) = layout(ty, name)?;
            let bytes = match len {
                0 => &mut [],
                // SAFETY: the type says how many bytes there are, which are initialised and nobody else uses meanwhile.
                _ => unsafe { slice::from_raw_parts_mut(place.cast(), len) },
            };
            results.push(ViewMut::new(name, ty.dtype, sizes, bytes));
        }
        operator.run(&views, &mut results)
    };
    // SAFETY: the caller warrants that errors may be written.
    unsafe { tried(error, call) }
}
