"""The Python programs that pages of the documentation show run as they are pasted, one after the other."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def programs(page):
    """The programs of a page, and its dialogues with the interpreter."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [b for b in blocks if not b.startswith(">>>")], [b for b in blocks if b.startswith(">>>")]


@pytest.mark.parametrize("page", [p for p in PAGES if programs(p)[0]], ids=lambda page: page.name)
def test_the_programs_of_a_page_run(page, tmp_path):
    file = tmp_path / f"{page.stem}.py"
    file.write_text("\n".join(programs(page)[0]), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]


@pytest.mark.parametrize("page", [p for p in PAGES if programs(p)[1]], ids=lambda page: page.name)
def test_the_dialogues_of_a_page_give_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "\n".join(programs(page)[1])
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.DocTestRunner(optionflags=flags).run(test, out=report.append).failed == 0, "".join(report)
