"""The report of TensorFlow's symbols that exist."""

import json

import pytest

from penstock import _api_names, api_report


def test_every_symbol_of_the_list_is_reported():
    report = api_report.coverage()
    states = {entry.symbol.name: entry.state for entry in report}
    assert len(states) == len(report) == 1757
    assert states["math.add"] == states["GradientTape.watch"] == states["float32"] == "present"
    assert states["lite.Interpreter"] == "not applicable"
    assert {entry.symbol.namespace for entry in report} >= {"", "math", "data.experimental"}


def test_what_has_no_place_here_is_a_symbol_and_does_not_exist():
    report = api_report.coverage()
    for path in _api_names.NOT_APPLICABLE:
        entries = [e for e in report if e.symbol.name == path or e.symbol.name.startswith(f"{path}.")]
        assert entries
        assert {e.state for e in entries} == {"not applicable"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("x, y=None", ("x", "y")),
        ("a=(1, 2), b=',', c={'k': [1]}, **kwargs", ("a", "b", "c", "**kwargs")),
    ],
)
def test_defaults_may_hold_commas(text, names):
    assert _api_names._parameters(text) == names


def test_the_report_prints_as_text_and_as_json(capsys):
    api_report.main([])
    text = capsys.readouterr().out
    assert "planned" in text
    assert "    planned: " not in text
    api_report.main(["--missing", "tf.lite"])
    assert "not applicable: Interpreter" in capsys.readouterr().out
    api_report.main(["--json"])
    assert "math.add" in json.loads(capsys.readouterr().out)["math"]["present"]


def test_symbols_are_looked_up_in_the_package():
    assert not api_report._found(json, "no.such.name")[0]
    assert api_report._found(json, "decoder.JSONDecoder")[0]
