"""The tests that the page on reliability names exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/internals/reliability.md"


def rows(text):
    """The rows of the table: the number, what was wrong, and the tests."""
    cells = (line.strip("|").split(" | ") for line in text.splitlines() if re.match(r"\| \d", line))
    return [(int(number), wrong, re.findall(r"`(\S+)::(\w+)`", tests)) for number, wrong, tests in cells]


def functions(path):
    """The names of the functions that a file of Python or Rust defines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        return set(re.findall(r"#\[test\]\s+(?:#\[[^\n]*\]\s+)*fn (\w+)\(", text))
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}


def missing(found, root):
    """The tests of rows that are not where they are said to be."""
    absent = []
    for _, _, tests in found:
        for file, name in tests:
            path = root / (file if file.startswith(("crates/", "tests/")) else f"tests/python/{file}")
            if not path.is_file() or name not in functions(path):
                absent.append(f"{file}::{name}")
    return absent


ROWS = rows(PAGE.read_text(encoding="utf-8"))


def test_the_rows_are_numbered_and_have_tests():
    assert [number for number, _, _ in ROWS] == list(range(1, len(ROWS) + 1))
    assert f"lists the {len(ROWS)} groups of faults" in PAGE.read_text(encoding="utf-8")
    assert [number for number, wrong, tests in ROWS if not wrong or not tests] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0]))
def test_the_tests_of_a_row_exist(row):
    assert missing([row], ROOT) == []


def test_a_test_that_does_not_exist_is_found(tmp_path):
    (tmp_path / "tests/python").mkdir(parents=True)
    (tmp_path / "tests/python/test_a.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
    (tmp_path / "crates").mkdir()
    (tmp_path / "crates/a.rs").write_text("#[test]\n#[ignore]\nfn one() {}\nfn two() {}\n", encoding="utf-8")
    text = (
        "| 1 | wrong | `test_a.py::test_one` `test_a.py::test_two` `crates/a.rs::one` `crates/a.rs::two` |\n"
        "| 2 | wrong | `test_b.py::test_one` |\n"
    )
    assert missing(rows(text), tmp_path) == ["test_a.py::test_two", "crates/a.rs::two", "test_b.py::test_one"]
