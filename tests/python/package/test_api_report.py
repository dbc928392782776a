"""The report of TensorFlow's symbols that exist."""

import json

import pytest

from penstock import _api_names, api_report


def test_every_symbol_of_the_list_is_reported():
    report = api_report.coverage()
    states = {entry.symbol.name: entry.state for entry in report}
    assert len(states) == len(report) == 2069
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


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("tf.reshape", "tf.reshape(tensor: TensorLike, shape"),
        ("reshape", "The parameters are TensorFlow's."),
        ("tf.profiler.record", "Not in TensorFlow."),
        ("tf.float32", "tf.float32"),
        ("tf.Tensor", "A tensor: eager, or symbolic"),
    ],
)
def test_a_name_is_described(name, part, capsys):
    api_report.main([name])
    text = capsys.readouterr().out
    assert part in text
    assert " of " not in text.splitlines()[0]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("tf.placeholder", "tf.compat.v1.placeholder"),
        ("tf.math.reduce_summ", "there are reduce_sum"),
        ("tf.nosuch", "has no attribute 'nosuch'"),
        ("tf.distribute.Server", "cluster runtime"),
    ],
)
def test_of_a_name_that_there_is_not_the_reason_is_said(name, part):
    with pytest.raises(SystemExit, match=part):
        api_report.main([name])
