//! Patterns, and how what they match is rewritten.

#[cfg(not(feature = "text"))]
mod absent;
#[cfg(feature = "text")]
mod present;

use penstock_data::{Error, Result};

#[cfg(not(feature = "text"))]
pub(crate) use absent::with_pattern;
#[cfg(feature = "text")]
pub(crate) use present::with_pattern;

/// A piece of a rewrite.
#[cfg_attr(not(feature = "text"), allow(dead_code, reason = "nothing is rewritten"))]
pub(crate) enum Rewrite {
    Literal(Vec<u8>),
    Group(usize),
}

/// Reads a rewrite: `\0` is the match, `\1` to `\9` are groups, `\\` is a backslash.
pub(crate) fn rewrite(text: &str, groups: usize) -> Result<Vec<Rewrite>> {
    let mut out = Vec::new();
    let mut literal = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            literal.push(b);
            continue;
        }
        match bytes.next() {
            Some(b'\\') => literal.push(b'\\'),
            Some(d) if d.is_ascii_digit() && usize::from(d - b'0') < groups => {
                out.push(Rewrite::Literal(std::mem::take(&mut literal)));
                out.push(Rewrite::Group(usize::from(d - b'0')));
            }
            Some(d) if d.is_ascii_digit() => {
                return Err(
                    Error::invalid(format!("group {} of {text:?} is not in the pattern", d - b'0')).argument("rewrite")
                );
            }
            _ => {
                return Err(
                    Error::invalid(format!("a backslash in {text:?} without digit or backslash")).argument("rewrite")
                );
            }
        }
    }
    out.push(Rewrite::Literal(literal));
    Ok(out)
}
