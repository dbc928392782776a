//! Machine code of scalar regions in programs that are built without it.

#![expect(unsafe_code, reason = "has the signature of the function that runs code")]

use penstock_data::{Error, Result};
use penstock_ir::Env;

use crate::{Source, Stop};

/// Machine code, of which there is none.
pub enum Native {}

impl Native {
    /// Makes nothing.
    ///
    /// # Errors
    /// `Unimplemented`.
    pub fn compile(_: &Source) -> Result<Native> {
        Err(Error::unimplemented("this program is built without machine code, the feature 'jit' of Penstock"))
    }

    /// Runs nothing: there is no code.
    ///
    /// # Safety
    /// There is nothing to hold.
    ///
    /// # Errors
    /// None.
    pub unsafe fn run(&self, _: &[*const u8], _: &[*mut u8], _: &dyn Env) -> std::result::Result<(), Stop> {
        match *self {}
    }
}
