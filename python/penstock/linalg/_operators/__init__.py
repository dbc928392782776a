"""Matrices by what they do: classes that multiply and solve without making the matrix."""
