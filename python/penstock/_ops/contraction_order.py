"""In which order the operands of a sum of products are contracted, two at a time.

A term is the set of its labels. Of a set of operands the result has the labels that other operands or the
output need, whatever the order in which they were contracted; contracting two terms costs the product of the
sizes of all their labels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["ORDERS", "contraction_order"]

Labels = frozenset[str]

# The most operands for which `auto` compares all orders.
_FEW = 6


def contraction_order(
    terms: Sequence[Iterable[str]], output: Iterable[str], sizes: Mapping[str, int], optimize: str
) -> list[tuple[int, int]]:
    """The pairs to contract one after the other.

    Args:
        terms: the labels of each operand.
        output: the labels of the result.
        sizes: the size of each label.
        optimize: one of `ORDERS`.

    Returns:
        The positions `(i, j)`, `i < j`, of two terms in the list of those that are left. The two are taken
        out, and their product is added at the end.

    >>> contraction_order(["ij", "jk", "k"], "i", {"i": 9, "j": 9, "k": 9}, "optimal")
    [(1, 2), (0, 1)]
    """
    return ORDERS[optimize]([frozenset(term) for term in terms], frozenset(output), sizes)


def _size(labels: Labels, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[label] for label in labels)


def _greedy(terms: list[Labels], output: Labels, sizes: Mapping[str, int]) -> list[tuple[int, int]]:
    """At each step the pair that leaves the fewest elements, and of such the one that costs least."""
    order = []
    while len(terms) > 1:

        def price(pair: tuple[int, int], terms: list[Labels] = terms) -> tuple[int, int]:
            a, b = (terms[i] for i in pair)
            kept = _product(terms, pair, output)
            return _size(kept, sizes) - _size(a, sizes) - _size(b, sizes), _size(a | b, sizes)

        best = min(itertools.combinations(range(len(terms)), 2), key=price)
        terms = [term for i, term in enumerate(terms) if i not in best] + [_product(terms, best, output)]
        order.append(best)
    return order


def _product(terms: list[Labels], members: Iterable[int], output: Labels) -> Labels:
    """The labels of the product of some terms."""
    chosen = set(members)
    own = frozenset().union(*(terms[i] for i in chosen))
    return own & output.union(*(term for i, term in enumerate(terms) if i not in chosen))


def _optimal(terms: list[Labels], output: Labels, sizes: Mapping[str, int]) -> list[tuple[int, int]]:
    """The order of the least total cost, from the best orders of all sets of operands, small ones first."""
    n = len(terms)
    best: dict[frozenset[int], tuple[int, tuple[frozenset[int], frozenset[int]] | None]] = {
        frozenset({i}): (0, None) for i in range(n)
    }
    left = {frozenset({i}): terms[i] for i in range(n)}
    for count in range(2, n + 1):
        for members in map(frozenset, itertools.combinations(range(n), count)):
            left[members] = _product(terms, members, output)
            best[members] = min(
                (
                    (best[a][0] + best[b][0] + _size(left[a] | left[b], sizes), (a, b))
                    for a, b in _halves(members)
                ),
                key=lambda found: found[0],
            )
    order: list[tuple[int, int]] = []
    present = [frozenset({i}) for i in range(n)]

    def contract(members: frozenset[int]) -> None:
        if pair := best[members][1]:
            for part in pair:
                contract(part)
            i, j = sorted(present.index(part) for part in pair)
            del present[j], present[i]
            present.append(members)
            order.append((i, j))

    contract(frozenset(range(n)))
    return order


def _halves(members: frozenset[int]) -> Iterable[tuple[frozenset[int], frozenset[int]]]:
    """All ways to divide a set in two; the one with the first member comes first in each."""
    first, *rest = sorted(members)
    for count in range(len(rest)):
        for others in itertools.combinations(rest, count):
            part = frozenset({first, *others})
            yield part, members - part


def _auto(terms: list[Labels], output: Labels, sizes: Mapping[str, int]) -> list[tuple[int, int]]:
    """All orders are compared where they are few."""
    return (_optimal if len(terms) <= _FEW else _greedy)(terms, output, sizes)


# By the names that TensorFlow gives them; searches of some branches are those of all where these are few.
ORDERS = {
    "greedy": _greedy,
    "optimal": _optimal,
    "auto": _auto,
    "branch-2": _auto,
    "branch-all": _auto,
}
