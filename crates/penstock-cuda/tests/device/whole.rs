//! Work on whole tensors, against the host: copies, reductions, products.

use penstock_data::{Class, DType, INLINE_BYTES, Result, Tensor};
use penstock_exec::{Device, Outputs, StdEnv, eager, register, set_wish};
use penstock_filetests::same_tensor;
use penstock_ir::{Attr, Attrs, Cuda, OpDef};

use super::gpu;
use crate::common::op;

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    /// A tensor of numbers between -4 and 4, of which sums are rounded.
    fn tensor(&mut self, dtype: DType, dims: &[usize]) -> Tensor {
        let count = dims.iter().product();
        let values: Vec<f64> = (0..count).map(|_| self.next() as f64 / (1u64 << 28) as f64 - 4.0).collect();
        cast(&Tensor::from_slice(dims, &values).expect("memory"), dtype)
    }
}

fn attributes(op: &'static OpDef, attrs: &[(&str, Attr)]) -> Attrs {
    op.attributes(attrs).unwrap_or_else(|e| panic!("{}: {e}", op.name))
}

fn host(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs) -> Result<Outputs> {
    eager(op, inputs, attrs, &StdEnv::default())
}

fn cast(x: &Tensor, dtype: DType) -> Tensor {
    let op = op("cast");
    host(op, &[x], &attributes(op, &[("dtype", dtype.into())])).expect("a cast").remove(0)
}

/// What the device gives for operands that lie there.
fn on_device(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs) -> Result<Vec<Tensor>> {
    let gpu = gpu().expect("the tests were left without one");
    let there: Vec<Tensor> = inputs.iter().map(|t| gpu.upload(t).expect("a copy")).collect();
    register(std::sync::Arc::new(gpu));
    let results = host(op, &there.iter().collect::<Vec<_>>(), attrs)?;
    results.iter().map(Tensor::on_host).collect()
}

/// Whether an operator on operands of the device leaves its result there.
fn stays(op: &'static OpDef, x: &Tensor, attrs: &[(&str, Attr)]) -> bool {
    let gpu = gpu().expect("the tests were left without one");
    let there = gpu.upload(x).expect("a copy");
    register(std::sync::Arc::new(gpu));
    let results = host(op, &[&there], &attributes(op, attrs)).expect("a result");
    results.iter().all(|t| t.remote().is_some() || t.byte_len() <= INLINE_BYTES)
}

/// Fails where the device gives something else than the host.
#[track_caller]
fn agree(op: &'static OpDef, inputs: &[&Tensor], attrs: &[(&str, Attr)]) {
    let attrs = attributes(op, attrs);
    let got = on_device(op, inputs, &attrs);
    let due = host(op, inputs, &attrs);
    let what = || {
        let shapes: Vec<String> = inputs.iter().map(|t| format!("{}{:?}", t.dtype(), t.dims())).collect();
        format!("{} {attrs:?} of {}", op.name, shapes.join(", "))
    };
    match (&due, &got) {
        (Ok(due), Ok(got)) => {
            let same = due.len() == got.len() && due.iter().zip(got).all(|(a, b)| same_tensor(a, b));
            assert!(same, "{}: {got:?} instead of {due:?}", what());
        }
        (Err(due), Err(got)) => assert_eq!(due.class(), got.class(), "{}", what()),
        _ => panic!("{}: {got:?} instead of {due:?}", what()),
    }
}

#[test]
fn every_sample_of_an_operator_with_kernels_gives_what_the_host_gives() {
    if gpu().is_none() {
        return;
    }
    let mut tried = 0;
    for op in penstock_ops::all().filter(|op| matches!(op.cuda, Cuda::Kernels)) {
        for sample in (op.samples)() {
            let rounds = ["matmul", "conv", "conv_input_grad", "conv_filter_grad"].contains(&op.name);
            if sample.inputs.iter().all(|t| t.dtype().size() > 0) && !rounds {
                agree(op, &sample.inputs.iter().collect::<Vec<_>>(), &sample.attrs);
                tried += 1;
            }
        }
    }
    assert!(tried > 500, "{tried} samples");
}

#[test]
fn what_is_computed_of_the_device_s_memory_stays_there() {
    if gpu().is_none() {
        return;
    }
    let x = Numbers(5).tensor(DType::F32, &[30, 40]);
    for (name, attrs) in [
        ("transpose", vec![]),
        ("reduce_sum", vec![("axes", Attr::from(vec![0i64]))]),
        ("reduce_max", vec![("axes", Attr::from(vec![1i64]))]),
        ("unstack", vec![("axis", Attr::from(0i64))]),
        ("identity", vec![]),
    ] {
        assert!(stays(op(name), &x, &attrs), "{name}");
    }
    // The host computes what the device has no kernel for.
    let z = cast(&x, DType::C64);
    agree(op("reduce_sum"), &[&z], &[("axes", vec![0i64].into())]);
    agree(op("matmul"), &[&z, &z], &[("transpose_b", true.into())]);
}

const REDUCTIONS: [&str; 5] = ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_mean"];

/// Runs shorter and longer than blocks and parts; rows in blocks and parts; several axes that are not neighbours.
const REDUCED: [(&[usize], &[i64]); 16] = [
    (&[31], &[0]),
    (&[33], &[0]),
    (&[4097], &[0]),
    (&[65_537], &[0]),
    (&[200_003], &[0]),
    (&[3, 70_000], &[1]),
    (&[50, 7], &[1]),
    (&[5, 40, 9], &[1]),
    (&[100, 6], &[0]),
    (&[1, 63, 5], &[1]),
    (&[9000, 12], &[0]),
    (&[130, 1030], &[0]),
    (&[6, 40, 3, 50], &[1, 3]),
    (&[4, 6, 70, 3], &[0, 2]),
    (&[3, 2, 5, 4, 40], &[0, 2, 4]),
    (&[1, 40, 1], &[0, 2]),
];

#[test]
fn reductions_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(1);
    const DTYPES: [DType; 7] = [DType::F64, DType::F16, DType::Bf16, DType::I32, DType::I8, DType::U16, DType::I64];
    for (i, (dims, axes)) in REDUCED.into_iter().enumerate() {
        // Each reduction and dtype is a kernel of its own to compile, so that each shape gets some.
        let axes: Attr = axes.to_vec().into();
        let x = numbers.tensor(DType::F32, dims);
        for name in [REDUCTIONS[0], REDUCTIONS[1 + i % 4]] {
            agree(op(name), &[&x], &[("axes", axes.clone())]);
        }
        let other = numbers.tensor(DTYPES[i % 7], dims);
        agree(op(REDUCTIONS[i / 2 % 5]), &[&other], &[("axes", axes.clone())]);
        let flags = cast(&numbers.tensor(DType::I8, dims), DType::Bool);
        let name = if i % 2 == 0 { "reduce_any" } else { "reduce_all" };
        agree(op(name), &[&flags], &[("axes", axes), ("keepdims", true.into())]);
    }
}

#[test]
fn sums_of_columns_in_hundreds_of_parts_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    // 16-bit floats are added up in single precision, so that the order shows.
    let x = Numbers(12).tensor(DType::F16, &[64 * 230 + 5, 1028]);
    agree(op("reduce_sum"), &[&x], &[("axes", vec![0i64].into())]);
}

#[test]
fn extremes_and_sums_of_odd_floats_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::MAX, f32::MIN_POSITIVE, 1e-40];
    for &value in &odd {
        for &other in &odd {
            let mut values = vec![other; 40];
            values[17] = value;
            let x = Tensor::from_slice(&[2, 20], &values).expect("memory");
            for name in REDUCTIONS {
                agree(op(name), &[&x], &[("axes", vec![1i64].into())]);
                agree(op(name), &[&x], &[("axes", vec![0i64].into())]);
            }
        }
    }
}

#[test]
fn transpositions_of_every_order_reach_every_element() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(2);
    let orders: [&[i64]; 8] =
        [&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0], &[1, 0, 2], &[2, 1, 0]];
    let extents: [[usize; 3]; 8] =
        [[3, 5, 7], [2, 33, 65], [70, 3, 4], [40, 3, 50], [1, 64, 32], [17, 20, 90], [33, 34, 8], [16, 1, 16]];
    for (perm, dims) in orders.into_iter().zip(extents) {
        for dtype in [DType::I8, DType::F16, DType::F32, DType::F64, DType::C128] {
            let x = numbers.tensor(dtype, &dims);
            agree(op("transpose"), &[&x], &[("perm", perm.to_vec().into())]);
        }
    }
}

#[test]
fn what_is_put_together_is_what_the_host_puts_together() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(3);
    let ints = |values: &[i32]| Tensor::vector(values);
    for round in 0..40 {
        let dtype = [DType::F32, DType::I8, DType::F16, DType::I64, DType::C128][round % 5];
        let dims: [usize; 3] = std::array::from_fn(|_| 1 + numbers.below(24));
        let (x, y) = (numbers.tensor(dtype, &dims), numbers.tensor(dtype, &dims));
        let axis = numbers.below(3) as i64;
        agree(op("concat"), &[&x, &y, &x], &[("axis", axis.into())]);
        agree(op("stack"), &[&x, &y], &[("axis", axis.into())]);
        agree(op("unstack"), &[&x], &[("axis", axis.into())]);
        let first = numbers.below(dims[axis as usize] + 1) as i64;
        agree(op("split"), &[&x], &[("sizes", vec![first, -1].into()), ("axis", axis.into())]);
        agree(op("reverse"), &[&x], &[("axes", vec![axis, (axis + 1) % 3].into())]);
        let pads = Tensor::from_slice(&[3, 2], &[0i32, 1, 2, 0, 4, 4]).expect("memory");
        let value = cast(&Tensor::from(3.0f64), dtype);
        agree(op("pad"), &[&x, &pads, &value], &[]);
        agree(op("tile"), &[&x, &ints(&[2, 1, 3])], &[]);
        let row = numbers.tensor(dtype, &[dims[1], 1]);
        let wide = [dims[0] as i32, dims[1] as i32, dims[2] as i32];
        agree(op("broadcast_to"), &[&row, &ints(&wide)], &[]);
        agree(op("fill"), &[&ints(&[50, 50]), &value], &[]);
        let (begin, end) = (ints(&[-1, 0, 1]), ints(&[-100, 100, 100]));
        agree(op("strided_slice"), &[&x, &begin, &end, &ints(&[-2, 1, 3])], &[]);
        agree(op("reshape"), &[&x, &ints(&[-1, dims[0] as i32])], &[]);
    }
}

/// How far sums of products may be apart: twice the bound of each side.
fn bound(a: &Tensor, b: &Tensor, attrs: &Attrs, dtype: DType) -> Tensor {
    let wide = |t: &Tensor| host(op("abs"), &[&cast(t, DType::F64)], &Attrs::EMPTY).expect("abs").remove(0);
    let sums = host(op("matmul"), &[&wide(a), &wide(b)], attrs).expect("a product").remove(0);
    let (eps, rounded) = match dtype {
        DType::F64 => (f64::EPSILON, 0.0),
        DType::F16 => (f64::from(f32::EPSILON), 1e-3),
        DType::Bf16 => (f64::from(f32::EPSILON), 8e-3),
        _ => (f64::from(f32::EPSILON), 0.0),
    };
    let k = *a.dims().last().expect("a matrix") as f64;
    let factor = Tensor::from(4.0 * k * eps + rounded);
    host(op("mul"), &[&sums, &factor], &Attrs::EMPTY).expect("a bound").remove(0)
}

#[test]
fn products_are_within_the_bound_of_the_host_s_and_of_integers_equal() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(4);
    let matmul = op("matmul");
    let batches: [(&[usize], &[usize]); 6] =
        [(&[], &[]), (&[3], &[3]), (&[2, 3], &[3]), (&[], &[4]), (&[2, 1], &[1, 3]), (&[5], &[])];
    for round in 0..48 {
        let dtype = [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::I32, DType::U8][round % 6];
        let [m, k, n] = std::array::from_fn(|_| 1 + numbers.below(100));
        let (batch_a, batch_b) = batches[round / 6 % 6];
        let (ta, tb) = (round % 4 / 2 == 1, round % 2 == 1);
        let matrix = |batch: &[usize], rows: usize, columns: usize, transposed: bool| {
            let own = if transposed { [columns, rows] } else { [rows, columns] };
            [batch, &own[..]].concat()
        };
        let a = numbers.tensor(dtype, &matrix(batch_a, m, k, ta));
        let b = numbers.tensor(dtype, &matrix(batch_b, k, n, tb));
        let attrs = [("transpose_a", ta.into()), ("transpose_b", tb.into())];
        if dtype.is_integer() {
            agree(matmul, &[&a, &b], &attrs);
            continue;
        }
        let attrs = attributes(matmul, &attrs);
        let got = on_device(matmul, &[&a, &b], &attrs);
        let got = cast(&got.expect("a product")[0], DType::F64);
        let due = cast(&host(matmul, &[&a, &b], &attrs).expect("a product")[0], DType::F64);
        let bound = bound(&a, &b, &attrs, dtype);
        assert_eq!(got.dims(), due.dims());
        let all = got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()).zip(bound.as_slice::<f64>());
        for (i, ((&got, &due), &most)) in all.enumerate() {
            assert!(
                (got - due).abs() <= most,
                "{dtype} [{m},{k},{n}] {batch_a:?} {batch_b:?} at {i}: {got}, not {due}"
            );
        }
    }
}

#[test]
fn what_inference_accepts_and_the_kernel_refuses_is_the_error_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let x = Tensor::vector(&vec![1.0f32; 100]);
    let attrs = attributes(op("reshape"), &[]);
    let shape = Tensor::vector(&[7i32, 7]);
    let got = on_device(op("reshape"), &[&x, &shape], &attrs);
    assert_eq!(got.unwrap_err().class(), Class::InvalidArgument);
}

#[test]
fn softmax_and_cross_entropies_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(6);
    for dtype in [DType::F32, DType::F64, DType::F16, DType::Bf16] {
        for dims in [&[40, 10][..], &[3, 33], &[2, 1000], &[7, 4, 31], &[5, 1, 32], &[9, 1]] {
            let x = numbers.tensor(dtype, dims);
            for name in ["softmax", "log_softmax"] {
                agree(op(name), &[&x], &[]);
            }
            let labels = host(op("softmax"), &[&numbers.tensor(dtype, dims)], &attributes(op("softmax"), &[]));
            agree(op("softmax_cross_entropy"), &[&x, &labels.expect("labels")[0]], &[]);
            let (&classes, leading) = dims.split_last().expect("a rank");
            let classes: Vec<i32> = (0..leading.iter().product()).map(|_| numbers.below(classes) as i32).collect();
            let classes = Tensor::from_slice(leading, &classes).expect("memory");
            agree(op("sparse_softmax_cross_entropy"), &[&x, &classes], &[]);
            agree(op("sparse_softmax_cross_entropy"), &[&x, &cast(&classes, DType::I64)], &[]);
        }
    }
    let x = numbers.tensor(DType::F32, &[3, 20]);
    agree(op("sparse_softmax_cross_entropy"), &[&x, &Tensor::vector(&[0i32, 20, 3])], &[]);
}

#[test]
fn rows_by_index_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(7);
    for dtype in [DType::F32, DType::I8, DType::F16, DType::I64, DType::C128] {
        let x = numbers.tensor(dtype, &[6, 11, 5]);
        let mut named = |n: usize, dims: &[usize]| {
            let values: Vec<i64> = (0..dims.iter().product()).map(|_| numbers.below(n) as i64).collect();
            Tensor::from_slice(dims, &values).expect("memory")
        };
        agree(op("gather"), &[&x, &named(6, &[40])], &[]);
        agree(op("gather"), &[&x, &cast(&named(11, &[3, 4]), DType::I32)], &[("axis", 1i64.into())]);
        agree(op("gather"), &[&x, &named(5, &[6, 9])], &[("axis", 2i64.into()), ("batch_dims", 1i64.into())]);
        agree(op("gather"), &[&x, &Tensor::vector(&[1i64, -1])], &[]);
        agree(op("gather"), &[&x, &Tensor::vector(&[1i64, -1, 6])], &[("drop_negative", true.into())]);
    }
}

/// The absolute values of a tensor, in double precision.
fn magnitudes(x: &Tensor) -> Tensor {
    host(op("abs"), &[&cast(x, DType::F64)], &Attrs::EMPTY).expect("abs").remove(0)
}

/// Fails where the device is further from the host than rounding explains: by the operator's value on magnitudes.
#[track_caller]
fn agree_nearly(op: &'static OpDef, inputs: &[&Tensor], attrs: &[(&str, Attr)]) {
    let attrs = attributes(op, attrs);
    let floats = |t: &&&Tensor| !t.dtype().is_integer();
    let dtype = inputs.iter().find(floats).expect("a float").dtype();
    let got = cast(&on_device(op, inputs, &attrs).expect("a result")[0], DType::F64);
    let due = cast(&host(op, inputs, &attrs).expect("a result")[0], DType::F64);
    let wide: Vec<Tensor> = inputs.iter().map(|t| if floats(&t) { magnitudes(t) } else { (*t).clone() }).collect();
    let most = host(op, &wide.iter().collect::<Vec<_>>(), &attrs).expect("a bound").remove(0);
    let eps = match dtype {
        DType::F64 => 1e-13,
        DType::F32 => 1e-4,
        DType::F16 => 2e-3,
        _ => 2e-2,
    };
    assert_eq!(got.dims(), due.dims());
    let all = got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()).zip(most.as_slice::<f64>());
    for (i, ((&got, &due), &most)) in all.enumerate() {
        let shapes: Vec<&[usize]> = inputs.iter().map(|t| t.dims()).collect();
        assert!((got - due).abs() <= eps * most, "{} {dtype} {shapes:?} {attrs:?} at {i}: {got}, not {due}", op.name);
    }
}

#[test]
fn convolutions_and_their_transposes_are_near_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(8);
    type Case<'a> = (&'a [usize], &'a [usize], &'a [i64], &'a [i64], &'a str);
    let cases: [Case<'_>; 9] = [
        (&[2, 9, 8, 3], &[3, 3, 3, 5], &[1, 1], &[1, 1], "SAME"),
        (&[2, 9, 8, 3], &[3, 2, 3, 4], &[2, 3], &[1, 1], "VALID"),
        (&[3, 10, 10, 2], &[3, 3, 2, 6], &[1, 1], &[2, 3], "SAME"),
        (&[2, 5, 5, 7], &[1, 1, 7, 4], &[1, 1], &[1, 1], "VALID"),
        (&[2, 5, 5, 7], &[1, 1, 7, 4], &[2, 2], &[1, 1], "SAME"),
        (&[2, 8, 8, 6], &[3, 3, 2, 9], &[1, 1], &[1, 1], "SAME"),
        (&[2, 8, 7, 5], &[3, 3, 1, 10], &[2, 1], &[1, 1], "SAME"),
        (&[2, 20, 3], &[4, 3, 5], &[2], &[1], "SAME"),
        (&[1, 5, 6, 4, 2], &[2, 3, 2, 2, 3], &[1, 2, 1], &[1, 1, 1], "SAME"),
    ];
    for (x, f, strides, dilations, padding) in cases {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::Bf16] {
            let attrs = [
                ("strides", Attr::from(strides.to_vec())),
                ("padding", padding.into()),
                ("dilations", dilations.to_vec().into()),
            ];
            all_ways(&mut numbers, dtype, [x, f], &attrs);
        }
    }
}

/// Tries a convolution and its transposes: by cuDNN where it is installed and takes them, by patches of all images at once, and of one
/// image after the other.
fn all_ways(numbers: &mut Numbers, dtype: DType, [x, f]: [&[usize]; 2], attrs: &[(&str, Attr)]) {
    let (images, filter) = (numbers.tensor(dtype, x), numbers.tensor(dtype, f));
    let made = host(op("conv"), &[&images, &filter], &attributes(op("conv"), attrs)).expect("a result");
    let dy = numbers.tensor(dtype, made[0].dims());
    let sizes = |dims: &[usize]| Tensor::vector(&dims.iter().map(|&d| d as i64).collect::<Vec<_>>());
    let gpu = gpu().expect("a GPU");
    for (library, bytes) in [(false, 1), (false, 1 << 30), (true, 1 << 30)] {
        gpu.set_uses_cudnn(library).expect("an open device");
        gpu.set_patch_bytes(bytes).expect("an open device");
        agree_nearly(op("conv"), &[&images, &filter], attrs);
        agree_nearly(op("conv_input_grad"), &[&sizes(x), &filter, &dy], attrs);
        agree_nearly(op("conv_filter_grad"), &[&images, &sizes(f), &dy], attrs);
    }
}

#[test]
fn convolutions_of_random_geometries_are_near_those_of_the_host() {
    let Some(gpu) = gpu() else { return };
    let mut numbers = Numbers(11);
    for round in 0..60 {
        let dtype = [DType::F32, DType::F64, DType::F16, DType::Bf16][round % 4];
        let rank = [2, 2, 1, 3][round / 4 % 4];
        let groups = [1, 1, 2, 3][numbers.below(4)];
        let (ins, outs) = (1 + numbers.below(9), 1 + numbers.below(9));
        let mut each =
            |least: usize, below: usize| -> Vec<usize> { (0..rank).map(|_| least + numbers.below(below)).collect() };
        let (pixels, window, strides, dilations) = (each(6, 8), each(1, 4), each(1, 3), each(1, 2));
        // The padding before and after may differ.
        let around = each(0, 3).into_iter().zip(each(0, 3)).flat_map(|(before, after)| [before as i64, after as i64]);
        let around: Vec<i64> = around.collect();
        let ints = |values: &[usize]| Attr::from(values.iter().map(|&v| v as i64).collect::<Vec<_>>());
        let padding = ["VALID", "SAME", "EXPLICIT"][numbers.below(3)];
        let mut attrs = vec![("strides", ints(&strides)), ("dilations", ints(&dilations)), ("padding", padding.into())];
        if padding == "EXPLICIT" {
            attrs.push(("explicit_paddings", around.into()));
        }
        let x = [&[1 + numbers.below(3)], &pixels[..], &[groups * ins]].concat();
        let f = [&window[..], &[ins, groups * outs]].concat();
        all_ways(&mut numbers, dtype, [&x, &f], &attrs);
    }
    let decided = gpu.convolutions().expect("an open device");
    eprintln!("{}", summary(&decided));
    #[cfg(target_os = "linux")]
    if let Some(mock) = crate::common::mock::get() {
        assert_eq!(decided.len() > 1, decided[0].starts_with("cuDNN"));
        assert_eq!(mock.findings(), Vec::<String>::new());
    }
}

/// How many convolutions of each kind and dtype went which way.
fn summary(decided: &[String]) -> String {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for line in &decided[1..] {
        let (what, how) = line.split_once(": ").unwrap_or((line, ""));
        let kind: Vec<&str> = what.split(' ').take(2).collect();
        // Working memory differs from one to the next.
        let how = how.rsplit_once(", ").filter(|(_, rest)| rest.ends_with("bytes")).map_or(how, |(how, _)| how);
        *counts.entry(format!("{}: {how}", kind.join(" "))).or_default() += 1;
    }
    counts.iter().fold(decided[0].clone(), |text, (what, count)| format!("{text}\n{count} times {what}"))
}

#[test]
fn poolings_and_their_transposes_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(9);
    type Case<'a> = (&'a [usize], &'a [i64], &'a [i64], &'a str);
    let cases: [Case<'_>; 5] = [
        (&[2, 9, 8, 5], &[2, 2], &[2, 2], "VALID"),
        (&[2, 9, 8, 5], &[3, 2], &[1, 2], "SAME"),
        (&[3, 7, 7, 2], &[4, 4], &[2, 3], "SAME"),
        (&[2, 30, 3], &[5], &[2], "SAME"),
        (&[1, 5, 6, 4, 2], &[2, 3, 2], &[1, 2, 2], "VALID"),
    ];
    for (dims, ksize, strides, padding) in cases {
        let attrs =
            [("ksize", Attr::from(ksize.to_vec())), ("strides", strides.to_vec().into()), ("padding", padding.into())];
        for dtype in [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::I32, DType::U8] {
            // Few different values, so that windows have equal ones.
            let x = cast(&cast(&numbers.tensor(dtype, dims), DType::I8), dtype);
            agree(op("max_pool"), &[&x], &attrs);
            if dtype.is_integer() {
                continue;
            }
            agree(op("avg_pool"), &[&x], &attrs);
            let pooled = host(op("max_pool"), &[&x], &attributes(op("max_pool"), &attrs)).expect("a result");
            let dy = numbers.tensor(dtype, pooled[0].dims());
            agree(op("max_pool_grad"), &[&x, &dy], &attrs);
            agree(op("max_pool_take"), &[&x, &numbers.tensor(dtype, dims)], &attrs);
            let sizes = Tensor::vector(&dims.iter().map(|&d| d as i64).collect::<Vec<_>>());
            agree(op("avg_pool_grad"), &[&sizes, &dy], &attrs);
        }
    }
}

#[test]
fn rows_in_segments_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(10);
    for dtype in [DType::F32, DType::F64, DType::F16, DType::I32, DType::U8] {
        let x = numbers.tensor(dtype, &[60, 3, 5]);
        let ids: Vec<i32> = (0..60).map(|_| numbers.below(9) as i32 - 1).collect();
        let (ids, n) = (Tensor::vector(&ids), Tensor::from(12i32));
        for name in ["unsorted_segment_sum", "unsorted_segment_mean", "unsorted_segment_prod", "unsorted_segment_max"] {
            agree(op(name), &[&x, &ids, &n], &[]);
        }
        agree(op("unsorted_segment_sum"), &[&x, &ids, &Tensor::from(3i32)], &[]);
        let mut named = |n: usize, dims: &[usize]| {
            let values: Vec<i64> = (0..dims.iter().product()).map(|_| numbers.below(n) as i64).collect();
            Tensor::from_slice(dims, &values).expect("memory")
        };
        let (rows, columns) = (named(20, &[60]), named(3, &[60, 4]));
        agree(op("gather_grad"), &[&Tensor::vector(&[20i64, 3, 5]), &rows, &x], &[]);
        let dy = host(op("gather"), &[&x, &columns], &attributes(op("gather"), &BATCHED)).expect("a result").remove(0);
        agree(op("gather_grad"), &[&Tensor::vector(&[60i64, 3, 5]), &columns, &dy], &BATCHED);
    }
}

#[test]
fn many_ids_are_sorted_into_segments_by_the_device() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(15);
    for (count, n) in [(4096, 9), (5001, 3000), (20_011, 1)] {
        for dtype in [DType::I32, DType::I64] {
            let x = numbers.tensor(DType::F32, &[count, 3]);
            let ids: Vec<i64> = (0..count).map(|_| numbers.below(n + 2) as i64 - 2).collect();
            let ids = cast(&Tensor::vector(&ids), dtype);
            for name in ["unsorted_segment_sum", "unsorted_segment_mean"] {
                agree(op(name), &[&x, &ids, &Tensor::from(n as i64)], &[]);
            }
            // Ids that the device has computed, and one of which is too great.
            let there = wished(|| host(op("neg"), &[&host(op("neg"), &[&ids], &Attrs::EMPTY)?[0]], &Attrs::EMPTY));
            let there = there.expect("ids").remove(0);
            for most in [n as i64, n as i64 - 1] {
                let (sum, most) = (op("unsorted_segment_sum"), Tensor::from(most));
                let got = wished(|| host(sum, &[&x, &there, &most], &Attrs::EMPTY));
                let due = host(sum, &[&x, &ids, &most], &Attrs::EMPTY);
                match (got, due) {
                    (Ok(got), Ok(due)) => assert!(same_tensor(&got[0].on_host().expect("a copy"), &due[0])),
                    (got, due) => assert_eq!(got.err().map(|e| e.class()), due.err().map(|e| e.class())),
                }
            }
            let rows: Vec<i64> = (0..count).map(|_| numbers.below(n) as i64).collect();
            agree(op("gather_grad"), &[&Tensor::vector(&[n as i64, 3]), &cast(&Tensor::vector(&rows), dtype), &x], &[]);
        }
    }
}

#[test]
fn places_in_sorted_rows_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(16);
    for (i, (rows, n, count)) in [(1, 1, 33), (3, 4097, 40), (40, 31, 5), (2, 1000, 4096)].into_iter().enumerate() {
        for dtype in [DType::F32, DType::F16, DType::I64, DType::U8] {
            let row = repeated(&mut numbers, dtype, &[rows, n]);
            let sorted = host(op("sort"), &[&row], &attributes(op("sort"), &[])).expect("rows").remove(0);
            let values = repeated(&mut numbers, dtype, &[rows, count]);
            let dtype = if i % 2 == 0 { DType::I32 } else { DType::I64 };
            for right in [false, true] {
                agree(op("searchsorted"), &[&sorted, &values], &[("right", right.into()), ("dtype", dtype.into())]);
            }
        }
    }
}

const BATCHED: [(&str, Attr); 2] = [("axis", Attr::Int(1)), ("batch_dims", Attr::Int(1))];

/// Lengths around those of packs, warps, stretches and lines, and many.
const LENGTHS: [usize; 11] = [0, 1, 3, 31, 32, 33, 1024, 4095, 4096, 4097, 100_003];

#[test]
fn random_numbers_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let seeds = [Tensor::vector(&[7i32, -3]), Tensor::vector(&[-1i64, i64::MIN, 5])];
    for (i, n) in LENGTHS.into_iter().enumerate() {
        let shape = Tensor::vector(&[n as i64]);
        let seed = &seeds[i % 2];
        for dtype in [DType::F32, DType::F64, DType::F16, DType::Bf16] {
            for name in ["stateless_random_uniform", "stateless_random_normal", "stateless_truncated_normal"] {
                agree_where_it_matters(op(name), &[&shape, seed], &[("dtype", dtype.into())]);
            }
        }
        for (dtype, low, high) in [
            (DType::I8, -100.0, 100.0),
            (DType::U8, 3.0, 17.0),
            (DType::I16, -30_000.0, 30_000.0),
            (DType::I32, -2e9, 2e9),
            (DType::I64, -9e18, 9e18),
            (DType::U64, 0.0, 1e10),
        ] {
            let [low, high] = [low, high].map(|v| cast(&Tensor::from(v), dtype));
            agree_where_it_matters(op("stateless_random_uniform_int"), &[&shape, seed, &low, &high], &[]);
        }
        for dtype in [DType::I32, DType::I64, DType::U32, DType::U64] {
            let name = "stateless_random_uniform_full_int";
            agree_where_it_matters(op(name), &[&shape, seed], &[("dtype", dtype.into())]);
        }
    }
}

/// As [`agree`], of operands that are all of the host, though the device is wished for.
#[track_caller]
fn agree_where_it_matters(op: &'static OpDef, inputs: &[&Tensor], attrs: &[(&str, Attr)]) {
    let attrs = attributes(op, attrs);
    let got = wished(|| host(op, inputs, &attrs)).expect("a result").remove(0);
    let due = host(op, inputs, &attrs).expect("a result").remove(0);
    assert_eq!(got.remote().is_some(), due.byte_len() > INLINE_BYTES, "{} {attrs:?}", op.name);
    let got = got.on_host().expect("a copy");
    let odd = got.bytes().iter().zip(due.bytes()).position(|(a, b)| a != b);
    assert!(got.dims() == due.dims() && odd.is_none(), "{} {attrs:?} {:?} at byte {odd:?}", op.name, due.dims());
}

/// What a function gives while the device is wished for.
fn wished<R>(work: impl FnOnce() -> R) -> R {
    let device: std::sync::Arc<dyn Device> = std::sync::Arc::new(gpu().expect("the tests were left without one"));
    register(device.clone());
    let before = set_wish(Some(device));
    let result = work();
    set_wish(before);
    result
}

#[test]
fn stretches_of_the_stateful_stream_go_on_where_the_host_left_off() {
    if gpu().is_none() {
        return;
    }
    let drawn = || -> Vec<Tensor> {
        let env = StdEnv::new(11);
        let shape = Tensor::vector(&[1001i32, 5]);
        ["random_uniform", "random_normal", "truncated_normal", "random_uniform"]
            .map(|name| {
                let made = eager(op(name), &[&shape], &attributes(op(name), &[]), &env).expect("numbers").remove(0);
                made.on_host().expect("a copy")
            })
            .into()
    };
    let (got, due) = (wished(drawn), drawn());
    assert!(got.iter().zip(&due).all(|(a, b)| same_tensor(a, b)));
}

/// Extents, and the axis: lines of neighbours and lines side by side, shorter and longer than those that one thread walks.
const SCANNED: [(&[usize], i64); 14] = [
    (&[0], 0),
    (&[1], 0),
    (&[31], 0),
    (&[32], 0),
    (&[33], 0),
    (&[1024], 0),
    (&[1025], 0),
    (&[70, 100], 1),
    (&[3, 4097], 1),
    (&[4095, 2], 0),
    (&[5, 300, 7], 1),
    (&[2, 1500, 40], 1),
    (&[40, 33], 0),
    (&[100_003], 0),
];

#[test]
fn running_products_and_recurrences_and_short_sums_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(11);
    for (i, (dims, axis)) in SCANNED.into_iter().enumerate() {
        let attrs = |i: usize| {
            [("axis", Attr::from(axis)), ("exclusive", (i % 2 == 1).into()), ("reverse", (i / 2 % 2 == 1).into())]
        };
        let dtypes = [DType::F32, [DType::F64, DType::F16, DType::Bf16][i % 3]];
        for (d, dtype) in dtypes.into_iter().enumerate() {
            let (x, y) = (numbers.tensor(dtype, dims), numbers.tensor(dtype, dims));
            let (attrs, n) = (attrs(i + d), dims[axis as usize]);
            // A single long line is one thread's, which takes the emulation long.
            if n < 10_000 {
                agree(op("cumprod"), &[&x], &attrs);
                agree(op("linear_recurrence"), &[&x, &y], &attrs);
            }
            if n <= 1024 {
                agree(op("cumsum"), &[&x], &attrs);
                agree(op("cumulative_logsumexp"), &[&x], &attrs);
            }
        }
        let dtype = [DType::I32, DType::I8, DType::I64, DType::U16][i % 4];
        let x = numbers.tensor(dtype, dims);
        agree(op("cumsum"), &[&x], &attrs(i));
        agree(op("cumprod"), &[&x], &attrs(i + 1));
    }
    // The host computes what the device has no kernel for.
    let z = cast(&numbers.tensor(DType::F32, &[500]), DType::C64);
    agree(op("cumsum"), &[&z], &[]);
}

#[test]
fn long_running_sums_are_within_the_bound_of_the_exact_ones() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(12);
    for (i, (dims, axis)) in SCANNED.into_iter().filter(|(dims, axis)| dims[*axis as usize] > 1024).enumerate() {
        for dtype in [DType::F32, DType::F16, DType::F64] {
            let attrs =
                [("axis", Attr::from(axis)), ("exclusive", (i % 2 == 1).into()), ("reverse", (i % 3 == 1).into())];
            let attrs = attributes(op("cumsum"), &attrs);
            let x = numbers.tensor(dtype, dims);
            let got = cast(&on_device(op("cumsum"), &[&x], &attrs).expect("sums")[0], DType::F64);
            let wide = cast(&x, DType::F64);
            let due = host(op("cumsum"), &[&wide], &attrs).expect("sums").remove(0);
            let most = host(op("cumsum"), &[&magnitudes(&wide)], &attrs).expect("sums").remove(0);
            let (eps, rounded) = match dtype {
                DType::F32 => (f64::from(f32::EPSILON), 0.0),
                DType::F16 => (f64::from(f32::EPSILON), 1e-3),
                _ => (f64::EPSILON, 0.0),
            };
            let all = got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()).zip(most.as_slice::<f64>());
            for (at, ((&got, &due), &most)) in all.enumerate() {
                // The due sums are rounded as well, those of `f64` after each addition.
                let bound =
                    (2048.0 * eps + dims.iter().product::<usize>() as f64 * f64::EPSILON) * most + rounded * due.abs();
                assert!((got - due).abs() <= bound, "{dtype} {dims:?} at {at}: {got}, not {due}");
            }
            let attrs = [("axis", Attr::from(axis)), ("exclusive", (i % 2 == 0).into())];
            let attrs = attributes(op("cumulative_logsumexp"), &attrs);
            let got = cast(&on_device(op("cumulative_logsumexp"), &[&x], &attrs).expect("logarithms")[0], DType::F64);
            let due = host(op("cumulative_logsumexp"), &[&wide], &attrs).expect("logarithms").remove(0);
            for (at, (&got, &due)) in got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()).enumerate() {
                // An exclusive one starts with the least of its own dtype.
                let is_least = due == f64::MIN && got <= -65504.0;
                let bound = 4096.0 * eps * due.abs().max(1.0) + rounded * due.abs() + 1e-9;
                assert!(is_least || (got - due).abs() <= bound, "{dtype} {dims:?} at {at}: {got}, not {due}");
            }
        }
    }
}

#[test]
fn scans_of_odd_floats_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::MAX, 1e-40];
    // A row for each pair of them.
    const LEN: usize = 45;
    let pairs = odd.iter().flat_map(|&value| odd.iter().map(move |&other| (value, other)));
    let rows: Vec<f32> =
        pairs.flat_map(|(value, other)| (0..LEN).map(move |i| if i % 20 == 17 { value } else { other })).collect();
    let x = Tensor::from_slice(&[odd.len() * odd.len(), LEN], &rows).expect("memory");
    let columns = host(op("transpose"), &[&x], &attributes(op("transpose"), &[])).expect("columns").remove(0);
    for (x, axis) in [(&x, 1i64), (&columns, 0)] {
        for exclusive in [false, true] {
            let attrs = [("axis", Attr::from(axis)), ("exclusive", exclusive.into())];
            for name in ["cumsum", "cumprod", "cumulative_logsumexp"] {
                agree(op(name), &[x], &attrs);
            }
            agree(op("linear_recurrence"), &[x, x], &attrs);
        }
    }
    for &value in &odd {
        // In the middle of a long line, from which on it has its effect.
        let mut values = vec![1.0f32; 5000];
        values[2500] = value;
        let x = Tensor::vector(&values);
        agree(op("cumsum"), &[&cast(&x, DType::F64)], &[]);
        agree(op("cumprod"), &[&x], &[]);
    }
}

/// Extents of rows along an axis: short ones, alone and side by side, and those that are sorted by digits.
const SORTED: [(&[usize], i64); 14] = [
    (&[0], 0),
    (&[1], 0),
    (&[31], 0),
    (&[32], 0),
    (&[33], 0),
    (&[300, 5], 1),
    (&[7, 40], 0),
    (&[3, 700, 4], 1),
    (&[2, 2047], 1),
    (&[3, 2049], 1),
    (&[4095], 0),
    (&[4096], 0),
    (&[4097, 2], 0),
    (&[100_003], 0),
];

/// Numbers of few values, among them the odd ones of floats.
fn repeated(numbers: &mut Numbers, dtype: DType, dims: &[usize]) -> Tensor {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, -f64::NAN];
    let value = |n: u64| if n < 6 { odd[n as usize] } else { n as f64 - 40.0 };
    let values: Vec<f64> = (0..dims.iter().product()).map(|_| value(numbers.next() % 90)).collect();
    cast(&Tensor::from_slice(dims, &values).expect("memory"), dtype)
}

#[test]
fn rows_are_sorted_as_on_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(13);
    const DTYPES: [DType; 8] =
        [DType::F64, DType::I8, DType::F16, DType::U32, DType::I64, DType::Bf16, DType::U16, DType::I32];
    for (i, (dims, axis)) in SORTED.into_iter().enumerate() {
        // 64-bit keys of many elements take the emulation long.
        let other = if dims[0] > 10_000 { DType::I16 } else { DTYPES[i % 8] };
        for (d, dtype) in [DType::F32, other].into_iter().enumerate() {
            let x = if (i + d) % 3 == 0 { numbers.tensor(dtype, dims) } else { repeated(&mut numbers, dtype, dims) };
            let descending = (i + d) % 2 == 1;
            let attrs = [("axis", Attr::from(axis)), ("descending", descending.into())];
            if d == 0 || dims[0] <= 10_000 {
                agree(op("sort"), &[&x], &attrs);
            }
            let dtype = if i % 2 == 0 { DType::I32 } else { DType::I64 };
            agree(op("argsort"), &[&x], &[attrs[0].clone(), attrs[1].clone(), ("dtype", dtype.into())]);
            let n = *dims.last().expect("a row");
            for k in [0, 1, n / 3, n.min(20)] {
                if k <= n && (k < 2 || n < 10_000) {
                    agree(op("top_k"), &[&x, &Tensor::from(k as i64)], &[("dtype", dtype.into())]);
                }
            }
            for (axis, &n) in dims.iter().enumerate() {
                if n > 0 {
                    let attrs = [("axis", Attr::from(axis as i64)), ("dtype", dtype.into())];
                    agree(op("argmax"), &[&x], &attrs);
                    agree(op("argmin"), &[&x], &attrs);
                }
            }
        }
    }
}

#[test]
fn elements_along_an_axis_and_their_sums_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(17);
    for (dims, k) in [(&[7usize, 40][..], 9usize), (&[3, 33], 50), (&[2, 5, 31], 4), (&[4100], 100)] {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::I64, DType::U8] {
            let (n, mut by) = (*dims.last().expect("a row"), dims.to_vec());
            *by.last_mut().expect("a row") = k;
            let mut named: Vec<i64> = (0..by.iter().product()).map(|_| numbers.below(n) as i64).collect();
            let indices = Tensor::from_slice(&by, &named).expect("memory");
            let shape: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
            let (x, updates) = (numbers.tensor(dtype, dims), numbers.tensor(dtype, &by));
            let attrs = [("axis", Attr::from(-1i64))];
            agree(op("take_along_axis"), &[&x, &indices], &attrs);
            agree(op("scatter_along_axis"), &[&Tensor::vector(&shape), &indices, &updates], &attrs);
            named[k / 2] = n as i64;
            let indices = Tensor::from_slice(&by, &named).expect("memory");
            agree(op("take_along_axis"), &[&x, &indices], &attrs);
            agree(op("scatter_along_axis"), &[&Tensor::vector(&shape), &indices, &updates], &attrs);
        }
    }
}

#[test]
fn slices_by_rows_of_indices_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(20);
    for (dims, depth, count) in [(&[7usize, 40][..], 1usize, 9usize), (&[3, 5, 33], 2, 50), (&[31, 5], 2, 5000)] {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::I64, DType::U8] {
            let named: Vec<i32> =
                (0..count).flat_map(|_| dims[..depth].to_vec()).map(|n| numbers.below(n) as i32).collect();
            let indices = Tensor::from_slice(&[count, depth], &named).expect("memory");
            let slices = [&[count], &dims[depth..]].concat();
            let (x, updates) = (numbers.tensor(dtype, dims), numbers.tensor(dtype, &slices));
            let shape: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
            agree(op("gather_nd"), &[&x, &indices], &[]);
            agree(op("scatter_nd"), &[&indices, &updates, &Tensor::vector(&shape)], &[]);
            let wrong = Tensor::from_slice(&[1, 1], &[dims[0] as i32]).expect("memory");
            agree(op("gather_nd"), &[&x, &wrong], &[]);
        }
    }
}

#[test]
fn indices_that_the_device_has_computed_are_checked() {
    if gpu().is_none() {
        return;
    }
    let x = Numbers(18).tensor(DType::F32, &[60, 5]);
    let there = gpu().expect("a GPU").upload(&Tensor::vector(&[3.0f32; 50])).expect("a copy");
    for (limit, fits) in [(50.0f32, true), (80.0, false)] {
        // Numbers of the device's own: they are not on the host as well.
        let wide = wished(|| host(op("mul"), &[&there, &Tensor::from(limit / 3.0)], &Attrs::EMPTY)).expect("numbers");
        let attrs = attributes(op("cast"), &[("dtype", DType::I32.into())]);
        let indices = host(op("cast"), &[&wide[0]], &attrs).expect("indices").remove(0);
        assert!(!indices.is_at_hand());
        let rows = host(op("gather"), &[&x, &indices], &attributes(op("gather"), &[]));
        assert_eq!(rows.as_ref().err().map(|e| e.class()), (!fits).then_some(Class::InvalidArgument));
        assert_eq!(indices.is_at_hand(), !fits);
    }
}

#[test]
fn logarithms_of_sums_of_exponentials_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(19);
    let shapes: [(&[usize], &[i64]); 7] = [
        (&[31], &[0]),
        (&[5, 33], &[1]),
        (&[4, 33, 3], &[1]),
        (&[40, 70], &[0]),
        (&[3, 4, 5, 6], &[1, 3]),
        (&[2, 70_001], &[1]),
        (&[4097, 2], &[0, 1]),
    ];
    for (dims, axes) in shapes {
        for dtype in [DType::F32, DType::F64, DType::Bf16] {
            let attrs = [("axes", Attr::from(axes.to_vec()))];
            agree(op("reduce_logsumexp"), &[&numbers.tensor(dtype, dims)], &attrs);
        }
    }
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MAX, 1e-40];
    let pairs = odd.iter().flat_map(|&value| odd.iter().map(move |&other| (value, other)));
    let rows: Vec<f32> =
        pairs.flat_map(|(value, other)| (0..40).map(move |i| if i == 17 { value } else { other })).collect();
    let x = Tensor::from_slice(&[odd.len() * odd.len(), 40], &rows).expect("memory");
    agree(op("reduce_logsumexp"), &[&x], &[("axes", vec![1i64].into())]);
    agree(op("reduce_logsumexp"), &[&x], &[("axes", vec![0i64].into())]);
}

#[test]
fn bands_diagonals_one_hot_rows_and_ranges_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(14);
    for round in 0..20 {
        let dtype = [DType::F32, DType::I8, DType::F16, DType::I64, DType::C128][round % 5];
        let dims: [usize; 3] = std::array::from_fn(|i| 1 + numbers.below([4, 40, 40][i]));
        let x = numbers.tensor(dtype, &dims);
        let lower = numbers.below(30) as i64 - 5;
        let attrs = [("lower", Attr::from(lower)), ("upper", Attr::from(numbers.below(30) as i64 - 5))];
        agree(op("matrix_band_part"), &[&x], &attrs);
        agree(op("matrix_diag_part"), &[&x], &[]);
        let diagonal = numbers.tensor(dtype, &[dims[0], dims[1].min(dims[2])]);
        agree(op("matrix_set_diag"), &[&x, &diagonal], &[]);
        let indices: Vec<i64> = (0..dims[0] * dims[1]).map(|_| numbers.below(30) as i64 - 3).collect();
        let indices = cast(
            &Tensor::from_slice(&dims[..2], &indices).expect("memory"),
            [DType::I32, DType::I64, DType::I8][round % 3],
        );
        let [on, off] = [1.5f64, -2.0].map(|v| cast(&Tensor::from(v), dtype));
        let axis = round as i64 % 4 - 1;
        agree(op("one_hot"), &[&indices, &Tensor::from(25i32), &on, &off], &[("axis", axis.min(2).into())]);
    }
    for (dtype, start, limit, step) in [
        (DType::F32, 0.1, 900.0, 0.3),
        (DType::F64, 5.0, -300.0, -0.1),
        (DType::F16, 0.0, 30.0, 0.01),
        (DType::Bf16, 1.0, 60.0, 0.02),
        (DType::I32, 0.0, 5000.0, 1.0),
        (DType::I64, 9e17, -9e17, -7e13),
        (DType::I16, -30_000.0, 30_000.0, 7.0),
    ] {
        let [start, limit, step] = [start, limit, step].map(|v| cast(&Tensor::from(v), dtype));
        agree_where_it_matters(op("range"), &[&start, &limit, &step], &[]);
    }
}
