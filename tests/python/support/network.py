"""Hosts on this machine: namespaces that a cable of a given rate connects. They need root, `ip` and `tc`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Cable", "cable", "why_not"]


def why_not() -> str:
    """Why there can be no such hosts; empty where there can."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return "ip and tc are not installed"
    made = subprocess.run(
        ["ip", "netns", "add", "penstock-probe"], capture_output=True, text=True, check=False
    )
    if made.returncode:
        return f"network namespaces cannot be made here: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", "penstock-probe"], check=True)
    return ""


def _run(*commands: str) -> None:
    for command in commands:
        subprocess.run(command.split(), check=True, capture_output=True)


class Cable:
    """Two hosts that a cable connects.

    Args:
        names: the names of the hosts.
        addresses: their addresses.
    """

    def __init__(self, names: list[str], addresses: list[str]) -> None:
        self.names, self.addresses = names, addresses

    def on(self, host: int) -> list[str]:
        """What stands in front of a command that runs on a host."""
        return ["ip", "netns", "exec", self.names[host]]

    def cut(self) -> None:
        """Cuts the cable."""
        _run(f"ip -n {self.names[0]} link set eth0 down")


@contextmanager
def cable(rate: str) -> Iterator[Cable]:
    """Two hosts, with a cable of a rate as `tc` has it, such as `1gbit`."""
    own = os.getpid()
    names, addresses = [f"ps{own}a", f"ps{own}b"], ["10.77.0.1", "10.77.0.2"]
    try:
        _run(
            *(f"ip netns add {name}" for name in names),
            f"ip link add ps{own}x netns {names[0]} type veth peer name ps{own}y netns {names[1]}",
        )
        for name, end, address in zip(names, "xy", addresses, strict=True):
            _run(
                f"ip -n {name} link set ps{own}{end} name eth0",
                f"ip -n {name} addr add {address}/24 dev eth0",
                f"ip -n {name} link set eth0 up",
                f"ip -n {name} link set lo up",
                f"ip netns exec {name} tc qdisc add dev eth0 root tbf rate {rate} burst 256kb latency 50ms",
            )
        yield Cable(names, addresses)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
