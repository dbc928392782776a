"""The messages by which programs of TensorFlow 1 configure sessions and runs, which the engine ignores."""

from __future__ import annotations

from typing import ClassVar

from penstock._runtime.messages import Field, Message

__all__ = ["ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunMetadata", "RunOptions"]


class GPUOptions(Message):
    """How a session uses GPUs.

    >>> import penstock as tf
    >>> tf.compat.v1.GPUOptions(allow_growth=True).allow_growth
    True
    """

    FIELDS: ClassVar = {
        "per_process_gpu_memory_fraction": Field(1, "double"),
        "allocator_type": Field(2, "string"),
        "deferred_deletion_bytes": Field(3, "int64"),
        "allow_growth": Field(4, "bool"),
        "visible_device_list": Field(5, "string"),
        "polling_active_delay_usecs": Field(6, "int32"),
        "polling_inactive_delay_msecs": Field(7, "int32"),
        "force_gpu_compatible": Field(8, "bool"),
    }


class OptimizerOptions(Message):
    """How a session optimises graphs.

    >>> import penstock as tf
    >>> tf.compat.v1.OptimizerOptions(opt_level=tf.compat.v1.OptimizerOptions.L0).opt_level
    -1
    """

    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2

    FIELDS: ClassVar = {
        "do_common_subexpression_elimination": Field(1, "bool"),
        "do_constant_folding": Field(2, "bool"),
        "opt_level": Field(3, "enum"),
        "do_function_inlining": Field(4, "bool"),
        "global_jit_level": Field(5, "enum"),
        "max_folded_constant_in_bytes": Field(6, "int64"),
        "cpu_global_jit": Field(7, "bool"),
    }


class GraphOptions(Message):
    """How a session runs graphs.

    >>> import penstock as tf
    >>> tf.compat.v1.GraphOptions(infer_shapes=True).infer_shapes
    True
    """

    FIELDS: ClassVar = {
        "enable_recv_scheduling": Field(2, "bool"),
        "optimizer_options": Field(3, OptimizerOptions),
        "build_cost_model": Field(4, "int64"),
        "infer_shapes": Field(5, "bool"),
        "place_pruned_graph": Field(6, "bool"),
        "enable_bfloat16_sendrecv": Field(7, "bool"),
        "timeline_step": Field(8, "int32"),
        "build_cost_model_after": Field(9, "int64"),
    }


class ConfigProto(Message):
    """How a session runs.

    >>> import penstock as tf
    >>> config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    >>> config.gpu_options.allow_growth = True
    >>> tf.compat.v1.Session(graph=tf.Graph(), config=config).close()
    """

    FIELDS: ClassVar = {
        "intra_op_parallelism_threads": Field(2, "int32"),
        "placement_period": Field(3, "int32"),
        "device_filters": Field(4, "string", repeated=True),
        "inter_op_parallelism_threads": Field(5, "int32"),
        "gpu_options": Field(6, GPUOptions),
        "allow_soft_placement": Field(7, "bool"),
        "log_device_placement": Field(8, "bool"),
        "use_per_session_threads": Field(9, "bool"),
        "graph_options": Field(10, GraphOptions),
        "operation_timeout_in_ms": Field(11, "int64"),
        "isolate_session_state": Field(15, "bool"),
        "share_cluster_devices_in_session": Field(17, "bool"),
    }


class RunOptions(Message):
    """How `Session.run` runs.

    >>> import penstock as tf
    >>> tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE).trace_level
    3
    """

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3

    FIELDS: ClassVar = {
        "trace_level": Field(1, "enum"),
        "timeout_in_ms": Field(2, "int64"),
        "inter_op_thread_pool": Field(3, "int32"),
        "output_partition_graphs": Field(5, "bool"),
        "report_tensor_allocations_upon_oom": Field(7, "bool"),
    }


class RunMetadata(Message):
    """What `Session.run` tells of a run: nothing; profiles are `tf.profiler`'s.

    >>> import penstock as tf
    >>> tf.compat.v1.RunMetadata().SerializeToString()
    b''
    """

    FIELDS: ClassVar = {}
