"""The MCP server: the tools as the protocol sees them, and nothing else.

Built on the SDK's low-level `Server`: it advertises only what is registered, leaves arguments as the client sent
them (the high-level one parses JSON inside strings and ignores unknown names), and sends no text twice.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from mcp import types
from mcp.server import CacheHint, Server, ServerRequestContext
from mcp.server.caching import CacheableMethod
from mcp.shared.exceptions import MCPError

from . import __version__, limits, prompts, resources
from .configs.values import InputError
from .deadline import Deadline, within
from .remembered import Remembered
from .roots import Roots
from .skills_extension import add_skills
from .tools import (
    avoid,
    diagnose,
    estimate_memory,
    explain,
    fixes,
    match_skill,
    matrix,
    playbook,
    proof,
    read_reference,
    rtx4090,
    symptoms,
    validate_config,
)
from .tools.tool import Answer, Tool

TOOLS: Sequence[Tool] = (
    validate_config.TOOL,
    diagnose.TOOL,
    symptoms.TOOL,
    playbook.TOOL,
    fixes.TOOL,
    avoid.TOOL,
    matrix.TOOL,
    explain.TOOL,
    proof.TOOL,
    rtx4090.TOOL,
    estimate_memory.TOOL,
    match_skill.TOOL,
    read_reference.TOOL,
)

INSTRUCTIONS = (
    "Checks RL post-training launch scripts and configs (verl, TRL, OpenRLHF, Megatron, vLLM and more) before launch. "
    "Pass a file's path or its text to validate_config. For a failed run: diagnose, then playbook, fixes. "
    "avoid writes settings that keep clear of a hazard. "
    "notebook://auto-memory is the index of what is known. It reads files only; it starts and changes nothing."
)

_ONE_HOUR = CacheHint(ttl_ms=3_600_000, scope="public")
_UNCHANGING: Sequence[CacheableMethod] = (
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
_READ_ONLY = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_log = logging.getLogger(__name__)


def build_server(roots: Roots) -> Server[Any]:
    """A server that reads files inside `roots`; ready for any transport."""
    listed = types.ListToolsResult(tools=[_describe(tool) for tool in TOOLS])
    by_name = {tool.name: tool for tool in TOOLS}
    workers = anyio.CapacityLimiter(limits.MAX_PARALLEL_CALLS)
    called: set[str] = set()
    answered: Remembered[types.CallToolResult] = Remembered()

    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(_: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name!r}: there are {', '.join(by_name)}")
        arguments = params.arguments or {}
        key = answered.key(tool.name, arguments) if tool.looks_up else None
        result = answered.get(key)
        if result is None:
            result = await _call(tool, arguments, roots, workers)
            if tool.name not in called:
                # The knowledge that a tool loads with its first call is never garbage: later passes skip it.
                called.add(tool.name)
                gc.freeze()
            if not result.is_error and _is_short(result):
                answered.keep(key, result)
        return result

    async def list_resources(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        rows = await anyio.to_thread.run_sync(resources.listed, limiter=workers)
        found = [
            types.Resource(uri=row.uri, name=row.name, title=row.title, mime_type=row.mime, description=row.description)
            for row in rows
        ]
        return types.ListResourcesResult(resources=found)

    async def read_resource(
        _: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await anyio.to_thread.run_sync(_read, params.uri, limiter=workers)

    server: Server[Any] = Server(
        "grpo-guard",
        version=__version__,
        title="grpo-guard",
        instructions=INSTRUCTIONS,
        cache_hints=dict.fromkeys(_UNCHANGING, _ONE_HOUR),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_completion=_complete,
    )
    add_skills(server)
    return server


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
    time_left = Deadline(limits.ANSWER_SECONDS)
    try:
        with anyio.fail_after(limits.REQUEST_SECONDS), within(time_left):
            work = partial(tool.call, arguments, roots)
            answer = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=workers)
    except InputError as error:
        return _failure(str(error))
    except TimeoutError:
        return _failure(f"stopped after {limits.REQUEST_SECONDS:g} s: pass one smaller file")
    except Exception:  # a fault of ours: the client gets a line, the traceback goes to stderr
        _log.exception("%s failed", tool.name)
        return _failure(f"{tool.name} failed on this input; the server's log has the traceback: please report it")
    finally:
        time_left.end()  # a call that was cancelled, or cut off, leaves its thread at the next look at the clock
    return _success(answer)


def _success(answer: Answer) -> types.CallToolResult:
    from .model import clean, plain

    text, most = clean(answer.text), limits.MAX_TEXT_CHARS
    if len(text) > most:  # what is long is not sent twice
        text = f"{text[:most]}\n(cut: {len(text) - most:,} characters more; the structured content has all)"
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    if answer.picture:
        import base64

        encoded = base64.b64encode(answer.picture).decode("ascii")
        content.append(types.ImageContent(type="image", data=encoded, mime_type="image/png"))
    return types.CallToolResult(content=content, structured_content=plain(answer.data))


def _is_short(result: types.CallToolResult) -> bool:
    return all(
        isinstance(block, types.TextContent) and len(block.text) <= limits.MAX_TEXT_CHARS for block in result.content
    )


def _failure(line: str) -> types.CallToolResult:
    from .model import clean

    return types.CallToolResult(content=[types.TextContent(type="text", text=clean(line))], is_error=True)


def _read(uri: str) -> types.ReadResourceResult:
    from .model import clean

    try:
        content = resources.read(uri)
    except InputError as error:
        raise MCPError(types.INVALID_PARAMS, clean(str(error)), data={"uri": clean(uri)}) from None
    text = types.TextResourceContents(uri=uri, mime_type=content.mime, text=clean(content.text))
    return types.ReadResourceResult(contents=[text])


async def _list_templates(
    _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    rows = [
        types.ResourceTemplate(uri_template=row.uri, name=row.name, title=row.title, mime_type=row.mime)
        for row in resources.TEMPLATES
    ]
    return types.ListResourceTemplatesResult(resource_templates=rows)


async def _list_prompts(
    _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    rows = [
        types.Prompt(
            name=prompt.name,
            title=prompt.title,
            description=prompt.description,
            arguments=[
                types.PromptArgument(name=argument.name, description=argument.description, required=argument.required)
                for argument in prompt.arguments
            ],
        )
        for prompt in prompts.PROMPTS
    ]
    return types.ListPromptsResult(prompts=rows)


async def _get_prompt(_: ServerRequestContext[Any], params: types.GetPromptRequestParams) -> types.GetPromptResult:
    from .model import clean

    try:
        prompt, text = prompts.text_of(params.name, params.arguments or {})
    except InputError as error:
        raise MCPError(types.INVALID_PARAMS, clean(str(error))) from None
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=clean(text)))
    return types.GetPromptResult(description=prompt.description, messages=[message])


async def _complete(_: ServerRequestContext[Any], params: types.CompleteRequestParams) -> types.CompleteResult:
    """Ids and names for the parts of resource templates; what a prompt is given is the user's own."""
    if not isinstance(params.ref, types.ResourceTemplateReference):
        return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))
    values, total = resources.completions(params.ref.uri.partition("://")[0], params.argument.value)
    shown = types.Completion(values=values, total=total, has_more=total > len(values))
    return types.CompleteResult(completion=shown)
