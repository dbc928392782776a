//! Objects kept for the next user, such as the frames of a plan.

#![expect(unsafe_code, reason = "a box goes through an atomic pointer")]

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

/// How many are kept besides the first.
const MORE: usize = 3;

/// Spare objects. Nobody ever waits for another thread: an object that cannot be had at once is made anew, since a
/// lock may be held for ever in a forked child.
///
/// The first spare is taken and put back by one atomic instruction each.
pub(super) struct FramePool<T> {
    /// Null, or a box that whoever swaps it out owns.
    first: AtomicPtr<T>,
    more: Mutex<Vec<Box<T>>>,
}

// SAFETY: it hands boxes of `T` from thread to thread, each to one at a time.
unsafe impl<T: Send> Send for FramePool<T> {}
// SAFETY: a thread gets a box by a swap or under a lock, and no reference to a `T` is ever shared.
unsafe impl<T: Send> Sync for FramePool<T> {}

impl<T> Default for FramePool<T> {
    fn default() -> Self {
        FramePool { first: AtomicPtr::new(ptr::null_mut()), more: Mutex::default() }
    }
}

impl<T> FramePool<T> {
    /// Takes one, where there is one at hand.
    #[inline]
    pub(super) fn take(&self) -> Option<Box<T>> {
        let first = self.first.swap(ptr::null_mut(), Ordering::Acquire);
        if first.is_null() {
            return self.more.try_lock().ok()?.pop();
        }
        // SAFETY: it is what `put` made of a box, and the swap gave it to this thread alone.
        Some(unsafe { Box::from_raw(first) })
    }

    /// Keeps one, where there is room.
    #[inline]
    pub(super) fn put(&self, spare: Box<T>) {
        let spare = Box::into_raw(spare);
        if self.first.compare_exchange(ptr::null_mut(), spare, Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
        // SAFETY: made of a box right above, and given to nobody.
        let spare = unsafe { Box::from_raw(spare) };
        if let Ok(mut more) = self.more.try_lock()
            && more.len() < MORE
        {
            more.push(spare);
        }
    }
}

impl<T> Drop for FramePool<T> {
    fn drop(&mut self) {
        let first = *self.first.get_mut();
        if !first.is_null() {
            // SAFETY: it is what `put` made of a box, and nobody else is left to take it.
            drop(unsafe { Box::from_raw(first) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn as_many_as_there_is_room_for_are_kept() {
        let pool = FramePool::default();
        assert!(pool.take().is_none());
        for i in 0..10 {
            pool.put(Box::new(i));
        }
        let mut kept: Vec<i32> = std::iter::from_fn(|| pool.take().map(|b| *b)).collect();
        kept.sort_unstable();
        assert_eq!(kept, [0, 1, 2, 3]);
    }

    #[test]
    fn threads_never_share_one() {
        let pool: FramePool<AtomicBool> = FramePool::default();
        let work = || {
            for _ in 0..2000 {
                let mine = pool.take().unwrap_or_default();
                assert!(!mine.swap(true, Ordering::Relaxed), "somebody else uses it");
                std::hint::spin_loop();
                mine.store(false, Ordering::Relaxed);
                pool.put(mine);
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    }
}
