//! The calling convention of elementwise loops, and the loops themselves.
//!
//! A loop is a scalar function ([`Map1`], [`Map2`]) compiled once per instruction set. Which one
//! runs is decided when the loop is looked up, so that calling it costs one indirect call.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::fmt;
use std::mem::MaybeUninit;
use std::slice;

#[cfg(target_arch = "x86_64")]
use crate::arch::level;
use crate::arch::{Level, dispatch_v3};
use crate::num::Real;

/// One input of an elementwise loop: where it starts, and whether it advances.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// The first element, aligned to the element size.
    pub ptr: *const u8,
    /// Bytes from one element to the next: 0 (one value for all) or the element size.
    pub step: usize,
}

impl Lane {
    /// A lane that advances by elements of `size` bytes.
    #[inline]
    pub const fn new(ptr: *const u8, size: usize) -> Lane {
        Lane { ptr, step: size }
    }

    /// A lane of one value for all elements.
    #[inline]
    pub const fn fixed(ptr: *const u8) -> Lane {
        Lane { ptr, step: 0 }
    }

    /// The lane from its `i`-th element on.
    ///
    /// # Safety
    /// The lane is readable for at least `i` elements.
    #[inline]
    pub unsafe fn at(self, i: usize) -> Lane {
        // SAFETY: the caller promises that the offset stays inside (or one past) the allocation.
        Lane { ptr: unsafe { self.ptr.add(i * self.step) }, step: self.step }
    }
}

/// What an elementwise loop can report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An integer was divided by zero.
    DivideByZero,
    /// An integer was raised to a negative power.
    NegativePower,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::DivideByZero => "Integer division by zero",
            Fault::NegativePower => "integers to negative powers are not integers",
        })
    }
}

/// Computes `n` outputs of an elementwise operator.
///
/// # Safety
/// There are as many lanes as the operator has operands. Each lane is aligned and readable for `n`
/// elements (one if its step is 0, and at least one element in any case unless `n` is 0), `out` is
/// aligned and writable for `n`. `out` may be equal to the pointer of an advancing lane of the same
/// element size (in-place use); otherwise it overlaps no lane.
pub type LoopFn = unsafe fn(n: usize, ins: &[Lane], out: *mut u8) -> Result<(), Fault>;

/// A scalar function of one operand.
pub(crate) trait Map1: 'static {
    type A: Copy;
    type R: Copy;
    /// The best instruction set for which a copy is worth its size: the base one if the body does not vectorise.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other machines have one copy of each loop"))]
    const LEVEL: Level;
    /// Whether [`Map1::rare`] can be true.
    const RARE: bool = false;
    fn eval(a: Self::A) -> Self::R;
    /// Operands that `eval` is not accurate for; they take `eval_rare`.
    #[inline(always)]
    fn rare(_: Self::A) -> bool {
        false
    }
    fn eval_rare(a: Self::A) -> Self::R {
        Self::eval(a)
    }
}

/// A scalar function of two operands.
pub(crate) trait Map2: 'static {
    type A: Copy;
    type B: Copy;
    type R: Copy;
    /// The best instruction set for which a copy is worth its size: the base one if the body does not vectorise.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other machines have one copy of each loop"))]
    const LEVEL: Level;
    /// Whether [`Map2::fault`] can be true.
    const CHECKED: bool = false;
    fn eval(a: Self::A, b: Self::B) -> Self::R;
    /// What it reports.
    const FAULT: Fault = Fault::DivideByZero;
    /// Second operands that the operator rejects.
    #[inline(always)]
    fn fault(_: Self::B) -> bool {
        false
    }
}

/// Bytes of the stack buffer through which an in-place loop passes.
const BOUNCE: usize = 8192;

#[repr(C, align(64))]
struct Bounce([MaybeUninit<u8>; BOUNCE]);

/// Runs `f` for an output that is also an input: chunk by chunk through a stack buffer, so that
/// the loop proper never sees overlap (which would keep it from being vectorised).
///
/// # Safety
/// As for [`LoopFn`], with `out` equal to the pointer of an advancing lane.
#[inline(never)]
unsafe fn in_place(n: usize, ins: &[Lane], out: *mut u8, out_size: usize, f: LoopFn) -> Result<(), Fault> {
    let mut bounce = Bounce([MaybeUninit::uninit(); BOUNCE]);
    let buf = bounce.0.as_mut_ptr().cast::<u8>();
    let per = BOUNCE / out_size;
    let mut lanes = [Lane { ptr: std::ptr::null(), step: 0 }; 4];
    let mut start = 0;
    while start < n {
        let len = per.min(n - start);
        for (lane, src) in lanes.iter_mut().zip(ins) {
            // SAFETY: `start < n`, and the caller's lanes are readable for `n` elements.
            *lane = unsafe { src.at(start) };
        }
        // SAFETY: the lanes have `len` more elements; `buf` is a local of `len * out_size` bytes
        // at least, aligned to 64, which no lane points into.
        unsafe { f(len, &lanes[..ins.len()], buf)? };
        // SAFETY: `f` has written `len` elements to `buf`; `out` is writable for `n > start`.
        unsafe { std::ptr::copy_nonoverlapping(buf, out.add(start * out_size), len * out_size) };
        start += len;
    }
    Ok(())
}

/// The number of elements over which operands are screened for rare ones at a time.
const SCREEN: usize = 256;

/// # Safety
/// As for [`LoopFn`], with one lane of `M::A` and an output of `M::R`. `this` is the loop that
/// this is the body of.
#[inline(always)]
unsafe fn body1<M: Map1>(n: usize, ins: &[Lane], out: *mut u8, this: LoopFn) -> Result<(), Fault> {
    debug_assert_eq!(ins.len(), 1);
    // SAFETY: the caller passes one lane.
    let a = unsafe { *ins.get_unchecked(0) };
    let src = a.ptr.cast::<M::A>();
    let dst = out.cast::<M::R>();
    let one = |x: M::A| if M::RARE && M::rare(x) { M::eval_rare(x) } else { M::eval(x) };
    if n == 1 {
        // SAFETY: one element is readable and writable.
        unsafe { dst.write(one(src.read())) };
        return Ok(());
    }
    if n == 0 {
        return Ok(());
    }
    // SAFETY: `out` is writable for `n` elements, which need no initialisation as `MaybeUninit`.
    let dst = unsafe { slice::from_raw_parts_mut(dst.cast::<MaybeUninit<M::R>>(), n) };
    if a.step == 0 {
        // SAFETY: a fixed lane has one readable element.
        let value = one(unsafe { src.read() });
        dst.fill(MaybeUninit::new(value));
        return Ok(());
    }
    if std::ptr::eq(a.ptr, out) {
        // SAFETY: the caller's contract, with `out` equal to the lane.
        return unsafe { in_place(n, ins, out, size_of::<M::R>(), this) };
    }
    // SAFETY: the lane is readable for `n` elements and does not overlap `out`.
    let src = unsafe { slice::from_raw_parts(src, n) };
    if M::RARE {
        for (d, s) in dst.chunks_mut(SCREEN).zip(src.chunks(SCREEN)) {
            for (d, &x) in d.iter_mut().zip(s) {
                d.write(M::eval(x));
            }
            if s.iter().fold(false, |any, &x| any | M::rare(x)) {
                for (d, &x) in d.iter_mut().zip(s) {
                    if M::rare(x) {
                        d.write(M::eval_rare(x));
                    }
                }
            }
        }
    } else {
        for (d, &x) in dst.iter_mut().zip(src) {
            d.write(M::eval(x));
        }
    }
    Ok(())
}

/// # Safety
/// As for [`LoopFn`], with lanes of `M::A` and `M::B` and an output of `M::R`. `this` is the loop
/// that this is the body of.
#[inline(always)]
unsafe fn body2<M: Map2>(n: usize, ins: &[Lane], out: *mut u8, this: LoopFn) -> Result<(), Fault> {
    debug_assert_eq!(ins.len(), 2);
    // SAFETY: the caller passes two lanes.
    let (a, b) = unsafe { (*ins.get_unchecked(0), *ins.get_unchecked(1)) };
    let (pa, pb) = (a.ptr.cast::<M::A>(), b.ptr.cast::<M::B>());
    let dst = out.cast::<M::R>();
    if n == 1 {
        // SAFETY: one element of each is readable, and one writable.
        unsafe {
            let y = pb.read();
            if M::CHECKED && M::fault(y) {
                return Err(M::FAULT);
            }
            dst.write(M::eval(pa.read(), y));
        }
        return Ok(());
    }
    if n == 0 {
        return Ok(());
    }
    if (a.step != 0 && std::ptr::eq(a.ptr, out)) || (b.step != 0 && std::ptr::eq(b.ptr, out)) {
        // SAFETY: the caller's contract, with `out` equal to an advancing lane.
        return unsafe { in_place(n, ins, out, size_of::<M::R>(), this) };
    }
    // SAFETY: `out` is writable for `n` elements and overlaps no lane.
    let dst = unsafe { slice::from_raw_parts_mut(dst.cast::<MaybeUninit<M::R>>(), n) };
    let la = if a.step == 0 { 1 } else { n };
    let lb = if b.step == 0 { 1 } else { n };
    // SAFETY: the lanes are readable for `n` elements, or one if fixed.
    let (sa, sb) = unsafe { (slice::from_raw_parts(pa, la), slice::from_raw_parts(pb, lb)) };
    if M::CHECKED && sb.iter().fold(false, |any, &y| any | M::fault(y)) {
        return Err(M::FAULT);
    }
    match (la == n, lb == n) {
        (true, true) => {
            for ((d, &x), &y) in dst.iter_mut().zip(sa).zip(sb) {
                d.write(M::eval(x, y));
            }
        }
        (true, false) => {
            let y = sb[0];
            for (d, &x) in dst.iter_mut().zip(sa) {
                d.write(M::eval(x, y));
            }
        }
        (false, true) => {
            let x = sa[0];
            for (d, &y) in dst.iter_mut().zip(sb) {
                d.write(M::eval(x, y));
            }
        }
        (false, false) => dst.fill(MaybeUninit::new(M::eval(sa[0], sb[0]))),
    }
    Ok(())
}

/// Loops compiled for what the target guarantees.
mod base {
    use super::{Fault, Lane, Map1, Map2, body1, body2};

    /// # Safety
    /// As for [`super::LoopFn`].
    pub(super) unsafe fn loop1<M: Map1>(n: usize, ins: &[Lane], out: *mut u8) -> Result<(), Fault> {
        // SAFETY: the same contract.
        unsafe { body1::<M>(n, ins, out, loop1::<M>) }
    }

    /// # Safety
    /// As for [`super::LoopFn`].
    pub(super) unsafe fn loop2<M: Map2>(n: usize, ins: &[Lane], out: *mut u8) -> Result<(), Fault> {
        // SAFETY: the same contract.
        unsafe { body2::<M>(n, ins, out, loop2::<M>) }
    }
}

/// Loops compiled for AVX2.
#[cfg(target_arch = "x86_64")]
mod v3 {
    use super::{Fault, Lane, Map1, Map2, body1, body2};

    /// # Safety
    /// As for [`super::LoopFn`], on a machine of `Level::V3`.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
    pub(super) unsafe fn loop1<M: Map1>(n: usize, ins: &[Lane], out: *mut u8) -> Result<(), Fault> {
        // SAFETY: the same contract.
        unsafe { body1::<M>(n, ins, out, loop1::<M>) }
    }

    /// # Safety
    /// As for [`super::LoopFn`], on a machine of `Level::V3`.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
    pub(super) unsafe fn loop2<M: Map2>(n: usize, ins: &[Lane], out: *mut u8) -> Result<(), Fault> {
        // SAFETY: the same contract.
        unsafe { body2::<M>(n, ins, out, loop2::<M>) }
    }
}

/// Loops compiled for AVX-512.
#[cfg(target_arch = "x86_64")]
mod v4 {
    use super::{Fault, Lane, Map1, Map2, body1, body2};

    /// # Safety
    /// As for [`super::LoopFn`], on a machine of `Level::V4`.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
    pub(super) unsafe fn loop1<M: Map1>(n: usize, ins: &[Lane], out: *mut u8) -> Result<(), Fault> {
        // SAFETY: the same contract.
        unsafe { body1::<M>(n, ins, out, loop1::<M>) }
    }

    /// # Safety
    /// As for [`super::LoopFn`], on a machine of `Level::V4`.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
    pub(super) unsafe fn loop2<M: Map2>(n: usize, ins: &[Lane], out: *mut u8) -> Result<(), Fault> {
        // SAFETY: the same contract.
        unsafe { body2::<M>(n, ins, out, loop2::<M>) }
    }
}

/// The loop of a scalar function of one operand, for this machine.
pub(crate) fn loop1<M: Map1>() -> LoopFn {
    #[cfg(target_arch = "x86_64")]
    {
        if const { M::LEVEL as u8 >= Level::V4 as u8 } && level() == Level::V4 {
            return v4::loop1::<M>;
        }
        if const { M::LEVEL as u8 >= Level::V3 as u8 } && level() >= Level::V3 {
            return v3::loop1::<M>;
        }
    }
    base::loop1::<M>
}

/// The loop of a scalar function of two operands, for this machine.
pub(crate) fn loop2<M: Map2>() -> LoopFn {
    #[cfg(target_arch = "x86_64")]
    {
        if const { M::LEVEL as u8 >= Level::V4 as u8 } && level() == Level::V4 {
            return v4::loop2::<M>;
        }
        if const { M::LEVEL as u8 >= Level::V3 as u8 } && level() >= Level::V3 {
            return v3::loop2::<M>;
        }
    }
    base::loop2::<M>
}

/// Elements that pass through `f32` at a time.
const HALVES: usize = 512;

#[repr(C, align(64))]
struct Widened([MaybeUninit<f32>; HALVES]);

/// Runs the loop `f` of a function of `f32` on 16-bit floats.
///
/// # Safety
/// As for [`LoopFn`], with up to 2 lanes of `T` and an output of `T`; `f` takes as many.
unsafe fn through_f32<T: Real<Wide = f32>>(f: LoopFn, n: usize, ins: &[Lane], out: *mut u8) -> Result<(), Fault> {
    let mut buffers = [const { Widened([MaybeUninit::uninit(); HALVES]) }; 3];
    let [result, operands @ ..] = &mut buffers;
    let dst = out.cast::<T>();
    let mut start = 0;
    while start < n {
        let len = HALVES.min(n - start);
        let mut lanes = [Lane::fixed(out); 2];
        for ((lane, src), wide) in lanes.iter_mut().zip(ins).zip(operands.iter_mut()) {
            let count = if src.step == 0 { 1 } else { len };
            // SAFETY: the lane has `count` elements from `start` on (or one in all); the buffer has room for them.
            unsafe { convert(src.at(start).ptr.cast::<T>(), wide.0.as_mut_ptr().cast::<f32>(), count, Real::widen) };
            *lane = Lane { ptr: wide.0.as_ptr().cast(), step: if src.step == 0 { 0 } else { 4 } };
        }
        let values = result.0.as_mut_ptr().cast::<f32>();
        // SAFETY: the lanes have `len` elements or one; the buffer has room for `len`. `out` may be a lane: its elements up
        // to `start + len` were read.
        unsafe {
            f(len, &lanes[..ins.len()], values.cast())?;
            convert(values.cast_const(), dst.add(start), len, T::narrow);
        }
        start += len;
    }
    Ok(())
}

/// # Safety
/// `src` is aligned and readable, `dst` aligned and writable for `n` elements; they are disjoint.
#[inline(always)]
unsafe fn convert<A: Copy, R>(src: *const A, dst: *mut R, n: usize, f: impl Fn(A) -> R) {
    dispatch_v3(
        #[inline(always)]
        move || {
            for i in 0..n {
                // SAFETY: the caller's contract.
                unsafe { dst.add(i).write(f(src.add(i).read())) };
            }
        },
    );
}

/// The loop on 16-bit floats of a function of one `f32`, rounded once.
pub(crate) fn half1<T: Real<Wide = f32>, M: Map1<A = f32, R = f32>>() -> LoopFn {
    /// # Safety
    /// As for [`LoopFn`].
    unsafe fn run<T: Real<Wide = f32>, M: Map1<A = f32, R = f32>>(
        n: usize,
        ins: &[Lane],
        out: *mut u8,
    ) -> Result<(), Fault> {
        // SAFETY: the same contract.
        unsafe { through_f32::<T>(loop1::<M>(), n, ins, out) }
    }
    run::<T, M>
}

/// The loop on 16-bit floats of a function of two `f32`, rounded once.
pub(crate) fn half2<T: Real<Wide = f32>, M: Map2<A = f32, B = f32, R = f32>>() -> LoopFn {
    /// # Safety
    /// As for [`LoopFn`].
    unsafe fn run<T: Real<Wide = f32>, M: Map2<A = f32, B = f32, R = f32>>(
        n: usize,
        ins: &[Lane],
        out: *mut u8,
    ) -> Result<(), Fault> {
        // SAFETY: the same contract.
        unsafe { through_f32::<T>(loop2::<M>(), n, ins, out) }
    }
    run::<T, M>
}
