//! Random numbers: known answers, independence of the length, moments.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use penstock_data::{DType, DTypeSet};
use penstock_kernels::{Lane, Philox, cast};

#[test]
fn known_answers_of_random123() {
    let cases = [
        ([0u32; 4], [0u32; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ];
    for (c, k, want) in cases {
        let counter = c.iter().rev().fold(0u128, |acc, &w| acc << 32 | u128::from(w));
        let stream = Philox::new(u64::from(k[0]) | u64::from(k[1]) << 32, counter);
        assert_eq!(stream.block(0), want);
    }
}

#[test]
fn a_position_does_not_depend_on_the_length() {
    let stream = Philox::new(42, 7);
    let mut long = vec![0; 1_000_003];
    stream.fill_bits(&mut long);
    let mut short = vec![0; 77];
    stream.fill_bits(&mut short);
    assert_eq!(long[..77], short[..]);
    assert_eq!(long[4000..4004], stream.block(1000));
    let mut rest = vec![0; 20];
    stream.skip(1000).fill_bits(&mut rest);
    assert_eq!(long[4000..4020], rest[..]);
}

#[test]
fn samples_have_the_moments_of_their_distributions() {
    let n = 200_000;
    let stream = Philox::new(1, 0);
    let moments = |v: &[f64]| {
        let mean = v.iter().sum::<f64>() / n as f64;
        (mean, v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64)
    };
    for dtype in DTypeSet::FLOAT.iter() {
        for (which, mean, variance) in [(0, 0.5, 1.0 / 12.0), (1, 0.0, 1.0), (2, 0.0, 0.773_741)] {
            let mut raw = vec![0u64; n];
            let out = raw.as_mut_ptr().cast::<u8>();
            let mut values = vec![0f64; n];
            // SAFETY: the buffers have room for `n` elements of any float.
            unsafe {
                match which {
                    0 => stream.uniform(dtype, n, out),
                    1 => stream.normal(dtype, n, out),
                    _ => stream.truncated_normal(dtype, n, out),
                }
                let to_f64 = cast(dtype, DType::F64).unwrap();
                to_f64(n, &[Lane::new(out, dtype.size())], values.as_mut_ptr().cast()).unwrap();
            }
            let (m, v) = moments(&values);
            assert!((m - mean).abs() < 0.01 && (v - variance).abs() < 0.02, "{dtype} {which}: {m} {v}");
            match which {
                0 => assert!(values.iter().all(|x| (0.0..1.0).contains(x))),
                2 => assert!(values.iter().all(|x| x.abs() <= 2.0)),
                _ => {}
            }
        }
    }
}

#[test]
fn integers_stay_in_range() {
    let stream = Philox::new(3, 0);
    for dtype in DTypeSet::INTEGER.iter() {
        let mut raw = vec![0u64; 10_000];
        let mut wide = vec![0i64; 10_000];
        // SAFETY: the buffers have room for the elements of any integer.
        unsafe {
            stream.uniform_int(dtype, 3, 17, 10_000, raw.as_mut_ptr().cast());
            let to_i64 = cast(dtype, DType::I64).unwrap();
            to_i64(10_000, &[Lane::new(raw.as_ptr().cast(), dtype.size())], wide.as_mut_ptr().cast()).unwrap();
        }
        for v in 3..17 {
            assert!(wide.contains(&v), "{dtype} {v}");
        }
        assert!(wide.iter().all(|v| (3..17).contains(v)), "{dtype}");
    }
}
