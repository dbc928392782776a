"""The recipe of conda-forge for a release: `python tools/conda_recipe.py SDIST [OUT]`; `make conda-recipe`.

Fills `packaging/conda/recipe.yaml` with the version and the SHA-256 of the source distribution, the file that
PyPI will have, and writes it to OUT, `dist/recipe.yaml` by default.
"""

import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "packaging" / "conda" / "recipe.yaml"


def filled(template: str, sdist: Path) -> str:
    """The recipe for a source distribution.

    Raises:
        ValueError: for a file that is no source distribution of the package, or a template without the two
            places.
    """
    name = re.fullmatch(r"penstock_engine-(\d+\.\d+\.\d+\w*)\.tar\.gz", sdist.name)
    if name is None:
        raise ValueError(f"{sdist.name} is no source distribution of penstock-engine")
    places = {
        r'^  version: "[^"]*"$': f'  version: "{name[1]}"',
        r'^  sha256: "0{64}"$': f'  sha256: "{hashlib.sha256(sdist.read_bytes()).hexdigest()}"',
    }
    for place, text in places.items():
        template, found = re.subn(place, text, template, flags=re.MULTILINE)
        if found != 1:
            raise ValueError(f"the recipe has {found} lines {place}")
    return template


def main() -> None:
    """Writes the recipe."""
    if len(sys.argv) not in (2, 3):
        sys.exit(f"usage: {sys.argv[0]} SDIST [OUT]")
    out = Path(sys.argv[2]) if len(sys.argv) == 3 else ROOT / "dist" / "recipe.yaml"
    try:
        text = filled(TEMPLATE.read_text(encoding="utf-8"), Path(sys.argv[1]))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
