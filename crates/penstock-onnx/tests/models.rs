//! Models that are put together here: no file of another program is needed.

use penstock_data::{Class, DType, Tensor};
use penstock_onnx::{Model, Options};
use penstock_wire::{put_bytes, put_fixed32, put_message, put_number, put_text};

/// An attribute of a node.
enum Attr<'a> {
    Int(i64),
    Ints(&'a [i64]),
    Float(f32),
    Text(&'a str),
}

type Node<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a [(&'a str, Attr<'a>)]);

fn attribute(out: &mut Vec<u8>, name: &str, value: &Attr<'_>) {
    put_text(out, 1, name);
    match value {
        Attr::Int(n) => {
            put_number(out, 3, *n as u64);
            put_number(out, 20, 2);
        }
        Attr::Ints(list) => {
            // Each with its tag, as zeros count.
            for n in *list {
                penstock_wire::put_varint(out, 8 << 3);
                penstock_wire::put_varint(out, *n as u64);
            }
            put_number(out, 20, 7);
        }
        Attr::Float(x) => {
            put_fixed32(out, 2, x.to_bits());
            put_number(out, 20, 1);
        }
        Attr::Text(text) => {
            put_bytes(out, 4, text.as_bytes());
            put_number(out, 20, 3);
        }
    }
}

/// The extents of a value whose shape the model does not give, and an extent with a question mark for a name.
const NO_SHAPE: &[i64] = &[i64::MIN];
const NAMELESS: i64 = -2;

/// A value of a graph: its name, dtype and extents, of which -1 is one of unknown size.
fn value_info(out: &mut Vec<u8>, name: &str, dtype: u64, dims: &[i64]) {
    put_text(out, 1, name);
    put_message(out, 2, |out| {
        put_message(out, 1, |out| {
            put_number(out, 1, dtype);
            if dims == NO_SHAPE {
                return;
            }
            put_message(out, 2, |out| {
                for &dim in dims {
                    put_message(out, 1, |out| match dim {
                        NAMELESS => put_text(out, 2, "?"),
                        n if n < 0 => put_text(out, 2, "n"),
                        n => put_number(out, 1, n as u64),
                    });
                }
            });
        });
    });
}

fn tensor(out: &mut Vec<u8>, name: &str, dims: &[i64], values: &[f32]) {
    dims.iter().for_each(|&d| put_number(out, 1, d as u64));
    put_number(out, 2, 1);
    put_text(out, 8, name);
    put_bytes(out, 9, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
}

struct Parts<'a> {
    nodes: &'a [Node<'a>],
    inputs: &'a [(&'a str, u64, &'a [i64])],
    weights: &'a [(&'a str, &'a [i64], &'a [f32])],
    outputs: &'a [&'a str],
}

fn model(parts: &Parts<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, 1, 10);
    put_message(&mut out, 8, |out| put_number(out, 2, 21));
    put_message(&mut out, 7, |out| {
        for (op, inputs, outputs, attributes) in parts.nodes {
            put_message(out, 1, |out| {
                inputs.iter().for_each(|name| put_bytes(out, 1, name.as_bytes()));
                outputs.iter().for_each(|name| put_bytes(out, 2, name.as_bytes()));
                put_text(out, 4, op);
                attributes.iter().for_each(|(name, value)| put_message(out, 5, |out| attribute(out, name, value)));
            });
        }
        put_text(out, 2, "g");
        parts
            .weights
            .iter()
            .for_each(|(name, dims, values)| put_message(out, 5, |out| tensor(out, name, dims, values)));
        parts
            .inputs
            .iter()
            .for_each(|(name, dtype, dims)| put_message(out, 11, |out| value_info(out, name, *dtype, dims)));
        parts.outputs.iter().for_each(|name| put_message(out, 12, |out| put_text(out, 1, name)));
    });
    out
}

/// `softmax(x w + b)`.
fn dense() -> Vec<u8> {
    model(&Parts {
        nodes: &[
            ("Gemm", &["x", "w", "b"], &["h"], &[("alpha", Attr::Float(1.0))]),
            ("Softmax", &["h"], &["y"], &[("axis", Attr::Int(-1))]),
        ],
        inputs: &[("x", 1, &[-1, 2])],
        weights: &[("w", &[2, 2], &[1.0, 0.0, 0.0, 1.0]), ("b", &[2], &[0.0, 1.0])],
        outputs: &["y"],
    })
}

#[test]
fn a_dense_layer_runs_for_every_size_of_batch() {
    let model = Model::from_bytes(&dense()).unwrap();
    assert_eq!(model.inputs()[0].ty.as_ref().unwrap().to_string(), "f32[s0,2]");
    for rows in [1, 3] {
        let y = model.run(&[Tensor::zeros(DType::F32, &[rows, 2]).unwrap()]).unwrap();
        assert_eq!(y[0].dims(), [rows, 2]);
        assert!((y[0].as_slice::<f32>()[1] - 0.731_058_6).abs() < 1e-6);
    }
}

#[test]
fn weights_become_variables_on_demand_and_the_program_is_saved() {
    let model = Model::from_bytes(&dense()).unwrap();
    let program = model.program(&Options { variables: true, ..Options::default() }).unwrap();
    assert_eq!(program.variables().len(), 2);
    let loaded = penstock_format::Program::from_bytes(&program.to_bytes().unwrap()).unwrap();
    assert_eq!(loaded.variable("b").unwrap().read().unwrap().as_slice::<f32>(), [0.0, 1.0]);
}

#[test]
fn an_input_that_gives_axes_makes_a_program_for_each_value() {
    let bytes = model(&Parts {
        nodes: &[("ReduceSum", &["x", "axes"], &["y"], &[("keepdims", Attr::Int(0))])],
        inputs: &[("x", 1, &[2, 3]), ("axes", 7, &[1])],
        weights: &[],
        outputs: &["y"],
    });
    let model = Model::from_bytes(&bytes).unwrap();
    let x = Tensor::from_slice(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    for (axis, due) in [(0i64, &[5f32, 7.0, 9.0][..]), (-1, &[6.0, 15.0])] {
        assert_eq!(model.run(&[x.clone(), Tensor::vector(&[axis])]).unwrap()[0].as_slice::<f32>(), due);
    }
    let error = model.program(&Options::default()).unwrap_err();
    assert_eq!(error.class(), Class::FailedPrecondition);
    assert!(error.message().ends_with("give values for the inputs: axes"), "{error}");
}

#[test]
fn a_shape_computed_from_extents_stays_symbolic() {
    let bytes = model(&Parts {
        nodes: &[
            ("Shape", &["x"], &["s"], &[("start", Attr::Int(0)), ("end", Attr::Int(1))]),
            ("Constant", &[], &["rest"], &[("value_ints", Attr::Ints(&[2, 3]))]),
            ("Concat", &["s", "rest"], &["to"], &[("axis", Attr::Int(0))]),
            ("Reshape", &["x", "to"], &["y"], &[]),
        ],
        inputs: &[("x", 1, &[-1, 6])],
        weights: &[],
        outputs: &["y"],
    });
    let program = Model::from_bytes(&bytes).unwrap().program(&Options::default()).unwrap();
    assert_eq!(program.at(0).unwrap().outputs().next().unwrap().1.to_string(), "f32[s0,2,3]");
}

#[test]
fn extents_without_a_name_are_not_equal() {
    let nodes: &[Node<'_>] = &[("Identity", &["x"], &["y"], &[])];
    let inputs = &[("x", 1, &[NAMELESS, NAMELESS, -1, -1][..])];
    let bytes = model(&Parts { nodes, inputs, weights: &[], outputs: &["y"] });
    let program = Model::from_bytes(&bytes).unwrap().program(&Options::default()).unwrap();
    assert_eq!(program.at(0).unwrap().inputs().next().unwrap().1.to_string(), "f32[s0,s1,s2,s2]");
}

#[test]
fn a_zero_keeps_an_extent_of_what_has_an_unknown_rank() {
    let bytes = model(&Parts {
        nodes: &[("Reshape", &["x", "to"], &["y"], &[])],
        inputs: &[("x", 1, NO_SHAPE), ("to", 7, &[2])],
        weights: &[],
        outputs: &["y"],
    });
    let model = Model::from_bytes(&bytes).unwrap();
    let x = Tensor::from_slice(&[2, 1, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    for (to, due) in [([0i64, -1], [2, 3]), ([3, 2], [3, 2]), ([-1, 0], [6, 1])] {
        assert_eq!(model.run(&[x.clone(), Tensor::vector(&to)]).unwrap()[0].dims(), due);
    }
}

#[test]
fn a_zero_that_stands_beside_what_is_computed_keeps_an_extent() {
    let bytes = model(&Parts {
        nodes: &[
            ("Shape", &["x"], &["s"], &[("start", Attr::Int(1)), ("end", Attr::Int(2))]),
            ("Constant", &[], &["zero"], &[("value_ints", Attr::Ints(&[0]))]),
            ("Concat", &["zero", "s", "zero"], &["to"], &[("axis", Attr::Int(0))]),
            ("Reshape", &["x", "to"], &["y"], &[]),
        ],
        inputs: &[("x", 1, &[NAMELESS, NAMELESS, NAMELESS])],
        weights: &[],
        outputs: &["y"],
    });
    let x = Tensor::from_slice(&[2, 1, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    assert_eq!(Model::from_bytes(&bytes).unwrap().run(&[x]).unwrap()[0].dims(), [2, 1, 3]);
}

/// Two images with two classes and three boxes, of which the first two overlap; no size is known beforehand.
#[test]
fn boxes_that_overlap_are_left_out_by_image_and_class() {
    let bytes = |center: i64, inputs: &[&str]| {
        model(&Parts {
            nodes: &[("NonMaxSuppression", inputs, &["y"], &[("center_point_box", Attr::Int(center))])],
            inputs: &[("boxes", 1, &[-1, NAMELESS, 4]), ("scores", 1, &[-1, NAMELESS, NAMELESS]), ("most", 7, &[1])],
            weights: &[("overlap", &[1], &[0.5])],
            outputs: &["y"],
        })
    };
    let image = [0.0f32, 0.0, 2.0, 4.0, 0.0, 0.2, 2.0, 4.2, 5.0, 5.0, 6.0, 6.0];
    let boxes = Tensor::from_slice(&[2, 3, 4], &[image, image].concat()).unwrap();
    let centres = [1.0f32, 2.0, 2.0, 4.0, 1.0, 2.2, 2.0, 4.0, 5.5, 5.5, 1.0, 1.0];
    let centres = Tensor::from_slice(&[2, 3, 4], &[centres, centres].concat()).unwrap();
    let scores = [0.9f32, 0.8, 0.7, 0.1, 0.2, 0.3, -0.5, -0.6, -0.7, 0.5, 0.5, 0.5];
    let scores = Tensor::from_slice(&[2, 2, 3], &scores).unwrap();
    let run = |bytes: &[u8], boxes: &Tensor, most: i64| {
        let inputs = [boxes.clone(), scores.clone(), Tensor::vector(&[most])];
        Model::from_bytes(bytes).unwrap().run(&inputs).unwrap().remove(0)
    };
    let kept = [[0i64, 0, 0], [0, 0, 2], [0, 1, 2], [0, 1, 1], [1, 0, 0], [1, 0, 2], [1, 1, 0], [1, 1, 2]];
    for (center, boxes) in [(0, &boxes), (1, &centres)] {
        let model = bytes(center, &["boxes", "scores", "most", "overlap"]);
        assert_eq!(run(&model, boxes, i64::MAX).as_slice::<i64>(), kept.as_flattened());
        let best = run(&model, boxes, 1);
        assert_eq!((best.dims(), &best.as_slice::<i64>()[..6]), (&[4usize, 3][..], &[0, 0, 0, 0, 1, 2][..]));
        assert_eq!(run(&model, boxes, 0).dims(), [0, 3]);
    }
    // Without a number nothing is kept.
    assert_eq!(run(&bytes(0, &["boxes", "scores"]), &boxes, 3).dims(), [0, 3]);
}

#[test]
fn texts_are_split_into_rows_of_equal_length() {
    let bytes = model(&Parts {
        nodes: &[("StringSplit", &["x"], &["y", "n"], &[("delimiter", Attr::Text(","))])],
        inputs: &[("x", 8, &[-1, NAMELESS])],
        weights: &[],
        outputs: &["y", "n"],
    });
    let model = Model::from_bytes(&bytes).unwrap();
    let texts = |words: &[&str]| words.iter().map(|w| w.as_bytes().to_vec().into()).collect::<Vec<_>>();
    let given = Tensor::from_strings(&[2, 2], texts(&["a,b,c", "", "d", "e,f"])).unwrap();
    let results = model.run(&[given]).unwrap();
    let due = texts(&["a", "b", "c", "", "", "", "d", "", "", "e", "f", ""]);
    assert_eq!((results[0].dims(), results[0].strings()), (&[2usize, 2, 3][..], &due[..]));
    assert_eq!((results[1].dims(), results[1].as_slice::<i64>()), (&[2usize, 2][..], &[3i64, 1, 1, 2][..]));
    let nothing = model.run(&[Tensor::from_strings(&[0, 2], vec![]).unwrap()]).unwrap();
    assert_eq!((nothing[0].dims(), nothing[1].dims()), (&[0usize, 2, 0][..], &[0usize, 2][..]));
}

#[test]
fn an_error_names_every_operator_in_the_way() {
    let bytes = model(&Parts {
        nodes: &[
            ("Abracadabra", &["x"], &["a"], &[]),
            ("Simsalabim", &["a"], &["b"], &[("mode", Attr::Text("m"))]),
            ("Abracadabra", &["b"], &["y"], &[]),
        ],
        inputs: &[("x", 1, &[1])],
        weights: &[],
        outputs: &["y"],
    });
    let error = Model::from_bytes(&bytes).unwrap_err();
    assert_eq!(error.class(), Class::Unimplemented);
    let due = "ai.onnx.Abracadabra (version 21): 2, ai.onnx.Simsalabim (version 21): 1";
    assert!(error.message().ends_with(due), "{error}");
}

#[test]
fn an_error_in_a_node_names_it() {
    let bytes = model(&Parts {
        nodes: &[("Add", &["x", "missing"], &["y"], &[])],
        inputs: &[("x", 1, &[1])],
        weights: &[],
        outputs: &["y"],
    });
    let error = Model::from_bytes(&bytes).unwrap().program(&Options::default()).unwrap_err();
    assert_eq!(error.message(), "Add 'y': there is no value 'missing'");
}

#[test]
fn data_outside_of_the_directory_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    for location in ["../secret", "/etc/passwd", "a/../../secret", ""] {
        let mut out = Vec::new();
        put_message(&mut out, 7, |out| {
            put_message(out, 5, |out| {
                put_number(out, 1, 1);
                put_number(out, 2, 1);
                put_text(out, 8, "w");
                put_number(out, 14, 1);
                put_message(out, 13, |out| {
                    put_text(out, 1, "location");
                    put_text(out, 2, location);
                });
            });
            put_message(out, 12, |out| put_text(out, 1, "w"));
        });
        let path = directory.path().join("m.onnx");
        std::fs::write(&path, &out).unwrap();
        let error = Model::load(&path).unwrap().program(&Options::default()).unwrap_err();
        assert!(error.message().contains("not in the model's directory"), "{error}");
    }
}

#[test]
fn mutated_models_are_errors_or_other_models() {
    let good = dense();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    for _ in 0..2000 {
        let mut bytes = good.clone();
        for _ in 0..1 + draw(4) {
            let at = draw(bytes.len());
            match draw(3) {
                0 => bytes[at] = draw(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, draw(256) as u8),
            }
        }
        if let Ok(model) = Model::from_bytes(&bytes) {
            let _ = model.program(&Options::default());
        }
    }
}
