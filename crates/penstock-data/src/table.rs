//! Hash tables: what a `resource` tensor holds.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::memory;
use crate::shape::{Dims, Shape};
use crate::tensor::{Bytes, Tensor};

/// A map from keys to values: both are rows of one dtype and one shape each. Keys are equal where their bits are.
///
/// The rows lie one after the other, in the order in which their keys came; the last takes the place of one that goes.
#[derive(Clone, Debug)]
pub struct Table {
    keys: Rows,
    values: Rows,
    /// The position of each key.
    index: HashTable<usize>,
}

impl PartialEq for Table {
    /// Equality of dtypes, shapes, keys and values, bit by bit and in their order.
    fn eq(&self, other: &Table) -> bool {
        self.keys == other.keys && self.values == other.values
    }
}

impl Table {
    /// A table without keys.
    pub fn new(key_dtype: DType, key_dims: &[usize], value_dtype: DType, value_dims: &[usize]) -> Table {
        Table {
            keys: Rows::new(key_dtype, key_dims),
            values: Rows::new(value_dtype, value_dims),
            index: HashTable::new(),
        }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dtype of the values.
    pub fn value_dtype(&self) -> DType {
        self.values.dtype
    }

    /// The extents of a value.
    pub fn value_dims(&self) -> &[usize] {
        &self.values.dims
    }

    /// All keys, a row for each.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    pub fn keys(&self) -> Result<Tensor> {
        self.keys.tensor()
    }

    /// The values of [`Table::keys`], a row for each.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    pub fn values(&self) -> Result<Tensor> {
        self.values.tensor()
    }

    /// Checks that a tensor holds keys of this table, and counts them.
    fn count(&self, keys: &Tensor) -> Result<usize> {
        self.keys.check(keys, "keys")?;
        let rank = keys.rank() - self.keys.dims.len();
        Ok(keys.dims()[..rank].iter().product())
    }

    fn position(&self, key: Row<'_>) -> Option<usize> {
        self.index.find(hash(key), |&at| self.keys.row(at) == key).copied()
    }

    /// The value of each key: of one that is not there the row of `default` in its place, or the only row of it.
    ///
    /// # Errors
    /// `DType` or `InvalidArgument` where the keys or the defaults do not fit; `ResourceExhausted` where the memory
    /// cannot be had.
    pub fn find(&self, keys: &Tensor, default: &Tensor) -> Result<Tensor> {
        let count = self.count(keys)?;
        let batch = &keys.dims()[..keys.rank() - self.keys.dims.len()];
        self.values.check(default, "default")?;
        let lead = &default.dims()[..default.rank() - self.values.dims.len()];
        if !lead.is_empty() && lead != batch {
            return Err(Error::invalid(format!(
                "expected the shape of a value, {:?}, or one for each key, {:?}; got {:?}",
                self.values.dims.as_slice(),
                [batch, &self.values.dims].concat(),
                default.dims()
            ))
            .argument("default"));
        }
        let each = !lead.is_empty();
        let mut found = Rows::new(self.values.dtype, &self.values.dims);
        found.reserve(count)?;
        for i in 0..count {
            let row = match self.position(self.keys.row_of(keys, i)) {
                Some(at) => self.values.row(at),
                None => self.values.row_of(default, if each { i } else { 0 }),
            };
            found.push(row);
        }
        let dims: Dims = batch.iter().chain(&self.values.dims).copied().collect();
        found.into_tensor(&dims)
    }

    /// Sets the value of each key, in their order: of equal keys the last one counts. All is checked first; where memory
    /// runs out, keys are there or not, each with its value.
    ///
    /// # Errors
    /// `DType` or `InvalidArgument` where keys and values do not fit; `ResourceExhausted` where the memory cannot be had.
    pub fn insert(&mut self, keys: &Tensor, values: &Tensor) -> Result<()> {
        self.insert_where(keys, values, |_, _| Ok(true))
    }

    /// Adds keys that have one value each.
    ///
    /// # Errors
    /// As [`Table::insert`]; `FailedPrecondition` where a key comes again with another value.
    pub fn insert_unique(&mut self, keys: &Tensor, values: &Tensor) -> Result<()> {
        self.insert_where(keys, values, |old, new| {
            if old == new {
                return Ok(false);
            }
            Err(Error::precondition("a key stands twice, with different values").argument("keys"))
        })
    }

    /// Inserts; `replaces` tells of the old and the new value of a key whether the new one counts.
    fn insert_where(
        &mut self,
        keys: &Tensor,
        values: &Tensor,
        replaces: impl Fn(Row<'_>, Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        let count = self.count(keys)?;
        self.values.check(values, "values")?;
        let batch = &keys.dims()[..keys.rank() - self.keys.dims.len()];
        if values.dims()[..values.rank() - self.values.dims.len()] != *batch {
            return Err(Error::invalid(format!(
                "expected a value of shape {:?} for each of the keys of shape {batch:?}, got {:?}",
                self.values.dims.as_slice(),
                values.dims()
            ))
            .argument("values"));
        }
        for i in 0..count {
            let value = self.values.row_of(values, i);
            let key = self.keys.row_of(keys, i);
            if let Some(at) = self.position(key) {
                if replaces(self.values.row(at), value)? {
                    self.values.set(at, value);
                }
                continue;
            }
            let Table { keys, values, index } = self;
            // Nothing fails once the first row is there.
            keys.reserve(1)?;
            values.reserve(1)?;
            index
                .try_reserve(1, |&at| hash(keys.row(at)))
                .map_err(|_| Error::exhausted("no memory is left for more keys of a table"))?;
            let hashed = hash(key);
            keys.push(key);
            values.push(value);
            index.insert_unique(hashed, keys.len - 1, |&at| hash(keys.row(at)));
        }
        Ok(())
    }

    /// Removes the keys that are there.
    ///
    /// # Errors
    /// `DType` or `InvalidArgument` where they are no keys of this table.
    pub fn remove(&mut self, keys: &Tensor) -> Result<()> {
        for i in 0..self.count(keys)? {
            let key = self.keys.row_of(keys, i);
            let Table { keys, values, index } = self;
            let Ok(entry) = index.find_entry(hash(key), |&at| keys.row(at) == key) else { continue };
            let (hole, _) = entry.remove();
            let last = keys.len - 1;
            if hole != last
                && let Some(at) = index.find_mut(hash(keys.row(last)), |&at| at == last)
            {
                *at = hole;
            }
            keys.swap_remove(hole);
            values.swap_remove(hole);
        }
        Ok(())
    }
}

/// A row, as it is compared.
#[derive(Clone, Copy, PartialEq)]
enum Row<'a> {
    Bytes(&'a [u8]),
    Strings(&'a [Bytes]),
}

fn hash(row: Row<'_>) -> u64 {
    match row {
        Row::Bytes(bytes) => match <[u8; 8]>::try_from(bytes) {
            Ok(word) => FxBuildHasher.hash_one(u64::from_le_bytes(word)),
            Err(_) => FxBuildHasher.hash_one(bytes),
        },
        Row::Strings([one]) => FxBuildHasher.hash_one(&**one),
        Row::Strings(row) => FxBuildHasher.hash_one(row),
    }
}

/// Rows of one dtype and one shape, one after the other in memory that grows.
#[derive(Clone, Debug, PartialEq)]
struct Rows {
    dtype: DType,
    dims: Dims,
    len: usize,
    /// The elements; of strings none.
    bytes: Vec<u8>,
    /// The elements that are strings.
    strings: Vec<Bytes>,
}

impl Rows {
    fn new(dtype: DType, dims: &[usize]) -> Rows {
        Rows { dtype, dims: dims.into(), len: 0, bytes: Vec::new(), strings: Vec::new() }
    }

    fn is_strings(&self) -> bool {
        self.dtype == DType::Str
    }

    /// How many entries of `bytes` or `strings` a row takes.
    fn width(&self) -> usize {
        let size = if self.is_strings() { 1 } else { self.dtype.size() };
        self.dims.iter().fold(size, |width, &extent| width.saturating_mul(extent))
    }

    /// Checks that a tensor is made of such rows.
    fn check(&self, tensor: &Tensor, name: &str) -> Result<()> {
        if tensor.dtype() != self.dtype {
            let (due, got) = (self.dtype.tf_name(), tensor.dtype().tf_name());
            return Err(Error::dtype(format!("the table has {due} here, got {got}")).argument(name));
        }
        if !tensor.dims().ends_with(&self.dims) {
            return Err(Error::invalid(format!(
                "the table has rows of shape {} here, got {}",
                Shape::known(&self.dims),
                Shape::known(tensor.dims())
            ))
            .argument(name));
        }
        Ok(())
    }

    fn row(&self, at: usize) -> Row<'_> {
        let (from, to) = (at * self.width(), (at + 1) * self.width());
        if self.is_strings() { Row::Strings(&self.strings[from..to]) } else { Row::Bytes(&self.bytes[from..to]) }
    }

    /// A row of a tensor that is made of such rows.
    fn row_of<'a>(&self, tensor: &'a Tensor, at: usize) -> Row<'a> {
        let (from, to) = (at * self.width(), (at + 1) * self.width());
        if self.is_strings() {
            Row::Strings(&tensor.strings()[from..to])
        } else {
            Row::Bytes(&tensor.bytes()[from..to])
        }
    }

    /// Makes room for more rows.
    fn reserve(&mut self, more: usize) -> Result<()> {
        let width = more.saturating_mul(self.width());
        if self.is_strings() {
            memory::reserve(&mut self.strings, width)
        } else {
            memory::reserve(&mut self.bytes, width)
        }
    }

    /// Adds a row, for which there is room.
    fn push(&mut self, row: Row<'_>) {
        match row {
            Row::Bytes(bytes) => self.bytes.extend_from_slice(bytes),
            Row::Strings(strings) => self.strings.extend_from_slice(strings),
        }
        self.len += 1;
    }

    fn set(&mut self, at: usize, row: Row<'_>) {
        let from = at * self.width();
        match row {
            Row::Bytes(bytes) => self.bytes[from..from + bytes.len()].copy_from_slice(bytes),
            Row::Strings(strings) => self.strings[from..from + strings.len()].clone_from_slice(strings),
        }
    }

    /// Removes a row; the last takes its place.
    fn swap_remove(&mut self, at: usize) {
        let (width, last) = (self.width(), self.len - 1);
        if self.is_strings() {
            for k in 0..width {
                self.strings.swap(at * width + k, last * width + k);
            }
            self.strings.truncate(last * width);
        } else {
            self.bytes.copy_within(last * width..(last + 1) * width, at * width);
            self.bytes.truncate(last * width);
        }
        self.len = last;
    }

    /// All rows.
    fn tensor(&self) -> Result<Tensor> {
        let dims: Dims = std::iter::once(self.len).chain(self.dims.iter().copied()).collect();
        if self.is_strings() {
            return Tensor::from_strings(&dims, memory::collected(self.strings.iter().cloned())?);
        }
        let mut tensor = Tensor::empty(self.dtype, &dims)?;
        tensor.bytes_mut().copy_from_slice(&self.bytes);
        Ok(tensor)
    }

    /// All rows, in a tensor of these extents.
    fn into_tensor(self, dims: &[usize]) -> Result<Tensor> {
        if self.is_strings() {
            return Tensor::from_strings(dims, self.strings);
        }
        let mut tensor = Tensor::empty(self.dtype, dims)?;
        tensor.bytes_mut().copy_from_slice(&self.bytes);
        Ok(tensor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(DType::I64, &[], DType::I64, &[]);
        table.insert(&Tensor::vector(&[1i64, 2, 3]), &Tensor::vector(&[10i64, 20, 30])).unwrap();
        table
    }

    #[test]
    fn a_key_that_is_removed_leaves_the_others() {
        let mut table = table();
        table.remove(&Tensor::vector(&[1i64, 7])).unwrap();
        let found = table.find(&Tensor::vector(&[1i64, 2, 3]), &Tensor::scalar(-1i64)).unwrap();
        assert_eq!(found, Tensor::vector(&[-1i64, 20, 30]));
        assert_eq!(table.keys().unwrap(), Tensor::vector(&[3i64, 2]));
    }

    #[test]
    fn random_changes_agree_with_a_map() {
        let mut table = Table::new(DType::I32, &[], DType::F32, &[]);
        let mut map = std::collections::HashMap::new();
        let mut state = 1u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = (state >> 8) as i32 % 300;
            if state >> 30 == 0 {
                table.remove(&Tensor::scalar(key)).unwrap();
                map.remove(&key);
            } else {
                table.insert(&Tensor::scalar(key), &Tensor::scalar(state as f32)).unwrap();
                map.insert(key, state as f32);
            }
        }
        assert_eq!(table.len(), map.len());
        for key in 0..300 {
            let due = map.get(&key).copied().unwrap_or(-1.0);
            assert_eq!(table.find(&Tensor::scalar(key), &Tensor::scalar(-1.0f32)).unwrap(), Tensor::scalar(due));
        }
    }

    #[test]
    fn a_key_with_two_values_is_an_error_where_keys_are_unique() {
        let mut table = table();
        table.insert_unique(&Tensor::scalar(1i64), &Tensor::scalar(10i64)).unwrap();
        assert!(table.insert_unique(&Tensor::scalar(1i64), &Tensor::scalar(11i64)).is_err());
    }

    #[test]
    fn tables_that_are_shared_are_copied_before_they_change() {
        let before = Tensor::from_table(table());
        let mut after = before.clone();
        after.table_mut().unwrap().remove(&Tensor::scalar(1i64)).unwrap();
        assert_eq!((before.table().unwrap().len(), after.table().unwrap().len()), (3, 2));
    }
}
