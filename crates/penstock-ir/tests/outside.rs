//! Texts of several functions, and texts with constants and paths that stand elsewhere.

mod common;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use common::{CONST, Ops, parse};
use penstock_data::{Frame, Loc, Result, Tensor};
use penstock_ir::{
    Builder, Function, Locations, PrintOptions, Resolvers, no_hosts, parse_function, parse_functions, print_functions,
};

fn constant(name: &str, value: Tensor) -> Arc<Function> {
    let mut b = Builder::new(&CONST);
    let v = b.constant(value);
    Arc::new(Function::new(name, b.finish(&[v]).unwrap()))
}

/// The text of functions, with constants of more than one element by their first.
fn printed(functions: &[Arc<Function>]) -> (String, Vec<String>, HashMap<String, Tensor>) {
    let mut kept = HashMap::new();
    let mut sink = |t: &Tensor| {
        (t.len() > 1).then(|| {
            let key = t.as_slice::<i32>()[0].to_string();
            kept.insert(key.clone(), t.clone());
            key
        })
    };
    let (text, names) = print_functions(functions, &PrintOptions::default(), &mut sink).unwrap();
    (text, names, kept)
}

fn read(text: &str, kept: &HashMap<String, Tensor>) -> Result<Vec<Arc<Function>>> {
    parse_functions(text, &Ops, Resolvers { hosts: &no_hosts, constants: &|key| kept.get(key).cloned() })
}

#[test]
fn constants_that_stand_elsewhere_are_found_by_their_keys() {
    let functions = [constant("f", Tensor::vector(&[7i32, 8])), constant("g", Tensor::from(3i32))];
    let (text, names, kept) = printed(&functions);
    assert_eq!(names, ["f", "g"]);
    assert!(text.contains("const {value=i32[2] from \"7\"}") && text.contains("const {value=i32[] 3}"), "{text}");
    let back = read(&text, &kept).unwrap();
    assert_eq!(back.iter().map(|f| f.name().to_string()).collect::<Vec<_>>(), names);
    assert_eq!(printed(&back).0, text);
    assert_eq!(back[0].graph(), functions[0].graph());

    let alone = parse_function(&text, &Ops, &no_hosts).unwrap_err();
    assert_eq!(alone.to_string(), "2:41: there is no constant \"7\"");
    let other = HashMap::from([("7".to_string(), Tensor::vector(&[7i32]))]);
    assert_eq!(read(&text, &other).unwrap_err().to_string(), "2:41: the constant \"7\" is i32[1], not i32[2]");
}

#[test]
fn functions_of_one_name_get_others_and_what_several_call_is_printed_once() {
    let text = "
        func @inner() -> i32[] {\n %v = const {value=i32[] 1}\n return %v\n}
        func @f() -> i32[] {\n %v = call {func=@inner}\n return %v\n}
        func @g() -> i32[] {\n %v = call {func=@inner}\n return %v\n}";
    let read = parse_functions(text, &Ops, Resolvers { hosts: &no_hosts, constants: &|_| None }).unwrap();
    let [inner, f, g] = <[_; 3]>::try_from(read).unwrap();
    let (text, names, _) = printed(&[f.clone(), g, inner, constant("f", Tensor::from(2i32)), f]);
    assert_eq!(names, ["f", "g", "inner", "f_1", "f"]);
    assert_eq!(text.matches("func @").count(), 4, "{text}");
}

#[test]
fn functions_that_call_each_other_are_freed() {
    for text in [
        "func @f(%x: i32[]) -> i32[] {\n %y: i32[] = call %x {func=@f}\n return %y\n}",
        "func @g(%x: i32[]) -> i32[] {\n %y: i32[] = call %x {func=@f}\n return %y\n}
         func @f(%x: i32[]) -> i32[] {\n %y: i32[] = call %x {func=@g}\n return %y\n}",
        "func @f(%x: i32[]) -> i32[] {\n %y: i32[] = call %x {func=@g}\n return %y\n}
         func @g(%x: i32[]) -> i32[] {\n %y: i32[] = call %x {func=@f}\n return %y\n}
         func @main(%x: i32[]) -> i32[] {\n %y: i32[] = call %x {func=@f}\n return %y\n}",
    ] {
        let function = parse(text).unwrap();
        assert!(parse(&function.to_text()).is_ok());
        let weak: Weak<Function> = Arc::downgrade(&function);
        drop(function);
        assert!(weak.upgrade().is_none(), "{text}");
    }
}

#[test]
fn what_a_text_calls_before_it_is_defined_or_only_declares_is_kept() {
    for text in [
        "func @f() -> i32[] {\n %v = call {func=@g}\n return %v\n}
         func @g() -> i32[] {\n %v = const {value=i32[] 1}\n return %v\n}
         func @main() -> i32[] {\n %v = call {func=@f}\n return %v\n}",
        "func @g() -> i32[]\nfunc @main() -> i32[] {\n %v = call {func=@g}\n return %v\n}",
    ] {
        let function = parse(text).unwrap();
        assert!(function.to_text().contains("func @g()"), "{text}");
    }
}

#[test]
fn locations_are_printed_with_paths_with_names_alone_or_not_at_all() {
    let mut b = Builder::new(&CONST);
    let frame = |file: &str, caller| Frame { file: file.into(), line: 3, column: 1, function: "f".into(), caller };
    let outer = Loc::new(frame("C:\\users\\me\\main.py", None));
    b.set_loc(Loc::new(frame("/home/me/net.py", Some(outer))));
    let v = b.constant(Tensor::from(1i32));
    let function = Arc::new(Function::new("f", b.finish(&[v]).unwrap()));
    let with = |locs| {
        let options = PrintOptions { locs, ..PrintOptions::default() };
        let text = print_functions(std::slice::from_ref(&function), &options, &mut |_| None).unwrap().0;
        text.lines().nth(1).unwrap().split_once(';').map(|(_, loc)| loc.to_string())
    };
    assert_eq!(with(Locations::Names).as_deref(), Some(" net.py:3:1 in f from main.py:3:1 in f"));
    assert!(with(Locations::Full).unwrap().contains("/home/me/net.py:3:1"));
    assert_eq!(with(Locations::None), None);
}
