"""The Python programs that pages of the documentation show run as they are pasted, one after the other."""

import doctest
import json
import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import penstock as tf

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import documentation  # noqa: E402 -- from the folder of tools

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def programs(page):
    """The programs of a page, and its dialogues with the interpreter.

    Those that are marked `needs-build` are run by the tests that build what they need.
    """
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


def test_links_of_pages_lead_to_files_and_headings_that_there_are():
    assert documentation.broken_links(documentation.pages()) == []


def pages_within(start, links):
    """The pages that this many links lead to, the first among them."""
    found, last = {start}, {start}
    for _ in range(links):
        targets = [
            (page.parent / link.partition("#")[0]).resolve()
            for page in last
            for _, link in documentation.links(documentation.text_of(page))
            if not re.match(r"[a-z]+:", link)
        ]
        last = {target for target in targets if target.is_file()} - found
        found |= last
    return found


@pytest.mark.parametrize("start", ["README.md", "docs/README.md", "docs/quickstart.md", "docs/errors.md"])
@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("why did my function retrace", "Why was my function traced again?"),
        ("why is my gradient None", "When the gradient is None"),
        ("how do I stop in a graph", "A debugger that goes through graphs"),
        ("where did this shape come from", "Where a shape comes from"),
    ],
)
def test_three_links_lead_to_the_answer(start, question, heading):
    answers = [
        page
        for page in pages_within(ROOT / start, 3)
        if re.search(rf"^#+ {re.escape(heading)}$", documentation.text_of(page), flags=re.MULTILINE)
    ]
    assert answers, question


def test_a_link_to_no_file_or_no_heading_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(documentation, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# A word, `code`\n\n[a](#a-word-code), [b](#none)\n\n```\n[c](no)\n```\n[d](no.md), [e](page.md)\n"
    )
    found = documentation.broken_links([page])
    assert found == ["page.md:3: #none leads nowhere", "page.md:8: no.md leads nowhere"]


# Names that pages mention because the package has none of them.
ABSENT = {"tf.Variables", "tf.placeholder"}


def test_the_names_that_pages_mention_are_there():
    missing = []
    # These two pages mention names that do not exist: missing ones, and old ones.
    without = {ROOT / "docs" / "tensorflow.md", ROOT / "CHANGELOG.md"}
    for page in {*PAGES, *documentation.pages()} - without:
        names = set(re.findall(r"\btf\.[A-Za-z_][\w.]*\w(?![\w…])", documentation.text_of(page)))
        missing += [f"{page.name}: {name}" for name in names - ABSENT if not is_there(name)]
    assert sorted(missing) == []


def is_there(name):
    """Whether a public name exists."""
    try:
        attrgetter(name.removeprefix("tf."))(tf)
    except AttributeError:
        return False
    return True


def test_every_page_is_in_the_contents_of_the_site():
    places = documentation.pages()
    contents = documentation.contents(
        (ROOT / "docs/README.md").read_text(encoding="utf-8"), places
    ).splitlines()
    assert sorted(set(places.values()) - {"index.md"} - set(contents)) == []


def test_the_reference_has_an_entry_for_every_public_name(tmp_path):
    documentation.reference(tmp_path)
    text = "\n".join(page.read_text(encoding="utf-8") for page in tmp_path.glob("*.md"))
    entries = set(re.findall(r"^`{3,}\{py:(?:function|class)\} ([\w.]+)", text, flags=re.MULTILINE))
    assert entries >= {"tf.function", "tf.add", "tf.data.Dataset", "tf.Tensor", "tf.errors.NotFoundError"}
    assert {f"tf.{names[0]}" for names in documentation.public_names.aliases().values()} == entries
    for name in ("tf.math.add", "tf.linalg.matmul"):
        assert f"`{name}" in text
    # Names of entries are whole: behind `py:module` they would be names of that module.
    assert text.count("{py:currentmodule} None") == text.count("{py:module} ") > 10
    entry_of = json.loads((tmp_path / "names.json").read_text(encoding="utf-8"))
    assert (entry_of["tf.math.add"], entry_of["tf.linalg.matmul"]) == ("tf.add", "tf.matmul")
    assert set(entry_of.values()) == entries


def test_the_reference_says_how_a_name_differs_from_tensorflow_s():
    assert documentation.in_tensorflow("math.sin", tf.math.sin) == ""
    assert documentation.in_tensorflow("vmap_of_nothing", tf.math.sin) == "*Not in TensorFlow.*"
    assert documentation.in_tensorflow("function", tf.function) == (
        "*TensorFlow's parameters, and `guard`, `max_traces`.*"
    )
    assert documentation.in_tensorflow("linalg.einsum", tf.linalg.einsum) == (
        "*TensorFlow's parameters without `**kwargs`, and `optimize`, `name`.*"
    )


def test_documentation_becomes_fields_and_blocks_of_code():
    def double(x: "tf.Tensor", *more: int, name: "str | None" = None) -> "tf.Tensor":
        """Double a tensor.

        Args:
            x: a tensor: numbers,
                or strings.
            *more: others.
            name: its name.

        Returns:
            A tensor.

        Raises:
            TypeError: for no tensor.

        >>> 1 + 1
        2
        """

    assert (
        documentation.signature(double) == "(x: tf.Tensor, *more: int, name: str | None = None) -> tf.Tensor"
    )
    assert documentation.documentation(double.__doc__).splitlines() == [
        "Double a tensor.",
        "",
        ":param x: a tensor: numbers, or strings.",
        ":param \\*more: others.",
        ":param name: its name.",
        ":returns: A tensor.",
        ":raises TypeError: for no tensor.",
        "",
        "```pycon",
        ">>> 1 + 1",
        "2",
        "```",
    ]
