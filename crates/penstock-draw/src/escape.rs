//! Texts within others.

/// A text of XML.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML has no other control characters.
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

/// A text in quotes, of DOT.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
