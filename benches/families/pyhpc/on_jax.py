"""The ocean models on JAX."""

import jax
import jax.numpy as jnp

from cases import Works
from families.arrays import of_numpy
from families.pyhpc import shared

jax.config.update("jax_enable_x64", True)


def works() -> Works:
    return shared.works(of_numpy(jnp), jax.jit, jnp.asarray, jax.block_until_ready)
