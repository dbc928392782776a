//! The stage that puts elements of one key together.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use penstock_data::{Error, Result, Tensor};

use crate::map::EachRow;
use crate::pool::{PIECE, Pool};
use crate::reduce::number;
use crate::rows::Growth;
use crate::{FlatMap, Function, Pull, Rows};

/// How many elements the windows of a key have.
pub enum WindowSize {
    /// As many for every key, at least 1.
    Fixed(usize),
    /// What a function gives for the key, an `i64` scalar both. It is called once for each key.
    Of(Arc<dyn Function>),
}

/// Opens what becomes of a window: from its key and its elements.
pub type OpenWindow = Arc<dyn Fn(i64, Vec<Rows>) -> Result<Pull> + Send + Sync>;

/// Windows: elements of a stage that have one key. One is given once it is full, and at the end the others in the order of their keys.
pub struct Groups {
    source: Pull,
    keys: EachRow,
    growth: Growth,
    size: WindowSize,
    sizes: HashMap<i64, usize>,
    pool: Pool,
    /// The places in the pool of the elements of each window that is not full.
    windows: BTreeMap<i64, Vec<usize>>,
    /// The keys and places of elements that come into windows next.
    waiting: VecDeque<(i64, usize)>,
}

impl Groups {
    /// Windows of the elements of a stage, by the `i64` scalar that a function gives for each.
    pub fn new(source: Pull, key: Arc<dyn Function>, size: WindowSize) -> Groups {
        Groups {
            source,
            keys: EachRow::new(key),
            growth: Growth::default(),
            size,
            sizes: HashMap::new(),
            pool: Pool::new(PIECE),
            windows: BTreeMap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// The elements of what becomes of each window, one after the other.
    pub fn flat_map(mut self, open: OpenWindow) -> FlatMap {
        FlatMap::of(Box::new(move || self.window()?.map(|(key, rows)| open(key, rows)).transpose()))
    }

    /// The next window with its key; `None` at the end.
    fn window(&mut self) -> Result<Option<(i64, Vec<Rows>)>> {
        loop {
            while let Some((key, place)) = self.waiting.pop_front() {
                let window = self.windows.entry(key).or_default();
                window.push(place);
                let count = window.len();
                if count >= self.size_of(key)? {
                    return self.taken(key).map(Some);
                }
            }
            let Some((rows, keys)) = self.keys.next(&mut self.source, self.growth.limit())? else {
                let least = self.windows.keys().next().copied();
                return least.map(|key| self.taken(key)).transpose();
            };
            self.growth.saw(&rows);
            let Some(Some(keys)) = keys.columns.first() else {
                return Err(Error::internal("a function of keys gave no tensor"));
            };
            let keys = keys.on_host()?;
            let mut keys = keys.as_slice::<i64>().iter();
            let waiting = &mut self.waiting;
            self.pool.put(&rows.in_columns()?, |place| waiting.extend(keys.next().map(|&key| (key, place))))?;
        }
    }

    /// Gives a window away.
    fn taken(&mut self, key: i64) -> Result<(i64, Vec<Rows>)> {
        let places = self.windows.remove(&key).unwrap_or_default();
        Ok((key, self.pool.get_all(&places)?))
    }

    fn size_of(&mut self, key: i64) -> Result<usize> {
        let function = match &self.size {
            WindowSize::Fixed(size) => return Ok(*size),
            WindowSize::Of(function) => function,
        };
        if let Some(&known) = self.sizes.get(&key) {
            return Ok(known);
        }
        let size = number(&function.call(&[Some(Tensor::scalar(key))])?, 0)?;
        let known = usize::try_from(size).ok().filter(|&size| size > 0);
        let known =
            known.ok_or_else(|| Error::invalid(format!("group_by_window: the window of key {key} has size {size}")))?;
        self.sizes.insert(key, known);
        Ok(known)
    }
}
