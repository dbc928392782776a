"""What tells saved programs from others, and resources outside of programs."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as tf

experimental = tf.saved_model.experimental


def saved(path: Path, value: float) -> Path:
    module = tf.Module()
    module.v = tf.Variable(value)
    tf.saved_model.save(module, path)
    return path


def test_programs_have_fingerprints_of_their_files(tmp_path: Path) -> None:
    first = experimental.read_fingerprint(saved(tmp_path / "a", 1.0))
    other = experimental.read_fingerprint(saved(tmp_path / "b", 2.0))
    assert first == experimental.read_fingerprint(str(tmp_path / "a"))
    assert first != other
    assert len(first.singleprint().split("/")) == 4
    assert hash(first) == hash(experimental.read_fingerprint(tmp_path / "a"))


def test_fingerprints_of_tensorflow_are_read(tmp_path: Path) -> None:
    # Fields 1 to 5, the last one of 64 bits, and a version.
    message = bytes([8, 1, 16, 2, 24, 3, 32, 4, 40, *[0xFF] * 9, 1, 50, 2, 8, 7])
    (tmp_path / "fingerprint.pb").write_bytes(message)
    found = experimental.read_fingerprint(tmp_path)
    assert (found.saved_model_checksum, found.checkpoint_hash) == (1, 2**64 - 1)
    assert found.singleprint() == f"2/3/4/{2**64 - 1}"
    assert found.version.producer == 7
    assert "graph_def_program_hash=2" in str(found)
    (tmp_path / "fingerprint.pb").write_bytes(b"\x08")
    with pytest.raises(RuntimeError, match="damaged"):
        experimental.read_fingerprint(tmp_path)


def test_missing_fingerprints(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="export_dir"):
        experimental.read_fingerprint(tmp_path)
    with pytest.raises(ValueError, match="hash"):
        experimental.Fingerprint(1).singleprint()


def test_resources_are_made_filled_and_released() -> None:
    calls = []

    class Numbers(experimental.TrackableResource):
        def _create_resource(self) -> list[int]:
            calls.append("create")
            return []

        def _initialize(self) -> None:
            calls.append("fill")
            self.resource_handle.append(3)

        def _destroy_resource(self) -> None:
            calls.append("destroy")

    numbers = Numbers()
    assert numbers.resource_handle == [3]
    assert numbers.resource_handle is numbers.resource_handle
    del numbers
    assert calls == ["create", "fill", "destroy"]
    with pytest.raises(NotImplementedError):
        _ = experimental.TrackableResource().resource_handle


def test_policies_are_options_of_saving(tmp_path: Path) -> None:
    policy = experimental.VariablePolicy.SAVE_VARIABLE_DEVICES
    module = tf.Module()
    module.v = tf.Variable(1.0)
    tf.saved_model.save(
        module, tmp_path, options=tf.saved_model.SaveOptions(experimental_variable_policy=policy)
    )
    assert float(tf.saved_model.load(tmp_path).v) == 1.0
