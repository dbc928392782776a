//! Calls by way of the interpreter's vectorcall protocol (PEP 590): the arguments stay on the caller's stack, and no
//! tuple is made of them.
//!
//! PyO3 gives its classes `tp_call` alone. [`class`] makes a subclass of one whose type has a vectorcall slot, which
//! is a member at an offset of the object: that of [`Callable`], from which all classes with such calls are derived.

#![expect(unsafe_code, reason = "the type is made by PyType_FromSpec, and the interpreter calls by raw pointers")]

use std::ffi::{CString, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};

use penstock_data::Error;
use pyo3::ffi;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::errors::to_py;

/// The interpreter's `vectorcallfunc`.
type VectorCall = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// `Py_TPFLAGS_HAVE_VECTORCALL`, which has this value in every version that has the protocol.
const HAVE_VECTORCALL: c_uint = 1 << 11;
/// The bit of a call's count that says that the caller lends the place before the arguments.
const LENT: usize = 1 << (usize::BITS - 1);

/// What is called through the vectorcall slot of its type.
#[pyclass(subclass, frozen, name = "_Callable", module = "penstock._core")]
pub(crate) struct Callable {
    entry: VectorCall,
}

/// The arguments of a call, where the interpreter has them.
#[derive(Clone, Copy)]
pub(crate) struct Stack<'a, 'py> {
    /// What a method is bound to: the argument before the others.
    pub(crate) first: Option<&'a Bound<'py, PyAny>>,
    /// The positional arguments, then those by keyword.
    values: &'a [*mut ffi::PyObject],
    /// How many are positional.
    count: usize,
    names: Option<Borrowed<'a, 'py, PyTuple>>,
    py: Python<'py>,
}

impl<'a, 'py> Stack<'a, 'py> {
    pub(crate) fn py(&self) -> Python<'py> {
        self.py
    }

    /// The same of a method that is bound to `instance`.
    #[inline]
    pub(crate) fn of_method<'b>(&self, instance: &'b Bound<'py, PyAny>) -> Stack<'b, 'py>
    where
        'a: 'b,
    {
        Stack { first: Some(instance), ..*self }
    }

    #[inline]
    fn at(&self, i: usize) -> Borrowed<'a, 'py, PyAny> {
        // SAFETY: the values are objects that the caller keeps alive during the call.
        unsafe { Borrowed::from_ptr(self.py, self.values[i]) }
    }

    /// The positional arguments.
    #[inline]
    pub(crate) fn positional(&self) -> impl ExactSizeIterator<Item = Borrowed<'a, 'py, PyAny>> + use<'a, 'py> {
        let stack = *self;
        (0..self.count).map(move |i| stack.at(i))
    }

    /// Whether there is no argument by keyword.
    #[inline]
    pub(crate) fn is_positional(&self) -> bool {
        self.values.len() == self.count
    }

    /// The number of arguments by keyword.
    pub(crate) fn keywords(&self) -> usize {
        self.values.len() - self.count
    }

    /// The argument by a keyword, where the caller names it by the same string object, as it does with names that stand in
    /// the source.
    pub(crate) fn keyword(&self, name: &Py<PyString>) -> Option<Borrowed<'a, 'py, PyAny>> {
        let at = self.names?.iter_borrowed().position(|n| n.is(name))?;
        Some(self.at(self.count + at))
    }

    /// The arguments by keyword, with their names.
    pub(crate) fn named(&self) -> impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)> + use<'a, 'py> {
        let stack = *self;
        (0..self.keywords()).filter_map(move |i| {
            let name = stack.names?.get_item(i).ok()?;
            Some((name, stack.at(stack.count + i).to_owned()))
        })
    }

    /// The arguments as Python functions of all kinds take them.
    fn collected(&self) -> PyResult<(Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>)> {
        let args = PyTuple::new(self.py, self.positional())?;
        let Some(names) = self.names.filter(|names| !names.is_empty()) else { return Ok((args, None)) };
        let kwargs = PyDict::new(self.py);
        for (i, name) in names.iter_borrowed().enumerate() {
            kwargs.set_item(name, self.at(self.count + i))?;
        }
        Ok((args, Some(kwargs)))
    }
}

/// A class whose objects are called through the slot.
pub(crate) trait StackCall: Sized {
    /// The result, where it is quickly had; `None` where [`StackCall::call`] is to be asked.
    ///
    /// To PyO3 the thread is not attached meanwhile: it releases a `Py` that is dropped at the next call.
    fn call_quickly<'py>(slf: &Bound<'py, Self>, stack: &Stack<'_, 'py>) -> Option<PyResult<Bound<'py, PyAny>>>;

    /// The result.
    fn call<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>>;
}

impl Callable {
    /// The part of an object of `T` that says how it is called.
    pub(crate) fn of<T: StackCall>() -> Callable {
        Callable { entry: entry::<T> }
    }
}

/// What the slot of objects of `T` holds.
///
/// # Safety
/// As the interpreter calls it: `callable` is an object of `T`, `values` are as many objects as `count` and `names` say,
/// which live during the call, and `names` is null or a tuple of strings.
unsafe extern "C" fn entry<T: StackCall>(
    callable: *mut ffi::PyObject,
    values: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls from a thread that is attached, and the token does not outlive the call.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the caller's promise.
    let callable = unsafe { Borrowed::from_ptr(py, callable).cast_unchecked::<T>() };
    // SAFETY: the caller's promise.
    let names = unsafe { Borrowed::from_ptr_or_opt(py, names).map(|names| names.cast_unchecked::<PyTuple>()) };
    let count = count & !LENT;
    let all = count + names.map_or(0, |names| names.len());
    // SAFETY: the caller's promise; where there is no argument the pointer may be null.
    let values = if all == 0 { &[] } else { unsafe { std::slice::from_raw_parts(values, all) } };
    let stack = Stack { first: None, values, count, names, py };
    let work = || match T::call_quickly(&callable, &stack) {
        Some(result) => result,
        None => Python::attach(|_| {
            let (args, kwargs) = stack.collected()?;
            T::call(&callable, &args, kwargs.as_ref())
        }),
    };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(result)) => result.into_ptr(),
        Ok(Err(error)) => raise(py, error),
        Err(panic) => raise(
            py,
            match panic.downcast_ref::<Error>() {
                Some(error) => to_py(py, error),
                None => PanicException::new_err(words(&*panic)),
            },
        ),
    }
}

#[cold]
fn raise(py: Python<'_>, error: PyErr) -> *mut ffi::PyObject {
    error.restore(py);
    std::ptr::null_mut()
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}

/// The slot of an object that is never called.
unsafe extern "C" fn uncalled(
    _: *mut ffi::PyObject,
    _: *const *mut ffi::PyObject,
    _: usize,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    std::ptr::null_mut()
}

/// A subclass of `base`, a class derived from [`Callable`], with its name and documentation, whose objects are called
/// through the slot. Where it has no constructor of its own, [`adopt`] makes objects of `base` its own.
#[pyfunction(name = "_with_vectorcall")]
pub(crate) fn with_vectorcall<'py>(base: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyType>> {
    let py = base.py();
    let probe = Bound::new(py, Callable { entry: uncalled })?;
    let offset = (&raw const probe.get().entry).addr() - probe.as_ptr().addr();
    let name = CString::new(format!("{}.{}", base.module()?, base.qualname()?))?;
    let member = ffi::PyMemberDef {
        name: c"__vectorcalloffset__".as_ptr(),
        type_code: ffi::Py_T_PYSSIZET,
        offset: offset as ffi::Py_ssize_t,
        flags: ffi::Py_READONLY,
        doc: std::ptr::null(),
    };
    let mut members = [member, ffi::PyMemberDef::default()];
    let mut slots = [
        ffi::PyType_Slot { slot: ffi::Py_tp_members, pfunc: members.as_mut_ptr().cast() },
        ffi::PyType_Slot::default(),
    ];
    let mut spec = ffi::PyType_Spec {
        name: name.as_ptr(),
        basicsize: 0, // that of the base
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as c_uint | HAVE_VECTORCALL,
        slots: slots.as_mut_ptr(),
    };
    let bases = PyTuple::new(py, [base])?;
    // SAFETY: the specification is whole, and the interpreter copies what it keeps but for the member's name, which is
    // static. The slot of each object is where `Callable` has it, since the objects of a class start with those of its base.
    let class =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr())) }?;
    let class = class.cast_into::<PyType>()?;
    class.setattr("__doc__", base.getattr("__doc__")?)?;
    Ok(class)
}

/// Makes an object of the class that [`with_vectorcall`] gave for its own.
pub(crate) fn adopt<'py, T>(object: Bound<'py, T>, class: &Bound<'py, PyType>) -> Bound<'py, T> {
    debug_assert!(class.bases().iter().any(|base| base.is(object.as_any().get_type())));
    let class = class.clone().into_ptr().cast::<ffi::PyTypeObject>();
    // SAFETY: the object is new, so that nobody looks at its class now. That of its own and the subclass, which adds no
    // field, lay it out alike; each object holds one reference to its class.
    unsafe {
        let old = std::mem::replace(&mut (*object.as_ptr()).ob_type, class);
        ffi::Py_DECREF(old.cast());
    }
    object
}
