pub mod ops;
mod array; mod function; mod host;
pub use array::*; pub use function::*; pub use host::*;
