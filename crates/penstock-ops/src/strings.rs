//! Operators on strings. A string is any sequence of bytes; those that speak of characters read it as UTF-8.

use penstock_data::{
    Bool8, Bytes, C64, C128, DType, DTypeSet, Error, NarrowFormat, Result, Shape, Tensor, bf16, f16, memory, with_dtype,
};
use penstock_ir::{
    ArgType, AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold,
    InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg, arg_of, args_of,
};

use crate::batch_rules;
use crate::format::general;
use crate::operands::{like, require_dtype};
use crate::patterns::{rewrite, with_pattern};
use crate::sample_arrays::{i32s, i64s};
use crate::samples::{strings, tensor};
use crate::text::is_space;
use crate::util::{PROMISE, one};

/// The operators of this family; `string_add`, `string_equal` and the like are with the comparisons.
pub static OPS: &[&OpDef] = &[
    &STRING_LENGTH,
    &STRING_JOIN,
    &STRING_LOWER,
    &STRING_UPPER,
    &STRING_STRIP,
    &SUBSTR,
    &AS_STRING,
    &STRING_TO_NUMBER,
    &REGEX_REPLACE,
    &REGEX_FULL_MATCH,
];

const STR: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::STR)];
const ON_HOST: Cuda = Cuda::HostFallback("strings live on the host");

const fn text(name: &'static str, default: &'static str) -> AttrDef {
    AttrDef::new(name, AttrKind::Str, AttrDefault::Str(default))
}

fn words() -> Vec<Sample> {
    let list = ["", "Ab c", "h\u{e9}LLO", " x\t\x0b", "a\0b", "bcbc"];
    let mut out = vec![Sample::new(vec![strings(&[2, 3], &list)])];
    out.push(Sample::new(vec![strings(&[], &["Stra\u{df}e"])]));
    out.push(Sample::new(vec![strings(&[0], &[])]));
    out
}

/// The strings of an iterator. Each takes memory of its own in a way that cannot fail, so whether there is room for them is
/// tried first.
///
/// # Errors
/// The first that is an error; `ResourceExhausted` where the memory cannot be had.
pub(crate) fn collected(items: impl ExactSizeIterator<Item = Result<Bytes>>) -> Result<Vec<Bytes>> {
    /// What an element, its counts of references and the allocator take.
    const EACH: usize = 64;
    if items.len() > 1 << 16 {
        memory::with_room::<[u8; EACH]>(items.len())?;
    }
    memory::try_collected(items)
}

/// Makes the result the strings that `f` makes of those of operand 0.
pub(crate) fn map_strings(call: &mut Call<'_>, mut f: impl FnMut(&Bytes) -> Result<Bytes>) -> Result<()> {
    let x = call.inputs[0];
    let made = collected(x.strings().iter().map(&mut f))?;
    call.set(0, Tensor::from_strings(x.dims(), made)?);
    Ok(())
}

/// Whether attribute `index` asks for characters rather than bytes.
fn characters(attrs: &Attrs, index: usize) -> Result<bool> {
    match attrs.str(index) {
        "BYTE" => Ok(false),
        "UTF8_CHAR" => Ok(true),
        other => Err(Error::invalid(format!("expected 'BYTE' or 'UTF8_CHAR', got '{other}'")).argument("unit")),
    }
}

/// Where the characters of a string start. A byte that is not UTF-8 is a character of its own.
fn starts(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut base = 0;
    bytes.utf8_chunks().flat_map(move |chunk| {
        let start = base;
        base += chunk.valid().len() + chunk.invalid().len();
        let bad = start + chunk.valid().len();
        chunk.valid().char_indices().map(move |(i, _)| start + i).chain(bad..bad + chunk.invalid().len())
    })
}

/// Lengths.
pub static STRING_LENGTH: OpDef = OpDef {
    name: "string_length",
    tf_name: "StringLength",
    doc: "The length of each string, in bytes or, where `unit` is `UTF8_CHAR`, in characters; `i32`.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[text("unit", "BYTE")],
    effects: &[],
    infer: |cx| {
        characters(cx.attrs, 0)?;
        one(Type::tensor(DType::I32, cx.shape(0).clone()))
    },
    cpu: Cpu::Kernel(|call| {
        let (x, characters) = (call.inputs[0], characters(call.attrs, 0)?);
        call.out(0, DType::I32, x.dims())?;
        let out = call.outputs[0].as_mut_slice::<i32>();
        for (n, s) in out.iter_mut().zip(x.strings()) {
            *n = if characters { starts(s).count() } else { s.len() } as i32;
        }
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = words();
        out.extend(words().into_iter().map(|s| s.with("unit", "UTF8_CHAR")));
        out
    },
};

/// Strings one after the other.
pub static STRING_JOIN: OpDef = OpDef {
    name: "string_join",
    tf_name: "StringJoin",
    doc: "The strings of `values` joined element by element, with `separator` between them.\n\n\
          All that are not scalars have the same shape.",
    dtypes: STR,
    operands: &[args_of("values", ArgType::Var(0))],
    attrs: &[text("separator", "")],
    effects: &[],
    infer: |cx| {
        let mut shape = None;
        let mut certain = true;
        for i in 0..cx.inputs.len() {
            match cx.shape(i).rank() {
                Some(0) => {}
                None => certain = false,
                Some(_) => shape = Some(joined(shape.as_ref(), cx.shape(i), i)?),
            }
        }
        // What is of unknown rank may be a scalar, or give the shape.
        let all_scalars = if certain { Shape::scalar() } else { Shape::UNRANKED };
        one(Type::tensor(DType::Str, shape.unwrap_or(all_scalars)))
    },
    cpu: Cpu::Kernel(|call| {
        let inputs = call.inputs;
        let mut shape = None;
        for (i, t) in inputs.iter().enumerate().filter(|(_, t)| t.rank() > 0) {
            shape = Some(joined(shape.as_ref(), &Shape::known(t.dims()), i)?);
        }
        let dims = shape.unwrap_or_else(Shape::scalar).extents().unwrap_or_default();
        let separator = call.attrs.str(0).as_bytes();
        let join = |i: usize| -> Result<Bytes> {
            memory::joined(inputs.iter().map(|t| &*t.strings()[if t.rank() == 0 { 0 } else { i }]), separator)
        };
        let made = collected((0..dims.iter().product()).map(join))?;
        call.set(0, Tensor::from_strings(&dims, made)?);
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
        let pair = || strings(&[2], &["a", "bc"]);
        vec![
            Sample::new(vec![pair(), pair()]).with("separator", "-"),
            Sample::new(vec![strings(&[], &["x"]), pair(), strings(&[], &[""])]).with("separator", ", "),
            Sample::new(vec![strings(&[], &["x"]), strings(&[], &["y"])]),
            Sample::new(vec![strings(&[0], &[])]),
            Sample::new(vec![]),
        ]
    },
};

/// The shape that two of the joined tensors have.
fn joined(shape: Option<&Shape>, other: &Shape, i: usize) -> Result<Shape> {
    let Some(shape) = shape else { return Ok(other.clone()) };
    shape
        .merge(other)
        .ok_or_else(|| Error::invalid(format!("shape {other} does not match {shape}")).argument(format!("values[{i}]")))
}

/// Checks an `encoding` and tells whether it is UTF-8.
fn utf8(attrs: &Attrs) -> Result<bool> {
    match attrs.str(0) {
        "" => Ok(false),
        "utf-8" => Ok(true),
        other => Err(Error::invalid(format!("expected '' or 'utf-8', got '{other}'")).argument("encoding")),
    }
}

/// The string with `f` applied to what is UTF-8 in it.
fn map_utf8(bytes: &[u8], f: impl Fn(&str) -> String) -> Bytes {
    let mut out = memory::scratch_room(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(f(chunk.valid()).as_bytes());
        out.extend_from_slice(chunk.invalid());
    }
    out.into()
}

macro_rules! cases {
    ($(#[$doc:meta])* $name:ident, $text:literal, $tf:literal, $ascii:ident, $unicode:ident, $summary:literal) => {
        $(#[$doc])*
        pub static $name: OpDef = OpDef {
            name: $text,
            tf_name: $tf,
            doc: concat!($summary, "\n\nOnly ASCII letters change, unless `encoding` is `utf-8`."),
            dtypes: STR,
            operands: &[arg("x")],
            attrs: &[text("encoding", "")],
            effects: &[],
            infer: |cx| {
                utf8(cx.attrs)?;
                one(cx.inputs[0].clone())
            },
            cpu: Cpu::Kernel(|call| {
                let utf8 = utf8(call.attrs)?;
                map_strings(call, |s| Ok(if utf8 { map_utf8(s, |s| s.$unicode()) } else { s.$ascii().into() }))
            }),
            cuda: ON_HOST,
            vjp: Vjp::Zero,
            jvp: Jvp::FromVjp,
            batch: Batch::Rule(batch_rules::first),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::OnShapes,
            fold: Fold::Evaluate,
            promise: PROMISE,
            samples: || {
                let mut out = words();
                out.extend(words().into_iter().map(|s| s.with("encoding", "utf-8")));
                out
            },
        };
    };
}

cases! {
    /// Lower case.
    STRING_LOWER, "string_lower", "StringLower", to_ascii_lowercase, to_lowercase, "Each string in lower case."
}
cases! {
    /// Upper case.
    STRING_UPPER, "string_upper", "StringUpper", to_ascii_uppercase, to_uppercase, "Each string in upper case."
}

/// Strings without space around them.
pub static STRING_STRIP: OpDef = OpDef {
    name: "string_strip",
    tf_name: "StringStrip",
    doc: "Each string without the ASCII white space at its ends.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(cx.inputs[0].clone()),
    cpu: Cpu::Kernel(|call| {
        map_strings(call, |s| {
            let start = s.iter().position(|&b| !is_space(b)).unwrap_or(s.len());
            let end = s.iter().rposition(|&b| !is_space(b)).map_or(start, |i| i + 1);
            Ok(s[start..end].into())
        })
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: words,
};

/// Parts of strings.
pub static SUBSTR: OpDef = OpDef {
    name: "substr",
    tf_name: "Substr",
    doc: "The part of each string from `pos`, of at most `len` bytes or, where `unit` is `UTF8_CHAR`, characters.\n\n\
          A negative `pos` counts from the end; a negative `len` takes the rest. `pos` and `len` have one shape, which broadcasts \
          with that of `x`. Raises InvalidArgument for a `pos` outside of the string.",
    dtypes: &[DTypeVar::new("T", DTypeSet::INDEX)],
    operands: &[arg_of("x", ArgType::Fixed(DType::Str)), arg("pos"), arg("len")],
    attrs: &[text("unit", "BYTE")],
    effects: &[],
    infer: |cx| {
        characters(cx.attrs, 0)?;
        let span = cx.shape(1).merge(cx.shape(2)).ok_or_else(|| {
            Error::invalid(format!("shape {} differs from the shape {} of 'pos'", cx.shape(2), cx.shape(1)))
                .argument("len")
        })?;
        let shape = cx.shape(0).broadcast(&span).ok_or_else(|| {
            Error::invalid(format!("shape {span} does not broadcast with the shape {} of 'x'", cx.shape(0)))
                .argument("pos")
        })?;
        one(like(cx, 0, shape))
    },
    cpu: Cpu::Kernel(run_substr),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let x = || strings(&[2], &["hello", "h\u{e9}y"]);
        vec![
            Sample::new(vec![x(), Tensor::scalar(1i32), Tensor::scalar(2i32)]),
            Sample::new(vec![x(), i64s(&[1, -2]), i64s(&[-1, 9])]).with("unit", "UTF8_CHAR"),
            Sample::new(vec![strings(&[], &["hello"]), i32s(&[0, 5]), i32s(&[0, 1])]),
            Sample::new(vec![strings(&[0], &[]), Tensor::scalar(0i32), Tensor::scalar(1i32)]),
        ]
    },
};

fn run_substr(call: &mut Call<'_>) -> Result<()> {
    let [x, pos, len] = [0, 1, 2].map(|i| call.inputs[i]);
    let characters = characters(call.attrs, 0)?;
    if pos.dims() != len.dims() {
        return Err(Error::invalid(format!("shape {:?} differs from the shape {:?} of 'pos'", len.dims(), pos.dims()))
            .argument("len"));
    }
    let dims =
        Shape::known(x.dims()).broadcast(&Shape::known(pos.dims())).and_then(|s| s.extents()).ok_or_else(|| {
            Error::invalid(format!("shape {:?} does not broadcast with the shape {:?} of 'x'", pos.dims(), x.dims()))
                .argument("pos")
        })?;
    // The position of element `i` of the result in an operand, whose own extents count from the end.
    let position = |operand: &Tensor, mut i: usize| {
        let (mut at, mut step) = (0, 1);
        let own = operand.dims().iter().rev().copied().chain(std::iter::repeat(1));
        for (&dim, own) in dims.iter().rev().zip(own) {
            at += if own == 1 { 0 } else { i % dim * step };
            step *= own;
            i /= dim;
        }
        at
    };
    let (pos_ints, len_ints) = (pos.to_ints()?, len.to_ints()?);
    let cut = |i: usize| -> Result<Bytes> {
        let (at, span) = (position(x, i), position(pos, i));
        let s = &x.strings()[at];
        // Where the characters are that are more than a byte each.
        let text = if characters { std::str::from_utf8(s).ok() } else { None };
        let marks: Option<Vec<usize>> = (characters && text.is_none()).then(|| starts(s).chain([s.len()]).collect());
        let n = match (text, &marks) {
            (Some(text), _) => text.chars().count(),
            (None, Some(marks)) => marks.len() - 1,
            (None, None) => s.len(),
        };
        let pos = pos_ints[span];
        let first = if pos < 0 { pos.saturating_add(n as i64) } else { pos };
        let first = usize::try_from(first).ok().filter(|&f| f <= n).ok_or_else(|| {
            let shown = String::from_utf8_lossy(s);
            Error::invalid(format!("pos {pos} out of range for string {shown:?} at index {at}")).argument("pos")
        })?;
        let last = usize::try_from(len_ints[span]).map_or(n, |len| first.saturating_add(len).min(n));
        let byte = |i: usize| match (text, &marks) {
            (Some(_), _) if n == s.len() => i,
            (Some(text), _) => text.char_indices().nth(i).map_or(s.len(), |(at, _)| at),
            (None, Some(marks)) => marks[i],
            (None, None) => i,
        };
        Ok(s[byte(first)..byte(last)].into())
    };
    let made = collected((0..dims.iter().product()).map(cut))?;
    call.set(0, Tensor::from_strings(&dims, made)?);
    Ok(())
}

/// Elements as text.
pub static AS_STRING: OpDef = OpDef {
    name: "as_string",
    tf_name: "AsString",
    doc: "Each element as text, as C's `printf` writes it.\n\n\
          Integers are decimal, booleans `true` and `false`. Floats are written as `%f`, as `%e` where `scientific`, as `%g` where \
          `shortest`, with `precision` digits unless that is negative; complex numbers as two of them: `(1.000000,2.000000)`. A \
          text shorter than `width` is filled with spaces in front, with zeros where `fill` is `0`, with spaces behind where it \
          is `-`. Raises InvalidArgument for `precision`, `scientific` and `shortest` on integers. Strings stay as they are.",
    dtypes: &[DTypeVar::new("T", DTypeSet::ANY)],
    operands: &[arg("x")],
    attrs: &[
        AttrDef::new("precision", AttrKind::Int, AttrDefault::Int(-1)),
        AttrDef::flag("scientific", false),
        AttrDef::flag("shortest", false),
        AttrDef::new("width", AttrKind::Int, AttrDefault::Int(-1)),
        text("fill", ""),
    ],
    effects: &[],
    infer: |cx| {
        Style::of(cx.attrs, cx.dtype(0))?;
        one(Type::tensor(DType::Str, cx.shape(0).clone()))
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let style = Style::of(call.attrs, x.dtype())?;
        if x.dtype() == DType::Str {
            call.set(0, x.clone());
            return Ok(());
        }
        let made = collected((0..x.len()).map(|i| Ok(style.element(x, i).into_bytes().into())))?;
        call.set(0, Tensor::from_strings(x.dims(), made)?);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let of = |d: DType, dims: &[usize]| Sample::new(vec![tensor(d, dims, &[1.0, -0.5, 100.0, 0.1])]);
        let mut out: Vec<Sample> = DTypeSet::PLAIN.iter().map(|d| of(d, &[4])).collect();
        out.extend([&[][..], &[0], &[2, 2]].map(|dims| of(DType::F32, dims)));
        out.push(of(DType::F64, &[4]).with("precision", 2).with("width", 9).with("fill", "0"));
        out.push(of(DType::F64, &[4]).with("scientific", true));
        out.push(of(DType::F32, &[4]).with("shortest", true));
        out.push(of(DType::I32, &[4]).with("width", 5).with("fill", "-"));
        out
    },
};

/// How elements are written.
struct Style {
    precision: Option<usize>,
    scientific: bool,
    shortest: bool,
    width: usize,
    fill: Option<u8>,
}

impl Style {
    fn of(attrs: &Attrs, dtype: DType) -> Result<Style> {
        let style = Style {
            precision: usize::try_from(attrs.int(0)).ok(),
            scientific: attrs.flag(1),
            shortest: attrs.flag(2),
            width: usize::try_from(attrs.int(3)).unwrap_or(0),
            fill: attrs.str(4).bytes().next(),
        };
        if style.scientific && style.shortest {
            return Err(Error::invalid("cannot be combined with 'scientific'").argument("shortest"));
        }
        let none = |what: &str| Error::invalid(format!("not supported for dtype {}", dtype.tf_name())).argument(what);
        if !dtype.is_float() && !dtype.is_complex() && !matches!(NarrowFormat::of(dtype), Some(NarrowFormat::Float(_)))
        {
            for (given, what) in [
                (style.precision.is_some(), "precision"),
                (style.scientific, "scientific"),
                (style.shortest, "shortest"),
            ] {
                if given {
                    return Err(none(what));
                }
            }
        }
        // A width or precision beyond any number's digits is a mistake, not a request for memory.
        const LONGEST: usize = 1 << 16;
        for (n, what) in [(style.width, "width"), (style.precision.unwrap_or(0), "precision")] {
            if n > LONGEST {
                return Err(Error::invalid(format!("must be at most {LONGEST}, got {n}")).argument(what));
            }
        }
        match attrs.str(4) {
            "" | " " | "+" | "-" | "0" => Ok(style),
            other => {
                Err(Error::invalid(format!("expected one of '', ' ', '+', '-' and '0', got '{other}'"))
                    .argument("fill"))
            }
        }
    }

    fn element(&self, x: &Tensor, i: usize) -> String {
        macro_rules! at {
            ($ty:ty) => {
                x.as_slice::<$ty>()[i]
            };
        }
        let pair = |re: f64, im: f64| format!("({},{})", self.float(re), self.float(im));
        match x.dtype() {
            DType::Bool => if at!(Bool8).get() { "true" } else { "false" }.into(),
            DType::F16 => self.float(at!(f16).into()),
            DType::Bf16 => self.float(at!(bf16).into()),
            DType::F32 => self.float(at!(f32).into()),
            DType::F64 => self.float(at!(f64)),
            DType::C64 => pair(at!(C64).re.into(), at!(C64).im.into()),
            DType::C128 => pair(at!(C128).re, at!(C128).im),
            dtype => {
                with_dtype!(integer, dtype, T => self.filled(at!(T).to_string(), dtype.is_unsigned(), true),
                    else with_dtype!(narrow, dtype, T => match T::FORMAT {
                        NarrowFormat::Float(_) => self.float(at!(T).to_f32().into()),
                        NarrowFormat::Int { signed, .. } => self.filled(at!(T).to_f32().to_string(), !signed, true),
                    }, else String::new()))
            }
        }
    }

    fn float(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let text = if !value.is_finite() || self.shortest {
            general(value, precision)
        } else if self.scientific {
            let text = format!("{value:.precision$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        } else {
            format!("{value:.precision$}")
        };
        self.filled(text, false, value.is_finite())
    }

    /// The text with the sign and the padding that `fill` asks for.
    fn filled(&self, text: String, unsigned: bool, zeros: bool) -> String {
        let (sign, digits) = match (text.strip_prefix('-'), self.fill) {
            (Some(digits), _) => ("-", digits),
            (None, Some(b'+')) if !unsigned => ("+", text.as_str()),
            (None, Some(b' ')) if !unsigned => (" ", text.as_str()),
            _ => ("", text.as_str()),
        };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        match self.fill {
            Some(b'0') if zeros => format!("{sign}{}{digits}", "0".repeat(missing)),
            Some(b'-') => format!("{sign}{digits}{}", " ".repeat(missing)),
            _ => format!("{}{sign}{digits}", " ".repeat(missing)),
        }
    }
}

/// Numbers from text.
pub static STRING_TO_NUMBER: OpDef = OpDef {
    name: "string_to_number",
    tf_name: "StringToNumber",
    doc: "The number that each string writes, with white space around it allowed, as `dtype`: `f32`, `f64` or an integer of 32 or \
          64 bits.\n\nRaises InvalidArgument for a string that is no such number.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[AttrDef::new("dtype", AttrKind::DType, AttrDefault::DType(DType::F32))],
    effects: &[],
    infer: |cx| {
        use DType::{F32, F64, I32, I64, U32, U64};
        let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::of(&[F32, F64, I32, I64, U32, U64]), "dtype")?;
        one(Type::tensor(dtype, cx.shape(0).clone()))
    },
    cpu: Cpu::Kernel(|call| {
        let (x, dtype) = (call.inputs[0], call.attrs.dtype(0));
        call.out(0, dtype, x.dims())?;
        macro_rules! parse {
            ($($variant:ident $ty:ty),*) => {
                match dtype {
                    $(DType::$variant => {
                        let out = call.outputs[0].as_mut_slice::<$ty>();
                        for (n, s) in out.iter_mut().zip(x.strings()) {
                            let text = std::str::from_utf8(s).ok().map(|s| s.trim_ascii());
                            *n = text.and_then(|t| t.parse().ok()).ok_or_else(|| not_a_number(s, dtype))?;
                        }
                    })*
                    other => return Err(Error::internal(format!("string_to_number gives no {other}"))),
                }
            };
        }
        parse!(F32 f32, F64 f64, I32 i32, I64 i64, U32 u32, U64 u64);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let floats = ["1.5", " 2 ", "1e3", "inf", "-nan", ".5", "1."];
        let ints = ["1", " 2 ", "+3", "40"];
        vec![
            Sample::new(vec![strings(&[7], &floats)]),
            Sample::new(vec![strings(&[7], &floats)]).with("dtype", DType::F64),
            Sample::new(vec![strings(&[2, 2], &ints)]).with("dtype", DType::I32),
            Sample::new(vec![strings(&[], &["-7"])]).with("dtype", DType::I64),
            Sample::new(vec![strings(&[0], &[])]).with("dtype", DType::U32),
        ]
    },
};

fn not_a_number(s: &[u8], dtype: DType) -> Error {
    Error::invalid(format!("{:?} is not a number of dtype {}", String::from_utf8_lossy(s), dtype.tf_name()))
        .argument("x")
}

/// Replacement by pattern.
pub static REGEX_REPLACE: OpDef = OpDef {
    name: "regex_replace",
    tf_name: "StaticRegexReplace",
    doc: "Each string with every match of `pattern`, or only the first unless `replace_global`, replaced by `rewrite`.\n\n\
          In `rewrite` `\\0` is the match, `\\1` to `\\9` its groups, `\\\\` a backslash. The syntax of patterns is that of the Rust \
          crate `regex`, close to RE2's. Raises InvalidArgument for a malformed pattern or rewrite.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[
        AttrDef::required("pattern", AttrKind::Str),
        AttrDef::required("rewrite", AttrKind::Str),
        AttrDef::flag("replace_global", true),
    ],
    effects: &[],
    infer: |cx| {
        with_pattern(cx.attrs.str(0), |pattern| rewrite(cx.attrs.str(1), pattern.groups()))?;
        one(cx.inputs[0].clone())
    },
    cpu: Cpu::Kernel(|call| {
        let limit = if call.attrs.flag(2) { usize::MAX } else { 1 };
        with_pattern(call.attrs.str(0), |pattern| {
            let pieces = rewrite(call.attrs.str(1), pattern.groups())?;
            map_strings(call, |s| memory::shared(pattern.replace(s, limit, &pieces)?))
        })
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let with = |pattern: &'static str, rewrite: &'static str| {
            move |s: Sample| s.with("pattern", pattern).with("rewrite", rewrite)
        };
        let mut out: Vec<Sample> = words().into_iter().map(with("(b)(c)?", "<\\2\\1\\\\>")).collect();
        out.extend(words().into_iter().map(with("", "-")));
        out.push(with("b", "x")(words().remove(0)).with("replace_global", false));
        out
    },
};

/// Whole matches.
pub static REGEX_FULL_MATCH: OpDef = OpDef {
    name: "regex_full_match",
    tf_name: "StaticRegexFullMatch",
    doc: "Whether `pattern` matches the whole of each string.\n\n\
          The syntax of patterns is that of the Rust crate `regex`, close to RE2's. Raises InvalidArgument for a malformed one.",
    dtypes: STR,
    operands: &[arg("x")],
    attrs: &[AttrDef::required("pattern", AttrKind::Str)],
    effects: &[],
    infer: infer_full_match,
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let pattern = whole(call.attrs.str(0))?;
        with_pattern(&pattern, |pattern| {
            call.out(0, DType::Bool, x.dims())?;
            let out = call.outputs[0].as_mut_slice::<Bool8>();
            for (hit, s) in out.iter_mut().zip(x.strings()) {
                *hit = Bool8::new(pattern.is_match(s));
            }
            Ok(())
        })
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || words().into_iter().map(|s| s.with("pattern", "(?i)a?[b ]*c?|bc.*")).collect(),
};

/// A pattern that matches where `pattern` matches the whole.
fn whole(pattern: &str) -> Result<String> {
    // Compiled by itself first, so that no bracket of it can close the group around it.
    with_pattern(pattern, |_| Ok(()))?;
    Ok(format!(r"\A(?:{pattern})\z"))
}

fn infer_full_match(cx: &InferCx<'_>) -> Result<OutTypes> {
    whole(cx.attrs.str(0))?;
    one(Type::tensor(DType::Bool, cx.shape(0).clone()))
}
