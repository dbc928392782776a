//! Files that were changed: refused, without a panic and without much memory.

use std::sync::Arc;

use penstock_data::{Bytes, Class, DType, Shape, Tensor};
use penstock_exec::Variable;
use penstock_format::{Capture, Program};
use penstock_ir::{Function, no_hosts, parse_function};

fn function(text: &str) -> Arc<Function> {
    parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()
}

fn sample() -> Vec<u8> {
    let mut builder = Program::builder();
    let values: Vec<f32> = (0..40).map(|i| i as f32).collect();
    let w = Variable::new("w", DType::F32, Shape::known(&[40]), Some(Tensor::vector(&values))).unwrap();
    let s = Tensor::from_strings(&[2], vec![Bytes::from(*b"a"), Bytes::from(*b"bc")]).unwrap();
    let w = builder.variable(w, true);
    let text = "
      func @inner(%x: f32[40]) -> f32[40] {\n %y = exp %x\n return %y\n}
      func @f(%x: f32[40], %w: var f32[40], %s: str[2]) -> f32[40], str[2] {
        %r = read_variable %w
        %y = mul %x, %r
        %z = call %y {func=@inner}
        return %z, %s
      }";
    builder.function("f", function(text), &["x"], &["y", "s"], vec![Capture::Variable(w), Capture::Constant(s)]);
    builder.finish().unwrap().to_bytes().unwrap()
}

/// A small generator of numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

#[test]
fn a_file_with_any_change_is_refused() {
    let good = sample();
    Program::from_bytes(&good).unwrap();
    let mut numbers = Numbers(7);
    for _ in 0..10_000 {
        let mut bytes = good.clone();
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(bytes.len());
            match numbers.below(4) {
                0 => bytes[at] = bytes[at].wrapping_add(1 + numbers.below(255) as u8),
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, numbers.below(256) as u8),
                _ => {
                    let end = (at + 1 + numbers.below(40)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = numbers.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        if bytes != good {
            let error = Program::from_bytes(&bytes).map(drop).unwrap_err();
            assert!(error.to_string().contains("section '"), "{error}");
            assert_ne!(error.class(), Class::Internal, "{error}");
        }
    }
}

#[test]
fn every_changed_bit_is_found_and_its_section_named() {
    let good = sample();
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = Program::from_bytes(&bytes).map(drop).unwrap_err().to_string();
        assert_eq!(error.contains("section 'header'"), bit / 8 < header, "byte {}: {error}", bit / 8);
    }
    let mut bytes = good.clone();
    bytes[header] ^= 1;
    let error = Program::from_bytes(&bytes).unwrap_err().to_string();
    assert_eq!(
        error,
        "section 'variables/0/w' of the program: the checksum does not fit: the file was changed or is incomplete"
    );
}

/// A file with another header, of which the checksum is right: what somebody writes who knows the format.
fn with_header(good: &[u8], change: impl FnOnce(String) -> String) -> Vec<u8> {
    let len = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let header = change(String::from_utf8(good[8..8 + len].to_vec()).unwrap());
    let digits = r#"{"__metadata__":{"penstock.crc32c":""#.len();
    let length = (header.len() as u64).to_le_bytes();
    let zeroed = format!("{}00000000{}", &header[..digits], &header[digits + 8..]);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&length), zeroed.as_bytes());
    let header = format!("{}{crc:08x}{}", &header[..digits], &header[digits + 8..]);
    [&length, header.as_bytes(), &good[8 + len..]].concat()
}

#[test]
fn headers_that_lie_are_refused() {
    let good = sample();
    Program::from_bytes(&with_header(&good, |h| h)).unwrap();
    type Change = fn(String) -> String;
    let changes: [(&str, Change); 12] = [
        ("offsets beyond the data", |h| h.replace("\"data_offsets\":[0,160]", "\"data_offsets\":[0,1600]")),
        ("a shape that does not fit", |h| h.replace("\"shape\":[40]", "\"shape\":[41]")),
        ("a shape without a number", |h| h.replace("\"shape\":[40]", "\"shape\":[40,4294967296,4294967296]")),
        ("a dtype that is none", |h| h.replace("\"F32\"", "\"F33\"")),
        ("an array that stands twice", |h| {
            h.replacen("},\"", "},\"variables/0/w\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"", 2)
        }),
        ("a text that stands twice", |h| {
            h.replacen("\"penstock.format\":\"1\"", "\"penstock.format\":\"1\",\"penstock.format\":\"1\"", 1)
        }),
        ("a later format", |h| {
            h.replace("\"penstock.format\":\"1\"", "\"penstock.format\":\"9\"")
                .replace("min_reader\\\":1", "min_reader\\\":9")
        }),
        ("an operator that is not known", |h| h.replace("\\\"exp\\\":1", "\\\"xep\\\":1")),
        ("an operator of a later version", |h| h.replace("\\\"exp\\\":1", "\\\"exp\\\":2")),
        ("a variable that is not there", |h| h.replace("{\\\"variable\\\":0}", "{\\\"variable\\\":7}")),
        ("a function that is not there", |h| h.replace("\\\"graph\\\":\\\"f\\\"", "\\\"graph\\\":\\\"g\\\"")),
        ("a text that does not parse", |h| h.replace("return %", "retrun %")),
    ];
    for (name, change) in changes {
        let changed = with_header(&good, change);
        assert!(changed != good, "{name}: nothing was changed");
        let error = Program::from_bytes(&changed).map(drop).expect_err(name);
        assert_ne!(error.class(), Class::Internal, "{name}: {error}");
    }
    let later = with_header(&good, |h| h.replace("\\\"exp\\\":1", "\\\"exp\\\":2"));
    assert!(Program::from_bytes(&later).unwrap_err().to_string().contains("has not the operators exp (version 2)"));
}

#[test]
fn headers_with_any_change_do_no_harm_though_their_checksum_is_right() {
    let good = sample();
    let mut numbers = Numbers(11);
    let mut loaded = 0;
    for _ in 0..3_000 {
        let bytes = with_header(&good, |header| {
            let start = 44;
            let mut bytes = header.into_bytes();
            for _ in 0..=numbers.below(3) {
                let at = start + numbers.below(bytes.len() - start);
                match numbers.below(3) {
                    0 => bytes[at] = b" 09azAZ{}[]()\",:%@=-\\;*?"[numbers.below(24)],
                    1 => drop(bytes.remove(at)),
                    _ => {
                        let end = (at + numbers.below(30)).min(bytes.len());
                        let piece = bytes[at..end].to_vec();
                        let to = start + numbers.below(bytes.len() - start);
                        bytes.splice(to..to, piece);
                    }
                }
            }
            String::from_utf8(bytes).unwrap_or_default() + &" ".repeat(64)
        });
        match Program::from_bytes(&bytes) {
            Ok(program) => {
                loaded += 1;
                program.to_bytes().unwrap();
            }
            Err(error) => assert_ne!(error.class(), Class::Internal, "{error}"),
        }
    }
    // A change of a name, say.
    assert!(loaded > 10, "{loaded}");
}

#[test]
fn a_length_that_lies_takes_no_memory() {
    for length in [0, 1, 40, 1 << 40, u64::MAX - 7, u64::MAX] {
        let mut bytes = sample();
        bytes[..8].copy_from_slice(&u64::to_le_bytes(length));
        assert!(Program::from_bytes(&bytes).is_err(), "{length}");
    }
    for bytes in [&b""[..], b"{}", &[0; 44], &[255; 100]] {
        let error = Program::from_bytes(bytes).unwrap_err();
        assert_eq!(error.to_string(), "section 'header' of the program: this is no Penstock program");
    }
}
