//! Sources that read files: lines, records of one length, and TensorFlow's records.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::sync::Arc;

use penstock_data::{Bytes, Error, Result, Tensor};
use penstock_trace::host;

use crate::{CHUNK_BYTES, Rows, Stage};

/// How many bytes are read at once: what a length says is believed as far as the file goes.
const PIECE: usize = 1 << 24;

/// How a file is split.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// Lines, without their ends.
    Lines,
    /// Records of one length, between a header and a footer.
    Fixed {
        /// The length of a record, at least 1.
        size: usize,
        /// How many bytes are left out at the start.
        header: usize,
        /// How many bytes are left out at the end.
        footer: usize,
    },
    /// Records behind their lengths, with checksums.
    Records,
}

/// A file that is read: whose pieces come next.
enum Open {
    Stream(BufReader<File>),
    Content(VecDeque<Bytes>),
}

/// What it means that a file of this name cannot be read.
pub type Refuse = Arc<dyn Fn(&str, &io::Error) -> Error + Send + Sync>;

/// What files hold, one after the other. Behind an error there is nothing.
pub struct Files {
    refuse: Refuse,
    names: VecDeque<String>,
    format: Format,
    open: Option<(String, Open)>,
    /// An error whose turn comes behind what was read.
    error: Option<Error>,
}

impl Files {
    /// The pieces of files.
    pub fn new(names: impl IntoIterator<Item = String>, format: Format, refuse: Refuse) -> Files {
        Files { refuse, names: names.into_iter().collect(), format, open: None, error: None }
    }

    /// The next piece; `None` at the end.
    fn piece(&mut self) -> Result<Option<Bytes>> {
        loop {
            if self.open.is_none() {
                let Some(name) = self.names.pop_front() else { return Ok(None) };
                let file = File::open(&name).map_err(|error| (self.refuse)(&name, &error))?;
                let open = self.opened(&name, file)?;
                self.open = Some((name, open));
            }
            let Some((name, open)) = &mut self.open else { return Ok(None) };
            let found = match open {
                Open::Content(pieces) => pieces.pop_front(),
                Open::Stream(file) => match self.format {
                    Format::Records => record(file, name, &self.refuse)?,
                    _ => line(file).map_err(|error| (self.refuse)(name, &error))?,
                },
            };
            if found.is_some() {
                return Ok(found);
            }
            self.open = None;
        }
    }

    fn opened(&self, name: &str, mut file: File) -> Result<Open> {
        let Format::Fixed { size, header, footer } = self.format else {
            return Ok(Open::Stream(BufReader::with_capacity(1 << 17, file)));
        };
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(|error| (self.refuse)(name, &error))?;
        let stop = content.len().saturating_sub(footer);
        let content = &content[header.min(stop)..stop];
        if !content.len().is_multiple_of(size) {
            return Err(Error::invalid(format!(
                "{name} has {} bytes between header and footer, no multiple of {size}",
                content.len()
            )));
        }
        Ok(Open::Content(content.chunks(size).map(Bytes::from).collect()))
    }
}

impl Stage for Files {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        let mut found = Ok(None);
        host().run_long(&mut || found = self.gathered(limit));
        found
    }
}

impl Files {
    /// Reads the next pieces. It stops at `limit` pieces, or earlier once they are large.
    fn gathered(&mut self, limit: usize) -> Result<Option<Rows>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let (mut found, mut bytes) = (Vec::new(), 0);
        while found.len() < limit && bytes < CHUNK_BYTES {
            match self.piece() {
                Ok(Some(piece)) => {
                    bytes += piece.len();
                    found.push(piece);
                }
                Ok(None) => break,
                Err(error) => {
                    self.names.clear();
                    self.open = None;
                    if found.is_empty() {
                        return Err(error);
                    }
                    self.error = Some(error);
                    break;
                }
            }
        }
        if found.is_empty() {
            return Ok(None);
        }
        let count = found.len();
        Ok(Some(Rows::stacked(count, vec![Some(Tensor::from_strings(&[count], found)?)])))
    }
}

/// The next line.
fn line(file: &mut BufReader<File>) -> io::Result<Option<Bytes>> {
    let mut line = Vec::new();
    if file.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let line = line.strip_suffix(b"\n").unwrap_or(&line);
    Ok(Some(line.strip_suffix(b"\r").unwrap_or(line).into()))
}

/// The next record.
fn record(file: &mut BufReader<File>, name: &str, refuse: &Refuse) -> Result<Option<Bytes>> {
    let broken = |error: &io::Error| refuse(name, error);
    let mut head = [0; 12];
    let size = match filled(file, &mut head).map_err(|e| broken(&e))? {
        0 => return Ok(None),
        12 => head.first_chunk::<8>().filter(|size| checksum(*size) == head[8..]),
        _ => None,
    };
    let Some(size) = size else {
        return Err(Error::data_loss(format!("{name} is no file of records, or is corrupted")));
    };
    let record = content(file, u64::from_le_bytes(*size)).map_err(|e| broken(&e))?;
    let mut check = [0; 4];
    let rest = filled(file, &mut check).map_err(|e| broken(&e))?;
    let Some(record) = record.filter(|_| rest == check.len()) else {
        return Err(Error::data_loss(format!("{name} ends within a record")));
    };
    if checksum(&record) != check {
        return Err(Error::data_loss(format!("{name} is corrupted: the checksum of a record is another one")));
    }
    Ok(Some(record))
}

/// Reads a number of bytes. Gives `None` where the file has fewer.
fn content(file: &mut BufReader<File>, size: u64) -> io::Result<Option<Bytes>> {
    let Ok(size) = usize::try_from(size) else { return Ok(None) };
    if size <= PIECE {
        let mut bytes: Bytes = std::iter::repeat_n(0, size).collect();
        let Some(place) = Arc::get_mut(&mut bytes) else { return Ok(None) };
        return Ok((filled(file, place)? == size).then_some(bytes));
    }
    let mut bytes = Vec::new();
    let got = file.take(size as u64).read_to_end(&mut bytes)?;
    Ok((got == size).then(|| bytes.into()))
}

/// Reads until the place is full or the file ends; how many bytes that were.
fn filled(file: &mut impl Read, place: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < place.len() {
        match file.read(&mut place[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// The checksum of a part of a record: CRC-32C, rotated and with a constant added.
fn checksum(data: &[u8]) -> [u8; 4] {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xA282_EAD8).to_le_bytes()
}
