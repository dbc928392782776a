//! A bundle: tensors by key. The index says of each where it lies in the files of data, and its checksum.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use penstock_data::{Bytes, DType, Error, Result, Tensor};

use crate::slices::{Part, copy_part};
use penstock_wire::{put_fixed32, put_message, put_number, put_varint, take, take_varint};

use crate::fields;
use crate::{damaged, masked, table};

pub use penstock_codec::tensor_proto::dtype_number;
pub(crate) use penstock_codec::tensor_proto::dtype_of;

/// What the index says of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    dtype: u64,
    dims: Vec<usize>,
    shard: u64,
    offset: u64,
    size: u64,
    crc: u32,
    parts: Vec<Part>,
}

impl Entry {
    /// The dtype; `None` for one that there is not here, such as TensorFlow's variants.
    pub fn dtype(&self) -> Option<DType> {
        dtype_of(self.dtype)
    }

    /// TensorFlow's number of the dtype.
    pub fn dtype_number(&self) -> u64 {
        self.dtype
    }

    /// The extents.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The number of elements, where it can be counted.
    fn len(&self) -> Option<usize> {
        self.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }

    fn parse(key: &str, bytes: &[u8]) -> Result<Entry> {
        let mut entry = Entry::default();
        fields(key, bytes, |number, field| {
            match number {
                1 => entry.dtype = field.number(),
                2 => entry.dims = dims(key, field.bytes())?,
                3 => entry.shard = field.number(),
                4 => entry.offset = field.number(),
                5 => entry.size = field.number(),
                6 => {
                    if let penstock_wire::Field::Fixed32(crc) = field {
                        entry.crc = crc;
                    }
                }
                7 => entry.parts.push(Part::parse(field.bytes())?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(entry)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, 1, self.dtype);
        put_message(&mut out, 2, |out| {
            for &dim in &self.dims {
                put_message(out, 2, |out| put_number(out, 1, dim as u64));
            }
        });
        put_number(&mut out, 3, self.shard);
        put_number(&mut out, 4, self.offset);
        put_number(&mut out, 5, self.size);
        put_fixed32(&mut out, 6, self.crc);
        for part in &self.parts {
            put_message(&mut out, 7, |out| part.put(out));
        }
        out
    }
}

/// The extents of a `TensorShapeProto`.
fn dims(key: &str, bytes: &[u8]) -> Result<Vec<usize>> {
    let mut dims = Vec::new();
    fields(key, bytes, |number, field| {
        if number == 2 {
            let mut size = 0;
            fields(key, field.bytes(), |number, field| {
                if number == 1 {
                    size = field.number();
                }
                Ok(())
            })?;
            dims.push(
                usize::try_from(size)
                    .ok()
                    .filter(|s| i64::try_from(*s).is_ok())
                    .ok_or_else(|| damaged(key, "an extent is negative"))?,
            );
        }
        Ok(())
    })?;
    Ok(dims)
}

/// `<prefix>` with an ending.
fn path_of(prefix: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(prefix);
    path.push(ending);
    path.into()
}

fn data_path(prefix: &Path, shard: u64, shards: u64) -> PathBuf {
    path_of(prefix, &format!(".data-{shard:05}-of-{shards:05}"))
}

fn unread(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("cannot read {}: {error}", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(message),
        _ => Error::precondition(message),
    }
}

/// Reads the tensors of a bundle.
///
/// ```
/// use penstock_data::Tensor;
/// use penstock_tf::{BundleReader, BundleWriter};
///
/// # fn main() -> penstock_data::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let prefix = directory.path().join("ckpt-1");
/// let mut writer = BundleWriter::create(&prefix)?;
/// writer.add("w", &Tensor::vector(&[1.0f32, 2.0]))?;
/// writer.finish()?;
///
/// let reader = BundleReader::open(&prefix)?;
/// assert_eq!(reader.read("w")?.as_slice::<f32>(), [1.0, 2.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BundleReader {
    prefix: PathBuf,
    shards: u64,
    entries: BTreeMap<String, Entry>,
    /// Parts of tensors, by keys of their own.
    parts: BTreeMap<Vec<u8>, Entry>,
    /// The files of data that were opened, with their sizes.
    files: Mutex<BTreeMap<u64, (File, u64)>>,
}

impl BundleReader {
    /// Reads the index of a bundle.
    ///
    /// # Errors
    /// `NotFound` where there is none; `InvalidArgument` for one that is damaged; `Unimplemented` for one that was
    /// written on a machine whose numbers begin with their highest byte.
    pub fn open(prefix: impl AsRef<Path>) -> Result<BundleReader> {
        let prefix = prefix.as_ref();
        let path = path_of(prefix, ".index");
        let bytes = std::fs::read(&path).map_err(|e| unread(&path, &e))?;
        let (mut entries, mut parts, mut shards) = (BTreeMap::new(), BTreeMap::new(), None);
        for (key, value) in table::read(&bytes)? {
            match key.first() {
                None => shards = Some(read_header(value)?),
                Some(0) => {
                    parts.insert(key, Entry::parse("a part of a tensor", value)?);
                }
                Some(_) => {
                    let key = String::from_utf8(key).map_err(|e| damaged("index", e))?;
                    let entry = Entry::parse(&key, value)?;
                    entries.insert(key, entry);
                }
            }
        }
        let shards = shards.ok_or_else(|| damaged("index", "there is no header"))?;
        Ok(BundleReader { prefix: prefix.to_owned(), shards, entries, parts, files: Mutex::default() })
    }

    /// What there is, by key.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), entry))
    }

    /// The tensor of a key, put together where it lies in parts.
    ///
    /// # Errors
    /// `NotFound` for a key that is not there, and a file of data that is missing; `InvalidArgument` for data that are
    /// damaged; `Unimplemented` for a dtype that there is not here.
    pub fn read(&self, key: &str) -> Result<Tensor> {
        let entry = self.entries.get(key);
        let entry = entry.ok_or_else(|| Error::not_found(format!("the checkpoint has no tensor '{key}'")))?;
        if entry.parts.is_empty() { self.value(key, entry) } else { self.joined(key, entry) }
    }

    fn joined(&self, key: &str, entry: &Entry) -> Result<Tensor> {
        let dtype = known(key, entry)?;
        if dtype == DType::Str {
            return Err(Error::new(
                penstock_data::Class::Unimplemented,
                format!("'{key}' holds texts in parts, which cannot be read"),
            ));
        }
        // The parts are read first: what they hold together is what the whole takes.
        let mut read = Vec::new();
        for part in &entry.parts {
            let (starts, extents) = part.place(&entry.dims)?;
            let stored = self.parts.get(&part.key(key)).ok_or_else(|| damaged(key, "a part of it is missing"))?;
            if (stored.dtype, &stored.dims) != (entry.dtype, &extents) {
                return Err(damaged(key, "a part of it has another dtype or other extents"));
            }
            read.push((starts, self.value(key, stored)?));
        }
        let held = read.iter().try_fold(0usize, |n, (_, part)| n.checked_add(part.len()));
        if held.is_none() || held != entry.len() {
            return Err(damaged(key, "its parts are not the whole"));
        }
        let mut whole = Tensor::zeros(dtype, &entry.dims)?;
        for (starts, part) in &read {
            copy_part(&mut whole, part, starts);
        }
        Ok(whole)
    }

    fn value(&self, key: &str, entry: &Entry) -> Result<Tensor> {
        let dtype = known(key, entry)?;
        let wrong = || damaged(key, "its size does not fit its shape");
        let count = entry.len().ok_or_else(wrong)?;
        let size = usize::try_from(entry.size).map_err(|_| wrong())?;
        if dtype == DType::Str {
            // A text takes a byte at least.
            if count > size {
                return Err(wrong());
            }
            return self
                .with_data(key, entry, |file| {
                    let mut bytes = vec![0; size];
                    file.read_exact(&mut bytes)?;
                    Ok(bytes)
                })
                .and_then(|bytes| strings(key, entry, count, &bytes));
        }
        if count.checked_mul(dtype.size()) != Some(size) {
            return Err(wrong());
        }
        let mut tensor = Tensor::empty(dtype, &[0])?;
        self.with_data(key, entry, |file| {
            tensor = Tensor::empty(dtype, &entry.dims).map_err(std::io::Error::other)?;
            file.read_exact(tensor.bytes_mut())
        })?;
        let bytes = tensor.bytes();
        if masked(crc32c::crc32c(bytes)) != entry.crc {
            return Err(damaged(key, "the checksum does not fit: the file was changed or is incomplete"));
        }
        if dtype == DType::Bool && bytes.iter().any(|b| *b > 1) {
            return Err(damaged(key, "a bool that is neither 0 nor 1"));
        }
        Ok(tensor)
    }

    /// Calls `read` with the file of an entry, at its place, where the file has that many bytes.
    fn with_data<T>(&self, key: &str, entry: &Entry, read: impl FnOnce(&mut File) -> std::io::Result<T>) -> Result<T> {
        if entry.shard >= self.shards {
            return Err(damaged(key, "it lies in a file that there is not"));
        }
        let path = data_path(&self.prefix, entry.shard, self.shards);
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, size) = match files.entry(entry.shard) {
            Slot::Occupied(open) => open.into_mut(),
            Slot::Vacant(slot) => {
                let file = File::open(&path).map_err(|e| unread(&path, &e))?;
                let size = file.metadata().map_err(|e| unread(&path, &e))?.len();
                slot.insert((file, size))
            }
        };
        if entry.offset.checked_add(entry.size).is_none_or(|end| end > *size) {
            return Err(damaged(key, "it lies outside of the file of data, which is incomplete"));
        }
        file.seek(SeekFrom::Start(entry.offset)).and_then(|_| read(file)).map_err(|e| unread(&path, &e))
    }
}

fn known(key: &str, entry: &Entry) -> Result<DType> {
    entry.dtype().ok_or_else(|| {
        let message = format!("'{key}' is of TensorFlow's dtype {}, which cannot be read", entry.dtype);
        Error::new(penstock_data::Class::Unimplemented, message)
    })
}

/// The number of files of data.
fn read_header(bytes: &[u8]) -> Result<u64> {
    let (mut shards, mut big) = (1, false);
    fields("header", bytes, |number, field| {
        match number {
            1 => shards = field.number(),
            2 => big = field.number() != 0,
            _ => {}
        }
        Ok(())
    })?;
    if big {
        let message = "the checkpoint was written on a machine whose numbers begin with their highest byte";
        return Err(Error::new(penstock_data::Class::Unimplemented, message.to_owned()));
    }
    Ok(shards)
}

/// Texts: the length of each, a checksum of the lengths, and the bytes one behind the other.
fn strings(key: &str, entry: &Entry, count: usize, mut bytes: &[u8]) -> Result<Tensor> {
    let wrong = || damaged(key, "its texts do not fill it");
    let mut lengths = Vec::with_capacity(count);
    let mut crc = 0;
    for _ in 0..count {
        let length = take_varint(&mut bytes).ok_or_else(wrong)?;
        crc = append_length(crc, length);
        lengths.push(length);
    }
    let checksum = take(&mut bytes, 4).ok_or_else(wrong)?;
    if masked(crc).to_le_bytes() != checksum {
        return Err(damaged(key, "the checksum of its lengths does not fit"));
    }
    crc = crc32c::crc32c_append(crc, checksum);
    crc = crc32c::crc32c_append(crc, bytes);
    if masked(crc) != entry.crc {
        return Err(damaged(key, "the checksum does not fit: the file was changed or is incomplete"));
    }
    let text = |length| take(&mut bytes, length).map(Bytes::from);
    let texts = lengths.into_iter().map(text).collect::<Option<Vec<Bytes>>>().ok_or_else(wrong)?;
    if !bytes.is_empty() {
        return Err(wrong());
    }
    Tensor::from_strings(&entry.dims, texts)
}

/// The checksum with a length, which counts as four bytes where it fits them.
fn append_length(crc: u32, length: u64) -> u32 {
    match u32::try_from(length) {
        Ok(length) => crc32c::crc32c_append(crc, &length.to_le_bytes()),
        Err(_) => crc32c::crc32c_append(crc, &length.to_le_bytes()),
    }
}

/// Writes a bundle. It takes the place of what is there when it is finished: first the data, then the index.
#[derive(Debug)]
pub struct BundleWriter {
    prefix: PathBuf,
    temporary: PathBuf,
    data: BufWriter<File>,
    size: u64,
    entries: BTreeMap<Vec<u8>, Vec<u8>>,
    finished: bool,
}

fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("cannot write {}: {error}", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(message),
        _ => Error::precondition(message),
    }
}

fn create(path: &Path) -> Result<BufWriter<File>> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.map(|file| BufWriter::with_capacity(1 << 18, file)).map_err(|e| unwritten(path, &e))
}

impl BundleWriter {
    /// A bundle to write.
    ///
    /// # Errors
    /// `NotFound` where the directory is not there; `FailedPrecondition` where nothing can be written to it.
    pub fn create(prefix: impl AsRef<Path>) -> Result<BundleWriter> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let prefix = prefix.as_ref().to_owned();
        let ending = format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let temporary = path_of(&prefix, &ending);
        let data = create(&temporary)?;
        Ok(BundleWriter { prefix, temporary, data, size: 0, entries: BTreeMap::new(), finished: false })
    }

    /// Adds a tensor.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that is empty, starts with a zero byte or was added before, and a dtype that there is
    /// not in TensorFlow; `FailedPrecondition` where the file cannot be written.
    pub fn add(&mut self, key: &str, tensor: &Tensor) -> Result<()> {
        let entry = self.written(key, tensor)?;
        self.insert(key.as_bytes().to_vec(), key, &entry)
    }

    /// Adds a tensor that lies in parts: some rows each, in order.
    ///
    /// # Errors
    /// As for [`BundleWriter::add`]; `InvalidArgument` where there are no parts, or they are no rows of one tensor of numbers.
    pub fn add_parts(&mut self, key: &str, parts: &[&Tensor]) -> Result<()> {
        let whole = match parts {
            [first, ..] if first.rank() > 0 && first.dtype() != DType::Str => first,
            _ => return Err(Error::invalid(format!("'{key}' has no parts of rows of numbers"))),
        };
        let mut entry = Entry { dims: whole.dims().to_vec(), ..Entry::default() };
        entry.dims[0] = 0;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            if (part.dtype(), part.dims().get(1..)) != (whole.dtype(), whole.dims().get(1..)) {
                return Err(Error::invalid(format!("the parts of '{key}' have several dtypes or extents")));
            }
            let place = Part::rows(entry.dims[0], part.dims()[0], part.rank());
            let stored = self.written(key, part)?;
            entry.dtype = stored.dtype;
            entry.dims[0] += part.dims()[0];
            self.insert(place.key(key), key, &stored)?;
            entry.parts.push(place);
        }
        match entry.parts.is_empty() {
            true => self.add(key, whole),
            false => self.insert(key.as_bytes().to_vec(), key, &entry),
        }
    }

    fn insert(&mut self, place: Vec<u8>, key: &str, entry: &Entry) -> Result<()> {
        match self.entries.insert(place, entry.to_bytes()) {
            Some(_) => Err(Error::invalid(format!("'{key}' is added twice"))),
            None => Ok(()),
        }
    }

    /// Writes the bytes of a tensor.
    fn written(&mut self, key: &str, tensor: &Tensor) -> Result<Entry> {
        let number = dtype_number(tensor.dtype()).filter(|&number| dtype_of(number).is_some());
        let Some(dtype) = number else {
            return Err(Error::invalid(format!("a tensor of dtype {} cannot be saved: '{key}'", tensor.dtype())));
        };
        if key.is_empty() || key.starts_with('\0') {
            return Err(Error::invalid(format!("no tensor can be called {key:?}")));
        }
        let start = self.size;
        let crc = if tensor.dtype() == DType::Str {
            self.put_strings(tensor.strings())?
        } else {
            self.put(tensor.bytes())?;
            crc32c::crc32c(tensor.bytes())
        };
        Ok(Entry {
            dtype,
            dims: tensor.dims().to_vec(),
            shard: 0,
            offset: start,
            size: self.size - start,
            crc: masked(crc),
            parts: Vec::new(),
        })
    }

    fn put_strings(&mut self, strings: &[Bytes]) -> Result<u32> {
        let (mut lengths, mut crc) = (Vec::new(), 0);
        for text in strings {
            put_varint(&mut lengths, text.len() as u64);
            crc = append_length(crc, text.len() as u64);
        }
        let checksum = masked(crc).to_le_bytes();
        self.put(&lengths)?;
        self.put(&checksum)?;
        crc = crc32c::crc32c_append(crc, &checksum);
        for text in strings {
            self.put(text)?;
            crc = crc32c::crc32c_append(crc, text);
        }
        Ok(crc)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.size += bytes.len() as u64;
        self.data.write_all(bytes).map_err(|e| unwritten(&self.temporary, &e))
    }

    /// Puts the bundle in its place.
    ///
    /// # Errors
    /// `FailedPrecondition` where the files cannot be written.
    pub fn finish(mut self) -> Result<()> {
        let mut header = Vec::new();
        put_number(&mut header, 1, 1);
        // The version of what wrote it.
        put_message(&mut header, 3, |out| put_number(out, 1, 1));
        self.entries.insert(Vec::new(), header);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |e: std::io::Error| unwritten(&path, &e)
        };
        self.data.flush().and_then(|()| self.data.get_ref().sync_all()).map_err(failed(&self.temporary))?;
        let index = path_of(&self.temporary, ".index");
        let written = create(&index).and_then(|mut file| {
            let bytes = table::write(&self.entries);
            file.write_all(&bytes).map_err(failed(&index))?;
            file.flush().and_then(|()| file.get_ref().sync_all()).map_err(failed(&index))?;
            std::fs::rename(&self.temporary, data_path(&self.prefix, 0, 1)).map_err(failed(&self.prefix))?;
            std::fs::rename(&index, path_of(&self.prefix, ".index")).map_err(failed(&self.prefix))
        });
        self.finished = written.is_ok();
        written.inspect_err(|_| drop(std::fs::remove_file(&index)))
    }
}

impl Drop for BundleWriter {
    fn drop(&mut self) {
        if !self.finished {
            // Where it cannot be removed it stays, under a name that nobody reads.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behind right checksums: what a file that is made to deceive may say.
    #[test]
    fn entries_that_say_anything_are_errors_or_tensors() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path();
        let mut state = 3u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for name in ["ck-1", "sliced"] {
            let index = std::fs::read(golden.join(format!("{name}.index"))).unwrap();
            let data = format!("{name}.data-00000-of-00001");
            std::fs::copy(golden.join(&data), directory.join(&data)).unwrap();
            let entries: BTreeMap<Vec<u8>, Vec<u8>> =
                table::read(&index).unwrap().into_iter().map(|(k, v)| (k, v.to_vec())).collect();
            let keys: Vec<Vec<u8>> = entries.keys().cloned().collect();
            for _ in 0..500 {
                let mut changed = entries.clone();
                let value = changed.get_mut(&keys[below(keys.len())]).unwrap();
                for _ in 0..=below(3) {
                    if !value.is_empty() {
                        let at = below(value.len());
                        match below(3) {
                            0 => value[at] ^= 1 << below(8),
                            1 => value[at] = 0xff,
                            _ => value.insert(at, 0x80),
                        }
                    }
                }
                std::fs::write(directory.join(format!("{name}.index")), table::write(&changed)).unwrap();
                let Ok(reader) = BundleReader::open(directory.join(name)) else { continue };
                for (key, _) in reader.entries() {
                    let _ = reader.read(key);
                }
            }
        }
    }
}
