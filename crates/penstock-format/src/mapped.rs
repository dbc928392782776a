//! Files that are mapped into memory.

#![expect(unsafe_code, reason = "memory that is a file; see the SAFETY comments")]

use std::fs::File;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::Mmap;
use penstock_data::{Buffer, Error, Result};

/// A file in memory, which stays as long as one of its buffers.
#[derive(Clone)]
pub(crate) struct Mapped(Arc<Mmap>);

impl Mapped {
    /// Maps a file.
    ///
    /// # Safety
    /// Nobody changes the file as long as the result or one of its buffers lives.
    pub(crate) unsafe fn open(file: &File) -> std::io::Result<Mapped> {
        // SAFETY: the caller warrants that the file is not changed while it is mapped.
        unsafe { Mmap::map(file) }.map(|map| Mapped(Arc::new(map)))
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Bytes of the file, as memory that keeps it mapped.
    ///
    /// # Errors
    /// `InvalidArgument` where they are not in the file.
    pub(crate) fn buffer(&self, range: Range<usize>) -> Result<Buffer> {
        let bytes = self.0.get(range).ok_or_else(|| Error::invalid("beyond the end of the file"))?;
        let start = NonNull::from(bytes).cast::<u8>();
        // SAFETY: `start` begins `bytes.len()` bytes of the mapping, which the boxed owner keeps where it is. It is mapped for
        // reading alone, and whoever called `open` warrants that the file is not changed.
        Ok(unsafe { Buffer::external(start, bytes.len(), Box::new(self.clone())) })
    }
}
