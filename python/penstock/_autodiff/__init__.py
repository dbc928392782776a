"""Gradients: tapes, symbolic gradients, gradients that users define."""
