//! The words of the text form.

use std::fmt;

/// One word of the text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Token<'a> {
    /// A name: an operator, an attribute, a dtype, `func`, `true`.
    Word(&'a str),
    /// A number, or `-inf`.
    Number(&'a str),
    /// A value, without its `%`.
    Value(&'a str),
    /// The inside of a quoted string.
    Str(&'a str),
    /// The rest of a line after `;`.
    Location(&'a str),
    /// `( ) { } [ ] , : = -> ? * @ ...`
    Punct(&'static str),
    /// A quoted string that does not end.
    Unterminated,
    /// A character that starts no word.
    Other(char),
    /// The end of the text.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 40;
        let clip = |s: &str| s.chars().take(SHOWN).collect::<String>();
        match self {
            Token::Word(s) | Token::Number(s) => write!(f, "'{}'", clip(s)),
            Token::Value(s) => write!(f, "'%{}'", clip(s)),
            Token::Str(s) => write!(f, "the string \"{}\"", clip(s)),
            Token::Location(_) => f.write_str("a location"),
            Token::Punct(s) => write!(f, "'{s}'"),
            Token::Unterminated => f.write_str("a string without its closing quote"),
            Token::Other(c) => write!(f, "{c:?}"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

const PUNCTUATION: [&str; 14] = ["...", "->", "(", ")", "{", "}", "[", "]", ",", ":", "=", "?", "*", "@"];

/// Whether `name` is one word of the text form, and so needs no quotes after `@`.
pub(crate) fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.bytes().all(is_word_byte)
}

fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'.'
}

/// The first token at or after byte `from`: where it starts, where it ends, and what it is.
///
/// White space and comments, from `#` to the end of the line, are passed over.
pub(crate) fn next_token(text: &str, from: usize) -> (usize, usize, Token<'_>) {
    let mut start = from;
    loop {
        let rest = &text[start..];
        start += rest.len() - rest.trim_start().len();
        if !text[start..].starts_with('#') {
            break;
        }
        start += line_len(&text[start..]);
    }
    let rest = &text[start..];
    let (len, token) = scan(rest);
    (start, start + len, token)
}

fn line_len(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

fn scan(rest: &str) -> (usize, Token<'_>) {
    let bytes = rest.as_bytes();
    let Some(&first) = bytes.first() else { return (0, Token::End) };
    let run = |from: usize| from + bytes[from..].iter().take_while(|&&b| is_word_byte(b)).count();
    match first {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
            let len = run(0);
            return (len, Token::Word(&rest[..len]));
        }
        b'0'..=b'9' => {
            let len = number_len(bytes);
            return (len, Token::Number(&rest[..len]));
        }
        b'-' if bytes.get(1).is_some_and(u8::is_ascii_alphanumeric) => {
            let len = 1 + number_len(&bytes[1..]);
            return (len, Token::Number(&rest[..len]));
        }
        b'%' => {
            let len = run(1);
            if len > 1 {
                return (len, Token::Value(&rest[1..len]));
            }
        }
        b'"' => return scan_string(rest),
        b';' => {
            let len = line_len(rest);
            return (len, Token::Location(&rest[1..len]));
        }
        _ => {}
    }
    if let Some(p) = PUNCTUATION.into_iter().find(|p| rest.starts_with(p)) {
        return (p.len(), Token::Punct(p));
    }
    let c = rest.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
    (c.len_utf8(), Token::Other(c))
}

/// The length of a number: its digits and letters, and the sign of its exponent.
fn number_len(bytes: &[u8]) -> usize {
    let hex = bytes.starts_with(b"0x");
    let mut len = 0;
    while let Some(&b) = bytes.get(len) {
        let exponent_sign = matches!(b, b'+' | b'-') && !hex && len > 0 && matches!(bytes[len - 1], b'e' | b'E');
        if !is_word_byte(b) && !exponent_sign {
            break;
        }
        len += 1;
    }
    len
}

fn scan_string(rest: &str) -> (usize, Token<'_>) {
    match quoted_len(rest) {
        Some(len) => (len, Token::Str(&rest[1..len - 1])),
        None => (line_len(rest), Token::Unterminated),
    }
}

/// The length, quotes included, of the quoted string that `text` starts with. It lies on one line.
pub(crate) fn quoted_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut i = 1;
    loop {
        match bytes.get(i)? {
            b'"' => return Some(i + 1),
            b'\n' => return None,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
}

/// The line and the column, in characters, of a byte of the text; both from 1.
pub(crate) fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut at = 0;
        let mut out = Vec::new();
        loop {
            let (_, end, token) = next_token(text, at);
            if token == Token::End {
                return out;
            }
            out.push(token);
            at = end;
        }
    }

    #[test]
    fn words_are_told_apart() {
        use Token::*;
        assert_eq!(
            tokens("%3 \"a\\\"b\": f32[s0] = x -1.5e-7 ->-inf ; a b\n# no\n@f..."),
            [
                Value("3"),
                Str("a\\\"b"),
                Punct(":"),
                Word("f32"),
                Punct("["),
                Word("s0"),
                Punct("]"),
                Punct("="),
                Word("x"),
                Number("-1.5e-7"),
                Punct("->"),
                Number("-inf"),
                Location(" a b"),
                Punct("@"),
                Word("f..."),
            ]
        );
        assert_eq!(tokens("\"ab\nc é"), [Unterminated, Word("c"), Other('é')]);
        assert_eq!(tokens("\"\\"), [Unterminated]);
        assert_eq!(tokens("0xfe-1 1,..."), [Number("0xfe"), Number("-1"), Number("1"), Punct(","), Punct("...")]);
    }

    #[test]
    fn positions_count_characters() {
        assert_eq!(line_column("é\nab", 4), (2, 2));
        assert_eq!(line_column("éa", 2), (1, 2));
    }
}
