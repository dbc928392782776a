"""Steps of optimizers: what becomes of a variable and of what is kept for it, one formula each.

A step takes the variable, what is kept for it, and then the gradient and numbers or tensors of the dtype of
the variable, in the order of TensorFlow's operator of the step. It gives what the variable becomes, and
what becomes of what is kept.
"""

from __future__ import annotations

from typing import Any

from penstock import raw_ops

__all__ = [
    "adadelta",
    "adagrad",
    "adagrad_da",
    "adagrad_v2",
    "adam",
    "adam_with_amsgrad",
    "adamax",
    "add_sign",
    "centered_rms_prop",
    "ftrl",
    "ftrl_v2",
    "gradient_descent",
    "keras_momentum",
    "momentum",
    "power_sign",
    "proximal_adagrad",
    "proximal_gradient_descent",
    "rms_prop",
]


def gradient_descent(var: Any, alpha: Any, delta: Any) -> tuple[Any, ...]:
    return (var - alpha * delta,)


def _shrunk(value: Any, rate: Any, l1: Any, l2: Any) -> Any:
    """What penalties of absolute values and of squares make of a value."""
    return (
        raw_ops.sign(value)
        * raw_ops.maximum(abs(value) - rate * l1, raw_ops.zeros_like(value))
        / (1 + rate * l2)
    )


def proximal_gradient_descent(var: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> tuple[Any, ...]:
    return (_shrunk(var - alpha * delta, alpha, l1, l2),)


def proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any) -> tuple[Any, ...]:
    accum += grad * grad
    rate = lr * raw_ops.rsqrt(accum)
    return _shrunk(var - rate * grad, rate, l1, l2), accum


def adadelta(
    var: Any, accum: Any, update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any
) -> tuple[Any, ...]:
    accum = accum * rho + grad * grad * (1 - rho)
    step = raw_ops.sqrt(update + epsilon) * raw_ops.rsqrt(accum + epsilon) * grad
    return var - lr * step, accum, update * rho + step * step * (1 - rho)


def adagrad(var: Any, accum: Any, lr: Any, grad: Any, slots: bool) -> tuple[Any, ...]:
    accum = accum + grad * grad if slots else accum
    return var - lr * grad * raw_ops.rsqrt(accum), accum


def adagrad_v2(var: Any, accum: Any, lr: Any, epsilon: Any, grad: Any, slots: bool) -> tuple[Any, ...]:
    accum = accum + grad * grad if slots else accum
    return var - lr * grad / (raw_ops.sqrt(accum) + epsilon), accum


def adagrad_da(
    var: Any, sums: Any, squares: Any, grad: Any, lr: Any, l1: Any, l2: Any, step: Any
) -> tuple[Any, ...]:
    sums, squares = sums + grad, squares + grad * grad
    steps = raw_ops.cast(step, dtype=var.dtype)
    soft = raw_ops.sign(sums) * raw_ops.maximum(abs(sums) - l1 * steps, raw_ops.zeros_like(sums))
    return -lr * soft / (l2 * steps * lr + raw_ops.sqrt(squares)), sums, squares


def adam(
    var: Any,
    m: Any,
    v: Any,
    power1: Any,
    power2: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    nesterov: bool,
) -> tuple[Any, ...]:
    rate = lr * raw_ops.sqrt(1 - power2) / (1 - power1)
    m, v = m + (grad - m) * (1 - beta1), v + (grad * grad - v) * (1 - beta2)
    ahead = grad * (1 - beta1) + beta1 * m if nesterov else m
    return var - ahead * rate / (raw_ops.sqrt(v) + epsilon), m, v


def adam_with_amsgrad(
    var: Any,
    m: Any,
    v: Any,
    most: Any,
    power1: Any,
    power2: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
) -> tuple[Any, ...]:
    rate = lr * raw_ops.sqrt(1 - power2) / (1 - power1)
    m, v = m + (grad - m) * (1 - beta1), v + (grad * grad - v) * (1 - beta2)
    most = raw_ops.maximum(most, v)
    return var - m * rate / (raw_ops.sqrt(most) + epsilon), m, v, most


def adamax(
    var: Any, m: Any, v: Any, power1: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any
) -> tuple[Any, ...]:
    m, v = m + (grad - m) * (1 - beta1), raw_ops.maximum(beta2 * v, abs(grad))
    return var - lr / (1 - power1) * m / (v + epsilon), m, v


def add_sign(var: Any, m: Any, lr: Any, alpha: Any, decay: Any, beta: Any, grad: Any) -> tuple[Any, ...]:
    m = m * beta + grad * (1 - beta)
    return var - lr * (alpha + decay * raw_ops.sign(grad) * raw_ops.sign(m)) * grad, m


def power_sign(var: Any, m: Any, lr: Any, base: Any, decay: Any, beta: Any, grad: Any) -> tuple[Any, ...]:
    m = m * beta + grad * (1 - beta)
    return var - lr * raw_ops.exp(base * decay * raw_ops.sign(grad) * raw_ops.sign(m)) * grad, m


def rms_prop(
    var: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> tuple[Any, ...]:
    ms = ms + (grad * grad - ms) * (1 - rho)
    mom = mom * momentum + lr * grad * raw_ops.rsqrt(ms + epsilon)
    return var - mom, ms, mom


def centered_rms_prop(
    var: Any, mg: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> tuple[Any, ...]:
    ms, mg = ms + (grad * grad - ms) * (1 - rho), mg + (grad - mg) * (1 - rho)
    mom = mom * momentum + lr * grad * raw_ops.rsqrt(ms - mg * mg + epsilon)
    return var - mom, mg, ms, mom


def ftrl(
    var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, power: Any, scaled: bool
) -> tuple[Any, ...]:
    return ftrl_v2(var, accum, linear, grad, lr, l1, l2, raw_ops.zeros_like(l2), power, scaled)


def ftrl_v2(
    var: Any,
    accum: Any,
    linear: Any,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    shrinkage: Any,
    power: Any,
    scaled: bool,
) -> tuple[Any, ...]:
    # With `scaled` the sums are kept times the learning rate.
    rate = raw_ops.ones_like(lr) if scaled else lr
    factor = lr if scaled else raw_ops.ones_like(lr)
    after = accum + grad * grad
    before, root = accum**-power, after**-power
    linear = linear + (grad + 2 * shrinkage * var) * factor - (root - before) / rate * var
    low = raw_ops.zeros_like(linear) - l1 * factor
    clipped = raw_ops.minimum(raw_ops.maximum(linear, low), -low)
    return (clipped - linear) / (root / rate + 2 * l2 * factor), after, linear


def momentum(var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, nesterov: bool) -> tuple[Any, ...]:
    accum = accum * momentum + grad
    return var - (grad * lr + accum * momentum * lr if nesterov else accum * lr), accum


def keras_momentum(
    var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, nesterov: bool
) -> tuple[Any, ...]:
    accum = accum * momentum - grad * lr
    return var + (accum * momentum - grad * lr if nesterov else accum), accum
