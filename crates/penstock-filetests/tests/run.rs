//! The file tests of `tests/filetests`, one directory a kind.

use std::path::{Path, PathBuf};

use penstock_filetests::{Kind, run_directory};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests")
}

#[test]
fn parse() {
    run_directory(&root().join("parse"));
}

#[test]
fn verify() {
    run_directory(&root().join("verify"));
}

#[test]
fn optimize() {
    run_directory(&root().join("optimize"));
}

#[test]
fn run() {
    run_directory(&root().join("run"));
}

#[test]
fn gradient() {
    run_directory(&root().join("gradient"));
}

#[test]
fn every_test_is_in_the_directory_of_a_kind() {
    for entry in std::fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_test = |path: &Path| path.extension().is_some_and(|e| e == "pst");
        let tests = std::fs::read_dir(&path).into_iter().flatten().flatten().any(|e| is_test(&e.path()));
        assert!(!is_test(&path), "{name} is in no directory of a kind");
        assert!(!tests || Kind::from_name(&name).is_ok(), "there is no kind of test named {name}");
    }
}
