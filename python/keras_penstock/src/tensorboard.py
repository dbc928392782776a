"""Traces of batches for TensorBoard, which the engine does not write."""

_MESSAGE = "`TensorBoard(profile_batch=...)` is not supported with the penstock backend: pass profile_batch=0"


def _refuse(*args, **kwargs):
    raise NotImplementedError(_MESSAGE)


start_trace = stop_trace = start_batch_trace = stop_batch_trace = _refuse
