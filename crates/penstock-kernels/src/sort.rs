//! Sorting, selection and search along the middle axis of an (outer, n, inner) view.
//!
//! Elements are compared through keys: unsigned integers in the order of the elements. -0 has the key of 0, and NaN,
//! of either sign, is above every number. All orders are stable: equal elements keep the order of the input.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use penstock_data::memory::{reserve_scratch, scratch, scratch_of, scratch_room};
use penstock_data::{DType, DTypeSet, Element, bf16, f16, with_dtype};
use smallvec::SmallVec;

use crate::arch::{Level, dispatch_v3, level};
use crate::num::Int;
use crate::pool::{Shared, grain, parallel_for};
use crate::sort_keys::{Placed, Word, sort_columns, sort_words};

/// The dtypes that are sorted.
pub const SORT_DTYPES: DTypeSet = DTypeSet::REAL;

/// Whether the least or the greatest element comes first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// The least first; NaN last.
    Ascending,
    /// The greatest first, before all NaN.
    Descending,
}

/// A key of 32 or 64 bits, and the same together with a position, ordered by the key first.
trait Key: Word + std::ops::Not<Output = Self> {
    type Placed: Word;
    /// The key as a number, or the low bits of it.
    fn number(self) -> usize;
    fn of_number(number: usize) -> Self;
    /// The greatest key that is less.
    fn below(self) -> Option<Self>;
    fn place(self, position: usize) -> Self::Placed;
    fn key(placed: Self::Placed) -> Self;
    fn position(placed: Self::Placed) -> usize;
}

impl Key for u32 {
    type Placed = Placed<u64>;
    #[inline(always)]
    fn number(self) -> usize {
        self as usize
    }
    #[inline(always)]
    fn of_number(number: usize) -> u32 {
        number as u32
    }
    #[inline(always)]
    fn below(self) -> Option<u32> {
        self.checked_sub(1)
    }
    #[inline(always)]
    fn place(self, position: usize) -> Placed<u64> {
        Placed(u64::from(self) << 32 | position as u64)
    }
    #[inline(always)]
    fn key(placed: Placed<u64>) -> u32 {
        (placed.0 >> 32) as u32
    }
    #[inline(always)]
    fn position(placed: Placed<u64>) -> usize {
        placed.0 as u32 as usize
    }
}

impl Key for u64 {
    type Placed = Placed<u128>;
    #[inline(always)]
    fn number(self) -> usize {
        self as usize
    }
    #[inline(always)]
    fn of_number(number: usize) -> u64 {
        number as u64
    }
    #[inline(always)]
    fn below(self) -> Option<u64> {
        self.checked_sub(1)
    }
    #[inline(always)]
    fn place(self, position: usize) -> Placed<u128> {
        Placed(u128::from(self) << 64 | position as u128)
    }
    #[inline(always)]
    fn key(placed: Placed<u128>) -> u64 {
        (placed.0 >> 64) as u64
    }
    #[inline(always)]
    fn position(placed: Placed<u128>) -> usize {
        placed.0 as u64 as usize
    }
}

/// An element with a key.
trait Keyed: Element + Send + Sync {
    type Key: Key;
    /// The keys that elements of different bits have: those of the zeros and of NaN.
    const SPECIAL: &[Self::Key] = &[];
    fn key(self) -> Self::Key;
    /// An element of this key: 0 rather than -0, and some NaN.
    fn of_key(key: Self::Key) -> Self;
}

macro_rules! unsigned {
    ($($ty:ident $key:ident),*) => {$(
        impl Keyed for $ty {
            type Key = $key;
            #[inline(always)]
            fn key(self) -> $key { $key::from(self) }
            #[inline(always)]
            fn of_key(key: $key) -> $ty { key as $ty }
        }
    )*};
}

unsigned!(u8 u32, u16 u32, u32 u32, u64 u64);

macro_rules! signed {
    ($($ty:ident $key:ident),*) => {$(
        impl Keyed for $ty {
            type Key = $key;
            #[inline(always)]
            fn key(self) -> $key { (self as $key).wrapping_sub($ty::MIN as $key) }
            #[inline(always)]
            fn of_key(key: $key) -> $ty { key.wrapping_add($ty::MIN as $key) as $ty }
        }
    )*};
}

signed!(i8 u32, i16 u32, i32 u32, i64 u64);

macro_rules! floats {
    ($($ty:ident $bits:ident $key:ident),*) => {$(
        impl Keyed for $ty {
            type Key = $key;
            const SPECIAL: &[$key] = &[(1 as $key) << ($bits::BITS - 1), $bits::MAX as $key];
            #[inline(always)]
            fn key(self) -> $key {
                const SIGN: $bits = 1 << ($bits::BITS - 1);
                let bits = self.to_bits();
                let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                // -0 is next below 0.
                let ordered = if bits == SIGN { SIGN } else { ordered };
                $key::from(if self.is_nan() { $bits::MAX } else { ordered })
            }
            #[inline(always)]
            fn of_key(key: $key) -> $ty {
                const SIGN: $bits = 1 << ($bits::BITS - 1);
                let ordered = key as $bits;
                $ty::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered ^ SIGN })
            }
        }
    )*};
}

floats!(f16 u16 u32, bf16 u16 u32, f32 u32 u32, f64 u64 u64);

/// The extents of an array around the axis that is sorted.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The product of the extents before the axis.
    pub outer: usize,
    /// The extent of the axis.
    pub n: usize,
    /// The product of the extents after the axis.
    pub inner: usize,
}

impl Rows {
    /// The longest rows that are sorted side by side. A row whose elements lie together is sorted in vectors of its own, but for
    /// the shortest, where there are any.
    fn side_by_side(self) -> usize {
        if self.inner == 1 && level() > Level::Base { 32 } else { SHORT }
    }

    /// The number of rows to sort, each of `n` elements, `inner` apart.
    fn count(self) -> usize {
        self.outer * self.inner
    }

    /// The position of the first element of row `r` in an array whose axis has `n` elements.
    fn start(self, r: usize, n: usize) -> usize {
        r / self.inner * n * self.inner + r % self.inner
    }

    /// How many rows are worth a thread.
    fn grain(self) -> usize {
        grain(self.n as f64 * (2.0 + (self.n.max(2) as f64).log2()))
    }
}

/// The key, turned round where the greatest comes first.
#[inline(always)]
fn directed<K: Key>(key: K, direction: Direction) -> K {
    if direction == Direction::Descending { !key } else { key }
}

/// Rows that are sorted side by side.
const LANES: usize = 16;
/// The longest rows that are, or of which the first few are found by sorting.
const SHORT: usize = 256;

/// The sorted words of a row, `step` apart.
struct Sorted<'a, W> {
    words: &'a [W],
    step: usize,
}

impl<W: Copy> Sorted<'_, W> {
    #[inline(always)]
    fn get(&self, i: usize) -> W {
        self.words[i * self.step]
    }
}

/// Sorts rows by words, many short ones side by side: `word` is called with the start of a row in an array of `n` elements a
/// row and a position in it; `take` with each row and its words.
fn sort_each<W: Word>(rows: Rows, word: impl Fn(usize, usize) -> W + Sync, take: impl Fn(usize, Sorted<'_, W>) + Sync) {
    let n = rows.n;
    let one = |r: usize, words: &mut Vec<W>, scratch: &mut Vec<W>| {
        let start = rows.start(r, n);
        words.clear();
        words.extend((0..n).map(|i| word(start, i)));
        sort_words(words, scratch);
        take(r, Sorted { words, step: 1 });
    };
    if n > rows.side_by_side() || rows.count() < LANES / 4 || size_of::<W>() > 8 {
        return parallel_for(rows.count(), rows.grain(), |range| {
            let (mut words, mut scratch) = (scratch_room(n), Vec::new());
            range.for_each(|r| one(r, &mut words, &mut scratch));
        });
    }
    parallel_for(rows.count().div_ceil(LANES), rows.grain().div_ceil(2), |range| {
        let mut columns = scratch([W::default(); LANES], n);
        for group in range {
            let first = group * LANES;
            let lanes = LANES.min(rows.count() - first);
            // Rows that are missing are copies.
            let starts: [usize; LANES] = std::array::from_fn(|l| rows.start(first + l.min(lanes - 1), n));
            for (i, row) in columns.iter_mut().enumerate() {
                *row = std::array::from_fn(|l| word(starts[l], i));
            }
            sort_columns(&mut columns);
            let words = columns.as_flattened();
            (0..lanes).for_each(|l| take(first + l, Sorted { words: words.get(l..).unwrap_or(&[]), step: LANES }));
        }
    });
}

/// # Safety
/// As for [`sort`], with elements of `T`.
unsafe fn sort_rows<T: Keyed>(rows: Rows, direction: Direction, input: *const u8, out: *mut u8) {
    let (src, dst) = (Shared(input.cast::<T>().cast_mut()), Shared(out.cast::<T>()));
    let Rows { n, inner, .. } = rows;
    // SAFETY: a row has `n` elements, `inner` apart, in the input and in the output, where no other task has it.
    let read = |start: usize, i: usize| unsafe { src.get().add(start + i * inner).read() };
    // SAFETY: a row has `n` elements, `inner` apart, in the input and in the output, where no other task has it.
    let write = |start: usize, i: usize, x: T| unsafe { dst.get().add(start + i * inner).write(x) };
    // Zeros of both signs keep their order, NaNs their bits.
    let restore = |start: usize| {
        for &special in T::SPECIAL {
            let key = directed(special, direction);
            // SAFETY: a row has `n` elements, `inner` apart, in the input and in the output, where no other task has it; the row
            // has been written.
            let sorted = |i: usize| directed(unsafe { dst.get().add(start + i * inner).read() }.key(), direction);
            let first = partition_point(n, |i| sorted(i) < key);
            if first < n && sorted(first) == key {
                let same = (0..n).map(|i| read(start, i)).filter(|x| x.key() == special);
                same.enumerate().for_each(|(i, x)| write(start, first + i, x));
            }
        }
    };
    let one_by_one = |f: &(dyn Fn(usize) + Sync)| {
        parallel_for(rows.count(), rows.grain(), |range| range.for_each(|r| f(rows.start(r, n))));
    };
    if size_of::<T>() <= 2 && n >= 16 << (4 * size_of::<T>()) {
        return one_by_one(&|start| {
            count_sort(
                8 * size_of::<T>() as u32,
                n,
                |i| directed(read(start, i).key(), direction),
                |i, key| {
                    write(start, i, T::of_key(directed(key, direction)));
                },
            );
            restore(start);
        });
    }
    if n > rows.side_by_side() && inner == 1 && size_of::<T>() == size_of::<T::Key>() {
        return one_by_one(&|start| {
            // SAFETY: the row of the output, which no other task has; keys are as large as elements.
            let keys = unsafe { std::slice::from_raw_parts_mut(dst.get().add(start).cast::<T::Key>(), n) };
            each(
                keys,
                #[inline(always)]
                |i, _| directed(read(start, i).key(), direction),
            );
            sort_words(keys, &mut Vec::new());
            each(
                keys,
                #[inline(always)]
                // SAFETY: the bits of an element are a word.
                |_, key| unsafe { std::mem::transmute_copy(&T::of_key(directed(key, direction))) },
            );
            restore(start);
        });
    }
    sort_each::<T::Key>(
        rows,
        |start, i| directed(read(start, i).key(), direction),
        |r, sorted| {
            let start = rows.start(r, n);
            (0..n).for_each(|i| write(start, i, T::of_key(directed(sorted.get(i), direction))));
            restore(start);
        },
    );
}

/// Replaces each word by one that its position and itself give.
fn each<W: Word>(words: &mut [W], f: impl Fn(usize, W) -> W + Sync) {
    let base = Shared(words.as_mut_ptr());
    parallel_for(words.len(), grain(0.3), |range| {
        let first = range.start;
        // SAFETY: no other task has these words.
        let part = unsafe { std::slice::from_raw_parts_mut(base.get().add(first), range.len()) };
        dispatch_v3(
            #[inline(always)]
            || part.iter_mut().enumerate().for_each(|(i, w)| *w = f(first + i, *w)),
        );
    });
}

/// Writes `n` keys of few bits in order, each as often as it occurs.
fn count_sort<K: Key>(bits: u32, n: usize, key: impl Fn(usize) -> K, write: impl Fn(usize, K)) {
    let mask = (1usize << bits) - 1;
    let mut counts = scratch(0usize, mask + 1);
    let mut any = key(0);
    for i in 0..n {
        any = key(i);
        counts[any.number() & mask] += 1;
    }
    // A key that was turned round has bits above.
    let high = any.number() & !mask;
    let mut at = 0;
    for (value, count) in counts.into_iter().enumerate() {
        for _ in 0..count {
            write(at, K::of_number(high | value));
            at += 1;
        }
    }
}

/// The first of `0..n` for which `before` does not hold; it holds for all in front of it and for none behind.
fn partition_point(n: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Sorts each row of the input into the same row of the output.
///
/// # Panics
/// If `dtype` is not real.
///
/// # Safety
/// `input` is aligned and readable, `out` aligned, disjoint and writable, for `outer * n * inner` elements of `dtype`.
pub unsafe fn sort(dtype: DType, rows: Rows, direction: Direction, input: *const u8, out: *mut u8) {
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(real, dtype, T => unsafe { sort_rows::<T>(rows, direction, input, out) }, else panic!("sort does not take {dtype}"))
}

/// Keys that are compared with the bound of a selection at a time.
const BLOCK: usize = 64;
/// Those that are looked at one by one if any of them passes.
const PART: usize = 8;
/// Keys that are made at a time, where few are wanted: they lie on the stack.
const CHUNK: usize = 1024;

/// The first `k` of many elements in the order of their keys: those that cannot be among them are dropped before they are kept.
struct First<'a, K: Key> {
    k: usize,
    /// So many are kept before all but `k` are dropped. The fewer there is room for, the sooner the bound is one that few pass.
    room: usize,
    /// No greater key is among the first.
    bound: Option<K>,
    placed: &'a mut Vec<K::Placed>,
}

impl<K: Key> First<'_, K> {
    /// Drops all but the first `k` of what is kept.
    fn keep(&mut self) {
        if self.placed.len() > self.k {
            self.placed.select_nth_unstable(self.k - 1);
            self.placed.truncate(self.k);
        }
    }

    /// Looks at the keys of the elements from `start` on; gives whether others, behind them, may be among the first.
    fn look(&mut self, keys: &[K], start: usize) -> bool {
        let bound = self.bound.unwrap_or_else(|| self.least(keys));
        dispatch_v3(
            #[inline(always)]
            || {
                let passed = |keys: &[K], bound: K| keys.iter().fold(false, |any, &k| any | (k <= bound));
                let (mut bound, end) = (bound, keys.len());
                for first in (0..end).step_by(BLOCK) {
                    let block = &keys[first..end.min(first + BLOCK)];
                    if !passed(block, bound) {
                        continue;
                    }
                    for (part, keys) in block.chunks(PART).enumerate().filter(|(_, keys)| passed(keys, bound)) {
                        let passes = keys.iter().enumerate().filter(|&(_, &k)| k <= bound);
                        self.placed.extend(passes.map(|(i, k)| k.place(start + first + part * PART + i)));
                    }
                    if self.placed.len() > self.room {
                        self.keep();
                        // An equal key that comes later is not among the first.
                        let Some(below) = K::key(self.placed[self.k - 1]).below() else { return false };
                        bound = below;
                    }
                }
                self.bound = Some(bound);
                true
            },
        )
    }

    /// A bound of which at least `k` of the keys are not above: the least of those `room` apart are `room` of them.
    fn least(&self, keys: &[K]) -> K {
        let (first, rest) = keys.split_at(self.room);
        let mut least = scratch_of(first.iter().copied());
        dispatch_v3(
            #[inline(always)]
            || {
                for keys in rest.chunks(self.room) {
                    for (least, &key) in least.iter_mut().zip(keys) {
                        *least = key.min(*least);
                    }
                }
            },
        );
        *least.select_nth_unstable(self.k - 1).1
    }
}

/// The first `k` of `n` elements in the order of their keys, with their positions, sorted. `fill` gives the keys from a position on.
fn first_of<K: Key>(
    placed: &mut Vec<K::Placed>,
    scratch: &mut Vec<K::Placed>,
    n: usize,
    k: usize,
    fill: impl Fn(usize, &mut [K]),
) {
    placed.clear();
    if k == 0 {
        return;
    }
    let room = (4 * k).max(64);
    let few = room < n / 2;
    reserve_scratch(placed, if few { room + PART } else { n });
    let mut first = First { k, room, bound: None, placed };
    let mut keys: SmallVec<[K; CHUNK]> = SmallVec::from_elem(K::of_number(0), n.min(CHUNK.max(4 * room)));
    let chunk = keys.len();
    for start in (0..n).step_by(chunk) {
        let keys = &mut keys[..chunk.min(n - start)];
        dispatch_v3(
            #[inline(always)]
            || fill(start, keys),
        );
        if !few {
            first.placed.extend(keys.iter().enumerate().map(|(i, k)| k.place(start + i)));
        } else if !first.look(keys, start) {
            break;
        }
    }
    first.keep();
    // Selection mixes positions, so that all bits count from here on.
    if k == n { sort_words(placed, scratch) } else { placed.sort_unstable() }
}

/// # Safety
/// As for [`select`], with elements of `T`, keys of `K` and positions of `I`; `n` positions fit beside a key.
unsafe fn select_rows<T: Keyed, K: Key + From<T::Key>, I: Int>(
    rows: Rows,
    k: usize,
    direction: Direction,
    input: *const u8,
    values: Option<*mut u8>,
    positions: *mut u8,
) {
    let src = Shared(input.cast::<T>().cast_mut());
    let values = values.map(|p| Shared(p.cast::<T>()));
    let dst = Shared(positions.cast::<I>());
    let Rows { n, inner, .. } = rows;
    // SAFETY: a row has `n` elements, `inner` apart.
    let read = |start: usize, i: usize| unsafe { src.get().add(start + i * inner).read() };
    let key = |start: usize, i: usize| directed(K::from(read(start, i).key()), direction);
    let write = |[from, to]: [usize; 2], j: usize, i: usize| {
        let to = to + j * inner;
        // SAFETY: a row of the results has `k` elements, and no other task has it.
        unsafe { dst.get().add(to).write(I::from_i64(i as i64)) };
        if let Some(values) = values {
            // SAFETY: a row of the results has `k` elements, and no other task has it.
            unsafe { values.get().add(to).write(read(from, i)) };
        }
    };
    let starts = |r: usize| [rows.start(r, n), rows.start(r, k)];
    if k == n && n > SHORT && size_of::<K::Placed>() > 8 && usize::BITS == 64 {
        // Words of 16 bytes are not sorted by vectors; keys that lie close together leave room for positions in 8.
        let near = |r: usize, words: &mut Vec<u64>| {
            let start = rows.start(r, n);
            let keys = || (0..n).map(|i| key(start, i).number());
            let (least, greatest) = keys().fold((usize::MAX, 0), |(low, high), k| (low.min(k), high.max(k)));
            let bits = usize::BITS - n.leading_zeros();
            let fits = (greatest - least) >> (usize::BITS - bits) == 0;
            words.clear();
            if fits {
                words.extend(keys().enumerate().map(|(i, k)| ((k - least) << bits | i) as u64));
            }
            fits.then_some((1u64 << bits) - 1)
        };
        return parallel_for(rows.count(), rows.grain(), |range| {
            let (mut words, mut placed) = (scratch_room(n), Vec::new());
            let (mut scratch, mut scratch_placed) = (Vec::new(), Vec::new());
            for r in range {
                let starts = starts(r);
                if let Some(mask) = near(r, &mut words) {
                    sort_words(&mut words, &mut scratch);
                    words.iter().enumerate().for_each(|(j, &word)| write(starts, j, (word & mask) as usize));
                } else {
                    placed.clear();
                    reserve_scratch(&mut placed, n);
                    placed.extend((0..n).map(|i| key(starts[0], i).place(i)));
                    sort_words(&mut placed, &mut scratch_placed);
                    placed.iter().enumerate().for_each(|(j, &p)| write(starts, j, K::position(p)));
                }
            }
        });
    }
    if k == n || n <= SHORT {
        return sort_each::<K::Placed>(
            rows,
            |start, i| key(start, i).place(i),
            |r, sorted| {
                let starts = starts(r);
                (0..k).for_each(|j| write(starts, j, K::position(sorted.get(j))));
            },
        );
    }
    parallel_for(rows.count(), grain(n as f64), |range| {
        let (mut placed, mut scratch) = (Vec::new(), Vec::new());
        for r in range {
            let starts = starts(r);
            let fill = |first: usize, keys: &mut [K]| {
                // Keys of neighbours are made in vectors.
                if inner == 1 {
                    // SAFETY: a row has `n` elements, one behind the other; `first` and the keys behind it are among them.
                    let row = unsafe { std::slice::from_raw_parts(src.get().add(starts[0] + first), keys.len()) };
                    keys.iter_mut().zip(row).for_each(|(to, x)| *to = directed(K::from(x.key()), direction));
                } else {
                    keys.iter_mut().enumerate().for_each(|(i, to)| *to = key(starts[0], first + i));
                }
            };
            first_of::<K>(&mut placed, &mut scratch, n, k, fill);
            placed.iter().enumerate().for_each(|(j, &p)| write(starts, j, K::position(p)));
        }
    });
}

/// Writes the positions in each row of its first `k` elements in the given order, and, where asked for, the elements:
/// rows of `k` elements. The rest of the row is not sorted.
///
/// # Panics
/// If `dtype` is not real, `k` is above `n`, or `position_dtype` is neither `i32` nor `i64`.
///
/// # Safety
/// `input` is aligned and readable for `outer * n * inner` elements of `dtype`; `positions` and `values` are aligned,
/// disjoint and writable for `outer * k * inner`, of `position_dtype` and `dtype`.
pub unsafe fn select(
    dtype: DType,
    rows: Rows,
    k: usize,
    direction: Direction,
    input: *const u8,
    values: Option<*mut u8>,
    position_dtype: DType,
    positions: *mut u8,
) {
    assert!(k <= rows.n, "{k} elements of a row of {}", rows.n);
    let short = rows.n <= u32::MAX as usize;
    // SAFETY: the same contract, with the element types of the dtypes; positions above 32 bits go beside keys of 64.
    with_dtype!(real, dtype, T => unsafe {
        type Own = <T as Keyed>::Key;
        match (position_dtype, short) {
            (DType::I32, true) => select_rows::<T, Own, i32>(rows, k, direction, input, values, positions),
            (DType::I64, true) => select_rows::<T, Own, i64>(rows, k, direction, input, values, positions),
            (DType::I64, false) => select_rows::<T, u64, i64>(rows, k, direction, input, values, positions),
            _ => panic!("positions in rows of {} elements are no {position_dtype}", rows.n),
        }
    }, else panic!("sort does not take {dtype}"))
}

/// On which side of equal elements a value is inserted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Before them.
    Left,
    /// After them.
    Right,
}

/// # Safety
/// As for [`search_sorted`], with elements of `T` and positions of `I`.
unsafe fn search_rows<T: Keyed, I: Int>(
    side: Side,
    [outer, n, count]: [usize; 3],
    sorted: *const u8,
    values: *const u8,
    out: *mut u8,
) {
    let (rows, values) = (Shared(sorted.cast::<T>().cast_mut()), Shared(values.cast::<T>().cast_mut()));
    let out = Shared(out.cast::<I>());
    parallel_for(outer * count, grain(3.0 + 4.0 * (n.max(2) as f64).log2()), |range| {
        for task in range {
            // SAFETY: `task` is below `outer * count`, and no other range has it; its row has `n` elements.
            unsafe {
                let row = std::slice::from_raw_parts(rows.get().add(task / count * n).cast_const(), n);
                let key = values.get().add(task).read().key();
                let at = match side {
                    Side::Left => row.partition_point(|x| x.key() < key),
                    Side::Right => row.partition_point(|x| x.key() <= key),
                };
                out.get().add(task).write(I::from_i64(at as i64));
            }
        }
    });
}

/// Writes for each of `count` values of each of `outer` rows where it would be inserted into that row of `n` ascending
/// elements: the number of elements below it, or not above it.
///
/// # Panics
/// If `dtype` is not real, or `out_dtype` is neither `i32` nor `i64`.
///
/// # Safety
/// `sorted` is aligned and readable for `outer * n` elements of `dtype`, `values` for `outer * count`; `out` is aligned,
/// disjoint and writable for `outer * count` of `out_dtype`.
pub unsafe fn search_sorted(
    dtype: DType,
    side: Side,
    extents: [usize; 3],
    sorted: *const u8,
    values: *const u8,
    out_dtype: DType,
    out: *mut u8,
) {
    // SAFETY: the same contract, with the element types of the dtypes.
    with_dtype!(real, dtype, T => unsafe {
        match out_dtype {
            DType::I32 => search_rows::<T, i32>(side, extents, sorted, values, out),
            DType::I64 => search_rows::<T, i64>(side, extents, sorted, values, out),
            _ => panic!("positions are i32 or i64, not {out_dtype}"),
        }
    }, else panic!("search_sorted does not take {dtype}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_start_where_they_lie_beyond_32_bits() {
        let rows = Rows { outer: 3, n: 1 << 32, inner: 5 };
        assert_eq!(rows.count(), 15);
        assert_eq!(rows.start(14, rows.n), 2 * 5 * (1 << 32) + 4);
        assert_eq!(rows.start(7, 3), 15 + 2);
    }

    #[test]
    fn positions_stand_beside_their_keys() {
        assert_eq!((<u32 as Key>::key(7u32.place(3)), <u64 as Key>::key(7u64.place(3))), (7, 7));
        assert_eq!(u32::position(u32::MAX.place(u32::MAX as usize)), u32::MAX as usize);
        assert_eq!(u64::position(7u64.place(1 << 40)), 1 << 40);
        assert!(1u64.place(usize::MAX) < 2u64.place(0));
    }

    #[test]
    fn keys_are_in_the_order_of_the_elements() {
        let ordered = [f32::NEG_INFINITY, f32::MIN, -1.0, -1e-45, 0.0, 1e-45, 1.0, f32::MAX, f32::INFINITY, f32::NAN];
        assert!(ordered.windows(2).all(|w| w[0].key() < w[1].key()));
        assert_eq!((-0.0f32).key(), 0f32.key());
        assert_eq!((-f32::NAN).key(), f32::NAN.key());
        for x in ordered.into_iter().filter(|x| !x.is_nan()) {
            assert_eq!(f32::of_key(x.key()), x);
        }
        assert!(i8::MIN.key() < (-1i8).key() && (-1i8).key() < 0i8.key() && i64::of_key(i64::MIN.key()) == i64::MIN);
        assert!(f32::SPECIAL.contains(&0f32.key()) && f32::SPECIAL.contains(&f32::NAN.key()));
    }

    #[test]
    fn the_first_of_an_order_are_the_order_of_all() {
        let orders: [fn(u32) -> u32; 5] =
            [|i| i.wrapping_mul(2_654_435_761) >> 22, |i| i, |i| u32::MAX - i, |_| u32::MAX, |_| 0];
        for of in orders {
            let fill = |first: usize, keys: &mut [u32]| {
                keys.iter_mut().enumerate().for_each(|(i, to)| *to = of((first + i) as u32));
            };
            for n in [1, 1000, 5000, 20_001] {
                let (mut all, mut some, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
                first_of::<u32>(&mut all, &mut scratch, n, n, fill);
                assert!(all.len() == n && all.is_sorted());
                for k in [0, 1, 10, 999, 1000].into_iter().filter(|&k| k <= n) {
                    first_of::<u32>(&mut some, &mut scratch, n, k, fill);
                    assert_eq!(some, all[..k]);
                }
            }
        }
    }

    #[test]
    fn positions_of_wide_numbers_are_those_of_a_stable_sort() {
        let (n, outer) = (1000, 3);
        let scrambled = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let kinds: [fn(u64, u64) -> i64; 6] = [
            |_, s| s as i64,
            |_, s| (s >> 55) as i64 - 200,
            |_, s| i64::MAX - (s >> 60) as i64,
            |_, s| if s % 2 == 0 { i64::MIN } else { i64::MAX },
            |i, _| i as i64 / 3,
            |i, _| -(i as i64) / 3,
        ];
        for kind in kinds {
            let input: Vec<i64> = (0..n * outer).map(|i| kind(i as u64, scrambled(i as u64 + 1))).collect();
            for direction in [Direction::Ascending, Direction::Descending] {
                let mut found = vec![0i64; n * outer];
                let rows = Rows { outer, n, inner: 1 };
                // SAFETY: both have `outer * n` elements of their dtypes.
                unsafe {
                    let (from, to) = (input.as_ptr().cast(), found.as_mut_ptr().cast());
                    select(DType::I64, rows, n, direction, from, None, DType::I64, to);
                }
                for (row, found) in input.chunks(n).zip(found.chunks(n)) {
                    let mut due: Vec<i64> = (0..n as i64).collect();
                    due.sort_by(|&a, &b| {
                        let order = row[a as usize].cmp(&row[b as usize]);
                        if direction == Direction::Descending { order.reverse() } else { order }
                    });
                    assert_eq!(found, due);
                }
            }
        }
    }
}
