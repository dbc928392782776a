//! Formulas give what the kernels that they are of give, bit for bit.

#![expect(unsafe_code, reason = "kernels take raw memory")]

mod ulps;

use penstock_data::DType;
use penstock_kernels::formula::{Kind, Primitive, Step};
use penstock_kernels::{
    Binary, Formula, Lane, LoopFn, Unary, binary, binary_formula, binary_output, binary_parts, unary, unary_formula,
    unary_output, unary_parts,
};
use ulps::{EDGES, spread};

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn to32(x: f32) -> u64 {
    u64::from(x.to_bits())
}

/// A primitive of numbers, by their bits.
fn evaluate(step: &Step, of: Kind, ins: &[u64], operands: &[u64]) -> u64 {
    use Primitive::*;
    let (single, long) = (of == Kind::F32, matches!(of, Kind::F64 | Kind::I64));
    let whole = |v: u64| if long { v } else { u64::from(v as u32) };
    let float = |narrow: &dyn Fn(&[f32]) -> f32, wide: &dyn Fn(&[f64]) -> f64| {
        if single {
            to32(narrow(&ins.iter().map(|&v| f32_of(v)).collect::<Vec<_>>()))
        } else {
            wide(&ins.iter().map(|&v| f64::from_bits(v)).collect::<Vec<_>>()).to_bits()
        }
    };
    let number = |v: u64| if single { f64::from(f32_of(v)) } else { f64::from_bits(v) };
    let signed = |v: u64| if long { v as i64 } else { i64::from(v as u32 as i32) };
    let is_float = matches!(of, Kind::F32 | Kind::F64);
    match step.primitive {
        Operand(k) => operands[k as usize],
        Constant(bits) => bits,
        Add if is_float => float(&|v| v[0] + v[1], &|v| v[0] + v[1]),
        Sub if is_float => float(&|v| v[0] - v[1], &|v| v[0] - v[1]),
        Add => whole(ins[0].wrapping_add(ins[1])),
        Sub => whole(ins[0].wrapping_sub(ins[1])),
        Mul => float(&|v| v[0] * v[1], &|v| v[0] * v[1]),
        Div => float(&|v| v[0] / v[1], &|v| v[0] / v[1]),
        MulAdd => float(&|v| v[0].mul_add(v[1], v[2]), &|v| v[0].mul_add(v[1], v[2])),
        Neg => float(&|v| -v[0], &|v| -v[0]),
        Abs => float(&|v| v[0].abs(), &|v| v[0].abs()),
        Copysign => float(&|v| v[0].copysign(v[1]), &|v| v[0].copysign(v[1])),
        Sqrt => float(&|v| v[0].sqrt(), &|v| v[0].sqrt()),
        Floor => float(&|v| v[0].floor(), &|v| v[0].floor()),
        Ceil => float(&|v| v[0].ceil(), &|v| v[0].ceil()),
        Trunc => float(&|v| v[0].trunc(), &|v| v[0].trunc()),
        Round => float(&|v| v[0].round_ties_even(), &|v| v[0].round_ties_even()),
        Less => u64::from(number(ins[0]) < number(ins[1])),
        LessEqual => u64::from(number(ins[0]) <= number(ins[1])),
        Equal if is_float => u64::from(number(ins[0]) == number(ins[1])),
        NotEqual => u64::from(number(ins[0]) != number(ins[1])),
        Equal => u64::from(ins[0] == ins[1]),
        Greater => u64::from(signed(ins[0]) > signed(ins[1])),
        And => ins[0] & ins[1],
        Or => ins[0] | ins[1],
        Xor => ins[0] ^ ins[1],
        Not => 1 - ins[0],
        Select => ins[if ins[0] == 1 { 1 } else { 2 }],
        ShiftLeft(by) => whole(ins[0] << by),
        ShiftRight(by) => ins[0] >> by,
        Bits => ins[0],
        Convert if single => f64::from(f32_of(ins[0])).to_bits(),
        Convert => to32(f64::from_bits(ins[0]) as f32),
    }
}

fn value(formula: &Formula, operands: &[u64]) -> u64 {
    let mut values: Vec<u64> = Vec::with_capacity(formula.steps.len());
    for step in &formula.steps {
        let ins: Vec<u64> = step.operands().iter().map(|&id| values[id as usize]).collect();
        // What is compared or converted is of another kind than the result; values that are chosen are of its own.
        let of = match step.operands().first() {
            Some(&id) if step.primitive != Primitive::Select => formula.steps[id as usize].kind,
            _ => step.kind,
        };
        values.push(evaluate(step, of, &ins, operands));
    }
    values[values.len() - 1]
}

/// Operands of a dtype: at the edges of functions, of common sizes, and of any bits.
fn operands(dtype: DType, seed: u64) -> Vec<u64> {
    let mut found: Vec<f64> = EDGES.to_vec();
    found.extend(spread(4_000, seed));
    found.extend(spread(4_000, seed + 1).iter().map(|x| x % 40.0));
    let mut word = seed;
    let any = std::iter::repeat_with(move || {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        word ^ word >> 29
    });
    let bits: Vec<u64> =
        found.iter().map(|&x| if dtype == DType::F32 { to32(x as f32) } else { x.to_bits() }).collect();
    let any = any.take(4_000).map(|w| if dtype == DType::F32 { w >> 32 } else { w });
    bits.into_iter().chain(any).collect()
}

/// The bytes of elements of a dtype.
fn bytes(dtype: DType, elements: &[u64]) -> Vec<u64> {
    if dtype == DType::F64 {
        return elements.to_vec();
    }
    elements.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 32).collect()
}

fn check(name: &str, dtype: DType, f: LoopFn, formula: &Formula, ins: &[Vec<u64>]) {
    let n = ins[0].len();
    let is_mask = formula.steps.last().is_some_and(|step| step.kind == Kind::Mask);
    let size = if is_mask { 1 } else { dtype.size() };
    let memory: Vec<Vec<u64>> = ins.iter().map(|v| bytes(dtype, v)).collect();
    let lanes: Vec<Lane> = memory.iter().map(|m| Lane::new(m.as_ptr().cast(), dtype.size())).collect();
    let mut out = vec![0u64; n];
    // SAFETY: the lanes have `n` elements of the dtype, and there is room for as many of 8 bytes.
    unsafe { f(n, &lanes, out.as_mut_ptr().cast()) }.unwrap();
    // SAFETY: the results are inside of what was written.
    let result = |i: usize| unsafe {
        let at = out.as_ptr().cast::<u8>().add(i * size);
        match size {
            1 => u64::from(at.read()),
            4 => u64::from(at.cast::<u32>().read()),
            _ => at.cast::<u64>().read(),
        }
    };
    // One NaN is as good as another.
    let settled = |bits: u64| match size {
        4 if f32_of(bits).is_nan() => u64::MAX,
        8 if f64::from_bits(bits).is_nan() => u64::MAX,
        _ => bits,
    };
    for i in 0..n {
        let of: Vec<u64> = ins.iter().map(|v| v[i]).collect();
        let (got, due) = (value(formula, &of), result(i));
        assert_eq!(settled(got), settled(due), "{name} of {dtype:?} {of:#x?}: {got:#x}, the kernel gives {due:#x}");
    }
}

#[test]
fn formulas_of_one_operand_give_what_kernels_give() {
    for dtype in [DType::F32, DType::F64] {
        let mut count = 0;
        for &op in Unary::ALL {
            let Some(formula) = unary_formula(op, dtype) else { continue };
            check(op.name(), dtype, unary(op, dtype).unwrap(), formula, &[operands(dtype, 1)]);
            count += 1;
        }
        assert!(count >= 39, "{count} operators have formulas");
    }
}

#[test]
fn formulas_of_two_operands_give_what_kernels_give() {
    for dtype in [DType::F32, DType::F64] {
        let mut count = 0;
        for &op in Binary::ALL {
            let Some(formula) = binary_formula(op, dtype) else { continue };
            let (x, mut y) = (operands(dtype, 3), operands(dtype, 5));
            // Edges meet all others, and themselves.
            y.rotate_left(7);
            y[..20].copy_from_slice(&x[..20]);
            check(op.name(), dtype, binary(op, dtype).unwrap(), formula, &[x, y]);
            count += 1;
        }
        assert!(count >= 19, "{count} operators have formulas");
    }
}

#[test]
fn edges_in_pairs_give_what_kernels_give() {
    for dtype in [DType::F32, DType::F64] {
        let edges: Vec<u64> =
            EDGES.iter().map(|&x| if dtype == DType::F32 { to32(x as f32) } else { x.to_bits() }).collect();
        let pairs = || edges.iter().flat_map(|&x| edges.iter().map(move |&y| (x, y)));
        let (x, y): (Vec<u64>, Vec<u64>) = pairs().unzip();
        for op in [Binary::Pow, Binary::Atan2, Binary::Max, Binary::Min, Binary::Xlogy, Binary::NextAfter] {
            let formula = binary_formula(op, dtype).unwrap();
            check(op.name(), dtype, binary(op, dtype).unwrap(), formula, &[x.clone(), y.clone()]);
        }
    }
}

/// The complex numbers whose parts are these, one part after the other.
fn paired(parts: &[u64]) -> Vec<u64> {
    parts.iter().flat_map(|&re| parts.iter().flat_map(move |&im| [re, im])).collect()
}

/// Fails where a kernel on complex numbers gives other parts than their formulas.
fn check_parts(name: &str, part: DType, f: LoopFn, (formulas, is_mask): (&[Formula], bool), ins: &[&[u64]]) {
    let (n, size) = (ins[0].len() / 2, if is_mask { 1 } else { part.size() });
    let memory: Vec<Vec<u64>> = ins.iter().map(|v| bytes(part, v)).collect();
    let lanes: Vec<Lane> = memory.iter().map(|m| Lane::new(m.as_ptr().cast(), 2 * part.size())).collect();
    let mut out = vec![0u64; 2 * n];
    // SAFETY: the lanes have `n` complex elements, and there is room for as many of 16 bytes.
    unsafe { f(n, &lanes, out.as_mut_ptr().cast()) }.unwrap();
    // SAFETY: the results are inside of what was written.
    let result = |i: usize| unsafe {
        let at = out.as_ptr().cast::<u8>().add(i * size);
        match size {
            1 => u64::from(at.read()),
            4 => u64::from(at.cast::<u32>().read()),
            _ => at.cast::<u64>().read(),
        }
    };
    let settled = |bits: u64| match size {
        4 if f32_of(bits).is_nan() => u64::MAX,
        8 if f64::from_bits(bits).is_nan() => u64::MAX,
        _ => bits,
    };
    for i in 0..n {
        let of: Vec<u64> = ins.iter().flat_map(|v| [v[2 * i], v[2 * i + 1]]).collect();
        for (k, formula) in formulas.iter().enumerate() {
            let (got, due) = (value(formula, &of), result(i * formulas.len() + k));
            assert_eq!(settled(got), settled(due), "part {k} of {name} of {of:#x?}");
        }
    }
}

#[test]
fn formulas_of_the_parts_of_complex_numbers_give_what_kernels_give() {
    for (dtype, part) in [(DType::C64, DType::F32), (DType::C128, DType::F64)] {
        let bits = |x: f64| if part == DType::F32 { to32(x as f32) } else { x.to_bits() };
        let mut parts: Vec<u64> = EDGES.iter().map(|&x| bits(x)).collect();
        parts.extend(spread(40, 9).into_iter().map(bits));
        let z = paired(&parts);
        let mut count = 0;
        for &op in Unary::ALL {
            let Some(formulas) = unary_parts(op, dtype) else { continue };
            assert_eq!(formulas.len() == 2, unary_output(op, dtype).is_complex());
            check_parts(op.name(), part, unary(op, dtype).unwrap(), (formulas, false), &[&z]);
            count += 1;
        }
        for &op in Binary::ALL {
            let Some(formulas) = binary_parts(op, dtype) else { continue };
            let is_mask = binary_output(op, dtype) == DType::Bool;
            for by in [0, 2, 46, 2 * parts.len() + 6] {
                let mut w = z.clone();
                w.rotate_left(by);
                check_parts(op.name(), part, binary(op, dtype).unwrap(), (formulas, is_mask), &[&z, &w]);
            }
            count += 1;
        }
        assert_eq!(count, 9 + 10, "operators on {dtype:?} with formulas");
        let whole = binary_parts(Binary::Complex, part).unwrap();
        assert_eq!(whole.iter().map(|formula| value(formula, &[3, 4])).collect::<Vec<_>>(), [3, 4]);
        assert!(binary_parts(Binary::Add, part).is_none() && binary_parts(Binary::Complex, dtype).is_none());
    }
}

#[test]
fn the_next_value_is_that_of_the_c_library() {
    let f = binary(Binary::NextAfter, DType::F64).unwrap();
    let edges: Vec<f64> = EDGES.iter().copied().chain([f64::NAN, 0.0, -0.0, f64::MAX, f64::INFINITY]).collect();
    for &x in &edges {
        for &y in &edges {
            let mut got = 0.0f64;
            let lanes = [Lane::fixed((&raw const x).cast()), Lane::fixed((&raw const y).cast())];
            // SAFETY: one element on each side.
            unsafe { f(1, &lanes, (&raw mut got).cast()) }.unwrap();
            let due = libm::nextafter(x, y);
            assert!(got.to_bits() == due.to_bits() || (got.is_nan() && due.is_nan()), "{x} to {y}: {got}, not {due}");
        }
    }
}

#[test]
fn steps_follow_what_they_take_and_are_all_needed() {
    let formulas = [DType::F32, DType::F64].into_iter().flat_map(|dtype| {
        let one = Unary::ALL.iter().filter_map(move |&op| unary_formula(op, dtype));
        one.chain(Binary::ALL.iter().filter_map(move |&op| binary_formula(op, dtype)))
    });
    for formula in formulas {
        let mut used = vec![false; formula.steps.len()];
        for (at, step) in formula.steps.iter().enumerate() {
            let masks = step.kind == Kind::Mask && matches!(step.primitive, Primitive::Constant(_));
            assert!(!masks, "the constants of masks are folded: {formula:?}");
            for &id in step.operands() {
                assert!((id as usize) < at);
                used[id as usize] = true;
            }
        }
        used.pop();
        assert!(used.iter().all(|&used| used), "{formula:?}");
    }
}
