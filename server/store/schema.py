"""What an entry of knowledge/ must look like, as pydantic models. Used when the index is built, by the tests, and where
a project has rules of its own; otherwise the program loads the compiled index and never imports this module."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, ValidationError, model_validator

from ..checks.expr import ExpressionError, parse
from .versions import is_version

Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9.]+)*$", max_length=80)]
Text = Annotated[str, Field(min_length=10, max_length=1500)]
Short = Annotated[str, Field(min_length=3, max_length=160)]
Severity = Literal["error", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
Answer = Literal["right", "conditional", "outdated", "wrong"]
FOCUS = ("nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge")
REFERENCE_KINDS = ("issue", "pull", "commit", "source", "docs", "release", "discussion", "paper", "data", "package")


def _expression(text: str) -> str:
    try:
        parse(text)
    except ExpressionError as error:
        raise ValueError(str(error)) from None
    return text


def _version(text: str) -> str:
    if not is_version(text):
        raise ValueError(f"{text!r} is no version")
    return text


Condition = Annotated[str, AfterValidator(_expression)]
Version = Annotated[str, AfterValidator(_version)]


class Strict(BaseModel):
    """No unknown keys: a misspelt one would silently do nothing."""

    model_config = ConfigDict(extra="forbid")


class Reference(Strict):
    """Where a claim was read. `note` says what is to be seen there."""

    kind: Literal["issue", "pull", "commit", "source", "docs", "release", "discussion", "paper", "data", "package"]
    url: HttpUrl
    note: str = ""


class Entry(Strict):
    """What every entry has."""

    id: Slug
    title: Short
    verdict: Literal["confirmed", "reported", "changed", "refuted", "unverifiable"]
    last_verified: datetime.date
    references: Annotated[list[Reference], Field(min_length=1)]

    @model_validator(mode="after")
    def references_differ(self) -> Entry:
        urls = [str(reference.url) for reference in self.references]
        if len(set(urls)) != len(urls):
            raise ValueError("a reference stands twice")
        return self


class RuleFix(Strict):
    text: Text | None = None  # a code check words its fix itself
    edits: dict[str, Any] = {}  # canonical field: the value to set
    remove: list[str] = []  # canonical fields whose keys are taken out where they are written
    safety: Literal["safe", "unsafe"] = "unsafe"


class RuleVariant(Strict):
    """How a rule differs in one framework: the same fault, which is written, met or answered in another way there.

    One with a condition or code of its own has nothing of the rule's `applies_when`.
    """

    severity: Severity | None = None
    applies_when: Condition | None = None
    condition: Condition | None = None
    code: Annotated[str, Field(pattern=r"^\w+\.\w+$")] | None = None
    anchor: str | None = None
    message: Text | None = None
    fix: RuleFix | None = None


class Rule(Entry):
    """knowledge/rules/<id>.yaml: a condition (or a code check) with scope, text, fix and sources."""

    severity: Severity
    confidence: Confidence = "high"
    pattern: str = ""
    seed: list[Annotated[str, Field(pattern=r"^(D(0[1-9]|1\d)|N(0[1-9]|1[0-7]))$")]] = []
    focus: list[Literal["nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge"]] = []
    frameworks: list[str] = []
    affected: dict[str, str | list[str]] = {}
    affected_in: dict[str, dict[str, str | list[str]]] = {}  # framework -> its own ranges, in the place of `affected`
    per_framework: dict[str, RuleVariant] = {}  # framework -> what it has in the place of the rule's own
    applies_when: Condition | None = None
    condition: Condition | None = None
    code: Annotated[str, Field(pattern=r"^\w+\.\w+$")] | None = None
    anchor: str = ""
    message: Text | None = None
    fix: RuleFix | None = None
    bugs: list[Slug] = []

    @model_validator(mode="after")
    def one_way_to_decide(self) -> Rule:
        if (self.condition is None) == (self.code is None):
            raise ValueError("a rule has either `condition` or `code`")
        if self.condition is not None and (self.message is None or not self.anchor):
            raise ValueError("a rule with a condition has `message` and `anchor`")
        if self.verdict in ("refuted", "unverifiable"):
            raise ValueError(f"a {self.verdict} claim raises no finding, so it is no rule")
        if not self.affected_in.keys() | self.per_framework.keys() <= set(self.frameworks):
            raise ValueError("`affected_in` and `per_framework` name only frameworks of the rule")
        for name, own in self.per_framework.items():
            if own.condition is not None and own.code is not None:
                raise ValueError(f"{name} has both `condition` and `code`")
        return self


def fault_of_rule(entry: Any) -> str:
    """The first thing that keeps an entry from being a rule, in a line; "" when it is one."""
    try:
        Rule.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg']}" if place else first["msg"]
    except (RecursionError, MemoryError):
        return "a condition is nested too deeply"
    return ""


class Event(Strict):
    """One end of an affected range, as in OSV: exactly one of the three."""

    introduced: Version | Literal["0"] | None = None
    fixed: Version | None = None
    last_affected: Version | None = None

    @model_validator(mode="after")
    def exactly_one(self) -> Event:
        if sum(value is not None for value in (self.introduced, self.fixed, self.last_affected)) != 1:
            raise ValueError("an event is one of introduced, fixed, last_affected")
        return self


class Affected(Strict):
    """Versions of one package that have the defect. Several events in order; without `fixed` it is not fixed."""

    package: Slug
    events: Annotated[list[Event], Field(min_length=1)]

    @model_validator(mode="after")
    def starts_with_introduced(self) -> Affected:
        if self.events[0].introduced is None:
            raise ValueError("the first event is `introduced` ('0' for from the start)")
        return self


class Claim(Strict):
    """What the mission's seed documents say of it, and our answer."""

    says: Short
    answer: Answer
    note: Text


class Bug(Entry):
    """knowledge/bugs/<package>/<id>.yaml: a defect somebody has root-caused, or a change that decides runs."""

    kind: Literal["bug", "default_change", "removal", "limit", "behaviour"] = "bug"
    pattern: Slug | Annotated[str, Field(pattern=r"^[a-z_]+$")]
    confidence: Confidence
    severity: Severity
    focus: list[
        Literal["nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge"]
    ] = []  # as a rule's; for a trigger
    frameworks: list[str] = []  # whose runs can meet it
    affected: list[Affected] = []
    fixed_in: dict[str, Version] = {}
    trigger: Condition | None = None  # over canonical fields; without it no config finding
    trigger_text: Annotated[str, Field(max_length=600)] = ""  # what no config shows: data, hardware, timing
    anchor: str = ""
    symptoms: list[Annotated[str, Field(pattern=r"^[a-z_]+$")]] = []
    metrics: list[Short] = []  # how it shows in metrics, in words
    signatures: list[Annotated[str, Field(min_length=8, max_length=200)]] = []  # short regexes over log lines
    examples: list[str] = []  # one line that each signature matches, written by us
    mechanism: Text
    fix: Text
    workaround: Annotated[str, Field(max_length=1000)] = ""
    confirm: Annotated[str, Field(max_length=500)] = ""  # the cheapest observation that tells it from others
    related: list[Slug] = []
    claims: list[Claim] = []
    hardware: list[str] = []
    open_questions: list[Short] = []

    @model_validator(mode="after")
    def findings_have_an_anchor(self) -> Bug:
        if self.trigger is not None and not self.anchor:
            raise ValueError("a bug with a trigger names the field it is about: `anchor`")
        if len(self.examples) != len(self.signatures):
            raise ValueError("each signature has one example line")
        return self


# What the look-ups answer with.


class Sourced(Strict):
    """What the looked-up entries share: an identity, sources and the day they were read."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+([-_][a-z0-9]+)*$", max_length=60)]
    title: Short
    references: Annotated[list[Reference], Field(min_length=1)]
    last_verified: datetime.date

    @model_validator(mode="after")
    def sources_differ(self) -> Sourced:
        urls = [str(reference.url) for reference in self.references]
        if len(set(urls)) != len(urls):
            raise ValueError("a reference stands twice")
        return self


class Step(Strict):
    """One thing to do, why it tells something, and the command where there is one."""

    do: Text
    why: Text
    command: Annotated[str, Field(max_length=300)] = ""


class Pattern(Sourced):
    """One entry of knowledge/patterns.yaml: a way in which runs fail, and how to find and leave it."""

    seed: Annotated[str, Field(max_length=60)] = ""  # the seeds' class that it refines
    says: Text
    invariant: Text
    shows: Annotated[list[Text], Field(min_length=1)]
    first_checks: Annotated[list[Step], Field(min_length=2)]
    first_advice: Text
    not_if: Text
    frameworks: Annotated[list[str], Field(min_length=1)]


class Phrasings(Strict):
    """What users type, in English and in Chinese."""

    en: Annotated[list[Short], Field(min_length=6, max_length=15)]
    zh: Annotated[list[Annotated[str, Field(min_length=2, max_length=60)]], Field(min_length=6, max_length=15)]


class Lead(Strict):
    """A cause that a symptom points to: exactly one of pattern, bug, rule, and why."""

    pattern: str = ""
    bug: str = ""
    rule: str = ""
    why: Annotated[str, Field(min_length=10, max_length=300)]

    @model_validator(mode="after")
    def one_cause(self) -> Lead:
        if sum(map(bool, (self.pattern, self.bug, self.rule))) != 1:
            raise ValueError("a lead is one of pattern, bug, rule")
        return self


class Symptom(Sourced):
    """knowledge/symptoms/<id>.yaml: what a user sees, and where it leads, the likeliest first."""

    phrasings: Phrasings
    tokens: list[Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]] = []  # the seeds' words of one of their tools
    signatures: list[Annotated[str, Field(min_length=6, max_length=200)]] = []
    examples: list[Annotated[str, Field(max_length=300)]] = []  # one line that each signature matches, written by us
    metrics: list[Annotated[str, Field(min_length=5, max_length=200)]] = []  # conditions, in the frameworks' own names
    leads: Annotated[list[Lead], Field(min_length=2)]
    question: Text  # what separates the leads
    not_a_fault_if: Text
    fix: Text  # first aid
    seed: Annotated[str, Field(max_length=60)] = ""  # the seeds' symptom that it answers
    claims: list[Claim] = []

    @model_validator(mode="after")
    def each_signature_has_an_example(self) -> Symptom:
        if len(self.examples) != len(self.signatures):
            raise ValueError("each signature has one example line")
        if self.seed and not self.claims:
            raise ValueError("a symptom of the seeds answers what they claim")
        return self


class Gpu(Sourced):
    """knowledge/gpus/<id>.yaml: figures of one card from its vendor. What was not found there is left out."""

    vendor: Literal["nvidia", "huawei"]
    names: list[Annotated[str, Field(min_length=2, max_length=60)]] = []  # other ways to write it
    memory_gib: Annotated[float, Field(gt=0)]
    memory_bandwidth_gb_s: Annotated[float, Field(gt=0)] | None = None
    bf16_tflops: Annotated[float, Field(gt=0)] | None = None  # dense, tensor cores
    fp8: bool | None = None
    compute_capability: Annotated[str, Field(pattern=r"^\d+\.\d$")] | None = None
    nvlink_gb_s: Annotated[float, Field(ge=0)] | None = None  # 0: none
    notes: list[Text] = []


class Experts(Strict):
    """Mixture of experts: `layers` of the model have `count` experts each; `shared` is the width of shared ones."""

    count: Annotated[int, Field(gt=1)]
    top_k: Annotated[int, Field(gt=0)]
    intermediate: Annotated[int, Field(gt=0)]
    layers: Annotated[int, Field(gt=0)]
    shared: Annotated[int, Field(ge=0)] = 0


class LatentAttention(Strict):
    """Multi-head latent attention: keys and values are cached as `kv_rank` + `rope_dim` numbers. `q_rank` 0: none."""

    q_rank: Annotated[int, Field(ge=0)]
    kv_rank: Annotated[int, Field(gt=0)]
    rope_dim: Annotated[int, Field(gt=0)]
    nope_dim: Annotated[int, Field(gt=0)]
    v_dim: Annotated[int, Field(gt=0)]


class LinearAttention(Strict):
    """Gated delta-net in `layers` of the model, which then cache a state of fixed size instead of keys and values."""

    layers: Annotated[int, Field(gt=0)]
    key_heads: Annotated[int, Field(gt=0)]
    value_heads: Annotated[int, Field(gt=0)]
    head_dim: Annotated[int, Field(gt=0)]


class Model(Sourced):
    """knowledge/models/<id>.yaml: shape of a checkpoint; server/memory/shapes.py computes sizes from it."""

    names: Annotated[list[Annotated[str, Field(min_length=2, max_length=60)]], Field(min_length=1)]
    layers: Annotated[int, Field(gt=0)]
    hidden: Annotated[int, Field(gt=0)]
    heads: Annotated[int, Field(gt=0)]
    kv_heads: Annotated[int, Field(gt=0)]
    head_dim: Annotated[int, Field(gt=0)]
    intermediate: Annotated[int, Field(gt=0)]
    vocab: Annotated[int, Field(gt=0)]
    tied: bool  # the output layer is the embedding
    qkv_bias: bool = False
    qk_norm: bool = False
    gated_mlp: bool = True
    gated_attention: bool = False  # the query projection also gives a gate of the same width
    experts: Experts | None = None
    mla: LatentAttention | None = None
    linear_attention: LinearAttention | None = None


class Skill(Strict):
    """One entry of knowledge/skills.yaml: what leads to a skill, and what it uses. `triggers` are the seeds'."""

    name: Slug
    title: Short
    triggers: Annotated[list[Short], Field(min_length=1)]
    more: list[Short] = []
    tools: Annotated[list[str], Field(min_length=1)]
    notes: list[str] = []
    cli: Annotated[list[str], Field(min_length=1)]


class NoteHead(Strict):
    """Front matter of a note below knowledge/notebook/."""

    title: Short
    applies_to: dict[str, str] = {}
    last_verified: datetime.date
    sections: list[str] = []
    sources: list[HttpUrl] = []


class Proof(Strict):
    """Front matter of knowledge/proofs/<id>.md. Its check is server/proofs/<id with _>.py; the body has the headings
    Statement, Assumptions, Derivation, Check."""

    id: Slug
    title: Short
    claims: Annotated[list[Claim], Field(min_length=1)]  # the one that people ask about first
    phrasings: Annotated[list[Annotated[str, Field(min_length=2, max_length=80)]], Field(min_length=6)]
    seed: list[Annotated[str, Field(pattern=r"^(D(0[1-9]|1\d)|N(0[1-9]|1[0-7]))$")]] = []
    rules: list[Slug] = []
    bugs: list[Slug] = []
    patterns: list[Annotated[str, Field(pattern=r"^[a-z_]+$")]] = []
    sources: Annotated[list[Reference], Field(min_length=1)]
    last_verified: datetime.date


# knowledge/tables/: what the look-ups show side by side.


class Table(Strict):
    """A table with the date of its last check; it may be empty while knowledge is being written."""

    last_verified: datetime.date | None = None


class StreamKind(Strict):
    """One of the three different faults that are called stream safety."""

    kind: Literal["order", "lifetime", "unmap"]
    says: Text
    cure: Text
    not_cured_by: Annotated[str, Field(max_length=400)] = ""
    bugs: list[Slug] = []
    references: list[Reference] = []


class StreamTable(Table):
    kinds: list[StreamKind] = []
    elsewhere: dict[str, str] = {}  # bugs that the seeds list here, and what they are instead


class Decision(Strict):
    """One branch of a decision guide."""

    when: Annotated[str, Field(min_length=5, max_length=200)]
    choose: Annotated[str, Field(min_length=3, max_length=300)]
    why: Annotated[str, Field(min_length=5, max_length=600)]
    command: Annotated[str, Field(max_length=300)] = ""
    rules: list[Slug] = []
    bugs: list[Slug] = []
    references: list[Reference] = []


class Side(Strict):
    """One aspect of two things side by side."""

    aspect: Annotated[str, Field(min_length=3, max_length=80)]
    fsdp1: Annotated[str, Field(min_length=2, max_length=400)]
    fsdp2: Annotated[str, Field(min_length=2, max_length=400)]
    rules: list[Slug] = []
    bugs: list[Slug] = []
    references: list[Reference] = []


class FsdpTable(Table):
    decisions: list[Decision] = []
    sides: list[Side] = []


class Platform(Strict):
    """A row of the seeds' MoE NaN table with what is true of it."""

    platform: Short
    seed: Annotated[str, Field(max_length=300)]  # what the seeds state
    answer: Answer
    cause: Text
    fix: Text
    rules: list[Slug] = []
    bugs: list[Slug] = []
    references: list[Reference] = []


class MoeTable(Table):
    platforms: list[Platform] = []


class SeedCell(Strict):
    """One cell of the seeds' two tables: which number they list where, and the entry that it is."""

    pattern: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    framework: str
    cited: str  # as written there, e.g. "#8061"
    bug: str = ""  # our entry
    table: Literal["matrix", "map"]
    note: Annotated[str, Field(max_length=600)] = ""  # for what no entry can say


class SeedMatrix(Table):
    cells: list[SeedCell] = []


class OnDemand(Table):
    frameworks: dict[str, list[str]] = {}  # framework: names of notes
    always: list[str] = []


class Vocabulary(Table):
    """Words of the field and how users write them: {"oom": ["out of memory", "显存不足"]}."""

    concepts: dict[str, list[str]] = {}
    stopwords: list[str] = []
    decisive: list[str] = []  # concepts that count more than others
    overshadowed: dict[str, list[str]] = {}  # concepts that say nothing beside one of these
    contrary: list[list[str]] = []  # lines of concepts of which two do not mean the same; "a|b" do


# knowledge/avoid/: what `avoid` writes into a config.

Focus = Literal["nan", "muon", "streams", "moe", "fsdp", "zero"]


class Avoidance(Strict):
    """One setting that keeps a run clear of a hazard, and the rules and bugs that stand behind it.

    Exactly one of `field` (canonical, with `value`), `native` (framework -> its own keys and values, where no field
    says it) and `words` (what no setting does). `values`: framework -> another spelling. `frameworks`: only these;
    without it those that the rules and bugs name. `versions`: the releases that need it, all ranges at once.
    `given`: for which runs. `always` false: not part of focus "all".
    """

    id: Slug
    focus: Annotated[list[Focus], Field(min_length=1)]
    field: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")] = ""
    value: Any = None
    values: dict[str, Any] = {}
    native: dict[str, dict[str, Any]] = {}
    words: Annotated[str, Field(max_length=300)] = ""
    frameworks: list[Slug] = []
    versions: dict[Slug, str] = {}
    given: Annotated[str, Field(max_length=100)] = ""
    always: bool = True
    why: Text
    rules: list[Slug] = []
    bugs: list[Slug] = []

    @model_validator(mode="after")
    def one_way_and_something_behind_it(self) -> Avoidance:
        if sum(map(bool, (self.field, self.native, self.words))) != 1:
            raise ValueError("a row has one of `field`, `native`, `words`")
        if not self.rules and not self.bugs:
            raise ValueError("a row stands on a rule or a confirmed bug")
        return self


class Syntax(Strict):
    """How a framework's settings are written; see knowledge/avoid/syntax.yaml."""

    style: Literal["hydra", "flags", "yaml", "json"]
    dashes: bool = False
    also: str = ""
    more: list[str] = []
    sections: dict[str, str] = {}
    backend: str = ""


# knowledge/versions/: which releases of packages do not go together.


class Image(Strict):
    """One row of knowledge/versions/images.yaml: the versions that an image of a framework's release holds."""

    package: Slug
    versions: str
    holds: Annotated[dict[Slug, Version], Field(min_length=1)]
    source: HttpUrl


class BadPair(Strict):
    """One entry of knowledge/versions/known_bad.yaml: releases of two or more packages that fail together.

    `bug`: the entry of knowledge/bugs/ that says it; its ranges, text, sources and verdict are taken over. Without one
    the entry says all that itself. `condition`: for which runs, over canonical fields. `refuses`: the package itself
    stops at import or start-up, so that nothing but the versions decides.
    """

    id: Slug
    bug: Slug | None = None
    title: Short | None = None
    severity: Severity
    frameworks: Annotated[list[Slug], Field(min_length=1)]
    affected: dict[Slug, str] = {}
    condition: Condition | None = None
    anchor: str = ""
    refuses: bool = False
    message: Text | None = None
    fix: Text | None = None
    verdict: Literal["confirmed", "reported"] | None = None
    last_verified: datetime.date | None = None
    references: list[Reference] = []

    @model_validator(mode="after")
    def says_all_or_names_a_bug(self) -> BadPair:
        own = (self.title, self.message, self.fix, self.verdict, self.last_verified)
        if self.bug is None and (None in own or not self.references or len(self.affected) < 2):
            raise ValueError(
                "an entry without `bug` has title, message, fix, verdict, last_verified, references, affected"
            )
        if self.severity == "error" and self.condition is None and not self.refuses:
            raise ValueError("an error names the runs that fail (`condition`), or the package refuses (`refuses`)")
        return self
