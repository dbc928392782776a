//! Row loops: loops of which each thread makes all iterations for some rows, before threads meet.
//!
//! The iterations of a recurrent net follow each other, but row `i` of an iteration needs only row `i` of the one before. So where a
//! loop counts, and does nothing but read elements by its count, go through the stages of a pipeline, and keep elements in
//! lists, the rows are shared once and not in each iteration. What goes to a list is written side by side, so that a stack of
//! it copies nothing.
//!
//! A row loop stands in front of the steps of the loop. Where anything is not as it should be (an index that is not there,
//! an element that is not set), it leaves all as it was, and the steps run, which say what is wrong.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use penstock_data::{DType, Dims, INLINE_BYTES, List, Result, Tensor};
use penstock_ir::{Env, Graph, Inst, InstData, Value};
use penstock_kernels::pool::threads;
use penstock_ops::control::CONST;
use penstock_ops::counted::{self, Compare, CountedLoop, Number, trip_count};
use penstock_ops::list::{LIST_GET, LIST_PUSH, LIST_SET, LIST_TAKE};
use penstock_ops::part::wraps;
use penstock_passes::Options;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::draft::{Drafts, Rows, matrices_of};
use super::layout::pipeline;
use super::stage::Stage;
use super::{Pipeline, ROWS};
use crate::plan::frame::{Reg, Regs};
use crate::plan::memory::Memory;

/// Counts of iterations are less than this, so that they are counts in every type of counter.
const MOST: i64 = i32::MAX as i64;

/// A loop variable that counts: it starts anywhere, and grows by `by` in each iteration.
struct Counter {
    variable: usize,
    by: i64,
}

/// A whole number that is so much more than a counter, by number.
type Count = (usize, i64);

/// While a count compares so with the bound.
struct Test {
    count: Count,
    how: Compare,
    bound: Bound,
}

enum Bound {
    Known(i64),
    In(usize),
}

/// A list: an operand, or a loop variable.
#[derive(Clone, Copy)]
enum Source {
    In(usize),
    Variable(usize),
}

/// How an iteration gets an element.
enum From {
    /// It is a row of an operand.
    Row { array: usize, wraps: bool },
    /// It is an element of a list.
    Element { list: Source },
}

/// What an iteration reads by its count.
struct Read {
    from: From,
    at: Count,
    dtype: DType,
    dims: Dims,
}

/// What an iteration keeps in a list: a result of the pipeline, a carried variable as it was, or what it reads.
#[derive(Clone, Copy)]
enum Kept {
    Out(usize),
    Carry(usize),
    Read(usize),
}

/// What an iteration does to a list that is a loop variable.
enum Act {
    Set { at: Count, value: Kept, grow: bool },
    Push { value: Kept },
    Take { at: Count },
}

/// Where the pipeline finds an operand.
enum Operand {
    Whole(usize),
    Read(usize),
    /// It is a count.
    Count(Count),
}

/// A loop variable that is the result `out` of the pipeline in the iteration before.
struct Carry {
    variable: usize,
    out: usize,
}

/// Where the results of all iterations lie.
#[derive(Clone, Copy, PartialEq)]
enum Storage {
    /// Until the next iteration is over.
    Double,
    /// For good, in the order of the iterations or in the opposite one.
    All { reversed: bool },
}

pub(crate) struct RowLoop {
    pub(crate) ins: SmallVec<[Reg; 8]>,
    pub(crate) variables: SmallVec<[Reg; 8]>,
    /// The step behind the loop.
    pub(crate) target: u32,
    /// What an iteration does with `operands`. It is given what is carried.
    pipeline: Pipeline,
    operands: Vec<Operand>,
    reads: Vec<Read>,
    counters: Vec<Counter>,
    test: Test,
    carries: Vec<Carry>,
    storages: Vec<Storage>,
    /// By result, the carry that is kept in a list too, and so lies in front of the results.
    leads: Vec<Option<usize>>,
    lists: Vec<(usize, Act)>,
    /// The greatest distance of what counts from its counter.
    reach: i64,
    /// Estimated nanoseconds of a thread between two polls, and of an iteration that threads may be missing in.
    poll_ns: u64,
    uneven_ns: u64,
}

/// A row loop, and the values from outside of the loop that are its operands.
pub(in crate::plan) struct Found {
    pub(in crate::plan) step: RowLoop,
    pub(in crate::plan) ins: Vec<Value>,
}

/// The row loop that does what a `while` does; `None` for most.
pub(in crate::plan) fn find(
    graph: &Graph,
    data: &InstData,
    options: &Options,
    is_outside: &dyn Fn(Value) -> bool,
) -> Option<Found> {
    let least = &options.thresholds;
    let body = &graph.regions[data.regions[1]];
    let of_one_matrix = |&i: &Inst| matrices_of(graph, i, least).filter(|(rows, unit)| rows == unit);
    let rows = body.insts.iter().find_map(of_one_matrix)?.0;
    let mut finder = Finder {
        graph,
        is_outside,
        params: &body.params,
        results: &body.results,
        ins: Vec::new(),
        counted: CountedLoop::new(graph, data),
        counters: Vec::new(),
        reads: Vec::new(),
        read_of: FxHashMap::default(),
        lists: Vec::new(),
        drafts: Drafts::new(graph, Rows::Count { rows, unit: rows }, options),
    };
    // The loop variables that are no lists: those of one whole number count, others are carried.
    let mut carried: Vec<usize> = Vec::new();
    for (k, &v) in body.params.iter().enumerate() {
        let ty = graph.ty(v);
        if body.results[k] == v || ty.dtype() == DType::Variant {
            continue;
        }
        let dims = ty.shape().extents()?;
        if dims.is_empty() && matches!(ty.dtype(), DType::I32 | DType::I64) {
            let Some(Number::Const(by)) = finder.counted.step(k) else { return None };
            finder.counters.push(Counter { variable: k, by });
        } else {
            finder.drafts.give(v)?;
            carried.push(k);
        }
    }
    for &inst in &body.insts {
        let known = graph.insts[inst].op.is(&CONST) || finder.counts(inst) || finder.read(inst) || finder.list(inst);
        if !known && !finder.drafts.reshape(inst) && !finder.drafts.join(inst) {
            return None;
        }
    }
    let operands = finder.operands()?;
    let test = finder.test()?;
    // What is carried is given first, and is what an iteration makes.
    let values: Vec<Value> = finder.drafts.values().collect();
    let mut leaves = vec![false; values.len()];
    for &k in &carried {
        let (from, to) = (body.params[k], body.results[k]);
        let made = values.iter().position(|&v| v == to).filter(|&o| o >= carried.len())?;
        leaves[made] = graph.ty(from) == graph.ty(to);
        if !leaves[made] {
            return None;
        }
    }
    for (_, act) in &finder.lists {
        if let Act::Set { value: Kept::Out(o), .. } | Act::Push { value: Kept::Out(o) } = *act {
            leaves[o] = true;
        }
    }
    let drafts = std::mem::replace(&mut finder.drafts, Drafts::new(graph, Rows::Outermost, options));
    let (mut pipeline, outs) = pipeline(drafts, None, &leaves)?;
    // Threads meet at the end of all iterations, and not at that of each.
    pipeline.piece_ns = least.row_loop_piece_ns;
    // A larger matrix would not stay in the cache of a thread.
    if pipeline.stages.iter().filter_map(Stage::matrix_bytes).max()? > least.row_loop_matrix_bytes {
        return None;
    }
    let position = |v: Value| outs.iter().position(|&out| out == v);
    let carry = |k: usize| Some(Carry { variable: k, out: position(body.results[k])? });
    let carries: Vec<Carry> = carried.into_iter().map(carry).collect::<Option<_>>()?;
    let is_used = |k: usize| finder.lists.iter().any(|l| l.0 == k);
    if (0..body.params.len()).any(|k| is_list(graph, &body.params, &body.results, k) && !is_used(k)) {
        return None;
    }
    let mut storages = vec![Storage::Double; outs.len()];
    let mut leads = vec![None; outs.len()];
    for (_, act) in &mut finder.lists {
        let (value, reversed) = match act {
            Act::Set { at, value, .. } => (value, finder.counters[at.0].by < 0),
            Act::Push { value } => (value, false),
            Act::Take { .. } => continue,
        };
        let out = match value {
            Kept::Out(made) => {
                let out = position(values[*made])?;
                *made = out;
                out
            }
            Kept::Carry(c) => {
                leads[carries[*c].out].get_or_insert(*c);
                carries[*c].out
            }
            Kept::Read(_) => continue,
        };
        if storages[out] == Storage::Double {
            storages[out] = Storage::All { reversed };
        }
    }
    let results = body.insts.iter().flat_map(|&i| &graph.insts[i].results);
    let offsets = results.filter_map(|&v| finder.counted.affine(v)).chain([test.1]);
    let reach = offsets.map(|a| a.high.max(a.low.saturating_neg())).max().unwrap_or(0);
    let test = test.0;
    let Finder { ins, reads, lists, counters, .. } = finder;
    let step = RowLoop {
        ins: SmallVec::new(),
        variables: SmallVec::new(),
        target: 0,
        pipeline,
        operands,
        reads,
        counters,
        test,
        carries,
        storages,
        leads,
        lists,
        reach,
        poll_ns: least.row_loop_poll_ns,
        uneven_ns: least.row_loop_uneven_ns,
    };
    Some(Found { step, ins })
}

/// Whether loop variable `k` is a list that iterations change.
fn is_list(graph: &Graph, params: &[Value], results: &[Value], k: usize) -> bool {
    graph.ty(params[k]).dtype() == DType::Variant && results[k] != params[k]
}

struct Finder<'a> {
    graph: &'a Graph,
    is_outside: &'a dyn Fn(Value) -> bool,
    params: &'a [Value],
    results: &'a [Value],
    ins: Vec<Value>,
    counted: CountedLoop<'a>,
    counters: Vec<Counter>,
    reads: Vec<Read>,
    read_of: FxHashMap<Value, usize>,
    lists: Vec<(usize, Act)>,
    drafts: Drafts<'a>,
}

impl Finder<'_> {
    /// The number of an operand from outside.
    fn operand(&mut self, v: Value) -> Option<usize> {
        let same = self.params.iter().position(|&p| p == v).is_some_and(|k| self.results[k] == v);
        if !same && !(self.is_outside)(v) && self.graph.constant(v).is_none() {
            return None;
        }
        Some(self.ins.iter().position(|&i| i == v).unwrap_or_else(|| {
            self.ins.push(v);
            self.ins.len() - 1
        }))
    }

    /// The count that a value is.
    fn count(&self, v: Value) -> Option<Count> {
        let found = self.counted.affine(v)?;
        Some((self.counter(found.variable)?, found.offset))
    }

    fn counter(&self, variable: usize) -> Option<usize> {
        self.counters.iter().position(|counter| counter.variable == variable)
    }

    /// Whether an instruction computes a count from one.
    fn counts(&self, inst: Inst) -> bool {
        matches!(self.graph.insts[inst].results[..], [result] if self.count(result).is_some())
    }

    /// Whether an instruction reads an element by a count.
    fn read(&mut self, inst: Inst) -> bool {
        let data = &self.graph.insts[inst];
        let Some(at) = data.operands.get(1).and_then(|&v| self.count(v)) else { return false };
        let take = data.op.is(&LIST_TAKE);
        let Some(&result) = data.results.get(usize::from(take)) else { return false };
        let ty = self.graph.ty(result);
        let Some(dims) = ty.shape().extents() else { return false };
        let from = if let (Some(wraps), 2) = (wraps(data.op.0, &data.attrs), data.operands.len()) {
            self.operand(data.operands[0]).map(|array| From::Row { array, wraps })
        } else if data.op.is(&LIST_GET) {
            self.operand(data.operands[0]).map(|list| From::Element { list: Source::In(list) })
        } else if take {
            let variable = self.variable(data.operands[0], data.results[0]);
            variable.map(|k| {
                self.lists.push((k, Act::Take { at }));
                From::Element { list: Source::Variable(k) }
            })
        } else {
            None
        };
        let Some(from) = from else { return false };
        self.read_of.insert(result, self.reads.len());
        self.reads.push(Read { from, at, dtype: ty.dtype(), dims });
        true
    }

    /// The loop variable that is a list before an instruction and another one behind it.
    fn variable(&self, before: Value, after: Value) -> Option<usize> {
        let k = self.params.iter().position(|&p| p == before)?;
        (self.results[k] == after && self.lists.iter().all(|l| l.0 != k)).then_some(k)
    }

    /// Whether an instruction keeps an element in a list.
    fn list(&mut self, inst: Inst) -> bool {
        let data = &self.graph.insts[inst];
        let (set, push) = (data.op.is(&LIST_SET), data.op.is(&LIST_PUSH));
        if !set && !push {
            return false;
        }
        let Some(k) = self.variable(data.operands[0], data.results[0]) else { return false };
        let Some(&value) = data.operands.last() else { return false };
        let value = match (self.drafts.values().position(|o| o == value), self.read_of.get(&value)) {
            (Some(o), _) if self.params.contains(&value) => Kept::Carry(o),
            (Some(o), _) => Kept::Out(o),
            (None, Some(&r)) => Kept::Read(r),
            (None, None) => return false,
        };
        let act = if push {
            Act::Push { value }
        } else {
            let Some(at) = self.count(data.operands[1]) else { return false };
            Act::Set { at, value, grow: data.attrs.flag(0) }
        };
        self.lists.push((k, act));
        true
    }

    /// Where the stages find their operands.
    fn operands(&mut self) -> Option<Vec<Operand>> {
        let values = std::mem::take(&mut self.drafts.ins);
        let found = values.iter().map(|&v| match (self.read_of.get(&v), self.count(v)) {
            (Some(&r), _) => Some(Operand::Read(r)),
            (None, Some(at)) => {
                let dtype = self.graph.ty(v).dtype();
                matches!(dtype, DType::I32 | DType::I64).then_some(Operand::Count(at))
            }
            (None, None) => self.operand(v).map(Operand::Whole),
        });
        let found = found.collect();
        self.drafts.ins = values;
        found
    }

    /// The test of a loop that compares a count with what is known before it, and that count.
    fn test(&mut self) -> Option<(Test, counted::Affine)> {
        let test = self.counted.test().filter(|_| self.counted.only_tests())?;
        let counter = self.counter(test.number.variable)?;
        let bound = match test.bound {
            Number::Const(bound) => Bound::Known(bound),
            Number::Value(bound) => Bound::In(self.operand(bound)?),
        };
        Some((Test { count: (counter, test.number.offset), how: test.how, bound }, test.number))
    }
}

/// Where an operand of the stages is in each iteration.
enum Places {
    /// At `first`, and so many bytes further in each iteration.
    Even {
        first: *const u8,
        step: isize,
    },
    Table(Vec<*const u8>),
}

impl Places {
    fn at(&self, iteration: usize) -> *const u8 {
        match self {
            Places::Even { first, step } => first.wrapping_offset(step * iteration as isize),
            Places::Table(all) => all[iteration],
        }
    }
}

/// The memory of a result of the pipeline: *slots* of so many bytes, one behind the other.
struct Slots {
    storage: Storage,
    iterations: usize,
    /// 1 where the value before the first iteration is there as well.
    lead: usize,
    base: *mut u8,
    bytes: usize,
    /// The memory; its rows are the slots.
    memory: Tensor,
}

impl Slots {
    fn new(storage: Storage, lead: bool, iterations: usize, dtype: DType, dims: &Dims) -> Option<Slots> {
        let lead = usize::from(lead);
        let count = match storage {
            Storage::Double => 2,
            Storage::All { .. } => iterations + lead,
        };
        let all: Dims = std::iter::once(count).chain(dims.iter().copied()).collect();
        let mut memory = Tensor::empty(dtype, &all).ok()?;
        let bytes = memory.byte_len() / count;
        if bytes <= INLINE_BYTES {
            return None;
        }
        Some(Slots { storage, iterations, lead, base: memory.as_mut_ptr()?, bytes, memory })
    }

    /// The slot of the result of an iteration, counted from 1; 0 is the value before the first.
    fn slot(&self, iteration: usize) -> usize {
        match self.storage {
            Storage::Double => iteration % 2,
            Storage::All { reversed: false } => iteration + self.lead - 1,
            Storage::All { reversed: true } => self.iterations - iteration,
        }
    }

    fn at(&self, iteration: usize) -> *mut u8 {
        self.base.wrapping_add(self.slot(iteration) * self.bytes)
    }

    /// The result of an iteration as a tensor, which shares the memory.
    fn tensor(&self, iteration: usize, dims: &[usize]) -> Option<Tensor> {
        self.memory.rows(self.slot(iteration), 1).ok()?.reshaped(dims).ok()
    }
}

/// All that the iterations of a run read and write.
struct Iterations {
    count: usize,
    operands: Vec<Places>,
    /// The loop variables that are carried, before the first iteration.
    initial: Vec<*const u8>,
    /// The results.
    slots: Vec<Slots>,
    lists: Vec<(usize, List)>,
    /// The counts and the small elements that are operands, of all iterations.
    _held: Vec<Tensor>,
}

// SAFETY: the type holds addresses only. Code that reads or writes through them is unsafe, and its contract says which rows it may touch.
unsafe impl Sync for Iterations {}

impl RowLoop {
    /// Runs the loop; `false` where its steps have to.
    ///
    /// # Errors
    /// What the host says when it is polled.
    ///
    /// # Safety
    /// The registers are there, and nobody else uses them.
    pub(in crate::plan) unsafe fn run(&self, regs: Regs, env: &dyn Env) -> Result<bool> {
        // SAFETY: the caller's promise; the borrows end before anything is written.
        let (ins, variables) = unsafe { (regs.list(&self.ins), regs.list(&self.variables)) };
        let Some(start) = self.starts(&variables) else { return Ok(false) };
        let Some(iterations) = self.prepare(&ins, &variables, &start) else { return Ok(false) };
        if !self.go(&iterations, env)? {
            return Ok(false);
        }
        let last = |c: &Carry| iterations.slots[c.out].tensor(iterations.count, variables[c.variable].dims());
        let Some(carried) = self.carries.iter().map(last).collect::<Option<Vec<Tensor>>>() else { return Ok(false) };
        let ends: SmallVec<[Tensor; 2]> = self
            .counters
            .iter()
            .zip(&start)
            .map(|(c, start)| {
                let end = start + c.by * iterations.count as i64;
                if variables[c.variable].dtype() == DType::I32 { Tensor::from(end as i32) } else { Tensor::from(end) }
            })
            .collect();
        for (c, value) in self.carries.iter().zip(&carried) {
            // SAFETY: the caller's promise; nothing borrows the register any more.
            let register = unsafe { regs.get_mut(self.variables[c.variable]) };
            // A copy: a result that outlives the run does not hold the memory of all iterations.
            let to = register.prepare(value.dtype(), value.dims())?;
            // SAFETY: `to` is that of a tensor of the same type, which nobody else holds.
            unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), to, value.byte_len()) };
        }
        let lists = iterations.lists.into_iter().map(|(k, list)| (k, Tensor::from_list(list)));
        for (k, value) in lists.chain(self.counters.iter().map(|c| c.variable).zip(ends)) {
            // SAFETY: the caller's promise.
            unsafe { *regs.get_mut(self.variables[k]) = value };
        }
        Ok(true)
    }

    /// What each counter starts at.
    fn starts(&self, variables: &[&Tensor]) -> Option<SmallVec<[i64; 2]>> {
        self.counters.iter().map(|c| variables[c.variable].to_ints().ok()?.first().copied()).collect()
    }

    /// How many iterations there are, if all that they count stays far from the ends of the types of integers.
    fn iterations(&self, ins: &[&Tensor], start: &[i64]) -> Option<usize> {
        let bound = match self.test.bound {
            Bound::Known(bound) => bound,
            Bound::In(i) => ins[i].to_ints().ok()?.first().copied()?,
        };
        let (counter, offset) = self.test.count;
        let (from, by) = (start[counter], self.counters[counter].by);
        if from.abs() >= MOST || bound.abs() >= MOST {
            return None;
        }
        let count = trip_count(from + offset, by, self.test.how, bound)?;
        let count = usize::try_from(count).ok().filter(|&n| n > 0)?;
        let fits = |(c, &start): (&Counter, &i64)| {
            let end = c.by.checked_mul(count as i64).and_then(|d| d.checked_add(start));
            start.abs() < MOST && end.is_some_and(|end| end.abs().max(start.abs()) + self.reach < MOST)
        };
        self.counters.iter().zip(start).all(fits).then_some(count)
    }

    /// Finds all operands, makes storage for the results, and the lists as they will be; `None` where something is amiss.
    fn prepare(&self, ins: &[&Tensor], variables: &[&Tensor], start: &[i64]) -> Option<Iterations> {
        // Threads that would have no rows can help with long products one by one.
        if self.pipeline.nanoseconds >= self.uneven_ns && self.pipeline.span.len() < ROWS * threads() {
            return None;
        }
        let count = self.iterations(ins, start)?;
        let first = |at: Count| start[at.0] + at.1;
        let (outs, due) = (&self.pipeline.types, &self.pipeline.due);
        for carry in &self.carries {
            let (given, (dtype, dims)) = (variables[carry.variable], &outs[carry.out]);
            if given.dtype() != *dtype || given.dims() != dims.as_slice() {
                return None;
            }
        }
        let slots: Vec<Slots> = (0..outs.len())
            .map(|o| Slots::new(self.storages[o], self.leads[o].is_some(), count, outs[o].0, &outs[o].1))
            .collect::<Option<_>>()?;
        for carry in self.leads.iter().flatten().map(|&c| &self.carries[c]) {
            let (value, slots) = (variables[carry.variable], &slots[carry.out]);
            // SAFETY: the slot has as many bytes, by the check above, and nobody else sees it.
            unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), slots.at(0), slots.bytes) };
        }
        let element = |read: &Read, iteration: usize| {
            let index = first(read.at) + self.counters[read.at.0].by * iteration as i64;
            let value = match read.from {
                From::Row { array, .. } => {
                    let (array, n) = (ins[array], *ins[array].dims().first()? as i64);
                    let index = if index < 0 { index + n } else { index };
                    array.rows(usize::try_from(index).ok()?, 1).ok()?.reshaped(&read.dims).ok()?
                }
                From::Element { list } => {
                    let list = match list {
                        Source::In(i) => ins[i],
                        Source::Variable(k) => variables[k],
                    };
                    list.list()?.get(usize::try_from(index).ok()?)?.clone()
                }
            };
            (value.dtype() == read.dtype && value.dims() == read.dims.as_slice()).then_some(value)
        };
        let mut held = Vec::new();
        let mut places: Vec<Option<Places>> = self.reads.iter().map(|_| None).collect();
        for (read, places) in self.reads.iter().zip(&mut places) {
            *places = Some(match read.from {
                From::Row { array, wraps } => {
                    let (array, by) = (ins[array], self.counters[read.at.0].by);
                    let (&n, inner) = array.dims().split_first()?;
                    let ends = [first(read.at), first(read.at) + by * (count as i64 - 1)];
                    // Indices that change their sign on the way are those of no array.
                    let below = wraps && ends.iter().all(|&i| i < 0);
                    let ends = ends.map(|i| if below { i + n as i64 } else { i });
                    let known = array.dtype() == read.dtype && inner == read.dims.as_slice();
                    if !known || ends.iter().any(|&i| i < 0 || i >= n as i64) {
                        return None;
                    }
                    let bytes = (array.byte_len() / n) as isize;
                    Places::Even {
                        first: array.as_ptr().wrapping_offset(ends[0] as isize * bytes),
                        step: by as isize * bytes,
                    }
                }
                From::Element { .. } => {
                    let mut all = (0..count).map(|iteration| element(read, iteration));
                    let bytes = read.dims.iter().product::<usize>() * read.dtype.size();
                    if bytes > INLINE_BYTES {
                        Places::Table(all.map(|t| Some(t?.as_ptr())).collect::<Option<_>>()?)
                    } else {
                        // Such lie in what holds them, wherever that is moved to.
                        let mut copies = Tensor::empty(DType::U8, &[(count * bytes).max(2 * INLINE_BYTES)]).ok()?;
                        let to = copies.bytes_mut();
                        all.try_fold(0, |at, t| {
                            to[at..at + bytes].copy_from_slice(t?.bytes());
                            Some(at + bytes)
                        })?;
                        let first = copies.as_ptr();
                        held.push(copies);
                        Places::Even { first, step: bytes as isize }
                    }
                }
            });
        }
        let mut lists = Vec::with_capacity(self.lists.len());
        for (k, act) in &self.lists {
            let mut list = variables[*k].list()?.clone();
            let kept = |value: &Kept, iteration: usize| match *value {
                Kept::Read(r) => element(&self.reads[r], iteration),
                Kept::Out(o) => slots[o].tensor(iteration + 1, &outs[o].1),
                Kept::Carry(c) => {
                    let Carry { variable, out } = self.carries[c];
                    match iteration == 0 && self.leads[out] != Some(c) {
                        true => Some(variables[variable].clone()),
                        false => slots[out].tensor(iteration, &outs[out].1),
                    }
                }
            };
            for iteration in 0..count {
                let index = |at: Count| usize::try_from(first(at) + self.counters[at.0].by * iteration as i64).ok();
                match act {
                    Act::Set { at, value, grow } => list.set(index(*at)?, kept(value, iteration)?, *grow).ok()?,
                    Act::Push { value } => list.push(kept(value, iteration)?).ok()?,
                    Act::Take { at } => drop(list.take(index(*at)?)?),
                }
            }
            lists.push((*k, list));
        }
        let operands = self
            .operands
            .iter()
            .zip(due)
            .map(|(operand, due)| match *operand {
                Operand::Count(at) => {
                    let by = self.counters[at.0].by;
                    // So many that they do not lie in what holds them, which moves.
                    let all = (0..count.max(INLINE_BYTES) as i64).map(|iteration| first(at) + by * iteration);
                    let all = match due.0 {
                        DType::I32 => Tensor::vector(&all.map(|i| i as i32).collect::<Vec<_>>()),
                        _ => Tensor::vector(&all.collect::<Vec<_>>()),
                    };
                    let step = due.0.size() as isize;
                    let first = all.as_ptr();
                    held.push(all);
                    Some(Places::Even { first, step })
                }
                Operand::Whole(i) => {
                    let fits = ins[i].dtype() == due.0 && ins[i].dims() == due.1.as_slice();
                    fits.then(|| Places::Even { first: ins[i].as_ptr(), step: 0 })
                }
                Operand::Read(r) => match places[r].as_ref()? {
                    Places::Even { first, step } => Some(Places::Even { first: *first, step: *step }),
                    Places::Table(all) => Some(Places::Table(all.clone())),
                },
            })
            .collect::<Option<_>>()?;
        let initial = self.carries.iter().map(|c| variables[c.variable].as_ptr()).collect();
        Some(Iterations { count, operands, initial, slots, lists, _held: held })
    }

    /// Makes all iterations, and polls the host on the way; `false` for an error.
    fn go(&self, iterations: &Iterations, env: &dyn Env) -> Result<bool> {
        let each = self.pipeline.nanoseconds.max(1);
        let all = each.saturating_mul(iterations.count as u64);
        let at_once = self.poll_ns * self.pipeline.threads_for(all) as u64 / each;
        let at_once = usize::try_from(at_once).unwrap_or(usize::MAX).max(1);
        for first in (0..iterations.count).step_by(at_once) {
            if first > 0 {
                env.poll()?;
            }
            let some = first..iterations.count.min(first.saturating_add(at_once));
            // SAFETY: operands and results are of the types that the step was made for. What is carried lies in another slot than what
            // is written.
            if !unsafe { self.pipeline.iterate(some, &|iteration| self.memory(iterations, iteration), all) } {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where an iteration finds what it reads, and what is carried to it, and where it writes.
    fn memory(&self, iterations: &Iterations, iteration: usize) -> Memory {
        let carried = self.carries.iter().zip(&iterations.initial).map(|(c, initial)| match iteration {
            0 => initial.cast_mut(),
            _ => iterations.slots[c.out].at(iteration),
        });
        Memory {
            ins: iterations.operands.iter().map(|places| places.at(iteration)).collect(),
            given: carried.collect(),
            outs: iterations.slots.iter().map(|slots| slots.at(iteration + 1)).collect(),
        }
    }
}
