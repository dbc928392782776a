"""`python -m penstock.convert SOURCE OUT`: models of one format as those of another.

SOURCE is a SavedModel of TensorFlow, a directory of `tf.saved_model.save`, a program (`.penstock`) or a model
of ONNX (`.onnx`). OUT is a directory or a `.penstock`, or a `.onnx`; with `--to tensorflow` it is a directory
that TensorFlow loads.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock import _core, errors
from penstock._runtime.public_names import publish as _publish
from penstock._saving import onnx_export, onnx_model
from penstock._saving.save import ASSETS, FILE

__all__ = ["convert", "main"]


def _read(source: Path) -> tuple[_core.Program, dict[str, str]]:
    """The program of a file or directory, and the functions that were left out."""
    if source.suffix == ".onnx":
        program: _core.Program = onnx_model.load(source).program()
        return program, {}
    if source.is_dir() and (source / FILE).exists():
        return _core.Program.load(source / FILE), {}
    if source.suffix == Path(FILE).suffix:
        return _core.Program.load(source), {}
    program, refused = _core.Program._of_tensorflow(source, True)
    return program, dict(refused)


def convert(source: str | Path, target: str | Path, to: str | None = None) -> dict[str, str]:
    """Convert a model to another format.

    Args:
        source: the directory of a SavedModel, of TensorFlow or of `tf.saved_model.save`; or a file whose name
            ends with `.penstock` or `.onnx`.
        target: the directory to write, a file whose name ends with `.penstock`, which has no assets, or one
            whose name ends with `.onnx`, which holds the default signature.
        to: `"tensorflow"` for a directory that TensorFlow loads; None for what the name of `target` says.

    Returns:
        The functions that were left out, with what they need that there is not here.

    Raises:
        NotFoundError: where there is no SavedModel.
        InvalidArgumentError: for one that is damaged.
        UnimplementedError: for what the other format does not have, all of which it names.
        ValueError: for another `to`.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> from penstock.convert import convert
    >>> folder = tempfile.mkdtemp()
    >>> model, program = os.path.join(folder, "relu.onnx"), os.path.join(folder, "relu.penstock")
    >>> tf.onnx.save(tf.nn.relu, model, [tf.TensorSpec([None])])
    >>> convert(model, program)
    {}
    >>> convert(program, os.path.join(folder, "relu"), to="tensorflow")
    {}
    >>> serve = tf.saved_model.load(os.path.join(folder, "relu")).signatures["serving_default"]
    >>> list(serve(tf.constant([-1.0, 2.0])).values())[0].numpy()
    array([0., 2.], dtype=float32)
    """
    source, target = Path(source), Path(target)
    if to not in (None, "tensorflow"):
        raise ValueError(f"argument 'to' must be 'tensorflow' or None, got {to!r}")
    program, refused = _read(source)
    if to is None and target.suffix == Path(FILE).suffix:
        program.save(target)
        return refused
    if to is None and target.suffix == ".onnx":
        onnx_export.save(program, target)
        return refused
    target.mkdir(parents=True, exist_ok=True)
    assets = [file for file in (source / ASSETS).glob("*") if file.is_file()]
    if assets:
        (target / ASSETS).mkdir(exist_ok=True)
    for file in assets:
        shutil.copyfile(file, target / ASSETS / file.name)
    if to == "tensorflow":
        program._save_tensorflow(target)
        (target / FILE).unlink(missing_ok=True)
    else:
        program.save(target / FILE)
    return refused


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: those of the command line; by default the process's.

    Returns:
        The exit status: 0, or 1 where nothing was read, or a function was left out without `--partial`.
    """
    parser = argparse.ArgumentParser(
        "python -m penstock.convert",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source", metavar="SOURCE", help="the directory, or the file *.penstock or *.onnx, to read"
    )
    parser.add_argument(
        "target", metavar="OUT", help="the directory, or the file *.penstock or *.onnx, to write"
    )
    parser.add_argument("--to", choices=["tensorflow"], help="write a directory that TensorFlow loads")
    parser.add_argument("--partial", action="store_true", help="succeed where functions are left out")
    given = parser.parse_args(arguments)
    try:
        refused = convert(given.source, given.target, given.to)
    except (errors.OpError, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    for name, reason in refused.items():
        print(f"left out {name}: {reason}", file=sys.stderr)
    return 1 if refused and not given.partial else 0


_publish(__name__)

if __name__ == "__main__":
    sys.exit(main())
