//! What is derived from functions and kept with them, and a count of what all of that holds.

use std::any::Any;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::attr::{Attr, Attrs, FuncRef, HostFn, HostRef};
use crate::graph::{Function, Graph};

/// What a [`Function`] keeps of what was made for it.
pub trait Derived: Any + Send + Sync {
    /// Counts every reference to functions and host code that it holds. False where somebody else holds a part of it, or
    /// it is in use.
    fn count(&self, census: &mut Census) -> bool;
}

/// Values made for a function, by what they were made for.
pub struct Kept<K, V>(Mutex<FxHashMap<K, Arc<V>>>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Kept<K, V> {
        Kept(Mutex::default())
    }
}

impl<K: Hash + Eq, V> Kept<K, V> {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<K, Arc<V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value that was made for `key`.
    pub fn get(&self, key: &K) -> Option<Arc<V>> {
        self.lock().get(key).cloned()
    }

    /// Keeps a value, unless there is one for the key; the one that is kept.
    pub fn keep(&self, key: K, value: Arc<V>) -> Arc<V> {
        self.lock().entry(key).or_insert(value).clone()
    }
}

impl<K: Hash + Eq + Send + 'static, V: Derived> Derived for Kept<K, V> {
    fn count(&self, census: &mut Census) -> bool {
        let Ok(values) = self.0.try_lock() else { return false };
        values.values().all(|value| Arc::strong_count(value) == 1 && value.count(census))
    }
}

/// References that were found to something, and how many there are.
struct Found<T> {
    thing: T,
    found: usize,
    total: usize,
}

/// A count of the references to functions and host code among all that one function holds.
#[derive(Default)]
pub struct Census {
    hosts: FxHashMap<*const (), Found<Arc<dyn HostFn>>>,
    functions: FxHashMap<*const Function, Found<()>>,
}

impl Census {
    /// Takes the census of a function that one owner holds, by one reference. `held` counts what that owner holds of what
    /// was derived from the function. `None` where somebody else holds a part of it all, or it is in use.
    pub fn of(function: &Arc<Function>, held: usize) -> Option<Census> {
        let mut census = Census::default();
        let whole = census.function_held(function, held);
        let alone = census.functions.values().all(|f| f.found == f.total);
        (whole && alone).then_some(census)
    }

    /// The host code to which there are no other references than those that were counted.
    pub fn hosts(&self) -> impl Iterator<Item = &Arc<dyn HostFn>> {
        self.hosts.values().filter(|host| host.found == host.total).map(|host| &host.thing)
    }

    /// Counts a reference to host code.
    pub fn host(&mut self, host: &HostRef) {
        let at = Arc::as_ptr(&host.0).cast::<()>();
        let total = Arc::strong_count(&host.0);
        self.hosts.entry(at).or_insert_with(|| Found { thing: host.0.clone(), found: 0, total }).found += 1;
    }

    /// Counts a reference to a function, and what that holds.
    pub fn function(&mut self, function: &Arc<Function>) -> bool {
        self.function_held(function, 0)
    }

    fn function_held(&mut self, function: &Arc<Function>, held: usize) -> bool {
        let total = Arc::strong_count(function);
        let entry = self.functions.entry(Arc::as_ptr(function)).or_insert(Found { thing: (), found: 0, total });
        entry.found += 1;
        // Another reference to it: what it holds is counted once.
        entry.found > 1
            || (function.graph().is_none_or(|graph| self.graph(graph)) && function.count_derived(held, self))
    }

    /// Counts what a graph holds.
    pub fn graph(&mut self, graph: &Graph) -> bool {
        graph.insts.iter().all(|(_, data)| self.attrs(&data.attrs))
    }

    /// Counts what attributes hold.
    pub fn attrs(&mut self, attrs: &Attrs) -> bool {
        attrs.0.iter().all(|attr| match attr {
            Attr::Host(host) => {
                self.host(host);
                true
            }
            Attr::Func(callee) => self.callee(callee),
            _ => true,
        })
    }

    /// Counts a reference to a callee, where it keeps that.
    pub fn callee(&mut self, callee: &FuncRef) -> bool {
        callee.kept().is_none_or(|function| self.function(function))
    }
}
