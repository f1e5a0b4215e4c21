"""A link and a device described by a small TOML file, each figure with its source.

```toml
name = "25 Gigabit Ethernet"
bandwidth_gbps = 3.125            # 10^9 bytes per second that a device sends, and receives
bandwidth_source = "25 Gb/s: https://standards.ieee.org/ieee/802.3/10422/"
latency_us = 30                   # of one message; leave it out if it is not known
latency_source = "measured with sockperf"
device_times_as_fast = 2.0        # the devices there compute so much faster than the recorded ones
device_source = "ratio of the step on one device"
```
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from strategy_profiles.errors import LabError
from strategy_profiles.guards import read_file
from strategy_profiles.user_input.text import quoted
from strategy_profiles.user_input.wrong_field import what_it_takes

READY = Path(__file__).parent / "interconnects"
MOST_BYTES = 65_536
"""A larger file is no description of a link."""
_NEEDED = ("missing", "string_too_short")


class Link(BaseModel):
    """What a device can send over, and how fast the devices at its ends are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100)
    bandwidth_gbps: float = Field(gt=0, allow_inf_nan=False)
    """10^9 bytes per second that a device sends, and at the same time receives."""
    bandwidth_source: str = Field(min_length=1)
    num_links: int = Field(1, ge=1, le=64)
    """Of a mesh such as that of a TPU: links of a device, over which its bandwidth is spread."""
    latency_us: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Of one message; None: not known, and counted as 0."""
    latency_source: str = Field("", validate_default=True)
    device_times_as_fast: float = Field(1.0, gt=0, allow_inf_nan=False)
    """How much faster a device there computes than a recorded one."""
    device_source: str = Field("", validate_default=True)

    @field_validator("latency_source")
    @classmethod
    def _latency_has_a_source(cls, source: str, info: ValidationInfo) -> str:
        if info.data.get("latency_us") is not None and not source:
            raise ValueError("latency_us needs latency_source: where the figure comes from")
        return source

    @field_validator("device_source")
    @classmethod
    def _device_has_a_source(cls, source: str, info: ValidationInfo) -> str:
        if info.data.get("device_times_as_fast", 1.0) != 1.0 and not source:
            raise ValueError("device_times_as_fast needs device_source: where it comes from")
        return source


def ready_links() -> tuple[str, ...]:
    """Return the names of the interconnects that come with the lab."""
    return tuple(sorted(path.stem for path in READY.glob("*.toml")))


def read_link(name: str) -> Link:
    """Read a link from a file, or one that comes with the lab by its name.

    Raises LabError if there is no such file, or it does not describe a link.
    """
    path = READY / f"{name}.toml" if name in ready_links() else Path(name)
    try:
        content = read_file(path, MOST_BYTES)
    except OSError as error:
        raise LabError(
            f"No link {quoted(name)}: {error.strerror}",
            advice=f"Name a TOML file, or one of {', '.join(ready_links())}",
        ) from None
    return link_of(content, path.name)


def link_of(content: bytes, file_name: str) -> Link:
    """Return the link that a file describes; raises LabError if it describes none."""
    try:
        return Link.model_validate(tomllib.loads(content.decode()))
    except ValidationError as error:
        where, problem = next(iter(_problems(error).items()))
        raise _no_link(file_name, f"{where or 'the file'}: {problem}") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise _no_link(file_name, str(error)) from None


def link_or_problems(values: Mapping[str, Any]) -> Link | dict[str, str]:
    """Return the link with these values; if one of them is wrong, the problems by field."""
    try:
        return Link.model_validate(dict(values))
    except ValidationError as error:
        return _problems(error)


def text_of_link(link: Link) -> str:
    """Return the link as a file that `read_link` reads."""
    fields = link.model_dump(exclude_defaults=True)
    # A JSON string or number is one of TOML, but for an unescaped DEL.
    lines = (
        f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items()
    )
    return "".join(lines).replace("\x7f", "\\u007F")


def _problems(error: ValidationError) -> dict[str, str]:
    problems: dict[str, str] = {}
    for each in error.errors():
        message = what_it_takes(each)
        if message.startswith("it "):
            message = f"I{message[1:]}"  # a sentence of its own, below the field
        if each["type"] in _NEEDED:
            message = "No value is given"
        elif each["type"] == "extra_forbidden":
            message = f"A link has no such field; it has {', '.join(Link.model_fields)}"
        problems.setdefault(".".join(map(str, each["loc"])), message)
    return problems


def _no_link(file_name: str, problem: str) -> LabError:
    return LabError(
        f"{file_name} does not describe a link: {problem}",
        advice="plugins/replay/scaling.md has an example",
    )
