//! Places for elements that are kept for a while, and leave in any order.

use penstock_data::{Bytes, Class, DType, Error, Result, Tensor, memory};

use crate::Rows;
use crate::rows::Leaves;

/// Up to how many bytes elements are kept in one piece.
pub(crate) const PIECE: usize = 1 << 26;

/// Elements, each at a place. They are kept as columns as long as all are tensors of the same shapes that came as such.
pub(crate) struct Pool {
    /// How many bytes are kept in one piece of memory.
    piece: usize,
    columns: Vec<Column>,
    /// Elements one by one, once they are not kept as columns.
    items: Option<Vec<Option<Leaves>>>,
    /// How many places there are, and which of them are free.
    size: usize,
    free: Vec<usize>,
}

/// What the elements have for one leaf.
struct Column {
    dtype: DType,
    dims: Vec<usize>,
    kept: Kept,
}

enum Kept {
    /// The bytes of elements, in pieces of `count` elements with `bytes` bytes each.
    Plain { pieces: Vec<Vec<u8>>, count: usize, bytes: usize },
    /// Strings, `each` of them for an element.
    Texts { texts: Vec<Bytes>, each: usize },
}

impl Pool {
    pub(crate) fn new(piece: usize) -> Pool {
        Pool { piece, columns: Vec::new(), items: None, size: 0, free: Vec::new() }
    }

    /// Whether the elements came as columns: nobody sees how many are read.
    pub(crate) fn is_stacked(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Takes elements, and tells the place of each.
    ///
    /// # Errors
    /// `ResourceExhausted` where there is no memory for them; then none is taken.
    pub(crate) fn put(&mut self, rows: &Rows, mut place: impl FnMut(usize)) -> Result<()> {
        if self.items.is_none() && !self.fits(rows) {
            self.separate()?;
        }
        self.widen(rows.count)?;
        if let Some(items) = &mut self.items {
            for i in 0..rows.count {
                let leaves = rows.at(i)?;
                if let Some(at) = self.free.pop() {
                    items[at] = Some(leaves);
                    place(at);
                }
            }
            return Ok(());
        }
        let places = self.free.split_off(self.free.len() - rows.count);
        for (column, given) in self.columns.iter_mut().zip(rows.columns.iter().flatten()) {
            column.put(&places, &given.on_host()?);
        }
        places.into_iter().for_each(place);
        Ok(())
    }

    /// Gives elements away: one, where they are not kept as columns.
    ///
    /// # Errors
    /// `ResourceExhausted` where there is no memory for columns of them.
    pub(crate) fn get(&mut self, places: &[usize]) -> Result<Rows> {
        if let Some(items) = &mut self.items {
            let leaves = places.first().and_then(|&at| items[at].take());
            self.free.extend(places.first());
            return leaves.map(Rows::one).ok_or_else(|| Error::internal("an element was given away twice"));
        }
        let columns = self.columns.iter_mut().map(|column| column.get(places, true).map(Some));
        let columns = columns.collect::<Result<_>>()?;
        self.free.extend_from_slice(places);
        Ok(Rows::stacked(places.len(), columns))
    }

    /// Gives elements away, all of them, in this order.
    ///
    /// # Errors
    /// As for `get`.
    pub(crate) fn get_all(&mut self, places: &[usize]) -> Result<Vec<Rows>> {
        let at_once = if self.items.is_some() { 1 } else { places.len().max(1) };
        places.chunks(at_once).map(|places| self.get(places)).collect()
    }

    /// Whether elements can be kept as columns with those that are there.
    fn fits(&mut self, rows: &Rows) -> bool {
        if !rows.stacked {
            return false;
        }
        let extents = rows.extents();
        if self.columns.is_empty() {
            let Some(all) = extents.into_iter().collect::<Option<Vec<_>>>() else { return false };
            if self.size > 0 || all.iter().any(|(dtype, _)| matches!(dtype, DType::Variant | DType::Resource)) {
                return false;
            }
            self.columns = all.into_iter().map(|(dtype, dims)| Column::new(dtype, dims, self.piece)).collect();
            return !self.columns.is_empty();
        }
        self.columns.iter().zip(extents).all(|(own, given)| given == Some((own.dtype, &own.dims[..])))
    }

    /// Has at least `count` places that are free.
    fn widen(&mut self, count: usize) -> Result<()> {
        let more = count.saturating_sub(self.free.len());
        memory::reserve(&mut self.free, more)?;
        match &mut self.items {
            Some(items) => {
                memory::reserve(items, more)?;
                items.resize_with(items.len() + more, || None);
            }
            None => self.columns.iter_mut().try_for_each(|column| column.widen(self.size + more))?,
        }
        self.free.extend((self.size..self.size + more).rev());
        self.size += more;
        Ok(())
    }

    /// Goes over to elements one by one.
    fn separate(&mut self) -> Result<()> {
        let mut items: Vec<Option<Leaves>> = memory::with_room(self.size)?;
        let mut live = memory::filled(true, self.size)?;
        self.free.iter().for_each(|&at| live[at] = false);
        for (at, live) in live.into_iter().enumerate() {
            let leaf = |column: &mut Column| column.get(&[at], false).map(Some);
            items.push(if live { Some(self.columns.iter_mut().map(leaf).collect::<Result<_>>()?) } else { None });
        }
        self.columns.clear();
        self.items = Some(items);
        Ok(())
    }
}

impl Column {
    fn new(dtype: DType, dims: &[usize], piece: usize) -> Column {
        let each: usize = dims.iter().product();
        let kept = if dtype == DType::Str {
            Kept::Texts { texts: Vec::new(), each }
        } else {
            let bytes = each * dtype.size();
            Kept::Plain { pieces: Vec::new(), count: (piece / bytes.max(1)).max(1), bytes }
        };
        Column { dtype, dims: dims.to_vec(), kept }
    }

    /// Has places for `size` elements.
    fn widen(&mut self, size: usize) -> Result<()> {
        match &mut self.kept {
            Kept::Texts { texts, each } => {
                memory::reserve(texts, (size * *each).saturating_sub(texts.len()))?;
                texts.resize_with((size * *each).max(texts.len()), Bytes::default);
            }
            Kept::Plain { pieces, count, bytes } => {
                for start in (0..size).step_by(*count) {
                    let wanted = (*count).min(size - start) * *bytes;
                    let which = start / *count;
                    if which == pieces.len() {
                        memory::push(pieces, Vec::new())?;
                    }
                    let piece = &mut pieces[which];
                    memory::reserve(piece, wanted.saturating_sub(piece.len()))?;
                    piece.resize(wanted.max(piece.len()), 0);
                }
            }
        }
        Ok(())
    }

    /// Keeps the rows of a tensor of the host at places.
    fn put(&mut self, places: &[usize], rows: &Tensor) {
        match &mut self.kept {
            Kept::Texts { each: 0, .. } | Kept::Plain { bytes: 0, .. } => {}
            Kept::Texts { texts, each } => {
                for (&at, row) in places.iter().zip(rows.strings().chunks_exact(*each)) {
                    texts[at * *each..(at + 1) * *each].clone_from_slice(row);
                }
            }
            Kept::Plain { pieces, count, bytes } => {
                for (&at, row) in places.iter().zip(rows.bytes().chunks_exact(*bytes)) {
                    let start = at % *count * *bytes;
                    pieces[at / *count][start..start + *bytes].copy_from_slice(row);
                }
            }
        }
    }

    /// The elements at places: stacked, or the only one.
    fn get(&mut self, places: &[usize], stacked: bool) -> Result<Tensor> {
        let lead = stacked.then_some(places.len());
        let dims: Vec<usize> = lead.into_iter().chain(self.dims.iter().copied()).collect();
        match &mut self.kept {
            Kept::Texts { texts, each } => {
                let mut found = memory::with_room(places.len() * *each)?;
                for &at in places {
                    found.extend(texts[at * *each..(at + 1) * *each].iter_mut().map(std::mem::take));
                }
                Tensor::from_strings(&dims, found)
            }
            Kept::Plain { pieces, count, bytes } => {
                let mut found = Tensor::empty(self.dtype, &dims)?;
                if *bytes > 0 {
                    for (&at, row) in places.iter().zip(found.bytes_mut().chunks_exact_mut(*bytes)) {
                        let start = at % *count * *bytes;
                        row.copy_from_slice(&pieces[at / *count][start..start + *bytes]);
                    }
                }
                Ok(found)
            }
        }
    }
}

/// Whether an error says that there is no memory.
pub(crate) fn is_of_memory(error: &Error) -> bool {
    error.class() == Class::ResourceExhausted
}
