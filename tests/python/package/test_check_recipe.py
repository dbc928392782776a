"""The recipe for an operator in CONTRIBUTING.md applies to the tree."""

from __future__ import annotations

import sys

import check_recipe


def test_the_recipe_for_an_operator_applies(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(check_recipe, "COPY", tmp_path / "copy")
    monkeypatch.setattr(sys, "argv", ["check_recipe.py", "--apply-only"])
    assert check_recipe.main() == 0, capsys.readouterr().out
    changed = tmp_path / "copy" / "crates" / "penstock-ops" / "src" / "unary.rs"
    assert '"logit"' in changed.read_text(encoding="utf-8")


def test_a_recipe_is_what_fenced_differences_say():
    text = "a\n```diff\n--- a/x\n+++ b/x\n```\nb\n```\nno\n```\n```diff\n@@\n```\n"
    assert check_recipe.recipe(text) == "--- a/x\n+++ b/x\n@@\n"
