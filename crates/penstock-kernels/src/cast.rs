//! Loops that convert between dtypes, and the three-operand `select`.

#![expect(unsafe_code, reason = "float to integer conversion after a range check; typed loops over raw memory")]

use std::marker::PhantomData;

use num_complex::Complex;
use penstock_data::{
    Bool8, C64, C128, DType, DTypeSet, Element, Narrow, NarrowFormat, bf16, f16, round_to_odd, with_dtype,
};

use crate::arch::{Level, dispatch};
use crate::loops::{Fault, Lane, LoopFn, Map1, loop1};
use crate::num::Real;

/// A dtype that values are converted to, from one of a few carriers that hold every source exactly.
trait Target: Element {
    fn from_signed(v: i64) -> Self;
    fn from_unsigned(v: u64) -> Self;
    fn from_f32(v: f32) -> Self;
    fn from_f64(v: f64) -> Self;
    #[inline(always)]
    fn from_c64(v: C64) -> Self {
        Self::from_f32(v.re)
    }
    #[inline(always)]
    fn from_c128(v: C128) -> Self {
        Self::from_f64(v.re)
    }
}

/// A dtype that values are converted from.
trait Source: Element {
    fn to<T: Target>(self) -> T;
}

macro_rules! integers {
    ($($ty:ident: $carrier:ident $from:ident),*) => {$(
        impl Target for $ty {
            #[inline(always)]
            fn from_signed(v: i64) -> $ty { v as $ty }
            #[inline(always)]
            fn from_unsigned(v: u64) -> $ty { v as $ty }
            #[inline(always)]
            fn from_f32(v: f32) -> $ty { Self::from_f64(f64::from(v)) }
            #[inline(always)]
            fn from_f64(v: f64) -> $ty {
                const LOW: f64 = $ty::MIN as f64;
                const HIGH: f64 = ($ty::MAX / 2 + 1) as f64 * 2.0;
                let inside = if (LOW..HIGH).contains(&v) { v } else { 0.0 };
                // SAFETY: `inside` is at least MIN and below MAX + 1, or 0.
                let whole = unsafe { inside.to_int_unchecked::<$ty>() };
                let whole = if v >= HIGH { $ty::MAX } else { whole };
                if v < LOW { $ty::MIN } else { whole }
            }
        }
        impl Source for $ty {
            #[inline(always)]
            fn to<T: Target>(self) -> T { T::$from(self as $carrier) }
        }
    )*};
}

integers! {
    i8: i64 from_signed, i16: i64 from_signed, i32: i64 from_signed, i64: i64 from_signed,
    u8: u64 from_unsigned, u16: u64 from_unsigned, u32: u64 from_unsigned, u64: u64 from_unsigned
}

impl Target for Bool8 {
    #[inline(always)]
    fn from_signed(v: i64) -> Bool8 {
        Bool8::new(v != 0)
    }
    #[inline(always)]
    fn from_unsigned(v: u64) -> Bool8 {
        Bool8::new(v != 0)
    }
    #[inline(always)]
    fn from_f32(v: f32) -> Bool8 {
        Bool8::new(v != 0.0)
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Bool8 {
        Bool8::new(v != 0.0)
    }
    #[inline(always)]
    fn from_c64(v: C64) -> Bool8 {
        Bool8::new((v.re != 0.0) | (v.im != 0.0))
    }
    #[inline(always)]
    fn from_c128(v: C128) -> Bool8 {
        Bool8::new((v.re != 0.0) | (v.im != 0.0))
    }
}

impl Source for Bool8 {
    #[inline(always)]
    fn to<T: Target>(self) -> T {
        T::from_unsigned(u64::from(self.get()))
    }
}

macro_rules! halves {
    ($($ty:ident),*) => {$(
        impl Target for $ty {
            #[inline(always)]
            fn from_signed(v: i64) -> $ty { Self::narrow(v as f32) }
            #[inline(always)]
            fn from_unsigned(v: u64) -> $ty { Self::narrow(v as f32) }
            #[inline(always)]
            fn from_f32(v: f32) -> $ty { Self::narrow(v) }
            #[inline(always)]
            fn from_f64(v: f64) -> $ty { Self::narrow(round_to_odd(v)) }
        }
        impl Source for $ty {
            #[inline(always)]
            fn to<T: Target>(self) -> T { T::from_f32(self.widen()) }
        }
    )*};
}

halves!(f16, bf16);

macro_rules! floats {
    ($($ty:ident $complex:ident $from:ident $from_complex:ident),*) => {$(
        impl Target for $ty {
            #[inline(always)]
            fn from_signed(v: i64) -> $ty { v as $ty }
            #[inline(always)]
            fn from_unsigned(v: u64) -> $ty { v as $ty }
            #[inline(always)]
            fn from_f32(v: f32) -> $ty { v as $ty }
            #[inline(always)]
            fn from_f64(v: f64) -> $ty { v as $ty }
        }
        impl Source for $ty {
            #[inline(always)]
            fn to<T: Target>(self) -> T { T::$from(self) }
        }
        impl Target for $complex {
            #[inline(always)]
            fn from_signed(v: i64) -> $complex { Complex::new(v as $ty, 0.0) }
            #[inline(always)]
            fn from_unsigned(v: u64) -> $complex { Complex::new(v as $ty, 0.0) }
            #[inline(always)]
            fn from_f32(v: f32) -> $complex { Complex::new(v as $ty, 0.0) }
            #[inline(always)]
            fn from_f64(v: f64) -> $complex { Complex::new(v as $ty, 0.0) }
            #[inline(always)]
            fn from_c64(v: C64) -> $complex { Complex::new(v.re as $ty, v.im as $ty) }
            #[inline(always)]
            fn from_c128(v: C128) -> $complex { Complex::new(v.re as $ty, v.im as $ty) }
        }
        impl Source for $complex {
            #[inline(always)]
            fn to<T: Target>(self) -> T { T::$from_complex(self) }
        }
    )*};
}

floats!(f32 C64 from_f32 from_c64, f64 C128 from_f64 from_c128);

impl<const D: u8> Target for Narrow<D> {
    #[inline(always)]
    fn from_signed(v: i64) -> Self {
        Narrow::from_byte(Self::FORMAT.wrap(v))
    }
    #[inline(always)]
    fn from_unsigned(v: u64) -> Self {
        match Self::FORMAT {
            NarrowFormat::Int { .. } => Self::from_signed(v as i64),
            NarrowFormat::Float(_) => Narrow::from_f32(v as f32),
        }
    }
    #[inline(always)]
    fn from_f32(v: f32) -> Self {
        Narrow::from_f32(v)
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        Narrow::from_f64(v)
    }
}

impl<const D: u8> Source for Narrow<D> {
    #[inline(always)]
    fn to<T: Target>(self) -> T {
        match Self::FORMAT {
            NarrowFormat::Int { .. } => T::from_signed(self.to_f32() as i64),
            NarrowFormat::Float(_) => T::from_f32(self.to_f32()),
        }
    }
}

struct Cast<A, R>(PhantomData<(A, R)>);

/// Whether a dtype is among those between which programs convert much.
const fn common(dtype: DType) -> bool {
    DTypeSet::of(&[DType::Bool, DType::I32, DType::I64, DType::F16, DType::Bf16, DType::F32, DType::F64])
        .contains(dtype)
}

impl<A: Source, R: Target> Map1 for Cast<A, R> {
    type A = A;
    type R = R;
    const LEVEL: Level = if common(A::DTYPE) && common(R::DTYPE) {
        Level::V4
    } else if A::DTYPE.is_narrow() || R::DTYPE.is_narrow() {
        // A table of the values of bytes is looked up: wide vectors are of no use.
        Level::Base
    } else {
        Level::V3
    };
    #[inline(always)]
    fn eval(a: A) -> R {
        a.to()
    }
}

/// Runs `$body` with `$T` bound to the element type of a dtype that is no integer.
macro_rules! with_other {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        if $dtype == DType::Bool {
            type $T = Bool8;
            $body
        } else {
            with_dtype!(inexact, $dtype, $T => $body, else $other)
        }
    };
}

/// The loop that converts elements of one dtype to another.
///
/// - Integers to integers keep the low bits; integers to floats round to nearest (through `f32`
///   for 16-bit floats).
/// - Floats to integers truncate; out-of-range values saturate and NaN gives 0.
/// - Complex to real drops the imaginary part.
/// - Anything to boolean is `!= 0`; boolean to anything is 0 or 1.
/// - Narrow integers are like wide ones; narrow floats are rounded to once, through `f32`.
///
/// None if either dtype is `str`.
pub fn cast(from: DType, to: DType) -> Option<LoopFn> {
    match (from.is_narrow(), to.is_narrow()) {
        (false, false) => between_plain(from, to),
        (true, false) => with_dtype!(narrow, from, A => of_narrow::<A>(to), else None),
        (false, true) => with_dtype!(narrow, to, R => to_narrow::<R>(from), else None),
        (true, true) => with_dtype!(narrow, from, A =>
            with_dtype!(narrow, to, R => Some(loop1::<Cast<A, R>>()), else None), else None),
    }
}

fn of_narrow<A: Source>(to: DType) -> Option<LoopFn> {
    with_dtype!(plain, to, R => Some(loop1::<Cast<A, R>>()), else None)
}

fn to_narrow<R: Target>(from: DType) -> Option<LoopFn> {
    with_dtype!(plain, from, A => Some(loop1::<Cast<A, R>>()), else None)
}

fn between_plain(from: DType, to: DType) -> Option<LoopFn> {
    match (from.is_integer(), to.is_integer()) {
        (true, true) => Some(between_integers(from, to)),
        (true, false) => with_dtype!(integer, from, A => of_integer::<A>(to), else None),
        (false, true) => with_dtype!(integer, to, R => to_integer::<R>(from), else None),
        (false, false) => {
            with_other!(from, A => with_other!(to, R => Some(loop1::<Cast<A, R>>()), else None), else None)
        }
    }
}

fn of_integer<A: Source>(to: DType) -> Option<LoopFn> {
    with_other!(to, R => Some(loop1::<Cast<A, R>>()), else None)
}

fn to_integer<R: Target>(from: DType) -> Option<LoopFn> {
    with_other!(from, A => Some(loop1::<Cast<A, R>>()), else None)
}

/// Converts integers: the sign counts only of what is widened.
fn between_integers(from: DType, to: DType) -> LoopFn {
    match (from, from.size(), to.size()) {
        (_, 1, 1) => loop1::<Cast<i8, i8>>(),
        (_, 2, 1) => loop1::<Cast<i16, i8>>(),
        (_, 4, 1) => loop1::<Cast<i32, i8>>(),
        (_, 8, 1) => loop1::<Cast<i64, i8>>(),
        (_, 2, 2) => loop1::<Cast<i16, i16>>(),
        (_, 4, 2) => loop1::<Cast<i32, i16>>(),
        (_, 8, 2) => loop1::<Cast<i64, i16>>(),
        (_, 4, 4) => loop1::<Cast<i32, i32>>(),
        (_, 8, 4) => loop1::<Cast<i64, i32>>(),
        (_, 8, 8) => loop1::<Cast<i64, i64>>(),
        (DType::I8, _, 2) => loop1::<Cast<i8, i16>>(),
        (DType::I8, _, 4) => loop1::<Cast<i8, i32>>(),
        (DType::I8, ..) => loop1::<Cast<i8, i64>>(),
        (DType::I16, _, 4) => loop1::<Cast<i16, i32>>(),
        (DType::I16, ..) => loop1::<Cast<i16, i64>>(),
        (DType::I32, ..) => loop1::<Cast<i32, i64>>(),
        (DType::U8, _, 2) => loop1::<Cast<u8, i16>>(),
        (DType::U8, _, 4) => loop1::<Cast<u8, i32>>(),
        (DType::U8, ..) => loop1::<Cast<u8, i64>>(),
        (DType::U16, _, 4) => loop1::<Cast<u16, i32>>(),
        (DType::U16, ..) => loop1::<Cast<u16, i64>>(),
        _ => loop1::<Cast<u32, i64>>(),
    }
}

/// Elements of one size, whatever they mean.
trait Bits: Copy {
    /// `a` if `condition`, else `b`, without a jump.
    fn choose(condition: bool, a: Self, b: Self) -> Self;
}

macro_rules! bits {
    ($($t:ty),*) => {$(
        impl Bits for $t {
            #[inline(always)]
            fn choose(condition: bool, a: $t, b: $t) -> $t {
                let mask = <$t>::from(condition).wrapping_neg();
                (a & mask) | (b & !mask)
            }
        }
    )*};
}

bits!(u8, u16, u32, u64);

impl Bits for [u64; 2] {
    #[inline(always)]
    fn choose(condition: bool, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        [u64::choose(condition, a[0], b[0]), u64::choose(condition, a[1], b[1])]
    }
}

/// # Safety
/// As for [`LoopFn`], with lanes of a condition byte and two of `T`, and an output of `T`.
unsafe fn select_loop<T: Bits>(n: usize, ins: &[Lane], out: *mut u8) -> Result<(), Fault> {
    debug_assert_eq!(ins.len(), 3);
    // SAFETY: the caller passes three lanes.
    let (c, a, b) = unsafe { (*ins.get_unchecked(0), *ins.get_unchecked(1), *ins.get_unchecked(2)) };
    let (pa, pb, dst) = (a.ptr.cast::<T>(), b.ptr.cast::<T>(), out.cast::<T>());
    if n == 0 {
        return Ok(());
    }
    if n == 1 {
        // SAFETY: one element of each lane is readable, and one is writable.
        unsafe { dst.write(if *c.ptr != 0 { pa.read() } else { pb.read() }) };
        return Ok(());
    }
    if c.step == 0 {
        // SAFETY: the condition is readable.
        let chosen = if unsafe { *c.ptr } != 0 { a } else { b };
        let src = chosen.ptr.cast::<T>();
        // SAFETY: the chosen lane is readable (for `n` elements unless fixed) and `out` writable for
        // `n`; `copy` allows the two to be the same.
        unsafe {
            if chosen.step == 0 {
                let value = src.read();
                (0..n).for_each(|i| dst.add(i).write(value));
            } else {
                src.copy_to(dst, n);
            }
        }
        return Ok(());
    }
    let (condition, a_moves, b_moves) = (c.ptr, a.step != 0, b.step != 0);
    dispatch(
        // By value: pointers that are read through a reference might be changed by what is written to `out`, for all that
        // the compiler knows, and the loops would not vectorise.
        #[inline(always)]
        move || {
            // SAFETY: the lanes are readable for `n` elements (or one, if fixed) and `out` writable
            // for `n`. Each iteration reads its elements before it writes the one of the same index.
            unsafe {
                match (a_moves, b_moves) {
                    (true, true) => {
                        for i in 0..n {
                            let (x, y) = (pa.add(i).read(), pb.add(i).read());
                            dst.add(i).write(T::choose(*condition.add(i) != 0, x, y));
                        }
                    }
                    (true, false) => {
                        let y = pb.read();
                        for i in 0..n {
                            let x = pa.add(i).read();
                            dst.add(i).write(T::choose(*condition.add(i) != 0, x, y));
                        }
                    }
                    (false, true) => {
                        let x = pa.read();
                        for i in 0..n {
                            let y = pb.add(i).read();
                            dst.add(i).write(T::choose(*condition.add(i) != 0, x, y));
                        }
                    }
                    (false, false) => {
                        let (x, y) = (pa.read(), pb.read());
                        for i in 0..n {
                            dst.add(i).write(T::choose(*condition.add(i) != 0, x, y));
                        }
                    }
                }
            }
        },
    );
    Ok(())
}

/// The loop of `cond ? a : b` on elements of `dtype`; its lanes are the boolean condition, `a` and `b`.
///
/// # Panics
/// If `dtype` is `str`.
pub fn select(dtype: DType) -> LoopFn {
    match dtype.size() {
        1 => select_loop::<u8>,
        2 => select_loop::<u16>,
        4 => select_loop::<u32>,
        8 => select_loop::<u64>,
        16 => select_loop::<[u64; 2]>,
        _ => panic!("no select loop for {dtype}"),
    }
}
