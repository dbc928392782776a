//! Discrete Fourier transforms of the rows of row-major arrays, by the `rustfft` and `realfft` crates.
//!
//! Coefficient `k` of `n` elements is the sum of `x[j] exp(-2 pi i j k / n)`, with the other sign for inverse transforms.
//! It is a crate of its own because what it makes of generic code takes long to compile.
//!
//! Without the feature `rustfft` nothing of that is there: the functions unwind with an error that says so. That is for
//! programs which are to be small, and need no transforms.

#[cfg(not(feature = "rustfft"))]
mod absent;
#[cfg(feature = "rustfft")]
mod planned;

use penstock_data::Element;

/// A real element, and transforms of rows of it.
///
/// Methods of a type, and not generic functions, so that they are compiled here and not where they are called.
pub trait Real: Element {
    /// The element of coefficients.
    type Complex: Element;

    /// Transforms each row of `n` in place; with `scaled` the results are divided by `n`.
    ///
    /// # Panics
    /// Where `rows` is not a number of rows of `n` elements.
    fn fft(n: usize, inverse: bool, scaled: bool, rows: &mut [Self::Complex]);

    /// The first `n / 2 + 1` coefficients of each row of `n`; with `scaled` divided by `n`. With `mirrored` those that
    /// stand for two, being conjugates of others that are left out, are doubled.
    ///
    /// # Panics
    /// Where there are not as many rows in `x` as in `out`.
    fn rfft(n: usize, scaled: bool, mirrored: bool, x: &[Self], out: &mut [Self::Complex]);

    /// The `n` real parts of the inverse transform of each row of `n / 2 + 1` coefficients, divided by `n` with `scaled`.
    /// With `mirrored` a coefficient stands for its conjugate at the other end as well. Imaginary parts of coefficients
    /// that are their own conjugates are not read.
    ///
    /// # Panics
    /// Where there are not as many rows in `x` as in `out`.
    fn irfft(n: usize, scaled: bool, mirrored: bool, x: &[Self::Complex], out: &mut [Self]);
}
