"""Lists the modules of TensorFlow's inside that `penstock.as_tensorflow` has, for `docs/libraries.md`."""

from typing import Final

from penstock.as_tensorflow._table import MODULES

_INSIDE: Final = ("tensorflow.python", "tensorflow.__internal__", "tensorflow.compiler")


def table() -> str:
    """The modules, each with its names."""
    lines = ["| module | names |", "|---|---|"]
    for name, names in sorted(MODULES.items()):
        if not name.startswith(_INSIDE) or not (names.of or names.here):
            continue
        public = sorted(names.here)
        alls = [
            f"all of `{module}`" for module in names.of if not module.startswith("penstock.as_tensorflow")
        ]
        for module in names.of:
            if module.startswith("penstock.as_tensorflow"):
                public += vars(__import__(module, fromlist=["__all__"]))["__all__"]
        lines.append(f"| `{name}` | {', '.join([*(f'`{n}`' for n in sorted(set(public))), *alls])} |")
    return "\n".join(lines)
