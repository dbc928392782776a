"""Names of XLA, for programs that have them: the engine compiles by itself."""

from penstock.xla import experimental as experimental
