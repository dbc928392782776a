//! What the operators of TensorFlow take and give, by their declarations.

use std::collections::HashMap;
use std::sync::LazyLock;

use penstock_data::{DType, DTypeSet, Error, Result};

use super::message::Value;

/// The dtypes of an input or output.
pub(super) enum Kind {
    /// Always this one.
    Fixed(DType),
    /// What an attribute says.
    Attr(&'static str),
    /// As many as an attribute says, of the dtype that another says.
    Counted(&'static str, Box<Kind>),
    /// A list that an attribute holds.
    List(&'static str),
}

/// An input or output.
pub(super) struct Port {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

pub(super) struct Signature {
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
    /// Whether it keeps its place among operators with effects.
    pub(super) stateful: bool,
    /// The dtypes that attributes may be, where not all are allowed.
    allowed: Vec<(&'static str, DTypeSet)>,
}

impl Signature {
    /// Checks that attributes are dtypes that they may be.
    ///
    /// # Errors
    /// `Unimplemented` for another one.
    pub(super) fn check(&self, op: &str, attrs: &[(String, Value)]) -> Result<()> {
        for (name, allowed) in &self.allowed {
            if let Some(Value::Type(dtype)) = attr(attrs, name)
                && *dtype != DType::Resource
                && !allowed.contains(*dtype)
            {
                return Err(Error::unimplemented(format!("{op} of TensorFlow does not take {}", dtype.tf_name())));
            }
        }
        Ok(())
    }
}

/// Written by `tools/peers/tensorflow_operators.py`.
static TEXT: &str = include_str!("operators.txt");

fn kind(text: &'static str) -> Option<Kind> {
    if let Some(name) = text.strip_prefix('=') {
        return Some(Kind::Fixed(DType::from_name(name)?));
    }
    if let Some(list) = text.strip_prefix('[') {
        return Some(Kind::List(list.strip_suffix(']')?));
    }
    match text.split_once('*') {
        Some((count, of)) => Some(Kind::Counted(count, Box::new(kind(of)?))),
        None => Some(Kind::Attr(text)),
    }
}

fn ports(text: &'static str) -> Option<Vec<Port>> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts.map(|part| part.split_once(':').and_then(|(name, of)| Some(Port { name, kind: kind(of)? }))).collect()
}

fn line(text: &'static str) -> Option<(&'static str, Signature)> {
    let (name, rest) = text.split_once('(')?;
    let (inputs, outputs) = rest.split_once(")->")?;
    let (outputs, allowed) = outputs.split_once(' ').unwrap_or((outputs, ""));
    let (outputs, stateful) = match outputs.strip_suffix('!') {
        Some(outputs) => (outputs, true),
        None => (outputs, false),
    };
    let dtypes = |list: &str| {
        let known: Vec<DType> = list.split('/').filter_map(DType::from_name).collect();
        DTypeSet::of(&known)
    };
    let allowed = allowed.split(' ').filter_map(|part| part.split_once('=')).map(|(name, list)| (name, dtypes(list)));
    let allowed = allowed.collect();
    Some((name, Signature { inputs: ports(inputs)?, outputs: ports(outputs)?, stateful, allowed }))
}

/// The declaration of an operator.
pub(super) fn find(name: &str) -> Result<&'static Signature> {
    static INDEX: LazyLock<HashMap<&'static str, Signature>> =
        LazyLock::new(|| TEXT.lines().filter_map(line).collect());
    INDEX.get(name).ok_or_else(|| Error::internal(format!("there is no declaration of {name}")))
}

fn attr<'a>(attrs: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    attrs.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Notes the value of an attribute.
fn set(attrs: &mut Vec<(String, Value)>, name: &str, value: Value) {
    if attr(attrs, name).is_none() {
        attrs.push((name.to_owned(), value));
    }
}

impl Port {
    /// Notes what inputs of these dtypes say of the attributes.
    pub(super) fn note(&self, types: &[DType], attrs: &mut Vec<(String, Value)>) -> Result<()> {
        let mut due = &self.kind;
        if let Kind::Counted(count, of) = &self.kind {
            set(attrs, count, Value::Int(types.len() as i64));
            due = of;
        }
        if let Kind::List(name) = due {
            set(attrs, name, Value::Types(types.to_vec()));
            return Ok(());
        }
        for &dtype in types {
            let known = match due {
                Kind::Fixed(known) => *known,
                Kind::Attr(name) => {
                    set(attrs, name, Value::Type(dtype));
                    match attr(attrs, name) {
                        Some(Value::Type(known)) => *known,
                        _ => dtype,
                    }
                }
                _ => dtype,
            };
            if known != dtype {
                return Err(Error::unimplemented(format!(
                    "TensorFlow takes {} as {}, and it is {}",
                    self.name,
                    known.tf_name(),
                    dtype.tf_name()
                )));
            }
        }
        Ok(())
    }

    /// The dtypes of an output.
    pub(super) fn dtypes(&self, attrs: &[(String, Value)]) -> Result<Vec<DType>> {
        let of = |kind: &Kind| match kind {
            Kind::Fixed(dtype) => Some(*dtype),
            Kind::Attr(name) => match attr(attrs, name) {
                Some(Value::Type(dtype)) => Some(*dtype),
                _ => None,
            },
            _ => None,
        };
        let found = match &self.kind {
            Kind::List(name) => match attr(attrs, name) {
                Some(Value::Types(types)) => Some(types.clone()),
                _ => None,
            },
            Kind::Counted(count, kind) => match (attr(attrs, count), of(kind)) {
                (Some(Value::Int(count)), Some(dtype)) => Some(vec![dtype; usize::try_from(*count).unwrap_or(0)]),
                _ => None,
            },
            kind => of(kind).map(|dtype| vec![dtype]),
        };
        found.ok_or_else(|| Error::internal(format!("the dtype of {} is not known", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_declaration() {
        let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
        for text in lines {
            assert!(line(text).is_some(), "{text}");
        }
        assert!(find("AddV2").is_ok() && find("no such operator").is_err());
    }
}
