"""Traces of batches for TensorBoard, which the engine does not write."""

_MESSAGE = "`TensorBoard(profile_batch=...)` is not supported with the penstock backend: pass profile_batch=0"


def start_trace(logdir):
    raise NotImplementedError(_MESSAGE)


def stop_trace(save):
    raise NotImplementedError(_MESSAGE)


def start_batch_trace(batch):
    raise NotImplementedError(_MESSAGE)


def stop_batch_trace(batch_trace_context):
    raise NotImplementedError(_MESSAGE)
