//! Sorting of unsigned integers in vectors: quicksort that partitions vectors, and bitonic networks for what is short.
//!
//! A partition is made in place: vectors of both ends are held back, so that there is room for a vector at each end whenever one
//! is written: Bramas, A Novel Hybrid Quicksort Algorithm Vectorized using AVX-512 on Intel Skylake (2017), with the two
//! overlapping stores of Blacher, Giesen, Kühne and Wassenberg, Vectorized and Performance-Portable Quicksort (2022). The networks
//! are Batcher's: Knuth, The Art of Computer Programming, volume 3, section 5.3.4.

#![expect(unsafe_code, reason = "vector instructions for a detected instruction set")]

use std::arch::x86_64::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::arch::{Level, at_v3, at_v4, level};
use crate::pool::{Shared, parallel_for, threads};

/// A key that vectors are sorted by.
pub(crate) trait VectorKey: Copy + Ord + Send + Sync {
    /// Vectors of AVX-512 and of AVX2.
    type Wide: Lanes<Key = Self>;
    type Narrow: Lanes<Key = Self>;
    const MAX: Self;
    /// The next lesser key.
    fn before(self) -> Option<Self>;
}

macro_rules! keys {
    ($($key:ident $wide:ident $narrow:ident),*) => {$(
        impl VectorKey for $key {
            type Wide = $wide;
            type Narrow = $narrow;
            const MAX: $key = $key::MAX;
            #[inline(always)]
            fn before(self) -> Option<$key> {
                self.checked_sub(1)
            }
        }
    )*};
}

keys!(u32 Wide32 Narrow32, u64 Wide64 Narrow64);

/// A vector of keys.
///
/// # Safety
/// Methods are called where the instruction set of the type was detected; pointers are readable or writable for a vector.
pub(crate) trait Lanes: Copy {
    type Key: VectorKey;
    /// How many keys there are: 4, 8 or 16.
    const N: usize;
    unsafe fn load(from: *const Self::Key) -> Self;
    unsafe fn store(self, to: *mut Self::Key);
    unsafe fn splat(key: Self::Key) -> Self;
    /// The lesser and the greater of each lane.
    unsafe fn min_max(self, other: Self) -> (Self, Self);
    /// In lane `i`, lane `i ^ X`.
    unsafe fn swapped<const X: usize>(self) -> Self;
    /// The lanes of `other` whose number has the highest bit of `X`, and the other ones of `self`.
    unsafe fn upper<const X: usize>(self, other: Self) -> Self;
    /// The lanes not above those of `pivot` and behind them the other ones; how many the first are.
    unsafe fn split(self, pivot: Self) -> (Self, usize);

    /// Brings each lane into order with the one that `swapped` puts in its place.
    #[inline(always)]
    unsafe fn exchanged<const X: usize>(self) -> Self {
        // SAFETY: the caller's contract.
        unsafe {
            let (low, high) = self.min_max(self.swapped::<X>());
            low.upper::<X>(high)
        }
    }

    /// Sorts lanes that are a bitonic sequence.
    #[inline(always)]
    unsafe fn merged(self) -> Self {
        // SAFETY: the caller's contract.
        unsafe {
            let v = if Self::N >= 16 { self.exchanged::<8>() } else { self };
            let v = if Self::N >= 8 { v.exchanged::<4>() } else { v };
            v.exchanged::<2>().exchanged::<1>()
        }
    }

    /// Sorts lanes.
    #[inline(always)]
    unsafe fn sorted(self) -> Self {
        // SAFETY: the caller's contract.
        unsafe {
            let v = self.exchanged::<1>().exchanged::<3>().exchanged::<1>();
            let v = if Self::N >= 8 { v.exchanged::<7>().exchanged::<2>().exchanged::<1>() } else { v };
            if Self::N < 16 {
                return v;
            }
            v.exchanged::<15>().exchanged::<4>().exchanged::<2>().exchanged::<1>()
        }
    }

    /// The lanes from the last to the first.
    #[inline(always)]
    unsafe fn reversed(self) -> Self {
        // SAFETY: the caller's contract.
        unsafe {
            match Self::N {
                16 => self.swapped::<15>(),
                8 => self.swapped::<7>(),
                _ => self.swapped::<3>(),
            }
        }
    }
}

/// The numbers `i ^ x` of lanes.
const fn swap<const N: usize>(x: usize) -> [u32; N] {
    let (mut out, mut i) = ([0; N], 0);
    while i < N {
        out[i] = (i ^ x) as u32;
        i += 1;
    }
    out
}

/// The lanes whose number has the highest bit of `x`.
const fn upper(x: usize) -> u16 {
    [0b1010_1010_1010_1010, 0b1100_1100_1100_1100, 0b1111_0000_1111_0000, 0b1111_1111_0000_0000][x.ilog2() as usize]
}

/// For each set of lanes of a vector of `n`, the numbers of those in it and behind them of the other ones, in units of 32 bits.
const fn splits<const SETS: usize>(n: usize) -> [[u32; 8]; SETS] {
    let (mut out, mut set) = ([[0; 8]; SETS], 0);
    while set < SETS {
        let (mut low, mut high) = (0, set.count_ones() as usize * 8 / n);
        let mut unit = 0;
        while unit < 8 {
            let to = if set >> (unit * n / 8) & 1 == 1 { &mut low } else { &mut high };
            out[set][*to] = unit as u32;
            *to += 1;
            unit += 1;
        }
        set += 1;
    }
    out
}

static SPLITS_OF_8: [[u32; 8]; 256] = splits(8);
static SPLITS_OF_4: [[u32; 8]; 16] = splits(4);

/// Defines vectors by what their methods do with registers.
macro_rules! lanes {
    ($(
        $(#[$doc:meta])*
        $name:ident($register:ty): $n:literal of $key:ident;
        load($from:ident) => $load:expr;
        store($kept:ident, $to:ident) => $store:expr;
        splat($one:ident) => $splat:expr;
        min_max($a:ident, $b:ident) => $min_max:expr;
        swapped<$x:ident>($v:ident) => $swapped:expr;
        upper<$bit:ident>($low:ident, $high:ident) => $upper:expr;
        split($all:ident, $pivot:ident) => $split:expr;
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name($register);

        impl Lanes for $name {
            type Key = $key;
            const N: usize = $n;
            #[inline(always)]
            unsafe fn load($from: *const $key) -> Self {
                // SAFETY: the contract of the trait: the instruction set was detected, and a vector is readable.
                Self(unsafe { $load })
            }
            #[inline(always)]
            unsafe fn store(self, $to: *mut $key) {
                let $kept = self.0;
                // SAFETY: the contract of the trait: the instruction set was detected, and a vector is writable.
                unsafe { $store }
            }
            #[inline(always)]
            unsafe fn splat($one: $key) -> Self {
                // SAFETY: the contract of the trait: the instruction set was detected.
                Self(unsafe { $splat })
            }
            #[inline(always)]
            unsafe fn min_max(self, other: Self) -> (Self, Self) {
                let ($a, $b) = (self.0, other.0);
                // SAFETY: the contract of the trait: the instruction set was detected.
                let (min, max) = unsafe { $min_max };
                (Self(min), Self(max))
            }
            #[inline(always)]
            unsafe fn swapped<const $x: usize>(self) -> Self {
                let $v = self.0;
                // SAFETY: the contract of the trait: the instruction set was detected; the numbers of lanes that are loaded are a
                // whole vector.
                Self(unsafe { $swapped })
            }
            #[inline(always)]
            unsafe fn upper<const $bit: usize>(self, other: Self) -> Self {
                let ($low, $high) = (self.0, other.0);
                // SAFETY: the contract of the trait: the instruction set was detected; the numbers of lanes that are loaded are a
                // whole vector.
                Self(unsafe { $upper })
            }
            #[inline(always)]
            unsafe fn split(self, pivot: Self) -> (Self, usize) {
                let ($all, $pivot) = (self.0, pivot.0);
                // SAFETY: the contract of the trait: the instruction set was detected; the numbers of lanes that are loaded are a
                // whole vector.
                let (v, low) = unsafe { $split };
                (Self(v), low.count_ones() as usize)
            }
        }
    )*};
}

lanes! {
    /// 16 keys of AVX-512.
    Wide32(__m512i): 16 of u32;
    load(from) => _mm512_loadu_si512(from.cast());
    store(v, to) => _mm512_storeu_si512(to.cast(), v);
    splat(key) => _mm512_set1_epi32(key as i32);
    min_max(a, b) => (_mm512_min_epu32(a, b), _mm512_max_epu32(a, b));
    swapped<X>(v) => _mm512_permutexvar_epi32(_mm512_loadu_si512(const { &swap::<16>(X) }.as_ptr().cast()), v);
    upper<X>(low, high) => _mm512_mask_blend_epi32(const { upper(X) }, low, high);
    split(v, pivot) => {
        let low = _mm512_cmple_epu32_mask(v, pivot);
        let (below, above) = (_mm512_maskz_compress_epi32(low, v), _mm512_maskz_compress_epi32(!low, v));
        (_mm512_mask_expand_epi32(below, (!0u32 << low.count_ones()) as u16, above), low)
    };

    /// 8 keys of AVX-512.
    Wide64(__m512i): 8 of u64;
    load(from) => _mm512_loadu_si512(from.cast());
    store(v, to) => _mm512_storeu_si512(to.cast(), v);
    splat(key) => _mm512_set1_epi64(key as i64);
    min_max(a, b) => (_mm512_min_epu64(a, b), _mm512_max_epu64(a, b));
    swapped<X>(v) => {
        let at = _mm256_loadu_si256(const { &swap::<8>(X) }.as_ptr().cast());
        _mm512_permutexvar_epi64(_mm512_cvtepu32_epi64(at), v)
    };
    upper<X>(low, high) => _mm512_mask_blend_epi64(const { upper(X) as u8 }, low, high);
    split(v, pivot) => {
        let low = _mm512_cmple_epu64_mask(v, pivot);
        let (below, above) = (_mm512_maskz_compress_epi64(low, v), _mm512_maskz_compress_epi64(!low, v));
        (_mm512_mask_expand_epi64(below, (!0u32 << low.count_ones()) as u8, above), low)
    };

    /// 8 keys of AVX2.
    Narrow32(__m256i): 8 of u32;
    load(from) => _mm256_loadu_si256(from.cast());
    store(v, to) => _mm256_storeu_si256(to.cast(), v);
    splat(key) => _mm256_set1_epi32(key as i32);
    min_max(a, b) => (_mm256_min_epu32(a, b), _mm256_max_epu32(a, b));
    swapped<X>(v) => _mm256_permutevar8x32_epi32(v, _mm256_loadu_si256(const { &swap::<8>(X) }.as_ptr().cast()));
    upper<X>(low, high) => match X.ilog2() {
        0 => _mm256_blend_epi32::<0b1010_1010>(low, high),
        1 => _mm256_blend_epi32::<0b1100_1100>(low, high),
        _ => _mm256_blend_epi32::<0b1111_0000>(low, high),
    };
    split(v, pivot) => {
        let low = _mm256_cmpeq_epi32(_mm256_min_epu32(v, pivot), v);
        let low = _mm256_movemask_ps(_mm256_castsi256_ps(low)) as u8;
        let at = _mm256_loadu_si256(SPLITS_OF_8[usize::from(low)].as_ptr().cast());
        (_mm256_permutevar8x32_epi32(v, at), low)
    };

    /// 4 keys of AVX2.
    Narrow64(__m256i): 4 of u64;
    load(from) => _mm256_loadu_si256(from.cast());
    store(v, to) => _mm256_storeu_si256(to.cast(), v);
    splat(key) => _mm256_set1_epi64x(key as i64);
    min_max(a, b) => {
        let above = above(a, b);
        (_mm256_blendv_epi8(a, b, above), _mm256_blendv_epi8(b, a, above))
    };
    swapped<X>(v) => match X {
        1 => _mm256_permute4x64_epi64::<0b10_11_00_01>(v),
        2 => _mm256_permute4x64_epi64::<0b01_00_11_10>(v),
        _ => _mm256_permute4x64_epi64::<0b00_01_10_11>(v),
    };
    upper<X>(low, high) => match X {
        1 => _mm256_blend_epi32::<0b1100_1100>(low, high),
        _ => _mm256_blend_epi32::<0b1111_0000>(low, high),
    };
    split(v, pivot) => {
        let low = !_mm256_movemask_pd(_mm256_castsi256_pd(above(v, pivot))) & 15;
        let at = _mm256_loadu_si256(SPLITS_OF_4[low as usize].as_ptr().cast());
        (_mm256_permutevar8x32_epi32(v, at), low)
    };
}

/// All bits of the lanes of `a` that are above those of `b`.
///
/// # Safety
/// There is AVX2.
#[inline(always)]
unsafe fn above(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller's contract.
    unsafe {
        let sign = _mm256_set1_epi64x(i64::MIN);
        _mm256_cmpgt_epi64(_mm256_xor_si256(a, sign), _mm256_xor_si256(b, sign))
    }
}

/// The vectors of the longest stretch that a network sorts.
const BLOCK: usize = 16;
/// The vectors that a partition reads at a time.
const READ: usize = 4;
/// The fewest keys that threads share.
const SHARED: usize = 1 << 15;

/// Sorts `M` vectors as one row: each of them, then runs of twice the length until there is one.
///
/// # Safety
/// The instruction set was detected; `row` is readable and writable for the vectors.
#[inline(always)]
unsafe fn network<V: Lanes, const M: usize>(row: *mut V::Key) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut v = [V::splat(V::Key::MAX); M];
        for (i, v) in v.iter_mut().enumerate() {
            *v = V::load(row.add(i * V::N)).sorted();
        }
        let mut run = 2;
        while run <= M {
            for start in (0..M).step_by(run) {
                for i in 0..run / 2 {
                    let (a, b) = (start + i, start + run - 1 - i);
                    (v[a], v[b]) = v[a].min_max(v[b].reversed());
                }
            }
            let mut apart = run / 4;
            while apart > 0 {
                for start in (0..M).step_by(2 * apart) {
                    for i in start..start + apart {
                        (v[i], v[i + apart]) = v[i].min_max(v[i + apart]);
                    }
                }
                apart /= 2;
            }
            for v in &mut v {
                *v = v.merged();
            }
            run *= 2;
        }
        for (i, v) in v.into_iter().enumerate() {
            v.store(row.add(i * V::N));
        }
    }
}

/// Sorts up to `BLOCK` vectors of keys.
///
/// # Safety
/// The instruction set was detected.
#[inline(always)]
unsafe fn sort_block<V: Lanes>(keys: &mut [V::Key]) {
    // The longest vector has 16 keys.
    let mut row = [V::Key::MAX; BLOCK * 16];
    row[..keys.len()].copy_from_slice(keys);
    let at = row.as_mut_ptr();
    // SAFETY: the caller's contract; the row has room for `BLOCK` vectors.
    unsafe {
        match keys.len().div_ceil(V::N) {
            0 => (),
            1 => network::<V, 1>(at),
            2 => network::<V, 2>(at),
            3..=4 => network::<V, 4>(at),
            5..=8 => network::<V, 8>(at),
            _ => network::<V, BLOCK>(at),
        }
    }
    keys.copy_from_slice(&row[..keys.len()]);
}

/// Writes the lanes of a vector that are not above `pivot` to the front of `room` places from `low` on, and the other ones to their
/// end; what lies between the two may be overwritten, and is free afterwards.
///
/// # Safety
/// The instruction set was detected; a vector is writable at either end of the places.
#[inline(always)]
unsafe fn put<V: Lanes>(v: V, pivot: V, base: *mut V::Key, low: &mut usize, room: &mut usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let (v, count) = v.split(pivot);
        *room -= V::N;
        v.store(base.add(*low));
        v.store(base.add(*low + *room));
        *low += count;
    }
}

/// Puts the keys that are not above `pivot` in front of the other ones and says how many they are.
///
/// # Safety
/// The instruction set was detected; there are more than `BLOCK` vectors of keys.
#[inline(always)]
unsafe fn partition<V: Lanes>(keys: &mut [V::Key], pivot: V::Key) -> usize {
    let vectors = keys.len() / V::N;
    let whole = vectors * V::N;
    let base = keys.as_mut_ptr();
    // SAFETY: the caller's contract. `room` keys from `low` on are to be written, of which those of `from..to` have not been read.
    // As many vectors were read and are not written as there is room for outside of `from..to`: at each write of up to `READ`
    // vectors, that many of them are at either end, since a read is made at the end where there are fewer.
    unsafe {
        let by = V::splat(pivot);
        // Held back are `READ` vectors of the right end, and of the left one as many and what the rest has beside whole reads.
        let left = READ + vectors % READ;
        let mut held = [by; 3 * READ];
        let held = &mut held[..left + READ];
        for (i, v) in held.iter_mut().enumerate() {
            let at = if i < left { i } else { vectors - 1 - (i - left) };
            *v = V::load(base.add(at * V::N));
        }
        let (mut low, mut room) = (0, whole);
        let (mut from, mut to) = (left * V::N, whole - READ * V::N);
        while from < to {
            let start = if from - low > READ * V::N {
                to -= READ * V::N;
                to
            } else {
                from += READ * V::N;
                from - READ * V::N
            };
            let at = base.add(start);
            let read = [V::load(at), V::load(at.add(V::N)), V::load(at.add(2 * V::N)), V::load(at.add(3 * V::N))];
            for v in read {
                put(v, by, base, &mut low, &mut room);
            }
        }
        for &v in held.iter() {
            put(v, by, base, &mut low, &mut room);
        }
        for i in whole..keys.len() {
            // The key at `low` is above the pivot, or this one.
            let key = keys[i];
            keys.swap(i, low);
            low += usize::from(key <= pivot);
        }
        low
    }
}

/// A key that is likely to be near the middle.
///
/// # Safety
/// The instruction set was detected; there are keys.
#[inline(always)]
unsafe fn pivot<V: Lanes>(keys: &[V::Key], seed: &mut u64) -> V::Key {
    let few = keys.len() < 128 * V::N;
    let samples = if few { V::N } else { 4 * V::N };
    let mut some = [V::Key::MAX; 4 * 16];
    for sample in &mut some[..samples] {
        // The generator is MMIX's: Knuth, volume 2, section 3.3.4.
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *sample = keys[((u128::from(*seed) * keys.len() as u128) >> 64) as usize];
    }
    // SAFETY: the caller's contract; there is room for four vectors.
    unsafe { if few { network::<V, 1>(some.as_mut_ptr()) } else { network::<V, 4>(some.as_mut_ptr()) } };
    some[samples / 2 - 1]
}

/// Brings keys into three parts, of which the middle one, from the first bound to the second, is sorted.
///
/// # Safety
/// The instruction set was detected; there are more than `BLOCK` vectors of keys.
#[inline(always)]
unsafe fn divide<V: Lanes>(keys: &mut [V::Key], seed: &mut u64) -> (usize, usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let pivot = pivot::<V>(keys, seed);
        let at = partition::<V>(keys, pivot);
        if at < keys.len() {
            return (at, at);
        }
        // None is above the pivot; what equals it is in place behind what is below.
        (
            pivot.before().map_or(
                0,
                #[inline(always)]
                |below| partition::<V>(keys, below),
            ),
            at,
        )
    }
}

/// Sorts keys.
///
/// # Safety
/// The instruction set was detected.
#[inline(always)]
unsafe fn quicksort<V: Lanes>(keys: &mut [V::Key]) {
    let mut seed = keys.len() as u64;
    // A stretch that was divided so often is left to a sort with a bound.
    let limit = 2 * keys.len().max(1).ilog2();
    let mut open = vec![(0..keys.len(), 0)];
    while let Some((Range { mut start, mut end }, mut divided)) = open.pop() {
        loop {
            let part = &mut keys[start..end];
            if part.len() <= BLOCK * V::N {
                // SAFETY: the caller's contract.
                unsafe { sort_block::<V>(part) };
                break;
            }
            if divided == limit {
                part.sort_unstable();
                break;
            }
            divided += 1;
            // SAFETY: the caller's contract; the part has more than `BLOCK` vectors.
            let (a, b) = unsafe { divide::<V>(part, &mut seed) };
            let (left, right) = (start..start + a, start + b..end);
            let (next, later) = if left.len() < right.len() { (left, right) } else { (right, left) };
            open.push((later, divided));
            (start, end) = (next.start, next.end);
        }
    }
}

/// Sorts keys where there is an instruction set for that, and says whether there is.
pub(crate) fn sort<K: VectorKey>(keys: &mut [K]) -> bool {
    match level() {
        // SAFETY: the instruction set was detected; `share` divides no fewer than `SHARED` keys.
        Level::V4 => unsafe {
            share(
                keys,
                |part, seed| {
                    at_v4(
                        #[inline(always)]
                        || divide::<K::Wide>(part, seed),
                    )
                },
                |part| {
                    at_v4(
                        #[inline(always)]
                        || quicksort::<K::Wide>(part),
                    )
                },
            )
        },
        // SAFETY: the instruction set was detected; `share` divides no fewer than `SHARED` keys.
        Level::V3 => unsafe {
            share(
                keys,
                |part, seed| {
                    at_v3(
                        #[inline(always)]
                        || divide::<K::Narrow>(part, seed),
                    )
                },
                |part| {
                    at_v3(
                        #[inline(always)]
                        || quicksort::<K::Narrow>(part),
                    )
                },
            )
        },
        Level::Base => return false,
    }
    true
}

/// Sorts keys by parts that threads share: all of them are divided side by side until there are some for each thread.
fn share<K: VectorKey>(
    keys: &mut [K],
    divide: impl Fn(&mut [K], &mut u64) -> (usize, usize) + Sync,
    sort: impl Fn(&mut [K]) + Sync,
) {
    if keys.is_sorted() {
        return;
    }
    if keys.len() < SHARED || threads() == 1 {
        return sort(keys);
    }
    let base = Shared(keys.as_mut_ptr());
    // SAFETY: parts are disjoint, and each is one thread's at a time.
    let part = |r: &Range<usize>| unsafe { std::slice::from_raw_parts_mut(base.get().add(r.start), r.len()) };
    let mut parts = Vec::from_iter(std::iter::once(0..keys.len()));
    for _ in 0..(4 * threads()).ilog2() {
        let next = Mutex::new(Vec::with_capacity(2 * parts.len()));
        parallel_for(parts.len(), 1, |range| {
            for r in &parts[range] {
                let mut made = [r.clone(), r.end..r.end];
                if r.len() >= SHARED / 8 {
                    let (a, b) = divide(part(r), &mut (r.start as u64));
                    made = [r.start..r.start + a, r.start + b..r.end];
                }
                next.lock().unwrap_or_else(PoisonError::into_inner).extend(made);
            }
        });
        parts = next.into_inner().unwrap_or_else(PoisonError::into_inner);
    }
    parallel_for(parts.len(), 1, |range| parts[range].iter().for_each(|r| sort(part(r))));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of many shapes: of all values, equal, ascending, descending, up and down, and of few values.
    fn rows(n: usize) -> Vec<Vec<u64>> {
        let mixed = |i: usize| {
            (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        let orders: [&dyn Fn(usize) -> u64; 11] = [
            &mixed,
            &|i| mixed(i) >> 31,
            &|i| (mixed(i) % 5) << 61,
            &|i| if mixed(i) % 2 == 0 { 0 } else { u64::MAX },
            &|_| 0,
            &|_| u64::MAX,
            &|_| 7 << 40,
            &|i| (i as u64) << 33,
            &|i| ((n - i) as u64) << 33,
            &|i| (i.min(n - i) as u64) << 33,
            &|i| ((i % 17) as u64) << 50,
        ];
        orders.iter().map(|of| (0..n).map(of).collect()).collect()
    }

    /// Compares sorts of keys of both widths with that of the standard library.
    fn check(sizes: impl Iterator<Item = usize>, narrow: impl Fn(&mut [u32]), wide: impl Fn(&mut [u64])) {
        fn one<K: VectorKey + std::fmt::Debug>(mut keys: Vec<K>, sort: impl Fn(&mut [K])) {
            let mut want = keys.clone();
            want.sort_unstable();
            sort(&mut keys);
            assert_eq!(keys, want);
        }
        for n in sizes {
            for row in rows(n) {
                one(row.iter().map(|&w| (w >> 32) as u32).collect(), &narrow);
                one(row, &wide);
            }
        }
    }

    fn sizes() -> impl Iterator<Item = usize> {
        (0..300).chain((300..2000).step_by(61)).chain([4095, 10_000])
    }

    #[test]
    fn vectors_of_avx2_are_sorted() {
        if level() >= Level::V3 {
            // SAFETY: the instruction set was detected.
            check(
                sizes(),
                |k| unsafe { at_v3(|| quicksort::<Narrow32>(k)) },
                |k| unsafe { at_v3(|| quicksort::<Narrow64>(k)) },
            );
        }
    }

    #[test]
    fn vectors_of_avx512_are_sorted() {
        if level() == Level::V4 {
            // SAFETY: the instruction set was detected.
            check(
                sizes(),
                |k| unsafe { at_v4(|| quicksort::<Wide32>(k)) },
                |k| unsafe { at_v4(|| quicksort::<Wide64>(k)) },
            );
        }
    }

    #[test]
    fn parts_of_long_rows_are_sorted_by_threads() {
        if level() > Level::Base {
            check([SHARED - 1, SHARED, 3 * SHARED + 5].into_iter(), |k| assert!(sort(k)), |k| assert!(sort(k)));
        }
    }
}
