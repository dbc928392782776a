//! Counter-based random numbers: Philox4x32-10 (Salmon et al., 2011).
//!
//! The value at a position depends on the key, the counter and the position alone: not on threads, and not on how
//! many numbers are drawn at a time.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use penstock_data::{DType, DTypeSet, bf16, f16, with_dtype};

use crate::Formula;
use crate::algebra::Algebra;
use crate::arch::dispatch;
use crate::formula::record;
use crate::math::{Functions, Math};
use crate::num::Real;
use crate::pool::{Shared, grain, parallel_for};

/// A stream of random numbers: block `i` of four words is the counter plus `i`, enciphered with the key.
///
/// The top 32 bits of the counter tell the tries of rejection sampling apart; streams should leave them 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Philox {
    /// The key.
    pub key: u64,
    /// The counter of the first block.
    pub counter: u128,
}

/// Blocks that are enciphered side by side.
pub(crate) const WIDTH: usize = 64;

/// Words of [`WIDTH`] blocks, by word and block.
pub(crate) type Words = [[u32; WIDTH]; 4];

/// The ten rounds.
#[inline(always)]
fn encipher(mut c: [u32; 4], key: u64) -> [u32; 4] {
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    for _ in 0..10 {
        let p0 = u64::from(c[0]) * 0xd251_1f53;
        let p1 = u64::from(c[2]) * 0xcd9e_8d57;
        c = [(p1 >> 32) as u32 ^ c[1] ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k1, p0 as u32];
        k0 = k0.wrapping_add(0x9e37_79b9);
        k1 = k1.wrapping_add(0xbb67_ae85);
    }
    c
}

impl Philox {
    /// A stream.
    pub const fn new(key: u64, counter: u128) -> Philox {
        Philox { key, counter }
    }

    /// The stream from its block `blocks` on.
    pub const fn skip(self, blocks: u64) -> Philox {
        Philox { counter: self.counter.wrapping_add(blocks as u128), ..self }
    }

    /// The stream of a try of rejection sampling.
    #[inline(always)]
    pub(crate) const fn of_try(self, number: u32) -> Philox {
        Philox { counter: self.counter.wrapping_add((number as u128) << 96), ..self }
    }

    /// One block.
    #[inline(always)]
    pub fn block(self, index: u64) -> [u32; 4] {
        let at = self.counter.wrapping_add(u128::from(index));
        encipher([at as u32, (at >> 32) as u32, (at >> 64) as u32, (at >> 96) as u32], self.key)
    }

    /// The words of [`WIDTH`] blocks from block `first` on, word by word.
    #[inline(always)]
    pub(crate) fn blocks(self, first: u64) -> Words {
        self.blocks_apart::<1>(first)
    }

    /// The words of [`WIDTH`] blocks from block `first` on, each `STEP` behind the one before.
    #[inline(always)]
    fn blocks_apart<const STEP: u32>(self, first: u64) -> Words {
        let at = self.counter.wrapping_add(u128::from(first));
        let mut words = [[0; WIDTH]; 4];
        if at as u32 <= u32::MAX - WIDTH as u32 * STEP {
            // No carry out of the low word: the form that vectorises.
            let high = [(at >> 32) as u32, (at >> 64) as u32, (at >> 96) as u32];
            for i in 0..WIDTH {
                let block = encipher([at as u32 + i as u32 * STEP, high[0], high[1], high[2]], self.key);
                for w in 0..4 {
                    words[w][i] = block[w];
                }
            }
        } else {
            for i in 0..WIDTH {
                let block = self.block(first.wrapping_add(i as u64 * u64::from(STEP)));
                for w in 0..4 {
                    words[w][i] = block[w];
                }
            }
        }
        words
    }

    /// Fills `out` with the words of the stream.
    pub fn fill_bits(self, out: &mut [u32]) {
        let n = out.len();
        // SAFETY: `out` is writable for `n` words.
        unsafe {
            self.each(
                n,
                out.as_mut_ptr(),
                #[inline(always)]
                |stream: Philox, first| stream.blocks(first),
                |w| w,
            )
        }
    }

    /// Writes `n` elements in groups of `PER`: `make` gets the stream and the number of the first of [`WIDTH`] groups,
    /// `convert` makes elements of the results.
    ///
    /// # Safety
    /// `out` is aligned and writable for `n` elements.
    #[inline]
    unsafe fn each<R: Copy + Default, T: Copy, const PER: usize>(
        self,
        n: usize,
        out: *mut T,
        make: impl Fn(Philox, u64) -> [[R; WIDTH]; PER] + Sync,
        convert: impl Fn(R) -> T + Sync,
    ) {
        let out = Shared(out);
        let group = WIDTH * PER;
        parallel_for(n.div_ceil(group), grain(1.5 * group as f64), |range| {
            dispatch(
                #[inline(always)]
                || {
                    for g in range {
                        let made = make(self, (g * WIDTH) as u64);
                        let len = group.min(n - g * group);
                        let mut ordered = [[convert(R::default()); PER]; WIDTH];
                        for i in 0..WIDTH {
                            for p in 0..PER {
                                ordered[i][p] = convert(made[p][i]);
                            }
                        }
                        // SAFETY: the output has `len` elements from there on, and no other range has them.
                        unsafe { ordered.as_ptr().cast::<T>().copy_to_nonoverlapping(out.get().add(g * group), len) };
                    }
                },
            );
        });
    }

    /// The number of blocks that `n` elements of `dtype` take, in any of the functions that follow but
    /// [`truncated_normal`](Philox::truncated_normal), where each group of elements has [`TRIES`] blocks.
    pub fn blocks_for(dtype: DType, n: usize) -> u64 {
        (n as u64).div_ceil(if dtype.size() == 8 { 2 } else { 4 })
    }

    /// Fills `out` with floats uniform in [0, 1).
    ///
    /// # Panics
    /// If `dtype` is not a real float.
    ///
    /// # Safety
    /// `out` is aligned and writable for `n` elements of `dtype`.
    pub unsafe fn uniform(self, dtype: DType, n: usize, out: *mut u8) {
        // SAFETY: the same contract, with the element type of `dtype`.
        unsafe {
            match dtype {
                DType::F16 => {
                    self.each(
                        n,
                        out.cast(),
                        #[inline(always)]
                        |s: Philox, first| s.blocks(first),
                        #[inline(always)]
                        |w: u32| f16::narrow((w & 0x3ff) as f32 / 1024.0),
                    );
                }
                DType::Bf16 => {
                    self.each(
                        n,
                        out.cast(),
                        #[inline(always)]
                        |s: Philox, first| s.blocks(first),
                        #[inline(always)]
                        |w: u32| bf16::narrow((w & 0x7f) as f32 / 128.0),
                    );
                }
                DType::F32 => self.each(
                    n,
                    out.cast(),
                    #[inline(always)]
                    |s: Philox, first| s.blocks(first),
                    #[inline(always)]
                    |w: u32| unit32(w),
                ),
                DType::F64 => {
                    self.each(
                        n,
                        out.cast(),
                        #[inline(always)]
                        |s: Philox, first| pairs(&s.blocks(first), unit64),
                        |x: f64| x,
                    );
                }
                _ => panic!("uniform does not take {dtype}"),
            }
        }
    }

    /// Fills `out` with integers uniform in [`low`, `high`), up to the bias of a remainder; over all values if the two are
    /// equal. The bounds are taken modulo the width of the dtype.
    ///
    /// # Panics
    /// If `dtype` is not an integer.
    ///
    /// # Safety
    /// `out` is aligned and writable for `n` elements of `dtype`.
    pub unsafe fn uniform_int(self, dtype: DType, low: i64, high: i64, n: usize, out: *mut u8) {
        let span = (high as u64).wrapping_sub(low as u64);
        let narrow =
            if dtype.size() >= 8 { 0 } else { span as u32 & (u32::MAX >> (32 - 8 * dtype.size().clamp(1, 4))) };
        let wide = move |a: u32, b: u32| {
            let bits = u64::from(a) | u64::from(b) << 32;
            (low as u64).wrapping_add(if span == 0 { bits } else { bits % span })
        };
        let short = move |w: u32| (low as u32).wrapping_add(if narrow == 0 { w } else { w % narrow });
        // SAFETY: the same contract, with the element type of `dtype`.
        with_dtype!(integer, dtype, T => unsafe {
            if size_of::<T>() == 8 {
                self.each(n, out.cast(), #[inline(always)] |s: Philox, first| pairs(&s.blocks(first), wide), |x: u64| x as T);
            } else {
                self.each(n, out.cast(), #[inline(always)] |s: Philox, first| s.blocks(first), #[inline(always)] |w: u32| short(w) as T);
            }
        }, else panic!("uniform_int does not take {dtype}"))
    }

    /// Fills `out` with standard normal floats, by the transform of Box and Muller. 16-bit floats are those of `f32`, rounded.
    ///
    /// # Panics
    /// If `dtype` is not a real float.
    ///
    /// # Safety
    /// `out` is aligned and writable for `n` elements of `dtype`.
    #[expect(clippy::redundant_closure, reason = "what is inlined is compiled for the instruction set of its caller")]
    pub unsafe fn normal(self, dtype: DType, n: usize, out: *mut u8) {
        // SAFETY: the same contract, with the element type of `dtype`.
        unsafe {
            match dtype {
                DType::F16 => self.each(
                    n,
                    out.cast(),
                    #[inline(always)]
                    |s, first| normals32(s, first),
                    f16::narrow,
                ),
                DType::Bf16 => self.each(
                    n,
                    out.cast(),
                    #[inline(always)]
                    |s, first| normals32(s, first),
                    bf16::narrow,
                ),
                DType::F32 => self.each(
                    n,
                    out.cast(),
                    #[inline(always)]
                    |s, first| normals32(s, first),
                    |x: f32| x,
                ),
                DType::F64 => self.each(
                    n,
                    out.cast(),
                    #[inline(always)]
                    |s, first| normals64(s, first),
                    |x: f64| x,
                ),
                _ => panic!("normal does not take {dtype}"),
            }
        }
    }

    /// Fills `out` with standard normal floats of magnitudes below 2. Each group of four (two of `f64`) are the first
    /// such numbers of blocks of its own, as in TensorFlow.
    ///
    /// # Panics
    /// If `dtype` is not a real float.
    ///
    /// # Safety
    /// `out` is aligned and writable for `n` elements of `dtype`.
    #[expect(clippy::redundant_closure, reason = "what is inlined is compiled for the instruction set of its caller")]
    pub unsafe fn truncated_normal(self, dtype: DType, n: usize, out: *mut u8) {
        // SAFETY: the same contract, with the element type of `dtype`.
        unsafe {
            match dtype {
                DType::F16 => self.each(
                    n,
                    out.cast(),
                    #[inline(always)]
                    |s, first| truncated32(s, first),
                    f16::narrow,
                ),
                DType::Bf16 => self.each(
                    n,
                    out.cast(),
                    #[inline(always)]
                    |s, first| truncated32(s, first),
                    bf16::narrow,
                ),
                DType::F32 => self.each(
                    n,
                    out.cast(),
                    #[inline(always)]
                    |s, first| truncated32(s, first),
                    |x: f32| x,
                ),
                DType::F64 => self.each(
                    n,
                    out.cast(),
                    #[inline(always)]
                    |s, first| truncated64(s, first),
                    |x: f64| x,
                ),
                _ => panic!("truncated_normal does not take {dtype}"),
            }
        }
    }
}

/// Blocks that a group of truncated normals of 32 bits has; one of two `f64` has half as many.
pub const TRIES: u32 = 256;

/// The dtypes of [`Philox::uniform`], [`Philox::normal`] and [`Philox::truncated_normal`].
pub const RANDOM_DTYPES: DTypeSet = DTypeSet::FLOAT;

/// Uniform in [0, 1), of the low 23 bits, as in TensorFlow.
#[inline(always)]
fn unit32(w: u32) -> f32 {
    f32::from_bits(w & 0x7f_ffff | 0x3f80_0000) - 1.0
}

/// Uniform in [0, 1), of the low 20 bits of `a` and all of `b`, as in TensorFlow.
#[inline(always)]
pub fn unit64(a: u32, b: u32) -> f64 {
    let bits = u64::from(a & 0xf_ffff) << 32 | u64::from(b);
    f64::from_bits(bits | 0x3ff0_0000_0000_0000) - 1.0
}

/// Makes a value of two adjacent words of every block.
#[inline(always)]
fn each_pair<R: Copy + Default>(words: &Words, at: usize, make: impl Fn(u32, u32) -> R) -> [R; WIDTH] {
    let mut made = [R::default(); WIDTH];
    for i in 0..WIDTH {
        made[i] = make(words[at][i], words[at + 1][i]);
    }
    made
}

/// The polynomials of sine and cosine, of which floats of a width use their own (Cephes for `f32`, fdlibm for `f64`).
struct Circle {
    tau: f64,
    sine: &'static [f64],
    cosine: &'static [f64],
}

const CIRCLE32: Circle = Circle {
    tau: std::f32::consts::TAU as f64,
    sine: &[-1.951_529_6e-4f32 as f64, 8.332_161e-3f32 as f64, -0.166_666_55f32 as f64],
    cosine: &[2.443_315_7e-5f32 as f64, -1.388_731_6e-3f32 as f64, 4.166_664_6e-2f32 as f64],
};

const CIRCLE64: Circle = Circle {
    tau: std::f64::consts::TAU,
    sine: &[
        1.589_690_995_211_55e-10,
        -2.505_076_025_340_686_3e-8,
        2.755_731_370_707_006_8e-6,
        -1.984_126_982_985_795e-4,
        8.333_333_333_322_49e-3,
        -0.166_666_666_666_666_32,
    ],
    cosine: &[
        -1.135_964_755_778_819_5e-11,
        2.087_572_321_298_175e-9,
        -2.755_731_435_139_066_3e-7,
        2.480_158_728_947_673e-5,
        -1.388_888_888_887_411e-3,
        4.166_666_666_666_66e-2,
    ],
};

/// Sine and cosine of `turn` whole turns, in [0, 1): of the part that exceeds a quarter turn's multiple, which is exact, by
/// polynomials, then turned back.
#[inline(always)]
fn turned<T: Algebra>(circle: &Circle, turn: T) -> (T, T) {
    let quarter = (turn * T::of(4.0) + T::of(0.5)).floor();
    let t = (turn - quarter * T::of(0.25)) * T::of(circle.tau);
    let z = t * t;
    let sine = circle.sine.iter().fold(T::ZERO, |acc, &c| acc * z + T::of(c));
    let cosine = circle.cosine.iter().fold(T::ZERO, |acc, &c| acc * z + T::of(c));
    let (sine, cosine) = (t + t * z * sine, T::ONE - T::of(0.5) * z + z * z * cosine);
    let is = |n: f64| Algebra::eq(quarter, T::of(n));
    let odd = is(1.0) | is(3.0);
    let (s, c) = (T::select(odd, cosine, sine), T::select(odd, sine, cosine));
    (T::select(is(2.0) | is(3.0), -s, s), T::select(is(1.0) | is(2.0), -c, c))
}

#[inline(always)]
fn turned32<T: Algebra>(turn: T) -> (T, T) {
    turned(&CIRCLE32, turn)
}

#[inline(always)]
fn turned64<T: Algebra>(turn: T) -> (T, T) {
    turned(&CIRCLE64, turn)
}

/// The radius of two normals, of a number uniform in [0, 1).
#[inline(always)]
fn radius<T: Functions>(u: T) -> T {
    let least = T::of(1e-7);
    let u = T::select(Algebra::lt(u, least), least, u);
    (T::of(-2.0) * u.log()).sqrt()
}

/// What the transform of Box and Muller multiplies, each of a number uniform in [0, 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Polar {
    /// The radius.
    Radius,
    /// The sine of the angle.
    Sine,
    /// Its cosine.
    Cosine,
}

/// The formula of a part of the transform, for floats of 4 bytes, or of 8 where `wide`.
pub fn polar_formula(part: Polar, wide: bool) -> Formula {
    match (part, wide) {
        (Polar::Radius, false) => record::<f32, f32, 1>(|[u]| radius(u)),
        (Polar::Sine, false) => record::<f32, f32, 1>(|[v]| turned32(v).0),
        (Polar::Cosine, false) => record::<f32, f32, 1>(|[v]| turned32(v).1),
        (Polar::Radius, true) => record::<f64, f64, 1>(|[u]| radius(u)),
        (Polar::Sine, true) => record::<f64, f64, 1>(|[v]| turned64(v).0),
        (Polar::Cosine, true) => record::<f64, f64, 1>(|[v]| turned64(v).1),
    }
}

/// Values of all pairs of adjacent words.
#[inline(always)]
fn pairs<R: Copy + Default>(words: &Words, make: impl Fn(u32, u32) -> R) -> [[R; WIDTH]; 2] {
    [each_pair(words, 0, &make), each_pair(words, 2, make)]
}

/// The transform of Box and Muller: two normals of a radius and an angle.
#[inline(always)]
fn polar<T: Math + Default, const N: usize>(
    u: [T; N],
    v: [T; N],
    sine_and_cosine: impl Fn(T) -> (T, T),
) -> [[T; N]; 2] {
    let mut made = [[T::default(); N]; 2];
    for i in 0..N {
        let radius = radius(u[i]);
        let (sine, cosine) = sine_and_cosine(v[i]);
        made[0][i] = sine * radius;
        made[1][i] = cosine * radius;
    }
    made
}

#[inline(always)]
fn normal32<const N: usize>(w: &[[u32; N]; 4]) -> [[f32; N]; 4] {
    let unit = w.map(|row| row.map(unit32));
    let ([a, b], [c, d]) = (polar(unit[0], unit[1], turned32), polar(unit[2], unit[3], turned32));
    [a, b, c, d]
}

#[inline(always)]
fn normal64<const N: usize>(w: &[[u32; N]; 4]) -> [[f64; N]; 2] {
    let unit = |at: usize| std::array::from_fn(|i| unit64(w[at][i], w[at + 1][i]));
    polar(unit(0), unit(2), turned64)
}

#[inline(always)]
fn normals32(stream: Philox, first: u64) -> [[f32; WIDTH]; 4] {
    normal32(&stream.blocks(first))
}

#[inline(always)]
fn normals64(stream: Philox, first: u64) -> [[f64; WIDTH]; 2] {
    normal64(&stream.blocks(first))
}

/// The first of the numbers that blocks give, one after the other, whose magnitudes are below 2: those of a group, whose
/// first block is made already.
#[inline(always)]
fn accepted<T: Math, const PER: usize>(made: &mut [T; PER], mut next: impl FnMut() -> [T; PER]) {
    let mut block = *made;
    let mut count = 0;
    loop {
        for x in block {
            if x.abs() < T::of(2.0) {
                made[count] = x;
                count += 1;
                if count == PER {
                    return;
                }
            }
        }
        block = next();
    }
}

/// The groups of truncated normals from group `first` on, each of `STEP` blocks.
#[inline(always)]
fn truncated<T: Math + Default, const PER: usize, const STEP: u32>(
    stream: Philox,
    first: u64,
    all: impl Fn(&Words) -> [[T; WIDTH]; PER],
    one: impl Fn(&[[u32; 1]; 4]) -> [[T; 1]; PER],
) -> [[T; WIDTH]; PER] {
    let start = first.wrapping_mul(u64::from(STEP));
    let mut made = all(&stream.blocks_apart::<STEP>(start));
    for i in 0..WIDTH {
        let mut group: [T; PER] = std::array::from_fn(|p| made[p][i]);
        if group.iter().fold(false, |any, x| any | (x.abs() >= T::of(2.0))) {
            let mut block = start.wrapping_add(i as u64 * u64::from(STEP));
            accepted(&mut group, || {
                block = block.wrapping_add(1);
                one(&stream.block(block).map(|word| [word])).map(|[x]| x)
            });
            for p in 0..PER {
                made[p][i] = group[p];
            }
        }
    }
    made
}

#[inline(always)]
fn truncated32(stream: Philox, first: u64) -> [[f32; WIDTH]; 4] {
    truncated::<f32, 4, TRIES>(stream, first, normal32, normal32)
}

#[inline(always)]
fn truncated64(stream: Philox, first: u64) -> [[f64; WIDTH]; 2] {
    truncated::<f64, 2, { TRIES / 2 }>(stream, first, normal64, normal64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_have_their_sines_and_cosines() {
        for i in 0..100_000u32 {
            let turn = unit32(i.wrapping_mul(2_654_435_761));
            let angle = f64::from(turn) * std::f64::consts::TAU;
            let (s, c) = turned32(turn);
            assert!((f64::from(s) - angle.sin()).abs() < 2e-7 && (f64::from(c) - angle.cos()).abs() < 2e-7, "{turn}");
            let (s, c) = turned64(f64::from(turn));
            assert!((s - angle.sin()).abs() < 2e-15 && (c - angle.cos()).abs() < 2e-15, "{turn}");
        }
    }
}
