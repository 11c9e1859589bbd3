"""What a model is made of: sizes, and the presets by name. No JAX here."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tootsie.train.rope import LLAMA3_SCALING, Rope


class Architecture(BaseModel):
    """A model of the Llama family: RMSNorm, grouped-query attention, SwiGLU, rotary positions, no biases."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    vocabulary_size: int = Field(gt=1)
    """Rows of the embedding (V); must be that of the plan's tokenizer."""
    model_size: int = Field(gt=0)
    """Width of the residual stream (D)."""
    layers: int = Field(gt=0)
    """Blocks (L)."""
    heads: int = Field(gt=0)
    """Query heads (H)."""
    kv_heads: int = Field(gt=0)
    """Key and value heads (K); each serves H/K query heads."""
    head_size: int = Field(gt=0)
    """Width of one head (P), even."""
    mlp_size: int = Field(gt=0)
    """Inner width of the gated MLP (F)."""
    rope: Rope
    """Rotary positions; no default."""
    tied_embeddings: bool
    """Whether the output head is the embedding itself."""
    norm_epsilon: float = Field(default=1e-5, gt=0)
    """Added to the mean square in RMSNorm."""
    initializer_scale: float = Field(default=0.02, gt=0)
    """Standard deviation of every matrix at the start."""

    @model_validator(mode="after")
    def _fits(self) -> Architecture:
        if self.heads % self.kv_heads:
            raise ValueError(f"heads ({self.heads}) must be a multiple of kv_heads ({self.kv_heads})")
        if self.head_size % 2:
            raise ValueError(f"head_size ({self.head_size}) must be even: positions rotate pairs")
        return self


def parameter_count(architecture: Architecture) -> int:
    """Return the exact number of parameters.

    ``V·D`` (twice when untied) + ``L · (D·P·(H + 2K) + H·P·D + 3·D·F + 2·D)`` + ``D``.
    """
    a = architecture
    attention = a.model_size * a.head_size * (2 * a.heads + 2 * a.kv_heads)
    layer = attention + 3 * a.model_size * a.mlp_size + 2 * a.model_size
    embeddings = a.vocabulary_size * a.model_size * (1 if a.tied_embeddings else 2)
    return embeddings + a.layers * layer + a.model_size


def flops_per_token(architecture: Architecture, length: int) -> int:
    """Return training FLOPs per token: forward and backward (3 × forward), no recomputation.

    A multiply-add counts 2. Matrices: 2 × their parameters, the head included, the embedding lookup not. Attention:
    ``2 · 2 · H · P · length / 2`` per layer forward, halved because it is causal.
    """
    a = architecture
    lookup = 0 if a.tied_embeddings else a.vocabulary_size * a.model_size
    norms = (2 * a.layers + 1) * a.model_size
    matrices = parameter_count(a) - lookup - norms
    return 3 * (2 * matrices + 2 * a.layers * a.heads * a.head_size * length)


_LLAMA3_ROPE = Rope(theta=500_000, scaling=LLAMA3_SCALING)
_SHORT_ROPE = Rope(theta=10_000, scaling=None)
_LLAMA_8B = Architecture(
    vocabulary_size=128_256,
    model_size=4096,
    layers=32,
    heads=32,
    kv_heads=8,
    head_size=128,
    mlp_size=14_336,
    rope=_LLAMA3_ROPE,
    tied_embeddings=False,
)

PRESETS: dict[str, Architecture] = {
    # 8,030,261,248 parameters, the model of the Marin run from Ocelot on.
    "llama3.1-8b": _LLAMA_8B,
    "tootsie-8b": _LLAMA_8B,
    # 70.6 B, the sizes of Llama 3.1 70B.
    "tootsie-70b": _LLAMA_8B.model_copy(
        update={"model_size": 8192, "layers": 80, "heads": 64, "kv_heads": 8, "mlp_size": 28_672}
    ),
    # 32.5 B, the sizes of the Marin 32B before it was given normalised queries and keys.
    "tootsie-32b": _LLAMA_8B.model_copy(
        update={"model_size": 5120, "layers": 64, "heads": 40, "kv_heads": 8, "mlp_size": 27_648}
    ),
    # 24.1 B.
    "tootsie-24b": _LLAMA_8B.model_copy(
        update={"model_size": 6144, "layers": 56, "heads": 48, "kv_heads": 16, "mlp_size": 16_384}
    ),
    # 1.24 B, the sizes of Llama 3.2 1B.
    "tootsie-1b": Architecture(
        vocabulary_size=128_256,
        model_size=2048,
        layers=16,
        heads=32,
        kv_heads=8,
        head_size=64,
        mlp_size=8192,
        rope=_LLAMA3_ROPE,
        tied_embeddings=True,
    ),
    # 127 M, of which 74 M are the embedding of the Llama-3 vocabulary.
    "tootsie-125m": Architecture(
        vocabulary_size=128_256,
        model_size=576,
        layers=15,
        heads=9,
        kv_heads=3,
        head_size=64,
        mlp_size=1536,
        rope=_LLAMA3_ROPE,
        tied_embeddings=True,
    ),
    # 17 M with the embedded tokenizer: a real model that a laptop trains in hours.
    "tootsie-nano": Architecture(
        vocabulary_size=16_384,
        model_size=384,
        layers=7,
        heads=6,
        kv_heads=2,
        head_size=64,
        mlp_size=1024,
        rope=_SHORT_ROPE,
        tied_embeddings=True,
    ),
    # 1.9 M, of which 1.6 M are the embedding: two CPU cores train it on a million tokens in about two minutes.
    "tootsie-demo": Architecture(
        vocabulary_size=16_384,
        model_size=96,
        layers=3,
        heads=3,
        kv_heads=1,
        head_size=32,
        mlp_size=256,
        rope=_SHORT_ROPE,
        tied_embeddings=True,
    ),
}
