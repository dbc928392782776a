"""Profiles of batches for TensorBoard."""

from penstock import profiler


def start_trace(logdir):
    profiler.experimental.start(logdir)


def stop_trace(save):
    profiler.experimental.stop(save=save)


def start_batch_trace(batch):
    trace = profiler.experimental.Trace("Profiled batch", step_num=batch)
    trace.__enter__()
    return trace


def stop_batch_trace(batch_trace_context):
    batch_trace_context.__exit__(None, None, None)
