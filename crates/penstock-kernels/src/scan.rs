//! Arg-reductions and cumulative operators along one axis of an (outer, n, inner) view.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::marker::PhantomData;

use penstock_data::{DType, DTypeSet, bf16, f16, with_dtype};

use crate::algebra::Algebra;
use crate::arch::{dispatch, dispatch_v3};
use crate::copy::{SQUARE, square as turn};
use crate::math::Functions;
use crate::num::{Int, Real};
use crate::pool::{Shared, grain, parallel_for};
use crate::reduce::{Fold, FoldComplex, FoldFloat, FoldInt, Reduce};

/// What a cumulative operator accumulates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cumulative {
    /// The running sum.
    Sum,
    /// The running product.
    Prod,
    /// The running logarithm of the sum of exponentials, of floats.
    LogSumExp,
}

/// The dtypes that [`arg_reduce`] takes.
pub const ARG_REDUCE_DTYPES: DTypeSet = DTypeSet::REAL;

/// The dtypes that [`cumulative`] takes.
pub const CUMULATIVE_DTYPES: DTypeSet = DTypeSet::NUMERIC;

/// Elements whose order is total once NaN is counted as the most extreme.
trait Ranked: Copy + Send + Sync + 'static {
    type Key: Copy + PartialOrd;
    fn key(self) -> Self::Key;
}

macro_rules! ranked {
    ($($ty:ty => $key:ty: $how:expr),*) => {$(
        impl Ranked for $ty {
            type Key = $key;
            #[inline(always)]
            fn key(self) -> $key { $how(self) }
        }
    )*};
}

ranked! {
    i8 => i8: std::convert::identity, i16 => i16: std::convert::identity,
    i32 => i32: std::convert::identity, i64 => i64: std::convert::identity,
    u8 => u8: std::convert::identity, u16 => u16: std::convert::identity,
    u32 => u32: std::convert::identity, u64 => u64: std::convert::identity,
    f16 => f32: Real::widen, bf16 => f32: Real::widen,
    f32 => f32: std::convert::identity, f64 => f64: std::convert::identity
}

#[inline(always)]
#[expect(clippy::eq_op, reason = "the vectorisable NaN test")]
fn nan<K: PartialOrd>(k: K) -> bool {
    k != k
}

/// Whether `b` displaces the best so far.
#[inline(always)]
fn displaces<const MAX: bool, K: Copy + PartialOrd>(best: K, b: K) -> bool {
    let better = if MAX { b > best } else { b < best };
    (better | nan(b)) & !nan(best)
}

/// Elements of a run that are compared side by side.
const SIDE: usize = 64;
/// Elements of a run that are looked through for a place at a time.
const BLOCK: usize = 1024;

/// Whether `b` is strictly more extreme than `a`, neither being NaN.
#[inline(always)]
fn better<const MAX: bool, K: PartialOrd>(a: K, b: K) -> bool {
    if MAX { b > a } else { b < a }
}

/// The index of the first most extreme element of a run of at least one.
#[inline(always)]
fn arg_run<const MAX: bool, T: Ranked>(run: &[T]) -> usize {
    // The extreme of a block is found first, which vectorises, and its place only if it improves on the blocks before.
    let mut best = run[0].key();
    let mut place = 0;
    for (b, block) in run.chunks(BLOCK).enumerate() {
        if block.iter().fold(false, |any, x| any | nan(x.key())) {
            return b * BLOCK + block.iter().position(|x| nan(x.key())).unwrap_or(0);
        }
        let mut extremes = [block[0].key(); SIDE];
        let (chunks, rest) = block.as_chunks::<SIDE>();
        for chunk in chunks {
            for l in 0..SIDE {
                let k = chunk[l].key();
                extremes[l] = if better::<MAX, _>(extremes[l], k) { k } else { extremes[l] };
            }
        }
        let mut extreme = extremes[0];
        for k in extremes.into_iter().chain(rest.iter().map(|x| x.key())) {
            extreme = if better::<MAX, _>(extreme, k) { k } else { extreme };
        }
        if b == 0 || better::<MAX, _>(best, extreme) {
            best = extreme;
            place = b * BLOCK + block.iter().position(|x| x.key() == extreme).unwrap_or(0);
        }
    }
    place
}

/// Up to so many elements, in lines of no more than that, are gone through one by one.
const FEW: usize = 64;
const SHORT: usize = 16;

/// The index of the first most extreme of `n >= 1` elements, `step` apart.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn arg_few<const MAX: bool, T: Ranked>(src: *const T, n: usize, step: usize) -> usize {
    // SAFETY: the caller's contract.
    let key = |i: usize| unsafe { src.add(i * step).read() }.key();
    let (mut best, mut place) = (key(0), 0);
    for i in 1..n {
        if displaces::<MAX, _>(best, key(i)) {
            (best, place) = (key(i), i);
        }
    }
    place
}

/// Columns whose extremes are found side by side.
const ARG_COLUMNS: usize = 256;

/// Writes the index of the first most extreme element of each of `width <= ARG_COLUMNS` columns of `n >= 1` rows, `inner`
/// elements apart.
///
/// # Safety
/// The rows are readable for `width` elements, `out` is writable for as many.
#[inline(always)]
unsafe fn arg_columns<const MAX: bool, T: Ranked, R: Int>(
    src: *const T,
    n: usize,
    inner: usize,
    width: usize,
    out: *mut R,
) {
    // SAFETY: the caller's contract.
    let row = |i: usize| unsafe { std::slice::from_raw_parts(src.add(i * inner), width) };
    let mut best = [row(0)[0].key(); ARG_COLUMNS];
    let mut places = [R::ZERO; ARG_COLUMNS];
    best.iter_mut().zip(row(0)).for_each(|(b, x)| *b = x.key());
    for i in 1..n {
        let here = R::from_i64(i as i64);
        for ((best, place), x) in best.iter_mut().zip(&mut places).zip(row(i)) {
            let k = x.key();
            let displaced = displaces::<MAX, _>(*best, k);
            *best = if displaced { k } else { *best };
            *place = if displaced { here } else { *place };
        }
    }
    // SAFETY: the caller's contract.
    unsafe { places.as_ptr().copy_to_nonoverlapping(out, width) };
}

/// # Safety
/// As for [`arg_reduce`], with elements of `T` and results of `R`.
unsafe fn arg<const MAX: bool, T: Ranked, R: Int>(
    input: *const u8,
    outer: usize,
    n: usize,
    inner: usize,
    out: *mut u8,
) {
    let (src, dst) = (Shared(input.cast::<T>().cast_mut()), Shared(out.cast::<R>()));
    if outer * n * inner <= FEW && n <= SHORT {
        for i in 0..outer * inner {
            // SAFETY: the caller's contract.
            unsafe {
                let place = arg_few::<MAX, T>(src.get().add(i / inner * n * inner + i % inner), n, inner);
                dst.get().add(i).write(R::from_i64(place as i64));
            }
        }
        return;
    }
    let blocks = inner.div_ceil(ARG_COLUMNS);
    parallel_for(outer * blocks, grain((n * inner.min(ARG_COLUMNS)) as f64 * 0.3), |range| {
        dispatch_v3(
            #[inline(always)]
            || {
                for task in range {
                    let (o, first) = (task / blocks, task % blocks * ARG_COLUMNS);
                    // SAFETY: `o < outer`; the input has `n * inner` elements there, the output `inner`, and no other range
                    // has these columns.
                    unsafe {
                        let (base, to) = (src.get().add(o * n * inner + first), dst.get().add(o * inner + first));
                        if inner == 1 {
                            let place = arg_run::<MAX, T>(std::slice::from_raw_parts(base, n));
                            to.write(R::from_i64(place as i64));
                        } else {
                            arg_columns::<MAX, T, R>(base, n, inner, ARG_COLUMNS.min(inner - first), to);
                        }
                    }
                }
            },
        );
    });
}

/// The index along the middle axis of the greatest (`max`) or least element: the first of equal ones, and of
/// NaNs, which count as the most extreme.
///
/// # Panics
/// If `n` is 0, `dtype` is not real, or `out_dtype` is neither `i32` nor `i64`.
///
/// # Safety
/// `input` is aligned and readable for `outer * n * inner` elements of `dtype`; `out` is aligned, disjoint and
/// writable for `outer * inner` of `out_dtype`.
pub unsafe fn arg_reduce(
    max: bool,
    dtype: DType,
    input: *const u8,
    outer: usize,
    n: usize,
    inner: usize,
    out_dtype: DType,
    out: *mut u8,
) {
    if outer * inner == 0 {
        return;
    }
    assert!(n > 0, "no extreme element of none");
    // SAFETY: the same contract, with the element types of the dtypes.
    with_dtype!(real, dtype, T => unsafe {
        match (max, out_dtype) {
            (true, DType::I32) => arg::<true, T, i32>(input, outer, n, inner, out),
            (true, DType::I64) => arg::<true, T, i64>(input, outer, n, inner, out),
            (false, DType::I32) => arg::<false, T, i32>(input, outer, n, inner, out),
            (false, DType::I64) => arg::<false, T, i64>(input, outer, n, inner, out),
            _ => panic!("indices are i32 or i64, not {out_dtype}"),
        }
    }, else panic!("arg_reduce does not take {dtype}"))
}

/// Columns that are accumulated side by side.
const COLUMNS: usize = 64;

/// What is accumulated, and how.
trait Accumulate {
    type T: Copy + Send + Sync + 'static;
    type Acc: Copy;
    /// Whether a step is of many instructions.
    const LONG: bool = false;
    fn start() -> Self::Acc;
    fn step(acc: Self::Acc, x: Self::T) -> Self::Acc;
    fn value(acc: Self::Acc) -> Self::T;
    /// What an exclusive scan starts with.
    fn first() -> Self::T {
        Self::value(Self::start())
    }
}

/// Running sums or products, as their reductions join.
struct Folded<F>(PhantomData<F>);

impl<F: Fold> Accumulate for Folded<F>
where
    F::T: Send + Sync,
{
    type T = F::T;
    type Acc = F::Acc;
    #[inline(always)]
    fn start() -> F::Acc {
        F::init()
    }
    #[inline(always)]
    fn step(acc: F::Acc, x: F::T) -> F::Acc {
        F::join(acc, F::load(x))
    }
    #[inline(always)]
    fn value(acc: F::Acc) -> F::T {
        F::finish(acc, 1)
    }
}

/// Running logarithms of sums of exponentials.
struct LogSumExp<T>(PhantomData<T>);

impl<T: Real + Send + Sync> Accumulate for LogSumExp<T> {
    type T = T;
    type Acc = T::Wide;
    const LONG: bool = true;
    #[inline(always)]
    fn start() -> T::Wide {
        -T::Wide::INFINITY
    }
    #[inline(always)]
    fn step(acc: T::Wide, x: T) -> T::Wide {
        let x = x.widen();
        let greater = acc.max_nan(x);
        let apart = (acc - x).abs();
        // Equal infinities have no distance.
        if apart.is_nan() { greater } else { greater + (-apart).exp().log1p() }
    }
    #[inline(always)]
    fn value(acc: T::Wide) -> T {
        T::narrow(acc)
    }
    #[inline(always)]
    fn first() -> T {
        T::LOWEST
    }
}

/// Walks the columns of `[outer, n, inner]` elements along the middle axis, some side by side, which threads share. `visit` is
/// told what is carried along a column, the place of the element, and whether it is the first of its column.
fn along<S: Copy>(
    [outer, n, inner]: [usize; 3],
    reverse: bool,
    ns: f64,
    start: fn() -> S,
    visit: impl Fn(&mut S, usize, bool) + Copy + Sync,
) {
    if n == 0 {
        return;
    }
    let blocks = inner.div_ceil(COLUMNS);
    parallel_for(outer * blocks, grain((n * inner.min(COLUMNS)) as f64 * ns), |range| {
        dispatch_v3(
            // What `visit` holds is moved along, where stores cannot change it.
            #[inline(always)]
            move || {
                for task in range {
                    let first = task % blocks * COLUMNS;
                    let width = COLUMNS.min(inner - first);
                    let base = task / blocks * n * inner + first;
                    let mut carried = [start(); COLUMNS];
                    for step in 0..n {
                        let row = base + if reverse { n - 1 - step } else { step } * inner;
                        for (j, c) in carried[..width].iter_mut().enumerate() {
                            visit(c, row + j, step == 0);
                        }
                    }
                }
            },
        );
    });
}

/// Rows that are accumulated side by side, and the most elements that such a row has at each step.
const ROWS: usize = SQUARE;
const NARROW: usize = 8;
/// Rows from which on that is worth it.
const FEW_ROWS: usize = 4;

/// [`scan`] of `rows` rows of `len` elements, with `inner` elements at each step: they are turned to columns, a square at a time.
///
/// # Safety
/// As for [`cumulative`], with elements of `A::T`; there are at most [`ROWS`] rows, and `inner` is at least 1 and at most [`NARROW`].
#[inline(always)]
unsafe fn scan_group<A: Accumulate>(
    from: *const A::T,
    to: *mut A::T,
    [rows, len, inner]: [usize; 3],
    exclusive: bool,
    reverse: bool,
) {
    let mut acc = [[A::start(); ROWS]; NARROW];
    // SAFETY: there is an element.
    let mut square = [[unsafe { from.read() }; ROWS]; SQUARE];
    let (mut place, mut seen) = (if reverse { inner - 1 } else { 0 }, 0);
    let squares = len.div_ceil(SQUARE);
    for b in 0..squares {
        let first = SQUARE * if reverse { squares - 1 - b } else { b };
        let count = SQUARE.min(len - first);
        let tile = square.as_mut_ptr().cast::<A::T>();
        // SAFETY: these elements of the rows are readable, and are read before they are written, for use in place.
        unsafe { turn(from.add(first), len as isize, tile, ROWS as isize, rows, count) };
        for i in 0..count {
            let is_first = seen < inner;
            let column = &mut square[if reverse { count - 1 - i } else { i }];
            for (acc, x) in acc[place].iter_mut().zip(column) {
                let next = A::step(*acc, *x);
                *x = match (exclusive, is_first) {
                    (false, _) => A::value(next),
                    (true, true) => A::first(),
                    (true, false) => A::value(*acc),
                };
                *acc = next;
            }
            seen += 1;
            place = match (reverse, place) {
                (true, 0) => inner - 1,
                (true, place) => place - 1,
                (false, place) if place + 1 == inner => 0,
                (false, place) => place + 1,
            };
        }
        // SAFETY: these elements of the rows are writable.
        unsafe { turn(square.as_ptr().cast(), ROWS as isize, to.add(first), len as isize, count, rows) };
    }
}

/// [`scan`] of many rows with few elements at each step.
///
/// # Safety
/// As for [`scan_group`], with any number of rows.
unsafe fn scan_rows<A: Accumulate>(
    input: *const u8,
    [outer, n, inner]: [usize; 3],
    exclusive: bool,
    reverse: bool,
    out: *mut u8,
) {
    let (src, dst) = (Shared(input.cast::<A::T>().cast_mut()), Shared(out.cast::<A::T>()));
    let len = n * inner;
    if len == 0 {
        return;
    }
    parallel_for(outer.div_ceil(ROWS), grain((ROWS * len) as f64), |range| {
        for group in range {
            let first = group * ROWS;
            let extents = [ROWS.min(outer - first), len, inner];
            // SAFETY: the rows of the group are inside of both buffers, and no other task has them.
            unsafe {
                let (from, to) = (src.get().add(first * len).cast_const(), dst.get().add(first * len));
                if A::LONG {
                    dispatch(
                        #[inline(always)]
                        || scan_group::<A>(from, to, extents, exclusive, reverse),
                    );
                } else {
                    dispatch_v3(
                        #[inline(always)]
                        || scan_group::<A>(from, to, extents, exclusive, reverse),
                    );
                }
            }
        }
    });
}

/// # Safety
/// As for [`cumulative`], with elements of `A::T`.
unsafe fn scan<A: Accumulate>(input: *const u8, extents: [usize; 3], exclusive: bool, reverse: bool, out: *mut u8) {
    if extents[0] >= FEW_ROWS && (1..=NARROW).contains(&extents[2]) {
        // SAFETY: the same contract.
        return unsafe { scan_rows::<A>(input, extents, exclusive, reverse, out) };
    }
    let (src, dst) = (Shared(input.cast::<A::T>().cast_mut()), Shared(out.cast::<A::T>()));
    along(
        extents,
        reverse,
        1.0,
        A::start,
        #[inline(always)]
        move |acc, at, first| {
            // SAFETY: inside both buffers, and visited once. The element is read before it is written, for use in place.
            unsafe {
                let next = A::step(*acc, src.get().add(at).read());
                dst.get().add(at).write(match (exclusive, first) {
                    (false, _) => A::value(next),
                    (true, true) => A::first(),
                    (true, false) => A::value(*acc),
                });
                *acc = next;
            }
        },
    );
}

/// Running sums, products or logarithms of sums of exponentials along the middle axis of `[outer, n, inner]` elements:
/// `exclusive` leaves out the element itself, `reverse` runs from the end. Floats of 16 bits accumulate in `f32`; integers wrap. An exclusive scan
/// starts with 0, 1, or the lowest finite value.
///
/// # Panics
/// If `dtype` is not numeric, or not a float for [`Cumulative::LogSumExp`].
///
/// # Safety
/// `input` is aligned and readable, and `out` aligned and writable, for as many elements of `dtype`; they are equal or disjoint.
pub unsafe fn cumulative(
    op: Cumulative,
    dtype: DType,
    input: *const u8,
    extents: [usize; 3],
    exclusive: bool,
    reverse: bool,
    out: *mut u8,
) {
    const SUM: u8 = Reduce::Sum as u8;
    const PROD: u8 = Reduce::Prod as u8;
    macro_rules! run {
        ($fold:ident<$ty:ty>) => {
            match op {
                Cumulative::Sum => scan::<Folded<$fold<SUM, $ty>>>(input, extents, exclusive, reverse, out),
                Cumulative::Prod => scan::<Folded<$fold<PROD, $ty>>>(input, extents, exclusive, reverse, out),
                Cumulative::LogSumExp => panic!("cumulative logarithms do not take {dtype}"),
            }
        };
    }
    // SAFETY: the same contract, with the element type of `dtype`.
    unsafe {
        match dtype {
            DType::C64 => run!(FoldComplex<f32>),
            DType::C128 => run!(FoldComplex<f64>),
            _ if op == Cumulative::LogSumExp => {
                with_dtype!(float, dtype, T => scan::<LogSumExp<T>>(input, extents, exclusive, reverse, out),
                    else panic!("cumulative logarithms do not take {dtype}"))
            }
            DType::F16 => run!(FoldFloat<f16>),
            DType::Bf16 => run!(FoldFloat<bf16>),
            DType::F32 => run!(FoldFloat<f32>),
            DType::F64 => run!(FoldFloat<f64>),
            _ if !dtype.is_integer() => panic!("cumulative does not take {dtype}"),
            // What wraps does not depend on the sign.
            _ => match dtype.size() {
                1 => run!(FoldInt<i8>),
                2 => run!(FoldInt<i16>),
                4 => run!(FoldInt<i32>),
                _ => run!(FoldInt<i64>),
            },
        }
    }
}

/// # Safety
/// As for [`recurrence`], with elements of `Add::T`.
unsafe fn carry<Add: Fold, Mul: Fold<T = Add::T, Acc = Add::Acc>>(
    factors: *const u8,
    terms: *const u8,
    extents: [usize; 3],
    exclusive: bool,
    reverse: bool,
    out: *mut u8,
) where
    Add::T: Send + Sync,
{
    let (a, b) = (Shared(factors.cast::<Add::T>().cast_mut()), Shared(terms.cast::<Add::T>().cast_mut()));
    let dst = Shared(out.cast::<Add::T>());
    along(
        extents,
        reverse,
        2.0,
        Add::init,
        #[inline(always)]
        move |x, at, first| {
            // SAFETY: inside the three buffers, and visited once. The elements are read before one is written, for use in place.
            unsafe {
                let before = *x;
                let term = Add::load(b.get().add(at).read());
                // The factor of the first element has nothing to multiply, not even if it is infinite.
                *x = if first { term } else { Add::join(Mul::join(Mul::load(a.get().add(at).read()), before), term) };
                dst.get().add(at).write(Add::finish(if exclusive { before } else { *x }, 1));
            }
        },
    );
}

/// The recurrence `y[i] = factors[i] * y[i - 1] + terms[i]` along the middle axis of `[outer, n, inner]` elements, which
/// starts with the first term: `exclusive` gives `y[i - 1]` in the place of `y[i]`, and 0 at first; `reverse` runs from the
/// end. Floats of 16 bits are carried in `f32`.
///
/// # Panics
/// If `dtype` is neither floating point nor complex.
///
/// # Safety
/// `factors` and `terms` are aligned and readable, and `out` aligned and writable, for as many elements of `dtype`; `out`
/// is each of them or disjoint from it.
pub unsafe fn recurrence(
    dtype: DType,
    factors: *const u8,
    terms: *const u8,
    extents: [usize; 3],
    exclusive: bool,
    reverse: bool,
    out: *mut u8,
) {
    const SUM: u8 = Reduce::Sum as u8;
    const PROD: u8 = Reduce::Prod as u8;
    macro_rules! run {
        ($fold:ident<$ty:ty>) => {
            carry::<$fold<SUM, $ty>, $fold<PROD, $ty>>(factors, terms, extents, exclusive, reverse, out)
        };
    }
    // SAFETY: the same contract, with the element type of `dtype`.
    unsafe {
        match dtype {
            DType::F16 => run!(FoldFloat<f16>),
            DType::Bf16 => run!(FoldFloat<bf16>),
            DType::F32 => run!(FoldFloat<f32>),
            DType::F64 => run!(FoldFloat<f64>),
            DType::C64 => run!(FoldComplex<f32>),
            DType::C128 => run!(FoldComplex<f64>),
            _ => panic!("recurrence does not take {dtype}"),
        }
    }
}
