"""Objects that hold tensors: variables, modules, ragged tensors, tensor arrays, extension types."""
