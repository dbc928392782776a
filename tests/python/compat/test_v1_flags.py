"""Flags of the command line, and the start of programs, as TensorFlow 1 has them."""

import subprocess
import sys
import textwrap

import pytest

import penstock as tf

v1 = tf.compat.v1


def run(program, *arguments, before=""):
    source = f"{before}\nimport penstock.compat.v1 as tf\n{textwrap.dedent(program)}"
    return subprocess.run(
        [sys.executable, "-c", source, *arguments], capture_output=True, text=True, timeout=100
    )


PROGRAM = """
flags = tf.app.flags
flags.DEFINE_string("name", "world", "Whom to greet.")
flags.DEFINE_integer("times", 1, "How often.")
tf.flags.DEFINE_float("rate", 0.5, docstring="A rate.")
tf.flags.DEFINE_bool("loud", default_value=False, docstring="Whether aloud.")
tf.flags.DEFINE_boolean(flag_name="polite", default_value=True, docstring="Whether politely.")
tf.flags.DEFINE_enum("mode", "train", ["train", "test"], "What to do.")
tf.flags.DEFINE_list("parts", ["a"], "Which.")
FLAGS = tf.flags.FLAGS
"""
SHOWN = "print(FLAGS.name, FLAGS.times, FLAGS.rate, FLAGS.loud, FLAGS.polite, FLAGS.mode, FLAGS.parts)"


def test_flags_of_a_command_line_reach_the_program():
    main = f"\ndef main(argv):\n    {SHOWN}\n    print(argv[1:])\n    return 3\n\ntf.app.run()\n"
    # What is no flag of the program is left for it.
    found = run(
        PROGRAM + main, "--name=you", "--times", "2", "--nopolite", "--parts=b,c", "--mode=test", "rest"
    )
    assert found.stdout.splitlines() == ["you 2 0.5 False False test ['b', 'c']", "['rest']"], found.stderr
    assert found.returncode == 3
    found = run(PROGRAM + main, "--unknown=1")
    assert found.stdout.splitlines()[1] == "['--unknown=1']", found.stderr


def test_a_value_that_is_asked_for_reads_the_command_line():
    found = run(PROGRAM + SHOWN, "--rate=2", "--loud")
    assert found.stdout == "world 1 2.0 True True train ['a']\n", found.stderr
    more = 'FLAGS.times = 4\nprint("times" in FLAGS, FLAGS["times"].value, len(FLAGS) > 6)\n'
    assert run(PROGRAM + more).stdout == "True 4 True\n"
    found = run(PROGRAM + SHOWN, "--mode=fly")
    assert found.returncode != 0
    assert "IllegalFlagValueError" in found.stderr


def test_help_lists_the_flags_of_the_program():
    found = run(PROGRAM + "\ndef main(argv):\n    pass\n\ntf.app.run()\n", "--help")
    assert "Whom to greet." in found.stdout, found.stderr


def test_a_missing_library_is_named():
    found = run("tf.app.flags.DEFINE_string('a', '', '')", before="import sys\nsys.modules['absl'] = None\n")
    assert "pip install absl-py" in found.stderr
    # The rest of version 1 does without it.
    found = run("print(tf.Graph, 'run' in dir(tf.app))", before="import sys\nsys.modules['absl'] = None\n")
    assert found.returncode == 0, found.stderr


def test_other_names_of_the_library_are_there():
    absl = pytest.importorskip("absl.flags")
    assert v1.flags.mark_flag_as_required is absl.mark_flag_as_required
    assert "DEFINE_multi_string" in dir(v1.flags)
    with pytest.raises(AttributeError, match="'foo'"):
        _ = v1.flags.foo
