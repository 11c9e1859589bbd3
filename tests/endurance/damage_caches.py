"""Damage token caches in a thousand ways; each is noticed by ``verify``, and by the sampler before a wrong token is served.

    python tests/endurance/damage_caches.py --faults 1000       # make damage-caches

Two caches are built from made-up text, and a plan over both. Then, one at a time and mended again: a flipped bit anywhere in a shard or a
ledger, a shard cut short, lengthened, with a run of zeros, missing, or in another's place; a shard or a whole cache made by another
tokenizer, or from a source in which one letter differs; the source itself changed. After each, ``verify`` must fail and name the file,
and a sampler that reads every row of the plan must either fail, or have given nothing but the right tokens, segment ids and masks.
What a sampler can't notice is damage that no row touches (names of documents, text sizes, padding); it is counted. Prints what was
noticed when, by kind of fault, and exits with 1 at the first fault that was not.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tootsie.datasets import manifest, storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.document import Document
from tootsie.datasets.errors import UserError
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.sampler import Batch, Sampler
from tootsie.tokenize.build import BuildSettings, build_caches
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.verification import verify_identity, verify_sources

NAMES = ("one", "two")
SHARDS = 3
LENGTH = 512


class NotNoticedError(Exception):
    """A fault that went through."""


class Bench:
    """The caches, the plan and what its rows must be.

    Args:
      folder: an empty folder.
      documents: in each cache.
    """

    def __init__(self, folder: Path, documents: int = 150) -> None:
        self.folder = folder
        for name in NAMES:
            write_corpus(folder / "corpora" / name, name, documents)
            build(folder / "corpora" / name, folder / "caches" / name)
        write_corpus(folder / "corpora" / "changed", "one", documents, changed=True)
        build(folder / "corpora" / "changed", folder / "changed")
        build(
            folder / "corpora" / "one", folder / "foreign", add_eos=False
        )  # by its policy another tokenizer
        self.plan = self._compile()
        self.steps = self.plan.total_steps
        self.identities = {dataset.name: dataset.ledger_sha256 for dataset in self.plan.datasets}
        self.right = list(self.read())

    def _compile(self) -> Plan:
        caches = {name: TokenCache.open(str(self.folder / "caches" / name)) for name in NAMES}
        windows = {name: cache.windows(LENGTH) for name, cache in caches.items()}
        spec = {
            "name": "damage", "seed": 3, "sequence_length": LENGTH,
            "datasets": {name: {"cache": str(self.folder / "caches" / name)} for name in NAMES},
            "mixtures": {"all": {"groups": {"all": {"by": "weight", "datasets": {
                name: {"weight": windows[name]} for name in NAMES}}}}},
            "phases": [{"name": "all", "mixture": "all", "for": f"{sum(windows.values()) // 4} steps",
                        "batch_size": 4, "learning_rate": 1e-3}],
        }  # fmt: skip
        (self.folder / "spec.json").write_text(json.dumps(spec))
        return compile_file(str(self.folder / "spec.json"))

    def read(self) -> Iterator[Batch]:
        """Yield all rows of the plan."""
        sampler = Sampler(self.plan)
        for step in range(self.steps):
            yield sampler.batch(step)

    def verify(self) -> None:
        """Open and verify both caches, and compare them with the plan and their sources: all that ``tokenize verify`` offers."""
        for name in NAMES:
            cache = TokenCache.open(str(self.folder / "caches" / name))
            cache.verify()
            verify_identity(cache, self.identities[name])
            verify_sources(cache, [str(self.folder / "corpora" / name)])

    def files(self, pattern: str) -> list[Path]:
        return sorted((self.folder / "caches").glob(pattern))

    @contextmanager
    def mended_afterwards(self) -> Iterator[None]:
        """Put everything back at the end."""
        kept = {path: path.read_bytes() for place in ("caches", "corpora") for path in self._all(place)}
        try:
            yield
        finally:
            for path in [path for place in ("caches", "corpora") for path in self._all(place)]:
                if path not in kept:
                    path.unlink()
            for path, content in kept.items():
                if not path.exists() or path.read_bytes() != content:
                    path.write_bytes(content)

    def _all(self, place: str) -> list[Path]:
        return [path for path in (self.folder / place).rglob("*") if path.is_file()]


def write_corpus(folder: Path, source: str, documents: int, *, changed: bool = False) -> None:
    dice = random.Random(source)
    words = ["".join(dice.choices("abcdefghij", k=dice.randint(1, 9))) for _ in range(200)]
    texts = [" ".join(dice.choices(words, k=dice.randint(1, 400))) for _ in range(documents)]
    if changed:
        place = documents // 2
        texts[place] = ("k" if texts[place][0] != "k" else "l") + texts[place][1:]
    url = str(folder / "part-00000-of-00001.jsonl.zst")
    with storage.atomic_zstd(url) as stream:
        for number, text in enumerate(texts):
            document = Document(id=f"{source}-{number}", text=text, source=source)
            stream.write(document.to_json().encode() + b"\n")
    entry = manifest.FileEntry(
        path=url.rsplit("/", 1)[-1],
        documents=documents,
        text_bytes=sum(len(text.encode()) for text in texts),
        size=storage.size(url),
        sha256=storage.sha256(url),
    )
    manifest.write_manifest(
        str(folder),
        manifest.Manifest(
            source=source, code_version="test", settings={}, inputs=[], files=[entry],
            accounting=Accounting(read=documents, written=documents),
        ),
    )  # fmt: skip


def build(corpus: Path, cache: Path, *, add_eos: bool = True) -> None:
    build_caches([str(corpus)], str(cache), BuildSettings(shards=SHARDS, add_eos=add_eos))


# ------------------------------------------------------------------------------------------------ faults

Fault = Callable[[Bench, random.Random], str]


def flip_bit_of_a_shard(bench: Bench, dice: random.Random) -> str:
    return flip(dice.choice(bench.files("*/shards/*.arrow")), dice)


def flip_bit_of_a_ledger(bench: Bench, dice: random.Random) -> str:
    return flip(dice.choice(bench.files("*/ledger.json")), dice)


def flip(path: Path, dice: random.Random) -> str:
    content = bytearray(path.read_bytes())
    at, bit = dice.randrange(len(content)), dice.randrange(8)
    content[at] ^= 1 << bit
    path.write_bytes(content)
    return f"{path.parent.parent.name}/{path.name}: bit {bit} of byte {at}"


def cut(bench: Bench, dice: random.Random) -> str:
    path = dice.choice(bench.files("*/shards/*.arrow") + bench.files("*/ledger.json"))
    content = path.read_bytes()
    keep = dice.choice([0, len(content) - 1, dice.randrange(len(content))])
    path.write_bytes(content[:keep])
    return f"{path.name}: {keep} of {len(content)} bytes"


def lengthen(bench: Bench, dice: random.Random) -> str:
    path = dice.choice(bench.files("*/shards/*.arrow"))
    path.write_bytes(path.read_bytes() + bytes(dice.randrange(1, 5000)))
    return path.name


def zero(bench: Bench, dice: random.Random) -> str:
    """A hole, as a crash or a sparse copy leaves."""
    path = dice.choice(bench.files("*/shards/*.arrow"))
    content = bytearray(path.read_bytes())
    at = dice.randrange(len(content) - 64)
    end = min(len(content), at + dice.choice([64, 512, 4096]))
    if not any(content[at:end]):
        return flip(path, dice)
    content[at:end] = bytes(end - at)
    path.write_bytes(content)
    return f"{path.name}: bytes {at} to {end}"


def remove(bench: Bench, dice: random.Random) -> str:
    path = dice.choice(bench.files("*/shards/*.arrow") + bench.files("*/ledger.json"))
    path.unlink()
    return path.name


def swap(bench: Bench, dice: random.Random) -> str:
    one, two = dice.sample(bench.files("*/shards/*.arrow"), 2)
    contents = one.read_bytes(), two.read_bytes()
    one.write_bytes(contents[1])
    two.write_bytes(contents[0])
    return f"{one.parent.parent.name}/{one.name} and {two.parent.parent.name}/{two.name}"


def foreign_shard(bench: Bench, dice: random.Random) -> str:
    return replace(bench, "foreign", dice.choice(bench.files("one/shards/*.arrow")))


def changed_shard(bench: Bench, dice: random.Random) -> str:
    """The shard in which the changed document lies, under the old ledger."""
    differing = [
        path
        for path in bench.files("one/shards/*.arrow")
        if path.read_bytes() != (bench.folder / "changed" / "shards" / path.name).read_bytes()
    ]
    return replace(bench, "changed", dice.choice(differing))


def replace(bench: Bench, origin: str, path: Path) -> str:
    shutil.copyfile(bench.folder / origin / "shards" / path.name, path)
    return f"{path.name} of {origin}"


def foreign_cache(bench: Bench, dice: random.Random) -> str:
    return whole(bench, "foreign")


def changed_cache(bench: Bench, dice: random.Random) -> str:
    return whole(bench, "changed")


def whole(bench: Bench, origin: str) -> str:
    shutil.rmtree(bench.folder / "caches" / "one")
    shutil.copytree(bench.folder / origin, bench.folder / "caches" / "one")
    return origin


def changed_source(bench: Bench, dice: random.Random) -> str:
    """The corpus was made anew after the cache was built."""
    for path in (bench.folder / "corpora" / "changed").iterdir():
        shutil.copyfile(path, bench.folder / "corpora" / "one" / path.name)
    return "corpora/one"


FAULTS: dict[Fault, int] = {
    flip_bit_of_a_shard: 50, flip_bit_of_a_ledger: 10, cut: 10, lengthen: 2, zero: 8, remove: 4, swap: 8,
    foreign_shard: 3, changed_shard: 3, foreign_cache: 1, changed_cache: 1, changed_source: 1,
}  # fmt: skip
"""How often each, of about a hundred."""
BEFORE_READING = {cut, lengthen, remove, flip_bit_of_a_ledger, foreign_cache, changed_cache}
"""Noticed by the cheap checks, before anything is read."""
HARMLESS_TO_ROWS = {flip_bit_of_a_shard, zero, swap, changed_source}
"""May lie where no row of the plan comes from."""


PARTS = ("tokens", "segment_ids", "loss_mask", "dataset", "epoch", "window")
"""Of a batch."""


def try_fault(bench: Bench, fault: Fault, dice: random.Random) -> str:
    """Make one fault; return when the sampler noticed.

    Raises:
      NotNoticedError: ``verify`` or the sampler let it through.
    """
    with bench.mended_afterwards():
        said = f"{fault.__name__}: {fault(bench, dice)}"
        try:
            bench.verify()
        except UserError:
            pass
        else:
            raise NotNoticedError(f"{said}: verify finds nothing")
        rows = 0
        try:
            for right, found in zip(bench.right, bench.read(), strict=True):
                if not all(np.array_equal(getattr(right, part), getattr(found, part)) for part in PARTS):
                    raise NotNoticedError(f"{said}: the sampler gave other rows")
                rows += len(found.tokens)
        except UserError:
            return "before a row was served" if not rows else "at the row that it touches"
        if fault not in HARMLESS_TO_ROWS:
            raise NotNoticedError(f"{said}: the sampler read on")
        return "touches no row"


def run(
    folder: Path, count: int, seed: int, tell: Callable[[str], None] = lambda line: None
) -> Counter[tuple[str, str]]:
    """Make ``count`` faults; return how many of each kind were noticed when.

    Raises:
      NotNoticedError: the first that was not.
    """
    bench = Bench(folder)
    bench.verify()
    dice = random.Random(seed)
    kinds = [fault for fault, weight in FAULTS.items() for _ in range(weight)]
    chosen = [*FAULTS, *dice.choices(kinds, k=max(0, count - len(FAULTS)))][:count]
    found: Counter[tuple[str, str]] = Counter()
    for number, fault in enumerate(chosen, 1):
        found[fault.__name__, try_fault(bench, fault, dice)] += 1
        if number % 100 == 0:
            tell(f"{number} of {count} faults, all noticed")
    bench.verify()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = run(Path(folder), arguments.faults, arguments.seed, print)
        except NotNoticedError as error:
            sys.exit(str(error))
    times = ("before a row was served", "at the row that it touches", "touches no row")
    print(f"{'fault':24}" + "".join(f"{time:>30}" for time in times))
    for fault in FAULTS:
        print(f"{fault.__name__:24}" + "".join(f"{found[fault.__name__, time]:30}" for time in times))
    print(f"verify noticed all {sum(found.values())}; no wrong token was served")


if __name__ == "__main__":
    main()
