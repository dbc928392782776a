//! The line that a frame is at.
//!
//! The interpreter reads the table of the code object from its start, so that each operation of a long function would take
//! longer to trace than the one before. Of long functions the table is read once.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::FxHashMap;

/// Up to so many bytes of bytecode from its start the interpreter is asked.
const NEAR: u32 = 1 << 10;

/// So many long functions are kept for each thread.
const KEPT: usize = 16;

/// The table of a code object.
struct Lines {
    code: Py<PyWeakrefReference>,
    /// Where in the bytecode a line begins, in bytes, and its number; in order.
    starts: Vec<(u32, u32)>,
}

thread_local! {
    /// The tables of long functions by the addresses of their code objects.
    static LONG: RefCell<FxHashMap<usize, Lines>> = RefCell::default();
}

impl Lines {
    fn read(code: &Bound<'_, PyAny>) -> PyResult<Lines> {
        let mut starts = Vec::new();
        for entry in code.call_method0("co_lines")?.try_iter()? {
            let (start, _, line): (u32, u32, Option<u32>) = entry?.extract()?;
            starts.push((start, line.unwrap_or(0)));
        }
        Ok(Lines { code: PyWeakrefReference::new(code)?.unbind(), starts })
    }

    /// The line of an offset into the bytecode; 0 where there is none.
    fn at(&self, offset: u32) -> u32 {
        let after = self.starts.partition_point(|&(start, _)| start <= offset);
        after.checked_sub(1).map_or(0, |i| self.starts[i].1)
    }
}

/// The line that `frame`, which runs `code`, is at; 0 where there is none.
pub(crate) fn line_of(frame: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>) -> PyResult<u32> {
    let py = frame.py();
    let offset: u32 = frame.getattr(pyo3::intern!(py, "f_lasti"))?.extract().unwrap_or(0);
    if offset < NEAR {
        return Ok(frame.getattr(pyo3::intern!(py, "f_lineno"))?.extract().unwrap_or(0));
    }
    let address = code.as_ptr() as usize;
    let known = LONG.with_borrow(|long| {
        // Another code object may have come to lie at the address.
        let lines = long.get(&address)?;
        lines.code.bind(py).upgrade().is_some_and(|held| held.is(code)).then(|| lines.at(offset))
    });
    if let Some(line) = known {
        return Ok(line);
    }
    let lines = Lines::read(code)?;
    let line = lines.at(offset);
    LONG.with_borrow_mut(|long| {
        if long.len() >= KEPT {
            long.clear();
        }
        long.insert(address, lines);
    });
    Ok(line)
}
