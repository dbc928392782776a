//! Two values as one, element by element.

use bytemuck::{bytes_of, pod_read_unaligned};
use penstock_data::{C64, C128, DType, Element, bf16, f16, with_dtype};
use penstock_ir::Combine;

/// Numbers that are added and multiplied; integers wrap.
trait Number: Element {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// Numbers that have an order, NaN above and below all others.
trait Ordered: Element {
    fn less(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
        }
        impl Ordered for $t {
            fn less(self, other: Self) -> Self { self.min(other) }
            fn greater(self, other: Self) -> Self { self.max(other) }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn plus(self, other: Self) -> Self { self + other }
            fn times(self, other: Self) -> Self { self * other }
        }
        impl Ordered for $t {
            fn less(self, other: Self) -> Self { if self < other || self.is_nan() { self } else { other } }
            fn greater(self, other: Self) -> Self { if self > other || self.is_nan() { self } else { other } }
        }
    )*};
}
floats!(f16 bf16 f32 f64);

macro_rules! complex_numbers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn plus(self, other: Self) -> Self { self + other }
            fn times(self, other: Self) -> Self { self * other }
        }
    )*};
}
complex_numbers!(C64 C128);

/// Makes each element of `first` that combined with the one of `second`.
fn each<T: Element>(first: &mut [u8], second: &[u8], f: impl Fn(T, T) -> T) {
    let size = size_of::<T>();
    for (first, second) in first.chunks_exact_mut(size).zip(second.chunks_exact(size)) {
        let combined = f(pod_read_unaligned(first), pod_read_unaligned(second));
        first.copy_from_slice(bytes_of(&combined));
    }
}

/// Makes `first` the combination of `first` and `second`, in this order: elements of a dtype that `how` is defined for. The
/// same bytes in the same order give the same bytes.
pub(crate) fn combine(how: Combine, dtype: DType, first: &mut [u8], second: &[u8]) {
    match how {
        Combine::Sum => with_dtype!(numeric, dtype, T => each::<T>(first, second, T::plus), else ()),
        Combine::Product => with_dtype!(numeric, dtype, T => each::<T>(first, second, T::times), else ()),
        Combine::Min => with_dtype!(real, dtype, T => each::<T>(first, second, T::less), else ()),
        Combine::Max => with_dtype!(real, dtype, T => each::<T>(first, second, T::greater), else ()),
    }
}
