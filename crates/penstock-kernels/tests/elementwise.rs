//! Every operator on every dtype that it takes: vector loops against single elements, single
//! elements against plain models, broadcasting against indexing.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use penstock_data::{ALL_DTYPES, Bool8, DType, Element, bf16, f16, with_dtype};
use penstock_kernels::{
    Binary, Fault, Lane, LoopFn, Unary, binary, binary_dtypes, binary_output, broadcast_dims, cast, elementwise,
    select, unary, unary_dtypes, unary_output,
};
use proptest::prelude::*;

/// Raw elements, aligned for any dtype.
#[derive(Clone, PartialEq)]
struct Raw(Vec<u128>);

impl Raw {
    fn zeroed(bytes: usize) -> Raw {
        Raw(vec![0; bytes.div_ceil(16)])
    }
    fn ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
    fn mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
    fn bytes(&self, n: usize) -> &[u8] {
        // SAFETY: tests ask for no more bytes than there are.
        unsafe { std::slice::from_raw_parts(self.ptr(), n) }
    }
    fn get<T: Element>(&self, i: usize) -> T {
        // SAFETY: tests ask for elements that they have written.
        unsafe { self.ptr().cast::<T>().add(i).read() }
    }
}

/// Values at which things go wrong, then ordinary ones.
const REALS: [f64; 40] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    1e-40,
    6e-8,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    2.0,
    3.0,
    -3.0,
    7.0,
    10.0,
    88.0,
    89.5,
    -87.5,
    -103.0,
    127.0,
    -128.0,
    255.0,
    65504.0,
    1e6,
    -1e6,
    2147483647.0,
    -2147483648.0,
    1e19,
    3e38,
    0.1,
    -0.7,
    0.99,
];
const WHOLES: [i128; 20] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    -7,
    8,
    31,
    32,
    63,
    64,
    100,
    127,
    -128,
    32767,
    i32::MIN as i128,
    i64::MAX as i128,
    i64::MIN as i128,
];

/// `n` elements of `dtype`: element `i` from the values at `start + i * stride`.
fn values(dtype: DType, n: usize, start: usize, stride: usize) -> Raw {
    let mut raw = Raw::zeroed(n * dtype.size() + 16);
    let p = raw.mut_ptr();
    for i in 0..n {
        let at = start + i * stride;
        let (r, im) = (REALS[at % 40], REALS[(at * 7 + 3) % 40]);
        let w = WHOLES[at % 20];
        // SAFETY: `raw` has room for `n` elements.
        unsafe {
            match dtype {
                DType::Bool => p.add(i).write(u8::from(at.is_multiple_of(3))),
                DType::F16 => p.cast::<f16>().add(i).write(f16::from_f64(r)),
                DType::Bf16 => p.cast::<bf16>().add(i).write(bf16::from_f64(r)),
                DType::F32 => p.cast::<f32>().add(i).write(r as f32),
                DType::F64 => p.cast::<f64>().add(i).write(r),
                DType::C64 => p.cast::<[f32; 2]>().add(i).write([r as f32, im as f32]),
                DType::C128 => p.cast::<[f64; 2]>().add(i).write([r, im]),
                // Every byte is a number.
                _ if dtype.is_narrow() => p.add(i).write((at * 37) as u8),
                _ => with_dtype!(integer, dtype, T => p.cast::<T>().add(i).write(w as T), else unreachable!()),
            }
        }
    }
    raw
}

/// Whether two elements are the same to the bit, or both NaN.
fn same(dtype: DType, a: &[u8], b: &[u8]) -> bool {
    fn nan(dtype: DType, x: &[u8]) -> bool {
        match dtype {
            DType::F16 => f16::from_ne_bytes(x.try_into().unwrap()).is_nan(),
            DType::Bf16 => bf16::from_ne_bytes(x.try_into().unwrap()).is_nan(),
            DType::F32 => f32::from_ne_bytes(x.try_into().unwrap()).is_nan(),
            DType::F64 => f64::from_ne_bytes(x.try_into().unwrap()).is_nan(),
            _ => false,
        }
    }
    match dtype {
        DType::C64 => same(DType::F32, &a[..4], &b[..4]) && same(DType::F32, &a[4..], &b[4..]),
        DType::C128 => same(DType::F64, &a[..8], &b[..8]) && same(DType::F64, &a[8..], &b[8..]),
        _ => a == b || (nan(dtype, a) && nan(dtype, b)),
    }
}

/// Checks a loop of any arity on lengths that meet every part of it, against itself one element at a time.
fn vector_equals_scalar(what: &str, f: LoopFn, ins: &[DType], out: DType, rejects: bool) {
    let size = out.size();
    for n in [0usize, 1, 2, 7, 64, 1000, 5000] {
        for fixed in 0..1usize << ins.len() {
            let data: Vec<Raw> =
                ins.iter().enumerate().map(|(j, &d)| values(d, n.max(1), j * 13 + 2, 1 + 2 * j)).collect();
            let lanes: Vec<Lane> = data
                .iter()
                .zip(ins)
                .enumerate()
                .map(|(j, (raw, d))| Lane { ptr: raw.ptr(), step: if fixed >> j & 1 == 1 { 0 } else { d.size() } })
                .collect();
            let mut whole = Raw::zeroed(n * size + 16);
            // SAFETY: lanes and output of `n` elements.
            let result = unsafe { f(n, &lanes, whole.mut_ptr()) };
            let mut single = Raw::zeroed(n * size + 16);
            let mut expected = Ok(());
            for i in 0..n {
                // SAFETY: `i < n`.
                let one = unsafe {
                    let at: Vec<Lane> = lanes.iter().map(|l| l.at(i)).collect();
                    f(1, &at, single.mut_ptr().add(i * size))
                };
                expected = expected.and(one);
            }
            assert_eq!(result, expected, "{what} n={n} fixed={fixed:b}");
            assert!(rejects || result.is_ok(), "{what}");
            if result.is_ok() {
                for i in 0..n {
                    let at = i * size..(i + 1) * size;
                    let (w, s) = (&whole.bytes(n * size)[at.clone()], &single.bytes(n * size)[at]);
                    assert!(same(out, w, s), "{what} n={n} fixed={fixed:b} i={i}: {w:?} {s:?}");
                }
                for (j, d) in ins.iter().enumerate() {
                    if d.size() == size && fixed >> j & 1 == 0 && n > 0 {
                        let mut copy = data[j].clone();
                        let mut at = lanes.clone();
                        at[j].ptr = copy.ptr();
                        // SAFETY: lanes and output of `n` elements; the output is a lane.
                        unsafe {
                            let p = copy.mut_ptr();
                            at[j].ptr = p;
                            f(n, &at, p).unwrap();
                        }
                        for i in 0..n {
                            let r = i * size..(i + 1) * size;
                            let (c, s) = (&copy.bytes(n * size)[r.clone()], &single.bytes(n * size)[r]);
                            assert!(same(out, c, s), "{what} in place n={n} lane={j} i={i}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn loops_exist_for_exactly_the_documented_dtypes() {
    for &op in Unary::ALL {
        for d in ALL_DTYPES {
            assert_eq!(unary(op, d).is_some(), unary_dtypes(op).contains(d), "{op:?} {d}");
        }
    }
    for &op in Binary::ALL {
        for d in ALL_DTYPES {
            assert_eq!(binary(op, d).is_some(), binary_dtypes(op).contains(d), "{op:?} {d}");
        }
    }
}

#[test]
fn unary_vectors_equal_scalars() {
    for &op in Unary::ALL {
        for d in unary_dtypes(op).iter() {
            vector_equals_scalar(&format!("{op:?} {d}"), unary(op, d).unwrap(), &[d], unary_output(op, d), false);
        }
    }
}

#[test]
fn binary_vectors_equal_scalars() {
    for &op in Binary::ALL {
        for d in binary_dtypes(op).iter() {
            use Binary::{FloorDiv, FloorMod, Pow, TruncDiv, TruncMod};
            let rejects = d.is_integer() && matches!(op, FloorDiv | FloorMod | TruncDiv | TruncMod | Pow);
            let f = binary(op, d).unwrap();
            vector_equals_scalar(&format!("{op:?} {d}"), f, &[d, d], binary_output(op, d), rejects);
        }
    }
}

#[test]
fn casts_and_selects_vectors_equal_scalars() {
    for a in ALL_DTYPES {
        for b in ALL_DTYPES {
            let plain = a.size() > 0 && b.size() > 0;
            assert_eq!(cast(a, b).is_some(), plain);
            if let Some(f) = cast(a, b) {
                vector_equals_scalar(&format!("cast {a} {b}"), f, &[a], b, false);
            }
        }
        if a.size() > 0 {
            vector_equals_scalar(&format!("select {a}"), select(a), &[DType::Bool, a, a], a, false);
        }
    }
}

/// Runs a loop on one element of each input.
fn one<A: Element, R: Element>(f: LoopFn, ins: &[A]) -> Result<R, Fault> {
    let lanes: Vec<Lane> = ins.iter().map(|x| Lane::fixed((&raw const *x).cast())).collect();
    let mut out = Raw::zeroed(16);
    // SAFETY: one element of each.
    unsafe { f(1, &lanes, out.mut_ptr())? };
    Ok(out.get(0))
}

#[test]
fn integer_operators_follow_a_wide_model() {
    fn check<T: Element + TryFrom<i128> + Into<i128>>(dtype: DType, bits: u32) {
        let wrap = |v: i128| -> i128 {
            let low = v & ((1i128 << bits) - 1);
            if dtype.is_unsigned() || low >> (bits - 1) == 0 { low } else { low - (1i128 << bits) }
        };
        let lowest = if dtype.is_unsigned() { 0 } else { -(1i128 << (bits - 1)) };
        let highest = if dtype.is_unsigned() { (1i128 << bits) - 1 } else { (1i128 << (bits - 1)) - 1 };
        let mut samples = vec![lowest, lowest + 1, highest - 1, highest];
        samples.extend(WHOLES.iter().map(|&w| wrap(w)));
        let el = |v: i128| T::try_from(v).ok().expect("in range");
        let floor_div = |a: i128, b: i128| a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0);
        for &a in &samples {
            for (op, want) in [
                (Unary::Neg, -a),
                (Unary::Abs, a.abs()),
                (Unary::Sign, a.signum()),
                (Unary::Square, a.wrapping_mul(a)),
                (Unary::Relu, a.max(0)),
                (Unary::Relu6, a.clamp(0, 6)),
                (Unary::Round, a),
                (Unary::BitNot, !a),
            ] {
                let got: T = one(unary(op, dtype).unwrap(), &[el(a)]).unwrap();
                assert_eq!(got.into(), wrap(want), "{op:?} {dtype} {a}");
            }
            for &b in &samples {
                let shift = b.clamp(0, i128::from(bits)) as u32;
                for (op, want) in [
                    (Binary::Add, Some(a + b)),
                    (Binary::Sub, Some(a - b)),
                    (Binary::Mul, Some(a.wrapping_mul(b))),
                    (Binary::TruncDiv, (b != 0).then(|| a / b)),
                    (Binary::TruncMod, (b != 0).then(|| a % b)),
                    (Binary::FloorDiv, (b != 0).then(|| floor_div(a, b))),
                    (Binary::FloorMod, (b != 0).then(|| a - b * floor_div(a, b))),
                    (Binary::Max, Some(a.max(b))),
                    (Binary::Min, Some(a.min(b))),
                    (Binary::SquaredDifference, Some(wrap(a - b).wrapping_mul(wrap(a - b)))),
                    (Binary::BitAnd, Some(a & b)),
                    (Binary::BitOr, Some(a | b)),
                    (Binary::BitXor, Some(a ^ b)),
                    (Binary::Shl, Some(if shift == bits { 0 } else { a << shift.min(63) })),
                    (Binary::Shr, Some(a >> shift)),
                ] {
                    let got: Result<T, Fault> = one(binary(op, dtype).unwrap(), &[el(a), el(b)]);
                    assert_eq!(got.ok().map(Into::into), want.map(wrap), "{op:?} {dtype} {a} {b}");
                }
                for (op, want) in [
                    (Binary::Equal, a == b),
                    (Binary::NotEqual, a != b),
                    (Binary::Less, a < b),
                    (Binary::LessEqual, a <= b),
                    (Binary::Greater, a > b),
                    (Binary::GreaterEqual, a >= b),
                ] {
                    let got: Bool8 = one(binary(op, dtype).unwrap(), &[el(a), el(b)]).unwrap();
                    assert_eq!(got.get(), want, "{op:?} {dtype} {a} {b}");
                }
                if (0..10).contains(&b) {
                    let want = (0..b).fold(1i128, |acc, _| wrap(acc.wrapping_mul(a)));
                    let got: T = one(binary(Binary::Pow, dtype).unwrap(), &[el(a), el(b)]).unwrap();
                    assert_eq!(got.into(), wrap(want), "pow {dtype} {a} {b}");
                }
                if b < 0 {
                    let got: Result<T, Fault> = one(binary(Binary::Pow, dtype).unwrap(), &[el(a), el(b)]);
                    assert_eq!(got.err(), Some(Fault::NegativePower), "pow {dtype} {a} {b}");
                }
            }
        }
    }
    check::<i8>(DType::I8, 8);
    check::<i16>(DType::I16, 16);
    check::<i32>(DType::I32, 32);
    check::<i64>(DType::I64, 64);
    check::<u8>(DType::U8, 8);
    check::<u16>(DType::U16, 16);
    check::<u32>(DType::U32, 32);
    check::<u64>(DType::U64, 64);
}

#[test]
fn half_floats_round_the_f32_result_once() {
    for &op in Unary::ALL {
        let Some(wide) = unary(op, DType::F32).filter(|_| unary_output(op, DType::F32) == DType::F32) else { continue };
        for bits in 0..=u16::MAX {
            let (h, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            let x: f32 = one(wide, &[h.to_f32()]).unwrap();
            let y: f16 = one(unary(op, DType::F16).unwrap(), &[h]).unwrap();
            assert!(
                y.to_bits() == f16::from_f32(x).to_bits() || (y.is_nan() && x.is_nan()),
                "{op:?} {h:?}: {y:?} {x:?}"
            );
            let x: f32 = one(wide, &[b.to_f32()]).unwrap();
            let y: bf16 = one(unary(op, DType::Bf16).unwrap(), &[b]).unwrap();
            assert!(
                y.to_bits() == bf16::from_f32(x).to_bits() || (y.is_nan() && x.is_nan()),
                "{op:?} {b:?}: {y:?} {x:?}"
            );
        }
    }
}

#[test]
fn binary_float_operators_follow_the_models() {
    let floor_mod = |a: f64, b: f64| {
        let r = a % b;
        if r != 0.0 && (r < 0.0) != (b < 0.0) && b != 0.0 {
            r + b
        } else if r == 0.0 {
            0f64.copysign(b)
        } else {
            r
        }
    };
    for &a in &REALS {
        for &b in &REALS {
            for (op, want) in [
                (Binary::Add, a + b),
                (Binary::Sub, a - b),
                (Binary::Mul, a * b),
                (Binary::Div, a / b),
                (Binary::TruncDiv, (a / b).trunc()),
                (Binary::TruncMod, a % b),
                (Binary::FloorMod, if b == 0.0 { f64::NAN } else { floor_mod(a, b) }),
                (
                    Binary::Max,
                    if a.is_nan() || b.is_nan() {
                        f64::NAN
                    } else if a < b {
                        b
                    } else {
                        a
                    },
                ),
                (
                    Binary::Min,
                    if a.is_nan() || b.is_nan() {
                        f64::NAN
                    } else if a > b {
                        b
                    } else {
                        a
                    },
                ),
                (Binary::SquaredDifference, (a - b) * (a - b)),
                (Binary::DivNoNan, if b == 0.0 { 0.0 } else { a / b }),
                (Binary::MulNoNan, if b == 0.0 { 0.0 } else { a * b }),
                (Binary::Xdivy, if a == 0.0 { 0.0 } else { a / b }),
            ] {
                let got: f64 = one(binary(op, DType::F64).unwrap(), &[a, b]).unwrap();
                let same = got == want && got.is_sign_negative() == want.is_sign_negative();
                assert!(same || (got.is_nan() && want.is_nan()), "{op:?} {a:e} {b:e}: {got:e} {want:e}");
            }
        }
    }
}

#[test]
fn floor_division_of_floats_is_numpys_but_for_infinities() {
    let f = binary(Binary::FloorDiv, DType::F64).unwrap();
    let inf = f64::INFINITY;
    for (a, b, want) in [
        (7.0, 2.0, 3.0),
        (-7.0, 2.0, -4.0),
        (7.0, -2.0, -4.0),
        (-7.0, -2.0, 3.0),
        (1.0, inf, 0.0),
        (-1.0, inf, -0.0),
        (1.0, -inf, -0.0),
        (0.0, 3.0, 0.0),
        (-0.0, 3.0, -0.0),
        (0.0, -3.0, -0.0),
        (1.0, 0.0, inf),
        (-1.0, 0.0, -inf),
        (0.3, 0.1, 2.0),
        (inf, 1.0, inf),
        (inf, -2.0, -inf),
        (inf, inf, f64::NAN),
        (0.0, 0.0, f64::NAN),
    ] {
        let got: f64 = one(f, &[a, b]).unwrap();
        assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{a} // {b} = {got}, not {want}");
    }
}

#[test]
fn casts_saturate_truncate_and_wrap() {
    let f = |to: DType| cast(DType::F64, to).unwrap();
    for (x, want) in
        [(1.9, 1i32), (-1.9, -1), (3e9, i32::MAX), (-3e9, i32::MIN), (f64::NAN, 0), (f64::INFINITY, i32::MAX)]
    {
        assert_eq!(one::<f64, i32>(f(DType::I32), &[x]).unwrap(), want);
    }
    for x in REALS {
        assert_eq!(one::<f64, i8>(f(DType::I8), &[x]).unwrap(), x as i8);
        assert_eq!(one::<f64, i64>(f(DType::I64), &[x]).unwrap(), x as i64);
        assert_eq!(one::<f64, u64>(f(DType::U64), &[x]).unwrap(), x as u64);
        assert_eq!(one::<f64, u8>(f(DType::U8), &[x]).unwrap(), x as u8);
        let half: f16 = one(f(DType::F16), &[x]).unwrap();
        assert!(half.to_bits() == f16::from_f64(x).to_bits() || x.is_nan(), "{x:e}");
    }
    // Just above half way: rounding through the nearest f32 would give 1.0.
    let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(one::<f64, f16>(f(DType::F16), &[x]).unwrap().to_f64(), 1.0 + 2f64.powi(-10));
    assert_eq!(one::<i64, i8>(cast(DType::I64, DType::I8).unwrap(), &[300]).unwrap(), 44);
    assert_eq!(one::<f64, i64>(f(DType::I64), &[i64::MIN as f64]).unwrap(), i64::MIN);
}

#[test]
fn broadcast_dims_are_numpys() {
    let dims = |shapes: &[&[usize]]| broadcast_dims(shapes).map(|d| d.to_vec());
    assert_eq!(dims(&[&[3, 1], &[4]]), Some(vec![3, 4]));
    assert_eq!(dims(&[&[], &[2, 0]]), Some(vec![2, 0]));
    assert_eq!(dims(&[&[1], &[0]]), Some(vec![0]));
    assert_eq!(dims(&[&[3], &[4]]), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn elementwise_agrees_with_indexing(
        out in prop::collection::vec(prop_oneof![1usize..5, 40usize..70], 0..5),
        masks in prop::array::uniform2((0usize..6, prop::collection::vec(any::<bool>(), 5))),
    ) {
        let shapes: Vec<Vec<usize>> = masks.iter().map(|(drop, ones)| {
            let drop = (*drop).min(out.len());
            out[drop..].iter().zip(ones).map(|(&d, &one)| if one { 1 } else { d }).collect()
        }).collect();
        let dims = broadcast_dims(&[&shapes[0], &shapes[1]]).unwrap();
        let total: usize = dims.iter().product();
        let data: Vec<Vec<i32>> = shapes.iter().enumerate()
            .map(|(j, s)| (0..s.iter().product::<usize>() as i32).map(|i| i.wrapping_mul(j as i32 * 999 + 1)).collect()).collect();
        let mut got = vec![0i32; total];
        let ins: Vec<(*const u8, &[usize], usize)> =
            data.iter().zip(&shapes).map(|(d, s)| (d.as_ptr().cast(), &s[..], 4)).collect();
        // SAFETY: inputs that broadcast to `dims`, and an output of these.
        unsafe { elementwise(binary(Binary::Sub, DType::I32).unwrap(), &dims, got.as_mut_ptr().cast(), 4, &ins).unwrap() };
        for (i, &g) in got.iter().enumerate() {
            let pick = |j: usize| {
                let (mut rest, mut at, mut stride) = (i, 0, 1);
                for back in 0..dims.len() {
                    let index = rest % dims[dims.len() - 1 - back];
                    rest /= dims[dims.len() - 1 - back];
                    if back < shapes[j].len() {
                        let d = shapes[j][shapes[j].len() - 1 - back];
                        at += if d == 1 { 0 } else { index * stride };
                        stride *= d;
                    }
                }
                data[j][at]
            };
            prop_assert_eq!(g, pick(0).wrapping_sub(pick(1)));
        }
    }
}
