"""Operations on tensors, by area: the work behind the public modules."""
