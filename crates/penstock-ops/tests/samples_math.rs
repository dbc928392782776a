//! What the arithmetic operators promise beyond what their samples check.

mod common;

use common::{Eager, Sight, Step, eval, op, run};
use penstock_data::{C128, Class, DType, Dim, Shape, Tensor};
use penstock_ir::{ArgType, Attr, Builder, Emitter, Type, Value, Vjp, VjpCx};
use penstock_ops::samples::{strings, tensor};

fn f64s(dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_slice(dims, values).expect("the values fill the extents")
}

fn scalar(value: f64) -> Tensor {
    Tensor::from(value)
}

/// The cotangents of the operands for a cotangent of ones.
fn gradient(name: &str, inputs: &[Tensor], attrs: &[(&str, Attr)]) -> Vec<Vec<f64>> {
    let op = op(name);
    let attrs = op.attributes(attrs).expect("attributes");
    let mut eager = Eager::new(Sight::Types);
    let operands: Vec<Value> = inputs.iter().map(|t| eager.add(t.clone())).collect();
    let results = eager.emit_attrs(op, &operands, attrs.clone()).expect("evaluation");
    let ones = tensor(DType::F64, eager.get(results[0]).dims(), &[1.0]);
    let mut grads = vec![None; results.len()];
    grads[0] = Some(eager.add(ones));
    let step = Step { op, operands, attrs, results: results.to_vec() };
    let out = eager.vjp(&step, &grads, &vec![true; inputs.len()]).expect("a gradient");
    out.into_iter().map(|g| eager.get(g.expect("a cotangent")).as_slice::<f64>().to_vec()).collect()
}

#[test]
fn kinks_have_the_derivatives_of_tensorflow() {
    let at = |name, x: f64| gradient(name, &[scalar(x)], &[])[0][0];
    assert_eq!(at("relu", 0.0), 0.0);
    assert_eq!((at("relu6", 0.0), at("relu6", 6.0)), (0.0, 0.0));
    assert_eq!(at("abs", 0.0), 0.0);
    assert_eq!(at("sqrt", 0.0), f64::INFINITY);
    assert_eq!((at("elu", 0.0), at("selu", 0.0)), (1.0, 1.050_700_987_355_480_5));
    assert_eq!(gradient("maximum", &[scalar(2.0), scalar(2.0)], &[]), [[1.0], [0.0]]);
    assert_eq!(gradient("minimum", &[scalar(2.0), scalar(2.0)], &[]), [[1.0], [0.0]]);
    let ties = f64s(&[4], &[3.0, 1.0, 3.0, 2.0]);
    assert_eq!(gradient("reduce_max", &[ties], &[]), [[0.5, 0.0, 0.5, 0.0]]);
}

#[test]
fn derivatives_at_zero_are_not_nan() {
    let at = |name, x: f64, y: f64| gradient(name, &[scalar(x), scalar(y)], &[]).concat();
    assert_eq!(at("pow", 0.0, 0.0), [0.0, 0.0]);
    assert_eq!(at("pow", 0.0, 1.0), [1.0, 0.0]);
    assert_eq!(at("pow", 0.0, 2.0), [0.0, 0.0]);
    assert_eq!(at("pow", -2.0, 3.0), [12.0, 0.0]);
    assert_eq!(at("xlogy", 0.0, 0.0), [0.0, 0.0]);
    assert_eq!(at("xdivy", 0.0, 0.0), [0.0, 0.0]);
    assert_eq!(at("divide_no_nan", 3.0, 0.0), [0.0, 0.0]);
    assert_eq!(at("multiply_no_nan", f64::INFINITY, 0.0)[0], 0.0);
    let zeros = |values: &[f64]| gradient("reduce_prod", &[f64s(&[3], values)], &[]).concat();
    assert_eq!(zeros(&[2.0, 0.0, 5.0]), [0.0, 10.0, 0.0]);
    assert_eq!(zeros(&[2.0, 0.0, 0.0]), [0.0, 0.0, 0.0]);
}

#[test]
fn a_known_exponent_gives_the_derivative_without_a_logarithm() {
    for (exponent, slope) in [(0.0, 0.0), (1.0, 1.0), (2.0, 6.0), (3.0, 27.0), (-1.0, -1.0 / 9.0)] {
        let mut eager = Eager::new(Sight::Values);
        let operands = [eager.add(scalar(3.0)), eager.add(scalar(exponent))];
        let results = eager.emit_attrs(op("pow"), &operands, op("pow").attributes(&[]).unwrap()).unwrap();
        let one = eager.add(scalar(1.0));
        let step = Step {
            op: op("pow"),
            operands: operands.into(),
            attrs: op("pow").attributes(&[]).unwrap(),
            results: results.to_vec(),
        };
        let got = eager.vjp(&step, &[Some(one)], &[true, false]).unwrap()[0].unwrap();
        assert!((eager.get(got).item::<f64>().unwrap() - slope).abs() < 1e-12, "exponent {exponent}");
        assert!(eager.tape.iter().all(|s| s.op.name != "log"));
    }
}

/// The instructions that a rule adds to a graph for symbolic operands, and the types of the cotangents.
fn rule_in_graph(name: &str, shapes: &[Shape]) -> (Vec<&'static str>, Vec<Type>) {
    let op = op(name);
    let mut builder = Builder::new(common::op("const"));
    let operands: Vec<Value> =
        shapes.iter().map(|s| builder.input(Type::tensor(DType::F32, s.clone()), None)).collect();
    let attrs = op.attributes(&[]).expect("attributes");
    let results = builder.emit_attrs(op, &operands, attrs.clone()).expect("inference");
    let grads: Vec<Option<Value>> = results
        .iter()
        .map(|&r| builder.type_of(r))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|t| Some(builder.input(t, None)))
        .collect();
    let Vjp::Rule(rule) = op.vjp else { panic!("{name} has a rule") };
    let needed = vec![true; operands.len()];
    let out = rule(&mut VjpCx {
        emit: &mut builder,
        ops: &penstock_ops::RULE_OPS,
        attrs: &attrs,
        inputs: &operands,
        outputs: &results,
        grads: &grads,
        needed: &needed,
    })
    .expect("a rule");
    let types = out.iter().flatten().map(|&v| builder.type_of(v)).collect();
    let mut names = Vec::new();
    builder.graph().visit(&mut |_, _, inst| names.push(inst.op.name));
    (names.split_off(1), types)
}

#[test]
fn gradients_of_broadcast_operands_keep_what_is_known_of_their_shapes() {
    let mut builder = Builder::new(common::op("const"));
    let (batch, other) = (Dim::Sym(builder.fresh_symbol()), Dim::Sym(builder.fresh_symbol()));
    let shape = |dims: &[Dim]| Shape::new(dims.iter().copied());
    let (x, bias) = (shape(&[batch, 10.into()]), shape(&[10.into()]));
    let (names, types) = rule_in_graph("add", &[x.clone(), bias.clone()]);
    assert_eq!(names, ["reduce_sum"]);
    assert_eq!(types, [Type::tensor(DType::F32, x.clone()), Type::tensor(DType::F32, bias.clone())]);
    assert_eq!(rule_in_graph("add", &[x.clone(), x.clone()]).0, [] as [&str; 0]);
    assert_eq!(rule_in_graph("bias_add", &[x.clone(), bias]).0, ["reduce_sum"]);
    // Which of two different symbols is 1 is known only when it runs.
    let (names, types) = rule_in_graph("add", &[shape(&[batch]), shape(&[other])]);
    assert_eq!(names, ["shape", "sum_to_shape", "shape", "sum_to_shape"]);
    assert_eq!(types[0].shape(), &shape(&[batch]));
    assert_eq!(types[1].shape(), &shape(&[other]));
    let (names, types) = rule_in_graph("matmul", &[x.clone(), shape(&[10.into(), 3.into()])]);
    assert_eq!(names, ["matmul", "matmul"]);
    assert_eq!(types[0].shape(), &x);
}

fn error(name: &str, inputs: &[Tensor], attrs: &[(&str, Attr)]) -> penstock_data::Error {
    eval(name, &inputs.iter().collect::<Vec<_>>(), attrs).expect_err(name)
}

#[test]
fn errors_name_the_argument_and_what_is_wrong_with_it() {
    let x = |dims: &[usize]| tensor(DType::F64, dims, &[1.0, 2.0, 3.0]);
    let axes = |list: &[i64]| [("axes", Attr::from(list))];
    let cases: Vec<(penstock_data::Error, Class, &str)> = vec![
        (
            error("add", &[x(&[2]), x(&[3])], &[]),
            Class::InvalidArgument,
            "Incompatible shapes: [2] vs. [3], which do not broadcast",
        ),
        (error("select", &[true.into(), x(&[2]), x(&[3])], &[]), Class::InvalidArgument, "do not broadcast"),
        (
            error("add", &[x(&[2]), tensor(DType::F32, &[2], &[1.0])], &[]),
            Class::DType,
            "add: argument 'y': has dtype float32",
        ),
        (error("add", &["a".into(), "b".into()], &[]), Class::DType, "argument 'x': dtype string is not supported"),
        (
            error("reduce_sum", &[x(&[2, 3])], &axes(&[2])),
            Class::InvalidArgument,
            "argument 'axes': axis 2 is out of range",
        ),
        (
            error("reduce_sum", &[x(&[2, 3])], &axes(&[1, -1])),
            Class::InvalidArgument,
            "axis -1 is listed twice in [1, -1]",
        ),
        (
            error("argmax", &[x(&[2, 0])], &[("axis", 1.into())]),
            Class::InvalidArgument,
            "axis 1 of shape [2,0] is empty",
        ),
        (error("argmax", &[x(&[2])], &[("dtype", DType::F32.into())]), Class::DType, "argument 'dtype'"),
        (error("cumsum", &[x(&[])], &[]), Class::InvalidArgument, "argument 'axis': axis 0 is out of range"),
        (error("softmax", &[x(&[])], &[]), Class::InvalidArgument, "argument 'axis'"),
        (error("matmul", &[x(&[2, 3]), x(&[2, 3])], &[]), Class::InvalidArgument, "2x3 by 2x3"),
        (error("matmul", &[x(&[3]), x(&[3, 1])], &[]), Class::InvalidArgument, "argument 'a': expected a matrix"),
        (
            error("matmul", &[x(&[2, 2, 3]), x(&[3, 3, 2])], &[]),
            Class::InvalidArgument,
            "Incompatible shapes: [2] vs. [3]",
        ),
        (
            error("matmul", &[x(&[2, 2]), x(&[2, 2])], &[("transpose_a", true.into()), ("adjoint_a", true.into())]),
            Class::InvalidArgument,
            "not both",
        ),
        (
            error("bias_add", &[x(&[2, 3]), x(&[2])], &[]),
            Class::InvalidArgument,
            "argument 'bias': expected one element for each of 3",
        ),
        (error("bias_add", &[x(&[2, 3]), x(&[1])], &[]), Class::InvalidArgument, "argument 'bias'"),
        (error("bias_add", &[x(&[3]), x(&[3])], &[]), Class::InvalidArgument, "argument 'x': expected rank 2"),
        (error("add_n", &[], &[]), Class::InvalidArgument, "argument 'inputs'"),
        (error("add_n", &[x(&[2]), x(&[1])], &[]), Class::InvalidArgument, "argument 'inputs[1]'"),
        (
            error("sum_to_shape", &[x(&[2, 3]), Tensor::vector(&[2i64])], &[]),
            Class::InvalidArgument,
            "[2] does not broadcast to [2,3]",
        ),
        (error("softmax_cross_entropy", &[x(&[2, 3]), x(&[2, 2])], &[]), Class::InvalidArgument, "argument 'labels'"),
        (error("softmax_cross_entropy", &[x(&[2, 0]), x(&[2, 0])], &[]), Class::InvalidArgument, "at least one class"),
        (
            error("sparse_softmax_cross_entropy", &[x(&[2, 3]), Tensor::vector(&[0i64])], &[]),
            Class::InvalidArgument,
            "argument 'labels': expected shape [2]",
        ),
        (
            error("sparse_softmax_cross_entropy", &[x(&[2, 3]), Tensor::vector(&[0i64, 3])], &[]),
            Class::InvalidArgument,
            "argument 'labels': label 3 of row 1 is outside the valid range [0, 3)",
        ),
        (
            error("sparse_softmax_cross_entropy", &[x(&[2, 3]), Tensor::vector(&[-1i32, 0])], &[]),
            Class::InvalidArgument,
            "label -1 of row 0",
        ),
        (error("cast", &[x(&[2])], &[("dtype", DType::Str.into())]), Class::DType, "argument 'dtype'"),
        (
            error("string_add", &[strings(&[2], &["a", "b"]), strings(&[3], &["", "", ""])], &[]),
            Class::InvalidArgument,
            "do not broadcast",
        ),
    ];
    for (e, class, text) in cases {
        assert_eq!(e.class(), class, "{e}");
        assert!(e.to_string().contains(text), "{e:?} does not say {text:?}");
    }
}

#[test]
fn matrix_products_agree_with_their_definition() {
    let a = f64s(&[2, 1, 2, 3], &(0..12).map(|i| f64::from(i) - 5.0).collect::<Vec<_>>());
    let b = f64s(&[3, 3, 2], &(0..18).map(|i| f64::from(i * i % 7)).collect::<Vec<_>>());
    let c = eval("matmul", &[&a, &b], &[]).unwrap();
    assert_eq!(c.dims(), [2, 3, 2, 2]);
    let (a, b, c) = (a.as_slice::<f64>(), b.as_slice::<f64>(), c.as_slice::<f64>());
    for (p, q, i, j) in (0..24).map(|n| (n / 12, n / 4 % 3, n / 2 % 2, n % 2)) {
        let due: f64 = (0..3).map(|k| a[p * 6 + i * 3 + k] * b[q * 6 + k * 2 + j]).sum();
        assert_eq!(c[p * 12 + q * 4 + i * 2 + j], due);
    }
    let i = C128::new(0.0, 1.0);
    let z = Tensor::from_slice(&[1, 2], &[1.0 + i, 2.0 - i]).unwrap();
    let norm = eval("matmul", &[&z, &z], &[("adjoint_b", true.into())]).unwrap();
    assert_eq!(norm.as_slice::<C128>(), [C128::new(7.0, 0.0)]);
    let square = eval("matmul", &[&z, &z], &[("transpose_b", true.into())]).unwrap();
    assert_eq!(square.as_slice::<C128>(), [C128::new(3.0, -2.0)]);
}

#[test]
fn logsumexp_neither_overflows_nor_loses_the_infinities() {
    let of = |values: &[f64]| {
        eval("reduce_logsumexp", &[&f64s(&[values.len()], values)], &[]).unwrap().item::<f64>().unwrap()
    };
    assert!((of(&[1000.0, 1000.0]) - (1000.0 + 2f64.ln())).abs() < 1e-9);
    assert!((of(&[-1000.0, -1000.0]) - (-1000.0 + 2f64.ln())).abs() < 1e-9);
    assert_eq!(of(&[f64::NEG_INFINITY; 2]), f64::NEG_INFINITY);
    assert_eq!(of(&[f64::INFINITY, 0.0]), f64::INFINITY);
    assert_eq!(of(&[]), f64::NEG_INFINITY);
    assert!(of(&[f64::NAN, 0.0]).is_nan());
}

#[test]
fn logsumexp_of_any_axes_is_the_logarithm_of_their_sum() {
    let cases: [(&[usize], &[i64]); 8] = [
        (&[3, 70_000], &[1]),
        (&[100_001], &[0]),
        (&[7, 130], &[0]),
        (&[2, 5, 67], &[1]),
        (&[2, 3, 4, 5], &[0, 2]),
        (&[2, 3, 4, 5], &[1, 3]),
        (&[2, 3, 4, 5], &[2, 1]),
        (&[4, 0, 3], &[1]),
    ];
    for (dims, axes) in cases {
        let n = dims.iter().product();
        // Some rows have nothing but -inf in a stretch.
        let value =
            |i: usize| if i % 70_000 < 33_000 && i > 70_000 { f64::NEG_INFINITY } else { (i * 37 % 101) as f64 / 7.0 };
        let x = f64s(dims, &(0..n).map(value).collect::<Vec<_>>());
        let attrs = [("axes", Attr::from(axes)), ("keepdims", true.into())];
        let sums = eval("reduce_sum", &[&eval("exp", &[&x], &[]).unwrap()], &attrs).unwrap();
        let due = eval("log", &[&sums], &[]).unwrap();
        let got = eval("reduce_logsumexp", &[&x], &attrs).unwrap();
        assert_eq!(got.dims(), due.dims());
        for (got, due) in got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()) {
            assert!(got == due || (got - due).abs() < 1e-12 * due.abs().max(1.0), "{dims:?} {axes:?}: {got} {due}");
        }
        let narrow = eval("cast", &[&x], &[("dtype", DType::F16.into())]).unwrap();
        assert_eq!(eval("reduce_logsumexp", &[&narrow], &attrs).unwrap().dtype(), DType::F16);
    }
}

#[test]
fn softmax_along_an_axis_is_that_of_its_rows() {
    let x = tensor(DType::F64, &[2, 3, 4], penstock_ops::samples::DISTINCT);
    for name in ["softmax", "log_softmax"] {
        let direct = eval(name, &[&x], &[("axis", 1.into())]).unwrap();
        for (o, i) in (0..8).map(|n| (n / 4, n % 4)) {
            let pick = |t: &Tensor| (0..3).map(|k| t.as_slice::<f64>()[o * 12 + k * 4 + i]).collect::<Vec<_>>();
            let row = eval(name, &[&f64s(&[3], &pick(&x))], &[]).unwrap();
            assert_eq!(row.as_slice::<f64>(), pick(&direct), "{name}");
        }
    }
}

#[test]
fn cross_entropies_of_indices_and_of_distributions_agree() {
    let logits = tensor(DType::F64, &[3, 4], penstock_ops::samples::DISTINCT);
    let labels = [2i64, 0, 3];
    let mut one_hot = vec![0.0; 12];
    labels.iter().enumerate().for_each(|(r, &l)| one_hot[r * 4 + l as usize] = 1.0);
    let dense = run(op("softmax_cross_entropy"), &[&logits, &f64s(&[3, 4], &one_hot)], &Default::default()).unwrap();
    let sparse =
        run(op("sparse_softmax_cross_entropy"), &[&logits, &Tensor::vector(&labels)], &Default::default()).unwrap();
    let log_softmax = eval("log_softmax", &[&logits], &[]).unwrap();
    for (r, label) in labels.into_iter().enumerate() {
        let due = -log_softmax.as_slice::<f64>()[r * 4 + label as usize];
        assert!((sparse[0].as_slice::<f64>()[r] - due).abs() < 1e-12);
    }
    for (a, b) in dense.iter().zip(&sparse) {
        for (a, b) in a.as_slice::<f64>().iter().zip(b.as_slice::<f64>()) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }
}

#[test]
fn scans_run_from_either_end_with_or_without_the_element() {
    let x = f64s(&[4], &[2.0, 3.0, 5.0, 7.0]);
    let scan = |name, exclusive: bool, reverse: bool| {
        eval(name, &[&x], &[("exclusive", exclusive.into()), ("reverse", reverse.into())])
            .unwrap()
            .as_slice::<f64>()
            .to_vec()
    };
    assert_eq!(scan("cumsum", false, false), [2.0, 5.0, 10.0, 17.0]);
    assert_eq!(scan("cumsum", true, false), [0.0, 2.0, 5.0, 10.0]);
    assert_eq!(scan("cumsum", false, true), [17.0, 15.0, 12.0, 7.0]);
    assert_eq!(scan("cumsum", true, true), [15.0, 12.0, 7.0, 0.0]);
    assert_eq!(scan("cumprod", false, false), [2.0, 6.0, 30.0, 210.0]);
    assert_eq!(scan("cumprod", true, true), [105.0, 35.0, 7.0, 1.0]);
}

#[test]
fn strings_are_joined_compared_and_chosen_with_broadcasting() {
    let (x, y) = (strings(&[2, 1], &["a", "b"]), strings(&[3], &["", "b", "cd"]));
    let joined = eval("string_add", &[&x, &y], &[]).unwrap();
    assert_eq!(joined, strings(&[2, 3], &["a", "ab", "acd", "b", "bb", "bcd"]));
    let equal = eval("string_equal", &[&x, &y], &[]).unwrap();
    assert_eq!(equal, tensor(DType::Bool, &[2, 3], &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]));
    let differ = eval("string_not_equal", &[&x, &y], &[]).unwrap();
    assert_eq!(differ, tensor(DType::Bool, &[2, 3], &[1.0, 1.0, 1.0, 1.0, 0.0, 1.0]));
    let condition = tensor(DType::Bool, &[3], &[1.0, 0.0, 0.0]);
    let chosen = eval("string_select", &[&condition, &x, &y], &[]).unwrap();
    assert_eq!(chosen, strings(&[2, 3], &["a", "b", "cd", "b", "b", "cd"]));
}

#[test]
fn samples_try_every_dtype_that_an_operator_takes() {
    const FAMILIES: [&str; 8] = ["unary", "binary", "compare", "cast", "reduce", "scan", "linalg", "nn"];
    let families = penstock_ops::FAMILIES.iter().filter(|(name, _)| FAMILIES.contains(name));
    for op in families.flat_map(|(_, ops)| ops.iter()) {
        let operand = op.operands.iter().position(|a| matches!(a.ty, ArgType::Var(0))).expect("a dtype variable");
        let tried: Vec<DType> = (op.samples)().iter().map(|s| s.inputs[operand].dtype()).collect();
        let missing: Vec<DType> = op.dtypes[0].set.iter().filter(|d| !tried.contains(d)).collect();
        assert!(missing.is_empty(), "{} is not tried on {missing:?}", op.name);
    }
}
