//! SavedModels that are damaged: an error or a program, never a panic, and no more memory than the file allows.

use std::panic::catch_unwind;

use penstock_tf::parse_saved_model;

fn models() -> Vec<Vec<u8>> {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/models");
    let mut paths: Vec<_> = std::fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// How many mutated files are read; `PENSTOCK_MUTATIONS` sets it, as continuous integration does.
fn count() -> usize {
    std::env::var("PENSTOCK_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000)
}

#[test]
fn models_are_read_without_the_values_of_variables() {
    for bytes in models() {
        let model = parse_saved_model(&bytes, None).unwrap();
        assert!(model.refused.is_empty(), "{:?}", model.refused);
        assert!(model.program.functions().len() > 0);
        assert!(model.program.to_bytes().is_ok());
    }
}

#[test]
fn damaged_files_do_not_panic() {
    let models = models();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    for round in 0..count() {
        let mut bytes = models[round % models.len()].clone();
        for _ in 0..=next(4) {
            let at = next(bytes.len());
            match next(5) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes[at] ^= 1 << next(8),
                2 => bytes.truncate(at.max(1)),
                3 => drop(bytes.remove(at)),
                _ => {
                    let (from, length) = (next(bytes.len()), 1 + next(64));
                    let copy: Vec<u8> = bytes[from..(from + length).min(bytes.len())].to_vec();
                    bytes.splice(at..at, copy);
                }
            }
            if bytes.len() < 2 {
                break;
            }
        }
        let read = catch_unwind(|| drop(parse_saved_model(&bytes, None)));
        assert!(read.is_ok(), "round {round} panics");
    }
}

#[test]
fn a_file_of_empty_parts_takes_no_memory() {
    // A graph of nothing but empty nodes: two bytes each.
    let nodes = [0x0a, 0x00].repeat(1 << 20);
    let message = |field: u8, inner: &[u8]| {
        let mut out = vec![field << 3 | 2];
        let mut length = inner.len();
        while length >= 0x80 {
            out.push(length as u8 | 0x80);
            length >>= 7;
        }
        out.push(length as u8);
        out.extend_from_slice(inner);
        out
    };
    let file = message(2, &message(2, &nodes));
    let error = parse_saved_model(&file, None).err().unwrap();
    assert!(error.to_string().contains("more parts than a file of its size"), "{error}");
}
