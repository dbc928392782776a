//! The algorithms: who sends what to whom, in which order.
//!
//! Bytes pass each link once per step. With n members, a latency α and β seconds a byte, a ring takes `2(n-1)(α + bβ/n)` for an
//! `all_reduce` of b bytes, which is the least for many bytes; doubling takes `(α + bβ) log₂ n`, which is less for few (Thakur,
//! Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005).

use std::ops::Range;

use penstock_data::{Error, Result, Tensor};
use penstock_ir::{Collective, Combine};

use crate::combine::combine;
use crate::link::Payload;

/// Bytes that are combined and passed on at a time.
const SEGMENT: usize = 256 << 10;
/// The most bytes of an `all_reduce` by doubling.
const FEW: usize = 16 << 10;

/// The links of a member while one collective goes on.
pub(crate) trait Links {
    fn rank(&self) -> usize;
    fn size(&self) -> usize;
    /// Sends to a member, and does not wait.
    fn send(&mut self, to: usize, payload: Payload) -> Result<()>;
    /// A buffer of `bytes` bytes.
    fn buffer(&self, bytes: usize) -> Result<Vec<u8>>;
    /// Reads the next frame of a member, which has as many bytes as `bytes`.
    fn receive(&mut self, from: usize, bytes: &mut [u8]) -> Result<()>;
}

/// The result of a collective, for a value in the host's memory that can take part.
pub(crate) fn run(links: &mut dyn Links, collective: Collective, value: &Tensor) -> Result<Tensor> {
    if let Collective::Broadcast(root) | Collective::Reduce(_, root) = collective {
        check_root(root, links.size())?;
    }
    if links.size() == 1 {
        return Ok(value.clone());
    }
    match collective {
        Collective::AllReduce(how) if value.byte_len() <= FEW => doubling(links, how, value),
        Collective::AllReduce(how) => ring(links, how, value),
        Collective::ReduceScatter(how) => reduce_scatter(links, how, value),
        Collective::AllGather => all_gather(links, value),
        Collective::Broadcast(root) => broadcast(links, root, value),
        Collective::Reduce(how, root) => reduce(links, how, root, value),
        Collective::AllToAll => all_to_all(links, value),
    }
}

/// The parts of `bytes` that travel one after the other: of whole elements of `size` bytes.
fn segments(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let step = SEGMENT / size * size;
    range.clone().step_by(step).map(move |start| start..(start + step).min(range.end))
}

/// The part of `n` nearly equal ones, in bytes, of `len` elements.
fn part(index: usize, n: usize, len: usize, size: usize) -> Range<usize> {
    let at = |i: usize| (len as u128 * i as u128 / n as u128) as usize * size;
    at(index)..at(index + 1)
}

/// Members in pairs: at each step the sums of twice as many meet. What is left of a power of two stands behind a member of it.
fn doubling(links: &mut dyn Links, how: Combine, value: &Tensor) -> Result<Tensor> {
    let (rank, n) = (links.rank(), links.size());
    let power = 1 << n.ilog2();
    let behind = n - power;
    let (dtype, bytes) = (value.dtype(), value.byte_len());
    let mut own = value.bytes().to_vec();
    let mut theirs = links.buffer(bytes)?;
    // Of the first members, each even one stands behind the odd one next to it.
    if rank < 2 * behind && rank % 2 == 0 {
        links.send(rank + 1, Payload::Bytes(own))?;
        links.receive(rank + 1, &mut theirs)?;
        return made(value, value.dims(), theirs);
    }
    if rank < 2 * behind {
        links.receive(rank - 1, &mut theirs)?;
        combine(how, dtype, &mut theirs, &own);
        std::mem::swap(&mut own, &mut theirs);
    }
    let place = if rank < 2 * behind { rank / 2 } else { rank - behind };
    let member = |place: usize| if place < behind { 2 * place + 1 } else { place + behind };
    let mut distance = 1;
    while distance < power {
        let other = place ^ distance;
        links.send(member(other), Payload::Bytes(own.clone()))?;
        links.receive(member(other), &mut theirs)?;
        // The lower one comes first on both sides, so both have the same bits.
        if other < place {
            combine(how, dtype, &mut theirs, &own);
            std::mem::swap(&mut own, &mut theirs);
        } else {
            combine(how, dtype, &mut own, &theirs);
        }
        distance *= 2;
    }
    if rank < 2 * behind {
        links.send(rank - 1, Payload::Bytes(own.clone()))?;
    }
    made(value, value.dims(), own)
}

/// A tensor of the dtype of `like`, of bytes.
fn made(like: &Tensor, dims: &[usize], bytes: Vec<u8>) -> Result<Tensor> {
    let mut out = Tensor::empty(like.dtype(), dims)?;
    out.bytes_mut().copy_from_slice(&bytes);
    Ok(out)
}

/// The value in a ring: the first time round, each member adds its own to a part and passes the sum on; the second time round the sums
/// go to all.
fn ring(links: &mut dyn Links, how: Combine, value: &Tensor) -> Result<Tensor> {
    let (rank, n) = (links.rank(), links.size());
    let mut out = Tensor::empty(value.dtype(), value.dims())?;
    let (len, size) = (value.len(), value.dtype().size());
    let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
    for segment in segments(part(rank, n, len, size), size) {
        links.send(right, Payload::Part(value.clone(), segment))?;
    }
    for step in 0..2 * (n - 1) {
        let index = (rank + 2 * n - step - 1) % n;
        for segment in segments(part(index, n, len, size), size) {
            if step + 1 == 2 * (n - 1) {
                links.receive(left, &mut out.bytes_mut()[segment])?;
                continue;
            }
            let mut bytes = links.buffer(segment.len())?;
            links.receive(left, &mut bytes)?;
            if step < n - 1 {
                add_own(how, value, segment.clone(), &mut bytes);
            }
            if step + 2 >= n {
                out.bytes_mut()[segment].copy_from_slice(&bytes);
            }
            links.send(right, Payload::Bytes(bytes))?;
        }
    }
    Ok(out)
}

/// Makes what came from the members before `came` combined with this member's own.
fn add_own(how: Combine, value: &Tensor, segment: Range<usize>, came: &mut [u8]) {
    combine(how, value.dtype(), came, &value.bytes()[segment]);
}

/// The number of rows of each member's part.
fn rows_of_part(value: &Tensor, n: usize, collective: Collective) -> Result<usize> {
    let rows = value.dims()[0];
    if !rows.is_multiple_of(n) {
        return Err(Error::invalid(format!("{collective} divides {rows} rows among {n} processes")).argument("value"));
    }
    Ok(rows / n)
}

fn with_rows(value: &Tensor, rows: usize) -> Vec<usize> {
    [&[rows], &value.dims()[1..]].concat()
}

/// The first time round of a ring. A member's own part is the one that comes to it last.
fn reduce_scatter(links: &mut dyn Links, how: Combine, value: &Tensor) -> Result<Tensor> {
    let (rank, n) = (links.rank(), links.size());
    let rows = rows_of_part(value, n, Collective::ReduceScatter(how))?;
    let mut out = Tensor::empty(value.dtype(), &with_rows(value, rows))?;
    let (len, size) = (value.len(), value.dtype().size());
    let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
    for segment in segments(part(left, n, len, size), size) {
        links.send(right, Payload::Part(value.clone(), segment))?;
    }
    for step in 0..n - 1 {
        let whole = part((rank + 2 * n - step - 2) % n, n, len, size);
        for segment in segments(whole.clone(), size) {
            let mut bytes = links.buffer(segment.len())?;
            links.receive(left, &mut bytes)?;
            add_own(how, value, segment.clone(), &mut bytes);
            if step + 2 == n {
                out.bytes_mut()[segment.start - whole.start..segment.end - whole.start].copy_from_slice(&bytes);
            } else {
                links.send(right, Payload::Bytes(bytes))?;
            }
        }
    }
    Ok(out)
}

/// The rows of all in a ring. Each part says how many rows it has.
fn all_gather(links: &mut dyn Links, value: &Tensor) -> Result<Tensor> {
    let (rank, n) = (links.rank(), links.size());
    let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
    let size = value.dtype().size();
    let row: usize = value.dims()[1..].iter().product::<usize>() * size;
    let mut parts: Vec<Option<(usize, Tensor)>> = vec![None; n];
    parts[rank] = Some((value.dims()[0], value.clone()));
    for step in 0..n - 1 {
        if step == 0 {
            links.send(right, Payload::Bytes((value.dims()[0] as u64).to_le_bytes().to_vec()))?;
            for segment in segments(0..value.byte_len(), size) {
                links.send(right, Payload::Part(value.clone(), segment))?;
            }
        }
        let (passes_on, mut rows) = (step + 2 < n, [0; 8]);
        links.receive(left, &mut rows)?;
        if passes_on {
            links.send(right, Payload::Bytes(rows.to_vec()))?;
        }
        let rows = usize::try_from(u64::from_le_bytes(rows)).unwrap_or(usize::MAX);
        let mut part = Tensor::empty(value.dtype(), &with_rows(value, rows))?;
        for segment in segments(0..part.byte_len(), size) {
            let mut bytes = links.buffer(segment.len())?;
            links.receive(left, &mut bytes)?;
            part.bytes_mut()[segment].copy_from_slice(&bytes);
            if passes_on {
                links.send(right, Payload::Bytes(bytes))?;
            }
        }
        parts[(rank + n - 1 - step) % n] = Some((rows, part));
    }
    let rows = parts.iter().flatten().try_fold(0usize, |sum, (rows, _)| sum.checked_add(*rows));
    let mut out = Tensor::empty(value.dtype(), &with_rows(value, rows.unwrap_or(usize::MAX)))?;
    let mut at = 0;
    for (rows, part) in parts.into_iter().flatten() {
        out.bytes_mut()[at..at + rows * row].copy_from_slice(part.bytes());
        at += rows * row;
    }
    Ok(out)
}

fn check_root(root: usize, n: usize) -> Result<()> {
    if root < n {
        return Ok(());
    }
    Err(Error::invalid(format!("there is no rank {root} in a group of {n}")).argument("root"))
}

/// From one to the next, a segment at a time.
fn broadcast(links: &mut dyn Links, root: usize, value: &Tensor) -> Result<Tensor> {
    let (rank, n) = (links.rank(), links.size());
    let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
    let size = value.dtype().size();
    // An empty value is sent too: a member that disagrees has to find out.
    let all: Vec<Range<usize>> = segments(0..value.byte_len().max(size), size).collect();
    if rank == root {
        for segment in all {
            links.send(right, Payload::Part(value.clone(), segment.start..segment.end.min(value.byte_len())))?;
        }
        return Ok(value.clone());
    }
    let mut out = Tensor::empty(value.dtype(), value.dims())?;
    for segment in all {
        let segment = segment.start..segment.end.min(out.byte_len());
        let mut bytes = links.buffer(segment.len())?;
        links.receive(left, &mut bytes)?;
        out.bytes_mut()[segment].copy_from_slice(&bytes);
        if right != root {
            links.send(right, Payload::Bytes(bytes))?;
        }
    }
    Ok(out)
}

/// From the member behind the root round to the root: each adds its own.
fn reduce(links: &mut dyn Links, how: Combine, root: usize, value: &Tensor) -> Result<Tensor> {
    let (rank, n) = (links.rank(), links.size());
    let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
    let size = value.dtype().size();
    let mut out = Tensor::zeros(value.dtype(), value.dims())?;
    for segment in segments(0..value.byte_len().max(size), size) {
        let segment = segment.start..segment.end.min(value.byte_len());
        if left == root {
            links.send(right, Payload::Part(value.clone(), segment))?;
            continue;
        }
        let mut bytes = links.buffer(segment.len())?;
        links.receive(left, &mut bytes)?;
        add_own(how, value, segment.clone(), &mut bytes);
        if rank == root {
            out.bytes_mut()[segment].copy_from_slice(&bytes);
        } else {
            links.send(right, Payload::Bytes(bytes))?;
        }
    }
    Ok(out)
}

/// Each sends each its part.
fn all_to_all(links: &mut dyn Links, value: &Tensor) -> Result<Tensor> {
    let (rank, n) = (links.rank(), links.size());
    rows_of_part(value, n, Collective::AllToAll)?;
    let mut out = Tensor::empty(value.dtype(), value.dims())?;
    let (len, size) = (value.len(), value.dtype().size());
    let own = part(rank, n, len, size);
    out.bytes_mut()[own.clone()].copy_from_slice(&value.bytes()[own]);
    for step in 1..n {
        links.send((rank + step) % n, Payload::Part(value.clone(), part((rank + step) % n, n, len, size)))?;
    }
    for step in 1..n {
        let from = (rank + n - step) % n;
        let range = part(from, n, len, size);
        links.receive(from, &mut out.bytes_mut()[range])?;
    }
    Ok(out)
}
