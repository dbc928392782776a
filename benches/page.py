"""Tables that a program writes into a page, between two marker lines."""

import datetime
import os
import platform
import re
import sys
from pathlib import Path


def replaced(page: Path, name: str, text: str) -> str:
    """The page with `text` between its markers `<!-- name:begin -->` and `<!-- name:end -->`."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    head, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        sys.exit(f"{page.name} lacks the markers of '{name}'")
    return f"{head}{begin}{text}\n{end}{tail}"


def machine() -> str:
    """Where and when it was measured."""
    try:
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        model = None
    cpu = model.group(1) if model else platform.processor() or platform.machine()
    return f"{os.cpu_count()} cores, {cpu}, Python {platform.python_version()}, {datetime.date.today()}:"
