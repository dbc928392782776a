"""Checks every crate as it is packaged for crates.io: `tools/check_packages.py [--build] [CRATE …]`.

Packages all crates, unpacks them beside each other, and has the compiler check them there: what a crate needs
of another folder of the repository is missing. With `--build` they are built, as `make check-crates` does,
which a release runs; with names of crates those alone, and what they need. What was built is kept, so that
the whole can be done in pieces. `make check-packages` runs it with `PACKAGES`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "target" / "packages"


def names(cargo: str) -> list[str]:
    """The crates that are published, with their versions, as their packages are called."""
    text = subprocess.check_output([cargo, "metadata", "--no-deps", "--format-version", "1"], cwd=ROOT)
    packages = json.loads(text)["packages"]
    return sorted(f"{p['name']}-{p['version']}" for p in packages if p["publish"] != [])


def manifest(packages: list[str]) -> str:
    """A workspace of unpacked crates, each of which stands for the one of its name on crates.io."""
    members = ", ".join(f'"{package}"' for package in packages)
    patches = "\n".join(f'{package.rpartition("-")[0]} = {{ path = "{package}" }}' for package in packages)
    return f'[workspace]\nresolver = "3"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}\n'


def main() -> int:
    """Checks the packages, and gives the exit status."""
    parser = argparse.ArgumentParser(description="Check the packages of crates.")
    parser.add_argument("--build", action="store_true", help="build them, rather than check them")
    parser.add_argument("crates", nargs="*", metavar="CRATE", help="which ones, by name; all by default")
    options = parser.parse_args()
    cargo = os.environ.get("CARGO", "cargo")
    found = names(cargo)
    selected = [part for name in found for part in ("-p", name.rpartition("-")[0])]
    package = [cargo, "package", "--no-verify", "--allow-dirty", "--quiet", *selected]
    subprocess.check_call([*package, "--target-dir", str(TARGET)], cwd=ROOT)
    sources = TARGET / "sources"
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir()
    for name in found:
        with tarfile.open(TARGET / "package" / f"{name}.crate") as archive:
            archive.extractall(sources, filter="data")
    (sources / "Cargo.toml").write_text(manifest(found), encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", sources)
    wanted = options.crates or [name.rpartition("-")[0] for name in found]
    named = [part for name in wanted for part in ("-p", name)]
    work = "build" if options.build else "check"
    status = subprocess.call([cargo, work, *named, "--target-dir", str(TARGET / "check")], cwd=sources)
    if status == 0:
        print(f"{len(wanted)} crates are whole")
    return status


if __name__ == "__main__":
    sys.exit(main())
