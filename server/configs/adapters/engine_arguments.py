"""Engine arguments inside a trainer's configuration: names that the engine's own release does not know.

The trainer leaves these sections open and hands them on, so the engine is the first to refuse a name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from ...store.index import adapter as adapter_data
from ..run_config import RunConfig, Setting, UnknownKey

_TABLES = {"vllm": ("serve", "EngineArgs"), "sglang": ("ServerArgs",)}
# Trainers decide these by their own keys; `speculation` is read from what is below it
_OF_TRAINER = ("model", "weight_sync_backend", "speculation")
_DRAFTS = ("speculative_config", "speculative_algorithm")
_BY_KEYWORD = ("sglang",)  # handed on as keywords, which have no abbreviations; to vLLM as options


def judge_handed_on(
    run: RunConfig, sections: Mapping[str, str], own: Collection[str] = (), by_keyword: Collection[str] = _BY_KEYWORD
) -> None:
    """Keys below a section that the engine does not take, into `run.unknown_keys`.

    sections: engine -> beginning of the keys. own: names that the trainer takes out before it hands them on.
    by_keyword: engines that get keywords. Without a known version of the engine a name counts as unknown only when no
    release that was read has it.
    """
    for engine, section in sections.items():
        given = {key.removeprefix(section): key for key in run.native if key.startswith(section)}
        if not given:
            continue
        from ..keys import load

        stated = run.versions.get(engine)
        table = load(engine, _TABLES[engine], stated)
        exact = stated is not None and table.exact
        for name, key in given.items():
            known = name.split(".")[0] in set(table) if engine in by_keyword else table.known(name)
            if known or name in own or (not exact and table.lifecycle(name) is not None):
                continue
            reason = table.explain_unknown(name)
            meant = [section + similar for similar in reason.did_you_mean]
            setting = run.native[key]
            run.unknown_keys.append(UnknownKey(key, setting.file, setting.line, meant, reason.note))


def below(run: RunConfig, section: str) -> dict[str, Setting]:
    """What was written in a section (`a.b.`) that is handed on: the engine's name -> setting. A section that was given
    as one mapping counts key by key."""
    whole = run.native.get(section.removesuffix("."))
    mapping = whole.value if whole is not None and isinstance(whole.value, dict) else {}
    found = {str(name): replace(whole, value=value) for name, value in mapping.items()} if whole is not None else {}
    return found | {key.removeprefix(section): item for key, item in run.native.items() if key.startswith(section)}


def take_handed_on(run: RunConfig, engine: str, given: Mapping[str, Setting], keep: Collection[str] = ()) -> None:
    """Canonical fields from the engine's arguments that a trainer hands on, as its release names them.

    Only what was written: the engine's defaults are not the trainer's. keep: fields that stay the trainer's own.
    """
    data = adapter_data(engine)
    for field, names in data["fields"].items():
        setting = next((found for name in names if (found := _argument(given, name)) is not None), None)
        if setting is not None and field not in keep and field not in _OF_TRAINER:
            run.set_explicit_like(field, setting, setting.value)
            run.keys[field] = setting.key
    for field, switch in data.get("opposites", {}).items():
        setting = run.settings.get(switch)
        if setting is not None and isinstance(setting.value, bool):
            run.set_explicit_like(field, setting, not setting.value)
    drafts = next((item for name, item in given.items() if name.partition(".")[0] in _DRAFTS and item.value), None)
    if drafts is not None:
        run.set_explicit_like("speculation", drafts, True)


def _argument(given: Mapping[str, Setting], name: str) -> Setting | None:
    """An argument, or a part of one that was given as a mapping."""
    head, _, rest = name.partition(".")
    if name in given or not rest or head not in given or not isinstance(given[head].value, dict):
        return given.get(name)
    inside = given[head].value
    return replace(given[head], key=f"{given[head].key}.{rest}", value=inside[rest]) if rest in inside else None


def derive_recurrent(run: RunConfig) -> None:
    """recurrent_layers from the model's name; a name that tells nothing leaves it open."""
    name = run.value("model")
    if isinstance(name, str) and re.search(adapter_data("vllm")["recurrent_models"], name.lower()[-300:]):
        run.derive("recurrent_layers", True, f"from the model name {name!r}", run.key_of("model"))
