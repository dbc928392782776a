"""The command: `calls`, `answer`, `compare` and `keep`, each from and to files of JSON lines."""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agreement import answers, differences, recorded, table, worker
from agreement.calls import Call


def _read(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _calls(options: argparse.Namespace) -> None:
    # It needs the package, which a process that asks TensorFlow does not have.
    from agreement.harvest import examples
    from agreement.table import constants, listed
    from agreement.variants import sampled, variants

    with options.out.open("w", encoding="utf-8") as file:
        for base in itertools.chain(listed(), constants(), () if options.table else examples()):
            for call in variants(base) if options.sample is None else sampled(base, options.sample):
                if options.named in call.name:
                    file.write(json.dumps([call.source, call.way, call.name]) + "\n")


def _answer(options: argparse.Namespace) -> None:
    calls = [Call(*line) for line in _read(options.calls)]
    with options.out.open("w", encoding="utf-8") as file:
        for answer in worker.answers_of(calls, options.package):
            file.write(json.dumps(answer) + "\n")


def _compare(options: argparse.Namespace) -> int:
    count: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    total = 0
    for line, ours, theirs in zip(*map(_read, (options.calls, options.ours, options.theirs)), strict=True):
        call = Call(*line)
        total += 1
        found = answers.difference(ours, theirs, values=not table.is_random(call.source))
        why = found and differences.reason(call, found)
        if why:
            reasons[why] += 1
        elif found:
            count[call.name] += 1
            if count[call.name] <= options.most:
                print(f"{call.name} [{call.way}] {call.source}\n      {found}")
    if options.reasons:
        for why, times in reasons.most_common():
            print(f"{times:6} {why}")
    print(f"{total} calls: {count.total()} differ without a reason, {reasons.total()} with one")
    return 1 if count else 0


def _keep(options: argparse.Namespace) -> None:
    pairs = zip(_read(options.calls), _read(options.theirs), strict=True)
    found = {Call(*line): answer for line, answer in pairs}
    recorded.save(({**dict(recorded.load()), **found} if options.add else found).items())


def main() -> int:
    """Runs what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("calls")
    part.add_argument("out", type=Path)
    part.add_argument("--named", default="", help="a part of the names of symbols")
    part.add_argument("--table", action="store_true", help="without the examples of docstrings")
    part.add_argument("--sample", type=int, help="so many others of each call, in place of all")
    part.set_defaults(run=_calls)
    part = parts.add_parser("answer")
    part.add_argument("package")
    part.add_argument("calls", type=Path)
    part.add_argument("out", type=Path)
    part.set_defaults(run=_answer)
    part = parts.add_parser("compare")
    part.add_argument("calls", type=Path)
    part.add_argument("ours", type=Path)
    part.add_argument("theirs", type=Path)
    part.add_argument("--most", type=int, default=3, help="how many calls of each symbol are printed")
    part.add_argument("--reasons", action="store_true", help="print how often each reason applies")
    part.set_defaults(run=_compare)
    part = parts.add_parser("keep", help="put TensorFlow's answers into the repository, for `make test`")
    part.add_argument("calls", type=Path)
    part.add_argument("theirs", type=Path)
    part.add_argument("--add", action="store_true", help="beside the answers that are there")
    part.set_defaults(run=_keep)
    options = parser.parse_args()
    return options.run(options) or 0


if __name__ == "__main__":
    sys.exit(main())
