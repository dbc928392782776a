"""`python -m penstock`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as tf
from penstock._command_line import main
from penstock._runtime.settings import SETTINGS

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import sys
import penstock as tf

@tf.function
def order(x):
    return tf.sort(x)

def plain(x, scale=2.0):
    return x * scale

if __name__ == "__main__":
    order(tf.range(100))
    print("arguments:", sys.argv[1:])
    if "fail" in sys.argv:
        raise KeyError("user")
    if "interrupt" in sys.argv:
        raise KeyboardInterrupt
    if "leave" in sys.argv:
        sys.exit(7)
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


@pytest.fixture(autouse=True)
def _unchanged_arguments(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["penstock"])
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_info_names_the_version_and_the_machine(capsys, monkeypatch):
    monkeypatch.setenv("PENSTOCK_THREADS", "1")
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert tf.__version__ in out
    assert "instruction set" in out
    assert "CPU:0" in out
    assert "PENSTOCK_THREADS" in out


def test_doctor_passes_here_and_names_what_is_misspelt(capsys, monkeypatch):
    for name in [name for name in __import__("os").environ if name.startswith("PENSTOCK_")]:
        monkeypatch.delenv(name)
    assert main(["doctor"]) == 0
    assert "all is well" in capsys.readouterr().out
    monkeypatch.setenv("PENSTOCK_THREDS", "1")
    assert main(["doctor"]) == 1
    assert "PENSTOCK_THREDS" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("PENSTOCK_THREADS", "2", "two"),
        ("PENSTOCK_SIMD", "base", "sse"),
        ("PENSTOCK_VERIFY", "1", "yes"),
        ("PENSTOCK_FUEL", "1000000", None),
        ("PENSTOCK_THRESHOLDS", "small", None),
    ],
)
def test_doctor_knows_settings_and_their_values(name, right, wrong, capsys, monkeypatch):
    monkeypatch.setenv(name, right)
    main(["doctor"])
    assert "ok      environment" in capsys.readouterr().out
    if wrong is not None:
        monkeypatch.setenv(name, wrong)
        assert main(["doctor"]) == 1
        out = capsys.readouterr().out
        assert f"{name} is '{wrong}'" in out
        assert right in out


def test_the_settings_that_the_engine_reads_are_known_and_in_the_guide():
    read = set()
    for file in ROOT.glob("crates/*/src/**/*.rs"):
        if "penstock-mockcuda" not in file.parts:
            text = file.read_text(encoding="utf-8")
            read |= set(re.findall(r'"PENSTOCK_([A-Z_]+)"', text.partition("#[cfg(test)]")[0]))
    assert set(SETTINGS) == read
    table = (ROOT / "docs/reliability.md").read_text(encoding="utf-8").partition("## Settings")[2]
    assert set(re.findall(r"`PENSTOCK_([A-Z_]+)`", table)) == read


def test_api_counts_names(capsys):
    assert main(["api", "tf.sets", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_show_lists_signatures_and_variables(capsys, tmp_path):
    class Scale(tf.Module):
        def __init__(self):
            self.rate = tf.Variable(3.0, name="rate")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
        def __call__(self, x):
            return {"y": self.rate * x}

    module = Scale()
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.__call__)
    assert main(["show", str(tmp_path / "saved")]) == 0
    out = capsys.readouterr().out
    assert "signature serving_default" in out
    assert "takes x: float32" in out
    assert "gives y" in out
    assert "rate" in out


def test_show_lists_checkpoints(capsys, tmp_path):
    prefix = tf.train.Checkpoint(rate=tf.Variable([1.0, 2.0])).save(str(tmp_path / "point"))
    for named in (prefix, f"{prefix}.index", str(tmp_path)):
        assert main(["show", named]) == 0
        assert "rate/.ATTRIBUTES/VARIABLE_VALUE: float32 [2]" in capsys.readouterr().out


def test_show_takes_the_file_of_a_saved_model_of_tensorflow(capsys, tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None], name="x")])
    tf.saved_model.save(
        module, str(tmp_path / "saved"), options=tf.saved_model.SaveOptions(format="tensorflow")
    )
    assert main(["show", str(tmp_path / "saved" / "saved_model.pb")]) == 0
    assert "takes x: float32 (None,)" in capsys.readouterr().out


def test_show_lists_what_was_written_for_tensorboard(capsys, tmp_path):
    for run in ("first", "second"):
        with tf.summary.create_file_writer(str(tmp_path / run)).as_default():
            for step in range(3):
                tf.summary.scalar("loss", 1.0 / (step + 1), step=step)
            tf.summary.histogram("weights", [1.0, 2.0], step=2)
            tf.summary.graph(tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec([])).graph)
    assert main(["show", str(tmp_path)]) == 0
    run = [
        "  loss: scalars, 3 at steps 0 to 2, 0.333333 at last",
        "  weights: histograms, 1 at step 2",
        "  1 graph",
    ]
    assert capsys.readouterr().out.splitlines() == ["run first", *run, "run second", *run]
    [file] = (tmp_path / "first").glob("*.tfevents.*")
    file.write_bytes(file.read_bytes()[:-3])  # as while it is written
    assert main(["show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"events of {file.name}\n  loss: scalars, 3")
    assert shown.endswith("ends within a record\n")


def test_show_lists_the_layers_and_weights_of_a_model_of_keras(capsys, tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2, name="last")], name="small")
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    weights = ["layers/dense/vars/0: float32 [3, 2]", "layers/dense/vars/1: float32 [2]"]
    assert main(["show", str(tmp_path / "model.keras")]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"model of Keras 3\.\d+\.\d+: Sequential small", first)
    assert rest[1:] == ["  Dense last", *weights]
    assert main(["show", str(tmp_path / "model.weights.h5")]) == 0
    assert capsys.readouterr().out.splitlines() == weights


@pytest.mark.parametrize("name", ["damaged.keras", "damaged.h5"])
def test_show_says_that_a_file_of_keras_is_damaged(name, capsys, tmp_path):
    (tmp_path / name).write_bytes(b"PK\x05\x06" + b"\0" * 30)
    assert main(["show", str(tmp_path / name)]) == 1
    assert "or is damaged" in capsys.readouterr().err


def test_what_cannot_be_shown_says_why(capsys, tmp_path):
    assert main(["show", str(tmp_path / "nothing")]) == 1
    assert "nothing" in capsys.readouterr().err
    (tmp_path / "damaged.onnx").write_bytes(b"\x00\xff")
    assert main(["show", str(tmp_path / "damaged.onnx")]) == 1
    assert "damaged.onnx" in capsys.readouterr().err
    (tmp_path / "damaged.index").write_bytes(b"x")
    assert main(["show", str(tmp_path / "damaged")]) == 1
    assert "damaged" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["show", str(tmp_path / "empty")]) == 1
    assert f"neither a SavedModel nor a checkpoint in {tmp_path / 'empty'}" in capsys.readouterr().err
    assert main(["show", "/dev/null"]) == 1
    assert "/dev/null is no SavedModel" in capsys.readouterr().err


@pytest.mark.parametrize(("suffix", "start"), [(".html", "<!DOCTYPE"), (".dot", "digraph"), (".txt", "func")])
def test_graph_draws_a_function_of_a_file(program, tmp_path, capsys, suffix, start):
    output = tmp_path / f"graph{suffix}"
    assert main(["graph", f"{program}:order", "float32[None]", "-o", str(output)]) == 0
    text = output.read_text(encoding="utf-8")
    assert text.startswith(start)
    assert "sort" in text
    assert capsys.readouterr().err == f"written to {output}\n"


def test_graph_takes_python_values_and_functions_that_are_not_traced(program, capsys):
    assert main(["graph", f"{program}:plain", "float32[2,3]", "3.5"]) == 0
    assert "mul" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["order"], "MODULE:FUNCTION"),
        (["no_such_module:f"], "no_such_module"),
        (["math:no_such_function"], "no_such_function"),
        (["math:pi"], "no function"),
        (["math:sqrt", "colour[2]"], "colour"),
        (["math:sqrt", "float32[2"], "is no type of a tensor"),
        (["math:sqrt", "float32"], "'float32[]' for a scalar"),
        (["math:sqrt", "float32[2]", "-o", "graph.png"], "graph.png"),
        (["math:sqrt", "float32[2]", "-o", "no_such_folder/graph.html"], "no_such_folder"),
    ],
)
def test_graphs_that_cannot_be_drawn_say_why(capsys, arguments, message):
    assert main(["graph", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_graph_draws_a_model_of_keras_for_the_inputs_that_it_was_made_for(capsys, tmp_path):
    program = tmp_path / "model.py"
    program.write_text(
        "import penstock as tf\n"
        "a, b = tf.keras.Input((4,), name='a'), tf.keras.Input((2,), name='b')\n"
        "model = tf.keras.Model({'a': a, 'b': b}, tf.keras.layers.Concatenate()([a, b]))\n"
        "small = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])\n"
        "empty = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n"
    )
    assert main(["graph", f"{program}:model"]) == 0
    assert re.search(r'%0 "a": f32\[s0,4\], %1 "b": f32\[s\d,2\]\)', capsys.readouterr().out)
    assert main(["graph", f"{program}:small"]) == 0
    assert ": f32[s0,4]" in capsys.readouterr().out
    assert main(["graph", f"{program}:empty"]) == 1
    assert "name its inputs behind it" in capsys.readouterr().err


def test_lines_of_the_interpreter_are_none_of_a_graph(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import penstock as tf\nclass M:\n    @tf.function\n    def __call__(self, x): return x\nm = M()\n"
    )
    command = [sys.executable, "-m", "penstock", "graph", f"{program}:m", "float32[2]"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "func @M" in run.stdout
    assert "frozen" not in run.stdout


def test_what_a_program_prints_is_not_part_of_the_graph(capsys, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint('printed', sys.argv[1:])\ndef f(x):\n    return x\n")
    assert main(["graph", f"{program}:f", "float32[2]"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("func @f")
    assert "printed []" in shown.err


def test_the_program_of_a_graph_finds_the_modules_beside_it(capsys, tmp_path):
    (tmp_path / "beside_the_program.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "program.py").write_text("from beside_the_program import f\n")
    assert main(["graph", f"{tmp_path / 'program.py'}:f", "float32[2]"]) == 0
    assert "func @f" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def (:", "SyntaxError"),
        ("x = 1\n{}['key']", "KeyError: 'key'"),
        ("import sys\nsys.exit(3)", "the program ended with status 3"),
    ],
)
@pytest.mark.parametrize("command", ["graph", "profile"])
def test_of_a_program_that_fails_its_own_lines_are_shown_alone(text, told, command, capsys, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(text)
    status = main([command, f"{program}:f" if command == "graph" else str(program)])
    shown = capsys.readouterr().err
    assert status == (3 if "exit" in text and command == "profile" else 1)
    assert (told in shown) == (command == "graph" or "exit" not in text)
    assert ("line 2" in shown) == ("key" in text)
    assert "_command_line.py" not in shown
    assert "runpy" not in shown


def test_the_message_that_a_program_leaves_with_is_shown(capsys, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys\nsys.exit('went wrong')\n")
    assert main(["profile", str(program)]) == 1
    assert "went wrong\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("-o", "none/profile.html", "there is no folder"),
        ("-o", "folder.html", "it is a folder"),
        ("-o", "profile.pdf", "the output must end in .html"),
        ("--logdir", "program.py", "it is no folder"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_before_the_program_runs(
    option, name, message, program, capsys, tmp_path
):
    (tmp_path / "folder.html").mkdir()
    assert main(["profile", option, str(tmp_path / name), str(program)]) == 1
    shown = capsys.readouterr()
    assert "arguments:" not in shown.out
    assert message in shown.err


def test_a_folder_without_a_program_is_named(capsys, tmp_path):
    assert main(["profile", str(tmp_path)]) == 1
    assert f"{tmp_path} is a folder without a __main__.py" in capsys.readouterr().err


def test_profile_writes_the_page_where_it_is_asked_to(program, capsys, tmp_path):
    page = tmp_path / "profile.html"
    main(["profile", "-o", str(page), str(program)])
    assert "<!DOCTYPE html>" in page.read_text(encoding="utf-8")
    assert f"written to {page}" in capsys.readouterr().err


def test_profile_runs_a_program_with_its_arguments(program, capsys, tmp_path):
    assert main(["profile", "--logdir", str(tmp_path / "logs"), str(program), "a", "--b"]) == 0
    shown = capsys.readouterr()
    assert "arguments: ['a', '--b']" in shown.out
    assert "sort" in shown.err
    assert list((tmp_path / "logs").glob("plugins/profile/*/profile.html"))


@pytest.mark.parametrize(("argument", "status"), [("fail", 1), ("leave", 7), ("interrupt", 130)])
def test_a_program_that_fails_leaves_its_profile_and_its_status(program, capsys, argument, status):
    assert main(["profile", str(program), argument]) == status
    shown = capsys.readouterr()
    assert "recorded" in shown.err
    assert ("KeyError: 'user'" in shown.err) == (argument == "fail")


def test_a_program_that_is_not_there_is_named(capsys):
    assert main(["profile", "no_such_program.py"]) == 1
    assert "no_such_program.py" in capsys.readouterr().err


def test_a_file_of_another_kind_is_named(capsys, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("")
    assert main(["show", str(program)]) == 1
    assert "program.py is no SavedModel" in capsys.readouterr().err


def test_a_function_that_is_not_there_is_named_beside_those_that_are(capsys, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import penstock as tf\n\n@tf.function\ndef f(x):\n    return x\n")
    assert main(["graph", f"{program}:g"]) == 1
    assert "there are the traced functions f" in capsys.readouterr().err
    assert main(["graph", f"{program}:f"]) == 1
    assert "name its inputs behind it" in capsys.readouterr().err


def test_without_a_command_the_commands_are_listed(capsys):
    assert main([]) == 2
    assert "doctor" in capsys.readouterr().err


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as leaving:
        main(["--version"])
    assert leaving.value.code == 0
    assert capsys.readouterr().out == f"penstock {tf.__version__}\n"


def test_the_module_is_a_command():
    found = subprocess.run(
        [sys.executable, "-m", "penstock", "--help"], capture_output=True, text=True, check=True, timeout=120
    )
    for command in ("info", "doctor", "api", "show", "graph", "profile"):
        assert command in found.stdout
    assert (
        subprocess.run([sys.executable, "-m", "penstock"], capture_output=True, check=False).returncode == 2
    )


DEBUGGED = """
import sys
import penstock as tf

@tf.function
def f(x, n):
    for i in tf.range(n):
        x = x * 2.0
    return x

print("result", float(f(tf.constant(1.0), tf.constant(3))))
tf.gather([1], int(sys.argv[1]))
"""


@pytest.mark.parametrize(("index", "status"), [("0", 0), ("5", 1)])
def test_debug_runs_a_program_and_stops_in_its_graphs(index, status, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(DEBUGGED)
    command = [sys.executable, "-m", "penstock", "debug", "-c", "break 8 if i > 1", "-c", "continue"]
    run = subprocess.run(
        [*command, str(program), index],
        input="p x\ncontinue\nwhere\nquit\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == status
    assert "-> x = x * 2.0" in run.stdout
    assert "numpy=4.0>" in run.stdout
    assert "result 8.0" in run.stdout
    assert ("is not in [0, 1)" in run.stderr) == (status == 1)
    # What came up is examined where the program was.
    assert ("-> tf.gather([1], int(sys.argv[1]))" in run.stdout) == (status == 1)


def test_debug_without_commands_says_that_there_is_no_terminal(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(DEBUGGED)
    run = subprocess.run(
        [sys.executable, "-m", "penstock", "debug", str(program), "0"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr == "python -m penstock debug: there is no terminal, and no commands are left\n"


@pytest.mark.parametrize("command", ["info", "doctor"])
def test_a_reader_that_has_had_enough_ends_a_command_without_a_traceback(command):
    command = [sys.executable, "-m", "penstock", command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 1
