//! Scans: running sums, products and logarithms, and recurrences.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{DType, Result, Tensor};
use penstock_ir::{Carried, ElementFn, Scan};
use penstock_kernels::{Cumulative, Unary};
use smallvec::{SmallVec, smallvec};

use super::{Operands, Width, launch, table};
use crate::formula::Text;
use crate::kernel::{Arg, BLOCK};
use crate::memory::Memory;
use crate::opened::Opened;
use crate::program::{compute_type, storage_type};

/// The longest line that a thread walks by itself, in the host's order, and so with its bits.
const WHOLE: usize = 1024;
/// The longest line of totals that a thread walks.
const WHOLE_TOTALS: usize = 32;
/// Elements of a stretch of a longer line, where lines lie apart.
const CHUNK: usize = 256;
/// The most bytes of what is carried.
const CARRIED: usize = 8;

/// Elements of neighbouring places that a thread takes at a time.
fn segment(dtype: DType) -> usize {
    (64 / dtype.size()).min(32)
}

/// What is carried, as a type of the kernels' text; `None` for dtypes that have no kernels. `inner` says that the line is one of what
/// stretches of another carry.
fn text(carried: Carried, dtype: DType, inner: bool) -> Option<String> {
    let (stored, computed) = (storage_type(dtype)?, compute_type(dtype).filter(|_| !dtype.is_complex())?);
    let (of, inf) = match computed {
        "f32" => (DType::F32, "penstock_f32_of_bits(0x7f800000u)"),
        "f64" => (DType::F64, "penstock_f64_of_bits(0x7ff0000000000000ull)"),
        _ => (dtype, ""),
    };
    let mut functions = String::new();
    let (start, step) = match carried {
        Carried::Running(Cumulative::Sum) => ("A(0)".to_string(), "acc + x"),
        Carried::Running(Cumulative::Prod) => ("A(1)".to_string(), "acc * x"),
        Carried::Running(Cumulative::LogSumExp) => {
            let formula = |op: Unary| ElementFn::Unary(op).formula(of);
            let (exp, log1p) = (formula(Unary::Exp)?, formula(Unary::Log1p)?);
            functions = Text::new(exp, computed).function("exp") + &Text::new(log1p, computed).function("log1p");
            // The greater one, NaN if there is one. Equal infinities have no distance.
            let step = "greater(acc, x) + rest(fabs(acc - x))";
            (format!("-{inf}"), step)
        }
        Carried::Recurrence => ("A(0)".to_string(), "acc"),
    };
    let first = match (carried, dtype) {
        (Carried::Running(Cumulative::LogSumExp), _) if !inner => match dtype {
            DType::F16 => "-65504.0f".to_string(),
            DType::Bf16 => "penstock_f32_of_bits(0xff7f0000u)".to_string(),
            DType::F64 => "penstock_f64_of_bits(0xffefffffffffffffull)".to_string(),
            _ => "penstock_f32_of_bits(0xff7fffffu)".to_string(),
        },
        _ => start.clone(),
    };
    let own = if functions.is_empty() {
        String::new()
    } else {
        functions
            + "    __device__ static A greater(A a, A b) { return !(a >= b) && a == a ? b : a; }\n    \
               __device__ static A rest(A apart) { return apart != apart ? A(0) : log1p(exp(-apart)); }\n"
    };
    let (factors, segment) = (u8::from(carried == Carried::Recurrence), segment(dtype));
    Some(format!(
        "typedef {stored} E;\ntypedef {computed} A;\n#define FACTORS {factors}\n#define SEGMENT {segment}\n\
         struct carried {{\n{own}    __device__ static A start() {{ return {start}; }}\n    \
         __device__ static A first() {{ return {first}; }}\n    \
         __device__ static A step(A acc, A x) {{ return {step}; }}\n}};\n"
    ))
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn scan(device: &Arc<Opened>, scan: &Scan, operands: &[&Tensor]) -> Result<Option<Tensor>> {
    // A recurrence has its factors in front of its terms.
    let (Some(&x), factors) = (operands.last(), operands.first().filter(|_| operands.len() == 2)) else {
        return Ok(None);
    };
    if x.is_empty() || text(scan.carried, x.dtype(), false).is_none() {
        return Ok(None);
    }
    let memory = device.allocate(x.dtype(), x.dims())?;
    let mut held = Operands::new(device);
    let factors = factors.map(|t| held.address(t)).transpose()?.unwrap_or(0);
    let line = Line { device, scan: *scan, dtype: x.dtype(), width: Width::of(x.len()), inner: false };
    // SAFETY: both sides have the extents of the scan.
    unsafe { line.run(memory.address, held.address(x)?, factors) }?;
    held.result(x.dtype(), x.dims(), memory).map(Some)
}

/// Queues the sums of counts: of each those of all before it.
///
/// # Safety
/// Both addresses are of memory of this device for `n` integers of a width.
pub(super) unsafe fn sums_before(device: &Arc<Opened>, width: Width, out: u64, counts: u64, n: usize) -> Result<()> {
    let carried = Carried::Running(Cumulative::Sum);
    let dtype = if width == Width::Wide { DType::I64 } else { DType::I32 };
    let scan = Scan { carried, extents: [1, n, 1], exclusive: true, reverse: false };
    // SAFETY: the caller's promise.
    unsafe { Line { device, scan, dtype, width, inner: false }.run(out, counts, 0) }
}

/// The lines of a scan, and what they are made of.
struct Line<'d> {
    device: &'d Arc<Opened>,
    scan: Scan,
    dtype: DType,
    width: Width,
    /// Whether they are of what stretches of other lines carry.
    inner: bool,
}

impl Line<'_> {
    /// Whether elements have to be joined one after the other. Integers may be joined in any order; sums and logarithms of floats are in
    /// stretches, but a product of some may leave the range that the product of all is in.
    fn is_sequence(&self) -> bool {
        let is_float = !self.dtype.is_integer();
        match self.scan.carried {
            Carried::Running(Cumulative::Prod) => is_float,
            Carried::Running(_) => false,
            Carried::Recurrence => true,
        }
    }

    /// # Safety
    /// The addresses are of memory of this device for the extents of the scan; that of the factors is 0 where there are none.
    unsafe fn run(&self, out: u64, from: u64, factors: u64) -> Result<()> {
        let Scan { carried, extents: [outer, n, inner], exclusive, reverse } = self.scan;
        let whole = if self.inner { WHOLE_TOTALS } else { WHOLE };
        let is_tiled = inner == 1 && n > whole && !self.is_sequence();
        let chunk = match () {
            () if is_tiled => BLOCK as usize * segment(self.dtype),
            () if n <= whole || self.is_sequence() => n,
            () => CHUNK,
        };
        let chunks = n.div_ceil(chunk);
        let all = outer * chunks * inner;
        let threads = if is_tiled { all.saturating_mul(BLOCK as usize) } else { all };
        let function = |name: &'static str| {
            let key = (carried, self.dtype, self.width.name(), self.inner);
            self.device.function("scan", name, key, || {
                let what = text(carried, self.dtype, self.inner).unwrap_or_default();
                let own = if is_tiled { include_str!("scan_tiles.cuh") } else { include_str!("scan_lines.cuh") };
                format!("typedef {} I;\n{what}{}\n{own}", self.width.name(), include_str!("scan.cuh"))
            })
        };
        // A tile has its extent from the kernel's text.
        let extents: SmallVec<[usize; 5]> =
            if is_tiled { smallvec![all, n, chunks] } else { smallvec![all, n, inner, chunk, chunks] };
        let extents: SmallVec<[Arg; 5]> = extents.into_iter().map(|v| self.width.number(v)).collect();
        let mut into: Option<Memory> = None;
        if chunks > 1 {
            let totals = table(self.device, all, CARRIED)?;
            let mut args: SmallVec<[Arg; 8]> = [totals.address, from].map(Arg::Pointer).into_iter().collect();
            args.extend(extents.iter().cloned());
            args.push(Arg::U32(u32::from(reverse)));
            let name = if is_tiled { "penstock_scan_tile_totals" } else { "penstock_scan_totals" };
            // SAFETY: the arguments are those of the kernel; there is a total for each stretch. The caller's promise.
            unsafe { launch(self.device, &function(name)?, threads, &args) }?;
            let carries = table(self.device, all, CARRIED)?;
            let scan = Scan { carried, extents: [outer, chunks, inner], exclusive: true, reverse: false };
            let dtype = if self.dtype.size() == 2 && !self.dtype.is_integer() { DType::F32 } else { self.dtype };
            let of_stretches = Line { scan, dtype, inner: true, ..*self };
            // SAFETY: there is a total and a carry for each stretch, of the type that is carried.
            unsafe { of_stretches.run(carries.address, totals.address, 0) }?;
            into = Some(carries);
        }
        let into = Arg::Pointer(into.as_ref().map_or(0, |m| m.address));
        let mut args: SmallVec<[Arg; 12]> = [out, from].map(Arg::Pointer).into_iter().collect();
        if !is_tiled {
            args.push(Arg::Pointer(factors));
        }
        args.push(into);
        args.extend(extents);
        args.extend([exclusive, reverse].map(|v| Arg::U32(u32::from(v))));
        let name = if is_tiled { "penstock_scan_tiles" } else { "penstock_scan" };
        // SAFETY: the arguments are those of the kernel; the caller's promise.
        unsafe { launch(self.device, &function(name)?, threads, &args) }
    }
}
