//! How much of its stack a thread has left, so that recursion ends in an error rather than in an overflow.

#![cfg_attr(
    any(target_os = "linux", target_os = "macos"),
    expect(unsafe_code, reason = "the system is asked for the bounds of the stack")
)]

use std::cell::Cell;

/// What a stack is taken to hold below the first question, where the system does not say.
const ASSUMED: usize = 512 << 10;

thread_local! {
    /// The lowest address of the thread's stack; 0 before the first question.
    static LOWEST: Cell<usize> = const { Cell::new(0) };
}

/// The bytes of stack that the calling thread has left.
#[inline]
pub fn stack_left() -> usize {
    let mark = 0u8;
    let here = std::ptr::from_ref(std::hint::black_box(&mark)).addr();
    let mut lowest = LOWEST.get();
    if lowest == 0 {
        lowest = lowest_address().unwrap_or(here.saturating_sub(ASSUMED)).max(1);
        LOWEST.set(lowest);
    }
    here.saturating_sub(lowest)
}

#[cfg(target_os = "linux")]
#[cold]
fn lowest_address() -> Option<usize> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: on success the call makes `attributes` valid, and it is destroyed right after it is read.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let found = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (found == 0).then_some(lowest.addr())
    }
}

#[cfg(target_os = "macos")]
#[cold]
fn lowest_address() -> Option<usize> {
    // SAFETY: both read what the system knows of the calling thread.
    let (highest, size) = unsafe {
        let this = libc::pthread_self();
        (libc::pthread_get_stackaddr_np(this), libc::pthread_get_stacksize_np(this))
    };
    highest.addr().checked_sub(size)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
#[cold]
fn lowest_address() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_shrinks_with_the_depth_and_fits_the_thread() {
        fn below(depth: usize) -> usize {
            let room = std::hint::black_box([0u8; 4096]);
            if depth == 0 { stack_left() } else { below(depth - 1) + usize::from(room[0]) }
        }
        let size = 512 << 10;
        let asked = move || {
            let (here, there) = (stack_left(), below(10));
            // The system may give a larger stack, one that another thread has left.
            assert!(here > size / 2, "{here}");
            assert!(there + 10 * 4096 <= here, "{here} {there}");
        };
        std::thread::Builder::new().stack_size(size).spawn(asked).unwrap().join().unwrap();
    }
}
