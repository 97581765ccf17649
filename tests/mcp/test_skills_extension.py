"""Skills over MCP: what skills/list promises is what resources/read gives, byte for byte."""

from __future__ import annotations

import hashlib
import sys

import pytest
import yaml
from mcp import Client, StdioServerParameters

from grpo_guard.paths import data_dir

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
NAMES = ["cross-framework-avoidance", "grpo-debug"]


@pytest.fixture
def client(start):
    return start(revision="")


def asked(client, method, **params):
    return client.request(method, {**params, "_meta": META})


def test_the_extension_is_declared(client):
    capabilities = asked(client, "server/discover")["result"]["capabilities"]
    assert capabilities["extensions"] == {"io.modelcontextprotocol/skills": {}}


def test_each_skill_is_listed_with_its_front_matter_and_its_files(client):
    result = asked(client, "skills/list")["result"]
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 3_600_000, "public")
    assert [skill["frontmatter"]["name"] for skill in result["skills"]] == NAMES
    for skill in result["skills"]:
        name = skill["frontmatter"]["name"]
        files = [path for path in (data_dir("skills") / name).rglob("*") if path.is_file()]
        assert len(skill["resources"]) == len(files)
        (row,) = skill["resources"]
        (content,) = asked(client, "resources/read", uri=row["uri"])["result"]["contents"]
        raw = content["text"].encode()
        assert row == {
            "uri": f"skill://{name}/SKILL.md",
            "digest": f"sha256:{hashlib.sha256(raw).hexdigest()}",
            "size": len(raw),
        }
        assert skill["frontmatter"] == yaml.safe_load(content["text"].split("---")[1])
        assert asked(client, "skills/get", uri=skill["uri"])["result"]["skill"] == skill


def test_an_address_that_no_skill_has_is_an_error(client):
    for uri in ("skill://absent/SKILL.md", "skill://../knowledge/SKILL.md", "x"):
        assert asked(client, "skills/get", uri=uri)["error"]["code"] == -32602
    assert asked(client, "skills/get")["error"]["code"] == -32602


@pytest.mark.anyio
async def test_clients_of_an_older_revision_see_plain_resources():
    server = StdioServerParameters(command=sys.executable, args=["-m", "grpo_guard", "serve"])
    async with Client(server, mode="legacy") as client:
        listed = {str(row.uri) for row in (await client.list_resources()).resources}
    assert {f"skill://{name}/SKILL.md" for name in NAMES} <= listed
