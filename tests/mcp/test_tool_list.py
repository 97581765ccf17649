"""What a client sees before its first call: exact, honest, and small."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from grpo_guard.app import TOOLS, build_server
from grpo_guard.roots import Roots

pytestmark = pytest.mark.anyio

# Characters of the compact JSON; four of them are about one token, and the tools of one list share 11,000.
BUDGET = {
    "validate_config": 1_660,
    "diagnose": 1_450,
    "symptoms": 720,
    "playbook": 750,
    "fixes": 860,
    "avoid": 870,
    "matrix": 970,
    "explain": 750,
    "proof": 520,
    "rtx4090": 590,
    "estimate_memory": 840,
    "match_skill": 500,
    "read_reference": 1_020,
}
TOTAL_BUDGET = 11_000

VALIDATE_CONFIG = {
    "name": "validate_config",
    "title": "Validate a GRPO config",
    "description": "Find faults in an RL post-training launch script or config before launch: file, line, key, fix.",
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
    "inputSchema": {
        "type": "object",
        "properties": {
            "config": {"type": "string", "description": "Script or config as text", "maxLength": 1_000_000},
            "path": {
                "type": "string",
                "description": "Or as file; several, comma-separated, are one run",
                "maxLength": 4_096,
            },
            "framework": {"type": "string", "description": "verl, trl, ...; default: detect", "maxLength": 200},
            "versions": {
                "type": "object",
                "description": '{"verl":"0.8.0"}',
                "additionalProperties": {"type": "string"},
            },
            "gpu": {"type": "string", "description": "e.g. H100", "maxLength": 200},
            "world_size": {"type": "integer", "description": "GPUs in the run", "maximum": 1_000_000, "minimum": 1},
            "focus": {
                "type": "string",
                "description": "Only this topic",
                "enum": ["all", "nan", "muon", "streams", "moe", "fsdp", "zero", "knowledge"],
            },
            "ruleset": {"type": "string", "description": "seed: rules D01-N17", "enum": ["all", "seed"]},
            "detail": {
                "type": "string",
                "description": "How much",
                "enum": ["brief", "normal", "full"],
                "default": "brief",
            },
            "limit": {
                "type": "integer",
                "description": "Rows per list",
                "minimum": 1,
                "maximum": 500,
                "default": 10,
            },
        },
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {
            "framework": {"type": "string"},
            "sources": {"type": "array"},
            "versions": {"type": "object"},
            "summary": {"type": "object"},
            "findings": {"type": "array"},
            "unknown_keys": {"type": "array"},
            "batch": {"type": "object"},
            "undecided": {"type": "array"},
            "seed_rules": {"type": "array"},
            "notes": {"type": "array"},
        },
    },
}


def compact(tool) -> str:
    return json.dumps(tool.model_dump(by_alias=True, exclude_none=True, mode="json"), separators=(",", ":"))


@pytest.fixture(params=["auto", "legacy"])
async def client(request, tmp_path):
    server = StdioServerParameters(command=sys.executable, args=["-m", "grpo_guard", "serve", "--root", str(tmp_path)])
    async with Client(server, mode=request.param) as connected:
        yield connected


async def test_the_list_is_exactly_this(client):
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == list(BUDGET)
    assert all(tool.title and tool.description and tool.annotations.read_only_hint for tool in tools)
    assert json.loads(compact(tools[0])) == VALIDATE_CONFIG


async def test_the_list_stays_within_its_budget(client):
    sizes = {tool.name: len(compact(tool)) for tool in (await client.list_tools()).tools}
    assert {name: size for name, size in sizes.items() if size > BUDGET[name]} == {}
    assert sum(sizes.values()) <= TOTAL_BUDGET


async def test_the_server_says_who_it_is_and_what_it_is_for(client):
    assert client.server_info.name == "grpo-guard"
    assert client.server_info.version == version("grpo-guard")
    assert "starts and changes nothing" in (client.instructions or "")


async def test_only_what_is_there_is_advertised(client):
    capabilities = client.server_capabilities.model_dump(exclude_none=True)
    # a client of the handshake era cannot be told of an extension
    assert capabilities.pop("extensions", {}) in ({}, {"io.modelcontextprotocol/skills": {}})
    assert capabilities == {
        "tools": {"list_changed": False},
        "resources": {"list_changed": False, "subscribe": False},
        "prompts": {"list_changed": False},
        "completions": {},
    }


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_parameter_is_described_and_bounded(tool):
    schema = tool.input_schema()
    assert schema["additionalProperties"] is False
    for name, entry in schema["properties"].items():
        assert entry["description"], name
        assert entry["type"] != "string" or "maxLength" in entry or "enum" in entry, name


async def test_modern_clients_may_keep_the_list_for_an_hour(tmp_path):
    async with Client(build_server(Roots.choose([str(tmp_path)])), mode="auto") as client:
        listed = await client.list_tools()
    assert (listed.ttl_ms, listed.cache_scope) == (3_600_000, "public")


def test_the_readme_names_every_tool_and_no_answer_is_over_its_budget():
    """tests/docs holds that the table is what scripts/answer_sizes.py measures now."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    block = readme.partition("<!-- answer sizes -->")[2].partition("<!-- end answer sizes -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \|$", block, re.MULTILINE)
    assert [name for name, *_ in rows] == [tool.name for tool in TOOLS]
    assert {name: int(most) for name, _, _, most in rows if int(most) > 800} == {}
    assert sum(int(schema) for _, schema, _, _ in rows) <= 2_750
