//! Strings.

use penstock_data::{DType as D, Error, Result};

use super::{Cx, Entry, From::*, Val, made, made_many, one, op, refused, tensors};

pub(super) static OPS: &[Entry] = &[
    op("StringLength", "string_length", &[("unit", Text("unit", "BYTE"))]),
    op("StringJoin", "string_join", &[("separator", Text("separator", ""))]),
    op("StringLower", "string_lower", &[("encoding", Text("encoding", ""))]),
    op("StringUpper", "string_upper", &[("encoding", Text("encoding", ""))]),
    op("StringStrip", "string_strip", &[]),
    op("Substr", "substr", &[("unit", Text("unit", "BYTE"))]),
    op(
        "AsString",
        "as_string",
        &[
            ("precision", Int("precision", -1)),
            ("scientific", Flag("scientific", false)),
            ("shortest", Flag("shortest", false)),
            ("width", Int("width", -1)),
            ("fill", Text("fill", "")),
        ],
    ),
    op("StringToNumber", "string_to_number", &[("dtype", DType("out_type", D::F32))]),
    op(
        "StaticRegexReplace",
        "regex_replace",
        &[
            ("pattern", Text("pattern", "")),
            ("rewrite", Text("rewrite", "")),
            ("replace_global", Flag("replace_global", true)),
        ],
    ),
    made("RegexReplace", |cx, _| {
        let (x, pattern, rewrite) = (cx.tensor(0)?, constant(cx, 1)?, constant(cx, 2)?);
        let all = cx.flag("replace_global", true)?;
        let attrs = [("pattern", (&*pattern).into()), ("rewrite", (&*rewrite).into()), ("replace_global", all.into())];
        one(cx.op("regex_replace", &[x], &attrs)?)
    }),
    op("StaticRegexFullMatch", "regex_full_match", &[("pattern", Text("pattern", ""))]),
    made("RegexFullMatch", |cx, _| {
        let (x, pattern) = (cx.tensor(0)?, constant(cx, 1)?);
        one(cx.op("regex_full_match", &[x], &[("pattern", (&*pattern).into())])?)
    }),
    made("ReduceJoin", |cx, _| {
        let (x, axes) = (cx.tensor(0)?, cx.const_ints(1)?);
        let (keep, separator) = (cx.flag("keep_dims", false)?, cx.text("separator", "")?.to_owned());
        let attrs = [("axes", axes.into()), ("keepdims", keep.into()), ("separator", (&*separator).into())];
        one(cx.op("string_reduce_join", &[x], &attrs)?)
    }),
    made_many("StringSplitV2", &["indices", "values", "shape"], split),
    op("StringToHashBucketFast", "string_to_hash_bucket_fast", &[("num_buckets", Int("num_buckets", 1))]),
    op(
        "StringToHashBucketStrong",
        "string_to_hash_bucket_strong",
        &[("num_buckets", Int("num_buckets", 1)), ("key", Ints("key"))],
    ),
    op("EncodeBase64", "encode_base64", &[("pad", Flag("pad", false))]),
    op("DecodeBase64", "decode_base64", &[]),
    op("SerializeTensor", "serialize_tensor", &[]),
    op("ParseTensor", "parse_tensor", &[("out_type", DType("out_type", D::F32))]),
    op(
        "DecodeRaw",
        "decode_raw",
        &[("out_type", DType("out_type", D::F32)), ("little_endian", Flag("little_endian", true))],
    ),
    made("DecodePaddedRaw", |cx, _| {
        let (x, length) = (cx.tensor(0)?, cx.const_int(1)?);
        let (dtype, little) = (cx.dtype("out_type", D::F32)?, cx.flag("little_endian", true)?);
        let attrs = [("out_type", dtype.into()), ("little_endian", little.into()), ("fixed_length", length.into())];
        one(cx.op("decode_raw", &[x], &attrs)?)
    }),
    made("StringFormat", |cx, _| {
        let data = cx.tensors()?;
        let (mark, template) = (cx.text("placeholder", "%s")?.to_owned(), cx.text("template", "%s")?.to_owned());
        if mark.is_empty() {
            return Err(Error::invalid("the mark of a place is empty"));
        }
        let template = template.replace('{', "{{").replace('}', "}}");
        let mark = mark.replace('{', "{{").replace('}', "}}");
        let template = template.replace(&*mark, "{}");
        let summarize = cx.int("summarize", 3)?;
        one(cx.op("string_format", &data, &[("template", (&*template).into()), ("summarize", summarize.into())])?)
    }),
    made("PrintV2", |cx, _| {
        let text = cx.tensor(0)?;
        let stream = match cx.text("output_stream", "stderr")? {
            known @ ("stdout" | "stderr") => known.to_owned(),
            other if other.starts_with("log") => "stderr".to_owned(),
            file if file.starts_with("file://") => file.to_owned(),
            other => return refused(format!("printing to '{other}'")),
        };
        let end = cx.text("end", "\n")?.to_owned();
        let attrs = [
            ("stream", (&*stream).into()),
            ("end", (&*end).into()),
            ("template", "{}".into()),
            ("summarize", (-1i64).into()),
        ];
        cx.ops("print", &[text], &attrs)?;
        Ok(Vec::new())
    }),
];

/// The text that an input is.
fn constant(cx: &Cx<'_, '_, '_, '_>, index: usize) -> Result<String> {
    let known = cx.lowering.known(cx.tensor(index)?);
    let text = known.filter(|t| t.dtype() == D::Str && t.len() == 1);
    let text = text.ok_or_else(|| Error::unimplemented(format!("input {index} must be a constant")))?;
    String::from_utf8(text.strings()[0].to_vec()).map_err(|e| Error::invalid(e.to_string()))
}

/// The parts of texts, as a sparse matrix has them.
fn split(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (x, sep, most) = (cx.tensor(0)?, constant(cx, 1)?, cx.int("maxsplit", -1)?);
    let made = cx.ops("string_split", &[x], &[("sep", (&*sep).into()), ("maxsplit", most.into())])?;
    let [values, splits] = made[..] else { return Err(Error::internal("'string_split' gives values and splits")) };
    let as_i64 = [("dtype", D::I64.into())];
    let (zero, one_) = (cx.constant(0i64.into()), cx.constant(1i64.into()));
    let count = cx.op("size", &[values], &as_i64)?;
    let all = cx.op("range", &[zero, count, one_], &[])?;
    let splits = cx.op("cast", &[splits], &as_i64)?;
    let found = cx.op("searchsorted", &[splits, all], &[("right", true.into()), ("dtype", D::I64.into())])?;
    let rows = cx.op("sub", &[found, one_], &[])?;
    let starts = cx.op("gather", &[splits, rows], &[])?;
    let columns = cx.op("sub", &[all, starts], &[])?;
    let indices = cx.op("stack", &[rows, columns], &[("axis", 1i64.into())])?;
    let height = cx.op("size", &[x], &as_i64)?;
    let (begin, end) = (cx.ints(&[1]), cx.ints(&[-1]));
    let ends = cx.op("slice", &[splits, begin, end], &[])?;
    let begins = {
        let (begin, size) = (cx.ints(&[0]), cx.op("expand_dims", &[height], &[("axis", 0i64.into())])?);
        cx.op("slice", &[splits, begin, size], &[])?
    };
    let lengths = cx.op("sub", &[ends, begins], &[])?;
    let widest = cx.op("reduce_max", &[lengths], &[])?;
    let width = cx.op("maximum", &[widest, zero], &[])?;
    let shape = cx.op("stack", &[height, width], &[])?;
    tensors(vec![indices, values, shape])
}
