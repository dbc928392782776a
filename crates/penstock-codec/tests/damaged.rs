//! Damaged contents are errors: no panic, no huge allocation, and no long work.
#![cfg(feature = "images")]

use std::fs;
use std::path::PathBuf;

use penstock_codec::image::{self, Options, Reader};
use penstock_codec::{csv, example, wav};
use penstock_data::{Bytes, Class, DType, Error, Tensor};

/// How many mutations of each file; `PENSTOCK_MUTATIONS` sets another number.
fn mutations() -> usize {
    std::env::var("PENSTOCK_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

/// A xorshift generator: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// The contents with some bytes changed, cut off, doubled or left out.
fn damage(contents: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut out = contents.to_vec();
    for _ in 0..1 + numbers.below(4) {
        if out.is_empty() {
            break;
        }
        let at = numbers.below(out.len());
        match numbers.below(6) {
            0 => out.truncate(at),
            1 => out[at] = [0, 1, 0x7f, 0x80, 0xff][numbers.below(5)],
            2 => drop(out.remove(at)),
            3 => out.insert(at, numbers.below(256) as u8),
            4 => {
                let end = (at + numbers.below(16)).min(out.len());
                let piece = out[at..end].to_vec();
                out.splice(at..at, piece);
            }
            _ => out[at] ^= 1 << numbers.below(8),
        }
    }
    out
}

fn files() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/image/files");
    let mut found: Vec<_> = fs::read_dir(folder)
        .expect("the folder of images")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e != "npz"))
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read(&path).expect("a file"))
        })
        .collect();
    found.sort();
    assert!(found.len() > 20, "{} images", found.len());
    found
}

fn any(dtype: DType) -> Options {
    Options { reader: Reader::Any { expand_animations: true }, channels: 0, dtype, ratio: 1, recover: false }
}

fn check(result: Result<Tensor, Error>, name: &str) {
    if let Err(e) = result {
        assert!(matches!(e.class(), Class::InvalidArgument | Class::ResourceExhausted), "{name}: {e}");
    }
}

#[test]
fn images() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for (name, contents) in files() {
        assert!(
            image::decode(&contents, &any(DType::U8)).is_ok(),
            "{name}: {:?}",
            image::decode(&contents, &any(DType::U8)).err()
        );
        for _ in 0..mutations() {
            let broken = damage(&contents, &mut numbers);
            check(image::decode(&broken, &any(DType::U8)), &name);
            if name.ends_with("jpg") {
                let reader = Reader::CropJpeg([1, 2, 3, 4]);
                let options = Options { reader, channels: 1, dtype: DType::U8, ratio: 2, recover: true };
                check(image::decode(&broken, &options), &name);
            }
            if name.ends_with("png") {
                check(image::decode(&broken, &Options { channels: 4, ..any(DType::F32) }), &name);
            }
        }
    }
}

#[test]
fn sizes_are_checked_before_memory_is_taken() {
    // A BMP of 2^14 by 2^14 pixels without data, and a GIF of as many.
    let mut bmp = [0u8; 60];
    bmp[..2].copy_from_slice(b"BM");
    (bmp[10], bmp[19], bmp[23], bmp[28]) = (54, 64, 64, 24);
    let gif = b"GIF89a\0\x40\0\x40\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    for contents in [&bmp[..], gif] {
        let e = image::decode(contents, &any(DType::U8)).expect_err("too large");
        assert_eq!((e.class(), e.argument_name()), (Class::InvalidArgument, Some("contents")));
        assert!(e.message().contains("do not hold"), "{e}");
    }
}

#[test]
fn sounds() {
    let audio: Vec<f32> = (0..60).map(|i| (i as f32 * 0.3).sin()).collect();
    let contents = wav::encode(&audio, 2, 16000).expect("a WAV");
    let mut numbers = Numbers(7);
    for _ in 0..10 * mutations() {
        let broken = damage(&contents, &mut numbers);
        check(wav::decode(&broken, None, None).map(|found| found.0), "wav");
        check(wav::decode(&broken, Some(3), Some(5)).map(|found| found.0), "wav");
    }
}

#[test]
fn lines() {
    let contents = b"12,\"a \"\"quoted\"\" word\",-3.5e2,,\"x,y\",7\r\n";
    let layout = csv::Layout { delimiter: b',', quotes: true };
    let empty = Tensor::from_strings(&[1], vec![Bytes::from([])]).expect("one string");
    let mut numbers = Numbers(11);
    for _ in 0..10 * mutations() {
        let line: Bytes = damage(contents, &mut numbers).into();
        let mut columns: Vec<_> = (0..6).map(|_| csv::Column::new(&empty).expect("a column")).collect();
        let read = csv::read(&[line], layout, b"", None, 0, &mut columns);
        let made = read.and_then(|()| csv::Column::joined(columns, &[6]));
        check(made, "csv");
    }
}

#[test]
fn messages() {
    // {"a": int64 [1, 2, 300], "b": bytes ["x", "yz"], "c": float [1.5]} as features and as the steps of one list each.
    let feature = |key: &[u8], list: &[u8]| {
        let inner = [&[0x0a, key.len() as u8][..], key, &[0x12, list.len() as u8], list].concat();
        [&[0x0a, inner.len() as u8][..], &inner].concat()
    };
    let lists: [&[u8]; 3] =
        [b"\x1a\x06\x0a\x04\x01\x02\xac\x02", b"\x0a\x07\x0a\x01x\x0a\x02yz", b"\x12\x06\x0a\x04\x00\x00\xc0\x3f"];
    let all: Vec<u8> = [feature(b"a", lists[0]), feature(b"b", lists[1]), feature(b"c", lists[2])].concat();
    let contents = [&[0x0a, all.len() as u8][..], &all].concat();
    let keys: Vec<Bytes> = [&b"a"[..], b"b", b"c"].iter().map(|&key| key.into()).collect();
    let columns = || -> Vec<example::Column> {
        [DType::I64, DType::Str, DType::F32].map(|d| example::Column::new(d).expect("a column")).into()
    };
    let part = example::Part::Whole("Example");
    let mut found = columns();
    example::read(&[contents.as_slice().into()], part, &keys, &mut found).expect("a message");
    let first = example::joined(vec![found.remove(0)], false).expect("a column");
    assert_eq!(first[0].as_slice::<i64>(), [1, 2, 300]);
    let mut numbers = Numbers(13);
    for _ in 0..10 * mutations() {
        let broken: Bytes = damage(&contents, &mut numbers).into();
        for part in [part, example::Part::Steps] {
            let mut columns = columns();
            let read = example::read(std::slice::from_ref(&broken), part, &keys, &mut columns);
            let made = read.and_then(|()| example::joined(vec![columns.remove(1)], part == example::Part::Steps));
            check(made.map(|tensors| tensors[0].clone()), "example");
        }
    }
}
