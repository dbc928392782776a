//! Regular expressions, by the crate `regex`.

use std::cell::RefCell;

use penstock_data::{Error, Result, memory};
use regex::bytes::{Match, Regex, RegexBuilder};

use super::Rewrite;

/// A compiled pattern.
pub(crate) struct Pattern(Regex);

impl Pattern {
    /// The groups, the whole match among them.
    pub(crate) fn groups(&self) -> usize {
        self.0.captures_len()
    }

    /// Whether it matches a part of `s`.
    pub(crate) fn is_match(&self, s: &[u8]) -> bool {
        self.0.is_match(s)
    }

    /// `s` with the first `limit` matches rewritten. An empty match inside a UTF-8 character is none.
    pub(crate) fn replace(&self, s: &[u8], limit: usize, pieces: &[Rewrite]) -> Result<Vec<u8>> {
        let text = std::str::from_utf8(s).ok();
        let splits = |m: &Match<'_>| m.is_empty() && text.is_some_and(|t| !t.is_char_boundary(m.start()));
        let mut out = memory::with_room(s.len())?;
        let mut end = 0;
        let matches = self.0.captures_iter(s).filter_map(|c| c.get(0).filter(|m| !splits(m)).map(|m| (m, c)));
        for (whole, captures) in matches.take(limit) {
            let mut add = |bytes: &[u8]| {
                memory::reserve(&mut out, bytes.len())?;
                out.extend_from_slice(bytes);
                Ok(())
            };
            add(&s[end..whole.start()])?;
            for piece in pieces {
                add(match piece {
                    Rewrite::Literal(text) => text,
                    Rewrite::Group(i) => captures.get(*i).map_or(&[][..], |m| m.as_bytes()),
                })?;
            }
            end = whole.end();
        }
        memory::reserve(&mut out, s.len() - end)?;
        out.extend_from_slice(&s[end..]);
        Ok(out)
    }
}

/// Calls `f` with the compiled pattern. The last few of each thread are kept.
pub(crate) fn with_pattern<R>(pattern: &str, f: impl FnOnce(&Pattern) -> Result<R>) -> Result<R> {
    const KEPT: usize = 8;
    thread_local! {
        static COMPILED: RefCell<Vec<Pattern>> = const { RefCell::new(Vec::new()) };
    }
    let kept =
        COMPILED.with_borrow_mut(|list| list.iter().position(|r| r.0.as_str() == pattern).map(|i| list.remove(i)));
    let compiled = match kept {
        Some(compiled) => compiled,
        None => RegexBuilder::new(pattern)
            .build()
            .map(Pattern)
            .map_err(|e| Error::invalid(format!("invalid pattern {pattern:?}: {e}")).argument("pattern"))?,
    };
    let result = f(&compiled);
    COMPILED.with_borrow_mut(|list| {
        list.insert(0, compiled);
        list.truncate(KEPT);
    });
    result
}
