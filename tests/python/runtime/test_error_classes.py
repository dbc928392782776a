"""Each class of error that the package raises comes where `docs/errors.md` says."""

import inspect
from pathlib import Path

import pytest

import penstock as tf

CLASSES = sorted(
    name for name in tf.errors.__all__ if isinstance(getattr(tf.errors, name), type) and name != "OpError"
)
RAISES_NONE = "The package raises none"


def already_there(folder):
    with tf.profiler.record(), tf.profiler.record():
        pass


def branch_without_value(folder):
    @tf.function
    def f(x):
        if x > 0:
            y = x
        return y

    f(tf.constant(1))


def coroutine(folder):
    async def f(x):
        return x

    tf.function(f)(tf.constant(1))


def tensor_of_another_function(folder):
    kept = []
    tf.function(lambda x: kept.append(x))(tf.constant(1))
    return kept[0] + 1


def truth_of_a_symbolic_tensor(folder):
    tf.function(lambda x: 1 if x > 0 else 2, autograph=False)(tf.constant(1))


def argument_of_another_shape(folder):
    tf.function(lambda x: x, input_signature=[tf.TensorSpec([2])])(tf.zeros([3]))


def damaged_records(folder):
    file = folder / "records"
    file.write_text("no records")
    return list(tf.data.TFRecordDataset([str(file)]))


def file_for_a_directory(folder):
    file = folder / "file"
    file.write_text("")
    tf.io.gfile.listdir(str(file))


def iterator_at_its_end(folder):
    return iter(tf.data.Dataset.range(0)).get_next()


def file_that_may_not_be_read(folder):
    def refuse(*args):
        raise PermissionError("no")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "iterdir", refuse)
        patch.setattr("os.listdir", refuse)
        tf.io.gfile.listdir(str(folder))


def address_of_another_machine(folder):
    tf.distribute.ProcessGroup(["192.0.2.1:1"], rank=0)


def derivative_of_a_maximum_of_processes(folder):
    group, x = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0), tf.Variable(1.0)
    try:
        with tf.GradientTape() as tape:
            y = group.all_reduce(x, "max")
        tape.gradient(y, x)
    finally:
        group.leave()


def query_that_a_database_refuses(folder):
    list(tf.data.experimental.SqlDataset("sqlite", str(folder / "base"), "no query", (tf.int32,)))


CAUSES = {
    "AlreadyExistsError": already_there,
    "ConversionError": coroutine,
    "DTypeError": lambda folder: tf.constant(1) + tf.constant(1.0),
    "DataLossError": damaged_records,
    "FailedPreconditionError": file_for_a_directory,
    "InaccessibleTensorError": tensor_of_another_function,
    "IndexOutOfBoundsError": lambda folder: tf.constant([1, 2])[5],
    "InvalidArgumentError": lambda folder: tf.reshape([1, 2, 3], [2, 2]),
    "NotFoundError": lambda folder: tf.io.read_file(str(folder / "none")),
    "OperatorNotAllowedInGraphError": truth_of_a_symbolic_tensor,
    "OutOfRangeError": iterator_at_its_end,
    "PermissionDeniedError": file_that_may_not_be_read,
    "ResourceExhaustedError": lambda folder: tf.zeros([10**7, 10**7]),
    "SignatureError": argument_of_another_shape,
    "UnavailableError": address_of_another_machine,
    "UnimplementedError": derivative_of_a_maximum_of_processes,
    "UnknownError": query_that_a_database_refuses,
    "UnsetError": branch_without_value,
}
# A defect of the engine has no cause that a test could have.
WITHOUT_CAUSE = {"InternalError"}


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_a_class_of_errors_comes_where_its_text_says(name, tmp_path):
    with pytest.raises(getattr(tf.errors, name)) as caught:
        CAUSES[name](tmp_path)
    assert type(caught.value) is getattr(tf.errors, name)


def test_every_class_has_a_cause_or_says_that_the_package_raises_none():
    none = {name for name in CLASSES if RAISES_NONE in inspect.getdoc(getattr(tf.errors, name))}
    assert none | set(CAUSES) | WITHOUT_CAUSE == set(CLASSES)
    assert not none & set(CAUSES)


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_says_when_it_comes_and_what_to_do(name):
    summary, todo, *_ = inspect.getdoc(getattr(tf.errors, name)).split("\n\n")
    assert summary.endswith(".")
    assert todo.endswith(".")
    assert ">>>" not in todo
