"""What is measured: the cases in the order of the table, and the inputs that every framework gets."""

import functools
import linecache
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table.

    Attributes:
        key: The name that the frameworks implement it under.
        title: The row's heading.
        unit: What the figure is: `seconds` or `bytes`, less is better in both.
        tolerance: How far, relatively, the frameworks' results may lie apart.
        floors: Frameworks that are no peers in this case but what everybody stands on, or a lower bound.
        long: Measured only if it is named.
    """

    key: str
    title: str
    unit: str = "seconds"
    tolerance: float = 1e-3
    floors: frozenset[str] = frozenset()
    long: bool = False


CASES: Final = (
    Case("call_1", "cached call, 1 scalar tensor"),
    Case("call_10", "cached call, 10 scalar tensors"),
    Case("eager_add", "eager `x + x`, 1 element"),
    Case("first_10", "first call, 10 ops"),
    Case("first_1000", "first call, 1000 ops"),
    Case("chain_scalar", "chain of 200 scalar ops, per op"),
    Case("chain_matmul", "chain of 100 10×10 matmuls, per op"),
    Case("while_count", "`while i < n: i += 1`, per step"),
    Case("collatz", "Collatz, starts 1 to 999, per step"),
    Case("fizzbuzz", "FizzBuzz to 100,000 without output, per step"),
    Case("newton", "Newton's square roots of 64 numbers to a tolerance"),
    Case("beam", "beam search: 32 steps, 4 beams, 256 words, a TensorArray"),
    Case("convert", "AutoGraph conversion of a function of 20 lines"),
    Case("selu", "scaled ELU, 1 M f32"),
    Case("polynomial", "polynomial of degree 3, 16 M f32"),
    Case("copy", "copy of 16 M f32, the polynomial's floor", floors=frozenset({"numpy"})),
    Case("black_scholes", "Black–Scholes, 1 M f32"),
    Case("softmax", "softmax 4000×4000 f32"),
    Case("matmul_64", "matmul 64 f32"),
    Case("matmul_512", "matmul 512 f32"),
    Case("matmul_1024", "matmul 1024 f32"),
    Case("matmul_2048", "matmul 2048 f32"),
    Case("conv2d", "conv2d 1×200×200×100, 3×3, 100 filters"),
    Case("cholesky", "Cholesky factor 512 f32"),
    Case("svd", "singular values and vectors 256 f32"),
    Case("solve", "solution of 512 equations, 512 right-hand sides, f32", tolerance=1e-2),
    Case("rnn", "dynamic RNN, T=100 B=32 H=128"),
    Case("rnn_grad", "its gradient", tolerance=1e-2),
    Case("mlp_step", "MLP 784-256-10, Adam step, batch 64"),
    Case("mlp_100", "the same, 100 steps in one graph, per step", tolerance=1e-2),
    Case("py_function", "`py_function` identity"),
    Case("host_loop", "1,000 `py_function` calls in a graph loop"),
    Case("host_chain", "144 MB through three chained callbacks"),
    Case("variables_100", "a function that reads and writes 100 variables"),
    Case("assign_add", "`v.assign_add(1.)` in a function"),
    Case("eager_grad", "eager gradient of x³"),
    Case("dataset", "`Dataset.range(100k).map(f).batch(128)`, per element"),
    Case("import", "`import`", floors=frozenset({"numpy"})),
    Case("size", "installed size, dependencies included", unit="bytes", floors=frozenset({"numpy"})),
    Case("wheel", "wheel file", unit="bytes"),
)


@dataclass(slots=True)
class Work:
    """One case, ready to be called again and again.

    Attributes:
        call: What is timed, called with `args`.
        args: Its arguments, made ready outside the timed loop.
        steps: How many steps one call makes; the figure is the time of one step.
        wait: Blocks until a result is there, for frameworks that return early.
    """

    call: Callable[..., Any]
    args: tuple[Any, ...] = field(default=())
    steps: int = 1
    wait: Callable[[Any], Any] | None = None


Works = dict[str, Callable[[], Work]]


# --- sizes --------------------------------------------------------------------

CHAIN_SCALAR: Final = 200
CHAIN_MATMUL: Final = 100
COLLATZ_LIMIT: Final = 1000
FIZZBUZZ: Final = 100_000
NEWTON: Final = 64
BEAMS, BEAM_STEPS, BEAM_WORDS, BEAM_WIDTH = 4, 32, 256, 32
SMALL: Final = 1 << 20
LARGE: Final = 1 << 24
MATMULS: Final = (64, 512, 1024, 2048)
RNN_TIME, RNN_BATCH, RNN_HIDDEN = 100, 32, 128
MLP_BATCH, MLP_IN, MLP_HIDDEN, MLP_OUT = 64, 784, 256, 10
MLP_STEPS: Final = 100
HOST_CALLS: Final = 1000
HOST_ELEMENTS: Final = 36_000_000
VARIABLES: Final = 100
DATASET_SIZE: Final = 100_000
DATASET_BATCH: Final = 128
RATE, VOLATILITY = 0.02, 0.3


def collatz_steps() -> int:
    """The number of steps over all starts, which the figure is divided by."""
    total = 0
    for start in range(1, COLLATZ_LIMIT):
        n = start
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            total += 1
    return total


# --- inputs -------------------------------------------------------------------


def _rng() -> np.random.Generator:
    return np.random.default_rng(20)


def normal(*shape: int) -> F32:
    return _rng().standard_normal(shape, dtype=np.float32)


def orthogonal(size: int) -> F32:
    """A matrix whose powers neither grow nor vanish."""
    q, _ = np.linalg.qr(_rng().standard_normal((size, size)))
    return q.astype(np.float32)


def definite(size: int) -> F32:
    """A symmetric positive definite matrix."""
    x = _rng().standard_normal((size, size))
    return (x @ x.T / size + np.eye(size)).astype(np.float32)


def beam_inputs() -> tuple[F32, F32, F32]:
    """First states [beam, width], and the weights of states and of words."""
    rng = _rng()
    scale = np.float32(1 / np.sqrt(BEAM_WIDTH))
    first = rng.standard_normal((BEAMS, BEAM_WIDTH), dtype=np.float32)
    w = rng.standard_normal((BEAM_WIDTH, BEAM_WIDTH), dtype=np.float32) * scale
    return first, w, rng.standard_normal((BEAM_WORDS, BEAM_WIDTH), dtype=np.float32)


# Twenty lines for AutoGraph to convert.
CONVERTED: Final = """\
def function(x, n):
    total, count = 123456, 0
    for i in range(n):
        if i % 2 == 0:
            total += i
        elif i > 10 and total < 100:
            total -= 1
            continue
        else:
            count += 1
        y = total * 2
        while y > 10:
            y = y // 2
            if y == 7:
                break
        count += y
    if total > count:
        return total, count
    result = total + count if total > 0 else count
    best = max(result, x)
    return best, [a * 2 for a in range(3)]
"""


@functools.cache
def _converted() -> types.FunctionType:
    file = "<converted>"
    linecache.cache[file] = (len(CONVERTED), None, CONVERTED.splitlines(True), file)
    names: dict[str, Any] = {}
    exec(compile(CONVERTED, file, "exec"), names)
    return names["function"]  # type: ignore[no-any-return]


def fresh_function(number: int) -> Callable[..., Any]:
    """The function of `CONVERTED` with another number in its code: equal code is converted once."""
    function = _converted()
    constants = tuple(number if value == 123456 else value for value in function.__code__.co_consts)
    return types.FunctionType(function.__code__.replace(co_consts=constants), function.__globals__)


def options() -> tuple[F32, F32, F32]:
    """Spot prices, strikes and years to maturity of one million options."""
    rng = _rng()
    spot = rng.uniform(10, 50, SMALL).astype(np.float32)
    strike = rng.uniform(10, 50, SMALL).astype(np.float32)
    years = rng.uniform(0.5, 2.0, SMALL).astype(np.float32)
    return spot, strike, years


def rnn_inputs() -> tuple[F32, F32, F32, F32]:
    """The sequence [time, batch, hidden], and the weights of input, state and bias."""
    rng = _rng()
    sequence = rng.standard_normal((RNN_TIME, RNN_BATCH, RNN_HIDDEN), dtype=np.float32)
    scale = np.float32(0.5 / np.sqrt(RNN_HIDDEN))
    w = rng.standard_normal((RNN_HIDDEN, RNN_HIDDEN), dtype=np.float32) * scale
    u = rng.standard_normal((RNN_HIDDEN, RNN_HIDDEN), dtype=np.float32) * scale
    return sequence, w, u, np.zeros(RNN_HIDDEN, np.float32)


def mlp_inputs() -> tuple[F32, npt.NDArray[np.int32], list[F32]]:
    """A batch of standardised images, its labels, and the parameters w1, b1, w2, b2."""
    rng = _rng()
    x = rng.standard_normal((MLP_BATCH, MLP_IN), dtype=np.float32)
    y = rng.integers(0, MLP_OUT, MLP_BATCH).astype(np.int32)
    w1 = rng.standard_normal((MLP_IN, MLP_HIDDEN), dtype=np.float32) * np.float32(0.05)
    w2 = rng.standard_normal((MLP_HIDDEN, MLP_OUT), dtype=np.float32) * np.float32(0.05)
    return x, y, [w1, np.zeros(MLP_HIDDEN, np.float32), w2, np.zeros(MLP_OUT, np.float32)]
