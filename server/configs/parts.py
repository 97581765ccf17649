"""The pieces a run is assembled from: launch commands and data files, framework not yet interpreted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .values import Command, Entry, Lint, Unresolved, Word


@dataclass(slots=True)
class Part:
    """One launch command, data file or Python call.

    Keys of `entries`: flags keep their dashes ("--num_generations"), everything else is a dotted path.
    `program` is what a launch starts: a module ("verl.trainer.main_ppo"), a script ("train.py") or a command with its
    subcommand ("trl grpo", "accelerate launch"); for a Python call it is the callable ("GRPOConfig").
    """

    format: str  # shell | yaml | json | toml | python | pairs
    path: str
    line: int = 0
    program: str = ""
    entries: list[Entry] = field(default_factory=list)
    positional: list[Word] = field(default_factory=list)
    env: dict[str, Word] = field(default_factory=dict)
    limits: dict[str, Word] = field(default_factory=dict)  # resource limits of the shell, e.g. "open_files"
    data: Any = None
    bases: list[str] = field(default_factory=list)  # parents in a `defaults:` list that are not in the project
    takes_arguments: bool = False
    lints: list[Lint] = field(default_factory=list)
    override_lints: list[Lint] = field(default_factory=list)  # what Hydra or OmegaConf says of the key=value words
    assumptions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def keys(self) -> set[str]:
        return {entry.key for entry in self.entries}

    def last(self, key: str) -> Entry | None:
        """The entry that wins for a key: the last one written."""
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)


_OVERRIDE = re.compile(r"(\+\+|\+|~)?[A-Za-z_][\w./@:$-]*=")
_DELETE = re.compile(r"~[A-Za-z_][\w./@-]*$")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ./-]{0,80}>")
_FLAG = re.compile(r"--?[A-Za-z]")
_NEGATIVE_NUMBER = re.compile(r"-[\d.]")
_PYTHON = re.compile(r"(.*/)?(python|python3|python3\.\d+|pypy3?)$")
_INTERPRETER_FLAGS_WITH_VALUE = ("-W", "-X")
# Launchers that start another program: their own options come first, then the program with its arguments
_LAUNCHERS = {
    "accelerate launch": "accelerate launch",
    "accelerate-launch": "accelerate launch",
    "torchrun": "torchrun",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "deepspeed": "deepspeed",
    "deepspeed.launcher.runner": "deepspeed",
}
_TWO_WORD_COMMANDS = (
    "trl", "accelerate", "swift", "megatron", "vllm", "sglang", "rl", "axolotl", "llamafactory-cli", "lmf",
)  # fmt: skip


def parts_of_command(command: Command, takes_arguments: bool = False) -> list[Part]:
    """The launch as parts: a launcher with its options (accelerate, torchrun, deepspeed), then the program itself."""
    words = list(command.argv)
    parts: list[Part] = []
    while words:
        program, rest = _program(words)
        launcher = _LAUNCHERS.get(program)
        part = Part("shell", command.file, command.line, launcher or program, env=command.env)
        part.takes_arguments = takes_arguments
        own, words = _split_launcher(rest) if launcher else (rest, [])
        _read_words(part, own)
        parts.append(part)
        if launcher and any(entry.key in ("--module", "-m") and entry.value is True for entry in part.entries):
            words = [Word("python", command.line, command.file), Word("-m", command.line, command.file), *words]
    return parts


def part_of_words(format: str, path: str, words: list[Word]) -> Part:
    """Arguments without the command that takes them, as a part."""
    part = Part(format, path, words[0].line if words else 0)
    _read_words(part, words)
    return part


def _program(words: list[Word]) -> tuple[str, list[Word]]:
    """Name of the program a command starts, and the words after it."""
    first = words[0].text
    if _PYTHON.match(first):
        index = 1
        while index < len(words) and words[index].text.startswith("-") and words[index].text != "-m":
            index += 2 if words[index].text in _INTERPRETER_FLAGS_WITH_VALUE else 1
        if index < len(words) and words[index].text == "-m":
            index += 1
        if index < len(words):
            return words[index].text, words[index + 1 :]
        return first, []
    name = first.rsplit("/", 1)[-1] if "/" in first and not first.endswith(".py") else first
    if name in _TWO_WORD_COMMANDS and len(words) > 1 and not words[1].text.startswith("-"):
        return f"{name} {words[1].text}", words[2:]
    return name, words[1:]


def _split_launcher(words: list[Word]) -> tuple[list[Word], list[Word]]:
    """Own options of a launcher and the command it starts: the first word that is a script or module, and the rest."""
    index = 0
    while index < len(words):
        text = words[index].text
        if text in ("--module", "-m"):
            return words[: index + 1], words[index + 1 :]
        if not text.startswith("-"):
            return words[:index], words[index:]
        takes_value = "=" not in text and index + 1 < len(words) and not _looks_like_program(words, index + 1)
        index += 2 if takes_value and text not in _LAUNCHER_SWITCHES else 1
    return words, []


_LAUNCHER_SWITCHES = {
    "--standalone", "--multi_gpu", "--use_deepspeed", "--use_fsdp", "--cpu", "--tpu", "--no_python", "--debug",
    "--no_local_rank", "--force_multi", "--enable_each_rank_log", "--quiet", "-q",
}  # fmt: skip


def _looks_like_program(words: list[Word], index: int) -> bool:
    text = words[index].text
    return text.startswith("-") or text.endswith(".py")


# Programs whose key=value words go through OmegaConf.from_cli instead of Hydra
_OMEGACONF_PROGRAMS = re.compile(r"verl\.trainer\.main$|skyrl(?!_train)")
# Programs with argparse alone: a name=value word is a value of the flag before it (`--lora-modules name=path`)
_FLAGS_ONLY = re.compile(r"vllm serve$|vllm\.entrypoints\.|sglang serve$|sglang(?:_router)?\.launch_")


def _read_words(part: Part, words: Iterable[Word]) -> None:
    """Arguments as entries (flags and key=value overrides) and the positional rest.

    A flag takes the words up to the next flag or override as its value; several values make a list, none makes True.
    """
    from .hydra import read_overrides

    omegaconf = _OMEGACONF_PROGRAMS.search(part.program) is not None
    flags_only = _FLAGS_ONLY.search(part.program) is not None
    pending: tuple[Word, list[Word]] | None = None
    for word in words:
        is_flag = _FLAG.match(word.text) is not None and not _NEGATIVE_NUMBER.match(word.text)
        overrides = not is_flag and not flags_only
        is_override = overrides and (_OVERRIDE.match(word.text) or _DELETE.match(word.text)) is not None
        if pending is not None and (is_flag or is_override):
            part.entries.append(_flag_entry(*pending))
            pending = None
        if is_flag and "=" in word.text:
            part.entries.append(_flag_entry(word, []))
        elif is_flag:
            pending = (word, [])
        elif is_override and (placeholder := _PLACEHOLDER.search(word.text)) and word.known:
            part.entries.append(_placeholder_entry(word, placeholder[0]))
            part.lints.append(_placeholder_lint(word, placeholder[0]))
        elif is_override:
            entries, lints = read_overrides([word], omegaconf=omegaconf)
            part.entries += entries
            part.override_lints += lints
        elif pending is not None:
            pending[1].append(word)
        else:
            part.positional.append(word)
    if pending is not None:
        part.entries.append(_flag_entry(*pending))


def _placeholder_entry(word: Word, placeholder: str) -> Entry:
    head, _, value = word.text.partition("=")
    key = head.lstrip("+~")
    op = head[: len(head) - len(key)]
    return Entry(key, Unresolved(value, (placeholder,)), word.file, word.line, op, value)


def _placeholder_lint(word: Word, placeholder: str) -> Lint:
    key = word.text.partition("=")[0].lstrip("+~")
    text = f"{key} still holds the placeholder {placeholder}; the launch needs a value there."
    return Lint("placeholder", text, word.file, word.line, "info", f"Replace {placeholder}.")


def _flag_entry(flag: Word, values: list[Word]) -> Entry:
    name, equals, inline = flag.text.partition("=")
    if equals:
        values = [Word(inline, flag.line, flag.file, flag.unknown)]
    typed = [Unresolved(word.text, word.unknown) if word.unknown else scalar(word.text) for word in values]
    value: Any = True if not typed else typed[0] if len(typed) == 1 else typed
    return Entry(name, value, flag.file, flag.line, text=" ".join(word.text for word in values))


_INT = re.compile(r"[+-]?\d+$")
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?$")


def scalar(text: str) -> Any:
    """A command-line value as Python value: numbers, true/false, else the text."""
    if _INT.match(text) and len(text) < 30:
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    return {"true": True, "false": False}.get(text.lower(), text)
