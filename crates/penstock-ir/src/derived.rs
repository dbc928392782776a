//! What is derived from functions and kept with them, and a count of what all of that holds.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::attr::{Attr, Attrs, FuncRef, HostFn, HostRef};
use crate::graph::{Counter, Derived, Function, Graph};

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
    fn count(&self, census: &mut dyn Counter) -> bool {
        let Ok(values) = self.0.try_lock() else { return false };
        values.values().all(|value| Arc::strong_count(value) == 1 && value.count(census))
    }
}

/// References that were found to something, and how many there are.
struct Found<T> {
    thing: T,
    found: usize,
    total: usize,
    /// The functions that hold it.
    holders: Vec<*const Function>,
}

/// A count of the references to functions and host code among all that some owners hold.
#[derive(Default)]
pub struct Census {
    hosts: FxHashMap<*const (), Found<Arc<dyn HostFn>>>,
    functions: FxHashMap<*const Function, Found<()>>,
    /// How many references to what was derived from a function its owners have.
    held: FxHashMap<*const Function, usize>,
    /// The functions that what is counted lies in, outermost first.
    path: Vec<*const Function>,
}

impl Census {
    /// Takes the census of functions, each of which one owner holds by one reference. The numbers count what that owner holds
    /// of what was derived from the function. `None` where somebody else holds a part of that, or it is in use.
    pub fn of(owned: &[(&Arc<Function>, usize)]) -> Option<Census> {
        let mut census = Census::default();
        for (function, held) in owned {
            *census.held.entry(Arc::as_ptr(function)).or_default() += held;
        }
        owned.iter().all(|(function, _)| census.function(function)).then_some(census)
    }

    /// How many pieces of host code `is_sought` tells, where nobody but the owners holds them or a function that has one of
    /// them in it.
    pub fn alone(&self, is_sought: impl Fn(&dyn HostFn) -> bool) -> Option<usize> {
        let sought: Vec<_> = self.hosts.values().filter(|host| is_sought(&*host.thing)).collect();
        let mut seen = FxHashSet::default();
        let mut due: Vec<*const Function> = sought.iter().flat_map(|host| host.holders.iter().copied()).collect();
        while let Some(at) = due.pop() {
            if seen.insert(at) {
                let function = self.functions.get(&at).filter(|function| function.found == function.total)?;
                due.extend(&function.holders);
            }
        }
        sought.iter().all(|host| host.found == host.total).then_some(sought.len())
    }

    /// Counts a reference to host code.
    fn host(&mut self, host: &HostRef) {
        let at = Arc::as_ptr(&host.0).cast::<()>();
        let total = Arc::strong_count(&host.0);
        let made = || Found { thing: host.0.clone(), found: 0, total, holders: Vec::new() };
        let entry = self.hosts.entry(at).or_insert_with(made);
        entry.found += 1;
        entry.holders.extend(self.path.last());
    }
}

impl Counter for Census {
    fn function(&mut self, function: &Arc<Function>) -> bool {
        let (at, total) = (Arc::as_ptr(function), Arc::strong_count(function));
        let made = || Found { thing: (), found: 0, total, holders: Vec::new() };
        let entry = self.functions.entry(at).or_insert_with(made);
        entry.found += 1;
        entry.holders.extend(self.path.last());
        if entry.found > 1 {
            // What it holds is counted once.
            return true;
        }
        self.path.push(at);
        let held = self.held.get(&at).copied().unwrap_or(0);
        let whole = function.graph().is_none_or(|graph| self.graph(graph)) && function.count_derived(held, self);
        self.path.pop();
        whole
    }

    fn graph(&mut self, graph: &Graph) -> bool {
        graph.insts.iter().all(|(_, data)| self.attrs(&data.attrs))
    }

    fn attrs(&mut self, attrs: &Attrs) -> bool {
        attrs.0.iter().all(|attr| match attr {
            Attr::Host(host) => {
                self.host(host);
                true
            }
            Attr::Func(callee) => self.callee(callee),
            _ => true,
        })
    }

    fn callee(&mut self, callee: &FuncRef) -> bool {
        callee.kept().is_none_or(|function| self.function(function))
    }
}
