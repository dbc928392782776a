//! Elementwise instructions between transpositions, in whatever layout they compute.

use penstock_ir::{Attr, OpSet};
use penstock_ops::Ops;

use super::random::Random;
use super::rows::{same, tensor};
use super::*;

fn op(name: &str) -> &'static penstock_ir::OpDef {
    Ops.find(name).unwrap()
}

/// A random program on arrays of the extents 4, 3, 5 and 2 in various orders.
fn program(seed: u64) -> (Verified, Vec<Tensor>) {
    const ORDERS: [[i64; 4]; 3] = [[0, 3, 1, 2], [0, 2, 3, 1], [3, 1, 0, 2]];
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut inputs = Vec::new();
    let graph = build(|b| {
        let mut input = |b: &mut Builder, dims: &[usize], odd: bool| {
            inputs.push(tensor(&mut random, DType::F32, dims, odd));
            b.input(f32s(dims), None)
        };
        let smalls: Vec<Value> = [&[5][..], &[3, 1, 1], &[1, 1, 5, 1], &[1], &[], &[5, 2], &[4, 1, 5, 1]]
            .iter()
            .map(|dims| input(b, dims, false))
            .collect();
        let mut values = vec![input(b, &[4, 3, 5, 2], true), input(b, &[4, 2, 3, 5], false)];
        for _ in 0..5 + random.below(16) {
            let x = values[values.len() - 1 - random.below(3.min(values.len()))];
            let dims = b.graph().ty(x).shape().extents().unwrap();
            let made = match random.below(9) {
                0..=2 => {
                    let order = ORDERS[random.below(ORDERS.len())].iter().copied().collect();
                    b.emit(op("transpose"), &[x], &[("perm", Attr::Ints(order))])
                }
                3 => b.emit(op("relu"), &[x], &[]),
                4 => b.emit(op("reduce_max"), &[x], &[("axes", (&[1i64][..]).into()), ("keepdims", true.into())]),
                5 | 6 => {
                    // What is of the same extents, or broadcasts to them.
                    let fits = |v: &&Value| {
                        let other = b.graph().ty(**v).shape().extents().unwrap();
                        penstock_kernels::broadcast_dims(&[&dims, &other]).is_some_and(|all| all == dims)
                    };
                    let all: Vec<Value> = values.iter().chain(&smalls).filter(fits).copied().collect();
                    let y = all[random.below(all.len())];
                    let operands = if random.below(2) == 0 { [x, y] } else { [y, x] };
                    b.emit(op(["add", "sub", "mul", "maximum"][random.below(4)]), &operands, &[])
                }
                7 => b.emit(op("cast"), &[x], &[("dtype", DType::F32.into())]),
                _ => b.emit(op("exp"), &[x], &[]),
            };
            let made = made.unwrap()[0];
            // Reductions leave too little to go on with.
            if b.graph().ty(made).shape().num_elements() == Some(120) {
                values.push(made);
            }
        }
        (0..2).map(|i| values[values.len() - 1 - i]).collect()
    });
    (graph, inputs)
}

#[test]
fn random_programs_agree_with_the_reference() {
    let mut fewer = 0;
    for seed in 0..400 {
        let (graph, inputs) = program(seed);
        let args: Vec<Arg> = inputs.into_iter().map(Arg::from).collect();
        let due = reference::run(&graph, &args, &env()).unwrap();
        let turned = penstock_passes::optimize(&graph).unwrap();
        for got in
            [fusing(&graph).run(&args, &env()).unwrap().to_vec(), reference::run(&turned, &args, &env()).unwrap()]
        {
            assert!(got.iter().zip(&due).all(|(a, b)| same(a, b)), "seed {seed}:\n{graph}\n{turned}");
        }
        let types: Vec<Type> = graph.inputs().iter().map(|&v| graph.ty(v).clone()).collect();
        let options = Options { skip: vec!["layout".to_owned()], ..Options::default() };
        let kept = penstock_passes::optimize_for(&graph, &types, &options).unwrap();
        let count = |graph: &Verified| graph.to_string().matches("= transpose").count();
        assert!(count(&turned) <= count(&kept), "seed {seed}:\n{turned}\n{kept}");
        fewer += usize::from(count(&turned) < count(&kept));
    }
    assert!(fewer > 30, "{fewer} programs have fewer transpositions");
}
