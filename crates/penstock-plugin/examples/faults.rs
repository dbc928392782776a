//! Operators that fail, wait or count, for the tests of the Python package.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use penstock_plugin::{DType, Description, Operator, TensorType, View, ViewMut, export_operators};

type Types = fn(&[TensorType]) -> Result<Vec<TensorType>, String>;
type Run = fn(&[View], &mut [ViewMut]) -> Result<(), String>;

/// An operator of `x`, made of functions.
struct Made(&'static str, Types, Run);

impl Operator for Made {
    fn description(&self) -> Description {
        let about = Description::new(self.0, "").inputs(&["x"]).outputs(&["y"]);
        if self.0 == "count_calls" { about.stateful() } else { about }
    }

    fn types(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, String> {
        (self.1)(inputs)
    }

    fn run(&self, inputs: &[View], outputs: &mut [ViewMut]) -> Result<(), String> {
        (self.2)(inputs, outputs)
    }
}

fn same(inputs: &[TensorType]) -> Result<Vec<TensorType>, String> {
    Ok(inputs.to_vec())
}

fn nothing(_: &[View], _: &mut [ViewMut]) -> Result<(), String> {
    Ok(())
}

/// The number of calls so far.
fn count(_: &[View], outputs: &mut [ViewMut]) -> Result<(), String> {
    static CALLS: AtomicI64 = AtomicI64::new(0);
    outputs[0].as_mut_slice()?.fill(CALLS.fetch_add(1, Ordering::Relaxed) + 1);
    Ok(())
}

/// Waits until `x` calls run at once.
fn meet(inputs: &[View], _: &mut [ViewMut]) -> Result<(), String> {
    static HERE: (Mutex<i32>, Condvar) = (Mutex::new(0), Condvar::new());
    let due = inputs[0].as_slice::<i32>()?[0];
    let mut here = HERE.0.lock().map_err(|e| e.to_string())?;
    *here += 1;
    HERE.1.notify_all();
    let waited = HERE.1.wait_timeout_while(here, Duration::from_secs(60), |here| *here < due);
    let (_here, result) = waited.map_err(|e| e.to_string())?;
    if result.timed_out() { Err("the others did not come".to_owned()) } else { Ok(()) }
}

export_operators![
    Made("panic_in_run", same, |inputs, _| panic!("there are {} elements", inputs[0].shape()[0])),
    Made("panic_in_types", |_| panic!("no types"), nothing),
    Made("fail", same, |_, _| Err("there is no result".to_owned())),
    Made("fail_at_length", same, |_, _| Err("ü".repeat(1000))),
    Made("read_as_float64", same, |inputs, _| inputs[0].as_slice::<f64>().map(drop)),
    Made("two_types", |inputs| Ok(vec![inputs[0].clone(); 2]), nothing),
    Made("unknown_size", |_| Ok(vec![TensorType::new(DType::F32, [None])]), nothing),
    Made("any_shape", |_| Ok(vec![TensorType::of_any_shape(DType::F32)]), nothing),
    Made("many_dimensions", |_| Ok(vec![TensorType::new(DType::F32, vec![Some(1); 33])]), nothing),
    Made("leave_as_it_is", same, nothing),
    Made("count_calls", |_| Ok(vec![TensorType::scalar(DType::I64)]), count),
    Made("meet", same, meet),
];
