//! Images that go through several layers, some of them at a time.

use penstock_data::{DType, Shape, Tensor};
use penstock_exec::{Arg, Executable, reference};
use penstock_ir::{Builder, Function, Type, Value, Verified};
use penstock_passes::{Options, Thresholds};

use super::products::whole;
use super::random::Random;
use super::rows::{op, same};
use super::{build, env};

/// Plans a graph with blocks of at most `block_bytes` bytes.
fn blocks(graph: &Verified, block_bytes: usize) -> Executable {
    let thresholds = Thresholds { fused_bytes: 0, block_bytes, ..Thresholds::DEFAULT };
    Executable::with_options(&Function::new("f", graph.clone()), thresholds.into()).unwrap()
}

fn without(graph: &Verified) -> Executable {
    let options = Options { skip: vec!["pipelines".into()], ..Options::default() };
    Executable::with_options(&Function::new("f", graph.clone()), options).unwrap()
}

/// A graph under construction, and its inputs.
struct Net {
    random: Random,
    dtype: DType,
    inputs: Vec<Tensor>,
}

impl Net {
    fn input(&mut self, b: &mut Builder, dims: &[usize]) -> Value {
        let odd = self.random.below(4) == 0;
        self.inputs.push(whole(&mut self.random, self.dtype, dims, odd));
        b.input(Type::tensor(self.dtype, Shape::known(dims)), None)
    }

    fn dims(b: &Builder, x: Value) -> Vec<usize> {
        b.graph().ty(x).shape().extents().unwrap().to_vec()
    }

    /// A convolution, a pooling, or something element by element.
    fn layer(&mut self, b: &mut Builder, x: Value) -> Value {
        let dims = Net::dims(b, x);
        let (axes, channels) = (dims.len() - 2, dims[dims.len() - 1]);
        let window: Vec<usize> = dims[1..=axes].iter().map(|&n| (1 + self.random.below(3)).min(n)).collect();
        let strides: Vec<i64> = (0..axes).map(|_| 1 + i64::from(self.random.below(4) == 0)).collect();
        let padding = ["SAME", "VALID"][self.random.below(2)];
        let attrs = [("strides", strides.into()), ("padding", padding.into())];
        match self.random.below(7) {
            0..=2 => {
                let groups = if channels.is_multiple_of(2) && self.random.below(4) == 0 { 2 } else { 1 };
                let outs = groups * [1, 4, 33][self.random.below(3)];
                let filter = self.input(b, &[&window[..], &[channels / groups, outs]].concat());
                b.emit(op("conv"), &[x, filter], &attrs).unwrap()[0]
            }
            3 => {
                let ksize = window.iter().map(|&n| n as i64).collect::<Vec<_>>();
                let [strides, padding] = attrs;
                b.emit(op("max_pool"), &[x], &[strides, padding, ("ksize", ksize.into())]).unwrap()[0]
            }
            4 => {
                let bias = self.input(b, &[channels]);
                b.emit(op("add"), &[x, bias], &[]).unwrap()[0]
            }
            5 => {
                let other = self.input(b, &dims);
                b.emit(op(["maximum", "add"][self.random.below(2)]), &[other, x], &[]).unwrap()[0]
            }
            _ => b.emit(op(["relu", "neg"][self.random.below(2)]), &[x], &[]).unwrap()[0],
        }
    }
}

/// A random net whose sums are exact in any order.
fn program(seed: u64) -> (Verified, Vec<Tensor>) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let dtype = [DType::F32, DType::F32, DType::F64, DType::F16][random.below(4)];
    let axes = 1 + random.below(2);
    let mut dims = vec![[4, 5, 9, 16][random.below(4)]];
    dims.extend((0..axes).map(|_| [3, 8, 13][random.below(3)]));
    dims.push([1, 2, 8][random.below(3)]);
    let mut net = Net { random, dtype, inputs: Vec::new() };
    let graph = build(|b| {
        let mut values = vec![net.input(b, &dims)];
        for _ in 0..2 + net.random.below(5) {
            values.push(net.layer(b, values[values.len() - 1]));
        }
        let last = values[values.len() - 1];
        // Sometimes what is in between is wanted as well.
        let other = values[net.random.below(values.len())];
        if net.random.below(3) == 0 { vec![last, other] } else { vec![last] }
    });
    (graph, net.inputs)
}

#[test]
fn nets_of_images_agree_with_the_reference_for_blocks_of_any_size() {
    let mut found = 0;
    for seed in 0..400 {
        let (graph, inputs) = program(seed);
        let args: Vec<Arg> = inputs.into_iter().map(Arg::from).collect();
        let due = reference::run(&graph, &args, &env()).unwrap();
        let all = [blocks(&graph, 8 << 10), blocks(&graph, 64 << 10), blocks(&graph, 1 << 20), without(&graph)];
        for executable in &all {
            let listing = executable.text().unwrap();
            found += usize::from(listing.contains("= pipeline"));
            for (k, (got, due)) in executable.run(&args, &env()).unwrap().iter().zip(&due).enumerate() {
                assert!(same(got, due), "seed {seed}, result {k}:\n{graph}\n{listing}");
            }
        }
    }
    assert!(found > 400, "{found} of them were made by pipelines");
}

/// A convolution, a bias, `relu` and a pooling, twice, of images of 12 × 12.
fn convnet(batch: usize) -> Verified {
    let mut random = Random(1);
    build(|b| {
        let mut x = b.input(Type::tensor(DType::F32, Shape::known(&[batch, 12, 12, 2])), None);
        for (ins, outs) in [(2, 8), (8, 4)] {
            let filter = b.constant(whole(&mut random, DType::F32, &[3, 3, ins, outs], false));
            let bias = b.constant(whole(&mut random, DType::F32, &[outs], false));
            let two = || vec![2i64, 2];
            x = b.emit(op("conv"), &[x, filter], &[("padding", "SAME".into())]).unwrap()[0];
            x = b.emit(op("add"), &[x, bias], &[]).unwrap()[0];
            x = b.emit(op("relu"), &[x], &[]).unwrap()[0];
            let attrs = [("ksize", two().into()), ("strides", two().into()), ("padding", "VALID".into())];
            x = b.emit(op("max_pool"), &[x], &attrs).unwrap()[0];
        }
        vec![x]
    })
}

#[test]
fn a_convolution_takes_what_follows_it_along_and_all_layers_are_one_step() {
    let listing = blocks(&convnet(16), 1 << 20).text().unwrap();
    assert!(listing.contains("4 stages, "), "{listing}");
    assert!(!listing.contains("max_pool"), "{listing}");
}

#[test]
fn images_that_no_cache_holds_go_through_one_layer_after_the_other() {
    let listing = blocks(&convnet(16), 1 << 10).text().unwrap();
    assert!(listing.contains("max_pool"), "{listing}");
}
