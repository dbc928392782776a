//! Tensors as text, as TensorFlow prints them.

use penstock_data::{Bool8, C64, C128, DType, Error, Result, Tensor, bf16, f16, with_dtype};

/// A number as C's `%.<digits>g` writes it: at most `digits` significant ones, no trailing zeros,
/// with an exponent where that is shorter.
pub fn general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |s: &str| match s.contains('.') {
        true => s.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => s.to_string(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        return format!("{}e{}{:02}", trim(mantissa), if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    trim(&format!("{value:.*}", (digits as i32 - 1 - exponent).max(0) as usize))
}

/// The shorter of two precisions that reads back as the same number.
fn shortest_f32(value: f32) -> String {
    let short = general(value.into(), 6);
    if value.is_nan() || short.parse() == Ok(value) { short } else { general(value.into(), 9) }
}

fn shortest_f64(value: f64) -> String {
    let short = general(value, 15);
    if value.is_nan() || short.parse() == Ok(value) { short } else { general(value, 17) }
}

/// A complex number: `1+2j`.
fn complex(re: String, im: String) -> String {
    if im.starts_with('-') { format!("{re}{im}j") } else { format!("{re}+{im}j") }
}

/// Element `i` as text; a string as its bytes, replaced where they are not UTF-8.
fn element(tensor: &Tensor, i: usize) -> String {
    macro_rules! at {
        ($ty:ty) => {
            tensor.as_slice::<$ty>()[i]
        };
    }
    match tensor.dtype() {
        DType::Str => String::from_utf8_lossy(&tensor.strings()[i]).into_owned(),
        DType::Bool => (at!(Bool8).get() as u8).to_string(),
        DType::F16 => shortest_f32(at!(f16).to_f32()),
        DType::Bf16 => shortest_f32(at!(bf16).to_f32()),
        DType::F32 => shortest_f32(at!(f32)),
        DType::F64 => shortest_f64(at!(f64)),
        DType::C64 => complex(shortest_f32(at!(C64).re), shortest_f32(at!(C64).im)),
        DType::C128 => complex(shortest_f64(at!(C128).re), shortest_f64(at!(C128).im)),
        dtype => with_dtype!(integer, dtype, T => at!(T).to_string(),
            else with_dtype!(narrow, dtype, T => shortest_f32(at!(T).to_f32()), else String::new())),
    }
}

/// A string with its special characters escaped as in C.
fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '"' | '\'' | '\\' => out.extend(['\\', c]),
                c if (c as u32) < 32 || c as u32 == 127 => out.push_str(&format!("\\{:03o}", c as u32)),
                c => out.push(c),
            }
        }
        for b in chunk.invalid() {
            out.push_str(&format!("\\{b:03o}"));
        }
    }
    out
}

/// A tensor as `tf.print` shows it: `[[1 2] ... [3 4]]`, rows on lines of their own.
///
/// Of each dimension the first and the last `summarize` entries are shown, all where it is negative.
/// Strings are quoted in tensors and bare as scalars; a tensor without elements is `[]`.
pub fn tensor_text(tensor: &Tensor, summarize: i64) -> String {
    if tensor.rank() == 0 {
        return element(tensor, 0);
    }
    if tensor.is_empty() {
        return "[]".into();
    }
    let ends = usize::try_from(summarize).unwrap_or(usize::MAX);
    let mut out = String::new();
    write_dim(tensor, 0, 0, ends, &mut out);
    out
}

/// Writes the entries of dimension `dim` that start at element `at`.
fn write_dim(tensor: &Tensor, dim: usize, at: usize, ends: usize, out: &mut String) {
    let dims = tensor.dims();
    let Some(&n) = dims.get(dim) else {
        if tensor.dtype() == DType::Str {
            out.push('"');
            out.push_str(&escaped(&tensor.strings()[at]));
            out.push('"');
        } else {
            out.push_str(&element(tensor, at));
        }
        return;
    };
    let step: usize = dims[dim + 1..].iter().product();
    let last = dims.len() - 1 - dim;
    let space = |out: &mut String| {
        if last == 0 {
            return out.push(' ');
        }
        out.extend(std::iter::repeat_n('\n', last));
        out.extend(std::iter::repeat_n(' ', dim + 1));
    };
    out.push('[');
    for i in 0..n.min(ends) {
        if i > 0 {
            space(out);
        }
        write_dim(tensor, dim + 1, at + i * step, ends, out);
    }
    if n.saturating_sub(ends) > ends {
        space(out);
        out.push_str("...");
    }
    for i in n.saturating_sub(ends).max(ends)..n {
        space(out);
        write_dim(tensor, dim + 1, at + i * step, ends, out);
    }
    out.push(']');
}

/// A tensor in one line, as assertions show it: its first `summarize` elements, all where that is negative.
/// The outermost brackets are left out, and strings are bare.
pub fn tensor_summary(tensor: &Tensor, summarize: i64) -> String {
    let n = tensor.len();
    let limit = usize::try_from(summarize).map_or(n, |s| s.min(n));
    let mut out = String::new();
    if tensor.rank() == 0 {
        if limit > 0 {
            out = bare(tensor, 0);
        }
    } else {
        write_first(tensor, 0, limit, &mut 0, &mut out);
    }
    if n > limit {
        out.push_str("...");
    }
    out
}

fn bare(tensor: &Tensor, i: usize) -> String {
    if tensor.dtype() == DType::Str { escaped(&tensor.strings()[i]) } else { element(tensor, i) }
}

/// Writes the entries of dimension `dim` from element `*at` on, up to element `limit`.
fn write_first(tensor: &Tensor, dim: usize, limit: usize, at: &mut usize, out: &mut String) {
    let innermost = dim + 1 == tensor.rank();
    for i in 0..tensor.dims()[dim] {
        if *at >= limit {
            if innermost && dim > 0 {
                out.push_str("...");
            }
            return;
        }
        if innermost {
            if i > 0 {
                out.push(' ');
            }
            out.push_str(&bare(tensor, *at));
            *at += 1;
        } else {
            out.push('[');
            write_first(tensor, dim + 1, limit, at, out);
            out.push(']');
        }
    }
}

/// One piece of a template.
enum Piece<'a> {
    Text(&'a str),
    Placeholder,
}

/// Cuts a template: `{}` is a placeholder, `{{` and `}}` are braces.
fn pieces(template: &str) -> Result<Vec<Piece<'_>>> {
    let mut out = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (text, tail) = rest.split_at(at);
        out.push(Piece::Text(text));
        if tail.starts_with("{{") || tail.starts_with("}}") {
            out.push(Piece::Text(&tail[..1]));
        } else if tail.starts_with("{}") {
            out.push(Piece::Placeholder);
        } else {
            return Err(Error::invalid(format!("a single brace in {template:?}; write it twice")).argument("template"));
        }
        rest = &tail[2..];
    }
    out.push(Piece::Text(rest));
    Ok(out)
}

/// Checks that a template has a placeholder for each of `n` operands.
///
/// # Errors
/// `InvalidArgument` naming the template.
pub(crate) fn check_template(template: &str, n: usize) -> Result<()> {
    let found = pieces(template)?.iter().filter(|p| matches!(p, Piece::Placeholder)).count();
    if found == n {
        return Ok(());
    }
    Err(Error::invalid(format!("{found} placeholders for {n} tensors in {template:?}")).argument("template"))
}

/// A template with `mark` in place of each placeholder, and single braces.
///
/// # Errors
/// `InvalidArgument` where a brace stands alone.
pub fn with_placeholders(template: &str, mark: &str) -> Result<String> {
    let text = |piece: Piece<'_>| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Placeholder => mark.to_owned(),
    };
    Ok(pieces(template)?.into_iter().map(text).collect())
}

/// A template with each `{}` replaced by the text of the next tensor, as [`tensor_text`] makes it;
/// `{{` and `}}` are braces.
///
/// # Errors
/// `InvalidArgument` where the placeholders are not as many as the tensors, or a brace stands alone.
pub fn expand(template: &str, tensors: &[&Tensor], summarize: i64) -> Result<String> {
    check_template(template, tensors.len())?;
    let mut tensors = tensors.iter();
    let mut out = String::new();
    for piece in pieces(template)? {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Placeholder => out.extend(tensors.next().map(|t| tensor_text(t, summarize))),
        }
    }
    Ok(out)
}
