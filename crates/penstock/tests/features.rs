//! What programs without a feature say: `cargo test -p penstock-engine --no-default-features --test features`.

use ndarray::arr2;
use penstock::{Class, ConcreteFunction, ToArg, parse};

/// The error of a run, or of making the function ready; none where the feature is there.
fn needs(feature: &str, present: bool, text: &str, arg: &dyn ToArg) {
    let run = parse(text).and_then(|f: ConcreteFunction| f.run(&[arg]).map(drop));
    if present {
        run.unwrap_or_else(|e| panic!("{feature} is there, and {e}"));
        return;
    }
    let error = run.unwrap_err();
    assert_eq!(error.class(), Class::Unimplemented, "{error}");
    assert!(error.message().contains(&format!("the feature '{feature}' of Penstock")), "{error}");
}

#[test]
fn operators_of_absent_features_are_errors_that_name_the_feature() {
    let square = arr2(&[[2.0f32, 0.0], [0.0, 2.0]]);
    for op in ["cholesky", "matrix_inverse", "self_adjoint_eigvals", "singular_values"] {
        let rank = if op.ends_with("s") { "f32[2]" } else { "f32[2,2]" };
        let text = format!("func @f(%x: f32[2,2]) -> {rank} {{\n %y = {op} %x\n return %y\n}}");
        needs("linalg", cfg!(feature = "linalg"), &text, &square);
    }
    let text = "func @f(%x: f32[2,2]) -> c64[2,2] {\n %y = rfft %x\n return %y\n}";
    needs("fourier", cfg!(feature = "fourier"), text, &square);
    let text = "func @f(%x: u8[2,2,1]) -> str[] {\n %y = encode_png %x\n return %y\n}";
    needs("images", cfg!(feature = "images"), text, &ndarray::Array3::<u8>::zeros((2, 2, 1)));
    let text = "func @f(%x: str[]) -> str[] {\n %y = regex_replace %x {pattern=\"a\", rewrite=\"b\"}\n return %y\n}";
    needs("text", cfg!(feature = "text"), text, &"cat");
}

#[test]
fn loops_and_branches_run_without_machine_code() {
    let text = "func @f(%n: i32[]) -> i32[], f32[] {
        %zero = const {value=i32[] 0}
        %one = const {value=i32[] 1}
        %start = const {value=f32[] 1}
        %count: i32[], %product: f32[] = while %zero, %start ((%i: i32[], %p: f32[]) {
            %more = less %i, %n
            yield %more
        }, (%k: i32[], %x: f32[]) {
            %next = add %k, %one
            %factor = cast %next {dtype=f32}
            %parity = bitwise_and %k, %one
            %odd = equal %parity, %one
            %q = cond %odd ({
                %times = mul %x, %factor
                yield %times
            }, {
                %plus = add %x, %factor
                yield %plus
            })
            yield %next, %q
        })
        return %count, %product
    }";
    let f: ConcreteFunction = parse(text).unwrap();
    for _ in 0..3 {
        let out = f.run(&[&5i32]).unwrap();
        assert_eq!(
            out,
            [penstock::Tensor::scalar(5i32), penstock::Tensor::scalar(((1.0f32 + 1.0) * 2.0 + 3.0) * 4.0 + 5.0)]
        );
    }
}
