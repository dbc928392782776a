"""Writes what operators of TensorFlow take and give: `python tools/peers/tensorflow_operators.py > FILE`.

The export of SavedModels has it in `crates/penstock-tf/src/saved_model/export/operators.txt`. Run it with
TensorFlow installed. A line is `Name(input:type,...)->output:type,...`: a type is an attribute of the node,
`=` and a dtype, `N*type` for as many as the attribute N says, or `[types]` for a list of types. A `!` marks
one with state. Behind that are the dtypes that attributes may be, where not all are allowed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tensorflow.python.framework import dtypes, op_def_registry

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "crates/penstock-tf/src"


def argument(arg: Any) -> str:
    """One input or output."""
    if arg.type_list_attr:
        kind = f"[{arg.type_list_attr}]"
    elif arg.type_attr:
        kind = arg.type_attr
    else:
        kind = f"={dtypes.as_dtype(arg.type).name}"
    return f"{arg.name}:{arg.number_attr}*{kind}" if arg.number_attr else f"{arg.name}:{kind}"


def main() -> None:
    """Prints a line for each operator that the sources name."""
    text = "\n".join(path.read_text() for path in sorted(TABLES.rglob("*.rs")))
    names = sorted(set(re.findall(r'"([A-Z][A-Za-z0-9]+)"', text)))
    sys.stdout.write("# Written by tools/peers/tensorflow_operators.py.\n")
    for name in names:
        op = op_def_registry.get(name)
        if op is None:
            continue
        inputs = ",".join(argument(arg) for arg in op.input_arg)
        outputs = ",".join(argument(arg) for arg in op.output_arg)
        allowed = [
            f"{attr.name}={'/'.join(dtypes.as_dtype(t).name for t in attr.allowed_values.list.type)}"
            for attr in op.attr
            if attr.type == "type" and attr.allowed_values.list.type
        ]
        sys.stdout.write(
            f"{op.name}({inputs})->{outputs}{'!' if op.is_stateful else ''} {' '.join(allowed)}".rstrip()
        )
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
