"""Cases of `functions.py` on images, text, messages, ragged and sparse tensors, and passes over data sets."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from function_cases import Case
from picture_files import bmp, gif, photograph, png

__all__ = ["cases", "passes"]

METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
WORDS = (
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "and",
    "back",
    "again",
    "wall",
)


def cases(tf: Any) -> dict[str, Case]:
    """Each function with its operands."""
    return {**_images(tf), **_messages(tf), **_texts(tf), **_ragged(tf), **_sparse(tf), **_signals(tf)}


def _images(tf: Any) -> dict[str, Case]:
    io, image = tf.io, tf.image

    def picture(size: int, channels: int) -> Any:
        return photograph(size, size, channels)

    def written(size: int, channels: int) -> Any:
        return io.encode_jpeg(picture(size, channels), quality=90)

    deep = (picture(256, 1).astype(np.uint16) * 257) ^ 5
    frames = np.stack([np.roll(picture(96, 3), 5 * i, 1) for i in range(4)])
    webp = Path(__file__).with_name("photograph.webp").read_bytes()
    found: dict[str, Case] = {
        "decode_png, 64 by 64": (io.decode_png, [tf.constant(png(picture(64, 3)))]),
        "decode_png, 256 by 256": (io.decode_png, [tf.constant(png(picture(256, 3)))]),
        "decode_png, 512 by 512": (io.decode_png, [tf.constant(png(picture(512, 3)))]),
        "decode_png, grey": (io.decode_png, [tf.constant(png(picture(256, 1)))]),
        "decode_png, grey to RGB": (lambda x: io.decode_png(x, 3), [tf.constant(png(picture(256, 1)))]),
        "decode_png, RGBA": (io.decode_png, [tf.constant(png(picture(256, 4)))]),
        "decode_png, 16 bits": (lambda x: io.decode_png(x, 0, tf.uint16), [tf.constant(png(deep))]),
        "decode_jpeg, 64 by 64": (io.decode_jpeg, [written(64, 3)]),
        "decode_jpeg, 256 by 256": (io.decode_jpeg, [written(256, 3)]),
        "decode_jpeg, 512 by 512": (io.decode_jpeg, [written(512, 3)]),
        "decode_jpeg, grey": (io.decode_jpeg, [written(256, 1)]),
        "decode_jpeg, RGB to grey": (lambda x: io.decode_jpeg(x, 1), [written(256, 3)]),
        "decode_jpeg, a quarter": (lambda x: io.decode_jpeg(x, ratio=4), [written(512, 3)]),
        "decode_and_crop_jpeg": (
            lambda x: io.decode_and_crop_jpeg(x, [32, 32, 128, 128]),
            [written(512, 3)],
        ),
        "decode_gif": (io.decode_gif, [tf.constant(gif(frames))]),
        "decode_bmp": (io.decode_bmp, [tf.constant(bmp(picture(256, 3)))]),
        "decode_webp": (io.decode_webp, [tf.constant(webp)]),
        "decode_image": (io.decode_image, [tf.constant(png(picture(64, 3)))]),
        "encode_png": (io.encode_png, [tf.constant(picture(256, 3))]),
        "encode_png, grey": (io.encode_png, [tf.constant(picture(256, 1))]),
        "encode_jpeg": (io.encode_jpeg, [tf.constant(picture(256, 3))]),
        "encode_jpeg, grey": (io.encode_jpeg, [tf.constant(picture(256, 1))]),
        "resize of uint8": (lambda x: image.resize(x, [224, 224]), [tf.constant(picture(256, 3)[None])]),
        "adjust_hue": (lambda x: image.adjust_hue(x, 0.1), [tf.constant(picture(128, 3) / np.float32(255))]),
        "flip_left_right": (image.flip_left_right, [tf.constant(picture(256, 3)[None])]),
    }
    small, great = (tf.constant(np.stack([picture(n, 3)] * 4).astype(np.float32) / 255.0) for n in (64, 160))
    for method in METHODS:
        up = (lambda x, method=method: image.resize(x, [160, 160], method), [small])
        down = (lambda x, method=method: image.resize(x, [64, 64], method), [great])
        found[f"resize, {method}, up"], found[f"resize, {method}, down"] = up, down
        if method not in ("nearest", "area"):
            found[f"resize, {method}, antialias"] = (
                lambda x, method=method: image.resize(x, [64, 64], method, antialias=True),
                [great],
            )
    return found


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _number(len(content)) + content


def _feature(values: Any) -> bytes:
    if isinstance(values[0], bytes):
        return _field(1, b"".join(_field(1, value) for value in values))
    if isinstance(values[0], float):
        return _field(2, _field(1, struct.pack(f"<{len(values)}f", *values)))
    return _field(3, _field(1, b"".join(_number(value) for value in values)))


def _entries(features: dict[str, bytes]) -> bytes:
    return b"".join(_field(1, _field(1, key.encode()) + _field(2, value)) for key, value in features.items())


def _messages(tf: Any) -> dict[str, Case]:
    io, rng = tf.io, np.random.default_rng(1)

    def example(i: int) -> dict[str, bytes]:
        return {
            "dense": _feature(rng.random(10).tolist()),
            "label": _feature([i % 1000]),
            "name": _feature([WORDS[i % 10].encode()]),
            "ids": _feature(rng.integers(0, 10**6, 1 + i % 12).tolist()),
            "weights": _feature(rng.random(1 + i % 12).tolist()),
        }

    def sequence(i: int) -> bytes:
        steps = 1 + i % 8
        tokens = b"".join(_field(1, _feature([n])) for n in rng.integers(0, 10**4, steps).tolist())
        vectors = b"".join(_field(1, _feature(rng.random(4).tolist())) for _ in range(steps))
        context = _field(1, _entries({"label": _feature([i])}))
        return context + _field(2, _entries({"tokens": tokens, "vectors": vectors}))

    examples = [_field(1, _entries(example(i))) for i in range(256)]
    batch, one = tf.constant(examples), tf.constant(examples[0])
    sequences = [sequence(i) for i in range(64)]
    fixed = {
        "dense": io.FixedLenFeature([10], tf.float32),
        "label": io.FixedLenFeature([], tf.int64),
        "name": io.FixedLenFeature([], tf.string),
    }
    several = {"ids": io.VarLenFeature(tf.int64), "weights": io.VarLenFeature(tf.float32)}
    ragged = {
        "ids": io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64),
        "weights": io.RaggedFeature(tf.float32, row_splits_dtype=tf.int64),
    }
    steps = {
        "tokens": io.FixedLenSequenceFeature([], tf.int64),
        "vectors": io.FixedLenSequenceFeature([4], tf.float32),
    }
    lists = {"tokens": io.VarLenFeature(tf.int64), "vectors": io.VarLenFeature(tf.float32)}
    context = {"label": io.FixedLenFeature([], tf.int64)}

    def both(found: Any) -> list[Any]:
        parts: list[Any] = tf.nest.flatten(found, expand_composites=True)
        return parts

    lines = [f'{i},{i * 0.25},{WORDS[i % 10]},{-i},"{i},x",{i * 1e-3:.6f},,7' for i in range(1000)]
    columns = [[0], [0.0], [""], [0], [""], [0.0], [1.5], [0]]
    integers = [",".join(str(i * j) for j in range(10)) for i in range(1000)]
    raw = tf.constant([struct.pack("<256f", *rng.random(256))] * 64)
    packed = tf.io.serialize_tensor(tf.zeros([256, 256]))
    return {
        "parse_example, dense": (lambda x: both(io.parse_example(x, fixed)), [batch]),
        "parse_example, sparse": (lambda x: both(io.parse_example(x, several)), [batch]),
        "parse_example, ragged": (lambda x: both(io.parse_example(x, ragged)), [batch]),
        "parse_example, all": (lambda x: both(io.parse_example(x, {**fixed, **several})), [batch]),
        "parse_single_example": (lambda x: both(io.parse_single_example(x, {**fixed, **several})), [one]),
        "parse_sequence_example, dense": (
            lambda x: both(io.parse_sequence_example(x, context, steps)),
            [tf.constant(sequences)],
        ),
        "parse_sequence_example, sparse": (
            lambda x: both(io.parse_sequence_example(x, context, lists)),
            [tf.constant(sequences)],
        ),
        "parse_single_sequence_example": (
            lambda x: both(io.parse_single_sequence_example(x, context, steps)),
            [tf.constant(sequences[7])],
        ),
        "decode_csv": (lambda x: io.decode_csv(x, columns), [tf.constant(lines)]),
        "decode_csv of integers": (lambda x: io.decode_csv(x, [[0]] * 10), [tf.constant(integers)]),
        "decode_raw": (lambda x: io.decode_raw(x, tf.float32), [raw]),
        "parse_tensor": (lambda x: io.parse_tensor(x, tf.float32), [packed]),
        "serialize_tensor": (io.serialize_tensor, [tf.zeros([256, 256])]),
        "decode_compressed": (
            lambda x: io.decode_compressed(x, "ZLIB"),
            [tf.constant([zlib.compress(lines[i].encode() * 50) for i in range(16)])],
        ),
        "encode_base64": (io.encode_base64, [raw]),
        "decode_base64": (io.decode_base64, [io.encode_base64(raw)]),
    }


def _texts(tf: Any) -> dict[str, Case]:
    strings, rng = tf.strings, np.random.default_rng(2)
    lines = [" ".join(rng.choice(WORDS, 12)) for _ in range(500)]
    text, words = tf.constant(lines), tf.constant([WORDS[i % 13] for i in range(5000)])
    wide = tf.constant([line.replace("o", "ö").replace("x", "語") for line in lines])
    numbers = tf.constant([f"{i * 0.37:.4f}" for i in range(2000)])
    points = tf.RaggedTensor.from_row_lengths(
        tf.constant(rng.integers(32, 3000, 20000, dtype=np.int32)), [40] * 500
    )

    def flat(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: tf.nest.flatten(function(*given), expand_composites=True)

    return {
        "strings.split": (flat(strings.split), [text]),
        "strings.split by a comma": (
            flat(lambda x: strings.split(x, ",")),
            [tf.constant([line.replace(" ", ",") for line in lines])],
        ),
        "strings.regex_replace": (lambda x: strings.regex_replace(x, "[aeiou]+", "_"), [text]),
        "strings.regex_full_match": (lambda x: strings.regex_full_match(x, ".*fox.*dog.*"), [text]),
        "strings.join": (lambda x, y: strings.join([x, y], "-"), [words, words]),
        "strings.reduce_join": (
            lambda x: strings.reduce_join(x, 1, separator=" "),
            [tf.reshape(words, [500, 10])],
        ),
        "strings.format": (lambda x: strings.format("{} and {}", [x, x]), [tf.range(3)]),
        "strings.length": (strings.length, [words]),
        "strings.length in characters": (lambda x: strings.length(x, "UTF8_CHAR"), [wide]),
        "strings.substr": (lambda x: strings.substr(x, 2, 20), [text]),
        "strings.substr in characters": (lambda x: strings.substr(x, 2, 20, "UTF8_CHAR"), [wide]),
        "strings.upper": (strings.upper, [text]),
        "strings.lower of UTF-8": (lambda x: strings.lower(x, "utf-8"), [wide]),
        "strings.strip": (strings.strip, [text]),
        "strings.to_number": (strings.to_number, [numbers]),
        "strings.to_number of integers": (
            lambda x: strings.to_number(x, tf.int64),
            [tf.constant([str(i * 77) for i in range(2000)])],
        ),
        "as_string": (tf.as_string, [tf.range(5000)]),
        "as_string of float32": (tf.as_string, [tf.constant(rng.random(2000, dtype=np.float32))]),
        "strings.to_hash_bucket_fast": (lambda x: strings.to_hash_bucket_fast(x, 1000), [words]),
        "strings.bytes_split": (flat(strings.bytes_split), [text]),
        "strings.ngrams": (flat(lambda x: strings.ngrams(strings.split(x), 2)), [text]),
        "strings.unicode_decode": (flat(lambda x: strings.unicode_decode(x, "UTF-8")), [wide]),
        "strings.unicode_split": (flat(lambda x: strings.unicode_split(x, "UTF-8")), [wide]),
        "strings.unicode_encode": (lambda x: strings.unicode_encode(x, "UTF-8"), [points]),
        "strings.unicode_transcode": (lambda x: strings.unicode_transcode(x, "UTF-8", "UTF-16-BE"), [wide]),
        "unique of strings": (lambda x: tf.unique(x)[0], [words]),
        "equal of strings": (lambda x: x == "fox", [words]),
    }


def _ragged(tf: Any) -> dict[str, Case]:
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 40, 1000)
    splits = tf.constant(np.concatenate([[0], np.cumsum(lengths)]))
    count = int(lengths.sum())
    values, others = (tf.constant(rng.standard_normal(count, dtype=np.float32)) for _ in range(2))
    column = tf.constant(rng.standard_normal((1000, 1), dtype=np.float32))
    vectors = tf.constant(rng.standard_normal((count, 16), dtype=np.float32))
    chosen = tf.constant(rng.integers(0, 1000, 500))

    def rows(values: Any, splits: Any) -> Any:
        return tf.RaggedTensor.from_row_splits(values, splits, validate=False)

    functions: dict[str, tuple[Callable[..., Any], list[Any]]] = {
        "addition": (lambda x, s, y: (rows(x, s) + rows(y, s)).flat_values, [values, splits, others]),
        "times a column": (lambda x, s, y: (rows(x, s) * y).flat_values, [values, splits, column]),
        "sigmoid": (lambda x, s: tf.sigmoid(rows(x, s)).flat_values, [values, splits]),
        "reduce_sum": (lambda x, s: tf.reduce_sum(rows(x, s), 1), [values, splits]),
        "reduce_max": (lambda x, s: tf.reduce_max(rows(x, s), 1), [values, splits]),
        "reduce_mean of vectors": (lambda x, s: tf.reduce_mean(rows(x, s), 1), [vectors, splits]),
        "concat of rows": (
            lambda x, s, y: tf.concat([rows(x, s), rows(y, s)], 0).flat_values,
            [values, splits, others],
        ),
        "concat within rows": (
            lambda x, s, y: tf.concat([rows(x, s), rows(y, s)], 1).flat_values,
            [values, splits, others],
        ),
        "gather": (lambda x, s: tf.gather(rows(x, s), chosen).flat_values, [values, splits]),
        "slice": (lambda x, s: rows(x, s)[:, :5].flat_values, [values, splits]),
        "boolean_mask": (
            lambda x, s: tf.ragged.boolean_mask(rows(x, s), rows(x, s) > 0.0).flat_values,
            [values, splits],
        ),
        "to_tensor": (lambda x, s: rows(x, s).to_tensor(), [values, splits]),
        "from_tensor": (
            lambda x: tf.RaggedTensor.from_tensor(x, padding=0.0).flat_values,
            [rows(values, splits).to_tensor()],
        ),
        "stack": (
            lambda x, s, y: tf.stack([rows(x, s), rows(y, s)], 1).flat_values,
            [values, splits, others],
        ),
        "softmax": (lambda x, s: tf.nn.softmax(rows(x, s)).flat_values, [values, splits]),
        "value_rowids": (lambda x, s: rows(x, s).value_rowids(), [values, splits]),
        "range": (lambda n: tf.ragged.range(n).flat_values, [tf.constant(lengths)]),
    }
    return {f"ragged, {name}": case for name, case in functions.items()}


def _sparse(tf: Any) -> dict[str, Case]:
    sparse, rng = tf.sparse, np.random.default_rng(4)
    found: dict[str, Case] = {}

    def random(rows: int, columns: int, density: float) -> tuple[Any, Any]:
        flat = np.unique(rng.integers(0, rows * columns, int(rows * columns * density)))
        indices = np.stack([flat // columns, flat % columns], 1)
        return tf.constant(indices), tf.constant(rng.standard_normal(len(flat), dtype=np.float32))

    dense = tf.constant(rng.standard_normal((1000, 32), dtype=np.float32))
    for density in (0.001, 0.01, 0.1):
        indices, values = random(1000, 1000, density)
        found[f"sparse_dense_matmul, {density:.1%}"] = (
            lambda i, x, y: sparse.sparse_dense_matmul(tf.SparseTensor(i, x, [1000, 1000]), y),
            [indices, values, dense],
        )
    indices, values = random(1000, 1000, 0.01)
    column = tf.constant(rng.standard_normal((1000, 1), dtype=np.float32))

    def matrix(i: Any, x: Any) -> Any:
        return tf.SparseTensor(i, x, [1000, 1000])

    lengths = rng.integers(1, 12, 512)
    places = np.concatenate([[(row, i) for i in range(n)] for row, n in enumerate(lengths)])
    ids = tf.constant(rng.integers(0, 5000, len(places)))
    weights = tf.constant(rng.random(len(places), dtype=np.float32))
    table = tf.constant(rng.standard_normal((5000, 64), dtype=np.float32))
    positions = tf.constant(places)

    def looked_up(combiner: str) -> Callable[..., Any]:
        def look(table: Any, at: Any, ids: Any) -> Any:
            return tf.nn.embedding_lookup_sparse(
                table, tf.SparseTensor(at, ids, [512, 12]), None, combiner=combiner
            )

        return look

    def weighted(table: Any, at: Any, ids: Any, weights: Any) -> Any:
        given = (tf.SparseTensor(at, each, [512, 12]) for each in (ids, weights))
        return tf.nn.embedding_lookup_sparse(table, *given, combiner="mean")

    return {
        **found,
        "sparse_dense_matmul by a vector": (
            lambda i, x, y: sparse.sparse_dense_matmul(matrix(i, x), y),
            [indices, values, column],
        ),
        "sparse_dense_matmul, adjoint": (
            lambda i, x, y: sparse.sparse_dense_matmul(matrix(i, x), y, adjoint_a=True),
            [indices, values, dense],
        ),
        "embedding_lookup_sparse, mean": (looked_up("mean"), [table, positions, ids]),
        "embedding_lookup_sparse, sum": (looked_up("sum"), [table, positions, ids]),
        "embedding_lookup_sparse, weights": (weighted, [table, positions, ids, weights]),
        "sparse.to_dense": (lambda i, x: sparse.to_dense(matrix(i, x)), [indices, values]),
        "sparse.from_dense": (
            lambda x: sparse.from_dense(x).values,
            [sparse.to_dense(matrix(indices, values))],
        ),
        "sparse.reduce_sum": (lambda i, x: sparse.reduce_sum(matrix(i, x), 1), [indices, values]),
        "sparse.add": (lambda i, x: sparse.add(matrix(i, x), matrix(i, x)).values, [indices, values]),
        "sparse.reorder": (lambda i, x: sparse.reorder(matrix(i[::-1], x)).values, [indices, values]),
        "sparse.transpose": (lambda i, x: sparse.transpose(matrix(i, x)).values, [indices, values]),
        "sparse.concat": (
            lambda i, x: sparse.concat(1, [matrix(i, x), matrix(i, x)]).values,
            [indices, values],
        ),
        "sparse.slice": (
            lambda i, x: sparse.slice(matrix(i, x), [100, 100], [500, 500]).values,
            [indices, values],
        ),
        "sparse.softmax": (lambda i, x: sparse.softmax(matrix(i, x)).values, [indices, values]),
        "sparse times a dense matrix": (
            lambda i, x, y: (matrix(i, x) * y).values,
            [indices, values, tf.ones([1000, 1000])],
        ),
        "sparse.bincount": (
            lambda x: sparse.bincount(x).values,
            [tf.constant(rng.integers(0, 1000, 20000, dtype=np.int32))],
        ),
    }


def _signals(tf: Any) -> dict[str, Case]:
    signal, rng = tf.signal, np.random.default_rng(5)

    def normal(*shape: int) -> Any:
        return tf.constant(rng.standard_normal(shape, dtype=np.float32))

    sound, rows = normal(8, 16384), normal(64, 512)
    spectrum = signal.stft(sound, 256, 128)
    return {
        "stft, 256": (lambda x: tf.abs(signal.stft(x, 256, 128)), [sound]),
        "stft, 400 in 512": (lambda x: tf.abs(signal.stft(x, 400, 160, 512)), [sound]),
        "stft, 1024": (lambda x: tf.abs(signal.stft(x, 1024, 256)), [sound]),
        "inverse_stft": (
            lambda x, y: signal.inverse_stft(tf.complex(x, y), 256, 128),
            [tf.math.real(spectrum), tf.math.imag(spectrum)],
        ),
        "mdct": (lambda x: signal.mdct(x, 256), [sound]),
        "inverse_mdct": (signal.inverse_mdct, [signal.mdct(sound, 256)]),
        "dct, type 1": (lambda x: signal.dct(x, 1), [rows]),
        "dct, type 2": (lambda x: signal.dct(x, 2, norm="ortho"), [rows]),
        "dct, type 3": (lambda x: signal.dct(x, 3), [rows]),
        "dct, type 4": (lambda x: signal.dct(x, 4), [rows]),
        "idct, type 2": (lambda x: signal.idct(x, 2), [rows]),
        "mel spectrogram": (
            lambda x: tf.matmul(tf.abs(x), signal.linear_to_mel_weight_matrix(64, 129, 16000)),
            [tf.abs(spectrum)],
        ),
        "mfccs_from_log_mel_spectrograms": (signal.mfccs_from_log_mel_spectrograms, [normal(8, 100, 64)]),
        "frame": (lambda x: signal.frame(x, 256, 64), [sound]),
        "overlap_and_add": (lambda x: signal.overlap_and_add(x, 64), [normal(8, 200, 256)]),
        "rfft": (lambda x: tf.abs(signal.rfft(x)), [normal(64, 1024)]),
        "rfft of 1000": (lambda x: tf.abs(signal.rfft(x)), [normal(64, 1000)]),
        "rfft of 1009": (lambda x: tf.abs(signal.rfft(x)), [normal(64, 1009)]),
        "irfft": (lambda x: signal.irfft(tf.complex(x, x)), [normal(64, 513)]),
        "fft3d": (lambda x: tf.abs(signal.fft3d(tf.complex(x, x))), [normal(32, 32, 32)]),
    }


def passes(tf: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    """Functions without arguments that are run as they are: passes over data sets, and files written."""
    data, rng = tf.data.Dataset, np.random.default_rng(6)
    records = [rng.bytes(200) for _ in range(5000)]
    long = [rng.bytes(100_000) for _ in range(50)]
    text = [(" ".join(WORDS) * 3).encode() for _ in range(5000)]

    def write(name: str, records: list[bytes], compression: str = "") -> None:
        options = tf.io.TFRecordOptions(compression_type=compression)
        with tf.io.TFRecordWriter(str(folder / name), options) as writer:
            for record in records:
                writer.write(record)

    def last(dataset: Any) -> Callable[[], Any]:
        def run() -> Any:
            found = None
            for element in dataset:
                found = element
            return found

        return run

    def read(name: str, records: list[bytes], compression: str = "", batch: int = 500) -> Callable[[], Any]:
        write(name, records, compression)
        dataset = tf.data.TFRecordDataset(str(folder / name), compression)
        return last(dataset.batch(batch) if batch else dataset)

    table = folder / "table.csv"
    table.write_text("".join(f"{i},{i * 0.25},{WORDS[i % 10]},{-i}\n" for i in range(10_000)))
    (folder / "lines.txt").write_text("".join(f"{' '.join(WORDS)}\n" for _ in range(10_000)))
    columns = [tf.int32, tf.float32, tf.string, tf.int32]
    numbers, array = data.range(10_000), rng.standard_normal((5000, 64), dtype=np.float32)
    one = list(range(2000))
    return {
        "TFRecord, written": lambda: write("out", records),
        "TFRecord, long records, written": lambda: write("out", long),
        "TFRecord, GZIP, written": lambda: write("out", text, "GZIP"),
        "TFRecord, ZLIB, written": lambda: write("out", text, "ZLIB"),
        "TFRecord, read one by one": read("a", records, batch=0),
        "TFRecord, read": read("b", records),
        "TFRecord, long records, read": read("c", long, batch=10),
        "TFRecord, GZIP, read": read("d", text, "GZIP"),
        "TFRecord, ZLIB, read": read("e", text, "ZLIB"),
        "CsvDataset": last(tf.data.experimental.CsvDataset(str(table), columns).batch(500)),
        "CsvDataset, one by one": last(tf.data.experimental.CsvDataset(str(table), columns)),
        "TextLineDataset": last(tf.data.TextLineDataset(str(folder / "lines.txt")).batch(500)),
        "data set, one by one": last(numbers),
        "data set, batch": last(numbers.batch(100)),
        "data set, map": last(numbers.map(lambda x: x * 2 + 1).batch(100)),
        "data set, map of batches": last(numbers.batch(100).map(lambda x: x * 2 + 1)),
        "data set, map in parallel": last(numbers.map(lambda x: x * 2 + 1, tf.data.AUTOTUNE).batch(100)),
        "data set, filter": last(numbers.filter(lambda x: x % 3 == 0).batch(100)),
        "data set, shuffle": last(numbers.shuffle(1000, seed=1).batch(100)),
        "data set, shuffled rows": last(data.from_tensor_slices(array).shuffle(5000, seed=1).batch(50)),
        "data set, rows": last(data.from_tensor_slices(array).batch(50)),
        "data set, repeat": last(data.range(100).repeat(100).batch(100)),
        "data set, zip": last(data.zip((numbers, numbers)).batch(100)),
        "data set, padded_batch": last(data.range(2000).map(lambda n: tf.range(n % 20)).padded_batch(50)),
        "data set, flat_map": last(data.range(200).flat_map(lambda n: data.range(50)).batch(100)),
        "data set, interleave": last(data.range(200).interleave(lambda n: data.range(50), 4).batch(100)),
        "data set, window": last(data.range(2000).window(10).flat_map(lambda w: w.batch(10))),
        "data set, unbatch": last(numbers.batch(100).unbatch().batch(50)),
        "data set, scan": last(numbers.scan(np.int64(0), lambda s, x: (s + x, s)).batch(100)),
        "data set, cache": last(numbers.cache().batch(100)),
        "data set, prefetch": last(numbers.batch(100).prefetch(4)),
        "data set, group_by_window": last(
            data.range(2000).group_by_window(lambda x: x % 4, lambda _, w: w.batch(10), 10)
        ),
        "data set, reduce": lambda: numbers.reduce(np.int64(0), lambda s, x: s + x),
        "data set, from_generator": last(
            data.from_generator(lambda: iter(one), output_signature=tf.TensorSpec([], tf.int32)).batch(100)
        ),
    }
