//! Connections between members. Each goes one way: who has something to send connects.
//!
//! A connection begins with a greeting: the key of the group and the rank of the sender. Then frames follow, each a kind, a length
//! and as many bytes. The first frame of a collective says which one it is, so that members that disagree find out before they
//! mistake values for others.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use penstock_data::{Error, Result, Tensor};

/// What a greeting begins with.
pub(crate) const MAGIC: &[u8; 8] = b"PENSTOC1";
/// The bytes of a greeting: the magic, the key, the rank.
pub(crate) const GREETING: usize = 20;
/// The bytes of a frame in front of its contents.
const HEADER: usize = 9;
/// How long a read waits before it looks whether the group still is.
const TICK: Duration = Duration::from_millis(50);
/// The most bytes that are written by the thread that computes: they fit in the buffers of a socket, whether they are read or not.
const DIRECT: usize = 16 << 10;
/// The most bytes of a text in a frame.
const TEXT: usize = 64 << 10;

/// What a frame holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Which collective begins.
    Begin = 1,
    /// Elements.
    Data = 2,
    /// Why the sender has failed.
    Failed = 3,
    /// Nothing: the sender leaves.
    Left = 4,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory for what is passed on: what has been sent is used again, since memory that is returned to the system has to be cleared
/// anew.
#[derive(Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    /// The most that are kept.
    const KEPT: usize = 64;

    /// A buffer of `bytes` bytes.
    pub(crate) fn take(&self, bytes: usize) -> Result<Vec<u8>> {
        let Some(mut buffer) = lock(&self.0).pop().filter(|b| b.capacity() >= bytes) else {
            return penstock_data::memory::filled(0, bytes);
        };
        buffer.resize(bytes, 0);
        Ok(buffer)
    }

    fn give(&self, payload: Payload) {
        if let Payload::Bytes(bytes) = payload {
            let mut kept = lock(&self.0);
            if kept.len() < Self::KEPT {
                kept.push(bytes);
            }
        }
    }
}

/// Bytes on their way.
pub(crate) enum Payload {
    Bytes(Vec<u8>),
    /// A part of a tensor's memory.
    Part(Tensor, Range<usize>),
}

impl Payload {
    fn bytes(&self) -> &[u8] {
        match self {
            Payload::Bytes(bytes) => bytes,
            Payload::Part(tensor, range) => &tensor.bytes()[range.clone()],
        }
    }
}

fn header(kind: Kind, len: usize) -> [u8; HEADER] {
    let mut out = [0; HEADER];
    out[0] = kind as u8;
    out[1..].copy_from_slice(&(len as u64).to_le_bytes());
    out
}

/// What waits to be written.
struct Queue {
    waiting: VecDeque<(Vec<u8>, Option<Payload>)>,
    /// Whether the thread of the link is writing.
    writing: bool,
    /// Whether no more comes: the thread ends when nothing waits.
    closed: bool,
    failed: Option<String>,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The way to another member.
pub(crate) struct Outgoing {
    stream: TcpStream,
    buffers: Arc<Buffers>,
    shared: Arc<Shared>,
    writer: Option<thread::JoinHandle<()>>,
    /// The frame that goes in front of the next one.
    begin: Vec<u8>,
}

impl Outgoing {
    /// Connects, and says who it is.
    pub(crate) fn connect(
        buffers: &Arc<Buffers>,
        address: &str,
        key: u64,
        rank: usize,
        patience: &Patience<'_>,
    ) -> Result<Outgoing> {
        let until = Instant::now() + patience.timeout;
        let mut pause = Duration::from_millis(2);
        let mut stream = loop {
            (patience.stop)()?;
            let left = until.saturating_duration_since(Instant::now());
            match connect_once(address, left.min(Duration::from_secs(1)).max(TICK)) {
                Ok(stream) => break stream,
                // It may not listen yet.
                Err(error) if left.is_zero() => {
                    return Err(Error::unavailable(format!("cannot connect to {address}: {error}")));
                }
                Err(_) => thread::sleep(pause.min(left)),
            }
            pause = (pause * 2).min(Duration::from_millis(100));
        };
        // Who does not read for so long is taken for gone.
        let ready = stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(patience.timeout)));
        let greeted = ready.and_then(|()| stream.write_all(&greeting(key, rank)));
        let copy = greeted.and_then(|()| stream.try_clone());
        let copy = copy.map_err(|e| Error::unavailable(format!("cannot talk to {address}: {e}")))?;
        let queue = Queue { waiting: VecDeque::new(), writing: false, closed: false, failed: None };
        let shared = Arc::new(Shared { queue: Mutex::new(queue), changed: Condvar::new() });
        let (theirs, used) = (shared.clone(), buffers.clone());
        let writer = thread::Builder::new()
            .name("penstock-send".to_owned())
            .spawn(move || write_all(copy, &theirs, &used))
            .map_err(|e| Error::exhausted(format!("no thread can be had to send from: {e}")))?;
        Ok(Outgoing { stream, buffers: buffers.clone(), shared, writer: Some(writer), begin: Vec::new() })
    }

    /// Has the next frame say that a collective begins.
    pub(crate) fn begin(&mut self, text: &str) {
        let text = cut(text);
        self.begin = Vec::with_capacity(HEADER + text.len());
        self.begin.extend_from_slice(&header(Kind::Begin, text.len()));
        self.begin.extend_from_slice(text.as_bytes());
    }

    /// Sends elements; it does not wait for the other side to take them.
    pub(crate) fn send(&mut self, payload: Payload) -> Result<()> {
        let len = payload.bytes().len();
        let mut front = std::mem::take(&mut self.begin);
        front.extend_from_slice(&header(Kind::Data, len));
        let mut queue = lock(&self.shared.queue);
        if let Some(failed) = &queue.failed {
            return Err(Error::unavailable(failed.clone()));
        }
        if len + front.len() <= DIRECT && queue.waiting.is_empty() && !queue.writing {
            drop(queue);
            front.extend_from_slice(payload.bytes());
            self.buffers.give(payload);
            return self.stream.write_all(&front).map_err(|e| Error::unavailable(cannot_send(&e)));
        }
        queue.waiting.push_back((front, Some(payload)));
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Says why this member is no more, and closes: what waits to be written is dropped where it has failed. Another side that does
    /// not read is waited for so long.
    pub(crate) fn close(mut self, failed: Option<&str>, patience: Duration) {
        let frame = match failed {
            Some(text) => {
                let text = cut(text);
                [&header(Kind::Failed, text.len())[..], text.as_bytes()].concat()
            }
            None => header(Kind::Left, 0).to_vec(),
        };
        {
            let mut queue = lock(&self.shared.queue);
            queue.closed = true;
            // Where a frame is half written, nothing can follow but the rest of it.
            if queue.failed.is_none() {
                queue.waiting.push_back((frame, None));
            }
            if failed.is_some() {
                let last = queue.waiting.pop_back();
                queue.waiting.clear();
                queue.waiting.extend(last);
            }
            self.shared.changed.notify_one();
        }
        let Some(writer) = self.writer.take() else { return };
        let until = Instant::now() + patience;
        while !writer.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        // It ends a write that goes on.
        drop(self.stream.shutdown(if writer.is_finished() { Shutdown::Write } else { Shutdown::Both }));
        drop(writer.join());
    }
}

fn cannot_send(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "it does not take what is sent to it".to_owned(),
        _ => format!("cannot send: {error}"),
    }
}

/// A text that fits in a frame.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT)]
}

fn connect_once(address: &str, timeout: Duration) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::new(ErrorKind::NotFound, "the name has no address");
    for found in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&found, timeout) {
            // A free port of this machine can be connected to itself.
            Ok(stream) if stream.local_addr()? == found => last = ErrorKind::ConnectionRefused.into(),
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What a link's thread does: it writes what waits, in order.
fn write_all(mut stream: TcpStream, shared: &Shared, buffers: &Buffers) {
    loop {
        let (front, payload) = {
            let mut queue = lock(&shared.queue);
            queue.writing = false;
            loop {
                if let Some(next) = queue.waiting.pop_front() {
                    queue.writing = true;
                    break next;
                }
                if queue.closed {
                    return;
                }
                queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        };
        let written = stream.write_all(&front).and_then(|()| match &payload {
            Some(payload) => stream.write_all(payload.bytes()),
            None => Ok(()),
        });
        payload.into_iter().for_each(|payload| buffers.give(payload));
        if let Err(error) = written {
            let mut queue = lock(&shared.queue);
            queue.failed = Some(cannot_send(&error));
            queue.waiting.clear();
            return;
        }
    }
}

pub(crate) fn greeting(key: u64, rank: usize) -> [u8; GREETING] {
    let mut out = [0; GREETING];
    out[..8].copy_from_slice(MAGIC);
    out[8..16].copy_from_slice(&key.to_le_bytes());
    out[16..].copy_from_slice(&(rank as u32).to_le_bytes());
    out
}

/// The key and the rank of a greeting.
pub(crate) fn read_greeting(bytes: &[u8; GREETING]) -> Option<(u64, usize)> {
    let key = u64::from_le_bytes(bytes[8..16].try_into().ok()?);
    let rank = u32::from_le_bytes(bytes[16..].try_into().ok()?);
    bytes.starts_with(MAGIC).then_some((key, rank as usize))
}

/// How long to wait for another member, and whether to go on.
pub(crate) struct Patience<'a> {
    pub(crate) timeout: Duration,
    /// An error where the group is no more.
    pub(crate) stop: &'a dyn Fn() -> Result<()>,
}

/// The way from another member.
pub(crate) struct Incoming {
    stream: TcpStream,
    from: usize,
    /// The bytes left of the frame that is being read.
    left: usize,
    /// Whether the collective that goes on has been read of.
    begun: bool,
}

impl Incoming {
    pub(crate) fn new(stream: TcpStream, from: usize) -> Result<Incoming> {
        stream
            .set_read_timeout(Some(TICK))
            .and_then(|()| stream.set_nodelay(true))
            .map_err(|e| Error::unavailable(format!("cannot listen to rank {from}: {e}")))?;
        Ok(Incoming { stream, from, left: 0, begun: false })
    }

    /// Expects that a collective begins.
    pub(crate) fn begin(&mut self) {
        self.begun = false;
    }

    fn read(&mut self, mut to: &mut [u8], patience: &Patience<'_>) -> Result<()> {
        let mut last = Instant::now();
        while !to.is_empty() {
            match self.stream.read(to) {
                Ok(0) => {
                    return Err(Error::unavailable(format!(
                        "rank {} has closed its connection: its process may have ended",
                        self.from
                    )));
                }
                Ok(n) => {
                    to = &mut to[n..];
                    last = Instant::now();
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                    (patience.stop)()?;
                    if last.elapsed() > patience.timeout {
                        return Err(Error::unavailable(format!(
                            "nothing came from rank {} for {:.1} s",
                            self.from,
                            patience.timeout.as_secs_f64()
                        )));
                    }
                }
                Err(e) => return Err(Error::unavailable(format!("rank {} cannot be reached: {e}", self.from))),
            }
        }
        Ok(())
    }

    /// Reads the start of the next frame of elements, and gives the number of its bytes. Where a collective begins, it has to be
    /// `expected`.
    pub(crate) fn next(&mut self, expected: &str, patience: &Patience<'_>) -> Result<usize> {
        loop {
            let mut front = [0; HEADER];
            self.read(&mut front, patience)?;
            let mut len = [0; 8];
            len.copy_from_slice(&front[1..]);
            let len = usize::try_from(u64::from_le_bytes(len)).unwrap_or(usize::MAX);
            let kind = [Kind::Begin, Kind::Data, Kind::Failed, Kind::Left].into_iter().find(|&k| k as u8 == front[0]);
            match kind {
                Some(Kind::Data) if self.begun => {
                    self.left = len;
                    return Ok(len);
                }
                Some(Kind::Begin) if len <= TEXT => {
                    let theirs = self.text(len, patience)?;
                    if self.begun || theirs != expected {
                        return Err(Error::invalid(format!(
                            "the processes do not compute the same: this one has {expected}, rank {} has {theirs}",
                            self.from
                        )));
                    }
                    self.begun = true;
                }
                Some(Kind::Failed) if len <= TEXT => {
                    let text = self.text(len, patience)?;
                    let class = if text.starts_with("the processes do not compute the same") {
                        Error::invalid
                    } else {
                        Error::unavailable
                    };
                    return Err(class(text));
                }
                Some(Kind::Left) => {
                    return Err(Error::unavailable(format!("rank {} has left the group", self.from)));
                }
                _ => return Err(Error::unavailable(format!("rank {} sends what is no frame", self.from))),
            }
        }
    }

    fn text(&mut self, len: usize, patience: &Patience<'_>) -> Result<String> {
        let mut text = vec![0; len];
        self.read(&mut text, patience)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Reads elements of the frame: as many as `to` has.
    pub(crate) fn fill(&mut self, to: &mut [u8], patience: &Patience<'_>) -> Result<()> {
        self.left = self.left.checked_sub(to.len()).ok_or_else(|| {
            Error::unavailable(format!("rank {} sends fewer bytes than its collective has", self.from))
        })?;
        self.read(to, patience)
    }
}
