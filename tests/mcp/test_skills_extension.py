"""SEP-2640: a client finds both skills, with digests and sizes that hold for what it then reads."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, MCPError, StdioServerParameters, types
from pydantic import TypeAdapter

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "grpo_guard", "serve"])
SKILLS = Path(__file__).parents[2] / "skills"
pytestmark = pytest.mark.anyio


async def ask(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    request = types.Request[dict[str, Any], str](method=method, params=params)
    return await client.session.send_request(request, TypeAdapter(dict[str, Any]))


async def test_every_file_is_what_its_entry_says():
    async with Client(SERVER) as client:
        assert client.server_capabilities.extensions == {"io.modelcontextprotocol/skills": {}}
        listed = await ask(client, "skills/list", {})
        assert [entry["uri"] for entry in listed["skills"]] == [
            "skill://cross-framework-avoidance/SKILL.md",
            "skill://grpo-debug/SKILL.md",
        ]
        assert listed["ttlMs"] > 0 and listed["cacheScope"] == "public"
        for entry in listed["skills"]:
            assert (await ask(client, "skills/get", {"uri": entry["uri"]}))["skill"] == entry
            for file in entry["resources"]:
                text = (await client.read_resource(file["uri"])).contents[0].text
                assert file["size"] == len(text.encode())
                assert file["digest"] == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
            assert entry["frontmatter"] == yaml.safe_load(text.split("---\n")[1])


async def test_an_unknown_skill_is_refused_with_the_known_ones():
    async with Client(SERVER) as client:
        with pytest.raises(MCPError, match=r"skill://grpo-debug/SKILL\.md") as refused:
            await ask(client, "skills/get", {"uri": "skill://other/SKILL.md"})
        assert refused.value.error.code == types.INVALID_PARAMS


async def test_a_client_without_the_extension_has_them_as_resources():
    async with Client(SERVER, mode="legacy") as client:
        rows = {row.name: row for row in (await client.list_resources()).resources if str(row.uri).startswith("skill:")}
        assert set(rows) == {path.parent.name for path in SKILLS.glob("*/SKILL.md")}
        assert all(row.description and row.mime_type == "text/markdown" for row in rows.values())
