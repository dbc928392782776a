//! The choice of instruction set, made once per process.

#![expect(unsafe_code, reason = "functions compiled for a detected instruction set")]

use std::sync::atomic::{AtomicU8, Ordering};

use penstock_data::settings;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// What the target guarantees.
    Base = 1,
    /// x86-64-v3: AVX2 and FMA.
    V3 = 2,
    /// x86-64-v4: AVX-512 F, BW, CD, DQ and VL.
    V4 = 3,
}

static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The best instruction set of this machine.
///
/// `PENSTOCK_SIMD=base|v3|v4` in the environment lowers it, for tests and for comparing results.
#[inline]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Base,
        2 => Level::V3,
        3 => Level::V4,
        _ => detect(),
    }
}

#[cold]
fn detect() -> Level {
    let read = |value: &str| match value {
        "base" => Some(Level::Base),
        "v3" => Some(Level::V3),
        "v4" => Some(Level::V4),
        _ => None,
    };
    let wanted = settings::get("PENSTOCK_SIMD", "'base', 'v3' or 'v4'", read);
    let found = supported().min(wanted.unwrap_or(Level::V4));
    LEVEL.store(found as u8, Ordering::Relaxed);
    found
}

#[cfg(target_arch = "x86_64")]
fn supported() -> Level {
    macro_rules! has { ($($f:tt)*) => { $(std::arch::is_x86_feature_detected!($f))&&* } }
    if !has!("avx2" "fma" "bmi1" "bmi2" "f16c" "lzcnt" "popcnt") {
        Level::Base
    } else if !has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
        Level::V3
    } else {
        Level::V4
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn supported() -> Level {
    Level::Base
}

/// Runs `f` compiled for the best instruction set.
///
/// `f` and what it calls must be `#[inline(always)]` to profit: write
/// `dispatch(#[inline(always)] || …)`. Each level is a copy of the code: see [`dispatch_v3`] for what computes little.
#[inline]
pub(crate) fn dispatch<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::V4 {
        // SAFETY: `level` returns `V4` only after detecting its features.
        return unsafe { at_v4(f) };
    }
    dispatch_v3(f)
}

/// [`dispatch`] to AVX2 at most: for what waits for memory, or for one addition after the other.
#[inline]
pub(crate) fn dispatch_v3<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if level() >= Level::V3 {
        // SAFETY: `level` returns `V3` and `V4` only after detecting the features of `V3`.
        return unsafe { at_v3(f) };
    }
    f()
}

/// Runs `f` compiled for [`Level::V4`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
pub(crate) fn at_v4<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Runs `f` compiled for [`Level::V3`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
pub(crate) fn at_v3<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Whether the least instruction set of the machine multiplies and adds with one rounding.
pub(crate) const FUSED_BASE: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

/// Asks for some memory, which need not exist, to be brought to the cache of this level.
#[inline(always)]
pub(crate) fn prefetch<const LEVEL: u8, T>(from: *const T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let line = from.wrapping_byte_add(at).cast();
        // SAFETY: a hint, which never faults.
        unsafe { if LEVEL == 1 { _mm_prefetch::<_MM_HINT_T0>(line) } else { _mm_prefetch::<_MM_HINT_T1>(line) } };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes);
}

/// Copies memory without leaving what it writes in the caches. [`fence_stores`] has to follow on this thread before others
/// read it.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes; they are disjoint.
#[inline(always)]
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's contract; the stores in between are to aligned places.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
            let head = to.align_offset(64).min(bytes);
            from.copy_to_nonoverlapping(to, head);
            let mut at = head;
            while at + 16 <= bytes {
                _mm_stream_si128(to.add(at).cast(), _mm_loadu_si128(from.add(at).cast()));
                at += 16;
            }
            from.add(at).copy_to_nonoverlapping(to.add(at), bytes - at);
        }
        #[cfg(not(target_arch = "x86_64"))]
        from.copy_to_nonoverlapping(to, bytes);
    }
}

/// Orders what [`stream`] wrote before what this thread writes from here on.
#[inline(always)]
pub(crate) fn fence_stores() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has SSE.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
