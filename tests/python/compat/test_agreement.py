"""Public functions beside TensorFlow's recorded answers, by `tools/agreement`."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agreement import answers, differences, recorded, table, worker
from agreement.calls import Call, array
from agreement.variants import variants

TOOLS = Path(__file__).resolve().parents[3] / "tools"

AREAS: dict[str, list[tuple[Call, dict]]] = collections.defaultdict(list)
for _call, _answer in recorded.load():
    AREAS[_call.name.partition(".")[0] if "." in _call.name else "tf"].append((_call, _answer))
# As many calls as run in some seconds.
PARTS = [(area, first) for area in sorted(AREAS) for first in range(0, len(AREAS[area]), 500)]


@pytest.fixture(autouse=True)
def tools_on_the_path_of_workers(monkeypatch):
    paths = [str(TOOLS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


@pytest.mark.parametrize(("area", "first"), PARTS, ids=[f"{area}-{first}" for area, first in PARTS])
def test_calls_give_what_tensorflow_gave_or_a_listed_difference(area, first):
    part = AREAS[area][first : first + 500]
    unlisted = []
    for (call, theirs), ours in zip(part, worker.answers_of([c for c, _ in part], "penstock"), strict=True):
        found = answers.difference(ours, theirs, values=not table.is_random(call.source))
        if found and differences.reason(call, found) is None:
            unlisted.append(f"{call.name} [{call.way}] {call.source}\n    {found}")
    assert not unlisted, "\n".join(unlisted)


def test_a_call_that_ends_its_process_costs_itself_alone():
    calls = [Call("tf.add(1, 2)", "eager", "add"), Call("__import__('os').abort()", "program", "abort")]
    first, second, third = worker.answers_of([*calls, calls[0]], "penstock")
    assert first == third
    assert first["results"][0]["dtype"] == "int32"
    assert second == {"abort": -6}


def test_every_dtype_and_special_elements_are_tried():
    made = list(variants(Call("tf.abs(T('float32', (2, 3)))", "eager", "abs")))
    sources = {call.source for call in made}
    assert {"tf.abs(T('int8', (2, 3), 'plain'))", "tf.abs(T('string', (2, 3), 'plain'))"} <= sources
    assert {"tf.abs(T('float32', (2, 3), 'nan'))", "tf.abs(T('float32', (0, 3), 'plain'))"} <= sources
    assert {call.way for call in made if "T('float32', (2, 3))" in call.source} == {
        *("eager", "traced", "unknown", "gradient")
    }


def test_arrays_are_the_same_in_every_process():
    np.testing.assert_array_equal(array("float64", (3,), "special"), array("float64", (3,), "special"))
    assert array("uint8", (4,), "positive").min() > 0
    assert np.isnan(array("float32", (2,), "nan")).all()


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("[1.0]", "[1.0]", None),
        ("[0.0]", "[-0.0]", "at 0"),
        ("[1.0]", "[2.0]", "at 0"),
        ("[1.0]", "[1.0, 1.0]", "float64[1], not float64[2]"),
        ("[float('nan')]", "[float('nan')]", None),
        ("1.0", "np.float64(1.0)", "not"),
    ],
)
def test_answers_differ_by_values_signs_and_shapes(ours, theirs, expected):
    space = {"np": np}
    a, b = (
        answers.of_results([np.asarray(x) if isinstance(x, list) else x])
        for x in (eval(ours, space), eval(theirs, space))
    )
    found = answers.difference(a, b)
    assert found is None if expected is None or "np." in theirs else expected in found


def test_errors_agree_by_their_classes():
    theirs = {"error": ["InvalidArgumentError"], "says": "no"}
    assert answers.difference({"error": ["DTypeError", "InvalidArgumentError"], "says": "x"}, theirs) is None
    assert answers.difference({"error": ["ValueError"], "says": "x"}, theirs) == (
        "ValueError: x | InvalidArgumentError: no"
    )
    assert answers.difference({"results": []}, theirs) == "a result | InvalidArgumentError: no"
    absent = {"error": ["NotFoundError"], "says": "Could not find device for node"}
    assert answers.difference({"results": []}, absent) is None


def test_the_command_writes_calls(tmp_path):
    out = tmp_path / "calls.jsonl"
    words = [sys.executable, "-m", "agreement", "calls", "--table", "--named", "math.erf", str(out)]
    subprocess.run(words, check=True)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert {name for _, _, name in lines} == {"math.erf", "math.erfc", "math.erfinv", "math.erfcinv"}
