//! The executor: plans, the reference interpreter, variables, and the devices that run graphs.

mod args;
mod cpu;
mod device;
mod eager;
mod env;
mod exchange;
mod executable;
mod offload;
mod place;
mod placement;
mod plan;
pub mod reference;
mod sizes;
mod state;
mod tile;
mod variable;
mod work;

pub use device::{Device, DeviceKind, Looper, Memory, Program, Recorder, Round, Run, cpu, devices, register};
pub use eager::{eager, eager_args};
pub use env::StdEnv;
pub use exchange::{Borrowed, Exchange, device_at};
pub use executable::{Executable, checks_numerics, executable, is_large, on_graph, room_for, set_check_numerics};
pub use penstock_ir::stack::stack_left;
pub use penstock_passes::{evaluate::Outputs, switches};
pub use place::Place;
pub use placement::{placed, set_wish, wish};
pub use plan::STEP_KINDS;
pub use variable::{Arg, Variable};
