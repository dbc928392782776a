//! The tape: records what is computed while it is computed, and differentiates it afterwards.

use std::sync::Arc;

use penstock_data::{DType, Error, Loc, Result, Tensor, memory};
use penstock_ir::{Attrs, Emitter, Entity, OpDef, Type, Value};
use penstock_ops::{array, gather, state};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use crate::jvp::jvp;
use crate::reverse::{Grads, Pass, Path, Step};
use crate::rules;

/// A value of the tape's user: an eager tensor, a value of a graph under construction, a variable.
pub trait Handle: Clone {
    /// The identity of the value: equal for clones of one handle, never used for another value.
    fn id(&self) -> u64;

    /// The dtype of the value.
    fn dtype(&self) -> DType;
}

/// How a tape's user executes what rules emit.
///
/// Other tapes that are active record it as anything else, which is how higher derivatives come about.
pub trait Dispatcher<H> {
    /// Executes an operator with complete attributes.
    ///
    /// # Errors
    /// Whatever execution reports.
    fn execute(&mut self, op: &'static OpDef, inputs: &[H], attrs: Attrs) -> Result<SmallVec<[H; 1]>>;

    /// A constant.
    ///
    /// # Errors
    /// Whatever the user reports.
    fn constant(&mut self, value: Tensor) -> Result<H>;

    /// The type of a value, as exact as it is known.
    fn type_of(&self, value: &H) -> Type;

    /// The value, where it is at hand.
    fn known(&self, value: &H) -> Option<Tensor>;

    /// What follows is the gradient of the operation with these results; with none, the seed of all gradients.
    fn differentiates(&mut self, _outputs: &[H]) {}
}

/// A derivative that is not an operator's rule.
///
/// It gets the cotangent of each output (`None` where none flows; at least one is there) and whether
/// each input's cotangent is of use, and gives a cotangent for each input.
pub type CustomVjp<H> =
    Box<dyn Fn(&mut dyn Dispatcher<H>, &[Option<H>], &[bool]) -> Result<Vec<Option<H>>> + Send + Sync>;

/// A derivative as [`CustomVjp`], which may give cotangents as rows.
pub type RowsVjp<H> =
    Box<dyn Fn(&mut dyn Dispatcher<H>, &[Option<H>], &[bool]) -> Result<Vec<Option<Grad<H>>>> + Send + Sync>;

/// A cotangent as a tape gives it.
#[derive(Clone)]
pub enum Grad<H> {
    /// A value of the dtype and shape of what it is the cotangent of.
    Dense(H),
    /// Rows of it; those that are not named are zero.
    Rows(Box<Rows<H>>),
}

/// What reading rows gives for a cotangent: the sum of what each piece adds to the rows that it names.
#[derive(Clone)]
pub struct Rows<H> {
    /// What it is the cotangent of.
    pub like: H,
    /// Values of shape `indices.shape + like.shape[1..]`, with their indices.
    pub pieces: Vec<(H, H)>,
}

/// Records operations on watched values.
pub struct Tape<H> {
    persistent: bool,
    watch_accessed_variables: bool,
    /// Whether operations are recorded, or only what is watched is noted.
    records: bool,
    used: bool,
    watched: FxHashSet<u64>,
    /// What was asked to be watched, in order.
    roots: Vec<H>,
    entries: Vec<Arc<Entry<H>>>,
}

/// The identities of values; `None` for those that carry no cotangent.
type Keys<const N: usize> = SmallVec<[Option<u64>; N]>;

struct Entry<H> {
    inputs: Keys<3>,
    outputs: Keys<1>,
    action: Action<H>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly every entry is a rule: a box would cost each of them an allocation"
)]
enum Action<H> {
    Rule { op: &'static OpDef, attrs: Attrs, inputs: SmallVec<[H; 3]>, outputs: SmallVec<[H; 1]>, loc: Loc },
    Custom(RowsVjp<H>),
}

fn key<H: Handle>(handle: &H) -> Option<u64> {
    handle.dtype().carries_cotangents().then(|| handle.id())
}

impl<H: Handle + 'static> Tape<H> {
    /// An empty tape. A `persistent` one may be differentiated any number of times.
    pub fn new(persistent: bool, watch_accessed_variables: bool) -> Tape<H> {
        Tape {
            persistent,
            watch_accessed_variables,
            records: true,
            used: false,
            watched: FxHashSet::default(),
            roots: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// A tape that notes which variables are read, and records nothing.
    pub fn observer() -> Tape<H> {
        Tape { records: false, ..Tape::new(false, true) }
    }

    /// Whether it may be differentiated more than once.
    pub fn is_persistent(&self) -> bool {
        self.persistent
    }

    /// Whether reading a trainable variable is meant to watch it; the tape's user acts on it.
    pub fn watches_accessed_variables(&self) -> bool {
        self.watch_accessed_variables
    }

    /// Records what is computed from this value from now on. Nothing where its dtype carries no cotangent.
    ///
    /// # Errors
    /// `ResourceExhausted` where there is no memory to note it.
    pub fn watch(&mut self, value: &H) -> Result<()> {
        memory::reserve(&mut self.watched, 1)?;
        memory::reserve(&mut self.roots, 1)?;
        if let Some(id) = key(value)
            && self.watched.insert(id)
        {
            self.roots.push(value.clone());
        }
        Ok(())
    }

    /// The values that were asked to be watched, in order.
    pub fn roots(&self) -> &[H] {
        &self.roots
    }

    /// Whether the value is watched or computed from one that is.
    pub fn is_watched(&self, id: u64) -> bool {
        self.watched.contains(&id)
    }

    /// Whether an operation on these values would be recorded.
    pub fn records(&self, inputs: &[H]) -> bool {
        self.records && !self.watched.is_empty() && inputs.iter().any(|h| self.watched.contains(&h.id()))
    }

    /// Records an instruction, unless no input is watched or its derivative is zero.
    ///
    /// `read_variable` takes the variable's own handle as input. An instruction with regions or a
    /// callee is recorded by [`Tape::record_custom`].
    ///
    /// # Errors
    /// `ResourceExhausted` where there is no memory for the record.
    pub fn record(&mut self, op: &'static OpDef, attrs: &Attrs, inputs: &[H], outputs: &[H], loc: Loc) -> Result<()> {
        if rules::takes_part(op) && self.records(inputs) {
            let action = Action::Rule { op, attrs: attrs.clone(), inputs: inputs.into(), outputs: outputs.into(), loc };
            self.push(inputs, outputs, action)?;
        }
        Ok(())
    }

    /// Records an operation with a derivative of its own, unless no input is watched: a custom
    /// gradient, host code, the call of a traced function.
    ///
    /// # Errors
    /// As [`Tape::record`].
    pub fn record_custom(&mut self, inputs: &[H], outputs: &[H], vjp: CustomVjp<H>) -> Result<()> {
        let dense = move |dispatcher: &mut dyn Dispatcher<H>, grads: &[Option<H>], needed: &[bool]| {
            Ok(vjp(dispatcher, grads, needed)?.into_iter().map(|grad| grad.map(Grad::Dense)).collect())
        };
        self.record_rows(inputs, outputs, Box::new(dense))
    }

    /// As [`Tape::record_custom`], with cotangents that may be rows.
    ///
    /// # Errors
    /// As [`Tape::record`].
    pub fn record_rows(&mut self, inputs: &[H], outputs: &[H], vjp: RowsVjp<H>) -> Result<()> {
        if self.records(inputs) { self.push(inputs, outputs, Action::Custom(vjp)) } else { Ok(()) }
    }

    fn push(&mut self, inputs: &[H], outputs: &[H], action: Action<H>) -> Result<()> {
        let outputs: Keys<1> = outputs.iter().map(key).collect();
        if outputs.iter().any(Option::is_some) {
            memory::reserve(&mut self.watched, outputs.len())?;
            memory::reserve(&mut self.entries, 1)?;
            self.watched.extend(outputs.iter().copied().flatten());
            self.entries.push(Arc::new(Entry { inputs: inputs.iter().map(key).collect(), outputs, action }));
        }
        Ok(())
    }

    /// Forgets all records and watches.
    pub fn reset(&mut self) {
        *self = Tape::new(self.persistent, self.watch_accessed_variables);
    }

    /// Takes from the tape what carries cotangents from `targets` to `sources`.
    ///
    /// The result does not borrow the tape: what runs in it may record on this tape. A tape that is
    /// not persistent is empty afterwards.
    ///
    /// # Errors
    /// `FailedPrecondition` for the second time on a tape that is not persistent; `ResourceExhausted` where there is no memory
    /// for the path between them.
    pub fn backward(&mut self, targets: &[H], sources: &[H]) -> Result<Backward<H>> {
        if self.used {
            return Err(Error::precondition(
                "a tape that is not persistent gives only one set of gradients; make it with persistent=True",
            ));
        }
        // A source that carries no cotangent keeps its place and gets none.
        let places: Vec<Option<u64>> = sources.iter().map(key).collect();
        let distinct: Vec<u64> = places.iter().flatten().copied().filter(|&id| self.is_watched(id)).collect();
        let keys: Vec<u64> = targets.iter().filter_map(key).collect();
        let path = if self.persistent {
            Path::new(self.entries.iter().cloned(), &keys, &distinct)?
        } else {
            self.used = true;
            self.watched.clear();
            Path::new(std::mem::take(&mut self.entries).into_iter(), &keys, &distinct)?
        };
        Ok(Backward { path, targets: targets.to_vec(), places, sources: distinct })
    }

    /// The cotangent of each source, as [`Tape::backward`] followed by [`Backward::run`].
    ///
    /// # Errors
    /// As those.
    pub fn gradient(
        &mut self,
        targets: &[H],
        target_grads: &[Option<H>],
        sources: &[H],
        dispatcher: &mut dyn Dispatcher<H>,
    ) -> Result<Vec<Option<H>>> {
        self.backward(targets, sources)?.run(target_grads, dispatcher)
    }
}

/// The part of a tape between targets and sources.
pub struct Backward<H: Handle> {
    path: Path<Arc<Entry<H>>>,
    targets: Vec<H>,
    /// The identity of each source as the caller listed them.
    places: Vec<Option<u64>>,
    /// Those that are watched.
    sources: Vec<u64>,
}

impl<H: Handle> Backward<H> {
    /// The cotangent of each source; `None` where no target depends on it.
    ///
    /// `target_grads` holds the cotangent of each target, ones where it is `None`, and may be empty
    /// where all are. A target that does not depend on a source, or carries no cotangent, counts for nothing.
    ///
    /// # Errors
    /// `InvalidArgument` for the wrong number of target cotangents, `NotFound` where a cotangent is
    /// due through an operator without gradient, and whatever execution reports.
    pub fn run(self, target_grads: &[Option<H>], dispatcher: &mut dyn Dispatcher<H>) -> Result<Vec<Option<H>>> {
        let grads = self.run_rows(target_grads, dispatcher)?;
        let mut frame = Frame { values: Vec::new(), dispatcher };
        grads.into_iter().map(|grad| grad.map(|grad| frame.dense(grad)).transpose()).collect()
    }

    /// As [`Backward::run`]; the cotangent of what is only read by rows is given as rows.
    ///
    /// # Errors
    /// As [`Backward::run`].
    pub fn run_rows(
        self,
        target_grads: &[Option<H>],
        dispatcher: &mut dyn Dispatcher<H>,
    ) -> Result<Vec<Option<Grad<H>>>> {
        if !target_grads.is_empty() && target_grads.len() != self.targets.len() {
            return Err(Error::invalid(format!(
                "{} target gradients for {} targets",
                target_grads.len(),
                self.targets.len()
            )));
        }
        dispatcher.differentiates(&[]);
        let mut frame = Frame { values: Vec::new(), dispatcher };
        let mut seeds = Vec::new();
        for (i, target) in self.targets.iter().enumerate() {
            let Some(id) = key(target).filter(|&id| self.path.reaches(id)) else { continue };
            let grad = match target_grads.get(i).cloned().flatten() {
                Some(grad) => grad,
                None => {
                    let like = frame.enter(target);
                    let ones = rules::ones(&mut frame, like)?;
                    frame.leave(ones)
                }
            };
            seeds.push((id, Grad::Dense(grad)));
        }
        let grads = self.path.run(&mut frame, seeds)?;
        let find = |id: u64| grads[self.sources.iter().position(|&s| s == id)?].clone();
        Ok(self.places.iter().map(|place| place.and_then(find)).collect())
    }
}

impl<H> Step for Arc<Entry<H>> {
    type Key = u64;
    fn inputs(&self) -> impl Iterator<Item = Option<u64>> {
        self.inputs.iter().copied()
    }
    fn outputs(&self) -> impl Iterator<Item = Option<u64>> {
        self.outputs.iter().copied()
    }
}

/// The values that one rule works with, numbered for it. They are let go of when the rule is done,
/// so that a cotangent lives no longer than it is needed.
struct Frame<'a, H> {
    values: Vec<H>,
    dispatcher: &'a mut dyn Dispatcher<H>,
}

impl<H: Handle> Frame<'_, H> {
    fn enter(&mut self, handle: &H) -> Value {
        self.values.push(handle.clone());
        Value::new(self.values.len() - 1)
    }

    fn leave(&mut self, value: Value) -> H {
        let handle = self.values[value.index()].clone();
        self.values.clear();
        handle
    }

    fn rule(
        &mut self,
        op: &'static OpDef,
        attrs: &Attrs,
        inputs: &[H],
        outputs: &[H],
        grads: &[Option<H>],
        needed: &[bool],
    ) -> Result<Grads<H>> {
        let inputs: SmallVec<[Value; 3]> = inputs.iter().map(|h| self.enter(h)).collect();
        let outputs: SmallVec<[Value; 1]> = outputs.iter().map(|h| self.enter(h)).collect();
        let grads: SmallVec<[Option<Value>; 1]> = grads.iter().map(|h| h.as_ref().map(|h| self.enter(h))).collect();
        let cotangents = rules::apply(self, op, attrs, &inputs, &outputs, &grads, needed)?;
        Ok(cotangents.iter().map(|v| v.map(|v| self.values[v.index()].clone())).collect())
    }
}

impl<H: Handle> Frame<'_, H> {
    /// A cotangent in full.
    fn dense(&mut self, grad: Grad<H>) -> Result<H> {
        let rows = match grad {
            Grad::Dense(value) => return Ok(value),
            Grad::Rows(rows) => rows,
        };
        let like = self.enter(&rows.like);
        let shape = rules::shape(self, like);
        let sum = shape.and_then(|shape| {
            let mut sum: Option<Value> = None;
            for (values, indices) in &rows.pieces {
                let (values, indices) = (self.enter(values), self.enter(indices));
                let emit: &mut dyn Emitter = self;
                let piece = emit.emit(&gather::GATHER_GRAD, &[shape, indices, values], &[])?;
                sum = Some(sum.map_or(Ok(piece), |sum| rules::add(self, sum, piece))?);
            }
            sum.map_or_else(|| rules::zeros(self, like), Ok)
        });
        let out = sum.map(|v| self.values[v.index()].clone());
        self.values.clear();
        out
    }

    /// The cotangents of an operation that keeps rows as they are, or that reads rows.
    fn rows(
        op: &OpDef,
        attrs: &Attrs,
        inputs: &[H],
        grads: &Grads<Grad<H>>,
        needed: &[bool],
    ) -> Option<Grads<Grad<H>>> {
        if op.is(&state::READ_VARIABLE) || op.is(&array::IDENTITY) {
            return Some(grads.clone());
        }
        // `axis`, `batch_dims`, `drop_negative` and `sparse_gradient`: it reads along the first dimension.
        let by_rows =
            op.is(&gather::GATHER) && attrs.int(0) == 0 && attrs.int(1) == 0 && !attrs.flag(2) && attrs.flag(3);
        match &grads[..] {
            [Some(Grad::Dense(values))] if by_rows && needed[0] => {
                let rows = Rows { like: inputs[0].clone(), pieces: vec![(values.clone(), inputs[1].clone())] };
                Some(smallvec![Some(Grad::Rows(Box::new(rows))), None])
            }
            _ => None,
        }
    }
}

impl<H: Handle> Pass<Arc<Entry<H>>> for Frame<'_, H> {
    type Grad = Grad<H>;

    fn differentiate(
        &mut self,
        entry: &Arc<Entry<H>>,
        grads: Grads<Grad<H>>,
        needed: &[bool],
    ) -> Result<Grads<Grad<H>>> {
        if let Action::Rule { op, attrs, inputs, .. } = &entry.action
            && let Some(found) = Self::rows(op, attrs, inputs, &grads, needed)
        {
            return Ok(found);
        }
        let grads: Grads<H> = grads.into_iter().map(|g| g.map(|g| self.dense(g)).transpose()).collect::<Result<_>>()?;
        match &entry.action {
            Action::Rule { op, attrs, inputs, outputs, loc } => {
                self.dispatcher.differentiates(outputs);
                let result = self.rule(op, attrs, inputs, outputs, &grads, needed);
                self.values.clear();
                let found = result.map_err(|e| e.at(*loc))?;
                Ok(found.into_iter().map(|g| g.map(Grad::Dense)).collect())
            }
            Action::Custom(vjp) => {
                let found = vjp(self.dispatcher, &grads, needed)?;
                if found.len() != needed.len() {
                    return Err(Error::invalid(format!(
                        "a custom gradient gave {} gradients for {} inputs",
                        found.len(),
                        needed.len()
                    )));
                }
                Ok(Grads::from_vec(found))
            }
        }
    }

    fn add(&mut self, a: &Grad<H>, b: &Grad<H>) -> Result<Grad<H>> {
        if let (Grad::Rows(a), Grad::Rows(b)) = (a, b) {
            let pieces = a.pieces.iter().chain(&b.pieces).cloned().collect();
            return Ok(Grad::Rows(Box::new(Rows { like: a.like.clone(), pieces })));
        }
        let (a, b) = (self.dense(a.clone())?, self.dense(b.clone())?);
        let (a, b) = (self.enter(&a), self.enter(&b));
        let sum = rules::add(self, a, b);
        sum.map(|v| Grad::Dense(self.leave(v)))
    }
}

/// The tangents of an operation's outputs from those of its inputs; `None` where there is none.
///
/// `tangents` holds, for each input, its tangent. What the rule takes is executed by the dispatcher.
///
/// # Errors
/// `NotFound` for an operator without derivative, and whatever execution reports.
pub fn tangents_of<H: Handle>(
    dispatcher: &mut dyn Dispatcher<H>,
    op: &'static OpDef,
    attrs: &Attrs,
    inputs: &[H],
    outputs: &[H],
    tangents: &[Option<H>],
) -> Result<Vec<Option<H>>> {
    let mut frame = Frame { values: Vec::new(), dispatcher };
    let inputs: SmallVec<[Value; 3]> = inputs.iter().map(|h| frame.enter(h)).collect();
    let outputs: SmallVec<[Value; 1]> = outputs.iter().map(|h| frame.enter(h)).collect();
    let tangents: SmallVec<[Option<Value>; 3]> = tangents.iter().map(|h| h.as_ref().map(|h| frame.enter(h))).collect();
    let found = jvp(&mut frame, op, attrs, &inputs, &outputs, &tangents)?;
    Ok(found.iter().map(|v| v.map(|v| frame.values[v.index()].clone())).collect())
}

impl<H: Handle> Emitter for Frame<'_, H> {
    fn emit_attrs(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<SmallVec<[Value; 1]>> {
        let inputs: SmallVec<[H; 3]> = operands.iter().map(|v| self.values[v.index()].clone()).collect();
        let outputs = self.dispatcher.execute(op, &inputs, attrs)?;
        Ok(outputs.iter().map(|h| self.enter(h)).collect())
    }

    fn constant(&mut self, value: Tensor) -> Result<Value> {
        let handle = self.dispatcher.constant(value)?;
        Ok(self.enter(&handle))
    }

    fn type_of(&self, value: Value) -> Type {
        self.dispatcher.type_of(&self.values[value.index()])
    }

    fn known(&self, value: Value) -> Option<Tensor> {
        self.dispatcher.known(&self.values[value.index()])
    }
}
