"""Which commands start a trainer or a rollout server, and what stands in front of them.

The tables at the top are the knowledge; the functions below only apply it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..values import Word


def word_set(text: str) -> frozenset[str]:
    """A table of names, written as plain words."""
    return frozenset(text.split())


# Python modules and scripts that start training or serve rollouts: a name matches as a whole dotted or path part.
TRAINER_NAMES = word_set(
    """
    verl openrlhf trl swift llamafactory axolotl slime skyrl skyrl_train rllm areal prime_rl nemo_rl roll miles
    lmdeploy mindspeed_rl easyr1 megatron main_ppo main_dapo main_grpo run_grpo grpo run_ppo train_grpo train_ppo
    train_ppo_ray train_dapo train_rl pretrain_gpt launch_server api_server vllm-serve launch_router
    grpo_trainer train_async
    """
)
# The same for file and module names by their beginning.
TRAINER_PREFIXES = ("train", "grpo", "run_grpo", "main_", "finetune", "fully_async")
# An algorithm's name as one word of a file or module name.
_ALGORITHM = re.compile(r"(?:\A|[_-])(?:grpo|ppo|dapo|rloo|reinforce|gspo|rlhf|dpo|kto|orpo|sft|gkd|rl)(?:[_-]|\Z)")
# Helpers that live next to the trainers and take flags, too.
HELPER_WORDS = (
    "preprocess", "data_process", "download", "convert", "merge", "prepare", "upload", "check_", "json_dump", "plot",
    "export", "quantiz", "install", "hf_to_", "_to_hf", "to_torch_dist", "diagnose", "benchmark", "test_data",
)  # fmt: skip
# Programs that launch by themselves; a set of subcommands, or None when any use of the program is a launch.
LAUNCHERS: dict[str, frozenset[str] | None] = {
    "torchrun": None,
    "torch-run": None,
    "deepspeed": None,
    "accelerate": frozenset({"launch", "accelerate-launch"}),
    "accelerate-launch": None,
    "trl": frozenset({"grpo", "vllm-serve", "sft", "dpo", "rloo", "kto", "reward", "gkd"}),
    "swift": frozenset({"rlhf", "sft", "pt", "rollout", "deploy"}),
    "megatron": frozenset({"rlhf", "sft", "pt"}),
    "vllm": frozenset({"serve"}),
    "sglang": frozenset({"serve", "launch_server"}),
    "llamafactory-cli": frozenset({"train", "chat", "api"}),
    "lmf": frozenset({"train", "chat", "api"}),
    "axolotl": frozenset({"train", "vllm-serve"}),
    "lmdeploy": frozenset({"serve"}),
    "mindieservice_daemon": None,
    "prime-rl": None,
}
# Programs that take no arguments: what they serve stands in a file of their own.
SERVERS = frozenset({"mindieservice_daemon"})
# Entry points with names too general to be trusted on their own: they count behind `uv run`.
UV_SCRIPTS = frozenset({"rl", "trainer", "orchestrator", "inference", "sft", "train"})
# Programs that print or process text: their arguments may look like overrides and are none.
NEVER = frozenset(
    [
        "echo",
        "printf",
        "cat",
        "tee",
        "grep",
        "egrep",
        "sed",
        "awk",
        "export",
        "cd",
        "mkdir",
        "rm",
        "cp",
        "mv",
        "ls",
        "sleep",
        "kill",
        "pkill",
        "killall",
        "test",
        "[",
        ":",
        "true",
        "false",
        "source",
        ".",
        "read",
        "wait",
        "trap",
        "pip",
        "pip3",
        "apt",
        "apt-get",
        "git",
        "curl",
        "wget",
        "ray",
        "huggingface-cli",
        "hf",
        "wandb",
        "find",
        "chmod",
        "chown",
        "ln",
        "tar",
        "touch",
        "head",
        "tail",
        "sort",
        "uniq",
        "wc",
        "tr",
        "cut",
        "date",
        "hostname",
        "scontrol",
        "squeue",
        "sbatch",
        "salloc",
        "scancel",
        "nvidia-smi",
        "npu-smi",
        "modelscope",
        "docker",
        "podman",
        "make",
        "cmake",
        "conda",
        "ssh",
        "scp",
        "rsync",
        "jq",
        "which",
        "command",
        "type",
        "ulimit",
        "unset",
        "set",
    ]
)


class Wrapper(NamedTuple):
    """A program that starts another one: the options that take a value, and how many own arguments it has.

    With `open_ended` its options are too many to list: the program is the first word that is known to start things.
    """

    valued: frozenset[str]
    arguments: int = 0
    open_ended: bool = False


def _wrapper(valued: str = "", arguments: int = 0, open_ended: bool = False) -> Wrapper:
    return Wrapper(word_set(valued), arguments, open_ended)


WRAPPERS: dict[str, Wrapper] = {
    "nohup": _wrapper(),
    "time": _wrapper("-f -o"),
    "exec": _wrapper("-a"),
    "command": _wrapper(),
    "builtin": _wrapper(),
    "setsid": _wrapper(),
    "unbuffer": _wrapper(),
    "catchsegv": _wrapper(),
    "sudo": _wrapper("-u -g -h -p -C -T -D -R --user --group --host --chdir"),
    "stdbuf": _wrapper("-i -o -e"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p"),
    "timeout": _wrapper("-k -s --kill-after --signal", arguments=1),
    "taskset": _wrapper("", arguments=1),
    "numactl": _wrapper("-m -N -C -i -p --membind --cpunodebind --physcpubind --interleave --preferred"),
    "nsys": _wrapper(
        "-t -o -s -w -f -c --trace --output --sample --capture-range --stats", arguments=1, open_ended=True
    ),
    "py-spy": _wrapper("-o -f -d -r --output --format --duration --rate", arguments=1),
    "srun": _wrapper(
        "-A -c -C -D -e -G -i -J -m -M -n -N -o -p -q -r -t -T -w -x --account --nodes --ntasks --ntasks-per-node "
        "--gpus --gres --partition --nodelist --exclude --job-name --output --error --time --mem --cpus-per-task "
        "--gpus-per-node --gpus-per-task --jobid --export --container-image --container-mounts --container-name "
        "--container-workdir --container-env --mpi --qos --relative --chdir --cpu-bind --distribution --label-io "
        "--gpu-bind --kill-on-bad-exit --wait --constraint --environment --threads --het-group",
        open_ended=True,
    ),
    "mpirun": _wrapper(open_ended=True),
    "mpiexec": _wrapper(open_ended=True),
    "kubectl": _wrapper(open_ended=True),
    "uv": _wrapper(
        "--extra --with --with-requirements --with-editable --python -p --env-file --project --directory --group "
        "--package --only-group --no-group --index --index-url --extra-index-url --find-links --cache-dir "
        "--config-file --no-extra --link-mode --index-strategy --prerelease --refresh-package",
        arguments=1,
    ),
    "coverage": _wrapper("--source --omit --include --rcfile --data-file --context", arguments=1),
    "poetry": _wrapper("-C --directory", arguments=1),
    "pdm": _wrapper("-p", arguments=1),
    "pixi": _wrapper("-e --environment --manifest-path", arguments=1),
    "conda": _wrapper("-n -p --name --prefix --cwd", arguments=1),
    "micromamba": _wrapper("-n -p --name --prefix", arguments=1),
    "apptainer": _wrapper("-B --bind --env --pwd -W --workdir", arguments=2, open_ended=True),
    "singularity": _wrapper("-B --bind --env --pwd -W --workdir", arguments=2, open_ended=True),
    "docker": _wrapper(open_ended=True),
    "podman": _wrapper(open_ended=True),
    "ray": _wrapper(
        "--address --runtime-env --runtime-env-json --working-dir --submission-id --job-id --entrypoint-num-cpus "
        "--entrypoint-num-gpus --entrypoint-memory --entrypoint-resources --metadata-json --log-style --log-color "
        "--headers --verify",
        arguments=2,
    ),
}
# Wrappers that do other things as well: only with these first arguments do they start a program.
_SUBCOMMANDS = {
    "coverage": ("run",),
    "uv": ("run",), "poetry": ("run",), "pdm": ("run",), "pixi": ("run",), "conda": ("run",), "micromamba": ("run",),
    "ray": ("job", "submit"), "nsys": ("profile", "launch"), "py-spy": ("record",), "apptainer": ("exec", "run"),
    "singularity": ("exec", "run"), "docker": ("run", "exec"), "podman": ("run", "exec"), "kubectl": ("exec",),
}  # fmt: skip
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})

_PYTHON = re.compile(r"(?:python[\d.]*|pypy3?|torchrun|ipython|\$\{?PYTHON\w*\}?)\Z", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_OVERRIDE = re.compile(r"[+~]{0,2}[A-Za-z_][\w-]*(?:[.@/][\w@/-]+)+=|[+~]{1,2}[A-Za-z_][\w.-]*=")
_PLAIN_OVERRIDE = re.compile(r"[+~]{0,2}[A-Za-z_][\w.@/-]*=")
_FLAG = re.compile(r"--[A-Za-z]")
ORPHAN = re.compile(r"-{1,2}[A-Za-z]|[+~]{0,2}[A-Za-z_][\w-]*(?:\.[\w-]+)+=|[+~]{1,2}[A-Za-z_][\w.-]*=|~[A-Za-z_]\w*\.")
_MAX_WRAPPERS = 12


class Unwrapped(NamedTuple):
    """argv without the programs in front; `script` is set when the command is `bash -c TEXT` and the like."""

    argv: list[Word]
    wrapper: list[Word]
    env: dict[str, Word]
    via: str  # innermost wrapper, "" without one
    script: Word | None = None


def program(word: Word) -> str:
    return word.text.rsplit("/", 1)[-1]


def unwrap(argv: Sequence[Word]) -> Unwrapped:
    """Take off the programs that only start another one, and collect the environment they set."""
    rest = list(argv)
    wrapper: list[Word] = []
    env: dict[str, Word] = {}
    via = ""
    for _ in range(_MAX_WRAPPERS):
        if not rest:
            break
        name = program(rest[0])
        if name == "env":
            taken = _take_env(rest, env)
        elif name in WRAPPERS and _starts_program(name, rest):
            taken = _program_start(rest, WRAPPERS[name], name)
            if name == "ray":
                env.update(runtime_environment(rest[:taken]))
        elif name in _SHELLS:
            script = _command_text(rest)
            return Unwrapped(rest, wrapper, env, via, script)
        else:
            break
        if taken >= len(rest) or taken == 0:
            break
        via = name
        wrapper += rest[:taken]
        rest = rest[taken:]
        if name in ("uv", "coverage") and rest[0].text in ("-m", "--module"):
            rest[:0] = [Word("python", rest[0].line, rest[0].file)]
    return Unwrapped(rest, wrapper, env, via)


def _starts_program(name: str, argv: Sequence[Word]) -> bool:
    wanted = _SUBCOMMANDS.get(name)
    if wanted is None:
        return True
    plain = [word.text for word in argv[1:6] if not word.text.startswith("-")]
    return plain[: len(wanted)] == list(wanted) if name == "ray" else bool(plain) and plain[0] in wanted


def _program_start(argv: Sequence[Word], wrapper: Wrapper, name: str) -> int:
    """Where the program behind a wrapper starts; the end of argv when there is none."""
    taken = _options_end(argv, wrapper, name)
    if not wrapper.open_ended or (taken < len(argv) and _starts_things(argv[taken])):
        return taken
    known = [at for at, word in enumerate(argv) if at and _starts_things(word)]
    return known[0] if known else len(argv) if not wrapper.valued else taken


def _starts_things(word: Word) -> bool:
    name = program(word)
    return name in LAUNCHERS or name in WRAPPERS or name in _SHELLS or _PYTHON.match(name) is not None


def _options_end(argv: Sequence[Word], wrapper: Wrapper, name: str) -> int:
    """Where the options and own arguments of a wrapper end and the program starts."""
    at, own = 1, 0
    while at < len(argv):
        text = argv[at].text
        if text == "--":
            return at + 1
        if name in ("uv", "coverage") and own and text in ("-m", "--module"):
            return at
        if text.startswith("-") and len(text) > 1:
            at += 2 if text in wrapper.valued else 1
        elif own < wrapper.arguments:
            own += 1
            at += 1
        else:
            return at
    return at


def _take_env(argv: Sequence[Word], env: dict[str, Word]) -> int:
    at = 1
    while at < len(argv):
        word = argv[at]
        found = _ASSIGNMENT.match(word.text)
        if found is not None:
            env[found.group(1)] = Word(word.text[found.end() :], word.line, word.file, word.unknown)
        elif word.text in ("-u", "--unset", "-C", "--chdir"):
            at += 1
        elif not word.text.startswith("-"):
            break
        at += 1
    return at


def _command_text(argv: Sequence[Word]) -> Word | None:
    """TEXT of `bash -c TEXT`, `bash -lc TEXT`, `sh -euxo pipefail -c TEXT`."""
    at = 1
    while at < len(argv) and argv[at].text[:1] in ("-", "+"):
        text = argv[at].text
        if text.startswith("-") and not text.startswith("--") and text.endswith("c"):
            return argv[at + 1] if at + 1 < len(argv) else None
        at += 2 if text.endswith("o") and not text.startswith("--") else 1
    return None


# Options of `sbatch` that take a value, where it is a word of its own.
_SBATCH_VALUED = word_set(
    """
    -A -a -c -D -d -e -G -J -N -n -o -p -q -t -w -x --account --partition --nodes --time
    """
)


def is_shell(word: Word) -> bool:
    return program(word) in _SHELLS or program(word) == "sbatch"


def runs_script(argv: Sequence[Word]) -> bool:
    """`bash`, `bash file`, `sbatch file` or a shell script called by its path."""
    return bool(argv) and (is_shell(argv[0]) or argv[0].text.endswith(".sh"))


def script_argument(argv: Sequence[Word]) -> int | None:
    """Position of the script in `bash [options] file ...`, `sbatch [options] file ...` or `./file.sh ...`."""
    if not is_shell(argv[0]):
        return 0
    batch = program(argv[0]) == "sbatch"
    at = 1
    while at < len(argv) and argv[at].text[:1] in ("-", "+") and len(argv[at].text) > 1:
        text = argv[at].text
        valued = text in _SBATCH_VALUED if batch else text.endswith("o") and not text.startswith("--")
        at += 2 if valued else 1
    return at if at < len(argv) and argv[at].text != "-" else None


def wrapped_text(argv: Sequence[Word]) -> tuple[int, int] | None:
    """(position, offset) of the command in `sbatch --wrap=TEXT` or `--wrap TEXT`."""
    for at, word in enumerate(argv):
        if word.text.startswith("--wrap="):
            return at, len("--wrap=")
        if word.text == "--wrap" and at + 1 < len(argv):
            return at + 1, 0
    return None


def runtime_environment(argv: Sequence[Word]) -> dict[str, Word]:
    """`env_vars` of a `--runtime-env-json` literal."""
    for at, word in enumerate(argv):
        option, equals, text = word.text.partition("=")
        if option != "--runtime-env-json":
            continue
        if not equals:
            if at + 1 >= len(argv):
                return {}
            word = argv[at + 1]
            text = word.text
        return {name: _json_word(value, word) for name, value in _env_vars(text).items()}
    return {}


def _json_word(value: str, word: Word) -> Word:
    """One value of the JSON text, with those unknown names that stand in it."""
    return Word(value, word.line, word.file, tuple(name for name in word.unknown if name.strip("$(){}") in value))


def _env_vars(text: str) -> dict[str, str]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        found = re.search(r'"env_vars"\s*:\s*\{([^{}]*(?:\$\{\w+\}[^{}]*)*)\}', text)
        return dict(re.findall(r'"([A-Za-z_]\w*)"\s*:\s*"([^"]*)"', found.group(1))) if found else {}
    values = data.get("env_vars") if isinstance(data, dict) else None
    if not isinstance(values, dict):
        return {}
    return {str(name): value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}


# --- what is a launch -------------------------------------------------------------------------------------------


def is_orphan(words: Sequence[str]) -> bool:
    """Arguments that stand alone: what is left of a command whose continuation broke."""
    return bool(words) and ORPHAN.match(words[0]) is not None


def is_launch(words: Sequence[str], via: str = "") -> bool:
    """Whether a command (without wrappers) starts a trainer or a rollout server."""
    if not words or is_orphan(words):
        return False
    name = words[0].rsplit("/", 1)[-1]
    if name in NEVER:
        return False
    if name in LAUNCHERS:
        subcommands = LAUNCHERS[name]
        if subcommands is not None:
            return any(word in subcommands for word in words[1:3])
        return name in SERVERS or (len(words) > 1 and not _is_helper(words[1:]))
    if via == "uv" and name in UV_SCRIPTS:
        return True
    target, rest = _python_target(words)
    if target is None:
        return False
    if _is_helper([target]):
        return False
    return _names_trainer(target) or _configuration_tokens(rest) >= 3


def _python_target(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """(module or script, its arguments) of `python ...`, of a script called directly, or of a nameless launcher."""
    name = words[0].rsplit("/", 1)[-1]
    if name.endswith((".py", ".pyz")):
        return words[0], words[1:]
    overrides = sum(_OVERRIDE.match(word) is not None for word in words)
    if not (_PYTHON.match(name) or name.startswith("$") or overrides >= 3):
        return None, ()
    at = 1
    while at < len(words):
        word = words[at]
        if word in ("-m", "--module"):
            return (words[at + 1], words[at + 2 :]) if at + 1 < len(words) else (None, ())
        if word == "-c":
            return None, ()
        if word in ("-X", "-W"):
            at += 2
        elif word.startswith("-") or word.endswith("="):
            at += 1
        else:
            return word, words[at + 1 :]
    return None, ()


def _is_helper(words: Sequence[str]) -> bool:
    for word in words:
        if word.startswith("-"):
            continue
        if word.endswith(".py") or "." in word or "/" in word:
            tail = "/".join(word.lower().split("/")[-2:])  # the file and its folder
            return any(part in tail for part in HELPER_WORDS)
    return False


def _names_trainer(target: str) -> bool:
    parts = [part for part in re.split(r"[./]", target.removesuffix(".py")) if part]
    if any(part in TRAINER_NAMES for part in parts):
        return True
    return bool(parts) and (parts[-1].startswith(TRAINER_PREFIXES) or _ALGORITHM.search(parts[-1]) is not None)


def _configuration_tokens(words: Sequence[str]) -> int:
    return sum(bool(_FLAG.match(word) or _PLAIN_OVERRIDE.match(word)) for word in words)
