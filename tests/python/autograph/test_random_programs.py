"""Random programs give what plain Python gives: eagerly, traced, and by the reference interpreter."""

from __future__ import annotations

import pytest
from support.agreement import NOT_PYTHON, disagreement, is_refusal, smaller
from support.programs import StateWriter, Writer

# Programs of one test, and tests.
AT_ONCE, TESTS = 25, 100
# The same for those with state.
WITH_STATE_AT_ONCE, TESTS_OF_STATE = 50, 10
# The share of programs that may be refused, and never be wrong.
MOST_REFUSED = 0.05
# The share of programs that must run in plain Python, so that there is something to agree with.
FEWEST_IN_PYTHON = 0.95


def agree(writer: type[Writer], seeds: range, may_be_refused: float) -> None:
    """Fails where a program of some seeds goes wrong, or too many are refused or do not run in Python."""
    refused, not_python = [], []
    for seed in seeds:
        source = writer(seed).write()
        wrong = disagreement(source, f"{writer.__name__} {seed}")
        if wrong == NOT_PYTHON:
            not_python.append(seed)
        elif wrong is not None and may_be_refused and is_refusal(wrong):
            # What no graph can hold is refused: a tensor that is None unless a condition on tensors holds.
            refused.append(f"seed {seed}: {wrong}")
        elif wrong is not None:
            shorter = smaller(source, wrong, f"{writer.__name__} {seed}, smaller")
            pytest.fail(f"{wrong}\nfrom seed {seed}, made smaller:\n{shorter}", pytrace=False)
    assert len(refused) <= len(seeds) * may_be_refused, "\n".join(refused)
    assert len(not_python) <= len(seeds) * (1 - FEWEST_IN_PYTHON), f"seeds {not_python} do not run in Python"


@pytest.mark.parametrize("batch", range(TESTS))
def test_random_programs_agree(batch: int) -> None:
    agree(Writer, range(batch * AT_ONCE, (batch + 1) * AT_ONCE), 0)


@pytest.mark.parametrize("batch", range(TESTS_OF_STATE))
def test_random_programs_with_state_agree(batch: int) -> None:
    agree(StateWriter, range(batch * WITH_STATE_AT_ONCE, (batch + 1) * WITH_STATE_AT_ONCE), MOST_REFUSED)
