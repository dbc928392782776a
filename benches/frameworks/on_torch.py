"""PyTorch, on the CPU, run eagerly; the two scalar loops are scripted, which is its fastest way."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import cases
from cases import Work, Works

DISTRIBUTION = "torch"
IMPORT = "torch"
COUNT = 20_000


def to_numpy(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return np.concatenate([np.ravel(to_numpy(part)) for part in result])
    return result.detach().numpy() if isinstance(result, torch.Tensor) else np.asarray(result)


def _tensors(arrays: Any) -> tuple[Any, ...]:
    return tuple(torch.as_tensor(a) for a in arrays)


def alternate(x: Any, y: Any, ops: int) -> Any:
    for _ in range(ops // 2):
        x = x * y
        x = x + y
    return x


def call_1(x: Any) -> Any:
    return x + 1.0


def call_10(a, b, c, d, e, f, g, h, i, j):
    return a + b + c + d + e + f + g + h + i + j


def chain_scalar(x: Any, y: Any) -> Any:
    return alternate(x, y, cases.CHAIN_SCALAR)


def chain_matmul(x: Any, y: Any) -> Any:
    for _ in range(cases.CHAIN_MATMUL):
        x = x @ y
    return x


def while_count(n: torch.Tensor) -> torch.Tensor:
    i = torch.zeros_like(n)
    while bool(i < n):
        i = i + 1
    return i


def collatz(limit: int) -> torch.Tensor:
    total = torch.zeros([], dtype=torch.int32)
    for start in range(1, limit):
        n = torch.full([], start, dtype=torch.int32)
        while bool(n != 1):
            n = n // 2 if bool(n % 2 == 0) else 3 * n + 1
            total = total + 1
    return total


def selu(z: Any) -> Any:
    return 1.05 * torch.where(z >= 0, z, 1.67 * torch.nn.functional.elu(z))


def polynomial(x: Any) -> Any:
    return ((2.0 * x + 3.0) * x - 1.0) * x + 0.5


def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    def cdf(x: Any) -> Any:
        return 0.5 * (1.0 + torch.erf(x * 0.7071067811865476))

    spread = cases.VOLATILITY * torch.sqrt(years)
    drift = (cases.RATE + 0.5 * cases.VOLATILITY**2) * years
    d1 = (torch.log(spot / strike) + drift) / spread
    return spot * cdf(d1) - strike * torch.exp(-cases.RATE * years) * cdf(d1 - spread)


def softmax(x: Any) -> Any:
    return torch.softmax(x, -1)


def conv2d(x: Any, k: Any) -> Any:
    # The result is in the order of memory, as the other frameworks have it.
    return torch.nn.functional.conv2d(x, k, padding="same").permute(0, 2, 3, 1)


def run_rnn(sequence: Any, w: Any, u: Any, b: Any) -> Any:
    state = torch.zeros(cases.RNN_BATCH, cases.RNN_HIDDEN)
    states = []
    for x in sequence:
        state = torch.tanh(x @ w + state @ u + b)
        states.append(state)
    return torch.stack(states)


def rnn_grad(sequence: Any, w: Any, u: Any, b: Any) -> Any:
    loss = torch.mean(torch.square(run_rnn(sequence, w, u, b)))
    return torch.autograd.grad(loss, [w, u, b])


def scalars() -> tuple[Any, ...]:
    return torch.tensor(1.0), torch.tensor(0.5)


def ten() -> tuple[Any, ...]:
    return tuple(torch.tensor(float(k)) for k in range(10))


def array(*shape: int) -> tuple[Any, ...]:
    return _tensors([cases.normal(*shape)])


def option_arrays() -> tuple[Any, ...]:
    return _tensors(cases.options())


def conv_arrays() -> tuple[Any, ...]:
    """Image and filters in the layout that PyTorch is fastest in."""
    x = torch.as_tensor(cases.normal(1, 200, 200, 100)).permute(0, 3, 1, 2)
    k = torch.as_tensor(cases.normal(3, 3, 100, 100)).permute(3, 2, 0, 1)
    return x, k.contiguous(memory_format=torch.channels_last)


def rnn_arrays(*, grad: bool = False) -> tuple[Any, ...]:
    sequence, *weights = _tensors(cases.rnn_inputs())
    return (sequence, *(w.requires_grad_(grad) for w in weights))


def mlp_work(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Work:
    """The Adam step of `torch.optim`, fused, around a wrapped loss."""
    x, y, initial = cases.mlp_inputs()
    w1, b1, w2, b2 = (torch.nn.Parameter(torch.as_tensor(p.copy())) for p in initial)
    optimizer = torch.optim.Adam([w1, b1, w2, b2], lr=1e-3, eps=1e-7, fused=True)
    labels = torch.as_tensor(y).long()

    def loss_of(x: Any, labels: Any) -> Any:
        logits = torch.relu(x @ w1 + b1) @ w2 + b2
        return torch.nn.functional.cross_entropy(logits, labels)

    loss_of = wrap(loss_of)

    def step(x: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(x, labels)
        loss.backward()
        optimizer.step()
        return loss

    return Work(step, (torch.as_tensor(x), labels))


def _script(function: Callable[..., Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(function)


def _while_count() -> Work:
    step = _script(while_count)

    def call(n: Any) -> None:
        step(n)

    return Work(call, (torch.tensor(COUNT),), steps=COUNT)


def _collatz() -> Work:
    return Work(_script(collatz), (cases.COLLATZ_LIMIT,), steps=cases.collatz_steps())


def _matmul(size: int) -> Callable[[], Work]:
    return lambda: Work(torch.matmul, array(size, size) * 2)


def _assign_add() -> Work:
    v = torch.tensor(0.0)

    def call() -> None:
        v.add_(1.0)

    return Work(call)


def _eager_grad() -> Work:
    def call(x: Any) -> Any:
        return torch.autograd.grad(x * x * x, x)[0]

    return Work(call, (torch.tensor(3.0, requires_grad=True),))


def works() -> Works:
    return {
        "call_1": lambda: Work(call_1, scalars()[:1]),
        "call_10": lambda: Work(call_10, ten()),
        "eager_add": lambda: Work(lambda x: x + x, (torch.ones(1),)),
        "chain_scalar": lambda: Work(chain_scalar, scalars(), cases.CHAIN_SCALAR),
        "chain_matmul": lambda: Work(chain_matmul, _tensors([cases.orthogonal(10)]) * 2, cases.CHAIN_MATMUL),
        "while_count": _while_count,
        "collatz": _collatz,
        "selu": lambda: Work(selu, array(cases.SMALL)),
        "polynomial": lambda: Work(polynomial, array(cases.LARGE)),
        "black_scholes": lambda: Work(black_scholes, option_arrays()),
        "softmax": lambda: Work(softmax, array(4000, 4000)),
        "conv2d": lambda: Work(conv2d, conv_arrays()),
        "cholesky": lambda: Work(torch.linalg.cholesky, (torch.from_numpy(cases.definite(512)),)),
        "svd": lambda: Work(lambda x: torch.linalg.svd(x, full_matrices=False)[1], array(256, 256)),
        "solve": lambda: Work(torch.linalg.solve, (torch.from_numpy(cases.definite(512)), *array(512, 512))),
        "rnn": lambda: Work(run_rnn, rnn_arrays()),
        "rnn_grad": lambda: Work(rnn_grad, rnn_arrays(grad=True)),
        "mlp_step": lambda: mlp_work(lambda function: function),
        "assign_add": _assign_add,
        "eager_grad": _eager_grad,
        **{f"matmul_{size}": _matmul(size) for size in cases.MATMULS},
    }
