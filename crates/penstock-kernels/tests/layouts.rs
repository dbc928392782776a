//! Kernels on the layouts that have loops of their own: narrow, short, long, along other axes than the last.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use penstock_data::{DType, DTypeSet, f16};
use penstock_kernels::gather::{self, Indices};
use penstock_kernels::positions::{Nonzero, linear};
use penstock_kernels::segment::{Empty, Segments, segment_reduce};
use penstock_kernels::sort::{Direction, Rows, select, sort};
use penstock_kernels::{Binary, Lane, Reduce, arg_reduce, binary, copy, reduce};

/// Numbers below `below` in no order.
fn scrambled(n: usize, below: u64) -> impl Iterator<Item = u64> {
    (0..n as u64).map(move |i| ((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % below)
}

fn indices(list: &[i32]) -> Indices {
    Indices { ptr: list.as_ptr().cast(), dtype: DType::I32, count: list.len() }
}

#[test]
fn narrow_matrices_are_turned() {
    for width in 1..18 {
        for length in [1, 15, 16, 17, 300, 40_001] {
            let x: Vec<u32> = (0..(width * length) as u32).collect();
            let (mut out, mut back) = (vec![0u32; x.len()], vec![0u32; x.len()]);
            // SAFETY: buffers of these dimensions.
            unsafe {
                copy::transpose(4, x.as_ptr().cast(), &[length, width], &[1, 0], out.as_mut_ptr().cast());
                copy::transpose(4, out.as_ptr().cast(), &[width, length], &[1, 0], back.as_mut_ptr().cast());
            }
            assert!((0..x.len()).all(|i| out[i] == x[i % length * width + i / length]), "{width} {length}");
            assert_eq!(back, x);
        }
    }
}

#[test]
fn parts_of_any_size_are_joined_and_cut() {
    for bytes in [1, 2, 3, 4, 8, 12, 16, 100] {
        for count in [1, 2, 3, 5, 8, 9, 40] {
            for outer in [1, 2, 33, 3000] {
                let size = |i: usize| if count == 3 { bytes * (i + 1) } else { bytes };
                let parts: Vec<Vec<u8>> =
                    (0..count).map(|i| scrambled(size(i) * outer, 251).map(|b| b as u8 ^ i as u8).collect()).collect();
                let pitch: usize = (0..count).map(size).sum();
                let mut joined = vec![0u8; pitch * outer];
                let ins: Vec<_> = parts.iter().enumerate().map(|(i, p)| (p.as_ptr(), size(i))).collect();
                let mut cut: Vec<Vec<u8>> = parts.iter().map(|p| vec![0; p.len()]).collect();
                let outs: Vec<_> = cut.iter_mut().enumerate().map(|(i, p)| (p.as_mut_ptr(), size(i))).collect();
                // SAFETY: buffers of these sizes.
                unsafe {
                    copy::concat(&ins, outer, joined.as_mut_ptr());
                    copy::split(joined.as_ptr(), outer, &outs);
                }
                let mut at = 0;
                for (i, part) in parts.iter().enumerate() {
                    for (row, block) in joined.chunks_exact(pitch).zip(part.chunks_exact(size(i))) {
                        assert_eq!(&row[at..at + size(i)], block, "{bytes} {count} {outer}");
                    }
                    at += size(i);
                }
                assert_eq!(cut, parts);
            }
        }
    }
}

#[test]
fn rows_of_any_size_are_gathered_and_the_first_bad_index_is_named() {
    let (outer, n, count) = (3, 50, 40_000);
    for bytes in [1usize, 2, 4, 7, 8, 16, 40] {
        let x: Vec<u8> = scrambled(outer * n * bytes, 256).map(|b| b as u8).collect();
        let mut list: Vec<i32> = scrambled(count, n as u64).map(|i| i as i32).collect();
        let mut out = vec![0u8; outer * count * bytes];
        // SAFETY: buffers of these sizes.
        let mut run = |list: &[i32]| unsafe {
            gather::gather(x.as_ptr(), outer, n, bytes, indices(list), out.as_mut_ptr()).map(|()| out.clone())
        };
        let out = run(&list).unwrap();
        for (at, row) in out.chunks_exact(bytes).enumerate() {
            let from = (at / count * n + list[at % count] as usize) * bytes;
            assert_eq!(row, &x[from..from + bytes]);
        }
        (list[30_000], list[39_000]) = (n as i32, -1);
        assert_eq!(run(&list), Err(30_000));
        list[17] = i32::MIN;
        assert_eq!(run(&list), Err(17));
    }
}

/// Indices below `n` that follow each other in runs of up to `most`.
fn in_runs(count: usize, n: usize, most: u64) -> Vec<i32> {
    let mut list: Vec<i32> = Vec::new();
    for (first, len) in scrambled(count, n as u64).zip(scrambled(count + 1, most).skip(1)) {
        list.extend((first..(first + len + 1).min(n as u64)).map(|i| i as i32));
    }
    list.truncate(count);
    list
}

#[test]
fn indices_that_follow_each_other_are_gathered_and_summed_as_others_are() {
    let n = 60;
    for (outer, bytes) in
        [1usize, 2, 40].into_iter().flat_map(|o| [1, 2, 4, 8, 12, 16, 20, 40, 100, 600].map(|b| (o, b)))
    {
        let mut list = in_runs(500, n, 50);
        let x: Vec<u8> = scrambled(outer * n * bytes, 256).map(|b| b as u8).collect();
        let mut out = vec![0u8; outer * list.len() * bytes];
        // SAFETY: buffers of these sizes.
        let mut run = |list: &[i32]| unsafe {
            gather::gather(x.as_ptr(), outer, n, bytes, indices(list), out.as_mut_ptr()).map(|()| out.clone())
        };
        let found = run(&list).unwrap();
        for (at, row) in found.chunks_exact(bytes).enumerate() {
            let from = (at / list.len() * n + list[at % list.len()] as usize) * bytes;
            assert_eq!(row, &x[from..from + bytes], "{outer} {bytes}");
        }
        (list[70], list[71], list[400]) = (-1, 0, n as i32);
        assert_eq!(run(&list), Err(70));
        list[70] = 0;
        assert_eq!(run(&list), Err(400));
    }
    fn sums<T: Copy + PartialEq + std::fmt::Debug>(dtype: DType, of: impl Fn(f64) -> T) {
        let n = 60;
        for (blocks, width, most) in
            [(1, 1, 50), (3, 1, 9), (1, 7, 50), (4, 5, 20), (5, 80, 50), (1, 80, 50), (3, 2, 1)]
        {
            let mut ids = in_runs(300, n, most);
            ids[20..40].fill(-1);
            ids[100] = -1;
            let x: Vec<f64> = scrambled(blocks * ids.len() * width, 9).map(|v| v as f64 - 4.0).collect();
            let mut want = vec![0.0; blocks * n * width];
            for (at, v) in x.iter().enumerate() {
                let (block, row, column) = (at / width / ids.len(), at / width % ids.len(), at % width);
                if ids[row] >= 0 {
                    want[(block * n + ids[row] as usize) * width + column] += v;
                }
            }
            let [x, want] = [x, want].map(|v| v.into_iter().map(&of).collect::<Vec<T>>());
            let mut found = vec![of(9.0); want.len()];
            let segments = Segments { ids: indices(&ids), n, width, blocks, sorted: false };
            // SAFETY: buffers of these sizes.
            unsafe {
                segment_reduce(Reduce::Sum, dtype, x.as_ptr().cast(), segments, Empty::Zero, found.as_mut_ptr().cast())
            }
            .unwrap();
            assert_eq!(found, want, "{dtype} {blocks} {width}");
        }
    }
    sums(DType::F32, |x| x as f32);
    sums(DType::F64, |x| x);
    sums(DType::F16, f16::from_f64);
    sums(DType::I32, |x| x as i32);
    sums(DType::I8, |x| x as i8);
}

#[test]
fn short_runs_are_reduced_one_by_one() {
    for width in 1..40 {
        for rows in [1, 2, 7, 64, 1000] {
            let x: Vec<f32> = scrambled(rows * width, 100).map(|v| v as f32 * 0.3).collect();
            for (op, f) in [(Reduce::Sum, (|a, b| a + b) as fn(f32, f32) -> f32), (Reduce::Max, f32::max)] {
                let mut out = vec![9f32; rows];
                // SAFETY: buffers of these sizes.
                unsafe {
                    reduce(op, DType::F32, x.as_ptr().cast(), &[rows, width], &[false, true], out.as_mut_ptr().cast())
                };
                for (row, &found) in x.chunks_exact(width).zip(&out) {
                    let start = if op == Reduce::Sum { 0.0 } else { f32::NEG_INFINITY };
                    let want = row.iter().copied().fold(start, f);
                    assert!((found - want).abs() <= 1e-4 * want.abs(), "{op:?} {rows} {width}: {found} for {want}");
                }
            }
        }
    }
}

#[test]
fn updates_are_combined_as_the_operators_do() {
    let ops = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Max, Binary::Min];
    let (n, list) = (7, scrambled(60, 7).map(|i| i as i32).collect::<Vec<_>>());
    for dtype in DTypeSet::NUMERIC.iter() {
        for op in ops.into_iter().filter(|&op| op != Binary::Div || DTypeSet::INEXACT.contains(dtype)) {
            let Some(f) = binary(op, dtype) else { continue };
            for width in [1, 3, 9] {
                let size = dtype.size();
                // Finite numbers other than 0 in every dtype.
                const NUMBER: u128 = 0x3f3f_4040_3f3f_4040_3f3f_4040_3f3f_4040;
                let bytes =
                    |n: usize| -> Vec<u128> { (0..n as u128).map(|i| NUMBER ^ (i & 63) << 64 ^ i & 63).collect() };
                let (updates, mut got) = (bytes(list.len() * width * size / 16 + 1), bytes(n * width * size / 16 + 1));
                let mut want = got.clone();
                // SAFETY: buffers of at least these sizes.
                unsafe {
                    let from = updates.as_ptr().cast::<u8>();
                    for (i, &row) in list.iter().enumerate() {
                        let to = want.as_mut_ptr().cast::<u8>().add(row as usize * width * size);
                        let lanes = [Lane::new(to, size), Lane::new(from.add(i * width * size), size)];
                        f(width, &lanes, to).unwrap();
                    }
                    gather::scatter(Some(op), dtype, from, indices(&list), width, n, got.as_mut_ptr().cast()).unwrap();
                }
                assert_eq!(got, want, "{} {dtype} {width}", op.name());
            }
        }
    }
}

#[test]
fn the_last_update_of_a_row_stays() {
    let list: Vec<i32> = scrambled(500, 30).map(|i| i as i32).collect();
    for (size, width) in [(1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (4, 5)] {
        let bytes = size * width;
        let updates: Vec<u128> =
            scrambled(list.len() * bytes / 16 + 1, u64::MAX).map(|b| u128::from(b) << 30).collect();
        let mut out = vec![0u128; 30 * bytes / 16 + 1];
        let dtype = match size {
            1 => DType::U8,
            2 => DType::F16,
            4 => DType::F32,
            8 => DType::I64,
            _ => DType::C128,
        };
        // SAFETY: buffers of at least these sizes.
        unsafe {
            gather::scatter(None, dtype, updates.as_ptr().cast(), indices(&list), width, 30, out.as_mut_ptr().cast())
                .unwrap();
            for row in 0..30 {
                let Some(last) = list.iter().rposition(|&i| i == row as i32) else { continue };
                let got = std::slice::from_raw_parts(out.as_ptr().cast::<u8>().add(row * bytes), bytes);
                let want = std::slice::from_raw_parts(updates.as_ptr().cast::<u8>().add(last * bytes), bytes);
                assert_eq!(got, want);
            }
        }
    }
}

#[test]
fn extremes_of_columns_have_the_places_of_the_first() {
    for (outer, n, inner) in [(1, 1, 7), (2, 3000, 1), (2, 50, 300), (1, 2500, 513), (3, 1, 1)] {
        let mut x: Vec<f32> = scrambled(outer * n * inner, 50).map(|v| v as f32).collect();
        for (i, v) in x.iter_mut().enumerate() {
            *v = if i % 4999 == 4000 { f32::NAN } else { *v };
        }
        for max in [true, false] {
            let mut out = vec![0i64; outer * inner];
            // SAFETY: buffers of these dimensions.
            unsafe {
                arg_reduce(max, DType::F32, x.as_ptr().cast(), outer, n, inner, DType::I64, out.as_mut_ptr().cast())
            };
            for (k, &got) in out.iter().enumerate() {
                let at = |i: usize| x[(k / inner * n + i) * inner + k % inner];
                let beats = |a: f32, b: f32| !b.is_nan() && (a.is_nan() || if max { a > b } else { a < b });
                let want = (1..n).fold(0, |b, i| if beats(at(i), at(b)) { i } else { b });
                assert_eq!(got as usize, want, "{n} {inner} {max} {k}");
            }
        }
    }
}

#[test]
fn any_byte_but_0_is_true_wherever_it_is() {
    for n in [1usize, 31, 32, 4097, 300_000] {
        for at in [None, Some(0), Some(n / 2), Some(n - 1)] {
            for dims in [[n, 1], [1, n], [n.div_ceil(3), 3]] {
                let total = dims[0] * dims[1];
                for op in [Reduce::Any, Reduce::All] {
                    let mut x = vec![if op == Reduce::Any { 0u8 } else { 2 }; total];
                    if let Some(at) = at {
                        x[at] = if op == Reduce::Any { 128 } else { 0 };
                    }
                    for axes in [[true, true], [true, false]] {
                        let kept = if axes[1] { 1 } else { dims[1] };
                        let mut out = vec![9u8; kept];
                        // SAFETY: buffers of these dimensions.
                        unsafe { reduce(op, DType::Bool, x.as_ptr(), &dims, &axes, out.as_mut_ptr()) };
                        for (c, &got) in out.iter().enumerate() {
                            let hit = at.is_some_and(|at| axes[1] || at % dims[1] == c);
                            assert_eq!(got, u8::from(hit == (op == Reduce::Any)), "{n} {at:?} {dims:?} {axes:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn columns_are_summed_in_the_same_order_whatever_the_number_of_threads() {
    let (rows, columns) = (517, 2300);
    let x: Vec<f32> = scrambled(rows * columns, 1 << 20).map(|v| v as f32 * 1e-3).collect();
    let sums = |threads: usize| {
        penstock_kernels::pool::set_threads(threads);
        let mut out = vec![0f32; columns];
        // SAFETY: buffers of these dimensions.
        unsafe {
            reduce(
                Reduce::Sum,
                DType::F32,
                x.as_ptr().cast(),
                &[rows, columns],
                &[true, false],
                out.as_mut_ptr().cast(),
            );
        }
        out
    };
    let one = sums(1);
    assert_eq!(one, sums(2));
    assert_eq!(one, sums(5));
    for (c, &sum) in one.iter().enumerate() {
        let exact: f64 = (0..rows).map(|r| f64::from(x[r * columns + c])).sum();
        assert!((f64::from(sum) - exact).abs() <= exact * 1e-6);
    }
}

/// Rows along the middle axis, sorted plainly: by number, NaN last, equal ones in order.
fn sorted(x: &[f64], rows: Rows, r: usize, descending: bool) -> Vec<usize> {
    let start = r / rows.inner * rows.n * rows.inner + r % rows.inner;
    let at = |i: usize| x[start + i * rows.inner];
    let mut order: Vec<usize> = (0..rows.n).collect();
    order.sort_by(|&a, &b| {
        let order = at(a).partial_cmp(&at(b)).unwrap_or_else(|| at(a).is_nan().cmp(&at(b).is_nan()));
        if descending { order.reverse() } else { order }
    });
    order.into_iter().map(|i| start + i * rows.inner).collect()
}

/// Sorts rows of numbers as elements of a dtype, and selects from them.
fn check_orders<T: Copy>(
    dtype: DType,
    rows: Rows,
    x: &[f64],
    of: fn(f64) -> T,
    number: fn(T) -> f64,
    bits: fn(T) -> u64,
) {
    let Rows { outer, n, inner } = rows;
    let values: Vec<T> = x.iter().map(|&v| of(v)).collect();
    let plain: Vec<f64> = values.iter().map(|&v| number(v)).collect();
    let start = |r: usize, n: usize| r / inner * n * inner + r % inner;
    for direction in [Direction::Ascending, Direction::Descending] {
        let descending = direction == Direction::Descending;
        let orders: Vec<Vec<usize>> = (0..outer * inner).map(|r| sorted(&plain, rows, r, descending)).collect();
        let mut out = values.clone();
        // SAFETY: buffers of these dimensions.
        unsafe { sort(dtype, rows, direction, values.as_ptr().cast(), out.as_mut_ptr().cast()) };
        for (r, order) in orders.iter().enumerate() {
            for (i, &from) in order.iter().enumerate() {
                assert_eq!(bits(out[start(r, n) + i * inner]), bits(values[from]), "{dtype} {n} {inner} {i}");
            }
        }
        for k in [0, 1, 3, n / 3, n].into_iter().filter(|&k| k <= n) {
            let (mut places, mut best) = (vec![0i32; outer * k * inner], values.clone());
            let to = Some(best.as_mut_ptr().cast());
            // SAFETY: buffers of at least these dimensions.
            unsafe {
                let from = values.as_ptr().cast();
                select(dtype, rows, k, direction, from, to, DType::I32, places.as_mut_ptr().cast());
            }
            for (r, order) in orders.iter().enumerate() {
                for (j, &from) in order.iter().take(k).enumerate() {
                    let to = start(r, k) + j * inner;
                    assert_eq!(places[to] as usize, (from - start(r, n)) / inner, "{dtype} {n} {k} {r}");
                    assert_eq!(bits(best[to]), bits(values[from]));
                }
            }
        }
    }
}

#[test]
fn rows_of_any_length_are_sorted_and_selected_from() {
    for (outer, n, inner) in
        [(1, 1, 1), (3, 0, 2), (40, 10, 1), (5, 33, 7), (2, 256, 9), (1, 300, 5), (1, 3000, 2), (1, 9000, 1), (0, 4, 4)]
    {
        let rows = Rows { outer, n, inner };
        let x: Vec<f64> = scrambled(outer * n * inner, 60)
            .map(|v| match v {
                0 => f64::NAN,
                1 => -0.0,
                2 => 0.0,
                3 => f64::INFINITY,
                _ => v as f64 - 30.0,
            })
            .collect();
        check_orders::<f32>(DType::F32, rows, &x, |v| v as f32, f64::from, |v| u64::from(v.to_bits()));
        check_orders::<f64>(DType::F64, rows, &x, |v| v, |v| v, f64::to_bits);
        check_orders::<i16>(DType::I16, rows, &x, |v| v as i16, f64::from, |v| v as u64);
        check_orders::<u64>(DType::U64, rows, &x, |v| (v * 1e15) as u64, |v| v as f64, |v| v);
    }
}

fn found(values: &[f32], dims: &[usize]) -> Vec<i64> {
    // SAFETY: buffers of these extents.
    unsafe {
        let x = values.as_ptr().cast();
        let nonzero = Nonzero::count(DType::F32, x, values.len());
        let mut out = vec![-1; nonzero.total() * dims.len()];
        nonzero.write(DType::F32, x, dims, out.as_mut_ptr());
        out
    }
}

#[test]
fn what_is_not_zero_is_found_in_order() {
    assert_eq!(found(&[0.0, f32::NAN, -0.0, -1.0], &[4]), [1, 3]);
    assert_eq!(found(&[0.0, 1.0, 2.0, 0.0, 0.0, 5.0], &[3, 2]), [0, 1, 1, 0, 2, 1]);
    assert_eq!(found(&[], &[0, 3]), [0i64; 0]);
    assert_eq!(found(&[1.0], &[]), [0i64; 0]);
    for (dims, every) in [(vec![200_001], 3), (vec![70, 1, 3001], 7), (vec![200_001, 1], 1), (vec![3, 66_667], 100_000)]
    {
        let n: usize = dims.iter().product();
        let values: Vec<f32> = (0..n).map(|i| f32::from(u8::from(i % every == 0))).collect();
        let mut want = Vec::new();
        for mut at in (0..n).step_by(every) {
            let mut row: Vec<i64> = Vec::new();
            for d in dims.iter().rev() {
                row.insert(0, (at % d) as i64);
                at /= d;
            }
            want.extend(row);
        }
        assert_eq!(found(&values, &dims), want, "{dims:?}");
    }
}

#[test]
fn rows_of_indices_name_positions() {
    let rows = [1i32, 2, 0, 0, 2, 1];
    let indices = |count| Indices { ptr: rows.as_ptr().cast(), dtype: DType::I32, count };
    let mut out = [0i64; 3];
    // SAFETY: three rows and results.
    unsafe {
        assert_eq!(linear(indices(6), &[3, 3], out.as_mut_ptr()), Ok(()));
        assert_eq!(out, [5, 0, 7]);
        assert_eq!(linear(indices(6), &[2, 3], out.as_mut_ptr()), Err(2));
        assert_eq!(linear(indices(0), &[0, 3], out.as_mut_ptr()), Ok(()));
    }
    let far = [(1i64 << 33) - 1, 3, -1, 0];
    let far = |count| Indices { ptr: far.as_ptr().cast(), dtype: DType::I64, count };
    // SAFETY: at most two rows and results.
    unsafe {
        assert_eq!(linear(far(2), &[1 << 33, 5], out.as_mut_ptr()), Ok(()));
        assert_eq!(out[0], ((1 << 33) - 1) * 5 + 3);
        assert_eq!(linear(far(4), &[1 << 33, 5], out.as_mut_ptr()), Err(1));
    }
}

#[test]
fn elements_are_repeated_where_they_stand() {
    for times in [1, 2, 3, 5, 8, 9] {
        for (outer, n) in [(1, 1), (1, 15), (1, 1000), (3, 17), (40, 700)] {
            let x: Vec<u16> = (0..(outer * n) as u16).collect();
            let mut out = vec![0u16; x.len() * times];
            // SAFETY: buffers of these extents.
            unsafe {
                copy::broadcast_to(2, x.as_ptr().cast(), &[outer, n, 1], &[outer, n, times], out.as_mut_ptr().cast());
            }
            assert!(out.iter().enumerate().all(|(i, &v)| v == x[i / times]), "{outer} {n} {times}");
        }
    }
}

#[test]
fn short_rows_are_tiled() {
    for (rows, width, times) in [(1, 4, 3), (300, 4, 3), (50_000, 4, 3), (7, 3, 1), (9, 100, 2), (1000, 1, 5)] {
        let x: Vec<u32> = (0..(rows * width) as u32).collect();
        let mut out = vec![0u32; x.len() * times];
        // SAFETY: buffers of these extents.
        unsafe { copy::tile(4, x.as_ptr().cast(), &[rows, width], &[1, times], out.as_mut_ptr().cast()) };
        let row = width * times;
        assert!(out.iter().enumerate().all(|(i, &v)| v == x[i / row * width + i % row % width]), "{rows} {width}");
    }
}

#[test]
fn elements_of_a_segment_lie_side_by_side_or_apart() {
    let runs = [(2, 1), (0, 2), (-1, 40), (3, 31), (2, 33), (5, 5000), (0, 1), (3, 70_000), (7, 1)];
    let ids: Vec<i64> = runs.iter().flat_map(|&(id, n)| std::iter::repeat_n(id, n)).collect();
    let x: Vec<f32> = scrambled(ids.len(), 100).map(|v| v as f32).collect();
    for (op, start, join) in
        [(Reduce::Sum, 0.0, (|a, b| a + b) as fn(f32, f32) -> f32), (Reduce::Max, f32::NEG_INFINITY, f32::max)]
    {
        let mut want = [start; 8];
        for (&id, &v) in ids.iter().zip(&x).filter(|(id, _)| **id >= 0) {
            want[id as usize] = join(want[id as usize], v);
        }
        for (id, value) in want.iter_mut().enumerate() {
            *value = if ids.contains(&(id as i64)) { *value } else { 0.0 };
        }
        let named = |count| Indices { ptr: ids.as_ptr().cast(), dtype: DType::I64, count };
        let mut out = [9f32; 8];
        let to = out.as_mut_ptr().cast();
        // SAFETY: buffers of these extents.
        unsafe {
            let all = Segments { ids: named(ids.len()), n: 8, width: 1, blocks: 1, sorted: false };
            segment_reduce(op, DType::F32, x.as_ptr().cast(), all, Empty::Zero, to).unwrap();
            assert_eq!(out, want, "{op:?}");
            // The first that is not below the number of segments is named; negative ones are.
            let few = Segments { n: 5, ..all };
            assert_eq!(segment_reduce(op, DType::F32, x.as_ptr().cast(), few, Empty::Zero, to), Err(107));
            assert_eq!(named(ids.len()).first_descent(), Some(1));
        }
    }
}

#[test]
fn the_first_index_out_of_order_is_found() {
    for n in [0, 1, 2, 1023, 1024, 1025, 5000] {
        let ascending: Vec<i32> = (0..n).map(|i| i / 3).collect();
        // SAFETY: the indices are readable.
        unsafe { assert_eq!(indices(&ascending).first_descent(), None) };
        for at in (1..n as usize).filter(|&at| at < 4 || (1022..1028).contains(&at) || at + 1 == n as usize) {
            let mut list = ascending.clone();
            list[at] = -1;
            // SAFETY: the indices are readable.
            unsafe { assert_eq!(indices(&list).first_descent(), Some(at), "{n}") };
        }
    }
    // SAFETY: the indices are readable.
    unsafe { assert_eq!(indices(&[-1, 0]).first_descent(), Some(0)) };
}
