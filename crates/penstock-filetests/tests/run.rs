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
fn grad() {
    run_directory(&root().join("grad"));
}

#[test]
fn every_directory_is_of_a_kind() {
    for entry in std::fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(!path.is_dir() || Kind::from_name(&name).is_ok(), "{name}");
    }
}
