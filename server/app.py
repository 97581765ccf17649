"""The MCP server: the tools as the protocol sees them, and nothing else.

Built on the SDK's low-level `Server`: it advertises only what is registered, leaves arguments as the client sent
them (the high-level one parses JSON inside strings and ignores unknown names), and sends no text twice.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from mcp import types
from mcp.server import CacheHint, Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

from . import __version__, limits
from .configs.values import InputError
from .roots import Roots
from .tools import validate_config
from .tools.tool import Answer, Tool

TOOLS: Sequence[Tool] = (validate_config.TOOL,)

INSTRUCTIONS = (
    "Checks RL post-training launch scripts and configs (verl, TRL, OpenRLHF, DeepSpeed, accelerate) before launch. "
    "Pass a file's path or its text to validate_config. It reads files only; it starts and changes nothing."
)

_READ_ONLY = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_log = logging.getLogger(__name__)


def build_server(roots: Roots) -> Server[Any]:
    """A server that reads files inside `roots`; ready for any transport."""
    listed = types.ListToolsResult(tools=[_describe(tool) for tool in TOOLS])
    by_name = {tool.name: tool for tool in TOOLS}
    workers = anyio.CapacityLimiter(limits.MAX_PARALLEL_CALLS)

    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(_: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name!r}: there are {', '.join(by_name)}")
        return await _call(tool, params.arguments or {}, roots, workers)

    return Server(
        "grpo-guard",
        version=__version__,
        title="grpo-guard",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": CacheHint(ttl_ms=3_600_000, scope="public")},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _describe(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=_READ_ONLY,
    )


async def _call(
    tool: Tool, arguments: dict[str, Any], roots: Roots, workers: anyio.CapacityLimiter
) -> types.CallToolResult:
    """Run the tool on a worker thread, so that the connection stays alive, and never longer than the deadline."""
    try:
        with anyio.fail_after(limits.REQUEST_SECONDS):
            work = partial(tool.call, arguments, roots)
            answer = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=workers)
    except InputError as error:
        return _failure(str(error))
    except TimeoutError:
        return _failure(f"stopped after {limits.REQUEST_SECONDS} s: pass one smaller file")
    except Exception:  # a fault of ours: the client gets a line, the traceback goes to stderr
        _log.exception("%s failed", tool.name)
        return _failure(f"{tool.name} failed on this input; the server's log has the traceback: please report it")
    return _success(answer)


def _success(answer: Answer) -> types.CallToolResult:
    from .model import clean, plain

    return types.CallToolResult(
        content=[types.TextContent(type="text", text=clean(answer.text))], structured_content=plain(answer.data)
    )


def _failure(line: str) -> types.CallToolResult:
    from .model import clean

    return types.CallToolResult(content=[types.TextContent(type="text", text=clean(line))], is_error=True)
