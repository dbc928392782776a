"""The links of the built site: `python tools/site_links.py HTML`; `documentation.py` asks the same.

Every link inside the site leads to a file and to an anchor of it, and from the first page a few clicks lead
to the answers of questions that many have.
"""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

# Questions, and where they are answered.
ANSWERS = {
    "why did my function retrace": "functions.html#why-was-my-function-traced-again",
    "why is my gradient None": "gradients.html#when-the-gradient-is-none",
    "where does the time go": "profiling.html#how-to-read-it",
    "how do I stop in a graph": "debugging.html#a-debugger-that-goes-through-graphs",
    "what does this message mean": "errors.html#classes",
    "of which kind is this message": "errors.html#other-messages-by-kind",
}
CLICKS = 3


class Page(HTMLParser):
    """The anchors and links of a page.

    Attributes:
        anchors: the names of its places.
        links: where it leads, as written.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes note of an element."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif value and (name == "href" or (name == "src" and tag in ("img", "script"))):
                self.links.append(value)

    def targets(self, place: str) -> Iterator[tuple[str, str]]:
        """Where its links inside the site lead: the path from the site's folder, and the anchor.

        Args:
            place: the path of the page.
        """
        for link in self.links:
            path, anchor = urldefrag(link)
            if not urlsplit(link).scheme and not link.startswith("//"):
                target = posixpath.join(posixpath.dirname(place), unquote(path.partition("?")[0]))
                yield posixpath.normpath(target) if path else place, unquote(anchor)


def read(folder: Path) -> dict[str, Page]:
    """The pages of a folder, by their paths in it."""
    return {
        file.relative_to(folder).as_posix(): Page(file.read_text(encoding="utf-8"))
        for file in sorted(folder.rglob("*.html"))
    }


def broken(folder: Path, pages: dict[str, Page]) -> list[str]:
    """The links inside the site that lead nowhere."""
    found = []
    for place, page in pages.items():
        for target, anchor in sorted(set(page.targets(place))):
            if target in pages:
                if anchor and anchor not in pages[target].anchors:
                    found.append(f"{place}: {target}#{anchor} is no place of that page")
            elif not (folder / target).exists():
                found.append(f"{place}: {target} does not exist")
    return found


def ways(pages: dict[str, Page], clicks: int = CLICKS) -> dict[tuple[str, str], list[str]]:
    """The shortest way to each place, a page and an anchor, that a few clicks lead to from the first page."""
    first = ("index.html", "")
    found = {first: [first[0]]}
    last = [first]
    for _ in range(clicks):
        reached = []
        for place in last:
            for target in pages[place[0]].targets(place[0]) if place[0] in pages else ():
                if target not in found:
                    found[target] = [*found[place], "#".join(filter(None, target))]
                    reached.append(target)
        last = reached
    return found


def way_to(answer: str, found: dict[tuple[str, str], list[str]]) -> list[str] | None:
    """The pages on the way to `page#anchor`, if it is among the ways."""
    page, _, anchor = answer.partition("#")
    return found.get((page, anchor))


def unanswered(pages: dict[str, Page], answers: dict[str, str], clicks: int = CLICKS) -> list[str]:
    """The questions whose answers `clicks` clicks from the first page do not reach."""
    found = ways(pages, clicks)
    return [
        f"{clicks} clicks do not lead to {answer}: {question}"
        for question, answer in answers.items()
        if way_to(answer, found) is None
    ]


def without_entry(pages: dict[str, Page], names: Iterable[str]) -> list[str]:
    """The names that are no places of the reference."""
    places = {a for place, page in pages.items() if place.startswith("reference/") for a in page.anchors}
    return [f"the reference has no place {name}" for name in sorted(set(names) - places)]


def faults(folder: Path, names: Iterable[str] = ()) -> list[str]:
    """What is wrong with the links of a site, whose reference has an entry for each of these names."""
    pages = read(folder)
    return [*broken(folder, pages), *unanswered(pages, ANSWERS), *without_entry(pages, names)]


def main() -> None:
    """Prints what is wrong; the exit status is 1 if anything is."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} HTML")
    if found := faults(Path(sys.argv[1])):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
