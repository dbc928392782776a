"""Checks that every crate in the build has a licence that deny.toml allows: `python tools/check_licences.py`.

It needs nothing but cargo, and so runs where cargo-deny is not installed. Development dependencies of the
workspace are checked too.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def tokens(expression: str) -> list[str]:
    """Splits an SPDX expression; the old form with slashes reads as OR."""
    return re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))


def allowed(expression: str, licences: set[str]) -> bool:
    """Evaluates an SPDX expression against the licences that are accepted.

    >>> allowed("MIT OR (GPL-3.0 AND Zlib)", {"MIT"})
    True
    >>> allowed("(MIT OR GPL-3.0) AND Zlib", {"MIT"})
    False
    """
    words = tokens(expression)

    def either() -> bool:
        result = both()
        while words and words[0] == "OR":
            words.pop(0)
            result = both() or result
        return result

    def both() -> bool:
        result = one()
        while words and words[0] == "AND":
            words.pop(0)
            result = one() and result
        return result

    def one() -> bool:
        if words[0] == "(":
            words.pop(0)
            result = either()
            words.pop(0)
            return result
        name = words.pop(0)
        if words and words[0] == "WITH":
            words.pop(0)
            name = f"{name} WITH {words.pop(0)}"
        return name in licences

    return either()


def main() -> None:
    """Prints the crates whose licence is not accepted; the exit status is 1 if there are any."""
    config = tomllib.loads((ROOT / "deny.toml").read_text())
    accepted = set(config["licenses"]["allow"])
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "metadata", "--format-version", "1", "--all-features", "--quiet"]
    metadata = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if metadata.returncode != 0:
        sys.exit(metadata.returncode)
    packages: list[dict[str, Any]] = json.loads(metadata.stdout)["packages"]
    rejected = []
    for package in packages:
        licence = package["license"]
        if licence is None:
            rejected.append(f"{package['name']} {package['version']}: states no licence")
        elif not allowed(licence, accepted):
            rejected.append(f"{package['name']} {package['version']}: {licence}")
    if rejected:
        print("licences that deny.toml does not allow:", *rejected, sep="\n  ", file=sys.stderr)
        sys.exit(1)
    print(f"{len(packages)} crates, every licence allowed")


if __name__ == "__main__":
    main()
