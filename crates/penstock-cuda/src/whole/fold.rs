//! Reductions, in the host's order.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use cudarc::driver::CudaFunction;
use penstock_data::{DType, Result, Tensor};
use penstock_kernels::Reduce;
use penstock_kernels::fold::{self, Axis, collapsed};
use smallvec::SmallVec;

use super::{INDICES, Operands, Width, at_least_one, launch, launch_moving, table};
use crate::kernel::Arg;
use crate::memory::Memory;
use crate::opened::Opened;
use crate::program::{compute_type, storage_type};

/// Elements of a run below which it is folded in sequence.
const SHORT: usize = 32;
/// The most bytes of an accumulator.
const ACCUMULATOR: usize = 16;

/// What a reduction makes of elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Fold {
    /// What the operator says.
    Of(Reduce),
    /// The number of those that are not zero, `int64`.
    Nonzero,
}

impl Fold {
    /// The dtype of the results, of elements of `dtype`.
    fn result(self, dtype: DType) -> DType {
        if self == Fold::Nonzero { DType::I64 } else { dtype }
    }
}

/// What is joined, as a type of the kernels' text; `None` for dtypes that have no kernels.
pub(super) fn text(fold: Fold, dtype: DType) -> Option<String> {
    let (stored, computed) = (storage_type(dtype)?, compute_type(dtype)?);
    let Fold::Of(op) = fold else {
        return Some(format!(
            "struct fold {{\n    typedef {stored} E;\n    typedef i64 A;\n    typedef i64 O;\n    \
             __device__ static A init() {{ return A(0); }}\n    \
             __device__ static A load(const E& x) {{ return A(int(penstock_load(x) != 0)); }}\n    \
             __device__ static A join(A a, A b) {{ return a + b; }}\n    \
             __device__ static void finish(O& out, A a, unsigned long long) {{ out = a; }}\n}};\n"
        ));
    };
    let is_float = matches!(computed, "f32" | "f64" | "c64" | "c128");
    let acc = if op == Reduce::Mean && !is_float { "i64" } else { computed };
    let (inf, highest, lowest) = match computed {
        "f32" => ("penstock_f32_of_bits(0x7f800000u)", "", ""),
        "f64" => ("penstock_f64_of_bits(0x7ff0000000000000ull)", "", ""),
        _ => ("", "E::highest()", "E::lowest()"),
    };
    let init = match (op, is_float) {
        (Reduce::Prod, _) => "A(1)".to_string(),
        (Reduce::Max, true) => format!("-{inf}"),
        (Reduce::Min, true) => inf.to_string(),
        (Reduce::Max, false) => lowest.to_string(),
        (Reduce::Min, false) => highest.to_string(),
        (Reduce::All, _) => "true".to_string(),
        _ => "A(0)".to_string(),
    };
    let join = match op {
        Reduce::Sum | Reduce::Mean => "a + b",
        Reduce::Prod => "a * b",
        // NaN if there is one, and the first of equal ones.
        Reduce::Max => "!(a >= b) && a == a ? b : a",
        Reduce::Min => "!(a <= b) && a == a ? b : a",
        Reduce::Any => "a || b",
        Reduce::All => "a && b",
    };
    let value = match (op, is_float, dtype.is_unsigned()) {
        (Reduce::Mean, true, _) if dtype == DType::C64 => "a / f32(n)",
        (Reduce::Mean, true, _) if dtype == DType::C128 => "a / f64(n)",
        (Reduce::Mean, true, _) => "a / A(double(n))",
        (Reduce::Mean, false, true) => "E(i64((unsigned long long)a.v / n))",
        (Reduce::Mean, false, false) => "E(i64(a.v / (long long)n))",
        _ => "a",
    };
    Some(format!(
        "struct fold {{\n    typedef {stored} E;\n    typedef {acc} A;\n    typedef E O;\n    \
         __device__ static A init() {{ return {init}; }}\n    \
         __device__ static A load(const E& x) {{ return A(penstock_load(x)); }}\n    \
         __device__ static A join(A a, A b) {{ return {join}; }}\n    \
         __device__ static void finish(O& out, A a, unsigned long long n) {{ penstock_store(out, {value}); }}\n}};\n"
    ))
}

/// The kernels of one reduction of one dtype.
struct Kernels<'d> {
    device: &'d Arc<Opened>,
    op: Fold,
    dtype: DType,
    width: Width,
    kept: SmallVec<[Axis; 6]>,
    gone: SmallVec<[Axis; 6]>,
    /// Neighbours that a thread loads at once.
    pack: usize,
    /// Whether a part of rows is one block.
    joined: bool,
}

impl Kernels<'_> {
    fn function(&self, name: &'static str) -> Result<CudaFunction> {
        let key = (self.op, self.dtype, self.width.name(), self.kept.len(), self.gone.len(), self.pack, self.joined);
        self.device.function("fold", name, key, || {
            let what = text(self.op, self.dtype).unwrap_or_default();
            let index = self.width.name();
            let (kept, gone) = (self.kept.len(), self.gone.len());
            let (pack, joined) = (self.pack, u8::from(self.joined));
            let own = include_str!("fold.cuh");
            format!(
                "typedef {index} I;\n#define KEPT {kept}\n#define GONE {gone}\n#define PACK {pack}\n#define JOINED {joined}\n\
                 {what}{INDICES}{own}"
            )
        })
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// As [`launch`]: these are its arguments.
    unsafe fn run(&self, name: &'static str, threads: usize, args: &[Arg], bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { launch_moving(self.device, &self.function(name)?, threads, args, bytes) }
    }

    fn numbers<const N: usize>(&self, values: [usize; N]) -> [Arg; N] {
        values.map(|v| self.width.number(v))
    }

    fn lists(&self) -> [Arg; 4] {
        let size = |axes: &[Axis]| self.width.list(axes.iter().map(|a| a.size as isize));
        let step = |axes: &[Axis]| self.width.list(axes.iter().map(|a| a.stride as isize));
        [size(&self.kept), step(&self.kept), size(&self.gone), step(&self.gone)]
    }

    fn table(&self, count: usize) -> Result<Memory> {
        table(self.device, count, ACCUMULATOR)
    }
}

fn product(axes: &[Axis]) -> usize {
    axes.iter().map(|a| a.size).product()
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn reduce(
    device: &Arc<Opened>,
    op: Fold,
    x: &Tensor,
    marked: &[bool],
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let dtype = x.dtype();
    let count: usize = x.dims().iter().zip(marked).filter(|(_, gone)| **gone).map(|(d, _)| d).product();
    if x.is_empty() || text(op, dtype).is_none() {
        return Ok(None);
    }
    let made = op.result(dtype);
    let memory = device.allocate(made, dims)?;
    let mut operands = Operands::new(device);
    let from = operands.address(x)?;
    let (mut kept, mut gone) = collapsed(x.dims(), marked);
    let unit = Axis { size: 1, stride: 0 };
    let is_run = gone.is_empty() || gone.last().is_some_and(|a| a.stride == 1);
    // The innermost axis is walked by itself: a run of neighbours, or a row of columns.
    let inner = if is_run { gone.pop() } else { kept.pop() }.unwrap_or(Axis { size: 1, stride: 1 });
    let rows = if is_run { unit } else { gone.pop().unwrap_or(unit) };
    let (results, others) = (product(&kept), product(&gone));
    let width = Width::of(x.len());
    let pack = if is_run { 1 } else { pack(dtype, inner.size, rows.stride, kept.iter().chain(&gone)) };
    let (kept, gone) = (at_least_one(kept, unit), at_least_one(gone, unit));
    let joined = others == 1 && fold::rows_of_part(inner.size) == fold::ROWS;
    let kernels = Kernels { device, op, dtype, width, kept, gone, pack, joined };
    let (out, input, count) = (Arg::Pointer(memory.address), Arg::Pointer(from), Arg::U64(count as u64));
    // SAFETY: each kernel gets the arguments of its signature. The index spaces are those of the operand's and the result's extents,
    // and each table has an accumulator for each entry of the index space that writes it.
    unsafe {
        if is_run {
            fold_runs(&kernels, out, input, [results, others, inner.size], count)?;
        } else {
            fold_rows(&kernels, out, input, [results, others, rows.size, inner.size, rows.stride], count)?;
        }
    }
    operands.result(made, dims, memory).map(Some)
}

/// How many neighbouring columns a thread takes at once: as many as are 16 bytes, where all rows lie at multiples of them.
fn pack<'a>(dtype: DType, columns: usize, step: usize, others: impl Iterator<Item = &'a Axis>) -> usize {
    const PACK_BYTES: usize = 16;
    let others: SmallVec<[usize; 12]> = others.map(|a| a.stride).chain([columns, step]).collect();
    let mut pack = PACK_BYTES / dtype.size();
    while pack > 1 && !others.iter().all(|n| n.is_multiple_of(pack)) {
        pack /= 2;
    }
    pack.max(1)
}

/// Reduces runs of `n` neighbours, `others` for each of the results.
///
/// # Safety
/// The addresses are of memory of this device for the index spaces.
unsafe fn fold_runs(
    kernels: &Kernels<'_>,
    out: Arg,
    input: Arg,
    [results, others, n]: [usize; 3],
    count: Arg,
) -> Result<()> {
    let blocks = if n < SHORT { 1 } else { n.div_ceil(fold::BLOCK) };
    let entries = results * others * blocks;
    let first = if others * blocks == 1 { None } else { Some(kernels.table(entries)?) };
    let at = |memory: &Option<Memory>| Arg::Pointer(memory.as_ref().map_or(0, |m| m.address));
    let mut args = vec![out.clone(), at(&first), input];
    args.extend(kernels.numbers([results, others, n]));
    let (name, threads) = if n < SHORT {
        ("penstock_fold_short_runs", entries)
    } else {
        args.extend(kernels.numbers([blocks]));
        ("penstock_fold_runs", entries * 32)
    };
    args.extend(kernels.lists());
    args.push(count.clone());
    // SAFETY: the caller's promise.
    unsafe { kernels.run(name, threads, &args, results * others * n * kernels.dtype.size()) }?;
    if first.is_some() {
        let parts = blocks.div_ceil(fold::PART / fold::BLOCK);
        let second = Some(kernels.table(results * others * parts)?);
        let mut args = vec![out, at(&first), at(&second)];
        args.extend(kernels.numbers([results, others, blocks]));
        args.push(count);
        // SAFETY: the caller's promise.
        unsafe {
            kernels.run(
                "penstock_join_runs",
                results.saturating_mul(crate::kernel::BLOCK as usize),
                &args,
                entries * ACCUMULATOR,
            )
        }?;
    }
    Ok(())
}

/// Reduces columns of `rows` rows, `others` times as many for each line of results.
///
/// # Safety
/// As for [`fold_runs`].
unsafe fn fold_rows(
    kernels: &Kernels<'_>,
    out: Arg,
    input: Arg,
    [lines, others, rows, columns, stride]: [usize; 5],
    count: Arg,
) -> Result<()> {
    /// Parts that a thread joins by itself; of more, a block loads some while it joins others.
    const FEW: usize = 64;
    /// Columns of such a block.
    const WIDTH: usize = 8;
    let blocks = rows.div_ceil(fold::ROWS);
    let entries = lines * others * blocks * columns;
    let first = if others * blocks == 1 { None } else { Some(kernels.table(entries)?) };
    let at = |memory: &Option<Memory>| Arg::Pointer(memory.as_ref().map_or(0, |m| m.address));
    let mut args = vec![out.clone(), at(&first), input];
    let pack = kernels.pack;
    args.extend(kernels.numbers([lines, others, rows, blocks, columns / pack, stride / pack]));
    args.extend(kernels.lists());
    args.push(count.clone());
    // SAFETY: the caller's promise.
    unsafe {
        kernels.run("penstock_fold_rows", entries / pack, &args, lines * others * rows * columns * kernels.dtype.size())
    }?;
    if first.is_none() {
        return Ok(());
    }
    let part = fold::rows_of_part(columns) / fold::ROWS;
    let parts = blocks.div_ceil(part);
    let finish = |parts_at: Arg| {
        let mut args = vec![out.clone()];
        let (name, threads) = if parts <= FEW {
            // As the blocks of one part.
            args.extend([Arg::Pointer(0), parts_at]);
            args.extend(kernels.numbers([lines, 1, parts, columns, parts, 1]));
            ("penstock_join_rows", lines * columns)
        } else {
            args.push(parts_at);
            args.extend(kernels.numbers([lines, columns, parts]));
            ("penstock_join_parts", (lines * columns.div_ceil(WIDTH)).saturating_mul(crate::kernel::BLOCK as usize))
        };
        args.push(count.clone());
        // SAFETY: the caller's promise.
        unsafe { kernels.run(name, threads, &args, lines * parts * columns * ACCUMULATOR) }
    };
    if kernels.joined {
        return finish(at(&first));
    }
    let second = if parts == 1 { None } else { Some(kernels.table(lines * parts * columns)?) };
    let mut args = vec![out.clone(), at(&second), at(&first)];
    args.extend(kernels.numbers([lines, others, blocks, columns, part, parts]));
    args.push(count.clone());
    // SAFETY: the caller's promise.
    unsafe { kernels.run("penstock_join_rows", lines * parts * columns, &args, entries * ACCUMULATOR) }?;
    if second.is_some() { finish(at(&second)) } else { Ok(()) }
}

/// Reduces rows in groups; see [`penstock_ir::DeviceKernels::reduce_groups`].
///
/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn groups(
    device: &Arc<Opened>,
    op: Reduce,
    x: &Tensor,
    [offsets, rows]: [&Tensor; 2],
    [batches, outer, n, width]: [usize; 4],
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let dtype = x.dtype();
    let len = batches * outer * n * width;
    let Some(what) = text(Fold::Of(op), dtype).filter(|_| len > 0) else { return Ok(None) };
    let index = Width::of(len.max(x.len()));
    let function = device.function("groups", "penstock_fold_groups", (op, dtype, index.name()), || {
        format!("typedef {} I;\n{what}{}", index.name(), include_str!("groups.cuh"))
    })?;
    let memory = device.allocate(dtype, dims)?;
    let mut operands = Operands::new(device);
    let at = [memory.address, operands.address(x)?, operands.address(offsets)?, operands.address(rows)?];
    let mut args: Vec<Arg> = at.into_iter().map(Arg::Pointer).collect();
    let count = x.len() / (batches * outer * width).max(1);
    args.extend([batches, outer, n, count, width].map(|v| index.number(v)));
    // SAFETY: the arguments are those of the kernel. The caller's promise: the groups name rows of `x`.
    unsafe { launch(device, &function, len, &args) }?;
    operands.result(dtype, dims, memory).map(Some)
}
