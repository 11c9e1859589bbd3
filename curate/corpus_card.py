"""``README.md`` in the folder of a corpus: what is in it and how it was made, told by the manifest alone.

Nothing in it is written by hand, so nothing in it can be wrong otherwise than the manifest. Its front matter is that of cards on
the Hugging Face Hub.
Source: https://github.com/huggingface/hub-docs/blob/main/datasetcard.md
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator

from tootsie.curate.markdownify.rules import RULES
from tootsie.datasets import storage
from tootsie.datasets.errors import shorten
from tootsie.datasets.manifest import MANIFEST_NAME, Manifest

CARD_NAME = "README.md"
MARK = "<!-- Written by tootsie curate from the manifest. -->"
"""Tells a card of ours from other files of that name."""
MAX_ROWS = 50
"""Rows of a table of counts; the rest is one row."""
EXAMPLE_CHARACTERS = 600
"""Of the text of the example."""
_TITLES = {
    "licences": "Licences",
    "languages": "Languages",
    "categories": "Categories",
    "severities": "Severity of LaTeXML's messages",
    "sites": "Sites",
    "projects": "Projects",
    "characters": "Length in characters",
}


def write_card(folder: str, manifest: Manifest) -> None:
    """Write the card of a corpus whose files are written."""
    storage.write_bytes(storage.join(folder, CARD_NAME), card(folder, manifest).encode())


def card_is_ours(folder: str) -> bool:
    """Return whether the place of the card is free or taken by a card."""
    url = storage.join(folder, CARD_NAME)
    return not storage.exists(url) or MARK.encode() in storage.read_bytes(url)[:10_000]


def remove_card(folder: str) -> None:
    """Delete the card of a corpus where there is one."""
    if card_is_ours(folder):
        storage.remove(storage.join(folder, CARD_NAME))


def card(folder: str, manifest: Manifest) -> str:
    """Return the card: the same for the same manifest and files."""
    return "\n\n".join(part for part in _parts(folder, manifest) if part) + "\n"


def _parts(folder: str, manifest: Manifest) -> Iterator[str]:
    characters = sum(entry.text_bytes for entry in manifest.files)
    yield _front_matter(manifest)
    yield f"# {manifest.source}\n\n{MARK}"
    yield (
        f"{manifest.documents:,} documents, {characters:,} bytes of text, in {len(manifest.files):,} files of one JSON object a "
        f"line (`id`, `text`, `source`, `added`, `created`, `metadata`), compressed with Zstandard. `{MANIFEST_NAME}` has the "
        "checksum of each file; `rejects/` has what was dropped, with the reason."
    )
    yield from _section("Notes", "\n".join(f"- {note}" for note in manifest.notes))
    books = manifest.accounting
    rows = [("read", books.read), ("written", books.written)]
    yield from _section(
        "Books",
        _counts("records", [*rows, *((f"dropped: {reason}", n) for reason, n in books.dropped.items())]),
    )
    for name, title in _TITLES.items():
        counts = manifest.statistics.get(name, {})
        pairs: Iterable[tuple[str, int]]
        if name == "characters":
            pairs = [(f"from {int(least):,}", counts[least]) for least in sorted(counts, key=int)]
        else:
            pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        yield from _section(title, _counts("documents with", list(pairs)) if counts else "")
    yield from _section("Sources", _sources(manifest))
    yield from _section("Example", _example(folder, manifest))
    yield from _section("How to make it again", _command(manifest))
    yield from _section("What the converter did", _rules(manifest))


def _section(title: str, content: str) -> Iterator[str]:
    if content:
        yield f"## {title}"
        yield content


def _front_matter(manifest: Manifest) -> str:
    languages = sorted(manifest.statistics.get("languages", {}))
    lines = ["---", f"pretty_name: {manifest.source}"]
    if languages:
        lines += ["language:", *(f"- {json.dumps(language)}" for language in languages[:MAX_ROWS])]
    lines += [
        "configs:",
        "- config_name: default",
        "  data_files: part-*.jsonl.zst",
        f"tootsie: {json.dumps({'code_version': manifest.code_version})}",
        "---",
    ]
    return "\n".join(lines)


def _cell(text: object) -> str:
    return " ".join(str(text).split()).replace("\\", "\\\\").replace("|", "\\|")


def _table(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in lines)


def _counts(what: str, pairs: list[tuple[str, int]]) -> str:
    shown, rest = pairs[:MAX_ROWS], pairs[MAX_ROWS:]
    rows = [(name, f"{count:,}") for name, count in shown]
    if rest:
        rows.append((f"{len(rest):,} others", f"{sum(count for _, count in rest):,}"))
    return _table((what, "count"), rows)


def _sources(manifest: Manifest) -> str:
    shown, rest = manifest.inputs[:MAX_ROWS], manifest.inputs[MAX_ROWS:]
    rows: list[tuple[object, ...]] = [
        (f"`{entry.path}`", f"{entry.size:,}", f"`{entry.sha256}`") for entry in shown
    ]
    if rest:
        rows.append((f"{len(rest):,} others", f"{sum(entry.size for entry in rest):,}", "see the manifest"))
    return _table(("file", "bytes", "SHA-256"), rows)


def _example(folder: str, manifest: Manifest) -> str:
    entry = next((entry for entry in manifest.files if entry.documents), None)
    if entry is None:
        return ""
    line = next(itertools.islice(storage.read_lines(storage.join(folder, entry.path)), 1))
    document = json.loads(line)
    document["text"] = shorten(document["text"], EXAMPLE_CHARACTERS)
    document["metadata"] = {
        name: shorten(value, EXAMPLE_CHARACTERS) if isinstance(value, str) else value
        for name, value in document.get("metadata", {}).items()
        if len(json.dumps(value)) < 4 * EXAMPLE_CHARACTERS or isinstance(value, str)
    }
    content = json.dumps(document, ensure_ascii=False, indent=1)
    fence = "```"
    while fence in content:
        fence += "`"
    return f"The first document of `{entry.path}`, shortened:\n\n{fence}json\n{content}\n{fence}"


def _command(manifest: Manifest) -> str:
    """Return the command, with the settings that are not what they are by default left to the table below it."""
    rows = [(f"`{name}`", json.dumps(value, ensure_ascii=False)) for name, value in manifest.settings.items()]
    names = " ".join(entry.path for entry in manifest.inputs[:3]) + (" …" if manifest.inputs[3:] else "")
    command = manifest.settings.get("stage", manifest.source)
    return (
        f"    tootsie curate {command} {names} OUT\n\nwith Tootsie of code version `{manifest.code_version}` and these "
        "settings (each an option of the command, where it is not its default) gives the same bytes.\n\n"
        + _table(("setting", "value"), rows)
    )


def _rules(manifest: Manifest) -> str:
    rows: list[tuple[object, ...]] = []
    for name, count in manifest.counters.items():
        rule = RULES.get(name)
        rows.append(
            (f"`{name}`", f"{count:,}", rule.effect if rule else "", rule.description if rule else "")
        )
    if not rows:
        return ""
    filled = sum(1 for entry in manifest.files if entry.documents)
    never = [f"`{name}`" for name, files in manifest.unmatched_rules.items() if files == filled]
    text = _table(("rule", "times", "effect", "what it does"), rows)
    return text + (f"\n\nMatched nothing: {', '.join(never)}." if never else "")
