//! What a run infers anew.

use std::sync::atomic::{AtomicUsize, Ordering};

use penstock_data::{DType, Result, Shape, Tensor};
use penstock_exec::Arg;
use penstock_ir::{
    ArgDef, ArgType, Batch, Cost, Cpu, Cuda, Elements, Fails, Fold, InferCx, Jvp, Kernel, OpDef, OutTypes, Rows, Type,
    Vjp, arg_of,
};
use smallvec::smallvec;

use crate::ops::PROMISE;
use crate::{build, emit, env, executable, f32s, vector};

/// How often each of the operators was inferred.
static BY_TYPES: AtomicUsize = AtomicUsize::new(0);
static BY_VALUES: AtomicUsize = AtomicUsize::new(0);

const fn of_unknown_length(
    name: &'static str,
    operands: &'static [ArgDef],
    infer: fn(&InferCx<'_>) -> Result<OutTypes>,
    run: Kernel,
) -> OpDef {
    OpDef {
        name,
        tf_name: name,
        doc: "",
        dtypes: &[],
        operands,
        attrs: &[],
        effects: &[],
        infer,
        cpu: Cpu::Kernel(run),
        cuda: Cuda::HostFallback("a test"),
        vjp: Vjp::NonDifferentiable("a test"),
        jvp: Jvp::FromVjp,
        batch: Batch::Loop("a test"),
        rows: Rows::All,
        elements: Elements::Unknown,
        cost: Cost::Element(1.0),
        resolve: None,
        fails: Fails::OnValues,
        fold: Fold::Evaluate,
        promise: PROMISE,
        samples: Vec::new,
    }
}

/// The elements that are positive.
static POSITIVE: OpDef = of_unknown_length(
    "positive",
    &[arg_of("x", ArgType::Fixed(DType::F32))],
    |_| {
        BY_TYPES.fetch_add(1, Ordering::Relaxed);
        Ok(smallvec![Type::tensor(DType::F32, Shape::of_rank(1)?)])
    },
    |call| {
        let kept: Vec<f32> = call.inputs[0].as_slice::<f32>().iter().copied().filter(|&x| x > 0.0).collect();
        call.set(0, Tensor::vector(&kept));
        Ok(())
    },
);

/// The first `n` elements.
static FIRST: OpDef = of_unknown_length(
    "first",
    &[arg_of("x", ArgType::Fixed(DType::F32)), arg_of("n", ArgType::Fixed(DType::I32))],
    |cx| {
        BY_VALUES.fetch_add(1, Ordering::Relaxed);
        let shape = cx.values.dims(1).map_or(Shape::of_rank(1)?, Shape::new);
        Ok(smallvec![Type::tensor(DType::F32, shape)])
    },
    |call| {
        let n = call.inputs[1].as_slice::<i32>()[0] as usize;
        call.set(0, Tensor::vector(&call.inputs[0].as_slice::<f32>()[..n]));
        Ok(())
    },
);

#[test]
fn a_run_infers_only_what_goes_by_its_values() {
    let run = executable(&build(|b| {
        let x = b.input(f32s(&[4]), None);
        vec![emit(b, &POSITIVE, &[x])]
    }));
    let made = BY_TYPES.load(Ordering::Relaxed);
    for (x, kept) in [([1f32, -1.0, 2.0, 0.0], &[1f32, 2.0][..]), ([-1.0; 4], &[])] {
        let got = run.run(&[Arg::from(Tensor::vector(&x))], &env()).unwrap();
        assert_eq!(got[0].as_slice::<f32>(), kept);
    }
    assert_eq!(BY_TYPES.load(Ordering::Relaxed), made);

    let run = executable(&build(|b| {
        let (x, n) = (b.input(f32s(&[4]), None), b.input(Type::scalar(DType::I32), None));
        vec![emit(b, &FIRST, &[x, n])]
    }));
    let made = BY_VALUES.load(Ordering::Relaxed);
    for n in [3, 0] {
        let args = [Arg::from(vector(4)), Arg::from(Tensor::from(n))];
        assert_eq!(run.run(&args, &env()).unwrap()[0].dims(), [n as usize]);
    }
    assert_eq!(BY_VALUES.load(Ordering::Relaxed), made + 2);
}
