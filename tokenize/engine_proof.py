"""The proof that the fast engine gives the reference's ids, made once for all that it depends on, and not once for each process.

It shows every character that Unicode may class to both engines (:mod:`tootsie.tokenize.character_classes`) and the golden texts,
which takes seconds. What comes out is decided by what :func:`conditions` lists: the bytes of both engines, the vocabulary, the
code that asks and the kind of processor. A proof made under equal conditions holds; it is kept in the user's cache folder
(:mod:`tootsie.tokenize.derived_files`). A worker that was told of one compares its own conditions, and where they are others
it proves for itself. Documents of the input are no part of this: they are compared in each build.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import platform
import re
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tiktoken
from pydantic import BaseModel, ConfigDict, ValidationError

from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.provenance import code_version, fingerprint
from tootsie.tokenize import derived_files, fast_engine
from tootsie.tokenize.byte_pair import BytePairTokenizer
from tootsie.tokenize.character_classes import Ranges
from tootsie.tokenize.fast_engine import GigatokenTokenizer
from tootsie.tokenize.identity import GOLDEN_DOCUMENT

_WHITE_SPACE = (
    "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
)
CHECKED_TEXTS = (
    GOLDEN_DOCUMENT,
    "",
    *(f"a{space}{space}b{space}\n{space} 1{space}\u0301" for space in _WHITE_SPACE),
    _WHITE_SPACE * 3,
    "it's IT'S it'\u017f we'LL we'lL 'Re're d'\u212a o''s '\u00df 's1 1's",
    "1234567 \u0663\u0664\u0665\u0666 \u00b2\u00bd\u2167 \uff14\uff15\uff16\uff17",
    *(
        character * 3000 + "x"
        for character in ("a", " ", "\n", "-", "=", "\u3000", "\u00e9", "\u5b57", "\u0301", "'", "\r\n")
    ),
    "\ud800 \udfff \ud83d\ude42",
    "\U0001f469\u200d\U0001f52c\U0001f3f3\ufe0f\u200d\U0001f308\U000e0067\U0010fffd\U000323b0's\u088f\u0c5c",
)
"""What every engine must encode as the reference does, whatever the input is."""


class _Proof(BaseModel):
    """What is kept."""

    model_config = ConfigDict(extra="forbid")

    conditions: dict[str, str]
    differing: Ranges


def conditions(reference: BytePairTokenizer) -> dict[str, str]:
    """Return all that the outcome of a proof depends on.

    Raises:
      SpecError: the fast engine is not installed.
    """
    return {
        "tokenizer": reference.identity.fingerprint,
        "engine": f"{fast_engine.PACKAGE} {fast_engine.installed_version()} {_package_hash(fast_engine.PACKAGE)}",
        "reference": f"tiktoken {tiktoken.__version__} {_package_hash('tiktoken')}",
        "code": code_version("tokenize"),
        "python": f"{sys.version} Unicode {unicodedata.unidata_version}",
        "processor": _processor(),
    }


def conditions_hash(reference: BytePairTokenizer) -> str:
    """Return a hash of :func:`conditions`: the name of the proof."""
    return fingerprint(conditions(reference))


def prove(reference: BytePairTokenizer) -> Ranges:
    """Return the characters whose texts must be left to the reference, from a kept proof or a new one.

    Raises:
      SpecError: the engine is not installed, or has no pre-tokenizer for the pattern.
      ArtefactError: it gives other ids for a golden text.
    """
    kept = kept_proof(reference)
    if kept is not None:
        return kept
    differing = _differing(reference.pattern)
    fast = with_engine(reference, differing)
    for number, text in enumerate(CHECKED_TEXTS):
        if not same_ids(fast, text):
            raise fault(fast, "", f"golden text {number}")
    found = conditions(reference)
    proof = _Proof(conditions=found, differing=differing)
    derived_files.keep(_name(found), proof.model_dump_json().encode())
    return differing


def kept_proof(reference: BytePairTokenizer) -> Ranges | None:
    """Return what an earlier proof under equal conditions found, ``None`` without one."""
    found = conditions(reference)
    content = derived_files.recall(_name(found))
    if content is None:
        return None
    try:
        proof = _Proof.model_validate_json(content)
    except ValidationError:
        return None
    return proof.differing if proof.conditions == found else None


def same_ids(fast: GigatokenTokenizer, text: str) -> bool:
    """Return whether an engine gives the reference's ids, alone and as one of several documents."""
    expected = fast.reference.encode_document(text)
    return np.array_equal(fast.encode_document(text), expected) and all(
        np.array_equal(ids, expected) for ids in fast.encode_documents([text, text])
    )


def fault(fast: GigatokenTokenizer, url: str, name: str) -> ArtefactError:
    """Return the error for a document whose ids are not the reference's."""
    return ArtefactError(
        f"{fast.engine} {fast.engine_version} gives other ids than {fast.reference.engine} for {name}",
        file=url or None,
        remedy=f"Run again with --engine {fast.reference.engine}: all is encoded anew",
    )


@functools.lru_cache(maxsize=2)
def with_engine(reference: BytePairTokenizer, differing: Ranges) -> GigatokenTokenizer:
    """Return a tokenizer with the fast engine; once for each process."""
    return GigatokenTokenizer(reference, differing)


def _name(found: Mapping[str, str]) -> str:
    return f"proof-{fingerprint(found)}.json"


@functools.lru_cache(maxsize=8)
def _differing(pattern: str) -> Ranges:
    def reference(ranks: Mapping[bytes, int]) -> Any:
        encoding = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens={})
        return lambda text: encoding.encode_to_numpy(text, disallowed_special=())

    return fast_engine.differing_classes(pattern, reference)


@functools.cache
def _package_hash(name: str) -> str:
    """Return a hash of a package's code, compiled and not."""
    spec = importlib.util.find_spec(name)
    folders = list(spec.submodule_search_locations or []) if spec else []
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in (".py", ".so", ".pyd", ".dylib") and path.is_file():
                content = hashlib.sha256(path.read_bytes()).digest()
                digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + content)
    return digest.hexdigest()


@functools.cache
def _processor() -> str:
    """Return the kind of processor with its instruction sets: compiled code may take another way on another one."""
    kind = platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return f"{kind} {platform.processor()}"
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.MULTILINE)
    return f"{kind} {' '.join(sorted(found[1].split())) if found else ''}"
