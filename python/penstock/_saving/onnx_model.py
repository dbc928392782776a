"""Models of ONNX as callables."""

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any

from penstock import _core
from penstock._saving.load import _restored_function, _Saved
from penstock._types.argument_names import expect
from penstock._values import variable as _variable
from penstock._values.module import Module
from penstock.errors import FailedPreconditionError


class Model(Module):
    """A model of ONNX, made by `penstock.onnx.load`.

    A call takes the inputs by name or by position, and gives the outputs by name. It can be traced and
    differentiated, but where the model needs values of inputs to be made, as axes that are inputs are: then
    it runs on values alone, and `function(values=...)` makes what can be traced.

    Attributes:
        inputs: a dict, the `TensorSpec` of each input.
        outputs: a dict, that of each output; `None` where the model does not say.
        weights: a dict, the variable of each weight, where they were asked for.
    """

    def __init__(self, path: str | os.PathLike[str] | bytes, variables: bool = False) -> None:
        super().__init__(name="onnx_model")
        expect(path, (str, os.PathLike, bytes), "path", "a path or bytes")
        make = _core._OnnxModel.from_bytes if isinstance(path, bytes) else _core._OnnxModel.load
        core: Any = make(path)  # type: ignore[arg-type]
        self._core, self._trains = core, variables
        self.inputs: dict[str, Any] = core.inputs
        self.outputs: dict[str, Any] = core.outputs
        self.weights: dict[str, Any] = {}
        self._cells: list[Any] = []
        self._general: Any = None
        try:
            self._general = self._concrete({}, {})
        except FailedPreconditionError:
            if variables:
                raise

    def function(
        self, values: Mapping[str, Any] | None = None, shapes: Mapping[str, Any] | None = None
    ) -> Any:
        """Make a function of the inputs.

        Args:
            values: inputs that always have these values, by name. What is passed for them later is not read.
            shapes: shapes of inputs that are narrower than what the model says, by name.

        Returns:
            A `ConcreteFunction` of the inputs by position; its results are a tuple in the order of `outputs`.

        Raises:
            FailedPreconditionError: where values or shapes of more inputs have to be known; it names them.

        Example:
            >>> import penstock as tf
            >>> data = bytes.fromhex(  # y = x + x
            ...     "080a3a370a0e0a01780a017812017922034164641201675a100a0178120b0a09"
            ...     "080112050a0312016e62100a0179120b0a09080112050a0312016e42040a001015"
            ... )
            >>> double = tf.onnx.load(data).function(shapes={"x": [2]})
            >>> double.structured_outputs
            (TensorSpec(shape=(2,), dtype=tf.float32, name=None),)
        """
        return self._concrete(dict(shapes or {}), dict(values or {}))

    def program(self) -> Any:
        """Give the model as a `Program`, whose function is `main`: it can be saved.

        Returns:
            The `Program`.

        Example:
            >>> import penstock as tf
            >>> data = bytes.fromhex(  # y = x + x
            ...     "080a3a370a0e0a01780a017812017922034164641201675a100a0178120b0a09"
            ...     "080112050a0312016e62100a0179120b0a09080112050a0312016e42040a001015"
            ... )
            >>> program = tf.onnx.load(data).program()
            >>> program.run("main", x=tf.constant([1.0]))["y"].numpy().tolist()
            [2.0]
        """
        return self._core.program(self._trains, {}, {})

    def _concrete(self, shapes: dict[str, Any], values: dict[str, Any]) -> Any:
        with _core._Outside():
            program = self._core.program(self._trains, shapes, values)
            if not self._cells:
                for name, dtype, shape, trainable, value in program._described():
                    cell = _variable.restored(name, dtype, shape, trainable, value)
                    self.weights[name] = cell
                    self._cells.append(cell)
            main = program.function("main")
            kind = inspect.Parameter.POSITIONAL_ONLY
            parameters = [inspect.Parameter(f"input_{i}", kind) for i in range(len(self.inputs))]
            function = _restored_function("onnx_model", inspect.Signature(parameters), None)
            saved = _Saved()
            saved.args, saved.kwargs = tuple(main.inputs.values()), {}
            saved.signature = saved.args, {}
            saved.result = tuple(_core._to_tensor(0) for _ in self.outputs)
            first = len(self.inputs)
            saved.trainable, saved.pinned = list(range(first, first + len(self._cells))), []
            function._restore(main, self._cells, saved)
            return function._traces()[0]

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = list(self.inputs)
        if len(args) > len(names):
            raise TypeError(f"the model takes {len(names)} inputs, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.inputs:
                raise TypeError(f"the model has no input {name!r}; it has {', '.join(names)}")
            if name in given:
                raise TypeError(f"input {name!r} is given twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"inputs are missing: {', '.join(missing)}")
        return [given[name] for name in names]

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Run the model; see the class."""
        values = self._arguments(args, kwargs)
        if self._general is None:
            results: Sequence[Any] = self._core.run(values)
        else:
            dtypes = [spec.dtype for spec in self.inputs.values()]
            tensors = [
                _core._to_tensor_hinted(v, dtype) if not isinstance(v, _core.Tensor) else v
                for v, dtype in zip(values, dtypes, strict=True)
            ]
            results = self._general(*tensors)
        return dict(zip(self.outputs, results, strict=True))


def load(path: str | os.PathLike[str] | bytes, variables: bool = False) -> Model:
    """Load a model of ONNX.

    The file is not trusted: it is checked as it is read, and data outside of it are read from its directory
    alone.

    Args:
        path: the path of the file, or its bytes. `str`, `os.PathLike` or `bytes`.
        variables: whether the weights of floating point become variables, which can be trained; else they are
            constants.

    Returns:
        A `Model`, which is called with the inputs.

    Raises:
        ValueError: for what is no model.
        UnimplementedError: where operators are not supported; it names all of them.

    Example:
        >>> import penstock as tf
        >>> data = bytes.fromhex(  # y = x + x
        ...     "080a3a370a0e0a01780a017812017922034164641201675a100a0178120b0a09"
        ...     "080112050a0312016e62100a0179120b0a09080112050a0312016e42040a001015"
        ... )
        >>> tf.onnx.load(data)(tf.constant([1.0, 2.0]))["y"].numpy().tolist()
        [2.0, 4.0]
    """
    return Model(path, variables)
