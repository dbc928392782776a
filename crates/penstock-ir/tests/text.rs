//! The text form: exact round trips, and errors that say where and what.

mod common;

use std::sync::Arc;

use common::{ADD, BLOCK, CALL, CONST, KINDS, Ops, READ, error, host, parse};
use penstock_data::{
    Bool8, Bytes, C64, C128, DType, DTypeSet, Dim, Frame, Loc, Shape, Symbol, Tensor, bf16, f16, with_dtype,
};
use penstock_ir::{
    Attr, Builder, FuncRef, Function, Graph, PrintOptions, Type, Verified, compact, parse_function, parse_tensors,
    print_graph, print_tensor, verify,
};
use proptest::prelude::*;

/// Reads the text of a graph back, and requires the same graph and the same text.
fn round_trip(graph: &Graph) -> String {
    let text = graph.to_string();
    let back = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let back = back.graph().expect("a graph");
    assert!(**back == compact(graph), "{text}\n-- became --\n{back}");
    assert_eq!(compact(graph).to_string(), back.to_string());
    text
}

fn constant_graph(value: Tensor) -> Verified {
    let mut b = Builder::new(&CONST);
    let v = b.constant(value);
    b.finish(&[v]).unwrap()
}

/// The attributes in the text of a `kinds` instruction with these, after a check that they round trip.
fn kinds(attrs: &[(&str, Attr)]) -> String {
    let mut b = Builder::new(&CONST);
    b.emit(&KINDS, &[], attrs).unwrap();
    let text = round_trip(&b.finish(&[]).unwrap());
    let (_, after) = text.split_once("kinds").unwrap();
    after.lines().next().unwrap().trim().to_string()
}

#[test]
fn every_kind_of_attribute_round_trips() {
    let shape = Shape::new([Dim::Sym(Symbol(0)), Dim::Unknown, Dim::Known(3)]);
    let types = vec![Type::tensor(DType::F32, Shape::known(&[2])), Type::Variable(DType::Str, Shape::UNRANKED)];
    for (name, value, text) in [
        ("flag", Attr::Bool(true), "{flag=true}"),
        ("flag", Attr::Bool(false), "{flag=false}"),
        ("int", Attr::Int(i64::MIN), "{int=-9223372036854775808}"),
        ("float", Attr::Float(-0.0), "{float=-0}"),
        ("float", Attr::Float(1e-7), "{float=1e-7}"),
        ("float", Attr::Float(f64::INFINITY), "{float=inf}"),
        ("float", Attr::Float(f64::NEG_INFINITY), "{float=-inf}"),
        ("zero", Attr::Float(0.0), ""),
        ("zero", Attr::Float(-0.0), "{zero=-0}"),
        ("text", Attr::Str("a\"\\\n\u{1}é\u{85}".into()), r#"{text="a\"\\\n\x01é\xc2\x85"}"#),
        ("word", Attr::Str("a".into()), ""),
        ("word", Attr::Str("".into()), r#"{word=""}"#),
        ("ints", Attr::Ints([0, -1].as_slice().into()), "{ints=[0,-1]}"),
        ("ints", Attr::from(Vec::<i64>::new()), "{ints=[]}"),
        ("dtype", Attr::DType(DType::Bf16), "{dtype=bf16}"),
        ("shape", Attr::Shape(shape), "{shape=[s0,?,3]}"),
        ("shape", Attr::Shape(Shape::UNRANKED), "{shape=[*]}"),
        ("shape", Attr::Shape(Shape::scalar()), "{shape=[]}"),
        ("types", Attr::from(types), "{types=(f32[2], var str[*])}"),
        ("types", Attr::from(Vec::<Type>::new()), "{types=()}"),
        ("tensor", Attr::Tensor(Tensor::from(1.5f32)), "{tensor=f32[] 1.5}"),
    ] {
        assert_eq!(kinds(&[(name, value)]), text);
    }
    let both = [("int", Attr::Int(3)), ("flag", Attr::Bool(true))];
    assert_eq!(kinds(&both), "{flag=true, int=3}");
}

#[test]
fn a_float_attribute_keeps_the_bits_of_a_nan() {
    for bits in [f64::NAN.to_bits(), 0x7ff0_0000_0000_0001, 0xfff8_0000_0000_0000] {
        let mut b = Builder::new(&CONST);
        b.emit(&KINDS, &[], &[("float", Attr::Float(f64::from_bits(bits)))]).unwrap();
        let graph = b.finish(&[]).unwrap();
        let back = parse(&graph.to_string()).unwrap();
        let mut seen = None;
        back.graph().unwrap().visit(&mut |_, _, data| seen = Some(data.attrs.float(2).to_bits()));
        assert_eq!(seen, Some(bits));
    }
}

#[test]
fn host_code_is_found_by_name() {
    let code = host("my code");
    let mut b = Builder::new(&CONST);
    b.emit(&KINDS, &[], &[("host", Attr::Host(code.clone()))]).unwrap();
    let graph = b.finish(&[]).unwrap();
    let text = graph.to_string();
    assert!(text.contains(r#"kinds {host=host("my code")}"#), "{text}");
    let found = parse_function(&text, &Ops, &|name| (name == "my code").then(|| code.clone())).unwrap();
    assert!(found.graph().unwrap() == &graph);
    let missing = parse_function(&text, &Ops, &penstock_ir::no_hosts).unwrap_err();
    assert_eq!(missing.to_string(), r#"2:20: there is no host code "my code""#);
}

#[test]
fn every_dtype_round_trips_exactly() {
    for tensor in [
        Tensor::vector(&[Bool8::new(true), Bool8::new(false)]),
        Tensor::vector(&[i8::MIN, -1, i8::MAX]),
        Tensor::vector(&[i16::MIN, i16::MAX]),
        Tensor::vector(&[i32::MIN, i32::MAX]),
        Tensor::vector(&[i64::MIN, i64::MAX]),
        Tensor::vector(&[0, u8::MAX]),
        Tensor::vector(&[0, u16::MAX]),
        Tensor::vector(&[0, u32::MAX]),
        Tensor::vector(&[0, u64::MAX]),
        Tensor::vector(&[f16::from_f32(0.1), f16::NEG_ZERO, f16::MIN_POSITIVE_SUBNORMAL, f16::INFINITY, f16::NAN]),
        Tensor::vector(&[bf16::from_f32(0.1), bf16::MAX, bf16::from_bits(0xffff)]),
        Tensor::vector(&[
            0.1f32,
            -0.0,
            f32::MIN_POSITIVE,
            1e-45,
            f32::MAX,
            f32::NEG_INFINITY,
            f32::from_bits(0x7f80_0001),
        ]),
        Tensor::vector(&[0.1f64, -0.0, 5e-324, f64::MAX, f64::NAN, -f64::NAN]),
        Tensor::vector(&[C64::new(-0.0, 0.1), C64::new(f32::NAN, f32::INFINITY)]),
        Tensor::vector(&[C128::new(1e300, -1e-300), C128::new(-f64::NAN, -0.0)]),
        Tensor::from_strings(&[2, 1], vec![Bytes::from(*b"\xff\"\n"), Bytes::from(*b"")]).unwrap(),
    ] {
        round_trip(&constant_graph(tensor));
    }
    for dtype in DTypeSet::ANY.iter() {
        for dims in [&[][..], &[0], &[2, 0, 3], &[1, 1], &[3, 7]] {
            round_trip(&constant_graph(Tensor::zeros(dtype, dims).unwrap()));
        }
    }
}

#[test]
fn constants_are_printed_as_people_write_them() {
    let line = |t: Tensor| {
        let text = round_trip(&constant_graph(t));
        text.split_once("value=").unwrap().1.split_once("}\n").unwrap().0.to_string()
    };
    assert_eq!(line(Tensor::from_slice(&[2, 2], &[1.0f32, 2.5, -3.0, 4.0]).unwrap()), "f32[2,2] [1,2.5,-3,4]");
    assert_eq!(line(Tensor::from(7i64)), "i64[] 7");
    assert_eq!(line(Tensor::vector::<f64>(&[])), "f64[0] []");
    assert_eq!(line(Tensor::scalar(C64::new(1.0, -2.0))), "c64[] (1,-2)");
    assert_eq!(line(Tensor::from("a b")), r#"str[] "a b""#);
    assert_eq!(line(Tensor::from(true)), "bool[] true");
}

#[test]
fn constants_are_read_alone() {
    let tensors = [Tensor::from(1.5f32), Tensor::vector(&[1i64, 2])];
    let text: Vec<String> = tensors.iter().map(|t| print_tensor(t, None)).collect();
    assert_eq!(text.join(", "), "f32[] 1.5, i64[2] [1,2]");
    assert_eq!(parse_tensors(&text.join(", ")).unwrap(), tensors);
    assert_eq!(parse_tensors("").unwrap(), []);
    assert_eq!(
        parse_tensors("f32[] 1 2").unwrap_err().to_string(),
        "1:9: expected ',' or the end of the text, found '2'"
    );
}

#[test]
fn long_constants_are_elided_for_people() {
    let graph = constant_graph(Tensor::vector(&(0..100).collect::<Vec<i32>>()));
    let text = print_graph(&graph, &PrintOptions { elide: Some(3), ..PrintOptions::default() });
    assert!(text.contains("{value=i32[100] [0,1,2,...]}"), "{text}");
    assert!(error(&text).contains("found '...'"));
}

proptest! {
    #[test]
    fn any_bits_of_any_dtype_round_trip(index in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let all: Vec<DType> = DTypeSet::FLAT.iter().collect();
        let dtype = *index.get(&all);
        let n = bytes.len() / dtype.size();
        let mut tensor = Tensor::zeros(dtype, &[n]).unwrap();
        with_dtype!(plain, dtype, T => {
            for (to, from) in tensor.as_mut_slice::<T>().iter_mut().zip(bytes.chunks_exact(dtype.size())) {
                *to = element(from, dtype);
            }
        }, else tensor.bytes_mut().copy_from_slice(&bytes));
        round_trip(&constant_graph(tensor));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_mutated_text_is_read_or_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..8, "[ -~\n]{0,4}"), 1..6),
    ) {
        let mut text: Vec<char> = LARGE.chars().collect();
        for (at, cut, insert) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, insert.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(function) = parse(&text) {
            let graph = function.graph();
            prop_assert!(graph.is_none_or(|g| verify(g).is_ok()));
            prop_assert!(parse(&function.to_text()).is_ok(), "{}", function.to_text());
        }
    }
}

/// The element of raw bytes; a boolean is 0 or 1.
fn element<T: penstock_data::Element>(bytes: &[u8], dtype: DType) -> T {
    let mut one = [bytes[0] & 1];
    let bytes = if dtype == DType::Bool { &mut one } else { bytes };
    bytemuck::pod_read_unaligned(bytes)
}

/// Something of everything.
const LARGE: &str = r#"
func @"a b"(%0: f32[]) -> f32[] {
  %1: f32[] = call %0 {func=@"a b"}
  return %1
}
func @only_declared(%0: f32[2], %1: var i64[*])
func @main(%0 "x": f32[s0,3], %1: var f32[3], %2 "a\nb": f32[]) -> f32[s0,3], f32[], f32[3] {
  # A comment.
  %3 "sum": f32[s0,3] = add %0, %0 {swap=true}   ; train.py:12:9
  %4: f32[3] = read %1 ; "a file.py":3 in <module> from b.py:9:2 in "a b" from c.py:1
  kinds {float=nan, int=-3, ints=[1,2], text="\"", tensor=c64[2] [(1,2),(nan,-0)], func=@only_declared}
  kinds {shape=[s0,?,3], types=(f32[2], var str[*]), host=host("h"), tensor=str[2] ["\xff", "b"], dtype=u8}
  %5: f32[] = draw
  %6: f32[] = draw {seed=3}
  %7: f32[], %8: f32[3] = block %2, %4 ((%9: f32[]) {
    %10: f32[3] = add %4, %9
    yield %10
  }, (%11: i32[], %12: f32[?]) {
    kinds
    %13: f32[], %14: f32[3] = block ({
      yield %5, %4
    })  ; d.py:4
    yield %13, %14
  })
  %15: f32[] = call %7 {func=@"a b"}
  return %3, %15, %8
}
"#;

#[test]
fn the_text_form_is_stable() {
    let function = parse(LARGE).unwrap();
    let text = function.to_text();
    assert_eq!(parse(&text).unwrap().to_text(), text);
    assert_eq!(
        text,
        r#"func @only_declared(%0: f32[2], %1: var i64[*])

func @"a b"(%0: f32[]) -> f32[] {
  %1: f32[] = call %0 {func=@"a b"}
  return %1
}

func @main(%0 "x": f32[s0,3], %1: var f32[3], %2 "a\nb": f32[]) -> f32[s0,3], f32[], f32[3] {
  %3 "sum": f32[s0,3] = add %0, %0 {swap=true}                  ; train.py:12:9
  %4: f32[3] = read %1                                          ; "a file.py":3 in <module> from b.py:9:2 in "a b" from c.py:1
  kinds {int=-3, float=nan, text="\"", ints=[1,2], tensor=c64[2] [(1,2),(nan,-0)], func=@only_declared}
  kinds {dtype=u8, shape=[s0,?,3], types=(f32[2], var str[*]), tensor=str[2] ["\xff","b"], host=host("h")}
  %5: f32[] = draw
  %6: f32[] = draw {seed=3}
  %7: f32[], %8: f32[3] = block %2, %4 ((%9: f32[]) {
    %10: f32[3] = add %4, %9
    yield %10
  }, (%11: i32[], %12: f32[?]) {
    kinds
    %13: f32[], %14: f32[3] = block ({
      yield %5, %4
    })                                                          ; d.py:4
    yield %13, %14
  })
  %15: f32[] = call %7 {func=@"a b"}
  return %3, %15, %8
}
"#
    );
}

#[test]
fn locations_keep_their_callers() {
    let outer = Loc::new(Frame { file: "C:\\x y.py".into(), line: 3, column: 0, function: "f g".into(), caller: None });
    let inner = Loc::new(Frame {
        file: "<stdin>".into(),
        line: 9,
        column: 5,
        function: "A.<lambda>".into(),
        caller: Some(outer),
    });
    let mut b = Builder::new(&CONST);
    b.set_loc(inner);
    b.constant(Tensor::from(1i32));
    b.set_loc(Loc::at("", 0, 0));
    b.constant(Tensor::from(1i32));
    let text = round_trip(&b.finish(&[]).unwrap());
    assert!(text.contains(r#"; <stdin>:9:5 in A.<lambda> from "C:\\x y.py":3 in "f g""#), "{text}");
}

#[test]
fn regions_names_variables_and_unused_instructions_round_trip() {
    let mut b = Builder::new(&CONST);
    let x = b.input(Type::tensor(DType::F32, Shape::new([Dim::Sym(Symbol(4)), Dim::Unknown])), Some("x"));
    let v = b.input(Type::Variable(DType::F32, Shape::known(&[2])), None);
    let read = b.emit(&READ, &[v], &[]).unwrap()[0];
    b.name(read, "dense/Read\"1\"");
    let params = b.begin_region([Type::scalar(DType::F32)]);
    let p = b.params(params)[0];
    let sum = b.emit(&ADD, &[p, read], &[]).unwrap()[0];
    let region = b.end_region(&[sum, x]).unwrap();
    let inst = b.inst(&BLOCK, &[x, v], Default::default(), &[region]).unwrap();
    let results = b.results(inst).to_vec();
    let mut graph = b.finish(&[results[1], x, x]).unwrap().into_graph();
    round_trip(&graph);
    // An instruction that no region lists any more leaves no trace, whatever the ids are then.
    let body = graph.body();
    graph.regions[body].insts.pop();
    graph.regions[body].results = [x].as_slice().into();
    let text = round_trip(&graph);
    assert!(!text.contains("block"), "{text}");
}

#[test]
fn functions_of_the_same_name_get_names_of_their_own() {
    let callee = |value: f32| Arc::new(Function::new("f", constant_graph(Tensor::from(value))));
    let mut b = Builder::new(&CONST);
    let mut results = Vec::new();
    let shared = callee(1.0);
    for f in [shared.clone(), callee(2.0), shared] {
        results.extend(b.emit(&CALL, &[], &[("func", Attr::Func(FuncRef::new(f)))]).unwrap());
    }
    let function = Function::new("f", b.finish(&results).unwrap());
    let text = function.to_text();
    let names: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("func ")?.split('(').next()).collect();
    assert_eq!(names, ["@f_1", "@f_2", "@f"]);
    assert_eq!(parse(&text).unwrap().to_text(), text);
}

#[test]
fn a_function_may_call_itself_and_one_that_follows() {
    let text = "func @odd(%0: f32[]) -> f32[] {\n  %1: f32[] = call %0 {func=@even}\n  return %1\n}\n\n\
                func @even(%0: f32[]) -> f32[] {\n  %1: f32[] = call %0 {func=@odd}\n  return %1\n}\n";
    let even = parse(text).unwrap();
    assert_eq!(even.name(), "even");
    assert_eq!(even.to_text(), text);
}

#[test]
fn types_that_are_left_out_are_inferred() {
    let text = "func @main(%a: f32[s0,1], %b: f32[3]) -> f32[?,3] {\n%c = add %a, %b\nreturn %c}";
    let function = parse(text).unwrap();
    assert_eq!(
        function.to_text(),
        "func @main(%0: f32[s0,1], %1: f32[3]) -> f32[?,3] {\n  %2: f32[s0,3] = add %0, %1\n  return %2\n}\n"
    );
}

#[test]
fn a_type_may_say_more_than_is_inferred() {
    let read = |ty: &str| parse(&format!("func @main(%0: f32[?]) {{\n%1: {ty} = add %0, %0\nreturn\n}}"));
    assert!(read("f32[4]").is_ok() && read("f32[s0]").is_ok() && read("f32[*]").is_ok());
    let wrong = read("f32[2,2]").unwrap_err().to_string();
    assert_eq!(wrong, "2:1: add: result 0 has type f32[2,2], but the inferred type is f32[?]");
    assert!(read("f64[?]").is_err() && read("var f32[?]").is_err());
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let main = |body: &str| error(&format!("func @main(%0: f32[2], %1: i32[]) {{\n{body}\n}}"));
    for (text, message) in [
        ("", "1:1: expected 'func', found the end of the text"),
        ("func main", "1:6: expected '@', found 'main'"),
        ("func @f(", "1:9: expected a value, found the end of the text"),
        ("func @f(%0: f32[2) {}", "1:18: expected ',' or ']', found ')'"),
        ("func @f(%0: g32[])", "1:13: expected a dtype, found 'g32'"),
        ("func @f(%0: f32[-1])", "1:17: expected a size, a symbol such as s0, or '?', found '-1'"),
        ("func @f(%0: f32[], %0: f32[]) { return }", "1:20: %0 is defined twice"),
        ("func @f() {\nreturn", "1:11: this '{' is not closed"),
        ("func @f() { return }\nfunc @f() { return }", "2:6: the function @f is defined twice"),
        ("func @f() -> f32[] { return }", "1:20: @f is declared to give (f32[]), but returns ()"),
        ("func @f() return", "1:11: expected '{' or the next function, found 'return'"),
        ("func @f() { return } é", "1:22: expected 'func', found 'é'"),
    ] {
        assert_eq!(error(text), message, "{text}");
    }
    for (body, message) in [
        ("  %2 = nothing %0", "2:8: there is no operator 'nothing'"),
        ("  %2 = ", "3:1: expected an operator, found '}'"),
        ("  {}", "2:3: expected an instruction or 'return', found '{'"),
        ("  yield", "2:3: there is no operator 'yield'"),
        ("%2 = add %0, %9", "2:14: %9 is not defined"),
        ("%2 = add %0, %2", "2:14: %2 is not defined"),
        ("%1 = add %0, %0", "2:1: %1 is defined twice"),
        ("%2 = add %0", "2:1: add: takes 2 operand(s), got 1"),
        (
            "%2 = add %0, %1 ; a.py:7",
            "2:1: add: argument 'y': has dtype int32, but argument 'x' has dtype float32; \
           dtypes are never converted implicitly, use cast",
        ),
        ("add %0, %0", "2:1: add: has 0 result(s), but gives 1"),
        ("%2 = add %0, %0 {swap=1}", "2:23: expected true or false, found '1'"),
        ("%2 = add %0, %0 {size=1}", "2:18: there is no attribute 'size'; the operator has swap"),
        ("%2 = draw {seed=1, seed=1}", "2:20: the attribute 'seed' is given twice"),
        ("%2 = read %0", "2:1: read: argument 'variable': expected a variable, got a tensor"),
        ("%2 = const", "2:1: const: argument 'value': must be given"),
        ("%2 = const {value=f32[2] [1]}", "2:26: 1 elements do not fill the shape [2]"),
        ("%2 = const {value=i8[] 128}", "2:24: expected an integer of 8 bits, found '128'"),
        ("%2 = const {value=f32[?] []}", "2:19: expected the type of a constant, found f32[?]"),
        ("%2 = const {value=c64[] (1)}", "2:25: expected a complex number (re,im), found '('"),
        (
            "%2 = const {value=str[] \"\\q\"}",
            "2:25: a wrong escape in a string; there are \\\" \\\\ \\n \\t \\r and \\xNN",
        ),
        ("kinds {text=\"\\xff\"}", "2:13: expected a string that is UTF-8"),
        ("kinds {text=\"a}", "2:13: a string without its closing quote"),
        ("kinds {func=@g}", "2:13: there is no function @g"),
        ("kinds ; a b", "2:7: expected ;file:line[:column] [in function] [from …] up to the end of the line"),
        ("block ({\n%2 = draw\nyield\n})\n%3 = block ({ yield %2 })", "6:21: %2 is out of scope here"),
        ("%2 = block ({ yield %2 })", "2:21: %2 is not defined"),
    ] {
        assert_eq!(main(body), message, "{body}");
    }
    let deep = "block ({\n".repeat(1000) + &"yield })".repeat(1000);
    assert_eq!(main(&deep), "257:8: regions nest more than 256 deep");
}

#[test]
fn an_error_of_a_check_has_the_source_location_too() {
    let e = parse("func @main(%0: f32[2]) {\n%1 = add %0 ; a.py:7\nreturn\n}").unwrap_err();
    assert_eq!(e.loc(), Some(Loc::at("a.py", 7, 0)));
}

#[test]
fn an_instruction_without_operands_ends_with_its_line() {
    let function = parse("func @main() -> f32[] {\n%0 = draw\n%1 = draw\nkinds\nreturn\n%1}");
    assert!(function.is_err(), "values after 'return' stand on its line");
    let function = parse("func @main() -> f32[] {\n%0 = draw\n%1 = draw\nkinds\nreturn %1}").unwrap();
    assert_eq!(function.graph().unwrap().len(), 3);
}
