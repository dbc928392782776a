//! What work costs: the measured rates of the machine in one table, and the estimates that kernels, operators and the planner make of
//! them.
//!
//! An estimate decides how work is shared among threads, and which of several ways to do it is taken. It is for one thread, and may
//! be twice too high or too low without harm. A rate belongs to a class of work, not to a case of a benchmark.

use penstock_data::DType;

use crate::arch::{Level, level};

/// How fast one thread of the machine is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// Multiplications and additions a nanosecond in a product of matrices of `f32`,
    pub f32_product: f64,
    /// of `f64`, which is also the rate of real ones in a product of complex numbers,
    pub f64_product: f64,
    /// of 16-bit floats,
    pub half_product: f64,
    /// and of integers of one byte; those of more bytes are slower by as much.
    pub byte_product: f64,
    /// Nanoseconds of a byte that is moved from one array to another.
    pub byte: f64,
    /// Nanoseconds of a byte that is written to memory, or read from there, rather than found in the cache.
    pub traffic: f64,
    /// Nanoseconds to begin with a run of bytes that follow each other.
    pub run: f64,
    /// Nanoseconds of an operation on an element of 4 bytes that is in the cache.
    pub element: f64,
    /// Nanoseconds of an element of a softmax or of a logarithm of a sum of exponentials.
    pub exponential: f64,
}

/// The rates by instruction set, from `base` to `v4`.
///
/// Those of `v4` were measured on one thread of an x86-64 server with AVX-512, each as the best of many short runs; where vectors are
/// narrower, the rates of arithmetic are scaled by their width, those of memory are the same. `make calibrate` measures all of them on
/// the machine at hand: products of 512 by 512 elements, copies of 8 MiB, runs of 64 bytes, arrays of 4,096 elements and rows of 1,000.
/// Only ratios decide, so the table holds for other machines of the kind.
const TABLE: [Rates; 3] = [
    Rates {
        f32_product: 12.5,
        f64_product: 6.25,
        half_product: 10.0,
        byte_product: 15.0,
        byte: 0.08,
        traffic: 0.05,
        run: 3.0,
        element: 0.5,
        exponential: 2.4,
    },
    Rates {
        f32_product: 50.0,
        f64_product: 25.0,
        half_product: 40.0,
        byte_product: 60.0,
        byte: 0.08,
        traffic: 0.05,
        run: 3.0,
        element: 0.25,
        exponential: 1.2,
    },
    Rates {
        f32_product: 100.0,
        f64_product: 50.0,
        half_product: 80.0,
        byte_product: 120.0,
        byte: 0.08,
        traffic: 0.05,
        run: 3.0,
        element: 0.25,
        exponential: 0.6,
    },
];

/// The rates of the instruction set that kernels run with.
#[inline]
pub fn rates() -> &'static Rates {
    match level() {
        Level::Base => &TABLE[0],
        Level::V3 => &TABLE[1],
        Level::V4 => &TABLE[2],
    }
}

/// The bytes of a core's second-level cache, as far as the machine tells.
pub fn second_level_cache() -> usize {
    let known = gemm_common::cache::CACHE_INFO[1].cache_bytes;
    if known == 0 { 1 << 20 } else { known }
}

/// Nanoseconds of a product of matrices, by its number of multiplications.
pub fn product(dtype: DType, multiplications: f64) -> f64 {
    let rates = rates();
    let flops = match dtype {
        DType::F32 => rates.f32_product,
        DType::F64 => rates.f64_product,
        // Each takes four multiplications of real numbers.
        DType::C64 => rates.f32_product / 4.0,
        DType::C128 => rates.f64_product / 4.0,
        DType::F16 | DType::Bf16 => rates.half_product,
        _ => rates.byte_product / dtype.size().max(1) as f64,
    };
    2.0 * multiplications / flops
}

/// Nanoseconds to move bytes in runs, by the number of each.
pub fn moved(bytes: f64, runs: f64) -> f64 {
    let rates = rates();
    bytes * rates.byte + runs * rates.run
}

/// How long a GPU takes where its work is small, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DeviceRates {
    /// A kernel that is launched by a graph, from the end of the one before to its own, without its work.
    pub launch: f64,
    /// An iteration of a conditional node, without its work; what the launch of a graph takes is as much.
    pub round: f64,
    /// What one block of threads takes from one barrier to the next, without its work: to read what other threads wrote, and to wait.
    pub phase: f64,
    /// A byte that one block of threads reads or writes.
    pub byte: f64,
}

/// The rates of GPUs.
///
/// `launch` and `round` are of an H200: an iteration without work took 4.4 µs there, and one of a sum and a product over 64 × 64 elements,
/// four kernels with the comparison and the copy, 15.4 µs. The others follow from its second-level cache, which answers after some 300 ns: a phase waits for it and for a barrier, and 256
/// threads have 16 bytes each on the way meanwhile.
pub const DEVICE: DeviceRates = DeviceRates { launch: 2_200.0, round: 4_400.0, phase: 500.0, byte: 0.075 };

/// What one kernel of several does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KernelWork {
    /// The bytes that it reads and writes.
    pub bytes: usize,
    /// The blocks of threads among which they are shared.
    pub blocks: usize,
}

impl DeviceRates {
    /// Nanoseconds of an iteration of these kernels, one after the other, as the body of a conditional node, where `most` blocks of threads
    /// get ahead at full speed at a time.
    pub fn nodes(&self, kernels: &[KernelWork], most: usize) -> f64 {
        let share = |work: &KernelWork| work.blocks.clamp(1, most.max(1)) as f64;
        self.round + kernels.iter().map(|work| self.launch + work.bytes as f64 * self.byte / share(work)).sum::<f64>()
    }

    /// The same as phases of one block of threads.
    pub fn one_block(&self, kernels: &[KernelWork]) -> f64 {
        kernels.iter().map(|work| self.phase + work.bytes as f64 * self.byte).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_instruction_set_is_nowhere_slower() {
        for pair in TABLE.windows(2) {
            let (low, high) = (&pair[0], &pair[1]);
            assert!(low.f32_product <= high.f32_product && low.f64_product <= high.f64_product);
            assert!(low.half_product <= high.half_product && low.byte_product <= high.byte_product);
            assert!(low.element >= high.element && low.exponential >= high.exponential);
        }
    }

    #[test]
    fn products_cost_by_what_they_multiply() {
        assert!(product(DType::F64, 1e6) > product(DType::F32, 1e6));
        assert!(product(DType::C64, 1e6) > product(DType::F32, 1e6));
        assert!(product(DType::I64, 1e6) > product(DType::I8, 1e6));
        assert!(moved(1e6, 1.0) < moved(1e6, 1e5));
    }

    #[test]
    fn one_block_is_for_few_bytes() {
        let kernels = |bytes| [KernelWork { bytes, blocks: bytes.div_ceil(4096) }; 4];
        for (bytes, is_ahead) in [(0, true), (4 << 10, true), (32 << 10, true), (1 << 20, false)] {
            let kernels = kernels(bytes);
            assert_eq!(DEVICE.one_block(&kernels) < DEVICE.nodes(&kernels, 132), is_ahead, "{bytes} bytes");
        }
    }
}
