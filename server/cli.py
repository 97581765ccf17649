"""The command line: the same verbs as the MCP tools. Only `serve` and `doctor` import the MCP SDK."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .cli_input import FOCUS, fields, standard_input, versions
from .cli_validate import add_validate
from .configs.values import InputError

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
_VIEWS = ("default", "streams", "fsdp", "cross", "frameworks", "moe", "versions")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        if sys.stdin is None or sys.stdin.isatty():
            _parser().print_help()
            return EXIT_OK
        arguments = ["serve"]
    options = _parser(arguments[0]).parse_args(arguments)
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
    from .masking import mask

    return mask(printable(text, 500))


def _parser(verb: str = "") -> argparse.ArgumentParser:
    """For all verbs; for a known one without the others, which take longer to describe than a file to check."""
    parser = argparse.ArgumentParser(
        prog="grpo-guard",
        description="Checks GRPO and other RL post-training launch scripts and configs before the GPUs are busy.",
        epilog="Without a verb it serves MCP on stdin/stdout when stdin is not a terminal.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"grpo-guard {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    parts = {
        "validate": add_validate, "diagnose": _add_diagnose, "rules": _add_rules, "symptoms": _add_lookups,
        "memory": _add_memory, "serve": _add_serve, "doctor": _add_doctor,
    }  # fmt: skip
    for add in [parts[verb]] if verb in parts else parts.values():
        add(verbs)
    return parser


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
    verb.add_argument("--focus", choices=FOCUS, default="all", help="only causes of one topic")
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
    verb.add_argument("focus", choices=FOCUS, metavar="FOCUS", help=", ".join(FOCUS))
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
        help="serve MCP on standard input and output, or over HTTP",
        description=(
            "Serve the tools to an assistant over MCP: on standard input and output, or with --http as stateless "
            "streamable HTTP on http://HOST:PORT/mcp."
        ),
        epilog=(
            "A token that HTTP clients must send (Authorization: Bearer TOKEN) comes from the environment variable "
            "GRPO_GUARD_TOKEN or from --token-file; any --host that other machines can reach needs one."
        ),
        allow_abbrev=False,
    )
    verb.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="DIR",
        help="folder whose files may be read; repeatable (default: GRPO_GUARD_ROOTS, else the working directory)",
    )
    verb.add_argument("--http", action="store_true", help="serve streamable HTTP")
    verb.add_argument("--host", default="127.0.0.1", metavar="HOST", help="address to listen on (default: 127.0.0.1)")
    verb.add_argument("--port", type=int, default=8930, metavar="PORT", help="default: 8930; 0: any free one")
    verb.add_argument("--token-file", type=Path, metavar="FILE", help="file that holds the token")
    verb.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="further name by which HTTP clients call this machine; repeatable",
    )
    verb.set_defaults(run=_serve)


def _add_doctor(verbs: Any) -> None:
    verb = verbs.add_parser(
        "doctor",
        help="is this installation whole",
        description=(
            "Version, roots, age of the knowledge, open-file limit, and a self-test of every part: it validates, "
            "diagnoses, proves, reads and answers an MCP client inside this process. Exit code 1 when a part fails."
        ),
        allow_abbrev=False,
    )
    verb.add_argument("--root", action="append", default=[], metavar="DIR", help="as for serve")
    verb.add_argument("--format", choices=("text", "json"), default="text")
    verb.set_defaults(run=_doctor)


def _diagnose(options: argparse.Namespace) -> int:
    from .configs.files import read_text
    from .diagnosis.diagnose import diagnose
    from .diagnosis.short import to_data
    from .model import clean

    logs = [_piped_log() if name == "-" else Path(name) for name in options.log]
    config = read_text(options.config) if options.config is not None else ""
    answer = diagnose(
        options.symptoms, logs, config, options.framework, versions(options), options.focus, options.limit
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

        from .model import plain

        print(json.dumps(plain(data), ensure_ascii=False, indent=2))
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

    return avoid(options.focus, options.framework, versions(options), detail)


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
        config=standard_input() if piped else "",
        paths=[] if piped else [Path(target) for target in targets],
        model=_model(options.model),
        gpu=options.gpu,
        framework=options.framework,
        settings=fields(options.set),
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

        from .model import plain

        print(json.dumps(plain(data), ensure_ascii=False, indent=2))
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
    if options.http:
        from .serve import serve_http

        serve_http(options.root, options.host, options.port, options.token_file, options.allowed_host)
    if options.token_file or options.allowed_host or (options.host, options.port) != ("127.0.0.1", 8930):
        raise InputError("--host, --port, --token-file and --allowed-host are for --http: add it")
    from .serve import serve_stdio

    serve_stdio(options.root)


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import doctor, doctor_text
    from .model import clean, plain

    data = doctor(options.root)
    if options.format == "json":
        import json

        print(json.dumps(plain(data), ensure_ascii=False, indent=2))
    else:
        print(clean(doctor_text(data)))
    return EXIT_OK if data["ok"] else EXIT_FAILED
