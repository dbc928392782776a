"""Programs that run in several processes at once."""

from __future__ import annotations

import inspect
import json
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["free_addresses", "joined", "started", "together"]

TESTS = Path(__file__).parent.parent
_START = """
from __future__ import annotations
import json, os, sys
from typing import Any
import numpy as np
import penstock as tf
from support.members import joined
"""
_END = """
found = {name}(*json.loads(sys.argv[1]))
print("result:" + json.dumps(found))
"""


def joined() -> Any:
    """The group of all processes, within one that `started` has made."""
    import penstock as tf

    cluster = json.loads(os.environ["TF_CONFIG"])
    return tf.distribute.ProcessGroup(cluster["cluster"]["worker"], cluster["task"]["index"])


def free_addresses(count: int) -> list[str]:
    """Addresses of this machine at which nobody listens."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return addresses


def started(
    program: Callable[..., Any], count: int, arguments: Sequence[Any] = (), **environment: str
) -> list[subprocess.Popen[str]]:
    """Start `count` processes that run the text of a function; `TF_CONFIG` tells them of each other."""
    source = _START + textwrap.dedent(inspect.getsource(program)) + _END.format(name=program.__name__)
    # A file, for code that is converted.
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(source)
    cluster = {"worker": free_addresses(count)}
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])

    def start(rank: int) -> subprocess.Popen[str]:
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}})
        return subprocess.Popen(
            [sys.executable, file.name, json.dumps(list(arguments))],
            env={**os.environ, **environment, "TF_CONFIG": config, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return [start(rank) for rank in range(count)]


def together(program: Callable[..., Any], count: int, *arguments: Any) -> list[Any]:
    """Run a function in `count` processes, and give what it returns in each."""
    processes = started(program, count, arguments)
    found = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=100)
            assert process.returncode == 0, err[-4000:]
            found.append(json.loads(out.rsplit("result:", 1)[1]))
    finally:
        for process in processes:
            process.kill()
    return found
