"""Checks that a release is ready: `python tools/check_version.py 0.1.0`.

The workspace has that version, its crates depend on each other at it, and the changelog has a section for it.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def faults(version: str) -> list[str]:
    """Returns what stands in the way of releasing a version."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    found = []
    if workspace["package"]["version"] != version:
        found.append(f"Cargo.toml has version {workspace['package']['version']}")
    for name, dependency in workspace["dependencies"].items():
        if not isinstance(dependency, dict) or "path" not in dependency:
            continue
        crate = tomllib.loads((ROOT / dependency["path"] / "Cargo.toml").read_text())["package"]
        # What is not published needs no version.
        if crate.get("publish", True) and dependency.get("version") != version:
            found.append(f"Cargo.toml depends on {name} at version {dependency.get('version')}")
    if f"\n## [{version}]" not in (ROOT / "CHANGELOG.md").read_text():
        found.append(f"CHANGELOG.md has no section for {version}")
    return found


def main() -> None:
    """Prints what stands in the way; the exit status is 1 if anything does."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} VERSION")
    if found := faults(sys.argv[1]):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
