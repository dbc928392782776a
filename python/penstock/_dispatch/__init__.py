"""What ragged and sparse tensors make of public functions: loaded at the first call that one takes over."""
