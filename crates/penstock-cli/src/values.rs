//! Values of inputs.

use std::path::Path;

use penstock::{Arg, DType, Dim, Error, ProgramFunction, Result, Tensor, Type, parse_tensors};
use serde_json::Value;

use crate::arguments::{Arguments, Failure};
use crate::npy;

/// The tensor that a text stands for: `@file.npy`, or a value in JSON, of the type of the input.
fn value(text: &str, ty: &Type) -> Result<Tensor> {
    if let Some(path) = text.strip_prefix('@') {
        return npy::load(Path::new(path), ty.dtype());
    }
    let wrong = |e: &dyn std::fmt::Display| Error::invalid(format!("{text:?} is no number, list or text: {e}"));
    let json: Value = serde_json::from_str(text).map_err(|e| wrong(&e))?;
    let (mut dims, mut at) = (Vec::new(), &json);
    while let Value::Array(items) = at {
        dims.push(items.len());
        let Some(first) = items.first() else { break };
        at = first;
    }
    let mut elements = Vec::new();
    collect(&json, &dims, &mut elements).ok_or_else(|| wrong(&"the lists differ in length or depth"))?;
    let written: Vec<String> = dims.iter().map(usize::to_string).collect();
    let text = format!("{}[{}] {}", ty.dtype(), written.join(","), elements_text(&elements, dims.is_empty()));
    let mut read = parse_tensors(&text).map_err(|e| wrong(&e))?;
    read.pop().ok_or_else(|| wrong(&"nothing"))
}

fn elements_text(elements: &[String], scalar: bool) -> String {
    if scalar { elements.concat() } else { format!("[{}]", elements.join(",")) }
}

/// The elements of nested lists of the extents `dims`, row-major.
fn collect(json: &Value, dims: &[usize], out: &mut Vec<String>) -> Option<()> {
    match (json, dims) {
        (Value::Array(items), [n, rest @ ..]) if items.len() == *n => {
            items.iter().try_for_each(|item| collect(item, rest, out))
        }
        (Value::Array(_) | Value::Object(_) | Value::Null, _) => None,
        (leaf, []) => {
            out.push(leaf.to_string());
            Some(())
        }
        _ => None,
    }
}

/// The inputs that a command line gives, by name.
pub(crate) fn given(arguments: &mut Arguments, function: &ProgramFunction) -> Result<Vec<(String, Tensor)>, Failure> {
    let mut given = Vec::new();
    if let Some(archive) = arguments.option("inputs") {
        let types = |name: &str| function.inputs().find(|(n, _)| *n == name).map(|(_, ty)| ty.dtype());
        given = npy::load_archive(Path::new(archive), &types)?;
    }
    for (name, text) in arguments.pairs()? {
        let Some((_, ty)) = function.inputs().find(|(n, _)| *n == name) else {
            let known: Vec<&str> = function.inputs().map(|(n, _)| n).collect();
            let message = format!("'{}' has no input '{name}'; it takes {}", function.name(), known.join(", "));
            return Err(Error::invalid(message).into());
        };
        given.push((name.clone(), value(&text, ty).map_err(|e| e.argument(name))?));
    }
    Ok(given)
}

/// The arguments of a call.
pub(crate) fn args(given: &[(String, Tensor)]) -> Vec<(&str, Arg)> {
    given.iter().map(|(name, t)| (name.as_str(), Arg::Tensor(t.clone()))).collect()
}

/// A value of a type whose unknown extents are said by `sizes`, by the symbol or by the name of the input: small numbers that
/// repeat.
pub(crate) fn made_up(name: &str, ty: &Type, sizes: &[(String, usize)]) -> Result<Tensor> {
    let Some(dims) = ty.shape().dims() else {
        return Err(Error::invalid("its rank is not known; give a value").argument(name));
    };
    let size = |dim: &Dim| match dim {
        Dim::Known(n) => Ok(*n),
        unknown => {
            sizes.iter().find(|(n, _)| *n == unknown.to_string() || n == name).map(|(_, size)| *size).ok_or_else(|| {
                Error::invalid(format!("its extent {unknown} is not known; give --size {unknown}=N")).argument(name)
            })
        }
    };
    let dims = dims.iter().map(size).collect::<Result<Vec<usize>>>()?;
    let count: usize = dims.iter().product();
    match ty.dtype() {
        DType::F32 => Tensor::from_slice(&dims, &(0..count).map(|i| (i % 17) as f32 / 17.0).collect::<Vec<_>>()),
        DType::F64 => Tensor::from_slice(&dims, &(0..count).map(|i| (i % 17) as f64 / 17.0).collect::<Vec<_>>()),
        dtype => Tensor::zeros(dtype, &dims),
    }
}
