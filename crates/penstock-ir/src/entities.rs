//! Typed ids of the things in a graph, and the arenas they index.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use penstock_data::{Result, memory};

/// An id: a `u32` that indexes one kind of arena.
pub trait Entity: Copy + Eq + fmt::Debug {
    /// The id of an index.
    fn new(index: usize) -> Self;
    /// The index of the id.
    fn index(self) -> usize;
}

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl Entity for $name {
            fn new(index: usize) -> Self {
                $name(u32::try_from(index).expect("fewer than 2^32 entities in a graph"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

entity! {
    /// A value: a parameter of a region or a result of an instruction.
    Value, "%"
}
entity! {
    /// An instruction.
    Inst, "inst"
}
entity! {
    /// A region: a list of instructions with parameters and results.
    Region, "region"
}

/// A list that is indexed by one kind of id and only grows.
#[derive(Clone, PartialEq, Debug)]
pub struct Arena<K, V> {
    items: Vec<V>,
    key: PhantomData<K>,
}

impl<K, V> Default for Arena<K, V> {
    fn default() -> Self {
        Arena { items: Vec::new(), key: PhantomData }
    }
}

impl<K: Entity, V> Arena<K, V> {
    /// Adds an item.
    pub fn push(&mut self, item: V) -> K {
        let key = K::new(self.items.len());
        self.items.push(item);
        key
    }

    /// Reserves memory for further items.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        memory::reserve(&mut self.items, more)
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item of an id that may be foreign.
    pub fn get(&self, key: K) -> Option<&V> {
        self.items.get(key.index())
    }

    /// All ids.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + use<K, V> {
        (0..self.items.len()).map(K::new)
    }

    /// All ids and items.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> {
        self.items.iter().enumerate().map(|(i, v)| (K::new(i), v))
    }
}

impl<K: Entity, V> Index<K> for Arena<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        &self.items[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for Arena<K, V> {
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.items[key.index()]
    }
}
