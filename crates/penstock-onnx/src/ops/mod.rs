//! The operators of ONNX, by area: for each a name, the version of the operator set from which on it is so, and its handler.

mod arrays;
mod attention;
mod boxes;
mod control;
mod elementwise;
mod indexing;
mod norms;
mod quantised;
mod recurrent;
mod reductions;
mod resize;
mod signals;
mod texts;
mod windows;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::cx::Handler;

/// The name, the first version, and the handler.
pub(crate) type Entry = (&'static str, i64, Handler);

const AREAS: &[&[Entry]] = &[
    elementwise::OPS,
    reductions::OPS,
    arrays::OPS,
    indexing::OPS,
    norms::OPS,
    windows::OPS,
    resize::OPS,
    quantised::OPS,
    control::OPS,
    attention::OPS,
    recurrent::OPS,
    signals::OPS,
    texts::OPS,
    boxes::OPS,
];

static TABLE: LazyLock<HashMap<&str, Vec<(i64, Handler)>>> = LazyLock::new(|| {
    let mut table: HashMap<&str, Vec<(i64, Handler)>> = HashMap::new();
    for &(name, since, handler) in AREAS.iter().copied().flatten() {
        table.entry(name).or_default().push((since, handler));
    }
    table
});

/// The newest handler of an operator that is not newer than `version`.
pub(crate) fn handler(domain: &str, name: &str, version: i64) -> Option<Handler> {
    let entries = TABLE.get(name).filter(|_| domain.is_empty())?;
    entries.iter().filter(|(since, _)| *since <= version).max_by_key(|(since, _)| *since).map(|(_, handler)| *handler)
}
