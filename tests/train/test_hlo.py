"""FLOPs and traffic read from programs: small ones compiled here, and lines as the TPU compiler writes them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from tootsie.train import hlo

# Trimmed to what is read: a loop of 3 with a product whose batch the compiler made a window of, over a gather in two fusions.
TPU = """HloModule jit_update

%piece.1 (p: bf16[16,64]) -> bf16[128,64] {
  %p = bf16[16,64]{1,0:T(8,128)(2,1)} parameter(0)
  ROOT %all-gather.1 = bf16[128,64]{1,0:T(8,128)(2,1)} all-gather(%p), channel_id=1, replica_groups=[2,8]<=[16], dimensions={0}, use_global_device_ids=true, frontend_attributes={chain_id="4"}
}

%piece.2 (q: bf16[16,64]) -> bf16[128,64] {
  %q = bf16[16,64]{1,0} parameter(0)
  ROOT %all-gather.2 = bf16[128,64]{1,0} all-gather(%q), channel_id=1, replica_groups=[2,8]<=[16], dimensions={0}, use_global_device_ids=true, frontend_attributes={chain_id="4"}
}

%body (arg: (s32[], bf16[2,32,128], bf16[16,64])) -> (s32[], bf16[2,32,128], bf16[16,64]) {
  %arg = (s32[]{:T(128)}, bf16[2,32,128]{2,1,0}, bf16[16,64]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%arg), index=0
  %x = bf16[2,32,128]{2,1,0} get-tuple-element(%arg), index=1
  %w = bf16[16,64]{1,0} get-tuple-element(%arg), index=2
  %f1 = bf16[128,64]{1,0} fusion(%w), kind=kCustom, calls=%piece.1, backend_config={"window_config":{"estimated_cycles":"10"}}
  %f2 = bf16[128,64]{1,0} fusion(%w), kind=kCustom, calls=%piece.2, backend_config={"window_config":{"estimated_cycles":"5"}}
  %k = bf16[128,64,1]{1,0,2} bitcast(%f2)
  %c = bf16[2,32,64]{2,1,0} convolution(%k, %x), window={size=2 pad=1_1 rhs_reversal=1}, dim_labels=fb0_0oi->0fb
  %s = (bf16[2,32,64]{2,1,0}, u32[], token[]) send(%c, %i), channel_id=3, is_host_transfer=true, frontend_attributes={_xla_host_transfer_handler_name="xla_megascale_runtime"}
  %splash_mha_fwd.2 = (f32[2,512,128]{2,1,0}, bf16[2,32,4096,128]{3,2,1,0}) custom-call(%i, %q4), custom_call_target="tpu_custom_call"
  %q4 = bf16[2,32,4096,128]{3,2,1,0} broadcast(%i), dimensions={}
  ROOT %t = (s32[], bf16[2,32,128]{2,1,0}, bf16[16,64]{1,0}) tuple(%i, %x, %w)
}

%condition (arg.1: (s32[], bf16[2,32,128], bf16[16,64])) -> pred[] {
  %n = s32[]{:T(128)} constant(3), metadata={op_name="x"}
  %arg.1 = (s32[]{:T(128)}, bf16[2,32,128]{2,1,0}, bf16[16,64]{1,0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%arg.1), index=0
  ROOT %lt = pred[] compare(%i.1, %n), direction=LT
}

ENTRY %main (a: bf16[2,32,128], b: bf16[16,64]) -> f32[8] {
  %a = bf16[2,32,128]{2,1,0} parameter(0)
  %b = bf16[16,64]{1,0} parameter(1)
  %zero = s32[] constant(0)
  %start = (s32[], bf16[2,32,128]{2,1,0}, bf16[16,64]{1,0}) tuple(%zero, %a, %b)
  %loop = (s32[], bf16[2,32,128]{2,1,0}, bf16[16,64]{1,0}) while(%start), condition=%condition, body=%body
  %g = f32[8]{0} constant({...})
  ROOT %all-reduce = (f32[8]{0}, f32[8]{0}) all-reduce(%g, %g), replica_groups={{0,8},{1,9}}, to_apply=%add, metadata={op_name="jit(update)/psum"}
}
"""


def test_a_chain_of_fusions_is_one_collective_in_each_round_of_the_loop() -> None:
    program = hlo.parse(TPU)
    found = {exchange.kind: exchange for exchange in hlo.collectives(program)}
    gather = found["all-gather"]
    assert (gather.bytes, gather.group, gather.times) == (128 * 64 * 2, tuple(range(8)), 3)
    assert hlo.wire_bytes(gather) == 3 * 128 * 64 * 2 * 7 / 8
    total = found["all-reduce"]
    assert (total.bytes, total.group, total.times, total.source) == (64, (0, 8), 1, "jit(update)/psum")
    assert hlo.wire_bytes(total) == 64
    assert hlo.wire_bytes(found["between slices"]) == 3 * 2 * 32 * 64 * 2
    assert len(hlo.collectives(program)) == 3


def test_a_window_over_padding_counts_no_products() -> None:
    """Two rows as a window of two over one padded place: of its four meetings only two are not with padding."""
    assert hlo.matrix_flops(hlo.parse(TPU)) == 3 * 2 * 2 * 32 * 64 * 128


def test_kernels_and_estimates_count_as_often_as_they_run() -> None:
    program = hlo.parse(TPU)
    assert hlo.splash_kernels(program) == [("splash_mha_fwd.2", (2, 32, 4096, 128), 3)]
    of_one_row = hlo.parse(
        TPU.replace("bf16[2,32,4096,128]{3,2,1,0} broadcast", "bf16[32,4096,128]{2,1,0} broadcast")
    )
    assert hlo.splash_kernels(of_one_row) == [("splash_mha_fwd.2", (1, 32, 4096, 128), 3)]
    estimates = [
        times * (hlo.cycles_of(one) or 0) for one, _, times, fused in hlo.executed(program) if not fused
    ]
    assert sum(estimates) == 45


@pytest.mark.parametrize("layers", [1, 5])
def test_products_of_a_compiled_scan_are_counted_for_every_layer(layers: int) -> None:
    def run(x: jax.Array, weights: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights)[0]

    text = jax.jit(run).lower(jnp.ones((64, 48)), jnp.ones((layers, 48, 48))).compile().as_text()
    assert hlo.matrix_flops(hlo.parse(text)) == layers * 2 * 64 * 48 * 48


def test_iota_groups_may_be_transposed() -> None:
    assert hlo._first_group("replica_groups=[2,4]<=[4,2]T(1,0), x") == (0, 2, 4, 6)
    assert hlo._first_group("replica_groups={{3,1},{0,2}}") == (3, 1)
    assert hlo._first_group("channel_id=1") == ()


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("bf16[8,4]{1,0:T(8,128)(2,1)}", 64),
        ("(f8e4m3fn[1024]{0}, pred[3], token[])", 1027),
        ("s4[3]", 2),
        ("c64[8]", 64),
        ("f32[<=8,2]", 64),
        ("f32[]", 4),
    ],
)
def test_the_size_of_an_array_is_that_of_its_dtype(shape: str, size: int) -> None:
    assert hlo.size_in_bytes(shape) == size


def test_a_group_of_one_exchanges_nothing() -> None:
    assert hlo.wire_bytes(hlo.Collective("all-gather", 64, (3,), 1, "")) == 0
    assert hlo.wire_bytes(hlo.Collective("all-reduce", 64, (3,), 1, "")) == 0


def test_both_branches_of_a_condition_are_called() -> None:
    rest = "), true_computation=%yes, false_computation=%no"
    assert hlo.called(hlo.Instruction("c", "conditional", "f32[]", (), rest)) == ("yes", "no")
