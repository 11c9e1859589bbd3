"""The byte-pair vocabularies known by name: ``tootsie-16k``, ``llama3`` and tiktoken's own encodings."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize.byte_pair import BytePairTokenizer, parse_ranks

VOCABULARIES = Path(__file__).parent / "vocabularies"

LLAMA3_RANKS = 128_000
LLAMA3_SPECIALS = 256
LLAMA3_SHA256 = "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55"
"""Of the ``tokenizer.model`` that Meta released with Llama 3, 3.1, 3.2 and 3.3."""
LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Source: meta-llama/llama-models, ``models/llama3/tokenizer.py``."""
_LLAMA3_NAMED_SPECIALS = (
    "begin_of_text",
    "end_of_text",
    "reserved_special_token_0",
    "reserved_special_token_1",
    "finetune_right_pad_id",
    "step_id",
    "start_header_id",
    "end_header_id",
    "eom_id",
    "eot_id",
    "python_tag",
    "image",
)


EMBEDDED = {"tootsie-16k": 16_384, "tootsie-4k": 4_096}
"""Ids of the vocabularies that come with the package. The smaller is the first merges of the larger, with its special tokens."""


def tootsie_16k(add_bos: bool | None, add_eos: bool | None) -> BytePairTokenizer:
    """Return the embedded default; see :func:`embedded`."""
    return embedded("tootsie-16k", add_bos, add_eos)


def embedded(name: str, add_bos: bool | None, add_eos: bool | None) -> BytePairTokenizer:
    """Return a vocabulary of :data:`EMBEDDED`, made by ``vocabularies/train_vocabulary.py``; no BOS.

    Ranks are merged lowest first, so the first of them are a vocabulary in themselves.

    Raises:
      ArtefactError: the embedded file is damaged.
    """
    whole = "tootsie-16k"
    description = json.loads((VOCABULARIES / f"{whole}.json").read_bytes())
    path = VOCABULARIES / f"{whole}.tiktoken"
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != description["ranks_sha256"]:
        raise ArtefactError(
            "the embedded vocabulary is damaged", file=path, remedy="Install the package again"
        )
    if add_bos:
        raise SpecError(
            "the vocabulary has no BOS", field="add_bos", value=add_bos, remedy="Leave the option out"
        )
    left_out = EMBEDDED[whole] - EMBEDDED[name]
    specials = {special: number - left_out for special, number in description["specials"].items()}
    ranks = parse_ranks(content, str(path))
    return BytePairTokenizer(
        name,
        pattern=description["pattern"],
        ranks={token: rank for token, rank in ranks.items() if rank < len(ranks) - left_out},
        specials=specials,
        bos_id=None,
        eos_id=specials[description["eos"]],
        add_bos=False,
        add_eos=add_eos is not False,
    )


def llama3(location: str | None, add_bos: bool | None, add_eos: bool | None) -> BytePairTokenizer:
    """Return the Llama 3 tokenizer: 128,000 ranks and 256 specials; BOS 128000, EOS 128001, both added.

    Args:
      location: path or URL of ``tokenizer.model``; by default the one in the package ``llama-models``.
      add_bos: default yes.
      add_eos: default yes.

    Raises:
      SpecError: the package is not installed and no file is named.
      InputError: the file is not that of Llama 3.
    """
    if location is None:
        package = importlib.util.find_spec("llama_models")
        folders = list(package.submodule_search_locations or []) if package else []
        files = [Path(folder) / "llama3" / "tokenizer.model" for folder in folders]
        found = next((path for path in files if path.is_file()), None)
        if found is None:
            raise SpecError(
                "the Llama 3 tokenizer is not installed",
                field="tokenizer",
                value="llama3",
                remedy='Run: pip install "tootsie[llama3]", or name the file: llama3:/path/to/tokenizer.model',
            )
        location = str(found)
    content = storage.read_bytes(location)
    ranks = parse_ranks(content, location)
    if len(ranks) != LLAMA3_RANKS:
        raise InputError(
            f"Llama 3 has {LLAMA3_RANKS:,} ranks",
            file=location,
            value=len(ranks),
            remedy="Is it the tokenizer.model of Llama 3 (not Llama 2), and whole?",
        )
    digest = hashlib.sha256(content).hexdigest()
    if digest != LLAMA3_SHA256:
        raise InputError(
            "not the ranks of Llama 3, though as many",
            file=location,
            field="sha256",
            value=digest,
            remedy=f"The file that Meta released has {LLAMA3_SHA256}: fetch it again",
        )
    rest = LLAMA3_SPECIALS - len(_LLAMA3_NAMED_SPECIALS)
    names = [*_LLAMA3_NAMED_SPECIALS, *(f"reserved_special_token_{2 + number}" for number in range(rest))]
    specials = {f"<|{name}|>": LLAMA3_RANKS + number for number, name in enumerate(names)}
    return BytePairTokenizer(
        "llama3",
        pattern=LLAMA3_PATTERN,
        ranks=ranks,
        specials=specials,
        bos_id=specials["<|begin_of_text|>"],
        eos_id=specials["<|end_of_text|>"],
        add_bos=add_bos is not False,
        add_eos=add_eos is not False,
    )


def tiktoken_names() -> list[str]:
    """Return the names of the encodings that the installed tiktoken knows."""
    import tiktoken

    return sorted(tiktoken.list_encoding_names())


def tiktoken_encoding(
    name: str, location: str | None, add_bos: bool | None, add_eos: bool | None
) -> BytePairTokenizer:
    """Return one of tiktoken's encodings, from files that are at hand: the network is never asked.

    Args:
      name: for example ``cl100k_base``.
      location: path or URL of its ``.tiktoken`` file; by default tiktoken's cache (``TIKTOKEN_CACHE_DIR``).
      add_bos: must not be set: these vocabularies have no BOS.
      add_eos: default yes (``<|endoftext|>``).

    Raises:
      SpecError: the file is not in the cache.
      InputError: the file is another one (its checksum is known to tiktoken).
    """
    import tiktoken.registry

    if add_bos:
        raise SpecError(f"{name} has no BOS", field="add_bos", value=add_bos, remedy="Leave the option out")
    tiktoken.list_encoding_names()
    with _files_at_hand(name, location):
        assert tiktoken.registry.ENCODING_CONSTRUCTORS is not None
        parts = tiktoken.registry.ENCODING_CONSTRUCTORS[name]()
    specials = parts["special_tokens"]
    if "<|endoftext|>" not in specials:
        raise SpecError(f"{name} has no <|endoftext|> to end documents with", field="tokenizer", value=name)
    return BytePairTokenizer(
        name,
        pattern=parts["pat_str"],
        ranks=parts["mergeable_ranks"],
        specials=specials,
        bos_id=None,
        eos_id=specials["<|endoftext|>"],
        add_bos=False,
        add_eos=add_eos is not False,
    )


@contextlib.contextmanager
def _files_at_hand(name: str, location: str | None) -> Iterator[None]:
    """Let tiktoken's loader read its cache or ``location``, and nothing else."""
    import tiktoken.load

    def read_file(blobpath: str) -> bytes:
        if location is not None:
            return storage.read_bytes(location)
        raise SpecError(
            f"the ranks of {name} are not on this machine, and nothing is fetched behind your back",
            field="tokenizer",
            value=name,
            remedy=f"Fetch {blobpath} and name the file: {name}:/path/to/file; or set TIKTOKEN_CACHE_DIR to tiktoken's cache",
        )

    original = tiktoken.load.read_file
    tiktoken.load.read_file = read_file
    try:
        yield
    except ValueError as error:
        raise InputError(
            f"not the ranks of {name}",
            file=location,
            value=str(error).split("(")[0],
            remedy="Fetch the file again",
        ) from None
    finally:
        tiktoken.load.read_file = original
