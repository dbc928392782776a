//! Operators that read sound, lines of CSV and `tf.train.Example` messages, and write sound.

use std::ops::Range;
use std::sync::Mutex;

use penstock_codec::{csv, example, wav};
use penstock_data::{DType, DTypeSet, Dim, Error, Result, Shape, Tensor, memory};
use penstock_ir::{
    ArgType, Attr, AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cpu, Cuda, Elements, Fails, Fold, InferCx,
    Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg_of, args_of,
};
use penstock_kernels::pool::{grain, parallel_for, part, threads};
use smallvec::smallvec;

use crate::operands::{int_scalar, require_rank};
use crate::samples::strings;
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&DECODE_WAV, &ENCODE_WAV, &DECODE_CSV, &EXAMPLE_FEATURES];

const ON_HOST: Cuda = Cuda::HostFallback("strings live on the host");

/// What `f` makes of pieces of `0..count`, in order, on several threads where that is worth it; `ns` estimates one of them.
///
/// # Errors
/// That of the first piece for which there is one.
fn in_pieces<T: Send>(count: usize, ns: f64, f: impl Fn(Range<usize>) -> Result<T> + Sync) -> Result<Vec<T>> {
    let pieces = count.div_ceil(grain(ns).max(1)).clamp(1, 4 * threads());
    let places: Vec<Mutex<Option<Result<T>>>> = memory::collected((0..pieces).map(|_| Mutex::new(None)))?;
    parallel_for(pieces, 1, |range| {
        for i in range {
            let made = f(part(count, 1, pieces, i));
            // No other thread takes this place.
            *places[i].lock().unwrap_or_else(|e| e.into_inner()) = Some(made);
        }
    });
    let made = places.into_iter().map(|place| place.into_inner().unwrap_or_else(|e| e.into_inner()));
    memory::try_collected(made.map(|made| made.unwrap_or_else(|| Err(Error::internal("a piece was left out")))))
}

/// A number of channels or samples; -1 is for as many as there are.
fn wanted(attrs: &Attrs, index: usize, name: &str) -> Result<Option<usize>> {
    match attrs.int(index) {
        -1 => Ok(None),
        n => match usize::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => Err(Error::invalid(format!("must be -1 or not negative, got {n}")).argument(name)),
        },
    }
}

/// Sound of a WAV.
pub static DECODE_WAV: OpDef = OpDef {
    name: "decode_wav",
    tf_name: "DecodeWav",
    doc: "The samples in `contents`, a WAV of 16 bits a sample, from -1 to 1, `f32` of shape `[samples, channels]`, and their number \
          a second, an `i32` scalar.\n\n\
          `desired_channels` and `desired_samples` are -1 for as many as there are. The last channel is repeated, and zeros follow \
          the last sample, where more are wanted.\n\nErrors: `InvalidArgument` for contents that are no such WAV.",
    dtypes: &[],
    operands: &[arg_of("contents", ArgType::Fixed(DType::Str))],
    attrs: &[
        AttrDef::new("desired_channels", AttrKind::Int, AttrDefault::Int(-1)),
        AttrDef::new("desired_samples", AttrKind::Int, AttrDefault::Int(-1)),
    ],
    effects: &[],
    infer: |cx| {
        require_rank(cx, 0, 0, "contents")?;
        let dim = |n: Option<usize>| n.map_or(Dim::Unknown, Dim::Known);
        let channels = dim(wanted(cx.attrs, 0, "desired_channels")?);
        let samples = dim(wanted(cx.attrs, 1, "desired_samples")?);
        Ok(smallvec![Type::tensor(DType::F32, Shape::new([samples, channels])), Type::scalar(DType::I32)])
    },
    cpu: Cpu::Kernel(|call| {
        let [contents] = call.inputs[0].strings() else {
            return Err(Error::invalid("expected a scalar").argument("contents"));
        };
        let (channels, samples) =
            (wanted(call.attrs, 0, "desired_channels")?, wanted(call.attrs, 1, "desired_samples")?);
        let (audio, rate) = wav::decode(contents, channels, samples)?;
        call.set(0, audio);
        call.set(1, Tensor::scalar(rate));
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("sounds have lengths of their own"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let file = wav::encode(&[0.5, -0.25, 1.5, -1.0, 0.0, 0.125], 2, 8000).expect("a WAV");
        let of = || Sample::new(vec![Tensor::from_strings(&[], vec![file.as_slice().into()]).expect("one string")]);
        vec![
            of(),
            of().with("desired_channels", 3i64).with("desired_samples", 5i64),
            of().with("desired_channels", 1i64),
        ]
    },
};

/// A WAV of samples.
pub static ENCODE_WAV: OpDef = OpDef {
    name: "encode_wav",
    tf_name: "EncodeWav",
    doc: "A WAV of 16 bits a sample of `audio`, of shape `[samples, channels]`, a string scalar.\n\n\
          Samples go from -1 to 1, and are cut off beyond. There are `sample_rate` of them a second, an `i32` scalar.\n\n\
          Errors: `InvalidArgument` for a rate that is not positive, for no channels, and for more samples than a WAV holds.",
    dtypes: &[],
    operands: &[arg_of("audio", ArgType::Fixed(DType::F32)), arg_of("sample_rate", ArgType::Fixed(DType::I32))],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        require_rank(cx, 0, 2, "audio")?;
        require_rank(cx, 1, 0, "sample_rate")?;
        one(Type::scalar(DType::Str))
    },
    cpu: Cpu::Kernel(|call| {
        let (audio, rate) = (call.inputs[0], int_scalar(call.inputs[1], "sample_rate")?);
        let &[_, channels] = audio.dims() else {
            return Err(Error::invalid(format!("expected rank 2, got {}", audio.rank())).argument("audio"));
        };
        let file = wav::encode(audio.as_slice::<f32>(), channels, rate)?;
        call.set(0, Tensor::from_strings(&[], vec![file.into()])?);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("sounds have lengths of their own"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(2.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let audio = |dims: &[usize]| crate::samples::tensor(DType::F32, dims, &[0.5, -0.25, 1.5, -1.0, 0.0, 0.125]);
        vec![
            Sample::new(vec![audio(&[3, 2]), Tensor::scalar(8000i32)]),
            Sample::new(vec![audio(&[0, 1]), Tensor::scalar(44100i32)]),
        ]
    },
};

/// How lines are taken apart, what stands for no value, and which fields are read.
fn csv_options(attrs: &Attrs, columns: usize) -> Result<(csv::Layout, &[u8], Option<Vec<usize>>)> {
    let &[delimiter] = attrs.str(0).as_bytes() else {
        let message = format!("must be one byte, got '{}'", attrs.str(0));
        return Err(Error::invalid(message).argument("field_delim"));
    };
    let selected = match attrs.opt_ints(3) {
        None | Some([]) => None,
        Some(given) => {
            let wrong = |message: String| Err(Error::invalid(message).argument("select_cols"));
            if given.len() != columns {
                return wrong(format!("selects {} fields, for which there are {columns} defaults", given.len()));
            }
            if given[0] < 0 || given.windows(2).any(|pair| pair[0] >= pair[1]) {
                return wrong(format!("must be rising and not negative, got {given:?}"));
            }
            Some(given.iter().map(|&i| i as usize).collect())
        }
    };
    Ok((csv::Layout { delimiter, quotes: attrs.flag(1) }, attrs.str(2).as_bytes(), selected))
}

/// Fields of lines.
pub static DECODE_CSV: OpDef = OpDef {
    name: "decode_csv",
    tf_name: "DecodeCSV",
    doc: "The fields of lines of comma-separated values, a tensor of the shape of `records` for each of `record_defaults`.\n\n\
          A default has the dtype of its field, `f32`, `f64`, `i32`, `i64` or `str`, and one element, which stands for a field that is \
          empty or `na_value`, or none where a line must have the field. `field_delim` is what stands between fields. With \
          `use_quote_delim` a field may be in double quotes, where two of them stand for one. `select_cols` are the indices of the \
          fields that are read, in rising order; all by default.\n\n\
          Errors: `InvalidArgument` for lines of another number of fields, fields that are missing or no number of their dtype, and \
          quotes and line breaks where they may not be.",
    dtypes: &[],
    operands: &[arg_of("records", ArgType::Fixed(DType::Str)), args_of("record_defaults", ArgType::In(FIELDS))],
    attrs: &[
        AttrDef::new("field_delim", AttrKind::Str, AttrDefault::Str(",")),
        AttrDef::flag("use_quote_delim", true),
        AttrDef::new("na_value", AttrKind::Str, AttrDefault::Str("")),
        AttrDef::optional("select_cols", AttrKind::Ints),
    ],
    effects: &[],
    infer: |cx| {
        let columns = cx.inputs.len() - 1;
        csv_options(cx.attrs, columns)?;
        Ok((0..columns).map(|i| Type::tensor(cx.dtype(i + 1), cx.shape(0).clone())).collect())
    },
    cpu: Cpu::Kernel(run_csv),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(500.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let defaults = || vec![Tensor::vector(&[7i32]), Tensor::vector(&[0.5f32]), strings(&[1], &["?"])];
        let of = |lines: Tensor| Sample::new([vec![lines], defaults()].concat());
        vec![
            of(strings(&[2], &["1,2.5,a", " 3 ,,\"x, \"\"y\"\"\""])),
            of(strings(&[], &["-4;NA;"])).with("field_delim", ";").with("na_value", "NA"),
            of(strings(&[0, 2], &[])),
            Sample::new(vec![strings(&[1], &["1"]), Tensor::vector(&[7i32])]),
            of(strings(&[1], &["0,1,2,3,\"4\""])).with("select_cols", vec![0i64, 2, 4]).with("use_quote_delim", false),
        ]
    },
};

const FIELDS: DTypeSet = DTypeSet::of(&[DType::F32, DType::F64, DType::I32, DType::I64, DType::Str]);

fn run_csv(call: &mut Call<'_>) -> Result<()> {
    let (records, defaults) = (call.inputs[0], &call.inputs[1..]);
    let (layout, missing, selected) = csv_options(call.attrs, defaults.len())?;
    let lines = records.strings();
    let pieces = in_pieces(lines.len(), 60.0 * (1 + defaults.len()) as f64, |range| {
        let mut columns = memory::try_collected(defaults.iter().map(|default| csv::Column::new(default)))?;
        csv::read(&lines[range.clone()], layout, missing, selected.as_deref(), range.start, &mut columns)?;
        Ok(columns)
    })?;
    for (k, parts) in transposed(pieces, defaults.len()).into_iter().enumerate() {
        call.set(k, csv::Column::joined(parts, records.dims())?);
    }
    Ok(())
}

/// The columns of pieces, each with its parts.
fn transposed<T>(pieces: Vec<Vec<T>>, columns: usize) -> Vec<Vec<T>> {
    let mut out: Vec<Vec<T>> = (0..columns).map(|_| Vec::new()).collect();
    for piece in pieces {
        out.iter_mut().zip(piece).for_each(|(column, part)| column.push(part));
    }
    out
}

/// Features of messages.
pub static EXAMPLE_FEATURES: OpDef = OpDef {
    name: "example_features",
    tf_name: "ParseExampleV2",
    doc: "The values of features of serialized messages: for each of `keys` all values, a vector of the dtype in `outs`, and how many \
          each message has, `i64`, -1 for one without the feature.\n\n\
          `part` is `example` for `tf.train.Example` messages, `context` for those of whole `SequenceExample`s, and `steps` for their \
          lists of features: there the number of steps of each message comes between, -1 for one without the list, and then the \
          number of values of each step. Dtypes are `f32`, `i64` and `str`.\n\n\
          Errors: `InvalidArgument` for what is no message, and for a feature of another kind.",
    dtypes: &[],
    operands: &[arg_of("serialized", ArgType::Fixed(DType::Str))],
    attrs: &[
        AttrDef::new("part", AttrKind::Str, AttrDefault::Str("example")),
        AttrDef::required("keys", AttrKind::Tensor),
        AttrDef::required("outs", AttrKind::Types),
    ],
    effects: &[],
    infer: infer_features,
    cpu: Cpu::Kernel(run_features),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1000.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        // {"a": int64 [1, 2]}, and nothing.
        let one: &[u8] = b"\x0a\x0d\x0a\x0b\x0a\x01a\x12\x06\x1a\x04\x0a\x02\x01\x02";
        // {"a": [int64 [1, 2], int64 []]}
        let steps: &[u8] = b"\x12\x13\x0a\x11\x0a\x01a\x12\x0c\x0a\x06\x1a\x04\x0a\x02\x01\x02\x0a\x02\x1a\x00";
        let of = |message: &[u8], part: &'static str| {
            let messages = Tensor::from_strings(&[2], vec![message.into(), [].into()]).expect("two strings");
            Sample::new(vec![messages]).with("part", part).with("keys", Attr::Tensor(strings(&[2], &["a", "b"]))).with(
                "outs",
                vec![Type::tensor(DType::I64, Shape::UNRANKED), Type::tensor(DType::Str, Shape::UNRANKED)],
            )
        };
        vec![of(one, "example"), of(one, "context"), of(steps, "steps")]
    },
};

/// Which features are read, their keys and dtypes.
fn features(attrs: &Attrs) -> Result<(example::Part, &Tensor, Vec<DType>)> {
    let part = match attrs.str(0) {
        "example" => example::Part::Whole("Example"),
        "context" => example::Part::Whole("SequenceExample"),
        "steps" => example::Part::Steps,
        other => {
            let message = format!("must be 'example', 'context' or 'steps', got '{other}'");
            return Err(Error::invalid(message).argument("part"));
        }
    };
    let (keys, dtypes): (_, Vec<DType>) = (attrs.tensor(1), attrs.types(2).iter().map(Type::dtype).collect());
    if keys.dtype() != DType::Str || keys.rank() != 1 || keys.len() != dtypes.len() {
        let message = format!("must be a vector of {} strings, as many as there are 'outs'", dtypes.len());
        return Err(Error::invalid(message).argument("keys"));
    }
    dtypes.iter().try_for_each(|&dtype| example::Column::new(dtype).map(drop))?;
    Ok((part, keys, dtypes))
}

fn infer_features(cx: &InferCx<'_>) -> Result<OutTypes> {
    let (part, _, dtypes) = features(cx.attrs)?;
    let unknown = || Shape::new([Dim::Unknown]);
    let count = Shape::new([cx.shape(0).num_elements().map_or(Dim::Unknown, Dim::Known)]);
    let mut out = OutTypes::new();
    for dtype in dtypes {
        out.push(Type::tensor(dtype, unknown()));
        out.push(Type::tensor(DType::I64, count.clone()));
        if part == example::Part::Steps {
            out.push(Type::tensor(DType::I64, unknown()));
        }
    }
    Ok(out)
}

fn run_features(call: &mut Call<'_>) -> Result<()> {
    let (part, keys, dtypes) = features(call.attrs)?;
    let messages = call.inputs[0].strings();
    let pieces = in_pieces(messages.len(), 100.0 * (1 + dtypes.len()) as f64, |range| {
        let mut columns = memory::try_collected(dtypes.iter().map(|&dtype| example::Column::new(dtype)))?;
        example::read(&messages[range], part, keys.strings(), &mut columns)?;
        Ok(columns)
    })?;
    let mut k = 0;
    for parts in transposed(pieces, dtypes.len()) {
        for tensor in example::joined(parts, part == example::Part::Steps)? {
            call.set(k, tensor);
            k += 1;
        }
    }
    Ok(())
}
