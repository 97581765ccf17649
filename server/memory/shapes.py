"""The shape of a model, and the sizes that follow from it: parameters, adapters, cache per token, activations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..store import memory as store


@dataclass(frozen=True, slots=True)
class Experts:
    """`layers` of the model have `count` experts of width `intermediate` each; `shared` is the width of shared ones."""

    count: int
    top_k: int
    intermediate: int
    layers: int
    shared: int = 0


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """MLA: `kv_rank` + `rope_dim` numbers are cached per token and layer. q_rank 0: the query is projected directly."""

    q_rank: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    v_dim: int


@dataclass(frozen=True, slots=True)
class LinearAttention:
    """Gated delta-net in `layers` of the model; these layers keep a state of fixed size, no keys and values."""

    layers: int
    key_heads: int
    value_heads: int
    head_dim: int


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder-only transformer. `id` is "" for the user's own config.json."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied: bool
    qkv_bias: bool = False
    qk_norm: bool = False
    gated_mlp: bool = True
    gated_attention: bool = False
    experts: Experts | None = None
    mla: LatentAttention | None = None
    linear_attention: LinearAttention | None = None
    id: str = ""

    @property
    def query(self) -> int:
        """Width of all query heads."""
        return self.heads * (self.mla.nope_dim + self.mla.rope_dim if self.mla else self.head_dim)

    @property
    def keys(self) -> int:
        """Width of all key heads, which is that of the values."""
        return self.kv_heads * self.head_dim

    @property
    def attention_layers(self) -> int:
        """Layers that cache keys and values."""
        return self.layers - (self.linear_attention.layers if self.linear_attention else 0)

    @property
    def moe_layers(self) -> int:
        return self.experts.layers if self.experts else 0

    def linears(self) -> Iterator[tuple[int, int, int]]:
        """(width in, width out, how many) of every matrix in the layers, experts included; not embedding and output."""
        yield from ((*matrix, self.attention_layers) for matrix in self._attention())
        if self.linear_attention:
            yield from (
                (*matrix, self.linear_attention.layers) for matrix in _delta_net(self.hidden, self.linear_attention)
            )
        for width, count in self._mlps():
            up = 2 if self.gated_mlp else 1
            yield self.hidden, width, up * count
            yield width, self.hidden, count

    def _attention(self) -> Iterator[tuple[int, int]]:
        h = self.hidden
        if self.mla:
            latent = self.mla
            if latent.q_rank:
                yield h, latent.q_rank
            yield latent.q_rank or h, self.query
            yield h, latent.kv_rank + latent.rope_dim
            yield latent.kv_rank, self.heads * (latent.nope_dim + latent.v_dim)
            yield self.heads * latent.v_dim, h
            return
        yield h, self.query * (2 if self.gated_attention else 1)
        yield h, self.keys
        yield h, self.keys
        yield self.query, h

    def _mlps(self) -> Iterator[tuple[int, int]]:
        """(width, how many) of the feed-forward blocks."""
        if dense := self.layers - self.moe_layers:
            yield self.intermediate, dense
        if self.experts:
            yield self.experts.intermediate, self.experts.count * self.experts.layers
            if self.experts.shared:
                yield self.experts.shared, self.experts.layers

    def linear_parameters(self) -> int:
        """Parameters in the matrices of the layers: what a 4-bit base quantises, and LoRA adapts."""
        return sum(wide * out * count for wide, out, count in self.linears())

    def embedding_parameters(self) -> int:
        """Input embedding, and the output layer where it is not the same matrix."""
        return self.vocab * self.hidden * (1 if self.tied else 2)

    def parameters(self) -> int:
        """All of them: every expert is counted, since every expert is resident."""
        small = self.layers * 2 * self.hidden + self.hidden
        small += self.attention_layers * (self.query + 2 * self.keys if self.qkv_bias else 0)
        small += self.attention_layers * (2 * self.head_dim if self.qk_norm else 0)
        if self.experts:
            small += self.experts.layers * self.experts.count * self.hidden  # routers
        return self.linear_parameters() + self.embedding_parameters() + small

    def active_parameters(self) -> int:
        """Parameters that one token passes through."""
        if not self.experts:
            return self.parameters()
        idle = self.experts.count - self.experts.top_k
        return self.parameters() - idle * self.experts.layers * 3 * self.hidden * self.experts.intermediate

    def lora_parameters(self, rank: int, targets: str = "all-linear") -> int:
        """Parameters of adapters: rank x (width in + width out) of each adapted matrix.

        targets: "all-linear" (experts left out: adapters of fused expert weights are the exception), or names of
        projections, as "q_proj,v_proj".
        """
        if targets == "all-linear":
            return rank * sum((wide + out) * count for wide, out, count in self._adapted())
        names = set(re.findall(r"[a-z]+_proj", targets))
        q, k, h, mlp = self.query, self.keys, self.hidden, self.intermediate
        sizes = {"q_proj": h + q, "k_proj": h + k, "v_proj": h + k, "o_proj": q + h}
        sizes |= dict.fromkeys(("gate_proj", "up_proj", "down_proj"), h + mlp)
        return rank * self.layers * sum(sizes[name] for name in names & set(sizes))

    def _adapted(self) -> Iterator[tuple[int, int, int]]:
        if not self.experts:
            yield from self.linears()
            return
        yield from ((*matrix, self.attention_layers) for matrix in self._attention())
        if self.linear_attention:
            yield from (
                (*matrix, self.linear_attention.layers) for matrix in _delta_net(self.hidden, self.linear_attention)
            )

    def layer_parameters(self) -> int:
        """Parameters of one layer: what FSDP gathers at a time."""
        return self.linear_parameters() // self.layers

    def kv_bytes_per_token(self, element: float = 2) -> int:
        """Bytes of keys and values that one token adds to the cache, all layers."""
        if self.mla:
            return int(self.layers * (self.mla.kv_rank + self.mla.rope_dim) * element)
        return int(2 * self.attention_layers * self.keys * element)

    def layer_activation_bytes(self) -> int:
        """Bytes per token that one layer keeps for its backward pass: 16-bit numbers, attention without the matrix of
        scores. RMSNorm keeps its input in fp32 and its output: 12h for the two of a layer; 4q + 4k around attention;
        8I in a gated MLP. A MoE layer keeps the chosen experts' and two copies of what it dispatches."""
        width, dispatched = self.intermediate, 0
        if self.experts and self.experts.layers * 2 > self.layers:
            width = self.experts.top_k * self.experts.intermediate + self.experts.shared
            dispatched = 4 * self.experts.top_k * self.hidden
        norms, per_width = (12, 8) if self.gated_mlp else (8, 4)
        attention = (8 if self.qk_norm else 4) * (self.query + self.keys)
        return norms * self.hidden + attention + per_width * width + dispatched


def _delta_net(hidden: int, linear: LinearAttention) -> Iterator[tuple[int, int]]:
    keys, values = linear.key_heads * linear.head_dim, linear.value_heads * linear.head_dim
    yield hidden, 2 * keys + 2 * values  # query, key, value and output gate
    yield hidden, 2 * linear.value_heads  # decay and write strength
    yield values, hidden


def known_shape(name: str) -> Shape | None:
    """The shape of a checkpoint that the data knows, by id, hub name or the last part of a path; None when unknown."""
    last = re.split(r"[/\\]", name.strip().rstrip("/\\"))[-1].lower()
    names = _names()
    for candidate in _shortened(last):
        if candidate in names:
            return of_entry(store.models()[names[candidate]])
    return None


def of_entry(entry: Mapping[str, Any]) -> Shape:
    """A shape from an entry of knowledge/models."""
    parts = {"experts": Experts, "mla": LatentAttention, "linear_attention": LinearAttention}
    known = {item.name for item in fields(Shape)} - {"name"}
    values = {name: value for name, value in entry.items() if name in known and value is not None}
    for name, kind in parts.items():
        if name in values:
            values[name] = kind(**values[name])
    return Shape(name=entry["names"][0], **values)


def nearest_models(name: str, count: int = 3) -> list[str]:
    """Names of known models that are spelled most like a name."""
    from rapidfuzz import fuzz, process

    last = name.strip().rstrip("/").split("/")[-1].lower()
    shown = [spelling for entry in store.models().values() for spelling in entry["names"]]
    found = process.extract(last, shown, scorer=fuzz.ratio, processor=str.lower, limit=count)
    return [match[0] for match in found]


def _names() -> dict[str, str]:
    return {name: id for id, entry in store.models().items() for name in (id, *map(str.lower, entry["names"]))}


_ENDINGS = re.compile(
    r"[-_](instruct|chat|base|it|hf|pt|thinking|bnb|4bit|8bit|unsloth|awq|gptq|int4|int8|fp8|bf16|dynamic|[0-9]{4})$"
)


def _shortened(name: str) -> Iterator[str]:
    """The name, then without one ending after the other ("qwen3-4b-base-bnb-4bit", ...)."""
    yield name
    while match := _ENDINGS.search(name):
        name = name[: match.start()]
        yield name
