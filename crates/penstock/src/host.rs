//! Host code made of Rust closures.

use std::any::Any;
use std::sync::Arc;

use penstock_data::{Result, Tensor};
use penstock_ir::{HostFn, HostRef};

struct Closure<F> {
    name: String,
    f: F,
}

impl<F> HostFn for Closure<F>
where
    F: Fn(&[&Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn call(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        (self.f)(inputs)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Host code that is a closure: for the `func` attribute of [`crate::ops::host::HOST_CALL`], and for
/// [`crate::parse_with_hosts`], which finds it by its name.
///
/// It runs on the thread that runs the graph. It may run functions itself.
pub fn host_fn<F>(name: impl Into<String>, f: F) -> HostRef
where
    F: Fn(&[&Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
{
    HostRef(Arc::new(Closure { name: name.into(), f }))
}
