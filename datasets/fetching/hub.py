"""What a dataset on the Hugging Face hub holds, at one commit, and whether the listing of it is whole.

The tree comes in pages; the names in the answer about the whole repository come in one. Where the two differ, a page was lost.
Files are then read through ``huggingface_hub``'s fsspec file system (extra ``huggingface``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tootsie.datasets.errors import ArtefactError, InputError, SpecError, shorten
from tootsie.datasets.fetching.globs import matches
from tootsie.datasets.fetching.remote import RemoteFile
from tootsie.datasets.inventory import Algorithm, Checksum

_URL = re.compile(r"hf://datasets/(?P<id>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?(?:/(?P<rest>.*))?\Z")


def parse_hub_url(url: str) -> tuple[str, str]:
    """Return the repository part (with its revision) and the path or glob in it.

    Raises:
      SpecError: it is not such a URL.
    """
    match = _URL.match(url)
    if match is None:
        raise SpecError(
            "not a dataset on the hub",
            file=url,
            remedy="Write hf://datasets/OWNER/NAME@REVISION/GLOB; a revision with a slash as OWNER/NAME@refs%2F…",
        )
    rest = (match["rest"] or "").strip("/")
    return url[: len(url) - len(match["rest"] or "")].rstrip("/"), rest


def list_hub(url: str, patterns: Iterable[str], api: Any = None) -> tuple[str, list[RemoteFile]]:
    """List the files of a dataset that fit globs, at one commit.

    Args:
      url: ``hf://datasets/OWNER/NAME`` with ``@REVISION`` where it is pinned.
      patterns: globs below it; one without a wildcard may also be a folder.
      api: a ``huggingface_hub.HfApi``, made where it is ``None``.

    Returns:
      The URL with the commit, and the files with size and checksum (SHA-256 of large files, Git's name of small ones).

    Raises:
      SpecError: the package is missing.
      InputError: there is no such dataset or revision.
      ArtefactError: the tree is not the whole of what the repository says it holds.
    """
    match = _URL.match(url)
    if match is None:
        raise SpecError("not a dataset on the hub", file=url)
    repository = match["id"]
    api = _api() if api is None else api
    try:
        info = api.dataset_info(repository, revision=match["revision"])
        nodes = list(api.list_repo_tree(repository, repo_type="dataset", revision=info.sha, recursive=True))
    except Exception as error:  # the hub's client and the network under it have many
        raise InputError(
            "the hub does not list this dataset",
            file=url,
            value=f"{type(error).__name__}: {shorten(str(error), 160)}",
            remedy="Check the name and revision, the network, and for gated datasets the login (hf auth login)",
        ) from None
    files = {node.path: node for node in nodes if getattr(node, "size", None) is not None}
    stated = {sibling.rfilename for sibling in info.siblings or ()}
    lost, unknown = sorted(stated - files.keys()), sorted(files.keys() - stated)
    if lost or (stated and unknown):
        raise ArtefactError(
            f"the listing was truncated: the tree has {len(files):,} files, the repository says {len(stated):,}",
            file=url,
            value=shorten(", ".join((lost or unknown)[:5]), 160),
            remedy="Try again; if it stays so, fetch with --manifest and a list from elsewhere",
        )
    wanted = [one for pattern in patterns for one in (pattern, f"{pattern.rstrip('/')}/**")]
    pinned = f"hf://datasets/{repository}@{info.sha}"
    return pinned, [
        RemoteFile(f"{pinned}/{path}", path, _size(node), _checksum(node), identity=_checksum(node).digest)
        for path, node in files.items()
        if matches(path, wanted)
    ]


def _size(node: Any) -> int:
    return int(node.lfs.size if getattr(node, "lfs", None) else node.size)


def _checksum(node: Any) -> Checksum:
    if getattr(node, "lfs", None):
        return Checksum(Algorithm.SHA256, node.lfs.sha256)
    return Checksum(Algorithm.GIT_SHA1, node.blob_id)


def _api() -> Any:
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise SpecError(
            "reading the Hugging Face hub needs the package huggingface_hub",
            remedy='Run: pip install "tootsie[huggingface]"',
        ) from None
    return HfApi()
