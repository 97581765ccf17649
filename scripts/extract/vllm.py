"""vLLM: the engine's arguments (EngineArgs), what the server, `LLM(...)` and a request add to them.

`EngineArgs` takes its defaults from configuration classes (`ModelConfig.seed`, `get_field(CacheConfig, "x")`), and so
do the options of `vllm serve`; both are followed to the class. Wheels hold the compiled kernels (about 400 MB), so the
source distributions are read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .history import Snapshot
from .source import REQUIRED, Field, Option, called, class_fields, constants, option, tree, type_name, value

PACKAGE = "vllm"
SINCE = "0.8.0"
SDIST = True
WANTED = re.compile(
    r"vllm/(?:config(?:\.py|/.*\.py)|engine/arg_utils\.py|sampling_params\.py|utils/argparse_utils\.py|"
    r"entrypoints/(?:(?:common|openai|launchers)/cli_args|cli/serve|llm)\.py)"
)
STRICT = True  # argparse stops at an unknown option, the dataclass at an unknown keyword
ABBREVIATIONS = True
BASE = ""
OPEN: dict[str, list[str]] = {}
_TAKES_JSON = re.compile(r"\w+_config|\w+_kwargs|hf_overrides|limit_mm_per_prompt|ir_op_priority")
# Classes of arguments that are declared as plain dictionaries
_CLASSES = {
    "compilation_config": "CompilationConfig",
    "speculative_config": "SpeculativeConfig",
    "kv_transfer_config": "KVTransferConfig",
    "weight_transfer_config": "WeightTransferConfig",
}
_FRONTEND = ("entrypoints/common/cli_args.py", "entrypoints/launchers/cli_args.py", "entrypoints/openai/cli_args.py")


def read(version: str, folder: Path) -> Snapshot:
    home = folder / "vllm"
    configs = _Configs(home)
    engine = configs.fields("EngineArgs") | configs.fields("AsyncEngineArgs")
    snapshot = Snapshot(version, aliases={"EngineArgs": {}, "serve": {}})
    snapshot.add("json", dict(_json_parts(configs, engine)))
    served: dict[str, Field] = {}
    for made in _options(home, configs):
        key, *others = (name.replace("-", "_") for name in (*made.names, *made.short))
        known = next((name for name in (key, *others) if name in engine), key)
        table = "EngineArgs" if known in engine else "serve"
        if known in engine:  # the class has the default, the option the type and choices
            kind = "dict" if engine[known].type == "dict" else made.field.type
            engine[known] = replace(made.field, default=engine[known].default, type=kind)
        else:
            served.setdefault(known, made.field)
        snapshot.aliases[table].update({name: known for name in (key, *others) if name != known})
    snapshot.add("EngineArgs", engine)
    snapshot.add("serve", served)
    snapshot.add("LLM", _parameters(home / "entrypoints" / "llm.py", engine))
    snapshot.add("SamplingParams", _sampling(home))
    parser = home / "utils" / "argparse_utils.py"
    both = parser.is_file() and "class EnableDisableAction" in parser.read_text(encoding="utf-8")
    utils = home / "config" / "utils.py"
    forbids = utils.is_file() and 'ConfigDict(extra="forbid")' in utils.read_text(encoding="utf-8")
    # --disable-x stands for --no-enable-x; unknown keys of a JSON argument stop the engine
    snapshot.add("parser", {"disable_switches": Field(both), "json_forbids_unknown": Field(forbids)})
    return snapshot


class _Configs:
    """The configuration classes of a release and the values of their fields."""

    def __init__(self, home: Path) -> None:
        single = home / "config.py"
        files = [single] if single.is_file() else sorted((home / "config").glob("*.py"))
        self.modules = [_Plain.of(path, {}) for path in (*files, home / "engine" / "arg_utils.py")]
        literals = _flat({name: node for module in self.modules for name, node in _literals(module)})
        self.modules = [_Plain(literals).visit(module) for module in self.modules]
        self.literals = literals
        self.names: dict[str, Any] = {}
        for module in self.modules:
            self.names |= constants(module)
        nodes = (node for module in self.modules for node in module.body)
        self.classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        self._values: dict[str, Field] = {}
        for name in self.classes:
            if name not in ("EngineArgs", "AsyncEngineArgs"):
                self._take(name)

    def _take(self, name: str) -> None:
        for key, found in class_fields(name, self.classes, self.names).items():
            self._values[f"{name}.{key}"] = found
            if not (isinstance(found.default, dict) and found.default.keys() & {"expr", "required"}):
                self.names[f"{name}.{key}"] = found.default

    def fields(self, name: str) -> dict[str, Field]:
        found = class_fields(name, self.classes, self.names) if name in self.classes else {}
        return {key: replace(item, **_as_json(key, item)) for key, item in found.items()}

    def of(self, class_name: str, key: str) -> Field | None:
        return self._values.get(f"{class_name}.{key}")


def _json_parts(configs: _Configs, engine: Mapping[str, Field]) -> Iterator[tuple[str, Field]]:
    """What the JSON of an argument may hold, as dotted names: the fields of its configuration class."""
    for key, found in engine.items():
        names = (*found.classes, _CLASSES.get(key, ""))
        owner = next((name for name in names if name.endswith("Config") and name in configs.classes), None)
        if owner is not None:
            computed = set(_computed(configs.classes[owner]))
            for part, item in configs.fields(owner).items():
                if part not in computed and item.default != {"expr": "PrivateAttr"}:
                    yield f"{key}.{part}", Field(item.default)


def _computed(node: ast.ClassDef) -> Iterator[str]:
    """Fields that the class fills itself: `field(init=False)`."""
    for item in node.body:
        match item:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(keywords=keywords)):
                given = {keyword.arg: keyword.value for keyword in keywords}
                if isinstance(init := given.get("init"), ast.Constant) and init.value is False:
                    yield name


class _Plain(ast.NodeTransformer):
    """`get_field(Config, "name")` as `Config.name`, and names of Literal types by what they stand for."""

    def __init__(self, literals: Mapping[str, ast.expr]) -> None:
        self.literals = literals

    @classmethod
    def of(cls, path: Path, literals: Mapping[str, ast.expr]) -> ast.Module:
        module: ast.Module = cls(literals).visit(tree(path))
        return module

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="get_field"), args=[ast.Name() as owner, ast.Constant(value=str(name))]):
                return ast.Attribute(value=owner, attr=name, ctx=ast.Load())
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = _Named(self.literals).visit(node.annotation)
        return node


class _Named(ast.NodeTransformer):
    def __init__(self, literals: Mapping[str, ast.expr]) -> None:
        self.literals = literals

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.literals.get(node.id, node)


def _literals(module: ast.Module) -> Iterator[tuple[str, ast.Subscript]]:
    """NAME = Literal[...] of a module."""
    for node in module.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=kind) as literal)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Subscript(value=kind) as literal)
            ) if called(kind) == "Literal":
                yield name, literal


def _flat(literals: Mapping[str, ast.Subscript]) -> dict[str, ast.expr]:
    """The same with `Literal["auto", RunnerType]` written out."""
    return {name: ast.Subscript(node.value, ast.Tuple(list(_items(node, literals)))) for name, node in literals.items()}


def _items(node: ast.Subscript, literals: Mapping[str, ast.Subscript]) -> Iterator[ast.expr]:
    for item in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if isinstance(item, ast.Name) and item.id in literals:
            yield from _items(literals[item.id], literals)
        else:
            yield item


def _as_json(key: str, found: Field) -> dict[str, Any]:
    """Default and type: an option whose type is a configuration class takes JSON, whole or by dotted parts."""
    kind = "dict" if not found.type and _TAKES_JSON.fullmatch(key) else found.type
    return {"default": _without_factory(found.default), "type": kind}


def _without_factory(default: Any) -> Any:
    """A configuration object takes any JSON; an empty dictionary says so."""
    is_object = isinstance(default, dict) and re.fullmatch(
        r"\w+[Cc]onfig(?:\(\)|\.\w+_config)", str(default.get("expr"))
    )
    return {} if is_object else default


def _options(home: Path, configs: _Configs) -> Iterator[Option]:
    """The options of `vllm serve` and of the server module, in order."""
    names = dict(configs.names)
    engine = next(name for name in configs.classes if name == "EngineArgs")
    names |= {f"EngineArgs.{key}": item.default for key, item in configs.fields(engine).items()}
    yield from _calls(configs.modules[-1], names, configs)
    for path in (*(home / name for name in _FRONTEND), home / "entrypoints" / "cli" / "serve.py"):
        if not path.is_file():
            continue
        module = _Plain.of(path, configs.literals)
        for node in module.body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("FrontendArgs"):
                for key, found in class_fields(node.name, {node.name: node}).items():
                    yield Option((key,), _narrowed(found))
        yield from _calls(module, names | constants(module), configs)


def _calls(module: ast.Module, names: Mapping[str, Any], configs: _Configs) -> Iterator[Option]:
    """The options of all `add_argument` calls, `**model_kwargs["seed"]` filled in from ModelConfig.seed."""
    sources = dict(_keyword_sources(module))
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument")):
                made = option(node, names)
                if made is not None and not any(name.startswith("$") for name in made.names):
                    found = next(_filled(node, sources, configs), None)
                    yield made if found is None else replace(made, field=_narrowed(found))


def _keyword_sources(module: ast.Module) -> Iterator[tuple[str, str]]:
    """`model_kwargs = get_kwargs(ModelConfig)`: the variable and the class."""
    for node in ast.walk(module):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=variable)],
                value=ast.Call(func=ast.Name(id="get_kwargs"), args=[ast.Name(id=name)]),
            ):
                yield variable, name


def _filled(call: ast.Call, sources: Mapping[str, str], configs: _Configs) -> Iterator[Field]:
    for keyword in call.keywords:
        for node in ast.walk(keyword.value) if keyword.arg is None else ():
            match node:
                case ast.Subscript(value=ast.Name(id=variable), slice=ast.Constant(value=str(key))):
                    if variable in sources and (found := configs.of(sources[variable], key)) is not None:
                        yield found


def _narrowed(found: Field) -> Field:
    """Without the choices of `Literal[...] | str`, which takes any text."""
    return replace(found, choices=() if set(found.classes) & {"str", "list"} else found.choices)


def _parameters(path: Path, engine: Mapping[str, Field]) -> dict[str, Field]:
    """What LLM.__init__ names itself; the rest goes to EngineArgs. Only what is not there, or has another default."""
    found: dict[str, Field] = {}
    for node in tree(path).body:
        if isinstance(node, ast.ClassDef) and node.name == "LLM":
            made = next(item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__")
            for argument, default in _defaults(made.args):
                if argument.annotation is not None and argument.arg != "self":
                    known = engine.get(argument.arg)
                    field = Field(default, type_name(argument.annotation))
                    if known is None or known.default != default:
                        found[argument.arg] = replace(field, choices=known.choices if known else ())
    return found


def _defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, Any]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(positional) - len(arguments.defaults))
    for argument, default in zip(positional, [*missing, *arguments.defaults], strict=True):
        yield argument, REQUIRED if default is None else value(default)
    for argument, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield argument, REQUIRED if given is None else value(given)


def _sampling(home: Path) -> dict[str, Field]:
    module = tree(home / "sampling_params.py")
    known = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    return class_fields("SamplingParams", known, constants(module))
