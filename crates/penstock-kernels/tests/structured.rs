//! Reductions, scans, softmax, copies, gathers and matrix products against plain models.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use penstock_data::{Bool8, DType, DTypeSet, Element, bf16, f16, with_dtype};
use penstock_kernels::gather::{self, Indices};
use penstock_kernels::segment::{Empty, Segments, segment_reduce};
use penstock_kernels::{
    Binary, Cumulative, Lane, Reduce, arg_reduce, cast, copy, cumulative, matmul, matmul_batched, pool, reduce,
    reduce_dtypes, softmax,
};
use proptest::prelude::*;

/// Converts to a dtype, giving raw memory aligned for any.
fn to_raw(dtype: DType, values: &[f64]) -> Vec<u128> {
    let mut raw = vec![0u128; values.len() * dtype.size() / 16 + 1];
    let lanes = [Lane::new(values.as_ptr().cast(), 8)];
    // SAFETY: as many elements on both sides.
    unsafe { cast(DType::F64, dtype).unwrap()(values.len(), &lanes, raw.as_mut_ptr().cast()).unwrap() };
    raw
}

/// Converts from a dtype (the real part of complex numbers).
fn from_raw(dtype: DType, raw: &[u128], n: usize) -> Vec<f64> {
    let mut values = vec![0f64; n];
    let lanes = [Lane::new(raw.as_ptr().cast(), dtype.size())];
    // SAFETY: as many elements on both sides.
    unsafe { cast(dtype, DType::F64).unwrap()(n, &lanes, values.as_mut_ptr().cast()).unwrap() };
    values
}

/// Small whole numbers, so that sums are exact in any dtype.
fn whole(i: usize) -> f64 {
    (i * 7 % 5) as f64
}

fn index_of(dims: &[usize], mut at: usize) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for d in (0..dims.len()).rev() {
        index[d] = at % dims[d];
        at /= dims[d];
    }
    index
}

fn linear(dims: &[usize], index: &[usize]) -> usize {
    dims.iter().zip(index).fold(0, |acc, (d, i)| acc * d + i)
}

/// What a reduction gives, naively.
fn reduce_model(op: Reduce, values: &[f64], dims: &[usize], axes: &[bool]) -> Vec<f64> {
    let kept: Vec<usize> = dims.iter().zip(axes).filter(|(_, a)| !**a).map(|(d, _)| *d).collect();
    let count: usize = dims.iter().zip(axes).filter(|(_, a)| **a).map(|(d, _)| d).product();
    let init = match op {
        Reduce::Prod | Reduce::All => 1.0,
        Reduce::Max => f64::NEG_INFINITY,
        Reduce::Min => f64::INFINITY,
        _ => 0.0,
    };
    let mut out = vec![init; kept.iter().product()];
    for (i, &v) in values.iter().enumerate() {
        let index: Vec<usize> = index_of(dims, i).into_iter().zip(axes).filter(|(_, a)| !**a).map(|(i, _)| i).collect();
        let o = &mut out[linear(&kept, &index)];
        *o = match op {
            Reduce::Sum | Reduce::Mean => *o + v,
            Reduce::Prod => *o * v,
            Reduce::Max | Reduce::Any if v > *o || v.is_nan() => v,
            Reduce::Min | Reduce::All if v < *o || v.is_nan() => v,
            _ => *o,
        };
    }
    if op == Reduce::Mean {
        out.iter_mut().for_each(|o| *o /= count as f64);
    }
    out
}

fn check_reduce(op: Reduce, dtype: DType, dims: &[usize], axes: &[bool]) {
    let n: usize = dims.iter().product();
    let values: Vec<f64> = (0..n)
        .map(|i| match op {
            Reduce::Prod => {
                if i % 97 == 3 {
                    2.0
                } else {
                    1.0
                }
            }
            Reduce::Any => f64::from(i % 11 == 5),
            Reduce::All => f64::from(i % 11 != 5),
            _ => whole(i),
        })
        .collect();
    let mut want = reduce_model(op, &values, dims, axes);
    let raw = to_raw(dtype, &values);
    let mut out = vec![0u128; want.len() * dtype.size() / 16 + 1];
    // SAFETY: buffers of these dimensions.
    unsafe { reduce(op, dtype, raw.as_ptr().cast(), dims, axes, out.as_mut_ptr().cast()) };
    let got = from_raw(dtype, &out, want.len());
    // What the result is in the dtype: wrapped or rounded.
    let wrapping = dtype.is_integer() && matches!(op, Reduce::Sum | Reduce::Prod);
    if wrapping {
        for w in &mut want {
            *w = with_dtype!(integer, dtype, T => (*w as i128) as T as f64, else unreachable!());
        }
    } else {
        want = from_raw(dtype, &to_raw(dtype, &want), want.len());
    }
    for (g, w) in got.iter().zip(&want) {
        let close = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= w.abs() * 1e-6;
        assert!(close, "{op:?} {dtype} {dims:?} {axes:?}: {g} {w}");
    }
}

#[test]
fn reductions_agree_with_the_model_for_every_dtype() {
    let shapes: &[(&[usize], &[bool])] = &[
        (&[], &[]),
        (&[0], &[true]),
        (&[3, 0], &[false, true]),
        (&[0, 3], &[false, true]),
        (&[1], &[true]),
        (&[10], &[true]),
        (&[33], &[true]),
        (&[5000], &[true]),
        (&[7, 10], &[false, true]),
        (&[7, 10], &[true, false]),
        (&[200, 300], &[true, false]),
        (&[3, 70, 5], &[false, true, false]),
        (&[3, 70, 5], &[true, false, true]),
        (&[4, 5, 3, 2], &[true, false, true, false]),
        (&[2, 3], &[false, false]),
    ];
    for &op in Reduce::ALL {
        for dtype in reduce_dtypes(op).iter() {
            for (dims, axes) in shapes {
                check_reduce(op, dtype, dims, axes);
            }
        }
    }
    check_reduce(Reduce::Sum, DType::F32, &[300_000], &[true]);
    check_reduce(Reduce::Max, DType::I8, &[300_000], &[true]);
}

#[test]
fn padding_goes_around_long_runs_in_every_dimension() {
    for (dims, before, after) in [
        ([700, 31, 11], [2, 1, 0], [1, 3, 0]),
        ([40, 50, 60], [0, 0, 1], [0, 0, 2]),
        ([3, 1, 500], [0, 2, 3], [4, 0, 0]),
        ([1000, 4, 4], [1, 0, 0], [0, 0, 0]),
        ([0, 4, 90], [1, 0, 2], [1, 1, 0]),
    ] {
        let n: usize = dims.iter().product();
        let input: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let padded: Vec<usize> = (0..3).map(|d| before[d] + dims[d] + after[d]).collect();
        let mut out = vec![f64::NAN; padded.iter().product()];
        let value = (-1f64).to_ne_bytes();
        // SAFETY: buffers of these dimensions.
        unsafe {
            let (from, to) = (input.as_ptr().cast(), out.as_mut_ptr().cast());
            copy::pad(8, from, &dims, &before, &after, value.as_ptr(), to);
        }
        for (i, &got) in out.iter().enumerate() {
            let index = [i / padded[2] / padded[1], i / padded[2] % padded[1], i % padded[2]];
            let inside = (0..3).all(|d| (before[d]..before[d] + dims[d]).contains(&index[d]));
            let from = |d: usize| index[d] - before[d];
            let due = if inside { input[(from(0) * dims[1] + from(1)) * dims[2] + from(2)] } else { -1.0 };
            assert_eq!(got, due, "{dims:?} {index:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn reductions_agree_with_the_model_for_any_axes(
        dims in prop::collection::vec((1usize..9, any::<bool>()), 0..6),
        op in 0usize..7,
    ) {
        let (dims, axes): (Vec<usize>, Vec<bool>) = dims.into_iter().unzip();
        let op = Reduce::ALL[op];
        let dtype = if reduce_dtypes(op) == DTypeSet::BOOL { DType::Bool } else { DType::F32 };
        check_reduce(op, dtype, &dims, &axes);
    }
}

#[test]
fn float_sums_are_accurate_and_do_not_depend_on_threads() {
    let n = 1_000_003;
    let values: Vec<f32> = (0..n).map(|i| ((i * 7919) % 10_007) as f32 * 1e-3 + 0.1).collect();
    let exact: f64 = values.iter().map(|&v| f64::from(v)).sum();
    let sum = || {
        let mut out = 0f32;
        // SAFETY: buffers of these dimensions.
        unsafe { reduce(Reduce::Sum, DType::F32, values.as_ptr().cast(), &[n], &[true], (&raw mut out).cast()) };
        out
    };
    pool::set_threads(1);
    let one = sum();
    pool::set_threads(3);
    assert_eq!(one.to_bits(), sum().to_bits());
    assert!((f64::from(one) - exact).abs() / exact < 1e-6);
}

#[test]
fn extremes_propagate_nan() {
    for n in [3usize, 40, 5000] {
        for at in [0, n / 2, n - 1] {
            let mut v: Vec<f32> = (0..n).map(|i| i as f32).collect();
            v[at] = f32::NAN;
            for op in [Reduce::Max, Reduce::Min] {
                for dims in [[1, n], [n, 1]] {
                    let mut out = 0f32;
                    // SAFETY: buffers of these dimensions.
                    unsafe { reduce(op, DType::F32, v.as_ptr().cast(), &dims, &[true, true], (&raw mut out).cast()) };
                    assert!(out.is_nan());
                }
            }
        }
    }
}

#[test]
fn arg_reductions_give_the_first_extreme() {
    for dtype in DTypeSet::REAL.iter() {
        for (outer, n, inner) in [(1, 1, 1), (3, 10, 1), (2, 2000, 1), (2, 17, 3), (0, 3, 2)] {
            let values: Vec<f64> = (0..outer * n * inner).map(|i| (i * 7919 % 101) as f64).collect();
            let raw = to_raw(dtype, &values);
            for max in [true, false] {
                let mut out = vec![0i32; outer * inner];
                // SAFETY: buffers of these dimensions.
                unsafe {
                    arg_reduce(max, dtype, raw.as_ptr().cast(), outer, n, inner, DType::I32, out.as_mut_ptr().cast())
                };
                for (k, &got) in out.iter().enumerate() {
                    let at = |i: usize| values[(k / inner * n + i) * inner + k % inner];
                    let want =
                        (1..n).fold(0, |b, i| if if max { at(i) > at(b) } else { at(i) < at(b) } { i } else { b });
                    assert_eq!(got as usize, want, "{dtype} {n} {inner} {max}");
                }
            }
        }
    }
    let mut v = vec![1f32; 3000];
    v[7] = f32::INFINITY;
    v[2000] = f32::NAN;
    v[2500] = f32::NAN;
    for max in [true, false] {
        let mut out = 0i64;
        // SAFETY: 3000 elements and one result.
        unsafe { arg_reduce(max, DType::F32, v.as_ptr().cast(), 1, 3000, 1, DType::I64, (&raw mut out).cast()) };
        assert_eq!(out, 2000);
    }
}

/// Extents of arrays that are accumulated along the middle: of few and of many rows, with few and with many elements at each step.
const CUMULATIVE: [(usize, usize, usize); 8] =
    [(2, 5, 70), (1, 9, 1), (3, 7, 2), (4, 5, 1), (17, 9, 1), (33, 4, 3), (5, 7, 8), (16, 6, 9)];

#[test]
fn logarithms_of_sums_are_accumulated_in_any_layout() {
    for (flags, (outer, n, inner)) in (0..4).flat_map(|flags| CUMULATIVE.map(|extents| (flags, extents))) {
        let (exclusive, reverse) = (flags & 1 == 1, flags & 2 == 2);
        let x: Vec<f32> = (0..outer * n * inner).map(|i| (i * 37 % 101) as f32 * 0.1 - 5.0).collect();
        let mut out = vec![9f32; x.len()];
        // SAFETY: buffers of these dimensions.
        unsafe {
            let (x, out) = (x.as_ptr().cast(), out.as_mut_ptr().cast());
            cumulative(Cumulative::LogSumExp, DType::F32, x, [outer, n, inner], exclusive, reverse, out);
        }
        for (k, &found) in out.iter().enumerate() {
            let (o, i, j) = (k / inner / n, k / inner % n, k % inner);
            let part = (0..n).filter(|&s| if reverse { s > i } else { s < i } || (s == i && !exclusive));
            let sum: f64 = part.map(|s| f64::from(x[(o * n + s) * inner + j]).exp()).sum();
            let want = if sum == 0.0 { f64::from(f32::MIN) } else { sum.ln() };
            assert!(
                (f64::from(found) - want).abs() <= 1e-5 * want.abs().max(1.0),
                "{outer} {n} {inner} {k}: {found} for {want}"
            );
        }
    }
}

#[test]
fn cumulative_sums_and_products_run_along_the_axis() {
    for dtype in DTypeSet::NUMERIC.iter() {
        for op in [Cumulative::Sum, Cumulative::Prod] {
            for (flags, (outer, n, inner)) in (0..4).flat_map(|flags| CUMULATIVE.map(|extents| (flags, extents))) {
                let (exclusive, reverse) = (flags & 1 == 1, flags & 2 == 2);
                let values: Vec<f64> = (0..outer * n * inner).map(|i| (i % 3) as f64).collect();
                let mut raw = to_raw(dtype, &values);
                let p = raw.as_mut_ptr().cast::<u8>();
                // SAFETY: in place, on buffers of these dimensions.
                unsafe { cumulative(op, dtype, p, [outer, n, inner], exclusive, reverse, p) };
                let got = from_raw(dtype, &raw, values.len());
                for (k, &g) in got.iter().enumerate() {
                    let (o, i, j) = (k / inner / n, k / inner % n, k % inner);
                    let part: Vec<f64> = (0..n)
                        .filter(|&s| if reverse { s > i } else { s < i } || (s == i && !exclusive))
                        .map(|s| values[(o * n + s) * inner + j])
                        .collect();
                    let want: f64 = if op == Cumulative::Sum { part.iter().sum() } else { part.iter().product() };
                    assert_eq!(g, want, "{dtype} {op:?} {exclusive} {reverse} {k}");
                }
            }
        }
    }
}

#[test]
fn softmaxes_and_cross_entropies_follow_the_formulas() {
    for dtype in DTypeSet::FLOAT.iter() {
        let tolerance = match dtype {
            DType::F64 => 1e-13,
            DType::F32 => 3e-6,
            DType::F16 => 4e-3,
            _ => 3e-2,
        };
        for (rows, n) in [(1, 1), (3, 2), (5, 10), (2, 100), (4, 1001)] {
            let close = |what: &str, got: &[f64], want: &[f64]| {
                for (g, w) in got.iter().zip(want) {
                    assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "{what} {dtype} {n}: {g} {w}");
                }
            };
            let x: Vec<f64> = (0..rows * n).map(|i| (i * 37 % 101) as f64 * 0.25 - 10.0).collect();
            let mut t: Vec<f64> = (0..rows * n).map(|i| (i % 4) as f64).collect();
            for row in t.chunks_mut(n) {
                let sum: f64 = row.iter().sum::<f64>().max(1.0);
                row.iter_mut().for_each(|v| *v /= sum);
            }
            let (rx, rt) = (to_raw(dtype, &x), to_raw(dtype, &t));
            let t = from_raw(dtype, &rt, rows * n);
            let log: Vec<f64> = x
                .chunks(n)
                .flat_map(|row| {
                    let max = row.iter().copied().fold(f64::MIN, f64::max);
                    let sum: f64 = row.iter().map(|v| (v - max).exp()).sum();
                    row.iter().map(move |v| v - max - sum.ln()).collect::<Vec<_>>()
                })
                .collect();
            let soft: Vec<f64> = log.iter().map(|v| v.exp()).collect();
            let mut out = vec![0u128; rows * n * dtype.size() / 16 + 1];
            let mut loss = vec![0u128; rows];
            let (px, pt, po, pl) =
                (rx.as_ptr().cast(), rt.as_ptr().cast(), out.as_mut_ptr().cast::<u8>(), loss.as_mut_ptr().cast());
            // SAFETY: buffers of these dimensions.
            unsafe {
                softmax::softmax(dtype, px, rows, n, po);
                close("softmax", &from_raw(dtype, &out, rows * n), &soft);
                softmax::log_softmax(dtype, px, rows, n, po);
                close("log_softmax", &from_raw(dtype, &out, rows * n), &log);
                softmax::softmax_cross_entropy(dtype, px, pt, rows, n, pl, po);
                let want: Vec<f64> =
                    (0..rows).map(|r| -(0..n).map(|i| t[r * n + i] * log[r * n + i]).sum::<f64>()).collect();
                close("loss", &from_raw(dtype, &loss, rows), &want);
                let want: Vec<f64> = soft.iter().zip(&t).map(|(s, t)| s - t).collect();
                close("gradient", &from_raw(dtype, &out, rows * n), &want);
                let labels: Vec<i64> = (0..rows).map(|r| (r * 3 % n) as i64).collect();
                softmax::sparse_softmax_cross_entropy(dtype, px, DType::I64, labels.as_ptr().cast(), rows, n, pl, po)
                    .unwrap();
                let want: Vec<f64> = (0..rows).map(|r| -log[r * n + labels[r] as usize]).collect();
                close("sparse loss", &from_raw(dtype, &loss, rows), &want);
                let want: Vec<f64> =
                    (0..rows * n).map(|i| soft[i] - f64::from(labels[i / n] as usize == i % n)).collect();
                close("sparse gradient", &from_raw(dtype, &out, rows * n), &want);
                let bad: Vec<i32> = (0..rows).map(|r| if r == rows - 1 { n as i32 } else { 0 }).collect();
                let null = std::ptr::null_mut();
                let result = softmax::sparse_softmax_cross_entropy(
                    dtype,
                    px,
                    DType::I32,
                    bad.as_ptr().cast(),
                    rows,
                    n,
                    pl,
                    null,
                );
                assert_eq!(result, Err(rows - 1));
            }
        }
    }
}

/// `n` distinct elements of `size` bytes.
fn numbered(size: usize, n: usize) -> Vec<u128> {
    let mut raw = vec![0u128; n * size / 16 + 1];
    let p = raw.as_mut_ptr().cast::<u8>();
    for i in 0..n {
        for b in 0..size {
            // SAFETY: inside the buffer.
            unsafe { p.add(i * size + b).write((i >> (8 * (b % 4))) as u8 ^ (b / 4) as u8) };
        }
    }
    raw
}

fn element(raw: &[u128], size: usize, i: usize) -> &[u8] {
    // SAFETY: tests ask for elements inside.
    unsafe { std::slice::from_raw_parts(raw.as_ptr().cast::<u8>().add(i * size), size) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn transposes_agree_with_indexing(
        dims in prop::collection::vec(prop_oneof![1usize..6, 15usize..36], 0..5),
        seed in any::<u64>(),
        log_size in 0usize..5,
    ) {
        let size = 1 << log_size;
        let mut perm: Vec<usize> = (0..dims.len()).collect();
        perm.sort_by_key(|&i| seed.rotate_left(13 * i as u32).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let n: usize = dims.iter().product();
        prop_assume!(n < 200_000);
        let input = numbered(size, n);
        let mut out = vec![0u128; n * size / 16 + 1];
        // SAFETY: buffers of these dimensions.
        unsafe { copy::transpose(size, input.as_ptr().cast(), &dims, &perm, out.as_mut_ptr().cast()) };
        let out_dims: Vec<usize> = perm.iter().map(|&p| dims[p]).collect();
        for i in 0..n {
            let to = index_of(&out_dims, i);
            let mut from = vec![0; dims.len()];
            for (d, &p) in perm.iter().enumerate() {
                from[p] = to[d];
            }
            prop_assert_eq!(element(&out, size, i), element(&input, size, linear(&dims, &from)));
        }
    }

    #[test]
    fn slices_pads_tiles_and_reversals_agree_with_indexing(
        spec in prop::collection::vec((0usize..7, 0usize..7, -3isize..4, 0usize..3, 0usize..3), 0..5),
        log_size in 0usize..5,
    ) {
        let size = 1 << log_size;
        let dims: Vec<usize> = spec.iter().map(|s| s.0).collect();
        let rank = dims.len();
        let n: usize = dims.iter().product();
        let input = numbered(size, n);
        let p = input.as_ptr().cast::<u8>();
        let buffer = |n: usize| vec![0u128; n * size / 16 + 1];
        // A strided slice.
        let begin: Vec<usize> = spec.iter().map(|s| if s.0 == 0 { 0 } else { s.1 % s.0 }).collect();
        let step: Vec<isize> = spec.iter().map(|s| if s.2 == 0 { 1 } else { s.2 }).collect();
        let counts: Vec<usize> = (0..rank).map(|i| {
            let room = if dims[i] == 0 { 0 } else if step[i] > 0 { dims[i] - begin[i] } else { begin[i] + 1 };
            room.div_ceil(step[i].unsigned_abs())
        }).collect();
        let total: usize = counts.iter().product();
        let mut out = buffer(total);
        // SAFETY: a box inside the input.
        unsafe { copy::strided_slice(size, p, &dims, &begin, &step, &counts, out.as_mut_ptr().cast()) };
        let source = |i: usize| {
            let index: Vec<usize> = index_of(&counts, i).iter().enumerate()
                .map(|(d, &x)| (begin[d] as isize + x as isize * step[d]) as usize).collect();
            linear(&dims, &index)
        };
        for i in 0..total {
            prop_assert_eq!(element(&out, size, i), element(&input, size, source(i)));
        }
        // Its reverse.
        let mut back = buffer(n);
        // SAFETY: a box inside the output.
        unsafe { copy::strided_assign(size, out.as_ptr().cast(), &dims, &begin, &step, &counts, back.as_mut_ptr().cast()) };
        for i in 0..total {
            prop_assert_eq!(element(&back, size, source(i)), element(&out, size, i));
        }
        // A reversal.
        let axes: Vec<bool> = spec.iter().map(|s| s.2 < 0).collect();
        let mut out = buffer(n);
        // SAFETY: buffers of these dimensions.
        unsafe { copy::reverse(size, p, &dims, &axes, out.as_mut_ptr().cast()) };
        for i in 0..n {
            let index: Vec<usize> = index_of(&dims, i).iter().enumerate()
                .map(|(d, &x)| if axes[d] { dims[d] - 1 - x } else { x }).collect();
            prop_assert_eq!(element(&out, size, i), element(&input, size, linear(&dims, &index)));
        }
        // Padding.
        let (before, after): (Vec<usize>, Vec<usize>) = spec.iter().map(|s| (s.3, s.4)).unzip();
        let padded: Vec<usize> = (0..rank).map(|i| before[i] + dims[i] + after[i]).collect();
        let total: usize = padded.iter().product();
        let (value, mut out) = ([0xabu8; 16], buffer(total));
        // SAFETY: buffers of these dimensions.
        unsafe { copy::pad(size, p, &dims, &before, &after, value.as_ptr(), out.as_mut_ptr().cast()) };
        for i in 0..total {
            let index = index_of(&padded, i);
            let inside = (0..rank).all(|d| index[d] >= before[d] && index[d] < before[d] + dims[d]);
            let index: Vec<usize> = (0..rank).map(|d| index[d].wrapping_sub(before[d])).collect();
            let want = if inside { element(&input, size, linear(&dims, &index)) } else { &value[..size] };
            prop_assert_eq!(element(&out, size, i), want);
        }
        // Tiling.
        let tiled: Vec<usize> = (0..rank).map(|i| dims[i] * spec[i].3).collect();
        let multiples: Vec<usize> = spec.iter().map(|s| s.3).collect();
        let total: usize = tiled.iter().product();
        let mut out = buffer(total);
        // SAFETY: buffers of these dimensions.
        unsafe { copy::tile(size, p, &dims, &multiples, out.as_mut_ptr().cast()) };
        for i in 0..total {
            let index: Vec<usize> = index_of(&tiled, i).iter().zip(&dims).map(|(x, d)| x % d).collect();
            prop_assert_eq!(element(&out, size, i), element(&input, size, linear(&dims, &index)));
        }
        // Broadcasting to a further dimension in front.
        let wider: Vec<usize> = std::iter::once(3).chain(dims.iter().copied()).collect();
        let mut out = buffer(3 * n);
        // SAFETY: buffers of these dimensions.
        unsafe { copy::broadcast_to(size, p, &dims, &wider, out.as_mut_ptr().cast()) };
        for i in 0..3 * n {
            prop_assert_eq!(element(&out, size, i), element(&input, size, i % n));
        }
    }

    #[test]
    fn products_agree_with_the_model(
        (m, k, n) in prop_oneof![(0usize..6, 0usize..6, 0usize..6), (1usize..70, 1usize..70, 1usize..70)],
        a_trans in any::<bool>(),
        b_trans in any::<bool>(),
        dtype in 1usize..15,
    ) {
        let dtype = DType::from_index(dtype as u8).unwrap();
        let a: Vec<f64> = (0..m * k).map(whole).collect();
        let b: Vec<f64> = (0..k * n).map(|i| whole(i * 3 + 1)).collect();
        let (ra, rb) = (to_raw(dtype, &a), to_raw(dtype, &b));
        let mut out = vec![u128::MAX; m * n * dtype.size() / 16 + 1];
        // SAFETY: buffers of these dimensions.
        unsafe {
            matmul(dtype, m, k, n, ra.as_ptr().cast(), a_trans, rb.as_ptr().cast(), b_trans, out.as_mut_ptr().cast());
        }
        let got = from_raw(dtype, &out, m * n);
        let mut want = vec![0f64; m * n];
        for i in 0..m {
            for j in 0..n {
                for p in 0..k {
                    let x = a[if a_trans { p * m + i } else { i * k + p }];
                    let y = b[if b_trans { j * k + p } else { p * n + j }];
                    want[i * n + j] += x * y;
                }
            }
        }
        for (g, w) in got.iter().zip(&want) {
            let w = if dtype.is_integer() {
                with_dtype!(integer, dtype, T => (*w as i128) as T as f64, else unreachable!())
            } else {
                from_raw(dtype, &to_raw(dtype, &[*w]), 1)[0]
            };
            prop_assert_eq!(*g, w, "{} {} {} {}", dtype, m, k, n);
        }
    }
}

#[test]
fn large_products_are_split_and_agree() {
    let (m, k, n) = (300, 257, 500);
    let a: Vec<f32> = (0..m * k).map(|i| whole(i) as f32).collect();
    let b: Vec<f32> = (0..k * n).map(|i| whole(i + 2) as f32).collect();
    pool::set_threads(3);
    for (m, n) in [(m, n), (n, m)] {
        let mut out = vec![0f32; m * n];
        let (a, b) = if m == 300 { (&a, &b) } else { (&b, &a) };
        // SAFETY: buffers of these dimensions.
        unsafe {
            matmul(DType::F32, m, k, n, a.as_ptr().cast(), false, b.as_ptr().cast(), true, out.as_mut_ptr().cast())
        };
        for (i, j) in [(0, 0), (m - 1, n - 1), (m / 2, 3), (7, n / 2)] {
            let want: f32 = (0..k).map(|p| a[i * k + p] * b[j * k + p]).sum();
            assert_eq!(out[i * n + j], want);
        }
    }
}

#[test]
fn batches_of_products_broadcast() {
    let (m, k, n) = (3, 4, 5);
    for (batch, a_batch, b_batch) in [
        (vec![2, 3], vec![2, 3], vec![2, 3]),
        (vec![2, 3], vec![2, 3], vec![]),
        (vec![2, 3], vec![3], vec![2, 1]),
        (vec![2, 3], vec![1, 3], vec![2, 3]),
        (vec![], vec![], vec![1]),
        (vec![0, 2], vec![0, 2], vec![2]),
    ] {
        if batch.is_empty() {
            continue;
        }
        let (na, nb): (usize, usize) = (a_batch.iter().product(), b_batch.iter().product());
        let count: usize = batch.iter().product();
        let a: Vec<i32> = (0..(na * m * k) as i32).collect();
        let b: Vec<i32> = (0..(nb * k * n) as i32).map(|i| i * 3 - 7).collect();
        let mut out = vec![0i32; count * m * n];
        // SAFETY: buffers of these dimensions.
        unsafe {
            matmul_batched(
                DType::I32,
                &batch,
                &a_batch,
                &b_batch,
                m,
                k,
                n,
                a.as_ptr().cast(),
                false,
                b.as_ptr().cast(),
                false,
                out.as_mut_ptr().cast(),
            );
        }
        let pick = |own: &[usize], at: usize| {
            let index = index_of(&batch, at);
            let tail = &index[batch.len() - own.len()..];
            let index: Vec<usize> = tail.iter().zip(own).map(|(i, d)| if *d == 1 { 0 } else { *i }).collect();
            linear(own, &index)
        };
        for (i, &got) in out.iter().enumerate() {
            let (at, r, c) = (i / (m * n), i / n % m, i % n);
            let (oa, ob) = (pick(&a_batch, at) * m * k, pick(&b_batch, at) * k * n);
            let want: i32 = (0..k).map(|p| a[oa + r * k + p] * b[ob + p * n + c]).sum();
            assert_eq!(got, want, "{batch:?} {a_batch:?} {b_batch:?}");
        }
    }
}

#[test]
fn concat_and_split_are_inverse() {
    let (a, b): (Vec<u8>, Vec<u8>) = ((0..30).collect(), (100..115).collect());
    let mut joined = vec![0u8; 45];
    let (mut c, mut d) = (vec![0u8; 30], vec![0u8; 15]);
    // SAFETY: five rows of 6 and 3 bytes.
    unsafe {
        copy::concat(&[(a.as_ptr(), 6), (b.as_ptr(), 3)], 5, joined.as_mut_ptr());
        copy::split(joined.as_ptr(), 5, &[(c.as_mut_ptr(), 6), (d.as_mut_ptr(), 3)]);
    }
    assert_eq!(joined[9..18], [6, 7, 8, 9, 10, 11, 103, 104, 105]);
    assert_eq!((c, d), (a, b));
}

#[test]
fn gathers_scatters_segments_and_one_hots_follow_the_indices() {
    let x: Vec<f32> = (0..24).map(|i| i as f32).collect();
    let index = |v: &[i32]| Indices { ptr: v.as_ptr().cast(), dtype: DType::I32, count: v.len() };
    let (i3, bad) = (vec![2, 0, 2], vec![1, -1, 9]);
    let mut out = vec![0f32; 18];
    // SAFETY: buffers of these dimensions: (2, 4, 3), gathered along the middle axis.
    unsafe {
        gather::gather(x.as_ptr().cast(), 2, 4, 12, index(&i3), out.as_mut_ptr().cast()).unwrap();
        assert_eq!(out[..9], [6., 7., 8., 0., 1., 2., 6., 7., 8.]);
        assert_eq!(out[9..12], [18., 19., 20.]);
        assert_eq!(gather::gather(x.as_ptr().cast(), 2, 4, 12, index(&bad), out.as_mut_ptr().cast()), Err(1));
        let mut to = vec![1f32; 12];
        let p = to.as_mut_ptr().cast::<u8>();
        gather::scatter(Some(Binary::Add), DType::F32, x.as_ptr().cast(), index(&i3), 3, 4, p).unwrap();
        assert_eq!(to, [4., 5., 6., 1., 1., 1., 7., 9., 11., 1., 1., 1.]);
        gather::scatter(None, DType::F32, x.as_ptr().cast(), index(&i3), 3, 4, p).unwrap();
        assert_eq!(to, [3., 4., 5., 1., 1., 1., 6., 7., 8., 1., 1., 1.]);
        assert_eq!(gather::scatter(None, DType::F32, x.as_ptr().cast(), index(&bad), 3, 4, p), Err(1));
        let segments = vec![1, -1, 1, 0];
        let segments = Segments { ids: index(&segments), n: 3, width: 3, blocks: 1, sorted: false };
        segment_reduce(Reduce::Sum, DType::F32, x.as_ptr().cast(), segments, Empty::Zero, p).unwrap();
        assert_eq!(to[..9], [9., 10., 11., 6., 8., 10., 0., 0., 0.]);
        let mut hot = vec![0u8; 3 * 3];
        gather::one_hot(1, index(&[1, 3, 0]), 1, 3, 3, &1, &0, hot.as_mut_ptr());
        assert_eq!(hot, [0, 0, 1, 1, 0, 0, 0, 0, 0]);
        let mut hot = vec![0u8; 3 * 3];
        gather::one_hot(1, index(&[1, 3, 0]), 3, 3, 1, &1, &0, hot.as_mut_ptr());
        assert_eq!(hot, [0, 1, 0, 0, 0, 0, 1, 0, 0]);
        let mut r = vec![0i16; 4];
        gather::range(DType::I16, (&raw const i3[0]).cast(), (&raw const i3[2]).cast(), 4, r.as_mut_ptr().cast());
        assert_eq!(r, [2, 4, 6, 8]);
    }
}

#[test]
fn elements_have_the_sizes_that_kernels_assume() {
    assert_eq!(size_of::<Bool8>() + size_of::<f16>() + size_of::<bf16>(), 5);
    assert_eq!(<f32 as Element>::DTYPE, DType::F32);
}
