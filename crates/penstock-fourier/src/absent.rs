//! Transforms in programs that are built without them.

use penstock_data::{C64, C128, Error};

use crate::Real;

#[cold]
fn absent() -> ! {
    Error::unimplemented("this program is built without Fourier transforms, the feature 'fourier' of Penstock").unwind()
}

macro_rules! reals {
    ($($real:ident $complex:ident;)*) => {$(
        impl Real for $real {
            type Complex = $complex;

            fn fft(_: usize, _: bool, _: bool, _: &mut [$complex]) {
                absent()
            }

            fn rfft(_: usize, _: bool, _: bool, _: &[$real], _: &mut [$complex]) {
                absent()
            }

            fn irfft(_: usize, _: bool, _: bool, _: &[$complex], _: &mut [$real]) {
                absent()
            }
        }
    )*};
}

reals! {
    f32 C64;
    f64 C128;
}
