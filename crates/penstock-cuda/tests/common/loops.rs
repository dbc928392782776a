//! What tests of loops that the device runs are made of.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use penstock_data::{Class, Error, Result, Tensor};
use penstock_exec::{Arg, Executable, StdEnv, reference};
use penstock_filetests::{hosts, same_tensor};
use penstock_ir::{Env, Function, parse_function};
use penstock_ops::Ops;
use penstock_passes::{Options, Thresholds};

/// What the emulated driver counts is everybody's, so one test runs at a time.
pub(crate) fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn function(text: &str) -> Arc<Function> {
    parse_function(text, &Ops, &hosts).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub(crate) fn executable(text: &str) -> Executable {
    executable_without(text, &[])
}

/// What leaves some passes out.
pub(crate) fn executable_without(text: &str, passes: &[&str]) -> Executable {
    let skip = passes.iter().map(ToString::to_string).collect();
    let small = Options { thresholds: Thresholds::SMALL, skip, ..Options::default() };
    Executable::with_options(&function(text), small).expect("an executable")
}

pub(crate) fn numbers(count: usize, by: f32) -> Tensor {
    Tensor::vector(&(0..count).map(|i| ((i * 37 % 101) as f32 / 8.0 - 4.0) * by).collect::<Vec<_>>())
}

pub(crate) fn on_host(results: Result<Vec<Tensor>>) -> Result<Vec<Tensor>> {
    results?.iter().map(Tensor::on_host).collect()
}

/// What the reference interpreter gives.
pub(crate) fn due(text: &str, args: &[Tensor]) -> Result<Vec<Tensor>> {
    let args: Vec<Arg> = args.iter().cloned().map(Arg::Tensor).collect();
    on_host(reference::run(function(text).graph().expect("a graph"), &args, &StdEnv::default()))
}

/// Arguments of which those of more than a few elements are on the device.
pub(crate) fn there(args: &[Tensor]) -> Vec<Arg> {
    let gpu = super::gpu().expect("a device");
    args.iter().map(|t| Arg::Tensor(gpu.upload(t).expect("a copy"))).collect()
}

/// The calls of a function of the driver; nothing where it is a GPU's.
pub(crate) fn calls(name: &str) -> u64 {
    super::mock::get().map_or(0, |mock| mock.count(name))
}

pub(crate) fn assert_nothing_was_found() {
    if let Some(mock) = super::mock::get() {
        assert_eq!(mock.findings(), Vec::<String>::new());
    }
}

#[track_caller]
pub(crate) fn assert_same(due: &[Tensor], got: &[Tensor], what: &str) {
    assert_eq!(due.len(), got.len());
    for (i, (due, got)) in due.iter().zip(got).enumerate() {
        assert!(same_tensor(due, &got.on_host().expect("a value")), "{what}, result {i}: {got:?} instead of {due:?}");
    }
}

/// An environment in which somebody interrupts what runs.
pub(crate) struct Impatient(pub(crate) AtomicUsize);

impl Env for Impatient {
    fn print(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }

    fn draw(&self, _: u64) -> Result<(u64, u128)> {
        Err(Error::internal("nothing is drawn here"))
    }

    fn poll(&self) -> Result<()> {
        const CALLS: usize = 5;
        let calls = self.0.fetch_add(1, Ordering::Relaxed);
        if calls >= CALLS { Err(Error::new(Class::Cancelled, "interrupted")) } else { Ok(()) }
    }
}

/// A stream of numbers.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}
