//! Cotangents of what is only read by rows: they stay rows where nothing else is added to them.

use std::sync::Arc;

use penstock_data::{Error, Result};
use penstock_ir::{Counter, Derived, Function, Graph, Value, Verified, compact, drop_dead};
use penstock_ops::{binary, gather};
use smallvec::SmallVec;

/// How a function gives a cotangent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Given {
    /// This output is the cotangent.
    Whole(usize),
    /// The sum of rows: for each piece the outputs that are its values and its indices.
    Rows(Vec<(usize, usize)>),
}

/// A function of cotangents that gives rows where it can.
pub struct ByRows {
    /// What runs in place of the function, where it gives rows; see [`ByRows::function`].
    split: Option<Arc<Function>>,
    /// How it gives each of the outputs of the function that it was made of.
    pub given: Vec<Given>,
}

impl Derived for ByRows {
    fn count(&self, census: &mut dyn Counter) -> bool {
        self.split.iter().all(|function| census.function(function))
    }
}

impl ByRows {
    /// From the inputs of `function`, of which this was made, to what `given` says. It is `function` itself where that gives
    /// no rows.
    pub fn function<'a>(&'a self, function: &'a Arc<Function>) -> &'a Arc<Function> {
        self.split.as_ref().unwrap_or(function)
    }
}

/// Has a function of cotangents give as rows those that it would put into zeros at its end.
///
/// Made once for each function.
///
/// # Errors
/// `Unimplemented` for a function that is only declared.
pub fn by_rows(function: &Arc<Function>) -> Result<Arc<ByRows>> {
    function.derive(|_| {
        let Some(graph) = function.graph() else {
            return Err(Error::unimplemented(format!("the function {} is not finished yet", function.name())));
        };
        let (mut outputs, mut given) = (Vec::new(), Vec::new());
        let mut place = |value: Value| {
            outputs.push(value);
            outputs.len() - 1
        };
        for &value in graph.outputs() {
            given.push(match row_pieces(graph, value) {
                Some(pieces) => Given::Rows(pieces.into_iter().map(|(v, i)| (place(v), place(i))).collect()),
                None => Given::Whole(place(value)),
            });
        }
        if given.iter().all(|g| matches!(g, Given::Whole(_))) {
            return Ok(ByRows { split: None, given });
        }
        let mut graph = Graph::clone(graph);
        let body = graph.body();
        graph.regions[body].results = outputs.into_iter().collect();
        drop_dead(&mut graph, &[body], &mut || true);
        #[expect(unsafe_code, reason = "what was verified gives other values")]
        // SAFETY: the outputs are operands of listed instructions of the body, in whose scope they are; what is dropped is of no use to
        // anything else, by `drop_dead`.
        let graph = unsafe { Verified::trusted(compact(&graph), "by_rows")? };
        let function = Function::new(format!("{}.rows", function.name()), graph);
        Ok(ByRows { split: Some(Arc::new(function)), given })
    })
}

/// The values and indices of the rows of which `value` is the sum; `None` where it is another thing.
pub fn row_pieces(graph: &Graph, value: Value) -> Option<SmallVec<[(Value, Value); 1]>> {
    let mut pieces = SmallVec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let data = &graph.insts[graph.def_inst(value)?];
        let is = |op| data.op.0.is(op);
        if is(&binary::ADD) {
            open.extend(data.operands.iter().rev());
            continue;
        }
        // `axis`, `batch_dims`, `drop_negative` and `sparse_gradient`: it was read along the first dimension.
        let by_rows = || {
            let attrs = &data.attrs;
            attrs.int(0) == 0 && attrs.int(1) == 0 && !attrs.flag(2) && attrs.flag(3)
        };
        if !(is(&gather::GATHER_GRAD) || is(&gather::GATHER_ACCUMULATE)) || !by_rows() {
            return None;
        }
        pieces.push((data.operands[2], data.operands[1]));
        if is(&gather::GATHER_ACCUMULATE) {
            open.push(data.operands[0]);
        }
    }
    Some(pieces)
}
