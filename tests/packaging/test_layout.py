"""Rules of the source tree: what may import what, and what may never be called."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server"
MODULES = sorted(SERVER.rglob("*.py"))

# Only these speak the protocol; everything else works without the SDK.
MAY_IMPORT_MCP = {"app.py", "transport.py", "http.py", "skills_extension.py", "doctor.py"}
# Listens where the user said so, and connects to nothing.
MAY_IMPORT_SOCKET = {"http.py"}
# The one place that changes a user's file, on --fix.
MAY_REPLACE_FILES = {"edits/writing.py"}
# Numeric checks run with the call of `proof`; nothing else loads NumPy.
MAY_IMPORT_NUMPY = {"proofs"}
# Pydantic checks what a client sends, at the edge, where the SDK has paid for its import, knowledge at its build, and a
# project's own rules.
MAY_IMPORT_PYDANTIC = {"transport.py", "tools", "store/schema.py"}

NEVER_IMPORTED = {
    "asyncio.subprocess", "code", "ctypes", "ftplib", "http", "httpx", "imaplib", "marshal", "multiprocessing",
    "pickle", "poplib", "pty", "requests", "runpy", "shelve", "smtplib", "socket", "socketserver", "ssl", "subprocess",
    "telnetlib", "urllib.request", "urllib3", "webbrowser", "xmlrpc",
    "torch", "verl", "trl", "deepspeed", "transformers", "vllm", "omegaconf", "hydra",
}  # fmt: skip
NEVER_CALLED = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
NEVER_CALLED_OF_OS = {"system", "popen", "fork", "forkpty", "kill", "putenv", "remove", "unlink", "rename", "replace"}
NEVER_CALLED_PREFIXES = ("exec", "spawn", "posix_spawn")

# Each folder of the domain, and the folders of the project that it may use.
LAYERS = {
    "configs": {"configs", "store"},
    "store": {"store"},
    "checks": {"checks", "configs", "store"},
    "lookup": {"lookup", "configs", "store"},
    "proofs": {"proofs", "lookup", "configs", "store"},
    "memory": {"memory", "configs", "store"},
    "rtx4090": {"rtx4090", "memory", "lookup", "validate", "checks", "configs", "store"},
    "avoid": {"avoid", "lookup", "validate", "checks", "configs", "store"},
    "logs": {"logs", "configs", "store"},
    "diagnosis": {"diagnosis", "logs", "lookup", "validate", "checks", "configs", "store"},
    "edits": {"edits", "validate", "configs"},
    "render": {"render", "edits", "checks", "configs", "store"},
    "store/schema.py": {"store", "checks"},  # runs when knowledge is built, and over a project's own rules
}
# Single files that every layer may use.
COMMON = {"limits", "paths", "model", "deadline"}


def name_of(path: Path) -> str:
    return path.relative_to(SERVER).as_posix()


def layer_of(path: Path) -> str:
    """The file itself where a rule names it, else its folder."""
    return name_of(path) if name_of(path) in LAYERS else name_of(path).split("/")[0]


def imports_of(path: Path) -> Iterator[tuple[int, str, int]]:
    """(level, dotted module, line) of every import statement, nested ones included."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield node.level, module, node.lineno
            yield from ((node.level, f"{module}.{alias.name}".strip("."), node.lineno) for alias in node.names)


def calls_of(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))


def is_within(module: str, names: set[str]) -> bool:
    parts = module.split(".")
    return any(".".join(parts[: size + 1]) in names for size in range(len(parts)))


def project_module(path: Path, level: int, module: str) -> str:
    """The folder or file directly under server/ that a relative import reaches."""
    folder = path.relative_to(SERVER).parent.parts
    return [*folder[: len(folder) - level + 1], *module.split(".")][0]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_network_no_subprocess_no_user_code(path):
    imported = [f"line {line}: {module}" for level, module, line in imports_of(path) if level == 0]
    never = NEVER_IMPORTED - ({"socket"} if name_of(path) in MAY_IMPORT_SOCKET else set())
    assert not [entry for entry in imported if is_within(entry.partition(": ")[2], never)]


def test_the_one_that_listens_opens_no_connection():
    for name in MAY_IMPORT_SOCKET:
        called = {call.func.attr for call in calls_of(SERVER / name) if isinstance(call.func, ast.Attribute)}
        assert not called & {"connect", "connect_ex", "create_connection", "getaddrinfo", "sendto"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_is_evaluated_executed_or_removed(path):
    bad = []
    for call in calls_of(path):
        match call.func:
            case ast.Name(name) if name in NEVER_CALLED:
                bad.append(f"line {call.lineno}: {name}")
            case ast.Attribute(ast.Name("os"), "replace" | "unlink") if name_of(path) in MAY_REPLACE_FILES:
                pass
            case ast.Attribute(ast.Name("os"), name) if name in NEVER_CALLED_OF_OS or name.startswith(
                NEVER_CALLED_PREFIXES
            ):
                bad.append(f"line {call.lineno}: os.{name}")
    assert not bad


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_imported_by_name_are_our_own(path):
    """`import_module` takes a name that begins with a dot in the source, so no input can lead it elsewhere."""
    for call in calls_of(path):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if called == "import_module":
            start = call.args[0].values[0] if isinstance(call.args[0], ast.JoinedStr) else call.args[0]
            assert isinstance(start, ast.Constant) and str(start.value).startswith("."), f"line {call.lineno}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_within_the_project_are_relative(path):
    absolute = {module for level, module, _ in imports_of(path) if level == 0}
    assert not [module for module in absolute if is_within(module, {"grpo_guard", "server"})]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_edge_knows_the_protocol(path):
    absolute = {module for level, module, _ in imports_of(path) if level == 0}
    if name_of(path) not in MAY_IMPORT_MCP:
        assert not [module for module in absolute if is_within(module, {"mcp", "mcp_types", "anyio", "starlette"})]
    if not {name_of(path), name_of(path).split("/")[0]} & MAY_IMPORT_PYDANTIC:
        assert not [module for module in absolute if is_within(module, {"pydantic", "pydantic_core"})]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_checks_of_proofs_import_numpy(path):
    absolute = {module for level, module, _ in imports_of(path) if level == 0}
    if name_of(path).split("/")[0] not in MAY_IMPORT_NUMPY:
        assert not [module for module in absolute if is_within(module, {"numpy"})]


@pytest.mark.parametrize("path", [path for path in MODULES if layer_of(path) in LAYERS], ids=name_of)
def test_dependencies_point_one_way(path):
    allowed = LAYERS[layer_of(path)] | COMMON
    reached = {project_module(path, level, module) for level, module, _ in imports_of(path) if level}
    assert reached <= allowed


def test_every_folder_is_packaged():
    """A folder that is missing in `packages` is missing in the wheel, without a warning from the build."""
    with (ROOT / "pyproject.toml").open("rb") as stream:
        packaged = set(tomllib.load(stream)["tool"]["setuptools"]["packages"])
    folders = {path.parent.relative_to(SERVER) for path in MODULES}
    code = {".".join(["grpo_guard", *folder.parts]) for folder in folders}
    data = {f"grpo_guard.{name}" for name in ("knowledge", "skills") if any((ROOT / name).glob("**/*.*"))}
    assert packaged == code | data


def test_the_data_folders_do_not_collide_with_code():
    assert not (SERVER / "knowledge").exists()
    assert not (SERVER / "skills").exists()
