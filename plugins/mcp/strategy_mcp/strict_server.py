"""An MCP server that refuses arguments that a tool does not take, and answers in short.

`MCPServer` ignores them, so an agent that writes `top=5` for `limit=5` would take the default's
answer for the one it asked for. Its text for a wrong value is pydantic's, of several lines. Its
answers are indented: a third of the text that an agent reads and pays for is blanks.
"""

from __future__ import annotations

import json
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, Tool
from pydantic import ValidationError

from strategy_profiles.user_input.wrong_field import what_it_takes


class StrictServer(MCPServer[Any]):
    """Checks the arguments of a call against the tool's schema."""

    async def list_tools(self) -> list[Tool]:
        """The tools, whose schemas allow no further arguments."""
        tools: list[Tool] = await super().list_tools()
        for tool in tools:
            tool.input_schema = {**tool.input_schema, "additionalProperties": False}
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool; raises ToolError, with what the tool takes, for other arguments."""
        tool = next((each for each in await self.list_tools() if each.name == name), None)
        if tool is not None:
            known = tool.input_schema.get("properties", {})
            unknown = [argument for argument in arguments if argument not in known]
            if unknown:
                named = ", ".join(repr(each[:80]) for each in unknown[:5])
                raise ToolError(f"{name} has no argument {named}. {_what_it_takes(tool)}")
        try:
            return _without_blanks(await super().call_tool(name, arguments, context))
        except ToolError as error:
            if tool is None or not isinstance(error.__cause__, ValidationError):
                raise
            wrong = "; ".join(_sentence(item) for item in error.__cause__.errors())
            raise ToolError(f"{name} was called wrongly: {wrong}. {_what_it_takes(tool)}") from None


def _without_blanks(answer: Any) -> Any:
    """The answer with its document's text as JSON in one line."""
    if not isinstance(answer, CallToolResult) or answer.structured_content is None:
        return answer
    text = json.dumps(answer.structured_content, ensure_ascii=False, separators=(",", ":"))
    return answer.model_copy(update={"content": [TextContent(type="text", text=text)]})


def _sentence(item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"])
    return f"{where}: {what_it_takes(item)}"


def _what_it_takes(tool: Tool) -> str:
    """What a tool takes, in a sentence."""
    required = tool.input_schema.get("required", [])
    names = [
        name if name in required else f"{name} (optional)"
        for name in tool.input_schema.get("properties", {})
    ]
    return f"It takes {', '.join(names)}." if names else "It takes no argument."
