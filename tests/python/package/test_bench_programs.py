"""The programs of benches/families give the right results, and what sums their measurements up is right."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benches"))

import run
import svg
import table
from families import FAMILIES, arrays, family_of, pyhpc as ocean
from families.applications import tf_style
from families.pyhpc import eos, mixing, tke
from frameworks import FRAMEWORKS

KERNELS = {
    "eos": lambda a: eos.make(a.sqrt, a.log),
    "mixing": mixing.make,
    "tke": tke.make,
}
PROGRAMS = ("lbfgs", "maml", "beam_search", "sequence", "tree_lstm")


@pytest.mark.parametrize("kernel", KERNELS)
def test_ocean_kernels_are_those_of_numpy(kernel):
    inputs = ocean.INPUTS[kernel](500)
    wanted = KERNELS[kernel](arrays.of_numpy(np))(*inputs)
    found = tf.function(KERNELS[kernel](arrays.of_tensorflow(tf)))(*[tf.constant(x) for x in inputs])
    if kernel == "eos":
        wanted, found = [wanted], [found]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-9, atol=1e-9 * np.abs(b).max())


def test_the_derivative_of_enthalpy_is_its_slope():
    # A finite difference of the integral of the specific volume over pressure, by Simpson's rule.
    s, p = 5.0, 800.0

    def volume(t, p):
        value = lambda c: eos.polynomial(t, c)[0]  # noqa: E731
        root = s**0.5
        a0 = value(eos.A0) + s * (value(eos.A0_S) + root * value(eos.A0_SQ))
        a1, a2 = value(eos.A1) + s * value(eos.A1_S), value(eos.A2) + eos.A2_S * s
        b0 = value(eos.B0) + s * (value(eos.B0_S) + eos.B0_SS * s + root * value(eos.B0_SQ))
        b1, b2 = value(eos.B1) + s * value(eos.B1_S), value(eos.B2) + eos.B2_S * s * t
        return (b0 + p * (b1 + p * (b2 + p * value(eos.B3)))) / (a0 + p * (a1 + p * a2))

    def enthalpy(t):
        points = np.linspace(0.0, p, 201)
        weights = np.full(201, 2.0)
        weights[1::2], weights[0], weights[-1] = 4.0, 1.0, 1.0
        return 1e4 * (weights * volume(t, points)).sum() * (points[1] - points[0]) / 3

    slope = (enthalpy(8.01) - enthalpy(7.99)) / 0.02
    assert eos.make(np.sqrt, np.log)(s, 8.0, p) == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("program", PROGRAMS)
def test_applications_are_alike_traced_and_eager(program):
    works = tf_style.works(tf)
    traced, eager = works[program](), works[f"{program}_eager"]()
    for a, b in zip(traced.call(*traced.args), eager.call(*eager.args), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_each_case_has_a_key_of_its_own():
    keys = [case.key for family in FAMILIES.values() for case in family.cases]
    assert len(set(keys)) == len(keys)
    assert all(family_of(key).key in FAMILIES for key in keys)


@pytest.mark.parametrize("family", [key for key in FAMILIES if key != "core"])
def test_penstock_has_every_case_of_a_family(family):
    works = importlib.import_module(f"{FAMILIES[family].package}.on_penstock").works()
    assert {case.key for case in FAMILIES[family].cases} - set(works) <= {"memcpy"}
    known = {framework.key for framework in FRAMEWORKS}
    assert all(set(mean.peers) <= known for mean in FAMILIES[family].means)


def test_a_result_that_is_not_numpys_is_left_out():
    right = [4.0, 1.0, 0.5, 0.1]
    values = {"numpy": right, "jax": right, "penstock": [4.0, 1.0, 0.5, -0.1], "numba": [5.0, 1.0, 0.5, 0.1]}
    assert set(run.disagreements(values, 1e-3)) == {"penstock", "numba"}
    values["jax"] = [4.0, float("nan"), 0.5, 0.1]
    assert "jax" in run.disagreements(values, 1e-3)


def test_without_numpy_the_most_count_and_two_that_differ_are_both_left_out():
    right, wrong = [4.0, 1.0, 0.5, 0.1], [4.0, 2.0, 0.5, 0.1]
    assert set(run.disagreements({"a": right, "b": right, "c": wrong}, 1e-3)) == {"c"}
    assert set(run.disagreements({"a": right, "b": wrong}, 1e-3)) == {"a", "b"}
    assert run.disagreements({"a": right}, 1e-3) == {}


def test_the_geometric_mean_is_over_cases_that_both_have():
    family = FAMILIES["npbench"]
    first, second, third = (case.key for case in family.cases[:3])
    results = {
        "cases": {
            first: {"penstock": {"value": 1.0}, "numba": {"value": 2.0}},
            second: {"penstock": {"value": 1.0}, "numba": {"value": 8.0}},
            third: {"penstock": {"value": 1.0}, "numba": {"skipped": "no"}},
        }
    }
    numba = next(mean for mean in family.means if mean.peers == ("numba",))
    ratio, cases = table.mean_ratio(family, numba, results)
    assert (ratio, cases) == (pytest.approx(4.0), 2)


def test_charts_leave_out_what_has_no_logarithm():
    chart = svg.Chart("a < b", "x", [svg.Series("line", [(1.0, 1.0), (10.0, 0.0), (100.0, 10.0)])])
    drawn = svg.draw([chart])
    line = next(part for part in drawn.splitlines() if "polyline" in part)
    assert line.split('"')[1].count(",") == 2
    assert "a &lt; b" in drawn


def test_a_case_is_measured_and_written_down(tmp_path):
    output = tmp_path / "results.json"
    pythons = [f"--python={key}={sys.executable}" for key in ("penstock", "numpy")]
    short = ["--rounds=1", "--repeats=1", "--seconds=0.001", f"--output={output}"]
    command = [sys.executable, run.__file__, *pythons, "--cases=eager_add,import,size", *short]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    results = json.loads(output.read_text())
    versions = {key: framework["version"] for key, framework in results["frameworks"].items()}
    assert versions == {"penstock": tf.__version__, "numpy": np.__version__}
    assert results["cases"]["eager_add"]["penstock"]["value"] > 0
    assert results["cases"]["eager_add"]["numpy"]["value"] > 0
    assert set(results["cases"]["import"]) == set(versions)


def test_a_framework_that_is_named_and_cannot_be_measured_ends_the_run(tmp_path):
    broken = tmp_path / "python"
    broken.write_text(f'#!{sys.executable}\nprint(\'{{"error": "no package"}}\', flush=True)\ninput()\n')
    broken.chmod(0o755)
    output = tmp_path / "results.json"
    command = [sys.executable, run.__file__, f"--python=penstock={broken}", f"--output={output}"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 1
    assert "penstock cannot be measured: no package" in ended.stderr
    assert not output.exists()
