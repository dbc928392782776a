"""The report of names that exist."""

import json

from penstock import api_report


def test_the_report_looks_names_up():
    report = api_report.coverage()
    by_namespace = {(e.tier, e.namespace): e for e in report}
    top = by_namespace[1, ""]
    assert "matmul" in top.present
    assert "matmul" not in top.missing
    assert "relu" in by_namespace[1, "nn"].present
    assert top.total == len(top.present) + len(top.missing)


def test_the_report_prints_as_text_and_as_json(capsys):
    api_report.main([])
    text = capsys.readouterr().out
    assert text.startswith("tier 1")
    assert "missing:" not in text
    api_report.main(["--missing"])
    assert "missing:" in capsys.readouterr().out
    api_report.main(["--json"])
    assert set(json.loads(capsys.readouterr().out)) == {"1", "2", "3"}


def test_names_outside_of_the_package_are_missing():
    assert not api_report._exists(json, "no.such.name")
    assert api_report._exists(json, "decoder.JSONDecoder")
