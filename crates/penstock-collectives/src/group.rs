//! A group over TCP.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, panic};

use penstock_data::{Error, Result, Tensor};
use penstock_ir::{Collective, Group};

use crate::exchange::{self, Links};
use crate::link::{Buffers, Incoming, Outgoing, Patience, Payload};
use crate::listener::Inbox;

/// How long a wait lasts before its host is asked whether to go on.
const TICK: Duration = Duration::from_millis(10);
/// How many results are kept that nobody waits for.
const KEPT: usize = 4096;

/// Who a member of a group is.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The same for all members, and another one for each group that has members in common.
    pub key: u64,
    /// The number of this member.
    pub rank: usize,
    /// The addresses of all, by rank.
    pub members: Vec<String>,
    /// How long the silence of a member is waited out.
    pub timeout: Duration,
}

/// A collective to do.
struct Job {
    ticket: i64,
    collective: Collective,
    name: String,
    value: Tensor,
}

struct Results {
    next: i64,
    /// By ticket; `None` where it is under way.
    entries: BTreeMap<i64, Option<Result<Tensor>>>,
    /// Why the group is no more.
    failed: Option<Error>,
    closing: bool,
}

struct Shared {
    membership: Membership,
    inbox: Arc<Inbox>,
    results: Mutex<Results>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error where the group is no more.
    fn check(&self) -> Result<()> {
        let results = self.lock();
        match &results.failed {
            Some(error) => Err(error.clone()),
            None if results.closing => Err(Error::unavailable("this process has left the group")),
            None => Ok(()),
        }
    }

    fn fail(&self, error: Error) {
        let mut results = self.lock();
        results.failed.get_or_insert(error);
        self.changed.notify_all();
    }
}

/// A group whose members talk over TCP. Made by [`Listener::join`](crate::Listener::join); dropped, it leaves the group.
pub struct TcpGroup {
    shared: Arc<Shared>,
    jobs: Option<Sender<Job>>,
    worker: Option<thread::JoinHandle<()>>,
}

impl fmt::Debug for TcpGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Membership { rank, members, .. } = &self.shared.membership;
        write!(f, "rank {rank} of {}", members.len())
    }
}

impl TcpGroup {
    pub(crate) fn new(mut membership: Membership, inbox: Arc<Inbox>) -> Result<TcpGroup> {
        // What clocks and sockets take.
        membership.timeout = membership.timeout.clamp(Duration::from_millis(1), Duration::from_secs(1 << 30));
        let (rank, size) = (membership.rank, membership.members.len());
        if rank >= size {
            return Err(Error::invalid(format!("rank {rank} is not among {size} members")).argument("rank"));
        }
        let results = Results { next: 0, entries: BTreeMap::new(), failed: None, closing: false };
        let shared = Arc::new(Shared { membership, inbox, results: Mutex::new(results), changed: Condvar::new() });
        let (jobs, work) = channel();
        let theirs = shared.clone();
        let worker = thread::Builder::new()
            .name("penstock-collectives".to_owned())
            .spawn(move || do_all(&theirs, &work))
            .map_err(|e| Error::exhausted(format!("no thread can be had for a group: {e}")))?;
        Ok(TcpGroup { shared, jobs: Some(jobs), worker: Some(worker) })
    }

    /// Ends what is under way: all that wait, here and elsewhere, get this error. The group stays failed.
    pub fn abort(&self, reason: &str) {
        self.shared.fail(Error::unavailable(format!("the group was left: {reason}")));
    }

    /// Why the group is no more, where it is.
    pub fn failure(&self) -> Option<Error> {
        self.shared.lock().failed.clone()
    }
}

impl Drop for TcpGroup {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.jobs = None;
        if let Some(worker) = self.worker.take() {
            drop(worker.join());
        }
    }
}

impl Group for TcpGroup {
    fn rank(&self) -> usize {
        self.shared.membership.rank
    }

    fn size(&self) -> usize {
        self.shared.membership.members.len()
    }

    fn start(&self, collective: Collective, name: &str, value: &Tensor) -> Result<i64> {
        collective.check_dtype(value.dtype())?;
        if collective.goes_by_rows() && value.rank() == 0 {
            return Err(Error::invalid(format!("{collective} is of rows; a scalar has none")).argument("value"));
        }
        let value = value.on_host()?;
        let mut results = self.shared.lock();
        if let Some(failed) = &results.failed {
            return Err(failed.clone());
        }
        let ticket = results.next;
        results.next += 1;
        if results.entries.len() >= KEPT {
            let oldest = results.entries.iter().find(|(_, result)| result.is_some()).map(|(&ticket, _)| ticket);
            oldest.and_then(|ticket| results.entries.remove(&ticket));
        }
        results.entries.insert(ticket, None);
        // Under the lock, so that jobs come in the order of their tickets.
        let job = Job { ticket, collective, name: name.to_owned(), value };
        match self.jobs.as_ref().map(|jobs| jobs.send(job)) {
            Some(Ok(())) => Ok(ticket),
            _ => Err(Error::unavailable("the group has ended")),
        }
    }

    fn wait(&self, ticket: i64, _: &Tensor, poll: &dyn Fn() -> Result<()>) -> Result<Tensor> {
        let mut results = self.shared.lock();
        loop {
            match results.entries.get(&ticket) {
                Some(Some(_)) => {
                    let result = results.entries.remove(&ticket).flatten();
                    return result.unwrap_or_else(|| Err(Error::internal("a result is lost")));
                }
                Some(None) => {}
                None => {
                    return Err(Error::invalid(format!("no result is kept for ticket {ticket}")).argument("ticket"));
                }
            }
            let (locked, waited) =
                self.shared.changed.wait_timeout(results, TICK).unwrap_or_else(PoisonError::into_inner);
            results = locked;
            if waited.timed_out() {
                drop(results);
                poll()?;
                results = self.shared.lock();
            }
        }
    }
}

/// What the thread of a group does: one collective after the other. The first that fails is the last.
fn do_all(shared: &Arc<Shared>, jobs: &Receiver<Job>) {
    let mut connections =
        Connections { shared, buffers: Arc::default(), outgoing: HashMap::new(), incoming: HashMap::new() };
    let mut number = 0u64;
    while let Ok(job) = jobs.recv() {
        let result = shared.check().and_then(|()| connections.run(number, &job));
        number += 1;
        // A fault of the caller's own, which all members find alike and before anything is sent, leaves the group as it is.
        if let Err(error) = &result
            && connections.broken(error)
        {
            shared.fail(error.clone());
        }
        let mut results = shared.lock();
        if let Some(entry) = results.entries.get_mut(&job.ticket) {
            *entry = Some(result);
        }
        shared.changed.notify_all();
    }
    connections.close();
}

/// The links of a member.
struct Connections<'a> {
    shared: &'a Shared,
    buffers: Arc<Buffers>,
    outgoing: HashMap<usize, Outgoing>,
    incoming: HashMap<usize, Incoming>,
}

impl Connections<'_> {
    fn run(&mut self, number: u64, job: &Job) -> Result<Tensor> {
        let text = description(number, job);
        self.outgoing.values_mut().for_each(|link| link.begin(&text));
        self.incoming.values_mut().for_each(Incoming::begin);
        let mut session = Session { connections: self, text: &text };
        let run = panic::AssertUnwindSafe(|| exchange::run(&mut session, job.collective, &job.value));
        panic::catch_unwind(run).unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))
    }

    /// Whether the group cannot go on after an error.
    fn broken(&self, error: &Error) -> bool {
        // What names an argument was found before anything was sent.
        error.argument_name().is_none()
    }

    /// Says goodbye.
    fn close(self) {
        let Membership { key, timeout, .. } = self.shared.membership;
        let failed = self.shared.lock().failed.as_ref().map(|error| error.message().to_owned());
        drop(self.incoming);
        let patience = if failed.is_some() { timeout.min(Duration::from_secs(1)) } else { timeout };
        // At the same time: who does not listen keeps nobody.
        thread::scope(|threads| {
            for link in self.outgoing.into_values() {
                let failed = failed.as_deref();
                threads.spawn(move || link.close(failed, patience));
            }
        });
        self.shared.inbox.forget(key);
    }
}

/// What members compare.
fn description(number: u64, job: &Job) -> String {
    let dims = job.value.dims();
    // How many rows each has to give is its own affair.
    let dims: Vec<String> = match job.collective {
        Collective::AllGather => {
            std::iter::once("?".to_owned()).chain(dims[1..].iter().map(usize::to_string)).collect()
        }
        _ => dims.iter().map(usize::to_string).collect(),
    };
    let name = if job.name.is_empty() { String::new() } else { format!(" '{}'", job.name) };
    format!("{}{name} of {}[{}] as number {number}", job.collective, job.value.dtype().tf_name(), dims.join(", "))
}

/// The links while one collective goes on.
struct Session<'a, 'b> {
    connections: &'a mut Connections<'b>,
    text: &'a str,
}

impl Links for Session<'_, '_> {
    fn rank(&self) -> usize {
        self.connections.shared.membership.rank
    }

    fn size(&self) -> usize {
        self.connections.shared.membership.members.len()
    }

    fn send(&mut self, to: usize, payload: Payload) -> Result<()> {
        let Connections { shared, buffers, outgoing, .. } = &mut *self.connections;
        let Membership { key, rank, members, timeout } = &shared.membership;
        let link = match outgoing.entry(to) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let patience = Patience { timeout: *timeout, stop: &|| shared.check() };
                let mut link = Outgoing::connect(buffers, &members[to], *key, *rank, &patience)?;
                link.begin(self.text);
                entry.insert(link)
            }
        };
        link.send(payload).map_err(|e| Error::unavailable(format!("rank {to}: {}", e.message())))
    }

    fn buffer(&self, bytes: usize) -> Result<Vec<u8>> {
        self.connections.buffers.take(bytes)
    }

    fn receive(&mut self, from: usize, bytes: &mut [u8]) -> Result<()> {
        let Connections { shared, incoming, .. } = &mut *self.connections;
        let Membership { key, timeout, .. } = shared.membership;
        let stop = || shared.check();
        let link = match incoming.entry(from) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let stream = shared.inbox.take((key, from), Instant::now() + timeout, &stop)?;
                entry.insert(Incoming::new(stream, from)?)
            }
        };
        let patience = Patience { timeout, stop: &stop };
        let there = link.next(self.text, &patience)?;
        if there != bytes.len() {
            return Err(Error::unavailable(format!("rank {from} sends {there} bytes where {} are due", bytes.len())));
        }
        link.fill(bytes, &patience)
    }
}
