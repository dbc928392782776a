//! The stage that leaves out what came before.

use std::collections::{HashMap, HashSet};

use penstock_data::{DType, Result, Tensor};

use crate::ahead::goes_on;
use crate::{Pull, Rows, Stage};

/// The elements that did not come before. Elements are equal by their shapes and bytes.
pub struct Unique {
    source: Pull,
    /// The extents that elements had, numbered.
    kinds: HashMap<Box<[u8]>, usize>,
    seen: HashSet<Box<[u8]>>,
    /// The seen elements of those that are no longer than a word: their kind, and what they hold.
    words: HashSet<(usize, u64)>,
    key: Vec<u8>,
}

impl Unique {
    /// What a stage gives and did not give before.
    pub fn new(source: Pull) -> Unique {
        Unique { source, kinds: HashMap::new(), seen: HashSet::new(), words: HashSet::new(), key: Vec::new() }
    }

    /// The number of the extents of elements.
    fn kind(&mut self, rows: &Rows) -> usize {
        self.key.clear();
        for (_, dims) in rows.extents().into_iter().flatten() {
            for &size in std::iter::once(&dims.len()).chain(dims) {
                self.key.extend_from_slice(&(size as u64).to_le_bytes());
            }
        }
        if let Some(&known) = self.kinds.get(&self.key[..]) {
            return known;
        }
        let number = self.kinds.len();
        self.kinds.insert(self.key.as_slice().into(), number);
        number
    }

    /// Whether element `i` of rows did not come before. Columns are of the host.
    fn is_new(&mut self, kind: usize, columns: &[Option<Tensor>], i: usize, count: usize) -> bool {
        self.key.clear();
        for column in columns.iter().flatten() {
            if column.dtype() == DType::Str {
                let each = column.len() / count;
                for text in &column.strings()[i * each..(i + 1) * each] {
                    self.key.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    self.key.extend_from_slice(text);
                }
            } else {
                let each = column.byte_len() / count;
                self.key.extend_from_slice(&column.bytes()[i * each..(i + 1) * each]);
            }
        }
        if self.key.len() <= 8 {
            // Elements of one kind without strings have keys of one length, and one string alone has a longer one.
            let mut word = [0; 8];
            word[..self.key.len()].copy_from_slice(&self.key);
            return self.words.insert((kind, u64::from_le_bytes(word)));
        }
        self.key.extend_from_slice(&(kind as u64).to_le_bytes());
        if self.seen.contains(&self.key[..]) {
            return false;
        }
        self.seen.insert(self.key.as_slice().into())
    }
}

impl Stage for Unique {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        loop {
            goes_on()?;
            let Some(rows) = self.source.pull(limit)? else { return Ok(None) };
            let kind = self.kind(&rows);
            let columns: Vec<Option<Tensor>> =
                rows.columns.iter().map(|c| c.as_ref().map(Tensor::on_host).transpose()).collect::<Result<_>>()?;
            let fresh: Vec<i64> =
                (0..rows.count).filter(|&i| self.is_new(kind, &columns, i, rows.count)).map(|i| i as i64).collect();
            if fresh.len() == rows.count {
                return Ok(Some(rows));
            }
            if !fresh.is_empty() {
                return rows.taken(&fresh).map(Some);
            }
        }
    }
}
