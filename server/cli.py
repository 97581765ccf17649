"""The command line: the same verbs as the MCP tools. Only `serve` imports the MCP SDK."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .configs.values import InputError

EXIT_OK, EXIT_FINDINGS, EXIT_USAGE = 0, 1, 2
_FOCUS = ("all", "nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge")
_VIEWS = ("default", "streams", "fsdp", "cross", "frameworks", "moe", "versions")
_EPILOG = "exit codes: 0 nothing at or above --fail-on, 1 findings, 2 usage error or unreadable input"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    if not arguments:
        if sys.stdin is None or sys.stdin.isatty():
            parser.print_help()
            return EXIT_OK
        arguments = ["serve"]
    options = parser.parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except InputError as error:
        print(f"grpo-guard: {_one_line(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except KeyboardInterrupt:
        return 130
    return code


def _one_line(text: str) -> str:
    from .configs.files import printable

    return printable(text, 500)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grpo-guard",
        description="Checks GRPO and other RL post-training launch scripts and configs before the GPUs are busy.",
        epilog="Without a verb it serves MCP on stdin/stdout when stdin is not a terminal.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"grpo-guard {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    _add_validate(verbs)
    _add_diagnose(verbs)
    _add_rules(verbs)
    _add_lookups(verbs)
    _add_memory(verbs)
    _add_serve(verbs)
    return parser


def _add_validate(verbs: Any) -> None:
    verb = verbs.add_parser(
        "validate",
        help="check a launch script or config",
        description=(
            "Check a launch script or config: verl, rLLM and EasyR1 (shell with Hydra or OmegaConf overrides, YAML), "
            "TRL (YAML, command lines, GRPOConfig calls), OpenRLHF flags, DeepSpeed JSON, accelerate YAML. Several "
            "targets are one run. Nothing is executed."
        ),
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    verb.add_argument("targets", nargs="*", metavar="TARGET", help="file to read, or - for standard input")
    verb.add_argument("--config", metavar="TEXT", help="the config as text, in place of a file")
    verb.add_argument("--framework", default="", metavar="NAME", help="do not detect the framework")
    verb.add_argument(
        "--version",
        action="append",
        default=[],
        metavar="PKG=VER",
        help="installed version, e.g. verl=0.8.0; repeatable",
    )
    verb.add_argument(
        "--requirements",
        type=Path,
        metavar="FILE",
        help="take versions from requirements, a lock file or pip list/freeze",
    )
    verb.add_argument("--gpu", default="", metavar="NAME", help="GPU model, e.g. H100")
    verb.add_argument("--world-size", type=int, metavar="N", help="GPUs of the trainer, where the config does not say")
    verb.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="state a canonical field; repeatable"
    )
    verb.add_argument("--focus", choices=_FOCUS, default="all", help="only rules of one topic")
    verb.add_argument("--ruleset", choices=("all", "seed"), default="all", help="seed: also answer the seeds' 36 rules")
    verb.add_argument("--detail", choices=("brief", "normal", "full"), default="normal", help="how much text to print")
    verb.add_argument(
        "--fail-on", choices=("error", "warning", "info", "never"), default="error", help="exit 1 from this level on"
    )
    verb.add_argument("--format", choices=("text", "json"), default="text")
    verb.set_defaults(run=_validate)


def _add_diagnose(verbs: Any) -> None:
    verb = verbs.add_parser(
        "diagnose",
        help="ranked causes of a failed run, from words, logs and config",
        description=(
            "Ranked causes of what went wrong in a run, with evidence for and against, a cheap check, the fix and the "
            "known bug, from words, logs, config and versions; any of these will do."
        ),
        allow_abbrev=False,
    )
    verb.add_argument("--symptoms", default="", metavar="TEXT", help="what you see, in words")
    verb.add_argument("--log", action="append", default=[], metavar="FILE", help="log, or - for standard input")
    verb.add_argument("--config", type=Path, metavar="FILE", help="launch script, config, or a piece of one")
    verb.add_argument("--framework", default="", metavar="NAME")
    verb.add_argument(
        "--version",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="installed version or other fact, e.g. verl=0.8.0, gpu=4090; repeatable",
    )
    verb.add_argument("--focus", choices=_FOCUS, default="all", help="only causes of one topic")
    verb.add_argument("--limit", type=_positive, metavar="N", help="most hypotheses")
    verb.add_argument("--html", type=Path, metavar="FILE", help="also write one page with evidence and plots")
    verb.add_argument("--format", choices=("text", "json"), default="text")
    verb.set_defaults(run=_diagnose, requirements=None)


def _add_rules(verbs: Any) -> None:
    verb = verbs.add_parser(
        "rules",
        help="list the rules, or show one with its sources",
        description="List the rules, or show one with its condition, scope and sources.",
        allow_abbrev=False,
    )
    verb.add_argument("id", nargs="?", default="", metavar="ID", help="rule id, or one of the seeds' (D01 to N17)")
    verb.add_argument("--fields", action="store_true", help="list the canonical fields that rules read")
    verb.add_argument("--format", choices=("text", "json"), default="text")
    verb.set_defaults(run=_rules)


def _add_lookups(verbs: Any) -> None:
    def add(name: str, text: str, answer: Any, detail: bool = True) -> Any:
        verb = verbs.add_parser(name, help=text[:1].lower() + text[1:], description=f"{text}.", allow_abbrev=False)
        if detail:
            verb.add_argument(
                "--detail", choices=("brief", "normal", "full"), help="how much (json: full, else normal)"
            )
        verb.add_argument("--format", choices=("text", "json"), default="text")
        verb.set_defaults(run=_look_up, answer=answer, detail=None, verb=name)
        return verb

    verb = add("symptoms", "Ranked causes of what you see in a run; without words the map", _symptoms)
    verb.add_argument("query", nargs="*", metavar="QUERY", help="what you see, in words or a log line")
    verb.add_argument("--limit", type=_positive, metavar="N", help="most rows")
    verb = add("playbook", "What to do, step by step; without a topic all patterns of failure", _playbook)
    verb.add_argument("topic", nargs="*", metavar="TOPIC", help="pattern, symptom, framework, bug, or fsdp")
    verb = add("fixes", "Known bugs: status, versions, fix and workaround", _fixes)
    verb.add_argument("id", nargs="?", default="", metavar="ID", help="bug (verl-6782, verl#6782) or pattern")
    verb.add_argument("--offset", type=int, default=0, metavar="N", help="go on from here")
    verb.add_argument("--limit", type=_positive, metavar="N", help="most rows")
    verb = add("avoid", "Config lines that avoid a hazard, in the framework's own syntax", _avoid)
    verb.add_argument("focus", choices=_FOCUS, metavar="FOCUS", help=", ".join(_FOCUS))
    verb.add_argument("--framework", required=True, metavar="NAME", help="whose config it is, e.g. verl")
    verb.add_argument(
        "--version",
        action="append",
        default=[],
        metavar="PKG=VER",
        help="your release, e.g. deepspeed=0.18.5; repeatable (default: the newest known)",
    )
    verb.set_defaults(requirements=None)
    verb = add("matrix", "Known bugs by pattern and framework, and other views side by side", _matrix)
    verb.add_argument("--view", choices=_VIEWS, default="default")
    verb.add_argument("--bug", default="", metavar="ID", help="for the view cross")
    verb.add_argument("--framework", default="", metavar="NAME", help="for the view versions: of one only")
    verb.add_argument("--compare", action="store_true", help="streams: bug by bug; default: against the seeds' tables")
    verb = add("explain", "What stands behind a rule, bug or pattern; without an id the seeds' 36 rules", _explain)
    verb.add_argument("id", nargs="?", default="", metavar="ID", help="rule, bug, pattern, symptom, or D01 to N17")
    verb.add_argument("--view", choices=("theory", "bug", "decision", "cross"), default="")
    verb = add("proof", "A derivation and its numeric check, run now; without words the list", _proof)
    verb.add_argument("query", nargs="*", metavar="QUERY", help="words, a proof, rule or bug, or D01 to N17")
    verb = add("skill", "Which skill fits the words", _skill, detail=False)
    verb.add_argument("query", nargs="+", metavar="WORDS")
    verb = add("read", "Read a note; without a name the list of notes", _read)
    verb.add_argument("name", nargs="?", default="", metavar="NAME", help="note, by file name or title")
    verb.add_argument("--section", default="", metavar="S", help="one section only")
    verb.add_argument("--search", default="", metavar="WORDS", help="where these words stand")
    verb.add_argument("--framework", default="", metavar="NAME", help="the notes of a framework")


def _add_memory(verbs: Any) -> None:
    verb = verbs.add_parser(
        "memory",
        help="GPU memory of a run per phase, and what makes it fit",
        description=(
            "Estimate the GPU memory of a run in each phase, from its script or config, or from a model's name and "
            "settings alone. Says which phase fails and the smallest changes that make it fit. Nothing is executed."
        ),
        epilog="example: grpo-guard memory --model Qwen3-4B --gpu 4090 --set framework=trl --set lora_rank=32",
        allow_abbrev=False,
    )
    verb.add_argument("targets", nargs="*", metavar="TARGET", help="file of the run, or - for standard input")
    verb.add_argument("--model", default="", metavar="NAME|FILE", help="the model, or its config.json")
    verb.add_argument("--gpu", default="", metavar="NAME", help="GPU model, e.g. H100 (default: RTX 4090)")
    verb.add_argument("--framework", default="", metavar="NAME", help="do not detect it; without a TARGET: verl")
    verb.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="state a canonical field; repeatable"
    )
    verb.add_argument("--detail", choices=("brief", "normal", "full"), help="how much (json: full, else normal)")
    verb.add_argument("--html", type=Path, metavar="FILE", help="also write a page with a bar per phase")
    verb.add_argument("--format", choices=("text", "json"), default="text")
    verb.set_defaults(run=_memory)
    verb = verbs.add_parser(
        "rtx4090",
        help="report for one 24 GB card (or another) on a topic",
        description=(
            "Report for one card, computed: what fits, launchable configs, known faults that it can meet. Topics: "
            "playbook, config, zero, fsdp, moe, muon, nan, streams, knowledge."
        ),
        allow_abbrev=False,
    )
    verb.add_argument("topic", nargs="?", default="", metavar="TOPIC", help="default: playbook")
    verb.add_argument("--gpu", default="", metavar="NAME", help="another card, e.g. L40S")
    verb.add_argument("--detail", choices=("brief", "normal", "full"), help="how much (json: full, else normal)")
    verb.add_argument("--format", choices=("text", "json"), default="text")
    verb.set_defaults(run=_one_card)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _add_serve(verbs: Any) -> None:
    verb = verbs.add_parser(
        "serve",
        help="serve MCP on standard input and output",
        description="Serve the tools to an assistant over MCP on standard input and output.",
        allow_abbrev=False,
    )
    verb.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="DIR",
        help="folder whose files may be read; repeatable (default: GRPO_GUARD_ROOTS, else the working directory)",
    )
    verb.set_defaults(run=_serve)


def _validate(options: argparse.Namespace) -> int:
    from .model import SEVERITIES
    from .validate import validate_targets, validate_text

    chosen: dict[str, Any] = {
        "framework": options.framework,
        "versions": _versions(options),
        "gpu": options.gpu,
        "world_size": options.world_size,
        "focus": options.focus,
        "ruleset": options.ruleset,
        "settings": _fields(options.set),
    }
    targets: list[str] = options.targets
    if bool(targets) == (options.config is not None):
        raise InputError("name a file to validate, - for standard input, or give --config TEXT (not both)")
    if options.config is not None:
        report = validate_text(options.config, **chosen)
    elif targets == ["-"]:
        report = validate_text(_standard_input(), **chosen)
    elif "-" in targets:
        raise InputError("- (standard input) cannot be combined with files")
    else:
        report = validate_targets([Path(target) for target in targets], **chosen)
    _print_report(report, options)
    limit = SEVERITIES.index(options.fail_on) if options.fail_on in SEVERITIES else -1
    failed = any(SEVERITIES.index(finding.severity) <= limit for finding in report.findings)
    return EXIT_FINDINGS if failed else EXIT_OK


def _diagnose(options: argparse.Namespace) -> int:
    from .configs.files import read_text
    from .diagnosis.diagnose import diagnose
    from .diagnosis.short import to_data
    from .model import clean

    logs = [_piped_log() if name == "-" else Path(name) for name in options.log]
    config = read_text(options.config) if options.config is not None else ""
    answer = diagnose(
        options.symptoms, logs, config, options.framework, _versions(options), options.focus, options.limit
    )
    data = to_data(answer)
    if options.html is not None:
        from .render.html import page

        _write_page(options.html, page(data, answer.curves))
    if options.format == "json":
        import json

        print(json.dumps(data, ensure_ascii=False, indent=2))
    else:
        from .render.diagnosis import text_of

        print(clean(text_of(data, {curve.name: list(curve.values) for curve in answer.curves})))
    return EXIT_OK


def _write_page(path: Path, page: str) -> None:
    from .model import clean

    try:
        path.write_text(clean(page), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"--html {path}: cannot be written ({error.strerror}); name a file in a folder that exists"
        ) from None


def _piped_log() -> str:
    """Standard input as text, up to the size of a log that is kept in memory."""
    from .limits import MAX_PIPED_LOG_BYTES

    return sys.stdin.buffer.read(MAX_PIPED_LOG_BYTES).decode("utf-8", "replace")


def _print_report(report: Any, options: argparse.Namespace) -> None:
    if options.format == "json":
        import json

        from .model import to_dict

        print(json.dumps(to_dict(report, "full"), ensure_ascii=False, indent=2))
        return
    from .render.text import render

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    sys.stdout.write(render(report, colour=colour, detail=options.detail))


def _standard_input() -> str:
    from .configs.files import decode
    from .limits import MAX_CONFIG_BYTES

    data = sys.stdin.buffer.read(MAX_CONFIG_BYTES + 1)
    if len(data) > MAX_CONFIG_BYTES:
        raise InputError(
            f"standard input is larger than {MAX_CONFIG_BYTES:,} bytes: pass the launch script or config only"
        )
    return decode(data)


def _versions(options: argparse.Namespace) -> dict[str, str]:
    """Versions of --requirements, overridden by --version."""
    found: dict[str, str] = {}
    if options.requirements is not None:
        from .configs.files import read_text
        from .configs.requirements import read_versions

        found.update(read_versions(read_text(options.requirements), str(options.requirements)))
    for item in options.version:
        name, equals, value = item.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"--version {item}: write it as PKG=VER, e.g. --version verl=0.8.0")
        found[name.strip().lower()] = value.strip().lstrip("=")
    return found


def _fields(items: Sequence[str]) -> dict[str, Any]:
    from .configs.parts import scalar

    fields: dict[str, Any] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"--set {item}: write it as FIELD=VALUE, e.g. --set group_size=8")
        fields[name.strip()] = None if value == "null" else scalar(value.strip())
    return fields


def _rules(options: argparse.Namespace) -> int:
    from .render.rules import fields_text, rule_data, rule_text, rules_text

    if options.fields:
        print(fields_text())
    elif not options.id:
        print(rules_text())
    elif options.format == "json":
        import json

        print(json.dumps(rule_data(options.id), ensure_ascii=False, indent=2))
    else:
        print(rule_text(options.id))
    return EXIT_OK


def _look_up(options: argparse.Namespace) -> int:
    """Print a look-up. JSON has everything; text is as long as a person reads."""
    as_json = options.format == "json"
    data = options.answer(options, options.detail or ("full" if as_json else "normal"))
    if as_json:
        import json

        print(json.dumps(data, ensure_ascii=False, indent=2))
    else:
        from .model import clean
        from .render.lookups import TEXTS

        print(clean(TEXTS[_TOOL_OF.get(options.verb, options.verb)](data)))
    return EXIT_OK


_TOOL_OF = {"skill": "match_skill", "read": "read_reference"}


def _symptoms(options: argparse.Namespace, detail: str) -> Any:
    from .lookup.symptoms import symptoms

    return symptoms(" ".join(options.query), options.limit, detail)


def _playbook(options: argparse.Namespace, detail: str) -> Any:
    from .lookup.playbook import playbook

    return playbook(" ".join(options.topic), detail)


def _fixes(options: argparse.Namespace, detail: str) -> Any:
    from .lookup.fixes import fixes
    from .lookup.names import pattern

    named = {"pattern": options.id} if pattern(options.id) else {"bug": options.id}
    return fixes(**named, offset=max(0, options.offset), limit=options.limit, detail=detail)


def _avoid(options: argparse.Namespace, detail: str) -> Any:
    from .avoid.avoid import avoid

    return avoid(options.focus, options.framework, _versions(options), detail)


def _matrix(options: argparse.Namespace, detail: str) -> Any:
    from .lookup.matrix import matrix

    return matrix(options.view, options.bug, options.compare, detail=detail, framework=options.framework)


def _explain(options: argparse.Namespace, detail: str) -> Any:
    from .lookup.explain import explain

    return explain(options.id, options.view, detail=detail)


def _proof(options: argparse.Namespace, detail: str) -> Any:
    from .proofs.answer import proof

    return proof(" ".join(options.query), detail)


def _skill(options: argparse.Namespace, detail: str) -> Any:
    from .lookup.skills import match_skill

    return match_skill(" ".join(options.query), detail)


def _read(options: argparse.Namespace, _: str) -> Any:
    from .lookup.notes import read_reference

    return read_reference(
        options.name, options.section, options.search, options.framework, detail=options.detail or "full"
    )


def _memory(options: argparse.Namespace) -> int:
    from .memory.estimate import estimate, shortened

    targets: list[str] = options.targets
    if "-" in targets and targets != ["-"]:
        raise InputError("- (standard input) cannot be combined with files")
    piped = targets == ["-"]
    data = estimate(
        config=_standard_input() if piped else "",
        paths=[] if piped else [Path(target) for target in targets],
        model=_model(options.model),
        gpu=options.gpu,
        framework=options.framework,
        settings=_fields(options.set),
    )
    if options.html is not None:
        from .render.memory_html import page

        _write_page(options.html, page(data))
    as_json = options.format == "json"
    data = shortened(data, options.detail or ("full" if as_json else "normal"))
    if as_json:
        import json

        from .model import plain

        print(json.dumps(plain(data), ensure_ascii=False, indent=2))
    else:
        from .model import clean
        from .render.memory import memory_text

        print(clean(memory_text(data)))
    return EXIT_OK


def _one_card(options: argparse.Namespace) -> int:
    from .rtx4090.report import report

    as_json = options.format == "json"
    data = report(options.topic, options.gpu, options.detail or ("full" if as_json else "normal"))
    if as_json:
        import json

        print(json.dumps(data, ensure_ascii=False, indent=2))
    else:
        from .model import clean
        from .render.card import card_text

        print(clean(card_text(data)))
    return EXIT_OK


def _model(name: str) -> str:
    """The name of a model, or the text of the config.json that it names."""
    from .configs.files import read_text

    try:
        place = Path(name, "config.json") if name and Path(name).is_dir() else Path(name)
        is_file = bool(name) and place.is_file()
    except (OSError, ValueError):  # longer than a path can be, a NUL character
        return name
    if not is_file:
        return name
    text = read_text(place)
    if not text.lstrip().startswith("{"):
        raise InputError(f"{name}: not a model's config.json; give that file, or the model's name")
    return text


def _serve(options: argparse.Namespace) -> int:
    from .serve import serve_stdio

    serve_stdio(options.root)
