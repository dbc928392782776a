"""Learning rates of TensorFlow 1 that fall along a cosine, and begin anew or vary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from penstock import random, raw_ops
from penstock.compat.v1._training import decaying

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["cosine_decay_restarts", "linear_cosine_decay", "noisy_linear_cosine_decay"]


def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: TensorLike,
    first_decay_steps: TensorLike,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: float = 0.0,
    name: str | None = None,
) -> Any:
    """Make a learning rate that falls along a cosine and begins anew, again and again.

    Args:
        learning_rate: the rate at first.
        global_step: the step counter.
        first_decay_steps: the number of steps of the first fall.
        t_mul: what the number of steps is multiplied by each time.
        m_mul: what the rate at the beginning is multiplied by each time.
        alpha: the least rate, as a part of the first one.
        name: what it is called in a graph, and the scope of its operations there.

    Returns:
        A scalar tensor in a graph or a traced function, else a function that gives it.

    >>> import penstock as tf
    >>> rate = tf.compat.v1.train.cosine_decay_restarts(1.0, tf.Variable(10), 10, m_mul=0.5)
    >>> float(rate())
    0.5
    """

    def formula(rate: Any, step: Any) -> Any:
        done = step / raw_ops.cast(first_decay_steps, dtype=rate.dtype)
        if t_mul == 1.0:
            restarts = raw_ops.floor(done)
            part = done - restarts
        else:
            grown = raw_ops.log(1.0 - done * (1.0 - t_mul)) / math.log(t_mul)
            restarts = raw_ops.floor(grown)
            length = t_mul**restarts
            part = (done - (1.0 - length) / (1.0 - t_mul)) / length
        wave = 0.5 * (m_mul**restarts) * (1.0 + raw_ops.cos(math.pi * part))
        return rate * ((1.0 - alpha) * wave + alpha)

    return decaying(formula, learning_rate, global_step, name or "SGDRDecay")


def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Any:
    """Make a learning rate that falls along a line times a cosine.

    Args:
        learning_rate: the rate at first.
        global_step: the step counter.
        decay_steps: after how many steps it is the least.
        num_periods: the number of periods of the cosine.
        alpha: what is added to the line.
        beta: what is added to the product.
        name: what it is called in a graph, and the scope of its operations there.

    Returns:
        A scalar tensor in a graph or a traced function, else a function that gives it.

    >>> import penstock as tf
    >>> float(tf.compat.v1.train.linear_cosine_decay(1.0, tf.Variable(10), 10, beta=0.5)())
    0.5
    """

    def formula(rate: Any, step: Any) -> Any:
        steps = raw_ops.cast(decay_steps, dtype=rate.dtype)
        done = raw_ops.minimum(step, steps) / steps
        wave = 0.5 * (1.0 + raw_ops.cos(2.0 * math.pi * num_periods * done))
        return rate * ((alpha + 1.0 - done) * wave + beta)

    return decaying(formula, learning_rate, global_step, name or "LinearCosineDecay")


def noisy_linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    initial_variance: float = 1.0,
    variance_decay: float = 0.55,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Any:
    """Make a learning rate that falls along a line with noise times a cosine.

    Args:
        learning_rate: the rate at first.
        global_step: the step counter.
        decay_steps: after how many steps it is the least.
        initial_variance: the variance of the noise at first.
        variance_decay: the power of the steps that the variance falls by.
        num_periods: the number of periods of the cosine.
        alpha: what is added to the line.
        beta: what is added to the product.
        name: what it is called in a graph, and the scope of its operations there.

    Returns:
        A scalar tensor in a graph or a traced function, else a function that gives it.

    >>> import penstock as tf
    >>> rate = tf.compat.v1.train.noisy_linear_cosine_decay(1.0, tf.Variable(10), 10, 0.0, beta=0.5)
    >>> float(rate())
    0.5
    """

    def formula(rate: Any, step: Any) -> Any:
        steps = raw_ops.cast(decay_steps, dtype=rate.dtype)
        last = raw_ops.minimum(step, steps)
        done = last / steps
        deviation = raw_ops.sqrt(initial_variance / (1.0 + last) ** variance_decay)
        line = 1.0 - done + random.normal([], dtype=rate.dtype) * deviation
        wave = 0.5 * (1.0 + raw_ops.cos(2.0 * math.pi * num_periods * done))
        return rate * ((alpha + line) * wave + beta)

    return decaying(formula, learning_rate, global_step, name or "NoisyLinearCosineDecay")
