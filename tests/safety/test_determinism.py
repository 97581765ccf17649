"""The same input gives the same bytes, whatever the hash seed, the locale, the time zone and the working directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# All calls of one process; its working directory and environment are what varies.
CALLS = """
import contextlib, io, json, sys
from pathlib import Path
from grpo_guard.app import TOOLS, _describe, _success
from grpo_guard.cli import main
from grpo_guard.roots import Roots

root = Path(sys.argv[1])
roots, by_name = Roots.choose([str(root)]), {tool.name: tool for tool in TOOLS}
LOG = "step:1 - actor/grad_norm:nan - critic/score/mean:0.5\\ntorch.OutOfMemoryError: CUDA out of memory.\\n"
CALLS = [
    ("validate_config", {"path": "examples/verl_lora.sh", "ruleset": "seed", "detail": "full"}),
    ("validate_config", {"path": "examples/trl_grpo.yaml", "world_size": 5, "detail": "full"}),
    ("diagnose", {"symptoms": "loss is nan, 显存不足", "log": LOG, "detail": "full"}),
    ("symptoms", {"query": "奖励不变 reward flat"}),
    ("symptoms", {"detail": "full"}),
    ("playbook", {"topic": "verl"}),
    ("fixes", {"limit": 100}),
    ("matrix", {"detail": "full"}),
    ("explain", {"view": "decision", "detail": "full"}),
    ("rtx4090", {"topic": "config", "detail": "full"}),
    ("estimate_memory", {"path": "examples/verl_lora.sh", "detail": "full"}),
    ("match_skill", {"query": "MoE NaN"}),
    ("read_reference", {"search": "sleep level"}),
]
out = [json.dumps([_describe(tool).model_dump(by_alias=True, mode="json") for tool in TOOLS])]
for name, arguments in CALLS:
    result = _success(by_name[name].call(arguments, roots))
    out.append(json.dumps(result.structured_content, ensure_ascii=False) + result.content[0].text)
with contextlib.redirect_stdout(io.StringIO()) as printed:
    main(["validate", str(root / "examples/ds_zero2.json"), "--format", "json"])
    main(["rules", "--fields"])
out.append(printed.getvalue())
sys.stdout.buffer.write("\\n".join(out).encode())
"""
SURROUNDINGS = {
    "hash seed 1": {"PYTHONHASHSEED": "1"},
    "C locale": {"LC_ALL": "C", "LANG": "C", "PYTHONHASHSEED": "7", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "Turkish locale, another time zone": {
        "LC_ALL": "tr_TR.UTF-8",
        "LANG": "tr_TR.UTF-8",
        "TZ": "Pacific/Kiritimati",
        "PYTHONHASHSEED": "8",
    },
}


def output(folder: Path, **environment: str) -> bytes:
    folder.mkdir(exist_ok=True)
    program = folder / "calls.py"
    program.write_text(CALLS, encoding="utf-8")
    command = [sys.executable, "-X", "utf8=0", str(program), str(ROOT)]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="module")
def usual(tmp_path_factory) -> bytes:
    return output(tmp_path_factory.mktemp("usual"), PYTHONHASHSEED="0")


def test_the_output_is_worth_comparing(usual):
    assert len(usual) > 200_000


@pytest.mark.parametrize("environment", SURROUNDINGS.values(), ids=SURROUNDINGS.keys())
def test_the_same_bytes(usual, environment, tmp_path):
    assert output(tmp_path, **environment) == usual


def test_the_same_bytes_for_a_file_named_from_its_own_folder(tmp_path):
    """The file's name is what the caller wrote; everything else stays."""
    script = (ROOT / "examples/verl_lora.sh").read_bytes()
    folders = [tmp_path / "a", tmp_path / "b" / "c"]
    found = []
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "run.sh").write_bytes(script)
        command = [sys.executable, "-m", "grpo_guard", "validate", "run.sh", "--detail", "full"]
        found.append(subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout)
    assert found[0] == found[1] != b""
