"""The skills extension of the protocol (SEP-2640, `io.modelcontextprotocol/skills`): both skills with digest and size.

Clients without it read the same files as plain `skill://` resources. The extension is in capabilities, not in the tool
list, so it costs nobody a token. Specification: https://modelcontextprotocol.io/seps/2640-skills-extension (read
2026-11-30 as its conformance scenarios check it).
"""

from __future__ import annotations

from typing import Any

from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

from .resources import skill_entries

IDENTIFIER = "io.modelcontextprotocol/skills"
_FRESH = {"ttlMs": 3_600_000, "cacheScope": "public"}  # the files change with the installed version only


class ListSkills(types.PaginatedRequestParams):
    """Parameters of `skills/list`; there is one page."""


class GetSkill(types.RequestParams):
    """Parameters of `skills/get`: the address of a SKILL.md."""

    uri: str


def add_skills(server: Server[Any]) -> None:
    """Register the extension and its two methods."""
    server.extensions[IDENTIFIER] = {}
    server.add_request_handler("skills/list", ListSkills, _list)
    server.add_request_handler("skills/get", GetSkill, _get)


async def _list(_: ServerRequestContext[Any], __: ListSkills) -> dict[str, Any]:
    return {"skills": skill_entries(), **_FRESH}


async def _get(_: ServerRequestContext[Any], params: GetSkill) -> dict[str, Any]:
    found = next((entry for entry in skill_entries() if entry["uri"] == params.uri), None)
    if found is None:
        known = ", ".join(entry["uri"] for entry in skill_entries())
        raise MCPError(types.INVALID_PARAMS, f"no such skill: there are {known}", data={"uri": params.uri[:200]})
    return {"skill": found, **_FRESH}
