//! Regular expressions in programs that are built without them.

use penstock_data::{Error, Result};

use super::Rewrite;

/// A compiled pattern, of which there is none.
pub(crate) enum Pattern {}

impl Pattern {
    /// The groups.
    pub(crate) fn groups(&self) -> usize {
        match *self {}
    }

    /// Whether it matches.
    pub(crate) fn is_match(&self, _: &[u8]) -> bool {
        match *self {}
    }

    /// A text with matches rewritten.
    pub(crate) fn replace(&self, _: &[u8], _: usize, _: &[Rewrite]) -> Result<Vec<u8>> {
        match *self {}
    }
}

/// An error: there are no patterns.
pub(crate) fn with_pattern<R>(_: &str, _: impl FnOnce(&Pattern) -> Result<R>) -> Result<R> {
    Err(Error::unimplemented("this program is built without regular expressions, the feature 'text' of Penstock"))
}
