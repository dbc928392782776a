"""Five programs whose control flow depends on data, those that the paper on AutoGraph measures.

D. Moldovan et al., 2019, AutoGraph: Imperative-style coding with graph-based performance. Each is one source
for Penstock and TensorFlow, run traced and run eagerly.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from cases import Case

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]

TEXT: Final = (
    "The applications of the paper on AutoGraph: one source for Penstock and TensorFlow, traced and eager; "
    "in JAX they are written with `lax` and compiled."
)
_TITLES: Final = {
    "lbfgs": "L-BFGS: logistic regression 500×20, 20 steps, 8 pairs",
    "maml": "MAML: gradient through the gradients of 5 tasks",
    "beam_search": "beam search: 40 steps, 8 beams, 500 words",
    "sequence": "LSTM over sequences of different lengths, with gradient",
    "tree_lstm": "TreeLSTM over a tree of 63 nodes",
}
TRACED: Final = tuple(_TITLES)
CASES: Final = tuple(
    Case(key + suffix, title + how, tolerance=1e-2)
    for key, title in _TITLES.items()
    for suffix, how in (("", ""), ("_eager", ", eager"))
)

LBFGS_ROWS, LBFGS_COLUMNS, LBFGS_STEPS, LBFGS_PAIRS = 500, 20, 20, 8
LBFGS_PENALTY: Final = 1e-2
TASKS, SHOTS, MAML_HIDDEN, INNER_RATE = 5, 10, 40, 0.01
SEARCH_STEPS, SEARCH_BEAMS, SEARCH_WORDS, SEARCH_WIDTH = 40, 8, 500, 64
SEQUENCE_BATCH, SEQUENCE_TIME, SEQUENCE_WIDTH, SEQUENCE_WORDS = 16, 40, 64, 50
TREE_LEAVES, TREE_WIDTH = 32, 64


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _weights(rng: np.random.Generator, *shape: int) -> F32:
    return rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[0]))


def lbfgs_inputs() -> tuple[F32, F32, F32]:
    """Features, labels -1 and 1, first weights."""
    rng = _rng()
    x = rng.standard_normal((LBFGS_ROWS, LBFGS_COLUMNS), dtype=np.float32)
    noise = rng.standard_normal(LBFGS_ROWS, dtype=np.float32)
    y = np.sign(x @ rng.standard_normal(LBFGS_COLUMNS, dtype=np.float32) + noise)
    return x, y, np.zeros(LBFGS_COLUMNS, np.float32)


def maml_inputs() -> tuple[F32, ...]:
    """Points and values to adapt to and to test on, [tasks, shots, 1]; the parameters of three layers."""
    rng = _rng()
    phase, height = rng.uniform(0, np.pi, (TASKS, 1, 1)), rng.uniform(0.1, 5, (TASKS, 1, 1))
    parts = []
    for _ in range(2):
        x = rng.uniform(-5, 5, (TASKS, SHOTS, 1))
        parts += [x.astype(np.float32), (height * np.sin(x + phase)).astype(np.float32)]
    for before, after in ((1, MAML_HIDDEN), (MAML_HIDDEN, MAML_HIDDEN), (MAML_HIDDEN, 1)):
        parts += [_weights(rng, before, after), np.zeros(after, np.float32)]
    return tuple(parts)


def beam_search_inputs() -> tuple[F32, F32, F32]:
    """The embedding of words, the weights of the state, the weights of the output."""
    rng = _rng()
    words = rng.standard_normal((SEARCH_WORDS, SEARCH_WIDTH), dtype=np.float32)
    state = _weights(rng, SEARCH_WIDTH, SEARCH_WIDTH)
    return words, state, 3 * _weights(rng, SEARCH_WIDTH, SEARCH_WORDS)


def sequence_inputs() -> tuple[I32, I32, F32, F32, F32, F32]:
    """Words [batch, time + 1], lengths, embedding, weights and bias of the cell, weights of the output."""
    rng = _rng()
    words = rng.integers(0, SEQUENCE_WORDS, (SEQUENCE_BATCH, SEQUENCE_TIME + 1)).astype(np.int32)
    lengths = rng.integers(SEQUENCE_TIME // 4, SEQUENCE_TIME, SEQUENCE_BATCH).astype(np.int32)
    embedding = rng.standard_normal((SEQUENCE_WORDS, SEQUENCE_WIDTH), dtype=np.float32)
    cell = _weights(rng, 2 * SEQUENCE_WIDTH, 4 * SEQUENCE_WIDTH)
    bias = np.zeros(4 * SEQUENCE_WIDTH, np.float32)
    return words, lengths, embedding, cell, bias, _weights(rng, SEQUENCE_WIDTH, SEQUENCE_WORDS)


def tree_inputs() -> tuple[I32, I32, F32, F32, F32]:
    """Left and right child of each node, -1 at leaves, children first; vectors of leaves; weights, bias."""
    rng = _rng()
    nodes = 2 * TREE_LEAVES - 1
    left, right = np.full(nodes, -1, np.int32), np.full(nodes, -1, np.int32)
    roots = list(range(TREE_LEAVES))
    for node in range(TREE_LEAVES, nodes):
        for child in (left, right):
            child[node] = roots.pop(int(rng.integers(len(roots))))
        roots.append(node)
    vectors = rng.standard_normal((TREE_LEAVES, TREE_WIDTH), dtype=np.float32)
    return (
        left,
        right,
        vectors,
        _weights(rng, 2 * TREE_WIDTH, 5 * TREE_WIDTH),
        np.zeros(5 * TREE_WIDTH, np.float32),
    )
