//! How much of its stack a thread has left, so that recursion ends in an error rather than in an overflow.

#![cfg_attr(
    any(target_os = "linux", target_os = "macos"),
    expect(unsafe_code, reason = "the system is asked for the bounds of the stack")
)]

use std::cell::Cell;

use penstock_data::{Error, Result};

/// What is to be left where something goes one level deeper: for that level, and for what it calls.
const SPARE: usize = if cfg!(debug_assertions) { 160 << 10 } else { 48 << 10 };
/// What a walk through nested regions takes for each level at most.
const LEVEL: usize = if cfg!(debug_assertions) { 64 << 10 } else { 16 << 10 };

/// Checks that a thread has stack left to go one level deeper, and for brief walks back through `levels`.
///
/// # Errors
/// `ResourceExhausted`, where it has not.
#[inline]
pub fn check(levels: usize) -> Result<()> {
    if stack_left() < SPARE + levels.saturating_mul(LEVEL / 16) {
        return Err(Error::exhausted("conditionals, loops or calls nest too deeply for the stack of this thread"));
    }
    Ok(())
}

/// Runs a walk through `levels` nested regions where the stack has room: here, or on a thread of its own. The walk
/// must not call host code, which is to run on the thread that asks for it.
///
/// # Errors
/// `ResourceExhausted` where there can be no such thread.
pub fn with_room<T: Send>(levels: usize, walk: impl FnOnce() -> T + Send) -> Result<T> {
    let room = levels.saturating_mul(LEVEL).saturating_add(SPARE);
    if stack_left() >= room {
        return Ok(walk());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(room.saturating_add(SPARE)).spawn_scoped(scope, walk);
        let none = |e| Error::exhausted(format!("no thread with a stack for {levels} nested regions: {e}"));
        Ok(thread.map_err(none)?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// How many nested regions walks have room for here.
pub fn levels_left() -> usize {
    stack_left().saturating_sub(SPARE) / LEVEL
}

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
    fn a_walk_that_has_no_room_here_gets_it_elsewhere() {
        fn down(levels: usize) -> usize {
            let room = std::hint::black_box([1u8; LEVEL / 2]);
            if levels == 0 { 0 } else { down(levels - 1) + usize::from(room[0]) }
        }
        let asked = || {
            let levels = 4 * levels_left() + 100;
            assert_eq!(with_room(levels, || down(levels)).unwrap(), levels);
            assert!(check(levels).is_ok() == (stack_left() >= SPARE + levels * (LEVEL / 16)));
        };
        std::thread::Builder::new().stack_size(512 << 10).spawn(asked).unwrap().join().unwrap();
    }

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
