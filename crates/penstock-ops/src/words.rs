//! Operators on the code points of strings, and on strings and sequences as wholes.

use penstock_data::{Bytes, DType, DTypeSet, Dim, Dims, Error, Result, Shape, Tensor, memory};
use penstock_ir::{
    ArgType, AttrDef, AttrKind, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, Jvp, OpDef, Rows,
    Sample, Type, Vjp, arg, arg_of,
};
use smallvec::smallvec;

use crate::batch_rules;
use crate::gather::{infer_unsorted_segments, not_a_prefix};
use crate::murmur::murmur64;
use crate::operands::{int_scalar, require_rank, size};
use crate::sample_arrays::{i32s, i64s};
use crate::samples::strings;
use crate::scripts::script;
use crate::strings::collected;
use crate::text::{ERRORS, Encoding, Malformed, ON_HOST, REPLACEMENT, STR, buckets, code_points, encoded, text};
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[
    &UNICODE_DECODE_WITH_OFFSETS,
    &UNICODE_SCRIPT,
    &STRING_UNSORTED_SEGMENT_JOIN,
    &STRING_TO_HASH_BUCKET,
    &EDIT_DISTANCE,
];

/// Code points of strings, and where they begin.
pub static UNICODE_DECODE_WITH_OFFSETS: OpDef = OpDef {
    name: "unicode_decode_with_offsets",
    tf_name: "UnicodeDecodeWithOffsets",
    doc: "The code points of each string, `i32`, the place of the first byte of each in its string, `i64`, and the splits \
          between the rows of code points, `i64`.\n\n\
          The attributes are those of `unicode_decode`.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[text("input_encoding", "UTF-8"), ERRORS, REPLACEMENT, AttrDef::flag("replace_control_characters", false)],
    effects: &[],
    infer: |cx| {
        Encoding::of(cx.attrs.str(0), "input_encoding")?;
        Malformed::of(cx.attrs, 1, 2)?;
        let splits = cx.shape(0).num_elements().map_or(Dim::Unknown, |n| Dim::Known(n + 1));
        let values = |dtype| Type::tensor(dtype, Shape::new([Dim::Unknown]));
        Ok(smallvec![values(DType::I32), values(DType::I64), Type::tensor(DType::I64, Shape::new([splits]))])
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let (encoding, malformed) =
            (Encoding::of(call.attrs.str(0), "input_encoding")?, Malformed::of(call.attrs, 1, 2)?);
        let controls = call.attrs.flag(3).then_some(call.attrs.int(2) as i32);
        let (mut points, mut places, mut splits) = (Vec::new(), Vec::new(), vec![0i64]);
        for s in x.strings() {
            code_points(s, encoding, malformed, controls, |point, at| {
                points.push(point);
                places.push(at);
            })?;
            splits.push(points.len() as i64);
        }
        call.set(0, Tensor::from_slice(&[points.len()], &points)?);
        call.set(1, Tensor::from_slice(&[places.len()], &places)?);
        call.set(2, Tensor::from_slice(&[splits.len()], &splits)?);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: encoded,
};

/// Scripts of code points.
pub static UNICODE_SCRIPT: OpDef = OpDef {
    name: "unicode_script",
    tf_name: "UnicodeScript",
    doc: "The script of each code point by the number that ICU gives it, `i32`: 0 for what many scripts share, 25 for Latin, \
          103 for a code point of none; -1 for a number that is no code point.",
    dtypes: &[DTypeVar::new("T", DTypeSet::of(&[DType::I32]))],
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(cx.inputs[0].clone()),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        call.out(0, DType::I32, x.dims())?;
        for (out, &point) in call.outputs[0].as_mut_slice::<i32>().iter_mut().zip(x.as_slice::<i32>()) {
            *out = script(point)?;
        }
        Ok(())
    }),
    cuda: Cuda::HostFallback("its tables live on the host"),
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(20.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![i32s(&[32, 97, 0x3b1, 0x44f, 0x5d0, 0x6587, -1, 0x11_0000])]),
            Sample::new(vec![Tensor::scalar(0x3042i32)]),
            Sample::new(vec![i32s(&[])]),
        ]
    },
};

/// Strings joined by segment.
pub static STRING_UNSORTED_SEGMENT_JOIN: OpDef = OpDef {
    name: "string_unsorted_segment_join",
    tf_name: "UnsortedSegmentJoin",
    doc: "The strings of `data` that have the same `segment_ids` joined in their order, with `separator` between them; the \
          empty string where there are none.\n\n\
          The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Negative ids \
          drop their strings. Raises InvalidArgument for an id not below `num_segments`.",
    dtypes: &[DTypeVar::new("I", DTypeSet::INDEX), DTypeVar::new("N", DTypeSet::INDEX)],
    operands: &[
        arg_of("data", ArgType::Fixed(DType::Str)),
        arg_of("segment_ids", ArgType::Var(0)),
        arg_of("num_segments", ArgType::Var(1)),
    ],
    attrs: &[text("separator", "")],
    effects: &[],
    infer: infer_unsorted_segments,
    cpu: Cpu::Kernel(run_segment_join),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let words = || strings(&[4], &["a", "bc", "", "d"]);
        let n = || Tensor::scalar(3i32);
        vec![
            Sample::new(vec![words(), i32s(&[2, 0, 2, -1]), n()]).with("separator", ", "),
            Sample::new(vec![strings(&[2, 2], &["a", "b", "c", "d"]), i64s(&[1, 1]), n()]),
            Sample::new(vec![strings(&[0], &[]), i32s(&[]), Tensor::scalar(2i64)]),
            Sample::new(vec![strings(&[2], &["x", "y"]), Tensor::scalar(1i32), n()]),
        ]
    },
};

fn run_segment_join(call: &mut Call<'_>) -> Result<()> {
    let (x, ids) = (call.inputs[0], call.inputs[1]);
    let n = size(int_scalar(call.inputs[2], "num_segments")?, "num_segments")?;
    let Some(inner) = x.dims().strip_prefix(ids.dims()) else {
        return Err(not_a_prefix(&Shape::known(ids.dims()), &Shape::known(x.dims())));
    };
    let width: usize = inner.iter().product();
    let separator = call.attrs.str(0).as_bytes();
    // The numbers of the rows of each segment, as lists of followers: one allocation for all segments.
    let (mut first, mut last) = (memory::filled(usize::MAX, n)?, memory::filled(usize::MAX, n)?);
    let ids_listed = ids.to_ints()?;
    let mut next = memory::filled(usize::MAX, ids_listed.len())?;
    for (row, &id) in ids_listed.iter().enumerate() {
        let Ok(segment) = usize::try_from(id) else { continue };
        if segment >= n {
            return Err(Error::invalid(format!("{id} at {row} is not below {n}")).argument("segment_ids"));
        }
        match last[segment] {
            usize::MAX => first[segment] = row,
            before => next[before] = row,
        }
        last[segment] = row;
    }
    let list = x.strings();
    let join = |at: usize| -> Result<Bytes> {
        let (segment, column) = (at / width, at % width);
        let some = |row: usize| (row != usize::MAX).then_some(row);
        let rows = std::iter::successors(some(first[segment]), |&row| some(next[row]));
        memory::joined(rows.map(|row| &*list[row * width + column]), separator)
    };
    let dims: Dims = std::iter::once(n).chain(inner.iter().copied()).collect();
    let count = if width == 0 { 0 } else { n.saturating_mul(width) };
    let made = collected((0..count).map(join))?;
    call.set(0, Tensor::from_strings(&dims, made)?);
    Ok(())
}

/// The seed that TensorFlow hashes strings with.
const HASH_SEED: u64 = 0x00de_cafc_affe;

/// Quick hashes of strings.
pub static STRING_TO_HASH_BUCKET: OpDef = OpDef {
    name: "string_to_hash_bucket",
    tf_name: "StringToHashBucket",
    doc: "The hash of each string modulo `num_buckets`, `i64`.\n\n\
          The hash is MurmurHash64A. For files that last, `string_to_hash_bucket_fast` is the one to take.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[AttrDef::required("num_buckets", AttrKind::Int)],
    effects: &[],
    infer: |cx| {
        buckets(cx.attrs)?;
        one(Type::tensor(DType::I64, cx.shape(0).clone()))
    },
    cpu: Cpu::Kernel(|call| {
        let (x, n) = (call.inputs[0], buckets(call.attrs)?);
        call.out(0, DType::I64, x.dims())?;
        for (bucket, s) in call.outputs[0].as_mut_slice::<i64>().iter_mut().zip(x.strings()) {
            *bucket = (murmur64(HASH_SEED, s) % n) as i64;
        }
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![strings(&[2, 2], &["Hello", "a string of more than one word", "", "TF"])])
                .with("num_buckets", 30i64),
            Sample::new(vec![strings(&[], &["a"])]).with("num_buckets", 1i64),
            Sample::new(vec![strings(&[0], &[])]).with("num_buckets", 10i64),
        ]
    },
};

/// Edit distances.
pub static EDIT_DISTANCE: OpDef = OpDef {
    name: "edit_distance",
    tf_name: "EditDistanceOfRows",
    doc: "How many insertions, deletions and replacements of one element make each row of `truth` of the row of `hypothesis` \
          with the same number, `f32`.\n\n\
          Row `i` of each is what stands from its splits' element `i` up to the next. Where `normalize`, the distance is \
          divided by the length of the row of `truth`: infinite where that row alone is empty, 0 where both are. Raises \
          InvalidArgument for splits that are not in order.",
    dtypes: &[],
    operands: &[
        arg_of("hypothesis", ArgType::Fixed(DType::I64)),
        arg_of("hypothesis_splits", ArgType::Fixed(DType::I64)),
        arg_of("truth", ArgType::Fixed(DType::I64)),
        arg_of("truth_splits", ArgType::Fixed(DType::I64)),
    ],
    attrs: &[AttrDef::flag("normalize", true)],
    effects: &[],
    infer: |cx| {
        for (i, name) in ["hypothesis", "hypothesis_splits", "truth", "truth_splits"].into_iter().enumerate() {
            require_rank(cx, i, 1, name)?;
        }
        let rows = |i| cx.shape(i).extents().map(|n| n[0].saturating_sub(1));
        let known = rows(1).or_else(|| rows(3)).map_or(Dim::Unknown, Dim::Known);
        one(Type::tensor(DType::F32, Shape::new([known])))
    },
    cpu: Cpu::Kernel(run_edit_distance),
    cuda: Cuda::HostFallback("each element of a row waits for the one before"),
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
        let of = |h: &[i64], hs: &[i64], t: &[i64], ts: &[i64]| Sample::new(vec![i64s(h), i64s(hs), i64s(t), i64s(ts)]);
        let some = || of(&[1, 2, 3, 4, 5], &[0, 3, 3, 5], &[1, 3, 9, 4, 6, 5], &[0, 2, 3, 6]);
        vec![some(), some().with("normalize", false), of(&[1], &[0, 1, 1], &[], &[0, 0, 0]), of(&[], &[0], &[], &[0])]
    },
};

/// The row of these values between two splits.
fn row<'t>(values: &'t [i64], splits: &[i64], i: usize, name: &str) -> Result<&'t [i64]> {
    let (from, to) = (splits[i], splits[i + 1]);
    let found = match (usize::try_from(from), usize::try_from(to)) {
        (Ok(a), Ok(b)) => values.get(a..b),
        _ => None,
    };
    found.ok_or_else(|| Error::invalid(format!("{from} to {to} is no row of {} elements", values.len())).argument(name))
}

fn run_edit_distance(call: &mut Call<'_>) -> Result<()> {
    let [h, hs, t, ts] = [0, 1, 2, 3].map(|i| call.inputs[i].as_slice::<i64>());
    if hs.len() != ts.len() || hs.is_empty() {
        let message = format!("there must be as many rows as in 'hypothesis', {}, and a split more", hs.len());
        return Err(Error::invalid(message).argument("truth_splits"));
    }
    let normalize = call.attrs.flag(0);
    let mut distances: Vec<f32> = memory::with_room(hs.len() - 1)?;
    for i in 0..hs.len() - 1 {
        let (a, b) = (row(h, hs, i, "hypothesis_splits")?, row(t, ts, i, "truth_splits")?);
        let steps = distance(a, b) as f32;
        distances.push(match (normalize, b.len()) {
            (true, 0) if a.is_empty() => 0.0,
            (true, n) => steps / n as f32,
            (false, _) => steps,
        });
    }
    call.set(0, Tensor::from_slice(&[distances.len()], &distances)?);
    Ok(())
}

/// The least number of insertions, deletions and replacements that make one sequence of the other.
fn distance(a: &[i64], b: &[i64]) -> usize {
    // One line of the table of distances between beginnings of the two at a time.
    let mut line: Vec<usize> = memory::scratch_of(0..=b.len());
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = line[0];
        line[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = line[j + 1];
            line[j + 1] = replaced.min(diagonal + 1).min(line[j] + 1);
        }
    }
    line[b.len()]
}
