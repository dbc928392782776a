//! Every graph of the file tests goes through a saved program, and comes back as it was.

use std::path::{Path, PathBuf};

use penstock_filetests::{TestFile, hosts, run_tiers};
use penstock_format::Program;
use penstock_ir::{parse_function, require_portable};
use penstock_ops::{Ops, fused};

fn files(directory: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "pst") {
            out.push(path);
        }
    }
}

#[test]
fn graphs_come_back_from_saved_programs_as_they_were() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests"), &mut found);
    found.sort();
    let (mut saved, mut ran) = (0, 0);
    for path in found {
        let Ok(file) = TestFile::parse(&std::fs::read_to_string(&path).unwrap()) else { continue };
        let Ok(function) = parse_function(&file.text, &Ops, &hosts) else { continue };
        let Some(graph) = function.graph() else { continue };
        let made = fused::OPS.iter().any(|op| function.to_text().contains(&format!("= {} ", op.name)));
        if made || require_portable(&function).is_err() {
            continue;
        }
        let numbered = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
        let signature = function.signature();
        let (inputs, outputs) = (numbered(signature.params.len()), numbered(signature.results.len()));
        let names = |list: &[String]| -> Vec<&'static str> {
            list.iter().map(|s| &*Box::leak(s.clone().into_boxed_str())).collect()
        };
        let mut builder = Program::builder();
        builder.function("f", function.clone(), &names(&inputs), &names(&outputs), Vec::new());
        let program = builder.finish().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let bytes = program.to_bytes().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let loaded = Program::from_bytes(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(loaded.to_bytes().unwrap() == bytes, "{}", path.display());
        let back = loaded.at(0).unwrap().function().clone();
        assert_eq!(back.to_text(), function.to_text(), "{}", path.display());
        saved += 1;
        for args in &file.args {
            let describe = |graph| run_tiers(graph, args).map_err(|e| e.to_string());
            assert_eq!(describe(back.graph().unwrap()), describe(graph), "{}", path.display());
            ran += 1;
        }
    }
    assert!(saved > 80 && ran > 50, "{saved} saved, {ran} ran");
}
