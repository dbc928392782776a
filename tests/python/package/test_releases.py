"""The workflows of GitHub, the tools of a release, and the way that a new user takes."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import check_packages
import check_version
import conda_recipe
import documentation
import try_wheel

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def _steps(workflow):
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        yield from job.get("steps", [])


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda w: w.stem)
def test_jobs_run_targets_and_files_that_exist(workflow):
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    commands = "\n".join(step["run"] for step in _steps(workflow) if "run" in step)
    assert set(re.findall(r"\bmake (?:-s )?([a-z][a-z0-9-]*)", commands)) <= targets
    assert all((ROOT / file).exists() for file in re.findall(r"\btools/\w+\.py", commands))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda w: w.stem)
def test_actions_are_pinned_by_commit_with_their_version(workflow):
    used = re.findall(r"uses: (\S+)(.*)", workflow.read_text())
    for action, comment in used:
        if not action.startswith("./"):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action


def test_what_is_installed_together_asks_for_the_same_versions():
    environments: dict[str, set[str]] = {}
    for line in (ROOT / "Makefile").read_text().splitlines():
        if " -m pip install " in line and "--no-deps" not in line:
            folder = line.split("/bin/python")[0].split("-m pip")[0].strip()
            environments.setdefault(folder, set()).update(re.findall(r"-r (requirements/\w+\.txt)", line))
    assert max(map(len, environments.values())) > 1
    for folder, files in environments.items():
        found: dict[str, set[str]] = {}
        for file in files:
            for name, version in re.findall(
                r"^([\w.-]+)(?:\[.*\])?==([^\s;]+)", (ROOT / file).read_text(), re.MULTILINE
            ):
                found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), set()).add(version)
        several = {name: versions for name, versions in found.items() if len(versions) > 1}
        assert not several, f"{folder}: {sorted(files)}"


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


def test_the_page_on_pypi_shows_its_picture_and_leads_to_files_that_exist():
    readme = ROOT / tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["readme"]
    found = [link for _, link in documentation.links(readme.read_text(encoding="utf-8"))]
    assert f"{documentation.FILES}/main/docs/pictures/ratios.svg" in found
    assert len(found) > 10
    bases = (
        f"{documentation.FILES}/main/",
        *(f"{documentation.REPOSITORY}/{k}/main/" for k in ("blob", "tree")),
    )
    for link in found:
        base = next(base for base in bases if link.startswith(base))
        assert (ROOT / link.removeprefix(base).partition("#")[0]).exists(), link


def test_links_and_pictures_on_pypi_are_absolute():
    text = "[a](docs/gpu.md#b) [c](docs) ![d](docs/graph.png) [e](https://e) [f](#g)"
    page = documentation.REPOSITORY
    assert documentation.on_pypi(text) == (
        f"[a]({page}/blob/main/docs/gpu.md#b) [c]({page}/tree/main/docs) "
        f"![d]({documentation.FILES}/main/docs/graph.png) [e](https://e) [f](#g)"
    )


def test_packages_of_crates_are_checked_in_place_of_those_on_crates_io():
    found = tomllib.loads(check_packages.manifest(["penstock-data-0.1.0", "penstock-engine-0.1.0"]))
    assert found["workspace"]["members"] == ["penstock-data-0.1.0", "penstock-engine-0.1.0"]
    assert found["patch"]["crates-io"] == {
        "penstock-data": {"path": "penstock-data-0.1.0"},
        "penstock-engine": {"path": "penstock-engine-0.1.0"},
    }


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


def test_the_recipe_of_conda_is_filled_from_the_source_distribution(tmp_path):
    template = conda_recipe.TEMPLATE.read_text(encoding="utf-8")
    sdist = tmp_path / "penstock_engine-3.2.1.tar.gz"
    sdist.write_bytes(b"abc")
    recipe = yaml.safe_load(conda_recipe.filled(template, sdist))
    assert recipe["context"]["version"] == "3.2.1"
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of FIPS 180-2
    assert recipe["source"]["sha256"] == known
    assert {**recipe, "context": 0, "source": 0} == {**yaml.safe_load(template), "context": 0, "source": 0}


def test_only_a_source_distribution_makes_a_recipe(tmp_path):
    template = conda_recipe.TEMPLATE.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="no source distribution"):
        conda_recipe.filled(template, tmp_path / "penstock_engine-1.0.0-cp311-abi3-linux.whl")
    sdist = tmp_path / "penstock_engine-1.0.0.tar.gz"
    sdist.touch()
    with pytest.raises(ValueError, match="0 lines"):
        conda_recipe.filled(conda_recipe.filled(template, sdist), sdist)
