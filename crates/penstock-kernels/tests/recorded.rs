//! The bits that kernels give are those in `recorded.txt`, on every machine and with every instruction set; but for functions of
//! complex numbers that call the C library.
//!
//! `BLESS=1` writes the file anew.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use std::fmt::Write as _;
use std::path::Path;

use penstock_data::{ALL_DTYPES, DType, DTypeSet, bf16, f16};
use penstock_kernels::{
    Binary, Lane, LoopFn, Philox, Reduce, Unary, binary, binary_dtypes, binary_output, cast, matmul, reduce,
    reduce_dtypes, unary, unary_dtypes, unary_output,
};

/// Elements of an array: whole vectors of any machine, and some more.
const LEN: usize = 1003;

/// Whether a function of complex numbers calls `hypot` of the C library, whose last bit is a matter of the machine.
fn is_of_c_library(name: &str, dtype: DType) -> bool {
    const NAMES: [&str; 10] = ["Sqrt", "Rsqrt", "Log", "Log1p", "Asin", "Acos", "Asinh", "Acosh", "Pow", "Xlogy"];
    dtype.is_complex() && NAMES.contains(&name)
}

/// Values at which arithmetic changes its ways.
const EDGES: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    1e-40,
    6e-8,
    0.5,
    1.5,
    -2.5,
    88.5,
    -104.0,
    65504.0,
    2147483648.0,
    -1e19,
];

/// Elements, as bytes at an address that suits any dtype.
struct Array {
    dtype: DType,
    len: usize,
    words: Vec<u128>,
}

fn scrambled(i: usize, seed: u64) -> u64 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl Array {
    fn zeroed(dtype: DType, len: usize) -> Array {
        Array { dtype, len, words: vec![0; (len * dtype.size()).div_ceil(16) + 1] }
    }

    /// Numbers that `real` gives for each part; whole ones of all bits for integers.
    fn of(dtype: DType, len: usize, seed: u64, real: impl Fn(u64) -> f64) -> Array {
        let mut array = Array::zeroed(dtype, len);
        let part = dtype.real();
        for i in 0..len * dtype.size() / part.size() {
            let bits = scrambled(i, seed);
            let x = real(bits);
            let word = match part {
                DType::F16 => u64::from(f16::from_f64(x).to_bits()),
                DType::Bf16 => u64::from(bf16::from_f64(x).to_bits()),
                DType::F32 => u64::from((x as f32).to_bits()),
                DType::F64 => x.to_bits(),
                DType::Bool => bits >> 40 & 1,
                // Small ones too, to divide by and to shift by.
                _ if bits >> 60 < 8 => (bits >> 20 & 127) + 1,
                _ => bits | 1,
            };
            array.bytes_mut()[i * part.size()..(i + 1) * part.size()]
                .copy_from_slice(&word.to_le_bytes()[..part.size()]);
        }
        array
    }

    /// Numbers of all sizes, with edges among them.
    fn any(dtype: DType, seed: u64) -> Array {
        Array::of(dtype, LEN, seed, |bits| match bits >> 62 {
            0 => EDGES[(bits >> 32) as usize % EDGES.len()],
            1 => f64::from_bits(bits.rotate_left(17)),
            2 => (bits >> 40) as f64 / f64::from(1 << 24) * 40.0 - 20.0,
            _ => (bits >> 40) as f64 / f64::from(1 << 24) * 2.0 - 1.0,
        })
    }

    /// Eighths between -1 and 1, of whose products all sums are exact: their order is a matter of the instruction set.
    fn eighths(dtype: DType, len: usize, seed: u64) -> Array {
        Array::of(dtype, len, seed, |bits| (bits >> 40) as f64 % 17.0 / 8.0 - 1.0)
    }

    /// Numbers between -1 and 1, whose sums depend on their order.
    fn fractions(dtype: DType, len: usize, seed: u64) -> Array {
        Array::of(dtype, len, seed, |bits| (bits >> 40) as f64 / f64::from(1 << 23) - 1.0)
    }

    fn ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory of the words, as bytes.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.words.len() * 16) }
    }

    /// A number that is of all bits, with one NaN for all.
    fn digest(&mut self) -> u64 {
        let (part, bytes) = (self.dtype.real(), self.len * self.dtype.size());
        self.bytes_mut()[..bytes].chunks_exact(part.size()).fold(0xcbf2_9ce4_8422_2325, |digest, element| {
            let mut word = [0; 8];
            word[..element.len()].copy_from_slice(element);
            let bits = u64::from_le_bytes(word);
            let nan = match part {
                DType::F16 => f16::from_bits(bits as u16).is_nan(),
                DType::Bf16 => bf16::from_bits(bits as u16).is_nan(),
                DType::F32 => f32::from_bits(bits as u32).is_nan(),
                DType::F64 => f64::from_bits(bits).is_nan(),
                _ => false,
            };
            (digest ^ if nan { u64::MAX } else { bits }).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
        })
    }
}

/// What a loop gives for arrays, or what it rejects.
fn run(f: LoopFn, ins: &[Array], to: DType) -> String {
    let lanes: Vec<Lane> = ins.iter().map(|a| Lane::new(a.ptr(), a.dtype.size())).collect();
    let mut out = Array::zeroed(to, LEN);
    // SAFETY: lanes and output have `LEN` elements, of the dtypes that the loop is for.
    match unsafe { f(LEN, &lanes, out.words.as_mut_ptr().cast()) } {
        Ok(()) => format!("{:016x}", out.digest()),
        Err(fault) => format!("{fault:?}"),
    }
}

fn elementwise(text: &mut String) {
    for &op in Unary::ALL {
        for d in unary_dtypes(op).iter().filter(|&d| !is_of_c_library(&format!("{op:?}"), d)) {
            let f = unary(op, d).expect("a kernel");
            _ = writeln!(text, "{op:?} {d} {}", run(f, &[Array::any(d, 1)], unary_output(op, d)));
        }
    }
    for &op in Binary::ALL {
        for d in binary_dtypes(op).iter().filter(|&d| !is_of_c_library(&format!("{op:?}"), d)) {
            let f = binary(op, d).expect("a kernel");
            let ins = [Array::any(d, 2), Array::any(d, 3)];
            _ = writeln!(text, "{op:?} {d} {}", run(f, &ins, binary_output(op, d)));
        }
    }
    for (from, to) in ALL_DTYPES.iter().flat_map(|&from| ALL_DTYPES.iter().map(move |&to| (from, to))) {
        if let Some(f) = cast(from, to) {
            _ = writeln!(text, "cast {from} {to} {}", run(f, &[Array::any(from, 4)], to));
        }
    }
}

fn reductions(text: &mut String) {
    use Reduce::{All, Any, Max, Mean, Min, Prod, Sum};
    for op in [Sum, Prod, Max, Min, Any, All, Mean] {
        for d in reduce_dtypes(op).iter() {
            for (dims, axes) in [
                (&[5003][..], &[true][..]),
                (&[17, 61], &[false, true]),
                (&[61, 17], &[true, false]),
                (&[3, 50, 7], &[true, false, true]),
            ] {
                let input = Array::fractions(d, dims.iter().product(), 5);
                let kept = dims.iter().zip(axes).filter(|(_, axis)| !**axis).map(|(n, _)| n).product();
                let mut out = Array::zeroed(d, kept);
                // SAFETY: arrays of these dimensions.
                unsafe { reduce(op, d, input.ptr(), dims, axes, out.words.as_mut_ptr().cast()) };
                _ = writeln!(text, "{op:?} {d} {dims:?} {axes:?} {:016x}", out.digest());
            }
        }
    }
}

fn products(text: &mut String) {
    for d in [DType::F16, DType::Bf16, DType::F32, DType::F64, DType::C64, DType::C128, DType::I32, DType::I64] {
        for (m, k, n) in [(1, 1, 1), (2, 600, 37), (17, 64, 1), (29, 300, 65), (61, 70, 3), (1, 200, 300)] {
            for (a_trans, b_trans) in [(false, false), (false, true), (true, false), (true, true)] {
                let (a, b) = (Array::eighths(d, m * k, 6), Array::eighths(d, k * n, 7));
                let mut out = Array::zeroed(d, m * n);
                // SAFETY: arrays of these dimensions.
                unsafe { matmul(d, m, k, n, a.ptr(), a_trans, b.ptr(), b_trans, out.words.as_mut_ptr().cast()) };
                _ = writeln!(text, "matmul {d} {m} {k} {n} {a_trans} {b_trans} {:016x}", out.digest());
            }
        }
    }
}

fn random_numbers(text: &mut String) {
    let stream = Philox::new(42, 7);
    for d in DTypeSet::FLOAT.iter() {
        for which in ["uniform", "normal", "truncated_normal"] {
            let mut out = Array::zeroed(d, LEN);
            let to = out.words.as_mut_ptr().cast();
            // SAFETY: the array has `LEN` elements.
            unsafe {
                match which {
                    "uniform" => stream.uniform(d, LEN, to),
                    "normal" => stream.normal(d, LEN, to),
                    _ => stream.truncated_normal(d, LEN, to),
                }
            }
            _ = writeln!(text, "{which} {d} {:016x}", out.digest());
        }
    }
    for d in [DType::I32, DType::I64] {
        let mut out = Array::zeroed(d, LEN);
        // SAFETY: the array has `LEN` elements.
        unsafe { stream.uniform_int(d, -1000, 12345, LEN, out.words.as_mut_ptr().cast()) };
        _ = writeln!(text, "uniform_int {d} {:016x}", out.digest());
    }
}

#[test]
fn kernels_give_the_recorded_bits() {
    let mut text = String::new();
    elementwise(&mut text);
    reductions(&mut text);
    products(&mut text);
    random_numbers(&mut text);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the file is writable");
    }
    let recorded = std::fs::read_to_string(&path).expect("the file is there: BLESS=1 writes it");
    let differing: Vec<String> = (text.lines().zip(recorded.lines()))
        .filter(|(got, due)| got != due)
        .map(|(got, due)| format!("{got}, recorded: {due}"))
        .collect();
    assert!(differing.is_empty(), "{} of {} differ:\n{}", differing.len(), text.lines().count(), differing.join("\n"));
    assert_eq!(text.lines().count(), recorded.lines().count());
}
