//! Vectors whose length a program's numbers decide: one that cannot be had is an error, where `Vec` ends the process.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use smallvec::{Array, SmallVec};

use crate::error::{Error, Result};
use crate::reserve::Reserve;

/// A collection that grows by elements of one size.
pub trait Grow {
    /// What one element takes.
    type Element;

    /// How many elements there are.
    fn count(&self) -> usize;

    /// Makes room for `more` elements. False where there is no memory for them; the collection is as it was then.
    fn grow(&mut self, more: usize) -> bool;
}

impl<T> Grow for Vec<T> {
    type Element = T;

    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn grow(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl<K: Eq + Hash, S: BuildHasher> Grow for HashSet<K, S> {
    type Element = K;

    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn grow(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> Grow for HashMap<K, V, S> {
    type Element = (K, V);

    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn grow(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

#[cold]
fn exhausted<T>(count: usize) -> Error {
    let bytes = count.saturating_mul(size_of::<T>());
    Error::exhausted(format!("cannot allocate {bytes} bytes"))
}

/// A vector with room for `count` elements.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub fn with_room<T>(count: usize) -> Result<Vec<T>> {
    let mut out = Vec::new();
    out.try_reserve_exact(count).map_err(|_| exhausted::<T>(count))?;
    Ok(out)
}

/// A vector of `count` copies of `value`.
///
/// # Errors
/// As [`with_room`].
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut out = with_room(count)?;
    out.resize(count, value);
    Ok(out)
}

/// A vector of the items. The iterator's size hint is taken as an estimate.
///
/// # Errors
/// As [`with_room`].
pub fn collected<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let items = items.into_iter();
    let mut out = with_room(items.size_hint().0)?;
    for item in items {
        push(&mut out, item)?;
    }
    Ok(out)
}

/// As [`collected`], of items that may be errors.
///
/// # Errors
/// The first of them; as [`with_room`].
pub fn try_collected<T>(items: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let items = items.into_iter();
    let mut out = with_room(items.size_hint().0)?;
    for item in items {
        push(&mut out, item?)?;
    }
    Ok(out)
}

/// Adds an element.
///
/// # Errors
/// As [`with_room`]; and where an element before took memory that was kept back: [`Reserve`].
#[inline]
pub fn push<T>(out: &mut Vec<T>, item: T) -> Result<()> {
    Reserve::check()?;
    if out.len() == out.capacity() {
        reserve(out, 1)?;
    }
    out.push(item);
    Ok(())
}

/// Reserves memory for `more` elements, and at least doubles the capacity where there was no room.
///
/// # Errors
/// As [`with_room`].
#[inline]
pub fn reserve<G: Grow>(out: &mut G, more: usize) -> Result<()> {
    if out.grow(more) { Ok(()) } else { Err(exhausted::<G::Element>(out.count().saturating_add(more))) }
}

/// The size, in bytes, from which memory is tried before a copy that cannot fail.
const LARGE: usize = 1 << 20;

/// The elements behind a shared pointer, which copies them.
///
/// # Errors
/// As [`with_room`].
pub fn shared<T>(items: Vec<T>) -> Result<Arc<[T]>> {
    if size_of_val(&items[..]) >= LARGE {
        // `Arc` has no way to fail; what can be had now can be had again.
        with_room::<T>(items.len() + 1)?;
    }
    Ok(items.into())
}

/// How long a text is at most that is put together without memory of its own.
const SHORT: usize = 256;

/// The bytes of all parts, with `separator` between them.
///
/// # Errors
/// As [`with_room`].
pub fn joined<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone, separator: &[u8]) -> Result<Arc<[u8]>> {
    let (count, bytes) = parts.clone().fold((0usize, 0usize), |(n, all), p| (n + 1, all.saturating_add(p.len())));
    let size = bytes.saturating_add(separator.len().saturating_mul(count.saturating_sub(1)));
    let pieces = parts.enumerate().flat_map(|(i, part)| [if i > 0 { separator } else { &[] }, part]);
    if size <= SHORT {
        let mut out = SmallVec::<[u8; SHORT]>::new();
        pieces.for_each(|piece| out.extend_from_slice(piece));
        return Ok(out.as_slice().into());
    }
    let mut out = with_room(size)?;
    pieces.for_each(|piece| out.extend_from_slice(piece));
    shared(out)
}

/// A vector of `count` copies of `value` for code that has no way to return an error, such as a kernel's scratch memory:
/// where it cannot be had, the code is unwound by [`Error::unwind`].
pub fn scratch<T: Clone>(value: T, count: usize) -> Vec<T> {
    filled(value, count).unwrap_or_else(|e| e.unwind())
}

/// As [`scratch`], a vector with room for `count` elements.
pub fn scratch_room<T>(count: usize) -> Vec<T> {
    with_room(count).unwrap_or_else(|e| e.unwind())
}

/// As [`scratch`], of the items.
pub fn scratch_of<T>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    collected(items).unwrap_or_else(|e| e.unwind())
}

/// As [`scratch_of`], a vector whose elements lie in it where they are few.
pub fn scratch_small<A: Array>(items: impl ExactSizeIterator<Item = A::Item>) -> SmallVec<A> {
    let mut out = SmallVec::new();
    if out.try_reserve_exact(items.len()).is_err() {
        exhausted::<A::Item>(items.len()).unwind();
    }
    out.extend(items);
    out
}

/// Reserves memory for `more` elements of scratch memory; unwinds as [`scratch`] does.
pub fn reserve_scratch<T>(out: &mut Vec<T>, more: usize) {
    reserve(out, more).unwrap_or_else(|e| e.unwind());
}

/// Whether there is memory for a thread: its stack, and what it keeps for itself.
pub fn has_room_for_thread(stack: usize) -> bool {
    const OWN: usize = 1 << 20;
    with_room::<u8>(stack.saturating_add(OWN)).is_ok()
}

/// Unwinds, as [`scratch`] does: so many bytes cannot be had.
#[cold]
pub fn refused(bytes: usize) -> ! {
    exhausted::<u8>(bytes).unwind()
}

/// Unwinds, as [`scratch`] does, where so many bytes cannot be had: in front of code that cannot fail for want of memory, and that
/// takes no more. What can be had now can be had again.
pub fn probe(bytes: usize) {
    drop(scratch_room::<u8>(bytes));
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;
    use crate::Class;

    #[test]
    fn lengths_that_cannot_be_had_are_errors() {
        for count in [usize::MAX, usize::MAX / 8, 1 << 50] {
            assert_eq!(filled(0u64, count).unwrap_err().class(), Class::ResourceExhausted);
            assert_eq!(with_room::<[u64; 4]>(count).unwrap_err().class(), Class::ResourceExhausted);
            assert_eq!(collected((0..count).map(|i| i as u64)).unwrap_err().class(), Class::ResourceExhausted);
            let refused = |work: &(dyn Fn() + std::panic::RefUnwindSafe)| {
                let panic = catch_unwind(work).unwrap_err();
                assert_eq!(Error::of_panic(&*panic).class(), Class::ResourceExhausted);
            };
            refused(&|| drop(scratch(0u64, count)));
            refused(&|| drop(scratch_of((0..count).map(|i| i as u64))));
            refused(&|| drop(scratch_small::<[u64; 4]>(std::iter::repeat_n(0, count))));
            refused(&|| reserve_scratch::<u64>(&mut Vec::new(), count));
        }
        assert_eq!(collected(0..3).unwrap(), [0, 1, 2]);
        assert_eq!(scratch_small::<[u8; 2]>([7; 3].into_iter())[..], [7; 3]);
        let parts = [&b"a"[..], b"", b"bc"];
        assert_eq!(joined(parts.into_iter(), b"-").unwrap()[..], *b"a--bc");
        assert_eq!(joined(std::iter::empty(), b"-").unwrap()[..], *b"");
        assert_eq!(shared(vec![7u8; LARGE]).unwrap().len(), LARGE);
        assert_eq!(try_collected([Ok(1), Err(Error::invalid("x"))]).unwrap_err().message(), "x");
    }
}
