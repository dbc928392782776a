"""Where the processes of a cluster are."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

import penstock as tf

resolvers = tf.distribute.cluster_resolver


def test_the_tasks_of_several_clusters_are_one_cluster() -> None:
    first = resolvers.SimpleClusterResolver({"worker": ["a:1", "b:1"]}, environment="here")
    second = resolvers.SimpleClusterResolver({"worker": ["c:1"], "ps": ["d:1"]}, task_type="ps", task_id=0)
    union = resolvers.UnionResolver(first, second)
    assert union.cluster_spec().as_dict() == {"ps": ["d:1"], "worker": ["a:1", "b:1", "c:1"]}
    assert (union.task_type, union.task_id, union.environment) == ("ps", 0, "")
    assert union.master("worker", 2) == "c:1"
    named = resolvers.UnionResolver(first, task_type="worker", task_id=1)
    assert (named.master(), named.environment) == ("b:1", "here")
    with pytest.raises(TypeError, match="at least one"):
        resolvers.UnionResolver()
    with pytest.raises(TypeError, match="argument 'args'"):
        resolvers.UnionResolver("a:1")
    with pytest.raises(TypeError, match="no argument 'port'"):
        resolvers.UnionResolver(first, port=1)


def slurm(monkeypatch: pytest.MonkeyPatch, nodes: str, each: str, count: int, rank: int) -> None:
    for name, value in {
        "STEP_NODELIST": nodes,
        "STEP_TASKS_PER_NODE": each,
        "STEP_NUM_TASKS": str(count),
        "PROCID": str(rank),
    }.items():
        monkeypatch.setenv(f"SLURM_{name}", value)


def test_slurm_says_where_tasks_are(monkeypatch: pytest.MonkeyPatch) -> None:
    slurm(monkeypatch, "n[08-10],login,m[1,3]b", "2(x2),1(x4)", 8, 3)
    resolver = resolvers.SlurmClusterResolver({"worker": 6, "ps": 2}, port_base=70)
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["n08:70", "n08:71", "n09:70", "n09:71", "n10:70", "login:70"],
        "ps": ["m1b:70", "m3b:70"],
    }
    assert (resolver.task_type, resolver.task_id) == ("worker", 3)
    assert resolver.master() == "n09:71"


def test_slurm_gives_each_task_its_part_of_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "9")
    slurm(monkeypatch, "n[1-2]", "2(x2)", 4, 3)
    resolvers.SlurmClusterResolver(gpus_per_node=4, auto_set_gpu=False)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "9"
    resolvers.SlurmClusterResolver(gpus_per_node=4)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    resolvers.SlurmClusterResolver(gpus_per_node=4, gpus_per_task=1, tasks_per_node=[2, 2])
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"


def test_what_is_no_step_of_slurm_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="SLURM_STEP_NODELIST is not set"):
        resolvers.SlurmClusterResolver()
    slurm(monkeypatch, "n[1-2]", "2(x2)", 4, 0)
    with pytest.raises(ValueError, match="are not the 4 tasks"):
        resolvers.SlurmClusterResolver({"worker": 3})


def pod(name: str, address: str, phase: str = "Running") -> Any:
    status = SimpleNamespace(phase=phase, host_ip=address)
    return SimpleNamespace(metadata=SimpleNamespace(name=name), status=status)


def test_kubernetes_says_where_pods_are() -> None:
    pods = {"a=1": [pod("y", "10.0.0.2"), pod("x", "10.0.0.1")], "b=1": [pod("z", "10.0.0.3")]}

    class Client:
        def list_pod_for_all_namespaces(self, label_selector: str) -> Any:
            return SimpleNamespace(items=pods[label_selector])

    resolver = resolvers.KubernetesClusterResolver(
        {"worker": ["a=1"], "ps": ["b=1"]}, tf_server_port=80, override_client=Client()
    )
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["10.0.0.1:80", "10.0.0.2:80"],
        "ps": ["10.0.0.3:80"],
    }
    pods["a=1"].append(pod("w", "", "Pending"))
    with pytest.raises(RuntimeError, match="'w' does not run: its phase is Pending"):
        resolver.cluster_spec()


def test_compute_engine_says_where_machines_are() -> None:
    class Service:
        def __init__(self) -> None:
            self.answers: list[Any] = []

        def _then(self, answer: Any) -> Any:
            return SimpleNamespace(execute=lambda: answer)

        def instanceGroups(self) -> Any:
            pages = [{"items": [{"instance": "zones/z/b"}]}, {"items": [{"instance": "zones/z/a"}]}]
            requests = [self._then(page) for page in pages]
            return SimpleNamespace(
                listInstances=lambda **_: requests[0],
                listInstances_next=lambda request, _: requests[1] if request is requests[0] else None,
            )

        def instances(self) -> Any:
            def get(instance: str, **_: Any) -> Any:
                return self._then({"networkInterfaces": [{"networkIP": f"10.0.0.{instance}"}]})

            return SimpleNamespace(get=get)

    resolver = resolvers.GCEClusterResolver("p", "z", "g", 80, task_id=1, service=Service())
    assert resolver.cluster_spec().as_dict() == {"worker": ["10.0.0.a:80", "10.0.0.b:80"]}
    assert resolver.master() == "10.0.0.b:80"


def test_packages_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ImportError, match="pip install kubernetes"):
        resolvers.KubernetesClusterResolver()
    with pytest.raises(ImportError, match="pip install google-api-python-client"):
        resolvers.GCEClusterResolver("p", "z", "g", 80)
