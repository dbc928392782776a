//! The greatest elements of windows, what is moved from and to their places, and their means, against loops over every element.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use penstock_data::{DType, Element, bf16, f16};
use penstock_kernels::conv::Axis;
use penstock_kernels::pool;
use penstock_kernels::pooling::{AtMax, Windows, at_max, avg_pool, avg_pool_grad, max_pool};

/// A generator of numbers below others: the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    /// Small whole numbers, of which many are equal.
    fn values(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.below(7) as f64 - 3.0).collect()
    }
}

fn windows(numbers: &mut Numbers) -> Windows {
    let mut axis = |most: usize| {
        let (input, window, stride) = (1 + numbers.below(most), 1 + numbers.below(5), 1 + numbers.below(3));
        // Fewer zeros than a window has elements: none is in the padding alone.
        let (before, after) = (numbers.below(window), numbers.below(window));
        let room = input + before + after;
        let window = window.min(room);
        Axis {
            input,
            window,
            output: (room - window) / stride + 1,
            stride,
            dilation: 1,
            before: before.min(window - 1),
        }
    };
    let axes = [axis(2), axis(6), axis(9)];
    const CHANNELS: [usize; 14] = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 31, 32, 43, 64];
    Windows { batch: 1 + numbers.below(3), axes, channels: CHANNELS[numbers.below(CHANNELS.len())] }
}

/// Calls `f` with the elements of the window of each output, by their indices in all images.
fn each_window(w: &Windows, mut f: impl FnMut(&[usize])) {
    let [a, b, c] = w.axes;
    let span = |axis: &Axis, output: usize| {
        let first = (output * axis.stride) as isize - axis.before as isize;
        (first.max(0) as usize)..((first + axis.window as isize) as usize).min(axis.input)
    };
    let mut window = Vec::new();
    for image in 0..w.batch {
        for (i, j, k) in
            (0..a.output).flat_map(|i| (0..b.output).flat_map(move |j| (0..c.output).map(move |k| (i, j, k))))
        {
            for channel in 0..w.channels {
                window.clear();
                for p in span(&a, i) {
                    for q in span(&b, j) {
                        for r in span(&c, k) {
                            let pixel = ((image * a.input + p) * b.input + q) * c.input + r;
                            window.push(pixel * w.channels + channel);
                        }
                    }
                }
                f(&window);
            }
        }
    }
}

/// The places of the greatest element of each output: its image's elements by their indices.
fn places(w: &Windows, x: &[f64]) -> Vec<usize> {
    let mut out = Vec::new();
    each_window(w, |window| {
        let beats = |at: usize, best: usize| x[at] > x[best] || (x[at].is_nan() && !x[best].is_nan());
        let best = window.iter().copied().reduce(|best, at| if beats(at, best) { at } else { best });
        out.push(best.expect("a window has an element"));
    });
    out
}

/// Means, and what the cotangents `v` of means give to the elements, against sums in `f64`; both are of small whole numbers.
fn check_means<T: Element>(
    w: &Windows,
    x: &[f64],
    v: &[f64],
    of: impl Fn(f64) -> T,
    back: impl Fn(T) -> f64,
    bound: f64,
) {
    let elements = |values: &[f64]| values.iter().map(|&x| of(x)).collect::<Vec<T>>();
    let (mut means, mut shares) = (Vec::new(), vec![0.0; x.len()]);
    each_window(w, |window| {
        let share = v[means.len()] / window.len() as f64;
        window.iter().for_each(|&at| shares[at] += share);
        means.push(window.iter().map(|&at| x[at]).sum::<f64>() / window.len() as f64);
    });
    let (xs, dy) = (elements(x), elements(&v[..means.len()]));
    let (mut y, mut dx) = (vec![of(9.0); means.len()], vec![of(9.0); x.len()]);
    // SAFETY: memory of the sizes of the windows.
    unsafe {
        avg_pool(T::DTYPE, w, xs.as_ptr().cast(), y.as_mut_ptr().cast());
        avg_pool_grad(T::DTYPE, w, dy.as_ptr().cast(), dx.as_mut_ptr().cast());
    }
    for (found, want) in y.into_iter().zip(means).chain(dx.into_iter().zip(shares)) {
        let found = back(found);
        let same = found.is_nan() == want.is_nan()
            && (want.is_nan() || found == want || (found - want).abs() <= bound * want.abs().max(1.0));
        assert!(same, "{w:?}: {found} for {want}");
    }
}

fn check<T: Element + PartialOrd + std::fmt::Debug>(w: &Windows, x: &[f64], v: &[f64], of: impl Fn(f64) -> T) {
    let elements = |values: &[f64]| values.iter().map(|&x| of(x)).collect::<Vec<T>>();
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    let same = |a: &[T], b: &[T]| a.iter().zip(b).all(|(a, b)| a == b || (is_nan(a) && is_nan(b)));
    let (places, xs) = (places(w, x), elements(x));
    let greatest = elements(&places.iter().map(|&at| x[at]).collect::<Vec<_>>());
    let mut found = vec![of(0.0); places.len()];
    // SAFETY: memory of the sizes of the windows.
    unsafe { max_pool(T::DTYPE, w, xs.as_ptr().cast(), found.as_mut_ptr().cast()) };
    assert!(same(&found, &greatest), "{w:?}: {found:?} for {greatest:?}");
    if !matches!(T::DTYPE, DType::F16 | DType::Bf16 | DType::F32 | DType::F64) {
        return;
    }
    let values = elements(v);
    let taken: Vec<T> = places.iter().map(|&at| values[at]).collect();
    // SAFETY: as above.
    unsafe {
        let (x, v) = (xs.as_ptr().cast(), values.as_ptr().cast());
        at_max(T::DTYPE, AtMax::Take, w, x, v, found.as_mut_ptr().cast());
    }
    assert_eq!(found, taken, "{w:?}");
    let mut sums = vec![0.0; x.len()];
    places.iter().zip(v).for_each(|(&at, v)| sums[at] += v);
    let mut found = vec![of(1.0); x.len()];
    let given: Vec<T> = elements(&v[..places.len().min(v.len())]);
    // SAFETY: as above.
    unsafe { at_max(T::DTYPE, AtMax::Give, w, xs.as_ptr().cast(), given.as_ptr().cast(), found.as_mut_ptr().cast()) };
    assert_eq!(found, elements(&sums), "{w:?}");
}

#[test]
fn windows_of_any_sizes_agree_with_the_model() {
    pool::set_threads(3);
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for round in 0..300 {
        let w = windows(&mut numbers);
        let [inputs, outputs] = [w.axes.map(|a| a.input), w.axes.map(|a| a.output)]
            .map(|extents| w.batch * extents.iter().product::<usize>() * w.channels);
        let mut x = numbers.values(inputs);
        let v = numbers.values(inputs.max(outputs));
        check(&w, &x, &v, |x| x as i32);
        check(&w, &x, &v, |x| (x + 3.0) as u8);
        if round % 3 == 0 {
            (0..1 + inputs / 8).for_each(|_| x[numbers.below(inputs)] = f64::NAN);
        } else if round % 3 == 1 {
            let rare = [f64::INFINITY, f64::NEG_INFINITY, -0.0];
            (0..1 + inputs / 2).for_each(|_| x[numbers.below(inputs)] = rare[numbers.below(3)]);
        }
        check(&w, &x, &v, |x| x as f32);
        check(&w, &x, &v, |x| x);
        check(&w, &x, &v, f16::from_f64);
        check(&w, &x, &v, bf16::from_f64);
        check_means(&w, &x, &v, |x| x as f32, f64::from, 1e-6);
        check_means(&w, &x, &v, |x| x, |x| x, 1e-14);
        check_means(&w, &x, &v, f16::from_f64, f16::to_f64, 2e-3);
        check_means(&w, &x, &v, bf16::from_f64, bf16::to_f64, 2e-2);
    }
}
