"""The verb validate: its options, one run or many, and the four formats."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .cli_input import FOCUS, fields, standard_input, versions
from .configs.values import InputError

EXIT_OK, EXIT_FINDINGS = 0, 1
_EPILOG = "exit codes: 0 nothing at or above --fail-on, 1 findings, 2 usage error or unreadable input"


def add_validate(verbs: Any) -> None:
    """Add the verb to the parser of the command line."""
    verb = verbs.add_parser(
        "validate",
        help="check launch scripts and configs",
        description=(
            "Check a launch script or config: verl, rLLM and EasyR1 (shell with Hydra or OmegaConf overrides, YAML), "
            "TRL (YAML, command lines, GRPOConfig calls), OpenRLHF flags, DeepSpeed JSON, accelerate YAML. Several "
            "targets are one run; a folder, or --each, is many runs. Nothing is executed. A .grpo-guard.yaml beside "
            "the target or above it gives versions, gpu, world_size, ignore, rules, exclude."
        ),
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    verb.add_argument("targets", nargs="*", metavar="TARGET", help="file or folder to read, or - for standard input")
    verb.add_argument("--config", metavar="TEXT", help="the config as text, in place of a file")
    verb.add_argument("--each", action="store_true", help="each target is a run of its own; skip what is no launch")
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
    verb.add_argument("--focus", choices=FOCUS, default="all", help="only rules of one topic")
    verb.add_argument("--ruleset", choices=("all", "seed"), default="all", help="seed: also answer the seeds' 36 rules")
    verb.add_argument("--detail", choices=("brief", "normal", "full"), default="normal", help="how much text to print")
    verb.add_argument(
        "--fail-on", choices=("error", "warning", "info", "never"), default="error", help="exit 1 from this level on"
    )
    edits = verb.add_mutually_exclusive_group()
    edits.add_argument("--diff", action="store_true", help="print the fixes as a patch; write nothing")
    edits.add_argument("--fix", action="store_true", help="edit the files: only what cannot change training or cost")
    verb.add_argument("--unsafe", action="store_true", help="with --diff or --fix: also fixes that a person decides")
    verb.add_argument("--format", choices=("text", "json", "sarif", "github"), default="text")
    verb.set_defaults(run=validate)


def validate(options: argparse.Namespace) -> int:
    """Run the verb and return the exit code. Raises InputError."""
    targets: list[str] = options.targets
    if bool(targets) == (options.config is not None):
        raise InputError("name a file to validate, - for standard input, or give --config TEXT (not both)")
    chosen: dict[str, Any] = {
        "framework": options.framework,
        "versions": versions(options),
        "gpu": options.gpu,
        "world_size": options.world_size,
        "focus": options.focus,
        "ruleset": options.ruleset,
        "settings": fields(options.set),
    }
    wants_edits = options.diff or options.fix
    if options.unsafe and not wants_edits:
        raise InputError("--unsafe goes with --diff or --fix")
    if options.diff and options.format not in ("text", "json"):
        raise InputError("--diff prints text or json; --format sarif has the fixes in it")
    is_text = options.config is not None or targets == ["-"]
    if is_text and wants_edits:
        raise InputError("--diff and --fix edit files: save the text to a file and name it")
    if not is_text and "-" in targets:
        raise InputError("- (standard input) cannot be combined with files")
    if not is_text and (options.each or any(os.path.isdir(target) for target in targets)):
        from .cli_many import validate_many

        return validate_many(options, chosen)
    if wants_edits:
        return _edit([Path(target) for target in targets], chosen, options)
    from .validate import validate_targets, validate_text

    if is_text:
        report = validate_text(options.config if targets != ["-"] else standard_input(), **chosen)
    else:
        report = validate_targets([Path(target) for target in targets], **chosen)
    _print_report(report, options, chosen, [] if is_text else [Path(target) for target in targets])
    return _exit_code(report, options.fail_on)


def _exit_code(report: Any, fail_on: str) -> int:
    """1 when a finding of the report is at or above the level."""
    from .model import SEVERITIES

    limit = SEVERITIES.index(fail_on) if fail_on in SEVERITIES else -1
    failed = any(SEVERITIES.index(finding.severity) <= limit for finding in report.findings)
    return EXIT_FINDINGS if failed else EXIT_OK


def _edit(paths: Sequence[Path], chosen: dict[str, Any], options: argparse.Namespace) -> int:
    """--diff prints the patch and judges the files as they are; --fix writes it and judges what is left."""
    from .edits.run import fix_run
    from .render.patch import diff_text, edit_lines, patch_data

    fixed = fix_run(paths, chosen, unsafe=options.unsafe)
    report = fixed.patch.report if options.fix else fixed.report
    if options.fix:
        fixed.write()
    if options.format == "json":
        import json

        from .model import to_dict

        data = {**to_dict(report, "full"), "patch": patch_data(fixed, written=options.fix)}
        print(json.dumps(data, ensure_ascii=False, indent=2))
    else:
        for line in edit_lines(fixed.patch, "edited" if options.fix else "would edit"):
            print(line, file=sys.stderr)
        if options.fix:
            _print_report(report, options, chosen, paths)
        else:
            sys.stdout.write(diff_text(fixed.old_texts, fixed.patch.texts))
    return _exit_code(report, options.fail_on)


def _fixes(paths: Sequence[Path], report: Any, chosen: dict[str, Any]) -> Any:
    """Fixes as replaced regions; pasted text has no file that they could stand in."""
    if not paths:
        return {}
    from .edits.replacements import replacements

    return replacements(paths, report, chosen)


def _print_report(report: Any, options: argparse.Namespace, chosen: dict[str, Any], paths: Sequence[Path]) -> None:
    if options.format == "json":
        import json

        from .model import to_dict

        print(json.dumps(to_dict(report, "full"), ensure_ascii=False, indent=2))
    elif options.format == "sarif":
        from .render.sarif import sarif_text

        sys.stdout.write(sarif_text([(report, _fixes(paths, report, chosen))], __version__))
    elif options.format == "github":
        from .render.github import github_text

        sys.stdout.write(github_text(report))
    else:
        from .render.text import render

        sys.stdout.write(render(report, colour=wants_colour(), detail=options.detail))


def wants_colour() -> bool:
    """Whether standard output is a terminal whose user has not asked for plain text."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
