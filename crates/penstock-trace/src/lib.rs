//! Tracing, without any Python: values that are eager or symbolic, the traces and tapes of a thread,
//! the dispatch of operations to them, trace types and the signature cache.

mod context;
mod dispatch;
mod key;
mod rows;
mod var;

pub use context::{
    Host, Override, Paused, Recorder, SharedAccumulator, SharedTape, Suspended, Traced, abandon_region, abandon_trace,
    as_rows, begin_region, begin_trace, bind_variable, current_trace, end_region, end_trace, host, is_plain,
    is_tracing, known, pause_recorders, placeholder, pop_override, pop_recorder, push_override, push_recorder, refine,
    region_results, set_host, set_name, suspend, with_graph, with_graph_of,
};
pub use dispatch::{
    Concrete, Live, Outs, apply, apply_regions, call, constant, dispatch, gradients, note_accessed, read_variable,
    record_custom, with_gradient,
};
pub use key::{Cache, Opaque, RawKey, Token, TraceType, generalize, is_subtype, most_specific};
pub use rows::{gradients_of_rows, map_rows, trace_rows};
pub use var::{Kind, Symbolic, Var, fresh_id};
