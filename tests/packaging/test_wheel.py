"""The wheel holds the whole tree under one name, and works where there is nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from grpo_guard import __version__

ROOT = Path(__file__).parents[2]
DATA = {"server": ("*.py", "py.typed"), "knowledge": ("*.yaml", "*.md", "*.json", "*.jsonl"), "skills": ("*.md",)}
INSTALLED_AS = {"server": "grpo_guard", "knowledge": "grpo_guard/knowledge", "skills": "grpo_guard/skills"}
LOG = """step:1 - actor/grad_norm:0.5 - critic/score/mean:0.25
  File "/opt/verl/workers/sharding_manager/fsdp_vllm.py", line 99, in __enter__
    self.inference_engine.wake_up()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.52 GiB
"""
SCRIPT = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1\n"


def tree() -> set[str]:
    """What must be in the wheel, by the names that it has there."""
    return {
        f"{INSTALLED_AS[folder]}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, patterns in DATA.items()
        for pattern in patterns
        for path in (ROOT / folder).glob(f"**/{pattern}")
    }


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the sdist, and the wheel that was built from it: from a copy, so that no build/ stays behind."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in (name for name in DATA if (ROOT / name).is_dir()):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "build", "--outdir", str(out), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "absent from" not in done.stdout + done.stderr  # setuptools' warning about data it would drop
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory) -> Path:
    """The folder of commands of a fresh environment that has the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    commands = folder / ("Scripts" if sys.platform == "win32" else "bin")
    install = [str(commands / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True)
    return commands


def test_the_wheel_is_the_tree(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = f"grpo_guard-{__version__}.dist-info/"
    assert {name for name in names if not name.startswith(metadata)} == tree()
    assert f"{metadata}licenses/LICENSE" in names


def test_the_only_top_level_name_is_ours(wheel):
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"grpo_guard-{__version__}.dist-info/top_level.txt").decode().split() == ["grpo_guard"]


def test_the_sdist_has_what_the_wheel_is_built_from(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "server/cli.py"} <= names


def run(command: list[str | Path], folder: Path, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=60, check=False, **options
    )


@pytest.mark.parametrize("start", [["grpo-guard"], ["python", "-m", "grpo_guard"]], ids=["command", "module"])
def test_the_version_from_an_empty_folder(installed, tmp_path, start):
    done = run([installed / start[0], *start[1:], "--version"], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"grpo-guard {__version__}\n", "")


def test_validate_from_an_empty_folder(installed, tmp_path):
    (tmp_path / "x.sh").write_text(SCRIPT)
    done = run([installed / "grpo-guard", "validate", "x.sh", "--format", "json"], tmp_path)
    assert done.stderr == ""
    assert done.returncode == 1
    assert "one-sample-groups" in [finding["rule"] for finding in json.loads(done.stdout)["findings"]]
    assert [path.name for path in tmp_path.iterdir()] == ["x.sh"]


def test_without_a_verb_it_serves_what_is_piped_in(installed, tmp_path):
    requests = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "validate_config", "arguments": {"config": SCRIPT}},
        },
    ]
    done = run([installed / "grpo-guard"], tmp_path, input="".join(json.dumps(line) + "\n" for line in requests))
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["isError"] is False


def test_a_server_py_of_the_user_is_left_alone(installed, tmp_path):
    """A package named `server` would be hidden by it, or would hide it."""
    (tmp_path / "server.py").write_text("raise SystemExit('the user\\'s own module was run')\n")
    done = run([installed / "python", "-m", "grpo_guard", "--version"], tmp_path)
    assert (done.returncode, done.stdout) == (0, f"grpo-guard {__version__}\n")


# A new user's path, in an empty folder with the installed command only ------------------------------------------------


async def use(client: Client) -> None:
    """Validate a real script, diagnose a real log, read a note."""
    report = (
        await client.call_tool("validate_config", {"path": "run.sh", "versions": "verl=0.8.0"})
    ).structured_content
    (finding,) = [row for row in report["findings"] if row["rule"] == "one-sample-groups"]
    assert (finding["setting"]["file"], finding["setting"]["line"]) == ("run.sh", 1)
    diagnosis = await client.call_tool("diagnose", {"symptoms": "it dies", "log_path": "train.log"})
    assert diagnosis.structured_content["hypotheses"][0]["pattern"] == "colocation_handover_oom"
    note = await client.call_tool("read_reference", {"name": "auto-memory"})
    assert note.structured_content["text"].startswith("# What grpo-guard knows")
    (content,) = (await client.read_resource("skill://grpo-debug/SKILL.md")).contents
    assert content.text.startswith("---\nname: grpo-debug")


@pytest.fixture
def project(tmp_path) -> Path:
    (tmp_path / "run.sh").write_text(SCRIPT)
    (tmp_path / "train.log").write_text(LOG)
    return tmp_path


@pytest.mark.anyio
async def test_an_assistant_uses_the_installed_server_over_stdio(installed, project):
    server = StdioServerParameters(command=str(installed / "grpo-guard"), args=["serve"], cwd=project)
    async with Client(server) as client:
        await use(client)


@pytest.mark.anyio
async def test_an_assistant_uses_the_installed_server_over_http(installed, project):
    command = [str(installed / "grpo-guard"), "serve", "--http", "--port", "0"]
    process = subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://\S+/mcp", process.stderr.readline())
        async with Client(found[0]) as client:
            await use(client)
        process.terminate()
        assert (process.wait(10), process.stdout.read(), process.stderr.read()) == (0, "", "")
    finally:
        process.kill()
        process.communicate()


def test_a_user_on_the_command_line(installed, project):
    done = run([installed / "grpo-guard", "diagnose", "--log", "train.log"], project)
    assert (done.returncode, done.stderr) == (0, "") and "colocation_handover_oom" in done.stdout
    done = run([installed / "grpo-guard", "read", "auto-memory"], project)
    assert (done.returncode, done.stderr) == (0, "") and "# What grpo-guard knows" in done.stdout
    done = run([installed / "grpo-guard", "doctor"], project)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.endswith("all is well\n")
