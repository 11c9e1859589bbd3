"""What the readers and writers of other trainers make of token files. Runs where they are installed, as a script of its own.

    python peers.py read FOLDER     the documents of exported files, as JSON lines: {"reader": …, "documents": [[ids], …]}
    python peers.py write FOLDER    files of the same documents, written by each: FOLDER/megatron, FOLDER/datasets, FOLDER/parquet,
                                    FOLDER/levanter, FOLDER/levanter-sharded

Peers: megatron-core's IndexedDataset (needs torch), Hugging Face's datasets, numpy as OLMo-core uses it, Levanter's TreeCache
(marin-levanter, which needs gitpython and wants an environment of its own).
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
import sys
from pathlib import Path

DOCUMENTS = [[5, 6, 7, 16383], [16383], [0, 1, 16000, 2, 16383], list(range(300)) + [16383]]
"""What is written; EOS of the embedded tokenizer at the ends."""


def installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def read(folder: Path) -> None:
    found: dict[str, list[list[int]]] = {}
    indexes = sorted(folder.glob("*.idx"))
    if indexes and installed("megatron.core") and installed("torch"):
        from megatron.core.datasets.indexed_dataset import IndexedDataset

        datasets = [
            IndexedDataset(str(path.with_suffix("")), multimodal=False, mmap=True) for path in indexes
        ]
        found["megatron"] = [
            dataset.get(index).tolist()
            for dataset in datasets
            for index in range(len(dataset.document_indices) - 1)
        ]
    tables = sorted(folder.glob("*.parquet"))
    if tables and installed("datasets"):
        import datasets as hf

        loaded = hf.load_dataset(
            "parquet",
            data_files=[str(path) for path in tables],
            split="train",
            cache_dir=str(folder / "cache"),
        )
        found["datasets"] = [row["input_ids"] for row in loaded]
        if "assistant_masks" in loaded.column_names:
            found["masks"] = [row["assistant_masks"] for row in loaded]
    arrays = sorted(folder.glob("*.npy"))
    if arrays and installed("numpy"):
        import numpy as np

        dtype = json.loads((folder / "export.json").read_text())["dtype"]
        found["numpy"] = []
        for path in arrays:
            tokens = np.memmap(path, mode="r", dtype=dtype)
            with gzip.open(path.with_suffix(".csv.gz"), "rt", newline="") as table:
                for line in csv.reader(table):
                    found["numpy"].append(tokens[int(line[0]) : int(line[1])].tolist())
    if (folder / "shard_ledger.json").exists() and installed("levanter"):
        import numpy as np
        from levanter.store.cache import TreeCache

        cache = TreeCache.load(str(folder), {"input_ids": np.zeros(0, np.int32)})
        found["levanter"] = [row["input_ids"].tolist() for row in cache.get_batch_sync(range(len(cache)))]
    for reader, documents in found.items():
        print(json.dumps({"reader": reader, "documents": documents}))


def write(folder: Path) -> None:
    import numpy as np

    if installed("megatron.core") and installed("torch"):
        import torch
        from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

        (folder / "megatron").mkdir(parents=True)
        builder = IndexedDatasetBuilder(str(folder / "megatron" / "peer.bin"), dtype=np.uint16)
        for ids in DOCUMENTS[:-1]:
            builder.add_document(torch.tensor(ids), [len(ids)])
        long = DOCUMENTS[-1]  # one document of several sequences
        builder.add_document(torch.tensor(long), [100, len(long) - 100])
        builder.finalize(str(folder / "megatron" / "peer.idx"))
        print("megatron")
    if installed("datasets"):
        import datasets as hf

        made = hf.Dataset.from_dict({"input_ids": DOCUMENTS, "id": ["a", "b", "c", "d"]})
        made.save_to_disk(str(folder / "datasets"), num_shards=2)
        (folder / "parquet").mkdir(parents=True)
        made.to_parquet(str(folder / "parquet" / "peer.parquet"))
        print("datasets\nparquet")
    if installed("levanter"):
        from levanter.store import cache

        exemplar = {"input_ids": np.zeros(0, np.int32)}
        with cache.SerialCacheWriter(str(folder / "levanter"), exemplar) as writer:
            writer.write_batch([{"input_ids": np.array(ids, np.int32)} for ids in DOCUMENTS])
        parts = [str(folder / "levanter-sharded" / name) for name in ("part-b", "part-a")]
        for path, documents in zip(parts, (DOCUMENTS[:3], DOCUMENTS[3:]), strict=True):
            with cache.SerialCacheWriter(path, {"input_ids": [0]}, shard_name=path) as writer:
                writer.write_batch([{"input_ids": ids} for ids in documents])
        ledgers = [cache.CacheLedger.load(path) for path in parts]
        cache._merge_sharded_ledgers(
            str(folder / "levanter-sharded"),
            parts,
            ledgers,
            [ledger.field_counts for ledger in ledgers],
            cache.CacheMetadata.empty(),
        )
        print("levanter\nlevanter-sharded")


if __name__ == "__main__":
    {"read": read, "write": write}[sys.argv[1]](Path(sys.argv[2]))
