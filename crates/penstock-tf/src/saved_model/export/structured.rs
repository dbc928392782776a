//! Arguments and results as TensorFlow describes them, from the text of a program that describes objects.

use penstock_data::{DType, Dim, Error, Result, Shape};
use penstock_wire::{put_bytes, put_message, put_number, put_text, put_varint};
use serde_json::Value as Json;

use super::message::{dtype_number, put_chosen, put_shape};

/// A tensor among arguments or results.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) shape: Shape,
}

fn shape(value: &Json) -> Shape {
    match value.as_array() {
        None => Shape::UNRANKED,
        Some(dims) => Shape::new(dims.iter().map(|d| match d.as_u64() {
            Some(n) => Dim::Known(n as usize),
            None => Dim::Unknown,
        })),
    }
}

fn items(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn dtype(value: &Json) -> Result<DType> {
    let name = value.as_str().unwrap_or_default();
    DType::from_name(name).ok_or_else(|| Error::invalid(format!("there is no dtype '{name}'")))
}

impl Leaf {
    /// The tensor that a specification stands for.
    ///
    /// # Errors
    /// `Unimplemented` for another kind of value.
    pub(super) fn of(value: &Json) -> Result<Leaf> {
        let Some([kind, dims, name]) = value.get("tensor").map(items) else {
            return Err(Error::unimplemented("a signature takes and gives tensors alone"));
        };
        Ok(Leaf { name: name.as_str().unwrap_or_default().to_owned(), dtype: dtype(kind)?, shape: shape(dims) })
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_message(out, 33, |out| {
            put_text(out, 1, &self.name);
            put_shape(out, 2, &self.shape);
            put_number(out, 3, dtype_number(self.dtype));
        });
    }
}

/// The number that `float.hex` of Python wrote.
fn number(text: &str) -> Option<f64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    match rest {
        "inf" => return Some(sign * f64::INFINITY),
        "nan" => return Some(f64::NAN),
        _ => {}
    }
    let (mantissa, exponent) = rest.strip_prefix("0x")?.split_once('p')?;
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = u64::from_str_radix(&format!("{whole}{part}"), 16).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let shift = exponent - 4 * part.len() as i32;
    // In two steps, so that subnormal numbers are exact.
    Some(sign * digits as f64 * 2f64.powi(shift / 2) * 2f64.powi(shift - shift / 2))
}

/// The parts of a dict or of a named tuple.
fn pairs(value: &Json) -> Result<Vec<(&str, &Json)>> {
    let mut out = Vec::new();
    for pair in items(value) {
        match pair.as_array().map(Vec::as_slice) {
            Some([Json::String(key), value]) => out.push((key.as_str(), value)),
            _ => return Err(Error::unimplemented("a dict whose keys are no texts")),
        }
    }
    Ok(out)
}

/// The tensors of a nest, in the order of the engine's walk.
pub(super) fn leaves(value: &Json, out: &mut Vec<Leaf>) -> Result<()> {
    let Some((tag, inner)) = value.as_object().and_then(|map| map.iter().next()) else { return Ok(()) };
    match tag.as_str() {
        "tensor" => out.push(Leaf::of(value)?),
        "list" | "tuple" => items(inner).iter().try_for_each(|item| leaves(item, out))?,
        "dict" => pairs(inner)?.into_iter().try_for_each(|(_, item)| leaves(item, out))?,
        "named" => {
            let fields = items(inner).get(1).ok_or_else(|| Error::invalid("a named tuple lacks its fields"))?;
            pairs(fields)?.into_iter().try_for_each(|(_, item)| leaves(item, out))?;
        }
        "float" | "dtype" | "shape" => {}
        "variable" => return Err(Error::unimplemented("takes a variable as an argument")),
        other => return Err(Error::unimplemented(format!("takes or gives a value of the kind '{other}'"))),
    }
    Ok(())
}

/// The numbers that the tensors of a nest have in the engine's walk, which begin at `next`, in the order of TensorFlow's: that
/// takes the items of a dict by their keys.
pub(super) fn order(value: &Json, next: &mut usize) -> Result<Vec<usize>> {
    let Some((tag, inner)) = value.as_object().and_then(|map| map.iter().next()) else { return Ok(vec![]) };
    let joined = |values: &mut dyn Iterator<Item = &Json>, next: &mut usize| -> Result<Vec<usize>> {
        let parts = values.map(|item| order(item, next)).collect::<Result<Vec<_>>>()?;
        Ok(parts.concat())
    };
    match tag.as_str() {
        "tensor" => {
            *next += 1;
            Ok(vec![*next - 1])
        }
        "list" | "tuple" => joined(&mut items(inner).iter(), next),
        "named" => {
            joined(&mut pairs(items(inner).get(1).unwrap_or(&Json::Null))?.into_iter().map(|(_, item)| item), next)
        }
        "dict" => {
            let found = pairs(inner)?.into_iter().map(|(key, item)| Ok((key, order(item, next)?)));
            let mut found = found.collect::<Result<Vec<_>>>()?;
            found.sort_by_key(|(key, _)| *key);
            Ok(found.into_iter().flat_map(|(_, places)| places).collect())
        }
        _ => Ok(vec![]),
    }
}

/// Writes a nest.
pub(super) fn put_nest(out: &mut Vec<u8>, field: u64, value: &Json) -> Result<()> {
    let mut failed = Ok(());
    put_message(out, field, |out| failed = nest(out, value));
    failed
}

fn all(out: &mut Vec<u8>, field: u64, values: &[Json]) -> Result<()> {
    let mut failed = Ok(());
    put_message(out, field, |out| failed = values.iter().try_for_each(|value| put_nest(out, 1, value)));
    failed
}

fn nest(out: &mut Vec<u8>, value: &Json) -> Result<()> {
    match value {
        Json::Null => put_bytes(out, 1, &[]),
        Json::Bool(v) => put_chosen(out, 14, u64::from(*v)),
        Json::String(text) => put_bytes(out, 13, text.as_bytes()),
        Json::Number(v) => {
            let v = v.as_i64().ok_or_else(|| Error::unimplemented("an integer of more than 64 bits"))?;
            put_chosen(out, 12, ((v << 1) ^ (v >> 63)) as u64);
        }
        Json::Array(values) => all(out, 51, values)?,
        Json::Object(map) => {
            let Some((tag, inner)) = map.iter().next() else { return Err(Error::invalid("an empty value")) };
            match tag.as_str() {
                "tensor" => Leaf::of(value)?.put(out),
                "list" => all(out, 51, items(inner))?,
                "tuple" => all(out, 52, items(inner))?,
                "float" => {
                    let v = number(inner.as_str().unwrap_or_default());
                    let v = v.ok_or_else(|| Error::invalid("a number that is none"))?;
                    put_varint(out, 11 << 3 | 1);
                    out.extend_from_slice(&v.to_le_bytes());
                }
                "dtype" => put_chosen(out, 32, dtype_number(dtype(inner)?)),
                "shape" => put_shape(out, 31, &shape(inner)),
                "dict" => {
                    let pairs = pairs(inner)?;
                    let mut failed = Ok(());
                    put_message(out, 53, |out| {
                        failed = pairs.iter().try_for_each(|(key, value)| pair(out, 1, key, value))
                    });
                    failed?;
                }
                "named" => {
                    let [name, fields] = items(inner) else {
                        return Err(Error::invalid("a named tuple has two parts"));
                    };
                    let name = name.as_str().unwrap_or_default();
                    let fields = pairs(fields)?;
                    let mut failed = Ok(());
                    put_message(out, 54, |out| {
                        put_text(out, 1, name.rsplit('.').next().unwrap_or(name));
                        failed = fields.iter().try_for_each(|(key, value)| pair(out, 2, key, value));
                    });
                    failed?;
                }
                other => return Err(Error::unimplemented(format!("takes or gives a value of the kind '{other}'"))),
            }
        }
    }
    Ok(())
}

fn pair(out: &mut Vec<u8>, field: u64, key: &str, value: &Json) -> Result<()> {
    let mut failed = Ok(());
    put_message(out, field, |out| {
        put_text(out, 1, key);
        failed = put_nest(out, 2, value);
    });
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dicts_are_walked_by_their_keys() {
        let tensor = serde_json::json!({"tensor": ["float32", [], null]});
        let nest =
            serde_json::json!({"tuple": [{"dict": [["b", {"list": [tensor, tensor]}], ["a", tensor]]}, 3, tensor]});
        assert_eq!(order(&nest, &mut 0).unwrap(), [2, 0, 1, 3]);
        let mut found = Vec::new();
        leaves(&nest, &mut found).unwrap();
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn numbers_are_those_that_python_wrote() {
        for (text, due) in [
            ("0x1.8000000000000p+1", 3.0),
            ("-0x1.999999999999ap-4", -0.1),
            ("0x0.0p+0", 0.0),
            ("0x0.0000000000001p-1022", 5e-324),
            ("inf", f64::INFINITY),
        ] {
            assert_eq!(number(text), Some(due), "{text}");
        }
        assert!(number("nan").is_some_and(f64::is_nan));
        assert_eq!(number("three"), None);
    }
}
