//! Files of each format that was ever released, in `tests/corpus`: they load, and compute what they did. `BLESS=1` writes the
//! file of the present format where there is none.

use std::path::Path;

use penstock_data::{Bytes, C128, DType, Dim, Shape, Tensor};
use penstock_exec::Variable;
use penstock_format::{Capture, Program};
use penstock_ir::{no_hosts, parse_function};

const TEXT: &str = r#"
func @weigh(%x: f32[s0,4], %w: f32[4,20]) -> f32[s0,20] {
  %y: f32[s0,20] = matmul %x, %w                              ; layers.py:7:12 in weigh
  return %y
}

func @step(%x: f32[s0,4], %n: i64[], %w: var f32[?,20], %steps: var i64[], %names: str[2], %z: c128[2]) -> f32[s0,20], i64[], str[2], c128[2] {
  %bias: f32[20] = const {value=f32[20] [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]}
  %v: f32[?,20] = read_variable %w
  %k: f32[4,20] = ensure_shape %v {shape=[4,20]}
  %y: f32[s0,20] = call %x, %k {func=@weigh}
  %b: f32[s0,20] = add %y, %bias
  %one: i64[] = const {value=i64[] 1}
  assign_add %steps, %one
  %now: i64[] = read_variable %steps
  %large: bool[] = greater %now, %n
  %r: f32[s0,20] = cond %large ({
    %neg: f32[s0,20] = neg %b
    yield %neg
  }, {
    yield %b
  })
  return %r, %now, %names, %z
}
"#;

fn sample() -> Program {
    let function = parse_function(TEXT, &penstock_ops::Ops, &no_hosts).unwrap();
    let mut builder = Program::builder();
    let weights: Vec<f32> = (0..80).map(|i| i as f32 / 8.0).collect();
    let shape = Shape::new([Dim::Unknown, Dim::Known(20)]);
    let w = Tensor::from_slice(&[4, 20], &weights).unwrap();
    let w = builder.variable(Variable::new("net/w", DType::F32, shape, Some(w)).unwrap(), true);
    let steps = Variable::new("steps", DType::I64, Shape::scalar(), Some(Tensor::from(0i64))).unwrap();
    let steps = builder.variable(steps, false);
    let names = Tensor::from_strings(&[2], vec![Bytes::from(*b"\xff"), Bytes::from(*b"")]).unwrap();
    let captures = vec![
        Capture::Variable(w),
        Capture::Variable(steps),
        Capture::Constant(names),
        Capture::Constant(Tensor::vector(&[C128::new(1.0, -0.0), C128::new(0.5, 2.0)])),
    ];
    let f = builder.function("step", function, &["x", "n"], &["y", "steps", "names", "z"], captures);
    builder.signature("serving_default", f);
    builder.text("notes", "a text");
    builder.finish().unwrap()
}

/// What two runs give, as text.
fn runs(program: &Program) -> String {
    let x = Tensor::from_slice(&[1, 4], &[1.0f32, -2.0, 0.5, 3.0]).unwrap();
    let run = || {
        let inputs = [("n", Tensor::from(1i64).into()), ("x", x.clone().into())];
        let out = program.function("serving_default").unwrap().run(&inputs).unwrap();
        out.iter().map(|t| penstock_ir::print_tensor(t, None)).collect::<Vec<_>>().join("\n")
    };
    format!("{}\n{}\n", run(), run())
}

#[test]
fn files_of_every_format_load_and_compute_what_they_did() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let (present, outcome) = (corpus.join("format-1.penstock"), corpus.join("outcome.txt"));
    if std::env::var("BLESS").is_ok_and(|v| v == "1") && !present.exists() {
        std::fs::create_dir_all(&corpus).unwrap();
        sample().save(&present).unwrap();
        std::fs::write(&outcome, runs(&sample())).unwrap();
    }
    let due = std::fs::read_to_string(&outcome).unwrap();
    assert_eq!(runs(&sample()), due);
    let mut files = 0;
    for entry in std::fs::read_dir(&corpus).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "penstock") {
            let program = Program::load(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert_eq!(program.text("notes"), Some("a text"));
            assert_eq!(runs(&program), due, "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 0);
}
