//! Files, and the images and sound in them.

use penstock_data::DType as D;

use super::{Entry, From::*, many, op};

pub(super) static OPS: &[Entry] = &[
    op("ReadFile", "read_file", &[]),
    op("WriteFile", "write_file", &[]),
    op("DecodePng", "decode_png", &[("channels", Int("channels", 0)), ("dtype", DType("dtype", D::U8))]),
    op("DecodeJpeg", "decode_jpeg", JPEG),
    op("DecodeAndCropJpeg", "decode_and_crop_jpeg", JPEG),
    op("DecodeGif", "decode_gif", &[]),
    op("DecodeBmp", "decode_bmp", &[("channels", Int("channels", 0))]),
    op("DecodeWebP", "decode_webp", &[("channels", Int("channels", 0)), ("dtype", DType("dtype", D::U8))]),
    op(
        "DecodeImage",
        "decode_image",
        &[
            ("channels", Int("channels", 0)),
            ("dtype", DType("dtype", D::U8)),
            ("expand_animations", Flag("expand_animations", true)),
        ],
    ),
    op("ExtractJpegShape", "extract_jpeg_shape", &[("output_type", DType("output_type", D::I32))]),
    op("EncodePng", "encode_png", &[("compression", Int("compression", -1))]),
    op(
        "EncodeJpeg",
        "encode_jpeg",
        &[
            ("format", Text("format", "")),
            ("quality", Int("quality", 95)),
            ("progressive", Flag("progressive", false)),
            ("optimize_size", Flag("optimize_size", false)),
            ("chroma_downsampling", Flag("chroma_downsampling", true)),
            ("density_unit", Text("density_unit", "in")),
            ("x_density", Int("x_density", 300)),
            ("y_density", Int("y_density", 300)),
            ("xmp_metadata", Text("xmp_metadata", "")),
        ],
    ),
    op("EncodeJpegVariableQuality", "encode_jpeg_variable_quality", &[]),
    many(
        "DecodeWav",
        "decode_wav",
        &["audio", "sample_rate"],
        &[("desired_channels", Int("desired_channels", -1)), ("desired_samples", Int("desired_samples", -1))],
    ),
    op("EncodeWav", "encode_wav", &[]),
];

/// What is said of a JPEG. `acceptable_fraction` changes nothing here.
const JPEG: &[(&str, super::From)] = &[
    ("channels", Int("channels", 0)),
    ("ratio", Int("ratio", 1)),
    ("fancy_upscaling", Flag("fancy_upscaling", true)),
    ("try_recover_truncated", Flag("try_recover_truncated", false)),
    ("dct_method", Text("dct_method", "")),
];
