//! The reverse pass over a straight-line program, whatever its values and instructions are.
//!
//! Two sweeps pick the steps that lie between sources and targets; a third goes over them backward
//! and hands each the cotangents of its outputs. All three are loops, linear in the program.

use std::collections::hash_map::Entry;
use std::hash::Hash;

use penstock_data::{Error, Result, memory};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// A cotangent for each input of a step.
pub(crate) type Grads<G> = SmallVec<[Option<G>; 2]>;

/// Room is made at once for at most this many values: few cotangents are alive at a time.
const MOST_RESERVED: usize = 64;

/// One step of a program.
pub(crate) trait Step {
    /// What identifies a value.
    type Key: Copy + Eq + Hash;
    /// Each input; `None` for one that carries no cotangent.
    fn inputs(&self) -> impl Iterator<Item = Option<Self::Key>>;
    /// Each output; `None` for one that carries no cotangent.
    fn outputs(&self) -> impl Iterator<Item = Option<Self::Key>>;
}

/// The steps between sources and targets.
pub(crate) struct Path<S: Step> {
    /// In program order, each with which of its inputs depend on a source.
    steps: Vec<(S, SmallVec<[bool; 4]>)>,
    sources: Vec<S::Key>,
    /// The values that depend on a source.
    live: FxHashSet<S::Key>,
    /// The targets, and the values on which a target depends along these steps.
    wanted: FxHashSet<S::Key>,
}

impl<S: Step> Path<S> {
    /// Picks from `steps`, in program order, those that carry a cotangent from a target to a source.
    ///
    /// # Errors
    /// `ResourceExhausted` where there is no memory for them.
    pub(crate) fn new(steps: impl Iterator<Item = S>, targets: &[S::Key], sources: &[S::Key]) -> Result<Path<S>> {
        let count = steps.size_hint().1.unwrap_or(0).min(MOST_RESERVED);
        let mut live: FxHashSet<S::Key> = FxHashSet::default();
        memory::reserve(&mut live, sources.len() + count)?;
        live.extend(sources);
        let mut picked: Vec<(S, SmallVec<[bool; 4]>)> = memory::with_room(count)?;
        for step in steps {
            let needed: SmallVec<[bool; 4]> = step.inputs().map(|key| key.is_some_and(|k| live.contains(&k))).collect();
            if needed.contains(&true) {
                for key in step.outputs().flatten() {
                    insert(&mut live, key)?;
                }
                memory::push(&mut picked, (step, needed))?;
            }
        }
        let mut wanted: FxHashSet<S::Key> = FxHashSet::default();
        memory::reserve(&mut wanted, targets.len() + picked.len())?;
        wanted.extend(targets);
        let mut kept: Vec<_> = memory::with_room(picked.len())?;
        while let Some((step, needed)) = picked.pop() {
            if step.outputs().flatten().any(|k| wanted.contains(&k)) {
                for (key, _) in step.inputs().zip(&needed).filter(|(_, n)| **n) {
                    key.map_or(Ok(()), |key| insert(&mut wanted, key))?;
                }
                kept.push((step, needed));
            }
        }
        kept.reverse();
        Ok(Path { steps: kept, sources: sources.to_vec(), live, wanted })
    }

    /// Whether a value depends on a source: only then is its cotangent of use.
    pub(crate) fn reaches(&self, key: S::Key) -> bool {
        self.live.contains(&key)
    }

    /// Whether a target is, or depends on, this value, which depends on a source.
    pub(crate) fn wants(&self, key: S::Key) -> bool {
        self.wanted.contains(&key)
    }

    /// Carries the cotangents `seeds` back to the sources. Each step is dropped once it is done.
    ///
    /// Where several cotangents reach a value they are summed in the order in which they arrive,
    /// which is that of the seeds and then of the steps from last to first.
    pub(crate) fn run<P: Pass<S>>(
        mut self,
        pass: &mut P,
        seeds: impl IntoIterator<Item = (S::Key, P::Grad)>,
    ) -> Result<Vec<Option<P::Grad>>> {
        let mut cotangents: FxHashMap<S::Key, P::Grad> =
            FxHashMap::with_capacity_and_hasher(self.steps.len().min(MOST_RESERVED) + 2, FxBuildHasher);
        for (key, grad) in seeds {
            accumulate(pass, &mut cotangents, key, grad)?;
        }
        let sources: FxHashSet<S::Key> = self.sources.iter().copied().collect();
        while let Some((step, needed)) = self.steps.pop() {
            let grads: Grads<P::Grad> = step
                .outputs()
                .map(|key| {
                    let key = key?;
                    if sources.contains(&key) { cotangents.get(&key).cloned() } else { cotangents.remove(&key) }
                })
                .collect();
            if grads.iter().all(Option::is_none) {
                continue;
            }
            let inputs = pass.differentiate(&step, grads, &needed)?;
            if inputs.len() != needed.len() {
                return Err(Error::internal(format!("{} cotangents for {} operands", inputs.len(), needed.len())));
            }
            for ((grad, key), &needed) in inputs.into_iter().zip(step.inputs()).zip(&needed) {
                if let (Some(grad), Some(key), true) = (grad, key, needed) {
                    accumulate(pass, &mut cotangents, key, grad)?;
                }
            }
        }
        Ok(self.sources.iter().map(|key| cotangents.get(key).cloned()).collect())
    }
}

fn insert<K: Eq + Hash>(set: &mut FxHashSet<K>, key: K) -> Result<()> {
    memory::reserve(set, 1)?;
    set.insert(key);
    Ok(())
}

fn accumulate<S: Step, P: Pass<S>>(
    pass: &mut P,
    cotangents: &mut FxHashMap<S::Key, P::Grad>,
    key: S::Key,
    grad: P::Grad,
) -> Result<()> {
    match cotangents.entry(key) {
        Entry::Vacant(slot) => {
            slot.insert(grad);
        }
        Entry::Occupied(mut slot) => {
            let sum = pass.add(slot.get(), &grad)?;
            slot.insert(sum);
        }
    }
    Ok(())
}

/// What a reverse pass does with each step.
pub(crate) trait Pass<S: Step> {
    /// A cotangent.
    type Grad: Clone;

    /// The cotangents of a step's inputs from those of its outputs, at least one of which is there.
    /// Those that are not `needed` are ignored.
    fn differentiate(&mut self, step: &S, grads: Grads<Self::Grad>, needed: &[bool]) -> Result<Grads<Self::Grad>>;

    /// The sum of two cotangents of one value.
    fn add(&mut self, a: &Self::Grad, b: &Self::Grad) -> Result<Self::Grad>;
}
