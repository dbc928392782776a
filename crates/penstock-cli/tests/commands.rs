//! The command, as a user calls it.

use std::process::{Command, Output};

use penstock::{Capture, DType, Program, Shape, Tensor, Variable, parse};

/// A folder of one test, which is removed with it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// A program that counts, and one that scales.
    fn program(&self) -> String {
        let mut builder = Program::builder();
        let n = Variable::new("n", DType::I64, Shape::scalar(), Some(Tensor::from(5i64))).unwrap();
        let n = builder.variable(n, true);
        let count = parse(
            "func @count(%by: i64[], %n: var i64[]) -> i64[] {
               assign_add %n, %by
               %now = read_variable %n
               return %now
             }",
        );
        builder.function("count", count.unwrap().function().clone(), &["by"], &["now"], vec![Capture::Variable(n)]);
        let scale = parse(
            "func @scale(%x: f32[s0,2], %by: f32[]) -> f32[s0,2], f32[] {
               %y = mul %x, %by
               %sum = reduce_sum %y
               return %y, %sum
             }",
        );
        let scale = scale.unwrap().function().clone();
        let scale = builder.function("scale", scale, &["x", "by"], &["y", "sum"], Vec::new());
        builder.signature("serving_default", scale);
        let path = self.file("program.penstock");
        builder.finish().unwrap().save(&path).unwrap();
        path
    }
}

fn penstock(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_penstock")).args(arguments).output().unwrap()
}

fn succeeds(arguments: &[&str]) -> String {
    let out = penstock(arguments);
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// What it says where it ends with this status.
fn fails(status: i32, arguments: &[&str]) -> String {
    let out = penstock(arguments);
    assert_eq!(out.status.code(), Some(status), "{arguments:?}: {}", String::from_utf8_lossy(&out.stdout));
    String::from_utf8(out.stderr).unwrap()
}

#[test]
fn info_lists_functions_variables_and_operators() {
    let folder = Folder::new();
    let text = succeeds(&["info", &folder.program()]);
    for part in [
        "signatures: serving_default\n",
        "function count(by: i64[]) -> (now: i64[])\n  with 1 variables and 0 constants\n",
        "function scale(x: f32[s0,2], by: f32[]) -> (y: f32[s0,2], sum: f32[])\n",
        "variable n: var i64[] (8 bytes, trained)\n",
        "assign_add 1, mul 1, read_variable 1, reduce_sum 1\n",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn print_shows_graphs_as_traced_and_as_they_run() {
    let folder = Folder::new();
    let path = folder.program();
    assert!(succeeds(&["print", &path]).contains("reduce_sum"));
    assert!(succeeds(&["print", &path, "count"]).contains("assign_add"));
    assert!(succeeds(&["print", "--optimized", &path, "scale"]).contains("reduce_sum"));
}

#[test]
fn run_takes_values_and_arrays_and_gives_text_or_arrays() {
    let folder = Folder::new();
    let path = folder.program();
    let text = succeeds(&["run", &path, "x=[[1,2],[3,4]]", "by=2.5", "--threads=1"]);
    assert_eq!(text, "y: f32[2,2] [2.5,5,7.5,10]\nsum: f32[] 25\n");
    let out = folder.file("out.npz");
    assert_eq!(succeeds(&["run", &path, "x=[[1,2]]", "by=2", "-o", &out]), "");
    // The results have names that the inputs do not have.
    assert!(fails(1, &["run", &path, "--inputs", &out]).contains("there is no input 'y'"));
    let count = folder.file("count.npy");
    succeeds(&["run", &path, "count", "by=3", "-o", &count]);
    assert_eq!(succeeds(&["run", &path, "count", &format!("by=@{count}")]), "now: i64[] 13\n");
}

#[test]
fn run_saves_variables_where_that_is_asked_for() {
    let folder = Folder::new();
    let (path, saved) = (folder.program(), folder.file("saved.penstock"));
    succeeds(&["run", &path, "count", "by=3", "--save", &saved]);
    assert_eq!(succeeds(&["run", &path, "count", "by=0"]), "now: i64[] 5\n");
    assert_eq!(succeeds(&["run", &saved, "count", "by=0"]), "now: i64[] 8\n");
}

#[test]
fn bench_makes_inputs_up_where_their_sizes_are_known() {
    let folder = Folder::new();
    let path = folder.program();
    let text = succeeds(&["bench", &path, "--size", "s0=8", "--runs", "3"]);
    assert!(text.contains("runs      3\n") && text.contains("median"), "{text}");
    assert!(fails(1, &["bench", &path]).contains("--size s0=N"));
    assert!(fails(2, &["bench", &path, "--runs", "0"]).contains("at least 1"));
}

#[test]
fn convert_goes_from_text_to_program_and_back() {
    let folder = Folder::new();
    let (text, program, back) = (folder.file("f.pst"), folder.file("f.penstock"), folder.file("back.pst"));
    std::fs::write(&text, "func @f(%0 \"x\": f32[2]) -> f32[2] {\n  %1: f32[2] = neg %0\n  return %1\n}\n").unwrap();
    succeeds(&["convert", &text, &program]);
    succeeds(&["convert", &program, &back]);
    assert_eq!(std::fs::read_to_string(&text).unwrap(), std::fs::read_to_string(&back).unwrap());
    assert_eq!(succeeds(&["run", &program, "x=[1,2]"]), "output_0: f32[2] [-1,-2]\n");
    assert!(succeeds(&["verify", &program]).contains("1 functions are ready"));
    assert!(fails(2, &["convert", &text, &folder.file("f.zip")]).contains("neither a .penstock nor a .pst"));
}

#[cfg(all(feature = "onnx", feature = "tf"))]
#[test]
fn convert_writes_what_other_programs_read() {
    let folder = Folder::new();
    let program = folder.program();
    let (model, directory) = (folder.file("f.onnx"), folder.file("saved"));
    succeeds(&["convert", &program, &model]);
    succeeds(&["convert", &program, &directory, "--to", "tensorflow"]);
    let due = succeeds(&["run", &program, "x=[[1,2]]", "by=3"]);
    assert_eq!(succeeds(&["run", &model, "x=[[1,2]]", "by=3"]), due);
    // A SavedModel has its results in the order of their names.
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(lines(&succeeds(&["run", &directory, "x=[[1,2]]", "by=3"])), lines(&due));
    assert!(fails(2, &["convert", &program, &directory, "--to", "caffe"]).contains("--to caffe is unknown"));
}

#[test]
fn what_is_wrong_is_said_with_the_status() {
    let folder = Folder::new();
    let path = folder.program();
    assert!(fails(1, &["info", &folder.file("none.penstock")]).contains("cannot load the program"));
    assert!(fails(1, &["run", &path, "x=[[1,2]]"]).contains("'by'"));
    assert!(fails(1, &["run", &path, "z=1"]).contains("it takes x, by"));
    assert!(fails(1, &["run", &path, "x=[[1,2],[3]]", "by=1"]).contains("differ in length"));
    assert!(fails(1, &["run", &path, "x=[[1,2,3]]", "by=1"]).contains("f32[s0,2]"));
    assert!(fails(1, &["run", &path, "nothing"]).contains("has no function 'nothing'"));
    assert!(fails(2, &["run", &path, "--quick"]).contains("no option --quick"));
    assert!(fails(2, &["run"]).contains("the file is missing"));
    assert!(fails(2, &["walk"]).contains("no command 'walk'"));
    assert!(fails(2, &[]).contains("no command"));
    assert!(succeeds(&["help"]).contains("usage: penstock"));
    // A byte of the weights is changed.
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(fails(1, &["verify", &path]).contains("checksum"));
}
