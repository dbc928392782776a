"""Where the source of a function is found, and where another's must not be taken for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import run_python

# What `exec` compiles here has the file name, the names and the lines of functions of the command.
COMMAND = """def f(x): return x * 2 if x > 0 else -x
import penstock as tf
g = lambda x: x * 3 if x > 0 else -x
made = {}
exec("def f(x): return x + 5", made)
exec("\\n\\ng = lambda x: x + 7", made)
three = tf.constant(3)
print(int(tf.function(made["f"])(three)), int(tf.function(made["g"])(three)))
"""


def test_what_exec_makes_does_not_get_the_source_of_the_command() -> None:
    assert run_python(COMMAND).stdout.split() == ["8", "10"]


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Python keeps the text of a command from 3.13 on")
def test_functions_of_a_command_are_converted() -> None:
    calls = "print(int(tf.function(f)(-three)), int(tf.function(g)(-three)))"
    assert run_python(COMMAND + calls).stdout.split() == ["8", "10", "3", "3"]


def test_records_are_made_without_a_warning_though_their_methods_have_no_source(tmp_path: Path) -> None:
    command = f"""import dataclasses, runpy, warnings
import penstock as tf
warnings.simplefilter("error", UserWarning)
@dataclasses.dataclass
class Pair:
    first: object
    second: object
f = runpy.run_path({str(tmp_path / "user.py")!r}, {{"Pair": Pair}})["f"]
print(int(tf.function(f)(tf.constant(3))))
"""
    (tmp_path / "user.py").write_text("def f(x):\n    return Pair(x, x + 1).second\n")
    assert run_python(command).stdout.split() == ["4"]
