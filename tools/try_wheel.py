"""The path of a new user: `python tools/try_wheel.py WHEEL [--site HTML]`; WHEEL may be a folder with one.

Installs the wheel into a fresh environment, apart from the checkout, and runs there what the first pages
tell a reader to run: the programs of the README and of `docs/quickstart.md`, each page as one program
(`make test-wheel`). With `--site`, looks then in the built documentation, from its first page on, for the
answers that a new user needs (`make new-user`). Tells how long each part takes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import site_links

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/quickstart.md")
# Of the file on PyPI; a wheel that grows beyond it is looked at first.
MOST_BYTES = 20_000_000


def programs(text: str) -> list[str]:
    """The programs of a page in Python, in its order."""
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def wheel_at(place: Path) -> Path:
    """The wheel, or the only wheel of a folder."""
    if place.is_file():
        return place
    wheels = sorted(place.glob("*.whl"))
    if len(wheels) != 1:
        sys.exit(f"expected one wheel in {place}, found {len(wheels)}")
    return wheels[0]


def look_up(site: Path) -> None:
    """Opens the documentation from disk, and follows its links from the first page to the answers."""
    began = time.perf_counter()
    if not (site / "index.html").exists():
        sys.exit(f"there is no index.html in {site}")
    found = site_links.ways(site_links.read(site))
    for question, answer in site_links.ANSWERS.items():
        way = site_links.way_to(answer, found)
        if way is None:
            sys.exit(f"{site_links.CLICKS} clicks do not lead to {answer}: {question}")
        clicks = f"{len(way) - 1} click{'s' * (len(way) != 2)}"
        print(f"{question}: {clicks}, {' > '.join(way)}")
    print(f"== documentation: {time.perf_counter() - began:.1f} s", flush=True)


def main() -> None:
    """Tries the wheel; the exit status is 1 if something fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    parser.add_argument("--site", type=Path, metavar="HTML", help="the folder of the built documentation")
    options = parser.parse_args()
    wheel = wheel_at(options.wheel.resolve())
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(f"{wheel.name} has {wheel.stat().st_size} bytes, more than {MOST_BYTES}")
    with tempfile.TemporaryDirectory() as folder:
        # Nothing of the checkout, and nothing of the environment of who calls this.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        made = Path(folder) / "environment"
        venv.create(made, with_pip=True)
        python = str(made / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))

        def run(title: str, *arguments: str) -> None:
            print(f"== {title}", flush=True)
            began = time.perf_counter()
            subprocess.run([python, *arguments], cwd=folder, env=kept, check=True)
            print(f"== {title}: {time.perf_counter() - began:.1f} s", flush=True)

        pip = ["-m", "pip", "--disable-pip-version-check"]
        run(f"install {wheel.name}", *pip, "install", "--quiet", "--only-binary=:all:", str(wheel))
        run("pip check", *pip, "check")
        run("python -m penstock doctor", "-m", "penstock", "doctor")
        for page in PAGES:
            # In a file: AutoGraph and errors read the lines of a program.
            file = Path(folder) / f"{Path(page).stem}.py"
            file.write_text(
                "\n\n".join(programs((ROOT / page).read_text(encoding="utf-8"))), encoding="utf-8"
            )
            run(page, str(file))
        run("pip uninstall", *pip, "uninstall", "--quiet", "--yes", "penstock-engine")
    if options.site is not None:
        look_up(options.site)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, installed and tried")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(f"exit status {failed.returncode}")
