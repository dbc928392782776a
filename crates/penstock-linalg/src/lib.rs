//! Decompositions and solutions of dense matrices: elimination by the engine's own products, all else by the `faer` crate.
//!
//! Each function takes one matrix, row-major, of `f32`, `f64` or a complex dtype. It is a crate of its own because what
//! it makes of generic code takes longer to compile than all other kernels together.
//!
//! Conventions are LAPACK's: eigenvalues of Hermitian matrices ascend, singular values descend, a Cholesky factor is lower, and only the
//! lower triangle of a matrix that is said to be Hermitian is read. Where signs or phases are free, of singular and
//! eigenvectors, they are fixed by their elements, so that they do not depend on the way of computing.
//!
//! Without the feature `faer` nothing of that is there: the functions unwind with an error that says so. That is for programs
//! which are to be small, and need no decompositions.

#[cfg(not(feature = "faer"))]
mod absent;
#[cfg(feature = "faer")]
mod dense;

use penstock_data::{DType, DTypeSet, Element};

/// The dtypes of matrices.
pub const MATRIX_DTYPES: DTypeSet = DTypeSet::of(&[DType::F32, DType::F64, DType::C64, DType::C128]);

/// An element of a matrix, and what is done with matrices of it.
///
/// Methods of a type, and not generic functions, so that they are compiled here and not where they are called.
pub trait Matrix: Element {
    /// The type of singular values and of the eigenvalues of Hermitian matrices.
    type Magnitude: Element;
    /// The type of eigenvalues: complex numbers of this precision.
    type Complex: Element;

    /// A real number.
    fn from_magnitude(x: Self::Magnitude) -> Self;

    /// The lower Cholesky factor of the Hermitian matrix `a` of `n` by `n`: `a = l l^H`. What is above the diagonal of
    /// `l` is 0. The lower triangle is NaN where `a` is not positive definite, or one of its elements is not finite.
    ///
    /// # Panics
    /// Where a slice has not `n * n` elements.
    fn cholesky(n: usize, a: &[Self], l: &mut [Self]);

    /// The factors of `a` of `m` by `n` with its rows in another order: row `i` of `l u` is row `order[i]` of `a`.
    /// Above the diagonal and on it `packed` holds `u`, below it `l`, whose diagonal is 1.
    ///
    /// # Panics
    /// Where a matrix has not `m * n` elements, or `order` not `m`.
    fn lu(m: usize, n: usize, a: &[Self], packed: &mut [Self], order: &mut [usize]);

    /// The determinant of `a` of `n` by `n`; 1 where `n` is 0.
    ///
    /// # Panics
    /// Where `a` has not `n * n` elements.
    fn det(n: usize, a: &[Self]) -> Self;

    /// The determinant of `a` of `n` by `n` as a number of absolute value 1, or 0, and the logarithm of its absolute
    /// value.
    ///
    /// # Panics
    /// Where `a` has not `n * n` elements.
    fn slogdet(n: usize, a: &[Self]) -> (Self, Self::Magnitude);

    /// Solves `a x = b`, or `a^H x = b` where `adjoint`, for `a` of `n` by `n`; `x` holds `b`, of `n` by `k`, and then
    /// the solution.
    ///
    /// # Errors
    /// [`Failure::Singular`] where a pivot is 0.
    ///
    /// # Panics
    /// Where a slice has another number of elements.
    fn solve(n: usize, k: usize, a: &[Self], adjoint: bool, x: &mut [Self]) -> Result<(), Failure>;

    /// The inverse of `a` of `n` by `n`.
    ///
    /// # Errors
    /// [`Failure::Singular`] where a pivot is 0.
    ///
    /// # Panics
    /// Where a slice has not `n * n` elements.
    fn inverse(n: usize, a: &[Self], out: &mut [Self]) -> Result<(), Failure>;

    /// Solves `a x = b`, or `a^H x = b` where `adjoint`, where `a` of `n` by `n` is the lower or upper triangle of what
    /// is given; `x` holds `b`, of `n` by `k`, and then the solution. A 0 on the diagonal divides like any number.
    ///
    /// # Panics
    /// Where a slice has another number of elements.
    fn triangular_solve(n: usize, k: usize, a: &[Self], lower: bool, adjoint: bool, x: &mut [Self]);

    /// `a = q r` for `a` of `m` by `n`, by Householder reflections. With `p` the smaller of both, `q` has orthonormal
    /// columns and is `m` by `p`, or `m` by `m` where `full`; `r` is upper triangular and has as many rows as `q` has
    /// columns.
    ///
    /// # Panics
    /// Where a slice has another number of elements.
    fn qr(m: usize, n: usize, full: bool, a: &[Self], q: &mut [Self], r: &mut [Self]);

    /// `a = u diag(s) v^H` for `a` of `m` by `n`; `s` descends. With `p` the smaller of both, `u` is `m` by `p` and `v`
    /// is `n` by `p`, or both are square where `full`. All is NaN where an element of `a` is not finite.
    ///
    /// # Errors
    /// [`Failure::NoConvergence`].
    ///
    /// # Panics
    /// Where a slice has another number of elements.
    fn svd(
        m: usize,
        n: usize,
        full: bool,
        a: &[Self],
        s: &mut [Self::Magnitude],
        vectors: Option<(&mut [Self], &mut [Self])>,
    ) -> Result<(), Failure>;

    /// `a = v diag(e) v^H` for the Hermitian matrix `a` of `n` by `n`; `e` ascends and the columns of `v` are
    /// orthonormal.
    ///
    /// # Errors
    /// [`Failure::NoConvergence`]; also where an element of the lower triangle is not finite.
    ///
    /// # Panics
    /// Where a slice has another number of elements.
    fn eigh(n: usize, a: &[Self], e: &mut [Self::Magnitude], v: Option<&mut [Self]>) -> Result<(), Failure>;

    /// The eigenvalues of `a` of `n` by `n` in the order in which they are found, and as the columns of `v` eigenvectors
    /// of length 1.
    ///
    /// # Errors
    /// [`Failure::NoConvergence`]; also where an element is not finite.
    ///
    /// # Panics
    /// Where a slice has another number of elements.
    fn eig(n: usize, a: &[Self], e: &mut [Self::Complex], v: Option<&mut [Self::Complex]>) -> Result<(), Failure>;
}

/// Why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The matrix is singular.
    Singular,
    /// The iteration did not converge.
    NoConvergence,
}
