"""matrix: which bugs of which pattern are known in which framework, made from the bug entries, in several views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..configs.values import InputError
from ..store import lookup as store
from . import entries, names, seed_tables
from .answers import MatrixAnswer, MatrixCell, to_data
from .short import MAP_CHARS, allowance, fit, short

Bugs = Iterable[Mapping[str, Any]]
Row = dict[str, Any]

VIEWS = ("default", "streams", "fsdp", "cross", "frameworks", "moe", "versions")


def matrix(
    view: str = "default",
    bug: str = "",
    compare: bool = False,
    limit: int | None = None,
    detail: str = "full",
    framework: str = "",
) -> dict[str, Any]:
    """One view. compare: streams, bug by bug; default, against the seeds' two tables. framework: of versions only.

    Raises InputError.
    """
    view = "cross" if bug.strip() and view == "default" else view
    if view not in VIEWS:
        raise InputError(f"no view {view!r}: there are {', '.join(VIEWS)}")
    if view == "cross" and not bug.strip():
        raise InputError('view cross needs a bug, e.g. bug="verl-6782"')
    if framework.strip() and view != "versions":
        raise InputError(f"framework is for the view versions; view {view} has all frameworks side by side")
    answer = _versions(framework) if view == "versions" else _BUILD[view](bug, compare)
    answer.notes += entries.age_notes([store.bugs()[bug_] for cell in answer.cells for bug_ in _ids(cell)])
    return _shaped(answer, detail, limit)


def cells(bugs: Bugs) -> list[MatrixCell]:
    """Pattern by framework (whose code has the bug), the seeds' patterns and frameworks first."""
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for bug in entries.by_weight(bugs):
        grouped.setdefault((bug["pattern"], bug["package"]), []).append(bug)
    patterns = entries.ordered((pattern for pattern, _ in grouped), entries.SEED_PATTERNS)
    packages = entries.ordered((package for _, package in grouped), entries.SEED_FRAMEWORKS)
    return [
        MatrixCell(pattern, package, [entries.state(bug) for bug in grouped[pattern, package]])
        for pattern in patterns
        for package in packages
        if (pattern, package) in grouped
    ]


def _of_cells(view: str, found: list[MatrixCell], rows: list[Row], notes: Iterable[str] = ()) -> MatrixAnswer:
    first = [store.bugs()[bug.id] for cell in found for bug in cell.bugs[:1]]
    return MatrixAnswer(
        view=view,
        references=[url for bug in first[:3] for url in entries.urls(bug)[:1]],
        patterns=list(dict.fromkeys(cell.pattern for cell in found)),
        frameworks=entries.ordered((cell.framework for cell in found), entries.SEED_FRAMEWORKS),
        cells=found,
        rows=rows,
        notes=list(notes),
    )


def _default(_: str, compare: bool) -> MatrixAnswer:
    if compare:
        notes = [
            "rows: the cells of the seeds' two tables, and where each bug belongs; `explain` with the bug says more"
        ]
        return _of_cells("default", [], seed_tables.differences(), notes)
    rows = [
        {"id": row["id"], "answer": row["answer"], "title": row["title"], "note": row["note"], "checks": row["checks"]}
        for row in entries.seed_rows().values()
    ]
    return _of_cells("default", cells(store.bugs().values()), rows, ["rows: the seeds' 36 rules with our answers"])


def _streams(_: str, compare: bool) -> MatrixAnswer:
    table = store.table("streams")
    kinds = {bug: kind["kind"] for kind in table["kinds"] for bug in kind["bugs"] if bug in store.bugs()}
    members = [store.bugs()[name] for name in kinds]
    if compare:
        rows = [_stream_row(bug, kinds[bug["id"]]) for bug in sorted(members, key=lambda bug: _column(bug["package"]))]
    else:
        rows = [
            {
                "kind": kind["kind"],
                "says": kind["says"],
                "cure": kind["cure"],
                "not_cured_by": kind.get("not_cured_by", ""),
                "bugs": [name for name in kind["bugs"] if name in store.bugs()],
                "references": entries.urls(kind),
            }
            for kind in table["kinds"]
        ]
    rows += [{"kind": "something else", "bug": name, "says": said} for name, said in table["elsewhere"].items()]
    answer = _of_cells("streams", cells(members), rows)
    answer.references = list(dict.fromkeys(url for kind in table["kinds"] for url in entries.urls(kind)))
    return answer


def _column(package: str) -> tuple[int, str]:
    order = entries.SEED_FRAMEWORKS
    return (order.index(package) if package in order else len(order)), package


def _stream_row(bug: Mapping[str, Any], kind: str) -> Row:
    return {
        "framework": bug["package"],
        "bug": bug["id"],
        "kind": kind,
        "cause": bug["mechanism"],
        "fix": bug["fix"],
        "status": entries.status(bug),
        "fixed_in": dict(bug.get("fixed_in", {})),
        "references": entries.urls(bug),
    }


def _fsdp(_: str, __: bool) -> MatrixAnswer:
    table = store.table("fsdp")
    named = [name for side in (*table["sides"], *table["decisions"]) for name in side.get("bugs", ())]
    members = [store.bugs()[name] for name in dict.fromkeys(named) if name in store.bugs()]
    rows = [
        {
            "aspect": side["aspect"],
            "fsdp1": side["fsdp1"],
            "fsdp2": side["fsdp2"],
            "bugs": [f"{name} ({_told(name)})" for name in side.get("bugs", ()) if name in store.bugs()],
            "rules": side.get("rules", []),
            "references": entries.urls(side),
        }
        for side in table["sides"]
    ]
    answer = _of_cells("fsdp", cells(members), rows, ["`playbook` with topic fsdp says which to take when"])
    answer.references = list(dict.fromkeys(url for side in table["sides"] for url in entries.urls(side)))
    return answer


def _told(name: str) -> str:
    """State of a bug in words: "verl >=0.8.0,<0.9.0, fixed"."""
    bug = store.bugs()[name]
    ranges = "; ".join(f"{package} {bounds}" for package, bounds in entries.affected(bug).items())
    return ", ".join(filter(None, (ranges, entries.status(bug))))


def _moe(_: str, __: bool) -> MatrixAnswer:
    table = store.table("moe")
    rows = [
        {
            "platform": row["platform"],
            "seed": row["seed"],
            "answer": row["answer"],
            "cause": row["cause"],
            "fix": row["fix"],
            "bugs": [name for name in row.get("bugs", ()) if name in store.bugs()],
            "rules": row.get("rules", []),
            "references": entries.urls(row),
        }
        for row in table["platforms"]
    ]
    named = [name for row in rows for name in row["bugs"]]
    answer = _of_cells("moe", cells(store.bugs()[name] for name in dict.fromkeys(named)), rows)
    answer.references = list(dict.fromkeys(url for row in table["platforms"] for url in entries.urls(row)))
    return answer


def _frameworks(_: str, __: bool) -> MatrixAnswer:
    rules = entries.rules().values()
    rows = []
    for name in entries.ordered(names.frameworks(), entries.SEED_FRAMEWORKS):
        own = [bug for bug in store.bugs().values() if bug["package"] == name]
        met = [bug for bug in store.bugs().values() if name in bug.get("frameworks", ()) or bug["package"] == name]
        counts: dict[str, int] = {}
        for bug in met:
            counts[bug["pattern"]] = counts.get(bug["pattern"], 0) + 1
        rows.append({
            "framework": name,
            "bugs_in_its_code": len(own),
            "bugs_its_runs_meet": len(met),
            "not_fixed": sum(entries.status(bug) in ("open", "reported") for bug in met),
            "rules": sum(name in rule.get("frameworks", ()) for rule in rules),
            "patterns": sorted(counts, key=lambda pattern: (-counts[pattern], pattern))[:3],
        })  # fmt: skip
    return _of_cells("frameworks", cells(store.bugs().values()), rows)


def _versions(framework: str) -> MatrixAnswer:
    """Which releases were made for each other, which fail together, and what each release fixes."""
    from .combinations import rows

    found = rows(framework)
    packages = entries.ordered((row["package"] for row in found if "package" in row), entries.SEED_FRAMEWORKS)
    references = [url for row in found if row["kind"] == "fails together" for url in row["references"][:1]]
    notes = ["asked for: bounds in the metadata of the newest release read; `earlier` (detail full) has the others"]
    return MatrixAnswer("versions", frameworks=packages, rows=found, references=references, notes=notes)


def _cross(bug: str, _: bool) -> MatrixAnswer:
    """One bug, and what stands beside it: related entries, the same pattern elsewhere, the rules that know it."""
    chosen = store.bugs()[names.bug(bug)]
    alike = [other for other in entries.of_pattern(chosen["pattern"]) if other["id"] != chosen["id"]]
    elsewhere = [other for other in alike if other["package"] != chosen["package"]]
    related = [store.bugs()[name] for name in chosen.get("related", ()) if name in store.bugs()]
    rows = [{"relation": "bug", **_bug_row(chosen), "frameworks": chosen.get("frameworks", [])}]
    rows += [{"relation": "related", **_bug_row(other)} for other in related]
    rows += [
        {"relation": "rule", "id": rule["id"], "title": rule["title"], "frameworks": rule.get("frameworks", [])}
        for rule in entries.rules().values()
        if chosen["id"] in rule.get("bugs", ())
    ]
    rows += [{"relation": "seed rule", "id": row["id"], "title": row["title"], "answer": row["answer"]}
             for row in entries.seed_rows().values() if chosen["id"] in row.get("cited", ())]  # fmt: skip
    rows += [{"relation": "same pattern elsewhere", **_bug_row(other)} for other in elsewhere]
    answer = _of_cells("cross", cells([chosen, *alike]), rows)
    answer.references = entries.urls(chosen)
    return answer


def _bug_row(bug: Mapping[str, Any]) -> Row:
    return {"id": bug["id"], "framework": bug["package"], "status": entries.status(bug), "title": bug["title"]}


_BUILD: dict[str, Callable[[str, bool], MatrixAnswer]] = {
    "default": _default,
    "streams": _streams,
    "fsdp": _fsdp,
    "cross": _cross,
    "frameworks": _frameworks,
    "moe": _moe,
}


def _ids(cell: MatrixCell) -> list[str]:
    return [bug.id for bug in cell.bugs]


_BRIEF_CHARS = {"says": 200, "cure": 160, "cause": 160, "fix": 110, "fsdp1": 110, "fsdp2": 110, "note": 70, "why": 150}
_BRIEF_DROPS = ("references", "checks", "rules", "not_cured_by", "earlier")


def _shaped(answer: MatrixAnswer, detail: str, limit: int | None) -> dict[str, Any]:
    data, view = to_data(answer), answer.view
    if detail == "brief":
        _shorten(data)
    more = "raise `detail`, or name " + ("a framework" if view == "versions" else "a pattern in `fixes`")
    fit(data, ["rows", "cells"], allowance(detail, MAP_CHARS), more, limit)
    return {name: value for name, value in data.items() if value or name in _ALWAYS}


_ALWAYS = ("view", "patterns", "frameworks", "cells", "rows")


def _shorten(data: Row) -> None:
    """The parts of a short answer; what the rows tell already needs no cells."""
    data["references"] = data.get("references", [])[:3]
    if data["view"] == "versions":
        from .combinations import brief

        data["rows"] = brief(data["rows"])
    data["rows"] = [_brief_row(row) for row in data["rows"]]
    if data["view"] == "default" and data["cells"]:
        data["rows"] = _by_answer(data["rows"])
        cells = [_brief_cell(cell) for cell in data["cells"] if _of_the_seeds(cell)]
        left = sum(len(cell["bugs"]) for cell in data["cells"] if not _of_the_seeds(cell))
        data["notes"] = [*data.get("notes", []), f"{left} bugs of other patterns and frameworks: raise `detail`"]
        data["cells"] = cells
    else:
        data["cells"] = []
    if data["rows"] and "cited" in data["rows"][0]:
        agreeing = [row for row in data["rows"] if not row.get("differs")]
        data["rows"] = [row for row in data["rows"] if row.get("differs")]
        data["notes"] = [*data.get("notes", []), f"{len(agreeing)} cells agree with the entries"]
    for name, part in (("patterns", "pattern"), ("frameworks", "framework")):
        if data["view"] == "versions":
            break  # its rows name packages, and it has no cells
        shown = {cell[part] for cell in data["cells"]}
        data[name] = [entry for entry in data[name] if entry in shown]


def _of_the_seeds(cell: Row) -> bool:
    return cell["pattern"] in entries.SEED_PATTERNS and cell["framework"] in entries.SEED_FRAMEWORKS


def _brief_row(row: Row) -> Row:
    kept = {name: value for name, value in row.items() if name not in _BRIEF_DROPS and value}
    return {name: short(value, _BRIEF_CHARS[name]) if name in _BRIEF_CHARS else value for name, value in kept.items()}


def _brief_cell(cell: Row) -> Row:
    """The most serious bug of a cell, and how many more there are."""
    more = {"more": len(cell["bugs"]) - 1} if len(cell["bugs"]) > 1 else {}
    first = {name: cell["bugs"][0][name] for name in ("id", "status")}
    return {"pattern": cell["pattern"], "framework": cell["framework"], "bugs": [first], **more}


def _by_answer(rows: list[Row]) -> list[Row]:
    """The 36 rules in four lines: which are right, conditional, outdated, wrong."""
    found: dict[str, list[str]] = {answer: [] for answer in ("right", "conditional", "outdated", "wrong")}
    for row in rows:
        found[row["answer"]].append(row["id"])
    return [{"answer": answer, "rules": ids} for answer, ids in found.items() if ids]
