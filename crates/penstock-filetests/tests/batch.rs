//! Batched functions: what they give is what the examples give one by one, stacked.

mod common;

use std::sync::Arc;

use common::parts;
use penstock_autodiff::{batch_by_loop, batch_function};
use penstock_data::{Class, DType, List, Tensor};
use penstock_exec::{Arg, Executable, StdEnv, reference};
use penstock_filetests::{RandomOptions, random_graph, same_tensor};
use penstock_ir::{Attrs, Builder, Effect, Function, OpDef, Sample, Type, no_hosts, parse_function, verify};
use penstock_ops::{Ops, control};

/// Rows of one dtype and shape, one under the other; of lists, their elements.
fn stack(rows: &[Tensor]) -> Tensor {
    let first = &rows[0];
    if let Some(list) = first.list() {
        let mut all = List::zeros(list.len());
        for (i, _) in list.elements() {
            let each: Vec<Tensor> = rows.iter().map(|row| row.list().unwrap().get(i).unwrap().clone()).collect();
            all.set(i, stack(&each), false).unwrap();
        }
        return Tensor::from_list(all);
    }
    let dims: Vec<usize> = std::iter::once(rows.len()).chain(first.dims().iter().copied()).collect();
    if first.dtype() == DType::Str {
        let all: Vec<_> = rows.iter().flat_map(|t| t.strings().iter().cloned()).collect();
        return Tensor::from_strings(&dims, all).unwrap();
    }
    let mut all = Tensor::empty(first.dtype(), &dims).unwrap();
    all.bytes_mut().copy_from_slice(&rows.iter().flat_map(|t| t.bytes()).copied().collect::<Vec<u8>>());
    all
}

/// Whether values can be stacked: arrays of one shape, or lists that have such elements at the same places.
fn alike(a: &Tensor, b: &Tensor) -> bool {
    match (a.list(), b.list()) {
        (Some(a), Some(b)) => {
            let (of_a, of_b) = (a.elements(), b.elements());
            a.len() == b.len()
                && of_a.len() == of_b.len()
                && of_a.iter().zip(&of_b).all(|((i, x), (j, y))| i == j && alike(x, y))
        }
        _ => a.dtype() == b.dtype() && a.dims() == b.dims(),
    }
}

/// The elements in another order: a tensor of the same dtype and shape.
fn rolled(t: &Tensor, by: usize) -> Tensor {
    if t.is_empty() || t.table().is_some() {
        return t.clone();
    }
    if t.dtype() == DType::Str {
        let mut all = t.strings().to_vec();
        all.rotate_left(by % t.len());
        return Tensor::from_strings(t.dims(), all).unwrap();
    }
    let mut all = Tensor::empty(t.dtype(), t.dims()).unwrap();
    all.bytes_mut().copy_from_slice(t.bytes());
    all.bytes_mut().rotate_left(by % t.len() * t.dtype().size());
    all
}

fn run(function: &Function, args: &[Tensor]) -> penstock_data::Result<Vec<Tensor>> {
    let graph = function.graph().unwrap();
    verify(graph).unwrap_or_else(|e| panic!("{e:?} in\n{}", function.to_text()));
    let args: Vec<Arg> = args.iter().cloned().map(Arg::Tensor).collect();
    let found = reference::run(graph, &args, &StdEnv::new(0));
    let planned = Executable::new(function).unwrap().run(&args, &StdEnv::new(0));
    if let (Ok(found), Ok(planned)) = (&found, &planned) {
        let same = found.iter().zip(planned.iter()).all(|(a, b)| same_tensor(a, b));
        assert!(same, "{found:?} and {planned:?} in\n{}", function.to_text());
    }
    found
}

/// Runs a function on three examples that differ in the mapped arguments, batched and one by one.
/// Gives whether there was something to compare.
fn check(function: &Arc<Function>, examples: &[Vec<Tensor>; 3], mapped: &[bool], in_turn: bool) -> bool {
    let each: Option<Vec<Vec<Tensor>>> = examples.iter().map(|args| run(function, args).ok()).collect();
    let Some(each) = each else { return false };
    if each.iter().any(|outs| outs.iter().zip(&each[0]).any(|(a, b)| !alike(a, b))) {
        return false;
    }
    let text = || format!("{}with {examples:?}, mapped: {mapped:?}", function.to_text());
    let made = if in_turn { batch_by_loop(function, mapped) } else { batch_function(function, mapped) };
    let batched = match made {
        Ok(batched) => batched,
        Err(e) if e.class() == Class::Unimplemented => return false,
        Err(e) => panic!("{e:?} for\n{}", text()),
    };
    let args: Vec<Tensor> = (0..mapped.len())
        .map(|i| {
            let rows: Vec<Tensor> = examples.iter().map(|args| args[i].clone()).collect();
            if mapped[i] { stack(&rows) } else { rows[0].clone() }
        })
        .collect();
    let found = match run(&batched.function, &args) {
        Ok(found) => found,
        // On the way, an example has a value of another shape than the others: that has no stacked form.
        Err(e) if !in_turn && e.to_string().contains("the indices name slices of shape") => return false,
        Err(e) => panic!("{e:?} in\n{}\nfor {}", batched.function.to_text(), text()),
    };
    for (k, found) in found.iter().enumerate() {
        let rows: Vec<Tensor> = each.iter().map(|outs| outs[k].clone()).collect();
        let due = if batched.outputs[k] { stack(&rows) } else { rows[0].clone() };
        assert!(
            close(found, &due),
            "result {k} is {found:?}, not {due:?}, in\n{}\nfor {}",
            batched.function.to_text(),
            text()
        );
    }
    true
}

/// Equal but for the order in which sums are made.
fn close(a: &Tensor, b: &Tensor) -> bool {
    if same_tensor(a, b) {
        return true;
    }
    if let (Some(x), Some(y)) = (a.list(), b.list()) {
        return alike(a, b) && x.elements().iter().zip(y.elements()).all(|((_, x), (_, y))| close(x, y));
    }
    if (a.dtype(), a.dims()) != (b.dtype(), b.dims()) {
        return false;
    }
    let eps = match a.dtype() {
        DType::F16 => 1e-2,
        DType::Bf16 => 5e-2,
        DType::F32 | DType::C64 => 1e-4,
        DType::F64 | DType::C128 => 1e-10,
        _ => return false,
    };
    let near = |(x, y): (&f64, &f64)| {
        x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= eps * (1.0 + x.abs().max(y.abs()))
    };
    parts(a).iter().zip(&parts(b)).all(near)
}

/// The operator as a function of its operands, some of unknown size.
fn function(op: &'static OpDef, sample: &Sample, vague: bool) -> Option<Arc<Function>> {
    let attrs: Attrs = op.attributes(&sample.attrs).ok()?;
    let mut b = Builder::new(&control::CONST);
    let operands: Vec<_> = sample
        .inputs
        .iter()
        .map(|t| {
            let ty = Type::of(t);
            let ty = if vague { ty.with_shape(penstock_data::Shape::of_rank(t.rank()).unwrap()) } else { ty };
            b.input(ty, None)
        })
        .collect();
    let inst = b.inst(op, &operands, attrs, &[]).ok()?;
    let outputs = b.results(inst).to_vec();
    Some(Arc::new(Function::new(op.name, b.finish(&outputs).unwrap())))
}

#[test]
fn every_operator_is_mapped_over_each_operand_and_over_all() {
    let mut untried = Vec::new();
    let usable = |op: &&OpDef| {
        // Lists have no stacked form, and each example has the same tables.
        !matches!(op.cpu, penstock_ir::Cpu::Executor(_) | penstock_ir::Cpu::Variable(_))
            && !op.name.starts_with("list_")
            && !["table_of", "table_size", "table_export"].contains(&op.name)
            && !op.effects.iter().any(|e| matches!(e, Effect::Random | Effect::Host | Effect::Print))
    };
    for op in penstock_ops::all().filter(usable) {
        let mut tried = false;
        for sample in (op.samples)() {
            let n = sample.inputs.len();
            if n == 0 {
                tried = true;
                continue;
            }
            let single = (0..n.min(4)).map(|i| (0..n).map(|k| k == i).collect::<Vec<bool>>());
            for mapped in single.chain([vec![true; n]]) {
                for vague in [false, true] {
                    let Some(function) = function(op, &sample, vague) else { continue };
                    let roll = |by: usize| -> Vec<Tensor> {
                        sample
                            .inputs
                            .iter()
                            .zip(&mapped)
                            .map(|(t, m)| if *m { rolled(t, by) } else { t.clone() })
                            .collect()
                    };
                    let same = || sample.inputs.clone();
                    // Other elements where the operator takes them, else the same for all.
                    tried |= check(&function, &[same(), roll(1), roll(2)], &mapped, false)
                        || check(&function, &[same(), same(), same()], &mapped, false);
                    if !vague && n == 1 {
                        check(&function, &[same(), roll(1), same()], &mapped, true);
                    }
                }
            }
        }
        if !tried {
            untried.push(op.name);
        }
    }
    assert!(untried.is_empty(), "no sample tries {untried:?}");
}

#[test]
fn a_branch_that_no_example_takes_need_not_fit_their_sizes() {
    let text = |made: &str| {
        format!(
            "func @f(%c: bool[], %x: f32[s0], %y: f32[s1], %n: i64[1], %seed: i32[2]) -> f32[] {{\n\
             %r: f32[] = cond %c ({{\n{made}\n%s = reduce_sum %a\nyield %s\n}}, \
             {{\n%e = exp %x\n%t = reduce_sum %e\nyield %t\n}})\nreturn %r\n}}"
        )
    };
    let mapped = [true, true, true, false, false];
    let args = |c: bool, y: &Tensor| {
        let x = Tensor::vector(&[0.5f32, 1.5]);
        vec![Tensor::from(c), x, y.clone(), Tensor::vector(&[2i64]), Tensor::vector(&[1i32, 2])]
    };
    for (made, loops) in [
        ("%a = add %x, %y", true),
        ("%a = minimum %x, %y", true),
        ("%a = broadcast_to %x, %n", true),
        ("%a = stateless_random_gamma %n, %seed, %y", true),
        // These fit whatever the sizes are.
        ("%b = add %y, %y\n%a = tanh %b", false),
        ("%b = reduce_max %y\n%a = mul %b, %x", false),
        ("%a = concat %x, %y {axis=0}", false),
    ] {
        let function = parse_function(&text(made), &Ops, &no_hosts).unwrap_or_else(|e| panic!("{e:?} for {made}"));
        let short = Tensor::vector(&[2.0f32, 3.0]);
        for y in [Tensor::vector(&[2.0f32, 3.0, 4.0]), short.clone()] {
            let none = [args(false, &y), args(false, &rolled(&y, 1)), args(false, &y)];
            assert!(check(&function, &none, &mapped, false), "{made}");
        }
        let some = [args(true, &short), args(false, &rolled(&short, 1)), args(true, &short)];
        assert!(check(&function, &some, &mapped, false), "{made}");
        let batched = batch_function(&function, &mapped).unwrap().function.clone();
        assert_eq!(batched.to_text().contains("while"), loops, "{made}:\n{}", batched.to_text());
    }
}

#[test]
fn random_programs_give_the_stacked_results_of_their_examples() {
    let options = RandomOptions { control: true, variables: false, effects: false, symbolic: true };
    let mut compared = 0;
    for seed in 0..400 {
        let random = random_graph(seed, 20, options);
        let n = random.inputs.len();
        let roll = |by: usize| random.inputs.iter().map(|t| rolled(t, by)).collect::<Vec<_>>();
        let examples = [roll(0), roll(1), roll(2)];
        compared += usize::from(check(&random.function, &examples, &vec![true; n], false));
        let first: Vec<bool> = (0..n).map(|i| i == 0).collect();
        let only = |by: usize| {
            let mut args = random.inputs.clone();
            args[0] = rolled(&args[0], by);
            args
        };
        compared += usize::from(check(&random.function, &[only(0), only(1), only(2)], &first, false));
        compared += usize::from(check(&random.function, &[only(0), only(1), only(2)], &first, true));
    }
    assert!(compared > 300, "{compared}");
}
