//! Bundles: those of TensorFlow are read, what is written is read again, and what was changed is refused.
//!
//! `golden` holds what TensorFlow 2.21 wrote: `ck-1` by `tf.train.Checkpoint`, `sliced` by `SaveV2` with a tensor in parts.

use std::path::{Path, PathBuf};

use penstock_data::{Bytes, C64, C128, Class, DType, Tensor};
use penstock_tf::{BundleReader, BundleWriter, OBJECT_GRAPH_KEY, ObjectGraph};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn same(a: &Tensor, b: &Tensor) -> bool {
    let header = |t: &Tensor| (t.dtype(), t.dims().to_vec());
    header(a) == header(b) && if a.dtype() == DType::Str { a.strings() == b.strings() } else { a.bytes() == b.bytes() }
}

fn tensors() -> Vec<(String, Tensor)> {
    let text = |s: &[u8]| Bytes::from(s);
    let mut all = vec![
        (
            "strings".to_owned(),
            Tensor::from_strings(&[2, 2], vec![text(b""), text(b"a"), text(&[255; 300]), text(b"\0")]).unwrap(),
        ),
        ("no strings".to_owned(), Tensor::from_strings(&[0], vec![]).unwrap()),
        ("empty".to_owned(), Tensor::zeros(DType::F32, &[0, 3]).unwrap()),
        ("scalar".to_owned(), Tensor::from(2.5f64)),
        ("complex".to_owned(), Tensor::vector(&[C64::new(1.0, -2.0)])),
        ("wide complex".to_owned(), Tensor::vector(&[C128::new(1.0, -2.0)])),
        ("long".to_owned(), Tensor::vector(&(0..5000).collect::<Vec<i32>>())),
    ];
    for dtype in [DType::Bool, DType::I8, DType::I16, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64] {
        all.push((format!("dtype/{dtype}"), Tensor::zeros(dtype, &[3]).unwrap()));
    }
    for dtype in [DType::F16, DType::Bf16] {
        all.push((format!("dtype/{dtype}"), Tensor::zeros(dtype, &[2, 2]).unwrap()));
    }
    all
}

fn write(prefix: &Path, tensors: &[(String, Tensor)]) {
    let mut writer = BundleWriter::create(prefix).unwrap();
    for (key, tensor) in tensors {
        writer.add(key, tensor).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn checkpoints_of_tensorflow_are_read() {
    let reader = BundleReader::open(golden("ck-1")).unwrap();
    let read = |key: &str| reader.read(&format!("{key}/.ATTRIBUTES/VARIABLE_VALUE")).unwrap();
    assert_eq!(read("model/w").as_slice::<f32>(), [1.0, 2.0]);
    assert_eq!(read("step").item::<i64>(), Some(3));
    assert_eq!(read("values/int16").as_slice::<i16>(), [0, 1, 1, 1, 0, 1]);
    assert_eq!(read("values/bool").dims(), [2, 3]);
    assert_eq!(read("values/complex128").as_slice::<C128>()[1], C128::new(1.0, 0.0));
    assert_eq!(read("values/empty").dims(), [0, 3]);
    let strings = read("values/string");
    assert_eq!(strings.strings().iter().map(|s| s.len()).collect::<Vec<_>>(), [1, 0, 200, 2]);
    for (key, entry) in reader.entries() {
        let tensor = reader.read(key).unwrap();
        assert_eq!((Some(tensor.dtype()), tensor.dims()), (entry.dtype(), entry.dims()), "{key}");
    }
}

#[test]
fn the_graph_of_objects_is_read_and_written() {
    let reader = BundleReader::open(golden("ck-1")).unwrap();
    let bytes = reader.read(OBJECT_GRAPH_KEY).unwrap().strings()[0].clone();
    let graph = ObjectGraph::parse(&bytes).unwrap();
    let names: Vec<&str> = graph.nodes[0].children.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["model", "step", "values", "save_counter"]);
    let keys = graph.nodes.iter().flat_map(|n| &n.attributes).map(|a| a.key.as_str());
    assert!(keys.clone().any(|k| k == "model/d/x.Sy/.ATTRIBUTES/VARIABLE_VALUE"));
    assert!(keys.clone().all(|k| reader.read(k).is_ok()));
    assert_eq!(ObjectGraph::parse(&graph.to_bytes()).unwrap(), graph);
}

#[test]
fn tensors_in_parts_are_put_together() {
    let reader = BundleReader::open(golden("sliced")).unwrap();
    let whole = reader.read("v").unwrap();
    assert_eq!(whole.dims(), [4, 200]);
    assert!(whole.as_slice::<f32>().iter().zip(0..800).all(|(a, b)| *a == b as f32));
    assert_eq!(reader.read("whole").unwrap().as_slice::<i32>(), [1, 2]);
}

#[test]
fn tensors_are_written_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("b");
    let rows = |first: i32, count: usize| {
        let values: Vec<i32> = (0..3 * count as i32).map(|i| 3 * first + i).collect();
        Tensor::from_slice(&[count, 3], &values).unwrap()
    };
    let mut writer = BundleWriter::create(&prefix).unwrap();
    writer.add_parts("v", &[&rows(0, 2), &rows(2, 0), &rows(2, 1), &rows(3, 4)]).unwrap();
    writer.add_parts("empty", &[&rows(0, 0), &rows(0, 0)]).unwrap();
    let (scalar, row, narrow) = (Tensor::from(1i32), rows(0, 1), Tensor::from_slice(&[1, 2], &[1i32, 2]).unwrap());
    let wrong: [&[&Tensor]; 3] = [&[], &[&scalar], &[&row, &narrow]];
    for parts in wrong {
        assert_eq!(writer.add_parts("wrong", parts).unwrap_err().class(), Class::InvalidArgument);
    }
    writer.finish().unwrap();
    let reader = BundleReader::open(&prefix).unwrap();
    assert!(same(&reader.read("v").unwrap(), &rows(0, 7)));
    assert!(same(&reader.read("empty").unwrap(), &rows(0, 0)));
}

#[test]
fn what_is_written_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("b");
    let tensors = tensors();
    write(&prefix, &tensors);
    let reader = BundleReader::open(&prefix).unwrap();
    assert_eq!(reader.entries().len(), tensors.len());
    for (key, tensor) in &tensors {
        assert!(same(&reader.read(key).unwrap(), tensor), "{key}");
    }
    let left: Vec<_> = std::fs::read_dir(prefix.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_bundle_that_is_not_finished_leaves_what_was_there() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("b");
    write(&prefix, &[("a".to_owned(), Tensor::from(1i32))]);
    let mut writer = BundleWriter::create(&prefix).unwrap();
    writer.add("a", &Tensor::from(2i32)).unwrap();
    assert_eq!(writer.add("a", &Tensor::from(2i32)).unwrap_err().class(), Class::InvalidArgument);
    drop(writer);
    assert_eq!(BundleReader::open(&prefix).unwrap().read("a").unwrap().item::<i32>(), Some(1));
    assert_eq!(std::fs::read_dir(prefix.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(BundleReader::open(golden("none")).unwrap_err().class(), Class::NotFound);
    let reader = BundleReader::open(golden("sliced")).unwrap();
    let error = reader.read("missing").unwrap_err();
    assert!(error.class() == Class::NotFound && error.to_string().contains("missing"));
}

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A mutation: a bit turned, a byte set, a cut, a piece repeated.
fn mutate(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    if bytes.is_empty() {
        return;
    }
    let at = numbers.below(bytes.len());
    match numbers.below(5) {
        0 => bytes[at] ^= 1 << numbers.below(8),
        1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][numbers.below(5)],
        2 => bytes.truncate(at),
        3 => {
            let piece = bytes[at..(at + 16).min(bytes.len())].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => bytes[at] = numbers.below(256) as u8,
    }
}

#[test]
fn changed_files_are_errors_or_hold_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path();
    let mut numbers = Numbers(1);
    for name in ["ck-1", "sliced"] {
        let original = BundleReader::open(golden(name)).unwrap();
        let read = |ending: &str| std::fs::read(golden(&format!("{name}{ending}"))).unwrap();
        let (index, data) = (read(".index"), read(".data-00000-of-00001"));
        let prefix = directory.join(name);
        let file = |ending: &str| directory.join(format!("{name}{ending}"));
        for _ in 0..500 {
            let (mut changed, mut content) = (index.clone(), data.clone());
            let target = if numbers.below(2) == 0 { &mut changed } else { &mut content };
            for _ in 0..=numbers.below(3) {
                mutate(target, &mut numbers);
            }
            std::fs::write(file(".index"), &changed).unwrap();
            std::fs::write(file(".data-00000-of-00001"), &content).unwrap();
            let Ok(reader) = BundleReader::open(&prefix) else { continue };
            for (key, _) in reader.entries() {
                if let Ok(tensor) = reader.read(key) {
                    assert!(same(&tensor, &original.read(key).unwrap()), "{key}");
                }
            }
        }
    }
}

#[test]
fn changed_graphs_of_objects_are_errors_or_graphs() {
    let bytes = BundleReader::open(golden("ck-1")).unwrap().read(OBJECT_GRAPH_KEY).unwrap().strings()[0].to_vec();
    let mut numbers = Numbers(2);
    for _ in 0..20_000 {
        let mut changed = bytes.clone();
        for _ in 0..=numbers.below(3) {
            mutate(&mut changed, &mut numbers);
        }
        if let Ok(graph) = ObjectGraph::parse(&changed) {
            assert_eq!(ObjectGraph::parse(&graph.to_bytes()).unwrap(), graph);
        }
    }
}
