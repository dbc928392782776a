//! The data that Penstock computes on: dtypes, symbolic shapes, buffers and their pool, tensors,
//! lists of them, source locations and errors.

mod buffer;
mod dtype;
mod error;
mod list;
mod loc;
pub mod memory;
mod narrow;
mod promotion;
mod remote;
mod reserve;
pub mod settings;
mod shape;
mod table;
mod tensor;

pub use buffer::{ALIGNMENT, Buffer, release_pool, retained_bytes, taken_bytes, used_bytes};
pub use dtype::{ALL_DTYPES, Bool8, C64, C128, DType, DTypeSet, Element};
pub use error::{Class, Error, Result};
pub use half::{bf16, f16};
pub use list::List;
pub use loc::{Frame, Loc};
pub use narrow::{FloatFormat, Narrow, NarrowFormat, round_to_odd};
pub use remote::{Place, Remote, devices_in_use, use_devices};
pub use reserve::Reserve;
pub use shape::{Dim, Dims, MAX_RANK, Shape, Symbol, check_rank, num_elements};
pub use table::Table;
pub use tensor::{Bytes, INLINE_BYTES, Tensor};
