//! Tensors for the samples of the declarations.

use penstock_data::{Bool8, C64, C128, DType, DTypeSet, Tensor, bf16, f16, num_elements, with_dtype};
use penstock_ir::Sample;

/// A tensor of any dtype but `str`, filled by repeating `values` as far as its dtype holds them. The imaginary part of
/// a complex element is half the next value.
///
/// # Panics
/// For strings and lists, or where `values` is empty but the tensor is not.
pub fn tensor(dtype: DType, dims: &[usize], values: &[f64]) -> Tensor {
    let n = num_elements(dims).unwrap_or(0);
    let at = |i: usize| values[i % values.len()];
    macro_rules! fill {
        ($($dtype:ident => $of:expr),*) => {
            match dtype {
                $(DType::$dtype => Tensor::from_slice(dims, &(0..n).map($of).collect::<Vec<_>>()),)*
                _ => with_dtype!(narrow, dtype, T => Tensor::from_slice(dims, &(0..n).map(|i| T::from_f32(at(i) as f32)).collect::<Vec<_>>()),
                    else unreachable!("only arrays of numbers are made of numbers")),
            }
        };
    }
    let filled = fill! {
        Bool => |i| Bool8::new(at(i) > 0.0),
        I8 => |i| at(i) as i8, I16 => |i| at(i) as i16, I32 => |i| at(i) as i32, I64 => |i| at(i) as i64,
        U8 => |i| at(i).abs() as u8, U16 => |i| at(i).abs() as u16,
        U32 => |i| at(i).abs() as u32, U64 => |i| at(i).abs() as u64,
        F16 => |i| f16::from_f64(at(i)), Bf16 => |i| bf16::from_f64(at(i)), F32 => |i| at(i) as f32, F64 => at,
        C64 => |i| C64::new(at(i) as f32, if n > 1 { 0.5 * at(i + 1) as f32 } else { 0.0 }),
        C128 => |i| C128::new(at(i), if n > 1 { 0.5 * at(i + 1) } else { 0.0 })
    };
    filled.expect("the values fill the extents")
}

/// A string tensor.
///
/// # Panics
/// Where the number of strings does not fit the extents.
pub fn strings(dims: &[usize], values: &[&str]) -> Tensor {
    let values: Vec<_> = values.iter().map(|s| s.as_bytes().into()).collect();
    Tensor::from_strings(dims, values).expect("the strings fill the extents")
}

/// What no float formula may stumble over.
pub const EDGES: &[f64] = &[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0, 1e-30, -1e30];

/// Values on both sides of 0, off the integers and what lies half way between them.
pub const LINE: &[f64] = &[0.6875, -1.25, 2.75, -0.125, 3.4375, -2.625, 1.375];
/// Positive values, none of them in [`LINE`].
pub const POSITIVE: &[f64] = &[0.4375, 1.1875, 2.8125, 0.1875, 3.3125, 2.5625, 1.4375];
/// Values between -1 and 1, exclusive.
pub const UNIT: &[f64] = &[0.5, -0.25, 0.75, -0.125, 0.375, -0.875, 0.0625];
/// Values above 1.
pub const ABOVE_ONE: &[f64] = &[1.5, 3.25, 1.125, 7.0, 2.5, 1.75];

/// Samples of an operator of one operand: every dtype, every kind of extents, the edges of floats
/// and the limits of integers.
pub(crate) fn unary(dtypes: DTypeSet, values: &[f64]) -> Vec<Sample> {
    let mut out: Vec<Sample> = dtypes.iter().map(|d| Sample::new(vec![tensor(d, &[7], values)])).collect();
    let common = [DType::F64, DType::C128, DType::I32, DType::Bool];
    let Some(dtype) = common.into_iter().find(|&d| dtypes.contains(d)) else { return out };
    for dims in [&[][..], &[0], &[1], &[3, 0, 2], &[3, 5], &[2, 1, 3]] {
        out.push(Sample::new(vec![tensor(dtype, dims, values)]));
    }
    for dtype in [DType::F16, DType::Bf16, DType::F32, DType::F64] {
        if dtypes.contains(dtype) {
            out.push(Sample::new(vec![tensor(dtype, &[EDGES.len()], EDGES)]));
        }
    }
    for dtype in dtypes.iter().filter(|d| d.is_integer()) {
        out.push(Sample::new(vec![limits(dtype)]));
    }
    out
}

/// The least and greatest values of an integer dtype, and what is next to 0.
fn limits(dtype: DType) -> Tensor {
    tensor(dtype, &[5], &[f64::MIN, f64::MAX, 0.0, 1.0, -1.0])
}

/// Samples of an operator of two broadcast operands: every dtype, every kind of broadcasting, and
/// the edges of floats, each against each.
pub(crate) fn binary(dtypes: DTypeSet, xs: &[f64], ys: &[f64]) -> Vec<Sample> {
    let pair = |d, a: &[usize], b: &[usize]| Sample::new(vec![tensor(d, a, xs), tensor(d, b, ys)]);
    let mut out: Vec<Sample> = dtypes.iter().map(|d| pair(d, &[6], &[6])).collect();
    let common = [DType::F64, DType::I32, DType::Bool];
    let Some(dtype) = common.into_iter().find(|&d| dtypes.contains(d)) else { return out };
    let extents: [(&[usize], &[usize]); 9] = [
        (&[], &[]),
        (&[], &[3]),
        (&[5], &[]),
        (&[0], &[1]),
        (&[2, 0], &[2, 1]),
        (&[2, 3], &[3]),
        (&[3, 1], &[1, 4]),
        (&[2, 1, 3], &[5, 1]),
        (&[1], &[1, 1]),
    ];
    out.extend(extents.map(|(a, b)| pair(dtype, a, b)));
    for dtype in [DType::F16, DType::F32, DType::F64] {
        if dtypes.contains(dtype) {
            let n = EDGES.len();
            out.push(Sample::new(vec![tensor(dtype, &[n, 1], EDGES), tensor(dtype, &[1, n], EDGES)]));
        }
    }
    out
}

/// Values on both sides of 0, off the integers, no two alike: at none of them does an extremum change hands.
pub const DISTINCT: &[f64] = &[
    0.5, -1.25, 2.75, -0.125, 3.5, -2.625, 1.375, 0.875, -0.75, 1.875, -1.875, 2.25, -3.25, 0.25, 3.125, -2.125, 1.625,
    -0.375, 2.375, -3.75, 0.625, -1.5, 3.875, -2.875, 1.125, -0.625, 2.5, -1.625, 0.375, -2.25, 3.25,
];
