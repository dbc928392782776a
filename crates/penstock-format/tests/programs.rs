//! Programs through files: what comes back is what was saved, and what may not run does not.

use std::sync::Arc;

use penstock_data::{Bool8, Bytes, C64, C128, Class, DType, Dim, Result, Shape, Table, Tensor, bf16, f16};
use penstock_exec::{Arg, Place, Variable};
use penstock_format::{Capture, Limits, Loader, Program, SaveOptions};
use penstock_ir::{Function, Locations, no_hosts, parse_function};

fn function(text: &str) -> Arc<Function> {
    parse_function(text, &penstock_ops::OpsAndFiles, &no_hosts).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A program of one function without captures.
fn program(text: &str, inputs: &[&str], outputs: &[&str]) -> Program {
    let mut builder = Program::builder();
    builder.function("f", function(text), inputs, outputs, Vec::new());
    builder.finish().unwrap()
}

/// Maps a file that nobody else knows.
#[expect(unsafe_code, reason = "mapping")]
fn mapped(loader: &Loader, path: &std::path::Path) -> Result<Program> {
    // SAFETY: the name of the file is that of one test of this process, which does not write to it while it is mapped.
    unsafe { loader.load_mapped(path) }
}

fn again(program: &Program) -> Program {
    let bytes = program.to_bytes().unwrap();
    let loaded = Program::from_bytes(&bytes).unwrap();
    assert!(loaded.to_bytes().unwrap() == bytes, "saved again the bytes differ");
    loaded
}

fn same(a: &Tensor, b: &Tensor) -> bool {
    (a.dtype(), a.dims(), a.strings()) == (b.dtype(), b.dims(), b.strings()) && a.bytes() == b.bytes()
}

fn every_dtype() -> Vec<Tensor> {
    vec![
        Tensor::vector(&[Bool8::new(true), Bool8::new(false), Bool8::new(true)]),
        Tensor::vector(&[i8::MIN, 1]),
        Tensor::vector(&[i16::MIN, 1]),
        Tensor::vector(&[i32::MIN, 1]),
        Tensor::from_slice(&[2, 1], &[i64::MIN, 1]).unwrap(),
        Tensor::vector(&[u8::MAX]),
        Tensor::vector(&[u16::MAX]),
        Tensor::vector(&[u32::MAX]),
        Tensor::vector(&[u64::MAX]),
        Tensor::vector(&[f16::NAN, f16::NEG_ZERO]),
        Tensor::vector(&[bf16::from_bits(0xffff)]),
        Tensor::vector(&(0..100).map(|i| i as f32 / 7.0).collect::<Vec<_>>()),
        Tensor::from(f64::from_bits(0x7ff0_0000_0000_0001)),
        Tensor::vector(&[C64::new(-0.0, f32::NAN)]),
        Tensor::from_slice(&[1, 2], &[C128::new(1e300, -0.0), C128::new(0.5, f64::NAN)]).unwrap(),
        Tensor::zeros(DType::F32, &[3, 0, 2]).unwrap(),
        Tensor::from_strings(&[2, 1], vec![Bytes::from(*b"\xff\"\n"), Bytes::from(*b"")]).unwrap(),
        Tensor::from_strings(&[], vec![Bytes::from([7; 200])]).unwrap(),
        Tensor::from_strings(&[0, 4], vec![]).unwrap(),
    ]
}

#[test]
fn variables_and_captured_constants_of_every_dtype_keep_their_bits() {
    let mut builder = Program::builder();
    let tensors = every_dtype();
    for (i, t) in tensors.iter().enumerate() {
        let ty = format!("{}{}", t.dtype(), Shape::known(t.dims()));
        let f = function(&format!(
            "func @f(%v: var {ty}, %c: {ty}) -> {ty}, {ty} {{\n %r = read_variable %v\n return %r, %c\n}}"
        ));
        let v = Variable::new(&format!("v{}", i % 3), t.dtype(), Shape::known(t.dims()), Some(t.clone())).unwrap();
        let v = builder.variable(v, i % 2 == 0);
        builder.function(
            "f",
            f,
            &[],
            &["variable", "constant"],
            vec![Capture::Variable(v), Capture::Constant(t.clone())],
        );
    }
    let loaded = again(&builder.finish().unwrap());
    for (i, t) in tensors.iter().enumerate() {
        let out = loaded.at(i).unwrap().run(&[]).unwrap();
        assert!(same(&out[0], t) && same(&out[1], t), "{t:?} became {out:?}");
        assert_eq!(loaded.variables()[i].trainable, i % 2 == 0);
        assert_eq!(loaded.variables()[i].variable.name(), format!("v{}", i % 3));
    }
}

fn table_of(keys: &Tensor, values: &Tensor) -> Tensor {
    let mut table = Table::new(keys.dtype(), &keys.dims()[1..], values.dtype(), &values.dims()[1..]);
    table.insert(keys, values).unwrap();
    Tensor::from_table(table)
}

#[test]
fn a_program_with_tables_finds_and_inserts_after_loading() {
    let words = Tensor::from_strings(&[2], vec![Bytes::from(*b"a"), Bytes::from(*b"b")]).unwrap();
    let constant = table_of(&words, &Tensor::vector(&[10i64, 20]));
    let rows = Tensor::from_slice(&[2, 2], &[1i32, 2, 3, 4]).unwrap();
    let held = table_of(&rows, &Tensor::vector(&[0.5f32, 1.5]));
    let mut builder = Program::builder();
    let v = Variable::new("table", DType::Resource, Shape::known(&[]), Some(held)).unwrap();
    let v = builder.variable(v, false);
    let find = "func @f(%k: str[?], %d: i64[], %t: resource[]) -> i64[?] {
           %r = table_find %t, %k, %d
           return %r
         }";
    let captures = || vec![Capture::Constant(constant.clone())];
    builder.function("find", function(find), &["k", "d"], &["r"], captures());
    builder.function("again", function(find), &["k", "d"], &["r"], captures());
    let put = "func @g(%k: i32[?,2], %x: f32[?], %v: var resource[]) -> i64[], f32[?] {
           table_insert %v, %k, %x {key_rank=1}
           %t = read_variable %v
           %n = table_size %t
           %d = const {value=f32[] -1}
           %r = table_find %t, %k, %d {key_rank=1}
           return %n, %r
         }";
    builder.function("put", function(put), &["k", "x"], &["n", "r"], vec![Capture::Variable(v)]);
    let loaded = again(&builder.finish().unwrap());
    let words = Tensor::from_strings(&[2], vec![Bytes::from(*b"b"), Bytes::from(*b"z")]).unwrap();
    for i in 0..2 {
        let found =
            loaded.at(i).unwrap().run(&[("k", words.clone().into()), ("d", Tensor::scalar(-1i64).into())]).unwrap();
        assert_eq!(found[0], Tensor::vector(&[20i64, -1]));
    }
    let keys = Tensor::from_slice(&[2, 2], &[3i32, 4, 5, 6]).unwrap();
    let out = loaded.at(2).unwrap().run(&[("k", keys.into()), ("x", Tensor::vector(&[7.0f32, 8.0]).into())]).unwrap();
    assert_eq!((&out[0], &out[1]), (&Tensor::scalar(3i64), &Tensor::vector(&[7.0f32, 8.0])));
}

#[test]
fn large_constants_stand_once_beside_the_text_and_small_ones_in_it() {
    let values: Vec<String> = (0..100).map(|i| format!("{i}.5")).collect();
    let text = format!(
        "func @f() -> f32[100], f32[100], f32[2] {{
           %a = const {{value=f32[100] [{0}]}}
           %b = const {{value=f32[100] [{0}]}}
           %c = const {{value=f32[2] [1,2]}}
           return %a, %b, %c
         }}",
        values.join(",")
    );
    let program = program(&text, &[], &["a", "b", "c"]);
    let bytes = program.to_bytes().unwrap();
    let header = String::from_utf8_lossy(&bytes[..bytes.len() - 400]);
    assert_eq!(header.matches("f32[100] from \\\\\\\"constants/0\\\\\\\"").count(), 0);
    assert_eq!(header.matches("f32[100] from").count(), 2, "{header}");
    assert!(header.contains("f32[2] [1,2]") && !header.contains("constants/1"), "{header}");
    assert_eq!(bytes.len() % 64, 400 % 64);
    let (a, b) =
        (program.function("f").unwrap().run(&[]).unwrap(), again(&program).function("f").unwrap().run(&[]).unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| same(a, b)));
}

#[test]
fn variables_without_a_value_and_of_unknown_shape_come_back_so() {
    let mut builder = Program::builder();
    let open = Shape::new([Dim::Unknown, Dim::Known(2)]);
    let some = Tensor::zeros(DType::F32, &[3, 2]).unwrap();
    builder.variable(Variable::new("empty", DType::I32, Shape::UNRANKED, None).unwrap(), true);
    builder.variable(Variable::new("open", DType::F32, open.clone(), Some(some)).unwrap(), false);
    let loaded = again(&builder.finish().unwrap());
    let (empty, found) = (loaded.variable("empty").unwrap(), loaded.variable("open").unwrap());
    assert!(!empty.is_initialized() && empty.shape().rank().is_none());
    assert_eq!((found.shape(), found.read().unwrap().dims()), (&open, &[3, 2][..]));
    assert!(loaded.variable("other").unwrap_err().to_string().contains("it has empty, open"));
}

const COUNT: &str = "func @count(%by: i64[], %n: var i64[]) -> i64[] {
  assign_add %n, %by
  %now = read_variable %n
  return %now
}";

fn counter() -> Program {
    let mut builder = Program::builder();
    let n = Variable::new("n", DType::I64, Shape::scalar(), Some(Tensor::from(5i64))).unwrap();
    let n = builder.variable(n, false);
    let f = builder.function("count", function(COUNT), &["by"], &["total"], vec![Capture::Variable(n)]);
    builder.signature("serve", f);
    builder.text("notes", "of my own\u{0}\"");
    builder.finish().unwrap()
}

fn count(program: &Program, by: i64) -> i64 {
    let out = program.function("serve").unwrap().run(&[("by", Tensor::from(by).into())]).unwrap();
    out[0].item().unwrap()
}

#[test]
fn functions_are_called_by_names() {
    let program = again(&counter());
    assert_eq!(program.functions().collect::<Vec<_>>(), ["count"]);
    assert_eq!(program.signatures().collect::<Vec<_>>(), ["serve"]);
    assert_eq!(program.text("notes"), Some("of my own\u{0}\""));
    assert_eq!(format!("{:?}", program.function("serve").unwrap()), "count(by: i64[]) -> (total: i64[])");
    assert_eq!((count(&program, 2), count(&program, 3)), (7, 10));
    let serve = program.function("serve").unwrap();
    let one = || Arg::Tensor(Tensor::from(1i64));
    for (args, said) in [
        (vec![], "argument 'by': must be given to 'count'"),
        (vec![("by", one()), ("by", one())], "argument 'by': is given twice"),
        (vec![("x", one())], "argument 'x': 'count' takes by"),
    ] {
        assert_eq!(serve.run(&args).unwrap_err().to_string(), said);
    }
    let error = program.function("other").unwrap_err();
    assert_eq!(error.to_string(), "the program has no function 'other'; it has serve, count");
    assert_eq!(serve.run(&[("by", Tensor::from(1i32).into())]).unwrap_err().class(), Class::DType);
}

#[test]
fn a_fork_has_variables_of_its_own() {
    let program = counter();
    let fork = program.fork().unwrap();
    assert_eq!((count(&program, 1), count(&program, 1), count(&fork, 10)), (6, 7, 15));
    assert_eq!(count(&program.clone(), 1), 8);
}

#[test]
fn a_program_runs_with_as_many_threads_as_it_may() {
    let values: Vec<f32> = (0..1 << 20).map(|i| i as f32).collect();
    let x = Tensor::vector(&values);
    let text = "func @f(%x: f32[s0]) -> f32[s0] {\n %y = exp %x\n %z = cumsum %y\n return %z\n}";
    let all = program(text, &["x"], &["y"]);
    let run = |p: &Program| p.function("f").unwrap().run(&[("x", x.clone().into())]).unwrap();
    let one = Loader::new().threads(1).from_bytes(&all.to_bytes().unwrap()).unwrap();
    assert!(same(&run(&all)[0], &run(&one)[0]) && same(&run(&all)[0], &run(&all.with_threads(2))[0]));
}

#[test]
fn runs_from_many_threads_do_not_differ() {
    let text = "func @f(%x: f32[s0]) -> f32[] {\n %y = sin %x\n %z = reduce_sum %y {axes=[0]}\n return %z\n}";
    let program = again(&program(text, &["x"], &["y"]));
    let run = |n: usize| {
        let x = Tensor::vector(&(0..n).map(|i| i as f32).collect::<Vec<_>>());
        program.function("f").unwrap().run(&[("x", x.into())]).unwrap()[0].item::<f32>().unwrap().to_bits()
    };
    let due: Vec<u32> = (1..9).map(run).collect();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..200).for_each(|i| assert_eq!(run(1 + i % 8), due[i % 8])));
        }
    });
}

#[test]
fn loaded_programs_reach_no_files_unless_they_may() {
    let text = "func @f(%x: f32[]) {\n print %x {stream=\"file:///tmp/never\"}\n return\n}";
    let bytes = program(text, &["x"], &[]).to_bytes().unwrap();
    let error = Program::from_bytes(&bytes).unwrap_err();
    assert_eq!(error.class(), Class::FailedPrecondition);
    assert!(error.to_string().contains("section 'penstock.program' of the program: 2:3: "), "{error}");
    assert!(Loader::new().files(true).from_bytes(&bytes).is_ok());
}

#[test]
fn programs_beyond_a_limit_are_refused() {
    let text = "func @f(%x: f32[], %c: bool[]) -> f32[] {
      %y: f32[] = cond %c ({\n %z = neg %x\n yield %z\n }, {\n yield %x\n })
      return %y
    }";
    let bytes = program(text, &["x", "c"], &["y"]).to_bytes().unwrap();
    let load = |limits| Loader::new().limits(limits).from_bytes(&bytes);
    assert!(load(Limits { bytes: bytes.len() as u64, instructions: 2, nesting: 2 }).is_ok());
    for (limits, said) in [
        (Limits { bytes: 100, ..Limits::NONE }, "bytes, allowed are 100"),
        (Limits { instructions: 1, ..Limits::NONE }, "a program of 2 instructions, allowed are 1"),
        (Limits { nesting: 1, ..Limits::NONE }, "a program of 2 nested regions, allowed are 1"),
    ] {
        let error = load(limits).unwrap_err();
        assert_eq!(error.class(), Class::ResourceExhausted);
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn what_cannot_be_saved_is_refused_and_says_why() {
    let refused = |text: &str, inputs: &[&str], captures: Vec<Capture>| -> String {
        let mut builder = Program::builder();
        builder.function("f", function(text), inputs, &["y"], captures);
        builder.finish().and_then(|p| p.to_bytes()).map(drop).unwrap_err().to_string()
    };
    let identity = "func @f(%x: f32[]) -> f32[] {\n return %x\n}";
    assert_eq!(
        refused(identity, &["x", "y"], vec![]),
        "function 'f': its graph takes 1 values and gives 1, named are 2 arguments, 0 captures and 1 outputs"
    );
    assert_eq!(
        refused(identity, &[], vec![Capture::Constant(Tensor::from(1i32))]),
        "function 'f': takes a f32[] from outside, given is a i32[]"
    );
    assert_eq!(refused(identity, &[], vec![Capture::Variable(0)]), "function 'f': there is no variable 0");
    assert_eq!(refused("func @f() -> f32[]", &[], vec![]), "function 'f': has no graph");
    let fused =
        "func @f(%x: f32[]) -> f32[] {\n %y = fused %x ((%z: f32[]) {\n %n = neg %z\n yield %n\n })\n return %y\n}";
    assert_eq!(refused(fused, &["x"], vec![]), "fused: is made by the optimiser, and cannot be saved");
}

#[test]
fn a_file_is_replaced_as_a_whole_and_nothing_else_is_left() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path();
    let path = directory.join("model.penstock");
    let program = counter();
    program.save(&path)?;
    let first = std::fs::read(&path).unwrap();
    assert!(first == program.to_bytes()?);
    assert_eq!(count(&Program::load(&path)?, 1), 6);
    // Two that save at a time: one of them is there, whole.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| program.save(&path).unwrap()));
        }
        (0..40).for_each(|_| assert!(std::fs::read(&path).unwrap() == first));
    });
    let names: Vec<_> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["model.penstock"]);
    assert_eq!(program.save(directory.join("none/model.penstock")).unwrap_err().class(), Class::NotFound);
    assert_eq!(Program::load(directory.join("none")).unwrap_err().class(), Class::NotFound);
    assert_eq!(Program::load(directory).unwrap_err().class(), Class::FailedPrecondition);
    Ok(())
}

#[test]
fn directories_of_the_source_are_kept_only_where_that_is_asked_for() {
    let text = "func @f(%x: f32[]) -> f32[] {\n %y = neg %x ; /home/me/net.py:3:1\n return %y\n}";
    let program = program(text, &["x"], &["y"]);
    let holds = |bytes: &[u8], what: &str| bytes.windows(what.len()).any(|w| w == what.as_bytes());
    let bytes = program.to_bytes().unwrap();
    assert!(holds(&bytes, "net.py:3:1") && !holds(&bytes, "/home"));
    let with = |locations| program.to_bytes_with(SaveOptions { locations }).unwrap();
    assert!(holds(&with(Locations::Full), "/home/me/net.py:3:1") && !holds(&with(Locations::None), "net.py"));
}

#[test]
fn a_mapped_program_holds_what_the_file_holds_and_outlives_its_name() {
    let mut builder = Program::builder();
    let tensors = every_dtype();
    for t in &tensors {
        let ty = format!("{}{}", t.dtype(), Shape::known(t.dims()));
        let f = function(&format!("func @f(%c: {ty}) -> {ty} {{\n return %c\n}}"));
        builder.function("f", f, &[], &["constant"], vec![Capture::Constant(t.clone())]);
    }
    let program = builder.finish().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.penstock");
    program.save(&path).unwrap();
    let loaded = mapped(&Loader::new(), &path).unwrap();
    assert!(loaded.to_bytes().unwrap() == program.to_bytes().unwrap());
    // A new file takes the place of the old one, which stays as long as it is mapped.
    counter().save(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for (i, t) in tensors.iter().enumerate() {
        assert!(same(&loaded.fork().unwrap().at(i).unwrap().run(&[]).unwrap()[0], t));
    }
}

#[test]
fn a_mapped_variable_is_changed_in_memory_and_not_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.penstock");
    let mut builder = Program::builder();
    let value = Tensor::vector(&vec![1.0f32; 1000]);
    let v = Variable::new("v", DType::F32, Shape::known(&[1000]), Some(value.clone())).unwrap();
    let v = builder.variable(v, true);
    let f = function(
        "func @f(%x: f32[1000], %v: var f32[1000]) -> f32[1000] {
           assign_add %v, %x
           %r = read_variable %v
           return %r
         }",
    );
    builder.function("f", f, &["x"], &["y"], vec![Capture::Variable(v)]);
    builder.finish().unwrap().save(&path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let loaded = mapped(&Loader::new(), &path).unwrap();
    let out = loaded.default_function().unwrap().run(&[("x", Arg::Tensor(value))]).unwrap();
    assert_eq!(out[0].as_slice::<f32>(), vec![2.0f32; 1000]);
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn a_mapped_file_that_is_damaged_or_too_large_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.penstock");
    let bytes = counter().to_bytes().unwrap();
    for (changed, message) in [
        (&bytes[..bytes.len() - 1], "tells of"),
        (&bytes[..20], "no Penstock program"),
        (&[&bytes[..60], b"?", &bytes[61..]].concat()[..], "checksum"),
        (&[][..], ""),
    ] {
        std::fs::write(&path, changed).unwrap();
        let error = mapped(&Loader::new(), &path).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    std::fs::write(&path, &bytes).unwrap();
    let limits = Limits { bytes: 10, ..Limits::NONE };
    assert_eq!(mapped(&Loader::new().limits(limits), &path).unwrap_err().class(), Class::ResourceExhausted);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(mapped(&Loader::new(), &path).unwrap_err().class(), Class::NotFound);
}

#[test]
fn the_function_that_no_name_is_needed_for() {
    assert_eq!(counter().default_function().unwrap().name(), "count");
    let text = "func @f(%x: f32[]) -> f32[] {\n return %x\n}";
    assert_eq!(program(text, &["x"], &["y"]).default_function().unwrap().name(), "f");
    let several = |signatures: &[(&str, usize)]| {
        let mut builder = Program::builder();
        for name in ["a", "b", "c"] {
            builder.function(name, function(text), &["x"], &["y"], Vec::new());
        }
        signatures.iter().for_each(|(name, index)| builder.signature(name, *index));
        builder.finish().unwrap()
    };
    let named = several(&[("other", 0), ("serving_default", 1)]);
    assert_eq!(named.default_function().unwrap().name(), "b");
    assert_eq!(several(&[]).default_function().unwrap_err().class(), Class::NotFound);
}

#[test]
fn results_are_written_to_memory_of_the_caller() {
    let f = program("func @f(%x: f32[s0]) -> f32[s0] {\n %y = add %x, %x\n return %y\n}", &["x"], &["y"]);
    let x = Arg::Tensor(Tensor::vector(&[1.0f32, 2.0]));
    let mut y = [0.0f32; 2];
    f.at(0).unwrap().run_into(&[("x", x.clone())], &mut [Place::new(&[2], &mut y).unwrap()]).unwrap();
    assert_eq!(y, [2.0, 4.0]);
    let error = f.at(0).unwrap().run_into(&[("x", x)], &mut []).unwrap_err();
    assert_eq!(error.class(), Class::InvalidArgument);
}
