"""Fitted models in one file: arrays as safetensors, everything else as JSON in its header; nothing is ever unpickled."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import vennmf.model as model_room
from vennmf.errors import StorageError, WriteError

FORMAT = 1
CLASSES: dict[str, str] = {
    **dict.fromkeys(("NMF", "JSNMF", "RJSNMF", "VennNMF"), "vennmf.estimators.joint"),
    "PJMF": "vennmf.estimators.pjmf",
    "MCL": "vennmf.estimators.mcl",
    "N2S2L": "vennmf.estimators.n2s2l",
}
"""The classes that a file may hold, and where each lives. A new estimator is added here."""

STATEFUL: dict[str, str] = {"Encoder": "vennmf.matrices.encoder"}
"""Other classes with ``state() -> (json, arrays)`` and ``from_state``, such as encoders, and where each lives."""

PLAIN = {
    name: getattr(model_room, name)
    for name in model_room.__all__
    if dataclasses.is_dataclass(getattr(model_room, name))
}
"""Frozen dataclasses of the model room, written field by field."""


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file: to a temporary name beside it first, then renamed."""
    from safetensors.numpy import save as to_bytes

    import vennmf

    arrays: dict[str, np.ndarray[Any, Any]] = {}
    fitted = {
        name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("__")
    }
    fitted |= {name: value for name, value in vars(estimator).items() if name in ("_n_features_out",)}
    manifest = {
        "format": FORMAT,
        "vennmf": vennmf.__version__,
        "class": type(estimator).__name__,
        "parameters": _written(estimator.get_params(deep=False), arrays),
        "fitted": _written(fitted, arrays),
    }
    manifest["sha256"] = {name: _digest(array) for name, array in arrays.items()}
    text = json.dumps(manifest, ensure_ascii=False, allow_nan=True)
    header = {"manifest": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    write_atomically(Path(path), to_bytes(arrays or {"empty": np.zeros(1)}, metadata=header))


def write_atomically(path: Path, content: bytes) -> None:
    """All of the file or none of it: a temporary name, fsync, rename, fsync of the folder."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise WriteError(
            f"cannot write {path}: {error.strerror}; choose a folder that exists and can be written."
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``save`` wrote; refuse what is damaged or foreign."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise StorageError(f"there is no model at {path}; expected a file that model.save(path) wrote.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise StorageError(f"{path} is no vennmf model or is damaged ({error}); save the model again.") from None
    text = header.get("manifest")
    if text is None:
        raise StorageError(
            f"{path} is a safetensors file without a vennmf manifest; it was not written by model.save()."
        )
    if hashlib.sha256(text.encode()).hexdigest() != header.get("sha256"):
        raise StorageError(f"{path} is damaged: its manifest does not match its checksum. Save the model again.")
    manifest = json.loads(text)
    if manifest["format"] > FORMAT:
        raise StorageError(
            f"{path} was written by vennmf {manifest['vennmf']} in format {manifest['format']}; this version reads up to "
            f"{FORMAT}. Upgrade vennmf."
        )
    for name, digest in manifest["sha256"].items():
        if name not in arrays or _digest(arrays[name]) != digest:
            raise StorageError(f"{path} is damaged: array {name!r} does not match its checksum. Save the model again.")
    name = manifest["class"]
    if name not in CLASSES:
        raise StorageError(f"{path} holds a {name!r}, which this version of vennmf does not know; upgrade vennmf.")
    try:
        estimator = getattr(importlib.import_module(CLASSES[name]), name)(**_read(manifest["parameters"], arrays))
        fitted = _read(manifest["fitted"], arrays)
        for key, value in fitted.items():
            setattr(estimator, key, value)
    except (KeyError, TypeError, AttributeError) as error:
        raise StorageError(
            f"{path} was written by vennmf {manifest['vennmf']}, whose {name} this version cannot read ({error!r}); fit and "
            "save the model again."
        ) from None
    return estimator


def _digest(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


# Values as JSON: what JSON has stands for itself, everything else is {"": kind, ...}.


def _written(value: Any, arrays: dict[str, Any]) -> Any:
    """A value as JSON, its arrays put aside under new names."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return [_written(v, arrays) for v in value]
    if isinstance(value, tuple):
        return {"": "tuple", "items": [_written(v, arrays) for v in value]}
    if isinstance(value, dict):
        return {"": "dict", "items": [[_written(k, arrays), _written(v, arrays)] for k, v in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        return {"": "text", "shape": list(value.shape), "items": [_written(v, arrays) for v in value.ravel().tolist()]}
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = np.ascontiguousarray(value).reshape(value.shape)
        return {"": "array", "name": name}
    if sp.issparse(value):
        value = sp.csr_array(value)
        parts = [_written(getattr(value, part), arrays) for part in ("data", "indices", "indptr")]
        return {"": "csr", "parts": parts, "shape": list(value.shape)}
    kind = type(value).__name__
    if kind == "DataFrame":
        columns = {str(name): value[name].tolist() for name in value.columns}
        written = _written(json.loads(json.dumps(columns, default=str)), arrays)
        dtypes = {str(name): str(value[name].dtype) for name in value.columns}
        return {"": "table", "rows": len(value), "columns": written, "dtypes": dtypes}
    if kind in PLAIN:
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        init = {f.name for f in dataclasses.fields(value) if f.init}
        return {"": "plain", "class": kind, "fields": _written({k: v for k, v in fields.items() if k in init}, arrays)}
    if kind in STATEFUL:
        state, parts = value.state()
        return {"": "stateful", "class": kind, "state": state, "arrays": _written(dict(parts), arrays)}
    raise StorageError(
        f"a {type(value).__name__} cannot be saved with a model; keep it out of the parameters or pass plain values."
    )


def _read(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_read(v, arrays) for v in value]
    if not isinstance(value, dict):
        return value
    match value.get(""):
        case "tuple":
            return tuple(_read(v, arrays) for v in value["items"])
        case "dict":
            return {_read(k, arrays): _read(v, arrays) for k, v in value["items"]}
        case "text":
            out = np.empty(len(value["items"]), dtype=object)
            out[:] = [_read(v, arrays) for v in value["items"]]
            return out.reshape(value["shape"])
        case "array":
            return arrays[value["name"]]
        case "csr":
            return sp.csr_array(tuple(_read(part, arrays) for part in value["parts"]), shape=tuple(value["shape"]))
        case "table":
            return _table(_read(value["columns"], arrays), value["rows"], value.get("dtypes", {}))
        case "plain" if value["class"] in PLAIN:
            return PLAIN[value["class"]](**_read(value["fields"], arrays))
        case "stateful" if value["class"] in STATEFUL:
            kind = getattr(importlib.import_module(STATEFUL[value["class"]]), value["class"])
            return kind.from_state(value["state"], _read(value["arrays"], arrays))
    raise StorageError(
        f"the file holds a {value.get('')!r} {value.get('class', '')!r} that this version does not know; upgrade vennmf."
    )


def _table(columns: dict[str, Any], n_rows: int, dtypes: dict[str, str]) -> Any:
    """A table with the numbers and, where this pandas has them, the strings of the one that was written."""
    import pandas as pd

    table = pd.DataFrame(columns, index=range(n_rows), dtype=object)
    has_strings = pd.api.types.pandas_dtype("str") != np.dtype("str")
    for name, dtype in dtypes.items():
        if dtype in ("int64", "float64", "bool") or (dtype == "str" and has_strings):
            table[name] = table[name].astype(pd.api.types.pandas_dtype(dtype))
    return table
