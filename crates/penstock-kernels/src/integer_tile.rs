//! Products of matrices of 8-bit integers, a tile of the result in registers at a time.
//!
//! Machines multiply such integers in *groups* of neighbours along the inner dimension that take 32 bits together: four bytes, or two
//! numbers of 16 bits. Packed matrices hold *stripes* of 16 lines, which are rows of the left matrix or columns of the right one,
//! in chunks of 16 groups: a chunk of the left matrix has 16 groups for each line, one of the right matrix 16 lines for each
//! group. These are the tiles of AMX, and for vectors a row of a chunk is one of 64 bytes, or two of 32. Sums are exact but that
//! they wrap, so all kernels agree.

#![expect(unsafe_code, reason = "vectors over raw memory")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ptr;
use std::sync::LazyLock;

#[cfg(target_arch = "x86_64")]
use crate::arch::{Level, at_v3, at_v4, level};

/// Lines of a stripe, and groups of a chunk.
pub(crate) const LINES: usize = 16;
/// 32-bit words of a chunk.
pub(crate) const CHUNK: usize = LINES * LINES;

/// What a kernel takes packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Bytes as they are.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "of AMX"))]
    Bytes,
    /// Bytes, those of the left matrix signed and those of the right one not: 128 is taken or added where they are not so.
    Mixed,
    /// Numbers of 16 bits.
    Halves,
}

/// A product of packed stripes.
pub(crate) struct Block {
    /// The stripes of the left and of the right matrix, one after the other, each of so many chunks, at multiples of 64 bytes.
    pub a: *const u32,
    pub b: *const u32,
    pub chunks: usize,
    /// The groups of a line, up to the last that is not all zeros.
    pub groups: usize,
    /// Whether the bytes are signed.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "asked for by kernels on bytes"))]
    pub signed: (bool, bool),
    /// The size of the result, and its elements from a row to the next.
    pub rows: usize,
    pub columns: usize,
    pub out: *mut i32,
    pub ldo: usize,
    /// Whether the product is added to what is there.
    pub add: bool,
    /// What is added to all elements of a row and to all of a column, for [`Form::Mixed`] alone; as many as there are lines in
    /// the stripes.
    pub of_rows: *const i32,
    pub of_columns: *const i32,
}

/// A way to make products of blocks.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub form: Form,
    /// Estimated multiplications and additions a nanosecond on one thread.
    pub per_ns: f64,
    /// # Safety
    /// Stripes cover the rows and columns of the block, and are readable; `out` is writable, and readable if something is added
    /// to it. The machine has the instructions.
    pub run: unsafe fn(&Block),
    has: fn() -> bool,
}

/// The best kernel of this machine.
pub(crate) fn kernel() -> &'static Kernel {
    static BEST: LazyLock<&'static Kernel> =
        LazyLock::new(|| KERNELS.iter().find(|k| (k.has)()).expect("a kernel for any machine"));
    *BEST
}

/// Every kernel, the fastest first.
#[cfg(target_arch = "x86_64")]
static KERNELS: [Kernel; 7] = [
    Kernel { form: Form::Bytes, per_ns: 1000.0, run: crate::amx::run, has: crate::amx::is_there },
    Kernel {
        form: Form::Mixed,
        per_ns: 250.0,
        // SAFETY: the contract of the field, and of the trait.
        run: |block| unsafe { at_vnni(|| tiles::<Bytes16, 8>(block)) },
        has: || level() == Level::V4 && is_x86_feature_detected!("avx512vnni"),
    },
    Kernel {
        form: Form::Mixed,
        per_ns: 120.0,
        // SAFETY: the contract of the field, and of the trait.
        run: |block| unsafe { at_avx_vnni(|| tiles::<Bytes8, 4>(block)) },
        has: || level() >= Level::V3 && is_x86_feature_detected!("avxvnni"),
    },
    Kernel {
        form: Form::Halves,
        per_ns: 100.0,
        // SAFETY: the contract of the field, and of the trait.
        run: |block| unsafe { at_v4(|| tiles::<Halves16, 8>(block)) },
        has: || level() == Level::V4,
    },
    Kernel {
        form: Form::Halves,
        per_ns: 50.0,
        // SAFETY: the contract of the field, and of the trait.
        run: |block| unsafe { at_v3(|| tiles::<Halves8, 4>(block)) },
        has: || level() >= Level::V3,
    },
    Kernel {
        form: Form::Halves,
        per_ns: 25.0,
        // SAFETY: the contract of the field, and of the trait; every x86-64 has SSE2.
        run: |block| unsafe { tiles::<Halves4, 4>(block) },
        has: || true,
    },
    PORTABLE,
];
#[cfg(not(target_arch = "x86_64"))]
static KERNELS: [Kernel; 1] = [PORTABLE];

/// For any machine.
const PORTABLE: Kernel = Kernel {
    form: Form::Halves,
    per_ns: 10.0,
    // SAFETY: the contract of the field; any machine has these vectors.
    run: |block| unsafe { tiles::<Portable, 4>(block) },
    has: || true,
};

/// Every kernel that this machine has.
#[cfg(test)]
pub(crate) fn all_kernels() -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().filter(|k| (k.has)())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,bmi1,bmi2")]
fn at_vnni<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avxvnni,avx2,fma,bmi1,bmi2")]
fn at_avx_vnni<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// A vector of 32-bit sums, each of a column.
///
/// # Safety
/// All methods need their instruction set; pointers are to as many lanes.
trait Sums: Copy {
    const LANES: usize;
    unsafe fn splat(x: i32) -> Self;
    unsafe fn load(from: *const i32) -> Self;
    unsafe fn store(self, to: *mut i32);
    unsafe fn add(self, other: Self) -> Self;
    /// Adds the products of a group of the left matrix and of one of each column, all in a word.
    unsafe fn dot(self, left: i32, right: Self) -> Self;
}

/// Defines vectors by their register and its operations; `dot` names its operands.
#[cfg(target_arch = "x86_64")]
macro_rules! sums {
    ($($name:ident($register:ty): $lanes:literal, $set:ident, $load:ident, $store:ident, $add:ident;
        dot($sum:ident, $left:ident, $right:ident) => $dot:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name($register);

        impl Sums for $name {
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn splat(x: i32) -> Self {
                // SAFETY: the contract of the trait.
                Self(unsafe { $set(x) })
            }
            #[inline(always)]
            unsafe fn load(from: *const i32) -> Self {
                // SAFETY: the contract of the trait.
                Self(unsafe { $load(from.cast()) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut i32) {
                // SAFETY: the contract of the trait.
                unsafe { $store(to.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the contract of the trait.
                Self(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn dot(self, left: i32, right: Self) -> Self {
                // SAFETY: the contract of the trait.
                unsafe {
                    let ($sum, $left, $right) = (self.0, $set(left), right.0);
                    Self($dot)
                }
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
sums! {
    Bytes16(__m512i): 16, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi32;
    dot(sum, left, right) => _mm512_dpbusd_epi32(sum, right, left);

    Bytes8(__m256i): 8, _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi32;
    dot(sum, left, right) => _mm256_dpbusd_avx_epi32(sum, right, left);

    Halves16(__m512i): 16, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi32;
    dot(sum, left, right) => _mm512_add_epi32(sum, _mm512_madd_epi16(right, left));

    Halves8(__m256i): 8, _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi32;
    dot(sum, left, right) => _mm256_add_epi32(sum, _mm256_madd_epi16(right, left));

    Halves4(__m128i): 4, _mm_set1_epi32, _mm_loadu_si128, _mm_storeu_si128, _mm_add_epi32;
    dot(sum, left, right) => _mm_add_epi32(sum, _mm_madd_epi16(right, left));
}

/// Vectors of [`Form::Halves`] for any machine.
#[derive(Clone, Copy)]
struct Portable([i32; 8]);

impl Sums for Portable {
    const LANES: usize = 8;
    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        Self([x; 8])
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        // SAFETY: the contract of the trait.
        Self(unsafe { from.cast::<[i32; 8]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        // SAFETY: the contract of the trait.
        unsafe { to.cast::<[i32; 8]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].wrapping_add(other.0[i])))
    }
    #[inline(always)]
    unsafe fn dot(self, left: i32, right: Self) -> Self {
        let pair = |word: i32| [i32::from(word as i16), word >> 16];
        Self(std::array::from_fn(|i| {
            let (x, y) = (pair(left), pair(right.0[i]));
            self.0[i].wrapping_add(x[0] * y[0]).wrapping_add(x[1] * y[1])
        }))
    }
}

/// All tiles of a block, of `R` rows, a divisor of [`LINES`], by two vectors.
///
/// # Safety
/// As for [`Kernel::run`].
#[inline(always)]
unsafe fn tiles<V: Sums, const R: usize>(block: &Block) {
    // SAFETY: the stripes cover these tiles.
    unsafe {
        for column in (0..block.columns).step_by(2 * V::LANES) {
            for row in (0..block.rows).step_by(R) {
                tile::<V, R>(block, row, column);
            }
        }
    }
}

/// The tile from an element on.
///
/// # Safety
/// As for [`Kernel::run`].
#[inline(always)]
unsafe fn tile<V: Sums, const R: usize>(block: &Block, row: usize, column: usize) {
    let stripe = block.chunks * CHUNK;
    // SAFETY: lines that lie beyond the last stripe are replaced by others, and their sums are not kept.
    unsafe {
        let mut a = block.a.add(row / LINES * stripe + row % LINES * LINES).cast::<i32>();
        let there = |column: usize| if column < block.columns { column } else { 0 };
        let columns = [column, there(column + V::LANES)];
        let mut b = columns.map(|j| block.b.add(j / LINES * stripe + j % LINES).cast::<i32>());
        let of_columns = columns.map(|j| V::load(block.of_columns.add(j)));
        let mut acc: [[V; 2]; R] = std::array::from_fn(|r| {
            let of_row = V::splat(*block.of_rows.add(row + r));
            of_columns.map(|c| c.add(of_row))
        });
        let mut left = block.groups;
        while left > 0 {
            let groups = left.min(LINES);
            for g in 0..groups {
                let right = b.map(|b| V::load(b.add(g * LINES)));
                for (r, sums) in acc.iter_mut().enumerate() {
                    let word = *a.add(r * LINES + g);
                    *sums = [sums[0].dot(word, right[0]), sums[1].dot(word, right[1])];
                }
            }
            a = a.add(CHUNK);
            b = b.map(|b| b.add(CHUNK));
            left -= groups;
        }
        let width = (block.columns - column).min(2 * V::LANES);
        for (r, sums) in acc.into_iter().enumerate().take(block.rows - row) {
            let out = block.out.add((row + r) * block.ldo + column);
            if width == 2 * V::LANES {
                for (c, sums) in sums.into_iter().enumerate() {
                    let to = out.add(c * V::LANES);
                    if block.add { V::load(to).add(sums) } else { sums }.store(to);
                }
            } else {
                let mut line = [0; 2 * LINES];
                (0..2).for_each(|c| sums[c].store(line.as_mut_ptr().add(c * V::LANES)));
                put(&line[..width], out, block.add);
            }
        }
    }
}

/// Stores a part of a row.
///
/// # Safety
/// `to` is writable for as many elements, and readable if `add`.
#[inline(always)]
pub(crate) unsafe fn put(line: &[i32], to: *mut i32, add: bool) {
    // SAFETY: the caller's contract.
    unsafe {
        if add {
            line.iter().enumerate().for_each(|(j, x)| *to.add(j) = x.wrapping_add(*to.add(j)));
        } else {
            ptr::copy_nonoverlapping(line.as_ptr(), to, line.len());
        }
    }
}
