//! Matrices in programs that are built without decompositions.

use penstock_data::{C64, C128, Error};

use crate::{Failure, Matrix};

#[cold]
fn absent() -> ! {
    Error::unimplemented("this program is built without decompositions, the feature 'linalg' of Penstock").unwind()
}

macro_rules! matrices {
    ($($ty:ident: $real:ident $complex:ident;)*) => {$(
        impl Matrix for $ty {
            type Magnitude = $real;
            type Complex = $complex;

            fn from_magnitude(_: $real) -> $ty {
                absent()
            }

            fn cholesky(_: usize, _: &[Self], _: &mut [Self]) {
                absent()
            }

            fn lu(_: usize, _: usize, _: &[Self], _: &mut [Self], _: &mut [usize]) {
                absent()
            }

            fn det(_: usize, _: &[Self]) -> Self {
                absent()
            }

            fn slogdet(_: usize, _: &[Self]) -> (Self, Self::Magnitude) {
                absent()
            }

            fn solve(_: usize, _: usize, _: &[Self], _: bool, _: &mut [Self]) -> Result<(), Failure> {
                absent()
            }

            fn inverse(_: usize, _: &[Self], _: &mut [Self]) -> Result<(), Failure> {
                absent()
            }

            fn triangular_solve(_: usize, _: usize, _: &[Self], _: bool, _: bool, _: &mut [Self]) {
                absent()
            }

            fn qr(_: usize, _: usize, _: bool, _: &[Self], _: &mut [Self], _: &mut [Self]) {
                absent()
            }

            fn svd(
                _: usize,
                _: usize,
                _: bool,
                _: &[Self],
                _: &mut [Self::Magnitude],
                _: Option<(&mut [Self], &mut [Self])>,
            ) -> Result<(), Failure> {
                absent()
            }

            fn eigh(_: usize, _: &[Self], _: &mut [Self::Magnitude], _: Option<&mut [Self]>) -> Result<(), Failure> {
                absent()
            }

            fn eig(_: usize, _: &[Self], _: &mut [Self::Complex], _: Option<&mut [Self::Complex]>) -> Result<(), Failure> {
                absent()
            }
        }
    )*};
}

matrices! {
    f32: f32 C64;
    f64: f64 C128;
    C64: f32 C64;
    C128: f64 C128;
}
