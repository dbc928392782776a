//! Operators that read and write images.

use penstock_codec::image::{self, JpegOptions, Options, Reader};
use penstock_data::{Bytes, DType, DTypeSet, Dim, Error, Result, Shape, Tensor, memory};
use penstock_ir::{
    ArgDef, ArgType, AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Elements, Fails,
    Fold, InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg, arg_of,
};

use crate::operands::{index_arg, int_scalar, int_vector, require_rank};
use crate::sample_arrays::i32s;
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[
    &DECODE_PNG,
    &DECODE_JPEG,
    &DECODE_AND_CROP_JPEG,
    &DECODE_GIF,
    &DECODE_BMP,
    &DECODE_WEBP,
    &DECODE_JXL,
    &DECODE_IMAGE,
    &EXTRACT_JPEG_SHAPE,
    &ENCODE_PNG,
    &ENCODE_JPEG,
    &ENCODE_JPEG_VARIABLE_QUALITY,
];

const ON_HOST: Cuda = Cuda::HostFallback("strings live on the host");
const ALONE: Batch = Batch::Loop("images have sizes of their own");
const CONTENTS: ArgDef = arg_of("contents", ArgType::Fixed(DType::Str));
const CHANNELS: AttrDef = AttrDef::new("channels", AttrKind::Int, AttrDefault::Int(0));
const DTYPE: AttrDef = AttrDef::new("dtype", AttrKind::DType, AttrDefault::DType(DType::U8));
const RATIO: AttrDef = AttrDef::new("ratio", AttrKind::Int, AttrDefault::Int(1));
const JPEG: &[AttrDef] = &[
    CHANNELS,
    RATIO,
    AttrDef::flag("fancy_upscaling", true),
    AttrDef::flag("try_recover_truncated", false),
    AttrDef::new("acceptable_fraction", AttrKind::Float, AttrDefault::Float(1.0)),
    AttrDef::new("dct_method", AttrKind::Str, AttrDefault::Str("")),
];

/// The number of channels, one of those that some format has.
fn channels(attrs: &Attrs, index: usize) -> Result<usize> {
    match attrs.int(index) {
        n @ (0 | 1 | 3 | 4) => Ok(n as usize),
        n => Err(Error::invalid(format!("must be 0, 1, 3 or 4, got {n}")).argument("channels")),
    }
}

/// The dtype of the result, one of `allowed`.
fn dtype(attrs: &Attrs, index: usize, allowed: &[DType]) -> Result<DType> {
    let given = attrs.dtype(index);
    if allowed.contains(&given) {
        return Ok(given);
    }
    let names: Vec<_> = allowed.iter().map(|d| d.tf_name()).collect();
    let message = format!("must be one of {}, got {}", names.join(", "), given.tf_name());
    Err(Error::invalid(message).argument("dtype"))
}

/// What is said of a JPEG: the number of channels, by what it is made smaller, and whether it is filled up.
fn of_jpeg(attrs: &Attrs) -> Result<(usize, usize, bool)> {
    let ratio = match attrs.int(1) {
        n @ (1 | 2 | 4 | 8) => n as usize,
        n => return Err(Error::invalid(format!("must be 1, 2, 4 or 8, got {n}")).argument("ratio")),
    };
    if !matches!(attrs.str(5), "" | "INTEGER_FAST" | "INTEGER_ACCURATE") {
        let message = format!("must be '', 'INTEGER_FAST' or 'INTEGER_ACCURATE', got '{}'", attrs.str(5));
        return Err(Error::invalid(message).argument("dct_method"));
    }
    match channels(attrs, 0)? {
        4 => Err(Error::invalid("must be 0, 1 or 3 for a JPEG, got 4").argument("channels")),
        n => Ok((n, ratio, attrs.flag(3))),
    }
}

/// The type of an image of a rank.
fn image_type(cx: &InferCx<'_>, dtype: DType, rank: usize, channels: usize) -> Result<OutTypes> {
    require_rank(cx, 0, 0, "contents")?;
    let last = if channels == 0 { Dim::Unknown } else { Dim::Known(channels) };
    let dims = std::iter::repeat_n(Dim::Unknown, rank - 1).chain([last]);
    one(Type::tensor(dtype, Shape::new(dims)))
}

fn contents<'a>(call: &Call<'a>) -> Result<&'a Bytes> {
    match (call.inputs[0].rank(), call.inputs[0].strings()) {
        (0, [contents]) => Ok(contents),
        (rank, _) => Err(Error::invalid(format!("expected a scalar, got rank {rank}")).argument("contents")),
    }
}

fn run(call: &mut Call<'_>, options: &Options) -> Result<()> {
    let image = image::decode(contents(call)?, options)?;
    call.set(0, image);
    Ok(())
}

fn plain(reader: Reader, channels: usize, dtype: DType) -> Options {
    Options { reader, channels, dtype, ratio: 1, recover: false }
}

/// A declaration of an operator that reads an image.
const fn decoder(
    name: &'static str,
    tf_name: &'static str,
    doc: &'static str,
    operands: &'static [ArgDef],
    attrs: &'static [AttrDef],
    infer: fn(&InferCx<'_>) -> Result<OutTypes>,
    cpu: fn(&mut Call<'_>) -> Result<()>,
    samples: fn() -> Vec<Sample>,
) -> OpDef {
    OpDef {
        promise: PROMISE,
        name,
        tf_name,
        doc,
        dtypes: &[],
        operands,
        attrs,
        effects: &[],
        infer,
        cpu: Cpu::Kernel(cpu),
        cuda: ON_HOST,
        vjp: Vjp::Zero,
        jvp: Jvp::FromVjp,
        batch: ALONE,
        rows: Rows::All,
        elements: Elements::Unknown,
        cost: Cost::Element(10.0),
        resolve: None,
        fails: Fails::OnValues,
        fold: Fold::Evaluate,
        samples,
    }
}

/// Images as PNG.
pub static DECODE_PNG: OpDef = decoder(
    "decode_png",
    "DecodePng",
    "The image in `contents`, a PNG, a JPEG or a GIF of one frame, of shape `[height, width, channels]`.\n\n\
     `channels` is 0 for as many as the image has, 1 for grey, 3 for colours, 4 for colours and opacity; `dtype` is `u8` or \
     `u16`.\n\nErrors: `InvalidArgument` for contents that are damaged or no such image.",
    &[CONTENTS],
    &[CHANNELS, DTYPE],
    |cx| {
        let dtype = dtype(cx.attrs, 1, &[DType::U8, DType::U16])?;
        image_type(cx, dtype, 3, channels(cx.attrs, 0)?)
    },
    |call| run(call, &plain(Reader::Png, channels(call.attrs, 0)?, call.attrs.dtype(1))),
    || {
        let of = || Sample::new(vec![png()]);
        vec![of(), of().with("channels", 1i64), of().with("channels", 4i64).with("dtype", DType::U16)]
    },
);

/// Images as JPEG.
pub static DECODE_JPEG: OpDef = decoder(
    "decode_jpeg",
    "DecodeJpeg",
    "The image in `contents`, a JPEG, a PNG or a GIF of one frame, `u8` of shape `[height, width, channels]`.\n\n\
     `channels` is 0 for as many as the image has, 1 for grey, 3 for colours. A JPEG is made smaller by `ratio`, 1, 2, 4 or 8, and \
     where `try_recover_truncated` what is missing at its end is filled up. `fancy_upscaling`, `acceptable_fraction` and \
     `dct_method` are accepted and change nothing.\n\nErrors: `InvalidArgument` for contents that are damaged or no such image.",
    &[CONTENTS],
    JPEG,
    |cx| image_type(cx, DType::U8, 3, of_jpeg(cx.attrs)?.0),
    |call| {
        let (channels, ratio, recover) = of_jpeg(call.attrs)?;
        run(call, &Options { reader: Reader::Jpeg, channels, dtype: DType::U8, ratio, recover })
    },
    || {
        let of = || Sample::new(vec![jpeg()]);
        vec![of(), of().with("channels", 1i64).with("ratio", 2i64), Sample::new(vec![png()]).with("channels", 3i64)]
    },
);

/// Parts of JPEGs.
pub static DECODE_AND_CROP_JPEG: OpDef = decoder(
    "decode_and_crop_jpeg",
    "DecodeAndCropJpeg",
    "A part of the JPEG in `contents`, `u8` of shape `[height, width, channels]`.\n\n\
     `crop_window` holds its top, left edge, height and width, in the pixels of the image made smaller by `ratio`. Attributes are \
     those of `decode_jpeg`.\n\nErrors: `InvalidArgument` for contents that are damaged or no JPEG, and a window that reaches \
     beyond the image.",
    &[CONTENTS, index_arg("crop_window")],
    JPEG,
    |cx| {
        require_rank(cx, 1, 1, "crop_window")?;
        image_type(cx, DType::U8, 3, of_jpeg(cx.attrs)?.0)
    },
    |call| {
        let (channels, ratio, recover) = of_jpeg(call.attrs)?;
        let window = int_vector(call.inputs[1], "crop_window")?;
        let &[top, left, rows, columns] = &window[..] else {
            let message = format!("must have 4 elements, got {}", window.len());
            return Err(Error::invalid(message).argument("crop_window"));
        };
        let reader = Reader::CropJpeg([top, left, rows, columns]);
        run(call, &Options { reader, channels, dtype: DType::U8, ratio, recover })
    },
    || vec![Sample::new(vec![jpeg(), i32s(&[1, 0, 2, 3])])],
);

/// Animations.
pub static DECODE_GIF: OpDef = decoder(
    "decode_gif",
    "DecodeGif",
    "The frames in `contents`, a GIF, a PNG or a JPEG, `u8` of shape `[frames, height, width, 3]`.\n\n\
     Where a frame does not reach, or is transparent, the frame before is seen, and black before the first.\n\n\
     Errors: `InvalidArgument` for contents that are damaged or no such image.",
    &[CONTENTS],
    &[],
    |cx| image_type(cx, DType::U8, 4, 3),
    |call| run(call, &plain(Reader::Gif, 3, DType::U8)),
    || vec![Sample::new(vec![bytes(GIF)]), Sample::new(vec![png()])],
);

/// Images as BMP.
pub static DECODE_BMP: OpDef = decoder(
    "decode_bmp",
    "DecodeBmp",
    "The image in `contents`, a BMP of 8, 24 or 32 bits a pixel, `u8` of shape `[height, width, channels]`.\n\n\
     `channels` is 0 for as many as the image has, 3 for colours, 4 for colours and opacity. One of 8 bits is grey.\n\n\
     Errors: `InvalidArgument` for contents that are damaged or no BMP.",
    &[CONTENTS],
    &[CHANNELS],
    |cx| image_type(cx, DType::U8, 3, channels(cx.attrs, 0)?),
    |call| run(call, &plain(Reader::Bmp, channels(call.attrs, 0)?, DType::U8)),
    || vec![Sample::new(vec![bmp()]), Sample::new(vec![bmp()]).with("channels", 4i64)],
);

/// Images as WebP.
pub static DECODE_WEBP: OpDef = decoder(
    "decode_webp",
    "DecodeWebP",
    "The frames in `contents`, a WebP, `u8` of shape `[frames, height, width, channels]`.\n\n\
     `channels` is 0, or as many as the image has: 3 for colours, 4 for colours and opacity. Animations have 4.\n\n\
     Errors: `InvalidArgument` for contents that are damaged or no WebP, and another number of channels.",
    &[CONTENTS],
    &[CHANNELS, DTYPE],
    |cx| {
        let dtype = dtype(cx.attrs, 1, &[DType::U8])?;
        image_type(cx, dtype, 4, channels(cx.attrs, 0)?)
    },
    |call| run(call, &plain(Reader::Webp, channels(call.attrs, 0)?, call.attrs.dtype(1))),
    || vec![Sample::new(vec![bytes(WEBP)])],
);

/// Images as JPEG XL.
pub static DECODE_JXL: OpDef = decoder(
    "decode_jxl",
    "DecodeJxl",
    "The image in `contents`, a JPEG XL, `u8` of shape `[height, width, channels]`; of an animation the first frame.\n\n\
     `channels` is 0, or as many as the image has: 1 for grey, 3 for colours, 4 for colours and opacity. Grey with opacity has 2. Samples \
     of more bits are rounded to 8.\n\n\
     Errors: `InvalidArgument` for contents that are damaged or no JPEG XL, and another number of channels.",
    &[CONTENTS],
    &[CHANNELS, DTYPE],
    |cx| {
        let dtype = dtype(cx.attrs, 1, &[DType::U8])?;
        image_type(cx, dtype, 3, channels(cx.attrs, 0)?)
    },
    |call| run(call, &plain(Reader::Jxl, channels(call.attrs, 0)?, call.attrs.dtype(1))),
    || vec![Sample::new(vec![bytes(JXL)]), Sample::new(vec![bytes(JXL)]).with("channels", 3i64)],
);

/// Images of any format.
pub static DECODE_IMAGE: OpDef = decoder(
    "decode_image",
    "DecodeImage",
    "The image in `contents`, of any of the formats JPEG, JPEG XL, PNG, GIF, BMP and WebP, of shape `[height, width, channels]`.\n\n\
     With `expand_animations` a GIF or a WebP has shape `[frames, height, width, channels]`, and without it is its first frame. \
     `channels` is 0 for as many as the image has, 1 for grey, 3 for colours, 4 for colours and opacity, as far as its format has \
     that. `dtype` is `u8`, `u16`, or `f32` for samples from 0 to 1.\n\n\
     Errors: `InvalidArgument` for contents that are damaged or no image, and options that the format does not have.",
    &[CONTENTS],
    &[CHANNELS, DTYPE, AttrDef::flag("expand_animations", true)],
    |cx| {
        let dtype = dtype(cx.attrs, 1, &[DType::U8, DType::U16, DType::F32])?;
        let channels = channels(cx.attrs, 0)?;
        if cx.attrs.flag(2) {
            require_rank(cx, 0, 0, "contents")?;
            return one(Type::tensor(dtype, Shape::UNRANKED));
        }
        image_type(cx, dtype, 3, channels)
    },
    |call| {
        let reader = Reader::Any { expand_animations: call.attrs.flag(2) };
        run(call, &plain(reader, channels(call.attrs, 0)?, call.attrs.dtype(1)))
    },
    || {
        let of = |contents| Sample::new(vec![contents]);
        vec![
            of(png()).with("dtype", DType::F32),
            of(bmp()).with("dtype", DType::U16),
            of(bytes(GIF)),
            of(bytes(GIF)).with("expand_animations", false),
            of(bytes(WEBP)).with("expand_animations", false),
        ]
    },
);

/// Sizes of JPEGs.
pub static EXTRACT_JPEG_SHAPE: OpDef = decoder(
    "extract_jpeg_shape",
    "ExtractJpegShape",
    "The height, the width and the number of channels of the JPEG in `contents`, of which only the header is read.\n\n\
     `output_type` is `i32` or `i64`.\n\nErrors: `InvalidArgument` for contents that are no JPEG.",
    &[CONTENTS],
    &[AttrDef::new("output_type", AttrKind::DType, AttrDefault::DType(DType::I32))],
    |cx| {
        require_rank(cx, 0, 0, "contents")?;
        match cx.attrs.dtype(0) {
            dtype @ (DType::I32 | DType::I64) => one(Type::tensor(dtype, Shape::known(&[3]))),
            other => {
                let message = format!("must be int32 or int64, got {}", other.tf_name());
                Err(Error::invalid(message).argument("output_type"))
            }
        }
    },
    |call| {
        let shape = image::jpeg_shape(contents(call)?)?;
        let shape = match call.attrs.dtype(0) {
            DType::I32 => Tensor::from_slice(&[3], &shape.map(|n| n as i32))?,
            _ => Tensor::from_slice(&[3], &shape.map(|n| n as i64))?,
        };
        call.set(0, shape);
        Ok(())
    },
    || vec![Sample::new(vec![jpeg()]), Sample::new(vec![jpeg()]).with("output_type", DType::I64)],
);

/// The extents of an image, the last three of a tensor.
fn last_three(image: &Tensor) -> Result<[usize; 3]> {
    image.dims().last_chunk::<3>().copied().ok_or_else(|| too_few(image.rank()))
}

fn too_few(rank: usize) -> Error {
    Error::invalid(format!("expected height, width and channels, got rank {rank}")).argument("image")
}

/// Writes images as PNG.
pub static ENCODE_PNG: OpDef = OpDef {
    name: "encode_png",
    tf_name: "EncodePng",
    doc: "PNGs of images of shape `[..., height, width, channels]`, strings of shape `[...]`.\n\n\
          Channels are 1 for grey, 2 for grey and opacity, 3 for colours, 4 for colours and opacity. `compression` goes from 0 for \
          none to 9, and is -1 for the usual.\n\nErrors: `InvalidArgument` for images without pixels and another number of channels.",
    dtypes: &[DTypeVar::new("T", DTypeSet::of(&[DType::U8, DType::U16]))],
    operands: &[arg("image")],
    attrs: &[AttrDef::new("compression", AttrKind::Int, AttrDefault::Int(-1))],
    effects: &[],
    infer: |cx| {
        let compression = cx.attrs.int(0);
        if !(-1..=9).contains(&compression) {
            return Err(Error::invalid(format!("must be from -1 to 9, got {compression}")).argument("compression"));
        }
        let Some(dims) = cx.shape(0).dims() else { return one(Type::tensor(DType::Str, Shape::UNRANKED)) };
        let lead = dims.len().checked_sub(3).ok_or_else(|| too_few(dims.len()))?;
        one(Type::tensor(DType::Str, Shape::new(dims[..lead].iter().copied())))
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let (dims, wide) = (last_three(x)?, x.dtype() == DType::U16);
        let lead = &x.dims()[..x.rank() - 3];
        let count: usize = lead.iter().product();
        let size = dims.iter().product::<usize>();
        let mut out: Vec<Bytes> = memory::with_room(count)?;
        for i in 0..count {
            let file = if wide {
                let high_first = x.as_slice::<u16>()[i * size..][..size].iter().flat_map(|v| v.to_be_bytes());
                image::encode_png(&memory::collected(high_first)?, dims, true, call.attrs.int(0))
            } else {
                image::encode_png(&x.as_slice::<u8>()[i * size..][..size], dims, false, call.attrs.int(0))
            };
            out.push(file?.into());
        }
        let files = Tensor::from_strings(lead, out)?;
        call.set(0, files);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: ALONE,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(50.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![pixels(&[4, 5, 3])]),
            Sample::new(vec![pixels(&[2, 3, 4, 1])]).with("compression", 0i64),
            Sample::new(vec![crate::samples::tensor(DType::U16, &[2, 3, 2], &[0.0, 1.0, 65535.0, 4711.0])]),
        ]
    },
};

const FORMAT: AttrDef = AttrDef::new("format", AttrKind::Str, AttrDefault::Str(""));

/// The type of a JPEG that is written.
fn jpeg_type(cx: &InferCx<'_>) -> Result<OutTypes> {
    require_rank(cx, 0, 3, "image")?;
    one(Type::scalar(DType::Str))
}

fn check_quality(quality: i64) -> Result<i64> {
    if (0..=100).contains(&quality) {
        return Ok(quality);
    }
    Err(Error::invalid(format!("must be from 0 to 100, got {quality}")).argument("quality"))
}

fn density(value: i64, name: &str) -> Result<u16> {
    let message = || Error::invalid(format!("must be from 0 to 65535, got {value}")).argument(name);
    u16::try_from(value).map_err(|_| message())
}

/// What the attributes of `encode_jpeg` say.
fn jpeg_options(attrs: &Attrs) -> Result<JpegOptions<'_>> {
    let centimetres = match attrs.str(5) {
        "in" => false,
        "cm" => true,
        other => return Err(Error::invalid(format!("must be 'in' or 'cm', got '{other}'")).argument("density_unit")),
    };
    if !matches!(attrs.str(0), "" | "default" | "grayscale" | "rgb") {
        let message = format!("must be '', 'grayscale' or 'rgb', got '{}'", attrs.str(0));
        return Err(Error::invalid(message).argument("format"));
    }
    Ok(JpegOptions {
        quality: check_quality(attrs.int(1))?,
        progressive: attrs.flag(2),
        optimize_size: attrs.flag(3),
        chroma_downsampling: attrs.flag(4),
        centimetres,
        density: [density(attrs.int(6), "x_density")?, density(attrs.int(7), "y_density")?],
        xmp: attrs.str(8),
    })
}

/// Writes JPEGs.
pub static ENCODE_JPEG: OpDef = OpDef {
    name: "encode_jpeg",
    tf_name: "EncodeJpeg",
    doc: "A JPEG of an image of shape `[height, width, channels]`, a string scalar.\n\n\
          `format` is `grayscale` for 1 channel, `rgb` for 3, or empty for either. `quality` goes from 0 to 100. With `progressive` \
          the image gets clearer with what is read of it, with `optimize_size` it is smaller and takes longer, with \
          `chroma_downsampling` colours are kept for four pixels together. The densities are in pixels by `density_unit`, `in` or \
          `cm`. `xmp_metadata` is put into the file.\n\n\
          Errors: `InvalidArgument` for images without pixels or with more than 65535 in a row, and another number of channels.",
    dtypes: &[],
    operands: &[arg_of("image", ArgType::Fixed(DType::U8))],
    attrs: &[
        FORMAT,
        AttrDef::new("quality", AttrKind::Int, AttrDefault::Int(95)),
        AttrDef::flag("progressive", false),
        AttrDef::flag("optimize_size", false),
        AttrDef::flag("chroma_downsampling", true),
        AttrDef::new("density_unit", AttrKind::Str, AttrDefault::Str("in")),
        AttrDef::new("x_density", AttrKind::Int, AttrDefault::Int(300)),
        AttrDef::new("y_density", AttrKind::Int, AttrDefault::Int(300)),
        AttrDef::new("xmp_metadata", AttrKind::Str, AttrDefault::Str("")),
    ],
    effects: &[],
    infer: |cx| {
        jpeg_options(cx.attrs)?;
        jpeg_type(cx)
    },
    cpu: Cpu::Kernel(|call| {
        let (image, options) = (call.inputs[0], jpeg_options(call.attrs)?);
        let dims = last_three(image)?;
        let due = match call.attrs.str(0) {
            "grayscale" => 1,
            "rgb" => 3,
            _ => dims[2],
        };
        if dims[2] != due {
            let message = format!("must have {due} channel(s) for this format, got {}", dims[2]);
            return Err(Error::invalid(message).argument("image"));
        }
        let file = image::encode_jpeg(image.as_slice::<u8>(), dims, &options)?;
        call.set(0, Tensor::from_strings(&[], vec![file.into()])?);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: ALONE,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(20.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![pixels(&[4, 5, 3])]),
            Sample::new(vec![pixels(&[9, 17, 1])]).with("format", "grayscale").with("progressive", true),
            Sample::new(vec![pixels(&[9, 17, 3])]).with("quality", 20i64).with("xmp_metadata", "<x/>"),
        ]
    },
};

/// Writes JPEGs of a quality that is a tensor.
pub static ENCODE_JPEG_VARIABLE_QUALITY: OpDef = OpDef {
    name: "encode_jpeg_variable_quality",
    tf_name: "EncodeJpegVariableQuality",
    doc: "A JPEG of an image of shape `[height, width, channels]`, a string scalar, with colours kept for four pixels together.\n\n\
          `quality` is an integer scalar from 0 to 100.\n\n\
          Errors: `InvalidArgument` for another quality, images without pixels or with more than 65535 in a row, and another number \
          of channels than 1 and 3.",
    dtypes: &[],
    operands: &[arg_of("image", ArgType::Fixed(DType::U8)), index_arg("quality")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        require_rank(cx, 1, 0, "quality")?;
        jpeg_type(cx)
    },
    cpu: Cpu::Kernel(|call| {
        let quality = check_quality(int_scalar(call.inputs[1], "quality")?)?;
        let (image, dims) = (call.inputs[0], last_three(call.inputs[0])?);
        let options = JpegOptions {
            quality,
            progressive: false,
            optimize_size: false,
            chroma_downsampling: true,
            centimetres: false,
            density: [300, 300],
            xmp: "",
        };
        let file = image::encode_jpeg(image.as_slice::<u8>(), dims, &options)?;
        call.set(0, Tensor::from_strings(&[], vec![file.into()])?);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: ALONE,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(20.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || vec![Sample::new(vec![pixels(&[9, 17, 3]), Tensor::scalar(50i32)])],
};

fn bytes(contents: &[u8]) -> Tensor {
    Tensor::from_strings(&[], vec![contents.into()]).expect("one string")
}

fn pixels(dims: &[usize]) -> Tensor {
    crate::samples::tensor(DType::U8, dims, &[0.0, 12.0, 250.0, 127.0, 90.0, 33.0, 201.0])
}

/// A PNG of 2 by 3 pixels; empty where the program has no formats of images, and no samples run.
fn png() -> Tensor {
    let image = pixels(&[2, 3, 3]);
    bytes(&image::encode_png(image.as_slice::<u8>(), [2, 3, 3], false, -1).unwrap_or_default())
}

/// A JPEG of 5 by 6 pixels.
fn jpeg() -> Tensor {
    let options = JpegOptions {
        quality: 90,
        progressive: false,
        optimize_size: false,
        chroma_downsampling: true,
        centimetres: false,
        density: [1, 1],
        xmp: "",
    };
    let image = pixels(&[5, 6, 3]);
    bytes(&image::encode_jpeg(image.as_slice::<u8>(), [5, 6, 3], &options).unwrap_or_default())
}

/// A BMP of one white and one black pixel of 24 bits.
fn bmp() -> Tensor {
    let mut file = vec![0u8; 54];
    file[..2].copy_from_slice(b"BM");
    file[10] = 54;
    (file[18], file[22], file[28]) = (2, 1, 24);
    file.extend_from_slice(&[255, 255, 255, 0, 0, 0, 0, 0]);
    bytes(&file)
}

/// A GIF of one pixel.
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
/// A JPEG XL of two pixels without loss.
const JXL: &[u8] = b"\xff\n\0p\x10\t\x08\0\x01\0H\0K\x18\x8b\x15B\x91qL\xb2\x0b\x84\0\x80\xceW\x84X\n";
/// A WebP of one pixel without loss.
const WEBP: &[u8] = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0/\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0";
