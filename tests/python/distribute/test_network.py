"""Processes on hosts of a network, which network namespaces stand for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.network import cable, why_not

pytestmark = pytest.mark.skipif(why_not() != "", reason=why_not())

PROGRAM = """
import sys
import penstock as tf
rank, members = int(sys.argv[1]), sys.argv[2:]
group = tf.distribute.ProcessGroup(members, rank, timeout=2.0)
print("sum", float(group.all_reduce(1.0 + rank)), flush=True)
try:
    while True:
        group.all_reduce(tf.ones([100000]))
except tf.errors.UnavailableError as error:
    print("failed", error.message.splitlines()[0], flush=True)
"""


def test_hosts_compute_together_until_the_cable_is_cut(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with cable("1gbit") as between:
        members = [f"{address}:7700" for address in between.addresses]
        processes = [
            subprocess.Popen(
                [*between.on(host), sys.executable, str(program), str(host), *members],
                stdout=subprocess.PIPE,
                text=True,
            )
            for host in range(2)
        ]
        try:
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline() == "sum 3.0\n"
            between.cut()
            for process in processes:
                out, _ = process.communicate(timeout=30)
                assert out.startswith("failed")
                assert "rank" in out
        finally:
            for process in processes:
                process.kill()
