//! `guard="globals"`: what a traced function reads besides its arguments, and whether it is still so.
//!
//! While a function is traced, `penstock._function.guards` lists the globals, closure cells and attributes that
//! its code can read, with their values. Later calls with the same arguments read the same places again
//! and add what they find to the key, so that a changed value misses the cache, and a value that comes
//! back finds its old trace.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use penstock_trace::{self as trace, Difference, RawKey};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyWeakrefMethods, PyWeakrefReference,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::errors::{self, attempt, class_name};
use crate::layer;
use crate::objects::number;
use crate::params::Bindings;

/// Where a value is read from.
enum Root {
    /// A name of a module.
    Global(Py<PyDict>, Py<PyString>),
    /// A closure cell.
    Cell(Py<PyAny>),
    /// An object, as long as it lives.
    Object(Py<PyWeakrefReference>),
    /// A named parameter's argument.
    Argument(usize),
}

/// A step from a value to one that it holds.
enum Step {
    Attribute(Py<PyString>),
    /// An element of a dict, list or tuple.
    Item(Py<PyAny>),
}

impl Step {
    fn take<'py>(&self, value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        match self {
            Step::Attribute(name) => attempt(value.py(), value.getattr(name)),
            Step::Item(key) => match value.cast_exact::<PyDict>() {
                Ok(dict) => attempt(value.py(), dict.get_item(key)).flatten(),
                // Of a class of the program's own, reading an element may be anything.
                Err(_) if !value.is_exact_instance_of::<PyList>() && !value.is_exact_instance_of::<PyTuple>() => None,
                Err(_) => attempt(value.py(), value.get_item(key)),
            },
        }
    }
}

/// A place that a function reads: a root, and steps from there.
struct Place {
    root: Root,
    steps: Vec<Step>,
    /// As people write it: `config.rate`.
    label: String,
}

/// A place, by its number in [`Guards`], and what was there when the function was traced.
pub(crate) struct Guard {
    place: usize,
    words: Box<[u64]>,
    /// What was there, for people.
    text: String,
}

impl Place {
    fn same(&self, other: &Place) -> bool {
        let root = match (&self.root, &other.root) {
            (Root::Global(a, _), Root::Global(b, _)) => a.is(b),
            (Root::Cell(a), Root::Cell(b)) => a.is(b),
            (Root::Object(a), Root::Object(b)) => a.is(b),
            (Root::Argument(i), Root::Argument(j)) => i == j,
            _ => false,
        };
        root && self.label == other.label
    }

    /// What is there now.
    fn value<'py>(&self, py: Python<'py>, argument: Argument<'_, 'py>) -> Option<Bound<'py, PyAny>> {
        let root = match &self.root {
            Root::Global(dict, name) => attempt(py, dict.bind(py).get_item(name)).flatten(),
            Root::Cell(cell) => cell.bind(py).getattr(pyo3::intern!(py, "cell_contents")).ok(),
            Root::Object(weak) => weak.bind(py).upgrade(),
            Root::Argument(i) => argument(*i),
        };
        root.and_then(|root| self.steps.iter().try_fold(root, |value, step| step.take(&value)))
    }

    /// Adds the words of what is there now.
    fn read<'py>(&self, py: Python<'py>, argument: Argument<'_, 'py>, key: &mut RawKey) {
        match self.value(py, argument) {
            Some(value) => add_words(&value, key, 0),
            None => key.push(ABSENT),
        }
    }

    /// A place as `penstock._function.guards.places` lists it: `(kind, root, steps, label)`, of which an attribute is its name and
    /// an element a tuple of its key.
    fn of(listed: &Bound<'_, PyAny>) -> PyResult<Place> {
        let (kind, root, steps, label): (String, Bound<'_, PyAny>, Vec<Bound<'_, PyAny>>, String) = listed.extract()?;
        let step = |step: Bound<'_, PyAny>| match step.cast_into::<PyString>() {
            Ok(name) => Ok(Step::Attribute(name.unbind())),
            Err(other) => Ok(Step::Item(other.into_inner().get_item(0)?.unbind())),
        };
        let mut steps = steps.into_iter().map(step).collect::<PyResult<Vec<_>>>()?;
        let root = match kind.as_str() {
            "global" if !steps.is_empty() => match steps.remove(0) {
                Step::Attribute(name) => Root::Global(root.cast_into::<PyDict>()?.unbind(), name),
                Step::Item(_) => return Err(PyTypeError::new_err("a global has a name")),
            },
            "cell" => Root::Cell(root.unbind()),
            "argument" => Root::Argument(root.extract()?),
            _ => Root::Object(PyWeakrefReference::new(&root)?.unbind()),
        };
        Ok(Place { root, steps, label })
    }

    fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.root {
            Root::Global(dict, _) => visit.call(dict)?,
            Root::Cell(cell) => visit.call(cell)?,
            Root::Object(_) | Root::Argument(_) => {}
        }
        self.steps.iter().try_for_each(|step| if let Step::Item(key) = step { visit.call(key) } else { Ok(()) })
    }
}

/// What gives the argument of a named parameter.
pub(crate) type Argument<'a, 'py> = &'a dyn Fn(usize) -> Option<Bound<'py, PyAny>>;

/// The word of a place where nothing is.
const ABSENT: u64 = 0xa5;
/// The word before the hash of an object that cannot be referenced weakly.
const HASHED: u64 = 0xa6;
/// The word before the words of the guards, so that they never look like arguments.
const GUARDS: u64 = 0xa7;

/// Containers of more items, or nested deeper, count by identity.
const MOST_ITEMS: usize = 64;
const DEEPEST: usize = 4;

/// Adds words that are equal for equal literals, for containers of them, and else for the same object.
fn add_words(value: &Bound<'_, PyAny>, key: &mut RawKey, depth: usize) {
    if value.is_none() {
        key.none();
    } else if let Ok(v) = value.cast_exact::<PyBool>() {
        key.bool(v.is_true());
    } else if value.is_exact_instance_of::<PyInt>() {
        match value.extract::<i64>() {
            Ok(i) => key.int(i),
            Err(_) => add_text(&value.str(), b'i', key),
        }
    } else if let Ok(v) = value.cast_exact::<PyFloat>() {
        key.float(v.value());
    } else if value.is_exact_instance_of::<PyString>() {
        add_text(&value.str(), b's', key);
    } else if let Ok(v) = value.cast_exact::<PyBytes>() {
        key.text(b'b', v.as_bytes());
    } else if let Ok(v) = value.cast_exact::<PyTuple>()
        && depth < DEEPEST
        && v.len() <= MOST_ITEMS
    {
        key.open(u64::MAX, v.len());
        v.iter().for_each(|item| add_words(&item, key, depth + 1));
    } else if let Ok(v) = value.cast_exact::<PyList>()
        && depth < DEEPEST
        && v.len() <= MOST_ITEMS
    {
        key.open(u64::MAX - 1, v.len());
        v.iter().for_each(|item| add_words(&item, key, depth + 1));
    } else if let Ok(v) = value.cast_exact::<PyDict>()
        && depth < DEEPEST
        && v.len() <= MOST_ITEMS
    {
        key.open(u64::MAX - 2, v.len());
        for (name, item) in v.iter() {
            add_words(&name, key, depth + 1);
            add_words(&item, key, depth + 1);
        }
    } else if let Some(number) = number(value) {
        key.object(number);
    } else {
        key.push(HASHED);
        key.push(value.hash().map_or(value.as_ptr() as u64, |h| h as u64));
        key.push(number(value.get_type().as_any()).unwrap_or(0));
        if let Ok(len) = value.len() {
            key.push(len as u64);
        }
    }
}

/// A value for people: a literal as it is written, else what it is.
fn described(value: Option<Bound<'_, PyAny>>) -> String {
    let Some(value) = value else { return "absent".to_owned() };
    let plain = value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>();
    if plain { errors::described(&value) } else { format!("a {}", class_name(&value)) }
}

fn add_text(text: &PyResult<Bound<'_, PyString>>, kind: u8, key: &mut RawKey) {
    let text = text.as_ref().ok().and_then(|t| t.to_str().ok()).unwrap_or_default();
    key.text(kind, text.as_bytes());
}

/// The places that the calls of one function depend on.
///
/// Only this table holds places, so that the garbage collector can follow it to what they hold.
#[derive(Default)]
pub(crate) struct Guards(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// All of them, each once.
    places: Vec<Arc<Place>>,
    /// Those that calls with certain arguments depend on, by the words of the arguments.
    slots: FxHashMap<Box<[u64]>, Slot>,
}

#[derive(Clone, Default)]
struct Slot {
    places: Arc<[usize]>,
    /// Unlike that of any other slot before.
    version: u64,
}

/// At most this many kinds of arguments are known; then the table of slots starts over.
const MOST_SLOTS: usize = 1 << 14;

/// What [`Guards::append`] read for one call.
pub(crate) struct Reading {
    /// How many words of the key are those of the arguments.
    arguments: usize,
    slot: Slot,
}

impl Guards {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to a key what the places hold that its calls are known to depend on.
    pub(crate) fn append<'py>(&self, py: Python<'py>, argument: Argument<'_, 'py>, key: &mut RawKey) -> Reading {
        let arguments = key.words().len();
        // Reading may run Python code: not under the lock.
        let (slot, places) = {
            let table = self.lock();
            let slot = table.slots.get(key.words()).cloned().unwrap_or_default();
            let places: SmallVec<[Arc<Place>; 16]> = slot.places.iter().map(|&i| table.places[i].clone()).collect();
            (slot, places)
        };
        key.push(GUARDS);
        key.push(slot.version);
        places.iter().for_each(|place| place.read(py, argument, key));
        Reading { arguments, slot }
    }

    /// Notes that calls like this one depend on the guards of the trace that serves it. Gives the key to
    /// remember the trace under.
    pub(crate) fn note(&self, reading: &Reading, key: &RawKey, guards: &[Guard]) -> Vec<u64> {
        let new: Vec<&Guard> = guards.iter().filter(|g| !reading.slot.places.contains(&g.place)).collect();
        if new.is_empty() {
            return key.words().to_vec();
        }
        let arguments = &key.words()[..reading.arguments];
        let places = reading.slot.places.iter().copied().chain(new.iter().map(|g| g.place)).collect();
        let version = trace::fresh_id();
        let mut words = arguments.to_vec();
        words.extend([GUARDS, version]);
        words.extend_from_slice(&key.words()[reading.arguments + 2..]);
        new.iter().for_each(|g| words.extend_from_slice(&g.words));
        let mut table = self.lock();
        if table.slots.len() >= MOST_SLOTS {
            table.slots.clear();
        }
        table.slots.insert(arguments.into(), Slot { places, version });
        words
    }

    /// What the code of a function reads besides its arguments' values, as it is now.
    pub(crate) fn reads<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        names: Vec<&str>,
        bound: &Bindings<'py>,
    ) -> PyResult<Vec<Guard>> {
        let py = function.py();
        let found = layer::call(py, "guarded_places", (function, names, PyTuple::new(py, &bound.named)?))?;
        found
            .try_iter()?
            .map(|place| {
                let place = Arc::new(Place::of(&place?)?);
                let mut key = RawKey::new();
                place.read(py, &bound.argument(), &mut key);
                let (words, text) = (key.words().into(), described(place.value(py, &bound.argument())));
                let mut table = self.lock();
                let known = table.places.iter().position(|p| p.same(&place));
                let place = known.unwrap_or_else(|| {
                    table.places.push(place);
                    table.places.len() - 1
                });
                Ok(Guard { place, words, text })
            })
            .collect()
    }

    /// Whether all is still as it was.
    pub(crate) fn hold<'py>(&self, py: Python<'py>, guards: &[Guard], bound: &Bindings<'py>) -> bool {
        self.changed(py, guards, bound).is_none()
    }

    /// The first place where it is not.
    pub(crate) fn changed<'py>(&self, py: Python<'py>, guards: &[Guard], bound: &Bindings<'py>) -> Option<Difference> {
        let places: Vec<Arc<Place>> = {
            let table = self.lock();
            guards.iter().map(|g| table.places[g.place].clone()).collect()
        };
        let differs = |(guard, place): &(&Guard, &Arc<Place>)| {
            let mut key = RawKey::new();
            place.read(py, &bound.argument(), &mut key);
            key.words() != &*guard.words
        };
        guards.iter().zip(&places).find(differs).map(|(guard, place)| Difference {
            leaf: place.label.clone(),
            before: guard.text.clone(),
            after: described(place.value(py, &bound.argument())),
        })
    }

    /// For the garbage collector: the Python objects that places hold.
    pub(crate) fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(table) = self.0.try_lock() else { return Ok(()) };
        // A place that a call is reading is held by that call too.
        table.places.iter().filter(|p| Arc::strong_count(p) == 1).try_for_each(|p| p.visit(visit))
    }
}
