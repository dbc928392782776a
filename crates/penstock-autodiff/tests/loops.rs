//! Reverse mode through `while`, held against finite differences.

mod common;

use common::{check, derivative, f64s, parse, run};
use penstock_autodiff::{Residual, vjp_function};
use penstock_data::{Bool8, DType, Tensor};
use penstock_ir::{Function, Type};

fn vector() -> Tensor {
    f64s(&[3], &[0.3, -0.8, 1.1])
}

fn other() -> Tensor {
    f64s(&[3], &[0.9, 0.5, -0.7])
}

fn int(n: i64) -> Tensor {
    Tensor::from(n)
}

/// A loop over `state` with a counter from 0 to `%n`; the body ends in what it gives for the state.
fn counting(state: &[(&str, &str, &str)], body: &str, ends: &str) -> String {
    let list = |f: &dyn Fn(&(&str, &str, &str)) -> String| state.iter().map(f).collect::<Vec<_>>().join(", ");
    format!(
        "%zero = const {{value=i64[] 0}}\n\
         %count, {results} = while %zero, {init} ((%ci: i64[], {unseen}) {{\n%go = less %ci, %n\nyield %go\n\
         }}, (%i: i64[], {params}) {{\n{body}\n%one = const {{value=i64[] 1}}\n%inext = add %i, %one\nyield %inext, {ends}\n}})\n",
        results = list(&|s| format!("%{}_out", s.0)),
        init = list(&|s| s.2.to_string()),
        unseen = list(&|s| format!("%{}_seen: {}", s.0, s.1)),
        params = list(&|s| format!("%{}: {}", s.0, s.1)),
    )
}

fn product() -> String {
    format!(
        "func @f(%n: i64[], %x: f64[3], %y: f64[3]) -> f64[3] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[3]", "%x")], "%b = mul %a, %y\n%c = sin %b", "%c")
    )
}

#[test]
fn any_number_of_rounds_agrees_with_differences() {
    let f = parse(&product());
    for n in [0, 1, 2, 5] {
        check(&f, &[int(n), vector(), other()], 2);
    }
    check(&f, &[int(3), vector(), other()], 3);
}

#[test]
fn variables_that_change_places_agree_with_differences() {
    let f = parse(&format!(
        "func @f(%n: i64[], %x: f64[3], %y: f64[3]) -> f64[3], f64[3] {{\n{}return %a_out, %b_out\n}}",
        counting(&[("a", "f64[3]", "%x"), ("b", "f64[3]", "%y")], "%c = mul %a, %b", "%b, %c")
    ));
    for n in [0, 1, 4] {
        check(&f, &[int(n), vector(), other()], 2);
    }
}

#[test]
fn what_the_body_drops_or_takes_from_outside_agrees_with_differences() {
    // The state of the first round is overwritten by a value from outside.
    let f = parse(&format!(
        "func @f(%n: i64[], %x: f64[3], %y: f64[3]) -> f64[3] {{\n{}return %b_out\n}}",
        counting(
            &[("a", "f64[3]", "%x"), ("b", "f64[3]", "%y"), ("same", "f64[3]", "%y")],
            "%c = mul %a, %same\n%t = tanh %y\n%d = mul %c, %t\n%e = add %b, %d",
            "%y, %e, %same"
        )
    ));
    for n in [0, 1, 3] {
        check(&f, &[int(n), vector(), other()], 2);
    }
}

#[test]
fn a_loop_until_it_converges_agrees_with_differences() {
    let f = parse(
        "func @f(%a: f64[]) -> f64[] {\n\
         %x = while %a ((%x0: f64[]) {\n%sq = mul %x0, %x0\n%d = sub %sq, %a\n%e = abs %d\n\
         %tol = const {value=f64[] 1e-9}\n%go = greater %e, %tol\nyield %go\n\
         }, (%x1: f64[]) {\n%q = div %a, %x1\n%s = add %x1, %q\n%half = const {value=f64[] 0.5}\n%m = mul %s, %half\nyield %m\n})\n\
         return %x\n}",
    );
    check(&f, &[Tensor::from(2.7f64)], 2);
}

#[test]
fn nested_loops_agree_with_differences() {
    let inner = "%izero = const {value=i64[] 0}\n\
         %jlast, %r = while %izero, %a ((%cj: i64[], %cs: f64[3]) {\n%jgo = less %cj, %i\nyield %jgo\n\
         }, (%j: i64[], %s: f64[3]) {\n%p = mul %s, %y\n%q = sin %p\n%jone = const {value=i64[] 1}\n%jn = add %j, %jone\nyield %jn, %q\n})\n\
         %c = mul %r, %a";
    let f = parse(&format!(
        "func @f(%n: i64[], %x: f64[3], %y: f64[3]) -> f64[3] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[3]", "%x")], inner, "%c")
    ));
    for n in [0, 1, 3] {
        check(&f, &[int(n), vector(), other()], 2);
    }
    check(&f, &[int(2), vector(), other()], 3);
}

#[test]
fn branches_in_loops_agree_with_differences() {
    let body = "%two = const {value=i64[] 2}\n%m = floormod %i, %two\n%nil = const {value=i64[] 0}\n%even = equal %m, %nil\n\
         %r = cond %even ({\n%p = mul %a, %y\n%q = sin %p\nyield %q\n}, {\n%e = exp %a\n%k = mul %e, %a\nyield %k\n})\n\
         %sel = cast %i {dtype=i32}\n\
         %w = switch %sel ({\nyield %r\n}, {\n%u = mul %r, %r\nyield %u\n}, {\n%v = tanh %r\nyield %v\n})";
    let f = parse(&format!(
        "func @f(%n: i64[], %x: f64[3], %y: f64[3]) -> f64[3] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[3]", "%x")], body, "%w")
    ));
    for n in [0, 1, 4] {
        check(&f, &[int(n), vector(), other()], 2);
    }
}

#[test]
fn loops_in_branches_agree_with_differences() {
    let f = parse(&format!(
        "func @f(%p: bool[], %n: i64[], %x: f64[3], %y: f64[3]) -> f64[3] {{\n\
         %r = cond %p ({{\n{}%t = mul %a_out, %x\nyield %t\n}}, {{\n%s = sin %y\nyield %s\n}})\nreturn %r\n}}",
        counting(&[("a", "f64[3]", "%x")], "%b = mul %a, %y\n%c = tanh %b", "%c")
    ));
    for p in [true, false] {
        check(&f, &[Tensor::scalar(Bool8::new(p)), int(3), vector(), other()], 2);
    }
}

#[test]
fn calls_in_loops_agree_with_differences() {
    let f = parse(&format!(
        "func @f(%n: i64[], %x: f64[3], %y: f64[3]) -> f64[3] {{\n{}return %a_out\n}}\n\
         func @g(%n: i64[], %x: f64[3], %y: f64[3]) -> f64[3] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[3]", "%x")], "%c = call %i, %a, %y {func=@g}", "%c"),
        counting(&[("a", "f64[3]", "%x")], "%b = mul %a, %y\n%c = sin %b", "%c"),
    ));
    for n in [0, 1, 3] {
        check(&f, &[int(n), vector(), other()], 2);
    }
}

#[test]
fn state_of_any_size_agrees_with_differences() {
    let f = parse(&format!(
        "func @f(%n: i64[], %x: f64[s0], %y: f64[]) -> f64[?] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[?]", "%x")], "%b = mul %a, %y\n%s = sin %b\n%c = concat %s, %x {axis=0}", "%c")
    ));
    for n in [0, 2, 3] {
        check(&f, &[int(n), vector(), Tensor::from(0.7f64)], 2);
    }
    let unranked = parse(&format!(
        "func @f(%n: i64[], %x: f64[*], %y: f64[]) -> f64[*] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[*]", "%x")], "%b = mul %a, %y\n%c = sin %b", "%c")
    ));
    check(&unranked, &[int(3), vector(), Tensor::from(0.7f64)], 2);
}

#[test]
fn lists_in_loops_agree_with_differences() {
    let body = "%none = const {value=i64[0] []}\n\
         %xi = list_get %xs, %i, %none {dtype=f64}\n%p = mul %s, %xi\n%q = sin %p\n%lw = list_set %l, %i, %q\n%lp = list_push %k, %p";
    let f = parse(&format!(
        "func @f(%n: i64[], %x: f64[4], %y: f64[]) -> f64[*], f64[*], f64[] {{\n\
         %xs = list_from_tensor %x\n%four = const {{value=i64[] 4}}\n%nil = const {{value=i64[] 0}}\n\
         %l0 = list_new %four {{dtype=f64}}\n%k0 = list_new %nil {{dtype=f64}}\n\
         {}%e = const {{value=i64[0] []}}\n%a = list_stack %l_out, %e {{dtype=f64}}\n%b = list_stack %k_out, %e {{dtype=f64}}\n\
         return %a, %b, %s_out\n}}",
        counting(&[("s", "f64[]", "%y"), ("l", "variant[]", "%l0"), ("k", "variant[]", "%k0")], body, "%q, %lw, %lp")
    ));
    for n in [0, 1, 4] {
        check(&f, &[int(n), f64s(&[4], &[0.4, -0.9, 1.3, 0.2]), Tensor::from(0.6f64)], 2);
    }
}

#[test]
fn reads_of_variables_and_rows_by_number_agree_with_differences() {
    let body = "%v = read_variable %w\n%row = gather %x, %i {axis=0}\n%p = mul %a, %v\n%c = add %p, %row";
    let f = parse(&format!(
        "func @f(%n: i64[], %x: f64[4,3], %w: var f64[3], %y: f64[3]) -> f64[3] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[3]", "%y")], body, "%c")
    ));
    let rows = f64s(&[4, 3], &(0..12).map(|i| f64::from(i) * 0.3 - 1.0).collect::<Vec<_>>());
    for n in [0, 1, 4] {
        check(&f, &[int(n), rows.clone(), vector(), other()], 2);
    }
}

fn lists_in(f: &Function) -> usize {
    let mut lists = 0;
    f.graph().unwrap().visit(&mut |_, _, data| lists += usize::from(data.op.name == "list_push"));
    lists
}

#[test]
fn only_what_the_derivative_reads_is_kept() {
    let pair = |text: &str, needed: &[bool]| {
        let f = parse(text);
        let pair = vjp_function(&f, needed, &[true]).unwrap();
        (pair.forward(&f).clone(), pair)
    };
    // The sine needs its operand; of the product, whose other factor is not needed, only that factor, which is an input.
    let (forward, _) = pair(&product(), &[false, true, false]);
    assert_eq!(lists_in(&forward), 1, "{}", forward.to_text());
    // The product needs both factors otherwise; that from outside is on no list.
    assert_eq!(lists_in(&pair(&product(), &[false, true, true]).0), 2);
    let linear = format!(
        "func @f(%n: i64[], %x: f64[3], %y: f64[3]) -> f64[3] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[3]", "%x")], "%t = tanh %y\n%b = mul %a, %t", "%b")
    );
    let (forward, p) = pair(&linear, &[false, true, false]);
    assert_eq!(lists_in(&forward), 0, "{}", forward.to_text());
    // The number of rounds, and the factor, which does not change.
    assert!(
        p.residuals.iter().all(|r| matches!(r, Residual::Input(_) | Residual::Output(_))) && p.residuals.len() <= 2
    );
    assert!(forward.signature().results.iter().all(|ty| ty.dtype() != DType::Variant));
}

#[test]
fn a_second_derivative_keeps_nothing_twice() {
    let f = parse(&product());
    let first = derivative(&f, false);
    let lists = lists_in(&first);
    let twice = derivative(&first, false);
    penstock_ir::verify(twice.graph().unwrap()).unwrap();
    assert!(lists_in(&twice) <= 2 * lists + 4, "{}", twice.to_text());
    run(&twice, &[int(2), vector(), other()]);
}

/// The program with its loops keeping their state every so many rounds.
fn in_segments(text: &str, every: usize) -> String {
    text.replace(" ((%", &format!(" {{checkpoint_every={every}}} ((%"))
}

#[test]
fn loops_that_keep_their_state_now_and_then_agree_with_differences() {
    let body = "%v = read_variable %w\n%row = gather %x, %i {axis=0}\n%p = mul %a, %v\n%q = sin %p\n%c = add %q, %row\n\
         %nil = const {value=i64[] 0}\n%two = const {value=i64[] 2}\n%m = floormod %i, %two\n%even = equal %m, %nil\n\
         %r = cond %even ({\n%u = read_variable %w\n%t = mul %b, %u\nyield %t\n}, {\nyield %c\n})";
    let text = format!(
        "func @f(%n: i64[], %x: f64[7,3], %w: var f64[3], %y: f64[3], %z: f64[3]) -> f64[3], f64[3] {{\n{}return %a_out, %b_out\n}}",
        counting(&[("a", "f64[3]", "%y"), ("b", "f64[3]", "%z")], body, "%r, %a")
    );
    let rows = f64s(&[7, 3], &(0..21).map(|i| f64::from(i) * 0.1 - 1.0).collect::<Vec<_>>());
    for every in [1, 2, 3, 10] {
        let f = parse(&in_segments(&text, every));
        assert!(f.to_text().contains("checkpoint_every"));
        for n in [0, 1, 3, 7] {
            let order = if n == 3 { 2 } else { 1 };
            check(&f, &[int(n), rows.clone(), vector(), other(), vector()], order);
        }
    }
    let squares = in_segments(
        "func @f(%x: f64[3]) -> f64[3] {\n\
         %a = while %x ((%s: f64[3]) {\n%m = reduce_max %s {axes=[0]}\n%t = const {value=f64[] 0.05}\n%go = greater %m, %t\nyield %go\n\
         }, (%b: f64[3]) {\n%k = const {value=f64[] 0.9}\n%h = mul %b, %k\n%c = mul %h, %x\nyield %c\n})\nreturn %a\n}",
        2,
    );
    check(&parse(&squares), &[f64s(&[3], &[0.9, 0.5, 0.7])], 2);
}

#[test]
fn a_second_derivative_of_segments_keeps_no_more_than_states() {
    let kept = |text: &str| -> usize {
        let first = derivative(&parse(text), false);
        let float = |types: &[Type]| types.iter().map(|ty| ty.dtype() == DType::F64).collect::<Vec<_>>();
        let signature = first.signature();
        let pair = vjp_function(&first, &float(&signature.params), &float(&signature.results)).unwrap();
        let outputs = run(pair.forward(&first), &[int(64), vector(), other()]);
        outputs.iter().filter_map(|t| t.list()).map(|list| list.elements().len()).sum()
    };
    assert!(kept(&product()) > 64);
    let few = kept(&in_segments(&product(), 8));
    assert!(few <= 40, "{few}");
}

#[test]
fn a_loop_that_prints_is_not_run_again() {
    let text = format!(
        "func @f(%n: i64[], %x: f64[3], %y: f64[3]) -> f64[3] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[3]", "%x")], "print %i\n%b = mul %a, %y\n%c = sin %b", "%c")
    );
    let f = parse(&in_segments(&text, 2));
    let pair = vjp_function(&f, &[false, true, true], &[true]).unwrap();
    assert!(!pair.backward.as_ref().unwrap().to_text().contains("print"));
}

#[test]
fn rows_of_what_is_read_in_a_loop_are_added_in_place() {
    let body = "%one_ = const {value=i64[] 1}\n%row = gather %x, %i\n\
         %b = stack %i {axis=0}\n%j = add %i, %one_\n%e = stack %j {axis=0}\n%s = const {value=i64[1] [1]}\n\
         %again = strided_slice %x, %b, %e, %s {shrink_axis_mask=1}\n%p = mul %a, %row\n%c = add %p, %again";
    let f = parse(&format!(
        "func @f(%n: i64[], %x: f64[4,3], %y: f64[3]) -> f64[3] {{\n{}return %a_out\n}}",
        counting(&[("a", "f64[3]", "%y")], body, "%c")
    ));
    let rows = f64s(&[4, 3], &(0..12).map(|i| f64::from(i) * 0.3 - 1.0).collect::<Vec<_>>());
    for n in [0, 1, 4] {
        check(&f, &[int(n), rows.clone(), other()], 2);
    }
    let backward = vjp_function(&f, &[false, true, true], &[true]).unwrap().backward.clone().unwrap().to_text();
    assert!(backward.contains("gather_accumulate") && backward.contains("strided_slice_accumulate"), "{backward}");
    assert!(!backward.contains("gather_grad") && !backward.contains("strided_slice_grad"), "{backward}");
}
