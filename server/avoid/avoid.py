"""avoid: lines of a config that keep a run clear of the hazards of one topic, each with its reason and source.

The lines come from knowledge/avoid/, written with the adapters' own maps from canonical fields to native keys; what no
setting cures is told in words, from the rules and bugs. The fragment is checked by the rules before it is handed out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..checks.engine import in_framework
from ..configs.values import InputError
from ..lookup import entries, names
from ..lookup.answers import AvoidAnswer, AvoidLine, to_data
from ..lookup.short import allowance, fit, short
from ..model import Report
from ..store import lookup as store
from ..store.index import index, package_of
from ..store.versions import is_version
from .native import Native, Writer
from .releases import Releases

Row = Mapping[str, Any]
FOCUS = ("all", "nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge")
_APART = ("muon", "moe", "fsdp")  # topics of runs of one kind, whose settings are no part of "all"


def avoid(
    focus: str, framework: str, versions: Mapping[str, str] | None = None, detail: str = "full"
) -> dict[str, Any]:
    """What to write for a topic in a framework's config. Raises InputError for what is not known or no version."""
    topic = focus.strip().lower() or "all"
    if topic not in FOCUS:
        raise InputError(f"no focus {focus!r}: there are {', '.join(FOCUS)}")
    topic = "all" if topic == "knowledge" else topic
    name = framework_of(framework)
    adapter: Mapping[str, Any] = index()["adapters"].get(name, {})
    releases = Releases(_checked(versions), package_of(name), adapter)
    writer = Writer(name, releases)
    answer = AvoidAnswer(framework=name, focus=topic)
    rows = _rows(topic, name)
    wanted = [row for row in rows if releases.hold(row.get("versions", {}))]
    settings, left = _write(answer, wanted, writer)
    answer.versions = releases.used(
        {releases.package, *(package for row in rows for package in row.get("versions", ()))}
    )
    answer.fragment = writer.fragment(settings)
    if refused := _refused(answer):
        answer.lines, left = [], []
        settings, left = _write(answer, wanted, writer, refused)
        answer.fragment = writer.fragment(settings)
    answer.lines += _in_words(answer, wanted, left, releases, writer)
    _tell(answer, releases, writer, left)
    _check(answer)
    return _shaped(answer, detail)


def framework_of(text: str) -> str:
    """The framework that a caller names; one with an adapter wins over its other names. Raises InputError."""
    if not text.strip():
        raise InputError("name the framework, e.g. framework=verl")
    plain = text.strip().lower().replace("_", "-").replace(" ", "-")
    adapters: list[str] = [adapter for adapter in index()["adapters"] if adapter != "recognised"]
    common = names.framework(plain)
    for candidate in (plain, common, *(other for other in adapters if common and names.framework(other) == common)):
        if candidate in adapters:
            return candidate
    if common:
        return common
    known = sorted({*adapters, *names.frameworks()})
    raise InputError(f"no framework {text!r}{names.nearest(plain, known)}; there are {', '.join(known)}")


def _checked(versions: Mapping[str, str] | None) -> dict[str, str]:
    given = {package.lower().replace("_", "-"): version.strip() for package, version in (versions or {}).items()}
    for package, version in given.items():
        if not is_version(version):
            raise InputError(f"{package}={version}: not a version; write it like {package}=0.8.0")
    return given


def _rows(topic: str, framework: str) -> list[Row]:
    """The rows of a topic that are for the framework."""
    rows: list[Row] = store.avoid()["rows"]
    of_topic = (row for row in rows if (row.get("always", True) if topic == "all" else topic in row["focus"]))
    return [row for row in of_topic if framework in _frameworks(row)]


def _frameworks(row: Row) -> set[str]:
    """The frameworks of a row: named by it, else by its rules and bugs; any name of one stands for all of its names."""
    named = set(row.get("frameworks", ())) | set(row.get("native", ()))
    if not named:
        named |= {name for rule in row.get("rules", ()) for name in entries.rules()[rule].get("frameworks", ())}
        for bug in (store.bugs()[name] for name in row.get("bugs", ())):
            named |= {bug["package"], *bug.get("frameworks", ())}
    return named | {other for name in named for other in _synonyms(name)}


def _synonyms(name: str) -> set[str]:
    return {adapter for adapter in index()["adapters"] if names.framework(adapter) == name}


def _write(
    answer: AvoidAnswer, rows: Iterable[Row], writer: Writer, refused: frozenset[str] = frozenset()
) -> tuple[list[Native], list[Row]]:
    """Append a line for each setting whose key is not refused; returns the settings, and the rows without a key."""
    written: dict[str, tuple[Native, AvoidLine]] = {}
    left: list[Row] = []
    for row in rows:
        found = [setting for setting in _natives(row, writer) if setting.key.lstrip("-") not in refused]
        if not found:
            left.append(row)
        for setting in found:
            same, line = written.get(setting.key, (None, None))
            if line is None:
                line = AvoidLine(writer.text(setting), _why(row, setting, writer), _source(row))
                written[setting.key] = setting, line
            elif same == setting:  # one more reason for the same line
                line.why += f" {_given(row)}{row['why']}"
    answer.lines += [line for _, line in written.values()]
    return [setting for setting, _ in written.values()], left


def _natives(row: Row, writer: Writer) -> list[Native]:
    if not writer.writes or row.get("words"):
        return []
    if row.get("native"):
        own: Mapping[str, Any] = row["native"].get(writer.framework, {})
        return [writer.native(key, value) for key, value in own.items()] if all(map(writer.knows, own)) else []
    value = row.get("values", {}).get(writer.framework, row["value"])
    if value is False and writer.syntax["style"] == "flags":
        return []  # a switch of argparse is off by leaving it out
    setting = writer.setting(row["field"], value)
    return [setting] if setting else []


def _why(row: Row, setting: Native, writer: Writer) -> str:
    default = " It is the default: keep it." if _same(writer.default(setting.key), setting.value) else ""
    return f"{_given(row)}{row['why']}{default}"


def _same(default: Any, value: Any) -> bool:
    return type(default) is type(value) and default == value


def _source(row: Row) -> str:
    """Where the first rule, else the first bug, of a row was read."""
    rules = [entries.rules()[name] for name in row.get("rules", ())]
    bugs = [store.bugs()[name] for name in row.get("bugs", ())]
    return next(url for entry in (*bugs, *rules) for url in entries.urls(entry))


def _in_words(
    answer: AvoidAnswer, wanted: Iterable[Row], left: Iterable[Row], releases: Releases, writer: Writer
) -> list[AvoidLine]:
    """What no line can set: settings without a key here, and cures of rules and bugs that hold for these releases."""
    topic, framework = answer.focus, answer.framework
    told = [
        AvoidLine(f"# {row.get('words') or _setting(row, writer)}", _given(row) + row["why"], _source(row))
        for row in left
        if not row.get("native")
    ]
    covered = {name for row in wanted for part in ("rules", "bugs") for name in row.get(part, ())}
    for rule in _rules(topic, framework):
        if rule["id"] not in covered and releases.hold(rule["affected"]):
            covered |= {rule["id"], *rule.get("bugs", ())}
            told.append(AvoidLine(f"# {_cure(rule, writer)}", rule["title"], entries.urls(rule)[0]))
    for pair in index()["pair_rules"]:
        all_known = framework in pair["frameworks"] and pair["affected"].keys() <= answer.versions.keys()
        if all_known and releases.hold(pair["affected"]) and not covered & set(pair.get("bugs", ())):
            told.append(AvoidLine(f"# {_cure(pair, writer)}", _told_pair(pair, answer), entries.urls(pair)[0]))
    for bug in _bugs(topic, framework):
        if bug["id"] not in covered and bug["ranges"].keys() <= answer.versions.keys() and releases.hold(bug["ranges"]):
            told.append(AvoidLine(f"# {_way_out(bug)}", bug["title"], entries.urls(bug)[0]))
    return told


def _told_pair(pair: Row, answer: AvoidAnswer) -> str:
    return f"{pair['title']} ({', '.join(f'{name} {answer.versions[name]}' for name in pair['affected'])})"


def _way_out(bug: Row) -> str:
    """The workaround, or the fix where there is none."""
    around = str(bug.get("workaround", ""))
    return str(bug["fix"]) if not around or around.startswith("None") else around


def _given(row: Row) -> str:
    return f"For {row['given']}. " if row.get("given") else ""


def _setting(row: Row, writer: Writer) -> str:
    """A setting in words: a switch that is off by leaving it out, or what another file has to say."""
    value = row["value"]
    if value is False and writer.writes and (switch := writer.setting(row["field"], True)):
        return f"leave out {writer.text(switch)}"
    return f"{row['field']}: {str(value).lower() if isinstance(value, bool) else value}"


def _rules(topic: str, framework: str) -> list[Row]:
    """Rules of the topic for some releases only; the others say what is wrong with a setting when it is set."""
    of_framework = (in_framework(rule, framework) for rule in index()["rules"])
    return [
        rule
        for rule in of_framework
        if _of_topic(topic, set(rule.get("focus", ())))
        and framework in rule.get("frameworks", ())
        and rule.get("affected")
        and any("<" in bounds for bounds in map(str, rule["affected"].values()))
        and rule["severity"] != "info"
        and (rule.get("fix") or {}).get("text")
    ]


def _of_topic(topic: str, carried: set[str]) -> bool:
    """Whether what carries these topics belongs to the one asked for."""
    if topic != "all":
        return topic in carried
    return bool(carried - {"knowledge"}) and not carried & set(_APART)


def _bugs(topic: str, framework: str) -> list[Row]:
    """Confirmed bugs of the topic's patterns in the framework or in what its runs use, the most serious first."""
    topics: Mapping[str, list[str]] = store.avoid()["topics"]
    patterns = {name for key, found in topics.items() if _of_topic(topic, {key}) for name in found}
    synonyms = {framework, names.framework(framework)}
    return entries.by_weight(
        bug
        for bug in store.bugs().values()
        if bug["pattern"] in patterns
        and bug["verdict"] == "confirmed"
        and bug.get("kind", "bug") == "bug"
        and bug["severity"] != "info"
        and bug["ranges"]
        and synonyms & {bug["package"], *bug.get("frameworks", ())}
    )


def _cure(rule: Row, writer: Writer) -> str:
    """The fix of a rule with native keys in place of its placeholders, as far as the framework has them."""

    def native(match: re.Match[str]) -> str:
        setting = writer.setting(match[1], None) if writer.writes else None
        return setting.key if setting else match[0]

    text = re.sub(r"\{(\w+)\.key\}", native, str(rule["fix"]["text"]))
    return entries.rule_text({"title": "", "message": " ", "fix": {"text": text}}).strip()


def _tell(answer: AvoidAnswer, releases: Releases, writer: Writer, left: list[Row]) -> None:
    """Versions taken, what is not written and why."""
    name, taken = answer.framework, [package for package in answer.versions if package in releases.assumed]
    if taken:
        told = ", ".join(f"{package} {answer.versions[package]}" for package in taken)
        answer.notes.append(f"newest known release assumed: {told}; give versions for yours")
    answer.notes += list(dict.fromkeys(table.note for table in writer.tables if "newer than the data" in table.note))
    backend = str(writer.syntax.get("backend", ""))
    if answer.lines and not writer.writes:
        answer.notes.append(f"no native fragment is known for {name}: its keys are not in our data")
    elif backend and any(row.get("field") and not writer.setting(row["field"], True) for row in left):
        answer.notes.append(f"settings with # have no key in {name}: see avoid with framework={backend}")
    if answer.focus == "all":
        answer.notes.append(f"for runs of one kind only: focus {', '.join(_APART)}")
    if not answer.lines:
        at = ", ".join(f"{package} {version}" for package, version in answer.versions.items()) or "its releases"
        says = f"nothing to avoid: no rule or confirmed bug of focus {answer.focus} needs a setting in {name} at {at}"
        answer.notes.insert(0, says)


def _report(answer: AvoidAnswer) -> Report:
    """What the rules of the topic say of the fragment."""
    from ..validate import validate_text

    return validate_text(answer.fragment, framework=answer.framework, versions=answer.versions, focus=answer.focus)


def _refused(answer: AvoidAnswer) -> frozenset[str]:
    """Keys of the fragment that this release does not know where they would stand (an option of another engine)."""
    return frozenset(row.key.lstrip("-+") for row in _report(answer).unknown_keys) if answer.fragment else frozenset()


def _check(answer: AvoidAnswer) -> None:
    """Say what our rules find in the fragment."""
    if not answer.fragment:
        return
    report = _report(answer)
    about_lines = [
        finding for finding in report.findings if finding.setting is not None
    ]  # not versions among themselves
    faults = [finding.rule for finding in about_lines if finding.severity != "info"]
    faults += [f"unknown key {row.key}" for row in report.unknown_keys]
    if faults:
        answer.notes.insert(0, f"our own check objects to this fragment: {', '.join(faults)}")
    else:
        passed = report.summary["pass"]
        answer.notes.append("checked by our rules: no finding" + (f", {passed} pass" if passed else ""))


def _shaped(answer: AvoidAnswer, detail: str) -> dict[str, Any]:
    data = to_data(answer)
    if detail == "brief":
        for line in data["lines"]:
            line["text"], line["why"] = short(line["text"], 220), short(line["why"], 160)
    fit(data, ["lines"], allowance(detail), "raise `detail`")
    return data
