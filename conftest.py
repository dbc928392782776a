"""What all tests and examples have in common."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _folder_of_its_own(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the examples of documentation, which write files, run in a folder of their own."""
    if isinstance(request.node, pytest.DoctestItem):
        folder: Path = request.getfixturevalue("tmp_path")
        monkeypatch.chdir(folder)
    if "enable_debug_mode" in request.node.name:
        # It holds for the process. Tests run examples too.
        from penstock.data._debug import Mode

        monkeypatch.setattr(Mode, "debug", False)
