//! The operators of TensorFlow, each with what it becomes: most are an operator here with attributes of other names.

mod arrays;
mod control;
mod counts;
mod files;
mod lists;
pub(super) mod lookup;
mod math;
mod nn;
mod random;
mod state;
mod text;

use std::collections::HashMap;
use std::sync::LazyLock;

use penstock_data::{DType, Error, Result};
use penstock_ir::{Attr, Value};

use super::lower::{Cx, Val};

/// An operator of TensorFlow.
pub(super) struct Entry {
    /// Its name.
    pub(super) name: &'static str,
    /// The operator that it becomes, where `lower` is [`direct`].
    pub(super) op: &'static str,
    /// The names of its outputs, where there are several.
    pub(super) outputs: &'static [&'static str],
    /// The attributes of `op`, and where they come from.
    pub(super) attrs: &'static [(&'static str, From)],
    /// Adds what it becomes to the graph, and gives its outputs.
    pub(super) lower: fn(&mut Cx<'_, '_, '_, '_>, &Entry) -> Result<Vec<Val>>,
}

/// Where an attribute comes from: an attribute of the node, with its default, or an input that is a constant.
pub(super) enum From {
    Flag(&'static str, bool),
    Int(&'static str, i64),
    Text(&'static str, &'static str),
    DType(&'static str, DType),
    /// Integers, none where they are not given.
    Ints(&'static str),
    Shape(&'static str),
    /// An integer that is this input; of the end where it is negative.
    InputInt(isize),
    /// Integers that are this input.
    InputInts(isize),
}

/// An operator with one of the same meaning here.
const fn op(name: &'static str, op: &'static str, attrs: &'static [(&'static str, From)]) -> Entry {
    Entry { name, op, outputs: &[], attrs, lower: direct }
}

/// An operator with several outputs, with one of the same meaning here.
const fn many(
    name: &'static str,
    op: &'static str,
    outputs: &'static [&'static str],
    attrs: &'static [(&'static str, From)],
) -> Entry {
    Entry { name, op, outputs, attrs, lower: direct }
}

/// An operator that is composed.
const fn made(name: &'static str, lower: fn(&mut Cx<'_, '_, '_, '_>, &Entry) -> Result<Vec<Val>>) -> Entry {
    Entry { name, op: "", outputs: &[], attrs: &[], lower }
}

/// A composed operator with several outputs.
const fn made_many(
    name: &'static str,
    outputs: &'static [&'static str],
    lower: fn(&mut Cx<'_, '_, '_, '_>, &Entry) -> Result<Vec<Val>>,
) -> Entry {
    Entry { name, op: "", outputs, attrs: &[], lower }
}

/// The areas.
static AREAS: &[&[Entry]] = &[
    math::OPS,
    arrays::OPS,
    nn::OPS,
    control::OPS,
    counts::OPS,
    files::OPS,
    lists::OPS,
    lookup::OPS,
    random::OPS,
    state::OPS,
    text::OPS,
];

/// The entry of an operator.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    static INDEX: LazyLock<HashMap<&'static str, &'static Entry>> =
        LazyLock::new(|| AREAS.iter().flat_map(|area| area.iter()).map(|entry| (entry.name, entry)).collect());
    INDEX.get(name).copied()
}

/// Names that TensorFlow keeps for old graphs, or for other dtypes, in whose place a newer operator is written.
const OLD: &[&str] = &[
    "AccumulateNV2",
    "Add",
    "BatchMatMul",
    "BatchMatMulV2",
    "BatchMatMulV3",
    "BiasAddV1",
    "CheckNumericsV2",
    "ComplexAbs",
    "Concat",
    "Inv",
    "MatMul",
    "MatrixDiagPart",
    "MatrixSetDiag",
    "Mod",
];

/// The entry of an operator of TensorFlow that means the same as an operator of the engine.
pub(super) fn of_engine(op: &str) -> Option<&'static Entry> {
    static INDEX: LazyLock<HashMap<&'static str, &'static Entry>> = LazyLock::new(|| {
        let entries = AREAS.iter().flat_map(|area| area.iter());
        let mut found = HashMap::new();
        for entry in entries.filter(|entry| !entry.op.is_empty() && !OLD.contains(&entry.name)) {
            found.entry(entry.op).or_insert(entry);
        }
        found
    });
    INDEX.get(op).copied()
}

/// The attributes of an operator that are functions.
pub(super) fn callees(op: &str) -> &'static [&'static str] {
    match op {
        "PartitionedCall" | "StatefulPartitionedCall" => &["f"],
        "If" | "StatelessIf" => &["then_branch", "else_branch"],
        "While" | "StatelessWhile" => &["cond", "body"],
        "Case" | "StatelessCase" => &["branches"],
        _ => &[],
    }
}

/// The operator for strings in place of the one for numbers.
fn of_strings(op: &str) -> Option<&'static str> {
    Some(match op {
        "add" => "string_add",
        "equal" => "string_equal",
        "not_equal" => "string_not_equal",
        "select" => "string_select",
        _ => return None,
    })
}

/// Emits the operator of an entry, on the inputs that no attribute takes.
fn direct(cx: &mut Cx<'_, '_, '_, '_>, entry: &Entry) -> Result<Vec<Val>> {
    let mut attrs: Vec<(&str, Attr)> = Vec::new();
    let mut taken = Vec::new();
    for (name, from) in entry.attrs {
        let place = |i: isize| if i < 0 { cx.inputs.len().wrapping_add_signed(i) } else { i.unsigned_abs() };
        let value: Attr = match *from {
            From::Flag(attr, default) => cx.flag(attr, default)?.into(),
            From::Int(attr, default) => cx.int(attr, default)?.into(),
            From::Text(attr, default) => cx.text(attr, default)?.into(),
            From::DType(attr, default) => cx.dtype(attr, default)?.into(),
            From::Ints(attr) => match cx.list(attr)? {
                none if none.is_empty() => Attr::None,
                ints => ints.into(),
            },
            From::Shape(attr) => match cx.node.attr(attr)? {
                Some(attr) => attr.shape()?.into(),
                None => Attr::None,
            },
            From::InputInt(i) => {
                taken.push(place(i));
                cx.const_int(place(i))?.into()
            }
            From::InputInts(i) => {
                taken.push(place(i));
                cx.const_ints(place(i))?.into()
            }
        };
        attrs.push((name, value));
    }
    let operands: Vec<Value> =
        (0..cx.inputs.len()).filter(|i| !taken.contains(i)).map(|i| cx.tensor(i)).collect::<Result<_>>()?;
    let mut op = entry.op;
    if let Some(strings) = of_strings(op)
        && operands.last().is_some_and(|&v| cx.dtype_of(v) == DType::Str)
    {
        op = strings;
    }
    tensors(cx.ops(op, &operands, &attrs)?)
}

/// Several outputs.
fn tensors(values: Vec<Value>) -> Result<Vec<Val>> {
    Ok(values.into_iter().map(Val::Tensor).collect())
}

/// One output.
fn one(value: Value) -> Result<Vec<Val>> {
    Ok(vec![Val::Tensor(value)])
}

/// What an attribute says and cannot be done here.
fn refused<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::unimplemented(what))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use penstock_ir::OpSet;

    use super::*;

    #[test]
    fn names_are_unique_and_what_they_become_exists() {
        let mut seen = HashSet::new();
        for entry in AREAS.iter().flat_map(|area| area.iter()) {
            assert!(seen.insert(entry.name), "{} stands twice", entry.name);
            let Some(op) = penstock_ops::Ops.find(entry.op) else {
                assert!(entry.op.is_empty(), "{}: there is no operator {}", entry.name, entry.op);
                continue;
            };
            for (name, _) in entry.attrs {
                assert!(op.attr_index(name).is_some(), "{}: {} has no attribute {name}", entry.name, op.name);
            }
        }
        assert!(find("no such operator").is_none());
    }
}
