//! Forward mode of functions with control flow, calls, recursion and variables.

mod common;

use common::{check, differences, f64s, parse, run};
use penstock_autodiff::jvp_function;
use penstock_data::{DType, Tensor};

/// Holds the tangents along a direction against differences; where `reverse`, the function of tangents
/// against reverse mode as well.
fn try_forward(text: &str, args: &[Tensor], reverse: bool) {
    let function = parse(text);
    let active: Vec<bool> = args.iter().map(|t| t.dtype() == DType::F64).collect();
    let forward = jvp_function(&function, &active).unwrap_or_else(|e| panic!("{e:?} for\n{text}"));
    let direction = |t: &Tensor| {
        let values: Vec<f64> = (0..t.len()).map(|i| 0.75 - 0.5 * i as f64).collect();
        f64s(t.dims(), &values)
    };
    let mut all = args.to_vec();
    all.extend(args.iter().filter(|t| t.dtype() == DType::F64).map(direction));
    let results = run(&forward.function, &all);
    let mut along = 0.0;
    for (k, tangent) in forward.tangents.iter().enumerate() {
        let Some(tangent) = tangent.map(|i| &results[i]) else { continue };
        assert_eq!(tangent.dims(), results[k].dims(), "{text}");
        let weight = |i: usize| 1.0 + 0.5 * i as f64 - 0.7 * k as f64;
        along += tangent.as_slice::<f64>().iter().enumerate().map(|(i, v)| v * weight(i)).sum::<f64>();
    }
    let mut against = 0.0;
    for (arg, slopes) in args.iter().zip(differences(&function, args)) {
        let Some(slopes) = slopes else { continue };
        let direction = direction(arg);
        against += slopes.as_slice::<f64>().iter().zip(direction.as_slice::<f64>()).map(|(a, b)| a * b).sum::<f64>();
    }
    assert!((along - against).abs() <= 1e-6 * (1.0 + along.abs()), "{along} against {against} in\n{text}");
    if reverse {
        check(&forward.function, &all, 1);
    }
}

#[test]
fn a_branch_that_gives_a_constant_gives_a_tangent_of_zeros() {
    let text = "func @f(%p: bool[], %x: f64[2]) -> f64[2], f64[] {
  %a, %b = cond %p ({
    %s = sin %x
    %c = const {value=f64[] 3}
    yield %s, %c
  }, {
    %z = const {value=f64[2] [1,2]}
    %r = reduce_sum %x
    yield %z, %r
  })
  return %a, %b
}";
    for p in [true, false] {
        try_forward(text, &[Tensor::from(p), f64s(&[2], &[0.3, -0.7])], true);
    }
}

#[test]
fn a_loop_variable_becomes_active_through_another() {
    // `y` has a tangent only from the second step on, by way of `x`; `n` never has one.
    let text = "func @f(%x: f64[], %n: i32[]) -> f64[], f64[] {
  %i = const {value=i32[] 0}
  %y = const {value=f64[] 1}
  %one = const {value=i32[] 1}
  %k, %a, %b = while %i, %x, %y ((%k0: i32[], %a0: f64[], %b0: f64[]) {
    %t = less %k0, %n
    yield %t
  }, (%k2: i32[], %a2: f64[], %b2: f64[]) {
    %k1 = add %k2, %one
    %s = sin %a2
    %m = mul %b2, %a2
    yield %k1, %s, %m
  })
  return %a, %b
}";
    for n in [0, 1, 4] {
        try_forward(text, &[f64s(&[], &[0.8]), Tensor::from(n)], false);
    }
}

#[test]
fn calls_and_operators_without_a_cheap_form() {
    let text = "func @g(%x: f64[2,3]) -> f64[2,3] {
  %s = softmax %x
  %c = cumprod %x {axis=1}
  %d = mul %s, %c
  return %d
}

func @f(%x: f64[2,3]) -> f64[2], f64[2,3] {
  %a = call %x {func=@g}
  %b = reduce_max %x {axes=[1]}
  return %b, %a
}";
    try_forward(text, &[f64s(&[2, 3], &[0.3, -0.7, 1.1, 0.9, 0.2, -1.3])], true);
}

#[test]
fn a_function_that_calls_itself() {
    let text = "func @power(%x: f64[], %n: i32[]) -> f64[] {
  %zero = const {value=i32[] 0}
  %one = const {value=i32[] 1}
  %p = less_equal %n, %zero
  %r = cond %p ({
    %c = const {value=f64[] 1}
    yield %c
  }, {
    %m = sub %n, %one
    %q = call %x, %m {func=@power}
    %v = mul %q, %x
    yield %v
  })
  return %r
}";
    for n in [0, 1, 3] {
        try_forward(text, &[f64s(&[], &[1.3]), Tensor::from(n)], false);
    }
}

#[test]
fn the_tangent_of_a_variable_is_that_of_its_value() {
    let text = "func @f(%v: var f64[2], %x: f64[]) -> f64[2] {
  %a = read_variable %v
  %b = mul %a, %x
  return %b
}";
    try_forward(text, &[f64s(&[2], &[1.0, 2.0]), f64s(&[], &[3.0])], false);
}

#[test]
fn what_depends_on_nothing_has_no_tangent() {
    let function = parse(
        "func @f(%x: f64[], %n: i32[]) -> f64[], i32[], f64[] {
  %c = const {value=f64[] 1}
  %f = floor %x
  return %c, %n, %f
}",
    );
    let forward = jvp_function(&function, &[true, true]).unwrap();
    assert_eq!((forward.inputs.clone(), forward.tangents.clone()), (vec![true, false], vec![None, None, None]));
    let again = jvp_function(&function, &[true, false]).unwrap();
    assert!(std::sync::Arc::ptr_eq(&forward, &again), "made once for each set of active inputs");
}
