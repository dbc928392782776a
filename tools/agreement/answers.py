"""What comes of a call, as data that can be kept, and where two answers differ."""

from __future__ import annotations

import base64
import enum
import re
from typing import Any

import numpy as np

__all__ = ["difference", "of_error", "of_results"]

# Elements of results that are kept: of a greater one, its shape and these.
KEPT = 4096
# Rows that are taken of a data set.
ROWS = 10
# TensorFlow has no kernel for a dtype, or none for the CPU.
ABSENT = (
    "not in the list of allowed",
    "Could not find device",
    "No OpKernel",
    "No registered",
    "No WhereOp",
    "data type is no",
    "not implemented",
    "not supported",
    "Unhandled input type",
    "Unsupported",
    "could not be found",
    "No unary variant",
)
BOUNDS = {"float16": 2e-2, "bfloat16": 1e-1, "float64": 1e-8, "complex128": 1e-8}


def of_error(error: BaseException) -> dict[str, Any]:
    """The answer of a call that raised."""
    names = [cls.__name__ for cls in type(error).__mro__]
    return {
        "error": names[: names.index("Exception")] if "Exception" in names else names,
        "says": str(error)[:300],
    }


def of_results(results: list[Any]) -> dict[str, Any]:
    """The answer of a call that gave results."""
    return {"results": [_plain(result) for result in results]}


def _plain(value: Any) -> Any:
    """A value as JSON's kinds."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return {"text": value.name}
    if isinstance(value, int | float | complex | str | np.bool_):
        return {"python": type(value).__name__, "value": repr(value)}
    if isinstance(value, bytes):
        return {"python": "bytes", "value": repr(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _array(np.asarray(value))
    kind = type(value).__name__
    if kind == "DType":
        return {"text": value.name}
    if kind == "TensorShape":
        return {"text": str(value)}
    if kind in ("RaggedTensor", "RaggedTensorValue"):
        return {"ragged": [_plain(value.flat_values), *map(_plain, value.nested_row_splits)]}
    if kind in ("SparseTensor", "SparseTensorValue"):
        return {"sparse": [_plain(value.indices), _plain(value.values), _plain(value.dense_shape)]}
    if kind == "IndexedSlices":
        return {"slices": [_plain(value.values), _plain(value.indices)]}
    if hasattr(value, "element_spec") and hasattr(value, "take"):
        return {"rows": [_plain(row) for row in value.take(ROWS)]}
    if isinstance(value, dict):
        return {"map": [[str(k), _plain(value[k])] for k in sorted(value, key=str)]}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if hasattr(value, "numpy"):
        return _plain(value.numpy())
    return {"object": kind}


def _array(value: np.ndarray) -> dict[str, Any]:
    kept = value.ravel()[:KEPT]
    if value.dtype.kind in "OSU":
        elements = [x.hex() if isinstance(x, bytes) else str(x) for x in kept.tolist()]
        return {"dtype": "string", "shape": list(value.shape), "strings": elements}
    data = base64.b64encode(np.ascontiguousarray(kept).tobytes()).decode()
    # What is lost of a longer one is not compared.
    return {"dtype": value.dtype.name, "shape": list(value.shape), "data": data}


def _elements(answer: dict[str, Any]) -> np.ndarray:
    if "strings" in answer:
        return np.array(answer["strings"], object)
    name = answer["dtype"]
    if name == "bfloat16":
        bits = np.frombuffer(base64.b64decode(answer["data"]), np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32)
    try:
        return np.frombuffer(base64.b64decode(answer["data"]), np.dtype(name))
    except TypeError:
        return np.frombuffer(base64.b64decode(answer["data"]), np.uint8)


def difference(ours: dict[str, Any], theirs: dict[str, Any], *, values: bool = True) -> str | None:
    """In what two answers differ, or None.

    Args:
        ours: What the package under test gave.
        theirs: What TensorFlow gave.
        values: Whether elements are compared too; else dtypes and shapes alone, as for random numbers.
    """
    if "abort" in theirs:
        return None
    if "error" in theirs and any(reason in theirs["says"] for reason in ABSENT) and "abort" not in ours:
        return None
    if "results" in ours and "results" in theirs:
        return _unlike(ours["results"], theirs["results"], values)
    if "error" in ours and "error" in theirs and theirs["error"][0] in ours["error"]:
        return None
    return f"{_told(ours)} | {_told(theirs)}"


def _told(answer: dict[str, Any]) -> str:
    if "error" in answer:
        return f"{answer['error'][0]}: {answer['says']:.150}".replace("\n", " ")
    return "a result" if "results" in answer else "the process ended"


def _normal(a: Any) -> Any:
    """A Python number in place of NumPy's scalar of its class, which `numpy()` gives."""
    if isinstance(a, dict) and isinstance(a.get("value"), str):
        inner = re.fullmatch(r"np\.\w+?_?\((.*)\)", a["value"])
        text = inner[1] if inner else a["value"].removeprefix("np.").removesuffix("_")
        kind = a["python"].rstrip("0123456789_")
        return text == "True" if kind == "bool" else {"python": kind, "value": text}
    return a


def _dense(slices: Any, like: Any) -> Any:
    """Rows of a gradient as the tensor that they stand for, of the shape of another answer."""
    if not (isinstance(slices, dict) and "slices" in slices and isinstance(like, dict) and "data" in like):
        return slices
    rows, at = slices["slices"]
    whole = np.zeros(like["shape"], _elements(rows).dtype)
    np.add.at(whole, _elements(at), _elements(rows).reshape(rows["shape"]))
    return {**rows, "shape": like["shape"], "data": base64.b64encode(whole.tobytes()).decode()}


def _unlike(a: Any, b: Any, values: bool) -> str | None:
    a, b = _normal(a), _normal(b)
    a, b = _dense(a, b), _dense(b, a)
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{len(a)} results, not {len(b)}"
        return next((found for x, y in zip(a, b, strict=True) if (found := _unlike(x, y, values))), None)
    if not isinstance(a, dict) or not isinstance(b, dict) or a.keys() != b.keys():
        return None if a == b else f"{_short(a)}, not {_short(b)}"
    if "dtype" in a:
        return _unlike_arrays(a, b, values)
    if "python" in a and a["python"] == b["python"] and a["python"] in ("float", "complex") and values:
        x, y = complex(a["value"]), complex(b["value"])
        return None if np.isclose(x, y, rtol=1e-5, equal_nan=True) else f"{a['value']}, not {b['value']}"
    if "python" in a and not values:
        return None if a["python"] == b["python"] else f"{_short(a)}, not {_short(b)}"
    if "object" in a:
        return None
    return next((found for k in a if (found := _unlike(a[k], b[k], values))), None)


def _short(x: Any) -> str:
    if isinstance(x, dict) and "dtype" in x:
        return f"{x['dtype']}{x['shape']}"
    return repr(x)[:80]


def _unlike_arrays(a: dict[str, Any], b: dict[str, Any], values: bool) -> str | None:
    if (a["dtype"], a["shape"]) != (b["dtype"], b["shape"]):
        return f"{_short(a)}, not {_short(b)}"
    if not values:
        return None
    x, y = _elements(a), _elements(b)
    bad = unequal(x, y, BOUNDS.get(a["dtype"], 1e-3))
    if not bad.any():
        return None
    at = int(np.flatnonzero(bad)[0])
    return f"at {at} of {a['dtype']}{a['shape']} {x[at]!r}, not {y[at]!r} ({int(bad.sum())} of {bad.size})"


def unequal(x: np.ndarray, y: np.ndarray, bound: float) -> np.ndarray:
    """Where arrays of one dtype and shape differ: in values, in what is NaN, in signs of zeros."""
    if x.dtype.kind in "biuO":
        return np.asarray(x != y)
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    x, y = x.astype(wide), y.astype(wide)
    signs = (x == 0) & (y == 0) & (np.signbit(x.real) != np.signbit(y.real))
    return np.asarray(~np.isclose(x, y, rtol=bound, atol=bound / 10, equal_nan=True) | signs)
