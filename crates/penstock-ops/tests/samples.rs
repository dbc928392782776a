//! Every operator on its samples: inference against evaluation, reuse of memory, and gradients
//! against finite differences.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{Eager, Sight, Step, infer, op, run, run_into};
use penstock_data::{C128, Class, DType, Dim, Shape, Symbol, Tensor};
use penstock_ir::{Attrs, Cpu, Emitter, OpDef, Sample, Type, Value, Vjp};

/// Operators whose result's extents depend on the values of their operands, or are to be unknown until they run.
const DATA_DEPENDENT: &[&str] = &[
    "where",
    "collective_wait",
    "unique",
    "bincount",
    "boolean_mask",
    "host_call",
    "list_stack",
    "list_lengths",
    "string_split",
    "string_bytes_split",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "decode_png",
    "decode_jpeg",
    "decode_raw",
    "parse_tensor",
    "decode_and_crop_jpeg",
    "decode_gif",
    "decode_bmp",
    "decode_jxl",
    "decode_webp",
    "decode_image",
    "decode_wav",
    "example_features",
    "table_export",
    "placeholder_with_default",
];

/// Operands whose cotangent is not the slope of evaluation: none reaches an order, as the declaration says, and numbers
/// move with a parameter of their distribution at a fixed quantile, not at fixed bits.
const NOT_SLOPES: &[(&str, usize)] = &[("polygamma", 0), ("zeta", 0), ("stateless_random_gamma", 2)];

/// Calls `f` with every operator that runs alone, its samples and their attributes. A failure does not keep the
/// other operators from being tried.
fn for_each_sample(mut f: impl FnMut(&'static OpDef, &Sample, &Attrs, &str)) {
    let mut failed: Vec<&str> = Vec::new();
    for op in penstock_ops::all().filter(|op| !matches!(op.cpu, Cpu::Executor(_) | Cpu::Variable(_))) {
        let samples = (op.samples)();
        assert!(!samples.is_empty(), "{} has no samples", op.name);
        for (i, sample) in samples.iter().enumerate() {
            let attrs = op.attributes(&sample.attrs).unwrap_or_else(|e| panic!("{} sample {i}: {e}", op.name));
            let types: Vec<String> = sample.inputs.iter().map(|t| Type::of(t).to_string()).collect();
            let what = format!("{} sample {i} ({}) {:?}", op.name, types.join(", "), sample.attrs);
            if catch_unwind(AssertUnwindSafe(|| f(op, sample, &attrs, &what))).is_err() {
                failed.push(op.name);
                break;
            }
        }
    }
    assert!(failed.is_empty(), "failed: {failed:?}");
}

fn operands(sample: &Sample) -> Vec<&Tensor> {
    sample.inputs.iter().collect()
}

#[test]
fn inference_of_exact_types_is_what_evaluation_gives() {
    for_each_sample(|op, sample, attrs, what| {
        let inputs = operands(sample);
        let types: Vec<Type> = inputs.iter().map(|t| Type::of(t)).collect();
        let inferred = infer(op, &types, attrs, Some(&inputs)).unwrap_or_else(|e| panic!("{what}: {e}"));
        let results = run(op, &inputs, attrs).unwrap_or_else(|e| panic!("{what}: {e}"));
        for (k, (ty, result)) in inferred.iter().zip(&results).enumerate() {
            assert!(Type::of(result).is_subtype_of(ty), "{what}: result {k} is {}, inferred as {ty}", Type::of(result));
            assert!(
                ty.shape().is_static() || DATA_DEPENDENT.contains(&op.name),
                "{what}: result {k} is inferred as {ty} from known operands"
            );
        }
    });
}

#[test]
fn inference_of_vague_types_covers_what_evaluation_gives() {
    for_each_sample(|op, sample, attrs, what| {
        let inputs = operands(sample);
        let results = run(op, &inputs, attrs).unwrap_or_else(|e| panic!("{what}: {e}"));
        let mut symbol = 0;
        let mut fresh = |_: &usize| {
            symbol += 1;
            Dim::Sym(Symbol(symbol))
        };
        let vague: [Vec<Type>; 3] = [
            inputs.iter().map(|t| Type::tensor(t.dtype(), Shape::of_rank(t.rank()).unwrap())).collect(),
            inputs.iter().map(|t| Type::tensor(t.dtype(), Shape::new(t.dims().iter().map(&mut fresh)))).collect(),
            inputs.iter().map(|t| Type::tensor(t.dtype(), Shape::UNRANKED)).collect(),
        ];
        for types in &vague {
            let inferred = infer(op, types, attrs, None).unwrap_or_else(|e| panic!("{what} as {types:?}: {e}"));
            assert_eq!(inferred.len(), results.len(), "{what}: the number of results");
            for (k, (ty, result)) in inferred.iter().zip(&results).enumerate() {
                let got = Type::of(result);
                assert!(got.is_subtype_of(ty), "{what} as {types:?}: result {k} is {got}, inferred as {ty}");
            }
        }
    });
}

#[test]
fn a_kernel_gives_the_same_bits_in_memory_that_it_reuses() {
    let bits = |t: &Tensor| (t.dtype(), t.dims().to_vec(), t.bytes().to_vec(), t.strings().to_vec());
    for_each_sample(|op, sample, attrs, what| {
        if !op.is_pure() {
            return;
        }
        let inputs = operands(sample);
        let mut outputs = Vec::new();
        run_into(op, &inputs, attrs, &mut outputs).unwrap_or_else(|e| panic!("{what}: {e}"));
        let first: Vec<_> = outputs.iter().map(bits).collect();
        for _ in 0..2 {
            run_into(op, &inputs, attrs, &mut outputs).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(outputs.iter().map(bits).collect::<Vec<_>>(), first, "{what}");
        }
    });
}

/// Whether every element is finite and of a dtype that differences can be taken of, or not a number at all.
fn smooth(t: &Tensor) -> bool {
    match t.dtype() {
        DType::F64 => t.as_slice::<f64>().iter().all(|v| v.is_finite()),
        DType::C128 => t.as_slice::<C128>().iter().all(|v| v.re.is_finite() && v.im.is_finite()),
        d => !d.is_differentiable(),
    }
}

fn has_parts(t: &Tensor) -> bool {
    t.dtype().is_differentiable()
}

/// The real and imaginary parts of the elements.
fn parts(t: &Tensor) -> Vec<f64> {
    match t.dtype() {
        DType::F64 => t.as_slice::<f64>().to_vec(),
        DType::C128 => t.as_slice::<C128>().iter().flat_map(|z| [z.re, z.im]).collect(),
        other => panic!("{other} has no derivative"),
    }
}

fn from_parts(like: &Tensor, parts: &[f64]) -> Tensor {
    match like.dtype() {
        DType::F64 => Tensor::from_slice(like.dims(), parts),
        _ => Tensor::from_slice(
            like.dims(),
            &parts.as_chunks::<2>().0.iter().map(|p| C128::new(p[0], p[1])).collect::<Vec<_>>(),
        ),
    }
    .expect("as many elements")
}

/// Operators that read one triangle of Hermitian matrices: their derivatives are along Hermitian directions.
const OF_HERMITIAN: &[&str] = &["cholesky", "self_adjoint_eig", "self_adjoint_eigvals"];

/// Operators of which a complex result is determined only up to factors of absolute value 1.
const UP_TO_PHASES: &[&str] = &["svd", "self_adjoint_eig", "eig"];

/// What an operator takes `x` for.
fn as_read(op: &OpDef, x: &Tensor) -> Tensor {
    if !OF_HERMITIAN.contains(&op.name) || x.is_empty() {
        return x.clone();
    }
    let (n, width) = (x.dims()[x.rank() - 1], if x.dtype() == DType::C128 { 2 } else { 1 });
    let from = parts(x);
    let mean = |i: usize| {
        let (at, part) = (i / width, i % width);
        let mirrored = at / (n * n) * n * n + at % n * n + at / n % n;
        let sign = if part == 1 { -1.0 } else { 1.0 };
        (from[i] + sign * from[mirrored * width + part]) / 2.0
    };
    from_parts(x, &(0..from.len()).map(mean).collect::<Vec<_>>())
}

fn all_as_read(op: &OpDef, inputs: &[Tensor]) -> Vec<Tensor> {
    inputs.iter().map(|x| as_read(op, x)).collect()
}

/// A cotangent of no particular structure.
fn seed_for(like: &Tensor, salt: usize) -> Tensor {
    let n = parts(like).len();
    from_parts(like, &(0..n).map(|i| ((i * 7 + salt * 3 + 1) as f64 * 0.7).sin() + 0.3).collect::<Vec<_>>())
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    parts(a).iter().zip(parts(b)).map(|(x, y)| x * y).sum()
}

/// Central differences of `f` by each part of each differentiable input.
fn differences(inputs: &[Tensor], f: &dyn Fn(&[Tensor]) -> f64) -> Vec<Option<Vec<f64>>> {
    let mut at = inputs.to_vec();
    inputs
        .iter()
        .enumerate()
        .map(|(i, input)| {
            has_parts(input).then(|| {
                let original = parts(input);
                (0..original.len())
                    .map(|k| {
                        let h = 1e-5 * original[k].abs().max(1.0);
                        let mut value = |shift: f64| {
                            let mut moved = original.clone();
                            moved[k] += shift;
                            at[i] = from_parts(input, &moved);
                            f(&at)
                        };
                        let difference = (value(h) - value(-h)) / (2.0 * h);
                        at[i] = input.clone();
                        difference
                    })
                    .collect()
            })
        })
        .collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 2e-6 * (1.0 + a.abs() + b.abs())
}

/// Executes an operator and its rule; gives the operands' cotangents for seeds of every differentiable result.
fn first_order(
    eager: &mut Eager,
    op: &'static OpDef,
    inputs: &[Tensor],
    attrs: &Attrs,
) -> penstock_data::Result<(Vec<Value>, Vec<Option<Value>>)> {
    let operands: Vec<Value> = inputs.iter().map(|t| eager.add(t.clone())).collect();
    let results = eager.emit_attrs(op, &operands, attrs.clone())?;
    let grads: Vec<Option<Value>> = results
        .iter()
        .enumerate()
        .map(|(k, &r)| {
            let result = eager.get(r).clone();
            has_parts(&result).then(|| eager.add(seed_for(&result, k)))
        })
        .collect();
    let needed: Vec<bool> = inputs.iter().map(has_parts).collect();
    let step = Step { op, operands: operands.clone(), attrs: attrs.clone(), results: results.to_vec() };
    // Each alone, which checks that no other gets a cotangent.
    for i in (0..needed.len()).filter(|&i| needed[i]) {
        let alone: Vec<bool> = (0..needed.len()).map(|k| k == i).collect();
        eager.vjp(&step, &grads, &alone)?;
    }
    let cotangents = eager.vjp(&step, &grads, &needed)?;
    Ok((operands, cotangents))
}

/// Calls `f` for each sample on which the operator has a derivative that can be compared.
fn for_each_smooth_sample(mut f: impl FnMut(&'static OpDef, &Sample, &Attrs, &str)) {
    for_each_sample(|op, sample, attrs, what| {
        let free = UP_TO_PHASES.contains(&op.name) && sample.inputs[0].dtype().is_complex();
        let differentiable = matches!(op.vjp, Vjp::Rule(_)) && op.is_pure() && !free;
        if !differentiable || !sample.inputs.iter().any(has_parts) || !sample.inputs.iter().all(smooth) {
            return;
        }
        let results = run(op, &operands(sample), attrs).unwrap_or_else(|e| panic!("{what}: {e}"));
        if results.iter().any(has_parts) && results.iter().all(smooth) {
            f(op, sample, attrs, what);
        }
    });
}

/// The sum of the products of the results with their seeds.
fn seeded(op: &'static OpDef, inputs: &[Tensor], attrs: &Attrs) -> f64 {
    let results = run(op, &inputs.iter().collect::<Vec<_>>(), attrs).expect("evaluation next to a sample");
    results.iter().enumerate().filter(|(_, r)| has_parts(r)).map(|(k, r)| dot(r, &seed_for(r, k))).sum()
}

#[test]
fn gradients_are_the_slopes_of_evaluation_however_little_the_rule_is_told() {
    let mut compared = 0;
    for_each_smooth_sample(|op, sample, attrs, what| {
        let slopes = differences(&sample.inputs, &|inputs| seeded(op, &all_as_read(op, inputs), attrs));
        for sight in [Sight::Values, Sight::Types, Sight::Ranks, Sight::Nothing] {
            let mut eager = Eager::new(sight);
            let cotangents = match first_order(&mut eager, op, &sample.inputs, attrs) {
                Ok((_, cotangents)) => cotangents,
                // A rule may say that it needs to know the rank, and that of `lu` the sizes.
                Err(e)
                    if e.class() == Class::Unimplemented
                        && (sight == Sight::Nothing || sight == Sight::Ranks && op.name == "lu") =>
                {
                    continue;
                }
                Err(e) => panic!("{what} with sight of {sight:?}: {e}"),
            };
            for (i, (slope, cotangent)) in slopes.iter().zip(&cotangents).enumerate() {
                let Some(slope) = slope.as_ref().filter(|_| !NOT_SLOPES.contains(&(op.name, i))) else { continue };
                let got = cotangent.map_or_else(|| vec![0.0; slope.len()], |c| parts(&as_read(op, eager.get(c))));
                for (k, (&a, &b)) in got.iter().zip(slope).enumerate() {
                    assert!(close(a, b), "{what} with sight of {sight:?}: by part {k} of operand {i}: {a}, not {b}");
                    compared += 1;
                }
            }
        }
    });
    assert!(compared > 1000, "only {compared} comparisons");
}

/// Whether a sample is outside of where the operator's documentation promises second derivatives.
fn first_order_only(op: &OpDef, sample: &Sample) -> bool {
    ["segment_prod", "unsorted_segment_prod"].contains(&op.name) && parts(&sample.inputs[0]).contains(&0.0)
}

#[test]
fn gradients_of_gradients_are_their_slopes() {
    let mut compared = 0;
    for_each_smooth_sample(|op, sample, attrs, what| {
        if first_order_only(op, sample) {
            return;
        }
        let value = |inputs: &[Tensor]| {
            let mut eager = Eager::new(Sight::Types);
            let inputs = all_as_read(op, inputs);
            let (_, cotangents) = first_order(&mut eager, op, &inputs, attrs).expect("a gradient next to a sample");
            cotangents
                .iter()
                .enumerate()
                .filter_map(|(i, c)| c.map(|c| (i, eager.get(c))))
                .map(|(i, t)| dot(t, &seed_for(t, 5 + i)))
                .sum()
        };
        let mut eager = Eager::new(Sight::Types);
        let (operands, cotangents) =
            first_order(&mut eager, op, &sample.inputs, attrs).unwrap_or_else(|e| panic!("{what}: {e}"));
        if !cotangents.iter().flatten().all(|&c| smooth(eager.get(c))) {
            return;
        }
        let seeds: Vec<(Value, Value)> = cotangents
            .iter()
            .enumerate()
            .filter_map(|(i, c)| c.map(|c| (i, c)))
            .map(|(i, c)| {
                let seed = seed_for(eager.get(c), 5 + i);
                (c, eager.add(seed))
            })
            .collect();
        let mut merged: Vec<(Value, Value)> = Vec::new();
        for (c, seed) in seeds {
            // One value may be the cotangent of several operands.
            match merged.iter_mut().find(|(v, _)| *v == c) {
                Some((_, sum)) => {
                    *sum = (&mut eager as &mut dyn Emitter).emit(common::op("add"), &[*sum, seed], &[]).expect("a sum")
                }
                None => merged.push((c, seed)),
            }
        }
        let second = match eager.backward(&merged, &operands) {
            Ok(second) => second,
            Err(e) if e.class() == Class::Unimplemented => return,
            Err(e) => panic!("{what}: {e}"),
        };
        let slopes = differences(&sample.inputs, &value);
        for (i, (slope, cotangent)) in slopes.iter().zip(&second).enumerate() {
            let Some(slope) = slope.as_ref().filter(|_| !NOT_SLOPES.contains(&(op.name, i))) else { continue };
            let got = cotangent.map_or_else(|| vec![0.0; slope.len()], |c| parts(&as_read(op, eager.get(c))));
            for (k, (&a, &b)) in got.iter().zip(slope).enumerate() {
                assert!(close(a, b), "{what}: second derivative by part {k} of operand {i}: {a}, not {b}");
                compared += 1;
            }
        }
    });
    assert!(compared > 1000, "only {compared} comparisons");
}

#[test]
fn elementwise_operators_with_zero_derivative_are_flat() {
    for_each_sample(|op, sample, attrs, what| {
        let flat = matches!((op.vjp, op.cpu), (Vjp::Zero, Cpu::Elementwise(_)));
        if !flat || !sample.inputs.iter().any(has_parts) || !sample.inputs.iter().all(smooth) {
            return;
        }
        let results = run(op, &operands(sample), attrs).unwrap_or_else(|e| panic!("{what}: {e}"));
        // The sign of a complex number is not flat, but has a rule of its own.
        if results.iter().all(|r| has_parts(r) && smooth(r)) {
            for slope in differences(&sample.inputs, &|inputs| seeded(op, inputs, attrs)).into_iter().flatten() {
                assert!(slope.iter().all(|&s| s == 0.0), "{what}: {slope:?}");
            }
        }
    });
}

#[test]
fn declarations_are_complete() {
    for op in penstock_ops::all() {
        for (i, operand) in op.operands.iter().enumerate() {
            assert!(!operand.variadic || i + 1 == op.operands.len(), "{}: only the last operand is variadic", op.name);
            if let penstock_ir::ArgType::Var(v) = operand.ty {
                assert!((v as usize) < op.dtypes.len(), "{}: operand {} has a dtype variable", op.name, operand.name);
            }
        }
        let summary = op.doc.lines().next().unwrap_or_default();
        assert!(!summary.is_empty() && op.doc.trim() == op.doc, "{}: the doc starts with a summary", op.name);
    }
}

#[test]
fn elementwise_operators_take_exactly_the_dtypes_that_have_a_loop() {
    for op in penstock_ops::all() {
        let Cpu::Elementwise(function) = op.cpu else { continue };
        for dtype in penstock_data::ALL_DTYPES {
            let dtypes: Vec<DType> = op
                .operands
                .iter()
                .map(|a| match a.ty {
                    penstock_ir::ArgType::Fixed(d) => d,
                    _ => dtype,
                })
                .collect();
            let types: Vec<Type> = dtypes.iter().map(|&d| Type::scalar(d)).collect();
            let declared = op.check_operands(&types).is_ok();
            let has_loop = penstock_data::ALL_DTYPES.into_iter().any(|to| function.kernel(&dtypes, to).is_some());
            assert_eq!(has_loop, declared, "{} on {dtype}", op.name);
        }
    }
}

#[test]
fn rules_emit_nothing_for_shapes_that_were_not_broadcast() {
    for name in ["add", "sub", "mul", "maximum"] {
        let mut eager = Eager::new(Sight::Types);
        let x = Tensor::vector(&[1.0f64, 2.0, 3.0]);
        first_order(&mut eager, op(name), &[x.clone(), x], &Attrs::EMPTY).expect("a gradient");
        assert!(eager.tape.iter().all(|s| !s.op.name.starts_with("reduce") && s.op.name != "sum_to_shape"), "{name}");
    }
}
