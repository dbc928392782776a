//! Dead instructions.

use penstock_data::Result;
use penstock_ir::{Graph, drop_dead};

use crate::Cx;

/// Drops instructions whose results nobody uses and that do not act on anything else, and variables of loops and results
/// of branches that nobody uses.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let body = graph.body();
    drop_dead(graph, &[body], &mut || cx.spend());
    Ok(())
}
