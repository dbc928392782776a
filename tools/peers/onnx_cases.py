"""Write the cases of ONNX's backend tests as files: `onnx_cases.py DIRECTORY`.

The package `onnx` has to be installed. Each case is a directory with `model.onnx` and, for each data set,
`test_data_set_N/input_I.pb` and `output_I.pb`. The package makes the data of its node cases when it is
imported; the files are not kept with the project.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper  # type: ignore[import-not-found]
from onnx.backend.test.case import model, node  # type: ignore[import-not-found]

_KINDS = {
    "map_type": numpy_helper.from_dict,
    "sequence_type": numpy_helper.from_list,
    "optional_type": numpy_helper.from_optional,
}


def _message(value: Any, info: Any) -> Any:
    if isinstance(value, TensorProto):
        return value
    for kind, convert in _KINDS.items():
        if info.type.HasField(kind):
            return convert(value, info.name)
    return numpy_helper.from_array(np.asarray(value), info.name)


def _write(path: Path, values: Any, infos: Any) -> None:
    for i, (value, info) in enumerate(zip(values, infos, strict=False)):
        (path.parent / f"{path.name}_{i}.pb").write_bytes(_message(value, info).SerializeToString())


def main(directory: str) -> None:
    """Write the cases."""
    np.random.seed(0)  # noqa: NPY002  The cases draw from it.
    cases = [
        case for case in [*node.collect_testcases(), *model.collect_testcases()] if case.model is not None
    ]
    for case in cases:
        if case.model.ByteSize() == 0 or case.data_sets is None:
            continue
        home = Path(directory) / case.name
        home.mkdir(parents=True, exist_ok=True)
        (home / "model.onnx").write_bytes(case.model.SerializeToString())
        (home / "tolerance").write_text(f"{case.rtol} {case.atol}")
        for i, (inputs, outputs) in enumerate(case.data_sets):
            data = home / f"test_data_set_{i}"
            data.mkdir(exist_ok=True)
            _write(data / "input", inputs, case.model.graph.input)
            _write(data / "output", outputs, case.model.graph.output)
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main(sys.argv[1])
