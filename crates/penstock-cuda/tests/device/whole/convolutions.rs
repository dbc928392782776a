//! Convolutions and pooling.

use penstock_data::{DType, Tensor};
use penstock_ir::{Attr, OpDef};

use super::{Numbers, agree, attributes, cast, host, magnitudes, on_device};
use crate::common::op;
use crate::gpu;

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
