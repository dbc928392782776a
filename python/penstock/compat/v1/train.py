"""`tf.train` of TensorFlow 1: optimisers, step counters, learning rates, savers; the rest is version 2's."""

from __future__ import annotations

from penstock.compat.v1._checkpoint_files import (
    NewCheckpointReader as NewCheckpointReader,
    checkpoint_exists as checkpoint_exists,
    export_meta_graph as export_meta_graph,
    generate_checkpoint_state_proto as generate_checkpoint_state_proto,
    get_checkpoint_mtimes as get_checkpoint_mtimes,
    import_meta_graph as import_meta_graph,
    init_from_checkpoint as init_from_checkpoint,
    remove_checkpoint as remove_checkpoint,
    update_checkpoint_state as update_checkpoint_state,
)
from penstock.compat.v1._cosine_decays import (
    cosine_decay_restarts as cosine_decay_restarts,
    linear_cosine_decay as linear_cosine_decay,
    noisy_linear_cosine_decay as noisy_linear_cosine_decay,
)
from penstock.compat.v1._monitored import (
    ChiefSessionCreator as ChiefSessionCreator,
    MonitoredSession as MonitoredSession,
    MonitoredTrainingSession as MonitoredTrainingSession,
    Scaffold as Scaffold,
    SessionCreator as SessionCreator,
    SingularMonitoredSession as SingularMonitoredSession,
)
from penstock.compat.v1._optimizer import Optimizer as Optimizer
from penstock.compat.v1._optimizers import (
    AdadeltaOptimizer as AdadeltaOptimizer,
    AdagradDAOptimizer as AdagradDAOptimizer,
    AdagradOptimizer as AdagradOptimizer,
    AdamOptimizer as AdamOptimizer,
    FtrlOptimizer as FtrlOptimizer,
    GradientDescentOptimizer as GradientDescentOptimizer,
    MomentumOptimizer as MomentumOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
    RMSPropOptimizer as RMSPropOptimizer,
)
from penstock.compat.v1._session_hooks import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    GlobalStepWaiterHook as GlobalStepWaiterHook,
    LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
    SecondOrStepTimer as SecondOrStepTimer,
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
    StepCounterHook as StepCounterHook,
    StopAtStepHook as StopAtStepHook,
    SummarySaverHook as SummarySaverHook,
)
from penstock.compat.v1._summary_values import summary_iterator as summary_iterator
from penstock.compat.v1._training import (
    Saver as Saver,
    assert_global_step as assert_global_step,
    cosine_decay as cosine_decay,
    create_global_step as create_global_step,
    exponential_decay as exponential_decay,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
    inverse_time_decay as inverse_time_decay,
    natural_exp_decay as natural_exp_decay,
    piecewise_constant as piecewise_constant,
    polynomial_decay as polynomial_decay,
)
from penstock.compat.v1._warm_start import VocabInfo as VocabInfo, warm_start as warm_start

piecewise_constant_decay = piecewise_constant

__all__ = ["piecewise_constant_decay"]


_QUEUES = "runs queues by threads, which tf.data replaces: tf.data.Dataset with {}"
_SERVERS = "is for servers of parameters in version 1: see tf.distribute"
# Names that are not here, and why, or what does the same.
_ABSENT = {
    **dict.fromkeys(("batch", "maybe_batch"), _QUEUES.format("batch")),
    **dict.fromkeys(("batch_join", "maybe_batch_join"), _QUEUES.format("interleave and batch")),
    **dict.fromkeys(("shuffle_batch", "maybe_shuffle_batch"), _QUEUES.format("shuffle and batch")),
    **dict.fromkeys(
        ("shuffle_batch_join", "maybe_shuffle_batch_join"), _QUEUES.format("interleave, shuffle and batch")
    ),
    "input_producer": _QUEUES.format("from_tensor_slices, shuffle and repeat"),
    "string_input_producer": _QUEUES.format("from_tensor_slices, shuffle and repeat"),
    "slice_input_producer": _QUEUES.format("from_tensor_slices, shuffle and repeat"),
    "range_input_producer": _QUEUES.format("range, shuffle and repeat"),
    "limit_epochs": _QUEUES.format("repeat"),
    "match_filenames_once": _QUEUES.format("list_files"),
    **dict.fromkeys(
        ("QueueRunner", "add_queue_runner", "start_queue_runners", "queue_runner"),
        "runs queues by threads: use tf.data.Dataset, or threads of a tf.train.Coordinator with a tf.queue",
    ),
    **dict.fromkeys(
        ("Supervisor", "SessionManager", "basic_train_loop"), "is replaced by MonitoredTrainingSession"
    ),
    "WorkerSessionCreator": _SERVERS,
    "SyncReplicasOptimizer": _SERVERS,
    "replica_device_setter": _SERVERS,
    "ProfilerHook": "writes a form that TensorBoard reads no more: use tf.profiler",
    **dict.fromkeys(("sdca_optimizer", "sdca_fprint", "sdca_shrink_l1"), "is of estimators, which are gone"),
}


def __getattr__(name: str) -> object:
    import penstock.train  # which is above this in the package

    if name == "write_graph":
        return penstock.io.write_graph
    if name in _ABSENT:
        raise AttributeError(f"tf.compat.v1.train.{name} is not there: it {_ABSENT[name]}")
    return getattr(penstock.train, name)
