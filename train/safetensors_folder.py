"""The tensors of a folder of safetensors files, as float32: one file, or shards with an index; and one such file to write.

Every tensor is read exactly once: one that two files hold, or that the index puts elsewhere, is refused. Widening bfloat16 and
float16 to float32 loses nothing; float64 and integers (quantised weights) are refused.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.json_text import parse_json

INDEX_NAME = "model.safetensors.index.json"


def read_tensors(folder: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the tensors by name, float32, and by name the dtype in which they are stored (``BF16``, ``F16``, ``F32``).

    Raises:
      ArtefactError: no file, a file that is missing or damaged, a tensor that two files hold or that the index misplaces,
        or a dtype that is not a floating-point number of at most 32 bits.
    """
    names = [name for name in storage.list_files(folder) if name.endswith(".safetensors")]
    index = storage.join(folder, INDEX_NAME)
    placed: dict[str, str] | None = None
    if storage.exists(index):
        placed = _read_index(index)
        missing = sorted(set(placed.values()) - set(names))
        if missing:
            raise ArtefactError("a file that the index names is missing", file=index, value=missing[0])
        names = sorted(set(placed.values()))
    if not names:
        raise ArtefactError("no safetensors file", file=folder)
    tensors: dict[str, np.ndarray] = {}
    dtypes: dict[str, str] = {}
    origin: dict[str, str] = {}
    for file in names:
        for name, dtype, array in _tensors_of(storage.join(folder, file)):
            if name in origin:
                raise ArtefactError(
                    f"two files hold the same tensor: {origin[name]} and {file}", file=folder, field=name
                )
            if placed is not None and placed.get(name) != file:
                raise ArtefactError(
                    f"the index puts this tensor in {placed.get(name, 'no file')}, it lies in {file}",
                    file=index,
                    field=name,
                )
            tensors[name], dtypes[name], origin[name] = array, dtype, file
    for name in placed or ():
        if name not in tensors:
            raise ArtefactError("a tensor that the index names is in no file", file=index, field=name)
    return tensors, dtypes


def write_tensors(url: str, tensors: dict[str, np.ndarray], as_bfloat16: bool = False) -> None:
    """Write float32 tensors to one safetensors file, in the order of their names; equal tensors give equal bytes.

    The format: length of the header (8 bytes, little-endian), the header as JSON, filled up with spaces to a multiple of 8, the
    bytes of the tensors one after another.

    Args:
      url: of the file.
      tensors: by name, float32.
      as_bfloat16: half the size; the values must be bfloat16 numbers.

    Raises:
      ValueError: a value is not a bfloat16 number.
    """
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, array in sorted(tensors.items()):
        size = array.size * (2 if as_bfloat16 else 4)
        kind = "BF16" if as_bfloat16 else "F32"
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with storage.atomic_write(url) as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for _, array in sorted(tensors.items()):
            stored = bfloat16_bits(array) if as_bfloat16 else np.ascontiguousarray(array, "<f4")
            stream.write(stored.tobytes())


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """Return the bits of float32 values that bfloat16 can hold exactly, uint16.

    Raises:
      ValueError: a value needs more than bfloat16 has.
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    if np.any(bits & 0xFFFF):
        raise ValueError("a weight is not a bfloat16 number")
    return (bits >> 16).astype("<u2")


def _tensors_of(url: str) -> list[tuple[str, str, np.ndarray]]:
    import safetensors

    try:
        entries: list[tuple[str, dict[str, Any]]] = safetensors.deserialize(storage.read_bytes(url))
    except safetensors.SafetensorError as error:
        raise ArtefactError(f"not a safetensors file: {error}", file=url) from None
    found = []
    for name, entry in entries:
        dtype, shape, content = entry["dtype"], entry["shape"], entry["data"]
        if dtype == "BF16":
            array = (np.frombuffer(content, "<u2").astype(np.uint32) << 16).view(np.float32)
        elif dtype in ("F32", "F16"):
            array = np.frombuffer(content, "<f4" if dtype == "F32" else "<f2").astype(np.float32)
        else:
            raise ArtefactError(
                "weights must be float32, bfloat16 or float16",
                file=url,
                field=name,
                value=dtype,
                remedy="Quantised weights have to be written out first",
            )
        found.append((name, dtype, array.reshape(shape)))
    return found


def _read_index(url: str) -> dict[str, str]:
    try:
        placed = parse_json(storage.read_bytes(url)).get("weight_map")
    except (ValueError, AttributeError) as error:
        raise ArtefactError(f"not an index of safetensors: {error}", file=url) from None
    if not isinstance(placed, dict) or not all(
        isinstance(value, str) and "/" not in value and value.endswith(".safetensors")
        for value in placed.values()
    ):
        raise ArtefactError(
            "an index maps each tensor to a file beside it", file=url, field="weight_map", value=placed
        )
    return placed
