"""The workflows of GitHub, the tools of a release, and the way that a new user takes."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import check_version
import try_wheel

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def _steps(workflow):
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        yield from job.get("steps", [])


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda w: w.stem)
def test_jobs_run_targets_and_files_that_exist(workflow):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    commands = "\n".join(step["run"] for step in _steps(workflow) if "run" in step)
    assert set(re.findall(r"\bmake (?:-s )?([a-z][a-z-]*)", commands)) <= targets
    assert all((ROOT / file).exists() for file in re.findall(r"\btools/\w+\.py", commands))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda w: w.stem)
def test_actions_are_pinned_by_commit_with_their_version(workflow):
    used = re.findall(r"uses: (\S+)(.*)", workflow.read_text())
    for action, comment in used:
        if not action.startswith("./"):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action


def test_wheels_are_built_for_every_system():
    jobs = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text())["jobs"]
    names = {entry["name"] for entry in jobs["wheel"]["strategy"]["matrix"]["include"]}
    assert names == {
        f"{system}-{cpu}" for system in ("linux", "macos", "windows") for cpu in ("x86_64", "aarch64")
    }
    assert {entry["target"] for entry in jobs["musl"]["strategy"]["matrix"]["include"]} == {
        "x86_64",
        "aarch64",
    }


def test_the_names_of_the_packages_are_one():
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    crate = tomllib.loads((ROOT / "crates/penstock/Cargo.toml").read_text())["package"]["name"]
    assert package == crate == "penstock-engine"


def test_a_release_needs_its_version_everywhere():
    assert check_version.faults("99.0.0")
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert not [fault for fault in check_version.faults(version) if "Cargo.toml" in fault]


def test_the_wheel_is_tried_with_the_programs_of_the_first_pages():
    for page in try_wheel.PAGES:
        found = try_wheel.programs((ROOT / page).read_text())
        assert found
        assert "import penstock as tf" in found[0]
        compile("\n".join(found), page, "exec")


def test_a_folder_must_hold_one_wheel(tmp_path):
    with pytest.raises(SystemExit, match="found 0"):
        try_wheel.wheel_at(tmp_path)
    (tmp_path / "a.whl").touch()
    assert try_wheel.wheel_at(tmp_path).name == "a.whl"


def test_the_recipe_of_conda_says_what_the_package_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == version
    assert recipe["package"]["name"] == project["project"]["name"]
    assert recipe["about"]["summary"] == project["project"]["description"]

    def plain(requirements):
        return {requirement.replace(" ", "") for requirement in requirements}

    assert plain(recipe["requirements"]["run"]) == {"python", *plain(project["project"]["dependencies"])}
    assert plain(project["build-system"]["requires"]) <= plain(recipe["requirements"]["host"])
