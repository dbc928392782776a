//! The signature cache of one function: its traces, and which of them served which raw key.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use rustc_hash::FxHashMap;

use crate::key::TraceType;

/// At most this many raw keys are remembered for one function; then the table starts over.
const RAW_LIMIT: usize = 1 << 14;

/// A trace in the cache.
pub struct Entry<T> {
    /// What it was made for.
    pub ty: TraceType,
    /// The trace.
    pub trace: T,
    /// How many calls it served. Written under the cache's lock only.
    hits: AtomicU64,
    /// When it last served one, in calls of the function.
    used: AtomicU64,
}

impl<T> Entry<T> {
    /// A trace that has not served a call yet.
    pub fn new(ty: TraceType, trace: T) -> Entry<T> {
        Entry { ty, trace, hits: AtomicU64::new(0), used: AtomicU64::new(0) }
    }

    /// How many calls it served.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }
}

/// The traces of one function, behind its lock.
///
/// Nothing here calls the host: types are compared, and traces dropped, by whoever holds what
/// [`Cache::entries`] and [`Cache::insert`] give, after the lock is let go.
pub struct Cache<T> {
    entries: Vec<Arc<Entry<T>>>,
    /// Weak, so that only `entries` holds a trace that nobody is using.
    raw: FxHashMap<Box<[u64]>, Weak<Entry<T>>>,
    last_key: Vec<u64>,
    last: Weak<Entry<T>>,
    calls: u64,
    limit: usize,
    died: Option<TraceType>,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Cache::with_limit(usize::MAX)
    }
}

impl<T> Cache<T> {
    /// A cache of at most `limit` traces: the one that served no call for longest makes place.
    pub fn with_limit(limit: usize) -> Cache<T> {
        Cache {
            entries: Vec::new(),
            raw: FxHashMap::default(),
            last_key: Vec::new(),
            last: Weak::new(),
            calls: 0,
            limit: limit.max(1),
            died: None,
        }
    }

    /// The trace that a call of this key used before: the last one first, then the table.
    #[inline]
    pub fn hit(&mut self, key: &[u64]) -> Option<Arc<Entry<T>>> {
        if *self.last_key != *key {
            let entry = self.raw.get(key)?.clone();
            self.set_last(key, entry);
        }
        let entry = self.last.upgrade()?;
        self.calls += 1;
        count(&entry, self.calls);
        Some(entry)
    }

    fn set_last(&mut self, key: &[u64], entry: Weak<Entry<T>>) {
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.last = entry;
    }

    /// Counts a call that a trace served without [`Cache::hit`].
    pub fn count(&mut self, entry: &Entry<T>) {
        self.calls += 1;
        count(entry, self.calls);
    }

    /// Adds a trace, and gives back those that had to make place.
    pub fn insert(&mut self, entry: Arc<Entry<T>>) -> Vec<Arc<Entry<T>>> {
        // A more general trace may have served keys for which this one is more specific.
        self.forget_raw();
        entry.used.store(self.calls, Ordering::Relaxed);
        let excess = (self.entries.len() + 1).saturating_sub(self.limit);
        let mut dropped = Vec::new();
        for _ in 0..excess {
            let oldest = (0..self.entries.len()).min_by_key(|&i| self.entries[i].used.load(Ordering::Relaxed));
            dropped.extend(oldest.map(|i| self.entries.remove(i)));
        }
        self.entries.push(entry);
        dropped
    }

    /// Removes the traces for which `keep` is false, and gives them back.
    pub fn retain(&mut self, keep: impl Fn(&Entry<T>) -> bool) -> Vec<Arc<Entry<T>>> {
        let (kept, dropped): (Vec<_>, Vec<_>) = std::mem::take(&mut self.entries).into_iter().partition(|e| keep(e));
        self.entries = kept;
        if !dropped.is_empty() {
            self.forget_raw();
        }
        dropped
    }

    /// The type of the trace that was dropped last since an object that it was made for is gone.
    pub fn died(&self) -> Option<&TraceType> {
        self.died.as_ref()
    }

    /// Sets what [`Cache::died`] gives; the type before is given back.
    pub fn set_died(&mut self, ty: Option<TraceType>) -> Option<TraceType> {
        std::mem::replace(&mut self.died, ty)
    }

    /// Remembers that calls of this key use a trace of this cache.
    pub fn remember(&mut self, key: &[u64], entry: &Arc<Entry<T>>) {
        if !self.entries.iter().any(|e| Arc::ptr_eq(e, entry)) {
            return; // it made place meanwhile
        }
        if self.raw.len() >= RAW_LIMIT {
            self.forget_raw();
        }
        self.raw.insert(key.into(), Arc::downgrade(entry));
        self.set_last(key, Arc::downgrade(entry));
    }

    /// Forgets all keys; the traces stay.
    pub fn forget_raw(&mut self) {
        self.raw.clear();
        self.last = Weak::new();
    }

    /// The traces, oldest first.
    pub fn entries(&self) -> &[Arc<Entry<T>>] {
        &self.entries
    }

    /// How many calls its traces served.
    pub fn calls(&self) -> u64 {
        self.calls
    }
}

#[inline]
fn count<T>(entry: &Entry<T>, calls: u64) {
    // The lock orders the writers: no atomic addition is needed.
    entry.hits.store(entry.hits.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    entry.used.store(calls, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Token;

    fn entry(n: i64) -> Arc<Entry<i64>> {
        Arc::new(Entry::new(vec![Token::Int(n)].into(), n))
    }

    fn served(cache: &mut Cache<i64>, key: u64) -> Option<i64> {
        cache.hit(&[key]).map(|e| e.trace)
    }

    #[test]
    fn a_new_trace_takes_over_keys_that_a_more_general_one_served() {
        let mut cache = Cache::default();
        let general = entry(0);
        cache.insert(general.clone());
        cache.remember(&[7], &general);
        assert_eq!(served(&mut cache, 7), Some(0));
        cache.insert(entry(1));
        assert_eq!(served(&mut cache, 7), None);
    }

    #[test]
    fn a_full_cache_drops_the_trace_that_was_not_used_for_longest() {
        let mut cache = Cache::with_limit(2);
        let (a, b, c) = (entry(0), entry(1), entry(2));
        assert!(cache.insert(a.clone()).is_empty());
        assert!(cache.insert(b.clone()).is_empty());
        cache.remember(&[0], &a);
        cache.remember(&[1], &b);
        assert_eq!((served(&mut cache, 1), served(&mut cache, 0)), (Some(1), Some(0)));
        assert_eq!(cache.insert(c.clone()).iter().map(|e| e.trace).collect::<Vec<_>>(), [1]);
        // A key of a trace that is gone is not remembered.
        cache.remember(&[1], &b);
        assert_eq!(served(&mut cache, 1), None);
        assert_eq!((a.hits(), b.hits(), c.hits()), (1, 1, 0));
    }

    #[test]
    fn removed_traces_serve_no_call() {
        let mut cache = Cache::default();
        let (a, b) = (entry(0), entry(1));
        cache.insert(a.clone());
        cache.insert(b.clone());
        cache.remember(&[0], &a);
        cache.remember(&[1], &b);
        assert_eq!(cache.retain(|e| e.trace != 0).len(), 1);
        assert_eq!(served(&mut cache, 0), None);
        assert_eq!(cache.entries().len(), 1);
    }
}
