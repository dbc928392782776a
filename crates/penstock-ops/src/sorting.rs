//! Operators that compare elements of a row with each other: sorting, selection, search, distinct elements.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use std::hash::Hash;

use penstock_data::{
    Bytes, C64, C128, DType, DTypeSet, Dim, Dims, Element, Error, Result, Shape, Tensor, bf16, f16, memory, with_dtype,
};
use penstock_ir::{
    AttrDef, AttrDefault, AttrKind, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, InferCx, Jvp, OpDef,
    Sample, Selection, Type, Vjp, arg,
};
use penstock_kernels::sort::{Direction, Rows, SORT_DTYPES, Side, search_sorted, select, sort};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::gather::explain;
use crate::grad::rule;
use crate::moves::{self, moving};
use crate::operands::{described_shape, described_size, index_arg, int_scalar, like, require_dtype, size, sizes_of};
use crate::sample_arrays::{f64s, i32_array, i64s};
use crate::samples::{DISTINCT, EDGES, LINE, strings, tensor};
use crate::shape_ops::ANY;
use crate::util::{PROMISE, around, normalize_axis, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&SORT, &ARGSORT, &TOP_K, &SEARCH_SORTED, &UNIQUE, &TAKE_ALONG_AXIS, &SCATTER_ALONG_AXIS];

const SORTED: &[DTypeVar] = &[DTypeVar::new("T", SORT_DTYPES)];
const AXIS: AttrDef = AttrDef::new("axis", AttrKind::Int, AttrDefault::Int(-1));
const POSITION_DTYPE: AttrDef = AttrDef::new("dtype", AttrKind::DType, AttrDefault::DType(DType::I32));

fn direction(descending: bool) -> Direction {
    if descending { Direction::Descending } else { Direction::Ascending }
}

/// The rows of `x` along an axis.
fn rows(x: &Tensor, axis: i64) -> Result<(Rows, usize)> {
    let axis = normalize_axis(axis, x.rank(), "axis")?;
    let (outer, n, inner) = around(x.dims(), axis);
    Ok((Rows { outer: if x.is_empty() { 0 } else { outer }, n, inner }, axis))
}

/// All elements of rows, the least first, of which nothing is asked for yet.
fn all_of(rows: Rows) -> Selection {
    let direction = Direction::Ascending;
    Selection { rows, k: rows.n, direction, nan_first: false, elements: false, positions: None }
}

/// Has the device select elements of operand 0, where one works in the host's place and has a kernel for it. The results are what the
/// selection asks for, each of the extents `dims`.
pub(crate) fn select_by_device(call: &mut Call<'_>, selection: &Selection, dims: &[usize]) -> Result<bool> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    // SAFETY: operand 0 has the rows of the selection, and `dims` the extents of `k` elements for each.
    let Some(made) = (unsafe { device.select(selection, call.inputs[0], dims) })? else { return Ok(false) };
    made.into_iter().enumerate().for_each(|(i, tensor)| call.set(i, tensor));
    Ok(true)
}

fn check_axis(cx: &InferCx<'_>) -> Result<()> {
    cx.shape(0).rank().map_or(Ok(()), |rank| normalize_axis(cx.attrs.int(0), rank, "axis").map(|_| ()))
}

fn sort_samples() -> Vec<Sample> {
    let x = |d, dims: &[usize], axis: i64| Sample::new(vec![tensor(d, dims, DISTINCT)]).with("axis", axis);
    let mut out: Vec<Sample> = SORT_DTYPES.iter().map(|d| x(d, &[3, 5], -1)).collect();
    for (dims, axis) in
        [(&[7][..], 0), (&[1], 0), (&[0], 0), (&[3, 0], 0), (&[3, 0], 1), (&[2, 3, 4], 1), (&[2, 3, 4], -3)]
    {
        out.push(x(DType::F64, dims, axis));
        out.push(x(DType::F64, dims, axis).with("descending", true));
    }
    for dtype in [DType::F16, DType::Bf16, DType::F32] {
        for descending in [false, true] {
            let edges = Sample::new(vec![tensor(dtype, &[2 * EDGES.len()], EDGES)]);
            out.push(edges.with("descending", descending));
        }
    }
    let equal = || Sample::new(vec![tensor(DType::I32, &[9], &[2.0, 1.0, 2.0, -1.0, 1.0])]);
    out.extend([equal(), equal().with("descending", true)]);
    out
}

/// Sorted elements.
pub static SORT: OpDef = OpDef {
    name: "sort",
    tf_name: "Sort",
    doc: "The elements of each row of `x` along `axis`, the least first, or the greatest where `descending`.\n\n\
          The result has the shape of `x`; a negative axis counts from the end. NaN is above every number; equal elements, as 0 \
          and -0, keep their order.\n\nErrors: `InvalidArgument` for an axis that is out of range.",
    dtypes: SORTED,
    operands: &[arg("x")],
    attrs: &[AXIS, AttrDef::flag("descending", false)],
    effects: &[],
    infer: |cx| {
        check_axis(cx)?;
        one(cx.inputs[0].clone())
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let (rows, _) = rows(x, call.attrs.int(0))?;
        let order = Selection { direction: direction(call.attrs.flag(1)), elements: true, ..all_of(rows) };
        if select_by_device(call, &order, x.dims())? {
            return Ok(());
        }
        let out = call.out(0, x.dtype(), x.dims())?;
        // SAFETY: `x` has the extents of `rows`, of a dtype that is sorted; `out` is a fresh array of the same.
        unsafe { sort(x.dtype(), rows, direction(call.attrs.flag(1)), x.as_ptr(), out) };
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            smallvec![t.needed[0].then(|| {
                let (x, axis) = (t.x(0), t.attrs.int(0));
                let attrs =
                    [("axis", axis.into()), ("descending", t.attrs.flag(1).into()), ("dtype", DType::I64.into())];
                let order = x.emit(&ARGSORT, &[], &attrs);
                x.extents().emit(&SCATTER_ALONG_AXIS, &[order, t.g()], &[("axis", axis.into())])
            })]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: penstock_ir::Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: sort_samples,
};

/// The order of elements.
pub static ARGSORT: OpDef = OpDef {
    name: "argsort",
    tf_name: "ArgSort",
    doc: "The positions along `axis` at which the elements of `sort` stood, of dtype `dtype`: `int32` or `int64`.\n\n\
          The result has the shape of `x`; a negative axis counts from the end. NaN is above every number; equal elements, as 0 \
          and -0, keep their order.\n\nErrors: `InvalidArgument` for an axis that is out of range.",
    dtypes: SORTED,
    operands: &[arg("x")],
    attrs: &[AXIS, AttrDef::flag("descending", false), POSITION_DTYPE],
    effects: &[],
    infer: |cx| {
        check_axis(cx)?;
        let dtype = require_dtype(cx.attrs.dtype(2), DTypeSet::INDEX, "dtype")?;
        one(Type::tensor(dtype, cx.shape(0).clone()))
    },
    cpu: Cpu::Kernel(|call| {
        let (x, dtype) = (call.inputs[0], call.attrs.dtype(2));
        let (rows, _) = rows(x, call.attrs.int(0))?;
        positions_fit(rows.n, dtype)?;
        let direction = direction(call.attrs.flag(1));
        if select_by_device(call, &Selection { direction, positions: Some(dtype), ..all_of(rows) }, x.dims())? {
            return Ok(());
        }
        let out = call.out(0, dtype, x.dims())?;
        // SAFETY: `x` has the extents of `rows`, of a dtype that is sorted; `out` is a fresh array of as many positions.
        unsafe { select(x.dtype(), rows, rows.n, direction, x.as_ptr(), None, dtype, out) };
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: penstock_ir::Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = sort_samples();
        out.push(Sample::new(vec![f64s(&[2, 4])]).with("dtype", DType::I64));
        out
    },
};

/// Checks that positions in rows of `n` elements are of a dtype.
pub(crate) fn positions_fit(n: usize, dtype: DType) -> Result<()> {
    if dtype == DType::I32 && n > i32::MAX as usize + 1 {
        return Err(Error::invalid(format!("positions among {n} elements do not fit int32")).argument("dtype"));
    }
    Ok(())
}

/// The greatest elements.
pub static TOP_K: OpDef = OpDef {
    name: "top_k",
    tf_name: "TopKV2",
    doc: "The `k` greatest elements of each row of `x` along its last dimension, the greatest first, and their positions.\n\n\
          Both results have the extents of `x` with `k` in place of the last; positions are of dtype `dtype`: `int32` or `int64`. \
          Of equal elements the first comes first; NaN is above every number.\n\n\
          Errors: `InvalidArgument` for a scalar `x`, or a `k` that is negative or above the last extent.",
    dtypes: SORTED,
    operands: &[arg("x"), index_arg("k")],
    attrs: &[POSITION_DTYPE],
    effects: &[],
    infer: |cx| {
        let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::INDEX, "dtype")?;
        let k = described_size(cx, 1, "k")?;
        let shape = match cx.shape(0).dims() {
            None => Shape::UNRANKED,
            Some([]) => return Err(Error::invalid("expected at least a vector, got a scalar").argument("x")),
            Some([rest @ .., last]) => {
                if let (Dim::Known(k), Dim::Known(n)) = (k, *last) {
                    check_k(k, n)?;
                }
                Shape::new(rest.iter().copied().chain([k]))
            }
        };
        Ok(smallvec![like(cx, 0, shape.clone()), Type::tensor(dtype, shape)])
    },
    cpu: Cpu::Kernel(run_top_k),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let dx = t.grad(0).filter(|_| t.needed[0]);
            let dx = dx.map(|g| t.x(0).extents().emit(&SCATTER_ALONG_AXIS, &[t.y(1), g], &[("axis", (-1i64).into())]));
            smallvec![dx, None]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: penstock_ir::Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let x = |d, dims: &[usize], k: i32| Sample::new(vec![tensor(d, dims, DISTINCT), Tensor::scalar(k)]);
        let mut out: Vec<Sample> = SORT_DTYPES.iter().map(|d| x(d, &[3, 5], 2)).collect();
        for (dims, k) in [(&[7][..], 3), (&[7], 0), (&[1], 1), (&[0], 0), (&[0, 4], 2), (&[2, 3, 4], 4)] {
            out.push(x(DType::F64, dims, k));
        }
        out.push(x(DType::F32, &[6], 4).with("dtype", DType::I64));
        out.push(Sample::new(vec![tensor(DType::F32, &[2 * EDGES.len()], EDGES), Tensor::scalar(11i64)]));
        out
    },
};

fn check_k(k: usize, n: usize) -> Result<()> {
    if k <= n {
        return Ok(());
    }
    Err(Error::invalid(format!("must not be above the last extent {n} of 'x', got {k}")).argument("k"))
}

fn run_top_k(call: &mut Call<'_>) -> Result<()> {
    let (x, dtype) = (call.inputs[0], call.attrs.dtype(0));
    let k = size(int_scalar(call.inputs[1], "k")?, "k")?;
    let Some((&n, rest)) = x.dims().split_last() else {
        return Err(Error::invalid("expected at least a vector, got a scalar").argument("x"));
    };
    check_k(k, n)?;
    positions_fit(n, dtype)?;
    let dims: Dims = rest.iter().copied().chain([k]).collect();
    // However many rows there are of nothing, none is gone through.
    let outer = if x.is_empty() || k == 0 { 0 } else { rest.iter().product() };
    let rows = Rows { outer, n, inner: 1 };
    let order =
        Selection { k, direction: Direction::Descending, elements: true, positions: Some(dtype), ..all_of(rows) };
    if select_by_device(call, &order, &dims)? {
        return Ok(());
    }
    let (values, positions) = (call.out(0, x.dtype(), &dims)?, call.out(1, dtype, &dims)?);
    // SAFETY: `x` has the extents of `rows`, of a dtype that is sorted; the results are fresh arrays of `k` elements a row.
    unsafe { select(x.dtype(), rows, k, Direction::Descending, x.as_ptr(), Some(values), dtype, positions) };
    Ok(())
}

/// Positions in sorted rows.
pub static SEARCH_SORTED: OpDef = OpDef {
    name: "searchsorted",
    tf_name: "SearchSorted",
    doc: "For each of `values` the position at which it could be inserted into its row of `sorted_sequence`, which ascends.\n\n\
          That is the number of elements below it or, where `right`, not above it; NaN is above every number. Both operands have \
          the same extents but for the last; the result, of dtype `dtype` (`int32` or `int64`), has those of `values`. \
          Strings are compared byte by byte. Rows that do not ascend give positions without meaning.\n\n\
          Errors: `InvalidArgument` where the leading extents differ, or an operand is a scalar.",
    dtypes: &[DTypeVar::new("T", SORT_DTYPES.or(DTypeSet::STR))],
    operands: &[arg("sorted_sequence"), arg("values")],
    attrs: &[AttrDef::flag("right", false), POSITION_DTYPE],
    effects: &[],
    infer: |cx| {
        let dtype = require_dtype(cx.attrs.dtype(1), DTypeSet::INDEX, "dtype")?;
        let shape = match (cx.shape(0).dims(), cx.shape(1).dims()) {
            (Some(rows), Some(values)) => {
                let leading = |d: &[Dim]| d.split_last().map(|(_, rest)| Shape::new(rest.iter().copied()));
                let merged = leading(rows).zip(leading(values)).and_then(|(a, b)| a.merge(&b));
                let merged = merged.ok_or_else(|| unlike_rows(cx.shape(0), cx.shape(1)))?;
                let leading = merged.dims().unwrap_or_default().iter().chain(values.last()).copied();
                Shape::new(leading.collect::<SmallVec<[Dim; 4]>>())
            }
            _ => cx.shape(1).clone(),
        };
        one(Type::tensor(dtype, shape))
    },
    cpu: Cpu::Kernel(run_search_sorted),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: penstock_ir::Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let row = |d| tensor(d, &[4], &[1.0, 2.0, 2.0, 5.0]);
        let values = [2.0, 0.0, 6.0, 5.0, 3.0];
        let mut out = Vec::new();
        for d in SORT_DTYPES.iter() {
            let pair = || Sample::new(vec![row(d), tensor(d, &[5], &values)]);
            out.extend([pair(), pair().with("right", true).with("dtype", DType::I64)]);
        }
        let pair = |a: &[usize], b: &[usize]| {
            Sample::new(vec![tensor(DType::F64, a, &[0.5, 1.5]), tensor(DType::F64, b, &values)])
        };
        out.extend([pair(&[3, 2], &[3, 4]), pair(&[2, 1, 2], &[2, 1, 0]), pair(&[0], &[3]), pair(&[2, 0], &[2, 1])]);
        let edges = [f64::NEG_INFINITY, -0.0, 0.0, f64::INFINITY, f64::NAN];
        for right in [false, true] {
            let pair = vec![tensor(DType::F32, &[5], &edges), tensor(DType::F32, &[EDGES.len()], EDGES)];
            out.push(Sample::new(pair).with("right", right));
            let pair = vec![strings(&[4], &["", "a", "a", "bc"]), strings(&[5], &["a", "", "bcd", "b", "ab"])];
            out.push(Sample::new(pair).with("right", right));
        }
        out
    },
};

fn unlike_rows(rows: &Shape, values: &Shape) -> Error {
    let message = format!("shape {values} must be that of 'sorted_sequence', {rows}, but for the last dimension");
    Error::invalid(message).argument("values")
}

fn run_search_sorted(call: &mut Call<'_>) -> Result<()> {
    let (rows, values, dtype) = (call.inputs[0], call.inputs[1], call.attrs.dtype(1));
    let (Some((&n, leading)), Some((&count, same))) = (rows.dims().split_last(), values.dims().split_last()) else {
        return Err(unlike_rows(&Shape::known(rows.dims()), &Shape::known(values.dims())));
    };
    if leading != same {
        return Err(unlike_rows(&Shape::known(rows.dims()), &Shape::known(values.dims())));
    }
    positions_fit(n, dtype)?;
    if rows.dtype() == DType::Str {
        let right = call.attrs.flag(0);
        let before = |element: &Bytes, value: &Bytes| element < value || (right && element == value);
        let found: Vec<i64> = memory::collected(values.strings().iter().enumerate().map(|(i, value)| {
            let row = i / count * n;
            rows.strings()[row..row + n].partition_point(|element| before(element, value)) as i64
        }))?;
        call.out(0, dtype, values.dims())?;
        crate::operands::write_ints(&mut call.outputs[0], &found);
        return Ok(());
    }
    let side = if call.attrs.flag(0) { Side::Right } else { Side::Left };
    if let Some(device) = call.env.kernels() {
        // SAFETY: both have the same number of rows, and those of the sequence have `n` elements.
        if let Some(made) = unsafe { device.search(side, rows, n, values, dtype) }? {
            call.set(0, made);
            return Ok(());
        }
    }
    let out = call.out(0, dtype, values.dims())?;
    let extents = [leading.iter().product(), n, count];
    // SAFETY: the operands have these extents and one dtype, which is sorted; `out` is a fresh array like `values`.
    unsafe { search_sorted(rows.dtype(), side, extents, rows.as_ptr(), values.as_ptr(), dtype, out) };
    Ok(())
}

/// Distinct elements.
pub static UNIQUE: OpDef = OpDef {
    name: "unique",
    tf_name: "UniqueWithCounts",
    doc: "The distinct elements of a vector in the order in which they first occur, the position of each element of `x` among \
          them, and how often each occurs.\n\n\
          Positions and counts are of dtype `dtype`: `int32` or `int64`. 0 and -0 are the same; every NaN is distinct.\n\n\
          Errors: `InvalidArgument` where `x` is no vector.",
    dtypes: &[DTypeVar::new("T", DTypeSet::PLAIN.or(DTypeSet::STR))],
    operands: &[arg("x")],
    attrs: &[POSITION_DTYPE],
    effects: &[],
    infer: |cx| {
        crate::operands::require_rank(cx, 0, 1, "x")?;
        let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::INDEX, "dtype")?;
        let n = Shape::new([Dim::Unknown]);
        let all = cx.shape(0).merge(&n).unwrap_or(n.clone());
        Ok(smallvec![like(cx, 0, n.clone()), Type::tensor(dtype, all), Type::tensor(dtype, n)])
    },
    cpu: Cpu::Kernel(run_unique),
    cuda: Cuda::Kernels,
    vjp: Vjp::NonDifferentiable("which elements are equal does not change smoothly"),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: penstock_ir::Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let values = [2.0, -1.0, 2.0, 0.0, -1.0, 2.0];
        let mut out: Vec<Sample> =
            DTypeSet::PLAIN.iter().map(|d| Sample::new(vec![tensor(d, &[6], &values)])).collect();
        out.push(Sample::new(vec![strings(&[4], &["b", "", "b", "a"])]));
        out.push(Sample::new(vec![tensor(DType::F64, &[0], LINE)]));
        out.push(Sample::new(vec![i64s(&[7])]).with("dtype", DType::I64));
        out.push(Sample::new(vec![tensor(DType::F32, &[2 * EDGES.len()], EDGES)]));
        out
    },
};

/// Elements that are counted as equal where their keys are; `None` is equal to nothing.
trait Distinct: Element {
    type Key: Hash + Eq;
    fn distinct(self) -> Option<Self::Key>;
}

macro_rules! distinct {
    ($($ty:ty => $key:ty: $f:expr;)*) => {$(
        impl Distinct for $ty {
            type Key = $key;
            fn distinct(self) -> Option<$key> { $f(self) }
        }
    )*};
}

/// The bits of a float, those of 0 for -0.
fn float_bits(x: f64) -> Option<u64> {
    (!x.is_nan()).then(|| if x == 0.0 { 0 } else { x.to_bits() })
}

fn complex_bits(re: f64, im: f64) -> Option<[u64; 2]> {
    Some([float_bits(re)?, float_bits(im)?])
}

distinct! {
    penstock_data::Bool8 => bool: |x: penstock_data::Bool8| Some(x.get());
    i8 => i8: Some; i16 => i16: Some; i32 => i32: Some; i64 => i64: Some;
    u8 => u8: Some; u16 => u16: Some; u32 => u32: Some; u64 => u64: Some;
    f16 => u64: |x: f16| float_bits(x.into()); bf16 => u64: |x: bf16| float_bits(x.into());
    f32 => u64: |x: f32| float_bits(x.into()); f64 => u64: float_bits;
    C64 => [u64; 2]: |z: C64| complex_bits(z.re.into(), z.im.into());
    C128 => [u64; 2]: |z: C128| complex_bits(z.re, z.im);
}

/// Equal elements.
struct Groups {
    /// The position of the first element of each group.
    first: Vec<usize>,
    /// The group of each element.
    of: Vec<usize>,
    /// The number of elements of each group.
    counts: Vec<i64>,
}

impl Groups {
    fn new<K: Hash + Eq>(keys: impl ExactSizeIterator<Item = Option<K>>) -> Result<Groups> {
        let of = memory::with_room(keys.len())?;
        let mut groups = Groups { first: Vec::new(), of, counts: Vec::new() };
        let mut known: FxHashMap<K, usize> = FxHashMap::default();
        for (i, key) in keys.enumerate() {
            let next = groups.first.len();
            if known.len() == known.capacity() {
                known
                    .try_reserve(1)
                    .map_err(|_| Error::exhausted(format!("cannot allocate {next} distinct elements")))?;
            }
            let group = key.map_or(next, |key| *known.entry(key).or_insert(next));
            if group == next {
                memory::push(&mut groups.first, i)?;
                memory::push(&mut groups.counts, 0)?;
            }
            groups.counts[group] += 1;
            groups.of.push(group);
        }
        Ok(groups)
    }
}

fn run_unique(call: &mut Call<'_>) -> Result<()> {
    let (x, dtype) = (call.inputs[0], call.attrs.dtype(0));
    if x.rank() != 1 {
        return Err(Error::invalid(format!("expected a vector, got rank {}", x.rank())).argument("x"));
    }
    positions_fit(x.len(), dtype)?;
    if let Some(device) = call.env.kernels() {
        // SAFETY: `x` is a vector.
        if let Some(made) = unsafe { device.unique(x, dtype) }? {
            made.into_iter().enumerate().for_each(|(i, tensor)| call.set(i, tensor));
            return Ok(());
        }
    }
    let groups = with_dtype!(plain, x.dtype(), T => Groups::new(x.as_slice::<T>().iter().map(|v| v.distinct()))?,
        else Groups::new(x.strings().iter().map(Some))?);
    let n = groups.first.len();
    if x.dtype() == DType::Str {
        let words = memory::collected(groups.first.iter().map(|&i| x.strings()[i].clone()))?;
        call.set(0, Tensor::from_strings(&[n], words)?);
    } else {
        let bytes = x.dtype().size();
        call.out(0, x.dtype(), &[n])?;
        for (to, &i) in call.outputs[0].bytes_mut().chunks_exact_mut(bytes).zip(&groups.first) {
            to.copy_from_slice(&x.bytes()[i * bytes..(i + 1) * bytes]);
        }
    }
    let of: Vec<i64> = memory::collected(groups.of.iter().map(|&g| g as i64))?;
    for (index, list) in [(1, &of), (2, &groups.counts)] {
        call.out(index, dtype, &[list.len()])?;
        crate::operands::write_ints(&mut call.outputs[index], list);
    }
    Ok(())
}

/// The shape of an operand, all of whose extents but one are those of another.
fn along(cx: &InferCx<'_>, of: &Shape, indices: usize) -> Result<Shape> {
    let (Some(x), Some(by)) = (of.dims(), cx.shape(indices).dims()) else {
        return Ok(cx.shape(indices).clone());
    };
    let axis = normalize_axis(cx.attrs.int(0), x.len(), "axis")?;
    let mut dims: SmallVec<[Dim; 4]> = SmallVec::new();
    for (i, (a, b)) in x.iter().zip(by).enumerate() {
        dims.extend(if i == axis { Some(*b) } else { a.merge(*b) });
    }
    if x.len() != by.len() || dims.len() != x.len() {
        return Err(unlike_along(of, cx.shape(indices), axis));
    }
    Ok(Shape::new(dims))
}

fn unlike_along(x: &Shape, indices: &Shape, axis: usize) -> Error {
    Error::invalid(format!("shape {indices} must be {x} but for dimension {axis}")).argument("indices")
}

fn check_along(x: &[usize], indices: &Tensor, axis: usize) -> Result<()> {
    let fits = x.len() == indices.rank() && (0..x.len()).all(|i| i == axis || x[i] == indices.dims()[i]);
    if fits { Ok(()) } else { Err(unlike_along(&Shape::known(x), &Shape::known(indices.dims()), axis)) }
}

/// Elements by position in their row.
pub static TAKE_ALONG_AXIS: OpDef = OpDef {
    name: "take_along_axis",
    tf_name: "TakeAlongAxis",
    doc: "For each of `indices` the element of its row of `x` along `axis` at that position.\n\n\
          `indices` has the extents of `x` but for `axis`, and the result has those of `indices`. A negative axis counts from \
          the end.\n\nErrors: `InvalidArgument` for an axis or an index that is out of range, or extents that differ.",
    dtypes: ANY,
    operands: &[arg("x"), index_arg("indices")],
    attrs: &[AXIS],
    effects: &[],
    infer: |cx| {
        let shape = along(cx, cx.shape(0), 1)?;
        one(like(cx, 0, shape))
    },
    cpu: Cpu::Kernel(|call| {
        moving(call, |call| {
            let (x, indices) = (call.inputs[0], call.inputs[1]);
            let axis = normalize_axis(call.attrs.int(0), x.rank(), "axis")?;
            check_along(x.dims(), indices, axis)?;
            moves::take_along(call, x, indices, axis).map_err(explain(indices, x.dims()[axis], "indices"))
        })
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let axis = [("axis", t.attrs.int(0).into())];
            smallvec![t.needed[0].then(|| t.x(0).extents().emit(&SCATTER_ALONG_AXIS, &[t.x(1), t.g()], &axis)), None]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: penstock_ir::Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let indices = || i32_array(&[3, 4], &[0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1]);
        let mut out = crate::sample_arrays::each_kind(&[3, 2], &[indices()]);
        let of = |dims: &[usize], by: &[usize], indices: &[i32], axis: i64| {
            Sample::new(vec![f64s(dims), i32_array(by, indices)]).with("axis", axis)
        };
        out.push(of(&[4], &[2], &[3, 3], 0));
        out.push(of(&[3, 2], &[1, 2], &[2, 0], 0));
        out.push(of(&[2, 3, 2], &[2, 1, 2], &[2, 0, 1, 1], 1));
        out.push(of(&[3, 2], &[3, 0], &[], -1));
        out.push(of(&[0, 2], &[0, 2], &[], 0));
        out
    },
};

/// Elements added by position in their row.
pub static SCATTER_ALONG_AXIS: OpDef = OpDef {
    name: "scatter_along_axis",
    tf_name: "ScatterAlongAxis",
    doc: "Zeros of the extents `shape`, with each of `updates` added to its row along `axis` at the position that `indices` names \
          for it: what `take_along_axis` does to gradients.\n\n\
          `indices` and `updates` have the extents `shape` but for `axis`. Updates of one place are added in order.\n\n\
          Errors: `InvalidArgument` for an axis or an index that is out of range, or extents that differ.",
    dtypes: &[DTypeVar::new("T", DTypeSet::NUMERIC)],
    operands: &[index_arg("shape"), index_arg("indices"), arg("updates")],
    attrs: &[AXIS],
    effects: &[],
    infer: |cx| {
        let shape = described_shape(cx, 0, "shape")?;
        let due = along(cx, &shape, 1)?;
        if !due.compatible(cx.shape(2)) {
            return Err(unlike_updates(&due, cx.shape(2)));
        }
        one(like(cx, 2, shape))
    },
    cpu: Cpu::Kernel(|call| {
        let dims = sizes_of(call, 0, "shape")?;
        let (indices, updates) = (call.inputs[1], call.inputs[2]);
        let axis = normalize_axis(call.attrs.int(0), dims.len(), "axis")?;
        check_along(&dims, indices, axis)?;
        if updates.dims() != indices.dims() {
            return Err(unlike_updates(&Shape::known(indices.dims()), &Shape::known(updates.dims())));
        }
        moves::add_along(call, updates, indices, axis, &dims).map_err(explain(indices, dims[axis], "indices"))
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let axis = [("axis", t.attrs.int(0).into())];
            smallvec![None, None, t.needed[2].then(|| t.g().emit(&TAKE_ALONG_AXIS, &[t.x(1)], &axis))]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: penstock_ir::Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let numeric = DTypeSet::NUMERIC.iter().map(|d| tensor(d, &[2, 3], LINE));
        let mut out: Vec<Sample> = numeric
            .map(|updates| Sample::new(vec![i64s(&[2, 4]), i32_array(&[2, 3], &[3, 0, 3, 1, 1, 2]), updates]))
            .collect();
        let of = |shape: &[i64], by: &[usize], indices: &[i32], axis: i64| {
            Sample::new(vec![i64s(shape), i32_array(by, indices), f64s(by)]).with("axis", axis)
        };
        out.push(of(&[3, 2], &[1, 2], &[2, 0], 0));
        out.push(of(&[2, 3, 2], &[2, 1, 2], &[2, 0, 1, 1], 1));
        out.push(of(&[3, 2], &[3, 0], &[], -1));
        out
    },
};

fn unlike_updates(due: &Shape, got: &Shape) -> Error {
    Error::invalid(format!("expected shape {due}, got {got}")).argument("updates")
}
