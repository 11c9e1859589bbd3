"""Walk from a dump to a batch with everything in an S3 bucket, on a server that speaks S3 (Moto), and compare with local disk.

    python tests/endurance/check_s3.py --server PATH/OF/moto_server        # make check-s3

The sample Wikipedia dump is curated, verified, tokenized, verified, planned and read from the bucket, and fetched back. Every file of the
corpus and cache must have the bytes of a local run, and every batch its tokens.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

BUCKET = "s3://corpora"
DUMP = "samplewiki-NS0-20240501-ENTERPRISE-HTML.json.tar.gz"
SPEC = """
name: bucket
seed: 0
sequence_length: 128
datasets: {{wikipedia: {{cache: '{cache}'}}}}
mixtures: {{everything: {{groups: {{all: {{by: tokens, datasets: [wikipedia]}}}}}}}}
phases:
  - name: only
    mixture: everything
    for: 20 steps
    batch_size: 4
    learning_rate: {{shape: constant, from: 0.001}}
    weight_decay: 0.1
    z_loss: 0.0001
"""
FRESH = ("_manifest.json", "README.md", "ledger.json")
"""They name the paths that a run was given."""


@contextlib.contextmanager
def s3_server(program: str) -> Iterator[None]:
    """Run Moto's server on a free port of this machine and point every S3 client of this process's children at it."""
    command = [program, "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr:
                if match := re.search(r"Running on (http://127\.0\.0\.1:\d+)", line):
                    os.environ |= {
                        "AWS_ACCESS_KEY_ID": "test",
                        "AWS_SECRET_ACCESS_KEY": "test",
                        "AWS_DEFAULT_REGION": "us-east-1",
                        "AWS_ENDPOINT_URL": match[1],
                    }
                    break
            yield
        finally:
            process.kill()


def tootsie(*arguments: str) -> None:
    """Run a command of Tootsie's; a failure ends the check."""
    print("tootsie", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", f"tootsie.{arguments[0]}", *arguments[1:]], check=True)


def walk(root: str, dump: str) -> None:
    """Make corpus and cache below ``root``, each verified."""
    tootsie("curate", "wikipedia", dump, f"{root}/wikipedia", "--shards", "3")
    tootsie("data", "verify", f"{root}/wikipedia")
    tootsie("tokenize", f"{root}/wikipedia", f"{root}/cache")
    tootsie("tokenize", "verify", f"{root}/cache", "--sample", "5")


def contents(folder: Path) -> dict[str, str]:
    """Return ``{relative path: SHA-256}`` of what must not depend on where it lies."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in FRESH and not path.name.startswith("_fetched")
    }


def main() -> int:
    """Run the check; exit code 1 where something differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", required=True, help="Moto's program moto_server")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, s3_server(options.server):
        local = Path(temporary)
        import fsspec

        bucket = fsspec.filesystem("s3")
        bucket.mkdir("corpora")
        sample = Path(__file__).parents[2] / "datasets" / "sample" / "wikipedia" / DUMP
        bucket.put(str(sample), f"corpora/{DUMP}")
        walk(BUCKET, f"{BUCKET}/{DUMP}")
        walk(str(local), str(sample))
        for name in ("wikipedia", "cache"):
            tootsie("data", "fetch", f"{BUCKET}/{name}", str(local / "fetched" / name))
        for name in ("wikipedia", "cache"):
            if contents(local / name) != contents(local / "fetched" / name):
                print(f"{name}: differs from the local run")
                return 1
        from tootsie.tokenize.cache import TokenCache

        (local / "spec.yaml").write_text(SPEC.format(cache=f"{BUCKET}/cache"))
        tootsie("mix", "compile", str(local / "spec.yaml"), "-o", str(local / "plan.json"))
        tootsie("mix", "trace", str(local / "plan.json"), "--step", "7")
        there, here = TokenCache.open(f"{BUCKET}/cache"), TokenCache.open(str(local / "cache"))
        windows = here.ledger.tokens // 128
        for window in range(windows):
            if there.window(window, 128).tokens.tolist() != here.window(window, 128).tokens.tolist():
                print(f"window {window} differs")
                return 1
        print(
            f"same bytes in the bucket and on disk; {windows:,} windows read from the bucket with the same tokens"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
