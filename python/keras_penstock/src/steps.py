"""What `model.train_function` and its siblings are: a call makes steps, and their traces can be looked at."""

import penstock as tf


class StepFunction:
    """Steps on batches, by several traced functions: for batches, for rows of arrays, for many of these."""

    def __init__(self, name, run, functions):
        self.__name__ = name
        self._run = run
        # Those that `run_eagerly=True` leaves as they are have no traces.
        self._functions = [function for function in functions if hasattr(function, "explain_cache")]

    def __call__(self, batches):
        return self._run(batches)

    def explain_cache(self):
        """Tell which traces there are, and why each was made, as `tf.function` does.

        Returns:
            A `CacheExplanation` of all functions that make the steps.
        """
        from penstock._function.explain import explain_together  # most programs ask for none

        return explain_together(self.__name__, self._functions)

    def get_concrete_function(self):
        """Give the latest trace: that of the kind of batches that most calls had.

        Raises:
            ValueError: where no step has been traced.
        """
        traces = self._traces()
        if not traces:
            raise tf.errors.FailedPreconditionError(
                f"{self.__name__} has not been traced: train or evaluate the model first, without run_eagerly"
            )
        return traces[-1]

    def _traces(self):
        calls = {function: function.explain_cache().calls for function in self._functions}
        return [trace for function in sorted(calls, key=calls.get) for trace in function._traces()]

    def _repr_html_(self):
        return self.explain_cache()._repr_html_()
