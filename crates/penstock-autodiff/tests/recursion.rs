//! Reverse mode of functions that call themselves, held against finite differences.

mod common;

use common::{check, f64s, parse};
use penstock_autodiff::{VjpPair, vjp_function};
use penstock_data::{DType, Tensor};
use std::sync::Arc;

const SELF: &str = "func @f(%n: i64[], %x: f64[2], %y: f64[]) -> f64[2] {\n\
     %zero = const {value=i64[] 0}\n%more = greater %n, %zero\n\
     %r = cond %more ({\n\
       %one = const {value=i64[] 1}\n%m = sub %n, %one\n%s = sin %x\n%rest = call %m, %s, %y {func=@f}\n\
       %p = mul %rest, %x\n%q = mul %p, %y\nyield %q\n\
     }, {\n%e = exp %x\nyield %e\n})\nreturn %r\n}";

fn args(n: i64) -> [Tensor; 3] {
    [Tensor::from(n), f64s(&[2], &[0.7, -0.4]), Tensor::from(0.8f64)]
}

#[test]
fn a_function_that_calls_itself_agrees_with_differences() {
    for n in [0, 1, 4] {
        check(&parse(SELF), &args(n), 2);
    }
}

#[test]
fn functions_that_call_each_other_agree_with_differences() {
    let f = parse(
        "func @f(%n: i64[], %x: f64[2], %y: f64[]) -> f64[2] {\n\
         %zero = const {value=i64[] 0}\n%more = greater %n, %zero\n\
         %r = cond %more ({\n\
           %one = const {value=i64[] 1}\n%m = sub %n, %one\n%rest = call %m, %x, %y {func=@g}\n\
           %p = mul %rest, %x\nyield %p\n\
         }, {\nyield %x\n})\nreturn %r\n}\n\
         func @g(%n: i64[], %x: f64[2], %y: f64[]) -> f64[2] {\n\
         %s = tanh %x\n%rest = call %n, %s, %y {func=@f}\n%t = mul %rest, %y\nreturn %t\n}",
    );
    for n in [0, 1, 3] {
        check(&f, &args(n), 2);
    }
}

#[test]
fn recursion_in_a_loop_over_a_size_that_is_not_known_agrees_with_differences() {
    let f = parse(
        "func @f(%n: i64[], %x: f64[?], %w: var f64[]) -> f64[?] {\n\
         %zero = const {value=i64[] 0}\n%more = greater %n, %zero\n\
         %r = cond %more ({\n\
           %one = const {value=i64[] 1}\n%m = sub %n, %one\n\
           %i, %a = while %zero, %x ((%ci: i64[], %ca: f64[?]) {\n%go = less %ci, %n\nyield %go\n\
           }, (%bi: i64[], %ba: f64[?]) {\n%c = call %m, %ba, %w {func=@f}\n%v = read_variable %w\n%d = mul %c, %v\n\
             %in = add %bi, %one\nyield %in, %d\n})\n\
           yield %a\n\
         }, {\n%e = sin %x\nyield %e\n})\nreturn %r\n}",
    );
    for n in [0i64, 1, 3] {
        check(&f, &[Tensor::from(n), f64s(&[2], &[0.7, -0.4]), Tensor::from(0.8f64)], 2);
    }
}

#[test]
fn a_recursive_pair_is_made_once_and_keeps_one_list() {
    let f = parse(SELF);
    let pair = || vjp_function(&f, &[false, true, true], &[true]).unwrap();
    let (a, b): (Arc<VjpPair>, Arc<VjpPair>) = (pair(), pair());
    assert!(Arc::ptr_eq(&a, &b));
    let kept: Vec<DType> = a.forward(&f).signature().results.iter().map(|ty| ty.dtype()).collect();
    assert_eq!(kept, [DType::F64, DType::Variant]);
}
