"""Saved programs and checkpoints: what objects own, written to files and read again."""
