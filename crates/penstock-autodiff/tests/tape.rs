//! Tapes over eager tensors.

use std::cell::RefCell;
use std::rc::Rc;
use std::slice::from_ref;
use std::sync::atomic::{AtomicU64, Ordering};

use penstock_autodiff::{CustomVjp, Dispatcher, Handle, Tape};
use penstock_data::{Class, DType, Loc, Result, Tensor};
use penstock_exec::{StdEnv, eager};
use penstock_ir::{Attr, Attrs, OpDef, OpSet, Type};
use penstock_ops::Ops;
use smallvec::SmallVec;

#[derive(Clone)]
struct Eager {
    id: u64,
    tensor: Tensor,
}

impl Handle for Eager {
    fn id(&self) -> u64 {
        self.id
    }
    fn dtype(&self) -> DType {
        self.tensor.dtype()
    }
}

fn value(tensor: Tensor) -> Eager {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Eager { id: NEXT.fetch_add(1, Ordering::Relaxed), tensor }
}

fn number(v: f64) -> Eager {
    value(Tensor::scalar(v))
}

type Shared = Rc<RefCell<Tape<Eager>>>;

/// Executes, and records on the tapes that are active.
#[derive(Default)]
struct Runner {
    tapes: Vec<Shared>,
}

impl Runner {
    fn start(&mut self, persistent: bool) -> Shared {
        let tape = Rc::new(RefCell::new(Tape::new(persistent, true)));
        self.tapes.push(tape.clone());
        tape
    }

    fn op(&mut self, name: &str, inputs: &[&Eager]) -> Eager {
        self.with(name, inputs, &[])
    }

    fn with(&mut self, name: &str, inputs: &[&Eager], attrs: &[(&str, Attr)]) -> Eager {
        let op = Ops.find(name).unwrap();
        let inputs: Vec<Eager> = inputs.iter().copied().cloned().collect();
        self.execute(op, &inputs, op.attributes(attrs).unwrap()).unwrap()[0].clone()
    }
}

impl Dispatcher<Eager> for Runner {
    fn execute(&mut self, op: &'static OpDef, inputs: &[Eager], attrs: Attrs) -> Result<SmallVec<[Eager; 1]>> {
        let tensors: Vec<&Tensor> = inputs.iter().map(|h| &h.tensor).collect();
        let outputs: SmallVec<[Eager; 1]> =
            eager(op, &tensors, &attrs, &StdEnv::new(0))?.into_iter().map(value).collect();
        for tape in &self.tapes {
            tape.borrow_mut().record(op, &attrs, inputs, &outputs, Loc::UNKNOWN).unwrap();
        }
        Ok(outputs)
    }

    fn constant(&mut self, tensor: Tensor) -> Result<Eager> {
        Ok(value(tensor))
    }

    fn type_of(&self, value: &Eager) -> Type {
        Type::of(&value.tensor)
    }

    fn known(&self, value: &Eager) -> Option<Tensor> {
        Some(value.tensor.clone())
    }
}

fn item(h: &Option<Eager>) -> f64 {
    h.as_ref().unwrap().tensor.item::<f64>().unwrap()
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} against {b}");
}

/// One gradient, with the tape no longer active.
fn gradient(r: &mut Runner, tape: &Shared, target: &Eager, source: &Eager) -> Option<Eager> {
    r.tapes.retain(|t| !Rc::ptr_eq(t, tape));
    let backward = tape.borrow_mut().backward(from_ref(target), from_ref(source)).unwrap();
    backward.run(&[], r).unwrap().pop().unwrap()
}

#[test]
fn the_gradient_of_a_cube() {
    let (mut r, x) = (Runner::default(), number(3.0));
    let tape = r.start(false);
    tape.borrow_mut().watch(&x).unwrap();
    let xx = r.op("mul", &[&x, &x]);
    let y = r.op("mul", &[&xx, &x]);
    close(item(&gradient(&mut r, &tape, &y, &x)), 27.0);
    let again = tape.borrow_mut().backward(&[y], &[x]).err().unwrap();
    assert_eq!(again.class(), Class::FailedPrecondition);
}

#[test]
fn derivatives_of_every_order_by_tapes_inside_tapes() {
    let (mut r, x) = (Runner::default(), number(0.7));
    let tapes: Vec<Shared> = (0..4).map(|_| r.start(false)).collect();
    for tape in &tapes {
        tape.borrow_mut().watch(&x).unwrap();
    }
    let mut y = r.op("sin", &[&x]);
    for (tape, due) in tapes.iter().rev().zip([0.7f64.cos(), -(0.7f64.sin()), -(0.7f64.cos()), 0.7f64.sin()]) {
        y = gradient(&mut r, tape, &y, &x).unwrap();
        close(y.tensor.item::<f64>().unwrap(), due);
    }
}

#[test]
fn only_watched_values_are_recorded_and_only_float_ones_watched() {
    let (mut r, x, c, n) = (Runner::default(), number(0.5), number(2.0), value(Tensor::scalar(3i32)));
    let tape = r.start(true);
    tape.borrow_mut().watch(&x).unwrap();
    tape.borrow_mut().watch(&n).unwrap();
    let constant = r.op("mul", &[&c, &c]);
    let y = r.op("mul", &[&x, &constant]);
    let i = r.with("cast", &[&y], &[("dtype", DType::I32.into())]);
    let k = r.op("mul", &[&i, &n]);
    let watched = |h: &Eager| tape.borrow().is_watched(h.id);
    assert_eq!([&x, &n, &c, &constant, &y, &i, &k].map(watched), [true, false, false, false, true, false, false]);
    r.tapes.clear();
    let grads = tape.borrow_mut().gradient(&[y.clone(), k], &[], &[x, c, n, y], &mut r).unwrap();
    assert_eq!(grads.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false, true]);
    close(item(&grads[0]), 4.0);
    close(item(&grads[3]), 1.0);
}

#[test]
fn persistent_tapes_repeated_targets_and_given_cotangents() {
    let (mut r, x) = (Runner::default(), number(1.5));
    let tape = r.start(true);
    tape.borrow_mut().watch(&x).unwrap();
    let y = r.op("mul", &[&x, &x]);
    let z = r.op("mul", &[&y, &x]);
    r.tapes.clear();
    let mut grads = |targets: &[&Eager], seeds: &[Option<Eager>], source: &Eager| {
        let targets: Vec<Eager> = targets.iter().copied().cloned().collect();
        item(&tape.borrow_mut().gradient(&targets, seeds, from_ref(source), &mut r).unwrap()[0])
    };
    close(grads(&[&y], &[], &x), 3.0);
    close(grads(&[&z], &[], &x), 3.0 * 2.25);
    close(grads(&[&z], &[], &y), 1.5);
    close(grads(&[&y, &y, &z], &[], &x), 6.0 + 6.75);
    close(grads(&[&y, &z], &[Some(number(10.0)), None], &x), 36.75);
    close(grads(&[&x], &[], &x), 1.0);
}

#[test]
fn a_custom_derivative_replaces_the_rule_and_can_be_differentiated() {
    let (mut r, x) = (Runner::default(), number(2.0));
    let (outer, inner) = (r.start(false), r.start(false));
    outer.borrow_mut().watch(&x).unwrap();
    inner.borrow_mut().watch(&x).unwrap();
    let active = std::mem::take(&mut r.tapes);
    let y = r.op("mul", &[&x, &x]);
    r.tapes = active;
    let mul = Ops.find("mul").unwrap();
    for tape in &r.tapes {
        let kept = x.clone();
        let vjp: CustomVjp<Eager> = Box::new(move |d, grads, needed| {
            assert_eq!((grads.len(), needed), (1, &[true][..]));
            let square = d.execute(mul, &[kept.clone(), kept.clone()], Attrs::EMPTY)?[0].clone();
            let grad = grads[0].clone().unwrap();
            Ok(vec![Some(d.execute(mul, &[square, grad], Attrs::EMPTY)?[0].clone())])
        });
        tape.borrow_mut().record_custom(from_ref(&x), from_ref(&y), vjp).unwrap();
    }
    let first = gradient(&mut r, &inner, &y, &x).unwrap();
    close(first.tensor.item::<f64>().unwrap(), 4.0);
    close(item(&gradient(&mut r, &outer, &first, &x)), 4.0);
}

#[test]
fn a_value_without_gradient_is_an_error_only_where_a_cotangent_is_due() {
    let Some(op) = penstock_ops::all().find(|op| {
        matches!(op.vjp, penstock_ir::Vjp::NonDifferentiable(_))
            && op.operands.len() == 1
            && (op.samples)().iter().any(|s| s.inputs[0].dtype() == DType::F64)
    }) else {
        return;
    };
    let (mut r, x) = (Runner::default(), number(1.0));
    let tape = r.start(true);
    tape.borrow_mut().watch(&x).unwrap();
    let y = number(1.0);
    tape.borrow_mut().record(op, &Attrs::EMPTY, from_ref(&x), from_ref(&y), Loc::UNKNOWN).unwrap();
    let z = r.op("mul", &[&x, &x]);
    r.tapes.clear();
    assert!(tape.borrow_mut().gradient(&[z], &[], from_ref(&x), &mut r).unwrap()[0].is_some());
    let error = tape.borrow_mut().gradient(&[y], &[], &[x], &mut r).err().unwrap();
    assert_eq!((error.class(), error.op()), (Class::NotFound, Some(op.name)));
}

#[test]
fn a_long_chain_is_walked_without_recursion() {
    let (mut r, x) = (Runner::default(), number(1.0));
    let tape = r.start(false);
    tape.borrow_mut().watch(&x).unwrap();
    let one = number(1.0);
    let mut y = x.clone();
    for _ in 0..100_000 {
        y = r.op("mul", &[&y, &one]);
    }
    close(item(&gradient(&mut r, &tape, &y, &x)), 1.0);
}
