//! Tensors as arrays of a file.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};

use penstock_data::{Bytes, C128, DType, Error, Result, Table, Tensor};

use crate::container::{DTYPES, Stored, damaged, in_section, unread};
use crate::mapped::Mapped;

/// What follows the key of a string tensor: its bytes, one string after the other, where each starts and ends, and its extents.
const BYTES: &str = ".bytes";
const OFFSETS: &str = ".offsets";
const EXTENTS: &str = ".extents";
/// What follows the key of a tensor of `c128`, which is pairs of `f64`.
const PAIRS: &str = ".pairs";
/// What follows the key of a table: its keys, and the value of each.
const KEYS: &str = ".keys";
const VALUES: &str = ".values";

/// An array to write.
pub(crate) struct Array {
    pub(crate) key: String,
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) crc: u32,
    content: Content,
}

enum Content {
    Plain(Tensor),
    Bytes(Tensor),
}

impl Array {
    fn new(key: String, dtype: DType, shape: Vec<usize>, content: Content) -> Result<Array> {
        let name = DTYPES.iter().find(|(_, d)| *d == dtype).map(|(name, _)| *name);
        let dtype = name.ok_or_else(|| Error::precondition(format!("a tensor of dtype {dtype} cannot be saved")))?;
        let mut array = Array { key, dtype, shape, crc: 0, content };
        array.crc = array.parts().fold(0, crc32c::crc32c_append);
        Ok(array)
    }

    fn parts(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        match &self.content {
            Content::Plain(t) => Box::new(std::iter::once(t.bytes())),
            Content::Bytes(t) => Box::new(t.strings().iter().map(|s| &**s)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.parts().map(<[u8]>::len).sum()
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        self.parts().try_for_each(|part| out.write_all(part))
    }

    fn same_as(&self, tensor: &Tensor) -> bool {
        match &self.content {
            Content::Plain(t) => (t.dtype(), t.dims(), t.bytes()) == (tensor.dtype(), tensor.dims(), tensor.bytes()),
            Content::Bytes(t) => {
                tensor.dtype() == DType::Str && (t.dims(), t.strings()) == (tensor.dims(), tensor.strings())
            }
        }
    }
}

/// The arrays of a file to write.
#[derive(Default)]
pub(crate) struct Arrays {
    pub(crate) list: Vec<Array>,
    /// The constants by checksum: where each stands in the list, and its key.
    constants: HashMap<u32, Vec<(usize, String)>>,
    /// The constants that are tables, with their keys.
    tables: Vec<(Tensor, String)>,
    count: usize,
}

impl Arrays {
    /// The key of a constant, which stands once in the file however often it is used.
    pub(crate) fn constant(&mut self, tensor: &Tensor) -> Result<String> {
        if tensor.table().is_some() {
            if let Some((_, key)) = self.tables.iter().find(|(known, _)| known == tensor) {
                return Ok(key.clone());
            }
            let key = self.next_constant();
            self.tables.push((tensor.clone(), key.clone()));
            self.push(key.clone(), tensor)?;
            return Ok(key);
        }
        let crc = match tensor.dtype() {
            DType::Str => tensor.strings().iter().fold(0, |crc, s| crc32c::crc32c_append(crc, s)),
            _ => crc32c::crc32c(tensor.bytes()),
        };
        let mut known = self.constants.get(&crc).into_iter().flatten();
        if let Some((_, key)) = known.find(|(i, _)| self.list[*i].same_as(tensor)) {
            return Ok(key.clone());
        }
        let key = self.next_constant();
        self.constants.entry(crc).or_default().push((self.list.len(), key.clone()));
        self.push(key.clone(), tensor)?;
        Ok(key)
    }

    fn next_constant(&mut self) -> String {
        self.count += 1;
        format!("constants/{}", self.count - 1)
    }

    /// Adds a tensor under a key that no other has.
    pub(crate) fn push(&mut self, key: String, tensor: &Tensor) -> Result<()> {
        if let Some(table) = tensor.table() {
            self.push(format!("{key}{KEYS}"), &table.keys()?)?;
            return self.push(key + VALUES, &table.values()?);
        }
        let dims = tensor.dims().to_vec();
        match tensor.dtype() {
            DType::Str => {
                let mut ends: Vec<i64> = vec![0];
                ends.extend(tensor.strings().iter().scan(0, |at, s| {
                    *at += s.len() as i64;
                    Some(*at)
                }));
                let total = ends.last().copied().unwrap_or(0) as usize;
                let content = Content::Bytes(tensor.clone());
                self.list.push(Array::new(key.clone() + BYTES, DType::U8, vec![total], content)?);
                let extents: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
                for (end, values) in [(OFFSETS, ends), (EXTENTS, extents)] {
                    let content = Content::Plain(Tensor::from_slice(&[values.len()], &values)?);
                    self.list.push(Array::new(format!("{key}{end}"), DType::I64, vec![values.len()], content)?);
                }
            }
            DType::C128 => {
                let dims = dims.into_iter().chain([2]).collect();
                self.list.push(Array::new(key + PAIRS, DType::F64, dims, Content::Plain(tensor.clone()))?);
            }
            dtype => self.list.push(Array::new(key, dtype, dims, Content::Plain(tensor.clone()))?),
        }
        Ok(())
    }
}

fn dtype_of(key: &str, stored: &Stored) -> Result<DType> {
    let dtype = DTYPES.iter().find(|(name, _)| *name == stored.dtype).map(|(_, d)| *d);
    dtype.ok_or_else(|| damaged(key, format_args!("there is no dtype {:?}", stored.dtype)))
}

fn check_bools(key: &str, dtype: DType, bytes: &[u8]) -> Result<()> {
    if dtype == DType::Bool && bytes.iter().any(|b| *b > 1) {
        return Err(damaged(key, "a bool that is neither 0 nor 1"));
    }
    Ok(())
}

/// The arrays of a file that was read: each the tensor that it is by itself.
pub(crate) struct Loaded(BTreeMap<String, Tensor>);

impl Loaded {
    /// Reads the data of a file, whose arrays are known to fill it, and checks each.
    pub(crate) fn read(
        source: &mut dyn Read,
        arrays: &BTreeMap<String, Stored>,
        checksums: &BTreeMap<String, u32>,
    ) -> Result<Loaded> {
        let mut order: Vec<(&String, &Stored)> = arrays.iter().collect();
        order.sort_by_key(|(_, s)| (s.start, s.end));
        let mut read = BTreeMap::new();
        for (key, stored) in order {
            let dtype = dtype_of(key, stored)?;
            let mut tensor = Tensor::empty(dtype, &stored.shape).map_err(|e| in_section(key, &e))?;
            let bytes = tensor.bytes_mut();
            source.read_exact(bytes).map_err(|e| unread(key, &e))?;
            if checksums.get(key) != Some(&crc32c::crc32c(bytes)) {
                return Err(damaged(key, "the checksum does not fit: the file was changed or is incomplete"));
            }
            check_bools(key, dtype, bytes)?;
            read.insert(key.clone(), tensor);
        }
        Ok(Loaded(read))
    }

    /// The arrays of a mapped file, whose data starts at byte `data` and is as `arrays` says. They stay in the file, but for
    /// those that lie there at no multiple of their alignment; their checksums are not looked at.
    pub(crate) fn mapped(file: &Mapped, data: usize, arrays: &BTreeMap<String, Stored>) -> Result<Loaded> {
        let tensor = |(key, stored): (&String, &Stored)| {
            let dtype = dtype_of(key, stored)?;
            let range = data + stored.start..data + stored.end;
            let bytes = file.bytes().get(range.clone()).ok_or_else(|| damaged(key, "lies beyond the end"))?;
            check_bools(key, dtype, bytes)?;
            let aligned = bytes.as_ptr().addr().is_multiple_of(dtype.size().max(1));
            let tensor = if aligned && !bytes.is_empty() {
                Tensor::from_buffer(dtype, &stored.shape, file.buffer(range)?)
            } else {
                Tensor::empty(dtype, &stored.shape).map(|mut tensor| {
                    tensor.bytes_mut().copy_from_slice(bytes);
                    tensor
                })
            };
            Ok((key.clone(), tensor.map_err(|e| in_section(key, &e))?))
        };
        Ok(Loaded(arrays.iter().map(tensor).collect::<Result<_>>()?))
    }

    /// The tensor of a key, or the table.
    pub(crate) fn tensor(&self, key: &str) -> Result<Tensor> {
        let keys = format!("{key}{KEYS}");
        if self.0.contains_key(&keys) || self.0.contains_key(&format!("{keys}{BYTES}")) {
            return self.table(key, &self.elements(&keys)?);
        }
        self.elements(key)
    }

    /// The table with these keys, a row for each.
    fn table(&self, key: &str, keys: &Tensor) -> Result<Tensor> {
        let values = self.elements(&format!("{key}{VALUES}"))?;
        let wrong = || damaged(key, "its values do not fit its keys");
        let (Some(([count], a_key)), Some(([values_count], a_value))) =
            (keys.dims().split_first_chunk(), values.dims().split_first_chunk())
        else {
            return Err(wrong());
        };
        let mut table = Table::new(keys.dtype(), a_key, values.dtype(), a_value);
        table.insert_unique(keys, &values).map_err(|e| in_section(key, &e))?;
        if count != values_count || table.len() != *count {
            return Err(wrong());
        }
        Ok(Tensor::from_table(table))
    }

    fn elements(&self, key: &str) -> Result<Tensor> {
        if let Some(found) = self.0.get(key) {
            return Ok(found.clone());
        }
        let Some(pairs) = self.0.get(&format!("{key}{PAIRS}")) else { return self.strings(key) };
        match pairs.dims() {
            [dims @ .., 2] if pairs.dtype() == DType::F64 => {
                let parts: Vec<C128> = pairs.as_slice::<f64>().chunks(2).map(|p| C128::new(p[0], p[1])).collect();
                Tensor::from_slice(dims, &parts)
            }
            _ => Err(damaged(key, "holds no pairs of f64")),
        }
    }

    fn strings(&self, key: &str) -> Result<Tensor> {
        let part = |end: &str, dtype| {
            let found = self.0.get(&format!("{key}{end}")).filter(|t| t.dtype() == dtype && t.rank() == 1);
            found.ok_or_else(|| damaged(key, "is missing"))
        };
        let (bytes, offsets) = (part(BYTES, DType::U8)?.bytes(), part(OFFSETS, DType::I64)?.as_slice::<i64>());
        let wrong = || damaged(key, "its offsets and extents do not fit its bytes");
        if offsets.first() != Some(&0) || offsets.last().copied() != i64::try_from(bytes.len()).ok() {
            return Err(wrong());
        }
        // A negative offset is beyond every end.
        let string = |ends: &[i64]| Some(Bytes::from(bytes.get(ends[0] as usize..ends[1] as usize)?));
        let strings = offsets.windows(2).map(string).collect::<Option<Vec<Bytes>>>().ok_or_else(wrong)?;
        let extents = part(EXTENTS, DType::I64)?.as_slice::<i64>();
        let dims =
            extents.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<usize>>>().ok_or_else(wrong)?;
        Tensor::from_strings(&dims, strings).map_err(|e| in_section(key, &e))
    }
}
