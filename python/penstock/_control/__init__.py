"""Control flow on tensors."""
