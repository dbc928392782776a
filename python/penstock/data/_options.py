"""`tf.data.Options`: what may be said of how a data set is run."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["AutoShardPolicy", "Options", "ThreadingOptions"]


class AutoShardPolicy(enum.IntEnum):
    """How a data set would be shared out among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class _Settings:
    """Attributes that may be set, and are None where they were not."""

    _names: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        for name in cls._names:
            setattr(cls, name, None)

    def __init__(self) -> None:
        for name in self._names:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(
                f"{type(self).__name__} has no option {name!r}; there are: {', '.join(self._names)}"
            )
        object.__setattr__(self, name, value)

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        said = ", ".join(f"{k}={v!r}" for k, v in self._values().items() if v is not None)
        return f"{type(self).__name__}({said})"


class ThreadingOptions(_Settings):
    """Options about threads, which are kept and have no effect: the engine has threads of its own.

    >>> import penstock as tf
    >>> options = tf.data.ThreadingOptions()
    >>> options.private_threadpool_size = 4
    >>> options
    ThreadingOptions(private_threadpool_size=4)
    """

    _names = ("max_intra_op_parallelism", "private_threadpool_size")


class DistributeOptions(_Settings):
    """Options about workers, which are kept and have no effect."""

    _names = ("auto_shard_policy", "num_devices")


class OptimizationOptions(_Settings):
    """Options about the rewriting of data sets, which are kept and have no effect."""

    _names = (
        "apply_default_optimizations",
        "filter_fusion",
        "filter_parallelization",
        "inject_prefetch",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "noop_elimination",
        "parallel_batch",
        "seq_interleave_prefetch",
        "shuffle_and_repeat_fusion",
    )


class AutotuneOptions(_Settings):
    """Options about tuning, which are kept and have no effect."""

    _names = (
        "autotune_algorithm",
        "cpu_budget",
        "enabled",
        "initial_parallelism",
        "min_parallelism",
        "ram_budget",
    )


class Options(_Settings):
    """Options of data sets, for `with_options`.

    They are kept, and have no effect: elements always come in order, and what can be computed together is.

    >>> import penstock as tf
    >>> options = tf.data.Options()
    >>> options.deterministic = True
    >>> tf.data.Dataset.range(3).with_options(options).options().deterministic
    True
    """

    _names = (
        "autotune",
        "dataset_name",
        "deterministic",
        "experimental_deterministic",
        "experimental_distribute",
        "experimental_external_state_policy",
        "experimental_optimization",
        "experimental_service",
        "experimental_slack",
        "experimental_symbolic_checkpoint",
        "experimental_threading",
        "experimental_warm_start",
        "framework_type",
        "threading",
    )

    def __init__(self) -> None:
        super().__init__()
        for name, kind in _GROUPS.items():
            object.__setattr__(self, name, kind())

    def merge(self, options: Options) -> Options:
        """Join these options with others, which win.

        Args:
            options: the others.

        Returns:
            The options of both.

        >>> import penstock as tf
        >>> first, second = tf.data.Options(), tf.data.Options()
        >>> second.deterministic = False
        >>> first.merge(second).deterministic
        False
        """
        found = Options()
        for name in self._names:
            said = getattr(options, name)
            if name in _GROUPS and said == _GROUPS[name]():
                said = None
            object.__setattr__(found, name, getattr(self, name) if said is None else said)
        return found


# The options that are groups of others.
_GROUPS: dict[str, type[_Settings]] = {
    "autotune": AutotuneOptions,
    "experimental_distribute": DistributeOptions,
    "experimental_optimization": OptimizationOptions,
    "experimental_threading": ThreadingOptions,
    "threading": ThreadingOptions,
}
