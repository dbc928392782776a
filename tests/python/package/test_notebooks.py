"""The notebooks of the documentation run from top to bottom, and the tool that runs them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import notebooks  # noqa: E402 -- from the folder of tools

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def notebook(path, *cells):
    """A notebook of cells of code."""
    made = [{"cell_type": "code", "source": cell, "outputs": [], "execution_count": None} for cell in cells]
    path.write_text(json.dumps({"cells": made}), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    tool = ROOT / "tools" / "notebooks.py"
    run = subprocess.run(
        [sys.executable, str(tool), str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_of_the_form_that_jupyter_reads(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in found["cells"]]
    assert len(set(names)) == len(names)
    assert found["cells"][0]["source"][0].startswith("# ")
    for cell in found["cells"]:
        assert set(cell) >= {"cell_type", "id", "metadata", "source"}
        assert ("outputs" in cell) == (cell["cell_type"] == "code")


def test_cells_share_names_and_show_what_they_print_and_end_with(tmp_path):
    path = notebook(tmp_path / "a.ipynb", "x = 2\nprint('x')\nx + 1", "x * 2", "y = x", "None")
    outputs = list(notebooks.run(notebooks.read(path), "a"))
    assert outputs == ["```text\nx\n```\n\n```text\n3\n```", "```text\n4\n```", "", ""]
    assert notebooks.as_markdown(path, outputs).startswith(
        "```python\nx = 2\nprint('x')\nx + 1\n```\n\n```text"
    )


def test_control_flow_of_functions_in_cells_is_converted(tmp_path):
    cells = (
        "import penstock as tf\n@tf.function\ndef f(x):\n    return x if x > 0 else -x",
        "int(f(tf.constant(-3)))",
    )
    path = notebook(tmp_path / "a.ipynb", *cells)
    assert list(notebooks.run(notebooks.read(path), "a"))[1] == "```text\n3\n```"


def test_what_has_a_form_in_html_is_shown_so():
    class Table:
        def _repr_html_(self):
            return "<table></table>"

    assert notebooks.shown(Table()) == "```{raw} html\n<table></table>\n```"


def test_what_a_cell_printed_before_it_failed_is_printed(tmp_path, capsys):
    path = notebook(tmp_path / "a.ipynb", "print('before')\n1 / 0")
    with pytest.raises(ZeroDivisionError):
        list(notebooks.run(notebooks.read(path), "a"))
    assert capsys.readouterr().out == "before\n"


def test_a_notebook_with_outputs_is_refused(tmp_path):
    path = notebook(tmp_path / "a.ipynb", "1")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"execution_count": null', '"execution_count": 3'), encoding="utf-8")
    with pytest.raises(ValueError, match="clear all"):
        notebooks.read(path)
