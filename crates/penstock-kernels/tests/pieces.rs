//! Rows that are folded piece by piece, and work that is split over threads.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use std::sync::atomic::{AtomicUsize, Ordering};

use penstock_data::DType;
use penstock_kernels::fold::{self, Lanes};
use penstock_kernels::pool::parallel_for;
use penstock_kernels::{Reduce, reduce};

/// A row of floats whose sum depends on the order.
fn row(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 2_654_435_761) % 1000) as f32 * 1e-3 - 0.4).collect()
}

fn whole(op: Reduce, x: &[f32]) -> f32 {
    let mut out = 0f32;
    // SAFETY: the slice, and one element.
    unsafe {
        reduce(op, DType::F32, x.as_ptr().cast(), &[x.len()], &[true], (&raw mut out).cast());
    }
    out
}

#[test]
fn a_row_in_pieces_is_the_row() {
    for op in [Reduce::Sum, Reduce::Max, Reduce::Mean, Reduce::Prod] {
        let folds = fold::folds(op, DType::F32).expect("a reduction of floats");
        for n in [
            64,
            1000,
            fold::BLOCK,
            fold::BLOCK + 1,
            3 * fold::BLOCK + 77,
            fold::PART + 5,
            2 * fold::PART + fold::BLOCK + 1,
        ] {
            let x = row(n);
            let mut parts = Vec::new();
            for part in x.chunks(fold::PART) {
                let mut blocks = Vec::new();
                for block in part.chunks(fold::BLOCK) {
                    let mut lanes = Lanes::EMPTY;
                    (folds.open)(&mut lanes);
                    for piece in block.chunks(256) {
                        // SAFETY: the slice is readable.
                        unsafe { (folds.add)(&mut lanes, piece.as_ptr().cast(), piece.len()) };
                    }
                    blocks.push((folds.close)(&mut lanes));
                }
                parts.push((folds.tree)(&mut blocks));
            }
            let acc = (folds.tree)(&mut parts);
            let mut out = 0f32;
            // SAFETY: one element.
            unsafe { (folds.finish)(&acc, n, (&raw mut out).cast()) };
            assert_eq!(out.to_bits(), whole(op, &x).to_bits(), "{op:?} of {n}");
        }
    }
}

#[test]
fn short_rows_are_folded_one_by_one() {
    let folds = fold::folds(Reduce::Sum, DType::F32).expect("a reduction of floats");
    let x = row(7 * 31);
    let mut out = [0f32; 7];
    // SAFETY: 7 rows of 31 elements, and as many results.
    unsafe { (folds.rows)(x.as_ptr().cast(), 7, 31, out.as_mut_ptr().cast()) };
    for (r, sum) in out.iter().enumerate() {
        assert_eq!(*sum, whole(Reduce::Sum, &x[r * 31..(r + 1) * 31]));
    }
}

#[test]
fn dtypes_that_a_reduction_does_not_take_have_no_steps() {
    assert!(fold::folds(Reduce::Any, DType::F32).is_none());
    assert!(fold::folds(Reduce::Max, DType::C64).is_none());
    assert!(fold::folds(Reduce::Sum, DType::Bool).is_none());
}

#[test]
fn ranges_partition_the_tasks() {
    for tasks in [0, 1, 2, 7, 100, 1001] {
        for grain in [1, 3, 50, 5000] {
            let seen: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
            parallel_for(tasks, grain, |range| {
                for i in range {
                    seen[i].fetch_add(1, Ordering::Relaxed);
                }
            });
            assert!(seen.iter().all(|n| n.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn nested_use_completes() {
    let total = AtomicUsize::new(0);
    parallel_for(8, 1, |outer| {
        for _ in outer {
            parallel_for(8, 1, |inner| {
                total.fetch_add(inner.len(), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(total.load(Ordering::Relaxed), 64);
}
