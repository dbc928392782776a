"""Where the processes of a cluster are."""

from __future__ import annotations

import abc
import json
import os
from typing import Any

from penstock._runtime.cluster import ClusterSpec
from penstock._runtime.public_names import publish as _publish

__all__ = ["ClusterResolver", "SimpleClusterResolver", "TFConfigClusterResolver"]


class ClusterResolver(abc.ABC):
    """The base of what knows the addresses of a cluster.

    Attributes:
        task_type: the job of this process, such as `"worker"`, or None.
        task_id: its number in the job, or None.

    >>> import penstock as tf
    >>> class Here(tf.distribute.cluster_resolver.ClusterResolver):
    ...     def cluster_spec(self):
    ...         return tf.train.ClusterSpec({"worker": ["a:1"]})
    >>> Here().master("worker", 0)
    'a:1'
    """

    task_type: str | None = None
    task_id: int | None = None

    @property
    def environment(self) -> str:
        """A name for where the cluster runs: empty."""
        return ""

    @abc.abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """Find the addresses.

        Returns:
            The jobs with their tasks.

        >>> import penstock as tf
        >>> tf.distribute.cluster_resolver.SimpleClusterResolver({"worker": ["a:1"]}).cluster_spec().as_dict()
        {'worker': ['a:1']}
        """

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Find the address of a task.

        Args:
            task_type: its job; with `task_id`, by default this process.
            task_id: its number.
            rpc_layer: what is put in front of it, as in `"grpc://host:port"`.

        Returns:
            The address; empty where no task is named.

        >>> import penstock as tf
        >>> tf.distribute.cluster_resolver.SimpleClusterResolver({"worker": ["a:1"]}).master("worker", 0)
        'a:1'
        """
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        address = self.cluster_spec().task_address(task_type, task_id)
        return f"{rpc_layer}://{address}" if rpc_layer else address

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict[str, int]:
        """Count the accelerators of this process.

        Args:
            task_type: accepted and ignored.
            task_id: accepted and ignored.
            config_proto: accepted and ignored.

        Returns:
            How many there are of each kind.

        >>> import penstock as tf
        >>> sorted(tf.distribute.cluster_resolver.SimpleClusterResolver({}).num_accelerators())
        ['GPU']
        """
        from penstock import config  # asks for devices, which takes time

        return {"GPU": len(config.list_logical_devices("GPU"))}


class SimpleClusterResolver(ClusterResolver):
    """A cluster whose addresses are given.

    Args:
        cluster_spec: the addresses, as a `tf.train.ClusterSpec` or what makes one.
        master: accepted and ignored.
        task_type: the job of this process.
        task_id: its number in the job.
        environment: a name for where the cluster runs.
        num_accelerators: how many accelerators there are of each kind.
        rpc_layer: accepted and ignored.

    Raises:
        TypeError: for something else than addresses.

    >>> import penstock as tf
    >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
    ...     {"worker": ["a:1", "b:1"]}, task_type="worker", task_id=1
    ... )
    >>> resolver.master()
    'b:1'
    """

    def __init__(
        self,
        cluster_spec: Any,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        self._spec = ClusterSpec(cluster_spec)
        self.task_type: str | None = task_type
        self.task_id: int | None = task_id
        self._environment, self._accelerators = environment, num_accelerators

    @property
    def environment(self) -> str:
        """A name for where the cluster runs."""
        return self._environment

    def cluster_spec(self) -> ClusterSpec:
        """Find the addresses.

        Returns:
            The jobs with their tasks.

        >>> import penstock as tf
        >>> tf.distribute.cluster_resolver.SimpleClusterResolver({"worker": ["a:1"]}).cluster_spec().jobs
        ['worker']
        """
        return self._spec

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict[str, int]:
        """Count the accelerators.

        Args:
            task_type: accepted and ignored.
            task_id: accepted and ignored.
            config_proto: accepted and ignored.

        Returns:
            What was given; else those of this process.

        >>> import penstock as tf
        >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver({}, num_accelerators={"GPU": 2})
        >>> resolver.num_accelerators()
        {'GPU': 2}
        """
        return super().num_accelerators() if self._accelerators is None else self._accelerators


class TFConfigClusterResolver(ClusterResolver):
    """A cluster that the environment variable `TF_CONFIG` describes.

    It holds JSON such as `{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index":
    0}}`.

    Args:
        task_type: the job of this process, in place of that of the variable.
        task_id: its number, in place of that of the variable.
        rpc_layer: accepted and ignored.
        environment: a name for where the cluster runs.

    Raises:
        ValueError: for a variable that holds something else.

    >>> import penstock as tf
    >>> tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec().as_dict()
    {}
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        text = os.environ.get("TF_CONFIG", "{}")
        try:
            found = json.loads(text or "{}")
            self._spec = ClusterSpec(found.get("cluster", {}))
            task = found.get("task", {})
            own_type, own_id = task.get("type"), task.get("index")
            self.task_type: str | None = own_type if task_type is None else task_type
            number = own_id if task_id is None else task_id
            self.task_id: int | None = None if number is None else int(number)
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f'the variable TF_CONFIG must be like {{"cluster": {{"worker": ["host:port"]}}, '
                f'"task": {{"type": "worker", "index": 0}}}}, got {text!r}'
            ) from error
        self._environment = environment or ""

    @property
    def environment(self) -> str:
        """A name for where the cluster runs."""
        return self._environment

    def cluster_spec(self) -> ClusterSpec:
        """Find the addresses.

        Returns:
            The jobs with their tasks; none where the variable is not set.

        >>> import penstock as tf
        >>> bool(tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec())
        False
        """
        return self._spec


_publish(__name__)
