"""Where the processes of a cluster are."""

from __future__ import annotations

import abc
import enum
import importlib
import json
import os
from typing import Any

from penstock._runtime.cluster import ClusterSpec
from penstock._runtime.public_names import publish as _publish
from penstock._types.argument_names import expect
from penstock.distribute import _slurm

__all__ = [
    "ClusterResolver",
    "GCEClusterResolver",
    "KubernetesClusterResolver",
    "KubernetesExecutableLocation",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "TFConfigClusterResolver",
    "UnionResolver",
]


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


class UnionResolver(ClusterResolver):
    """The tasks of several clusters.

    Args:
        *args: the resolvers of the clusters. The tasks of one job come one behind the other.
        **kwargs: `task_type` and `task_id` of this process, by default those of the first cluster that knows
            it; `rpc_layer`, which is ignored.

    Raises:
        TypeError: for something else than resolvers, and for other keyword arguments.

    >>> import penstock as tf
    >>> resolvers = tf.distribute.cluster_resolver
    >>> first = resolvers.SimpleClusterResolver({"worker": ["a:1"]})
    >>> second = resolvers.SimpleClusterResolver({"worker": ["b:1"], "ps": ["c:1"]})
    >>> resolvers.UnionResolver(first, second).cluster_spec().as_dict()
    {'ps': ['c:1'], 'worker': ['a:1', 'b:1']}
    """

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        if not args:
            raise TypeError("at least one ClusterResolver is needed")
        for resolver in args:
            expect(resolver, ClusterResolver, "args", "of ClusterResolvers")
        for name in kwargs.keys() - {"rpc_layer", "task_id", "task_type"}:
            raise TypeError(f"there is no argument '{name}'")
        self._resolvers = args
        known = next((r for r in args if r.task_type is not None), args[0])
        self.task_type: str | None = kwargs.get("task_type", known.task_type)
        self.task_id: int | None = kwargs.get("task_id", known.task_id)

    @property
    def environment(self) -> str:
        """Where the clusters run, if that is one place; else empty."""
        names = {resolver.environment for resolver in self._resolvers}
        return names.pop() if len(names) == 1 else ""

    def cluster_spec(self) -> ClusterSpec:
        """Find the addresses.

        Returns:
            The jobs with their tasks.

        >>> import penstock as tf
        >>> resolvers = tf.distribute.cluster_resolver
        >>> union = resolvers.UnionResolver(resolvers.SimpleClusterResolver({"worker": ["a:1"]}))
        >>> union.cluster_spec().jobs
        ['worker']
        """
        found: dict[str, list[str]] = {}
        for resolver in self._resolvers:
            spec = resolver.cluster_spec()
            for job in spec.jobs:
                found.setdefault(job, []).extend(task for task in spec.job_tasks(job) if task is not None)
        return ClusterSpec(dict(sorted(found.items())))


class SlurmClusterResolver(ClusterResolver):
    """The tasks of a step of the batch system Slurm, as its environment variables describe them.

    Args:
        jobs: how many tasks each job has, in the order of the tasks of the step; by default all are workers.
        port_base: the port of the first task on each host; the others have the next ones.
        gpus_per_node: how many GPUs a host has; by default those that `nvidia-smi` would show are not asked
            for, and the variable `CUDA_VISIBLE_DEVICES` stays.
        gpus_per_task: how many GPUs a task has; by default its part of those of the host.
        tasks_per_node: how many tasks each host has, a number or a list; by default as Slurm says.
        auto_set_gpu: whether `CUDA_VISIBLE_DEVICES` is set, where `gpus_per_node` is given.
        rpc_layer: accepted and ignored.

    Raises:
        RuntimeError: outside of a step of Slurm.
        ValueError: for jobs with other numbers of tasks than the step.

    >>> import os, penstock as tf
    >>> os.environ.update(
    ...     SLURM_PROCID="1", SLURM_STEP_NODELIST="n[1-2]", SLURM_STEP_NUM_TASKS="2",
    ...     SLURM_STEP_TASKS_PER_NODE="1(x2)",
    ... )
    >>> tf.distribute.cluster_resolver.SlurmClusterResolver().cluster_spec().as_dict()
    {'worker': ['n1:8888', 'n2:8888']}
    >>> for name in ("PROCID", "STEP_NODELIST", "STEP_NUM_TASKS", "STEP_TASKS_PER_NODE"):
    ...     del os.environ[f"SLURM_{name}"]
    """

    def __init__(
        self,
        jobs: dict[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | list[int] | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
    ) -> None:
        hosts = _slurm.hosts(_slurm.variable("STEP_NODELIST"))
        count = int(_slurm.variable("STEP_NUM_TASKS"))
        if tasks_per_node is None:
            each = _slurm.counts(_slurm.variable("STEP_TASKS_PER_NODE"))
        else:
            each = [tasks_per_node] * len(hosts) if isinstance(tasks_per_node, int) else list(tasks_per_node)
        jobs = {"worker": count} if jobs is None else dict(jobs)
        if sum(jobs.values()) != count or sum(each) < count or len(each) != len(hosts):
            raise ValueError(
                f"argument 'jobs': {jobs} on {len(hosts)} hosts with {each} tasks are not the {count} tasks "
                "of the step"
            )
        places = [(host, local) for host, tasks in zip(hosts, each, strict=True) for local in range(tasks)]
        addresses = iter(f"{host}:{port_base + local}" for host, local in places)
        self._spec = ClusterSpec({job: [next(addresses) for _ in range(n)] for job, n in jobs.items()})
        rank = int(_slurm.variable("PROCID"))
        tasks = [(job, number) for job, n in jobs.items() for number in range(n)]
        task_type, task_id = tasks[rank]
        self.task_type: str | None = task_type
        self.task_id: int | None = task_id
        if gpus_per_node is not None and auto_set_gpu:
            local = places[rank][1]
            own = gpus_per_task or max(1, gpus_per_node // each[hosts.index(places[rank][0])])
            devices = range(local * own, min((local + 1) * own, gpus_per_node))
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, devices))

    def cluster_spec(self) -> ClusterSpec:
        """Find the addresses.

        Returns:
            The jobs with their tasks.

        Examples are those of the class.

        >>> import penstock as tf
        >>> tf.distribute.cluster_resolver.SlurmClusterResolver()
        Traceback (most recent call last):
        ...
        RuntimeError: the variable SLURM_STEP_NODELIST is not set: this is no step of Slurm
        """
        return self._spec


class KubernetesExecutableLocation(enum.Enum):
    """Where the program runs that asks for the pods of a cluster of Kubernetes."""

    WITHIN_CLUSTER = 0
    OFF_CLUSTER = 1


class KubernetesClusterResolver(ClusterResolver):
    """The tasks that run in pods of a cluster of Kubernetes, by their labels.

    Args:
        job_to_label_mapping: the label selectors of each job; by default workers are labelled
            `job-name=tensorflow`.
        tf_server_port: the port of all tasks.
        rpc_layer: accepted and ignored.
        override_client: a client of the Python package `kubernetes`; by default one is made.
        executable_location: where this program runs, for the client that is made.

    Raises:
        ImportError: without a client and without the package `kubernetes`.

    >>> import penstock as tf
    >>> class NoPods:
    ...     def list_pod_for_all_namespaces(self, label_selector):
    ...         return type("Pods", (), {"items": []})
    >>> resolver = tf.distribute.cluster_resolver.KubernetesClusterResolver(override_client=NoPods())
    >>> resolver.cluster_spec().as_dict()
    {'worker': []}
    """

    def __init__(
        self,
        job_to_label_mapping: dict[str, list[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str = "grpc",
        override_client: Any = None,
        executable_location: KubernetesExecutableLocation = KubernetesExecutableLocation.WITHIN_CLUSTER,
    ) -> None:
        if override_client is None:
            module = _package("kubernetes", "KubernetesClusterResolver", "kubernetes")
            if executable_location == KubernetesExecutableLocation.WITHIN_CLUSTER:
                module.config.load_incluster_config()
            else:
                module.config.load_kube_config()
            override_client = module.client.CoreV1Api()
        self._client, self._port = override_client, tf_server_port
        self._labels = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}

    def cluster_spec(self) -> ClusterSpec:
        """Find the addresses of the pods.

        Returns:
            The jobs with their tasks, by the names of the pods.

        Raises:
            RuntimeError: where a pod does not run.

        >>> import penstock as tf
        >>> class NoPods:
        ...     def list_pod_for_all_namespaces(self, label_selector):
        ...         return type("Pods", (), {"items": []})
        >>> resolver = tf.distribute.cluster_resolver.KubernetesClusterResolver(override_client=NoPods())
        >>> resolver.cluster_spec().jobs
        ['worker']
        """
        found: dict[str, list[str]] = {}
        for job, selectors in self._labels.items():
            found[job] = []
            for selector in selectors:
                pods = self._client.list_pod_for_all_namespaces(label_selector=selector).items
                for pod in sorted(pods, key=lambda pod: pod.metadata.name):
                    if pod.status.phase != "Running":
                        raise RuntimeError(
                            f"the pod {pod.metadata.name!r} does not run: its phase is {pod.status.phase}"
                        )
                    found[job].append(f"{pod.status.host_ip}:{self._port}")
        return ClusterSpec(found)


class GCEClusterResolver(ClusterResolver):
    """The machines of an instance group of Google's Compute Engine.

    Args:
        project: the project.
        zone: its zone.
        instance_group: the group.
        port: the port of all tasks.
        task_type: the job of this process.
        task_id: its number in the job.
        rpc_layer: accepted and ignored.
        credentials: for the client that is made; `"default"` for those of the environment.
        service: a client of the Python package `google-api-python-client`; by default one is made.

    Raises:
        ImportError: without a client and without the package.

    >>> import penstock as tf
    >>> class Service:
    ...     def instanceGroups(self):
    ...         return self
    ...     def listInstances(self, **which):
    ...         return self
    ...     def listInstances_next(self, request, response):
    ...         return None
    ...     def execute(self):
    ...         return {"items": []}
    >>> resolver = tf.distribute.cluster_resolver.GCEClusterResolver(
    ...     "project", "zone", "group", 8470, service=Service()
    ... )
    >>> resolver.cluster_spec().as_dict()
    {'worker': []}
    """

    def __init__(
        self,
        project: str,
        zone: str,
        instance_group: str,
        port: int,
        task_type: str = "worker",
        task_id: int = 0,
        rpc_layer: str = "grpc",
        credentials: Any = "default",
        service: Any = None,
    ) -> None:
        if service is None:
            discovery = _package(
                "googleapiclient.discovery", "GCEClusterResolver", "google-api-python-client"
            )
            given = {} if credentials == "default" else {"credentials": credentials}
            service = discovery.build("compute", "v1", **given)
        self._service, self._where, self._group = service, {"project": project, "zone": zone}, instance_group
        self._port = port
        self.task_type: str | None = task_type
        self.task_id: int | None = task_id

    def cluster_spec(self) -> ClusterSpec:
        """Find the addresses of the machines.

        Returns:
            One job, of the type of this process.

        >>> import penstock as tf
        >>> tf.distribute.cluster_resolver.GCEClusterResolver(
        ...     "project", "zone", "group", 8470, service=object()
        ... ).task_type
        'worker'
        """
        groups, addresses = self._service.instanceGroups(), []
        request = groups.listInstances(
            **self._where, instanceGroup=self._group, body={"instanceState": "RUNNING"}, orderBy="name"
        )
        while request is not None:
            response = request.execute()
            for item in response.get("items", []):
                name = item["instance"].rpartition("/")[2]
                machine = self._service.instances().get(**self._where, instance=name).execute()
                addresses.append(f"{machine['networkInterfaces'][0]['networkIP']}:{self._port}")
            request = groups.listInstances_next(request, response)
        return ClusterSpec({str(self.task_type): sorted(addresses)})


def _package(module: str, resolver: str, package: str) -> Any:
    """A package that a resolver needs.

    Raises:
        ImportError: where it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{resolver} needs a client of the network: pip install {package}, or give it one"
        ) from error


_publish(__name__)
