//! The sorted table of an index: LevelDB's, whose blocks hold keys without the bytes that they share with the key before.
//!
//! ```text
//! data blocks | an empty block | a block with the last key and the place of each data block | footer of 48 bytes
//! ```
//! A block is entries `(shared, rest, length of the value, rest of the key, value)`, then the places of entries that share
//! nothing, then their number. Behind it are a byte for its compression and a checksum.

use std::collections::BTreeMap;

use penstock_data::Result;

use crate::{damaged, masked};
use penstock_wire::{put_varint, take, take_varint};

const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
const FOOTER: usize = 48;
/// What follows a block: its compression, and the checksum.
const TRAILER: usize = 5;
/// The size in bytes at which a block is full.
const BLOCK: usize = 256 << 10;
/// The number of entries after which one is written whole, without the prefix that it shares with the one before.
const RESTART: usize = 16;

/// Adds an entry of a block to the key before it.
fn next_entry<'a>(entries: &mut &'a [u8], key: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (shared, rest, length) = (take_varint(entries)?, take_varint(entries)?, take_varint(entries)?);
    let shared = usize::try_from(shared).ok().filter(|s| *s <= key.len())?;
    key.truncate(shared);
    key.extend_from_slice(take(entries, rest)?);
    take(entries, length)
}

/// Calls `visit` with the key and the value of each entry of a block.
fn each<'a>(block: &'a [u8], mut visit: impl FnMut(&[u8], &'a [u8]) -> Result<()>) -> Result<()> {
    let wrong = || damaged("index", "a block is none");
    let (body, count) = block.split_last_chunk::<4>().ok_or_else(wrong)?;
    let restarts = u64::from(u32::from_le_bytes(*count)) * 4;
    let end = u64::try_from(body.len()).ok().and_then(|n| n.checked_sub(restarts)).ok_or_else(wrong)?;
    let mut entries = &body[..usize::try_from(end).map_err(|_| wrong())?];
    let mut key = Vec::new();
    while !entries.is_empty() {
        let value = next_entry(&mut entries, &mut key).ok_or_else(wrong)?;
        visit(&key, value)?;
    }
    Ok(())
}

/// The contents of the block that a handle stands for.
fn block<'a>(file: &'a [u8], handle: &mut &[u8]) -> Result<&'a [u8]> {
    let wrong = || damaged("index", "a block lies outside of the file");
    let (offset, size) = (take_varint(handle).ok_or_else(wrong)?, take_varint(handle).ok_or_else(wrong)?);
    let mut rest = file;
    take(&mut rest, offset).ok_or_else(wrong)?;
    let size = usize::try_from(size).ok().filter(|n| n.checked_add(TRAILER).is_some_and(|n| n <= rest.len()));
    let size = size.ok_or_else(wrong)?;
    let (checked, crc) = rest[..size + TRAILER].split_last_chunk::<4>().ok_or_else(wrong)?;
    if masked(crc32c::crc32c(checked)) != u32::from_le_bytes(*crc) {
        return Err(damaged("index", "a checksum does not fit: the file was changed or is incomplete"));
    }
    match checked[size] {
        0 => Ok(&checked[..size]),
        kind => Err(damaged("index", format_args!("a block is compressed in a way that is not supported, {kind}"))),
    }
}

/// The entries of a table.
///
/// # Errors
/// `InvalidArgument` for bytes that are no table, or were changed.
pub(crate) fn read(file: &[u8]) -> Result<BTreeMap<Vec<u8>, &[u8]>> {
    let footer = file.split_last_chunk::<FOOTER>().map(|(_, footer)| footer);
    let footer = footer.ok_or_else(|| damaged("index", "the file is too short"))?;
    let (mut handles, magic) = footer.split_last_chunk::<8>().ok_or_else(|| damaged("index", "there is no footer"))?;
    if u64::from_le_bytes(*magic) != MAGIC {
        return Err(damaged("index", "this is no index of a checkpoint"));
    }
    let wrong = || damaged("index", "there is no footer");
    take_varint(&mut handles).and_then(|_| take_varint(&mut handles)).ok_or_else(wrong)?;
    let mut found = BTreeMap::new();
    let mut last: Option<Vec<u8>> = None;
    each(block(file, &mut handles)?, |_, mut handle| {
        each(block(file, &mut handle)?, |key, value| {
            if last.as_deref().is_some_and(|before| before >= key) {
                return Err(damaged("index", "its keys are out of order"));
            }
            last = Some(key.to_vec());
            found.insert(key.to_vec(), value);
            Ok(())
        })
    })?;
    Ok(found)
}

/// A block in the making.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    count: usize,
    last: Vec<u8>,
}

impl Block {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut shared = 0;
        if self.count.is_multiple_of(RESTART) {
            self.restarts.push(self.bytes.len() as u32);
        } else {
            shared = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        }
        self.count += 1;
        for length in [shared, key.len() - shared, value.len()] {
            put_varint(&mut self.bytes, length as u64);
        }
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.last = key.to_vec();
    }

    /// Adds the block to a file, and gives its handle.
    fn finish(mut self, file: &mut Vec<u8>) -> Vec<u8> {
        if self.restarts.is_empty() {
            self.restarts.push(0);
        }
        let mut handle = Vec::new();
        put_varint(&mut handle, file.len() as u64);
        let start = file.len();
        file.append(&mut self.bytes);
        for restart in &self.restarts {
            file.extend_from_slice(&restart.to_le_bytes());
        }
        file.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        put_varint(&mut handle, (file.len() - start) as u64);
        file.push(0);
        let crc = masked(crc32c::crc32c(&file[start..]));
        file.extend_from_slice(&crc.to_le_bytes());
        handle
    }
}

/// The bytes of a table.
pub(crate) fn write(entries: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<u8> {
    write_with(entries, BLOCK)
}

fn write_with(entries: &BTreeMap<Vec<u8>, Vec<u8>>, block_size: usize) -> Vec<u8> {
    let (mut file, mut index, mut block) = (Vec::new(), Block::default(), Block::default());
    let mut close = |block: Block, file: &mut Vec<u8>| {
        let last = block.last.clone();
        let handle = block.finish(file);
        index.add(&last, &handle);
    };
    for (key, value) in entries {
        block.add(key, value);
        if block.bytes.len() >= block_size {
            close(std::mem::take(&mut block), &mut file);
        }
    }
    if block.count > 0 {
        close(block, &mut file);
    }
    let mut footer = Block::default().finish(&mut file);
    footer.extend(index.finish(&mut file));
    footer.resize(FOOTER - 8, 0);
    footer.extend_from_slice(&MAGIC.to_le_bytes());
    file.extend(footer);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_several_blocks_is_read_as_it_was_written() {
        let key = |i: usize| format!("layer_{:04}/kernel", i).into_bytes();
        let entries: BTreeMap<Vec<u8>, Vec<u8>> = (0..1000).map(|i| (key(i), vec![i as u8; i % 7])).collect();
        for size in [1, 100, 5000, BLOCK] {
            let file = write_with(&entries, size);
            let read: BTreeMap<Vec<u8>, Vec<u8>> =
                read(&file).unwrap().into_iter().map(|(k, v)| (k, v.to_vec())).collect();
            assert_eq!(read, entries);
        }
    }

    #[test]
    fn an_empty_table_is_a_table() {
        assert!(read(&write(&BTreeMap::new())).unwrap().is_empty());
    }
}
