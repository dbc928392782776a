//! SavedModels with tables, and ones that are damaged: an error or a program, never a panic, and no more memory than the file
//! allows.

use std::panic::catch_unwind;
use std::path::Path;

use penstock_data::{DType, Tensor};
use penstock_tf::{load_saved_model, parse_saved_model, save_saved_model};
use tempfile::TempDir;

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

/// An object says by the number of a field what it is. Those of plain objects are changed to each other number.
#[test]
fn an_object_may_be_of_another_kind() {
    const PLAIN: &[u8] = b"\x0a\x14_generic_user_object";
    let mut changed = 0;
    for model in models() {
        let places: Vec<usize> = (2..model.len() - PLAIN.len()).filter(|&at| model[at..].starts_with(PLAIN)).collect();
        for place in places {
            for field in 1..16 {
                let mut bytes = model.clone();
                bytes[place - 2] = field << 3 | 2;
                let read = catch_unwind(|| drop(parse_saved_model(&bytes, None)));
                assert!(read.is_ok(), "an object of kind {field} panics");
                changed += 1;
            }
        }
    }
    assert!(changed > 0);
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

fn words(texts: &[&str]) -> Tensor {
    Tensor::from_strings(&[texts.len()], texts.iter().map(|text| text.as_bytes().into()).collect()).unwrap()
}

/// A copy of a golden directory, to be changed.
fn copied(name: &str) -> TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let to = tempfile::tempdir().unwrap();
    std::fs::create_dir(to.path().join("assets")).unwrap();
    for file in ["saved_model.pb", "assets/words.txt"] {
        std::fs::copy(from.join(file), to.path().join(file)).unwrap();
    }
    to
}

#[test]
fn a_table_is_filled_with_the_constants_of_its_initialiser() {
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/models/table.pb")).unwrap();
    let model = parse_saved_model(&bytes, None).unwrap();
    let serve = model.program.function("serving_default").unwrap();
    let found = serve.run(&[("s", words(&["blue", "pink", "red"]).into())]).unwrap();
    assert_eq!(found[0].as_slice::<i64>(), [11, -1, 3]);
}

#[test]
fn a_table_is_filled_from_an_asset() {
    let directory = copied("tables_v1");
    let model = load_saved_model(directory.path()).unwrap();
    assert!(model.refused.is_empty(), "{:?}", model.refused);
    let serve = model.program.function("serving_default").unwrap();
    let found = serve.run(&[("x", words(&["two", "one", "four"]).into())]).unwrap();
    let names: Vec<&str> = serve.outputs().map(|(name, _)| name).collect();
    for (name, found) in names.into_iter().zip(found) {
        match name {
            "numbers" => assert_eq!(found.as_slice::<i64>(), [2, 1, -1]),
            _ => assert_eq!(found.as_slice::<f32>(), [0.5, 1.5, 4.5]),
        }
    }
}

#[test]
fn a_table_that_is_written_for_tensorflow_is_read_again() {
    let from = copied("tables_v1");
    let to = from.path().join("again");
    save_saved_model(&load_saved_model(from.path()).unwrap().program, &to).unwrap();
    let model = load_saved_model(&to).unwrap();
    assert!(model.refused.is_empty(), "{:?}", model.refused);
    let serve = model.program.function("serving_default").unwrap();
    let found = serve.run(&[("x", words(&["two", "one", "four"]).into())]).unwrap();
    assert!(found.iter().any(|t| t.dtype() == DType::I64 && t.as_slice::<i64>() == [2, 1, -1]));
}

#[cfg(unix)]
#[test]
fn no_asset_outside_of_the_directory_is_read() {
    let directory = copied("tables_v1");
    let asset = directory.path().join("assets/words.txt");
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().join("words.txt");
    std::fs::rename(&asset, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &asset).unwrap();
    let model = load_saved_model(directory.path()).unwrap();
    let reason = &model.refused["signature 'serving_default'"];
    assert!(reason.contains("a table that is not here"), "{reason}");
}
