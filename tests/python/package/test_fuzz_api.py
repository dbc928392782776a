"""Public functions called with arguments that they do not expect, by `tools/fuzz_api.py`."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "fuzz_api.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_api", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzz_api = load()


def test_the_functions_are_those_of_the_package():
    found = fuzz_api.functions()
    assert len(found) > 1000
    for path in ("tf.concat", "tf.linalg.svd", "tf.raw_ops.gather", "tf.data.Dataset.range(4).map"):
        assert path in found


def test_a_call_follows_from_its_seed_and_number():
    callables = {"tf.concat": fuzz_api._parameters(lambda values, axis, name=None: None)}
    calls = [fuzz_api.call_source(1, number, callables) for number in range(50)]
    assert calls == [fuzz_api.call_source(1, number, callables) for number in range(50)]
    assert len(set(calls)) > 40


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("tf.concat([1], 5)", None),
        ("tf.linalg.inv([[0.0]])", None),
        ("tf.nest.map_structure(lambda x: x.nothing, 1)", "AttributeError"),
        ("tf.nest.map_structure(lambda x: {}[x], 1)", "KeyError"),
        ("Liar(repr=...)", None),
        ("sys.exit()", "SystemExit"),
    ],
)
def test_outcomes_are_told_apart(source, kind):
    found = fuzz_api.outcome(source, {**fuzz_api._namespace(), "sys": sys})
    assert (found and found["kind"]) == kind


def test_what_ends_the_process_or_does_not_end_is_found():
    calls = ["1", "__import__('os').abort()", "__import__('time').sleep(60)", "2", "__import__('sys').exit()"]
    found = fuzz_api.run_calls(calls, seconds=1)
    assert [(f["kind"], f["call"]) for f in found] == [
        ("abort (-6)", calls[1]),
        ("hang", calls[2]),
        ("SystemExit", calls[4]),
    ]


def test_findings_are_grouped_and_shown_by_their_shortest_call():
    exits = "tf.nest.map_structure(lambda x: __import__('sys').exit(), {})"
    calls = [exits.format("[1, 2]"), exits.format("1"), "dict(a=2).nothing"]
    groups = [(n, f["kind"], f["call"]) for n, f in fuzz_api.grouped(fuzz_api.run_calls(calls, seconds=60))]
    assert groups == [(2, "SystemExit", exits.format("1")), (1, "AttributeError", "dict().nothing")]


def test_public_functions_answer_whatever_they_are_called_with():
    # In a process of its own: what else has been imported makes no more functions.
    code = "import fuzz_api, json; print(json.dumps(fuzz_api.calls_of(0, 2000)))"
    path = os.pathsep.join([str(TOOL.parent), *sys.path])
    env = {**os.environ, "PYTHONPATH": path}
    made = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    found = fuzz_api.run_calls(json.loads(made.stdout), seconds=60)
    assert not found, "\n".join(f"{f['kind']} at {f['place']}: {f['call']}" for f in found)
