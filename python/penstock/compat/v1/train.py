"""`tf.train` of TensorFlow 1: optimisers, step counters, learning rates, savers; the rest is version 2's."""

from __future__ import annotations

from penstock.compat.v1._optimizer import Optimizer as Optimizer
from penstock.compat.v1._optimizers import (
    AdadeltaOptimizer as AdadeltaOptimizer,
    AdagradOptimizer as AdagradOptimizer,
    AdamOptimizer as AdamOptimizer,
    FtrlOptimizer as FtrlOptimizer,
    GradientDescentOptimizer as GradientDescentOptimizer,
    MomentumOptimizer as MomentumOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
    RMSPropOptimizer as RMSPropOptimizer,
)
from penstock.compat.v1._training import (
    Saver as Saver,
    cosine_decay as cosine_decay,
    create_global_step as create_global_step,
    exponential_decay as exponential_decay,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
    inverse_time_decay as inverse_time_decay,
    natural_exp_decay as natural_exp_decay,
    piecewise_constant as piecewise_constant,
    polynomial_decay as polynomial_decay,
)

piecewise_constant_decay = piecewise_constant

__all__ = ["piecewise_constant_decay"]


def __getattr__(name: str) -> object:
    import penstock.train  # which is above this in the package

    return getattr(penstock.train, name)
