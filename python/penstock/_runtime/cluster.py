"""`tf.train.ClusterSpec`: the addresses of the tasks of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = ["ClusterSpec"]

_Tasks: TypeAlias = "Mapping[int, str] | Sequence[str]"


class ClusterSpec:
    """Jobs, of which each has tasks with addresses. A description: it opens no connection.

    Args:
        cluster: for the name of each job a list of the addresses of its tasks, or a dict of them by number;
            or another description.

    Raises:
        TypeError: for something else.

    >>> import penstock as tf
    >>> cluster = tf.train.ClusterSpec({"worker": ["host0:2222", "host1:2222"], "ps": {1: "host2:2222"}})
    >>> cluster.jobs, cluster.num_tasks("worker"), cluster.task_address("ps", 1)
    (['worker', 'ps'], 2, 'host2:2222')
    """

    def __init__(self, cluster: Mapping[str, _Tasks] | ClusterSpec) -> None:
        given = cluster._tasks if isinstance(cluster, ClusterSpec) else cluster
        if not isinstance(given, Mapping):
            raise TypeError(f"argument 'cluster' must be a dict of jobs, or a ClusterSpec, got {cluster!r}")
        self._tasks: dict[str, dict[int, str]] = {}
        for job, tasks in given.items():
            if isinstance(tasks, list | tuple):
                listed = dict(enumerate(tasks))
            elif isinstance(tasks, Mapping):
                listed = {int(i): address for i, address in sorted(tasks.items())}
            else:
                raise TypeError(
                    f"argument 'cluster' must have a list or a dict of tasks for job {job!r}, got {tasks!r}"
                )
            for i, address in listed.items():
                if not isinstance(address, str):
                    raise TypeError(
                        f"argument 'cluster' must have texts as addresses, got {address!r} for task {i}"
                    )
            self._tasks[job] = listed

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._tasks == other._tasks

    def __hash__(self) -> int:
        return hash(frozenset((job, tuple(tasks.items())) for job, tasks in self._tasks.items()))

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._tasks)

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """List the addresses.

        Returns:
            For each job a list where its tasks are numbered from 0, else a dict.

        >>> import penstock as tf
        >>> tf.train.ClusterSpec({"worker": ["a:1"]}).as_dict()
        {'worker': ['a:1']}
        """
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._tasks.items()
        }

    def _job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._tasks:
            raise ValueError(f"argument 'job_name' must be one of {self.jobs}, got {job_name!r}")
        return self._tasks[job_name]

    def num_tasks(self, job_name: str) -> int:
        """Count the tasks of a job.

        Args:
            job_name: the name of the job.

        Returns:
            The number.

        Raises:
            ValueError: where there is no such job.

        >>> import penstock as tf
        >>> tf.train.ClusterSpec({"worker": ["a:1"]}).num_tasks("worker")
        1
        """
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """List the numbers of the tasks of a job.

        Args:
            job_name: the name of the job.

        Returns:
            The numbers.

        Raises:
            ValueError: where there is no such job.

        >>> import penstock as tf
        >>> tf.train.ClusterSpec({"worker": ["a:1"]}).task_indices("worker")
        [0]
        """
        return list(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Tell the address of a task.

        Args:
            job_name: the name of the job.
            task_index: the number of the task.

        Returns:
            The address.

        Raises:
            ValueError: where there is no such task.

        >>> import penstock as tf
        >>> tf.train.ClusterSpec({"worker": ["a:1"]}).task_address("worker", 0)
        'a:1'
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"argument 'task_index' must be one of {list(tasks)}, got {task_index}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """List the addresses of the tasks of a job.

        Args:
            job_name: the name of the job.

        Returns:
            The addresses by number, None for numbers without a task.

        Raises:
            ValueError: where there is no such job.

        >>> import penstock as tf
        >>> tf.train.ClusterSpec({"worker": {1: "b:1"}}).job_tasks("worker")
        [None, 'b:1']
        """
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]
