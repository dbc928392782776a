//! Lines of comma-separated values, by the rules of `tf.io.decode_csv`: a field with quotes ends with one, two stand for one
//! within, and a field without quotes has none and no line break.

use penstock_data::{Bytes, Error, Result, Tensor};

use crate::values::Values;

/// How lines are taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// What stands between fields.
    pub delimiter: u8,
    /// Whether fields may be in quotes.
    pub quotes: bool,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::invalid(message).argument("records")
}

/// Calls `take` with each field of a line and its index. A field with quotes that are doubled is made in `scratch`.
///
/// # Errors
/// `InvalidArgument` for quotes and line breaks where they may not be; what `take` says.
pub fn fields(
    line: &[u8],
    layout: Layout,
    scratch: &mut Vec<u8>,
    mut take: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    let Layout { delimiter, quotes } = layout;
    let (mut at, mut index) = (0, 0);
    while at < line.len() {
        if matches!(line[at], b'\n' | b'\r') {
            at += 1;
            continue;
        }
        if quotes && line[at] == b'"' {
            at += 1;
            let start = at;
            let mut doubled = false;
            loop {
                let Some(step) = line[at..].iter().position(|&b| b == b'"') else {
                    return Err(wrong("a field that begins with a quote must end with one"));
                };
                at += step;
                match line.get(at + 1) {
                    None => break,
                    Some(&next) if next == delimiter => break,
                    Some(b'"') if at + 2 < line.len() => {
                        doubled = true;
                        at += 2;
                    }
                    Some(b'"') => return Err(wrong("a field that begins with a quote must end with one")),
                    Some(_) => return Err(wrong("a quote within a field must be doubled")),
                }
            }
            let field = &line[start..at];
            at += 2;
            if doubled {
                scratch.clear();
                let mut rest = field;
                while let Some(end) = rest.iter().position(|&b| b == b'"') {
                    scratch.extend_from_slice(&rest[..=end]);
                    rest = &rest[end + 2..];
                }
                scratch.extend_from_slice(rest);
                take(index, scratch)?;
            } else {
                take(index, field)?;
            }
        } else {
            let start = at;
            while at < line.len() && line[at] != delimiter {
                if (quotes && line[at] == b'"') || matches!(line[at], b'\n' | b'\r') {
                    return Err(wrong("a field without quotes around it has a quote or a line break"));
                }
                at += 1;
            }
            take(index, &line[start..at])?;
            at += 1;
        }
        index += 1;
    }
    // A delimiter at the end stands before a last, empty field.
    if line.last() == Some(&delimiter) {
        take(index, b"")?;
    }
    Ok(())
}

/// A field that is read: its values, and what stands where a line has none.
pub struct Column {
    values: Values,
    default: Option<Tensor>,
}

impl Column {
    /// A column of the dtype of `default`, an optional element: a vector or scalar of at most one element.
    ///
    /// # Errors
    /// `InvalidArgument` for more elements, `DType` for another dtype than the five that fields may have.
    pub fn new(default: &Tensor) -> Result<Column> {
        if default.len() > 1 {
            let message = format!("must have at most one element, got {}", default.len());
            return Err(Error::invalid(message).argument("record_defaults"));
        }
        let values = Values::new(default.dtype()).ok_or_else(|| {
            let message = format!("dtype {} is none of fields", default.dtype().tf_name());
            Error::dtype(message).argument("record_defaults")
        })?;
        Ok(Column { values, default: (!default.is_empty()).then(|| default.clone()) })
    }

    fn push(&mut self, field: &[u8], missing: bool, index: usize, record: usize) -> Result<()> {
        if missing {
            let Some(default) = &self.default else {
                return Err(wrong(format!("field {index} is required, and missing in record {record}")));
            };
            match &mut self.values {
                Values::F32(v) => v.push(default.as_slice()[0]),
                Values::F64(v) => v.push(default.as_slice()[0]),
                Values::I32(v) => v.push(default.as_slice()[0]),
                Values::I64(v) => v.push(default.as_slice()[0]),
                Values::Str(v) => v.push(default.strings()[0].clone()),
            }
            return Ok(());
        }
        fn number<T: std::str::FromStr>(field: &[u8], kind: &str, index: usize, record: usize) -> Result<T> {
            let text = std::str::from_utf8(field).unwrap_or_default().trim_ascii();
            text.parse().map_err(|_| {
                let shown = field.escape_ascii();
                wrong(format!("field {index} in record {record} is not a valid {kind}: {shown}"))
            })
        }
        match &mut self.values {
            Values::F32(v) => v.push(number(field, "float", index, record)?),
            Values::F64(v) => v.push(number(field, "double", index, record)?),
            Values::I32(v) => v.push(number(field, "int32", index, record)?),
            Values::I64(v) => v.push(number(field, "int64", index, record)?),
            Values::Str(v) => v.push(field.into()),
        }
        Ok(())
    }

    /// The values of columns that are parts of one, as a tensor.
    ///
    /// # Errors
    /// `ResourceExhausted` where memory cannot be had.
    pub fn joined(parts: Vec<Column>, dims: &[usize]) -> Result<Tensor> {
        Values::joined(parts.into_iter().map(|part| part.values))?.tensor(dims)
    }
}

/// Reads lines into columns: all fields of a line, or those `selected`, in rising order. Errors count records from `first`.
///
/// # Errors
/// `InvalidArgument` naming `records` for a line of another number of fields, a field that is missing and has no default, one
/// that is no number of its dtype, and quotes where they may not be.
pub fn read(
    lines: &[Bytes],
    layout: Layout,
    missing: &[u8],
    selected: Option<&[usize]>,
    first: usize,
    columns: &mut [Column],
) -> Result<()> {
    columns.iter_mut().try_for_each(|column| column.values.reserve(lines.len()))?;
    let mut scratch = Vec::new();
    for (record, line) in (first..).zip(lines) {
        let mut found = 0;
        fields(line, layout, &mut scratch, |index, field| {
            let place = match selected {
                None => found,
                Some(selected) if selected.get(found) == Some(&index) => found,
                Some(_) => return Ok(()),
            };
            found += 1;
            match columns.get_mut(place) {
                Some(column) => column.push(field, field.is_empty() || field == missing, index, record),
                None => Ok(()),
            }
        })?;
        if found != columns.len() {
            return Err(wrong(format!("expected {} fields, got {found} in record {record}", columns.len())));
        }
    }
    Ok(())
}
