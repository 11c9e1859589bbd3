"""Which processes keep what they free, and that it is not faulted in again."""

import subprocess
import sys
from pathlib import Path

import pytest

from tootsie.train.allocator import on_cpu

FAULTS = """
import resource, sys
from tootsie.train.allocator import keep_freed_memory
if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit("no mallopt")
def faults():
    bytearray(48 << 20)  # written to, then freed
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
faults()
print(-faults() + faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_freed_memory_is_not_faulted_in_again() -> None:
    found = {
        how: int(subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, check=True).stdout)
        for how in ("keep", "return")
    }
    assert found["keep"] < 10 < found["return"]


def test_on_cpu_unless_there_is_an_accelerator_or_the_environment_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    (tmp_path / "nvidiactl").touch()  # the driver without a device
    assert on_cpu(tmp_path)
    (tmp_path / "nvidia0").touch()
    assert not on_cpu(tmp_path)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert on_cpu(tmp_path)
    monkeypatch.setenv("JAX_PLATFORMS", "tpu,cpu")
    assert not on_cpu(tmp_path)
