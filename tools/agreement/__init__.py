"""Comparison with TensorFlow, call by call: `PYTHONPATH=python:tools python -m agreement`.

Calls are lines of source (`table.toml`, and the examples of docstrings), with tensors that are marked, so
that `variants` makes of each one others with edge cases. `calls` runs them on a package, in one of several
ways; `answers` writes down what came of them and says where two answers differ. What is meant to differ is in
`differences.toml` with the reason.
"""
