"""Engine arguments inside a trainer's configuration: names that the engine's own release does not know.

The trainer leaves these sections open and hands them on, so the engine is the first to refuse a name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ...store.index import adapter as adapter_data
from ..run_config import RunConfig, UnknownKey

_TABLES = {"vllm": ("serve", "EngineArgs"), "sglang": ("ServerArgs",)}
_BY_KEYWORD = ("sglang",)  # handed on as keywords, which have no abbreviations; to vLLM as options


def judge_handed_on(run: RunConfig, sections: Mapping[str, str], own: Collection[str]) -> None:
    """Keys below a section that the engine does not take, into `run.unknown_keys`.

    sections: engine -> beginning of the keys. own: names that the trainer takes out before it hands them on. Without a
    known version of the engine a name counts as unknown only when no release that was read has it.
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
            known = name.split(".")[0] in set(table) if engine in _BY_KEYWORD else table.known(name)
            if known or name in own or (not exact and table.lifecycle(name) is not None):
                continue
            reason = table.explain_unknown(name)
            meant = [section + similar for similar in reason.did_you_mean]
            setting = run.native[key]
            run.unknown_keys.append(UnknownKey(key, setting.file, setting.line, meant, reason.note))


def derive_recurrent(run: RunConfig) -> None:
    """recurrent_layers from the model's name; a name that tells nothing leaves it open."""
    name = run.value("model")
    if isinstance(name, str) and re.search(adapter_data("vllm")["recurrent_models"], name.lower()[-300:]):
        run.derive("recurrent_layers", True, f"from the model name {name!r}", run.key_of("model"))
