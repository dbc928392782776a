"""The pictures of the documentation: where they stand, and what they show."""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import documentation  # noqa: E402 -- from the folder of tools
import pictures  # noqa: E402

DRAWN = {**pictures.generated()}
FILES = sorted((ROOT / "docs").rglob("*.svg"))


def _texts(picture):
    return {element.text for element in ET.fromstring(picture).iter() if element.text}


@pytest.mark.parametrize("path", sorted(DRAWN), ids=lambda p: p.name)
def test_a_picture_is_as_its_source_draws_it(path):
    assert path.read_text(encoding="utf-8") == DRAWN[path], "run `make generate`"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_picture_is_small_and_fits_light_and_dark_pages(path):
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root[0].tag.endswith("title")
    assert root[0].text
    assert "prefers-color-scheme:dark" in text
    assert len(text.encode()) <= 40_000
    assert not re.search(r"(href|src)=|url\(", text)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_picture_stands_on_a_page_with_a_text_in_its_place(path):
    shown = set()
    for page in documentation.pages():
        for words, target in re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", documentation.text_of(page)):
            assert len(words) > 10
            shown.add((page.parent / target).resolve())
    assert path in shown


def test_the_crates_are_those_of_the_workspace():
    needs = pictures.crates()
    names = {file.parent.name for file in (ROOT / "crates").glob("*/Cargo.toml")}
    assert names - set(needs) == {"penstock-mockcuda", "penstock-filetests"}
    assert needs["penstock-ir"] >= {"penstock-data", "penstock-kernels"}
    assert {name.removeprefix("penstock-") for name in needs} <= _texts(DRAWN[pictures.FOLDER / "crates.svg"])


def test_arrows_between_crates_leave_out_what_follows():
    needs = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"c"}}
    assert pictures.reduced(needs) == {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"c"}}
    rows, edges = pictures.layers(pictures.reduced({**needs, "e": {"a", "d"}, "f": {"a"}, "g": {"f", "d"}}))
    place = {name: i for i, row in enumerate(rows) for name in row}
    assert all(place[below] == place[above] + 1 for above, below in edges)
    assert [name for name in place if name.startswith("f>")] == ["f>2", "f>3"]


def test_the_loop_is_that_of_the_engine():
    texts = _texts(DRAWN[pictures.FOLDER / "loop.svg"])
    assert "for _ in tf.range(n):" in texts
    assert any("= while " in text for text in texts)
    assert any(re.match(r"\d+  r\d+ = fused ", text) for text in texts)


def test_the_figures_of_the_readme_are_a_picture_of_fifteen_rows():
    sys.path.insert(0, str(ROOT / "benches"))
    import table

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "](docs/pictures/ratios.svg)" in readme
    assert "|---" not in readme
    root = ET.fromstring(table.PICTURE.read_text(encoding="utf-8"))
    bars = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("class") in ("ahead", "behind")]
    levels = [level for level in table.LEVELS.values() if level.results.exists()]
    assert len(bars) == len(levels) * len(table.README_CASES)
    assert len(table.README_CASES) == 15
    assert len(readme.splitlines()) <= 80
