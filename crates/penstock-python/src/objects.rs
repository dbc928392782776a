//! Python objects among arguments: a number for each that lives, and what its class means to a trace.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::FxHashMap;

use crate::layer;

/// What is known of the object at an address, as long as it is still the one that was entered.
struct Known<T> {
    weak: Py<PyWeakrefReference>,
    what: T,
}

/// A table by object. It keeps nothing alive; an address that is reused never matches.
struct Table<T> {
    by_address: FxHashMap<usize, Known<T>>,
    /// How many entries there may be before those of dead objects are thrown out.
    room: usize,
}

const ROOM: usize = 1 << 6;

impl<T: Clone> Table<T> {
    fn get(&self, value: &Bound<'_, PyAny>) -> Option<T> {
        let known = self.by_address.get(&(value.as_ptr() as usize))?;
        known.weak.bind(value.py()).upgrade().is_some_and(|o| o.is(value)).then(|| known.what.clone())
    }

    /// Enters an object, and gives back what must be dropped outside of the lock.
    fn insert(
        &mut self,
        value: &Bound<'_, PyAny>,
        weak: Bound<'_, PyWeakrefReference>,
        what: T,
    ) -> Vec<Py<PyWeakrefReference>> {
        let mut dropped = Vec::new();
        if self.by_address.len() >= self.room {
            let dead = |k: &Known<T>| k.weak.bind(value.py()).upgrade().is_none();
            let addresses: Vec<usize> = self.by_address.iter().filter(|(_, k)| dead(k)).map(|(&a, _)| a).collect();
            dropped.extend(addresses.into_iter().filter_map(|a| self.by_address.remove(&a)).map(|k| k.weak));
            self.room = ROOM.max(2 * self.by_address.len());
        }
        let old = self.by_address.insert(value.as_ptr() as usize, Known { weak: weak.unbind(), what });
        dropped.extend(old.map(|k| k.weak));
        dropped
    }
}

static NUMBERS: Mutex<Option<(Table<u64>, u64)>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn new_table<T>() -> Table<T> {
    Table { by_address: FxHashMap::default(), room: ROOM }
}

/// The number of an object that was given one.
#[inline]
pub(crate) fn known_number(value: &Bound<'_, PyAny>) -> Option<u64> {
    lock(&NUMBERS).as_ref().and_then(|(table, _)| table.get(value))
}

/// The number of an object, never used for another; `None` where it cannot be referenced weakly, so that
/// nobody could tell when it is gone.
pub(crate) fn number(value: &Bound<'_, PyAny>) -> Option<u64> {
    if let Some(number) = known_number(value) {
        return Some(number);
    }
    // Making a weak reference may run Python code: not under the lock.
    let weak = PyWeakrefReference::new(value).ok()?;
    let mut slot = lock(&NUMBERS);
    let (table, next) = slot.get_or_insert_with(|| (new_table(), 0));
    let number = *next;
    *next += 1;
    let dropped = table.insert(value, weak, number);
    drop(slot);
    drop(dropped);
    Some(number)
}

/// What the class of an argument means to a trace. `penstock._types.argument_kinds.argument_kind` decides.
#[derive(Clone)]
pub(crate) enum Kind {
    /// It counts by equality, as long as it lives.
    Plain,
    /// It counts by what is written down for it: a shape, a range.
    Literal,
    /// An array: a tensor.
    Array,
    /// A `TensorSpec`, which stands for a tensor.
    Spec,
    /// The specification of a composite value, which stands for one.
    CompositeSpec,
    /// A tensor that stands for every tensor of a specification.
    Specified,
    /// A mapping that is no dict.
    Mapping,
    /// A bound method: it counts by its function and, by identity, its instance.
    Method,
    /// It has `__tf_tracing_type__`.
    Protocol,
    /// It counts by its class and fields: a dataclass, an extension type.
    Fields(Arc<Fields>),
}

/// The fields of a class.
pub(crate) struct Fields {
    pub(crate) names: Vec<Py<PyString>>,
}

static KINDS: Mutex<Option<Table<Kind>>> = Mutex::new(None);

/// What the class of a value means to a trace.
pub(crate) fn kind(value: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let class = value.get_type();
    if let Some(kind) = lock(&KINDS).as_ref().and_then(|table| table.get(class.as_any())) {
        return Ok(kind);
    }
    let kind = ask(&class)?;
    let weak = PyWeakrefReference::new(class.as_any())?;
    let mut slot = lock(&KINDS);
    let dropped = slot.get_or_insert_with(new_table).insert(class.as_any(), weak, kind.clone());
    drop(slot);
    drop(dropped);
    Ok(kind)
}

fn ask(class: &Bound<'_, PyType>) -> PyResult<Kind> {
    let answer = layer::call(class.py(), "argument_kind", (class,))?;
    if let Ok(names) = answer.cast::<PyTuple>() {
        let names = names.iter().map(|n| Ok(n.cast_into::<PyString>()?.unbind())).collect::<PyResult<_>>()?;
        return Ok(Kind::Fields(Arc::new(Fields { names })));
    }
    Ok(match answer.extract::<String>()?.as_str() {
        "literal" => Kind::Literal,
        "array" => Kind::Array,
        "spec" => Kind::Spec,
        "composite_spec" => Kind::CompositeSpec,
        "specified" => Kind::Specified,
        "mapping" => Kind::Mapping,
        "method" => Kind::Method,
        "protocol" => Kind::Protocol,
        _ => Kind::Plain,
    })
}
