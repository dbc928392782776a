//! Source locations: where in the user's program an instruction was written.
//!
//! Locations are interned in a process-wide table, so that an instruction carries four bytes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A place in the user's source, with the call stack that led to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Loc(u32);

/// What a [`Loc`] stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// The path of the source file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 where it is not known.
    pub column: u32,
    /// The name of the enclosing function; empty where it is not known.
    pub function: Arc<str>,
    /// The place of the call that led here, outward.
    pub caller: Option<Loc>,
}

#[derive(Default)]
struct Table {
    frames: Vec<Frame>,
    index: HashMap<Frame, u32>,
}

fn table() -> std::sync::MutexGuard<'static, Table> {
    static TABLE: OnceLock<Mutex<Table>> = OnceLock::new();
    TABLE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

impl Loc {
    /// No location.
    pub const UNKNOWN: Loc = Loc(0);

    /// The location of a frame; equal frames give equal locations.
    pub fn new(frame: Frame) -> Loc {
        let mut table = table();
        if let Some(&id) = table.index.get(&frame) {
            return Loc(id);
        }
        table.frames.push(frame.clone());
        let id = u32::try_from(table.frames.len()).unwrap_or(0);
        table.index.insert(frame, id);
        Loc(id)
    }

    /// The location of a file, line and column, with no function and no caller.
    pub fn at(file: &str, line: u32, column: u32) -> Loc {
        Loc::new(Frame { file: file.into(), line, column, function: "".into(), caller: None })
    }

    /// Whether nothing is known.
    pub fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// What the location stands for; `None` for [`Loc::UNKNOWN`].
    pub fn frame(self) -> Option<Frame> {
        let index = (self.0 as usize).checked_sub(1)?;
        table().frames.get(index).cloned()
    }

    /// This location where what it belongs to is called from `caller`: the outermost of its callers is called there.
    #[must_use]
    pub fn within(self, caller: Loc) -> Loc {
        if caller.is_unknown() {
            return self;
        }
        let Some(mut frame) = self.frame() else { return caller };
        frame.caller = Some(frame.caller.map_or(caller, |outer| outer.within(caller)));
        Loc::new(frame)
    }

    /// This location and its callers, innermost first.
    pub fn stack(self) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut next = Some(self);
        while let Some(frame) = next.and_then(Loc::frame) {
            next = frame.caller;
            frames.push(frame);
        }
        frames
    }
}

impl fmt::Display for Loc {
    /// `file:line` or `file:line:column`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(frame) = self.frame() else { return f.write_str("?") };
        write!(f, "{}:{}", frame.file, frame.line)?;
        if frame.column > 0 {
            write!(f, ":{}", frame.column)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_frames_share_one_location_and_stacks_walk_outward() {
        let outer = Loc::at("a.py", 3, 0);
        let frame = Frame { file: "a.py".into(), line: 9, column: 5, function: "f".into(), caller: Some(outer) };
        let inner = Loc::new(frame.clone());
        assert_eq!(inner, Loc::new(frame));
        assert_eq!(inner.to_string(), "a.py:9:5");
        assert_eq!(inner.stack().iter().map(|f| f.line).collect::<Vec<_>>(), [9, 3]);
        assert_eq!(Loc::UNKNOWN.to_string(), "?");
        let called = inner.within(Loc::at("b.py", 1, 0));
        assert_eq!(called.stack().iter().map(|f| f.line).collect::<Vec<_>>(), [9, 3, 1]);
        assert_eq!((inner.within(Loc::UNKNOWN), Loc::UNKNOWN.within(inner)), (inner, inner));
    }
}
