//! The error type of every crate.
//!
//! An [`Error`] is made where the fault is found, with its [`Class`] and a message; whoever knows the
//! operator, the argument or the source location adds it on the way up.

use std::any::Any;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use crate::loc::{Frame, Loc};

/// What kind of fault an error is; each class is one exception class of the Python layer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// An argument has a value, shape or rank that the operation does not take.
    InvalidArgument,
    /// An argument has a dtype that the operation does not take.
    DType,
    /// An index of a slice is outside its dimension.
    IndexOutOfBounds,
    /// A position is outside its range, or an iterator is at its end.
    OutOfRange,
    /// Something named does not exist.
    NotFound,
    /// The state is not one in which the operation may run (a variable not initialised, say).
    FailedPrecondition,
    /// A symbolic value is used where its trace is not open.
    OutOfScope,
    /// The combination of arguments is not supported.
    Unimplemented,
    /// Memory or another resource is used up.
    ResourceExhausted,
    /// The run was interrupted.
    Cancelled,
    /// Another process cannot be reached.
    Unavailable,
    /// A file is not what was written.
    DataLoss,
    /// Host code (a callback) failed; the payload holds its own error.
    Host,
    /// A defect of the engine.
    Internal,
}

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    class: Class,
    message: String,
    op: Option<&'static str>,
    argument: Option<String>,
    loc: Option<Loc>,
    iterations: Vec<u64>,
    callers: Vec<Loc>,
    payload: Option<Arc<dyn Any + Send + Sync>>,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $class:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[cold]
        pub fn $name(message: impl Into<String>) -> Error {
            Error::new(Class::$class, message)
        }
    )*};
}

impl Error {
    /// An error of a class.
    #[cold]
    pub fn new(class: Class, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            class,
            message: message.into(),
            op: None,
            argument: None,
            loc: None,
            iterations: Vec::new(),
            callers: Vec::new(),
            payload: None,
        }))
    }

    constructors! {
        /// An [`Class::InvalidArgument`] error.
        invalid => InvalidArgument,
        /// A [`Class::DType`] error.
        dtype => DType,
        /// An [`Class::IndexOutOfBounds`] error.
        index => IndexOutOfBounds,
        /// A [`Class::OutOfRange`] error.
        out_of_range => OutOfRange,
        /// A [`Class::NotFound`] error.
        not_found => NotFound,
        /// A [`Class::FailedPrecondition`] error.
        precondition => FailedPrecondition,
        /// A [`Class::Unimplemented`] error.
        unimplemented => Unimplemented,
        /// A [`Class::ResourceExhausted`] error.
        exhausted => ResourceExhausted,
        /// A [`Class::Cancelled`] error.
        cancelled => Cancelled,
        /// A [`Class::Unavailable`] error.
        unavailable => Unavailable,
        /// A [`Class::DataLoss`] error.
        data_loss => DataLoss,
        /// A [`Class::Internal`] error.
        internal => Internal,
    }

    /// An error of host code, which carries the host's own error object.
    #[cold]
    pub fn host(message: impl Into<String>, payload: Arc<dyn Any + Send + Sync>) -> Error {
        let mut error = Error::new(Class::Host, message);
        error.0.payload = Some(payload);
        error
    }

    /// Unwinds the stack with this error, up to who runs kernels and makes it an error again by [`Error::of_panic`]: for code
    /// that has no way to return one. Nothing is printed.
    #[cold]
    pub fn unwind(self) -> ! {
        resume_unwind(Box::new(self))
    }

    /// The error of a panic: the one that [`Error::unwind`] carries, else an [`Class::Internal`] one with its words.
    #[cold]
    pub fn of_panic(panic: &(dyn Any + Send)) -> Error {
        if let Some(error) = panic.downcast_ref::<Error>() {
            return error.clone();
        }
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Error::internal(format!("panicked: {}", text.unwrap_or("(no message)")))
    }

    /// Names the operator, unless an inner one is named already.
    #[must_use]
    pub fn in_op(mut self, op: &'static str) -> Error {
        self.0.op.get_or_insert(op);
        self
    }

    /// Names the argument, unless one is named already.
    #[must_use]
    pub fn argument(mut self, name: impl Into<String>) -> Error {
        if self.0.argument.is_none() {
            self.0.argument = Some(name.into());
        }
        self
    }

    /// Adds the source location, unless a more inner one is known already.
    #[must_use]
    pub fn at(mut self, loc: Loc) -> Error {
        if self.0.loc.is_none() && !loc.is_unknown() {
            self.0.loc = Some(loc);
        }
        self
    }

    /// Adds the place of the call that led to where it came up, outward.
    #[must_use]
    pub fn called_at(mut self, loc: Loc) -> Error {
        if !loc.is_unknown() {
            self.0.callers.push(loc);
        }
        self
    }

    /// Where it came up, and the places of the calls that led there, innermost first.
    pub fn stack(&self) -> Vec<Frame> {
        self.0.loc.iter().chain(&self.0.callers).flat_map(|loc| loc.stack()).collect()
    }

    /// Says in which iterations of loops it came up, counted from 1, the outermost loop first. They come before those
    /// that it says already.
    #[must_use]
    pub fn in_iterations(mut self, iterations: &[u64]) -> Error {
        self.0.iterations.splice(..0, iterations.iter().copied());
        self
    }

    /// Whether it comes from the host: its code failed, or it wants what runs to stop.
    pub fn is_of_host(&self) -> bool {
        matches!(self.class(), Class::Host | Class::Cancelled)
    }

    /// The class.
    pub fn class(&self) -> Class {
        self.0.class
    }

    /// The bare message, without operator and argument.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The operator at fault, by the name of its declaration.
    pub fn op(&self) -> Option<&'static str> {
        self.0.op
    }

    /// The argument at fault.
    pub fn argument_name(&self) -> Option<&str> {
        self.0.argument.as_deref()
    }

    /// Where the failing instruction was written.
    pub fn loc(&self) -> Option<Loc> {
        self.0.loc
    }

    /// The iterations of the loops that it came up in, counted from 1, the outermost loop first.
    pub fn iterations(&self) -> &[u64] {
        &self.0.iterations
    }

    /// The host's own error object.
    pub fn payload(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.0.payload.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(op) = self.0.op {
            write!(f, "{op}: ")?;
        }
        if let Some(argument) = &self.0.argument {
            write!(f, "argument '{argument}': ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self}", self.0.class)?;
        if let Some(loc) = self.0.loc {
            write!(f, " at {loc}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_context_wins() {
        let e = Error::invalid("must be positive").in_op("eye").argument("n").in_op("outer").argument("x");
        assert_eq!(e.to_string(), "eye: argument 'n': must be positive");
        assert_eq!(e.class(), Class::InvalidArgument);
    }
}
