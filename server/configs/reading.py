"""Text or file → parts: the format is told by name and content, then the reader of that format does its work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..limits import MAX_LAUNCHES
from .parts import Part, part_of_words, parts_of_command
from .values import Document, Entry, InputError, Lint, Script, Unresolved, Word

TEXT_NAME = "<text>"  # stands for the file name of pasted text


@dataclass(slots=True)
class Reading:
    """What one or several files hold: launches (each a launcher and its program) and data files."""

    launches: list[list[Part]] = field(default_factory=list)
    documents: list[Part] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what was found or could not be read
    texts: dict[str, str] = field(default_factory=dict)  # name -> text as read, for comments that address this tool

    def add(self, other: Reading) -> None:
        self.launches += other.launches
        self.documents += other.documents
        self.notes += other.notes
        self.texts |= other.texts

    @property
    def parts(self) -> list[Part]:
        return [*self.documents, *(part for launch in self.launches for part in launch)]


_SUFFIXES = {
    **dict.fromkeys((".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".sub", ".ksh"), "shell"),
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".json", ".jsonc", ".json5"), "json"),
    ".toml": "toml",
    **dict.fromkeys((".py", ".ipynb"), "python"),
}
_SHEBANG = re.compile(r"#!.*\b(bash|sh|zsh|ksh|dash)\b")
_LAUNCH_LINE = re.compile(
    r"^\s*(?:\$ )?(?:[A-Z_]\w*=\S* +)*(?:nohup +|sudo +|exec +|time +|uv run [^\n]*?|env +[^\n]*? )?"
    r"(?:python[\d.]* |torchrun |accelerate +launch|deepspeed |trl +\w|swift +\w|vllm +serve|ray +job|srun |bash "
    r"|megatron +\w|axolotl +\w|llamafactory-cli +\w)",
    re.MULTILINE,
)
_SHELL_SIGNS = re.compile(r"\\\r?$|^\s*(?:export |set -|if \[|for \w+ in |declare |source )", re.MULTILINE)
_PYTHON_SIGNS = re.compile(
    r"\b(?:GRPOConfig|RLOOConfig|GRPOTrainer|LoraConfig|LLM)\s*\(|^(?:from|import) \w", re.MULTILINE
)
_YAML_LINE = re.compile(r"^\s*(?:- )?[\w./-]+:(?:\s|$)", re.MULTILINE)
_ARGUMENT_LINE = re.compile(r"^\s*(?:(?:\+\+|\+|~)?[A-Za-z_][\w@/-]*(?:\.[\w@/-]+)+=|--[A-Za-z])")
_FENCE = re.compile(r"^\s*```[^\n]*\n(.*?)^\s*```", re.MULTILINE | re.DOTALL)


def read_path(path: Path, root: Path | None = None, name: str = "", texts: Mapping[Path, str] | None = None) -> Reading:
    """Read one file. `root`: folder inside which a script's `source` is followed. `name`: how messages call the file.
    `texts`: what files (by resolved path) are taken to hold.

    Raises InputError when it cannot be read at all.
    """
    from .files import read_text_noted

    name = name or str(path)
    given = texts.get(path.resolve()) if texts else None
    text, note = read_text_noted(path) if given is None else (given, "")
    reading = read_text_as(text, name, _SUFFIXES.get(path.suffix.lower(), ""), root)
    reading.notes += [f"{name}: {note}"] if note else []
    if root is not None:
        reading.documents = [_composed(part, path, root) for part in reading.documents]
    return reading


def _composed(part: Part, path: Path, root: Path) -> Part:
    """A YAML with a `defaults:` list together with the parents that lie in the project folder."""
    if part.format != "yaml" or not isinstance(part.data, dict) or "defaults" not in part.data:
        return part
    from .compose import ProjectLoader, compose

    real = str(path.resolve())
    document = Document(real, part.format, [replace(entry, file=real) for entry in part.entries], part.data)
    result = compose(document, ProjectLoader(root, document))

    def shown(file: str) -> str:
        return part.path if file == real else str(Path(file).relative_to(root.resolve()))

    part.entries = [replace(entry, file=shown(entry.file)) for entry in result.entries]
    part.data, part.bases = result.data, result.missing
    part.notes += result.notes
    return part


def read_pasted(text: str) -> Reading:
    """Read pasted text: a whole file, one command, some overrides, or a piece of any of these, between prose or fences.

    What cannot be read is named in the notes of the parts. Raises InputError when no setting is found at all.
    """
    fenced = _FENCE.findall(text)
    body = "\n".join(fenced) if fenced else text
    try:
        reading = read_text_as(body, TEXT_NAME, "", None)
        if any(part.entries for part in reading.parts) or _is_empty_object(body):
            return reading
        failure = InputError("no setting was found in the text: pass a launch script, a config or a part of one")
    except InputError as error:
        failure = error
    from .fragment import read_fragment

    document = read_fragment(text, TEXT_NAME)
    if not document.entries:
        raise failure
    return Reading(documents=[part_of_document(document)], texts={TEXT_NAME: text})


def _is_empty_object(text: str) -> bool:
    return text.split() in (["{}"], ["{", "}"])


def read_text_as(text: str, name: str, kind: str, root: Path | None) -> Reading:
    """Read text of a known or unknown ("") format. Raises InputError."""
    if not text.strip():
        raise InputError(f"{name} is empty: pass a launch script or a config")
    kind = kind or sniff(text)
    if kind == "shell":
        reading = _shell(text, name, root)
    elif kind == "arguments":
        reading = _arguments(text, name)
    elif kind == "python" and (recipes := _recipes(text, name)):
        reading = Reading(launches=[[part_of_document(document)] for document in recipes])
    else:
        reading = Reading(documents=[part_of_document(document) for document in _documents(text, name, kind)])
    reading.texts[name] = text
    return reading


def sniff(text: str) -> str:
    """Format of a text without a telling name: shell, arguments, json, python, pairs, yaml or toml."""
    head = text.lstrip("\ufeff \t\r\n")
    if head.startswith("{"):
        return "json"
    if _SHEBANG.match(head) or _LAUNCH_LINE.search(text):
        return "python" if _PYTHON_SIGNS.search(text) and not _SHEBANG.match(head) else "shell"
    if _PYTHON_SIGNS.search(text):
        return "python"
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if lines and all(_ARGUMENT_LINE.match(line) for line in lines):
        return "arguments"
    if _SHELL_SIGNS.search(text):
        return "shell"
    if _is_pairs(text):
        return "pairs"
    if re.match(r"\s*\[[\w.\"-]+\]\s*$", head.split("\n", 1)[0]):
        return "toml"
    return "yaml" if _YAML_LINE.search(text) else "shell"


def _is_pairs(text: str) -> bool:
    from .flat_text import read_pairs

    return read_pairs(text, TEXT_NAME) is not None


def part_of_document(document: Document) -> Part:
    """A data file, or one call of a Python file, as a part."""
    return Part(
        document.format,
        document.path,
        line=document.entries[0].line if document.entries else 0,
        program=document.name,
        entries=document.entries,
        data=document.data,
        lints=document.lints,
        notes=document.notes,
    )


def _documents(text: str, name: str, kind: str) -> Iterable[Document]:
    if kind == "json":
        from .json_text import read_json

        return [read_json(text, name)]
    if kind == "toml":
        from .toml_text import read_toml

        return [read_toml(text, name)]
    if kind == "python":
        from .python_calls import read_python

        return read_python(text, name)
    if kind == "pairs":
        from .flat_text import read_pairs

        document = read_pairs(text, name)
        return [document] if document is not None else []
    from .yaml_text import read_yaml

    return [read_yaml(text, name)]


def _recipes(text: str, name: str) -> list[Document]:
    """Recipes of Megatron-Bridge in a Python file: each is a run of its own."""
    if "megatron.bridge" not in text:
        return []
    from .python_recipes import read_recipes

    return read_recipes(text, name)


def _shell(text: str, name: str, root: Path | None) -> Reading:
    from .shell import read_script

    script = read_script(text, name, root=root)
    reading = Reading()
    for command in script.launches[:MAX_LAUNCHES]:
        reading.launches.append(parts_of_command(command, script.takes_arguments))
    if len(script.launches) > MAX_LAUNCHES:
        reading.notes.append(f"{name}: only the first {MAX_LAUNCHES} of {len(script.launches)} launches were read")
    _attach(script, reading, name)
    return reading


def _attach(script: Script, reading: Reading, name: str) -> None:
    """Lints and assumptions of the script belong to its first launch; a script without a launch is a document."""
    if reading.launches:
        first = reading.launches[0][-1]
    else:
        first = _flags_of(script, name)
        first.env = script.env
        first.notes.append(f"{name}: no launch of a trainer was found in this script")
        reading.documents.append(first)
    first.limits |= _limits(script)
    first.lints += script.lints
    first.assumptions += script.assumptions


def _flags_of(script: Script, name: str) -> Part:
    """The variables that hold flags as one part. Which of them a launch takes is not known: a flag with two values is
    open."""
    parts = [part_of_words("shell", name, words) for words in script.flags.values()]
    merged: dict[str, Entry] = {}
    for entry in (entry for part in parts for entry in {entry.key: entry for entry in part.entries}.values()):
        earlier = merged.get(entry.key)
        if earlier is not None and earlier.text != entry.text:
            entry = replace(entry, value=Unresolved(entry.text, ("the variable that the launch takes",)))
        merged[entry.key] = entry
    return Part("shell", name, entries=list(merged.values()))


def _limits(script: Script) -> dict[str, Word]:
    """Resource limits that the script sets for its launch: `ulimit -n N` as "open_files"."""
    found: dict[str, Word] = {}
    for command in script.commands:
        words = [word.text for word in command.argv]
        if words and words[0] == "ulimit" and len(words) >= 3 and words[-2].endswith("n"):
            found["open_files"] = command.argv[-1]
    return found


def _arguments(text: str, name: str) -> Reading:
    """Bare overrides or flags, one or more a line, without the command that takes them."""
    import shlex

    words: list[Word] = []
    lints: list[Lint] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words += [Word(word, number, name) for word in shlex.split(line.rstrip().removesuffix("\\"), comments=True)]
        except ValueError as error:
            lints.append(Lint("shell-syntax", f"line {number} cannot be read: {error}", name, number, "info"))
    part = part_of_words("shell", name, words)
    part.lints += lints
    return Reading(launches=[[part]])
