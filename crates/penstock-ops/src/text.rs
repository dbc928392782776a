//! Operators that take strings apart and put them together. Parts of several strings come as one list of values and the
//! splits between its rows: row `i` is `values[row_splits[i]..row_splits[i + 1]]`.

use penstock_data::{Bytes, DType, DTypeSet, Dim, Dims, Error, Result, Shape, Tensor, memory};
use penstock_ir::{
    ArgType, AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold,
    InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg, arg_of,
};
use smallvec::smallvec;

use crate::farmhash::fingerprint64;
use crate::operands::require_rank;
use crate::sample_arrays::{i32s, i64s};
use crate::samples::strings;
use crate::siphash::siphash;
use crate::util::{PROMISE, around, normalize_axis, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[
    &STRING_SPLIT,
    &STRING_BYTES_SPLIT,
    &UNICODE_DECODE,
    &UNICODE_ENCODE,
    &STRING_REDUCE_JOIN,
    &STRING_TO_HASH_BUCKET_FAST,
    &STRING_TO_HASH_BUCKET_STRONG,
];

pub(crate) const STR: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::STR)];
pub(crate) const ON_HOST: Cuda = Cuda::HostFallback("strings live on the host");

pub(crate) const fn text(name: &'static str, default: &'static str) -> AttrDef {
    AttrDef::new(name, AttrKind::Str, AttrDefault::Str(default))
}

/// White space as C's `isspace` has it.
pub(crate) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// The types of the parts of strings: values and splits.
fn infer_parts(cx: &InferCx<'_>, values: DType) -> Result<OutTypes> {
    let splits = cx.shape(0).num_elements().map_or(Dim::Unknown, |n| Dim::Known(n + 1));
    Ok(smallvec![Type::tensor(values, Shape::new([Dim::Unknown])), Type::tensor(DType::I64, Shape::new([splits]))])
}

/// Makes the results the parts of each string that `f` adds to a list.
fn run_parts<T>(
    call: &mut Call<'_>,
    mut f: impl FnMut(&[u8], &mut Vec<T>) -> Result<()>,
    collect: impl FnOnce(Vec<T>) -> Result<Tensor>,
) -> Result<()> {
    let x = call.inputs[0];
    let (mut values, mut splits) = (Vec::new(), vec![0i64]);
    for s in x.strings() {
        f(s, &mut values)?;
        splits.push(values.len() as i64);
    }
    call.set(0, collect(values)?);
    call.set(1, Tensor::from_slice(&[splits.len()], &splits)?);
    Ok(())
}

/// Strings of one byte, each of which is made once.
pub(crate) struct Single([Option<Bytes>; 256]);

impl Default for Single {
    fn default() -> Single {
        Single([const { None }; 256])
    }
}

impl Single {
    pub(crate) fn of(&mut self, byte: u8) -> Bytes {
        self.0[usize::from(byte)].get_or_insert_with(|| Bytes::from([byte])).clone()
    }
}

fn of_strings(values: Vec<Bytes>) -> Result<Tensor> {
    Tensor::from_strings(&[values.len()], values)
}

/// Strings between separators.
pub static STRING_SPLIT: OpDef = OpDef {
    name: "string_split",
    tf_name: "StringSplitV2",
    doc: "The pieces of each string between occurrences of `sep`, and the splits between the rows of pieces, `i64`.\n\n\
          An empty `sep` is any run of white space, of which there is none at the ends of pieces. Where `maxsplit` is above 0, \
          what is left after as many splits is the last piece.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[text("sep", ""), AttrDef::new("maxsplit", AttrKind::Int, AttrDefault::Int(-1))],
    effects: &[],
    infer: |cx| infer_parts(cx, DType::Str),
    cpu: Cpu::Kernel(|call| {
        let sep = call.attrs.str(0).as_bytes().to_vec();
        let most = usize::try_from(call.attrs.int(1)).ok().filter(|&n| n > 0).unwrap_or(usize::MAX);
        run_parts(
            call,
            |s, out| {
                if sep.is_empty() { split_at_space(s, most, out) } else { split_at(s, &sep, most, out) }
            },
            of_strings,
        )
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
        let words = || strings(&[2, 2], &[" a  bc\td ", "", "a,b,,c", ",,"]);
        let of = |sep: &'static str| Sample::new(vec![words()]).with("sep", sep);
        vec![
            of(""),
            of("").with("maxsplit", 1i64),
            of(","),
            of(",,"),
            of(",").with("maxsplit", 2i64),
            Sample::new(vec![strings(&[], &["x y"])]),
            Sample::new(vec![strings(&[0], &[])]),
        ]
    },
};

fn split_at_space(s: &[u8], most: usize, out: &mut Vec<Bytes>) -> Result<()> {
    let skip = |s: &[u8]| s.iter().position(|&b| !is_space(b)).unwrap_or(s.len());
    let mut rest = &s[skip(s)..];
    let mut splits = 0;
    while !rest.is_empty() && splits < most {
        let end = rest.iter().position(|&b| is_space(b)).unwrap_or(rest.len());
        memory::push(out, rest[..end].into())?;
        rest = &rest[end..];
        rest = &rest[skip(rest)..];
        splits += 1;
    }
    if rest.is_empty() { Ok(()) } else { memory::push(out, rest.into()) }
}

fn split_at(s: &[u8], sep: &[u8], most: usize, out: &mut Vec<Bytes>) -> Result<()> {
    let mut rest = s;
    for _ in 0..most {
        let Some(at) = rest.windows(sep.len()).position(|w| w == sep) else { break };
        memory::push(out, rest[..at].into())?;
        rest = &rest[at + sep.len()..];
    }
    memory::push(out, rest.into())
}

/// Single bytes.
pub static STRING_BYTES_SPLIT: OpDef = OpDef {
    name: "string_bytes_split",
    tf_name: "StringBytesSplit",
    doc: "The bytes of each string as strings, and the splits between the rows of bytes, `i64`.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| infer_parts(cx, DType::Str),
    cpu: Cpu::Kernel(|call| {
        let mut single = Single::default();
        let each = |s: &[u8], out: &mut Vec<Bytes>| {
            memory::reserve(out, s.len())?;
            out.extend(s.iter().map(|&b| single.of(b)));
            Ok(())
        };
        run_parts(call, each, of_strings)
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
            Sample::new(vec![strings(&[3], &["ab", "", "h\u{e9}"])]),
            Sample::new(vec![strings(&[], &["xyz"])]),
            Sample::new(vec![strings(&[0], &[])]),
        ]
    },
};

/// How characters are written.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    Utf8,
    Utf16Be,
    Utf32Be,
}

impl Encoding {
    pub(crate) fn of(name: &str, argument: &str) -> Result<Encoding> {
        match name.to_ascii_uppercase().as_str() {
            "UTF-8" => Ok(Encoding::Utf8),
            "UTF-16-BE" => Ok(Encoding::Utf16Be),
            "UTF-32-BE" => Ok(Encoding::Utf32Be),
            _ => Err(Error::invalid(format!("expected 'UTF-8', 'UTF-16-BE' or 'UTF-32-BE', got '{name}'"))
                .argument(argument)),
        }
    }

    /// The characters of a string, `None` for each sequence that is none, and how many bytes each takes.
    pub(crate) fn decode(self, s: &[u8]) -> Vec<(Option<char>, usize)> {
        let mut out = memory::scratch_room(s.len());
        match self {
            Encoding::Utf8 => {
                for chunk in s.utf8_chunks() {
                    out.extend(chunk.valid().chars().map(|c| (Some(c), c.len_utf8())));
                    if !chunk.invalid().is_empty() {
                        out.push((None, chunk.invalid().len()));
                    }
                }
            }
            Encoding::Utf16Be => {
                let (pairs, rest) = s.as_chunks::<2>();
                let units = pairs.iter().map(|&p| u16::from_be_bytes(p));
                out.extend(
                    char::decode_utf16(units).map(|r| (r.as_ref().ok().copied(), r.map_or(2, |c| 2 * c.len_utf16()))),
                );
                out.extend((!rest.is_empty()).then_some((None, rest.len())));
            }
            Encoding::Utf32Be => {
                let (words, rest) = s.as_chunks::<4>();
                out.extend(words.iter().map(|&w| (char::from_u32(u32::from_be_bytes(w)), 4)));
                out.extend((!rest.is_empty()).then_some((None, rest.len())));
            }
        }
        out
    }

    fn encode(self, c: char, out: &mut Vec<u8>) {
        match self {
            Encoding::Utf8 => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Encoding::Utf16Be => out.extend(c.encode_utf16(&mut [0; 2]).iter().flat_map(|u| u.to_be_bytes())),
            Encoding::Utf32Be => out.extend_from_slice(&u32::from(c).to_be_bytes()),
        }
    }
}

/// What becomes of what is no character.
#[derive(Clone, Copy)]
pub(crate) enum Malformed {
    Fail,
    Replace(char),
    Ignore,
}

impl Malformed {
    /// Reads the attributes `errors` and `replacement_char`.
    pub(crate) fn of(attrs: &Attrs, errors: usize, replacement: usize) -> Result<Malformed> {
        let code = attrs.int(replacement);
        let with = u32::try_from(code).ok().and_then(char::from_u32).ok_or_else(|| {
            Error::invalid(format!("must be a Unicode code point, got {code}")).argument("replacement_char")
        })?;
        match attrs.str(errors) {
            "strict" => Ok(Malformed::Fail),
            "replace" => Ok(Malformed::Replace(with)),
            "ignore" => Ok(Malformed::Ignore),
            other => {
                Err(Error::invalid(format!("expected 'strict', 'replace' or 'ignore', got '{other}'"))
                    .argument("errors"))
            }
        }
    }
}

/// Gives each code point of a string to `found`, with the place of its first byte. Control characters become `controls`,
/// where there is one.
pub(crate) fn code_points(
    s: &[u8],
    encoding: Encoding,
    malformed: Malformed,
    controls: Option<i32>,
    mut found: impl FnMut(i32, i64),
) -> Result<()> {
    let mut at = 0;
    for (c, bytes) in encoding.decode(s) {
        match (c, malformed, controls) {
            (Some(c), _, Some(replacement)) if u32::from(c) < 32 => found(replacement, at),
            (Some(c), _, _) | (None, Malformed::Replace(c), _) => found(u32::from(c) as i32, at),
            (None, Malformed::Ignore, _) => {}
            (None, Malformed::Fail, _) => {
                let shown = String::from_utf8_lossy(s);
                return Err(Error::invalid(format!("{shown:?} is malformed in its encoding")).argument("x"));
            }
        }
        at += bytes as i64;
    }
    Ok(())
}

pub(crate) const ERRORS: AttrDef = text("errors", "replace");
pub(crate) const REPLACEMENT: AttrDef = AttrDef::new("replacement_char", AttrKind::Int, AttrDefault::Int(0xfffd));

/// Code points of strings.
pub static UNICODE_DECODE: OpDef = OpDef {
    name: "unicode_decode",
    tf_name: "UnicodeDecode",
    doc: "The code points of each string, `i32`, and the splits between the rows of code points, `i64`.\n\n\
          `input_encoding` is `UTF-8`, `UTF-16-BE` or `UTF-32-BE`. A malformed sequence raises InvalidArgument where `errors` is \
          `strict`, becomes `replacement_char` where it is `replace`, and is left out where it is `ignore`. With \
          `replace_control_characters` the code points below 32 are replaced, too.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[text("input_encoding", "UTF-8"), ERRORS, REPLACEMENT, AttrDef::flag("replace_control_characters", false)],
    effects: &[],
    infer: |cx| {
        Encoding::of(cx.attrs.str(0), "input_encoding")?;
        Malformed::of(cx.attrs, 1, 2)?;
        infer_parts(cx, DType::I32)
    },
    cpu: Cpu::Kernel(|call| {
        let (encoding, malformed) =
            (Encoding::of(call.attrs.str(0), "input_encoding")?, Malformed::of(call.attrs, 1, 2)?);
        let (replacement, controls) = (call.attrs.int(2) as i32, call.attrs.flag(3));
        let decode = |s: &[u8], out: &mut Vec<i32>| {
            code_points(s, encoding, malformed, controls.then_some(replacement), |point, _| out.push(point))
        };
        run_parts(call, decode, |values| Tensor::from_slice(&[values.len()], &values))
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

/// Strings in each encoding, whole and malformed, for what reads their code points.
pub(crate) fn encoded() -> Vec<Sample> {
    let words = || Sample::new(vec![strings(&[2, 2], &["ab\n", "h\u{e9}\u{1f600}", "", "\u{20ac}"])]);
    let wide = |encoding: &'static str| {
        let bytes: [Bytes; 3] = [[0, 104, 0, 105].into(), [0xd8, 0x3d, 0xde, 0].into(), [0, 0, 32, 0xac].into()];
        let x = Tensor::from_strings(&[3], bytes.to_vec()).expect("three strings");
        Sample::new(vec![x]).with("input_encoding", encoding)
    };
    let bad = |errors: &'static str| {
        let bytes: [Bytes; 2] = [[97, 0xff, 98].into(), [0xe2, 0x82].into()];
        let x = Tensor::from_strings(&[2], bytes.to_vec()).expect("two strings");
        Sample::new(vec![x]).with("errors", errors)
    };
    vec![
        words(),
        words().with("errors", "strict").with("replace_control_characters", true),
        wide("UTF-16-BE"),
        wide("UTF-32-BE"),
        bad("replace"),
        bad("replace").with("replacement_char", 63i64),
        bad("ignore"),
        Sample::new(vec![strings(&[], &["x"])]),
        Sample::new(vec![strings(&[0], &[])]),
    ]
}

/// Strings of code points.
pub static UNICODE_ENCODE: OpDef = OpDef {
    name: "unicode_encode",
    tf_name: "UnicodeEncode",
    doc: "The string of each row of code points: row `i` is those from `row_splits[i]` up to `row_splits[i + 1]`.\n\n\
          `output_encoding` is `UTF-8`, `UTF-16-BE` or `UTF-32-BE`. A number that is no code point raises InvalidArgument where \
          `errors` is `strict`, becomes `replacement_char` where it is `replace`, and is left out where it is `ignore`. Raises \
          InvalidArgument for splits that are not in order.",
    dtypes: &[DTypeVar::new("T", DTypeSet::INDEX)],
    operands: &[arg_of("codepoints", ArgType::Fixed(DType::I32)), arg("row_splits")],
    attrs: &[text("output_encoding", "UTF-8"), ERRORS, REPLACEMENT],
    effects: &[],
    infer: |cx| {
        Encoding::of(cx.attrs.str(0), "output_encoding")?;
        Malformed::of(cx.attrs, 1, 2)?;
        require_rank(cx, 0, 1, "codepoints")?;
        require_rank(cx, 1, 1, "row_splits")?;
        let rows = cx.shape(1).extents().map_or(Dim::Unknown, |n| Dim::Known(n[0].saturating_sub(1)));
        one(Type::tensor(DType::Str, Shape::new([rows])))
    },
    cpu: Cpu::Kernel(|call| {
        let (points, splits) = (call.inputs[0], call.inputs[1]);
        let (encoding, malformed) =
            (Encoding::of(call.attrs.str(0), "output_encoding")?, Malformed::of(call.attrs, 1, 2)?);
        let points = points.as_slice::<i32>();
        let (mut made, mut text, mut single): (Vec<Bytes>, Vec<u8>, _) = (Vec::new(), Vec::new(), Single::default());
        for pair in splits.to_ints()?.windows(2) {
            let row = match (usize::try_from(pair[0]), usize::try_from(pair[1])) {
                (Ok(a), Ok(b)) => points.get(a..b),
                _ => None,
            };
            let row = row.ok_or_else(|| {
                let message = format!("{} to {} is no row of {} code points", pair[0], pair[1], points.len());
                Error::invalid(message).argument("row_splits")
            })?;
            text.clear();
            memory::reserve(&mut text, row.len().saturating_mul(4))?;
            for &point in row {
                match (u32::try_from(point).ok().and_then(char::from_u32), malformed) {
                    (Some(c), _) | (None, Malformed::Replace(c)) => encoding.encode(c, &mut text),
                    (None, Malformed::Ignore) => {}
                    (None, Malformed::Fail) => {
                        return Err(Error::invalid(format!("{point} is no Unicode code point")).argument("codepoints"));
                    }
                }
            }
            let string = match *text {
                [byte] => single.of(byte),
                _ => memory::joined(std::iter::once(&*text), &[])?,
            };
            memory::push(&mut made, string)?;
        }
        call.set(0, of_strings(made)?);
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
    samples: || {
        let of = |points: &[i32], splits: &[i64]| Sample::new(vec![i32s(points), i64s(splits)]);
        let some = || of(&[97, 233, 0x20ac, 0x1f600, 98], &[0, 2, 2, 5]);
        let bad = || of(&[97, 0xd800, -1, 0x11_0000], &[0, 4]);
        vec![
            some(),
            some().with("output_encoding", "UTF-16-BE"),
            some().with("output_encoding", "UTF-32-BE").with("errors", "strict"),
            bad(),
            bad().with("replacement_char", 63i64),
            bad().with("errors", "ignore"),
            of(&[], &[0]),
            of(&[], &[0, 0]),
        ]
    },
};

/// Strings joined along axes.
pub static STRING_REDUCE_JOIN: OpDef = OpDef {
    name: "string_reduce_join",
    tf_name: "ReduceJoin",
    doc: "The strings of `x` joined along `axes`, one axis after the other, with `separator` between them.\n\n\
          Negative axes count from the end; all, from the last to the first, where they are not given. The axes are dropped from \
          the shape, or kept with size 1 where `keepdims` is true. Of no strings it is the empty string.\n\n\
          Errors: `InvalidArgument` for an axis that is out of range or listed twice.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[AttrDef::optional("axes", AttrKind::Ints), AttrDef::flag("keepdims", false), text("separator", "")],
    effects: &[],
    infer: |cx| {
        let shape = crate::reduce::reduced_shape(cx.shape(0), cx.attrs.opt_ints(0), cx.attrs.flag(1))?;
        one(Type::tensor(DType::Str, shape))
    },
    cpu: Cpu::Kernel(run_reduce_join),
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
        let x = || Sample::new(vec![strings(&[2, 2], &["a", "b", "c", "d"])]);
        vec![
            x(),
            x().with("axes", vec![0, 1]).with("separator", "-"),
            x().with("axes", vec![1, 0]),
            x().with("axes", vec![-1]).with("keepdims", true),
            x().with("axes", Vec::<i64>::new()),
            Sample::new(vec![strings(&[], &["x"])]),
            Sample::new(vec![strings(&[0, 2], &[])]).with("axes", vec![0]),
        ]
    },
};

fn run_reduce_join(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let separator = call.attrs.str(2).as_bytes();
    let axes: Vec<i64> = call.attrs.opt_ints(0).map_or_else(|| (0..x.rank() as i64).rev().collect(), <[i64]>::to_vec);
    let reduced = crate::reduce::normalize_axes(Some(&axes), x.rank())?;
    let mut dims: Dims = x.dims().into();
    let mut list: Vec<Bytes> = memory::collected(x.strings().iter().cloned())?;
    for &axis in &axes {
        let axis = normalize_axis(axis, x.rank(), "axes")?;
        let (outer, n, inner) = around(&dims, axis);
        let join = |at: usize| -> Result<Bytes> {
            let first = at / inner * n * inner + at % inner;
            memory::joined((0..n).map(|i| &*list[first + i * inner]), separator)
        };
        list = crate::strings::collected((0..outer * inner).map(join))?;
        dims[axis] = 1;
    }
    let keepdims = call.attrs.flag(1);
    let left = dims.iter().enumerate().filter(|(i, _)| keepdims || !reduced.contains(i)).map(|(_, &d)| d);
    let left: Dims = left.collect();
    call.set(0, Tensor::from_strings(&left, list)?);
    Ok(())
}

/// Hashes of strings.
pub static STRING_TO_HASH_BUCKET_FAST: OpDef = OpDef {
    name: "string_to_hash_bucket_fast",
    tf_name: "StringToHashBucketFast",
    doc: "The hash of each string modulo `num_buckets`, `i64`.\n\n\
          The hash is FarmHash's `Fingerprint64`: it is the same on every machine, and in TensorFlow.",
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
            *bucket = (fingerprint64(s) % n) as i64;
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
        let words = ["Hello", "TensorFlow", "2.x", ""];
        vec![
            Sample::new(vec![strings(&[2, 2], &words)]).with("num_buckets", 3i64),
            Sample::new(vec![strings(&[], &["a"])]).with("num_buckets", 1i64),
            Sample::new(vec![strings(&[0], &[])]).with("num_buckets", 10i64),
        ]
    },
};

/// Hashes of strings under a key.
pub static STRING_TO_HASH_BUCKET_STRONG: OpDef = OpDef {
    name: "string_to_hash_bucket_strong",
    tf_name: "StringToHashBucketStrong",
    doc: "The hash of each string under a key modulo `num_buckets`, `i64`.\n\n\
          The hash is SipHash-2-4, as in TensorFlow; `key` holds the two halves of its key as 64-bit integers.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[AttrDef::required("num_buckets", AttrKind::Int), AttrDef::required("key", AttrKind::Ints)],
    effects: &[],
    infer: |cx| {
        buckets(cx.attrs)?;
        hash_key(cx.attrs)?;
        one(Type::tensor(DType::I64, cx.shape(0).clone()))
    },
    cpu: Cpu::Kernel(|call| {
        let (x, n, key) = (call.inputs[0], buckets(call.attrs)?, hash_key(call.attrs)?);
        call.out(0, DType::I64, x.dims())?;
        for (bucket, s) in call.outputs[0].as_mut_slice::<i64>().iter_mut().zip(x.strings()) {
            *bucket = (siphash(key, s) % n) as i64;
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
        let words = ["Hello", "a string of more than one word", "", "TF"];
        vec![
            Sample::new(vec![strings(&[2, 2], &words)]).with("num_buckets", 30i64).with("key", &[1i64, 2][..]),
            Sample::new(vec![strings(&[], &["a"])]).with("num_buckets", 1i64).with("key", &[-1i64, 0][..]),
        ]
    },
};

fn hash_key(attrs: &Attrs) -> Result<[u64; 2]> {
    let key: Result<[i64; 2], _> = attrs.ints(1).try_into();
    let [low, high] = key.map_err(|_| Error::invalid("must be two integers").argument("key"))?;
    Ok([low as u64, high as u64])
}

pub(crate) fn buckets(attrs: &Attrs) -> Result<u64> {
    let n = attrs.int(0);
    u64::try_from(n)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| Error::invalid(format!("must be at least 1, got {n}")).argument("num_buckets"))
}
