"""Functions that Penstock and TensorFlow both have, each with operands: what `functions.py` measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["cases"]

Case = tuple[Callable[..., Any], list[Any]]


def cases(tf: Any) -> dict[str, Case]:
    """Each function with its operands."""
    import numpy as np

    rng = np.random.default_rng(0)

    def normal(*shape: int, dtype: Any = tf.float32) -> Any:
        return tf.cast(tf.constant(rng.standard_normal(shape, dtype=np.float32)), dtype)

    def positive(*shape: int) -> Any:
        return tf.constant(rng.random(shape, dtype=np.float32) * 0.8 + 0.1)

    def below(limit: int, *shape: int) -> Any:
        return tf.constant(rng.integers(0, limit, shape, dtype=np.int32))

    rows, groups, labels = below(5000, 4096), below(500, 20000), below(256, 1024)
    in_order = tf.constant(np.sort(rng.integers(0, 500, 20000, dtype=np.int32)))
    words, boxes = below(20, 16, 10) + 1, tf.constant([[0.1, 0.1, 0.9, 0.9]] * 32)
    # Matrices that are far from singular, and positive definite ones.
    square = normal(16, 48, 48) + 8.0 * tf.eye(48)
    definite = tf.matmul(square, square, transpose_b=True) + 48.0 * tf.eye(48)
    matrix, image, half = normal(512, 1024), normal(16, 32, 32, 16), tf.float16

    def network(x: Any, w: Any) -> Any:
        h = tf.zeros([32, 64])
        for i in tf.range(50):
            h = tf.tanh(tf.matmul(h, w) + x[i])
        return h

    nn, signal, linalg = tf.nn, tf.signal, tf.linalg
    unary = {
        "relu": nn.relu,
        "gelu": nn.gelu,
        "elu": nn.elu,
        "silu": nn.silu,
        "softplus": nn.softplus,
        "tanh": tf.tanh,
        "sigmoid": tf.sigmoid,
        "erf": tf.math.erf,
        "reduce_sum": tf.reduce_sum,
        "norm": tf.norm,
        "l2_loss": nn.l2_loss,
        "l2_normalize": lambda x: nn.l2_normalize(x, -1),
        "clip_by_norm": lambda x: tf.clip_by_norm(x, 1.0),
        "clip_by_value": lambda x: tf.clip_by_value(x, -1.0, 1.0),
        "dropout": lambda x: nn.dropout(x, 0.3, seed=1),
        "reduce_sum of columns": lambda x: tf.reduce_sum(x, 0),
        "reduce_max of rows": lambda x: tf.reduce_max(x, 1),
        "reduce_max of columns": lambda x: tf.reduce_max(x, 0),
        "reduce_std": lambda x: tf.math.reduce_std(x, 1),
        "reduce_logsumexp": lambda x: tf.reduce_logsumexp(x, 1),
        "cumsum of rows": lambda x: tf.cumsum(x, 1),
        "cumsum of columns": tf.cumsum,
        "transpose": tf.transpose,
        "reverse": lambda x: tf.reverse(x, [1]),
        "roll": lambda x: tf.roll(x, 3, 1),
        "slice": lambda x: x[:, 100:900],
        "strided slice": lambda x: x[::2, ::3],
        "split": lambda x: tf.split(x, 4, 1),
        "repeat": lambda x: tf.repeat(x, 3, 1),
        "polyval": lambda x: tf.math.polyval([1.0, 2.0, 3.0, 4.0], x),
    }
    found: dict[str, Case] = {name: (function, [matrix]) for name, function in unary.items()}
    found |= {
        "max_pool2d, 2 by 2": (lambda x: nn.max_pool2d(x, 2, 2, "VALID"), [normal(16, 32, 32, 32)]),
        "max_pool2d, 3 by 3": (lambda x: nn.max_pool2d(x, 3, 1, "SAME"), [normal(8, 32, 32, 32)]),
        "max_pool2d of float16": (
            lambda x: nn.max_pool2d(x, 2, 2, "VALID"),
            [normal(16, 32, 32, 32, dtype=half)],
        ),
        "max_pool1d": (lambda x: nn.max_pool1d(x, 2, 2, "VALID"), [normal(32, 128, 32)]),
        "max_pool3d": (lambda x: nn.max_pool3d(x, 2, 2, "VALID"), [normal(2, 16, 16, 16, 16)]),
        "avg_pool2d": (lambda x: nn.avg_pool2d(x, 3, 2, "SAME"), [normal(16, 32, 32, 32)]),
        "conv1d": (lambda x, w: nn.conv1d(x, w, 1, "SAME"), [normal(16, 128, 32), normal(5, 32, 32)]),
        "conv2d, 16 channels": (
            lambda x, w: nn.conv2d(x, w, 1, "SAME"),
            [normal(8, 32, 32, 16), normal(3, 3, 16, 16)],
        ),
        "conv2d, 64 channels": (
            lambda x, w: nn.conv2d(x, w, 1, "SAME"),
            [normal(8, 16, 16, 64), normal(3, 3, 64, 64)],
        ),
        "conv2d, 256 channels": (
            lambda x, w: nn.conv2d(x, w, 1, "SAME"),
            [normal(4, 8, 8, 256), normal(3, 3, 256, 256)],
        ),
        "conv2d, 1 channel": (
            lambda x, w: nn.conv2d(x, w, 1, "SAME"),
            [normal(32, 28, 28, 1), normal(3, 3, 1, 16)],
        ),
        "conv2d, 7 by 7, stride 2": (
            lambda x, w: nn.conv2d(x, w, 2, "SAME"),
            [normal(4, 64, 64, 3), normal(7, 7, 3, 32)],
        ),
        "conv2d, stride 2": (
            lambda x, w: nn.conv2d(x, w, 2, "SAME"),
            [normal(8, 32, 32, 32), normal(3, 3, 32, 64)],
        ),
        "conv2d, 1 by 1": (
            lambda x, w: nn.conv2d(x, w, 1, "SAME"),
            [normal(8, 16, 16, 64), normal(1, 1, 64, 64)],
        ),
        "conv2d, 1 by 1, stride 2": (
            lambda x, w: nn.conv2d(x, w, 2, "SAME"),
            [normal(8, 16, 16, 64), normal(1, 1, 64, 128)],
        ),
        "conv2d, dilated": (
            lambda x, w: nn.conv2d(x, w, 1, "SAME", dilations=2),
            [normal(8, 16, 16, 32), normal(3, 3, 32, 32)],
        ),
        "conv2d of float16": (
            lambda x, w: nn.conv2d(x, w, 1, "SAME"),
            [normal(8, 16, 16, 32, dtype=half), normal(3, 3, 32, 32, dtype=half)],
        ),
        "conv2d of float64": (
            lambda x, w: nn.conv2d(x, w, 1, "SAME"),
            [normal(8, 16, 16, 32, dtype=tf.float64), normal(3, 3, 32, 32, dtype=tf.float64)],
        ),
        "conv3d": (
            lambda x, w: nn.conv3d(x, w, [1] * 5, "SAME"),
            [normal(2, 8, 16, 16, 16), normal(3, 3, 3, 16, 16)],
        ),
        "conv2d_transpose": (
            lambda x, w: nn.conv2d_transpose(x, w, [8, 32, 32, 16], 2, "SAME"),
            [normal(8, 16, 16, 32), normal(3, 3, 16, 32)],
        ),
        "depthwise_conv2d": (
            lambda x, w: nn.depthwise_conv2d(x, w, [1] * 4, "SAME"),
            [normal(8, 32, 32, 32), normal(3, 3, 32, 1)],
        ),
        "separable_conv2d": (
            lambda x, w, v: nn.separable_conv2d(x, w, v, [1] * 4, "SAME"),
            [normal(4, 32, 32, 32), normal(3, 3, 32, 1), normal(1, 1, 32, 32)],
        ),
        "bias_add": (nn.bias_add, [normal(64, 32, 32, 16), normal(16)]),
        "moments": (lambda x: nn.moments(x, [0, 1, 2]), [image]),
        "local_response_normalization": (nn.local_response_normalization, [normal(4, 32, 32, 32)]),
        "softmax": (nn.softmax, [normal(1024, 256)]),
        "softmax of bfloat16": (nn.softmax, [normal(1024, 256, dtype=tf.bfloat16)]),
        "log_softmax": (nn.log_softmax, [normal(1024, 256)]),
        "softmax cross entropy": (
            lambda x, y: nn.softmax_cross_entropy_with_logits(y, x),
            [normal(1024, 256), positive(1024, 256)],
        ),
        "sparse softmax cross entropy": (
            lambda x: nn.sparse_softmax_cross_entropy_with_logits(labels, x),
            [normal(1024, 256)],
        ),
        "sigmoid cross entropy": (
            lambda x, y: nn.sigmoid_cross_entropy_with_logits(y, x),
            [normal(1024, 256), positive(1024, 256)],
        ),
        "ctc_loss": (
            lambda x: nn.ctc_loss(words, x, [10] * 16, [50] * 16, logits_time_major=False, blank_index=0),
            [normal(16, 50, 28)],
        ),
        "matmul": (tf.matmul, [normal(256, 256), normal(256, 256)]),
        "matmul of float16": (tf.matmul, [normal(256, 256, dtype=half), normal(256, 256, dtype=half)]),
        "matmul of 32": (tf.matmul, [normal(32, 64, 64), normal(32, 64, 64)]),
        "matmul of 1024 small": (tf.matmul, [normal(1024, 8, 8), normal(1024, 8, 8)]),
        "einsum": (
            lambda q, k: tf.einsum("bqhd,bkhd->bhqk", q, k),
            [normal(8, 64, 4, 16), normal(8, 64, 4, 16)],
        ),
        "gather": (lambda x: tf.gather(x, rows), [normal(5000, 64)]),
        "gather of columns": (lambda x: tf.gather(x, rows[:32] % 64, axis=1), [normal(4096, 64)]),
        "gather_nd": (lambda x: tf.gather_nd(x, tf.stack([rows % 64, rows % 32], 1)), [normal(64, 32, 16)]),
        "scatter_nd": (lambda x: tf.scatter_nd(rows[:, None], x, [5000, 16]), [normal(4096, 16)]),
        "tensor_scatter_nd_add": (
            lambda t, x: tf.tensor_scatter_nd_add(t, rows[:, None], x),
            [normal(5000, 16), normal(4096, 16)],
        ),
        "boolean_mask": (lambda x: tf.boolean_mask(x, groups[:512] > 250), [normal(512, 256)]),
        "one_hot times a matrix": (lambda x: tf.matmul(tf.one_hot(rows, 64), x), [normal(64, 32)]),
        "segment_sum": (lambda x: tf.math.segment_sum(x, in_order), [normal(20000, 16)]),
        "segment_mean": (lambda x: tf.math.segment_mean(x, in_order), [normal(20000, 16)]),
        "segment_max": (lambda x: tf.math.segment_max(x, in_order), [normal(20000, 16)]),
        "unsorted_segment_sum": (lambda x: tf.math.unsorted_segment_sum(x, groups, 500), [normal(20000, 16)]),
        "unsorted_segment_max": (lambda x: tf.math.unsorted_segment_max(x, groups, 500), [normal(20000, 16)]),
        "reduce_prod": (lambda x: tf.reduce_prod(x, 1), [positive(512, 256)]),
        "cumprod": (lambda x: tf.math.cumprod(x, 1), [positive(512, 256)]),
        "cumulative_logsumexp": (lambda x: tf.math.cumulative_logsumexp(x, 1), [normal(512, 256)]),
        "transpose of 4 dimensions": (lambda x: tf.transpose(x, [0, 2, 1, 3]), [normal(16, 64, 8, 32)]),
        "concat": (lambda a, b: tf.concat([a, b], 1), [normal(512, 512), normal(512, 512)]),
        "concat of short rows": (lambda a, b: tf.concat([a, b], -1), [normal(65536, 3), normal(65536, 2)]),
        "stack": (lambda a, b: tf.stack([a, b], 1), [normal(512, 512), normal(512, 512)]),
        "tile": (lambda x: tf.tile(x, [4, 4]), [normal(128, 256)]),
        "pad": (lambda x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), [image]),
        "pad by reflection": (lambda x: tf.pad(x, [[0, 0], [2, 2], [2, 2], [0, 0]], "REFLECT"), [image]),
        "where": (lambda x, y: tf.where(x > y, x, y), [matrix, normal(512, 1024)]),
        "maximum": (tf.maximum, [matrix, normal(512, 1024)]),
        "pow": (tf.pow, [positive(512, 1024), positive(512, 1024)]),
        "atan2": (tf.math.atan2, [matrix, normal(512, 1024)]),
        "product with a row": (lambda x, y: x * y, [matrix, normal(1024)]),
        "product with a column": (lambda x, y: x * y, [matrix, normal(512, 1)]),
        "relu of float16": (nn.relu, [normal(512, 1024, dtype=half)]),
        "sort": (lambda x: tf.sort(x, 1), [normal(256, 1024)]),
        "top_k": (lambda x: tf.math.top_k(x, 16)[0], [normal(256, 1024)]),
        "cholesky": (linalg.cholesky, [definite]),
        "eigh": (lambda x: linalg.eigh(x)[0], [definite]),
        "solve": (linalg.solve, [square, normal(16, 48, 8)]),
        "inv": (linalg.inv, [square]),
        "triangular_solve": (linalg.triangular_solve, [square, normal(16, 48, 8)]),
        "det": (linalg.det, [square]),
        "qr": (lambda x: linalg.qr(x)[0], [square]),
        "svd": (lambda x: linalg.svd(x, compute_uv=False), [square]),
        "fft": (lambda x: tf.abs(signal.fft(tf.cast(x, tf.complex64))), [normal(64, 1024)]),
        "rfft2d": (lambda x: tf.abs(signal.rfft2d(x)), [normal(16, 64, 64)]),
        "stft": (lambda x: tf.abs(signal.stft(x, 256, 128)), [normal(8, 8192)]),
        "resize, bilinear": (lambda x: tf.image.resize(x, [64, 64]), [normal(8, 32, 32, 8)]),
        "resize, bicubic": (lambda x: tf.image.resize(x, [64, 64], "bicubic"), [normal(8, 32, 32, 8)]),
        "resize, nearest": (lambda x: tf.image.resize(x, [64, 64], "nearest"), [normal(8, 32, 32, 8)]),
        "crop_and_resize": (
            lambda x: tf.image.crop_and_resize(x, boxes, rows[:32] % 8, [16, 16]),
            [normal(8, 32, 32, 8)],
        ),
        "extract_patches": (
            lambda x: tf.image.extract_patches(x, [1, 3, 3, 1], [1] * 4, [1] * 4, "SAME"),
            [normal(8, 32, 32, 8)],
        ),
        "ssim": (lambda x, y: tf.image.ssim(x, y, 1.0), [positive(4, 64, 64, 3), positive(4, 64, 64, 3)]),
        "sobel_edges": (tf.image.sobel_edges, [normal(4, 64, 64, 3)]),
        "total_variation": (tf.image.total_variation, [normal(8, 64, 64, 3)]),
        "space_to_depth": (lambda x: nn.space_to_depth(x, 2), [image]),
        "depth_to_space": (lambda x: nn.depth_to_space(x, 2), [normal(16, 16, 16, 64)]),
        "space_to_batch": (lambda x: tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]]), [image]),
        "dilation2d": (
            lambda x, w: nn.dilation2d(x, w, [1] * 4, "SAME", "NHWC", [1] * 4),
            [normal(4, 32, 32, 8), normal(3, 3, 8)],
        ),
        "lgamma": (tf.math.lgamma, [positive(512, 512)]),
        "digamma": (tf.math.digamma, [positive(512, 512)]),
        "igamma": (tf.math.igamma, [positive(256, 256), positive(256, 256)]),
        "betainc": (tf.math.betainc, [positive(128, 256), positive(128, 256), positive(128, 256)]),
        "embedding, mean of 16": (
            lambda x: tf.reduce_mean(nn.embedding_lookup(x, tf.reshape(rows, [256, 16])), 1),
            [normal(5000, 64)],
        ),
        "map_fn": (lambda x: tf.map_fn(lambda row: tf.reduce_sum(row * row), x), [normal(200, 64)]),
        "scan": (lambda x: tf.scan(lambda a, b: a * 0.9 + b, x), [normal(200, 64)]),
        "recurrent network in a loop": (network, [normal(50, 32, 64), normal(64, 64)]),
    }
    return found
