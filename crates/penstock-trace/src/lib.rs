//! Tracing, without any Python: values that are eager or symbolic, the traces and tapes of a thread,
//! the dispatch of operations to them, trace types and the signature cache.

mod cache;
mod context;
mod differ;
mod dispatch;
mod initial_values;
mod key;
mod later;
mod names;
mod open;
mod rows;
mod scopes;
mod telling;
mod trace_lock;
mod var;

pub use cache::{Cache, Entry};
pub use context::{
    HandedOver, Host, Override, Paused, Recorder, Recording, SharedAccumulator, SharedTape, Suspended, Traced, Tracing,
    abandon_region, as_rows, begin_region, begin_trace, bind_variable, capture_all, current_trace, end_region, give,
    hand_over, has_nameless_captures, host, inaccessible, inside_open_graph, is_in_scope, is_plain, is_tracing, known,
    name_capture, pause_recorders, placeholder, pop_override, pop_recorder, push_override, push_recorder,
    reached_variables, record_with, refine, region_results, set_host, suspend, trace_depth, with_graph, with_graph_of,
    with_values_of,
};
pub use differ::{DEAD, Difference, differences, nearest};
pub use dispatch::{
    Args, Concrete, Live, Outs, apply, apply_regions, call, constant, dispatch, gradients, note_accessed,
    read_variable, record_custom, run_now, zeros_like,
};
pub use initial_values::computed;
pub use key::{Opaque, RawKey, Token, TraceType, VariableType, most_specific};
pub use later::{MakeGradient, with_gradient};
pub use names::{set_name, unique_scope};
pub use open::{OpenGraph, Part, is_open_graph, with_left_graph};
pub use rows::{gradients_of_rows, map_rows, trace_rows};
pub use scopes::{open_scope, set_scope};
pub use trace_lock::{TraceLock, try_trace_lock, wait_for_trace_lock};
pub use var::{Home, Kind, Symbolic, Var, fresh_id};
