//! Where other members connect.

use std::collections::HashMap;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use penstock_data::{Error, Result};

use crate::group::{Membership, TcpGroup};
use crate::link::{GREETING, read_greeting};

/// The most connections that wait for a group that is not there yet.
const WAITING: usize = 4096;
/// How long a greeting may take.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);

/// What has come from others, by key and rank, and not been asked for yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    arrived: Mutex<HashMap<(u64, usize), TcpStream>>,
    changed: Condvar,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, HashMap<(u64, usize), TcpStream>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: (u64, usize), stream: TcpStream) {
        let mut arrived = self.lock();
        if arrived.len() < WAITING {
            arrived.insert(key, stream);
            self.changed.notify_all();
        }
    }

    /// The connection of a member of a group, when it is there.
    pub(crate) fn take(&self, key: (u64, usize), until: Instant, stop: &dyn Fn() -> Result<()>) -> Result<TcpStream> {
        let mut arrived = self.lock();
        loop {
            if let Some(stream) = arrived.remove(&key) {
                return Ok(stream);
            }
            stop()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::unavailable(format!("rank {} did not connect in time", key.1)));
            }
            let tick = left.min(Duration::from_millis(50));
            arrived = self.changed.wait_timeout(arrived, tick).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Forgets what came for a group.
    pub(crate) fn forget(&self, group: u64) {
        self.lock().retain(|(key, _), _| *key != group);
    }
}

/// An address at which other members of groups connect: it serves any number of groups, one after the other or at the same time.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    inbox: Arc<Inbox>,
    closing: Arc<AtomicBool>,
    acceptor: Option<thread::JoinHandle<()>>,
}

impl Listener {
    /// Listens at an address such as `127.0.0.1:0`, where port 0 stands for a free one.
    ///
    /// # Errors
    /// `Unavailable` where the address cannot be had; `ResourceExhausted` where no thread can be had.
    pub fn bind(address: &str) -> Result<Listener> {
        let cannot = |e: std::io::Error| Error::unavailable(format!("cannot listen at {address}: {e}"));
        let listener = TcpListener::bind(address).map_err(cannot)?;
        let bound = listener.local_addr().map_err(cannot)?;
        let (inbox, closing) = (Arc::new(Inbox::default()), Arc::new(AtomicBool::new(false)));
        let (theirs, closes) = (inbox.clone(), closing.clone());
        let acceptor = thread::Builder::new()
            .name("penstock-accept".to_owned())
            .spawn(move || accept(&listener, &theirs, &closes))
            .map_err(|e| Error::exhausted(format!("no thread can be had to listen: {e}")))?;
        Ok(Listener { address: bound, inbox, closing, acceptor: Some(acceptor) })
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Joins a group. Members connect when they first exchange something.
    ///
    /// # Errors
    /// `InvalidArgument` for a rank that is not among the members; `ResourceExhausted` where no thread can be had.
    pub fn join(&self, membership: Membership) -> Result<TcpGroup> {
        TcpGroup::new(membership, self.inbox.clone())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        // Wakes the thread. One that cannot be reached so ends with the process.
        let mut awake = self.address;
        if awake.ip().is_unspecified() {
            awake.set_ip(match awake {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        let woken = TcpStream::connect_timeout(&awake, Duration::from_secs(1)).is_ok();
        if let Some(acceptor) = self.acceptor.take().filter(|_| woken) {
            drop(acceptor.join());
        }
    }
}

fn accept(listener: &TcpListener, inbox: &Arc<Inbox>, closing: &AtomicBool) {
    loop {
        let stream = listener.accept();
        if closing.load(Ordering::Acquire) {
            return;
        }
        match stream {
            Ok((stream, _)) => {
                // A stranger that says nothing keeps nobody else waiting.
                let inbox = inbox.clone();
                let greeted =
                    thread::Builder::new().name("penstock-greet".to_owned()).spawn(move || greet(stream, &inbox));
                drop(greeted);
            }
            // No descriptor is left, say.
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn greet(mut stream: TcpStream, inbox: &Inbox) {
    let mut bytes = [0; GREETING];
    let read = stream.set_read_timeout(Some(GREETING_TIMEOUT)).and_then(|()| stream.read_exact(&mut bytes));
    if let (Ok(()), Some(key)) = (read, read_greeting(&bytes)) {
        inbox.put(key, stream);
    }
}
