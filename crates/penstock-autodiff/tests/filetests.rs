//! Gradient graphs in the text form: each file in `tests/filetests/grad` holds a function, a line
//! `# =>`, and its forward and backward functions. `BLESS=1` rewrites what is below the line.

use std::fs;
use std::path::PathBuf;

use penstock_autodiff::vjp_function;
use penstock_ir::{no_hosts, parse_function};
use penstock_ops::Ops;

const LINE: &str = "# =>\n";

fn transformed(text: &str) -> String {
    let function = match parse_function(text, &Ops, &no_hosts) {
        Ok(function) => function,
        Err(e) => return format!("error: {e:?}\n"),
    };
    let signature = function.signature();
    let (needed, flowing) = (vec![true; signature.params.len()], vec![true; signature.results.len()]);
    match vjp_function(&function, &needed, &flowing) {
        Err(e) => format!("error: {e}\n"),
        Ok(pair) => {
            let backward = pair.backward.as_ref().map_or("# No cotangent.\n".into(), |f| f.to_text());
            format!("# Kept: {:?}\n\n{}\n{backward}", pair.residuals, pair.forward(&function).to_text())
        }
    }
}

#[test]
fn gradient_graphs_are_as_expected() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/grad");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let (source, expected) = text.split_once(LINE).unwrap_or((&text, ""));
        let got = transformed(source);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&file, format!("{source}{LINE}{got}")).unwrap();
        } else if got != expected {
            wrong.push(format!("{}:\n{got}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
