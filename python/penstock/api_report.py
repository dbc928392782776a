"""Which of the public names to cover exist: `python -m penstock.api_report [--missing] [--json]`.

A name exists when an attribute lookup from the imported package finds it. Whether it also behaves as it
should is what the tests say.
"""

import argparse
import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from penstock._api_names import TIERS


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of one namespace of one tier exists.

    Attributes:
        tier: 1, 2 or 3.
        namespace: The dotted path below the package, empty for the top level.
        present: The names that exist.
        missing: The names that do not.
    """

    tier: int
    namespace: str
    present: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def total(self) -> int:
        """The number of names in the namespace."""
        return len(self.present) + len(self.missing)


def _exists(root: object, path: str) -> bool:
    value = root
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except (AttributeError, ImportError):
            return False
    return True


def coverage(package: str = "penstock") -> list[Coverage]:
    """Looks every listed name up.

    Args:
        package: The name of the package to look into; it is imported.

    Returns:
        One entry for each namespace of each tier, in the order of the lists.

    >>> report = coverage()
    >>> {entry.tier for entry in report} == {1, 2, 3}
    True
    """
    root = importlib.import_module(package)
    report = []
    for tier, namespaces in TIERS.items():
        for namespace, names in namespaces.items():
            prefix = f"{namespace}." if namespace else ""
            found = {name: _exists(root, prefix + name) for name in names}
            present = tuple(name for name, there in found.items() if there)
            missing = tuple(name for name, there in found.items() if not there)
            report.append(Coverage(tier, namespace, present, missing))
    return report


def as_text(report: Sequence[Coverage], *, missing: bool = False) -> str:
    """Renders a report as a table, one line a namespace and one a tier.

    Args:
        report: What `coverage` returned.
        missing: Whether to list the names that do not exist.
    """
    lines = []
    for tier in sorted({entry.tier for entry in report}):
        entries = [entry for entry in report if entry.tier == tier]
        done = sum(len(entry.present) for entry in entries)
        total = sum(entry.total for entry in entries)
        lines.append(f"tier {tier:<26}{done:>5} of {total:>4}  {done / total:>6.1%}")
        for entry in entries:
            name = f"tf.{entry.namespace}" if entry.namespace else "tf"
            share = len(entry.present) / entry.total
            lines.append(f"  {name:<29}{len(entry.present):>5} of {entry.total:>4}  {share:>6.1%}")
            if missing and entry.missing:
                lines.append(f"      missing: {' '.join(entry.missing)}")
    done = sum(len(entry.present) for entry in report)
    total = sum(entry.total for entry in report)
    lines.append(f"{'all':<31}{done:>5} of {total:>4}  {done / total:>6.1%}")
    return "\n".join(lines)


def as_json(report: Sequence[Coverage]) -> str:
    """Renders a report as JSON: tier, then namespace, then the present and the missing names."""
    tiers: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {}
    for entry in report:
        names = {"present": entry.present, "missing": entry.missing}
        tiers.setdefault(str(entry.tier), {})[entry.namespace] = names
    return json.dumps(tiers, indent=2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the report.

    Args:
        arguments: The command line without the program's name; `sys.argv` when None.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock.api_report", description="Public name coverage."
    )
    parser.add_argument("--missing", action="store_true", help="list the names that do not exist")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    report = coverage()
    print(as_json(report) if options.json else as_text(report, missing=options.missing))


if __name__ == "__main__":
    main()
