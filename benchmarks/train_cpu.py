"""How fast a whole training step is on this machine's CPU, beside ``transformers`` Llama on torch, eager and compiled.

    make bench-train                                   # installs the peers in an environment of their own
    python benchmarks/train_cpu.py [--models 25m 125m] [--rounds 5] [--peers PYTHON]

Same sizes, same rows, float32, two threads each: forward, backward, clipping, AdamW, and the metrics that our step reports.
Every contender is a process that waits for its turn; in each round each takes one step. Prints medians of seconds of the clock
and of CPU time: on a machine that does something else as well, only the latter compares. Ratios are torch's time ÷ ours, so 1.0
is the floor. All run with the same malloc (``GLIBC_TUNABLES``): it keeps what is freed, as ``tootsie train`` sees to itself
(:mod:`tootsie.train.allocator`), in transparent huge pages, which spares each of them the faults of fresh memory.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEERS = Path(__file__).resolve().parent.parent / ".build" / "train-peers" / "venv" / "bin" / "python"
MALLOC = ("hugetlb=1", "mmap_max=0", f"trim_threshold={2**40}", "arena_max=1")
THREADS = 2

# Tied, all heads with keys of their own. Rows of 512 tokens, 8 for the small model, 2 for the large one.
MODELS: dict[str, dict[str, int]] = {
    "25m": {"vocabulary": 16_384, "size": 512, "layers": 5, "heads": 8, "mlp": 1408, "rows": 8},
    "125m": {"vocabulary": 50_304, "size": 768, "layers": 12, "heads": 12, "mlp": 2048, "rows": 2},
}
LENGTH = 512
CONTENDERS = {"tootsie": "Tootsie", "eager": "torch, eager", "compiled": "torch, compiled"}


def ours(model: dict[str, int]) -> tuple[int, Callable[[], float], Callable[[], str]]:
    """Return the parameters, our step, and what gives its compiled program as text."""
    import jax
    import numpy as np

    from tootsie.train.architecture import Architecture, parameter_count
    from tootsie.train.model import Execution, LayerLoop, build
    from tootsie.train.optimizer import StepSettings
    from tootsie.train.rope import Rope
    from tootsie.train.step import Rows, make_init, make_update

    architecture = Architecture(
        vocabulary_size=model["vocabulary"],
        model_size=model["size"],
        layers=model["layers"],
        heads=model["heads"],
        kv_heads=model["heads"],
        head_size=model["size"] // model["heads"],
        mlp_size=model["mlp"],
        rope=Rope(theta=10_000, scaling=None),
        tied_embeddings=True,
    )
    network = build(architecture, Execution("float32", LayerLoop.UNROLLED))
    update = make_update(network, None)
    state = make_init(network, average=False)(jax.random.key(0))
    values = {"learning_rate": 1e-3, "weight_decay": 0.1, "z_loss": 0, "ema_beta": 0, "clip_norm": 1}
    values |= {"adam_beta1": 0.9, "adam_beta2": 0.95, "adam_epsilon": 1e-8}
    settings = StepSettings(**{name: np.float32(value) for name, value in values.items()})
    shape = (model["rows"], LENGTH)
    tokens = np.random.default_rng(0).integers(0, model["vocabulary"], shape, dtype=np.int32)
    rows = Rows(tokens, np.ones(shape, np.int32), np.ones(shape, bool))

    def step() -> float:
        nonlocal state
        state, metrics = update(state, rows, settings)
        jax.block_until_ready(state)
        return float(metrics.loss)

    def program() -> str:
        jitted: Any = update  # compiled functions can be lowered
        return str(jitted.lower(state, rows, settings).compile().as_text())

    return parameter_count(architecture), step, program


def theirs(model: dict[str, int], compiled: bool) -> tuple[int, Callable[[], float]]:
    """Return the parameters and the step of ``transformers``."""
    import numpy as np
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=model["vocabulary"],
        hidden_size=model["size"],
        num_hidden_layers=model["layers"],
        num_attention_heads=model["heads"],
        num_key_value_heads=model["heads"],
        intermediate_size=model["mlp"],
        max_position_embeddings=LENGTH,
        tie_word_embeddings=True,
        use_cache=False,
        attn_implementation="sdpa",
    )
    network = LlamaForCausalLM(config)
    parameters = list(network.parameters())
    optimizer = torch.optim.AdamW(
        parameters, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, fused=True
    )
    call = torch.compile(network) if compiled else network
    shape = (model["rows"], LENGTH)
    tokens = np.random.default_rng(0).integers(0, model["vocabulary"], shape, dtype=np.int32)
    ids = torch.from_numpy(tokens).long()

    def step() -> float:
        loss = call(input_ids=ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(loss)

    return sum(parameter.numel() for parameter in parameters), step


def serve(name: str, model: dict[str, int]) -> None:
    """Take a step for each line that comes in; print seconds of the clock, CPU seconds and the loss."""
    parameters, step, *_ = ours(model) if name == "tootsie" else theirs(model, name == "compiled")
    step()  # compiles
    _say({"parameters": parameters})
    for _ in sys.stdin:
        clock, cpu = time.perf_counter(), time.process_time()
        loss = step()
        _say({"seconds": time.perf_counter() - clock, "cpu": time.process_time() - cpu, "loss": loss})


def _say(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


def malloc_settings() -> dict[str, str]:
    """Return the environment of a process whose malloc is set as all contenders' is."""
    return {"GLIBC_TUNABLES": ":".join(f"glibc.malloc.{option}" for option in MALLOC)}


def measure(name: str, rounds: int, peers: str) -> None:
    """Print the figures of one model."""
    model, running = MODELS[name], {}
    threads = {"OMP_NUM_THREADS": str(THREADS), "JAX_PLATFORMS": "cpu"}
    for contender in CONTENDERS:
        python = sys.executable if contender == "tootsie" else peers
        if contender != "tootsie" and not Path(python).exists():
            continue
        command = [python, __file__, "--serve", contender, "--models", name]
        running[contender] = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | malloc_settings() | threads,
        )
    sizes = {contender: _read(process)["parameters"] for contender, process in running.items()}
    if len(set(sizes.values())) != 1:
        raise SystemExit(f"the models differ in size: {sizes}")
    found: dict[str, list[dict[str, float]]] = {contender: [] for contender in running}
    for _ in range(rounds):
        for contender, process in running.items():
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
            found[contender].append(_read(process))
    for process in running.values():
        process.communicate()
    tokens = model["rows"] * LENGTH
    print(f"{name}: {sizes['tootsie']:,} parameters, {model['rows']} x {LENGTH} tokens, {rounds} rounds")
    middle = {
        contender: {key: statistics.median(r[key] for r in results) for key in ("seconds", "cpu")}
        for contender, results in found.items()
    }
    for contender, figures in middle.items():
        ratios = "".join(f"  {figures[key] / middle['tootsie'][key]:6.2f}" for key in ("seconds", "cpu"))
        print(
            f"  {CONTENDERS[contender]:16s} {figures['seconds']:7.2f} s  {figures['cpu']:7.2f} s of CPU"
            f"  {tokens / figures['seconds']:8,.0f} tokens/s  time ÷ ours (clock, CPU): {ratios}"
        )


def _read(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{process.args} ended without a result")
    found: dict[str, Any] = json.loads(line)
    return found


def main() -> None:
    """Measure, or be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", default=str(PEERS), help="Python that has torch and transformers")
    parser.add_argument("--serve", choices=CONTENDERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, MODELS[arguments.models[0]])
        return
    for name in arguments.models:
        measure(name, arguments.rounds, arguments.peers)


if __name__ == "__main__":
    main()
