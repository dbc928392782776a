//! The verifier: what it accepts, and how it names what it does not.

mod common;

use std::sync::Arc;

use common::{ADD, BLOCK, CONST, DRAW, Ops, parse};
use penstock_data::{Class, DType, Loc, Shape, Tensor};
use penstock_ir::{
    Attr, Attrs, Builder, Def, Entity, Function, Graph, Inst, OpSet, Region, Signature, Type, Value, Verified, verify,
    verify_after,
};

/// `%0` and `%1` are inputs; inst0 adds them to `%2`, inst1 has a region with inst2, inst3 adds.
fn graph() -> Graph {
    let mut b = Builder::new(&CONST);
    b.set_loc(Loc::at("a.py", 5, 2));
    let ty = Type::tensor(DType::F32, Shape::known(&[2]));
    let (x, y) = (b.input(ty.clone(), Some("x")), b.input(ty.clone(), None));
    let sum = b.emit(&ADD, &[x, y], &[]).unwrap()[0];
    b.begin_region([ty]);
    let inner = b.emit(&ADD, &[sum, x], &[]).unwrap()[0];
    let region = b.end_region(&[inner]).unwrap();
    let block = b.inst(&BLOCK, &[x], Attrs::EMPTY, &[region]).unwrap();
    let result = b.results(block)[0];
    let last = b.emit(&ADD, &[sum, result], &[]).unwrap()[0];
    let graph = b.finish(&[last]).unwrap();
    verify(&graph).unwrap();
    assert_eq!(penstock_ir::compact(&penstock_ir::compact(&graph)), penstock_ir::compact(&graph));
    penstock_ir::compact(&graph)
}

fn inst(i: usize) -> Inst {
    Inst::new(i)
}

fn value(i: usize) -> Value {
    Value::new(i)
}

fn region(i: usize) -> Region {
    Region::new(i)
}

/// The error after `change`.
#[track_caller]
fn broken(change: impl FnOnce(&mut Graph)) -> String {
    let mut graph = graph();
    change(&mut graph);
    verify(&graph).expect_err("the verifier accepts it").to_string()
}

#[test]
fn the_graph_of_these_tests_is_what_they_say() {
    assert_eq!(
        graph().to_string(),
        r#"func @main(%0 "x": f32[2], %1: f32[2]) -> f32[2] {
  %2: f32[2] = add %0, %1                                       ; a.py:5:2
  %3: f32[2] = block %0 ((%4: f32[2]) {
    %5: f32[2] = add %2, %0                                     ; a.py:5:2
    yield %5
  })                                                            ; a.py:5:2
  %6: f32[2] = add %2, %3                                       ; a.py:5:2
  return %6
}
"#
    );
}

#[test]
fn uses_must_be_defined_and_in_scope() {
    assert_eq!(
        broken(|g| g.insts[inst(0)].operands[1] = value(6)),
        "add: %6 is used before it is defined (in inst0: %2 = add %0, %6)"
    );
    assert_eq!(
        broken(|g| g.insts[inst(3)].operands[1] = value(5)),
        "add: %5 is out of scope (in inst3: %6 = add %2, %5)"
    );
    assert_eq!(
        broken(|g| g.insts[inst(2)].operands[1] = value(3)),
        "add: %3 is used before it is defined (in inst2: %5 = add %2, %3)"
    );
    assert_eq!(
        broken(|g| g.insts[inst(2)].operands[1] = value(99)),
        "add: %99 does not exist (in inst2: %5 = add %2, %99)"
    );
    assert_eq!(broken(|g| g.regions[region(0)].results[0] = value(5)), "%5 is out of scope as a result of region0");
    assert_eq!(
        broken(|g| g.regions[region(1)].results[0] = value(6)),
        "block: %6 is used before it is defined as a result of region1 (in inst1: %3 = block %0)"
    );
}

#[test]
fn everything_listed_has_one_place() {
    assert_eq!(
        broken(|g| g.regions[region(0)].insts.push(inst(0))),
        "add: the instruction has two places (in inst0: %2 = add %0, %1)"
    );
    assert_eq!(broken(|g| g.regions[region(0)].insts.push(inst(9))), "region0 lists inst9, which does not exist");
    assert_eq!(
        broken(|g| g.insts[inst(1)].regions.push(region(1))),
        "block: region1 has two places (in inst1: %3 = block %0)"
    );
    assert_eq!(
        broken(|g| g.insts[inst(1)].regions[0] = region(0)),
        "block: region0 has two places (in inst1: %3 = block %0)"
    );
    assert_eq!(
        broken(|g| g.insts[inst(1)].regions[0] = region(7)),
        "block: region7 does not exist (in inst1: %3 = block %0)"
    );
    assert_eq!(
        broken(|g| g.insts[inst(3)].results[0] = value(2)),
        "add: %2 is defined twice (in inst3: %2 = add %2, %3)"
    );
}

#[test]
fn records_agree_with_places() {
    assert!(
        broken(|g| g.values[value(2)].def = Def::Param(0)).starts_with("add: %2 is recorded as Param(0) of region0")
    );
    assert!(broken(|g| g.values[value(5)].region = region(0)).contains("but stands as Result(inst2, 0) of region1"));
    assert_eq!(
        broken(|g| {
            g.locs.push(Loc::UNKNOWN);
        }),
        "4 instructions have 5 locations"
    );
    assert_eq!(
        broken(|g| {
            g.names.insert(value(50), "n".into());
        }),
        "%50 has a name but does not exist"
    );
    assert_eq!(verify(&Graph::default()).unwrap_err().to_string(), "the graph has no body");
}

#[test]
fn operands_attributes_and_types_are_as_declared() {
    assert_eq!(
        broken(|g| g.insts[inst(0)].operands.truncate(1)),
        "add: takes 2 operand(s), got 1 (in inst0: %2 = add %0)"
    );
    assert_eq!(
        broken(|g| g.values[value(1)].ty = Type::tensor(DType::I32, Shape::known(&[2]))),
        "add: argument 'y': has dtype int32, but argument 'x' has dtype float32; dtypes are never converted implicitly, \
         use cast (in inst0: %2 = add %0, %1)"
    );
    assert_eq!(
        broken(|g| g.values[value(1)].ty = Type::tensor(DType::F32, Shape::known(&[3]))),
        "add: [2] and [3] do not broadcast (in inst0: %2 = add %0, %1)"
    );
    assert_eq!(
        broken(|g| g.values[value(2)].ty = Type::tensor(DType::F32, Shape::known(&[3]))),
        "add: result 0 has type f32[3], but the inferred type is f32[2] (in inst0: %2 = add %0, %1)"
    );
    assert_eq!(
        broken(|g| g.insts[inst(0)].attrs = Attrs::EMPTY),
        "add: has 0 attribute(s), but declares 1 (in inst0: %2 = add %0, %1)"
    );
    assert_eq!(
        broken(|g| g.insts[inst(0)].attrs.0[0] = Attr::Int(1)),
        "add: argument 'swap': expected Bool, got Int(1) (in inst0: %2 = add %0, %1)"
    );
    assert_eq!(
        broken(|g| g.insts[inst(0)].results.clear()),
        "add: has 0 result(s), but gives 1 (in inst0:  = add %0, %1)".replace(":  = ", ": ")
    );
}

#[test]
fn errors_carry_class_operator_and_location() {
    let mut g = graph();
    g.values[value(1)].ty = Type::tensor(DType::I32, Shape::known(&[2]));
    let e = verify(&g).unwrap_err();
    assert_eq!((e.class(), e.op(), e.loc()), (Class::DType, Some("add"), Some(Loc::at("a.py", 5, 2))));
}

#[test]
fn a_pass_is_named() {
    let mut g = graph();
    assert!(verify_after(&g, "fuse").is_ok());
    g.insts[inst(0)].operands.clear();
    let e = verify_after(&g, "fuse").unwrap_err();
    assert_eq!(e.class(), Class::Internal);
    assert_eq!(
        e.to_string(),
        "the graph is wrong after the pass 'fuse': add: takes 2 operand(s), got 0 (in inst0: %2 = add)"
    );
    assert_eq!(e.loc(), Some(Loc::at("a.py", 5, 2)));
}

#[test]
fn instructions_that_are_not_listed_may_be_broken() {
    let mut b = Builder::new(&CONST);
    let v = b.constant(Tensor::from(1.0f32));
    b.emit(&DRAW, &[], &[]).unwrap();
    let mut g = b.finish(&[v]).unwrap().into_graph();
    g.regions[region(0)].insts.pop();
    g.insts[inst(1)].operands.push(value(77));
    assert!(verify(&g).is_ok());
}

#[test]
fn what_was_verified_is_changed_only_by_way_of_the_verifier() {
    let mut g = Verified::new(graph()).unwrap().into_graph();
    assert!(Verified::new(g.clone()).is_ok());
    g.insts[inst(0)].operands.clear();
    assert_eq!(Verified::new(g).unwrap_err().class(), Class::InvalidArgument);
}

/// A builder with an input and a region of two results, both of which are that input.
fn with_region() -> (Builder, Value, Region) {
    let mut b = Builder::new(&CONST);
    let x = b.input(Type::tensor(DType::F32, Shape::known(&[2])), None);
    b.begin_region([Type::scalar(DType::F32)]);
    let region = b.end_region(&[x]).unwrap();
    (b, x, region)
}

#[test]
fn a_region_has_one_place_once_it_is_finished() {
    let refused = |b: &mut Builder, x: Value, regions: &[Region]| {
        b.inst(&BLOCK, &[x], Attrs::EMPTY, regions).unwrap_err().message().to_string()
    };
    let (mut b, x, r) = with_region();
    assert_eq!(refused(&mut b, x, &[r, r]), "region1 has two places");
    assert_eq!(refused(&mut b, x, &[region(0)]), "region0 has a place already");
    assert_eq!(refused(&mut b, x, &[region(7)]), "region7 is of another graph");
    let open = b.begin_region([]);
    assert_eq!(refused(&mut b, x, &[open]), "region2 is not finished");
    b.abandon_region();
    assert_eq!(refused(&mut b, x, &[open]), "region2 is not finished");
    let block = b.inst(&BLOCK, &[x], Attrs::EMPTY, &[r]).unwrap();
    assert_eq!(refused(&mut b, x, &[r]), "region1 has a place already");
    let y = b.results(block)[0];
    verify(&b.finish(&[y]).unwrap()).unwrap();
}

#[test]
fn a_builder_whose_graph_was_changed_in_place_has_it_verified() {
    // A value that comes later is used in a region that was opened again.
    let (mut b, x, r) = with_region();
    let block = b.inst(&BLOCK, &[x], Attrs::EMPTY, &[r]).unwrap();
    let y = b.results(block)[0];
    b.reopen_region(r).unwrap();
    b.emit(&ADD, &[y, y], &[]).unwrap();
    b.end_region(&[x]).unwrap();
    assert!(b.finish(&[y]).unwrap_err().message().starts_with("%2 is used before it is defined"));

    let (mut b, x, _) = with_region();
    let sum = b.emit(&ADD, &[x, x], &[]).unwrap()[0];
    b.graph_mut().insts[inst(0)].operands.clear();
    assert!(b.finish(&[sum]).is_err());
}

#[test]
fn what_belongs_to_another_graph_or_operator_is_an_error() {
    let (mut b, x, _) = with_region();
    assert!(b.reopen_region(region(9)).is_err() && b.refine(value(9), &Shape::UNRANKED).is_err());
    b.name(value(9), "name");
    assert!(b.ty(value(9)).is_none() && b.results(inst(9)).is_empty());
    let error = b.inst(&ADD, &[x, x], Attrs(smallvec::smallvec![Attr::Int(1)]), &[]).unwrap_err();
    assert_eq!(error.argument_name(), Some("swap"));
    verify(&b.finish(&[x]).unwrap()).unwrap();
}

#[test]
fn a_function_is_defined_once_as_it_is_declared() {
    let graph = |ty: Type| {
        let mut b = Builder::new(&CONST);
        let x = b.input(ty, None);
        b.finish(&[x]).unwrap()
    };
    let (open, two) = (Type::tensor(DType::F32, Shape::UNRANKED), Type::tensor(DType::F32, Shape::known(&[2])));
    let declared = |param: &Type, result: &Type| {
        Function::declare("f", Signature { params: vec![param.clone()], results: vec![result.clone()] })
    };
    let other = Type::tensor(DType::F32, Shape::known(&[3]));
    let error = declared(&open, &other).define(graph(two.clone())).unwrap_err();
    assert_eq!(error.message(), "@f is declared as (f32[*]) -> (f32[3]), but defined as (f32[2]) -> (f32[2])");
    let int = Type::tensor(DType::I32, Shape::UNRANKED);
    assert_eq!(declared(&int, &two).define(graph(two.clone())).unwrap_err().class(), Class::InvalidArgument);
    declared(&open, &open).define(graph(two.clone())).unwrap();
    let f = declared(&two, &open);
    f.define(graph(two.clone())).unwrap();
    assert_eq!(f.define(graph(two)).unwrap_err().class(), Class::FailedPrecondition);
}

#[test]
fn what_is_read_is_verified() {
    assert!(Ops.find("add").is_some());
    let function: Arc<_> = parse("func @main(%0: f32[]) -> f32[] {\n%1 = add %0, %0\nreturn %1\n}").unwrap();
    verify(function.graph().unwrap()).unwrap();
}
