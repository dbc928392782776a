"""What the documentation of functions and classes shows is what happens, with nothing imported before."""

import doctest

import pytest

from public_names import exported

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for path, value in exported().items():
        for test in finder.find(value, path, module=False, globs={}):
            yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", [*examples()])
def test_an_example_runs_as_pasted(test):
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    result = runner.run(test, out=report.append, clear_globs=False)
    assert result.failed == 0, "".join(report)
