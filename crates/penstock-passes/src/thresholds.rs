//! The sizes and costs from which the passes and the planner act, in one table.

use penstock_data::{Error, Result};

/// Declares the table: what acts only *from* a size or cost on, and what acts only *up to* one, each with its ordinary value and
/// with the least value with which results are right.
macro_rules! table {
    ($($(#[$doc:meta])* $kind:ident $name:ident: $ty:ty = $usual:expr, $least:expr;)*) => {
        /// The sizes and costs from which the passes and the planner act.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct Thresholds {
            $($(#[$doc])* pub $name: $ty,)*
        }

        impl Thresholds {
            /// Those with which programs run.
            pub const DEFAULT: Thresholds = Thresholds { $($name: $usual,)* };
            /// Lower bounds at their least, so that small programs on small arrays reach every pass and every kind of step.
            pub const SMALL: Thresholds = Thresholds { $($name: table!(@$kind $usual, $least),)* };

            /// Each at its ordinary or at its least value, as the bits of a random number say.
            pub fn mixed(seed: u64) -> Thresholds {
                let mut state = seed;
                let mut coin = move || {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    state >> 63 == 1
                };
                Thresholds { $($name: if coin() { $usual } else { $least },)* }
            }
        }
    };
    (@from $usual:expr, $least:expr) => { $least };
    (@upto $usual:expr, $least:expr) => { $usual };
}

table! {
    /// The bytes of a result from which elementwise instructions are grouped: what is read and made of fewer stays in the
    /// first-level cache anyway.
    from fused_bytes: usize = 16 << 10, 0;
    /// The same in a loop, where a compiled group takes less than several loops over what is in the cache,
    from fused_bytes_in_loop: usize = 2 << 10, 0;
    /// and the instructions of such a group.
    from fused_insts_in_loop: usize = 3, 2;
    /// The instructions of a group.
    upto fused_insts: usize = 256, 3;
    /// The operands of a group, single elements aside: streams that are read at the same time.
    upto fused_streams: usize = 32, 2;
    /// The bytes of a row whose elements are read again after it was reduced: it stays in the second-level cache.
    upto fused_row_bytes: usize = 256 << 10, 8;
    /// The instructions that pay for entering and leaving machine code.
    from native_insts: usize = 4, 1;
    /// The instructions of a region of machine code: what compiles in a few milliseconds.
    upto native_insts_most: usize = 512, 16;
    /// The bytes of a small array in machine code: larger ones are worth a step of a plan.
    upto native_bytes: usize = 16 << 10, 16;
    /// The runs of a region of machine code without a loop before it is compiled: each saves about 5 ns an instruction, and
    /// compiling takes about 10 µs an instruction.
    from native_after: u32 = 1000, 0;
    /// The bytes of the result of an instruction on constants that is computed ahead: more would only make the graph larger.
    upto folded_bytes: usize = 64 << 10, 16;
    /// The indices of a dimension whose slices are taken together.
    from unstack_indices: usize = 4, 1;
    /// The rows of a product for which it pays to copy columns of its right matrix.
    from narrow_rows: usize = 8, 1;
    /// The multiplications of a product that is made of all rows in front of a loop: more keep threads and caches busy.
    upto lifted_work: usize = 4 << 20, 16;
    /// The iterations of a loop that are made at once.
    upto unrolled_iterations: usize = 16, 2;
    /// The estimated nanoseconds of a kernel that runs at the same time as others: a few times what it takes threads to meet,
    from concurrent_ns: u64 = 50_000, 0;
    /// and those for each element, from which it computes more than it moves.
    from concurrent_ns_per_element: f64 = 2.0, 0.0;
    /// The estimated nanoseconds of what a thread is handed of a fused region, or of a pipeline of long rows.
    from piece_ns: f64 = 20_000.0, 1.0;
    /// The bytes of memory that a thread goes through in a block of a pipeline, but no more than half of its second-level cache.
    from block_bytes: usize = 1 << 20, 0;
    /// The rows of a pipeline whose rows are outermost indices,
    from outermost_rows: usize = 4, 1;
    /// those of a chunk for each that is computed on both sides of its border,
    from chunk_halo: usize = 12, 1;
    /// and the estimated nanoseconds of such a pipeline that threads may share unevenly.
    upto outermost_uneven_ns: f64 = 100_000.0, 0.0;
    /// The rows of a product that is a stage,
    from product_rows: usize = 16, 1;
    /// those of a block of a long product, as fewer make too little of each element of the right matrix,
    from block_rows: usize = 64, 8;
    /// the estimated nanoseconds of a pipeline of products,
    from pipeline_ns: u64 = 10_000, 0;
    /// those of what a thread is handed of a pipeline at the least,
    from pipeline_piece_ns: u64 = 5_000, 1;
    /// and those of a product that is short: a longer one is worth sharing by itself.
    upto short_product_ns: f64 = 40_000.0, 0.0;
    /// The estimated nanoseconds of what a thread is handed of a row loop,
    from row_loop_piece_ns: u64 = 20_000, 1;
    /// those of a thread between two polls of the host,
    from row_loop_poll_ns: u64 = 1_000_000, 1;
    /// those of an iteration that threads may be missing in,
    upto row_loop_uneven_ns: u64 = 80_000, 0;
    /// and the bytes of a matrix by which each thread multiplies its rows.
    upto row_loop_matrix_bytes: usize = 1 << 20, 0;
    /// The bytes of the temporaries of a tile: what stays in the first-level cache,
    from tile_bytes: usize = 24 << 10, 0;
    /// the elements of a tile, a multiple of the lanes in which reductions accumulate,
    from tile_elements: usize = 512, 32;
    /// and those of a part of a long row that a thread is handed.
    from tile_piece: usize = 1 << 14, 32;
    /// The columns of rows that are short: several of them make a tile.
    upto tile_short: usize = 512, 2;
    /// The elements that a call of a step costs as much as.
    from tile_call: usize = 96, 1;
    /// The vectors of a row that is read where it lies in a window.
    from vector_row: usize = 3, 1;
    /// The bytes of the result of an elementwise instruction that may be written over an operand.
    from in_place_bytes: usize = 256 << 10, 0;
    /// The elements of an elementwise loop that counts as work.
    from long_loop: usize = 1 << 14, 0;
    /// The elements of the operands and results of a kernel that is not over at once.
    from brief_elements: usize = 512, 0;
    /// The estimated nanoseconds of a step that runs on a thread of its own, where it can be abandoned. Starting a thread takes
    /// some thousandths of that, and an interrupt has to be seen within a tenth of a second, so the estimate may be several
    /// times too low.
    from heavy_ns: f64 = 2e7, 0.0;
    /// The bytes of registers that give their memory back to the pool between runs.
    from kept_bytes: usize = 64 << 20, 0;
    /// The estimated nanoseconds of a run that is light.
    upto light_ns: u64 = 5_000, 0;
}

impl From<Thresholds> for crate::Options {
    /// Every pass, with these thresholds.
    fn from(thresholds: Thresholds) -> crate::Options {
        crate::Options { thresholds, ..crate::Options::default() }
    }
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds::DEFAULT
    }
}

impl Thresholds {
    /// Those that `PENSTOCK_THRESHOLDS` names: `default`, `small`, or the number of a [mixture](Thresholds::mixed).
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn from_name(name: &str) -> Result<Thresholds> {
        match name.trim() {
            "" | "default" => Ok(Thresholds::DEFAULT),
            "small" => Ok(Thresholds::SMALL),
            number => number.parse().map(Thresholds::mixed).map_err(|_| {
                Error::invalid(format!("PENSTOCK_THRESHOLDS is 'default', 'small' or a number, not '{name}'"))
            }),
        }
    }

    /// The elements, or rows, of what a thread is handed at so many nanoseconds each.
    pub fn grain(&self, ns: f64) -> usize {
        ((self.piece_ns / ns.max(1e-3)) as usize).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixtures_have_ordinary_and_least_values() {
        let some: Vec<usize> = (0..20).map(|seed| Thresholds::mixed(seed).fused_bytes).collect();
        assert!(some.contains(&Thresholds::DEFAULT.fused_bytes) && some.contains(&Thresholds::SMALL.fused_bytes));
        assert_eq!(Thresholds::mixed(7), Thresholds::mixed(7));
    }

    #[test]
    fn names_are_of_tables_or_numbers() {
        assert_eq!(Thresholds::from_name(" small").unwrap(), Thresholds::SMALL);
        assert_eq!(Thresholds::from_name("12").unwrap(), Thresholds::mixed(12));
        assert_eq!(Thresholds::from_name("").unwrap(), Thresholds::DEFAULT);
        let message = Thresholds::from_name("tiny").unwrap_err().to_string();
        assert!(message.contains("'tiny'") && message.contains("small"), "{message}");
    }

    #[test]
    fn pieces_are_those_that_kernels_hand_out() {
        for ns in [0.0, 0.25, 3.0, 1e9] {
            assert_eq!(Thresholds::DEFAULT.grain(ns), penstock_kernels::pool::grain(ns));
        }
    }
}
