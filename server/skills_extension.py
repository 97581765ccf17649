"""Skills over MCP (SEP-2640): which skills this server has, with the digest of each file.

Written after https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx (0682b7b,
read 2026-11-30). The files themselves are resources: skill://NAME/SKILL.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import anyio.to_thread
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

IDENTIFIER = "io.modelcontextprotocol/skills"
_FRESH = {"resultType": "complete", "ttlMs": 3_600_000, "cacheScope": "public"}


class GetSkillParams(types.RequestParams):
    uri: str


def add_skills(server: Server[Any]) -> None:
    """Declare the extension and answer its two methods; directories are not listed, a skill here is one file."""
    server.extensions[IDENTIFIER] = {}
    server.add_request_handler("skills/list", types.PaginatedRequestParams, _list)
    server.add_request_handler("skills/get", GetSkillParams, _get)


async def _list(_: ServerRequestContext[Any], __: types.PaginatedRequestParams) -> dict[str, Any]:
    return _FRESH | {"skills": await anyio.to_thread.run_sync(skills)}


async def _get(_: ServerRequestContext[Any], params: GetSkillParams) -> dict[str, Any]:
    for skill in await anyio.to_thread.run_sync(skills):
        if skill["uri"] == params.uri:
            return _FRESH | {"skill": skill}
    raise MCPError(types.INVALID_PARAMS, "no skill has this address: skills/list has them all")


@lru_cache(maxsize=1)
def skills() -> list[dict[str, Any]]:
    """Entries as the extension defines them: address, front matter as written, and the one file's digest and size."""
    from hashlib import sha256

    import yaml

    from .paths import data_dir

    found = []
    for path in sorted(data_dir("skills").glob("*/SKILL.md")):
        content = path.read_bytes()
        uri = f"skill://{path.parent.name}/SKILL.md"
        digest = f"sha256:{sha256(content).hexdigest()}"
        front = yaml.safe_load(content.decode("utf-8").split("---")[1])
        found.append(
            {"uri": uri, "frontmatter": front, "resources": [{"uri": uri, "digest": digest, "size": len(content)}]}
        )
    return found
