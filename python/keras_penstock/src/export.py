"""`model.export` and `keras.export.ExportArchive`: endpoints by `tf.saved_model`, and models of ONNX."""

from keras.src import backend, layers, tree
from keras.src.export.export_utils import get_input_signature, make_tf_tensor_spec

import penstock as tf

# What models of ONNX are written for.
_OPERATOR_SET = 21


def _variables_of(values):
    """The variables of the engine behind variables of Keras."""
    return [value.handle if isinstance(value, backend.Variable) else value for value in values]


class SavedModelExportArchive:
    """Collects functions to serve and what they own, and writes them to a directory."""

    def __init__(self):
        self._module = tf.Module()
        self._module.variables_of_endpoints = []
        self._module.resources = []
        self._endpoints = {}
        self._tracked = []
        self.tensorflow_version = tf.__version__

    @property
    def variables(self):
        return _unique(v for layer in self._tracked for v in _variables_of(layer.variables))

    @property
    def trainable_variables(self):
        return _unique(v for layer in self._tracked for v in _variables_of(layer.trainable_variables))

    @property
    def non_trainable_variables(self):
        return _unique(v for layer in self._tracked for v in _variables_of(layer.non_trainable_variables))

    def track(self, resource):
        """Keep the variables of a layer that is built, or an object of the engine that has state."""
        if isinstance(resource, (tf.Module, tf.Variable, tf.lookup.StaticHashTable)):
            self._module.resources.append(resource)
            return
        if not isinstance(resource, layers.Layer):
            raise ValueError(
                "Invalid resource type. Expected a Keras `Layer` or `Model`, a `tf.Module` or a table. "
                f"Received object {resource} of type '{type(resource)}'. "
            )
        if not resource.built:
            raise ValueError("The layer provided has not yet been built. It must be built before export.")
        self._tracked.append(resource)

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        """Add a function under a name; one without `input_signature` is a `tf.function` that was called."""
        if name in self._endpoints:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        if kwargs:
            raise ValueError(f"{sorted(kwargs)} are only supported with the jax backend.")
        if input_signature is not None:
            specs = tree.map_structure(make_tf_tensor_spec, input_signature)
            fn = tf.function(fn, input_signature=specs, autograph=False)
        elif not isinstance(fn, tf.types.experimental.PolymorphicFunction):
            raise ValueError(
                "If the `fn` argument provided is not a `tf.function`, you must provide an `input_signature` "
                "argument to specify the shape and dtype of the function arguments."
            )
        elif not fn.experimental_get_tracing_count():
            raise ValueError(
                f"The provided tf.function '{fn}' has never been called. To specify the shape and dtype "
                "of its arguments, you must either provide a function that has been called at least once, "
                "or pass an `input_signature` argument in `add_endpoint()`."
            )
        self._endpoints[name] = fn
        setattr(self._module, name, fn)
        return fn

    def track_and_add_endpoint(self, name, resource, input_signature, **kwargs):
        self.track(resource)
        return self.add_endpoint(name, resource.__call__, input_signature, **kwargs)

    def add_variable_collection(self, name, variables):
        """Keep variables as a list under a name."""
        if not isinstance(variables, (list, tuple, set)):
            raise ValueError(
                "Expected `variables` to be a list/tuple/set. "
                f"Received instead object of type '{type(variables)}'."
            )
        if not all(isinstance(v, (tf.Variable, backend.Variable)) for v in variables):
            raise ValueError(
                "Expected all elements in `variables` to be `tf.Variable` instances. "
                f"Found instead the following types: {sorted({type(v).__name__ for v in variables})}"
            )
        setattr(self._module, name, _variables_of(variables))

    def write_out(self, filepath, options=None, verbose=True):
        """Write everything; the first endpoint is `serving_default` too, unless one has that name."""
        from keras.src.utils import io_utils

        if not self._endpoints:
            raise ValueError("No endpoints have been set yet. Call add_endpoint().")
        signatures = {}
        for name, fn in self._endpoints.items():
            signatures[name] = fn if fn.input_signature is not None else _only_trace(name, fn)
        signatures.setdefault("serving_default", next(iter(signatures.values())))
        self._module.variables_of_endpoints = self.variables
        tf.saved_model.save(self._module, filepath, signatures=signatures, options=options)
        if verbose:
            shown = "\n\n".join(
                f"* Endpoint '{name}'\n{_trace_of(fn).pretty_printed_signature()}"
                for name, fn in self._endpoints.items()
            )
            io_utils.print_msg(
                f"Saved artifact at '{filepath}'. The following endpoints are available:\n\n{shown}"
            )


def export_onnx(model, filepath, verbose=None, input_signature=None, opset_version=None, **kwargs):
    """Write what a model predicts as a model of ONNX; each tensor of its inputs is an input by its name."""
    from keras.src.utils import io_utils

    if kwargs:
        raise ValueError(
            f"{sorted(kwargs)} are not arguments of the export to ONNX with the penstock backend."
        )
    if opset_version not in (None, _OPERATOR_SET):
        raise ValueError(
            f"Argument `opset_version` must be {_OPERATOR_SET} with the penstock backend. "
            f"Received: {opset_version}"
        )
    signature = get_input_signature(model) if input_signature is None else input_signature
    structure = tree.map_structure(make_tf_tensor_spec, signature)
    specs = [
        tf.TensorSpec(spec.shape, spec.dtype, spec.name or f"input_{i}")
        for i, spec in enumerate(tree.flatten(structure))
    ]

    def predict(*inputs):
        return tuple(tree.flatten(model(*tree.pack_sequence_as(structure, list(inputs)))))

    tf.onnx.save(tf.function(predict, input_signature=specs, autograph=False), filepath)
    if verbose is None or verbose:
        io_utils.print_msg(f"Saved model of ONNX at '{filepath}'.")


def _unique(variables):
    return list({id(variable): variable for variable in variables}.values())


def _trace_of(fn):
    if fn.input_signature is not None:
        return fn.get_concrete_function()
    return fn._traces()[0]


def _only_trace(name, fn):
    """The trace of a function that was called; which of several is meant is for a signature to say."""
    traces = fn._traces()
    if len(traces) > 1:
        raise ValueError(
            f"Endpoint '{name}' is a tf.function with {len(traces)} traces: "
            "pass an `input_signature` in add_endpoint()."
        )
    return traces[0]
