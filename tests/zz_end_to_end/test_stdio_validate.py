"""The last test: an assistant's client, the installed server, a real launch script with one planted hazard."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

REAL_SCRIPT = Path(__file__).parents[2] / "benchmarks/data/verl_grpo.sh"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The script twice: as it is, and with groups of one sample, whose advantage is always zero."""
    shutil.copy(REAL_SCRIPT, tmp_path / "sound.sh")
    text = REAL_SCRIPT.read_text()
    assert text.count("\ngroup=8\n") == 1
    (tmp_path / "hazard.sh").write_text(text.replace("\ngroup=8\n", "\ngroup=1\n"))
    return tmp_path


@pytest.mark.anyio
async def test_a_planted_hazard_is_found_at_its_line(project):
    server = StdioServerParameters(command=sys.executable, args=["-m", "grpo_guard", "serve", "--root", str(project)])
    async with Client(server) as client:
        sound = await client.call_tool("validate_config", {"path": "sound.sh", "versions": {"verl": "0.8.0"}})
        hazard = await client.call_tool("validate_config", {"path": "hazard.sh", "versions": {"verl": "0.8.0"}})

    assert not sound.is_error
    assert "one-sample-groups" not in [finding["rule"] for finding in sound.structured_content["findings"]]

    assert not hazard.is_error
    report = hazard.structured_content
    assert report["framework"] == "verl"
    (finding,) = [finding for finding in report["findings"] if finding["rule"] == "one-sample-groups"]
    assert finding["severity"] == "error"
    assert finding["fix"]["text"]
    setting = finding["setting"]
    written_at = (project / "hazard.sh").read_text().splitlines().index("    actor_rollout_ref.rollout.n=$group \\") + 1
    assert setting["key"] == "actor_rollout_ref.rollout.n"
    assert setting["value"] == 1
    assert setting["origin"] == "explicit"
    assert Path(setting["file"]).name == "hazard.sh"
    assert setting["line"] == written_at
    assert "one-sample-groups" in hazard.content[0].text
