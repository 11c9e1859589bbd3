"""Answers survive whatever ends the process that files them."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.datasets.errors import SpecError


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def test_what_is_filed_is_found_also_by_others(tmp_path: Path) -> None:
    one = ResponseCache(str(tmp_path))
    one.put(key(1), {"text": "täxt\n\u2028"})
    assert one.get(key(1)) == {"text": "täxt\n\u2028"}
    assert one.get(key(2)) is None
    other = ResponseCache(str(tmp_path))
    assert other.get(key(1)) == {"text": "täxt\n\u2028"}
    other.put(key(2), {"n": 2})
    one.close()
    other.close()
    assert len(ResponseCache(str(tmp_path))) == 2


def test_a_cut_anywhere_loses_the_last_answer_at_most(tmp_path: Path) -> None:
    cache = ResponseCache(str(tmp_path))
    for number in range(3):
        cache.put(key(number), {"n": number})
    cache.close()
    (segment,) = tmp_path.iterdir()
    content = segment.read_bytes()
    line = len(content) // 3
    for cut in range(len(content)):
        segment.write_bytes(content[:cut])
        found = ResponseCache(str(tmp_path))
        assert [found.get(key(n)) for n in range(cut // line)] == [{"n": n} for n in range(cut // line)]
        assert len(found) == cut // line


def test_nothing_is_written_behind_what_a_full_disk_cut_off(tmp_path: Path) -> None:
    cache = ResponseCache(str(tmp_path))
    cache.put(key(1), {"n": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (next(tmp_path.iterdir()).stat().st_size + 10, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            cache.put(key(2), {"n": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    cache.put(key(3), {"n": 3})
    assert cache.get(key(3)) == {"n": 3}
    cache.close()
    found = ResponseCache(str(tmp_path))
    assert [key(n) in found for n in (1, 2, 3)] == [True, False, True]
    assert found.damaged == 1


def test_a_damaged_line_is_passed_over(tmp_path: Path) -> None:
    cache = ResponseCache(str(tmp_path))
    for number in range(3):
        cache.put(key(number), {"n": number})
    cache.close()
    (segment,) = tmp_path.iterdir()
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(bytes(content))
    found = ResponseCache(str(tmp_path))
    assert found.damaged == 1
    assert found.get(key(0)) == {"n": 0}
    assert found.get(key(2)) == {"n": 2}


def test_a_killed_process_has_filed_what_it_said_it_had(tmp_path: Path) -> None:
    code = (
        "import sys, hashlib\nfrom tootsie.curate.datashop.response_cache import ResponseCache\n"
        f"cache = ResponseCache({str(tmp_path)!r})\nn = 0\n"
        "while True:\n    cache.put(hashlib.sha256(str(n).encode()).hexdigest(), {'n': n})\n"
        "    print(n, flush=True)\n    n += 1\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        said = [int(process.stdout.readline()) for _ in range(200)]
        os.kill(process.pid, signal.SIGKILL)
        said += [int(line) for line in process.stdout if line.endswith("\n")]
    process.wait()
    found = ResponseCache(str(tmp_path))
    assert all(found.get(key(number)) == {"n": number} for number in said)


def test_an_object_store_is_refused() -> None:
    with pytest.raises(SpecError, match="local file system"):
        ResponseCache("memory://answers")
