//! The graph of the Penstock dataflow engine.
//!
//! A [`Graph`] is SSA with nested regions: [`Inst`]ructions apply an operator ([`OpDef`]) to
//! [`Value`]s; an instruction may own [`Region`]s, which see the values around them. A [`Builder`]
//! makes graphs and types every instruction as it is added.

mod attr;
mod batch;
mod builder;
mod collective;
mod dead;
mod derived;
mod effects;
mod element_fn;
mod elements;
mod entities;
mod env;
mod facts;
mod graph;
mod known;
mod lex;
mod literal;
pub mod local_files;
mod op;
mod parse;
mod portable;
mod print;
mod profile;
mod promise;
mod types;
mod verify;
mod whole;

pub use penstock_kernels::stack;

pub use attr::{Attr, AttrDef, AttrDefault, AttrKind, Attrs, FuncRef, HostFn, HostRef};
pub use batch::{Batch, BatchCx, BatchResults, BatchRule, Example, Examples, GraphEmitter, with_lead};
pub use builder::{Builder, MAX_NESTING, compact};
pub use collective::{Alone, Collective, Combine, Group};
pub use dead::drop_dead;
pub use derived::{Census, Kept};
pub use effects::{EffectSet, acts, effects_of, effects_of_owners, effects_of_region, order};
pub use element_fn::ElementFn;
pub use elements::{Evaluate, GraphValues};
pub use entities::{Arena, Entity, Inst, Region, Value};
pub use env::{Env, NoEnv, Stream};
pub use facts::{Cuda, Effect, Fails, Fold, Jvp};
pub use graph::{Counter, Def, Derived, Function, Graph, InstData, OpRef, RegionData, ValueData, Verified};
pub use known::{Element, KnownValues, NoValues};
pub use op::{
    ArgDef, ArgType, BoxOf, Call, Cost, CostCx, Cotangents, Cpu, Cuts, DTypeVar, Elements, ElementsCx, Emitter,
    InferCx, Kernel, Known, OpDef, OpSet, OutTypes, Resolved, Resolver, Rows, RuleOps, Sample, Signature, Structure,
    Vjp, VjpCx, arg, arg_of, args_of,
};
pub use parse::{ConstantResolver, HostResolver, Resolvers, no_hosts, parse_function, parse_functions, parse_tensors};
pub use portable::require_portable;
pub use print::{
    ConstantSink, Locations, PrintOptions, print_attributes, print_function, print_functions, print_graph, print_tensor,
};
pub use profile::{Activity, Detail, Pace, Profiler, Span, is_quiet, quietly, told};
pub use promise::Promise;
pub use types::Type;
pub use verify::{check_results, checks_trusted, infer_types, infer_types_for, verify, verify_after};
pub use whole::{
    BoxCopy, ByPlace, Carried, Convolution, CopyDim, DeviceKernels, Draw, Pooling, Product, Rest, Scan, Selection,
};
