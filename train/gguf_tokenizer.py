"""The tokenizer of a GGUF file as a Hugging Face ``tokenizer.json``: byte-level BPE with a pre-tokenizer known by name."""

from __future__ import annotations

import json
from typing import Any

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "gpt-2": _BYTE_LEVEL,
    "smollm": {
        "type": "Sequence",
        "pretokenizers": [{"type": "Digits", "individual_digits": True}, _BYTE_LEVEL],
    },
    "llama-bpe": {
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": _LLAMA3_PATTERN},
                "behavior": "Isolated",
                "invert": False,
            },
            _BYTE_LEVEL | {"use_regex": False},
        ],
    },
}
"""How text is cut before the merges, by llama.cpp's name for it."""

_CONTROL, _USER_DEFINED = 3, 4


def tokenizer_files(metadata: dict[str, Any], file: str, eos: str | None = None) -> dict[str, Any]:
    """Return the contents of ``tokenizer.json`` and ``tokenizer_config.json`` by name; empty where the file has no tokenizer.

    Args:
      metadata: key-value pairs of a GGUF file.
      file: where it lies, for errors.
      eos: the token that ends a document, if not the one that the file names (of an instruction-tuned model, the end of a turn).

    Raises:
      ArtefactError: not byte-level BPE, a pre-tokenizer that is not known, or lists that do not fit together.
    """
    if "tokenizer.ggml.model" not in metadata:
        return {}
    model, cut = metadata["tokenizer.ggml.model"], metadata.get("tokenizer.ggml.pre")
    if model != "gpt2":
        raise ArtefactError(
            "only byte-level BPE is known",
            file=file,
            field="tokenizer.ggml.model",
            value=model,
            remedy="Pass --no-tokenizer to import the weights alone",
        )
    if cut not in PRE_TOKENIZERS:
        raise ArtefactError(
            "a pre-tokenizer that is not known",
            file=file,
            field="tokenizer.ggml.pre",
            value=cut,
            remedy=f"Known: {', '.join(PRE_TOKENIZERS)}. Pass --no-tokenizer to import the weights alone",
        )
    tokens, kinds = _texts(metadata, "tokens", file), metadata.get("tokenizer.ggml.token_type")
    merges = [merge.split(" ") for merge in _texts(metadata, "merges", file)]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise ArtefactError("two ids have the same token", file=file, field="tokenizer.ggml.tokens")
    if not isinstance(kinds, list) or len(kinds) != len(tokens):
        raise ArtefactError("one type for each token is needed", file=file, field="tokenizer.ggml.token_type")
    for merge in merges:
        # Looked up one by one: a set less the keys of a mapping goes through all the keys, for each of as many merges.
        if len(merge) != 2 or not all(token in vocabulary for token in (*merge, "".join(merge))):
            raise ArtefactError(
                "a merge is two tokens that make a third",
                file=file,
                field="tokenizer.ggml.merges",
                value=merge,
            )
    added = [
        {
            "id": index,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": kind == _CONTROL,
        }
        for index, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    description = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": PRE_TOKENIZERS[cut],
        "post_processor": None,
        "decoder": _BYTE_LEVEL | {"add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": cut
            == "llama-bpe",  # a word that is a token is that token, whatever the merges say
            "vocab": vocabulary,
            "merges": merges,
        },
    }
    config: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast"}
    for role in ("bos", "eos"):
        index = metadata.get(f"tokenizer.ggml.{role}_token_id")
        if index is None:
            continue
        if not isinstance(index, int) or not 0 <= index < len(tokens):
            raise ArtefactError("no such id", file=file, field=f"tokenizer.ggml.{role}_token_id", value=index)
        config[f"{role}_token"] = tokens[index]
    if eos is not None:
        if eos not in vocabulary:
            raise ArtefactError("the vocabulary has no such token", file=file, field="--eos", value=eos)
        config["eos_token"] = eos
    config["add_bos_token"] = bool(metadata.get("tokenizer.ggml.add_bos_token", False))
    if isinstance(metadata.get("tokenizer.chat_template"), str):
        config["chat_template"] = metadata["tokenizer.chat_template"]
    return {"tokenizer.json": description, "tokenizer_config.json": config}


def write_tokenizer(folder: str, files: dict[str, Any]) -> None:
    """Write the files below ``folder``."""
    for name, content in files.items():
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        storage.write_bytes(storage.join(folder, name), text.encode())


def _texts(metadata: dict[str, Any], name: str, file: str) -> list[str]:
    value = metadata.get(f"tokenizer.ggml.{name}")
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ArtefactError("a list of texts is needed", file=file, field=f"tokenizer.ggml.{name}")
    return value
