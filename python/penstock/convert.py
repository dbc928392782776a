"""`python -m penstock.convert SAVED_MODEL OUT`: a SavedModel of TensorFlow as a program of this engine."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock import _core, errors
from penstock._runtime.public_names import publish as _publish
from penstock._saving.save import ASSETS, FILE

__all__ = ["convert", "main"]


def convert(source: str | Path, target: str | Path) -> dict[str, str]:
    """Convert a SavedModel of TensorFlow to a program, as `tf.saved_model.save` writes it.

    Args:
        source: the directory that TensorFlow has written.
        target: the directory to write, or a file whose name ends with `.penstock`, which has no assets.

    Returns:
        The functions that were left out, with what they need that there is not here.

    Raises:
        NotFoundError: where there is no SavedModel.
        InvalidArgumentError: for one that is damaged.

    >>> from penstock.convert import convert
    >>> convert("nowhere", "out")
    Traceback (most recent call last):
    penstock.errors.NotFoundError: nowhere: there is no SavedModel
    """
    source, target = Path(source), Path(target)
    program, refused = _core.Program._of_tensorflow(source)
    if target.suffix == Path(FILE).suffix:
        program.save(target)
        return dict(refused)
    target.mkdir(parents=True, exist_ok=True)
    assets = [file for file in (source / ASSETS).glob("*") if file.is_file()]
    if assets:
        (target / ASSETS).mkdir(exist_ok=True)
    for file in assets:
        shutil.copyfile(file, target / ASSETS / file.name)
    program.save(target / FILE)
    return dict(refused)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: those of the command line; by default the process's.

    Returns:
        The exit status: 0, or 1 where nothing was read, or a function was left out without `--partial`.
    """
    parser = argparse.ArgumentParser("python -m penstock.convert", description=__doc__)
    parser.add_argument("source", metavar="SAVED_MODEL", help="the directory that TensorFlow has written")
    parser.add_argument("target", metavar="OUT", help="the directory, or the file *.penstock, to write")
    parser.add_argument("--partial", action="store_true", help="succeed where functions are left out")
    given = parser.parse_args(arguments)
    try:
        refused = convert(given.source, given.target)
    except (errors.OpError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    for name, reason in refused.items():
        print(f"left out {name}: {reason}", file=sys.stderr)
    return 1 if refused and not given.partial else 0


_publish(__name__)

if __name__ == "__main__":
    sys.exit(main())
