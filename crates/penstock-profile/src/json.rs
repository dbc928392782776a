//! Texts of JSON.

use std::fmt::Write;
use std::time::Duration;

/// Appends a text in quotes. What it holds may stand in a script of a page.
pub(crate) fn put_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' | '\x7f' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Microseconds, to the nanosecond.
pub(crate) fn micros(time: Duration) -> String {
    format!("{}.{:03}", time.as_micros(), time.subsec_nanos() % 1000)
}

/// Appends a list, each item by `put`.
pub(crate) fn put_list<T>(out: &mut String, items: impl IntoIterator<Item = T>, mut put: impl FnMut(&mut String, T)) {
    out.push('[');
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        put(out, item);
    }
    out.push(']');
}
