//! Products by matrices that stay the same from run to run: packed once, and kept as long as a kernel made for them is.

#![expect(unsafe_code, reason = "a product of tensors whose types are known ahead")]

use std::sync::{Arc, Mutex, OnceLock, Weak};

use penstock_data::{DType, Dims, Tensor};
use penstock_ir::{Attrs, Call, Cpu, Known, OpDef, Resolved, Type};
use penstock_kernels::right::Right;
use rustc_hash::FxHashMap;

use crate::linalg::right_of;

/// Rows from which a product by a packed matrix is faster: where the matrix is not near, where it is stored transposed, and where it
/// is of 16-bit floats, or its rows start in the middle of cache lines.
const ROWS_BY_FAR: usize = 8;
const ROWS_BY_TRANSPOSED: usize = 17;
const ROWS_BY_UNEVEN: usize = 2;
/// Rows beyond which packing is a small part of a product.
const MOST_ROWS: usize = 128;
/// The least rows and columns of a matrix, and the most bytes of a packed one.
const LEAST: usize = 16;
const MOST_BYTES: usize = 64 << 20;
/// Bytes of a matrix that stays near, and of a cache line.
const NEAR: usize = 2 << 20;
const LINE: usize = 64;

/// A matrix that is packed, and the tensor that it was: while that is held, nothing else can come to lie in its place.
struct Packed {
    from: Tensor,
    right: Right,
}

/// What is packed in this process, by the address of what it was and whether that is transposed.
static PACKED: Mutex<Option<FxHashMap<(usize, bool), Weak<Packed>>>> = Mutex::new(None);

/// The packed form of `b`, which is made where nobody has it. `None` where there is no memory, or a host may change `b`.
fn packed(b: &Tensor, transposed: bool, k: usize, n: usize) -> Option<Arc<Packed>> {
    if !b.is_own() {
        return None;
    }
    let key = (b.as_ptr() as usize, transposed);
    // A lock that another thread holds is not waited for: it may be held for ever in a forked child.
    let known = PACKED.try_lock().ok().and_then(|table| table.as_ref()?.get(&key)?.upgrade());
    if let Some(known) = known.filter(|known| known.is_of(b)) {
        return Some(known);
    }
    // SAFETY: a contiguous tensor of so many elements, as the kernel's maker has seen.
    let right = unsafe { Right::pack(b.dtype(), k, n, b.as_ptr(), transposed) }.ok()?;
    let made = Arc::new(Packed { from: b.clone(), right });
    if let Ok(mut table) = PACKED.try_lock() {
        let table = table.get_or_insert_default();
        table.retain(|_, packed| packed.strong_count() > 0);
        table.insert(key, Arc::downgrade(&made));
    }
    Some(made)
}

impl Packed {
    fn is_of(&self, b: &Tensor) -> bool {
        let (from, same) = (&self.from, b.as_ptr() == self.from.as_ptr());
        same && from.shares_data(b) && from.dtype() == b.dtype() && from.dims() == b.dims()
    }
}

/// Whether a product of so many rows is better made by a packed matrix of `k` by `n`.
fn is_worth(dtype: DType, rows: usize, k: usize, n: usize, transposed: bool) -> bool {
    let least = match dtype {
        DType::F16 | DType::Bf16 => ROWS_BY_UNEVEN,
        DType::F32 | DType::F64 if k * n * dtype.size() > NEAR => ROWS_BY_FAR,
        DType::F32 | DType::F64 if transposed => ROWS_BY_TRANSPOSED,
        DType::F32 | DType::F64 if !(n * dtype.size()).is_multiple_of(LINE) => ROWS_BY_UNEVEN,
        _ => return false,
    };
    (least..=MOST_ROWS).contains(&rows) && k.min(n) >= LEAST && Right::bytes(dtype, k, n) <= MOST_BYTES
}

/// Resolves a product of few rows by a matrix that is likely to be the same in each run. The first one that comes is packed; where
/// another one comes, the operator's own kernel runs.
pub(crate) fn product(op: &'static OpDef, attrs: &Attrs, operands: &[Known<'_>], results: &[Type]) -> Option<Resolved> {
    let (Cpu::Kernel(own), [a, b]) = (op.cpu, operands) else { return None };
    if !b.lasting {
        return None;
    }
    let (rows, k, n, transposed) = right_of(attrs, &a.extents()?, &b.extents()?)?;
    let (dtype, dims): (_, Dims) = (b.ty.dtype(), results.first()?.shape().extents()?);
    if !is_worth(dtype, rows, k, n, transposed) {
        return None;
    }
    let first = OnceLock::new();
    let run = move |call: &mut Call<'_>| {
        let (a, b) = (call.inputs[0], call.inputs[1]);
        let packed: &Option<Arc<Packed>> = first.get_or_init(|| packed(b, transposed, k, n));
        match packed {
            Some(packed) if packed.is_of(b) => {
                let out = call.out(0, dtype, &dims)?;
                // SAFETY: the operands have the types that this was made for: `a` has `rows` rows of `k` elements; `out` starts as many
                // of `n`, and is no operand's memory.
                unsafe { packed.right.product(rows, a.as_ptr(), out) };
                Ok(())
            }
            // SAFETY: the operands are those that it would have run on.
            _ => unsafe { own(call) },
        }
    };
    // SAFETY: the kernel relies on the types of the operands, and on the values of constant ones, that it was made for; it makes each
    // result of the dtype and extents that this was given.
    Some(unsafe { Resolved::new(run) })
}
