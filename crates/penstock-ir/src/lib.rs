//! The graph of the Penstock dataflow engine.
//!
//! A [`Graph`] is SSA with nested regions: [`Inst`]ructions apply an operator ([`OpDef`]) to
//! [`Value`]s; an instruction may own [`Region`]s, which see the values around them. A [`Builder`]
//! makes graphs and types every instruction as it is added.

mod attr;
mod builder;
mod dead;
mod derived;
mod effects;
mod entities;
mod env;
mod graph;
mod lex;
mod literal;
mod op;
mod parse;
mod portable;
mod print;
mod types;
mod verify;

pub use penstock_kernels::stack;

pub use attr::{Attr, AttrDef, AttrDefault, AttrKind, Attrs, FuncRef, HostFn, HostRef};
pub use builder::{Builder, GraphValues, MAX_NESTING, compact};
pub use dead::drop_dead;
pub use derived::{Census, Derived, Kept};
pub use effects::{EffectSet, acts, effects_of, effects_of_owners, effects_of_region, order};
pub use entities::{Arena, Entity, Inst, Region, Value};
pub use env::{Env, NoEnv, Profiled, Profiler};
pub use graph::{CONST, Def, Function, Graph, InstData, OpRef, RegionData, ValueData};
pub use op::{
    ArgDef, ArgType, Call, Cotangents, Cpu, Cuda, DTypeVar, Effect, Element, Emitter, Fold, InferCx, Known,
    KnownValues, NoValues, OpDef, OpSet, OutTypes, Resolved, Sample, Signature, Vjp, VjpCx, arg, arg_of, args_of,
};
pub use parse::{ConstantResolver, HostResolver, Resolvers, no_hosts, parse_function, parse_functions, parse_tensors};
pub use portable::require_portable;
pub use print::{ConstantSink, Locations, PrintOptions, print_function, print_functions, print_graph, print_tensor};
pub use types::Type;
pub use verify::{verify, verify_after};
