//! The CUDA device: kernels generated from elementwise instructions, compiled at run time.
//!
//! Nothing of CUDA is needed to build this crate, nor to load it: [`devices`] is empty where there is no
//! driver, and [`Nvrtc::get`] says what is missing where there is no compiler.
//!
//! A [`Program`] is made from a region of instructions whose declarations have a
//! [`Cuda::Formula`](penstock_ir::Cuda) or an expression; a [`Kernel`] is its CUDA C++ text for one
//! [`Layout`] of operands. The text is a function of the two, so that it serves as the key of caches.
//! Work on whole tensors, copies, reductions and products, is behind `penstock_ir::DeviceKernels`; products are cuBLAS's, and
//! convolutions cuDNN's, where they are installed. [`CudaDevice`] compiles and runs all of it behind the executor's [`Device`](penstock_exec::Device).
//!
//! # Formulas
//!
//! What an operator computes is recorded from the CPU's own function, so both give the same bits. A short formula stands where it is
//! used, a longer one is a member function of the kernel's body.
//!
//! # Expressions
//!
//! An expression sees one element of each operand as `{0}`, `{1}`, …, and computes in these types:
//!
//! - `bool` for booleans, `float` for 16-bit and single-precision floats, `double` for double precision. The value
//!   of an instruction of a 16-bit dtype is rounded to it.
//! - a wrapping type for each integer dtype: `+ - * & | ^ ~` wrap, `<<` and `>>` clamp the amount to the
//!   width, comparisons are exact, `int` literals mix in, and other conversions are written as casts, which
//!   truncate and saturate floats. It has no `/` and `%`: `penstock_floor_div`, `penstock_floor_mod`,
//!   `penstock_trunc_div` and `penstock_trunc_mod` report a division by zero, for floats they are NumPy's; `penstock_pow`
//!   reports a negative power of integers.
//!
//! `{T}` is the compute type of the first operand, `{R}` that of the result and `{S}` the result's stored type,
//! which differs for 16-bit floats: `penstock_cast<{S}>({0})` rounds once. `{name}` is the value of an attribute.
//! The other functions of the prelude have the CPU kernels' meaning where C++'s differs: `penstock_pow`, `penstock_lgamma`,
//! `penstock_digamma`.
//! Complex numbers are pairs of their parts, `c64` and `c128`; what is computed of them is made of formulas for the parts, but for
//! conversions.

mod combined;
mod device;
mod driver;
mod exchange;
mod faults;
mod formula;
mod kernel;
mod laid;
mod layout;
mod loops;
mod memory;
mod nvrtc;
mod opened;
mod parts;
mod program;
mod queue;
mod remote;
mod rounds;
mod store;
mod whole;

pub use device::{CudaDevice, CudaProgram, devices, register_devices};
pub use driver::{DRIVER_VARIABLE, DeviceInfo, driver, set_driver};
pub use kernel::{Arg, BLOCK, Kernel, PRELUDE, Reach, Variant, combined};
pub use layout::{Access, Layout};
pub use nvrtc::{Arch, Image, NVRTC_VARIABLE, Nvrtc, add_site_packages, set_nvrtc};
pub use program::{Output, Program, Step};
pub use queue::GRAPHS_VARIABLE;
pub use store::CACHE_VARIABLE;
pub use whole::{CUBLAS_VARIABLE, CUDNN_VARIABLE, set_cublaslt, set_cudnn};
