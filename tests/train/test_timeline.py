"""Timelines of small scheduled programs, written as the TPU compiler writes them, with answers known by hand or by unrolling."""

from __future__ import annotations

import random
import re

import pytest

from tootsie.train import chips, hlo
from tootsie.train.precompile import Compiled
from tootsie.train.timeline import KERNEL_SHARE, Timeline, simulate

# One cycle is one second; a ring along ``fsdp`` and the network between slices each move one byte a second.
CHIP = chips.CHIPS["v5e"]._replace(
    clock=1.0, link=0.5, links=4, between_slices=1.0, memory_bandwidth=1.0, peak=8.0
)
GROUP = "replica_groups={{0,1}}, dimensions={0}"
MEGASCALE = '_xla_host_transfer_handler_name="xla_megascale_runtime",_xla_host_transfer_rendezvous'


def work(name: str, cycles: int, calls: str = "") -> str:
    config = f'backend_config={{"window_config":{{"estimated_cycles":"{cycles}"}}}}' if cycles else ""
    return f"  %{name} = f32[8]{{0}} fusion(%p), kind=kLoop, calls=%{calls or 'plain'}, {config}"


def start(name: str, size: int) -> str:
    """A gather over two devices that sends ``size`` bytes."""
    return f"  %{name} = (u8[{size}]{{0}}, u8[{2 * size}]{{0}}) all-gather-start(%p{size}), {GROUP}"


def done(name: str) -> str:
    return f"  %{name}.done = u8[2]{{0}} all-gather-done(%{name})"


def program(*lines: str, rounds: int = 0, others: str = "") -> str:
    """The lines in the entry, or in the body of a loop that runs ``rounds`` times."""
    sizes = sorted({int(size) for line in lines for size in re.findall(r"\(%p(\d+)\)", line)})
    given = ["  %p = f32[8]{0} parameter(0)", *(f"  %p{n} = u8[{n}]{{0}} parameter(1)" for n in sizes)]
    body = "\n".join([*given, *lines])
    text = f"HloModule m, is_scheduled=true\n\n%plain (a: f32[8]) -> f32[8] {{\n  %a = f32[8] negate(%a)\n}}\n{others}\n"
    if not rounds:
        return f"{text}\nENTRY %main (p: f32[8]) -> f32[8] {{\n{body}\n}}\n"
    loop = f'  %w = f32[8]{{0}} while(%p), condition=%c, body=%body, known_trip_count={{"n":"{rounds}"}}'
    return (
        f"{text}\n%body (p: f32[8]) -> f32[8] {{\n{body}\n}}\n\nENTRY %main (p: f32[8]) -> f32[8] {{\n"
        f"  %p = f32[8]{{0}} parameter(0)\n{loop}\n}}\n"
    )


def timeline(text: str) -> Timeline:
    return simulate(hlo.parse(text), CHIP, lambda group: "fsdp", lambda name, query: 24.0)


def test_an_exchange_beside_longer_work_costs_nothing() -> None:
    found = timeline(program(start("g", 30), work("f", 50), done("g")))
    assert found == Timeline(50.0, {"other": 50.0}, {}, {"fsdp": 30.0})
    assert (found.work, found.unhidden) == (50.0, 80.0)


def test_what_the_work_does_not_cover_is_waited_for() -> None:
    found = timeline(program(start("g", 80), work("f", 50), done("g"), work("h", 5)))
    assert (found.seconds, found.waits) == (85.0, {"fsdp": 30.0})


def test_exchanges_of_one_link_follow_one_another() -> None:
    found = timeline(program(start("g", 30), start("h", 40), work("f", 50), done("g"), done("h")))
    assert (found.seconds, found.waits) == (70.0, {"fsdp": 20.0})


def test_a_synchronous_exchange_is_waited_for_whole() -> None:
    gather = f"  %g = u8[60]{{0}} all-gather(%p30), {GROUP}"
    found = timeline(program(work("f", 50), gather, work("h", 5)))
    assert (found.seconds, found.waits) == (85.0, {"fsdp": 30.0})


def test_an_all_reduce_in_all_directions_has_all_links() -> None:
    """It sends its operand, half of it twice; 4 links of half a byte a second against a ring's 2."""
    reduce = "  %r = u8[40]{0} all-reduce(%p40), replica_groups={{0,1}}, to_apply=%plain"
    assert timeline(program(reduce)).seconds == 40.0
    assert timeline(program(f'{reduce}, backend_config={{"emitter":"RotatedPincerEmitter"}}')).seconds == 20.0


def test_a_chain_lasts_from_its_first_fusion_to_the_end_of_its_last() -> None:
    pieces = "".join(
        f"\n%piece{i} (a: u8[40]) -> u8[80] {{\n  %a{i} = u8[40]{{0}} parameter(0)\n"
        f'  %g{i} = u8[80]{{0}} all-gather(%a{i}), {GROUP}, frontend_attributes={{chain_id="4"}}\n}}\n'
        for i in range(3)
    )
    lines = [work("s", 0, "piece0"), work("f", 30, "piece1"), work("h", 5), work("d", 0, "piece2")]
    found = timeline(program(*lines, work("last", 7), others=pieces))
    assert (found.seconds, found.waits, found.exchanges) == (47.0, {"fsdp": 5.0}, {"fsdp": 40.0})
    assert timeline(program(*lines, rounds=9, others=pieces)).seconds == 9 * 40.0


def test_what_a_slice_receives_has_come_when_the_other_has_sent_it() -> None:
    lines = [
        "  %t = token[] after-all()",
        f'  %s = (u8[60]{{0}}, u32[], token[]) send(%p60, %t), frontend_attributes={{{MEGASCALE}="a"}}',
        f'  %r = (u8[60]{{0}}, u32[], token[]) recv(%t), frontend_attributes={{{MEGASCALE}="a"}}',
        work("f", 20),
        "  %q = u8[60]{0} convert(%p60)",
        "  %r.done = (u8[60]{0}, token[]) recv-done(%r), channel_id=2",
        work("h", 5),
        "  %s.done = token[] send-done(%s), channel_id=3",
    ]
    found = timeline(program("  %z = u8[60]{0} negate(%p60)", *lines))
    assert (found.seconds, found.waits) == (65.0, {"between slices": 40.0})


def test_an_operation_wrapped_as_asynchronous_is_waited_for_by_its_done() -> None:
    wrapped = f"\n%async (a: u8[30]) -> u8[60] {{\n  %a = u8[30]{{0}} parameter(0)\n  %g = u8[60]{{0}} all-gather(%a), {GROUP}\n}}\n"
    lines = [
        "  %s = ((u8[30]{0}), u8[60]{0}) async-start(%p30), calls=%async",
        "  %u = ((u8[30]{0}), u8[60]{0}) async-update(%s)",
        work("f", 20),
        "  %d = u8[60]{0} async-done(%u)",
    ]
    assert timeline(program(*lines, others=wrapped)).waits == {"fsdp": 10.0}


def test_kernels_products_and_moves_without_an_estimate() -> None:
    product = "\n%dot (a: f32[2,2]) -> f32[2,2] {\n  %a = f32[2,2]{1,0} parameter(0)\n  %d = f32[2,2]{1,0} dot(%a, %a), lhs_contracting_dims={1}\n}\n"
    kernel = '(%q), custom_call_target="tpu_custom_call"'
    lines = [
        "  %q = bf16[1,1,8,8]{3,2,1,0} bitcast(%p)",
        f"  %splash_mha_fwd.1 = bf16[1,1,8,8]{{3,2,1,0}} custom-call{kernel}",
        f"  %splash_mha_dkv.1 = bf16[1,1,8,8]{{3,2,1,0}} custom-call{kernel}",
        work("f", 10, "dot"),
        "  %c = f32[8]{0} copy(%p)",
    ]
    forward, backward = KERNEL_SHARE["v5e"]
    assert timeline(program(*lines, others=product)).parts == {
        "attention": 3 / forward + 3 / backward,
        "matrices": 10.0,
        "other": 64.0,
    }


@pytest.mark.parametrize("seed", range(8))
def test_a_loop_is_its_body_so_many_times_and_lies_between_the_bounds(seed: int) -> None:
    """Exchanges may outlast a round's work; the oracle is the same body written out."""
    draw = random.Random(seed)
    body: list[str] = []
    for i in range(5):
        body += [
            work(f"a{i}", draw.randint(1, 40)),
            start(f"g{i}", draw.randint(1, 60)),
            work(f"b{i}", draw.randint(1, 40)),
        ]
        body += [done(f"g{draw.randint(0, i)}") for _ in range(draw.randint(0, 2))]
    rounds = 7
    written_out = [re.sub(r"%([abg]\d)", rf"%\1r{r}", line) for r in range(rounds) for line in body]
    looped, oracle = timeline(program(*body, rounds=rounds)), timeline(program(*written_out))
    assert looped.seconds == pytest.approx(oracle.seconds)
    assert looped.waits == pytest.approx(oracle.waits)
    assert looped.exchanges == pytest.approx(oracle.exchanges)
    assert max(oracle.work, oracle.exchanges["fsdp"] - 60) <= oracle.seconds <= oracle.unhidden
    assert oracle.seconds == pytest.approx(oracle.work + sum(oracle.waits.values()))


def test_a_prediction_lies_between_the_bounds_that_are_printed_beside_it() -> None:
    """A product above its estimate, a gather that is hidden in part, and a sum that is not."""
    product = (
        "\n%dot (a: f32[8,8]) -> f32[8,8] {\n  %a = f32[8,8]{1,0} parameter(0)\n"
        "  %d = f32[8,8]{1,0} dot(%a, %a), lhs_contracting_dims={1}\n}\n"
    )
    reduce = "  %r = u8[40]{0} all-reduce(%p40), replica_groups={{0,1}}, to_apply=%plain"
    text = program(start("g", 150), work("f", 10, "dot"), done("g"), reduce, others=product)
    parsed, predicted = hlo.parse(text), timeline(text)
    assert predicted.parts == {"matrices": 2 * 8**3 / CHIP.peak}
    assert predicted.waits == {"fsdp": 150 - 128 + 40}
    sent = sum(hlo.wire_bytes(exchange) for exchange in hlo.collectives(parsed))
    compiled = Compiled(*[None] * len(Compiled._fields))._replace(  # type: ignore[arg-type]
        chip=CHIP,
        matrix_flops=hlo.matrix_flops(parsed),
        attention_flops=0,
        axis_bytes={"fsdp": sent},
        timeline=predicted,
    )
    assert compiled.step_seconds == (128.0, 128 + 190)
    assert compiled.step_seconds[0] <= predicted.seconds <= compiled.step_seconds[1]
