//! What the optimiser makes of small graphs.

use penstock_data::{DType, Dim, Loc, Shape, Symbol, Table, Tensor};
use penstock_ir::{Attr, Attrs, Builder, FuncRef, Function, OpDef, OpSet, Type, Value, Verified};
use penstock_ops::control::{CALL, COND, CONST, WHILE};
use penstock_passes::{Options, optimize, optimize_for, specialise};

fn op(name: &str) -> &'static OpDef {
    penstock_ops::Ops.find(name).unwrap()
}

fn emit(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    b.emit(op(name), operands, &[]).unwrap()[0]
}

fn build(f: impl FnOnce(&mut Builder) -> Vec<Value>) -> Verified {
    let mut builder = Builder::new(&CONST);
    let outputs = f(&mut builder);
    builder.finish(&outputs).unwrap()
}

fn f32s(dims: &[usize]) -> Type {
    Type::tensor(DType::F32, Shape::known(dims))
}

/// The operators of a graph, those of regions after their owner.
fn ops(graph: &Verified) -> Vec<&'static str> {
    let mut out = Vec::new();
    graph.visit(&mut |_, _, data| out.push(data.op.0.name));
    out
}

fn optimized(f: impl FnOnce(&mut Builder) -> Vec<Value>) -> Verified {
    optimize(&build(f)).unwrap()
}

#[test]
fn constants_fold_but_failing_ones_are_left_to_fail() {
    let graph = optimized(|b| {
        let (two, three) = (b.constant(Tensor::from(2i32)), b.constant(Tensor::from(3i32)));
        let zero = b.constant(Tensor::from(0i32));
        let five = emit(b, "add", &[two, three]);
        vec![emit(b, "mul", &[five, five]), emit(b, "floordiv", &[two, zero])]
    });
    assert_eq!(graph.constant(graph.outputs()[0]).and_then(|t| t.item::<i32>()), Some(25));
    assert!(ops(&graph).contains(&"floordiv"));
}

#[test]
fn constants_become_one_only_where_they_are_equal() {
    let table = |value: &str| {
        let mut table = Table::new(DType::I32, &[], DType::Str, &[]);
        table
            .insert(&Tensor::vector(&[1i32]), &Tensor::from_strings(&[1], vec![value.as_bytes().into()]).unwrap())
            .unwrap();
        Tensor::from_table(table)
    };
    // Too large to be looked at: two halves of the same memory.
    let large = Tensor::from_slice(&[2, 5000], &[1.5f32; 10_000]).unwrap();
    let half = |i: usize| large.rows(i, 1).unwrap();
    let pairs = [
        (table("a"), table("b"), false),
        (half(0), half(1), false),
        (Tensor::from("a"), Tensor::from("b"), false),
        (Tensor::from(0.0f32), Tensor::from(-0.0f32), false),
        (table("a"), table("a"), true),
        (half(1), half(1), true),
        (Tensor::from("a"), Tensor::from("a"), true),
    ];
    for (first, second, one) in pairs {
        let graph = optimized(|b| vec![b.constant(first.clone()), b.constant(second.clone())]);
        let outputs = graph.outputs();
        assert_eq!(outputs[0] == outputs[1], one, "{first:?} and {second:?}");
        assert_eq!(graph.constant(outputs[1]), Some(&second));
    }
}

#[test]
fn what_is_transposed_back_may_meet_what_is_not_where_extents_are_equal() {
    let cube: Vec<f32> = (0..27).map(|i| (i * 7 % 11) as f32).collect();
    let program = || {
        build(|b| {
            let x = b.constant(Tensor::from_slice(&[3, 3, 3], &cube).unwrap());
            let perm = [("perm", [2i64, 1, 0][..].into())];
            let turned = b.emit(op("transpose"), &[x], &perm).unwrap()[0];
            let square = emit(b, "square", &[turned]);
            let back = b.emit(op("transpose"), &[square], &perm).unwrap()[0];
            let negative = emit(b, "neg", &[turned]);
            vec![emit(b, "sub", &[back, negative])]
        })
    };
    let made = optimize(&program()).unwrap();
    let due: Vec<f32> = (0..27).map(|i| cube[i] * cube[i] + cube[i % 3 * 9 + i / 3 % 3 * 3 + i / 9]).collect();
    assert_eq!(made.constant(made.outputs()[0]).map(|t| t.as_slice::<f32>()), Some(&due[..]));
}

#[test]
fn what_depends_on_a_shape_alone_is_a_constant_where_it_is_small() {
    let of = |dims: &[usize]| {
        optimized(|b| {
            let x = b.input(f32s(dims), None);
            vec![emit(b, "zeros_like", &[x]), emit(b, "ones_like", &[x])]
        })
    };
    let graph = of(&[2, 3]);
    for (&v, n) in graph.outputs().iter().zip([0.0f32, 1.0]) {
        let value = graph.constant(v).unwrap();
        assert_eq!((value.dims(), value.as_slice::<f32>()), (&[2, 3][..], &[n; 6][..]));
    }
    assert_eq!(ops(&of(&[0])), ["const"]);
    assert_eq!(ops(&of(&[1 << 20])), ["zeros_like", "ones_like"]);
}

#[test]
fn rules_respect_signed_zeros() {
    let add = |zero: f32| {
        optimized(|b| {
            let (x, zero) = (b.input(f32s(&[3]), None), b.constant(Tensor::from(zero)));
            vec![emit(b, "add", &[x, zero])]
        })
    };
    assert_eq!(ops(&add(-0.0)), [""; 0]);
    assert_eq!(ops(&add(0.0)), ["const", "add"]);
}

#[test]
fn a_neutral_constant_that_widens_the_shape_stays() {
    let graph = optimized(|b| {
        let (x, ones) = (b.input(f32s(&[3]), None), b.constant(Tensor::from_slice(&[2, 1], &[1.0f32; 2]).unwrap()));
        vec![emit(b, "mul", &[x, ones])]
    });
    assert_eq!(ops(&graph), ["const", "mul"]);
}

#[test]
fn common_and_dead_instructions_go_and_names_and_places_stay() {
    let graph = optimized(|b| {
        let x = b.input(f32s(&[3]), Some("x"));
        b.set_loc(Loc::at("user.py", 3, 1));
        let a = emit(b, "exp", &[x]);
        let dead = emit(b, "neg", &[a]);
        let _ = emit(b, "neg", &[dead]);
        let c = emit(b, "exp", &[x]);
        b.name(c, "activation");
        vec![emit(b, "mul", &[a, c])]
    });
    assert_eq!(ops(&graph), ["exp", "mul"]);
    let exp = graph.regions[graph.body()].insts[0];
    assert_eq!(graph.locs[exp].to_string(), "user.py:3:1");
    assert_eq!(&*graph.names[&graph.insts[exp].results[0]], "activation");
    assert_eq!(&*graph.names[&graph.inputs()[0]], "x");
}

#[test]
fn effects_are_neither_dropped_nor_merged() {
    let graph = optimized(|b| {
        let v = b.input(Type::Variable(DType::F32, Shape::scalar()), None);
        let one = b.constant(Tensor::from(1.0f32));
        b.emit(op("assign_add"), &[v, one], &[]).unwrap();
        b.emit(op("assign_add"), &[v, one], &[]).unwrap();
        vec![]
    });
    assert_eq!(ops(&graph), ["const", "assign_add", "assign_add"]);
}

#[test]
fn a_known_branch_takes_the_place_of_its_conditional() {
    let graph = optimized(|b| {
        let (x, pred) = (b.input(f32s(&[3]), None), b.constant(Tensor::from(false)));
        b.begin_region([]);
        let yes = emit(b, "exp", &[x]);
        let yes = b.end_region(&[yes]).unwrap();
        b.begin_region([]);
        let no = emit(b, "neg", &[x]);
        let no = b.end_region(&[no]).unwrap();
        let inst = b.inst(&COND, &[pred], Attrs::EMPTY, &[yes, no]).unwrap();
        b.results(inst).to_vec()
    });
    assert_eq!(ops(&graph), ["neg"]);
}

#[test]
fn calls_are_inlined_and_their_symbols_become_sizes() {
    let open = Type::tensor(DType::F32, Shape::new([Dim::Sym(Symbol(0))]));
    let callee = build(|b| {
        let x = b.input(open.clone(), None);
        // A loop whose variable is typed by the callee's symbol.
        let cond = b.begin_region([open.clone()]);
        let x0 = b.params(cond)[0];
        let total = emit(b, "reduce_sum", &[x0]);
        let limit = b.constant(Tensor::from(10.0f32));
        let go = emit(b, "less", &[total, limit]);
        let cond = b.end_region(&[go]).unwrap();
        let body = b.begin_region([open.clone()]);
        let x1 = b.params(body)[0];
        let next = emit(b, "add", &[x1, x1]);
        let body = b.end_region(&[next]).unwrap();
        let inst = b.inst(&WHILE, &[x], Attrs::EMPTY, &[cond, body]).unwrap();
        b.results(inst).to_vec()
    });
    let function = FuncRef::new(Function::new("f", callee).into());
    let graph = optimized(|b| {
        let x = b.input(f32s(&[5]), None);
        b.emit(&CALL, &[x], &[("func", Attr::Func(function))]).unwrap().to_vec()
    });
    assert!(!ops(&graph).contains(&"call"));
    assert_eq!(*graph.ty(graph.outputs()[0]), f32s(&[5]));
}

/// `tanh(c - sum c)` and `exp x`, where `c = 2 exp x`.
fn centred(axes: &[i64]) -> Verified {
    build(|b| {
        let x = b.input(f32s(&[100, 100]), None);
        let two = b.constant(Tensor::from(2.0f32));
        let a = emit(b, "exp", &[x]);
        let c = emit(b, "mul", &[a, two]);
        let attrs = [("axes", axes.to_vec().into()), ("keepdims", true.into())];
        let sum = b.emit(op("reduce_sum"), &[c], &attrs).unwrap()[0];
        let d = emit(b, "sub", &[c, sum]);
        let e = emit(b, "tanh", &[d]);
        vec![e, a]
    })
}

#[test]
fn instructions_fuse_up_to_what_reads_them_between() {
    // What a row leaves is read again while the row is in the cache.
    for axes in [&[1][..], &[0, 1]] {
        let fused = optimize(&centred(axes)).unwrap();
        assert_eq!(ops(&fused), ["const", "fused", "exp", "mul", "reduce_sum", "sub", "tanh"]);
    }
    // What a column leaves is known only after all rows.
    let graph = centred(&[0]);
    let fused = optimize(&graph).unwrap();
    assert_eq!(ops(&fused), ["const", "fused", "exp", "mul", "reduce_sum", "fused", "sub", "tanh"]);
    let types: Vec<Type> = vec![f32s(&[100, 100])];
    let skipped = Options { skip: vec!["fuse".into()], ..Options::default() };
    assert!(!ops(&optimize_for(&graph, &types, &skipped).unwrap()).contains(&"fused"));
    let no_fuel = Options { fuel: 0, ..Options::default() };
    assert_eq!(ops(&optimize_for(&graph, &types, &no_fuel).unwrap()), ops(&graph));
}

#[test]
fn a_branch_that_makes_dead_code_ill_shaped_is_taken_or_left_alone() {
    let make = |live: bool| {
        build(|b| {
            let (x, z, y) = (b.input(f32s(&[2]), None), b.input(f32s(&[3]), None), b.input(f32s(&[3]), None));
            let taken = b.constant(Tensor::from(true));
            let then = b.begin_region([]);
            b.end_region(&[x]).unwrap();
            let otherwise = b.begin_region([]);
            b.end_region(&[z]).unwrap();
            let inst = b.inst(&COND, &[taken], Attrs::EMPTY, &[then, otherwise]).unwrap();
            let r = b.results(inst)[0];
            let sum = emit(b, "add", &[r, y]);
            vec![if live { sum } else { r }]
        })
    };
    assert_eq!(ops(&optimize(&make(true)).unwrap()), ["placeholder_with_default", "add"]);
    let dead = optimize(&make(false)).unwrap();
    penstock_ir::verify(&dead).unwrap();
    assert!(!ops(&dead).contains(&"add"));
}

fn open(rank: usize) -> Type {
    Type::tensor(DType::F32, Shape::of_rank(rank).unwrap())
}

#[test]
fn what_inference_rejects_for_sizes_at_hand_is_left_to_fail_when_it_runs() {
    let graph = build(|b| {
        let (x, y) = (b.input(open(1), None), b.input(open(1), None));
        vec![emit(b, "add", &[x, y])]
    });
    let rejected = specialise(&graph, &[f32s(&[2]), f32s(&[3])]).unwrap();
    penstock_ir::verify(&rejected).unwrap();
    assert_eq!(ops(&rejected), ["placeholder_with_default", "placeholder_with_default", "add"]);
    assert_eq!(ops(&specialise(&graph, &[f32s(&[2]), f32s(&[1])]).unwrap()), ["add"]);
}

#[test]
fn what_sizes_tell_is_computed_and_the_branch_that_they_choose_is_left() {
    let graph = build(|b| {
        let x = b.input(open(2), None);
        let (shape, axis) = (emit(b, "shape", &[x]), b.constant(Tensor::vector(&[0i32])));
        let one = b.constant(Tensor::vector(&[1i32]));
        let pick = [("shrink_axis_mask", Attr::Int(1))];
        let rows = b.emit(op("strided_slice"), &[shape, axis, one, one], &pick).unwrap()[0];
        let size = emit(b, "size", &[x]);
        let square = emit(b, "equal", &[rows, size]);
        b.begin_region([]);
        let flat = emit(b, "neg", &[x]);
        let yes = b.end_region(&[flat]).unwrap();
        b.begin_region([]);
        let no = b.end_region(&[x]).unwrap();
        let inst = b.inst(&COND, &[square], Attrs::EMPTY, &[yes, no]).unwrap();
        b.results(inst).to_vec()
    });
    let (column, wide) = (f32s(&[3, 1]), f32s(&[3, 2]));
    assert_eq!(ops(&optimize_for(&graph, &[column], &Options::default()).unwrap()), ["neg"]);
    assert!(ops(&optimize_for(&graph, &[wide], &Options::default()).unwrap()).is_empty());
}

/// `for _ in range(n): list.push(x)`, and `list[0]` behind it.
fn pushed(x: Type) -> Verified {
    build(|b| {
        let (x, n) = (b.input(x, None), b.input(Type::scalar(DType::I64), None));
        let (zero, one) = (b.constant(Tensor::from(0i64)), b.constant(Tensor::from(1i64)));
        let list = emit(b, "list_new", &[zero]);
        let types = [Type::scalar(DType::I64), Type::scalar(DType::Variant)];
        let cond = b.begin_region(types.clone());
        let i = b.params(cond)[0];
        let go = emit(b, "less", &[i, n]);
        let cond = b.end_region(&[go]).unwrap();
        let body = b.begin_region(types);
        let (i, list_in) = (b.params(body)[0], b.params(body)[1]);
        let next = emit(b, "add", &[i, one]);
        let shape = b.emit(op("shape"), &[x], &[("dtype", DType::I64.into())]).unwrap()[0];
        let grown = emit(b, "list_push", &[list_in, shape]);
        let body = b.end_region(&[next, grown]).unwrap();
        let inst = b.inst(&WHILE, &[zero, list], Attrs::EMPTY, &[cond, body]).unwrap();
        let list = b.results(inst)[1];
        let any = b.constant(Tensor::vector(&[-1i64]));
        b.emit(op("list_get"), &[list, zero, any], &[("dtype", DType::I64.into())]).unwrap().to_vec()
    })
}

#[test]
fn what_is_read_from_a_list_of_equal_shapes_is_that_shape() {
    let graph = pushed(open(2));
    let known = specialise(&graph, &[f32s(&[3, 4]), Type::scalar(DType::I64)]).unwrap();
    let value = known.constant(known.outputs()[0]).unwrap();
    assert_eq!(value.as_slice::<i64>(), [3, 4]);
    let partly = Type::tensor(DType::F32, Shape::new([Dim::Sym(Symbol(7)), Dim::Known(4)]));
    let partly = specialise(&graph, &[partly, Type::scalar(DType::I64)]).unwrap();
    assert_eq!(*partly.ty(partly.outputs()[0]), Type::tensor(DType::I64, Shape::known(&[2])));
}

#[test]
fn reads_of_a_variable_are_merged_up_to_the_next_write() {
    let read = |b: &mut Builder, v: Value| emit(b, "read_variable", &[v]);
    let graph = optimized(|b| {
        let v = b.input(Type::Variable(DType::F32, Shape::known(&[2])), None);
        let p = b.input(Type::scalar(DType::Bool), None);
        let (first, second) = (read(b, v), read(b, v));
        let sum = emit(b, "mul", &[first, second]);
        let then = b.begin_region([]);
        let inner = read(b, v);
        b.emit(op("assign_add"), &[v, inner], &[]).unwrap();
        let changed = read(b, v);
        b.end_region(&[changed]).unwrap();
        let otherwise = b.begin_region([]);
        b.end_region(&[sum]).unwrap();
        let inst = b.inst(&COND, &[p], Attrs::EMPTY, &[then, otherwise]).unwrap();
        let r = b.results(inst)[0];
        let last = read(b, v);
        vec![emit(b, "add", &[r, last])]
    });
    let reads = ops(&graph).iter().filter(|name| **name == "read_variable").count();
    // Before the branch, after the write in it, and after it.
    assert_eq!(reads, 3, "{graph}");
    let in_loop = optimized(|b| {
        let v = b.input(Type::Variable(DType::F32, Shape::scalar()), None);
        let limit = b.input(Type::scalar(DType::F32), None);
        let first = read(b, v);
        let cond = b.begin_region([Type::scalar(DType::F32)]);
        let now = read(b, v);
        let go = emit(b, "less", &[now, limit]);
        b.end_region(&[go]).unwrap();
        let body = b.begin_region([Type::scalar(DType::F32)]);
        let x = b.params(body)[0];
        b.emit(op("assign_add"), &[v, first], &[]).unwrap();
        b.end_region(&[x]).unwrap();
        let inst = b.inst(&WHILE, &[first], Attrs::EMPTY, &[cond, body]).unwrap();
        b.results(inst).to_vec()
    });
    assert_eq!(ops(&in_loop).iter().filter(|name| **name == "read_variable").count(), 2, "{in_loop}");
}

#[test]
fn unused_loop_variables_and_branch_results_are_dropped() {
    let graph = optimized(|b| {
        let (x, p) = (b.input(f32s(&[2]), None), b.input(Type::scalar(DType::Bool), None));
        let types = [f32s(&[2]), f32s(&[2])];
        let cond = b.begin_region(types.clone());
        b.end_region(&[p]).unwrap();
        let body = b.begin_region(types);
        let (a, c) = (b.params(body)[0], b.params(body)[1]);
        let (a, c) = (emit(b, "sin", &[a]), emit(b, "exp", &[c]));
        b.end_region(&[a, c]).unwrap();
        let inst = b.inst(&WHILE, &[x, x], Attrs::EMPTY, &[cond, body]).unwrap();
        let kept = b.results(inst)[0];
        let then = b.begin_region([]);
        let t = emit(b, "tanh", &[x]);
        b.end_region(&[t, kept]).unwrap();
        let otherwise = b.begin_region([]);
        b.end_region(&[x, x]).unwrap();
        let inst = b.inst(&COND, &[p], Attrs::EMPTY, &[then, otherwise]).unwrap();
        vec![b.results(inst)[1]]
    });
    penstock_ir::verify(&graph).unwrap();
    assert_eq!(ops(&graph), ["native", "while", "sin", "cond"], "{graph}");
}
