"""A model's config.json (transformers) → its shape."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ..configs.values import InputError
from .shapes import Experts, LatentAttention, LinearAttention, Shape

_LARGEST = 10**7  # no size of a model is larger; a config.json that says so is wrong


def parse_config_json(text: str, name: str) -> Shape:
    """The shape that a model's config.json states. Raises InputError naming what is missing or impossible."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{name}: not JSON; give a model's config.json, or the model's name") from None
    if not isinstance(data, dict):
        raise InputError(f"{name}: not a model's config.json")
    inner = data.get("text_config") or data.get("llm_config")
    config = {**data, **inner} if isinstance(inner, dict) else data
    return _from_config(config, name)


def _from_config(config: Mapping[str, Any], name: str) -> Shape:
    def size(*keys: str, otherwise: int | None = None, least: int = 1) -> int:
        return _size(config, keys, name, otherwise, least)

    hidden, heads, layers = (
        size("hidden_size", "n_embd"),
        size("num_attention_heads", "n_head"),
        size("num_hidden_layers", "n_layer"),
    )
    kind = str(config.get("model_type", ""))
    experts = _experts(config, name, layers)
    mla = _latent(config, name)
    return Shape(
        name=name,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=size("num_key_value_heads", otherwise=heads),
        head_dim=size("head_dim", otherwise=max(1, hidden // heads)),
        intermediate=size(
            "intermediate_size", "ffn_dim", "n_inner", otherwise=experts.intermediate if experts else 4 * hidden
        ),
        vocab=size("vocab_size"),
        tied=bool(config.get("tie_word_embeddings", kind.startswith("gemma"))),
        qkv_bias=bool(config.get("attention_bias", kind in ("qwen2", "qwen2_moe"))),
        qk_norm=kind.startswith(("qwen3", "gemma3")),
        gated_mlp=kind not in ("phi", "gpt2", "gpt_neox", "opt"),
        gated_attention=config.get("attn_output_gate") is True or kind == "qwen3_next",
        experts=experts,
        mla=mla,
        linear_attention=_linear(config, name, layers),
    )


def _size(config: Mapping[str, Any], keys: tuple[str, ...], name: str, otherwise: int | None, least: int) -> int:
    value = next((config[key] for key in keys if config.get(key) is not None), otherwise)
    if value is None:
        raise InputError(f"{name}: no {keys[0]} in it; give a model's config.json, or the model's name")
    if isinstance(value, list) and value:  # one number a layer: take the largest
        value = max((item for item in value if isinstance(item, int)), default=None)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
        raise InputError(f"{name}: {keys[0]} is {str(value)[:40]}, which no model has")
    return value


def _experts(config: Mapping[str, Any], name: str, layers: int) -> Experts | None:
    keys = ("num_experts", "n_routed_experts", "num_local_experts")
    count = _size(config, keys, name, 0, 0)
    if count < 2:
        return None
    intermediate = _size(config, ("moe_intermediate_size", "intermediate_size"), name, None, 1)
    shared = _size(config, ("shared_expert_intermediate_size",), name, 0, 0)
    shared = shared or _size(config, ("n_shared_experts",), name, 0, 0) * intermediate
    dense = min(_size(config, ("first_k_dense_replace",), name, 0, 0), layers - 1)
    top_k = _size(config, ("num_experts_per_tok",), name, 2, 1)
    if top_k > count:
        raise InputError(f"{name}: {top_k} of {count} experts per token")
    return Experts(count, top_k, intermediate, layers - dense, shared)


def _latent(config: Mapping[str, Any], name: str) -> LatentAttention | None:
    if config.get("kv_lora_rank") is None:
        return None
    keys = ("q_lora_rank", "kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    sizes = [_size(config, (key,), name, 0 if key == "q_lora_rank" else None, 0) for key in keys]
    return LatentAttention(*sizes)


def _linear(config: Mapping[str, Any], name: str, layers: int) -> LinearAttention | None:
    if config.get("linear_num_value_heads") is None:
        return None
    interval = _size(config, ("full_attention_interval",), name, 4, 1)
    keys, values, dim = (
        _size(config, (key,), name, None, 1)
        for key in ("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim")
    )
    return LinearAttention(layers - math.ceil(layers / interval), keys, values, dim)
