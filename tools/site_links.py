"""The links of the built site: `python tools/site_links.py HTML`; `documentation.py` asks the same.

Every link inside the site leads to a file and to an anchor of it, and from the first page a few clicks lead
to the answers of questions that many have.
"""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterator
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


def unanswered(pages: dict[str, Page], answers: dict[str, str], clicks: int = CLICKS) -> list[str]:
    """The questions whose answers `clicks` clicks from the first page do not reach."""
    reached = last = {("index.html", "")}
    for _ in range(clicks):
        last = {
            target
            for place in {place for place, _ in last}
            if place in pages
            for target in pages[place].targets(place)
        }
        reached = reached | last
    return [
        f"{clicks} clicks do not lead to {answer}: {question}"
        for question, answer in answers.items()
        if tuple(answer.split("#")) not in reached
    ]


def faults(folder: Path) -> list[str]:
    """What is wrong with the links of a site."""
    pages = read(folder)
    return [*broken(folder, pages), *unanswered(pages, ANSWERS)]


def main() -> None:
    """Prints what is wrong; the exit status is 1 if anything is."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} HTML")
    if found := faults(Path(sys.argv[1])):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
