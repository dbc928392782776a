//! Operators that read and write the bytes of strings: numbers, tensors, and base64.

use penstock_codec::tensor_proto;
use penstock_data::{Bytes, DType, DTypeSet, Dim, Error, Result, Shape, Tensor, check_rank, memory};
use penstock_ir::{
    ArgType, AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cpu, Cuda, Elements, Fails, Fold, Jvp, OpDef,
    Rows, Sample, Type, Vjp, arg_of,
};

use crate::batch_rules;
use crate::operands::require_rank;
use crate::sample_arrays::i32s;
use crate::samples::strings;
use crate::strings::map_strings;
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&DECODE_RAW, &ENCODE_BASE64, &DECODE_BASE64, &SERIALIZE_TENSOR, &PARSE_TENSOR];

const ON_HOST: Cuda = Cuda::HostFallback("strings live on the host");

/// The dtype of the numbers, and how many bytes of each string are read; `None` for all.
fn raw_options(attrs: &Attrs) -> Result<(DType, Option<usize>)> {
    let dtype = attrs.dtype(0);
    if !dtype.is_numeric() && dtype != DType::Bool {
        let message = format!("must be a dtype of numbers, got {}", dtype.tf_name());
        return Err(Error::invalid(message).argument("out_type"));
    }
    match attrs.int(2) {
        -1 => Ok((dtype, None)),
        length => match usize::try_from(length) {
            Ok(length) if length > 0 && length.is_multiple_of(dtype.size()) => Ok((dtype, Some(length))),
            _ => {
                let message = format!("must be a positive multiple of {}, got {length}", dtype.size());
                Err(Error::invalid(message).argument("fixed_length"))
            }
        },
    }
}

/// The bytes of strings as numbers.
pub static DECODE_RAW: OpDef = OpDef {
    name: "decode_raw",
    tf_name: "DecodeRaw",
    doc: "The bytes of each of `input_bytes` as numbers of dtype `out_type`, in a new last dimension.\n\n\
          The lowest byte of a number comes first, or last where `little_endian` is false. Of each string `fixed_length` bytes are \
          read, and zeros follow a shorter one; -1 is for all of strings of one length. A `bool` is whether a byte is not 0.\n\n\
          Errors: `InvalidArgument` for strings of several lengths, and for a length that is no multiple of the dtype's size.",
    dtypes: &[],
    operands: &[arg_of("input_bytes", ArgType::Fixed(DType::Str))],
    attrs: &[
        AttrDef::required("out_type", AttrKind::DType),
        AttrDef::flag("little_endian", true),
        AttrDef::new("fixed_length", AttrKind::Int, AttrDefault::Int(-1)),
    ],
    effects: &[],
    infer: |cx| {
        let (dtype, length) = raw_options(cx.attrs)?;
        let last = length.map_or(Dim::Unknown, |length| Dim::Known(length / dtype.size()));
        let Some(dims) = cx.shape(0).dims() else { return one(Type::tensor(dtype, Shape::UNRANKED)) };
        check_rank(dims.len() + 1)?;
        one(Type::tensor(dtype, Shape::new(dims.iter().copied().chain([last]))))
    },
    cpu: Cpu::Kernel(run_decode_raw),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let bytes: &[&[u8]] = &[b"\x00\x01\x02\x80", b"abcd", b"\xff\xfe\xfd\x7f"];
        let row = || Tensor::from_strings(&[3], bytes.iter().map(|&b| b.into()).collect()).expect("three strings");
        let of = |dtype: DType| Sample::new(vec![row()]).with("out_type", dtype);
        vec![
            of(DType::I16),
            of(DType::I32).with("little_endian", false),
            of(DType::U8).with("fixed_length", 3i64),
            of(DType::C64).with("fixed_length", 16i64).with("little_endian", false),
            of(DType::Bool),
            Sample::new(vec![strings(&[], &["ab"])]).with("out_type", DType::U8),
            Sample::new(vec![strings(&[2, 0], &[])]).with("out_type", DType::F64),
            Sample::new(vec![strings(&[2], &["", ""])]).with("out_type", DType::I64),
        ]
    },
};

fn run_decode_raw(call: &mut Call<'_>) -> Result<()> {
    let (input, little) = (call.inputs[0], call.attrs.flag(1));
    let (dtype, fixed) = raw_options(call.attrs)?;
    let texts = input.strings();
    let refused = |message: String| Err(Error::invalid(message).argument("input_bytes"));
    let length = match fixed {
        Some(length) => length,
        None => {
            let length = texts.first().map_or(0, |text| text.len());
            if texts.iter().any(|text| text.len() != length) {
                let mut lengths: Vec<usize> = memory::collected(texts.iter().map(|text| text.len()))?;
                lengths.sort_unstable();
                lengths.dedup();
                return refused(format!("has strings of {} lengths, not of one", lengths.len()));
            }
            length
        }
    };
    if !length.is_multiple_of(dtype.size()) {
        return refused(format!("has strings of {length} bytes, which is no multiple of {}", dtype.size()));
    }
    let dims: Vec<usize> = input.dims().iter().copied().chain([length / dtype.size()]).collect();
    call.out(0, dtype, &dims)?;
    if length == 0 {
        return Ok(());
    }
    let swapped = little != cfg!(target_endian = "little");
    for (to, text) in call.outputs[0].bytes_mut().chunks_exact_mut(length).zip(texts) {
        let given = text.len().min(length);
        to[..given].copy_from_slice(&text[..given]);
        to[given..].fill(0);
        if dtype == DType::Bool {
            to.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        } else if swapped {
            to.chunks_exact_mut(dtype.real().size()).for_each(<[u8]>::reverse);
        }
    }
    Ok(())
}

/// The 64 digits of base64 as URLs have them.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The value of each byte that is a digit; 64 for others.
const VALUES: [u8; 256] = {
    let mut values = [64; 256];
    let mut i = 0;
    while i < DIGITS.len() {
        values[DIGITS[i] as usize] = i as u8;
        i += 1;
    }
    values
};

/// Strings in base64.
pub static ENCODE_BASE64: OpDef = OpDef {
    name: "encode_base64",
    tf_name: "EncodeBase64",
    doc: "Each string in base64 with the digits that URLs may have: `-` and `_` are the last two.\n\n\
          Where `pad`, `=` fills the last group of four digits.",
    dtypes: &[],
    operands: &[arg_of("input", ArgType::Fixed(DType::Str))],
    attrs: &[AttrDef::flag("pad", false)],
    effects: &[],
    infer: |cx| one(Type::tensor(DType::Str, cx.shape(0).clone())),
    cpu: Cpu::Kernel(|call| {
        let pad = call.attrs.flag(0);
        map_strings(call, |text| encode(text, pad))
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(50.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let words = || strings(&[5], &["", "a", "ab", "abc", "~~~???"]);
        vec![
            Sample::new(vec![words()]),
            Sample::new(vec![words()]).with("pad", true),
            Sample::new(vec![strings(&[0, 2], &[])]),
        ]
    },
};

fn encode(text: &[u8], pad: bool) -> Result<Bytes> {
    let mut out = memory::with_room(text.len().div_ceil(3) * 4)?;
    for group in text.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for i in 0..4 {
            if i <= group.len() {
                out.push(DIGITS[(bits >> (18 - 6 * i) & 63) as usize]);
            } else if pad {
                out.push(b'=');
            }
        }
    }
    memory::shared(out)
}

/// Strings of base64.
pub static DECODE_BASE64: OpDef = OpDef {
    name: "decode_base64",
    tf_name: "DecodeBase64",
    doc: "What each string of base64 stands for, with the digits that URLs may have: `-` and `_` are the last two.\n\n\
          `=` may fill the last group of four digits, or be left out.\n\nErrors: `InvalidArgument` for a string that is no base64.",
    dtypes: &[],
    operands: &[arg_of("input", ArgType::Fixed(DType::Str))],
    attrs: &[],
    effects: &[],
    infer: |cx| one(Type::tensor(DType::Str, cx.shape(0).clone())),
    cpu: Cpu::Kernel(|call| map_strings(call, |text| decode(text))),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(50.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![strings(&[5], &["", "YQ", "YQ==", "YWI=", "fn5-Pz8_"])]),
            Sample::new(vec![strings(&[2, 0], &[])]),
        ]
    },
};

fn decode(text: &[u8]) -> Result<Bytes> {
    let refused = |why: &str| Error::invalid(format!("has a string that is no base64: {why}")).argument("input");
    let digits = text.iter().rposition(|&byte| byte != b'=').map_or(0, |last| last + 1);
    let filled = digits.next_multiple_of(4);
    if digits % 4 == 1 {
        return Err(refused(&format!("{digits} digits stand for no bytes")));
    }
    if text.len() != digits && text.len() != filled {
        return Err(refused(&format!("{} '=' follow {digits} digits", text.len() - digits)));
    }
    let mut out = memory::with_room(digits / 4 * 3 + 2)?;
    for group in text[..digits].chunks(4) {
        let mut bits = 0u32;
        for &byte in group {
            let value = VALUES[usize::from(byte)];
            if value == 64 {
                return Err(refused("it has a character that does not belong there"));
            }
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - group.len());
        out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    memory::shared(out)
}

/// A tensor as bytes.
pub static SERIALIZE_TENSOR: OpDef = OpDef {
    name: "serialize_tensor",
    tf_name: "SerializeTensor",
    doc: "`tensor` as the bytes of a `TensorProto` message, a string scalar.",
    dtypes: &[],
    operands: &[arg_of("tensor", ArgType::In(DTypeSet::ANY))],
    attrs: &[],
    effects: &[],
    infer: |_| one(Type::scalar(DType::Str)),
    cpu: Cpu::Kernel(|call| {
        let tensor = call.inputs[0];
        let mut out = memory::with_room(tensor.byte_len() + 64)?;
        tensor_proto::put_tensor(&mut out, tensor);
        call.set(0, Tensor::from_strings(&[], vec![memory::shared(out)?])?);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("each tensor is a message of its own"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(2.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![i32s(&[2, 3])]),
            Sample::new(vec![strings(&[2, 1], &["a", ""])]),
            Sample::new(vec![Tensor::scalar(1.5f64)]),
            Sample::new(vec![Tensor::from(true)]),
            Sample::new(vec![strings(&[0], &[])]),
        ]
    },
};

/// The tensor that bytes are.
pub static PARSE_TENSOR: OpDef = OpDef {
    name: "parse_tensor",
    tf_name: "ParseTensor",
    doc: "The tensor of dtype `out_type` that `serialized` is, a string scalar: the bytes of a `TensorProto` message.\n\n\
          Where a message has fewer values than elements, the last value stands for those that follow.\n\n\
          Errors: `InvalidArgument` for bytes that are no such message, or one of another dtype.",
    dtypes: &[],
    operands: &[arg_of("serialized", ArgType::Fixed(DType::Str))],
    attrs: &[AttrDef::required("out_type", AttrKind::DType)],
    effects: &[],
    infer: |cx| {
        require_rank(cx, 0, 0, "serialized")?;
        one(Type::tensor(cx.attrs.dtype(0), Shape::UNRANKED))
    },
    cpu: Cpu::Kernel(|call| {
        let refused = |message: String| Error::invalid(message).argument("serialized");
        let [message] = call.inputs[0].strings() else { return Err(refused("expected a scalar".to_owned())) };
        let tensor = tensor_proto::read(message, &|why| refused(format!("is no tensor: {why}")))?;
        let (own, wanted) = (tensor.dtype(), call.attrs.dtype(0));
        if own != wanted {
            return Err(refused(format!("has dtype {}, 'out_type' is {}", own.tf_name(), wanted.tf_name())));
        }
        call.set(0, tensor);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("each tensor has a shape of its own"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(10.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let of = |tensor: Tensor| {
            let mut message = Vec::new();
            tensor_proto::put_tensor(&mut message, &tensor);
            let message = Tensor::from_strings(&[], vec![message.into()]).expect("one string");
            Sample::new(vec![message]).with("out_type", tensor.dtype())
        };
        vec![of(i32s(&[2, 3])), of(strings(&[2], &["a", ""])), of(Tensor::scalar(1.5f64)), of(i32s(&[]))]
    },
};
