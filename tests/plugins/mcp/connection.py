"""The official MCP client, connected to a real server, for tests that are not asynchronous."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, Tool

from strategy_core.processes.import_path import module_command, with_own_code


class Connection:
    """Calls tools and waits for their answers."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self.client = portal, client

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self._portal.call(self.client.list_tools).tools}

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The document that a tool answers."""
        answer = self._call(tool, arguments)
        assert not answer.is_error, answer.content
        return answer.structured_content

    def text(self, tool: str, **arguments: Any) -> str:
        """The text that an agent reads, and pays for by its length."""
        answer = self._call(tool, arguments)
        assert not answer.is_error, answer.content
        (content,) = answer.content
        assert json.loads(content.text) == answer.structured_content
        return str(content.text)

    def refusal(self, tool: str, **arguments: Any) -> str:
        """The sentence with which a tool refuses."""
        answer = self._call(tool, arguments)
        assert answer.is_error
        return str(answer.content[0].text)

    def _call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        answer = self._portal.call(self.client.call_tool, tool, arguments)
        assert isinstance(answer, CallToolResult)
        return answer


@contextmanager
def connected(transport: Any) -> Iterator[Connection]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(transport)) as client,
    ):
        yield Connection(portal, client)


@contextmanager
def over_stdio(folder: Path, *arguments: str) -> Iterator[Connection]:
    """`strategy-lab mcp` in `folder`, as an agent starts it."""
    command, *rest = [*module_command("strategy_core"), "mcp", *arguments]
    assert command == sys.executable
    parameters = StdioServerParameters(
        command=command, args=rest, env=with_own_code(os.environ), cwd=folder
    )
    with connected(stdio_client(parameters)) as connection:
        yield connection
